"""Where an audit looks for leaks that most draws do not show: planted faults, their sound twins, plugins of others."""

from __future__ import annotations

import functools
import math
import zlib
from dataclasses import replace

import numpy as np
import pytest
from foreign import Generator, Latent, Swap, SwapTrace
from small_spaces import on, over, random_space, shuffled_lists, small_bundle, words

import dptext_core as dpt
from dptext_core.auditing import latent
from dptext_core.auditing.batches import in_batches
from dptext_core.auditing.checks import Subject, look_at
from dptext_core.auditing.guesses import pick
from dptext_core.auditing.inputs import Meter, Probe
from dptext_core.auditing.latent import behind_a_text, count_distinguished, lower_bound
from dptext_core.auditing.long_texts import in_long_texts
from dptext_core.auditing.metadata_leakage import check_words
from dptext_core.auditing.release_statistics import (
    LEVEL,
    least_hits,
    least_share,
    new_instance,
    once_in,
    too_many,
    with_small_epsilon,
)
from dptext_core.auditing.statefulness import at_first
from dptext_core.auditing.verdict import FIRST, LATER
from dptext_core.auditing.vocabulary import released_words, stated_words
from dptext_core.mechanisms.base import BATCH
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.privacy.gaussian import gaussian_advantage, laplace_advantage
from dptext_core.privacy.sampling import NoiseStream
from dptext_lab.broken_mechanisms import FAULTS, broken, hidden, sound
from dptext_lab.broken_mechanisms.hidden import HIDDEN, LATE, NoisyLength

LOOKS = {
    "no-noise": behind_a_text,
    "weak-noise": behind_a_text,
    "full-batches": in_batches,
    "late-words": in_long_texts,
    "first-rewrite": at_first,
    "one-word": released_words,
    "one-word-stated": stated_words,
    "shared-noise": in_batches,
    "full-batch-texts": in_batches,
    "long-text-appended": in_long_texts,
    "one-word-exposed": check_words,
}


def look(m, which, seed=1, text="doctor nurse", **more):
    found = look_at([which], Subject(m, m.guarantee(text), [text], NoiseStream(seed), Meter(), **more))
    return found[0] if found else None


def test_every_hidden_fault_has_its_look():
    # What is stated of noise is held against whole outputs: test_rewriting.
    assert {*LOOKS, "understated-noise"} == {f.name for f in HIDDEN} <= set(FAULTS)
    assert set(LOOKS.values()) <= {*FIRST, *LATER}


#: Those that test_seeded has not, which has the looks at sound mechanisms too.
REST = ("no-noise", "full-batch-texts", "long-text-appended", "one-word-exposed")


@pytest.mark.slow
@pytest.mark.parametrize("name", REST)
def test_a_look_refutes_its_fault_and_clears_the_sound_twin(name, tiny_autoencoder, monkeypatch):
    names = words(24)
    monkeypatch.setattr(hidden, "WORD", names[3])
    monkeypatch.setattr(latent, "DRAWS", 100)

    def made(make):
        fault = FAULTS[name]
        if name == "no-noise":  # in the place of the bundled autoencoder, whose every rewrite takes long
            return make(name, checkpoint=tiny_autoencoder)
        cls = fault.broken if make is broken else fault.sound
        if cls.name == "custext":
            return over(random_space(24, 4), cls, k=5, keep_stopwords=False)
        return over(small_bundle(shuffled_lists(24, 2)), cls, lists=("minilm-1", "minilm-2"), keep_stopwords=False)

    text = " ".join(names[:4])
    check = look(made(broken), LOOKS[name], text=text)
    assert check.status == "refuted" and check.reason.endswith(".") and check.witness.sentence().endswith(".")
    twin = look(made(sound), LOOKS[name], text=text)
    assert twin.status in ("tested", "proven"), twin
    if twin.status == "tested" and LOOKS[name] is not check_words:
        assert 0 < twin.leak <= 1 and twin.draws > 0


# --- the numbers behind a refutation


