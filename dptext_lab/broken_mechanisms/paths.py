"""Faults of one way to a rewrite: prepared texts, sweeps, lists of ε, plans, threads, copies, polishes, rows."""

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
    "CusText that draws at the ε with which a text was prepared, whatever ε it is rewritten with.",
)
class PreparedAtCusText(CusText):
    """CusText that draws at the ε with which a text was prepared."""

    title = "CusText that draws at the ε of its preparation"

    def prepare_document(self, document: Document, task: Task) -> WordPrepared:
        prepared = super().prepare_document(document, task)
        prepared.__dict__["epsilon"] = self.config.epsilon
        return prepared

    def _draw_texts(self, texts: Sequence[WordPrepared], *arguments: Any, **more: Any) -> list[str]:
        known, epsilons, streams, draws, *rest = arguments
        at = [texts[owner].__dict__["epsilon"] for owner in draws.owners.tolist()]
        if not any(isinstance(one, tuple) for one in at):
            draws = replace(draws, epsilons=np.array(at, np.float64))
        return super()._draw_texts(texts, known, epsilons, streams, draws, *rest, **more)


@fault(
    "first-use",
    "The ε of the first rewrite",
    "CusText that keeps the ε of the first rewrite with a prepared text, for all others.",
)
class FirstUseCusText(CusText):
    """CusText that keeps with a prepared text the ε of its first rewrite."""

    title = "CusText that keeps the first ε with a prepared text"

    def epsilons(self, prepared: Prepared) -> tuple[float, ...]:
        return prepared.__dict__.setdefault("_epsilons", super().epsilons(prepared))


# --- sweeps


@fault(
    "loud-sweep",
    "A sweep at the largest ε",
    "CusText whose sweep draws all points at the largest ε, and states its own ε of each.",
)
class LargestSweepCusText(CusText):
    """CusText whose sweep draws all points at the largest ε, and names each by its own."""

    title = "CusText whose sweep draws at the largest ε"

    def sweep(self, text: str | Prepared, epsilons: Sequence[float], *arguments: Any, **more: Any) -> Sweep:
        honest = super().sweep(text, epsilons, *arguments, **more)
        most = super().sweep(text, [max(epsilons)] * len(epsilons), *arguments, **more)
        named = [
            replace(r, config=h.config, guarantee=h.guarantee)
            for r, h in zip(most.results, honest.results, strict=True)
        ]
        return Sweep(honest.epsilons, tuple(named))


@fault(
    "fresh-sweep", "A sweep with fresh noise", "CusText whose sweep draws anew at each ε, under the name of one noise."
)
class FreshSweepCusText(CusText):
    """CusText whose sweep takes other noise for each point, under one name."""

    title = "CusText whose sweep draws anew at each ε"

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
    "loud-list", "The largest ε of a list", "CusText that is given one ε a token, and draws all words at the largest."
)
class LargestOfListCusText(CusText):
    """CusText that draws all words at the largest ε of a list."""

    title = "CusText that draws at the largest ε of a list"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        most = np.full(len(draws.epsilons), draws.epsilons.max(initial=0.0))
        return super()._draw(replace(draws, epsilons=most), *arguments, **more)


@fault(
    "reversed-list",
    "A list of ε from its end",
    "CusText that is given one ε a token, and takes them in the wrong order.",
)
class ReversedListCusText(CusText):
    """CusText that takes a list of ε from its end."""

    title = "CusText that takes a list of ε from its end"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        return super()._draw(replace(draws, epsilons=draws.epsilons[::-1]), *arguments, **more)


# --- plan, then rewrite


@fault(
    "keeping-plan",
    "A plan that is taken for a preparation",
    "CusText whose rewrite of a planned text keeps its words, since they were not looked up yet.",
)
class KeepingPlanCusText(CusText):
    """CusText whose plan leaves the words for later, so that a rewrite of a planned text keeps them."""

    title = "CusText that keeps the words of a planned text"

    def plan(self, text: str | Prepared) -> WordPrepared:
        prepared = self._planned(text)
        reasons = tuple(reason or "stop word" for reason in prepared.reasons)
        return replace(prepared, rows=np.full(len(prepared.rows), KEPT), reasons=reasons)


