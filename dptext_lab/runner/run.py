"""Run the points of a grid that a file lacks.

Each finished point is appended to the file, so a stopped run continues. The grids are in
``runner/grid.py``, the command is ``commands/bench_run.py``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dptext_core.errors import InputError

from ..results import summary as store
from . import line_files
from .grid import GridPoint, cost, groups
from .group_run import RunConfig, stop_list_name
from .processes import run_groups, seconds_left


def run(points: Sequence[GridPoint], setup: RunConfig, out: Path, jobs: int = 1, say: Any = None) -> int:
    """Run the points that are not in ``out``, and return their number. ``say`` receives lines of progress."""
    before = store.read_lines(out)
    for line in before:
        if line.provenance.stopwords != stop_list_name(setup.stopwords):
            raise InputError(
                f"{out} has the stop words of {line.provenance.stopwords}. Use the same list, or another file."
            )
        if line.provenance.command != setup.command:
            raise InputError(
                f"{out} comes from the command {line.provenance.command}. Use the same options, or another file."
            )
    have = {line.id for line in before}
    todo = [missing for group in groups(points) if (missing := [p for p in group if p.id not in have])]
    total = sum(map(len, todo))
    if say:
        say(
            f"{len(points)} points, {len(points) - total} done, {total} to run, "
            f"about {sum(map(cost, todo)) / 60:.0f} core-minutes"
        )
    group_of = {p.id: i for i, group in enumerate(todo) for p in group}
    share = [cost(group) / len(group) for group in todo]
    began, estimated, count = time.perf_counter(), 0.0, 0
    estimate = sum(map(cost, todo))
    writer = line_files.LineWriter(out)
    try:
        for line in run_groups(todo, setup, jobs):
            writer.write(line)
            count += 1
            estimated += share[group_of[line.id]]
            if say:
                remaining = seconds_left(time.perf_counter() - began, estimated, estimate, jobs)
                options = " ".join(str(v) for v in line.options.values())
                say(
                    f"{count}/{total} {line.mechanism} {options} on {line.data}, ε {line.epsilon}, seed "
                    f"{line.seed}: {line.seconds:.1f} s; {remaining / 60:.0f} min left"
                )
    finally:
        writer.close()
    return count
