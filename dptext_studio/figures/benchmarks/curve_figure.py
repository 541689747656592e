"""Benchmark series as curves over ε or over a privacy metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dptext_core.errors import InputError
from dptext_core.measure.metrics.registry import measure
from dptext_core.privacy.numbers import number
from dptext_core.support import extras
from dptext_lab.results import curves as c

from ..metric_titles import metric_title
from ..theme import DARK, LIGHT, epsilon_ticks
from .frame import GUESS, UNPROTECTED, add_frame, add_level, add_paper_entry
from .marks import add_paper_series, add_ring, add_series, epsilon_title, privacy_title, short_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go


YOURS = "your ε, between points"
YOUR_TEXT = "your text"


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
    """Draw a metric over ε (logarithmic) or over one of ``dptext_lab.results.curves.HIDDEN``, with 95% intervals.

    baseline, majority: values of unprotected text and of always guessing, as horizontal lines. chosen: a point to
    circle. yours: a user's ε, marked on every curve that reaches it, between the measured points of the logarithmic
    axis. your_text: the metric's value on the user's text at that ε. The legend is below these ``height`` pixels, in
    columns that fit ``width``. Raises InputError without a point.
    """
    extras.require("plotly")

    import plotly.graph_objects as go

    shown = [s for s in found if s.points]
    if not shown and not any(s.points for s in papers):
        raise InputError("There is no point. Pass at least one.")
    colours = DARK if dark else LIGHT
    figure = go.Figure()
    for s in papers:
        add_paper_series(figure, s, metric, dark, showlegend=False)
    names = short_labels([(s.label, s.mechanism) for s in shown])
    for s, name in zip(shown, names, strict=True):
        add_series(figure, s, name, metric, dark)
        add_ring(figure, [(p.x, p.value) for p in s.points if chosen and p.row.point == chosen], colours)
    if papers:
        names.append(add_paper_entry(figure, colours))
    add_level(figure, baseline, UNPROTECTED, colours)
    add_level(figure, majority, GUESS, colours)
    every = [p.x for s in (*shown, *papers) for p in s.points]
    if yours is not None and x == "epsilon":
        names += _add_user_epsilon(figure, shown, yours, your_text, colours)
        every.append(yours)
    add_frame(figure, colours, height, width, names)
    _add_axis(figure, x, every, [s.mechanism for s in shown])
    figure.update_yaxes(title_text=metric_title(metric))
    if measure(metric).kind == "speed":  # from hundreds to hundreds of thousands
        figure.update_yaxes(type="log", dtick=1)
    return figure


def _add_user_epsilon(
    figure: go.Figure, shown: Sequence[c.Series], epsilon: float, text: float | None, colours: dict[str, str]
) -> list[str]:
    """Draw a user's ε as a line and a star on each curve, and the user's text as a hollow star. Return the names in the
    legend.
    """
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


def _add_axis(figure: go.Figure, x: str, every: Sequence[float], names: Sequence[str]) -> None:
    """Set up the horizontal axis for the values ``every`` of ``x``."""
    if x == "epsilon":
        low, high = min(every), max(every)
        pad = max(0.03 * np.log10(high / low), 0.03)
        ticks = epsilon_ticks(low, high)
        figure.update_xaxes(
            type="log",
            tickvals=ticks,
            ticktext=[f"{v:g}" for v in ticks],
            range=[np.log10(low) - pad, np.log10(high) + pad],
            title_text=epsilon_title(names),
        )
    else:
        figure.update_xaxes(range=[-0.02, 1.02], dtick=0.2, title_text=privacy_title(x))
