"""Rules of the project: versions, pins, what the core may import, what files may say, what the assets are."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from scripts import script

import dptext_core as dpt
from dptext_core.models.added import SOURCES
from dptext_core.text.document import Document

ROOT = Path(__file__).resolve().parents[2]
#: What is installed or runs with the app.
CODE = ("dptext_core", "dptext_lab", "dptext_studio", "pages", "app.py")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BUILT = {".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "build", "dist"}


@functools.cache
def files() -> tuple[Path, ...]:
    """The project's files: what git tracks or would add; outside a clone, everything that is no cache."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        found = [p for p in ROOT.rglob("*") if not BUILT & set(p.relative_to(ROOT).parts)]
    return tuple(sorted(p for p in found if p.is_file()))


@functools.cache
def texts(*suffixes: str) -> dict[str, str]:
    """Path → content of the text files with one of these suffixes (all without), this file left out."""
    found = {}
    for path in files():
        if path == Path(__file__).resolve() or (suffixes and path.suffix not in suffixes):
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            found[path.relative_to(ROOT).as_posix()] = data.decode("utf-8")
    return found


NAMED = r"\w[\w.]*(?: as \w+)?"
IMPORT = re.compile(rf"(?m)^ *(?:from (\w[\w.]*) import\b|import ({NAMED}(?:, {NAMED})*)(?: *#.*)?$)")


@functools.cache
def python_imports(*folders: str) -> dict[str, set[str]]:
    """Path → the top-level names of what each Python file in these folders imports by an absolute name, at any depth of
    its code: lines, since the whole grammar takes seconds."""
    return {p: imports(t) for p, t in texts(".py").items() if p.split("/")[0] in folders}


def imports(text: str) -> set[str]:
    return {re.split(r"[. ]", name.strip())[0] for found in IMPORT.findall(text) for name in "".join(found).split(",")}


def pins(name: str) -> dict[str, str]:
    lines = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line.strip()]
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), f"{name}: {line!r} is not name==version"
    return dict(line.split("==") for line in lines)


owners = functools.cache(importlib.metadata.packages_distributions)


def same(name: str) -> str:
    """A distribution's name in its one spelling."""
    return re.sub(r"[-_.]+", "-", name).lower()


