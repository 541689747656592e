"""The trade-off plot of one text: utility over privacy, one line for each setting, as plain plotly dictionaries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from dptext_core.attacks.best import title
from dptext_core.errors import InputError
from dptext_core.measure.trade_off import TradeOffPoint, Value, metric_info, pareto_front
from dptext_core.measure.trade_off_advice import is_unsure
from dptext_core.mechanisms.registry import accounting_unit
from dptext_core.privacy.numbers import number, percent

from .mechanism_style import system_styles
from .metric_titles import metric_title
from .theme import DARK, FONT, LIGHT, epsilon_ticks, escape, shorten, width_of

#: Titles of the privacy axes, on which more is more private, except for those of :data:`RISKS`.
AXES = {
    "certainty": "Certainty of the optimal reader",
    "best": "Words hidden from the strongest attacker",
    "n_w": "Probability that a word is replaced (1 − N_w)",
    "bayes": "Probability that the Bayes-optimal guess is wrong",
    "two_texts": "Rewrites not distinguished from those of another text (guessing: 50%)",
    "unchanged": "Share of words changed",
    "epsilon": "ε (units differ between mechanisms)",
}
#: Axes on which less is more private.
RISKS = ("certainty", "epsilon")
_WIDTH, _SIZE = 700, 12


def trade_off(
    points: Sequence[TradeOffPoint],
    hidden: str = "best",
    kept: str = "cosine",
    *,
    chosen: tuple[int, float] | None = None,
    best: tuple[int, float] | None = None,
    limit: float | None = None,
    dark: bool = False,
    height: int = 420,
) -> dict[str, Any]:
    """Draw points that have both measures, filled on the front and hollow elsewhere.

    Vertical bars: one standard deviation of the draws. Horizontal bars: the 95% interval of privacy, if estimated.
    Dashed line: the success of a reader who guesses without reading. chosen, best: setting and ε of a point to circle
    and to name. limit: the allowed disclosure, as a line; points whose interval crosses it are pale, because they may
    not hide enough. A mark's ``customdata`` starts with its setting and its ε. Without points, the axes are empty, and
    they do not change as points arrive. Raises InputError if the horizontal axis is ε alone and there is no point: the
    axis then has no ends.
    """
    shown = [p for p in points if p.has(hidden) and p.has(kept)]
    if not shown and hidden == "epsilon":
        raise InputError("There is no point yet. Pass at least one.")
    colours = DARK if dark else LIGHT
    at = {id(p): (_across(p, hidden), p.value(kept).mean) for p in shown}
    best_ones = [shown[i] for i in pareto_front(shown, hidden, kept)]
    traces = [_front(best_ones, at, colours)] if len(best_ones) > 1 else []
    lines: list[tuple[str, str, list[tuple[float, float]]]] = []
    styles = system_styles({p.setting: p.mechanism.name for p in sorted(points, key=lambda p: p.setting)}, dark)
    for j in sorted({p.setting for p in shown}):
        mine = sorted((p for p in shown if p.setting == j), key=lambda p: p.epsilon)
        colour, dash, symbol = styles[j]
        traces.append(_line(mine, at, best_ones, hidden, kept, colour, symbol, dash, limit))
        lines.append((mine[0].label, colour, [at[id(p)] for p in mine]))
    xs, log = [x for x, _ in at.values()], hidden == "epsilon"
    low, high = _heights(shown, kept)
    guessing = next((p.fact.chance for p in shown if p.fact is not None), None) if hidden == "certainty" else None
    ends = _ends(xs) if log else [-0.03, 1.03]
    first = next((p for p in shown if (p.setting, p.epsilon) == best), None)
    here = None if first is None else _start(at[id(first)], ends, (low, high), log, colours)
    shapes, notes = [], _labels(lines, ends, (low, high), log, height, colours, here)
    if limit is not None and not log:
        line, note = _limit(limit, hidden, colours)
        shapes.append(line)
        notes.append(note)
    if guessing is not None:
        line, note = _guessing(guessing, colours)
        shapes.append(line)
        notes.append(note)
    for key, ring in ((chosen, "circle-open"), (best, "star-open")):
        p = next((p for p in shown if (p.setting, p.epsilon) == key), None)
        if p is not None:
            traces.append(_ring(at[id(p)], ring, colours))
    notes += [here] if here else []
    notes += [_corner(hidden, colours)]
    axes = _axes(hidden, kept, xs, ends, [low, high], colours)
    return {"data": traces, "layout": _layout(height, colours) | axes | {"shapes": shapes, "annotations": notes}}


def _axes(
    hidden: str, kept: str, xs: Sequence[float], ends: list[float], y_ends: list[float], colours: dict[str, str]
) -> dict[str, Any]:
    """Return the axes: utility upwards, privacy or ε horizontally."""
    axis = {"linecolor": colours["line"], "gridcolor": colours["line"], "zeroline": False, "automargin": True}
    titled = {"font": {"color": colours["soft"], "size": 13}}
    x_axis: dict[str, Any] = axis | {"range": ends, "title": titled | {"text": AXES[hidden]}}
    if hidden == "epsilon":
        ticks = epsilon_ticks(min(xs), max(xs))
        x_axis |= {"type": "log", "tickvals": ticks, "ticktext": [f"{v:g}" for v in ticks]}
    else:
        x_axis |= {"tickformat": ".0%", "nticks": 7}
    y_title = metric_title(kept, metric_info(kept).title)
    return {"xaxis": x_axis, "yaxis": axis | {"range": y_ends, "title": titled | {"text": y_title}}}


def _layout(height: int, colours: dict[str, str]) -> dict[str, Any]:
    """Return the layout without its axes."""
    font = {"color": colours["ink"], "size": 13, "family": FONT}
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 28, "b": 8},
        "showlegend": False,
        "hovermode": "closest",
        "paper_bgcolor": colours["page"],
        "plot_bgcolor": colours["page"],
        "font": font,
        "dragmode": False,
        "hoverlabel": {
            "bgcolor": colours["page"],
            "bordercolor": colours["line"],
            "align": "left",
            "font": font,
        },
    }


def _limit(limit: float, hidden: str, colours: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a line at the limit, and its note on the side that is private enough."""
    rises = hidden in RISKS
    at = limit if rises else 1 - limit
    label = "← private enough" if rises else "private enough →"
    return _upright(at, "dot", colours), _foot(at, label, not rises, colours)


