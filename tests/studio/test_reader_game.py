"""The game against the optimal reader: its figures by enumeration, and nobody does better than the reader."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.text.document import Document
from dptext_core.words.capitals import public_form
from dptext_studio.lessons import beat_reader, reader_game
from dptext_studio.lessons.reader_game import Game, Round, ceiling, score_round

RULES = pytest.fixture(scope="module")(reader_game.rules)


def fact_place(mechanism, line_up) -> int:
    steps = mechanism.rewrite(line_up.text(0), seed=1).steps
    return next(i for i, s in enumerate(steps) if s.original.casefold() == line_up.facts[0].casefold())


def table(mechanism, line_up) -> tuple[list[str], np.ndarray]:
    """P(word in the place of the fact | fact), one row for each fact, from the mechanism's own distributions."""
    rows = [
        dict(zip(d.candidates, d.probs.tolist(), strict=True))
        for d in (mechanism.distribution(line_up.text(j), fact_place(mechanism, line_up)) for j in range(4))
    ]
    words = sorted(set().union(*rows))
    return words, np.array([[row.get(w, 0.0) for w in words] for row in rows])


def test_every_line_up_is_covered_by_the_guarantee_and_its_ceiling_is_the_formula(RULES):
    assert list(RULES.epsilons) == sorted(RULES.epsilons, reverse=True), "rounds get harder"
    assert len({x.name for x in RULES.line_ups}) == len(RULES.line_ups) >= len(RULES.epsilons) * RULES.rounds_each
    for line_up in RULES.line_ups:
        assert len(set(line_up.facts)) == RULES.k and line_up.template.count(reader_game.GAP) == 1
        for epsilon in RULES.epsilons:
            one = Round.draw(RULES, line_up, epsilon, NoiseStream(3))
            assert one.belief.is_covered.all(), line_up.name
            assert one.belief.alternatives == line_up.facts
            assert one.belief.ceiling == pytest.approx(np.full(RULES.k, ceiling(epsilon, RULES.k)))
            assert one.posterior.max() <= ceiling(epsilon, RULES.k) + 1e-12
    assert ceiling(1.0, 4) == pytest.approx(math.e / (math.e + 3)) and ceiling(0.0, 4) == 0.25
    assert ceiling(2000.0, 4) == 1.0


def test_every_replaced_word_of_a_release_is_marked(RULES):
    for i, line_up in enumerate(RULES.line_ups):
        one = Round.draw(RULES, line_up, 1.0, NoiseStream(i))
        pieces = beat_reader.line_up_parts(one)[1].pieces
        assert "".join(text for text, _ in pieces) == one.release
        assert [text for text, mark in pieces if mark == "secret"] == [one.word]
        original, words = Document.parse(line_up.text(one.secret)).words, Document.parse(one.release).words
        other = [(w, was) for w, was in zip(words, original, strict=True) if was != line_up.facts[one.secret]]
        # A copied article agrees with the next word.
        replaced = [w for w, was in other if w.casefold() != was.casefold() and was.casefold() != "a"]
        assert replaced and [text for text, mark in pieces if mark == "changed"] == replaced


def test_a_release_writes_names_like_the_facts(RULES):
    months = next(x for x in RULES.line_ups if "October" in x.facts)
    words = [Round.draw(RULES, months, 12.0, NoiseStream(i)).word for i in range(20)]
    assert all(word == public_form(word.lower()) for word in words) and any(word in months.facts for word in words)


def test_expected_success_is_the_enumerated_one_and_that_of_belief(RULES):
    for line_up in RULES.line_ups:
        for epsilon in RULES.epsilons:
            m = RULES.mechanism.replace(epsilon=epsilon)
            _, p = table(m, line_up)
            ours = RULES.expected_success(line_up, epsilon)
            assert ours == pytest.approx(p.max(axis=0).sum() / 4, abs=1e-12)
            others = [f for f in line_up.facts if f != line_up.facts[1]]
            found = dpt.belief(m, line_up.text(1), line_up.facts[1], others)
            assert found.expected_success.draws == 0 and ours == pytest.approx(found.expected_success.value, abs=1e-12)
            assert 1 / RULES.k <= ours <= ceiling(epsilon, RULES.k)


def test_the_posterior_of_a_round_is_bayes_rule_on_the_word_in_the_place_of_the_fact(RULES):
    for i, line_up in enumerate(RULES.line_ups):
        one = Round.draw(RULES, line_up, 4.0, NoiseStream(i))
        words, p = table(RULES.mechanism.replace(epsilon=4.0), line_up)
        column = p[:, [w.casefold() for w in words].index(one.word.casefold())]
        assert one.posterior == pytest.approx(column / column.sum(), abs=1e-9)
        assert one.posterior[one.reader_guess] == one.posterior.max()


