"""Columns by name, number and position; how tables, JSONL, plain text and Parquet are read, and within which limits."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import tracemalloc
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from data.made_files import paragraph, word
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core import cli
from dptext_core.data import dialects, lines, parquet_rows, tables
from dptext_core.data.columns import unique_names
from dptext_core.data.reading_notes import NoteKind, ReadingNote, merge_notes
from dptext_core.data.records import UnreadableRow
from dptext_studio.server import batch

MARK = "\ufeff"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def look(path: Path) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Columns and rows as the page has them; those of the command are the same."""
    found = batch.look(path)
    data = tables.source(path, found.columns, each=True)
    rows = [tuple(row.values()) for row in data.rows()]
    assert [tuple(row.values()) for row in found.rows] == rows[:10] and found.count == len(rows) == data.count
    return found.columns, rows


# --- columns --------------------------------------------------------------------------------------------------------


def doubled(path: Path) -> Path:
    first, second = pyarrow.array(["private 1", "private 2"]), pyarrow.array(["one", "two"])
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays([first, second], names=["text", "text"]), path)
    return path


def test_parquet_columns_of_one_name_are_those_at_their_positions(tmp_path):
    path = doubled(tmp_path / "a.parquet")
    for asked, expected in ((("1", "2"), ["private 1", "one"]), (("2",), ["one"]), (("1",), ["private 1"])):
        assert list(next(tables.source(path, asked, True).rows()).values()) == expected
    names = tables.heading(path)
    assert list(next(tables.source(path, names[::-1]).rows()).values()) == ["one", "private 1"]
    with pytest.raises(dpt.InputError, match="2 columns named 'text'"):
        tables.source(path, ("text",))


