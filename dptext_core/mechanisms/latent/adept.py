"""ADePT (Krishna, Gupta, Dupuy: EACL 2021), in the correction of DP-Rewrite and as it was first published.

An autoencoder encodes the text as a vector [h; c] of d numbers. The vector is clipped, noise is added to each of its
numbers, and the decoder greedily writes a new text from the noisy vector. One draw covers the whole text.

* ``adept`` (Igamberdiev, Arnold, Habernal: COLING 2022) clips in the ℓ1 norm: the vector is multiplied by
  min(1, C/‖·‖₁). Two clipped vectors differ by at most 2C in that norm. So Laplace noise of scale 2C/ε on each number
  gives ε-DP between any two texts, for any length, content and model.
* ``adept-original`` clips in the ℓ2 norm and adds the same noise. Two such vectors may differ by 2C·√d in the ℓ1 norm,
  which is the one that matters for Laplace noise. Its nominal ε is really ε·√d (Habernal, EMNLP 2021), so no guarantee
  is stated here.

Integer noise. Laplace noise in floating point leaves gaps that reveal the vector below it, so no ε holds (Mironov
2012). Here, each number of the clipped vector is an integer multiple of C/2²⁰, rounded towards 0. If the absolute
values add up to S > 2²⁰, each is multiplied by 2²⁰/S and rounded towards 0, in integer arithmetic. The noise is an
integer too, with P(k) = tanh(r/2)·e^(−r|k|), r = ε/2²¹, sampled exactly (``sampling.discrete_laplace``). Proof, for
clipped vectors z and z′ and any noisy vector y: ‖z‖₁, ‖z′‖₁ ≤ 2²⁰ by construction, so ‖z − z′‖₁ ≤ 2²¹, and
P(y|z)/P(y|z′) = ∏ᵢ e^(r(|yᵢ−z′ᵢ|−|yᵢ−zᵢ|)) ≤ e^(r‖z−z′‖₁) ≤ e^ε. Rounding before the noise does not matter because the
bound holds for any z and z′. Everything after it is computed from y alone.

Deviations from the papers:

* The noisy vector y is scaled by C/‖y‖₁ to the ℓ1 norm that vectors had when the decoder was trained. This uses only y,
  so it costs nothing. With ``rescale=False``, the decoder repeats one word if the noise is large. ``adept-original``
  does the same, since the bundled checkpoints were trained with ℓ1 clipping.
* The vocabulary is public: the word pieces of all-MiniLM-L6-v2, whose embeddings are frozen (there: the words of the
  training set).
* The text is read from its last word piece to its first. The encoder reads a public number of pieces and ignores the
  rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...models import autoencoder as ae
from ...models.coverage import known_by
from ...privacy.gaussian import laplace_advantage
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import NotProtectedKind, ReasonKind, UnitKind
from ...privacy.sampling import NoiseStream, discrete_laplace
from ...privacy.terms import ANY_TEXTS, NotProtected, ProtectedUnit, Reason
from ...support.assets import sha256_of
from ...support.task import Task
from ...text.document import Document
from ...words.vocabulary import trunk_folder
from ..audit_support import AuditSupport
from ..capabilities import InputCoverage
from ..config import option
from ..preparing import Prepared
from .noisy_vector import EncodedText, VectorMechanism, whole_text_epsilon

#: Number of steps in the clipping norm.
GRID = 1 << 20
#: Limit of a number relative to the norm before its vector is scaled down: GRID² times this fits in 64 bits.
_FAR = 1 << 16


@dataclass(frozen=True)
class ADePTConfig:
    """Options of ADePT. ``checkpoint``: "snips", "atis", or the folder of a pre-trained autoencoder."""

    epsilon: float | tuple[float, ...] = whole_text_epsilon(100.0, 1.0, 1000.0)
    checkpoint: str = option(
        "snips",
        label="Pre-trained on",
        help="“snips”, “atis”, or the folder of an autoencoder from the command pretrain. A rewrite may repeat "
             "training sentences.",
        phrase="pre-trained on {}",
        offered_names=tuple(ae.BUNDLED),
    )
    clip_norm: float = option(
        5.0,
        label="Clipping norm C",
        min=0.01,
        max=1000.0,
        advanced=True,
        live=True,
        help="The text's vector is scaled down to this norm. The noise grows with it.",
        phrase="C = {}",
    )
    max_tokens: int = option(
        20,
        label="Longest text",
        min=1,
        max=128,
        unit="word pieces",
        advanced=True,
        live=True,
        help="The largest number of word pieces in the output, for any length of the original.",
        phrase="at most {} word pieces",
    )
    rescale: bool = option(
        True,
        label="Scale the noisy vector",
        changes_distribution=True,
        advanced=True,
        live=True,
        help="The noisy vector is scaled to the norm that vectors had when the decoder was trained. This uses only "
             "the noisy vector, so it spends no ε.",
        phrase=("noisy vector not scaled", "noisy vector scaled"),
    )
    no_noise: bool = option(
        False,
        label="No noise",
        changes_distribution=True,
        advanced=True,
        live=True,
        help="No noise is added, so there is no guarantee. This shows the output of the autoencoder alone.",
        phrase=("with noise", "no noise"),
    )


def _scale_down(context: np.ndarray, norm: float) -> np.ndarray:
    """Return a vector as float64 (d,), scaled down if products with GRID would exceed 64-bit integers.

    nan counts as 0, an infinity as the largest float.
    """
    x = np.nan_to_num(np.asarray(context, np.float64))
    largest, most = float(np.abs(x).max(initial=0.0)), norm * _FAR
    return x if largest <= most else x / largest * most


def clip_l1(context: np.ndarray, norm: float) -> np.ndarray:
    """Clip to integer multiples of norm/GRID, int64 (d,), whose absolute values add up to at most GRID.

    This holds for any floats: nan counts as 0.
    """
    steps = np.trunc(_scale_down(context, norm) * (GRID / norm)).astype(np.int64)
    size = np.abs(steps)
    total = int(size.sum())
    return steps if total <= GRID else np.sign(steps) * (size * GRID // total)


def clip_l2(context: np.ndarray, norm: float) -> np.ndarray:
    """Clip to integer multiples of norm/GRID, int64 (d,), of the vector scaled to an ℓ2 norm of at most ``norm``."""
    x = _scale_down(context, norm)
    length = float(np.sqrt((x * x).sum()))
    return np.trunc(x * ((norm / length if length > norm else 1.0) * (GRID / norm))).astype(np.int64)


class ADePT(VectorMechanism):
    """ADePT, corrected: ℓ1 clipping, Laplace noise on whole numbers."""

    name = "adept"
    references: ClassVar[tuple[str, ...]] = ("igamberdiev2022dprewrite", "krishna2021adept", "habernal2021devil")
    title = "ADePT"
    family = "autoencoder"
    notion = "pure"
    summary = "A small network turns the text into one vector, and writes a new text from the noisy vector."
    steps = (
        "The whole text becomes one vector",
        "The vector is clipped to a fixed norm",
        "Noise of size 1/ε = {noise} moves it",
        "A new text is written from the noisy vector",
    )
    config_cls = ADePTConfig
    needs = ("autoencoder",)
    batch: ClassVar[int] = 4 * ae.WIDTH

    @classmethod
    def resolve(cls, config: Any) -> Any:
        """Resolve the folder, and read its shape, so that an unusable checkpoint is reported now."""
        ae.read_shape(folder := ae.checkpoint_folder(config.checkpoint))
        if config.checkpoint in ae.BUNDLED:
            return config
        return replace(config, checkpoint=str(Path(folder)))

    @property
    def reading(self) -> InputCoverage[ADePT]:
        return _InputCoverage(self)

    @property
    def audit_support(self) -> AuditSupport[ADePT]:
        return _AuditSupport(self)

    @cached_property
    def shape(self) -> ae.AutoencoderShape:
        """Return the checkpoint's shape; loads no weights."""
        return ae.read_shape(ae.checkpoint_folder(self.config.checkpoint))

    def loads(self) -> Mapping[str, str]:
        folder = ae.checkpoint_folder(self.config.checkpoint)
        return {"checkpoint": sha256_of(folder / ae.CONFIG, folder / ae.WEIGHTS)}

    @property
    def autoencoder(self) -> ae.Autoencoder:
        return ae.load_autoencoder(self.config.checkpoint)

    # --- the guarantee

    def _reason(self) -> Reason | None:
        """Return why there is no guarantee with these options; None where there is one."""
        return Reason(ReasonKind.NO_NOISE) if self.config.no_noise else None

    def guarantee(self, text: str | Prepared) -> Guarantee:
        if not isinstance(text, Prepared):
            self.document(text)  # which refuses values that are not texts
        c, reason = self.config, self._reason()
        return Guarantee(
            notion="none" if reason else "pure",
            epsilon=c.epsilon,
            unit=ProtectedUnit(UnitKind.RELEASED_TEXT),
            adjacency=ANY_TEXTS,
            draws=1,
            total=c.epsilon,
            exposed=(
                NotProtected(NotProtectedKind.WORD_PIECE_LIMITS, read=self.shape.window, written=c.max_tokens),
                NotProtected(NotProtectedKind.TRAINING_TEXTS),
            ),
            reason=reason or "",
        )

    def clipped(self, prepared: Prepared) -> np.ndarray:
        """Return the clipped vector in steps of C/GRID, int64 (d,), for the owner alone."""
        return clip_l1(self.encoded(prepared).latent, self.config.clip_norm)

    @property
    def rate(self) -> Fraction:
        """Return how much the log-probability of the noise falls per step."""
        return Fraction(self.config.epsilon) / (2 * GRID)

    # --- rewriting

    def _read(self, document: Document) -> tuple[list[int], bool]:
        """Return the ids of a text that are read, and whether it has more. Loads no weights."""
        ids, n = ae.pieces(document.visible.text, self.shape.window)
        return ids, n > len(ids)

    def encode(self, documents: Sequence[Document]) -> list[EncodedText]:
        read = [self._read(d) for d in documents]
        contexts = self.autoencoder.encode_ids([ids for ids, _ in read])
        return [EncodedText(d, self.key, x, cut) for d, x, (_, cut) in zip(documents, contexts, read, strict=True)]

    def noisy(self, prepared: Prepared, stream: NoiseStream) -> np.ndarray:
        """Return the vector that a text is written from, float64 (d,)."""
        steps = self.clipped(prepared)
        if not self.config.no_noise:
            steps = steps + discrete_laplace(stream.at("latent"), len(steps), self.rate)
        # From here on, only this noisy vector is used.
        vector = steps.astype(np.float64) * (self.config.clip_norm / GRID)
        learned, size = self.shape.clip_norm, float(np.abs(vector).sum())
        if self.config.rescale and learned is not None and size > 0:
            vector *= learned / size
        return vector

    def write(self, vectors: Sequence[np.ndarray], task: Task) -> list[str]:
        return self.autoencoder.decode(np.stack(vectors), self.config.max_tokens)

    @property
    def spent(self) -> float:
        return 0.0 if self.config.no_noise else self.config.epsilon

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return tuple({"checkpoint": name} for name in ae.BUNDLED)


