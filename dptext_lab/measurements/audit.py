"""The audit of every registered mechanism in its shipped configurations: claimed and measured loss.

The words, texts and draws are the same in every run. Mechanisms with a closed form are audited on every bundled word
space, at the default ε and at the upper end of their axis. Mechanisms without one are audited on the default space, at
ε = 10, at which a few draws can show a violation, and at the upper end, at which they cannot (see ``detectable``).

Every finished row is written to --out, and rows in that file are not measured again.

    python -m dptext_core bench audit --out audit.json

Deliberately broken mechanisms and their sound twins show whether audits detect violations:

    python -m dptext_core bench audit --broken
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dptext_core.auditing import LINES, AuditReport, audit, format_share
from dptext_core.auditing.inputs import default_inputs
from dptext_core.errors import InputError
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import mechanism_class, mechanisms
from dptext_core.mechanisms.setting import Options, Setting
from dptext_core.privacy.numbers import at_least, bound, number
from dptext_core.support import assets
from dptext_core.support.task import Task, on_terminal
from dptext_lab.broken_mechanisms import FAULTS, Fault, broken, sound

from ..results.audit import MEASUREMENT, setting_of
from ..results.measurement import markdown
from ..runner.options import OutFile, parser

#: Rewrites for the bound of a mechanism without a formula for its loss, and for tests of one with a formula.
DRAWS, REWRITES = 4000, 250
LOW = 10.0
SEED = 1
ABOUT = MEASUREMENT.about(
    claimed="ε of one draw, per unit of distance if unit names one",
    seed=SEED,
    measured="the largest loss over the inputs, or a lower bound on it with 95% confidence",
)


def configurations() -> list[Setting]:
    """Return every registered mechanism with each choice of its main options, without ε."""
    return [Setting(s.name, options) for s in mechanisms() for options in mechanism_class(s.name).variants()]


def epsilons(setting: Setting) -> tuple[float, float]:
    """Return the two ε at which a configuration is audited."""
    cls = mechanism_class(setting.mechanism)
    _, high, default = cls.epsilon_range(setting.options)
    return (LOW, high) if cls.notion != "none" and not cls.closed_form else (default, high)


def row_of_report(setting: Setting, report: AuditReport) -> dict[str, Any]:
    """Return one row of the table."""
    data = report.to_dict()
    columns = (
        "notion",
        "epsilon",
        "claimed",
        "measured",
        "exact",
        "detectable",
        "verdict",
        "reason",
        "unit",
        "inputs",
        "pairs",
        "draws",
        "sampler_p",
        "proven",
        "tested",
        "leak",
        "leak_fresh",
        "leak_epsilon",
    )
    out = setting.to_dict()
    out |= {k: float(f"{data[k]:.6g}") if isinstance(data[k], float) else data[k] for k in columns}
    out["witness"] = report.witness.sentence() if report.witness else ""
    return out


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench audit``."""
    takes = parser("audit", __doc__)
    takes.add_argument(
        "--out", action=OutFile, help="JSON file of the table, written row by row; rows in the file are kept"
    )
    takes.add_argument("--mechanism", action="append", metavar="NAME", help="only this mechanism")
    takes.add_argument(
        "--broken",
        action="store_true",
        help="audit every broken mechanism and its sound twin instead of the shipped mechanisms",
    )
    takes.add_argument("--fault", action="append", metavar="NAME", help="with --broken: only this broken mechanism")
    takes.add_argument("--rerun", action="store_true", help="repeat the measurement of rows in --out")
    args = takes.parse_args(argv)
    if args.broken:
        return _audit_faults(args.fault)
    todo = [s.at(e) for s in configurations() for e in epsilons(s)]
    places = {setting: k for k, setting in enumerate(todo)}
    there = _finished_rows(args.out, places)
    todo = [s for s in todo if not args.mechanism or s.mechanism in args.mechanism]
    missing = [s for s in todo if args.rerun or places[s] not in there]
    say = partial(print, file=sys.stderr, flush=True)
    say(f"{len(todo)} rows, {len(todo) - len(missing)} done, {len(missing)} to measure")
    try:
        _measure(missing, places, there, args.out, say)
    except KeyboardInterrupt:
        if args.out:
            say(f"Stopped. Finished rows are in {args.out}. Repeat the command to continue.")
        raise
    rows = [there[places[s]] for s in todo]
    print(_table(rows))
    counts = ", ".join(f"{n} {verdict}" for verdict, n in Counter(r["verdict"] for r in rows).most_common())
    say(f"{len(rows)} rows: {counts or 'none'}.")
    return 0


