"""Claims of DP-Rewrite (Igamberdiev, Arnold, Habernal: COLING 2022): its case study of ADePT, reproduced here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..results import case_study
from ..results.differences import Difference
from .base import ClaimOutcome, claim
from .evidence import CONTRADICTED, INCONCLUSIVE, REPLICATED, ClaimEvidence, conjunction
from .runs import Runs, paper_values

PAPER = "DP-Rewrite"
SETS = {"snips": "Snips", "atis": "ATIS"}
#: Student's t, 97.5%, of five seeds.
_T = 2.776


def _rows() -> list[Mapping[str, Any]]:
    return case_study.bundled().get("rows", [])


def _level(epsilon: float | None) -> str:
    return "∞" if epsilon is None else f"{epsilon:g}"


def _floor_contradicts() -> str:
    floor = next(x for x, r in paper_values(PAPER, "Table 1", "atis", "baseline", "macro_f1", guess="majority"))
    least = min(x for x, r in paper_values(PAPER, "Table 1", "atis", "adept", "macro_f1"))
    return (
        f"Table 1 has macro F1 {least:.2f} for ATIS at ε 1, although the text calls the performance very low. The "
        f"majority class is printed as {floor:.2f}. A text of pure noise cannot exceed it."
    )


@claim()
def memorises(runs: Runs) -> ClaimOutcome | None:
    rows = [r for r in _rows() if r.get("pretrained") and "nearest" in r]
    across = [r for r in rows if r["pretrained"] != r["data"] and (r["epsilon"] is None or r["epsilon"] >= 1000)]
    if not across:
        return None
    shown = [
        f"{SETS[r['data']]} by the model of {SETS[r['pretrained']]}, ε {_level(r['epsilon'])}: {r['nearest']:.2f} "
        f"and {r['own']:.2f}, word for word {100 * r['verbatim']:.1f}%"
        for r in across
    ]
    same = [
        f"{SETS[r['data']]} {r['nearest']:.2f}, word for word {100 * r['verbatim']:.0f}%"
        for r in rows
        if r["pretrained"] == r["data"] and r["epsilon"] is None
    ]
    nearer = sum(r["nearest"] > r["own"] for r in across)
    most = max(r["verbatim"] for r in across)
    sentence = REPLICATED if nearer == len(across) else INCONCLUSIVE if nearer else CONTRADICTED
    gaps = sorted(r["nearest"] - r["own"] for r in across)
    return ClaimOutcome(
        conjunction(sentence, REPLICATED if most > 0.01 else CONTRADICTED),
        f"nearer to a training text in {nearer} of {len(across)} settings, by {gaps[0]:+.2f} to {gaps[-1]:+.2f}; "
        f"word for word {100 * most:.1f}% at most",
        (
            f"Words in common with the nearest training text, and with the original: {'; '.join(shown)}.",
            *([f"By the model of the same set, without noise: {'; '.join(same)}."] if same else []),
        ),
        records=tuple(
            {
                "data": SETS[r["data"]],
                "model of": SETS[r["pretrained"]],
                "ε": _level(r["epsilon"]),
                "overlap with nearest training text": r["nearest"],
                "overlap with original": r["own"],
                "word for word": r["verbatim"],
            }
            for r in rows
        ),
    )


@claim(itself=_floor_contradicts)
def inflated(runs: Runs) -> ClaimOutcome:
    at = {(r["data"], r["pretrained"], r["epsilon"]): r for r in _rows() if r.get("pretrained")}
    each: dict[str, ClaimEvidence] = {}
    shown: list[str] = []
    printed: dict[tuple[str, Any, float | None], float] = {}
    for data, other in (("snips", "atis"), ("atis", "snips")):
        each[data] = ClaimEvidence()
        for epsilon in (None, 1000.0):
            a, b = at.get((data, data, epsilon)), at.get((data, other, epsilon))
            if a is None or b is None:
                continue
            wide = _T * math.hypot(*(r["macro_f1"]["deviation"] for r in (a, b))) / math.sqrt(a["seeds"])
            gap = a["macro_f1"]["mean"] - b["macro_f1"]["mean"]
            each[data].add(Difference(gap, wide, None, 0.05))
            theirs = {
                r.options["pretrained"]: x
                for x, r in paper_values(PAPER, "Table 1", data, "adept", "macro_f1")
                if r.epsilon == epsilon
            }
            printed |= {(data, pretrained, epsilon): x for pretrained, x in theirs.items()}
            shown.append(
                f"{SETS[data]}, ε {_level(epsilon)}: {a['macro_f1']['mean']:.2f} and {b['macro_f1']['mean']:.2f} (the "
                f"paper {theirs[data]:.2f} and {theirs[other]:.2f})"
            )
    together = ClaimEvidence.join(each.values())
    return ClaimOutcome(
        conjunction(*(t.verdict for t in each.values())),
        together.effect,
        (
            f"Macro F1, own and other model: {'; '.join(shown)}.",
            *(t.sentence(f"{SETS[data]}, own minus other model") for data, t in each.items()),
        ),
        records=tuple(
            {
                "data": SETS[data],
                "model of": SETS[pretrained],
                "ε": _level(epsilon),
                "macro F1": r["macro_f1"]["mean"],
                "the paper's": printed.get((data, pretrained, epsilon)),
                "standard deviation": r["macro_f1"]["deviation"],
                "seeds": r["seeds"],
            }
            for (data, pretrained, epsilon), r in at.items()
        ),
    )
