"""Files to download, at addresses that nobody can work out."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import streamlit as st

#: Bytes that are random in every address.
RANDOM = 16


def button(label: str, data: str | bytes | Callable[[], str | bytes], name: str, kind: str, **given: Any) -> bool:
    """A button that downloads a file; whether it was just pressed. data: of the file, or what makes it. kind: its MIME
    type. given: as ``st.download_button`` takes it, always with a key.

    Streamlit gives a file to everyone who asks for its address, and makes that address from the file's content, name
    and kind: whoever can guess them could ask whether somebody else has that file. So the kind has a random part, and
    nothing has an address before it is asked for.
    """
    make = data if callable(data) else lambda: data
    return st.download_button(label, make, name, f"{kind}; id={secrets.token_urlsafe(RANDOM)}", **given)
