"""The key of a class's host, which the browser stores for one tab.

It is in no address, because a projector shows the address bar. So a host can reload the page, and a copied address
gives nobody the key.
"""

from __future__ import annotations

import streamlit as st

from ...components.style import read_beside
from ...server.votes import VOTES, host_key
from .learning import GAME, Learning, Stage, learning

_KEY = "learn_host_key"
_mount = st.components.v2.component("dptext_host", html="<span hidden></span>", js=read_beside(__file__, "host_key.js"))


def remember() -> None:
    """Store the key in the tab, or read it from the tab after a reload."""
    mine = learning()
    if mine.room:
        _mount(key=_KEY, data={"room": mine.room, "host": mine.host}, on_host_change=_restore)


def _restore() -> None:
    accept(learning(), (st.session_state.get(_KEY) or {}).get("host"))


def accept(mine: Learning, key: object) -> None:
    """Make this visitor the host again, with the slides that the address asks for, if the key is that of the room."""
    key = host_key(str(key or ""))
    if not VOTES.is_host(mine.room, key):
        return
    mine.host = key
    if mine.slides_asked:
        mine.present, mine.slides_asked = True, False
        mine.go(mine.at or 0)
    stage = VOTES.stage(mine.room)
    if mine.present and mine.lesson.name == GAME and isinstance(stage, Stage) and stage.game is not None:
        answered = stage.number >= 0 and VOTES.is_revealed(mine.room, stage.topic(stage.number))
        mine.class_stage, mine.step = stage, max(0, 1 + 2 * stage.number + answered)
