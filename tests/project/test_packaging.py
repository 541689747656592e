"""What `pip install .` gives: the package with its assets, and ranges of what it needs; pins that lie within them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts import script

from dptext_core.errors import InputError, ModelUnavailable
from dptext_core.support import assets

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Of a repository that is somewhere else in every copy: whoever builds names it.
ADDRESS = "https://example.org/somebody/dptext"
EXTRA = PROJECT["optional-dependencies"]
#: Of a clone, requirements.txt has the core and what the app and its models need.
OF_THE_APP = ("app", "data", "models", "research", "torch")
LIGHT = tuple(name for name in OF_THE_APP if name != "torch")
RANGES = {
    "requirements.txt": [*PROJECT["dependencies"], *(r for name in OF_THE_APP for r in EXTRA[name])],
    "requirements-app.txt": [*PROJECT["dependencies"], *(r for name in LIGHT for r in EXTRA[name])],
} | {f"requirements-{name}.txt": EXTRA[name] for name in ("dev", "llm", "names", "office", "ray")}


@pytest.mark.parametrize("file", RANGES)
def test_every_pin_lies_within_its_range_and_each_dependency_is_in_both(file):
    lines = (line.partition("==") for line in (ROOT / file).read_text(encoding="utf-8").split())
    pins = {name.partition("[")[0]: pin for name, _, pin in lines}
    wanted = [Requirement(r) for r in RANGES[file] if not r.startswith(PROJECT["name"])]
    ranges = sorted(wanted, key=lambda r: r.name.lower())
    assert [r.name for r in ranges] == list(pins)
    for r in ranges:
        assert r.specifier.contains(pins[r.name]), f"{r} does not hold {file}'s {pins[r.name]}"
        assert not any(s.operator in ("==", "===") for s in r.specifier), f"{r} is a pin"
        assert any(s.operator == ">=" for s in r.specifier), f"{r} has no lower end"


def test_hosts_install_what_the_app_needs_without_torch_at_the_tested_versions():
    pins = {line for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").split()}
    light = {line for line in (ROOT / "requirements-app.txt").read_text(encoding="utf-8").split()}
    assert light < pins and not any(line.startswith("torch") for line in light)
    hosting = ROOT / "hosting" / "requirements.txt"
    assert (hosting.parent / hosting.read_text(encoding="utf-8").split()[1]).resolve() == ROOT / "requirements-app.txt"
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (encoder,) = re.findall(r"--no-deps (\S+)", image)
    assert encoder in pins and "install --no-cache-dir -r requirements-app.txt" in image


def test_the_build_requirement_lets_the_pinned_setuptools_build():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    (wanted,) = [Requirement(r) for r in build]
    assert wanted.specifier.contains(importlib.metadata.version("setuptools"))


def test_a_package_index_shows_the_readme_with_its_picture_and_its_links():
    """There no file lies beside it: each link leads to the repository, at the tag of the version."""
    setup, url = script("setup.py"), "https://example.org/a/b"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = setup.for_an_index(readme, url, "1.2.3")
    assert f"]({url}/raw/v1.2.3/assets/pictures/explore.gif)" in made
    assert f"[Install]({url}/blob/v1.2.3/docs/install.md)" in made
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", made, flags=re.DOTALL))
    assert len(links) > 10 and all(link.startswith(("https://", "#")) for link in links)
    assert re.findall(r"```.*?```", made, re.DOTALL) == re.findall(r"```.*?```", readme, re.DOTALL)
    names = {"Documentation", "Changelog", "Issues", "Security", "Source"}
    found = setup.urls(url)
    assert set(found) == names and all(address.startswith(url) for address in found.values())
    assert setup.for_an_index(readme, "", "1.2.3") == readme and setup.urls("") == {}


def test_the_licences_of_all_that_is_bundled_are_in_the_metadata():
    manifest = json.loads((ROOT / "assets" / "MANIFEST.json").read_text(encoding="utf-8"))
    names = {"WordNet 3.0 licence": "LicenseRef-WordNet-3.0"}
    licences = {e["licence"].partition(" (")[0] for e in manifest} - {"facts, not protected"}
    licences -= {"the text of the licence itself"}
    assert set(PROJECT["license"].split(" AND ")) == {names.get(name, name) for name in licences}
    files = {path.relative_to(ROOT) for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    assert files == {Path("LICENSE"), *(p.relative_to(ROOT) for p in (ROOT / "assets" / "licences").iterdir())}


def title_of(path: Path) -> str:
    return assets.read_json(path)["title"]


def test_a_bundled_file_is_read_once_until_it_changes_and_its_absence_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "assets_folder", lambda: tmp_path)
    assert assets.bundled("more/one.json", title_of, "none") == "none" and assets.examples() == ()
    path = tmp_path / "more" / "one.json"
    path.parent.mkdir()
    path.write_text('{"title": "a"}')
    os.utime(path, ns=(1, 1))
    assert assets.bundled("more/one.json", title_of, "none") == "a"
    path.write_text('{"title": "b"}')
    os.utime(path, ns=(1, 1))
    assert assets.bundled("more/one.json", title_of, "none") == "a"
    os.utime(path, ns=(2, 2))
    assert assets.bundled("more/one.json", title_of, "none") == "b"
    path.write_text("[]")
    with pytest.raises(ModelUnavailable, match=r"assets/more/one\.json has unexpected contents"):
        assets.bundled("more/one.json", title_of, "none")
    path.write_text("{")
    with pytest.raises(InputError, match=r"one\.json is not valid JSON"):
        assets.bundled("more/one.json", title_of, "none")


def test_a_bundled_folder_that_is_not_here_is_no_mistake_of_an_option(tmp_path, monkeypatch):
    """As in a checkout that leaves it out."""
    monkeypatch.setattr(assets, "assets_folder", lambda: tmp_path)
    with pytest.raises(ModelUnavailable, match="assets/bank is missing"):
        assets.folder_of("bank", "wordnet", {"wordnet": "bank"}, "a command")
    (tmp_path / "bank").mkdir()
    assert assets.folder_of("bank", "wordnet", {"wordnet": "bank"}, "a command") == tmp_path / "bank"


def test_a_neighbour_named_assets_is_not_taken_for_ours(tmp_path, monkeypatch):
    package = tmp_path / "dptext_core"
    package.mkdir()
    monkeypatch.setattr(assets, "__file__", str(package / "support" / "assets.py"))
    (tmp_path / "assets").mkdir()
    with pytest.raises(ModelUnavailable, match=r"Install dptext-studio again"):
        assets.assets_folder()
    (tmp_path / "assets" / "MANIFEST.json").write_text("[]")
    assert assets.assets_folder() == tmp_path / "assets"
    (package / "assets").mkdir()
    (package / "assets" / "MANIFEST.json").write_text("[]")
    assert assets.assets_folder() == package / "assets"


def command(*argv: str | Path, cwd: Path, **env: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DPTEXT"))}
    done = subprocess.run(argv, cwd=cwd, env=clean | env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def without_weights(source: str, target: str) -> None:
    """Weights of models and a bank are most of what is bundled, and nothing here computes with them: names alone."""
    if source.endswith((".safetensors", ".zlib", ".xz")):
        Path(target).touch()
    else:
        shutil.copy(source, target)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Built from a copy, so that nothing of the build stays in the repository, by what pip asks for a wheel; and
    unpacked, as pip does."""
    top = tmp_path_factory.mktemp("build")
    tree, folder = top / "tree", top / "installed"
    tree.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "app.py"):
        shutil.copy(ROOT / name, tree)
    for name in ("dptext_core", "dptext_lab", "dptext_studio", "assets", "pages", "tests", ".streamlit"):
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=leave, copy_function=without_weights)
    build = f"from setuptools import build_meta\nbuild_meta.build_wheel({top.as_posix()!r})"
    command(sys.executable, "-c", build, cwd=tree, PROJECT_URL=ADDRESS)
    (wheel,) = top.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


