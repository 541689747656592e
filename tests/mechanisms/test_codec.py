"""Options as text, for every option of every registered mechanism and for what a foreign one may bring."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core.mechanisms import codec
from dptext_core.mechanisms.config import check, epsilon_option, option, takes_epsilon_list
from dptext_core.mechanisms.option_meta import option_meta

#: None is the default of one of each kind, and no built-in mechanism has most of these.
KINDS = ("number", "integer", "flag", "choice", "text", "texts")
DEFAULTS = {"number": 1.5, "integer": 2, "flag": False, "choice": "red", "text": "a name", "texts": ("a", "b")}


#: A type of one ε, with the word in its name.
one_tuple = float


@dataclasses.dataclass(frozen=True)
class ForeignConfig:
    epsilon: float | tuple[float, ...] = epsilon_option(None, 0.1, 10.0)


def foreign(kind: str, default: Any) -> dataclasses.Field:
    choices = ("red", "none", " two words ", '"') if kind == "choice" else None
    cls = dataclasses.make_dataclass(
        "Config", [("it", Any, option(default, label="It", help="It is.", kind=kind, choices=choices))], frozen=True
    )
    return dataclasses.fields(cls)[0]


A_NAME = foreign("text", "x")
REGISTERED = [(s.name, f) for s in dpt.mechanisms() for f in dataclasses.fields(s.config_cls)]
#: Mechanisms inherit options: an option that several share is the same object, and stands here once.
SHARED = {id(f): (name, f) for name, f in reversed(REGISTERED)}
FOREIGN = [(f"foreign, {d!r}", foreign(k, d)) for k in KINDS for d in (DEFAULTS[k], None)]
FOREIGN += [("foreign", f) for f in dataclasses.fields(ForeignConfig)]
ALL = [pytest.param(f, id=f"{name}-{f.name}-{option_meta(f).kind}") for name, f in [*SHARED.values(), *FOREIGN]]

#: One of each kind that is registered, and the foreign ones.
EACH = [*{option_meta(f).kind: f for _, f in SHARED.values()}.values(), *(f for _, f in FOREIGN)]

NAMES = st.text(min_size=1, max_size=30) | st.text('",[] \tnoeNOE\\\n=é🙂', min_size=1, max_size=8)


def values(field: dataclasses.Field) -> st.SearchStrategy[Any]:
    """Everything that the option takes."""
    meta, kind = option_meta(field), option_meta(field).kind
    numbers = st.floats(meta.min, meta.max, allow_nan=False, allow_infinity=False)
    names = NAMES.filter(lambda s: taken(A_NAME, s))
    found: st.SearchStrategy[Any] = {
        "epsilon": numbers | st.lists(numbers, min_size=1, max_size=4).map(tuple),
        "number": numbers,
        "integer": st.integers(meta.min, meta.max).filter(lambda n: abs(n) < 10**300),
        "flag": st.booleans(),
        "choice": st.sampled_from(meta.choices or [""]),
        "text": names,
        "texts": st.lists(names, max_size=4).map(tuple),
        "words": st.lists(NAMES.filter(lambda s: taken(field, [s])), max_size=4).map(lambda v: check(field, v)),
    }[kind]
    return found | st.none() if field.default is None and kind != "epsilon" else found


def taken(field: dataclasses.Field, value: Any) -> bool:
    try:
        check(field, value)
    except dpt.ConfigError:
        return False
    return True


@pytest.mark.parametrize("field", EACH, ids=lambda f: f"{f.name}-{option_meta(f).kind}")
@settings(max_examples=10)
@given(data=st.data())
def test_what_is_written_is_read_back(field, data):
    value = data.draw(values(field))
    text = codec.write(field, value)
    back = codec.parse_option(field, text)
    assert back == value and type(back) is type(value)
    assert codec.write(field, back) == text


def test_every_default_is_read_back():
    for name, field in [*SHARED.values(), *FOREIGN]:
        if option_meta(field).kind == "epsilon" and field.default is None:
            with pytest.raises(dpt.ConfigError, match="epsilon"):
                codec.write(field, None)
        else:
            assert codec.parse_option(field, codec.write(field, field.default)) == field.default, (name, field.name)


@pytest.mark.parametrize("field", EACH, ids=lambda f: f"{f.name}-{option_meta(f).kind}")
@settings(max_examples=20)
@given(text=st.text(max_size=300) | st.text('0123456789.,-+eE[]"_ nofaisNO١٢\0\ud800', max_size=12))
@example("")
@example("9" * 10_000)
@example('"' + "a" * 500)
@example("[,]")
@example("-0")
@example("none")
@example("1e999")
@example("\0")
@example("x" * 5000)
def test_foreign_text_is_a_value_or_a_short_sentence(field, text):
    try:
        value = codec.parse_option(field, text)
    except dpt.ConfigError as error:
        said = str(error)
        assert said.endswith(".") and "\n" not in said and len(said) < 500
        assert len(text) < 100 or text not in said
    else:
        assert check(field, value) == value
        assert codec.parse_option(field, codec.write(field, value)) == value


@pytest.mark.parametrize(
    ("kind", "default", "value", "text"),
    [
        ("number", 1.0, 50.0, "50"),
        ("number", 1.0, 0.1, "0.1"),
        ("number", 1.0, 1 / 3, "0.3333333333333333"),
        ("number", 1.0, 1e-9, "1e-09"),
        ("number", None, None, "none"),
        ("integer", 1, 20, "20"),
        ("flag", True, False, "no"),
        ("text", None, "none", '"none"'),
        ("text", "x", "none", "none"),
        ("text", None, "C:\\Wörter\\a, b.txt", "C:\\Wörter\\a, b.txt"),
        ("text", None, ' 5" disk', '" 5"" disk"'),
        ("texts", ("a",), ("a", "b, c", "d"), 'a,"b, c",d'),
        ("texts", ("a",), (), "[]"),
        ("choice", None, None, ""),
        ("choice", None, "none", "none"),
    ],
)
def test_how_values_look(kind, default, value, text):
    field = foreign(kind, default)
    assert codec.write(field, value) == text and codec.parse_option(field, text) == value


def test_epsilon_is_one_number_or_one_for_each_token():
    (field,) = dataclasses.fields(ForeignConfig)
    for text, value in [("3", 3.0), (" 0.5 , 2 ", (0.5, 2.0)), ("[2]", (2.0,)), ("[1,2]", (1.0, 2.0))]:
        assert codec.parse_option(field, text) == value
    for text, said in [("1,", "empty entry"), ("[]", "empty list"), ("none", "not a number"), ("", "not a number")]:
        with pytest.raises(dpt.ConfigError, match=said):
            codec.parse_option(field, text)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("number", "1_0", "'1_0' is not a number"),
        ("number", "١", "is not a number"),
        ("number", "nan", "finite"),
        ("number", "1e999", "finite"),
        ("integer", "2.0", "'2.0' is not a whole number"),
        ("integer", "9" * 10_000, "far too large"),
        ("flag", "1", "yes or no"),
        ("choice", "blue", "one of red"),
        ("text", '"a', "an unclosed quote"),
        ("text", '"a",b', "continues after the quotes"),
        ("text", "", "must be a name"),
        ("text", "a\0", "not a valid name"),
        ("texts", "a,,b", "empty entry"),
        ("texts", '"a"b', "an unclosed quote"),
    ],
)
def test_what_is_wrong_is_said(kind, text, said):
    with pytest.raises(dpt.ConfigError, match=said):
        codec.parse_option(foreign(kind, DEFAULTS[kind]), text)
    with pytest.raises(dpt.ConfigError):
        codec.parse_option(foreign(kind, DEFAULTS[kind]), None)  # type: ignore[arg-type]


def test_nothing_is_none_only_where_the_default_is():
    for kind in KINDS:
        assert codec.parse_option(foreign(kind, None), " ") is None
        with pytest.raises(dpt.ConfigError):
            codec.parse_option(foreign(kind, DEFAULTS[kind]), " ")


def test_long_hostile_text_takes_no_time():
    # Each would take minutes if the time grew with the square of its length.
    field = foreign("texts", ("a",))
    for text, said in [
        ('"' * 10**5 + "x", "an unclosed quote"),
        ('"a",' * 10**4 + '"x', "an unclosed quote"),
        ("a" + " " * 10**5 + "x", "more than"),
        ("," * 10**5, "empty entry"),
    ]:
        with pytest.raises(dpt.ConfigError, match=said):
            codec.parse_option(field, text)


def test_options_in_words():
    description = codec.describe({"k": 50, "mapping": "aggressive", "keep_stopwords": False}, "custext")
    assert description == "K = 50, aggressive mapping, stop words replaced"
    assert codec.describe({"strategy": "record"}, "custext") == "one draw per distinct word"
    assert codec.describe({"strategy": "of another version"}, "custext") == "strategy of another version"
    assert codec.describe({"lists": ["minilm-1", "fasttext-2"], "gamma": None}, "diffractor") == (
        "minilm-1+fasttext-2, γ from ε"
    )
    assert codec.describe({"gamma": 0.5}, "tem") == "γ = 0.5"
    assert codec.describe({}, "custext") == ""


def test_a_mechanism_says_what_is_not_at_its_default():
    assert dpt.get_mechanism("custext", epsilon=3).setting.described() == ""
    m = dpt.get_mechanism("custext", epsilon=3, k=7, keep_stopwords=False)
    assert m.setting.described() == "stop words replaced, K = 7"


def test_options_of_somebody_elses_mechanism_are_said_too():
    options = {"a{}b": [1, 2.0], "c": None, "d": object, "e": False}
    assert codec.describe(options, "not here") == f"a{{}}b 1+2, c none, d {object}, e no"


def test_every_default_has_words():
    for name, field in REGISTERED:
        description = codec.describe({field.name: field.default}, name)
        assert description.strip() and "{" not in description, (name, field.name)
        if option_meta(field).kind == "flag":
            both = {codec.describe({field.name: value}, name) for value in (True, False)}
            meant = len(both) == 2 and not any(w.endswith((" yes", " no")) for w in both)
            assert meant, f"say what yes and no mean: {name} {field.name}"


def test_a_name_is_as_long_as_that_of_a_file_may_be():
    assert dpt.get_mechanism("santext", space="é" * 2048).config.space
    with pytest.raises(dpt.ConfigError, match="more than 4,096 bytes"):
        dpt.get_mechanism("santext", space="é" * 2048 + "a")


@pytest.mark.parametrize(("epsilon", "why"), [(-1.0, False), (0.0, False), (1e-300, True)])
def test_of_an_epsilon_that_is_too_small_the_reason_is_said(epsilon, why):
    with pytest.raises(dpt.ConfigError, match="must be above 0") as refused:
        dpt.get_mechanism("santext", epsilon=epsilon)
    assert ("noise scale is divided by" in str(refused.value)) == why


def test_a_sign_is_no_digit_of_a_number_that_is_too_long():
    longest = "1" + "0" * (codec.MOST_BITS - 1)
    with pytest.raises(dpt.ConfigError, match="far too large"):
        codec.parse_whole_number("k", longest + "0")
    assert codec.parse_whole_number("k", "-" + longest) == -(10 ** (codec.MOST_BITS - 1))


def test_a_name_that_is_written_like_an_empty_list_is_quoted():
    field = foreign("texts", ("a", "b"))
    empty = "".join(("[", "]"))
    for value in ((empty,), ("a", empty), ()):
        assert codec.parse_option(field, codec.write(field, value)) == value


def test_the_type_and_not_its_name_says_whether_a_list_of_epsilons_is_taken():
    @dataclasses.dataclass(frozen=True)
    class One:
        epsilon: one_tuple = epsilon_option(1.0, 0.1, 10.0)  # noqa: RUF009 (a float by another name)
        other: Unknown = None  # noqa: F821 (known to type checkers alone)

    @dataclasses.dataclass(frozen=True)
    class Derived(ForeignConfig):
        more: int = 1

    assert not takes_epsilon_list(One()) and takes_epsilon_list(Derived(1.0)) and takes_epsilon_list(ForeignConfig(1.0))
