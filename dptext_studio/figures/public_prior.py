"""The effect of a public prior (``dptext_lab.results.public_prior``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dptext_core.support import extras

from .theme import DARK, LIGHT, epsilon_ticks, layout, line_style

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dptext_lab.results.public_prior import PriorRow

#: The systems and measures that are shown for a data set.
SYSTEMS = (
    "DP-MLM, tuned range",
    "DP-MLM, range by ε",
    "DP-MLM, range by ε, cleaned up",
    "with prior, parallel",
    "with prior, parallel, cleaned up",
)
PANELS = (
    ("cosine", "cosine to the original"),
    ("judge_perplexity", "perplexity"),
    ("best_attacker", "words that an attacker recovers"),
)


def public_prior(
    rows: Sequence[PriorRow],
    *,
    data: str = "sst2",
    dark: bool = False,
    height: int = 720,
    logarithms: Sequence[str] = (),
) -> go.Figure:
    """Draw cosine, perplexity and the strongest attacker's success over ε, one line for each system, with 95% intervals
    over texts.

    logarithms: measures whose rows contain logarithms; by default those of ``results.public_prior``.
    """
    extras.require("plotly")

    from plotly.subplots import make_subplots

    if not logarithms:
        from dptext_lab.results.public_prior import LOGARITHMS as logarithms
    colours = DARK if dark else LIGHT
    figure = make_subplots(rows=len(PANELS), cols=1, shared_xaxes=True, vertical_spacing=0.05)
    there = [r for r in rows if r.data == data]
    epsilons = sorted({r.epsilon for r in there})
    for panel, (measure, title) in enumerate(PANELS, 1):
        logarithm = measure in logarithms
        for i, system in enumerate(SYSTEMS):
            mine = sorted((r for r in there if (r.system, r.measure) == (system, measure)), key=lambda r: r.epsilon)
            line = _line(mine, system, logarithm, line_style(i, dark))
            line.showlegend = panel == 1
            figure.add_trace(line, row=panel, col=1)
        soft = {"color": colours["soft"]}
        figure.update_yaxes(title=title, title_font=soft, type="log" if logarithm else "linear", row=panel, col=1)
    layout(figure, colours, height)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(type="log")
    if epsilons:
        figure.update_xaxes(
            title="ε",
            title_font={"color": colours["soft"]},
            tickvals=epsilon_ticks(epsilons[0], epsilons[-1]),
            row=len(PANELS),
            col=1,
        )
    return figure


def _line(rows: Sequence[PriorRow], system: str, logarithm: bool, style: tuple[str, str, str]) -> go.Scatter:
    """Return the line of a system through the means of a measure, with their intervals."""
    import plotly.graph_objects as go

    def shown(value: float) -> float:
        return math.exp(value) if logarithm else value

    colour, dash, symbol = style
    means = [shown(r.mean) for r in rows]
    up, down = ([abs(shown(r.mean + sign * r.half) - y) for r, y in zip(rows, means, strict=True)] for sign in (1, -1))
    return go.Scatter(
        x=[r.epsilon for r in rows],
        y=means,
        error_y={"array": up, "arrayminus": down, "thickness": 1, "width": 2},
        name=system,
        legendgroup=system,
        mode="lines+markers",
        line={"color": colour, "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": 7},
        hovertemplate=f"{system}, ε %{{x:g}}: %{{y:.4g}}<extra></extra>",
    )
