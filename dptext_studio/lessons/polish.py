"""Post-processing is free; a clean-up that looks at the original is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dptext_core.explain import same_word
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.distribution import Channel
from dptext_core.privacy.numbers import odds_text, percent

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, epsilon_text, likely

WORD, OTHER = "doctor", "nurse"
#: Differences of a log-ratio that are due to rounding.
SAME = 1e-9


@lru_cache(maxsize=1)
def channels() -> tuple[Channel, Channel]:
    """Return the distributions of the two words."""
    by_word = recommended(Polish.door.mechanism).by_word
    assert by_word is not None
    words = [w.lower() for w in by_word.vocabulary.words]
    one, other = by_word.channels(np.array([words.index(WORD), words.index(OTHER)]))
    return one, other


@lru_cache(maxsize=1)
def singular_index() -> np.ndarray:
    """Return for each candidate the one that the first clean-up writes: the word without its final "s", if that is a
    candidate.
    """
    candidates = list(channels()[0].candidates)
    at = {w: i for i, w in enumerate(candidates)}
    return np.array([at.get(w[:-1], i) if w.endswith("s") else i for i, w in enumerate(candidates)])


def merge_plurals(probs: np.ndarray) -> np.ndarray:
    """Return the distribution after the first clean-up, which reads the release only."""
    return np.bincount(singular_index(), weights=probs, minlength=len(probs))


def ban_original(probs: np.ndarray, word: str) -> np.ndarray:
    """Return the distribution after the second clean-up, which samples again if the original came out."""
    is_original = np.array([same_word(w, word) for w in channels()[0].candidates])
    out = np.where(is_original, 0.0, probs)
    return out / out.sum()


#: A clean-up: from the distribution and the original to the new distribution.
CLEAN_UPS: dict[str, Callable[[np.ndarray, str], np.ndarray]] = {
    "none": lambda probs, _: probs,
    "singular": lambda probs, _: merge_plurals(probs),
    "no original": ban_original,
}


def odds(epsilon: float, clean_up: str) -> tuple[float, float, float]:
    """Return the probability that WORD is released for WORD and for OTHER, and the largest absolute log-ratio over all
    outputs.
    """
    p, q = (CLEAN_UPS[clean_up](c.at(epsilon).probs, word) for c, word in zip(channels(), (WORD, OTHER), strict=True))
    at = np.array([same_word(w, WORD) for w in channels()[0].candidates])
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.abs(np.log(p) - np.log(q))
    return float(p[at].sum()), float(q[at].sum()), float(np.nanmax(loss))


def odds_name(loss: float) -> str:
    return "no limit" if math.isinf(loss) else odds_text(loss)


class Polish(Lesson):
    name = "polish"
    title = "Clean up a release, and never look back"
    goal = "Distinguish a clean-up that spends no ε from one that breaks the guarantee."
    minutes = 3
    sentences = (
        "A release can be corrected, shortened or translated. Sometimes the sampled word is even the original.",
        "Clean-up 1 writes each released word in the singular. Clean-up 2 samples again if the original came out.",
    )
    task = "Move ε and look for the original word. Which of the two clean-ups would you use?"
    take_home = "What you do with a release costs no ε, as long as you never look at the original again."
    control = Control("Privacy budget", (5.0, 10.0, 15.0, 20.0, 25.0), 15.0, epsilon_text)
    door: ClassVar[Setting] = Setting("santext", {}, 15.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        rows = likely(channels()[0].at(value))
        return (Bars(f"What replaces “{WORD}” at {epsilon_text(value)}", rows, top=1.0),)

    def ask(self, value: Any) -> Question:
        return Question(
            f"Which clean-up makes “{WORD}” and “{OTHER}” easier to distinguish?",
            ("Neither of them", "Clean-up 1: singular only", "Clean-up 2: never the original", "Both of them"),
        )

    def reveal(self, value: Any) -> Reveal:
        results = {name: odds(value, name) for name in CLEAN_UPS}
        plain, singular, banned = results.values()
        weaker = [one[2] > plain[2] + SAME for one in (singular, banned)]
        rows = (
            (f"“{WORD}” is released for “{WORD}”", *(percent(p) for p, _, _ in results.values())),
            (f"“{WORD}” is released for “{OTHER}”", *(percent(q) for _, q, _ in results.values())),
            ("largest ratio over all outputs", *(odds_name(loss) for _, _, loss in results.values())),
        )
        return Reveal(
            weaker[0] + 2 * weaker[1],
            (
                f"Largest ratio of an output's two probabilities: {odds_name(plain[2])} "
                f"without a clean-up, {odds_name(singular[2])} with clean-up 1, and {odds_name(banned[2])} "
                "with clean-up 2.",
                f"With clean-up 2, “{OTHER}” becomes “{WORD}” with probability {percent(banned[1])}, and “{WORD}” "
                f"is unchanged with {percent(banned[0])}. A reader who sees “{WORD}” can rule out that it was the "
                "original.",
            ),
            (
                "Clean-up 1 sees the release alone. It can merge outputs, and so it can hide more but never reveal "
                "more. This is called post-processing.",
                "Clean-up 2 looks at the original. An output that becomes impossible for one word identifies the "
                "other. So the original must be able to come back.",
            ),
            (Facts(("", "no clean-up", "clean-up 1", "clean-up 2"), rows),),
            (
                "Compare the last row of the table: one of the ratios grows.",
                "Clean-up 1 reads the release alone, and treats both words alike.",
                f"The largest ratio: {odds_name(plain[2])} without a clean-up, {odds_name(banned[2])} with clean-up 2.",
                "Clean-up 1 reads the release alone, so it cannot reveal more than the release does.",
            ),
        )
