"""A noise stream that records which random numbers are read, and can exchange them to find dependences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..privacy.sampling import NoiseStream

#: A group of random numbers: the path of their stream, and the purpose of the read.
Group = tuple[tuple[int | str, ...], str]
#: Returns replacements for the numbers of a group at these places; uint32 for prefixes, else uint64.
Exchange = Callable[[Group, np.ndarray, np.ndarray], np.ndarray]

#: More bits of the numbers that a prefix begins; those of words with leading zeros are not exchanged.
EXTENSION, PREFIX = "extension", "prefix"
_DEEP = np.uint64(1 << 48)


@dataclass
class Tape:
    """The numbers read from a stream and its substreams. sizes: how many numbers for each group. exchange: applied to
    all numbers."""

    exchange: Exchange | None = None
    sizes: dict[Group, int] = field(default_factory=dict)

    @property
    def bits(self) -> int:
        """Return how many random bits were read; more bits of a number are counted with it."""
        return sum(n * (32 if group[1] == PREFIX else 64) for group, n in self.sizes.items() if group[1] != EXTENSION)


class TappedStream(NoiseStream):
    """A stream with the same numbers as the given one, recorded on a tape."""

    __slots__ = ("_path", "_tape")
    _path: tuple[int | str, ...]
    _tape: Tape

    @classmethod
    def of(cls, stream: NoiseStream, tape: Tape, path: tuple[int | str, ...] = ()) -> TappedStream:
        """Return the stream, recorded on this tape."""
        value = object.__new__(cls)
        value.seed, value._key, value._block, value._numbers = stream.seed, stream._key, stream._block, stream._numbers
        value._path, value._tape = path, tape
        return value

    def at(self, *path: int | str) -> TappedStream:
        return self.of(super().at(*path), self._tape, (*self._path, *path))

    def skip(self, blocks: int) -> TappedStream:
        return self.of(super().skip(blocks), self._tape, self._path)

    def _cipher(self, purpose: str, block: int = 0) -> _Tap:
        return _Tap(super()._cipher(purpose, block), self._tape, (self._path, purpose), 2 * block)


class _Tap:
    """An encryptor whose numbers are recorded, and exchanged."""

    def __init__(self, inner: Any, tape: Tape, group: Group, first: int):
        self.inner, self.tape, self.group, self.first = inner, tape, group, first

    def update(self, data: bytes) -> bytes:
        raw = self.inner.update(data)
        numbers = np.frombuffer(raw, np.uint32 if self.group[1] == PREFIX else np.uint64)
        if self.group[1] == EXTENSION:
            blocks = np.frombuffer(data, np.uint64).reshape(-1, 2)
            places = np.where(blocks[:, 1] < _DEEP, blocks[:, 0], np.uint64(0)).astype(np.int64)
            if self.tape.exchange is None or (blocks[:, 1] >= _DEEP).any():
                return raw
            pairs = numbers.reshape(-1, 2).copy()
            pairs[:, 0] = self.tape.exchange(self.group, places, pairs[:, 0])
            return pairs.tobytes()
        places = np.arange(self.first, self.first + len(numbers))
        self.first += len(numbers)
        self.tape.sizes[self.group] = max(self.tape.sizes.get(self.group, 0), self.first)
        return raw if self.tape.exchange is None else self.tape.exchange(self.group, places, numbers).tobytes()
