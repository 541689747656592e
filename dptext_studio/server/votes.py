"""The answers of a class, counted as they come in: numbers in the memory of the server, without names or texts.

A room is a word in the address that a teacher hands out. It is forgotten when whoever opened it closes it, with the
server, or when a room is next asked for some hours after its last answer.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

PARAMETER = "room"
#: Letters that are not taken for each other when they are read from a wall.
_LETTERS, _LENGTH = "abcdefghkmnprstuvwxyz", 5
#: Rooms at a time; voters of a question, and questions of a room; seconds after which an idle room is forgotten.
ROOMS, VOTERS, QUESTIONS, KEPT = 100, 500, 200, 6 * 3600.0


@dataclass
class _Room:
    used: float
    opener: str
    #: Question → voter → the number of the answer.
    answers: dict[Hashable, dict[str, int]] = field(default_factory=dict)


class Votes:
    """Rooms by their names. now: seconds that never go back."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now, self._rooms, self._lock = now, dict[str, _Room](), threading.Lock()

    def open(self, opener: str) -> str:
        """Return the name of a new room, which this session alone can close; where there are too many, one without
        answers makes place, else the one that was idle longest."""
        with self._lock:
            self._forget()
            while len(self._rooms) >= ROOMS:
                del self._rooms[min(self._rooms, key=lambda n: (bool(self._rooms[n].answers), self._rooms[n].used))]
            name = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
            self._rooms[name] = _Room(self._now(), opener)
            return name

    def close(self, room: str, opener: str) -> None:
        """Forget a room that this session opened: all others only leave it."""
        with self._lock:
            if room in self._rooms and self._rooms[room].opener == opener:
                del self._rooms[room]

    def is_open(self, room: str) -> bool:
        with self._lock:
            self._forget()
            return room in self._rooms

    def cast(self, room: str, question: Hashable, voter: str, answer: int) -> bool:
        """Count an answer, in the place of the one that this voter gave before; whether it is counted."""
        with self._lock:
            self._forget()
            if (there := self._rooms.get(room)) is None:
                return False
            if question not in there.answers and len(there.answers) >= QUESTIONS:
                return False
            given = there.answers.setdefault(question, {})
            if voter not in given and len(given) >= VOTERS:
                return False
            given[voter], there.used = answer, self._now()
            return True

    def counts(self, room: str, question: Hashable, answers: int) -> list[int]:
        """Return how many chose each of so many answers."""
        with self._lock:
            self._forget()
            there = self._rooms.get(room)
            given = list(there.answers.get(question, {}).values()) if there else []
        return [given.count(k) for k in range(answers)]

    def _forget(self) -> None:
        old = self._now() - KEPT
        for name in [name for name, room in self._rooms.items() if room.used < old]:
            del self._rooms[name]


VOTES = Votes()


def voter_name(text: str) -> str:
    """Return the name of a room as it stands in an address; "" for what can be none."""
    return text if re.fullmatch(f"[{_LETTERS}]{{{_LENGTH}}}", text) else ""
