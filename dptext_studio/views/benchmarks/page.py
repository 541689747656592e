"""Benchmarks: measured utility and privacy of each mechanism, next to the papers' numbers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.measure.metrics import measure
from dptext_core.mechanisms import recommended
from dptext_core.support.checks import pluralize
from dptext_core.text.cells import to_csv
from dptext_lab.results import attacker_rows, curves
from dptext_lab.results import summary as results

from ...components import download, links, methods_panel
from ...components.shell import enter_app
from ...components.sticky_widgets import stay
from ...components.style import add_style
from ...components.tables import table
from ...components.text import literal
from ...figures import benchmarks as figures
from ...figures.metric_titles import metric_title
from .authors import authors_note
from .certainty import anonymisers_note, certainty_note
from .memory import memory_note
from .total_budget import total_budget_note

#: The mechanisms that are shown at first, if they were measured.
MOST = 6
VIEWS = ("Curves", "Plane", "Table")
#: Columns of the table in order of importance: a narrow table is cut at its right end.
COLUMNS = (
    *("series", "ε", "metric", "value", "low", "high", "N_w"),
    *("n", "seeds", "source", "data", "ε counts", "point"),
)
KEPT = ("utility", "similarity", "speed", "other")
HIDDEN = ("privacy", "deniability", "gain")
SEEDED = "Each run used a seed so that measurements can be repeated. Seeded texts are not private."

state = st.session_state


def data_controls(found: results.Results) -> tuple[str, list[str]]:
    """Show the data sets and the mechanisms."""
    titles = curves.data_sets(found)
    left, right = st.columns([1, 2.4], gap="medium")
    data = left.selectbox("Data set", list(titles), format_func=titles.__getitem__, key=stay("bench_data"))
    there = curves.mechanisms_of(found, data)
    first = [m for m in (*recommended.ORDER, *there) if m in there]
    chosen = right.multiselect(
        "Mechanisms",
        there,
        default=list(dict.fromkeys(first))[:MOST],
        format_func=curves.title,
        key=stay(f"bench_mechanisms_{data}"),
    )
    return data, chosen


def switch(place: Any, label: str, key: str, first: bool, shown: bool, **more: Any) -> bool:
    """Show a switch if it has an effect. Otherwise it is hidden and keeps its value."""
    stay(key, first)
    return place.toggle(label, key=key, **more) if shown else bool(state[key])


def switches(place: Any, found: results.Results, data: str, metrics: list[str], x: str, names: list[str], plane: bool):
    """Return whether all configurations are shown, and whether the papers' numbers are."""
    every = [curves.series(found, data, m, names, x) for m in metrics]
    more = any(len(curves.main_series(s)) < len(s) for s in every)
    if plane:
        printed = len(metrics) == 2 and bool(curves.paper_plane(data, metrics[0], metrics[1], names))
    else:
        printed = x == "epsilon" and any(curves.paper_series(data, m, names) for m in metrics)
    papers = switch(
        place,
        "The papers' numbers",
        "bench_papers",
        True,
        printed,
        help="Hollow marks with dotted lines are the papers' numbers.",
    )
    everything = switch(
        place,
        "All configurations",
        "bench_all",
        False,
        more,
        help="When this is off, each mechanism is shown with its most frequently measured options.",
    )
    return everything, papers


def metric_choice(place: Any, found: results.Results, data: str, label: str, kinds: tuple[str, ...], key: str) -> str:
    there = curves.metrics_of(found, data, kinds)
    there = [m for m in there if not key.endswith(f"_{m}")]  # N_w over N_w says nothing
    if not there:
        return ""
    symbols = {
        "n_w": "N_w is the probability that a word is unchanged.",
        "s_w": "S_w is the expected number of different words in 100 draws.",
    }
    help_text = " ".join(symbols[m] for m in there if m in symbols)
    return place.selectbox(label, there, format_func=metric_title, key=stay(key), help=help_text or None)


def across(data: str, alike: list[str], mixed: bool) -> str:
    """Show the choice of the horizontal axis: ε, or a measure that can be equal for all."""
    # Two texts were measured at some points only, so they are no axis.
    few = {"n_w", attacker_rows.TWO_TEXTS}
    attackers = sorted((m for m in alike if m not in few), key=lambda m: m != attacker_rows.BEST_FEW)
    axes = (["Same attacker"] if attackers else []) + (["Same N_w"] if "n_w" in alike else []) + ["ε"]
    first = axes[0] if mixed else "ε"
    picked = st.segmented_control(
        "Horizontal axis",
        axes,
        default=first,
        required=True,
        key=stay(f"bench_x_{data}_{mixed}"),
        help="What the axis shows: how often the chosen attacker succeeds, the probability that a word is unchanged "
        "(N_w), or ε. The same ε is not the same privacy, because mechanisms have different units.",
    )
    if picked != "Same attacker":
        return {"Same N_w": "n_w", "ε": "epsilon"}[picked]
    return st.selectbox(
        "Attacker",
        attackers,
        format_func=metric_title,
        key=stay(f"bench_attacker_{data}"),
        help="The default is the strongest attacker that was measured at every point. The contextual Bayes attacker is "
        "excluded; “What is measured” describes the others.",
    )


