"""The evidence of a release about its original words: the likelihood of the released words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.likelihood import Likelihood
from ..models import MaskRequest
from ..pieces import FLAGGED
from ..privacy.distribution import TokenDistribution
from ..result import RewriteResult, Step
from ..support.task import UNWATCHED, Task
from . import bayes

if TYPE_CHECKING:
    from ..models.masked_lm import MaskedLM


#: Maximum number of passes over a text. Passes that have not converged by then cycle.
READINGS = 4
#: Number of words that are compared at a place if the probabilities of all words are not available at once.
CANDIDATES = 8
#: Number of words of a place with exact probabilities if a table serves the others.
SHARP = 8
_HELD = 256
#: Number of distributions that a mechanism computes at once.
_TOGETHER = 64


class ReleasedText:
    """A release with the places of sampled words, which are numbered like their steps."""

    def __init__(self, result: RewriteResult, inserted: bool = False, flagged: bool = False):
        """Collect the places. inserted, flagged: whether randomly added words, or flagged words, are places."""
        self.text, self._language = result.text, result.language
        rules, actions = result.trace.rules, ("replace", "insert") if inserted else ("replace",)
        steps = enumerate(result.steps)
        self.steps = {
            i: s
            for i, s in steps
            if s.action in actions and (flagged if s.reason == FLAGGED else s.reason not in rules)
        }
        #: The released words in order, with their numbers.
        self._words = {i: s.replacement for i, s in enumerate(result.steps) if s.action != "delete"}

    def read_as(self, steps: dict[int, Step], words: Sequence[str]) -> None:
        """Use these words as those of the text, and these steps, by their numbers, as its places."""
        self.steps, self._words = steps, dict(enumerate(words))

    def masked(self, lm: MaskedLM, now: Mapping[int, str], places: Sequence[int]) -> list[MaskRequest]:
        """Return one request for each place: the current text with that place masked."""
        pieces = [lm.word_pieces(now.get(i, word)) for i, word in self._words.items()]
        at = {i: k for k, i in enumerate(self._words)}
        return [MaskRequest(None, pieces, at[i]) for i in places]

    def written(self, now: Mapping[int, str]) -> tuple[str, dict[int, tuple[int, int]]]:
        """Return the text with other words at places, and the offsets of these. Capitals keep their positions."""
        out, spans, at, length = [], {}, 0, 0
        for i, step in self.steps.items():
            start, end = step.out
            word = step.replacement if i not in now else self._language.case(now[i], step.capital)
            spans[i] = (length + start - at, length + start - at + len(word))
            out += [self.text[at:start], word]
            length, at = spans[i][1], end
        return "".join([*out, self.text[at:]]), spans


class Evidence(ABC):
    """The log-likelihoods ln p(z | w) of the words of the prior, by place; all places are steps."""

    exact: bool
    #: Maximum number of passes over a text if each is slow.
    most: int = READINGS

    @abstractmethod
    def weights(self, i: int, log_base: np.ndarray, now: Mapping[int, str], task: Task) -> np.ndarray:
        """Return log_base (V,) plus ln p(z_i | w) of every word, float64 (V,); −∞ for impossible words. now: the
        current word at each place."""

    def of_places(
        self, places: Sequence[int], log_bases: Sequence[np.ndarray], now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        """Return :meth:`weights` of each of these places."""
        for i, log_base in zip(places, log_bases, strict=True):
            yield self.weights(i, log_base, now, task)

    def sharpened(self, i: int, weights: np.ndarray, log_base: np.ndarray, k: int) -> np.ndarray:
        """Return :meth:`weights` with exact values for the k most likely words, if it uses a table."""
        return weights

    def alone(
        self, places: Sequence[int], log_prior: np.ndarray, now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        """Return the weights of the best guess at each place, which ignores the context, float64 (V,)."""
        return self.of_places(places, [log_prior] * len(places), now, task)


class _OfEveryWord(Evidence):
    """Words that are sampled one by one, from probabilities with a formula."""

    exact = True

    def __init__(self, mechanism: Mechanism, releases: Sequence[Mapping[int, Step]], epsilons: Mapping[int, float]):
        self._by_word = bayes.closed_form(mechanism)
        self._releases, self._epsilons = releases, epsilons
        self._cache: dict[tuple[str, float], tuple[np.ndarray, float]] = {}

    def _likelihood(self, word: str, epsilon: float, task: Task) -> tuple[np.ndarray, float]:
        key = (word.lower(), epsilon)
        if key not in self._cache:
            if len(self._cache) >= _HELD:
                self._cache.pop(next(iter(self._cache)))
            self._cache[key] = self._by_word.log_likelihood(word, epsilon, task.quiet)
        return self._cache[key]

    def weights(self, i: int, log_base: np.ndarray, now: Mapping[int, str], task: Task) -> np.ndarray:
        out = log_base
        for release in self._releases:
            out = out + self._likelihood(release[i].replacement, self._epsilons[i], task)[0]
        return out

    def sharpened(self, i: int, weights: np.ndarray, log_base: np.ndarray, k: int) -> np.ndarray:
        for release in self._releases:
            word, epsilon = release[i].replacement, self._epsilons[i]
            _, error = self._likelihood(word, epsilon, UNWATCHED)
            if error and len(self._releases) == 1:
                return bayes.sharpen(self._by_word, word, epsilon, log_base, weights, k)[0]
        return weights

    def alone(
        self, places: Sequence[int], log_prior: np.ndarray, now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        for i in places:
            yield self.sharpened(i, self.weights(i, log_prior, now, task), log_prior, SHARP)


class _OfSomeWords(Evidence):
    """Evidence if ln p(z | w) is not available for every word: the most likely words in the reverse direction are
    evaluated."""

    exact = False

    @abstractmethod
    def _proposed(self, places: Sequence[int], now: Mapping[int, str], task: Task) -> Iterator[np.ndarray]:
        """Return approximate ln p(z_i | w) of every word at each place, float64 (V,)."""

    @abstractmethod
    def _evaluate(
        self, asked: Sequence[tuple[int, np.ndarray]], now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        """Return ln p(z_i | w) of some words at each place, float64 (n,)."""

    def alone(
        self, places: Sequence[int], log_prior: np.ndarray, now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        for proposed in self._proposed(places, now, task):
            yield log_prior + proposed

    def weights(self, i: int, log_base: np.ndarray, now: Mapping[int, str], task: Task) -> np.ndarray:
        return next(self.of_places([i], [log_base], now, task))

    def of_places(
        self, places: Sequence[int], log_bases: Sequence[np.ndarray], now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        likely, asked = [], []
        for i, log_base, proposed in zip(places, log_bases, self._proposed(places, now, task), strict=True):
            weights = log_base + proposed
            rows = np.argpartition(-weights, min(CANDIDATES, len(weights)) - 1)[:CANDIDATES]
            asked.append((i, np.sort(rows[np.isfinite(weights[rows])])))
            likely.append(weights)
        for log_base, weights, (_, rows), chances in zip(
            log_bases, likely, asked, self._evaluate(asked, now, task), strict=True
        ):
            out = np.full(len(weights), -np.inf)
            out[rows] = log_base[rows] + chances
            # If none of them is possible, the proposals are used.
            yield out if np.isfinite(out).any() else weights


class _OfDraws(_OfSomeWords):
    """Words that are sampled one by one, from probabilities that are estimated from draws."""

    def __init__(self, mechanism: Mechanism, releases: Sequence[Mapping[int, Step]], epsilons: Mapping[int, float]):
        by_word = mechanism.by_word
        assert by_word is not None
        self._by_word, self._releases, self._epsilons = by_word, releases, epsilons
        self._place = {w.lower(): k for k, w in enumerate(by_word.vocabulary.words)}
        self._cache: dict[tuple[str, float], np.ndarray] = {}

    def _counted(self, log_p: np.ndarray, draws: int) -> np.ndarray:
        """Return estimated probabilities with one extra draw shared by all words, since an unseen word is not
        impossible. With much more for each, all unseen words together would outweigh one that is almost always
        released."""
        return np.log(np.exp(log_p) * draws + 1 / len(self._place)) - np.log(draws)

    def _proposed(self, places: Sequence[int], now: Mapping[int, str], task: Task) -> Iterator[np.ndarray]:
        for i in places:
            task.check()
            yield self._over_words(i)

    def _over_words(self, i: int) -> np.ndarray:
        out = np.zeros(len(self._place))
        for release in self._releases:
            word, epsilon = release[i].replacement.lower(), self._epsilons[i]
            if word not in self._place:
                continue
            if (word, epsilon) not in self._cache:
                channel = self._by_word.channel(self._place[word])
                self._cache[word, epsilon] = self._counted(channel.at(epsilon).log_probs, channel.draws or 1)
            out += self._cache[word, epsilon]
        return out

    def _evaluate(
        self, asked: Sequence[tuple[int, np.ndarray]], now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        for i, rows in asked:
            task.check()
            draws = self._by_word.channel(int(rows[0])).draws or 1
            yield np.sum(
                [
                    self._counted(self._by_word.likelihood_of(r[i].replacement, self._epsilons[i], rows), draws)
                    for r in self._releases
                ],
                axis=0,
            )


class _InContext(_OfSomeWords):
    """Words whose distributions depend on the context, evaluated for the current text."""

    most = 2

    def __init__(
        self, mechanism: Mechanism, releases: Sequence[Mapping[int, Step]], text: ReleasedText, words: Sequence[str]
    ):
        self._mechanism, self._releases, self._text = mechanism, releases, text
        self._words = words
        self._chances = mechanism.likelihood or Likelihood(mechanism)
        self._places: tuple[Sequence[str], np.ndarray, np.ndarray, dict[str, np.ndarray]] | None = None

    def _stated(self, texts: Sequence[tuple[int, Mapping[int, str]]], task: Task) -> Iterator[TokenDistribution | None]:
        """Yield the distribution of each place for its given text; None if nothing would be sampled there. Places are
        requested in batches that are fast to compute."""
        planned: dict[str, Prepared] = {}
        for start in range(0, len(texts), _TOGETHER):
            asked = []
            for i, now in texts[start : start + _TOGETHER]:
                text, spans = self._text.written(now)
                prepared = planned.get(text) or planned.setdefault(text, self._mechanism.plan(text))
                tokens = prepared.document.tokens
                asked.append((prepared, next((k for k, t in enumerate(tokens) if t.start == spans[i][0]), None)))
            distributions = iter(self._chances.at([(p, k) for p, k in asked if k is not None], task.quiet))
            yield from [None if k is None else next(distributions) for _, k in asked]

    def _where(self, candidates: Sequence[str]) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return for each word of the prior its first index among candidates, and whether there is one; and all indices
        of each candidate, ignoring case."""
        if self._places is None or self._places[0] is not candidates:
            places: dict[str, list[int]] = {}
            for k, word in enumerate(candidates):
                places.setdefault(word.casefold(), []).append(k)
            at = np.array([places.get(w.casefold(), (-1,))[0] for w in self._words])
            arrays = {w: np.array(ks) for w, ks in places.items()}
            self._places = candidates, np.maximum(at, 0), at >= 0, arrays
        return self._places[1:]

    def _proposed(self, places: Sequence[int], now: Mapping[int, str], task: Task) -> Iterator[np.ndarray]:
        others = [{i: release[i].replacement for i in places} for release in self._releases[1:]]
        texts = [(i, {**now, i: word}) for i in places for word in (now[i], *(released[i] for released in others))]
        stated = self._stated(texts, task)
        for _ in places:
            yield np.sum([self._of_words(next(stated)) for _ in self._releases], axis=0)

    def _of_words(self, d: TokenDistribution | None) -> np.ndarray:
        """Return the log-probability of each word of the prior; the smallest one for impossible words."""
        if d is None:
            return np.zeros(len(self._words))
        at, there, _ = self._where(d.candidates)
        return np.where(there, d.log_probs[at], d.log_probs.min())

    def _evaluate(
        self, asked: Sequence[tuple[int, np.ndarray]], now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        texts = [(i, {**now, i: self._words[row]}) for i, rows in asked for row in rows.tolist()]
        stated = self._stated(texts, task)
        for i, rows in asked:
            yield np.array([self._ln(next(stated), i) for _ in rows])

    def _ln(self, d: TokenDistribution | None, i: int) -> float:
        """Return the log-probability of the released word at place i."""
        if d is None:
            return -np.inf
        places = self._where(d.candidates)[2]
        indices = [places.get(release[i].replacement.casefold()) for release in self._releases]
        return float(sum(-np.inf if at is None else np.logaddexp.reduce(d.log_probs[at]) for at in indices))


class _BesideFlagged(Evidence):
    """The evidence of a mechanism with flagged places, whose outputs are independent of the original."""

    def __init__(self, inner: Evidence, flagged: Collection[int], exact: bool):
        self._rest, self._flagged = inner, flagged
        self.exact, self.most = exact, inner.most

    def _beside(
        self, places: Sequence[int], log_bases: Sequence[np.ndarray], inner_rows: Iterator[np.ndarray]
    ) -> Iterator[np.ndarray]:
        for i, log_base in zip(places, log_bases, strict=True):
            yield log_base if i in self._flagged else next(inner_rows)

    def _others(self, places: Sequence[int]) -> list[int]:
        return [k for k, i in enumerate(places) if i not in self._flagged]

    def weights(self, i: int, log_base: np.ndarray, now: Mapping[int, str], task: Task) -> np.ndarray:
        return log_base if i in self._flagged else self._rest.weights(i, log_base, now, task)

    def of_places(
        self, places: Sequence[int], log_bases: Sequence[np.ndarray], now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        at = self._others(places)
        inner_rows = self._rest.of_places([places[k] for k in at], [log_bases[k] for k in at], now, task)
        return self._beside(places, log_bases, inner_rows)

    def sharpened(self, i: int, weights: np.ndarray, log_base: np.ndarray, k: int) -> np.ndarray:
        return weights if i in self._flagged else self._rest.sharpened(i, weights, log_base, k)

    def alone(
        self, places: Sequence[int], log_prior: np.ndarray, now: Mapping[int, str], task: Task
    ) -> Iterator[np.ndarray]:
        inner_rows = self._rest.alone([places[k] for k in self._others(places)], log_prior, now, task)
        return self._beside(places, [log_prior] * len(places), inner_rows)


def evidence_of(
    mechanism: Mechanism, text: ReleasedText, releases: Sequence[Mapping[int, Step]], words: Sequence[str]
) -> Evidence:
    """Return the evidence in releases of one text for a reader who knows the mechanism."""
    flagged = {i for i, s in text.steps.items() if s.reason == FLAGGED}
    evidence = _of_mechanism(mechanism, text, releases, words)
    if not flagged:
        return evidence
    return _BesideFlagged(evidence, flagged, evidence.exact or len(flagged) == len(text.steps))


def _of_mechanism(
    mechanism: Mechanism, text: ReleasedText, releases: Sequence[Mapping[int, Step]], words: Sequence[str]
) -> Evidence:
    if mechanism.by_word is None:
        return _InContext(mechanism, releases, text, words)
    given = mechanism.config.epsilon
    epsilons = {i: float(given[s.index] if isinstance(given, tuple) else given) for i, s in text.steps.items()}
    return (_OfEveryWord if bayes.is_available(mechanism) else _OfDraws)(mechanism, releases, epsilons)
