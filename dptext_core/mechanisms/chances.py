"""How likely what was released would have been, had another text been read: what it takes to ask which text it was.

Two general ways, each by what a mechanism states anyway: piece by piece, where nothing answers to a word
(``Mechanism.distributions_given``), and place by place, where released words stand in the places of those that were
read. Both take in everything that is seen: how many pieces there are, which words stay, the blanks between them, and
capital letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, NoDistribution
from ..privacy.distribution import TokenDistribution
from ..result import RewriteResult, Step
from ..text.skeleton import Edit

if TYPE_CHECKING:
    from .._internal.task import Task
    from .base import Mechanism, Prepared


def why_none(m: Mechanism) -> str:
    """Why there is no formula for how likely a whole rewrite is under another text; empty where there is one."""
    if m.states_pieces:
        return ""
    if m.writes_from_noise:
        return (
            f"{m.title} writes its text from a vector with noise, and very many such vectors give the same text. How "
            "likely a text is under another original is the sum over all of them, which has no formula. What bounds "
            "any guess there is how far the vectors of the texts are apart, against the noise: the Playground says it "
            "under “What an attacker gets”, and in Python dptext_core.attacks.which_text.limit."
        )
    if "alignment" not in m.can:
        return (
            f"{m.title} writes a new text and does not say how likely it would have been under another original, so "
            "that originals cannot be weighed against each other."
        )
    if "distribution" not in m.can or not m.closed_form:
        return (
            f"{m.title} has no formula for the chances of a word, so that how likely a rewrite is under another "
            "original cannot be worked out."
        )
    return ""


def check_made(m: Mechanism, results: Sequence[RewriteResult]) -> None:
    """Raise InputError for a rewrite that this mechanism with these options has not made."""
    if any((r.mechanism, r.config) != (m.name, m.config) for r in results):
        raise InputError("This rewrite was made with another mechanism or other options. Give the one that made it.")


def by_pieces(m: Mechanism, texts: Sequence[Prepared], results: Sequence[RewriteResult], task: Task) -> np.ndarray:
    """ln of the chance of each result under each text, float64 (texts, results), from what is stated of its pieces."""

    out = np.zeros((len(texts), len(results)))
    for b, r in enumerate(results):
        for a, text in enumerate(texts):
            task.check()
            stated = m.distributions_given(text, r)
            if stated is None:
                raise NoDistribution(f"{m.title} does not say how likely this rewrite is under another text.")
            for i, d in enumerate(stated):
                if r.releases[i].drawn:
                    known = r.candidate(i)
                    at = d.index(r.releases[i].text) if known is None else np.array([known])
                    out[a, b] += _ln_sum(d, at)
            task.report(b * len(texts) + a + 1, out.size)
    return out


def by_places(m: Mechanism, texts: Sequence[Prepared], results: Sequence[RewriteResult], task: Task) -> np.ndarray:
    """The same where released words stand in places: −∞ for a text whose kept words, blanks or capital letters would
    not have given the released text."""

    out = np.full((len(texts), len(results)), -np.inf)
    steps = [list(r.steps) for r in results]
    if any(s.action == "insert" for every in steps for s in every):
        raise NoDistribution(f"{m.title} adds words by chance, so that it is not seen whose place a word stands in.")
    for a, text in enumerate(texts):
        task.check()
        tokens = text.document.tokens
        alike = [b for b, every in enumerate(steps) if len(every) == len(tokens)]
        # Which tokens stay follows from the text alone: a rewrite shows it, and is thrown away.
        own = list(m.rewrite(text, seed=0, task=task.quiet).steps) if alike else []
        skeleton = text.document.skeleton([s.action != "keep" for s in own]) if alike else None
        fitting = []
        for b in alike:
            edits = _edits(own, steps[b])
            if edits is not None and skeleton is not None and skeleton.render(edits).text == results[b].text:
                fitting.append(b)
        drawn = [i for i, s in enumerate(own) if s.action == "replace"]
        words = [{i: steps[b][i].replacement for i in drawn} for b in fitting]
        if fitting:
            out[a, fitting] = m._chances_in_places(text, words, task)
        task.report(a + 1, len(texts))
    return out


def _edits(own: Sequence[Step], released: Sequence[Step]) -> list[Edit] | None:
    """The released words in the places of another text; None where they cannot stand there."""
    out = []
    for mine, theirs in zip(own, released, strict=True):
        if (mine.action == "delete") != (theirs.action == "delete"):
            return None
        if mine.action == theirs.action == "replace" and mine.capital != theirs.capital:
            return None
        out.append(Edit() if mine.action == "keep" else Edit(theirs.replacement))
    return out


def of_words(
    m: Mechanism, stated: Mapping[int, TokenDistribution], released: Sequence[Mapping[int, str]]
) -> np.ndarray:
    """ln of the chance of these words in their places, float64 (n,); stated: the distribution of each place."""
    out = np.zeros(len(released))
    places: dict[int, tuple[Sequence[str], dict[str, list[int]]]] = {}
    for i, d in stated.items():
        if d.draws is not None:
            raise NoDistribution(f"{m.title} has no formula for its chances: they are estimated from draws.")
        if id(d.candidates) not in places:
            found: dict[str, list[int]] = {}
            for k, word in enumerate(d.candidates):
                found.setdefault(word.casefold(), []).append(k)
            places[id(d.candidates)] = d.candidates, found
        at = places[id(d.candidates)][1]
        for j, words in enumerate(released):
            out[j] += _ln_sum(d, np.array(at.get(words[i].casefold(), ()), np.int64))
    return out


def _ln_sum(d: TokenDistribution, at: np.ndarray) -> float:
    return float(np.logaddexp.reduce(d.log_probs[at])) if len(at) else -np.inf
