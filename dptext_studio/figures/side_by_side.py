"""Rewrites of one text beside each other: what changed in each, what one word was drawn from in each, and figures.

For the owner's eyes: all of it tells the original words.
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

#: Of a long text, N_w and S_w are means over so many of its drawn words.
WORDS = 200


@dataclass(frozen=True)
class Piece(Private):
    """A piece of a released text; all of them together are the text, with an empty one where a word was left out.

    changed: whether it differs from the original, capitals apart. original: the word of the original that it answers
    to, where one is known. at: where that word begins in the original, None where nothing answers to a word. drawn:
    whether it was drawn.
    """

    text: str
    changed: bool = False
    original: str = ""
    at: int | None = None
    drawn: bool = False

    _shown: ClassVar[tuple[str, ...]] = ("changed", "at", "drawn")


def pieces(result: RewriteResult) -> list[Piece]:
    """Return the released text as pieces, with what differs from the original: by alignment where there is one."""
    if "alignment" not in result.can:
        return differences(result.original, result.text, result.language)
    found: list[Piece] = []
    at = 0
    for step in result.steps:
        begin, end = step.out
        if begin > at:
            found.append(Piece(result.text[at:begin]))
        source = None if step.action == "insert" else step.span[0]
        changed = step.action in ("insert", "delete") or step.changed
        found.append(Piece(result.text[begin:end], changed, step.original, source, step.drawn))
        at = max(at, end)
    return [*found, Piece(result.text[at:])] if at < len(result.text) else found


def differences(original: str, rewrite: str, language: Language = ENGLISH) -> list[Piece]:
    """Two texts of which nothing says what answers to what: by the longest runs of words that they have in common."""
    before, after = Document.parse(original, language), Document.parse(rewrite, language)
    olds, news = ([t.text.casefold() for t in d.tokens] for d in (before, after))
    same: dict[int, int] = {}
    for block in SequenceMatcher(None, olds, news, autojunk=False).get_matching_blocks():
        same |= {block.b + k: block.a + k for k in range(block.size)}
    found, at = [], 0
    for i, token in enumerate(after.tokens):
        if token.start > at:
            found.append(Piece(rewrite[at : token.start]))
        old = before.tokens[same[i]] if i in same else None
        source = (old.text, old.start) if old else ("", None)
        found.append(Piece(rewrite[token.start : token.end], old is None, *source))
        at = token.end
    return [*found, Piece(rewrite[at:])] if at < len(rewrite) else found


@dataclass(frozen=True)
class Figures:
    """What is measured of one rewrite. n_w, s_w: means over its drawn words; None, and ``reason`` why, where it states
    no chances for words. words: over how many of the drawn ones. draws: behind each estimate, None for exact. total:
    the ε of the rewrite. left: of what may identify somebody how much still stands, and how much there was
    (``leaks.left``)."""

    n_w: float | None
    s_w: float | None
    words: int
    draws: int | None
    total: float
    reason: str = ""
    left: tuple[int, int] = (0, 0)


def drawn_by_all(results: Sequence[RewriteResult]) -> frozenset[int]:
    """Where the words begin in the original that all rewrites drew by looking at them, of those that drew any so."""
    each = [frozenset(s.span[0] for s in r.steps if _looked_at(s)) for r in results if "alignment" in r.can]
    drawn = [starts for starts in each if starts]
    return frozenset.intersection(*drawn) if drawn else frozenset()


def _looked_at(unit: Unit) -> bool:
    return unit.action == "replace" and not unit.reason


def figures(result: RewriteResult, only: Collection[int] = ()) -> Figures:
    """N_w and S_w over the words that were drawn by looking at them, evenly chosen of very many.

    only: those that begin there in the original, where such are given.
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
    return Figures(float(n_w), float(s_w), len(chosen), draws, total, left=stay)


@dataclass(frozen=True)
class CandidateProbabilities(Private):
    """One word under one rewrite. probabilities: of each of the shared words. possible: which of these are among what
    the word can become at all. rest: of all others. released: what stands there. keep: the chance that it stays; known:
    whether it can, which a word that the mechanism does not know cannot. reason: why there are no chances."""

    probabilities: tuple[float, ...] = ()
    possible: tuple[bool, ...] = ()
    rest: float = 0.0
    released: str = ""
    keep: float = 0.0
    known: bool = True
    reason: str = ""

    _shown: ClassVar[tuple[str, ...]] = ("rest", "reason")


@dataclass(frozen=True)
class WordComparison(Private):
    """What a word of the original was drawn from under each of several rewrites: the same words in the same order.

    word: itself. words: the original first, then what is likely under any of them, the likeliest first.
    """

    word: str
    words: tuple[str, ...]
    each: tuple[CandidateProbabilities, ...]

    _shown: ClassVar[tuple[str, ...]] = ("words", "each")


def one_word(results: Sequence[RewriteResult | None], at: int, n: int = 6) -> WordComparison:
    """Return the word that begins at ``at`` in the original, under every rewrite; None: there is no rewrite there.

    n: so many of the likeliest words of each are among those that are shown, as far as 2n have room, what was drawn
    first.
    """
    found: list[tuple[TokenDistribution | None, str, str]] = []
    word = ""
    for result in results:
        distribution, released, reason, known = _drawn_at(result, at)
        word = word or known
        found.append((distribution, released, reason))
    best: dict[str, float] = {}
    for distribution, released, _ in found:
        if distribution is None:
            continue
        top = distribution.top(n)
        for w, p in [*top, (released, distribution.p(released))]:
            best[w.lower()] = max(best.get(w.lower(), 0.0), p)
    best.pop(word.lower(), None)
    likely = sorted(best, key=lambda w: -best[w])
    drawn = {released.lower() for distribution, released, _ in found if distribution is not None}
    # What was drawn is among them however unlikely it was.
    shown = set(sorted(likely, key=lambda w: w not in drawn)[: 2 * n - 1])
    words = ([word.lower()] if word else []) + [w for w in likely if w in shown]
    each = []
    for distribution, released, reason in found:
        if distribution is None:
            each.append(CandidateProbabilities(released=released, reason=reason))
            continue
        shared = tuple(distribution.p(w) for w in words)
        possible = tuple(len(distribution.index(w)) > 0 for w in words)
        keep = distribution.p_keep()
        stays = keep > 0 or not word or possible[0]
        each.append(CandidateProbabilities(shared, possible, max(0.0, 1.0 - math.fsum(shared)), released, keep, stays))
    return WordComparison(word, tuple(words), tuple(each))


def _drawn_at(result: RewriteResult | None, at: int) -> tuple[TokenDistribution | None, str, str, str]:
    """Distribution, released word, why there is no distribution, and the original word."""
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
    """Where the first word begins in the original that was drawn by looking at it in most of the rewrites."""
    times: dict[int, int] = {}
    for result in results:
        for s in result.steps if result is not None else ():
            if _looked_at(s):
                times[s.span[0]] = times.get(s.span[0], 0) + 1
    most = max(times.values(), default=0)
    return min((at for at, n in times.items() if n == most), default=None)
