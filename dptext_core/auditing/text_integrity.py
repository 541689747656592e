"""The first check: whether released texts match their parts, byte for byte, before anything is measured.

Every text of the audit is rewritten alone, prepared, in a list with the others, and by ``rewrites``. One more text has
words between marks, quotes and emoji. It is rewritten with other options too, since a fault may need some of them.
Later checks test their rewrites against the same rules (``rewriting``), so the result of this check is reported at the
end, for all rewrites.
"""

from __future__ import annotations

import dataclasses

from ..errors import Busy, Cancelled, DPTextError, ModelUnavailable
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.option_meta import option_meta
from .checks import Seeds, Subject
from .inputs import TEXTS
from .metadata_leakage import find_error_breach
from .report import Check
from .rules import Breach

NAME = "released text"
#: Number of texts that are rewritten through each entry point; the others are in the list. Only one for a mechanism
#: that writes a new text, whose rewrites are slow. Then the number of rewrites of each by ``rewrites``.
MOST, WRITTEN, FRESH = 6, 1, 4
#: Number of texts per list.
LIST = 200


def released_text(subject: Subject) -> Check:
    """Compare released texts with their parts: refuted, tested, or not tested if the parts are unknown."""
    m, seeds = subject.m, subject.seeds(NAME)
    texts = [t.text if isinstance(t, Prepared) else t for t in subject.inputs]
    texts = list(dict.fromkeys([*texts, hostile(texts)]))
    try:
        _rewrite(subject, m, texts, seeds)
        for changes, other in other_options(m):
            try:
                subject.rewriter.listed(other, [texts[-1], TEXTS[0]], seeds())
            except (Cancelled, Busy, Breach):
                raise
            except Exception:  # errors with other options are outside this audit, as long as nothing is released
                continue
            subject.rewriter.variants.append(changes)
    except (Cancelled, Busy, ModelUnavailable):
        raise
    except DPTextError:
        if (violation := find_error_breach(m, texts)) is None:
            raise
        return Check(NAME, "refuted", "", violation.reason, violation.witness, draws=subject.rewriter.n)
    except Breach as breach:
        return Check(NAME, "refuted", "", breach.reason, breach.witness, draws=subject.rewriter.n)
    return of_all(subject)


def of_all(subject: Subject) -> Check:
    """Return the result for all rewrites so far, none of which violated a rule."""
    rewriter = subject.rewriter
    n, texts = rewriter.n, len(rewriter.texts)
    more = f", some with {' or '.join(rewriter.variants)}" if rewriter.variants else ""
    looked = f"{n:,} rewrites of {texts:,} texts{more}: each equals its sampled spans and kept parts, byte for byte."
    if rewriter.unclear:
        return Check(NAME, "not tested", looked, rewriter.unclear, draws=n)
    return Check(NAME, "tested", looked, leak=1 - 0.05 ** (1 / n), draws=n)


def hostile(texts: list[str]) -> str:
    """Return a text of input words between marks, quotes, emoji, line ends, unknown and kept words, in all
    capitalisations."""
    words = [w for w in texts if w.isalpha()] or [w for t in texts for w in t.split() if w.isalpha()] or ["word"]
    some = [words[k * (len(words) - 1) // 4] for k in range(5)]
    a, b, c, d, e = some
    return f'❤️{a} {b.title()}!  {c}, "{d}" ({e})\n{a.upper()}… 👩‍👩‍👧{b} — {c}\'s Grzybowski, 1987: the {d}. '


def _rewrite(subject: Subject, m: Mechanism, texts: list[str], seeds: Seeds) -> None:
    """Rewrite texts through every entry point. Raises Breach."""
    rewriter, meter = subject.rewriter, subject.meter
    most = MOST if "alignment" in m.can else WRITTEN
    some = list(dict.fromkeys([texts[-1], *texts]))[:most]
    for k, text in enumerate(some):
        meter.at(0.01 + 0.01 * k / len(some))
        rewriter.one(m, text, seeds())
        prepared = m.prepare(text, task=meter.task)
        rewriter.one(m, prepared, seeds())
        rewriter.fresh(m, prepared, FRESH, seeds())
    for start in range(0, len(texts), LIST):
        meter.at(0.02)
        rewriter.listed(m, texts[start : start + LIST], seeds())


def other_options(m: Mechanism) -> list[tuple[str, Mechanism]]:
    """Return variants of the mechanism with other flags and choices, many at once, with the changes. Only options of
    how a text is put together, if they can be combined."""
    out: list[tuple[str, Mechanism]] = []
    wanted = []
    for field in dataclasses.fields(m.config):
        current = getattr(m.config, field.name)
        meta = option_meta(field)
        if meta.used_with is not None and getattr(m.config, meta.used_with[0]) != meta.used_with[1]:
            continue
        values = {"flag": (not current,), "choice": meta.choices}.get(meta.kind) or ()
        wanted.append([(field.name, v) for v in values if v != current and not meta.changes_distribution])
    for k in range(max(map(len, wanted), default=0)):
        other, changes = m, list[str]()
        for name, value in (values[k] for values in wanted if len(values) > k):
            changed = _with_option(other, name, value)
            if changed is not None:
                other = changed
                changes.append(f"{name} = {value}")
        if changes:
            out.append((", ".join(changes), other))
    return out


def _with_option(m: Mechanism, name: str, value: object) -> Mechanism | None:
    """Return the mechanism with one option changed, if that is valid."""
    try:
        other = m.replace(**{name: value})
        other.guarantee("Doctor")
    except (Cancelled, Busy):
        raise
    except DPTextError:
        return None
    return other
