"""Check contributed points: validate each line, and repeat some points.

Each line has its own provenance. The checks cover its id, which is a hash of its setting; the mechanism's options; the
bounds of scores and their numbers of texts; and the program version, stop words and data hashes, which must match the
bundled results. A setting needs at least three seeds for an interval, and no point may occur twice. A file cannot prove
that its points were measured, so some are repeated and must fall inside the interval of their setting. The file's hash
selects them, so the contributor cannot choose.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dptext_core.errors import DPTextError, InputError
from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.registry import mechanisms
from dptext_core.mechanisms.setting import Setting
from dptext_core.support.checks import pluralize

from ..results import summary as store
from ..results.rows import BASELINE, Row, RunLine
from ..results.summary import Results
from . import group_run, merging
from .grid import GridPoint, Size

#: Fewer seeds cannot show the error of a mean over seeds.
LEAST_SEEDS = 3
#: Metrics that depend on the machine.
SPEED = "speed"


@dataclass(frozen=True)
class RepeatedScore:
    """A repeated score with the interval of its setting."""

    point: str
    metric: str
    value: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        return self.low - 1e-9 <= self.value <= self.high + 1e-9


def check(lines: Sequence[RunLine], against: Results) -> list[str]:
    """Return sentences on all problems of these points."""
    if not lines:
        return ["The file has no points. Run bench run with --out first."]
    faults: list[str] = []
    known = {s.name for s in mechanisms()}
    twice = [i for i, n in _count(line.id for line in lines).items() if n > 1]
    if twice:
        faults.append(f"Repeated points: {len(twice)}, such as {twice[0]}. Remove the duplicates.")
    for line in lines:
        faults += [f"Point {line.id}: {fault}" for fault in _line(line, known)]
    faults += _provenance(lines, against)
    faults += _seeds(lines)
    faults += _check_baseline(lines, against)
    return faults


def _count(values: Iterable[Any]) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def _line(line: RunLine, known: set[str]) -> list[str]:
    faults = []
    if line.mechanism != BASELINE:
        if line.mechanism not in known:
            return [f"the mechanism {line.mechanism!r} is unknown. Install its package or add it, and check again."]
        if line.epsilon is None or line.epsilon <= 0:
            faults.append("its ε is not above 0.")
        try:
            line.setting.at(line.epsilon or 1.0).make()
        except DPTextError as error:
            faults.append(f"its options are invalid: {error}")
    if line.seconds < 0 or line.tokens < 1:
        faults.append("seconds and tokens must be positive.")
    for metric, value in line.scores.items():
        m = measure(metric)
        if m.kind == "other":
            faults.append(f"the metric {metric} is unknown.")
        elif not m.low - 1e-9 <= value <= m.high + 1e-9:
            faults.append(f"{metric} is {value:g}, which is not between {m.low:g} and {m.high:g}.")
        off, n = line.errors.get(metric), line.counts.get(metric)
        if off is not None and off < 0:
            faults.append(f"the standard error of {metric} is negative.")
        if n is None or n < 1:
            faults.append(f"it has no number of texts or words for {metric}.")
        elif m.kind in ("utility", "privacy") and line.n_test is not None and n > line.n_test:
            faults.append(f"{metric} has {n} texts, but only {line.n_test} were tested.")
    if not line.scores:
        faults.append("it has no scores.")
    return faults


def _provenance(lines: Sequence[RunLine], against: Results) -> list[str]:
    about, faults = against.about, []
    for name, wanted in (("version", about["version"]), ("stopwords", about.get("stopwords", ""))):
        other = sorted({getattr(line.provenance, name) for line in lines} - set(str(wanted).split("; ")))
        if other:
            faults.append(
                f"The results have {name} {wanted}, but some points have {', '.join(other)}. Repeat these points "
                f"with {wanted}."
            )
    data = about.get("data", {})
    for name in sorted({line.data for line in lines}):
        hashes = {line.provenance.data_sha256 for line in lines if line.data == name}
        if name in data and hashes != {data[name].get("sha256")}:
            faults.append(
                f"The files of {name} differ from those of the results. Use those with the hash "
                f"{data[name].get('sha256')}."
            )
    now = datetime.now(UTC)
    for line in lines:
        try:
            finished = datetime.strptime(line.provenance.finished, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            faults.append(f"Point {line.id}: its finishing time must have the form 2026-01-31T12:00:00Z.")
            continue
        if finished > now:
            faults.append(f"Point {line.id}: its finishing time is in the future.")
        if not line.provenance.command.strip() or not line.provenance.machine.strip():
            faults.append(f"Point {line.id}: its command or its machine is missing.")
    return faults


def _seeds(lines: Sequence[RunLine]) -> list[str]:
    seeds = _count(_setting(line) for line in lines if line.mechanism != BASELINE)
    few = {setting: n for setting, n in seeds.items() if n < LEAST_SEEDS}
    if not few:
        return []
    (one, data), n = next(iter(few.items()))
    return [
        f"{pluralize(len(few), 'setting')} with fewer than {LEAST_SEEDS} seeds, such as {one.mechanism} at ε "
        f"{one.epsilon} on {data} ({n}). Run more seeds."
    ]


def _setting(line: RunLine) -> tuple[Setting, str]:
    return line.setting, line.data


def _check_baseline(lines: Sequence[RunLine], against: Results) -> list[str]:
    """Check that unprotected text is present and has the bundled scores, so texts and classifier are the same."""
    faults = []
    for name in sorted({line.data for line in lines}):
        base = next((line for line in lines if (line.data, line.mechanism) == (name, BASELINE)), None)
        if base is None:
            faults.append(f"Unprotected text is missing for {name}. Run bench run with --only baseline/{name}, too.")
            continue
        for row in against.rows:
            if (row.data, row.mechanism) != (name, BASELINE) or row.metric not in base.scores:
                continue
            if not _is_inside(row, base.scores[row.metric]):
                faults.append(
                    f"Unprotected text of {name} has {row.metric} {base.scores[row.metric]:.4g} here, and "
                    f"{row.value:.4g} in the results, outside its interval. Check the classifier and the texts."
                )
    return faults


def _is_inside(row: Row, value: float) -> bool:
    if row.low is None or row.high is None:
        return abs(row.value - value) <= 1e-6
    return row.low - 1e-9 <= value <= row.high + 1e-9


def choose_points(lines: Sequence[RunLine], n: int, digest: str) -> list[RunLine]:
    """Return n points selected by the file's hash, without unprotected text.

    No setting occurs twice while there are others."""
    some = [line for line in lines if line.mechanism != BASELINE]
    ordered = sorted(some, key=lambda line: hashlib.sha256(f"{digest} {line.id}".encode()).hexdigest())
    first = list({_setting(line): line for line in reversed(ordered)}.values())[::-1]
    return (first + [line for line in ordered if line not in first])[:n]


def repeat_points(lines: Sequence[RunLine], some: Sequence[RunLine], setup: group_run.RunConfig) -> list[RepeatedScore]:
    """Run these points, and return every score except speed with the interval from the file's own seeds."""
    out = []
    for line in some:
        size = Size(line.n_train, line.n_test, line.max_words, 14.0)
        point = GridPoint(line.setting, line.data, line.seed, size)
        (here,) = group_run.run_group([point], setup)
        same = [other for other in lines if _setting(other) == _setting(line)]
        for metric, value in here.scores.items():
            if measure(metric).kind == SPEED or metric not in line.scores:
                continue
            values = [other.scores[metric] for other in same if metric in other.scores]
            errors = [other.errors.get(metric) for other in same if metric in other.scores]
            ends = merging.interval(metric, values, errors) or (line.scores[metric], line.scores[metric])
            out.append(RepeatedScore(line.id, metric, value, *ends))
    return out


