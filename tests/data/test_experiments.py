"""DP-Rewrite's modes over data sets: files of all kinds, runs that are killed and go on, and what they come to."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import errno
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import disk
import numpy as np
import pytest
from foreign import Latent, Swap, SwapConfig
from hypothesis import given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core import cli
from dptext_core.data import components, parquet_rows, tables
from dptext_core.data.folder import RunFolder
from dptext_core.data.records import UnreadableRow
from dptext_core.data.rewriting import rewrite_data
from dptext_core.mechanisms.config import option
from dptext_core.models import sentence_encoder
from dptext_core.support import plugins
from dptext_core.text import document
from dptext_lab.measurements import case_study, case_study_demo
from dptext_lab.measurements.downstream import Embeddings, downstream, rows_of_seed
from dptext_lab.measurements.run_comparison import compare
from dptext_lab.results import case_study as case_study_rows
from dptext_lab.runner import tasks

ROOT = Path(__file__).resolve().parents[2]
TEXT = "My doctor sent a letter to my sister"


@pytest.fixture(autouse=True)
def light(monkeypatch):
    """Bags of words in place of the sentence encoder; no plugin, and none afterwards."""

    def bag(texts, **_):
        out = np.zeros((len(texts), 64), np.float32)
        for row, text in zip(out, texts, strict=True):
            for word in text.lower().split():
                row[sum(map(ord, word)) % 64] += 1
            row /= np.linalg.norm(row) or 1
        return out

    monkeypatch.setattr(sentence_encoder, "embed", bag)
    before = plugins.registered_names()
    monkeypatch.setattr(plugins, "_state", plugins._State())
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    yield
    plugins.restore(before)


@pytest.fixture
def swap():
    dpt.register(Swap)
    return Swap.create(epsilon=2.0)


@pytest.fixture
def run(capsys):
    def call(*argv: object):
        try:
            status = cli.main([str(a) for a in argv])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def numbered(folder: Path, n: int) -> Path:
    return write(folder / "data.csv", "label,text\n" + "".join(f"{i % 2},Row {i}: {TEXT}\n" for i in range(n)))


def rewrite_file(given: str | Path, m: dpt.Mechanism, out: str | Path, **options: Any) -> dict[str, Any]:
    """The run over a file or a named data set."""
    columns = (options.get("column", "text"), *options.get("keep", ()))
    return rewrite_data(tables.source(given, columns, each=True), m, out, **options)


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


# --- reading data


@pytest.mark.parametrize(
    ("name", "content", "columns", "header"),
    [
        ("a.csv", 'label,text\r\n0,"one, ""1""\nmore"\r\n\r\n1,two\r\n', ("text", "label"), None),
        ("a.csv", '0,"one, ""1""\nmore"\n1,two', ("2", "1"), None),
        ("a.csv", '\ufefflabel,text\n0,"one, ""1""\nmore"\n1,two', ("2", "1"), True),
        ("a.tsv", 'text\tlabel\none, "1\t0\ntwo\t1\n', ("text", "label"), None),
        ("a.csv", '\ufefftext;label\none, 1;0\n"two";1\n', ("text", "label"), None),
        ("a.jsonl", '{"text": "one", "label": 0, "x": 5}\n\n{"label": 1, "text": "two"}\n', ("text", "label"), None),
    ],
)
def test_files_of_every_kind_are_read_by_name_and_by_number(tmp_path, name, content, columns, header):
    data = tables.source(write(tmp_path / name, content), columns, header)
    first, second = data.rows()
    assert first[columns[0]].startswith("one") and second[columns[0]] == "two" and int(second[columns[1]]) == 1
    assert (data.name, data.count, len(data.sha256)) == (name, 2, 64) and list(data.rows()) == [first, second]


SECRET = "qzkvoltar"
BROKEN = {
    "nothing.csv": (b"", "has no rows"),
    "heading.csv": (b"text,label\n", "has no rows"),
    "picture.csv": (b"\x89PNG\r\n\x00\x1a" + SECRET.encode(), "binary"),
    "latin.csv": (b"text\n" + SECRET.encode() + b" \xe9\n", "not UTF-8 in line 2"),
    "column.csv": (f"{SECRET},label\n{SECRET},1\n".encode(), "no column named 'text'"),
    "ragged.csv": (f"text,label\na,1\n{SECRET}\n".encode(), "the row that ends in line 3 has 1 cell instead of 2"),
    "twice.csv": (b"text,text\na,b\n", "2 columns named 'text'"),
    "quote.csv": (f'text\n"{SECRET}\n'.encode(), "cannot be read as a table"),
    "return.csv": (f"text,label\na,1\n{SECRET}\rb,2\n".encode(), "line 3, contains a carriage return outside"),
    "text.odt": (b"text\na\n", "one of .csv, .tsv, .jsonl"),
    "wide.csv": (f"text\n{SECRET}\n".encode("utf-16"), "is in UTF-16. Save it as UTF-8"),
    "cut.csv": (f'text,label\na,1\n"{SECRET}'.encode(), "never closed: close it, or save the file again"),
    "opened.csv": (f'text,label\na,1\nb,2\n"{SECRET},3\nc,4\nd,5\n'.encode(), "line 4, cannot be read as a table"),
    "blank.txt": (b"\n  \n", "has no rows"),
    "latin.txt": (SECRET.encode() + b" \xe9\n", "not UTF-8 in line 1"),
    "cut.jsonl": (f'{{"text": "a"}}\n{{"text": "{SECRET}'.encode(), "the file may be truncated"),
    "text.parquet": (f"PAR1 {SECRET}".encode(), "not a complete Parquet file"),
    "text.docx": (f"PK {SECRET}".encode(), "not a complete DOCX file"),
    "text.pdf": (f"%PDF-1.7 {SECRET}".encode(), "cannot be read as a PDF"),
    "twice.jsonl": (
        f'{{"text": "a"}}\n{{"text": "{SECRET}", "text": "b"}}\n'.encode(),
        "line 2, has two values with the same name",
    ),
    "half.jsonl": (f'{{"text": "a"}}\n{{"text": "{SECRET}\n'.encode(), "line 2, is not valid JSON"),
    "list.jsonl": (b'["a"]\n', "not a JSON object"),
    "deep.jsonl": (f'{{"text": "{SECRET}", "b": {"[" * 100}{"]" * 100}}}\n'.encode(), "more than 100 nested lists"),
    "other.jsonl": (f'{{"{SECRET}": "a"}}\n'.encode(), "no column 'text'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_used_says_why_and_quotes_nothing(tmp_path, swap, run, name):
    content, reason = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out"
    status, said, error = run("rewrite-data", "--data", tmp_path / name, "--mechanism", swap.name, "--out", out)
    assert (status, said) == (2, "") and reason in error and error.count("\n") == 1 and SECRET not in error
    assert not out.exists()


ZERO = {
    "a.csv": f'text,label\none,1\n"{SECRET}\0 two",2\nthree,3\nfour,4\nfive,5\n',
    "a.tsv": f"text\tlabel\none\t1\n{SECRET}\0 two\t2\nthree\t3\nfour\t4\nfive\t5\n",
    "short.csv": f"text,label\none,1\n{SECRET}\0\nthree,3\nfour,4\nfive,5\n",
    "a.txt": f"zero\none\n{SECRET}\0 two\nthree\nfour\nfive\n",
    "a.jsonl": "".join(f'{{"text": "{t}", "label": 1}}\n' for t in ("zero", "one", f"{SECRET}\0", "three", "four")),
}


@pytest.mark.parametrize("name", ZERO)
def test_a_zero_byte_is_named_with_its_line_and_costs_its_row_alone(tmp_path, swap, run, name):
    path = write(tmp_path / name, ZERO[name])
    columns = ("text",) if name.endswith("txt") else ("text", "label")
    assert tables.heading(path) == columns
    data = tables.source(path, columns, each=True)
    rows = list(data.rows())
    (broken,) = [row for row in rows if isinstance(row, UnreadableRow)]
    assert (data.unread, len(rows)) == (1, data.count) and dict(broken) == dict.fromkeys(columns)
    assert "line 3, contains a zero byte" in broken.why and SECRET not in broken.why
    with pytest.raises(dpt.InputError, match="line 3, contains a zero byte"):
        list(tables.source(path, columns).rows())
    assert run("rewrite-data", "--data", path, "--mechanism", swap.name, "--out", tmp_path / "out")[0] == 0
    assert [line["dp"]["error"] for line in lines(tmp_path / "out") if line["dp"]["error"]] == [broken.why]


def test_a_zero_byte_in_the_names_of_columns_is_named_too(tmp_path):
    path = write(tmp_path / "a.csv", f"text,{SECRET}\0\none,1\n")
    with pytest.raises(dpt.InputError, match="line 1, contains a zero byte") as error:
        tables.heading(path)
    assert SECRET not in str(error.value)
    for content in ("\0" * 4000, "te\0xt" * 900 + "\n"):
        with pytest.raises(dpt.InputError, match="binary"):
            tables.heading(write(tmp_path / "b.csv", content))


def test_a_name_that_two_columns_have_is_told_apart_by_what_the_message_says(tmp_path, swap, run):
    data = write(tmp_path / "a.csv", "text,text\nthe doctor,the nurse\n")
    argv = ("rewrite-data", "--data", data, "--mechanism", swap.name, "--out", tmp_path / "out")
    status, _, error = run(*argv)
    assert status == 2 and "from 1, with --header" in error and not (tmp_path / "out").exists()
    assert run(*argv, "--text-column", 1, "--header")[0] == 0
    (row,) = lines(tmp_path / "out")
    assert row["1"].startswith("the ") and row["1"] != "text"


def test_what_is_no_data_at_all_is_named(tmp_path, swap):
    with pytest.raises(dpt.InputError, match=r"no file .*no data set of that name"):
        tables.source(tmp_path / "nowhere.csv", ("text",))
    with pytest.raises(dpt.InputError, match="have no splits"):
        tables.source(numbered(tmp_path, 1), ("text",), split="train")
    with pytest.raises(dpt.InputError, match="no column numbered '9'"):
        tables.source(numbered(tmp_path, 1), ("9",))


def test_the_files_of_a_folder_are_one_data_set(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, text in (("b.txt", "two\nthree\n"), ("a.txt", "one\n"), ("_SUCCESS.txt", "x\n"), ("notes.md", "x\n")):
        write(folder / name, text)
    data = tables.source(folder, ("text",))
    assert [row["text"] for row in data.rows()] == ["one", "two", "three"] and (data.count, data.name) == (3, "parts")
    (folder / "b.txt").rename(folder / "c.txt")
    assert tables.source(folder, ("text",)).sha256 != data.sha256
    with pytest.raises(dpt.InputError, match="folders have no splits"):
        tables.source(folder, ("text",), split="train")
    with pytest.raises(dpt.InputError, match=r"has no file of \.csv"):
        tables.source(tmp_path, ("text",))


def test_a_text_file_has_a_row_a_line(tmp_path):
    data = tables.source(write(tmp_path / "a.txt", "\ufeffone\r\n\r\ntwo\x85more\nthree"), ("text",))
    assert [row["text"] for row in data.rows()] == ["one", "two\x85more", "three"] and data.count == 3
    with pytest.raises(dpt.InputError, match="no column named 'note'"):
        tables.source(tmp_path / "a.txt", ("note",))


def test_parquet_is_read_by_column_in_batches_and_gives_what_json_can_say(tmp_path, monkeypatch):
    import pyarrow
    import pyarrow.parquet

    monkeypatch.setattr(parquet_rows, "HELD", 2)
    day = datetime.date(2026, 1, 2)
    rows = [{"t": f"text {i}", "n": i, "when": day, "x": None} for i in range(5)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    data = tables.source(tmp_path / "a.parquet", ("t", "when", "2"))
    assert list(data.rows())[4] == {"t": "text 4", "when": "2026-01-02", "2": 4} and data.count == 5
    assert tables.heading(tmp_path / "a.parquet") == ("t", "n", "when", "x")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2] + b"\0" * 40 + whole[len(whole) // 2 + 40 :])
    with pytest.raises(dpt.InputError, match=r"Parquet|broken"):
        tables.source(tmp_path / "b.parquet", ("t",))


@pytest.mark.parametrize(
    ("name", "content", "header", "expected"),
    [
        ("a.csv", "id,text\n1,a\n", True, ("id", "text")),
        ("a.csv", "id,text\n1,a\n", False, ("1", "2")),
        ("a.csv", "text,text\na,b\n", True, ("text (column 1)", "text (column 2)")),
        ("a.tsv", "id\t \n1\ta\n", True, ("id", "column 2")),
        ("a.jsonl", '\n{"b": 1, "a": 2}\n', True, ("b", "a")),
        ("a.txt", "one", True, ("text",)),
        ("a.csv", "", True, ()),
    ],
)
def test_the_columns_of_a_file_are_named_as_it_is_asked_for_them(tmp_path, name, content, header, expected):
    path = write(tmp_path / name, content)
    assert tables.heading(path, header) == expected
    if expected:
        assert tables.source(path, expected, header).count >= 1


@settings(max_examples=40)
@given(st.binary(max_size=60), st.sampled_from(tables.KINDS[:-1]))
def test_whatever_the_bytes_reading_ends_with_rows_or_with_a_message(tmp_path_factory, data, kind):
    path = tmp_path_factory.getbasetemp() / f"any{kind}"
    path.write_bytes(data)
    try:
        columns = tables.heading(path)
        rows = list(tables.source(path, columns or ("text",)).rows())
    except dpt.InputError as error:
        assert str(error)[-1] in ".)"
    else:
        assert rows and all(set(row) == set(columns) for row in rows)


CELLS = st.text("ab\"',;=é \n\t\u2028", min_size=1, max_size=12)


@settings(max_examples=40)
@given(st.lists(CELLS, min_size=1, max_size=6))
def test_what_is_written_as_csv_is_read_as_it_was(tmp_path_factory, cells):
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *([i, c] for i, c in enumerate(cells))])
    assert [row["text"] for row in tables.source(path, ("text",)).rows()] == cells


# --- rewrite


def test_a_run_leaves_its_rows_config_versions_log_and_result(tmp_path, swap):
    data, out = numbered(tmp_path, 40), tmp_path / "out"
    seen: list[tuple[int, int]] = []
    result = rewrite_file(
        data, swap, out, keep=("label",), batch=16, task=dpt.Task(lambda *x: seen.append(x)), measures=("unchanged",)
    )
    rows = lines(out)
    assert [x["dp"]["row"] for x in rows] == list(range(40)) and seen == [(n, 40) for n in (0, 16, 32, 40)]
    assert all(x["label"] == str(i % 2) and x["text"].startswith(f"Row {i}: My ") for i, x in enumerate(rows))
    assert rows[0]["dp"] == {
        "row": 0,
        "notion": "pure",
        "epsilon": 2.0,
        "delta": 0.0,
        "draws": 3,
        "total": 6.0,
        "exposed": ["every other word", "the spacing and the line breaks"],
        "error": None,
    }
    assert result == json.loads((out / "result.json").read_text()) and result["all_rows"] == 240.0
    assert 0 < result["measures"]["unchanged"]["mean"] < 1 and result["measures"]["unchanged"]["n"] == 40
    config = json.loads((out / "config.json").read_text())
    assert config["options"] == {"epsilon": "2", "recase": "none"} and config["data"]["name"] == "data.csv"
    assert config["data"]["sha256"] == tables.source(data, ("text",)).sha256
    assert json.loads((out / "environment.json").read_text())["packages"]["numpy"] == np.__version__
    log = (out / "log.txt").read_text()
    assert "begins with row 0 of 40" in log and "done: 40 rows" in log
    assert not any(word in log + json.dumps(config) for word in ("doctor", str(tmp_path)))


def test_rows_settings_and_the_result_reach_the_disk_before_they_count(tmp_path, swap, monkeypatch):
    data, out = numbered(tmp_path, 20), tmp_path / "out"
    seen = disk.watched(monkeypatch)
    sizes = []
    rewrite_file(data, swap, out, batch=8, task=dpt.Task(lambda *_: sizes.append((out / "rows.jsonl").stat().st_size)))
    assert [e.size for e in seen if e.name == "rows.jsonl"] == sizes[1:] == sorted(sizes[1:]) and len(sizes) == 4
    for name in ("config.json", "environment.json", "result.json"):
        assert disk.synced_before_it_is_renamed(seen, name), name
    assert [e.name for e in seen if e.what == "rename"][-1] == "result.json" and not list(out.glob(".*"))


def test_columns_go_out_only_where_they_are_named(tmp_path, swap):
    rewrite_file(numbered(tmp_path, 2), swap, tmp_path / "out")
    assert all(set(x) == {"dp", "text"} for x in lines(tmp_path / "out"))
    data = tables.source(numbered(tmp_path, 2), ("text",))
    with pytest.raises(dpt.ConfigError, match="cannot be copied too"):
        rewrite_data(data, swap, tmp_path / "other", keep=("text",))
    own = write(tmp_path / "own.csv", "text,dp\na,b\n")
    with pytest.raises(dpt.ConfigError, match="'dp'"):
        rewrite_file(own, swap, tmp_path / "other", keep=("dp",))


def test_a_column_that_a_run_did_not_keep_is_said_with_the_option_that_keeps_it(tmp_path, swap):
    own = write(tmp_path / "own.csv", "text,topic\na b,x\nc d,y\n")
    rewrite_file(own, swap, tmp_path / "out")
    with pytest.raises(dpt.InputError, match=r"'topic'.*--keep topic"):
        tables.source(tmp_path / "out", ("text", "topic"))
    rewrite_file(own, swap, tmp_path / "kept", keep=("topic",))
    assert [row["topic"] for row in tables.source(tmp_path / "kept", ("text", "topic")).rows()] == ["x", "y"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("adept", {"no_noise": True}), ("adept-original", {})])
def test_where_nothing_is_promised_no_file_has_an_epsilon_of_it(tmp_path, tiny_autoencoder, name, options):
    m = dpt.get_mechanism(name, checkpoint=tiny_autoencoder, **options)
    data, out = tables.source(numbered(tmp_path, 3), ("text",)), tmp_path / "out"
    result = rewrite_data(data, m, out)
    for k in ("one_row", "one_row_delta", "all_rows", "all_rows_delta"):
        assert result[k] is json.loads((out / "result.json").read_text())[k] is None
    assert all(
        [x["dp"][k] for k in ("notion", "epsilon", "delta", "total")] == ["none"] + [None] * 3 for x in lines(out)
    )
    assert result["sentence"].startswith("There is no privacy guarantee: ")
    assert rewrite_data(data, m, out) == result, "what was written is read again"
    assert compare([out])[0][1][-2:] == ["no guarantee"] * 2


class Stopping(Swap):
    """Asks for a stop when it has seen so many texts."""

    def __init__(self, config, after: int = 0, how: type[BaseException] = KeyboardInterrupt):
        super().__init__(config)
        self.after, self.how, self.seen = after, how, []

    def rewrite_prepared(self, prepared, stream, task):
        if len(self.seen) == self.after:
            raise self.how("Stopped.")
        self.seen.append(prepared.text)
        return super().rewrite_prepared(prepared, stream, task)


@pytest.mark.parametrize("how", [KeyboardInterrupt, dpt.Cancelled])
@pytest.mark.parametrize("cut", ["", '{"dp": {"row": 8, "text": "half'])
def test_a_stopped_run_goes_on_and_has_each_row_exactly_once(tmp_path, swap, how, cut):
    data, out = tables.source(numbered(tmp_path, 20), ("text",)), tmp_path / "out"
    stopping = Stopping(swap.config, after=10, how=how)
    with pytest.raises(how):
        rewrite_data(data, stopping, out, batch=4)
    before = lines(out)
    assert [x["dp"]["row"] for x in before] == list(range(8)), "the batch that was not finished was not released"
    assert not (out / "result.json").exists()
    with (out / "rows.jsonl").open("a") as file:
        file.write(cut)
    again = Stopping(swap.config, after=99)
    result = rewrite_data(data, again, out, batch=4)
    rows = lines(out)
    assert rows[:8] == before and [x["dp"]["row"] for x in rows] == list(range(20))
    assert len(again.seen) == 12 and (result["rows"], result["all_rows"]) == (20, 120.0)
    assert f"stopped with {how.__name__}: 8 lines are written" in (out / "log.txt").read_text()
    idle = Stopping(swap.config)
    assert rewrite_data(data, idle, out, batch=4) == result and lines(out) == rows and not idle.seen


@pytest.mark.slow
def test_a_killed_process_loses_no_row_and_draws_none_twice(tmp_path, swap):
    numbered(tmp_path, 300)
    code = """
    import sys, time
    sys.path.insert(0, "tests")
    from foreign import Swap
    from dptext_core.data.rewriting import rewrite_data
    from dptext_core.data.tables import source

    class Slow(Swap):
        def rewrite_prepared(self, *rest):
            time.sleep(0.005)
            return super().rewrite_prepared(*rest)

    data = source(sys.argv[1] + "/data.csv", ("text",), each=True)
    rewrite_data(data, Slow.create(epsilon=2.0), sys.argv[1] + "/out", batch=2)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], cwd=ROOT)
    rows, end = tmp_path / "out" / "rows.jsonl", time.monotonic() + 60
    while not rows.exists() or rows.read_bytes().count(b"\n") < 20:
        assert child.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    with pytest.raises(dpt.InputError, match="Another process"):
        rewrite_file(tmp_path / "data.csv", swap, tmp_path / "out", batch=2)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    before = rows.read_bytes().split(b"\n")[:-1]
    assert 20 <= len(before) < 300
    rewrite_file(tmp_path / "data.csv", swap, tmp_path / "out", batch=2)
    assert rows.read_bytes().split(b"\n")[: len(before)] == before
    assert [x["dp"]["row"] for x in lines(tmp_path / "out")] == list(range(300))


