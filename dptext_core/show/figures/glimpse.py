"""One rewrite that can be dragged over ε, as little data as that takes: where each word flips, and nothing of chances.

``pages/ui/glimpse.js`` reads it. It holds the original words: for texts that everybody may read.
"""

from __future__ import annotations

from typing import TypedDict

from ...errors import InputError
from ...result import RewriteResult


class GlimpseToken(TypedDict):
    """pre: the text before it. o: the original word. flips: [ε, word], ascending: from that ε on this word stands
    there; empty for a word that is not drawn."""

    pre: str
    o: str
    flips: list[tuple[float, str]]


class Glimpse(TypedDict):
    """lo, hi: the ends of the axis; eps: where it begins. drawn: how many tokens are. tail: the text behind them."""

    lo: float
    hi: float
    eps: float
    drawn: int
    tokens: list[GlimpseToken]
    tail: str


def glimpse(result: RewriteResult, low: float, high: float) -> Glimpse:
    """The data of a rewrite whose words answer to those of the original, at every ε from ``low`` to ``high``.

    Raises InputError for any other.
    """
    if not {"sweep", "alignment"} <= result.can:
        raise InputError("Only a rewrite word by word, which needs no new pass at another ε, can be dragged.")
    tokens: list[GlimpseToken] = []
    end = 0
    for i, step in enumerate(result.steps):
        if step.action not in ("keep", "replace"):
            continue
        before = result.text[end : step.out[0]]
        end = step.out[1]
        flips: list[tuple[float, str]] = []
        if step.action == "replace":
            channel, stream = result.locked(i)
            for epsilon, k in channel.flips(stream, low, high):
                word = channel.candidates[k]
                flips.append((float(f"{epsilon:.4g}"), word[:1].upper() + word[1:] if step.capital else word))
        tokens.append({"pre": before, "o": step.original, "flips": flips})
    epsilon = result.config.epsilon
    return {
        "lo": float(low), "hi": float(high), "eps": float(epsilon), "drawn": sum(bool(t["flips"]) for t in tokens),
        "tokens": tokens, "tail": result.text[end:],
    }  # fmt: skip