@fault("plan-of-names", "A plan that keeps names", "CusText whose plan keeps words that begin with a capital.")
class CapitalPlanCusText(CusText):
    """CusText whose plan takes words with a capital for names, and keeps these."""

    title = "CusText that keeps the names of a planned text"

    def plan(self, text: str | Prepared) -> WordPrepared:
        prepared = self._planned(text)
        names = [word[:1].isupper() for word in prepared.document.words]
        reasons = tuple("stop word" if n else r for n, r in zip(names, prepared.reasons, strict=True))
        return replace(prepared, rows=np.where(names, KEPT, prepared.rows), reasons=reasons)


# --- threads


@fault(
    "other-threads",
    "Words that stay in other threads",
    "CusText whose noise was made ready in one thread: in all others words stay as they are.",
)
class ThreadCusText(CusText):
    """CusText whose noise is made once a thread; threads other than the first that draws have none and keep words."""

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
    "CusText that keeps what it is drawing with itself: two threads get each other's words.",
)
class SharedStateCusText(CusText):
    """CusText that keeps the words that it is drawing with itself, where another thread finds them."""

    title = "CusText whose threads mix up their words"

    def _draw(self, draws: Draws, *arguments: Any, **more: Any) -> list[str]:
        self.__dict__["drawing"] = draws
        time.sleep(0.002)  # a model's pass
        return super()._draw(self.__dict__["drawing"], *arguments, **more)


# --- a second process


@fault(
    "counted-key",
    "Noise that counts calls",
    "CusText whose private rewrites begin with the same noise in every process.",
)
class CountedKeyCusText(CusText):
    """CusText that counts its calls in the place of drawing a key, where no noise is given."""

    title = "CusText whose noise counts its calls"
    calls: ClassVar[Iterator[int]] = count()

    def rewrite(self, text: Any, seed: int | None = None, *, stream: Any = None, task: Any = None) -> Any:
        if seed is None and stream is None:
            stream = NoiseStream.of_key(blake2b(b"%d" % next(self.calls), digest_size=32).digest())
        return super().rewrite(text, seed, stream=stream, task=task)


@fault(
    "process-key",
    "Noise of process and time",
    "CusText whose private rewrites follow from the number of the process and the time.",
)
class ProcessKeyCusText(CusText):
    """CusText whose noise follows from the number of its process and the time, where none is given."""

    title = "CusText whose noise follows from process and time"

    def rewrite(self, text: Any, seed: int | None = None, *, stream: Any = None, task: Any = None) -> Any:
        if seed is None and stream is None:
            key = f"{getpid()} {time.time_ns()}".encode()
            stream = NoiseStream.of_key(blake2b(key, digest_size=32).digest())
        return super().rewrite(text, seed, stream=stream, task=task)


# --- polished


class _ReadingPolish(RewriteResult):
    """A result whose polish reads the original."""

    def polished(self, mechanism: Any = None, *, model: str = "bundled", task: Any = None) -> PolishedResult:
        first = next((s.original for s in self.steps if s.drawn), "")
        return PolishedResult(self, f"{self.text} {first}".strip(), tuple(self.releases), 1, ())


class _TracePolish(RewriteResult):
    """A result whose polish reads how it came about."""

    def polished(self, mechanism: Any = None, *, model: str = "bundled", task: Any = None) -> PolishedResult:
        own = self.trace.prepared.document.words  # type: ignore[attr-defined]
        return PolishedResult(self, f"{self.text} {own[0] if own else ''}".strip(), tuple(self.releases), 1, ())


def _as(cls: type[RewriteResult], result: RewriteResult) -> RewriteResult:
    return cls(**{f.name: getattr(result, f.name) for f in dataclasses.fields(result)})


