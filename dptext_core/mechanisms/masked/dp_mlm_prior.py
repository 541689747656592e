"""DP-MLM from a public proposal: our own mechanism. Its proof and figures: ``docs/measurements/public-prior.md``.

    p(y) ∝ exp( b(y)/τ + ε·clip(a(y) − b(y), c₁, c₂) / (2(c₂ − c₁)) )

a: the scores of DP-MLM (Meisenbacher, Chevli, Vladika, Matthes: Findings of ACL 2024), given the private text. b: the
same model's scores given only the public text (:class:`~.public_prior.PublicText`): kept tokens, gaps, and the words
released so far. For two texts with the same public text, b cancels, and the clipped difference changes by at most
c₂ − c₁. By the proof of the exponential mechanism, each word costs ε; by adaptive composition, the text costs nε.

DP-MLM's bound holds between any two contexts. This one holds between contexts with the same kept tokens and gaps, and
the same words released before. That is the adjacency of both.

InvisibleInk (NeurIPS 2025) introduced clipping the difference of a private and a public score. It does so for the next
token of a generator, and averages over several private texts. Here it is one text, word by word, at masks.

There are no deletions and insertions as in DP-MLM±, because a place that may be deleted is not public.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...errors import ConfigError
from ...models.word_chances import log_frequencies
from ...privacy.distribution import Channel, ScoreTable, TokenDistribution, logsumexp, search_flips
from ...privacy.kinds import ConditionKind
from ...privacy.sampling import DEPTH, NoiseStream
from ...privacy.terms import ComparisonScope, Condition
from ...result import Unit
from ...support.task import UNWATCHED, Task
from ..base import Mechanism
from ..capabilities import PublicPrior
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
)
from ..preparing import Prepared
from .dp_mlm import DPMLM, DPMLMConfig
from .masked_prepared import ROWS_KEPT, Acts, Draw, MaskedPrepared
from .masked_words import MaskedWords
from .model_words import without_banned
from .public_prior import SAME_SKELETON, PublicText, entropies, proposed_logits

#: Maximum span of the proposal's logarithm in nats: lower values are raised, so that every candidate is possible.
SPREAD = 200.0


class PriorShape(NamedTuple):
    """τ, and the range that the difference of the scores is clipped to."""

    tau: float
    low: float
    high: float


#: Constants of :func:`public_shape`, in standard deviations σ of the model's scores: the lower end of the range, its
#: width at ε → 0, its growth with ε, and its largest width. Then the ε above which the proposal is sharpened, and the
#: power of ε.
LOW, WIDTH, GROWTH, WIDEST, FIRM, POWER = 0.0, 0.4, 0.16, 5.0, 25.0, 1.0


def public_shape(epsilon: float, sigma: float) -> PriorShape:
    """Return the shape at an ε: a public function, chosen on public text (``tools/choose_prior_shape.py``).

    At a small ε, a narrow range distinguishes the few best words; at a large ε, a wide one distinguishes more. If the
    private text dominates, the proposal is sharpened too. sigma: σ of the model's scores.
    """
    low, width = LOW * sigma, min(WIDEST, WIDTH + GROWTH * epsilon) * sigma
    return PriorShape(min(1.0, (FIRM / epsilon) ** POWER), low, low + width)


def score_deviation(model: str) -> float:
    """Return σ of a model's scores, from its public clipping range: the paper's is 4σ wide, the tuned one 6σ."""
    from ...models import masked_lm_spec

    clips = masked_lm_spec(model).clips
    for name, widths in (("paper", 4.0), ("tuned", 6.0)):
        if name in clips:
            return (clips[name].high - clips[name].low) / widths
    raise ConfigError(
        f"No range of the private shift is known for {model!r}. Give shift_min and shift_max, or store a clipping "
        "range of the model, which dptext_core.models.estimate_clip_range estimates from your public texts."
    )


@dataclass(frozen=True)
class DPMLMPriorConfig:
    """Options of DP-MLM with a public prior. If ``tau``, ``shift_min`` or ``shift_max`` is None, it is a function of ε
    (:func:`public_shape`)."""

    epsilon: float | tuple[float, ...] = epsilon_option(15.0, 5.0, 100.0)
    order: str = option(
        "parallel",
        label="Order",
        changes_distribution=True,
        choices=("parallel", "sequential", "certain"),
        help="“Parallel” proposes from the kept words; “sequential” (left to right) and “certain” (most predictable "
             "word first) also read earlier outputs. All spend the same ε, but you can drag ε only in parallel order.",
        phrase="{} order",
    )
    prior: str = option(
        "released",
        label="Proposal from",
        changes_distribution=True,
        choices=("released", "skeleton", "frequency"),
        help="“Released” proposes from the kept words and earlier outputs, “skeleton” only from the kept words, and "
             "“frequency” from word frequencies. In parallel order, the first two are the same.",
        phrase="proposal from: {}",
    )
    contextualize: bool = option(
        True,
        label="Show the original text to the model",
        changes_distribution=True,
        help="For the private scores, the model reads the original text, and then the text with one word masked. When "
        "this is off, the model reads only the masked text.",
        phrase=("only the masked text shown", "original text shown"),
    )
    keep_stopwords: bool = keep_stopwords_option()
    keep_punctuation: bool = keep_punctuation_option()
    tau: float | None = option(
        None,
        label="τ, temperature of the proposal",
        min=0.05,
        max=20.0,
        advanced=True,
        live=True,
        help="A small τ favours the best proposals; a large τ makes all words more equal. The default is a public "
             "function of ε, or 1 if the shift has a set range.",
        phrase="τ = {}",
    )
    shift_min: float | None = option(
        None,
        label="Private shift, lower end",
        min=-100.0,
        max=100.0,
        advanced=True,
        live=True,
        help="Smaller shifts by the private text are raised to this value. Without values for both ends, the range "
             "is a public function of ε.",
        phrase="shift from {}",
    )
    shift_max: float | None = option(
        None,
        label="Private shift, upper end",
        min=-100.0,
        max=100.0,
        advanced=True,
        live=True,
        help="Larger shifts by the private text are lowered to this value. Words above it differ only in the proposal.",
        phrase="shift to {}",
    )
    recase: str = recase_option()
    model: str = model_option()
    stopwords: str | None = stopwords_option()
    never: tuple[str, ...] = never_option()
    loaded_words: bool = loaded_words_option()
    surrogates: bool = surrogates_option()
    detector: str = detector_option("Used only with stand-ins.", ("surrogates", True))
    allowlist: tuple[str, ...] = allowlist_option(("surrogates", True))


@dataclass(frozen=True, eq=False)
class PriorPrepared(MaskedPrepared):
    """A prepared text with the public scores of each place, given only the skeleton."""

    _proposed: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @property
    def public(self) -> PublicText:
        """Return the public part of the text before anything is sampled."""
        return PublicText(self.skeleton)

    def proposed(self, places: Sequence[int], task: Task = UNWATCHED) -> np.ndarray:
        """Return raw public scores float32 (len(places), V), given the skeleton."""
        with self._lock:
            rows = {i: self._proposed[i] for i in places if i in self._proposed}
        missing = [i for i in dict.fromkeys(places) if i not in rows]
        if missing:
            asked = [(self.public, i) for i in missing]
            scores = self.of_allowed(proposed_logits(self.model, self.document.language, asked, task))
            rows |= dict(zip(missing, scores, strict=True))
            self.keep_proposals(missing, scores)
        return np.stack([rows[i] for i in places]) if places else np.empty((0, 0), np.float32)

    def has_proposal(self, place: int) -> bool:
        with self._lock:
            return place in self._proposed

    def keep_proposals(self, places: Sequence[int], rows: Sequence[np.ndarray] | np.ndarray) -> None:
        """Store computed scores, up to the limit of a prepared text."""
        with self._lock:
            for i, row in zip(places[: max(0, ROWS_KEPT - len(self._proposed))], rows, strict=False):
                self._proposed[i] = row


@dataclass(frozen=True, eq=False)
class ShiftChannel(Channel):
    """A proposal and a private shift whose clipping depends on ε by a public rule, so scores are not linear in ε.

    proposal: b; shift: a − b before clipping; both float64 (V,).
    """

    candidates: Sequence[str]
    proposal: np.ndarray
    shift: np.ndarray
    shape: Callable[[float], PriorShape]
    source: str | None = None
    _keep: np.ndarray | None = field(default=None, repr=False)

    @property
    def bends(self) -> bool:
        """Return True: scores bend where a shift enters or leaves its range."""
        return True

    @property
    def source_index(self) -> np.ndarray:
        assert self._keep is not None
        return self._keep

    def log_weights(self, epsilon: float) -> np.ndarray:
        """Return ln p up to a constant, float64 (V,)."""
        s = self.shape(epsilon)
        return tempered(self.proposal, s) + epsilon * clipped(self.shift, s)

    def at(self, epsilon: float) -> TokenDistribution:
        x = self.log_weights(epsilon)
        return TokenDistribution(self.candidates, x - logsumexp(x), self.source, float(epsilon), None, self._keep)

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        rows = (self.log_weights(e) for e in epsilons)
        return np.stack([x[which] - logsumexp(x) for x in rows], axis=1)

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        noise = stream.gumbel(len(self.candidates))
        return search_flips(lambda some: [(self.log_weights(e) + noise).argmax() for e in some], low, high)


def tempered(proposal: np.ndarray, shape: PriorShape) -> np.ndarray:
    """Return ln of the proposal b^(1/τ) up to a constant, raised to at most SPREAD nats below its largest value."""
    x = proposal / shape.tau
    return np.maximum(x, x.max() - SPREAD)


def clipped(shift: np.ndarray, shape: PriorShape) -> np.ndarray:
    """Return the scores of the exponential mechanism: between two texts they differ by at most 1/2."""
    return (np.clip(shift, shape.low, shape.high) - shape.high) / (2 * (shape.high - shape.low))


class DPMLMPrior(MaskedWords):
    """DP-MLM with a public prior: the private text shifts what its public part suggests."""

    name = "dp-mlm-prior"
    references = ("dptextstudio", "meisenbacher2024dpmlm", "vinod2025invisibleink")
    title = "DP-MLM with a public prior"
    summary = (
        "A language model proposes words from the public context; the private text only shifts their "
        "probabilities."
    )
    steps = (
        "{n} words are proposed from the public context",
        "Your word shifts each probability by a limited factor",
        "A larger 1/ε (now {noise}) shrinks the shift",
        "One word is sampled from these probabilities",
    )
    config_cls: ClassVar[type] = DPMLMPriorConfig
    prepared_cls = PriorPrepared

    @classmethod
    def resolve(cls, config: Any) -> Any:
        low, high = config.shift_min, config.shift_max
        if (low is None) != (high is None):
            raise ConfigError("Only one of shift_min and shift_max is set. Set both or neither.")
        if low is not None and not low < high:
            raise ConfigError(f"shift_min must be below shift_max; they are {low:g} and {high:g}.")
        if config.order == "certain" and config.prior == "frequency":
            raise ConfigError("With the prior “frequency”, all positions are equally certain. Use the order "
                              "“sequential” or “parallel”.")
        if low is None:
            score_deviation(config.model)
        return config

    @cached_property
    def max_epsilon(self) -> float:
        """Return the ε at which ε/2, the proposal's spread and ln|V| add up to the sampler's depth."""
        v = np.log(len(self.candidates))
        return min(super().max_epsilon, float(np.floor(2 * (DEPTH - v - SPREAD))))

    @cached_property
    def _sigma(self) -> float:
        return score_deviation(self.config.model)

    def shape(self, epsilon: float) -> PriorShape:
        """Return τ and the range of the shift at an ε: from the options, else the public ones."""
        c = self.config
        if c.shift_min is None or c.shift_max is None:
            public = public_shape(epsilon, self._sigma)
            return public if c.tau is None else public._replace(tau=c.tau)
        return PriorShape(1.0 if c.tau is None else c.tau, c.shift_min, c.shift_max)

    def _fill(self, texts: Sequence[MaskedPrepared], keys: Sequence[list[tuple[int, bool]]], task: Task) -> None:
        super()._fill(texts, keys, task)
        if self.config.prior == "frequency":
            return
        # Texts with the same skeleton share their proposals.
        wanted: dict[tuple[tuple[str | None, ...], int], list[PriorPrepared]] = {}
        publics: dict[tuple[str | None, ...], PublicText] = {}
        for prepared, some in zip(texts, keys, strict=True):
            assert isinstance(prepared, PriorPrepared)
            words = prepared.public.words
            publics.setdefault(words, prepared.public)
            for i, _ in some:
                if not prepared.has_proposal(i):
                    wanted.setdefault((words, i), []).append(prepared)
        if wanted:
            asked = [(publics[words], i) for words, i in wanted]
            rows = without_banned(proposed_logits(self.config.model, self.language, asked, task), self._banned)
            for (_, i), row, owners in zip(wanted, rows, wanted.values(), strict=True):
                for prepared in owners:
                    prepared.keep_proposals([i], [row])

    # --- scores to distributions

    def channel(self, private: np.ndarray, public: np.ndarray, source: str | None) -> Channel:
        """Return the channel of a word from raw scores (V,) given the private text and given the public one."""
        c, public = self.config, public.astype(np.float64)
        names, keep = self.candidates, self._keep(source)
        shift = private.astype(np.float64) - public
        if c.shift_min is None:
            return ShiftChannel(names, public, shift, self.shape, source, keep)
        fixed = self.shape(1.0)
        return ScoreTable(names, clipped(shift, fixed), source, keep, tempered(public, fixed))

    def tables(
        self, prepared: MaskedPrepared, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED
    ) -> Sequence[Channel]:
        draws = [Draw(prepared, {}, i, False) for i, _ in keys]
        return self._channels(draws, prepared.logits(keys, task.quiet), task)

    def tables_given(self, draws: Sequence[Draw], task: Task = UNWATCHED) -> Sequence[Channel]:
        return self._channels(draws, self._logits_given(draws, task), task)

    def _channels(self, draws: Sequence[Draw], private: np.ndarray, task: Task) -> list[Channel]:
        sources = [d.prepared.document.tokens[d.token].text for d in draws]
        public = self._proposals(draws, task)
        return [self.channel(a, b, s) for a, b, s in zip(private, public, sources, strict=True)]

    def _proposals(self, draws: Sequence[Draw], task: Task = UNWATCHED) -> Sequence[np.ndarray]:
        """Return raw public scores (V,) of each draw, given the words released before it."""
        c = self.config
        if c.prior == "frequency":
            return [log_frequencies(self.candidates)] * len(draws)
        rows_by_draw: dict[int, np.ndarray] = {}
        first: dict[int, tuple[PriorPrepared, list[int]]] = {}  # draws given only the skeleton, by their text
        asked: dict[int, tuple[PublicText, int]] = {}
        for k, (prepared, acts, index, _) in enumerate(draws):
            assert isinstance(prepared, PriorPrepared)
            released = tuple((i, word) for i, (word, _) in acts.items() if word is not None and i != index)
            if c.prior == "skeleton" or not released:
                first.setdefault(id(prepared), (prepared, []))[1].append(k)
            else:
                asked[k] = dataclasses.replace(prepared.public, released=released), index
        for prepared, ks in first.values():
            rows_by_draw |= dict(zip(ks, prepared.proposed([draws[k].token for k in ks], task.quiet), strict=True))
        if asked:
            rows = proposed_logits(c.model, self.language, list(asked.values()), task.quiet)
            rows_by_draw |= dict(zip(asked, without_banned(rows, self._banned), strict=True))
        return [rows_by_draw[k] for k in range(len(draws))]

    def _order(self, prepared: MaskedPrepared, task: Task = UNWATCHED) -> Sequence[int]:
        """Return places from left to right, or by increasing entropy of the proposal from the skeleton alone."""
        if self.config.order != "certain":
            return prepared.targets
        if not prepared.targets:
            return ()
        first = self._proposals([Draw(prepared, {}, i, False) for i in prepared.targets], task)
        return [prepared.targets[k] for k in np.argsort(entropies(np.stack(first)), kind="stable")]

    @property
    def public_prior(self) -> PublicPrior[DPMLMPrior]:
        return _Start(self)

    # --- the guarantee

    def _among(self) -> ComparisonScope:
        if self.config.prior == "frequency":
            return ComparisonScope()
        one_by_one = self.config.order != "parallel" and self.config.prior == "released"
        before = (Condition(ConditionKind.RELEASED_BEFORE),) if one_by_one else ()
        return ComparisonScope(*SAME_SKELETON.conditions, *before)

    # --- what panels show

    def scores_at(self, prepared: MaskedPrepared, acts: Acts, index: int, insert: bool) -> None:
        """Return None: a difference of two scores is clipped, not one score; see :meth:`_views`."""

    def _views(self, channel: Channel, unit: Unit) -> tuple:
        from ...explain import ProposalView

        if isinstance(channel, ScoreTable):
            assert channel.log_base is not None
            log_base, added = channel.log_base, unit.epsilon * channel.scores
        else:
            assert isinstance(channel, ShiftChannel)
            shape = channel.shape(unit.epsilon)
            log_base, added = tempered(channel.proposal, shape), unit.epsilon * clipped(channel.shift, shape)
        at = [int(i) for i in channel.source_index[:1]]
        return (ProposalView.of(channel.candidates, log_base, added, unit.epsilon / 2, unit.text, unit.original, at),)

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        fixed = {"shift_min": 2.0, "shift_max": 10.0}
        return ({}, {"prior": "frequency"}, {"order": "sequential"}, {"order": "certain"}, fixed)


class _Start(PublicPrior[DPMLMPrior]):
    """The public prior that this mechanism always has."""

    def without_prior(self) -> Mechanism:
        c = self.m.config
        shared = {f.name for f in dataclasses.fields(DPMLMConfig)} & {f.name for f in dataclasses.fields(c)}
        same = {name: getattr(c, name) for name in shared}
        return DPMLM.create(**same | {"order": "parallel" if c.order == "parallel" else "sequential"})

    def entropy(self, text: str | Prepared) -> dict[int, float] | None:
        if self.m.config.prior == "frequency":
            return None
        prepared = self.m._planned(text)
        assert isinstance(prepared, PriorPrepared)
        if not prepared.targets:
            return {}
        return dict(zip(prepared.targets, entropies(prepared.proposed(prepared.targets)).tolist(), strict=True))

    def context(self, prepared: Prepared, index: int) -> Hashable:
        return None if self.m.config.prior == "frequency" else (self.m._planned(prepared).skeleton, index)
