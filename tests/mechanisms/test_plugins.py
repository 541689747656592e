"""Mechanisms of one's own from files and packages: the worked example of docs/ everywhere, and plugins that fail."""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from guarantee_terms import entries, shared
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core import cli
from dptext_core.mechanisms import registering
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.support import plugins

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "randomised_response.py"
GROUPS = EXAMPLE.with_name("frequency_groups.py")
NAME = "randomised-response"
TEXT = "My doctor in Lisbon treated my sister."

MINE = """
from dataclasses import dataclass
import dptext_core as dpt

@dataclass(frozen=True)
class Config:
    epsilon: float = dpt.epsilon_option(1.0, 0.1, 2.0)

class {cls}(dpt.Mechanism):
    name, title, family, notion = "{name}", "Mine", "example", "none"
    config_cls = Config
    def rewrite_prepared(self, prepared, stream, task): raise dpt.InputError("Not this text. Give another.")
    def guarantee(self, text): raise dpt.InputError("Not this text. Give another.")
    def distribution(self, text, index): raise dpt.NoDistribution("There is none. Ask for none.")
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A process that has loaded no plugin yet, and none afterwards."""
    before = plugins.registered_names()
    monkeypatch.setattr(plugins, "_state", plugins._State())
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    yield
    plugins.restore(before)


@pytest.fixture
def named(monkeypatch):
    """named(file, …): what DPTEXT_PLUGINS names."""
    return lambda *files: monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join(map(str, files)))


def write(path: Path, code: str) -> Path:
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


def mine(path: Path, name: str = "mine", decorator: str = "@dpt.register") -> Path:
    return write(path, MINE.format(cls="Mine", name=name).replace("class Mine", f"{decorator}\nclass Mine"))


def names() -> list[str]:
    return [s.name for s in dpt.mechanisms()]


# --- the worked example ----------------------------------------------------------------------------------------------


@pytest.fixture
def example(named):
    named(EXAMPLE)
    return dpt.get_mechanism(NAME, epsilon=9.0, size=5000)


def test_the_example_draws_what_it_says(example):
    d = example.distribution(TEXT, 1)
    assert len(d) == 5000
    keep = np.exp(9.0) / (np.exp(9.0) + 4999)
    assert d.p_keep() == pytest.approx(keep, rel=1e-12)
    assert np.delete(d.probs, d.index("doctor")) == pytest.approx((1 - keep) / 4999, rel=1e-9)
    stays = np.mean([w == "doctor" for w in d.sample(4000, seed=1)])
    assert stays == pytest.approx(keep, abs=5 * np.sqrt(keep * (1 - keep) / 4000))


def test_the_example_keeps_what_every_mechanism_keeps(example):
    r = example.rewrite(TEXT, seed=1)
    assert r.text == example.rewrite(TEXT, seed=1).text and r.original == TEXT
    assert [s.action for s in r.steps if s.original in ("doctor", "Lisbon", "treated", "sister")] == ["replace"] * 4
    assert r.distribution(1).probs.sum() == pytest.approx(1)
    swept = example.sweep(TEXT, [5.0, 9.0, 13.0], seed=1)
    each = [example.replace(epsilon=e).rewrite(TEXT, seed=1).text for e in (5, 9, 13)]
    assert [x.text for x in swept.results] == each
    guarantee = example.guarantee(TEXT)
    # Lisbon is not among the 5,000 words: it is drawn without being looked at and spends nothing.
    assert (guarantee.notion, guarantee.epsilon, guarantee.draws, guarantee.total) == ("pure", 9.0, 3, 27.0)
    assert guarantee.sentence()
    assert len(example.rewrite([TEXT, ""], seed=1)) == 2
    with pytest.raises(dpt.ConfigError, match="size"):
        example.replace(size=1)


def test_the_example_reaches_every_word_up_to_its_largest_epsilon(example):
    most = example.replace(epsilon=example.max_epsilon)
    assert most.distribution(TEXT, 1).log_probs.min() >= -dpt.TokenDistribution.depth
    with pytest.raises(dpt.ConfigError, match="smaller ε"):
        most.replace(epsilon=example.max_epsilon + 1).rewrite(TEXT)


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
def test_the_audit_finds_exactly_the_epsilon_that_the_example_claims(example):
    report = dpt.audit(example, ["doctor", "sister", "house"], draws=100)
    assert report.verdict == "holds" and report.exact
    assert report.measured == pytest.approx(9.0, rel=1e-9)


@pytest.fixture
def run(capsys):
    def call(*argv: str):
        try:
            status = cli.main(argv)
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call


P = ("--plugin", str(EXAMPLE))
M = ("--mechanism", NAME)


