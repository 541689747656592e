"""Chart data from the rows of a benchmark: series over ε or N_w, the utility-privacy plane, and tables.

Equal ε is not equal privacy, because mechanisms count ε in different units. To compare them, the x axis can show N_w
instead, the measured probability that a word is unchanged, or an attacker's measured success. ``figures.benchmarks``
plots the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from dptext_core.errors import ConfigError
from dptext_core.measure.metrics.registry import JUDGES, REGISTRY, measure, split_judge
from dptext_core.mechanisms import codec
from dptext_core.mechanisms.registry import accounting_unit, mechanisms, title
from dptext_core.mechanisms.setting import Setting, SettingFields
from dptext_core.privacy.numbers import number, with_minus
from dptext_core.words.lists import CONFIGURATIONS

from .papers import PaperRow, paper_rows
from .rows import BASELINE, Gate, Row

if TYPE_CHECKING:
    from .summary import Results

Shown = dict[str, Any]
R = TypeVar("R", Row, Gate)
#: Metrics that can replace ε on the x axis: the probability of an unchanged word, and attackers' success.
HIDDEN = tuple(m.name for m in REGISTRY.values() if m.kind == "deniability" and m.unit == "share")
#: The papers' data sets that correspond to ours, for relative gains and similarities. Plain scores on different texts
#: are not comparable.
KIN = {"reviews": ("trustpilot", "yelp")}


@dataclass(frozen=True)
class CurvePoint:
    """A point of a series. x: ε or N_w. low, high: the 95% interval or None. n_w: of this point, or None. row: its
    row."""

    x: float
    value: float
    low: float | None
    high: float | None
    n_w: float | None
    row: Row | PaperRow


@dataclass(frozen=True)
class Series(SettingFields):
    """Points of one configuration in order of x.

    variant: its number among the configurations of its mechanism, 0 for the main one, the same in every figure.
    num_omitted: number of points without an x on this axis. paper: its paper and table, or "" for ours. about: that
    table's caption, in our words.
    """

    label: str
    setting: Setting
    points: tuple[CurvePoint, ...]
    variant: int
    num_omitted: int = 0
    paper: str = ""
    about: str = ""


@dataclass(frozen=True)
class Spot:
    """One setting in the plane: x is the privacy metric, y the utility metric."""

    label: str
    mechanism: str
    variant: int
    x_point: CurvePoint
    y_point: CurvePoint
    paper: str = ""

    @property
    def x(self) -> float:
        return self.x_point.value

    @property
    def y(self) -> float:
        return self.y_point.value


# --- names ----------------------------------------------------------------------------------------------------------


def units(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the titles of mechanisms by notion and unit of ε."""
    out: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        out.setdefault(accounting_unit(name), []).append(title(name))
    return out


def units_note(names: Iterable[str]) -> str:
    """Return a sentence on why these mechanisms cannot be compared at one ε."""
    counts = "; ".join(f"{', '.join(who)}: {unit}" for unit, who in units(names).items() if unit)
    return f"Equal ε is not equal privacy, because the units differ. {counts}."


def describe(options: Mapping[str, Any], mechanism: str, only: Iterable[str] | None = None) -> str:
    """Return options as text (only: a selection). A paper's row may be the best or the mean of several lists."""
    shown_names = [n for n in options if only is None or n in only]
    return ", ".join(
        f"{n.removesuffix('_of')} of {'+'.join(map(str, options[n]))}"
        if n in ("best_of", "mean_of")
        else codec.describe({n: options[n]}, mechanism)
        for n in shown_names
    )


@dataclass(frozen=True)
class Configuration(SettingFields):
    """One mechanism with its options except ε. variant: see ``Series``."""

    label: str
    setting: Setting
    variant: int


@lru_cache(maxsize=8)
def _keyed(results: Results) -> dict[tuple[str, str], list[tuple[str, Row]]]:
    """Return the rows with their configurations by data set and metric, without unprotected text."""
    out: dict[tuple[str, str], list[tuple[str, Row]]] = {}
    for row in results.rows:
        if row.mechanism != BASELINE:
            out.setdefault((row.data, row.metric), []).append((row.setting.key(), row))
    return out


