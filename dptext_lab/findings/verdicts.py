"""Every claim with its verdict, for the Findings page.

The bundled file stores these verdicts, so the page need not compute them. It contains a hash of its results; for other
results the verdicts are computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from dptext_core.privacy.numbers import with_minus
from dptext_core.support.assets import assets_folder, sha256_of

from ..results import summary as results
from ..results.differences import Paired
from ..results.measurement import Measurement
from ..results.rows import Gate, Row
from . import custext, diffractor, diffractor_comparisons, dp_mlm, dp_rewrite, own_claims, shared_claims
from .base import OURS, REGISTERED, Claim
from .runs import Runs

_FILES = (dp_mlm, diffractor, diffractor_comparisons, custext, dp_rewrite, own_claims, shared_claims)
_PAPERS = [getattr(file, "PAPER", OURS) for file in _FILES]
#: Every claim, paper by paper.
CLAIMS: tuple[Claim, ...] = tuple(sorted(REGISTERED, key=lambda claim: _PAPERS.index(claim.paper)))
_BY_NAME = {claim.name: claim for claim in CLAIMS}
#: The files below ``assets/benchmarks`` that claims read. Together with the papers' tables, they decide all claims.
SOURCES = (
    "results.json",
    "belief.json",
    "equal.json",
    "lists.json",
    "words.json",
    "memory.json",
    "mappings.json",
    "queries.json",
    "clipping.json",
    "public_prior.json",
    "generators.json",
    "deniability.json",
    "case_study.json",
)


@dataclass(frozen=True)
class ClaimFinding:
    """The outcome of a claim without its rows, which ``of.look`` returns.

    name: of the claim. itself: where the paper contradicts itself, with both places, or "". rows: the
    number of its rows and records. The other fields are those of a ``ClaimOutcome``.
    """

    name: str
    verdict: str
    effect: str
    numbers: tuple[str, ...]
    reason: str
    itself: str
    missing: str
    figure: str
    rows: int

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """Read from JSON. Raises KeyError for an unknown claim."""
        _ = _BY_NAME[row["name"]]
        return cls(**{**row, "numbers": tuple(row["numbers"])})

    @property
    def of(self) -> Claim:
        return _BY_NAME[self.name]


MEASUREMENT = Measurement("findings", ClaimFinding, "findings.json")


def findings(rows: Iterable[Row], gates: Iterable[Gate] = (), paired: Paired | None = None) -> list[ClaimFinding]:
    """Test every claim on these rows and gates. paired: compares rows text by text if possible."""
    runs = Runs(rows, gates, paired)
    return [_finding(claim, runs) for claim in CLAIMS]


def _finding(claim: Claim, runs: Runs) -> ClaimFinding:
    outcome = claim.look(runs)
    return ClaimFinding(
        name=claim.name,
        verdict=outcome.verdict,
        effect=with_minus(outcome.effect),
        numbers=tuple(map(with_minus, outcome.numbers)),
        reason=outcome.reason,
        itself=claim.against_itself(),
        missing=outcome.missing,
        figure=outcome.figure,
        rows=len(outcome.rows) + len(outcome.records),
    )


def sources() -> str:
    """Return the SHA-256 of each file below ``assets`` that decides claims."""
    assets = assets_folder()
    there = [path for name in SOURCES if (path := assets / "benchmarks" / name).is_file()]
    return sha256_of(*there, *(assets / "papers").glob("*.json"))


def bundled() -> Sequence[ClaimFinding]:
    """Return the verdict of every claim on the bundled results, or () if there are none."""
    if (whole := results.bundled()) is None:
        return ()
    if MEASUREMENT.whole().get("about", {}).get("sources") == sources():
        return MEASUREMENT.bundled()
    return findings(whole.rows, whole.gates)
