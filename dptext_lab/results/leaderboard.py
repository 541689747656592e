"""Which mechanism keeps most at the same measured privacy: a leaderboard for each data set, judge and level of privacy.

Equal ε is not equal privacy, so that settings stand where a measured chance is the same: by default that the best of
all attackers names a drawn word, else that a word stays itself (N_w), or that one attacker succeeds. A setting with a
point there is shown with it, one with points on both sides between them, and it says so. Only settings that draw the
same words are set side by side: those that keep stop words, or those that draw them too. All comparisons with the first
are corrected for their number (Holm).

    python -m dptext_core bench leaderboard --judge accuracy --at 0.3
    python -m dptext_core bench leaderboard --judges
    python -m dptext_core bench leaderboard --check mine.jsonl --data DIR --again 3
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from dptext_core.errors import ConfigError
from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.registry import mechanisms
from dptext_core.mechanisms.setting import Setting
from dptext_core.support.statistics import holm
from dptext_core.text.cells import to_csv
from dptext_core.text.latex import tabular

from ..findings.base import LEAST, LEVEL, PAIRED, Difference, full_options, half, labels
from ..measurements import equal_privacy
from ..runner import contributions as contributed
from ..runner.options import parser
from . import attacker_rows
from . import summary as store
from .curves import title
from .rows import BASELINE, Row
from .summary import Results

#: Levels of the measures of privacy that a page offers; of others the quarters of the way between their ends.
LEVELS = {"attack_best": (0.3, 0.5, 0.7), "n_w": (0.1, 0.3, 0.5), "s_w": (50.0, 20.0, 10.0)}
#: As near to a level as a point counts as being there, as a share of the measure's own range.
NEAR = 0.02
#: As far apart as two points may be for what lies between them to be said, as a share of the range.
APART = 0.35
#: What a judge may be: what is useful, and how near the texts are.
JUDGED = ("utility", "similarity")
HIDES = ("deniability", "privacy")
#: Options that make no setting another than its defaults here: a board says what becomes of stop words, and all bundled
#: rows keep unknown words.
_ALIKE: dict[str, None] = {"keep_stopwords": None, "oov": None}
#: What is the same where nothing else is asked for, the first that is known of the data set: what the best of all
#: attackers finds, or the best of those that the grid was measured by.
FIRST = ("attack_best", "attack_best_few", "attack_two_texts", "n_w", "attack_bayes", "s_w")


@dataclass(frozen=True)
class Ranked:
    """One setting on a board. low, high: the 95% interval. privacy: the measured value of the point, or the level.

    between: the two ε that it lies between, () where it was measured there. p: of no difference to the first,
    corrected; None for the first. told: beyond doubt and large enough to matter. by: of a point that was measured where
    the best of all attackers finds as much, which one that is.
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
    told: bool = False
    beside: float | None = None
    by: str = ""


@dataclass(frozen=True)
class Board:
    """The settings in their order. stop_words: whether they keep stop words. left_out: settings without points near."""

    data: str
    judge: str
    privacy: str
    at: float
    stop_words: bool
    entries: tuple[Ranked, ...]
    left_out: tuple[str, ...]
    whole: Row | None
    every: bool = True

    @property
    def first(self) -> Ranked | None:
        return self.entries[0] if self.entries else None

    @property
    def together(self) -> tuple[Ranked, ...]:
        """Those that cannot be told from the first."""
        return tuple(e for e in self.entries[1:] if not e.told)


