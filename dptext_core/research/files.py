"""How the measurements that ship as assets are written, and rows of them read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .._internal import assets
from .rows import Row


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of such a file. Raises InputError."""
    return tuple(map(Row.read, assets.read_json(path)["rows"]))


def write_rows(path: Path, whole: dict[str, Any], first: str) -> None:
    """Compact JSON with a line for each object that begins with the key ``first``, so that changes are easy to read."""
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_text(text.replace(f'{{"{first}"', f'\n{{"{first}"') + "\n", encoding="utf-8")
    beside.replace(path)  # whole at any time: a table may be written row by row