@pytest.mark.parametrize(
    "argv",
    [
        (*P, "rewrite", *M, "--size", "2000", TEXT),
        ("rewrite", *P, *M, "--size", "2000", TEXT),
        ("rewrite", *M, "--size", "2000", TEXT, f"--plugin={EXAMPLE}"),
    ],
)
def test_the_command_line_rewrites_with_the_example(run, argv):
    status, out, err = run(*argv)
    assert status == 0 and out.startswith("My ") and "at most e^ε" in err


def test_every_command_that_takes_a_mechanism_takes_the_example(run):
    status, out, _ = run(*P, "distribution", *M, "--word", "doctor", "--json", "--quiet", "--size", "100000", TEXT)
    assert status == 0 and json.loads(out)["source"] == "doctor"
    status, out, _ = run("audit", *P, *M, "--help")
    assert status == 0 and "--size" in out
    status, out, _ = run("calibrate", *P, *M, "--n-w", "0.5", TEXT)
    assert status == 0 and "8.5" in out  # ln 4999, where a word stays as often as not
    status, out, _ = run("mechanisms", *P)
    assert status == 0 and f"{NAME}: Randomised response" in out and "--size" in out
    status, out, _ = run("rewrite", *P, *M, "--help")
    assert status == 0 and "--size" in out and "most frequent ones" in " ".join(out.split()) and "--plugin" in out


def test_without_the_plugin_the_mechanism_is_unknown(run):
    status, out, err = run("rewrite", *M, TEXT)
    assert (status, out) == (2, "") and "Unknown mechanism" in err


def test_text_after_two_dashes_is_text(run):
    status, out, _ = run(*P, "rewrite", *M, "--epsilon", "14", "--quiet", "--size", "50", "--", "--plugin")
    assert status == 0 and out.strip()


def test_a_plugin_option_without_its_file_is_a_usage_error(run):
    status, out, err = run("rewrite", TEXT, "--plugin")
    assert (status, out) == (2, "") and "--plugin" in err


