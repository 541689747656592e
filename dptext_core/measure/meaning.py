"""How much of the meaning of a text its rewrites keep along ε, under one noise: the cosine of their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._internal.private import Private
from .._internal.task import UNWATCHED, Task
from ..mechanisms.base import Mechanism, Prepared
from ..privacy.sampling import NoiseStream
from .metrics import score

#: Texts that are embedded at most: beyond that some changes of the text are left out. Each costs more than a rewrite,
#: and a room of people shares the processor.
MOST = 16
_AT_ONCE = 8


@dataclass(frozen=True)
class MeaningKept(Private):
    """The cosine of the text that is released from each ε on (``at``, ascending) until the next one. complete: whether
    every text is among them."""

    at: tuple[float, ...]
    cosine: tuple[float, ...]
    complete: bool


def meaning_kept(
    mechanism: Mechanism,
    prepared: Prepared,
    stream: NoiseStream,
    changes: Sequence[float],
    *,
    most: int = MOST,
    task: Task = UNWATCHED,
) -> MeaningKept:
    """Rewrite at each ε at which the text changes, and compare. changes: those ε, the lowest the axis' lower end.

    Each cosine is that of :func:`dptext_core.metrics.score`. Raises Cancelled.
    """
    every = sorted(set(changes))
    step = -(-len(every) // most)
    at = every[::step]
    texts = []
    for epsilon in at:
        task.check()
        texts.append(mechanism.replace(epsilon=epsilon).rewrite(prepared, stream=stream).text)
    found: dict[str, float] = {}
    distinct = list(dict.fromkeys(texts))
    for k in range(0, len(distinct), _AT_ONCE):
        task.report(k, len(distinct))
        some = distinct[k : k + _AT_ONCE]
        found |= dict(zip(some, map(float, score("cosine", [prepared.text] * len(some), some)), strict=True))
    return MeaningKept(tuple(at), tuple(found[text] for text in texts), step == 1)
