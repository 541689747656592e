"""A data set that somebody uploaded: ten rows, all rows, what they come to, and the same from elsewhere."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import re
import shlex
import sys
import time

import numpy as np
import pyarrow.parquet
import pytest
from data.made_files import paragraph, word
from foreign import Swap
from project.test_documents import DOCUMENTS

import dptext_core as dpt
from dptext_core import cli
from dptext_core.cli import arguments
from dptext_core.measure import metrics
from dptext_studio.server import batch as core
from dptext_studio.server.batch import Batch, BatchRequest
from dptext_studio.views.batch.rows import marked_cells, number_list

TEXT = "My doctor sent a letter to my sister."


#: A row that is refused, two without a word to draw, and one with a cell too many.
TEXTS, CELLS = {3: "refused", 4: "42.", 5: ""}, {6: ",more"}


class Picky(Swap):
    """Refuses a text, and can share draws."""

    name, title = "picky", "Picky"

    def rewrite_prepared(self, prepared, stream, task):
        if "refused" in prepared.text:
            raise dpt.InputError("This text is refused. Write another.")
        return super().rewrite_prepared(prepared, stream, task)


@pytest.fixture(autouse=True)
def registered():
    dpt.register(Picky)
    yield
    dpt.unregister(Picky.name)


def made(folder, n: int = 40, **other) -> Batch:
    rows = "".join(f'{i},"{TEXTS.get(i, f"Row {i}: {TEXT}")}",{i % 2}{CELLS.get(i, "")}\n' for i in range(n))
    (folder / "my notes.csv").write_text("id,the text,label\n" + rows, encoding="utf-8")
    given = dict(file="my notes.csv", column="the text", header=True, keep=("label",))
    return Batch(folder, BatchRequest(**(given | other), setting=dpt.Setting(Picky.name, {}, 2.0)))


def test_a_file_is_looked_at_and_its_text_is_guessed(tmp_path):
    made(tmp_path)
    found = core.look(tmp_path / "my notes.csv")
    assert (found.columns, found.count, len(found.rows)) == (("id", "the text", "label"), 40, 10) and found.unread == 1
    assert found.longest() == "the text" and core.look(tmp_path / "my notes.csv", header=False).longest() == "2"
    (tmp_path / "e.csv").write_bytes(core.example())
    assert core.look(tmp_path / "e.csv").longest() == "text" and core.look(tmp_path / "e.csv").count > 10
    (tmp_path / "e.csv").write_bytes(b"")
    with pytest.raises(dpt.InputError, match=r"e\.csv is empty"):
        core.look(tmp_path / "e.csv")


WIDE = 20_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("named.csv", ",".join(f"c{i}" for i in range(WIDE)) + "\n" + "," * (WIDE - 1) + "\n"),
        ("nameless.csv", "," * (WIDE - 1) + "\n" + "," * (WIDE - 1) + "\n"),
        ("nameless.tsv", ("\t" * (WIDE - 1) + "\n") * 2),
        ("broken.csv", ",".join(f"c{i}" for i in range(WIDE // 4)) + "\n" + "x\n" * (2 * WIDE)),
        ("broken.jsonl", json.dumps(dict.fromkeys(range(WIDE // 4), 1)) + "\n" + "{}\n" * (2 * WIDE)),
        ("rows.txt", "x\n" * (2 * WIDE)),
    ],
)
def test_a_file_is_read_in_a_time_that_grows_with_its_bytes(tmp_path, name, content):
    """Here columns, and columns times broken rows, took seconds: 13 for the first, 3 for the second."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    before = time.process_time()
    with contextlib.suppress(dpt.InputError):
        assert core.look(path).count in (1, 2 * WIDE, 2 * WIDE + 1)
    assert time.process_time() - before < 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "," * 100 + "\n" + "x," * 100 + "\n"),
        ("a.tsv", "\t" * 100 + "\nx\n"),
        ("a.jsonl", json.dumps(dict.fromkeys(range(101), 1)) + "\n"),
    ],
)
def test_a_file_with_too_many_columns_is_refused_before_its_rows_are_read(tmp_path, monkeypatch, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    monkeypatch.setattr(core.tables, "source", lambda *_, **__: pytest.fail("read further"))
    with pytest.raises(dpt.InputError, match=rf"{name} has 101 columns, but this page accepts up to 100\. Save"):
        core.look(path, wide=100)


def test_of_a_row_that_is_far_too_long_a_part_is_counted_and_of_others_all_once(tmp_path, monkeypatch):
    """A row of 1.8 million commas was counted anew in each pass over the file, 20 seconds each, and nothing stopped
    it. How long a word is decides nothing."""
    rows = ["," * 150_000, "," * 1_000_001, "My doctor. " * 50, "x" * 150_000, "short"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), encoding="utf-8")
    counted: list[int] = []
    parse = dpt.Document.parse
    monkeypatch.setattr(dpt.Document, "parse", lambda text, *more: counted.append(len(text)) or parse(text, *more))
    data = core.Batch(tmp_path, core.BatchRequest("a.jsonl", "text", False, (), dpt.Setting("santext")), 500).data()
    for _ in range(3):
        first, second, *others = data.rows()
        assert "more than 500 words and punctuation marks" in first.why
        assert "more than 1,000,000 characters" in second.why
        assert [row["text"] for row in others] == rows[2:]
    assert counted == [50_000, 550, 50_000, 100_000, 150_000]


