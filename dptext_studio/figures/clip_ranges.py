"""The cost of the width of a clipping range (``dptext_lab.results.clipping``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dptext_core.support import extras

from .theme import DARK, LIGHT, layout, line_style

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dptext_lab.results.clipping import ClippingRow


def clipping(rows: Sequence[ClippingRow], *, dark: bool = False, height: int = 480) -> go.Figure:
    """Draw cosine above and N_w below over the width of the clipping range, one line for each ε (``results.clipping``).
    """
    extras.require("plotly")

    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    colours = DARK if dark else LIGHT
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for i, epsilon in enumerate(dict.fromkeys(r.epsilon for r in rows)):
        mine = sorted((r for r in rows if r.epsilon == epsilon), key=lambda r: r.width)
        colour, dash, symbol = line_style(i, dark)
        for row, (name, half) in enumerate((("cosine", "cosine_half"), ("n_w", "n_w_half")), 1):
            figure.add_trace(
                go.Scatter(
                    x=[r.width for r in mine],
                    y=[getattr(r, name) for r in mine],
                    error_y={"array": [getattr(r, half) for r in mine], "thickness": 1, "width": 2},
                    name=f"ε {epsilon:g}",
                    legendgroup=str(epsilon),
                    showlegend=row == 1,
                    mode="lines+markers",
                    line={"color": colour, "dash": dash, "width": 2},
                    marker={"symbol": symbol, "size": 7},
                    hovertemplate=f"ε {epsilon:g}, %{{x:g}}σ: %{{y:.3f}}<extra></extra>",
                ),
                row=row,
                col=1,
            )
    layout(figure, colours, height)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    soft = {"color": colours["soft"]}
    figure.update_yaxes(title="cosine", title_font=soft, row=1, col=1)
    figure.update_yaxes(title="N_w", title_font=soft, rangemode="tozero", row=2, col=1)
    figure.update_xaxes(
        title="upper end, in σ above the mean", title_font=soft, tickvals=sorted({r.width for r in rows}), row=2, col=1
    )
    return figure
