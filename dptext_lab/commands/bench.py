"""``bench NAME``: run a measurement with its own options."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

#: Measurements and their modules, each with ``main(argv)``.
BENCHES = {
    "speed": "speed.engine",
    "memory": "speed.memory",
    "words": "speed.words",
    "deniability": "measurements.deniability",
    "lists": "speed.lists",
    "mappings": "measurements.mappings",
    "peers": "peers.command",
    "audit": "measurements.audit",
    "clipping": "measurements.clipping",
    "prior": "measurements.public_prior",
    "generators": "measurements.generation",
    "equal-privacy": "measurements.equal_privacy",
    "queries": "measurements.queries",
    "reader": "measurements.reader",
    "belief": "measurements.belief",
    "anonymisers": "measurements.anonymisers",
    "two-texts": "measurements.two_texts",
    "polish": "measurements.polish",
    "composition": "measurements.composition",
    "budget": "measurements.total_budget",
    "authors": "measurements.authors",
    "findings": "commands.bench_findings",
    "leaderboard": "commands.bench_leaderboard",
    "run": "commands.bench_run",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=BENCHES, metavar="NAME", help=f"one of {', '.join(BENCHES)}")


def delegate(argv: Sequence[str]) -> int | None:
    """Run the measurement that the arguments name, or return None if they name none."""
    if not argv or argv[0] not in BENCHES:
        return None
    measurement = importlib.import_module(f"dptext_lab.{BENCHES[argv[0]]}")
    return int(measurement.main(list(argv[1:])) or 0)


def run(args: argparse.Namespace) -> None:
    delegate([args.what])
