"""A coin that protects an answer: randomised response, with a die for a class."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import number, percent
from dptext_core.privacy.sampling import NoiseStream

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, Row, bin_of

#: Faces of the die; people of the simulated class, and how many of them would say yes.
FACES, CLASS, TRUE_YES = 6, 30, 12
SEED = 1
#: Edges of the intervals for the ratio of the two probabilities.
EDGES = (1.75, 4.0)


def yes_probabilities(faces: int) -> tuple[float, float]:
    """Return the probability of "yes" from a person for whom it is true, and from one for whom it is not.

    faces: how many faces of the die mean the truth; on the others a coin answers.
    """
    random = (FACES - faces) / FACES / 2
    return faces / FACES + random, random


def epsilon(faces: int) -> float:
    """Return ε of one answer: ln of the ratio of the two probabilities."""
    yes, no = yes_probabilities(faces)
    return math.log(yes / no)


def survey(faces: int) -> int:
    """Return how many people of the simulated class answer yes."""
    yes, no = yes_probabilities(faces)
    draws = NoiseStream(SEED).at("survey", faces).uniforms(CLASS)
    return int((draws < [yes] * TRUE_YES + [no] * (CLASS - TRUE_YES)).sum())


def estimate(answers: float, faces: int) -> float:
    """Return the share of people for whom it is true, estimated from the share of "yes". It can lie outside 0 to 1."""
    return (answers - yes_probabilities(faces)[1]) / (faces / FACES)


class Coin(Lesson):
    name = "coin"
    title = "A coin that protects an answer"
    goal = "Run a survey in which nobody can be sure of your answer."
    minutes = 5
    sentences = (
        "“Have you ever copied homework?” Everybody rolls a die and shows it to nobody.",
        "On some faces you tell the truth. On the others you toss a coin, and the coin answers.",
    )
    task = "Choose how many of the six faces mean the truth. In class, roll real dice and raise your hands."
    take_home = "Noise protects each person, and the average of many people is still useful."
    control = Control("Faces that mean the truth", (1, 2, 3, 4, 5), 4, lambda n: f"{n} of {FACES}")
    door: ClassVar[Setting] = Setting("custext", {}, 1.0)

    def show(self, value: Any) -> tuple[Part, ...]:
        rows = tuple(
            Row(label, p, percent(p), mark)
            for label, p, mark in zip(
                ("you did copy", "you did not"), yes_probabilities(value), ("original", ""), strict=True
            )
        )
        return (Bars("Probability that you answer “yes”, if", rows, top=1.0),)

    def ask(self, value: Any) -> Question:
        return Question(
            f"{self.control.format_value(value)} faces mean the truth, and you hear a classmate say “yes”. How much "
            "more likely is this answer if they did copy?",
            ("Up to 1.75 times", "Between 1.75 and 4 times", "More than 4 times", "You know for certain that they did"),
        )

    def reveal(self, value: Any) -> Reveal:
        yes, no = yes_probabilities(value)
        heard = survey(value)
        guess = min(1.0, max(0.0, estimate(heard / CLASS, value)))
        rows = tuple(
            (self.control.format_value(n), number(math.exp(epsilon(n))), number(epsilon(n)))
            for n in self.control.values
        )
        return Reveal(
            bin_of(yes / no, EDGES),
            (
                f"“Yes” has probability {percent(yes)} from somebody who copied, and {percent(no)} from somebody who "
                f"did not. The ratio is {number(yes / no)}, and its logarithm is ε = {number(epsilon(value))}.",
                f"In a simulated class of {CLASS}, {TRUE_YES} people copied, and {heard} answer “yes”. "
                f"Corrected for the dice, the estimate is {number(guess * CLASS)} people.",
            ),
            (
                "Nobody has to trust the teacher: the noise is added before the answer is spoken. That is local "
                "differential privacy, and rewriting a text works in the same way.",
                "More faces for the truth give a better estimate and less protection.",
            ),
            (Facts(("faces that mean the truth", "ratio", "ε = ln(ratio)"), rows),),
            (
                f"Too low: {percent(yes)} of those who copied say “yes”, but only {percent(no)} of the others.",
                f"Divide the longer bar by the shorter one: the ratio is {number(yes / no)}.",
                f"Too high: the coin also makes {percent(no)} of the others say “yes”.",
                "People who never copied also say “yes” if the coin says so.",
            ),
        )
