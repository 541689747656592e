"""The noise around a word and the result of one draw, in two dimensions, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dptext_core.explain import CloudView, same_word

from .theme import DARK, LIGHT, PAD, Plot, add_labels, escape, layout, shorten, width_of, with_hover

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEGEND = 24  # pixels below the plot


@dataclass(frozen=True)
class _Frame:
    """The same scale on both axes. ``inner``: pixels inside the frame. ``scale``: pixels per unit. ``middle``: in
    units.
    """

    inner: NDArray[np.float64]
    scale: float
    middle: NDArray[np.float64]

    @classmethod
    def around(cls, points: NDArray[np.float64], width: int, height: int) -> _Frame:
        """Return the frame that contains all points, with room for labels."""
        inner = np.array([width - 2 * PAD, height - 2 * PAD - _LEGEND], dtype=float)
        low, high = points.min(0), points.max(0)
        span = np.maximum(high - low, 1e-12)
        return cls(inner, float(np.min((inner - 2 * np.array([34.0, 16.0])) / span)), (low + high) / 2)

    @property
    def corner(self) -> NDArray[np.float64]:
        """The lower left corner."""
        return self.middle - self.inner / self.scale / 2

    def pixels(self, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points in pixels from the corner."""
        return (xy - self.corner) * self.scale


