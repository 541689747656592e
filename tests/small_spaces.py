"""Small word spaces and lists, on which everything can be worked out by brute force, and what the tests share.

A mechanism reads its vocabulary once (``cached_property``), so a test can put a small one in its place (:func:`over`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

import dptext_core as dpt
from dptext_core import WordSpace
from dptext_core.mechanisms.words.list_bundle import Bundle
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.privacy.distribution import Channel, TokenDistribution
from dptext_core.words.lists import WordList

_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def words(n: int) -> tuple[str, ...]:
    """n words that no language has: none is a stop word, each is one token."""
    return tuple(f"{_SYLLABLES[i // 70]}{_SYLLABLES[i % 70]}q" for i in range(n))


def random_space(n: int = 40, d: int = 6, seed: int = 0, scale: float = 0.5) -> WordSpace:
    """Normal vectors: distances of about scale·√(2d)."""
    vectors = np.random.default_rng(seed).normal(size=(n, d)) * scale
    return WordSpace("small", "a small space", words(n), vectors.astype(np.float32))


def over(vocabulary, cls: type, **options):
    """A mechanism of this class over this vocabulary, which it keeps with other options too (``replace``)."""
    own = type(cls.__name__, (cls,), {"vocabulary": vocabulary, "__module__": cls.__module__, "__doc__": cls.__doc__})
    return own.create(**options)


def on(vocabulary, name: str, **options):
    """A mechanism over this vocabulary, which releases words as they are in it."""
    return over(vocabulary, dpt.mechanism_class(name), **({"recase": "none", "keep_stopwords": False} | options))


def small_bundle(orders: Sequence[Sequence[str]]) -> Bundle:
    """Lists of words as a bundle, by plain loops."""
    shared = [w for w in orders[0] if all(w in one for one in orders)]
    outputs: list[str] = []
    for one in orders:
        outputs += [w for w in one if w not in outputs]
    return Bundle(
        tuple(WordList(f"list {i}", "small", tuple(one)) for i, one in enumerate(orders)),
        tuple(shared),
        tuple(outputs),
        np.array([[list(one).index(w) for w in shared] for one in orders]),
        tuple(np.array([outputs.index(w) for w in one]) for one in orders),
    )


def shuffled_lists(n: int, lists: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[words(n)[i] for i in rng.permutation(n)] for _ in range(lists)]


#: Names for as many lists as a test has: only their number matters where the bundle is given.
LIST_NAMES = ("minilm-1", "minilm-2", "word2vec-1", "word2vec-2", "fasttext-1", "fasttext-2")


def diffractor(orders: Sequence[Sequence[str]], **options):
    """1-Diffractor over these lists."""
    return on(small_bundle(orders), "diffractor", **({"lists": LIST_NAMES[: len(orders)]} | options))


def fit(counts: np.ndarray, probs: np.ndarray) -> float:
    """p-value of the chi-square test that counts were drawn with these probabilities; rare cells are merged."""
    probs = np.asarray(probs, float)
    counts, expected = np.asarray(counts, float)[probs > 0], probs[probs > 0] * np.sum(counts)
    assert counts.sum() == pytest.approx(expected.sum()), "something impossible was drawn"
    order = np.argsort(expected)
    cell = np.floor(np.cumsum(expected[order]) / 8).astype(int)
    _, cell = np.unique(cell, return_inverse=True)
    e, c = np.bincount(cell, expected[order]), np.bincount(cell, counts[order])
    if len(e) > 2 and e[-1] < 5:
        e[-2], c[-2], e, c = e[-2] + e[-1], c[-2] + c[-1], e[:-1], c[:-1]
    if len(e) < 2:
        return 1.0
    return float(stats.chi2.sf(((c - e) ** 2 / e).sum(), len(e) - 1))


def same(a: np.ndarray, b: np.ndarray) -> float:
    """p-value of the chi-square test that two vectors of counts come from one distribution; rare cells are merged."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    total = a + b
    order = np.argsort(total)
    _, cell = np.unique(np.floor(np.cumsum(total[order]) / 20).astype(int), return_inverse=True)
    table = np.stack([np.bincount(cell, a[order]), np.bincount(cell, b[order])])
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


def counts_of(released: Sequence[str], candidates: Sequence[str]) -> np.ndarray:
    """How often each candidate was released, int64."""
    at = {w: i for i, w in enumerate(candidates)}
    return np.bincount([at[w] for w in released], minlength=len(candidates))


def rewritten(m, word: str, n: int, seed: int) -> list[str]:
    """What n occurrences of a word in one text become."""
    result = m.rewrite(" ".join([word] * n), seed)
    return [s.replacement for s in result.steps]


class Sampled(Channel):
    """A channel as one that can only be drawn from."""

    draws = 1000

    def __init__(self, channel):
        self.channel = channel

    candidates = property(lambda self: self.channel.candidates)
    source = property(lambda self: self.channel.source)
    source_index = property(lambda self: self.channel.source_index)

    def at(self, epsilon):
        d = self.channel.at(epsilon)
        return TokenDistribution(
            d.candidates, d.log_probs, d.source, epsilon, 1000, None, lambda n, stream: d.sample_indices(n, stream)
        )


class Noisy(SanText):
    """SanText without its closed form. It draws many words at once, since these tests take very many."""

    def channels(self, rows):
        return [Sampled(channel) for channel in super().channels(rows)]

    def _draw(self, draws, task):
        rng = np.random.default_rng([int(stream.at("many").uniform() * 2**52) for stream, _ in draws.texts])
        drawn = np.empty(len(draws.rows), dtype=object)
        for row, epsilon in set(zip(draws.rows.tolist(), draws.epsilons.tolist(), strict=True)):
            d = super().channels(np.array([row]))[0].at(epsilon)
            here = (draws.rows == row) & (draws.epsilons == epsilon)
            drawn[here] = rng.choice(np.array(d.candidates, dtype=object), int(here.sum()), p=d.probs / d.probs.sum())
        return drawn.tolist()