def test_a_folder_of_another_run_or_of_other_files_is_refused(tmp_path, swap):
    data, out = numbered(tmp_path, 3), tmp_path / "out"
    rewrite_file(data, swap, out)
    kept = (out / "rows.jsonl").read_bytes()
    with pytest.raises(dpt.ConfigError, match=r"options.epsilon is '2' there and '3' here.*choose another folder"):
        rewrite_file(data, swap.replace(epsilon=3.0), out)
    numbered(tmp_path, 4)
    with pytest.raises(dpt.ConfigError, match=r"data.sha256 is .*…; data.rows|data.sha256 is .*…"):
        rewrite_file(data, swap, out)
    assert (out / "rows.jsonl").read_bytes() == kept
    with pytest.raises(dpt.ConfigError, match="contains other files and no run"):
        rewrite_file(data, swap, tmp_path)
    with pytest.raises(dpt.InputError, match="cannot be"):
        rewrite_file(data, swap, data)


def test_a_kill_in_the_first_moments_and_other_versions_later_do_no_harm(tmp_path, swap, monkeypatch):
    data, out = numbered(tmp_path, 3), tmp_path / "out"
    out.mkdir()
    write(out / "rows.jsonl", "")
    write(out / ".config.json.tmp", "{")
    assert rewrite_file(data, swap, out)["rows"] == 3
    assert "different versions" not in (out / "log.txt").read_text()
    monkeypatch.setattr("dptext_core.data.folder.PACKAGES", ("numpy",))
    rewrite_file(data, swap, out)
    assert "resumes with different versions" in (out / "log.txt").read_text()
    assert list(json.loads((out / "environment.json").read_text())["packages"]) == ["numpy"]


