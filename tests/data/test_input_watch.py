"""An input that changes while a run reads it: rows of two versions are not mixed, and nothing is published."""

from __future__ import annotations

import io
import json
import os
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.test_scale import Pretend
from foreign import Swap

import dptext_core as dpt
from dptext_core.cli.main import main
from dptext_core.data import components, release_files, tables
from dptext_core.data.rewriting import rewrite_data
from dptext_core.data.workers import blocks

N = 120
#: The row at which the file is changed.
AT = 40
TEXTS = [f"Row {i}: My doctor sent a letter to my sister" for i in range(N)]


class Meddled(Swap):
    """Calls ``then`` when it has seen so many texts."""

    name = "foreign-meddled"
    seen = 0

    @staticmethod
    def then():
        pass

    def rewrite_prepared(self, prepared, stream, task):
        Meddled.seen += 1
        if Meddled.seen == AT:
            type(self).then()
        return super().rewrite_prepared(prepared, stream, task)


@pytest.fixture(autouse=True)
def meddled(monkeypatch):
    monkeypatch.setattr(Meddled, "seen", 0)
    dpt.register(Meddled)
    dpt.register(Swap)
    yield
    dpt.unregister(Meddled.name)
    dpt.unregister(Swap.name)


def save(path: Path, texts: list[str]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts}), path, row_group_size=10)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    else:
        head = "" if path.suffix == ".txt" else "text\n"
        path.write_text(head + "".join(f"{t}\n" for t in texts))
    return path


def cut_short(path):
    os.truncate(path, path.stat().st_size // 2) if path.suffix != ".parquet" else save(path, TEXTS[:60])


def other_order(path):
    save(path, random.Random(1).sample(TEXTS, N))


def same_size(path):
    """Two rows change places, in one write that keeps the time of the file."""
    before = path.stat()
    texts = [*TEXTS]
    texts[100], texts[110] = texts[110], texts[100]
    save(path, texts)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def put_in_place(path):
    save(beside := path.with_name(f"new{path.suffix}"), TEXTS[::-1])
    os.replace(beside, path)


def longer(path):
    save(path, [*TEXTS, "One more doctor"])


CHANGES = [cut_short, other_order, same_size, put_in_place, longer, Path.unlink]


def run(path, out, **more):
    m = Meddled.create(epsilon=2.0)
    return rewrite_data(tables.source(path, ("text",)), m, out, batch=8, **more)


def rows_of(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]


def each_is_its_own(out: Path) -> bool:
    return all(row["text"].startswith(f"Row {i}:") for i, row in enumerate(rows_of(out)))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".txt", ".tsv", ".parquet"])
def test_a_file_that_changes_ends_the_run_without_a_result(tmp_path, monkeypatch, kind, change):
    path, out = save(tmp_path / f"data{kind}", TEXTS), tmp_path / "out"
    monkeypatch.setattr(Meddled, "then", lambda: change(path))
    with pytest.raises(dpt.InputError, match=rf"data\{kind} (changed|was moved or deleted)"):
        run(path, out)
    assert not (out / "result.json").exists()
    assert each_is_its_own(out), "a row that was read from the changed file is no row of this run"


def test_the_run_goes_on_with_the_file_as_it_was_and_not_with_the_other(tmp_path, monkeypatch):
    path, out = save(tmp_path / "data.csv", TEXTS), tmp_path / "out"
    monkeypatch.setattr(Meddled, "then", lambda: other_order(path))
    with pytest.raises(dpt.InputError, match="changed"):
        run(path, out)
    done = len(rows_of(out))
    assert 0 < done < N
    with pytest.raises(dpt.ConfigError, match="sha256"):
        run(path, out)
    save(path, TEXTS)
    assert run(path, out)["rows"] == N and each_is_its_own(out)
    assert Meddled.seen < 2 * N, "what was done was not done again"


@pytest.mark.parametrize("change", CHANGES)
def test_a_resumed_run_watches_too(tmp_path, monkeypatch, change):
    path, out = save(tmp_path / "data.csv", TEXTS), tmp_path / "out"

    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(Meddled, "then", stop)
    with pytest.raises(KeyboardInterrupt):
        run(path, out)
    Meddled.seen = 0
    monkeypatch.setattr(Meddled, "then", lambda: change(path))
    with pytest.raises(dpt.InputError, match=r"changed|was moved or deleted"):
        run(path, out)
    assert each_is_its_own(out) and not (out / "result.json").exists()