class Rows:
    """The rows of several summaries by data set and metric; of one setting and metric the first counts. Options that a
    row leaves out are filled in, so that a setting has one name; of unprotected text the last one with most seeds
    counts, which of what is bundled is that of the page of benchmarks."""

    def __init__(self, results: Iterable[Results | None]):
        self.whole: dict[tuple[str, str], Row] = {}
        self._found: dict[tuple[str, str], dict[Setting, Row]] = {}
        for one in results:
            for row in () if one is None else one.rows:
                at = row.data, row.metric
                if row.mechanism == BASELINE:
                    if at not in self.whole or row.seeds >= self.whole[at].seeds:
                        self.whole[at] = row
                else:
                    full = replace(row, setting=replace(row.setting, options=full_options(row)))
                    self._found.setdefault(at, {}).setdefault(full.setting, full)

    def of(self, data: str, metric: str) -> Mapping[Setting, Row]:
        """Setting → its row."""
        return self._found.get((data, metric), {})

    def metrics(self, data: str, kinds: Sequence[str]) -> list[str]:
        """Metrics of these kinds that have a direction, in no other unit than their own."""
        found = [m for d, m in self._found if d == data]
        return [m for m in found if measure(m).kind in kinds and measure(m).better and not measure(m).of]

    def data_sets(self) -> list[str]:
        """Data sets with a judge and a measure of privacy."""
        return [d for d in dict.fromkeys(d for d, _ in self._found) if self.judges(d) and self.measures(d)]

    def unknown(self, data: str) -> list[str]:
        """Mechanisms that have rows of this data set and are not registered."""
        known = {spec.name for spec in mechanisms()}
        found = dict.fromkeys(s.mechanism for (d, _), rows in self._found.items() if d == data for s in rows)
        return [name for name in found if name not in known]

    def judges(self, data: str) -> list[str]:
        """Metrics that say what is kept, useful ones first."""
        return sorted(self.metrics(data, JUDGED), key=lambda m: JUDGED.index(measure(m).kind))

    def measures(self, data: str) -> list[str]:
        """Metrics that say what is hidden: first those of ``FIRST``."""
        return sorted(self.metrics(data, HIDES), key=lambda m: FIRST.index(m) if m in FIRST else len(FIRST))

    def levels(self, data: str, privacy: str) -> tuple[float, ...]:
        """Three levels at which settings can be compared."""
        if privacy in LEVELS:
            return LEVELS[privacy]
        found = [r.value for r in self.of(data, privacy).values()]
        if not found:
            return ()
        low, high = min(found), max(found)
        return tuple(float(f"{low + share * (high - low):.2g}") for share in (0.25, 0.5, 0.75))


def bundled() -> Rows:
    """What the page shows: the points at equal privacy, and the results, with those of one's own."""
    return Rows(_bundled())


def _bundled() -> Iterator[Results]:
    yield attacker_rows.of_reader()
    for one in (*store.own(), equal_privacy.bundled("equal"), store.bundled()):
        if one is not None:
            yield attacker_rows.with_attackers(one)


def _kept(row: Row) -> bool:
    """Whether stop words stay: a mechanism without that option draws all that it writes."""
    return bool(full_options(row).get("keep_stopwords", False))


