"""Our own claims, tested in the same way."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from dptext_core.measure.metrics.registry import measure
from dptext_core.models.clip import WIDTHS as PRESETS
from dptext_core.support.statistics import NORMAL

from ..results import belief, clipping, leaderboard, public_prior
from ..results.conditions import POLICY
from ..results.curves import title
from ..results.data_titles import in_sentence
from ..results.data_titles import title as title_of_data
from ..results.differences import LEAST, Difference, labels, value_text
from ..results.public_prior import PriorRow
from ..results.rows import Row
from ..results.selection import LevelPoint, versus_first
from .base import METRIC_DP, ClaimOutcome, claim
from .evidence import CONTRADICTED, INCONCLUSIVE, MISSING, ONE_IN, REPLICATED, ClaimEvidence, conjunction
from .runs import Runs, bundled_runs

#: Mechanisms with few near or contextual candidates, and those that sample from the whole space.
NEAR = ("dp-mlm", "dp-mlm-prior", "diffractor", "custext")
WIDE = ("santext", "santext-plus", *METRIC_DP)
#: Mechanisms that ignore the context of a word.
WORDS = (*WIDE, "diffractor", "custext")


def _clipping_record(r: clipping.ClippingRow) -> dict[str, Any]:
    """Return a measured clipping range, for the rows of a claim."""
    return {
        "upper end, standard deviations above the mean": r.width,
        "ε": r.epsilon,
        "N_w": r.n_w,
        "half of its 95% CI": r.n_w_half,
        "cosine": r.cosine,
        "half of cosine's 95% CI": r.cosine_half,
        "tied words": r.tied,
        "words": r.words,
        "texts": r.texts,
    }


@claim()
def clipping_range(runs: Runs) -> ClaimOutcome | None:
    rows = clipping.bundled()
    at = {(r.width, r.epsilon): r for r in rows}
    epsilons = sorted({r.epsilon for r in rows})
    paper, wide = PRESETS["paper"], PRESETS["tuned"]
    if not epsilons or any((w, e) not in at for w in (paper, wide) for e in epsilons):
        return None
    first, last = epsilons[0], epsilons[-1]
    gaps = {e: at[wide, e].cosine - at[paper, e].cosine for e in epsilons}
    better = [e for e in epsilons if gaps[e] > math.hypot(at[wide, e].cosine_half, at[paper, e].cosine_half)]
    numbers = [
        f"Range to μ + {w:g}σ, N_w / cosine: "
        + ", ".join(f"ε {e:g}: {100 * at[w, e].n_w:.0f}% / {at[w, e].cosine:.2f}" for e in epsilons)
        + f"; {at[w, first].tied:.1f} words tied at the upper end on average."
        for w in sorted({r.width for r in rows})
    ]
    # The ε at which the wide range leaves as many words unchanged as the narrow one does at its largest ε.
    line = [at[wide, e] for e in epsilons]
    n_w = at[paper, last].n_w
    if line[0].n_w <= n_w <= line[-1].n_w:
        x = [r.n_w for r in line]
        same = float(np.interp(n_w, x, [r.cosine for r in line]))
        epsilon = math.exp(float(np.interp(n_w, x, np.log(epsilons))))
        numbers.append(
            f"At an equal N_w of {100 * n_w:.0f}%, the cosine is {at[paper, last].cosine:.2f} with the range to "
            f"{paper:g}σ (ε {last:g}). It is {same:.2f} with the range to {wide:g}σ (ε {epsilon:.0f}, interpolated)."
        )
    numbers.append(
        "Measured by: python -m dptext_core bench clipping --data DIR. The guarantee is the same in every row."
    )
    rise = at[paper, last].n_w - at[paper, first].n_w
    return ClaimOutcome(
        REPLICATED if rise > 0.5 else CONTRADICTED,
        f"N_w {100 * rise:+.0f} points ({100 * at[paper, first].n_w:.0f}% to {100 * n_w:.0f}%), cosine "
        f"{at[paper, last].cosine - at[paper, first].cosine:+.2f} ({at[paper, first].cosine:.2f} to "
        f"{at[paper, last].cosine:.2f}; does not count), from ε {first:g} to {last:g}",
        tuple(numbers),
        "All words with scores above the upper end are equally likely at any ε, and the original is usually one of "
        "them. A wider range separates them, but spreads the same ε over more scores."
        + (f" With this model, it preserves more meaning from ε {better[0]:g} on." if better else "")
        + " The words above the upper end have similar meanings. So the cosine can rise although few words are "
        "unchanged. At equal N_w, the narrow range may therefore preserve more meaning, at a larger ε. The claim first "
        "said “closer to the original”; it was reworded after the results to name what the test counts. The test is "
        "the same.",
        figure="clipping",
        drawn=rows,
        records=tuple(map(_clipping_record, rows)),
    )


def _prior_effect(gains: list[float], logarithms: list[float]) -> str:
    """Return the median and range of the differences in cosine and of the ratios of perplexities."""
    ratios = [math.exp(x) for x in (np.median(logarithms), min(logarithms), max(logarithms))]
    return (
        f"cosine {np.median(gains):+.2f} ({min(gains):+.2f} to {max(gains):+.2f}); "
        f"perplexity × {ratios[0]:.2f} (× {ratios[1]:.2f} to × {ratios[2]:.2f})"
    )


def _prior_record(r: PriorRow) -> dict[str, Any]:
    """Return a measure of a system, for the rows of a claim."""
    return {
        "data": title_of_data(r.data),
        "system": r.system,
        "ε": r.epsilon,
        "measure": f"log of {r.measure}" if r.measure in public_prior.LOGARITHMS else r.measure,
        "mean": r.mean,
        "half of 95% CI": r.half,
        "compared system": r.beside,
        "difference": r.difference,
        "p": r.p,
        "texts": r.texts,
        "seeds": r.seeds,
    }


@claim()
def starts_from_what_is_public(runs: Runs) -> ClaimOutcome | None:
    rows, system = public_prior.bundled(), "with prior, parallel"
    cells_of_system = {
        (r.data, r.epsilon, r.measure): r for r in rows if r.system == system and r.difference is not None
    }
    cells = sorted(
        {(d, e) for d, e, m in cells_of_system if m == "cosine" and (d, e, "judge_perplexity") in cells_of_system}
    )
    if not cells:
        return None
    nearer = [c for c in cells if cells_of_system[(*c, "cosine")].significance > 0]
    fluent = [c for c in cells if cells_of_system[(*c, "judge_perplexity")].significance < 0]
    less = [c for c in cells if cells_of_system[(*c, "judge_perplexity")].significance > 0]
    polished = sum("cleaned up" in cells_of_system[(*c, "judge_perplexity")].beside for c in cells)
    numbers = []
    for d in sorted({d for d, _ in cells}):
        name, each = title_of_data(d), [e for data, e in cells if data == d]

        def line(measure: str, shown: Callable[[PriorRow], str], d: str = d, each: list[float] = each) -> str:
            return ", ".join(
                f"ε {e:g}: {shown(cells_of_system[d, e, measure])}" for e in each if (d, e, measure) in cells_of_system
            )

        cosines = line("cosine", lambda r: f"{r.mean:.2f} ({r.difference or 0.0:+.2f})")
        words = line("judge_perplexity", lambda r: f"{math.exp(r.mean):,.0f} (× {math.exp(r.difference or 0.0):.2f})")
        named = line(
            public_prior.STRONGEST, lambda r: f"{100 * r.mean:.1f}% ({100 * (r.difference or 0.0):+.1f} points)"
        )
        numbers += [
            f"{name}, cosine and its difference from the best of DP-MLM's rows: {cosines}.",
            f"{name}, perplexity per word and its ratio to the best row's: {words}.",
            f"{name}, replaced words that the strongest attacker recovers: {named}.",
        ]
    numbers.append(
        f"Over {len(cells)} combinations of data set and ε: significantly nearer in meaning in {len(nearer)}, more "
        f"fluent in {len(fluent)}, and less fluent in {len(less)}. In {polished} of them, the best of DP-MLM's rows by "
        "perplexity is a cleaned-up one."
    )
    numbers.append("Measured by: python -m dptext_core bench prior --data DIR --rows FILE --judge NAME --out FILE.")
    farther = [c for c in cells if cells_of_system[(*c, "cosine")].significance < 0]
    together, against = set(nearer) & set(fluent), {*less, *farther}
    verdict = REPLICATED if len(together) == len(cells) else INCONCLUSIVE
    if ONE_IN * len(against) > len(cells):
        verdict = CONTRADICTED
    return ClaimOutcome(
        verdict,
        _prior_effect(
            *([cells_of_system[(*c, m)].difference or 0.0 for c in cells] for m in ("cosine", "judge_perplexity"))
        ),
        tuple(numbers),
        figure="public_prior",
        drawn=rows,
        records=tuple(map(_prior_record, rows)),
    )


#: Judges that are independent of the first classifier, and one that shares its encoder.
OTHERS = ("accuracy_bag", "chrf", "bleu_uncased", "cosine")


@claim()
def judges_agree(runs: Runs) -> ClaimOutcome:
    equal = bundled_runs("equal", POLICY)
    first, by_judge = ClaimEvidence(), {judge: ClaimEvidence() for judge in OTHERS}
    pairs: list[tuple[float, Row, Row]] = []
    for n_w in (0.1, 0.3, 0.5):
        there = sorted(equal.near_n_w("sst2", "accuracy", n_w, 0.02), key=lambda r: -r.value)
        for a, b in combinations(there, 2):
            first.add(equal.compare(a, b))
            pairs.append((n_w, a, b))
    clear = [pairs[i] for i in first.significant(1)]
    compared = [row for _, *pair in clear or pairs for row in pair]
    every, numbers, absent = ClaimEvidence(), [], []
    for judge, tally in by_judge.items():
        tallies = []
        for n_w, a, b in clear:
            comparison = equal.compare(equal.at_same_point(a, judge), equal.at_same_point(b, judge))
            if comparison is not None:
                tallies.append((n_w, a, b))
                tally.add(comparison)
                every.add(comparison)
        if not tally.n:
            absent.append(measure(judge).title)
            continue
        numbers.append(tally.sentence(measure(judge).title))
        names = labels([r for _, *pair in tallies for r in pair])
        turned = [
            f"{names[b.setting.key()]} over {names[a.setting.key()]} at N_w {n_w:g}"
            for n_w, a, b in map(tallies.__getitem__, tally.significant(-1))
        ]
        if turned:
            more = f", and {len(turned) - 4} more" if len(turned) > 4 else ""
            numbers.append(f"Significantly reversed by {measure(judge).title}: {'; '.join(turned[:4])}{more}.")
    if pairs and not clear:
        sentence = f"The first classifier distinguishes none of {len(pairs)} pairs, so no other judge can reverse one."
        return ClaimOutcome(INCONCLUSIVE, "", (sentence,), rows=(*compared, *equal.at_same_points(compared, "n_w")))
    numbers.insert(0, f"The first classifier distinguishes {len(clear)} of {len(pairs)} pairs.")
    if absent:
        numbers.append(f"Not measured there: {', '.join(absent)}.")
    return ClaimOutcome(
        conjunction(*(tally.verdict for tally in by_judge.values())),
        f"{every.yes} of {every.n} comparisons significantly agree, {every.no} are significantly reversed",
        tuple(numbers),
        rows=(*compared, *equal.at_same_points(compared, "n_w", *OTHERS)),
    )


@claim()
def meaning_at_half_certainty(runs: Runs) -> ClaimOutcome:
    rows, name, metric = leaderboard.at_equal_belief(), "dp-mlm", "cosine"
    each: dict[str, ClaimEvidence] = {}
    numbers, used, at_level = [], [], []
    for data in rows.data_sets():
        points = leaderboard.points_at_belief(rows, data, metric)
        own = points.pop(name, None)
        others = {m: p for m, p in points.items() if m in WORDS}
        if own is None or not others:
            continue
        for (word, other), versus in zip(others.items(), versus_first([own, *others.values()]), strict=True):
            half = NORMAL * versus.error
            texts = min(own.score.n or 0, other.score.n or 0)
            comparison = Difference(versus.difference, half, None, LEAST[metric], metric, texts)
            each.setdefault(word, ClaimEvidence()).add(comparison)
        ranked = sorted({name: own, **others}.items(), key=lambda item: -item[1].score.value)
        listed = ", ".join(f"{title(m)} {p.score.value:.2f} ± {p.half or 0.0:.2f}" for m, p in ranked)
        outside = belief.outside(belief.bundled(), data)
        numbers.append(f"Cosine on {in_sentence(data)} at a certainty of 50%: {listed}. {outside}".strip())
        used += [row for row in rows.of(data, metric).values() if row.mechanism in (name, *others)]
        used += rows.of(data, belief.METRIC).values()
        at_level += [_level_record(m, data, metric, point) for m, point in ranked]
    return ClaimOutcome(
        conjunction(*(tally.verdict for tally in each.values())) if each else MISSING,
        ClaimEvidence.join(each.values()).effect,
        (*(tally.sentence(f"Cosine, DP-MLM minus {title(word)}") for word, tally in each.items()), *numbers),
        rows=tuple(used),
        records=tuple(at_level),
    )


def _level_record(mechanism: str, data: str, metric: str, point: LevelPoint) -> dict[str, Any]:
    """Return a mechanism's score at the level, for the rows of a claim."""
    half = point.half or 0.0
    return {
        "mechanism": mechanism,
        "options": f"at a certainty of {belief.LEVEL:.0%}",
        "ε": point.score.epsilon,
        "data": data,
        "metric": metric,
        "value": point.score.value,
        "low": point.score.value - half,
        "high": point.score.value + half,
        "n": point.score.n,
    }


