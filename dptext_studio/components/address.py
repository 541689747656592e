"""The browser's address, which carries the setting of the page, so that it can be kept, sent and loaded again.

Streamlit's own way to write the address adds an entry to the browser's history for every ε, and the way back would lead
through all of them. This one changes the entry that is there. The browser tells nobody of it: no rerun comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from ..server.session import session
from . import hidden_controls
from .shell import last_page
from .style import read_beside

_mount = st.components.v2.component("dptext_address", js=read_beside(__file__, "address.js"))
#: What to say of an address of which :func:`only_here` is true.
ONLY_HERE = (
    "This address works on this machine only. To share it, start the app with `--server.address 0.0.0.0` and open it "
    "by this machine's network name or IP address. Without HTTPS, everything that visitors type is sent unencrypted."
)
#: Addresses of this session that are remembered.
RECENT = 500


def show_query(query: Mapping[str, str]) -> None:
    """Make this the address. It is a setting, never a text."""
    _remember(query)
    write_query(query)


def write_query(query: Mapping[str, str]) -> None:
    """Put this into the browser's address, in the place of what is there."""
    # The browser looks at it again only where it is not what was sent last: an address that was asked for since then
    # and refused would stay.
    _mount(key="address", data={"query": urlencode(query), "asked": session().asked})


def take_link(page: str) -> bool:
    """Take what a link asks of this page out of the address, before the way through the app loses it; whether there is
    something. To be called before the page is within the app."""
    hidden_controls.read_address()
    mine, before = session(), last_page()
    if before not in (None, page):
        mine.link_problem = ""
    params = requested_query(page, before)
    # Another page of this session may have asked for more than an address carries.
    if params is not None and (mine.query is None or before in (None, page)):
        mine.query = params
    return params is not None


def requested_query(page: str, before: str | None) -> dict[str, str] | None:
    """Return what the address asks for that this page has not answered yet; None for nothing.

    before: the page that ran last. On the same page an address that was written there may come back late, with a click
    that was made before it; what comes with a change of pages was asked for, unless it is what the page was left with.
    """
    params, known = hidden_controls.without_hidden(st.query_params.to_dict()), session().addresses
    last = next(reversed(known), None)
    if not params or _key(params) == last or (before == page and _key(params) in known):
        return None
    _remember(params)
    session().asked += 1
    return params


def link(query: Mapping[str, str]) -> str:
    """Return the whole address."""
    base = urlsplit(st.context.url or "")
    return urlunsplit(base._replace(path=base.path or "/", query=urlencode(query), fragment=""))


def only_here(url: str) -> bool:
    """Return whether this address means the machine itself, whoever opens it."""
    host = urlsplit(url).hostname or ""
    return host in ("", "localhost", "::1", "0.0.0.0") or host.startswith("127.")


def _remember(query: Mapping[str, str]) -> None:
    known = session().addresses
    known.pop(_key(query), None)
    known[_key(query)] = None
    for old in list(known)[:-RECENT]:
        del known[old]


def _key(query: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(hidden_controls.without_hidden(query).items()))