def main(path: Path, data: Path | None, stopwords: str | None, reruns: int) -> int:
    """Run ``bench leaderboard --check``: print all problems, and return 1 if there are any."""
    if not path.is_file():
        raise InputError(f"There is no file {path}. Check its name.")
    lines = store.read_lines(path)
    against = store.bundled()
    if against is None:
        raise InputError("The bundled results are missing. Restore assets/benchmarks/results.json from the repository.")
    faults = check(lines, against)
    for fault in faults:
        print(fault)
    answer = "refused" if faults else "accepted"
    n = sum(line.mechanism != BASELINE for line in lines)
    counted = f"{pluralize(n, 'point')} of {pluralize(len({_setting(x) for x in lines}), 'setting')}"
    print(f"{path.name}: {counted}, {answer}, {pluralize(len(faults), 'problem')}.")
    if reruns and not faults:
        setup = group_run.RunConfig(None if data is None else str(data), stopwords, lines[0].provenance.command)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        repeated = repeat_points(lines, choose_points(lines, reruns, digest), setup)
        for a in repeated:
            where = "inside" if a.inside else "OUTSIDE"
            print(f"{a.point} {a.metric:18s} {a.value:10.5g}  {where} {a.low:.5g} to {a.high:.5g}")
        outside = sum(not a.inside for a in repeated)
        inside = f"{len(repeated) - outside} of {len(repeated)}"
        print(f"{pluralize(reruns, 'point')} repeated. Scores inside their intervals: {inside}.")
        return int(outside > 0)
    if reruns:
        print("No point was repeated. Fix the problems first.", file=sys.stderr)
    return int(bool(faults))
