"""The shared base of mechanisms that replace only flagged words: options, plan, guarantee, trace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import InputError, NoDistribution
from ...models import word_chances
from ...models.registry import BUNDLED
from ...pieces import FLAGGED, copy_step
from ...privacy.distribution import Channel, TokenDistribution
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import ConditionKind, NotProtectedKind, ReasonKind, UnitKind
from ...privacy.sampling import NoiseStream
from ...privacy.terms import Condition, NotProtected, ProtectedUnit, Reason
from ...result import RewriteResult, Step, Trace, Unit
from ...support.checks import check_whole_number
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ...text.language import Language
from ..base import Mechanism
from ..capabilities import InputCoverage
from ..config import allowlist_option, clean_up_option, detector_option, epsilon_option, finished
from ..likelihood import Likelihood
from ..preparing import Prepared
from ..words.word_trace import Constant
from .flags import allowed_shown

#: The reason of a step that keeps a word.
UNFLAGGED = "not flagged"


@dataclass(frozen=True)
class DetectorConfig:
    epsilon: float | tuple[float, ...] = epsilon_option(
        1.0, 0.1, 10.0, spent="It cannot be set here because no sampling depends on the original words."
    )
    recase: str = clean_up_option()
    detector: str = detector_option("Install Rampart and spaCy separately.")
    allowlist: tuple[str, ...] = allowlist_option()


@dataclass(frozen=True, eq=False)
class ReplacingPrepared(Prepared):
    """A text with the replacements of its tokens.

    channels: for each replaced token, the distribution of its replacement. first: for each of them, the first token
    that shares its draw. deleted: the tokens without a replacement.
    """

    channels: Mapping[int, Channel]
    first: Mapping[int, int]
    deleted: frozenset[int] = frozenset()


class ReplacingMechanism(Mechanism):
    """Replaces what a detector flags, and releases every other word unchanged."""

    family = "detection"
    notion = "none"
    config_cls = DetectorConfig
    slow_to_prepare = False
    uses_epsilon = False
    #: Whether a rule, rather than sampling, chooses the replacements.
    by_rule = False

    @property
    def likelihood(self) -> Likelihood[ReplacingMechanism]:
        return ReplacingLikelihood(self, sweeps=True)

    @property
    def reading(self) -> InputCoverage[ReplacingMechanism]:
        return _Coverage(self)

    @abstractmethod
    def unprotected(self, prepared: ReplacingPrepared) -> tuple[NotProtected, ...]:
        """Return what is not protected besides the words that the detector does not flag."""

    def guarantee(self, text: str | Prepared) -> Guarantee:
        prepared = self.planned(text)
        epsilons = self.epsilons(prepared)
        shown = (NotProtected(NotProtectedKind.UNFLAGGED_WORDS), *self.unprotected(prepared))
        shown += allowed_shown(prepared.document, self.config.allowlist)
        return Guarantee(
            notion="none",
            epsilon=max(epsilons, default=0.0),
            unit=ProtectedUnit(UnitKind.RELEASED_WORD),
            adjacency=self.adjacency(Condition(ConditionKind.SAME_FLAGS)),
            draws=0,
            total=0.0,
            exposed=(*shown, NotProtected(NotProtectedKind.SPACING)),
            reason=Reason(ReasonKind.UNFLAGGED_WORDS),
        )

    def planned(self, text: str | Prepared) -> ReplacingPrepared:
        prepared = self.prepared(text)
        assert isinstance(prepared, ReplacingPrepared)
        return prepared

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        prepared = self.planned(text)
        n = len(prepared.document.words)
        if not 0 <= check_whole_number("index, the number of a token,", index) < n:
            raise InputError(f"There is no token {index}: the text has {n}, counted from 0. Choose one of these.")
        if index not in prepared.channels:
            raise NoDistribution(f"Token {index} is not replaced, so it has no distribution. Choose another one.")
        return prepared.channels[index].at(self.epsilons(prepared)[index])

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        task.check()
        planned, epsilons = self.planned(prepared), self.epsilons(prepared)
        document = planned.document
        shown: dict[int, str] = {i: "" for i in planned.deleted}
        for i, channel in planned.channels.items():
            shown[i] = channel.candidates[channel.draw(epsilons[i], stream.at(planned.first[i]))]
        n = len(document.words)
        texts = [shown.get(i) for i in range(n)]
        skeleton, written = finished(self.config, document.skeleton([i in shown for i in range(n)]), texts)
        spliced = skeleton.fill(texts)
        steps = []
        for i, (token, out) in enumerate(zip(document.tokens, spliced.spans, strict=True)):
            span = token.start, token.end
            if i not in shown:
                steps.append(copy_step(token, i, UNFLAGGED, out, written))
            else:
                action = "delete" if i in planned.deleted else "replace"
                steps.append(Step(span, token.text, shown[i], action, FLAGGED, 0.0, out, i))
        return RewriteResult.of(
            self, planned, stream, spliced.text, tuple(steps), trace=ReplacingTrace(self, planned, epsilons, stream)
        )


@dataclass(frozen=True, eq=False)
class ReplacingTrace(Trace):
    """The distributions of the replacements. Each step is a token, so steps and tokens have the same numbers."""

    mechanism: ReplacingMechanism
    prepared: ReplacingPrepared
    epsilons: Sequence[float]
    stream: NoiseStream

    @property
    def can(self) -> frozenset[str]:  # type: ignore[override]
        return self.mechanism.can

    @property
    def rules(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({FLAGGED} if self.mechanism.by_rule else ())

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.prepared.channels[i].at(self.epsilons[i])

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        return self.prepared.channels[i], self.stream.at(self.prepared.first[i])


class ReplacingLikelihood(Likelihood["ReplacingMechanism"]):
    """Tokens that share a draw have the same stand-in, and its probability once."""

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        same = self.shared_draws(prepared, tuple(released[0] if released else ()))
        out = super().in_places(prepared, [{i: words[i] for i in set(same.values())} for words in released], task)
        together = [all(words[i].casefold() == words[k].casefold() for i, k in same.items()) for words in released]
        return np.where(together, out, -np.inf)

    def shared_draws(self, prepared: Prepared, places: Sequence[int]) -> dict[int, int]:
        first = self.m.planned(prepared).first
        return {i: first[i] for i in places}


class _Coverage(InputCoverage["ReplacingMechanism"]):
    """Coverage of English words: the rules find little in other languages."""

    __slots__ = ()

    def known(self, document: Document) -> Sequence[bool]:
        words = _known_words(self.m.language)
        return [kind != "word" or w.casefold() in words for w, kind in zip(document.words, document.kinds, strict=True)]

    def uncovered(self) -> str:
        return "the detector finds few names, places and dates among them; the others are released unchanged."


@lru_cache(maxsize=2)
def _known_words(language: Language) -> frozenset[str]:
    return frozenset(word.casefold() for word in word_chances.candidates(BUNDLED, language))


def one_word(word: str, source: str) -> Channel:
    """Return the channel of a word that a rule chooses."""
    return Constant((word,), source)
