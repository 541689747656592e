"""Clipping and temperature are the exponential mechanism."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.distribution import TokenDistribution, logsumexp
from dptext_core.privacy.numbers import percent

from . import example_text
from .base import Bars, Control, Facts, Part, Question, Reveal, Row, epsilon_text, likely
from .example_text import Example, TextLesson

EPSILON = 50.0
WIDTHS = (0.5, 1.0, 2.0, 4.0)


def width_name(width: float) -> str:
    return {0.5: "half as wide", 1.0: "as it is", 2.0: "twice as wide"}.get(width, f"{width:g} times as wide")


def distribution_at(example: Example, width: float) -> tuple[TokenDistribution, TokenDistribution, float]:
    """Return two distributions of the word for a range of that width, and the temperature.

    The first is the mechanism's; the second is the softmax of the model's scores, clipped to the same range and divided
    by the temperature.
    """
    m, result = example.mechanism, example.rewrite_at(EPSILON)
    low, high = m.config.clip_min, m.config.clip_min + width * (m.config.clip_max - m.config.clip_min)
    there = m.replace(epsilon=EPSILON, clip_min=low, clip_max=high)
    place = example.place
    sampled = there.rewrite(example.prepared, seed=example_text.SEED).distribution(place)
    logits = result.logits(place)
    assert logits is not None
    temperature = 2 * (high - low) / EPSILON
    x = np.clip(logits.astype(np.float64), low, high) / temperature
    return sampled, TokenDistribution(sampled.candidates, x - logsumexp(x), sampled.source, EPSILON), temperature


class Temperature(TextLesson):
    name = "temperature"
    title = "Sampling as the exponential mechanism"
    goal = "See how a language model's sampling can protect privacy."
    sentences = (
        "A language model gives each word a score. Scores are clipped to a fixed range, so no text can move a score by "
        "more than the width of that range.",
        "Then a word is sampled. Its probability is proportional to e^(score / temperature). Chat programs sample "
        "their words in the same way.",
        f"With a temperature of 2 × width / ε, this is differential privacy. Here ε is {EPSILON:g}.",
    )
    task = "Change the range and watch the probabilities."
    take_home = "Clipping and a temperature turn a language model into the exponential mechanism."
    control = Control("The range of scores", WIDTHS, 1.0, width_name)
    door: ClassVar[Setting] = Setting(example_text.MECHANISM, {}, EPSILON)

    def show(self, value: Any) -> tuple[Part, ...]:
        sampled, _, temperature = distribution_at(self.example, value)
        title = f"What replaces “{sampled.source}”: range {width_name(value)}, temperature {temperature:.3g}"
        return self.example.sentence_with_word(), Bars(title, likely(sampled), top=1.0)

    def ask(self, value: Any) -> Question:
        source = distribution_at(self.example, 1.0)[0].source
        return Question(
            f"The range is made twice as wide, and ε is still {EPSILON:g}. What happens to the probability "
            f"that “{source}” is unchanged?",
            (
                "It grows: fewer scores are clipped.",
                "It falls: the temperature doubles.",
                "It does not change: ε decides.",
            ),
        )

    def reveal(self, value: Any) -> Reveal:
        found = {w: distribution_at(self.example, w) for w in WIDTHS}
        one, two = found[1.0][0].p_keep(), found[2.0][0].p_keep()
        right = 2 if abs(two - one) <= 0.01 * one else 0 if two > one else 1
        apart = max(float(np.abs(sampled.probs - soft.probs).max()) for sampled, soft, _ in found.values())
        rows = tuple(Row(width_name(w), d.p_keep(), percent(d.p_keep()), "original") for w, (d, _, _) in found.items())
        return Reveal(
            right,
            (
                f"“{found[1.0][0].source}” is unchanged with probability {percent(one)} if the range is “as it "
                f"is”, and {percent(two)} if it is “twice as wide”, both at {epsilon_text(EPSILON)}.",
                f"The mechanism and a plain softmax at this temperature are the same distribution: over all "
                f"{len(found[1.0][0]):,} words, their probabilities differ by at most {apart:.1g}.",
            ),
            (
                "All these ranges have the same guarantee. A wide range costs utility, because the same ε covers a "
                "larger difference between the worst and the best score. A narrow range costs utility too, because all "
                "words above its upper end have the same score.",
            ),
            (
                Bars("Probability that the word is unchanged, by the width of the range", rows, top=1.0),
                Facts(
                    ("range", "temperature", "unchanged"),
                    tuple((width_name(w), f"{t:.3g}", percent(d.p_keep())) for w, (d, _, t) in found.items()),
                ),
            ),
            (
                "The temperature doubles too, and makes all words more alike.",
                "Fewer scores are clipped, and this "
                + ("balances" if right == 2 else "outweighs")
                + " the higher temperature here.",
                "ε fixes the guarantee. How useful the scores are depends on the range.",
            ),
        )
