"""DP-MLM and DP-MLM± (Meisenbacher, Chevli, Vladika, Matthes: Findings of ACL 2024; Algorithms 1 to 3, Appendix A).

Each word is masked. A masked language model scores every candidate at the mask, and the scores are clipped to
[Cmin, Cmax]. One candidate is sampled with probability ∝ exp(ε·clipped / 2(Cmax−Cmin)). This is the exponential
mechanism: ε-LDP per word for any two contexts.

Deliberate deviations from the paper and its released code:

* All words are masked and sampled in parallel, each in the original text. ``order="sequential"`` is Algorithm 2 as
  printed, in which later words see earlier replacements.
* Punctuation is kept unless ``keep_punctuation=False``.
* A stop word that is written as a name or a number is replaced (:mod:`dptext_core.text.names_and_numbers`).
* The bundled model was trained to read the whole text at a mask, including the masked word. As in the paper, other
  models read the text and its masked copy.
* Candidates are a fixed, public set of whole words; the released code also samples word pieces.
* Sampling uses float64 with full-range noise: a float32 softmax gives some words probability 0 from ε ≈ 190 on.
* The capital letter of an original word is copied to its replacement only with ``recase="original"``.
* For long texts, each half has a window centred on the target. The bundled model reads overlapping windows, and each
  word is scored in the window in which it is most central.
* Algorithm 3: a deleted token is removed (as printed, the last originals would remain verbatim). Deleting and adding
  use two separate random numbers and concern only replaced tokens, so n is the number of replaced tokens.
* Appendix A: the similarity compares two static word vectors (the paper compares whole sentences). Both parts are
  clipped, so the sensitivity is (simmax−simmin) + α(Cmax−Cmin).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from ...models.registry import ClipRange, masked_lm_spec
from ...privacy.distribution import ScoreTable
from ...privacy.kinds import NotProtectedKind, ReasonKind
from ...privacy.sampling import NoiseStream
from ...privacy.terms import NotProtected, Reason
from ...support.task import UNWATCHED, Task
from ...text.language import Language
from ...text.lexicons import antonyms
from ..base import Mechanism
from ..capabilities import Alignment, PublicPrior
from ..clipping import ClippedMechanism
from ..config import (
    allowlist_option,
    detector_option,
    epsilon_option,
    keep_punctuation_option,
    keep_stopwords_option,
    loaded_words_option,
    model_option,
    never_option,
    option,
    recase_option,
    stopwords_option,
    surrogates_option,
    with_presets,
)
from ..likelihood import Likelihood
from ..registry import mechanism_class
from .masked_facets import MaskedLikelihood, Places
from .masked_prepared import Draw, MaskedPrepared
from .masked_words import MaskedWords
from .model_words import candidates, without_banned


@dataclass(frozen=True)
class DPMLMConfig:
    """Options of DP-MLM. ``clip_min`` and ``clip_max`` default to the ends of the range that ``clip`` names."""

    epsilon: float | tuple[float, ...] = epsilon_option(50.0, 10.0, 250.0)
    order: str = option(
        "parallel",
        label="Order",
        changes_distribution=True,
        choices=("parallel", "sequential"),
        help="In parallel order, the model reads the original words around each word; in sequential order "
        "(Algorithm 2), it reads earlier replacements. Both orders spend the same ε.",
        phrase="{} order",
    )
    contextualize: bool = option(
        True,
        label="Show the original text to the model",
        changes_distribution=True,
        help="The model reads the original text, and then the text with one word masked. When this is off, it reads "
        "only the masked text.",
        phrase=("only the masked text shown", "original text shown"),
    )
    keep_stopwords: bool = keep_stopwords_option()
    keep_punctuation: bool = keep_punctuation_option()
    clip: str = option(
        "tuned",
        label="Clipping range",
        changes_distribution=True,
        choices=("tuned", "paper"),
        presets={"paper": "paper"},
        live=True,
        help="Scores are clipped to this range before sampling; the guarantee is the same. In the paper's range, many "
        "words tie at the top; the tuned range, chosen on public text, distinguishes them.",
        phrase="clipping range: {}",
    )
    clip_min: float | None = option(
        None,
        label="Clipping range, lower end",
        help="Lower scores of the model are raised to this end. A narrow range makes more words equally likely.",
        phrase="clipping from {}",
        advanced=True,
        has_own_control=True,
        live=True,
    )
    clip_max: float | None = option(
        None,
        label="Clipping range, upper end",
        help="Higher scores of the model are lowered to this end. Words above it are equally likely.",
        phrase="clipping to {}",
        advanced=True,
        has_own_control=True,
        live=True,
    )
    score: str = option(
        "logit",
        label="Score",
        changes_distribution=True,
        choices=("logit", "similarity"),
        advanced=True,
        live=True,
        help="The logit is the model's own score. The similarity score (Appendix A) is the similarity to the "
        "original word plus α times the logit.",
    )
    alpha: float = option(
        0.003,
        label="α, weight of the model's score",
        min=0.0,
        max=1.0,
        advanced=True,
        live=True,
        help="The similarity score is the similarity to the original word plus α times the logit.",
        phrase="α = {}",
        used_with=("score", "similarity"),
    )
    antonym_filter: bool = option(
        False,
        label="Never use an antonym",
        changes_distribution=True,
        advanced=True,
        live=True,
        help="Antonyms of the original word are excluded. The possible outputs then depend on the private word, so "
        "there is no guarantee.",
        phrase=("antonyms allowed", "antonyms removed"),
    )
    recase: str = recase_option()
    model: str = model_option()
    stopwords: str | None = stopwords_option()
    never: tuple[str, ...] = never_option()
    loaded_words: bool = loaded_words_option()
    surrogates: bool = surrogates_option()
    detector: str = detector_option("Used only with stand-ins.", ("surrogates", True))
    allowlist: tuple[str, ...] = allowlist_option(("surrogates", True))


@dataclass(frozen=True)
class DPMLMPlusConfig(DPMLMConfig):
    """Options of DP-MLM±: those of DP-MLM, and the probabilities of adding and deleting."""

    clip: str = with_presets(DPMLMConfig, "clip", benchmark="paper")
    add_prob: float = option(
        0.1,
        label="Probability of adding a word (A)",
        min=0.0,
        max=1.0,
        live=True,
        help="After each replaced word, another word is added with this probability.",
        phrase="add {}",
    )
    del_prob: float = option(
        0.05,
        label="Probability of deleting a word (D)",
        min=0.0,
        max=1.0,
        live=True,
        help="Each replaced word is deleted with this probability.",
        phrase="delete {}",
    )


class DPMLM(ClippedMechanism, MaskedWords):
    """DP-MLM: replace every word by a sample from a masked language model (Algorithms 1 and 2)."""

    name = "dp-mlm"
    references = ("meisenbacher2024dpmlm", "mcsherry2007mechanism")
    title = "DP-MLM"
    summary = "A masked language model rewrites the text word by word, seeing the sentence around each word."
    steps = (
        "{n} words are scored: do they fit here?",
        "The scores are clipped to {low} … {high}; {tied} words tie at the top",
        "Noise of size {noise} is added on the same scale",
        "The word with the best score is released",
    )
    config_cls: ClassVar[type] = DPMLMConfig
    estimator = "estimate_clip_range"

    @classmethod
    def known_ranges(cls, model: str) -> Mapping[str, ClipRange]:
        return masked_lm_spec(model).clips

    @classmethod
    def resolve(cls, config: Any) -> Any:
        return dataclasses.replace(config, **cls.clip_ends(config))

    # --- scores to distributions

    def table(self, logits: np.ndarray, source: str | None) -> ScoreTable:
        """Return clipped scores with a spread of at most 1/2 from the candidates' raw logits at one mask, float32
        (V,)."""
        c = self.config
        clipped = logits.astype(np.float64)
        np.clip(clipped, c.clip_min, c.clip_max, out=clipped)
        if c.score == "similarity":
            likeness = without_banned(_similarities(c.model, self.language, source), self._banned).clip(0.0, 1.0)
            scores = (likeness + c.alpha * (clipped - c.clip_max)) / (2 * (1.0 + c.alpha * (c.clip_max - c.clip_min)))
        else:
            clipped -= c.clip_max
            scores = np.divide(clipped, 2 * (c.clip_max - c.clip_min), out=clipped)
        if c.antonym_filter and source is not None:
            for word in antonyms(language=self.language).of(source):
                scores[self._keep(word)] = -np.inf
        return ScoreTable(self.candidates, scores, source, self._keep(source))

    def keep_probability(self, logits: np.ndarray, source: str | None, epsilon: float) -> float:
        return self.table(logits, source).at(epsilon).p_keep()

    def tables(
        self, prepared: MaskedPrepared, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED
    ) -> list[ScoreTable]:
        """Return the score tables of (token index, insertion?) given the original text."""
        tokens, c = prepared.document.tokens, self.config
        how = c.clip_min, c.clip_max, c.score, c.alpha, c.antonym_filter
        return [
            prepared.table((*how, i, insert), partial(self.table, row, None if insert else tokens[i].text))
            for (i, insert), row in zip(keys, prepared.rows(keys, task.quiet), strict=True)
        ]

    def tables_given(self, draws: Sequence[Draw], task: Task = UNWATCHED) -> list[ScoreTable]:
        sources = [None if d.insert else d.prepared.document.tokens[d.token].text for d in draws]
        return [self.table(row, s) for row, s in zip(self._logits_given(draws, task), sources, strict=True)]

    def _broken(self) -> Reason | None:
        return Reason(ReasonKind.ANTONYM_FILTER) if self.config.antonym_filter else None

    @property
    def public_prior(self) -> PublicPrior[DPMLM] | None:
        return _Start(self) if type(self) is DPMLM else None

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        others = ({"clip": "paper"}, {"score": "similarity"}, {"order": "sequential"}, {"keep_punctuation": False})
        return ({}, *others, {"surrogates": True})


class _Start(PublicPrior[DPMLM]):
    """The variant with a public prior is another mechanism."""

    def from_public(self) -> Mechanism | None:
        c = self.m.config
        if c.antonym_filter or c.score != "logit":
            return None
        prior = mechanism_class("dp-mlm-prior")
        shared = {f.name for f in dataclasses.fields(prior.config_cls)} & {f.name for f in dataclasses.fields(c)}
        public = prior.create(**{name: getattr(c, name) for name in shared})
        largest = max(c.epsilon) if isinstance(c.epsilon, tuple) else c.epsilon
        return public if largest <= public.max_epsilon else None


class DPMLMPlus(DPMLM):
    """DP-MLM±: words are also deleted and added, so the length changes (Algorithm 3)."""

    name = "dp-mlm-plus"
    title = "DP-MLM±"
    summary = "This DP-MLM also deletes and adds words at random, so the length of the text changes."
    config_cls = DPMLMPlusConfig

    def _choices(self, index: int, stream: NoiseStream) -> tuple[bool, bool]:
        c = self.config
        delete = c.del_prob > 0 and stream.at(index, "delete").uniform() < c.del_prob
        return delete, c.add_prob > 0 and stream.at(index, "add").uniform() <= c.add_prob

    @property
    def likelihood(self) -> Likelihood[MaskedWords]:
        return _PlusLikelihood(self, sweeps=self.config.order == "parallel")

    @property
    def alignment(self) -> Alignment[MaskedWords]:
        return _PlusPlaces(self)

    def _composition(self, spent: Sequence[float]) -> tuple[float, float | None, int]:
        """Return the worst case 2nε. The expected number of draws is (1−D+A)n; the paper prints (A−D)nε."""
        c, total = self.config, float(sum(spent))
        twice = 2 if c.add_prob > 0 else 1
        return twice * total, (1 - c.del_prob + c.add_prob) * total, twice * len(spent)

    def _length_exposed(self) -> NotProtected:
        return NotProtected(NotProtectedKind.EDITED_TOKEN_COUNT)

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return ({},)


class _PlusPlaces(Places):
    """The sampled places, with the probabilities of Algorithm 3."""

    @property
    def insertion_probability(self) -> float:
        return self.m.config.add_prob

    @property
    def deletion_probability(self) -> float:
        return self.m.config.del_prob


class _PlusLikelihood(MaskedLikelihood):
    @property
    def missing(self) -> str:
        if not (self.m.config.add_prob or self.m.config.del_prob):
            return super().missing
        return (
            f"{self.m.title} adds and deletes words at random, so output words have no known original. Set both "
            "probabilities to 0, or use the attacker two-texts."
        )


@lru_cache(maxsize=8)
def _space_rows(model: str, language: Language) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the model's candidates in the word space, and which of them exist."""
    from ...words import word_space

    space = word_space("minilm")
    rows = np.array([-1 if (j := space.index(w)) is None else j for w in candidates(model, language)])
    return np.maximum(rows, 0), rows >= 0


def _similarities(model: str, language: Language, word: str | None) -> np.ndarray:
    """Return the cosine of every candidate with ``word`` in the static word space, float64 (V,); 0 if one is
    missing."""
    from ...words import word_space

    rows, there = _space_rows(model, language)
    space = word_space("minilm")
    if word is None or space.index(word) is None:
        return np.zeros(len(rows))
    return np.where(there, space.similarities(word)[rows], 0.0).astype(np.float64)
