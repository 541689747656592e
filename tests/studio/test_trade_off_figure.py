"""The trade-off plot: axes that stay while points come in, and one colour for each mechanism."""

from __future__ import annotations

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.measure.target_figures import TargetFigure
from dptext_core.measure.trade_off import TradeOffPoint
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.registry import mechanisms
from dptext_studio.figures import trade_off
from dptext_studio.figures.mechanism_style import mechanism_style, system_styles
from dptext_studio.figures.theme import DARK, LIGHT


def point(setting: int, name: str, epsilon: float, certainty: float, *cosines: float) -> TradeOffPoint:
    return TradeOffPoint(
        setting,
        dpt.get_mechanism(name, epsilon=epsilon),
        texts=("",) * len(cosines),
        scores={"cosine": cosines},
        measured={"certainty": TargetFigure(certainty, (certainty, certainty), None)},
    )


POINTS = [
    point(0, "custext", 1.0, 0.8, 0.5, 0.6),
    point(1, "santext", 12.0, 0.3, 0.2, 0.3),
    point(1, "santext", 18.0, 0.9, 0.9, 0.8),
]


def ranges(points, hidden="certainty"):
    axes = trade_off(points, hidden, "cosine")["layout"]
    return axes["xaxis"]["range"], axes["yaxis"]["range"]


def test_the_axes_stay_as_points_come_in():
    assert ranges([]) == ranges(POINTS[:1]) == ranges(POINTS[:2]) == ranges(POINTS)
    (left, right), (low, high) = ranges(POINTS)
    assert left < 0 < 1 < right and low < 0 < 1 < high
    negative = point(0, "custext", 1.0, 0.5, -0.4, -0.4)
    assert ranges([*POINTS, negative])[1][0] < -0.4


def test_each_setting_has_the_colour_of_its_mechanism():
    def looks(points):
        traces = [t for t in trade_off(points, "certainty", "cosine")["data"] if t["mode"] == "lines+markers"]
        return [(t["line"]["color"], t["line"]["dash"], t["marker"]["symbol"][0].removesuffix("-open")) for t in traces]

    assert looks(POINTS) == [mechanism_style(n, False) for n in ("custext", "santext")]
    both = [*POINTS, point(2, "custext", 1.0, 0.6, 0.4, 0.5)]
    assert looks(both) == [*looks(POINTS), mechanism_style("custext", False, 1)]
    names = ("dp-mlm", "custext", "santext", "diffractor", "redact", "surrogates")
    assert len({mechanism_style(n, False)[0] for n in names}) == len(names)


@pytest.mark.parametrize("dark", [False, True])
def test_no_two_mechanisms_have_the_same_colour(dark):
    """Nor unprotected text, which is grey. Colours of 0.05 in OKLab are easy to distinguish side by side."""
    looks = {spec.name: mechanism_style(spec.name, dark) for spec in mechanisms()}
    assert len({(colour, symbol) for colour, _, symbol in looks.values()}) == len(looks)
    colours = [colour for colour, _, _ in looks.values()]
    points = oklab([*colours, (DARK if dark else LIGHT)["soft"]])
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(len(points), 1)]
    assert apart.min() > 0.05


def oklab(colours: list[str]) -> np.ndarray:
    parts = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    cones = [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    axes = [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    return np.cbrt(linear @ np.transpose(cones)) @ np.transpose(axes)


def test_settings_of_a_mechanism_share_its_colour_and_differ_in_dash_or_symbol():
    looks = {(n, v): mechanism_style(n, True, v) for n in recommended.ORDER for v in range(5)}
    assert len({(dash, symbol) for _, dash, symbol in looks.values()}) == len(looks)
    assert all(looks[n, v][0] == looks[n, 0][0] for n, v in looks)
    assert system_styles({"a": "custext", "b": "dp-mlm", "c": "custext"}, True) == {
        "a": looks["custext", 0],
        "b": looks["dp-mlm", 0],
        "c": looks["custext", 1],
    }
