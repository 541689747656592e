"""Mechanisms that are sound and unusual: an audit clears each, and so do the conformance checks of its guarantee."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.auditing import audit
from dptext_core.mechanisms.likelihood import Likelihood
from dptext_core.privacy.distribution import Channel, ScoreTable, TokenDistribution
from dptext_core.testing import check_mechanism
from dptext_lab.broken_mechanisms.guarantees import TinyResponse
from dptext_lab.broken_mechanisms.text import WriterConfig, WriterTrace

pytestmark = pytest.mark.usefixtures("few_draws")


@dataclasses.dataclass(frozen=True, eq=False)
class FlipTable(ScoreTable):
    """Permute and flip (McKenna and Sheldon 2020): in a random order, the first candidate whose coin with probability
    exp(ε·(score − best)) falls on heads."""

    def at(self, epsilon):
        q, n = np.exp(epsilon * (self.scores - self.scores.max())), len(self.scores)
        p = np.zeros(n)
        for r in range(n):
            others = [k for k in range(n) if k != r]
            for size in range(n):
                ahead = sum(math.prod(1 - q[k] for k in some) for some in itertools.combinations(others, size))
                p[r] += q[r] * ahead * math.factorial(size) * math.factorial(n - 1 - size) / math.factorial(n)
        drawn = lambda m, stream: np.array([self.draw(epsilon, stream.at("flip", j)) for j in range(m)])  # noqa: E731
        return TokenDistribution(self.candidates, np.log(p), self.source, float(epsilon), None, self._keep, drawn)

    def draw(self, epsilon, stream):
        q = np.exp(epsilon * (self.scores - self.scores.max()))
        order = np.argsort(stream.at("order").uniforms(len(q)), kind="stable")
        coins = stream.at("coins").uniforms(len(q))
        return int(next(k for k in order if coins[k] <= q[k]))


class PermuteAndFlip(TinyResponse):
    name, title, most = "sound-flip", "Permute and flip", 8

    def channel(self, row: int) -> Channel:
        words = self.vocabulary.words
        return FlipTable(words, (np.arange(len(words)) == row) / 2, words[row], np.array([row]))


@dataclasses.dataclass(frozen=True, eq=False)
class RejectionTable(ScoreTable):
    """The exponential mechanism by rejection: uniform candidates until one is accepted."""

    def draw(self, epsilon, stream):
        accepted = np.exp(epsilon * (self.scores - self.scores.max()))
        for k in itertools.count():
            pick, coin = stream.at("try", k).uniforms(2)
            if coin <= accepted[at := int(pick * len(accepted))]:
                return at
        raise AssertionError


class Rejection(TinyResponse):
    name, title, most = "sound-rejection", "Rejection sampling", 40

    def channel(self, row: int) -> Channel:
        words = self.vocabulary.words
        return RejectionTable(words, (np.arange(len(words)) == row) / 2, words[row], np.array([row]))

    def guarantee_fields(self, epsilon):
        return super().guarantee_fields(epsilon) | {"bounded_range": True}


class Constant(TinyResponse):
    name, title, most = "sound-constant", "One word for all", 40

    def channel(self, row: int) -> Channel:
        return ScoreTable(self.vocabulary.words[:1], np.zeros(1), self.vocabulary.words[row])


class Uniform(TinyResponse):
    name, title, most = "sound-uniform", "Any word, whatever it was", 40

    def channel(self, row: int) -> Channel:
        return ScoreTable(self.vocabulary.words, np.zeros(self.most), self.vocabulary.words[row], np.array([row]))

    def guarantee_fields(self, epsilon):
        return super().guarantee_fields(epsilon) | {"bounded_range": True}


class RandomLength(dpt.Mechanism):
    """Writes up to eight words. Each is drawn beside a full stop, which ends the text: how long it is, is drawn too."""

    name, title, family, notion = "sound-length", "A text of random length", "examples", "pure"
    summary = "Writes words until it draws a full stop."
    config_cls = WriterConfig
    alignment = None
    pieces = ("sun", "rain", "walks", "sings", "home", "blue", ".")
    most = 8

    @property
    def likelihood(self):
        return _Given(self)

    def table(self, prepared):
        letters = set(prepared.text.lower())
        share = np.array([len(letters & set(p)) / len(set(p)) for p in self.pieces])
        return ScoreTable(self.pieces, share / 2)

    def guarantee(self, text):
        e = float(self.config.epsilon)
        exposed = (f"that at most {self.most} words are written",)
        return dpt.Guarantee(
            "pure",
            e,
            "released piece",
            "any two texts",
            self.most,
            self.most * e,
            expected=self.expected * e,
            exposed=exposed,
            bounded_range=True,
        )

    #: Draws on average, about: the same for every text, and information alone.
    expected = 4.5

    def rewrite_prepared(self, prepared, stream, task):
        table, epsilon = self.table(prepared), float(self.config.epsilon)
        text, pieces = "", []
        for k in range(self.most):
            word = self.pieces[table.draw(epsilon, stream.at(k))]
            text += " " * bool(text)
            pieces.append(dpt.Release((len(text), len(text) + len(word)), word, epsilon, "drawn"))
            text += word
            if word == ".":
                break
        return dpt.RewriteResult.of(
            self, prepared, stream, text, trace=_LengthTrace(table, epsilon), pieces=tuple(pieces)
        )


class _LengthTrace(WriterTrace):
    def candidate(self, i, unit):
        return RandomLength.pieces.index(unit.text)


class _Given(Likelihood[RandomLength]):
    def given(self, prepared, result):
        return [self.m.table(prepared).at(float(self.m.config.epsilon)) for _ in result.releases]


WORDS = (PermuteAndFlip, Rejection, Constant, Uniform)
#: Their few words are stop words.
OPTIONS = {cls: {"keep_stopwords": False} for cls in WORDS}


def test_permute_and_flip_states_what_it_draws():
    table = FlipTable(("a", "b", "c", "d"), np.array([0.0, 0.5, 0.2, 0.5]))
    d = table.at(3.0)
    assert d.probs.sum() == pytest.approx(1) and d.probs[1] == pytest.approx(d.probs[3])
    drawn = np.bincount(d.sample_indices(4000, dpt.NoiseStream(1)), minlength=4) / 4000
    assert np.abs(drawn - d.probs).max() < 0.03


@pytest.mark.usefixtures("few_releases")
@pytest.mark.parametrize("cls", [*WORDS, RandomLength])
def test_a_sound_mechanism_holds(cls):
    m = cls.create(epsilon=0.5, **OPTIONS.get(cls, {}))
    report = audit(m, seed=1, draws=400)
    assert report.holds, report.details()
    assert "stated guarantee" in {c.name for c in report.checks if c.status == "tested"}


@pytest.mark.parametrize("cls", [*WORDS, RandomLength])
def test_its_guarantee_passes_the_conformance_check(cls):
    check_mechanism(cls, only="the_guarantee_states_what_it_does", epsilon=0.5, **OPTIONS.get(cls, {}))
