"""How probable words are without a text: from their public frequency, and from a masked language model."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..text.language import Language

#: Largest spread, in nats, of the words' log probabilities: lower values are raised.
SPREAD = 25.0
#: Share of the proposal over a space's words that follows frequency. It is the floor for words that the language model
#: does not score.
BY_FREQUENCY = 0.1


@lru_cache(maxsize=8)
def candidates(model: str, language: Language) -> tuple[str, ...]:
    """Return the words that a masked language model can produce, as it spells them."""
    if model != "bundled":
        from . import load_masked_lm

        return load_masked_lm(model, language=language).candidates
    from ..words.vocabulary import read_pieces

    return tuple(p for p in read_pieces() if language.is_word(p))


@lru_cache(maxsize=8)
def log_frequencies(words: tuple[str, ...]) -> np.ndarray:
    """Return ln of the words' shares in public text, every count raised by one: float64 (V,), at most SPREAD apart."""
    from ..words import word_space

    space = word_space()
    assert space.counts is not None
    rows = space.rows(words)
    counts = np.where(rows >= 0, space.counts[rows], 0) + 1.0
    return _floor(np.log(counts / counts.sum()))


def _floor(log_p: np.ndarray) -> np.ndarray:
    return np.maximum(log_p, log_p.max(axis=-1, keepdims=True) - SPREAD)


def over_words(logits: np.ndarray, model: str, language: Language, words: tuple[str, ...]) -> np.ndarray:
    """Turn scores (n, V) of a model's candidates into ln of a proposal over other words, float64 (n, W).

    The values are at most SPREAD apart. The share BY_FREQUENCY follows frequency, so that every word has a positive
    probability. The rest is the model's softmax over the words it knows, in their first spelling. Words that it does
    not know follow frequency alone.
    """
    at, there = _places(model, language, words)
    if not there.any():
        return np.repeat(log_frequencies(words)[None], len(logits), axis=0)
    x = np.where(there, logits[:, at].astype(np.float64), -np.inf)
    x -= x.max(axis=1, keepdims=True)
    p = np.exp(x)
    p *= (1 - BY_FREQUENCY) / p.sum(axis=1, keepdims=True)
    return _floor(np.log(p + BY_FREQUENCY * np.exp(log_frequencies(words))))


@lru_cache(maxsize=8)
def _places(model: str, language: Language, words: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return each word's index among the model's candidates, ignoring case, and whether it is among them."""
    first: dict[str, int] = {}
    for i, word in enumerate(candidates(model, language)):
        first.setdefault(word.casefold(), i)
    at = np.array([first.get(w.casefold(), -1) for w in words])
    return np.maximum(at, 0), at >= 0
