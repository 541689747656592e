"""Sample the released words of 1-Diffractor from the random words of a stream."""

from __future__ import annotations

import numpy as np

from ...privacy.sampling import NoiseStream, Place, log_full_range
from .list_bundle import Bundle
from .list_noise import noisy_place


def _random(bundle: Bundle, stream: NoiseStream, n: int):
    """Return the chosen list (n,), signs, ln U and ln of far uniforms (n, lists) of the first n tokens of a stream."""
    each = _words_each(bundle)
    return _read_noise(bundle, stream.words(n * each).reshape(n, each), lambda j: (stream, j))


def _words_each(bundle: Bundle) -> int:
    """Return how many random words a token uses."""
    return 2 * (1 + len(bundle.order))


def _read_noise(bundle: Bundle, words: np.ndarray, token: Place):
    """Return the noise from the random words of tokens (n, each): see :func:`_random`. token: the stream and number of
    row j."""
    lists, each = len(bundle.order), words.shape[1]
    chosen = np.minimum((words[:, 0] * 2.0**-64 * lists).astype(np.int64), lists - 1)
    sign = np.where(words[:, 1, None] >> np.arange(lists, dtype=np.uint64) & 1, 1, -1)

    def place(j: int) -> tuple[NoiseStream, int]:
        row, column = divmod(j, each - 2)
        stream, number = token(row)
        return stream, number * each + 2 + column

    logs = log_full_range(words[:, 2:].ravel(), place).reshape(-1, each - 2)
    return chosen, sign, logs[:, :lists], logs[:, lists:]


def draw_outputs(
    bundle: Bundle,
    rows: np.ndarray,
    epsilons: np.ndarray,
    noise: str,
    gamma: float | None,
    stream: NoiseStream,
    n: int,
    tokens: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the released output of each row (m,), and the list it came from.

    tokens: which of the n tokens of the stream each row is; all in order without it.
    """
    drawn = _random(bundle, stream, n)
    chosen, sign, log_uniform, log_far = drawn if tokens is None else (x[tokens] for x in drawn)
    return _list_outputs(bundle, rows, epsilons, noise, gamma, chosen, sign, log_uniform, log_far), chosen


def _list_outputs(bundle, rows, epsilons, noise, gamma, chosen, sign, log_uniform, log_far) -> np.ndarray:
    """Return outputs (m,) of rows through their chosen lists."""
    each = np.arange(len(rows))
    at, length = bundle.places[chosen, rows], bundle.lengths[chosen]
    place = noisy_place(
        noise, epsilons, at, length, gamma, sign[each, chosen], log_uniform[each, chosen], log_far[each, chosen]
    )
    out = np.empty(len(rows), np.int64)
    for c, order in enumerate(bundle.order):
        mine = chosen == c
        out[mine] = order[place[mine]]
    return out
