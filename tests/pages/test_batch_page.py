"""The page Batch, by Streamlit's AppTest: a file, ten rows, all rows, what is kept, and what goes wrong."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from data.made_files import paragraph, word
from foreign import Swap
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.models import sentence_encoder
from dptext_studio.components.text import literal
from dptext_studio.exports.methods import FRESH
from dptext_studio.figures.glossary import definition
from dptext_studio.server import batch as core
from dptext_studio.server import job_folders, uploads
from dptext_studio.server.jobs import Work
from dptext_studio.server.public_hosting import OWN
from dptext_studio.server.session import Session

TOP = Path(__file__).resolve().parents[2]
TEXT = "My doctor sent a letter to my sister"
#: What stands within a mark of a changed word.
MARKED = r":orange-background\[((?:[^\]\\]|\\.)*)\]"
CSV = "id,text,label\n" + "".join(f"{i},{'42.' if i == 30 else f'Row {i}: {TEXT}.'},{i % 2}\n" for i in range(45))


class Gated(Swap):
    """Waits at a row until it may go on; refuses one."""

    name, title = "gated", "Gated"
    gate = threading.Event()
    slow_to_prepare = False

    def rewrite_prepared(self, prepared, stream, task):
        if "Row 40:" in prepared.text:
            while not self.gate.wait(0.02):
                task.check()
        if "Row 2:" in prepared.text:
            raise dpt.InputError("This text is refused. Write another.")
        return super().rewrite_prepared(prepared, stream, task)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(job_folders.VARIABLE, str(tmp_path / "jobs"))
    dpt.register(Gated)
    Gated.gate.set()
    yield tmp_path / "jobs"
    Gated.gate.set()
    dpt.unregister(Gated.name)


def page(name: str = "notes.csv", data: str | bytes | None = CSV, **state) -> AppTest:
    """The page, with this file taken."""
    at = AppTest.from_file(TOP / "pages" / "batch.py", default_timeout=60)
    at.session_state["app"] = True
    at.session_state["session"] = mine = state.pop("session", None) or Session()
    mine.controls.setdefault("batch_mechanism", Gated.name)
    for key, value in state.items():
        at.session_state[key] = value
    if data is not None:
        mine.upload = uploads.store_upload(name, data.encode() if isinstance(data, str) else data)
    return settle(at.run())


def settle(at: AppTest) -> AppTest:
    works: dict[str, Work] = at.session_state["session"].work
    while jobs := [w.job for w in works.values() if w.job is not None]:
        assert all(job.wait(60) for job in jobs), "the work did not end"
        at.run()
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.info, at.warning, at.error, at.success)
    text = " ".join(x.value for kind in kinds for x in kind)
    return re.sub(MARKED, r"\1", text).replace("\\", "").replace("\u2060", "")


def press(at: AppTest, key: str) -> AppTest:
    return settle(at.button(key=key).click().run())


def running(at: AppTest, key: str) -> AppTest:
    """After a click that begins something which has not ended."""
    at.button(key=key).click().run()
    assert not at.exception
    return at


def test_ten_rows_then_all_and_what_they_come_to(folder, monkeypatch):
    at = page()
    assert at.selectbox(key=next(s.key for s in at.selectbox if s.label == "Column to rewrite")).value == "text"
    assert "45 rows" in said(at) and not any(b.key == "batch_ten" for b in at.button)
    assert at.number_input[0].help == definition("ε")
    assert f"Row 0: {TEXT}." in said(at) and "This text is refused" in said(at) and "private preview" in said(at)
    settle(at.number_input[0].set_value(3.0).run())
    # Another page was shown, where Streamlit forgets the controls.
    assert page(data=None, session=at.session_state["session"]).number_input[0].value == 3.0
    keep = at.multiselect[0]
    settle(keep.set_value(["label"]).run())
    assert "Nothing protects the columns" in at.warning[0].value
    settle(at)
    assert "Each of 44 rows has its own guarantee" in at.info[0].value, "before all rows are rewritten"
    assert any(w.value.startswith("In row 31,") for w in at.warning)
    press(at, "batch_start")
    assert "no word was sampled: row 31." in at.warning[0].value
    assert "Done: 43 rows were rewritten, 1 had no sampled word and 1 had an error." in said(at)
    assert "Each of 43 rows has its own guarantee" in at.info[0].value and "1 row had an error" in said(at)
    assert [m.label for m in at.metric] == ["Words unchanged"] and "Rows with an error: 1" in [
        s.value for s in at.subheader
    ]
    left, errors = (d.value.to_dict("records") for d in at.dataframe)
    assert errors == [{"row": 3, "why": "This text is refused. Write another."}]
    assert left[1] == {"row": 2, "numbers": ["1"]}
    (standing,) = (e for e in at.expander if "Still visible" in e.label)
    assert "in 44 of 44 rows" in standing.label and "evenly" not in standing.label
    assert [s.options[1] for s in at.selectbox if s.key == "batch_row"] == ["2"]
    assert "Row 19:" in said(at) and "Row 20:" not in said(at), "a page of rows, and no more"
    at.number_input(key="batch_page").set_value(3).run()
    assert "Row 44:" in said(at) and "Row 0:" not in said(at)
    at.selectbox(key="batch_release").set_value(".txt").run()
    assert settle(page(data=None, session=at.session_state["session"])).selectbox(key="batch_release").value == ".txt"
    command, python = (c.value for c in at.code)
    assert "--keep label" in command and "--mechanism gated --epsilon 3" in command and "dpt.rewrite_records" in python
    at.session_state["batch_methods"] = True
    text, bibtex = (c.value for c in at.run().code[:2])
    assert "Gated at ε = 3 (" in text and FRESH in text and "@software" in bibtex and "doctor" not in text
    monkeypatch.setattr(sentence_encoder, "embed", lambda texts, **_: np.eye(2)[[len(t) % 2 for t in texts]])
    press(at, "batch_measure")
    assert [m.label for m in at.metric] == ["Words unchanged", "Cosine to the original", "BLEU"]
    assert not any(b.key == "batch_measure" for b in at.button)
    # Nothing of it outlives the session.
    (held,) = folder.iterdir()
    assert (held / "notes.csv").is_file()
    at.session_state["session"].upload.forget()
    assert not list(folder.iterdir())


def test_the_first_rows_follow_the_settings_where_that_is_quick_and_wait_for_a_button_elsewhere(monkeypatch):
    at = page()
    mine = at.session_state["session"]
    before = mine.at("batch_first").result
    settle(at.number_input[0].set_value(3.0).run())
    assert mine.at("batch_first").result is not before and any(b.key == "batch_start" for b in at.button)
    assert 0 < mine.upload.took.pop(Gated.name) < 60
    with monkeypatch.context() as patched:
        patched.setattr(Gated, "model_ready", False)
        settle(at.number_input[0].set_value(4.0).run())
    assert Gated.name not in mine.upload.took, "a model that is loaded once is no reason to wait for a button"
    mine.upload.took[Gated.name] = 60.0
    before = mine.at("batch_first").result
    settle(at.number_input[0].set_value(2.0).run())
    assert mine.at("batch_first").result is before and "settings have changed" in said(at)
    assert not any(b.key == "batch_start" for b in at.button)
    press(at, "batch_ten")
    assert mine.at("batch_first").result is not before and not any(b.key == "batch_ten" for b in at.button)
    monkeypatch.setattr(Gated, "slow_to_prepare", True)
    assert "Nothing is rewritten yet" in said(page())


def test_another_file_of_the_same_name_has_first_rows_of_its_own():
    at = page()
    mine = at.session_state["session"]
    at.button(key="batch_other").click().run()
    other = page(data=CSV.replace("Row 0:", "Line 0:"), session=mine)
    assert "Line 0:" in said(other) and "Row 0:" not in said(other)


@pytest.mark.slow
def test_a_job_that_is_stopped_shows_what_is_done_and_goes_on(folder):
    at = page()
    Gated.gate.clear()
    running(at, "batch_start")
    assert "Download so far" in [b.label for b in at.get("download_button")]
    at.session_state["session"].at("batch_all").job.task.cancel()
    settle(at.run())
    assert "Stopped after 32 of 45 rows" in at.warning[0].value and "Each of 30 rows" in said(at)
    Gated.gate.set()
    press(at, "batch_on")
    assert "Done: 43 rows" in said(at)
    at.button(key="batch_away").click().run()
    assert not at.exception and not list(folder.iterdir()) and any(b.key == "batch_example" for b in at.button)


@pytest.mark.slow
def test_a_kept_job_goes_on_without_its_visitor_and_comes_back_by_its_code(folder):
    at = page()
    at.toggle(key="batch_stay").set_value(True).run()
    assert "its owner can read them" in said(at) and "24 hours from now" in said(at)
    Gated.gate.clear()
    running(at, "batch_start")
    mine = at.session_state["session"]
    code, job = at.code[0].value, mine.at("batch_all").job
    # The visitor has gone: what ends with the session ends.
    mine.upload.leave()
    mine.upload.forget()
    (held,) = folder.iterdir()
    assert code not in held.name and not job.task.cancelled
    back = page(data=None)
    back.text_input(key="batch_code").set_value(f" {code} ")
    running(back, "batch_open")
    assert back.session_state["session"].at("batch_all").job is job
    Gated.gate.set()
    settle(back)
    assert "Done: 43 rows" in said(back) and back.code[0].value == code
    # Once it is done, and the server has forgotten it, the files are enough.
    again = page(data=None)
    again.text_input(key="batch_code").set_value(code)
    press(again, "batch_open")
    assert "Done: 43 rows" in said(again) and "Row 44:" not in said(again)
    again.button(key="batch_delete").click().run()
    assert not list(folder.iterdir())
    back.run()
    assert "This job has ended" in said(back)
    back.text_input(key="batch_code").set_value(code)
    press(back, "batch_open")
    assert "No job has this code" in said(back)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["its own", "a code", "time"])
def test_a_kept_upload_that_is_deleted_ends_its_job(folder, way):
    """Without a page that would stop it too: the visitor who began it has gone."""
    at = page()
    at.toggle(key="batch_stay").set_value(True).run()
    Gated.gate.clear()
    running(at, "batch_start")
    mine = at.session_state["session"]
    upload, job = mine.upload, mine.at("batch_all").job
    upload.leave()
    assert not job.wait(0.05) and not job.task.cancelled
    if way == "time":
        uploads.sweep(upload.expires + 1)
    else:
        (upload if way == "its own" else uploads.open_upload(upload.code, Work(), "Rewriting")).delete()
    assert job.wait(10) and job.task.cancelled and not list(folder.iterdir())


@pytest.mark.slow
def test_a_job_that_is_not_kept_ends_where_its_visitor_goes_back(folder):
    at = page()
    Gated.gate.clear()
    running(at, "batch_start")
    job = at.session_state["session"].at("batch_all").job
    at.button(key="batch_away").click().run()
    assert job.wait(10) and job.task.cancelled and not list(folder.iterdir())


@pytest.mark.slow
def test_delete_now_stops_what_runs_and_time_does_too(folder):
    at = page()
    at.toggle(key="batch_stay").set_value(True).run()
    Gated.gate.clear()
    running(at, "batch_start")
    job = at.session_state["session"].at("batch_all").job
    at.button(key="batch_delete").click().run()
    assert job.wait(10) and not list(folder.iterdir())
    other = page()  # the gate is at a row that ten rows do not reach
    other.toggle(key="batch_stay").set_value(True).run()
    running(other, "batch_start")
    job = other.session_state["session"].at("batch_all").job
    uploads.sweep(other.session_state["session"].upload.expires + 1)
    assert job.wait(10) and not list(folder.iterdir())


def test_hostile_cells_and_names_are_shown_as_they_are():
    hostile = "<img src=x> **b** [l](http://e.org/a) | :smile:"
    at = page("a<b>*c*.csv", f'"{hostile}","*n*"\n"{hostile}",=1+1\n"{hostile}",x\n')
    column = next(s for s in at.selectbox if s.label == "Column to rewrite")
    assert column.value == hostile
    (table,) = [m.value for m in at.markdown if m.value.startswith("| row |")]
    lines = table.split("\n")
    assert len(lines) == 4 and all("\\<img" in line and "\\*\\*b" in line and "\\|" in line for line in lines[2:])
    assert "http\\:\u2060\\/\\/" in table and "a_b_" in said(at)


def test_what_is_left_out_of_a_file_is_said_below_its_name(tmp_path):
    changed = "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"
    made = word(tmp_path / "a.docx", paragraph("My doctor.") + changed, header=paragraph("Top"))
    at = page("a.docx", made.read_bytes())
    sentences = [note.sentence() for note in at.session_state["session"].upload.look.notes]
    assert len(sentences) == 2 and {literal(s) for s in sentences} <= {c.value for c in at.caption}
    assert next(s for s in at.selectbox if s.label == "Column to rewrite").options == ["text", "paragraph"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"text,label\na,1\nb\n", "the row that ends in line 3 has 1 cell instead of 2. Correct that row"),
        pytest.param("a.csv", "text\né\n".encode("latin-1"), "not UTF-8 in line 2", marks=pytest.mark.slow),
        ("a.csv", b"", "is empty"),
        pytest.param("a.jsonl", b'{"text": "a"}\n{"te', "may be truncated", marks=pytest.mark.slow),
        pytest.param("a.parquet", b"PAR1", "not a complete Parquet file", marks=pytest.mark.slow),
    ],
)
def test_a_file_that_cannot_be_used_says_what_to_do(name, data, message):
    at = page(name, data)
    assert message in said(at) and not any(b.key == "batch_ten" for b in at.button)
    at.button(key="batch_other").click().run()
    assert not at.exception and any(b.key == "batch_example" for b in at.button)


def test_what_is_too_large_or_of_another_kind_is_refused_before_it_is_stored(folder, monkeypatch):
    monkeypatch.setattr(uploads, "limits", lambda: replace(OWN, upload=0))
    for name, message in (("a.csv", "larger than 0 MB"), ("a.exe", "none of")):
        with pytest.raises(dpt.InputError, match=message):
            uploads.store_upload(name, b"text\na\n")
    assert not folder.exists() or not list(folder.iterdir())


def test_the_example_and_a_code_that_nobody_has():
    at = page(data=None)
    press(at, "batch_open")
    assert "Enter the job code first" in at.error[0].value
    press(at, "batch_example")
    assert "example.csv" in said(at) and core.look(at.session_state["session"].upload.path).count > 10
    at.session_state["session"].upload.forget()


@pytest.mark.slow
def test_shared_draws_cannot_go_on_and_say_so(monkeypatch, folder):
    monkeypatch.setattr(Gated, "shares_draws", property(lambda self: True))
    at = page()
    press(at, "batch_start")
    run = at.session_state["session"].upload.batch.run
    lines = (run / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (run / "rows.jsonl").write_bytes(b"".join(lines[:20]))
    (run / "result.json").unlink()
    settle(at.run())
    assert "random key was deleted when the job stopped" in said(at) and not any(b.key == "batch_on" for b in at.button)
    press(at, "batch_anew")
    assert "Done: 43 rows" in said(at) and len((run / "rows.jsonl").read_bytes().splitlines()) == 45
    assert json.loads((run / "result.json").read_text())["rows"] == 45


@pytest.mark.slow
def test_the_switch_of_the_polish_is_a_part_of_the_job_and_says_what_it_did(folder):
    at = page(data=f"id,text,label\n1,{TEXT}.,0\n3,My nurse wrote a letter.,1\n")
    settle(at.toggle(key="batch_polish").set_value(True).run())
    press(at, "batch_start")
    assert "The clean-up spent no ε. Before it" in said(at) and "could restore the same words" in said(at)
    command, python = (c.value for c in at.code)
    assert "--polish" in command and "polish=True" in python
    assert at.session_state["session"].upload.batch.request.polish
