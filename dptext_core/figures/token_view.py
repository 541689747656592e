"""What the browser needs to show one rewrite at every ε by itself.

For each drawn token: the candidates worth showing, with their scores and ln Z on a grid of ε (a score table) or with
their log-probabilities on a grid of ε (any other law), and the points where the released word flips under the locked
noise. It holds the original words and the winners of the noise: it is for the author's screen, never for a release.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..distribution import Law, ScoreTable
from ..mechanisms.base import check_cancel
from ..result import RewriteResult
from ..skeleton import sentence_case

N_GRID = 60
N_CANDIDATES = 30
#: Of a law that is no score table: points of ε, candidates, and candidates where more than LONG_TEXT words are drawn.
N_LAW_GRID = 40
N_LAW_CANDIDATES = 20
N_LAW_CANDIDATES_LONG = 12
LONG_TEXT = 200
#: ln p of what is impossible: JSON has no −inf.
FLOOR = -1e4

Flips = list[tuple[float, int]]


def payload(
    result: RewriteResult,
    *,
    run: int,
    low: float,
    high: float,
    default: float,
    cancel=None,
    progress=None,
) -> dict:
    """The rewrite as plain JSON for the token strip: numbers are plain, nothing is NaN.

    low, high: the ends of the ε axis. Where the mechanism needs a new pass for another ε, ``live`` is False and the
    figures hold at the ε of the result only. progress: called with the tokens that are done, and all of them.

    A token's action ``a`` is that of its step or piece, or "whole" for a drawn piece that has no chances of its own;
    ``o`` is the original word where there is one, else what stands there. Where nothing answers to the words that were
    read, ``aligned`` is False and ``original`` holds the text.

    A drawn token has candidates ``c``, the index ``src`` of the original among them (−1: none), ``flips``
    [[ε, index], …] ascending, ``total`` where it differs from the payload's ``total_candidates``, and ``draws`` = n
    where its chances are estimated from n draws. Of a score table: scores ``s``, ``rank``, and ``z``, ln Z at
    ``n_grid`` log-spaced ε. Of any other law: ``lp[j]``, ln p of candidate j at consecutive ones of ``lp_grid``
    log-spaced ε, beginning with point ``off[j]``. A word that is there only because it is released has the points
    around the ε at which it is, all others have all.
    """
    epsilon = result.config.epsilon
    shown_at = float(epsilon) if isinstance(epsilon, float) else float(default)
    live = result.live and isinstance(epsilon, float)
    grid = np.geomspace(low, high, N_GRID)
    tokens: list[dict] = []
    places: dict[str, list[int]] = {}  # of equal words, which may share one law
    end = 0
    aligned = "alignment" in result.can
    for k, unit in enumerate(result.units):
        check_cancel(cancel)
        chances = unit.drawn and "distribution" in result.can
        word = unit.original if aligned or chances else unit.text
        token: dict = {"pre": "", "o": word, "a": unit.action if chances or not unit.drawn else "whole"}
        token["why"] = unit.reason
        if unit.action != "delete":
            token["pre"] = result.text[end : unit.out[0]]
            end = unit.out[1]
        if chances:
            token["cap"] = int(unit.capital)
            places.setdefault(unit.original.casefold() if aligned else f"{k}", []).append(k)
        tokens.append(token)
    drawn = sum(map(len, places.values()))
    n = N_LAW_CANDIDATES if drawn <= LONG_TEXT else N_LAW_CANDIDATES_LONG
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if progress and more:
            progress(done, len(tokens))

    count(len(tokens) - drawn)
    for equal in places.values():
        laws: dict[int, tuple[Law, dict[int, Flips]]] = {}
        for k in equal:
            check_cancel(cancel)
            if not live:
                tokens[k] |= _of_one_epsilon(result, k, low, shown_at)
                count(1)
                continue
            law, dice = result.locked(k)
            flips = law.flips(dice, low, high)
            if isinstance(law, ScoreTable):
                tokens[k] |= _of_scores(result, law, flips, law.log_z(grid))
                count(1)
            else:
                laws.setdefault(id(law), (law, {}))[1][k] = flips
        for law, found in laws.values():
            check_cancel(cancel)
            for k, part in _of_law(result, law, found, n, low, high).items():
                tokens[k] |= part
            count(len(found))
    totals = [t["total"] for t in tokens if "total" in t]
    for token in tokens:
        if token.get("total") == max(totals, default=0):
            del token["total"]
    return {
        "run": run,
        "eps": shown_at,
        "lo": float(low),
        "hi": float(high),
        "n_grid": N_GRID,
        "lp_grid": N_LAW_GRID,
        "default_eps": float(default),
        "live": live,
        "seeded": result.seed is not None,
        "total_candidates": max(totals, default=0),
        "unit": _unit(result.config),
        "cap_rule": True,
        "aligned": aligned,
        **({} if aligned else {"original": result.original}),
        "tail": result.text[end:],
        "tokens": tokens,
    }


def _unit(config) -> str:
    """What one ε is spent on, as the mechanism's option says it."""
    for option in dataclasses.fields(config):
        if option.name == "epsilon":
            return option.metadata.get("unit") or "per word"
    return "per word"


