"""The distribution of every word of a rewrite as one file, to repeat calculations.

The most likely candidates reveal the original word after any draw, so these files are as private as an
inspection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypedDict

from dptext_core.result import RewriteResult
from dptext_core.text.cells import to_csv

from .inspection import PRIVATE

#: The number of candidates of one word; the others are summed.
LIKELIEST = 100
OTHERS = "(all others)"


class CandidateTable(TypedDict):
    """The probabilities of one word or token.

    index: of the unit, from 0. token: the original word, or the token if the mechanism does not replace word by word.
    epsilon: of its draw. candidates: [word, probability], most likely first. others: the number of the other
    candidates, and their total probability. draws: the number of draws behind an estimate.
    """

    index: int
    token: str
    released: str
    epsilon: float
    candidates: list[tuple[str, float]]
    others: tuple[int, float]
    draws: int | None


def candidate_table(result: RewriteResult, most: int = LIKELIEST) -> Iterator[CandidateTable]:
    """Return the distribution of each sampled unit. Raise NoDistribution if the mechanism has none."""
    for k, d in result.distributions():
        unit, top = result.units[k], d.top(most)
        yield {
            "index": k,
            "token": unit.original or unit.text,
            "released": unit.text,
            "epsilon": unit.epsilon,
            "candidates": [(word, float(p)) for word, p in top],
            "others": (len(d) - len(top), max(0.0, 1.0 - float(sum(p for _, p in top)))),
            "draws": d.draws,
        }


def chances_json(result: RewriteResult, most: int = LIKELIEST) -> str:
    """Return the candidates as JSON, with the setting."""
    about = {
        "kind": "inspection",
        "private": PRIVATE,
        "mechanism": result.mechanism,
        "words": [*candidate_table(result, most)],
    }
    return json.dumps(about, ensure_ascii=False, indent=1) + "\n"


def chances_csv(result: RewriteResult, most: int = LIKELIEST) -> str:
    """Return the candidates as CSV: index, token, candidate, probability, epsilon. The last row of a token is the sum
    of all its other candidates.
    """
    names = ("index", "token", "candidate", "probability", "epsilon")
    rows: list[tuple] = []
    for one in candidate_table(result, most):
        both = [*one["candidates"], *[(OTHERS, one["others"][1])] * bool(one["others"][0])]
        rows += [(one["index"], one["token"], word, p, one["epsilon"]) for word, p in both]
    return to_csv([dict(zip(names, row, strict=True)) for row in rows], names)
