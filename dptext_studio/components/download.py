"""Downloads at unguessable addresses, each recorded in the ledger when it leaves."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import streamlit as st

from dptext_core.measure.ledger import Ledger

from ..server import sessions, streamlit_patches
from ..server.session import session

#: The number of random bytes in every address.
RANDOM = 16


def button(
    label: str,
    data: str | bytes | Callable[[], str | bytes],
    name: str,
    kind: str,
    *,
    holds: str,
    what: str = "",
    release: Callable[[Ledger], object] | None = None,
    **given: Any,
) -> bool:
    """Show a button that downloads a file. Return True if it was just pressed.

    data: the content, or a function that makes it. kind: its MIME type. holds: one of ``ledger.HOLDS``. what: the name
    of the file in the ledger, if its own name contains parts of a user's file name. release: records the rewrites in
    the file; called from other threads than the page's, and possibly several times. given: arguments of
    ``st.download_button``, always with a key.

    Streamlit gives a file to everyone who requests its address, and computes that address from the file's content, name
    and kind. Anyone who can guess them could find out if somebody else has that file. So the kind has a random part,
    and nothing has an address before it is requested. A request counts as a release: the ledger records it before the
    file exists. If the page shows releases, the ledger also has it before the page reruns, and a visible ledger is
    drawn again.
    """
    mine, visitor, page = session(), sessions.visitor(), str(st.session_state.get("page_at", ""))
    ledger = mine.ledger

    def left() -> None:
        if release is not None:
            release(ledger)
        ledger.take(page, what or name, holds)

    def make() -> str | bytes:
        made = data() if callable(data) else data
        left()
        drawn = mine.ledger_fragment
        if visitor is not None and drawn[0] is not None:
            sessions.wake(visitor, drawn[0], lambda: mine.ledger_fragment is drawn)
        streamlit_patches.file_made()
        return made

    given.setdefault("on_click", left)
    return st.download_button(label, make, name, f"{kind}; id={secrets.token_urlsafe(RANDOM)}", **given)
