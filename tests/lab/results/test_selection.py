"""Comparisons with the best of several settings: Tukey's distribution, false claims, and the error of equal privacy."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import dptext_core as dpt
from dptext_lab.results import attacker_rows, leaderboard, selection
from dptext_lab.results.paired_comparison import pack
from dptext_lab.results.rows import Row
from dptext_lab.results.selection import LevelPoint, at_level, critical, range_tail, versus_first
from dptext_lab.results.summary import Results


def row(metric: str, epsilon: float, value: float, half: float = 0.01, texts: str = "", mechanism: str = "tem") -> Row:
    setting = dpt.Setting(mechanism, {}, epsilon)
    return Row(setting, "sst2", "utility", metric, value, value - half, value + half, 200, 3, "p", (), texts)


@pytest.mark.parametrize("k", [2, 5, 10, 40])
def test_the_range_of_equal_settings_has_the_distribution_of_scipy(k: int):
    for degrees in (4, 20.5):
        expected = stats.studentized_range.sf(3.0 * math.sqrt(2), k, degrees)
        assert range_tail(3.0, k, degrees) == pytest.approx(expected, abs=2e-6)
    for z in (0.5, 2.0, 3.0, 4.5):
        expected = stats.studentized_range.sf(z * math.sqrt(2), k, np.inf)
        assert range_tail(z, k) == pytest.approx(expected, abs=2e-6)
    assert range_tail(0.0, k) == 1.0 and range_tail(2.0, 1) == 1.0
    assert critical(k) * math.sqrt(2) == pytest.approx(stats.studentized_range.ppf(0.95, k, np.inf), rel=1e-4)


def equal_points(rng: np.random.Generator, k: int, n: int, shared: float) -> list[LevelPoint]:
    """k settings that are equally good on n texts, which are easy or hard for all of them; the best first."""
    easy = rng.random(n)
    p = shared * (easy < 0.7) + (1 - shared) * 0.7
    made = []
    for _ in range(k):
        right = (rng.random(n) < p).astype(float)
        half = 1.96 * right.std(ddof=1) / math.sqrt(n)
        made.append(LevelPoint(row("n_w", 1.0, 0.3), row("accuracy", 1.0, right.mean(), half), (), 0.0, right))
    return sorted(made, key=lambda point: -point.score.value)


@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_of_ten_equal_settings_at_most_one_board_in_twenty_claims_a_difference(shared: float):
    """2,000 boards. Each claim that a setting differs from the first is false; 3 standard errors above 5% are allowed.
    Comparing with the observed first by Holm's method claims a difference on 15%."""
    rng = np.random.default_rng(7)
    false = sum(
        any(v.p is not None and v.p < 0.05 for v in versus_first(equal_points(rng, 10, 200, shared)))
        for _ in range(2000)
    )
    assert 0.02 < false / 2000 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)


def with_seeds(rng: np.random.Generator, right: np.ndarray, seeds: int) -> LevelPoint:
    """One of several equal settings. A seed moves the scores of all texts together, as a training sample does."""
    scores = right + rng.normal(0, 0.42, (seeds, len(right))) + rng.normal(0, 0.02, (seeds, 1))
    score = dataclasses.replace(row("accuracy", 1.0, float(scores.mean())), seeds=seeds)
    runs = tuple(scores.mean(axis=1).tolist())
    return LevelPoint(row("n_w", 1.0, 0.3), score, (), 0.0, scores.mean(axis=0), runs)


def test_between_settings_with_one_seed_each_the_spread_of_seeds_counts():
    """The texts alone do not show how much another seed would change: without it, 17% of the boards are false."""
    rng, false = np.random.default_rng(11), 0
    for _ in range(400):
        easy = rng.normal(0.7, 0.2, 200)
        points = [with_seeds(rng, easy, seeds) for seeds in (5, 5, *[1] * 8)]
        first, *others = sorted(points, key=lambda p: -p.score.value)
        false += any(v.p is not None and v.p < 0.05 for v in versus_first([first, *others]))
    assert false / 400 < 0.05


def test_a_setting_spreads_over_seeds_at_least_as_the_others_do():
    """Runs of one setting that happen to agree do not make its error small."""
    texts = np.full(200, 0.7)
    agree, differ, one = (
        LevelPoint(row("n_w", 1.0, 0.3), dataclasses.replace(row("accuracy", 1.0, 0.7), seeds=n), (), 0.0, texts, runs)
        for n, runs in ((3, (0.7, 0.7, 0.7)), (3, (0.65, 0.7, 0.75)), (1, ()))
    )
    pooled = (0.0 + 0.05**2) / 2
    with_differ, with_one = versus_first([agree, differ, one])
    assert with_differ.error == pytest.approx(math.sqrt(pooled / 3 + 0.05**2 / 3))
    assert with_one.error == pytest.approx(math.sqrt(pooled / 3 + pooled))
    assert with_differ.degrees == with_one.degrees == pytest.approx(4)


def test_with_one_seed_for_every_setting_no_difference_is_called_significant():
    rng = np.random.default_rng(13)
    easy = rng.normal(0.7, 0.2, 200)
    points = sorted((with_seeds(rng, easy, 1) for _ in range(10)), key=lambda p: -p.score.value)
    versus = versus_first(points)
    assert [v.p for v in versus] == [None] * 9 and selection.smallest_detectable(versus) is None


