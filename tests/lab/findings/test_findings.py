"""Every claim's verdict follows its rows: turn the rows round and the verdict turns; take them away and it says so."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import multiprocessing
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.support import assets
from dptext_lab import findings as f
from dptext_lab.commands import bench_findings
from dptext_lab.findings import (
    base,
    custext,
    diffractor,
    diffractor_comparisons,
    dp_mlm,
    dp_rewrite,
    evidence,
    own_claims,
    shared_claims,
    tables,
    verdicts,
)
from dptext_lab.findings import runs as runs_rows
from dptext_lab.findings.base import ClaimOutcome
from dptext_lab.results import case_study, differences, equal_privacy, memory, papers, speeds
from dptext_lab.results import summary as results
from dptext_lab.results.belief import BeliefRow
from dptext_lab.results.deniability import DeniabilityCurve, MeasuredCurve
from dptext_lab.results.equal_privacy import Crossing
from dptext_lab.results.mappings import MappingRow
from dptext_lab.results.paired_comparison import pack
from dptext_lab.results.public_prior import PriorRow
from dptext_lab.results.queries import QueryRow
from dptext_lab.results.rows import Gate, Row
from dptext_lab.results.summary import Results
from dptext_lab.speed.memory import measure as measure_memory
from dptext_lab.speed.memory import measure_with_tables
from dptext_studio import figures

TEXTS = Path(os.environ.get("DPTEXT_PAPERS") or Path(__file__).resolve().parents[4] / "shared" / "papers")
MEMORY = memory.bundled()
EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0, 50.0)
GEOMETRIC, TEM = {"noise": "geometric"}, {"noise": "tem", "gamma": None}


def row(mechanism: str, data: str, metric: str, epsilon: float | None, value: float, half: float = 0.01, **options):
    setting = dpt.Setting(mechanism, options, epsilon)
    return Row(setting, data, "", metric, value, value - half, value + half, 100, 3, "0")


def rising(epsilon: float, scale: float = 1.0) -> float:
    return epsilon / (epsilon + scale)


# --- rows for a claim (sign 1) and against it (−1); those that stand elsewhere are put there


def utility(sign: int, put: Callable):
    return [
        row("santext", "sst2", m, e, 0.5 + sign * 0.3 * rising(e)) for m in ("accuracy", "cosine") for e in EPSILONS
    ]


def attackers(sign: int, put: Callable):
    return [
        row("custext", "reviews", metric, e, 0.5 + 0.1 * sign * (metric == "f1_adaptive"))
        for e in EPSILONS
        for metric in ("f1_static", "f1_adaptive")
    ]


def printed_scores(paper: str, mechanism: str):
    return {r.epsilon: x for x, r in runs_rows.paper_values(paper, "Table 1", "sst2", mechanism, "accuracy")}


def dp_mlm_loss(sign: int, put: Callable):
    whole = printed_scores("DP-MLM", "baseline")[None]
    rows = [row("baseline", "sst2", "accuracy", None, 0.85)]
    for e, x in printed_scores("DP-MLM", "dp-mlm").items():
        lost = runs_rows.share_lost(x, whole, dp_mlm.GUESS) if sign > 0 else 1.0
        rows.append(row("dp-mlm", "sst2", "accuracy", e, 0.85 - lost * (0.85 - dp_mlm.GUESS), clip="paper"))
    return rows


def gains(sign: int, put: Callable):
    return [row("dp-mlm", "reviews", "relative_gain_adaptive", e, 0.1 * sign, clip="paper") for e in (10, 25)]


def plus(sign: int, put: Callable):
    return [
        row(mechanism, data, metric, 25, 0.5 + 0.1 * sign * (mechanism == "dp-mlm-plus"))
        for mechanism in ("dp-mlm", "dp-mlm-plus")
        for data, metric in (("sst2", "accuracy"), ("authors", "f1_adaptive"))
    ]


def headline(sign: int, put: Callable):
    rows = [row("dp-mlm", "sst2", "accuracy", e, 0.6 + 0.1 * sign, clip="tuned") for e in (10.0, 25.0)]
    return rows + [row(m, "sst2", "accuracy", e, 0.6) for m in dp_mlm.GENERATORS for e in (10.0, 25.0)]


def in_file(put: Callable, rows):
    """The rows of ``bench equal-privacy``, in the place of those that come with the program."""
    put(equal_privacy, "bundled", lambda what: Results({"crossings": []}, (), tuple(rows)))


def of_lists(sign: int, metric: str, high: float, low: float, names=("L0", "L1", "L2"), top=("L0", "L1")):
    """N_w or S_w in closed form: of the lists in ``top`` the first value, where the sign is 1."""
    more = top if sign > 0 else [n for n in names if n not in top]
    return [
        row("diffractor", "vocabulary", metric, e, high if n in more else low, 0.001 * high, **noise, lists=[n])
        for noise in (GEOMETRIC, TEM)
        for n in names
        for e in (0.1, 1.0)
    ]


def one_list(sign: int, put: Callable):
    in_file(put, of_lists(sign, "s_w", 80, 50) + of_lists(sign, "n_w", 0.5, 0.5))
    return [
        row("diffractor", "sst2", "accuracy", 1.0, 0.5 + 0.1 * sign * (name == "L2"), lists=[name], noise="geometric")
        for name in ("L0", "L1", "L2")
    ]


def two_lists(sign: int, put: Callable):
    in_file(put, of_lists(sign, "s_w", 80, 70, ("L0", "L1"), ("L1",)))
    return []


def noises(sign: int, put: Callable):
    first, second = (GEOMETRIC, TEM) if sign > 0 else (TEM, GEOMETRIC)
    rows = [
        row("diffractor", diffractor.VOCABULARY, metric, 1.0, value, 0.001, **noise, lists=["L2"])
        for noise, n_w, s_w in ((first, 0.5, 20.0), (second, 0.3, 40.0))
        for metric, value in (("n_w", n_w), ("s_w", s_w))
    ]
    in_file(put, rows)
    return []


def sixty(sign: int, put: Callable):
    kept = 0.4 if sign > 0 else 0.9
    return [row("diffractor", "sst2", "n_w", 1.0, kept, 0.0, noise="geometric", lists=[n]) for n in ("L0", "L1", "L2")]


def far(sign: int, put: Callable):
    n_w = np.array([0.05, 0.08, 0.12]) if sign > 0 else np.array([0.5, 0.6, 0.7])
    ends = np.stack([n_w - 0.001, n_w + 0.001], axis=1)
    curve = DeniabilityCurve(np.array([8.0, 10.0, 12.5]), n_w, ends, n_w, ends, 100, 200)
    put(
        diffractor,
        "measured_deniability",
        lambda: (
            MeasuredCurve(dpt.Setting("mahalanobis", {"space": diffractor.GLOVE}), curve),
            MeasuredCurve(dpt.Setting("diffractor", {"noise": "geometric", "lists": ["L2"]}), one_dimension()),
        ),
    )
    return []


def one_dimension() -> DeniabilityCurve:
    """1-Diffractor changes 53.8% of the words at ε 1."""
    epsilons = np.array([0.5, 1.0, 2.0])
    n_w = np.tanh(epsilons / 2)
    exact = np.stack([n_w, n_w], axis=1)
    return DeniabilityCurve(epsilons, n_w, exact, n_w, exact, 100, None)


def ranges(sign: int, put: Callable):
    tight, wide = ((0.2, 2.0), (10.0, 200.0)) if sign > 0 else ((0.2, 200.0), (10.0, 20.0))
    put(
        diffractor,
        "bundled_crossings",
        lambda: tuple(
            Crossing(dpt.Setting(m, {**options, "oov": policy}, e), n, True)
            for policy in ("random", "keep")
            for m, options, ends in (("diffractor", GEOMETRIC, tight), ("mvc", {}, wide))
            for n, e in zip((0.1, 0.8), ends, strict=True)
        ),
    )
    return []


def five(sign: int, put: Callable):
    rows = [row(m, "sst2", "accuracy", e, 0.5) for m in base.METRIC_DP for e in EPSILONS]
    options = {"noise": "geometric", "lists": ["L2"]}
    return rows + [row("diffractor", "sst2", "accuracy", e, 0.5 + 0.1 * sign, **options) for e in EPSILONS]


def equal(first: str, second: str, module):
    """Rows of two mechanisms at the same N_w."""

    def made(sign: int, put: Callable):
        in_file(
            put,
            [
                row(name, "sst2", metric, e, value, 0.001 if metric == "n_w" else 0.01)
                for name, more in ((first, 0.1 * sign), (second, 0.0))
                for e, n_w in ((1.0, 0.1), (2.0, 0.3), (3.0, 0.5))
                for metric, value in (("accuracy", 0.6 + more), ("cosine", 0.6 + more), ("n_w", n_w), ("s_w", 20.0))
            ],
        )
        return []

    return made


def judged(sign: int, put: Callable):
    """Rows of two mechanisms at the same N_w, the better of which is better by every other judge too, or worse."""
    in_file(
        put,
        [
            row(name, "sst2", metric, e, value, 0.001 if metric == "n_w" else 0.01)
            for name, better in (("diffractor", 1), ("tem", 0))
            for e, n_w in ((1.0, 0.1), (2.0, 0.3), (3.0, 0.5))
            for metric, value in (
                ("accuracy", 0.6 + 0.1 * better),
                ("n_w", n_w),
                *((j, 0.6 + 0.1 * sign * better) for j in own_claims.OTHERS),
            )
        ],
    )
    return []


def drops(sign: int, put: Callable):
    whole = printed_scores("1-Diffractor", "baseline")[None]
    rows = [row("baseline", "sst2", "accuracy", None, 0.85)]
    for x, r in runs_rows.paper_values("1-Diffractor", "Table 1", "sst2", "diffractor", "accuracy"):
        lost = runs_rows.share_lost(x, whole, dp_mlm.GUESS) if sign > 0 else 1.0
        noise = GEOMETRIC if r.options["noise"] == "geometric" else TEM
        score = 0.85 - lost * (0.85 - dp_mlm.GUESS)
        rows.append(row("diffractor", "sst2", "accuracy", r.epsilon, score, **noise, lists=r.options["lists"]))
    return rows


def weakened(sign: int, put: Callable):
    rows = [row("baseline", data, "f1_static", None, 0.5) for data in ("reviews", "authors")]
    options = {"noise": "geometric", "lists": ["L2"]}
    return rows + [
        row("diffractor", data, "f1_static", e, 0.5 - 0.2 * sign, **options)
        for data in ("reviews", "authors")
        for e in (0.1, 1.0)
    ]


def windows(sign: int, put: Callable):
    theirs = {
        (r.options["noise"], r.epsilon): x
        for x, r in runs_rows.paper_values("1-Diffractor", "Table 2", "mrpc+rte+sst2", "diffractor", "cosine")
    }
    scores = {
        (r.options["noise"], r.epsilon): x
        for x, r in runs_rows.paper_values("1-Diffractor", "Table 1", "sst2", "diffractor", "accuracy")
        if r.options["lists"] == ("L2",)
    }
    rows = []
    for e in (0.5, 1.0, 3.0):
        for metric, found, none in (("cosine", theirs, 0.1), ("accuracy", scores, 0.2)):
            for noise in (GEOMETRIC, TEM):
                value = found[noise["noise"], e] if sign > 0 or noise is GEOMETRIC else none
                rows.append(row("diffractor", "sst2", metric, e, value, 0.002, **noise, lists=["L2"]))
    in_file(put, rows)
    return []


def rates(sign: int, put: Callable):
    other = 100.0 if sign > 0 else 5000.0
    rows = [
        row("diffractor", "builtin", "tokens_per_second", 1.0, 1000.0, noise="geometric"),
        row("diffractor", "builtin", "tokens_per_second", 1.0, other, noise="tem"),
        row("mvc", "builtin", "tokens_per_second", 1.0, other),
        row("custext", "builtin", "tokens_per_second", 1.0, 1e6),  # no metric mechanism
    ]
    put(speeds, "bundled", lambda: tuple(rows))
    return []


def held(sign: int, put: Callable):
    turned = [dataclasses.replace(r, value=1.0 if (r.mechanism == "diffractor") == (sign > 0) else 1e4) for r in MEMORY]
    put(memory, "bundled", lambda: tuple(turned))
    return []


def of_k(epsilon: float, most: float):
    return [
        row("custext", "sst2", "accuracy", epsilon, 0.6 + most * (2 - i) / 2, k=k, **custext.MAIN)
        for i, k in enumerate((5, 50, 500))
    ]


def ks(sign: int, put: Callable):
    return of_k(1.0, 0.2 * sign)


def fading(sign: int, put: Callable):
    return of_k(1.0, 0.2 if sign > 0 else 0.02) + of_k(10.0, 0.02 if sign > 0 else 0.2)


def maps(sign: int, put: Callable):
    return [
        row("custext", "sst2", "accuracy", 1.0, 0.7 - 0.1 * sign * i, k=50, mapping=m, strategy="record")
        for i, m in enumerate(("aggressive", "balanced", "conservative"))
    ]


def alone(sign: int, put: Callable):
    theirs = {
        (r.options["k"], r.options["mapping"]): x
        for x, r in runs_rows.paper_values("CusText", "Table 4", "sst2", "custext", "not_n_to_m")
    }
    put(
        custext.mappings,
        "bundled",
        lambda: tuple(
            MappingRow(k, m, x if sign > 0 else 0.5, x if sign > 0 else 0.5, 100) for (k, m), x in theirs.items()
        ),
    )
    return []


def strategies(metric: str, apart: float, half: float = 0.01):
    def made(sign: int, put: Callable):
        gap = apart * (sign if metric == "accuracy" else sign < 0)
        options = {"k": 50, "mapping": "balanced"}
        return [
            row("custext", "sst2", metric, 5.0, 0.6 + gap * (s == "record"), half, strategy=s, **options)
            for s in ("token", "record", "dataset")
        ]

    return made


def stops(sign: int, put: Callable):
    return [
        row("custext", "sst2", "accuracy", 5.0, 0.7 + 0.1 * sign * kept, k=50, mapping="balanced", keep_stopwords=kept)
        for kept in (True, False)
    ]


def answers(sign: int, put: Callable):
    put(
        custext.queries,
        "bundled",
        lambda: tuple(
            QueryRow("happy", k, 7.5, p, 100 if sign > 0 else 100 * k) for k in (5, 50, 500) for p in (0.3, 0.5)
        ),
    )
    return []


def studied(nearest: float, own: float, other: float, verbatim: float = 0.0):
    rows = [
        {
            "pretrained": p,
            "data": d,
            "epsilon": e,
            "rows": 300,
            "seeds": 5,
            "nearest": nearest,
            "own": 0.1,
            "verbatim": verbatim,
            "macro_f1": {"mean": own if p == d else other, "deviation": 0.01},
        }
        for p in ("snips", "atis")
        for d in ("snips", "atis")
        for e in (None, 1000.0)
    ]
    return lambda: {"rows": rows}


def memorised(sign: int, put: Callable):
    put(case_study, "bundled", studied(0.95 if sign > 0 else 0.05, 0.5, 0.5, 0.2 if sign > 0 else 0.0))
    return []


def inflation(sign: int, put: Callable):
    put(case_study, "bundled", studied(0.5, 0.5 + 0.3 * sign, 0.5))
    return []


def certainties(sign: int, put: Callable):
    """DP-MLM and two word mechanisms around a certainty of 50%, and one that never comes down to it."""
    near = {"dp-mlm": 0.5 + 0.1 * sign, "santext": 0.5, "santext-plus": 0.5}
    rows = [
        belief_row(m, epsilon, certainty, cosine)
        for m, cosine in near.items()
        for epsilon, certainty in ((1.0, 0.4), (2.0, 0.6))
    ]
    put(own_claims.belief, "bundled", lambda: (*rows, belief_row("custext", 1.0, 0.9, 0.9)))
    return []


def belief_row(mechanism: str, epsilon: float, certainty: float, cosine: float) -> BeliefRow:
    """A row of 40 texts with cosines around the mean."""
    around = cosine + 0.05 * np.linspace(-1, 1, 40)
    packed = pack([certainty] * 40), pack(around, -1, 1), pack([1.0] * 40)
    return BeliefRow(mechanism, {}, "sst2", epsilon, 40, 0, 5, certainty, cosine, 1.0, *packed)


CLAIMS = {
    shared_claims.rises_with_epsilon: utility,
    shared_claims.adaptive_beats_static: attackers,
    dp_mlm.dp_mlm_keeps_utility: dp_mlm_loss,
    dp_mlm.dp_mlm_gains: gains,
    dp_mlm.dp_mlm_plus: plus,
    dp_mlm.dp_mlm_headline: headline,
    diffractor.one_list_is_best: one_list,
    diffractor.more_lists: two_lists,
    diffractor.noises_differ: noises,
    diffractor.sixty_percent: sixty,
    diffractor.mahalanobis_changes: far,
    diffractor.tight_range: ranges,
    diffractor_comparisons.one_dimension_wins: five,
    diffractor_comparisons.beats_tem_at_equal_privacy: equal("diffractor", "tem", diffractor),
    diffractor_comparisons.drop_of_fifteen: drops,
    diffractor_comparisons.attackers_weakened: weakened,
    diffractor_comparisons.tem_beside_tables: windows,
    diffractor_comparisons.speed: rates,
    diffractor_comparisons.little_memory: held,
    custext.small_k: ks,
    custext.small_k_fades: fading,
    custext.mappings_utility: maps,
    custext.mappings_alone: alone,
    custext.record_strategy: strategies("accuracy", 0.1),
    custext.stop_words: stops,
    custext.strategies_alike: strategies("unchanged", 0.1, 0.003),
    custext.custext_against_santext: equal("custext", "santext", custext),
    custext.queries_by_k: answers,
    dp_rewrite.memorises: memorised,
    dp_rewrite.inflated: inflation,
    own_claims.at_equal_privacy: equal("diffractor", "tem", own_claims),
    own_claims.meaning_at_half_certainty: certainties,
    own_claims.judges_agree: judged,
}
#: Claims whose rows stand in files of their own.
ELSEWHERE = {
    (dp_mlm, "generators"): tuple,
    (equal_privacy, "bundled"): lambda what: None,
    (diffractor, "measured_deniability"): tuple,
    (diffractor, "bundled_crossings"): tuple,
    (memory, "bundled"): tuple,
    (speeds, "bundled"): tuple,
    (custext.mappings, "bundled"): tuple,
    (custext.queries, "bundled"): tuple,
    (case_study, "bundled"): dict,
    (own_claims.belief, "bundled"): tuple,
    (own_claims.clipping, "bundled"): tuple,
    (own_claims.public_prior, "bundled"): tuple,
}


@pytest.fixture
def nothing_else(monkeypatch):
    """No rows but those that a test makes; gives what puts some in the place of a file."""
    for (module, name), none in ELSEWHERE.items():
        monkeypatch.setattr(module, name, none)
    return monkeypatch.setattr


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.name)
def test_a_claims_verdict_follows_its_rows(claim, nothing_else):
    for sign, verdict in ((1, f.REPLICATED), (-1, f.CONTRADICTED)):
        rows = CLAIMS[claim](sign, nothing_else)
        found = claim.look(f.Runs(rows))
        assert found.verdict == verdict, found
        assert found.numbers and found.reason and found.effect and not found.missing
        known = [*rows, *getattr(equal_privacy.bundled("lists"), "rows", ())]
        assert not rows or (found.rows and all(any(own is r for r in known) for own in found.rows))


@pytest.mark.parametrize("claim", f.CLAIMS, ids=lambda c: c.name)
def test_a_claim_without_rows_is_not_measured_and_says_what_would(claim, nothing_else):
    found = claim.look(f.Runs([]))
    assert (found.verdict, found.rows) == (f.MISSING, ())
    assert re.search(r"\b(bench|case-study) ?", found.missing)


def test_every_claim_is_tested_here_and_stands_once():
    others = (own_claims.clipping_range, own_claims.starts_from_what_is_public, dp_mlm.dp_mlm_speed)
    assert set(f.CLAIMS) == {*CLAIMS, *others}
    assert len({c.name for c in f.CLAIMS}) == len(f.CLAIMS) == len({c.claim for c in f.CLAIMS})


def test_every_claim_says_beforehand_what_decides_and_what_would_change_it():
    for claim in f.CLAIMS:
        assert claim.test.quantity.endswith(".") and claim.test.direction.endswith(".") and claim.test.least
        assert claim.turns.endswith(".") and claim.place and len(claim.quote.split()) < 20
        assert bool(claim.quote) == (claim.paper != base.OURS)


FILES = {"DP-MLM": "000_*", "1-Diffractor": "001_*", "CusText": "002_*", "DP-Rewrite": "004_*"}


def test_what_a_judge_turns_round_is_named(nothing_else):
    judged(-1, nothing_else)
    found = own_claims.judges_agree.look(f.Runs([]))
    message = " ".join(found.numbers)
    assert "The first classifier distinguishes 3 of 3 pairs." in message
    assert "Significantly reversed by Accuracy, bag of words: TEM over 1-Diffractor at N_w 0.1;" in message
    assert found.effect == "0 of 12 comparisons significantly agree, 12 are significantly reversed"


def test_where_the_first_judge_distinguishes_nothing_it_is_inconclusive(nothing_else):
    in_file(
        nothing_else,
        [
            row(name, "sst2", metric, 1.0, 0.3 if metric == "n_w" else 0.6, 0.001 if metric == "n_w" else 0.05)
            for name in ("diffractor", "tem")
            for metric in ("accuracy", "cosine", "n_w")
        ],
    )
    found = own_claims.judges_agree.look(f.Runs([]))
    assert (found.verdict, [r.metric for r in found.rows]) == (f.INCONCLUSIVE, ["accuracy"] * 2 + ["n_w"] * 2)
    assert "none of 1 pairs" in found.numbers[0]


def test_judges_that_did_not_look_are_named_and_leave_it_open(nothing_else):
    in_file(
        nothing_else,
        [
            row(name, "sst2", metric, 1.0, 0.3 if metric == "n_w" else 0.6 + better / 10, 0.001)
            for name, better in (("diffractor", 1), ("tem", 0))
            for metric in ("accuracy", "cosine", "n_w")
        ],
    )
    found = own_claims.judges_agree.look(f.Runs([]))
    assert found.verdict == f.INCONCLUSIVE
    assert "Not measured there: Accuracy, bag of words, chrF without case, BLEU without case." in found.numbers


# --- like with like


def test_only_systems_with_the_same_kind_of_range_are_set_beside_each_other():
    """DP-MLM with the paper's narrow range loses to generators with the tuned one."""
    epsilons = (25.0, 50.0)
    theirs = [row(m, "sst2", "accuracy", e, 0.7) for m in dp_mlm.GENERATORS for e in epsilons]
    narrow = [row("dp-mlm", "sst2", "accuracy", e, 0.5, clip="paper") for e in epsilons]
    alone = dp_mlm.dp_mlm_headline.look(f.Runs(narrow + theirs))
    assert alone.verdict == f.MISSING and alone.missing
    for mine, verdict in ((0.7, f.INCONCLUSIVE), (0.9, f.REPLICATED), (0.5, f.CONTRADICTED)):
        tuned = [row("dp-mlm", "sst2", "accuracy", e, mine) for e in epsilons]
        found = dp_mlm.dp_mlm_headline.look(f.Runs(narrow + tuned + theirs))
        assert found.verdict == verdict
        like, unlike = found.numbers[:2]
        assert "all with the tuned range" in like
        assert unlike.startswith("Different ranges, DP-MLM with the paper's range minus generators")
        assert "all 4 comparisons contradict the claim" in unlike, "it is said, and decides nothing"


