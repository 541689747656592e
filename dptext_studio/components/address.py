"""The browser's address, which carries the settings of the page, so that people can bookmark and send them.

Streamlit's own way of writing the address adds an entry to the browser's history for every ε, and the back button would
go through all of them. This module changes the current entry. The browser does not report this, so it causes no rerun.
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
#: A note for an address of which :func:`only_here` is true.
ONLY_HERE = (
    "This address works on this machine only. To share it, start the app with `--server.address 0.0.0.0` and open it "
    "at this machine's network name or IP address. Without HTTPS, everything that visitors type is sent unencrypted."
)
#: The number of this session's addresses that are remembered.
RECENT = 500


def show_query(query: Mapping[str, str]) -> None:
    """Write these settings into the address. They never contain a text."""
    _remember(query)
    write_query(query)


def write_query(query: Mapping[str, str]) -> None:
    """Replace the query of the browser's address."""
    # The browser looks at it again only where it is not what was sent last: an address that was asked for since then
    # and refused would stay.
    _mount(key="address", data={"query": urlencode(query), "asked": session().num_address_requests})


def take_link(page: str) -> bool:
    """Remove a link's settings for this page from the address before the redirect through app.py loses them.

    Return whether there are any. Call this before the page is part of the app.
    """
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
    """Return the part of the address that this page has not answered yet; None if there is none.

    before: the page that ran last. On the same page, an address that was written there may arrive late, with an earlier
    click. After a change of pages, the address counts as a request, unless it is the one with which the page was left.
    """
    params, known = hidden_controls.without_hidden(st.query_params.to_dict()), session().addresses
    last = next(reversed(known), None)
    if not params or _key(params) == last or (before == page and _key(params) in known):
        return None
    _remember(params)
    session().num_address_requests += 1
    return params


def link(query: Mapping[str, str]) -> str:
    """Return the complete address."""
    base = urlsplit(st.context.url or "")
    return urlunsplit(base._replace(path=base.path or "/", query=urlencode(query), fragment=""))


def only_here(url: str) -> bool:
    """Return True if this address works on this machine only."""
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
