"""The command ``bench peers``: compare row by row and print the report."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dptext_core.errors import InputError

from ..runner.options import parser
from .comparison import (
    Match,
    PeerComparison,
    Speed,
    compare_draws,
    compare_speed,
    comparison_space,
    installed,
    prepare_folder,
)
from .process import INSTALL, PeerFailed, pair
from .report import report
from .table import PEERS


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, and print the table and the deviations. Raises DPTextError."""
    takes = parser("peers", "Compare our word-level mechanisms with released ones.")
    takes.add_argument("--peers-python", required=True, metavar="PATH", help=f"Python with the packages. {INSTALL}")
    takes.add_argument("--space", default="minilm", help="a word space: a bundled one, glove-840b, or a path")
    takes.add_argument("--vocabulary", type=int, default=5000, help="number of most frequent words (default 5000)")
    takes.add_argument("--words", type=int, default=5, help="number of test words for the distributions (default 5)")
    takes.add_argument("--draws", type=int, default=1000, help="largest number of draws per test word (default 1000)")
    takes.add_argument(
        "--seconds", type=float, default=4.0, help="time limit of draws per mechanism, in seconds (default 4)"
    )
    takes.add_argument("--threads", type=int, default=1, help="threads on each side (default 1)")
    takes.add_argument("--only", default="", help="only rows with this text in the name of the package or mechanism")
    args = takes.parse_args(argv)
    if min(args.words, args.draws, args.threads) < 1 or args.seconds <= 0:
        takes.error("--words, --draws and --threads must be at least 1, and --seconds above 0.")
    peers = [p for p in PEERS if args.only.lower() in f"{p.package} {p.title}".lower()]
    if not peers:
        raise InputError(f"No row has {args.only!r} in its name. Choose from {', '.join(p.title for p in PEERS)}.")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        space = comparison_space(args.space, args.vocabulary)
        prepare_folder(folder, space)
        versions = installed(folder, args.peers_python)
        print("; ".join(f"{name} {version}" for name, version in versions.items()), end="; ")
        print(f"{args.threads} thread(s) per side")
        for what, some in (("Speed and memory", space), ("Distributions", space.part)):
            print(
                f"{what}: {args.space}, {len(some.words):,} words with {some.vectors.shape[1]} dimensions, distances "
                f"from {some.extremes[0]:.3g} to {some.extremes[1]:.3g}, to the nearest word {some.gap:.3g}"
            )
        rows = []
        for peer in peers:
            speed: Speed | str
            match: Match | str
            try:
                # Each mechanism has a fresh process, because a second one in their process can hang.
                with pair(folder, args.threads, args.peers_python) as (ours, theirs):
                    speed = compare_speed(peer, space, ours, theirs, args.seconds / 8)
            except PeerFailed as error:
                speed = str(error)
            try:
                with pair(folder, args.threads, args.peers_python) as (ours, theirs):
                    match = compare_draws(peer, space.part, ours, theirs, args.words, args.draws, args.seconds)
            except PeerFailed as error:
                match = str(error)
            rows.append(PeerComparison(peer, speed, match))
            print(
                f"{peer.package}, {peer.title}: {match if isinstance(match, str) else match.verdict}", file=sys.stderr
            )
        print("\n" + "\n".join(report(rows)))
    return 0
