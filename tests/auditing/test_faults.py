"""Planted faults: the audit finds each, and its sound twin is not refuted."""

from __future__ import annotations

import math
from functools import cached_property

import pytest
from small_spaces import over, random_space, words

import dptext_core as dpt
from dptext_core.auditing import audit
from dptext_core.auditing.inputs import TEXTS, default_inputs
from dptext_core.auditing.planted import FAULTS, broken, sound
from dptext_core.auditing.planted.stated import STATED, Float32DPMLM, StretchedSpace
from dptext_core.auditing.planted.text import TEXT, TinyWriter
from dptext_core.research import audit as bench

SPACE = random_space(40, 4)
SLOW = ("too-often", "other-sampler", "telling-capitals", "alone-only", "halved-sensitivity", "unchanged-text")
LANGUAGE_MODELS = ("float32-softmax", "unchanged-text", "telling-capitals")


def test_none_is_registered():
    assert [f.name for f in STATED] == [
        "float32-softmax",
        "private-support",
        "l2-clipping",
        "other-sampler",
        "halved-sensitivity",
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
def test_one_function_is_replaced(name):
    fault = FAULTS[name]
    assert fault.sound in fault.broken.__mro__
    own = {k for k, v in vars(fault.broken).items() if callable(v) or isinstance(v, property | cached_property)}
    assert len(own) == 1


def small(make, name, tiny_model):
    """The fault on a vocabulary of 40 words, or on a tiny model."""
    if name == "reading-prior":  # small scores, as those of the tiny model are, in a narrow range
        return make(name, model=tiny_model, shift_min=-0.5, shift_max=0.5, epsilon=0.1)
    if name in LANGUAGE_MODELS:
        return make(name, model=tiny_model, clip_min=-1.0, clip_max=1.0)
    space = SPACE
    if name == "other-unit" and make is broken:
        space = StretchedSpace(SPACE.name, SPACE.title, SPACE.words, SPACE.vectors)
    return on(space, make, name, recase="none")


def on(space, make, name, **options):
    """The fault, or its twin, on this vocabulary."""
    fault = FAULTS[name]
    cls = fault.broken if make is broken else fault.sound
    return over(space, cls, **{**fault.options, "keep_stopwords": False, **options})


_CLEARED: dict = {}


def twin_of(name, m, inputs, draws):
    """What the audit says of the sound twin of a fault, once for all faults that have this one."""
    key = FAULTS[name].sound, m.config, tuple(inputs or ()), draws
    if key not in _CLEARED:
        _CLEARED[key] = audit(m, inputs, seed=1, draws=draws)
    return _CLEARED[key]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else [])
        for n in (f.name for f in STATED)
        if n not in ("seldom-leak", "private-support")
    ],
)
def test_the_audit_finds_the_fault_and_clears_its_twin_on_little(name, tiny_model):
    """Where everything is small: all but a leak that a small vocabulary hides among the words that stay anyway."""
    # Fewest where the fault shows in what is stated, or in every draw.
    draws = {"too-often": 400, "unchanged-noise": 400, "other-sampler": 200}.get(name, 100)
    texts = ["my doctor changed the medicine, and the red car was sold", "the red car was sold in paris"]
    alike = ["the red car was sold in paris", "the sad dog was left in london"]  # they differ in drawn words alone
    inputs = alike if name == "reading-prior" else texts if name in LANGUAGE_MODELS else list(words(40))
    inputs = inputs[: 8 if name == "unchanged-noise" else 40]
    report = audit(small(broken, name, tiny_model), inputs, seed=1, draws=draws)
    assert report.verdict == "refuted" and report.witness is not None and report.witness.sentence()
    if name == "telling-capitals":
        assert report.witness.kind == "release" and report.measured < report.claimed
    twin = twin_of(name, small(sound, name, tiny_model), inputs, draws)
    assert twin.verdict == ("inconclusive" if name == "unchanged-noise" else "holds"), twin.sentence()
    assert twin.claimed == report.claimed and math.isfinite(twin.detectable)


#: Faults that leave a doubt instead of a witness, and the check that names it.
DOUBTS = {"telling-note": "what is said beside a text"}


@pytest.mark.parametrize("name", [f.name for f in TEXT])
def test_a_released_text_that_is_not_what_its_pieces_say_is_found(name):
    """And what is said beside it. On few words and with few draws: nothing of it is a matter of chance."""
    fault, inputs = FAULTS[name], None if issubclass(FAULTS[name].sound, TinyWriter) else list(words(12))

    def of(make):
        return make(name) if inputs is None else on(SPACE, make, name)

    report = audit(of(broken), inputs, seed=1, draws=100)
    last = report.checks[-1]
    if name in DOUBTS:
        assert report.verdict == "inconclusive" and report.line == "Cannot be told"
        assert next(c.name for c in report.checks if c.status == "not looked at") == DOUBTS[name]
    else:
        assert report.verdict == "refuted" and report.line == "Refuted ✗" and report.witness.sentence()
        assert last.status == "refuted" and not report.parts() and report.claimed > 0
        assert last.draws < 300, "before anything else"
    twin = twin_of(name, of(sound), inputs, 100)
    assert twin.verdict == ("inconclusive" if inputs is None else "holds"), fault.title