# --- versions and commands ------------------------------------------------------------------------------------------


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = re.search(r"(?m)^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"(?m)^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert cited and newest
    assert project["version"] == cited[1] == newest[1] == dpt.__version__


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_requirements_are_pinned_and_installed(name):
    wanted = pins(name)
    assert list(wanted) == sorted(wanted, key=str.lower)
    for package, version in wanted.items():
        # A local build of the same release, such as torch's +cpu, is the same release.
        assert importlib.metadata.version(package).partition("+")[0] == version, package


def test_what_a_language_model_is_made_from_is_pinned_as_the_tests_have_it():
    llm, dev = pins("requirements-llm.txt"), pins("requirements-dev.txt")
    assert list(llm) == sorted(llm, key=str.lower)
    shared = set(llm) & set(dev)
    assert shared == {"accelerate", "gguf"} and all(llm[name] == dev[name] for name in shared)
    for source in SOURCES.values():
        # Whatever the package index gives for that name, only the known file is taken.
        assert re.fullmatch(r"[0-9a-f]{64}", source.sha256)
        packages = {same(module) for module, _ in source.parts}
        assert packages <= {same(name) for name in llm} and len(packages) == len(source.parts)


def test_every_requirement_is_used_and_has_its_reason():
    code = "\n".join(t for p, t in texts(".py", ".toml").items() if not p.startswith(".ci"))
    listed = README.partition("## Dependencies")[2].partition("\n## ")[0]
    modules: dict[str, set[str]] = {}
    for module, of in owners().items():
        for owner in of:
            modules.setdefault(same(owner), set()).add(module)
    for package in [*pins("requirements.txt"), *pins("requirements-dev.txt")]:
        assert f"`{package}`" in listed, f"README gives no reason for {package}"
        names = modules.get(same(package), set()) | {package}
        # The end of a word last: what begins with letters is looked for many times faster.
        used = any(re.search(rf"{name}\b(?<!\w{name})", code) for name in map(re.escape, names))
        assert used, f"nothing uses {package}"


#: Packages of requirements-dev.txt that a tool needs.
FOR_DEVELOPMENT = {"tools/count_imports.py": {"grimp"}, "tools/export_models.py": {"onnx"}}
#: Tools that drive the app as a load test does, with the modules of that folder.
WITH_FOLDER = {"tools/measure_install.py": "tests/load"}


@pytest.mark.slow
def test_the_app_and_the_core_import_only_what_requirements_install():
    allowed = {same(name) for name in pins("requirements.txt")}
    own = {"dptext_core", "dptext_lab", "dptext_studio", "pages", "app", "tools"}
    for path, imported in python_imports(*CODE, "tools").items():
        imported = imported - FOR_DEVELOPMENT.get(path, set())
        for module in imported - own - sys.stdlib_module_names:
            beside = {str(Path(path).parent), WITH_FOLDER.get(path, "")} - {""}
            if any((ROOT / folder / f"{module}.py").exists() for folder in beside):
                continue
            assert {same(o) for o in owners().get(module, ["?"])} & allowed, f"{path} imports {module}"


def fenced(marker: str) -> list[str]:
    match = re.search(rf"<!-- ci:{marker} -->\n```sh\n(.*?)```", README, re.DOTALL)
    assert match, f"README has no block after <!-- ci:{marker} -->"
    return match[1].splitlines()


def test_readme_has_its_two_commands_in_a_line_each():
    (app,), (test,) = fenced("app"), fenced("test")
    install = "python3 -m venv --upgrade-deps .venv && .venv/bin/pip install -r requirements.txt"
    assert app == f"{install} && .venv/bin/streamlit run app.py"
    assert test == f"{install} -r requirements-dev.txt && .venv/bin/python -m pytest -n 3"
    assert (ROOT / "app.py").is_file()


def test_streamlit_settings_exist_and_keep_texts_in():
    from streamlit import config

    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    known = config.get_config_options(force_reparse=False)

    def walk(prefix: str, values: dict) -> None:
        for key, value in values.items():
            name = f"{prefix}.{key}" if prefix else key
            if isinstance(value, dict):
                walk(name, value)
            else:
                assert name in known, name

    walk("", settings)
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["client"]["showErrorDetails"] == "none"
    assert settings["client"]["showErrorLinks"] is False
    # The first start must not wait for an e-mail address on the terminal.
    assert settings["server"]["showEmailPrompt"] is False


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours #rrggbb (WCAG 2.2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_white_text_on_buttons_is_readable(theme):
    colours = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"][theme]
    assert contrast(colours["primaryColor"], "#ffffff") >= 4.5


# --- code -----------------------------------------------------------------------------------------------------------


def test_no_forbidden_code():
    forbidden = {
        r"unsafe_allow_html\s*=\s*True": "renders what a user typed as HTML",
        r"nltk\.download\(|gensim\.downloader|snapshot_download|hf_hub_download": "downloads by itself",
        r"np\.random\.(seed|rand|randn|randint|choice|shuffle|normal|uniform)\b": "uses the global generator",
        r"torch\.manual_seed|(?<![\w.])random\.(seed|random|choice|shuffle)\(": "uses the global generator",
        r"(?m)^\s*except(\s+(Base)?Exception)?\s*:\s*(pass)?\s*$": "swallows every error",
        r"trust_remote_code\s*=\s*True": "runs code that came with a model",
        r"allow_pickle\s*=\s*True|torch\.load\(|joblib\.load\(": "unpickles",
        r"#\s*fmt:": "keeps lines from the formatter",
    }
    for path, text in texts(".py").items():
        if path.split("/")[0] not in CODE:
            continue
        for pattern, why in forbidden.items():
            if path == "dptext_lab/broken_mechanisms/noise.py" and why == "uses the global generator":
                continue  # a deliberately broken mechanism
            match = re.search(pattern, text)
            assert not match, f"{path}: {match and match[0].strip()!r} {why}"
    for path, imported in python_imports(*CODE, "tools").items():
        # An audit pickles its own results, and reads back the bytes that it has just made.
        allowed = {"pickle"} if path == "dptext_core/auditing/entry_points.py" else set()
        assert not imported & {"pickle", "dill", "shelve", "marshal"} - allowed, path


def test_nobody_outside_looks_for_an_option_by_its_name():
    sniffs = re.compile(r'(hasattr|getattr)\((?!model\.)[a-z_.()]*config(_cls)?, "')
    for path, text in texts(".py").items():
        if path.split("/")[0] in CODE and not path.startswith("dptext_core/mechanisms/"):
            assert not (match := sniffs.search(text)), f"{path}: {match and match[0]}: ask the option's metadata"


# --- what files say -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_path_of_a_machine_and_no_registry_host():
    folders, indexes = "home|root|Users|work|opt|mnt|scratch", "index-url|find-links|trusted-host"
    hosts = "pypi|pythonhosted|artifactory|nexus|devpi|mirror"
    patterns = {
        rf"(?<![\w./~$}}-])/(?:{folders})/[\w.]": "a path of one machine",
        r"[A-Za-z]:\\\\?Users": "a path of one machine",
        rf"(?i)(?:{indexes})": "a package index",
        rf"(?i)https?://[\w.-]*(?:{hosts})[\w.-]*": "a registry host",
        r"https?://(?:\d{1,3}\.){3}\d{1,3}(?!\S*localhost)": "an address of one machine",
    }
    # Expressions that may begin anywhere are slow: each is looked for where one of its words stands.
    within = "|".join(f"/{folder}/" for folder in folders.lower().split("|"))
    words = dict(zip(patterns, (within, ":\\", indexes, hosts, "http"), strict=True))
    loopback = re.compile(r"https?://(127\.0\.0\.1|0\.0\.0\.0)")
    described = {"README.md", "PKG-INFO"}  # an sdist has the README as what describes it
    documented = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert README.count(documented) == 1
    for path, text in texts().items():
        if path.startswith("assets/licences/"):
            continue
        text = loopback.sub("", text.replace(documented, "") if Path(path).name in described else text)
        small = text.lower()
        for pattern, what in patterns.items():
            found = any(word in small for word in words[pattern].split("|")) and re.search(pattern, text)
            assert not found, f"{path} names {what}: {found and text[found.start() : found.end() + 40]!r}"


# --- assets ---------------------------------------------------------------------------------------------------------


def manifest_tool():
    return script("tools/build_manifest.py")


def test_manifest_matches_the_assets():
    stored = json.loads((ROOT / "assets" / "MANIFEST.json").read_text(encoding="utf-8"))
    built = {entry["path"]: entry for entry in manifest_tool().build()}
    again = "run python tools/build_manifest.py"
    assert [entry["path"] for entry in stored] == list(built), again
    for entry in stored:
        assert entry == built[entry["path"]], f"assets/{entry['path']}: {again}"
        assert entry["licence"] and entry["source"] and entry["made_by"]


def test_manifest_refuses_what_it_does_not_know(tmp_path):
    tool = manifest_tool()
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.txt").write_bytes(b"abc")
    (entry,) = tool.build(tmp_path)
    assert (entry["path"], entry["bytes"], entry["licence"]) == ("examples/a.txt", 3, "MIT")
    assert entry["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (tmp_path / "stray.bin").write_bytes(b"x")
    with pytest.raises(LookupError, match=r"stray\.bin"):
        tool.build(tmp_path)


def test_assets_stay_small():
    sizes = {p: p.stat().st_size for p in files()}
    assert sum(s for p, s in sizes.items() if p.is_relative_to(ROOT / "assets")) < 85e6
    assert max(sizes.values()) < 36e6


def test_examples_are_short_and_complete():
    folder = ROOT / "assets" / "examples"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    assert {e["file"] for e in index} == {p.name for p in folder.glob("*.txt")}
    for entry in index:
        text = (folder / entry["file"]).read_text(encoding="utf-8")
        kinds = {token.kind for token in Document.parse(text).tokens}
        assert entry["title"] and entry["description"]
        assert 40 <= len(text.split()) <= 80
        assert {"word", "number", "punct", "symbol"} <= kinds and "\n" in text.strip()


#: Runs each script as ``python FILE --help`` would, from a clean list of folders and with none of our modules loaded;
#: what all of them import from elsewhere is loaded once, but PyTorch, in whose place stands what has every name.
EACH_TOOL = """
import contextlib, importlib.machinery, io, pathlib, runpy, sys, traceback, types
class Every(type):
    def __getattr__(cls, name):
        return cls
    def __call__(cls, *given, **_):
        return given[0] if given else cls
class Anything(metaclass=Every):
    pass
class Library(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything
class Finder:
    def find_spec(name, path=None, target=None):
        torch = name.split(".")[0] in ("torch", "safetensors")
        return importlib.machinery.ModuleSpec(name, Finder, is_package=True) if torch else None
    def create_module(spec):
        return Library(spec.name)
    def exec_module(module):
        pass
sys.meta_path.insert(0, Finder)
root, *tools = sys.argv[1:]
installed = pathlib.Path(sys.prefix).as_posix() + "/"  # may lie inside the clone
folders = list(sys.path)
for tool in tools:
    at = {n: str(getattr(m, "__file__", "")) for n, m in sys.modules.copy().items() if n != "__main__"}
    ours = [n for n, file in at.items() if file.startswith(root) and not file.startswith(installed)]
    for name in ours:
        del sys.modules[name]
    sys.path[:], sys.argv = [tool.rpartition("/")[0], *folders], [tool, "--help"]
    said, status = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(tool, run_name="__main__")
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    print(tool.rpartition("/")[2], status, "usage" in said.getvalue())
"""


@pytest.mark.slow
def test_every_tool_starts_from_a_clone(tmp_path: Path) -> None:
    """The commands that the documents name work as they are written: nothing has to be installed or exported."""
    files = [p for p in (ROOT / "tests").rglob("*.py") if not p.name.startswith("test_")]
    scripts = [p for p in files if "add_argument(" in p.read_text(encoding="utf-8")]
    tools = sorted(p.as_posix() for p in (*(ROOT / "tools").glob("*.py"), *scripts))
    command = [sys.executable, "-P", "-c", EACH_TOOL, ROOT.as_posix() + "/", *tools]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert run.stdout.splitlines() == [f"{Path(t).name} 0 True" for t in tools], run.stdout + run.stderr[-2000:]


def test_what_is_loaded_lazily_is_listed_too():
    """So that a console completes it, and nothing else; type checkers know that the package has types."""
    import dptext_core as dpt

    assert dir(dpt) == sorted([*dpt.__all__, "__version__"])
    assert (ROOT / "dptext_core" / "py.typed").is_file()