def choose_point(key: str) -> None:
    """Choose the point of the mark that was clicked."""
    for point in state[key].selection.points:
        if named := (point.get("customdata") or [""])[0]:
            state.bench_point = named


def choose_row(points: list[str]) -> None:
    rows = state.bench_table.selection.rows
    if rows and points[rows[0]]:
        state.bench_point = points[rows[0]]


def draw(place: Any, figure: Any, key: str, alt: str) -> None:
    config = {
        "displaylogo": False,
        "toImageButtonOptions": {"format": state.get("bench_picture", "SVG").lower(), "filename": key},
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
    }
    place.plotly_chart(
        figure,
        theme=None,
        config=config,
        key=key,
        on_select=lambda: choose_point(key),
        selection_mode="points",
        alt=alt,
    )


def over_budget(
    found: results.Results, data: str, metric: str, x: str, names: list[str], every: bool, papers: bool
) -> tuple[list[curves.Series], list[curves.Series]]:
    """Return our series and the papers' that are shown for a metric."""
    all_ = curves.series(found, data, metric, names, x)
    ours = all_ if every else curves.main_series(all_)
    if not papers or x != "epsilon":
        return ours, []
    printed = curves.paper_series(data, metric, names, ours)
    return ours, printed if every else curves.main_series(printed)


def chart(place: Any, found: results.Results, data: str, metric: str, x: str, ours: list, printed: list) -> None:
    if not any(s.points for s in [*ours, *printed]):
        place.info("There are no measurements for this choice. Choose another metric, or more mechanisms.")
        return
    whole = curves.baseline(found, data, metric)
    guess = curves.majority(found, data, metric)
    figure = figures.panels(
        ours,
        printed,
        metric,
        x,
        baseline=whole.value if whole else None,
        majority=guess,
        chosen=state.get("bench_point") or "",
        dark=st.context.theme.type == "dark",
    )
    alt = f"{metric_title(metric)} over {x}, one panel per mechanism; the Table view has the numbers"
    draw(place, figure, f"benchmark_{data}_{metric}_{x}", alt)
    marks = ["Grey: the other mechanisms." if len({s.mechanism for s in ours}) > 1 else ""]
    marks += ["Hollow: the papers." if any(s.points for s in printed) else ""]
    marks += ["" if whole is None else f"Dashed: unprotected text, {curves.score_text(whole.value)}."]
    marks += ["" if guess is None else f"Dotted: always guessing, {curves.score_text(guess)}."]
    if message := " ".join(filter(None, marks)):
        place.caption(message)
    if left_out := [s for s in ours if s.num_omitted]:
        named = ", ".join(dict.fromkeys(curves.title(s.mechanism) for s in left_out))
        points = sum(s.num_omitted for s in left_out)
        place.caption(literal(f"Not measured on this axis: {pluralize(points, 'point')} ({named})."))


def plane(found: results.Results, data: str, metrics: tuple[str, str], names: list[str], every: bool, papers: bool):
    """Show the utility-privacy plot and its points."""
    utility, privacy = metrics
    ours, _ = over_budget(found, data, utility, "epsilon", names, every, False)
    shown = {s.label for s in ours}
    spots = [s for s in curves.plane(found, data, utility, privacy, names) if s.label in shown]
    printed = curves.paper_plane(data, utility, privacy, names, ours) if papers else []
    if not spots and not printed:
        st.info("No setting has both of these metrics. Change one metric.")
        return
    whole = curves.baseline(found, data, utility)
    figure = figures.plane(
        spots,
        printed,
        utility,
        privacy,
        baseline=whole.value if whole else None,
        chosen=state.get("bench_point") or "",
        dark=st.context.theme.type == "dark",
    )
    alt = " over ".join(map(metric_title, metrics))
    draw(st, figure, f"plane_{data}_{utility}_{privacy}", f"{alt}; the Table view has the numbers")
    st.caption("The Pareto front compares means. Settings with overlapping intervals may not differ significantly.")