def test_the_app_lists_the_example_and_rewrites_with_it(named):
    named(EXAMPLE)
    at = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    at.run()
    assert not at.warning
    at.selectbox(key="play_mechanism").set_value(NAME)
    at.text_area(key="play_text").set_value(TEXT)
    at.run()
    while "session" in at.session_state and (job := at.session_state["session"].at("rewrite").job) is not None:
        assert job.wait(100), "the rewrite did not end"
        at.run()
    assert not at.exception
    shown = next(d for e in at.get("bidi_component") if "tokens" in (d := json.loads(e.proto.json)))
    assert [t["a"] for t in shown["tokens"] if t["o"] in ("doctor", "sister")] == ["replace", "replace"]
    assert "Randomised response" in at.selectbox(key="play_mechanism").options
    assert any(n.label == "Number of words" for n in at.number_input)


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites", "light")
def test_the_commands_and_the_python_of_the_guide_work(run, monkeypatch, capsys, tmp_path):
    """Measured on few sentences and words and with few draws: that each command works is what is asked here."""
    fewer = {" bench run ": ("--max-texts", "2", "--seeds", "1"), " audit ": ("--draws", "100")}
    space = dpt.word_space()
    np.savez(tmp_path / "space.npz", words=np.array(space.words[:400]), vectors=space.vectors[:400])
    smaller = {
        "docs/examples": str(EXAMPLE.parent),
        "size=3000": "size=300",
        "custext": f"custext:space={tmp_path / 'space.npz'}",
    }
    guide = (ROOT / "docs" / "plugin.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert len(blocks) == 3
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    try:
        for python in blocks:
            exec(compile(python, "plugin.md", "exec"), {"__name__": "guide"})
    finally:
        sys.modules.pop("randomised_response", None)
    text, audit = capsys.readouterr().out.splitlines()
    assert text.startswith("My ") and "the guarantee allows" in audit
    plugins.restore({})
    monkeypatch.chdir(ROOT)
    commands = re.findall(r"-m dptext_core (.*)", guide)
    assert len(commands) == 8 and commands[0].startswith("new ")
    monkeypatch.chdir(tmp_path)  # where files are written
    assert run(*shlex.split(commands.pop(0)))[0] == 0
    assert "audit" in commands.pop(), "the test of a promise within groups audits that example"
    for line in commands:
        more = next((few for part, few in fewer.items() if part in f" {line}"), ())
        for part, other in smaller.items():
            line = line.replace(part, other)
        status, out, err = run(*shlex.split(line), *more)
        assert status == 0 and (out or "bench run" in line), err
        if "leaderboard" in line:
            assert "CusText" in out and "\n  2 " in out, "the plugin has none to stand beside"
        plugins.restore({})
        monkeypatch.setattr(plugins, "_state", plugins._State())


# --- when plugins are loaded, and by whom ----------------------------------------------------------------------------


def test_importing_and_built_in_mechanisms_run_no_plugin_and_the_first_question_runs_it_once(tmp_path):
    told = mine(tmp_path / "told.py")
    told.write_text(told.read_text() + 'print("plugin runs")\n')
    code = """
    import threading, dptext_core as dpt
    dpt.get_mechanism("custext")
    print("asked")
    threads = [threading.Thread(target=dpt.mechanisms) for _ in range(8)]
    [t.start() for t in threads]; [t.join() for t in threads]
    print(dpt.get_mechanism("mine").name, [s.name for s in dpt.mechanisms()].count("mine"))
    """
    env = os.environ | {"DPTEXT_PLUGINS": str(told)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["asked", "plugin runs", "mine 1"]


def test_several_files_are_loaded_and_one_that_is_named_twice_once(named, tmp_path, monkeypatch):
    first, second = mine(tmp_path / "first.py", "first"), mine(tmp_path / "second.py", "second")
    named(first, second, tmp_path / "." / "first.py")
    assert names()[-2:] == ["first", "second"] and not plugins.problems()
    plugins.load_file(first)
    dpt.unregister("first")
    assert names()[-1] == "second" and "first" not in names()


def test_a_plugin_may_ask_the_registry_while_it_is_loaded(named, tmp_path):
    path = mine(tmp_path / "asks.py")
    path.write_text(path.read_text() + "\nassert 'mine' in [s.name for s in dpt.mechanisms()]\n")
    named(path)
    assert "mine" in names() and not plugins.problems()


class Package:
    """Stands in for an installed package."""

    def __init__(self, monkeypatch, folder: Path, code: str, *values: str):
        write(folder / "own_mechanisms.py", code)
        info = folder / "own_mechanisms-1.0.dist-info"
        info.mkdir()
        write(info / "METADATA", "Metadata-Version: 2.1\nName: own-mechanisms\nVersion: 1.0\n")
        points = "\n".join(f"p{i} = {v}" for i, v in enumerate(values))
        write(info / "entry_points.txt", f"[{registering.GROUP}]\n{points}\n")
        monkeypatch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "own_mechanisms", raising=False)


@pytest.mark.parametrize("end", ["", "dpt.register(Mine)"])
def test_a_package_brings_a_class(monkeypatch, tmp_path, end):
    Package(monkeypatch, tmp_path, MINE.format(cls="Mine", name="mine") + end, "own_mechanisms:Mine")
    assert "mine" in names() and not plugins.problems()
    assert dpt.get_mechanism("mine").config.epsilon == 1.0


def test_a_package_brings_a_function_that_registers(monkeypatch, tmp_path):
    code = MINE.format(cls="Mine", name="mine") + MINE.format(cls="Other", name="other")
    code += "def both():\n    dpt.register(Mine)\n    dpt.register(Other)\n"
    Package(monkeypatch, tmp_path, code, "own_mechanisms:both")
    assert names()[-2:] == ["mine", "other"] and not plugins.problems()


def test_two_entry_points_of_one_module_that_registers_both_by_itself(monkeypatch, tmp_path):
    code = MINE.format(cls="Mine", name="mine") + MINE.format(cls="Other", name="other")
    code += "dpt.register(Mine)\ndpt.register(Other)\n"
    Package(monkeypatch, tmp_path, code, "own_mechanisms:Mine", "own_mechanisms:Other")
    assert names()[-2:] == ["mine", "other"] and not plugins.problems()


def test_a_package_that_fails_is_named(monkeypatch, tmp_path):
    code = MINE.format(cls="Mine", name="mine") + "number = 3\n"
    Package(monkeypatch, tmp_path, code, "own_mechanisms:number", "own_mechanisms:Mine", "own_mechanisms:missing")
    assert "mine" in names()
    first, second = plugins.problems()
    for problem in (first, second):
        assert "own-mechanisms" in problem and "uninstall that package" in problem


# --- plugins that fail -----------------------------------------------------------------------------------------------

END = MINE.format(cls="Mine", name="mine") + "dpt.register(Mine)\n"
BROKEN = {
    "def f(:\n": "line 1 is not valid Python",
    "import dptext_core\n\n1 / 0\n": "line 3 of broken.py stopped with ZeroDivisionError",
    "import no_such_module_anywhere\n": "ModuleNotFoundError",
    "import sys\nsys.exit(5)\n": "SystemExit",
    "x = 1\n": "registers no mechanism",
    END.replace('"mine"', '"custext"'): "A mechanism named 'custext' already exists",
    END + "Mine.nothing\n": "AttributeError",
    END.replace("    def guarantee", "    def other"): "guarantee",
    END.replace('"none"', '"strong"'): "notion",
    END.replace("dpt.epsilon_option(1.0, 0.1, 2.0)", "1.0"): "epsilon_option",
}


@pytest.mark.parametrize(("code", "reason"), BROKEN.items(), ids=range(len(BROKEN)))
def test_a_broken_plugin_is_left_out_whole_and_breaks_nothing_else(named, tmp_path, run, code, reason):
    broken, good = write(tmp_path / "broken.py", code), mine(tmp_path / "good.py", "good")
    before = names()
    plugins._state = plugins._State()
    named(broken, good)
    assert names() == [*before, "good"]
    (problem,) = plugins.problems()
    assert str(broken) in problem and reason in problem and "DPTEXT_PLUGINS" in problem and "\n" not in problem
    status, out, err = run("mechanisms")
    assert status == 0 and "good: Mine" in out and err == f"warning: {problem}\n"
    named()
    plugins.restore({})
    plugins._state = plugins._State()
    status, out, err = run("rewrite", "--plugin", str(broken), "--mechanism", "custext", TEXT)
    assert (status, out) == (2, "") and err.startswith("error: ") and err.count("\n") == 1
    assert str(broken) in err and reason in err


@pytest.mark.parametrize("name", ["nowhere.py", "", "."])
def test_a_file_that_is_not_there_says_so(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    status, out, err = run("mechanisms", "--plugin", name)
    assert (status, out) == (2, "") and "There is no plugin file" in err and err.count("\n") == 1


def test_the_app_opens_and_says_which_plugin_failed(named, tmp_path):
    broken = write(tmp_path / "broken.py", "import dptext_core\n1 / 0\n")
    named(broken)
    at = AppTest.from_file(ROOT / "app.py", default_timeout=120).run()
    assert not at.exception and at.get("bidi_component")
    (said,) = [w.value for w in at.warning]
    plain = said.replace("\\", "")
    assert str(broken) in plain and "ZeroDivisionError" in plain


def test_what_a_plugin_prints_stays_out_of_the_released_text(run, tmp_path):
    noisy = mine(tmp_path / "noisy.py")
    noisy.write_text('print("noise")\n' + noisy.read_text())
    status, out, err = run("--plugin", str(noisy), "rewrite", "--quiet", "--mechanism", "custext", "...")
    assert (status, out, err) == (0, "...\n", "noise\n")


def test_nothing_that_a_visitor_sends_names_a_plugin(named, tmp_path):
    """An address cannot bring one in: neither its own parameter nor an option of a mechanism's link."""
    path = mine(tmp_path / "mine.py")
    at = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    for key in ("plugin", "plugins", plugins.VARIABLE):
        at.query_params[key] = str(path)
    at.run()
    assert not at.exception and "mine" not in names()
    files = [ROOT / "app.py", *(ROOT / "dptext_studio" / "views").rglob("*.py")]
    code = "\n".join(p.read_text(encoding="utf-8") for p in files)
    assert "load_file" not in code and plugins.VARIABLE not in code and not re.search(r"\benviron\b", code)


@pytest.fixture
def groups():
    """The second example of the guide, registered for one test."""
    before = plugins.registered_names()
    yield runpy.run_path(str(GROUPS))["FrequencyGroups"]
    plugins.restore(before)


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
def test_a_promise_within_groups_is_whole_and_holds(groups):
    """It needs three hooks, all of them public, and everything that reads them works."""
    m = dpt.get_mechanism("frequency-groups", epsilon=3.0)
    assert not [name for name in vars(groups) if name[0] == "_" and name[:2] != "__" and name != "_abc_impl"]
    promise = m.rewrite("My doctor treated my sister.").guarantee
    crowd = "the 20 words that are about as frequent (minilm)"
    assert promise.group == crowd and crowd in promise.sentence() and crowd in promise.lines()[0]
    assert shared(promise)[-1] == "same-group" and promise.group.size == 20
    assert {"text": "the group of each word: about how frequent it is"} in entries(promise, "custom")
    near, far = (f"my {m.vocabulary.words[row]}" for row in (4001, 4039))
    assert m.audit_support.adjacent(f"my {m.vocabulary.words[4000]}", near) and not m.audit_support.adjacent(near, far)
    report = dpt.audit(m, [m.vocabulary.words[row] for row in (4000, 4001, 4039)], draws=100, seed=1)
    assert report.claimed == 3.0 and report.measured == pytest.approx(3.0) and report.verdict != "refuted"


@pytest.mark.parametrize(("notion", "what"), [("group", "the words of a group"), ("metric", "a distance")])
def test_a_promise_with_a_hole_is_refused(groups, notion, what):
    hole = {"name": "hole", "notion": notion, "guarantee_fields": WordMechanism.guarantee_fields}
    with pytest.raises(dpt.ConfigError, match=f"Hole states.*{what}.*in guarantee_fields"):
        type("Hole", (groups,), hole).create(epsilon=3.0).rewrite("My doctor treated my sister.")
    with pytest.raises(dpt.ConfigError, match=what):
        dpt.Guarantee(notion, 1.0, "released word", "any two texts", 1, 1.0)
