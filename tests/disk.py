"""What reaches the disk, and in which order: a file that is renamed before its bytes are there can be empty after a
power cut."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest


class Event(NamedTuple):
    """what: "sync" or "rename". name: of the file that is synced, or that the renamed one becomes. size: of it, in
    bytes. beside: the name that it had."""

    what: str
    name: str
    size: int
    beside: str = ""


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Every sync and every renaming from now on, in their order."""
    seen: list[Event] = []
    sync, rename = os.fsync, Path.replace

    def fsync(fd: int) -> None:
        there = os.fstat(fd)
        seen.append(Event("sync", Path(os.readlink(f"/proc/self/fd/{fd}")).name, there.st_size))
        sync(fd)

    def replace(self: Path, target: str | Path) -> Path:
        seen.append(Event("rename", Path(target).name, self.stat().st_size, self.name))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    return seen


def synced_before_it_is_renamed(seen: list[Event], name: str) -> bool:
    """Whether the file of this name was written beside, reached the disk whole, and only then got its name."""
    at = next((k for k, e in enumerate(seen) if e.what == "rename" and e.name == name), None)
    if at is None or seen[at].beside == name:
        return False
    there = seen[at]
    return there.size > 0 and Event("sync", there.beside, there.size) in seen[:at]
