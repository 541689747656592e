"""Paired comparisons: tests against scipy's and hand-worked numbers, coverage, and what rows keep of texts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dptext_core as dpt
from dptext_core.errors import InputError
from dptext_lab.results import paired_comparison as paired
from dptext_lab.results.paired_comparison import compare, compare_rows, pack, unpack
from dptext_lab.results.rows import Row


def right(only_a: int, only_b: int, both: int = 5, none: int = 4) -> tuple[np.ndarray, np.ndarray]:
    a = [1] * only_a + [0] * only_b + [1] * both + [0] * none
    b = [0] * only_a + [1] * only_b + [1] * both + [0] * none
    return np.array(a), np.array(b)


def test_a_comparison_of_one_seed_is_mcnemars_score_test():
    comparison = compare(*right(30, 12))
    # z = (b − c) / √(b + c), by hand.
    assert comparison.p == pytest.approx(math.erfc(18 / math.sqrt(42) / math.sqrt(2)))
    assert comparison.difference == pytest.approx(18 / 51) and comparison.g == pytest.approx(30 / 42 - 0.5)
    assert (comparison.texts, comparison.seeds) == (51, 1)
    nothing = compare([1, 0, 1], [1, 0, 1])
    assert (nothing.p, nothing.difference, nothing.g) == (1.0, 0.0, 0.0)


def test_texts_are_clusters_and_seeds_widen_the_interval():
    rng = np.random.default_rng(1)
    a, b = rng.random((3, 40)), rng.random((3, 40))
    comparison = compare(a, b)
    d = (a - b).mean(axis=0)
    seeds = (a - b).mean(axis=1)
    half = math.hypot(1.96 * d.std(ddof=1) / math.sqrt(40), stats.t.ppf(0.975, 2) * seeds.std(ddof=1) / math.sqrt(3))
    assert (comparison.high - comparison.low) / 2 == pytest.approx(half) and comparison.difference == pytest.approx(
        d.mean()
    )
    assert comparison.seeds == 3
    one = compare(a.mean(axis=0), b.mean(axis=0))
    assert one.high - one.low < comparison.high - comparison.low and one.p < comparison.p
    with pytest.raises(InputError, match="seeds"):
        compare(a, b[:2])


def test_a_true_difference_of_none_is_called_one_at_its_rate():
    """400 pairs of classifiers that are as good: about 5% are told apart, and their interval misses 0 as often."""
    rng = np.random.default_rng(3)
    found = [compare(rng.random(400) < 0.7, rng.random(400) < 0.7) for _ in range(400)]
    assert 0.02 < np.mean([c.p < 0.05 for c in found]) < 0.09
    assert 0.02 < np.mean([not c.low <= 0 <= c.high for c in found]) < 0.09


def test_what_texts_have_is_packed_and_read_again():
    marks = [1, 0, 0, 1, 1]
    assert pack(marks, steps=1) == "0 1 1 10011" and unpack("0 1 1 10011").tolist() == marks
    values = np.linspace(-1, 1, 200)
    for short in (False, True):
        assert np.abs(unpack(pack(values, -1, 1, short=short)) - values).max() <= 1 / paired.STEPS + 1e-12
    assert unpack(pack([-3.0, 7.0])).tolist() == [0.0, 1.0], "what lies beyond is cut"
    # Over seeds of right and wrong nothing is lost, and little is written.
    seeds = np.random.default_rng(4).random((5, 872)) < 0.8
    mean = paired.mean_outcomes([pack(s, steps=1) for s in seeds])
    assert unpack(mean) == pytest.approx(seeds.mean(axis=0)) and len(mean) < 500
    for broken in ("", "0 1 1 012", "0 1 1 .x", "0 1 99 ~"):
        with pytest.raises(InputError, match="packed format"):
            unpack(broken)
    with pytest.raises(InputError, match="finite"):
        pack([math.nan])


def row(values: np.ndarray, metric: str = "accuracy", data: str = "sst2") -> Row:
    packed = paired.mean_outcomes([pack(v, steps=1) for v in values])
    runs = tuple(values.mean(axis=1).tolist())
    mean = float(values.mean())
    tem = dpt.Setting("tem", {}, 1.0)
    return Row(tem, data, "utility", metric, mean, None, None, values.shape[1], len(runs), "", runs, packed)


def test_rows_are_compared_as_their_texts_are():
    rng = np.random.default_rng(5)
    a, b = rng.random((5, 200)) < 0.8, rng.random((5, 200)) < 0.7
    found, want = compare_rows(row(a), row(b)), compare(a, b)
    assert found is not None
    assert (found.p, found.low, found.high) == pytest.approx((want.p, want.low, want.high))
    assert Row.read(row(a).to_dict()) == row(a)
    assert compare_rows(row(a), row(b, "f1")) is None and compare_rows(row(a), row(b[:, :9])) is None
    static, adaptive = row(a, "f1_static"), row(b, "f1_adaptive")
    assert compare_rows(static, adaptive) is not None, "both guess the author of the same texts"
    plain = Row.read({k: v for k, v in row(b).to_dict().items() if k not in ("runs", "texts")})
    assert compare_rows(row(a), plain) is None and set(plain.to_dict()) == set(row(b).to_dict()) - {"runs", "texts"}


def test_seeds_that_only_one_side_has_are_left_out_and_a_single_one_has_the_spread_of_the_other():
    texts_a, texts_b = np.repeat([1.0, 0.0], 50), np.repeat([1.0, 0.0], [40, 60])
    five, three = [0.50, 0.52, 0.48, 0.90, 0.10], [0.40, 0.43, 0.37]
    common = paired.compare(texts_a, texts_b, five[:3], three)
    found = paired.compare(texts_a, texts_b, five, three)
    assert (found.difference, found.low, found.seeds) == pytest.approx((common.difference, common.low, 3))
    assert found.difference == pytest.approx(0.10)
    turned = paired.compare(texts_b, texts_a, three, five)
    assert (turned.difference, turned.low) == pytest.approx((-found.difference, -found.high))
    alone = paired.compare(texts_a, texts_b)
    single = paired.compare(texts_a, texts_b, (), three)
    assert single.difference == alone.difference and single.seeds == 1
    of_texts = (alone.high - alone.low) / 2
    of_seed = 4.303 * 0.03 * np.sqrt(1 + 1 / 3)
    assert (single.high - single.low) / 2 == pytest.approx(np.hypot(of_texts, of_seed), rel=1e-3)
    assert single.p > alone.p


def test_the_spread_of_a_single_seed_covers_as_it_says():
    """No difference but that of noisy seeds, one against five: of 2,000, at most 5% are told apart (and 3.5 errors)."""
    rng = np.random.default_rng(1)
    told = 0
    for _ in range(2000):
        runs = rng.normal(0.5, 0.05, 6)
        a = rng.normal(runs[0], 1e-3, 200)
        b = rng.normal(runs[1:].mean(), 1e-3, 200)
        told += paired.compare(a, b, (), runs[1:].tolist()).p < 0.05
    assert 0.01 < told / 2000 < 0.067


def test_the_spread_of_seeds_widens_a_comparison_of_single_seeds_only():
    rng = np.random.default_rng(6)
    a, b = (rng.random((2, 300)) < 0.8).astype(float), (rng.random((2, 300)) < 0.75).astype(float)
    single, wider = paired.compare(a[0], b[0]), paired.compare(a[0], b[0], seed_spread=0.016)
    half, wide = (single.high - single.low) / 2, (wider.high - wider.low) / 2
    assert wide == pytest.approx(math.hypot(half, paired.NORMAL * math.sqrt(2) * 0.016))
    assert wider.difference == single.difference and wider.p > single.p
    assert paired.compare(a, b, seed_spread=0.016) == paired.compare(a, b)
