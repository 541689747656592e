"""How mutants are sampled, which tests they meet, and what counts: of tests/mutants.py, without Cosmic Ray itself."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path

import mutants
import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_a_sample_has_of_each_file_its_share_and_is_the_same_for_a_seed():
    files = {Path(f"{n}.py"): [(n, k) for k in range(n)] for n in (1, 50, 149, 300)}
    found = mutants.sample(files, 100, seed=3)
    assert found == mutants.sample(files, 100, seed=3) != mutants.sample(files, 100, seed=4)
    assert len(set(found)) == 100 and Counter(file.stem for file, _ in found) == {"50": 10, "149": 30, "300": 60}


def test_annotations_are_left_out_and_nothing_else():
    tree = ast.parse("x: int | None = 1 | 2\ndef f(a: int | str, *b: 'x') -> int | None:\n    return a | 3\n")
    places = mutants.annotations(tree)
    inside = [
        (line, column)
        for line, column in ((1, 7), (1, 19), (2, 13), (2, 37), (3, 13))
        if any(start <= (line, column) < end for start, end in places)
    ]
    assert inside == [(1, 7), (2, 13), (2, 37)]


@pytest.fixture
def lines(tmp_path):
    source = "def f(x):\n    if x > 1:\n        return [\n            x,\n            2,\n        ]\n    return 3\n"
    (tmp_path / "m.py").write_text(source)
    found = object.__new__(mutants.Lines)
    found.tree = tmp_path
    found.seconds = {
        "tests/test_m.py::a": 9.0,
        "tests/test_m.py::b": 2.0,
        "tests/test_n.py::c": 0.1,
        "tests/test_n.py::d": 40.0,
        "tests/test_n.py::e": 30.0,
    }
    by_line = {2: ["tests/test_m.py::a", "tests/test_n.py::d", "tests/test_m.py::gone"], 4: list(found.seconds)}
    found.data = type("Data", (), {"contexts_by_lineno": lambda self, file: by_line})()
    return found


@pytest.mark.parametrize(("line", "expected"), [(1, [1]), (2, [2]), (3, [3, 4, 5, 6]), (5, [3, 4, 5, 6]), (7, [7])])
def test_the_lines_of_a_statement(lines, line, expected):
    assert list(lines.statement(Path("m.py"), line)) == expected


def test_a_mutant_meets_the_tests_of_its_line_its_own_files_first(lines):
    chosen = lambda line, most: lines.chosen(Path("m.py"), line, most)  # noqa: E731
    assert chosen(5, mutants.FIRST) == (["tests/test_m.py::b"], 2.0), "those of its own file, as far as time goes"
    assert chosen(5, mutants.THEN) == (
        ["tests/test_n.py::c", "tests/test_m.py::b", "tests/test_m.py::a", "tests/test_n.py::e"],
        41.1,
    )
    assert chosen(2, 100.0) == (["tests/test_m.py::a", "tests/test_n.py::d"], 49.0), "what does not pass here is none"
    assert len(chosen(7, 100.0)[0]) == 5, "a line that no test runs meets those of the module"


def test_every_rule_for_what_is_not_valid_says_why():
    for rule in mutants.known_rules():
        assert set(rule) > {"why"} and len(rule["why"]) > 15
        for name in rule.keys() - {"why"}:
            re.compile(rule[name])
    row = {"file": "a.py", "operator": "ReplaceComparisonOperator_Eq_Is", "before": 'if x == "token":', "after": ""}
    rules = mutants.known_rules()
    assert "CPython" in mutants.alike(row, rules) and not mutants.alike(row | {"before": "if x == y:"}, rules)
    assert not mutants.alike(row | {"operator": "ReplaceComparisonOperator_Eq_Lt"}, rules)


def test_the_score_is_of_the_valid_ones_and_survivors_are_named(tmp_path, capsys):
    row = {
        "file": "a.py",
        "line": 3,
        "function": "f",
        "operator": "NumberReplacer",
        "before": "x = 1",
        "after": "x = 2",
        "outcome": "killed",
        "by": "t",
        "tests": 1,
        "seconds": 1.0,
    }
    rows = [row] * 18 + [row | {"by": "time"}, row | {"outcome": "survived"}, row | {"outcome": "no program"}]
    rows += [row | {"outcome": "survived", "before": "progress(1, n)"}] * 3 + [row | {"before": "progress(1, n)"}]
    (tmp_path / "sample-7.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert mutants.report(tmp_path, 7) == 0
    said = capsys.readouterr().out
    assert "24 mutants, 21 of them valid, 20 killed (1 by their time)" in said and "95.2%" in said
    assert "a.py:3" in said and "- x = 1" in said and "3 not valid: how far" in said
    low, high = mutants.interval(20, 21)
    assert f"{low:.1%} to {high:.1%}" in said and 0.76 < low < 0.77 and high > 0.99


def test_what_decides_a_promise_is_there():
    found = [path.as_posix() for path in mutants.modules(ROOT)]
    assert (
        len(found) > 40
        and "dptext_core/mechanisms/words/tem.py" in found
        and "dptext_core/privacy/gaussian.py" in found
    )
    assert all((ROOT / path).is_file() for path in found) and not any("__init__" in path for path in found)
    tests = mutants.tests(ROOT)
    assert "tests/privacy/test_noise.py" in tests and "tests/pages/test_pages.py" not in tests


def test_every_pattern_finds_a_file():
    patterns = [*mutants.MODULES, *(f"tests/{name}" for name in (*mutants.TESTS, *mutants.LEFT_OUT))]
    assert not [pattern for pattern in patterns if not any(ROOT.glob(pattern))]


def test_what_is_no_program_is_no_mutant():
    assert mutants.parses("def f(a, *, b=1): return a * b") and not mutants.parses("def f(a, %, b=1): return a * b")
