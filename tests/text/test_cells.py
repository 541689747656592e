"""Files that others open, read back as their usual readers read them."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import unicodedata
from pathlib import Path

import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core.data import release_files, tables
from dptext_core.data.rewriting import rewrite_data
from dptext_core.text import cells

#: What can begin a formula or end a cell, what hides it, and what is plain.
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208a\u2212"
HIDDEN = " \u00a0\u200b\u200d\u2060\ufeff\u00ad\u034f\u3164\u2800\ufe0f\u0301\x0b"
ENDS = "\t\r\n\0\x1a\x0c\x1c\x85\u2028\u2029,;\"'|"
text = st.text(st.sampled_from(SIGNS + HIDDEN + ENDS + "a1.\u00e9"), max_size=12)
#: As a released text or the name of a column can be: anything that JSON can hold.
rows = st.lists(st.tuples(text, text), min_size=1, max_size=4)
HOSTILE = [
    ('"=HYPERLINK(""http://x"",""a"")"', "x"),
    ('"never closed', "=1+1"),
    ("a;=1+1", "b\n=1+1"),
    ("\u200b=1+1", "\t=1+1"),
    ("a\0=1", "\x1a"),
    ("-3.5", "+1"),
    ("=1", "@SUM(1)"),
    ("+1\n@x", "-1,\u200b"),
    ('a\n"\u00ad+1', 'a,"=1"'),
]


class Echo(dpt.Mechanism):
    """Gives back what it reads: what was written by somebody who wishes harm."""

    name, title, family, notion = "echo", "Echo", "test", "none"
    config_cls = type(dpt.get_mechanism("diffractor").config)

    def guarantee(self, text):
        return dpt.Guarantee("none", 1.0, "text", "", 0, 0.0, reason="Nothing is hidden.")

    def rewrite_prepared(self, prepared, stream, task):
        pieces = (dpt.Release((0, len(prepared.text)), prepared.text, 0.0, "rule"),) if prepared.text else ()
        return dpt.RewriteResult.of(self, prepared, stream, prepared.text, pieces=pieces)


def released(names, given, *suffixes, exact=()) -> list[bytes]:
    """Releases of these rows, those of ``exact`` exact, made the way that every release is: by a run over a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in given))
        data = tables.source(path, names)
        rewrite_data(data, Echo.create(epsilon=1.0), Path(folder, "run"), column=names[0], keep=names[1:])
        out = [Path(folder, f"out{suffix}") for suffix in suffixes]
        for path in out:
            release_files.release(Path(folder, "run"), names[0], names[1:], path, exact=path.suffix in exact)
        return [path.read_bytes() for path in out]


# --- what a reader takes for a formula, written down apart from what writes


def runs(cell: str) -> bool:
    """Whether some spreadsheet runs it: it begins like a formula once what is not seen is taken away."""
    seen = "".join(
        c for c in cell if unicodedata.category(c)[0] not in "ZCM" and c not in "\u115f\u1160\u3164\uffa0\u2800"
    )
    begin = unicodedata.normalize("NFKC", seen[:1]) if seen else ""
    if begin[:1] not in tuple("=+-@\u2212"):
        return False
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return True
    return False


def rfc4180(data: str) -> list[list[str]]:
    """CSV to the letter: every row ends with CR LF; a quote stands in a quoted cell alone, and twice."""
    found, row, i = [], [], 0
    while i < len(data):
        if data[i] == '"':
            cell, i = "", i + 1
            while True:
                at = data.index('"', i)  # a quote that is never closed raises
                cell, i = cell + data[i:at], at + 1
                if data[i : i + 1] != '"':
                    break
                cell, i = cell + '"', i + 1
        else:
            end = min(k for k in (data.find(",", i), data.find("\r\n", i)) if k >= 0)
            cell, i = data[i:end], end
            assert '"' not in cell and "\n" not in cell and "\r" not in cell
        row.append(cell)
        if data.startswith("\r\n", i):
            found, row, i = [*found, row], [], i + 2
        else:
            assert data[i] == ",", "behind a closed quote comes the next cell"
            i += 1
    assert not row, "the last row has its end"
    return found


