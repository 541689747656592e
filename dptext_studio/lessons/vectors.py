"""Noise on vectors: a guarantee that grows with the distance of two words."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar, cast

import numpy as np

from dptext_core.errors import InputError
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.mechanisms.words.mvc import MVC
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.privacy.numbers import number, odds_text, percent

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, Row, epsilon_text, likely

#: An ε at which the limits have a convenient size.
EPSILON = 10.0
#: The number of nearest words that are shown, and words of other topics.
NEAREST = 3
OTHERS = ("winter", "banana")


@lru_cache(maxsize=1)
def mechanism() -> MVC:
    return cast(MVC, recommended(Vectors.door.mechanism))


def distances(word: str) -> dict[str, float]:
    """Return the distances to the nearest words and to OTHERS in the mechanism's own metric, ascending."""
    near = [w for w, _ in mechanism().vocabulary.neighbours(word, NEAREST)]
    others = [w for w in OTHERS if w not in (word, *near)]
    to_word = mechanism().audit_support.distances([word, *near, *others])[0, 1:]
    return dict(sorted(zip((*near, *others), map(float, to_word), strict=True), key=lambda pair: pair[1]))


@lru_cache(maxsize=16)
def draws(word: str, epsilon: float) -> TokenDistribution:
    """Return the outputs of the word at this ε, estimated from draws."""
    m = mechanism()
    row = m.vocabulary.index(word)
    assert row is not None
    return m.channels(np.array([row]))[0].at(epsilon)


class Vectors(Lesson):
    name = "vectors"
    title = "Noise on vectors"
    goal = "See why near words are protected more than far words."
    minutes = 3
    sentences = (
        "A computer stores a word as a point, so that words with similar meanings are close.",
        "MVC adds random noise to the point. The noisy point is not a word, so the nearest word is released.",
    )
    task = "Type a word. Which words are close to it, and which are far away?"
    take_home = "Metric privacy multiplies ε by the distance: one ε protects near words more than far words."
    control = Control("Your word", (), "doctor", help="Your word is kept in this session only.")
    door: ClassVar[Setting] = Setting("mvc", {}, recommended("mvc").config.epsilon)

    def checked(self, value: Any) -> str:
        word = super().checked(value)
        if mechanism().vocabulary.index(word) is None:
            raise InputError("This word is not in the word space. Type another English word.")
        return word

    def show(self, value: Any) -> tuple[Part, ...]:
        near, epsilon = distances(value), self.usual_epsilon()
        rows = tuple(Row(w, d, f"{d:.2f}") for w, d in near.items())
        sampled = draws(value, epsilon)
        return (
            Bars(f"Distance from “{value}”", rows),
            Bars(
                f"What replaces “{value}” at {epsilon_text(epsilon)}, in {sampled.draws:,} draws",
                likely(sampled, 4),
                top=1.0,
            ),
        )

    def usual_epsilon(self) -> float:
        """Return the initial ε of Explore."""
        assert isinstance(self.door.epsilon, float | int)
        return float(self.door.epsilon)

    def ask(self, value: Any) -> Question:
        near, d = next(iter(distances(value).items()))
        return Question(
            f"ε = {EPSILON:g} for each unit of distance, and “{near}” is {d:.2f} away from “{value}”. How far can one "
            "release change the odds between these two words?",
            (
                f"Up to {odds_text(EPSILON)}, as for any two words",
                f"Up to {odds_text(EPSILON * d)}",
                "Any number of times",
            ),
        )

    def reveal(self, value: Any) -> Reveal:
        found, usual = distances(value), self.usual_epsilon()
        (near, least), (far, most) = next(iter(found.items())), list(found.items())[-1]
        options = np.array([EPSILON, EPSILON * least])
        allowed = EPSILON * float(mechanism().audit_support.distances([value, near])[0, 1])
        back = draws(value, usual).p_keep()
        rows = tuple((w, f"{d:.2f}", odds_text(EPSILON * d), odds_text(usual * d)) for w, d in found.items())
        return Reveal(
            2 if math.isinf(allowed) else int(np.abs(options - allowed).argmin()),
            (
                f"The limit is e^(ε·d). For “{near}” that is e^({EPSILON:g} × {least:.2f}) = "
                f"{odds_text(EPSILON * least)}, and for “{far}” it is {odds_text(EPSILON * most)}.",
                f"At {epsilon_text(usual)}, “{value}” is released as itself in {percent(back)} of the draws. The limit "
                f"for “{near}” is then {odds_text(usual * least)}.",
            ),
            (
                "A point returns to its own word only if it moves a little. "
                "So most words change until ε is large, and then the limit gives no practical protection.",
                "An ε per unit of distance depends on the scale of the vectors. Do not compare it with any other ε.",
            ),
            (Facts(("word", "distance d", f"limit at ε = {EPSILON:g}", f"limit at ε = {number(usual)}"), rows),),
            (
                f"That is the limit for two words at distance 1. These two are {least:.2f} apart.",
                "The limit multiplies ε by the distance of the two words.",
                "Every pair has a finite limit: multiply ε by the distance.",
            ),
        )