def test_few_texts_widen_the_limits_as_students_t_does():
    rng = np.random.default_rng(12)
    score, texts = row("cosine", 1.0, 0.5), rng.normal(0.5, 0.1, (2, 12))
    points = [LevelPoint(row("n_w", 1.0, 0.3), score, (), 0.0, x) for x in texts + np.array([[0.1], [0.0]])]
    points[0] = dataclasses.replace(points[0], score=dataclasses.replace(score, value=float(points[0].outcomes.mean())))
    points[1] = dataclasses.replace(points[1], score=dataclasses.replace(score, value=float(points[1].outcomes.mean())))
    (versus,) = versus_first(points)
    assert versus.p == pytest.approx(stats.ttest_rel(*(p.outcomes for p in points)).pvalue, rel=0.02)


def test_the_smallest_detectable_difference_is_detected_four_times_in_five():
    """Two settings, so that the first is the better one nearly always."""
    rng, n, found, least = np.random.default_rng(8), 400, 0, []
    base = rng.random((500, n))
    noise = rng.normal(0, 0.2, (500, 2, n))
    for texts, (a, b) in zip(base, noise, strict=True):
        one, other = (
            LevelPoint(row("n_w", 1.0, 0.3), row("cosine", 1.0, float(x.mean())), (), 0.0, x)
            for x in (texts + a + 0.0396, texts + b)
        )
        (versus,) = versus_first([one, other])
        least.append(selection.smallest_detectable([versus]))
        found += versus.p < 0.05
    assert np.mean(least) == pytest.approx((1.96 + 0.8416) * 0.2 * math.sqrt(2 / n), rel=0.01)
    assert np.mean(least) == pytest.approx(0.0396, rel=0.01) and 0.74 < found / 500 < 0.86


def test_the_error_of_equal_privacy_is_its_interval_times_the_slope():
    """N_w 0.3 ± 0.07 and a score that rises by 2 for each unit of N_w."""
    points = [(row("n_w", e, x, 0.07), row("accuracy", e, 2 * x - 0.2, 0.01)) for e, x in ((1.0, 0.2), (2.0, 0.3))]
    found = at_level(points, 0.3, 1.0)
    assert found is not None and found.error == pytest.approx(2 * 0.07 / 1.96)
    assert found.half == pytest.approx(math.hypot(0.01, 2 * 0.07))
    between = at_level(points, 0.25, 1.0)
    assert between is not None and between.between == (1.0, 2.0)
    assert (between.score.value, between.error) == (pytest.approx(0.3), pytest.approx(2 * 0.07 / 1.96))
    near = at_level([points[0], (row("n_w", 2.0, 0.315, 0.0), points[1][1])], 0.3, 1.0)
    slope = (0.4 - 0.2) / 0.115
    assert near is not None and near.error == pytest.approx(slope * 0.015), "a point near the level is not at it"


def test_a_single_point_away_from_the_level_has_no_known_error():
    alone = at_level([(row("n_w", 1.0, 0.31), row("accuracy", 1.0, 0.7))], 0.3, 1.0)
    assert alone is not None and alone.error is None and alone.half is None
    other = at_level([(row("n_w", 1.0, 0.3, 0.0), row("accuracy", 1.0, 0.2))], 0.3, 1.0)
    assert other is not None and other.error == 0.0
    (versus,) = versus_first([alone, other])
    assert versus.p is None and selection.smallest_detectable([versus]) is None


def test_texts_of_privacy_and_score_give_one_error():
    """Where a text's score follows from its privacy, equal privacy leaves nothing uncertain."""
    rng = np.random.default_rng(9)
    private = rng.random((2, 200)) * 0.2 + np.array([[0.3], [0.45]])
    points = [
        (
            dataclasses.replace(row("belief", e, float(v.mean())), texts=pack(v)),
            dataclasses.replace(row("cosine", e, float(2 * v.mean())), texts=pack(2 * v, 0, 2)),
        )
        for e, v in zip((1.0, 2.0), private, strict=True)
    ]
    found = at_level(points, 0.5, 1.0)
    assert found is not None and found.outcomes is not None and found.error == 0.0
    assert found.score.value == pytest.approx(1.0)
    assert found.outcomes.std() < 0.02 < (2 * private[0]).std()


def test_a_level_that_one_pair_of_texts_gives_names_nothing_significant():
    rows = [
        r
        for mechanism, x in (("tem", 0.9), ("mvc", 0.2))
        for r in (
            dataclasses.replace(row(attacker_rows.TWO_TEXTS, 1.0, 0.75, 0.0, mechanism=mechanism), task="deniability"),
            row("accuracy", 1.0, x, mechanism=mechanism),
        )
    ]
    board = leaderboard.board(
        leaderboard.Rows([Results({}, (), tuple(rows))]), "sst2", "accuracy", attacker_rows.TWO_TEXTS, 0.75
    )
    assert [(e.p, e.is_significant) for e in board.entries] == [(None, False)] * 2 and board.detectable is None
