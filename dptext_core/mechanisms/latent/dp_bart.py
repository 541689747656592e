"""DP-BART (Igamberdiev and Habernal, Findings of ACL 2023): the variant DP-BART-CLV, clipping by value.

The encoder of an encoder-decoder reads the text, padded or cut to a public number l of tokens, and returns d numbers
for each. Each of the l·d numbers is clipped to [−C, C], and noise is added to it. The decoder then writes a new text
from the noisy numbers alone. It takes the best token at each step, up to a public number of tokens. One draw covers the
whole text. Two texts differ by at most 2C in each number, which is 2C·√(l·d) in the ℓ2 norm and 2C·l·d in the ℓ1 norm.

* ``noise="gaussian"``: (ε, δ)-DP by the analytic calibration of Balle and Wang (:mod:`dptext_core.privacy.gaussian`).
* ``noise="laplace"``: ε-DP, with noise of scale 2C·l·d/ε on each number; δ is 0.

Length. The encoder does not attend to padding. Padded positions are set to 0, the middle of the range, and get noise
like all others. The decoder attends to all l positions. So the length of a text, up to l tokens, is protected like the
rest of it.

Floating point. Clipped numbers are integer multiples of C/4096 (rounded towards 0), and so is the noise, whose
distribution is exactly the one in the proofs. So no bit of a noisy number reveals the number below it. Rounding before
the noise does not matter because the bound holds for any two clipped vectors. Everything after it is computed from the
noisy numbers.

Deliberate deviations from the paper and its released code:

* Positions beyond the text are 0 (there: the encoder's output for padding).
* Decoding is greedy (there: three beams), and special tokens other than the end are never written.
* ``denoise`` estimates the encoder's numbers from the noisy ones before the decoder reads them. It uses the best linear
  rule for random sequences of frequent words, which are public. ``denoise=False`` skips this, as the paper does.
* No sequence of three tokens is repeated, as in BART's own settings.
* The pruned variants DP-BART-PR and DP-BART-PR+, which train the model with some of these numbers set to 0, are left
  out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from ...errors import ConfigError, InputError
from ...models.generators import PROMPTED, GeneratorSpec, generator_spec
from ...models.registry import BUNDLED, json_in, weights_sha256
from ...privacy.gaussian import (
    LARGEST_DELTA,
    gaussian_advantage,
    gaussian_epsilon,
    gaussian_sigma,
    laplace_advantage,
    rounded_gaussian,
)
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import NotProtectedKind, UnitKind
from ...privacy.sampling import NoiseStream, discrete_laplace
from ...privacy.terms import ANY_TEXTS, NotProtected, ProtectedUnit
from ...support.checks import each_text
from ...support.task import Task
from ...text.document import Document
from ..audit_support import AuditSupport
from ..capabilities import InputCoverage
from ..config import option
from ..preparing import Prepared
from ..writing.generation_options import generator_option, recase_option
from .noisy_vector import EncodedText, VectorMechanism, whole_text_epsilon

#: Steps from 0 to the bound.
GRID = 1 << 12
#: C in the paper's released code for BART.
PAPER_BOUND = 0.1
#: C of the bundled model: half of its encoder's numbers are beyond it (:func:`estimate_bound`).
BUNDLED_BOUND = 0.3
#: Runs of this many tokens are never repeated.
REPEATED = 3
#: Number of public texts that the estimate of noisy numbers uses, and words of each.
_PUBLIC, _WORDS = 128, 12


@dataclass(frozen=True)
class DPBARTConfig:
    """Options of DP-BART."""

    epsilon: float | tuple[float, ...] = whole_text_epsilon(1000.0, 10.0, 100_000.0)
    noise: str = option(
        "gaussian",
        label="Noise",
        changes_distribution=True,
        choices=("gaussian", "laplace"),
        live=True,
        help="Gaussian noise is smaller unless ε is very large, but its guarantee may fail with probability δ. "
             "Laplace noise has no δ.",
        phrase="{} noise",
    )
    delta: float = option(
        1e-5,
        label="δ",
        min=1e-12,
        max=LARGEST_DELTA,
        live=True,
        help="With Gaussian noise, the guarantee may fail with this probability. Laplace noise has no δ.",
        phrase="δ = {}",
    )
    positions: int = option(
        20,
        label="Tokens read",
        min=8,
        max=512,
        advanced=True,
        help="Every text is padded or cut to this number of tokens, which hides its length. The noise grows with "
             "the number.",
        phrase="{} tokens read",
    )
    bound: float | None = option(
        None,
        label="Bound C",
        min=1e-4,
        max=1e4,
        advanced=True,
        live=True,
        help="Each number from the encoder is clipped to the range −C to C. The default is the paper's for BART; "
             "for the bundled model, it is estimated from public texts.",
        phrase="C = {}",
    )
    denoise: bool = option(
        True,
        label="Estimate before decoding",
        changes_distribution=True,
        advanced=True,
        live=True,
        help="The decoder reads estimates of the exact numbers, based on the noisy ones and public data. The paper "
             "uses the noisy numbers directly; the guarantee is unchanged.",
        phrase=("noisy numbers not estimated", "noisy numbers estimated"),
    )
    max_tokens: int = option(
        20,
        label="Maximum tokens",
        min=1,
        max=256,
        live=True,
        help="The largest number of tokens in the output, for any length of the original.",
        phrase="at most {} tokens",
    )
    recase: str = recase_option()
    model: str = generator_option("encoder-decoder", PROMPTED)


def clip(latent: np.ndarray, bound: float) -> np.ndarray:
    """Clip to integer multiples of bound/GRID, int64, from −GRID to GRID, for any floats: NaN counts as 0."""
    inside = np.clip(np.nan_to_num(np.asarray(latent, np.float64)), -bound, bound) / bound
    return np.trunc(inside * GRID).astype(np.int64)


class DPBART(VectorMechanism):
    """DP-BART: an encoder's clipped numbers, noise, and a decoder that writes from them."""

    name = "dp-bart"
    references = ("igamberdiev2023dpbart",)
    title = "DP-BART"
    family = "language models"
    notion = "approx"
    summary = "An encoder turns the text into numbers, and a decoder writes a new text from the noisy numbers."
    steps = (
        "The whole text becomes a row of numbers",
        "They are clipped to a fixed range",
        "Noise of size 1/ε = {noise} moves them",
        "A new text is written from the noisy numbers",
    )
    config_cls = DPBARTConfig
    needs = ("language model",)

    @classmethod
    def resolve(cls, config: Any) -> Any:
        spec = generator_spec(config.model, PROMPTED)
        if spec.kind != "encoder-decoder":
            raise ConfigError(
                f"{config.model!r} has no encoder, and DP-BART needs one. Choose an encoder-decoder such as BART or T5."
            )
        if config.positions > spec.max_length:
            raise ConfigError(f"{config.model!r} reads {spec.max_length} tokens at most. Choose fewer positions.")
        bound = default_bound(spec) if config.bound is None else config.bound
        if bound is None:
            raise ConfigError(
                f"No bound is known for {config.model!r}. Give one (bound); "
                "dptext_core.mechanisms.latent.dp_bart.estimate_bound estimates it from your public texts."
            )
        return dataclasses.replace(config, bound=float(bound))

    def replace(self, **options: Any) -> Self:
        if "model" in options and self.config.bound == default_bound(generator_spec(self.config.model, PROMPTED)):
            # A bound that came from the old model follows the new one; an explicit one is unchanged.
            options = {"bound": None} | options
        return super().replace(**options)

    @property
    def reading(self) -> InputCoverage[DPBART]:
        return _InputCoverage(self)

    @property
    def audit_support(self) -> AuditSupport[DPBART]:
        return _AuditSupport(self)

    def loads(self) -> Mapping[str, str]:
        return {"model": weights_sha256(generator_spec(self.config.model, PROMPTED).folder)}

    @property
    def model_ready(self) -> bool:
        from ...models.loaded_generators import is_loaded

        return is_loaded(self.config.model, PROMPTED)

    def generator(self):
        """Return the language model, loaded."""
        from ...models.loaded_generators import load_generator

        return load_generator(self.config.model, PROMPTED)

    # --- the guarantee

    def guarantee(self, text: str | Prepared) -> Guarantee:
        if not isinstance(text, Prepared):
            self.document(text)  # the guarantee is the same for every text
        c = self.config
        pure = c.noise == "laplace"
        return Guarantee(
            notion="pure" if pure else "approx",
            epsilon=c.epsilon,
            unit=ProtectedUnit(UnitKind.RELEASED_TEXT),
            adjacency=ANY_TEXTS,
            draws=1,
            total=c.epsilon,
            delta=0.0 if pure else c.delta,
            exposed=(NotProtected(NotProtectedKind.TOKEN_LIMITS, read=c.positions, written=c.max_tokens),),
        )

    def scale(self, n: int) -> float:
        """Return the noise on each of n numbers, in steps: the deviation of Gaussian noise, 2C·n/ε of Laplace's."""
        c = self.config
        if c.noise == "laplace":
            return 2 * GRID * n / c.epsilon
        return gaussian_sigma(c.epsilon, c.delta, 2 * GRID * math.sqrt(n))

    def clipped(self, prepared: Prepared) -> np.ndarray:
        """Return the clipped numbers in steps of C/GRID, int64 (l, d), for the owner alone."""
        return clip(self.encoded(prepared).latent, self.config.bound)

    # --- rewriting

    @property
    def batch(self) -> int:
        from ...models.generator import ROWS

        return ROWS

    def encode(self, documents: Sequence[Document]) -> list[EncodedText]:
        """Return the encoder's output for documents, (l, d) each; 0 beyond the text."""
        g, n = self.generator(), self.config.positions
        read = [_ids(g, d.visible.text, n) for d in documents]
        latents = g.latents([ids for ids, _ in read], n)
        return [EncodedText(d, self.key, x, cut) for d, x, (_, cut) in zip(documents, latents, read, strict=True)]

    def _rate(self, n: int) -> Fraction:
        """Return how much the log-probability of Laplace noise falls per step."""
        return Fraction(self.config.epsilon) / (2 * GRID * n)

    def noisy(self, prepared: Prepared, stream: NoiseStream) -> np.ndarray:
        """Return the noisy numbers, float64 (l, d): all that the new text is written from."""
        steps = self.clipped(prepared)
        stream = stream.at("latent")
        if self.config.noise == "laplace":
            noise = discrete_laplace(stream, steps.size, self._rate(steps.size))
        else:
            noise = rounded_gaussian(stream, steps.size, self.scale(steps.size))
        return (steps + noise.reshape(steps.shape)).astype(np.float64) * (self.config.bound / GRID)

    def _read(self, noisy: np.ndarray) -> np.ndarray:
        """Return the decoder's input, float32 (l, d): computed from the noisy numbers and public data alone."""
        c = self.config
        if not c.denoise:
            return noisy.astype(np.float32)
        spread = self.scale(noisy.size) * c.bound / GRID
        variance = spread**2 * (2 if c.noise == "laplace" else 1)
        values, vectors, back = _public_shape(self.generator(), c.positions, c.bound)
        return ((noisy @ vectors / (values + variance)) @ back).astype(np.float32)

    def write(self, vectors: Sequence[np.ndarray], task: Task) -> list[str]:
        most = self.config.max_tokens

        def step(k: int) -> None:
            task.check()
            task.report(k, most)

        read = np.stack([self._read(noisy) for noisy in vectors])
        return [self._text(tokens) for tokens in self.generator().decode(read, most, REPEATED, step)]

    def _text(self, tokens: list[int]) -> str:
        text = " ".join("".join(self.generator().pieces(tokens)).split())
        if self.config.recase == "none":
            return text
        out, at, begin = [], 0, True
        for token in Document.parse(text, self.language).tokens:
            word = text[token.start : token.end]
            if token.kind == "word" and (begin or len(word) == 1):
                word = self.language.case(word, begin)
            out += [text[at : token.start], word]
            begin, at = token.text[-1:] in self.language.enders or (begin and token.kind == "punct"), token.end
        return "".join(out) + text[at:]

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return ({}, {"noise": "laplace"})


