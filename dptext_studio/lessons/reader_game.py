"""The game "Beat the optimal reader": guess which of k public texts was rewritten, against ``dpt.belief``.

    from dptext_core.privacy.sampling import NoiseStream
    from dptext_studio.lessons import reader_game

    game = reader_game.Game.draw(reader_game.rules(), NoiseStream(1))
    first = game.rounds[0]
    first.release, first.posterior, first.is_right(guess=2)

A line-up has k texts that differ in one fact. A round draws one of them, each with probability 1/k, and rewrites it.
ε falls from round to round, so rounds get harder. Line-ups, ε and the mechanism's options are in ``reader_game.json``
next to this module. All texts were written for this project, so the process may store them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from dptext_core.attacks.belief import Belief, BeliefQuestion, belief
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.privacy.sampling import NoiseStream

FILE = Path(__file__).with_name("reader_game.json")
#: The place of the fact in the text of a line-up.
GAP = "{}"


@dataclass(frozen=True)
class LineUp:
    """Texts that differ in one fact. template: the text with a gap."""

    name: str
    question: str
    template: str
    facts: tuple[str, ...]

    def text(self, i: int) -> str:
        """Return the text with fact ``i``."""
        return self.template.replace(GAP, self.facts[i])


@dataclass(frozen=True)
class Rules:
    """Settings that all games share. epsilons: one for each level, from easy to hard. rounds_each: rounds of a level in
    a game for one player; a class plays one.
    """

    mechanism: Mechanism
    epsilons: tuple[float, ...]
    rounds_each: int
    line_ups: tuple[LineUp, ...]

    @property
    def k(self) -> int:
        return len(self.line_ups[0].facts)


@lru_cache(maxsize=1)
def rules() -> Rules:
    """Return the bundled rules."""
    made = json.loads(FILE.read_text(encoding="utf-8"))
    epsilons = tuple(map(float, made["epsilons"]))
    return Rules(
        get_mechanism(made["mechanism"], epsilon=epsilons[0], **made["options"]),
        epsilons,
        made["rounds_each"],
        tuple(LineUp(x["name"], x["question"], x["text"], tuple(x["facts"])) for x in made["line_ups"]),
    )


def ceiling(epsilon: float, k: int) -> float:
    """Return e^ε / (e^ε + k − 1): no reader with a uniform prior over k facts is more certain, after any release."""
    return 1.0 / (1.0 + (k - 1) * float(np.exp(-epsilon)))


@lru_cache(maxsize=64)
def question_of(mechanism: Mechanism, line_up: LineUp) -> BeliefQuestion:
    """Return the prepared line-up, which serves every ε and every release."""
    return BeliefQuestion.make(mechanism, line_up.text(0), line_up.facts[0], line_up.facts[1:])


@lru_cache(maxsize=64)
def _expected_successes(mechanism: Mechanism, line_up: LineUp, epsilons: tuple[float, ...]) -> dict[float, float]:
    success = belief(
        mechanism, line_up.text(0), line_up.facts[0], line_up.facts[1:], epsilons=epsilons
    ).expected_success
    assert isinstance(success, tuple) and not any(e.draws for e in success)
    return {epsilon: e.value for epsilon, e in zip(epsilons, success, strict=True)}


def expected_success(rules: Rules, line_up: LineUp, epsilon: float) -> float:
    """Return how often the optimal reader is right in the long run, enumerated over all releases."""
    return _expected_successes(rules.mechanism, line_up, rules.epsilons)[epsilon]


@dataclass(frozen=True)
class Round:
    """One release. secret: the fact of the text. span: the place of the fact in the release. replaced: the spans of all
    other words that differ from the original. belief: of the optimal reader after the release.
    """

    line_up: LineUp
    epsilon: float
    secret: int
    release: str
    span: tuple[int, int]
    replaced: tuple[tuple[int, int], ...]
    belief: Belief

    @classmethod
    def draw(cls, mechanism: Mechanism, line_up: LineUp, epsilon: float, stream: NoiseStream) -> Round:
        """Draw a fact and rewrite its text."""
        question = question_of(mechanism, line_up)
        secret = int(stream.at("secret").uniform() * len(line_up.facts))
        result = mechanism.replace(epsilon=epsilon).rewrite(question.prepared[secret], stream=stream.at("release"))
        # The fact has the same place in every text, and the reader's question uses the first text.
        fact = line_up.facts[secret].casefold()
        span = next(s.out for s in result.steps if s.original.casefold() == fact)
        assert span is not None
        sampled = [s.out for s in result.steps if s.is_sampled and s.is_changed]
        replaced = tuple(out for out in sampled if out is not None and out != span)
        return cls(line_up, epsilon, secret, result.text, span, replaced, question.answer(result))

    @property
    def word(self) -> str:
        """The word in the place of the fact."""
        return self.release[slice(*self.span)]

    @property
    def posterior(self) -> np.ndarray:
        """The probability of each fact, given the release."""
        return self.belief.posterior

    @property
    def reader_guess(self) -> int:
        return int(self.posterior.argmax())

    def is_right(self, guess: int) -> bool:
        return guess == self.secret


@dataclass(frozen=True)
class Game:
    """Rounds in playing order."""

    rules: Rules
    rounds: tuple[Round, ...]

    @classmethod
    def draw(cls, rules: Rules, stream: NoiseStream, *, rounds_each: int | None = None) -> Game:
        """Draw a game: no line-up repeats before all have occurred once."""
        each = rules.rounds_each if rounds_each is None else rounds_each
        levels = [epsilon for epsilon in rules.epsilons for _ in range(each)]
        order = np.argsort(stream.at("line-ups").uniforms(len(rules.line_ups)))
        return cls(
            rules,
            tuple(
                Round.draw(rules.mechanism, rules.line_ups[order[i % len(order)]], epsilon, stream.at("round", i))
                for i, epsilon in enumerate(levels)
            ),
        )

    @cached_property
    def expected(self) -> tuple[float, ...]:
        """The optimal reader's expected success in each round."""
        return tuple(expected_success(self.rules, r.line_up, r.epsilon) for r in self.rounds)


