"""What every finding is made of: a claim with its test, comparisons, verdicts, and our rows found by their settings."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from dptext_core.errors import ConfigError
from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.setting import Setting
from dptext_core.support.statistics import NORMAL, holm, two_sided

from ..measurements import equal_privacy
from ..results.curves import describe, title
from ..results.paired_comparison import PairedComparison as Pair
from ..results.paired_comparison import compare_rows
from ..results.papers import PaperRow, paper_rows
from ..results.rows import BASELINE, Gate, Row
from ..runner.tasks import TASKS

AGREES, PARTLY, DISAGREES = "agrees", "partly", "disagrees"
OPEN, MISSING = "cannot be told", "not measured"
#: The utility metric of each data set, and its name in a sentence.
UTILITY = {task.data: task.metric for task in TASKS if task.role == "utility"}
TITLES = {"sst2": "SST-2", "snips": "Snips", "atis": "ATIS", "reviews": "film reviews", "authors": "speeches"}
METRIC_DP = ("mahalanobis", "mvc", "vickrey", "gumbel", "tem")
#: What measures the points where systems are equally private.
EQUAL = "bench equal-privacy equal --data DIR --stopwords FILE --out FILE --summary assets/benchmarks/equal.json"
#: Chance at which a comparison counts, for all of a claim's comparisons together; and with which a difference that
#: matters would be told by the number of texts that is said to tell it.
LEVEL, POWER = 0.05, 0.8
#: Differences too small to matter, by metric; of other metrics any difference matters.
LEAST = {
    "n_w": 0.01,
    "s_w": 1.0,
    "cosine": 0.005,
    "accuracy": 0.01,
    "macro_f1": 0.01,
    "f1_static": 0.01,
    "f1_adaptive": 0.01,
    "unchanged": 0.01,
}


@dataclass(frozen=True)
class Test:
    """What decides a claim, said before the numbers. quantity: what is compared. direction: what the claim expects of
    it. least: the smallest effect that matters, with where that is from."""

    quantity: str
    direction: str
    least: str

    __test__ = False  # no test of pytest's


@dataclass(frozen=True)
class Difference:
    """One difference that a claim stands on: above 0 where it is as the claim says.

    half: of its 95% interval, 0 where it is exact. p: of no difference, from paired outcomes; None where there are
    none, and then it follows from the interval, taken as that of a normal distribution. least: what matters. n: test
    texts behind it, words where it is measured of words; 0 where that is not known.
    """

    difference: float
    half: float
    p: float | None = None
    least: float = 0.0
    metric: str = ""
    n: int = 0

    @property
    def chance(self) -> float:
        """p, given or by the normal approximation."""
        if self.p is not None:
            return self.p
        if self.half <= 0:
            return 0.0 if self.difference else 1.0
        return two_sided(self.difference / (self.half / NORMAL))

    @property
    def small(self) -> bool:
        """Shown to be too small to matter: all of the interval is."""
        return abs(self.difference) + self.half <= self.least


#: The paired comparison of two rows whose outcomes are known text by text; None for others.
Paired = Callable[[Row, Row], Pair | None]
#: What compares rows here, where nothing else is given; rows without the outcomes of their texts have None.
PAIRED: Paired = compare_rows


@dataclass
class ClaimEvidence:
    """The comparisons of a claim, or of one half of it.

    same: the claim is that there is no difference. Each counts once it is beyond chance after Holm's correction over
    all of them, and at least as large as matters.
    """

    same: bool = False
    comparisons: list[Difference] = field(default_factory=list)

    def add(self, comparison: Difference | None) -> None:
        if comparison is not None:
            self.comparisons.append(comparison)

    @property
    def n(self) -> int:
        return len(self.comparisons)

    def beyond(self, sign: int) -> list[int]:
        """Places of the comparisons that are beyond doubt as the claim says (1), or the other way round (−1)."""
        corrected = holm([c.chance for c in self.comparisons])
        return [
            i
            for i, (p, c) in enumerate(zip(corrected, self.comparisons, strict=True))
            if p < LEVEL and sign * c.difference > 0 and abs(c.difference) >= c.least
        ]

    def _beyond(self, sign: int) -> int:
        return len(self.beyond(sign))

    @property
    def yes(self) -> int:
        """Beyond doubt as the claim says; of a claim of no difference, shown to be too small to matter."""
        return self.small if self.same else self._beyond(1)

    @property
    def no(self) -> int:
        return self._beyond(-1) + self._beyond(1) if self.same else self._beyond(-1)

    @property
    def small(self) -> int:
        """Shown to be too small to matter."""
        return sum(c.small for c in self.comparisons)

    @property
    def power(self) -> str:
        """Of the comparisons in doubt, by how many texts a difference that just matters would be told; "" where none
        is, or their texts are not known."""
        z = NormalDist().inv_cdf(1 - LEVEL / 2 / max(1, self.n)) + NormalDist().inv_cdf(POWER)
        told = {*self.beyond(1), *self.beyond(-1)}
        open_ = [
            (c.n * (z * c.half / NORMAL / c.least) ** 2, i)
            for i, c in enumerate(self.comparisons)
            if i not in told and not c.small and c.n and c.least and 0 < c.half < math.inf
        ]
        if not (open_ := sorted((needed, i) for needed, i in open_ if needed > self.comparisons[i].n)):
            return ""
        needed, i = open_[len(open_) // 2]
        c = self.comparisons[i]
        what = "words" if measure(c.metric).kind == "deniability" else "test texts"
        least = said(c.least, c.metric).removeprefix("+").replace("1.0 points", "1 point")
        return (
            f" A difference of {least} would be told with {POWER:.0%} by about {float(f'{needed:.2g}'):,.0f} {what}, "
            f"and seeds in proportion, in the place of {c.n:,} (median of those in doubt)."
        )

    @property
    def towards(self) -> int:
        """Those whose means are as the claim says, whatever the doubt."""
        return sum(c.difference > 0 for c in self.comparisons)

    @property
    def verdict(self) -> str:
        """Agrees where at least half are for it and none against. Disagrees where none is for it, and more than one in
        twenty are against it or half are shown to be too small to matter; with less than that it cannot be told."""
        if not self.n:
            return MISSING
        if self.same:
            if self.no:
                return PARTLY if 2 * self.yes >= self.n else DISAGREES
            return AGREES if 2 * self.yes >= self.n else OPEN
        if self.yes and self.no:
            return PARTLY
        if self.yes:
            return AGREES if 2 * self.yes >= self.n else PARTLY
        return DISAGREES if 20 * self.no > self.n or 2 * self.small >= self.n else OPEN

    @property
    def effect(self) -> str:
        """The median difference, with the least and the most."""
        if not self.n:
            return ""
        differences = sorted(c.difference for c in self.comparisons)
        metric = self.comparisons[0].metric
        middle = said(float(np.median(differences)), metric)
        ends = [said(x, metric).partition(" ")[0] for x in (differences[0], differences[-1])]
        return middle if ends[0] == ends[1] else f"{middle} ({ends[0]} to {ends[1]})"

    def sentence(self, what: str) -> str:
        if self.n == 1:
            (one,) = self.comparisons
            wide = said(one.half, one.metric).removeprefix("+")
            sure = "exact" if one.half <= 0 else "p < 0.001" if one.chance < 0.001 else f"p = {one.chance:.3f}"
            return f"{what}: {said(one.difference, one.metric)} ± {wide}, {sure}.{self.power}"
        unsure = self.n - self.yes - self.no - (0 if self.same else self.small)
        if self.same:
            counts = f"{self.yes} of {self.n} shown too small to matter, {self.no} beyond that, {unsure} in doubt"
        else:
            counts = (
                f"{self.yes} of {self.n} comparisons for it, {self.no} against, {self.small} too small to matter, "
                f"{max(0, unsure)} in doubt; by their means {self.towards} for it"
            )
        return f"{what}: {counts}. Median difference {self.effect}.{self.power}"


def said(difference: float, metric: str = "") -> str:
    """A difference in the unit of its metric."""
    unit = measure(metric).unit
    if unit == "share":
        return f"{100 * difference:+.1f} points"
    return f"{difference:+.1f} words" if unit == "words" else f"{difference:+.3f}"


def both(*verdicts: str) -> str:
    """The verdict of a claim that says several things at once: a part that is refuted refutes it, one that is open or
    not measured leaves it open, and it agrees where all parts do."""
    distinct = set(verdicts)
    if len(distinct) == 1:
        return verdicts[0]
    if DISAGREES in distinct:
        return DISAGREES
    return OPEN if distinct & {OPEN, MISSING} else PARTLY


def under_each(*tallies: ClaimEvidence) -> str:
    """The verdict of a claim that is looked at under several settings, none of which it names: the one that all share.

    Where they part, or lie beyond doubt on opposite sides of no difference, the setting decides and not the mechanism:
    that cannot be told. Settings without comparisons do not count."""
    there = [tally for tally in tallies if tally.n]
    verdicts = {tally.verdict for tally in there}
    sides = {sign for tally in there if tally.same for sign in (1, -1) if tally.beyond(sign)}
    if not verdicts:
        return MISSING
    return verdicts.pop() if len(verdicts) == 1 and len(sides) < 2 else OPEN


def in_part(sentence: str, parenthesis: str) -> str:
    """The verdict of a sentence with a figure in its parenthesis: where the sentence holds and the figure does not, a
    part of it does; where the sentence does not hold, the figure cannot save it."""
    return PARTLY if sentence == AGREES != parenthesis else sentence


@dataclass(frozen=True)
class ClaimOutcome:
    """What the rows say about a claim. effect: the size of it, shortly. numbers: sentences made from the rows. rows:
    those that they come from. reason: why, as we see it. missing: the command that would measure what is not there.

    figure: the name of the figure in ``dptext_studio.figures`` that draws ``drawn``, "" where there is none.
    """

    verdict: str = MISSING
    effect: str = ""
    numbers: tuple[str, ...] = ()
    reason: str = ""
    rows: tuple[Row, ...] = ()
    missing: str = ""
    figure: str = ""
    drawn: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim and its test, before any row was looked at; ``look`` holds it against rows.

    quote: the paper's words. place: where they stand. turns: what would change the verdict. itself: where the paper
    says something else, with both places.
    """

    name: str
    claim: str
    paper: str
    place: str
    quote: str
    test: Test
    turns: str
    itself: str | Callable[[], str]
    look: Callable[[Runs], ClaimOutcome]

    @property
    def source(self) -> str:
        return ", ".join(filter(None, (self.paper, self.place)))

    @property
    def replication(self) -> str:
        """Why this is none, where a paper makes the claim; "" where none does."""
        apart = APART.get(self.paper)
        return "" if apart is None else f"{apart[0].upper()}{apart[1:]}. So the verdict is of the direction alone."

    def against_itself(self) -> str:
        """Where the paper says something else, with both places; "" where it does not. Counted in its own rows."""
        return self.itself if isinstance(self.itself, str) else self.itself()