@lru_cache(maxsize=8)
def configurations(results: Results) -> Mapping[str, Configuration]:
    """Return every measured configuration by its key.

    The first ones have the default options of each mechanism, or else the most points."""
    by_key: dict[str, tuple[Row, set]] = {}
    keys = {id(row): k for all_of in _keyed(results).values() for k, row in all_of}
    for row in results.rows:
        if row.mechanism != BASELINE:
            by_key.setdefault(keys[id(row)], (row, set()))[1].add((row.data, row.epsilon))
    by_mechanism: dict[str, list[str]] = {}
    for k, (row, _) in by_key.items():
        by_mechanism.setdefault(row.mechanism, []).append(k)
    order = {s.name: i for i, s in enumerate(mechanisms())}
    names = sorted(by_mechanism, key=lambda m: order.get(m, len(order)))
    main = [max(by_mechanism[m], key=lambda k: (not by_key[k][0].options, len(by_key[k][1]))) for m in names]
    others = [k for m in names for k in by_mechanism[m] if k not in main]
    out = {}
    variants: dict[str, int] = {}
    for k in [*main, *others]:
        row = by_key[k][0]
        option_sets = [by_key[o][0].options for o in by_mechanism[row.mechanism]]
        varying = {o for options in option_sets for o in options if any(r.get(o) != options[o] for r in option_sets)}
        parts = describe(row.options, row.mechanism, varying)
        label = title(row.mechanism) + (f", {parts}" if parts else "")
        variant = variants[row.mechanism] = variants.get(row.mechanism, -1) + 1
        out[k] = Configuration(label, row.setting.at(None), variant)
    return out


# --- contents -------------------------------------------------------------------------------------------------------


def data_sets(results: Results) -> dict[str, str]:
    """Return the titles of data sets with rows, by name."""
    about = results.about.get("data", {})
    return {d: about.get(d, {}).get("title", d) for d in dict.fromkeys(r.data for r in results.rows)}


def metrics_of(results: Results, data: str, kinds: Sequence[str] = ()) -> list[str]:
    """Return the metrics with rows of a data set, in the registry's order. kinds: only these, if given."""
    metrics = {r.metric for r in results.rows if r.data == data and r.mechanism != BASELINE}
    known = [n for m in REGISTRY for n in (m, *(m + judge for judge in JUDGES)) if n in metrics]
    known += sorted(metrics.difference(known))
    return [n for n in known if (not kinds or measure(n).kind in kinds) and not measure(n).of]


def mechanisms_of(results: Results, data: str) -> list[str]:
    """Return the mechanisms with rows of a data set, in their order."""
    names = {r.mechanism for r in results.rows if r.data == data}
    return list(dict.fromkeys(c.mechanism for c in configurations(results).values() if c.mechanism in names))


def baseline(results: Results, data: str, metric: str) -> Row | None:
    """Return the row of the unprotected text."""
    return _first(results.rows, mechanism=BASELINE, data=data, metric=metric)


def majority(results: Results, data: str, metric: str) -> float | None:
    """Return the score of the majority class, if the metric has one."""
    plain, role = split_judge(metric)[0], measure(metric).kind
    gate = _first(results.gates, data=data, role=role, metric="f1" if role == "privacy" else plain)
    return gate.majority if gate else None


def _first(rows: Iterable[R], **wanted: Any) -> R | None:
    return next((r for r in rows if all(getattr(r, k) == v for k, v in wanted.items())), None)


def command(row: Row | PaperRow) -> str:
    """Return the command that repeats this point, or "" for a paper's number.

    The results name the list of stop words."""
    again = "python -m dptext_core bench run --point"
    return f"{again} {row.point} --data DIR --stopwords FILE" if row.point else ""


# --- series ---------------------------------------------------------------------------------------------------------


