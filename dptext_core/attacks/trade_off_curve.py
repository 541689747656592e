"""How well the optimal reader distinguishes two given texts: detections against false alarms, exact or bracketed.

The reader sees one release and decides between two texts. Every decision rule has a rate of false alarms (it says the
first text, but the second was rewritten) and of detections (it says the first text rightly). The best rules compare the
log-likelihood ratio of the release with a threshold (Neyman and Pearson). Where each place is sampled independently,
that ratio is a sum of independent terms, one for each place where the two texts differ in their distributions, so its
distribution is a convolution (a privacy-loss distribution, as in Sommer, Meiser and Mohammadi 2019).

A few outcomes are enumerated. Otherwise losses are rounded to a grid, up for an upper curve and down for a lower one,
and the true curve lies between them. The convolution weighs each loss x by e^(−x/2), so that a Fourier transform is
precise where both texts are likely.

This is a statement about two texts, not a guarantee.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import ConfigError, InputError, NoDistribution
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.configured import require_epsilon
from ..mechanisms.likelihood import Frame, require_likelihood
from ..privacy.distribution import TokenDistribution
from ..privacy.numbers import percent
from ..support.checks import real, to_list
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from .which_text import guaranteed_losses

#: Rates of false alarms at which the curve is given by default.
FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
#: The rate that sentences name.
NAMED = 0.05
#: Maximum number of enumerated outcomes.
_ENUMERATED = 1 << 16
#: Maximum number of grid steps, and the largest useful step.
_STEPS, _COARSEST = 1 << 19, 1e-4
#: Larger losses of one place count as certainty in the upper curve.
_CLIP = 40.0
#: Log-ratios below this are rounding errors.
_NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class TradeOffCurve(Private):
    """How often the optimal reader detects the first text, at given rates of false alarms.

    Attributes
    ----------
    false_alarms : ndarray
        float64 (n,).
    lower, upper : ndarray
        float64 (n,), or (m, n) with a list of ε: the detections lie between them. Equal where they are exact.
    advantage : ndarray
        float64 (2,) or (m, 2): bounds on the largest difference of detections and false alarms.
    ceiling : ndarray
        float64, the shape of ``lower``: the most detections that the guarantee allows.
    epsilons : tuple of float or None
        The ε of each row.
    places : int
        The number of places that affect the log-likelihood ratio.
    loss : ndarray
        float64, one value or (m,): the largest log-ratio of the two texts that the guarantee allows; ∞ if it does not
        compare them.
    delta : ndarray
        The shape of ``loss``: δ of the guarantee.
    """

    false_alarms: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    advantage: np.ndarray
    ceiling: np.ndarray
    epsilons: tuple[float, ...] | None
    places: int
    loss: np.ndarray
    delta: np.ndarray

    _shown: ClassVar[tuple[str, ...]] = ("false_alarms", "lower", "upper", "epsilons")

    @property
    def is_exact(self) -> bool:
        """Return whether the curve is exact up to rounding errors."""
        return bool(np.array_equal(self.lower, self.upper))

    @property
    def success(self) -> np.ndarray:
        """Return bounds on how often the optimal reader is right if both texts are equally likely; shaped like
        advantage."""
        return (1 + self.advantage) / 2

    @property
    def success_ceiling(self) -> np.ndarray:
        """Return the largest success that the guarantee allows; one value for each ε, else a single one."""
        return np.minimum((1 + self.delta * np.exp(-self.loss)) / (1 + np.exp(-self.loss)), 1.0)

    def sentence(self) -> str:
        """Return the detections at 5% false alarms, or the next rate, in plain words; one line for each ε."""
        at = int(np.argmin(np.abs(self.false_alarms - NAMED)))
        rows = zip(*map(np.atleast_2d, (self.lower, self.upper, self.ceiling)), np.atleast_1d(self.loss), strict=True)
        lines = []
        for i, (lower, upper, ceiling, loss) in enumerate(rows):
            start = "" if self.epsilons is None else f"ε = {self.epsilons[i]:g}: "
            low, high = percent(float(lower[at])), percent(float(upper[at]))
            rate = high if low == high else f"between {low} and {high}"
            allowed = "no guarantee limits this"
            if math.isfinite(loss):
                allowed = f"the guarantee allows {percent(float(ceiling[at]))}"
            lines.append(
                f"{start}At {percent(float(self.false_alarms[at]))} false alarms, the optimal reader detects the first "
                f"text in {rate} of its releases ({allowed})."
            )
        return "\n".join([*lines, "This compares these two texts only and is not a guarantee."])

    def rows(self) -> list[tuple[str, ...]]:
        """Return a table for reading: each rate of false alarms with the detections at every ε, rounded up."""
        upper = np.atleast_2d(self.upper)
        return [
            (percent(float(rate)), *(percent(float(row[i])) for row in upper))
            for i, rate in enumerate(self.false_alarms)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, without the texts; null for a loss that nothing limits."""
        losses = [x if math.isfinite(x) else None for x in np.atleast_1d(self.loss).tolist()]
        return {
            "false_alarms": self.false_alarms.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "advantage": self.advantage.tolist(),
            "ceiling": self.ceiling.tolist(),
            "epsilons": None if self.epsilons is None else list(self.epsilons),
            "places": self.places,
            "exact": self.is_exact,
            "loss": losses if self.epsilons else losses[0],
            "delta": self.delta.tolist(),
        }

    def to_csv(self) -> str:
        """Return a line for each ε and rate of false alarms, without the texts."""
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n").writerow
        named = self.epsilons is not None
        write([*["epsilon"] * named, "false_alarms", "detections_lower", "detections_upper", "guarantee_allows"])
        rows = zip(*map(np.atleast_2d, (self.lower, self.upper, self.ceiling)), strict=True)
        for i, columns in enumerate(rows):
            for values in zip(self.false_alarms, *columns, strict=True):
                write([*(self.epsilons or ())[i : i + 1], *(float(x) for x in values)])
        return out.getvalue()


