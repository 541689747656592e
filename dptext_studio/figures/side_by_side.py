"""Rewrites of one text side by side: changes, the distributions of one word, and measures.

All of it reveals the original words, so it is for their owner only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import ClassVar

import numpy as np

from dptext_core.errors import NoDistribution
from dptext_core.measure.pii_survival import count_survivors
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.result import RewriteResult, Step, Unit
from dptext_core.support.private import Private
from dptext_core.text.document import Document
from dptext_core.text.language import Language
from dptext_core.text.languages import ENGLISH

#: For a long text, N_w and S_w are means over this many of its sampled words.
WORDS = 200


@dataclass(frozen=True)
class Piece(Private):
    """A part of a released text; all parts together are the text, with an empty one for a deleted word.

    is_changed: whether it differs from the original, ignoring case. original: the original word that it replaces, if
    known. at: the position of that word in the original, None if there is none. is_sampled: whether it was sampled.
    """

    text: str
    is_changed: bool = False
    original: str = ""
    at: int | None = None
    is_sampled: bool = False

    _shown: ClassVar[tuple[str, ...]] = ("is_changed", "at", "is_sampled")


def pieces(result: RewriteResult) -> list[Piece]:
    """Return the released text as parts, marked where they differ from the original: by alignment if there is one."""
    if "alignment" not in result.can:
        return differences(result.original, result.text, result.language)
    out: list[Piece] = []
    at = 0
    for step in result.steps:
        begin, end = step.out
        if begin > at:
            out.append(Piece(result.text[at:begin]))
        source = None if step.action == "insert" else step.span[0]
        changed = step.action in ("insert", "delete") or step.is_changed
        out.append(Piece(result.text[begin:end], changed, step.original, source, step.is_sampled))
        at = max(at, end)
    return [*out, Piece(result.text[at:])] if at < len(result.text) else out


def differences(original: str, rewrite: str, language: Language = ENGLISH) -> list[Piece]:
    """Return the differences of two texts without an alignment, from the longest sequences of words that they share."""
    before, after = Document.parse(original, language), Document.parse(rewrite, language)
    olds, news = ([t.text.casefold() for t in d.tokens] for d in (before, after))
    same: dict[int, int] = {}
    for block in SequenceMatcher(None, olds, news, autojunk=False).get_matching_blocks():
        same |= {block.b + k: block.a + k for k in range(block.size)}
    out, at = [], 0
    for i, token in enumerate(after.tokens):
        if token.start > at:
            out.append(Piece(rewrite[at : token.start]))
        old = before.tokens[same[i]] if i in same else None
        source = (old.text, old.start) if old else ("", None)
        out.append(Piece(rewrite[token.start : token.end], old is None, *source))
        at = token.end
    return [*out, Piece(rewrite[at:])] if at < len(rewrite) else out


@dataclass(frozen=True)
class Figures:
    """Measures of one rewrite.

    n_w, s_w: means over its sampled words; None, with the ``reason``, if it states no probabilities for words. words:
    how many sampled words they cover. draws: the number of draws behind an estimate, None if exact. total: the ε of the
    rewrite. remaining_identifiers: how many identifying words are still visible, and how many there were
    (``leaks.left``).
    """

    n_w: float | None
    s_w: float | None
    words: int
    draws: int | None
    total: float
    reason: str = ""
    remaining_identifiers: tuple[int, int] = (0, 0)


def drawn_by_all(results: Sequence[RewriteResult]) -> frozenset[int]:
    """Return the positions in the original of words that all rewrites with such draws sampled depending on them."""
    each = [frozenset(s.span[0] for s in r.steps if _looked_at(s)) for r in results if "alignment" in r.can]
    drawn = [starts for starts in each if starts]
    return frozenset.intersection(*drawn) if drawn else frozenset()


def _looked_at(unit: Unit) -> bool:
    return unit.action == "replace" and not unit.reason


def figures(result: RewriteResult, only: Collection[int] = ()) -> Figures:
    """Return N_w and S_w over the words that were sampled depending on them; of very many, an even selection.

    only: the positions in the original to which the measures are limited, if given.
    """
    drawn = [
        i
        for i, u in enumerate(result.units)
        if _looked_at(u) and (not only or (isinstance(u, Step) and u.span[0] in only))
    ]
    total, stay = result.guarantee.total, count_survivors(result)
    if "alignment" not in result.can:
        return Figures(None, None, 0, None, total, "This mechanism writes a new text instead of replacing words.", stay)
    if result.no_chances:
        return Figures(None, None, 0, None, total, result.no_chances, stay)
    if not drawn:
        return Figures(None, None, 0, None, total, "No word was sampled.", stay)
    chosen = [drawn[k] for k in np.unique(np.linspace(0, len(drawn) - 1, min(WORDS, len(drawn))).round().astype(int))]
    values, draws = [], None
    for i in chosen:
        if "sweep" in result.can:
            channel, draws = result.locked(i)[0], result.locked(i)[0].draws
            values.append(channel.deniability(result.units[i].epsilon))
        else:
            d = result.distribution(i)
            draws = d.draws
            values.append((d.p_keep(), d.expected_distinct(100)))
    n_w, s_w = np.mean(values, axis=0)
    return Figures(float(n_w), float(s_w), len(chosen), draws, total, remaining_identifiers=stay)


@dataclass(frozen=True)
class CandidateProbabilities(Private):
    """The probabilities of one word in one rewrite.

    probabilities: of each of the shared words. possible: which of these are possible outputs. rest: the probability of
    all others. released_word: the released word. keep: the probability that the word is unchanged. known: whether it
    can be unchanged; a word unknown to the mechanism cannot. reason: why there are no probabilities.
    """

    probabilities: tuple[float, ...] = ()
    possible: tuple[bool, ...] = ()
    rest: float = 0.0
    released_word: str = ""
    keep: float = 0.0
    known: bool = True
    reason: str = ""

    _shown: ClassVar[tuple[str, ...]] = ("rest", "reason")


@dataclass(frozen=True)
class WordComparison(Private):
    """The distributions of an original word in several rewrites: the same words in the same order.

    word: the original word. words: the original first, then likely words of any rewrite, most likely first.
    """

    word: str
    words: tuple[str, ...]
    each: tuple[CandidateProbabilities, ...]

    _shown: ClassVar[tuple[str, ...]] = ("words", "each")


def one_word(results: Sequence[RewriteResult | None], at: int, n: int = 6) -> WordComparison:
    """Return the word at position ``at`` of the original in every rewrite; None if there is no rewrite.

    n: how many of the most likely words of each are shown, up to 2n in total, sampled words first.
    """
    columns: list[tuple[TokenDistribution | None, str, str]] = []
    word = ""
    for result in results:
        distribution, released, reason, known = _drawn_at(result, at)
        word = word or known
        columns.append((distribution, released, reason))
    best: dict[str, float] = {}
    for distribution, released, _ in columns:
        if distribution is None:
            continue
        top = distribution.top(n)
        for w, p in [*top, (released, distribution.p(released))]:
            best[w.lower()] = max(best.get(w.lower(), 0.0), p)
    best.pop(word.lower(), None)
    likely = sorted(best, key=lambda w: -best[w])
    drawn = {released.lower() for distribution, released, _ in columns if distribution is not None}
    # The sampled words are included, however unlikely.
    shown = set(sorted(likely, key=lambda w: w not in drawn)[: 2 * n - 1])
    words = ([word.lower()] if word else []) + [w for w in likely if w in shown]
    each = []
    for distribution, released, reason in columns:
        if distribution is None:
            each.append(CandidateProbabilities(released_word=released, reason=reason))
            continue
        shared = tuple(distribution.p(w) for w in words)
        possible = tuple(len(distribution.index(w)) > 0 for w in words)
        keep = distribution.p_keep()
        stays = keep > 0 or not word or possible[0]
        each.append(CandidateProbabilities(shared, possible, max(0.0, 1.0 - math.fsum(shared)), released, keep, stays))
    return WordComparison(word, tuple(words), tuple(each))


def _drawn_at(result: RewriteResult | None, at: int) -> tuple[TokenDistribution | None, str, str, str]:
    """Return the distribution, the released word, why there is no distribution, and the original word."""
    if result is None:
        return None, "", "No rewrite.", ""
    if "alignment" not in result.can:
        return None, "", "This mechanism writes a new text, so no output word belongs to this word.", ""
    i = next((i for i, s in enumerate(result.steps) if s.action != "insert" and s.span[0] == at), None)
    if i is None:
        return None, "", "This word is not in the text.", ""
    step = result.steps[i]
    if step.action == "keep":
        return None, step.text, f"It is unchanged ({step.reason or 'by rule'}).", step.original
    if step.action == "delete":
        return None, "", f"It was deleted{f' ({step.reason})' if step.reason else ''}.", step.original
    try:
        return result.distribution(i), step.text, "", step.original
    except NoDistribution as error:
        return None, step.text, str(error), step.original


def first_drawn(results: Sequence[RewriteResult | None]) -> int | None:
    """Return the position in the original of the first word that most rewrites sampled depending on it."""
    times: dict[int, int] = {}
    for result in results:
        for s in result.steps if result is not None else ():
            if _looked_at(s):
                times[s.span[0]] = times.get(s.span[0], 0) + 1
    most = max(times.values(), default=0)
    return min((at for at, n in times.items() if n == most), default=None)
