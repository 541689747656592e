"""Which points the trade-off plot shows: from a link, or chosen on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.measure import trade_off_settings
from dptext_core.mechanisms import codec, recommended
from dptext_lab.results import curves

from ...components import links
from ...components.sticky_widgets import stay
from ...components.text import literal
from ...figures.glossary import definition
from ...server.plot_request import PlotRequest
from ...server.session import session
from .plot_axes import HIDDEN, KEPT

state = st.session_state

#: Mechanisms with fast answers come first.
FIRST = recommended.ORDER[:4]
#: The number of ε of each mechanism, and of draws at each point.
POINTS, DRAWS = (3, 5, 7, 9, 13, 17), (1, 3, 5, 10, 20, 50)
#: The number of rewrites of a chosen point that are shown side by side.
SHOWN = 3


def follow_link() -> None:
    """Set the controls to a link's settings before they are drawn, and keep the text."""
    mine = session()
    query, mine.query = mine.query, None
    if query is not None:
        settings, mine.link_problem = links.several_from_query(query)
        if not mine.link_problem:
            mine.link_problem = apply_link(settings, query)
    if mine.link_problem:
        st.warning(literal(mine.link_problem))


def apply_link(settings: list[dpt.Setting], query: Mapping[str, str]) -> str:
    """Set the controls to the link's settings. Return an error if it has one."""
    found: dict[str, Any] = {}
    for setting in settings:
        name = setting.mechanism
        option, tries = trade_off_settings.second_option(name) or ("", ())
        value = setting.full().get(option)
        begun = recommended.with_recommended(dpt.Setting(name)).options
        others = {k for k, v in setting.options.items() if k != option and (k not in begun or v != begun[k])}
        if others or (option and value not in tries):
            return (
                f"This link was not followed: this page does not support its options for {curves.title(name)}. "
                "Remove them."
            )
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
                return f"This link was not followed: its value of “{name}” is invalid. Change it."
            found[f"trade_{name}"] = value
    if (limit := found.pop("trade_limit", None)) is not None:
        found[f"trade_limit_{found.get('trade_hidden', next(iter(HIDDEN)))}"] = limit
    state.update(found)
    return ""


def query_of(tried: PlotRequest, hidden: str, kept: str) -> dict[str, str]:
    """Return the values of the controls as parameters of the address."""
    query = links.several_to_query(tried.settings)
    query |= {"view": "map", "points": str(tried.points), "draws": str(tried.draws), "kept": kept, "hidden": hidden}
    limit = state.get(f"trade_limit_{hidden}")
    return query | ({} if limit is None else {"limit": str(limit)})


def settings_controls() -> tuple[tuple[dpt.Setting, ...], int, int]:
    """Show the settings, the number of ε for each, and the number of draws at each point."""
    specs = {s.name: s for s in dpt.mechanisms()}
    first = [n for n in FIRST if n in specs]
    names = st.multiselect(
        "Mechanisms",
        list(specs),
        first,
        format_func=lambda n: specs[n].title,
        key=stay("trade_mechanisms", first),
    )
    settings: list[dpt.Setting] = []
    with st.expander("More points"):
        points = st.select_slider("ε of each mechanism", POINTS, 7, key=stay("trade_points", 7), help=definition("ε"))
        draws = st.select_slider(
            "Draws at each point",
            DRAWS,
            5,
            key=stay("trade_draws", 5),
            help="Each draw is a rewrite with fresh noise. More draws give narrower intervals.",
        )
        for name in names:
            values: Sequence[Any] = ()
            if (second := trade_off_settings.second_option(name)) is not None:
                values = second_control(name, *second)
            settings += [
                recommended.with_recommended(dpt.Setting(name, {second[0]: v} if second and v is not None else {}))
                for v in values or (None,)
            ]
    return tuple(settings), int(points), int(draws)


def second_control(name: str, option: str, tries: tuple[Any, ...]) -> list[Any]:
    """Show the values of a second option to compare; return None for its default."""
    default = dpt.Setting(name).full()[option]
    label = f"{curves.title(name)}: {codec.describe({option: ''}, name).strip(' =:')}"
    chosen = st.multiselect(label, tries, [default], key=stay(f"trade_{name}_{option}", [default]))
    return [None if v == default else v for v in chosen]