def test_a_player_who_follows_the_posterior_scores_the_optimum_and_others_do_not(RULES):
    """600 releases of one line-up; the tolerance is four standard errors of a share."""
    line_up, n, epsilon = RULES.line_ups[0], 600, 4.0
    played = [Round.draw(RULES, line_up, epsilon, NoiseStream(7).at(i)) for i in range(n)]
    best = RULES.expected_success(line_up, epsilon)
    tolerance = 4 * math.sqrt(best * (1 - best) / n)
    assert np.mean([r.is_right(r.reader_guess) for r in played]) == pytest.approx(best, abs=tolerance)
    assert np.mean([r.posterior.max() for r in played]) == pytest.approx(best, abs=tolerance)
    assert np.mean([r.is_right(0) for r in played]) == pytest.approx(0.25, abs=tolerance)
    second = [r.is_right(int(np.argsort(r.posterior)[-2])) for r in played]
    assert np.mean(second) < best - tolerance
    secrets = np.bincount([r.secret for r in played], minlength=4)
    assert np.abs(secrets - n / 4).max() < 4 * math.sqrt(n * 3 / 16), "each fact is drawn with probability 1/k"


def test_a_game_is_repeated_by_its_randomness_and_has_each_line_up_once(RULES):
    a, b, other = (Game.draw(RULES, NoiseStream(seed)) for seed in (1, 1, 2))
    facts = [(r.line_up.name, r.secret, r.release) for r in a.rounds]
    assert facts == [(r.line_up.name, r.secret, r.release) for r in b.rounds]
    assert facts != [(r.line_up.name, r.secret, r.release) for r in other.rounds]
    assert [r.epsilon for r in a.rounds] == [e for e in RULES.epsilons for _ in range(RULES.rounds_each)]
    assert len({r.line_up for r in a.rounds}) == len(a.rounds)
    assert [r.epsilon for r in Game.draw(RULES, NoiseStream(1), rounds_each=1).rounds] == list(RULES.epsilons)


def test_no_votes_deserve_more_than_the_reader_and_rounds_without_votes_do_not_count(RULES):
    game = Game.draw(RULES, NoiseStream(5))
    for one, expected in zip(game.rounds, game.expected, strict=True):
        for votes in ((3, 1, 0, 0), (0, 0, 0, 1), (1, 1, 1, 1)):
            score = score_round(one, expected, votes)
            assert score.players == votes[one.secret] / sum(votes)
            assert score.deserved <= score.certainty + 1e-12 and score.chance == 0.25
        assert score.deserved == pytest.approx(0.25), "who spreads the votes knows nothing"
        assert score_round(one, expected, (0, 0, 0, 0)) == reader_game.Score()
        reader = score_round(one, expected, reader_game.one_vote(one.reader_guess, 4))
        assert reader.deserved == pytest.approx(reader.certainty) and reader.players == reader.reader


def test_levels_add_up_the_rounds_of_one_epsilon():
    hit, miss = reader_game.Score(1, 1.0, 0.6, 1, 0.6, 0.5, 0.25), reader_game.Score(1, 0.0, 0.2, 1, 0.7, 0.4, 0.25)
    low, high = reader_game.levels([(8.0, hit), (8.0, miss), (1.0, miss), (2.0, reader_game.Score())])
    assert (low.epsilon, low.players, high.epsilon, high.players) == (1.0, 0.0, 8.0, 0.5)
    assert high.deserved == pytest.approx(0.4) and high.expected == pytest.approx(0.45) and high.score.reader == 2
    assert reader_game.total([hit, miss]).rounds == 2


def test_a_text_of_the_class_has_four_words_that_the_guarantee_compares(RULES):
    own = RULES.with_text("My cousin called the plumber on Monday and paid in October.", "monday")
    (line_up,) = own.line_ups
    assert line_up.facts[0] == "Monday" and len({fact.casefold() for fact in line_up.facts}) == 4
    assert line_up.text(0) == "My cousin called the plumber on Monday and paid in October."
    game = reader_game.Game.draw(own, NoiseStream(2), rounds_each=1)
    for one, expected in zip(game.rounds, game.expected, strict=True):
        assert one.belief.is_covered.all() and one.posterior.sum() == pytest.approx(1)
        assert 0.25 <= expected <= ceiling(one.epsilon, 4) + 1e-12
        assert (one.posterior <= ceiling(one.epsilon, 4) + 1e-12).all()
    assert RULES.question(RULES.line_ups[0]) is RULES.question(RULES.line_ups[0])
    assert "own" not in RULES._questions and "own" not in RULES._successes, "the process does not store it"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("My cousin paid.", "plumber"),
        ("Doctor, doctor!", "doctor"),
        ("My cousin paid the rent.", "the"),
        ("My cousin paid the rent.", ""),
        ("My cousin paid " * 50, "cousin"),
    ],
)
def test_an_unsuitable_secret_word_is_refused(RULES, text, word):
    with pytest.raises(dpt.InputError, match=r"Choose another|characters"):
        RULES.with_text(text, word)
