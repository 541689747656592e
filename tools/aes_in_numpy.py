"""AES-256 in numpy, for machines without the package cryptography: the same bits, about fifty times slower.

For checks with a seed only: its tables make the time of a pass depend on the key. ``tools/check_gpu.py`` uses it.

Run:  python tools/aes_in_numpy.py      (check it against the example of FIPS 197, and time it)
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def _double(x: np.ndarray) -> np.ndarray:
    return ((x << 1) ^ np.where(x & 0x80, 0x1B, 0)) & 0xFF


def _substitution() -> np.ndarray:
    """Return the S-box, computed from powers of 3 in the field of 256 elements."""
    powers = [1]
    for _ in range(254):
        x = powers[-1]
        powers.append((x ^ (x << 1) ^ (0x11B if x & 0x80 else 0)) & 0xFF)
    log = {x: i for i, x in enumerate(powers)}
    box = np.zeros(256, np.int64)
    for x in range(256):
        inverse = 0 if x == 0 else powers[-log[x] % 255]
        turns = [(inverse << k | inverse >> (8 - k)) & 0xFF for k in range(5)]
        box[x] = turns[0] ^ turns[1] ^ turns[2] ^ turns[3] ^ turns[4] ^ 0x63
    return box


BOX = _substitution()
_TWICE = _double(BOX)
#: What a byte of each row adds to a column, whose first byte is the highest.
_COLUMN = (_TWICE << 24 | BOX << 16 | BOX << 8 | (_TWICE ^ BOX)).astype(np.uint32)
_TABLES = [_COLUMN] + [(_COLUMN >> np.uint32(8 * k)) | (_COLUMN << np.uint32(32 - 8 * k)) for k in (1, 2, 3)]
_LAST = [(BOX << (24 - 8 * k)).astype(np.uint32) for k in range(4)]
_ROUNDS = 14


def round_keys(key: bytes) -> np.ndarray:
    """Return the key of each round, uint32 (15, 4)."""
    words = [int.from_bytes(key[i : i + 4], "big") for i in range(0, 32, 4)]
    constant = 1

    def substituted(word: int) -> int:
        return int.from_bytes(bytes(int(BOX[b]) for b in word.to_bytes(4, "big")), "big")

    for i in range(8, 4 * (_ROUNDS + 1)):
        word = words[-1]
        if i % 8 == 0:
            word = substituted((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
            constant <<= 1
        elif i % 8 == 4:
            word = substituted(word)
        words.append(words[i - 8] ^ word)
    return np.array(words, np.uint32).reshape(_ROUNDS + 1, 4)


def encrypt(blocks: np.ndarray, keys: np.ndarray) -> bytes:
    """Return blocks, uint32 (n, 4) with the first byte highest, enciphered."""
    columns = [blocks[:, j] ^ keys[0, j] for j in range(4)]
    for r in range(1, _ROUNDS + 1):
        tables = _TABLES if r < _ROUNDS else _LAST
        bytes_of = [[(c >> np.uint32(24 - 8 * k)) & np.uint32(0xFF) for k in range(4)] for c in columns]
        columns = [
            tables[0][bytes_of[j][0]]
            ^ tables[1][bytes_of[(j + 1) % 4][1]]
            ^ tables[2][bytes_of[(j + 2) % 4][2]]
            ^ tables[3][bytes_of[(j + 3) % 4][3]]
            ^ keys[r, j]
            for j in range(4)
        ]
    return np.stack(columns, 1).astype(">u4").tobytes()


class Cipher:
    """What `dptext_core.privacy.sampling` asks of a cipher. mode: None for ECB, else the first counter of CTR."""

    def __init__(self, key: bytes, mode: bytes | None):
        self._keys = round_keys(key)
        self._counter = None if mode is None else int.from_bytes(mode, "big")
        self._left = b""

    def encryptor(self) -> Cipher:
        return self

    def update(self, data: bytes) -> bytes:
        if self._counter is None:
            return encrypt(np.frombuffer(data, ">u4").reshape(-1, 4).astype(np.uint32), self._keys)
        while len(self._left) < len(data):
            n = -(-(len(data) - len(self._left)) // 16)
            self._left += encrypt(self._counters(n), self._keys)
        stream, self._left = self._left[: len(data)], self._left[len(data) :]
        return (np.frombuffer(stream, np.uint8) ^ np.frombuffer(data, np.uint8)).tobytes()

    def _counters(self, n: int) -> np.ndarray:
        """Return the next n blocks: up to where the lowest of four words wraps around in one go."""
        assert self._counter is not None
        high, low = divmod(self._counter, 1 << 32)
        n = min(n, (1 << 32) - low)
        blocks = np.empty((n, 4), np.uint32)
        blocks[:, :3] = [high >> 64 & 0xFFFFFFFF, high >> 32 & 0xFFFFFFFF, high & 0xFFFFFFFF]
        blocks[:, 3] = np.arange(low, low + n)
        self._counter = (self._counter + n) % (1 << 128)
        return blocks


def use() -> None:
    """Have `dptext_core.privacy.sampling` draw with it from now on."""
    from dptext_core.privacy import sampling

    ciphers: tuple[Any, ...] = (bytes, Cipher, None, bytes(16), bytes)
    sampling._ciphers = lambda: ciphers  # type: ignore[assignment]


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    given, want = (bytes.fromhex(x) for x in ("00112233445566778899aabbccddeeff", "8ea2b7ca516745bfeafc49904b496089"))
    begun = time.perf_counter()
    cipher = Cipher(bytes(range(32)), None)
    same = cipher.update(given) == want
    cipher.update(bytes(1 << 20))
    print(f"{'The bits of FIPS 197' if same else 'Other bits'}; {time.perf_counter() - begun:.2f} s a megabyte")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
