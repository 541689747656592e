"""Faults of stated distributions and guarantees, and of draws and texts that contradict them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.config import epsilon_option, option
from dptext_core.mechanisms.masked.dp_mlm import DPMLM
from dptext_core.mechanisms.masked.dp_mlm_prior import DPMLMPrior, PriorPrepared
from dptext_core.mechanisms.masked.masked_prepared import MaskedPrepared
from dptext_core.mechanisms.masked.public_prior import PublicText, proposed_logits
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.mvc import MVC
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.mechanisms.words.word_options import SpaceConfig
from dptext_core.mechanisms.words.word_space import SpaceMechanism
from dptext_core.mechanisms.words.word_trace import Draws
from dptext_core.privacy.distribution import Channel, ScoreTable, TokenDistribution, logsumexp
from dptext_core.privacy.sampling import DEPTH, NoiseStream, draw
from dptext_core.result import RewriteResult
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.words import WordSpace

from .base import fault, faults_of

# --- a float32 softmax


@dataclass(frozen=True, eq=False)
class SingleTable(ScoreTable):
    """A score table with its softmax in float32, the default of most libraries."""

    def at(self, epsilon: float) -> TokenDistribution:
        x = np.float32(epsilon) * self.scores.astype(np.float32)
        weights = np.exp(x - x.max())
        with np.errstate(divide="ignore"):
            log_p = np.log(weights / weights.sum()).astype(np.float64)
        return TokenDistribution(
            self.candidates, log_p - logsumexp(log_p), self.source, float(epsilon), None, self._keep
        )

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(draw(self.at(epsilon).log_probs, stream)[0])


@fault(
    "float32-softmax",
    "A float32 softmax",
    "DP-MLM at ε = 250 with its softmax in float32: the smallest probabilities become exactly 0.",
    options={"epsilon": 250.0},
)
class Float32DPMLM(DPMLM):
    """DP-MLM with the distribution computed in float32."""

    title = "DP-MLM with a float32 softmax"

    def table(self, logits: np.ndarray, source: str | None) -> ScoreTable:
        exact = super().table(logits, source)
        return SingleTable(exact.candidates, exact.scores, exact.source, exact._keep)


# --- candidates that depend on the private word


@fault(
    "private-support",
    "Candidates that depend on the private word",
    "SanText that samples each word from its own 50 nearest words only.",
)
class NearestOnlySanText(SanText):
    """SanText that samples from the nearest words only, so the possible outputs depend on the private word."""

    title = "SanText with only the nearest words"
    kept = 50

    def channels(self, rows: np.ndarray) -> list[Channel]:
        out: list[Channel] = []
        for channel in _tables(super().channels(rows)):
            least = np.sort(channel.scores)[-min(self.kept, len(channel.scores))]
            scores = np.where(channel.scores >= least, channel.scores, -np.inf)
            out.append(ScoreTable(channel.candidates, scores, channel.source, channel._keep))
        return out


# --- clipping in the wrong norm


@dataclass(frozen=True)
class LatentConfig(SpaceConfig):
    """Options of the small latent mechanism."""

    epsilon: float | tuple[float, ...] = epsilon_option(2.0, 0.5, 20.0)
    clip: float = option(1.0, label="Clipping norm C", min=0.01, max=100.0, help="Vectors are scaled to this length.")


@dataclass(frozen=True, eq=False)
class CellChannel(Channel):
    """The cell of a point with Laplace noise: each coordinate is below −c, between, or above c.

    point: float64 (d,). cell: the border c of each coordinate. scale: of the noise at ε = 1.
    """

    source: str
    point: np.ndarray
    cell: float
    scale: float

    candidates: ClassVar[tuple[str, ...]] = tuple("".join(c) for c in product("-0+", repeat=4))

    @property
    def source_index(self) -> np.ndarray:
        return np.empty(0, np.int64)

    def at(self, epsilon: float) -> TokenDistribution:
        b = self.scale / epsilon
        # |point| ≤ cell, so that both tails are ½·e^(−gap/b), exactly.
        below = np.log(0.5) - (self.cell + self.point) / b
        above = np.log(0.5) - (self.cell - self.point) / b
        between = np.log(-np.expm1(np.logaddexp(below, above)))
        each = np.stack([below, between, above], axis=1)
        log_p = (each[0][:, None, None, None] + each[1][:, None, None] + each[2][:, None] + each[3]).ravel()
        return TokenDistribution(self.candidates, log_p, self.source, float(epsilon), None, self.source_index)


class TinyLatent(SpaceMechanism):
    """A latent mechanism with a closed form: four numbers for each word, clipped, with Laplace noise.

    The numbers are clipped to an ℓ1 norm of C (multiplied by min(1, C/‖·‖₁)), so that two of them are at most 2C
    apart and noise of scale 2C/ε on each makes the draw ε-DP. It releases the cell that contains the noisy point.
    """

    name = "tiny-latent"
    title = "A small latent mechanism"
    notion = "pure"
    summary = "Adds Laplace noise to four clipped numbers for each word, and releases their cell."
    config_cls = LatentConfig

    @classmethod
    def _deepest(cls, config: Any, size: int, largest: float) -> float:
        """Return the largest log-ratio: each number is at most 2C from its border, and the noise is at least C/ε."""
        return DEPTH / 8.0

    @property
    def sensitivity(self) -> float:
        """Return the largest ℓ1 distance of two clipped vectors."""
        return 2.0 * self.config.clip

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Return x (d,) scaled to the clipping norm."""
        return x * min(1.0, self.config.clip / max(np.abs(x).sum(), np.finfo(float).tiny))

    def channel(self, row: int) -> Channel:
        # Far beyond C, so that clipping always applies.
        x = self.vocabulary.vectors[row, :4].astype(np.float64) * 1e4 * self.config.clip
        return CellChannel(self.vocabulary.words[row], self.clip(x), self.config.clip, self.sensitivity)

    def distances(self, words) -> np.ndarray:
        return WordMechanism.distances(self, words)

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return {"notion": "pure"}


