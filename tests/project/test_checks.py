"""Whatever is given, wherever it is taken: what cannot be used is a DPTextError that says what to do."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from small_spaces import on, random_space, words

import dptext_core as dpt
from dptext_core.measure import budget
from dptext_core.measure.coverage import coverage_note
from dptext_core.mechanisms.config import MIN_EPSILON
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.words import files
from dptext_core.words.lists import list_space, user_list

NAMES = [spec.name for spec in dpt.mechanisms()]
HUGE = 10**400
ODD = {
    "None": None,
    "bytes": b"x",
    "array": np.array(["a", "b"]),
    "numbers": np.arange(3.0),
    "list": ["a", 1],
    "dict": {"a": 1},
    "set": {"a"},
    "huge": HUGE,
    "endless": 10**5000,
    "bool": True,
    "complex": 1j,
    "object": object(),
    "nan": float("nan"),
    "NUL": "a\0b",
    "surrogate": "a\ud800b",
    "long": "x" * 5000,
    "nested": [["a"]],
    "type": str,
}
NO_PATH = {
    "NUL": "a\0b",
    "surrogate": "a\ud800b",
    "long": "x" * 5000,
    "long part": "a/" + "x" * 300,
    "home": "~nobody-/x",
}
SPACE = random_space(20)


def message(found: pytest.ExceptionInfo) -> str:
    text = str(found.value)
    assert text and text[-1] in ".)…'" and "\n" not in text and len(text) < 1200
    return text


@pytest.mark.parametrize("name", NAMES)
def test_any_odd_value_for_any_option_is_a_config_error_or_taken(name):
    cls = dpt.mechanism_class(name)
    for field in dataclasses.fields(cls.config_cls):
        for value in ODD.values():
            kind = option_meta(field).kind
            nothing = value is None and field.default is None and kind != "epsilon"
            fits = nothing or (kind == "flag" and value is True)
            if fits:
                continue
            with pytest.raises(dpt.DPTextError) as found:
                dpt.get_mechanism(name, **{field.name: value})
            message(found)


@pytest.mark.parametrize("value", [HUGE, -HUGE, Fraction(HUGE), float("inf"), np.float64("nan"), b"5", True, np.True_])
def test_epsilon_is_a_finite_number(value):
    for given in (value, [1.0, value]):
        with pytest.raises(dpt.ConfigError):
            dpt.get_mechanism("santext", epsilon=given)
    assert dpt.get_mechanism("santext", epsilon=np.float32(2)).config.epsilon == 2.0


@pytest.mark.parametrize(
    "name", [n for n in NAMES if "space" in {f.name for f in dataclasses.fields(dpt.mechanism_class(n).config_cls)}]
)
def test_the_smallest_epsilon_works_and_smaller_ones_are_refused(name):
    assert on(SPACE, name, epsilon=MIN_EPSILON).rewrite(words(20)[3], seed=1).text in SPACE
    for epsilon in (1e-37, 1e-300, 5e-324, MIN_EPSILON / 2):
        with pytest.raises(dpt.ConfigError, match=r"at least 1e-09.*noise scale is divided by ε"):
            dpt.get_mechanism(name, epsilon=epsilon)
    with pytest.raises(dpt.ConfigError, match="above 0"):
        dpt.get_mechanism(name, epsilon=0)


@pytest.mark.parametrize("seed", [True, False, np.True_, 1.0, "1", b"1", [1], pytest.param(10**5000, id="endless")])
def test_seeds(seed):
    m = on(SPACE, "santext")
    for call in (
        lambda: dpt.NoiseStream(seed),
        lambda: m.rewrite("babaq", seed=seed),
        lambda: m.rewrites("babaq", 2, seed=seed),
        lambda: m.sweep("babaq", [1.0], seed=seed),
        lambda: m.distribution("babaq", 0).sample(2, seed=seed),
    ):
        with pytest.raises(dpt.ConfigError, match="seed"):
            call()
    assert dpt.NoiseStream(HUGE).noise_id == dpt.NoiseStream(HUGE).noise_id
    with pytest.raises(dpt.ConfigError, match="NoiseStream"):
        m.rewrite("babaq", stream=5)


@pytest.mark.parametrize("n", [-1, -3, 2.0, True, None, "2", b"2", pytest.param(-(10**5000), id="endless")])
def test_counts(n):
    m = on(SPACE, "santext")
    d = m.distribution(words(20)[0], 0)
    for call in (
        lambda: m.rewrites("babaq", n),
        lambda: d.sample(n),
        lambda: d.top(n),
        lambda: d.expected_distinct(n),
        lambda: SPACE.neighbours(words(20)[0], n),
        lambda: SPACE.nearest([0], n),
    ):
        with pytest.raises(dpt.ConfigError) as found:
            call()
        message(found)
    assert m.rewrites("babaq", 0) == [] and d.sample(0) == [] and d.expected_distinct(0) == 0


@pytest.mark.parametrize(
    "odd", [None, 1.0, True, "0", -1, pytest.param(HUGE, id="huge"), pytest.param(10**5000, id="endless")]
)
def test_places_of_words(odd):
    m, word = on(SPACE, "santext"), words(20)[0]
    for call in (m.rewrite(word).distribution, lambda i: m.distribution(word, i)):
        with pytest.raises(dpt.DPTextError):
            call(odd)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [None, b"bytes", 5, ["a", None], [b"a"], {"a": 1}])
def test_texts_that_are_none(name, text):
    m = dpt.get_mechanism(name)
    for call in (lambda: m.rewrite(text), lambda: list(m.prepare_many(text)), lambda: coverage_note(m, text)):
        with pytest.raises(dpt.InputError) as found:
            call()
        message(found)
    for call in (
        lambda: m.prepare(text),
        lambda: m.rewrites(text, 1),
        lambda: m.sweep(text, [1.0]),
        lambda: m.distribution(text, 0),
        lambda: m.guarantee(text),
        lambda: budget.distribute(m, text, 10.0),
        *([] if m.alignment is None else [lambda: m.alignment.sampled_tokens(text)]),
        lambda: dpt.calibrate(m, {"total": 10}, text=text),
    ):
        with pytest.raises(dpt.DPTextError) as found:
            call()
        message(found)


def test_texts_may_come_from_anything_that_gives_them_in_order():
    m = on(SPACE, "santext")
    expected = [r.text for r in m.rewrite(["babaq", "babeq"], seed=1)]
    for given in (("babaq", "babeq"), (w for w in ["babaq", "babeq"]), np.array(["babaq", "babeq"])):
        assert [r.text for r in m.rewrite(given, seed=1)] == expected
    assert m.rewrite([]) == []


def test_a_refused_text_is_not_quoted():
    for text in ({"secret": 1}, b"secret", ["a", {"secret"}]):
        with pytest.raises(dpt.InputError) as found:
            on(SPACE, "santext").rewrite(text)
        assert "secret" not in str(found.value)


@pytest.mark.parametrize("odd", ODD)
def test_budgets_and_calibrations(odd):
    m, value, word = on(SPACE, "santext", epsilon=1.0), ODD[odd], words(20)[0]
    calls = [
        lambda: budget.distribute(m, word, value),
        lambda: budget.distribute(m, word, 10.0, by=value),
        lambda: budget.distribute(m, word, 10.0, by="hand", shares=value),
        lambda: budget.distribute(m, word, 10.0, by="hand", shares={0: value}),
        lambda: budget.distribute(value, word, 10.0),
        lambda: dpt.calibrate(m, value, words=[word]),
        lambda: dpt.calibrate(m, {"n_w": value}, words=[word]),
        lambda: dpt.calibrate(value, {"n_w": 0.5}, words=[word]),
        lambda: dpt.equal_privacy(value, {"n_w": 0.5}, words=[word]),
        lambda: dpt.equal_privacy([m, value], {"n_w": 0.5}, words=[word]),
        lambda: dpt.equal_privacy([m], value, words=[word]),
        lambda: dpt.calibrate(m, {"n_w": 0.5}, words=value),
    ]
    if isinstance(value, str) or odd == "bool":  # a text without a known word
        calls = calls[:-1]
    for call in calls:
        with pytest.raises(dpt.DPTextError) as found:
            call()
        message(found)


@pytest.mark.parametrize("given", NO_PATH.values(), ids=NO_PATH)
def test_paths_that_nothing_can_have(given):
    for call in (
        lambda: dpt.word_space(given),
        lambda: files.read_vectors(given),
        lambda: dpt.stop_words(given),
        lambda: dpt.antonyms(given),
        lambda: dpt.word_list(f"{given}@1"),
        lambda: user_list(given, 1),
        lambda: dpt.get_mechanism("santext", space=given).rewrite("a"),
        lambda: dpt.get_mechanism("santext", stopwords=given).rewrite("a"),
        lambda: dpt.get_mechanism("dp-mlm", model=given),
        lambda: dpt.get_mechanism("diffractor", lists=(f"{given}@1",)),
    ):
        with pytest.raises(dpt.DPTextError) as found:
            call()
        message(found)


@pytest.mark.parametrize("odd", ["None", "bytes", "array", "list", "dict", "bool", "object"])
def test_names_of_spaces_and_lists(odd):
    value = ODD[odd]
    for call in (
        lambda: dpt.word_space(value),
        lambda: dpt.word_list(value),
        lambda: list_space(value),
        lambda: dpt.word_space("minilm", limit=value) if value is not None else dpt.word_space(None),
        lambda: user_list("minilm", value),
        lambda: SPACE.nearest([0], 2, metric=value),
    ):
        with pytest.raises(dpt.DPTextError) as found:
            call()
        message(found)
