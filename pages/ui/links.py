"""A mechanism's settings in the page's address. Never a text: addresses are stored and logged.

What comes in an address is checked like any other input, and against what the page's own controls offer: an address
must not name a file of the server.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import dptext_core as dpt
from dptext_core import models, words
from dptext_core.mechanisms.config import check
from dptext_core.words.lists import CONFIGURATIONS

#: What a link sets: {"mechanism": name, "options": {name: value}, "epsilon": ε}. Options not named have their default.
Setting = dict[str, Any]
#: Set by another kind of control than the one of their field.
_APART = frozenset({"clip_min", "clip_max"})
_FLAGS = {"yes": True, "no": False}
MAX_LISTS = 10


def to_query(setting: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of the address. Options that the page has no control for, and defaults, are left out."""
    fields = _fields(setting["mechanism"])
    query = {"mechanism": setting["mechanism"], "epsilon": f"{float(setting['epsilon']):.10g}"}
    for name, value in setting["options"].items():
        if name in fields and not _same(fields[name], value):
            query[name] = _text(value)
    return query


def from_query(params: Mapping[str, str]) -> tuple[Setting | None, str | None]:
    """The setting of an address and None, or None and what is wrong with it; both None where it carries no setting."""
    if "mechanism" not in params:
        return None, None
    name = params["mechanism"]
    try:
        fields = _fields(name)
        epsilon_field = next(f for f in dataclasses.fields(dpt.mechanism_class(name).config_cls) if f.name == "epsilon")
        epsilon = check(epsilon_field, _number("epsilon", params["epsilon"])) if "epsilon" in params else None
        options = {}
        for key, text in params.items():
            if key in ("mechanism", "epsilon"):
                continue
            if key not in fields:
                raise dpt.ConfigError(f"{name} has no option {key!r} that a link can set.")
            value = _value(fields[key], text)
            if not _same(fields[key], value):
                options[key] = value
        dpt.get_mechanism(name, **options)
    except dpt.DPTextError as error:
        return None, f"This link was not followed: {error}"
    low, _, default = dpt.mechanism_class(name).epsilon_range(options)
    if epsilon is None:
        epsilon = default
    if epsilon < low / 1000:
        return (
            None,
            f"This link was not followed: at ε {epsilon:g} {name} keeps nothing of a text. Use {low:g} or more.",
        )
    return {"mechanism": name, "options": options, "epsilon": float(epsilon)}, None


def widget_state(setting: Setting, key: str) -> dict[str, Any]:
    """Values for the controls that ``controls.options`` makes under this key: the setting's, for the rest defaults."""
    values: dict[str, Any] = {}
    for name, field in _fields(setting["mechanism"]).items():
        at = f"{key}-{setting['mechanism']}-{name}"
        value = setting["options"].get(name, field.default)
        if field.metadata.get("lists"):
            named = len(value) == 1 and value[0] in CONFIGURATIONS
            values[at] = value[0] if named else ""
            if not named:
                values[f"{at}-names"] = list(value)
        else:
            values[at] = "" if value is None and field.metadata["kind"] == "text" else value
    return values


def _fields(mechanism: str) -> dict[str, dataclasses.Field]:
    """The options that the page has controls for."""
    return {
        f.name: f
        for f in dataclasses.fields(dpt.mechanism_class(mechanism).config_cls)
        if f.metadata["kind"] != "epsilon" and f.metadata.get("page", True) and f.name not in _APART
    }


def _same(field: dataclasses.Field, value: Any) -> bool:
    """Whether this is the option's default."""
    return value is None or (tuple(value) if isinstance(value, list) else value) == field.default


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise dpt.ConfigError(f"{name} is a number, not {text[:40]!r}.") from None


def _value(field: dataclasses.Field, text: str) -> Any:
    """A parameter as the option wants it, and as its control offers it. Raises ConfigError."""
    meta, name = field.metadata, field.name
    value: Any = text
    if meta["kind"] == "flag":
        if text not in _FLAGS:
            raise dpt.ConfigError(f"{name} is yes or no, not {text[:40]!r}.")
        value = _FLAGS[text]
    elif meta["kind"] in ("number", "integer"):
        value = _number(name, text)
        if meta["kind"] == "integer" and value.is_integer():
            value = int(value)
    elif meta["kind"] == "texts":
        value = tuple(text.split(","))
    offered = None
    if meta.get("spaces"):
        offered = [s.name for s in words.word_spaces()]
    elif meta.get("models"):
        offered = [str(field.default), *(m.id for m in models.list_models())]
    if offered is not None and value not in offered:
        raise dpt.ConfigError(f"{name} is one of {', '.join(offered)} on this machine, not {text[:40]!r}.")
    if meta.get("lists") and not (len(value) == 1 and value[0] in CONFIGURATIONS):
        known = words.word_lists()
        if not 0 < len(value) <= MAX_LISTS or any(v not in known for v in value) or len(set(value)) < len(value):
            raise dpt.ConfigError(f"{name} is L0, L1, L2, or up to {MAX_LISTS} of {', '.join(known)}, each once.")
    return check(field, value)