def test_broken_results_are_not_gone_on_with(tmp_path, swap):
    data, out = numbered(tmp_path, 3), tmp_path / "out"
    rewrite_file(data, swap, out)
    whole = (out / "rows.jsonl").read_text()
    write(out / "rows.jsonl", "my text\n" + whole)
    with pytest.raises(dpt.InputError, match="damaged in line 1") as stop:
        rewrite_file(data, swap, out)
    assert "my text" not in str(stop.value)
    write(out / "rows.jsonl", "".join(whole.splitlines(True)[1:]))
    with pytest.raises(dpt.InputError, match="not in order"):
        rewrite_file(data, swap, out)


def other_weights(folder: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        last = file.read()
        file.seek(-4, os.SEEK_END)
        file.write(bytes(x ^ 1 for x in last))


def named(m: dpt.Mechanism, option: str, there: Path) -> dict[str, str]:
    (name,) = m.loads()
    assert name == option and len(m.loads()[name]) == 64 and Path(getattr(m.config, option)) == there.resolve()
    return dict(m.loads())


def test_a_run_goes_on_wherever_its_weights_lie_and_with_no_others(tmp_path, tiny_autoencoder):
    first, second = tmp_path / "here" / "own", tmp_path / "there" / "own"
    for folder in (first, second):
        shutil.copytree(tiny_autoencoder, folder)
    made = [dpt.get_mechanism("adept", checkpoint=str(folder)) for folder in (first, second)]
    data, out = tables.source(numbered(tmp_path, 3), ("text",)), tmp_path / "out"
    rewrite_data(data, made[0], out)
    config = json.loads((out / "config.json").read_text())
    assert config["options"]["checkpoint"] == "own" and config["loads"] == named(made[0], "checkpoint", first)
    assert str(tmp_path) not in (out / "config.json").read_text()
    kept = (out / "rows.jsonl").read_bytes()
    rewrite_data(data, made[1], out)
    other_weights(second)
    with pytest.raises(dpt.ConfigError, match=r"files of its checkpoint differ from those here"):
        rewrite_data(data, made[1], out)
    assert (out / "rows.jsonl").read_bytes() == kept
    rewrite_data(data, made[1], tmp_path / "new")
    heading, *rows = compare([out, tmp_path / "new"])[0]
    at = heading.index("files of checkpoint")
    assert rows[0][at] != rows[1][at] and "checkpoint" not in heading


@pytest.mark.parametrize("name", ["dp-mlm", "dp-prompt", "dp-paraphrase", "dp-bart"])
def test_what_stands_on_a_language_model_says_which_one(name):
    assert len(dpt.get_mechanism(name).loads()["model"]) == 64


@pytest.mark.slow
def test_a_language_model_is_another_one_with_other_weights_or_another_range(tmp_path, tiny_model):
    shutil.copytree(tiny_model, tmp_path / "own")
    m = dpt.get_mechanism("dp-mlm", model=str(tmp_path / "own"))
    seen = [m.loads(), m.loads()]
    other_weights(tmp_path / "own")
    seen.append(m.loads())
    write(tmp_path / "own" / "dptext.json", '{"clip_min": -5, "clip_max": 8, "clip_source": "by hand"}')
    seen.append(m.loads())
    write(tmp_path / "own" / ".cache", "none of the model")
    seen.append(m.loads())
    first, again, weights, span, last = (x["model"] for x in seen)
    assert first == again and span == last and len({first, weights, span}) == 3


@dataclasses.dataclass(frozen=True)
class ReadingConfig(SwapConfig):
    words: str = option("none", label="Words", kind="text", help="A file.")


class Reading(Swap):
    """Reads a file, and says nothing of it."""

    config_cls = ReadingConfig


def test_any_file_that_an_option_names_decides_by_what_it_holds(tmp_path):
    data, out = tables.source(numbered(tmp_path, 3), ("text",)), tmp_path / "out"
    m = Reading.create(words=str(write(tmp_path / "words.txt", "a")))
    rewrite_data(data, m, out)
    config = (out / "config.json").read_text()
    assert json.loads(config)["options"]["words"] == "words.txt" and str(tmp_path) not in config
    write(tmp_path / "words.txt", "b")
    with pytest.raises(dpt.ConfigError, match="files of its words differ"):
        rewrite_data(data, m, out)
    rewrite_data(data, Reading.create(), tmp_path / "plain")
    assert "loads" not in json.loads((tmp_path / "plain" / "config.json").read_text())


class NearlyFull:
    """A file on a disk that has room for so many bytes."""

    def __init__(self, file, room: int, silent: bool):
        self.file, self.room, self.silent = file, room, silent

    def write(self, data):
        if not self.room and not self.silent:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self.file.write(data[: self.room])
        self.room -= taken
        return taken

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("silent", [False, True])
def test_a_full_disk_is_said_and_what_it_cut_off_is_done_again(tmp_path, swap, run, monkeypatch, silent):
    data, out = numbered(tmp_path, 20), tmp_path / "out"
    with monkeypatch.context() as full:
        enter = RunFolder.__enter__

        def entered(self):
            enter(self)
            self._rows = NearlyFull(self._rows, 1000, silent)
            return self

        full.setattr(RunFolder, "__enter__", entered)
        status, said, error = run(
            "rewrite-data", "--data", data, "--mechanism", swap.name, "--epsilon", 2, "--out", out, "--batch", 4
        )
    assert (status, said) == (2, "") and "standard output" not in error
    assert error.endswith("it resumes after the last whole line.\n")
    assert f"rows.jsonl in the folder out cannot be written: {os.strerror(errno.ENOSPC)}. Free some space" in error
    content = (out / "rows.jsonl").read_bytes()
    assert len(content) == 1000 and not content.endswith(b"\n")
    before = content.split(b"\n")[:-1]
    rewrite_file(data, swap, out, batch=4)
    assert (out / "rows.jsonl").read_bytes().split(b"\n")[: len(before)] == before
    assert [x["dp"]["row"] for x in lines(out)] == list(range(20))


def test_a_log_that_cannot_be_written_hides_no_error_and_is_said_by_itself(tmp_path):
    with RunFolder(tmp_path / "other", {"mode": "rewrite"}) as folder:
        (tmp_path / "other" / "log.txt").mkdir()
        with pytest.raises(dpt.InputError, match=r"log\.txt in the folder other cannot be written"):
            folder.log("begins")
        folder.stopped("with an error of its own")


class Together(Swap):
    @property
    def shares_draws(self) -> bool:
        return True


def test_draws_for_all_rows_that_were_cut_off_are_not_made_again(tmp_path):
    m = Together.create()
    data, out = tables.source(numbered(tmp_path, 3), ("text",)), tmp_path / "out"
    rewrite_data(data, m, out)
    write(out / "rows.jsonl", (out / "rows.jsonl").read_text().splitlines(True)[0])
    with pytest.raises(dpt.ConfigError, match="all rows share"):
        rewrite_data(data, m, out)


def test_rows_with_errors_stand_beside_the_others(tmp_path, swap):
    data = write(tmp_path / "a.jsonl", '{"text": "a doctor"}\n{"text": null}\n{"text": "a nurse"}\n')
    result = rewrite_file(data, swap, tmp_path / "out", measures=("unchanged",))
    rows = lines(tmp_path / "out")
    assert [x["text"] is None for x in rows] == [False, True, False] and "no text" in rows[1]["dp"]["error"]
    assert (result["rows"], result["errors"], result["measures"]["unchanged"]["n"]) == (3, 1, 2)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_a_huge_text_is_rewritten_and_one_that_is_too_large_is_an_error_of_its_row(tmp_path, swap, monkeypatch, kind):
    monkeypatch.setattr(document, "LARGEST", 140_000)
    huge, larger = "a doctor; " * 13_500, "a doctor; " * 14_001
    rows = ["a nurse", huge, larger, "a doctor"]
    form = (lambda t: json.dumps({"text": t})) if kind == "jsonl" else str
    data = write(tmp_path / f"a.{kind}", "".join(f"{form(r)}\n" for r in (["text"] * (kind != "jsonl") + rows)[:]))
    result = rewrite_file(data, swap, tmp_path / "out")
    found = lines(tmp_path / "out")
    assert [x["text"] is None for x in found] == [False, False, True, False] and len(found[1]["text"]) > 131_072
    assert found[2]["dp"]["error"] == "This text has more than 140,000 characters. Split it into several texts."
    assert (result["rows"], result["errors"]) == (4, 1)


def test_the_command_says_how_many_characters_nobody_sees_and_no_file_does(tmp_path, swap, run):
    """A row of which nothing is drawn is one that came out as it went in, whatever nobody sees of it."""
    rows = ["a doctor", "...", "a nurse"]
    argv = ("--mechanism", swap.name, "--seed", 3, "--out")
    written = []
    for name, hidden in (("plain", ""), ("hidden", "\u200b\U000e0041")):
        data = write(tmp_path / "data.jsonl", "".join(json.dumps({"text": row + hidden}) + "\n" for row in rows))
        status, _, error = run("rewrite-data", "--data", data, *argv, tmp_path / name)
        assert status == 0 and ("note: 6 invisible characters removed." in error) == bool(hidden)
        written.append((tmp_path / name / tables.ROWS).read_text())
    assert written[0] == written[1] and '"untouched": true' in written[0]


def test_the_command_says_what_is_promised_and_what_is_not(tmp_path, swap, run):
    data = numbered(tmp_path, 3)
    argv = ("rewrite-data", "--data", data, "--keep", "label", "--mechanism", swap.name, "--epsilon", 2, "--out")
    status, out, error = run(*argv, tmp_path / "out", "--measure", "unchanged")
    assert (status, out) == (0, "") and "over all rows at most ε = 18" in error and "unchanged: 0." in error
    assert "these columns are copied and not protected: label" in error and "every other word" in error
    assert run(*argv, tmp_path / "out", "--quiet") == (0, "", "")
    status, _, error = run(*argv, tmp_path / "seeded", "--seed", 3)
    assert status == 0 and error.count("not private") == 2
    assert all("not private" in x["dp"]["note"] for x in lines(tmp_path / "seeded"))
    status, _, error = run(*argv, tmp_path / "other", "--measure", "beauty")
    assert status == 2 and "no metric 'beauty'" in error
    status, _, error = run(*argv, tmp_path / "out", "--seed", 3)
    assert status == 2 and "seed is None there and 3 here" in error


# --- downstream


def labelled(path: Path, n: int, flip: int = 0) -> Path:
    words = {"good": ("sun", "music", "garden"), "bad": ("rain", "noise", "dust")}
    text = "".join(
        f"{mood},{words[mood][(i + flip) % 3]} and {words[mood][i % 3]} number {i}\n"
        for i in range(n)
        for mood in ("good", "bad", "good")
    )
    return write(path, "label,text\n" + text)


def test_a_classifier_is_scored_over_seeds_beside_the_level_of_no_information(tmp_path):
    columns = ("text", "label")
    train, test = (tables.source(labelled(tmp_path / f"{k}.csv", 20, k), columns) for k in (0, 1))
    found = downstream(train, test, tmp_path / "out", seeds=3)
    for metric in ("macro_f1", "accuracy"):
        assert found[metric]["mean"] == pytest.approx(np.mean(found[metric]["values"])) and found[metric]["mean"] > 0.9
        assert found[metric]["deviation"] == pytest.approx(np.std(found[metric]["values"], ddof=1))
    # Random guesses have the higher macro F1, always guessing one label the higher accuracy.
    assert found["no_information"] == {"macro_f1": pytest.approx(0.5, abs=0.03), "accuracy": pytest.approx(2 / 3)}
    assert (found["train"], found["test"], found["labels"]) == (60, 60, 2)
    assert downstream(train, test, tmp_path / "out", seeds=3) == found and len(lines(tmp_path / "out")) == 3
    more = downstream(train, test, tmp_path / "out", seeds=4)
    assert more["accuracy"]["values"][:3] == found["accuracy"]["values"] and len(lines(tmp_path / "out")) == 4
    assert downstream(train, test, tmp_path / "out", seeds=3) == found
    with pytest.raises(dpt.ConfigError, match="classifier is 'embeddings' there and 'finetune' here"):
        downstream(train, test, tmp_path / "out", learner="finetune")


def test_seeds_that_were_done_are_not_done_again(tmp_path):
    calls: list[int] = []

    @dpt.register_classifier("counting")
    def counting(train, labels, test, seed):
        calls.append(seed)
        if seed == 3 and calls.count(3) == 1:
            raise KeyboardInterrupt
        return [labels[0]] * len(test)

    data = tables.source(labelled(tmp_path / "a.csv", 3), ("text", "label"))
    with pytest.raises(KeyboardInterrupt):
        downstream(data, data, tmp_path / "out", seeds=4, learner="counting")
    downstream(data, data, tmp_path / "out", seeds=4, learner="counting")
    assert calls == [1, 2, 3, 3, 4] and [x["seed"] for x in lines(tmp_path / "out")] == [1, 2, 3, 4]


def test_each_seed_leaves_out_a_tenth_of_its_own():
    parts = [rows_of_seed(100, seed) for seed in (1, 2, 1)]
    assert all(len(p) == 90 and p == sorted(set(p)) for p in parts)
    assert parts[0] == parts[2] != parts[1] and rows_of_seed(1, 1) == [0]


def test_every_text_is_embedded_once(monkeypatch):
    seen: list[str] = []
    bag = sentence_encoder.embed
    monkeypatch.setattr(sentence_encoder, "embed", lambda texts, **k: (seen.extend(texts), bag(texts))[1])
    reader = Embeddings()
    for seed in (1, 2):
        assert reader(["sun", "rain", "sun"], ["a", "b", "a"], ["sun", "rain"], seed)
    assert sorted(seen) == ["rain", "sun"]


def test_finetuning_is_what_the_benchmarks_have(tmp_path, monkeypatch):
    asked = []

    def finetune(train, labels, test, *, seed, model, **_):
        asked.append((train[0], model, seed))
        return [labels[0]] * len(test)

    monkeypatch.setattr(tasks, "finetune", finetune)
    data = tables.source(labelled(tmp_path / "a.csv", 2), ("text", "label"))
    downstream(data, data, tmp_path / "out", seeds=2, learner="finetune", model="some/model")
    assert asked == [(("sun and sun number 0",), "some/model", 1), (("sun and sun number 0",), "some/model", 2)]


def test_rewritten_rows_are_learnt_from_and_those_with_errors_left_out(tmp_path, swap, run):
    content = "".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in [("a doctor", 1), (None, 1), ("sun", 0)])
    data = write(tmp_path / "a.jsonl", content)
    rewrite_file(data, swap, tmp_path / "rewritten", keep=("label",))
    test = write(tmp_path / "test.jsonl", '{"text": "sun", "label": 0}\n{"text": "a doctor", "label": 1}\n')
    status, out, error = run(
        "downstream", "--train", tmp_path / "rewritten", "--test", test, "--out", tmp_path / "out", "--seeds", 2
    )
    assert status == 0 and "macro_f1" in out and "no information" in out and "(SD) of 2 seeds" in out
    assert "2 rows to train, 2 to test" in error and "Excluded rows without a text: 1." in error
    assert json.loads((tmp_path / "out" / "config.json").read_text())["train"]["name"] == "rewritten/rows.jsonl"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"text": "a", "label": null}\n', "without a label"),
        ('{"text": 5, "label": 1}\n', "not text"),
        ('{"text": null, "label": 1}\n', "No row of a.jsonl has a text"),
        ('{"text": "a"}\n', "no column 'label'"),
    ],
)
def test_data_without_texts_or_labels_says_so(tmp_path, run, content, reason):
    data = write(tmp_path / "a.jsonl", content)
    status, _, error = run("downstream", "--train", data, "--test", data, "--out", tmp_path / "out")
    assert status == 2 and reason in error and error.count("\n") == 1