def trade_off_curve(
    mechanism: Mechanism,
    text_a: str | Prepared,
    text_b: str | Prepared,
    epsilons: Sequence[float] | None = None,
    *,
    false_alarms: Sequence[float] = FALSE_ALARMS,
    task: Task | None = None,
) -> TradeOffCurve:
    """Return how well the optimal reader of one release distinguishes two texts.

    Parameters
    ----------
    mechanism : Mechanism
        Must sample each place independently from stated probabilities: word mechanisms with a formula, and masked
        models in parallel order.
    text_a, text_b : str or Prepared
        The reader detects the first; a false alarm takes the second for it.
    epsilons : sequence of float, optional
        One row for each. The passes of a model serve all of them.
    false_alarms : sequence of float, optional
        Rates from 0 to 1.
    task : Task, optional
        Reports progress, and may cancel.

    Raises
    ------
    NoDistribution
        Places are not sampled independently from stated probabilities, or one text keeps a word where the other samples
        one.
    InputError
        The texts are the same.
    ConfigError
        A rate or an ε is out of range, or the mechanism has no ε.
    """
    task = task or UNWATCHED
    if epsilons is not None:
        require_epsilon(mechanism)
    rates = np.array([real("a rate of false alarms", x) for x in to_list(false_alarms, "rates of false alarms")])
    if not len(rates) or (rates < 0).any() or (rates > 1).any():
        raise ConfigError("Rates of false alarms must be from 0 to 1. Give at least one.")
    prepared = _checked(mechanism, text_a, text_b, task)
    wanted = None if epsilons is None else [real("ε", e) for e in to_list(epsilons, "values of ε")]
    if wanted is not None and not wanted:
        raise ConfigError("epsilons must be a list of numbers. Give at least one ε.")
    variants = [mechanism] if wanted is None else [mechanism.replace(epsilon=e) for e in wanted]
    places = _sampled_places(mechanism, prepared, require_likelihood(mechanism).frames(prepared, task))
    pairs, sizes = [], [0]
    for i, v in enumerate(variants):
        part = task.child(i, i + 1, len(variants))
        losses = [] if places is None else _losses(v, prepared, places, part)
        sizes.append(len(losses))
        curves = (_APART, _APART) if places is None else _curves(losses)
        stated = _stated_loss(v, prepared)
        pairs.append((*(c.at(rates) for c in curves), [c.advantage for c in curves], _ceiling(rates, *stated), *stated))
    values = [np.array(column) for column in zip(*pairs, strict=True)]
    lower, upper, advantage, ceiling, loss, delta = values if wanted is not None else [np.asarray(v[0]) for v in values]
    named = None if wanted is None else tuple(wanted)
    return TradeOffCurve(rates, lower, upper, advantage, ceiling, named, max(sizes), loss, delta)


