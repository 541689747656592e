"""Sampled tokens of the token view: candidates, probabilities, and the ε at which another candidate wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dptext_core.errors import InputError
from dptext_core.mechanisms.config import cased
from dptext_core.privacy.distribution import Channel, ScoreTable
from dptext_core.result import RewriteResult
from dptext_core.support.cache import weak_cache

from .token_payload import DrawnToken, Flips, GridToken, PlacedToken, ScoredToken

N_GRID = 40
#: The number of candidates of a score table: all that are shown at once, as their order is the same at every ε.
N_CANDIDATES = 9
#: For other channels, or one with a proposal: the number of points of ε, of candidates, and of candidates in a text
#: with more than LONG_TEXT sampled words.
N_CHANNEL_GRID = 40
N_CHANNEL_CANDIDATES = 20
N_CHANNEL_CANDIDATES_LONG = 12
LONG_TEXT = 200
#: ln p of an impossible output: JSON has no −inf.
FLOOR = -1e4


def drawn_at_one_epsilon(
    placed: PlacedToken, result: RewriteResult, k: int, low: float, shown_at: float
) -> ScoredToken:
    """Return a sampled unit at ``shown_at`` alone: there ε·s is log p, and ln Z is 0."""
    word, d = result.units[k].text, result.distribution(k)
    known = result.candidate(k)
    at = d.index(word) if known is None else np.array([known])
    if not len(at):  # parts of words may be written without their leading space
        at = np.flatnonzero([c.strip().casefold() == word.strip().casefold() for c in d.candidates])
    if not len(at):
        raise InputError(
            f"Token {k} of this rewrite is not a candidate of its stated distribution, so its probabilities cannot be "
            "shown. Report this to the authors of the mechanism."
        )
    exact = [i for i in at if d.candidates[i] == word]
    if known is not None:
        placed = {**placed, "t": word}
    table = ScoreTable(d.candidates, np.maximum(d.log_probs, -1e5) / shown_at, d.source)
    token = drawn_from_scores(placed, result, k, table, [(low, int((exact or list(at))[0]))], [0.0] * N_GRID)
    if d.draws is not None:
        token["draws"] = int(d.draws)
    return token


@weak_cache(2)
def log_z(table: ScoreTable, low: float, high: float) -> list[float]:
    return [round(float(x), 6) for x in table.log_z(np.geomspace(low, high, N_GRID))]


@weak_cache(1)
def likeliest(table: ScoreTable) -> np.ndarray:
    """Return the candidates with the highest scores, highest first."""
    scores = table.scores
    n = min(N_CANDIDATES, int(np.isfinite(scores).sum()))
    best = np.argpartition(-scores, n - 1)[:n]
    return best[np.argsort(-scores[best], kind="stable")]


def drawn_from_scores(
    placed: PlacedToken, result: RewriteResult, k: int, table: ScoreTable, flips: Flips, z: list[float]
) -> ScoredToken:
    """Return a sampled unit whose channel is a score table without a proposal."""
    scores = table.scores
    chosen = _choose(likeliest(table), table, flips)
    ranks = len(scores) - np.searchsorted(table.ascending, scores[chosen], side="right") + 1
    return {
        **_drawn_token(placed, result, k, table, chosen, flips),
        "s": [round(float(scores[i]), 8) if np.isfinite(scores[i]) else FLOOR for i in chosen],
        "rank": [int(r) for r in ranks],
        "z": z,
    }


def drawn_from_channel(
    placed: Sequence[PlacedToken],
    result: RewriteResult,
    channel: Channel,
    found: dict[int, Flips],
    n: int,
    low: float,
    high: float,
) -> Iterator[tuple[int, GridToken]]:
    """Return the sampled units of one channel, with the flips of each. The channel computes its probabilities once."""
    best = channel.shown(n, low, high)
    everywhere = set(_choose(best, channel, []))
    asked = np.array(_choose(best, channel, [f for flips in found.values() for f in flips]), np.int64)
    curves = dict(zip(asked.tolist(), channel.log_p(np.geomspace(low, high, N_CHANNEL_GRID), asked), strict=True))
    for k, flips in found.items():
        chosen = _choose(best, channel, flips)
        ends = [e for e, _ in flips[1:]] + [high]
        span = {i: (0, N_CHANNEL_GRID) for i in everywhere}
        for (start, i), stop in zip(flips, ends, strict=True):
            if i not in everywhere:
                # Two points before and three after: what interpolation with six points reads.
                a, b = (int(np.log(e / low) / np.log(high / low) * (N_CHANNEL_GRID - 1)) for e in (start, stop))
                old = span.get(i, (N_CHANNEL_GRID, 0))
                span[i] = (
                    min(old[0], max(0, min(a - 2, N_CHANNEL_GRID - 6))),
                    max(old[1], min(N_CHANNEL_GRID, max(b + 4, 6))),
                )
        token: GridToken = {
            **_drawn_token(placed[k], result, k, channel, chosen, flips),
            "lp": [rounded_log(curves[i][slice(*span[i])]) for i in chosen],
            "off": [span[i][0] for i in chosen],
        }
        if channel.draws is not None:
            token["draws"] = int(channel.draws)
        if channel.bends:
            token["bent"] = chosen
        yield k, token


def _choose(best: np.ndarray, channel: Channel, flips: Flips) -> list[int]:
    """Return the best candidates, then those that are released at some ε, and the original word if it is not among
    them.
    """
    return list(dict.fromkeys([*best.tolist(), *(int(w) for _, w in flips), *channel.source_index[:1].tolist()]))


def _drawn_token(
    placed: PlacedToken, result: RewriteResult, k: int, channel: Channel, chosen: list[int], flips: Flips
) -> DrawnToken:
    place = {i: j for j, i in enumerate(chosen)}
    source = channel.source_index
    return {
        **placed,
        "cap": int(result.units[k].capital),
        "c": [display_case(channel.candidates[i], result) for i in chosen],
        "src": place[int(source[0])] if len(source) else -1,
        "flips": [[float(f"{e:.7g}"), place[int(w)]] for e, w in flips],
        "total": len(channel.candidates),
    }


def rounded_log(log_p: np.ndarray) -> list[float]:
    """Return ln p rounded to the visible digits: p within 2e-4, and within a relative 5e-4 if it is above 1e-5."""
    x = np.maximum(log_p, FLOOR)
    digits = np.select([x > -1, x > -12, x > -30], [np.round(x, 4), np.round(x, 3), np.round(x, 1)], np.round(x))
    return [int(v) if v.is_integer() else v for v in digits.tolist()]


def display_case(word: str, result: RewriteResult) -> str:
    """Return a candidate in the form that the rewrite writes."""
    return cased(result.config, result.language, word, False)