@pytest.mark.parametrize("deep", [100, 101])
def test_what_stands_in_lists_of_lists_is_written_in_every_format_or_refused(tmp_path, deep):
    """985 of them were read, and then no JSONL could be written."""
    inner = "[" * (deep - 2) + '{"a": NaN}' + "]" * (deep - 2)
    (tmp_path / "a.jsonl").write_text(
        f'{{"text": "My doctor.", "b": {inner}}}\n' + '{"text": "a [[[[", "b": 1}\n' * 3, encoding="utf-8"
    )
    batch = core.Batch(tmp_path, core.BatchRequest("a.jsonl", "text", False, ("b",), dpt.Setting("custext", {}, 3.0)))
    found = batch.rewrite()
    assert found.rows == 4 and len(found.errors) == (deep > 100)
    assert all("line 1, has more than 100 nested lists and objects" in why for _, why in found.errors)
    for suffix in core.release_files.RELEASE:
        assert batch.release(suffix).stat().st_size


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".txt", ".parquet", ".docx"])
def test_reading_stops_when_it_is_asked_to(tmp_path, kind):
    path = tmp_path / f"long{kind}"
    if kind == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"text": ["a"] * 5000}), path)
    elif kind == ".docx":
        word(path, paragraph("a") * 5000)
    else:
        path.write_text(('{"text": 1}\n' if kind == ".jsonl" else "text\n") * 5000, encoding="utf-8")

    class After(dpt.Task):
        """Set once it has been asked so often."""

        asked = 0

        @property
        def cancelled(self) -> bool:
            After.asked += 1
            return After.asked > 3

    with pytest.raises(dpt.Cancelled):
        core.look(path, task=After())
    assert core.look(path).count in (4999, 5000)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("../../etc/notes.csv", "notes.csv"),
        ("C:\\x\\Noté 1.TXT", "Noté 1.TXT"),
        ("a<b>&.csv", "a_b_.csv"),
        ("..csv", "csv"),
        ("x" * 300 + ".csv", None),
    ],
)
def test_the_name_of_an_upload_leads_nowhere_else(given, name):
    if name == "csv":
        with pytest.raises(dpt.InputError, match="none of"):
            core.file_name(given)
        return
    found = core.file_name(given)
    assert found == (name or found) and "/" not in found and len(found) <= 80 and found.endswith(("csv", "TXT"))