def cloud_figure(view: CloudView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """Draw the noise, the words and the draw. The most distant 2% of the noise may lie outside the frame."""
    colours = DARK if dark else LIGHT
    points = np.vstack([view.xy, view.landed[None], _without_outliers(view.noise, view.xy[0])])
    frame = _Frame.around(points, width, height)
    released = next(i for i, w in enumerate(view.words) if same_word(w, view.released_word))
    others = [i for i in range(len(view.words)) if i not in (0, released)]
    figure = Plot()
    _add_noise(figure, view, others, colours)
    _add_draw(figure, view, released, colours)
    add_labels(figure, _labels(view, frame, released, others, colours))
    layout(figure, colours, height)
    figure.update_layout(
        showlegend=True,
        hovermode="closest",
        margin={"b": PAD + _LEGEND},
        legend={
            "orientation": "h",
            "x": 0.5,
            "xanchor": "center",
            "y": 0,
            "yanchor": "top",
            "font": {"size": 12, "color": colours["soft"]},
            "itemsizing": "constant",
        },
    )
    span, middle = frame.inner / frame.scale / 2, frame.middle
    figure.update_xaxes(visible=False, fixedrange=True, range=[middle[0] - span[0], middle[0] + span[0]])
    figure.update_yaxes(
        visible=False, fixedrange=True, range=[middle[1] - span[1], middle[1] + span[1]], scaleanchor="x"
    )
    return with_hover(figure, colours)


def _add_noise(figure: Plot, view: CloudView, others: list[int], colours: dict[str, str]) -> None:
    """Draw the noisy points, and the words that are neither the original nor released."""
    if len(view.noise):
        shown = f"{len(view.noise):,}" + (f" of {view.draws:,}" if view.draws > len(view.noise) else "")
        figure.add_scatter(
            x=view.noise[:, 0],
            y=view.noise[:, 1],
            mode="markers",
            hoverinfo="skip",
            name=f"{shown} noisy points",
            marker={"size": 4, "color": colours["new"], "opacity": 0.25},
        )
    figure.add_scatter(
        x=view.xy[others, 0],
        y=view.xy[others, 1],
        mode="markers",
        marker={"size": 6, "color": colours["bar"]},
        customdata=[escape(view.words[i]) for i in others],
        hovertemplate="%{customdata}<extra></extra>",
        name="words",
        showlegend=False,
    )


def _add_draw(figure: Plot, view: CloudView, released: int, colours: dict[str, str]) -> None:
    """Draw the noisy vector of this draw, the original, and the released word."""
    line = np.vstack([view.landed, view.xy[released]])
    figure.add_scatter(
        x=line[:, 0],
        y=line[:, 1],
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name="released",
        line={"color": colours["new"], "width": 2, "dash": "dot"},
    )
    unchanged = released == 0
    ends = [(0, "source", "original, released" if unchanged else "original", colours["keep"])]
    if not unchanged:
        ends.append((released, "released word", "released", colours["new"]))
    for i, name, role, colour in ends:
        figure.add_scatter(
            x=[view.xy[i, 0]],
            y=[view.xy[i, 1]],
            mode="markers",
            showlegend=False,
            name=name,
            customdata=[escape(view.words[i])],
            hovertemplate=f"<b>%{{customdata}}</b><br>{role}<extra></extra>",
            marker={"size": 11, "color": colour, "line": {"width": 2 if unchanged else 0, "color": colours["new"]}},
        )
    figure.add_scatter(
        x=[view.landed[0]],
        y=[view.landed[1]],
        mode="markers",
        name="noisy vector of this draw",
        marker={"symbol": "x-thin", "size": 11, "line": {"width": 3, "color": colours["new"]}},
        hovertemplate="noisy vector of this draw<extra></extra>",
    )


def _labels(
    view: CloudView, frame: _Frame, released: int, others: list[int], colours: dict[str, str]
) -> list[tuple[float, float, str, str, int, str]]:
    """Return the labels that fit, the original and the released word first."""
    at = frame.pixels(view.xy)
    start, end = frame.pixels(np.vstack([view.landed, view.xy[released]]))
    steps = max(2, int(np.hypot(*(end - start)) / 5))
    along = start + (end - start) * np.linspace(0, 1, steps)[:, None]
    marks = [*((p, 6 if i in (0, released) else 4) for i, p in enumerate(at)), *((p, 2) for p in along), (start, 7)]
    taken = [(x - r, y - r, x + r, y + r) for (x, y), r in marks]
    labels = []
    for i in dict.fromkeys([0, released, *others]):
        special = i in (0, released)
        text, size = shorten(view.words[i], 18), 14 if special else 12
        place = _place(at[i], width_of(text, size), size + 3, 8 if special else 5, taken, frame.inner, skip=i)
        if place is None and special:  # these two need a name even if it covers others
            place = _place(at[i], width_of(text, size), size + 3, 8, [], frame.inner, skip=-1)
        if place is None:
            continue
        name, box = place
        taken.append(box)
        middle_y = (box[1] + box[3]) / 2
        edge = box[0] if "right" in name else box[2] if "left" in name else (box[0] + box[2]) / 2
        x, y = np.array([edge, middle_y]) / frame.scale + frame.corner
        colour = colours["keep"] if i == 0 else colours["new"] if special else colours["soft"]
        shown = f"<b>{escape(text)}</b>" if special else escape(text)
        labels.append((x, y, shown, colour, size, f"middle {name.split()[1]}"))
    return labels


def _without_outliers(noise: NDArray[np.float64], source: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the noise without the most distant 2%: a few far points must not push the words together."""
    if len(noise) < 50:
        return noise
    away = np.hypot(*(noise - source).T)
    return noise[away <= np.quantile(away, 0.98)]


def _place(
    at: NDArray[np.float64],
    width: float,
    height: float,
    away: float,
    taken: Sequence[tuple[float, float, float, float]],
    frame: NDArray[np.float64],
    skip: int,
) -> tuple[str, tuple[float, float, float, float]] | None:
    """Return the first position of a label around its point, in pixels, inside the frame and without an overlap."""
    x, y = float(at[0]), float(at[1])
    for name, dx, dy in (
        ("middle right", 1, 0),
        ("middle left", -1, 0),
        ("top center", 0, 1),
        ("bottom center", 0, -1),
        ("top right", 1, 1),
        ("bottom right", 1, -1),
        ("top left", -1, 1),
        ("bottom left", -1, -1),
    ):
        cx = x + dx * (away + width / 2) * (1 if dy == 0 else 0.9)
        cy = y + dy * (away + height / 2)
        box = (cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)
        if box[0] < 0 or box[1] < 0 or box[2] > frame[0] or box[3] > frame[1]:
            continue
        if all(
            j == skip or box[2] <= b[0] or b[2] <= box[0] or box[3] <= b[1] or b[3] <= box[1]
            for j, b in enumerate(taken)
        ):
            return name, box
    return None