def spreadsheet(data: str, marks: str) -> list[list[str]]:
    """As a spreadsheet reads: a quote counts where it begins a cell; what stands behind it until a mark is text."""
    found, row, cell, i, fresh, inside = [], [], "", 0, True, False
    while i < len(data):
        c = data[i]
        if inside:
            if c == '"' and data[i + 1 : i + 2] == '"':
                cell, i = cell + '"', i + 1
            elif c == '"':
                inside = False
            else:
                cell += c
        elif c == '"' and fresh:
            inside, fresh = True, False
        elif c in marks or c in "\r\n":
            row, cell, fresh = [*row, cell], "", True
            if c in "\r\n":
                found, row = [*found, row], []
                i += data[i : i + 2] == "\r\n"
        else:
            cell, fresh = cell + c, False
        i += 1
    return found + ([[*row, cell]] if row or cell or inside else [])


def arrow(data: bytes, mark: str, quoted: bool = True) -> list[list[str]]:
    parse = pyarrow.csv.ParseOptions(
        delimiter=mark, newlines_in_values=True, quote_char='"' if quoted else False, ignore_empty_lines=False
    )
    read = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
    strings = pyarrow.csv.ConvertOptions(column_types={f"f{i}": pyarrow.string() for i in range(2)})
    table = pyarrow.csv.read_csv(io.BytesIO(data), read, parse, strings)
    return [list(row.values()) for row in table.to_pylist()]


@given(text, text, rows)
@settings(deadline=None, max_examples=10)
@example("=a", "b", HOSTILE)
@example("a", "b", [("q\t=1&", "&2\tz")])
def test_csv_is_read_alike_by_all_and_runs_nothing_nowhere(first, second, given_rows):
    names = (f"a{first}", f"={second}b")
    (data,) = released(names, given_rows, ".csv")
    assert data.startswith(b"\xef\xbb\xbf"), "a spreadsheet is told that it is UTF-8"
    body = data[3:].decode()
    strict = rfc4180(body)
    assert strict == list(csv.reader(io.StringIO(body, newline=""), dialect="excel", strict=True))
    assert strict == spreadsheet(body, ",") and len(strict) == len(given_rows) + 1
    assert arrow(data, ",") == strict
    assert not any(runs(cell) for row in strict for cell in row)
    assert not any(c in cell for row in strict for cell in row for c in "\0\x1a")
    # Where semicolons or tabs divide, no cell begins as a formula either, wherever cells then begin (a row may be one:
    # a number with the next cells behind it is none).
    for mark in ";\t":
        assert not any(runs(cell.partition(",")[0].rstrip('"')) for row in spreadsheet(body, mark) for cell in row)
    for row, was in zip(strict[1:], given_rows, strict=True):
        for cell, text_ in zip(row, was, strict=True):
            assert cell.replace("'", "") == text_.replace("'", "").translate(cells._CONTROL), "only apostrophes"


