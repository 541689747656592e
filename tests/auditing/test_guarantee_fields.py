"""Each field of a guarantee has a checker, which finds a field that states what the mechanism does not do."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.auditing import audit, guarantee_fields, shapes, verdict
from dptext_core.auditing.checks import Subject
from dptext_core.auditing.free_draws import _misfit, _repeat_probability
from dptext_core.auditing.guarantee_fields import CHECKERS, every_field
from dptext_core.auditing.inputs import Meter
from dptext_core.auditing.shapes import DRAWS, _chance
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.privacy.terms import Adjacency, ComparisonScope, Condition, Group
from dptext_core.testing import check_mechanism
from dptext_lab.broken_mechanisms import FAULTS, broken, sound
from dptext_lab.broken_mechanisms.guarantees import GUARANTEES, TinyGroups, TinyMetric, TinyResponse
from dptext_lab.broken_mechanisms.text import TinyWriter
from dptext_lab.broken_mechanisms.unknown import UNKNOWN, TinySwap

TEXT = "music water doctor 4711"
#: Faults of what is said in words alone.
DOUBTS = {"length-adjacency", "unscaled-distance", "crowded-groups"}
CHEAP = (TinyMetric, TinyGroups, TinyWriter, TinySwap)
NAMES = [f.name for f in (*GUARANTEES, *UNKNOWN)]


def check_of(m, text=TEXT):
    return every_field(Subject(m, m.guarantee(text), [text], NoiseStream(4), Meter()))


def test_every_field_of_a_guarantee_has_a_checker():
    assert set(CHECKERS) == {f.name for f in dataclasses.fields(Guarantee)}


@pytest.mark.parametrize("name", NAMES)
def test_a_guarantee_that_states_something_else_is_found(name):
    check = check_of(broken(name))
    if name in DOUBTS:
        assert check.status == "not tested" and check.is_required and check.reason.endswith(".")
    else:
        assert check.status == "refuted" and check.witness.sentence() and check.reason.endswith(".")


@pytest.mark.parametrize("cls", dict.fromkeys(FAULTS[name].sound for name in NAMES))
def test_its_sound_twin_states_what_it_does(cls):
    check = check_of(cls.create())
    assert check.status == "tested", f"{check.reason} {check.witness}"


@pytest.mark.parametrize("name", [f.name for f in (*GUARANTEES, *UNKNOWN) if f.sound.name.startswith("tiny-")])
def test_the_conformance_check_finds_it_too(name):
    fault = FAULTS[name]
    only = "the_guarantee_states_what_it_does"
    with pytest.raises(AssertionError, match=only):
        check_mechanism(fault.broken, only=only, **fault.options)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", [n for n in NAMES if FAULTS[n].sound in CHEAP])
def test_an_audit_comes_to_the_same(name, monkeypatch):
    """With the looks that a guarantee is for, and the drawn words."""
    monkeypatch.setattr(verdict, "FIRST", verdict.FIRST[-1:])
    monkeypatch.setattr(verdict, "LATER", verdict.LATER[:1])
    report = audit(broken(name), seed=1, draws=100)
    assert report.verdict == ("inconclusive" if name in DOUBTS else "refuted")


def guarantee_with(base: type[dpt.Mechanism], **changed) -> dpt.Mechanism:
    """The mechanism with a guarantee in which some fields are others; a function makes one of the guarantee."""

    def guarantee(self, text):
        g = base.guarantee(self, text)
        return replace(g, **{k: v(g) if callable(v) else v for k, v in changed.items()})

    return type(base.__name__, (base,), {"guarantee": guarantee}).create()


#: One field after the other, with a value that contradicts the mechanism.
WRONG = {
    "notion": (TinyGroups, {"notion": "pure"}),
    "epsilon": (TinyResponse, {"epsilon": 1.0, "spent": ()}),
    "delta": (TinyResponse, {"notion": "approx", "delta": 1e-3, "epsilon": 1.0, "spent": ()}),
    "unit": (TinyResponse, {"unit": ""}),
    "adjacency": (TinyResponse, {"adjacency": "Any two texts."}),
    "draws": (TinyResponse, {"draws": lambda g: g.draws // 2, "spent": ()}),
    "total": (TinyResponse, {"total": lambda g: 0.99 * g.total}),
    "expected": (TinyResponse, {"expected": lambda g: 0.01 * g.total}),
    "spent": (TinyResponse, {"spent": lambda g: (*g.spent[1:], 0.5 * g.epsilon) if g.draws > 1 else g.spent}),
    "bounded_range": (TinyResponse, {"bounded_range": True}),
    "exposed": (TinyResponse, {"exposed": ()}),
    "reason": (TinyResponse, {"notion": "none"}),
    "seeded": (TinyResponse, {"seeded": True}),
    "metric": (TinyMetric, {"metric": "another one", "near": None}),
    "distance": (TinyMetric, {"distance": "places on a list"}),
    "near": (TinyMetric, {"near": lambda g: g.near / 3}),
    "largest": (TinyMetric, {"largest": lambda g: 0.7 * g.largest}),
    "group": (TinyGroups, {"group": Group("custom", text="the words of a group", size=50)}),
    "never": (TinyResponse, {"never": 3}),
    "loaded": (TinyResponse, {"loaded": 3}),
}


@pytest.mark.parametrize("field", WRONG)
def test_a_wrong_field_is_found_by_the_checkers(field):
    base, changed = WRONG[field]
    check = check_of(guarantee_with(base, **changed))
    assert check.status == ("not tested" if field in ("metric", "distance", "group") else "refuted"), check


def test_each_field_is_tried_with_a_wrong_value():
    assert {*WRONG, "among"} == set(CHECKERS)


def test_a_context_that_is_not_named_is_found():
    m = dpt.get_mechanism("custext", prior="skeleton")
    assert check_of(m).status == "tested"
    base = type(m)
    wrong = type("Wrong", (base,), {"guarantee_fields": lambda self, e: base.guarantee_fields(self, e) | {"among": ""}})
    check = check_of(wrong.create(prior="skeleton"))
    assert check.status == "refuted" and "field among" in check.description


def test_a_claim_of_the_callers_is_not_what_is_stated():
    m = broken("bounded-response")
    assert every_field(Subject(m, m.guarantee(TEXT), [TEXT], NoiseStream(1), Meter(), claim=2.0)) is None


def test_the_range_of_a_bounded_one_is_worked_out():
    """Two values: ln 2 − ln 3 and ln 4 on the other side."""
    from dptext_core.auditing.inputs import Probe
    from dptext_core.auditing.statement import Column
    from dptext_core.privacy.distribution import TokenDistribution

    def probe(*p):
        with np.errstate(divide="ignore"):
            d = TokenDistribution(("a", "b", "c"), np.log(np.array(p)))
        return Probe("x", None, "x", d, None, 0, True)  # type: ignore[arg-type]

    apart = np.array([[np.nan, 2.0, 1.0], [2.0, np.nan, 1.0], [1.0, 1.0, np.nan]])
    column = Column([probe(0.2, 0.3, 0.5), probe(0.4, 0.1, 0.5), probe(0.0, 0.5, 0.5)], apart)
    most, width = guarantee_fields._differences(column)
    assert most[0, 1] == pytest.approx(math.log(3) / 2) == most[1, 0]
    assert width[0, 1] == pytest.approx(math.log(6) / 2) == width[1, 0]
    assert most[0, 2] == width[2, 0] == math.inf and (np.diag(most) == -1).all()


def test_the_tests_of_free_draws_are_exact():
    p = np.full(1000, 1e-3)
    assert _repeat_probability([7] * 20, p) < 1e-30 and _repeat_probability(range(100), p) == 1
    label = np.arange(1000) % 2
    assert _misfit(label, p, [2 * k for k in range(60)]) < 1e-15
    assert _misfit(label, p, range(60)) > 0.01
    assert _chance(DRAWS, 0) == pytest.approx(1 / math.comb(2 * DRAWS, DRAWS))
    assert _chance(DRAWS, DRAWS) == 1 and _chance(13, 12) > 0.3


def test_the_first_line_says_what_cannot_be_found(few_looks):
    report = audit(sound("crowded-groups"), seed=1, draws=100)
    assert report.holds and report.texts >= 100 and report.rewrites > 900
    first = report.lines()[0]
    assert first.startswith(report.line) and f"after {report.rewrites:,} rewrites" in first
    rare = int(first.split("1 of ")[1].split(" texts")[0].replace(",", ""))
    # A fault in 1 of so many texts is found with a probability of 95%, and a rarer one is not.
    assert (1 - 1 / rare) ** report.texts <= 0.05 < (1 - 1 / (rare + 1)) ** report.texts
    assert report.details().startswith(first) and replace(report, texts=0).lines()[0] == report.line
    assert replace(report, verdict="refuted").headline == "Violated ✗"


def test_a_distance_is_checked_without_a_vocabulary_too():
    """Of a draw that depends on its place a few words are known: their nearest one bounds the distance from above."""
    m = dpt.get_mechanism("santext", prior="skeleton")
    assert m.by_word is None and check_of(m, "a doctor and the music, a nurse").status == "tested"
    base = type(m)
    far = type("Far", (base,), {"guarantee_fields": lambda self, e: base.guarantee_fields(self, e) | {"near": 1.55}})
    check = check_of(far.create(prior="skeleton"), "a doctor and the music, a nurse")
    assert check.status == "refuted" and "field near" in check.description


@pytest.mark.parametrize(
    ("adjacency", "among", "agree"),
    [
        (Adjacency(Condition("sentence-count")), ComparisonScope(Condition("sentence-count")), True),
        (Adjacency(Condition("sentence-count")), ComparisonScope(Condition("token-count")), False),
        (Adjacency(Condition("sentence-count")), "", False),
        ("any two texts of one length", "of one length", True),
        ("any two texts of one length", "", False),
    ],
)
def test_what_two_texts_share_is_compared_by_kind(adjacency, among, agree):
    """Of texts that the mechanism leaves out, where it writes a new text; a plugin states both in its own words."""
    g = Guarantee("pure", 1.0, "piece", adjacency, 1, 1.0, among=among)
    st = SimpleNamespace(guarantee=g, m=SimpleNamespace(alignment=None))
    assert (shapes._leaves_out(st, "a", "b") == "") == agree  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [False, True])
def test_words_of_a_plugin_do_not_hide_the_conditions_that_it_takes(own):
    """An adjacency with a plugin's words at its end names all that is kept, and one in other words does not."""
    m = TinyResponse.create()
    stated = m.adjacency("unknown words in the same places") + ", where all is well"
    g = replace(m.guarantee(TEXT), adjacency="any two texts of one length" if own else stated)
    st = SimpleNamespace(guarantee=g, m=m, words=())
    assert ("without" in shapes._leaves_out(st, "a", "b")) == own  # type: ignore[arg-type]
