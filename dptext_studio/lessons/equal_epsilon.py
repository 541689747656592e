"""Why equal ε is not equal privacy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dptext_core.measure.calibration import equal_privacy
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.distribution import Channel
from dptext_core.privacy.numbers import number, percent
from dptext_core.privacy.sentences import NOTIONS

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, Row, epsilon_text

#: Mechanisms that sample word by word, each with a different type of guarantee or distance.
NAMES = ("diffractor", "custext", "santext")
WORDS = ("doctor", "sister", "letter", "music", "winter", "money", "river", "school", "teacher", "garden")
TARGET = 0.5


def mechanisms() -> tuple[Mechanism, ...]:
    return tuple(recommended(name) for name in NAMES)


@lru_cache(maxsize=8)
def _channels(mechanism: Mechanism) -> tuple[Channel, ...]:
    by_word = mechanism.by_word
    assert by_word is not None
    at = {w.lower(): i for i, w in enumerate(by_word.vocabulary.words)}
    return tuple(by_word.channels(np.array([at[w] for w in WORDS])))


@lru_cache(maxsize=1)
def _unchanged() -> dict[str, tuple[Mechanism, tuple[Channel, ...]]]:
    return {m.name: (m, _channels(m)) for m in mechanisms()}


def unchanged_at(epsilon: float) -> dict[str, float]:
    """Return the mean probability that one of WORDS is unchanged, by the title of the mechanism."""
    return {
        m.title: float(np.mean([c.at(epsilon).p_keep() for c in channels])) for m, channels in _unchanged().values()
    }


class EqualEpsilon(Lesson):
    name = "equal"
    title = "Why equal ε is not equal privacy"
    goal = "Compare three mechanisms at the same ε."
    sentences = (
        "Every mechanism has an ε. It is tempting to compare mechanisms at the same value.",
        "But their units differ: a word within its group, a unit of distance, or a position on a list.",
    )
    task = f"Here is one of them, 1-Diffractor, on {len(WORDS)} everyday words. Choose an ε."
    take_home = "Compare mechanisms at equal measured privacy, not at equal ε."
    control = Control("Privacy budget", (0.5, 1.0, 2.0, 5.0), 1.0, epsilon_text)
    door: ClassVar[Setting] = Setting("custext", {}, 1.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        title, p = next(iter(unchanged_at(value).items()))
        rows = (Row(title, p, percent(p)),)
        return (Bars(f"Probability that a word is unchanged, at {epsilon_text(value)}", rows, top=1.0),)

    def ask(self, value: Any) -> Question:
        return Question(
            f"CusText and SanText rewrite the same words, also at {epsilon_text(value)}. How far apart are the "
            "probabilities that a word is unchanged?",
            (
                "Close together: ε is the same.",
                "The largest is two to ten times the smallest.",
                "The largest is more than ten times the smallest.",
            ),
        )

    def reveal(self, value: Any) -> Reveal:
        at = unchanged_at(value)
        low, high = min(at.values()), max(at.values())
        ratio = high / low if low > 0 else float("inf")
        made = [m for m, _ in _unchanged().values()]
        points = equal_privacy(made, {"n_w": TARGET}, words=WORDS)
        rows = tuple(Row(title, p, percent(p)) for title, p in at.items())
        return Reveal(
            0 if ratio < 2 else 1 if ratio <= 10 else 2,
            (
                f"At {epsilon_text(value)} a word is unchanged with probability "
                + ", ".join(f"{percent(p)} ({t})" for t, p in at.items())
                + ".",
                "Half of the words are unchanged at a different ε for each mechanism: "
                + ", ".join(f"{number(c.epsilon)} ({c.mechanism.title})" for c in points if c.epsilon is not None)
                + ".",
            ),
            (
                "An ε without its unit says nothing. Compare what is measured: how often a word is unchanged, or how "
                "often the strongest attacker is right.",
                "These measurements are not the guarantee. Ask first what is guaranteed, and between which texts.",
            ),
            (
                Bars(f"Probability that a word is unchanged, all at {epsilon_text(value)}", rows, top=1.0),
                Facts(
                    ("mechanism", "guarantee", f"ε with {percent(TARGET)} unchanged"),
                    tuple(
                        (
                            c.mechanism.title,
                            NOTIONS[type(c.mechanism).notion],
                            "not reached" if c.epsilon is None else number(c.epsilon),
                        )
                        for c in points
                    ),
                ),
            ),
            (
                "The number is the same, but each mechanism has its own unit of ε.",
                f"Divide the largest probability by the smallest: the ratio is {number(ratio)}.",
                f"They are closer: the largest is {number(ratio)} times the smallest.",
            ),
        )
