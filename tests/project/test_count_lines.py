"""The counter of lines of code, on sources whose lines are counted by hand."""

from __future__ import annotations

import pytest
from scripts import script


@pytest.fixture(scope="module")
def counter():
    return script("tools/count_lines.py")


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ("", 0),
        ('"""About\n\nit."""\n\n# A comment.\nX = 1  # beside code\n', 1),
        ('def f():\n    """Says\n    what."""\n\n    return """a\n\n    b"""\n', 4),
        ("class A:\n    x: int\n    '''A string that is no docstring.'''\n", 3),
        ("y = [\n    1,\n\n    # why\n    2,\n]\n", 4),
        ("async def g():\n    'short'\n", 1),
    ],
)
def test_blanks_comments_and_docstrings_do_not_count(counter, source, n):
    assert counter.code_lines(source) == n


def test_lines_are_counted_by_folder_and_beside_them(counter, tmp_path):
    for name, lines in (("a/b/c.py", 3), ("a/d.py", 2), ("e.py", 1)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n" * lines, encoding="utf-8")
    assert counter.by_folder(tmp_path) == {"a": 5, ".": 1}


def test_lines_by_what_they_hold(counter):
    source = (
        "from a import (\n    b,\n)\n\n\n@b\ndef f(\n    x,\n):\n"
        '    """What."""\n    return [\n        "one text "\n        "in two pieces",\n        x,\n    ]\n'
    )
    kinds = {"imports": 3, "heads of functions": 4, "text alone": 2, "brackets alone": 1, "the rest": 2}
    assert counter.kinds(source) == kinds and counter.code_lines(source) == 12