def test_a_claim_that_flips_with_the_range_is_not_comparable_and_shows_both():
    whole = printed_scores("DP-MLM", "baseline")[None]

    def at(clip: str, more: float):
        lost = {e: runs_rows.share_lost(x, whole, dp_mlm.GUESS) for e, x in printed_scores("DP-MLM", "dp-mlm").items()}
        return [
            row("dp-mlm", "sst2", "accuracy", e, 0.85 - (x + more) * (0.85 - dp_mlm.GUESS), clip=clip)
            for e, x in lost.items()
        ]

    unprotected = row("baseline", "sst2", "accuracy", None, 0.85)
    for paper, tuned, verdict in (
        (0.3, -0.3, f.NOT_COMPARABLE),
        (0.3, 0.0, f.NOT_COMPARABLE),
        (0.0, 0.0, f.REPLICATED),
        (0.3, 0.3, f.CONTRADICTED),
        (-0.3, 0.3, f.NOT_COMPARABLE),
    ):
        found = dp_mlm.dp_mlm_keeps_utility.look(f.Runs([unprotected, *at("paper", paper), *at("tuned", tuned)]))
        assert found.verdict == verdict, (paper, tuned)
        assert all(f"with {name}" in found.effect for name in ("the paper's range", "the tuned range"))