@pytest.mark.slow
def test_a_small_writer_that_is_sound_holds_where_the_draws_could_have_shown_its_loss():
    assert "Holds for what was tried ✓" in audit(sound("appended-original", epsilon=0.3), seed=1, draws=2000).sentence()


@pytest.mark.slow
@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("name", ["float32-softmax", "private-support", "seldom-leak"])
def test_the_audit_finds_the_fault_and_clears_its_twin(name):
    """With what is bundled, as the page has them: those whose fault needs a large vocabulary or a real model."""
    options: dict = {"seed": 1, "draws": 250 if name == "seldom-leak" else 200}
    if name == "float32-softmax":
        options["inputs"] = TEXTS[:2]
    if name == "seldom-leak":
        options["inputs"] = default_inputs(broken(name))[:60]
    if name == "private-support":
        options |= {"inputs": default_inputs(broken(name))[:60], "draws": 100}
    report = audit(broken(name), **options)
    assert report.verdict == "refuted" and report.witness is not None
    w = report.witness
    if name == "seldom-leak":
        assert w.kind == "sampler" and report.sampler_p < 1e-6 and report.measured < report.claimed
    else:
        assert report.measured == math.inf and w.p_second == 0 < w.p_first
    if name != "seldom-leak":  # whose twin is that of private-support
        twin = audit(sound(name), **options)
        assert twin.verdict == "holds" and twin.claimed == report.claimed


def test_what_the_telling_ones_tell():
    """Each is told by a whole text: the words drawn have the right distribution in all of them."""
    m = broken("telling-spaces", epsilon=16.0, recase="none")
    seen = {r.text for r in m.rewrites("I love ❤️mom today", 200, seed=1)}
    assert any("❤️mom" in t for t in seen) and any("❤️ " in t for t in seen)
    assert not any("❤️mom" in r.text for r in m.rewrites("I love ❤️mother today", 200, seed=1))
    assert not any("❤️ " in r.text for r in sound("telling-spaces").rewrites("I love ❤️mom today", 50, seed=1))


def test_the_claim_of_a_broken_mechanism_is_that_of_its_twin():
    for name in FAULTS.keys() - {"telling-total", "telling-error"}:
        a, b = (make(name).guarantee("doctor") for make in (broken, sound))
        assert (a.notion, a.epsilon, a.total) == (b.notion, b.epsilon, b.total)


@pytest.mark.slow
def test_a_broken_mechanism_rewrites_by_its_fault():
    m = broken("private-support", epsilon=4.0, oov="keep")
    for r in m.rewrites("doctor", 200, seed=1):
        assert m.distribution("doctor", 0).p(r.steps[0].replacement) > 0
    assert set(broken("l2-clipping").rewrite("doctor", seed=1).text) <= set("-0+")


@pytest.mark.slow
@pytest.mark.usefixtures("few_looks")
def test_options_reach_the_mechanism(tiny_model):
    m = broken("float32-softmax", model=tiny_model, clip_min=-1.0, clip_max=1.0)
    assert isinstance(m, Float32DPMLM) and m.config.epsilon == 250.0 and m.config.clip_max == 1.0
    texts = ["my doctor changed the medicine", "the red car was sold in paris"]
    assert audit(m, texts, seed=1, draws=100).measured == math.inf
    same = sound("float32-softmax", model=tiny_model, clip_min=-1.0, clip_max=1.0)
    assert audit(same, texts, seed=1, draws=100).holds
    # At small ε float32 is enough: it is the exponent that bites.
    assert audit(m.replace(epsilon=20.0), texts, seed=1, draws=100).verdict != "refuted"


def test_an_unknown_fault_says_which_there_are():
    with pytest.raises(dpt.ConfigError, match="float32-softmax"):
        broken("nothing")


@pytest.mark.slow
def test_the_bench_prints_faults_beside_their_twins(monkeypatch, capsys):
    names = ["appended-original", "counting-blanks"]
    reports = {}

    def once(m, *given, **options):
        if type(m) not in reports:
            reports[type(m)] = audit(m, *given, **options)
        return reports[type(m)]

    monkeypatch.setattr(bench, "audit", once)
    assert bench.main(["--planted", *(a for n in names for a in ("--fault", n))]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [r[1] for r in rows] == ["Refuted ✗"] * 2 and [r[2] for r in rows] == ["Holds for what was tried ✓"] * 2
    assert all(r[5].startswith("released text") for r in rows)
    # A fault that is not found, and a twin that is refuted, are said by the exit code.
    monkeypatch.setattr(bench, "broken", sound)
    assert bench.main(["--planted", "--fault", names[0]]) == 1
    with pytest.raises(dpt.InputError, match="appended-original"):
        bench.main(["--planted", "--fault", "nothing"])
