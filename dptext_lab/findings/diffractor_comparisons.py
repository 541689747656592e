"""Claims of 1-Diffractor's paper about other mechanisms: utility at equal privacy, attackers, speed and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..results import memory, speeds
from ..results.conditions import POLICY
from ..results.curves import title
from ..results.differences import Difference, full_options, half, value_text
from ..results.equal_privacy import VOCABULARY
from ..results.papers import paper_rows
from ..results.rows import Row
from .at_certainty import at_no_greater_certainty
from .base import METRIC_DP, TITLES, ClaimOutcome, claim, majority_record
from .diffractor import GEOMETRIC, NAME, PAPER, SANTEXT_UP_TO, TEM, single_list_runs
from .dp_mlm import GUESS
from .evidence import CONTRADICTED, MISSING, REPLICATED, ClaimEvidence, conjunction, shared_verdict
from .runs import Runs, bundled_runs, paper_records, paper_values, share_lost, title_with_noise


@claim()
def one_dimension_wins(runs: Runs) -> ClaimOutcome | None:
    utility = ClaimEvidence()
    for mechanism in METRIC_DP:
        for row in runs.find("sst2", "accuracy", mechanism):
            utility.pair(runs, runs.one("sst2", "accuracy", NAME, row.epsilon, **GEOMETRIC, lists=("L2",)), row)
    if not (rows := utility.rows):
        return None
    best = {r.epsilon: x for x, r in paper_values(PAPER, "Table 3", "sst2", NAME, "accuracy")}
    behind = [
        f"{title(m)} at ε {r.epsilon:g}"
        for m in METRIC_DP
        for x, r in paper_values(PAPER, "Table 3", "sst2", m, "accuracy")
        if x > best[r.epsilon]
    ]
    compared = ", ".join(f"{title(r.mechanism)} at ε {r.epsilon:g}" for r in rows if r.mechanism != NAME)
    without = [title(m) for m in METRIC_DP if all(r.mechanism != m for r in rows)]
    return ClaimOutcome(
        conjunction(utility.verdict, MISSING) if without else utility.verdict,
        utility.effect,
        (
            utility.sentence(f"Accuracy on SST-2 at the same ε, geometric L2 minus {compared}"),
            *([f"Not measured at any ε of 1-Diffractor: {', '.join(without)}."] if without else []),
            f"In the paper's Table 3 for SST-2, the best 1-Diffractor is behind {', '.join(behind) or 'none'}.",
        ),
        rows=tuple(rows),
        records=tuple(
            record for m in (NAME, *METRIC_DP) for record in paper_records(PAPER, "Table 3", "sst2", m, "accuracy")
        ),
    )


def _tem_contradicts() -> str:
    """Return how often TEM is ahead in Table 3."""
    best = {
        (r.data, r.epsilon): x
        for r_ in ("sst2", "rte", "mrpc")
        for x, r in paper_values(PAPER, "Table 3", r_, NAME, "accuracy")
    }
    behind = [
        f"{r.data.upper()} at ε {r.epsilon:g}"
        for data in ("sst2", "rte", "mrpc")
        for x, r in paper_values(PAPER, "Table 3", data, "tem", "accuracy")
        if x > best[data, r.epsilon]
    ]
    return (
        f"Section 7 says “consistently”, yet TEM is ahead of the best 1-Diffractor in Table 3 on {', '.join(behind)}. "
        "The paper never compares the two at equal privacy: Table 3 is at equal ε."
    )


def _tem_row(rows: Sequence[Row]) -> Row | None:
    """Return TEM's row, or SanText's at an ε where it has the same distribution; None without either."""
    equal = (r for r in rows if r.mechanism == "santext" and r.epsilon is not None and r.epsilon < SANTEXT_UP_TO)
    return next((r for r in rows if r.mechanism == "tem"), next(equal, None))


def _beside_tem(equal: Runs) -> list[tuple[float, Row, Row]]:
    """Return the N_w and the accuracy rows of 1-Diffractor and of TEM at the same N_w."""
    found = []
    for n_w in (0.1, 0.3, 0.5):
        there = equal.near_n_w("sst2", "accuracy", n_w, 0.02)
        if (tem := _tem_row(there)) is not None:
            found += [(n_w, row, tem) for row in there if row.mechanism == NAME]
    return found


@claim(itself=_tem_contradicts)
def beats_tem_at_equal_privacy(runs: Runs) -> ClaimOutcome:
    equal, tally, cosine = bundled_runs("equal"), ClaimEvidence(), ClaimEvidence()
    variety: list[str] = []
    for n_w, row, tem in _beside_tem(equal):
        tally.pair(equal, row, tem)
        cosine.pair(equal, equal.at_same_point(row, "cosine"), equal.at_same_point(tem, "cosine"))
        x, y = equal.at_same_point(row, "s_w"), equal.at_same_point(tem, "s_w")
        if x is not None and y is not None:
            variety.append(f"N_w {n_w:g}, {full_options(row)['noise']}: {x.value:.0f} and {y.value:.0f}")
    replaced, others = ClaimEvidence(), bundled_runs("equal", POLICY)
    for _, row, tem in _beside_tem(others):
        replaced.pair(others, row, tem)
    certain, example = at_no_greater_certainty(NAME, "santext")
    return ClaimOutcome(
        shared_verdict(tally, replaced, certain),
        f"unknown words kept {tally.effect}; replaced {replaced.effect}; cosine for the reader {certain.effect}",
        (
            tally.sentence("Accuracy on SST-2 at the same N_w, unknown words kept, 1-Diffractor minus TEM"),
            replaced.sentence("The same with unknown words replaced"),
            certain.sentence("Cosine where an optimal reader is no more certain with TEM") + f" {example}".rstrip(),
            "TEM has SanText's distribution at these ε.",
            cosine.sentence("Cosine at the same N_w (the encoder is also the classifier's input and the word space)"),
            f"Different words in 100 draws at the same N_w (S_w), 1-Diffractor and TEM: {'; '.join(variety)}.",
        ),
        rows=(
            *tally.rows,
            *equal.at_same_points(tally.rows, "n_w", "cosine", "s_w"),
            *replaced.rows,
            *others.at_same_points(replaced.rows, "n_w"),
            *certain.rows,
        ),
    )


@claim()
def drop_of_fifteen(runs: Runs) -> ClaimOutcome | None:
    base = runs.one("sst2", "accuracy", "baseline")
    if base is None:
        return None
    guess = next((g.majority for g in runs.gates if (g.data, g.role) == ("sst2", "utility")), GUESS)
    whole = next(x for x, r in paper_values(PAPER, "Table 1", "sst2", "baseline", "accuracy"))
    tally, rows, shown = ClaimEvidence(same=True), [base], []
    for x, theirs in paper_values(PAPER, "Table 1", "sst2", NAME, "accuracy"):
        if theirs.epsilon not in (0.1, 5, 10):
            continue
        noise = GEOMETRIC if theirs.options["noise"] == "geometric" else TEM
        row = runs.one("sst2", "accuracy", NAME, theirs.epsilon, **noise, lists=tuple(theirs.options["lists"]))
        if row is None:
            continue
        (mine, wide), other = runs.share_lost(base, row, guess), share_lost(x, whole, GUESS)
        tally.add(Difference(mine - other, wide, None, 0.1))
        rows.append(row)
        if theirs.options == {"noise": "geometric", "lists": ("L2",)}:
            shown.append(
                f"ε {theirs.epsilon:g}: {100 * (base.value - row.value):.1f} / {100 * (whole - x):.1f} "
                f"points, share {mine:.2f} / {other:.2f}"
            )
    if len(rows) == 1:
        return None
    everywhere = {r.data: r for r in paper_rows() if (r.paper, r.table, r.mechanism) == (PAPER, "Table 1", "baseline")}
    lost = [
        (everywhere[r.data].value or 0.0) - (r.value or 0.0)
        for r in paper_rows(None, NAME)
        if (r.paper, r.table, r.epsilon) == (PAPER, "Table 1", 0.1)
    ]
    return ClaimOutcome(
        tally.verdict,
        f"share lost, minus the paper's: {tally.effect}",
        (
            f"Accuracy lost with L2 and geometric noise, ours / the paper's: {'; '.join(shown)}.",
            tally.sentence("Share lost, ours minus the paper's"),
            f"The paper's mean loss over Table 1 at ε 0.1 is {np.mean(lost):.1f} points, and more on SST-2.",
        ),
        f"On unprotected text, our classifier is {100 * (base.value - guess):.0f} points above guessing, and the "
        f"paper's {100 * (whole - GUESS):.0f}. So the same number of points is not the same loss.",
        tuple(rows),
        records=(
            majority_record("sst2", guess),
            *paper_records(PAPER, "Table 1", "sst2", NAME, "accuracy"),
            *_table_1_at_least_epsilon(),
        ),
    )


def _table_1_at_least_epsilon() -> list[dict[str, Any]]:
    """Return Table 1 without rewriting, and at ε 0.1 on other data sets than SST-2."""
    of_table = (r for r in paper_rows(None, NAME) if (r.paper, r.table) == (PAPER, "Table 1"))
    return [
        record
        for data, metric in dict.fromkeys((r.data, r.metric) for r in of_table)
        for name in ("baseline", NAME)
        for record in paper_records(PAPER, "Table 1", data, name, metric)
        if name == "baseline" or (data != "sst2" and record["ε"] == 0.1)
    ]


@claim()
def attackers_weakened(runs: Runs) -> ClaimOutcome:
    tally, rows, shown = ClaimEvidence(), [], []
    for data in ("reviews", "authors"):
        base = runs.one(data, "f1_static", "baseline")
        line = runs.find(data, "f1_static", NAME, **GEOMETRIC)
        if base is None or not line:
            continue
        for row in line:
            if (row.epsilon or 0) <= 1:
                tally.add(runs.compare(base, row))
        rows += [base, *line]
        each = ", ".join(f"ε {r.epsilon:g}: {value_text(r)}" for r in line)
        shown.append(f"{TITLES[data].capitalize()}, unprotected {value_text(base)}; {each}.")
    theirs = [
        f"ε {r.epsilon:g}: {100 * x:.1f}%"
        for x, r in paper_values(PAPER, "Table 4", "friends", NAME, "accuracy", noise="geometric")
    ]
    return ClaimOutcome(
        tally.verdict,
        tally.effect,
        (
            tally.sentence("F1 of the author, unprotected minus rewritten"),
            *shown,
            f"The paper, speakers of Friends, geometric L0, unprotected 33.1%: {', '.join(theirs)}.",
        ),
        rows=tuple(rows),
        records=(
            *paper_records(PAPER, "Table 4", "friends", "baseline", "accuracy"),
            *paper_records(PAPER, "Table 4", "friends", NAME, "accuracy", noise="geometric"),
        ),
    )


def _table_2_contradicts() -> str:
    at = {r.epsilon: x for x, r in paper_values(PAPER, "Table 2", "mrpc+rte+sst2", NAME, "cosine", noise="geometric")}
    return (
        f"Table 2 has cosine {at[10]:.2f} for geometric noise at ε = 10, and {at[25]:.2f} at 25. By Equation 4, "
        "99.99% of the words are already unchanged at ε = 10."
    )


@claim(itself=_table_2_contradicts)
def tem_beside_tables(runs: Runs) -> ClaimOutcome:
    lists, ratios, gaps, rows, shown = single_list_runs(), ClaimEvidence(same=True), ClaimEvidence(same=True), [], []
    theirs = {
        (r.options["noise"], r.epsilon): x for x, r in paper_values(PAPER, "Table 2", "mrpc+rte+sst2", NAME, "cosine")
    }
    accuracy = {
        (r.options["noise"], r.epsilon): x
        for x, r in paper_values(PAPER, "Table 1", "sst2", NAME, "accuracy")
        if r.options["lists"] == ("L2",)
    }
    for row in lists.find("sst2", "cosine", NAME, **TEM, lists=("L2",)):
        other = lists.one("sst2", "cosine", NAME, row.epsilon, **GEOMETRIC, lists=("L2",))
        if other is None or ("tem", row.epsilon) not in theirs:
            continue
        e = row.epsilon
        mine, paper = row.value / other.value, theirs["tem", e] / theirs["geometric", e]
        wide = mine * math.hypot(half(row) / row.value, half(other) / other.value)
        ratios.add(Difference(mine - paper, wide, None, 0.05))
        rows += [row, other]
        shown.append(f"ε {e:g}: {mine:.2f} / {paper:.2f}")
        a, b = lists.at_same_point(row, "accuracy"), lists.at_same_point(other, "accuracy")
        if a is not None and b is not None and ("tem", e) in accuracy:
            gap = (a.value - b.value) - (accuracy["tem", e] - accuracy["geometric", e])
            gaps.add(Difference(gap, math.hypot(half(a), half(b)), None, 0.05, "accuracy"))
            rows += [a, b]
    return ClaimOutcome(
        conjunction(ratios.verdict, gaps.verdict),
        ratios.effect,
        (
            f"Cosine under TEM noise divided by that under geometric noise, ours / Table 2: {', '.join(shown)}.",
            ratios.sentence("These ratios, ours minus the paper's"),
            gaps.sentence("Accuracy on SST-2, TEM minus geometric, ours minus Table 1's"),
        ),
        rows=tuple(rows),
        records=(
            *paper_records(PAPER, "Table 2", "mrpc+rte+sst2", NAME, "cosine"),
            *paper_records(PAPER, "Table 1", "sst2", NAME, "accuracy", lists=("L2",)),
        ),
    )


@claim()
def speed(runs: Runs) -> ClaimOutcome | None:
    rates: dict[str, Row] = {}
    for row in speeds.bundled():
        if row.mechanism in (NAME, *METRIC_DP):
            rates[title_with_noise(row)] = row
    first = f"{title(NAME)}, geometric"
    others = [name for name in rates if name != first]
    if first not in rates or not others:
        return None
    own, rest = (
        [rates[first].value / rates[name].value for name in others if (rates[name].mechanism == NAME) == is_own]
        for is_own in (True, False)
    )
    faster = [*own, *rest]
    parts = [
        f"{min(ratios):.1f} to {max(ratios):.1f} times as fast as {whom}"
        if len(ratios) > 1
        else f"{ratios[0]:.1f} times as fast as {whom}"
        for ratios, whom in ((rest, "the other mechanisms"), (own, "TEM noise"))
        if ratios
    ]
    return ClaimOutcome(
        REPLICATED if min(faster) > 2 else CONTRADICTED,
        "; ".join(parts),
        (
            "Tokens per CPU second end to end, after warm-up, median of alternating rounds: "
            + ", ".join(f"{name} {row.value:,.0f}" for name, row in rates.items())
            + ".",
            f"The geometric noise is {' and '.join(parts)}.",
            "Measured by: python -m dptext_core bench words --out FILE.",
        ),
        rows=tuple(rates.values()),
    )


@claim()
def little_memory(runs: Runs) -> ClaimOutcome | None:
    ours: dict[str, Row] = {}
    for row in memory.bundled():
        if row.options.get("lists", ("L2",)) == ("L2",):
            ours[title_with_noise(row)] = row
    theirs = {
        title_with_noise(row): x for x, row in paper_values(PAPER, "Table 5", VOCABULARY, None, "mib_per_1000_words")
    }
    mine = [row.value for row in ours.values() if row.mechanism == NAME]
    others = [row.value for row in ours.values() if row.mechanism in METRIC_DP]
    if not mine or not others:
        return None
    return ClaimOutcome(
        REPLICATED if max(mine) < min(others) / 5 else CONTRADICTED,
        f"{max(mine):.1f} MiB against at least {min(others):.0f} MiB",
        (
            "MiB for 1,000 words, ours (the paper's): "
            + ", ".join(
                f"{name} {row.value:.1f}" + (f" ({theirs[name]:g})" if name in theirs else "")
                for name, row in ours.items()
            )
            + ".",
            "Measured by: python -m dptext_core bench memory.",
        ),
        rows=tuple(ours.values()),
        records=paper_records(PAPER, "Table 5", VOCABULARY, None, "mib_per_1000_words"),
    )
