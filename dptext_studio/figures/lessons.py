"""The parts of a lesson as a little HTML with inline SVG, for the page and for paper alike: no script, nothing from
elsewhere, and every word escaped.

Colours are custom properties of CSS, so that one figure serves light and dark pages: :func:`colours` gives them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np

from dptext_core.errors import InputError

from ..lessons.base import Bars, Curves, Facts, Lane, Marked, Part
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
        f'<span class="said">{escape(r.said)}</span></li>'
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


@draw.register(Lane)
def _lane(part: Lane) -> str:
    top = max(part.probs, default=0.0) or 1.0
    bars, names = [], []
    for word, offset, p in zip(part.words, part.offsets, part.probs, strict=True):
        own = "original" if offset == 0 else ""
        height = max(0.4, 100 * p / top)
        bars.append(
            f'<svg class="{own}" viewBox="0 0 10 100" preserveAspectRatio="none">'
            f'<rect x="1.4" width="7.2" height="{height:.2f}" y="{100 - height:.2f}"/></svg>'
        )
        dot = "●" if word in part.near else ""
        names.append(f'<li class="{own}"><i>{dot}</i><span>{escape(word)}</span></li>')
    key = f"<small>{escape(part.key)}</small>" if part.key else ""
    return (
        f'<figure class="part lane"><figcaption>{escape(part.title)}</figcaption>'
        f'<div class="row" aria-hidden="true">{"".join(bars)}</div><ol>{"".join(names)}</ol>{key}</figure>'
    )


@draw.register(Curves)
def _curves(part: Curves) -> str:
    width, height, left, right, above, below = 440.0, 250.0, 46.0, 14.0, 14.0, 44.0
    every = [x for xs, _ in part.lines.values() for x in xs]
    if not every:
        raise InputError("There is no curve to draw.")
    low, high = min(every), max(every)

    def across(x: float) -> float:
        return left + (width - left - right) * float(np.log(x / low) / np.log(high / low) if high > low else 0.5)

    def up(y: float) -> float:
        return height - below - (height - above - below) * min(1.0, y / part.top)

    out = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = up(share * part.top)
        out.append(f'<path d="M{left:.1f} {y:.1f}H{width - right:.1f}" stroke="var(--line)"/>')
        out.append(f'<text x="{left - 6:.1f}" y="{y + 5:.1f}" text-anchor="end">{100 * share * part.top:.0f}%</text>')
    for x in epsilon_ticks(low, high):
        out.append(f'<text x="{across(x):.1f}" y="{height - below + 19:.1f}" text-anchor="middle">{x:g}</text>')
    out.append(f'<text x="{(left + width - right) / 2:.1f}" y="{height - 6:.1f}" text-anchor="middle">ε</text>')
    for k, (xs, ys) in enumerate(part.lines.values()):
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in zip(xs, ys, strict=True))
        colour = ("var(--keep)", "var(--new)", "var(--ink)")[k % 3]
        dash = _DASH[DASHES[k % len(DASHES)]]
        out.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
        )
    if part.at is not None:
        x, said = part.at
        out.append(
            f'<path d="M{across(x):.1f} {above:.1f}V{height - below:.1f}" stroke="var(--soft)" stroke-dasharray="3 3"/>'
        )
        out.append(
            f'<text x="{across(x) - 5:.1f}" y="{above + 12:.1f}" text-anchor="end" fill="var(--ink)">'
            f"{escape(said)}</text>"
        )
    message = "; ".join(
        f"{label}: {100 * ys[0]:.0f}% at ε = {xs[0]:g}, {100 * ys[-1]:.0f}% at ε = {xs[-1]:g}"
        for label, (xs, ys) in part.lines.items()
    )
    return (
        f'<figure class="part curves"><figcaption>{escape(part.title)}: {escape(part.y_title)}</figcaption>'
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(message)}">{"".join(out)}</svg></figure>'
    )