class _InputCoverage(InputCoverage[DPBART]):
    """Coverage by the model's tokens."""

    def known(self, document: Document) -> Sequence[bool]:
        from ...models.coverage import spec_knows

        return spec_knows(generator_spec(self.m.config.model, PROMPTED), document)

    def uncovered(self) -> str:
        return "the model reads them letter by letter or not at all."

    def note(self, text: str | Prepared) -> str:
        if isinstance(text, EncodedText):
            cut = text.cut
        else:  # for a plain text, known once the model is loaded
            n = self.m.config.positions
            cut = self.m.model_ready and _ids(self.m.generator(), self.m.plan(text).document.visible.text, n)[1]
        if not cut:
            return ""
        return (
            f"The first {self.m.config.positions} tokens of this text are read; the rest is ignored. Reading more "
            "tokens also adds more noise."
        )


class _AuditSupport(AuditSupport[DPBART]):
    """The noise on the vector that a text is written from."""

    def latent_loss(self, a: Prepared, b: Prepared) -> float | None:
        apart = (self.m.clipped(a) - self.m.clipped(b)).ravel()
        if self.m.config.noise == "laplace":
            return float(self.m._rate(apart.size) * int(np.abs(apart).sum()))
        return gaussian_epsilon(self.m.config.delta, math.sqrt(int((apart * apart).sum())) / self.m.scale(apart.size))

    def latent_advantage(self, a: Prepared, b: Prepared) -> float | None:
        """Return the exact value for Gaussian noise, and a bound for Laplace noise."""
        apart = (self.m.clipped(a) - self.m.clipped(b)).ravel()
        if self.m.config.noise == "laplace":
            return laplace_advantage(apart, float(self.m._rate(apart.size)))
        return gaussian_advantage(math.sqrt(int((apart * apart).sum())) / self.m.scale(apart.size))


