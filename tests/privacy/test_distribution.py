"""Score tables against brute force, and the figures a distribution gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dptext_core import ConfigError, InputError, NoiseStream, ScoreTable, TokenDistribution
from dptext_core.privacy.distribution import _may_win, envelope, find_word, logsumexp, search_flips
from dptext_core.support.statistics import clopper_pearson


def table(size=500, seed=0, source="w3") -> ScoreTable:
    scores = -np.random.default_rng(seed).beta(2, 2, size) / 2
    return ScoreTable([f"w{i}" for i in range(size)], scores, source)


@pytest.mark.parametrize(("words", "scores"), [(3000, 3), (3, 3000), (0, 0)])
def test_a_table_has_a_score_for_each_candidate(words, scores):
    with pytest.raises(ConfigError, match="one score per candidate"):
        ScoreTable([f"w{i}" for i in range(words)], np.zeros(scores))


@pytest.mark.parametrize("word", [5, None, b"w1"])
def test_only_a_text_is_a_word(word):
    with pytest.raises(InputError, match="A word must be a str"):
        table().at(1.0).p(word)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_nothing_is_drawn_by_what_is_no_score(score):
    for scores in (np.full(3, score), np.array([0.0, score, 0.0])):
        t = ScoreTable(["a", "b", "c"], scores)
        if score == -math.inf and len(set(scores)) > 1:  # of a candidate that was taken out
            assert t.draw(1.0, NoiseStream(1)) != 1
            continue
        for draw in (t.draw, lambda epsilon, stream, t=t: t.drawer(epsilon)(stream)):
            with pytest.raises(ConfigError, match="No word can be sampled"):
                draw(1.0, NoiseStream(1))


@pytest.mark.parametrize("epsilon", [0.01, 1, 10, 50, 250, 1400])
def test_probabilities_are_the_exponential_mechanism(epsilon):
    t = table()
    d = t.at(epsilon)
    exact = np.exp(np.longdouble(epsilon) * t.scores.astype(np.longdouble))
    exact /= exact.sum()
    assert d.probs == pytest.approx(exact.astype(float), rel=1e-10)
    assert d.probs.dtype == np.float64 and (d.probs > 0).all()


def test_a_drawer_draws_what_draw_does():
    """That of a channel with a sampler of its own, too."""

    class Doubled(ScoreTable):
        def draw(self, epsilon, stream):
            return super().draw(2 * epsilon, stream)

    plain, removed = table(), table(seed=1)
    removed.scores[::3] = -np.inf
    doubled = Doubled(plain.candidates, plain.scores, plain.source)
    streams = [NoiseStream(5).at(k) for k in range(300)]
    for channel in (plain, removed, doubled):
        drawn = channel.drawer(9.0)
        assert [drawn(s) for s in streams] == [channel.draw(9.0, s) for s in streams]
    assert [doubled.drawer(9.0)(s) for s in streams] == [plain.drawer(18.0)(s) for s in streams]


@pytest.mark.parametrize("low", [-1.0, -0.3, 0.0])
def test_log_z_on_a_grid(low):
    t = ScoreTable([f"w{i}" for i in range(3000)], np.maximum(table(3000).scores, low), "w3")
    grid = np.geomspace(0.1, 1000, 17)
    exact = [np.log(np.exp(np.longdouble(e) * t.scores.astype(np.longdouble)).sum()) for e in grid]
    assert t.log_z(grid) == pytest.approx(np.array(exact, float), abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60))
def test_flips_are_the_argmax_at_every_epsilon(seed, size):
    t = table(size, seed)
    g = NoiseStream(seed).gumbel(size)
    flips = envelope(t.scores, g, 1.0, 400.0)
    assert flips[0][0] == 1.0 and [e for e, _ in flips] == sorted(e for e, _ in flips)
    scores = [t.scores[w] for _, w in flips]
    assert scores == sorted(scores), "the released score never falls as epsilon grows"
    for e in np.geomspace(1.0, 400.0, 37):
        winner = [w for at, w in flips if at <= e][-1]
        line = e * t.scores + g
        assert line[winner] == pytest.approx(line.max(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 60))
def test_candidates_that_a_filter_removed_win_nowhere(seed, size):
    t = table(size, seed)
    g = NoiseStream(seed).gumbel(size)
    t.scores[::3], left = -np.inf, np.delete(np.arange(size), np.s_[::3])
    flips = envelope(t.scores, g, 1.0, 400.0)
    assert flips == [(e, left[w]) for e, w in envelope(t.scores[left], g[left], 1.0, 400.0)]
    assert all(type(w) is int for _, w in flips)


class OftenNearAnEnd(NoiseStream):
    """Noise of which every fourth variable begins with zeros, and every fourth with ones."""

    __slots__ = ()

    def prefixes(self, n, draws=1):
        out = super().prefixes(n, draws).copy()
        out[:, ::4] >>= 20
        out[:, 1::4] |= np.uint32(0xFFFFF000)
        return out


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 2000),
    st.floats(-3, 5),
    st.floats(0, 5),
    st.sampled_from([0.0, 0.2, 40.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([NoiseStream, OftenNearAnEnd]),
)
@example(1, 2000, 0.0, 5.0, 0.2, False, False, NoiseStream)
@example(2, 2000, 0.0, 5.0, 0.2, True, True, OftenNearAnEnd)
def test_breakpoints_are_those_of_the_exact_noise_of_all(seed, size, low, width, spread, prior, removed, kind):
    rng, low = np.random.default_rng(seed), math.exp(low)
    scores = np.clip(rng.normal(-0.2, spread, size), -0.5 if spread < 1 else -200.0, 0.0)
    if removed:
        scores[1::3] = -np.inf
    base = rng.normal(0, 4, size) if prior else None
    t = ScoreTable([f"w{i}" for i in range(size)], scores, None, None, base)
    noise = kind(seed).gumbel(size)
    wanted = envelope(scores, noise if base is None else noise + base, low, low * math.exp(width))
    assert t.epsilon_breakpoints(kind(seed), low, low * math.exp(width)) == wanted


def test_a_locked_draw_equals_the_sampler_at_every_epsilon():
    t = table(4000, 9)
    stream = NoiseStream(4)
    flips = t.epsilon_breakpoints(stream, 1.0, 500.0)
    for e in (1.0, 5.0, 31.0, 200.0, 500.0):
        assert [w for at, w in flips if at <= e][-1] == t.at(e).sample_indices(1, stream)[0]


def based(size=500, seed=0, low=-0.5, high=0.0) -> ScoreTable:
    """A table with a proposal, and scores that are tied at both ends as clipped ones are."""
    t = table(size, seed)
    log_base = np.random.default_rng(seed + 1).normal(0, 4, size)
    return ScoreTable(t.candidates, np.clip(t.scores, low, high), t.source, None, log_base)


@pytest.mark.parametrize("ends", [(-0.5, 0.0), (-0.3, -0.15), (-0.2, -0.2)])
@pytest.mark.parametrize("epsilon", [0.01, 1, 30, 250, 1300])
def test_a_proposal_multiplies_the_exponential_mechanism(epsilon, ends):
    t = based(low=ends[0], high=ends[1])
    exact = np.exp(np.longdouble(epsilon) * t.scores.astype(np.longdouble)) * np.exp(t.log_base.astype(np.longdouble))
    log_z = float(np.log(exact.sum()))
    exact = (exact / exact.sum()).astype(float)
    d = t.at(epsilon)
    assert d.probs == pytest.approx(exact, rel=1e-10)
    assert t.log_z(np.array([epsilon]))[0] == pytest.approx(log_z, abs=1e-10)
    which = np.array([0, 7, 3])
    assert t.log_p(np.array([epsilon]), which)[:, 0] == pytest.approx(d.log_probs[which], abs=1e-10)
    assert t.deniability(epsilon) == pytest.approx((d.p_keep(), d.expected_distinct(100)))
    at = set(t.shown(500, epsilon, epsilon).tolist())
    assert at == set(range(500))
    for n in range(1, 13):
        assert t.shown(n, epsilon, epsilon).tolist() == np.argsort(-d.log_probs, kind="stable")[:n].tolist()


def test_a_proposal_leaves_no_candidate_out_that_a_filter_did_not_remove():
    t = based()
    scores = np.where(np.arange(500) % 2, t.scores, -np.inf)
    d = ScoreTable(t.candidates, scores, None, None, t.log_base)
    assert d.at(9.0).probs[::2].sum() == 0 and d.at(9.0).probs.sum() == pytest.approx(1)
    kept = ScoreTable(t.candidates[1::2], scores[1::2], None, None, t.log_base[1::2])
    grid = np.array([0.1, 9.0, 300.0])
    assert d.log_z(grid) == pytest.approx(kept.log_z(grid), abs=1e-12)


def test_a_locked_draw_with_a_proposal_equals_the_sampler_at_every_epsilon():
    t, stream = based(4000, 9), NoiseStream(4)
    flips = t.epsilon_breakpoints(stream, 1.0, 500.0)
    assert len(flips) > 3
    for e in np.geomspace(1.0, 500.0, 23):
        shown = [w for at, w in flips if at <= e][-1]
        assert shown == t.at(e).sample_indices(1, stream)[0] == t.draw(e, stream)


def test_between_two_texts_a_proposal_cancels():
    """Whatever b is, as long as it is the same: the ratio of two texts' probabilities stays below e^ε."""
    one, other = based(seed=1), based(seed=2)
    other = ScoreTable(other.candidates, other.scores, None, None, one.log_base)
    for epsilon in (0.1, 5.0, 200.0):
        loss = np.abs(one.at(epsilon).log_probs - other.at(epsilon).log_probs).max()
        assert loss <= epsilon + 1e-9
    read = ScoreTable(other.candidates, other.scores, None, None, based(seed=2).log_base)
    assert np.abs(one.at(0.1).log_probs - read.at(0.1).log_probs).max() > 5, "a b that follows the text does not"


