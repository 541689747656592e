"""The files that leave a run: the release, and the inspection for the owner's eyes."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet
import pytest
from foreign import Swap

import dptext_core as dpt
from dptext_core.data import release_files, tables
from dptext_core.data.rewriting import rewrite_data

ROWS = [
    {"text": "=1+1 my doctor", "label": "@x", "n": 5, "who": {"a": [1]}},
    {"text": "- the\tnurse\nis\u2028ill", "label": "-3.5", "n": 2.5, "who": None},
    {"text": None, "label": 'plain, "quoted"', "n": None, "who": "é"},
]
KEEP = ("label", "n", "who")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    data = tables.source(path, ("text", *KEEP))
    rewrite_data(data, Swap.create(), folder / "out", keep=KEEP)
    return data, folder / "out"


def table(path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file, strict=True))


def test_the_release_has_rewrites_and_kept_columns_and_no_original(run, tmp_path):
    _, folder = run
    for suffix in release_files.RELEASE:
        out = tmp_path / f"r{suffix}"
        assert release_files.release(folder, "text", KEEP, out) == 3
        assert b"PRIVATE" not in out.read_bytes() and b"original" not in out.read_bytes()
    heading, one, two, three = table(tmp_path / "r.csv")
    assert heading == ["text", *KEEP] and one[1:] == ["'@x", "5", '{"a": [1]}'] and one[0].startswith("'=1+1 my ")
    assert two[0].startswith("'- the\t") and "\n" in two[0] and two[1:] == ["-3.5", "2.5", ""]
    assert three == ["", 'plain, "quoted"', "", "é"], "a row with an error keeps its place"
    lines = (tmp_path / "r.tsv").read_text(encoding="utf-8").split("\n")
    assert len(lines) == 5 and {line.count("\t") for line in lines[:4]} == {3}
    assert [json.loads(line)["label"] for line in (tmp_path / "r.jsonl").open(encoding="utf-8")] == [
        row["label"] for row in ROWS
    ]
    assert (tmp_path / "r.txt").read_text(encoding="utf-8").count("\n") == 3
    columns = pyarrow.parquet.read_table(tmp_path / "r.parquet").to_pydict()
    assert columns["n"] == [5.0, 2.5, None] and columns["text"][2] is None and columns["label"][0] == "@x"


def test_the_inspection_has_the_originals_and_says_in_each_row_that_it_is_private(run, tmp_path):
    data, folder = run
    for suffix in release_files.INSPECTION:
        assert release_files.inspection(data, folder, "text", KEEP, tmp_path / f"i{suffix}") == 3
    rows = [json.loads(line) for line in (tmp_path / "i.jsonl").open(encoding="utf-8")]
    assert [r["original"] for r in rows] == [r["text"] for r in ROWS] and [r["row"] for r in rows] == [1, 2, 3]
    assert all(r["private"].startswith("PRIVATE") for r in rows) and "no text" in rows[2]["error"]
    assert table(tmp_path / "i.csv")[1][2] == "'=1+1 my doctor"
    assert pyarrow.parquet.read_table(tmp_path / "i.parquet").column("epsilon").to_pylist()[2] is None


def test_kept_columns_with_names_of_the_inspection_stand_beside_its_own(tmp_path):
    path, keep = tmp_path / "a.csv", ("error", "original", "error (kept)")
    path.write_text('text,error,original,error (kept)\nMy doctor,B,E,"C"\n', encoding="utf-8")
    data = tables.source(path, ("text", *keep))
    rewrite_data(data, Swap.create(), tmp_path / "out", keep=keep)
    release_files.inspection(data, tmp_path / "out", "text", keep, tmp_path / "i.csv")
    heading, row = table(tmp_path / "i.csv")
    found = dict(zip(heading, row, strict=True))
    assert (found["original"], found["error"]) == ("My doctor", "") and found["original (kept)"] == "E"
    assert found["error (kept)"] == "C" and found["error (kept) (kept)"] == "B"


def test_exact_cells_are_exact_and_other_endings_are_refused(run, tmp_path):
    data, folder = run
    release_files.release(folder, "text", KEEP, tmp_path / "r.csv", exact=True)
    assert [row[1] for row in table(tmp_path / "r.csv")[1:]] == [row["label"] for row in ROWS]
    with pytest.raises(dpt.ConfigError, match=r"Use one of the extensions \.csv"):
        release_files.release(folder, "text", (), tmp_path / "r.xlsx")
    with pytest.raises(dpt.ConfigError, match=r"\.parquet\.$"):
        release_files.inspection(data, folder, "text", (), tmp_path / "i.txt")
    with pytest.raises(dpt.InputError, match="cannot be written"):
        release_files.release(folder, "text", (), tmp_path / "no" / "r.csv")