def default_bound(spec: GeneratorSpec) -> float | None:
    """Return the known public bound of a model; None if there is none.

    A model's folder may name one in ``dptext.json``, as ``latent_bound``.
    """
    if spec.on_trunk:
        return BUNDLED_BOUND
    notes = json_in(spec.folder / "dptext.json")
    if (stated := notes.get("latent_bound")) is not None:
        if isinstance(stated, bool) or not isinstance(stated, int | float) or not 1e-4 <= stated <= 1e4:
            raise ConfigError(f"latent_bound in {spec.folder / 'dptext.json'} must be a number from 0.0001 to 10000.")
        return float(stated)
    return PAPER_BOUND if json_in(spec.folder / "config.json").get("model_type") == "bart" else None


def estimate_bound(
    texts: Iterable[str], model: str = BUNDLED, positions: int = 20, share: float = 0.5, most: int = 1000
) -> float:
    """Return a bound from public texts: this share of the encoder's numbers exceeds it. Small bounds need little noise
    but limit the information. If noise is large, one half has been a good choice. Only the first ``most`` texts are
    read.
    """
    from ...models.generator import ROWS
    from ...models.loaded_generators import load_generator

    g = load_generator(model, PROMPTED)
    sizes, block = [], list[list[int]]()
    for k, text in enumerate(each_text(texts)):
        if k >= most:
            break
        block.append(_ids(g, text, positions)[0])
        if len(block) == ROWS:
            sizes.append(_filled(g.latents(block, positions)))
            block = []
    if block:
        sizes.append(_filled(g.latents(block, positions)))
    if not sizes:
        raise InputError("There is no text to estimate the bound from. Provide some public texts.")
    return float(np.quantile(np.abs(np.concatenate(sizes)), 1 - share))