def distribution(probs, source="b"):
    with np.errstate(divide="ignore"):
        return TokenDistribution(["a", "b", "c", "B"][: len(probs)], np.log(probs), source)


def test_the_interval_of_an_estimate_is_that_of_its_draws():
    d = TokenDistribution(["a", "b"], np.log([0.25, 0.75]), "a", 1.0, 400)
    assert d.keep_interval() == clopper_pearson(100, 400)
    assert TokenDistribution(["a", "b"], np.log([0.25, 0.75]), "a", 1.0).keep_interval() == pytest.approx((0.25, 0.25))


def test_how_many_different_words_an_estimate_gives_is_unbiased():
    """Of n of its draws, chosen at random: 1 − C(left, n)/C(all, n) for each word, here by whole numbers."""
    counts = np.array([60, 25, 10, 4, 1])
    d = TokenDistribution([f"w{i}" for i in range(6)], np.log([*counts / 100, 1e-300]), "w0", 1.0, 100)
    for n in (0, 1, 7, 50, 99, 100):
        expected = sum(1 - math.comb(100 - c, n) / math.comb(100, n) for c in counts.tolist())
        assert d.expected_distinct(n) == pytest.approx(expected, abs=1e-9)
    assert d.expected_distinct(500) == pytest.approx(5), "no more than there are draws"


