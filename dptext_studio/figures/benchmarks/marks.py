"""Marks, bars, hover texts and labels that all benchmark figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dptext_core.mechanisms.registry import accounting_unit
from dptext_core.privacy.numbers import number
from dptext_lab.results import curves as c
from dptext_lab.results.papers import PaperRow

from ..mechanism_style import mechanism_style
from ..metric_titles import metric_title
from ..theme import Figure, escape


def add_paper_series(figure: Figure, s: c.Series, metric: str, dark: bool, **more: Any) -> None:
    """Draw a paper's numbers: dotted, with hollow marks."""
    colour, _, symbol = mechanism_style(s.mechanism, dark, s.variant)
    figure.add_scatter(
        x=[p.x for p in s.points],
        y=[p.value for p in s.points],
        mode="lines+markers",
        name=escape(s.label),
        line={"color": colour, "width": 1, "dash": "dot"},
        marker=marker(colour, f"{symbol}-open", 8),
        **hover_data([hover_of_point(s.label, p, metric, s.paper) for p in s.points], s),
        **more,
    )


def add_series(figure: Figure, s: c.Series, name: str, metric: str, dark: bool, **more: Any) -> None:
    """Draw our measurements with their intervals."""
    colour, dash, symbol = mechanism_style(s.mechanism, dark, s.variant)
    figure.add_scatter(
        x=[p.x for p in s.points],
        y=[p.value for p in s.points],
        mode="lines+markers",
        name=escape(name),
        line={"color": colour, "width": 2, "dash": dash},
        marker=marker(colour, symbol, 8),
        error_y=error_bars(s.points, colour),
        **hover_data([hover_of_point(s.label, p, metric) for p in s.points], s),
        **more,
    )


def short_labels(labelled: Sequence[tuple[str, str]]) -> list[str]:
    """Return labels that contain only what distinguishes the series of one figure, each with its mechanism."""
    names = [m for _, m in labelled]
    return [c.title(m) if names.count(m) == 1 else label for label, m in labelled]


def marker(colour: str, symbol: str, size: int) -> dict[str, Any]:
    return {"color": colour, "symbol": symbol, "size": size, "line": {"width": 1.5, "color": colour}}


def error_bars(points: Sequence[c.CurvePoint], colour: str) -> dict[str, Any]:
    """Return intervals as plotly's error bars; a point without an interval gets none."""
    return {
        "type": "data",
        "symmetric": False,
        "thickness": 1,
        "width": 3,
        "color": colour,
        "array": [0 if p.high is None else max(0.0, p.high - p.value) for p in points],
        "arrayminus": [0 if p.low is None else max(0.0, p.value - p.low) for p in points],
    }


def hover_data(hover: list[str], s: c.Series | None, ids: Sequence[str] | None = None) -> dict[str, Any]:
    """Return hover texts, after the point that a click reports; choosing a mark does not fade the others."""
    if ids is None:
        ids = [p.row.point for p in s.points] if s is not None else [""] * len(hover)
    return {
        "customdata": list(zip(ids, hover, strict=True)),
        "hovertemplate": "%{customdata[1]}<extra></extra>",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def hover_of_point(label: str, p: c.CurvePoint, metric: str, paper: str = "") -> str:
    lines = [f"{metric_title(metric)}: {c.score_text(p.value, p.low, p.high)}"]
    return hover_text(label, p, lines, paper)


def hover_of_spot(s: c.Spot, utility: str, privacy: str) -> str:
    lines = [
        f"{metric_title(name)}: {c.score_text(p.value, p.low, p.high)}"
        for name, p in ((utility, s.y_point), (privacy, s.x_point))
    ]
    return hover_text(s.label, s.y_point, lines, s.paper, shown_n_w=privacy != "n_w")


def hover_text(label: str, p: c.CurvePoint, lines: list[str], paper: str, shown_n_w: bool = True) -> str:
    """Return the hover text: settings, values and their source."""
    row = p.row
    said = [
        f"<b>{escape(label)}</b>",
        f"ε = {number(float(row.epsilon or 0))}, {accounting_unit(row.mechanism)}",
        *lines,
    ]
    if p.n_w is not None and shown_n_w and row.metric != "n_w":
        said.append(f"N_w: {p.n_w:.3g}")
    if isinstance(row, PaperRow):
        said += [f"{escape(paper)}", *([escape(row.note)] if row.note and len(row.note) < 60 else [])]
        if row.spread is not None:
            said.append(f"standard deviation {row.spread * row.scale:.2g}")
    else:
        said.append(f"n = {row.n:,}, {row.measured}" if row.n else row.measured)
        again = c.command(row).replace(" --grid", "<br>  --grid")
        said += [f"point {row.point}. To repeat the measurement:", again]
    return "<br>".join(said)


def add_ring(figure: Figure, at: Sequence[tuple[float, float]], colours: dict[str, str], **place: str) -> None:
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


def epsilon_title(names: Sequence[str]) -> str:
    """Return the title of the ε axis, with the unit if all series share one."""
    units = [u.partition(", ")[2] for u in c.units(names)]
    return f"ε {units[0]}" if len(c.units(names)) == 1 and units[0] else "ε (units differ)"


def privacy_title(x: str) -> str:
    return f"{metric_title(x)} (less is more private)"