def _ids(generator: Any, text: str, positions: int) -> tuple[list[int], bool]:
    """Return the ids of a text that are read, and whether it was cut."""
    return generator.prompt("", " ".join(text.split()), "", positions)


def _filled(latents: np.ndarray) -> np.ndarray:
    """Return the rows (m, d) at positions with text."""
    rows = latents.reshape(-1, latents.shape[-1])
    return rows[rows.any(axis=1)]


@lru_cache(maxsize=4)
def _public_shape(generator: Any, positions: int, bound: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how the encoder's numbers x and the clipped ones z are correlated in public texts.

    Eigenvalues (d,) and vectors (d, d) of E[z zᵀ], and these vectors times E[z xᵀ]. The best linear estimate of x from
    z with noise of variance v on each number is x̂ = ((z V) / (λ + v)) (Vᵀ E[z xᵀ]).
    """
    from ...words import word_space

    space = word_space("minilm")
    assert space.counts is not None
    share = space.counts / space.counts.sum()
    picked = np.random.default_rng(5).choice(len(space.words), (_PUBLIC, _WORDS), p=share)
    texts = [" ".join(space.words[i] for i in row) + "." for row in picked]
    ids = [_ids(generator, t, positions)[0] for t in texts]
    x = _filled(generator.latents(ids, positions)).astype(np.float64)
    z = clip(x, bound) * (bound / GRID)
    values, vectors = np.linalg.eigh(z.T @ z / len(z))
    # Fewer positions than numbers leave some directions without data.
    values = np.maximum(values, 0.0) + 1e-3 * values.mean()
    return values, vectors, vectors.T @ (z.T @ x) / len(z)
