"""What we found: claims of the papers, each held against our own runs by a test that was said before the numbers.

Nothing here is a stored result: every verdict and every number comes from the rows of ``assets/benchmarks`` and
``assets/papers`` at the moment it is asked for. One paper a file: a claim is a function that looks at rows, beneath the
paper's words, where they stand, and what decides. All comparisons of a claim are corrected for their number (Holm); a
difference counts where it is then beyond chance and at least as large as matters.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..rows import Gate, Row
from . import custext, diffractor, dp_mlm, dp_rewrite, ours, several
from .base import (
    AGREES,
    DISAGREES,
    MISSING,
    OPEN,
    OURS,
    PARTLY,
    VERDICTS,
    Claim,
    Comparison,
    Finding,
    Outcome,
    Paired,
    Runs,
    Tally,
    Test,
    both,
    full_options,
    half,
    holm,
    value,
)

__all__ = [
    "AGREES", "CLAIMS", "DISAGREES", "MISSING", "OPEN", "OURS", "PARTLY", "VERDICTS", "Claim", "Comparison", "Finding",
    "Outcome", "Paired", "Runs", "Tally", "Test", "both", "findings", "full_options", "half", "holm", "value",
]  # fmt: skip

#: Every claim, paper by paper.
CLAIMS: tuple[Claim, ...] = (
    dp_mlm.dp_mlm_headline, dp_mlm.dp_mlm_keeps_utility, dp_mlm.dp_mlm_gains, dp_mlm.dp_mlm_plus, dp_mlm.dp_mlm_speed,
    several.adaptive_beats_static,
    diffractor.one_dimension_wins, diffractor.beats_tem_at_equal_privacy, diffractor.drop_of_fifteen,
    diffractor.tem_beside_tables, diffractor.one_list_is_best, diffractor.more_lists, diffractor.noises_differ,
    diffractor.sixty_percent, diffractor.mahalanobis_changes, diffractor.tight_range, diffractor.attackers_weakened,
    diffractor.speed, diffractor.little_memory, several.rises_with_epsilon,
    custext.custext_against_santext, custext.small_k, custext.small_k_fades, custext.mappings_utility,
    custext.mappings_alone, custext.record_strategy, custext.stop_words, custext.strategies_alike, custext.queries_by_k,
    dp_rewrite.memorises, dp_rewrite.inflated,
    ours.at_equal_privacy, ours.clipping_range, ours.starts_from_what_is_public,
)  # fmt: skip


def findings(rows: Iterable[Row], gates: Iterable[Gate] = (), paired: Paired | None = None) -> list[Finding]:
    """Every claim held against these rows and gates of results. paired: compares rows text by text, where it can."""
    runs = Runs(rows, gates, paired)
    return [claim(runs) for claim in CLAIMS]
