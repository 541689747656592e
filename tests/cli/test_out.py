"""Commands that write to a place: what cannot be written is named, and what was interrupted goes on or is gone."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import dptext_core as dpt
from dptext_core.cli.main import main
from dptext_core.testing import scaffold
from dptext_lab.runner import line_files
from dptext_lab.training import pretraining
from dptext_studio.browser import site
from dptext_studio.exports import gallery as galleries

SMALL = {"hidden": 8, "window": 8, "max_tokens": 4, "epochs": 1, "batch": 2}
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a write says it: without a name


@pytest.fixture
def small(monkeypatch):
    """A site of a few bytes."""
    monkeypatch.setattr(site, "_large", lambda candidates: iter([("a", "a.gz", b"aaa"), ("b", "b.gz", b"bbb")]))
    monkeypatch.setattr(site, "_core", lambda packed, candidates: {"files": packed})
    monkeypatch.setattr(site, "course_data", lambda mechanisms, say: [])
    monkeypatch.setattr(site, "_first", dict)
    monkeypatch.setattr(site, "_runtime", lambda name: b"run")


def full(monkeypatch, name: str, error: BaseException = FULL) -> None:
    """The file of this name cannot be written."""
    write, replace = Path.write_text, Path.replace

    def written(self, *args, **kwargs):
        if self.name == name:
            raise error
        return write(self, *args, **kwargs)

    def replaced(self, target):
        if Path(target).name == name:
            raise error
        return replace(self, target)

    monkeypatch.setattr(Path, "write_text", written)
    monkeypatch.setattr(Path, "replace", replaced)


@pytest.mark.parametrize("name", ["a.gz", "core.json", "index.html", "sw.js", "b.gz"])
def test_a_site_that_was_interrupted_is_written_by_the_same_command(tmp_path, monkeypatch, capsys, small, name):
    out = tmp_path / "site"
    with monkeypatch.context() as patch:
        full(patch, name, KeyboardInterrupt())
        assert main(["pocket", "--out", str(out), "--no-gallery"]) == 130
    assert "the same command" in capsys.readouterr().err
    assert main(["pocket", "--out", str(out), "--no-gallery"]) == 0
    assert json.loads((out / "core.json").read_text())["files"].keys() == {"a", "b"} and (out / "sw.js").is_file()
    assert not [p for p in out.rglob("*") if p.name.startswith(".") or "unfinished" in p.name]


def test_a_killed_site_that_left_a_half_written_file_goes_on_too(tmp_path, small):
    out = tmp_path / "site"
    out.mkdir()
    (out / ".PRIVATE-0123456789abcdef.tmp").write_text("half")
    site.write_site(out, shown=None)
    assert (out / "core.json").is_file() and not list(out.glob(".*"))


@pytest.mark.parametrize("name", ["a.gz", "core.json", "index.html", "sw.js"])
def test_a_site_on_a_full_disk_names_the_file(tmp_path, monkeypatch, capsys, small, name):
    full(monkeypatch, name)
    status = main(["pocket", "--out", str(tmp_path / "site"), "--no-gallery"])
    said = capsys.readouterr().err
    assert status == 2 and name in said.splitlines()[-1] and "No space left" in said and "standard output" not in said


def test_a_folder_of_something_else_is_still_no_site(tmp_path, small):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(dpt.InputError, match="contains something other than this site"):
        site.write_site(tmp_path, shown=None)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_an_error_of_a_file_is_not_one_of_standard_output(monkeypatch, capsys):
    def fails(*_):
        raise FULL

    monkeypatch.setattr(sys.modules["dptext_core.cli.main"], "_run", fails)
    assert main(["any"]) == 2
    said = capsys.readouterr().err
    assert "No space left" in said and "standard output" not in said and said.count("\n") == 1


@pytest.mark.parametrize("at", ["before the first page is known", "with the state"])
def test_a_gallery_that_was_interrupted_goes_on(tmp_path, monkeypatch, at):
    out, remember = tmp_path / "pages", galleries._remember

    def stopped(*args):
        if at == "with the state":
            (out / ".PRIVATE-0123456789abcdef.tmp").write_text("half")
        raise KeyboardInterrupt

    calls = []

    def later(*args):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return remember(*args)

    with monkeypatch.context() as patch:
        patch.setattr(galleries, "_remember", later if at[0] == "b" else stopped)
        with pytest.raises(KeyboardInterrupt):
            galleries.gallery(out, ["custext"], [], [])
    assert galleries.gallery(out, ["custext"], [], []).pages


@pytest.mark.parametrize("name", ["training.safetensors", "training.json"])
def test_a_training_that_was_killed_before_its_first_record_begins_again(tmp_path, monkeypatch, name):
    with monkeypatch.context() as patch:
        full(patch, name, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretraining.pretrain(["a day", "a sun"], ["a day"], tmp_path / "run", **SMALL)
    assert list((tmp_path / "run").iterdir())
    assert pretraining.pretrain(["a day", "a sun"], ["a day"], tmp_path / "run", **SMALL).ended
    assert not list((tmp_path / "run").glob(".*"))


def test_a_training_on_a_full_disk_names_the_file(tmp_path, monkeypatch):
    full(monkeypatch, "training.json")
    with pytest.raises(dpt.InputError, match=r"training\.json .*No space left"):
        pretraining.pretrain(["a day", "a sun"], ["a day"], tmp_path / "run", **SMALL)


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()])
def test_a_new_mechanism_that_was_not_written_whole_is_gone(tmp_path, monkeypatch, error):
    with monkeypatch.context() as patch:
        full(patch, "README.md", error)
        with pytest.raises((dpt.InputError, KeyboardInterrupt)):
            scaffold.new_mechanism("my-own", tmp_path / "my-own")
    assert not list(tmp_path.iterdir())
    assert scaffold.new_mechanism("my-own", tmp_path / "my-own")


def test_points_on_a_full_disk_name_their_file(tmp_path):
    writer = line_files.LineWriter(tmp_path / "points.jsonl")
    writer._file = SimpleNamespace(write=lambda data: (_ for _ in ()).throw(FULL))
    with pytest.raises(dpt.InputError, match=r"points\.jsonl .*No space left"):
        writer.write(SimpleNamespace(to_dict=dict))
