"""docs/development/architecture.md against the code: its table of foreign mechanisms is made by running them all."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import foreign
import pytest
from foreign import ALL, Generator, Latent, Swap
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core import attacks, cli
from dptext_core.measure import budget
from dptext_core.measure.ledger import Ledger
from dptext_lab.runner import grid, group_run

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")
TEXT = "My doctor sent a letter to my sister."
WORKS = "works"


registered = pytest.fixture(autouse=True, scope="module")(foreign.registered)


pytestmark = pytest.mark.usefixtures("light", "quick_audits")


def attack(name: str, **given: Any) -> Callable[[Any], str]:
    def consume(m) -> str:
        attacker = attacks.get_attacker(name)
        attacker.check(m)
        if isinstance(attacker, attacks.TextAttacker):
            result = m.rewrite(TEXT, seed=1)
            drawn = next(i for i, unit in enumerate(result.units) if unit.is_sampled)
            assert attacker.attack(m, result, drawn, **given).sentence()
        return WORKS

    return consume


def command(*argv: str) -> Callable[[Any], str]:
    """A command as it is typed, the mechanism's name after ``--mechanism``: what it says where it ends with 2."""

    def consume(m) -> str:
        at = argv.index("--mechanism") + 1
        error = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error):
            status = cli.main([*argv[:at], m.name, *argv[at:]])
        assert status in (0, 2)
        return error.getvalue().strip().removeprefix("error: ") if status else WORKS

    return consume


def rewrite(m) -> str:
    result = m.rewrite(TEXT)
    assert all(result.text[slice(*p.span)] == p.text for p in result.releases)
    pieces = f"{len(result.steps)} steps" if result.steps else "no steps"
    return f"{WORKS}: {len(result.releases)} {'pieces' if len(result.releases) > 1 else 'piece'}, {pieces}"


def of_piece(m) -> str:
    result = m.rewrite(TEXT)
    drawn = next(i for i, unit in enumerate(result.units) if unit.is_sampled)
    assert result.distribution(drawn).probs.sum() == pytest.approx(1)
    return f"{WORKS}: i counts {'steps' if result.steps else 'pieces'}"


def of_word(m) -> str:
    assert m.distribution(TEXT, 1).source == "doctor"
    return WORKS


def sweep(m) -> str:
    assert len(m.sweep(TEXT, [0.5, 1.0]).results) == 2
    return f"{WORKS}: {'no new pass' if 'sweep' in m.can else 'a new pass at each ε'}"


def guarantee(m) -> str:
    g = m.guarantee(TEXT)
    assert g.sentence()
    return f"{WORKS}: {g.notion}, per {g.unit}"


def ledger(m) -> str:
    book = Ledger()
    for _ in range(2):
        book.record(m.rewrite(TEXT), released=True)
    (total,) = book.account(TEXT).totals
    return f"{WORKS}: adds up ε{' and δ' if total.delta else ''}"


def spread(m) -> str:
    budget.distribute(m, TEXT, 9.0)
    return WORKS


def listed(m) -> str:
    m.replace(epsilon=(1.0,) * 9)
    return WORKS


def calibrated(target: str, value: float) -> Callable[[Any], str]:
    def consume(m) -> str:
        assert dpt.calibrate(m, {target: value}, text=TEXT).reached == pytest.approx(value)
        return WORKS

    return consume


def equal(m) -> str:
    found = dpt.equal_privacy([Swap.create(), m], "n_w", text=TEXT)[1]
    return WORKS if found.epsilon is not None else found.reason


def audit(m) -> str:
    if m.name == Generator.name:  # so that draws could show a loss as large as the claim
        m = m.replace(epsilon=0.5, length=2)
    report = dpt.audit(m, [TEXT, "A nurse sent music to a window."], draws=100 if m.name == Swap.name else 700, seed=1)
    assert report.holds and json.dumps(report.to_dict())
    if m.name == Swap.name:
        assert report.measured == pytest.approx(2.0)
    if m.name == Generator.name:
        assert report.claimed == 1.0 and "first span" in report.proven and "whole rewrites" in report.tested
    return f"{WORKS}: {report.of}, {'exact' if report.exact else 'by draws'}"


