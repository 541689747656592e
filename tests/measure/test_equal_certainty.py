"""Settings where the optimal reader is equally certain: the level, the meaning, the answer, and what refuses."""

from __future__ import annotations

import dataclasses

import pytest
from foreign import Latent

import dptext_core as dpt
from dptext_core.measure import text_targets
from dptext_core.measure.certainty import Fact
from dptext_core.measure.equal_certainty import EqualCertainty, EqualCertaintyRow, equal_certainty
from dptext_core.measure.target_figures import TargetFigure
from dptext_core.measure.trade_off_advice import unreadable_note
from dptext_core.support.task import Task

TEXT = "My doctor said that his heart is weak."


@pytest.fixture(autouse=True)
def meaning(monkeypatch):
    """The share of words that stay, in the place of a model's cosine."""

    def score(name, originals, rewrites):
        return [
            sum(a == b for a, b in zip(x.split(), y.split(), strict=False)) / len(x.split())
            for x, y in zip(originals, rewrites, strict=True)
        ]

    monkeypatch.setattr(text_targets, "score", score)


def test_every_setting_is_at_the_largest_epsilon_at_which_the_reader_is_at_most_so_certain():
    santext = dpt.get_mechanism("santext")
    found = equal_certainty([santext, dpt.get_mechanism("custext")], TEXT, 0.5, "heart", ["lung", "kidney", "liver"])
    assert found.fact == Fact("heart", ("lung", "kidney", "liver"))
    row, refused = found.rows
    expected = dpt.belief(row.mechanism, TEXT, "heart", found.fact.alternatives).expected_success
    assert row.certainty == pytest.approx(expected.value) and 0.49 < row.certainty <= 0.5
    assert row.mechanism.config.epsilon == row.epsilon and 0 <= row.meaning.value <= 1
    assert refused.epsilon is None and refused.meaning is None and "CusText" in refused.reason
    assert found.best is row and found.sentence().startswith("Only SanText")


def test_redaction_is_compared_without_an_epsilon():
    text = "Seen Thursday: Omar Haddad has lost weight."
    m = dpt.get_mechanism("redact")
    name, word = (equal_certainty([m], text, 0.5, w, o).rows[0] for w, o in (("Omar", ["Ahmed"]), ("weight", ["hope"])))
    assert name.epsilon is None and name.certainty == pytest.approx(0.5) and not name.reason
    assert word.meaning is None and "100%" in word.reason
    found = equal_certainty([m], text, 0.6, "Omar", ["Ahmed"])
    assert found.best is found.rows[0] and "ε" not in found.sentence()


def test_what_has_no_certainty_says_why_and_nothing_is_the_best_of_nothing():
    dpt.register(Latent)
    try:
        found = equal_certainty([dpt.get_mechanism(Latent.name)], TEXT, 0.5, "heart")
    finally:
        dpt.unregister(Latent.name)
    assert found.best is None and found.rows[0].reason and "None of these" in found.sentence()
    with pytest.raises(dpt.InputError):
        equal_certainty([], TEXT)


def test_the_answer_names_rivals_and_says_where_the_best_is_unreadable():
    m = dpt.get_mechanism("custext")

    def row(value: float, half: float) -> EqualCertaintyRow:
        return EqualCertaintyRow(m, 2.0, 0.5, TargetFigure(value, (value - half, value + half), 8))

    good, near, far, bad = row(0.7, 0.1), row(0.6, 0.1), row(0.4, 0.1), row(0.3, 0.05)
    found = EqualCertainty(0.5, Fact("heart", ("lung",)), (far, near, good))
    assert found.best is good and found.rivals == (near,)
    assert (
        "0.70" in found.sentence()
        and "inconclusive" in found.sentence()
        and unreadable_note(0.3) not in found.sentence()
    )
    alone = dataclasses.replace(found, rows=(bad,))
    assert alone.best is bad and alone.sentence().endswith(unreadable_note(0.3)) and not unreadable_note(0.5)


def test_it_can_be_stopped():
    task = Task()
    task.cancel()
    with pytest.raises(dpt.Cancelled):
        equal_certainty([dpt.get_mechanism("santext")], TEXT, 0.5, "heart", task=task)
