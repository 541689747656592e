"""The parts of a lesson as HTML with inline SVG, for screen and paper: no script, no external resource, and all text
escaped.

Colours are CSS custom properties, so that one figure serves light and dark pages: :func:`colours` returns them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np

from dptext_core.errors import InputError

from ..lessons.base import Bars, Curves, Facts, Marked, Part
from .theme import DARK, DASHES, LIGHT, epsilon_ticks

_DASH = {"solid": "", "dash": "8 4", "dot": "2 3", "dashdot": "8 3 2 3", "longdash": "12 4"}

STYLE = (Path(__file__).parent / "lessons.css").read_text(encoding="utf-8")


def colours(dark: bool = False) -> dict[str, str]:
    """Return the custom properties that STYLE reads, name → colour."""
    return {f"--{name}": value for name, value in (DARK if dark else LIGHT).items()}


def fragment(parts: Iterable[Part]) -> str:
    """Return all parts, one below the other."""
    return "".join(draw(part) for part in parts)


@functools.singledispatch
def draw(part: object) -> str:
    """Return a part of a lesson as HTML."""
    raise InputError(f"There is no figure of {type(part).__name__}: use a part of dptext_studio.lessons.")


@draw.register(Bars)
def _bars(part: Bars) -> str:
    top = part.top or max((r.value for r in part.rows), default=0.0) or 1.0
    rows = "".join(
        f'<li class="{escape(r.mark)}"><span class="label">{escape(r.label)}</span>'
        f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * min(1.0, max(0.0, r.value) / top):.2f}" height="10" rx=".4"/></svg>'
        f'<span class="said">{escape(r.value_text)}</span></li>'
        for r in part.rows
    )
    return f'<figure class="part bars"><figcaption>{escape(part.title)}</figcaption><ul>{rows}</ul></figure>'


@draw.register(Facts)
def _facts(part: Facts) -> str:
    head = f"<thead><tr>{''.join(f'<th>{escape(h)}</th>' for h in part.head)}</tr></thead>" if any(part.head) else ""
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in part.rows)
    plain = " plain" if all(len(row) == 1 for row in part.rows) else "" if head else " pairs"
    return f'<div class="part facts{plain}"><table>{head}<tbody>{rows}</tbody></table></div>'


@draw.register(Marked)
def _marked(part: Marked) -> str:
    message = "".join(
        f'<span class="{escape(mark)}">{escape(text)}</span>' if mark else escape(text) for text, mark in part.pieces
    )
    legend = "".join(
        f'<li><span class="{escape(mark)}">word</span> {escape(why)}</li>' for mark, why in part.legend.items()
    )
    legend = f"<ul>{legend}</ul>" if legend else ""
    return f'<figure class="part marked"><figcaption>{escape(part.title)}</figcaption><p>{message}</p>{legend}</figure>'


#: Colours of lines and dots, in order.
_PAINT = ("var(--keep)", "var(--new)", "var(--ink)")
_SIZE = 440.0, 250.0
_LEFT, _RIGHT, _ABOVE, _BELOW = 46.0, 14.0, 14.0, 44.0


class _Axes:
    """The axes of a drawing, which place the points of a curve."""

    def __init__(self, part: Curves):
        every = [x for xs, _ in (*part.lines.values(), *part.dots.values()) for x in xs]
        if not part.lines or not every:
            raise InputError("There is no curve. Pass at least one.")
        self.low, self.high, self.top = min(every), max(every), part.top

    def across(self, x: float) -> float:
        share = float(np.log(x / self.low) / np.log(self.high / self.low)) if self.high > self.low else 0.5
        return _LEFT + (_SIZE[0] - _LEFT - _RIGHT) * share

    def up(self, y: float) -> float:
        return _SIZE[1] - _BELOW - (_SIZE[1] - _ABOVE - _BELOW) * min(1.0, y / self.top)


@draw.register(Curves)
def _curves(part: Curves) -> str:
    axes, (width, height) = _Axes(part), _SIZE
    out = _grid(axes, part.x_title)
    for k, (xs, ys) in enumerate(part.lines.values()):
        points = " ".join(f"{axes.across(x):.1f},{axes.up(y):.1f}" for x, y in zip(xs, ys, strict=True))
        out.append(f'<polyline points="{points}" {_line_look(k)}/>')
    for k, (xs, ys) in enumerate(part.dots.values()):
        for x, y in zip(xs, ys, strict=True):
            out.append(f'<circle cx="{axes.across(x):.1f}" cy="{axes.up(y):.1f}" r="5.5" {_dot_look(k)}/>')
    if part.at is not None:
        x, said = part.at
        at = axes.across(x)
        out.append(
            f'<path d="M{at:.1f} {_ABOVE:.1f}V{height - _BELOW:.1f}" stroke="var(--soft)" stroke-dasharray="3 3"/>'
        )
        out.append(
            f'<text x="{at - 5:.1f}" y="{_ABOVE + 12:.1f}" text-anchor="end" fill="var(--ink)">{escape(said)}</text>'
        )
    message = "; ".join(
        f"{label}: {100 * ys[0]:.0f}% at {part.x_title} = {xs[0]:g}, {100 * ys[-1]:.0f}% at {part.x_title} = {xs[-1]:g}"
        for label, (xs, ys) in (*part.lines.items(), *part.dots.items())
        if xs
    )
    return (
        f'<figure class="part curves"><figcaption>{escape(part.title)}: {escape(part.y_title)}</figcaption>'
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(message)}">{"".join(out)}</svg>{_legend(part)}</figure>'
    )


def _grid(axes: _Axes, x_title: str) -> list[str]:
    """Return the grid lines, and the labels of both axes."""
    width, height = _SIZE
    out = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = axes.up(share * axes.top)
        out.append(f'<path d="M{_LEFT:.1f} {y:.1f}H{width - _RIGHT:.1f}" stroke="var(--line)"/>')
        out.append(f'<text x="{_LEFT - 6:.1f}" y="{y + 5:.1f}" text-anchor="end">{100 * share * axes.top:.0f}%</text>')
    for x in epsilon_ticks(axes.low, axes.high):
        out.append(f'<text x="{axes.across(x):.1f}" y="{height - _BELOW + 19:.1f}" text-anchor="middle">{x:g}</text>')
    middle = (_LEFT + width - _RIGHT) / 2
    out.append(f'<text x="{middle:.1f}" y="{height - 6:.1f}" text-anchor="middle">{escape(x_title)}</text>')
    return out


def _line_look(k: int) -> str:
    dash = _DASH[DASHES[k % len(DASHES)]]
    return f'fill="none" stroke="{_PAINT[k % len(_PAINT)]}" stroke-width="2.5" stroke-dasharray="{dash}"'


def _dot_look(k: int) -> str:
    return 'fill="var(--new)"' if k == 0 else 'fill="var(--page)" stroke="var(--new)" stroke-width="2"'


def _legend(part: Curves) -> str:
    """Return the legend of lines and dots; nothing for a single line, which the title names."""
    if len(part.lines) + len(part.dots) < 2:
        return ""
    marks = [(label, f'<path d="M1 6H29" {_line_look(k)}/>') for k, label in enumerate(part.lines)]
    marks += [(label, f'<circle cx="15" cy="6" r="5" {_dot_look(k)}/>') for k, label in enumerate(part.dots)]
    rows = "".join(
        f'<li><svg viewBox="0 0 30 12" aria-hidden="true">{mark}</svg>{escape(label)}</li>' for label, mark in marks
    )
    return f'<ul class="key">{rows}</ul>'
