"""docs/first_steps.ipynb runs, and prints what it shows."""

from __future__ import annotations

import ast
import functools
import json
import re
import sys
from pathlib import Path

import pytest
from scripts import script

import dptext_core as dpt
from dptext_core.text import lexicon

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = json.loads((ROOT / "docs" / "first_steps.ipynb").read_text(encoding="utf-8"))


def tool():
    return script("tools/run_notebook.py")


def check_format(notebook):
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5) and notebook["metadata"]["kernelspec"]["name"]
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", i) for i in ids)
    for cell in notebook["cells"]:
        assert all(isinstance(line, str) for line in cell["source"]) and "".join(cell["source"]).strip()
        expected = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            expected |= {"execution_count", "outputs"}
        assert set(cell) == expected
    counts = [cell["execution_count"] for cell in tool().code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def test_it_is_a_notebook_of_format_4():
    check_format(NOTEBOOK)


def test_links_of_the_notebook_lead_somewhere():
    text = "\n".join("".join(c["source"]) for c in NOTEBOOK["cells"] if c["cell_type"] == "markdown")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert targets and all((ROOT / "docs" / target).is_file() for target in targets)


@pytest.fixture
def same_stop_words(monkeypatch):
    """The list that every machine has, in the place of one that only some have."""
    monkeypatch.setattr(lexicon, "nltk_stop_words", lambda *_: None)


@pytest.mark.slow
def test_every_cell_runs_and_prints_what_is_kept(same_stop_words, quick_audits):
    run = tool()
    found = run.run(NOTEBOOK)
    assert len(found) > 8
    for cell, outputs in zip(run.code_cells(NOTEBOOK), found, strict=True):
        assert run.said(outputs) == run.said(cell["outputs"]), f"{cell['id']}: run python tools/run_notebook.py"
        assert outputs, cell["id"]
    (figure,) = [o["data"][run.FIGURE] for o in found[-1] if "data" in o]
    assert len(figure["data"]) >= 3


def test_what_is_drawn_is_seeded_and_what_a_seed_means_is_said():
    code = "\n".join("".join(c["source"]) for c in tool().code_cells(NOTEBOOK))
    for call in (n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)):
        if call.func.attr in ("rewrite", "sweep", "audit", "sample"):
            assert "seed" in {k.arg for k in call.keywords}, ast.unparse(call)
    assert "A seed voids the promise" in "".join(NOTEBOOK["cells"][0]["source"])


def test_the_tool_says_which_cell_prints_something_else(monkeypatch, tmp_path, capsys):
    run = tool()
    kept = tmp_path / "small.ipynb"
    cells = [
        {"cell_type": "code", "source": ["x = 2\n", "print(x)\n", "x * 3"], "outputs": []},
        {"cell_type": "markdown", "source": ["words"]},
        {"cell_type": "code", "source": ["x += 1"], "outputs": []},
    ]
    kept.write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(run, "NOTEBOOK", kept)
    monkeypatch.setattr(sys, "argv", ["run_notebook.py", "--check"])
    assert run.main() == 1 and "Cell 1 prints something else:\n2\n6" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["run_notebook.py"])
    assert run.main() == 0
    assert [run.said(c["outputs"]) for c in run.code_cells(json.loads(kept.read_text()))] == ["2\n6", ""]
    monkeypatch.setattr(sys, "argv", ["run_notebook.py", "--check"])
    assert run.main() == 0


PLAIN = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


def test_a_file_of_cells_becomes_a_notebook(tmp_path, monkeypatch):
    file, out = tmp_path / "small.py", tmp_path / "new" / "small.ipynb"
    file.write_text(
        "# %% [markdown]\n# # Small\n#\n# words\n\n# %%\nx = 2\nprint(x)\n\n# %%\n# a remark\nprint(x * 3)\n"
    )
    monkeypatch.setattr(sys, "argv", ["run_notebook.py", "--make", str(file), str(out)])
    assert tool().main() == 0
    notebook = json.loads(out.read_text(encoding="utf-8"))
    check_format(notebook)
    assert "".join(notebook["cells"][0]["source"]) == "# Small\n\nwords"
    assert [tool().said(c["outputs"]) for c in tool().code_cells(notebook)] == ["2\n", "6\n"]


@pytest.mark.slow
@pytest.mark.parametrize("file", PLAIN, ids=lambda file: file.stem)
def test_every_notebook_from_a_plain_file_runs(file, quick_audits, light, monkeypatch):
    """With few draws: what it finds is looked at in other tests."""
    monkeypatch.setattr(dpt, "audit", functools.partial(dpt.audit, draws=100))
    notebook = tool().made(file)
    check_format(notebook)
    message = "".join(tool().said(c["outputs"]) for c in tool().code_cells(notebook))
    wanted = {"equal_certainty": "surrogates", "belief_and_guarantee": "holds - No violation found"}
    wanted["score_your_own_file"] = "redaction\n"
    assert wanted[file.stem] in message