@pytest.mark.slow
def test_the_package_holds_its_assets_and_nothing_else(installed):
    paths = {p.relative_to(installed).as_posix() for p in installed.rglob("*") if p.is_file()}
    names = {n for n in paths if "/__pycache__/" not in n}
    (metadata,) = [p.read_text(encoding="utf-8") for p in installed.glob("*.dist-info/METADATA")]
    assert {n.split("/")[0] for n in names if ".dist-info/" not in n} == {"dptext_core", "dptext_lab", "dptext_studio"}
    manifest = json.loads((ROOT / "assets" / "MANIFEST.json").read_text(encoding="utf-8"))
    assets = {f"dptext_core/assets/{e['path']}" for e in manifest if not e["path"].endswith((".png", ".gif"))}
    assert {n for n in names if n.startswith("dptext_core/assets/")} == assets | {"dptext_core/assets/MANIFEST.json"}
    pages = {p.relative_to(ROOT).as_posix() for p in (ROOT / "pages").rglob("*") if p.suffix in (".py", ".css", ".js")}
    inside = {n.removeprefix("dptext_studio/app/") for n in names if n.startswith("dptext_studio/app/")}
    assert inside == {*pages, "app.py", ".streamlit/config.toml"}
    kinds = (".py", ".html", ".css", ".js", ".bib", ".txt", ".svg", ".webmanifest")
    packages = [ROOT / name for name in ("dptext_core", "dptext_lab", "dptext_studio")]
    modules = {p.relative_to(ROOT).as_posix() for top in packages for p in top.rglob("*") if p.suffix in kinds}
    assert "dptext_studio/figures/browser/token_strip.js" in modules
    assert modules <= names
    licences = {p.name for p in (ROOT / "assets" / "licences").iterdir()} | {"LICENSE"}
    assert {n.rsplit("/")[-1] for n in names if ".dist-info/licenses/" in n} == licences
    assert f"\nLicense-Expression: {PROJECT['license']}\n" in metadata
    addresses = re.findall(r"(?m)^Project-URL: (\w+), (\S+)$", metadata)
    assert ("Source", ADDRESS) in addresses and len(addresses) == 5
    assert f"]({ADDRESS}/raw/v{PROJECT['version']}/assets/pictures/explore.gif)" in metadata
    assert not any(re.search(r"(^|/)(tests?|test_[^/]*|[^/]*_test)(\.py|/)", n) for n in names)
    needed = {canonicalize_name(Requirement(r).name) for r in re.findall(r"(?m)^Requires-Dist: ([^;\n]+)$", metadata)}
    assert needed == {canonicalize_name(Requirement(r).name) for r in PROJECT["dependencies"]}


