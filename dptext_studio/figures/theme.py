"""Colours, layout and pre-placed labels that all figures share, for light and dark pages.

Colours are set explicitly, because plotly's own templates do not adapt to the page around a figure.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from dptext_core.support import extras

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Blue (original), vermillion (released), grey: distinguishable with any colour vision.
LIGHT = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "soft": "#5f6670",
    "line": "#d9dce1",
    "bar": "#9aa3ad",
    "keep": "#0b62ad",
    "new": "#a64700",
}
DARK = {
    "page": "#171614",
    "ink": "#e8eaed",
    "soft": "#a4abb3",
    "line": "#3b4047",
    "bar": "#767e88",
    "keep": "#8fc3f3",
    "new": "#ffb072",
}
#: Colours of curves, the same hue in both themes. There is one for each built-in mechanism.
LINES_LIGHT = (
    *("#0b62ad", "#b34700", "#00735a", "#86308c", "#7a5f00", "#1f2328", "#c0306a", "#2b7f9e", "#73201f", "#302187"),
    *("#0d4704", "#550051", "#044660", "#6f63cf", "#967760", "#508a11", "#5a482e", "#923e47", "#474684", "#a465b3"),
)
LINES_DARK = (
    *("#8fc3f3", "#ffb072", "#5fd3ae", "#dba6ea", "#e5cf62", "#e8eaed", "#ff9dbf", "#7fd6ea", "#d45c56", "#7a7ae7"),
    *("#64975d", "#c076b8", "#0f9fd3", "#80809c", "#cc9060", "#76b73f", "#9c7d52", "#f47783", "#999bf9", "#f1c9fa"),
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "x",
    "star",
    "triangle-down",
    "cross",
    "hexagon",
    "bowtie",
    "pentagon",
)

FONT = '"Source Sans", "Source Sans Pro", sans-serif'
PAD = 8  # pixels around every figure

#: Names that contain an underscore: in all others, it separates the levels of a path.
_WHOLE = frozenset({"paper_bgcolor", "plot_bgcolor", "error_x", "error_y"})


#: Colour, dash and symbol of a curve.
Style = tuple[str, str, str]


def line_style(index: int, dark: bool) -> Style:
    """Return the colour, the dash and the symbol of the curve with this number."""
    paint = LINES_DARK if dark else LINES_LIGHT
    return paint[index % len(paint)], DASHES[index % len(DASHES)], SYMBOLS[index % len(SYMBOLS)]


def _put(into: dict[str, Any], values: dict[str, Any]) -> None:
    """Set ``values`` and merge those that exist in both. Underscores in a name are its path, and arrays become lists.
    """
    for name, value in values.items():
        path = [name] if name in _WHOLE else name.split("_")
        *outer, last = path
        inner = into
        for step in outer:
            inner = inner.setdefault(step, {})
        if last == "title" and isinstance(value, str):
            value = {"text": value}
        if isinstance(value, dict):
            _put(inner.setdefault(last, {}), value)
        else:
            inner[last] = value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class Plot(dict):
    """A plotly figure as the plain dictionary that the browser reads, with the methods of ``go.Figure`` that our
    figures use.

    Building and checking one figure as graph objects takes as long as the rest of an answer.
    """

    def __init__(self) -> None:
        super().__init__(data=[], layout={})

    def to_json(self) -> str:
        extras.require("plotly")

        import plotly.io

        return plotly.io.to_json(self, validate=False)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the data that a notebook displays."""
        return {"application/vnd.plotly.v1+json": json.loads(self.to_json()), "text/plain": "A figure."}

    def _trace(self, kind: str, values: dict[str, Any]) -> Self:
        trace: dict[str, Any] = {"type": kind}
        _put(trace, values)
        self["data"].append(trace)
        return self

    def add_scatter(self, **values: Any) -> Self:
        return self._trace("scatter", values)

    def add_bar(self, **values: Any) -> Self:
        return self._trace("bar", values)

    def update_traces(self, **values: Any) -> Self:
        for trace in self["data"]:
            _put(trace, values)
        return self

    def update_layout(self, **values: Any) -> Self:
        _put(self["layout"], values)
        return self

    def _axes(self, letter: str, values: dict[str, Any]) -> Self:
        there = {
            f"{letter}axis",
            *(t.get(f"{letter}axis", letter)[0] + "axis" + t.get(f"{letter}axis", letter)[1:] for t in self["data"]),
        }
        for name in there:
            _put(self["layout"].setdefault(name, {}), values)
        return self

    def update_xaxes(self, **values: Any) -> Self:
        return self._axes("x", values)

    def update_yaxes(self, **values: Any) -> Self:
        return self._axes("y", values)

    def _more(self, what: str, values: dict[str, Any]) -> Self:
        made: dict[str, Any] = {}
        _put(made, values)
        self["layout"].setdefault(what, []).append(made)
        return self

    def add_annotation(self, **values: Any) -> Self:
        return self._more("annotations", values)

    def add_shape(self, **values: Any) -> Self:
        return self._more("shapes", values)

    def add_vline(self, x: float, **values: Any) -> Self:
        """Draw a vertical line from the bottom to the top."""
        ends = {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
        return self._more("shapes", ends | values)

    def add_vrect(self, x0: float, x1: float, **values: Any) -> Self:
        """Draw a vertical band from the bottom to the top."""
        ends = {"type": "rect", "x0": x0, "x1": x1, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
        return self._more("shapes", ends | values)


#: Graph objects have the same methods.
Figure = TypeVar("Figure", "Plot", "go.Figure")


def layout(figure: Figure, colours: dict[str, str], height: int) -> Figure:
    figure.update_layout(
        height=height,
        margin={"l": PAD, "r": PAD, "t": PAD, "b": PAD},
        showlegend=False,
        bargap=0.04,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": colours["ink"], "size": 13, "family": FONT},
    )
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    figure.update_xaxes(linecolor=colours["line"], gridcolor=colours["line"], zeroline=False, tickcolor=colours["line"])
    figure.update_yaxes(linecolor=colours["line"], gridcolor=colours["line"], zeroline=False, tickcolor=colours["line"])
    return figure


def with_hover(figure: Figure, colours: dict[str, str]) -> Figure:
    paper = "#24262b" if colours is DARK else "#ffffff"
    figure.update_layout(
        hoverlabel={
            "bgcolor": paper,
            "bordercolor": colours["line"],
            "font": {"color": colours["ink"], "size": 13, "family": FONT},
            "align": "left",
        },
    )
    return figure


def escape(text: str) -> str:
    """Escape a text for plotly, which interprets some HTML in its labels."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def add_labels(figure: Plot, labels: Sequence[tuple[float, float, str, str, int, str]]) -> None:
    """Draw words as one trace: x, y, text (escaped), colour, size, position."""
    if not labels:
        return
    x, y, text, colour, size, position = (list(column) for column in zip(*labels, strict=True))
    figure.add_scatter(
        x=x,
        y=y,
        text=text,
        textposition=position,
        mode="text",
        textfont={"color": colour, "size": size},
        hoverinfo="skip",
        cliponaxis=False,
        showlegend=False,
        name="labels",
    )


def epsilon_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times each power of ten between two ε; over more than three powers, only the powers."""
    powers = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 2)
    steps = (1, 2, 5) if high / low <= 1000 else (1,)
    ticks = [s * 10.0**p for p in powers for s in steps]
    return [v for v in ticks if low / 1.001 <= v <= high * 1.001] or [low]


def translucent(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def width_of(text: str, size: float) -> float:
    """Return an upper estimate of a text's width in pixels: plotly measures only in the browser, after labels are
    placed.
    """
    narrow, wide = set(" .,:;'’|!iljtfrI()[]-"), set("mwMW@%&—…")
    em = 0.0
    for c in text:
        if unicodedata.combining(c):
            continue
        if unicodedata.east_asian_width(c) in "WF":
            em += 1.05
        else:
            em += 0.36 if c in narrow else 0.86 if c in wide else 0.66 if c.isupper() else 0.53
    return em * size


def shorten(text: str, most: int) -> str:
    """Return at most that many characters; the hover shows the whole word."""
    return text if len(text) <= most else text[: most - 1] + "…"