def card(found: results.Results, ours: list[curves.Series]) -> None:
    """Show the chosen point: its measurements, how to repeat them, and a link to Explore."""
    known = {p.row.point: (curves.name_of(p, s.label), p.row) for s in ours for p in s.points}
    if state.get("bench_point") not in known:
        state.bench_point = None
    point = st.selectbox(
        "Point",
        list(known),
        index=None,
        format_func=lambda i: known[i][0],
        key="bench_point",
        placeholder="Click a mark or choose a point",
    )
    if point is None:
        st.caption("Its measurements appear here.")
        return
    row = known[point][1]
    values = ((name, *value.partition(" ")[::2]) for name, value in curves.points_at(found, row).items())
    lines = [f"**{value}** {literal(name)} :small[{literal(interval)}]" for name, value, interval in values]
    if best := attacker_rows.strongest_at(found, row):
        lines.append(f"Strongest of these attackers: **{literal(best)}**")
    st.markdown("  \n".join(lines))
    if row.mechanism in {s.name for s in dpt.mechanisms()}:
        st.button(
            "Open in Explore",
            icon=":material/edit_note:",
            key="bench_open",
            on_click=lambda: state.update(bench_opened=point),
        )
    st.caption("To repeat the measurement:")
    st.code(curves.command(row), language="sh", wrap_lines=True)


def open_point(found: results.Results) -> None:
    """Go to Explore with the setting of the chosen point.

    This runs before anything is drawn: it is fast, and a run that a second event of a chart interrupts then loses no
    press.
    """
    row = next((r for r in found.rows if r.point == state.bench_opened), None)
    try:
        query = links.to_query(row.setting) if row is not None else {}
    except dpt.ConfigError as error:  # measured by another version, or with a plugin
        st.error(literal(str(error)))
        query = {}
    del state.bench_opened
    if query:
        st.switch_page("pages/explore.py", query_params=query)


def downloads(found: results.Results, rows: list[dict], pictures: bool) -> None:
    with st.popover("Download", icon=":material/download:"):
        csv, plain = "text/csv", "application/json"
        # Each is made on request.
        for label, make, name, kind in (
            ("Current view (CSV)", lambda: to_csv(rows), "shown.csv", csv),
            ("All results (CSV)", lambda: to_csv(curves.flat(found)), "benchmarks.csv", csv),
            ("All results (JSON)", lambda: json.dumps(found.to_dict(), ensure_ascii=False), "benchmarks.json", plain),
        ):
            download.button(
                label, make, name, kind, on_click="ignore", width="stretch", key=f"bench_{name}", holds="nothing"
            )
        if pictures:
            st.segmented_control("Pictures", ["SVG", "PNG"], default="SVG", required=True, key="bench_picture")
            st.caption("The camera icon above a chart saves it as an image.")


def uses_of(shown: Sequence[curves.Series]) -> methods_panel.Uses:
    """Return each displayed setting with its measured values of ε."""
    measured: dict[dpt.Setting, set[float]] = {}
    for one in (series for series in shown if series.points):
        measured.setdefault(one.setting.at(None), set()).update(point.row.epsilon for point in one.points)
    uses = []
    for setting, epsilons in measured.items():
        with contextlib.suppress(dpt.ConfigError):  # measured by another version, or with a plugin
            uses.append((setting.at(max(epsilons)).make(), sorted(epsilons)))
    return uses


def notes(found: results.Results, data: str, shown: list[curves.Series]) -> None:
    """Show what was measured, what was not, and how, with remarks on the papers' tables that are shown."""
    with st.expander("What is measured"):
        for name in curves.metrics_of(found, data):
            m = measure(name)
            better = {1: " More is better.", -1: " Less is better.", 0: ""}[m.better]
            judge = f" Measured by {m.judge}." if m.judge else ""
            st.markdown(f"**{literal(metric_title(name))}**: {literal(m.about + better + judge)}")
        st.markdown(
            "Bars are 95% intervals over test texts and seeds; each seed uses different training texts. Speed "
            "bars show the minimum and maximum over seeds. N_w, S_w, the Bayes-optimal guess and the 100 answers are "
            "computed once per setting from exact probabilities; their bars are over words. If stop words are kept, "
            "more of a text is unchanged than N_w shows. Utility: a classifier is trained and tested on rewritten "
            "texts. *Static*: the attacker was trained on original texts; *adaptive*: on rewritten ones."
        )
    if tables := {s.paper: s.about for s in shown if s.paper}:
        with st.expander("The papers' tables"):
            for paper, caption in tables.items():
                st.markdown(f"**{literal(paper)}.** {literal(caption)}")
    out = [g for g in found.gates if not g.enters]
    if out:
        with st.expander("Excluded tasks"):
            st.markdown(
                "On these tasks, our classifier does not beat guessing the most frequent class by three standard "
                "errors, even on unprotected text. These tasks cannot show how much utility a mechanism loses."
            )
            table([{k: v for k, v in g.to_dict().items() if k != "enters"} for g in out])
    with st.expander("How it was measured"):
        about, sets = found.about, found.about.get("data", {})
        if about.get("cut"):
            st.markdown("**Not in the grid:** " + literal(about["cut"]))
        if missing := about.get("missing"):
            text = "; ".join(f"{setting}: {pluralize(n, 'point')}" for setting, n in missing.items())
            st.markdown("**Not measured yet:** " + literal(f"{text}."))
        named = ("command", "stopwords", "version", "machine", "device", "finished", "seeds", "points", "core_minutes")
        table({"what": [k for k in named if k in about], "value": [str(about[k]) for k in named if k in about]})
        table([{"data": name, **entry} for name, entry in sets.items()])