@fault(
    "l2-clipping",
    "Clipping in the wrong norm",
    "Laplace noise for a bounded ℓ1 norm, but the vectors are clipped in the ℓ2 norm, as in ADePT.",
)
class L2Latent(TinyLatent):
    """The small latent mechanism, clipped in the ℓ2 norm with noise for ℓ1, which is ADePT's mistake."""

    title = "A small latent mechanism, clipped in the wrong norm"

    def clip(self, x: np.ndarray) -> np.ndarray:
        return x * min(1.0, self.config.clip / max(float(np.linalg.norm(x)), np.finfo(float).tiny))


@fault(
    "halved-sensitivity",
    "Half the sensitivity",
    "Laplace noise for vectors that are C apart, although two vectors of norm C can be 2C apart.",
)
class HalfLatent(TinyLatent):
    """The small latent mechanism with noise for vectors C apart, although two clipped ones can be 2C apart."""

    title = "A small latent mechanism with half the sensitivity"

    @property
    def sensitivity(self) -> float:
        return self.config.clip


# --- a custom sampler


@dataclass(frozen=True, eq=False)
class TwiceTable(ScoreTable):
    """A table that states the distribution at ε and samples from the one at 2ε."""

    def at(self, epsilon: float) -> TokenDistribution:
        stated = super().at(epsilon)
        return TokenDistribution(
            candidates=stated.candidates,
            log_probs=stated.log_probs,
            source=stated.source,
            epsilon=stated.epsilon,
            draws=None,
            _keep=self._keep,
            _sampler=lambda n, stream: draw(2 * epsilon * self.scores, stream, n),
        )

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return super().draw(2 * epsilon, stream)


@fault(
    "other-sampler",
    "A sampler that contradicts the stated distribution",
    "SanText states its distribution at ε and samples from the one at 2ε.",
)
class OtherSamplerSanText(SanText):
    """SanText whose sampler uses twice the ε of its stated distribution."""

    title = "SanText with a custom sampler"

    def channels(self, rows: np.ndarray) -> list[Channel]:
        return [TwiceTable(t.candidates, t.scores, t.source, t._keep) for t in _tables(super().channels(rows))]


# --- rewrites that contradict the distributions


def restore_original(result: RewriteResult) -> RewriteResult:
    """Return a result whose text and steps are the original's."""
    steps = tuple(
        replace(s, replacement=s.original, out=s.span) if s.action == "replace" else replace(s, out=s.span)
        for s in result.steps
    )
    return replace(result, text=result.original, steps=steps)


@fault(
    "unchanged-text",
    "A rewrite that changes nothing",
    "DP-MLM that states correct distributions but returns the text unchanged.",
)
class UnchangedDPMLM(DPMLM):
    """DP-MLM that states correct distributions but returns the text unchanged."""

    title = "DP-MLM that changes nothing"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return restore_original(super()._result(*arguments, **more))


@fault(
    "unchanged-noise",
    "Noise that has no effect",
    "MVC that states correct distributions but returns the text unchanged.",
    options={"epsilon": 10.0},
)
class UnchangedMVC(MVC):
    """MVC that states correct distributions but returns the text unchanged."""

    title = "MVC that changes nothing"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return restore_original(super()._result(*arguments, **more))


@fault(
    "alone-only",
    "Correct for single words only",
    "SanText that samples only in texts of one word, which tests often use, and leaves all others unchanged.",
)
class AloneSanText(SanText):
    """SanText that samples in texts of one word and leaves all others unchanged."""

    title = "SanText that samples only in texts of one word"

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        drawn = super()._draw(draws, task)
        words = np.bincount(draws.owners, minlength=len(draws.texts))
        return [
            self.vocabulary.words[row] if words[owner] > 1 else word
            for row, owner, word in zip(draws.rows, draws.owners, drawn, strict=True)
        ]


