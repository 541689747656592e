"""Planted faults: the audit finds each, and its sound twin is not refuted."""

from __future__ import annotations

import math
from functools import cached_property

import pytest
from small_spaces import over, random_space, words

import dptext_core as dpt
from dptext_core.auditing import audit
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.santext import SanText
from dptext_lab.broken_mechanisms import FAULTS, broken, sound
from dptext_lab.broken_mechanisms.guarantees import GUARANTEES
from dptext_lab.broken_mechanisms.stated import STATED, Float32DPMLM, StretchedSpace
from dptext_lab.broken_mechanisms.text import TEXT, TinyWriter
from dptext_lab.measurements import audit as bench

#: More words than the fifty that a faulty mechanism draws among.
SPACE = random_space(60, 4)
LANGUAGE_MODELS = ("float32-softmax", "unchanged-text", "telling-capitals")

#: All faults here show before the looks that come last.
pytestmark = pytest.mark.usefixtures("few_looks", "few_releases")


def test_none_is_registered():
    assert [f.name for f in STATED] == [
        "float32-softmax",
        "private-support",
        "l2-clipping",
        "halved-sensitivity",
        "other-sampler",
        "unchanged-text",
        "unchanged-noise",
        "alone-only",
        "seldom-leak",
        "too-often",
        "other-unit",
        "telling-spaces",
        "telling-capitals",
        "reading-prior",
    ]
    registered = {dpt.mechanism_class(s.name) for s in dpt.mechanisms()}
    for fault in FAULTS.values():
        assert fault.broken not in registered and fault.explanation and fault.title
        assert fault.sound in registered or fault.sound.name.startswith("tiny-")
    assert {f.name for f in (*STATED, *TEXT)} <= set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_function_or_two_are_replaced(name):
    fault = FAULTS[name]
    assert fault.sound in fault.broken.__mro__
    own = {k for k, v in vars(fault.broken).items() if callable(v) or isinstance(v, property | cached_property)}
    assert 1 <= len(own) <= 2


def small(make, name, tiny_model):
    """The fault on few words, or on a tiny model; those of one mechanism with the same options, so with one twin."""
    if name == "reading-prior":  # small scores, as those of the tiny model are, in a narrow range
        return make(name, model=tiny_model, shift_min=-0.5, shift_max=0.5, epsilon=0.1)
    if name in LANGUAGE_MODELS:
        return make(name, model=tiny_model, clip_min=-1.0, clip_max=1.0, epsilon=250.0, keep_punctuation=False)
    space = SPACE
    if name == "other-unit" and make is broken:
        space = StretchedSpace(SPACE.name, SPACE.title, SPACE.words, SPACE.vectors)
    # Of sixty words each stays so seldom that two more of a hundred draws show.
    return on(space, make, name, **{SanText: {"epsilon": 4.0}, CusText: {"k": 60}}.get(FAULTS[name].sound, {}))


def on(space, make, name, **options):
    """The fault, or its twin, on this vocabulary."""
    fault = FAULTS[name]
    cls = fault.broken if make is broken else fault.sound
    return over(space, cls, **{**fault.options, "keep_stopwords": False, "recase": "none", **options})


_CLEARED: dict = {}


def twin_of(name, m, inputs, draws=100):
    """What the audit says of the sound twin of a fault, once for all faults that have this one."""
    key = FAULTS[name].sound, m.config, tuple(inputs or ()), draws
    if key not in _CLEARED:
        _CLEARED[key] = audit(m, inputs, seed=1, draws=draws)
    return _CLEARED[key]


@pytest.mark.slow
@pytest.mark.parametrize("name", [f.name for f in STATED if f.name != "seldom-leak"])
def test_the_audit_finds_the_fault_and_clears_its_twin(name, tiny_model):
    """All but a leak that a small vocabulary hides among the words that stay anyway: test_goodness_of_fit has leaks of
    the size that an audit says it would see."""
    texts = ["my doctor changed", "the red car"]
    alike = ["the red car", "the sad dog"]  # they differ in drawn words alone
    inputs = alike if name == "reading-prior" else texts if name in LANGUAGE_MODELS else list(words(5))
    # As many as show two more of a hundred, and elsewhere few: the fault is in what is stated, or in every draw.
    draws = 600 if name == "too-often" else 100
    report = audit(small(broken, name, tiny_model), inputs, seed=1, draws=draws)
    w = report.witness
    assert report.verdict == "refuted" and w is not None and w.sentence()
    if name == "telling-capitals":
        assert w.kind == "release" and report.measured < report.claimed
    if name in ("float32-softmax", "private-support"):
        assert report.measured == math.inf and w.p_second == 0 < w.p_first
    if name == "too-often":
        assert w.kind == "sampler" and report.sampler_p < 1e-6 and report.measured < report.claimed
    twin = twin_of(name, small(sound, name, tiny_model), inputs, draws)
    assert twin.verdict == ("inconclusive" if name == "unchanged-noise" else "holds"), twin.details()
    assert twin.claimed == report.claimed and math.isfinite(twin.detectable)