@fault(
    "polish-of-steps",
    "A polish that reads the steps",
    "CusText whose results polish themselves by words of the original.",
)
class ReadingPolishCusText(CusText):
    """CusText whose results polish themselves by the original."""

    title = "CusText whose polish reads the original"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return _as(_ReadingPolish, super()._result(*arguments, **more))


@fault(
    "polish-of-trace", "A polish that reads the trace", "CusText whose results polish themselves by what was prepared."
)
class TracePolishCusText(CusText):
    """CusText whose results polish themselves by their traces."""

    title = "CusText whose polish reads the trace"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return _as(_TracePolish, super()._result(*arguments, **more))


# --- copies, and files


@fault(
    "forgotten-options",
    "A copy with the default ε",
    "CusText that another process, which it is handed over to, has with the default options.",
)
class ForgettingCusText(CusText):
    """CusText that another process makes again with the default ε."""

    title = "CusText whose copy in another process has the default ε"

    def __reduce__(self) -> Any:
        return type(self).create, ()


@fault(
    "short-setting",
    "A setting without its ε",
    "CusText whose setting, as it is written into files and addresses, leaves ε out.",
)
class ShortSettingCusText(CusText):
    """CusText whose setting leaves its ε out."""

    title = "CusText whose setting leaves ε out"

    @property
    def setting(self) -> Setting:  # type: ignore[override]
        return Setting.of(self.name, k=self.config.k)


class _Restored(RewriteResult):
    """A result that is written out from its original where it is loaded."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"text": state["original"]})


@fault(
    "restored-original",
    "A loaded result with the original",
    "CusText whose results have the original in the place of the release where they were loaded.",
)
class RestoredCusText(CusText):
    """CusText whose results have the original for a text where they were loaded from a file."""

    title = "CusText whose loaded results have the original"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        return _as(_Restored, super()._result(*arguments, **more))


# --- the distribution of a result, and of the mechanism


@fault(
    "other-statement",
    "Two statements of one draw",
    "CusText that states a flatter distribution by itself than its results, which have the true one.",
)
class StatedCusText(CusText):
    """CusText that states other distributions by itself than its results have, which are those of its draws."""

    title = "CusText that states another distribution than its results"

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        honest = super().distribution(text, index)
        log_probs = honest.log_probs / 2
        return replace(honest, log_probs=log_probs - np.logaddexp.reduce(log_probs))


class _Flatter(WordTrace):
    """A trace that states flatter distributions than those of the draws."""

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.mechanism._channel_at(self.prepared, i).at(self.epsilons[i] / 2)


@fault(
    "flatter-results",
    "Results that state half of ε",
    "CusText whose results state flatter distributions than those of their draws.",
)
class FlatterCusText(CusText):
    """CusText whose results state distributions of half its ε."""

    title = "CusText whose results state half of ε"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        own = result.trace
        assert isinstance(own, WordTrace)
        return replace(result, trace=_Flatter(own.mechanism, own.prepared, own.epsilons, own.stream, own.unknown))


# --- rows of a data set


@fault(
    "block-noise",
    "Blocks of rows that share their noise",
    "CusText whose texts have the noise of their place in a call and not that of their row.",
)
class BlockCusText(CusText):
    """CusText whose texts have the noise of their place in a call, so that two blocks of a data set share it."""

    title = "CusText whose blocks of rows share their noise"

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        return super().rewrite_list(texts, stream.numbered(None), task)


@fault(
    "loud-one-by-one",
    "Twice the ε for texts one by one",
    "CusText that draws at twice its ε where a data set asks for texts one by one.",
)
class EachCusText(CusText):
    """CusText that gives texts one by one at twice its ε."""

    title = "CusText that gives texts one by one at twice its ε"

    def rewrite_one_by_one(self, texts: list[str], stream: NoiseStream, task: Task) -> Iterator[RewriteResult]:
        loud = self.replace(epsilon=2 * self.config.epsilon)
        for result in loud.rewrite_list(texts, stream, task):
            yield replace(result, config=self.config, guarantee=self.guarantee(result.original))


PATHS = faults_of(__name__)
