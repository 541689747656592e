"""A mechanism of one's own with a promise within groups: a word becomes one that is about as frequent.

The words of a public space, the most frequent first, are cut into groups of ``size``. A word stays with probability
e^ε / (e^ε + n − 1), else it becomes any other of the n words of its group. Words of one group are made alike, others
are not: that is the notion "group", and three hooks say it: ``promise``, ``leaks`` and ``distances``.

    python -m dptext_core --plugin docs/examples/frequency_groups.py audit --mechanism frequency-groups
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np

import dptext_core as dpt
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.mechanisms.words.word_options import SpaceConfig
from dptext_core.privacy.sampling import DEPTH
from dptext_core.privacy.terms import Group


@dataclass(frozen=True)
class Words:
    """The public words that can be released, the most frequent first."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class GroupsConfig(SpaceConfig):
    """The options of every word-level mechanism, and one more."""

    epsilon: float | tuple[float, ...] = dpt.epsilon_option(3.0, 0.5, 12.0)
    size: int = dpt.option(20, label="Words of a group", min=2, help="A word hides among so many.")


@dpt.register
class FrequencyGroups(WordMechanism):
    """Says which words are drawn from, and which of them the promise makes alike."""

    name = "frequency-groups"
    title = "Groups of frequency"
    notion = "group"
    summary = "A word stays, or becomes any other that is about as frequent."
    config_cls = GroupsConfig

    @cached_property
    def vocabulary(self) -> Words:
        return Words(self.never.left(dpt.word_space(self.config.space).words))

    @cached_property
    def places(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.vocabulary.words)}

    def channel(self, row: int) -> dpt.Channel:
        start = row // self.config.size * self.config.size
        words = self.vocabulary.words[start : start + self.config.size]
        scores = np.zeros(len(words))
        scores[row - start] = 1.0
        return dpt.ScoreTable(words, scores, words[row - start], np.array([row - start]))

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        size = self.config.size
        crowd = f"the {size} words that are about as frequent ({self.config.space})"
        return super().guarantee_fields(epsilon) | {"group": Group("custom", text=crowd, size=size)}

    def leaks(self) -> tuple[str, ...]:
        return ("the group of each word: about how frequent it is",)

    def distances(self, words: Any) -> np.ndarray:
        rows = np.array([self.places.get(w.lower(), -1) for w in words])
        group = rows // self.config.size
        alike = (group[:, None] == group[None]) & (rows >= 0)[:, None] & (rows >= 0)[None]
        return np.where(alike, (rows[:, None] != rows[None]).astype(float), np.nan)

    @property
    def max_epsilon(self) -> float:
        return DEPTH - log(self.config.size)
