"""What the documents say of the program is so: links, files, commands, Python and figures that they name."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import operator
import re
import shlex
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core import cli
from dptext_core.cli import arguments
from dptext_core.support import plugins
from dptext_lab.commands.bench import BENCHES
from dptext_studio.figures.handout import handout
from dptext_studio.lessons import LESSONS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
}
COMMAND = re.compile(r"(?m)^.*-m dptext_core (.+)$")


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def anchors(text: str) -> set[str]:
    """The places of a document that a link can name, as GitHub makes them from headings."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = [re.sub(r"[`*\[\]]|\(.*?\)", "", h) for h in re.findall(r"(?m)^#+ (.*)$", plain)]
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@functools.cache
def commands() -> list[tuple[str, str]]:
    """Each once, with one of the documents that name it."""
    found = []
    for name, text in DOCUMENTS.items():
        blocks = "\n".join(fenced(text, "sh"))
        found += [(name, line) for line in COMMAND.findall(blocks)]
        found += [(name, line) for line in re.findall(r"`(?:\S*python )?-m dptext_core ([^`]+)`", text)]
        found += [(name, line) for line in re.findall(r"`(bench [a-z][^`]*)`", text)]
    return [(name, line) for line, name in {line: name for name, line in found}.items()]


@functools.cache
def helped(*argv: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as stop:
        cli.main([*argv, "--help"])
    assert stop.value.code == 0
    return said.getvalue()


def test_every_document_is_there_and_the_readme_or_the_list_leads_to_it():
    assert {"README.md", "CONTRIBUTING.md", "docs/development/architecture.md", "docs/glossary.md"} <= set(DOCUMENTS)
    for name in set(DOCUMENTS) - {"README.md"}:
        listed = f"({name.removeprefix('docs/')})" in DOCUMENTS["docs/index.md"]
        assert listed or f"({name})" in DOCUMENTS["README.md"], name


def test_the_site_has_every_document_and_the_reference_every_public_name():
    listed = set(re.findall(r"(?m)^ +- (?:[\w ]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert {n.removeprefix("docs/") for n in DOCUMENTS if n.startswith("docs/")} <= listed
    named = set(re.findall(r"(?m)^::: dptext_core\.(\S+)$", DOCUMENTS["docs/api.md"]))
    public = {n for n in dpt.__all__ if callable(getattr(dpt, n))}
    assert {n for n in named if "." not in n} == public
    for name in named - public:
        assert callable(operator.attrgetter(name)(dpt)), name


def test_the_parameters_that_the_reference_lists_are_those_of_the_signature():
    section = re.compile(r"(?ms)^Parameters\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)")
    documented = 0
    for path in sorted((ROOT / "dptext_core").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or not (found := section.search(ast.get_docstring(node) or "")):
                continue
            accepted = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            lines = [line.partition(" : ")[0] for line in found[1].splitlines() if line and line[0] != " "]
            listed = {name.strip().lstrip("*") for line in lines for name in line.split(",")}
            assert listed <= accepted, (path, node.name)  # mkdocs build --strict refuses others
            documented += len(listed)
    assert documented > 250


def test_documents_are_short():
    """A word has a letter: numbers of generated tables do not count, nor do descriptions of pictures."""
    words = {"users": 0, "measurements": 0, "development": 0}
    for name, text in DOCUMENTS.items():
        count = sum(re.search(r"[^\W\d_]", word) is not None for word in re.sub(r"!\[[^\]]*\]", "", text).split())
        assert name != "README.md" or count <= 800
        if re.fullmatch(r"README\.md|docs/[\w-]+\.md", name):
            words["users"] += count
        elif found := re.match(r"docs/(measurements|development)/", name):
            words[found[1]] += count
    assert words["users"] <= 12_000 and words["measurements"] <= 12_000 and words["development"] <= 4_000, words


GUIDES = [name for name in DOCUMENTS if re.fullmatch(r"docs/([\w-]+/)?[\w-]+\.md", name)]


@pytest.mark.parametrize("name", GUIDES)
def test_the_first_line_says_what_the_page_is_for(name):
    title, first = DOCUMENTS[name].split("\n\n")[:2]
    assert title.startswith("# ") and first[0].isalpha()
    assert len(re.split(r"(?<=[.:?])\s", first)[0].split()) <= 25


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", DOCUMENTS[name], flags=re.DOTALL)):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        assert path.is_file(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_are_named_exist(name):
    for word in re.findall(r"`((?:dptext_\w+|assets|tools|tests|pages|docs|\.ci)/[\w./-]+)`", DOCUMENTS[name]):
        assert (ROOT / word).exists(), word
    for tool in re.findall(r"python ((?:tools|tests)/[\w./]+\.py)", DOCUMENTS[name]):
        assert (ROOT / tool).is_file(), tool
    targets = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert set(re.findall(r"(?:`|\n)make ([\w-]+)", DOCUMENTS[name])) <= targets


def test_commands_are_understood(monkeypatch):
    """Each is read by the parser that would read it; a measurement is asked for its help, which names its flags."""
    for name, line in commands():
        print(name, line)  # which one it was, where a parser ends the test
        files, argv = arguments.take_plugins(shlex.split(line, comments=True))
        before = plugins.registered_names()
        monkeypatch.setattr(plugins, "_state", plugins._State())  # of a process that has loaded none yet
        try:
            for file in files:
                plugins.load_file(ROOT / file)
            if argv[0] == "bench" and argv[1] in BENCHES:
                said = helped(*argv[:2])
                for flag in (word.partition("=")[0] for word in argv[2:] if word.startswith("--")):
                    assert re.search(rf"(?<![\w-]){flag}(?![\w-])", said), (name, line, flag)
            elif "NAME" in argv:
                assert argv[0] in cli.build_parser().format_help(), (name, line)
            else:
                assert cli.build_parser(argv).parse_args(argv).run, (name, line)
        finally:
            plugins.restore(before)


def test_there_are_commands_of_every_kind():
    first = {line.split()[0] for _, line in commands()}
    assert {"rewrite", "distribution", "mechanisms", "models", "attack", "audit", "calibrate", "bench"} <= first
    measured = {line.split()[1] for _, line in commands() if line.startswith("bench ") and line != "bench NAME --help"}
    assert set(BENCHES) <= measured


@pytest.mark.parametrize("name", DOCUMENTS)
def test_python_uses_names_that_exist(name):
    for block in fenced(DOCUMENTS[name], "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dpt":
                assert hasattr(dpt, node.attr), node.attr


def test_the_python_of_the_readme_is_short_and_runs(capsys):
    (block,) = fenced(DOCUMENTS["README.md"], "python")
    assert len(block.strip().splitlines()) <= 12
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "ε = " in printed


#: The blocks of a guide, each complete by itself. Those of docs/batch.md and docs/plugin.md need files and libraries,
#: and have tests of their own (in tests/data and tests/mechanisms/test_plugins.py).
BLOCKS = [
    pytest.param(name, k, marks=pytest.mark.slow if name in ("docs/attackers.md", "docs/teaching.md") else ())
    for name in DOCUMENTS
    if re.fullmatch(r"docs/[\w-]+\.md", name) and name not in ("docs/batch.md", "docs/plugin.md")
    for k in range(len(fenced(DOCUMENTS[name], "python")))
]


@pytest.mark.parametrize(("name", "k"), BLOCKS)
def test_the_python_of_the_guides_runs(name, k, capsys, monkeypatch):
    monkeypatch.setattr(handout, "__defaults__", (LESSONS[:1],))  # tests/studio has them all
    block = fenced(DOCUMENTS[name], "python")[k]
    exec(compile(block, name, "exec"), {})
    assert "print(" not in block or capsys.readouterr().out.strip()


def test_every_mechanism_and_attacker_is_described():
    from dptext_core.attacks import attackers

    for spec in dpt.mechanisms():
        assert f"`{spec.name}`" in DOCUMENTS["docs/mechanisms.md"], spec.name
    for attacker in attackers():
        row = f"| `{attacker.name}` | {attacker.title} | {attacker.question} |"
        assert row in DOCUMENTS["docs/attackers.md"], row


def test_numbers_of_the_documents_are_those_of_the_bundled_results():
    from dptext_lab.broken_mechanisms import FAULTS

    def read(name: str) -> dict:
        return json.loads((ROOT / "assets" / "benchmarks" / name).read_text(encoding="utf-8"))

    plain = {name: " ".join(text.split()) for name, text in DOCUMENTS.items()}
    verdicts = [row["verdict"] for row in read("audit.json")["rows"]]
    holds, rest = verdicts.count("holds"), verdicts.count("inconclusive")
    assert holds + rest == len(verdicts)
    for said in (
        f"{holds} of {len(verdicts)} rows are not violated",
        f"other {rest} are inconclusive",
        f"{len(FAULTS)} deliberately broken",
    ):
        assert said in plain["docs/measurements/audit.md"], said
    about = read("results.json")["about"]
    points = about["points"] + sum(about["missing"].values())
    for said in (f"{about['points']} of the grid's {points} points", f"the points took: {about['core_minutes']}"):
        assert said in plain["docs/measurements/benchmarks.md"], said
    for space, of in (("minilm", "of {} words encoded"), ("word2vec", "with {} words each")):
        assert of.format(f"{len(dpt.word_space(space).words):,}") in plain["docs/spaces.md"]


def test_changed_conclusions_and_limits_have_the_bundled_numbers():
    from dptext_lab.findings import bundled
    from dptext_lab.results import authors, leaderboard

    best = {r.texts: r for r in authors.strongest(authors.bundled()) if r.system == "Sentence bank"}
    limits = " ".join(DOCUMENTS["docs/limits.md"].split())
    assert f"{best[1].success:.0%} of the time from one text, and {best[20].success:.0%} from 20" in limits
    assert f"most frequent author: {best[1].majority:.0%} and {best[20].majority:.0%}" in limits
    section = DOCUMENTS["docs/measurements/benchmarks.md"].partition("## Changed conclusions")[2].partition("\n## ")[0]
    assert f"{best[1].success:.2f} from one text, {best[20].success:.2f} from 20" in section
    today = {found.name: found.verdict for found in bundled()}
    lines = [[cell.strip() for cell in line.split(" | ")] for line in section.splitlines() if line.startswith("| `")]
    named = [(name, line[2]) for line in lines for name in re.findall(r"`(\w+)`", line[0])]
    assert len(named) == 5 and all(today[name].startswith(verdict) for name, verdict in named)
    for policy in ("keep", "random"):
        board = leaderboard.board(
            leaderboard.bundled(), "sst2", "accuracy", "n_w", 0.3, every=False, unknown_words=policy
        )
        assert f"{board.first.label}, {100 * board.first.value:.1f}%, no significant lead" in section
    assert len(section.split()) <= 250


def test_the_page_on_choosing_has_the_figures_of_the_bundled_results():
    found = json.loads((ROOT / "assets" / "benchmarks" / "belief.json").read_text(encoding="utf-8"))
    rows = found["rows"]
    measured = {(r["mechanism"], r["epsilon"]): r for r in rows if r["data"] == "sst2" and not r["options"]}
    page = DOCUMENTS["docs/choosing.md"]
    table = re.findall(r"(?m)^\| `([\w-]+)` \| (\S+) \| (\d+)% \| (\S+) \| (\d+)% \|$", page)
    assert len(table) > 10 and f"{found['about']['texts']['sst2']['dp-mlm']} texts of SST-2" in page
    for name, epsilon, *values in table:
        row = measured[name, float(epsilon)]
        assert values == [f"{row['certainty']:.0%}"[:-1], f"{row['cosine']:.2f}", f"{row['label']:.0%}"[:-1]], name
    lowest = min(r["certainty"] for r in rows if r["mechanism"] in ("custext", "diffractor"))
    assert f"at least {lowest:.0%} certain" in " ".join(page.split())
    assert f"{measured['dp-mlm', 100.0]['certainty']:.0%} certain" in DOCUMENTS["docs/limits.md"]
