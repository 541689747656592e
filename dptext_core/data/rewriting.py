"""Rewrite a data set with any mechanism into a folder.

A line of ``rows.jsonl`` has the rewritten text under the name of its column, the copied columns, and ``dp``: the row's
number, its guarantee, and why it has no text, if so. Columns are copied only on request, since nothing protects them.
Written rows are never sampled again.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, InputError
from ..mechanisms import codec
from ..mechanisms.base import BATCH, Mechanism
from ..privacy.guarantee import Guarantee
from ..support.assets import sha256_of
from ..support.checks import mask_path, pluralize
from ..support.statistics import standard_error
from ..support.task import UNWATCHED, Task
from ..support.version import __version__
from .folder import RunFolder, read_lines
from .records import DatasetGuarantee, Record, rewrite_records
from .tables import Source

#: The only name that no column may have.
OWN = "dp"
_MEASURED = 256


def rewrite_data(
    data: Source,
    m: Mechanism,
    out: str | Path,
    *,
    column: str = "text",
    keep: Sequence[str] = (),
    seed: int | None = None,
    batch: int = BATCH,
    measures: Sequence[str] = (),
    polish: bool = False,
    task: Task = UNWATCHED,
) -> dict[str, Any]:
    """Rewrite ``column`` of every row into the folder ``out``, and return the summary, as in its result.json.

    A stopped run resumes after its last row. data: a source with ``column`` and ``keep``. seed: for a demonstration
    that is not private. measures: metrics of the rewrites against their originals, computed at the end. polish:
    post-process each rewrite; the sampled text remains in its line's ``dp``. Raises ConfigError if the folder contains
    another run, Cancelled with all finished rows in the file.
    """
    check_columns(column, keep)
    with RunFolder(out, config_of(data, m, column, keep, seed, batch, polish)) as folder:
        total = so_far(folder.path, m.shares_draws)
        if m.shares_draws and 0 < total.rows < data.count:
            raise ConfigError(
                "With these options, all rows share their draws, so a stopped run cannot be resumed. Choose another "
                "folder for a new run."
            )
        if total.rows < data.count:
            folder.log(f"{'continues at' if total.rows else 'begins with'} row {total.rows} of {data.count}")
        task.report(total.rows, data.count)
        if total.rows < data.count:
            records = rewrite_records(
                data.rows(), m, column, seed=seed, start=total.rows, batch=batch, polish=polish, task=task
            )
            for some in _chunks(records, batch):
                folder.append(line_of(r, column, keep) for r in some)
                for r in some:
                    total.add(r.guarantee, r.untouched)
                task.report(total.rows, data.count)
        check_count(total.rows, data)
        result: dict[str, Any] = {"mode": "rewrite", **total.to_dict()}
        if polish:
            result["polish"] = polished(data, folder.path, column)
        if measures:
            result["measures"] = score_run(data, folder.path, column, measures, task.quiet)
        folder.finish(result)
        folder.log(f"done: {total.rows} rows, {total.errors} errors")
    return result


def config_of(
    data: Source, m: Mechanism, column: str, keep: Sequence[str], seed: int | None, batch: int, polish: bool = False
) -> dict[str, Any]:
    """Return everything that determines the rows of a run: its config.json."""
    options, loads = run_options(m)
    return {
        "mode": "rewrite",
        "mechanism": m.name,
        "options": options,
        **({"loads": loads} if loads else {}),
        "data": data.to_dict(),
        "column": column,
        "keep": list(keep),
        "seed": seed,
        "batch": batch,
        "version": __version__,
        **({"polish": True} if polish else {}),
    }


def check_columns(column: str, keep: Sequence[str]) -> None:
    """Raise ConfigError for column names that conflict in a line of the result."""
    if OWN in (column, *keep):
        raise ConfigError(f"No column of the result can be named {OWN!r}. Rename that column, or use its number.")
    if column in keep:
        raise ConfigError(
            f"The column {column!r} is rewritten, so it cannot be copied too. Remove it from the copied columns."
        )


def check_count(rows: int, data: Source) -> None:
    """Raise InputError if a run has another number of rows than its data."""
    if rows != data.count:
        raise InputError(
            f"{data.name} has {pluralize(data.count, 'row')}, but this run has {rows:,}. Choose another "
            "folder to start again."
        )


def so_far(folder: Path, shares_draws: bool) -> DatasetGuarantee:
    """Summarise the rows written so far. Raises InputError if they are not rows of this run."""
    total = DatasetGuarantee(shares_draws)
    for line in read_lines(folder):
        if not isinstance(line.get(OWN), dict) or line[OWN].get("row") != total.rows:
            raise InputError(f"{folder.name} contains rows that are not in order. Choose another folder.")
        try:
            total.add(guarantee_of(line[OWN]), line[OWN].get("untouched", False))
        except (KeyError, TypeError):
            raise InputError(
                f"Row {total.rows} in {folder.name} does not state its guarantee. Choose another folder."
            ) from None
    return total


def errors_of(folder: Path) -> Iterator[tuple[int, str]]:
    """Yield the rows of a run without a text, by their number from 1, and the reason."""
    for line in read_lines(folder):
        if line[OWN]["error"]:
            yield line[OWN]["row"] + 1, line[OWN]["error"]


def run_options(m: Mechanism) -> tuple[dict[str, str], dict[str, str]]:
    """Return all options as texts, and the SHA-256 of the files that they name: contents count, not locations."""
    options, loads = {}, dict(m.loads())
    for field in dataclasses.fields(m.config):
        name, given = field.name, getattr(m.config, field.name)
        options[name] = codec.write(field, mask_path(field, given))
        if not isinstance(given, str) or not os.path.exists(there := os.path.expanduser(given)):
            continue
        path = Path(there).resolve()
        if name not in loads:
            if not path.is_file() and not os.path.isabs(there):
                continue  # the name of an unrelated folder in the working directory
            loads[name] = sha256_of(*([path] if path.is_file() else (p for p in path.iterdir() if p.is_file())))
        options[name] = path.name
    return options, loads


def _chunks(records: Iterator[Record], n: int) -> Iterator[list[Record]]:
    while some := list(itertools.islice(records, n)):
        yield some


def line_of(r: Record, column: str, keep: Sequence[str]) -> dict[str, Any]:
    """Return a row in the form of rows.jsonl."""
    fields: dict[str, Any] = {"row": r.index}
    if r.guarantee is not None:
        g = r.guarantee
        numbers = {"epsilon": g.epsilon, "delta": g.delta, "draws": g.draws, "total": g.total}
        if g.notion == "none":
            numbers |= {"epsilon": math.inf, "delta": math.inf, "total": math.inf}
        fields |= {"notion": g.notion, **{k: v if math.isfinite(v) else None for k, v in numbers.items()}}
        if g.bounded_range:
            fields["bounded_range"] = True
        if g.reason:
            fields["reason"] = g.reason
        fields["exposed"] = [str(entry) for entry in g.exposed]
        if r.untouched:
            fields["untouched"] = True
        if g.seeded:
            fields["note"] = "demonstration, not private: anyone who knows the seed can reproduce the noise"
    if r.sampled_text is not None:
        fields |= {"origin": "polished", "drawn": r.sampled_text}
    fields["error"] = r.error
    return {OWN: fields, **{k: r.row[k] for k in keep}, column: r.text}


def guarantee_of(fields: dict[str, Any]) -> Guarantee | None:
    """Return the guarantee that :func:`line_of` wrote, as far as a total needs it."""
    if fields.get("error") is not None:
        return None
    numbers = {k: math.inf if fields[k] is None else fields[k] for k in ("epsilon", "delta", "total")}
    what = "as the mechanism says"
    return Guarantee(
        notion=fields["notion"],
        epsilon=numbers["epsilon"],
        unit="",
        adjacency="",
        draws=fields["draws"],
        total=numbers["total"],
        delta=numbers["delta"],
        exposed=tuple(fields["exposed"]),
        reason=fields.get("reason", ""),
        seeded="note" in fields,
        bounded_range=bool(fields.get("bounded_range")),
        metric=what * (fields["notion"] == "metric"),
        group=what * (fields["notion"] == "group"),
    )


def _has_text(cell: Any) -> bool:
    """Return True if a row is measured. A row without text could not change."""
    return bool(str(cell).strip())


def polished(data: Source, folder: Path, column: str) -> dict[str, Any]:
    """Return the share of unchanged words before and after post-processing, and both in a sentence."""
    from ..measure.metrics import score

    shares: dict[str, list[float]] = {"before": [], "after": []}
    for row, line in zip(data.rows(), read_lines(folder), strict=False):
        if (drawn := line[OWN].get("drawn")) is not None and _has_text(row[column]):
            for name, text in (("before", drawn), ("after", line[column])):
                shares[name] += [float(x) for x in score("unchanged", [row[column]], [text])]
    shares_mean = {name: float(np.mean(x)) if x else 0.0 for name, x in shares.items()}
    return shares_mean | {
        "rows": len(shares["after"]),
        "sentence": (
            f"The clean-up spent no ε. Before it, {shares_mean['before']:.0%} of all words were unchanged; now "
            f"{shares_mean['after']:.0%} are. An attacker who reads the release could restore the same words."
        ),
    }


def score_run(
    data: Source, folder: Path, column: str, measures: Sequence[str], task: Task = UNWATCHED, step: int = 1
) -> dict[str, dict[str, float]]:
    """Return the mean of each metric over the rewritten rows, with its standard error and the number of rows.

    step: measure one of this many rows.
    """
    from ..measure.metrics import score

    scores: dict[str, list[float]] = {name: [] for name in measures}
    pairs = itertools.islice(zip(data.rows(), read_lines(folder), strict=False), None, None, step)
    done = 0
    while block := list(itertools.islice(pairs, _MEASURED)):
        task.check()
        done += len(block)
        task.report(done, -(-data.count // step))
        both = [(a[column], b[column]) for a, b in block if isinstance(b.get(column), str) and _has_text(a[column])]
        for name in measures:
            scores[name] += [float(x) for x in score(name, *(list(c) for c in zip(*both, strict=True)))] if both else []
    out = {}
    for name, values in scores.items():
        x = np.array([v for v in values if math.isfinite(v)])
        if len(x):
            out[name] = {"mean": float(x.mean()), "error": standard_error(x) or 0.0, "n": len(x)}
    return out