def test_verdicts_under_several_settings():
    yes, no, unsure = (
        differences.Difference(0.1, 0.01),
        differences.Difference(-0.1, 0.01),
        differences.Difference(0.0, 0.1),
    )
    one, other, open_ = (evidence.ClaimEvidence(comparisons=[c]) for c in (yes, no, unsure))
    assert evidence.shared_verdict(one, one) == evidence.shared_verdict(one, evidence.ClaimEvidence()) == f.REPLICATED
    assert evidence.shared_verdict(one, other) == f.NOT_COMPARABLE
    assert evidence.shared_verdict(one, open_) == evidence.shared_verdict(other, open_) == f.INCONCLUSIVE
    assert (
        evidence.shared_verdict(other, other) == f.CONTRADICTED
        and evidence.shared_verdict(evidence.ClaimEvidence()) == f.MISSING
    )
    above, below = (evidence.ClaimEvidence(True, [c]) for c in (yes, no))
    assert above.verdict == below.verdict == evidence.shared_verdict(above, above) == f.CONTRADICTED
    assert evidence.shared_verdict(above, below) == f.NOT_COMPARABLE, "contradicted in opposite directions"


@pytest.mark.parametrize(
    ("geometric", "tem", "verdict"),
    [
        (0.462, 0.246, f.NOT_COMPARABLE),
        (0.40, 0.38, f.REPLICATED),
        (0.40, 0.1, f.NOT_COMPARABLE),
        (0.7, 0.8, f.CONTRADICTED),
    ],
)
def test_sixty_percent_is_held_against_both_noises_and_their_mean(geometric, tem, verdict):
    rows = [
        row("diffractor", "sst2", "n_w", 1.0, kept, 0.0, lists=[name], **noise)
        for noise, kept in ((GEOMETRIC, geometric), (TEM, tem))
        for name in ("L0", "L2")
    ]
    found = diffractor.sixty_percent.look(f.Runs(rows))
    assert found.verdict == verdict
    message = " ".join(found.numbers)
    for kept in (geometric, tem, (geometric + tem) / 2):
        assert f"L2 {100 - 100 * kept:.1f}%" in message


