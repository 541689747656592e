"""Every entrance, given anything: some hundred examples. ``tests/fuzz.py`` gives it as many as there is time for."""

from __future__ import annotations

import fuzz
import pytest

import dptext_core as dpt

#: What loads a model takes longer.
NAMES = [n if e.cost < 10 else pytest.param(n, marks=pytest.mark.slow) for n, e in fuzz.ENTRANCES.items()]


@pytest.mark.parametrize("name", NAMES)
def test_every_entrance_takes_anything(name):
    fuzz.fuzz(name, 30 * max(1, fuzz.ENTRANCES[name].cost // 5))


@pytest.mark.parametrize("lost", [slice(0, -1), slice(1, None)])
def test_a_text_of_which_a_character_is_lost_is_found(monkeypatch, lost):
    parse = dpt.Document.parse
    fuzz.ENTRANCES["text"].run("My doctor called.")
    monkeypatch.setattr(dpt.Document, "parse", lambda text, *rest: parse(text[lost], *rest))
    with pytest.raises(AssertionError, match=r"lost|not what stands"):
        fuzz.ENTRANCES["text"].run("My doctor called.")


def test_an_entrance_that_raises_something_else_is_found(monkeypatch):
    def broken(data: bytes) -> None:
        if len(data) > 20:
            raise dpt.InputError("no sentence")

    monkeypatch.setitem(fuzz.ENTRANCES, "csv", fuzz.Entrance(fuzz.ENTRANCES["csv"].given, broken))
    with pytest.raises(AssertionError, match="no sentence"):
        fuzz.fuzz("csv", 20)
    monkeypatch.setitem(fuzz.ENTRANCES, "csv", fuzz.Entrance(fuzz.ENTRANCES["csv"].given, lambda data: data.decode()))
    with pytest.raises(UnicodeDecodeError):
        fuzz.fuzz("csv", 200)
