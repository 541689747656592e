"""What every registered mechanism keeps, whatever it does. A new mechanism passes through here as it lands."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_spaces import on, random_space, words
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.auditing.inputs import Meter
from dptext_core.auditing.looks import Subject
from dptext_core.auditing.verdict import LATER
from dptext_core.mechanisms.blocklist import forms
from dptext_core.privacy.sampling import DEPTH, NoiseStream
from dptext_core.text import document
from dptext_core.words.space import SIZES

TEXT = "The doctor told my friend that the pain was bad. She went home in 3 days, and wrote a letter!"
TEXTS = [
    TEXT,
    "",
    "   \n\n ",
    "🙂🙂 👩‍👩‍👧",
    "...!?",
    "<img src=x onerror=alert(1)> **bold** [x](javascript:1)",
    "مرحبا doctor שלום",
    "one\ttwo\r\nthree  four\n\n\nfive",
    "it's Ana's U.S. e-mail: a@b.org, isn't it?",
    "doctor " * 40,
    "a\u0000b c\u200dd",
]


@dataclass(frozen=True)
class CoinConfig:
    """Options of the example mechanism below."""

    epsilon: float = dpt.epsilon_option(2.0, 0.1, 10.0)


class Upper(dpt.Mechanism):
    """The smallest mechanism of one's own: it keeps every token. It shows what registering takes."""

    name, title, family, notion = "keep-all", "Keep all", "example", "pure"
    config_cls = CoinConfig

    def _prepare(self, document, task):
        return dpt.Prepared(document, self.key)

    def guarantee(self, text):
        return dpt.Guarantee("pure", self.config.epsilon, "word", "any two texts", 0, 0.0, exposed=("the whole text",))

    def distribution(self, text, index):
        raise dpt.NoDistribution("Every token is kept.")

    def _rewrite(self, prepared, stream, task):
        steps = tuple(
            dpt.Step((t.start, t.end), t.text, t.text, "keep", "example", 0.0, (t.start, t.end), i)
            for i, t in enumerate(prepared.document.tokens)
        )
        return dpt.RewriteResult(
            prepared.text, prepared.text, steps, self.guarantee(prepared), self.name, self.config, stream.seed,
            stream.noise_id,
        )  # fmt: skip


@pytest.fixture(autouse=True)
def own_mechanism():
    dpt.register(Upper)
    yield
    dpt.unregister("keep-all")


NAMES = [s.name for s in dpt.mechanisms()] + ["keep-all"]


@pytest.fixture(scope="session")
def small_space(tmp_path_factory) -> str:
    """A file of vectors for the words of the texts above, among others."""
    known = [
        "doctor",
        "told",
        "friend",
        "pain",
        "bad",
        "went",
        "home",
        "days",
        "wrote",
        "letter",
        "one",
        "two",
        "three",
    ]
    space = random_space(60, 6, scale=0.4)
    path = tmp_path_factory.mktemp("space") / "small.npz"
    np.savez(path, words=np.array([*known, *space.words[len(known) :]]), vectors=space.vectors)
    return str(path)


@pytest.fixture(scope="session")
def small_generators(tmp_path_factory) -> dict[str, str]:
    kinds = {"decoder": "gpt2", "encoder-decoder": "bart"}
    return {kind: str(tiny_generator(tmp_path_factory.mktemp(name), name)) for kind, name in kinds.items()}


@pytest.fixture(params=NAMES)
def make(request, tiny_model, small_generators, tiny_autoencoder, small_space):
    """Builds the mechanism on a small model and a small space, with given options."""
    fields = {f.name: f.metadata for f in dataclasses.fields(dpt.mechanism_class(request.param).spec().config_cls)}
    writes = fields.get("model", {}).get("generators")
    small = {
        "model": small_generators[writes[0] or "decoder"] if writes else tiny_model, "space": small_space,
        "lists": (f"{small_space}@1", f"{small_space}@2"), "checkpoint": tiny_autoencoder,
    }  # fmt: skip

    def build(**options):
        return dpt.get_mechanism(request.param, **({k: v for k, v in small.items() if k in fields} | options))

    return build


@pytest.mark.parametrize("name", [n for n in NAMES if n != "keep-all"])
def test_with_what_is_bundled_it_works_too(name):
    r = dpt.get_mechanism(name).rewrite(TEXT, seed=1)
    assert r.text != TEXT and r.guarantee.total > 0
    drawn = [k for k, u in enumerate(r.units) if u.drawn and u.epsilon > 0]
    assert drawn
    if "distribution" in r.can:
        assert len(r.distribution(drawn[0])) > 20 - (name == "custext")