def test_fewer_words_change_than_under_mahalanobis_noise_though_not_by_its_figure(nothing_else):
    def at(kept: float) -> DeniabilityCurve:
        n_w = np.array([kept - 0.01, kept, kept + 0.01])
        ends = np.stack([n_w - 0.001, n_w + 0.001], axis=1)
        return DeniabilityCurve(np.array([8.0, 10.0, 12.5]), n_w, ends, n_w, ends, 100, 200)

    for kept, verdict in ((0.21, f.CONTRADICTED), (0.08, f.REPLICATED), (0.5, f.CONTRADICTED)):
        nothing_else(
            diffractor,
            "measured_deniability",
            lambda kept=kept: (
                MeasuredCurve(dpt.Setting("mahalanobis", {"space": diffractor.GLOVE}), at(kept)),
                MeasuredCurve(dpt.Setting("tem", {"space": diffractor.GLOVE}), at(0.98)),
                MeasuredCurve(dpt.Setting("diffractor", {"noise": "geometric", "lists": ["L2"]}), one_dimension()),
            ),
        )
        found = diffractor.mahalanobis_changes.look(f.Runs([]))
        assert found.verdict == verdict
        assert f"Mahalanobis {100 - 100 * kept:.0f}%, TEM 2%" in " ".join(found.numbers), "others are named"