#: The paper of claims that no paper makes.
OURS = "Ours"
#: What differs here from each paper, so that a verdict is one of the direction.
APART = {
    "DP-MLM": "the paper draws with roberta-base, lets DeBERTa judge, and guesses authors of Yelp's and Trustpilot's "
    "reviews; here it is the bundled model, the bundled encoder, and critics and presidents",
    "1-Diffractor": "the paper has Numberbatch, three spaces of GloVe and word2vec, and lets a fine-tuned BERT judge; "
    "here it is the five bundled spaces and the bundled encoder",
    "CusText": "the paper has counter-fitted, GloVe's and word2vec's vectors, and lets a fine-tuned BERT judge; here "
    "it is the bundled space and the bundled encoder",
    "DP-Rewrite": "the data sets are the paper's; the autoencoder was trained anew, and the bundled encoder judges in "
    "BERT's place",
}
#: Every claim that was made, in the order in which their files are read.
REGISTERED: list[Claim] = []


@cache
def _written() -> dict[str, dict[str, str]]:
    """What is written of every claim; the end of a line counts as a blank."""
    with Path(__file__).with_name("claims.toml").open("rb") as file:
        claims = tomllib.load(file)
    return {name: {key: " ".join(text.split()) for key, text in parts.items()} for name, parts in claims.items()}


