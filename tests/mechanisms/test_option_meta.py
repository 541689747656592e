"""The description of an option: what it refuses, and what outsiders read of it."""

from __future__ import annotations

import dataclasses

import pytest

import dptext_core as dpt
from dptext_core.mechanisms.option_meta import PUBLIC_KEYS, OptionMeta, is_option, option_meta

FIELDS = [pytest.param(f, id=f"{s.name}-{f.name}") for s in dpt.mechanisms() for f in dataclasses.fields(s.config_cls)]


@pytest.mark.parametrize("field", FIELDS)
def test_every_option_is_described_and_outsiders_read_five_keys(field):
    meta = option_meta(field)
    assert is_option(field) and isinstance(meta, OptionMeta)
    assert {key: field.metadata[key] for key in PUBLIC_KEYS} == {key: getattr(meta, key) for key in PUBLIC_KEYS}
    assert PUBLIC_KEYS == ("label", "help", "min", "max", "unit")


def test_an_unknown_attribute_is_refused_where_the_option_is_declared():
    with pytest.raises(TypeError, match="tries"):
        dpt.option(5, label="K", help="The number of words.", tries=(1, 2))


def test_a_description_cannot_be_changed():
    field = dpt.option(5, label="K", help="The number of words.", min=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        option_meta(field).min = 0


def test_a_field_of_another_origin_is_no_option():
    assert not is_option(dataclasses.field(default=1, metadata={"label": "K", "help": "h", "min": 1, "max": 2}))
    assert not is_option(dataclasses.field(default=1, metadata={"option": {"label": "K"}}))
