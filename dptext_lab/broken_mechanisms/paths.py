"""Faults of one entry point: prepared texts, sweeps, lists of ε, plans, threads, copies, clean-up, rows."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import count
from os import getpid
from typing import Any, ClassVar

import numpy as np

from dptext_core.mechanisms.base import Prepared
from dptext_core.mechanisms.setting import Setting
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.word_codes import KEPT
from dptext_core.mechanisms.words.word_trace import Draws, WordPrepared, WordTrace
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import PolishedResult, RewriteResult, Sweep, Unit
from dptext_core.support.task import Task
from dptext_core.text.document import Document

from .base import fault, faults_of
from .stated import restore_original

# --- prepared at one ε, rewritten at another


@fault(
    "prepared-at",
    "The ε of the preparation",
    "CusText that samples at the ε of the preparation, not at the ε of the rewrite.",
)
class PreparedAtCusText(CusText):
    """CusText that samples at the ε of the preparation."""

    title = "CusText that samples at the ε of the preparation"

    def prepare_document(self, document: Document, task: Task) -> WordPrepared:
        prepared = super().prepare_document(document, task)
        prepared.__dict__["epsilon"] = self.config.epsilon
        return prepared

    def _draw_texts(self, texts: Sequence[WordPrepared], *arguments: Any, **more: Any) -> list[str]:
        known, epsilons, streams, draws, *others = arguments
        at = [texts[owner].__dict__["epsilon"] for owner in draws.owners.tolist()]
        if not any(isinstance(one, tuple) for one in at):
            draws = replace(draws, epsilons=np.array(at, np.float64))
        return super()._draw_texts(texts, known, epsilons, streams, draws, *others, **more)


@fault(
    "first-use",
    "The ε of the first rewrite",
    "CusText that stores the ε of the first rewrite with a prepared text and uses it for all others.",
)
class FirstUseCusText(CusText):
    """CusText that stores the first ε with a prepared text."""

    title = "CusText that stores the first ε with a prepared text"

    def epsilons(self, prepared: Prepared) -> tuple[float, ...]:
        return prepared.__dict__.setdefault("_epsilons", super().epsilons(prepared))


# --- sweeps


@fault(
    "loud-sweep",
    "A sweep at the largest ε",
    "CusText whose sweep samples every point at the largest ε, but states each point's own ε.",
)
class LargestSweepCusText(CusText):
    """CusText whose sweep samples every point at the largest ε and states each point's own ε."""

    title = "CusText whose sweep samples at the largest ε"

    def sweep(self, text: str | Prepared, epsilons: Sequence[float], *arguments: Any, **more: Any) -> Sweep:
        honest = super().sweep(text, epsilons, *arguments, **more)
        most = super().sweep(text, [max(epsilons)] * len(epsilons), *arguments, **more)
        named = [
            replace(r, config=h.config, guarantee=h.guarantee)
            for r, h in zip(most.results, honest.results, strict=True)
        ]
        return Sweep(honest.epsilons, tuple(named))


@fault(
    "fresh-sweep",
    "A sweep with fresh noise",
    "CusText whose sweep uses fresh noise at each ε, but reports the same for all.",
)
class FreshSweepCusText(CusText):
    """CusText whose sweep uses fresh noise at each point and reports one noise."""

    title = "CusText whose sweep uses fresh noise at each ε"

    def sweep(self, text: str | Prepared, epsilons: Sequence[float], *arguments: Any, **more: Any) -> Sweep:
        honest = super().sweep(text, epsilons, *arguments, **more)
        fresh = [self.replace(epsilon=r.config.epsilon).rewrite(text) for r in honest.results]
        named = [
            replace(f, guarantee=h.guarantee, seed=h.seed, noise_id=h.noise_id)
            for f, h in zip(fresh, honest.results, strict=True)
        ]
        return Sweep(honest.epsilons, tuple(named))


# --- a list of ε


@fault(
    "loud-list", "The largest ε of a list", "CusText that receives one ε for each token, and uses the largest for all."
)
class LargestOfListCusText(CusText):
    """CusText that samples every word at the largest ε of a list."""

    title = "CusText that samples at the largest ε of a list"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        most = np.full(len(draws.epsilons), draws.epsilons.max(initial=0.0))
        return super()._draw(replace(draws, epsilons=most), *arguments, **more)