class _InputCoverage(InputCoverage[ADePT]):
    """Coverage by the autoencoder's word pieces."""

    def known(self, document: Document) -> Sequence[bool]:
        return known_by(trunk_folder(), document)

    def uncovered(self) -> str:
        return "the autoencoder reads them letter by letter or not at all, and writes other words."

    def note(self, text: str | Prepared) -> str:
        cut = text.cut if isinstance(text, EncodedText) else self.m._read(self.m.plan(text).document)[1]
        if not cut:
            return ""
        return f"The first {self.m.shape.window} word pieces of this text are read; the rest is ignored."


class _AuditSupport(AuditSupport[ADePT]):
    """The noise on the vector that a text is written from."""

    def latent_loss(self, a: Prepared, b: Prepared) -> float | None:
        """Return the loss for noise beyond both vectors everywhere: the rate times their ℓ1 distance."""
        if self.m.config.no_noise:
            return None
        return float(self.m.rate * int(np.abs(self.m.clipped(a) - self.m.clipped(b)).sum()))

    def latent_advantage(self, a: Prepared, b: Prepared) -> float | None:
        """Return a bound, from the divergence of the noise on each number."""
        if self.m.config.no_noise:
            return None
        return laplace_advantage(self.m.clipped(a) - self.m.clipped(b), float(self.m.rate))


class ADePTOriginal(ADePT):
    """ADePT as first published: ℓ2 clipping with noise for the ℓ1 norm. A baseline without a guarantee."""

    name = "adept-original"
    references = ("krishna2021adept", "habernal2021devil")
    title = "ADePT as first published"
    notion = "none"
    summary = "ADePT with clipping that does not match its noise: a published baseline without a guarantee."

    def _reason(self) -> Reason:
        if reason := super()._reason():
            return reason
        return Reason(ReasonKind.MISMATCHED_NORMS, dimensions=2 * self.shape.hidden, epsilon=self.config.epsilon)

    def clipped(self, prepared: Prepared) -> np.ndarray:
        return clip_l2(self.encoded(prepared).latent, self.config.clip_norm)