#: Faults that leave a doubt instead of a witness, and the check that names it.
DOUBTS = {"telling-note": "metadata of a text"}


@pytest.mark.parametrize("name", [f.name for f in TEXT])
def test_a_released_text_that_is_not_what_its_pieces_say_is_found(name):
    """And what is said beside it. On few words and with few draws: nothing of it is a matter of chance."""
    fault, inputs = FAULTS[name], None if issubclass(FAULTS[name].sound, TinyWriter) else list(words(12))

    def of(make):
        return make(name) if inputs is None else on(SPACE, make, name, epsilon=4.0)

    report = audit(of(broken), inputs, seed=1, draws=100)
    last = report.checks[-1]
    if name in DOUBTS:
        assert report.verdict == "inconclusive" and report.line == "Inconclusive"
        assert next(c.name for c in report.checks if c.status == "not tested") == DOUBTS[name]
    else:
        assert report.verdict == "refuted" and report.line == "Violated ✗" and report.witness.sentence()
        assert last.status == "refuted" and not report.parts() and report.claimed > 0
        assert last.draws < 300, "before anything else"
    twin = twin_of(name, of(sound), inputs)
    assert twin.verdict == ("inconclusive" if inputs is None else "holds"), fault.title


def test_what_the_telling_ones_tell():
    """Each is told by a whole text: the words drawn have the right distribution in all of them."""
    m = broken("telling-spaces", epsilon=16.0, recase="none")
    seen = {r.text for r in m.rewrites("I love ❤mom today", 60, seed=1)}
    assert any("❤mom" in t for t in seen) and any("❤ " in t for t in seen)
    assert not any("❤mom" in r.text for r in m.rewrites("I love ❤mother today", 60, seed=1))
    assert not any("❤ " in r.text for r in sound("telling-spaces").rewrites("I love ❤mom today", 50, seed=1))


def test_the_claim_of_a_broken_mechanism_is_that_of_its_twin():
    other = {f.name for f in GUARANTEES}  # the claim is their fault
    for name in FAULTS.keys() - {"telling-total", "telling-error"} - other:
        a, b = (make(name).guarantee("doctor") for make in (broken, sound))
        assert (a.notion, a.epsilon, a.total) == (b.notion, b.epsilon, b.total)


def test_a_broken_mechanism_rewrites_by_its_fault():
    m, word = on(SPACE, broken, "private-support", epsilon=0.5), SPACE.words[0]
    for r in m.rewrites(word, 200, seed=1):
        assert m.distribution(word, 0).p(r.steps[0].replacement) > 0
    # Of 5,000 draws 5 leak, and the others are those of the twin.
    text = " ".join(words(20) * 10)
    steps, plain = (
        [s for r in on(SPACE, make, "seldom-leak", epsilon=0.01).rewrites(text, 25, seed=1) for s in r.steps]
        for make in (broken, sound)
    )
    others = [a for a, b in zip(steps, plain, strict=True) if a != b]
    assert 0 < len(others) < 20 and all(s.replacement == s.original for s in others)
    assert set(on(SPACE, broken, "l2-clipping").rewrite(word, seed=1).text) <= set("-0+")


@pytest.mark.slow
def test_options_reach_the_mechanism(tiny_model):
    m = broken("float32-softmax", model=tiny_model, clip_min=-1.0, clip_max=1.0)
    assert isinstance(m, Float32DPMLM) and m.config.epsilon == 250.0 and m.config.clip_max == 1.0


def test_an_unknown_fault_says_which_there_are():
    with pytest.raises(dpt.ConfigError, match="float32-softmax"):
        broken("nothing")


@pytest.mark.slow
def test_the_bench_prints_faults_beside_their_twins(monkeypatch, capsys):
    names = ["appended-original", "counting-blanks"]
    reports = {}

    def once(m, *given, **options):
        if type(m) not in reports:
            reports[type(m)] = audit(m, *given, **options | {"draws": 400})
        return reports[type(m)]

    monkeypatch.setattr(bench, "audit", once)
    assert bench.main(["--broken", *(a for n in names for a in ("--fault", n))]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [r[1] for r in rows] == ["Violated ✗"] * 2
    assert [r[2] for r in rows] == ["No violation found in the cases tested ✓"] * 2
    assert all(r[5].startswith("released text") for r in rows)
    # A fault that is not found, and a twin that is refuted, are said by the exit code.
    monkeypatch.setattr(bench, "broken", sound)
    assert bench.main(["--broken", "--fault", names[0]]) == 1
    with pytest.raises(dpt.InputError, match="appended-original"):
        bench.main(["--broken", "--fault", "nothing"])
