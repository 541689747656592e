"""The frame around a page."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from dptext_studio.components import shell


class _Popover(nullcontext):
    def __init__(self, is_open: bool):
        super().__init__()
        self.open = is_open


@pytest.mark.parametrize("is_open", [False, True])
def test_a_popover_has_room_until_all_is_there(is_open: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    room = SimpleNamespace(html=lambda _: done.append("room"), empty=lambda: done.append("no room"))
    monkeypatch.setattr(shell.st, "empty", lambda: room)
    monkeypatch.setattr(shell.st, "container", lambda **size: done.append(size) or nullcontext())
    shell.draw_when_open(_Popover(is_open), 300, lambda: done.append("drawn"))  # type: ignore[arg-type]
    assert done == [{"width": 300}, "room", *(["drawn", "no room"] if is_open else [])]
