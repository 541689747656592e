"""Words as points, words on a line."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dptext_core.errors import InputError
from dptext_core.explain import DiffractionView
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import number, percent
from dptext_core.words import WordList, word_lists, word_space
from dptext_core.words.lists import list_space

from . import base
from .base import Bars, Control, Lane, Lesson, Part, Question, Reveal, Row

EPSILON = 0.5
#: Nearest words that are looked for on the line, and how many places away still counts as beside it.
NEAREST, BESIDE = 10, 10
REPLIES = (
    "A line has only two directions, so most neighbours are elsewhere.",
    "Count the blue bars: each is a neighbour close to the word.",
    "Some neighbours do stay close: count the blue bars.",
)


def word_line() -> WordList:
    """Return the row of words, those that are left out by default left out."""
    m: Any = recommended(WordLines.door.mechanism)
    return m.vocabulary.lists[0]


def nearest(word: str) -> tuple[str, ...]:
    """Return the nearest of these words in the space of the list."""
    near = word_space(list_space(word_lists()[0])).neighbours(word, 3 * NEAREST)
    return tuple(w for w, _ in near if word_line().index(w) is not None)[:NEAREST]


def places(word: str) -> dict[str, int]:
    """Return how far from the word its nearest words stand on the line, the sign saying on which side."""
    row = word_line()
    own = row.index(word)
    assert own is not None
    found = {w: row.index(w) for w in nearest(word)}
    return {w: at - own for w, at in found.items() if at is not None}


def walk(word: str) -> DiffractionView:
    """Return the words around it on the line, with their chances."""
    m = recommended(WordLines.door.mechanism, epsilon=EPSILON, keep_stopwords=False)
    result = m.rewrite(word, seed=1)
    for i in range(len(result.units)):
        for view in result.views(i):
            if isinstance(view, DiffractionView):
                return view
    raise InputError("This is not one of the words on the line. Type another English word.")


class WordLines(Lesson):
    name = "line"
    title = "Words as points, words on a line"
    goal = "Find the neighbours of your own word on the line of 1-Diffractor."
    across = True
    said = (
        "A computer stores a word as a vector, so that words with similar meanings are close.",
        "1-Diffractor puts all words in one long row, each next to its nearest remaining word. A word then moves a few "
        "random places along the row.",
    )
    task = f"Type a word and see its neighbours, with their probabilities at ε = {EPSILON:g} for each place."
    take_home = "Noise on a line is cheap, but a line cannot keep all neighbours close."
    control = Control("Your word", (), "doctor", help="Your word is kept in this session only.")
    door: ClassVar[Setting] = Setting("diffractor", {}, EPSILON)

    def checked(self, value: Any) -> str:
        word = super().checked(value)
        if word_line().index(word) is None:
            raise InputError("This is not one of the words on the line. Type another English word.")
        return word

    def show(self, value: Any) -> tuple[Part, ...]:
        (hood,) = walk(value).lists
        return (
            Lane(
                f"Around “{hood.original}” on the line",
                hood.words,
                tuple(hood.offsets.tolist()),
                tuple(hood.probs.tolist()),
            ),
        )

    def ask(self, value: Any) -> Question:
        return Question(
            f"In the space of {word_space(list_space(word_lists()[0])).vectors.shape[1]} dimensions “{value}” has "
            f"{NEAREST} nearest words. How many of these are within {BESIDE} places of it on the line?",
            ("8 or more", "4 to 7", "3 or fewer"),
        )

    def reveal(self, value: Any) -> Reveal:
        there = places(value)
        beside = sum(abs(k) <= BESIDE for k in there.values())
        (hood,) = walk(value).lists
        own, next_ = (float(hood.probs[at]) for at in (hood.at(0), hood.at(1) or hood.at(-1)) if at is not None)
        far = max(there.values(), key=abs, default=0)
        rows = tuple(
            Row(
                w,
                min(abs(k), 100),
                f"{abs(k):,} {'place' if abs(k) == 1 else 'places'} {'ahead' if k > 0 else 'back'}",
                "original" if abs(k) <= BESIDE else "",
            )
            for w, k in there.items()
        )
        lane = Lane(
            title="The line again",
            words=hood.words,
            offsets=tuple(hood.offsets.tolist()),
            probs=tuple(hood.probs.tolist()),
            near=frozenset(there),
            key=f"● one of the {NEAREST} nearest in the space",
        )
        return Reveal(
            base.bin_of(-beside, (-7, -3)),
            (
                f"{beside} of the {NEAREST} are within {BESIDE} places of “{value}”. The farthest one is "
                f"{abs(far):,} places away.",
                f"Each step along the line makes a word less likely by a factor of e^ε = {number(math.exp(EPSILON))}. "
                f"“{value}” is unchanged with probability {percent(own)}, and the next word has {percent(next_)}.",
            ),
            (
                "A point has neighbours on all sides, a word on a line only two. So a line cannot keep them all close: "
                f"{NEAREST - beside} of these {NEAREST} are farther away. That is why the mechanism may use five or "
                "ten lists.",
                "Noise on a line is cheap, because places are whole numbers. No distance to 20,000 words is computed.",
            ),
            (
                Bars(
                    "The nearest words, and how far away they are on the line (full bar: 100 places or more)", rows, 100
                ),
                lane,
            ),
            REPLIES,
        )
