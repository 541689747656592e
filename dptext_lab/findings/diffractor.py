"""Claims of 1-Diffractor (Meisenbacher, Chevli, Matthes: IWSPA 2024) about its lists, noise and range of ε."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dptext_core.mechanisms.words.diffractor import NOISES

from ..results.conditions import PAPER_POLICY
from ..results.curves import title
from ..results.deniability import DeniabilityCurve, MeasuredCurve
from ..results.deniability import bundled_curves as measured_deniability
from ..results.differences import Difference, half, value_text
from ..results.equal_privacy import CHOICES, SINGLE, VOCABULARY, bundled_crossings
from ..results.rows import Row
from .base import METRIC_DP, ClaimOutcome, claim
from .evidence import CONTRADICTED, REPLICATED, ClaimEvidence, conjunction, shared_verdict
from .runs import Runs, bundled_runs, paper_records, paper_values

PAPER = "1-Diffractor"
NAME = "diffractor"
GLOVE = "glove-840b"
GEOMETRIC, TEM = {"noise": "geometric"}, {"noise": "tem", "gamma": None}
LISTS = "bench equal-privacy lists --data DIR --stopwords FILE --out FILE --summary assets/benchmarks/lists.json"


def single_list_runs() -> Runs:
    """Return the runs with the single list of each space, and N_w and S_w of all choices of lists in closed form."""
    return bundled_runs("lists")


def _match_lists(tally: ClaimEvidence, runs: Runs, data: str, metric: str, noise: dict, more: str, less: str) -> None:
    """Compare rows of two choices of lists at the same ε."""
    tally.match(runs, (data, metric, NAME), {**noise, "lists": (more,)}, {"lists": (less,)})


def _of_lists(runs: Runs, metric: str, epsilon: float | None, names: Sequence[tuple[str, ...]]) -> list[Row]:
    """Return the rows of these lists on SST-2, or [] if one is missing."""
    rows = [runs.one("sst2", metric, NAME, epsilon, **GEOMETRIC, lists=name) for name in names]
    present = [row for row in rows if row is not None]
    return present if len(present) == len(names) else []


def _mean(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the mean of several lists' rows and half of its interval."""
    # The lists share test texts, so the part of the interval from texts does not shrink with more lists.
    return float(np.mean([r.value for r in rows])), float(np.mean([half(r) for r in rows]))


#: Below this ε, TEM has SanText's distribution.
SANTEXT_UP_TO = 21.6


@claim()
def one_list_is_best(runs: Runs) -> ClaimOutcome | None:
    utility, hidden, unchanged = ClaimEvidence(), ClaimEvidence(), ClaimEvidence()
    lists = single_list_runs()
    for other in ("L0", "L1"):
        for noise in NOISES:
            _match_lists(utility, runs, "sst2", "accuracy", noise, "L2", other)
        for noise in (GEOMETRIC, TEM):
            _match_lists(hidden, lists, VOCABULARY, "s_w", noise, other, "L2")
            _match_lists(unchanged, lists, VOCABULARY, "n_w", noise, "L2", other)
    numbers = [utility.sentence("Accuracy with L2 minus L0 and L1")] if utility.n else []
    if hidden.n:
        numbers += [
            hidden.sentence("S_w with L0 and L1 minus L2"),
            unchanged.sentence("N_w with L2 minus L0 and L1"),
        ]
    if utility.n == 0 and hidden.n == 0:
        return None
    rows = [*utility.rows, *hidden.rows, *unchanged.rows]
    for metric in ("accuracy", "cosine"):
        for first in lists.find("sst2", metric, NAME, **GEOMETRIC, lists=SINGLE[0]):
            each, whole = (_of_lists(lists, metric, first.epsilon, names) for names in (SINGLE, [("L0",)]))
            if each and whole:
                (single, wide), (together, width) = _mean(each), _mean(whole)
                shown = ", ".join(f"{r.value:.2f}" for r in each)
                numbers.append(
                    f"{metric.capitalize()} at ε {first.epsilon:g} with the single list of each space: {shown}. Their "
                    f"mean: {single:.3f} ± {wide:.3f}. All lists together (L0): {together:.3f} ± {width:.3f}."
                )
                rows += [*each, *whole]
    return ClaimOutcome(
        verdict=conjunction(utility.verdict, hidden.verdict),
        effect=utility.effect,
        numbers=tuple(numbers),
        rows=tuple(rows),
        missing="" if utility.n and hidden.n else LISTS,
    )


@claim()
def more_lists(runs: Runs) -> ClaimOutcome:
    lists, more, stays = single_list_runs(), ClaimEvidence(), ClaimEvidence()
    for noise in (GEOMETRIC, TEM):
        _match_lists(more, lists, VOCABULARY, "s_w", noise, "L1", "L0")
        _match_lists(stays, lists, VOCABULARY, "n_w", noise, "L0", "L1")
    few = [r for r in more.rows if r.options.get("noise") == "geometric" and (r.epsilon or 0) <= 1]
    shown = ", ".join(
        f"ε {b.epsilon:g}: {value_text(b)} and {value_text(a)}" for a, b in zip(few[::2], few[1::2], strict=True)
    )
    return ClaimOutcome(
        CONTRADICTED if stays.no else more.verdict,
        more.effect,
        (
            more.sentence("S_w with L1 minus L0, geometric and TEM noise"),
            f"Geometric noise, L0 and L1: {shown}.",
            stays.sentence("N_w with L0 minus L1"),
        ),
        rows=(*more.rows, *stays.rows),
    )