def test_what_is_released_of_doubled_parquet_columns_are_rewrites(tmp_path, capsys):
    argv = ["rewrite-data", "--data", str(doubled(tmp_path / "a.parquet")), "--out", "-", "--epsilon", "1"]
    assert cli.main([*argv, "--text-column", "1", "--keep", "2", "--mechanism", "custext"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["2"] for row in rows] == ["one", "two"]


@pytest.mark.parametrize("names", [("a.b", "a"), ("a", "a.b"), ("x", "x.y.z"), ("text", "", "text", "c")])
def test_parquet_names_with_dots_blanks_and_twins_are_no_paths(tmp_path, names):
    table = pyarrow.Table.from_arrays([pyarrow.array([f"cell {i}"]) for i in range(len(names))], names=names)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    cells = tuple(f"cell {i}" for i in range(len(names)))
    assert look(tmp_path / "a.parquet") == (unique_names(names), [cells])
    for i in range(len(names)):
        (row,) = tables.source(tmp_path / "a.parquet", (str(i + 1),), True).rows()
        assert list(row.values()) == [cells[i]]


SAME = {
    "a.csv": "id,text,label\n1,My doctor,good\n",
    "a.tsv": "id\ttext\tlabel\n1\tMy doctor\tgood\n",
    "a.txt": "My doctor\n",
    "a.jsonl": '{"id": 1, "text": "My doctor", "label": "good"}\n',
    "a.docx": "",
    "a.parquet": "",
}


@pytest.mark.parametrize("name", SAME)
def test_an_original_is_never_released_beside_its_rewrite(tmp_path, capsys, name):
    path = tmp_path / name
    if name.endswith("docx"):
        word(path, paragraph("My doctor"))
    elif name.endswith("parquet"):
        pyarrow.parquet.write_table(pyarrow.table({"id": [1], "text": ["My doctor"]}), path)
    else:
        write(path, SAME[name])
    number = "1" if name in ("a.txt", "a.docx") else "2"
    argv = ["rewrite-data", "--data", str(path), "--mechanism", "custext", "--epsilon", "1"]
    others = [("text", number), ("text", "text"), (number, "text"), (number, number)]
    for column, keep in others[1:2] if name.endswith("jsonl") else others:
        for out in (str(tmp_path / "out"), "-"):
            status = cli.main([*argv, "--text-column", column, "--keep", keep, "--header", "--out", out])
            output = capsys.readouterr()
            assert status == 2 and not output.out and not (tmp_path / "out").exists(), (column, keep)
            assert "same column" in output.err or "twice" in output.err or "cannot be copied" in output.err


def test_every_option_that_names_a_column_is_compared_by_the_column(tmp_path, capsys):
    path = write(tmp_path / "a.csv", "text,rewrite,label\n" + "My doctor,a nurse,good\nA song,a tune,bad\n" * 5)
    downstream = ["downstream", "--train", str(path), "--test", str(path), "--header", "--out", str(tmp_path / "out")]
    score = ["score", str(path), "--header", "--original"]
    for argv in (
        [*downstream, "--text-column", "text", "--label-column", "1"],
        [*downstream, "--text-column", "text", "--label-column", "text"],
        [*score, "text", "--private", "1"],
        [*score, "text", "--private", "text"],
        [*score, "text", "--private", "rewrite", "--label", "2"],
        [*score, "text", "--private", "rewrite", "--author", "1"],
        [*score, "text", "--private", "rewrite", "--label", "label", "--author", "3"],
    ):
        assert cli.main(argv) == 2
        assert "column" in capsys.readouterr().err and not (tmp_path / "out").exists()


@given(st.lists(st.sampled_from(["", " ", "text", "text (column 1)", "column 2", "1", "a"]), max_size=6))
def test_columns_get_names_that_differ_and_keep_their_own(given_names):
    names = unique_names(given_names)
    assert len(set(names)) == len(names) == len(given_names) and all(n.strip() for n in names)
    assert all(n == g for n, g in zip(names, given_names, strict=True) if g.strip() and given_names.count(g) == 1)


# --- tables ---------------------------------------------------------------------------------------------------------

TABLES = {
    "comma-in-header.csv": (
        "id;text (free, optional);city, region\n1;My doctor saw me;Bergen\n2;Late again;Oslo\n",
        ("id", "text (free, optional)", "city, region"),
        [("1", "My doctor saw me", "Bergen"), ("2", "Late again", "Oslo")],
    ),
    "sep.csv": ("sep=;\nid;text\n1;My doctor\n", ("id", "text"), [("1", "My doctor")]),
    "mark-sep.csv": (f'{MARK}"sep=|"\r\nid|text\r\n1|a;b\r\n', ("id", "text"), [("1", "a;b")]),
    "sep.tsv": ("sep=\t\nid\ttext\n1\tMy doctor\n", ("id", "text"), [("1", "My doctor")]),
    "index.csv": (",text,label\n0,My doctor,good\n", ("column 1", "text", "label"), [("0", "My doctor", "good")]),
    "twins.csv": (
        "text,text,\na,b,c\n",
        ("text (column 1)", "text (column 2)", "column 3"),
        [("a", "b", "c")],
    ),
    "prose.csv": ("text\nWell; it rained\nNo; it did not\n", ("text",), [("Well; it rained",), ("No; it did not",)]),
    "decimals.csv": ("id;price\n1;2,5\n2;3,7\n", ("id", "price"), [("1", "2,5"), ("2", "3,7")]),
    "sentences.csv": ("id;text\n1;Hello, you\n2;Yes, me\n", ("id", "text"), [("1", "Hello, you"), ("2", "Yes, me")]),
    "tabs.csv": ("id\ttext\n1\tHello, you\n", ("id", "text"), [("1", "Hello, you")]),
    "bars.csv": ("id|text\n1|Hello; you\n", ("id", "text"), [("1", "Hello; you")]),
    "marks.csv": (f"{MARK}{MARK}text\na\n{MARK}b\n", ("text",), [("a",), ("b",)]),
    "joined.tsv": (f"{MARK}text\tid\na\t1\n{MARK}b\t2\n", ("text", "id"), [("a", "1"), ("b", "2")]),
    "mac.csv": ('id,text\r1,"a, b"\r2,c\r', ("id", "text"), [("1", "a, b"), ("2", "c")]),
    "mac.tsv": ("id\ttext\r1\ta", ("id", "text"), [("1", "a")]),
    "newline.tsv": ('text\n"My doctor.\nShe left."\nLate\n', ("text",), [("My doctor.\nShe left.",), ("Late",)]),
    "doubled.tsv": ('id\ttext\n1\t"She said ""no"""\n', ("id", "text"), [("1", 'She said "no"')]),
    "quoted.tsv": ('"id"\t"text"\n"1"\t"Hello"\n', ("id", "text"), [("1", "Hello")]),
    "one-row.tsv": ('id\ttext\n1\t"My doctor\nsaid\tno."\n', ("id", "text"), [("1", "My doctor\nsaid\tno.")]),
    "one-row-first.tsv": ('text\tid\n"My\tdoctor\nsaid no."\t1\n', ("text", "id"), [("My\tdoctor\nsaid no.", "1")]),
    "tab.tsv": ('id\ttext\n1\t"a\tb"\n', ("id", "text"), [("1", "a\tb")]),
    "raw.tsv": (
        'id\ttext\n1\t"Hello" she said\n2\tone, "two\n',
        ("id", "text"),
        [("1", '"Hello" she said'), ("2", 'one, "two')],
    ),
    "bare.tsv": ('id\ttext\n1\t"Hello"\n2\tBye\n', ("id", "text"), [("1", '"Hello"'), ("2", "Bye")]),
    "open.tsv": ('id\ttext\n1\t"Hello\n2\tBye\n', ("id", "text"), [("1", '"Hello'), ("2", "Bye")]),
    "mac.txt": ("My doctor\rLate again\rWe waited\r", ("text",), [("My doctor",), ("Late again",), ("We waited",)]),
    "marks.txt": (f"{MARK}{MARK}a\n{MARK}b\n", ("text",), [("a",), ("b",)]),
    "optional.jsonl": (
        '{"id": 1, "text": "a", "to": null}\n{"text": "b", "more": 2}\n',
        ("id", "text", "to", "more"),
        [(1, "a", None, None), (None, "b", None, 2)],
    ),
    "marks.jsonl": (f'{MARK}{MARK}{{"text": "a"}}\n{MARK}{{"text": "b"}}\n', ("text",), [("a",), ("b",)]),
    "mac.jsonl": ('{"text": "a"}\r{"text": "b"}\r', ("text",), [("a",), ("b",)]),
}


@pytest.mark.parametrize("name", TABLES)
def test_page_and_command_read_the_rows_that_are_there(tmp_path, name):
    content, columns, rows = TABLES[name]
    assert look(write(tmp_path / name, content)) == (columns, rows)


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("comma-in-header.csv", [ReadingNote(NoteKind.SEPARATOR, detail=";")]),
        ("tabs.csv", [ReadingNote(NoteKind.SEPARATOR, detail="\t")]),
        ("newline.tsv", [ReadingNote(NoteKind.QUOTES)]),
        ("raw.tsv", []),
        ("index.csv", []),
    ],
)
def test_how_a_table_is_read_is_said_where_it_is_unusual(tmp_path, capsys, name, notes):
    path = write(tmp_path / name, TABLES[name][0])
    assert list(batch.look(path).notes) == notes
    column = TABLES[name][1][-1]
    argv = ["rewrite-data", "--data", str(path), "--text-column", column, "--mechanism", "custext", "--out", "-"]
    assert cli.main([*argv, "--epsilon", "1"]) == 0
    said = capsys.readouterr().err
    assert all(f"note: {name}: {n.sentence()}" in said for n in notes)


