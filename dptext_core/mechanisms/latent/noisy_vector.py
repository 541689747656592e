"""The shared base of mechanisms that write a new text from one noisy vector of the whole text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...privacy.sampling import NoiseStream
from ...result import Release, RewriteResult
from ...support.checks import text_list
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ..base import Mechanism, in_runs
from ..config import epsilon_option
from ..preparing import Prepared

#: The largest accepted ε: there the noise is at most a few steps of its grid.
MOST = 1e6


def whole_text_epsilon(default: float, low: float, high: float) -> Any:
    """Return the field ``epsilon`` of a mechanism that draws once for a whole text."""
    return epsilon_option(default, low, high, "for the whole text", "The whole text spends it once.", MOST)


@dataclass(frozen=True, eq=False)
class EncodedText(Prepared):
    """A text with the encoder's output, float32, before clipping. cut: whether the text exceeded the input length."""

    latent: np.ndarray
    cut: bool


class VectorMechanism(Mechanism):
    """A clipped and noisy encoder vector of the whole text, and a new text written from it."""

    closed_form: ClassVar[bool] = False
    slow_to_prepare: ClassVar[bool] = False

    @property
    @abstractmethod
    def batch(self) -> int:
        """Return the number of texts that are encoded, and written, at once."""

    @abstractmethod
    def encode(self, documents: Sequence[Document]) -> list[EncodedText]:
        """Return the encoder's output for documents."""

    @abstractmethod
    def clipped(self, prepared: Prepared) -> np.ndarray:
        """Return the clipped vector in integer steps, int64, for the owner alone."""

    @abstractmethod
    def noisy(self, prepared: Prepared, stream: NoiseStream) -> np.ndarray:
        """Return the noisy vector, float64: the only input of the new text."""

    @abstractmethod
    def write(self, vectors: Sequence[np.ndarray], task: Task) -> list[str]:
        """Return texts from noisy vectors. task: counts the steps."""

    @property
    def spent(self) -> float:
        """Return the ε of a written text."""
        return self.config.epsilon

    @property
    def alignment(self) -> None:
        return None

    @property
    def max_epsilon(self) -> float:
        return MOST

    def plan(self, text: str | Prepared) -> Prepared:
        return text if isinstance(text, Prepared) else Prepared(self.document(text), self.key)

    def encoded(self, prepared: Prepared) -> EncodedText:
        """Return the text with the encoder's output, now computed."""
        return prepared if isinstance(prepared, EncodedText) else self.encode([prepared.document])[0]

    def prepare_document(self, document: Document, task: Task) -> Prepared:
        task.check()
        return self.encode([document])[0]

    def prepare_many(self, texts: Sequence[str], *, task: Task | None = None) -> Iterator[Prepared]:
        task = task or UNWATCHED
        documents = [self.document(text) for text in text_list(texts)]
        for start in range(0, len(documents), self.batch):
            task.check()
            yield from self.encode(documents[start : start + self.batch])
            task.report(min(start + self.batch, len(documents)), len(documents))

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        return self._written([(prepared, stream)], task)[0]

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        runs = in_runs(texts)
        every = self.prepare_many([text for text, _ in runs], task=task.quiet)
        prepared = [p for (_, n), one in zip(runs, every, strict=True) for p in [one] * n]
        return self._written([(p, stream.at(i)) for i, p in enumerate(prepared)], task)

    def rewrite_repeatedly(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        return self._written([(prepared, stream.at("fresh", k)) for k in range(n)], task)

    def _written(self, wanted: Sequence[tuple[Prepared, NoiseStream]], task: Task) -> list[RewriteResult]:
        """Yield results block by block. Progress is by step for one text, else by text."""
        out: list[RewriteResult] = []
        for start in range(0, len(wanted), self.batch):
            task.check()
            block = wanted[start : start + self.batch]
            vectors = [self.noisy(p, stream) for p, stream in block]
            texts = self.write(vectors, task if len(wanted) == 1 else task.quiet)
            out += [self._result(p, stream, text) for (p, stream), text in zip(block, texts, strict=True)]
            if len(wanted) > 1:
                task.report(len(out), len(wanted))
        return out

    def _result(self, prepared: Prepared, stream: NoiseStream, text: str) -> RewriteResult:
        piece = Release((0, len(text)), text, self.spent, "drawn")
        return RewriteResult.of(self, prepared, stream, text, pieces=(piece,))
