"""The summary of a benchmark run over its seeds, which the pages read, and the lines behind it.

A line is one point as JSON. It is self-contained, so an interrupted run can continue: an incomplete last line is
dropped and its point runs again. ``runner.merging`` combines any number of such files into a summary.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from dptext_core.errors import InputError
from dptext_core.models.registry import WEIGHTS_FILE, masked_lm_spec
from dptext_core.support import assets, hosting
from dptext_core.support.whole_files import write_whole

from .rows import Gate, Row, RunLine

ABOUT = (
    "command",
    "version",
    "machine",
    "device",
    "finished",
    "seeds",
    "points",
    "missing",
    "core_minutes",
    "cut",
    "data",
)


@dataclass(frozen=True, eq=False)
class Results:
    """A summary: about (see ABOUT), gates and rows. It is compared by identity, so results can be cached by it."""

    about: dict[str, Any]
    gates: tuple[Gate, ...]
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
        return {
            "about": self.about,
            "gates": [g.to_dict() for g in self.gates],
            "rows": [r.to_dict() for r in self.rows],
        }


# --- lines ----------------------------------------------------------------------------------------------------------


def read_lines(path: Path) -> list[RunLine]:
    """Return the points in a file, or [] if it is missing. An incomplete last line is omitted.

    Raises InputError if another line cannot be read, or does not match its id.
    """
    if not path.exists():
        return []
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Name another file.") from error
    out = []
    for number, part in enumerate(text.split("\n")[:-1], 1):
        try:
            out.append(RunLine.read(json.loads(part)))
        except InputError as error:
            raise InputError(
                f"{path.name}, line {number}, is not a valid point: {error}. Delete that line and run again."
            ) from error
        except ValueError as error:
            raise InputError(
                f"{path.name}, line {number}, is not JSON: {error}. Delete that line and run again."
            ) from error
    return out


# --- the summary ----------------------------------------------------------------------------------------------------


def write(results: Results, path: Path) -> None:
    """Write one gate or row per line, for readable diffs."""

    def block(records: Sequence[Gate | Row]) -> str:
        return "[" + ",".join("\n" + json.dumps(r.to_dict(), ensure_ascii=False) for r in records) + "\n]"

    about = json.dumps(results.about, ensure_ascii=False, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f'{{"about": {about},\n"gates": {block(results.gates)},\n"rows": {block(results.rows)}}}\n'
    write_whole(path, text.encode())


def read(path: Path) -> Results:
    """Return a checked summary. Raises InputError with the problem."""
    again = "Make it again with: python -m dptext_core bench run --grid full --merge FILES --summary FILE"
    try:
        content = assets.read_json(path)
    except InputError as error:
        raise InputError(f"{error} {again}") from error
    if not isinstance(content, dict) or set(content) != {"about", "gates", "rows"}:
        raise InputError(f"{path.name} needs exactly “about”, “gates” and “rows”. {again}")
    if not isinstance(content["about"], dict) or not set(ABOUT) <= set(content["about"]):
        raise InputError(f"{path.name}: “about” needs {', '.join(ABOUT)}. {again}")
    if not isinstance(content["about"]["missing"], dict):
        raise InputError(f"{path.name}: “missing” must be an object of settings and numbers of points. {again}")
    if not isinstance(content["gates"], list) or not isinstance(content["rows"], list):
        raise InputError(f"{path.name}: gates and rows must be lists. {again}")
    part: Any = None
    try:
        gates = tuple(Gate.read(part := gate) for gate in content["gates"])
        return Results(content["about"], gates, tuple(Row.read(part := row) for row in content["rows"]))
    except InputError as error:
        raise InputError(f"{path.name}: {error}: {part}. {again}") from error


def bundled() -> Results | None:
    """Return the bundled results, or None."""
    return assets.bundled("benchmarks/results.json", read, None)


def added_summaries() -> list[Results]:
    """Return the summaries in DPTEXT_RESULTS. Raises InputError with the name of an unreadable file."""
    out = []
    for path in hosting.results():
        try:
            out.append(_read_cached(path, path.stat().st_mtime_ns))
        except OSError as error:
            raise InputError(
                f"DPTEXT_RESULTS names {path}, which cannot be read: {error.strerror or error}. Name another file."
            ) from error
    return out


@lru_cache(maxsize=16)
def _read_cached(path: Path, _changed: int) -> Results:
    return read(path)


def displayed_results() -> Results | None:
    """Return the results for the pages: the bundled ones and your own. Raises InputError."""
    summary = bundled()
    return _combine_all(summary, tuple(added)) if (added := added_summaries()) else summary


@lru_cache(maxsize=4)
def _combine_all(summary: Results | None, added: tuple[Results, ...]) -> Results:
    for new in added:
        summary = new if summary is None else combine(summary, new)
    assert summary is not None
    return summary


def check_same_files(old: Results, new: Results) -> None:
    """Check that two summaries come from the same files of the data sets that both have, or raise InputError.

    The number of tokens also depends on the tokenizer, so it may differ."""
    before, after = old.about["data"], new.about["data"]
    without = {"tokens": None}
    shared = before.keys() & after.keys()
    if changed := sorted(name for name in shared if before[name] | without != after[name] | without):
        raise InputError(
            f"The two summaries were made from different files of {', '.join(changed)}. Use the same files for both."
        )


def combine(old: Results, new: Results) -> Results:
    """Combine two summaries, with the description of the first.

    Raises InputError if they share a data set but not its conditions."""
    shared = [name for name in new.about["data"] if name in old.about["data"]]
    for what in ("version", "stopwords"):
        if shared and old.about[what] != new.about[what]:
            raise InputError(
                f"These results for {', '.join(shared)} differ in {what}: {old.about[what]} and {new.about[what]}. "
                "Repeat your run with the first value."
            )
    check_same_files(old, new)
    there = {(r.setting, r.data) for r in old.rows}
    return Results(
        old.about | {"data": new.about["data"] | old.about["data"]},
        (*old.gates, *(g for g in new.gates if g.data not in shared)),
        (*old.rows, *(r for r in new.rows if (r.setting, r.data) not in there)),
    )


#: SHA-256 of the model's weights behind the bundled results. They were measured before the weights were rounded to
#: 8 bits, which changes the cosine at equal N_w by 0.002 (assets/models/masked_lm/README.md).
MEASURED_WITH = "fa94a97419cae2e8718d0038ad0fe4b6963a663a4fbc657edc8813b70129f039"


@cache
def other_model() -> str:
    """Return a warning if the bundled language model differs from that of the bundled results, else ""."""
    spec = masked_lm_spec()
    if assets.sha256_of(spec.folder / WEIGHTS_FILE) == MEASURED_WITH:
        return ""
    return (
        "DP-MLM and the language model attacker were measured with an earlier version of the bundled language model. "
        "New measurements give slightly different values."
    )
