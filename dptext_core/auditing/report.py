"""The report of an audit and its witness."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ConfigError
from ..privacy.numbers import MOST_ODDS, at_least, bound, number, odds_text, scientific


@dataclass(frozen=True)
class Witness:
    """Two inputs and the output that distinguishes them best, which is more likely under the first.

    first, second: the inputs, as words or texts. first_at, second_at: the token in a text of several words, else None.
    outputs: one released word, or the set whose probability was estimated. p_first, p_second: its probabilities, from
    log_p_first and log_p_second (−inf: impossible); for an estimate, the lower and the upper bound. distance: between
    the two inputs in the unit of the claim. kind: "loss"; "sampler" if only ``first`` was sampled: then p_first is the
    share of the draws and p_second the stated probability; "release" if a release violates a rule without
    probabilities, which ``details`` describes.
    """

    first: str
    second: str
    outputs: tuple[str, ...]
    log_p_first: float
    log_p_second: float
    distance: float
    first_at: str | None = None
    second_at: str | None = None
    kind: str = "loss"
    details: str = ""

    @classmethod
    def of_rule(
        cls, details: str, first: str, second: str | None = None, *, at: str | None = None, kind: str = "sampler"
    ) -> Witness:
        """Return a witness in words instead of probabilities, about one text or two."""
        return cls(first, first if second is None else second, (), 0.0, 0.0, 0.0, at, None, kind, details)

    @property
    def output(self) -> str:
        return self.outputs[0]

    @property
    def p_first(self) -> float:
        return math.exp(self.log_p_first)

    @property
    def p_second(self) -> float:
        return math.exp(self.log_p_second)

    def sentence(self) -> str:
        """Return the witness in plain words."""
        if self.details:
            return self.details
        what = f"“{self.output}”"
        if len(self.outputs) > 1:
            what = f"one of {len(self.outputs):,} words (such as {what})"
        a, b = quote_text(self.first, self.first_at), quote_text(self.second, self.second_at)
        if self.kind == "sampler":
            return (
                f"Under {a}, {what} was sampled with frequency {format_probability(self.log_p_first)}; its stated "
                f"probability is {format_probability(self.log_p_second)}."
            )
        rare = (
            f"never under {b}"
            if self.log_p_second == -math.inf
            else f"{format_probability(self.log_p_second)} under {b}"
        )
        often = format_probability(self.log_p_first)
        line = f"{what[0].upper()}{what[1:]} has probability {often} under {a} and {rare}"
        return line if line.endswith((".”", "!”", "?”")) else f"{line}."


#: Each verdict in a few words, which begin every description of it.
LINES = {"holds": "No violation found in the cases tested ✓", "refuted": "Violated ✗", "inconclusive": "Inconclusive"}
#: The possible results of a check. "not tested" if it was impossible, for the given ``reason``.
STATUSES = ("proven", "tested", "refuted", "not tested")
#: Joins two clauses about what the draws of one check could not detect.
NOR = "; nor "


@dataclass(frozen=True)
class Check:
    """The result of one check.

    name: a noun ("released text"). description: a sentence on what was tested. reason: why it is refuted or not tested,
    a clause that ends with a full stop. detectable: the largest loss that its draws could show. leak: the smallest
    share of leaking rewrites that is detected with probability 95%; None without draws. blind: what its draws could not
    detect, a clause after "could not detect" ("a leak in fewer than 1% of ..."), several joined by NOR, "" for nothing.
    is_required: whether the verdict cannot be "holds" if it is not tested. draws: the number of rewrites, or of sampled
    words.
    """

    name: str
    status: str
    description: str
    reason: str = ""
    witness: Witness | None = None
    detectable: float | None = None
    leak: float | None = None
    blind: str = ""
    is_required: bool = True
    draws: int = 0
    seconds: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ConfigError(f"The status of a check must be one of {', '.join(STATUSES)}, not {self.status!r}.")


@dataclass(frozen=True)
class AuditReport:
    """The claim and the measurement.

    Attributes
    ----------
    claimed : float
        ε of the guarantee for one draw, per unit of distance if ``unit`` says so; inf without a guarantee.
    measured : float
        The largest measured loss, in the same unit; inf if an output is possible under one input only. The loss beyond
        ``delta`` if the claim has one.
    exact : bool
        Whether that is the exact maximum over the inputs (closed form), else a lower bound with ``confidence``.
    detectable : float
        The largest loss that the draws of this audit alone could show: never inf.
    verdict : {"holds", "refuted", "inconclusive"}
        On these inputs, with ``reason``: the weaker of the two parts, ``proven`` from formulas and ``tested`` by draws.
        Each part is text, and empty if it does not exist.
    inputs, pairs : int
        How many were compared; ``skipped`` has the other inputs with the reason.
    draws : int
        The total number of sampled words.
    sampler_p : float or None
        The p-value of the draws under the stated distributions, corrected for the number of comparisons; None if
        nothing was compared.
    leak : float or None
        The smallest share of wrongly unchanged words that the test detects with probability 95% for each entry point,
        at ``leak_epsilon``; ``leak_fresh`` for fresh draws, of which there are more.
    of : str
        The subject of the claim: one draw, or the whole output if nothing else can be tested.
    checks : tuple of Check
        The results of all checks.
    texts, rewrites : int
        The number of different rewritten texts, and of rewrites.
    """

    mechanism: str
    epsilon: float
    notion: str
    claimed: float
    measured: float
    exact: bool
    detectable: float
    verdict: str
    reason: str
    witness: Witness | None
    unit: str
    inputs: int
    pairs: int
    skipped: tuple[tuple[str, str], ...]
    draws: int
    sampler_p: float | None
    confidence: float
    proven: str = ""
    tested: str = ""
    leak: float | None = None
    leak_fresh: float | None = None
    leak_epsilon: float | None = None
    delta: float = 0.0
    of: str = "one draw"
    checks: tuple[Check, ...] = ()
    texts: int = 0
    rewrites: int = 0

    @property
    def holds(self) -> bool:
        return self.verdict == "holds"

    @property
    def line(self) -> str:
        """Return the verdict in a few words."""
        return LINES[self.verdict]

    @property
    def headline(self) -> str:
        """Return the verdict; if it holds, with the kind of fault that an audit of this length cannot find."""
        if not self.holds or not self.texts:
            return self.line
        rare = max(1, math.floor(1 / (1 - 0.05 ** (1 / self.texts))))  # found with a probability of 95%
        return (
            f"{self.line} An audit cannot find every fault. This one can miss a fault that shows in fewer than 1 of "
            f"{rare:,} texts, or only after {self.rewrites:,} rewrites."
        )

    @property
    def loss(self) -> str:
        """Return the displayed measured loss, rounded down."""
        loss, limit = at_least(self.measured), bound(self.claimed)
        # As many digits as needed to distinguish the two.
        return f"{self.measured:.10g}" if loss == limit and self.verdict == "refuted" else loss

    @property
    def limit(self) -> str:
        """Return the displayed claimed loss, rounded up."""
        loss, limit = at_least(self.measured), bound(self.claimed)
        return f"{self.claimed:.10g}" if loss == limit and self.verdict == "refuted" else limit

    @property
    def blind(self) -> tuple[str, ...]:
        """Return clauses on what the draws could not detect, followed by those of checks without draws."""
        checks = sorted(self.checks, key=lambda c: c.leak is None and c.detectable is None)
        clauses = [part for c in checks if c.blind and c.status != "refuted" for part in c.blind.split(NOR)]
        return tuple(dict.fromkeys(clauses))

    def sentence(self) -> str:
        """Return the verdict with its main figure, in at most 40 words."""
        per = " per unit of distance" if self.unit else ""
        at_least = "" if self.exact or self.measured == math.inf else "at least "
        loss = f"the largest loss is {at_least}{'infinite' if self.measured == math.inf else f'{self.loss}{per}'}"
        over = f"{loss} over {self.inputs:,} {'input' if self.inputs == 1 else 'inputs'}"
        allowed = "no loss is excluded" if self.claimed == math.inf else f"the guarantee allows {self.limit}"
        if self.holds:
            return f"{self.line}: {over}, and {allowed}. Inputs that were not tried may lose more."
        if self.verdict == "inconclusive":
            problem = f"{over}, and {allowed}" if self.pairs else "nothing could be compared"
            return f"{self.line}: {problem}. The details explain why the result is inconclusive."
        failed = next((c.name for c in self.checks if c.status == "refuted"), "the release")
        problem = f"the check “{failed}” failed" if self.reason else f"{over}, where {allowed}"
        return f"{self.line}: {problem}. The details show the evidence."

    def details(self) -> str:
        """Return the complete verdict in plain words, with what was proven, tested, and not detectable."""
        line, first, *more = self.lines()
        return " ".join([f"{line}:", self.first(), *more] if line == self.line else [line, first, *more])

    def lines(self) -> tuple[str, ...]:
        """Return :meth:`details` as paragraphs: :attr:`headline`, the evidence, and each of :meth:`parts`."""
        first = self.first()
        parts = [f"{name.capitalize()}: {' '.join(sentences)}" for name, sentences in self.parts() if sentences]
        return (self.headline, _capital(first), *parts)

    def first(self) -> str:
        """Return the evidence for the verdict; its first sentence continues :attr:`line`. If it holds, that sentence
        names one thing that the draws could not detect, and the second lists the others."""
        per = f" per unit of distance ({self.unit})" if self.unit else ""
        beyond = f" beyond δ = {scientific(self.delta)}" if self.delta else ""
        per += beyond if self.of == "one draw" else f" for {self.of}{beyond}"
        loss = (
            "a released word is possible under one input and impossible under another (an infinite loss)"
            if self.measured == math.inf
            else f"the largest loss is {self.loss}{per}"
        )
        if not self.exact and self.measured < math.inf:
            loss = f"the loss is at least {self.loss}{per} (with {self.confidence:.0%} confidence)"
        pairs = "1 pair" if self.pairs == 1 else f"{self.pairs:,} pairs"
        scope = f"over {self.inputs:,} {'input' if self.inputs == 1 else 'inputs'} ({pairs})"
        if self.verdict == "inconclusive":
            more = ""
            if self.claimed == math.inf and self.of != "the whole output" and self.measured > self.epsilon:
                more = f". That exceeds the nominal ε = {number(self.epsilon)} of one draw, which is no guarantee"
            return self.reason + (f" Measured {scope}: {loss}{more}." if self.pairs else "")
        claim = f"the guarantee allows {self.limit}"
        if self.delta:
            claim += f" with δ = {scientific(self.delta)}"
        elif self.claimed < math.log(MOST_ODDS) and not self.unit:
            claim += f" (one output at most {odds_text(self.claimed)} as likely)"
        if self.verdict == "refuted":
            tail = f" {self.witness.sentence()}" if self.witness else ""
            return f"{self.reason or f'{loss}, {scope}, where {claim}.'}{tail}"
        message = f"{scope}, {loss}, and {claim}"
        if self.blind:
            message += f". The draws could not detect {self.blind[0]}"
        if self.blind[1:]:
            message += f". Also not detectable: {'; '.join(self.blind[1:])}"
        return f"{message}. Inputs that were not tried may lose more."

    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return what was proven, tested and not tested, each in sentences; nothing for a refuted guarantee."""
        if self.verdict == "refuted":
            return ()
        out: dict[str, list[str]] = {"proven": [], "tested": [], "not tested": []}
        for c in self.checks:
            if c.status in out and (sentence := c.description or c.reason):
                out[c.status].append(_capital(sentence))
        return tuple((name, tuple(dict.fromkeys(sentence))) for name, sentence in out.items())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with infinite numbers as "inf"."""
        out: dict[str, Any] = asdict(self)
        if self.witness is not None:
            w = self.witness
            out["witness"] |= {"p_first": w.p_first, "p_second": w.p_second, "sentence": w.sentence()}
        out["holds"], out["line"], out["sentence"] = self.holds, self.line, self.details()
        return _plain(out)


def quote_text(text: str, at: str | None) -> str:
    return f"“{text}”" if at is None else f"“{at}” in “{text}”"


def format_probability(log_p: float) -> str:
    """Format a probability, even if it is below the range of float64."""
    if log_p == -math.inf:
        return "0"
    if log_p > math.log(1e-4):
        return f"{math.exp(log_p):.2g}"
    power = math.floor(log_p / math.log(10))
    return f"{10 ** (log_p / math.log(10) - power):.1f}e{power}"


def format_share(leak: float) -> str:
    """Format a detectable share of draws with two digits, rounded up: 0.07%, 3.1%, 64%."""
    digits = 2 if leak < 0.01 else 1 if leak < 0.1 else 0
    # A number that is whole up to rounding errors counts as whole.
    return f"{math.ceil(leak * 10 ** (digits + 2) - 1e-9) / 10**digits:.{digits}f}%"


def _capital(sentence: str) -> str:
    """Return a sentence with a capital; a symbol such as δ is unchanged."""
    return sentence[:1].upper() + sentence[1:] if "a" <= sentence[:1] <= "z" else sentence


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return ("inf" if value > 0 else "-inf") if isinstance(value, float) and math.isinf(value) else value