def test_notes_of_several_files_are_added_up():
    pages, mark = ReadingNote(NoteKind.PAGES, 2, 4), ReadingNote(NoteKind.SEPARATOR, detail=";")
    assert merge_notes([pages, mark, ReadingNote(NoteKind.PAGES, 1, 6)]) == (ReadingNote(NoteKind.PAGES, 3, 10), mark)
    sentences = [ReadingNote(kind, n, 5, ";").sentence() for kind in NoteKind for n in (1, 2)]
    assert all(s[-1] == "." and "None" not in s for s in sentences) and pages.to_dict()["kind"] == "pages"


#: A cell of separators and marks alone can be read in two ways in a tiny file, and one of the readings is as good.
CELL = st.text(st.sampled_from("ab\"',;=é|\t\n\r .1\u2028"), max_size=8).filter(
    lambda cell: not set(cell) & set("\"',;=|\t\n\r\u2028") or set(cell) & set("abé1")
)
DIALECTS = {
    "excel.csv": dict(delimiter=",", lineterminator="\r\n"),
    "european.csv": dict(delimiter=";", lineterminator="\r\n"),
    "all.csv": dict(delimiter=",", quoting=csv.QUOTE_ALL, lineterminator="\n"),
    "excel.tsv": dict(delimiter="\t", lineterminator="\r\n"),
    "all.tsv": dict(delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n"),
}


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
@example([("a\rb", "c"), ("d", "e")])
@example([('"', '"\n"')])
@example([("", "1\n\t")])
@example([("", ""), ("", " "), ("", " "), ("", " ")])
def test_what_a_spreadsheet_writes_is_read_as_it_was(tmp_path_factory, name, rows):
    out = io.StringIO()
    writer = csv.writer(out, **DIALECTS[name])
    writer.writerow(("identifier", "text"))
    writer.writerows(rows)
    # Nothing tells a quoted cell of TSV without doubled marks, tabs or line ends from text in quotation marks.
    needed = any(mark in cell for row in rows for cell in row for mark in '"\t\n')
    assume(name != "excel.tsv" or needed or '"' not in out.getvalue())
    # Nor a cell of several lines with a tab in each from texts with one mark each, where the file has more rows.
    tabs = {line.count("\t") for line in out.getvalue().split("\n")[:-1]}
    assume(name != "excel.tsv" or len(rows) == 1 or tabs != {1} or '\n"' not in out.getvalue().replace("\t", ""))
    # A blank after every semicolon looks like prose.
    assume(name != "european.csv" or not all(row[1][:1] == " " for row in rows))
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(out.getvalue().encode())
    data = tables.source(path, ("identifier", "text"))
    assert [tuple(row.values()) for row in data.rows()] == rows


VALUE = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=6)
OBJECT = st.dictionaries(st.sampled_from(["text", "a", "b", "c d", "\u00e9"]), VALUE, max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(OBJECT, min_size=1, max_size=6).filter(any), st.sampled_from(["\n", "\r\n", "\r"]))
def test_rows_of_jsonl_need_not_have_the_same_names(tmp_path_factory, objects, end):
    path = tmp_path_factory.getbasetemp() / "objects.jsonl"
    path.write_bytes("".join(json.dumps(o) + end for o in objects).encode())
    columns = tables.heading(path)
    assert set(columns) == {k for o in objects for k in o}
    assert list(tables.source(path, columns).rows()) == [{c: o.get(c) for c in columns} for o in objects]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(["text", "a", "a.b", ""]), min_size=1, max_size=4),
    st.lists(st.text(max_size=5), min_size=1, max_size=4),
    st.sampled_from(["string", "large_string", "binary", pyarrow.dictionary(pyarrow.int8(), "string")]),
)
def test_parquet_gives_back_the_texts_that_were_written(tmp_path_factory, names, texts, kind):
    path = tmp_path_factory.getbasetemp() / "texts.parquet"
    given_texts = [t.encode() for t in texts] if kind == "binary" else texts
    arrays = [pyarrow.array(given_texts[i:] + given_texts[:i], kind) for i in range(len(names))]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(arrays, names=names), path)
    columns = tables.heading(path)
    found = [tuple(row.values()) for row in tables.source(path, columns).rows()]
    assert found == list(zip(*(texts[i:] + texts[:i] for i in range(len(names))), strict=True))