def test_the_registry_refuses_a_second_of_the_same_name():
    with pytest.raises(dpt.ConfigError, match="already"):
        dpt.register(Upper)
    with pytest.raises(dpt.ConfigError, match="dp-mlm"):
        dpt.get_mechanism("no-such-mechanism")


def test_the_registry_refuses_a_default_that_the_option_itself_refuses():
    """Help, links and controls write the defaults of every mechanism: one wrong one would break them all."""

    @dataclasses.dataclass(frozen=True)
    class Config(Upper.config_cls):
        size: int = dpt.option(3, label="Size", kind="integer", min=5, help="At least five.")

    wrong = type("Wrong", (Upper,), {"name": "wrong", "config_cls": Config})
    with pytest.raises(dpt.ConfigError, match="size must be at least 5"):
        dpt.register(wrong)
    assert "wrong" not in {s.name for s in dpt.mechanisms()}


def test_the_spec_is_complete(make):
    spec = make().spec()
    assert spec.notion in {"pure", "metric", "group", "approx", "none"}
    for field in dataclasses.fields(spec.config_cls):
        assert field.metadata["label"] and field.metadata["help"], field.name
    assert spec in dpt.mechanisms()


def test_the_config_is_frozen(make):
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().config.epsilon = 3.0


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "5", True, None, 1e9, [], [1.0, math.nan]])
def test_a_wrong_epsilon_is_refused_with_its_reason(make, epsilon):
    with pytest.raises(dpt.ConfigError, match="epsilon"):
        make(epsilon=epsilon)


def test_an_unknown_option_is_refused_with_the_known_ones(make):
    with pytest.raises(dpt.ConfigError, match="epsilon"):
        make(epsilom=3)


@pytest.mark.parametrize("text", TEXTS)
def test_steps_cover_the_text_and_the_rest_survives(make, text):
    m = make()
    r = m.rewrite(text, seed=1)
    assert r.original == text
    if "alignment" not in r.can:
        assert not len(r.steps) and all(p.source is None for p in r.releases)
        assert [r.text[slice(*p.span)] for p in r.releases] == [p.text for p in r.releases]
        assert "".join("".join(p.text for p in r.releases).split()) == "".join(r.text.split())
        return
    covered = {i for s in r.steps for i in range(*s.span)}
    assert all(i in covered for i, c in enumerate(text) if c.isalnum())
    for s in r.steps:
        assert s.original == text[slice(*s.span)]
        assert s.action in {"replace", "keep", "insert", "delete"}
        assert r.text[slice(*s.out)] == ("" if s.action == "delete" else s.replacement)
        if s.action == "keep":
            assert s.replacement == s.original and s.epsilon == 0 and s.reason
    kept = [s.original for s in r.steps if s.action == "keep"]
    at = 0
    for word in kept:
        at = r.text.index(word, at) + len(word)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)))
def test_any_text_is_handled(make, text):
    r = make().rewrite(text, seed=2)
    assert r.original == text and r.guarantee.sentence()
    assert [r.text[slice(*u.out)] for u in r.units] == [u.text for u in r.units]


@pytest.mark.parametrize("text", [None, 3, b"bytes", "broken \ud800 half"])
def test_what_is_no_text_is_refused(make, text):
    with pytest.raises((dpt.InputError, TypeError)):
        make().rewrite(text)


def test_a_text_that_is_too_long_is_refused_by_all_in_the_same_way(make, monkeypatch):
    """Before anything is looked at, so that no promise holds for some lengths in one way and for others in another."""
    monkeypatch.setattr(document, "LARGEST", 40)
    m, text = make(), "a doctor " * 5
    said = "This text has 45 characters, and at most 40 are rewritten at once. Split it into several texts."
    own = [m.guarantee] * (m.name != Upper.name)  # which looks at no text
    for asked in (
        *own, m.plan, m.prepare, m.coverage, m.rewrite, lambda t: m.rewrite([t]), lambda t: m.rewrites(t, 2),
        lambda t: list(m.prepare_many([t])), lambda t: list(m.rewrite_each([t])),
        lambda t: m.sweep(t, [m.config.epsilon]),
    ):  # fmt: skip
        with pytest.raises(dpt.InputError) as refused:
            asked(text)
        assert str(refused.value) == said
    (record,) = dpt.rewrite_records([text], m)
    assert record.error == said
    assert m.guarantee(text[:40]).sentence()


