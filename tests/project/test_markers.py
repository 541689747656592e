"""The run of the unit tests: what it collects, and what it cannot import."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from marks import FORBIDDEN, TESTS, UNIT

#: Collects the unit tests as ``make test-fast`` does, then tries to import what they may not.
COLLECT = """
import importlib, json, sys
import pytest

class Files:
    found = set()
    def pytest_collection_finish(self, session):
        self.found |= {item.path.relative_to(session.config.rootpath / "tests").as_posix() for item in session.items}

status = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "-m", "unit"], plugins=[Files()])
loaded = [name for name in sys.argv[1:] if name in sys.modules]
refused = []
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        refused.append(name)
print()
print(json.dumps([status, sorted(Files.found), loaded, refused]))
"""


@functools.cache
def collected() -> tuple[int, list[str], list[str], list[str]]:
    command = [sys.executable, "-c", COLLECT, *FORBIDDEN]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    return tuple(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_a_run_of_unit_tests_collects_the_listed_files_alone():
    status, files, _, _ = collected()
    listed = {p.relative_to(TESTS).as_posix() for place in UNIT for p in _tests(TESTS / place)}
    assert status == 0 and set(files) == listed


def _tests(place: Path) -> list[Path]:
    return sorted(place.rglob("test_*.py")) if place.is_dir() else [place]


@pytest.mark.slow
def test_unit_tests_load_no_torch_no_streamlit_and_no_browser():
    _, _, loaded, refused = collected()
    assert not loaded and refused == list(FORBIDDEN)


@pytest.mark.parametrize("name", UNIT)
def test_what_is_listed_exists(name):
    assert (TESTS / name).exists()
