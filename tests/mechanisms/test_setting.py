"""A mechanism with its options as one value: what it is written as is read back as the same, for every option."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mechanisms.test_codec import values

import dptext_core as dpt
from dptext_core import cli
from dptext_core.cli import arguments
from dptext_core.mechanisms.registry import fields_of

RESULTS = Path(__file__).parents[2] / "assets/benchmarks/results.json"
NAMES = [spec.name for spec in dpt.mechanisms()]


@st.composite
def some(draw: st.DrawFn, name: str) -> dpt.Setting:
    """Some of a mechanism's options at anything that they take, and an ε, several or none."""
    fields = fields_of(name)
    epsilon = draw(st.none() | values(fields.pop("epsilon")))
    chosen = draw(st.lists(st.sampled_from(list(fields)), unique=True))
    return dpt.Setting(name, {option: draw(values(fields[option])) for option in chosen}, epsilon)


def made(make) -> object:
    """The config of a mechanism, or why there is none."""
    try:
        return make().config
    except dpt.DPTextError as error:
        return str(error)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3)
@given(data=st.data())
def test_what_it_is_written_as_is_read_back(name, data):
    setting = data.draw(some(name))
    if not dpt.mechanism_class(name).uses_epsilon:
        setting = setting.at(None)  # a command refuses an ε without effect
    assert dpt.Setting.from_query(setting.to_query()) == setting
    assert dpt.Setting.from_dict(json.loads(json.dumps(setting.to_dict()))) == setting
    assert setting.key() == setting.at(None).key() == dpt.Setting.from_dict(setting.to_dict()).key()
    argv = ["rewrite", "--mechanism", name, *setting.flags(), "a text"]
    parsed = cli.build_parser(argv).parse_args(argv)
    assert made(lambda: arguments.mechanism_of(parsed)) == made(setting.make)


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_gives_what_makes_it_again_and_names_no_default(name):
    cls = dpt.mechanism_class(name)
    assert cls.create().setting == dpt.Setting(name, {}, cls.epsilon_range({})[2])
    for options in cls.variants():
        m = cls.create(**options)
        assert m.setting.make().config == m.config
        for option in m.setting.options:
            less = {k: v for k, v in m.setting.options.items() if k != option}
            assert made(dpt.Setting(name, less, m.config.epsilon).make) != m.config


@given(option=st.text(max_size=30), text=st.text(max_size=200) | st.sampled_from(["[", "none", "9" * 9999, "1e999"]))
@example("mechanism", "tem")
@example("k", "\0")
def test_unknown_and_wrong_ones_are_told_in_a_sentence(option, text):
    for query in (
        {"mechanism": "custext", option: text},
        {"mechanism": "custext", "k": text},
        {"mechanism": text, "k": "5"},
    ):
        try:
            found = dpt.Setting.from_query(query)
        except dpt.ConfigError as error:
            assert str(error).endswith(".") and "\n" not in str(error) and len(str(error)) < 900
        else:
            assert dpt.Setting.from_query(found.to_query()) == found


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "is an object"),
        ({"options": {}}, "is an object"),
        ({"mechanism": "tem", "seed": 1}, "is an object"),
        ({"mechanism": 1}, "must be a name"),
        ({"mechanism": "tem", "options": []}, "must be an object"),
        ({"mechanism": "tem", "epsilon": "1"}, "epsilon must be a"),
        ({"mechanism": "tem", "epsilon": [1.0, True]}, "epsilon must be a"),
    ],
)
def test_an_object_that_is_none_is_refused(found, said):
    with pytest.raises(dpt.ConfigError, match=said):
        dpt.Setting.from_dict(found)


def test_what_no_mechanism_takes_is_held_and_refused_when_it_is_made():
    theirs = dpt.Setting("not here", {"best_of": [1, 2]}, 3.0)
    assert theirs.label() == "not here (best_of 1+2)" and dpt.Setting.from_dict(theirs.to_dict()) == theirs
    for use in (theirs.make, theirs.to_query, theirs.flags, theirs.full):
        with pytest.raises(dpt.ConfigError, match="Unknown mechanism"):
            use()
    for wrong in (dpt.Setting("tem", {"nothing": 1}), dpt.Setting("tem", {"beta": "x"}), dpt.Setting("tem", {}, -1.0)):
        with pytest.raises(dpt.ConfigError, match=r"\.$"):
            wrong.make()
    with pytest.raises(dpt.ConfigError, match="no option 'nothing'"):
        dpt.Setting("tem", {"nothing": 1}).to_query()
    with pytest.raises(dpt.ConfigError, match="needs a mechanism"):
        dpt.Setting.from_query({"k": "5"})


