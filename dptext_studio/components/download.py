"""Files to download: at addresses that nobody can work out, and each written down in the ledger as it leaves."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import streamlit as st

from dptext_core.measure.ledger import Ledger

from ..server import sessions, streamlit_patches
from ..server.session import session

#: Bytes that are random in every address.
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
    """Show a button that downloads a file; whether it was just pressed. data: of the file, or what makes it. kind: its
    MIME type. holds: of ``ledger.HOLDS``. what: how the ledger calls the file, where its name has parts of a user's.
    release: writes down the rewrites that are in it; called in other threads than the page, and more than once. given:
    as ``st.download_button`` takes it, always with a key.

    Streamlit gives a file to everyone who asks for its address, and makes that address from the file's content, name
    and kind: whoever can guess them could ask whether somebody else has that file. So the kind has a random part, and
    nothing has an address before it is asked for. What asks for it is what leaves: the ledger has it before the file
    is there. Where the page shows what it has released, it has it before the page runs again, too; and a ledger that
    is in sight is drawn anew.
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
        drawn = mine.ledger_drawn
        if visitor is not None and drawn[0] is not None:
            sessions.wake(visitor, drawn[0], lambda: mine.ledger_drawn is drawn)
        streamlit_patches.file_made()
        return made

    given.setdefault("on_click", left)
    return st.download_button(label, make, name, f"{kind}; id={secrets.token_urlsafe(RANDOM)}", **given)
