"""Text from users: read from files, and shown literally."""

from __future__ import annotations

import re
from typing import Any

from dptext_core import Document, InputError
from dptext_core.support import hosting
from dptext_core.support.checks import without_marks
from dptext_core.text import document
from dptext_core.text.document import has_more
from dptext_core.text.tokenizing import LETTERS

from ..server.public_hosting import limits

#: The largest accepted file, in MB as Streamlit counts them.
MAX_MB = 1
#: Where an address or an e-mail would become a link, escaped or not: a zero-width character keeps it text.
_LINK = re.compile(r"(?i)(?<=http:)(?=//)|(?<=https:)(?=//)|(?<=www)(?=\.)|(?<=[-.\w+]@)(?=[-\w])")
#: Above this, a browser's number loses its last digit, so it is not one of ours.
MOST = 1 << 53
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~:$&=^@/\"'])")


def literal(text: str) -> str:
    """Return ``text`` in a form that Streamlit's Markdown shows literally: no markup, links, pictures or formulas."""
    return _MARKDOWN.sub(r"\\\1", _LINK.sub("\u2060", text))


def number(told: Any) -> float | None:
    """Return a number from the browser; None if it is not a count."""
    if isinstance(told, bool) or not isinstance(told, int | float) or not abs(told) < MOST:
        return None
    return told


def too_long(text: str, otherwise: str = "") -> str:
    """Return an error for a text that is too long for a page, with the alternatives on your own machine; empty for any
    other text.

    Every token counts that a mechanism may replace: words, clitics and punctuation marks.
    """
    most = limits().words
    further = "" if hosting.is_public_host() else otherwise
    if why := document.too_long(text):
        return why
    if len(text) <= most or not has_more(text, most):  # no token without a character
        return ""
    has = f"{len(Document.parse(text).words):,}" if len(text) <= LETTERS * most else "many more"
    return f"This page accepts up to {most:,} words and punctuation marks. This text has {has}. Shorten it{further}."


def shorten(text: str) -> str:
    """Return the beginning of a text, as much as a page accepts."""
    most = limits().words
    text = text[: LETTERS * most]
    tokens = Document.parse(text).tokens
    return text[: tokens[most - 1].end] if len(tokens) > most else text


def decode(data: bytes, name: str = "The file") -> str:
    """Return the text of an uploaded file. Raise InputError that says what to do."""
    if len(data) > MAX_MB << 20:
        raise InputError(
            f"{name} is larger than {MAX_MB} MB. Upload a shorter text"
            + ("." if hosting.is_public_host() else ", or rewrite it from the command line.")
        )
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        text = without_marks(data.decode(encoding))
    except UnicodeDecodeError:
        raise InputError(f"{name} is not plain text in UTF-8. Save it as UTF-8 text and upload it again.") from None
    if "\0" in text:
        raise InputError(f"{name} looks like a binary file. Upload plain text (.txt).")
    if not text.strip():
        raise InputError(f"{name} is empty. Choose a file with text in it.")
    return text


def named_words(named: str, most: int) -> tuple[tuple[str, ...], int]:
    """Return the first words of a list separated by commas, and the number of the others."""
    words = tuple(word.strip() for word in named.split(",") if word.strip())
    return words[:most], max(0, len(words) - most)