# --- compare


def test_runs_are_compared_by_what_differs_and_what_they_found(tmp_path, swap, run):
    data, folders = numbered(tmp_path, 4), []
    for epsilon in (2.0, 4.0):
        folders.append(tmp_path / f"e{epsilon:g}")
        rewrite_file(data, swap.replace(epsilon=epsilon), folders[-1], keep=("label",))
    (first,) = compare(folders)
    assert first[0] == [
        "run",
        "mode",
        "state",
        "mechanism",
        "epsilon",
        "data",
        "rows",
        "errors",
        "notion",
        "largest ε of a row",
        "ε of all rows",
    ]
    pure = "pure differential privacy"
    assert [row[:5] + row[-3:] for row in first[1:]] == [
        ["e2", "rewrite", "finished", swap.name, "2 per word", pure, "6", "24"],
        ["e4", "rewrite", "finished", swap.name, "4 per word", pure, "12", "48"],
    ]
    folders.append(tmp_path / "scored")
    source = tables.source(folders[0], ("text", "label"))
    downstream(source, source, folders[-1], seeds=2)
    with RunFolder(tmp_path / "begun", {"mode": "downstream", "seeds": 2}) as begun:
        begun.append([{"seed": 1}])
    status, out, _ = run("runs", "compare", *folders, tmp_path / "begun")
    rewrites, scored = out.split("\n\n")
    assert status == 0 and rewrites.count("\n") == 2 and "not finished, 1 lines" in scored
    heading = scored.splitlines()[0]
    assert heading.index("macro_f1 ") < heading.index("macro_f1, no information") and "e2/rows.jsonl" in scored
    status, _, error = run("runs", "compare", tmp_path)
    assert status == 2 and "is not a run" in error


