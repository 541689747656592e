"""Benchmark series and the utility-privacy plane as plotly figures.

Ours are filled marks on lines, the papers' hollow marks on thin dotted lines. A configuration has the same colour, dash
and mark in every figure, and no two of a figure differ in colour alone. A mark's ``customdata`` begins with its point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dptext_core.errors import InputError
from dptext_core.measure.front import pareto
from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.registry import counted
from dptext_core.privacy.guarantee import number
from dptext_core.support import extras
from dptext_lab.results import curves as c
from dptext_lab.results.papers import PaperRow

from .theme import (
    DARK,
    DASHES,
    LIGHT,
    LINES_DARK,
    LINES_LIGHT,
    PAD,
    SYMBOLS,
    Figure,
    Plot,
    epsilon_ticks,
    escaped,
    layout,
    width_of,
    with_hover,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Legend of the papers' marks: one entry for all of them, as their colours and marks are those of ours.
PAPERS = "hollow: papers"
FRONT = "Pareto front"
UNPROTECTED = "unprotected"
GUESS = "always guessing"
YOURS = "your ε, between points"
YOUR_TEXT = "your text"
NARROW = 320  # pixels that a figure has at least, on a telephone
_AXIS = 44  # pixels below the plot for the ticks and the title of its axis


def curves(
    found: Sequence[c.Series],
    papers: Sequence[c.Series],
    metric: str,
    x: str = "epsilon",
    *,
    baseline: float | None = None,
    majority: float | None = None,
    chosen: str = "",
    yours: float | None = None,
    your_text: float | None = None,
    dark: bool = False,
    height: int = 360,
    width: int = 340,
) -> go.Figure:
    """A metric over ε (logarithmic) or over one of ``dptext_lab.results.curves.HIDDEN``, with 95% intervals.

    baseline, majority: values of unprotected text and of always guessing, as lines across. chosen: a point to ring.
    yours: a user's ε, marked on every curve that reaches it, between the measured points on the logarithmic axis.
    your_text: the metric's value on a text of the user's at that ε. The legend comes below these ``height`` pixels, in
    columns that fit ``width``. Raises InputError without a point.
    """
    extras.require("plotly")

    import plotly.graph_objects as go

    shown = [s for s in found if s.points]
    if not shown and not any(s.points for s in papers):
        raise InputError("There is no point to draw.")
    colours = DARK if dark else LIGHT
    figure = go.Figure()
    for s in papers:
        _printed(figure, s, metric, dark, showlegend=False)
    names = _short([(s.label, s.mechanism) for s in shown])
    for s, name in zip(shown, names, strict=True):
        _measured(figure, s, name, metric, dark)
        _ring(figure, [(p.x, p.value) for p in s.points if chosen and p.row.point == chosen], colours)
    if papers:
        names.append(_paper_entry(figure, colours))
    _level(figure, baseline, UNPROTECTED, colours)
    _level(figure, majority, GUESS, colours)
    every = [p.x for s in (*shown, *papers) for p in s.points]
    if yours is not None and x == "epsilon":
        names += _yours(figure, shown, yours, your_text, colours)
        every.append(yours)
    _frame(figure, colours, height, width, names)
    if x == "epsilon":
        low, high = min(every), max(every)
        pad = max(0.03 * np.log10(high / low), 0.03)
        ticks = epsilon_ticks(low, high)
        figure.update_xaxes(
            type="log",
            tickvals=ticks,
            ticktext=[f"{v:g}" for v in ticks],
            range=[np.log10(low) - pad, np.log10(high) + pad],
            title_text=_epsilon_title([s.mechanism for s in shown]),
        )
    else:
        figure.update_xaxes(range=[-0.02, 1.02], dtick=0.2, title_text=_hidden_title(x))
    figure.update_yaxes(title_text=measure(metric).title)
    if measure(metric).kind == "speed":  # from hundreds to hundreds of thousands
        figure.update_yaxes(type="log", dtick=1)
    return figure


def panels(
    found: Sequence[c.Series],
    papers: Sequence[c.Series],
    metric: str,
    x: str = "epsilon",
    *,
    baseline: float | None = None,
    majority: float | None = None,
    chosen: str = "",
    dark: bool = False,
    columns: int = 2,
    height: int = 132,
) -> Plot:
    """As :func:`curves`, with a panel of this ``height`` for each mechanism instead of a legend.

    All panels share their axes. The curves of the others stand behind each in grey. Raises InputError without a point.
    """
    shown = [s for s in found if s.points]
    printed = [s for s in papers if s.points]
    names = list(dict.fromkeys(s.mechanism for s in (*shown, *printed)))
    if not names:
        raise InputError("There is no point to draw.")
    colours, figure = DARK if dark else LIGHT, Plot()
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    under = _epsilon_title(names) if x == "epsilon" else _hidden_title(x)
    if width_of(under, 13) > NARROW:  # it would be cut off on both sides
        under = under.replace(" (", "<br>(")
    top, bottom, between = 46, 44 + 18 * under.count("<br>"), 34
    whole = top + bottom + rows * height + (rows - 1) * between
    plot = whole - top - bottom
    every = [p.x for s in (*shown, *printed) for p in s.points]
    values = [v for s in (*shown, *printed) for p in s.points for v in (p.value, p.low, p.high) if v is not None]
    values += [v for v in (baseline, majority) if v is not None]
    across, upwards = _shared_x(every, x), _shared_y(values, measure(metric).kind == "speed")
    for k, name in enumerate(names):
        row, column = divmod(k, columns)
        axis = "" if k == 0 else str(k + 1)
        left, gap = column / columns, 0.06 if columns > 1 else 0.0
        ends = [left + (gap / 2 if column else 0), left + 1 / columns - (gap / 2 if column < columns - 1 else 0)]
        high = 1 - row * (height + between) / plot
        last = k + columns >= len(names)  # nothing stands below it
        figure.update_layout(
            **{
                f"xaxis{axis}": {**across, "domain": ends, "anchor": f"y{axis}", "showticklabels": last},
                f"yaxis{axis}": {
                    **upwards,
                    "domain": [max(0.0, high - height / plot), min(1.0, high)],
                    "anchor": f"x{axis}",
                    "showticklabels": column == 0,
                },
            }
        )
        figure.add_annotation(
            text=f"<b>{escaped(c.title(name))}</b>",
            x=ends[0],
            y=min(1.0, high),
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": 12, "color": colours["ink"]},
        )
        place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        behind = [s for s in shown if s.mechanism != name]
        figure.add_scatter(
            x=[v for s in behind for v in (*(p.x for p in s.points), None)],
            y=[v for s in behind for v in (*(p.value for p in s.points), None)],
            mode="lines",
            line={"color": colours["bar"], "width": 1},
            opacity=0.45,
            hoverinfo="skip",
            name="others",
            **place,
        )
        for value, dash in ((baseline, "dash"), (majority, "dot")):
            if value is not None:
                figure.add_shape(
                    type="line",
                    x0=0,
                    x1=1,
                    xref=f"x{axis} domain",
                    y0=value,
                    y1=value,
                    yref=f"y{axis}",
                    layer="below",
                    line={"color": colours["soft"], "width": 1, "dash": dash},
                )
        for s in (s for s in printed if s.mechanism == name):
            _printed(figure, s, metric, dark, **place)
        for s in (s for s in shown if s.mechanism == name):
            _measured(figure, s, s.label, metric, dark, **place)
            _ring(figure, [(p.x, p.value) for p in s.points if chosen and p.row.point == chosen], colours, **place)
    figure.add_annotation(
        text=measure(metric).title,
        x=0,
        y=1,
        yshift=22,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 13, "color": colours["soft"]},
    )
    figure.add_annotation(
        text=under,
        x=0.5,
        y=0,
        yshift=-24,
        xref="paper",
        yref="paper",
        yanchor="top",
        showarrow=False,
        font={"size": 13, "color": colours["soft"]},
    )
    layout(figure, colours, whole)
    figure.update_layout(
        hovermode="closest",
        paper_bgcolor=colours["page"],
        margin={"l": 46, "r": PAD + 4, "t": top, "b": bottom, "autoexpand": False},
    )
    figure.update_xaxes(ticks="outside", showgrid=False, showline=True, automargin=False, matches="x")
    figure.update_yaxes(automargin=False, matches="y")
    return with_hover(figure, colours)


def _printed(figure: Figure, s: c.Series, metric: str, dark: bool, **more: Any) -> None:
    """What a paper printed: dotted, with hollow marks."""
    colour, _, symbol = _style(s.index, dark)
    figure.add_scatter(
        x=[p.x for p in s.points],
        y=[p.value for p in s.points],
        mode="lines+markers",
        name=escaped(s.label),
        line={"color": colour, "width": 1, "dash": "dot"},
        marker=_mark(colour, f"{symbol}-open", 8),
        **_told([_hover_of(s.label, p, metric, s.paper) for p in s.points], s),
        **more,
    )


def _measured(figure: Figure, s: c.Series, name: str, metric: str, dark: bool, **more: Any) -> None:
    """What was measured here, with its intervals."""
    colour, dash, symbol = _style(s.index, dark)
    figure.add_scatter(
        x=[p.x for p in s.points],
        y=[p.value for p in s.points],
        mode="lines+markers",
        name=escaped(name),
        line={"color": colour, "width": 2, "dash": dash},
        marker=_mark(colour, symbol, 8),
        error_y=_bars(s.points, colour),
        **_told([_hover_of(s.label, p, metric) for p in s.points], s),
        **more,
    )


def _shared_x(every: Sequence[float], x: str) -> dict[str, Any]:
    if x != "epsilon":
        return {"range": [-0.04, 1.04], "dtick": 0.5}
    low, high = min(every), max(every)
    pad = max(0.05 * np.log10(high / low), 0.05)
    ticks = [v for v in epsilon_ticks(low, high) if len(epsilon_ticks(low, high)) < 5 or f"{v:e}"[0] == "1"]
    return {
        "type": "log",
        "tickvals": ticks,
        "ticktext": [f"{v:g}" for v in ticks],
        "range": [float(np.log10(low) - pad), float(np.log10(high) + pad)],
    }


def _shared_y(values: Sequence[float], speed: bool) -> dict[str, Any]:
    if speed:  # from hundreds to hundreds of thousands
        return {"type": "log", "dtick": 1}
    low, high = min(values), max(values)
    pad = 0.09 * (high - low) or 0.1
    return {"range": [low - pad, high + pad], "nticks": 5}


def plane(
    spots: Sequence[c.Spot],
    papers: Sequence[c.Spot],
    utility: str,
    privacy: str,
    *,
    baseline: float | None = None,
    chosen: str = "",
    dark: bool = False,
    height: int = 440,
    width: int = 340,
) -> go.Figure:
    """Utility upwards, privacy across; the better corner is named, and the front of ours drawn where both have one.

    baseline: utility of unprotected text. Raises InputError without a spot.
    """
    extras.require("plotly")

    import plotly.graph_objects as go

    if not spots and not papers:
        raise InputError("There is no setting with both metrics.")
    colours = DARK if dark else LIGHT
    better = (measure(privacy).better, measure(utility).better)
    figure = go.Figure()
    names = []
    if spots and 0 not in better:
        front = pareto([(s.x, s.y) for s in spots], better)
        figure.add_scatter(
            x=[spots[i].x for i in front],
            y=[spots[i].y for i in front],
            mode="lines",
            name=FRONT,
            hoverinfo="skip",
            line={"color": colours["soft"], "width": 6, "shape": "hv" if better[0] < 0 else "vh"},
            opacity=0.35,
        )
        names.append(FRONT)
    for label, group in _grouped(papers):
        colour, _, symbol = _style(group[0].index, dark)
        figure.add_scatter(
            x=[s.x for s in group],
            y=[s.y for s in group],
            mode="lines+markers",
            name=escaped(label),
            showlegend=False,
            line={"color": colour, "width": 1, "dash": "dot"},
            marker=_mark(colour, f"{symbol}-open", 9),
            **_told([_hover_both(s, utility, privacy) for s in group], None),
        )
    ours = _grouped(spots)
    shorts = _short([(label, group[0].mechanism) for label, group in ours])
    for name, (_, group) in zip(shorts, ours, strict=True):
        colour, dash, symbol = _style(group[0].index, dark)
        figure.add_scatter(
            x=[s.x for s in group],
            y=[s.y for s in group],
            mode="lines+markers",
            name=escaped(name),
            line={"color": colour, "width": 1, "dash": dash},
            marker=_mark(colour, symbol, 9),
            error_x=_bars([s.x_point for s in group], colour),
            error_y=_bars([s.y_point for s in group], colour),
            **_told([_hover_both(s, utility, privacy) for s in group], None, [s.y_point.row.point for s in group]),
        )
        names.append(name)
        _ring(figure, [(s.x, s.y) for s in group if chosen and s.y_point.row.point == chosen], colours)
    if papers:
        names.append(_paper_entry(figure, colours))
    _level(figure, baseline, UNPROTECTED, colours, "right" if better[0] < 0 else "left")
    _frame(figure, colours, height, width, names)
    figure.update_xaxes(title_text=measure(privacy).title)
    figure.update_yaxes(title_text=measure(utility).title)
    if 0 not in better:
        arrow = {(-1, 1): "↖", (1, 1): "↗", (-1, -1): "↙", (1, -1): "↘"}[better]
        figure.add_annotation(
            text=f"{arrow} better" if better[0] < 0 else f"better {arrow}",
            showarrow=False,
            xref="paper",
            yref="paper",
            x=0 if better[0] < 0 else 1,
            xanchor="left" if better[0] < 0 else "right",
            y=1 if better[1] > 0 else 0,
            yanchor="bottom" if better[1] > 0 else "top",
            font={"color": colours["soft"], "size": 12},
        )
    return figure


def _short(labelled: Sequence[tuple[str, str]]) -> list[str]:
    """Labels without what is not needed to tell the series of one figure apart, each given with its mechanism."""
    names = [m for _, m in labelled]
    return [c.title(m) if names.count(m) == 1 else label for label, m in labelled]


def _grouped(spots: Sequence[c.Spot]) -> list[tuple[str, list[c.Spot]]]:
    groups: dict[tuple[str, str], list[c.Spot]] = {}
    for s in spots:
        groups.setdefault((s.label, s.paper), []).append(s)
    return [(label, group) for (label, _), group in groups.items()]


def _style(index: int, dark: bool) -> tuple[str, str, str]:
    paint = LINES_DARK if dark else LINES_LIGHT
    return paint[index % len(paint)], DASHES[index % len(DASHES)], SYMBOLS[index % len(SYMBOLS)]


def _mark(colour: str, symbol: str, size: int) -> dict[str, Any]:
    return {"color": colour, "symbol": symbol, "size": size, "line": {"width": 1.5, "color": colour}}


def _bars(points: Sequence[c.CurvePoint], colour: str) -> dict[str, Any]:
    """Intervals as plotly's error bars; a point without one gets none."""
    return {
        "type": "data",
        "symmetric": False,
        "thickness": 1,
        "width": 3,
        "color": colour,
        "array": [0 if p.high is None else max(0.0, p.high - p.value) for p in points],
        "arrayminus": [0 if p.low is None else max(0.0, p.value - p.low) for p in points],
    }


