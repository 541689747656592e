"""Figures hold what they are given, show it literally, and can be read in the dark."""

from __future__ import annotations

import numpy as np
import pytest

from dptext_core import figures


@pytest.mark.parametrize("dark", [False, True])
def test_the_histogram_counts_every_candidate_and_marks_the_range(dark):
    logits = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    figure = figures.logit_histogram(logits, -1.0, 2.0, marks={"<b>x</b>": 0.5, "new": 1.0}, dark=dark)
    assert sum(figure.data[0].y) == 5000
    assert {s.x0 for s in figure.layout.shapes} >= {-1.0, 2.0, 0.5, 1.0}
    assert [a.text for a in figure.layout.annotations] == ["&lt;b&gt;x&lt;/b&gt;", "new"]
    colours = figures.DARK if dark else figures.LIGHT
    assert figure.layout.font.color == colours["ink"] and figure.data[0].marker.color == colours["bar"]


def contrast(a: str, b: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    x, y = sorted((light(a), light(b)), reverse=True)
    return (x + 0.05) / (y + 0.05)


@pytest.mark.parametrize(("colours", "page"), [(figures.LIGHT, "#ffffff"), (figures.DARK, "#171614")])
def test_words_in_figures_have_contrast(colours, page):
    assert all(contrast(colours[name], page) >= 4.5 for name in ("ink", "soft", "keep", "new"))
