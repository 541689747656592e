"""The effect of ε on one word."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dptext_core.explain import same_word
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import percent
from dptext_core.support.checks import pluralize

from . import example_text
from .base import Bars, Control, Curves, Part, Question, Reveal, epsilon_text, likely
from .example_text import TextLesson

#: At one of these ε the share is close to half, and at the others it is not.
OFFERED = (10.0, 20.0, 60.0, 500.0)
POINTS = 9


class SingleWord(TextLesson):
    name = "one-word"
    title = "What ε does to one word"
    goal = "See how one slider changes the probabilities of one word."
    sentences = (
        "A word is not deleted. Another word is sampled in its place.",
        "Words that fit are more likely. At a small ε all words are almost equally likely; at a large ε the "
        "best-fitting words take almost all the probability.",
    )
    task = "Move ε and watch the probabilities for one word of the text."
    take_home = "ε says how strongly the original word may influence what is released."
    control = Control("Privacy budget", (5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0), 20.0, epsilon_text)
    door: ClassVar[Setting] = Setting(example_text.MECHANISM, {}, 20.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        d = self.example.rewrite_at(value).distribution(self.example.place)
        title = f"What replaces “{d.source}” at {epsilon_text(value)}"
        return self.example.sentence_with_word(), Bars(title, likely(d), top=1.0)

    def ask(self, value: Any) -> Question:
        n = len(self.example.sampled)
        return Question(
            f"The text has {pluralize(n, 'word')} that can be sampled like this one. At which ε is the share of "
            "unchanged words closest to half?",
            tuple(map(epsilon_text, OFFERED)),
        )

    def _why_not_all(self, epsilon: float) -> str:
        """Return why words are replaced even at this ε, with examples of this text; empty if none is."""
        result = self.example.rewrite_at(epsilon)
        likeliest = [(d, d.top(1)[0][0]) for d in map(result.distribution, self.example.sampled)]
        other = next(((d.source, w) for d, w in likeliest if d.p_keep() > 0 and not same_word(w, d.source or "")), None)
        rare = next((d for d, _ in likeliest if d.p_keep() == 0), None)
        lines = []
        if other:
            lines.append(f"For “{other[0]}”, the model prefers “{other[1]}”.")
        if rare:
            lines.append(f"“{rare.source}” is not among the {len(rare):,} words that can be sampled.")
        return " ".join(lines)

    def reveal(self, value: Any) -> Reveal:
        low, high, _ = type(self.example.mechanism).epsilon_range({})
        at = np.unique([*np.geomspace(low, high, POINTS), *OFFERED])
        shares = dict(zip(at.tolist(), self.example.kept_shares(at.tolist()).tolist(), strict=True))
        right = min(range(len(OFFERED)), key=lambda i: abs(shares[OFFERED[i]] - 0.5))
        each = "; ".join(f"{percent(shares[e])} at {epsilon_text(e)}" for e in OFFERED)
        best = max(shares, key=lambda e: shares[e])
        curve = Curves(
            "All sampled words of the text",
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
                f"At {epsilon_text(best)}, {percent(shares[best])} are unchanged. {self._why_not_all(best)}".strip(),
            ),
            (curve,),
            tuple(f"At {epsilon_text(e)}, {percent(shares[e])} are unchanged." for e in OFFERED),
        )
