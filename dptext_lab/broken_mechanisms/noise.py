"""Faults of the noise: too coarse, from another source, the same in every run, or dependent between draws."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.mechanisms.words.word_trace import Draws
from dptext_core.privacy.sampling import NoiseStream

from .base import fault, faults_of


def inverted(m: WordMechanism, draws: Draws, uniform: Callable[[int], float]) -> list[str]:
    """Return the word of each draw, by inverting its cumulative distribution at one uniform."""
    out = []
    for j, channel in enumerate(m.channels(draws.rows)):
        sums = np.cumsum(channel.at(float(draws.epsilons[j])).probs)
        at = int(np.searchsorted(sums, uniform(j) * sums[-1], side="right"))
        out.append(channel.candidates[min(at, len(sums) - 1)])
    return out


def raced(m: WordMechanism, draws: Draws, uniforms: Callable[[int, int], np.ndarray]) -> list[str]:
    """Return the word of each draw, by one Gumbel variable for each candidate."""
    out = []
    for j, channel in enumerate(m.channels(draws.rows)):
        log_probs = channel.at(float(draws.epsilons[j])).log_probs
        gumbel = -np.log(-np.log1p(-uniforms(j, len(log_probs))))
        out.append(channel.candidates[int(np.argmax(log_probs + gumbel))])
    return out


def thirds(draws: Draws) -> list[bool]:
    """Return whether each draw is the third of its text, the sixth, and so on."""
    return [j % 3 == 2 for owner in range(len(draws.texts)) for j in range(int((draws.owners == owner).sum()))]


def first_bits(stream: NoiseStream) -> int:
    """Return 64 random bits of a stream."""
    return int(stream.words(1)[0])


# --- uniforms of few bits


@fault(
    "sixteen-bits",
    "Uniforms of 16 bits",
    "CusText that samples words with 16-bit uniforms, so many unlikely words are never released.",
)
class SixteenBitCusText(CusText):
    """CusText that samples with 16-bit uniforms."""

    title = "CusText with uniforms of 16 bits"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return inverted(self, draws, lambda j: (first_bits(draws.stream(j)) >> 48) / 65536)


@fault(
    "float32-uniforms",
    "Uniforms in float32",
    "CusText that rounds its uniforms to float32, with 24 significant bits.",
)
class SingleCusText(CusText):
    """CusText that samples with uniforms in float32, the default of most libraries."""

    title = "CusText with uniforms in float32"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return inverted(self, draws, lambda j: float(np.float32(draws.stream(j).uniform())))


@fault(
    "24-bit-noise",
    "Gumbel noise from 24 bits",
    "SanText with Gumbel variables of at most 17.4, from 24-bit uniforms.",
)
class SingleSanText(SanText):
    """SanText with Gumbel variables from 24-bit uniforms."""

    title = "SanText with uniforms of 24 bits"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        def uniforms(j: int, n: int) -> np.ndarray:
            return ((draws.stream(j).prefixes(n)[0] >> 8) + 0.5) * 2.0**-24

        return raced(self, draws, uniforms)


@fault(
    "few-seeds",
    "A generator with few seeds",
    "CusText that seeds a generator for each draw with 16 bits of its noise.",
)
class FewSeedsCusText(CusText):
    """CusText that seeds a generator for each draw with 16 bits of its noise."""

    title = "CusText whose generator has 65,536 seeds"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        def uniform(j: int) -> float:
            return float(np.random.default_rng(first_bits(draws.stream(j)) & 0xFFFF).random())

        return inverted(self, draws, uniform)


# --- noise from another source


@fault(
    "global-generator",
    "NumPy's global generator",
    "CusText that samples from numpy.random, which any library can seed, instead of its noise.",
)
class GlobalCusText(CusText):
    """CusText that draws from NumPy's global generator."""

    title = "CusText that draws from NumPy's global generator"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return inverted(self, draws, lambda j: float(np.random.random()))


@fault(
    "random-module",
    "Python's random",
    "CusText that samples from Python's random module, whose numbers can be predicted from earlier ones.",
)
class RandomCusText(CusText):
    """CusText that draws from Python's module random."""

    title = "CusText that draws from Python's random"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return inverted(self, draws, lambda j: random.random())