@pytest.mark.slow
def test_epsilons_of_different_kinds_are_told_apart(tmp_path):
    data = write(tmp_path / "a.csv", "text\nthe doctor\n")
    dpt.register(Latent)
    for name in ("santext", Latent.name, "foreign-swap"):
        if name == "foreign-swap":
            dpt.register(Swap)
        rewrite_file(data, dpt.get_mechanism(name), tmp_path / name)
    dpt.unregister("foreign-swap")
    (table,) = compare([tmp_path / name for name in ("santext", Latent.name, "foreign-swap")])
    at = {name: i for i, name in enumerate(table[0])}
    metric, latent, gone = table[1:]
    assert metric[at["epsilon"]].endswith("per word and unit of distance")
    assert metric[at["notion"]] == "metric differential privacy"
    assert metric[at["largest ε of a row"]].endswith("per unit of distance")
    assert latent[at["notion"]] == "approximate differential privacy"
    assert latent[at["epsilon"]] == "1 for the whole text"
    assert latent[at["largest ε of a row"]] == latent[at["ε of all rows"]] == "1, δ = 0.05"
    assert gone[at["epsilon"]] == "2", "a mechanism that is not there says nothing of its unit"


def test_a_case_study_shows_its_settings_and_scores(tmp_path, data, parrot):
    case_study.case_study(data, tmp_path / "out", seeds=1, n=30, epsilons=(None, 10.0))
    (table,) = compare([tmp_path / "out"])
    found = dict(zip(*table, strict=True))
    assert (found["mode"], found["state"], found["n"], found["epsilons"]) == ("case-study", "finished", "30", "∞, 10")
    assert "train.csv" in found["data"] and found["seeds"] == "1" and "atis" in found["checkpoints"]
    assert re.fullmatch(r"∞: (1|0)\.\d\d; 10: 0\.\d\d", found["macro_f1 of Snips by ATIS, at ε"])
    assert float(found["macro_f1 of ATIS without rewriting"]) > 0.9 and 0 < float(found["ATIS, no information"]) < 1