def result_table(place: Any, rows: list[dict[str, Any]]) -> None:
    """Show all points as rows; a click on one opens it."""
    points = [r["point"] for r in rows]
    table(
        [{k: r[k] for k in COLUMNS} for r in rows],
        place,
        key="bench_table",
        on_select=lambda: choose_row(points),
        selection_mode="single-row",
    )


def captions(data: str, names: list[str], kept: str, x: str, ours: Sequence[curves.Series]) -> None:
    """Show what the chart contains and what cannot be compared. ``ours``: empty if all configurations are shown."""
    named = dict.fromkeys(s.label for s in ours if s.label != curves.title(s.mechanism))
    if named:
        st.caption(literal(f"This view shows {'; '.join(named)}. The others are under “All configurations”."))
    if len(curves.units(names)) > 1:
        st.caption(literal(curves.units_note(names)))
    if note := results.other_model():
        st.caption(note)
    if x != "epsilon":
        st.caption(
            "N_w and the attackers count content words, including kept unknown words. SanText and CusText (main "
            "results) also replace stop words; the others keep them."
        )
    if x != "epsilon" and curves.paper_series(data, kept, names):
        st.caption("The papers do not report this measure. Select the ε axis to see their results.")


def main() -> None:
    st.markdown("## Benchmarks")
    st.caption("Utility and privacy of each mechanism, as we measured them and as the papers report them.")
    try:
        shown_results = results.displayed_results()
        shown_results = None if shown_results is None else attacker_rows.with_attackers(shown_results)
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return
    if shown_results is None or not shown_results.rows:
        st.info(
            "There are no results yet. `python -m dptext_core bench run --grid quick --out points.jsonl` measures a "
            "few points in a minute; `--grid full --data DIR` measures all. Then `python -m dptext_core bench run "
            "--grid quick --merge points.jsonl --summary assets/benchmarks/results.json` puts them on this page."
        )
        return
    if "bench_opened" in state:
        open_point(shown_results)
    add_style(__file__, "page.css")
    anonymisers_note()
    certainty_note()
    total_budget_note()
    authors_note()
    memory_note()
    st.markdown("### Every mechanism at every ε")
    data, names = data_controls(shown_results)
    mixed = len(curves.units(names)) > 1
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        view = st.segmented_control("View", VIEWS, default=VIEWS[0], required=True, key=stay("bench_view"))
        x = "epsilon"
        if view == "Curves" and (alike := [m for m in curves.metrics_of(shown_results, data) if m in curves.HIDDEN]):
            x = across(data, alike, mixed)
        files = st.container(width="content", horizontal=True)
    bar = st.container(horizontal=True)
    wide, narrow = st.columns([2.6, 1], gap="large")
    left, right = wide.columns(2, gap="medium")
    kinds = tuple(k for k in HIDDEN if view != "Plane" or k != "gain")
    utility = metric_choice(left, shown_results, data, "Utility", KEPT, f"bench_kept_{data}")
    hidden = metric_choice(right, shown_results, data, "Privacy", kinds, f"bench_hidden_{data}_{view}_{x}")
    every, papers = switches(bar, shown_results, data, [m for m in (utility, hidden) if m], x, names, view == "Plane")
    shown = [over_budget(shown_results, data, m, x, names, every, papers) for m in (utility, hidden) if m]
    ours = [s for pair in shown for s in pair[0]]
    rows = curves.table([s for pair in shown for both in pair for s in both])
    with files:
        downloads(shown_results, rows, view != "Table")
        methods_panel.popover(lambda: uses_of(ours), "bench_methods", SEEDED)
    if not rows:
        wide.info("There are no measurements for this choice. Choose another data set, or more mechanisms.")
    elif view == "Curves":
        for place, m, (mine, printed) in zip((left, right), filter(None, (utility, hidden)), shown, strict=False):
            chart(place, shown_results, data, m, x, mine, printed)
    elif view == "Plane":
        with wide:
            plane(shown_results, data, (utility, hidden), names, every, papers)
    else:
        result_table(wide, rows)
    with narrow, st.container(key="bench_card", border=True):
        card(shown_results, ours)
    captions(data, names, utility, x, [] if every else ours)
    notes(shown_results, data, [s for pair in shown for s in pair[1]])


def render() -> None:
    """Draw the page."""
    enter_app("benchmarks")
    main()