def test_only_lines_close_to_a_winner_may_win():
    """The third loses to the second by 0.05 at the upper end alone; the fourth is never within 0.1 of a winner."""
    slopes, offsets = np.array([0.0, 1.0, 2.0, 1.0]), np.array([5.0, 0.0, -10.05, -1.0])
    assert _may_win(slopes, offsets, 0.0, 10.0, 0.1).tolist() == [0, 1, 2]
    assert _may_win(slopes, offsets, 0.0, 10.0, 0.01).tolist() == [0, 1]


def test_flips_that_are_searched_for_begin_with_the_winner_at_the_lower_end():
    """A winner that changes twice: at 3 and at 20."""
    found = search_flips(lambda some: [7 if e < 3 else 8 if e < 20 else 9 for e in some], 0.5, 60.0)
    assert [w for _, w in found] == [7, 8, 9] and found[0][0] == 0.5
    assert [at for at, _ in found[1:]] == pytest.approx([3, 20], rel=1e-3)
    assert search_flips(lambda some: [4] * len(some), 1.0, 9.0) == [(1.0, 4)]


def test_between_two_points_of_the_search_all_changes_are_found():
    """Two points alone, and four winners in turn, one of them hardly ever."""
    found = search_flips(lambda some: [sum(e >= x for x in (2.0, 5.0, 5.01)) for e in some], 1.0, 10.0, 2)
    assert [w for _, w in found] == [0, 1, 2, 3]
    assert [at for at, _ in found[1:]] == pytest.approx([2.0, 5.0, 5.01], rel=1e-3)