@pytest.mark.parametrize("change", CHANGES)
def test_workers_do_not_take_rows_of_a_changed_file(tmp_path, change):
    path, out = save(tmp_path / "data.csv", TEXTS), tmp_path / "out"
    calls = iter(range(99))
    workers = Pretend(seen=lambda: change(path) if next(calls) == 3 else None)
    with pytest.raises(dpt.InputError, match=r"changed|was moved or deleted"):
        blocks.rewrite_data(tables.source(path, ("text",)), Swap.create(), out, workers, block=10)
    assert each_is_its_own(out) and not (out / "result.json").exists()


def test_a_file_of_a_folder_is_watched(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    save(folder / "a.csv", TEXTS[:60]), save(folder / "b.csv", TEXTS[60:])
    monkeypatch.setattr(Meddled, "then", lambda: save(folder / "b.csv", TEXTS[:59:-1]))
    with pytest.raises(dpt.InputError, match=r"b\.csv changed"):
        run(folder, tmp_path / "out")
    assert each_is_its_own(tmp_path / "out")


def test_a_loader_that_gives_other_rows_each_time_is_refused(tmp_path, monkeypatch):
    def shuffled(split):
        return ({"text": t} for t in random.sample(TEXTS, N))

    monkeypatch.setitem(components._data_sets, "shuffled", shuffled)
    with pytest.raises(dpt.InputError, match="shuffled"):
        run("shuffled", tmp_path / "out")
    assert not (tmp_path / "out" / "result.json").exists()


@pytest.mark.parametrize("change", [other_order, cut_short, put_in_place])
@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_an_inspection_pairs_no_original_with_another_rewrite(tmp_path, kind, change):
    path, out = save(tmp_path / "data.csv", TEXTS), tmp_path / "out"
    data = tables.source(path, ("text",))
    rewrite_data(data, Meddled.create(), out)
    change(path)
    with pytest.raises(dpt.InputError, match="changed"):
        release_files.inspection(data, out, "text", (), tmp_path / f"PRIVATE{kind}")
    assert {p.name for p in tmp_path.iterdir()} <= {"data.csv", "out", "new.csv"}


def command(*more, out, path, capsys):
    status = main(["rewrite-data", "--data", str(path), "--mechanism", Meddled.name, "--out", str(out), *more])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("change", CHANGES)
def test_the_command_publishes_nothing_and_fails(tmp_path, monkeypatch, capsys, change):
    path = save(tmp_path / "data.csv", TEXTS)
    monkeypatch.setattr(Meddled, "then", lambda: change(path))
    more = ("--release", str(tmp_path / "r.csv"), "--inspection", str(tmp_path / "PRIVATE.csv"))
    status, out, error = command(*more, out=tmp_path / "out", path=path, capsys=capsys)
    assert status == 2 and not out and "data.csv" in error
    assert {p.name for p in tmp_path.iterdir()} <= {"data.csv", "out", "new.csv"}


@pytest.mark.parametrize("change", CHANGES)
def test_a_stream_of_a_file_that_changes_fails(tmp_path, monkeypatch, capsys, change):
    path = save(tmp_path / "data.csv", TEXTS)
    monkeypatch.setattr(Meddled, "then", lambda: change(path))
    status, out, error = command("--batch", "8", out="-", path=path, capsys=capsys)
    assert status == 2 and "data.csv" in error
    assert all(json.loads(line)["text"].startswith(f"Row {i}:") for i, line in enumerate(out.splitlines()))


@pytest.mark.parametrize("change", [c for c in CHANGES if c not in (Path.unlink, put_in_place)])
def test_standard_input_from_a_file_that_changes_fails(tmp_path, monkeypatch, capsys, change):
    path = save(tmp_path / "data.jsonl", TEXTS)
    monkeypatch.setattr(Meddled, "then", lambda: change(path))
    with path.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        status, _, error = command("--batch", "8", out="-", path="-", capsys=capsys)
    assert status == 2 and "Standard input changed" in error


def test_standard_input_of_a_file_that_is_taken_from_its_place_is_read_to_its_end(tmp_path, monkeypatch, capsys):
    path = save(tmp_path / "data.jsonl", TEXTS)
    monkeypatch.setattr(Meddled, "then", lambda: put_in_place(path))
    with path.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        status, out, _ = command(out="-", path="-", capsys=capsys)
    assert status == 0 and len(out.splitlines()) == N


def test_a_touched_file_has_not_changed(tmp_path, monkeypatch):
    path, out = save(tmp_path / "data.csv", TEXTS), tmp_path / "out"

    def touch():
        path.touch()
        path.chmod(0o600)
        save(path.with_name("copy.csv"), TEXTS).replace(path)

    monkeypatch.setattr(Meddled, "then", touch)
    assert run(path, out)["rows"] == N and each_is_its_own(out)
