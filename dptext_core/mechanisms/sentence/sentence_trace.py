"""The distribution of a released sentence, a prepared text, and the trace of a rewrite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...privacy.distribution import Channel, TokenDistribution, logsumexp, search_flips
from ...privacy.sampling import NoiseStream, Sampler
from ...result import Trace, Unit
from ..preparing import Prepared

if TYPE_CHECKING:
    from .dp_sentence import DPSentence

#: Maximum scores of sentences that one result stores.
_KEPT = 16
#: Sentences compared with the bank at once: 8 MB for 33,000.
_TOGETHER = 32


@dataclass(frozen=True, eq=False)
class SentencePrepared(Prepared):
    """A text with the vectors of the sentences that are read: int16 (m, 384), from :func:`text_codes`."""

    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class CosineTable(Channel):
    """The distribution of one output sentence.

    Parameters
    ----------
    candidates
        The possible outputs.
    cosines
        float64 (n,), each in [−1, 1].
    ends
        The range that cosines are clipped to; None: that of :func:`sentence_range` at each ε.
    before
        The number of outputs already sampled for the same original.
    """

    candidates: Sequence[str]
    cosines: np.ndarray
    ends: tuple[float, float] | None = None
    source: str | None = None
    before: int = 0

    @property
    def bends(self) -> bool:
        """Return where a cosine enters or leaves a range that depends on ε."""
        return self.ends is None

    def utilities(self, epsilon: float) -> np.ndarray:
        """Return u of every candidate, float64 (n,), in [0, 1]."""
        low, high = self.ends or sentence_range(epsilon, self.before)
        return np.clip((np.clip(self.cosines, low, high) - low) / (high - low), 0.0, 1.0)

    def log_weights(self, epsilon: float) -> np.ndarray:
        """Return ln p up to a constant, float64 (n,)."""
        return epsilon / 2 * (self.utilities(epsilon) - 1.0)

    @property
    def source_index(self) -> np.ndarray:
        return np.empty(0, np.int64)

    def at(self, epsilon: float) -> TokenDistribution:
        x = self.log_weights(epsilon)
        return TokenDistribution(self.candidates, x - logsumexp(x), None, float(epsilon))

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return Sampler(self.log_weights(epsilon)).one(stream)

    def drawer(self, epsilon: float) -> Callable[[NoiseStream], int]:
        return Sampler(self.log_weights(epsilon)).one

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        """Return :meth:`Channel.flips` among the candidates that can win at some ε. Weights never decrease as cosines
        increase, so a candidate with less of both cosine and noise than another one never wins."""
        noise = stream.gumbel(len(self.cosines))
        order = np.lexsort((-noise, -self.cosines))
        ordered = noise[order]
        front = np.sort(order[np.append(True, ordered[1:] > np.maximum.accumulate(ordered)[:-1])])
        few = CosineTable((), self.cosines[front], self.ends, before=self.before)
        of_few = noise[front]
        flips = search_flips(lambda some: [int(np.argmax(few.log_weights(e) + of_few)) for e in some], low, high)
        return [(epsilon, int(front[i])) for epsilon, i in flips]


class SentenceTrace(Trace):
    """The sampled sentences. Probabilities are recomputed from the vectors, to the same bits.

    The distribution of a later output depends on those before it, which differ at another ε.
    """

    def __init__(self, mechanism: DPSentence, prepared: SentencePrepared, chosen: tuple[int, ...], stream: NoiseStream):
        self._mechanism, self._prepared, self._stream = mechanism, prepared, stream
        self.chosen = chosen
        self.can = frozenset({"distribution", "sweep"} if mechanism.config.each == 1 else {"distribution"})
        self._tables: dict[int, CosineTable] = {}

    def _table(self, i: int) -> CosineTable:
        if i not in self._tables:
            each = self._mechanism.config.each
            table = self._mechanism.tables(self._prepared, [i // each])[0]
            table = self._mechanism.after(table, self.chosen[i - i % each : i])
            if len(self._tables) >= _KEPT:
                return table
            self._tables[i] = table
        return self._tables[i]

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self._table(i).at(self._mechanism.config.epsilon)

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        if "sweep" not in self.can:
            return super().locked(i, unit)
        return self._table(i), self._stream.at(i)

    def candidate(self, i: int, unit: Unit) -> int:
        return self.chosen[i]


def sentence_range(epsilon: float, before: int = 0) -> tuple[float, float]:
    """Return the default range of cosines that are distinguished: a public function of ε, chosen on public text.

    It also depends on how many sentences were sampled before for the same original (tools/choose_sentence_range.py).
    """
    if before:
        low = 0.25 + min(0.15, epsilon / 150) + 0.1 * min(before - 1, 2)
        return low, min(1.0, low + min(epsilon / 150, 0.15 + epsilon / 500))
    low = min(0.2, epsilon / 50)
    return low, min(1.0, low + min(epsilon / 100, 0.3 + epsilon / 400))