def test_ten_rows_leave_nothing_behind_and_all_rows_are_what_the_command_makes(tmp_path, capsys, monkeypatch):
    batch = made(tmp_path)
    first = batch.first()
    assert [p.row for p in first] == list(range(1, 11)) and first[3].error and first[0].original.startswith("Row 0")
    assert not batch.run.exists() and not batch.done and batch.written == 0
    found = batch.rewrite()
    assert batch.done and (found.rows, found.promise["errors"], found.promise["untouched"]) == (40, 2, 2)
    assert [row for row, _ in found.errors] == [4, 7]
    assert "the row that ends in line 8 has 4 cells instead of 3" in found.errors[1][1]
    assert "36 rows were rewritten, 2 had no sampled word" in found.promise["counted"]
    assert "Each of 36 rows" in found.promise["sentence"] and "2 rows had no sampled word" in found.promise["sentence"]
    assert 0 < found.measures["unchanged"]["mean"] < 1
    # The number in each row but one is kept.
    assert (
        found.remaining_identifiers.num_searched,
        found.remaining_identifiers.rows,
        len(found.remaining_identifiers.first),
    ) == (38, 37, core.SHOWN)
    assert found.remaining_identifiers.first[1] == (2, (("number", "1"),))
    (last,) = batch.page(39, 20)
    assert last.row == 40 and last.original.startswith("Row 39") and last.text.startswith("Row 39")
    assert batch.first_promise() == Picky.create(epsilon=2.0).guarantee(f"Row 0: {TEXT}").sentence()
    assert (
        batch.summarise() == found
        and BatchRequest.from_dict(json.loads(json.dumps(batch.request.to_dict()))) == batch.request
    )
    # The command, as it is printed, goes on with the very same run: there is nothing left to do.
    monkeypatch.chdir(tmp_path)
    line = core.command(batch.request)
    (tmp_path / "my notes-run").symlink_to(batch.run)
    before = (batch.run / "rows.jsonl").read_bytes()
    capsys.readouterr()
    assert cli.main(shlex.split(line)[3:]) == 0
    noted = capsys.readouterr().err
    assert "36 rows were rewritten, 2 had no sampled word" in noted
    assert "row 7: In my notes.csv, the row that ends in line 8 has" in noted
    assert (batch.run / "rows.jsonl").read_bytes() == before
    assert batch.release(".csv").read_bytes() == (tmp_path / "my notes-release.csv").read_bytes()
    # So does the Python.
    capsys.readouterr()
    exec(core.snippet(batch.request), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 40 and printed[39].startswith("Row 39") and "'label': '1'" in printed[39]


@pytest.mark.parametrize(
    "other",
    [
        {"keep": ("a, b", "c"), "column": "the text"},
        {"column": "-text"},
        {"column": "2", "keep": ("1",), "header": True},
        {"column": "2", "keep": (), "header": False},
        {"column": 'it\'s "x"', "keep": ("é",)},
    ],
)
def test_the_command_says_every_choice_so_that_it_is_read_as_meant(tmp_path, other):
    asked = made(tmp_path, **other).request
    argv = shlex.split(core.command(asked))[3:]
    args = cli.build_parser(argv).parse_args(argv)
    assert args.text_column == asked.column and args.data == asked.file
    assert arguments.mechanism_of(args).config == asked.setting.make().config
    assert tuple(next(csv.reader([args.keep], skipinitialspace=True), [])) == asked.keep
    default = not all(c.isdecimal() for c in (asked.column, *asked.keep))
    assert (default if args.header is None else args.header) == asked.header


def test_a_stopped_job_has_what_is_done_and_goes_on(tmp_path):
    batch = made(tmp_path, 200)
    task = dpt.Task(lambda done, of: task.cancel() if done >= 64 else None)
    with pytest.raises(dpt.Cancelled):
        batch.rewrite(task)
    found = batch.summarise()
    assert not batch.done and 64 <= found.rows == batch.written < 200
    assert batch.release(".txt").read_text(encoding="utf-8").count("\n") == found.rows
    assert batch.inspection(".jsonl").name == "my notes-PRIVATE-with-originals.jsonl"
    before = batch.page(0, 64)
    assert batch.rewrite().rows == 200 and batch.page(0, 64) == before
    batch.forget_run()
    assert batch.written == 0


def test_many_rows_are_measured_by_some_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(core, "MEASURED", 10)
    batch = made(tmp_path)
    assert batch.rewrite().measures["unchanged"]["n"] == 10


def test_rows_without_a_text_are_not_measured(tmp_path):
    lone = f'"{TEXT}"\n'
    found = []
    for name, rows in (("some.csv", lone), ("holes.csv", '""\n' * 4 + lone + '"  "\n' * 3)):
        (tmp_path / name).write_text("text\n" + rows, encoding="utf-8")
        folder = tmp_path / name.removesuffix(".csv")
        folder.mkdir()
        (tmp_path / name).rename(folder / name)
        setting = dpt.Setting("diffractor", {}, 1e-9)
        asked = BatchRequest(file=name, column="text", header=True, keep=(), setting=setting, polish=True)
        found.append(Batch(folder, asked).rewrite())
    shares = [f.measures["unchanged"] for f in found]
    assert [s["n"] for s in shares] == [1, 1] and max(s["mean"] for s in shares) < 0.8
    told = [int(x) for f in found for x in re.findall(r"(\d+)%", f.polish)]
    assert len(told) == 4 and max(told) < 80


def test_each_strategy_says_what_its_promise_is_about(tmp_path):
    said = {}
    for strategy in ("token", "record", "dataset"):
        asked = made(tmp_path).request
        setting = dpt.Setting("custext", {"strategy": strategy}, 2.0)
        m = Batch(tmp_path, BatchRequest(asked.file, asked.column, True, (), setting))
        said[strategy] = " ".join(m.meaning())
        assert list(m.strategies) == ["token", "record", "dataset"] and not made(tmp_path).strategies
    assert m.first_promise() == "", "it is that of all rows"
    assert "has separate noise" in said["token"] and "Within a row" in said["record"]
    assert "which rows share a word" in said["dataset"] and "only in this server's memory" in said["dataset"]


def test_a_shared_draw_leaves_no_key_beside_the_results(tmp_path):
    asked = made(tmp_path).request
    setting = dpt.Setting("custext", {"strategy": "dataset"}, 2.0)
    batch = Batch(tmp_path, BatchRequest(asked.file, asked.column, True, (), setting))
    seen: list[bytes] = []
    fresh = dpt.NoiseStream.__init__

    def remembered(self, *given, **named):
        fresh(self, *given, **named)
        seen.append(self._key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpt.NoiseStream, "__init__", remembered)
        batch.rewrite()
    files = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert seen and not any(key in files or key.hex().encode() in files for key in seen)
    lines = (batch.run / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    totals = {own["total"] for line in lines if not (own := json.loads(line)["dp"])["error"]}
    assert len(totals) == 1, "each row says what all of them spend"


def test_a_first_row_that_cannot_be_rewritten_is_no_error_of_the_run_and_rows_without_one_are(tmp_path, capsys):
    path, release = tmp_path / "a.jsonl", tmp_path / "r.csv"
    given = ["rewrite-data", "--mechanism", "custext", "--data", str(path), "--release", str(release)]
    path.write_text('{"text": "\\ud800 doctor"}\n{"text": "My sister left"}\n', encoding="utf-8")
    for _ in range(2):  # the same command a second time finds all done
        assert cli.main([*given, "--out", str(tmp_path / "one")]) == 0
        err = capsys.readouterr().err
        assert "1 row was rewritten and 1 had an error." in err and "row 1: " in err and "\nerror: " not in err
    release.unlink()
    path.write_text('{"text": 5}\n{"text": null}\n', encoding="utf-8")
    assert cli.main([*given, "--out", str(tmp_path / "other")]) == 2
    assert "No row of a.jsonl could be rewritten" in capsys.readouterr().err and not release.exists()


# --- pipes


def piped(monkeypatch, capsys, given: str, *argv: str) -> tuple[int, list[dict], str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "surrogateescape"))))
    with contextlib.suppress(SystemExit):
        status = cli.main(["rewrite-data", "--mechanism", Picky.name, *argv])
    out, err = capsys.readouterr()
    return status, [json.loads(line) for line in out.splitlines()], err


