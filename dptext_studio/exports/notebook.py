"""The setting as a Jupyter notebook: the rewrite, its guarantee, the candidates of words, and the attackers' results.
"""

from __future__ import annotations

import json
from typing import Any

from dptext_core.mechanisms.base import Mechanism

from .parts import FILE, as_python

_CHANCES = """\
for place, chances in r.distributions():
    likely = sorted(zip(chances.probs, chances.candidates), reverse=True)[:3]
    print(f"{place}: {chances.source or ''} → " + ", ".join(f"{word} {p:.1%}" for p, word in likely))
"""
_EPSILON = """\
prepared = m.prepare(text)
low, high, _ = m.epsilon_range()
for epsilon in (low, m.config.epsilon, high):
    print(f"ε = {epsilon:g}: {m.replace(epsilon=epsilon).rewrite(prepared).text}")
"""
_ATTACKERS = """\
found = dpt.attacks.best.ask(m, [r])
print(found.sentence())
"""


def as_notebook(mechanism: Mechanism, seed: int | None = None) -> str:
    """Return a notebook (format 4.5) of this setting, as JSON. It contains no text and reads one from a file.

    seed: see :func:`as_python`.
    """
    can = mechanism.can
    cells = [
        (
            f"# {mechanism.title}\n\nSave your text as `{FILE}` next to this notebook. The notebook runs offline, and "
            "your text does not leave this machine. Except for the first rewrite, do not publish the output of the "
            "cells."
        ),
        as_python(mechanism, seed),
    ]
    if "distribution" in can:
        cells += ["The three most likely candidates of each word.", _CHANCES]
    if "sweep" in can and not isinstance(mechanism.config.epsilon, tuple):
        cells += ["The same text at other ε, each with fresh noise. Read these, but do not release them.", _EPSILON]
    if {"alignment", "distribution"} <= can:
        cells += ["How many of the replaced words the strongest attacker recovers.", _ATTACKERS]
    made = [_cell(k, cell, code=k % 2 == 1) for k, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _cell(number: int, source: str, code: bool) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": "code" if code else "markdown", "id": f"cell-{number}", "metadata": {}}
    cell |= {"execution_count": None, "outputs": []} if code else {}
    return cell | {"source": source.strip().splitlines(keepends=True)}