@pytest.mark.slow
def test_the_installed_command_starts(installed):
    (package,) = importlib.metadata.distributions(path=[str(installed)])
    (script,) = package.entry_points.select(group="console_scripts")
    start = f"import sys\nfrom {script.module} import {script.attr}\nsys.exit({script.attr}())"
    out = command(sys.executable, "-P", "-c", start, "--version", cwd=installed, PYTHONPATH=str(installed))
    assert script.name == "dptext" and out == f"DP-Text Studio {PROJECT['version']}\n"


@pytest.mark.slow
def test_the_installed_app_opens_with_its_settings_wherever_it_is_started(installed, tmp_path):
    """By the command, in an empty folder: the settings that keep other sites out are those of the package."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DPTEXT", "STREAMLIT"))}
    argv = [sys.executable, "-m", "dptext_core", "app", "--headless", "--port", str(port)]
    with subprocess.Popen(
        argv,
        cwd=tmp_path,
        env=clean | {"PYTHONPATH": str(installed)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as server:
        try:
            for _ in range(600):
                try:
                    with urllib.request.urlopen(f"http://localhost:{port}/_stcore/host-config", timeout=5) as answer:
                        settings = json.load(answer)
                    break
                except OSError:
                    assert server.poll() is None, "the command ended"
                    time.sleep(0.2)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
    assert settings["allowedOrigins"] == []
    code = """
import os
from streamlit.testing.v1 import AppTest
import dptext_studio.commands.app as command
app = AppTest.from_file(str(command.script()), default_timeout=120)
app.query_params["mechanism"] = "diffractor"  # which loads no language model
app.run()
print(command.script())
print([e.value for e in app.exception], len(app.main.children) > 0, flush=True)
os._exit(0)  # a thread may still load a model
"""
    out = command(sys.executable, "-P", "-c", code, cwd=tmp_path, PYTHONPATH=str(installed))
    where, drawn = out.splitlines()[-2:]
    assert Path(where).is_relative_to(installed) and drawn == "[] True"