@pytest.mark.parametrize(
    ("nearest", "own", "verbatim", "verdict"),
    [(0.3, 0.2, 0.0, f.CONTRADICTED), (0.3, 0.2, 0.3, f.REPLICATED), (0.2, 0.3, 0.3, f.CONTRADICTED)],
)
def test_nearer_to_what_was_learned_is_not_yet_learned_by_heart(nothing_else, nearest, own, verbatim, verdict):
    nothing_else(
        case_study,
        "bundled",
        lambda: {
            "rows": [
                {
                    "pretrained": "atis",
                    "data": "snips",
                    "epsilon": None,
                    "nearest": nearest,
                    "own": own,
                    "verbatim": verbatim,
                }
            ]
        },
    )
    assert dp_rewrite.memorises.look(f.Runs([])).verdict == verdict


def test_speeds_of_other_models_are_not_comparable(nothing_else):
    values = {"dp-mlm": 450.0, "dp-paraphrase": 450.0, "dp-prompt": 300.0}
    timed = tuple(row(m, "builtin", "tokens_per_second", 50.0, x, 150.0) for m, x in values.items())
    nothing_else(speeds, "bundled", lambda: timed)
    found = dp_mlm.dp_mlm_speed.look(f.Runs([]))
    assert found.verdict == f.NOT_COMPARABLE
    assert found.effect == "DP-MLM 1.5 times (0.7 to 4.0); DP-Paraphrase 1.5 times (0.7 to 4.0)"
    nothing_else(speeds, "bundled", lambda: timed[:2])
    assert dp_mlm.dp_mlm_speed.look(f.Runs([])).missing == "bench words --out FILE"


def test_who_has_no_point_at_an_epsilon_of_the_others_is_named():
    rows = [r for r in five(1, lambda *_: None) if r.mechanism != "tem"]
    found = diffractor_comparisons.one_dimension_wins.look(f.Runs(rows))
    assert found.verdict == f.INCONCLUSIVE and "Not measured at any ε of 1-Diffractor: TEM." in found.numbers


def test_every_claim_of_a_paper_says_what_differs():
    assert {c.paper for c in f.CLAIMS} == {*base.APART, base.OURS}
    for c in f.CLAIMS:
        assert bool(c.differences) == (c.paper != base.OURS)
        assert not c.differences or c.differences.endswith("The verdict is about the direction of the effect.")


def test_quotations_stand_in_their_papers():
    """Word by word; without the papers, only that each is of a paper that is known."""
    for claim in f.CLAIMS:
        if claim.quote:
            assert claim.paper in FILES
            for path in TEXTS.glob(FILES[claim.paper]):
                text = re.sub(r"ε𝜀\S*italic_ε|\$?\\epsilon\$?", "ε", path.read_text(encoding="utf-8"))
                text = " ".join(text.replace("ﬁ", "fi").replace("ﬂ", "fl").replace("- \n", "").split())
                assert claim.quote in text, (claim.name, claim.quote)


def test_a_paper_is_held_against_itself_by_its_own_rows():
    said = {c.name: c.against_itself() for c in f.CLAIMS}
    assert "highest or tied in 14 of 20" in said["dp_mlm_headline"] and "Table 2 has 7" in said["dp_mlm_headline"]
    assert "at the same ε in 3 of 6" in said["dp_mlm_plus"] and "gain is higher in 6" in said["dp_mlm_plus"]
    assert "53.8%" in said["sixty_percent"] and "1 − tanh(½)" in said["sixty_percent"]
    assert round(1 - math.tanh(0.5), 3) == 0.538
    assert "16.03% and 29.26% at ε 10" in said["strategies_alike"]
    assert "2 of 6 columns for SST-2" in said["record_strategy"]
    assert "K 5: 1530, K 10: 365" in said["queries_by_k"]
    assert "SST2 at ε 25, SST2 at ε 50" in said["beats_tem_at_equal_privacy"]


# --- the file


def test_the_bundled_verdicts_are_what_the_claims_say_of_the_bundled_results():
    whole = results.bundled()
    assert list(verdicts.MEASUREMENT.bundled()) == f.findings(whole.rows, whole.gates), "make it again: bench findings"
    assert verdicts.MEASUREMENT.whole()["about"]["sources"] == verdicts.sources()


def test_the_hash_is_of_every_file_that_a_claim_reads(monkeypatch):
    read = set()
    kept = assets.bundled

    def told(name, *rest):
        read.add(name)
        return kept(name, *rest)

    monkeypatch.setattr(assets, "bundled", told)
    monkeypatch.setattr(papers, "bundled", told)
    whole = results.bundled()
    f.findings(whole.rows, whole.gates)
    named = {f"benchmarks/{name}" for name in verdicts.SOURCES}
    assert {name for name in read if not name.startswith("papers/")} == named and read - named


