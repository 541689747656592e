"""Beat the optimal reader: one example round, and the parts that the game shows.

On the page, the game of ``reader_game`` replaces this lesson's question. On paper and on a static page, the lesson is
one round, sampled with a seed so that everybody sees the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import number, percent
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.checks import pluralize

from . import reader_game
from .base import Bars, Control, Curves, Facts, Lesson, Marked, Part, Question, Reveal, Row, epsilon_text
from .reader_game import Round, Rules, Score

SEED = 1
#: Points of a curve over ε.
POINTS = 41
#: Above this, nobody notices a ceiling.
CERTAIN = 0.9995
#: What the marks of a release mean.
MARKS = {"secret": "replaces the secret word", "changed": "another replaced word"}


@lru_cache(maxsize=8)
def example_round(epsilon: float) -> Round:
    """Return the example round at this ε; each level has a separate line-up."""
    rules = reader_game.rules()
    at = rules.epsilons.index(epsilon)
    return Round.draw(rules, rules.line_ups[at], epsilon, NoiseStream(SEED).at(at))


# --- what the game shows


def limit_text(limit: float) -> str:
    """Return a ceiling as text, with all the digits that it needs to stay below 100%."""
    return percent(limit) if limit < 0.99 else f"{100 * limit:.5g}%"


def line_up_parts(one: Round) -> tuple[Part, ...]:
    """Return the public texts, and the release with every replaced word marked."""
    before, after = one.line_up.template.split(reader_game.GAP)
    title = f"One of {len(one.line_up.facts)} texts was rewritten"
    return (
        Marked(title, ((before, ""), ("_____", "kept"), (after, "")), {}),
        Marked("The release", _release_pieces(one), MARKS),
    )


def _release_pieces(one: Round) -> tuple[tuple[str, str], ...]:
    spans = sorted([(one.span, "secret"), *((span, "changed") for span in one.replaced)])
    pieces, end = [], 0
    for (start, stop), mark in spans:
        pieces += [(one.release[end:start], ""), (one.release[start:stop], mark)]
        end = stop
    return (*pieces, (one.release[end:], ""))


def belief_parts(one: Round, votes: Sequence[int] = ()) -> tuple[Part, ...]:
    """Return what the optimal reader believes after the release, and how the class or the player voted."""
    total = sum(votes)
    rows = []
    for i, fact in enumerate(one.line_up.facts):
        p, label = float(one.posterior[i]), fact
        if i == one.secret:
            label += " (the original)"
        rows.append(Row(label, p, percent(p), "original" if i == one.secret else ""))
    parts: list[Part] = [Bars(f"What the optimal reader believes at {epsilon_text(one.epsilon)}", tuple(rows), top=1.0)]
    if total > 1:
        shares = tuple(
            Row(fact, n / total, f"{n} of {total}", "original" if i == one.secret else "")
            for i, (fact, n) in enumerate(zip(one.line_up.facts, votes, strict=True))
        )
        parts.append(Bars("What the class chose", shares, top=1.0))
    return tuple(parts)


def reader_sentences(one: Round) -> tuple[str, ...]:
    """Return the sentences on what the optimal reader says, and why."""
    first, second = np.argsort(-one.posterior, kind="stable")[:2]
    p, q = (float(one.posterior[i]) for i in (first, second))
    facts, word = one.line_up.facts, one.word
    is_unchanged = word.casefold() == facts[first].casefold()
    cause = f"the mechanism keeps “{word}”" if is_unchanged else f"the mechanism turns “{facts[first]}” into “{word}”"
    ratio = p / q if q > 0 else float("inf")
    limit = reader_game.ceiling(one.epsilon, len(facts))
    says = "is right" if one.is_right(int(first)) else "is wrong this time"
    return (
        f"The optimal reader says “{facts[first]}”, is {percent(p)} sure, and {says}.",
        f"Why: {cause} {number(ratio)} times as often as it turns “{facts[second]}” into “{word}”. All four texts were "
        "equally likely at first. The other words are sampled separately and say nothing about this one.",
        f"The guarantee at {epsilon_text(one.epsilon)} allows no reader to be more than {limit_text(limit)} sure."
        if limit < CERTAIN
        else f"The guarantee at {epsilon_text(one.epsilon)} allows a reader to be practically certain.",
    )


def end_curve(played: Sequence[tuple[float, Score]], who: str, rules: Rules | None = None) -> Curves:
    """Return the ceiling and the optimal reader over ε, with a dot for each level played. who: such as "Your guesses".
    rules: those of the game; by default the bundled ones.
    """
    rules, levels = rules or reader_game.rules(), reader_game.levels(played)
    xs = tuple(np.geomspace(min(rules.epsilons) / 2, max(rules.epsilons), POINTS).tolist())
    at = tuple(sorted(rules.epsilons))
    mean = tuple(
        float(np.mean([rules.expected_success(x, e) for x in rules.line_ups])) for e in at
    )
    where = tuple(one.epsilon for one in levels)
    return Curves(
        "Nobody beats the ceiling in the long run",
        "share of right guesses",
        {
            "Ceiling of the guarantee, e^ε / (e^ε + k − 1)": (xs, tuple(reader_game.ceiling(e, rules.k) for e in xs)),
            "Optimal reader, on average": (at, mean),
            "Blind guessing": ((xs[0], xs[-1]), (1 / rules.k, 1 / rules.k)),
        },
        dots={
            f"{who}: how often right": (where, tuple(one.players for one in levels)),
            f"{who}: mean probability of being right": (where, tuple(one.deserved for one in levels)),
        }
        if levels
        else {},
    )


def scoreboard(played: Sequence[tuple[float, Score]], who: str) -> Bars:
    """Return how often each player guessed right, best first. who: "You" or "The class"."""
    score = reader_game.total([s for _, s in played])
    shares = {who: score.players, "Optimal reader": score.reader, "Blind guessing": score.chance}
    rows = [(label, points / max(1, score.rounds)) for label, points in shares.items()]
    return Bars(
        f"Right guesses in {pluralize(score.rounds, 'round')}",
        tuple(
            Row(label, share, percent(share), "released" if label == who else "")
            for label, share in sorted(rows, key=lambda row: -row[1])
        ),
        top=1.0,
    )


def end_sentences(played: Sequence[tuple[float, Score]], who: str) -> tuple[str, ...]:
    """Return the meaning of the scoreboard in sentences. who: "You" or "The class"."""
    score = reader_game.total([s for _, s in played])
    if not score.rounds:
        return ("Nobody guessed, so there is no score.",)
    if math.isclose(score.players, score.reader):
        outcome = f"{who} and the optimal reader scored the same."
    elif score.players > score.reader:
        outcome = f"{who} beat the optimal reader this time, by luck: compare the hollow dots."
    else:
        outcome = f"The optimal reader beat {who.lower()}, as it does in the long run."
    return (
        outcome,
        f"Each guess had a known probability of being right: on average {percent(score.deserved / score.rounds)} for "
        f"{who.lower()}, and {percent(score.certainty / score.rounds)} for the optimal reader.",
        "The filled dots can lie above the ceiling by luck. The hollow dots cannot: that limit is what ε means.",
    )


class BeatReader(Lesson):
    name = "reader"
    title = "Beat the optimal reader"
    goal = "Guess the original, and see why nobody can be sure of it at a small ε."
    minutes = 4
    sentences = (
        "One of four texts is rewritten. You know all four: they differ in one word. Which one was it?",
        "The optimal reader sees what you see, and works out the exact probability of each text.",
        "ε falls from round to round, so the rounds get harder.",
    )
    task = "Read the release and choose the text that it came from."
    take_home = "However clever a reader is, ε limits how sure they can be."
    control = Control("Privacy budget for each word", reader_game.rules().epsilons, 4.0, epsilon_text)
    door: ClassVar[Setting] = Setting("custext", {}, 4.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        return line_up_parts(example_round(value))

    def ask(self, value: Any) -> Question:
        line_up = example_round(value).line_up
        return Question(line_up.question, line_up.facts)

    def reveal(self, value: Any) -> Reveal:
        one = example_round(value)
        rules = reader_game.rules()
        rows = tuple((epsilon_text(e), limit_text(reader_game.ceiling(e, rules.k))) for e in rules.epsilons)
        beliefs = zip(one.line_up.facts, one.posterior.tolist(), strict=True)
        return Reveal(
            one.secret,
            reader_sentences(one),
            ("Nothing else in the release depends on this word, so no reader can do better than these probabilities.",),
            (*belief_parts(one), end_curve((), ""), Facts(("", "largest certainty allowed"), rows)),
            tuple(f"The reader is {percent(p)} sure of “{fact}”." for fact, p in beliefs),
        )
