"""Guarantees that are true and stated in an unusual way: no check takes them for wrong."""

from __future__ import annotations

import dataclasses

import pytest
from foreign import Generator, Swap

import dptext_core as dpt
from dptext_core.testing import check_mechanism


class Unstated(Swap):
    """Randomised response that states no distribution."""

    likelihood, max_epsilon = None, 25.0

    def distribution(self, text, index):
        raise dpt.NoDistribution("There is no formula.")

    def rewrite_prepared(self, prepared, stream, task):
        r = super().rewrite_prepared(prepared, stream, task)
        return dpt.RewriteResult.of(self, prepared, stream, r.text, tuple(r.steps))


class TwoDraws(Unstated):
    """Each word takes two draws of half its ε, and the guarantee counts draws."""

    name = "two-draws-a-word"

    def guarantee(self, text):
        g = super().guarantee(text)
        half = tuple(e / 2 for e in g.spent for _ in range(2))
        return dataclasses.replace(g, unit="draw", spent=half, draws=len(half), epsilon=max(half, default=0.0))


class OneDraw(Unstated):
    """Each word takes one draw of its ε, and half of it is stated."""

    name = "half-of-one-draw"

    def guarantee(self, text):
        g = super().guarantee(text)
        half = tuple(e / 2 for e in g.spent)
        return dataclasses.replace(g, spent=half, epsilon=max(half, default=0.0), total=sum(half))


class Always(Generator):
    """The same for every text: nothing is spent, whatever is in it."""

    name, likelihood = "always-the-same", None

    def guarantee(self, text):
        return dpt.Guarantee("pure", 0.0, "released text", "any two texts", 0, 0.0, exposed=("nothing",))

    def rewrite_prepared(self, prepared, stream, task):
        piece = dpt.Release((0, 5), "Rain.", 0.0, "rule", reason="always")
        return dpt.RewriteResult.of(self, prepared, stream, "Rain.", pieces=(piece,))


@pytest.mark.parametrize("cls", [TwoDraws, Always])
@pytest.mark.parametrize("check", ["the_guarantee_adds_up", "the_guarantee_states_what_it_does"])
def test_a_true_guarantee_is_not_refuted(cls, check):
    check_mechanism(cls, only=check)


@pytest.mark.parametrize("check", ["the_guarantee_adds_up", "the_guarantee_states_what_it_does"])
def test_half_of_one_draw_is_refuted(check):
    with pytest.raises(AssertionError):
        check_mechanism(OneDraw, only=check)
