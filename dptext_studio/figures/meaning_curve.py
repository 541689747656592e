"""How much meaning the rewrites of a text preserve along ε, with one draw of noise: the cosine of their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dptext_core.measure.metrics import score
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.private import Private
from dptext_core.support.task import UNWATCHED, Task

#: The largest number of embedded texts: beyond that, some changes of the text are left out. Each costs more than a
#: rewrite, and a class shares the processor.
MOST = 16
_AT_ONCE = 8
#: How far above a change, as a share of ε, the text is taken: rounded changes may be too low.
_ABOVE = 1e-6


@dataclass(frozen=True)
class MeaningCurve(Private):
    """The cosine of the text that is released from each ε (``at``, ascending) up to the next. complete: whether it
    includes every text.
    """

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
) -> MeaningCurve:
    """Rewrite the text just above each ε at which it changes, and compare it with the original.

    changes: those ε to seven digits, starting with the lower end of the axis. most: the largest number of texts, at
    least 3; for more changes see :func:`choose_epsilons`. Each cosine is that of :func:`dptext_core.metrics.score`.
    Raises Cancelled.
    """
    every = sorted(set(changes))
    at = every if len(every) <= most else choose_epsilons(every, most)
    texts = []
    for epsilon in at:
        task.check()
        texts.append(mechanism.replace(epsilon=epsilon * (1 + _ABOVE)).rewrite(prepared, stream=stream).text)
    cosines: dict[str, float] = {}
    distinct = list(dict.fromkeys(texts))
    for k in range(0, len(distinct), _AT_ONCE):
        task.report(k, len(distinct))
        some = distinct[k : k + _AT_ONCE]
        cosines |= dict(zip(some, map(float, score("cosine", [prepared.text] * len(some), some)), strict=True))
    return MeaningCurve(tuple(at), tuple(cosines[text] for text in texts), len(at) == len(every))


def choose_epsilons(every: Sequence[float], most: int) -> list[float]:
    """Choose this many changes, ascending.

    They are the first, the last, and from each of equal parts of ln ε between them the one whose text lasts longest;
    then others whose text does.
    """
    logs = np.log(every)
    stands = np.diff(logs)
    between = np.arange(1, len(every) - 1)
    share = (logs[between] - logs[0]) / (logs[-1] - logs[0])
    piece = np.minimum((share * (most - 2)).astype(int), most - 3)
    longest = np.argsort(-stands[between], kind="stable")
    first = longest[np.unique(piece[longest], return_index=True)[1]]
    last = len(every) - 1
    indices = list(dict.fromkeys([0, last, *between[first].tolist(), *between[longest].tolist()]))[:most]
    return [every[k] for k in sorted(indices)]
