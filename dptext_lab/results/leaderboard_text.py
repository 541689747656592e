"""Leaderboards as sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.registry import mechanisms
from dptext_core.privacy.numbers import with_minus

from .conditions import UNKNOWN_WORDS
from .differences import POWER, size_text
from .latex import tabular
from .leaderboard import Board, BoardEntry, Rows, board
from .measurement import markdown


def score_text(value: float, metric: str) -> str:
    return with_minus(f"{value:{measure(metric).digits}}")


def with_interval(entry: BoardEntry, metric: str) -> str:
    if entry.low is None or entry.high is None:
        return score_text(entry.value, metric)
    return f"{score_text(entry.value, metric)} ± {score_text((entry.high - entry.low) / 2, metric)}"


#: Descriptions of privacy levels.
_LEVELS = {
    "attack_best": "the strongest attacker recovers {}% of the replaced words",
    "belief": "the optimal reader is {}% certain of a word",
    "attack_best_few": "the strongest of three attackers (same word, Bayes-optimal, language model) recovers {}% of "
    "the replaced words",
    "attack_two_texts": "{}% of rewrites are distinguished from those of a text with one word changed",
    "attack_reader": "a contextual Bayes attacker recovers {}% of the replaced words",
    "n_w": "{}% of the sampled words are unchanged",
    "attack_bayes": "the Bayes-optimal guess is right for {}% of the replaced words",
    "attack_nearest": "{}% of originals are among the ten words nearest the released word",
    "attack_mask": "a language model recovers {}% of the replaced words",
    "attack_query": "100 answers of the mechanism reveal {}% of the replaced words",
}


def level_text(privacy: str, at: float) -> str:
    """Return a description of a privacy level."""
    if privacy in _LEVELS:
        return _LEVELS[privacy].format(round(100 * at))
    if privacy == "s_w":
        return f"100 samples of a word give {at:g} different words"
    return f"{measure(privacy).title} is {score_text(at, privacy)}"


def join_names(names: Sequence[str], among: Sequence[str] = ()) -> str:
    """Join names by commas, or by semicolons if one of them (or of ``among``) contains a comma."""
    return ("; " if any("," in name for name in (*names, *among)) else ", ").join(names)


def _beaten_text(n: int) -> str:
    return "1 other is significantly worse" if n == 1 else f"{n} others are significantly worse"


def answer(ranking: Board, title_of_data: str) -> tuple[str, str]:
    """Return a sentence on the first setting, and sentences on its uncertainty."""
    first = ranking.first
    where = f"When {level_text(ranking.privacy, ranking.at)}"
    if first is None and ranking.omitted_names:
        off = "Choose another level or judge, or measure more ε."
        return f"{where}, no setting has a measured point near this level on {title_of_data}.", off
    if first is None:
        return f"{where}, no setting was measured on {title_of_data}.", "Choose another level or judge."
    if not ranking.entries[1:]:
        return f"{where}, only {first.label} was measured on {title_of_data}.", "There is nothing to compare it with."
    name = measure(ranking.judge).title
    score = f"{name[0].lower() + name[1:] if not name[:2].isupper() else name} {with_interval(first, ranking.judge)}"
    margin = "" if ranking.whole is None else f". Without rewriting: {score_text(ranking.whole.value, ranking.judge)}"
    nothing = {spec.name for spec in mechanisms() if spec.notion == "none"}
    bare = ", which has no guarantee," if first.mechanism in nothing else ""
    does, lead = ("is first", ", without a significant lead") if ranking.together else ("preserves the most", "")
    sentence = f"{where}, {first.label}{bare} {does} on {title_of_data}{lead}: {score}{margin}."
    return sentence, " ".join(filter(None, (significance_text(ranking), power_text(ranking))))


def significance_text(ranking: Board) -> str:
    """Return sentences on which settings differ significantly from the first; "" if there is nothing to compare."""
    first, near = ranking.first, ranking.together
    if first is None or not ranking.entries[1:]:
        return ""
    beaten = [e for e in ranking.entries[1:] if e.is_significant]
    if ranking.detectable is None:
        one_seed = all(e.seeds == 1 for e in ranking.entries)
        unknown = "spread over seeds" if one_seed else "error of the privacy level"
        return f"The {unknown} is unknown here, so no difference is called significant."
    if not near:
        return f"{_beaten_text(len(beaten))}."
    some = [e.label for e in near[:3]] + ([f"{len(near) - 3} more"] if len(near) > 3 else [])
    names = some[0] if len(some) == 1 else f"{join_names(some[:-1], among=some)} and {some[-1]}"
    beaten_too = f" {_beaten_text(len(beaten))}." if beaten else ""
    return f"{first.label} is not significantly different from {names}.{beaten_too}"


def power_text(ranking: Board) -> str:
    """Return sentences on the detectable difference, interpolated values and S_w; "" if there is nothing to compare."""
    first = ranking.first
    if first is None or not ranking.entries[1:]:
        return ""
    said = []
    if ranking.detectable is not None:
        size = size_text(ranking.detectable, ranking.judge)
        said.append(f"A difference of {size} is detected with {POWER:.0%} power.")
    if between := [e for e in ranking.entries if e.between]:
        verb = "is" if len(between) == 1 else "are"
        said.append(f"{len(between)} of {len(ranking.entries)} values {verb} interpolated between two measured points.")
    if first.different_words is not None and (
        others := [e for e in ranking.entries[1:] if e.different_words is not None]
    ):
        second = others[0]
        said.append(
            f"Another aspect of privacy: 100 samples of a word give {first.different_words:.0f} different words with "
            f"{first.label}, and {second.different_words:.0f} with {second.label}."
        )
    return " ".join(said)


def _alike(rows: Rows, ranking: Board, judge: str, privacy: str, at: float) -> Board:
    """Return the board of the same settings by another judge or privacy metric."""
    ways = ranking.stop_words, ranking.every, ranking.unknown_words
    return board(rows, ranking.data, judge, privacy, at, *ways)


def other_judges(rows: Rows, ranking: Board) -> list[tuple[str, str]]:
    """Return (judge, its first setting) for every other judge with at least half of the settings, at the same
    privacy."""
    out = []
    for judge in rows.judges(ranking.data):
        if judge != ranking.judge:
            other = _alike(rows, ranking, judge, ranking.privacy, ranking.at)
            both = {e.setting for e in other.entries} & {e.setting for e in ranking.entries}
            if other.first is not None and len(both) > 1 and 2 * len(both) >= len(ranking.entries):
                out.append((measure(judge).title, other.first.label))
    return out


def unknown_words_text(ranking: Board) -> str:
    """Return a sentence on unknown words if the settings of a board treat them differently, else ""."""
    registered = {spec.name for spec in mechanisms()}
    groups: dict[str, list[str]] = {}
    for e in ranking.entries:
        is_stated = e.unknown_words or e.mechanism in registered
        how = UNKNOWN_WORDS.get(e.unknown_words, e.unknown_words) if is_stated else "not stated"
        groups.setdefault(how, []).append(e.label)
    if len(groups) < 2:
        return ""
    parts = [f"{how} ({join_names(names)})" for how, names in groups.items()]
    return f"Unknown words: {'; '.join(parts)}."


def refused_text(ranking: Board) -> str:
    """Return a sentence on settings that are not compared, with the reason, or ""."""
    return f"Not compared: {'; '.join(ranking.refused)}." if ranking.refused else ""


def agreement(rows: Rows, ranking: Board) -> str:
    """Return a sentence on how many other judges rank the same setting first, or ""."""
    first, others = ranking.first, other_judges(rows, ranking)
    if first is None or not others:
        return ""
    same = sum(name == first.label for _, name in others)
    if same == len(others):
        return f"All {same} other utility metrics rank it first too." if same > 1 else "The other metric agrees."
    if not same:
        return "No other utility metric ranks it first."
    return f"{same} of {len(others)} other utility metrics {'ranks' if same == 1 else 'rank'} it first too."


def seeds_text(ranking: Board) -> str:
    """Return a sentence on how many settings have one seed, or ""."""
    once = sum(e.seeds == 1 for e in ranking.entries)
    return f"{once} of {len(ranking.entries)} settings have one seed." if once > 1 else ""


def first_by_judge(rows: Rows, ranking: Board) -> str:
    """Return a sentence on which setting each other judge ranks first, or ""."""
    named: dict[str, list[str]] = {}
    for judge, name in other_judges(rows, ranking):
        named.setdefault(name, []).append(judge)
    return f"First: {'; '.join(f'{name} ({join_names(judges)})' for name, judges in named.items())}." if named else ""


def rankings(rows: Rows, ranking: Board) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Return each setting's rank by every judge at the same privacy, and Kendall's τ-b of each judge with the board's.

    The correlation is over the settings that both judges have, if there are at least three.
    """
    from scipy.stats import kendalltau

    boards = {ranking.judge: ranking} | {
        judge: _alike(rows, ranking, judge, ranking.privacy, ranking.at)
        for judge in rows.judges(ranking.data)
        if judge != ranking.judge
    }
    alike, ranks_own = {}, {e.setting: measure(ranking.judge).better * e.value for e in ranking.entries}
    shared = {j: [e for e in b.entries if e.setting in ranks_own] for j, b in boards.items()}
    places = {
        measure(j).title: {e.setting: place for place, e in enumerate(some, 1)} for j, some in shared.items() if some
    }
    table = [{"mechanism": e.label} | {t: by.get(e.setting) for t, by in places.items()} for e in ranking.entries]
    for judge, some in shared.items():
        values = {e.setting: measure(judge).better * e.value for e in some}
        if judge != ranking.judge and len(values) > 2:
            tau = float(kendalltau([ranks_own[k] for k in values], list(values.values())).statistic)
            if math.isfinite(tau):
                alike[measure(judge).title] = tau
    return table, alike


