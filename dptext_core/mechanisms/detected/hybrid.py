"""Stand-ins for flagged words first, then a mechanism on the rest: the option ``surrogates``.

A detector flags words. Each becomes a stand-in, sampled from a public list independently of the word
(:mod:`.surrogates`). The mechanism then reads the text with the stand-ins, and samples the other words. So for two
texts with the same flags, the distribution of the release does not depend on the flagged words. The mechanism's ε per
word holds for the rest. The flags themselves are not protected: their positions, types, formats and repetitions. A
detector that reads other words narrows the guarantee: two texts that differ in an unflagged word may have different
flags, and are then not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from ...detectors import detector
from ...errors import ConfigError
from ...models.registry import ClipRange
from ...pieces import FLAGGED, Step, Unit, copy_step
from ...privacy.distribution import Channel, TokenDistribution
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import ConditionKind, NotProtectedKind
from ...privacy.sampling import NoiseStream
from ...privacy.terms import ComparisonScope, Condition, NotProtected
from ...result import RewriteResult, Trace
from ...support.cache import OwnLock
from ...support.checks import shorten_repr
from ...support.task import Task
from ...text.document import Document, Token
from ...text.skeleton import Edit
from ..audit_support import AuditSupport
from ..base import Mechanism
from ..capabilities import Alignment, InputCoverage, PublicPrior, WordByWord
from ..config import finished
from ..likelihood import Likelihood
from ..preparing import Prepared
from ..words.word_trace import Constant
from .flags import Flag, allowed_shown, allowed_tokens, flag_tokens
from .hybrid_facets import Contexts, Coverage, HybridAuditSupport, HybridLikelihood, Places, UnflaggedWords
from .stand_ins import candidates

#: The name of the stand-ins' stream within a text's stream.
STREAM = "stand-ins"
#: The reason of a step that copies a word of the allowlist.
ALLOWED = "on the allowlist"
#: Number of texts with stand-ins whose scores a prepared text stores.
KEPT = 4
#: Class attributes that a hybrid copies from its mechanism.
_SAME = (
    "name",
    "title",
    "family",
    "notion",
    "summary",
    "steps",
    "config_cls",
    "needs",
    "references",
    "language",
    "takes_never",
    "closed_form",
    "slow_to_prepare",
    "clipping",
)


@dataclass(frozen=True, eq=False)
class HybridPrepared(Prepared):
    """A text with its flags, and the plan of the mechanism over it with fixed public words in the flagged places.

    flags: the flagged tokens. plan: a prepared text of the inner mechanism, which holds nothing of a flagged word.
    lists: the stand-ins of each form.
    """

    flags: tuple[Flag, ...]
    plan: Any
    lists: Mapping[str, tuple[str, ...]] = field(repr=False)
    _texts: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False, repr=False)
    _lock: OwnLock = field(default_factory=OwnLock, init=False, repr=False)

    @cached_property
    def by_token(self) -> dict[int, Flag]:
        """Return the flag of each flagged token."""
        return {flag.token: flag for flag in self.flags}

    def with_words(self, words: Mapping[int, str]) -> Any:
        """Return the inner mechanism's prepared text with these stand-ins; the most recent ones keep their scores."""
        key = tuple(words[flag.token] for flag in self.flags)
        with self._lock:
            prepared_text = self._texts.get(key)
            if prepared_text is None:
                prepared_text = self.plan.with_document(substitute(self.plan.document, words))
                self._texts[key] = prepared_text
                if len(self._texts) > KEPT:
                    del self._texts[next(iter(self._texts))]
        return prepared_text


def substitute(document: Document, words: Mapping[int, str]) -> Document:
    """Return a document with other words in some places: the same tokens, gaps and kinds of the others."""
    text, tokens = "", []
    for i, (word, kind, gap) in enumerate(zip(document.words, document.kinds, document.gaps, strict=False)):
        shown = words.get(i, word)
        start = len(text) + len(gap)
        text += gap + shown
        tokens.append(Token(shown, start, start + len(shown), "word" if i in words else kind))
    return Document(text + document.gaps[-1], tokens, document.language)


