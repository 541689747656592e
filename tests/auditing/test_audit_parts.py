"""What an audit is made of, against plain loops: losses, tests of counts, and which inputs are looked at."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_spaces import on, over, random_space

import dptext_core as dpt
from dptext_core import auditing
from dptext_core.auditing import exact, inputs, sampled, verdict
from dptext_core.auditing.inputs import Meter, Probe
from dptext_core.auditing.vocabulary import stated_words
from dptext_core.mechanisms.words.santext import SanText

SPACE = random_space(30, 4)
METER = Meter()
NAMES = [f"w{i}" for i in range(9)]


def probes(log_p: np.ndarray, same_outputs: bool = True) -> list[Probe]:
    """One input for each row; with outputs in an order of its own for each where they are not all the same."""
    found = []
    for k, row in enumerate(log_p):
        order = list(range(len(row)))
        if not same_outputs:
            random.Random(k).shuffle(order)
            order = [y for y in order if row[y] > -math.inf]
        d = dpt.TokenDistribution([NAMES[y] for y in order], np.array([row[y] for y in order]), "x", 1.0)
        found.append(Probe(f"input {k}", None, "x", d, None, 0, True))  # type: ignore[arg-type]
    return found


def loss(p: np.ndarray, q: np.ndarray) -> float:
    """max ln p/q over the outputs of p."""
    return max((math.inf if q[y] == -math.inf else p[y] - q[y]) for y in range(len(p)) if p[y] > -math.inf)


def brute(log_p: np.ndarray, apart: np.ndarray) -> float:
    values = [
        loss(log_p[a], log_p[b]) / apart[a, b]
        for a in range(len(log_p))
        for b in range(len(log_p))
        if np.isfinite(apart[a, b])
    ]
    return max(values, default=0.0)


def tables(rng: np.random.Generator, n: int, impossible: float) -> np.ndarray:
    p = rng.dirichlet(np.ones(9) / 2, n)
    p[(rng.random(p.shape) < impossible) & (p < p.max(axis=1, keepdims=True))] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(p / p.sum(axis=1, keepdims=True))


def distances(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    if kind == "groups":  # in no order, some of one input alone
        group = rng.integers(0, 4, n)
        out = np.where(group[:, None] == group[None], 1.0, np.nan)
    elif kind == "a chain":  # each is alike to the next, and not to the one after it
        out = np.where(np.abs(np.subtract.outer(range(n), range(n))) == 1, 1.0, np.nan)
    else:
        out = rng.uniform(0.2, 3.0, (n, n))
        out = np.where(rng.random((n, n)) < 0.3, np.nan, out)
        out = np.where(np.tri(n, dtype=bool), out, out.T)
    np.fill_diagonal(out, np.nan)
    return out


@pytest.mark.parametrize("kind", ["groups", "a chain", "distances"])
@pytest.mark.parametrize("same_outputs", [True, False])
@pytest.mark.parametrize("impossible", [0.0, 0.05])
def test_the_largest_loss_is_that_of_a_plain_loop(kind, same_outputs, impossible):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        log_p, apart = tables(rng, 7, impossible), distances(rng, 7, kind)
        found, witness = exact.largest_loss(probes(log_p, same_outputs), apart, METER)
        assert found == pytest.approx(brute(log_p, apart), rel=1e-9)
        if np.isfinite(apart).any():
            a, b = (int(text.removeprefix("input ")) for text in (witness.first, witness.second))
            assert witness.distance == apart[a, b]
            assert loss(log_p[a], log_p[b]) / apart[a, b] == pytest.approx(found, rel=1e-9)
            y = NAMES.index(witness.output)
            assert (witness.log_p_first, witness.log_p_second) == pytest.approx((log_p[a, y], log_p[b, y]))


def divergence(log_p: np.ndarray, epsilon: float) -> float:
    """The largest Σ max(0, p − e^ε·q) over all ordered pairs."""
    p = np.exp(log_p)
    return max(
        np.maximum(a - math.exp(epsilon) * b, 0).sum() for i, a in enumerate(p) for j, b in enumerate(p) if i != j
    )


@pytest.mark.parametrize("delta", [1e-4, 0.05, 0.4])
@pytest.mark.parametrize("impossible", [0.0, 0.1])
def test_the_least_epsilon_beside_a_delta_is_the_one_at_which_no_pair_differs_by_more(delta, impossible):
    for seed in range(8):
        log_p = tables(np.random.default_rng(seed), 5, impossible)
        found, witness = exact.loss_beyond(probes(log_p), delta, METER)
        if math.isinf(found):
            assert divergence(log_p, 600.0) > delta and witness is not None
        elif found == 0:
            assert divergence(log_p, 0.0) <= delta * (1 + 1e-8) and witness is None
        else:
            assert divergence(log_p, found + 1e-6) <= delta < divergence(log_p, found - 1e-6) + 1e-12
            a, b = (int(text.removeprefix("input ")) for text in (witness.first, witness.second))
            p = np.exp(log_p)
            excess = np.maximum(p[a] - math.exp(found) * p[b], 0).sum()
            assert excess == pytest.approx(delta, rel=1e-4), "the pair that differs longest"


def test_what_lies_deeper_than_the_sampler_goes_is_found():
    log_p = np.log(np.full((1, 3), 1 / 3))
    assert exact.too_deep(probes(log_p)) is None
    log_p[0, 1] = -719.9
    assert exact.too_deep(probes(log_p)) is None
    log_p[0, 1] = -720.1
    assert "never released" in exact.too_deep(probes(log_p)).sentence()
    log_p[0, 1] = -math.inf
    assert exact.too_deep(probes(log_p)) is None, "what is impossible is not said to come out"


# --- counts


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 400), st.data(), st.sampled_from([1e-6, 0.003, 0.2]))
def test_the_bounds_of_a_chance_are_clopper_and_pearsons(n, data, alpha):
    hits = data.draw(st.integers(0, n))
    low, high = float(sampled.lower_limit(hits, n, alpha)), float(sampled.upper_limit(hits, n, alpha))
    assert low == pytest.approx(stats.beta.ppf(alpha, hits, n - hits + 1) if hits else 0.0, rel=1e-8)
    assert high == pytest.approx(stats.beta.ppf(1 - alpha, hits + 1, n - hits) if hits < n else 1.0, rel=1e-8)
    assert low <= hits / n <= high
    best = sampled.could_show(n, alpha)
    assert best == pytest.approx(math.log(sampled.lower_limit(n, n, alpha) / sampled.upper_limit(0, n, alpha)))
    assert sampled.could_show(n, alpha, 0.999999) == 0.0
    if sampled.lower_limit(n, n, alpha) > 2e-3:
        assert sampled.could_show(n, alpha, 1e-3) < best


def test_two_samples_differ_where_they_do_and_fit_where_they_do_not():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(40))
    a, b = rng.multinomial(3000, p), rng.multinomial(5000, p)
    assert sampled.two_samples(a, b)[0] > 1e-4
    other = b.copy()
    other[7] += 600
    chance, worst = sampled.two_samples(a, other)
    assert chance < 1e-12 and worst == 7
    # Merged to about 100 each, it is the plain chi-square test of the merged counts.
    few = np.array([400, 350, 250]), np.array([420, 330, 250])
    assert sampled.two_samples(*few)[0] == pytest.approx(stats.chi2_contingency(np.stack(few), correction=False).pvalue)
    assert sampled.two_samples(np.array([3, 2]), np.array([4, 1]))[0] == 1.0, "too few to tell anything"


def test_the_event_that_is_chosen_is_the_best_of_those_with_the_highest_ratios():
    rng = np.random.default_rng(5)
    for delta in (0.0, 0.05):
        a, b = rng.multinomial(800, rng.dirichlet(np.ones(12))), rng.multinomial(800, rng.dirichlet(np.ones(12)))
        value, chosen = sampled.event(a, b, 800, 0.01, delta)
        seen = np.flatnonzero(a)
        order = seen[np.argsort(-(a[seen] + 0.5) / (b[seen] + 0.5), kind="stable")]
        every = []
        for k in range(1, len(order) + 1):
            low = float(sampled.lower_limit(a[order[:k]].sum(), 800, 0.01)) - delta
            high = float(sampled.upper_limit(b[order[:k]].sum(), 800, 0.01))
            every.append(math.log(max(low, 1e-300) / high))
        assert value == pytest.approx(max(every)) and list(chosen) == list(order[: int(np.argmax(every)) + 1])


# --- inputs


def test_default_words_are_spread_over_the_frequencies_each_with_its_likeliest_other_output():
    m = on(SPACE, "santext", epsilon=3.0)
    for n in (4, 8, 12):
        words = inputs.default_words(m, n)
        assert n - 1 <= len(words) == len(set(words)) <= n and set(words) <= set(SPACE.words)
        ranks = sorted(SPACE.index(w) for w in words)
        assert ranks[0] == 0 and ranks[-1] >= 20, "from the most common to the rare ones"
        likeliest = [m.distribution(w, 0).top(2)[1][0] for w in words]
        assert sum(w in words for w in likeliest) >= n // 2
    assert len(inputs.default_words(m, 1)) >= 2, "two can be compared"
    few = on(SPACE, "santext-plus", epsilon=3.0, sensitive=0.5)
    assert all(SPACE.index(w) >= 15 for w in inputs.default_words(few, 10)), "those that the promise covers"


def test_default_texts_of_a_public_context_differ_in_their_drawn_words_alone(tiny_model):
    m = dpt.get_mechanism("dp-mlm-prior", model=tiny_model, epsilon=10.0)
    found = inputs.default_inputs(m)
    assert len(found) == len(set(found)) == 12
    for texts in (found[:4], found[4:8], found[8:]):
        plans = [m.plan(t) for t in texts]
        assert len({p.skeleton for p in plans}) == 1 and all(m.audit_support.adjacent(texts[0], t) for t in texts)
        for i in plans[0].targets:
            assert len({p.document.tokens[i].text.lower() for p in plans}) == 4, "another word at each place"
        for p in plans[1:]:
            words = [p.document.tokens[i].text for i in p.targets]
            assert len(set(words)) > len(words) // 2, "not one word everywhere"
    assert inputs.default_inputs(dpt.get_mechanism("dp-mlm", model=tiny_model)) == list(auditing.TEXTS)


def test_words_of_one_input_are_looked_at_as_those_of_many_together():
    m = on(SPACE, "santext", epsilon=3.0)
    names = [*SPACE.words[:5], "qzxk", SPACE.words[7]]
    together, skipped = inputs.probes_of(m, names, METER)
    assert [p.word for p in together] == [w for w in names if w != "qzxk"]
    assert skipped == [("qzxk", "not in the vocabulary")]
    for p in together:
        (alone,), _ = inputs.probes_of(m, [p.word], METER)
        assert (p.text, p.at) == (alone.text, alone.at) == (p.word, None)
        assert p.d.log_probs == pytest.approx(alone.d.log_probs) and alone.alone
    (one, other), _ = inputs.probes_of(m, [f"{SPACE.words[0]}, {SPACE.words[1]}!"], METER)
    assert (one.at, other.at) == SPACE.words[:2] and (one.index, other.index) == (0, 2) and not one.alone


class Silent(SanText):
    """Of some words it states no chances, and draws them all the same."""

    def distribution(self, text, index):
        if self.plan(text).document.words[index] in SILENT:
            raise dpt.NoDistribution("rare words have no formula")
        return super().distribution(text, index)


class Fails(SanText):
    """It fails at one word."""

    def channels(self, rows):
        if 25 in np.asarray(rows):
            raise ValueError("row 25 is bad")
        return super().channels(rows)


SILENT = SPACE.words[10:20]


@pytest.mark.parametrize(("cls", "word"), [(Silent, SILENT[0]), (Fails, SPACE.words[25])])
def test_of_a_word_that_is_drawn_without_stated_chances_nothing_can_be_told(cls, word, few_releases, monkeypatch):
    monkeypatch.setattr(verdict, "LATER", (stated_words,))
    report = auditing.audit(over(SPACE, cls, epsilon=3.0, recase="none", keep_stopwords=False), draws=100)
    assert report.verdict == "inconclusive" and word in dict(report.skipped)
    checks = {c.name: c for c in report.checks}
    assert checks["stated probabilities"].status == "not tested"
    if cls is Silent:
        assert "have no stated probabilities" in checks["stated distributions of every word"].reason
    else:
        assert "ValueError: “row 25 is bad”" in report.reason and len(report.skipped) == 1
