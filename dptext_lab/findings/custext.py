"""Claims of CusText (Chen, Mo, Cen, Cui, Nie: 2022), also in comparison with SanText."""

from __future__ import annotations

import math
from itertools import pairwise

from ..results import mappings, queries
from ..results.conditions import POLICY
from ..results.differences import LEAST, Difference, full_options, half, value_text
from ..results.rows import Row
from .at_certainty import at_no_greater_certainty
from .base import ClaimOutcome, claim
from .evidence import CONTRADICTED, NOT_COMPARABLE, REPLICATED, ClaimEvidence, conjunction, shared_verdict
from .runs import Runs, bundled_runs, paper_records, paper_values, trend

PAPER = "CusText"
NAME = "custext"
MAIN = {"mapping": "balanced", "strategy": "record"}
RECORD = {**MAIN, "k": 50}
ACCURACY = ("sst2", "accuracy", NAME)
STOPS = ("keep_stopwords",)


def _by_k(runs: Runs, epsilon: float) -> list[Row]:
    """Return accuracy on SST-2 at one ε in the order of K, with the most frequent choice for stop words."""
    rows = [row for row in runs.find("sst2", "accuracy", NAME, **MAIN) if row.epsilon == epsilon]
    stops = [full_options(row)["keep_stopwords"] for row in rows]
    same = [row for row, choice in zip(rows, stops, strict=True) if choice == max(set(stops), key=stops.count)]
    return sorted(same, key=lambda row: full_options(row)["k"])


def _levels(runs: Runs) -> list[float]:
    """Return the ε at which at least three K were measured."""
    epsilons = {row.epsilon for row in runs.find("sst2", "accuracy", NAME, **MAIN) if row.epsilon is not None}
    return sorted(e for e in epsilons if len(_by_k(runs, e)) >= 3)


def _k_contradicts() -> str:
    theirs = [
        (r.options["k"], x) for x, r in paper_values(PAPER, "Table 1", "sst2", NAME, "accuracy") if "k" in r.options
    ]
    up = [f"{100 * b:.2f}% at K {k} after {100 * a:.2f}%" for (_, a), (k, b) in pairwise(theirs) if b > a]
    return (
        f"Section 5.2 sets ε = 1 for Table 1, and three sentences later gives ε = 0 for the same table. "
        f"Accuracy on SST-2 sometimes rises with K: {', '.join(up)}."
    )


@claim(itself=_k_contradicts)
def small_k(runs: Runs) -> ClaimOutcome:
    tally, rows, numbers = ClaimEvidence(), [], []
    for epsilon in _levels(runs):
        line = _by_k(runs, epsilon)
        rows += line
        shown = ", ".join(f"K {full_options(r)['k']}: {value_text(r)}" for r in line)
        numbers.append(f"Accuracy at ε {epsilon:g}: {shown}.")
        if epsilon <= 1:
            tally.add(trend([-math.log10(full_options(r)["k"]) for r in line], line, LEAST["accuracy"]))
    theirs = [
        (r.options["k"], x) for x, r in paper_values(PAPER, "Table 1", "sst2", NAME, "accuracy") if "k" in r.options
    ]
    numbers.append("The paper at ε 1: " + ", ".join(f"K {k}: {100 * x:.1f}%" for k, x in theirs) + ".")
    return ClaimOutcome(
        tally.verdict,
        f"{tally.effect} at a tenth of K",
        (*numbers, tally.sentence("Accuracy gained when K is ten times smaller, ε ≤ 1")),
        rows=tuple(rows),
        records=paper_records(PAPER, "Table 1", "sst2", NAME, "accuracy"),
    )