class HybridMechanism(Mechanism):
    """Samples stand-ins for flagged words, and passes the text to another mechanism. Created by
    :func:`with_surrogates`."""

    inner_cls: ClassVar[type[Mechanism]]

    def __init__(self, config: Any):
        super().__init__(config)
        self._inner: Any = self.inner_cls(replace(config, surrogates=False))
        if self._inner.shares_draws:
            raise ConfigError(
                f"{self.title} cannot combine the strategy dataset with stand-ins. Choose another strategy, or turn "
                "stand-ins off."
            )
        if both := [word for word in config.allowlist if self.never.bans(word)]:
            raise ConfigError(
                f"{shorten_repr(both[0])} is on both the allowlist and the blocklist. Remove it from one of them."
            )

    @property
    def inner(self) -> Any:
        """Return the mechanism that samples the other words, at the same ε."""
        if self._inner.config.epsilon != self.config.epsilon:  # of a copy
            self._inner = copy(self._inner)
            self._inner._config = replace(self.config, surrogates=False)
        return self._inner

    def replace(self, **options: Any) -> Any:
        # The inner mechanism knows which options follow from others.
        return self.inner.replace(**{"surrogates": True, **options})

    # --- required by the capability "clipping"

    @classmethod
    def known_ranges(cls, model: str) -> Mapping[str, ClipRange]:
        inner: Any = cls.inner_cls
        return inner.known_ranges(model)

    @property
    def clips_alone(self) -> bool:
        return self.inner.clips_alone

    def keep_probability(self, logits: np.ndarray, source: str | None, epsilon: float) -> float:
        return self.inner.keep_probability(logits, source, epsilon)

    def __copy__(self) -> HybridMechanism:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.inner_cls, self.config)

    @classmethod
    def create(cls, **options: Any) -> Mechanism:  # type: ignore[override]
        return cls.inner_cls.create(**options)

    @classmethod
    def epsilon_range(cls, options: Mapping[str, Any] | None = None) -> tuple[float, float, float]:
        return cls.inner_cls.epsilon_range(options)

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return cls.inner_cls.variants()

    def loads(self) -> Mapping[str, str]:
        return self.inner.loads()

    @property
    def model_ready(self) -> bool:
        return self.inner.model_ready

    @property
    def max_epsilon(self) -> float:
        return self.inner.max_epsilon

    # --- texts

    def prepare_document(self, document: Document, task: Task) -> HybridPrepared:
        task.check()
        flags = self.flags(document)
        lists = {form: self.stand_ins(form) for form in {flag.form for flag in flags}}
        fixed = {flag.token: lists[flag.form][0] for flag in flags}
        plan = self.inner.plan_document(substitute(document, fixed)).holding(frozenset(fixed), FLAGGED)
        plan = plan.holding(allowed_tokens(document, self.config.allowlist), ALLOWED)
        return HybridPrepared(document, self.key, flags, plan, lists)

    def flags(self, document: Document) -> tuple[Flag, ...]:
        """Return the flagged tokens of a text."""
        return flag_tokens(document, self.config.detector, self.config.allowlist)

    def stand_ins(self, form: str) -> tuple[str, ...]:
        """Return the possible stand-ins for a form. Raises ConfigError if the blocklist excludes all of them."""
        words = self.never.left(candidates(form, self.language))
        if not words:
            raise ConfigError("The blocklist contains every stand-in of a type. Shorten the blocklist.")
        return words

    def planned(self, text: str | Prepared) -> HybridPrepared:
        prepared = self.prepared(text)
        assert isinstance(prepared, HybridPrepared)
        return prepared

    def channels(self, prepared: HybridPrepared) -> dict[int, Constant]:
        """Return the distribution of each flagged token's stand-in."""
        words, lists = prepared.document.words, prepared.lists
        return {flag.token: Constant(lists[flag.form], words[flag.token]) for flag in prepared.flags}

    def draw(self, prepared: HybridPrepared, stream: NoiseStream) -> dict[int, str]:
        """Return a stand-in for each flagged token. Equal words share theirs."""
        stand_in_stream = stream.at(STREAM)
        return {
            flag.token: channel.candidates[channel.draw(0.0, stand_in_stream.at(flag.same))]
            for flag, channel in zip(prepared.flags, self.channels(prepared).values(), strict=True)
        }

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        """Return the distribution of a token if each flagged place has the first stand-in of its list. A result has the
        distribution given its sampled stand-ins.
        """
        prepared = self.planned(text)
        if index in prepared.by_token:
            return self.channels(prepared)[index].at(self.epsilons(prepared)[index])
        return self.inner.distribution(prepared.plan, index)

    # --- the guarantee

    def guarantee(self, text: str | Prepared) -> Guarantee:
        prepared = self.planned(text)
        self.epsilons(prepared)
        g = self.inner.guarantee(prepared.plan)
        shown = [NotProtected(NotProtectedKind.FLAGGED_PLACES, count=len(prepared.flags))]
        shown += [NotProtected(NotProtectedKind.FLAGGED_SHAPES), NotProtected(NotProtectedKind.MISSED_WORDS)]
        if detector(self.config.detector).reads_context:
            shown.append(NotProtected(NotProtectedKind.FLAGS_IN_CONTEXT))
        return replace(
            g,
            adjacency=g.adjacency.where(Condition(ConditionKind.SAME_FLAGS)),
            among=ComparisonScope(*g.among.conditions, Condition(ConditionKind.SAME_FLAGS)),
            exposed=(*shown, *allowed_shown(prepared.document, self.config.allowlist), *g.exposed),
        )

    # --- rewriting

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        planned = self.planned(prepared)
        words = self.draw(planned, stream)
        result = self.inner.rewrite_prepared(planned.with_words(words), stream, task)
        steps = self._steps(planned, words, result.steps)
        text, shown = _render(self.config, planned, steps)
        trace = HybridTrace(result.trace, self, planned, stream)
        return RewriteResult.of(self, planned, stream, text, shown, trace=trace)

    def _steps(self, prepared: HybridPrepared, words: Mapping[int, str], steps: Sequence[Step]) -> list[Step]:
        """Return the steps of the inner mechanism as those of the original text."""
        document, out = prepared.document, []
        for s in steps:
            i = s.index
            span = (document.starts[i], document.ends[i]) if s.action != "insert" else (document.ends[i],) * 2
            if i in words and s.action != "insert":
                out.append(Step(span, document.words[i], words[i], "replace", FLAGGED, 0.0, s.out, i))
            else:
                out.append(replace(s, span=span))
        return out

    # --- capabilities

    @property
    def by_word(self) -> WordByWord | None:
        return None if self.inner.by_word is None else UnflaggedWords(self)

    @property
    def likelihood(self) -> Likelihood[Any] | None:
        inner = self.inner.likelihood
        return None if inner is None else HybridLikelihood(self, sweeps=inner.sweeps)

    @property
    def alignment(self) -> Alignment[Any] | None:
        return None if self.inner.alignment is None else Places(self)

    @property
    def public_prior(self) -> PublicPrior[Any]:
        return Contexts(self)

    @property
    def audit_support(self) -> AuditSupport[Any]:
        return HybridAuditSupport(self)

    @property
    def reading(self) -> InputCoverage[Any]:
        return Coverage(self)