def test_beside_other_results_the_verdicts_are_computed(monkeypatch):
    whole = results.bundled()
    assert f.bundled() is verdicts.MEASUREMENT.bundled()
    some = dataclasses.replace(whole, rows=whole.rows[::2])
    monkeypatch.setattr(results, "bundled", lambda: some)
    monkeypatch.setattr(verdicts, "sources", lambda: "another")
    assert f.bundled() == f.findings(some.rows, some.gates) != list(verdicts.MEASUREMENT.bundled())
    monkeypatch.setattr(results, "bundled", lambda: None)
    assert f.bundled() == ()


def test_the_command_prints_and_writes_every_verdict(tmp_path, capsys):
    assert bench_findings.main(["--out", str(tmp_path / "findings.json")]) == 0
    assert (tmp_path / "findings.json").read_bytes() == (
        assets.assets_folder() / "benchmarks/findings.json"
    ).read_bytes()
    printed = capsys.readouterr().out
    assert all(claim.claim in printed for claim in f.CLAIMS)


# --- comparisons


def test_one_difference_of_many_is_not_beyond_doubt():
    one = differences.Difference(0.05, 0.04, None, 0.01, "accuracy")
    assert 0.01 < one.chance < 0.05
    alone, many = (
        evidence.ClaimEvidence(comparisons=[one]),
        evidence.ClaimEvidence(comparisons=[one] * 1 + [differences.Difference(0.0, 0.04)] * 9),
    )
    assert alone.verdict == f.REPLICATED and many.verdict == f.INCONCLUSIVE
    paired = dataclasses.replace(one, p=1e-6)
    assert evidence.ClaimEvidence(comparisons=[paired, differences.Difference(0.0, 0.04)]).yes == 1


def test_a_comparison_that_is_not_significant_says_how_many_texts_detect_the_difference():
    open_ = differences.Difference(0.0, 0.04, None, 0.01, "accuracy", 900)
    alone = evidence.ClaimEvidence(comparisons=[open_]).sentence("Accuracy")
    # (1.960 + 0.842)² · (0.04 / 1.96 / 0.01)² · 900
    assert alone.endswith(
        "1 point with 80% power takes about 29,000 test texts instead of 900, and proportionally more seeds. This is "
        "the median over the comparisons that are not significant."
    )
    # A power of 80% by simulation: so many texts, whose mean difference is a point.
    error = 0.04 / 1.96 * np.sqrt(900 / 29_000)
    p = [differences.Difference(x, 1.96 * error).chance for x in np.random.default_rng(1).normal(0.01, error, 4000)]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.8, abs=0.02)
    ten = evidence.ClaimEvidence(comparisons=[open_] * 10)
    assert float(ten.power.split("about ")[1].split(" ")[0].replace(",", "")) > 29_000, "as Holm asks more of each"
    sure = differences.Difference(0.5, 0.01, None, 0.01, "accuracy", 900)
    assert not evidence.ClaimEvidence(comparisons=[sure]).power
    assert not evidence.ClaimEvidence(comparisons=[differences.Difference(0.0, 0.04, None, 0.01)]).power, (
        "texts not known"
    )


def test_negative_numbers_of_findings_have_a_minus_sign():
    hyphen = re.compile(r"(?<![\w-])-\d")
    shown = [x for finding in f.bundled() for x in (finding.effect, *finding.numbers)]
    assert sum("−" in x for x in shown) > 10
    assert not [x for x in shown if hyphen.search(x)]
    signed = evidence.ClaimEvidence(comparisons=[differences.Difference(x, 0.01) for x in (-0.2, -0.1, 0.00001)])
    assert signed.effect == "−0.100 (−0.200 to 0.000)", "and zero has no sign"
    assert differences.size_text(-0.11, "accuracy") == "11.0 points" and differences.size_text(0.01, "n_w") == "1 point"


def test_a_difference_that_is_too_small_to_matter_does_not_count_however_sure_it_is():
    exact = [differences.Difference(x, 0.0, None, 0.01, "n_w") for x in (0.0001, 0.1)]
    tally = evidence.ClaimEvidence(comparisons=exact)
    assert (tally.yes, tally.small, tally.no) == (1, 1, 0)
    assert evidence.ClaimEvidence(comparisons=exact[:1]).verdict == f.CONTRADICTED, "shown to be too small"
    same = evidence.ClaimEvidence(True, exact[:1])
    assert same.verdict == f.REPLICATED and evidence.ClaimEvidence(True, exact[1:]).verdict == f.CONTRADICTED
    assert evidence.ClaimEvidence(True, [differences.Difference(0.0, 0.04, None, 0.01)]).verdict == f.INCONCLUSIVE


def test_a_sentence_counts_each_outcome_that_a_comparison_has():
    yes, no, small, unsure = (
        differences.Difference(x, half, None, 0.01, "accuracy")
        for x, half in ((0.1, 0.01), (-0.1, 0.01), (0.0, 0.001), (0.02, 0.1))
    )

    def counts(*comparisons: differences.Difference, same: bool = False) -> list[int]:
        said = evidence.ClaimEvidence(same, list(comparisons)).sentence("Accuracy").partition(" Median")[0]
        return [int(n) for n in re.findall(r"\d+", said)]

    assert counts(yes, yes, no, small, unsure, unsure, unsure) == [7, 2, 1, 1, 3, 5, 7]
    assert counts(yes, yes, yes) == [3] and counts(unsure, unsure, unsure) == [3, 3, 3]
    assert counts(small, small, no, same=True) == [3, 2, 1]


def test_verdicts_count_both_sides():
    yes, no, unsure = (
        differences.Difference(0.1, 0.01),
        differences.Difference(-0.1, 0.01),
        differences.Difference(0.0, 0.1),
    )
    assert evidence.ClaimEvidence(comparisons=[yes, no]).verdict == f.CONTRADICTED
    assert evidence.ClaimEvidence(comparisons=[yes, unsure]).verdict == f.REPLICATED
    assert evidence.ClaimEvidence(comparisons=[yes, unsure, unsure]).verdict == f.INCONCLUSIVE
    assert evidence.ClaimEvidence(comparisons=[yes] * 19 + [no]).verdict == f.REPLICATED, "one in twenty may be against"
    assert evidence.ClaimEvidence(comparisons=[yes] * 18 + [no]).verdict == f.CONTRADICTED
    assert evidence.ClaimEvidence(comparisons=[no, unsure]).verdict == f.CONTRADICTED
    assert evidence.ClaimEvidence(comparisons=[unsure]).verdict == f.INCONCLUSIVE
    assert evidence.ClaimEvidence().verdict == f.MISSING


