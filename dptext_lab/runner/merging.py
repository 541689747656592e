"""Combine the lines of a run into a summary over seeds, and join summaries.

Intervals are 95%: the root of the sum of squares of 1.96 standard errors over the test texts (or words) and Student's t
over the seeds. All seeds share the test texts, so averaging does not reduce the error over texts. Each seed has its own
training sample, so the interval includes its choice. If neither is known, the interval is None. Rows store each seed's
value and each test text's score, so two rows can be compared on the same texts (``paired_comparison.compare_rows``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dptext_core.errors import InputError
from dptext_core.measure.metrics.registry import measure, split_judge
from dptext_core.mechanisms.registry import mechanism_class
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.distribution import CURVE_DRAWS
from dptext_core.support.statistics import NORMAL, standard_error, student

from ..results.paired_comparison import mean_outcomes
from ..results.rows import Gate, Row, RunLine, six_digits
from ..results.summary import Results, check_same_files
from .grid import BASELINE, GridPoint


def interval(metric: str, values: Sequence[float], errors: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the 95% interval of the mean of scores per seed, with standard errors over test texts (None: unknown)."""
    mean, n = sum(values) / len(values), len(values)
    known = [e for e in errors if e is not None]
    halves = [NORMAL * sum(known) / len(known)] if known else []
    if (error := standard_error(values)) is not None:
        halves.append(student(n) * error)
    if not halves:
        return None
    half = math.hypot(*halves)
    bounds = measure(metric)
    return max(bounds.low, mean - half), min(bounds.high, mean + half)


def merge(lines: Iterable[RunLine], points: Sequence[GridPoint], command: str, cut: str) -> tuple[Results, list[str]]:
    """Return the summary over seeds of the lines of ``points``, and notes on it.

    Tasks that the classifier cannot do on unprotected text have no rows, because they would be noise. Of two lines of
    one point, the newer counts, and the older one for missing scores. Raises InputError if no line belongs to the
    points, if unprotected text is missing for a data set, or if lines differ in files or stop words.
    """
    declared = {p.id: p for p in points}
    newest: dict[str, RunLine] = {}
    notes, extra, twice = [], set(), 0
    read: dict[str, list[RunLine]] = {}
    for line in lines:
        if line.id not in declared:
            extra.add(line.id)
            continue
        if line in read.setdefault(line.id, []):
            continue  # from a file that is named twice
        read[line.id].append(line)
        twice += line.id in newest
        newest[line.id] = _both(newest[line.id], line) if line.id in newest else line
    if not newest:
        raise InputError("None of these lines is a point of this grid. Name their grid and --max-texts.")
    missing = [p for p in points if p.id not in newest]
    if missing:
        notes.append(f"Missing points of the grid: {len(missing)} of {len(declared)}.")
    if extra:
        notes.append(f"Excluded points outside the grid: {len(extra)}.")
    if twice:
        notes.append(f"Lines that repeat a point: {twice}. The newest score counts.")
    ordered = [newest[p.id] for p in points if p.id in newest]
    # The gates are those of the first seed.
    bases = {line.data: line for line in reversed(ordered) if line.mechanism == BASELINE}
    if lost := sorted({line.data for line in ordered} - set(bases)):
        raise InputError(f"Unprotected text is missing for {', '.join(lost)}. Run the grid again with --only baseline.")
    _check_alike(ordered)
    about = _about(ordered, bases, command, cut) | {"missing": _by_setting(missing)}
    gates = tuple(g for base in bases.values() for g in base.gates or ())
    return Results(about, gates, tuple(r for r in _rows(ordered) if _enters(r, gates))), notes


def _both(one: RunLine, other: RunLine) -> RunLine:
    """Combine two lines of one point: the newer one, with scores that only the older has."""
    old, new = sorted((one, other), key=lambda line: line.provenance.finished)
    gates = None
    if new.gates is not None:
        tasks = {(g.task, g.role, g.metric) for g in new.gates}
        gates = (*new.gates, *(g for g in old.gates or () if (g.task, g.role, g.metric) not in tasks))
        gates = tuple(sorted(gates, key=lambda gate: split_judge(gate.metric)[1]))
    return replace(
        new,
        gates=gates,
        seconds=old.seconds + new.seconds,
        scores={**old.scores, **new.scores},
        errors={**old.errors, **new.errors},
        counts={**old.counts, **new.counts},
        outcomes={**old.outcomes, **new.outcomes},
    )


