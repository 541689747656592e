"""The settings of a mechanism in the page's address. Never a text: addresses are stored and logged.

The content of an address is checked like any other input, and against the page's controls: an address must not name a
file on the server.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core import Setting, words
from dptext_core.mechanisms import codec, recommended
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import fields_of
from dptext_core.support.assets import Example, examples
from dptext_core.support.checks import mask_path, shorten_repr
from dptext_core.words.lists import CONFIGURATIONS

from ..server import public_hosting
from ..server.runs import Inputs
from ..server.session import session
from . import controls
from .controls import MAX_LISTS

#: The parameter of an address that names a bundled example.
EXAMPLE = "example"


def to_query(setting: Setting) -> dict[str, str]:
    """Return the parameters of the address, without options that have no control on the page, typed values, and initial
    values of pages.

    Raises ConfigError for an invalid option value.
    """
    return _query(setting, _linked_fields(setting.mechanism))


def to_file(setting: Setting) -> dict[str, str]:
    """Return the same with typed values and initial values of pages, for a file that stays with the user.

    :func:`from_query` reads it.
    """
    return _query(setting, _fields(setting.mechanism), True)


def from_file(query: Mapping[str, str]) -> dict[str, str]:
    """Convert the output of :func:`to_file`, also of an older version, for :func:`from_query`.

    Options that it does not name have their defaults, even if pages now start with other values.
    """
    name = query.get("mechanism", "")
    begun = recommended.recommended_fields(name) if any(s.name == name for s in dpt.mechanisms()) else {}
    return {n: codec.write(f, f.default) for n, f in begun.items()} | dict(query)


def _query(setting: Setting, fields: Mapping[str, dataclasses.Field], file: bool = False) -> dict[str, str]:
    elsewhere = {n: f.default for n, f in recommended.recommended_fields(setting.mechanism).items()}
    values = {
        name: value
        for name, value in (elsewhere | dict(setting.options)).items()
        if name in fields
        and not _can_link(fields[name], value)
        and (not _equals_default(fields[name], value) or (file and name in elsewhere))
    }
    epsilon = setting.epsilon if dpt.mechanism_class(setting.mechanism).uses_epsilon else None
    return Setting(setting.mechanism, values, epsilon).to_query()


def _can_link(field: dataclasses.Field, value: Any) -> bool:
    """Return False for a value that names a place on this machine: it goes into no address and no file."""
    return mask_path(field, value) != value


def link_of_run(inputs: Inputs, epsilon: float, file: bool = False) -> tuple[dict[str, str], list[str]]:
    """Return the parameters for a run at this ε, and the options that no link (without ``file``) can carry."""
    missing = [] if inputs.seed is None else ["the seed"]
    setting = inputs.setting.at(float(f"{epsilon:.6g}"))
    if inputs.epsilon is not None:
        missing.append("the ε of each word")
        setting = setting.at(None)
    fields = (_fields if file else _linked_fields)(inputs.mechanism)
    return _query(setting, fields, file), missing + omitted_options([setting], fields)


def from_query(
    params: Mapping[str, str], refused: str = "This link was not followed"
) -> tuple[Setting | None, str | None]:
    """Return (setting, None) for an address, (None, error) if it is invalid, and (None, None) if it has no setting."""
    if "mechanism" not in params:
        return None, f"{refused}: it has an ε but no mechanism. Add a mechanism." if "epsilon" in params else None
    name = params["mechanism"]
    try:
        fields = _fields(name)
        if not dpt.mechanism_class(name).uses_epsilon:
            params = {key: value for key, value in params.items() if key != "epsilon"}
        for key in params.keys() - {"mechanism", "epsilon"} - fields.keys():
            raise dpt.ConfigError(f"{name} has no option {shorten_repr(key)} that a link can set. Remove it.")
        setting = Setting.from_query(params)
        if isinstance(setting.epsilon, tuple):
            raise dpt.ConfigError("“epsilon” must be one number in a link, not one per word.")
        for key, value in setting.options.items():
            _check_offered(fields[key], value)
        given = recommended.with_recommended(setting).options
        options = {key: value for key, value in given.items() if value is not None and value != fields[key].default}
        Setting(name, options).make()
    except dpt.DPTextError as error:
        return None, f"{refused}: {error}"
    low, _, default = dpt.mechanism_class(name).epsilon_range(options)
    epsilon = float(default if setting.epsilon is None else setting.epsilon)
    if epsilon < low / 1000:
        return (
            None,
            f"{refused}: at ε = {epsilon:g}, {name} preserves nothing of a text. Use {low:g} or more.",
        )
    return Setting(name, options, epsilon), None


def without_example(params: Mapping[str, str]) -> tuple[dict[str, str], Example | None]:
    """Return the parameters of an address without the example that it names, and that example."""
    query = dict(params)
    name = query.pop(EXAMPLE, "")
    return query, next((e for e in examples() if _slug(e) == name), None)


def example_to_query(text: str) -> dict[str, str]:
    """Return the parameter that names a bundled example, if the text is one. The page starts with the first one, which
    needs none.
    """
    example = next((e for e in examples()[1:] if e.text == text), None)
    return {} if example is None else {EXAMPLE: _slug(example)}


def _slug(example: Example) -> str:
    return example.title.lower().replace(" ", "-")


def several_to_query(settings: Sequence[Setting]) -> dict[str, str]:
    """Return the parameters for several settings; those of each start with its number."""
    return {f"{n}.{k}": v for n, setting in enumerate(settings, 1) for k, v in to_query(setting).items()}


def several_from_query(params: Mapping[str, str]) -> tuple[list[Setting], str]:
    """Return the settings of such an address and an error; no setting if the address has none or invalid ones."""
    each: dict[int, dict[str, str]] = {}
    for key, text in params.items():
        place, _, name = key.partition(".")
        if name and place.isascii() and place.isdigit() and len(place) < 3:
            each.setdefault(int(place), {})[name] = text
    settings = []
    for number in sorted(each):
        setting, problem = from_query(each[number])
        if problem:
            return [], problem
        if setting is not None:
            settings.append(setting)
    return settings, ""


def omitted_options(settings: Sequence[Setting], fields: Mapping[str, dataclasses.Field] | None = None) -> list[str]:
    """Return the titles of the options that no link can carry. fields: the ones that can, if it is not a link."""
    said: dict[str, None] = {}
    for setting in settings:
        known = _linked_fields(setting.mechanism) if fields is None else fields
        config = fields_of(setting.mechanism)
        said |= dict.fromkeys(
            option_meta(config[name]).label
            for name, value in setting.options.items()
            if name not in known or _can_link(known[name], value)
        )
    return list(said)


def widget_state(setting: Setting, key: str) -> dict[str, Any]:
    """Return values for the controls that ``controls.options`` makes under this key: those of the setting, and defaults
    for the rest.
    """
    values: dict[str, Any] = {}
    for name, field in _fields(setting.mechanism).items():
        value = setting.options.get(name, field.default)
        values |= controls.widget_values(field, value, f"{key}-{setting.mechanism}-{name}")
    return values


def _fields(mechanism: str) -> dict[str, dataclasses.Field]:
    """Return the options that have controls on the page."""
    described = ((name, field, option_meta(field)) for name, field in fields_of(mechanism).items())
    return {
        name: field
        for name, field, meta in described
        if name != "epsilon" and public_hosting.is_offered(meta) and not meta.has_own_control
    }


def _linked_fields(mechanism: str) -> dict[str, dataclasses.Field]:
    """Return the options that an address may contain."""
    return {name: field for name, field in _fields(mechanism).items() if option_meta(field).in_links}


def open_explore(setting: Setting) -> None:
    """Go to Explore with this setting. Options that no address carries are stored in the session."""
    session().query = to_file(setting)
    st.switch_page("pages/explore.py", query_params=to_query(setting))


def _equals_default(field: dataclasses.Field, value: Any) -> bool:
    """Return True if pages start with this value."""
    return value is None or value == recommended.recommended_value(field)


def _check_offered(field: dataclasses.Field, value: Any) -> None:
    """Raise ConfigError for a value that the control of the option does not offer."""
    meta, name = option_meta(field), field.name
    offered = public_hosting.offered_values(meta, field.default)
    if offered is not None and value not in offered:
        raise dpt.ConfigError(
            f"{name} must be one of {', '.join(offered)} on this machine, not {shorten_repr(value)}."
        )
    if meta.word_lists and not (len(value) == 1 and value[0] in CONFIGURATIONS):
        known = words.word_lists()
        if not 0 < len(value) <= MAX_LISTS or any(v not in known for v in value) or len(set(value)) < len(value):
            raise dpt.ConfigError(f"{name} must be L0, L1, L2, or up to {MAX_LISTS} of {', '.join(known)}, each once.")