def test_a_seed_repeats_and_says_that_it_is_not_private(make):
    m = make()
    a, b = m.rewrite(TEXT, seed=7), m.rewrite(TEXT, seed=7)
    assert a.text == b.text and a.seed == 7
    assert "not private" in json.dumps(a.to_dict())
    assert "not private" not in json.dumps(m.rewrite(TEXT).to_dict())


def test_the_export_does_not_hold_the_original(make):
    m = make()
    r = m.rewrite("doctor hospital cancer treatment", seed=3)
    assert (r.original in json.dumps(r.to_dict())) == (r.text == r.original) == (m.name == "keep-all")
    assert r.to_dict(trace=True)["original"] == r.original


def test_a_list_gives_a_list_with_independent_stream(make):
    m = make()
    many = m.rewrite([TEXT] * 4, seed=5)
    assert [r.original for r in many] == [TEXT] * 4
    assert (many[0].text != TEXT) == (len({r.text for r in many}) > 1) == (m.name != "keep-all")


def test_equal_texts_one_after_the_other_are_read_once(make, monkeypatch):
    m, read = make(), []
    monkeypatch.setattr(m, "_document", lambda text: read.append(text) or type(m)._document(m, text), raising=False)
    many = m.rewrite([TEXT, TEXT, "My doctor paid.", TEXT], seed=5)
    assert read == [TEXT, "My doctor paid.", TEXT]
    assert [r.original for r in many] == [TEXT, TEXT, "My doctor paid.", TEXT]


def test_what_was_drawn_is_in_its_distribution(make):
    m = make()
    r = m.rewrite(TEXT, seed=11)
    seen = []
    for i, s in enumerate(r.units):
        if s.action in ("keep", "delete") or "distribution" not in r.can:
            with pytest.raises(dpt.NoDistribution):
                r.distribution(i)
            continue
        d = r.distribution(i)
        assert d.probs.sum() == pytest.approx(1.0, abs=1e-9)
        known = r.candidate(i)
        seen.append((d.p(s.text) if known is None else d.probs[known]) > 0)
        # An estimate from draws need not have seen every word that is possible; what is drawn, it mostly has.
        assert seen[-1] or (d.draws is not None and len(d.index(s.text)))
        assert d.probs.dtype == np.float64 and len(d.candidates) == len(d.probs)
    assert not seen or np.mean(seen) > 0.5, seen


def test_a_whole_rewrite_is_as_likely_as_its_pieces_are_or_it_is_said_why_not(make):
    m = make()
    if m.no_log_chances:
        with pytest.raises(dpt.NoDistribution, match=re.escape(m.no_log_chances)):
            m.log_chances([], [])
        return
    r = m.rewrite(TEXT, seed=4)
    texts = [m.prepare(TEXT), m.prepare(f"{TEXT} Now.")]
    own, other = m.log_chances(texts, [r])[:, 0]
    stated = 0.0
    for i, u in enumerate(r.units):
        if u.drawn:
            known = r.candidate(i)
            stated += np.log(r.distribution(i).p(u.text) if known is None else r.distribution(i).probs[known])
    assert own == pytest.approx(stated, rel=1e-6)
    assert np.isinf(other) == ("alignment" in m.can), "the other text has another number of words"


def test_what_is_possible_can_be_drawn_at_the_largest_epsilon(make):
    """No output lies deeper than the sampler goes, nor beyond float64 where the sampler ends there."""
    m = make()
    m = m.with_(epsilon=m.max_epsilon)
    for i in range(len(dpt.Document.parse(TEXT).tokens)):
        try:
            d = m.distribution(TEXT, i)
        except dpt.NoDistribution:
            continue
        possible = d.log_probs[np.isfinite(d.log_probs)]
        assert possible.min() >= -d.depth
        assert d.depth > DEPTH or (d.probs[np.isfinite(d.log_probs)] > 0).all()


