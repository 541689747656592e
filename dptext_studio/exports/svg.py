"""Two small SVG figures, drawn by hand so that a file needs no library to show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dptext_core.privacy.numbers import number, percent

from .html import escape


def bars(rows: Sequence[tuple[str, float]], caption: str) -> str:
    """Draw named shares between 0 and 1 as bars."""
    left, width, step = 170, 380, 22
    out = []
    for k, (name, share) in enumerate(rows):
        y = k * step
        out.append(
            f'<text class="v-name" x="{left - 10}" y="{y + 15}" text-anchor="end">{escape(_short(name))}</text>'
            f'<rect class="v-track" x="{left}" y="{y + 5}" width="{width}" height="12" rx="2"/>'
            f'<rect class="v-bar" x="{left}" y="{y + 5}" width="{width * share:.1f}" height="12" rx="2"/>'
            f'<text x="{left + width + 10}" y="{y + 15}">{escape(percent(share))}</text>'
        )
    return _figure(640, step * len(rows) + 4, "".join(out), caption)


def curve(epsilons: Sequence[float], shares: Sequence[float], at: float | None, caption: str) -> str:
    """Draw shares between 0 and 1 over ε on a logarithmic axis, with a line at one ε."""
    left, top, width, height = 52, 12, 560, 170
    low, high = float(min(epsilons)), float(max(epsilons))

    def x(epsilon: float) -> float:
        return left + width * min(1.0, max(0.0, math.log(epsilon / low) / math.log(high / low)))

    def y(share: float) -> float:
        return top + height * (1 - share)

    path = "L".join(f"{x(e):.1f},{y(p):.1f}" for e, p in zip(epsilons, shares, strict=True))
    out = [
        *(
            f'<line class="v-axis" x1="{left}" x2="{left + width}" y1="{y(p):.1f}" y2="{y(p):.1f}"/>'
            f'<text x="{left - 8}" y="{y(p) + 4:.1f}" text-anchor="end">{100 * p:.0f}%</text>'
            for p in (0.0, 0.5, 1.0)
        ),
        *(
            f'<text x="{x(e):.1f}" y="{top + height + 20}" text-anchor="{anchor}">{number(e)}</text>'
            for e, anchor in ((low, "start"), (high, "end"))
        ),
        f'<text x="{left + width / 2:.0f}" y="{top + height + 20}" text-anchor="middle">ε</text>',
        f'<path class="v-curve" d="M{path}"/>',
    ]
    if at is not None and low <= at <= high:
        out.append(f'<line class="v-here" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{top}" y2="{top + height}"/>')
    return _figure(640, top + height + 30, "".join(out), caption)


def _short(name: str) -> str:
    return name if len(name) <= 22 else f"{name[:21]}…"


def _figure(width: int, height: int, inside: str, caption: str) -> str:
    said = escape(caption)
    picture = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{said}">{inside}</svg>'
    return f"<figure><figcaption>{said}</figcaption>{picture}</figure>"