@claim()
def at_equal_privacy(runs: Runs) -> ClaimOutcome:
    equal = bundled_runs("equal", POLICY)
    tally, cosine, numbers, rows, names_of = ClaimEvidence(), ClaimEvidence(), [], [], []
    for n_w in (0.1, 0.3, 0.5):
        there = equal.near_n_w("sst2", "accuracy", n_w, 0.02)
        near, wide = ([r for r in there if r.mechanism in kind] for kind in (NEAR, WIDE))
        names = labels(there)
        for a in near:
            for b in wide:
                tally.add(equal.compare(a, b))
                names_of.append(f"{names[b.setting.key()]} beats {names[a.setting.key()]} at N_w {n_w:g}")
                cosine.add(equal.compare(equal.at_same_point(a, "cosine"), equal.at_same_point(b, "cosine")))
        rows += [*near, *wide]
        close = [c for r in there if (c := equal.at_same_point(r, "cosine")) is not None]
        for metric, found_there in (("Cosine", close), ("Accuracy", there)):
            ranked = sorted(found_there, key=lambda r: -r.value)
            listed = ", ".join(f"{names[r.setting.key()]} {value_text(r)}" for r in ranked)
            if listed:
                numbers.append(f"{metric} on SST-2 at N_w {n_w:g}: {listed}.")
    rows += equal.at_same_points(rows, "n_w", "cosine")
    return ClaimOutcome(
        tally.verdict,
        tally.effect,
        (
            tally.sentence("Accuracy, few or contextual candidates minus the whole space"),
            *(
                [f"Against it: {'; '.join(names_of[i] for i in against)}."]
                if (against := tally.significant(-1))
                else []
            ),
            cosine.sentence("Cosine (the encoder is also the classifier's input and a word space)"),
            *numbers,
        ),
        rows=tuple(rows),
    )
