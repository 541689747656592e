"""Values that must stay what they are, in files of ``tests/golden``; ``GOLDEN=write pytest …`` writes them anew."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.privacy.terms import Conditions, Term

FOLDER = Path(__file__).parent / "golden"


def compare_file(name: str, found: dict[str, Any]) -> None:
    """``found`` is what the file of this name holds, numbers to 1e-4; or the file is written."""
    if os.environ.get("GOLDEN") == "write":
        _write(name, found)
    same(json.loads(json.dumps(found)), _kept(name), name)


def compare_case(name: str, case: str, found: Any, error: float = 1e-6, least: float = 1e-12) -> None:
    """``found`` is what the file of this name holds of this case, numbers to ``error``, or ``least`` near
    0; or that part of it is written."""
    if os.environ.get("GOLDEN") == "write":
        kept = _kept(name) if (FOLDER / f"{name}.json").is_file() else {}
        _write(name, dict(sorted((kept | {case: found}).items())))
    same(json.loads(json.dumps(found)), _kept(name)[case], f"{name}/{case}", error, least)


def plain(value: Any) -> Any:
    """A value as a file can hold it; of what a guarantee states the kinds, and not the words."""
    if isinstance(value, Term):
        return [str(value.kind), plain(dict(value.parameters))] if value else ""
    if isinstance(value, Conditions):
        return [plain(condition) for condition in value.conditions]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items() if k != "seconds"}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _kept(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def _write(name: str, found: dict[str, Any]) -> None:
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{json.dumps(key)}: {json.dumps(_rounded(value), ensure_ascii=False)}" for key, value in found.items()]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    """Nine digits, since no test compares more."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def same(found: Any, kept: Any, where: str, error: float = 1e-4, least: float = 1e-4) -> None:
    if isinstance(kept, float) and isinstance(found, float):
        assert found == kept or math.isclose(found, kept, rel_tol=error, abs_tol=least), (where, found, kept)
    elif isinstance(kept, dict) and isinstance(found, dict):
        assert list(found) == list(kept), where
        for key in kept:
            same(found[key], kept[key], f"{where}/{key}", error, least)
    elif isinstance(kept, list) and isinstance(found, list):
        assert len(found) == len(kept), where
        for n, (one, other) in enumerate(zip(found, kept, strict=True)):
            same(one, other, f"{where}/{n}", error, least)
    else:
        assert found == kept, (where, found, kept)
