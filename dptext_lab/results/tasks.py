"""The classification tasks of each data set and their metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class BenchTask:
    """A classification task: one target of one data set, its role ("utility" or "privacy") and its metric."""

    name: str
    data: str
    target: str
    role: Literal["utility", "privacy"]
    metric: str


TASKS: tuple[BenchTask, ...] = (
    BenchTask("sentiment", "sst2", "label", "utility", "accuracy"),
    BenchTask("acceptability", "cola", "label", "utility", "matthews"),
    BenchTask("paraphrase", "mrpc", "label", "utility", "accuracy"),
    BenchTask("entailment", "rte", "label", "utility", "accuracy"),
    BenchTask("entailment", "wnli", "label", "utility", "accuracy"),
    BenchTask("intent", "atis", "label", "utility", "macro_f1"),
    BenchTask("intent", "snips", "label", "utility", "macro_f1"),
    BenchTask("rating", "reviews", "rating", "utility", "f1"),
    BenchTask("author", "reviews", "author", "privacy", "f1"),
    BenchTask("author", "authors", "author", "privacy", "f1"),
    BenchTask("sentiment", "builtin", "label", "utility", "accuracy"),
    BenchTask("author", "builtin", "author", "privacy", "f1"),
)


def tasks_of(data: str) -> tuple[BenchTask, ...]:
    """Return the tasks of a data set, or none if it is unknown."""
    return tuple(task for task in TASKS if task.data == data)
