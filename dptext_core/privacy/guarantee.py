"""The guarantee of one rewrite as data, and the arithmetic of its totals. :mod:`.sentences` words it.

Totals are by sequential composition: Σε. For pure DP per draw a second statement may be smaller: each ε-DP draw is
ρ-zCDP with ρ = ε·tanh(ε/2), and no smaller ρ is valid: randomised response is the worst case (Steinke 2024, "Tight RDP
& zCDP Bounds from Pure DP", Theorem 4), and the Kearns-Saul inequality gives this ρ for it. If all log-ratios of a draw
are in an interval of length ε, as for the exponential mechanism, ρ = ε²/8 (Cesar and Rogers 2021). ρ adds up, and
ρ-zCDP is (ε, δ)-DP for the ε of Canonne, Kamath, Steinke (2020), Corollary 13, at most ρ + 2√(ρ ln(1/δ)) (Bun and
Steinke 2016, Proposition 1.3). Optimal composition (:mod:`.composition`) is never larger.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError
from . import sentences
from .composition import optimal_epsilon
from .kinds import Notion
from .numbers import bound
from .sentences import DELTA
from .terms import (
    ANY_TEXTS,
    Adjacency,
    ComparisonScope,
    ConvertedField,
    Group,
    Metric,
    NotProtected,
    ProtectedUnit,
    Reason,
)

__all__ = [
    "ANY_TEXTS",
    "Guarantee",
    "Notion",
    "zcdp_epsilon",
    "zcdp_rho",
]


#: Relative difference from which a second statement is worth reading.
_NOTABLE = 0.02


def _notion(value: str) -> Notion:
    try:
        return Notion(value)
    except ValueError:
        raise ConfigError(f"The notion of a guarantee must be one of {', '.join(Notion)}.") from None


def _exposed(items: Iterable[str]) -> tuple[NotProtected, ...]:
    return tuple(map(NotProtected.of, items))


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of one rewrite.

    Plain strings are accepted for the typed values, and become values of the kind CUSTOM.

    Attributes
    ----------
    notion : Notion
        "pure", "metric", "group", "approx" or "none".
    epsilon : float
        For one draw (the largest, if it differs).
    unit : ProtectedUnit
        The unit that one draw protects.
    adjacency : Adjacency
        The pairs of texts that are compared.
    draws : int
        The number of draws that depend on the private text.
    total : float
        ε of the whole output by sequential composition.
    expected : float or None
        The mean total if the number of draws is random; information, not a guarantee.
    delta : float
        For one draw, if the notion is "approx".
    exposed : tuple of NotProtected
        What the output reveals without protection.
    reason : Reason
        Why there is no guarantee, if there is none.
    seeded : bool
        A demonstration that anyone can repeat.
    metric : Metric
        For "metric", the distance that ε refers to.
    near, largest : float or None
        The distance from a typical word to its nearest other word, and between the two most different words.
    group : Group
        For "group", the words that a word is hidden among.
    among : Among
        What a text must share with the private one for a single draw to be compared; empty: nothing.
    spent : tuple of float
        ε of every draw; empty: each spends ``epsilon``.
    bounded_range : bool
        Whether the log-ratios of a draw lie in an interval of length ε, as those of an exponential mechanism (draws
        ∝ exp(ε·s), s within 1/2) do.
    never, loaded : int
        Number of words removed from the possible outputs: by the user's blocklist, and by the program's, which is the
        same for every text.
    distance : Metric
        For "metric", the distance of totals if ``metric`` is that distance truncated at γ: min(d, γ) is at most d for
        every γ. Empty: ``metric``.
    """

    # Descriptors without a default, which mypy takes for defaults.
    notion: ConvertedField[Notion] = ConvertedField(_notion)
    epsilon: float  # type: ignore[misc]
    unit: ConvertedField[ProtectedUnit] = ConvertedField(ProtectedUnit.of)
    adjacency: ConvertedField[Adjacency] = ConvertedField(Adjacency.of)
    draws: int  # type: ignore[misc]
    total: float  # type: ignore[misc]
    expected: float | None = None
    delta: float = 0.0
    exposed: ConvertedField[tuple[NotProtected, ...]] = ConvertedField(_exposed, ())
    reason: ConvertedField[Reason] = ConvertedField(Reason.of, "")
    seeded: bool = False
    metric: ConvertedField[Metric] = ConvertedField(Metric.of, "")
    near: float | None = None
    largest: float | None = None
    group: ConvertedField[Group] = ConvertedField(Group.of, "")
    among: ConvertedField[ComparisonScope] = ConvertedField(ComparisonScope.of, "")
    spent: tuple[float, ...] = ()
    bounded_range: bool = False
    never: int = 0
    loaded: int = 0
    distance: ConvertedField[Metric] = ConvertedField(Metric.of, "")

    def __post_init__(self) -> None:
        if self.notion is not Notion.NONE:
            if not all(0 <= e < math.inf for e in (self.epsilon, self.total, *self.spent)):
                raise ConfigError("ε of a guarantee must be finite and at least 0. Without an ε, use the notion "
                                  "'none'.")
            if not 0 <= self.delta < 1 or (self.delta and self.notion is not Notion.APPROX):
                raise ConfigError("δ of a guarantee must be at least 0 and below 1, and 0 unless its notion is "
                                  "'approx'.")
        for notion, stated, what in (
            (Notion.GROUP, self.group, "the words of a group"),
            (Notion.METRIC, self.metric, "a distance"),
        ):
            if self.notion is notion and not stated:
                raise ConfigError(f"A guarantee of the notion '{notion}' must state {what}: Guarantee(…, {notion}=…).")

    @property
    def total_delta(self) -> float:
        """Return δ of the whole output by sequential composition."""
        return min(1.0, self.delta * self.draws)

    def each(self) -> str:
        """Format ε of a draw, from the smallest to the largest if it differs."""
        low, high = bound(min(self.spent, default=self.epsilon)), bound(self.epsilon)
        return high if low == high else f"{low} to {high}"

    def zcdp(self, delta: float = DELTA) -> float | None:
        """Return ε of the whole output as (ε, δ)-DP by zCDP; None unless the notion is pure and it is smaller."""
        if self.notion is not Notion.PURE or self.draws == 0:
            return None
        epsilon = _zcdp(self._counts, delta, self.bounded_range)
        return epsilon if epsilon < self.total else None

    @property
    def _counts(self) -> Mapping[float, int]:
        return Counter(self.spent or {self.epsilon: self.draws})

    def optimal(self, delta: float = DELTA) -> float | None:
        """Return ε of the whole output as (ε, δ)-DP by optimal composition.

        None unless the notion is pure and it is at least 2% below the total.
        """
        if self.notion is not Notion.PURE or self.draws == 0:
            return None
        return optimal_total(self._counts, self.total, self.bounded_range, delta)

    def sentence(self) -> str:
        """Return the guarantee in plain words, with its odds."""
        return sentences.sentence(self)

    def headline(self) -> str:
        """Return only the first sentence."""
        return sentences.headline(self)

    def lines(self) -> tuple[str, ...]:
        """Return the formal statement, one short sentence per line."""
        return sentences.lines(self)

    def extra(self, delta: float = DELTA) -> str:
        """Return the second statement, by optimal composition; empty if it is not smaller than the total."""
        return sentences.zcdp_sentence(self, delta)

    def formal(self) -> str:
        """Return :meth:`lines` as one text."""
        return " ".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON. Without a guarantee, ε and δ are null, whatever the mechanism's setting."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values = {name: str(value) if isinstance(value, str) else value for name, value in values.items()}
        values |= {"exposed": list(map(str, self.exposed)), "spent": list(self.spent)}
        del values["distance"]  # the metric states it
        if self.notion is Notion.NONE:
            values |= dict.fromkeys(("epsilon", "delta", "total", "expected")) | {"spent": []}
        closer, optimal = self.zcdp(), self.optimal()
        return values | {
            "optimal": None if optimal is None else {"epsilon": optimal, "delta": DELTA},
            "zcdp": None if closer is None else {"epsilon": closer, "delta": DELTA},
            "sentence": self.sentence(),
            "formal": self.formal(),
        }


