"""docs/glossary.md has an entry for every figure and name that the pages print."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

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
        items = [
            loop.iter.func.value
            for loop in ast.walk(around)
            if isinstance(loop, ast.For)
            and isinstance(loop.iter, ast.Call)
            and isinstance(loop.iter.func, ast.Attribute)
            and loop.iter.func.attr == "items"
            and any(isinstance(t, ast.Name) and t.id == node.id for t in ast.walk(loop.target))
        ]
        assert values or items, f"nothing says what {node.id} is"
        for value in values:
            yield from written(value, around)
        for table in items:
            yield from written(table, around)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            yield from written(key, around)
    elif isinstance(node, ast.Attribute) and node.attr == "title":  # of a measure that the page is asked for
        yield from (m.title for m in REGISTRY.values() if m.kind == "similarity")
    else:
        raise AssertionError(f"a label that this test cannot read: {ast.unparse(node)}")


@functools.cache
def calls() -> list[tuple[ast.Call, ast.AST]]:
    """Every call of a method in the studio, with the function around it (the module, for one outside of all)."""
    found = []
    for path in sorted((ROOT / "dptext_studio").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for around in (tree, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))):
            found += [
                (n, around) for n in ast.walk(around) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
            ]
    return found


def labels() -> list[str]:
    """The label of every ``….metric(label, …)`` of the pages."""
    found = []
    for call, around in calls():
        if call.func.attr == "metric" and isinstance(around, ast.FunctionDef):
            found += written(call.args[0], around)
    return list(dict.fromkeys(found))


def columns() -> list[str]:
    """The headings of the tables that the pages show, where they are written there; not those of single words."""
    tables = [call.args[0] for call, _ in calls() if call.func.attr == "dataframe"]
    found = {key.value for t in tables if isinstance(t, ast.Dict) for key in t.keys if isinstance(key, ast.Constant)}
    return sorted(found - PLAIN)


#: Headings in everyday words.
PLAIN = {"input", "what", "why", "value", "options"}


def test_labels_are_found():
    assert len(labels()) > 20 and "95% set" in labels() and len(columns()) > 8


def test_every_figure_of_a_page_has_an_entry():
    patterns = {label: ".+".join(map(re.escape, plain(label).split(ANY))) for label in labels()}
    missing = {label for label, p in patterns.items() if not any(re.fullmatch(p, term) for term in TERMS)}
    assert not missing


def test_every_heading_of_a_table_has_an_entry():
    assert not {heading for heading in columns() if plain(heading) not in TERMS}


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
