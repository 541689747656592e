"""The original texts of a data set: labels, embeddings, and what each classifier guesses on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from dptext_core.measure import judges
from dptext_core.measure.metrics.registry import BAG
from dptext_core.text.document import Document

from ..results.tasks import BenchTask, tasks_of
from . import tasks
from .data_sets import Data, load
from .grid import Size

_MOST_EMBEDDINGS = 30_000


@dataclass(eq=False)
class Originals:
    """A loaded data set with the embeddings of its texts and what each task scores on them.

    flat: all parts of all texts in order. test: of those the ones to test.
    """

    data: Data
    flat: list[str]
    parts: int
    tokens: int

    @cached_property
    def embedded(self) -> np.ndarray:
        """(parts of all texts, 384)."""
        return embed(self.flat)

    @cached_property
    def guessed(self) -> dict[tuple[BenchTask, str], list[str]]:
        """(task, classifier) → guesses on the test texts."""
        train, test = list(self.data.train), list(self.data.test)
        return {
            (task, judge): guess(judge, task, x[train], self.labels(task)[0], x[test])
            for task in tasks_of(self.data.name)
            for judge, x in self.read(self.flat, self.embedded).items()
        }

    @property
    def test(self) -> list[int]:
        """Places in ``flat`` of the texts to test: the same for every seed."""
        return [i * self.parts + j for i in self.data.test for j in range(self.parts)]

    def features(self, embedded: np.ndarray) -> np.ndarray:
        """Return (texts, d) of the embeddings (parts of all texts, 384)."""
        return tasks.features([embedded[j :: self.parts] for j in range(self.parts)])

    def read(self, flat: Sequence[str], embedded: np.ndarray) -> dict[str, np.ndarray]:
        """Return what each classifier reads of all texts, by its name behind a metric's: rows are texts."""
        return {"": self.features(embedded), BAG: np.array(flat, dtype=object).reshape(-1, self.parts)}

    def labels(self, task: BenchTask) -> tuple[list[str], list[str]]:
        """Return of the texts to train and to test."""
        all_of = self.data.targets[task.target]
        return [all_of[i] for i in self.data.train], [all_of[i] for i in self.data.test]


def guess(judge: str, task: BenchTask, train: np.ndarray, train_y: Sequence[str], test: np.ndarray) -> list[str]:
    """Return guessed labels by the classifier of this name."""
    return judges.classify(task.role, train, train_y, test) if judge else tasks.classify(train, train_y, test)


@lru_cache(maxsize=12)
def load_originals(name: str, size: Size, folder: str | None, sample: int = 1) -> Originals:
    """Return the data set with everything that its rewrites are compared with; kept for the process. sample: which
    texts are trained on."""
    place = None if folder is None else Path(folder)
    data = load(name, place, size.n_train, size.n_test, size.max_words, sample)
    flat = [part for text in data.texts for part in text]
    return Originals(data, flat, len(data.texts[0]), sum(len(Document.parse(text).tokens) for text in flat))


_embeddings: dict[str, np.ndarray] = {}


def embed(texts: Sequence[str]) -> np.ndarray:
    """Return embeddings, float32 (n, 384); each different text once in a while."""
    from dptext_core.models import sentence_encoder

    if len(_embeddings) > _MOST_EMBEDDINGS:
        _embeddings.clear()
    new = [t for t in dict.fromkeys(texts) if t not in _embeddings]
    _embeddings.update(zip(new, sentence_encoder.embed(new), strict=True))
    return np.stack([_embeddings[t] for t in texts])
