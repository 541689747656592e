"""Why the original can come back."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dptext_core.explain import same_word
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.distribution import Channel
from dptext_core.privacy.numbers import number, odds_text, percent

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, epsilon_text, likely

WORD, OTHER = "doctor", "nurse"
REPLIES = (
    f"The reader would learn that the word was not “{WORD}”.",
    "The ban is part of the known mechanism, so the reader takes it into account.",
    "The ban changes the odds: compare the two columns.",
)


@lru_cache(maxsize=1)
def channels() -> tuple[Channel, Channel]:
    """Return what the two words are drawn from."""
    by_word = recommended(OriginalReturns.door.mechanism).by_word
    assert by_word is not None
    words = [w.lower() for w in by_word.vocabulary.words]
    one, other = by_word.channels(np.array([words.index(WORD), words.index(OTHER)]))
    return one, other


def odds(epsilon: float, banned: bool) -> tuple[float, float, float]:
    """Return the chance that WORD comes out where WORD stood, and where OTHER stood, and ln of how far these two words
    can be told apart by any output. banned: no word is released as itself."""
    p, q = (c.at(epsilon).probs.copy() for c in channels())
    at = [np.array([same_word(w, name) for w in channels()[0].candidates]) for name in (WORD, OTHER)]
    if banned:
        for probs, own in ((p, at[0]), (q, at[1])):
            probs[own] = 0.0
            probs /= probs.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.abs(np.log(p) - np.log(q))
    return float(p[at[0]].sum()), float(q[at[0]].sum()), float(np.nanmax(loss))


class OriginalReturns(Lesson):
    name = "come-back"
    title = "Why the original can come back"
    goal = "Learn why a ban on the original word would reveal more."
    said = (
        "Sometimes the sampled word is the original. That is not a mistake.",
        "The original is one of all the words that can be sampled, and near words are more likely than far ones.",
    )
    task = "Move ε and see how often it comes back."
    take_home = "What can never be released tells the attacker something too."
    control = Control("Privacy budget", (5.0, 10.0, 15.0, 20.0, 25.0), 15.0, epsilon_text)
    door: ClassVar[Setting] = Setting("santext", {}, 15.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        rows = likely(channels()[0].at(value))
        return (Bars(f"What replaces “{WORD}” at {epsilon_text(value)}", rows, top=1.0),)

    def ask(self, value: Any) -> Question:
        return Question(
            "Suppose that the original word is banned, so that another word is always sampled. Is the text better "
            "protected then?",
            (
                "Yes: the original can never be read.",
                f"No: a reader who sees “{WORD}” is certain that it was not “{WORD}”.",
                "It makes no difference.",
            ),
        )

    def reveal(self, value: Any) -> Reveal:
        open_, banned = odds(value, False), odds(value, True)
        right = 2 if math.isclose(banned[2], open_[2], rel_tol=0.01) else 0 if banned[2] < open_[2] else 1
        loss = "infinite" if math.isinf(banned[2]) else odds_text(banned[2])
        rows = (
            (f"“{WORD}” is released for “{WORD}”", percent(open_[0]), percent(banned[0])),
            (f"“{WORD}” is released for “{OTHER}”", percent(open_[1]), percent(banned[1])),
            ("largest ratio between the two words, over all outputs", odds_text(open_[2]), loss),
        )
        return Reveal(
            right,
            (
                f"Without the ban, both words can be released as “{WORD}”. At {epsilon_text(value)}, no output is more "
                f"than {odds_text(open_[2])} as likely for one of them as for the other.",
                f"With the ban, “{OTHER}” becomes “{WORD}” with probability {percent(banned[1])}, and “{WORD}” with "
                f"{percent(banned[0])}. The ratio of the two is "
                + ("infinite." if math.isinf(banned[2]) else f"{number(math.exp(banned[2]))}."),
            ),
            (
                "An output that is impossible for one word identifies the other. A guarantee needs every word to be "
                "possible everywhere, the original included.",
            ),
            (Facts(("", "without the ban", "with the ban"), rows),),
            REPLIES,
        )
