"""The audit of every registered mechanism in the configurations it ships with: claimed against measured.

The words, the texts and the draws are the same in every run. Mechanisms with a closed form are looked at on every
bundled word space, at the default ε and at the upper end of their axis; those that only draw on the default space, at
an ε that few draws can tell from more (10) and at the upper end, where they cannot (``detectable`` says how much).

    python -m dptext_core bench audit --out audit.json
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__, _assets
from ..auditing import AuditReport, audit
from ..auditing.inputs import default_inputs
from ..guarantee import at_least, bound, number
from ..mechanisms import codec
from ..mechanisms.registry import get_mechanism, mechanism_class, mechanisms
from .files import write_rows
from .rows import listed

#: Rewrites behind the bound of a mechanism that has no closed form, and of some texts of one that has.
DRAWS, REWRITES = 4000, 250
LOW = 10.0
SEED = 1


def configurations() -> list[tuple[str, dict[str, Any]]]:
    """Every registered mechanism with the options that make it another mechanism, all without ε."""
    return [(s.name, options) for s in mechanisms() for options in mechanism_class(s.name).variants()]


def epsilons(name: str, options: dict[str, Any]) -> tuple[float, float]:
    """The two ε that a configuration is looked at with."""
    cls = mechanism_class(name)
    _, high, default = cls.epsilon_range(options)
    return (LOW, high) if cls.notion != "none" and not cls.closed_form else (default, high)


def row(name: str, options: dict[str, Any], report: AuditReport) -> dict[str, Any]:
    """One line of the table."""
    own = report.to_dict()
    kept = ("notion", "epsilon", "claimed", "measured", "exact", "detectable", "verdict", "reason", "unit", "inputs",
            "pairs", "draws", "sampler_p", "proven", "tested", "leak", "leak_fresh", "leak_epsilon")  # fmt: skip
    out: dict[str, Any] = {"mechanism": name}
    out["options"] = listed(options)
    out |= {k: float(f"{own[k]:.6g}") if isinstance(own[k], float) else own[k] for k in kept}
    out["witness"] = report.witness.sentence() if report.witness else ""
    return out


def share(leak: float) -> str:
    """The smallest leak that would have been seen, rounded up."""
    return f"{math.ceil(leak * 1e4) / 1e4:.2%}"


def table() -> list[dict[str, Any]]:
    """The bundled table; [] where there is none."""
    return _assets.bundled("benchmarks/audit.json", _read, [])


def _read(path: Path) -> list[dict[str, Any]]:
    return _assets.read_json(path)["rows"]


def main(argv: Sequence[str] = ()) -> int:
    """The command ``bench audit``."""
    parser = argparse.ArgumentParser(prog="python -m dptext_core bench audit", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="write the table to this JSON file")
    parser.add_argument("--mechanism", action="append", metavar="NAME", help="only this mechanism")
    args = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    print(
        "| mechanism | options | ε | claimed | measured | proven | tested on | draws show | leak seen from | verdict |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, options in configurations():
        if args.mechanism and name not in args.mechanism:
            continue
        inputs: list[Any] | None = None
        for epsilon in epsilons(name, options):
            m = get_mechanism(name, epsilon=epsilon, **options)
            if inputs is None and {"alignment", "distribution"} <= m.can:
                inputs = default_inputs(m)
            draws = DRAWS if m.notion == "none" or not m.closed_form else REWRITES
            report = audit(m, inputs, draws=draws, seed=SEED)
            rows.append(row(name, options, report))
            label = codec.describe(options, name)
            print(
                f"| {name} | {label} | {number(epsilon)} | {bound(report.claimed)} | {number(report.measured)} | "
                f"{'yes' if report.proven else 'at least'} | {report.draws:,} words | {at_least(report.detectable)} | "
                f"{'' if report.leak_fresh is None else share(report.leak_fresh)} | {report.verdict} |",
                flush=True,
            )
    if args.out:
        about = {
            "command": "python -m dptext_core bench audit", "version": __version__,
            "claimed": "ε of one draw, per unit of distance where unit names one", "seed": SEED,
            "measured": "the largest loss over the inputs, or a lower bound of it with 95% confidence",
        }  # fmt: skip
        write_rows(args.out, {"about": about, "rows": rows}, "mechanism")
    return 0
