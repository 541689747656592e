"""Public lists of stand-ins, one for each form of a flagged token. Each entry of a list is equally likely."""

from __future__ import annotations

import hashlib
import re
import tomllib
from datetime import date, timedelta
from functools import cache

from ...support.assets import assets_folder
from ...text.language import Language
from .flags import FORMS

#: Number of stand-ins for a shape with more than three digits or with letters.
MANY = 1000
#: The possible ages and years.
AGES, YEARS = range(18, 100), range(1930, 2026)
#: A day, with or without its year, or a month of a year.
DATE_SHAPE = re.compile(r"9{4}([-/.])99?\1 ?99?|99?([-/.])99?\2(?:9999|99)|99?/9999|9999-99|99/99")
TIME_SHAPE = re.compile(r"99?:99(?::99)?(?:am|pm)?")
_LONG = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_ORDINALS = ["second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


def candidates(form: str, language: Language) -> tuple[str, ...]:
    """Return the stand-ins for a form: public, in a fixed order, each once, independent of any flagged word."""
    # A shape comes from a private text, so it must not be cached in the process.
    return _named(form) if form in FORMS else _shapes(form, language)


@cache
def _named(form: str) -> tuple[str, ...]:
    if form in ("first name", "family name", "place", "street"):
        return _listed()[form]
    if form == "initial":
        return tuple(f"{letter}." for letter in "ABCDEFGHIJKLMNOPRSTVWYZ")
    if form in ("month", "weekday"):
        return tuple(word.capitalize() for word in (_LONG if form == "month" else _DAYS))
    if form in ("day", "year"):
        return tuple(map(str, range(1, 29) if form == "day" else YEARS))
    if form == "ordinal":
        return tuple(f"{n}{_suffix(n)}" for n in range(1, 29))
    if form == "number word":
        return ("eighteen", "nineteen", *_TENS, *(f"{ten}-{one}" for ten in _TENS for one in _ONES))
    if form == "ordinal word":
        return tuple(_ORDINALS)
    return _addresses(form)


@cache
def _listed() -> dict[str, tuple[str, ...]]:
    lists = tomllib.loads((assets_folder() / "words" / "stand_ins.toml").read_text(encoding="utf-8"))
    return {
        form: tuple(dict.fromkeys(lists[name].split()))
        for form, name in (
            ("first name", "first_names"),
            ("family name", "family_names"),
            ("place", "places"),
            ("street", "streets"),
        )
    }


def _addresses(form: str) -> tuple[str, ...]:
    first, family = ([name.lower() for name in _listed()[kind]] for kind in ("first name", "family name"))
    pairs = zip(first, family, strict=False)
    if form == "e-mail address":
        return tuple(f"{one}.{other}@example.org" for one, other in pairs)
    return tuple(f"www.{one}-{other}.example" for one, other in pairs)


def _suffix(n: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(n % 10 * (n % 100 not in (11, 12, 13)), "th")


def _shapes(shape: str, language: Language) -> tuple[str, ...]:
    """Return words of a shape. A lone number of two digits is an age from 18; times and dates exist, in any order.

    More than three digits, or letters: ``MANY`` words that a public hash of the shape chooses.
    """
    if DATE_SHAPE.fullmatch(shape):
        return tuple(dict.fromkeys(_dated(shape, k) for k in range(MANY)))
    if TIME_SHAPE.fullmatch(shape):
        return tuple(dict.fromkeys(_timed(shape, k) for k in range(MANY)))
    runs = re.findall("9+", shape)
    mask = _letters(shape, language)
    if len(runs) == 1 and len(runs[0]) <= 3 and not any(mask):
        size = len(runs[0])
        numbers = AGES if size == 2 else range(10 ** (size - 1), 10**size)
        return tuple(shape.replace(runs[0], str(n)) for n in numbers)
    return tuple(dict.fromkeys(_filled(shape, mask, k) for k in range(MANY)))


def _letters(shape: str, language: Language) -> list[bool]:
    """Return which characters of a shape represent a letter, as opposed to a unit."""
    mask = [c in "Aa" for c in shape]
    for part in re.finditer(r"[a-z]+", shape):
        if part[0] in language.clues.number_units or set(part[0]) != {"a"}:
            mask[part.start() : part.end()] = [False] * len(part[0])
    return mask


def _filled(shape: str, mask: list[bool], k: int) -> str:
    digest = hashlib.sha512(f"{shape}:{k}".encode()).digest() * (len(shape) // 64 + 1)
    out = []
    for i, (char, letter, byte) in enumerate(zip(shape, mask, digest, strict=False)):
        if char == "9":
            lead = i == 0 or shape[i - 1] != "9"
            out.append(str(byte % 9 + 1 if lead else byte % 10))
        elif letter:
            out.append(chr(ord(char) + byte % 26))
        else:
            out.append(char)
    return "".join(out)


def _dated(shape: str, k: int) -> str:
    """Return a day from 1930 to 2025 in this order of year, month and day, which is at most 12."""
    when = date(YEARS[0], 1, 1) + timedelta(days=(k * 7919) % 35_000)
    day = when.day % 12 + 1
    parts = re.findall(r"9+|[^9]+", shape)
    slots = [i for i, part in enumerate(parts) if part[0] == "9"]
    values = {"year": when.year, "month": when.month, "day": day}
    order = ["year", "month", "day"] if len(parts[slots[0]]) == 4 else ["day", "month", "year"]
    if len(slots) == 2 and len(parts[slots[1]]) == 4:
        del order[0]
    for slot, name in zip(slots, order, strict=False):
        size = len(parts[slot])
        value = values[name] % 10 ** min(size, 4) if name == "year" else values[name]
        parts[slot] = str(value % 9 + 1 if size == 1 and name != "year" else value).zfill(size)
    return "".join(parts)


def _timed(shape: str, k: int) -> str:
    """Return a time of day: before "am" and "pm", from 1 to 12 o'clock."""
    hour, minute = divmod((k * 7919) % 1440, 60)
    size = len(shape.split(":")[0])
    if size == 1 or shape.endswith("m"):
        hour = hour % 9 + 1 if size == 1 else hour % 12 + 1
    values = (hour, minute, (k * 31) % 60)
    unit = shape[-2:] if shape.endswith("m") else ""
    return ":".join(str(v).zfill(size if i == 0 else 2) for i, v in enumerate(values[: shape.count(":") + 1])) + unit
