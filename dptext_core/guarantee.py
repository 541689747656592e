"""What is promised, to whom, and what is not."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

NOTIONS = {
    "pure": "pure differential privacy",
    "metric": "metric differential privacy",
    "group": "differential privacy within a group",
    "approx": "approximate differential privacy",
    "none": "no guarantee",
}


@dataclass(frozen=True)
class Guarantee:
    """The promise of one rewrite.

    notion: "pure", "metric", "group", "approx" or "none". epsilon: per draw (the largest, where it differs). delta:
    for "approx". unit: what one draw protects. adjacency: which inputs are made alike. draws: how often the private
    text was looked at. total: ε of the whole output by sequential composition. expected: the mean total where the
    number of draws is random; information, not a promise. exposed: what the output shows that the promise does not
    cover. reason: why there is no guarantee, where there is none. seeded: a demonstration, repeatable by anyone.
    metric: for "metric", what the distance is in which ε is counted; near, largest: that distance from a typical word
    to its nearest other word, and between the two most different words. group: for "group", what the group is.
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

    def sentence(self) -> str:
        """The promise in one plain sentence."""
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
            return "Nothing was replaced, so nothing is protected: the text is released as it is."
        most = "at most " if self.expected is not None else ""
        words = f"{most}{self.draws} {'word is' if self.draws == 1 else 'words are'} drawn"
        words = f"{words[0].upper()}{words[1:]}"
        if self.notion == "metric":
            near, far = (
                None
                if d is None
                else odds_text(self.epsilon * d)
                if self.epsilon * d < 23
                else "practically any number of times"
                for d in (self.near, self.largest)
            )
            examples = [
                f"{text} {what}" for text, what in
                ((near, "for its nearest neighbour, typically"), (far, "for the most different word")) if text
            ]  # fmt: skip
            return (
                "Near words are hard to tell apart, far ones are not: a released word is at most e to the power of ε × "
                f"distance as likely under your word as under another one ({'; '.join(examples)}). {words}, with "
                f"ε = {number(self.epsilon)} for each unit of distance ({self.metric})."
            )
        if self.notion == "group":
            return (
                f"A word hides among the words of its group and nowhere else: a released word is at most "
                f"{odds_text(self.epsilon)} as likely under your word as under another one of {self.group} "
                f"(ε = {number(self.epsilon)} a word). {words}, together at most ε = {number(self.total)}."
            )
        return (
            f"Whatever you wrote here, a released word is at most {odds_text(self.epsilon)} as likely under your text "
            f"as under any other (ε = {number(self.epsilon)} a word). {words}, together at most "
            f"ε = {number(self.total)}."
        )

    def formal(self) -> str:
        """The promise as the field writes it."""
        if self.notion == "none":
            return f"No finite ε: {self.reason}"
        delta = f", δ = {self.delta:g}" if self.delta else ""
        most = "at most " if self.expected is not None else ""
        unit = f"{self.unit} and unit of distance ({self.metric})" if self.notion == "metric" else self.unit
        if self.notion == "group":
            unit += f" within {self.group}"
        line = (
            f"{NOTIONS[self.notion].capitalize()}, ε = {number(self.epsilon)}{delta} per {unit}, for "
            f"{self.adjacency}; {most}{self.draws} draws, total ε = {number(self.total)} by sequential composition"
        )
        if self.notion == "metric":
            line += " where each word moves by one unit (in general the sum of ε × distance over the words)"
        if self.expected is not None:
            line += f" in the worst case ({number(self.expected)} expected; an expectation is not a guarantee)"
        return line + "."

    def to_dict(self) -> dict:
        own = dataclasses.asdict(self) | {"exposed": list(self.exposed)}
        return own | {"sentence": self.sentence(), "formal": self.formal()}


def number(x: float) -> str:
    """ε as people write it: 50, 2.5, 0.04, 12,000."""
    if not math.isfinite(x):
        return "∞"
    return f"{x:,.0f}" if x == round(x) or x >= 1000 else f"{x:.3g}"


_DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def odds_text(epsilon: float) -> str:
    """e^ε in words: "2.7 times", "5.2 × 10²¹ times"; beyond that the number itself says that it hides little."""
    if epsilon <= math.log(1e4):
        odds = math.exp(epsilon)
        return f"{odds:,.0f} times" if odds >= 100 else f"{odds:.3g} times"
    exponent = epsilon / math.log(10)
    power = math.floor(exponent)
    return f"{10 ** (exponent - power):.1f} × 10{str(power).translate(_DIGITS)} times"
