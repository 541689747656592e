"""A text prepared for a generator, and the trace of a rewrite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...privacy.distribution import TokenDistribution
from ...result import Trace, Unit
from ...support.cache import OwnLock
from ..preparing import Prepared

if TYPE_CHECKING:
    from .generation import Generation

#: Number of texts that are written together.
TOGETHER = 16


@dataclass(frozen=True, eq=False)
class GenerationPrepared(Prepared):
    """A text in its prompt.

    ids: the tokens that the model reads. cut: whether the text exceeded the window. prefix: how many of the first
    tokens are public and read once for all texts. The model's state after them is stored once computed, for every ε.
    """

    ids: tuple[int, ...]
    cut: bool
    prefix: int

    _state: list[Any] = field(default_factory=list, init=False, repr=False)
    _lock: OwnLock = field(default_factory=OwnLock, init=False, repr=False)


@dataclass(frozen=True)
class GeneratedTokens:
    """One written text: its tokens (indices of candidates), the shapes they were scored in, and stored scores."""

    tokens: tuple[int, ...]
    shape: Any
    public_shape: Any
    rows: list[np.ndarray]
    public_rows: list[np.ndarray]


class GenerationTrace(Trace):
    """Scores of the written tokens: stored, or recomputed in the same shape, which gives the same bits."""

    can = frozenset({"distribution"})

    def __init__(self, mechanism: Generation, prepared: GenerationPrepared, written: GeneratedTokens):
        self._mechanism, self._prepared, self.written = mechanism, prepared, written

    def _rows(self, last: int) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray | None]]:
        """Return the scores of all tokens up to this one, and those without the text."""
        w, m = self.written, self._mechanism
        nothing: list[None] = [None] * (last + 1)
        if last < len(w.rows):
            return w.rows, w.public_rows or nothing
        generator, tokens = m.generator(), w.tokens[: last + 1]
        rows = generator.replay(self._prepared.ids, w.shape, tokens)
        if w.public_shape is None:
            return rows, nothing
        return rows, generator.replay(m.public_ids(), w.public_shape, tokens)

    def candidate(self, i: int, unit: Unit) -> int:
        return self.written.tokens[i]

    def logits(self, i: int, unit: Unit) -> np.ndarray:
        return self._rows(i)[0][i]

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return next(self.distributions([(i, unit)]))

    def distributions(self, units: Sequence[tuple[int, Unit]]) -> Iterator[TokenDistribution]:
        m = self._mechanism
        rows, public = self._rows(max((i for i, _ in units), default=0))
        for i, _ in units:
            yield m.table(rows[i], public[i], before=self.written.tokens[:i]).at(float(m.config.epsilon))