@dataclass(frozen=True)
class Score:
    """Points after some rounds: a right guess is one.

    players: the share of right guesses, summed; a single player's guesses are right or wrong. deserved: the probability
    that the guesses were right, given the releases. It never exceeds ``certainty``, that of the optimal reader's
    guesses. reader: the right guesses of the optimal reader. expected: its points in the long run. chance: points of
    blind guessing.
    """

    rounds: int = 0
    players: float = 0.0
    deserved: float = 0.0
    reader: int = 0
    certainty: float = 0.0
    expected: float = 0.0
    chance: float = 0.0

    def add(self, other: Score) -> Score:
        """Return the sum of both."""
        return Score(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))


def score_round(played: Round, expected: float, votes: Sequence[int]) -> Score:
    """Return the score of one round. votes: how many players chose each fact; a round without votes does not count."""
    total = sum(votes)
    if not total:
        return Score()
    shares = np.asarray(votes, float) / total
    return Score(
        1,
        float(shares[played.secret]),
        float(shares @ played.posterior),
        int(played.is_right(played.reader_guess)),
        float(played.posterior.max()),
        expected,
        1 / len(played.line_up.facts),
    )


def one_vote(guess: int, k: int) -> tuple[int, ...]:
    """Return the votes of a single player."""
    return tuple(int(i == guess) for i in range(k))


def total(scores: Sequence[Score]) -> Score:
    """Return the sum of scores."""
    out = Score()
    for one in scores:
        out = out.add(one)
    return out


@dataclass(frozen=True)
class Level:
    """All rounds at one ε. Values are shares of the rounds, from 0 to 1."""

    epsilon: float
    score: Score

    @property
    def players(self) -> float:
        return self.score.players / self.score.rounds

    @property
    def deserved(self) -> float:
        return self.score.deserved / self.score.rounds

    @property
    def expected(self) -> float:
        return self.score.expected / self.score.rounds


def levels(played: Sequence[tuple[float, Score]]) -> tuple[Level, ...]:
    """Return one level for each ε with a counted round, by ascending ε. played: the ε and score of each round."""
    out: dict[float, Score] = {}
    for epsilon, score in played:
        if score.rounds:
            out[epsilon] = out.get(epsilon, Score()).add(score)
    return tuple(Level(epsilon, out[epsilon]) for epsilon in sorted(out))
