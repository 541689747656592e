"""Where on the axis of ε a word stays itself with a given chance: exact against the formula of one list."""

from __future__ import annotations

import math

import numpy as np
import pytest
from small_spaces import diffractor, on, random_space, shuffled_lists

from dptext_core.errors import NoDistribution
from dptext_core.evaluation.deniability import epsilon_at


def test_the_epsilon_of_a_given_n_w_is_that_of_the_formula():
    """Geometric noise on one list, far from its ends, leaves a word with (1 − e^−ε)/(1 + e^−ε) = tanh(ε/2)."""
    (order,) = shuffled_lists(800, 1)
    m = diffractor([order], noise="geometric", epsilon=1.0)
    middle = np.array([m.vocabulary.words.index(w) for w in order[395:405]])
    for n_w, printed in ((0.1, 0.201), (0.5, 1.099), (0.8, 2.197)):
        found = epsilon_at(m, middle, n_w)
        assert found == pytest.approx(2 * math.atanh(n_w), rel=1e-5) == pytest.approx(printed, abs=5e-4)
    assert epsilon_at(m, middle, 0.0) is None
    with pytest.raises(NoDistribution, match="no formula for N_w"):
        epsilon_at(on(random_space(), "mvc", epsilon=1.0), np.arange(3), 0.5)
