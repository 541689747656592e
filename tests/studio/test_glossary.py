"""docs/glossary.md has an entry for every figure and name that the pages print."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dptext_core.attacks import attackers
from dptext_core.measure.metrics import REGISTRY
from dptext_core.mechanisms.words.custext import MAPPINGS
from dptext_core.privacy.guarantee import NOTIONS
from dptext_studio.figures import glossary

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"(?ms)^- (.*?)(?=^- |^\n|\Z)", GLOSSARY)


def plain(term: str) -> str:
    """A term whatever its capitals, and as a name on the command line: one entry stands for all."""
    return term.casefold().replace("-", " ").strip("?")


TERMS = {plain(" ".join(term.split())) for entry in ENTRIES for term in re.findall(r"\*\*([^*]+)\*\*", entry)}
#: What stands for a value that is only known when a page runs.
ANY = "\0"


def written(node: ast.expr, around: ast.AST) -> Iterator[str]:
    """The texts that an expression can be; a name is looked up among what its function assigns to it."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from written(node.body, around)
        yield from written(node.orelse, around)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else ANY for v in node.values)
    elif isinstance(node, ast.Name):
        values = [
            a.value
            for a in ast.walk(around)
            if isinstance(a, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in a.targets)
        ]
        assert values, f"nothing says what {node.id} is"
        for value in values:
            yield from written(value, around)
    elif isinstance(node, ast.Attribute) and node.attr == "title":  # of a measure that the page is asked for
        yield from (m.title for m in REGISTRY.values() if m.kind == "similarity")
    else:
        raise AssertionError(f"a label that this test cannot read: {ast.unparse(node)}")


def labels() -> list[str]:
    """The label of every ``….metric(label, …)`` of the pages."""
    found = []
    for path in sorted((ROOT / "dptext_studio").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "metric":
                    found += written(call.args[0], function)
    return list(dict.fromkeys(found))


def columns() -> list[str]:
    """The headings of the tables that the pages show, where they are written there; not those of single words."""
    found = []
    for path in sorted((ROOT / "dptext_studio").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "dataframe":
                table = call.args[0]
                if isinstance(table, ast.Dict):
                    found += [key.value for key in table.keys if isinstance(key, ast.Constant)]
    return sorted(set(found) - PLAIN)


#: Headings in everyday words.
PLAIN = {"input", "what", "why", "value", "options"}
LABELS, COLUMNS = labels(), columns()


def test_labels_are_found():
    assert len(LABELS) > 20 and "95% set" in LABELS and len(COLUMNS) > 8


@pytest.mark.parametrize("label", LABELS)
def test_every_figure_of_a_page_has_an_entry(label):
    pattern = ".+".join(map(re.escape, plain(label).split(ANY)))
    assert any(re.fullmatch(pattern, term) for term in TERMS), label.replace(ANY, "…")


@pytest.mark.parametrize("heading", COLUMNS)
def test_every_heading_of_a_table_has_an_entry(heading):
    assert plain(heading) in TERMS


def test_what_the_core_names_has_an_entry():
    names = {m.title for m in REGISTRY.values()}
    names |= {*NOTIONS, *NOTIONS.values(), *MAPPINGS, "holds", "refuted", "inconclusive"}
    names |= {name for a in attackers() for name in (a.name, a.title)}
    assert not (missing := {n for n in names if plain(n) not in TERMS}), missing


def test_what_has_a_bubble_has_an_entry():
    assert {plain(n) for n in glossary.names()} <= TERMS and len(glossary.names()) > 4


def test_every_entry_says_something():
    assert len(ENTRIES) > 80
    for entry in ENTRIES:
        terms, _, text = entry.partition(":")
        assert terms.startswith("**") and len(text.split()) >= 2, entry
