"""A text that the vocabulary hardly covers is not rewritten without a word about it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tiny import tiny_roberta

import dptext_core as dpt
from dptext_core import cli
from dptext_core.measure.coverage import COPIED, EMPTY, coverage_note

ENGLISH = "My doctor in Lisbon treated my sister for diabetes. I paid 300 euros, x and y."
FOREIGN = {
    "Chinese": "今天天气很好，我的医生在上海。",
    "Russian": "Мой врач в Москве вылечил мою сестру от диабета.",
    "Arabic": "عالجت طبيبتي أختي من مرض السكري",
    "Korean": "나는 의사입니다",
}
MECHANISMS = [spec.name for spec in dpt.mechanisms()]


@pytest.mark.parametrize("name", MECHANISMS)
def test_text_of_another_script_is_said_and_english_is_not(name):
    m = dpt.get_mechanism(name)
    # This text is longer than what the bundled model of DP-BART reads by default, which is another note.
    assert coverage_note(m, ENGLISH) == (m.reading.note(ENGLISH) if name == "dp-bart" else "")
    # An empty text spends nothing where words are replaced, and as any other where a text is written.
    assert coverage_note(m, "") == coverage_note(m, " \n") == (EMPTY if m.guarantee("").draws else "")
    assert bool(m.guarantee("").draws) == (m.alignment is None)
    assert coverage_note(m, "... 12 !") == ""
    for text in FOREIGN.values():
        note = coverage_note(m, text)
        known, words = m.reading.coverage(text)
        assert 0 <= known < words / 2
        assert "bundled vocabularies and models are english" in note.lower()
        assert f"words outside the vocabulary ({words - known} of {words})" in note


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("text", ["🙂🎉", "?! …", "🙂 -- ;"])
def test_a_text_of_signs_alone_says_that_nothing_is_replaced_where_words_are(name, text):
    m = dpt.get_mechanism(name)
    g = m.guarantee(text)
    copied = g.notion != "none" and not g.draws
    assert (coverage_note(m, text) == COPIED) == copied
    assert not copied or m.rewrite(text, seed=1).text == text


GERMAN = "Frau Meier hat seit gestern starke Schmerzen in der Brust und nimmt ihre Tabletten nicht mehr."


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_text_in_the_same_letters_and_another_language_is_said_too(name):
    m = dpt.get_mechanism(name)
    note = coverage_note(m, GERMAN)
    assert "models are english" in note.lower() and re.search(r"of 16( words of this text are|\))", note)
    if name == "dp-mlm":  # others say so of their own vocabulary
        assert coverage_note(m, "Mrs Halvorsen Okafor") == "", "some names are no language"


def test_a_model_of_ones_own_may_know_other_languages(tmp_path):
    model = str(tiny_roberta(tmp_path / "model"))
    assert "English" not in coverage_note(dpt.get_mechanism("dp-mlm", model=model, clip_min=0, clip_max=9), GERMAN)


def test_the_words_are_counted():
    m = dpt.get_mechanism("santext")
    # The stop word "my" counts as known, numbers as no words.
    assert m.reading.coverage("my doctor Kowalczykowa 12") == (2, 3)
    assert coverage_note(m, "my doctor Kowalczykowa 12") == ""
    assert coverage_note(m, "Kowalczykowa").startswith("This text has words outside the vocabulary (1 of 1)")


@pytest.mark.parametrize("oov", ["random", "keep", "drop", "mask"])
def test_what_happens_to_the_words_is_what_happens(oov):
    m = dpt.get_mechanism("santext", oov=oov)
    text = "Мой врач"
    note = coverage_note(m, text)
    assert note == coverage_note(m, m.prepare(text))
    told = {"random": "a random word", "keep": "are unchanged", "drop": "are deleted", "mask": "[MASK]"}
    assert [k for k, v in told.items() if v in note] == [oov]


def test_a_byte_level_tokenizer_is_read_without_its_model(tmp_path):
    folder = tiny_roberta(tmp_path / "roberta")
    (folder / "model.safetensors").write_bytes(b"")  # any look at the weights would fail
    m = dpt.get_mechanism("dp-mlm", model=str(folder))
    assert coverage_note(m, "The doctor told my friend that the pain was bad.") == ""
    assert "(7 of 7)" in coverage_note(m, "Мой врач в Москве вылечил мою сестру")


def test_the_bundled_model_is_counted_without_torch():
    code = (
        "import sys, dptext_core as dpt\nfrom dptext_core.measure.coverage import coverage_note\n"
        "print(bool(coverage_note(dpt.get_mechanism('dp-mlm'), 'Мой врач')), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_the_command_line_says_it_to_the_author_alone(capsys):
    assert cli.main(["rewrite", "--mechanism", "santext", FOREIGN["Russian"]]) == 0
    seen = capsys.readouterr()
    assert "bundled vocabularies and models are english" in seen.err.lower()
    assert "bundled vocabularies" not in seen.out
    assert cli.main(["rewrite", "--mechanism", "santext", "--quiet", FOREIGN["Russian"]]) == 0
    assert capsys.readouterr().err == ""


def test_characters_that_nobody_sees_are_counted_for_the_author():
    m = dpt.get_mechanism("custext")
    hidden = "My\u200b doctor\U000e0041 left\ufe0f."
    assert coverage_note(m, hidden) == coverage_note(m, m.prepare(hidden)) == "3 invisible characters removed."
    assert coverage_note(m, "My doctor left.") == coverage_note(m, "My Ⓓⓞⓒⓣⓞⓡ left. \n") == ""
    assert coverage_note(dpt.get_mechanism("dp-sentence"), "\u200b") == f"1 invisible character removed. {EMPTY}"