def test_a_claim_of_several_parts_is_contradicted_by_one_and_replicated_by_all():
    yes, no, unsure, other = f.REPLICATED, f.CONTRADICTED, f.INCONCLUSIVE, f.NOT_COMPARABLE
    assert evidence.conjunction(yes, no) == evidence.conjunction(no, unsure) == evidence.conjunction(no, other) == no
    assert evidence.conjunction(yes, other) == evidence.conjunction(other, unsure) == other
    assert evidence.conjunction(yes, unsure) == evidence.conjunction(yes, f.MISSING) == unsure
    assert evidence.conjunction(yes, yes) == yes and evidence.conjunction(f.MISSING, f.MISSING) == f.MISSING


def test_every_bundled_claim_has_one_of_four_verdicts():
    assert {found.verdict for found in f.bundled()} == set(f.VERDICTS)


def test_paired_outcomes_decide_where_rows_have_them():
    rows = [
        row("custext", "reviews", m, 1.0, 0.5 + 0.02 * (m == "f1_adaptive"), 0.05) for m in ("f1_static", "f1_adaptive")
    ]
    assert shared_claims.adaptive_beats_static.look(f.Runs(rows)).verdict == f.INCONCLUSIVE

    @dataclasses.dataclass
    class Known:
        difference: float = 0.02
        low: float = 0.015
        high: float = 0.025
        p: float = 1e-4

    runs = f.Runs(rows, paired=lambda a, b, _: Known())
    assert shared_claims.adaptive_beats_static.look(runs).verdict == f.REPLICATED


# --- rows


def test_options_are_compared_with_defaults_filled_in():
    runs = f.Runs([row("custext", "sst2", "cosine", 1.0, 0.5, k=50)])
    assert runs.find("sst2", "cosine", "custext", mapping="balanced", k=50)
    assert not runs.find("sst2", "cosine", "custext", mapping="aggressive")
    assert not runs.find("sst2", "cosine", "custext", k=20)


def test_settings_at_the_same_n_w_are_those_that_were_measured_there():
    rows = [
        row(m, "sst2", metric, e, x)
        for m, places in (("tem", ((10.0, 0.02), (14.0, 0.2), (15.0, 0.29))), ("mvc", ((50.0, 0.1),)))
        for e, n_w in places
        for metric, x in (("n_w", n_w), ("accuracy", 0.6))
    ]
    (found,) = f.Runs(rows).near_n_w("sst2", "accuracy", 0.3, 0.02)
    assert (found.mechanism, found.epsilon) == ("tem", 15.0)


# --- claims with more to say


def test_gains_that_a_closed_task_hides_say_so(nothing_else):
    gate = Gate("reviews", "rating", "utility", "f1", 0.476, 0.396, 0.032, 250, False)
    found = dp_mlm.dp_mlm_gains.look(f.Runs([], [gate]))
    assert found.verdict == f.MISSING and "47.6% against 39.6%" in found.numbers[-1] and found.reason


def test_each_lists_space_is_told_from_the_number_of_lists(nothing_else):
    rows = of_lists(1, "s_w", 80, 50) + of_lists(1, "n_w", 0.5, 0.5)
    for i, name in enumerate(("L0", "L1", "L2", *(n for (n,) in diffractor.SINGLE))):
        rows.append(row("diffractor", "sst2", "accuracy", 1.0, 0.6 + i / 100, noise="geometric", lists=[name]))
    in_file(nothing_else, rows)
    found = diffractor.one_list_is_best.look(f.Runs(one_list(1, lambda *_: None)))
    said = next(n for n in found.numbers if n.startswith("Accuracy at ε 1 with the single list"))
    assert "0.63, 0.64, 0.65, 0.66, 0.67. Their mean: 0.650 ± 0.010. All lists together (L0): 0.600" in said


def test_the_clipping_range_follows_its_rows(monkeypatch):
    found = own_claims.clipping_range.look(f.Runs([]))
    assert found.verdict == f.CONTRADICTED and len(found.numbers) >= 6, "11 points are no half"
    rows = own_claims.clipping.bundled()
    rising = [dataclasses.replace(r, n_w=0.9 if r.epsilon == 250 else r.n_w) for r in rows]
    monkeypatch.setattr(own_claims.clipping, "bundled", lambda: tuple(rising))
    assert own_claims.clipping_range.look(f.Runs([])).verdict == f.REPLICATED
    flat = [dataclasses.replace(r, n_w=0.1, cosine=0.5) for r in rows]
    monkeypatch.setattr(own_claims.clipping, "bundled", lambda: tuple(flat))
    assert own_claims.clipping_range.look(f.Runs([])).verdict == f.CONTRADICTED


def test_the_bundled_mappings_agree_with_the_papers_order():
    found = custext.mappings_alone.look(f.Runs([]))
    assert found.verdict == f.NOT_COMPARABLE and "the paper 0.12%" in " ".join(found.numbers)


def test_memory_stands_beside_the_papers_table():
    found = diffractor_comparisons.little_memory.look(f.Runs([]))
    assert found.verdict == f.REPLICATED and "MVC" in found.numbers[0] and "(206.89)" in found.numbers[0]


def test_santext_stands_in_for_tem_where_both_have_the_same_distribution():
    near, far = (row("santext", "sst2", "accuracy", e, 0.6) for e in (14.0, 25.0))
    tem = row("tem", "sst2", "accuracy", 30.0, 0.6)
    assert diffractor_comparisons._tem_row([far, near]) == near
    assert diffractor_comparisons._tem_row([near, tem]) == tem
    assert diffractor_comparisons._tem_row([far]) is None


@pytest.mark.slow
def test_the_memory_of_a_mechanism_grows_with_what_it_holds():
    setting = dpt.Setting("diffractor", {"noise": "geometric", "lists": ("L2",)})
    few, many = (measure_memory(setting, words=n)[1] for n in (20, 400))
    assert 0 < few < many / 5
    with multiprocessing.get_context("spawn").Pool(1) as fresh:
        assert fresh.apply(measure_with_tables, (setting, 400)) > 2 * many


def public_means(gain: float, ratio: float) -> tuple[PriorRow, ...]:
    shared = {
        "data": "sst2",
        "system": "with prior, parallel",
        "half": 0.01,
        "texts": 9,
        "seeds": 1,
        "beside": "DP-MLM",
    }
    return tuple(
        PriorRow(
            epsilon=e,
            measure=m,
            mean=0.5,
            difference=d,
            difference_half=0.02,
            p=0.06 if abs(d) < 0.02 else 0.01,
            **shared,
        )
        for e in (5.0, 10.0)
        for m, d in (("cosine", gain), ("judge_perplexity", math.log(ratio)), ("best_attacker", 0.03))
    )


