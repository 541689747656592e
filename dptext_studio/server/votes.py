"""The answers of a class, counted on arrival: numbers in the server's memory, without names.

A room is a word in the address that a teacher hands out. The host of a room has its key: only the host decides what the
class sees, reveals the counts of a question, and closes the room. A room is deleted when its host closes it, with the
server, or at the next request for a room ``KEPT`` seconds after its last use.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

#: The address parameter of the room.
PARAMETER = "room"
#: Letters that are not confused when read from a projector.
_LETTERS, _LENGTH = "abcdefghkmnprstuvwxyz", 5
_KEY_LENGTH = 12
#: The largest number of rooms, of voters of a question, and of questions of a room; seconds after which an idle room is
#: deleted.
ROOMS, VOTERS, QUESTIONS, KEPT = 100, 500, 200, 6 * 3600.0


@dataclass
class _Room:
    used: float
    key: str
    #: Topic and question → voter → the number of the answer.
    answers: dict[tuple[str, Hashable], dict[str, int]] = field(default_factory=dict)
    #: Topics whose vote has ended, with counts that everybody sees; and those of them with a shown answer.
    ended: set[str] = field(default_factory=set)
    revealed: set[str] = field(default_factory=set)
    #: Topic → how often its vote was restarted.
    ballots: dict[str, int] = field(default_factory=dict)
    #: What the host shows now, with the text of the class if there is one.
    stage: Any = None


class Votes:
    """Rooms by name. now: a clock in seconds that never runs backwards."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now, self._rooms, self._lock = now, dict[str, _Room](), threading.Lock()

    def open(self) -> tuple[str, str]:
        """Return the name of a new room and the key of its host.

        If there are too many rooms, it replaces one without answers, or the one that was idle longest.
        """
        with self._lock:
            self._forget()
            while len(self._rooms) >= ROOMS:
                del self._rooms[min(self._rooms, key=lambda n: (bool(self._rooms[n].answers), self._rooms[n].used))]
            name, key = (
                "".join(secrets.choice(_LETTERS) for _ in range(length)) for length in (_LENGTH, _KEY_LENGTH)
            )
            self._rooms[name] = _Room(self._now(), key)
            return name, key

    def close(self, room: str, key: str) -> None:
        """Delete a room if this is its key; everybody else only leaves it."""
        with self._lock:
            if self._hosted(room, key) is not None:
                del self._rooms[room]

    def is_open(self, room: str) -> bool:
        with self._lock:
            self._forget()
            return room in self._rooms

    def is_host(self, room: str, key: str) -> bool:
        """Return True if this is the key of an open room."""
        with self._lock:
            return self._hosted(room, key) is not None

    def show(self, room: str, key: str, stage: Any) -> None:
        """Show this to the class if the key is that of the room. stage: immutable, and compared by ``==``."""
        with self._lock:
            if (there := self._hosted(room, key)) is not None:
                there.stage, there.used = stage, self._now()

    def stage(self, room: str) -> Any:
        """Return what the host shows; None for nothing."""
        with self._lock:
            return there.stage if (there := self._rooms.get(room)) else None

    def end(self, room: str, key: str, topic: str) -> None:
        """End the vote on a topic and let everybody see its counts, if the key is that of the room."""
        with self._lock:
            if (there := self._hosted(room, key)) is not None:
                there.ended.add(topic)

    def reveal(self, room: str, key: str, topic: str) -> None:
        """End the vote on a topic and let everybody see the answer too, if the key is that of the room."""
        with self._lock:
            if (there := self._hosted(room, key)) is not None:
                there.ended.add(topic)
                there.revealed.add(topic)

    def restart(self, room: str, key: str, topic: str) -> None:
        """Delete the votes on a topic and let everybody vote again, if the key is that of the room."""
        with self._lock:
            if (there := self._hosted(room, key)) is not None:
                there.ended.discard(topic)
                there.revealed.discard(topic)
                there.ballots[topic] = there.ballots.get(topic, 0) + 1
                for asked in [asked for asked in there.answers if asked[0] == topic]:
                    del there.answers[asked]

    def ballot(self, room: str, topic: str) -> int:
        """Return how often the vote on a topic was restarted."""
        with self._lock:
            return there.ballots.get(topic, 0) if (there := self._rooms.get(room)) else 0

    def has_ended(self, room: str, topic: str) -> bool:
        with self._lock:
            return (there := self._rooms.get(room)) is not None and topic in there.ended

    def is_revealed(self, room: str, topic: str) -> bool:
        with self._lock:
            return (there := self._rooms.get(room)) is not None and topic in there.revealed

    def cast(self, room: str, topic: str, question: Hashable, voter: str, answer: int) -> bool:
        """Count an answer, and replace the voter's previous one. Return True if it is counted."""
        with self._lock:
            self._forget()
            if (there := self._rooms.get(room)) is None or topic in there.ended:
                return False
            asked = (topic, question)
            if asked not in there.answers and len(there.answers) >= QUESTIONS:
                return False
            given = there.answers.setdefault(asked, {})
            if voter not in given and len(given) >= VOTERS:
                return False
            given[voter], there.used = answer, self._now()
            return True

    def answered(self, room: str, topic: str, question: Hashable) -> int:
        """Return the number of voters."""
        with self._lock:
            self._forget()
            return len(self._answers(room, topic, question))

    def counts(self, room: str, topic: str, question: Hashable, answers: int) -> list[int] | None:
        """Return the count of each answer; None before the host ends the vote."""
        with self._lock:
            self._forget()
            if (there := self._rooms.get(room)) is None or topic not in there.ended:
                return None
            given = list(self._answers(room, topic, question).values())
        return [given.count(k) for k in range(answers)]

    def _answers(self, room: str, topic: str, question: Hashable) -> dict[str, int]:
        there = self._rooms.get(room)
        return there.answers.get((topic, question), {}) if there else {}

    def _hosted(self, room: str, key: str) -> _Room | None:
        there = self._rooms.get(room)
        return there if there is not None and secrets.compare_digest(there.key.encode(), key.encode()) else None

    def _forget(self) -> None:
        old = self._now() - KEPT
        for name in [name for name, room in self._rooms.items() if room.used < old]:
            del self._rooms[name]


VOTES = Votes()


def room_name(text: str) -> str:
    """Return the name of a room from an address; "" if it is invalid."""
    return _letters(text, _LENGTH)


def host_key(text: str) -> str:
    """Return the key of a host from a browser; "" if it is invalid."""
    return _letters(text, _KEY_LENGTH)


def _letters(text: str, length: int) -> str:
    return text if re.fullmatch(f"[{_LETTERS}]{{{length}}}", text) else ""
