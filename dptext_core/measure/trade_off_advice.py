"""Advise which point of a trade-off plot to choose, and how certain that advice is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..privacy.numbers import number
from ..support.checks import real
from .trade_off import FEWEST, TradeOffPoint, Value, describe_privacy, metric_info, utility_sign

#: The cosine below which little more than the topic of a text remains.
READABLE = 0.5


def unreadable_note(cosine: float) -> str:
    """Return a warning for advice about rewrites that lose the meaning; else ""."""
    if cosine >= READABLE:
        return ""
    return f"Its rewrites lose most of the meaning: below a cosine of {READABLE:g}, little more than the topic remains."


@dataclass(frozen=True)
class Advice:
    """The recommended setting and ε: the best utility among the points within the privacy limit.

    best: None if no point is certainly within the limit. rivals: other points within the limit whose utility interval
    overlaps with that of the best, so that the difference is not significant; the best mean first. unsure: points whose
    interval does not show whether they are within the limit. nearest: the most private point, if none is within the
    limit. points, draws: the number of points, and the fewest rewrites at one.
    """

    privacy_metric: str
    limit: float
    utility_metric: str
    best: TradeOffPoint | None
    rivals: tuple[TradeOffPoint, ...]
    unsure: tuple[TradeOffPoint, ...]
    nearest: TradeOffPoint | None
    points: int
    draws: int

    def sentence(self, so_far: bool = False) -> str:
        """Return the answer in plain words, with its basis.

        so_far: whether more points are being measured.
        """
        if not self.points:
            return f"There is no measurement yet of how often {describe_privacy(self.privacy_metric)}."
        if self.best is None:
            assert self.nearest is not None
            privacy = self.nearest.value(self.privacy_metric).mean
            return (
                f"{'So far, no' if so_far else 'No'} point has its whole interval at {self.limit:.0%} or below. The "
                f"most private one is {_point_label(self.nearest)}: there, {describe_privacy(self.privacy_metric)} "
                f"with probability {_percent(privacy)}. Raise the limit, or try a smaller ε."
            )
        hidden = self.best.value(self.privacy_metric).mean
        return (
            f"{'For now, start' if so_far else 'Start'} with {_point_label(self.best)}. There, "
            f"{describe_privacy(self.privacy_metric)} with probability {_percent(hidden)}, and "
            f"{_figure(self.best, self.utility_metric)}."
        )

    def doubt(self) -> str:
        """Return what is inconclusive or unwanted, in plain words; empty if nothing is."""
        out: list[str] = []
        if self.best is not None and self.best.has("cosine"):
            out += filter(None, [unreadable_note(self.best.value("cosine").mean)])
        if self.best is not None and self.draws == 1:
            out.append("One draw per point does not show the uncertainty. Use more draws.")
        elif self.rivals:
            names = "; ".join(f"{_point_label(p)} ({_mean(p, self.utility_metric)})" for p in self.rivals[:3])
            others = f"; and {len(self.rivals) - 3} more" if len(self.rivals) > 3 else ""
            out.append(f"The comparison with these is inconclusive, because the intervals overlap: {names}{others}.")
        if self.unsure:
            n = len(self.unsure)
            out.append(
                f"For {n} {'point' if n == 1 else 'points'}, the interval does not show whether enough is hidden."
            )
        return " ".join(out)


#: Tolerance for a limit that is met exactly.
_ROUNDING = 1e-12


def has_enough_points(points: Sequence[TradeOffPoint], settings: int, wanted: int, hidden: str, utility: str) -> bool:
    """Return True if the points so far are enough for an answer.

    Each of the settings needs :data:`FEWEST` of its ``wanted`` points, all of them, or the reason for its refusal.
    """

    def is_done(p: TradeOffPoint) -> bool:
        return bool(p.error) or all(p.has(name) or name in p.reasons for name in (hidden, utility))

    stands = [sum(p.setting == j and is_done(p) for p in points) for j in range(settings)]
    return all(n >= min(FEWEST, wanted) for n in stands)


def is_unsure(point: TradeOffPoint, hidden: str, limit: float) -> bool:
    """Return True if a point's privacy interval extends over the limit, so that the comparison is inconclusive."""
    value = point.value(hidden)
    return hidden != "epsilon" and value.low <= limit + _ROUNDING < value.high


def advise(points: Sequence[TradeOffPoint], hidden: str, limit: float, kept: str) -> Advice:
    """Return the point with the best utility among those whose whole interval is within the privacy ``limit``."""
    limit = real("The limit", limit)
    known = [p for p in points if p.has(hidden) and p.has(kept)]
    sure = [p for p in known if p.value(hidden).high <= limit + _ROUNDING]
    doubtful = [p for p in known if is_unsure(p, hidden, limit)]
    sign = utility_sign(kept)
    sure.sort(key=lambda p: (-sign * p.value(kept).mean, p.value(hidden).mean, p.setting, p.epsilon))
    best = sure[0] if sure else None
    rivals = [p for p in sure[1:] if _overlap(p.value(kept), sure[0].value(kept))]
    nearest = min(known, key=lambda p: p.value(hidden).mean, default=None)
    draws = min((p.originals * p.draws for p in known), default=0)
    return Advice(
        hidden, limit, kept, best, tuple(rivals), tuple(doubtful), None if best else nearest, len(known), draws
    )


def _overlap(a: Value, b: Value) -> bool:
    return a.low <= b.high and b.low <= a.high


def _point_label(point: TradeOffPoint) -> str:
    return f"{point.label} at ε = {number(point.epsilon)}"


def _percent(p: float) -> str:
    return f"{p:.1%}" if p < 0.1 else f"{p:.0%}"


def _mean(point: TradeOffPoint, name: str) -> str:
    return format(point.value(name).mean, metric_info(name).digits)


def _figure(point: TradeOffPoint, name: str) -> str:
    """Return a measure of a point with its interval, as a part of a sentence."""
    m, v = metric_info(name), point.value(name)
    title = m.title[0].lower() + m.title[1:] if m.title[1:2].islower() else m.title
    message = f"{title} is {v.mean:{m.digits}}"
    return message if v.draws == 1 else f"{message} (95% interval {v.low:{m.digits}} to {v.high:{m.digits}})"
