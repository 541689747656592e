"""The address of a lesson or a setting for a class, its QR code, and the pages to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import segno
import streamlit as st

from dptext_core.mechanisms import recommended

from ... import lessons
from ...components import download, hidden_controls, links
from ...components.address import only_here
from ...components.style import read_beside
from ...components.text import literal
from ...figures.handout import handout, solutions
from ...lessons import Lesson
from ...server import votes
from .learning import Learning

_QR = st.components.v2.component(
    "dptext_qr",
    html='<div class="qr"></div>',
    css=read_beside(__file__, "qr.css"),
    js=read_beside(__file__, "qr.js"),
)

#: A server with this address listens at every address of the machine.
EVERYWHERE = "0.0.0.0"
ONLY_HERE = (
    "This address works on this machine only, so there is no code to scan. Start the app with `--server.address "
    "0.0.0.0` and open it at this machine's network name or IP address. Or set the name with "
    "`--browser.serverAddress NAME`. Without HTTPS, everything that the class types is sent unencrypted."
)


def base() -> str:
    """Return the address of the app for others, with a final slash; empty if it is unknown.

    It is the address in the browser. If that works on this machine only, it is the server's name from
    ``--browser.serverAddress``, or its only listening address (``--server.address``).
    """
    url = urlsplit((st.context.url or "").partition("?")[0])
    options = [str(st.get_option(option) or "") for option in ("browser.serverAddress", "server.address")]
    name = next((o for o in options if o not in ("", EVERYWHERE) and not only_here(f"http://{o}")), "")
    if only_here(url.geturl()) and name:
        port = url.port or st.get_option("server.port")
        url = url._replace(scheme=url.scheme or "http", netloc=f"{name}:{port}")
    return url.geturl().rstrip("/").removesuffix("/learn").removesuffix("learn")


def address(page: str, query: Mapping[str, str]) -> str:
    """Return an address for others. It contains settings, never a text."""
    there = base().rstrip("/")
    return f"{there}/{page}" + (f"?{urlencode(query)}" if query else "")


def code(text: str) -> str:
    """Return a QR code as SVG."""
    return str(segno.make(text, error="m").svg_inline(border=2, dark="#000000", light="#ffffff", omitsize=True))


def show_code(url: str, key: str) -> None:
    """Show the QR code of an address, or what to do if it works on this machine only."""
    if only_here(url):
        st.warning(ONLY_HERE)
    else:
        _QR(key=key, data={"svg": code(url)})


def slide_code(mine: Learning) -> None:
    """Show on a slide how the class joins."""
    url = address("learn", {votes.PARAMETER: mine.room})
    with st.container(key="wall_join"):
        if only_here(url):
            st.caption("Other devices cannot open this address: see *For teachers*, *Class session*.")
            return
        st.markdown(f"**Join:** {literal(url)}")
        show_code(url, "wall_qr")


def panel(number: int, lesson: Lesson, value: Any, mine: Learning) -> None:
    """Show what a teacher hands out to a class."""
    st.markdown("**An address for your class**")
    lesson_opens = st.radio(
        "It opens",
        [True, False],
        format_func=lambda lesson: f"lesson {number}" if lesson else f"Explore with the setting of lesson {number}",
        horizontal=True,
        key="learn_target",
    )
    known = {title: name for name, (_, title) in hidden_controls.KNOWN.items()}
    there = ("control", "answer", "door", "lessons", "teacher")
    offered = [t for t, n in known.items() if (n in there) == lesson_opens]
    hidden = st.multiselect(
        "Hide from the class", offered, placeholder="Nothing is hidden", key=f"learn_hide_{lesson_opens}"
    )
    query = (
        {"lesson": str(number)}
        if lesson_opens
        else dict(links.to_query(recommended.with_recommended(lesson.setting(value))))
    )
    if hidden:
        query[hidden_controls.PARAMETER] = ",".join(known[t] for t in hidden)
    if lesson_opens and mine.room:
        query[votes.PARAMETER] = mine.room
    url = address("learn" if lesson_opens else "explore", query)
    st.code(url, language=None, wrap_lines=True)
    show_code(url, "learn_qr")
    st.caption("The address contains settings, never a text.")
    if mine.room and not only_here(url):
        st.caption("With *Present*, the first slide of each lesson shows a code that joins your class.")


def pages_to_print() -> None:
    """Show the hand-out. It contains no address that works on this machine only."""
    lessons_at = address("learn", {})
    shared = not only_here(lessons_at)
    if not shared:
        st.caption("The pages contain no address or code, because this address works on this machine only.")
    download.button(
        "Download the hand-out",
        lambda: handout(
            lessons.LESSONS, address=lessons_at if shared else "", code=code(lessons_at) if shared else ""
        ),
        "lessons.html",
        "text/html",
        icon=":material/print:",
        key="learn_handout",
        on_click="ignore",
        holds="nothing",
        help="All lessons with their figures and questions, without answers: one file, to print from a browser. It "
        "takes a few seconds.",
    )
    download.button(
        "Download the solutions",
        solutions,
        "solutions.html",
        "text/html",
        icon=":material/key:",
        key="learn_solutions",
        on_click="ignore",
        holds="nothing",
        help="Keep this file to yourself. It takes a few seconds.",
    )
    st.caption(
        literal(
            "The solutions contain the group exercise and its score sheet. Figures show each lesson's initial settings "
            "and are computed when you press the button."
        )
    )
