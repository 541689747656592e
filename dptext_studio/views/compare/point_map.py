"""What mechanisms keep of one's own text and what they hide, over ε: points on a map, as they are measured."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.measure import side_by_side, trade_off, trade_off_advice
from dptext_core.measure.trade_off import TradeOffPoint
from dptext_core.measure.trade_off_advice import Advice
from dptext_core.mechanisms import codec, recommended
from dptext_core.privacy.guarantee import bound, number
from dptext_lab.results import curves

from ... import figures
from ...components import address, download, hide, links
from ...components.rewrite_view import payload, rewrite_view
from ...components.shell import beside
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...exports import FILE
from ...figures import to_html
from ...figures.glossary import said_of
from ...server.jobs import LOOK, Work, under_way
from ...server.session import session
from ...server.tried import Tried
from ..explore import share
from . import cards

PAGE = "compare"
state = st.session_state
# plotly looks into what is loaded of it, and would find half of it while a model loads beside the page.
importlib.import_module("pandas")

#: What answers at once comes first.
FIRST = recommended.ORDER[:4]
KEPT = ("cosine", "bleu", "unchanged", "bertscore")
#: Measured with every point, as it costs next to nothing.
CHEAP = ("unchanged", "bleu", "n_w")
HIDDEN = {
    "best": "Best of all attackers",
    "n_w": "Chance of staying (N_w)",
    "bayes": "Best guess of an attacker",
    "two_texts": "Two texts told apart",
    "unchanged": "Words unchanged",
    "epsilon": "ε alone",
}
HIDDEN_HELP = (
    "Best of all attackers: how often the one that finds most names a drawn word; of same word, nearest word, best "
    f"guess, language model and reader, on rewrites of the same text. N_w: {said_of('N_w')} Best guess: how often the "
    "best attacker guesses a drawn word from its replacement. Two texts: how often classifiers tell a rewrite from one "
    "of your text with one other word, for mechanisms that write a new text too; it takes many rewrites a mark. Words "
    f"unchanged: counted in the rewrites, kept words included. ε alone: what is promised. {said_of('ε')}"
)
#: Where the limit begins, in percent.
LIMITS = {"best": 40, "n_w": 30, "bayes": 30, "two_texts": 75, "unchanged": 60}
#: How many ε of each mechanism, and how many draws at each point.
POINTS, DRAWS = (3, 5, 7, 9, 13, 17), (1, 3, 5, 10, 20, 50)
#: Rewrites of a chosen point that are shown beside each other.
SHOWN = 3
#: Seconds between two pictures while points come in (each takes time from the work), and until the first one.
EVERY, FIRST_AFTER = 2.0, 1.2


# --- controls


def follow_link() -> None:
    """Set the controls to what a link asks for, before they are made. The text stays."""
    mine = session()
    query, mine.query = mine.query, None
    if query is not None:
        settings, mine.link_problem = links.several_from_query(query)
        if not mine.link_problem:
            mine.link_problem = follow(settings, query)
    if mine.link_problem:
        st.warning(literal(mine.link_problem))


def follow(settings: list[dpt.Setting], query: Mapping[str, str]) -> str:
    """Set the controls; what is wrong with the link, where something is."""
    found: dict[str, Any] = {}
    for setting in settings:
        name = setting.mechanism
        option, tries = trade_off.second_option(name) or ("", ())
        value = setting.full().get(option)
        begun = recommended.beginning(dpt.Setting(name)).options
        others = {k for k, v in setting.options.items() if k != option and (k not in begun or v != begun[k])}
        if others or (option and value not in tries):
            return f"This link was not followed: this page does not try these options of {curves.title(name)}."
        if option and value not in (values := found.setdefault(f"trade_{name}_{option}", [])):
            values.append(value)
    if settings:
        found["trade_mechanisms"] = list(dict.fromkeys(s.mechanism for s in settings))
    known: dict[str, Sequence[Any]] = {"points": POINTS, "draws": DRAWS, "kept": KEPT, "hidden": list(HIDDEN)}
    known["limit"] = range(1, 100)
    for name, values in known.items():
        if name in query:
            value = next((v for v in values if str(v) == query[name]), None)
            if value is None:
                return f"This link was not followed: {name} is none of what this page offers."
            found[f"trade_{name}"] = value
    if (limit := found.pop("trade_limit", None)) is not None:
        found[f"trade_limit_{found.get('trade_hidden', 'best')}"] = limit
    state.update(found)
    return ""


def query_of(tried: Tried, hidden: str, kept: str) -> dict[str, str]:
    """What the controls are at, as parameters of the address."""
    query = links.several_to_query(tried.settings)
    query |= {"view": "map", "points": str(tried.points), "draws": str(tried.draws), "kept": kept, "hidden": hidden}
    limit = state.get(f"trade_limit_{hidden}")
    return query | ({} if limit is None else {"limit": str(limit)})


def settings_controls() -> tuple[tuple[dpt.Setting, ...], int, int]:
    """The settings, how many ε of each, and how many draws at each."""
    specs = {s.name: s for s in dpt.mechanisms()}
    first = [n for n in FIRST if n in specs]
    names = st.multiselect(
        "Mechanisms",
        list(specs),
        first,
        format_func=lambda n: specs[n].title,
        key=stay("trade_mechanisms", first),
    )
    found: list[dpt.Setting] = []
    with st.expander("More points"):
        points = st.select_slider("ε of each mechanism", POINTS, 7, key=stay("trade_points", 7), help=said_of("ε"))
        draws = st.select_slider(
            "Draws at each point",
            DRAWS,
            5,
            key=stay("trade_draws", 5),
            help="Each is a rewrite with fresh noise. More draws tell more surely which point is better.",
        )
        for name in names:
            values: Sequence[Any] = ()
            if (second := trade_off.second_option(name)) is not None:
                values = second_control(name, *second)
            found += [
                recommended.beginning(dpt.Setting(name, {second[0]: v} if second and v is not None else {}))
                for v in values or (None,)
            ]
    return tuple(found), int(points), int(draws)


def second_control(name: str, option: str, tries: tuple[Any, ...]) -> list[Any]:
    """The values of a second option that are looked at; None for its default."""
    default = dpt.Setting(name).full()[option]
    label = f"{curves.title(name)}: {codec.describe({option: ''}, name).strip(' =:')}"
    chosen = st.multiselect(label, tries, [default], key=stay(f"trade_{name}_{option}", [default]))
    return [None if v == default else v for v in chosen]


# --- the work


def start(tried: Tried) -> None:
    """Measure the points in a thread; they are there one by one."""
    mine = session()
    kept, run = mine.kept, mine.run
    points: list[TradeOffPoint] = []
    mine.points, mine.tried = points, tried

    def work(task: dpt.Task) -> None:
        def prepare(m: dpt.Mechanism) -> dpt.Prepared:
            return kept.prepared(tried.text, m, run, task)

        for point in trade_off.tradeoff(
            tried.text,
            tried.mechanisms(),
            None,
            tried.draws,
            CHEAP,
            points=tried.points,
            prepare=prepare,
            task=task,
        ):
            points.append(point)

    mine.at("trade-off more").stop()
    mine.at("trade-off").start(tried, work, "Measuring")


def start_more(tried: Tried, names: tuple[str, ...]) -> None:
    """Measure something else of the points that are there."""
    mine = session()
    kept, run, found = mine.kept, mine.run, mine.points

    def work(task: dpt.Task) -> None:
        def prepare(m: dpt.Mechanism) -> dpt.Prepared:
            return kept.prepared(tried.text, m, run, task)

        for i, point in enumerate(trade_off.more(list(found), names, prepare, task=task)):
            found[i] = point

    mine.at("trade-off more").start((tried, names), work, "Measuring more")


def missing(points: Sequence[TradeOffPoint], names: Sequence[str]) -> tuple[str, ...]:
    """What is not measured of some point, and was not refused."""
    return tuple(n for n in names if any(not (p.error or p.has(n) or n in p.reasons) for p in points))


# --- what is shown


def take_point(key: str) -> None:
    """A click on a mark chooses its point."""
    for mark in state[key].selection.points:
        if isinstance(named := mark.get("customdata"), list) and len(named) > 1:
            state.trade_point = (int(named[0]), float(named[1]))


def picture(
    points: list[TradeOffPoint], hidden: str, kept: str, advice: Advice | None, live: bool, early: bool
) -> None:
    shown = [p for p in points if p.has(hidden) and p.has(kept)]
    if not shown:
        st.info("The first points appear here in a moment." if live else "Nothing was measured for this choice.")
        return
    best = advice.best if advice and not early else None
    figure = figures.trade_off(
        points,
        hidden,
        kept,
        chosen=state.get("trade_point"),
        best=None if best is None else (best.setting, best.epsilon),
        limit=advice.limit if advice else None,
        dark=st.context.theme.type == "dark",
    )
    config = {
        "displaylogo": False,
        "toImageButtonOptions": {"format": "png", "filename": "trade-off", "scale": 2},
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "zoom2d", "pan2d"],
    }
    alt = f"{trade_off.about(kept).title} over what is hidden; “The numbers” below has them as a table"
    if live:
        st.plotly_chart(figure, theme=None, config=config, key="trade_live", alt=alt)
    else:
        st.plotly_chart(
            figure,
            theme=None,
            config=config,
            key="trade_figure",
            on_select=partial(take_point, "trade_figure"),
            selection_mode="points",
            alt=alt,
        )
    said = (
        "A mark is a mechanism at one ε; filled marks are on the Pareto front (the broad line): no other mark hides "
        "more and keeps more. Bars upwards: one standard deviation of the draws"
    )
    across = any(p.value(hidden).draws for p in shown if hidden != "epsilon")
    said += "; across: the 95% interval of what is hidden." if across else "."
    if advice and across:
        said += " Pale marks have an interval that the limit cuts: the answer below leaves them out."
    st.caption(f"{said} Every mark has fresh noise.")


def advice_panel(points: list[TradeOffPoint], hidden: str, kept: str) -> Advice | None:
    """The limit that is wanted, and what to start with; None where nothing is measured."""
    if hidden == "epsilon":
        return None
    ask = {
        "best": "The best of all attackers may name at most this many of the drawn words",
        "n_w": "Of the drawn words, at most this many may stay",
        "bayes": "An attacker may guess at most this many of the drawn words",
        "two_texts": "At most this many rewrites may be told from those of your text with one other word",
        "unchanged": "At most this many of all words may stand unchanged",
    }[hidden]
    limit = st.slider(ask, 1, 99, LIMITS[hidden], format="%d%%", key=stay(f"trade_limit_{hidden}", LIMITS[hidden]))
    return trade_off_advice.advise(points, hidden, limit / 100, kept)


def answer(advice: Advice, live: bool, early: bool) -> None:
    if early:
        st.info("The answer comes when each mechanism has some points.")
        return
    (st.success if advice.best else st.warning)(literal(advice.sentence(so_far=live)))
    if doubt := advice.doubt():
        st.markdown(literal(doubt))
    if not advice.points:
        return
    one = advice.draws == 1
    st.caption(
        f"This stands on your text alone, on {advice.points:,} points{' so far' if live else ''} and "
        f"{advice.draws:,} {'draw' if one else 'draws'} at each. The best of many points looks better than it is: draw "
        "again, and see whether it is the best again. What ε promises differs between mechanisms."
    )
    if advice.best is None:
        return
    with st.container(horizontal=True):
        if st.button("Open in Explore", icon=":material/edit_note:", key="trade_open_best"):
            open_point(advice.best)
        if advice.rivals and st.button(
            "Side by side with the next best", icon=":material/compare_arrows:", key="trade_compare"
        ):
            session().compare([setting_of(p) for p in (advice.best, *advice.rivals[:2])])
            st.switch_page("pages/compare.py")


def setting_of(point: TradeOffPoint) -> dpt.Setting:
    return point.mechanism.setting


def open_point(point: TradeOffPoint) -> None:
    links.open_explore(setting_of(point))


def point_panel(points: list[TradeOffPoint], text: str) -> None:
    """The rewrites of a chosen point."""
    known = {(p.setting, p.epsilon): p for p in sorted(points, key=lambda p: (p.setting, p.epsilon)) if p.texts}
    if state.get("trade_point") not in known:
        state.trade_point = None
    st.subheader("Read the rewrites of a point")
    chosen = st.selectbox(
        "Point",
        list(known),
        index=None,
        key="trade_point",
        placeholder="Click a mark, or choose a point here",
        format_func=lambda k: f"{known[k].label}, ε = {number(k[1])}",
    )
    if chosen is None:
        return
    point = known[chosen]
    texts = point.texts[:SHOWN]
    for k, (place, rewrite) in enumerate(zip(st.columns(len(texts), border=True), texts, strict=True)):
        with place:
            name = f"Draw {k + 1} of {len(point.texts)}"
            st.caption(name)
            number_ = hash((session().tried, point.setting, point.epsilon, k)) & 0x7FFFFFFF
            pieces = side_by_side.differences(text, rewrite, point.mechanism.language)
            data = payload(pieces, name=name, copies=number_, button=False)
            if number_ in rewrite_view(data, key=f"trade_view_{k}"):
                released(point, text, rewrite, number_)
    st.caption(
        f"Total ε of one of them, if it were released: {bound(point.total)}. These are to read, not to release: who "
        "picks the nicest of several tells about all of them. Explore draws one afresh."
    )
    with st.container(horizontal=True):
        if st.button("Put side by side", icon=":material/compare_arrows:", key="trade_beside"):
            cards.put_beside(setting_of(point))
            st.switch_page("pages/compare.py")
        if st.button("Open this setting in Explore", icon=":material/edit_note:", key="trade_open"):
            open_point(point)


def released(point: TradeOffPoint, text: str, rewrite: str, number_: int) -> None:
    """What was selected and copied by hand counts as released."""
    m = point.mechanism
    seed = point.seed
    result = dpt.RewriteResult(
        rewrite, text, (), m.guarantee(text), m.name, m.config, seed, f"trade-off {number_}", pieces=()
    )
    session().ledger.record(result, released=True)
    session().ledger.take(PAGE, "copied text", "rewrite")


def take_away(points: list[TradeOffPoint], tried: Tried, hidden: str, kept: str) -> None:
    """The figure, its data, and the code that makes the same points anew."""
    st.subheader("Take it away")
    dark = st.context.theme.type == "dark"

    def page() -> str:
        return to_html(figures.trade_off(points, hidden, kept, dark=dark), "Trade-off")

    with st.container(horizontal=True):
        if any(p.has(hidden) and p.has(kept) for p in points):
            download.button(
                "Figure (HTML)",
                page,
                "trade-off.html",
                "text/html",
                icon=":material/download:",
                on_click="ignore",
                key="trade_html",
                holds="private",
                help="It needs no network, and holds no text. The camera over the chart saves a PNG.",
            )
        download.button(
            "Data (CSV)",
            trade_off.to_csv(points),
            "trade-off.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
            key="trade_csv",
            holds="private",
            help="It holds figures, and no text.",
        )
        with st.popover("Link", icon=":material/link:"):
            share.link(query_of(tried, hidden, kept), (), "these settings")
        with st.popover("Code (Python)", icon=":material/code:"):
            st.caption(f"The same points, with noise of their own. Your text is read from a file {FILE}.")
            st.code(as_python(tried, hidden, kept), language="python")
    with st.expander("The numbers"):
        st.dataframe(trade_off.rows(points), hide_index=True, key="trade_table")
    st.caption("These figures are measured on your private text: they are for your eyes, unless you mean to tell them.")


def as_python(tried: Tried, hidden: str, kept: str) -> str:
    made = [f"    {setting.call()},\n" for setting in tried.settings]
    wanted = tuple(n for n in dict.fromkeys((kept, hidden, *CHEAP)) if n != "epsilon")
    return (
        f"from pathlib import Path\n\nimport dptext_core as dpt\nfrom dptext_core.measure import trade_off\n\n"
        f"text = Path({FILE!r}).read_text(encoding='utf-8')\n"
        f"settings = [\n{''.join(made)}]\n"
        f"points = list(dpt.tradeoff(text, settings, points={tried.points}, draws={tried.draws}, metrics={wanted!r}))\n"
        "print(trade_off.to_csv(points))\n"
    )


def is_it_free() -> None:
    with st.expander("Does looking cost anything?"):
        st.markdown(
            "**The draws do not**, as long as you release one rewrite at most, and draw that one afresh.\n\n"
            "**The choice may.** A setting that you choose because of these figures is chosen by looking at your "
            "private text. Whoever learns which setting you used learns a little about the text from it, and no ε "
            "counts that. To be safe, choose on a public text of the same kind, and use that setting for the private "
            "one. Or accept it, and know it."
        )


def body(tried: Tried, hidden: str, kept: str) -> None:
    """Points, advice and what belongs to them; run again every second while points come in."""
    mine = session()
    works = mine.at("trade-off"), mine.at("trade-off more")
    was = [w.job is not None for w in works]
    running = [w.running(0) for w in works]
    if any(a and not b for a, b in zip(was, running, strict=True)):
        st.rerun(scope="app")  # what was live is done
    live, points = any(running), list(mine.points)
    if live:
        progress(works[0] if running[0] else works[1])
    for work, said in zip(works, ("The points that are there stay.", "What was measured stays."), strict=True):
        if message := work.said(f"Stopped. {said} “Draw again” starts anew."):
            st.warning(literal(message))
    shown = kept
    if points and not any(p.has(kept) for p in points):
        shown = "bleu"
        title = trade_off.about(kept).title
        said = f"{title} is still being measured. Until then," if live else f"{title} was not measured:"
        st.caption(f"{said} the height shows BLEU, which counts word sequences in common.")
    early, axis = live and not trade_off_advice.enough(points, len(tried.settings), tried.points, hidden, shown), hidden
    if early and hidden == "best":
        axis = "n_w"  # which is there at once, where reading takes some seconds for each mark
        st.caption("The attackers still read. Until each mechanism has some points, N_w stands in their place.")
    place = st.container()
    st.markdown("### Which mechanism and ε should I start with?")
    advice = advice_panel(points, hidden, shown)
    with place:
        picture(points, axis, shown, advice if axis == hidden else None, live, early)
    if advice is not None:
        answer(advice, live, early)
    else:
        st.caption("Choose something that is measured under “What is hidden” to get an answer. ε alone measures none.")
    address.show(query_of(tried, hidden, kept) | hide.query())
    reasons = {p.label: p.error or p.reasons.get(hidden, "") or p.reasons.get(kept, "") for p in points}
    for reason in dict.fromkeys(r for r in reasons.values() if r):
        st.caption(literal(reason))
    if not running[0] and points:
        point_panel(points, tried.text)
    if not live and points:
        take_away(points, tried, hidden, shown)


def progress(work: Work) -> None:
    bar, stop = st.columns([5, 1], vertical_alignment="center")
    job = work.job
    bar.progress(job.share if job is not None else 0.0, text=under_way(job) if job is not None else "")
    if stop.button("Stop", key="trade_stop", width="stretch") and job is not None:
        job.task.cancel()


def point_map(text: str) -> None:
    """The map of a text: its settings, its points as they come, and what they say."""
    _, right, left = beside("trade")
    with left:
        settings, points, draws = settings_controls()
        kept = st.selectbox(
            "What is kept",
            KEPT,
            format_func=lambda n: trade_off.about(n).title,
            key=stay("trade_kept"),
            help="How useful the rewrite still is. The cosine compares meanings, by a model of sentences.",
        )
        hidden = st.selectbox(
            "What is hidden", list(HIDDEN), format_func=HIDDEN.__getitem__, key=stay("trade_hidden"), help=HIDDEN_HELP
        )
        again = st.button(
            "Draw again", icon=":material/casino:", width="stretch", key="trade_again", help="Every point anew."
        )
        is_it_free()
    with right:
        if not settings:
            st.info("Choose a mechanism.")
            return
        mine = session()
        before = mine.tried
        tried = Tried(text, settings, points, draws, (before.draw if before else 0) + again)
        work, after = mine.at("trade-off"), mine.at("trade-off more")
        if tried != before:
            start(tried)
            while not mine.points and work.job is not None and work.job.age < FIRST_AFTER and not work.job.wait(LOOK):
                state.get("session")  # where a run of the page ends that is to make way for another one
        if not work.running(0) and work.error is None:
            wanted = missing(mine.points, [n for n in (kept, hidden) if n not in ("epsilon", *CHEAP)])
            if wanted and after.asked != (tried, wanted):
                start_more(tried, wanted)
        under_way = work.job is not None or after.job is not None
        st.fragment(body, run_every=EVERY if under_way else None)(tried, hidden, kept)
