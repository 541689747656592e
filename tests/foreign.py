"""Three mechanisms that nothing outside this file knows, as somebody else would write them.

A word-level one that draws each word from its own distribution; a generator whose pieces have distributions and answer
to no word; one that decodes a noisy vector, with one ε and one δ for the whole text. They derive from ``dpt.Mechanism``
alone.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import dptext_core as dpt
from dptext_core.mechanisms.likelihood import Likelihood
from dptext_core.text.skeleton import Edit

WORDS = ("doctor", "nurse", "sister", "letter", "water", "music", "garden", "window")
PIECES = ("sun", "rain", "walks", "sings", "slowly", "home", "again", "today", "blue", "warm")


@dataclasses.dataclass(frozen=True)
class SwapConfig:
    epsilon: float | tuple[float, ...] = dpt.epsilon_option(2.0, 0.1, 20.0)
    recase: str = dpt.option("none", label="Capitals", choices=("none",), help="As they are listed.")


class SwapTrace(dpt.Trace):
    can = frozenset({"distribution", "sweep", "alignment"})

    def __init__(self, channels: dict[int, dpt.Channel], epsilons: tuple[float, ...], stream: dpt.NoiseStream):
        self.channels, self.epsilons, self.stream = channels, epsilons, stream

    def distribution(self, i: int, unit: Any) -> dpt.TokenDistribution:
        return self.channels[i].at(self.epsilons[i])

    def locked(self, i: int, unit: Any) -> tuple[dpt.Channel, dpt.NoiseStream]:
        return self.channels[i], self.stream.at(i)


class Swap(dpt.Mechanism):
    """Randomised response over eight words; every other token stays."""

    name, title, family, notion = "foreign-swap", "Foreign swap", "foreign", "pure"
    summary = "Keeps or exchanges each of eight words."
    config_cls = SwapConfig

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood(self, sweeps=True)

    def _channels(self, prepared) -> dict[int, dpt.Channel]:
        out = {}
        for i, token in enumerate(prepared.document.tokens):
            if (word := token.text.lower()) in WORDS:
                scores = np.where(np.array(WORDS) == word, 0.0, -1.0)
                out[i] = dpt.ScoreTable(WORDS, scores, token.text)
        return out

    def guarantee(self, text):
        prepared = self.prepared(text)
        every, channels = self.epsilons(prepared), self._channels(prepared)
        spent = tuple(every[i] for i in channels)
        return dpt.Guarantee(
            "pure",
            max(spent, default=0.0),
            "released word",
            self.adjacency(),
            len(spent),
            sum(spent),
            spent=spent,
            exposed=("every other word", "the spacing and the line breaks"),
        )

    def distribution(self, text, index):
        prepared = self.prepared(text)
        channels = self._channels(prepared)
        if index not in channels:
            raise dpt.NoDistribution(f"Token {index} is kept as it is, so it has no distribution.")
        return channels[index].at(self.epsilons(prepared)[index])

    def rewrite_prepared(self, prepared, stream, task):
        epsilons, channels = self.epsilons(prepared), self._channels(prepared)
        words = {i: WORDS[channel.draw(epsilons[i], stream.at(i))] for i, channel in channels.items()}
        tokens = prepared.document.tokens
        skeleton = prepared.document.skeleton([i in words for i in range(len(tokens))])
        out = skeleton.render([Edit(words.get(i)) for i in range(len(tokens))])
        steps = tuple(
            dpt.Step((t.start, t.end), t.text, words[i], "replace", "", epsilons[i], out.spans[i], i)
            if i in words
            else dpt.Step((t.start, t.end), t.text, t.text, "keep", "not of the eight", 0.0, out.spans[i], i)
            for i, t in enumerate(tokens)
        )
        return dpt.RewriteResult.of(
            self, prepared, stream, out.text, steps, trace=SwapTrace(channels, epsilons, stream)
        )


@dataclasses.dataclass(frozen=True)
class GeneratorConfig:
    epsilon: float | tuple[float, ...] = dpt.epsilon_option(1.0, 0.1, 20.0, "per piece")
    length: int = dpt.option(6, label="Pieces", min=1, max=40, help="How many pieces are written.")


class GeneratorTrace(dpt.Trace):
    can = frozenset({"distribution"})

    def __init__(self, tables: list[dpt.ScoreTable], epsilon: float):
        self.tables, self.epsilon = tables, epsilon

    def distribution(self, i: int, unit: Any) -> dpt.TokenDistribution:
        return self.tables[i].at(self.epsilon)


class Generator(dpt.Mechanism):
    """Writes a public number of pieces, each more likely where the private text shares letters with it."""

    name, title, family, notion = "foreign-generator", "Foreign generator", "foreign", "pure"
    summary = "Writes a new text, piece by piece."
    config_cls = GeneratorConfig

    alignment = None

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood(self)

    def guarantee(self, text):
        c = self.config
        return dpt.Guarantee(
            "pure",
            c.epsilon,
            "released piece",
            "any two texts",
            c.length,
            c.epsilon * c.length,
            exposed=("the number of pieces, which you set",),
        )

    def table(self, prepared, before: str) -> dpt.ScoreTable:
        letters = set(prepared.text.lower())
        share = np.array([len(letters & set(p)) / len(set(p)) for p in PIECES])
        return dpt.ScoreTable(PIECES, share / 2 - 2.0 * (np.array(PIECES) == before))

    def rewrite_prepared(self, prepared, stream, task):
        text, before, pieces, tables = "", "", [], []
        for k in range(self.config.length):
            tables.append(self.table(prepared, before))
            before = PIECES[tables[-1].draw(self.config.epsilon, stream.at(k))]
            text += " " * bool(text)
            pieces.append(dpt.Release((len(text), len(text) + len(before)), before, self.config.epsilon, "drawn"))
            text += before
        pieces.append(dpt.Release((len(text), len(text) + 1), ".", 0.0, "rule", reason="the end"))
        return dpt.RewriteResult.of(
            self, prepared, stream, text + ".", trace=GeneratorTrace(tables, self.config.epsilon), pieces=tuple(pieces)
        )


@dataclasses.dataclass(frozen=True)
class LatentConfig:
    epsilon: float | tuple[float, ...] = dpt.epsilon_option(1.0, 0.1, 1.0, "for the whole text")
    delta: float = dpt.option(0.05, label="δ", min=1e-9, max=0.5, help="Chance that the promise fails.")


class Latent(dpt.Mechanism):
    """A vector of norm 1 from the text, Gaussian noise, and a text from the noisy vector."""

    name, title, family, notion = "foreign-latent", "Foreign latent", "foreign", "approx"
    summary = "Decodes a noisy vector."
    config_cls = LatentConfig

    alignment = None

    def guarantee(self, text):
        c = self.config
        return dpt.Guarantee(
            "approx",
            c.epsilon,
            "released text",
            "any two texts",
            1,
            c.epsilon,
            delta=c.delta,
            exposed=("nothing else",),
        )

    def rewrite_prepared(self, prepared, stream, task):
        c = self.config
        angle = zlib.crc32(prepared.text.encode()) / 2**32 * 2 * math.pi
        noise = stream.normals(2) * 2 * math.sqrt(2 * math.log(1.25 / c.delta)) / c.epsilon
        x, y = np.array([math.cos(angle), math.sin(angle)]) + noise
        at = [int(5 * (math.tanh(v) + 1) - 1e-9) for v in (x, y)]
        text = f"{PIECES[at[0]]} {PIECES[at[1]]}"
        piece = dpt.Release((0, len(text)), text, c.epsilon, "drawn")
        return dpt.RewriteResult.of(self, prepared, stream, text, pieces=(piece,))


ALL = (Swap, Generator, Latent)


def registered() -> Iterator[None]:
    """Register all of them; for a fixture."""
    for cls in ALL:
        dpt.register(cls)
    yield
    for cls in ALL:
        dpt.unregister(cls.name)