def claim(itself: Callable[[], str] | None = None) -> Callable[[Callable[[Runs], ClaimOutcome]], Claim]:
    """Makes a claim of the function that looks at its rows, and lists it: what it says and what decides stands below
    the function's name in ``claims.toml``. itself: counts where the paper says something else."""

    def made(look: Callable[[Runs], ClaimOutcome]) -> Claim:
        written = _written()[look.__name__]
        test = Test(**{part.name: written[part.name] for part in fields(Test)})
        told = {key: written.get(key, "") for key in ("paper", "place", "quote", "turns")}
        counted = itself or written.get("itself", "")
        REGISTERED.append(Claim(look.__name__, written["says"], **told, test=test, itself=counted, look=look))
        return REGISTERED[-1]

    return made


# --- our rows -------------------------------------------------------------------------------------------------------


def half(row: Row) -> float:
    """The longer side of a row's 95% interval, which a bound may cut on the other; 0 where it has none."""
    return 0.0 if row.low is None or row.high is None else max(row.value - row.low, row.high - row.value)


class Runs:
    """Our rows, found by mechanism, data set, metric and options (those not given may be anything).

    paired: where rows carry their outcomes text by text, what compares two of them.
    """

    def __init__(self, rows: Iterable[Row], gates: Iterable[Gate] = (), paired: Paired | None = None):
        self.gates = list(gates)
        self._paired = PAIRED if paired is None else paired
        self._rows: dict[tuple[str, str], list[tuple[Row, dict[str, Any]]]] = {}
        self._points: dict[tuple, Row] = {}
        for row in sorted(rows, key=lambda row: row.epsilon or 0.0):
            if row.value is not None:
                self._rows.setdefault((row.data, row.metric), []).append((row, full_options(row)))
                self._points[row.metric, *_point(row)] = row

    def compare(self, more: Row | None, less: Row | None, least: float | None = None) -> Difference | None:
        """The claim says that ``more`` has the larger value; None where one of them is not there."""
        if more is None or less is None:
            return None
        smallest = LEAST.get(more.metric, 0.0) if least is None else least
        known = self._paired(more, less) if self._paired is not None else None
        if known is not None:
            wide = max(known.high - known.difference, known.difference - known.low)
            return Difference(known.difference, wide, known.p, smallest, more.metric, more.n or 0)
        wide = math.hypot(half(more), half(less))
        return Difference(more.value - less.value, wide, None, smallest, more.metric, min(more.n or 0, less.n or 0))

    def share_lost(self, base: Row, row: Row, guess: float) -> tuple[float, float]:
        """Of what unprotected text has above always guessing the share that ``row`` has lost, and half of its 95%
        interval."""
        above = base.value - guess
        share = share_lost(row.value, base.value, guess)
        if (known := self._paired(base, row) if self._paired is not None else None) is not None:
            return share, math.hypot((known.high - known.low) / 2, share * half(base)) / above
        # Of (w − s)/(w − g): the scores' intervals through both places where they stand.
        return share, math.hypot(half(row), half(base) * (row.value - guess) / above) / above

    def find(self, data: str, metric: str, mechanism: str | None = None, **options: Any) -> list[Row]:
        """Rows in the order of ε; options are compared with a row's own after its defaults are filled in."""
        return [
            row
            for row, filled in self._rows.get((data, metric), [])
            if mechanism in (None, row.mechanism) and all(filled.get(k) == v for k, v in options.items())
        ]

    def one(self, data: str, metric: str, mechanism: str, epsilon: float | None = None, **options: Any) -> Row | None:
        """The only such row at this ε; None where there is none, or more than one."""
        found = [row for row in self.find(data, metric, mechanism, **options) if row.epsilon == epsilon]
        return found[0] if len(found) == 1 else None

    def lines(self, data: str, metric: str, mechanism: str | None = None) -> list[list[Row]]:
        """Rows that differ in ε only, in the order of ε, two at least."""
        groups: dict[str, list[Row]] = {}
        for row in self.find(data, metric, mechanism):
            if row.epsilon is not None:
                groups.setdefault(row.setting.key(), []).append(row)
        return [line for line in groups.values() if len(line) > 1]

    def beside(self, row: Row, metric: str) -> Row | None:
        """The row of another metric at the same point."""
        return self._points.get((metric, *_point(row)))

    def near_n_w(self, data: str, metric: str, n_w: float, within: float) -> list[Row]:
        """Of each setting the row whose measured N_w is nearest to ``n_w``, where it is as near as ``within``."""
        best: dict[Setting, tuple[float, Row]] = {}
        for row in self.find(data, metric):
            kept = self.beside(row, "n_w")
            if row.mechanism != BASELINE and kept is not None and (off := abs(kept.value - n_w)) <= within:
                which = row.setting.at(None)
                best[which] = min(best.get(which, (off, row)), (off, row), key=lambda pair: pair[0])
        return [row for _, row in best.values()]


