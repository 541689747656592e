"""Text from users: read from files, and shown literally."""

from __future__ import annotations

import re
from typing import Any

from dptext_core import Document, InputError, hosting
from pages.ui.public import limits

#: The largest file that is read, in MB as Streamlit counts them.
MAX_MB = 1
#: Where an address or an e-mail would become a link, escaped or not: a mark without width keeps it text.
_LINK = re.compile(r"(?i)(?<=http:)(?=//)|(?<=https:)(?=//)|(?<=www)(?=\.)|(?<=[-.\w+]@)(?=[-\w])")
#: Beyond it a number of a browser has no last digit, and is none of ours.
MOST = 1 << 53
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~:$&=^@/\"'])")


def literal(text: str) -> str:
    """``text`` so that Streamlit's Markdown shows it as it is: no markup, no link, no picture, no formula."""
    return _MARKDOWN.sub(r"\\\1", _LINK.sub("\u2060", text))


def number(told: Any) -> float | None:
    """A number that a browser told; None where it is none that counts something."""
    if isinstance(told, bool) or not isinstance(told, int | float) or not abs(told) < MOST:
        return None
    return told


def number_of_words(text: str) -> int:
    """How many words a text has; 0 for one that is too short to have too many."""
    if len(text) < 2 * limits().words:  # a word and its space
        return 0
    return sum(t.kind in ("word", "number") for t in Document.parse(text).tokens)


def too_long(text: str, otherwise: str = "") -> str:
    """What to say of a text with too many words for a page, and what else one can do on one's own machine; empty for
    any other."""
    most = limits().words
    if (words := number_of_words(text)) <= most:
        return ""
    further = "" if hosting.public() else otherwise
    return f"This page takes up to {most:,} words, and this text has {words:,}. Shorten it{further}."


def decode(data: bytes, name: str = "The file") -> str:
    """The text of an uploaded file. Raises InputError that says what to do."""
    if len(data) > MAX_MB << 20:
        raise InputError(
            f"{name} is larger than {MAX_MB} MB. Upload a shorter text"
            + ("." if hosting.public() else ", or rewrite it from the command line.")
        )
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise InputError(f"{name} is not plain text in UTF-8. Save it as UTF-8 text and upload it again.") from None
    if "\0" in text:
        raise InputError(f"{name} looks like a binary file. Upload plain text (.txt).")
    if not text.strip():
        raise InputError(f"{name} is empty. Choose a file with text in it.")
    return text
