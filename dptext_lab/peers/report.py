"""The comparison as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..results.measurement import markdown
from .comparison import PeerComparison, Speed


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def report(rows: Sequence[PeerComparison]) -> Iterator[str]:
    """Return Markdown with tables of speed, memory and distributions, and explanations of the differences."""
    yield markdown(
        ["package", "mechanism", "ε", "words/s ours", "theirs", "ratio", "MB ours", "theirs"], map(_speed, rows)
    )
    yield ""
    heading = ["package", "mechanism", "ε", "draws ours", "theirs", "N_w ours", "theirs", "TV", "by chance", "verdict"]
    yield markdown(heading, map(_match, rows))
    yield ""
    if explanations := list(_differences(rows)):
        yield from ("How the other packages differ:", "", *explanations)


def _speed(c: PeerComparison) -> list[str]:
    cells = [c.peer.package, c.peer.title]
    if isinstance(c.speed, str):
        return [*cells, "", "", f"stops: {c.speed}", "", "", ""]
    s = c.speed
    peaks = ["–" if b is None else f"{b / 1e6:.0f}" for b in s.peak]
    return [*cells, f"{s.epsilon:g}", _number(s.ours), _number(s.theirs), f"{_number(s.ours / s.theirs)}×", *peaks]


def _match(c: PeerComparison) -> list[str]:
    cells = [c.peer.package, c.peer.title]
    if isinstance(c.match, str):
        return [*cells, "", "", "", "", "", "", "", f"theirs stops: {c.match}"]
    m = c.match
    draws = [f"{n:,}" if n else "closed form" for n in m.draws]
    figures = [f"{x:.3f}" for x in (*m.keep, m.difference.tv, m.difference.chance)]
    return [*cells, f"{m.epsilon:g}", *draws, *figures, m.verdict]


def _differences(rows: Sequence[PeerComparison]) -> Iterator[str]:
    for lists in dict.fromkeys(c.speed.lists for c in rows if isinstance(c.speed, Speed) and c.speed.lists):
        yield f"- dp-diffractor: {lists}."
    for c in rows:
        name = f"- {c.peer.package}, {c.peer.title}"
        if isinstance(c.match, str):
            continue
        m = c.match
        if c.peer.reason:
            line = f"{name}: {c.peer.reason}."
            if m.apart is not None:
                line += f" The two formulas are {m.apart:.2g} apart (TV)."
            if m.explained is not None:
                fit = "fit" if m.explained.same else "do not fit"
                line += (
                    f" Their draws {fit} this formula (TV {m.explained.tv:.3f}, by chance {m.explained.chance:.3f})."
                )
            yield line
        elif not m.difference.same:
            yield f"{name}: unknown reason (p = {m.difference.p:.2g} for equal distributions)."
