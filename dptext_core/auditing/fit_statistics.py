"""Goodness of fit of released words: chi-square, exact binomial and Fisher tests of counts, and correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.capabilities import require_alignment
from ..mechanisms.config import capitals, cased
from ..privacy.distribution import TokenDistribution
from ..privacy.guarantee import Guarantee
from ..support.statistics import chance_for, smaller_tail, two_sided
from ..text.document import Document
from ..text.skeleton import Skeleton
from .report import Witness, format_probability
from .rules import flat
from .sampled import misfit, two_samples

#: Minimum number of rewrites for a test of independent places.
ENOUGH = 300
#: The worst fit is tested again if its p-value, corrected for the number of comparisons, is below this.
AGAIN = 1e-2


class _Forms(NamedTuple):
    """Caches shared by all texts of a check: words without capitals, and rendered lists of outputs.

    Lists are keyed by identity and stored with the value, so that no other list can reuse the identity."""

    words: dict[str, str]
    bare: dict[int, tuple[np.ndarray, dict[str, int], Sequence[str]]]
    written: dict[tuple[int, bool | None], tuple[RenderedOutputs, Sequence[str]]]


@dataclass
class StatedText:
    """A text with its stated distributions.

    stated: the distribution of each sampled token. per_draw: whether it differs by draw. ways: the entry points, and
    the number of rewrites for each."""

    m: Mechanism
    text: str
    prepared: Prepared
    document: Document
    stated: dict[int, TokenDistribution]
    guarantee: Guarantee
    ways: dict[str, int]
    per_draw: bool = False
    forms: _Forms = field(default_factory=lambda: _Forms({}, {}, {}))

    @property
    def once(self) -> bool:
        """Return whether equal words are sampled once."""
        return self.guarantee.unit.counts_distinct_words

    @cached_property
    def first(self) -> dict[int, int]:
        """Return for each sampled token the first one with the same word."""
        at: dict[str, int] = {}
        return {i: at.setdefault(self.document.tokens[i].text.casefold(), i) for i in sorted(self.stated)}

    @cached_property
    def shared(self) -> dict[int, int]:
        """Return for each sampled token the first one with the same word and a shared draw."""
        chances, places = self.m.likelihood, tuple(self.stated)
        stated = {i: i for i in places} if chances is None else chances.shared_draws(self.prepared, places)
        return {i: j if self.first[i] == self.first[j] else i for i, j in stated.items()}

    @cached_property
    def skeleton(self) -> Skeleton:
        """Return the skeleton of the tokens that should be kept."""
        return self.document.skeleton([i in self.stated for i in range(len(self.document.tokens))])

    def bare_word(self, word: str) -> str:
        """Return a word without the effect of the capitalisation rule."""
        known = self.forms.words
        if (bare := known.get(word)) is None:
            bare = known[word] = self.m.language.case(word, True).casefold()
        return bare

    def bare(self, candidates: Sequence[str]) -> tuple[np.ndarray, dict[str, int]]:
        """Return a number for each output, equal for outputs that differ only in case; and the number of each bare
        word."""
        known = self.forms.bare
        if id(candidates) not in known:
            at: dict[str, int] = {}
            numbers = np.array([at.setdefault(self.bare_word(c), len(at)) for c in candidates])
            known[id(candidates)] = numbers, at, candidates
        return known[id(candidates)][:2]

    def stays(self, d: TokenDistribution, word: str) -> float:
        """Return the stated probability of an output that equals the word, ignoring case."""
        numbers, at = self.bare(d.candidates)
        return float(d.probs[numbers == at.get(self.bare_word(word), -1)].sum())

    def capital(self, i: int, deleted: frozenset[int]) -> bool | None:
        """Return whether the public rule capitalises a word released at token i; None if there is no rule."""
        rule = capitals(self.m.config)
        if rule == "original":
            return self.document.tokens[i].text[:1].isupper()
        return None if rule == "none" else self.skeleton.starts(deleted)[i]


@dataclass
class Fit:
    """One comparison with its p-value. key: identifies it among those of its text and entry point."""

    p: float
    text: StatedText
    way: str
    key: tuple
    place: int | None
    output: str
    share: float
    log_p: float
    kind: str


@dataclass
class Counts:
    """Counts of the releases of n rewrites of a text through one entry point.

    words: counts for each place (and capital, and whether inserted). deleted, added: for each place. equal, both: for
    pairs of equal words. places: the quantile of each draw, one row per rewrite."""

    n: int = 0
    words: dict[tuple[int, bool | None, bool], dict[str, int]] = field(default_factory=dict)
    deleted: dict[int, int] = field(default_factory=dict)
    added: dict[int, int] = field(default_factory=dict)
    equal: dict[tuple[int, int], int] = field(default_factory=dict)
    both: dict[tuple[int, int], int] = field(default_factory=dict)
    places: list[np.ndarray] = field(default_factory=list)
    unchanged: int = 0
    expected: float = 0.0
    samples: int = 0


@dataclass(frozen=True)
class RenderedOutputs:
    """The spellings of a distribution's outputs when released. first: spelling → the first output with it. alike: for
    each output, that first one."""

    first: dict[str, int]
    alike: np.ndarray


def render_outputs(text: StatedText, d: TokenDistribution, capital: bool | None) -> RenderedOutputs:
    key, known = (id(d.candidates), capital), text.forms.written
    if key not in known:
        m = text.m
        shown = d.candidates if capital is None else [cased(m.config, m.language, c, capital) for c in d.candidates]
        first = {w: k for k, w in reversed(list(enumerate(shown)))}
        known[key] = RenderedOutputs(first, np.array([first[w] for w in shown])), d.candidates
    return known[key][0]


def middles_of(text: StatedText, n: int) -> dict[int, tuple[int, np.ndarray]]:
    """Return each closed form's column, and the middle of each output's interval in [0, 1], float64 (V,). Empty if n
    rewrites are too few for a test of independent places."""
    columns: dict[int, tuple[int, np.ndarray]] = {}
    if text.per_draw or n < ENOUGH:
        return columns
    for column, (i, d) in enumerate(text.stated.items()):
        if d.draws is None and len(d) > 1:
            columns[i] = column, np.cumsum(d.probs) - d.probs / 2
    return columns


def fits_of(
    text: StatedText, way: str, counts: Counts, inserted: dict[int, TokenDistribution], middles: dict
) -> list[Fit]:
    tokens = text.document.tokens
    if text.per_draw:
        # The probabilities depend on earlier draws, so this tail is approximate and no bound.
        mean = counts.expected / max(1, counts.samples)
        return [_chance_of(text, way, ("stays",), None, "the word itself", counts.unchanged, counts.samples, mean)]
    fits: list[Fit] = []
    unchanged, expected, samples = 0, 0.0, 0
    for (i, capital, insert), seen in counts.words.items():
        if text.once and text.first[i] != i:
            continue
        d = inserted[i] if insert else text.stated[i]
        written = render_outputs(text, d, capital)
        n = sum(seen.values())
        tally = np.bincount([written.first[w] for w in seen], list(seen.values()), minlength=len(d)).astype(np.int64)
        hits = sum(times for w, times in seen.items() if text.bare_word(w) == text.bare_word(tokens[i].text))
        stays = text.stays(d, tokens[i].text)
        key = (i, capital, insert)
        if d.draws is not None:
            p, y = two_samples(tally, np.rint(d.probs * d.draws).astype(np.int64))
            fits.append(_fit(p, text, way, ("words", *key), i, d, y, tally))
            p = _fisher_p(hits, n, round(stays * d.draws), d.draws)
            fits.append(Fit(p, text, way, ("stays", *key), i, "the word itself", hits / n, _log(stays), "stays"))
            continue
        merged = np.full(len(d), -np.inf)
        np.logaddexp.at(merged, written.alike, d.log_probs)
        p, y = misfit(tally, merged)
        fits.append(_fit(p, text, way, ("words", *key), i, d, y, tally))
        if insert:
            fits.append(_chance_of(text, way, ("stays", *key), i, "the word before it", hits, n, stays))
        else:
            unchanged, expected, samples = unchanged + hits, expected + n * stays, samples + n
    if samples:
        fits.append(_chance_of(text, way, ("stays",), None, "the word itself", unchanged, samples, expected / samples))
    words = require_alignment(text.m)
    for chance_, what, output, times in (
        (words.deletion_probability, "left out", "deletion", counts.deleted),
        (words.insertion_probability, "followed by an added word", "an added word after it", counts.added),
    ):
        if chance_ > 0:
            fits += [
                _chance_of(text, way, (what, i), i, output, times.get(i, 0), counts.n, chance_) for i in text.stated
            ]
    if not text.once:
        for (a, b), n in counts.both.items():
            if text.shared[a] == text.shared[b]:
                continue
            d, other = text.stated[a], text.stated[b]
            if d.draws is None and d.candidates is other.candidates:
                bare = text.bare(d.candidates)[0]
                p_equal = float((np.bincount(bare, d.probs) * np.bincount(bare, other.probs)).sum())
                fits.append(
                    _chance_of(text, way, ("equal", a, b), b, "the same word twice", counts.equal[a, b], n, p_equal)
                )
    return fits + _correlation_fits(text, way, counts, middles)


def _correlation_fits(text: StatedText, way: str, counts: Counts, middles: dict) -> list[Fit]:
    """Return fits for the independence of two places of a text: the correlation of their quantiles. Only for draws with
    many outputs, so that the correlation is nearly normal.
    """
    if len(counts.places) < ENOUGH:
        return []
    x = np.stack(counts.places)
    columns = {i: x[:, column] for i, (column, _) in middles.items()}
    spread = {i: c for i, c in columns.items() if np.isfinite(c).sum() >= ENOUGH and np.nanvar(c) > 0.02}
    fits = []
    for i, j in combinations(spread, 2):
        if (text.once and text.first[i] == text.first[j]) or text.shared[i] == text.shared[j]:
            continue
        both = np.isfinite(spread[i]) & np.isfinite(spread[j])
        if both.sum() < ENOUGH:
            continue
        r = float(np.corrcoef(spread[i][both], spread[j][both])[0, 1])
        # Fisher's z.
        p = two_sided(math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r))) * math.sqrt(both.sum() - 3))
        names = " and ".join(f"“{text.document.tokens[k].text}”" for k in (i, j))
        fits.append(Fit(p, text, way, ("together", i, j), None, names, abs(r), -math.inf, "together"))
    return fits


def _fit(
    p: float, text: StatedText, way: str, key: tuple, i: int, d: TokenDistribution, y: int, tally: np.ndarray
) -> Fit:
    share = float(tally[y] / tally.sum())
    return Fit(p, text, way, key, i, f"“{d.candidates[y]}”", share, float(d.log_probs[y]), "words")


def _chance_of(
    text: StatedText, way: str, key: tuple, place: int | None, what: str, hits: int, n: int, p: float
) -> Fit:
    """Return the p-value of hits among n draws with this mean probability. The binomial tail bounds that of draws with
    different probabilities (Hoeffding 1956)."""
    return Fit(_tail(hits, n, p), text, way, key, place, what, hits / max(1, n), _log(p), "stays")


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def _tail(hits: int, n: int, p: float) -> float:
    """Return twice the smaller tail of hits among n draws with probability p."""
    return min(1.0, 2 * float(smaller_tail(hits, n, min(max(p, 0.0), 1.0))))


def _fisher_p(a: int, n: int, b: int, m: int) -> float:
    """Return the p-value of Fisher's exact test of a in n against b in m."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[a, n - a], [b, m - b]]).pvalue)