def test_it_is_a_value():
    lists = ["minilm-1", "fasttext-1"]
    setting = dpt.Setting("diffractor", {"lists": lists, "noise": "tem"}, [1.0, 2.0])  # type: ignore[arg-type]
    same = dpt.Setting("diffractor", {"noise": "tem", "lists": tuple(lists)}, (1.0, 2.0))
    lists.append("word2vec-1")
    assert setting == same and hash(setting) == hash(same) and len({setting, same, setting.at(1.0)}) == 2
    assert setting == pickle.loads(pickle.dumps(setting)) == copy.deepcopy(setting)
    assert setting.options == {"lists": ("minilm-1", "fasttext-1"), "noise": "tem"}
    assert setting.full()["lists"] == ("minilm-1", "fasttext-1") and setting.full()["gamma"] is None
    with pytest.raises(TypeError):
        setting.options["noise"] = "geometric"  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setting.mechanism = "tem"  # type: ignore[misc]


def test_a_setting_is_read_from_one_word_of_a_command():
    read = dpt.Setting.from_text
    assert read("mvc") == dpt.Setting("mvc")
    found = read("custext:k=5: mapping =conservative:keep-stopwords=no")
    assert found == dpt.Setting("custext", {"k": 5, "mapping": "conservative", "keep_stopwords": False})
    for text, part in (("custext:k", "k"), ("custext:epsilon=3", "epsilon=3"), ("custext:k=5:zzz=1", "zzz=1")):
        with pytest.raises(dpt.ConfigError, match=f"^'{part}' is not an option of custext. Write NAME:OPTION=VALUE"):
            read(text)


def test_flags_say_where_files_lie_unless_they_are_for_others(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("the\n")
    setting = dpt.Setting("custext", {"stopwords": str(path)})
    assert str(path) in setting.flags() and str(path) not in " ".join(setting.flags(places=False))


@pytest.mark.parametrize(
    ("mechanism", "preset", "options"),
    [
        ("custext", "paper", {"oov": "keep", "keep_stopwords": False}),
        ("mvc", "paper", {"oov": "keep", "keep_stopwords": False}),
        ("santext-plus", "paper", {"oov": "keep", "keep_stopwords": False}),
        ("diffractor", "paper", {"oov": "keep"}),
        ("custext", "benchmark", {"k": 50, "strategy": "record", "keep_stopwords": False}),
        ("santext", "benchmark", {"keep_stopwords": False}),
        ("mvc", "benchmark", {}),
        ("dp-mlm", "paper", {"clip": "paper"}),
        ("dp-mlm", "benchmark", {}),
        ("dp-mlm-plus", "benchmark", {"clip": "paper"}),
        ("santext-plus", "benchmark", {"oov": "keep", "keep_stopwords": False}),
        ("dp-sentence", "paper", {}),
    ],
)
def test_a_preset_names_the_options_of_the_paper_or_of_the_benchmarks(mechanism, preset, options):
    found = dpt.Setting.of(mechanism, preset=preset, epsilon=3.0)
    assert found == dpt.Setting(mechanism, options, 3.0) and found.make().config.epsilon == 3.0


def test_the_preset_of_the_benchmarks_has_bundled_rows():
    """Of every mechanism with rows. If some rows have the default for unknown words, the preset has it too."""
    rows: dict[str, list[dpt.Setting]] = {}
    for row in json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]:
        if row["mechanism"] != "baseline":
            rows.setdefault(row["mechanism"], []).append(dpt.Setting(row["mechanism"], row["options"]))
    assert len(rows) >= 20
    for name, ran in rows.items():
        preset = dpt.Setting.of(name, preset="benchmark").full()
        there = [s.full() for s in ran]
        assert preset in there, name
        default = dpt.Setting(name).full().get("oov")
        assert preset.get("oov") == default or default not in [s.get("oov") for s in there], name


def test_given_options_win_over_a_preset_and_another_one_is_refused():
    assert dict(dpt.Setting.of("custext", preset="benchmark", k=5).options) == {
        "k": 5,
        "strategy": "record",
        "keep_stopwords": False,
    }
    with pytest.raises(dpt.ConfigError, match="Unknown preset 'mine'"):
        dpt.Setting.of("custext", preset="mine")
