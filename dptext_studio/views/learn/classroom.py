"""The address of a lesson or a setting for a class, its QR code, and the pages to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import segno
import streamlit as st

from dptext_core.mechanisms import recommended

from ... import lessons
from ...components import download, hidden_controls, links
from ...components.address import ONLY_HERE, only_here
from ...components.style import read_beside
from ...components.text import literal
from ...figures.handout import handout
from ...lessons import Lesson
from ...server import votes

_QR = st.components.v2.component(
    "dptext_qr",
    html='<div class="qr"></div>',
    css=read_beside(__file__, "qr.css"),
    js=read_beside(__file__, "qr.js"),
)


def base() -> str:
    """Return the address of the app as the browser sees it, with a slash at its end; empty where it is not known."""
    return (st.context.url or "").partition("?")[0].rstrip("/").removesuffix("/learn").removesuffix("learn")


def address(page: str, query: Mapping[str, str]) -> str:
    """Return an address for others: settings, never a text."""
    there = base().rstrip("/")
    return f"{there}/{page}" + (f"?{urlencode(query)}" if query else "")


def code(text: str) -> str:
    """Return a QR code as SVG."""
    return str(segno.make(text, error="m").svg_inline(border=2, dark="#000000", light="#ffffff", omitsize=True))


def panel(number: int, lesson: Lesson, value: Any, room: str = "") -> None:
    """Show what a teacher gives to a class. room: where its answers are counted, "" for nowhere."""
    st.markdown("**An address for your class**")
    target = st.radio("It opens", ["this lesson", "Explore with its setting"], horizontal=True, key="learn_target")
    known = {title: name for name, (_, title) in hidden_controls.KNOWN.items()}
    there = ("control", "answer", "door", "lessons", "teacher")
    lesson_opens = target == "this lesson"
    offered = [t for t, n in known.items() if (n in there) == lesson_opens]
    hidden = st.multiselect("Do not show", offered, key=f"learn_hide_{lesson_opens}")
    query = (
        {"lesson": str(number)}
        if lesson_opens
        else dict(links.to_query(recommended.with_recommended(lesson.setting(value))))
    )
    if hidden:
        query[hidden_controls.PARAMETER] = ",".join(known[t] for t in hidden)
    if lesson_opens and room:
        query[votes.PARAMETER] = room
    if lesson_opens and st.checkbox("In the presenter view", key="learn_presenting"):
        query["present"] = "1"
    url = address("learn" if lesson_opens else "explore", query)
    st.code(url, language=None, wrap_lines=True)
    if only_here(url):
        st.warning(ONLY_HERE)
    _QR(key="learn_qr", data={"svg": code(url)})
    st.caption("It carries settings, never a text. Show it on the wall: thirty laptops find it in a minute.")
    st.markdown("**Pages to print**")
    lessons_at = address("learn", {})
    if only_here(lessons_at):
        st.warning(
            "The code on these pages would lead each reader to a machine of their own: open the app as said above."
        )
    download.button(
        "Download the hand-out",
        lambda: handout(lessons.LESSONS, address=lessons_at, code=code(lessons_at)),
        "lessons.html",
        "text/html",
        icon=":material/print:",
        key="learn_handout",
        on_click="ignore",
        holds="nothing",
        help="All lessons with their figures and questions, and the answers at the end: one file, to be printed from "
        "a browser. It takes some seconds.",
    )
    st.caption(literal("The figures are those of the lessons as they begin, worked out when you press the button."))