def smallest_leak(text: StatedText, n: int, comparisons: int) -> float | None:
    """Return the smallest share of wrongly unchanged words that n rewrites detect with probability 95% among so many
    comparisons."""
    from scipy.special import bdtrc

    closed = [(i, d) for i, d in text.stated.items() if d.draws is None and not (text.once and text.first[i] != i)]
    if not closed or not n:
        return None
    samples = n * len(closed)
    p = float(np.mean([text.stays(d, text.document.tokens[i].text) for i, d in closed]))
    level = AGAIN / 2 / max(1, comparisons)
    at = np.arange(int(samples * p), int(samples * p + 40 + 12 * math.sqrt(samples * p)) + 1)
    at = at[at < samples]
    detectable = at[bdtrc(at, samples, p) <= level]
    if not len(detectable):
        return None
    return max(0.0, (chance_for(int(detectable[0]) + 1, samples) - p) / (1 - p))


def _percent(log_p: float) -> str:
    return format_probability(log_p) if log_p < math.log(1e-4) else f"{math.exp(log_p):.1%}"


def describe_fit(fit: Fit, m: Mechanism) -> Witness:
    token = None if fit.place is None else fit.text.document.tokens[fit.place].text
    epsilon = fit.text.m.config.epsilon
    where = f" at ε = {epsilon:.3g}" if fit.text.m is not m else ""
    what = "the words" if token is None else f"“{token}”"
    log_share = _log(fit.share)
    text = f"“{flat(fit.text.text)}”"
    if fit.kind == "together":
        message = (
            f"In {text} (entry point: {fit.way}){where}, {fit.output} were not sampled independently: their quantiles "
            f"have a correlation of {fit.share:.2f}."
        )
    else:
        message = (
            f"For {what} in {text} (entry point: {fit.way}){where}, {fit.output} occurred in {_percent(log_share)} of "
            f"the draws; the stated distribution gives it {_percent(fit.log_p)}."
        )
    return Witness(
        fit.text.text, fit.text.text, (fit.output,), log_share, fit.log_p, 0.0, token, token, "sampler", message
    )
