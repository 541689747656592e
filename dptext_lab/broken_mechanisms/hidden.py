"""Faults that show in some draws only: in large batches, late in a text, at its first rewrite, at one word, between
texts, or in what is written from noise that is not there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from dptext_core.mechanisms.audit_support import AuditSupport
from dptext_core.mechanisms.base import BATCH, Mechanism, Prepared
from dptext_core.mechanisms.config import epsilon_option
from dptext_core.mechanisms.latent.adept import ADePT
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.diffractor import Diffractor
from dptext_core.mechanisms.words.rank_table import RankTable
from dptext_core.mechanisms.words.word_trace import Draws
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import Release, RewriteResult
from dptext_core.support.task import Task

from .base import fault, faults_of
from .stated import restore_original

#: From which token on ``LateDiffractor`` leaks, and the word that ``OneWordDiffractor`` and ``OneWordCusText`` leak.
LATE, WORD = 260, "hospital"


@fault(
    "no-noise",
    "A decoder that sees no noise",
    "ADePT states the noise on its vector, and the new text is written from the vector as it is.",
)
class NoiselessADePT(ADePT):
    """ADePT that states its noise and writes from the vector without it."""

    title = "ADePT whose decoder reads the vector without noise"

    def noisy(self, prepared, stream):
        plain = ADePT(replace(self.config, no_noise=True))
        plain.__dict__["autoencoder"] = self.autoencoder
        return plain.noisy(prepared, stream)


@dataclass(frozen=True)
class LengthConfig:
    """Options of the small mechanism that writes from one noisy number."""

    epsilon: float | tuple[float, ...] = epsilon_option(2.0, 0.1, 20.0, "for the whole text")


class NoisyLength(Mechanism):
    """Writes one of eight words, by one number in [0, 1] with Laplace noise of scale 1/ε: how many words a text has, of
    ten. Small enough that what is written tells the noisy number, as far as there are words for it."""

    name, title, family, notion = "tiny-length", "A small mechanism that writes from a number", "autoencoder", "pure"
    summary = "A text's length with noise; a word for it is released."
    config_cls = LengthConfig
    closed_form: ClassVar[bool] = False
    slow_to_prepare: ClassVar[bool] = False
    words: ClassVar[tuple[str, ...]] = ("none", "tiny", "short", "brief", "medium", "long", "huge", "endless")

    @property
    def audit_support(self) -> AuditSupport[NoisyLength]:
        return _Length(self)

    @property
    def alignment(self) -> None:
        return None

    def guarantee(self, text: str | Prepared) -> Guarantee:
        epsilon = self.config.epsilon
        return Guarantee("pure", epsilon, "released text", "any two texts", 1, epsilon)

    def number(self, prepared: Prepared) -> float:
        return min(1.0, len(prepared.document.tokens) / 10)

    def noise(self, stream: NoiseStream) -> float:
        """Laplace noise: its sign, and a size by one uniform."""
        sign, size = stream.uniforms(2).tolist()
        return math.copysign(-math.log(size) / self.config.epsilon, sign - 0.5)

    def rewrite_prepared(self, prepared, stream, task: Task) -> RewriteResult:
        noisy = self.number(prepared) + self.noise(stream)
        text = self.words[min(7, max(0, math.floor(8 * noisy)))]
        piece = Release((0, len(text)), text, self.config.epsilon, "drawn")
        return RewriteResult.of(self, prepared, stream, text, pieces=(piece,))


class _Length(AuditSupport[NoisyLength]):
    """The noise on the number that a text is written from."""

    def latent_loss(self, a: Prepared, b: Prepared) -> float:
        return self.m.config.epsilon * abs(self.m.number(a) - self.m.number(b))

    def latent_advantage(self, a: Prepared, b: Prepared) -> float:
        return -math.expm1(-self.latent_loss(a, b) / 2)


@fault(
    "weak-noise",
    "A tenth of the stated noise",
    "A small mechanism that writes from one noisy number and adds a tenth of the noise that it states.",
)
class WeakLength(NoisyLength):
    """The same with a tenth of its noise."""

    title = "A small mechanism with a tenth of its noise"

    def noise(self, stream: NoiseStream) -> float:
        return super().noise(stream) / 10


@fault(
    "understated-noise",
    "A fiftieth of the loss is stated",
    "A small mechanism that writes from one noisy number and states a fiftieth of what its noise loses.",
    inputs=("Yes.", "My doctor in Lisbon changed the dose because the old one made me sick."),
)
class UnderstatedLength(NoisyLength):
    """The same, which states a fiftieth of what its noise loses."""

    title = "A small mechanism that states a fiftieth of its loss"

    @property
    def audit_support(self) -> AuditSupport[NoisyLength]:
        return _Fiftieth(self)


class _Fiftieth(_Length):
    def latent_loss(self, a: Prepared, b: Prepared) -> float:
        return super().latent_loss(a, b) / 50


@fault(
    "full-batch-texts",
    "The private texts in full batches only",
    f"CusText whose texts of a call on {BATCH} and more are the private ones, beside pieces that are honest.",
)
class BatchTextCusText(CusText):
    """CusText that gives each text of a full batch as it is, beside steps that say what was drawn."""

    title = "CusText whose texts are the private ones in full batches"

    def rewrite_list(self, *arguments, **more) -> list[RewriteResult]:
        results = super().rewrite_list(*arguments, **more)
        return [replace(r, text=r.original) for r in results] if len(results) >= BATCH else results


@fault(
    "long-text-appended",
    "The original after long texts only",
    f"1-Diffractor that appends the original to a text of more than {LATE} tokens.",
)
class LongTextDiffractor(Diffractor):
    """1-Diffractor that appends the original to a text of more than 260 tokens."""

    title = "1-Diffractor that appends long texts"

    def _result(self, *arguments, **more) -> RewriteResult:
        result = super()._result(*arguments, **more)
        long = len(result.steps) > LATE
        return replace(result, text=f"{result.text} {result.original}") if long else result


@fault(
    "one-word-exposed",
    "A list of what is exposed that tells one word",
    f"1-Diffractor that names something more among what is exposed where “{WORD}” stands in the text.",
)
class NamingDiffractor(Diffractor):
    """1-Diffractor that names one word of its vocabulary among what is exposed, where it stands."""

    title = "1-Diffractor whose list of what is exposed tells one word"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        there = WORD in (text if isinstance(text, str) else text.text).split()
        return replace(g, exposed=(*g.exposed, "where the text was written")) if there else g


@fault(
    "full-batches",
    "Leaks in full batches only",
    f"CusText that returns the last of {BATCH} texts of one call as it is.",
)
class BatchCusText(CusText):
    """CusText that returns the last text of a full batch as it is."""

    title = "CusText that leaks in full batches"

    def rewrite_list(self, *arguments, **more) -> list[RewriteResult]:
        results = super().rewrite_list(*arguments, **more)
        return results if len(results) < BATCH else [*results[:-1], restore_original(results[-1])]


@fault("late-words", "Leaks late in long texts only", f"1-Diffractor that keeps every word from token {LATE} on.")
class LateDiffractor(Diffractor):
    """1-Diffractor that keeps every word from token 260 on."""

    title = "1-Diffractor that leaks in long texts"

    def _draw(self, draws: Draws, *arguments, **more) -> list[str]:
        drawn = super()._draw(draws, *arguments, **more)
        return [
            self.vocabulary.words[r] if int(i) >= LATE else w  # type: ignore[index]
            for r, i, w in zip(draws.rows, draws.paths, drawn, strict=True)
        ]


@fault(
    "first-rewrite",
    "Leaks at the first rewrite only",
    "CusText that returns a text as it is where it has not rewritten it before.",
)
class FirstCusText(CusText):
    """CusText that returns a text as it is where it rewrites it for the first time."""

    title = "CusText that leaks at the first rewrite"

    def _result(self, *arguments, **more) -> RewriteResult:
        result = super()._result(*arguments, **more)
        known = self.__dict__.setdefault("_rewritten_before", set())
        first = result.original not in known
        known.add(result.original)
        return restore_original(result) if first else result


@fault(
    "one-word",
    "Leaks one word of its vocabulary",
    f"1-Diffractor with the right distributions that releases “{WORD}” as it is.",
)
class OneWordDiffractor(Diffractor):
    """1-Diffractor that keeps one word of its vocabulary."""

    title = "1-Diffractor that leaks one word"

    def _draw(self, draws: Draws, *arguments, **more) -> list[str]:
        drawn = super()._draw(draws, *arguments, **more)
        words = self.vocabulary.words
        return [words[r] if words[r] == WORD else w for r, w in zip(draws.rows, drawn, strict=True)]


@fault(
    "one-word-stated",
    "Another distribution for one word",
    f"CusText that states, and draws, a distribution for “{WORD}” that is not the one of its group.",
)
class OneWordCusText(CusText):
    """CusText that states, for one word of its vocabulary, that it nearly always stays."""

    title = "CusText that states another distribution for one word"

    def channel(self, row: int) -> RankTable:
        table = super().channel(row)
        return table if self.vocabulary.words[row] != WORD else replace(table, scores=100 * table.scores)


@fault(
    "shared-noise",
    "Noise that texts share",
    "1-Diffractor whose texts in one call share their noise: words at the same place move alike.",
)
class SharedDiffractor(Diffractor):
    """1-Diffractor whose texts in one call share their noise, under names that differ."""

    title = "1-Diffractor whose texts share noise"

    def _draw(self, draws: Draws, *arguments, **more) -> list[str]:
        first = draws.texts[0][0]
        return super()._draw(replace(draws, texts=[(first, n) for _, n in draws.texts]), *arguments, **more)


HIDDEN = faults_of(__name__)
