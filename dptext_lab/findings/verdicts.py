"""Every claim with its verdict, as the page of findings shows them.

The bundled file is a copy of what these functions return, so that the page need not compute it. It names, by a hash,
the results that it was made from; for any others the verdicts are computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

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
#: The files below ``assets/benchmarks`` that claims read; with the papers' tables they are all that decides.
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
    """What the rows say about a claim, but for the rows themselves: ``of.look`` gives these.

    name: of the claim. itself: where the paper says something else, with both places; "" where it does not. rows: how
    many it stands on. The others are those of a ``ClaimOutcome``.
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
        """Read from JSON. Raises KeyError for a claim that is not there any more."""
        _ = _BY_NAME[row["name"]]
        return cls(**{**row, "numbers": tuple(row["numbers"])})

    @property
    def of(self) -> Claim:
        return _BY_NAME[self.name]


MEASUREMENT = Measurement("findings", ClaimFinding, "findings.json")


def findings(rows: Iterable[Row], gates: Iterable[Gate] = (), paired: Paired | None = None) -> list[ClaimFinding]:
    """Return every claim held against these rows and gates of results. paired: compares rows text by text, where it
    can."""
    runs = Runs(rows, gates, paired)
    return [_finding(claim, runs) for claim in CLAIMS]


def _finding(claim: Claim, runs: Runs) -> ClaimFinding:
    outcome = claim.look(runs)
    return ClaimFinding(
        name=claim.name,
        verdict=outcome.verdict,
        effect=outcome.effect,
        numbers=outcome.numbers,
        reason=outcome.reason,
        itself=claim.against_itself(),
        missing=outcome.missing,
        figure=outcome.figure,
        rows=len(outcome.rows),
    )


def sources() -> str:
    """Return SHA-256 of all that decides a claim, as it lies below ``assets`` now."""
    assets = assets_folder()
    there = [path for name in SOURCES if (path := assets / "benchmarks" / name).is_file()]
    return sha256_of(*there, *(assets / "papers").glob("*.json"))


def bundled() -> Sequence[ClaimFinding]:
    """Return every claim held against the bundled results; () where there are none."""
    if (whole := results.bundled()) is None:
        return ()
    if MEASUREMENT.whole().get("about", {}).get("sources") == sources():
        return MEASUREMENT.bundled()
    return findings(whole.rows, whole.gates)
