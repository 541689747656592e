"""A mechanism of one's own: randomised response over the most frequent words (Warner 1965, with many answers).

A word stays with probability e^ε / (e^ε + n − 1), else it becomes any other of the n words, all alike. For any two
words the chances of one output differ by e^ε at most: pure differential privacy, without a distance.

    python -m dptext_core --plugin docs/examples/randomised_response.py rewrite --mechanism randomised-response "…"
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

import dptext_core as dpt
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.mechanisms.words.word_options import SpaceConfig
from dptext_core.privacy.sampling import DEPTH


@dataclass(frozen=True)
class Words:
    """The public words that can be released, and that alone are drawn for."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class ResponseConfig(SpaceConfig):
    """The options of every word-level mechanism, and one more. They become flags and controls by themselves."""

    epsilon: float | tuple[float, ...] = dpt.epsilon_option(8.0, 4.0, 14.0)
    size: int = dpt.option(
        5000,
        label="Number of words",
        min=2,
        help="Only so many words, the most frequent ones, are known. With fewer words each one stays more often.",
    )


@dpt.register
class RandomisedResponse(WordMechanism):
    """Says for a word of the vocabulary what it is drawn from; the base class does the texts."""

    name = "randomised-response"
    title = "Randomised response"
    notion = "pure"
    summary = "A word stays, or becomes any other of the most frequent words, all alike."
    config_cls = ResponseConfig

    @cached_property
    def vocabulary(self) -> Words:
        return Words(self.never.left(dpt.word_space(self.config.space).words)[: self.config.size])

    def channel(self, row: int) -> dpt.Channel:
        words = self.vocabulary.words
        scores = np.zeros(len(words))
        scores[row] = 1.0  # a word is released with probability ∝ exp(ε · score)
        return dpt.ScoreTable(words, scores, words[row], np.array([row]))

    @property
    def max_epsilon(self) -> float:
        # Another word has ln p = −ε − ln(n − 1) at least, about; deeper than DEPTH no draw would reach it.
        return DEPTH - log(len(self.vocabulary.words))