def correlation_text(ranking: Board, alike: Mapping[str, float]) -> str:
    """Return a sentence on the rank correlations, or ""."""
    if not alike:
        return ""
    others = join_names([with_minus(f"{name} {tau:+.2f}") for name, tau in alike.items()])
    return (
        f"Rank correlation (Kendall's τ) with {measure(ranking.judge).title}: {others}. 1 is the same order, 0 no "
        "common order."
    )


def elsewhere(rows: Rows, ranking: Board) -> tuple[tuple[str, Board], ...]:
    """Return a sentence and its board for each other privacy metric that ranks another mechanism first.

    Only boards with at least half as many settings count."""
    out = []
    for privacy in rows.measures(ranking.data):
        steps = rows.levels(ranking.data, privacy)
        if privacy == ranking.privacy or ranking.first is None:
            continue
        other = _alike(rows, ranking, ranking.judge, privacy, steps[1])
        few = len(other.entries) < 2 or 2 * len(other.entries) < len(ranking.entries)
        if few or other.first is None or other.first.mechanism == ranking.first.mechanism:
            continue
        beaten = [e.is_significant for e in other.entries if e.mechanism == ranking.first.mechanism]
        sure = "significantly" if beaten and all(beaten) else "not significantly"
        why = "" if beaten else f" ({ranking.first.label} has no point there)"
        out.append((f"When {level_text(privacy, steps[1])}, {other.first.label} is first, {sure} ahead{why}.", other))
    return tuple(out)