def bundled_runs(what: str) -> Runs:
    """The bundled rows of points at equal privacy ("equal") or of single lists ("lists"); none where there are none."""
    points = equal_privacy.bundled(what)
    return Runs(()) if points is None else Runs(points.rows, points.gates)


def _point(row: Row) -> tuple:
    return row.data, row.setting


def full_options(row: Row) -> dict[str, Any]:
    """The options of a row with the defaults of its mechanism filled in, where that is registered here."""
    try:
        return row.setting.full()
    except ConfigError:  # unprotected text, and somebody's own, whose rows were merged
        return dict(row.options)


# --- in words -------------------------------------------------------------------------------------------------------


def value(row: Row) -> str:
    """A value with its interval, in the metric's usual unit."""
    digits = measure(row.metric).digits
    shown = f"{row.value:{digits}}"
    return shown if row.low is None else f"{shown} ± {half(row):{digits}}"


def labels(rows: Sequence[Row]) -> dict[str, str]:
    """Configuration → its mechanism's title, with what tells it from the others of that mechanism here."""
    out = {}
    for row in rows:
        rest = [r.options for r in rows if r.mechanism == row.mechanism]
        varying = {o for options in rest for o in options if any(r.get(o) != options[o] for r in rest)}
        parts = describe(row.options, row.mechanism, sorted(varying))
        out[row.setting.key()] = title(row.mechanism) + (f", {parts}" if parts else "")
    return out


