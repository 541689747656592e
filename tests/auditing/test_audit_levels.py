"""At which level an audit speaks: bounds that hold all together, what is spent, and failures too rare to be seen."""

from __future__ import annotations

import dataclasses
import math

import pytest
from foreign import Generator, Latent, Swap
from small_spaces import on, random_space

import dptext_core as dpt
from dptext_core.auditing import goodness_of_fit, verdict

TEXTS = ["sun and water", "rain and letters", "blue music"]
pytestmark = pytest.mark.usefixtures("few_looks", "few_releases")


@pytest.fixture(autouse=True)
def one_first_look(monkeypatch):
    """Without metadata of a text, which no bound has to do with."""
    monkeypatch.setattr(verdict, "FIRST", verdict.FIRST[:1])


#: Pairs, or events, of which each gets its share of what the confidence leaves, half of it for either bound.
TOGETHER = 8


def shown(n: int, level: float) -> float:
    """ln of the ratio of two chances that n draws at each input show where all of one and none of the other hit: the
    bounds of Clopper and Pearson there in closed form."""
    return math.log(level ** (1 / n)) - math.log(-math.expm1(math.log(level) / n))


class Tells(Generator):
    """Releases the text itself."""

    name, title = "foreign-tells", "Foreign tells"

    likelihood = None

    def rewrite_prepared(self, prepared, stream, task):
        piece = dpt.Release((0, len(prepared.text)), prepared.text, self.config.epsilon, "drawn")
        r = super().rewrite_prepared(prepared, stream, task)
        return dataclasses.replace(r, text=prepared.text, trace=dpt.Trace(), pieces=(piece,))


@pytest.mark.slow
def test_the_bounds_of_whole_outputs_hold_all_together():
    confidence = 0.999
    level = (1 - confidence) / (2 * TOGETHER)
    options = {"draws": 400, "seed": 1, "confidence": confidence}
    report = dpt.audit(Generator.create(epsilon=0.5, length=2), TEXTS, **options)
    assert 0 < report.detectable <= shown(200, level) * (1 + 1e-9)
    told = dpt.audit(Tells.create(epsilon=0.5, length=2), TEXTS, **options)
    assert told.verdict == "refuted" and 1 < told.measured <= shown(200, level) * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "pairs", "confidence"), [(2, 2, 0.999), (3, 6, 0.95), (6, TOGETHER, 0.5)])
def test_the_bounds_of_words_hold_all_together(n, pairs, confidence, monkeypatch):
    monkeypatch.setattr(verdict, "check_releases", lambda *arguments: goodness_of_fit.ReleaseFindings())
    space = random_space(12, 3)
    m = on(space, "mvc", epsilon=30.0)
    report = dpt.audit(m, list(space.words[:n]), draws=200, seed=1, confidence=confidence)
    apart = m.audit_support.distances(space.words[:n])
    nearest = apart[apart > 0].min()
    assert 0 < report.detectable <= shown(100, (1 - confidence) / (2 * pairs)) / nearest * (1 + 1e-9)


class Spends(Swap):
    """Spends a little more than it promises."""

    name, title = "foreign-spends", "Foreign spends"
    more = 1.1

    def guarantee(self, text):
        guarantee = super().guarantee(text)
        return dataclasses.replace(guarantee, total=guarantee.total / self.more)


class Writes(Generator):
    """Spends a little more than it promises, and has no words."""

    name, title = "foreign-writes", "Foreign writes"
    more = 1.1

    def guarantee(self, text):
        guarantee = super().guarantee(text)
        return dataclasses.replace(guarantee, total=guarantee.total / self.more)


def judged(m: dpt.Mechanism, texts: list[str]) -> str:
    try:  # what is stated of a word needs no draws
        return dpt.audit(m, texts, draws=100 if isinstance(m, Swap) else 400, seed=1).verdict
    except dpt.InputError as error:
        assert "spends" in str(error)
        return "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Spends, Writes])
def test_who_spends_more_than_is_promised_is_found_however_little_it_is(cls):
    options = {} if cls is Spends else {"length": 2}
    texts = ["doctor", "nurse"] if cls is Spends else TEXTS
    for more, wanted in ((1.001, "refuted"), (1.9, "refuted"), (1.0, "holds")):
        assert judged(type("More", (cls,), {"more": more}).create(epsilon=0.5, **options), texts) == wanted, more


class Counted(dpt.ScoreTable):
    """States its chances as an estimate from draws."""

    def at(self, epsilon):
        return dataclasses.replace(super().at(epsilon), draws=4000)


class Guessed(Swap):
    """Randomised response whose chances are known from draws alone, under a promise that fails in 1 of 20."""

    name, title, delta = "foreign-guessed", "Foreign guessed", 0.05

    def guarantee(self, text):
        return dataclasses.replace(super().guarantee(text), notion="approx", delta=self.delta)

    def _channels(self, prepared):
        return {i: Counted(c.candidates, c.scores, c.source) for i, c in super()._channels(prepared).items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "inputs", "few", "enough"),
    [
        # Without a hit in half of the draws, a chance of δ is excluded from 113 of them on: (1 − δ)^n < 0.05/16.
        (Latent.create(epsilon=1.0, delta=0.05), TEXTS, 2 * 110, 2 * 115),
        # Three draws in which it fails are expected from 60 on.
        (Guessed.create(epsilon=1.0), ["doctor", "nurse", "water"], 2 * 58, 2 * 62),
    ],
    ids=["whole outputs", "words"],
)
def test_a_delta_that_so_few_draws_cannot_show_is_not_said_to_hold(m, inputs, few, enough):
    report = dpt.audit(m, inputs, draws=few, seed=1)
    assert report.verdict == "inconclusive" and "δ = 0.05 allows failures" in report.reason
    assert dpt.audit(m, inputs, draws=enough, seed=1).verdict == "holds"