@claim()
def small_k_fades(runs: Runs) -> ClaimOutcome | None:
    levels = {epsilon: {full_options(row)["k"]: row for row in _by_k(runs, epsilon)} for epsilon in _levels(runs)}
    shared = sorted(set.intersection(*map(set, levels.values()))) if len(levels) > 1 else []
    if len(shared) < 2:
        return None
    small, large = shared[0], shared[-1]
    first, last = min(levels), max(levels)
    four = [levels[epsilon][k] for epsilon in (first, last) for k in (small, large)]
    gaps = [four[0].value - four[1].value, four[2].value - four[3].value]
    tally = ClaimEvidence()
    tally.add(Difference(gaps[0] - gaps[1], math.hypot(*map(half, four)), None, 0.02, "accuracy"))
    return ClaimOutcome(
        tally.verdict,
        tally.effect,
        (
            f"K {small} minus K {large}, the largest K at every ε: {100 * gaps[0]:+.1f} points at ε {first:g}, "
            f"{100 * gaps[1]:+.1f} at ε {last:g}.",
            tally.sentence("The first minus the second"),
        ),
        rows=tuple(four),
    )


@claim()
def mappings_utility(runs: Runs) -> ClaimOutcome:
    first, second = (
        ClaimEvidence().match(runs, ACCURACY, {**RECORD, "mapping": more}, {"mapping": less}, alike=STOPS)
        for more, less in pairwise(("aggressive", "balanced", "conservative"))
    )
    together = ClaimEvidence.join((first, second))
    theirs = {row.options["mapping"]: x for x, row in paper_values(PAPER, "Table 3", "sst2", NAME, "accuracy", k=50)}
    return ClaimOutcome(
        conjunction(first.verdict, second.verdict),
        together.effect,
        (
            first.sentence("Aggressive minus balanced, K 50"),
            second.sentence("Balanced minus conservative"),
            together.sentence("Both together"),
            "The paper, K 50, ε 0: " + ", ".join(f"{m} {100 * x:.1f}%" for m, x in theirs.items()) + ".",
        ),
        rows=tuple(together.rows),
        records=paper_records(PAPER, "Table 3", "sst2", NAME, "accuracy", k=50),
    )


@claim()
def mappings_alone(runs: Runs) -> ClaimOutcome | None:
    ours = {(row.k, row.mapping): row for row in mappings.bundled()}
    theirs = {
        (row.options["k"], row.options["mapping"]): x
        for x, row in paper_values(PAPER, "Table 4", "sst2", NAME, "not_n_to_m")
    }
    if not ours:
        return None
    agreed = all(row.words > 0.9 if m == "aggressive" else row.occurrences < 0.01 for (_, m), row in ours.items())
    gaps = [abs(ours[at].words - x) for at, x in theirs.items() if at[1] == "balanced" and at in ours]
    return ClaimOutcome(
        CONTRADICTED if not agreed else REPLICATED if max(gaps) < 0.005 else NOT_COMPARABLE,
        f"balanced, share of words with a unique set: up to {100 * max(gaps):.1f} points above the paper's",
        (
            *(
                f"{m.capitalize()}, K {k}: {100 * row.words:.2f}% of the words, {100 * row.occurrences:.2f}% of "
                f"their occurrences; the paper {100 * theirs[k, m]:.2f}%."
                for (k, m), row in ours.items()
                if (k, m) in theirs
            ),
            "Measured by: python -m dptext_core bench mappings --data DIR.",
        ),
        records=tuple(
            {
                "mapping": m,
                "K": k,
                "words with a unique set": row.words,
                "their occurrences": row.occurrences,
                "words": row.n,
                "the paper's words": theirs.get((k, m)),
            }
            for (k, m), row in ours.items()
        ),
    )


def _record_columns(data: str) -> tuple[int, int]:
    """Return in how many columns of the paper's Table 5 the record strategy is the most accurate, and their number."""
    columns: dict[tuple, dict[str, float]] = {}
    for x, row in paper_values(PAPER, "Table 5", data, NAME, "accuracy"):
        columns.setdefault((row.epsilon, row.options["keep_stopwords"]), {})[row.options["strategy"]] = x
    return sum(max(scores, key=scores.__getitem__) == "record" for scores in columns.values()), len(columns)


def _record_contradicts() -> str:
    (sst2, n), (qnli, m) = _record_columns("sst2"), _record_columns("qnli")
    return f"In Table 5, record is best in {sst2} of {n} columns for SST-2, and in {qnli} of {m} for QNLI."


