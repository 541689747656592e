"""Randomness: locked streams, full-range Gumbel noise, and the one sampler for all draws.

A word is sampled as ``argmax_y log p(y) + g_y`` with independent Gumbel noise g. With the noise locked, the same draw
can be viewed at every ε. The uniform behind each g is *full-range*: where its leading bits are zero, more bits are
appended, so that g reaches DEPTH = 720 and more instead of the 36.74 of a 53-bit uniform. Without this, outputs that
are possible under one text become impossible under another, and no finite ε holds; an ε at which an output would lie
deeper is refused for the same reason.

Bits come from AES-256 (package ``cryptography``), keyed by the operating system or, for repeatable demonstrations, by
a seed. A seeded run has no guarantee: anyone who knows the seed can replay the noise.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..support.checks import check_whole_number

# A draw examines candidates that exceed −ln 16: on average at most 16 of them. With probability e^−16 the maximum is
# lower, and then all candidates are examined.
_CLOSE = 16.0
_NEAR = 1e-3 - math.log(_CLOSE)
_ROUNDING = 1e-9  # more than the rounding error of ln p + g, whose size is below 1000
_OPEN = 1 << 14  # so near to 0 or 1, the leading 32 bits say little about ln U or ln(1 − U)
#: Maximum error of the approximation of :meth:`NoiseStream.rough_gumbel`.
ROUGH = 0.01
_MAX_BITS = 1184  # beyond the smallest float64: 2^-1074
_MAX_LOG_BITS = 1 << 26
_LARGEST = np.float32(2.0**32 - 256)  # below 2^32
#: Nats. :func:`draw` samples an output with ln p ≥ −DEPTH with exactly its probability: the float64 near e^−DEPTH has a
#: relative error below 1e-9 there. Below −745 there is no float64.
DEPTH = 720.0
#: The same for draws by ln U (:meth:`NoiseStream.log_uniforms`), where U itself is not a float64.
LOG_DEPTH = _MAX_LOG_BITS * math.log(2.0)


class NoiseStream:
    """A tree of independent random streams, one for each path, all derived from one key.

    ``stream.at(0, 3)`` is the stream of text 0, position 3; the same path gives the same stream, different paths
    independent ones.

    Parameters
    ----------
    seed : int, optional
        For demonstrations: the same seed gives the same noise, so the run is not private. Without one the key comes
        from the operating system.
    """

    __slots__ = ("_block", "_key", "_numbers", "seed")

    def __init__(self, seed: int | None = None):
        if seed is None:
            self._key = os.urandom(32)
        else:
            seed = check_whole_number("A seed (omit it for a private run)", seed)
            self._key = blake2b(f"demonstration seed {seed}".encode(), digest_size=32).digest()
        self.seed = seed
        self._block = 0
        self._numbers: Sequence[int] | None = None

    @classmethod
    def of_key(cls, key: bytes) -> NoiseStream:
        """Return the stream of 32 bytes of the operating system's randomness, for processes that must share one."""
        stream = cls()
        stream._key = bytes(key)
        return stream

    def at(self, *path: int | str) -> NoiseStream:
        """Return the stream at ``path`` below this one."""
        if self._numbers is not None and path and isinstance(path[0], int):
            path = (self._numbers[path[0]], *path[1:])
        child = object.__new__(NoiseStream)
        child._key = blake2b(repr(path).encode(), digest_size=32, key=self._key).digest()
        child.seed = self.seed
        child._block = 0
        child._numbers = None
        return child

    def numbered(self, numbers: Sequence[int] | None) -> NoiseStream:
        """Return the same stream for a selection of texts: ``at(i, …)`` is then ``at(numbers[i], …)``.

        So a text has the noise of its own number, whichever texts are rewritten with it. None: without such numbers.
        """
        other = self.skip(0)
        other._numbers = numbers
        return other

    def number(self, i: int) -> int:
        """Return the number of the i-th text: see :meth:`numbered`."""
        return i if self._numbers is None else self._numbers[i]

    def skip(self, blocks: int) -> NoiseStream:
        """Return the stream shifted by blocks: its :meth:`words` begin ``blocks`` blocks of two words later."""
        later = object.__new__(NoiseStream)
        later._key, later.seed, later._block = self._key, self.seed, self._block + blocks
        later._numbers = self._numbers
        return later

    @property
    def noise_id(self) -> str:
        """Return a public name of this stream: results with the same name share their noise, so release at most one."""
        return blake2b(b"family", digest_size=8, key=self._key).hexdigest()

    def prefixes(self, n: int, draws: int = 1) -> np.ndarray:
        """Return the leading 32 bits of ``draws`` × ``n`` uniforms, as uint32 of shape (draws, n)."""
        raw = self._cipher("prefix").update(bytes(4 * n * draws))
        return np.frombuffer(raw, np.uint32).reshape(draws, n)

    def extensions(self, index: np.ndarray, draw: int | np.ndarray = 0, level: int = 0) -> np.ndarray:
        """Return 128 more bits of each uniform ``index`` (m,) of ``draw`` (one, or m), uint64 (m, 2)."""
        blocks = np.empty((len(index), 2), np.uint64)
        blocks[:, 0] = index
        blocks[:, 1] = np.asarray(draw) * 256 + level
        raw = self._cipher("extension").update(blocks.tobytes())
        return np.frombuffer(raw, np.uint64).reshape(-1, 2)

    def uniform(self) -> float:
        """Return one uniform number in (0, 1), full range."""
        return float(_full_uniform(self, self.prefixes(1)[0], np.zeros(1, np.int64), 0)[0])

    def words(self, n: int) -> np.ndarray:
        """Return n words of 64 random bits, uint64 (n,)."""
        raw = self._cipher("words", self._block).update(bytes(8 * n))
        return np.frombuffer(raw, np.uint64)

    def full_range(self, words: np.ndarray, first: int = 0) -> np.ndarray:
        """Return uniforms in (0, 1) from the words (m,) of this stream from ``first`` on; float64 (m,)."""
        return full_range(words, lambda j: (self, first + j))

    def _deep(self, word: int, place: int) -> tuple[np.ndarray, int]:
        """Return the index of more bits of a word of leading zeros at ``place``, and its first 160 bits."""
        index = np.array([2 * self._block + place])
        more = self.extensions(index, 1 << 40)[0]
        return index, word << 96 | int(more[0]) << 32 | int(more[1]) >> 32

    def uniforms(self, n: int) -> np.ndarray:
        """Return n uniform numbers in (0, 1), full range, float64 (n,). ``uniforms(m)`` begins like ``uniforms(n)``."""
        return self.full_range(self.words(n))

    def log_full_range(self, words: np.ndarray, first: int = 0) -> np.ndarray:
        """Return ln of :meth:`full_range`, for all depths up to LOG_DEPTH; float64 (m,)."""
        return log_full_range(words, lambda j: (self, first + j))

    def log_uniforms(self, n: int) -> np.ndarray:
        """Return ln of :meth:`uniforms`, float64 (n,), to a depth of LOG_DEPTH."""
        return self.log_full_range(self.words(n))

    def normals(self, n: int) -> np.ndarray:
        """Return n standard normal numbers, float64 (n,), by the inverse of their distribution function."""
        from scipy.special import ndtri

        raw = np.frombuffer(self._cipher("normals").update(bytes(8 * n)), np.int64)
        u = (np.abs(raw >> 1) + 0.5) * 2.0**-63  # half of the uniform on each side: tails of equal depth
        return np.copysign(ndtri(np.minimum(u, 0.5)), raw)

    def gumbel(self, n: int) -> np.ndarray:
        """Return the n locked Gumbel variables of this stream, float64 (n,): what :func:`draw` uses in its first
        draw."""
        return _gumbel(_full_uniform(self, self.prefixes(n)[0], np.arange(n), 0))

    def rough_gumbel(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Approximate :meth:`gumbel` from leading bits alone, at a third of its cost.

        Returns
        -------
        prefixes : uint32 (n,)
            The leading bits, for :meth:`gumbel_at`.
        rough : float32 (n,)
            Each variable to within :data:`ROUGH`; of those in ``open``, a lower bound.
        open : int64 (m,)
            Those that the leading bits do not determine: one in 130,000.
        """
        prefixes = self.prefixes(n)[0]
        u = (prefixes | np.uint32(1)).astype(np.float32)
        u *= np.float32(-(2.0**-32) * (1.0 - 2.0**-23))  # less than 1 where the prefix is rounded up
        np.log1p(u, out=u)
        np.log(np.negative(u, out=u), out=u)
        rough = np.negative(u, out=u)
        # Wraps around: below _OPEN, or so near to the end.
        beyond = (prefixes - np.uint32(_OPEN) >= np.uint32(2**32 - 2 * _OPEN)).nonzero()[0]
        if len(beyond):
            rough[beyond] = np.where(prefixes[beyond] < _OPEN, -math.log(_OPEN * 2.0**-32) - 0.01, -4.0)
        return prefixes, rough, beyond

    def gumbel_at(self, index: np.ndarray, prefixes: np.ndarray) -> np.ndarray:
        """Return the variables ``index`` (m,) of :meth:`gumbel`, whose leading bits are ``prefixes`` (m,); float64
        (m,)."""
        return _gumbel(_full_uniform(self, prefixes, index, 0))

    def _cipher(self, purpose: str, block: int = 0):
        aes, cipher, blocks, first, counter = _ciphers()
        key = blake2b(purpose.encode(), digest_size=32, key=self._key).digest()
        # ECB of distinct blocks is a random function.
        mode = blocks if purpose == "extension" else counter(block.to_bytes(16, "big")) if block else first
        return cipher(aes(key), mode).encryptor()


#: For word j of several: its stream, and its index in it.
Place = Callable[[int], tuple[NoiseStream, int]]


def full_range(words: np.ndarray, place: Place) -> np.ndarray:
    """Return the full-range uniforms that begin with these words (m,) of several streams, float64 (m,)."""
    u = np.minimum(words * 2.0**-64, 1.0 - 2.0**-53)
    for j in np.flatnonzero(words < 1 << 44).tolist():
        stream, at = place(j)
        u[j] = _resolve(stream, *stream._deep(int(words[j]), at), 1 << 40)
    return u


def log_full_range(words: np.ndarray, place: Place) -> np.ndarray:
    """Return ln of :func:`full_range`, for all depths up to LOG_DEPTH; float64 (m,)."""
    out = np.log(np.minimum(np.maximum(words, 1) * 2.0**-64, 1.0 - 2.0**-53))
    for j in np.flatnonzero(words < 1 << 44).tolist():
        stream, at = place(j)
        bits, n = _extend_uniform(stream, *stream._deep(int(words[j]), at), 1 << 40, _MAX_LOG_BITS)
        shift = max(0, bits.bit_length() - 64)
        out[j] = (math.log(bits >> shift) if bits else 0.0) + (shift - n) * math.log(2.0)
    return out


@cache
def _ciphers() -> tuple[Any, ...]:
    """Return AES, its cipher class, ECB, CTR from 0, and CTR from anywhere, imported on first use."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return algorithms.AES, Cipher, modes.ECB(), modes.CTR(bytes(16)), modes.CTR


def _gumbel(u: np.ndarray) -> np.ndarray:
    """Return −ln(−ln(1−U)) in float64, accurate down to the smallest U."""
    return -np.log(-np.log1p(-u))


def _full_uniform(stream: NoiseStream, prefix: np.ndarray, index: np.ndarray, draw: int | np.ndarray) -> np.ndarray:
    """Return full-range uniforms (m,): leading 32 bits ``prefix``, then those of ``index`` in draw ``draw``."""
    more = stream.extensions(index, draw)
    u = prefix * 2.0**-32 + more[:, 0] * 2.0**-96
    for j in (prefix == 0).nonzero()[0]:
        if more[j, 0] >= 1 << 44:
            continue
        which = int(np.broadcast_to(draw, index.shape)[j])
        u[j] = _resolve(stream, index[j : j + 1], int(more[j, 0]) << 64 | int(more[j, 1]), which)
    # 1 − U below half of 2^-53 rounds U to 1, whose Gumbel variable would be −inf.
    return np.minimum(u, 1.0 - 2.0**-53)


def _extend_uniform(stream: NoiseStream, index: np.ndarray, bits: int, draw: int, most: int) -> tuple[int, int]:
    """Return bits of a uniform, at least 64 after its leading zeros, and their number; ``bits``: the first 160."""
    n, level = 160, 1
    while bits.bit_length() < 64 and n < most:
        high, low = (int(x) for x in stream.extensions(index, draw, level)[0])
        bits, n, level = bits << 128 | high << 64 | low, n + 128, level + 1
    return bits, n


def _resolve(stream: NoiseStream, index: np.ndarray, bits: int, draw: int) -> float:
    """Return a uniform with at least 64 bits after its leading zeros; ``bits`` are its first 160."""
    bits, n = _extend_uniform(stream, index, bits, draw, _MAX_BITS)
    shift = max(0, bits.bit_length() - 64)
    return max(math.ldexp(float(bits >> shift), shift - n), 5e-324)


def geometric(stream: NoiseStream, n: int, rate: Fraction) -> np.ndarray:
    """Return n independent integers k = 0, 1, … with P(k) = (1 − e^−rate)·e^(−rate·k): shape (n,).

    The type is int64, or Python's own if one is too large. Each is ⌊−ln U / rate⌋ of a uniform U. If float64 cannot
    decide on which side of an integer the quotient is, U is extended and the logarithm computed to more digits. So the
    probabilities are exact, without floating-point error. With the noise locked, the numbers fall as the rate grows.
    """
    words = stream.words(n)
    numbers = -stream.log_full_range(words)
    # Far more than the rounding error: 2^−44 if U is not extended, plus a few units in the last place.
    slack = 1e-12 + 1e-13 * numbers
    low, high = (np.floor((numbers + side * slack) / float(rate)) for side in (-1, 1))
    out = np.where(high < 2.0**62, low, 0.0).astype(np.int64)
    exact = {int(j): _exponential_exact(stream, int(j), int(words[j]), rate) for j in np.flatnonzero(low != high)}
    if any(value >= 1 << 62 for value in exact.values()):
        out = out.astype(object)
    for j, value in exact.items():
        out[j] = value
    return out


def _exponential_exact(stream: NoiseStream, j: int, word: int, rate: Fraction) -> int:
    """Return ⌊−ln U / rate⌋ of the j-th uniform of ``stream.words``."""
    index = np.array([2 * stream._block + j])
    more = stream.extensions(index, 1 << 40)[0]
    bits, n, level = word << 96 | int(more[0]) << 32 | int(more[1]) >> 32, 160, 1
    while True:
        if bits:
            with localcontext() as context:
                context.prec = n // 3 + 40
                # U is between bits and bits + 1 of 2^n. Decimal's logarithms are correctly rounded.
                whole_, slack = n * Decimal(2).ln(), Decimal(10) ** (20 - context.prec)
                step = Decimal(rate.numerator) / Decimal(rate.denominator)
                nearest, farthest = (max(Decimal(0), (whole_ - Decimal(b).ln())) for b in (bits + 1, bits))
                low = int(max(Decimal(0), nearest - slack) * (1 - slack) / step)
                if low == int((farthest + slack) * (1 + slack) / step):
                    return low
        high, more_bits = (int(x) for x in stream.extensions(index, 1 << 40, level)[0])
        bits, n, level = bits << 128 | high << 64 | more_bits, n + 128, level + 1


def discrete_laplace(stream: NoiseStream, n: int, rate: Fraction) -> np.ndarray:
    """Return n independent integers with exactly P(k) = tanh(rate/2)·e^(−rate·|k|), from :func:`geometric`."""
    return geometric(stream.at("up"), n, rate) - geometric(stream.at("down"), n, rate)


class Sampler:
    """Draws of ``argmax log p + g``, prepared for one ``log_probs`` (V,): see :func:`draw`."""

    __slots__ = ("_certain", "_limit", "_log_probs", "_norm")

    def __init__(self, log_probs: np.ndarray):
        top = log_probs.max()
        if not math.isfinite(top):  # NaN counts as the largest value
            raise ConfigError("No word can be sampled: a score is not finite, or no candidate has a positive "
                              "probability. Correct the scores.")
        # float32 is enough to select the candidates to examine: 1 − exp(−16·p) ≤ 16·p, plus a margin.
        weights = (log_probs - top).astype(np.float32)
        np.exp(weights, out=weights)
        total = weights.sum(dtype=np.float64)
        self._log_probs = log_probs
        self._norm = top + np.log(total)
        self._certain = bool(weights.min() > 0)  # else some are impossible, or so improbable that float32 underflows
        weights *= np.float32(1.01 * _CLOSE * 2.0**32 / total)
        weights[(weights > _LARGEST).nonzero()[0]] = _LARGEST  # a few: a quarter of the time of a minimum of all
        self._limit = weights.astype(np.uint32)

    def one(self, stream: NoiseStream) -> int:
        """Return what ``draws(stream, 1)`` returns."""
        log_probs = self._log_probs
        prefixes = np.frombuffer(stream._cipher("prefix").update(bytes(4 * len(log_probs))), np.uint32)
        col = (prefixes <= self._limit).nonzero()[0]
        if not self._certain:
            col = col[log_probs[col] > -np.inf]
        if len(col):
            known, close = prefixes[col], log_probs[col] - self._norm
            # Candidates that the leading bits leave open rarely decide: then the others are not computed. The smaller
            # U, the larger g.
            least = close + _gumbel(np.minimum((known + 1.0) * 2.0**-32, 1.0 - 2.0**-53))
            best = int(least.argmax())
            most = close + _gumbel(np.maximum(known * 2.0**-32, 5e-324))
            most[best] = _NEAR
            if least[best] > most.max() + _ROUNDING:
                return int(col[best])
            value = close + _gumbel(_full_uniform(stream, known, col, 0))
            best = int(value.argmax())
            if value[best] >= _NEAR:
                return int(col[best])
        return self._all(stream, prefixes, 0)

    def draws(self, stream: NoiseStream, n: int) -> np.ndarray:
        """Return n independent draws, int64 (n,)."""
        log_probs, size = self._log_probs, len(self._log_probs)
        out = np.empty(n, np.int64)
        block = max(1, (1 << 19) // size)
        cipher = stream._cipher("prefix")
        for start in range(0, n, block):
            rows = min(block, n - start)
            prefixes = np.frombuffer(cipher.update(bytes(4 * size * rows)), np.uint32).reshape(rows, size)
            # Flat, which NumPy searches four times faster than rows and columns.
            row, col = np.divmod(np.flatnonzero(prefixes <= self._limit), size)
            if not self._certain:
                allowed = log_probs[col] > -np.inf
                row, col = row[allowed], col[allowed]
            value = log_probs[col] - self._norm + _gumbel(_full_uniform(stream, prefixes[row, col], col, start + row))
            order = np.lexsort((value, row))
            last = order[np.searchsorted(row[order], np.arange(rows), side="right") - 1] if len(order) else order
            chosen = np.zeros(rows, bool)
            if len(last):
                chosen = (row[last] == np.arange(rows)) & (value[last] >= _NEAR)
                out[start : start + rows][chosen] = col[last][chosen]
            for r in map(int, np.flatnonzero(~chosen)):
                out[start + r] = self._all(stream, prefixes[r], start + r)
        return out

    def _all(self, stream: NoiseStream, prefixes: np.ndarray, number: int) -> int:
        """Draw ``number`` by examining all variables."""
        log_probs = self._log_probs
        possible = np.arange(len(log_probs)) if self._certain else np.flatnonzero(np.isfinite(log_probs))
        g = _gumbel(_full_uniform(stream, prefixes[possible], possible, number))
        return int(possible[np.argmax(log_probs[possible] + g)])


def draw(log_probs: np.ndarray, stream: NoiseStream, n: int = 1) -> np.ndarray:
    """Return ``n`` independent draws of ``argmax log p + g``: indices, int64 (n,).

    ``log_probs`` (V,) float64, up to a constant; −inf for impossible outputs. The result is exactly the maximum over
    all V variables, but only a few are examined: y reaches −ln 16 only if U_y ≤ 1 − exp(−16·p_y), which its leading 32
    bits nearly always rule out. If no candidate reaches it, all are compared.
    """
    sampler = Sampler(log_probs)
    return np.array([sampler.one(stream)], np.int64) if n == 1 else sampler.draws(stream, n)
