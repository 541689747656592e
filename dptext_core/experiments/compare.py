"""Runs beside each other: a row for each folder, a column for each thing in which they differ or that they found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._assets import read_json
from ..checks import shown, usable_path
from ..errors import InputError
from ..guarantee import bound
from .downstream import METRICS, said
from .folder import CONFIG, RESULT, read_lines

#: Of what was asked for, said of every run, in this order.
ALWAYS = ("run", "state", "mechanism", "epsilon", "data", "train", "test")


def compare(folders: Sequence[str | Path]) -> list[list[list[str]]]:
    """A table of texts for each mode, its heading first. Of what was asked for, only what differs has a column, save
    ALWAYS. Raises InputError."""
    if not folders:
        raise InputError("Name at least one folder of a run.")
    modes: dict[str, list[tuple[dict[str, str], dict[str, str]]]] = {}
    for given in folders:
        mode, asked, found = _run(usable_path(given))
        modes.setdefault(mode, []).append((asked, found))
    return [_table(rows) for rows in modes.values()]


def _table(rows: Sequence[tuple[dict[str, str], dict[str, str]]]) -> list[list[str]]:
    names = dict.fromkeys([*ALWAYS, *(name for asked, _ in rows for name in asked)])
    asked = [
        name for name in names
        if any(name in a for a, _ in rows) and (name in ALWAYS or len({a.get(name, "") for a, _ in rows}) > 1)
    ]  # fmt: skip
    found = list(dict.fromkeys(name for _, f in rows for name in f))
    return [
        [*asked, *found],
        *([*(a.get(name, "") for name in asked), *(f.get(name, "") for name in found)] for a, f in rows),
    ]


def _run(folder: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """A run's mode, what it was asked for, and what it found."""
    if not (folder / CONFIG).is_file():
        raise InputError(f"{shown(str(folder))} holds no run: it has no {CONFIG}. Name the folder of a run.")
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict):
        raise InputError(f"{CONFIG} in {folder.name} holds something else than a run. Name another folder.")
    asked = {"run": folder.name, "state": "finished"}
    for key, value in config.items():
        if isinstance(value, dict) and "sha256" in value:
            asked[key] = f"{value.get('name')} {str(value['sha256'])[:8]}"
        elif key == "loads" and isinstance(value, dict):
            asked |= {f"files of {name}": str(one)[:8] for name, one in value.items()}
        elif isinstance(value, dict):
            asked |= {name: str(one) for name, one in value.items() if not isinstance(one, dict)}
        elif key != "mode" and value not in (None, [], ""):
            asked[key] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if not (folder / RESULT).is_file():
        lines = sum(1 for _ in read_lines(folder))
        return str(config.get("mode", "")), asked | {"state": f"not finished, {lines:,} lines"}, {}
    return str(config.get("mode", "")), asked, _found(read_json(folder / RESULT))


def _found(result: Mapping[str, Any]) -> dict[str, str]:
    out: dict[str, str] = {}
    if "one_row" in result:
        out |= {name: f"{result[name]:,}" for name in ("rows", "errors")}
        for key, title in (("one_row", "ε of a row, at most"), ("all_rows", "ε of all rows")):
            promised = result[key] is not None and "none" not in result["notions"]
            out[title] = bound(result[key]) if promised else "no guarantee"
            if result["seeded"]:
                out[title] += ", seeded: not private"
    for name, value in result.get("measures", {}).items():
        out[name] = f"{value['mean']:.3f}"
    for metric in METRICS:
        if metric in result:
            out[metric] = said(result[metric])
            out["seeds"] = str(result.get("seeds", ""))
            out[f"{metric}, no information"] = f"{result['no_information'][metric]:.3f}"
    return out