def _checked(mechanism: Mechanism, text_a: str | Prepared, text_b: str | Prepared, task: Task) -> list[Prepared]:
    """Return the prepared texts. Raise InputError or NoDistribution if there is no curve."""
    chances = require_likelihood(mechanism)
    if chances.states_pieces or chances.in_turn:
        raise NoDistribution(
            f"{mechanism.title} samples one word after another, each given those before it, so the exact trade-off "
            "curve of two texts has no short formula. The attacker two-texts estimates it from rewrites."
        )
    prepared = [mechanism.prepared(text, task.quiet) for text in (text_a, text_b)]
    if prepared[0].text == prepared[1].text:
        raise InputError("The two texts are the same, so nothing distinguishes them. Give another one.")
    return prepared


# --- which places count


def _sampled_places(
    mechanism: Mechanism, prepared: Sequence[Prepared], frames: Sequence[Frame]
) -> tuple[int, ...] | None:
    """Return one place of every draw that both texts make; None if each release identifies its text."""
    one, other = frames
    if len(one.steps) != len(other.steps):
        return None
    pairs = list(zip(one.steps, other.steps, strict=True))
    if any((a.action == "delete") != (b.action == "delete") for a, b in pairs):
        return None
    if any(a.action != b.action for a, b in pairs):
        raise NoDistribution(
            "One of the two texts keeps a word where the other samples one, so their releases cannot be compared word "
            "by word. Exchange words that the mechanism treats alike."
        )
    sampled = [i for i, (a, _) in enumerate(pairs) if a.action == "replace"]
    if one.skeleton != other.skeleton or any(pairs[i][0].capital != pairs[i][1].capital for i in sampled):
        return None
    shared = [require_likelihood(mechanism).shared_draws(p, sampled) for p in prepared]
    if shared[0] != shared[1]:
        raise NoDistribution(
            "The two texts repeat words at different places, and a repeated word is sampled once here. Choose an "
            "option that samples each place independently, such as the strategy “token”."
        )
    return tuple(dict.fromkeys(shared[0].values()))