def test_rows_go_through_a_pipe_as_jsonl(monkeypatch, capsys, tmp_path):
    given = "".join(json.dumps({"text": t, "n": i}) + "\n" for i, t in enumerate([TEXT, None, "refused", TEXT]))
    status, rows, err = piped(monkeypatch, capsys, given, "--data", "-", "--out", "-", "--keep", "n", "--epsilon", "2")
    assert status == 0 and [r["n"] for r in rows] == [0, 1, 2, 3] and rows[0]["dp"]["total"] == 6.0
    assert [r["text"] is None for r in rows] == [False, True, True, False] and "2 rows had an error" in err
    odd = '{"text": "a", "n": NaN}\n{"text": "a", "n": "b\u2028c"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(odd.encode())))
    assert cli.main(["rewrite-data", "--mechanism", Picky.name, "--data", "-", "--out", "-", "--keep", "n"]) == 0
    out = capsys.readouterr().out
    assert '"n": null' in out and "NaN" not in out and "\u2028" not in out
    assert [json.loads(line)["n"] for line in out.splitlines()] == [None, "b\u2028c"]
    status, rows, err = piped(monkeypatch, capsys, '{"text": "a"}\n{"te', "--data", "-", "--out", "-", "--batch", "1")
    assert status == 2 and len(rows) == 1 and "Standard input, line 2, is not valid JSON" in err
    status, rows, err = piped(monkeypatch, capsys, "\udcff", "--data", "-", "--out", "-")
    assert status == 2 and "not UTF-8 in line 1" in err
    status, rows, err = piped(monkeypatch, capsys, '{"text": null}\n{"text": 5}\n', "--data", "-", "--out", "-")
    assert status == 2 and len(rows) == 2 and "No row could be rewritten" in err
    for wrong, said in (
        (("--data", "-", "--out", str(tmp_path / "o")), "cannot be resumed"),
        (("--data", "-", "--out", "-", "--release", "r.csv"), "--release needs stored rows"),
        (("--data", "-", "--out", str(tmp_path / "o"), "--release", "r.odt"), "--out -"),
        (("--data", "a.csv", "--out", str(tmp_path / "o"), "--exact-cells"), "needs --release or --inspection"),
        (("--data", "a.csv", "--out", str(tmp_path / "o"), "--release", "r.odt"), "Use one of the extensions"),
    ):
        status, rows, err = piped(monkeypatch, capsys, "", *wrong)
        assert (status, rows) == (2, []) and said in err and not (tmp_path / "o").exists()