@fault(
    "reversed-list",
    "A list of ε in reverse order",
    "CusText that receives one ε for each token, and uses them in reverse order.",
)
class ReversedListCusText(CusText):
    """CusText that uses a list of ε in reverse order."""

    title = "CusText that uses a list of ε in reverse order"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return super()._draw(replace(draws, epsilons=draws.epsilons[::-1]), *arguments, **more)


# --- plan, then rewrite


@fault(
    "keeping-plan",
    "A plan that is mistaken for a preparation",
    "CusText that keeps the words of a planned text, because they have not been looked up yet.",
)
class KeepingPlanCusText(CusText):
    """CusText that keeps the words of a planned text, because its plan does not look them up."""

    title = "CusText that keeps the words of a planned text"

    def plan(self, text: str | Prepared) -> WordPrepared:
        prepared = self._planned(text)
        reasons = tuple(reason or "stop word" for reason in prepared.reasons)
        return replace(prepared, rows=np.full(len(prepared.rows), KEPT), reasons=reasons)


@fault("plan-of-names", "A plan that keeps names", "CusText whose plan keeps words with a capital letter.")
class CapitalPlanCusText(CusText):
    """CusText whose plan takes capitalised words for names and keeps them."""

    title = "CusText that keeps the names of a planned text"

    def plan(self, text: str | Prepared) -> WordPrepared:
        prepared = self._planned(text)
        names = [word[:1].isupper() for word in prepared.document.words]
        reasons = tuple("stop word" if n else r for n, r in zip(names, prepared.reasons, strict=True))
        return replace(prepared, rows=np.where(names, KEPT, prepared.rows), reasons=reasons)


# --- threads


@fault(
    "other-threads",
    "Unchanged words in other threads",
    "CusText whose noise exists in one thread only: in all others, words are unchanged.",
)
class ThreadCusText(CusText):
    """CusText with noise in the first thread only; other threads keep all words."""

    title = "CusText that keeps words in other threads"
    local: ClassVar[threading.local] = threading.local()
    ready: ClassVar[list[int]] = []

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        if not self.ready:
            self.ready.append(1)
            self.local.noise = True
        return result if getattr(self.local, "noise", False) else restore_original(result)


@fault(
    "mixed-threads",
    "Threads that share their state",
    "CusText that stores its current draws on itself, so two threads receive each other's words.",
)
class SharedStateCusText(CusText):
    """CusText that stores its current draws on itself, where another thread can read them."""

    title = "CusText whose threads mix up their words"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        self.__dict__["drawing"] = draws
        time.sleep(0.002)  # a model's pass
        return super()._draw(self.__dict__["drawing"], *arguments, **more)


# --- a second process


@fault(
    "counted-key",
    "Noise from a count of calls",
    "CusText whose private rewrites begin with the same noise in every process.",
)
class CountedKeyCusText(CusText):
    """CusText that uses a count of its calls as the key if it receives no noise."""

    title = "CusText whose noise is a count of its calls"
    calls: ClassVar[Iterator[int]] = count()

    def rewrite(self, text: Any, seed: int | None = None, *, stream: Any = None, task: Any = None) -> Any:
        if seed is None and stream is None:
            stream = NoiseStream.of_key(blake2b(b"%d" % next(self.calls), digest_size=32).digest())
        return super().rewrite(text, seed, stream=stream, task=task)


@fault(
    "process-key",
    "Noise from process number and time",
    "CusText whose private rewrites follow from the process number and the time.",
)
class ProcessKeyCusText(CusText):
    """CusText whose noise follows from the process number and the time if it receives none."""

    title = "CusText whose noise follows from process number and time"

    def rewrite(self, text: Any, seed: int | None = None, *, stream: Any = None, task: Any = None) -> Any:
        if seed is None and stream is None:
            key = f"{getpid()} {time.time_ns()}".encode()
            stream = NoiseStream.of_key(blake2b(key, digest_size=32).digest())
        return super().rewrite(text, seed, stream=stream, task=task)


# --- clean-up


class _ReadingPolish(RewriteResult):
    """A result whose clean-up reads the original."""

    def polished(self, mechanism: Any = None, *, model: str = "bundled", task: Any = None) -> PolishedResult:
        first = next((s.original for s in self.steps if s.is_sampled), "")
        return PolishedResult(self, f"{self.text} {first}".strip(), tuple(self.releases), 1, ())