def table(ranking: Board) -> list[dict[str, Any]]:
    """Return one row per setting, for a file."""
    return [
        {
            "place": e.place,
            "mechanism": e.label,
            "data": ranking.data,
            "judge": ranking.judge,
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "privacy": ranking.privacy,
            "at": ranking.at,
            "measured": e.privacy,
            "epsilon": None if e.between else e.epsilon,
            "between": " and ".join(f"{x:g}" for x in e.between),
            "p against the first (Tukey)": e.p,
            "significantly different from the first": e.is_significant,
            "unknown words": e.unknown_words,
            "n": e.n,
            "seeds": e.seeds,
            "point": e.point,
        }
        | ({"strongest attacker": e.strongest} if e.strongest else {})
        for e in ranking.entries
    ]


def display_rows(ranking: Board) -> list[dict[str, Any]]:
    """Return one row per setting for display, without empty columns."""
    table = [
        {
            "place": e.place,
            "mechanism": e.label,
            measure(ranking.judge).title: with_interval(e, ranking.judge),
            "ε": " to ".join(f"{x:g}" for x in e.between) or f"{e.epsilon:g}",
            measure(ranking.privacy).title: e.privacy,
            "different words in 100 draws": e.different_words,
            "p against the first": None if e.p is None else p_text(e),
            "significantly less": None if e.p is None else "yes" if e.is_significant else "no",
            "unknown words": UNKNOWN_WORDS.get(e.unknown_words, e.unknown_words),
            "texts": e.n,
            "seeds": e.seeds,
            "point": e.point,
        }
        for e in ranking.entries
    ]
    empty = {k for k in (table[0] if table else ()) if all(line[k] is None for line in table)}
    return [
        {k: _gap(k, e) if v is None else v for k, v in line.items() if k not in empty}
        for e, line in zip(ranking.entries, table, strict=True)
    ]


def p_text(entry: BoardEntry) -> str:
    return "" if entry.p is None else "< 0.001" if entry.p < 0.001 else f"{entry.p:.3f}"


def _gap(column: str, entry: BoardEntry) -> str | None:
    """Return why a cell has no value; None for a plain gap in a column of numbers."""
    if column not in ("p against the first", "significantly less"):
        return None
    return "is the first" if entry.place == 1 else "not tested"


def to_markdown(ranking: Board) -> str:
    """Return the board as a Markdown table."""
    name = measure(ranking.judge).title
    rows = [
        (
            str(e.place),
            e.label,
            with_interval(e, ranking.judge),
            " to ".join(f"{x:g}" for x in e.between) or f"{e.epsilon:g}",
            p_text(e),
            str(e.n),
        )
        for e in ranking.entries
    ]
    return markdown(("", "mechanism", name, "ε", "p against the first", "texts"), rows)


def to_latex(ranking: Board, title_of_data: str) -> str:
    """Return the board as a LaTeX table."""
    name = measure(ranking.judge).title
    columns = (("", "r"), ("Mechanism", "l"), ("ε", "r"), (name, "r"), ("S_w", "r"), ("p", "r"))
    rows = [
        (
            str(e.place),
            e.label,
            " to ".join(f"{x:g}" for x in e.between) or f"{e.epsilon:g}",
            with_interval(e, ranking.judge),
            "" if e.different_words is None else f"{e.different_words:.1f}",
            "" if e.p is None else "<0.001" if e.p < 0.001 else f"{e.p:.3f}",
        )
        for e in ranking.entries
    ]
    caption = (
        f"{name} on {title_of_data} when {level_text(ranking.privacy, ranking.at)}, with 95% intervals. p tests the "
        "difference from the first (Tukey)."
    )
    return tabular(columns, rows, caption, f"tab:{ranking.data}-{ranking.judge}".replace("_", "-"))
