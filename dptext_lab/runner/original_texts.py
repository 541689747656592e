"""The original texts of a data set: labels, embeddings, and predictions of each classifier."""

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
    """A loaded data set with the embeddings of its texts and the scores of each task.

    flat: all parts of all texts in order. test: the positions of test texts in it.
    """

    data: Data
    flat: list[str]
    parts: int
    tokens: int

    @cached_property
    def embedded(self) -> np.ndarray:
        """Return the embeddings (parts of all texts, 384)."""
        return embed(self.flat)

    @cached_property
    def guessed(self) -> dict[tuple[BenchTask, str], list[str]]:
        """Return predictions on the test texts by (task, classifier)."""
        train, test = list(self.data.train), list(self.data.test)
        return {
            (task, judge): guess(judge, task, x[train], self.labels(task)[0], x[test])
            for task in tasks_of(self.data.name)
            for judge, x in self.read(self.flat, self.embedded).items()
        }

    @property
    def test(self) -> list[int]:
        """Return the positions of test texts in ``flat``, the same for every seed."""
        return [i * self.parts + j for i in self.data.test for j in range(self.parts)]

    def features(self, embedded: np.ndarray) -> np.ndarray:
        """Return features (texts, d) from the embeddings (parts of all texts, 384)."""
        return tasks.features([embedded[j :: self.parts] for j in range(self.parts)])

    def read(self, flat: Sequence[str], embedded: np.ndarray) -> dict[str, np.ndarray]:
        """Return the input of each classifier by its metric suffix, with one row per text."""
        return {"": self.features(embedded), BAG: np.array(flat, dtype=object).reshape(-1, self.parts)}

    def labels(self, task: BenchTask) -> tuple[list[str], list[str]]:
        """Return the labels of the training and test texts."""
        all_of = self.data.targets[task.target]
        return [all_of[i] for i in self.data.train], [all_of[i] for i in self.data.test]


def guess(judge: str, task: BenchTask, train: np.ndarray, train_y: Sequence[str], test: np.ndarray) -> list[str]:
    """Return the labels predicted by this classifier."""
    return judges.classify(task.role, train, train_y, test) if judge else tasks.classify(train, train_y, test)


@lru_cache(maxsize=12)
def load_originals(name: str, size: Size, folder: str | None, sample: int = 1) -> Originals:
    """Return the data set with everything to compare its rewrites with, cached for the process.

    sample: selects the training texts."""
    place = None if folder is None else Path(folder)
    data = load(name, place, size.n_train, size.n_test, size.max_words, sample)
    flat = [part for text in data.texts for part in text]
    return Originals(data, flat, len(data.texts[0]), sum(len(Document.parse(text).tokens) for text in flat))


_embeddings: dict[str, np.ndarray] = {}


def embed(texts: Sequence[str]) -> np.ndarray:
    """Return embeddings, float32 (n, 384), with a cache of recent texts."""
    from dptext_core.models import sentence_encoder

    if len(_embeddings) > _MOST_EMBEDDINGS:
        _embeddings.clear()
    new = [t for t in dict.fromkeys(texts) if t not in _embeddings]
    _embeddings.update(zip(new, sentence_encoder.embed(new), strict=True))
    return np.stack([_embeddings[t] for t in texts])
