"""--fail-on-skip: a skipped test or file makes the run fail, in one process and in workers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
PASSES = "def test_passes(): pass\n"
SKIPS = {
    "test": "import pytest\ndef test_skipped(): pytest.skip('no reason')\n",
    "mark": "import pytest\n@pytest.mark.skip(reason='none')\ndef test_skipped(): pass\n",
    "file": "import pytest\npytest.importorskip('no_such_module')\ndef test_never(): pass\n",
}
XFAIL = "import pytest\n@pytest.mark.xfail\ndef test_fails(): assert False\n"


def ran(folder: Path, *options: str) -> tuple[int, list[str]]:
    """Exit status and lines of a run of pytest of its own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "no:cacheprovider", "-c", "pytest.ini"]
    done = subprocess.run(
        [*command, *options],
        cwd=folder,
        env=env | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_is_skipped_fails_the_run_and_is_named(tmp_path, workers):
    for file in (CONFTEST, CONFTEST.with_name("marks.py")):
        shutil.copy(file, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_none.py").write_text(PASSES)
    (tmp_path / "test_xfail.py").write_text(XFAIL)
    for kind, code in SKIPS.items():
        (tmp_path / f"test_{kind}.py").write_text(code)
    status, lines = ran(tmp_path, "-n", workers, "--fail-on-skip")
    named = {line.rpartition(" ")[2].partition("::")[0] for line in lines if "counts as failed" in line}
    assert status == pytest.ExitCode.TESTS_FAILED and named == {f"test_{kind}.py" for kind in SKIPS}
    assert lines[-1].startswith("1 passed, 3 skipped, 1 xfailed"), lines


def test_a_run_that_leaves_nothing_out_passes(pytestconfig):
    session = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    pytestconfig.pluginmanager.get_plugin(str(CONFTEST)).FailOnSkip().pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.OK
