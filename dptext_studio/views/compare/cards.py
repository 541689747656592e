"""Two to four mechanisms or settings side by side on one text, at an ε of their own, or at the same of something."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

import dptext_core as dpt
from dptext_core.attacks import best
from dptext_core.measure import side_by_side
from dptext_core.measure.calibration import measured_together
from dptext_core.measure.metrics import score
from dptext_core.measure.target_figures import Measured
from dptext_core.mechanisms import codec, recommended
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import counted, fields_of, mechanism_of
from dptext_core.privacy.guarantee import bound, number, percent
from dptext_core.support.checks import many, shown
from dptext_lab.results import curves

from ... import figures
from ...components import address, controls, download, hide, ledger, links, live
from ...components.rewrite_view import payload, rewrite_view, word_of
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...figures.glossary import said_of
from ...server.compared import Asked, Column, ComparedOutcome, rewrites
from ...server.runs import from_edit
from ...server.session import COLUMNS, session
from ..explore import share
from . import distinguishability as told_apart

PAGE = "compare"
state = st.session_state

STEPS = 61
#: What the keys of containers begin with that show rewrites, also those of before while new ones come.
BEFORE = "compare_before"
MODES = {
    "own": "An ε for each",
    "epsilon": "Equal ε",
    "total": "Equal total ε",
    "best": "Equal best attacker",
    "n_w": "Equal N_w",
}
#: Modes in which a share of the drawn words is equal: what their slider says, and where it begins, in percent.
SHARES = {
    "best": ("Share of the drawn words that the best of all attackers names", 60),
    "n_w": ("Chance that a drawn word stays (N_w)", 40),
}
MODES_HELP = (
    "Equal ε and equal total ε set the number that is promised. Equal best attacker and equal N_w set what is "
    "measured: how often the attacker who finds most names a drawn word, and how often a drawn word stays. "
    f"ε: {said_of('ε')} Total ε: {said_of('Total ε')} N_w: {said_of('N_w')}"
)


# --- the settings


def follow_link() -> None:
    """Set the controls to what a link asks for, before they are made. The text stays."""
    mine = session()
    query, mine.query = mine.query, None
    if query is not None:
        settings, mine.link_problem = links.several_from_query(query)
        if not mine.link_problem and settings:
            mine.link_problem = follow(settings, query)
    if mine.link_problem:
        st.warning(literal(mine.link_problem))


def follow(settings: list[dpt.Setting], query: Mapping[str, str]) -> str:
    """Show these; what is wrong with the link, where something is."""
    mode, text = query.get("equal", "own"), query.get("at", "")
    refused = "This link was not followed:"
    if not 2 <= len(settings) <= COLUMNS:
        return f"{refused} it has {len(settings):,} settings, and this page shows 2 to {COLUMNS}."
    if mode not in MODES:
        return f"{refused} equal is one of {', '.join(MODES)}, not {shown(mode)}."
    if mode != "own" and "at" in query:
        try:
            at = number_in(text)
        except dpt.ConfigError as error:
            return f"{refused} {error}"
        if mode in SHARES:
            at = min(max(5, 5 * round(20 * at)), 95)
        state[f"compare_{mode}"] = at
    state.compare_mode = mode
    session().compare(settings)
    return ""


def number_in(text: str) -> float:
    """How much is equal, as a link has it. Raises ConfigError."""
    value = codec.real("at", text)
    if not 0 < value < math.inf:
        raise dpt.ConfigError(f"at is a number above 0, not {shown(text)}.")
    return value


def query_of(mode: str, target: tuple[str, float] | None) -> dict[str, str]:
    """What the controls are at, as parameters of the address."""
    settings = [setting for _, setting in session().columns]
    if mode == "own":
        return links.several_to_query(settings)
    query = links.several_to_query([s.at(None) for s in settings])
    return query | {"equal": mode} | ({} if target is None else {"at": f"{target[1]:.6g}"})


def settle() -> None:
    """The settings of this session, at first those of Explore beside another one; the controls show them."""
    mine = session()
    explored = None if mine.run is None else setting_of_run()
    if not mine.columns:
        first = [] if explored is None else [explored]
        first += [plain(n) for n in recommended.others(first[0].mechanism if first else "")]
        mine.compare(first[:2])
        mine.explored = explored
    elif explored not in (None, mine.explored) and mine.columns[0][1] == mine.explored:
        # Nobody has changed it here since: it goes on with Explore.
        mine.compare([explored, *(setting for _, setting in mine.columns[1:])])
        mine.explored = explored
    fresh, mine.columns_new = mine.columns_new, False
    for id_, setting in mine.columns:
        # Streamlit forgets a control's value when another page is shown.
        if fresh or f"compare{id_}_mechanism" not in state:
            state.update(links.widget_state(setting, f"compare{id_}"))
            state[f"compare{id_}_mechanism"] = setting.mechanism


def setting_of_run() -> dpt.Setting:
    run = session().run
    assert run is not None
    at = session().epsilon
    epsilon = run.payload["eps"] if run.spread or at is None else at
    return run.inputs.setting.at(float(epsilon))


def plain(name: str) -> dpt.Setting:
    return recommended.beginning(dpt.Setting(name, {}, dpt.mechanism_class(name).epsilon_range({})[2]))


def put_beside(setting: dpt.Setting) -> None:
    """Show a setting beside those that are there, in the place of the first where there are as many as can be."""
    others = [s for _, s in session().columns] or [plain(recommended.others(setting.mechanism)[0])]
    session().compare([*others[-(COLUMNS - 1) :], setting])


def add() -> None:
    mine = session()
    there = {s.mechanism for _, s in mine.columns}
    name = next(
        (n for n in (*recommended.ORDER, *(s.name for s in dpt.mechanisms())) if n not in there), recommended.ORDER[0]
    )
    mine.columns.append((mine.next_number(), plain(name)))


def remove(id_: int) -> None:
    mine = session()
    mine.columns = [c for c in mine.columns if c[0] != id_]


# --- controls


def column_controls(id_: int, setting: dpt.Setting, mode: str, more: bool) -> Column:
    """The controls of one column, and what they are at."""
    specs = {s.name: s for s in dpt.mechanisms()}
    name = st.selectbox(
        "Mechanism",
        list(specs),
        list(specs).index(state[f"compare{id_}_mechanism"]),
        key=f"compare{id_}_mechanism",
        format_func=lambda n: specs[n].title,
        label_visibility="collapsed",
    )
    with st.container(horizontal=True):
        with st.popover("Options", icon=":material/tune:", key=f"compare{id_}_tune"):
            st.caption(specs[name].summary)
            chosen = controls.options(specs[name], f"compare{id_}")
        if more:
            st.button("Remove", icon=":material/close:", key=f"compare{id_}_close", on_click=remove, args=(id_,))
    if name == setting.mechanism:  # what a link or another page set, and no control here does
        apart = {f.name for f in fields_of(name).values() if option_meta(f).has_own_control}
        chosen = {k: v for k, v in setting.options.items() if k in apart} | chosen
    st.caption(literal(f"ε counts: {counted(name)}."))
    epsilon = None
    if mode == "own":
        low, high, default = dpt.mechanism_class(name).epsilon_range(chosen)
        now = setting.epsilon if name == setting.mechanism and isinstance(setting.epsilon, float) else default
        low, high = min(low, now), max(high, now)  # what was calibrated may lie beyond the slider's own ends
        epsilon = epsilon_slider("Privacy budget ε", low, high, now, f"compare{id_}_eps_{name}_{low:g}_{high:g}")
    return Column(id_, dpt.Setting(name, chosen, epsilon))


def epsilon_slider(label: str, low: float, high: float, now: float, key: str, symbol: str = "ε") -> float:
    """A slider over ε, evenly on a logarithmic axis; what it stands at need be none of its own marks."""
    now = min(max(state.get(key, now), low), high)
    marks = {float(f"{e:.3g}") for e in np.geomspace(low, high, STEPS)}
    epsilons = sorted({e for e in marks if low <= e <= high} | {now, low, high})
    state[key] = now
    return st.select_slider(label, epsilons, format_func=number, key=key, help=said_of(symbol))


def target_controls(mode: str, drafts: Sequence[dpt.Setting], text: str) -> tuple[str, float] | None:
    """The one slider for all, where something is equal."""
    if mode == "own":
        return None
    if mode in SHARES:
        label, first = SHARES[mode]
        share = st.slider(
            label,
            5,
            95,
            first,
            step=5,
            format="%d%%",
            key=stay(f"compare_{mode}", first),
            help=f"{said_of('N_w')} Each mechanism gets the ε at which it keeps so many of the words that all draw."
            if mode == "n_w"
            else "Each mechanism gets the ε at which so many of the words that all draw are found. Rewrites are read "
            "at some ε for each: half a minute, or minutes where words are drawn by the words around them.",
        )
        return mode, share / 100
    ranges = [dpt.mechanism_class(s.mechanism).epsilon_range(s.options) for s in drafts]
    if mode == "epsilon":
        ends = min(r[0] for r in ranges), max(r[1] for r in ranges)
        return mode, epsilon_slider("ε of each draw, the same for all", *ends, ranges[0][2], stay("compare_epsilon"))
    totals = []
    for setting, (low, high, default) in zip(drafts, ranges, strict=True):
        try:
            m = setting.make()
            totals.append([m.replace(epsilon=e).guarantee(text).total for e in (low, high, default)])
        except dpt.DPTextError:  # said in its column
            continue
    totals = [t for t in totals if t[0] > 0 and np.isfinite(t[1])]
    if not totals:
        st.caption("None of these has a total on this text.")
        return None
    ends = min(t[0] for t in totals), max(t[1] for t in totals)
    return mode, epsilon_slider(
        "Total ε of the text, the same for all", *ends, totals[0][2], stay("compare_total"), "Total ε"
    )


# --- the work


def start(asked: Asked) -> None:
    """Rewrite in a thread. What is kept is used again."""
    mine = session()
    before, edited = mine.compared
    if before != asked.text:
        edited = before if from_edit(before, asked.text) else None
    work = partial(rewrites, asked, mine.kept, mine.run, mine.ledger, edited)
    mine.at("compare").start(asked, work, "Rewriting")


# --- what is shown


def choose(key: str) -> None:
    session().word = word_of(state.get(key))


def show_rewrite(column: Column, outcome: ComparedOutcome, word: int | None) -> None:
    """The rewrite of one column."""
    if outcome.looked is None:
        st.info(literal(outcome.error or "There is no rewrite here."))
        return
    result = outcome.looked.result
    if column.epsilon is None and outcome.epsilon is not None:
        st.markdown(f"**ε = {number(outcome.epsilon)}**")
    key = f"compare{column.id}_view"
    stand, found = outcome.figures.left if outcome.figures is not None else (0, 0)
    data = payload(
        side_by_side.pieces(result),
        chosen=word,
        copies=outcome.looked.number,
        name=f"Rewrite by {column.title}",
        note=f"{stand:,} of {found:,} identifying words left, " if found else "",
    )
    for copy in rewrite_view(data, key=key, on_word=partial(choose, key)):
        if (left := session().kept.shown.get(copy)) is not None:  # exactly the rewrite that stood there
            mine = session().ledger
            mine.record(left, released=True)
            mine.take(PAGE, "copied text", "rewrite")
    if result.guarantee.notion == "none":
        st.warning(literal(result.guarantee.sentence()))
    with st.container(horizontal=True):
        download.button(
            "Download",
            result.text,
            "rewrite.txt",
            "text/plain",
            icon=":material/download:",
            holds="rewrite",
            release=lambda book: book.record(result, released=True),
            key=f"compare{column.id}_download",
            help="What you download or copy counts as released in the ledger.",
        )
        if st.button(
            "Explore",
            icon=":material/edit_note:",
            key=f"compare{column.id}_open",
            help="Open this setting in Explore",
        ):
            links.open_explore(column.setting.at(outcome.epsilon))


def show_word(column: Column, which: int, word: side_by_side.OneWord, result: dpt.RewriteResult | None) -> None:
    """What the chosen word was drawn from in one column."""
    found = word.each[which]
    st.markdown(f"“{literal(word.word)}” → “**{literal(found.released)}**”" if found.released else literal(word.word))
    if found.reason:
        st.caption(literal(found.reason))
        return
    if result is not None and not found.known:
        uncovered = dpt.mechanism_class(column.mechanism)(result.config).reading.uncovered()
        st.caption(literal(f"“{word.word}” is not in its vocabulary. What happens to such words: {uncovered}"))
    stays = f"the original stays with {percent(found.keep)}" if found.known else "the original is not among them"
    figure = figures.word_bars(word, which, dark=st.context.theme.type == "dark")
    st.plotly_chart(
        figure,
        theme=None,
        config={"displayModeBar": False},
        key=f"compare{column.id}_bars",
        alt=f"Chances of the words under {column.title}; {stays}",
    )


def likenesses(asked: Asked, both: Sequence[tuple[Column, ComparedOutcome]]) -> Mapping[str, float]:
    """The cosine of each rewrite with the original, as far as it is known; what is not is measured beside the page,
    after what others wait for."""
    kept = session().kept
    texts = [o.looked.result.text for _, o in both if o.looked is not None]
    known = {t: c for t in texts if (c := kept.likeness.get((asked.text, t))) is not None}
    work, wanted = session().at("compare likeness"), (asked.text, tuple(texts))
    if len(known) == len(set(texts)):
        work.stop()
    elif work.asked != wanted:
        work.start(
            wanted, lambda task: kept.like(asked.text, texts, task), "Measuring the likeness in meaning", last=True
        )
    if work.running(0.2):
        work.follow()
    elif work.error is None and isinstance(work.result, list) and work.asked == wanted:
        known = dict(zip(texts, work.result, strict=True))
    return known


def measures(
    asked: Asked, both: Sequence[tuple[Column, ComparedOutcome]], like: Mapping[str, float]
) -> dict[str, list[str]]:
    """The table: a row for each setting. like: the cosine of each rewrite with the original, where it is known."""
    rows = [(c, o, o.looked.result, o.figures) for c, o in both if o.looked is not None and o.figures is not None]
    table: dict[str, list[str]] = {
        "setting": [c.title for c, *_ in rows],
        "ε": [number(o.epsilon or 0) for _, o, *_ in rows],
        "counts": [counted(c.mechanism) for c, *_ in rows],
        "total ε": [bound(f.total) for *_, f in rows],
        "words stay (N_w)": [measured(f.n_w, "{:.0%}", f) for *_, f in rows],
        "different words (S_w)": [measured(f.s_w, "{:.1f}", f) for *_, f in rows],
        "unchanged": [percent(score("unchanged", [asked.text], [r.text])[0]) for *_, r, _ in rows],
    }
    table["identifying words left"] = [f"{f.left[0]:,} of {f.left[1]:,}" if f.left[1] else "none" for *_, f in rows]
    table["meaning kept (cosine)"] = [f"{like[r.text]:.2f}" if r.text in like else "…" for _, _, r, _ in rows]
    return table


def measured(value: float | None, form: str, found: side_by_side.Figures) -> str:
    return "none" if value is None else ("≈ " if found.draws is not None else "") + form.format(value)


MEASURES_HELP = {
    "ε": said_of("ε"),
    "counts": "What is promised, and what ε is counted by.",
    "total ε": said_of("Total ε"),
    "words stay (N_w)": said_of("N_w"),
    "different words (S_w)": said_of("S_w"),
    "unchanged": "The share of all words that stand unchanged in this rewrite, kept words included.",
    "identifying words left": "Of the different names, dates, numbers and places that rules find in your text, those "
    "of which a word stands in this rewrite.",
    "meaning kept (cosine)": "Likeness in meaning to the original, by a model of sentences: 1 is the same.",
}


def warn(asked: Asked) -> None:
    """What can be compared and what cannot."""
    names = [c.mechanism for c in asked.columns]
    mixed = len(curves.units(names)) > 1
    kind = asked.target[0] if asked.target else "own"
    if kind in ("epsilon", "total") and mixed:
        st.warning(
            literal(curves.units_note(names) + " Choose “Equal best attacker” to compare them where as much is found.")
        )
    elif kind == "total":
        st.caption("A total counts what is spent, not what is hidden.")
    elif kind == "best":
        st.caption(
            "Where the best of all attackers finds as much, over the words that all of them draw: known roughly, from "
            "a few dozen guesses. What they promise differs: see “counts”."
        )
    elif kind == "n_w":
        st.caption("Equal N_w over the words that all of them draw. What they promise differs: see “counts”.")
    elif mixed:
        st.caption(literal(curves.units_note(names)))


@st.fragment
def compared(text: str) -> None:
    """Settings and rewrites. Moving a slider reruns only this."""
    settle()
    mine = session()
    top, again = st.columns([4, 1], vertical_alignment="bottom")
    mode = top.segmented_control(
        "What is equal",
        list(MODES),
        format_func=MODES.__getitem__,
        required=True,
        key=stay("compare_mode", "own"),
        help=MODES_HELP,
    )
    mode = mode or "own"
    redraw = again.button(
        "Draw again",
        icon=":material/casino:",
        key="compare_again",
        width="stretch",
        help="Fresh noise for all of them. Each rewrite that you release spends its budget.",
    )
    one_slider, slot = st.container(), st.empty()
    places = st.columns(len(mine.columns), gap="medium", border=True)
    columns = []
    for (id_, setting), place in zip(mine.columns, places, strict=True):
        with place:
            columns.append(column_controls(id_, setting, mode, len(mine.columns) > 2))
    mine.columns = [
        (c.id, c.setting.at(before.epsilon if c.epsilon is None else c.epsilon))
        for c, (_, before) in zip(columns, mine.columns, strict=True)
    ]
    with one_slider:
        target = target_controls(mode, [c.setting for c in columns], text)
    query = query_of(mode, target)
    address.show(query | hide.query())
    with st.container(horizontal=True):
        if len(columns) < COLUMNS:
            st.button("Add a mechanism", icon=":material/add:", key="compare_add", on_click=add)
        with st.popover("Link", icon=":material/link:", key="compare_link"):
            share.link(query, links.left_out([s for _, s in mine.columns]), "this comparison")
    work = mine.at("compare")
    before = work.asked.draw if work.asked is not None else 0
    asked = Asked(text, tuple(columns), target, before + redraw)
    if redraw:
        mine.kept.forget_draws(text)
    if asked != work.asked or (work.job is None and work.result is None and work.error is None):
        start(asked)
    of = dict(zip((c.id for c in columns), places, strict=True))
    if work.running():
        with slot.container():
            work.waiting("compare_stop")
            if mine.beside is not None:
                before_of(mine.beside[0], asked)
        if mine.beside is not None:
            draw(*mine.beside, of)
        return
    if said := work.said("Stopped. Change something, or press “Draw again”, to start again."):
        slot.error(literal(said))
        return
    mine.beside = asked, work.result
    show(asked, work.result, of)


def before_of(shown: Asked, asked: Asked) -> None:
    """What is shown is of before, and says so."""
    if shown.text == asked.text:
        live.dimmed(BEFORE)
    else:
        live.of_another_text(BEFORE, "are the rewrites")


def show(asked: Asked, outcomes: list[ComparedOutcome], places: Mapping[int, Any]) -> None:
    """What is new: written down, and drawn. places: where each column stands."""
    mine = session()
    results = [o.looked.result if o.looked is not None else None for o in outcomes]
    before, edited = mine.compared
    if before != asked.text:
        edited = before if from_edit(before, asked.text) else None
        mine.compared = asked.text, edited
    for result in results:
        if result is not None and not mine.ledger.knows(result.noise_id, asked.text):
            mine.ledger.record(result, edited=edited)  # a draw that was looked at; its other settings share it
    draw(asked, outcomes, places)
    if any(r is not None and mine.ledger.spent(r.noise_id, asked.text) for r in results):
        # A copy of the text before was told of after the text had gone on: this one is drawn with noise of its own.
        mine.at("compare").asked = None
        st.rerun()


def draw(asked: Asked, outcomes: list[ComparedOutcome], places: Mapping[int, Any]) -> None:
    """The rewrites, what one word was drawn from, and what is measured, of columns that still stand there."""
    both = [(c, o) for c, o in zip(asked.columns, outcomes, strict=True) if c.id in places]
    results = [o.looked.result if o.looked is not None else None for _, o in both]
    at = session().word
    if at is None or not any(r is not None and any(s.span[0] == at for s in r.steps) for r in results):
        at = side_by_side.first_drawn(results)
    word = None if at is None else side_by_side.one_word(results, at)
    for column, outcome in both:
        with places[column.id].container(key=f"{BEFORE}_{column.id}"):
            show_rewrite(column, outcome, at)
    with st.container(key=BEFORE):
        below(asked, both, results, word)


def below(
    asked: Asked,
    both: Sequence[tuple[Column, ComparedOutcome]],
    results: Sequence[dpt.RewriteResult | None],
    word: side_by_side.OneWord | None,
) -> None:
    """What stands below the columns. results: of each, as far as there is one. word: the one that is chosen."""
    mine = session()
    warn(asked)
    if word is not None:
        st.subheader("What one word was drawn from")
        st.caption("Click a word above to choose it. The same words in the same order everywhere; striped: yours.")
        for k, (place, (column, _)) in enumerate(zip(st.columns(len(both), gap="medium"), both, strict=True)):
            with place:
                st.markdown(f"**{literal(column.title)}**")
                show_word(column, k, word, results[k])
    st.subheader("Measured")
    config = {k: st.column_config.Column(help=v) for k, v in MEASURES_HELP.items()}
    st.dataframe(
        measures(asked, both, likenesses(asked, both)), hide_index=True, column_config=config, key="compare_table"
    )
    counted = [(c, o.figures) for c, o in both if o.figures is not None]
    if words := max((f.words for _, f in counted), default=0):
        over = "of the one word" if words == 1 else f"means over the {many(words, 'word')}"
        st.caption(f"N_w and S_w: {over} that all of them draw. ≈: estimated from draws.")
    reasons = dict.fromkeys(f"{c.title}: {f.reason}" for c, f in counted if f.reason)
    if said := mine.at("compare likeness").said(""):
        reasons |= {f"Meaning kept: {said}": None}
    for reason in reasons:
        st.caption(literal(reason))
    attackers(asked, both)
    with st.expander("Two texts: what tells them apart"):
        told_apart.panel([_subject(c, o) for c, o in both], "compare_two")
    spoilt = mine.ledger.account(asked.text).void
    if spoilt:
        st.error(literal(f"What you released of this text has no guarantee: {spoilt}."), icon=":material/warning:")
    with st.expander("Ledger: what was drawn and released"):
        ledger.panel(mine.ledger, [r for r in results if r is not None])
    st.caption("Looking is free. What is downloaded or copied counts as released. Settings of one draw share noise.")


def attackers(asked: Asked, both: Sequence[tuple[Column, ComparedOutcome]]) -> None:
    """What the best of all attackers finds under each setting, on demand."""
    able = [(c, o.looked) for c, o in both if o.looked is not None and o.figures is not None and o.figures.words]
    if not able:
        return
    work, key = session().at("compare best"), (asked.text, tuple((c.title, looked.number) for c, looked in able))
    if st.button(
        "Ask all attackers",
        icon=":material/search:",
        key="compare_attack",
        help="Fresh rewrites by each setting are read by all attackers on single words. They are not released.",
    ):
        made = [mechanism_of(looked.result) for _, looked in able]
        work.start(key, lambda task: measured_together(made, "best", asked.text, task=task), "Asking all attackers")
    if work.asked != key:
        work.stop()
        return
    if work.running():
        work.waiting("compare_attack_stop")
    elif said := work.said("Stopped. Press “Ask all attackers” to start again."):
        st.error(literal(said))
    elif work.result is not None:
        found = [(c, m) for (c, _), m in zip(able, work.result, strict=True)]
        st.dataframe(
            {
                "setting": [c.title for c, _ in found],
                "best attacker": [best.title(m.by) if isinstance(m, Measured) else "none" for _, m in found],
                "right": [percent(m.value) if isinstance(m, Measured) else "" for _, m in found],
                "95% interval": [
                    "{} to {}".format(*map(percent, m.interval)) if isinstance(m, Measured) else "" for _, m in found
                ],
            },
            hide_index=True,
            key="compare_attackers",
        )
        st.caption(
            "How often the attacker who finds most names a word that all of them draw. Intervals are corrected for the "
            f"choice among {', '.join(best.ASKED.values()).lower()}."
        )
        for reason in dict.fromkeys(m for _, m in found if isinstance(m, str)):
            st.caption(literal(reason))


def _subject(column: Column, outcome: ComparedOutcome) -> told_apart.Subject:
    setting = column.setting.at(outcome.epsilon)
    return told_apart.Subject(column.title, setting, setting.make)
