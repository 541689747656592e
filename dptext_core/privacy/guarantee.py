"""What is promised, to whom, and what is not.

Totals are by sequential composition: Σε. For pure DP per draw a second statement may be smaller: each ε-DP draw is
ρ-zCDP with ρ = ε·tanh(ε/2), and no smaller one (randomised response is the worst case: Steinke 2024, "Tight RDP & zCDP
Bounds from Pure DP", Theorem 4; for it the Kearns-Saul inequality gives this ρ); where all log-ratios of a draw lie in
an interval of length ε, as those of the exponential mechanism do, ρ = ε²/8 (Cesar and Rogers 2021). ρ adds up, and
ρ-zCDP is (ε, δ)-DP for the ε of Canonne, Kamath, Steinke (2020), Corollary 13, at most ρ + 2√(ρ ln(1/δ)) (Bun and
Steinke 2016, Proposition 1.3).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from ..errors import ConfigError
from ..support.checks import LARGEST, many

NOTIONS = {
    "pure": "pure differential privacy",
    "metric": "metric differential privacy",
    "group": "differential privacy within a group",
    "approx": "approximate differential privacy",
    "none": "no guarantee",
}
#: The adjacency that has no condition.
ANY_TEXTS = "any two texts"
#: δ of the second statement, unless another is asked for.
DELTA = 1e-5


@dataclass(frozen=True)
class Guarantee:
    """The promise of one rewrite.

    Attributes
    ----------
    notion : {"pure", "metric", "group", "approx", "none"}
    epsilon : float
        For one draw (the largest, where it differs).
    delta : float
        For one draw, where the notion is "approx".
    unit : str
        What one draw protects.
    adjacency : str
        Which inputs are made alike.
    draws : int
        How often the private text was looked at.
    total : float
        ε of the whole output by sequential composition.
    expected : float or None
        The mean total where the number of draws is random; information, not a promise.
    exposed : tuple of str
        What the output shows that the promise does not cover.
    reason : str
        Why there is no guarantee, where there is none.
    seeded : bool
        A demonstration, repeatable by anyone.
    metric : str
        For "metric", what the distance is in which ε is counted.
    near, largest : float or None
        That distance from a typical word to its nearest other word, and between the two most different words.
    group : str
        For "group", what the group is.
    among : str
        What a text must share with the private one for a single draw to be compared; empty: any two are.
    spent : tuple of float
        ε of every draw; empty: each spends ``epsilon``.
    bounded_range : bool
        Whether the log-ratios of a draw lie in an interval of length ε, as those of an exponential mechanism (draws
        ∝ exp(ε·s), s within 1/2) do.
    never, loaded : int
        How many words are kept out of everything that can be released: by a list of the user's, and by that of the
        program, which is the same for every text.
    distance : str
        For "metric", what totals are counted in, where ``metric`` also says where that is cut off: min(d, γ) is at most
        d, whatever γ is. Empty: ``metric``.
    """

    notion: str
    epsilon: float
    unit: str
    adjacency: str
    draws: int
    total: float
    expected: float | None = None
    delta: float = 0.0
    exposed: tuple[str, ...] = field(default_factory=tuple)
    reason: str = ""
    seeded: bool = False
    metric: str = ""
    near: float | None = None
    largest: float | None = None
    group: str = ""
    among: str = ""
    spent: tuple[float, ...] = ()
    bounded_range: bool = False
    never: int = 0
    loaded: int = 0
    distance: str = ""

    def __post_init__(self) -> None:
        if self.notion not in NOTIONS:
            raise ConfigError(f"A promise is of one of these notions: {', '.join(NOTIONS)}.")
        if self.notion != "none":
            if not all(0 <= e < math.inf for e in (self.epsilon, self.total, *self.spent)):
                raise ConfigError("ε of a promise is a finite number from 0 on. What has none is of the notion 'none'.")
            if not 0 <= self.delta < 1 or (self.delta and self.notion != "approx"):
                raise ConfigError("δ of a promise is from 0 to below 1, and 0 unless its notion is 'approx'.")
        for notion, what in (("group", "which words are a group"), ("metric", "what the distance is")):
            if self.notion == notion and not getattr(self, notion):
                raise ConfigError(f"A promise of the notion {notion!r} says {what}: Guarantee(…, {notion}=…).")

    @property
    def total_delta(self) -> float:
        """δ of the whole output by sequential composition."""
        return min(1.0, self.delta * self.draws)

    def each(self) -> str:
        """ε of a draw as people write it, from the least to the largest where it differs."""
        low, high = bound(min(self.spent, default=self.epsilon)), bound(self.epsilon)
        return high if low == high else f"{low} to {high}"

    def zcdp(self, delta: float = DELTA) -> float | None:
        """ε of the whole output as (ε, δ)-DP by zCDP composition; None unless the notion is pure and it is smaller."""
        if self.notion != "pure" or self.draws == 0:
            return None
        rho = sum(zcdp_rho(e, self.bounded_range) for e in self.spent or (self.epsilon,) * self.draws)
        epsilon = zcdp_epsilon(rho, delta)
        return epsilon if epsilon < self.total else None

    def sentence(self) -> str:
        """The promise in plain words, with its odds."""
        if self.notion == "none":
            return f"There is no privacy guarantee: {self.reason}"
        if self.seeded:
            return (
                "This is a demonstration, not private: its randomness came from a seed, and whoever knows the seed "
                f"can replay it. Without a seed: {self._promise()}"
            )
        return self._promise()

    def _promise(self) -> str:
        if self.draws == 0:
            return (
                "No word of your text was drawn by looking at it, so this promise protects nothing: what stands as you "
                "wrote it is there for all to read."
            )
        most = "at most " if self.expected is not None else ""
        word = "word" in self.unit
        words = f"{most}{self.draws} {'word is' if self.draws == 1 else 'words are'} drawn"
        words = f"{words[0].upper()}{words[1:]}"
        each = self.each()
        little = " Odds as large as that hide little." if self.epsilon > math.log(1e4) else ""
        if self.notion == "metric":
            examples = "; ".join(
                f"{odds_or_any(self.epsilon * d)} {what}"
                for d, what in (
                    (self.near, "for its nearest neighbour, typically"),
                    (self.largest, "for the most different word"),
                )
                if d is not None
            )
            return (
                "Near words are hard to tell apart, far ones are not: a released word is at most e^(ε·distance) as "
                f"likely under your word as under another{self._in_texts()}{f' ({examples})' if examples else ''}. "
                f"{words}, with ε = {each} for each unit of distance ({self.metric})."
            )
        if self.notion == "group":
            return (
                f"A word hides in its group and nowhere else: a released word is at most e^ε = "
                f"{odds_text(self.epsilon)} as likely under your word as under another one of {self.group} "
                f"(ε = {each} a word{self._in_texts()}).{little} {words}, together at most ε = {bound(self.total)}."
            )
        piece = self.unit.removeprefix("released ") if "released" in self.unit and self.draws > 1 else ""
        noun = "a released word" if word else f"the {self.unit}" if "released" in self.unit else "what is released"
        noun = f"a {self.unit}" if piece else noun
        plus = f", plus a chance of δ = {scientific(self.delta)}" if self.notion == "approx" else ""
        unit = " a word" if word else f" a {piece}" if piece else ""
        total = f"together at most ε = {bound(self.total)}"
        if self.notion == "approx" and self.draws > 1:
            total += f" and δ = {scientific(self.total_delta)}"
            total = total if self.total_delta < 1 else "together nothing is promised, since their δ add up to 1"
        tail = f" {words}, {total}." if word else f" {total[0].upper()}{total[1:]}." if self.draws > 1 else ""
        if piece:
            tail = f" At most {self.draws:,} {piece}s are drawn, {total}."
        return (
            f"Whatever you wrote here, {noun} is at most e^ε = {odds_text(self.epsilon)} as likely under your text "
            f"as under any other{self._among()}{plus} (ε = {each}{unit}).{little}{tail}"
        )

    def _in_texts(self) -> str:
        return f", in texts {self.among}" if self.among else ""

    def _among(self) -> str:
        return f" {self.among}" if self.among else ""

    def lines(self) -> tuple[str, ...]:
        """The promise as the field writes it, one short statement a line."""
        if self.notion == "none":
            return (f"No finite ε: {self.reason}",)
        delta = f", δ = {scientific(self.delta)}" if self.delta else ""
        unit = f"{self.unit} and unit of distance ({self.metric})" if self.notion == "metric" else self.unit
        if self.notion == "group":
            unit += f" within {self.group}"
        if self.among:
            unit += f", between texts {self.among}"
        out = [
            f"{NOTIONS[self.notion].capitalize()}, ε = {self.each()}{delta} per {unit}.",
            f"Neighbours: {self.adjacency}.",
            f"Texts: of at most {LARGEST:,} characters; a longer one is refused. Characters that nobody sees are "
            "removed before a text is read.",
        ]
        most, worst = ("at most ", " in the worst case") if self.expected is not None else ("", "")
        total = f"total ε = {bound(self.total)}"
        if self.delta:
            total += f", δ = {scientific(self.total_delta)}"
            total = total if self.total_delta < 1 else "no finite ε, since δ adds up to 1"
        if self.notion == "metric":
            worst += " where each word moves by one unit (in general the sum of ε × distance over the words)"
        draws = f"{most}{self.draws} {'draw' if self.draws == 1 else 'draws'}"
        out.append(f"Sequential composition of {draws}: {total}{worst}.")
        if self.expected is not None:
            out.append(f"Expected: {number(self.expected)}; an expectation is not a guarantee.")
        if extra := self.extra():
            out.append(extra)
        if self.loaded:
            out.append(
                f"Never released: the {self.loaded:,} words of the program's list of loaded words. It is the same for "
                "every text, and takes them out before anything is drawn, so ε stays as it is."
            )
        if self.never:
            also = " by a list of your own" if self.loaded else ""
            out.append(f"Never released{also}: {blocklist_note(self.never)}")
        if self.seeded:
            out.append("Seeded: void for whoever knows the seed.")
        return tuple(out)

    def extra(self, delta: float = DELTA) -> str:
        """The second statement, beside the sequential total; empty where it is not smaller."""
        epsilon = self.zcdp(delta)
        if epsilon is None:
            return ""
        return f"Also: approximate DP by zCDP composition, δ = {scientific(delta)}: ε = {bound(epsilon)} in all."

    def formal(self) -> str:
        """:meth:`lines` as one text."""
        return " ".join(self.lines())

    def to_dict(self) -> dict:
        """As JSON has it. Where nothing is promised there is no ε and no δ: null, whatever the mechanism was set to."""
        own = dataclasses.asdict(self) | {"exposed": list(self.exposed), "spent": list(self.spent)}
        del own["distance"]  # the metric says it
        if self.notion == "none":
            own |= dict.fromkeys(("epsilon", "delta", "total", "expected")) | {"spent": []}
        closer = self.zcdp()
        return own | {
            "zcdp": None if closer is None else {"epsilon": closer, "delta": DELTA},
            "sentence": self.sentence(),
            "formal": self.formal(),
        }


def zcdp_rho(epsilon: float, bounded_range: bool = False) -> float:
    """The smallest ρ such that every ε-DP draw is ρ-zCDP; of those with bounded range, ε²/8 where that is less."""
    rho = epsilon * math.tanh(epsilon / 2)
    return min(rho, epsilon**2 / 8) if bounded_range else rho


def zcdp_epsilon(rho: float, delta: float) -> float:
    """ε of (ε, δ)-DP that ρ-zCDP implies: the least of αρ + ln(1−1/α) + ln(1/(δα))/(α−1) over α > 1, never below 0.

    Every α gives a true bound, so the search need not be exact.
    """
    if rho == 0:
        return 0.0
    start = math.log(math.sqrt(math.log(1 / delta) / rho))  # ln(α − 1) that is best for the simpler bound

    def bound(x: float) -> float:
        a = 1 + math.exp(x)
        return a * rho + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)

    low, high = start - 3, start + 3
    for _ in range(60):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if bound(a) < bound(b) else (a, high)
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return max(0.0, min(simple, bound((low + high) / 2)))


#: What two floats that stand for one number may differ by, relatively: 0.1 + 0.2 is 0.3.
NOISE = 1e-12


def scientific(x: float) -> str:
    """A δ as people write it, never smaller than it is: 1e−5."""
    x = rounded(x, 1 if x < 0.001 else 6, up=True)
    return f"{x:.0e}".replace("e-0", "e−").replace("e-", "e−") if 0 < x < 0.001 else f"{x:g}"


def number(x: float) -> str:
    """ε as people write it: 50, 2.5, 0.04, 12,000."""
    if not math.isfinite(x):
        return "∞"
    return f"{x:,.0f}" if x == round(x) or abs(x) >= 999.5 else f"{x:.3g}"


def bound(x: float) -> str:
    """:func:`number` for what is promised to be no larger: never below ``x``, 1,234.49 is 1,235."""
    return number(rounded(x, 3, up=True))


def at_least(x: float) -> str:
    """:func:`number` for what is said to be no smaller: never above ``x``."""
    return number(rounded(x, 3, up=False))


def percent(p: float) -> str:
    """A probability for reading: ``43%``, ``4.2%``, ``< 0.01%``."""
    if p == 0:
        return "0%"
    return f"{100 * p:.0f}%" if p >= 0.0995 else f"{100 * p:.2g}%" if p >= 1e-4 else "< 0.01%"


def rounded(x: float, digits: int, up: bool) -> float:
    """``x`` with so many digits, all of those before the point, rounded to the side of safety but for NOISE."""
    if not math.isfinite(x) or x == 0 or abs(x) >= 1e15:  # beyond that every float is whole
        return x
    exact = Decimal(x)
    unit = Decimal(1).scaleb(min(0, exact.adjusted() - digits + 1))
    slack = abs(exact) * Decimal(NOISE)
    side = ROUND_CEILING if up else ROUND_FLOOR
    return float((exact - slack if up else exact + slack).quantize(unit, side, Context(prec=400)))


_DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def odds_text(epsilon: float) -> str:
    """e^ε in words, never smaller than it is: "2.72 times", "5.2 × 10²¹ times"."""
    if epsilon <= math.log(1e4):
        return f"{bound(math.exp(epsilon))} times"
    exponent = epsilon / math.log(10)
    power = math.floor(exponent)
    digits = rounded(10 ** (exponent - power), 2, up=True)
    if digits >= 10:
        digits, power = digits / 10, power + 1
    return f"{digits:.1f} × 10{str(power).translate(_DIGITS)} times"


def odds_or_any(epsilon: float) -> str:
    """Odds, as long as they say something."""
    return odds_text(epsilon) if epsilon < 23 else "practically any number of times"


def blocklist_note(n: int) -> str:
    """What a list of so many words does to the promise, in three sentences."""
    what, it = ("is", "it") if n == 1 else ("are", "they")
    return (
        f"{many(n, 'word')} {what} taken out of what can be drawn, if {it} {what} among it, before anything is drawn. "
        "Another form of a word, such as its plural, is another word. "
        "ε stays as it is, as long as the list is public and was made without looking at the text."
    )
