"""How much of the meaning is kept along ε: of the text that stands there, and at which ε where there are many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_studio.figures import meaning_curve as meaning
from dptext_studio.figures import token_view


@pytest.mark.parametrize("seed", range(3))
def test_each_figure_is_that_of_the_text_from_there_on_though_changes_are_rounded(seed, light):
    m = dpt.get_mechanism("custext", epsilon=8.0)
    prepared, stream = m.prepare("My sister lives in Lisbon and works at a hospital."), dpt.NoiseStream(seed)
    shown = token_view.payload(m.rewrite(prepared, stream=stream), run=1, low=0.5, high=30.0, default=8.0)
    changes = [0.5, *(max(0.5, f[0]) for t in shown["tokens"] for f in t.get("flips", ()))]
    found = meaning.meaning_kept(m, prepared, stream, changes, most=500)
    assert found.complete and len(found.at) > 5
    for at, until, cosine in zip(found.at, [*found.at[1:], 30.0], found.cosine, strict=True):
        text = m.replace(epsilon=float(np.sqrt(at * until))).rewrite(prepared, stream=stream).text
        assert cosine == pytest.approx(dpt.metrics.score("cosine", [prepared.text], [text])[0], abs=1e-6), at


@given(st.sets(st.floats(0.1, 500.0), min_size=5, max_size=60), st.integers(4, 16))
def test_of_many_changes_first_and_last_are_kept_and_no_long_stretch_is_left_out(changes, most):
    every = sorted(changes)
    if len(every) <= most:
        return
    kept = meaning.choose_epsilons(every, most)
    assert kept == sorted(set(kept)) and set(kept) <= set(every) and len(kept) <= most
    assert (kept[0], kept[-1]) == (every[0], every[-1])
    # Of each piece of the axis that has a change one is kept.
    piece = (np.log(every[-1]) - np.log(every[0])) / (most - 2)
    left = [e for e in every if e not in kept]
    assert all(min(abs(np.log(e) - np.log(k)) for k in kept) <= piece * (1 + 1e-9) for e in left)
