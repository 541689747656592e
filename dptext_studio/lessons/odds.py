"""ε as odds: how far a release can change a reader's belief."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import number, percent

from .base import Bars, Control, Curves, Lesson, Part, Question, Reveal, Row, epsilon_text

#: A reader's belief before the release: in the figure, in the question, and about a rare fact.
EVEN, DOUBTFUL, RARE = 0.5, 0.1, 0.01
POINTS = 31


def most_certain(prior: float, epsilon: float) -> float:
    """Return the largest posterior that a factor e^ε on the odds allows."""
    return 1.0 / (1.0 + (1.0 - prior) / prior * float(np.exp(-epsilon)))


class Odds(Lesson):
    name = "odds"
    title = "ε as odds"
    goal = "Translate ε into the most that a reader can learn."
    sentences = (
        "A guarantee does not say that a reader learns nothing. It limits how much the odds can change.",
        "One release multiplies the odds of two possible texts by at most e^ε.",
    )
    task = "Move ε. How sure can a reader who started at 50:50 become?"
    take_home = "ε is a limit on odds: one release multiplies them by at most e^ε."
    control = Control("ε between the two texts", (0.1, 0.5, 1.0, 2.0, 3.0, 5.0), 1.0, epsilon_text)
    door: ClassVar[Setting] = Setting("custext", {}, 1.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        after = most_certain(EVEN, value)
        rows = (Row("before", EVEN, percent(EVEN)), Row("after, at most", after, percent(after), "released"))
        return (Bars(f"A reader's belief in one of two texts, at {epsilon_text(value)}", rows, top=1.0),)

    def ask(self, value: Any) -> Question:
        options = (DOUBTFUL, most_certain(DOUBTFUL, value), most_certain(EVEN, value))
        return Question(
            f"Another reader starts at {percent(DOUBTFUL)}. How sure can this reader become after one release at "
            f"{epsilon_text(value)}?",
            tuple(map(percent, options)),
        )

    def reveal(self, value: Any) -> Reveal:
        factor = float(np.exp(value))
        before, after = DOUBTFUL / (1 - DOUBTFUL), most_certain(DOUBTFUL, value)
        xs = np.geomspace(self.control.values[0], 2 * self.control.values[-1], POINTS).tolist()
        lines = {
            f"from {percent(prior)}": (tuple(xs), tuple(most_certain(prior, x) for x in xs))
            for prior in (EVEN, DOUBTFUL, RARE)
        }
        curves = Curves(
            "The largest belief that the guarantee allows", "belief after", lines, at=(value, epsilon_text(value))
        )
        return Reveal(
            1,
            (
                f"The odds start at {number(before)} to 1. They are multiplied by at most e^ε = {number(factor)}. "
                f"That gives {number(before * factor)} to 1: {percent(after)}.",
            ),
            (
                "The limit holds for every reader, every release and any amount of computing. What the reader knew "
                "before still counts: a rare thing stays rare at a small ε.",
                "At ε = 10 the factor is 22,026. A large ε limits nothing that a reader would notice.",
            ),
            (curves,),
            (
                "The guarantee allows some change: only ε = 0 allows none.",
                "",
                "That is the limit for a reader who started at 50:50.",
            ),
        )
