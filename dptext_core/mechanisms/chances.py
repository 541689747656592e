"""How likely what was released would have been, had another text been read: what it takes to ask which text it was.

Two general ways, each by what a mechanism states anyway: piece by piece, where nothing answers to a word
(:meth:`Chances.given`), and place by place, where released words stand in the places of those that were read. Both take
in everything that is seen: how many pieces there are, which words stay, the blanks between them, and capital letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._internal.task import UNWATCHED, Task
from ..errors import InputError, NoDistribution
from ..privacy.distribution import TokenDistribution
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult, Step
from ..text.skeleton import Edit
from .facets import Facet, M

if TYPE_CHECKING:
    from .base import Mechanism, Prepared


class Chances(Facet[M]):
    """What the drawn pieces of a mechanism's results are drawn from, and how likely whole rewrites are under others.

    sweeps: whether the same noise can be looked at at another ε without a new pass.
    """

    __slots__ = ("sweeps",)

    def __init__(self, m: M, sweeps: bool = False):
        super().__init__(m)
        self.sweeps = sweeps

    # --- one draw

    @property
    def in_turn(self) -> bool:
        """Whether what a word is drawn from depends on the words that were released before it."""
        return False

    def before(self, prepared: Prepared, stream: NoiseStream) -> dict[int, tuple[tuple[int, str], ...]]:
        """Of one rewrite under this stream: for each drawn token, the places and words that were released before it,
        where what it is drawn from depends on them; empty where it does not."""
        return {}

    def after(self, prepared: Prepared, index: int, released: Sequence[tuple[int, str]]) -> TokenDistribution:
        """As :meth:`Mechanism.distribution`, where these places and words were released before."""
        return self.m.distribution(prepared, index)

    def at(self, places: Sequence[tuple[Prepared, int]], task: Task = UNWATCHED) -> list[TokenDistribution | None]:
        """As :meth:`Mechanism.distribution` of a token of each text, together where that is less work; None where no
        word is drawn."""
        distributions: list[TokenDistribution | None] = []
        for prepared, index in places:
            task.check()
            try:
                distributions.append(self.m.distribution(prepared, index))
            except NoDistribution:
                distributions.append(None)
        return distributions

    def given(self, prepared: Prepared, result: RewriteResult) -> list[TokenDistribution] | None:
        """What each piece of ``result`` would have been drawn from, had ``prepared`` been read, given the pieces before
        it: for mechanisms whose pieces answer to no word. None where that is not known."""
        return None

    @property
    def states_pieces(self) -> bool:
        """Whether :meth:`given` says it."""
        return type(self).given is not Chances.given

    # --- whole rewrites

    @property
    def missing(self) -> str:
        """Why :meth:`log` has no answer, in a sentence; empty where it has one."""
        if self.states_pieces:
            return ""
        if "alignment" not in self.m.can:
            return _written_new(self.m)
        return "" if self.m.closed_form else _no_formula(self.m)

    def log(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> np.ndarray:
        """ln of the chance of everything that was drawn for each of these rewrites, had each of these texts been read:
        float64 (texts, results), −∞ where it could not have come out. Raises NoDistribution where there is no formula.
        """
        if reason := self.missing:
            raise NoDistribution(reason)
        check_made(self.m, results)
        return (by_pieces if self.states_pieces else by_places)(self, texts, results, task or UNWATCHED)

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        """ln of the chance of released words in the places of this text, float64 (n,). Each has the same places."""
        stated = {i: self.m.distribution(prepared, i) for i in (released[0] if released else ())}
        return of_words(self.m, stated, released)


def stated(m: Mechanism) -> Chances[Mechanism]:
    """The chances of a mechanism that has a formula for whole rewrites. Raises NoDistribution, with the reason, of any
    other."""
    chances = m.chances
    if chances is None:
        raise NoDistribution(_why_none(m))
    if reason := chances.missing:
        raise NoDistribution(reason)
    return chances


def _why_none(m: Mechanism) -> str:
    if m.audited.writes_from_noise:
        return (
            f"{m.title} writes its text from a vector with noise, and very many such vectors give the same text. How "
            "likely a text is under another original is the sum over all of them, which has no formula. What bounds "
            "any guess there is how far the vectors of the texts are apart, against the noise: Explore says it "
            "under “What an attacker gets”, and in Python dptext_core.attacks.which_text.limit."
        )
    return _no_formula(m) if "alignment" in m.can else _written_new(m)


def _written_new(m: Mechanism) -> str:
    return (
        f"{m.title} writes a new text and does not say how likely it would have been under another original, so "
        "that originals cannot be weighed against each other."
    )


def _no_formula(m: Mechanism) -> str:
    return (
        f"{m.title} has no formula for the chances of a word, so that how likely a rewrite is under another "
        "original cannot be worked out."
    )


def check_made(m: Mechanism, results: Sequence[RewriteResult]) -> None:
    """Raise InputError for a rewrite that this mechanism with these options has not made."""
    if any((r.mechanism, r.config) != (m.name, m.config) for r in results):
        raise InputError("This rewrite was made with another mechanism or other options. Give the one that made it.")


def by_pieces(
    chances: Chances[Mechanism], texts: Sequence[Prepared], results: Sequence[RewriteResult], task: Task
) -> np.ndarray:
    """ln of the chance of each result under each text, float64 (texts, results), from what is stated of its pieces."""
    m, out = chances.m, np.zeros((len(texts), len(results)))
    for b, r in enumerate(results):
        for a, text in enumerate(texts):
            task.check()
            stated = chances.given(text, r)
            if stated is None:
                raise NoDistribution(f"{m.title} does not say how likely this rewrite is under another text.")
            for i, d in enumerate(stated):
                if r.releases[i].drawn:
                    known = r.candidate(i)
                    at = d.index(r.releases[i].text) if known is None else np.array([known])
                    out[a, b] += _ln_sum(d, at)
            task.report(b * len(texts) + a + 1, out.size)
    return out


def by_places(
    chances: Chances[Mechanism], texts: Sequence[Prepared], results: Sequence[RewriteResult], task: Task
) -> np.ndarray:
    """The same where released words stand in places: −∞ for a text whose kept words, blanks or capital letters would
    not have given the released text."""

    m, out = chances.m, np.full((len(texts), len(results)), -np.inf)
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
            out[a, fitting] = chances.in_places(text, words, task)
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