def test_a_pre_training_shows_how_far_it_came(tmp_path, run):
    folder = tmp_path / "learnt"
    shutil.copytree(ROOT / "assets/models/adept_atis", folder)
    (table,) = compare([folder])
    found = dict(zip(*table, strict=True))
    log = json.loads((folder / "training.json").read_text())
    best = log["history"][log["best"] - 1]
    assert (found["mode"], found["state"]) == ("pretrain", "finished: early stopping")
    assert found["data"].startswith("train.csv 0098b333") and found["best epoch"] == str(log["best"])
    assert found["validation loss"] == f"{best['validation_loss']:.3f}"
    assert found["word piece accuracy"] == f"{best['accuracy']:.3f}"
    write(folder / "training.json", json.dumps({**log, "ended": ""}))
    assert compare([folder])[0][1][2] == f"not finished, {len(log['history'])} epochs"
    write(folder / "training.json", "{}")
    status, _, error = run("runs", "compare", folder)
    assert status == 2 and "not a pre-training log" in error
    (folder / "training.json").unlink()
    status, _, error = run("runs", "compare", folder)
    assert status == 2 and "does not describe a run" in error


# --- components of one's own

OWN = """
def load(split):
    if split == "broken":
        1 / 0
    if split == "lists":
        return [[1, 2]]
    return [{"text": f"the doctor {i}", "label": i % 2} for i in range(6)]

def first(train, labels, test, seed):
    return [labels[0]] * len(test)

def short(train, labels, test, seed):
    return []
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with a data set and classifiers."""
    write(tmp_path / "own_parts.py", OWN)
    info = tmp_path / "own_parts-1.0.dist-info"
    info.mkdir()
    write(info / "METADATA", "Metadata-Version: 2.1\nName: own-parts\nVersion: 1.0\n")
    write(
        info / "entry_points.txt",
        "[dptext.datasets]\nmine = own_parts:load\nembeddings = own_parts:missing\n"
        "[dptext.classifiers]\nfirst = own_parts:first\nshort = own_parts:short\nembeddings = own_parts:first\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "own_parts", raising=False)


def test_a_package_brings_a_data_set_and_a_classifier(package, tmp_path, swap, run):
    argv = ("--data", "mine", "--data-split", "train", "--keep", "label", "--mechanism", swap.name, "--quiet", "--out")
    assert run("rewrite-data", *argv, tmp_path / "rewritten")[0] == 0
    assert json.loads((tmp_path / "rewritten" / "config.json").read_text())["data"]["name"] == "mine/train"
    status, out, _ = run(
        "downstream",
        "--train",
        tmp_path / "rewritten",
        "--test",
        "mine",
        "--classifier",
        "first",
        "--seeds",
        1,
        "--out",
        tmp_path / "scored",
    )
    assert status == 0 and "accuracy  0.500" in out
    problems = plugins.problems()
    assert len(problems) == 2 and all("'embeddings' of the package own-parts" in p for p in problems)
    assert any("classifier named 'embeddings' already exists" in p for p in problems)


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        (("--train", "mine", "--train-split", "broken", "--test", "mine"), "ZeroDivisionError"),
        (("--train", "mine", "--train-split", "lists", "--test", "mine"), "not a mapping"),
        (("--train", "mine", "--test", "mine", "--text-column", "body"), "no column 'body'"),
        (("--train", "mine", "--test", "mine", "--classifier", "short"), "0 labels for 6 texts"),
        (("--train", "mine", "--test", "mine", "--classifier", "long"), "one of embeddings, finetune, first, short"),
    ],
)
def test_parts_that_fail_say_which(package, tmp_path, run, what, reason):
    status, _, error = run("downstream", *what, "--out", tmp_path / "out")
    assert status == 2 and reason in error.splitlines()[-1]