@pytest.mark.parametrize("name", ["santext", "santext-plus", "tem"])
@pytest.mark.parametrize("space", [*SIZES, "small"])
def test_an_epsilon_that_no_draw_reaches_is_refused(name, space):
    """For bundled spaces when the options are checked; by the space itself when a text is prepared."""
    options = {"gamma": 50.0} if name == "tem" else {}
    if space in SIZES:
        loaded = dpt.word_space(space)
        assert len(loaded) == SIZES[space][0] and loaded.delta[1] <= SIZES[space][1] <= loaded.delta[1] + 2e-3
        with pytest.raises(dpt.ConfigError, match=r"at most .*no finite ε"):
            dpt.get_mechanism(name, space=space, epsilon=1400.0, **options)
        return
    m = on(random_space(40, scale=3.0), name, epsilon=800.0, **options)
    with pytest.raises(dpt.ConfigError, match=r"at most .*no finite ε"):
        m.rewrite(words(3)[0])
    with pytest.raises(dpt.ConfigError, match="at most"):
        m.distribution(words(3)[0], 0)
    assert m.with_(epsilon=1.0).rewrite(words(3)[0]).text


def test_a_sweep_is_the_same_rewrite_at_each_epsilon(make):
    m = make()
    epsilons = [1.0, 20.0, 120.0]
    s = m.sweep(TEXT, epsilons=epsilons, seed=3)
    assert [r.text for r in s.results] == [m.with_(epsilon=e).rewrite(TEXT, seed=3).text for e in epsilons]
    assert len(s.distributions) == 3 and len(s.distributions[0]) == len(s.results[0].units)
    assert len({r.noise_id for r in s.results}) == 1


def test_a_prepared_text_stands_for_its_text(make):
    m = make()
    p = m.prepare(TEXT)
    assert m.rewrite(p, seed=4).text == m.rewrite(TEXT, seed=4).text
    assert m.with_(epsilon=3.0).rewrite(p, seed=4).text == m.with_(epsilon=3.0).rewrite(TEXT, seed=4).text
    assert m.guarantee(p) == m.guarantee(TEXT)


def test_the_guarantee_adds_up(make):
    m = make()
    r = m.rewrite(TEXT, seed=6)
    g = r.guarantee
    assert g.notion in {"pure", "metric", "group", "approx", "none"}
    assert sum(u.epsilon for u in r.units if u.drawn) <= g.total + 1e-9
    assert g.sentence() and g.formal() and g.exposed
    assert "seed" in " ".join(g.exposed)
    # What hides any two texts from each other hides that there is none, too.
    assert (m.guarantee("").total == 0) == ("alignment" in m.can)


def test_no_listed_word_is_released(make):
    """Not drawn, not kept as a stop word, an unknown word, a number or a symbol, and in no capitals."""
    fields = {f.name: f.metadata for f in dataclasses.fields(make().config)}
    if "never" not in fields:
        with pytest.raises(dpt.ConfigError, match="Unknown option 'never'"):
            make(never=["pain"])
        return
    text = "The Doctor told ANA of pain: 3 days 🙂 at sea-side. " * 3
    listed = ["the", "doctor", "of", "ana", "3", "sea", "pain", "person", "bafaq"]
    listed += [] if "generators" in fields.get("model", {}) else ["🙂"]
    plain = make()
    common = [u.text.lower() for u in plain.rewrite(text, seed=1).units if u.drawn and u.text.isalpha()]
    for options in ({"oov": "keep"}, {"oov": "mask"}) if "oov" in fields else ({},):
        m = make(never=[*listed, *common], **options)
        for r in m.rewrite([text] * 2, seed=1):
            assert r.text.strip()
            released = {part for t in dpt.Document.parse(r.text).tokens for part in forms(t.text)}
            assert not released & {*listed, *common}
            assert r.guarantee.never == len(m.config.never)
            assert ("Never released" in r.guarantee.formal()) == (r.guarantee.notion != "none")
            assert any("chosen by looking at the text" in one for one in r.guarantee.exposed)
            assert r.guarantee.epsilon == m.config.epsilon
    with pytest.raises(dpt.ConfigError, match="prepared with other options"):
        m.rewrite(plain.prepare(text))


@pytest.mark.slow
def test_no_look_of_an_audit_refutes_it(make):
    """Each refutes a sound mechanism with a chance below 5e-8; fixed seeds."""
    m, text = make(), "doctor friend pain home letter told wrote"
    if hasattr(m.config, "max_tokens"):
        m = m.with_(max_tokens=3)
    subject = Subject(m, m.guarantee(text), [text], NoiseStream(4), Meter())
    for which in LATER:
        check = which(subject)
        assert check is None or check.status != "refuted", check


def test_progress_and_cancel(make):

    stop = dpt.Task()
    stop.cancel()
    m = make()
    if m.name != "keep-all":  # which has nothing to draw
        with pytest.raises(dpt.Cancelled):
            m.rewrite(TEXT, task=stop)
