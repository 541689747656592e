"""What we found: claims of the papers, each held against our own runs by a test that was said before the numbers.

Nothing here is a stored result: every verdict and every number comes from the rows of ``assets/benchmarks`` and
``assets/papers`` at the moment it is asked for. One paper a file: a claim is a function that looks at rows, beneath the
paper's words, where they stand, and what decides. All comparisons of a claim are corrected for their number (Holm); a
difference counts where it is then beyond chance and at least as large as matters.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..rows import Gate, Row
from .base import (
    AGREES,
    DISAGREES,
    LEAST,
    METRIC_DP,
    MISSING,
    OPEN,
    OURS,
    PARTLY,
    TITLES,
    UTILITY,
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
    in_part,
    under_each,
    value,
)
from .custext import (
    custext_against_santext,
    mappings_alone,
    mappings_utility,
    queries_by_k,
    record_strategy,
    small_k,
    small_k_fades,
    stop_words,
    strategies_alike,
)
from .diffractor import (
    attackers_weakened,
    beats_tem_at_equal_privacy,
    drop_of_fifteen,
    little_memory,
    mahalanobis_changes,
    more_lists,
    noises_differ,
    one_dimension_wins,
    one_list_is_best,
    sixty_percent,
    speed,
    tem_beside_tables,
    tight_range,
)
from .dp_mlm import dp_mlm_gains, dp_mlm_headline, dp_mlm_keeps_utility, dp_mlm_plus, dp_mlm_speed
from .dp_rewrite import inflated, memorises
from .ours import at_equal_privacy, clipping_range, judges_agree, starts_from_what_is_public
from .several import adaptive_beats_static, rises_with_epsilon

__all__ = [
    "AGREES",
    "CLAIMS",
    "DISAGREES",
    "LEAST",
    "METRIC_DP",
    "MISSING",
    "OPEN",
    "OURS",
    "PARTLY",
    "TITLES",
    "UTILITY",
    "VERDICTS",
    "Claim",
    "Comparison",
    "Finding",
    "Outcome",
    "Paired",
    "Runs",
    "Tally",
    "Test",
    "adaptive_beats_static",
    "at_equal_privacy",
    "attackers_weakened",
    "beats_tem_at_equal_privacy",
    "both",
    "clipping_range",
    "custext_against_santext",
    "dp_mlm_gains",
    "dp_mlm_headline",
    "dp_mlm_keeps_utility",
    "dp_mlm_plus",
    "dp_mlm_speed",
    "drop_of_fifteen",
    "findings",
    "full_options",
    "half",
    "in_part",
    "inflated",
    "judges_agree",
    "little_memory",
    "mahalanobis_changes",
    "mappings_alone",
    "mappings_utility",
    "memorises",
    "more_lists",
    "noises_differ",
    "one_dimension_wins",
    "one_list_is_best",
    "queries_by_k",
    "record_strategy",
    "rises_with_epsilon",
    "sixty_percent",
    "small_k",
    "small_k_fades",
    "speed",
    "starts_from_what_is_public",
    "stop_words",
    "strategies_alike",
    "tem_beside_tables",
    "tight_range",
    "under_each",
    "value",
]

#: Every claim, paper by paper.
CLAIMS: tuple[Claim, ...] = (
    dp_mlm_headline, dp_mlm_keeps_utility, dp_mlm_gains, dp_mlm_plus, dp_mlm_speed,
    adaptive_beats_static,
    one_dimension_wins, beats_tem_at_equal_privacy, drop_of_fifteen,
    tem_beside_tables, one_list_is_best, more_lists, noises_differ,
    sixty_percent, mahalanobis_changes, tight_range, attackers_weakened,
    speed, little_memory, rises_with_epsilon,
    custext_against_santext, small_k, small_k_fades, mappings_utility,
    mappings_alone, record_strategy, stop_words, strategies_alike, queries_by_k,
    memorises, inflated,
    at_equal_privacy, judges_agree, clipping_range, starts_from_what_is_public,
)  # fmt: skip


def findings(rows: Iterable[Row], gates: Iterable[Gate] = (), paired: Paired | None = None) -> list[Finding]:
    """Every claim held against these rows and gates of results. paired: compares rows text by text, where it can."""
    runs = Runs(rows, gates, paired)
    return [claim(runs) for claim in CLAIMS]