def test_a_file_may_register_them_too(tmp_path, swap, run):
    code = 'import dptext_core as dpt\n@dpt.register_data_set("notes")\ndef load(split):\n    return [{"text": "a"}]\n'
    path = write(tmp_path / "notes.py", code)
    status, _, error = run(
        "rewrite-data", "--plugin", path, "--data", "notes", "--mechanism", swap.name, "--out", tmp_path / "out"
    )
    assert status == 0, error
    with pytest.raises(dpt.ConfigError, match="already"):
        dpt.register_data_set("notes")(lambda split: [])
    with pytest.raises(dpt.ConfigError, match="a function"):
        dpt.register_classifier("other")(5)
    broken = write(tmp_path / "broken.py", code.replace('"notes"', '"more"') + "1 / 0\n")
    assert run("mechanisms", "--plugin", broken)[0] == 2 and "more" not in components.data_sets()


# --- the case study


class Parrot(Swap):
    """Says sentences of what it was pre-trained on: near the text where ε is large, anything where it is small."""

    pretrained = "snips"

    def rewrite_prepared(self, prepared, stream, task):
        sentences = SAID[self.pretrained]
        known = prepared.text in sentences and self.config.epsilon > 10
        text = prepared.text if known else sentences[int(stream.words(1)[0]) % len(sentences)]
        piece = dpt.Release((0, len(text)), text, self.config.epsilon, "drawn")
        return dpt.RewriteResult.of(self, prepared, stream, text, pieces=(piece,))

    alignment = likelihood = None


SAID = {
    "snips": [f"{verb} {i}" for i in range(20) for verb in ("play music", "add song")],
    "atis": [f"{verb} {i}" for i in range(20) for verb in ("show flight", "what fare")],
}


@pytest.fixture
def data(tmp_path) -> Path:
    for name, sentences in SAID.items():
        (tmp_path / "data" / name).mkdir(parents=True)
        for file in ("train", "test"):
            rows = [f"{s.split()[0]},{s}{' please' * (file == 'test')}\n" for s in sentences]
            write(tmp_path / "data" / name / f"{file}.csv", "".join(rows))
    return tmp_path / "data"