def optimal_total(
    counts: Mapping[float, int], total: float, bounded_range: bool = False, delta: float = DELTA
) -> float | None:
    """Return the total ε of pure draws as (ε, δ)-DP; None unless it is at least 2% below ``total``.

    counts: the number of draws per ε.
    """
    epsilon = min(optimal_epsilon(counts, delta, bounded_range), _zcdp(counts, delta, bounded_range))
    return epsilon if epsilon <= total * (1 - _NOTABLE) else None


def _zcdp(counts: Mapping[float, int], delta: float, bounded_range: bool) -> float:
    return zcdp_epsilon(sum(n * zcdp_rho(e, bounded_range) for e, n in counts.items()), delta)


def zcdp_rho(epsilon: float, bounded_range: bool = False) -> float:
    """Return the smallest ρ such that every ε-DP draw is ρ-zCDP; with bounded range, ε²/8 if that is smaller."""
    rho = epsilon * math.tanh(epsilon / 2)
    return min(rho, epsilon**2 / 8) if bounded_range else rho


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the ε of (ε, δ)-DP that ρ-zCDP implies.

    It is the minimum of αρ + ln(1−1/α) + ln(1/(δα))/(α−1) over α > 1, never below 0. Every α gives a valid bound, so
    the search need not be exact.
    """
    if rho == 0:
        return 0.0
    start = math.log(math.sqrt(math.log(1 / delta) / rho))  # the ln(α − 1) that is best for the simpler bound

    def bound(x: float) -> float:
        a = 1 + math.exp(x)
        return a * rho + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)

    low, high = start - 3, start + 3
    for _ in range(60):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if bound(a) < bound(b) else (a, high)
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return max(0.0, min(simple, bound((low + high) / 2)))
