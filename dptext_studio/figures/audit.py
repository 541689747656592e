"""The report of an audit as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dptext_core.support import extras

from .theme import DARK, LIGHT, layout

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dptext_core.auditing import AuditReport


def audit_figure(report: AuditReport, dark: bool = False, height: int = 170) -> go.Figure:
    """Draw stated and measured loss as two bars, and the largest loss that the audit could detect. An infinite bar
    leaves the axis.
    """
    extras.require("plotly")

    import plotly.graph_objects as go

    colours = DARK if dark else LIGHT
    values = [report.measured, report.claimed]
    top = 1.15 * max([v for v in (*values, report.detectable) if math.isfinite(v)], default=1.0) or 1.0
    picture = go.Figure(
        go.Bar(
            x=[min(v, 1.2 * top) for v in values],
            y=["measured" if report.exact else "measured, at least", "claimed"],
            orientation="h",
            marker={"color": [colours["new"] if report.verdict == "refuted" else colours["keep"], colours["bar"]]},
            text=[report.loss, report.limit],
            textposition="inside",
            insidetextanchor="start",
            hoverinfo="skip",
        )
    )
    if math.isfinite(report.detectable) and report.detectable > 0:
        picture.add_vline(
            x=report.detectable,
            line={"color": colours["soft"], "width": 1.5, "dash": "dot"},
            annotation_text="detectable from draws",
            annotation_font_color=colours["soft"],
            annotation_position="top",
            annotation_yshift=4,
        )
    picture.update_xaxes(range=[0, top], title=f"ε of {report.of}" + (", per unit of distance" if report.unit else ""))
    layout(picture, colours, height)
    return picture.update_layout(bargap=0.35, margin_t=26)
