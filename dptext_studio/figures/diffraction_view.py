"""How the noise moved a word along one-dimensional lists, as a figure with a lane for each list.

Coordinates are pixels at the narrowest width, upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dptext_core.explain import DiffractionView, ListNeighbourhood
from dptext_core.privacy.numbers import percent, with_minus

from .theme import DARK, LIGHT, PAD, Plot, add_labels, escape, layout, shorten, width_of, with_hover
from .view_captions import shift_text

#: Pixels of a row of words, between lanes, and of the lowest and highest bars.
_ROW, _GAP, _LOW_BARS, _HIGH_BARS = 16, 11, 18, 130
#: Pixels from the end of a lane to a candidate outside the figure.
_INSET = 18


@dataclass(frozen=True)
class _Geometry:
    """The geometry of the figure.

    ``height``, ``right``: its size. ``levels``: rows of words in a lane. ``lane``: its height. ``bars``: the height of
    the highest bar. ``chip``: widths of the boxes of the original and the released word. ``x0``, ``x1``: ends of the
    lanes. ``radius``: places on either side of the original. ``step``: pixels from one place to the next. ``middle``:
    the height of the boxes.
    """

    height: int
    right: float
    levels: int
    lane: float
    bars: float
    chip: list[float]
    fan: int
    x0: float
    x1: float
    radius: int
    step: float
    middle: float

    @classmethod
    def of(cls, view: DiffractionView, ends: list[str], height: int, width: int) -> _Geometry:
        """Return the geometry for a view whose boxes contain the words ``ends``."""
        n = len(view.lists)
        # Words are below their bars and, with few lanes, above them too.
        levels = 2 if n <= 6 else 1
        fixed = (1 + levels) * _ROW + _GAP
        height = max(height, 2 * PAD + n * (fixed + _LOW_BARS))
        lane = (height - 2 * PAD) / n
        bars = min(lane - fixed, _HIGH_BARS)
        right = width - 2 * PAD
        chip = [width_of(w, 15) + 14 for w in ends]
        fan = 20 if n == 1 else 34
        x0, x1 = chip[0] + fan, right - chip[1] - fan
        radius = _radius(view.lists, levels * (x1 - x0 - 2 * _INSET))
        step = (x1 - x0 - 2 * _INSET) / (2 * radius + 1)
        middle = (height - 2 * PAD) / 2 if n > 1 else (height - 2 * PAD - fixed - bars) / 2 + _ROW + _GAP
        return cls(height, right, levels, lane, bars, chip, fan, x0, x1, radius, step, middle)

    @property
    def centre(self) -> float:
        """The place of the original on every lane."""
        return (self.x0 + self.x1) / 2

    def top(self, j: int) -> float:
        """Return the upper edge of a lane."""
        fixed = (1 + self.levels) * _ROW + _GAP
        return self.height - 2 * PAD - j * self.lane - (self.lane - fixed - self.bars) / 2

    def x(self, offset: int) -> float:
        """Return the position of a word that is ``offset`` places from the original."""
        return self.centre + offset * self.step


@dataclass
class _Parts:
    """Elements that all lanes add to the figure.

    ``labels``: x, y, text, colour, size, position. ``marks``: x, y, symbol, fill, line, hover.
    """

    labels: list[tuple[float, float, str, str, int, str]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[float, float, str, str, str, list[str]]] = field(default_factory=list)


def diffraction_figure(view: DiffractionView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """Draw one lane for each list, with the probabilities of the words near the original."""
    colours = DARK if dark else LIGHT
    ends = [shorten(w, 13) for w in (view.source, view.released_word)]
    g = _Geometry.of(view, ends, height, width)
    peak = max(float(h.probs[np.abs(h.offsets) <= g.radius].max()) for h in view.lists) or 1.0
    figure, parts = Plot(), _Parts()
    for j, hood in enumerate(view.lists):
        chosen, top = j == view.chosen, g.top(j)
        base = top - g.levels * _ROW - g.bars
        name = escape(shorten(hood.name, int((g.x1 - g.x0 + g.fan) / 6)))
        parts.labels.append((g.x0, top - _ROW / 2, name, colours["soft"], 11, "middle right"))
        shown = [i for i, k in enumerate(hood.offsets) if abs(k) <= g.radius]
        _add_bars(figure, hood, shown, g, base, peak, chosen, colours)
        parts.marks.append(_candidate(hood, g, base, chosen, colours))
        _add_words(parts, hood, shown, g, base, chosen, colours)
        _add_ways(parts, g, base, parts.marks[-1][0], chosen, len(view.lists), colours)
    _add_candidates(figure, parts)
    add_labels(figure, parts.labels)
    _add_boxes(figure, ends, g, colours)
    figure.update_layout(shapes=parts.shapes, barmode="overlay", hovermode="closest")
    figure.update_xaxes(range=[0, g.right], visible=False, fixedrange=True)
    figure.update_yaxes(range=[0, g.height - 2 * PAD], visible=False, fixedrange=True)
    return with_hover(layout(figure, colours, g.height), colours)


def _add_bars(
    figure: Plot,
    hood: ListNeighbourhood,
    shown: list[int],
    g: _Geometry,
    base: float,
    peak: float,
    chosen: bool,
    colours: dict[str, str],
) -> None:
    """Draw the probability of each word near the original."""
    x = [g.x(int(hood.offsets[i])) for i in shown]
    hover = [[escape(hood.words[i]), _distance(int(hood.offsets[i])), percent(hood.probs[i])] for i in shown]
    paint = [
        colours["keep"]
        if hood.offsets[i] == 0
        else colours["new"]
        if chosen and hood.offsets[i] == hood.candidate_offset
        else colours["bar"]
        for i in shown
    ]
    # An invisible bar catches the pointer if the real one is too low.
    figure.add_bar(
        x=x,
        y=[g.bars] * len(x),
        base=base,
        width=g.step,
        customdata=hover,
        marker={"color": "rgba(0,0,0,0)"},
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<br>probability %{customdata[2]}<extra></extra>",
        name=escape(hood.name),
    )
    figure.add_bar(
        x=x,
        y=[g.bars * hood.probs[i] / peak for i in shown],
        base=base,
        width=min(0.62 * g.step, 16),
        customdata=[[escape(hood.words[i]), float(hood.probs[i])] for i in shown],
        hoverinfo="skip",
        marker={"color": paint, "line": {"width": 0}},
        name=escape(hood.name),
    )


def _is_inside(hood: ListNeighbourhood, g: _Geometry) -> bool:
    """Return True if the candidate of a list has a bar in the figure."""
    return abs(hood.candidate_offset) <= g.radius and not hood.outside


def _candidate(
    hood: ListNeighbourhood, g: _Geometry, base: float, chosen: bool, colours: dict[str, str]
) -> tuple[float, float, str, str, str, list[str]]:
    """Return the mark of the word that was sampled on a list."""
    k = hood.candidate_offset
    inside = _is_inside(hood, g)
    at = g.x(k) if inside else g.x1 - 8 if k > 0 else g.x0 + 8
    ring = colours["new"] if chosen else colours["ink"]
    chance = "outside this figure"
    if inside:
        where = hood.at(k)
        assert where is not None
        chance = "probability " + percent(hood.probs[where])
    symbol = "circle" if inside else "triangle-right" if k > 0 else "triangle-left"
    hover = [escape(hood.candidate), _distance(k), chance]
    return at, base, symbol, ring if chosen else "rgba(0,0,0,0)", ring, hover


def _add_words(
    parts: _Parts,
    hood: ListNeighbourhood,
    shown: list[int],
    g: _Geometry,
    base: float,
    chosen: bool,
    colours: dict[str, str],
) -> None:
    """Name the candidate, then the nearest words that fit. With two rows, each has every second word."""
    k = hood.candidate_offset
    inside = _is_inside(hood, g)
    rows: tuple[list[tuple[float, float]], ...] = ([], [])
    places = [int(hood.offsets[i]) for i in shown if hood.offsets[i] != k]
    for offset in [k, *sorted(places, key=abs)]:
        candidate, free = offset == k, inside or offset != k
        word = hood.candidate if candidate else hood.words[int(np.searchsorted(hood.offsets, offset))]
        text, size = shorten(word, 14), 13 if candidate else 12
        away = "" if free else with_minus(f"  {k:+,}")
        wide = width_of(text + away, size)
        middle_x = g.x(offset)
        if candidate:
            middle_x = min(max(middle_x, g.x0 + wide / 2), max(g.x0, g.x1 - wide / 2))
        span = (middle_x - wide / 2, middle_x + wide / 2)
        level = offset % 2 if g.levels == 2 and free else 0
        clear = all(span[1] + 6 <= a or b + 6 <= span[0] for a, b in rows[level])
        if not candidate and not (clear and g.x0 - 14 <= span[0] and span[1] <= g.x1 + 14):
            continue
        rows[level].append(span)
        kind = "new" if candidate and chosen else "keep" if offset == 0 else "ink" if candidate else "soft"
        text = f"<b>{escape(text)}</b>" if candidate else escape(text)
        if away:
            text += f"<span style='color:{colours['soft']}'>{away}</span>"
        end = "middle center" if free else "middle left" if k > 0 else "middle right"
        tip = middle_x if free else g.x1 if k > 0 else g.x0
        y = base + g.bars + _ROW / 2 if level else base - _ROW / 2 - 5
        parts.labels.append((tip, y, text, colours[kind], size, end))


def _add_ways(
    parts: _Parts, g: _Geometry, base: float, at: float, chosen: bool, lanes: int, colours: dict[str, str]
) -> None:
    """Draw the path from the original into a lane and out of it; ``at``: the position of the candidate."""
    pull = 0.6 * g.fan
    into, out = (g.chip[0] / 2, g.chip[0]), (g.right - g.chip[1], g.right - g.chip[1] / 2)
    parts.shapes.append(_curve(into, g.middle, g.x0, base, pull, colours["keep"], 1.5 if lanes > 1 else 2, 0.55))
    parts.shapes.append(_line(g.x0, g.x1, base, colours["line"], 1.5))
    if chosen:
        parts.shapes.append(_line(at, g.x1, base, colours["new"], 2.5))
        parts.shapes.append(_curve(out[::-1], g.middle, g.x1, base, -pull, colours["new"], 2.5, 1))
    else:
        parts.shapes.append(_curve(out[::-1], g.middle, g.x1, base, -pull, colours["bar"], 1, 0.55))


def _add_candidates(figure: Plot, parts: _Parts) -> None:
    """Draw the marks of the sampled words."""
    x, y, symbols, fills, lines, hover = (list(column) for column in zip(*parts.marks, strict=True))
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        customdata=hover,
        marker={"symbol": symbols, "size": 10, "color": fills, "line": {"width": 2, "color": lines}},
        hovertemplate="<b>%{customdata[0]}</b><br>sampled on this "
                      "list<br>%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        name="candidates",
    )


def _add_boxes(figure: Plot, ends: list[str], g: _Geometry, colours: dict[str, str]) -> None:
    """Draw the original and the released word. The boxes hide the ends of the lines, so both meet at every width."""
    for text, edge, anchor, colour in ((ends[0], 2, "left", "keep"), (ends[1], g.right - 2, "right", "new")):
        figure.add_annotation(
            x=edge,
            y=g.middle,
            text=f"<b>{escape(text)}</b>",
            showarrow=False,
            xanchor=anchor,
            yanchor="middle",
            font={"size": 15, "color": colours[colour]},
            bordercolor=colours[colour],
            borderwidth=1.5,
            borderpad=4,
            bgcolor=colours["page"],
        )


def _radius(lists: Sequence[ListNeighbourhood], room: float) -> int:
    """Return how many places fit on either side of the original, by the words' usual width; at most 10."""
    near = [w for h in lists for w, k in zip(h.words, h.offsets, strict=True) if abs(k) <= 4]
    usual = float(np.median([width_of(shorten(w, 14), 12) for w in near])) + 8
    widest = max(int(np.abs(h.offsets).max()) for h in lists)
    # A few bars more than there are labels for: their words are in the hover.
    return max(1, min(widest, int(np.clip((room / usual - 1) // 2, 3, 10))))


def _distance(offset: int) -> str:
    return shift_text(offset) if offset else "the original"


def _line(x0: float, x1: float, y: float, colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": x0,
        "x1": x1,
        "y0": y,
        "y1": y,
        "layer": "below",
        "line": {"color": colour, "width": width},
    }


def _curve(
    start: tuple[float, float], y0: float, x1: float, y1: float, pull: float, colour: str, width: float, opacity: float
) -> dict[str, Any]:
    """Draw a curve from under a word's box (``start``: a point in it, and its edge) to the end of a lane."""
    path = (
        f"M {start[0]:.2f},{y0:.2f} L {start[1]:.2f},{y0:.2f} "
        f"C {start[1] + pull:.2f},{y0:.2f} {x1 - pull:.2f},{y1:.2f} {x1:.2f},{y1:.2f}"
    )
    return {
        "type": "path",
        "path": path,
        "layer": "below",
        "opacity": opacity,
        "line": {"color": colour, "width": width},
    }
