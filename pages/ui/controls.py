"""Forms made from the fields of a mechanism's config, so that a new mechanism brings its own controls."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from dptext_core import MechanismSpec, mechanism_class, models, words


def options(spec: MechanismSpec, key: str, skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Controls for every option of the mechanism but those in ``skip``; what differs from the default."""
    fields = [
        f
        for f in dataclasses.fields(spec.config_cls)
        if f.name not in skip and f.metadata["kind"] != "epsilon" and f.metadata.get("page", True)
    ]
    values: dict[str, Any] = {}
    for field in (f for f in fields if not f.metadata["advanced"]):
        values |= _control(field, f"{key}-{spec.name}-{field.name}")
    folded = [f for f in fields if f.metadata["advanced"]]
    if folded:
        with st.expander("More options"):
            for field in folded:
                values |= _control(field, f"{key}-{spec.name}-{field.name}")
    return values


def one(spec: MechanismSpec, name: str, key: str) -> dict[str, Any]:
    """The control of one option, where a page places it by itself; its value if that is not the default."""
    field = next(f for f in dataclasses.fields(spec.config_cls) if f.name == name)
    return _control(field, f"{key}-{spec.name}-{field.name}")


def _control(field: dataclasses.Field, key: str) -> dict[str, Any]:
    meta, default = field.metadata, _default(field)
    label, help = meta["label"], meta["help"]
    value: Any
    if meta["kind"] == "flag":
        value = st.toggle(label, value=default, help=help, key=key)
    elif meta["kind"] == "choice":
        value = st.selectbox(
            label, meta["choices"], index=meta["choices"].index(default), format_func=str.capitalize, help=help, key=key
        )
    elif meta.get("models"):
        known = list(dict.fromkeys([default, *(m.id for m in models.list_models())]))
        value = st.selectbox(label, known, help=help, key=key)
    elif meta.get("spaces"):
        titles = {s.name: s.title for s in words.word_spaces()}
        value = st.selectbox(label, list(titles), format_func=titles.__getitem__, help=help, key=key)
    elif meta.get("lists"):
        value = _lists(label, help, key)
    elif meta["kind"] == "text":
        value = st.text_input(label, value=default or "", help=help, key=key)
        value = value.strip() or None
    elif meta["kind"] == "integer":
        value = st.number_input(
            label, min_value=meta["min"], max_value=meta["max"], value=default, step=1, help=help, key=key
        )
    else:
        value = st.number_input(
            label, min_value=meta["min"], max_value=meta["max"], value=default, help=help, key=key, format="%g"
        )
    return {} if value is None or value == default else {field.name: value}


def _lists(label: str, help: str, key: str) -> tuple[str, ...]:
    """One of the paper's configurations, or lists chosen by name."""
    named = {
        "L2": "L2: one list",
        "L0": "L0: five lists, one of each word space",
        "L1": "L1: ten lists, two of each word space",
        "": "Lists by name …",
    }
    chosen = st.selectbox(label, list(named), format_func=named.__getitem__, help=help, key=key)
    if chosen:
        return (chosen,)
    several = st.multiselect("Names of lists", words.word_lists(), max_selections=10, key=f"{key}-names")
    return tuple(several) or ("L2",)


def epsilon_range(spec: MechanismSpec, chosen: dict[str, Any]) -> tuple[float, float, float]:
    """Lower end, upper end and default of the mechanism's ε axis for the chosen options."""
    return mechanism_class(spec.name).epsilon_range(chosen)


def _default(field: dataclasses.Field) -> Any:
    """The default of a config field; every option has one."""
    return field.default
