"""Mechanisms in Hugging Face's datasets and in spaCy. What calls us in the same shape stands in for both, but where the
document's own lines run in datasets."""

from __future__ import annotations

import csv
import importlib
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from studio.test_batch import block

import dptext_core as dpt
from dptext_core.data.libraries import BatchRewriter, DocRewriter

TOP = Path(__file__).resolve().parents[2]
TEXTS = [
    "My doctor treated my sister in the hospital of the town.",
    "A long letter came from home and brought bad news.",
    "Bad pain at night keeps the patient from any sleep.",
]
COMPONENT = "dptext_core.data.spacy_component"


def mapped(function, rows: list[dict], size: int) -> list[dict]:
    """As Dataset.map(…, batched=True): columns as lists in blocks; one that comes back takes the old one's place."""
    out = []
    for i in range(0, len(rows), size):
        batch = {name: [row[name] for row in rows[i : i + size]] for name in rows[0]}
        batch |= function(batch)
        out += [dict(zip(batch, cells, strict=True)) for cells in zip(*batch.values(), strict=True)]
    return out


def test_rows_are_mapped_each_by_itself_and_the_original_leaves():
    rows = [{"text": text, "label": i} for i, text in enumerate(TEXTS)] + [{"text": None, "label": 3}]
    found = mapped(dpt.BatchRewriter("custext", epsilon=0.1), rows, 2)
    assert [r["label"] for r in found] == [0, 1, 2, 3]
    m = dpt.get_mechanism("custext", epsilon=0.1)
    assert [r["text_epsilon"] for r in found[:3]] == [m.guarantee(t).total for t in TEXTS]
    assert math.isnan(found[3]["text_epsilon"]) and [r["text_error"] for r in found[:3]] == [""] * 3
    assert all(r["text"] and r["text"] != text for r, text in zip(found, TEXTS, strict=False))
    assert found[3]["text"] is None and "no text in the column 'text'" in found[3]["text_error"]
    again = mapped(dpt.BatchRewriter("custext", epsilon=0.1), rows[:3], 3)
    assert [r["text"] for r in again] != [r["text"] for r in mapped(BatchRewriter("custext", epsilon=0.1), rows[:3], 3)]


def test_another_process_gets_the_same_settings_by_a_small_pickle():
    function, component = BatchRewriter("custext", "note", epsilon=3), DocRewriter("custext", {"epsilon": 3})
    function({"note": TEXTS})
    component(doc(TEXTS[0]))
    for made in (function, component):
        kept = pickle.dumps(made)
        assert len(kept) < 500, "neither vectors nor texts go with it"
        assert pickle.loads(kept).mechanism.setting == made.mechanism.setting
    assert pickle.loads(pickle.dumps(function)).column == "note"


def test_where_nothing_is_promised_no_number_says_so():
    assert np.isnan(BatchRewriter("gumbel")({"text": TEXTS})["text_epsilon"]).tolist() == [True] * 3


@pytest.mark.parametrize("texts", [[*TEXTS, None], [None, *TEXTS], [None] * 4, TEXTS])
@pytest.mark.parametrize("mechanism", ["custext", "gumbel"])
def test_every_block_has_columns_of_the_same_types(texts, mechanism):
    """A table takes its types from the first block: one with nothing in a column would allow nothing in it."""
    pyarrow = pytest.importorskip("pyarrow")
    function = BatchRewriter(mechanism)
    for text in texts:
        found = pyarrow.table(function({"text": [text]})).schema
        assert (found.field("text_epsilon").type, found.field("text_error").type) == (
            pyarrow.float64(),
            pyarrow.string(),
        )


@pytest.mark.parametrize("made", [BatchRewriter, lambda name, **o: DocRewriter(name, o)])
def test_what_is_wrong_is_said_before_a_row_is_read(made):
    with pytest.raises(dpt.ConfigError, match="Unknown mechanism"):
        made("none")
    with pytest.raises(dpt.ConfigError, match="rewrite_records"):
        made("custext", strategy="dataset")


def test_a_column_that_would_be_lost_is_said():
    rewriter = dpt.BatchRewriter("custext", epsilon=3)
    with pytest.raises(dpt.InputError, match="column 'text_error' already"):
        rewriter({"text": ["My doctor."], "text_error": [""]})


def test_a_wrong_column_and_a_single_row_are_said():
    function = BatchRewriter("custext")
    with pytest.raises(dpt.InputError, match="no column 'text'"):
        function({"note": TEXTS})
    with pytest.raises(dpt.InputError, match="batched=True"):
        function({"text": TEXTS[0]})