@given(text, text, rows)
@settings(deadline=None, max_examples=10)
@example("=a", "b", HOSTILE)
@example('"a', '"b', HOSTILE)
def test_tsv_is_the_same_with_and_without_quotes_and_runs_nothing(first, second, given_rows):
    names = (f'"a{first}', f"={second}b")
    (data,) = released(names, given_rows, ".tsv")
    assert data.startswith(b"\xef\xbb\xbf")
    body = data[3:].decode()
    plain = [line.split("\t") for line in body.split("\n")[:-1]]
    assert len(plain) == len(given_rows) + 1 and all(len(row) == 2 for row in plain)
    assert plain == list(csv.reader(io.StringIO(body, newline=""), dialect="excel-tab"))
    assert plain == list(csv.reader(io.StringIO(body, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert plain == spreadsheet(body, "\t") == arrow(data, "\t") == arrow(data, "\t", quoted=False)
    assert not any(runs(cell) for row in plain for cell in row)
    # Nor where a spreadsheet takes commas and semicolons for marks as well, as some do unless they are told.
    assert not any(runs(cell) for row in spreadsheet(body, "\t,;") for cell in row)


@pytest.mark.slow
@given(rows)
@settings(deadline=None, max_examples=10)
@example(HOSTILE)
def test_exact_tables_and_lines_are_what_was_written_for_programs(given_rows):
    names = ("text", "label")
    data, tabs, plain = released(names, given_rows, ".csv", ".tsv", ".txt", exact=(".csv", ".tsv"))
    assert not data.startswith(b"\xef\xbb\xbf")
    exact = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    assert exact == rfc4180(data.decode()) == [list(names), *map(list, given_rows)]
    one_line = [[cells.BREAKS.sub(" ", cell) for cell in row] for row in given_rows]
    assert [line.split("\t") for line in tabs.decode().split("\n")] == [list(names), *one_line, [""]]
    lines = plain.decode()
    assert lines.split("\n") == [*(row[0] for row in one_line), ""] == [*lines.splitlines(), ""]
    assert "\0" not in lines


@pytest.mark.slow
@given(text, rows)
@settings(deadline=None, max_examples=10)
@example("\ud800", HOSTILE)
def test_lines_of_json_and_parquet_give_back_what_was_written(name, given_rows):
    names = ("text", f"n{name}")
    data, parquet = released(names, given_rows, ".jsonl", ".parquet")
    lines = data.decode().splitlines()
    assert len(lines) == len(given_rows) == data.count(b"\n"), "no reader of lines ends one inside of a text"

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    assert [tuple(json.loads(line, parse_constant=refuse).values()) for line in lines] == given_rows
    table = pyarrow.parquet.read_table(pyarrow.py_buffer(parquet))
    assert [tuple(row.values()) for row in table.to_pylist()] == given_rows


def test_numbers_that_json_does_not_know_are_null(tmp_path):
    (tmp_path / "run").mkdir()
    line = {"dp": {"row": 0, "error": None}, "text": "a", "n": float("nan"), "m": [float("inf"), {"x": 1.5}]}
    (tmp_path / "run" / tables.ROWS).write_text(json.dumps(line) + "\n")
    release_files.release(tmp_path / "run", "text", ("n", "m"), tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == '{"text": "a", "n": null, "m": [null, {"x": 1.5}]}\n'


@pytest.mark.parametrize("suffix", release_files.RELEASE[:2])
def test_what_is_released_is_read_by_us_again(suffix, tmp_path):
    path = tmp_path / f"again{suffix}"
    path.write_bytes(*released(("=text", "label"), HOSTILE, suffix))
    columns = tables.heading(path)
    assert columns == ("'=text", "label")
    data = tables.source(path, columns)
    assert data.count == len(HOSTILE) and not data.unread
    assert not any(runs(cell) for row in data.rows() for cell in row.values())


@given(text)
def test_a_guard_is_made_once_and_leaves_plain_text_alone(cell):
    for guard in (cells.guard_formula, cells.guard_unquoted):
        assert guard(guard(cell)) == guard(cell)
    usual = 'My doctor - she said "no" - is 3.5 km away, or so: a = b.'
    assert cells.guard_formula(usual) == cells.guard_unquoted(usual) == usual


@pytest.mark.parametrize("cell", ["-3.5", "+1", "1e-5", "-2,5E3", "a-b", "'=1", "3 - 2", "\u00e9t\u00e9"])
def test_numbers_and_words_are_no_formulas(cell):
    assert cells.guard_formula(cell) == cells.guard_unquoted(cell) == cell


@pytest.mark.parametrize("cell", ["sep=;", "SEP=,", "\ufeffsep=|", '"sep=;"'])
def test_a_heading_does_not_say_what_divides_the_cells(cell):
    assert cells.guard_formula(cell) == cells.guard_unquoted(cell) == f"'{cell}"
    assert released((cell, "label"), [("a", "b")], ".csv")[0].decode("utf-8-sig").startswith("\"'")


def test_figures_with_labels_are_guarded_too():
    found = cells.to_csv([{"=label": '=HYPERLINK("x")', "n": -0.5, "none": None}, {"=label": "-1", "n": 2}])
    assert found == '\'=label,n,none\n"\'=HYPERLINK(""x"")",-0.5,\n-1,2,\n'
    assert cells.to_csv([]) == "\n"
