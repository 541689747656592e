"""Options as text, for the command line and its help, links and typed controls. :func:`parse_option` reads back what
:func:`write` returns as the same value::

    ε          8.1        0.5,2 (one for each token)        [2] (a list of one)
    number     0.003      none or nothing, where None is the default
    flag       yes        no
    names      minilm-1,fasttext-2                          [] (no names)
    words      heck,damn (blanks and line ends part too)    [] (no words)
    name       some/file  "none" (a file of that name)      " a, b" (quotes keep spaces, and commas in a list)

A quote between quotes is doubled. :func:`describe` puts options into words, for tables; nothing parses those.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError
from ..support.checks import MOST_BITS, mask_path, pluralize, shorten_repr
from .blocklist import split
from .config import check
from .option_meta import option_meta
from .registry import fields_of

NONE = "none"
_EMPTY = "[]"
_FLAGS = {"yes": True, "no": False}
_DIGITS = re.compile(r"[+-]?([0-9]+)")
#: One entry of a list and the comma after it. Possessive, so that every text takes linear time.
_PLACE = re.compile(r'\s*+(?:"((?:[^"]++|"")*+)"\s*+|([^,"][^,]*+|))(,|\Z)')


def write(field: dataclasses.Field, value: Any) -> str:
    """Return an option's value as text. Raises ConfigError for an invalid value."""
    value, kind = check(field, value), option_meta(field).kind
    if value is None:
        return "" if NONE in (option_meta(field).choices or ()) else NONE
    if kind == "epsilon" and isinstance(value, tuple):
        listed = ",".join(map(format_value, value))
        return listed if len(value) > 1 else f"[{listed}]"
    if kind == "words":
        return ",".join(value) or _EMPTY
    if kind == "texts":
        return ",".join(_quote(v, field, ",") for v in value) or _EMPTY
    return _quote(value, field) if isinstance(value, str) else format_value(value)


def parse_option(field: dataclasses.Field, text: str) -> Any:
    """Return the value of a text, checked against the option. Raises ConfigError."""
    name, kind, choices = field.name, option_meta(field).kind, option_meta(field).choices or ()
    if not isinstance(text, str):
        raise ConfigError(f"{name} must be text, not {type(text).__name__}.")
    text = text.strip()
    if _can_be_none(field) and (not text or (text.lower() == NONE and text not in choices)):
        return None
    value: Any
    if kind == "epsilon":
        value = _epsilon(name, text)
    elif kind == "number":
        value = real(name, text)
    elif kind == "integer":
        value = parse_whole_number(name, text)
    elif kind == "flag":
        if (value := _FLAGS.get(text.lower())) is None:
            raise ConfigError(f"{name} must be yes or no, not {shorten_repr(text)}.")
    elif kind == "words":
        value = () if text == _EMPTY else split(text)
    elif kind == "texts":
        value = () if text == _EMPTY else _filled(name, text, _places(name, text))
    else:
        value = _unquoted(name, text)
    return check(field, value)


def flag(field: dataclasses.Field) -> str:
    """Return an option's name on the command line."""
    return "--" + field.name.replace("_", "-")


def real(name: str, text: str) -> float:
    """Return a number as people write it: Python's float would accept 1_0 too. Raises ConfigError."""
    try:
        if text.isascii() and "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise ConfigError(f"{shorten_repr(text)} is not a number. Write {name} as one, such as 0.5.")


def parse_whole_number(name: str, text: str) -> int:
    """Return a whole number as people write it. Raises ConfigError."""
    match = _DIGITS.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{shorten_repr(text)} is not a whole number. Write {name} in digits, such as 20.")
    if len(match[1]) > MOST_BITS:  # of more digits than bits; Python refuses to read much longer ones
        raise ConfigError(f"{name} is far too large. Give a smaller number.")
    return int(match[0])


def describe(options: Mapping[str, Any], mechanism: str) -> str:
    """Describe options in a few words, for tables and labels. Never raises: tables contain others' results."""
    fields: dict[str, dataclasses.Field] = {}
    with contextlib.suppress(ConfigError):
        fields = fields_of(mechanism)
    return ", ".join(in_words(name, value, fields.get(name)) for name, value in options.items())


def in_words(name: str, value: Any, field: dataclasses.Field | None = None) -> str:
    """Return an option with its value in words: its ``phrase`` or ``unset_phrase``, else the name and the value.

    For a file it returns the name, and not the folder.
    """
    meta = option_meta(field) if field is not None else None
    if value is None and meta is not None and meta.unset_phrase is not None:
        return meta.unset_phrase
    phrase = meta.phrase if meta is not None else None
    if isinstance(phrase, tuple):
        return phrase[bool(value)]
    if isinstance(phrase, Mapping):
        return phrase.get(value, f"{name} {value}")
    if meta is not None and meta.kind == "words" and isinstance(value, list | tuple):
        text = pluralize(len(value), "word")
    else:
        if field is not None:
            value = mask_path(field, value)
        text = "+".join(map(format_value, value)) if isinstance(value, list | tuple) else format_value(value)
    return f"{name} {text}" if phrase is None else phrase.replace("{}", text)


def format_value(value: Any) -> str:
    """Return a value as typed, numbers with no more digits than needed to distinguish them."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def _can_be_none(field: dataclasses.Field) -> bool:
    return field.default is None and option_meta(field).kind != "epsilon"


def _quote(value: str, field: dataclasses.Field, marks: str = "") -> str:
    """Return a name, quoted if it would be misread otherwise."""
    other = value != value.strip() or value.startswith('"') or any(m in value for m in marks)
    other = other or value == _EMPTY
    if _can_be_none(field) and value.lower() == NONE:
        other = other or value not in (option_meta(field).choices or ())
    return '"' + value.replace('"', '""') + '"' if other else value


def _places(name: str, text: str) -> tuple[str, ...]:
    """Return the entries between commas. Raises ConfigError."""
    entries, at = [], 0
    while True:
        if (place := _PLACE.match(text, at)) is None:
            raise ConfigError(
                f"{shorten_repr(text)} has an unclosed quote. Close it before the next comma of {name}, and double "
                "any quote inside a name."
            )
        entries.append(place[2].strip() if place[1] is None else place[1].replace('""', '"'))
        at = place.end()
        if not place[3]:
            return tuple(entries)


def _filled(name: str, text: str, places: tuple[str, ...]) -> tuple[str, ...]:
    if not all(places):
        raise ConfigError(f"{shorten_repr(text)} has an empty entry between commas. Remove it from {name}.")
    return places


def _unquoted(name: str, text: str) -> str:
    """Return one name. Only a text that begins with a quote is not taken literally. Raises ConfigError."""
    if not text.startswith('"'):
        return text
    if len(places := _places(name, text)) > 1:
        raise ConfigError(f"{name} must be one name, but {shorten_repr(text)} continues after the quotes. Remove the "
                          "rest.")
    return places[0]


def _epsilon(name: str, text: str) -> float | tuple[float, ...]:
    listed = text.startswith("[") and text.endswith("]")
    inner = text[1:-1].strip() if listed else text
    if listed and not inner:
        return ()
    if not listed and "," not in inner:
        return real(name, inner)
    return tuple(real(name, part) for part in _filled(name, text, tuple(p.strip() for p in inner.split(","))))