def board(
    rows: Rows,
    data: str,
    judge: str,
    privacy: str = attacker_rows.BEST,
    at: float = 0.3,
    stop_words: bool = True,
    every: bool = True,
) -> Board:
    """The leaderboard of a data set by one judge, where ``privacy`` is ``at``.

    every: all settings; else of each mechanism those that were measured there, and where none was, of those that can be
    read between two points the one with most.
    """
    hidden, words = rows.of(data, privacy), rows.of(data, "s_w") if privacy == "n_w" else {}
    span = _span(privacy, list(hidden.values()))
    lines: dict[str, list[tuple[Row, Row]]] = {}
    for setting, row in rows.of(data, judge).items():
        if setting in hidden and _kept(row) == stop_words:
            lines.setdefault(setting.key(), []).append((hidden[setting], row))
    placed: list[tuple[Row, Row, tuple[float, ...]]] = []
    out: list[str] = []
    names = labels([pairs[0][1] for pairs in lines.values()])
    for name, pairs in lines.items():
        found = _at(pairs, at, span)
        if found is None:
            out.append(names[name])
        else:
            placed.append(found)
    if not every:
        measured = {row.mechanism for _, row, between in placed if not between}
        most: dict[str, Row] = {}
        for _, row, _ in placed:
            chosen = most.setdefault(row.mechanism, row)
            if _points(lines, row) > _points(lines, chosen):
                most[row.mechanism] = row
        placed = [
            (a, row, between)
            for a, row, between in placed
            if not between or (row.mechanism not in measured and row is most[row.mechanism])
        ]
        # Of a mechanism's one setting its own name says what it is, where nothing else than its defaults is asked for.
        unlike = {row.setting.key() for _, row, between in placed if between and not _as_it_comes(row)}
        names = labels([row for _, row, _ in placed]) | {key: names[key] for key in unlike}
        stand = {row.mechanism for _, row, _ in placed}
        others = dict.fromkeys(pairs[0][1].mechanism for pairs in lines.values())
        out = [title(m) for m in others if m not in stand]
    sign = measure(judge).better
    placed.sort(key=lambda x: -sign * x[1].value)
    compared = _against_first([row for _, row, _ in placed], sign)
    entries = []
    for place, ((there, row, between), (p, told)) in enumerate(zip(placed, compared, strict=True), 1):
        which = row.setting.key()
        entries.append(
            Ranked(
                place=place,
                setting=which,
                label=names[which],
                mechanism=row.mechanism,
                epsilon=row.epsilon or 0.0,
                value=row.value,
                low=row.low,
                high=row.high,
                privacy=at if between else there.value,
                n=row.n,
                seeds=row.seeds,
                point="" if between else row.point,
                between=between,
                p=p,
                told=told,
                beside=None if (other := words.get(row.setting)) is None else other.value,
                by=attacker_rows.who(row.mechanism, row.epsilon, data) if privacy == attacker_rows.BEST else "",
            )
        )
    return Board(data, judge, privacy, at, stop_words, tuple(entries), tuple(out), rows.whole.get((data, judge)), every)


def _points(lines: Mapping[str, Sequence[object]], row: Row) -> tuple[int, bool]:
    """By what the one setting of a mechanism is chosen: how many points it has; of two with as many the defaults."""
    return len(lines[row.setting.key()]), _as_it_comes(row)


def _as_it_comes(row: Row) -> bool:
    """Whether the options of a row are its mechanism's own."""
    own = full_options(replace(row, setting=Setting.of(row.mechanism)))
    return full_options(row) | _ALIKE == own | _ALIKE


def _span(privacy: str, rows: Sequence[Row]) -> float:
    wide = measure(privacy).high - measure(privacy).low
    if math.isfinite(wide) or not rows:
        return wide
    return max(r.value for r in rows) - min(r.value for r in rows)


def _at(pairs: list[tuple[Row, Row]], at: float, span: float) -> tuple[Row, Row, tuple[float, ...]] | None:
    """(privacy, judged, the ε it lies between) of one setting where privacy is ``at``; None without points near."""
    nearest = min(pairs, key=lambda pair: abs(pair[0].value - at))
    if abs(nearest[0].value - at) <= NEAR * span:
        return (*nearest, ())
    ordered = sorted(pairs, key=lambda pair: pair[0].value)
    for (a, x), (b, y) in pairwise(ordered):
        if a.value <= at <= b.value and b.value - a.value <= APART * span:
            share = (at - a.value) / (b.value - a.value)
            middle = x.value + share * (y.value - x.value)
            wide = max(half(x), half(y))
            low, high = (None, None) if x.low is None or y.low is None else (middle - wide, middle + wide)
            anywhere, seeds = x.setting.at(None), min(x.seeds, y.seeds)
            made = replace(x, setting=anywhere, value=middle, low=low, high=high, seeds=seeds, point="")
            low_epsilon, high_epsilon = sorted((float(x.epsilon or 0.0), float(y.epsilon or 0.0)))
            return a, made, (low_epsilon, high_epsilon)
    return None


