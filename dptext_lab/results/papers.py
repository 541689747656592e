"""The papers' results: their tables as rows, transcribed in ``assets/papers``, one file per paper.

A file is a list of tables: paper, title, authors, venue, file (its text extraction), table, caption (in our words, with
uncertainties), units (of each metric) and rows. A row has mechanism, options (our names), epsilon (None if there is
none, or no noise), data, task, metric, value, spread (a standard deviation, or None) and note. Numbers are as printed:
percent in one paper, shares in another. The options ``best_of`` and ``mean_of`` mark a score that the paper selected
from, or averaged over, several settings. ``mechanism`` is "baseline" for unprotected text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dptext_core.errors import InputError, ModelUnavailable
from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.setting import Setting, SettingFields
from dptext_core.support.assets import assets_folder, bundled, read_json

from .rows import TASKS, is_finite, make_record

WORD_LEVEL = ("diffractor", "custext", "santext", "santext-plus", "mvc", "mahalanobis", "vickrey", "gumbel", "tem")
MECHANISMS = frozenset(("baseline", "dp-mlm", "dp-mlm-plus", "dp-prompt", "dp-paraphrase", *WORD_LEVEL, "adept"))
NUMBERS = ("epsilon", "value", "spread")
COLUMNS = frozenset(("mechanism", "options", "data", "task", "metric", "note", *NUMBERS))
ABOUT = frozenset(("paper", "title", "authors", "venue", "file", "table", "caption", "units", "rows"))


@dataclass(frozen=True, slots=True)
class PaperRow(SettingFields):
    """One number of a paper. value: None if the paper prints infinity. spread: a standard deviation or None.

    unit: as printed. ``value`` and ``spread`` times ``scale`` are in this project's units (shares of 1, BLEU in
    points). n, seeds, point: fields of a ``Row`` that no paper gives in its tables.
    """

    setting: Setting
    data: str
    task: str
    metric: str
    value: float | None
    spread: float | None
    note: str
    paper: str
    file: str
    table: str
    caption: str
    unit: str
    scale: float
    n: None = None
    seeds: None = None
    point: str = ""


def paper_rows(data: str | None = None, mechanism: str | None = None, metric: str | None = None) -> list[PaperRow]:
    """Return the papers' numbers for this data set, mechanism and metric (None: all). An unknown name gives no rows.

    Raises ModelUnavailable if the files are missing, and InputError if one is invalid.
    """
    return [
        row
        for row in _all_rows(assets_folder() / "papers")
        if data in (None, row.data) and mechanism in (None, row.mechanism) and metric in (None, row.metric)
    ]


def _all_rows(folder: Path) -> tuple[PaperRow, ...]:
    files = sorted(folder.glob("*.json"))
    if not files:
        raise ModelUnavailable(f"The papers' tables are missing. Restore {folder} from the repository.")
    return tuple(row for file in files for row in bundled(f"papers/{file.name}", read_tables, []))


def read_tables(path: Path) -> list[PaperRow]:
    """Return the checked rows of one file. Raises InputError that names the table and the problem."""
    tables = read_json(path)
    if not isinstance(tables, list) or not all(isinstance(t, dict) and set(t) == ABOUT for t in tables):
        raise InputError(f"{path.name} must be a list of tables with exactly: {', '.join(sorted(ABOUT))}.")
    if not all(isinstance(t["rows"], list) and isinstance(t["units"], dict) for t in tables):
        raise InputError(f"{path.name}: in each table, “rows” must be a list and “units” an object.")
    out = []
    for table in tables:
        earlier = set()
        for row in table["rows"]:
            fault = _fault(row, table["units"])
            key = fault or json.dumps([row[c] for c in ("mechanism", "options", "epsilon", "data", "metric")])
            if fault or key in earlier:
                raise InputError(f"{path.name}, {table['table']}: {fault or 'this row is repeated'}: {row}")
            earlier.add(key)
            unit = table["units"][row["metric"]]
            scale = (
                0.01
                if unit == "percent"
                else 100.0
                if (measure(row["metric"]).unit, unit) == ("points", "fraction")
                else 1.0
            )
            about = {c: table[c] for c in ("paper", "file", "table", "caption")}
            out.append(make_record(PaperRow, {**row, **about, "unit": unit, "scale": scale}))
    return out


def _fault(row: Any, units: dict[str, str]) -> str | None:
    if not isinstance(row, dict) or set(row) != COLUMNS:
        return f"a row needs exactly {', '.join(sorted(COLUMNS))}"
    if not all(isinstance(row[c], str) for c in COLUMNS - {"options", *NUMBERS}) or not isinstance(
        row["options"], dict
    ):
        return "options must be an object, and other columns without numbers must be strings"
    if row["mechanism"] not in MECHANISMS or row["task"] not in TASKS or row["metric"] not in units:
        return "unknown mechanism or task, or a metric without a unit"
    for column in NUMBERS:
        x = row[column]
        if x is not None and not is_finite(x):
            return f"{column} must be a finite number or null"
        if x is not None and x < 0 and column != "value":
            return f"{column} is negative"
    return "a row without a value needs a note" if row["value"] is None and not row["note"] else None
