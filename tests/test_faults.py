"""Planted faults: the audit finds each, and its sound twin is not refuted."""

from __future__ import annotations

import math

import pytest

import dptext_core as dpt
from dptext_core.auditing import audit
from dptext_core.faults import FAULTS, Float32DPMLM, broken, sound


def test_there_are_the_five_and_none_is_registered():
    assert list(FAULTS) == [
        "float32-softmax", "private-support", "l2-clipping", "other-sampler", "halved-sensitivity",
    ]  # fmt: skip
    registered = {dpt.mechanism_class(s.name) for s in dpt.mechanisms()}
    for fault in FAULTS.values():
        assert fault.broken not in registered and fault.explanation and fault.title
        assert fault.sound in registered or fault.sound.name == "tiny-latent"


@pytest.mark.parametrize("name", FAULTS)
def test_one_function_is_replaced(name):
    fault = FAULTS[name]
    assert fault.sound in fault.broken.__mro__
    own = {k for k, v in vars(fault.broken).items() if callable(v) or isinstance(v, property)}
    assert len(own) == 1


@pytest.mark.parametrize("name", FAULTS)
def test_the_audit_finds_the_fault_and_clears_its_twin(name):
    report = audit(broken(name), seed=1)
    assert report.verdict == "refuted" and report.witness is not None
    w = report.witness
    if name in ("float32-softmax", "private-support"):
        assert report.measured == math.inf and w.p_second == 0 < w.p_first
    elif name == "other-sampler":
        assert w.kind == "sampler" and report.sampler_p < 1e-6 and report.measured < report.claimed
    else:
        assert report.measured > 1.05 * report.claimed
        assert (w.log_p_first - w.log_p_second) / w.distance == pytest.approx(report.measured)
    twin = audit(sound(name), seed=1)
    assert twin.verdict == "holds" and twin.claimed == report.claimed


def test_the_claim_of_a_broken_mechanism_is_that_of_its_twin():
    for name in FAULTS:
        a, b = (make(name).guarantee("doctor") for make in (broken, sound))
        assert (a.notion, a.epsilon, a.total) == (b.notion, b.epsilon, b.total)


def test_a_broken_mechanism_rewrites_by_its_fault():
    m = broken("private-support", epsilon=4.0, oov="keep")
    for r in m.rewrites("doctor", 200, seed=1):
        assert m.distribution("doctor", 0).p(r.steps[0].replacement) > 0
    assert set(broken("l2-clipping").rewrite("doctor", seed=1).text) <= set("-0+")


def test_options_reach_the_mechanism(tiny_model):
    m = broken("float32-softmax", model=tiny_model, clip_min=-1.0, clip_max=1.0)
    assert isinstance(m, Float32DPMLM) and m.config.epsilon == 250.0 and m.config.clip_max == 1.0
    texts = ["my doctor changed the medicine", "the red car was sold in paris"]
    assert audit(m, texts, seed=1).measured == math.inf
    assert audit(sound("float32-softmax", model=tiny_model, clip_min=-1.0, clip_max=1.0), texts, seed=1).holds
    # At small ε float32 is enough: it is the exponent that bites.
    assert audit(m.with_(epsilon=20.0), texts, seed=1).verdict != "refuted"


def test_an_unknown_fault_says_which_there_are():
    with pytest.raises(dpt.ConfigError, match="float32-softmax"):
        broken("nothing")