@functools.cache
def page(name: str) -> AppTest:
    """Explore after it has rewritten the text with this mechanism."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for key in ("share", "play_others", "play_far_open"):
        at.session_state[key] = True  # what is shut is not drawn
    at.run()
    at.selectbox(key="play_mechanism").set_value(name).run()
    at.text_area(key="play_text").set_value(TEXT).run()
    end = time.monotonic() + 100
    while (made := at.session_state["session"].run) is None or (made.mechanism.name, made.inputs.text) != (name, TEXT):
        assert time.monotonic() < end, "the rewrite did not end"
        time.sleep(0.1)
        at.run()
    assert not at.exception
    return at


def explore(m) -> str:
    shown = next(d for e in page(m.name).get("bidi_component") if "tokens" in (d := json.loads(e.proto.json)))
    assert (shown.get("original") == TEXT) != shown["aligned"]
    return f"{WORKS}: {'word by word' if shown['aligned'] else 'with the original beside it'}"


def chosen_piece(m) -> str:
    at = page(m.name)
    if refusals := [c.value for c in at.caption if "words have no distribution" in c.value]:
        return refusals[0]
    at.button_group(key="play_more").set_value("Candidates").run()
    assert "95% set" in [metric.label for metric in at.metric]
    return WORKS


@functools.cache
def measured(name: str) -> dict[str, float]:
    size = grid.Size(12, 6, 10, 8.0)
    (line,) = group_run.run_group(
        [grid.GridPoint(dpt.Setting(name, {}, 1.0), "builtin", 1, size)], group_run.RunConfig(command="c")
    )
    return line.scores


def classified(m) -> str:
    assert {"f1_static", "f1_adaptive"} <= set(measured(m.name))
    return WORKS


def benchmark(m) -> str:
    scores = {"accuracy", "f1_static", "f1_adaptive", "cosine", "bleu", "unchanged"}
    found = measured(m.name)
    assert scores <= set(found) and ("n_w" in found) == ("s_w" in found)
    return f"{WORKS}: {'all metrics' if 'n_w' in found else 'all but N_w and S_w'}"


CONSUMERS: dict[str, Callable[[Any], str]] = {
    "`rewrite`, `releases`, `steps`": rewrite,
    "`result.distribution(i)`": of_piece,
    "`m.distribution(text, index)`": of_word,
    "`sweep`": sweep,
    "`guarantee`": guarantee,
    "ledger": ledger,
    "a list of ε": listed,
    "budget": spread,
    "`calibrate`, target N_w": calibrated("n_w", 0.5),
    "`calibrate`, target Bayes": calibrated("bayes", 0.5),
    "`calibrate`, target total": calibrated("total", 0.9),
    "`equal_privacy`, beside another": equal,
    "attacker `best-guess`": attack("best-guess"),
    "attacker `repeated-answers`": attack("repeated-answers"),
    "attacker `reader`": attack("reader"),
    "attacker `nearest-words`": attack("nearest-words"),
    "attacker `language-model`": attack("language-model"),
    "attacker `which-text`": attack("which-text"),
    "attacker `best`": attack("best"),
    "attacker `two-texts`": attack("two-texts", draws=20),
    "attackers `static`, `adaptive`": classified,
    "`audit`": audit,
    "command `rewrite`": command("rewrite", "--mechanism", "--quiet", TEXT),
    "command `distribution`": command("distribution", "--mechanism", "--index", "1", TEXT),
    "command `distribution --piece`": command("distribution", "--mechanism", "--piece", "1", TEXT),
    "command `calibrate`": command("calibrate", "--mechanism", "--n-w", "0.5", TEXT),
    "command `attack`": command("attack", "--mechanism", "--attacker", "repeated-answers", TEXT),
    "command `audit`": command("audit", "--mechanism", "--draws", "100", TEXT, "A nurse and a window."),
    "Explore, the text": explore,
    "Explore, the chosen piece": chosen_piece,
    "benchmark point": benchmark,
}


def outcome(consume: Callable[[Any], str], cls: type) -> str:
    try:
        return consume(cls.create())
    except dpt.DPTextError as error:
        return str(error)


# --- the table of the document


def table() -> tuple[dict[str, list[str]], list[str]]:
    """Its rows by consumer, a number where a sentence stands; and the sentences."""
    section = DOCUMENT.partition("## Three sample plugins, all consumers\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    assert rows[0] == ["consumer", *(cls.__name__ for cls in ALL)]
    numbered = re.split(r"(?m)^(\d+)\. ", section)[1:]
    assert [int(n) for n in numbered[::2]] == list(range(1, len(numbered) // 2 + 1))
    return {row[0]: row[1:] for row in rows[2:]}, [" ".join(sentence.split()) for sentence in numbered[1::2]]


def test_the_table_has_every_consumer_and_every_sentence_is_used():
    rows, sentences = table()
    assert list(rows) == list(CONSUMERS)
    used = [int(cell[1:-1]) for row in rows.values() for cell in row if re.fullmatch(r"\(\d+\)", cell)]
    assert set(used) == set(range(1, len(sentences) + 1))


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("row", CONSUMERS)
def test_the_table_says_what_happens(row, cls):
    rows, sentences = table()
    cell = rows[row][ALL.index(cls)]
    expected = sentences[int(cell[1:-1]) - 1] if cell.startswith("(") else cell
    assert outcome(CONSUMERS[row], cls) == expected.replace("[title]", cls.title)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Generator, Latent])
def test_the_page_and_its_panels_take_a_text_that_answers_to_no_word(cls):
    at = page(cls.name)
    made = at.session_state["session"].run
    at.segmented_control(key="play_further").set_value("Guarantee").run()
    message = " ".join(str(e.value) for group in (at.info, at.caption, at.markdown, at.warning) for e in group)
    assert made.result.guarantee.sentence()[:30] in message.replace("\\", "")
    assert ("whole texts" in message) == (cls is Latent)
    for panel in ("Attacks", "Equal privacy", "Ledger", "Benchmarks"):
        at.segmented_control(key="play_further").set_value(panel).run()
        assert not at.exception, panel
        if panel == "Attacks":
            assert any("writes a new text" in str(e.value) for e in (*at.info, *at.caption))
            assert [t.label for t in at.tabs][-1] == "Two texts"


# --- the rest of the document


def test_the_folders_are_those_of_the_tree():
    (tree,) = re.findall(r"## Folders\n\n.*?```\n(.*?)```", DOCUMENT, re.DOTALL)
    above: list[str] = []
    named = set()
    for line in tree.splitlines():
        name, depth = line.split()[0], (len(line) - len(line.lstrip())) // 2
        above = [*above[:depth], name]
        path = ROOT / "".join(above)
        assert path.exists() or path.with_suffix(".py").exists(), line
        assert path.is_dir() == name.endswith("/") or "." not in name, line
        named.add("".join(above))
    for package in ("dptext_core", "dptext_lab", "dptext_studio"):
        for folder in (p for p in (ROOT / package).iterdir() if (p / "__init__.py").is_file()):
            assert f"{package}/{folder.name}/" in named, folder


def test_what_a_mechanism_says_of_itself_is_what_the_class_has():
    section = DOCUMENT.partition("## The mechanism interface\n")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    names = [name.partition("(")[0] for cell in first for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) > 20
    word_by_word = dpt.get_mechanism("custext")
    for name in names:
        owner, _, attribute = name.rpartition(".")
        cls = type(getattr(word_by_word, owner)) if owner else dpt.Mechanism
        declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}
        assert hasattr(cls, attribute) or attribute in declared, name
