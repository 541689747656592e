"""spaCy itself, with pipelines made here from rules: names and places, and the component of a pipeline."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core.text import names

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ["My doctor left.", "My sister left.", "word " * 250_000, "My brother left."]
spacy = importlib.import_module("spacy")


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    """The folder of a pipeline with three rules, which DPTEXT_NAMES names."""
    nlp = spacy.blank("en")
    labels = {"Tomasz": "PERSON", "Porto": "GPE", "noon": "TIME"}
    nlp.add_pipe("entity_ruler").add_patterns([{"label": v, "pattern": k} for k, v in labels.items()])
    nlp.meta["name"] = "mine"
    nlp.to_disk(tmp_path / "mine")
    monkeypatch.setenv(names.VARIABLE, str(tmp_path / "mine"))
    names._load_pipeline.cache_clear()
    yield tmp_path / "mine"
    names._load_pipeline.cache_clear()


def test_a_pipeline_from_a_folder_finds_names_and_places(pipeline):
    finder = names.finder()
    assert finder.title == "en_mine"
    assert list(finder("Tomasz saw Porto at noon.")) == [("name", 0, 6), ("place", 11, 16)]
    with pytest.raises(dpt.InputError, match="1,000,000"):
        list(finder("w" * 1_000_001))


def test_no_word_of_a_text_stays_in_the_pipeline(pipeline):
    finder = names.finder()
    before = len(finder._nlp.vocab.strings)
    list(finder("Tomasz saw Qzkvanna and Qzkvbert."))
    assert "Qzkvanna" not in finder._nlp.vocab.strings and len(finder._nlp.vocab.strings) == before


@pytest.mark.parametrize("broken", ["none", "empty", "config.cfg", "meta.json"])
def test_a_pipeline_that_cannot_be_read_says_what_to_do(pipeline, broken):
    named = pipeline
    if broken in ("none", "empty"):
        named = pipeline.parent / broken
        if broken == "empty":
            named.mkdir()
    else:
        (pipeline / broken).write_text("\x00 no [such = file")
    with pytest.raises(dpt.ModelUnavailable, match="Nothing is downloaded"):
        names.Finder(str(named))


@pytest.mark.parametrize("processes", [1, 2])
def test_the_component_rewrites_the_documents_of_a_pipeline_read_from_a_disk(tmp_path, processes):
    importlib.import_module("dptext_core.data.spacy_component")
    nlp = spacy.blank("en")
    nlp.max_length = 2_000_000
    nlp.add_pipe("dp_rewriter", config={"mechanism": "custext", "options": {"epsilon": 3}})
    nlp.to_disk(tmp_path / "pipe")
    docs = list(spacy.load(tmp_path / "pipe", config={}).pipe(TEXTS[:2], n_process=processes, batch_size=1))
    assert [doc.text for doc in docs] == TEXTS[:2] and all(doc._.dp_text.startswith("My ") for doc in docs)
    docs = list(nlp.pipe(TEXTS, batch_size=2))
    assert [doc._.dp_error is None for doc in docs] == [True, True, False, True]
    assert docs[0]._.dp_epsilon == dpt.get_mechanism("custext", epsilon=3).guarantee(TEXTS[0]).total


def test_the_python_of_the_document_runs(capsys):
    match = re.search(r"<!-- runs: spacy -->\n```python\n(.*?)```", (ROOT / "docs" / "batch.md").read_text(), re.DOTALL)
    exec(compile(match[1], "spacy", "exec"), {})
    assert capsys.readouterr().out.startswith("My ")
