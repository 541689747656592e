"""The compared settings: from a link, from Explore, or from the controls."""

from __future__ import annotations

import math
from collections.abc import Mapping

import streamlit as st

import dptext_core as dpt
from dptext_core.mechanisms import codec, recommended
from dptext_core.support.checks import shorten_repr

from ...components import links
from ...components.text import literal
from ...server.session import COLUMNS, session

state = st.session_state

PAGE = "compare"
MODES = {
    "own": "For each mechanism",
    "epsilon": "Equal ε",
    "total": "Equal total ε",
    "best": "Equal strongest attacker",
    "n_w": "Equal N_w",
}
#: Modes in which a share of the sampled words is equal: the label of their slider, and its initial value in percent.
SHARES = {
    "best": ("Share of replaced words that the strongest attacker recovers", 60),
    "n_w": ("Probability that a word is unchanged (N_w)", 40),
}


def follow_link() -> None:
    """Set the controls to a link's settings before they are drawn, and keep the text."""
    mine = session()
    query, mine.query = mine.query, None
    if query is not None:
        settings, mine.link_problem = links.several_from_query(query)
        if not mine.link_problem and settings:
            mine.link_problem = apply_link(settings, query)
    if mine.link_problem:
        st.warning(literal(mine.link_problem))


def apply_link(settings: list[dpt.Setting], query: Mapping[str, str]) -> str:
    """Show these settings. Return an error if the link has one."""
    mode, text = query.get("equal", "own"), query.get("at", "")
    refused = "This link was not followed:"
    if not 2 <= len(settings) <= COLUMNS:
        return f"{refused} it must have 2 to {COLUMNS} settings, not {len(settings):,}."
    if mode not in MODES:
        return f"{refused} “equal” must be one of {', '.join(MODES)}, not {shorten_repr(mode)}."
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
    """Return the value of a link that is equal for all. Raise ConfigError."""
    value = codec.real("at", text)
    if not 0 < value < math.inf:
        raise dpt.ConfigError(f"“at” must be a number above 0, not {shorten_repr(text)}.")
    return value


def query_of(mode: str, target: tuple[str, float] | None) -> dict[str, str]:
    """Return the values of the controls as parameters of the address."""
    settings = [setting for _, setting in session().columns]
    if mode == "own":
        return links.several_to_query(settings)
    query = links.several_to_query([s.at(None) for s in settings])
    return query | {"equal": mode} | ({} if target is None else {"at": f"{target[1]:.6g}"})


def sync_settings() -> None:
    """Set the controls to the settings of this session, at first those of Explore next to another one."""
    mine = session()
    explored = None if mine.run is None else setting_of_run()
    if not mine.columns:
        first = [] if explored is None else [explored]
        first += [default_setting(n) for n in recommended.recommended_partners(first[0].mechanism if first else "")]
        mine.compare(first[:2])
        mine.explored_setting = explored
    elif explored not in (None, mine.explored_setting) and mine.columns[0][1] == mine.explored_setting:
        # Unchanged here since then: continue to follow Explore.
        mine.compare([explored, *(setting for _, setting in mine.columns[1:])])
        mine.explored_setting = explored
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


def default_setting(name: str) -> dpt.Setting:
    return recommended.with_recommended(dpt.Setting(name, {}, dpt.mechanism_class(name).epsilon_range({})[2]))


def add_setting(setting: dpt.Setting) -> None:
    """Add a setting to the comparison, and replace the first one if there are too many."""
    others = [s for _, s in session().columns] or [
        default_setting(recommended.recommended_partners(setting.mechanism)[0])
    ]
    session().compare([*others[-(COLUMNS - 1) :], setting])


def add_column() -> None:
    mine = session()
    there = {s.mechanism for _, s in mine.columns}
    name = next(
        (n for n in (*recommended.ORDER, *(s.name for s in dpt.mechanisms())) if n not in there), recommended.ORDER[0]
    )
    mine.columns.append((mine.next_number(), default_setting(name)))


def remove_column(id_: int) -> None:
    mine = session()
    mine.columns = [c for c in mine.columns if c[0] != id_]