@claim()
def noises_differ(runs: Runs) -> ClaimOutcome:
    lists, unchanged, different, shown = single_list_runs(), ClaimEvidence(), ClaimEvidence(), []
    for choice in CHOICES[:3]:
        for row in lists.find(VOCABULARY, "n_w", NAME, **GEOMETRIC, lists=choice):
            other = lists.one(VOCABULARY, "n_w", NAME, row.epsilon, **TEM, lists=choice)
            a, b = lists.at_same_point(row, "s_w"), other and lists.at_same_point(other, "s_w")
            if other is None or a is None or b is None:
                continue
            unchanged.pair(lists, row, other)
            different.pair(lists, b, a)
            if choice == ("L2",):
                shown.append(f"ε {row.epsilon:g}: {100 * row.value:.1f}% / {100 * other.value:.1f}%")
    return ClaimOutcome(
        conjunction(unchanged.verdict, different.verdict),
        unchanged.effect,
        (
            unchanged.sentence("N_w, geometric minus TEM"),
            f"N_w on L2, geometric / TEM: {', '.join(shown)}.",
            different.sentence("S_w, TEM minus geometric"),
        ),
        rows=(*unchanged.rows, *different.rows),
    )


def _changed(paper: str, table: str, mechanism: str) -> float:
    """Return a share of changed words from the paper's prose."""
    return next(x for x, row in paper_values(paper, table, VOCABULARY, mechanism, "changed"))


@claim()
def sixty_percent(runs: Runs) -> ClaimOutcome | None:
    rows: list[Row] = []
    theirs = _changed(PAPER, "Section 7, prose", NAME)
    each = {
        "geometric": ClaimEvidence(same=True),
        "TEM": ClaimEvidence(same=True),
        "their mean": ClaimEvidence(same=True),
    }
    shown: dict[str, list[str]] = {name: [] for name in each}

    def add(name: str, choice: str, changed: float, wide: float) -> None:
        each[name].add(Difference(changed - theirs, wide, None, 0.05, "n_w"))
        shown[name].append(f"{choice} {100 * changed:.1f}%")

    for (choice,) in CHOICES[:3]:
        both_noises = [runs.one("sst2", "n_w", NAME, 1.0, **noise, lists=(choice,)) for noise in (GEOMETRIC, TEM)]
        for name, row in zip(each, both_noises, strict=False):
            if row is not None:
                add(name, choice, 1 - row.value, half(row))
                rows.append(row)
        if (known := [row for row in both_noises if row is not None]) == both_noises:
            add("their mean", choice, 1 - sum(r.value for r in known) / 2, sum(map(half, known)) / 2)
    if not rows:
        return None
    return ClaimOutcome(
        shared_verdict(each["geometric"], each["TEM"]),
        "; ".join(f"{name} {tally.effect}" for name, tally in each.items() if tally.n),
        (
            *(f"Words that change at ε 1, {name}: {', '.join(x)}." for name, x in shown.items() if x),
            *(tally.sentence(f"Difference from the paper's 60%, {name}") for name, tally in each.items() if tally.n),
        ),
        rows=tuple(rows),
        records=paper_records(PAPER, "Section 7, prose", VOCABULARY, NAME, "changed"),
    )


@claim()
def mahalanobis_changes(runs: Runs) -> ClaimOutcome | None:
    theirs = _changed(PAPER, "Section 7, N_w@10", "mahalanobis")
    sentence, figure = ClaimEvidence(), ClaimEvidence(same=True)
    spaces, others, records = [], [], []
    curves = measured_deniability()
    our_curves = [
        of
        for of in curves
        if of.mechanism == NAME and of.options["lists"] == ("L2",) and of.options.get("gamma") is None
    ]
    ours = {of.options["noise"]: _changes(of.curve, 1.0) for of in our_curves}
    for of in curves:
        name, options = of.mechanism, of.options
        if name not in METRIC_DP or "space" not in options:
            continue
        changed, wide, known = _changes(of.curve, 10.0)
        at = f"{'' if known else 'at least '}{100 * changed:.0f}%"
        records.append(_changes_record(of, 10.0))
        if name == "mahalanobis":
            spaces.append(f"{options['space']} {at}")
        if options["space"] != GLOVE:
            continue
        others.append(f"{title(name)} {at}")
        if name == "mahalanobis":
            figure.add(Difference(changed - theirs, wide, None, 0.05, "n_w"))
            for share, width, _ in ours.values():
                sentence.add(Difference(changed - share, math.hypot(wide, width), None, 0.01, "n_w"))
    if not figure.n or not sentence.n:
        return None
    low_noise = [f"{noise} {100 * share:.0f}%" for noise, (share, _, _) in ours.items()]
    return ClaimOutcome(
        conjunction(sentence.verdict, figure.verdict),
        f"the sentence {sentence.effect}; the parenthesis {figure.effect}",
        (
            f"Words that change at ε 1 with 1-Diffractor: {', '.join(low_noise)}.",
            f"Words that change at ε 10 under Mahalanobis noise by word space: {', '.join(spaces)}.",
            f"Words that change at ε 10 on GloVe 840B by mechanism: {', '.join(others)}.",
            sentence.sentence("Mahalanobis noise at ε 10 on GloVe 840B, minus 1-Diffractor at ε 1"),
            figure.sentence("Mahalanobis noise on GloVe 840B, minus the paper's 92%"),
        ),
        records=(
            *(_changes_record(of, 1.0) for of in our_curves),
            *records,
            {"mechanism": title("mahalanobis"), "options": "the paper", "ε": 10.0, "words that change": theirs},
        ),
    )


