"""Count lines of code by folder, without blanks, comments and docstrings.

python tools/count_lines.py [FOLDER …] [--kinds]
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
PACKAGES = ("dptext_core", "dptext_lab", "dptext_studio", "pages")
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def _code(source: str) -> dict[int, list[tokenize.TokenInfo]]:
    """Return the tokens of each line, without comments and docstrings."""
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
    """Count the lines with a token that is neither a comment nor part of a docstring."""
    return len(_code(source))


def kinds(source: str) -> Counter[str]:
    """Count those lines by what they hold: imports, heads of functions, text alone, brackets alone, and the rest."""
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


def by_folder(folder: Path) -> Counter[str]:
    """Count the lines of each folder in ``folder``; files directly in it count as "."."""
    counts: Counter[str] = Counter()
    for path, source in _sources(folder):
        inside = path.relative_to(folder).parts
        counts[inside[0] if len(inside) > 1 else "."] += code_lines(source)
    return counts


def by_kind(folder: Path) -> Counter[str]:
    """Count the lines below ``folder`` by what they hold."""
    return sum((kinds(source) for _, source in _sources(folder)), Counter[str]())


def _sources(folder: Path) -> Iterator[tuple[Path, str]]:
    return ((path, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py")))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="*", type=Path, help="packages (default: all of them)")
    parser.add_argument("--kinds", action="store_true", help="count by what lines hold instead")
    args = parser.parse_args()
    total = 0
    for folder in args.folder or [ROOT / name for name in PACKAGES]:
        counts = (by_kind if args.kinds else by_folder)(folder)
        print(f"{counts.total():7,}  {folder.name}")
        for name, n in counts.most_common():
            print(f"{n:7,}    {name}")
        total += counts.total()
    print(f"{total:7,}  in total")


if __name__ == "__main__":
    main()