def _against_first(rows: Sequence[Row], sign: int) -> list[tuple[float | None, bool]]:
    """p of no difference to the first, corrected for all, and whether it is told from it."""
    if not rows:
        return []
    first, found = rows[0], []
    for row in rows[1:]:
        known = PAIRED(first, row) if PAIRED is not None and first.point and row.point else None
        wide = math.hypot(half(first), half(row)) if known is None else (known.high - known.low) / 2
        gap = first.value - row.value if known is None else known.difference
        found.append(Difference(sign * gap, wide, None if known is None else known.p, LEAST.get(row.metric, 0.0)))
    corrected = holm([c.chance for c in found])
    return [(None, False)] + [(p, p < LEVEL and c.difference >= c.least) for p, c in zip(corrected, found, strict=True)]


# --- in words -------------------------------------------------------------------------------------------------------


def said(value: float, metric: str) -> str:
    return f"{value:{measure(metric).digits}}"


def with_interval(entry: Ranked, metric: str) -> str:
    if entry.low is None or entry.high is None:
        return said(entry.value, metric)
    return f"{said(entry.value, metric)} ± {said((entry.high - entry.low) / 2, metric)}"


#: Levels of privacy in plain words; of the shares so many of 100.
_LEVELS = {
    "attack_best": "the best of all attackers names {} of 100 drawn words",
    "attack_best_few": "the best of same word, best guess and language model names {} of 100 drawn words",
    "attack_two_texts": "{} of 100 rewrites are told from those of a text with one other word",
    "attack_reader": "a reader finds {} of 100 drawn words",
    "n_w": "{} of 100 drawn words stay as they were",
    "attack_bayes": "the best guess is right for {} of 100 drawn words",
    "attack_nearest": "{} of 100 drawn words are among the ten nearest to what was released",
    "attack_mask": "a language model names {} of 100 drawn words at once",
    "attack_query": "100 answers give {} of 100 drawn words away",
}


def level(privacy: str, at: float) -> str:
    """A level of privacy in plain words."""
    if privacy in _LEVELS:
        return _LEVELS[privacy].format(round(100 * at))
    if privacy == "s_w":
        return f"100 draws of a word give {at:g} different ones"
    return f"{measure(privacy).title} is {said(at, privacy)}"


def listed(names: Sequence[str], among: Sequence[str] = ()) -> str:
    """Names in a row, parted by semicolons where one of them (or of ``among``) has a comma of its own."""
    return ("; " if any("," in name for name in (*names, *among)) else ", ").join(names)


def _others(n: int) -> str:
    return "1 other keeps less" if n == 1 else f"{n} others keep less"


def answer(found: Board, title_of_data: str) -> tuple[str, str]:
    """Which keeps most, in a sentence made from the rows; and how sure that is."""
    first = found.first
    where = f"Where {level(found.privacy, found.at)}"
    if first is None and found.left_out:
        off = "What was measured lies further off: choose another level or judge, or measure more ε."
        return f"{where}, no setting has points near on {title_of_data}.", off
    if first is None:
        return f"{where}, no setting was measured on {title_of_data}.", "Choose another level, or another judge."
    if not found.entries[1:]:
        return f"{where}, only {first.label} was measured on {title_of_data}.", "There is nothing to compare it with."
    name = measure(found.judge).title
    kept = f"{name[0].lower() + name[1:] if not name[:2].isupper() else name} {with_interval(first, found.judge)}"
    whole = "" if found.whole is None else f", of {said(found.whole.value, found.judge)} without rewriting"
    nothing = {spec.name for spec in mechanisms() if spec.notion == "none"}
    bare = ", which promises nothing," if first.mechanism in nothing else ""
    sentence = f"{where}, {first.label}{bare} keeps most on {title_of_data}: {kept}{whole}."
    told = [e for e in found.entries[1:] if e.told]
    near = found.together
    if not near:
        doubt = f"{_others(len(told))}, beyond doubt."
    else:
        some = [e.label for e in near[:3]] + ([f"{len(near) - 3} more"] if len(near) > 3 else [])
        names = some[0] if len(some) == 1 else f"{listed(some[:-1], among=some)} and {some[-1]}"
        doubt = f"It cannot be told from {names}"
        doubt += f". {_others(len(told))}, beyond doubt." if told else ": none is beyond doubt the best."
    between = [e for e in found.entries if e.between]
    if between:
        doubt += f" {len(between)} of {len(found.entries)} were read between two measured points."
    if first.beside is not None and (others := [e for e in found.entries[1:] if e.beside is not None]):
        second = others[0]
        doubt += (
            f" How often a word stays is not all of privacy: 100 draws of a word give {first.beside:.0f} different "
            f"ones with {first.label}, {second.beside:.0f} with {second.label}."
        )
    return sentence, doubt