def _told(hover: list[str], s: c.Series | None, ids: Sequence[str] | None = None) -> dict[str, Any]:
    """Hover texts, behind the points that a click names; a chosen mark fades no other one."""
    if ids is None:
        ids = [p.row.point for p in s.points] if s is not None else [""] * len(hover)
    return {
        "customdata": list(zip(ids, hover, strict=True)),
        "hovertemplate": "%{customdata[1]}<extra></extra>",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _hover_of(label: str, p: c.CurvePoint, metric: str, paper: str = "") -> str:
    lines = [f"{measure(metric).title}: {c.score_text(p.value, p.low, p.high)}"]
    return _lines(label, p, lines, paper)


def _hover_both(s: c.Spot, utility: str, privacy: str) -> str:
    lines = [
        f"{measure(name).title}: {c.score_text(p.value, p.low, p.high)}"
        for name, p in ((utility, s.y_point), (privacy, s.x_point))
    ]
    return _lines(s.label, s.y_point, lines, s.paper, shown_n_w=privacy != "n_w")


def _lines(label: str, p: c.CurvePoint, lines: list[str], paper: str, shown_n_w: bool = True) -> str:
    """What the hover says: setting, values, and where they are from."""
    row = p.row
    said = [f"<b>{escaped(label)}</b>", f"ε = {number(float(row.epsilon or 0))}, {counted(row.mechanism)}", *lines]
    if p.n_w is not None and shown_n_w and row.metric != "n_w":
        said.append(f"N_w: {p.n_w:.3g}")
    if isinstance(row, PaperRow):
        said += [f"{escaped(paper)}", *([escaped(row.note)] if row.note and len(row.note) < 60 else [])]
        if row.spread is not None:
            said.append(f"standard deviation {row.spread * row.scale:.2g}")
    else:
        said.append(f"n = {row.n:,}, {row.measured}" if row.n else row.measured)
        again = c.command(row).replace(" --grid", "<br>  --grid")
        said += [f"point {row.point}. To measure it again:", again]
    return "<br>".join(said)


def _ring(figure: Figure, at: Sequence[tuple[float, float]], colours: dict[str, str], **place: str) -> None:
    if at:
        figure.add_scatter(
            x=[x for x, _ in at],
            y=[y for _, y in at],
            mode="markers",
            hoverinfo="skip",
            showlegend=False,
            marker={"symbol": "circle-open", "size": 18, "color": colours["ink"], "line": {"width": 2}},
            name="chosen",
            **place,
        )


def _yours(
    figure: go.Figure, shown: Sequence[c.Series], epsilon: float, text: float | None, colours: dict[str, str]
) -> list[str]:
    """A user's ε as a line and a star on each curve; the user's text as a hollow star. The names in the legend."""
    figure.add_vline(x=epsilon, line={"color": colours["new"], "width": 1, "dash": "dot"}, layer="below")
    at = []
    for s in shown:
        points = [(p.x, p.value) for p in s.points]
        if len(points) > 1 and points[0][0] <= epsilon <= points[-1][0]:
            xs, ys = zip(*points, strict=True)
            at.append(float(np.interp(np.log(epsilon), np.log(xs), ys)))
    names = []
    for values, name, symbol in ((at, YOURS, "star"), ([] if text is None else [text], YOUR_TEXT, "star-open")):
        if values:
            figure.add_scatter(
                x=[epsilon] * len(values),
                y=values,
                mode="markers",
                name=name,
                marker={
                    "symbol": symbol,
                    "size": 15,
                    "color": colours["new"],
                    "line": {"width": 1.5, "color": colours["page" if symbol == "star" else "new"]},
                },
                hovertemplate=f"{name}, ε = {number(epsilon)}: %{{y:.3g}}<extra></extra>",
            )
            names.append(name)
    return names


def _paper_entry(figure: go.Figure, colours: dict[str, str]) -> str:
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        name=PAPERS,
        marker=_mark(colours["soft"], "circle-open", 8),
        line={"color": colours["soft"], "width": 1, "dash": "dot"},
    )
    return PAPERS


