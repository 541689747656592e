"""The nearest neighbour attack: guess that the original is the released word, or the word nearest to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import require_alignment
from ..privacy.numbers import percent
from ..result import RewriteResult
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from ..words import WordSpace, word_space
from .base import TextAttacker, register
from .prior import public_prior

#: Number of neighbours that a guess shows.
SHOWN = 5
_BLOCK = 64


@dataclass(frozen=True)
class NearestGuess(Private):
    """One released word. step: the index of its step. neighbours: the nearest other words, nearest first.

    rank: how many words are nearer to the released word than the original; 0: it is the original; 1: its nearest other
    word; None: one of the two is not in the word space.
    """

    step: int
    original: str
    released_word: str
    rank: int | None
    neighbours: tuple[str, ...]


@dataclass(frozen=True)
class NearestAttack:
    """How often the guesses are right for the sampled or flagged words of a text. same: share of released words that
    are the original. nearest: share whose nearest other word is the original. within: share of originals among the
    released word and its nine nearest. chance, chance_within: the success of always guessing the most frequent word,
    and the ten most frequent, by the public prior. draws: None, nothing is sampled.
    """

    space: str
    guesses: tuple[NearestGuess, ...] = field(repr=False)
    chance: float
    chance_within: float
    draws: int | None = None

    def _share(self, lowest: int, highest: int) -> float:
        hits = sum(g.rank is not None and lowest <= g.rank <= highest for g in self.guesses)
        return hits / len(self.guesses) if self.guesses else 0.0

    @property
    def success(self) -> float:
        """Return the success of the first guess."""
        return self.same

    @property
    def same(self) -> float:
        return self._share(0, 0)

    @property
    def nearest(self) -> float:
        return self._share(1, 1)

    @property
    def within(self) -> float:
        return self._share(0, 9)

    def sentence(self) -> str:
        """Return the attack in plain words."""
        if not self.guesses:
            return "No sampling depended on the original words, so there is nothing to guess."
        n = len(self.guesses)
        whose = "the one replaced word" if n == 1 else f"the {n} replaced words"
        return (
            f"Guessing that nothing was changed is right for {percent(self.same)} of {whose}, and guessing the "
            f"nearest other word for {percent(self.nearest)}. {percent(self.within)} of the originals are among the "
            f"ten nearest. Always guessing the most frequent word is right {percent(self.chance)} of the time (the ten "
            f"most frequent: {percent(self.chance_within)})."
        )


def space_of(mechanism: Mechanism) -> WordSpace:
    """Return the word space of a mechanism; the default space if it has none."""
    by_word = mechanism.by_word
    return word_space() if by_word is None else by_word.space


def attack(
    mechanism: Mechanism, result: RewriteResult, *, space: WordSpace | None = None, task: Task = UNWATCHED
) -> NearestAttack:
    """Guess every hidden word of a rewrite from the released word. space: by default, :func:`space_of`."""
    require_alignment(mechanism)
    space = space_of(mechanism) if space is None else space
    steps = [(i, s) for i, s in enumerate(result.steps) if s.is_hidden]
    rows = space.rows([s.replacement for _, s in steps])
    originals = space.rows([s.original for _, s in steps])
    released = np.unique(rows[rows >= 0])
    ranks: dict[tuple[int, int], int] = {}
    near: dict[int, tuple[str, ...]] = {}
    for start in range(0, len(released), _BLOCK):
        task.check()
        block = released[start : start + _BLOCK]
        for row, distances in zip(block.tolist(), space.distance_rows(block), strict=True):
            # The word itself counts as nearest, even in a tie.
            distances[row] = -1.0
            k = min(SHOWN + 1, len(space))
            part = np.argpartition(distances, k - 1)[:k]
            order = part[np.argsort(distances[part], kind="stable")][1:]
            near[row] = tuple(space.words[i] for i in order)
            for o in originals[(rows == row) & (originals >= 0)].tolist():
                ranks[row, o] = int(np.count_nonzero(distances < distances[o]))
        task.report(min(start + _BLOCK, len(released)), len(released))
    guesses = tuple(
        NearestGuess(i, s.original, s.replacement, ranks.get((r, o)), near.get(r, ()))
        for (i, s), r, o in zip(steps, rows.tolist(), originals.tolist(), strict=True)
    )
    prior = public_prior(mechanism)
    return NearestAttack(space.name, guesses, prior.chance, prior.chance_of(10))


@register
class NearestWords(TextAttacker):
    """The nearest neighbour attack on a whole text."""

    name = "nearest-words"
    title = "Nearest words"
    question = "Which originals are the released word itself, or its nearest neighbour?"
    scope = "text"

    def attack(
        self, mechanism: Mechanism, result: RewriteResult, unit: int | None = None, *, task: Task | None = None
    ) -> NearestAttack:
        self.check(mechanism)
        return attack(mechanism, result, task=task or UNWATCHED)
