"""Asking twice: budgets add up."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dptext_core.attacks import bayes
from dptext_core.explain import same_word
from dptext_core.measure.ledger import Ledger
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import bound, number, percent
from dptext_core.result import RewriteResult

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, Row, bin_of

WORD, EPSILON = "doctor", 0.5
#: The number of answers that an attacker sees; the control, the figure and the table share these values.
COUNTS = (1, 2, 5, 10)
MANY = COUNTS[-1]
#: The number of simulations for each of these words, each with MANY answers, behind the figure of the reveal.
ROOMS = 4
WORDS = ("doctor", "sister", "letter", "music", "winter", "money", "river", "school", "teacher", "garden")


def mechanism() -> Mechanism:
    return recommended(RepeatedAnswers.door.mechanism, epsilon=EPSILON)


@lru_cache(maxsize=1)
def answers() -> tuple[RewriteResult, ...]:
    """Return fresh answers for the one word, up to the control's maximum, drawn once so that everybody sees the same.
    """
    return tuple(mechanism().rewrites(WORD, MANY))


def total_spent(n: int) -> float:
    """Return the total ε of n releases, from the ledger."""
    book = Ledger()
    for result in answers()[:n]:
        book.record(result, released=True)
    return book.account(WORD).totals[0].epsilon


@lru_cache(maxsize=1)
def guess_rates() -> np.ndarray:
    """Return the share of simulations in which the optimal guess is right after 1, 2, … MANY answers, float64 (MANY,).
    """
    m = mechanism()
    right = np.zeros(MANY)
    for word in WORDS:
        d = m.distribution(word, 0)
        for room in range(ROOMS):
            posterior = bayes.answers(m, d.sample(MANY, seed=room), true=word, top=1)
            right += [p.rank == 1 for p in posterior]
    return right / (ROOMS * len(WORDS))


class RepeatedAnswers(Lesson):
    name = "twice"
    title = "Asking twice: budgets add up"
    goal = "See why ten answers reveal more than one."
    sentences = (
        "Each answer uses fresh noise, so one answer reveals little.",
        "Somebody who sees several answers to the same text asks: which word makes all of them likely?",
    )
    task = (
        f"“{WORD}” was rewritten many times with ε = {EPSILON:g}. Choose how many answers the attacker has seen."
    )
    take_home = "Budgets add up: rewrite a text once, and give that one answer to everybody."
    control = Control("Number of answers", COUNTS, 1, lambda n: f"{n} answer{'s' * (n != 1)}")
    door: ClassVar[Setting] = Setting("diffractor", {}, EPSILON)

    def show(self, value: Any) -> tuple[Part, ...]:
        words = [r.text for r in answers()[:value]]
        posterior = bayes.answers(mechanism(), [w.lower() for w in words], true=WORD, top=6)[-1]
        rows = [Row(w, p, percent(p), "original" if same_word(w, WORD) else "") for w, p, _ in posterior.top]
        if not any(r.mark for r in rows):
            p = posterior.p_true or 0.0
            rows[-1] = Row(f"{WORD} (place {posterior.rank:,})", p, percent(p), "original")
        return (
            Facts((), (("The answers", ", ".join(words)),)),
            Bars("Which word the attacker believes it was", tuple(rows), top=1.0),
        )

    def ask(self, value: Any) -> Question:
        return Question(
            f"Over {len(WORDS)} everyday words, the Bayes-optimal guess after one answer is right "
            f"{percent(float(guess_rates()[0]))} of the time. How often is it "
            f"right after {MANY} answers, each with fresh noise?",
            (
                "Not much more often: each answer keeps its guarantee.",
                "More often, but less than 75% of the time.",
                "At least 75% of the time.",
            ),
        )

    def reveal(self, value: Any) -> Reveal:
        share = guess_rates()
        rows = tuple(
            Row(self.control.format_value(n), float(share[n - 1]), percent(float(share[n - 1]))) for n in COUNTS
        )
        return Reveal(
            bin_of(float(share[-1]), (float(share[0]) * 1.25 + 0.02, 0.75)),
            (
                f"After {MANY} answers the optimal guess is right {percent(float(share[-1]))} of the time, measured "
                f"{ROOMS} times for each of these words.",
                f"The privacy ledger shows why: one answer spends ε = {number(EPSILON)} for each position on "
                f"the list, and {MANY} answers spend {bound(total_spent(MANY))}.",
            ),
            (
                "Each answer keeps its own guarantee. Together they have the guarantee of one answer with the sum of "
                "their ε. So rewrite a text once, and give that one answer to everybody who asks.",
                "Sampling several answers and choosing the best one spends ε too, because the choice depends on all of "
                "them.",
            ),
            (
                Bars("How often the optimal guess is right", rows, top=1.0),
                Facts(("answers", "total ε"), tuple((f"{n}", bound(total_spent(n))) for n in COUNTS)),
            ),
            (
                "Each answer keeps its own guarantee, but the noise of many answers averages out.",
                "The noise averages out: see how fast the bars grow.",
                "The noise averages out more slowly: see the bars.",
            ),
        )