def test_the_logarithm_of_a_sum():
    x = np.array([-700.0, 3.0, 3.0, -np.inf])
    assert logsumexp(x) == pytest.approx(3 + np.log(2)) and logsumexp(x - 1e4) == pytest.approx(np.log(2) + 3 - 1e4)
    assert logsumexp(np.array([-np.inf])) == logsumexp(np.full(3, -np.inf)) == -np.inf, "of nothing that is possible"


def test_figures_of_a_small_distribution():
    d = distribution([0.5, 0.3, 0.15, 0.05])
    assert d.p_keep() == pytest.approx(0.35), "capitals do not make another word"
    assert d.support(0.05) == 3 and d.support(0.0) == 4 and d.support(0.5) == 1
    assert d.entropy() == pytest.approx(-sum(p * np.log2(p) for p in [0.5, 0.3, 0.15, 0.05]))
    assert d.expected_distinct(100) == pytest.approx(sum(1 - (1 - p) ** 100 for p in [0.5, 0.3, 0.15, 0.05]))
    assert d.top(2) == [("a", pytest.approx(0.5)), ("b", pytest.approx(0.3))]
    assert d.p("c") == pytest.approx(0.15) and d.p("zebra") == 0.0
    assert d.draws is None


def test_words_that_are_as_probable_come_in_the_order_of_the_candidates():
    """On every processor: what partitions an array leaves ties as its instructions have it."""
    words = [f"w{i}" for i in range(300)]
    d = TokenDistribution(words, np.log(np.full(300, 1 / 300)), None)
    for k in (1, 2, 17, 300):
        assert [word for word, _ in d.top(k)] == words[:k]
    d = TokenDistribution(["a", "b", "c", "d"], np.log([0.2, 0.3, 0.3, 0.2]), None)
    assert [word for word, _ in d.top(3)] == ["b", "c", "a"]


def test_a_certain_word():
    d = distribution([1.0, 0.0], "b")
    assert d.support() == 1 and d.expected_distinct(100) == pytest.approx(1.0) and d.entropy() == 0.0
    assert d.p_keep() == 0.0 and d.sample(5, seed=1) == ["a"] * 5


def test_a_word_that_is_no_candidate_is_never_kept():
    assert distribution([0.5, 0.5], "zebra").p_keep() == 0.0
    assert TokenDistribution(["a"], np.zeros(1), None).p_keep() == 0.0


def test_eta_is_a_probability():
    with pytest.raises(ConfigError, match="eta"):
        distribution([1.0]).support(1.5)


def test_sampling_with_a_seed_repeats_and_without_does_not():
    d = table(2000).at(1.0)
    assert d.sample(30, seed=4) == d.sample(30, seed=4)
    assert d.sample(30) != d.sample(30)


@given(st.lists(st.text("aAßsSİiΣςσ\n ", max_size=3), max_size=8), st.text("aAßsSİiΣςσ\n ", max_size=3))
@example(["a", "A", "b", "a"], "a")
@example(["", "", "a"], "")
@example(["a\nb", "b", "a"], "b")
@example(["a", "b"], "a\nb")
@example([], "a")
def test_a_word_is_found_wherever_it_stands_in_any_case(candidates, word):
    wanted = [i for i, c in enumerate(candidates) if c.casefold() == word.casefold()]
    assert find_word(candidates, word).tolist() == wanted
