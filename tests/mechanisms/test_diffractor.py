"""1-Diffractor against Equations 1 to 6 by plain loops: chances, mixtures of lists, bounds, locked stream."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_spaces import LIST_NAMES, diffractor, fit, rewritten, shuffled_lists, small_bundle, words

import dptext_core as dpt
from dptext_core import ConfigError, NoiseStream
from dptext_core.auditing.distance import named_distances
from dptext_core.mechanisms.words import list_bundle, list_draws, list_noise
from dptext_core.mechanisms.words.list_bundle import bundle
from dptext_core.mechanisms.words.list_draws import draw_outputs
from dptext_core.mechanisms.words.list_noise import geometric_steps, log_pmf, noisy_place
from dptext_core.privacy.sampling import LOG_DEPTH
from dptext_core.words.lists import WordList


def geometric(epsilon: float, at: int, n: int) -> np.ndarray:
    """Equation 2: two-sided geometric noise, what goes beyond an end becomes the end; summed term by term."""
    out = np.zeros(n)
    top = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    reach = n + int(60 / epsilon)
    for k in range(-reach, reach + 1):
        out[min(max(at + k, 0), n - 1)] += top * math.exp(-epsilon * abs(k))
    return out


def tem(epsilon: float, at: int, n: int, gamma: float | None) -> np.ndarray:
    """TEM with index distance and its outcome for all places beyond γ; None: γ(ε) of the paper, β = 0.001."""
    if gamma is None:
        gamma = 2 / epsilon * math.log(0.999 * (n - 1) / 0.001) if n > 1 else 1.0
    near = [j for j in range(n) if abs(j - at) <= gamma]
    others = n - len(near)
    weights = np.array([math.exp(-epsilon * abs(j - at) / 2) if j in near else 0.0 for j in range(n)])
    bottom = math.exp(epsilon / 2 * (-gamma + 2 * math.log(others) / epsilon)) if others else 0.0
    weights[[j for j in range(n) if j not in near]] = bottom / others if others else 0.0
    return weights / weights.sum()


def channel_of(orders, row: int, **options):
    return diffractor(orders, **options).channel(row)


NOISES = [("geometric", 5), ("tem", 0), ("tem", 1), ("tem", 2.5), ("tem", 5), ("tem", 40), ("tem", None)]


@pytest.mark.parametrize(("noise", "gamma"), NOISES)
@pytest.mark.parametrize("epsilon", [0.2, 7.0, 40.0])
def test_the_chance_of_every_place(noise, gamma, epsilon):
    for at, n in [(0, 1), (0, 2), (1, 2), *((at, 12) for at in range(12))]:
        probabilities = np.exp(log_pmf(noise, epsilon, at, np.arange(n), n, gamma))
        expected = geometric(epsilon, at, n) if noise == "geometric" else tem(epsilon, at, n, gamma)
        assert probabilities == pytest.approx(expected, rel=1e-9)
        assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
        channel = channel_of([list(words(n))], at, noise=noise, gamma=gamma)
        assert channel.at(epsilon).probs == pytest.approx(expected, rel=1e-9)
        assert channel.at(epsilon).p_keep() == pytest.approx(expected[at], rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.04, 0.5, 1.0986, 3.0, 30.0, 700.0])
def test_n_w_of_geometric_noise(epsilon):
    channel = [channel_of([list(words(9))], row) for row in (0, 4, 8)]
    inside, end = math.tanh(epsilon / 2), 1 / (1 + math.exp(-epsilon))
    assert channel[1].at(epsilon).p_keep() == pytest.approx(inside, rel=1e-12)
    assert [channel[i].at(epsilon).p_keep() for i in (0, 2)] == pytest.approx([end, end], rel=1e-12)
    assert channel[1].deniability(epsilon)[0] == pytest.approx(inside, rel=1e-9)


def test_a_long_list_at_a_small_epsilon_does_not_underflow():
    channel = dpt.get_mechanism("diffractor", epsilon=0.04)
    row = channel.vocabulary.words.index("doctor")
    d = channel.channel(row).at(0.04)
    assert len(d) == 21_719 and np.isfinite(d.log_probs).all() and d.log_probs.min() < -300
    assert d.probs.sum() == pytest.approx(1.0, abs=1e-12) and d.p_keep() == pytest.approx(math.tanh(0.02), rel=1e-9)


@pytest.mark.parametrize(("noise", "gamma"), [("geometric", 5), ("tem", 3), ("tem", None)])
def test_several_lists_are_the_uniform_mixture(noise, gamma):
    """Lists over nearly the same words: a word that one lacks is no input, but may be an output."""
    orders = shuffled_lists(14, 4, seed=3)
    orders[1].remove(words(14)[13])
    orders[2].remove(words(14)[12])
    m = diffractor(orders, noise=noise, gamma=gamma)
    assert set(m.vocabulary.words) == set(words(12)) and set(m.vocabulary.outputs) == set(words(14))
    for epsilon in (0.3, 2.0):
        for word in words(12)[::3]:
            expected = dict.fromkeys(words(14), 0.0)
            for one in orders:
                args = (epsilon, one.index(word), len(one))
                for w, p in zip(one, geometric(*args) if noise == "geometric" else tem(*args, gamma), strict=True):
                    expected[w] += p / 4
            channel = m.channel(m.vocabulary.words.index(word))
            d = channel.at(epsilon)
            assert {w: d.p(w) for w in d.candidates} == pytest.approx(expected, rel=1e-9)
            assert channel.deniability(epsilon) == pytest.approx((d.p_keep(), d.expected_distinct(100)), rel=1e-8)
            out = [d.candidates.index(w) for w in rewritten(_at(m, epsilon), word, 2500, 5)]
            assert fit(np.bincount(out, minlength=len(d)), d.probs) > 1e-5


def _at(m, epsilon: float):
    """The same mechanism at another ε."""
    other = m.replace(epsilon=epsilon)
    other.__dict__["vocabulary"] = m.vocabulary
    return other


@pytest.mark.parametrize(("noise", "gamma"), NOISES)
@pytest.mark.parametrize("lists", [1, 3])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_the_loss_is_at_most_epsilon_times_the_largest_distance(noise, gamma, lists, epsilon):
    orders = shuffled_lists(15, lists, seed=lists)
    m = diffractor(orders, noise=noise, gamma=gamma, epsilon=epsilon)
    table = np.stack([m.channel(i).at(epsilon).log_probs for i in range(15)])
    inputs = m.vocabulary.words
    claim = m.distances(inputs)
    for a in range(15):
        for b in range(15):
            far = max(abs(one.index(inputs[a]) - one.index(inputs[b])) for one in orders)
            most = gamma if gamma is not None else 2 / epsilon * math.log(0.999 * 14 / 0.001)
            assert claim[a, b] == pytest.approx(min(far, most) if noise == "tem" else far)
            assert np.abs(table[a] - table[b]).max() <= epsilon * claim[a, b] + 1e-9
    if lists == 1 and noise == "geometric":
        loss = np.abs(table[:, None] - table[None]).max(axis=2)
        assert loss == pytest.approx(epsilon * claim), "on one list the bound is met"
    assert np.isnan(m.distances(["nosuchword", inputs[0]])).sum() == 3
    g = m.guarantee(inputs[0])
    assert g.largest >= claim.max() and g.metric.kind == "list-places" and g.metric.parameters["lists"] == lists
    nearest = np.median(np.min(claim + np.diag(np.full(15, np.inf)), axis=1))
    assert g.near == pytest.approx(nearest), "on several lists no word is next to another on all of them"


@pytest.mark.parametrize("gamma", [0, 2, 2.5, 30, None])
@pytest.mark.parametrize("epsilon", [0.6, 6.0, 40.0])
def test_the_sampler_at_the_ends(gamma, epsilon):
    """Every place of a list of 7 as the original, 1,500 draws each, all in one test at level 1e-5."""
    for noise in ("geometric", "tem"):
        for at in range(7):
            stream = NoiseStream(at)
            sign = np.where(stream.at("s").uniforms(1500) < 0.5, -1, 1)
            to = noisy_place(
                noise,
                epsilon,
                np.full(1500, at),
                7,
                gamma,
                sign,
                stream.log_uniforms(1500),
                stream.at("f").log_uniforms(1500),
            )
            expected = geometric(epsilon, at, 7) if noise == "geometric" else tem(epsilon, at, 7, gamma)
            assert to.dtype == np.int64 and fit(np.bincount(to, minlength=7), expected) > 1e-5


def test_what_lies_beyond_the_computed_window_is_drawn_as_often_as_stated(monkeypatch):
    """β is 0.001: with β = 0.3 enough words leave the window for a test, of every number of lists."""
    monkeypatch.setattr(list_noise, "BETA", 0.3)
    for lists in (1, 3):
        for epsilon in (1.3, 2.0, 4.5):
            m = diffractor(shuffled_lists(24, lists, seed=1), noise="tem", epsilon=epsilon)
            row = m.vocabulary.words.index(words(24)[11])
            d = m.channel(row).at(epsilon)
            window = list_noise.window(None, epsilon, 24)
            far = [
                abs(one.tolist().index(w) - p[row]) > window
                for w in range(24)
                for one, p in [(m.vocabulary.order[0], m.vocabulary.places[0])]
            ]
            assert any(far) and (lists > 1 or d.probs[np.array(far)].sum() > 0.05)
            out = [d.candidates.index(w) for w in rewritten(m, words(24)[11], 4000, 3)]
            assert fit(np.bincount(out, minlength=24), d.probs) > 1e-5


def test_the_window_of_the_paper():
    m = dpt.get_mechanism("diffractor", noise="tem", epsilon=2.0)
    assert m.config.gamma is None and len(m.vocabulary.words) == 21_719
    span = 2 * math.log(0.999 * 21_718 / 0.001)
    assert span == pytest.approx(33.8, abs=0.05)
    g = m.guarantee("A doctor came.")
    assert g.largest == pytest.approx(span / 2) and g.metric.parameters["limit"] == g.largest
    far = [m.vocabulary.words[0], m.vocabulary.words[9000]]
    assert m.distances(far)[0, 1] == pytest.approx(span / 2)
    # All places beyond γ together are rarer than β, and from ε = 33.8 on ε changes nothing.
    for epsilon in (0.1, 1.0, 9.0):
        window = list_noise.Window.of(epsilon, 9000, 21_719, None)
        assert np.exp(window.beyond - np.logaddexp(window.inside, window.beyond)) <= 0.001
    channel = m.channel(9000)
    assert channel.at(40.0).log_probs == pytest.approx(channel.at(900.0).log_probs)
    assert m.replace(epsilon=0.001).guarantee("A doctor came.").metric.is_limited is False
    assert m.replace(gamma=5).guarantee("A doctor came.").largest == 5.0
    # Where tokens have an ε each, the widest window holds for all of them.
    several = m.replace(epsilon=(2.0, 1.0, 4.0, 2.0))
    assert several.distances(far)[0, 1] == several.guarantee("A doctor came.").largest == pytest.approx(span)


def test_lists_of_several_lengths_have_a_window_each():
    orders = shuffled_lists(40, 2, seed=4)
    orders[1] = [w for w in orders[1] if int(w in words(12))]
    m = diffractor(orders, noise="tem", epsilon=6.0)
    windows = [2 / 6.0 * math.log(0.999 * (n - 1) / 0.001) for n in (40, 12)]
    inputs = m.vocabulary.words
    assert set(inputs) == set(words(12))
    table = np.stack([m.channel(i).at(6.0).log_probs for i in range(12)])
    claim = m.distances(inputs)
    for a, b in itertools.product(range(12), repeat=2):
        far = max(min(abs(o.index(inputs[a]) - o.index(inputs[b])), w) for o, w in zip(orders, windows, strict=True))
        assert claim[a, b] == pytest.approx(far)
        assert np.nanmax(np.abs(table[a] - table[b])) <= 6.0 * claim[a, b] + 1e-9
    g = m.guarantee(inputs[0])
    assert g.largest == pytest.approx(windows[0]) and g.metric.parameters["limit"] == g.largest
    assert g.metric.parameters["shortest"] == pytest.approx(windows[1])
    assert named_distances(m, g, inputs) == pytest.approx(claim)


# --- tails


def test_geometric_steps_invert_their_distribution():
    epsilon = 0.7

    def reach(m):
        return 2 * math.exp(-epsilon * m) / (1 + math.exp(-epsilon)) if m else 1.0

    for m in (1, 2, 10, 100, 900):
        edge = reach(m)
        assert geometric_steps(epsilon, math.log(edge) - 1e-12) >= m
        assert geometric_steps(epsilon, math.log(edge) + 1e-12) < m
    assert geometric_steps(epsilon, math.log1p(-(2**-53))) == 0
    steps = geometric_steps(epsilon, NoiseStream(3).log_uniforms(40_000)).astype(int)
    expected = [reach(m) - reach(m + 1) for m in range(40)]
    assert fit(np.bincount(np.minimum(steps, 39), minlength=40), [*expected[:39], reach(39)]) > 1e-5


@pytest.mark.parametrize("epsilon", [1e-3, 0.04, 1.0, 50.0, 1400.0])
@pytest.mark.parametrize("depth", [745.0, 1e5, LOG_DEPTH])
def test_the_farthest_tail_is_finite_and_right(epsilon, depth):
    steps = float(geometric_steps(epsilon, -depth))
    assert steps == math.floor((math.log(2) - math.log1p(math.exp(-epsilon)) + depth) / epsilon)
    at = noisy_place(
        "geometric", epsilon, np.array([3, 3]), 1000, 5, np.array([1, -1]), np.array([-depth] * 2), np.array([-0.7] * 2)
    )
    assert at.tolist() == [min(999, 3 + int(steps)), max(0, 3 - int(steps))]
    for gamma in (0, 5, 1000, None):
        at = noisy_place(
            "tem", epsilon, np.array([3]), 20, gamma, np.array([1]), np.array([-depth]), np.array([-(2**-53)])
        )
        assert 0 <= at[0] < 20


@pytest.mark.parametrize("noise", ["geometric", "tem"])
def test_the_ends_of_a_long_list_are_reached_from_everywhere(noise):
    """Seen with stubbed bits: both ends of the list lie 22,000 nats and more away at ε = 2."""
    length, epsilon = 21_719, 2.0
    for at in (0, 9_000, length - 1):
        log_p = log_pmf(noise, epsilon, at, np.arange(length), length, 1000)
        assert np.isfinite(log_p).all()
        for sign in (1, -1):
            end = length - 1 if sign > 0 else 0
            if noise == "geometric":
                # The least uniform that still moves so far.
                place = noisy_place(
                    noise,
                    epsilon,
                    np.array([at]),
                    length,
                    1000,
                    np.array([sign]),
                    np.array([-epsilon * abs(end - at) - 1.0]),
                    np.array([-0.7]),
                )
                assert place[0] == end
    deep = bundle(("minilm-full",))
    m = diffractor([list(words(40))], epsilon=1400.0)
    d = m.distribution("babaq", 0)
    assert d.depth > -d.log_probs.min() and deep.lengths.max() * 1400.0 < LOG_DEPTH


def test_beyond_the_window_every_place_is_reached():
    """A list of 20: the window of place 3 with γ = 2 holds 5 of them."""
    each = np.log((np.arange(15) + 0.5) / 15)
    at = noisy_place("tem", 0.01, np.full(15, 3), 20, 2, np.ones(15), np.full(15, -20.0), each)
    assert sorted(at.tolist()) == [0, *range(6, 20)]
    # γ(ε) = 2.8: the other uniform decides on leaving, and this one on the place.
    epsilon = 2 * math.log(0.999 * 19 / 0.001) / 2.8
    at = noisy_place("tem", epsilon, np.full(15, 3), 20, None, np.ones(15), each, np.full(15, -20.0))
    assert sorted(at.tolist()) == [0, *range(6, 20)]


# --- locked stream


@settings(max_examples=10)
@given(
    st.integers(0, 10_000),
    st.sampled_from(NOISES),
    st.integers(1, 30),
    st.integers(1, 3),
)
@pytest.mark.slow
def test_under_locked_stream_the_word_only_comes_nearer(seed, noise, n, lists):
    orders = shuffled_lists(n, lists, seed)
    channel = channel_of(orders, seed % n, noise=noise[0], gamma=noise[1])
    stream = NoiseStream(seed)
    chosen = int(draw_outputs(channel.bundle, np.array([channel.row]), np.ones(1), noise[0], noise[1], stream, 1)[1][0])
    far = []
    for epsilon in np.geomspace(0.02, 30, 60):
        word = channel.candidates[channel.draw(float(epsilon), stream)]
        far.append(abs(orders[chosen].index(word) - orders[chosen].index(channel.source)))
    inside = [f for f in far if f <= noise[1]] if noise == ("tem", noise[1]) and noise[1] is not None else far
    assert inside == sorted(inside, reverse=True)
    if noise[0] == "tem" and noise[1] is not None:
        # Beyond γ all places count alike: one of them, until the word comes inside for good.
        outside = [f for f in far if f > noise[1]]
        assert far == outside + inside and len(set(outside)) <= 1
    check_flips(channel, stream, 0.02, 30.0)


def check_flips(channel, stream, low, high):
    """Flips are what the sampler does at every ε: at their points, just before, and on a grid between them."""
    flips = channel.epsilon_breakpoints(stream, low, high)
    assert [channel.candidates[i] for _, i in flips][-1] == channel.candidates[channel.draw(high, stream)]
    for (a, before), (b, after) in itertools.pairwise(flips):
        middle = b * (1 - 1e-9)
        assert a < b and channel.draw(b * (1 + 1e-9), stream) == after
        assert channel.draw(middle, stream) == before or middle <= a
    for epsilon in np.geomspace(low, high, 30):
        word = channel.draw(float(epsilon), stream)
        assert word in {i for e, i in flips if e <= epsilon * (1 + 1e-9)}
        assert word == [i for e, i in flips if e <= epsilon][-1] or any(abs(e / epsilon - 1) < 1e-9 for e, _ in flips)
    return flips


@pytest.mark.slow
@settings(max_examples=8)
@given(st.integers(0, 10_000), st.sampled_from([2, 12, 90]), st.sampled_from([0.001, 0.3]))
def test_with_the_computed_window_a_word_leaves_once(seed, n, beta):
    before, list_noise.BETA = list_noise.BETA, beta
    try:
        channel = channel_of(shuffled_lists(n, 2, seed), seed % n, noise="tem")
        stream, b = NoiseStream(seed), None
        b = channel.bundle
        chosen = int(draw_outputs(b, np.array([channel.row]), np.ones(1), "tem", None, stream, 1)[1][0])
        gone, inside = [], []
        for epsilon in np.geomspace(0.05, 60, 80):
            far = abs(b.where[chosen, channel.draw(float(epsilon), stream)] - b.places[chosen, channel.row])
            gone.append(bool(far > list_noise.window(None, epsilon, n)))
            if not gone[-1]:
                inside.append(far)
        assert gone == sorted(gone) and inside == sorted(inside, reverse=True)
        check_flips(channel, stream, 0.05, 60.0)
    finally:
        list_noise.BETA = before


@pytest.mark.parametrize("noise", NOISES)
def test_flips_are_what_the_sampler_does(noise):
    """Some that the slow ones above would draw, for every run."""
    found = 0
    for seed in range(4):
        channel = channel_of(shuffled_lists(14, 2, seed), 3 * seed, noise=noise[0], gamma=noise[1])
        found += len(check_flips(channel, NoiseStream(seed), 0.05, 30.0))
    assert found > (4 if noise == ("tem", None) else 3)


def test_the_noise_of_a_token_does_not_hang_on_the_other_words():
    """Token i of a text has its own part of the stream, whatever stands before it."""
    orders = shuffled_lists(20, 3)
    m = diffractor(orders, epsilon=0.5)
    a, b = words(20)[3], words(20)[11]
    first = m.rewrite(f"{a} {a} Zebulon, {b} {a}", seed=8).steps
    second = m.rewrite(f"{b} 42 {a}, {b} {a} {b} {b}", seed=8).steps
    assert [s.replacement for s in first[4:6]] == [s.replacement for s in second[4:6]]
    assert m.rewrite(f"{a} {a}", seed=8).text == " ".join(s.replacement for s in first[:2])


def test_the_lists_are_chosen_alike_whatever_the_noise():
    """6,000 draws: the share of each list, and of each list among the words that moved, at level 1e-5."""
    m = diffractor(shuffled_lists(30, 3))
    # A word away from the ends of all lists, so that it moves as often on each.
    row = int(np.argmax(np.minimum(m.vocabulary.places, 29 - m.vocabulary.places).min(axis=0)))
    assert (np.minimum(m.vocabulary.places, 29 - m.vocabulary.places)[:, row] > 4).all()
    rows = np.full(6000, row)
    out, chosen = draw_outputs(m.vocabulary, rows, np.full(6000, 0.8), "geometric", 5, NoiseStream(3), 6000)
    moved = out != m.vocabulary.output_of[row]
    for part in (chosen, chosen[moved], chosen[~moved]):
        assert len(part) > 1000 and stats.chisquare(np.bincount(part, minlength=3)).pvalue > 1e-5
    some = np.array([5, 17, 4000])
    again, _ = draw_outputs(m.vocabulary, rows[:3], np.full(3, 0.8), "geometric", 5, NoiseStream(3), 6000, some)
    assert again.tolist() == out[some].tolist()


# --- lists


def test_a_bundle_of_named_lists(monkeypatch):
    named = {"x": ("Ab", "cd", "ef", "gh"), "y": ("gh", "ab", "zz", "EF")}
    monkeypatch.setattr(list_bundle, "word_list", lambda n, **given: WordList(n, "small", named[n]))
    found = bundle(("x", "y"))
    expected = small_bundle([[w.lower() for w in one] for one in named.values()])
    assert found.words == expected.words == ("ab", "ef", "gh")
    assert found.outputs == expected.outputs == ("ab", "cd", "ef", "gh", "zz")
    assert np.array_equal(found.places, expected.places)
    assert all(np.array_equal(a, b) for a, b in zip(found.order, expected.order, strict=True))
    assert found.where.tolist() == [[0, 1, 2, 3, -1], [1, -1, 3, 0, 2]] and found.output_of.tolist() == [0, 2, 3]
    assert found.lengths.tolist() == [4, 4]
    named["y"] = ("qq", "zz")
    with pytest.raises(ConfigError, match="no word in common"):
        bundle(("x", "y"))


def test_a_word_that_one_list_lacks_is_unknown():
    orders = shuffled_lists(10, 2)
    orders[1].remove(words(10)[4])
    m = diffractor(orders, epsilon=1.0)
    r = m.rewrite(f"{words(10)[4]} {words(10)[5]}", seed=1)
    assert [s.reason for s in r.steps] == ["not in the vocabulary", ""]
    assert np.isnan(m.distances([words(10)[4], words(10)[5]])[0]).all()


def test_the_configurations_of_the_paper():
    assert dpt.get_mechanism("diffractor").config.lists == ("minilm-full",)
    l0, l1 = (dpt.get_mechanism("diffractor", lists=(name,)) for name in ("L0", "L1"))
    assert len(l0.config.lists) == 5 and len(l1.config.lists) == 10 and set(l0.config.lists) < set(l1.config.lists)
    for m in (l0, l1):
        b = m.vocabulary
        assert len(set(b.lengths.tolist())) == 1 and set(b.words) == set(b.outputs)
        row = b.words.index("doctor")
        d = m.channel(row).at(2.0)
        assert d.probs.sum() == pytest.approx(1.0, abs=1e-12)
        assert d.p_keep() == pytest.approx(math.tanh(1.0), rel=1e-6)
        assert "doctor" in {w for w, _ in d.top(1)}
    for wrong in ((), ("L2", "minilm-full"), ("nosuchlist",), LIST_NAMES * 4):
        with pytest.raises(ConfigError):
            dpt.get_mechanism("diffractor", lists=wrong).vocabulary  # noqa: B018


def test_views_show_the_places_that_were_drawn():
    orders = shuffled_lists(30, 3)
    m = diffractor(orders, epsilon=0.8, noise="tem", gamma=3)
    r = m.rewrite(" ".join(words(30)[:12]), seed=2)
    for k, step in enumerate(r.steps):
        (view,) = r.views(k)
        assert view.source == step.original and view.released_word == step.replacement
        assert view.lists[view.chosen].candidate == step.replacement
        for one, order in zip(view.lists, orders, strict=True):
            at = order.index(step.original)
            assert [order[at + int(o)] for o in one.offsets] == list(one.words)
            assert one.probs == pytest.approx(tem(0.8, at, 30, 3)[at + one.offsets])
            assert order[at + one.candidate_offset] == one.candidate


@pytest.mark.parametrize("seed", [1, 7, 11])
def test_beyond_a_computed_window_a_word_changes_where_the_window_does(seed, monkeypatch):
    """With β = 0.3 words are often beyond the window, whose whole places are fewer for a larger ε."""
    monkeypatch.setattr(list_noise, "BETA", 0.3)
    channel = channel_of(shuffled_lists(14, 2, seed), 3 * seed % 14, noise="tem")
    assert len(check_flips(channel, NoiseStream(seed), 0.5, 30.0)) >= 5


def test_random_words_at_both_ends_choose_a_list_and_a_side():
    bundle_, top = small_bundle(shuffled_lists(9, 3)), 2**64 - 1
    words_ = np.full((3, 8), top, np.uint64)
    words_[1, 0], words_[2, :2] = 0, (1 << 63, 0b101)
    chosen, sign, near, far = list_draws._read_noise(bundle_, words_, lambda j: (NoiseStream(1), j))
    assert chosen.tolist() == [2, 0, 1] and sign.tolist() == [[1, 1, 1], [1, 1, 1], [1, -1, 1]]
    assert near.shape == far.shape == (3, 3) and np.exp(near).max() == np.exp(far).max() == 1 - 2.0**-53


def test_a_word_that_a_list_lacks_has_no_chance_by_that_list():
    """Of a grid of ε at once, as of each by itself."""
    channel = channel_of([list("abcd"), list("dbaxc")], 1, epsilon=0.4)
    which = np.array([channel.candidates.index(w) for w in ("x", "a")])
    epsilons = np.array([0.1, 0.9])
    log_probs = channel.log_p(epsilons, which)
    for k, e in enumerate(epsilons):
        assert log_probs[:, k] == pytest.approx(channel.at(e).log_probs[which])
        at = channel.bundle.places[1, channel.row]
        assert np.exp(log_probs[0, k]) == pytest.approx(geometric(e, at, 5)[3] / 2)