def _guessing(chance: float, colours: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a line at the success of a guessing reader, and its note."""
    note = _foot(chance, f"guessing: {percent(chance)}", True, colours)
    return _upright(chance, "dash", colours), note | {"y": 1, "yanchor": "bottom", "xshift": 0, "xanchor": "left"}


def _upright(x: float, dash: str, colours: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"color": colours["soft"], "width": 1.5, "dash": dash},
    }


def _foot(x: float, text: str, right: bool, colours: dict[str, str]) -> dict[str, Any]:
    """Return a note at the bottom of a line, to its right or left."""
    return {
        "x": x,
        "y": 0,
        "yref": "paper",
        "text": text,
        "showarrow": False,
        "xanchor": "left" if right else "right",
        "yanchor": "bottom",
        "xshift": 4 if right else -4,
        "font": {"color": colours["soft"], "size": 12},
    }


def _across(point: TradeOffPoint, hidden: str) -> float:
    value = point.value(hidden).mean
    return value if hidden in RISKS else 1.0 - value


def _ends(epsilons: Sequence[float]) -> list[float]:
    """Return the ends of a logarithmic axis over ε."""
    low, high = math.log10(min(epsilons)), math.log10(max(epsilons))
    pad = 0.06 * (high - low) or 0.05
    return [low - pad, high + pad]


def _heights(points: Sequence[TradeOffPoint], kept: str) -> tuple[float, float]:
    """Return the ends of the utility axis: those of the metric, so that they do not change as points arrive.

    A metric without ends has those of the points. Scores below 0 are rare, and lower the axis.
    """
    m, values = metric_info(kept), [(p.value(kept).mean, p.value(kept).spread or 0.0) for p in points]
    lowest, highest = min((v - bar for v, bar in values), default=0.0), max((v + bar for v, bar in values), default=1.0)
    if math.isfinite(m.low) and math.isfinite(m.high):
        lowest, highest = min(lowest, max(m.low, 0.0)), m.high
    pad = 0.03 * (highest - lowest) or 0.05
    return lowest - pad, highest + pad


def _front(
    best: Sequence[TradeOffPoint], at: dict[int, tuple[float, float]], colours: dict[str, str]
) -> dict[str, Any]:
    xy = sorted(at[id(p)] for p in best)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Pareto front",
        "hoverinfo": "skip",
        "opacity": 0.3,
        "x": [x for x, _ in xy],
        "y": [y for _, y in xy],
        "line": {"color": colours["soft"], "width": 9},
    }


def _line(
    mine: Sequence[TradeOffPoint],
    at: dict[int, tuple[float, float]],
    best: Sequence[TradeOffPoint],
    hidden: str,
    kept: str,
    colour: str,
    symbol: str,
    dash: str,
    limit: float | None,
) -> dict[str, Any]:
    filled = {id(p) for p in best}
    paint = [_pale(colour) if limit is not None and is_unsure(p, hidden, limit) else colour for p in mine]
    bars = {"type": "data", "color": colour, "thickness": 1, "width": 3}
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": escape(mine[0].label),
        "cliponaxis": False,
        "x": [at[id(p)][0] for p in mine],
        "y": [at[id(p)][1] for p in mine],
        "line": {"color": colour, "width": 1.5, "dash": dash},
        "marker": {
            "color": paint,
            "size": 10,
            "line": {"color": paint, "width": 1.5},
            "symbol": [symbol if id(p) in filled else f"{symbol}-open" for p in mine],
        },
        "error_y": bars | {"array": [p.value(kept).spread or 0 for p in mine]},
        "customdata": [[p.setting, p.epsilon, _hover_text(p, hidden, kept, id(p) in filled)] for p in mine],
        "hovertemplate": "%{customdata[2]}<extra></extra>",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
    if hidden != "epsilon" and any(p.value(hidden).draws for p in mine):
        values = [p.value(hidden) for p in mine]
        less, more = [v.mean - v.low for v in values], [v.high - v.mean for v in values]
        if hidden not in RISKS:
            less, more = more, less  # the axis runs the other way
        trace["error_x"] = bars | {"symmetric": False, "array": more, "arrayminus": less}
    return trace


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.35)"


def _hover_text(p: TradeOffPoint, hidden: str, kept: str, on_front: bool) -> str:
    lines = [f"<b>{escape(p.label)}</b>", f"ε = {number(p.epsilon)}, {accounting_unit(p.mechanism.name)}"]
    for name in dict.fromkeys((kept, hidden)):
        if name != "epsilon":
            by = f", “{title(p.measured[name].by)}”" if name in p.measured and p.measured[name].by else ""
            lines.append(
                f"{_CHANCES.get(name, metric_info(name).title)}: {_value(p.value(name), metric_info(name).digits)}{by}"
            )
    lines.append(f"{p.draws} {'draw' if p.draws == 1 else 'draws'}" + " · on the front" * on_front)
    return "<br>".join(lines)


_CHANCES = {"n_w": "Probability that a word is unchanged", "bayes": "Optimal guess correct"}


def _value(v: Value, digits: str) -> str:
    message = f"{v.mean:{digits}}"
    if v.spread is not None:
        message += f" ± {v.spread:{digits}}"
    if v.draws not in (None, 1):
        message += f" (95% interval {v.low:{digits}} to {v.high:{digits}})"
    return message


def _labels(
    lines: Sequence[tuple[str, str, list[tuple[float, float]]]],
    ends: Sequence[float],
    y_ends: tuple[float, float],
    log: bool,
    height: int,
    colours: dict[str, str],
    here: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    """Return each line's name next to one of its marks, where it covers as little of the lines as possible, and no
    other name.

    here: an existing note.
    """

    def pixels(x: float, y: float) -> tuple[float, float]:
        x = math.log10(x) if log else x
        across = (x - ends[0]) / ((ends[1] - ends[0]) or 1) * _WIDTH
        return across, (y_ends[1] - y) / ((y_ends[1] - y_ends[0]) or 1) * (height - 80)

    drawn = _covered_points([[pixels(*spot) for spot in spots] for _, _, spots in lines])
    placed: list[tuple[float, float, float, float]] = []
    if here is not None:
        x, y = pixels(10 ** here["x"] if log else here["x"], here["y"])
        placed.append((x + here["ax"] - 40, y + here["ay"] - 12, x + here["ax"] + 40, y + here["ay"] + 12))
    out = []
    for label, colour, spots in lines:
        name = shorten(label, 34)
        wide, tall = width_of(name, _SIZE) * 1.08 + 6, _SIZE + 6
        k, right, up, box = _best_place([pixels(*spot) for spot in spots], wide, tall, height, drawn, placed)
        placed.append(box)
        x, y = spots[k]
        out.append(
            {
                "x": math.log10(x) if log else x,
                "y": y,
                "text": f"<b>{escape(name)}</b>",
                "showarrow": False,
                "xanchor": "left" if right > 0 else "right",
                "yanchor": "bottom" if up > 0 else "top",
                "xshift": 8 * right,
                "yshift": 5 * up,
                "font": {"color": colour, "size": _SIZE},
                "bgcolor": colours["page"],
                "opacity": 0.92,
                "borderpad": 1,
            }
        )
    return out


def _covered_points(lines: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Return points, in pixels, that a name should not cover: marks, and steps along the lines between them."""
    drawn: list[tuple[float, float]] = []
    for at in lines:
        drawn += list(at) * 3  # a mark hides more of a name than a line does
        for (a, b), (c, d) in itertools.pairwise(at):
            n = max(2, int(math.hypot(c - a, d - b) / 8))
            drawn += [(a + (c - a) * k / n, b + (d - b) * k / n) for k in range(1, n)]
    return drawn


def _best_place(
    spots: Sequence[tuple[float, float]],
    wide: float,
    tall: float,
    height: int,
    drawn: Sequence[tuple[float, float]],
    placed: Sequence[tuple[float, float, float, float]],
) -> tuple[int, int, int, tuple[float, float, float, float]]:
    """Return the mark and its side where a name covers least, and the box of the name."""
    tries = []
    for k, (px, py) in enumerate(spots):
        for right, up in ((1, 1), (-1, -1), (-1, 1), (1, -1)):
            left, top = px + 9 if right > 0 else px - 9 - wide, py - tall - 7 if up > 0 else py + 7
            box = (left, top, left + wide, top + tall)
            outside = left < 0 or left + wide > _WIDTH or top < 0 or top + tall > height - 80
            covers = sum(box[0] < a < box[2] and box[1] < b < box[3] for a, b in drawn)
            over = sum(a < box[2] and box[0] < c and b < box[3] and box[1] < d for a, b, c, d in placed)
            tries.append((40 * over + 30 * outside + covers, abs(k - len(spots) // 2), k, right, up, box))
    *_, k, right, up, box = min(tries)
    return k, right, up, box


def _start(
    at: tuple[float, float], ends: Sequence[float], y_ends: tuple[float, float], log: bool, colours: dict[str, str]
) -> dict[str, Any]:
    """Return the note “start here” with an arrow to a mark, on the side where it fits."""
    x, y = math.log10(at[0]) if log else at[0], at[1]
    right = (x - ends[0]) / ((ends[1] - ends[0]) or 1) < 0.8
    up = (y - y_ends[0]) / ((y_ends[1] - y_ends[0]) or 1) < 0.8
    return {
        "x": x,
        "y": y,
        "ax": 40 if right else -40,
        "ay": -34 if up else 34,
        "showarrow": True,
        "arrowcolor": colours["soft"],
        "text": "<b>start here</b>",
        "font": {"color": colours["ink"]},
    }


def _ring(at: tuple[float, float], symbol: str, colours: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [at[0]],
        "y": [at[1]],
        "hoverinfo": "skip",
        "name": "ring",
        "marker": {
            "symbol": symbol,
            "size": 22,
            "color": colours["ink"],
            "line": {"width": 2, "color": colours["ink"]},
        },
    }


def _corner(hidden: str, colours: dict[str, str]) -> dict[str, Any]:
    left = hidden in RISKS
    return {
        "text": "↖ better" if left else "better ↗",
        "showarrow": False,
        "xref": "paper",
        "yref": "paper",
        "x": 0 if left else 1,
        "xanchor": "left" if left else "right",
        "y": 1,
        "yanchor": "top",
        "font": {"color": colours["soft"], "size": 12},
    }
