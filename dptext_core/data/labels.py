"""Class labels, in one form for all kinds of files."""

from __future__ import annotations

import math
import numbers
import re
import unicodedata
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np

from ..support.checks import pluralize, shorten_repr

#: A number as people write a class: without an exponent, and not a code such as 01.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?")
#: Maximum number of labels in a message.
_NAMED = 5


def label_of(value: Any) -> str | None:
    """Return the name of a label; None for a missing one.

    JSON Lines may have 1.0 where a table has 1: equal numbers are one label, as are true and True. Blanks around a
    label do not count. True and 1 are two labels, and so are Spam and spam.
    """
    if value is None or (isinstance(value, numbers.Real | Decimal) and value != value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, numbers.Real | Decimal) and math.isfinite(value):
        number: Any = value
        if number == int(number):
            return str(int(number))
    text = unicodedata.normalize("NFC", str(value)).strip()
    if _NUMBER.fullmatch(text):
        digits, _, part = text.partition(".")
        part = part.rstrip("0")
        return digits + (f".{part}" if part else "") if part or digits != "-0" else "0"
    return text.lower() if text.lower() in ("true", "false") else text or None


def list_labels(labels: Collection[str], of: str = "") -> str:
    """Return how many labels there are and the first few of them, for a message; of: the file that contains them."""
    first = ", ".join(shorten_repr(label) for label in sorted(labels)[:_NAMED])
    return (
        f"{pluralize(len(labels), 'label')}{f' of {of}' if of else ''} ({first}{', …' if len(labels) > _NAMED else ''})"
    )