# --- the document


def block(name: str) -> str:
    return DOCUMENTS["docs/batch.md"].partition(f"<!-- runs: {name} -->\n```python\n")[2].partition("```")[0]


@pytest.mark.parametrize("name", ["pandas", "generator"])
def test_the_python_of_the_document_runs(name, tmp_path, monkeypatch, capsys):
    rows = [{"text": TEXT, "label": "a"}, {"text": None, "label": "b"}]
    (tmp_path / "messages.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(block(name), name, "exec"), {})
    if name == "pandas":
        assert "no text in the column" in capsys.readouterr().out
    else:
        lines = [json.loads(line) for line in (tmp_path / "rewritten.jsonl").open(encoding="utf-8")]
        assert lines[0]["text"].startswith("My ") and lines[1]["error"]


def test_a_polished_run_says_so_in_every_line_and_what_it_brought_back(tmp_path, capsys):
    file = tmp_path / "letters.csv"
    file.write_text("text,label\n" + "My doctor sent a letter to my sister.,a\n" * 3, encoding="utf-8")
    given = ["rewrite-data", "--data", str(file), "--keep", "label", "--mechanism", "diffractor", "--epsilon", "0.7"]
    out, release = tmp_path / "run", tmp_path / "release.jsonl"
    assert cli.main([*given, "--polish", "--out", str(out), "--release", str(release)]) == 0
    assert "The clean-up spent no ε. Before it" in capsys.readouterr().err
    lines = [json.loads(line) for line in (out / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(line["dp"]["origin"] == "polished" and line["dp"]["drawn"] for line in lines)
    assert any(line["dp"]["drawn"] != line["text"] for line in lines)
    sent = [json.loads(line) for line in release.read_text(encoding="utf-8").splitlines()]
    assert [r["text"] for r in sent] == [line["text"] for line in lines] and set(sent[0]) == {"text", "label"}
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))["polish"]
    texts = ["My doctor sent a letter to my sister."] * 3
    for name, column in (("before", [x["dp"]["drawn"] for x in lines]), ("after", [x["text"] for x in lines])):
        assert result[name] == pytest.approx(np.mean(metrics.score("unchanged", texts, column)))
    assert cli.main([*given, "--out", str(out)]) != 0, "the folder holds a polished run"
    assert cli.main([*given, "--polish", "--workers", "2", "--out", str(tmp_path / "other")]) != 0
    assert "Remove --engine and --workers" in capsys.readouterr().err


def test_a_polished_job_is_what_its_command_makes():
    asked = core.BatchRequest("a.csv", "text", True, (), dpt.Setting("custext", {}, 3.0), polish=True)
    assert core.BatchRequest.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked
    assert core.command(asked).count("--polish") == 1 and ", polish=True)" in core.snippet(asked)
    plain = dataclasses.replace(asked, polish=False)
    assert "polish" not in plain.to_dict() and "polish" not in core.command(plain) + core.snippet(plain)


def test_the_guarantee_of_a_file_says_what_made_it_and_holds_no_word_of_the_blocklist(tmp_path):
    asked = made(tmp_path).request
    setting = dpt.Setting("custext", {"never": ("bergen", "heart")}, 1.0)
    batch = Batch(tmp_path, dataclasses.replace(asked, setting=setting))
    file = batch.guarantee_file(batch.rewrite())
    assert file["mechanism"] == batch.request.mechanism and file["config"]["epsilon"] == batch.request.setting.epsilon
    assert file["software"].endswith(dpt.__version__) and file["rows"] == 40
    assert file["config"]["never"] == "2 words" and "heart" not in json.dumps(file)
    assert file["not_protected_in_the_first_row"] and "exposed" not in file


@pytest.mark.parametrize("setting", [{}, {"strategy": "record"}, {"strategy": "dataset"}, {"surrogates": True}])
def test_the_guarantee_before_a_run_is_that_of_its_result(tmp_path, setting):
    rows = ["id,text", "1,My sister saw my doctor and my sister.", "2,42.", "3,", "4,A letter from the doctor.", "5"]
    (tmp_path / "notes.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    asked = BatchRequest("notes.csv", "text", True, (), dpt.Setting("custext", setting, 2.0))
    batch = Batch(tmp_path, asked)
    before, after = batch.forecast(), batch.rewrite()
    promised = before.guarantee.to_dict()
    for name in ("one_row", "all_rows", "one_row_optimal", "all_rows_optimal"):
        assert promised[name] == after.promise[name]
    assert promised["rows"] + before.uncovered == after.promise["rows"] - after.promise["errors"]
    assert before.failing == after.promise["errors"] == 1
    # An unknown word is replaced at random, and a flagged one by a stand-in: their rows change and are not protected.
    assert before.named == [2, 3] and after.untouched == (2, 3)
    assert before.uncovered == after.promise["untouched"] == 2


def test_untouched_rows_are_named_up_to_a_number(tmp_path):
    (tmp_path / "notes.csv").write_text("text\n" + "...\n" * 30, encoding="utf-8")
    batch = Batch(tmp_path, BatchRequest("notes.csv", "text", True, (), dpt.Setting("custext", {}, 2.0)))
    before, after = batch.forecast(), batch.rewrite()
    assert tuple(before.named) == after.untouched == tuple(range(1, 21)) and before.uncovered == 30
    assert number_list(after.untouched, 30).endswith("19, 20 and 10 more")
    assert [number_list(range(1, n + 1), n) for n in (1, 2, 3)] == ["1", "1 and 2", "1, 2 and 3"]


def test_words_that_differ_are_marked_and_hostile_ones_stay_text():
    before, after = marked_cells("The doctor saw  [my] *sister*", "the nurse saw ]a]( *sister* now")
    assert before == r"The :orange-background[doctor] saw :orange-background[\[my\]] \*sister\*"
    assert after == r"the :orange-background[nurse] saw :orange-background[\]a\]\(] \*sister\* :orange-background[now]"
    assert marked_cells("The same.", "the same.") == (r"The same\.", r"the same\.")
