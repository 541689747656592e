"""DP-Rewrite's case study: our scores over ε next to the paper's (``dptext_lab.results.case_study``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dptext_core.support import extras
from dptext_lab.results import case_study as study

from .theme import DARK, DASHES, LIGHT, LINES_DARK, LINES_LIGHT, SYMBOLS, layout, with_hover

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HOLLOW = "hollow: the paper"


def case_study(found: Mapping[str, Any], *, dark: bool = False, height: int = 400) -> go.Figure:
    """Draw macro F1 over ε for both rewritten sets: a line for each pre-training set, with standard deviations over
    seeds.

    The paper's numbers are hollow marks on dotted lines. Horizontal lines: unprotected texts, and no information.
    """
    extras.require("plotly")

    from plotly.subplots import make_subplots

    colours, lines = (DARK, LINES_DARK) if dark else (LIGHT, LINES_LIGHT)
    titles = [f"{title} is rewritten" for title in study.SETS.values()]
    figure = make_subplots(cols=2, shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.04)
    epsilons = list(reversed(study.EPSILONS))
    axis = [study.epsilon_text(e) for e in epsilons]
    rows = {(r["pretrained"], r["data"], r["epsilon"]): r for r in found["rows"]}
    for col, name in enumerate(study.SETS, 1):
        for i in range(len(study.SETS)):
            _add_pretrained(figure, i, name, rows, epsilons, lines[i], col)
        original = rows.get(("", name, None))
        levels = [("unprotected", original["macro_f1"]["mean"])] if original else []
        levels.append(("no information", found["no_information"][name]["macro_f1"]))
        _add_levels(figure, levels, axis, colours, col)
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        name=_HOLLOW,
        line={"color": colours["soft"], "width": 1, "dash": "dot"},
        marker={"color": colours["soft"], "symbol": "circle-open", "size": 8},
    )
    layout(figure, colours, height)
    figure.update_layout(
        margin_t=30, showlegend=True, legend={"orientation": "h", "y": -0.24, "yanchor": "top", "x": 0}
    )
    # Plotly would read most of these names as numbers, and omit the others.
    figure.update_xaxes(
        type="category",
        title="ε of a sentence",
        title_font={"color": colours["soft"]},
        categoryorder="array",
        categoryarray=axis,
    )
    figure.update_yaxes(range=[0, 1.03])
    figure.update_yaxes(title="Macro F1 (intent)", title_font={"color": colours["soft"]}, col=1)
    return with_hover(figure, colours)


def _add_pretrained(
    figure: go.Figure,
    i: int,
    name: str,
    rows: Mapping[tuple[str, str, float | None], Any],
    epsilons: Sequence[float | None],
    colour: str,
    col: int,
) -> None:
    """Draw the scores on the rewritten set ``name`` after pre-training on set number ``i``: the paper's, then ours."""
    pre, title = list(study.SETS.items())[i]
    symbol = SYMBOLS[i]
    label = f"pre-trained on {title}"
    beside = [(study.epsilon_text(e), p) for e in epsilons if (p := study.paper_score(pre, name, e)) is not None]
    figure.add_scatter(
        x=[x for x, _ in beside],
        y=[p[0] for _, p in beside],
        mode="lines+markers",
        showlegend=False,
        line={"color": colour, "width": 1, "dash": "dot"},
        marker={"color": colour, "symbol": f"{symbol}-open", "size": 8},
        name=f"{label}, the paper",
        hovertemplate=f"the paper, {label}, ε %{{x}}: %{{y:.2f}}<extra></extra>",
        row=1,
        col=col,
    )
    mine = [(study.epsilon_text(e), r["macro_f1"]) for e in epsilons if (r := rows.get((pre, name, e)))]
    figure.add_scatter(
        x=[x for x, _ in mine],
        y=[f["mean"] for _, f in mine],
        mode="lines+markers",
        name=label,
        error_y={"array": [f["deviation"] or 0 for _, f in mine], "thickness": 1, "width": 2},
        line={"color": colour, "width": 2, "dash": DASHES[i]},
        legendgroup=pre,
        showlegend=col == 1,
        marker={"color": colour, "symbol": symbol, "size": 8},
        hovertemplate=f"{label}, ε %{{x}}: %{{y:.3f}}<extra></extra>",
        row=1,
        col=col,
    )


def _add_levels(
    figure: go.Figure, levels: Sequence[tuple[str, float]], axis: list[str], colours: dict[str, str], col: int
) -> None:
    """Draw horizontal lines with their names."""
    for text, level in levels:
        figure.add_scatter(
            x=axis,
            y=[level] * len(axis),
            mode="lines",
            showlegend=False,
            name=text,
            line={"color": colours["soft"], "width": 1, "dash": "dash"},
            hovertemplate=f"{text}: {level:.3f}<extra></extra>",
            row=1,
            col=col,
        )
        figure.add_annotation(
            x=0,
            y=level,
            text=text,
            showarrow=False,
            xanchor="left",
            xshift=-24,
            row=1,
            col=col,
            yanchor="bottom",
            font={"color": colours["soft"], "size": 12},
        )
