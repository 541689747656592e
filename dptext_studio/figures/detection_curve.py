"""How often an optimal reader distinguishes two texts, as a curve over the false-alarm rate."""

from __future__ import annotations

import math

import numpy as np

from dptext_core.attacks.trade_off_curve import NAMED, TradeOffCurve
from dptext_core.privacy.numbers import percent

from .theme import DARK, LIGHT, Plot, layout, with_hover

#: False-alarm rates for a smooth curve, including the one that sentences refer to.
RATES = tuple(i / 200 for i in range(201))

HOVER = "%{y:.1%} detected at %{x:.1%} false alarms<extra></extra>"


def detected_at(curve: TradeOffCurve, rate: float = NAMED) -> tuple[str, str]:
    """Return the detections at the nearest false-alarm rate, and the limit of the guarantee there, as text."""
    at = int(np.argmin(np.abs(curve.false_alarms - rate)))
    low, high, ceiling = (percent(float(values[at])) for values in (curve.lower, curve.upper, curve.ceiling))
    return (high if low == high else f"{low} to {high}"), ceiling if math.isfinite(curve.loss) else "no limit"


def detection_curve(curve: TradeOffCurve, *, dark: bool = False, height: int = 380) -> Plot:
    """Draw the detections of the optimal reader, those of guessing, and the most that the guarantee alone allows.

    Parameters
    ----------
    curve
        Of a single ε. Where it is bracketed, the upper end is drawn and the bracket is filled.
    dark
        Whether the page is dark.
    height
        Pixels.
    """
    colours = DARK if dark else LIGHT
    figure, x = Plot(), curve.false_alarms
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="Guessing", line={"color": colours["soft"], "width": 1.5, "dash": "dot"}
    )
    figure.add_scatter(
        x=np.concatenate([[0.0], x]),
        y=np.concatenate([[0.0], curve.ceiling]),
        mode="lines",
        name="Limit of the guarantee",
        line={"color": colours["new"], "width": 2, "dash": "dash"},
        hovertemplate=HOVER,
    )
    if not curve.is_exact:
        figure.add_scatter(x=x, y=curve.lower, mode="lines", line_width=0, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=x,
        y=curve.upper,
        mode="lines",
        name="Optimal reader" if curve.is_exact else "Optimal reader, at most",
        line={"color": colours["keep"], "width": 3},
        hovertemplate=HOVER,
        **({} if curve.is_exact else {"fill": "tonexty"}),
    )
    _add_named_point(figure, curve, colours)
    ticks = {"tickformat": ".0%", "range": [-0.01, 1.02], "nticks": 6}
    figure.update_xaxes(title="False alarms", **ticks)
    figure.update_yaxes(title="First text detected", **ticks)
    layout(figure, colours, height)
    figure.update_layout(
        showlegend=True,
        margin_t=34,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        paper_bgcolor=colours["page"],
        plot_bgcolor=colours["page"],
        dragmode=False,
    )
    return with_hover(figure, colours)


def _add_named_point(figure: Plot, curve: TradeOffCurve, colours: dict[str, str]) -> None:
    """Mark the false-alarm rate that sentences refer to."""
    x = curve.false_alarms
    at = int(np.argmin(np.abs(x - NAMED)))
    figure.add_scatter(
        x=[x[at]],
        y=[curve.upper[at]],
        mode="markers",
        marker={"color": colours["keep"], "size": 11, "line": {"color": colours["page"], "width": 2}},
        showlegend=False,
        hovertemplate=HOVER,
    )
    figure.add_annotation(  # below the diagonal, where there is no curve
        x=1,
        y=0.05,
        text=f"● At {percent(float(x[at]))} false alarms, {detected_at(curve)[0]} detected",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"color": colours["keep"], "size": 13},
    )