def test_too_many_bounds_the_tail_of_a_binomial():
    from scipy.stats import binom

    for n, p in ((12, 0.05), (40, 5e-5), (100, 0.3), (500, 0.01)):
        for hits in range(0, n + 1, max(1, n // 20)):
            assert too_many(hits, np.full(n, p)) >= min(1.0, binom.sf(hits - 1, n, p)) * (1 - 1e-9)
    # And is not far above it where it refutes.
    assert too_many(12, np.full(12, 0.05)) < 1e-13 and too_many(3, np.full(12, 5e-5)) < 1e-8


def test_too_many_holds_where_chances_follow_what_came_before():
    """A chance that rises after each hit: of 2,000 runs a tenth at most may come below 0.1."""
    stream, low = NoiseStream(3), 0
    for run in range(2000):
        u, p, hits, chances = stream.at(run).uniforms(20), 0.05, 0, []
        for x in u:
            chances.append(p)
            if x < p:
                hits, p = hits + 1, min(0.9, 2 * p)
        low += too_many(hits, np.array(chances)) < 0.1
    assert 0 < low < 200


def test_the_stated_power_is_that_of_the_test():
    from scipy.stats import binom

    for n, p in ((36, 0.05), (700, 5e-5), (128, 0.03)):
        share, hits = least_share(n, p, LEVEL), least_hits(n, p, LEVEL)
        assert too_many(hits, np.full(n, p)) <= LEVEL < too_many(hits - 1, np.full(n, p))
        assert binom.sf(hits - 1, n, p + (1 - p) * share) == pytest.approx(0.95, abs=1e-6)
    assert least_share(1, 0.05, LEVEL) is None
    assert 1 - (1 - once_in(20)) ** 20 == pytest.approx(0.95)


def test_a_leak_at_the_stated_power_is_refuted_that_often():
    """CusText that leaks at each place of a list with a chance: at the stated one, 19 of 20 audits see it."""

    class Sometimes(CusText):
        share = 0.0

        def rewrite_list(self, texts, stream, task):
            results = super().rewrite_list(texts, stream, task)
            leaks = stream.at("leak").uniforms(len(results)) < self.share
            return [unchanged(r) if yes else r for r, yes in zip(results, leaks.tolist(), strict=True)]

    m = over(random_space(60, 4), Sometimes, k=5, keep_stopwords=False)
    text = " ".join(words(4))
    Sometimes.share = look(m, in_batches, text=text).leak / 4  # in all places, of which the stated one is but one
    assert all(look(m, in_batches, seed, text=text).status == "refuted" for seed in range(3))


def test_a_lower_bound_of_epsilon_stays_below_it():
    """Randomised response, ε exactly ln 3: bounds at 5% each side are above it in fewer than 5% of runs."""
    n, above, stream = 400, 0, NoiseStream(5)
    found = []
    for run in range(600):
        u = stream.at(run).uniforms(2 * n)
        bound = lower_bound(int((u[:n] < 0.75).sum()), int((u[n:] < 0.25).sum()), n, 0.0125)
        above += bound > math.log(3)
        found.append(bound)
    assert above < 30 and np.median(found) > 0.7


@pytest.mark.slow
def test_the_bound_from_rewrites_of_a_sound_mechanism_stays_below_its_loss():
    """With a classifier that learned from the other half: 30 runs at a level of 5% for both sides together, of which
    more than 4 are above it with a chance of 2%."""
    m = NoisyLength.create(epsilon=1.0)
    one, other = m.prepare(""), m.prepare("a b c d e f g h i j k")
    loss, gap = m.audit_support.latent_loss(one, other), m.audit_support.latent_advantage(one, other)
    assert loss == pytest.approx(1.0)
    above = 0
    for seed in range(30):
        r = [m.rewrites(p, 120, seed=1000 * seed + k) for k, p in enumerate((one, other))]
        tpr, fpr = count_distinguished([x[:60] for x in r], [x[60:] for x in r])
        above += lower_bound(tpr, fpr, 60, 0.0125) > loss
        assert tpr / 60 - fpr / 60 < gap + 0.35
    assert above <= 4


def test_total_variation_of_the_noise():
    # Laplace on one number: exactly 1 − e^(−x/2); Pinsker's bound is above it.
    for steps, rate in ((1, 0.5), (40, 0.01), (4000, 1e-4)):
        k = np.arange(-200000, 200001) if rate < 1e-3 else np.arange(-20000, 20001)
        p = np.tanh(rate / 2) * np.exp(-rate * np.abs(k))
        q = np.tanh(rate / 2) * np.exp(-rate * np.abs(k - steps))
        exact = np.abs(p - q).sum() / 2
        bound = laplace_advantage(np.array([steps]), rate)
        divergence = float((p * rate * (np.abs(k - steps) - np.abs(k))).sum())
        assert exact <= bound == pytest.approx(math.sqrt(divergence / 2), rel=1e-4)
    assert laplace_advantage(np.zeros(3, int), 0.5) == 0 and laplace_advantage(np.array([10**9]), 1.0) == 1
    from scipy.stats import norm

    assert gaussian_advantage(1.3) == pytest.approx(2 * norm.cdf(0.65) - 1)


def test_small_and_anew_keep_what_was_put_in():
    m = on(random_space(20, 4), "santext", epsilon=16.0)
    assert (
        with_small_epsilon(m).vocabulary is m.vocabulary
        and with_small_epsilon(m).config.epsilon < 1
        and with_small_epsilon(with_small_epsilon(m)).config.epsilon > 0
    )
    m.__dict__["seen_before"] = {"a text"}
    assert new_instance(m).vocabulary is m.vocabulary and "seen_before" not in new_instance(m).__dict__
    assert set(pick(200, 4, NoiseStream(1))) == {0, 1, 2, 3}


# --- plugins of strangers: each leaks in one way, and is sound without


class SecondSwap(Swap):
    """Returns a text as it is when it rewrites it for the second time."""

    def rewrite_prepared(self, prepared, stream, task):
        known = self.__dict__.setdefault("_known", {})
        known[prepared.text] = known.get(prepared.text, 0) + 1
        result = super().rewrite_prepared(prepared, stream, task)
        return unchanged(result) if known[prepared.text] == 2 else result


class BatchSwap(Swap):
    """Leaks one text in the middle of a large list."""

    def rewrite_list(self, texts, stream, task):
        results = super().rewrite_list(texts, stream, task)
        if len(results) >= BATCH:
            results[17] = unchanged(results[17])
        return results


class LateGenerator(Generator):
    """Writes pieces by the last word of a long text, and its results state what they were drawn from."""

    def table(self, prepared, before):
        honest = super().table(prepared, before)
        if len(prepared.document.tokens) < LATE:
            return honest
        told = zlib.crc32(prepared.document.tokens[-1].text.encode()) % len(honest.candidates)
        scores = np.where(np.arange(len(honest.candidates)) == told, 0.0, -50.0 / self.config.epsilon)
        return replace(honest, scores=scores)


class CachedLatent(Latent):
    """Prints a new text, and hides it from then on."""

    def rewrite_prepared(self, prepared, stream, task):
        result = super().rewrite_prepared(prepared, stream, task)
        known = self.__dict__.setdefault("_known", set())
        if prepared.text in known:
            return result
        known.add(prepared.text)
        piece = dpt.Release((0, len(prepared.text)), prepared.text, self.config.epsilon, "drawn")
        return replace(result, text=prepared.text, pieces=(piece,))


class CountedSwap(Swap):
    """Draws every word of every text with one and the same noise, across calls, under fresh names."""

    def rewrite_prepared(self, prepared, stream, task):
        result = super().rewrite_prepared(prepared, NoiseStream(7), task)
        return replace(result, noise_id=stream.noise_id, seed=stream.seed)


class MidCusText(CusText):
    """Returns texts of a length between that of others as they are."""

    def rewrite_prepared(self, prepared, stream, task):
        result = super().rewrite_prepared(prepared, stream, task)
        return unchanged(result) if 30 < len(prepared.document.tokens) < 60 else result


class GivenCusText(CusText):
    """Returns the text that it is asked about as it is."""

    def rewrite_prepared(self, prepared, stream, task):
        result = super().rewrite_prepared(prepared, stream, task)
        return unchanged(result) if prepared.text == TEXT else result


def unchanged(result):
    steps = tuple(
        replace(s, replacement=s.original, out=s.span) if s.action == "replace" else replace(s, out=s.span)
        for s in result.steps
    )
    return replace(result, text=result.original, steps=steps)


TEXT = "doctor nurse sister letter water music garden window"
#: Its words and others.
KNOWN = replace(random_space(60, 4), words=(*TEXT.split(), *words(52)))


@functools.cache
def looked_at(cls, which):
    """What a look says of a plugin; of a sound base once, whatever is made of it."""
    m = over(KNOWN, cls, recase="none") if issubclass(cls, CusText) else cls.create()
    each = TEXT.split() if isinstance(m, Swap) else []
    seen = [Probe(w, None, w, m.distribution(w, 0), m.prepare(w), 0, True) for w in each]
    return which(Subject(m, m.guarantee(TEXT), [TEXT], NoiseStream(2), Meter(), seen))


@pytest.mark.parametrize(
    ("make", "which"),
    [
        (SecondSwap, at_first),
        (BatchSwap, in_batches),
        (LateGenerator, in_long_texts),
        (MidCusText, in_long_texts),
        (GivenCusText, in_long_texts),
        (CachedLatent, at_first),
        (CountedSwap, in_batches),
    ],
)
def test_plugins_of_strangers_are_refuted_and_their_sound_bases_are_not(make, which):
    assert looked_at(make.__mro__[1], which).status == "tested"
    check = looked_at(make, which)
    assert check.status == "refuted", check
    assert check.witness.sentence()


class Truthful(CusText):
    """Returns a text of a full list as it is, and its result states that this was certain."""

    def rewrite_list(self, texts, stream, task):
        results = super().rewrite_list(texts, stream, task)
        if len(results) >= BATCH:
            leak = results[5]
            words = {k: dpt.ScoreTable((s.original,), np.zeros(1), s.original) for k, s in enumerate(leak.steps)}
            results[5] = replace(unchanged(leak), trace=SwapTrace(words, (1.0,) * len(words), stream))
        return results


def test_a_result_that_states_its_leak_truthfully_is_not_believed():
    """What is stated comes from the mechanism, asked by itself."""
    m = over(random_space(60, 4), Truthful, k=5, keep_stopwords=False)
    assert look(m, in_batches, text=" ".join(words(4))).status == "refuted"
