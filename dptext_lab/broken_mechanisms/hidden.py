"""Faults that only some draws reveal: in large batches, late in a text, at its first rewrite, or at one word.

Other faults here show between texts, or in text that is decoded without the stated noise.
"""

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

#: The first token that ``LateDiffractor`` leaks, and the word that ``OneWordDiffractor`` and ``OneWordCusText`` leak.
LATE, WORD = 260, "hospital"


@fault(
    "no-noise",
    "A decoder that receives no noise",
    "ADePT states noise on its vector, but writes the new text from the vector without noise.",
)
class NoiselessADePT(ADePT):
    """ADePT that states noise and decodes the vector without it."""

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
    """A mechanism that releases one of eight words for the noisy length of a text.

    The length is a number in [0, 1], at most ten words, with Laplace noise of scale 1/ε. The released word shows the
    noisy number as finely as eight words can.
    """

    name, family, notion = "tiny-length", "autoencoder", "pure"
    title = "A small mechanism that writes from one noisy number"
    summary = "Releases a word for the noisy length of a text."
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
        """Return Laplace noise from a random sign and one uniform."""
        sign, size = stream.uniforms(2).tolist()
        return math.copysign(-math.log(size) / self.config.epsilon, sign - 0.5)

    def rewrite_prepared(self, prepared, stream, task: Task) -> RewriteResult:
        noisy = self.number(prepared) + self.noise(stream)
        text = self.words[min(7, max(0, math.floor(8 * noisy)))]
        piece = Release((0, len(text)), text, self.config.epsilon, "drawn")
        return RewriteResult.of(self, prepared, stream, text, pieces=(piece,))


class _Length(AuditSupport[NoisyLength]):
    """The noise on the number that is released."""

    def latent_loss(self, a: Prepared, b: Prepared) -> float:
        return self.m.config.epsilon * abs(self.m.number(a) - self.m.number(b))

    def latent_advantage(self, a: Prepared, b: Prepared) -> float:
        return -math.expm1(-self.latent_loss(a, b) / 2)


@fault(
    "weak-noise",
    "A tenth of the stated noise",
    "A small mechanism that writes from one noisy number and adds a tenth of its stated noise.",
)
class WeakLength(NoisyLength):
    """The same mechanism with a tenth of its noise."""

    title = "A small mechanism with a tenth of its noise"

    def noise(self, stream: NoiseStream) -> float:
        return super().noise(stream) / 10


@fault(
    "understated-noise",
    "A fiftieth of the true loss",
    "A small mechanism that writes from one noisy number and states a fiftieth of its privacy loss.",
    inputs=("Yes.", "My doctor in Lisbon changed the dose because the old one made me sick."),
)
class UnderstatedLength(NoisyLength):
    """The same mechanism that states a fiftieth of its privacy loss."""

    title = "A small mechanism that states a fiftieth of its loss"

    @property
    def audit_support(self) -> AuditSupport[NoisyLength]:
        return _Fiftieth(self)


class _Fiftieth(_Length):
    def latent_loss(self, a: Prepared, b: Prepared) -> float:
        return super().latent_loss(a, b) / 50


@fault(
    "full-batch-texts",
    "Private texts, only in full batches",
    f"CusText that releases the private texts in calls of {BATCH} texts or more, with a trace that shows honest draws.",
)
class BatchTextCusText(CusText):
    """CusText that returns each text of a full batch unchanged, with a trace of honest draws."""

    title = "CusText that releases private texts in full batches"

    def rewrite_list(self, *arguments, **more) -> list[RewriteResult]:
        results = super().rewrite_list(*arguments, **more)
        return [replace(r, text=r.original) for r in results] if len(results) >= BATCH else results


@fault(
    "long-text-appended",
    "The original, only after long texts",
    f"1-Diffractor that appends the original to a text of more than {LATE} tokens.",
)
class LongTextDiffractor(Diffractor):
    """1-Diffractor that appends the original to a text of more than 260 tokens."""

    title = "1-Diffractor that appends the original to long texts"

    def _result(self, *arguments, **more) -> RewriteResult:
        result = super()._result(*arguments, **more)
        long = len(result.steps) > LATE
        return replace(result, text=f"{result.text} {result.original}") if long else result


@fault(
    "one-word-exposed",
    "A list of unprotected items that reveals one word",
    f"1-Diffractor that adds an item to those listed as not protected if the text contains “{WORD}”.",
)
class NamingDiffractor(Diffractor):
    """1-Diffractor that reveals in its list of unprotected items whether a text contains one word."""

    title = "1-Diffractor whose list of unprotected items reveals one word"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        there = WORD in (text if isinstance(text, str) else text.text).split()
        return replace(g, exposed=(*g.exposed, "where the text was written")) if there else g


@fault(
    "full-batches",
    "Leaks only in full batches",
    f"CusText that returns the last of {BATCH} texts of one call unchanged.",
)
class BatchCusText(CusText):
    """CusText that returns the last text of a full batch unchanged."""

    title = "CusText that leaks in full batches"

    def rewrite_list(self, *arguments, **more) -> list[RewriteResult]:
        results = super().rewrite_list(*arguments, **more)
        return results if len(results) < BATCH else [*results[:-1], restore_original(results[-1])]


@fault("late-words", "Leaks only late in long texts", f"1-Diffractor that keeps every word from token {LATE} on.")
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
    "Leaks only at the first rewrite",
    "CusText that returns a text unchanged the first time that it rewrites it.",
)
class FirstCusText(CusText):
    """CusText that returns a text unchanged at its first rewrite."""

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
    f"1-Diffractor that states correct distributions but releases “{WORD}” unchanged.",
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
    "A different distribution for one word",
    f"CusText that states and samples a distribution for “{WORD}” that differs from its group's.",
)
class OneWordCusText(CusText):
    """CusText whose stated distribution for one word almost never changes it."""

    title = "CusText with a different distribution for one word"

    def channel(self, row: int) -> RankTable:
        table = super().channel(row)
        return table if self.vocabulary.words[row] != WORD else replace(table, scores=100 * table.scores)


@fault(
    "shared-noise",
    "Noise that is shared between texts",
    "1-Diffractor whose texts in one call share noise: words at the same position move by the same noise.",
)
class SharedDiffractor(Diffractor):
    """1-Diffractor whose texts in one call share noise under different names."""

    title = "1-Diffractor whose texts share noise"

    def _draw(self, draws: Draws, *arguments, **more) -> list[str]:
        first = draws.texts[0][0]
        return super()._draw(replace(draws, texts=[(first, n) for _, n in draws.texts]), *arguments, **more)


HIDDEN = faults_of(__name__)