# --- Parquet --------------------------------------------------------------------------------------------------------


def test_bytes_that_are_text_are_text_and_others_are_named(tmp_path):
    table = pyarrow.table(
        {
            "text": pyarrow.array([b"My doctor", "Zoë".encode()]),
            "picture": pyarrow.array([b"\x89PNG\xff", b"\xff"]),
            "nested": pyarrow.array([{"bytes": b"\xff", "path": "a"}] * 2),
            "listed": pyarrow.array([[b"a"], [b"b", None]]),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert look(tmp_path / "a.parquet") == (("text", "listed"), [("My doctor", ["a"]), ("Zoë", ["b", None])])
    notes = batch.look(tmp_path / "a.parquet").notes
    assert [(n.kind, n.detail) for n in notes] == [(NoteKind.BYTES, "picture"), (NoteKind.BYTES, "nested")]
    with pytest.raises(dpt.InputError, match="bytes that are not UTF-8 in the column 'picture'"):
        tables.source(tmp_path / "a.parquet", ("text", "picture"))


def test_a_long_text_that_many_rows_share_is_held_once(tmp_path):
    """A dictionary of 60 kB on the disk, which is 1 GB once it is written out for each row."""
    long = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1000, "int32"), pyarrow.array(["a" * 1_000_000]))
    pyarrow.parquet.write_table(pyarrow.table({"text": long, "id": list(range(1000))}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 200_000
    before = pyarrow.default_memory_pool().max_memory()
    tracemalloc.start()
    try:
        assert tables.source(tmp_path / "a.parquet", ("text", "id")).count == 1000
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()
    assert pyarrow.default_memory_pool().max_memory() - before < 100 << 20


def test_a_row_group_that_unpacks_to_too_much_is_refused_where_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "UNPACKED", 100_000)
    table = pyarrow.table({"text": [f"{i} " + "a" * 100 for i in range(2000)], "id": list(range(2000))})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert tables.source(tmp_path / "a.parquet", ("id",)).count == 2000
    with pytest.raises(dpt.InputError, match="smaller row groups"):
        tables.source(tmp_path / "a.parquet", ("text",))
    pyarrow.parquet.write_table(table, tmp_path / "b.parquet", row_group_size=100)
    assert tables.source(tmp_path / "b.parquet", ("text",)).count == 2000


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "begin", "part"),
    [
        ("a.csv", b"id,text\n1,", b"a"),
        ("a.csv", b"id,text\n1,", b"a,"),
        ("a.csv", b'id,text\n1,"', b"a\n"),
        ("a.csv", b"", b"a"),
        ("a.tsv", b"id\ttext\n1\t", b"a"),
        ("a.txt", b"text\n", b"a"),
        ("a.txt", b"text\r", b"a"),
        ("a.jsonl", b'{"text": "', b"a"),
    ],
)
def test_a_row_without_end_costs_no_more_memory_than_the_limit(tmp_path, monkeypatch, name, begin, part):
    monkeypatch.setattr(lines, "LONGEST", 1 << 20)
    path = write(tmp_path / name, begin + part * ((40 << 20) // len(part)))
    for read in (batch.look, lambda p: tables.source(p, ("1",), each=True)):
        tracemalloc.start()
        try:
            with pytest.raises(dpt.InputError, match=rf"{name}, line \d+, .*more than 1 MB"):
                read(path)
            assert tracemalloc.get_traced_memory()[1] < 24 << 20
        finally:
            tracemalloc.stop()


def test_a_table_of_too_many_columns_is_refused_before_its_rows_are_read(tmp_path):
    csv_file = write(tmp_path / "a.csv", "," * 20_000 + "\n")
    names = "".join(json.dumps({f"{i}-{k}": 1 for k in range(100)}) + "\n" for i in range(101))
    for path in (csv_file, write(tmp_path / "a.jsonl", names)):
        with pytest.raises(dpt.InputError, match="at most 10,000 are read"):
            batch.look(path)


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl", "a.docx", "a.parquet"])
def test_reading_stops_at_the_first_row_that_is_too_many(tmp_path, name):
    path = tmp_path / name
    if name == "a.docx":
        word(path, paragraph("a") * 20)
    elif name == "a.parquet":
        pyarrow.parquet.write_table(pyarrow.table({"text": ["a"] * 20}), path)
    else:
        write(path, ('{"text": "a"}\n' if name == "a.jsonl" else "text\n") * 20 + '{"text": "a"}\n')
    with pytest.raises(dpt.InputError, match="more than 10 rows, the limit"):
        batch.look(path, most=10)
    assert batch.look(path, most=21).count >= 19


def test_what_comes_through_a_pipe_has_the_same_limits_and_marks(monkeypatch, capsys):
    class Pipe:
        def __init__(self, data: bytes):
            self.buffer = io.BytesIO(data)

    monkeypatch.setattr(lines, "LONGEST", 1000)
    argv = ["rewrite-data", "--data", "-", "--out", "-", "--mechanism", "custext", "--epsilon", "1", "--keep", "to"]
    given_lines = f'{MARK}{{"text": "the doctor"}}\n{MARK}{{"text": "the nurse", "to": 1}}\n'.encode()
    monkeypatch.setattr(sys, "stdin", Pipe(given_lines))
    assert cli.main(argv) == 0
    assert [json.loads(line)["to"] for line in capsys.readouterr().out.splitlines()] == [None, 1]
    monkeypatch.setattr(sys, "stdin", Pipe(given_lines + b'{"text": "' + b"a" * 2000))
    assert cli.main(argv) == 2 and "Standard input, line 3, belongs to a row" in capsys.readouterr().err


def test_broken_rows_of_quoted_tsv_are_told_from_whole_ones(tmp_path):
    content = 'id\ttext\n1\t"one\nline"\n2\n3\t"a ""b"""\n4\tc\n'
    data = tables.source(write(tmp_path / "a.tsv", content), ("id", "text"), each=True)
    rows = list(data.rows())
    assert data.unread == 1 and isinstance(rows[1], UnreadableRow) and "line 4" in rows[1].why
    assert [row["text"] for row in rows if not isinstance(row, UnreadableRow)] == ["one\nline", 'a "b"', "c"]
    assert dialects.dialect_of(tmp_path / "a.tsv").quoted


@pytest.mark.parametrize("first", ["2,1", "3,1,2", "0,1", "1,2"])
def test_numbers_in_the_first_row_may_be_names_and_are_asked_about(tmp_path, first):
    width = first.count(",") + 1
    path = write(tmp_path / "a.csv", first + "\n" + ",".join(f"cell {i}" for i in range(width)) + "\n")
    with pytest.raises(dpt.InputError, match="--header"):
        tables.source(path, ("1",))
    at = first.split(",").index("1")
    assert list(tables.source(path, ("1",), True).rows()) == [{"1": f"cell {at}"}]
    assert next(tables.source(path, ("1",), False).rows()) == {"1": first.split(",")[0]}


@pytest.mark.parametrize("first", ["2,good film", "good film,1", "1,", "1,1.5"])
def test_a_first_row_with_anything_but_numbers_needs_no_word_about_it(tmp_path, first):
    path = write(tmp_path / "a.csv", first + "\n" + first + "\n")
    assert [row["1"] for row in tables.source(path, ("1",)).rows()] == [first.split(",")[0]] * 2


def test_a_number_of_thousands_of_digits_is_no_column(tmp_path):
    for name in ("a.csv", "a.txt"):
        with pytest.raises(dpt.InputError, match="no column numbered"):
            tables.source(write(tmp_path / name, "text\nMy doctor\n"), ("text", "9" * 5000))


def test_two_texts_with_one_quotation_mark_each_stay_two_rows(tmp_path):
    path = write(tmp_path / "a.tsv", 'text\tlabel\n"I came home\t1\nand slept."\t0\nIt rained.\t1\n')
    assert look(path)[1] == [('"I came home', "1"), ('and slept."', "0"), ("It rained.", "1")]
    path = write(tmp_path / "b.tsv", 'text\tlabel\n"I came home\nand slept."\t0\n')
    assert look(path)[1] == [("I came home\nand slept.", "0")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
def test_a_pipe_is_said_to_be_one_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(dpt.InputError, match="is a pipe"):
        tables.source(tmp_path / "a.csv", ("text",))


def strange(kind: str) -> pyarrow.Array:
    """Return a value of Parquet for which Python has none."""
    if kind == "far time":
        return pyarrow.array([2**62], pyarrow.timestamp("us"))
    if kind == "far date":
        return pyarrow.array([2**30], pyarrow.date32())
    if kind == "twins":
        return pyarrow.StructArray.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["x", "x"])
    ends = pyarrow.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0]))
    return pyarrow.Array.from_buffers(pyarrow.string(), 1, [None, ends, pyarrow.py_buffer(b"\xff\xfe")])


