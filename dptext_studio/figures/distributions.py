"""The distribution behind one word: the model's scores before they are clipped."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .theme import DARK, LIGHT, Plot, escape, layout


def logit_histogram(
    logits: np.ndarray,
    clip_min: float,
    clip_max: float,
    *,
    marks: dict[str, float] | None = None,
    others: Mapping[str, tuple[float, float]] | None = None,
    dark: bool = False,
    height: int = 260,
) -> Plot:
    """Draw the model's scores of all candidates at one mask, with the clipping range in use shaded.

    logits: raw, (V,). marks: word → its raw score, drawn as labelled lines (original in blue, released in vermillion).
    others: name → other ranges, whose ends are grey lines, with the name at the upper one.
    """
    colours = DARK if dark else LIGHT
    others = dict(others or {})
    low = min(float(logits.min()), clip_min, *(a for a, _ in others.values()))
    high = max(float(logits.max()), clip_max, *(b for _, b in others.values()))
    counts, edges = np.histogram(logits, bins=60, range=(low, high))
    figure = Plot().add_bar(
        x=np.round((edges[:-1] + edges[1:]) / 2, 4),
        y=counts,
        width=float(edges[1] - edges[0]),
        marker={"color": colours["bar"], "line": {"width": 0}},
        hovertemplate="score %{x:.1f}, words: %{y:,}<extra></extra>",
    )
    figure.add_vrect(
        x0=clip_min, x1=clip_max, fillcolor=colours["keep"], opacity=0.10, line={"width": 0}, layer="below"
    )
    for x in (clip_min, clip_max):
        figure.add_vline(x=x, line={"color": colours["keep"], "width": 1.5, "dash": "dot"})
    top = float(np.log10(counts.max() + 1))
    _add_ranges(figure, others, (clip_min, clip_max), top, colours)
    _add_words(figure, marks or {}, top, colours)
    figure.update_yaxes(type="log", title="words", title_font={"color": colours["soft"]}, dtick=1)
    figure.update_xaxes(title="model score (logit) before clipping", title_font={"color": colours["soft"]})
    return layout(figure, colours, height)


def _add_ranges(
    figure: Plot,
    others: Mapping[str, tuple[float, float]],
    used: tuple[float, float],
    top: float,
    colours: dict[str, str],
) -> None:
    """Draw the ends of the clipping ranges that are not in use."""
    for j, (name, ends) in enumerate(others.items()):
        for x in ends:
            if x not in used:
                figure.add_vline(x=x, line={"color": colours["soft"], "width": 1.5, "dash": "dash"})
        figure.add_annotation(
            x=ends[1],
            y=top * (0.62 - 0.12 * j),
            yref="y",
            text=escape(name),
            showarrow=False,
            xanchor="right",
            xshift=-4,
            font={"color": colours["soft"]},
        )


def _add_words(figure: Plot, marks: Mapping[str, float], top: float, colours: dict[str, str]) -> None:
    """Mark the scores of words with named lines."""
    for j, (word, x) in enumerate(marks.items()):
        colour = colours["keep"] if j == 0 else colours["new"]
        figure.add_vline(x=x, line={"color": colour, "width": 2})
        figure.add_annotation(
            x=x,
            y=top * (0.98 - 0.14 * j),
            yref="y",
            text=escape(word),
            showarrow=False,
            xanchor="left",
            xshift=4,
            font={"color": colour},
        )
