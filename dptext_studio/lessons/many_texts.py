"""One author, many texts: a guarantee for each text is not one for its author."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.attacks.several_releases import SeveralReleases, several_releases
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import bound, number, percent
from dptext_core.privacy.sampling import NoiseStream

from . import reader_game
from .base import Bars, Control, Curves, Facts, Lesson, Part, Question, Reveal, Row, epsilon_text
from .reader_game import LineUp

#: ε of the word in each text, and the number of an author's texts.
EPSILON = 2.0
TEXTS = (2, 4, 8, 16)
SEED = 3
DRAWS = 200


def line_up() -> LineUp:
    """Return the texts that differ in the author's fact."""
    return reader_game.rules().line_ups[0]


def at(epsilon: float) -> Mechanism:
    return reader_game.rules().mechanism.replace(epsilon=epsilon)


@lru_cache(maxsize=8)
def read_all(epsilon: float) -> tuple[SeveralReleases, tuple[str, ...]]:
    """Return the optimal reader's beliefs after 1 to TEXTS[-1] releases, and the word of each in the place of the fact.

    The mechanism samples each word from that word alone. So releases of texts that differ in other words reveal as much
    about this one as releases of the same text.
    """
    question = BeliefQuestion.make(at(epsilon), line_up().text(0), line_up().facts[0], line_up().facts[1:])
    stream = NoiseStream(SEED)
    releases = [at(epsilon).rewrite(question.prepared[0], stream=stream.at(i)) for i in range(TEXTS[-1])]
    results = several_releases(question, releases, (1, *TEXTS), draws=DRAWS, stream=stream.at("success"))
    fact = line_up().facts[0].casefold()
    spans = [next(s.out for s in r.steps if s.original.casefold() == fact) for r in releases]
    return results, tuple(r.text[slice(*span)] for r, span in zip(releases, spans, strict=True) if span is not None)


def total(epsilon: float, texts: int) -> float:
    """Return ε of one word that occurs in so many texts."""
    return texts * at(epsilon).guarantee(line_up().facts[0]).epsilon


def budgets(texts: int) -> tuple[float, ...]:
    """Return the ε of each text for the answers of the question, largest first."""
    return EPSILON, EPSILON / math.sqrt(texts), EPSILON / texts


class ManyTexts(Lesson):
    name = "many-texts"
    title = "One author, many texts"
    goal = "See why a guarantee for a text is not one for its author."
    minutes = 3
    across = True
    sentences = (
        "A guarantee names its unit. Here it is one word of one text, but people write many texts.",
        f"An author mentions the same fact in each of them, and each is rewritten with {epsilon_text(EPSILON)}.",
    )
    task = "Choose how many texts the author publishes, and watch what the optimal reader believes."
    take_home = "Ask what a guarantee covers: one text, or everything that a person writes."
    control = Control("Texts of one author", TEXTS, 8, "{} texts".format)
    door: ClassVar[Setting] = Setting("custext", {}, EPSILON)

    def show(self, value: Any) -> tuple[Part, ...]:
        results, words = read_all(EPSILON)
        row = results.posterior[results.releases.index(value)]
        rows = tuple(
            Row(fact, float(p), percent(float(p)), "" if j else "original")
            for j, (fact, p) in enumerate(zip(results.alternatives, row, strict=True))
        )
        return (
            Facts((), (("The word in each text", ", ".join(words[:value])),)),
            Bars(f"What the optimal reader believes after {self.control.format_value(value)}", rows, top=1.0),
        )

    def ask(self, value: Any) -> Question:
        limit = percent(reader_game.ceiling(EPSILON, len(line_up().facts)))
        one, root, share = map(number, budgets(value))
        return Question(
            f"After one text at {epsilon_text(EPSILON)}, no reader can be more than {limit} sure. What may each "
            f"of {self.control.format_value(value)} spend on this fact, so that the same limit holds for all of them "
            "together?",
            (f"ε = {one}: each text is protected", f"ε = {root}: divide by the square root of {value}", f"ε = {share}"),
        )

    def reveal(self, value: Any) -> Reveal:
        k, offered = len(line_up().facts), budgets(value)
        allowed = [total(e, value) <= total(EPSILON, 1) * (1 + 1e-9) for e in offered]
        results, _ = read_all(EPSILON)
        success = dict(zip(results.releases, (e.value for e in results.expected_success), strict=True))
        limits = {n: reader_game.ceiling(total(EPSILON, n), k) for n in results.releases}
        xs = tuple(map(float, results.releases))
        rows = tuple(
            (f"{number(e)}", bound(total(e, value)), percent(reader_game.ceiling(total(e, value), k))) for e in offered
        )
        return Reveal(
            allowed.index(True),
            (
                f"{self.control.format_value(value)} at {epsilon_text(EPSILON)} spend {bound(total(EPSILON, value))} "
                f"together. The limit rises from {percent(limits[1])} to {percent(limits[value])}.",
                f"The optimal reader is right {percent(success[1])} of the time after one text, and "
                f"{percent(success[value])} after {value}.",
            ),
            (
                "Each text keeps its guarantee. For the author, the ε of all texts add up, because every text mentions "
                "the same fact.",
                "A budget for a person must be divided among the texts. With many texts, little is left for each.",
            ),
            (
                Curves(
                    "The optimal reader, by the number of texts",
                    "share of right guesses",
                    {
                        "optimal reader": (xs, tuple(success[n] for n in results.releases)),
                        "limit of the guarantee": (xs, tuple(limits[n] for n in results.releases)),
                    },
                    x_title="texts",
                ),
                Facts(("ε of each text", "ε together", "largest certainty allowed"), rows),
            ),
            (
                f"Each text is protected, but the total ε is {bound(total(offered[0], value))}.",
                f"Budgets add up without a square root: the total ε is {bound(total(offered[1], value))}.",
                "A larger ε for each text still respects the limit: see the table.",
            ),
        )