def join_summaries(old: Results, new: Results, declared: Sequence[GridPoint], cut: str) -> Results:
    """Add the settings of a newer summary to an older one.

    If both have a setting, the newer one counts, because seeds cannot be combined. declared: points of the grid. cut:
    what it omits. core_minutes also counts replaced points. Raises InputError if the two differ in version,
    stop words or files, and if fewer seeds would replace more.
    """
    for what in ("version", "stopwords"):
        if old.about[what] != new.about[what]:
            raise InputError(
                f"The two summaries differ in {what}: {old.about[what]} and {new.about[what]}. Repeat one run with the "
                "value of the other."
            )
    check_same_files(old, new)
    known = set(old.about["data"])
    added = [r for r in new.rows if r.mechanism != BASELINE or r.data not in known]
    before, after = _seeds(old.rows), _seeds(added)
    if fewer := [key for key in before.keys() & after.keys() if after[key] < before[key]]:
        raise InputError(
            f"The new summary has settings with fewer seeds than the old: {len(fewer)}. Remove them from it."
        )
    old_rows = [r for r in old.rows if (r.setting, r.data) not in after]
    points = old.about["points"] + sum(after.values()) - sum(before[key] for key in before.keys() & after.keys())
    data = new.about["data"] | old.about["data"]
    # Each file of a data set contains its unprotected text.
    rewritten = [p for p in declared if p.setting.mechanism != BASELINE or p.data not in data]
    about = old.about | {
        "command": "; ".join(dict.fromkeys(f"{old.about['command']}; {new.about['command']}".split("; "))),
        "finished": max(old.about["finished"], new.about["finished"]),
        "points": points,
        "core_minutes": round(old.about["core_minutes"] + new.about["core_minutes"], 1),
        "machine": "; ".join(dict.fromkeys([old.about["machine"], new.about["machine"]])),
        "missing": _by_setting(_unmeasured(rewritten, before | after)),
        "cut": cut,
        "data": data,
    }
    gates = [g for g in new.gates if g.data not in known]
    return Results(about, (*old.gates, *gates), (*old_rows, *added))


def replace_word_rows(old: Results, lines: Sequence[RunLine], metrics: Sequence[str] = ()) -> Results:
    """Replace a summary's rows of attackers on words by those of these lines. metrics: only these (default: all).

    Raises InputError if a setting is missing, or if version, stop words or files differ.
    """
    if not lines:
        raise InputError("These files have no points. Name files from bench run.")
    _check_alike(lines)
    provenance = lines[0].provenance
    for what in ("version", "stopwords"):
        if old.about[what] != getattr(provenance, what):
            raise InputError(
                f"The summary and the lines differ in {what}: {old.about[what]} and {getattr(provenance, what)}. "
                "Repeat the run with the value of the summary."
            )
    there = {(r.setting, r.data) for r in old.rows}
    for line in lines:
        if (line.setting, line.data) not in there:
            raise InputError(
                f"The summary has no rows of {line.mechanism} on {line.data} at ε = {line.epsilon:g}. Remove this "
                "point from the lines."
            )
        if old.about["data"][line.data]["sha256"] != line.provenance.data_sha256:
            raise InputError(
                f"The summary and the lines were made from different files of {line.data}. Use the files of the "
                "summary."
            )
    told_of = [r for r in _rows(lines) if measure(r.metric).kind == "deniability"]
    new = {(r.setting, r.data, r.metric): r for r in told_of if not metrics or r.metric in metrics}
    rows = [new.pop((r.setting, r.data, r.metric), r) for r in old.rows]
    about = old.about | {
        "finished": max(old.about["finished"], *(line.provenance.finished for line in lines)),
        "core_minutes": round(old.about["core_minutes"] + sum(line.seconds for line in lines) / 60, 1),
        "machine": "; ".join(
            dict.fromkeys([*old.about["machine"].split("; "), *(line.provenance.machine for line in lines)])
        ),
    }
    return Results(about, old.gates, (*rows, *new.values()))


def _seeds(rows: Iterable[Row]) -> dict[tuple[Setting, str], int]:
    """Return the number of seeds of each setting on each data set."""
    out: dict[tuple[Setting, str], int] = {}
    for r in rows:
        key = r.setting, r.data
        out[key] = max(out.get(key, 0), r.seeds)
    return out


def _unmeasured(declared: Sequence[GridPoint], seeds: Mapping[tuple[Setting, str], int]) -> list[GridPoint]:
    """Return the declared points beyond the number of measured seeds of each setting on each data set."""
    left, out = dict(seeds), []
    for p in declared:
        key = p.setting, p.data
        if left.get(key, 0):
            left[key] -= 1
        else:
            out.append(p)
    return out


