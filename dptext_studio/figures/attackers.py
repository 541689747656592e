"""Results of attackers as figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dptext_core.errors import InputError
from dptext_core.support.checks import pluralize

from .theme import DARK, LIGHT, PAD, Plot, epsilon_ticks, escape, layout, line_style, with_hover

if TYPE_CHECKING:
    from dptext_core.attacks import QueryCurve


def query_figure(
    curves: Mapping[str, QueryCurve], *, epsilon: float | None = None, dark: bool = False, height: int = 300
) -> Plot:
    """Draw how many answers reveal a word, over ε, with both axes logarithmic; "never" is at the top.

    curves: label → curve. epsilon: a dotted line marks it. Raises InputError without a curve.
    """
    if not curves:
        raise InputError("There is no curve. Pass at least one.")
    colours = DARK if dark else LIGHT
    finite = [n for c in curves.values() for n in c.n if np.isfinite(n)]
    top = int(np.ceil(np.log10(max(finite, default=10.0)) + 0.05))
    top = max(top, 1)
    never, any_never = 10.0 ** (top + 0.6), False
    figure = Plot()
    for j, (label, curve) in enumerate(curves.items()):
        colour, dash, symbol = line_style(j, dark)
        n = np.array(curve.n)
        lost = np.isinf(n)
        any_never |= bool(lost.any())
        said = ["never" if gone else f"about {pluralize(round(v), 'answer')}" for v, gone in zip(n, lost, strict=True)]
        figure.add_scatter(
            x=curve.epsilons,
            y=np.where(lost, never, n),
            mode="lines+markers",
            name=escape(label),
            line={"color": colour, "width": 2, "dash": dash},
            marker={"color": colour, "symbol": symbol, "size": 7},
            customdata=said,
            hovertemplate=f"<b>{escape(label)}</b><br>ε = %{{x:.3g}}<br>%{{customdata}}<extra></extra>",
        )
    if epsilon is not None:
        figure.add_vline(x=epsilon, line={"width": 1, "dash": "dot", "color": colours["soft"]})
    layout(figure, colours, height)
    every = [e for c in curves.values() for e in c.epsilons]
    ticks = epsilon_ticks(min(every), max(every))
    figure.update_xaxes(
        type="log",
        title="ε per word",
        title_font={"color": colours["soft"]},
        tickvals=ticks,
        ticktext=[f"{v:g}" for v in ticks],
        showgrid=False,
    )
    step = max(1, top // 5)
    powers = list(range(0, top + 1, step))
    figure.update_yaxes(
        type="log",
        title="answers that reveal the word",
        title_font={"color": colours["soft"]},
        tickvals=[10.0**p for p in powers] + [never] * any_never,
        ticktext=[f"{10**p:,}" for p in powers] + ["never"] * any_never,
        range=[-0.1, top + (0.75 if any_never else 0.1)],
    )
    figure.update_layout(
        showlegend=True,
        margin={"l": PAD, "r": PAD, "t": PAD, "b": PAD},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return with_hover(figure, colours)