@pytest.mark.parametrize("kind", ["far time", "far date", "twins", "no text"])
def test_a_value_that_python_lacks_is_named_by_its_column(tmp_path, kind):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["My doctor"], "odd": strange(kind)}), path)
    assert list(tables.source(path, ("text",)).rows()) == [{"text": "My doctor"}]
    with pytest.raises(dpt.InputError, match="'odd' that cannot be read"):
        tables.source(path, ("text", "odd"))


def long_lists(kind: str, n: int) -> pyarrow.Array:
    """Return one row that holds so many values in few bytes."""
    inner = pyarrow.array([0] * n, pyarrow.int8())
    whole = pyarrow.ListArray.from_arrays(pyarrow.array([0, n], pyarrow.int32()), inner)
    if kind == "list in list":
        return pyarrow.ListArray.from_arrays(pyarrow.array([0, 1], pyarrow.int32()), whole)
    if kind == "list in struct":
        return pyarrow.StructArray.from_arrays([whole], names=["x"])
    if kind == "map":
        return pyarrow.MapArray.from_arrays(pyarrow.array([0, n], pyarrow.int32()), pyarrow.array(range(n)), inner)
    return whole


@pytest.mark.parametrize("kind", ["list", "list in list", "list in struct", "map"])
def test_a_row_of_parquet_holds_a_bounded_number_of_values(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(parquet_rows, "VALUES", 1000)
    for n in (400, 1001):
        path = tmp_path / f"{n}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"text": ["a"], "l": long_lists(kind, n)}), path)
        assert tables.source(path, ("text",)).count == 1
        if n < 1000:
            assert tables.source(path, ("text", "l")).count == 1
        else:
            with pytest.raises(dpt.InputError, match="more than 1,000 values in one row"):
                tables.source(path, ("text", "l"))


def test_a_few_bytes_that_stand_for_millions_of_values_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "SPARSE", 100_000)
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a"], "l": long_lists("list", 200_000)}), path)
    assert path.stat().st_size < 2000 and tables.source(path, ("text",)).count == 1
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", None)
    with pytest.raises(dpt.InputError, match="unpacks to more"):
        tables.source(path, ("text", "l"))