def _of_one_epsilon(result: RewriteResult, k: int, low: float, shown_at: float) -> dict:
    """A drawn step at ``shown_at`` alone: there ε·s is log p, and ln Z is 0."""
    word, d = result.units[k].text, result.distribution(k)
    at = d.index(word)
    exact = [i for i in at if d.candidates[i] == word]
    table = ScoreTable(d.candidates, np.maximum(d.log_probs, -1e5) / shown_at, d.source)
    part = _of_scores(result, table, [(low, int((exact or list(at))[0]))], np.zeros(N_GRID))
    return part if d.draws is None else part | {"draws": int(d.draws)}


def _of_scores(result: RewriteResult, table: ScoreTable, flips: Flips, z: np.ndarray) -> dict:
    """A drawn step whose law is a score table."""
    scores = table.scores
    n = min(N_CANDIDATES, int(np.isfinite(scores).sum()))
    best = np.argpartition(-scores, n - 1)[:n]
    best = best[np.argsort(-scores[best], kind="stable")]
    chosen = _chosen(best, table, flips)
    descending = np.sort(scores)[::-1]
    ranks = np.searchsorted(-descending, -scores[chosen], side="left") + 1
    return _part(result, table, chosen, flips) | {
        "s": [round(float(scores[i]), 8) if np.isfinite(scores[i]) else FLOOR for i in chosen],
        "rank": [int(r) for r in ranks],
        "z": [round(float(x), 6) for x in z],
    }


def _of_law(
    result: RewriteResult, law: Law, found: dict[int, Flips], n: int, low: float, high: float
) -> dict[int, dict]:
    """The drawn steps of one law, with the flips of each: the law is asked for its probabilities once."""
    best = law.shown(n, low, high)
    everywhere = set(_chosen(best, law, []))
    asked = np.array(_chosen(best, law, [f for flips in found.values() for f in flips]), np.int64)
    curves = dict(zip(asked.tolist(), law.log_p(np.geomspace(low, high, N_LAW_GRID), asked), strict=True))
    parts = {}
    for k, flips in found.items():
        chosen = _chosen(best, law, flips)
        parts[k] = _part(result, law, chosen, flips)
        ends = [e for e, _ in flips[1:]] + [high]
        span = {i: (0, N_LAW_GRID) for i in everywhere}
        for (start, i), stop in zip(flips, ends, strict=True):
            if i not in everywhere:
                # Two points before and three after: what interpolation with six points reads.
                a, b = (int(np.log(e / low) / np.log(high / low) * (N_LAW_GRID - 1)) for e in (start, stop))
                old = span.get(i, (N_LAW_GRID, 0))
                span[i] = (min(old[0], max(0, min(a - 2, N_LAW_GRID - 6))), max(old[1], min(N_LAW_GRID, max(b + 4, 6))))
        parts[k]["lp"] = [_rounded(curves[i][slice(*span[i])]) for i in chosen]
        parts[k]["off"] = [span[i][0] for i in chosen]
        if law.draws is not None:
            parts[k]["draws"] = int(law.draws)
    return parts


def _chosen(best: np.ndarray, law: Law, flips: Flips) -> list[int]:
    """The best candidates, then those that are released somewhere and the original word where they are not among."""
    return list(dict.fromkeys([*best.tolist(), *(int(w) for _, w in flips), *law.source_index[:1].tolist()]))


def _part(result: RewriteResult, law: Law, chosen: list[int], flips: Flips) -> dict:
    """What every drawn token has."""
    place = {i: j for j, i in enumerate(chosen)}
    source = law.source_index
    return {
        "c": [_display(law.candidates[i], result) for i in chosen],
        "src": place[int(source[0])] if len(source) else -1,
        "flips": [[float(f"{e:.7g}"), place[int(w)]] for e, w in flips],
        "total": len(law.candidates),
    }


def _rounded(log_p: np.ndarray) -> list[float]:
    """ln p with the digits that can be seen: p within 2e-4, and within 5e-4 of itself where it is above 1e-5."""
    x = np.maximum(log_p, FLOOR)
    digits = np.select([x > -1, x > -12, x > -30], [np.round(x, 4), np.round(x, 3), np.round(x, 1)], np.round(x))
    return [int(v) if v.is_integer() else v for v in digits.tolist()]


def _display(word: str, result: RewriteResult) -> str:
    return word if getattr(result.config, "recase", "none") == "none" else sentence_case(word, False)
