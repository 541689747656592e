"""What every registered mechanism keeps, whatever it does. A new mechanism passes through here as it lands."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marks import slow_but
from small_banks import meaningless
from small_spaces import on, random_space, words
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.auditing import batches, entry_points, latent, long_texts, noise_source, statefulness
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.models import sentence_encoder
from dptext_core.pieces import deleted_by_chance
from dptext_core.testing.conformance import check_mechanism
from dptext_core.testing.conformance_checks import TEXT
from dptext_core.words.space_loading import SIZES

#: The looks of an audit with fewer rewrites, which still go every way and see what leaks each time.
SHORT = {
    batches: {"CALLS": 1, "WORDS": 6, "MODEL_WORDS": 3, "DIFFERENT": 2, "GUESSED": 1, "BATCH": 9},
    statefulness: {"EACH": 1, "MODEL_EACH": 1, "WORDS": 6},
    latent: {"DRAWS": 20, "SLOW_DRAWS": 20},
    entry_points: {"LONG": 2},
    # A tiny model often writes the same whatever its noise: it is seen in 80 releases, and in 22.
    noise_source: {"TRIES": 22},
    # Beyond the 128 pieces that the tiny models read.
    long_texts: {
        "LONG": 200,
        "PLACES": (0, 1, *range(124, 134), 198, 199),
        "LENGTHS": (100,),
        "TIMES": 1,
        "CHEAP": 1,
        "COSTLY": 1,
        "GUESSED": 6,
    },
}


@dataclass(frozen=True)
class CoinConfig:
    """Options of the example mechanism below."""

    epsilon: float = dpt.epsilon_option(2.0, 0.1, 10.0)


class Upper(dpt.Mechanism):
    """The smallest mechanism of one's own: it keeps every token. It shows what registering takes."""

    name, title, family, notion = "keep-all", "Keep all", "example", "pure"
    config_cls = CoinConfig

    def guarantee(self, text):
        return dpt.Guarantee("pure", self.config.epsilon, "word", self.adjacency(), 0, 0.0, exposed=("the whole text",))

    def distribution(self, text, index):
        raise dpt.NoDistribution("Every token is kept.")

    def rewrite_prepared(self, prepared, stream, task):
        document = prepared.document
        steps = tuple(
            dpt.Step((t.start, t.end), t.text, t.text, "keep", "example", 0.0, (out.start, out.end), i)
            for i, (t, out) in enumerate(zip(document.tokens, document.visible.tokens, strict=True))
        )
        return dpt.RewriteResult.of(self, prepared, stream, document.visible.text, steps)


@pytest.fixture(autouse=True)
def own_mechanism():
    dpt.register(Upper)
    yield
    dpt.unregister("keep-all")


NAMES = [s.name for s in dpt.mechanisms()] + ["keep-all"]


@pytest.fixture(scope="session")
def small_space(tmp_path_factory) -> str:
    """A file of vectors for the words of the texts above, among others."""
    known = ["doctor", "told", "friend", "pain", "bad", "went", "home", "days", "wrote", "letter", "one", "two"]
    space = random_space(40, 6, scale=0.4)
    path = tmp_path_factory.mktemp("space") / "small.npz"
    np.savez(path, words=np.array([*known, *space.words[len(known) :]]), vectors=space.vectors)
    return str(path)


@pytest.fixture(scope="session")
def small_generators(tmp_path_factory) -> dict[str, str]:
    kinds = {"decoder": "gpt2", "encoder-decoder": "bart"}
    return {kind: str(tiny_generator(tmp_path_factory.mktemp(name), name)) for kind, name in kinds.items()}


def fields_of(name: str) -> dict[str, dataclasses.Field]:
    return {f.name: f for f in dataclasses.fields(dpt.mechanism_class(name).config_cls)}


@pytest.fixture(params=NAMES)
def small(request, tiny_model, small_generators, tiny_autoencoder, small_space, small_bank, monkeypatch):
    """A mechanism's name, and its options for a small model and a small space. Sentences are read one by one, by
    whatever encoder: here by none."""
    monkeypatch.setattr(sentence_encoder, "embed", meaningless)
    fields = fields_of(request.param)
    writes = option_meta(fields["model"]).generators if "model" in fields else None
    options = {
        "model": small_generators[writes[0] or "decoder"] if writes else tiny_model,
        "space": small_space,
        "lists": (f"{small_space}@1", f"{small_space}@2"),
        "checkpoint": tiny_autoencoder,
        "bank": small_bank,
        "max_tokens": 4,
    }
    return request.param, {k: v for k, v in options.items() if k in fields}


@pytest.fixture
def made(small):
    name, options = small
    return dpt.get_mechanism(name, **options)


def test_a_result_that_another_process_hands_over_says_what_it_said(made):
    result = made.rewrite("My doctor told a friend.", seed=1)
    other = pickle.loads(pickle.dumps(result))
    assert (other.text, other.units, other.guarantee) == (result.text, result.units, result.guarantee)
    for k in [k for k, u in enumerate(result.units) if u.is_sampled and "distribution" in result.can][:2]:
        one, two = result.distribution(k), other.distribution(k)
        assert one.candidates == two.candidates
        assert one.draws is not None or np.array_equal(one.log_probs, two.log_probs)


#: Conform after the longest time: two that share the code of DP-MLM, and a writer beside two others.
LONG = ("dp-bart", "dp-mlm-plus", "dp-mlm-prior")
#: With their bundled models test_generators rewrites.
WRITERS = ("dp-prompt", "dp-paraphrase")


@pytest.mark.parametrize(
    "name", [s.name for s in dpt.mechanisms() if "model" in fields_of(s.name) and s.name not in WRITERS]
)
def test_with_the_bundled_model_it_works_too(name):
    """What else is bundled, test_golden rewrites with."""
    r = dpt.get_mechanism(name, **({"max_tokens": 6} if "max_tokens" in fields_of(name) else {})).rewrite(TEXT, seed=1)
    assert r.text != TEXT and r.guarantee.total > 0
    drawn = [k for k, u in enumerate(r.units) if u.is_sampled and u.epsilon > 0]
    assert drawn
    if "distribution" in r.can:
        assert len(r.distribution(drawn[0])) > 20


@pytest.mark.parametrize("small", slow_but([name for name in NAMES if name not in LONG], NAMES), indirect=True)
def test_it_conforms(small, monkeypatch):
    name, options = small
    for module, sizes in SHORT.items():
        for size, n in sizes.items():
            monkeypatch.setattr(module, size, n)
    check_mechanism(name, **options)


def test_the_words_that_are_drawn_by_a_look_at_them_are_known_before(made):
    """The ledger tells texts by them: those of a rewrite, and those of a row of which only the text is there."""
    steps = made.rewrite(TEXT).steps
    drawn = {s.index for s in steps if (s.action == "replace" and not s.reason) or deleted_by_chance(s)}
    assert made.alignment is None or drawn == set(made.alignment.sampled_tokens(TEXT))


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


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)))
def test_any_text_is_handled(made, text):
    r = made.rewrite(text, seed=2)
    assert r.original == text and r.guarantee.sentence()
    assert [r.text[slice(*u.out)] for u in r.units] == [u.text for u in r.units]


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
    assert m.replace(epsilon=1.0).rewrite(words(3)[0]).text