def _losses(
    m: Mechanism, prepared: Sequence[Prepared], places: Sequence[int], task: Task
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return ln P of each outcome of each place that matters, under both texts."""
    words: dict[int, tuple[Sequence[str], list[str]]] = {}
    tables = []
    alike = [] if m.by_word is None else [p.document for p in prepared]
    for k, i in enumerate(places):
        task.report(k, len(places))
        if alike and len({d.words[i].casefold() for d in alike}) == 1:
            continue  # sampled from the word alone
        pair = [m.distribution(p, i) for p in prepared]
        if any(d.draws is not None for d in pair):
            raise NoDistribution(
                f"{m.title} estimates its probabilities from draws, so there is no exact curve. Use "
                "the attacker two-texts."
            )
        a, b = _outcomes(pair, words)
        both = np.isfinite(a) & np.isfinite(b)
        if not both.all() or np.abs(a[both] - b[both]).max(initial=0.0) > _NOISE:
            tables.append((a, b))
    return tables


def _outcomes(
    pair: Sequence[TokenDistribution], words: dict[int, tuple[Sequence[str], list[str]]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ln P of each released word, ignoring case, under both texts; without those that neither releases."""
    index: dict[str, int] = {}
    at = []
    for d in pair:
        _, folded = words.setdefault(id(d.candidates), (d.candidates, [w.casefold() for w in d.candidates]))
        at.append(np.array([index.setdefault(w, len(index)) for w in folded]))
    out = np.full((2, len(index)), -np.inf)
    for row, d, where in zip(out, pair, at, strict=True):
        np.logaddexp.at(row, where, d.log_probs)
    possible = np.isfinite(out).any(axis=0)
    return out[0, possible], out[1, possible]


# --- the curve


@dataclass(frozen=True, eq=False)
class _Curve:
    """Corners of a curve: rates of false alarms, ascending, and detections."""

    false_alarms: np.ndarray
    detections: np.ndarray

    @classmethod
    def of(cls, losses: np.ndarray, p: np.ndarray, q: np.ndarray, certain: float) -> _Curve:
        """Threshold the losses, from the largest. certain: the probability of what the second text cannot release."""
        order = np.argsort(-losses, kind="stable")
        steps = (np.concatenate([[start], x[order]]) for start, x in ((0.0, q), (certain, p)))
        false_alarms, detections = (np.cumsum(x) for x in steps)
        return cls(false_alarms, np.minimum(detections, 1.0))

    def at(self, rates: np.ndarray) -> np.ndarray:
        """Return the detections at rates of false alarms."""
        return np.interp(rates, self.false_alarms, self.detections)

    @property
    def advantage(self) -> float:
        """Return the largest difference between detections and false alarms."""
        return float((self.detections - self.false_alarms).max())


_APART = _Curve(np.zeros(1), np.ones(1))


def _curves(places: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[_Curve, _Curve]:
    """Return a lower and an upper curve, which are equal if all outcomes are enumerated."""
    if math.prod(len(a) for a, _ in places) <= _ENUMERATED:
        a = b = np.zeros(1)
        for one, other in places:
            a, b = (np.add.outer(x, y).ravel() for x, y in ((a, one), (b, other)))
        both = np.isfinite(a) & np.isfinite(b)
        certain = float(np.exp(a[np.isneginf(b)]).sum())
        curve = _Curve.of(a[both] - b[both], np.exp(a[both]), np.exp(b[both]), certain)
        return curve, curve
    step = _step(places)
    return _rounded(places, step, up=False), _rounded(places, step, up=True)


def _finite(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses of the outcomes that both texts can have, and ln P of these under the first."""
    both = np.isfinite(a) & np.isfinite(b)
    return a[both] - b[both], a[both]


def _step(places: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    width = 0.0
    for a, b in places:
        x = np.clip(_finite(a, b)[0], -_CLIP, _CLIP)
        width += float(np.ptp(x)) if len(x) else 0.0
    return max(width / _STEPS, min(_COARSEST, 0.01 / len(places), max(width, _NOISE) / 1000))


def _rounded(places: Sequence[tuple[np.ndarray, np.ndarray]], step: float, up: bool) -> _Curve:
    """Return the curve of losses that are rounded to the grid, up or down."""
    kernels = [_kernel(a, b, step, up) for a, b in places]
    size = 1 << (sum(len(m) - 1 for m, *_ in kernels)).bit_length()
    length = 1 + sum(len(m) - 1 for m, *_ in kernels)
    turned: np.ndarray = np.ones(size // 2 + 1, np.complex128)
    first, log_scale, possible = 0, 0.0, 1.0
    for m, start, log_weight, certain in kernels:
        turned *= np.fft.rfft(m, size)
        first, log_scale, possible = first + start, log_scale + log_weight, possible * (1 - certain)
    weights = np.fft.irfft(turned, size)[:length]
    weights[weights < 1e-17] = 0.0
    losses = step * (first + np.arange(length))
    keep = weights > 0
    log_weights, losses = np.log(weights[keep]) + log_scale, losses[keep]
    with np.errstate(over="ignore"):
        p, q = np.exp(log_weights + losses / 2), np.exp(np.minimum(log_weights - losses / 2, 50.0))
    return _Curve.of(losses, p, q, 1 - possible)


def _kernel(a: np.ndarray, b: np.ndarray, step: float, up: bool) -> tuple[np.ndarray, int, float, float]:
    """Return one place on the grid: weights √(P·Q), which sum to 1, the first multiple, the ln of what they were
    divided by, and the probability of an outcome that counts as certainty."""
    losses, log_p = _finite(a, b)
    certain = float(np.exp(a[np.isneginf(b)]).sum())
    if up:  # almost nothing is beyond the clip in either direction: count it as certainty
        beyond = np.abs(losses) > _CLIP
        certain += float(np.exp(log_p[beyond]).sum())
        losses, log_p = losses[~beyond], log_p[~beyond]
    else:
        inside = losses >= -_CLIP
        losses, log_p = np.minimum(losses[inside], _CLIP), log_p[inside]
    if not len(losses):
        return np.zeros(1), 0, 0.0, certain
    at = (np.ceil if up else np.floor)(losses / step).astype(np.int64)
    first = int(at.min())
    log_weights = log_p - at * step / 2
    top = float(log_weights.max())
    m = np.bincount(at - first, np.exp(log_weights - top))
    total = float(m.sum())
    return m / total, first, top + math.log(total), min(certain, 1.0)


# --- what the guarantee allows


def _stated_loss(m: Mechanism, prepared: Sequence[Prepared]) -> tuple[float, float]:
    """Return the largest log-ratio between the two texts that the guarantee allows, and its δ."""
    guarantees = [m.guarantee(p) for p in prepared]
    return float(guaranteed_losses(m, prepared, guarantees)[0, 1]), max(g.total_delta for g in guarantees)


def _ceiling(rates: np.ndarray, loss: float, delta: float) -> np.ndarray:
    """Return the most detections of an (ε, δ)-DP mechanism with ε = loss."""
    if not math.isfinite(loss):
        return np.ones(len(rates))
    with np.errstate(over="ignore"):
        steep = np.exp(np.minimum(loss, 700.0)) * rates + delta
    return np.minimum(np.minimum(steep, 1 - math.exp(-loss) * (1 - delta - rates)), 1.0)
