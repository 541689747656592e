"""Forms made from the fields of a mechanism's config, so that a new mechanism gets its controls automatically."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from dptext_core import ConfigError, Mechanism, MechanismSpec, mechanism_class, words
from dptext_core.mechanisms import blocklist, codec, recommended
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.privacy.sentences import allowlist_note, blocklist_note
from dptext_core.words.lists import CONFIGURATIONS

from ..server import public_hosting
from .text import literal

#: The largest number of list names in a control or a link: that of L1.
MAX_LISTS = 10


def options(spec: MechanismSpec, key: str, skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Show controls for the options of the mechanism and return the values that differ from the default.

    Options in ``skip``, and those with a separate control, are left out.
    """
    fields = [
        f
        for f in dataclasses.fields(spec.config_cls)
        if f.name not in skip
        and option_meta(f).kind != "epsilon"
        and not option_meta(f).has_own_control
        and public_hosting.is_offered(option_meta(f))
    ]
    values: dict[str, Any] = {}
    cls = mechanism_class(spec.name)
    for field in (f for f in fields if not option_meta(f).advanced):
        values |= _control(cls, field, f"{key}-{spec.name}-{field.name}")
    folded = [f for f in fields if option_meta(f).advanced]
    if folded:
        with st.expander("More options"):
            for field in folded:
                values |= _control(cls, field, f"{key}-{spec.name}-{field.name}")
    return values


def begin_batch(spec: MechanismSpec, key: str) -> None:
    """Set the initial options of pages that rewrite data sets, before :func:`options` makes the controls."""
    for field in dataclasses.fields(spec.config_cls):
        if option_meta(field).begins_batch:
            st.session_state.setdefault(f"{key}-{spec.name}-{field.name}", True)


def option_control(spec: MechanismSpec, name: str, key: str) -> dict[str, Any]:
    """Show the control of one option that a page places separately. Return its value if that is not the default."""
    field = next(f for f in dataclasses.fields(spec.config_cls) if f.name == name)
    return _control(mechanism_class(spec.name), field, f"{key}-{spec.name}-{field.name}")


def widget_values(field: dataclasses.Field, value: Any, key: str) -> dict[str, Any]:
    """Return the session values under ``key`` that make the control of this option show ``value``."""
    if option_meta(field).word_lists:
        if len(value) == 1 and value[0] in CONFIGURATIONS:
            return {key: value[0]}
        return {key: "", f"{key}-names": list(value)}
    return {key: _widget_value(field, value)}


def _widget_value(field: dataclasses.Field, value: Any) -> Any:
    """Return a value in the form of its control: text for typed values and for optional flags, otherwise the value
    itself.
    """
    kind = option_meta(field).kind
    if _is_pill_choice(field) or (kind == "flag" and field.default is not None):
        return value
    if kind in ("number", "integer"):
        return None if value is None else int(value) if kind == "integer" else float(value)
    if kind == "flag":
        return None if value is None else codec.write(field, value)
    if kind == "words":
        return ", ".join(value)
    return codec.write(field, value) if value else ""


def _is_pill_choice(field: dataclasses.Field) -> bool:
    meta = option_meta(field)
    return meta.kind == "choice" or meta.names_model or meta.word_spaces or bool(meta.offered_names)


def _control(cls: type[Mechanism], field: dataclasses.Field, key: str) -> dict[str, Any]:
    try:
        value = _typed_value(cls, field, key)
    except ConfigError as error:
        st.error(literal(f"{error} The default is used instead."))
        return {}
    return {} if value is None or value == field.default else {field.name: value}


def _typed_value(cls: type[Mechanism], field: dataclasses.Field, key: str) -> Any:
    """Show the control of an option and return its value. Raise ConfigError for invalid input."""
    meta, default = option_meta(field), field.default
    label, help, kind = meta.label, meta.help, meta.kind
    if (known := public_hosting.offered_values(meta, default)) is not None:
        titles = {s.name: s.title for s in words.word_spaces()} if meta.word_spaces else {}
        return st.selectbox(label, known, format_func=lambda n: titles.get(n, n), help=help, key=key)
    if meta.word_lists:
        return _lists(label, help, key)
    if kind == "choice":
        choices = meta.choices or ()
        first = recommended.recommended_value(field)
        index = None if first is None else choices.index(first)
        return st.selectbox(label, choices, index=index, format_func=str.capitalize, help=help, key=key)
    start = _widget_value(field, recommended.recommended_value(field))
    if kind == "flag" and default is not None:
        return st.toggle(label, value=start, help=help, key=key)
    if kind == "flag":
        chosen = st.selectbox(label, ("yes", "no"), index=None, format_func=str.capitalize, help=help, key=key)
        return None if chosen is None else codec.parse_option(field, chosen)
    if kind in ("number", "integer"):
        # One type for all three: Streamlit rejects an integer next to floats.
        number = int if kind == "integer" else float
        low, high = (None if end is None else number(end) for end in (meta.min, meta.max))
        form: dict[str, Any] = {"step": 1} if kind == "integer" else {"format": "%g"}
        return st.number_input(label, min_value=low, max_value=high, value=start, help=help, key=key, **form)
    if kind == "words":
        typed = st.text_area(label, value=start, height=68, placeholder="For example: heck, darn", help=help, key=key)
        value, wrong = _words(cls, field, typed)
        if wrong:
            st.error(literal(wrong))
        note = allowlist_note if meta.copies_words else blocklist_note
        st.caption(note(len(value)) if value else "The list is empty.")
        return value
    typed = st.text_input(label, value=start, help=help, key=key)
    return default if typed == start else codec.parse_option(field, typed)


def _words(cls: type[Mechanism], field: dataclasses.Field, typed: str) -> tuple[tuple[str, ...], str]:
    """Return the valid words of a list, and an error about the others.

    Words that can be excluded are, even if others in the list are invalid. Raise ConfigError if the mechanism takes no
    list.
    """

    def taken(text: str) -> tuple[str, ...]:
        value = codec.parse_option(field, text)
        if not option_meta(field).copies_words:
            cls.check_never(blocklist.Blocklist(frozenset(value)), cls.config_cls())
        return value

    try:
        return taken(typed), ""
    except ConfigError as error:
        good, letters = [], 0
        for word in dict.fromkeys(blocklist.split(typed)):
            try:
                taken(word)
            except ConfigError:
                continue
            if (letters := letters + len(word) + 1) <= blocklist.MOST:
                good.append(word)
        if not good:
            raise
        return taken(", ".join(good)), f"{error} The other words still apply."


def _lists(label: str, help: str, key: str) -> tuple[str, ...]:
    """Show one of the paper's configurations, or lists chosen by name."""
    named = {
        "L2": "L2: one list",
        "L0": "L0: five lists, one per word space",
        "L1": "L1: ten lists, two per word space",
        "": "Lists by name …",
    }
    chosen = st.selectbox(label, list(named), format_func=named.__getitem__, help=help, key=key)
    if chosen:
        return (chosen,)
    several = st.multiselect("Names of lists", words.word_lists(), max_selections=MAX_LISTS, key=f"{key}-names")
    return tuple(several) or ("L2",)
