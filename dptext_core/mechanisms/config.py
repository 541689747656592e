"""Options of mechanisms: frozen dataclasses whose field metadata carries label, help, range and choices.

Pages and the command line are made from this metadata, and every value is checked against it before a model is
loaded.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from ..distribution import MAX_EPSILON
from ..errors import ConfigError


def option(
    default: Any,
    *,
    label: str,
    help: str,
    kind: str = "number",
    min: float | None = None,
    max: float | None = None,
    unit: str = "",
    choices: Sequence[str] | None = None,
    advanced: bool = False,
    live: bool = False,
    **more: Any,
) -> Any:
    """A dataclass field with the metadata that forms and checks are made from.

    kind: "number", "integer", "flag", "choice", "text", "texts" (a tuple of texts) or "epsilon". live: changing it
    needs no new model pass. advanced: shown folded. More entries: ``models=True`` offers the models of this machine;
    ``page=False`` keeps what names a file of the server off the pages.
    """
    meta = {
        "label": label, "help": help, "kind": kind, "min": min, "max": max, "unit": unit,
        "choices": tuple(choices) if choices else None, "advanced": advanced, "live": live, **more,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=meta)


def epsilon_option(default: float, low: float, high: float, unit: str = "per word") -> Any:
    """The field ``epsilon``; ``low`` and ``high`` are the ends of its slider, not the limits of what is allowed."""
    return option(
        default,
        label="Privacy budget ε",
        help="Smaller is more private, larger is closer to the original. It is spent on every word that is replaced.",
        kind="epsilon",
        min=0.0,
        max=MAX_EPSILON,
        unit=unit,
        live=True,
        low=low,
        high=high,
    )


def keep_stopwords_option() -> Any:
    """The field ``keep_stopwords``."""
    return option(
        True,
        label="Keep stop words",
        kind="flag",
        help="Words such as the, of, not stay as they are. They cost nothing, and everyone can read them.",
    )


def recase_option() -> Any:
    """The field ``recase``."""
    return option(
        "sentence",
        label="Capital letters",
        kind="choice",
        choices=("sentence", "none", "original"),
        advanced=True,
        live=True,
        help="Sentence: first word of a sentence and I, by position. Original copies the capital of the original "
        "word, which everyone can then see.",
    )


def stopwords_option() -> Any:
    """The field ``stopwords``: a file, so that no page offers it."""
    return option(
        None,
        label="Stop word file",
        kind="text",
        advanced=True,
        page=False,
        help="One word a line. Empty: NLTK's list where its data is installed, else gensim's.",
    )


def build(cls: type, values: Mapping[str, Any]) -> Any:
    """An instance of the config class ``cls``, checked. Raises ConfigError for anything unknown or out of range."""
    fields = {f.name: f for f in dataclasses.fields(cls)}
    unknown = [k for k in values if k not in fields]
    if unknown:
        raise ConfigError(f"Unknown option {unknown[0]!r}. This mechanism has: {', '.join(fields)}.")
    return cls(**{name: check(fields[name], value) for name, value in values.items()})


def check(field: dataclasses.Field, value: Any) -> Any:
    """``value`` as the field wants it, or ConfigError."""
    meta, name = field.metadata, field.name
    kind = meta["kind"]
    if value is None and field.default is None:
        return None
    if kind == "epsilon" and isinstance(value, Sequence) and not isinstance(value, str):
        if not value:
            raise ConfigError(f"{name} is an empty list. Give one ε, or one for each token.")
        return tuple(_number(name, v, meta, exclusive_min=True) for v in value)
    if kind in ("number", "epsilon"):
        return _number(name, value, meta, exclusive_min=kind == "epsilon")
    if kind == "integer":
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise ConfigError(f"{name} is a whole number, not {value!r}.")
        return int(_number(name, value, meta))
    if kind == "flag":
        if not isinstance(value, bool):
            raise ConfigError(f"{name} is True or False, not {value!r}.")
        return value
    if kind == "choice":
        if value not in meta["choices"]:
            raise ConfigError(f"{name} is one of {', '.join(meta['choices'])}, not {value!r}.")
        return value
    if kind == "texts":
        if isinstance(value, str) or not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{name} is a list of names, not {value!r}.")
        return tuple(value)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{name} is a name, not {value!r}.")
    return value


def _number(name: str, value: Any, meta: Mapping[str, Any], exclusive_min: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ConfigError(f"{name} is a number, not {value!r}.")
    x = float(value)
    low, high = meta["min"], meta["max"]
    if not math.isfinite(x):
        raise ConfigError(f"{name} is a finite number, not {x}.")
    if low is not None and (x < low or (exclusive_min and x <= low)):
        raise ConfigError(f"{name} must be {'above' if exclusive_min else 'at least'} {low:g}; it is {x:g}.")
    if high is not None and x > high:
        why = (
            " Beyond it, float64 gives some words the probability 0 under one text and not under another, "
            "and then no finite ε holds."
            if meta["kind"] == "epsilon"
            else ""
        )
        raise ConfigError(f"{name} must be at most {high:g}; it is {x:g}.{why}")
    return x
