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
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from dptext_core.attacks.belief import Belief, BeliefQuestion, belief
from dptext_core.errors import InputError
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import RewriteResult

from .example_text import check_length

FILE = Path(__file__).with_name("reader_game.json")
#: The place of the fact in the text of a line-up.
GAP = "{}"
#: Words with this many equal first letters count as forms of one word.
STEM = 4


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
    #: What was computed for the line-ups, by their names.
    _questions: dict[str, BeliefQuestion] = field(default_factory=dict, compare=False, repr=False)
    _successes: dict[str, dict[float, float]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def k(self) -> int:
        return len(self.line_ups[0].facts)

    def with_text(self, text: str, word: str) -> Rules:
        """Return the rules for a text of the class, in which ``word`` is the fact.

        The other facts are words that share a group with it. Raise InputError if the text does not contain the word
        exactly once, or if its group is too small.
        """
        return replace(self, line_ups=(own_line_up(self, text, word),), _questions={}, _successes={})

    def question(self, line_up: LineUp) -> BeliefQuestion:
        """Return the prepared line-up, which serves every ε and every release."""
        if line_up.name not in self._questions:
            self._questions[line_up.name] = BeliefQuestion.make(
                self.mechanism, line_up.text(0), line_up.facts[0], line_up.facts[1:]
            )
        return self._questions[line_up.name]

    def expected_success(self, line_up: LineUp, epsilon: float) -> float:
        """Return how often the optimal reader is right in the long run, enumerated over all releases."""
        if line_up.name not in self._successes:
            success = belief(
                self.mechanism, line_up.text(0), line_up.facts[0], line_up.facts[1:], epsilons=self.epsilons
            ).expected_success
            assert isinstance(success, tuple) and not any(e.draws for e in success)
            self._successes[line_up.name] = {e: s.value for e, s in zip(self.epsilons, success, strict=True)}
        return self._successes[line_up.name][epsilon]


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


def own_line_up(rules: Rules, text: str, word: str) -> LineUp:
    """Return a line-up from a text of the class; see :meth:`Rules.with_text`."""
    text, word = " ".join(text.split()).replace(GAP, ""), word.strip()
    check_length(text)
    result = rules.mechanism.rewrite(text, seed=0)
    words = [step.original.casefold() for step in result.steps]
    if words.count(word.casefold()) != 1:
        raise InputError("The text must contain the secret word exactly once. Choose another word of the text.")
    place = words.index(word.casefold())
    start, stop = result.steps[place].span
    word, template = text[start:stop], text[:start] + GAP + text[stop:]
    facts = [word]
    for other in _group(result, place):
        if other.casefold() in words or any(_is_form(other, f) for f in facts):
            continue
        fact = other.capitalize() if word[:1].isupper() else other
        # A stop word is not sampled, so it would be recognised at once.
        if rules.mechanism.rewrite(template.replace(GAP, fact), seed=0).steps[place].depends_on_original:
            facts.append(fact)
        if len(facts) == rules.k:
            return LineUp("own", "Which word was it?", template, tuple(facts))
    raise InputError(
        f"The game needs {rules.k - 1} other words in the group of “{word}”, and there are {len(facts) - 1}. "
        "Choose another secret word, such as a day or a relative."
    )


def _is_form(one: str, other: str) -> bool:
    a, b = one.casefold(), other.casefold()
    return a[:STEM] == b[:STEM] or a.startswith(b) or b.startswith(a)


def _group(result: RewriteResult, place: int) -> tuple[str, ...]:
    """Return the words that share a group with a sampled word, including that word."""
    return result.views(place)[0].crowd if result.steps[place].depends_on_original else ()


def ceiling(epsilon: float, k: int) -> float:
    """Return e^ε / (e^ε + k − 1): no reader with a uniform prior over k facts is more certain, after any release."""
    return 1.0 / (1.0 + (k - 1) * float(np.exp(-epsilon)))


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
    def draw(cls, rules: Rules, line_up: LineUp, epsilon: float, stream: NoiseStream) -> Round:
        """Draw a fact and rewrite its text."""
        question = rules.question(line_up)
        secret = int(stream.at("secret").uniform() * len(line_up.facts))
        mechanism = rules.mechanism.replace(epsilon=epsilon)
        result = mechanism.rewrite(question.prepared[secret], stream=stream.at("release"))
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
                Round.draw(rules, rules.line_ups[order[i % len(order)]], epsilon, stream.at("round", i))
                for i, epsilon in enumerate(levels)
            ),
        )

    @cached_property
    def expected(self) -> tuple[float, ...]:
        """The optimal reader's expected success in each round."""
        return tuple(self.rules.expected_success(r.line_up, r.epsilon) for r in self.rounds)


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