@claim(itself=_record_contradicts)
def record_strategy(runs: Runs) -> ClaimOutcome:
    tallies = {
        other: ClaimEvidence().match(runs, ACCURACY, RECORD, {"strategy": other}, alike=STOPS)
        for other in ("token", "dataset")
    }
    together = ClaimEvidence.join(tallies.values())
    return ClaimOutcome(
        conjunction(*(t.verdict for t in tallies.values())),
        together.effect,
        (
            *(t.sentence(f"Accuracy on SST-2, record minus {other}") for other, t in tallies.items()),
            together.sentence("Both together"),
        ),
        rows=tuple(together.rows),
    )


@claim()
def stop_words(runs: Runs) -> ClaimOutcome:
    setting = {"keep_stopwords": True, "mapping": "balanced", "k": 50}
    tally = ClaimEvidence().match(runs, ACCURACY, setting, {"keep_stopwords": False}, alike=("strategy",))
    return ClaimOutcome(
        tally.verdict,
        tally.effect,
        (tally.sentence("Accuracy on SST-2, stop words kept minus replaced"),),
        rows=tuple(tally.rows),
    )


def _strategies_contradict() -> str:
    shares = {
        (r.options["strategy"], r.epsilon): x
        for x, r in paper_values(PAPER, "Table 6", "qnli", NAME, "unchanged", keep_stopwords=False)
    }
    return (
        "Table 6, QNLI, dataset and record: "
        + ", ".join(
            f"{100 * shares['dataset', e]:.2f}% and {100 * shares['record', e]:.2f}% at ε {e:g}" for e in (1, 5, 10)
        )
        + "."
    )


@claim(itself=_strategies_contradict)
def strategies_alike(runs: Runs) -> ClaimOutcome:
    cell = ("sst2", "unchanged", NAME)
    tallies = {
        other: ClaimEvidence(same=True).match(runs, cell, RECORD, {"strategy": other}, alike=STOPS, least=0.02)
        for other in ("token", "dataset")
    }
    together = ClaimEvidence.join(tallies.values())
    return ClaimOutcome(
        conjunction(*(t.verdict for t in tallies.values())),
        together.effect,
        tuple(t.sentence(f"Words unchanged on SST-2, record minus {other}") for other, t in tallies.items()),
        rows=tuple(together.rows),
    )


def _santext_contradicts() -> str:
    rows = {
        (r.mechanism, r.data, r.metric, r.epsilon): x
        for word in ("car", "she", "sst2")
        for metric in ("n_w", "queries", "accuracy")
        for m in ("santext", NAME)
        for x, r in paper_values(PAPER, "Table 8", word, m, metric)
    }
    cells = [(m, e) for m in ("n_w", "queries") for e in (1, 2, 3)]
    alike = all(rows["santext", "car", m, e] == rows["santext", "she", m, e] for m, e in cells)
    same = " SanText's six numbers for “car” and “she” are equal." if alike else ""
    return (
        "Section 5.2 compares “under the same privacy protection degree”, and Section 5.1 calls a comparison by ε "
        "“unfair”; Table 8 is at equal ε. At ε = 3, SanText leaves “car” unchanged in "
        f"{100 * rows['santext', 'car', 'n_w', 3]:.0f}% of draws, CusText in "
        f"{100 * rows[NAME, 'car', 'n_w', 3]:.0f}%.{same}"
    )


def _beside_santext(equal: Runs) -> list[tuple[Row, Row]]:
    """Return the accuracy rows of CusText and of SanText at the same N_w."""
    found = []
    for n_w in (0.1, 0.3, 0.5):
        there = {r.mechanism: r for r in equal.near_n_w("sst2", "accuracy", n_w, 0.02)}
        if NAME in there and "santext" in there:
            found.append((there[NAME], there["santext"]))
    return found