class _TracePolish(RewriteResult):
    """A result whose clean-up reads its trace."""

    def polished(self, mechanism: Any = None, *, model: str = "bundled", task: Any = None) -> PolishedResult:
        words = self.trace.prepared.document.words  # type: ignore[attr-defined]
        return PolishedResult(self, f"{self.text} {words[0] if words else ''}".strip(), tuple(self.releases), 1, ())


def _as(cls: type[RewriteResult], result: RewriteResult) -> RewriteResult:
    return cls(**{f.name: getattr(result, f.name) for f in dataclasses.fields(result)})


@fault(
    "polish-of-steps",
    "A clean-up that reads the steps",
    "CusText whose clean-up adds a word of the original.",
)
class ReadingPolishCusText(CusText):
    """CusText whose clean-up reads the original."""

    title = "CusText whose clean-up reads the original"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return _as(_ReadingPolish, super()._result(*arguments, **more))


@fault("polish-of-trace", "A clean-up that reads the trace", "CusText whose clean-up adds a word of the prepared text.")
class TracePolishCusText(CusText):
    """CusText whose clean-up reads the trace."""

    title = "CusText whose clean-up reads the trace"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return _as(_TracePolish, super()._result(*arguments, **more))


# --- copies, and files


@fault(
    "forgotten-options",
    "A copy with the default ε",
    "CusText that has its default options after it is sent to another process.",
)
class ForgettingCusText(CusText):
    """CusText that is rebuilt with the default ε in another process."""

    title = "CusText with the default ε in another process"

    def __reduce__(self) -> Any:
        return type(self).create, ()


@fault(
    "short-setting",
    "A setting without its ε",
    "CusText whose setting, which goes into files and links, omits ε.",
)
class ShortSettingCusText(CusText):
    """CusText whose setting omits ε."""

    title = "CusText whose setting omits ε"

    @property
    def setting(self) -> Setting:  # type: ignore[override]
        return Setting.of(self.name, k=self.config.k)


class _Restored(RewriteResult):
    """A result that shows its original after loading."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"text": state["original"]})


@fault(
    "restored-original",
    "A loaded result with the original",
    "CusText whose results show the original instead of the release after loading.",
)
class RestoredCusText(CusText):
    """CusText whose results show the original after loading from a file."""

    title = "CusText whose loaded results show the original"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return _as(_Restored, super()._result(*arguments, **more))


# --- the distribution of a result, and of the mechanism


@fault(
    "other-statement",
    "Two distributions for one draw",
    "CusText whose distribution() is flatter than the true one, which its results state.",
)
class StatedCusText(CusText):
    """CusText whose own distributions differ from the true ones in its results."""

    title = "CusText whose distribution() is too flat"

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        honest = super().distribution(text, index)
        log_probs = honest.log_probs / 2
        return replace(honest, log_probs=log_probs - np.logaddexp.reduce(log_probs))


class _Flatter(WordTrace):
    """A trace with flatter distributions than those of the draws."""

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.mechanism._channel_at(self.prepared, i).at(self.epsilons[i] / 2)


@fault(
    "flatter-results",
    "Results that state half the ε",
    "CusText whose results state flatter distributions than it samples from.",
)
class FlatterCusText(CusText):
    """CusText whose results state the distributions at half its ε."""

    title = "CusText whose results state half the ε"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        own = result.trace
        assert isinstance(own, WordTrace)
        return replace(result, trace=_Flatter(own.mechanism, own.prepared, own.epsilons, own.stream, own.unknown))


# --- rows of a data set


@fault(
    "block-noise",
    "Blocks of rows that share noise",
    "CusText that takes the noise of a text's position in a call, not that of its row.",
)
class BlockCusText(CusText):
    """CusText that takes the noise of a text's position in a call, so two blocks of rows share it."""

    title = "CusText whose blocks of rows share noise"

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        return super().rewrite_list(texts, stream.numbered(None), task)


@fault(
    "loud-one-by-one",
    "Twice the ε for single texts",
    "CusText that samples at twice its ε if the texts of a data set are requested one by one.",
)
class EachCusText(CusText):
    """CusText that rewrites texts at twice its ε if they are requested one by one."""

    title = "CusText with twice its ε for single texts"

    def rewrite_one_by_one(self, texts: list[str], stream: NoiseStream, task: Task) -> Iterator[RewriteResult]:
        loud = self.replace(epsilon=2 * self.config.epsilon)
        for result in loud.rewrite_list(texts, stream, task):
            yield replace(result, config=self.config, guarantee=self.guarantee(result.original))


PATHS = faults_of(__name__)
