"""Numbers as guarantees print them: rounded to the safe side, so that no bound reads stronger than it is."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

#: Relative difference of two floats that represent the same number: 0.1 + 0.2 is 0.3.
NOISE = 1e-12
_SIGNED_ZERO = re.compile(r"(?<![\w-])[+-](?=0(?:\.0+)?(?![\d.]*\d))")
_NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")


def scientific(x: float) -> str:
    """Format δ, rounded up: 1e−5."""
    x = round_directed(x, 1 if x < 0.001 else 6, up=True)
    return f"{x:.0e}".replace("e-0", "e−").replace("e-", "e−") if 0 < x < 0.001 else f"{x:g}"


def with_minus(text: str) -> str:
    """Return a text for people with minus signs instead of hyphens before its numbers, and zero without a sign."""
    return _NEGATIVE.sub("−", _SIGNED_ZERO.sub("", text))


def number(x: float) -> str:
    """Format ε: 50, 2.5, 0.04, 12,000."""
    if not math.isfinite(x):
        return "∞"
    return f"{x:,.0f}" if x == round(x) or abs(x) >= 999.5 else f"{x:.3g}"


def bound(x: float) -> str:
    """Format an upper bound, never below ``x``: 1,234.49 reads 1,235."""
    return number(round_directed(x, 3, up=True))


def at_least(x: float) -> str:
    """Format a lower bound, never above ``x``."""
    return number(round_directed(x, 3, up=False))


def percent(p: float) -> str:
    """Format a probability: ``43%``, ``4.2%``, ``< 0.01%``."""
    if p == 0:
        return "0%"
    return f"{100 * p:.0f}%" if p >= 0.0995 else f"{100 * p:.2g}%" if p >= 1e-4 else "< 0.01%"


def round_directed(x: float, digits: int, up: bool) -> float:
    """Round ``x`` up or down to this many digits, keeping all digits before the point; ignores NOISE."""
    if not math.isfinite(x) or x == 0 or abs(x) >= 1e15:  # beyond that every float is an integer
        return x
    exact = Decimal(x)
    unit = Decimal(1).scaleb(min(0, exact.adjusted() - digits + 1))
    slack = abs(exact) * Decimal(NOISE)
    side = ROUND_CEILING if up else ROUND_FLOOR
    return float((exact - slack if up else exact + slack).quantize(unit, side, Context(prec=400)))


#: Odds beyond it are written in words: no reader needs their size.
MOST_ODDS = 1e9


def odds_text(epsilon: float) -> str:
    """Format e^ε, rounded up: "2.72 times", "more than a billion times"."""
    if epsilon > math.log(MOST_ODDS):
        return "more than a billion times"
    return f"{bound(math.exp(epsilon))} times"
