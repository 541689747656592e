"""A text prepared for replacing word by word, and the trace of its samples."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...pieces import NOT_IN_VOCABULARY
from ...privacy.distribution import Channel, TokenDistribution
from ...privacy.sampling import NoiseStream, Place, full_range
from ...result import Trace, Unit
from ...support.private import Private
from ...text.document import Document
from ...text.lexicon import Lexicon
from ...text.skeleton import Skeleton
from ..preparing import Prepared
from .word_codes import KEPT, UNKNOWN

if TYPE_CHECKING:
    from .word_level import WordMechanism


@dataclass(frozen=True, eq=False)
class WordPrepared(Prepared):
    """A text with the row of each token in the vocabulary.

    rows: int64 (tokens,), UNKNOWN for unknown words, KEPT for copied tokens. reasons: why those are copied. stop: the
    list of copied stop words, None if there are none.
    """

    rows: np.ndarray
    reasons: tuple[str | None, ...]
    stop: Lexicon | None = None
    channels: dict[int, Channel] = field(default_factory=dict, init=False, repr=False)
    proposals: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def holding(self, tokens: Collection[int], reason: str) -> WordPrepared:
        """Return the same plan in which these tokens are copied."""
        rows, reasons = self.rows.copy(), list(self.reasons)
        for i in tokens:
            rows[i], reasons[i] = KEPT, reason
        return replace(self, rows=rows, reasons=tuple(reasons))

    def with_document(self, document: Document) -> WordPrepared:
        """Return the same plan for a document that differs in copied tokens."""
        other = replace(self, document=document)
        object.__setattr__(other, "channels", self.channels)  # they depend on rows alone
        return other

    @cached_property
    def skeleton(self) -> Skeleton:
        """Return what is released besides sampled words: copied tokens and gaps."""
        return self.document.skeleton((self.rows != KEPT).tolist())

    @cached_property
    def known(self) -> np.ndarray:
        """Return the places of the words that are sampled from their originals, int64."""
        return np.flatnonzero(self.rows >= 0)

    @cached_property
    def unknown(self) -> frozenset[int]:
        """Return the places of unknown words that are not copied."""
        return frozenset(np.flatnonzero(self.rows == UNKNOWN).tolist())


@dataclass(frozen=True, eq=False)
class Constant(Channel):
    """The same distribution at every ε, because it ignores the word: one of the candidates, uniformly."""

    candidates: Sequence[str]
    source: str | None

    @property
    def source_index(self) -> np.ndarray:
        return np.empty(0, np.int64)

    def at(self, epsilon: float) -> TokenDistribution:
        n = len(self.candidates)
        return TokenDistribution(
            self.candidates, np.full(n, -np.log(n)), self.source, 0.0, None, self.source_index, self._sample
        )

    def _sample(self, m: int, stream: NoiseStream) -> np.ndarray:
        return self._picked(stream.uniforms(m))

    def _picked(self, uniforms: np.ndarray) -> np.ndarray:
        # Uniforms are at most 1 − 2^-53, and no multiple of that is rounded up to an integer.
        return (uniforms * len(self.candidates)).astype(np.int64)

    def each(self, streams: Sequence[NoiseStream]) -> list[str]:
        """Return the sample under each of these streams."""
        if not streams:
            return []
        words = np.concatenate([stream.words(1) for stream in streams])
        drawn = self._picked(full_range(words, lambda j: (streams[j], 0)))
        return [self.candidates[i] for i in drawn.tolist()]

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self._sample(1, stream)[0])

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        return [(float(low), self.draw(low, stream))]

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        return np.arange(min(n, len(self.candidates)))


@dataclass(frozen=True, eq=False)
class Draws(Private):
    """Words to sample at once, over many texts: row and ε of each, its text, and its path below that text's stream.

    texts: the stream of each text and its number of tokens.
    """

    rows: np.ndarray
    epsilons: np.ndarray
    owners: np.ndarray
    paths: Sequence[int | str]
    texts: Sequence[tuple[NoiseStream, int]]

    def stream(self, j: int) -> NoiseStream:
        """Return the stream of draw j."""
        return self.texts[self.owners[j]][0].at(self.paths[j])

    def words(self, name: str, each: int) -> tuple[np.ndarray, Place]:
        """Return the random words of each draw if paths are token numbers: uint64 (draws, each).

        They come from the stream ``name`` below that of the draw's text. Also returns a function from draw j to that
        stream and the token's number."""
        tokens, owners = np.array(self.paths, np.int64), self.owners
        drawn = np.bincount(owners, minlength=len(self.texts)) > 0
        streams = [stream.at(name) for stream, _ in self.texts]
        sizes = [n if any_ else 0 for (_, n), any_ in zip(self.texts, drawn.tolist(), strict=True)]
        words = np.concatenate([s.words(n * each) for s, n in zip(streams, sizes, strict=True) if n])
        first = np.cumsum([0, *sizes])[owners]
        return words.reshape(-1, each)[first + tokens], lambda j: (streams[owners[j]], int(tokens[j]))


@dataclass(frozen=True, eq=False)
class WordTrace(Trace):
    """How each word was sampled: by its channel, and by its own noise stream below that of the text.

    ``unknown``: below that of unknown words. Each step is a token, so steps and tokens have the same numbers.
    """

    mechanism: WordMechanism
    prepared: WordPrepared
    epsilons: Sequence[float]
    stream: NoiseStream
    unknown: NoiseStream

    @property
    def can(self) -> frozenset[str]:  # type: ignore[override]
        return self.mechanism.can

    @property
    def rules(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({NOT_IN_VOCABULARY} if self.mechanism.config.oov == "mask" else ())

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.mechanism._channel_at(self.prepared, i).at(self.epsilons[i])

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        known = self.prepared.rows[i] != UNKNOWN
        return self.mechanism._channel_at(self.prepared, i), self._stream(i) if known else self.unknown.at(i)

    def views(self, i: int, unit: Unit) -> tuple:
        row = int(self.prepared.rows[i])
        if row < 0:
            return ()
        views = self.mechanism._views(unit.text, row, self.epsilons[i], self._stream(i))
        return (*views, *self.mechanism._views_in_place(self.prepared, i, unit.text, self.epsilons[i]))

    def similarities(self, i: int, unit: Unit) -> Mapping[str, float] | None:
        row = int(self.prepared.rows[i])
        return self.mechanism._similarities(row) if row >= 0 else None

    def _stream(self, i: int) -> NoiseStream:
        return self.mechanism._stream(self.prepared, i, self.stream)