@pytest.fixture
def spacy(monkeypatch):
    """What the component asks of spaCy: a place for factories, and attributes of documents."""
    factories: dict[str, tuple] = {}
    pipeline: list = []
    extensions: set[str] = set()

    def factory(name, *, default_config):
        def keep(function):
            factories[name] = function, default_config
            return function

        return keep

    language, tokens = ModuleType("spacy.language"), ModuleType("spacy.tokens")
    language.Language = SimpleNamespace(factory=factory)
    tokens.Doc = SimpleNamespace(set_extension=lambda name, default, force: extensions.add(name))

    def blank(code):
        def text_to_doc(text):
            return pipeline[-1](doc(text))

        text_to_doc.add_pipe = lambda name, config: pipeline.append(factories[name][0](None, name, **config))
        return text_to_doc

    library = ModuleType("spacy")
    library.blank = blank
    for name, module in (("spacy", library), ("spacy.language", language), ("spacy.tokens", tokens)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, COMPONENT, raising=False)
    yield SimpleNamespace(factories=factories, extensions=extensions)
    sys.modules.pop(COMPONENT, None)


def doc(text: str) -> SimpleNamespace:
    return SimpleNamespace(text=text, _=SimpleNamespace())


def test_a_pipeline_makes_the_component_and_its_documents_say_what_was_made_of_them(spacy):
    importlib.import_module(COMPONENT)
    make, defaults = spacy.factories["dp_rewriter"]
    assert spacy.extensions == set(DocRewriter.ATTRIBUTES) and set(defaults) == {"mechanism", "options"}
    component = make(None, "dp_rewriter", "custext", {"epsilon": 0.1})
    docs = [doc(text) for text in TEXTS]
    assert list(component.pipe(iter(docs), batch_size=2)) == docs and component(docs[0]) is docs[0]
    for one in docs:
        assert vars(one._).keys() == set(DocRewriter.ATTRIBUTES) and one._.dp_text != one.text
        assert one._.dp_epsilon == dpt.get_mechanism("custext", epsilon=0.1).guarantee(one.text).total
        assert "ε" in one._.dp_promise


def test_a_text_that_is_refused_says_why_and_the_others_are_rewritten(spacy):
    docs = [doc("My doctor left."), doc("word " * 250_000), doc("My sister left.")]
    assert list(DocRewriter("custext", {"epsilon": 0.1}).pipe(docs)) == docs
    assert [one._.dp_error is None for one in docs] == [True, False, True] and "1,000,000" in docs[1]._.dp_error
    assert [one._.dp_text is None for one in docs] == [False, True, False]
    assert docs[1]._.dp_promise is None and docs[1]._.dp_epsilon is None


def test_without_spacy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    monkeypatch.delitem(sys.modules, COMPONENT, raising=False)
    with pytest.raises(dpt.ModelUnavailable, match=r'pip install "dptext-studio\[names\]"'):
        importlib.import_module(COMPONENT)


def test_the_python_of_the_document_runs_in_spacy(spacy, capsys):
    exec(compile(block("spacy"), "spacy", "exec"), {})
    assert capsys.readouterr().out.startswith("My ") and "dp_rewriter" in spacy.factories


@pytest.mark.slow
def test_the_python_of_the_document_runs_in_datasets_which_takes_blocks_with_errors_first_and_last(tmp_path):
    code = f"""
import datasets, dptext_core as dpt
features = datasets.Features({{"text": datasets.Value("string")}})
for texts in {[[*TEXTS, None], [None, None, *TEXTS], [None] * 3]!r}:
    rows = datasets.Dataset.from_dict({{"text": texts}}, features=features)
    rows = rows.map(dpt.BatchRewriter("custext", epsilon=3), batched=True, batch_size=2)
    assert [r["text"] is None for r in rows] == [t is None for t in texts]
    assert [bool(r["text_error"]) for r in rows] == [t is None for t in texts]
    assert {{name: f.dtype for name, f in rows.features.items()}} == {{
        "text": "string", "text_epsilon": "float64", "text_error": "string"
    }}, rows.features
"""
    with (tmp_path / "messages.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, i) for i, text in enumerate(TEXTS)), ("", 3)])
    # Its cache, which it looks up when it is loaded, and no look for news elsewhere.
    env = os.environ | {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(TOP)}
    done = subprocess.run(
        # With sets of words that need no second to make.
        [sys.executable, "-c", (block("datasets") + code).replace("custext", "santext")],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    with (tmp_path / "rewritten.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["0", "1", "2", "3"]
    assert all(row["text"] and row["text"] != text for row, text in zip(rows, TEXTS, strict=False))
    assert rows[0].keys() == {"text", "label", "text_epsilon", "text_error"}
    assert not rows[3]["text"] and "no text in the column 'text'" in rows[3]["text_error"]
