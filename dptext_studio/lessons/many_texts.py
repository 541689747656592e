"""One author, many texts: a guarantee for each text is not one for its author."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.attacks.several_releases import SeveralReleases, several_releases
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import bound, number, percent
from dptext_core.privacy.sampling import NoiseStream
from dptext_lab.results import authors

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


def author_rows() -> list[authors.AuthorsRow]:
    """Return how often the stronger of two attackers recognises an author from 1 and from more texts.

    The texts are rewritten by this lesson's mechanism, with stop words kept and with them replaced.
    """
    here = (ManyTexts.door.mechanism, EPSILON)
    rows = [r for r in authors.strongest(authors.bundled()) if (r.mechanism, r.epsilon) == here]
    return sorted(rows, key=lambda r: (not r.stop_words, r.texts))


def author_table(rows: Sequence[authors.AuthorsRow]) -> tuple[Facts, ...]:
    """Return a table of these rows, and of always naming the most frequent author; () without rows."""
    if not rows:
        return ()
    cells: dict[str, list[str]] = {}
    for row in rows:
        shown = f"{row.success:.0%} ({100 * row.low:.0f}–{100 * row.high:.0f})"
        cells.setdefault(f"stop words {'kept' if row.stop_words else 'replaced'}", []).append(shown)
    guesses = {row.texts: f"{row.majority:.0%}" for row in rows}
    head = ("author recognised (95% CI)", *(f"{n} text{'s' * (n > 1)}" for n in guesses))
    lines = [*((name, *each) for name, each in cells.items()), ("guess: most frequent author", *guesses.values())]
    return (Facts(head, tuple(lines)),)


def author_sentences(rows: Sequence[authors.AuthorsRow]) -> tuple[str, ...]:
    """Return what many texts reveal about their author, or () without rows."""
    if not rows:
        return ()
    first, last = rows[0].texts, rows[-1].texts
    success = {(r.stop_words, r.texts): f"{r.success:.0%}" for r in rows}
    return (
        f"An attacker recognises the author of {first} rewritten speech {success[True, first]} of the time, and of "
        f"{last} speeches {success[True, last]}. With stop words replaced too, it is {success[False, first]} and "
        f"{success[False, last]} ({rows[0].authors} authors, {epsilon_text(EPSILON)}).",
    )


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
                *author_sentences(author_rows()),
            ),
            (
                "Each text keeps its guarantee. For the author, the ε of all texts add up, because every text mentions "
                "the same fact.",
                "A budget for a person must be divided among the texts. With many texts, little is left for each.",
                "Texts need no common fact: stop words and style can reveal the author, and more texts reveal more.",
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
                *author_table(author_rows()),
            ),
            (
                f"Each text is protected, but the total ε is {bound(total(offered[0], value))}.",
                f"Budgets add up without a square root: the total ε is {bound(total(offered[1], value))}.",
                "A larger ε for each text still respects the limit: see the table.",
            ),
        )