def _level(figure: go.Figure, value: float | None, name: str, colours: dict[str, str], side: str = "right") -> None:
    """A line across with its name: that of unprotected text above the axes, as marks and their bars come near its line
    at every end; that of guessing below its line, where hardly any are."""
    if value is None:
        return
    figure.add_hline(y=value, line={"color": colours["soft"], "width": 1, "dash": "dash"}, layer="below")
    above = name == UNPROTECTED
    figure.add_annotation(
        text=f"{'╌╌ ' if above else ''}{name}: {c.score_text(value)}",
        x=1.0 if side == "right" else 0.0,
        xref="paper",
        xanchor=side,
        showarrow=False,
        font={"color": colours["soft"], "size": 11},
        **({"y": 1, "yref": "paper", "yanchor": "bottom"} if above else {"y": value, "yanchor": "top"}),
    )


def _epsilon_title(names: Sequence[str]) -> str:
    """The unit of the axis where all count alike."""
    found = [u.partition(", ")[2] for u in c.units(names)]
    return f"ε {found[0]}" if len(c.units(names)) == 1 and found[0] else "ε (what it counts differs)"


def _hidden_title(x: str) -> str:
    return f"{'N_w' if x == 'n_w' else measure(x).title} (less is more private)"


def _frame(figure: go.Figure, colours: dict[str, str], height: int, width: int, names: Sequence[str]) -> None:
    """Axes, and a legend under them in as many columns as a narrow figure has room for."""
    layout(figure, colours, height)
    entry = max(width_of(name, 12) for name in names) + 48
    columns = max(1, min(len(names), int((width - 58 - PAD) // entry)))
    legend = 20 * -(-len(names) // columns) + 6
    top = 22
    figure.update_layout(
        height=height + legend,
        hovermode="closest",
        showlegend=True,
        paper_bgcolor=colours["page"],
        margin={"l": 58, "r": PAD + 4, "t": top, "b": _AXIS + legend, "autoexpand": False},
        legend={
            "orientation": "h",
            "x": 0,
            "y": -(_AXIS + 2) / (height - top - _AXIS),
            "yanchor": "top",
            "entrywidth": entry - 36,
            "tracegroupgap": 0,
            "itemsizing": "constant",
            "bgcolor": "rgba(0,0,0,0)",
            "font": {"size": 12, "color": colours["ink"]},
        },
    )
    titles = {"title_font": {"color": colours["soft"], "size": 13}, "automargin": False}
    figure.update_xaxes(ticks="outside", showgrid=False, showline=True, title_standoff=4, **titles)
    figure.update_yaxes(title_standoff=6, nticks=7, **titles)
    with_hover(figure, colours)
