"""A one-page report on a rewrite, to print: settings, guarantee, attack results, and optionally the text."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from dptext_core.attacks.base import AttackFinding
from dptext_core.errors import InputError
from dptext_core.mechanisms.registry import mechanism_of
from dptext_core.privacy.numbers import percent
from dptext_core.result import RewriteResult
from dptext_lab.results import deniability

from . import html, svg
from .inspection import PRIVATE
from .parts import promise, reproduction, setting

#: The largest number of words in the figure.
MOST = 12


def report(
    result: RewriteResult,
    kind: str = "release",
    *,
    text: bool = True,
    findings: Sequence[tuple[str, AttackFinding]] = (),
    warning: str = "",
    day: datetime.date | None = None,
) -> str:
    """Return the page as HTML.

    kind: "release" or "inspection". text: whether a release contains the rewritten text; an inspection always does.
    findings: for an inspection, attack results by title; they depend on the original words. warning: why the guarantee
    no longer holds, if so.
    """
    if kind not in ("release", "inspection"):
        raise InputError("A report must be a release or an inspection. Choose one of them.")
    private = kind == "inspection"
    if findings and not private:
        raise InputError("Attack results depend on the original words. Make the report an inspection.")
    mechanism = mechanism_of(result)
    title = f"Rewritten with {mechanism.title}"
    if private:
        mark = f'<p class="p-mark p-private">{PRIVATE}</p>'
    else:
        held = "the rewritten text, its settings and its guarantee" if text else "settings and a guarantee, but no text"
        other = " Original words appear only where the rewritten text shows them." if text else ""
        mark = f'<p class="p-mark">This file contains {held}.{other}</p>'
    parts = [f'<p class="p-eyebrow">Report, {day or datetime.datetime.now(datetime.UTC).date():%d %B %Y}</p>', mark]
    parts.append(f"<h1>{html.escape(title)}</h1>")
    if warning:
        parts.append(f'<p class="p-mark p-private">{html.escape(warning)}</p>')
    if text or private:
        parts.append(f"<h2>Rewritten text</h2>{html.paragraphs(result.text)}")
    if private:
        parts.append(f"<h2>Original text</h2>{html.paragraphs(result.original, 'p-block p-original')}")
    parts.append(f"<h2>Guarantee</h2>{promise(result)}")
    parts.append(f"<h2>Setting</h2>{setting(result)}")
    if findings:
        parts.append(f"<h2>What attackers recovered</h2>{_findings(findings)}")
    if pictures := [p for p in (_typical(result), _unchanged_share(result) if private else "") if p]:
        parts.append(f"<h2>How often a word is unchanged</h2>{''.join(pictures)}")
    parts.append(f"<h2>Reproduce</h2>{reproduction(result)}")
    parts.append("<footer>Made by DP-Text Studio.</footer>")
    return html.page(title, "\n".join(parts), private=private, wide=False)


def _findings(findings: Sequence[tuple[str, AttackFinding]]) -> str:
    said = []
    for title, found in findings:
        figures = f"right {percent(found.success)} of the time, {percent(found.chance)} without the rewrite"
        said.append(f"<li><strong>{html.escape(title)}</strong> ({figures}). {html.escape(found.sentence())}</li>")
    return f"<ul>{''.join(said)}</ul>"


def _typical(result: RewriteResult) -> str:
    """Return how often dictionary words are unchanged: measured once, and independent of this text."""
    mechanism = mechanism_of(result)
    if (mean := deniability.bundled_curve(mechanism)) is None:
        return ""
    epsilon = result.config.epsilon
    at = epsilon if isinstance(epsilon, float) else None
    caption = f"Probability that a word is unchanged, mean over {mean.words} dictionary words, by ε"
    caption += "; the dashed line is this ε." if at else "."
    return svg.curve(mean.epsilons.tolist(), mean.n_w.tolist(), at, caption)


def _unchanged_share(result: RewriteResult) -> str:
    """Return the probability that each word of this text is unchanged."""
    if not {"distribution", "alignment"} <= result.can:
        return ""
    chances: dict[str, float] = {}
    for k, step in enumerate(result.steps):
        if step.action == "replace":
            chances[step.original] = max(chances.get(step.original, 0.0), result.distribution(k).p_keep())
    rows = sorted(chances.items(), key=lambda row: -row[1])
    which = "Probability that a word of this text is unchanged"
    which += f": the {MOST} largest of {len(rows):,}." if len(rows) > MOST else "."
    return svg.bars(rows[:MOST], which) if rows else ""