@fault(
    "own-system-noise",
    "Noise taken directly from the operating system",
    "CusText that samples from the operating system instead of its noise, so a seed has no effect.",
)
class SystemCusText(CusText):
    """CusText that samples directly from the operating system."""

    title = "CusText that samples directly from the operating system"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return inverted(self, draws, lambda j: secrets.randbits(53) * 2.0**-53)


@fault(
    "own-generator",
    "A custom generator",
    "CusText that samples all words of a text from a statistical generator with a 64-bit seed.",
)
class OwnGeneratorCusText(CusText):
    """CusText that seeds one generator for each text from its noise, and samples all words from it."""

    title = "CusText with a custom generator"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        generators = [np.random.default_rng(first_bits(stream)) for stream, _ in draws.texts]
        return inverted(self, draws, lambda j: float(generators[draws.owners[j]].random()))


@fault(
    "public-noise",
    "Noise that is derived from its name",
    "CusText that seeds a generator with the released name of its noise, so anyone can replay it.",
)
class PublicNameCusText(CusText):
    """CusText that seeds a generator with the released name of its noise."""

    title = "CusText whose noise is derived from its public name"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        generators = [np.random.default_rng(int(stream.noise_id, 16)) for stream, _ in draws.texts]
        return inverted(self, draws, lambda j: float(generators[draws.owners[j]].random()))


# --- a fixed seed


@fault(
    "fixed-seed", "A generator with a fixed seed", "CusText with one generator that has the same seed in every process."
)
class FixedSeedCusText(CusText):
    """CusText with one seeded generator for all of its rewrites."""

    title = "CusText with a fixed seed"
    generator: ClassVar[np.random.Generator] = np.random.default_rng(20_240_501)

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return inverted(self, draws, lambda j: float(self.generator.random()))


@fault(
    "default-seed",
    "Default seeds",
    "CusText that uses the seeds 0, 1, 2, … if it receives none.",
)
class DefaultSeedCusText(CusText):
    """CusText that uses a default seed, a new one for each draw, if it receives none."""

    title = "CusText with default seeds"
    seeds: ClassVar[Iterator[int]] = count()

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        streams = [(s if s.seed is not None else NoiseStream(next(self.seeds)), n) for s, n in draws.texts]
        return super()._draw(replace(draws, texts=streams), *arguments, **more)


# --- draws that are only pairwise independent


@fault(
    "sum-of-two",
    "A uniform that is the sum of two others",
    "CusText whose third uniform is the sum of the first two, modulo 1: only pairwise independent.",
)
class SumCusText(CusText):
    """CusText in which every third uniform of a text is the sum of the previous two, modulo 1."""

    title = "CusText whose third uniform is the sum of two"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        u = [draws.stream(j).uniform() for j in range(len(draws.rows))]
        for j in np.flatnonzero(thirds(draws)).tolist():
            u[j] = (u[j - 1] + u[j - 2]) % 1.0
        return inverted(self, draws, u.__getitem__)


@fault(
    "xor-of-two",
    "A uniform that is the XOR of two others",
    "CusText whose third uniform is the XOR of the first two: only pairwise independent.",
)
class XorCusText(CusText):
    """CusText in which every third uniform of a text is the XOR of the previous two."""

    title = "CusText whose third uniform is the XOR of two"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        bits = [first_bits(draws.stream(j)) for j in range(len(draws.rows))]
        for j in np.flatnonzero(thirds(draws)).tolist():
            bits[j] = bits[j - 1] ^ bits[j - 2]
        return inverted(self, draws, lambda j: (bits[j] >> 11) * 2.0**-53)


@fault(
    "xor-noise",
    "Gumbel noise that is the XOR of two others",
    "SanText whose third word combines the Gumbel noise of the first two: only pairwise independent.",
)
class XorSanText(SanText):
    """SanText whose third word has Gumbel noise from the XOR of the first two words' bits."""

    title = "SanText whose third word reuses the noise of the first two"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        third = thirds(draws)

        def uniforms(j: int, n: int) -> np.ndarray:
            words = draws.stream(j).words(n)
            if third[j]:
                words = draws.stream(j - 1).words(n) ^ draws.stream(j - 2).words(n)
            return ((words >> np.uint64(11)) + 0.5) * 2.0**-53

        return raced(self, draws, uniforms)


NOISE = faults_of(__name__)