@pytest.fixture
def parrot(monkeypatch):
    made: list[tuple[str, float | None]] = []

    def rewriter(checkpoint, epsilon):
        made.append((checkpoint, epsilon))
        m = Parrot.create(epsilon=20.0 if epsilon is None else min(epsilon, 20.0))
        m.pretrained = checkpoint
        return m

    monkeypatch.setattr(case_study, "rewriter", rewriter)
    monkeypatch.setattr(case_study_demo, "rewriter", rewriter)
    return made


def test_the_case_study_finds_what_was_memorised(tmp_path, data, parrot):
    said: list[str] = []
    found = case_study.case_study(data, tmp_path / "out", seeds=1, say=said.append)
    rows = {(r["pretrained"], r["data"], r["epsilon"]): r for r in found["rows"]}
    assert len(rows) == len(said) == 22 and all(r["seeds"] == 1 for r in rows.values())
    for name, other in (("snips", "atis"), ("atis", "snips")):
        assert rows["", name, None]["macro_f1"]["mean"] > 0.9
        assert rows[name, name, 1000.0]["macro_f1"]["mean"] > 0.9 > rows[name, name, 1.0]["macro_f1"]["mean"]
        crossed = rows[other, name, 1000.0]
        assert crossed["verbatim"] == 1 and crossed["own"] < crossed["nearest"] == pytest.approx(1)
        assert rows[name, name, None]["own"] == pytest.approx(1)
        assert crossed["macro_f1"]["mean"] < rows[name, name, 1000.0]["macro_f1"]["mean"]
    assert found["no_information"]["atis"]["accuracy"] == pytest.approx(0.5, abs=0.03)
    text = json.dumps(found) + (tmp_path / "out" / "log.txt").read_text()
    assert not any(s in text for both in SAID.values() for s in both)


def test_an_interrupted_case_study_goes_on_and_gives_the_same(tmp_path, data, parrot):
    small = {"seeds": 2, "epsilons": (1000.0,)}
    stop = dpt.Task()

    def say(text):
        if text.startswith("9/"):
            stop.cancel()

    with pytest.raises(dpt.Cancelled):
        case_study.case_study(data, tmp_path / "out", say=say, task=stop, **small)
    before = lines(tmp_path / "out")
    found = case_study.case_study(data, tmp_path / "out", **small)
    after = lines(tmp_path / "out")
    assert len(before) == 9 and len(after) == 12 and after[: len(before)] == before
    assert "stopped with Cancelled: 9 lines are written" in (tmp_path / "out" / "log.txt").read_text()
    whole = case_study.case_study(data, tmp_path / "other", **small)
    assert whole["rows"] == found["rows"]
    with pytest.raises(dpt.ConfigError, match="n is None there and 9 here"):
        case_study.case_study(data, tmp_path / "out", n=9, **small)


def test_a_checkpoint_that_is_not_there_is_said_before_anything_is_read(tmp_path, data):
    with pytest.raises(dpt.ConfigError, match="no checkpoint"):
        case_study.case_study(data, tmp_path / "out", checkpoints={"snips": "nowhere", "atis": "nowhere"})
    assert not (tmp_path / "out").exists()


def test_the_command_prints_ours_beside_the_papers(tmp_path, data, parrot, run):
    summary = tmp_path / "summary.json"
    argv = ("case-study", "--data", data, "--seeds", 1, "--max-texts", 30)
    status, out, error = run(*argv, "--out", tmp_path / "out", "--summary", summary)
    assert status == 0, error
    rows = [re.split(r" {2,}", line) for line in out.splitlines()]
    assert len(rows) == 23 and "paper, macro F1" in rows[0]
    (crossed,) = [row for row in rows if row[:3] == ["ATIS", "Snips", "1,000"]]
    assert "0.20 (0.02)" in crossed
    for part_of in ("text-independent baseline", "opposite order", "still 0.50", "At most 30"):
        assert part_of in error
    read = json.loads(summary.read_text(encoding="utf-8"))
    assert read["about"]["command"].endswith("--max-texts 30 --summary assets/benchmarks/case_study.json")
    assert str(tmp_path) not in summary.read_text() and case_study_rows.table(read)[0] == case_study_rows.HEADING


def test_the_papers_numbers_stand_as_its_text_has_them():
    assert case_study_rows.paper_score("atis", "snips", 1000.0) == (0.20, 0.02)
    assert case_study_rows.paper_score("snips", "atis", 1.0) == (0.50, 0.01)
    assert case_study_rows.paper_score("", "snips", None) == (0.95, 0.01)
    assert case_study_rows.paper_score("snips", "snips", 7.0) is None


def test_the_bundled_table_is_of_the_bundled_checkpoints_and_shows_the_pattern():
    found = case_study_rows.bundled()
    for name in case_study_rows.SETS:
        assert found["about"]["checkpoints"][name]["sha256"] == case_study._weights(name)
    score = {(r["pretrained"], r["data"], r["epsilon"]): r["macro_f1"]["mean"] for r in found["rows"]}
    for name, other in (("snips", "atis"), ("atis", "snips")):
        nothing = found["no_information"][name]["macro_f1"]
        for epsilon in (None, 1000.0):
            assert score[name, name, epsilon] > 0.8 * score["", name, None] > 1.5 * score[other, name, epsilon]
        for pre in case_study_rows.SETS:
            assert all(abs(score[pre, name, epsilon] - nothing) < 0.1 for epsilon in (10.0, 1.0))


def test_the_notes_claim_no_more_than_the_bundled_table_shows():
    found = case_study_rows.bundled()
    crossed = [r["verbatim"] for r in found["rows"] if r["pretrained"] not in ("", r["data"])]
    assert 0 < max(crossed) < 0.002 and f"at most {100 * max(crossed):.2g}% are such" in " ".join(
        case_study_rows.notes(found)
    )
    assert (found["about"]["seeds"], found["about"]["n"]) == (5, 300)
    assert "--seeds 5 --n 300" in found["about"]["command"], "the file keeps the name of then"
    text = " ".join((ROOT / "docs/measurements/case-study.md").read_text(encoding="utf-8").split())
    assert f"at most {100 * max(crossed):.2g}% of the rewrites" in text and "`--seeds 5 --max-texts 300`" in text


def test_the_nearest_sentence_is_found_where_the_data_is_named(data, monkeypatch, parrot):
    monkeypatch.delenv(case_study_demo.DATA_VARIABLE, raising=False)
    assert case_study_demo.data_folder() is None
    monkeypatch.setenv(case_study_demo.DATA_VARIABLE, str(data.parent))
    assert case_study_demo.data_folder() is None, "a folder without the two sets"
    monkeypatch.setenv(case_study_demo.DATA_VARIABLE, str(data))
    asked = case_study_demo.Question("show flight 3", "snips", 1.0)
    result = case_study_demo.rewrite_question(asked)
    found = case_study_demo.nearest_sentence(result.text, "snips", data)
    assert result.text in SAID["snips"] and found.same and found.cosine == pytest.approx(1)
    near = case_study_demo.nearest_sentence("show me flight 3", "atis", data)
    assert near.text == "show flight 3" and not near.same
    assert "flight" not in repr(asked) + repr(found) + repr(near)