def other_judges(rows: Rows, found: Board) -> list[tuple[str, str]]:
    """(judge, first by it) for every other judge of the data set that saw at least half of the settings, at the same
    privacy."""
    out = []
    for judge in rows.judges(found.data):
        if judge != found.judge:
            other = board(rows, found.data, judge, found.privacy, found.at, found.stop_words, found.every)
            both = {e.setting for e in other.entries} & {e.setting for e in found.entries}
            if other.first is not None and len(both) > 1 and 2 * len(both) >= len(found.entries):
                out.append((measure(judge).title, other.first.label))
    return out


def agreement(rows: Rows, found: Board) -> str:
    """Whether the other judges name the same one."""
    first, others = found.first, other_judges(rows, found)
    if first is None or not others:
        return ""
    named: dict[str, list[str]] = {}
    for judge, name in others:
        named.setdefault(name, []).append(judge)
    same = named.pop(first.label, [])
    if not named:
        return f"All {len(others)} other judges name it, too: {listed(same)}."
    start = f"{len(same)} of {len(others)} other judges name it, too" if same else "No other judge names it"
    instead = listed([f"{name} ({listed(judges)})" for name, judges in named.items()])
    return f"{start}. Named instead: {instead}."


def rankings(rows: Rows, found: Board) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """One line a setting with its place by every judge, at the same privacy; and the rank correlation (Kendall's τ-b)
    of every other judge's values with those of the board's own, over the settings that both have, three at least."""
    from scipy.stats import kendalltau

    boards = {found.judge: found} | {
        judge: board(rows, found.data, judge, found.privacy, found.at, found.stop_words, found.every)
        for judge in rows.judges(found.data)
        if judge != found.judge
    }
    alike, own = {}, {e.setting: measure(found.judge).better * e.value for e in found.entries}
    shared = {j: [e for e in b.entries if e.setting in own] for j, b in boards.items()}
    places = {
        measure(j).title: {e.setting: place for place, e in enumerate(some, 1)} for j, some in shared.items() if some
    }
    table = [{"mechanism": e.label} | {t: by.get(e.setting) for t, by in places.items()} for e in found.entries]
    for judge, some in shared.items():
        values = {e.setting: measure(judge).better * e.value for e in some}
        if judge != found.judge and len(values) > 2:
            tau = float(kendalltau([own[k] for k in values], list(values.values())).statistic)
            if math.isfinite(tau):
                alike[measure(judge).title] = tau
    return table, alike


def said_rankings(found: Board, alike: Mapping[str, float]) -> str:
    """The rank correlations in a sentence; "" where there are none."""
    if not alike:
        return ""
    others = listed([f"{name} {tau:+.2f}" for name, tau in alike.items()])
    return f"Rank correlation (Kendall's τ) with {measure(found.judge).title}: {others}. 1 is the same order, 0 none."


