"""A package that `new mechanism` writes passes its own tests, and the studio takes it."""

from __future__ import annotations

import importlib
import sys
import tomllib

import pytest

import dptext_core as dpt
from dptext_core.cli.main import main
from dptext_core.testing import CHECKS, new_mechanism


def test_what_is_written_is_a_package(tmp_path, capsys):
    assert main(["new", "mechanism", "my-own", "--out", str(tmp_path / "made")]) == 0
    files = sorted(p.name for p in (tmp_path / "made").iterdir())
    assert files == ["README.md", "dptext_my_own.py", "pyproject.toml", "test_dptext_my_own.py"]
    said = capsys.readouterr().out
    assert all(name in said for name in files) and said.index("pip install") < said.index("-m pytest")
    project = tomllib.loads((tmp_path / "made" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["dptext.mechanisms"] == {"my-own": "dptext_my_own:MyOwn"}
    assert project["project"]["dependencies"] == [f"dptext-studio>={dpt.__version__}"]
    assert not any("$" in (tmp_path / "made" / name).read_text(encoding="utf-8") for name in files)


@pytest.mark.slow
def test_its_own_tests_pass_and_the_program_takes_it(quick_audits, tmp_path, monkeypatch, capsys):
    new_mechanism("my-own", tmp_path / "made")
    monkeypatch.syspath_prepend(tmp_path / "made")
    try:
        tests = importlib.import_module("test_dptext_my_own")
        for check in CHECKS:
            tests.test_it_conforms(check)
        tests.test_the_promise_holds_as_far_as_an_audit_looks()
        dpt.unregister("my-own")
        plugin = str(tmp_path / "made" / "dptext_my_own.py")
        assert main(["--plugin", plugin, "rewrite", "--mechanism", "my-own", "--size", "3000", "My doctor paid."]) == 0
        assert len(capsys.readouterr().out.split()) == 3
    finally:
        dpt.unregister("my-own")
        for name in ("dptext_my_own", "test_dptext_my_own"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["", "My", "my_own", "-my", "my--own", "3my", "../my", "my\n", None])
def test_what_is_no_name_is_refused(tmp_path, name):
    with pytest.raises(dpt.ConfigError, match="lower-case letters"):
        new_mechanism(name, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_a_name_or_folder_that_there_is_already_is_refused(tmp_path):
    with pytest.raises(dpt.ConfigError, match="already"):
        new_mechanism("custext", tmp_path / "made")
    (tmp_path / "made").mkdir()
    with pytest.raises(dpt.InputError, match="--out"):
        new_mechanism("my-own", tmp_path / "made")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(dpt.InputError, match="cannot be written"):
        new_mechanism("my-own", tmp_path / "file" / "made")
