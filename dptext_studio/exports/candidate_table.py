"""What every word of a rewrite was drawn from, as one file: for whoever wants to work it out again.

The likeliest candidates tell which word stood there, whatever was drawn: these files are private like an inspection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypedDict

from dptext_core.result import RewriteResult
from dptext_core.text.cells import to_csv

from .inspection import PRIVATE

#: Candidates of one word; the rest is added up.
LIKELIEST = 100
OTHERS = "(all others)"


class CandidateTable(TypedDict):
    """The chances of one word or piece. index: of the unit, from 0. token: the original word, or the piece where
    nothing answers to words. epsilon: that it was drawn with. candidates: [word, probability], the likeliest first.
    others: how many more there are, and the probability of all of them. draws: where it is estimated, from how many.
    """

    index: int
    token: str
    released: str
    epsilon: float
    candidates: list[tuple[str, float]]
    others: tuple[int, float]
    draws: int | None


def candidate_table(result: RewriteResult, most: int = LIKELIEST) -> Iterator[CandidateTable]:
    """Return what each unit that was drawn was drawn from. Raise NoDistribution where the mechanism has none."""
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
    """Return the candidates as CSV: index, token, candidate, probability, epsilon; the last row of a token is all
    its other candidates."""
    names = ("index", "token", "candidate", "probability", "epsilon")
    rows: list[tuple] = []
    for one in candidate_table(result, most):
        both = [*one["candidates"], *[(OTHERS, one["others"][1])] * bool(one["others"][0])]
        rows += [(one["index"], one["token"], word, p, one["epsilon"]) for word, p in both]
    return to_csv([dict(zip(names, row, strict=True)) for row in rows], names)