@pytest.mark.parametrize(
    ("gain", "ratio", "verdict"),
    [
        (0.1, 0.5, f.REPLICATED),
        (0.01, 0.5, f.INCONCLUSIVE),
        (0.1, 1.5, f.CONTRADICTED),
        (0.01, 1.0, f.INCONCLUSIVE),
        (-0.1, 2.0, f.CONTRADICTED),
    ],
)
def test_a_public_prior_is_better_where_both_differences_are_beyond_chance(monkeypatch, gain, ratio, verdict):
    monkeypatch.setattr(own_claims.public_prior, "bundled", lambda: public_means(gain, ratio))
    found = own_claims.starts_from_what_is_public.look(f.Runs([]))
    assert found.verdict == verdict and found.figure == "public_prior"
    first, second, third = found.numbers[:3]
    assert f"ε 10: 0.50 ({gain:+.2f})" in first and "SST-2" in first
    assert f"2 (× {ratio:.2f})" in second and "50.0% (+3.0 points)" in third


def test_one_cell_that_is_not_better_makes_it_inconclusive(monkeypatch):
    rows = list(public_means(0.1, 0.5))
    rows[0] = dataclasses.replace(rows[0], p=0.06)
    monkeypatch.setattr(own_claims.public_prior, "bundled", lambda: tuple(rows))
    found = own_claims.starts_from_what_is_public.look(f.Runs([]))
    assert found.verdict == f.INCONCLUSIVE
    assert "Over 2 combinations" in found.numbers[3]
    assert "nearer in meaning in 1, more fluent in 2, and less fluent in 0" in found.numbers[3]


def test_the_figure_of_the_public_prior_has_its_lines():
    rows = [
        dataclasses.replace(m, system=s)
        for m in public_means(0.1, 0.5)
        for s in ("DP-MLM, tuned range", "with prior, parallel")
    ]
    figure = figures.public_prior(rows)
    drawn = {(t.name, t.yaxis): t for t in figure.data if len(t.x)}
    assert {n for n, _ in drawn} == {"DP-MLM, tuned range", "with prior, parallel"} and len(drawn) == 6
    cosine, perplexity = (next(t for t in figure.data if len(t.x) and t.yaxis == a) for a in ("y", "y2"))
    assert list(cosine.x) == [5.0, 10.0] and list(cosine.y) == [0.5] * 2
    assert perplexity.y[0] == pytest.approx(math.exp(0.5)) and figure.layout.yaxis2.type == "log"
    assert perplexity.error_y.array[0] == pytest.approx(math.exp(0.51) - math.exp(0.5))


def test_the_table_of_claims_is_there_in_both_forms():
    found = f.findings([])
    read = list(csv.DictReader(io.StringIO(tables.as_csv(found))))
    assert [r["verdict"] for r in read] == [x.verdict for x in found] and set(read[0]) == set(tables.COLUMNS)
    latex = tables.as_latex(found)
    assert latex.count(r"\\") == len(found) + 1 and latex.index(r"\toprule") < latex.index(r"\bottomrule")
    assert "ε" not in latex and r"$\varepsilon$" in latex and not re.search(r"(?<![\\$])[%_#]", latex)


def test_the_table_of_verdicts_is_that_of_the_bundled_claims():
    text = (Path(__file__).parents[3] / "docs/measurements/benchmarks.md").read_text(encoding="utf-8")
    today = {found.name: found.verdict for found in f.bundled()}
    rows = re.findall(r"^\| [^|]*\((`[^)|]*`)\) \| \*\*([^*|]*)\*\* \|", text, re.MULTILINE)
    assert len(rows) > 20
    for names, said in rows:
        assert [today[name] for name in re.findall(r"`(\w+)`", names)] == said.split("; "), names


def test_rows_of_one_policy_for_unknown_words_are_found_where_a_data_set_has_both():
    rows = [
        row("tem", "sst2", "accuracy", 9.0, 0.6),
        row("tem", "sst2", "accuracy", 9.0, 0.7, oov="keep"),
        row("dp-mlm", "sst2", "accuracy", 9.0, 0.5),
        row("tem", "snips", "accuracy", 9.0, 0.4),
    ]
    for policy, value in (("keep", 0.7), ("random", 0.6)):
        runs = f.Runs(rows, policy=policy)
        assert runs.one("sst2", "accuracy", "tem", 9.0).value == value
        assert len(runs.find("sst2", "accuracy")) == 2 and runs.one("snips", "accuracy", "tem", 9.0).value == 0.4
    assert f.Runs(rows).one("sst2", "accuracy", "tem", 9.0).value == 0.7, "claims are about the papers' variant"


def test_every_bundled_claim_lists_the_values_behind_its_numbers():
    whole = results.bundled()
    runs = f.Runs(whole.rows, whole.gates)
    for finding in verdicts.bundled():
        assert len(tables.listing(finding.of.look(runs))) == finding.rows > 0, finding.name


def test_a_listing_leaves_out_columns_that_are_empty_in_all_its_rows():
    bare, measured = row("tem", "sst2", "accuracy", 9.0, 0.0), row("tem", "sst2", "accuracy", 10.0, 0.7)
    bare, measured = (dataclasses.replace(r, point=p) for r, p in ((bare, ""), (measured, "sst2-tem-10")))
    without, both = (tables.listing(ClaimOutcome(rows=rows)) for rows in ((bare,), (bare, measured)))
    assert "point" not in without[0] and without[0]["value"] == 0.0, "zero is a value"
    assert [r["point"] for r in both] == ["", "sst2-tem-10"]
    records = ({"word": "a", "note": ""}, {"word": "b", "note": None})
    assert tables.listing(ClaimOutcome(records=records)) == [{"word": "a"}, {"word": "b"}]


def test_rows_with_one_seed_are_compared_with_the_spread_of_seeds_of_other_rows():
    rng = np.random.default_rng(3)
    a, b = (
        dataclasses.replace(
            row("tem", "sst2", "accuracy", epsilon, 0.7), texts=pack(rng.random(200) < 0.7, steps=1), seeds=1
        )
        for epsilon in (1.0, 2.0)
    )
    several = dataclasses.replace(row("custext", "sst2", "accuracy", 1.0, 0.7), runs=(0.68, 0.70, 0.72))
    alone, pooled = f.Runs([a, b]).compare(a, b), f.Runs([a, b, several]).compare(a, b)
    assert pooled.half == pytest.approx(math.hypot(alone.half, 1.96 * math.sqrt(2) * 0.02), rel=1e-4)
    assert pooled.p > alone.p and pooled.difference == alone.difference
