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
    epsilon = result.config.epsilon
    shown_at = float(epsilon) if isinstance(epsilon, float) else float(default)
    live = result.live and isinstance(epsilon, float)
    grid = np.geomspace(low, high, N_GRID)
    tokens, end, total = [], 0, 0
    for k, step in enumerate(result.steps):
        check_cancel(cancel)
        token: dict = {"pre": "", "o": step.original, "a": step.action, "why": step.reason}
        if step.action != "delete":
            token["pre"] = result.text[end : step.out[0]]
            end = step.out[1]
        if step.action in ("replace", "insert"):
            drawn = _drawn(result, k, grid if live else None, low, high, shown_at)
            total = drawn.pop("total")
            token |= drawn
        tokens.append(token)
        if progress:
            progress(k + 1, len(result.steps))
    return {
        "run": run,
        "eps": shown_at,
        "lo": float(low),
        "hi": float(high),
        "n_grid": N_GRID,
        "default_eps": float(default),
        "live": live,
        "seeded": result.seed is not None,
        "total_candidates": total,
        "unit": "per word",
        "cap_rule": True,
        "tail": result.text[end:],
        "tokens": tokens,
    }


def _drawn(result: RewriteResult, k: int, grid: np.ndarray | None, low: float, high: float, shown_at: float) -> dict:
    """One drawn step: over the whole ``grid`` of ε, or (None) at ``shown_at`` alone."""
    step = result.steps[k]
    if grid is not None:
        table, dice = result.locked(k)
        flips = table.flips(dice.gumbel(len(table.scores)), low, high)
        z = table.log_z(grid)
    else:
        d = result.distribution(k)
        at = d.index(step.replacement)
        exact = [i for i in at if d.candidates[i] == step.replacement]
        flips, z = [(low, int((exact or list(at))[0]))], np.zeros(N_GRID)
        # Shown at the payload's ε only: there ε·s is log p, and ln Z is 0.
        table = ScoreTable(d.candidates, np.maximum(d.log_probs, -1e5) / shown_at, d.source)
    scores = table.scores
    n = min(N_CANDIDATES, int(np.isfinite(scores).sum()))
    best = np.argpartition(-scores, n - 1)[:n]
    best = best[np.argsort(-scores[best], kind="stable")]
    source = table.source_index
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