def _by_setting(points: Sequence[GridPoint]) -> dict[str, int]:
    """Return the number of points by mechanism and options."""
    count: dict[str, int] = {}
    for p in points:
        options = ", ".join(f"{k} {'+'.join(v) if isinstance(v, list) else v}" for k, v in p.named["options"].items())
        name = f"{p.mechanism} ({options})" if options else p.mechanism
        count[name] = count.get(name, 0) + 1
    return count


def _enters(row: Row, gates: Sequence[Gate]) -> bool:
    """Return whether the classifier can do the tasks behind a score, according to the gates.

    Each classifier has its own gates, or else those of the first classifier."""
    needs = {"utility", "privacy"} if measure(row.metric).kind == "gain" else {row.task}
    known_gates = [g for g in gates if g.data == row.data and g.role in needs]
    relevant = [g for g in known_gates if split_judge(g.metric)[1] == split_judge(row.metric)[1]]
    return all(g.enters for g in relevant or known_gates)


def _check_alike(lines: Sequence[RunLine]) -> None:
    for what, key in (("version", "versions of the program"), ("stopwords", "lists of stop words")):
        if len(values := sorted({getattr(line.provenance, what) for line in lines})) > 1:
            raise InputError(f"These lines come from several {key}: {', '.join(values)}. Repeat the older ones.")
    for name in {line.data for line in lines}:
        if len({line.provenance.data_sha256 for line in lines if line.data == name}) > 1:
            raise InputError(f"These lines come from different files of {name}. Repeat the older ones.")


def _about(lines: Sequence[RunLine], bases: Mapping[str, RunLine], command: str, cut: str) -> dict[str, Any]:
    def each(key: str) -> str:
        return "; ".join(sorted({getattr(line.provenance, key) for line in lines}))

    return {
        "command": command,
        "version": each("version"),
        "machine": each("machine"),
        "device": each("device"),
        "stopwords": each("stopwords"),
        "finished": max(line.provenance.finished for line in lines),
        "seeds": sorted({line.seed for line in lines if line.mechanism != BASELINE}),
        "points": len(lines),
        "core_minutes": round(sum(line.seconds for line in lines) / 60, 1),
        "cut": cut,
        "data": {name: line.dataset for name, line in bases.items()},
    }


def _rows(lines: Sequence[RunLine]) -> list[Row]:
    settings: dict[tuple[Setting, str], list[RunLine]] = {}
    for line in lines:
        settings.setdefault((line.setting, line.data), []).append(line)
    rows = []
    for same in settings.values():
        same = sorted(same, key=lambda line: line.seed)
        for metric in dict.fromkeys(m for line in same for m in line.scores):
            have = [line for line in same if metric in line.scores]
            # Every seed's line repeats measures of words, which count as one measurement.
            have = have[:1] if measure(metric).once else have
            values = [line.scores[metric] for line in have]
            if metric == "n_w":
                errors = [_with_shared(line) for line in have]
                rows.append(_row(have, metric, values, errors))
                continue
            rows.append(_row(have, metric, values, [line.errors.get(metric) for line in have]))
    return rows


def _row(lines: Sequence[RunLine], metric: str, values: Sequence[float], errors: Sequence[float | None]) -> Row:
    first = lines[0]
    between = interval(metric, values, errors)
    low, high = (None, None) if between is None else (six_digits(between[0]), six_digits(between[1]))
    packed = [line.outcomes[metric] for line in lines if metric in line.outcomes]
    return Row(
        setting=first.setting,
        data=first.data,
        task=measure(metric).task,
        metric=metric,
        value=six_digits(sum(values) / len(values)),
        low=low,
        high=high,
        n=first.counts.get(metric, first.tokens),
        seeds=len(values),
        point=first.id,
        runs=tuple(map(six_digits, values)) if len(values) > 1 else (),
        texts=mean_outcomes(packed) if len(packed) == len(lines) else "",
    )


def _with_shared(line: RunLine) -> float | None:
    """Return the standard error of N_w. Estimates share their draws between words, so assume full dependence."""
    error, p = line.errors.get("n_w"), line.scores["n_w"]
    if error is None or mechanism_class(line.mechanism).closed_form:
        return error
    return math.hypot(error, math.sqrt(max(0.0, p * (1 - p)) / CURVE_DRAWS))