def series(
    results: Results, data: str, metric: str, mechanisms: Iterable[str] | None = None, x: str = "epsilon"
) -> list[Series]:
    """Return one series for each configuration, main ones first. mechanisms: only these.

    x: "epsilon" or one of ``HIDDEN``. In the second case, x is that metric at the same configuration, ε and data;
    ``left_out`` counts points without it. Raises ConfigError for another x.
    """
    if x not in ("epsilon", *HIDDEN):
        raise ConfigError(f"x is 'epsilon' or one of {', '.join(map(repr, HIDDEN))}, not {x!r}.")
    n_w, hidden = ({(k, r.epsilon): r.value for k, r in _keyed(results).get((data, name), ())} for name in ("n_w", x))
    wanted = None if mechanisms is None else set(mechanisms)
    points_by_key: dict[str, list[CurvePoint]] = {}
    missing: dict[str, int] = {}
    for k, row in _keyed(results).get((data, metric), ()):
        if wanted is not None and row.mechanism not in wanted:
            continue
        points, measured = points_by_key.setdefault(k, []), n_w.get((k, row.epsilon))
        at = row.epsilon if x == "epsilon" else hidden.get((k, row.epsilon))
        if at is None or row.value is None:
            missing[k] = missing.get(k, 0) + 1
        else:
            points.append(CurvePoint(float(at), float(row.value), row.low, row.high, measured, row))
    all_ = configurations(results)
    return [
        Series(c.label, c.setting, tuple(sorted(points_by_key[k], key=lambda p: p.x)), c.variant, missing.get(k, 0))
        for k, c in all_.items()
        if k in points_by_key
    ]


def main_series(all_series: Sequence[Series]) -> list[Series]:
    """Return one series for each mechanism (and paper): with its default options, or else with the most points."""
    best: dict[tuple[str, str], Series] = {}
    for s in all_series:
        k = (s.mechanism, s.paper.partition(",")[0])
        best[k] = max(best.get(k, s), s, key=lambda one: (not one.setting.options and not one.paper, len(one.points)))
    return list(best.values())


def paper_series(
    data: str, metric: str, mechanisms: Iterable[str] | None = None, ours: Sequence[Series] = ()
) -> list[Series]:
    """Return the papers' results over ε in this project's units: one series for each table and configuration.

    The label names a corresponding data set of the paper (``KIN``). ours: a series takes the variant of the one
    that matches best. Excluded are rows without a value or a positive ε, values that are only bounds, and series
    that repeat another table's.
    """
    wanted = None if mechanisms is None else set(mechanisms)
    points_by_key: dict[tuple[str, ...], list[tuple[CurvePoint, PaperRow]]] = {}
    kin = KIN.get(data, ()) if measure(metric).kind in ("gain", "similarity") else ()
    for name in (data, *kin):
        for row in paper_rows(name, None, metric):
            if row.mechanism == BASELINE or (wanted is not None and row.mechanism not in wanted):
                continue
            if row.value is None or not row.epsilon or "more than" in row.note:
                continue
            point = CurvePoint(float(row.epsilon), row.value * row.scale, None, None, None, row)
            points_by_key.setdefault((row.paper, row.table, name, row.setting.key()), []).append((point, row))
    out: list[Series] = []
    earlier = set()
    for (paper, table, name, k), rows in points_by_key.items():
        points = tuple(sorted((p for p, _ in rows), key=lambda p: p.x))
        same = (paper, name, k, tuple((p.x, p.value) for p in points))
        if same in earlier:
            continue
        earlier.add(same)
        first = rows[0][1]
        parts = [title(first.mechanism), describe(first.options, first.mechanism), "" if name == data else f"on {name}"]
        label = ", ".join(filter(None, parts))
        variant = _variant(first, ours)
        about = f"{paper}, {table}"
        out.append(Series(label, first.setting.at(None), points, variant, 0, about, first.caption))
    return out


def _variant(row: PaperRow, ours: Sequence[Series]) -> int:
    """Return the variant of our series that matches a paper's row best, else 0."""
    same = [s for s in ours if s.mechanism == row.mechanism]
    return min(same, key=lambda s: (_disagreements(s, row.options), s.variant)).variant if same else 0


def _plain(value: Any) -> Any:
    """Normalise an option so that equivalent values are equal: resolve names of lists, and turn lists into tuples."""
    if isinstance(value, list | tuple):
        names = tuple(value)
        return CONFIGURATIONS.get(names[0], names) if len(names) == 1 else names
    return value


def _disagreements(series: Series, options: Mapping[str, Any]) -> int:
    return sum(k in options and _plain(options[k]) != _plain(v) for k, v in series.options.items())


