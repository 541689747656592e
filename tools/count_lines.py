"""Lines of code by room: without blanks, comments and docstrings.

python tools/count_lines.py [FOLDER]
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Lines of Python on which a token stands that is neither a comment nor part of a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(ast.Constant(str())) as documented, *_]:
                    lines.difference_update(range(documented.lineno, (documented.end_lineno or 0) + 1))
    return len(lines)


def by_room(folder: Path) -> Counter[str]:
    """Lines of code of each folder in ``folder``; files that lie in it directly count as "."."""
    rooms: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        rooms[inside[0] if len(inside) > 1 else "."] += code_lines(path.read_text(encoding="utf-8"))
    return rooms


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dptext_core")
    rooms = by_room(parser.parse_args().folder)
    for room, n in rooms.most_common():
        print(f"{n:7,}  {room}")
    print(f"{rooms.total():7,}  together")


if __name__ == "__main__":
    main()
