"""The trade-off plot: axes that stay while points come in, and one colour for each mechanism."""

from __future__ import annotations

import dptext_core as dpt
from dptext_core.measure.target_figures import TargetFigure
from dptext_core.measure.trade_off import TradeOffPoint
from dptext_core.mechanisms import recommended
from dptext_studio.figures import trade_off
from dptext_studio.figures.mechanism_style import mechanism_style, system_styles


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


def test_settings_of_a_mechanism_share_its_colour_and_differ_in_dash_or_symbol():
    looks = {(n, v): mechanism_style(n, True, v) for n in recommended.ORDER for v in range(5)}
    assert len({(dash, symbol) for _, dash, symbol in looks.values()}) == len(looks)
    assert all(looks[n, v][0] == looks[n, 0][0] for n, v in looks)
    assert system_styles({"a": "custext", "b": "dp-mlm", "c": "custext"}, True) == {
        "a": looks["custext", 0],
        "b": looks["dp-mlm", 0],
        "c": looks["custext", 1],
    }
