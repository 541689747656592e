"""Locked stream, the full-range draw, and the sampler against its probabilities."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dptext_core import ConfigError, NoiseStream
from dptext_core.privacy import sampling
from dptext_core.privacy.sampling import DEPTH, Sampler


def test_a_path_gives_the_same_noise_and_other_paths_give_other_noise():
    stream = NoiseStream(5)
    assert np.array_equal(stream.at(0, 3).gumbel(50), NoiseStream(5).at(0, 3).gumbel(50))
    assert not np.array_equal(stream.at(0, 3).gumbel(50), stream.at(0, 4).gumbel(50))
    assert not np.array_equal(stream.at(0, 3).gumbel(50), stream.at(3, 0).gumbel(50))
    assert not np.array_equal(stream.gumbel(50), NoiseStream(6).gumbel(50))


def test_without_a_seed_no_two_stream_agree():
    assert not np.array_equal(NoiseStream().gumbel(20), NoiseStream().gumbel(20))
    assert NoiseStream().seed is None and NoiseStream(3).at(1).seed == 3


@pytest.mark.parametrize("seed", [1.5, "x", [1]])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ConfigError, match="whole number"):
        NoiseStream(seed)


def test_gumbel_noise_is_gumbel():
    # 200,000 draws: a Kolmogorov distance of 0.005 is found with probability above 0.99 at level 1e-4.
    sample = NoiseStream(1).gumbel(200_000)
    assert stats.kstest(sample, stats.gumbel_r.cdf).pvalue > 1e-4


def test_leading_bits_give_the_noise_roughly():
    stream, n = NoiseStream(3), 400_000
    prefixes, rough, beyond = stream.rough_gumbel(n)
    exact = stream.gumbel(n)
    assert 0 < len(beyond) < 20
    error = np.abs(rough - exact)
    assert np.delete(error, beyond).max() < sampling.ROUGH
    assert (stream.gumbel_at(beyond, prefixes[beyond]) == exact[beyond]).all()
    assert (rough[beyond] <= exact[beyond]).all()


def test_leading_bits_near_both_ends_say_that_they_leave_the_noise_open():
    ends = [0, 1, sampling._OPEN - 1, 2**32 - sampling._OPEN, 2**32 - 1]
    inside = [sampling._OPEN, 2**31, 2**32 - sampling._OPEN - 1]
    for more in (0, 2**64 - 1):
        stream = StubbedStream(ends + inside, [(more, more), (1 << 63, 0)])
        _, rough, beyond = stream.rough_gumbel(8)
        assert beyond.tolist() == [0, 1, 2, 3, 4]
        exact = stream.gumbel(8)
        assert (rough[:5] <= exact[:5]).all() and np.abs(rough - exact)[5:].max() < sampling.ROUGH


def test_locked_noise_is_the_noise_the_sampler_uses():
    rng = np.random.default_rng(0)
    for k in range(200):
        log_p = rng.normal(size=3000) * rng.choice([0.1, 3, 40])
        stream = NoiseStream(k)
        assert sampling.draw(log_p, stream)[0] == np.argmax(log_p + stream.gumbel(3000))


class StubbedStream(NoiseStream):
    """NoiseStream whose bits are given: prefix of every candidate, and further bits level by level."""

    __slots__ = ("levels", "stub")

    def __init__(self, stub, levels):
        super().__init__(0)
        self.stub, self.levels = np.array(stub, np.uint32), levels

    def prefixes(self, n, draws=1):
        return np.tile(self.stub, (draws, 1))

    def extensions(self, index, draw=0, level=0):
        return np.array([self.levels[min(level, len(self.levels) - 1)]] * len(index), np.uint64)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([(1 << 63, 0)], 33 * np.log(2)),  # 32 zero bits, then a one
        ([(0, 1 << 63)], (32 + 65) * np.log(2)),  # beyond a 64-bit uniform
        ([(0, 0), (1 << 63, 0)], (160 + 1) * np.log(2)),  # a second extension
        ([(0, 0)] * 5 + [(1 << 63, 0)], (160 + 4 * 128 + 1) * np.log(2)),  # a gap of 466: beyond any one extension
    ],
)
def test_the_uniform_is_full_range(levels, expected):
    assert StubbedStream([0], levels).gumbel(1)[0] == pytest.approx(expected, rel=1e-9)


def test_zeros_without_end_still_give_a_finite_number():
    g = StubbedStream([0], [(0, 0)]).gumbel(1)[0]
    assert 700 < g < 800


def test_epsilon_250_reaches_every_candidate():
    """A candidate 125 below the best is drawn when its bits say so: a 53-bit uniform could not (36.74)."""
    log_p = np.zeros(1000)
    log_p[1:] = -125.0
    stub = np.full(1000, 1 << 31)
    stub[777] = 0
    stream = StubbedStream(stub, [(0, 0), (1 << 63, 0)])
    winner = np.argmax(log_p + stream.gumbel(1000))
    assert winner != 777, "the extension bits are shared here, so give the candidate its own"

    class OneCandidate(StubbedStream):
        def extensions(self, index, draw=0, level=0):
            out = np.full((len(index), 2), 1 << 63, np.uint64)
            if level < 2:
                out[np.asarray(index) == 777] = 0
            return out

    stream = OneCandidate(stub, [])
    assert stream.gumbel(1000)[777] > 160
    assert np.argmax(log_p + stream.gumbel(1000)) == 777


def test_the_top_of_the_uniform_is_finite():
    top = 2**32 - 1
    g = StubbedStream([top], [(2**64 - 1, 2**64 - 1)]).gumbel(1)[0]
    assert np.isfinite(g) and g < -3


@pytest.mark.parametrize("size", [2, 7, 300, 20_000])
def test_draws_follow_their_probabilities(size):
    # Chi-square at level 1e-5; with 40,000 draws a shift of 3% of one cell of the merged 20 is found with power > 0.99.
    rng = np.random.default_rng(size)
    log_p = rng.normal(size=size) * 2
    log_p -= np.log(np.exp(log_p).sum())
    n = 40_000 if size < 1000 else 4_000
    drawn = sampling.draw(log_p, NoiseStream(size), n)
    order = np.argsort(-log_p)
    cell = np.empty(size, int)
    cell[order] = np.minimum(np.searchsorted(np.linspace(0, 1, 21)[1:], np.cumsum(np.exp(log_p[order]))), 19)
    expected = np.bincount(cell, np.exp(log_p), minlength=20) * n
    seen = np.bincount(cell[drawn], minlength=20)
    used = expected > 5
    statistic = ((seen - expected)[used] ** 2 / expected[used]).sum()
    assert stats.chi2.sf(statistic, max(1, used.sum() - 1)) > 1e-5


def test_impossible_candidates_are_never_drawn():
    log_p = np.array([-np.inf, np.log(0.5), -np.inf, np.log(0.5)])
    assert set(sampling.draw(log_p, NoiseStream(2), 5_000)) == {1, 3}


def test_one_candidate_is_always_drawn():
    assert set(sampling.draw(np.zeros(1), NoiseStream(2), 50)) == {0}


class PrefixStub(NoiseStream):
    """NoiseStream whose leading bits are all ones, so that every Gumbel variable is far below −ln 16."""

    def _cipher(self, purpose):
        if purpose != "prefix":
            return super()._cipher(purpose)

        class Ones:
            def update(self, data):
                return b"\xff" * len(data)

        return Ones()


@pytest.mark.parametrize("n", [1, 7])
def test_where_no_candidate_is_near_all_are_compared(n):
    log_p = np.log([0.2, 0.3, 0.1, 0.4])
    stream = PrefixStub(3)
    drawn = sampling.draw(log_p, stream, n)
    assert len(drawn) == n and drawn[0] == np.argmax(log_p + stream.gumbel(4))
    assert set(sampling.draw(np.array([-np.inf, 0.0, -np.inf]), stream, n)) == {1}


# --- words, uniforms and normal numbers of a stream


def test_a_longer_stream_begins_like_a_shorter_one():
    stream = NoiseStream(3).at(1)
    for method in (stream.words, stream.uniforms, stream.normals):
        assert np.array_equal(method(101)[:40], method(40))
        assert np.array_equal(method(40), method(40))
        assert not np.array_equal(method(40), getattr(NoiseStream(4).at(1), method.__name__)(40))
    assert stream.words(5).dtype == np.uint64 and stream.uniforms(0).shape == (0,)


@pytest.mark.parametrize("blocks", [0, 1, 7])
def test_a_stream_can_be_entered_further_on(blocks):
    stream = NoiseStream(3).at(1)
    later = stream.skip(blocks)
    assert np.array_equal(later.words(20), stream.words(100)[2 * blocks : 2 * blocks + 20])
    assert np.array_equal(later.uniforms(20), stream.uniforms(100)[2 * blocks : 2 * blocks + 20])
    assert np.array_equal(later.skip(2).words(4), stream.skip(blocks + 2).words(4))
    assert later.noise_id == stream.noise_id and later.seed == 3
    # Words whose bits go on elsewhere go on with the same bits.
    zeros = np.zeros(6, np.uint64)
    assert np.array_equal(later.full_range(zeros), stream.full_range(zeros, 2 * blocks))
    assert np.array_equal(later.full_range(zeros)[3:], later.full_range(zeros[3:], 3))
    assert len(set(later.full_range(zeros).tolist())) == 6


def test_uniforms_and_normals_have_their_distribution():
    # As above: 200,000 numbers, level 1e-4.
    u, z = NoiseStream(1).uniforms(200_000), NoiseStream(1).normals(200_000)
    assert u.min() > 0 and u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    assert stats.kstest(z, "norm").pvalue > 1e-4
    for sample in (u, z):
        assert abs(np.corrcoef(sample[:-1], sample[1:])[0, 1]) < 5 / np.sqrt(200_000)
    assert abs(np.corrcoef(u, z)[0, 1]) < 5 / np.sqrt(200_000), "streams of one path are independent"


@pytest.mark.parametrize(
    ("word", "levels", "expected"),
    [
        (1 << 63, [(0, 0)], 0.5),
        (1 << 44, [(1 << 63, 0)], 2.0**-20),  # enough bits of its own
        (1 << 43, [(0, 0)], 2.0**-21),
        (3, [(1 << 63, 0)], 3.5 * 2.0**-64),
        (0, [(1 << 63, 0)], 2.0**-65),
        (0, [(0, 1 << 63)], 2.0**-129),
        (0, [(0, 0), (1 << 63, 0)], 2.0**-161),
        (0, [(0, 0)] * 5 + [(1 << 63, 0)], 2.0 ** -(160 + 4 * 128 + 1)),
    ],
)
def test_a_word_with_leading_zeros_is_extended(word, levels, expected):
    stream = StubbedStream([], levels)
    assert stream.full_range(np.array([word], np.uint64))[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("zeros", [0, 5, 40])
def test_the_logarithm_goes_on_where_float64_ends(zeros):
    word = np.array([0], np.uint64)
    log_u = StubbedStream([], [(0, 0)] * (1 + zeros) + [(1 << 63, 0)]).log_full_range(word)[0]
    first = 161 if zeros == 0 else 160 + 128 * zeros + 1
    assert log_u == pytest.approx(-first * math.log(2), rel=1e-12)
    u = StubbedStream([], [(0, 0)] * (1 + zeros) + [(1 << 63, 0)]).full_range(word)[0]
    assert math.log(u) == pytest.approx(max(log_u, math.log(5e-324)), rel=1e-12)


def test_the_logarithm_is_that_of_the_uniform():
    stream = NoiseStream(5)
    assert np.allclose(np.exp(stream.log_uniforms(50_000)), stream.uniforms(50_000), rtol=1e-12, atol=0)
    assert np.array_equal(stream.log_uniforms(300)[:100], stream.log_uniforms(100))


def test_a_draw_reaches_its_declared_depth():
    """With the bits of one uniform stubbed: an output at ln p = −DEPTH wins where its uniform is as small."""
    for depth, wins in ((DEPTH, True), (DEPTH + 30, False)):
        log_p = np.array([0.0, -depth])
        least = 5e-324  # no uniform of draw() is smaller
        most = -math.log(-math.log1p(-least))
        usual = -math.log(-math.log(0.5))  # the likely output at its median
        assert (log_p[1] + most > log_p[0] + usual) == wins
    # Relative accuracy of the uniform there: what is lost by its being no normal number.
    u = math.exp(-DEPTH)
    assert np.spacing(u) / u < 1e-9


def test_the_ends_of_uniforms_are_inside():
    zeros = StubbedStream([], [(0, 0)]).full_range(np.zeros(2, np.uint64))
    assert (zeros > 0).all() and (zeros < 1e-300).all()
    assert NoiseStream(1).full_range(np.array([2**64 - 1], np.uint64))[0] == 1 - 2.0**-53


class NormalBits(NoiseStream):
    """NoiseStream whose normal numbers are made from given bits."""

    __slots__ = ("bits",)

    def __init__(self, bits):
        super().__init__(0)
        self.bits = np.array(bits, np.int64)

    def _cipher(self, purpose, block=0):
        bits = self.bits

        class Given:
            def update(self, data):
                return bits.tobytes()[: len(data)]

        return Given()


def test_normal_numbers_reach_both_tails():
    bits = [0, -1, 2, -4, 2**63 - 1, -(2**63), 1 << 61, ~(1 << 61)]
    z = NormalBits(bits).normals(len(bits))
    assert np.isfinite(z).all() and np.array_equal(np.signbit(z), np.array(bits) < 0)
    assert z[0] == pytest.approx(-stats.norm.ppf(2.0**-64)) and z[0] > 9
    assert z[1] < -8.9 and z[2] > 8.9 and z[3] < -8.8
    assert abs(z[4]) < 1e-9 and abs(z[5]) < 1e-9
    assert z[6] == pytest.approx(-z[7], abs=1e-9)


def test_one_uniform_is_full_range_too():
    assert StubbedStream([0], [(0, 0), (1 << 63, 0)]).uniform() == pytest.approx(2.0**-161)
    assert 0 < NoiseStream(3).uniform() < 1 and NoiseStream(3).uniform() == NoiseStream(3).uniform()


@pytest.mark.parametrize("size", [1, 3, 40, 5000])
def test_leading_bits_decide_only_what_all_bits_would(size, monkeypatch):
    """Some draws are settled without further bits: the same ones come out as where all bits are looked at."""
    looked = []

    def full(*arguments):
        looked.append(1)
        return _full_uniform(*arguments)

    _full_uniform = sampling._full_uniform
    monkeypatch.setattr(sampling, "_full_uniform", full)
    for wide in (0.1, 3.0, 300.0):
        log_probs = np.random.default_rng(size).normal(size=size) * wide
        sampler = Sampler(log_probs)
        drawn = [sampler.one(NoiseStream(seed)) for seed in range(300)]
        assert len(looked) < 10
        with monkeypatch.context() as patch:
            patch.setattr(sampling, "_ROUNDING", np.inf)
            assert drawn == [sampler.one(NoiseStream(seed)) for seed in range(300)]
        assert len(looked) >= 300
        looked.clear()


def test_a_near_tie_is_settled_by_all_bits():
    """Two candidates that are nearly as high, by small uniforms: who is higher is not known by the leading bits."""
    rng, size = np.random.default_rng(1), 1000
    for seed in range(400):
        stream = NoiseStream(seed)
        log_probs, noise = rng.normal(size=size) * 0.1, stream.gumbel(size)
        first, other = np.argsort(-noise)[:2]
        # Their leading bits tell them apart by 2^-32 / U: 2e-7 at most for these.
        log_probs[other] += (log_probs + noise)[first] - (log_probs + noise)[other] - 10.0 ** rng.uniform(-11, -7)
        assert Sampler(log_probs).one(stream) == np.argmax(log_probs + noise)


def test_leading_bits_of_zero_settle_nothing():
    """The uniform of one candidate begins with 32 bits of 0. It is small, but its further bits say how small."""
    size, at = 3000, 1990

    class Zero(NoiseStream):
        __slots__ = ()

        def _cipher(self, purpose, block=0):
            update = super()._cipher(purpose, block).update
            if purpose != "prefix":
                return SimpleNamespace(update=update)
            return SimpleNamespace(update=lambda data: update(data)[: 4 * at] + bytes(4) + update(data)[4 * at + 4 :])

    stream = Zero(3)
    assert np.flatnonzero(stream.prefixes(size)[0] == 0).tolist() == [at]
    log_probs = np.full(size, -1000.0)
    log_probs[[0, at]] = 0.0, -100.0
    assert Sampler(log_probs).one(stream) == Sampler(log_probs).draws(stream, 1)[0] == 0
    log_probs[at] = -22.0
    noise = stream.gumbel(size)[[0, at]]
    assert Sampler(log_probs).one(stream) == (at if noise[1] - 22.0 > noise[0] else 0)


@pytest.mark.parametrize("size", [1, 3, 5000])
def test_one_draw_is_the_first_of_many(size):
    """Where a few candidates are looked at closely, where some are impossible, and where all have to be compared."""
    log_probs = np.random.default_rng(size).normal(size=size) * 3
    log_probs[2::5] = -np.inf
    sampler = Sampler(log_probs)
    for seed in range(200):
        stream = NoiseStream(seed)
        whole = np.argmax(log_probs + stream.gumbel(size))
        assert sampler.one(stream) == sampler.draws(stream, 3)[0] == sampler.draws(stream, 1)[0] == whole


def test_where_nothing_stands_out_all_are_compared(monkeypatch):
    monkeypatch.setattr(sampling, "_NEAR", np.inf)
    log_probs = np.append(np.random.default_rng(0).normal(size=50), -np.inf)
    sampler = Sampler(log_probs)
    for seed in range(50):
        whole = np.argmax(log_probs + NoiseStream(seed).gumbel(51))
        assert sampler.one(NoiseStream(seed)) == sampler.draws(NoiseStream(seed), 2)[0] == whole


# --- whole-numbered noise


@pytest.mark.parametrize("rate", [Fraction(2), Fraction(0.3), Fraction(1, 1000)])
def test_whole_numbers_have_geometric_chances(rate):
    """40,000 draws; of a mean that is off by 3% the deviation is 0.5%."""
    found = sampling.geometric(NoiseStream(8), 40_000, rate)
    r = float(rate)
    assert found.dtype == np.int64 and found.min() == 0
    assert found.mean() == pytest.approx(1 / math.expm1(r), rel=0.03)
    assert (found == 0).mean() == pytest.approx(-math.expm1(-r), abs=4 * math.sqrt(r / 40_000))


def test_quick_and_exact_whole_numbers_are_the_same():
    stream, rate = NoiseStream(4), Fraction(1, 30)
    quick = sampling.geometric(stream, 800, rate)
    exact = [sampling._exponential_exact(stream, j, int(w), rate) for j, w in enumerate(stream.words(800))]
    assert quick.tolist() == exact


@pytest.mark.parametrize("side", [-1, 0])
def test_beside_a_whole_number_more_bits_are_asked_for_until_they_decide(side):
    """U is just at e^−1, so that −ln U / rate lies at 1/rate = 1000: only bits behind the 160th decide."""
    depth = 288
    with localcontext() as context:
        context.prec = 150
        # Just above the edge without its last bit, or just below.
        bits = int(Decimal(-1).exp() * 2**depth) + side
    parts = [bits >> (depth - 64), *((bits >> (depth - 64 - 32 * k)) & (2**32 - 1) for k in range(1, 8))]

    class Stub(NoiseStream):
        __slots__ = ()

        def words(self, n):
            return np.full(n, parts[0], np.uint64)

        def extensions(self, index, draw=0, level=0):
            if level == 0:
                first = (bits >> (depth - 128)) & (2**64 - 1)
                second = ((bits >> (depth - 160)) & (2**32 - 1)) << 32
            else:
                shift = depth - 160 - 128 * level
                rest = (bits >> shift) & (2**128 - 1) if shift >= 0 else 0
                first, second = rest >> 64, rest & (2**64 - 1)
            return np.array([[first, second]] * len(index), np.uint64)

    # Below the edge U is smaller, its logarithm larger.
    assert sampling.geometric(Stub(0), 2, Fraction(1, 1000)).tolist() == [1000, 1000]
    if side == 0:
        bits += 1
        assert sampling.geometric(Stub(0), 2, Fraction(1, 1000)).tolist() == [999, 999]


@pytest.mark.parametrize("word", [0, 1, 5, 1000, 1 << 43])
def test_the_further_bits_of_a_small_uniform_are_the_same_whoever_reads_them(word):
    """By the logarithm in float64 and by all digits: U is so small that its next bits decide."""

    class Small(NoiseStream):
        __slots__ = ()

        def words(self, n):
            return np.full(n, word, np.uint64)

    stream = Small(3)
    quick = -stream.log_full_range(stream.words(6)) * 1e5
    exact = [sampling._exponential_exact(stream, j, word, Fraction(1, 10**5)) for j in range(6)]
    assert exact == [math.floor(x) for x in quick] and (word > 1 << 40 or len(set(exact)) > 3)


def test_whole_numbers_beyond_64_bits_are_whole_too():
    found = sampling.geometric(NoiseStream(1), 50, Fraction(1, 10**25))
    assert found.dtype == object and all(isinstance(k, int) for k in found) and max(found) > 2**64
    both = sampling.discrete_laplace(NoiseStream(1), 50, Fraction(1, 10**25))
    assert any(k < 0 for k in both) and any(k > 0 for k in both)


def test_streams_of_one_key_are_one_and_those_of_another_are_not():
    key = bytes(range(32))
    one, same, other = (NoiseStream.of_key(k) for k in (key, bytearray(key), key[::-1]))
    assert one.seed is None and one.noise_id == same.noise_id != other.noise_id
    assert one.at(1, "a").words(4).tolist() == same.at(1, "a").words(4).tolist()
    assert one.words(4).tolist() != other.words(4).tolist() != one.at(1).words(4).tolist()
    assert one.uniform() == same.uniform() != other.uniform()


def test_one_uniform_has_the_bits_of_the_first_draw():
    """32 leading bits, and 64 more of the first of its two words."""
    stream = NoiseStream(77)
    leading, more = int(stream.prefixes(1)[0, 0]), int(stream.extensions(np.zeros(1, np.int64))[0, 0])
    assert stream.uniform() == pytest.approx((leading * 2**64 + more) * 2.0**-96, rel=1e-15)


@pytest.mark.parametrize("size", [7, 40])
def test_draws_in_blocks_are_those_of_one_block(size, monkeypatch):
    """2^19 numbers at a time: of few words many draws, of many words few."""
    log_probs = np.log(np.random.default_rng(size).dirichlet(np.ones(size)))
    stream, n = NoiseStream(4), (1 << 19) // size + 50
    many = sampling.draw(log_probs, stream, n)
    assert many[:30].tolist() == sampling.draw(log_probs, stream, 30).tolist()
    asked = []
    cipher = NoiseStream._cipher

    class Counted:
        def __init__(self, inner):
            self.inner = inner

        def update(self, data):
            asked.append(len(data))
            return self.inner.update(data)

    monkeypatch.setattr(
        NoiseStream,
        "_cipher",
        lambda self, purpose, block=0: (
            Counted(cipher(self, purpose, block)) if purpose == "prefix" else cipher(self, purpose, block)
        ),
    )
    assert sampling.draw(log_probs, stream, n).tolist() == many.tolist()
    block = (1 << 19) // size
    assert asked == [4 * size * block, 4 * size * 50]
    # What follows the first block is as likely as stated: chi-square at 1e-5.
    counts = np.bincount(many[block - 500 :], minlength=size)
    assert counts.sum() == 550 and (np.exp(log_probs)[counts > 0] > 0).all()


def test_locked_whole_numbers_fall_as_the_rate_grows():
    found = [sampling.geometric(NoiseStream(6), 500, Fraction(r)) for r in (0.001, 0.01, 0.011, 0.5)]
    assert all((a >= b).all() for a, b in pairwise(found)) and found[1].sum() > found[2].sum()


class Given:
    """A stream whose further bits are given: by level, whatever the variable. It holds where they are asked for."""

    _block = 0

    def __init__(self, *levels: tuple[int, int]):
        self.levels, self.asked = levels, []

    def extensions(self, index, draw, level=0):
        self.asked.append((index.tolist(), draw, level))
        return np.array([self.levels[level]], np.uint64)


def test_a_uniform_whose_first_bits_are_all_zero_is_read_on_at_the_same_place():
    stream = Given((0, 0), (3 << 62, 5), (7, 7))
    found = sampling._exponential_exact(stream, 3, 0, Fraction(1, 9))
    # 160 zeros, then 0.75 and a little: −ln U = 160·ln 2 − ln 0.75.
    assert found == math.floor(9 * (160 * math.log(2) - math.log(0.75))) == 1000
    assert stream.asked == [([3], 1 << 40, 0), ([3], 1 << 40, 1)]


def test_a_block_of_draws_is_what_each_is_by_itself_where_all_variables_have_to_be_looked_at(monkeypatch):
    # No variable counts as clear: each draw of a block looks at all of them.
    monkeypatch.setattr(sampling, "_NEAR", math.inf)
    log_probs = np.log(np.array([0.3, 0.2, 0.1, 0.4]))
    found = Sampler(log_probs).draws(NoiseStream(3), 40)
    monkeypatch.undo()
    assert found.tolist() == Sampler(log_probs).draws(NoiseStream(3), 40).tolist()


def test_a_candidate_that_is_looked_at_and_not_near_decides_nothing():
    """The limit of an unlikely candidate, planted too high: it alone is looked at closely, and all are compared."""
    log_probs = np.array([0.0, -50.0])
    sampler = Sampler(log_probs)
    sampler._limit = np.array([0, 2**32 - 1], np.uint32)
    assert sampler.one(NoiseStream(1)) == 0 and sampler.draws(NoiseStream(1), 5).tolist() == [0] * 5


def test_where_all_are_compared_each_draw_has_its_own_further_bits(monkeypatch):
    asked = []
    _all = Sampler._all
    monkeypatch.setattr(Sampler, "_all", lambda self, s, p, number: asked.append(number) or _all(self, s, p, number))
    monkeypatch.setattr(sampling, "_NEAR", math.inf)
    Sampler(np.log(np.array([0.3, 0.7]))).draws(NoiseStream(3), 6)
    assert asked == list(range(6))


def test_further_bits_of_a_small_word_are_those_of_one_place_at_each_level():
    asked = []

    class Zeros(NoiseStream):
        __slots__ = ()

        def extensions(self, index, draw=0, level=0):
            asked.append((index.tolist(), int(draw), level))
            return np.array([[0, 1]] if level < 2 else [[1 << 63, 0]], np.uint64)

    sampling.full_range(np.array([0], np.uint64), lambda j: (Zeros(1), 4))
    assert asked == [([4], 1 << 40, level) for level in range(3)]
