"""Results as plotly figures. Colours are set explicitly, for light and for dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Blue (original), vermillion (released), grey: distinguishable with any colour vision.
LIGHT = {"ink": "#1f2328", "soft": "#5f6670", "line": "#d9dce1", "bar": "#9aa3ad", "keep": "#0b62ad", "new": "#a64700"}
DARK = {"ink": "#e8eaed", "soft": "#a4abb3", "line": "#3b4047", "bar": "#767e88", "keep": "#8fc3f3", "new": "#ffb072"}


def _layout(figure: go.Figure, colours: dict[str, str], height: int) -> go.Figure:
    figure.update_layout(
        height=height, margin={"l": 8, "r": 8, "t": 8, "b": 8}, showlegend=False, bargap=0.04,
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font={"color": colours["ink"], "size": 13},
    )  # fmt: skip
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    figure.update_xaxes(linecolor=colours["line"], gridcolor=colours["line"], zeroline=False, tickcolor=colours["line"])
    figure.update_yaxes(linecolor=colours["line"], gridcolor=colours["line"], zeroline=False, tickcolor=colours["line"])
    return figure


def logit_histogram(
    logits: np.ndarray,
    clip_min: float,
    clip_max: float,
    *,
    marks: dict[str, float] | None = None,
    dark: bool = False,
    height: int = 260,
) -> go.Figure:
    """The model's scores of all candidates at one mask, with the clipping range shaded.

    logits: raw, (V,). marks: word → its raw score, drawn as labelled lines (original in blue, released in vermillion).
    """
    import plotly.graph_objects as go

    colours = DARK if dark else LIGHT
    low = min(float(logits.min()), clip_min)
    high = max(float(logits.max()), clip_max)
    counts, edges = np.histogram(logits, bins=60, range=(low, high))
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=np.diff(edges),
            marker={"color": colours["bar"], "line": {"width": 0}},
            hovertemplate="score %{x:.1f}: %{y:,} words<extra></extra>",
        )
    )
    figure.add_vrect(x0=clip_min, x1=clip_max, fillcolor=colours["keep"], opacity=0.10, line_width=0, layer="below")
    for x in (clip_min, clip_max):
        figure.add_vline(x=x, line={"color": colours["keep"], "width": 1.5, "dash": "dot"})
    top = np.log10(counts.max() + 1)
    for j, (word, x) in enumerate((marks or {}).items()):
        colour = colours["keep"] if j == 0 else colours["new"]
        figure.add_vline(x=x, line={"color": colour, "width": 2})
        figure.add_annotation(
            x=x, y=top * (0.98 - 0.14 * j), yref="y", text=_plain(word), showarrow=False, xanchor="left", xshift=4,
            font={"color": colour},
        )  # fmt: skip
    figure.update_yaxes(type="log", title="words", title_font={"color": colours["soft"]}, dtick=1)
    figure.update_xaxes(title="model score (logit) before clipping", title_font={"color": colours["soft"]})
    return _layout(figure, colours, height)


def _plain(text: str) -> str:
    """Plotly reads a little HTML in its labels: what a user typed is shown literally."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
