"""Test whether the words released at each position follow the stated distributions.

Leaks are tested at an ε much smaller than the mechanism's own (:func:`small`), at which almost every word is replaced.
There an unchanged word, or a draw of one text that equals that of another, has a small stated probability. So a few of
them at one position of a batch, late in a text or at the first rewrite refute. The probability of so many is bounded by
:func:`too_many`, which also holds for draws that depend on earlier ones.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import Mechanism, Prepared, WordByWord
from ..mechanisms.capabilities import public_context, sampled_tokens
from ..mechanisms.config import MIN_EPSILON
from ..privacy.distribution import TokenDistribution
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.statistics import chance_for, upper_limit
from .inputs import Meter

#: The largest probability that one check refutes wrongly; a dozen of them are below SAMPLER_LEVEL together.
LEVEL = 5e-8
_RATES = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0])
#: Estimated probabilities have bounds that are exceeded with at most this probability.
_SURE = 1e-13
#: A word with a larger stated probability of being unchanged is uninformative.
_OFTEN = 0.2


def too_many(hits: Any, chances: np.ndarray) -> Any:
    """Bound the probability of ``hits`` (…) or more among draws with ``chances`` (…, n), each given all before it.

    e^(r·hits) / Π (1 + (e^r − 1)·p) is a martingale for any rate r, and so is the mean over some rates. It reaches 1/α
    with probability at most α (Ville 1939).
    """
    logs = np.stack([r * np.asarray(hits, np.float64) - np.log1p(math.expm1(r) * chances).sum(axis=-1) for r in _RATES])
    top = logs.max(axis=0)
    probabilities = np.exp(-np.maximum(top + np.log(np.exp(logs - top).mean(axis=0)), 0.0))
    return float(probabilities) if np.ndim(probabilities) == 0 else probabilities


def least_hits(n: int, p: float, level: float) -> int | None:
    """Return the number of hits among n draws of probability p that refutes; None if not even n hits would."""

    def refuted(hits: int) -> bool:
        logs = _RATES * hits - n * np.log1p(np.expm1(_RATES) * p)
        return bool(np.log(np.exp(logs - logs.max()).mean()) + logs.max() >= -math.log(level))

    hits = bisect_left(range(1, n + 1), True, key=refuted) + 1
    return hits if hits <= n else None


def least_share(n: int, p: float, level: float, power: float = 0.95) -> float | None:
    """Return the smallest share of leaking draws that :func:`too_many` refutes with probability ``power``, among n
    draws of probability p. None if not even all of them suffice."""
    hits = least_hits(n, p, level)
    return None if hits is None else max(0.0, (chance_for(hits, n, power) - p) / (1 - p))


def once_in(n: int, power: float = 0.95) -> float:
    """Return the smallest share of n occasions that contains one of them with probability ``power``."""
    return 1.0 - (1.0 - power) ** (1.0 / n)


def with_small_epsilon(m: Mechanism) -> Mechanism:
    """Return the same mechanism with an ε at which almost every word is replaced; itself if there is no smaller ε."""
    epsilon = m.config.epsilon
    options = {f.name: getattr(m.config, f.name) for f in dataclasses.fields(m.config) if f.name != "epsilon"}
    low = max(MIN_EPSILON, min(epsilon, type(m).epsilon_range(options)[0]) / 16)
    return m if low >= epsilon else with_epsilon(m, low)


def with_epsilon(m: Mechanism, epsilon: float) -> Mechanism:
    """Return a copy with another ε, which keeps attributes that were set on the instance (such as a vocabulary)."""
    other = copy.copy(m)
    other._config = replace(m.config, epsilon=epsilon)
    return other


def new_instance(m: Mechanism) -> Mechanism:
    """Return another instance of the same mechanism that has rewritten nothing yet. It shares cached properties, which
    depend on the options alone."""
    try:
        other = type(m)(m.config)
    except TypeError:  # a plugin's own constructor
        return copy.copy(m)
    for cls in type(m).__mro__:
        for name, value in vars(cls).items():
            if isinstance(value, cached_property) and name in m.__dict__:
                other.__dict__[name] = m.__dict__[name]
    return other


def has_alignment(m: Mechanism) -> bool:
    """Return whether released words correspond to original words and have distributions."""
    return {"alignment", "distribution"} <= m.can


def is_cheap(m: Mechanism) -> bool:
    """Return whether a prepared text can be rewritten again without a model pass, according to the mechanism."""
    return m.by_word is not None or "sweep" in m.can


# --- releases


@dataclass(frozen=True)
class ObservedDraw:
    """One draw of a rewrite.

    place: the token, or the part. hit: whether the word is unchanged or, in a new text, occurs in the original. chance:
    the stated probability of a hit. d: its distribution. at: the sampled candidate, None if unknown. p: its stated
    probability."""

    place: int
    hit: bool
    chance: float
    d: TokenDistribution
    at: int | None
    p: float


class ReleaseReader:
    """Compares rewrites with the stated distributions of their texts.

    The statements come from the mechanism, not from the result: a leaky result may state its own distribution
    truthfully."""

    def __init__(self, m: Mechanism, meter: Meter):
        self.m, self.meter = m, meter
        self.memo: dict[Any, tuple[TokenDistribution | None, Prepared]] = {}
        self._places: dict[int, tuple[dict[str, np.ndarray], Sequence[str]]] = {}
        self._orders: dict[int, tuple[list[int], Prepared]] = {}

    def places(self, d: TokenDistribution) -> dict[str, np.ndarray]:
        """Return the indices among the candidates for each bare word."""
        known = self._places.get(id(d.candidates))
        if known is None:
            places: dict[str, list[int]] = {}
            for i, word in enumerate(d.candidates):
                places.setdefault(strip_word(word), []).append(i)
            known = {w: np.array(at) for w, at in places.items()}, d.candidates
            self._places[id(d.candidates)] = known
        return known[0]

    def stated(self, prepared: Prepared, i: int) -> TokenDistribution | None:
        """Return the distribution of token i; None if it is kept."""
        m = self.m
        alone = m.by_word is not None and public_context(m, prepared, i) is None
        key = prepared.document.tokens[i].text if alone else (id(prepared), i)
        if key not in self.memo:
            self.meter.task.check()
            try:
                d = m.distribution(prepared, i)
            except NoDistribution:
                d = None
            # The text is stored too, so that no other one can reuse its id.
            self.memo[key] = d, prepared
        return self.memo[key][0]

    def of_words(self, prepared: Prepared, result: RewriteResult) -> Iterator[ObservedDraw]:
        """Yield the released words of a rewrite for words that should be sampled."""
        once = result.guarantee.unit.counts_distinct_words
        before: set[str] = set()
        order = self._order(prepared)
        released = {s.index: s.replacement for s in result.steps if s.action != "insert"}
        edited = any(s.action in ("insert", "delete") for s in result.steps)
        for k, step in enumerate(result.steps):
            if step.action == "insert":
                continue
            d = self.stated(prepared, step.index)
            word = strip_word(step.original)
            if d is None or step.action == "delete" or (once and word in before):
                continue
            before.add(word)
            if step.index in order and step.action == "replace":
                if edited:
                    d = result.distribution(k)
                elif self.m.likelihood is not None and (earlier := order[: order.index(step.index)]):
                    d = self.m.likelihood.after(prepared, step.index, [(j, released[j]) for j in earlier])
            yield self._observe(step.index, d, strip_word(step.replacement), (word,), None)

    def of_pieces(self, prepared: Prepared, result: RewriteResult) -> Iterator[ObservedDraw]:
        """Yield the sampled parts of a new text, each given those before it."""
        words = tuple({strip_word(t.text) for t in prepared.document.tokens if t.kind == "word"})
        for i, d in result.distributions():
            yield self._observe(i, d, strip_word(result.releases[i].text), words, result.candidate(i))

    def read(self, prepared: Prepared, result: RewriteResult) -> list[ObservedDraw]:
        """Return the draws of one rewrite."""
        self.meter.task.check()
        return [*(self.of_words if "alignment" in result.can else self.of_pieces)(prepared, result)]

    def _order(self, prepared: Prepared) -> list[int]:
        """Return the sampled tokens in the order of their draws, if a draw depends on those before it."""
        if self.m.by_word is not None or self.m.likelihood is None:
            return []
        key = id(prepared)
        if key not in self._orders:
            self._orders[key] = [*self.m.likelihood.before(prepared, NoiseStream(0))], prepared
        return self._orders[key][0]

    def _observe(
        self, place: int, d: TokenDistribution, word: str, others: Sequence[str], at: int | None
    ) -> ObservedDraw:
        places = self.places(d)
        chance = min(1.0, sum(_mass(d, places.get(w)) for w in others))
        where = places.get(word)
        if at is None and where is not None:
            at = int(where[0])
        p = float(d.probs[at]) if at is not None and d.draws is None else _mass(d, where)
        return ObservedDraw(place, word in others, chance, d, at, p)


def _mass(d: TokenDistribution, at: np.ndarray | None) -> float:
    """Return the probability of these candidates; an upper bound for an estimate."""
    p = 0.0 if at is None else float(d.probs[at].sum())
    return p if d.draws is None else float(upper_limit(round(p * d.draws), d.draws, _SURE))


def bounds(d: TokenDistribution) -> np.ndarray:
    """Return the probability of each candidate, float64 (V,); upper bounds for an estimate."""
    if d.draws is None:
        return d.probs
    counts, where = np.unique(np.rint(d.probs * d.draws).astype(np.int64), return_inverse=True)
    return np.array([float(upper_limit(k, d.draws, _SURE)) for k in counts.tolist()])[where]


def strip_word(word: str) -> str:
    """Return a word without capitals and without the markers of a model's vocabulary."""
    return word.strip(" ▁Ġ#").casefold()


