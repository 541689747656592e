"""Mistakes of one way to a rewrite that show at other options, in other words or at other moments than by default."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
from foreign import WORDS, Swap, SwapTrace

import dptext_core as dpt
from dptext_core.auditing.entry_points import differences

TEXT = " ".join(WORDS[:4]) + ", Xyzzyq 12!"


class Safe(Swap):
    """The sound one, with a largest ε at which everything still comes out."""

    max_epsilon = 25.0


class ForgottenOptions(Safe):
    """Out of another process it has the default ε, which shows at any other ε alone."""

    def __reduce__(self):
        return type(self).create, ()


class OneDrawRepeated(Safe):
    """Rewrites with fresh noise each are one draw, handed out again and again."""

    def rewrite_repeatedly(self, prepared, n, stream, task):
        return [self.rewrite_prepared(prepared, stream.at("fresh", 0), task.quiet)] * n


class LargestOfList(Safe):
    """Of a list of ε all words are drawn at the largest, and state their own."""

    def rewrite_prepared(self, prepared, stream, task):
        if not isinstance(self.config.epsilon, tuple):
            return super().rewrite_prepared(prepared, stream, task)
        loud = self.replace(epsilon=max(self.config.epsilon)).rewrite_prepared(prepared, stream, task)
        own = self.epsilons(prepared)
        steps = [dataclasses.replace(s, epsilon=own[s.index] if s.is_sampled else 0.0) for s in loud.steps]
        trace = SwapTrace(self._channels(prepared), own, stream)
        return dpt.RewriteResult.of(self, prepared, stream, loud.text, tuple(steps), trace=trace)


class SharedState(Safe):
    """What is being rewritten is kept with the mechanism, where another thread puts its own text."""

    def rewrite_prepared(self, prepared, stream, task):
        self.__dict__["text"] = prepared
        stream.at("first").uniform()
        return super().rewrite_prepared(self.__dict__["text"], stream, task)


class OneAtATime(Safe):
    """Sound: a lock is held while a text is rewritten."""

    lock = threading.Lock()

    def rewrite_prepared(self, prepared, stream, task):
        with self.lock:
            return super().rewrite_prepared(prepared, stream, task)


class Constant(Safe):
    """Sound: all rewrites are alike, whatever the noise."""

    def _channels(self, prepared):
        one = dpt.ScoreTable(WORDS[:1], np.zeros(1))
        return dict.fromkeys(super()._channels(prepared), one)


FAULTS = {
    "a copy": ForgottenOptions,
    "repeated rewrites": OneDrawRepeated,
    "a list of epsilons": LargestOfList,
    "another thread": SharedState,
}


@pytest.mark.parametrize("point", FAULTS)
@pytest.mark.parametrize("seed", range(2))
def test_an_entry_point_that_differs_is_named(point, seed):
    assert [d.point for d in differences(FAULTS[point].create(), TEXT, seed, seeded=False)] == [point]


@pytest.mark.parametrize("cls", [Safe, OneAtATime, Constant])
@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.slow), 20.0])
def test_a_sound_one_differs_nowhere(cls, epsilon):
    assert list(differences(cls.create(epsilon=epsilon), TEXT, 1)) == []
