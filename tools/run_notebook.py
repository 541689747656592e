"""Run the notebook of the documents and keep what its cells print: docs/first_steps.ipynb.

Run:  python tools/run_notebook.py           runs it and writes its outputs
      python tools/run_notebook.py --check   says which cell prints something else than is kept, exit status 1
      python tools/run_notebook.py --make docs/notebooks/equal_certainty.py build/equal_certainty.ipynb
                                             makes a notebook of a file whose cells begin with # %%, and runs it

Cells are run in order by Python alone, as a kernel would: no Jupyter is needed. Where the last line of a cell is a
plotly figure, the figure is kept as such.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "first_steps.ipynb"
FIGURE = "application/vnd.plotly.v1+json"


def cells(text: str) -> list[dict[str, Any]]:
    """The cells of a Python file, each of which begins with ``# %%``, or with ``# %% [markdown]``."""
    found: list[dict[str, Any]] = []
    for i, (kind, body) in enumerate(re.findall(r"(?ms)^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", text)):
        source = re.sub(r"(?m)^# ?", "", body.strip()) if kind else body.strip()
        cell: dict[str, Any] = {"cell_type": "markdown" if kind else "code", "id": f"cell-{i}", "metadata": {}}
        cell |= {} if kind else {"execution_count": None, "outputs": []}
        found.append(cell | {"source": source.splitlines(keepends=True)})
    return found


def made(file: Path) -> dict[str, Any]:
    """A notebook of a Python file, with what its cells print."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells(file.read_text(encoding="utf-8")), "metadata": {"kernelspec": kernel}}
    for count, (cell, outputs) in enumerate(zip(code_cells(notebook), run(notebook), strict=True), 1):
        cell["outputs"], cell["execution_count"] = outputs, count
    return notebook | {"nbformat": 4, "nbformat_minor": 5}


def kept(notebook: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of every code cell, in the format of notebooks. Raises what a cell raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs(cell, count, names) for count, cell in enumerate(code_cells(notebook), 1)]


def _outputs(cell: dict[str, Any], count: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse("".join(cell["source"]))
    end = tree.body[-1] if tree.body else None
    if isinstance(end, ast.Expr):
        tree.body.pop()
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if isinstance(end, ast.Expr):
            value = eval(compile(ast.Expression(end.value), f"cell {count}", "eval"), names)
    out: list[dict[str, Any]] = []
    if printed.getvalue():
        out.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        shown: dict[str, Any] = {"text/plain": [repr(value)]}
        if hasattr(value, "to_json"):
            shown = {FIGURE: json.loads(value.to_json()), "text/plain": ["A figure: JupyterLab draws it."]}
        out.append({"data": shown, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return out


def said(outputs: list[dict[str, Any]]) -> str:
    """What a cell says in words."""
    return "".join("".join(o.get("text") or o["data"]["text/plain"]) for o in outputs)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and say what differs")
    parser.add_argument("--make", nargs=2, type=Path, metavar=("FILE", "NOTEBOOK"), help="a notebook of a Python file")
    args = parser.parse_args()
    check = args.check
    sys.path.insert(0, str(ROOT))
    if args.make:
        kept(made(args.make[0]), args.make[1])
        return 0
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    found = run(notebook)
    differ = 0
    for count, (cell, outputs) in enumerate(zip(code_cells(notebook), found, strict=True), 1):
        if check and said(cell["outputs"]) != said(outputs):
            differ += 1
            print(f"Cell {count} prints something else:\n{said(outputs)}")
        cell["outputs"], cell["execution_count"] = outputs, count
    if not check:
        kept(notebook, NOTEBOOK)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
