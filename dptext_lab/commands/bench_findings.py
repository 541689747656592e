"""Test every claim on the bundled results, for the Findings page.

python -m dptext_core bench findings --out assets/benchmarks/findings.json
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..findings.verdicts import MEASUREMENT, findings, sources
from ..results import summary as results
from ..results.measurement import markdown
from ..runner.options import parser


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench findings``."""
    args = parser("findings", __doc__, "out").parse_args(argv)
    summary = results.bundled()
    claims = [] if summary is None else findings(summary.rows, summary.gates)
    rows = [(f.of.paper, f.of.claim, f.verdict, f.effect) for f in claims]
    print(markdown(("paper", "claim", "verdict", "effect"), rows))
    print(", ".join(f"{n} {verdict}" for verdict, n in Counter(f.verdict for f in claims).most_common()))
    MEASUREMENT.write(args.out, claims, MEASUREMENT.about(sources=sources()))
    return 0