# --- noise and texts of the audit


def noise_of(stream: NoiseStream, *path: int) -> NoiseStream:
    """Return the noise of one call of the mechanism: that of the audit's seed at this path, or fresh without a seed."""
    return stream.at("noise", *path) if stream.seed is not None else NoiseStream()


def shuffle(items: Sequence[Any], stream: NoiseStream) -> list[Any]:
    """Return the items in a random order of the audit."""
    return [items[i] for i in np.argsort(stream.uniforms(len(items)), kind="stable").tolist()]


def public_words(m: Mechanism, n: int, stream: NoiseStream) -> list[str]:
    """Return n words of a public vocabulary in a random order of the audit, preferring common ones."""
    by_word = m.by_word
    if by_word is not None:
        every: Sequence[str] = [w for w in by_word.vocabulary.words if w.isalpha()]
    else:
        from ..words import word_space

        every = [w for w in word_space().words[200:6000] if w.isalpha() and len(w) > 3]
    return shuffle(every, stream)[:n]


def drawn_words(m: Mechanism, given: Sequence[str], n: int, stream: NoiseStream, meter: Meter) -> list[str]:
    """Return n sampled words with a small probability of being unchanged: from a public vocabulary, and the given words
    if that has too few."""
    pool = list(dict.fromkeys([*public_words(m, 6 * n + 40, stream), *given]))
    words: list[str] = []
    often: list[str] = []
    reader = ReleaseReader(m, meter)
    for start in range(0, len(pool), 40):
        block = pool[start : start + 40]
        prepared = m.plan(" ".join(block))
        tokens = prepared.document.tokens
        for i in sampled_tokens(m, prepared) if [t.text for t in tokens] == block else ():
            if len(words) >= n:
                return words
            if m.by_word is None:
                words.append(tokens[i].text)
                continue
            d = reader.stated(prepared, i)
            if d is not None and not is_unknown(m.by_word, prepared, i):
                chance = _mass(d, reader.places(d).get(strip_word(tokens[i].text)))
                (words if chance <= _OFTEN else often).append(tokens[i].text)
    return (words + often)[:n]


def is_unknown(by_word: WordByWord, prepared: Prepared, i: int) -> bool:
    """Return whether token i is unknown to the vocabulary."""
    return by_word.token_row(prepared, i) is None
