"""Two mechanisms where an optimal reader is as certain, and the verdict of claims that name no measure of privacy."""

from __future__ import annotations

import pytest
from lab.findings.test_findings import belief_row, equal

from dptext_lab import findings as f
from dptext_lab.findings import custext
from dptext_lab.findings.at_certainty import at_no_greater_certainty
from dptext_lab.results import belief


@pytest.fixture
def reader_rows(monkeypatch):
    """SanText has a higher cosine at a lower certainty than CusText, and no point below CusText's lowest."""
    rows = (
        belief_row("santext", 10.0, 0.5, 0.7),
        belief_row("santext", 20.0, 0.8, 0.9),
        belief_row("custext", 0.1, 0.4, 0.2),
        belief_row("custext", 1.0, 0.6, 0.3),
        belief_row("custext", 5.0, 0.7, 0.4),
    )
    monkeypatch.setattr(belief, "bundled", lambda: rows)


def test_each_point_is_compared_with_the_last_one_that_is_no_more_certain(reader_rows):
    tally, example = at_no_greater_certainty("custext", "santext")
    assert [round(c.difference, 2) for c in tally.comparisons] == [-0.4, -0.3]
    assert tally.verdict == f.CONTRADICTED and "ε = 1," in example and "ε = 10;" in example


def test_without_rows_there_is_no_evidence(monkeypatch):
    monkeypatch.setattr(belief, "bundled", tuple)
    tally, example = at_no_greater_certainty("custext", "santext")
    assert (tally.n, tally.verdict, example) == (0, f.MISSING, "")


def test_a_claim_that_names_no_measure_of_privacy_is_not_comparable_if_two_measures_disagree(reader_rows, monkeypatch):
    equal("custext", "santext", custext)(1, monkeypatch.setattr)
    assert custext.custext_against_santext.look(f.Runs(())).verdict == f.NOT_COMPARABLE