def _changes_record(of: MeasuredCurve, epsilon: float) -> dict[str, Any]:
    """Return the share of words that change at this ε, for the table of a claim."""
    changed, wide, known = _changes(of.curve, epsilon)
    return {
        "mechanism": title(of.mechanism),
        "options": of.setting.described(),
        "ε": epsilon,
        "words that change": changed,
        "half of 95% CI": wide,
        "lower bound": not known,
    }


def _changes(curve: DeniabilityCurve, epsilon: float) -> tuple[float, float, bool]:
    """Return the share of words that change at this ε, half of its 95% interval, and whether the curve reaches this ε.
    If the curve begins at a larger ε, the share is a lower bound: N_w has risen at most 2% of its range there."""
    places = np.arange(len(curve.epsilons))
    at = float(np.interp(math.log(epsilon), np.log(curve.epsilons), places))
    n_w, low, high = (float(np.interp(at, places, x)) for x in (curve.n_w, *curve.n_w_interval.T))
    return 1 - n_w, (high - low) / 2, bool(curve.epsilons[0] <= epsilon)


def _reason_of_range(low: float, high: float) -> str:
    """Explain how the measured range of geometric noise differs from its closed form."""
    first, last = (2 * math.atanh(n_w) for n_w in (0.1, 0.8))
    return (
        f"For a word on the list, N_w of geometric noise is tanh(ε/2). Its range is 2·artanh 0.1 = {first:.4g} to "
        f"2·artanh 0.8 = {last:.4g} (factor {last / first:.1f}). Here unknown words are replaced at random and almost "
        f"never by themselves, so the range is {low:.4g} to {high:.4g} (factor {high / low:.1f}). The width is small "
        "because the unit is one step on a list. The ratio does not depend on the unit."
    )


@claim()
def tight_range(runs: Runs) -> ClaimOutcome | None:
    ends: dict[str, dict[float, float | None]] = {}
    exact, names = set(), {}
    for c in bundled_crossings():
        # Words in clear alone would keep N_w above 0.1.
        if c.setting.full().get("oov") == PAPER_POLICY or c.options.get("noise") == "tem":
            continue
        mechanism = c.mechanism
        if mechanism == "santext" and (c.epsilon or 0.0) < SANTEXT_UP_TO:
            mechanism = "tem"
        if mechanism not in (NAME, *METRIC_DP):
            continue
        ends.setdefault(mechanism, {})[c.n_w] = c.epsilon
        names[mechanism] = title(mechanism)
        if c.exact:
            exact.add(mechanism)
    both_ends = {m: (e.get(0.1), e.get(0.8)) for m, e in ends.items()}
    widths = {m: (low, high) for m, (low, high) in both_ends.items() if low is not None and high is not None}
    if NAME not in widths or len(widths) < 2:
        return None
    span = {m: high - low for m, (low, high) in widths.items()}
    ratio = {m: high / low for m, (low, high) in widths.items()}
    others = [m for m in widths if m != NAME]
    narrow = REPLICATED if all(1.2 * span[NAME] < span[m] for m in others) else CONTRADICTED
    factor = REPLICATED if all(1.2 * ratio[NAME] < ratio[m] for m in others) else CONTRADICTED
    outside = [names[m] for m in ends if m not in widths]
    listed = "; ".join(
        f"{names[m]} {low:.4g} and {high:.4g} (factor {high / low:.1f}{'' if m in exact else ', from draws'})"
        for m, (low, high) in widths.items()
    )
    return ClaimOutcome(
        conjunction(narrow, factor),
        f"width in ε {span[NAME]:.2g} (others at least {min(span[m] for m in others):.2g}), factor {ratio[NAME]:.1f} "
        f"(others at least {min(ratio[m] for m in others):.1f})",
        (
            f"N_w rises from 0.1 to 0.8 between these ε: {listed}."
            + (f" Not both reached: {', '.join(outside)}." if outside else ""),
        ),
        _reason_of_range(*widths[NAME]),
        records=tuple(
            {"mechanism": names[m], "N_w": n_w, "ε": epsilon, "closed form": m in exact}
            for m, by_n_w in ends.items()
            for n_w, epsilon in sorted(by_n_w.items())
        ),
    )
