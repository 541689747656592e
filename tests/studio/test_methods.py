"""The methods paragraph: every mechanism has one, it states the setting, and it holds nothing private."""

from __future__ import annotations

import re

import pytest

import dptext_core as dpt
from dptext_core.mechanisms import codec
from dptext_core.support.checks import public_value
from dptext_core.support.version import __version__
from dptext_studio import references
from dptext_studio.exports.methods import FRESH, POLISHED, methods, seeded

CASES = [
    (spec.name, dict(options))
    for spec in dpt.mechanisms()
    for options in ({}, dpt.mechanism_class(spec.name).variants()[-1])
]


def cited(text: str) -> list[str]:
    return re.findall(r"@([\w-]+)", text)


def entries(bibtex: str) -> list[str]:
    return re.findall(r"(?m)^@\w+\{([\w-]+),$", bibtex)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_every_mechanism_states_its_setting_and_cites_entries_that_exist(name, options):
    m = dpt.get_mechanism(name, **options)
    made = methods([(m, ())])
    assert m.title in made.text and __version__ in made.text and FRESH in made.text
    assert sorted(set(cited(made.text))) == sorted(entries(made.bibtex)) == sorted({*m.references, references.OWN})
    assert m.uses_epsilon == (f"ε = {m.config.epsilon:,g}" in made.text.split("Settings:")[0])
    for option, value in m.setting.options.items():
        field = type(m).config_cls.__dataclass_fields__[option]
        shown = public_value(field, value)
        if isinstance(shown, str | int) and not isinstance(shown, bool):
            assert codec.format_value(shown) in made.text


def test_clipping_k_and_stop_words_are_named_and_what_has_no_effect_is_not():
    clipped = methods([(dpt.get_mechanism("dp-mlm", clip_min=-3.0, clip_max=4.5, keep_stopwords=False), ())]).text
    assert "[−3, 4.5]" in clipped and "(tuned)" not in clipped
    assert "stop words replaced" in clipped and "α" not in clipped and "detector" not in clipped
    assert "(tuned)" in methods([(dpt.get_mechanism("dp-mlm"), ())]).text
    scored = methods([(dpt.get_mechanism("dp-mlm", score="similarity", alpha=0.25), ())]).text
    assert "α = 0.25" in scored
    assert "K = 7" in methods([(dpt.get_mechanism("custext", k=7), ())]).text


def test_no_word_of_a_blocklist_no_path_and_no_count_of_words_is_in_it(tmp_path):
    stops = tmp_path / "halvorsen" / "stops.txt"
    stops.parent.mkdir()
    stops.write_text("the\nof\n", encoding="utf-8")
    m = dpt.get_mechanism(
        "custext", never=("bergen", "heart"), stopwords=str(stops), surrogates=True, epsilon=(2.0, 8.0, 3.0)
    )
    made = methods([(m, ())])
    words = set(re.findall(r"\w+", (made.text + made.bibtex).lower()))
    assert "2 words" in made.text and not {"bergen", "heart", "halvorsen", "tmp"} & words
    assert "ε from 2 to 8" in made.text and "ε = 8 per" in made.text


def test_several_mechanisms_share_one_statement_of_software_and_seed():
    uses = [
        (dpt.get_mechanism("custext"), (5.0, 1.0)),
        (dpt.get_mechanism("custext", k=5), ()),
        (dpt.get_mechanism("redact"), ()),
    ]
    made = methods(uses, seeded(3), polish=True)
    assert made.text.count(__version__) == made.text.count(seeded(3)) == made.text.count(POLISHED) == 1
    assert made.text.count("\n\n") == 2 and "ε from 1 to 5" in made.text
    assert FRESH not in made.text and seeded(None) == FRESH
    assert entries(made.bibtex) == ["chen2023custext", "pilan2022tab", references.OWN]


def test_a_paper_without_an_entry_is_not_cited():
    class Renamed(dpt.mechanism_class("custext")):
        name = "renamed"
        references = ("nobody2020",)

    assert cited(methods([(Renamed.create(), ())]).text) == [references.OWN]
