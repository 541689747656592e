"""Draws of several releases together: the counts add up, and the total is that of optimal composition."""

from __future__ import annotations

import pytest

import dptext_core as dpt
from dptext_core.privacy.composition import optimal_epsilon
from dptext_core.privacy.draw_counts import DrawCounts, optimal_note
from dptext_core.privacy.guarantee import zcdp_epsilon, zcdp_rho

DELTA = 1e-5


def pure(epsilon: float, draws: int, **more) -> dpt.Guarantee:
    return dpt.Guarantee("pure", epsilon, "released word", "any two texts", draws, epsilon * draws, **more)


def test_releases_compose_as_all_of_their_draws():
    counts = DrawCounts.of(pure(0.5, 60))
    counts.add(pure(0.5, 100))
    other = DrawCounts.of(pure(0.2, 40))
    counts.join(other)
    spent = (0.5,) * 160 + (0.2,) * 40
    best = min(optimal_epsilon(spent, DELTA), zcdp_epsilon(sum(map(zcdp_rho, spent)), DELTA))
    assert counts.optimal(88.0) == pytest.approx(best) and best < 88
    assert dict(other.counts) == {0.2: 40}


def test_uneven_draws_of_one_release_are_counted_each():
    counts = DrawCounts.of(pure(2.0, 3, spent=(0.5, 0.5, 2.0)))
    assert dict(counts.counts) == {0.5: 2, 2.0: 1}


def test_bounded_range_counts_only_where_every_draw_has_it():
    both = DrawCounts.of(pure(5.0, 37, bounded_range=True))
    assert both.optimal(185.0) == pure(5.0, 37, bounded_range=True).optimal()
    both.add(pure(5.0, 1))
    assert not both.bounded_range and both.optimal(190.0) is None


@pytest.mark.parametrize("notion", ["metric", "group", "approx", "none"])
def test_one_draw_of_another_kind_leaves_no_optimal_total(notion):
    counts = DrawCounts.of(pure(0.1, 500))
    assert counts.optimal(50.0) < 50
    counts.add(dpt.Guarantee(notion, 0.1, "word", "any", 1, 0.1, group="set", metric="steps", reason="No."))
    assert counts.optimal(50.1) is None
    assert DrawCounts().optimal(0.0) is None


def test_a_part_has_as_many_draws_as_its_total_pays_for():
    counts = DrawCounts.of(pure(0.3, 1000))
    assert dict(counts.within(0.3 * 7).counts) == {0.3: 7}
    assert dict(counts.within(0.3 * 6 + 0.01).counts) == {0.3: 7}
    counts.add(pure(0.4, 1))
    assert not counts.within(2.1).is_pure


def test_the_note_names_the_delta_and_is_empty_without_a_smaller_total():
    assert optimal_note(None) == "" and "52" in optimal_note(51.97) and "1e−5" in optimal_note(51.97)
