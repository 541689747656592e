"""What the browser needs to show one rewrite at every ε by itself.

For each drawn token: the best candidates with their scores, ln Z on a grid of ε, and the points where the released
word flips under the locked noise. It holds the original words and the winners of the noise: it is for the author's
screen, never for a release.
"""

from __future__ import annotations

import numpy as np

from .distribution import ScoreTable
from .document import sentence_case
from .mechanisms.base import RewriteResult, check_cancel

N_GRID = 60
N_CANDIDATES = 30
N_BINS = 48


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
    """The rewrite as plain JSON for the token strip: numbers are plain floats, nothing is NaN.

    low, high: the ends of the ε axis. Where the mechanism needs a new pass for another ε, ``live`` is False and the
    figures hold at the ε of the result only.
    """
    grid = np.geomspace(low, high, N_GRID)
    tokens, end, total = [], 0, 0
    for k, step in enumerate(result.steps):
        check_cancel(cancel)
        token: dict = {"pre": "", "o": step.original, "a": step.action, "why": step.reason}
        if step.action != "delete":
            token["pre"] = result.text[end : step.out[0]]
            end = step.out[1]
        if step.action in ("replace", "insert"):
            drawn = _drawn(result, k, step, grid, low, high)
            total = drawn.pop("total")
            token |= drawn
        tokens.append(token)
        if progress:
            progress(k + 1, len(result.steps))
    epsilon = result.config.epsilon
    return {
        "run": run,
        "eps": float(epsilon) if isinstance(epsilon, float) else float(default),
        "lo": float(low),
        "hi": float(high),
        "n_grid": N_GRID,
        "default_eps": float(default),
        "live": bool(result.live and isinstance(epsilon, float)),
        "seeded": result.seed is not None,
        "total_candidates": total,
        "unit": "per word",
        "cap_rule": True,
        "tail": result.text[end:],
        "tokens": tokens,
    }


def _drawn(result: RewriteResult, k: int, step, grid: np.ndarray, low: float, high: float) -> dict:
    if result.live and isinstance(result.config.epsilon, float):
        table, dice = result.locked(k)
        flips = table.flips(dice.gumbel(len(table.scores)), low, high)
        z = table.log_z(grid)
    else:
        d = result.distribution(k)
        released = [i for i in d.index(step.replacement) if d.candidates[i] == step.replacement] or d.index(
            step.replacement
        )
        flips, z = [(low, int(released[0]))], np.zeros(len(grid))
        table = ScoreTable(d.candidates, np.maximum(d.log_probs, -1e5) / step.epsilon, d.source)
    scores = table.scores
    n = min(N_CANDIDATES, int(np.isfinite(scores).sum()))
    best = np.argpartition(-scores, n - 1)[:n]
    best = best[np.argsort(-scores[best], kind="stable")]
    source = table.at(1.0).index(step.original) if step.original else np.empty(0, np.int64)
    extra = [i for i in [*(w for _, w in flips), *source[:1]] if i not in set(best.tolist())]
    chosen = list(dict.fromkeys([*best.tolist(), *(int(i) for i in extra)]))
    place = {i: j for j, i in enumerate(chosen)}
    descending = np.sort(scores)[::-1]
    ranks = np.searchsorted(-descending, -scores[chosen], side="left") + 1
    return {
        "cap": int(step.capital),
        "c": [_display(table.candidates[i], result) for i in chosen],
        "s": [round(float(scores[i]), 8) if np.isfinite(scores[i]) else -1e4 for i in chosen],
        "rank": [int(r) for r in ranks],
        "z": [round(float(x), 6) for x in z],
        "src": place[int(source[0])] if len(source) else -1,
        "flips": [[round(float(e), 6), place[w]] for e, w in flips],
        "total": len(scores),
    }



def _display(word: str, result: RewriteResult) -> str:
    return word if getattr(result.config, "recase", "none") == "none" else sentence_case(word, False)