def _audit_faults(names: Sequence[str] | None) -> int:
    """Print the verdict of each broken mechanism and its sound twin; return 1 if a verdict is wrong."""
    chosen = [_fault(name) for name in names or FAULTS]
    twins: dict[tuple[Any, ...], tuple[AuditReport, float]] = {}
    print("| fault | verdict | verdict of its sound twin | draws | seconds | by |\n" + "|---" * 6 + "|", flush=True)
    wrong = 0
    for fault in chosen:
        report, seconds = _time_audit(broken(fault.name), fault, on_terminal(fault.name))
        key = (fault.sound, Options(fault.options), fault.inputs)
        if key not in twins:
            twins[key] = _time_audit(sound(fault.name), fault, on_terminal(f"{fault.name}, sound twin"))
        twin = twins[key][0]
        wrong += report.holds or twin.verdict == "refuted"
        by = next((c.name for c in report.checks if c.status == "refuted"), "")
        by = by or next((c.name for c in report.checks if c.status == "not tested" and c.is_required), "")
        print(f"| {fault.title} | {report.line} | {twin.line} | {report.draws:,} | {seconds:.1f} | {by} |", flush=True)
    print(f"Not detected, or with a violated twin: {wrong} of {len(chosen)}.", file=sys.stderr)
    return int(wrong > 0)


def _fault(name: str) -> Fault:
    """Return the fault of this name. Raises InputError."""
    if name not in FAULTS:
        raise InputError(f"There is no broken mechanism {name!r}. Choose one of: {', '.join(FAULTS)}.")
    return FAULTS[name]


def _time_audit(m: Mechanism, fault: Fault, task: Task) -> tuple[AuditReport, float]:
    began = time.perf_counter()
    return audit(m, fault.inputs, seed=SEED, task=task), time.perf_counter() - began


def _finished_rows(out: Path | None, places: Mapping[Setting, int]) -> dict[int, dict[str, Any]]:
    """Return the finished rows of the file that are still needed, by their position. Raises InputError."""
    if out is None or not out.exists():
        return {}
    content = assets.read_json(out)
    try:
        about, rows = content["about"], {setting_of(r): r for r in content["rows"]}
        origin = {k: about[k] for k in ("command", "version", "seed")}
    except (KeyError, TypeError) as error:
        raise InputError(f"{out.name} is not a table of audits. Name another file with --out.") from error
    if origin != {k: ABOUT[k] for k in origin}:
        raise InputError(
            f"{out.name} comes from {origin['command']}, version {origin['version']}, seed {origin['seed']}. Its rows "
            "cannot be combined with new ones. Name another file with --out."
        )
    return {places[setting]: row for setting, row in rows.items() if setting in places}


def _measure(
    missing: Sequence[Setting],
    places: Mapping[Setting, int],
    there: dict[int, dict[str, Any]],
    out: Path | None,
    say: Callable[[str], None],
) -> None:
    """Measure the missing rows, and write the file after each."""
    inputs: list[Any] | None = None
    before: Setting | None = None
    for k, setting in enumerate(missing, 1):
        began = time.perf_counter()
        m = setting.make()
        label = (f"{k}/{len(missing)} {m.name}", setting.described(), f"ε {number(m.config.epsilon)}")
        what = ", ".join(part for part in label if part)
        if before != setting.at(None):
            before = setting.at(None)
            inputs = default_inputs(m) if {"alignment", "distribution"} <= m.can else None
        report = audit(m, inputs, draws=_draws(m), seed=SEED, task=on_terminal(what))
        there[places[setting]] = row_of_report(setting, report)
        MEASUREMENT.write(out, [there[i] for i in sorted(there)], ABOUT)
        say(f"{what}: {report.verdict}, {time.perf_counter() - began:.1f} s")


def _draws(m: Mechanism) -> int:
    """Return how often each text is rewritten. If the loss has a formula, draws only test the stated distributions."""
    formulas = m.closed_form and m.notion != "none"
    return REWRITES if formulas or m.audit_support.writes_from_noise else DRAWS


def _table(rows: Sequence[dict[str, Any]]) -> str:
    def cells(r: dict[str, Any]) -> list[str]:
        # The file stores infinite numbers as words.
        claimed, measured, detectable = (float(r[c]) for c in ("claimed", "measured", "detectable"))
        proven, leak = (
            "yes" if r["proven"] else "at least",
            "" if r["leak_fresh"] is None else format_share(r["leak_fresh"]),
        )
        values = [bound(claimed), at_least(measured), proven, f"{r['draws']:,}", at_least(detectable), leak]
        return [r["mechanism"], setting_of(r).described(), number(r["epsilon"]), *values, LINES[r["verdict"]]]

    heading = ["mechanism", "options", "ε", "claimed", "measured", "proven", "draws", "draws show", "detectable leak"]
    return markdown([*heading, "verdict"], map(cells, rows))
