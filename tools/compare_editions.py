"""Editions of the benchmark beside each other: the same settings on the same data, as each of some summaries has them.

Of every mechanism the mean over the settings that all files have, and how many of the first file's figures lie inside
the interval of the last one; below the table, how many settings have the very same figures in the last two. An
edition's file is in the repository's history:

    git log --oneline -- assets/benchmarks/results.json
    git show COMMIT:assets/benchmarks/results.json > one.json
    python tools/compare_editions.py one.json two.json assets/benchmarks/results.json --data sst2
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dptext_core.measure.metrics.registry import measure
from dptext_lab.results.measurement import markdown

METRICS = ("accuracy", "cosine", "n_w", "s_w")
#: An option that older editions leave out where it makes no difference.
UNNAMED = "oov"
#: An option that had another default before any row named it: what its rows of that time were made with.
BEFORE = {"dp-mlm": ("clip", "paper")}


def rows_of(path: Path, data: str) -> dict[tuple[str, str, float, str], dict[str, Any]]:
    """The rows of a summary on a data set: (mechanism, options, ε, metric) → row."""
    found = {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    named = {(row["mechanism"], name) for row in rows for name in row["options"]}
    for row in rows:
        if row["data"] == data and row["epsilon"] is not None:
            options = {name: x for name, x in row["options"].items() if name != UNNAMED}
            option, was = BEFORE.get(row["mechanism"], (None, None))
            if option is not None and (row["mechanism"], option) not in named:
                options[option] = was
            found[row["mechanism"], json.dumps(options, sort_keys=True), row["epsilon"], row["metric"]] = row
    return found


def main() -> None:
    takes = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    takes.add_argument("files", type=Path, nargs="+", help="summaries, the oldest first")
    takes.add_argument("--data", default="sst2", help="the data set")
    takes.add_argument("--metric", nargs="+", default=list(METRICS))
    args = takes.parse_args()
    editions = [rows_of(path, args.data) for path in args.files]
    shared = [key for key in editions[-1] if all(key in e for e in editions)]
    lines = []
    for name in dict.fromkeys(key[0] for key in shared):
        cells = [name]
        for metric in args.metric:
            keys = [key for key in shared if key[0] == name and key[3] == metric]
            if not keys:
                cells += ["", ""]
                continue
            means = [sum(e[key]["value"] for key in keys) / len(keys) for e in editions]
            inside = [
                editions[-1][key]["low"] <= editions[0][key]["value"] <= editions[-1][key]["high"]
                for key in keys
                if editions[-1][key]["low"] is not None
            ]
            cells += [" → ".join(format(x, measure(metric).digits) for x in means), f"{sum(inside)} of {len(inside)}"]
        lines.append(cells)
    heading = ["mechanism", *(cell for m in args.metric for cell in (measure(m).title, "first inside last"))]
    print(markdown(heading, lines))
    if len(editions) > 1:
        settings: dict[tuple[str, str, float], bool] = {}
        for key in shared:
            if key[3] in args.metric:
                same = all(editions[-1][key][part] == editions[-2][key][part] for part in ("value", "low", "high"))
                settings[key[:3]] = settings.get(key[:3], True) and same
        print(f"\n{sum(settings.values())} of {len(settings)} settings have the same figures in the last two files.")


if __name__ == "__main__":
    main()
