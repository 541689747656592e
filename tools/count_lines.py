"""Lines of code by room: without blanks, comments and docstrings.

python tools/count_lines.py [FOLDER] [--kinds]
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def _code(source: str) -> dict[int, list[tokenize.TokenInfo]]:
    """Tokens by line that are neither a comment nor part of a docstring."""
    lines: dict[int, list[tokenize.TokenInfo]] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            for line in range(token.start[0], token.end[0] + 1):
                lines.setdefault(line, []).append(token)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(ast.Constant(str())) as documented, *_]:
                    for line in range(documented.lineno, (documented.end_lineno or 0) + 1):
                        lines.pop(line, None)
    return lines


def code_lines(source: str) -> int:
    """Lines of Python on which a token stands that is neither a comment nor part of a docstring."""
    return len(_code(source))


def kinds(source: str) -> Counter[str]:
    """Those lines by what they hold: imports; heads of functions; nothing but a text; nothing but brackets; the rest,
    which decides and computes."""
    imports: set[int] = set()
    heads: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(n.lineno for n in (node, *node.decorator_list))
            heads.update(range(first, max(node.body[0].lineno, node.lineno + 1)))
    counts: Counter[str] = Counter()
    for line, tokens in _code(source).items():
        types = {tokenize.tok_name[token.type].partition("_")[0] for token in tokens}
        if line in imports:
            counts["imports"] += 1
        elif line in heads:
            counts["heads of functions"] += 1
        elif types == {"OP"}:
            counts["brackets alone"] += 1
        elif types <= {"OP", "STRING", "FSTRING"}:
            counts["text alone"] += 1
        else:
            counts["the rest"] += 1
    return counts


def by_room(folder: Path) -> Counter[str]:
    """Lines of code of each folder in ``folder``; files that lie in it directly count as "."."""
    rooms: Counter[str] = Counter()
    for path, source in _sources(folder):
        inside = path.relative_to(folder).parts
        rooms[inside[0] if len(inside) > 1 else "."] += code_lines(source)
    return rooms


def by_kind(folder: Path) -> Counter[str]:
    """Lines of code below ``folder`` by what they hold."""
    return sum((kinds(source) for _, source in _sources(folder)), Counter[str]())


def _sources(folder: Path) -> Iterator[tuple[Path, str]]:
    return ((path, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py")))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dptext_core", help="a package")
    parser.add_argument("--kinds", action="store_true", help="by what lines hold instead")
    args = parser.parse_args()
    counts = (by_kind if args.kinds else by_room)(args.folder)
    for name, n in counts.most_common():
        print(f"{n:7,}  {name}")
    print(f"{counts.total():7,}  together")


if __name__ == "__main__":
    main()