def per_epsilon(rows: Sequence[Row]) -> str:
    return ", ".join(f"ε {row.epsilon:g}: {value(row)}" for row in rows)


def with_noise(row: Row | PaperRow) -> str:
    """TEM's window too where it is not the paper's."""
    noise, gamma = row.options.get("noise"), row.options.get("gamma")
    parts = [title(row.mechanism), *([noise] if noise else []), *([] if gamma is None else [f"γ = {gamma:g}"])]
    return ", ".join(parts)


def printed(
    paper: str, table: str, data: str, mechanism: str | None, metric: str, **options: Any
) -> list[tuple[float, PaperRow]]:
    """(value on our scale, row) of one table of a paper, in its order."""
    return [
        (row.value * row.scale, row)
        for row in paper_rows(data, mechanism, metric)
        if (row.paper, row.table) == (paper, table)
        and row.value is not None
        and all(row.options.get(k) == v for k, v in options.items())
    ]


def trend(places: Sequence[float], rows: Sequence[Row], least: float) -> Difference:
    """The slope of values over places, by weighted least squares; that the texts are the same only narrows it."""
    x, y = np.array(places, float), np.array([row.value for row in rows])
    weight = 1 / np.maximum([half(row) for row in rows], 1e-9) ** 2
    off = x - (weight * x).sum() / weight.sum()
    spread = float((weight * off**2).sum())
    return Difference(float((weight * off * y).sum()) / spread, 1 / math.sqrt(spread), None, least, rows[0].metric)


def share_lost(score: float, whole: float, guess: float) -> float:
    """Of what unprotected text has above always guessing: the share that is gone. 0: nothing, 1: all."""
    return (whole - score) / (whole - guess)
