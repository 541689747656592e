"""The public form of a word, and releases in these forms."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.words.capitals import public_form
from dptext_core.words.vocabulary import read_pieces

ROOT = Path(__file__).resolve().parents[2]
NOTE = "She saw Helen in march, and the doctor was sick. He told a friend on monday."


@pytest.mark.parametrize(
    ("word", "form"),
    [("march", "March"), ("helen", "Helen"), ("english", "English"), ("usa", "USA"), ("tv", "TV"), ("may", "may")],
)
def test_a_word_has_its_most_frequent_form(word, form):
    assert public_form(word) == form


def test_words_of_other_cases_and_unknown_words_stay():
    assert [public_form(w) for w in ("reading", "will", "MARCH", "Helen", "qzk", "")] == [
        "reading",
        "will",
        "MARCH",
        "Helen",
        "qzk",
        "",
    ]


@pytest.mark.parametrize("name", ["custext", "dp-mlm"])
def test_a_release_in_public_forms_is_the_release_in_other_letters(name, tiny_model):
    """The same words, each in a form that the word and its place decide."""
    options = {"model": tiny_model} if name == "dp-mlm" else {}
    m = dpt.get_mechanism(name, recase="public", **options)
    assert m.guarantee(NOTE) == m.replace(recase="sentence").guarantee(NOTE)
    for seed in range(5):
        public, plain = m.rewrite(NOTE, seed=seed), m.replace(recase="none").rewrite(NOTE, seed=seed)
        assert public.text.casefold() == plain.text.casefold()
        for step, other in zip(public.steps, plain.steps, strict=True):
            if step.action == "replace":
                word = public_form(other.replacement)
                assert step.replacement == m.language.case(word, step.capital)


def test_the_original_has_no_influence_on_the_letters():
    m = dpt.get_mechanism("custext", recase="public", keep_stopwords=False)
    assert m.rewrite("the doctor", seed=1).text == m.rewrite("The Doctor", seed=1).text


def test_the_tool_counts_forms_inside_sentences(tmp_path):
    text = "March came. We met Helen in March, and Helen saw the usa. " * 3 + "He is in the USA now. " * 9
    text += "March. " * 50 + "we march and march and march. " * 2
    with gzip.open(tmp_path / "train.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    out = tmp_path / "out.npz"
    command = [sys.executable, "tools/build_capitals.py", "--corpus", str(tmp_path / "train.txt.gz"), "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, env={"PYTHONPATH": str(ROOT)}, capture_output=True)
    found, words = np.load(out), read_pieces()
    assert [words[i] for i in found["title"]] == ["helen"] and [words[i] for i in found["upper"]] == ["usa"]
