"""The effect of ε on one word."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import percent

from . import example_text
from .base import Bars, Control, Curves, Lesson, Part, Question, Reveal, epsilon_text, likely

#: At one of these ε the share is close to half, and at the others it is not.
OFFERED = (10.0, 20.0, 60.0, 500.0)
POINTS = 9


class SingleWord(Lesson):
    name = "one-word"
    title = "What ε does to one word"
    goal = "See how one slider changes the probabilities of one word."
    sentences = (
        "A word is not deleted. Another word is sampled in its place.",
        "Words that fit are more likely. At a small ε all words are almost equally likely; at a large ε the "
        "best-fitting words take almost all the probability.",
    )
    task = "Move ε and watch the probabilities for one word of a doctor's note."
    take_home = "ε says how strongly the original word may influence what is released."
    control = Control("Privacy budget", (5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0), 20.0, epsilon_text)
    door: ClassVar[Setting] = Setting(example_text.MECHANISM, {}, 20.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        result = example_text.rewrite_at(value)
        d = result.distribution(example_text.place(result))
        title = f"What replaces “{d.source}” at {epsilon_text(value)}"
        return example_text.sentence_with_word(), Bars(title, likely(d), top=1.0)

    def ask(self, value: Any) -> Question:
        n = len(example_text.drawn_words(example_text.rewrite_at(example_text.mechanism().config.epsilon)))
        return Question(
            f"The note has {n} words that are sampled like this one. At which ε are about half of them unchanged?",
            tuple(map(epsilon_text, OFFERED)),
        )

    def reveal(self, value: Any) -> Reveal:
        low, high, _ = type(example_text.mechanism()).epsilon_range({})
        at = np.unique([*np.geomspace(low, high, POINTS), *OFFERED])
        shares = dict(zip(at.tolist(), example_text.kept_shares(at.tolist()).tolist(), strict=True))
        right = min(range(len(OFFERED)), key=lambda i: abs(shares[OFFERED[i]] - 0.5))
        each = "; ".join(f"{percent(shares[e])} at {epsilon_text(e)}" for e in OFFERED)
        best = max(shares, key=lambda e: shares[e])
        words = len(
            example_text.rewrite_at(OFFERED[0]).distribution(example_text.place(example_text.rewrite_at(OFFERED[0])))
        )
        curve = Curves(
            "All sampled words of the note",
            "share unchanged",
            {"mean probability of being unchanged": (tuple(shares), tuple(shares.values()))},
            at=(OFFERED[right], epsilon_text(OFFERED[right])),
        )
        return Reveal(
            right,
            (f"Mean probability that a sampled word is unchanged: {each}.",),
            (
                "ε is not a percentage. Below some value almost every word is replaced. Most changes happen within "
                "a short range. Beyond it, a larger ε costs privacy and adds little meaning.",
                f"Even at {epsilon_text(best)} only {percent(shares[best])} are unchanged. The model often prefers "
                "another form (“diseases” for “disease”), and rare words such as “Halvorsen” are not among the "
                f"{words:,} that can be sampled.",
            ),
            (curve,),
            tuple(f"At {epsilon_text(e)}, {percent(shares[e])} are unchanged." for e in OFFERED),
        )