def _render(config: Any, prepared: HybridPrepared, steps: Sequence[Step]) -> tuple[str, tuple[Step, ...]]:
    """Return the released text, in which a stand-in is written like any sampled word, and the steps in order."""
    n = len(prepared.document.words)
    texts: list[str | None] = [None] * n
    after: list[str | None] = [None] * n
    for s in steps:
        if s.action == "insert":
            after[s.index] = s.replacement
        elif s.action != "keep":
            texts[s.index] = s.replacement
    skeleton = prepared.document.skeleton([text is not None for text in texts])
    skeleton, written = finished(config, skeleton, texts, after)
    spliced = skeleton.render([Edit(text, more) for text, more in zip(texts, after, strict=True)])
    out = []
    for s in steps:
        place = spliced.inserted[s.index] if s.action == "insert" else spliced.spans[s.index]
        assert place is not None
        if s.action == "keep":
            reason = prepared.plan.reasons[s.index] or ""
            out.append(copy_step(prepared.document.tokens[s.index], s.index, reason, place, written))
        else:
            out.append(replace(s, out=place))
    return spliced.text, tuple(out)


@dataclass(frozen=True, eq=False)
class HybridTrace(Trace):
    """How stand-ins and sampled words were drawn. inner: the trace of the inner mechanism, whose steps these are."""

    inner: Trace
    mechanism: HybridMechanism
    prepared: HybridPrepared
    stream: NoiseStream

    @property
    def can(self) -> frozenset[str]:  # type: ignore[override]
        return self.inner.can

    @property
    def rules(self) -> frozenset[str]:  # type: ignore[override]
        return self.inner.rules

    def _channel(self, unit: Unit) -> Channel | None:
        if not isinstance(unit, Step) or unit.reason != FLAGGED:
            return None
        return self.mechanism.channels(self.prepared)[unit.index]

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        channel = self._channel(unit)
        return self.inner.distribution(i, unit) if channel is None else channel.at(self.mechanism.max_epsilon)

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        channel = self._channel(unit)
        if channel is None:
            return self.inner.locked(i, unit)
        assert isinstance(unit, Step)
        return channel, self.stream.at(STREAM).at(self.prepared.by_token[unit.index].same)

    def candidate(self, i: int, unit: Unit) -> int | None:
        return None if self._channel(unit) else self.inner.candidate(i, unit)

    def logits(self, i: int, unit: Unit) -> np.ndarray | None:
        return None if self._channel(unit) else self.inner.logits(i, unit)

    def views(self, i: int, unit: Unit) -> tuple:
        return () if self._channel(unit) else self.inner.views(i, unit)

    def similarities(self, i: int, unit: Unit) -> Mapping[str, float] | None:
        return None if self._channel(unit) else self.inner.similarities(i, unit)


@cache
def _hybrid_class(cls: type[Mechanism]) -> type[HybridMechanism]:
    attributes = {name: getattr(cls, name) for name in _SAME} | {"inner_cls": cls}
    return type(f"{cls.__name__}WithSurrogates", (getattr(cls, "hybrid_cls", HybridMechanism),), attributes)


def with_surrogates(cls: type[Mechanism], config: Any) -> HybridMechanism:
    """Return the mechanism of a class and a config whose flagged words are replaced first."""
    return _hybrid_class(cls)(config)


def _restore(cls: type[Mechanism], config: Any) -> HybridMechanism:
    return with_surrogates(cls, config)