def elsewhere(rows: Rows, found: Board) -> tuple[str, ...]:
    """Which is first where another measure of privacy is the same, if it is another mechanism, a sentence for each: of
    boards that have at least half as many settings."""
    out = []
    for privacy in rows.measures(found.data):
        steps = rows.levels(found.data, privacy)
        if privacy == found.privacy or found.first is None:
            continue
        other = board(rows, found.data, found.judge, privacy, steps[1], found.stop_words, found.every)
        few = len(other.entries) < 2 or 2 * len(other.entries) < len(found.entries)
        if few or other.first is None or other.first.mechanism == found.first.mechanism:
            continue
        beaten = [e.told for e in other.entries if e.mechanism == found.first.mechanism]
        sure = "beyond doubt" if beaten and all(beaten) else "within doubt"
        why = "" if beaten else f" ({found.first.label} has no point there)"
        out.append(f"Where {level(privacy, steps[1])}, {other.first.label} is first, {sure}{why}.")
    return tuple(out)


# --- tables ---------------------------------------------------------------------------------------------------------


def table(found: Board) -> list[dict[str, Any]]:
    """One line a setting, as a file has it."""
    return [
        {
            "place": e.place,
            "mechanism": e.label,
            "data": found.data,
            "judge": found.judge,
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "privacy": found.privacy,
            "at": found.at,
            "measured": e.privacy,
            "epsilon": None if e.between else e.epsilon,
            "between": " and ".join(f"{x:g}" for x in e.between),
            "p to the first (Holm)": e.p,
            "told from the first": e.told,
            "n": e.n,
            "seeds": e.seeds,
            "point": e.point,
        }
        | ({"best attacker": e.by} if e.by else {})
        for e in found.entries
    ]


def shown(found: Board) -> list[dict[str, Any]]:
    """One line a setting, as it is read, without columns in which nothing would stand."""
    table = [
        {
            "place": e.place,
            "mechanism": e.label,
            measure(found.judge).title: with_interval(e, found.judge),
            "ε": " to ".join(f"{x:g}" for x in e.between) or f"{e.epsilon:g}",
            measure(found.privacy).title: e.privacy,
            "different words in 100 draws": e.beside,
            "p to the first": e.p,
            "less beyond doubt": e.told,
            "texts": e.n,
            "seeds": e.seeds,
            "point": e.point,
        }
        for e in found.entries
    ]
    empty = {k for k in (table[0] if table else ()) if all(line[k] is None for line in table)}
    return [{k: v for k, v in line.items() if k not in empty} for line in table]


def to_latex(found: Board, title_of_data: str) -> str:
    """The board as a paper prints it."""
    name = measure(found.judge).title
    columns = (("", "r"), ("Mechanism", "l"), ("ε", "r"), (name, "r"), ("S_w", "r"), ("p", "r"))
    rows = [
        (
            str(e.place),
            e.label,
            " to ".join(f"{x:g}" for x in e.between) or f"{e.epsilon:g}",
            with_interval(e, found.judge),
            "" if e.beside is None else f"{e.beside:.1f}",
            "" if e.p is None else "<0.001" if e.p < 0.001 else f"{e.p:.3f}",
        )
        for e in found.entries
    ]
    caption = (
        f"{name} on {title_of_data} where {level(found.privacy, found.at)}, with 95% intervals; p of no difference to "
        "the first, corrected by Holm's method."
    )
    return tabular(columns, rows, caption, f"tab:{found.data}-{found.judge}".replace("_", "-"))


# --- the command ----------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    takes = parser("leaderboard", __doc__)
    takes.add_argument("--set", default="sst2", metavar="NAME", help="data set (default sst2)")
    takes.add_argument("--judge", metavar="METRIC", help="what is kept (default: the data set's first)")
    takes.add_argument("--privacy", metavar="METRIC", help="what is the same (default: the data set's first)")
    takes.add_argument("--at", type=float, metavar="X", help="its value (default: the middle level)")
    takes.add_argument("--every", action="store_true", help="all settings of each mechanism")
    takes.add_argument("--draw-stop-words", action="store_true", help="settings that draw stop words, too")
    takes.add_argument("--rows", nargs="+", type=Path, metavar="FILE", help="summaries to read besides the bundled")
    takes.add_argument("--judges", action="store_true", help="the place of each setting by every judge instead")
    takes.add_argument("--format", choices=("text", "csv", "latex", "json"), default="text")
    takes.add_argument("--check", type=Path, metavar="FILE", help="check the points of a contributed file instead")
    takes.add_argument("--data", type=Path, metavar="DIR", help="with --check: the data sets, to measure some again")
    takes.add_argument("--stopwords", metavar="FILE", help="with --check: the list that the bundled results have")
    takes.add_argument("--again", type=int, default=0, metavar="N", help="with --check: so many points (default 0)")
    return takes