def differences(series: Series, setting: Setting) -> list[str]:
    """Return how a user's setting differs from a series, as text. Omitted options have their defaults."""
    try:
        defaults, have = Setting(setting.mechanism).full(), setting.full()
    except ConfigError:
        defaults, have = {}, dict(setting.options)
    other = {k: v for k, v in series.options.items() if _plain(have.get(k)) != _plain(v)}
    ignored = (*series.options, "recase", "stopwords")
    more = [k for k, v in setting.options.items() if k not in ignored and _plain(v) != _plain(defaults.get(k))]
    return [describe({k: v}, series.mechanism) for k, v in other.items()] + [f"{k} at its default" for k in more]


def nearest_series(
    results: Results,
    setting: Setting,
    data: str = "sst2",
    metric: str = "accuracy",
    x: str = "epsilon",
) -> list[Series]:
    """Return the series of a mechanism that differ least from a user's setting (see ``differences``)."""
    candidates = [s for s in series(results, data, metric, [setting.mechanism], x) if s.points]
    least = min((len(differences(s, setting)) for s in candidates), default=0)
    return [s for s in candidates if len(differences(s, setting)) == least]


# --- the plane ------------------------------------------------------------------------------------------------------


def plane(
    results: Results, data: str, utility: str, privacy: str, mechanisms: Iterable[str] | None = None
) -> list[Spot]:
    """Return every setting that has both metrics, in order of its series."""
    chosen = None if mechanisms is None else list(mechanisms)
    return _spots(series(results, data, utility, chosen), series(results, data, privacy, chosen))


def paper_plane(
    data: str, utility: str, privacy: str, mechanisms: Iterable[str] | None = None, ours: Sequence[Series] = ()
) -> list[Spot]:
    """Return the papers' settings that have both metrics in one table and data set."""
    chosen = None if mechanisms is None else list(mechanisms)
    return _spots(paper_series(data, utility, chosen, ours), paper_series(data, privacy, chosen, ours))


def _spots(ys: Sequence[Series], xs: Sequence[Series]) -> list[Spot]:
    def at(s: Series, p: CurvePoint) -> tuple:
        return (p.row.setting, p.row.data, s.paper)

    others = {at(s, p): p for s in xs for p in s.points}
    return [
        Spot(s.label, s.mechanism, s.variant, others[at(s, p)], p, s.paper)
        for s in ys
        for p in s.points
        if at(s, p) in others
    ]


# --- tables ---------------------------------------------------------------------------------------------------------


def table(all_series: Sequence[Series]) -> list[Shown]:
    """Return one row per point: its setting, its value with the interval, and the command that repeats it."""
    return [
        {
            "source": s.paper or "ours",
            "series": s.label,
            "ε": p.row.epsilon,
            "ε counts": accounting_unit(s.mechanism),
            "N_w": p.n_w,
            "data": p.row.data,
            "metric": p.row.metric,
            "value": p.value,
            "low": p.low,
            "high": p.high,
            "n": p.row.n,
            "seeds": p.row.seeds,
            "point": p.row.point,
            "again": command(p.row),
        }
        for s in all_series
        for p in s.points
    ]


def flat(results: Results) -> list[Shown]:
    """Return all rows with their options as text, for a flat file."""
    shown = [r.to_dict() | {"options": describe(r.options, r.mechanism)} for r in results.rows]
    return [{k: v for k, v in row.items() if k not in ("runs", "texts")} for row in shown]


def score_text(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a short text of a value with its interval."""
    if value is None:
        return "none"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return with_minus(text if low is None or high is None else f"{text} (95% CI {low:.3g} to {high:.3g})")


def points_at(results: Results, row: Row | PaperRow) -> dict[str, str]:
    """Return titles and values of all measures of a row's setting, at its ε and on its data."""
    wanted = row.setting.key()
    same = [
        r
        for (data, _), rows in _keyed(results).items()
        if data == row.data
        for k, r in rows
        if r.epsilon == row.epsilon and k == wanted
    ]
    values = {r.metric: score_text(r.value, r.low, r.high) for r in same if r.value is not None}
    return {measure(m).title: values[m] for m in metrics_of(results, row.data) if m in values}


def name_of(point: CurvePoint, label: str) -> str:
    """Return the label of a point: its series and its ε."""
    return f"{label}, ε = {number(float(point.row.epsilon or 0))}"
