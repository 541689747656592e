"""The tool that simulates leaderboards: false claims of equal settings, and the power that is stated beforehand."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from scripts import script

from dptext_core.support.statistics import clopper_pearson
from dptext_lab.results.selection import planned_detectable

simulate_boards = script("tools/simulate_boards.py")
SETUPS = simulate_boards.setups(10, 60, 0.2, 0.03)


def rate(setup, boards: int) -> tuple[float, float]:
    """Return the exact 95% interval of the share of boards with a false claim."""
    return clopper_pearson(simulate_boards.count_false_claims(np.random.default_rng(5), setup, boards), boards)


@pytest.mark.parametrize("setup", SETUPS, ids=[s.title for s in SETUPS])
def test_equal_settings_are_called_different_on_at_most_one_board_in_twenty(setup):
    """With 60 boards, rates of 15% and more are noticed."""
    assert rate(setup, 60)[0] <= 0.05


def test_three_seeds_that_spread_far_make_no_false_claims():
    """With Student's t of each pair for the seeds, 13% of these boards were false."""
    three = replace(SETUPS[1], texts=200, deviations=(0.06, 0.06))
    low, high = rate(three, 200)
    assert low <= 0.05 and high < 0.1


def test_equal_settings_have_the_stated_accuracy_and_disagreement():
    rng = np.random.default_rng(1)
    setup = simulate_boards.Setup("", (1, 1), texts=20_000, deviations=(0.0, 0.0))
    one, other = simulate_boards.outcomes(rng, setup, np.full((2, 1), 0.7))
    assert one.mean() == pytest.approx(0.7, abs=0.012) and other.mean() == pytest.approx(0.7, abs=0.012)
    assert (one != other).mean() == pytest.approx(0.2, abs=0.012)


def test_settings_are_interpolated_and_have_the_error_of_equal_privacy():
    rng = np.random.default_rng(2)
    by_title = {s.title: s for s in SETUPS}
    points = simulate_boards.level_points(rng, by_title["5 seeds, interpolated"])
    assert len(points) == 10 and all(p.between == (1.0, 2.0) and p.error > 0 for p in points)
    points = simulate_boards.level_points(rng, by_title["5 seeds, interpolated, privacy of each text"])
    assert len(points) == 10 and all(p.between == (1.0, 2.0) and p.error == 0 for p in points)
    points = simulate_boards.level_points(rng, by_title["5 seeds, error of equal privacy"])
    assert points and all(p.error > 0 for p in points)


@pytest.mark.parametrize("binary", [True, False])
def test_the_planned_difference_is_detected_with_the_stated_power(binary: bool):
    plan = simulate_boards.Plan(200, 10, 5, 0.015, 0.2 if binary else None, math.sqrt(0.2) if binary else 0.15)
    power, _ = simulate_boards.simulate_power(np.random.default_rng(3), plan, plan.detectable(), 200)
    assert 0.72 < power < 0.9
    power, _ = simulate_boards.simulate_power(np.random.default_rng(3), plan, plan.detectable() / 2, 100)
    assert power < 0.5, "half of the difference is detected less often"


def test_more_texts_and_seeds_and_fewer_settings_detect_smaller_differences():
    by_texts = [planned_detectable(n, 10, 0.4, 5, 0.015) for n in (100, 200, 500, 872, 2000)]
    assert by_texts == sorted(by_texts, reverse=True)
    assert planned_detectable(500, 2, 0.4, 5, 0.015) < by_texts[2] < planned_detectable(500, 10, 0.4, 3, 0.015)
    # Two settings and many texts: the sum of the two normal quantiles.
    assert planned_detectable(10**6, 2, 0.4) == pytest.approx((1.95996 + 0.84162) * 0.4 / 1000, rel=1e-4)


def test_the_command_prints_both_tables(monkeypatch, capsys):
    monkeypatch.setattr(simulate_boards, "setups", lambda *given: SETUPS[:2])
    arguments = ["--seed", "1", "--boards", "8", "--texts", "100", "--board-texts", "40"]
    monkeypatch.setattr(sys, "argv", ["simulate_boards.py", *arguments])
    simulate_boards.main()
    printed = capsys.readouterr().out
    assert "8 boards of 10 equal settings, 40 texts, seed 1" in printed
    assert "| 5 seeds | " in printed and "| 3 seeds | " in printed and "| 100 | 17.4 points | " in printed
