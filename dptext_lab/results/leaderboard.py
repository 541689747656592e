"""A leaderboard for each data set, judge and level of measured privacy: which mechanism preserves the most utility.

Equal ε is not equal privacy. So settings are compared at the same measured probability: by default that the strongest
attacker recovers a replaced word, else that a word is unchanged (N_w) or that one attacker succeeds. A setting with a
point at the level shows it. One with points on both sides is interpolated, and marked so. Only settings that replace
the same words are compared: those that keep stop words, or those that replace them too. Comparisons with the first are
valid whichever setting is first (:mod:`.selection`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.registry import mechanisms
from dptext_core.mechanisms.setting import Setting

from . import attacker_rows, belief, equal_privacy
from . import summary as store
from .conditions import POLICY, Conditions, differences, usual
from .curves import title
from .differences import LEAST, LEVEL, full_options, labels
from .rows import BASELINE, Row
from .selection import LevelPoint, Versus, at_level, smallest_detectable, versus_first
from .summary import Results

#: Levels of privacy metrics that a page offers. Other metrics use the quartiles of their range.
LEVELS = {
    "attack_best": (0.3, 0.5, 0.7),
    belief.METRIC: belief.LEVELS,
    "n_w": (0.1, 0.3, 0.5),
    "s_w": (50.0, 20.0, 10.0),
}
#: Kinds of metrics for judges: utility and similarity.
JUDGED = ("utility", "similarity")
HIDES = ("deniability", "privacy")
#: Rows need this share of the usual number of texts (a few texts have no perplexity).
ENOUGH = 0.9
#: Options that do not distinguish settings, because a board has one policy for stop words and unknown words.
_ALIKE: dict[str, None] = {"keep_stopwords": None, "oov": None}
#: Default privacy metrics in order of preference: success of the strongest attacker, or of the strongest in the grid.
FIRST = ("attack_best", "attack_best_few", "attack_two_texts", "n_w", "attack_bayes", "s_w")


@dataclass(frozen=True)
class BoardEntry:
    """One setting on a board.

    point: its id, or both ids of an interpolated value. low, high: the 95% interval, with the error of equal privacy if
    known. privacy: the measured value of the point, or the level. between: the two ε of an interpolated value, () if
    measured. p: of no difference from the first (Tukey); None for the first, and if an error is unknown.
    is_significant: whether the difference is significant and large enough to matter. different_words: in 100 draws of a
    word. strongest: the strongest attacker at this point, if measured. unknown_words: the option ``oov``, or "" if
    every word is known.
    """

    place: int
    setting: str
    label: str
    mechanism: str
    epsilon: float
    value: float
    low: float | None
    high: float | None
    privacy: float
    n: int | None
    seeds: int
    point: str
    between: tuple[float, ...] = ()
    p: float | None = None
    is_significant: bool = False
    different_words: float | None = None
    strongest: str = ""
    unknown_words: str = ""


@dataclass(frozen=True)
class Board:
    """The ranked settings.

    stop_words: whether they keep stop words; None: some do. omitted_names: settings without points near the level.
    detectable: the difference from the first that is detected with 80% power; None without known errors. refused:
    settings with other conditions, with the reason. unknown_words: the requested policy; "" for the default."""

    data: str
    judge: str
    privacy: str
    at: float
    stop_words: bool | None
    entries: tuple[BoardEntry, ...]
    omitted_names: tuple[str, ...]
    whole: Row | None
    every: bool = True
    detectable: float | None = None
    refused: tuple[str, ...] = ()
    unknown_words: str = ""

    @property
    def first(self) -> BoardEntry | None:
        return self.entries[0] if self.entries else None

    @property
    def together(self) -> tuple[BoardEntry, ...]:
        """Return the settings that are not significantly different from the first."""
        return tuple(e for e in self.entries[1:] if not e.is_significant)


class Rows:
    """The rows of several summaries by data set and metric. Of a setting and metric, the first row with the most
    frequent conditions counts, or else the first.

    Omitted options are filled in, so a setting has one name. Of unprotected text, the last row with the most seeds
    counts, which is also the one on the Benchmarks page."""

    def __init__(self, results: Iterable[Results | None]):
        self.whole: dict[tuple[str, str], Row] = {}
        self._rows: dict[tuple[str, str], dict[Setting, Row]] = {}
        self._conditions: dict[tuple[str, str, Setting], Conditions] = {}
        found: dict[tuple[str, str], dict[Setting, list[tuple[Row, Conditions]]]] = {}
        for one in results:
            for row in () if one is None else one.rows:
                at = row.data, row.metric
                if row.mechanism == BASELINE:
                    if at not in self.whole or row.seeds >= self.whole[at].seeds:
                        self.whole[at] = row
                else:
                    full = _with_all_options(row)
                    under = Conditions.of(full, one.about if one else {})
                    found.setdefault(at, {}).setdefault(full.setting, []).append((full, under))
        for at, by_setting in found.items():
            most = replace(usual(c for same in by_setting.values() for _, c in same), unknown_words="")
            for setting, same in by_setting.items():
                row, under = next((x for x in same if not differences(x[1], most)), same[0])
                self._rows.setdefault(at, {})[setting] = row
                self._conditions[*at, setting] = under

    def of(self, data: str, metric: str) -> Mapping[Setting, Row]:
        """Return a mapping of each setting to its row."""
        return self._rows.get((data, metric), {})

    def has(self, row: Row) -> bool:
        """Return whether there is a row of the same setting and metric."""
        return _with_all_options(row).setting in self.of(row.data, row.metric)

    def uses(self, row: Row) -> bool:
        """Return whether this is the row of its setting and metric that counts."""
        full = _with_all_options(row)
        return self.of(row.data, row.metric).get(full.setting) == full

    def conditions(self, row: Row) -> Conditions:
        """Return the conditions of a row."""
        return self._conditions[row.data, row.metric, row.setting]

    def metrics(self, data: str, kinds: Sequence[str]) -> list[str]:
        """Return metrics of these kinds that have a direction, without duplicates in other units."""
        names = [m for d, m in self._rows if d == data]
        return [m for m in names if measure(m).kind in kinds and measure(m).better and not measure(m).of]

    def data_sets(self) -> list[str]:
        """Return data sets with a judge and a privacy metric."""
        return [d for d in dict.fromkeys(d for d, _ in self._rows) if self.judges(d) and self.measures(d)]

    def unknown(self, data: str) -> list[str]:
        """Return unregistered mechanisms with rows of this data set."""
        known = {spec.name for spec in mechanisms()}
        names = dict.fromkeys(s.mechanism for (d, _), rows in self._rows.items() if d == data for s in rows)
        return [name for name in names if name not in known]

    def judges(self, data: str) -> list[str]:
        """Return the judges: metrics of utility, then of similarity."""
        return sorted(self.metrics(data, JUDGED), key=lambda m: JUDGED.index(measure(m).kind))

    def measures(self, data: str) -> list[str]:
        """Return the privacy metrics, those of ``FIRST`` first."""
        return sorted(self.metrics(data, HIDES), key=lambda m: FIRST.index(m) if m in FIRST else len(FIRST))

    def levels(self, data: str, privacy: str) -> tuple[float, ...]:
        """Return three levels to compare settings at."""
        if privacy in LEVELS:
            return LEVELS[privacy]
        values = [r.value for r in self.of(data, privacy).values()]
        if not values:
            return ()
        low, high = min(values), max(values)
        return tuple(float(f"{low + share * (high - low):.2g}") for share in (0.25, 0.5, 0.75))


def _with_all_options(row: Row) -> Row:
    return replace(row, setting=replace(row.setting, options=full_options(row)))


def bundled() -> Rows:
    """Return the rows of the page: points at equal privacy and results, including your own."""
    return Rows(bundled_summaries())


def at_equal_belief() -> Rows:
    """Return the rows for equal certainty of the optimal reader, which has other texts than the grid."""
    return Rows((belief.as_results(belief.bundled()),))


def bundled_summaries() -> Iterator[Results]:
    yield attacker_rows.of_reader()
    for one in (*store.added_summaries(), equal_privacy.bundled("equal"), store.bundled()):
        if one is not None:
            yield attacker_rows.with_attackers(one)


def _keeps_stop_words(row: Row) -> bool:
    """Return whether stop words are kept. A mechanism without that option samples all words."""
    return bool(full_options(row).get("keep_stopwords", False))


def board(
    rows: Rows,
    data: str,
    judge: str,
    privacy: str = attacker_rows.BEST,
    at: float = 0.3,
    stop_words: bool | None = True,
    every: bool = True,
    unknown_words: str = "",
) -> Board:
    """Return the leaderboard of a data set by one judge at a level ``at`` of ``privacy``.

    stop_words: only settings that keep them, or only others (None: all).

    every: all settings. Otherwise each mechanism has its default options, or else its measured settings, or else the
    interpolated one with the most points.

    unknown_words: only settings with this policy for unknown words, "random" or "keep". The default is "random" if
    there are such rows, else the most frequent policy.
    """
    words = rows.of(data, "s_w") if privacy == "n_w" else {}
    span = _span(privacy, list(rows.of(data, privacy).values()))
    lines, conditions, refused = _comparable(rows, _lines(rows, data, judge, privacy, stop_words), unknown_words)
    placed: list[LevelPoint] = []
    out: list[str] = []
    names = labels([pairs[0][1] for pairs in lines.values()])
    for name, pairs in lines.items():
        level_point = at_level(pairs, at, span)
        if level_point is None:
            out.append(names[name])
        else:
            # One pair of texts does not show how much another pair would differ.
            placed.append(replace(level_point, error=None) if privacy == attacker_rows.TWO_TEXTS else level_point)
    if not every:
        placed = _one_each(placed, lines)
        # A single setting with default options needs only the mechanism's name.
        unlike = {x.score.setting.key() for x in placed if not _has_default_options(x.score)}
        names = labels([x.score for x in placed]) | {key: names[key] for key in unlike}
        ranked = {x.score.mechanism for x in placed}
        others = dict.fromkeys(pairs[0][1].mechanism for pairs in lines.values())
        out = [title(m) for m in others if m not in ranked]
    sign = measure(judge).better
    placed.sort(key=lambda x: -sign * x.score.value)
    compared = versus_first(placed, sign)
    entries = [
        replace(
            _entry(place, level_point, comparison, names, words, privacy, at),
            unknown_words=conditions[level_point.score.setting.key()].unknown_words,
        )
        for place, (level_point, comparison) in enumerate(zip(placed, (None, *compared), strict=bool(placed)), 1)
    ]
    unprotected = rows.whole.get((data, judge))
    least = smallest_detectable(compared)
    return Board(
        data,
        judge,
        privacy,
        at,
        stop_words,
        tuple(entries),
        tuple(out),
        unprotected,
        every,
        least,
        refused,
        unknown_words,
    )


def first_privacy(rows: Rows, data: str, judge: str, stop_words: bool | None = True, unknown_words: str = "") -> str:
    """Return the privacy metric that a board begins with: the first with settings to compare, or else with any."""

    def settings(privacy: str) -> int:
        at = first_level(rows, data, judge, privacy, stop_words, unknown_words)
        return len(board(rows, data, judge, privacy, at, stop_words, False, unknown_words).entries)

    counts: dict[str, int] = {}
    for privacy in rows.measures(data):
        counts[privacy] = settings(privacy)
        if counts[privacy] > 1:
            return privacy
    return max(counts, key=lambda m: counts[m])


def first_level(
    rows: Rows, data: str, judge: str, privacy: str, stop_words: bool | None = True, unknown_words: str = ""
) -> float:
    """Return the level that a board begins with: the middle one if it has settings to compare, or else the one with
    the most."""

    def settings(at: float) -> int:
        return len(board(rows, data, judge, privacy, at, stop_words, False, unknown_words).entries)

    levels = rows.levels(data, privacy)
    middle = levels[1]
    return middle if settings(middle) > 1 else max((middle, *levels), key=settings)


def _lines(
    rows: Rows, data: str, judge: str, privacy: str, stop_words: bool | None
) -> dict[str, list[tuple[Row, Row]]]:
    """Return the rows of the privacy metric and of the judge at each ε, by setting."""
    hidden = rows.of(data, privacy)
    out: dict[str, list[tuple[Row, Row]]] = {}
    for setting, row in rows.of(data, judge).items():
        if setting in hidden and stop_words in (None, _keeps_stop_words(row)):
            out.setdefault(setting.key(), []).append((hidden[setting], row))
    return out


def _comparable(
    rows: Rows, lines: Mapping[str, list[tuple[Row, Row]]], unknown_words: str
) -> tuple[dict[str, list[tuple[Row, Row]]], dict[str, Conditions], tuple[str, ...]]:
    """Return comparable points by setting, the conditions of each setting, and the other mechanisms by reason.

    Comparable points have this policy for unknown words and the most frequent other conditions."""
    conditions = {name: usual(rows.conditions(row) for _, row in pairs) for name, pairs in lines.items()}
    most = usual(rows.conditions(row) for pairs in lines.values() for _, row in pairs)
    if policy := unknown_words or (POLICY if any(c.unknown_words == POLICY for c in conditions.values()) else ""):
        most = replace(most, unknown_words=policy)
    numbers = Counter(row.n for pairs in lines.values() for _, row in pairs if row.n)
    usual_n = numbers.most_common(1)[0][0] if numbers else 0

    def reason(hidden: Row, row: Row) -> str:
        few = f"test texts: {row.n} instead of {usual_n}" if row.n and row.n < ENOUGH * usual_n else ""
        return differences(rows.conditions(row), most) or differences(rows.conditions(hidden), most) or few

    others: dict[str, dict[str, None]] = {}
    kept: dict[str, list[tuple[Row, Row]]] = {}
    for name, pairs in lines.items():
        reasons = [reason(*pair) for pair in pairs]
        if good := [pair for pair, why in zip(pairs, reasons, strict=True) if not why]:
            kept[name] = good
        for (_, row), why in zip(pairs, reasons, strict=True):
            if why:
                at = f" at ε {row.epsilon:g}" if good and row.epsilon is not None else ""
                others.setdefault(why, {})[f"{title(row.mechanism)}{at}"] = None
    refused = tuple(f"{', '.join(titles)} ({why})" for why, titles in others.items())
    return kept, conditions, refused


def points_at_belief(rows: Rows, data: str, judge: str, at: float = belief.LEVEL) -> dict[str, LevelPoint]:
    """Return each mechanism at one certainty of the optimal reader, if its points surround it."""
    lines = _lines(rows, data, judge, belief.METRIC, None)
    points = {pairs[0][1].mechanism: at_level(pairs, at, 1.0) for pairs in lines.values()}
    return {name: point for name, point in points.items() if point is not None}


def _entry(
    place: int,
    placed: LevelPoint,
    versus: Versus | None,
    names: Mapping[str, str],
    words: Mapping[Setting, Row],
    privacy: str,
    at: float,
) -> BoardEntry:
    row, between, which = placed.score, placed.between, placed.score.setting.key()
    best, half = privacy == attacker_rows.BEST, placed.half
    low, high = (row.low, row.high) if half is None else (row.value - half, row.value + half)
    p = None if versus is None else versus.p
    return BoardEntry(
        place=place,
        setting=which,
        label=names[which],
        mechanism=row.mechanism,
        epsilon=row.epsilon or 0.0,
        value=row.value,
        low=low,
        high=high,
        privacy=at if between else placed.privacy.value,
        n=row.n,
        seeds=row.seeds,
        point=row.point,
        between=between,
        p=p,
        is_significant=p is not None
        and versus is not None
        and p < LEVEL
        and versus.difference >= LEAST.get(row.metric, 0.0),
        different_words=None if (other := words.get(row.setting)) is None else other.value,
        strongest=attacker_rows.strongest_attacker(row.mechanism, row.epsilon, row.data) if best else "",
    )


def _one_each(placed: Sequence[LevelPoint], lines: Mapping[str, Sequence[object]]) -> list[LevelPoint]:
    """Return one setting of each mechanism: default options if they have this level, else the measured ones, else the
    interpolated one with most points."""
    by_mechanism: dict[str, list[LevelPoint]] = {}
    for x in placed:
        by_mechanism.setdefault(x.score.mechanism, []).append(x)
    chosen: list[LevelPoint] = []
    for points in by_mechanism.values():
        if default := [x for x in points if _has_default_options(x.score)]:
            chosen += default
        elif measured := [x for x in points if not x.between]:
            chosen += measured
        else:
            chosen.append(max(points, key=lambda x: len(lines[x.score.setting.key()])))
    return chosen


def _has_default_options(row: Row) -> bool:
    """Return whether a row has its mechanism's default options."""
    options = full_options(replace(row, setting=Setting.of(row.mechanism)))
    return full_options(row) | _ALIKE == options | _ALIKE


def _span(privacy: str, rows: Sequence[Row]) -> float:
    wide = measure(privacy).high - measure(privacy).low
    if math.isfinite(wide) or not rows:
        return wide
    return max(r.value for r in rows) - min(r.value for r in rows)
