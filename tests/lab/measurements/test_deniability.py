"""Where on the axis of ε a word stays itself with a given chance: exact against the formula of one list."""

from __future__ import annotations

import math

import numpy as np
import pytest
from small_spaces import diffractor, shuffled_lists

from dptext_lab.measurements.equal_privacy import epsilon_where


def test_the_epsilon_of_a_given_n_w_is_that_of_the_formula():
    """Geometric noise on one list, far from its ends, leaves a word with (1 − e^−ε)/(1 + e^−ε) = tanh(ε/2)."""
    (order,) = shuffled_lists(800, 1)
    m = diffractor([order], noise="geometric", epsilon=1.0)
    middle = m.channels(np.array([m.vocabulary.words.index(w) for w in order[395:405]]))
    for n_w, printed in ((0.1, 0.201), (0.5, 1.099), (0.8, 2.197)):
        found = epsilon_where(lambda e: float(np.mean([c.deniability(e)[0] for c in middle])), n_w)
        assert found == pytest.approx(2 * math.atanh(n_w), rel=1e-3) == pytest.approx(printed, abs=1e-3)
