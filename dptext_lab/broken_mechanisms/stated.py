"""Faults of what a mechanism states, and of its draws and texts against it."""

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
    """A score table with its softmax in float32, as most libraries have it by default."""

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
    "SanText that draws among the 50 nearest words only, each word among its own.",
)
class NearestOnlySanText(SanText):
    """SanText that draws among the nearest words only: what can come out then depends on the private word."""

    title = "SanText among the nearest words only"
    kept = 50

    def channels(self, rows: np.ndarray) -> list[Channel]:
        out: list[Channel] = []
        for channel in _tables(super().channels(rows)):
            least = np.sort(channel.scores)[-min(self.kept, len(channel.scores))]
            scores = np.where(channel.scores >= least, channel.scores, -np.inf)
            out.append(ScoreTable(channel.candidates, scores, channel.source, channel._keep))
        return out


# --- clipping in another norm than the noise was made for


@dataclass(frozen=True)
class LatentConfig(SpaceConfig):
    """Options of the small latent mechanism."""

    epsilon: float | tuple[float, ...] = epsilon_option(2.0, 0.5, 20.0)
    clip: float = option(1.0, label="Clipping norm C", min=0.01, max=100.0, help="Vectors are scaled to this length.")


@dataclass(frozen=True, eq=False)
class CellChannel(Channel):
    """Which cell a point with Laplace noise falls in: each coordinate below −c, between, or above c.

    point: float64 (d,). cell: the coordinate's border c. scale: of the noise at ε = 1.
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
    """A latent mechanism small enough to be worked out: four numbers a word, clipped, with Laplace noise.

    The numbers are clipped to an ℓ1 norm of C (multiplied by min(1, C/‖·‖₁)), so that two of them are at most 2C
    apart and noise of scale 2C/ε on each makes the draw ε-DP. Released is the cell the noisy point falls in.
    """

    name = "tiny-latent"
    title = "A small latent mechanism"
    notion = "pure"
    summary = "Laplace noise on four clipped numbers a word; which cell they fall in is released."
    config_cls = LatentConfig

    @classmethod
    def _deepest(cls, config: Any, size: int, largest: float) -> float:
        """Each of the four numbers is at most 2C from its border, and the noise at least C/ε."""
        return DEPTH / 8.0

    @property
    def sensitivity(self) -> float:
        """The largest ℓ1 distance of two clipped vectors."""
        return 2.0 * self.config.clip

    def clip(self, x: np.ndarray) -> np.ndarray:
        """x (d,) scaled to the clipping norm."""
        return x * min(1.0, self.config.clip / max(np.abs(x).sum(), np.finfo(float).tiny))

    def channel(self, row: int) -> Channel:
        # Far beyond C, so that clipping is what decides.
        x = self.vocabulary.vectors[row, :4].astype(np.float64) * 1e4 * self.config.clip
        return CellChannel(self.vocabulary.words[row], self.clip(x), self.config.clip, self.sensitivity)

    def distances(self, words) -> np.ndarray:
        return WordMechanism.distances(self, words)

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return {"notion": "pure"}


@fault(
    "l2-clipping",
    "Clipping in another norm than the noise was made for",
    "Laplace noise for vectors of a bounded ℓ1 norm, but the vectors are clipped in the ℓ2 norm, as in ADePT.",
)
class L2Latent(TinyLatent):
    """The small latent mechanism, clipped in the ℓ2 norm with the noise for ℓ1: ADePT's mistake, in small."""

    title = "A small latent mechanism, clipped in another norm"

    def clip(self, x: np.ndarray) -> np.ndarray:
        return x * min(1.0, self.config.clip / max(float(np.linalg.norm(x)), np.finfo(float).tiny))


@fault(
    "halved-sensitivity",
    "Half of the sensitivity",
    "Laplace noise for vectors that are C apart, while two vectors of norm C can be 2C apart.",
)
class HalfLatent(TinyLatent):
    """The small latent mechanism with noise for vectors C apart, while two clipped ones can be 2C apart."""

    title = "A small latent mechanism with half of the sensitivity"

    @property
    def sensitivity(self) -> float:
        return self.config.clip


# --- a sampler of its own


@dataclass(frozen=True, eq=False)
class TwiceTable(ScoreTable):
    """States the distribution at ε and draws from that at 2ε."""

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
    "A sampler that does not draw what is stated",
    "SanText states its distribution at ε and draws from the one at 2ε.",
)
class OtherSamplerSanText(SanText):
    """SanText whose sampler takes twice the ε of the distribution it states."""

    title = "SanText with a sampler of its own"

    def channels(self, rows: np.ndarray) -> list[Channel]:
        return [TwiceTable(t.candidates, t.scores, t.source, t._keep) for t in _tables(super().channels(rows))]


# --- rewrites that do not do what the distributions say


def restore_original(result: RewriteResult) -> RewriteResult:
    """Return the text as it was, with steps that say so."""
    steps = tuple(
        replace(s, replacement=s.original, out=s.span) if s.action == "replace" else replace(s, out=s.span)
        for s in result.steps
    )
    return replace(result, text=result.original, steps=steps)


@fault(
    "unchanged-text",
    "A rewrite that changes nothing",
    "DP-MLM with the right distributions, whose rewrite returns the text as it is.",
)
class UnchangedDPMLM(DPMLM):
    """DP-MLM with honest distributions, whose rewrite returns the text as it is."""

    title = "DP-MLM that changes nothing"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return restore_original(super()._result(*arguments, **more))


@fault(
    "unchanged-noise",
    "Noise that is added to nothing",
    "MVC with the right distributions, whose rewrite returns the text as it is.",
    options={"epsilon": 10.0},
)
class UnchangedMVC(MVC):
    """MVC with honest distributions, whose rewrite returns the text as it is."""

    title = "MVC that changes nothing"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return restore_original(super()._result(*arguments, **more))