def main(argv: Sequence[str] = ()) -> int:
    """The command ``bench leaderboard``."""
    args = _parser().parse_args(argv)
    if args.check is not None:
        return contributed.main(args.check, args.data, args.stopwords, args.again)
    if args.again or args.data or args.stopwords:
        raise ConfigError("--data, --stopwords and --again go with --check.")
    rows = Rows((*(attacker_rows.with_attackers(store.read(path)) for path in args.rows or ()), *_bundled()))
    known = rows.data_sets()
    if args.set not in known:
        raise ConfigError(f"There are no rows of {args.set!r}. Use one of {', '.join(known)}.")
    judge = args.judge or rows.judges(args.set)[0]
    privacy = args.privacy or rows.measures(args.set)[0]
    for name, there, what in (
        (judge, rows.judges(args.set), "--judge"),
        (privacy, rows.measures(args.set), "--privacy"),
    ):
        if name not in there:
            raise ConfigError(f"{what}: use one of {', '.join(there)}.")
    steps = rows.levels(args.set, privacy)
    bounds = measure(privacy)
    if args.at is not None and not bounds.low <= args.at <= bounds.high:  # nor is NaN
        raise ConfigError(f"--at: {privacy} is between {bounds.low:g} and {bounds.high:g}, not {args.at:g}.")
    if args.judges and args.format == "latex":
        raise ConfigError("--judges prints CSV or JSON.")
    ranking = board(
        rows, args.set, judge, privacy, steps[1] if args.at is None else args.at, not args.draw_stop_words, args.every
    )
    name = _title(args.set)
    for missing in rows.unknown(args.set):
        print(
            f"{missing} is not registered here, so that the defaults that its rows leave out are not known, such as "
            "whether stop words stay: name its file with --plugin FILE.",
            file=sys.stderr,
        )
    if not ranking.entries and (args.judges or args.format != "text"):
        raise ConfigError(answer(ranking, name)[0] + " Choose another level (--at), measure (--privacy) or judge.")
    if args.judges:
        places, alike = rankings(rows, ranking)
        if args.format == "json":
            print(json.dumps({"places": places, "tau": alike}, ensure_ascii=False, indent=1))
            return 0
        print(to_csv(places), end="")
        print(said_rankings(ranking, alike), file=sys.stderr)
        return 0
    if args.format == "text":
        print("\n".join(filter(None, (*answer(ranking, name), agreement(rows, ranking), *elsewhere(rows, ranking)))))
        for e in ranking.entries:
            where = f"between ε {e.between[0]:g} and {e.between[1]:g}" if e.between else f"at ε {e.epsilon:g}"
            apart = "" if e.p is None else "  p < 0.001" if e.p < 0.001 else f"  p {e.p:.3f}"
            print(f"{e.place:3d}  {with_interval(e, judge):>16s}  {e.label}, {where}{apart}")
        if ranking.left_out:
            print(f"Without points near: {listed(ranking.left_out)}.", file=sys.stderr)
    elif args.format == "json":
        print(json.dumps(table(ranking), ensure_ascii=False, indent=1))
    else:
        print(to_csv(table(ranking)) if args.format == "csv" else to_latex(ranking, name), end="")
    return 0


def _title(data: str) -> str:
    from ..runner.data_sets import title as of_data

    return of_data(data)
