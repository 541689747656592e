"""The payload of the token view: one definition, which the core fills in and the browser reads."""

from __future__ import annotations

import re
import typing

import pytest
from e2e.strip_harness import LIST_TEXT, STOP, list_payload

import dptext_core as dpt
from dptext_studio.figures import browser, token_channels
from dptext_studio.figures.token_payload import (
    AttackMarks,
    Command,
    DrawnToken,
    GridToken,
    Identifier,
    Payload,
    PlacedToken,
    ScoredToken,
)
from dptext_studio.figures.token_view import payload

#: Each definition and the one that it extends.
TYPES = {
    Payload: None,
    AttackMarks: None,
    Command: None,
    Identifier: None,
    PlacedToken: None,
    DrawnToken: PlacedToken,
    ScoredToken: DrawnToken,
    GridToken: DrawnToken,
}


def keys(kind, needed: bool = False) -> set[str]:
    """The keys of a definition, all or those that are always there."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {k for k, hint in hints.items() if not (needed and typing.get_origin(hint) is typing.NotRequired)}


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_every_key_of_the_payload_is_explained_where_it_is_defined(kind):
    own = keys(kind) - (keys(TYPES[kind]) if TYPES[kind] else set())
    assert own and not {k for k in own if f"``{k}``" not in kind.__doc__}


def test_the_browser_reads_what_is_defined_and_all_of_it():
    script = browser.script()
    read = set(re.findall(r"\bdata\??\.(\w+)", script))
    for names in re.findall(r"const \{([^}]*)\} = data;", script):
        read |= {name.partition(":")[0].strip() for name in names.split(",")}
    assert read == keys(Payload)
    # What the site for browsers has instead is a function, which no payload holds.
    assert set(re.findall(r"\braw\??\.(\w+)", script)) == keys(ScoredToken) | keys(GridToken) | {"exact"}
    assert set(re.findall(r"\bdata\.cmd\.(\w+)", script)) == keys(Command)
    told = [*re.findall(r"(?<!ui\.)\battack\??\.(\w+)", script), "why", "chance", "guess"]
    assert set(told) == keys(AttackMarks) and "const { why, chance, guess } = this.data.attack;" in script


def test_a_payload_has_the_keys_of_its_types(tiny_model):
    listed = list_payload()
    scored = payload(
        dpt.get_mechanism("dp-mlm", model=tiny_model).rewrite("The doctor told my friend."),
        run=1,
        low=5.0,
        high=500.0,
        default=50.0,
    )
    kinds = set()
    for shown in (listed, scored):
        assert keys(Payload, needed=True) <= set(shown) <= keys(Payload)
        for token in shown["tokens"]:
            kind = ScoredToken if "s" in token else GridToken if "lp" in token else PlacedToken
            kinds.add(kind)
            assert keys(kind, needed=True) <= set(token) <= keys(kind)
    assert kinds == {ScoredToken, GridToken, PlacedToken}
    assert {t["o"] for t in listed["tokens"] if "c" not in t} >= STOP & set(LIST_TEXT.split())
    assert listed["lp_grid"] == token_channels.N_CHANNEL_GRID