@fault(
    "alone-only",
    "Right for single words only",
    "SanText that draws in texts of one word, as tests often have them, and is the identity on all others.",
)
class AloneSanText(SanText):
    """SanText on texts of one word, and the identity on all others."""

    title = "SanText that draws in texts of one word only"

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        drawn = super()._draw(draws, task)
        words = np.bincount(draws.owners, minlength=len(draws.texts))
        return [
            self.vocabulary.words[row] if words[owner] > 1 else word
            for row, owner, word in zip(draws.rows, draws.owners, drawn, strict=True)
        ]


def _leaking(m: WordMechanism, draws: Draws, drawn: list[str], share: float) -> list[str]:
    """Return the original word in this share of the draws."""
    numbers = np.bincount(draws.owners, minlength=len(draws.texts)).tolist()  # the draws stand text after text
    each = [text.at("leak").uniforms(n) < share for (text, _), n in zip(draws.texts, numbers, strict=True)]
    stays = np.concatenate(each).tolist()
    return [m.vocabulary.words[r] if yes else w for r, w, yes in zip(draws.rows, drawn, stays, strict=True)]


@fault(
    "seldom-leak",
    "A leak once in a thousand draws",
    "SanText whose sampler returns the original word once in a thousand draws, whatever ε is.",
)
class SeldomSanText(SanText):
    """SanText whose sampler returns the original word once in a thousand draws."""

    title = "SanText that leaks once in a thousand draws"

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        return _leaking(self, draws, super()._draw(draws, task), 1e-3)


@fault(
    "too-often",
    "A word that stays too often",
    "CusText whose sampler returns the original word in two more of a hundred draws than it states.",
)
class OftenCusText(CusText):
    """CusText whose sampler returns the original word in two more of a hundred draws."""

    title = "CusText that keeps a word too often"

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        return _leaking(self, draws, super()._draw(draws, task), 0.02)


class StretchedSpace(WordSpace):
    """A space whose distances are given a hundred times too large."""

    def distance_rows(self, rows: Any, columns: Any = None) -> np.ndarray:
        return 100.0 * super().distance_rows(rows, columns)


@fault(
    "other-unit",
    "Distances in another unit than the promise names",
    "SanText whose scores and distances are a hundred times too large, while its promise says “Euclidean”.",
    options={"epsilon": 4.0},
)
class StretchedSanText(SanText):
    """SanText with scores and distances a hundred times too large, and a guarantee that says "Euclidean"."""

    title = "SanText that measures in another unit"

    @cached_property
    def vocabulary(self) -> WordSpace:
        s = super().vocabulary
        return StretchedSpace(s.name, s.title, s.words, s.vectors, s.counts, s.known_delta, s.codes)


# --- texts that tell more than their words


@fault(
    "telling-spaces",
    "Spaces that follow the original words",
    "SanText that puts a space between an emoji and a word only where the word changed.",
)
class SpacingSanText(SanText):
    """SanText that puts a space after a mark or an emoji only where the word after it changed."""

    title = "SanText whose spaces follow the original words"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        text, steps, at = "", [], 0
        for before, step in zip([None, *result.steps], result.steps, strict=False):
            text += result.text[at : step.out[0]]
            at = step.out[1]
            if step.changed and before is not None and before.action == "keep" and before.span[1] == step.span[0]:
                text += " "
            steps.append(replace(step, out=(len(text), len(text) + len(step.replacement))))
            text += step.replacement
        return replace(result, text=text + result.text[at:], steps=tuple(steps))


@fault(
    "telling-capitals",
    "Capital letters that follow the original marks",
    "DP-MLM that draws punctuation marks too, and gives a word a capital where a full stop stood before it.",
    options={"keep_punctuation": False},
)
class CapitalsDPMLM(DPMLM):
    """DP-MLM that draws punctuation too, and capitalises words after what was a full stop."""

    title = "DP-MLM whose capital letters follow the original marks"

    def _result(self, prepared: MaskedPrepared, *arguments: Any, **more: Any) -> RewriteResult:
        document = prepared.document
        skeleton = document.skeleton([r is None for r in prepared.reasons])
        skeleton.__dict__["begins"] = document.skeleton([False] * len(document.tokens)).begins
        prepared = copy.copy(prepared)
        prepared.__dict__["skeleton"] = skeleton
        return super()._result(prepared, *arguments, **more)


# --- a proposal that reads the original words


class ReadingPrepared(PriorPrepared):
    """A text whose public scores are not: for each place, the original words of the others count as released."""

    def proposed(self, places: Sequence[int], task: Task = UNWATCHED) -> np.ndarray:
        tokens = self.document.tokens
        words = [(i, tokens[i].text.lower()) for i in self.targets]
        asked = [(PublicText(self.skeleton, tuple(w for w in words if w[0] != i)), i) for i in places]
        return self.of_allowed(proposed_logits(self.model, self.document.language, asked, task))


@fault(
    "reading-prior",
    "A proposal that reads the original words",
    "DP-MLM with a public prior whose proposal for a word sees the original words around it.",
    options={"epsilon": 5.0},
)
class ReadingDPMLMPrior(DPMLMPrior):
    """DP-MLM with a public prior whose proposal sees the other original words."""

    title = "DP-MLM with a prior that is not public"
    prepared_cls = ReadingPrepared


def _tables(channels: Sequence[Channel]) -> Iterator[ScoreTable]:
    for channel in channels:
        assert isinstance(channel, ScoreTable)
        yield channel


STATED = faults_of(__name__)
