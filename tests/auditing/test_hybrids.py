"""The audit of mechanisms with stand-ins, whose unflagged words are sampled one by one."""

from __future__ import annotations

import numpy as np
import pytest
from small_spaces import diffractor, on, random_space, shuffled_lists, words

import dptext_core as dpt
from dptext_core.auditing.checks import Subject
from dptext_core.auditing.distance import named_distances
from dptext_core.auditing.free_draws import check_free_draws
from dptext_core.auditing.inputs import Meter, default_words
from dptext_core.auditing.rules import Breach
from dptext_core.auditing.statement import statement
from dptext_core.auditing.vocabulary import STATED
from dptext_core.mechanisms.words.word_trace import Constant
from dptext_core.privacy.sampling import NoiseStream

SPACE = random_space(26, 4)
MADE = {
    "custext": lambda: on(SPACE, "custext", epsilon=3.0, k=5, surrogates=True),
    "diffractor": lambda: diffractor(shuffled_lists(26, 2), epsilon=0.7, surrogates=True),
    "santext": lambda: on(SPACE, "santext", epsilon=3.0, surrogates=True),
}


def stated(m):
    return statement(Subject(m, m.guarantee(words(1)[0]), default_words(m, 6), NoiseStream(4), Meter()))


@pytest.mark.parametrize("name", MADE)
def test_words_that_spend_nothing_are_compared_where_their_flags_are_the_same(name):
    assert check_free_draws(stated(MADE[name]())) == ""


def test_a_flagged_word_that_decides_its_stand_in_is_found_among_the_free_draws(monkeypatch):
    m = MADE["custext"]()

    def channels(self, prepared):
        shown = prepared.document.words
        return {f.token: Constant((shown[f.token][0], "x"), shown[f.token]) for f in prepared.flags}

    monkeypatch.setattr(type(m), "channels", channels)
    with pytest.raises(Breach, match="depends on the private word"):
        check_free_draws(stated(m))


@pytest.mark.parametrize("name", ["diffractor", "santext"])
def test_the_distance_of_a_guarantee_is_that_of_the_inner_mechanism(name):
    m = MADE[name]()
    some = words(5)
    found = named_distances(m, m.guarantee(some[0]), some)
    assert found == pytest.approx(named_distances(m.inner, m.inner.guarantee(some[0]), some))
    assert np.count_nonzero(found) == 20


def test_the_audit_holds_and_reads_the_vocabulary(few_releases):
    report = dpt.audit(MADE["santext"](), seed=1)
    assert report.verdict == "holds"
    looked = {c.name: c.status for c in report.checks}
    assert "refuted" not in looked.values() and looked[STATED] == "proven"
    assert looked["flagged words"] == "tested"


def test_a_flagged_word_has_no_row():
    m = MADE["santext"]()
    prepared = m.prepare(f"{words(1)[0]} Omar")
    assert [m.by_word.token_row(prepared, i) for i in (0, 1)] == [0, None]