def _leaking(m: WordMechanism, draws: Draws, drawn: list[str], share: float) -> list[str]:
    """Return the draws with this share replaced by the original word."""
    numbers = np.bincount(draws.owners, minlength=len(draws.texts)).tolist()  # the draws are in the order of the texts
    each = [text.at("leak").uniforms(n) < share for (text, _), n in zip(draws.texts, numbers, strict=True)]
    stays = np.concatenate(each).tolist()
    return [m.vocabulary.words[r] if yes else w for r, w, yes in zip(draws.rows, drawn, stays, strict=True)]


@fault(
    "seldom-leak",
    "A leak once in a thousand draws",
    "SanText whose sampler returns the original word once in a thousand draws, at any ε.",
)
class SeldomSanText(SanText):
    """SanText whose sampler returns the original word once in a thousand draws."""

    title = "SanText that leaks once in a thousand draws"

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        return _leaking(self, draws, super()._draw(draws, task), 1e-3)


@fault(
    "too-often",
    "A word that is unchanged too often",
    "CusText whose sampler also returns the original word in a random 2% of the draws.",
)
class OftenCusText(CusText):
    """CusText whose sampler also returns the original word in a random 2% of the draws."""

    title = "CusText that keeps a word too often"

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        return _leaking(self, draws, super()._draw(draws, task), 0.02)


class StretchedSpace(WordSpace):
    """A space that reports distances a hundred times too large."""

    def distance_rows(self, rows: Any, columns: Any = None) -> np.ndarray:
        return 100.0 * super().distance_rows(rows, columns)


@fault(
    "other-unit",
    "Distances in the wrong unit",
    "SanText with scores and distances a hundred times too large, although its guarantee says “Euclidean”.",
    options={"epsilon": 4.0},
)
class StretchedSanText(SanText):
    """SanText with scores and distances a hundred times too large, and a guarantee that says "Euclidean"."""

    title = "SanText with distances in the wrong unit"

    @cached_property
    def vocabulary(self) -> WordSpace:
        s = super().vocabulary
        return StretchedSpace(s.name, s.title, s.words, s.vectors, s.counts, s.known_delta, s.codes)


# --- texts that reveal more than their words


@fault(
    "telling-spaces",
    "Spaces that depend on the original words",
    "SanText that puts a space between an emoji and a word only if the word changed.",
)
class SpacingSanText(SanText):
    """SanText that puts a space after a mark or an emoji only if the next word changed."""

    title = "SanText whose spaces depend on the original words"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        text, steps, at = "", [], 0
        for before, step in zip([None, *result.steps], result.steps, strict=False):
            text += result.text[at : step.out[0]]
            at = step.out[1]
            if step.is_changed and before is not None and before.action == "keep" and before.span[1] == step.span[0]:
                text += " "
            steps.append(replace(step, out=(len(text), len(text) + len(step.replacement))))
            text += step.replacement
        return replace(result, text=text + result.text[at:], steps=tuple(steps))


@fault(
    "telling-capitals",
    "Capital letters that depend on the original punctuation",
    "DP-MLM that also samples punctuation, and capitalises a word if a full stop preceded it in the original.",
    options={"keep_punctuation": False},
)
class CapitalsDPMLM(DPMLM):
    """DP-MLM that also samples punctuation, and capitalises words after an original full stop."""

    title = "DP-MLM whose capital letters depend on the original punctuation"

    def _result(self, prepared: MaskedPrepared, *arguments: Any, **more: Any) -> RewriteResult:
        document = prepared.document
        skeleton = document.skeleton([r is None for r in prepared.reasons])
        skeleton.__dict__["begins"] = document.skeleton([False] * len(document.tokens)).begins
        prepared = copy.copy(prepared)
        prepared.__dict__["skeleton"] = skeleton
        return super()._result(prepared, *arguments, **more)


# --- a proposal that reads the original words


class ReadingPrepared(PriorPrepared):
    """A prepared text whose public scores are not public: they read the original words at all other positions."""

    def proposed(self, places: Sequence[int], task: Task = UNWATCHED) -> np.ndarray:
        tokens = self.document.tokens
        words = [(i, tokens[i].text.lower()) for i in self.targets]
        asked = [(PublicText(self.skeleton, tuple(w for w in words if w[0] != i)), i) for i in places]
        return self.of_allowed(proposed_logits(self.model, self.document.language, asked, task))


@fault(
    "reading-prior",
    "A proposal that reads the original words",
    "DP-MLM with a public prior whose proposal for a word reads the original words around it.",
    options={"epsilon": 5.0},
)
class ReadingDPMLMPrior(DPMLMPrior):
    """DP-MLM with a public prior whose proposal reads the other original words."""

    title = "DP-MLM with a prior that is not public"
    prepared_cls = ReadingPrepared


def _tables(channels: Sequence[Channel]) -> Iterator[ScoreTable]:
    for channel in channels:
        assert isinstance(channel, ScoreTable)
        yield channel


STATED = faults_of(__name__)