@claim(itself=_santext_contradicts)
def custext_against_santext(runs: Runs) -> ClaimOutcome:
    equal, tally = bundled_runs("equal"), ClaimEvidence()
    cosine: list[str] = []
    variety: list[str] = []
    for a, b in _beside_santext(equal):
        n_w = equal.at_same_point(a, "n_w")
        tally.pair(equal, a, b)
        for metric, sentences in (("cosine", cosine), ("s_w", variety)):
            x, y = equal.at_same_point(a, metric), equal.at_same_point(b, metric)
            if n_w is not None and x is not None and y is not None:
                sentences.append(f"N_w {n_w.value:.1f}: {value_text(x)} and {value_text(y)}")
    replaced, others = ClaimEvidence(), bundled_runs("equal", POLICY)
    for a, b in _beside_santext(others):
        replaced.pair(others, a, b)
    certain, example = at_no_greater_certainty(NAME, "santext")
    return ClaimOutcome(
        shared_verdict(tally, replaced, certain),
        f"unknown words kept {tally.effect}; replaced {replaced.effect}; cosine for the reader {certain.effect}",
        (
            tally.sentence("Accuracy on SST-2 at the same N_w, unknown words kept, CusText minus SanText"),
            replaced.sentence("The same with unknown words replaced"),
            certain.sentence("Cosine where an optimal reader is no more certain with SanText") + f" {example}".rstrip(),
            f"Cosine at the same N_w, CusText and SanText: {'; '.join(cosine)}.",
            f"Different words in 100 draws (S_w): {'; '.join(variety)}.",
        ),
        rows=(
            *tally.rows,
            *equal.at_same_points(tally.rows, "n_w", "cosine", "s_w"),
            *replaced.rows,
            *others.at_same_points(replaced.rows, "n_w"),
            *certain.rows,
        ),
    )


def _queries_contradict() -> str:
    # Each row of N has the ε of the preceding row of p₀ with the same K.
    chance = {(r.options["k"], r.epsilon): r.value for _, r in paper_values(PAPER, "Table 7", "happy", NAME, "n_w")}
    line = ", ".join(
        f"K {r.options['k']}: {r.value:g}"
        for _, r in paper_values(PAPER, "Table 7", "happy", NAME, "queries")
        if chance.get((r.options["k"], r.epsilon)) == 0.3
    )
    return (
        "Section 6.2 says in one sentence that N is “almost not sensitive to K” and “will be even bigger when K is "
        f"smaller”. Table 7 at p₀ = 0.3: {line}."
    )


@claim(itself=_queries_contradict)
def queries_by_k(runs: Runs) -> ClaimOutcome | None:
    table: dict[tuple[str, float], dict[int, int | None]] = {}
    for row in queries.bundled():
        table.setdefault((row.word, round(row.p, 1)), {})[row.k] = row.n
    lines = {at: numbers_by_k for at, numbers_by_k in table.items() if len(numbers_by_k) >= 3}
    if not lines:
        return None

    def factor(numbers_by_k: dict[int, int | None]) -> float:
        known = [n for n in numbers_by_k.values() if n is not None]
        return math.inf if len(known) < len(numbers_by_k) else max(known) / min(known)

    alike = sum(factor(numbers_by_k) < 2 for numbers_by_k in lines.values())
    worst = max(lines, key=lambda at: factor(lines[at]))
    word = queries.WORDS[0]
    numbers = [f"The largest N is below twice the smallest in {alike} of {len(lines)} combinations of word and p₀."]
    for p in (0.1, 0.3, 0.5):
        if (word, p) in lines:
            shown = ", ".join(f"K {k}: {'never' if n is None else f'{n:,}'}" for k, n in lines[word, p].items())
            numbers.append(f"“{word}”, p₀ {p:g}: {shown}.")
    numbers.append(
        f"Largest ratio: “{worst[0]}” at p₀ {worst[1]:g}, "
        + ", ".join(f"K {k}: {'never' if n is None else f'{n:,}'}" for k, n in lines[worst].items())
        + "."
    )
    numbers.append("Measured by: python -m dptext_core bench queries.")
    small = max(factor(numbers_by_k) for numbers_by_k in lines.values())
    return ClaimOutcome(
        REPLICATED if alike == len(lines) else CONTRADICTED,
        f"up to {small:.0f} times as many" if math.isfinite(small) else "never for the smallest K, at the smallest p₀",
        tuple(numbers),
        records=tuple(
            {"word": r.word, "K": r.k, "ε": r.epsilon, "p₀": r.p, "answers that reveal it": r.n}
            for r in queries.bundled()
        ),
    )
