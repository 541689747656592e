"""A session's cache of viewed settings: the scores of a text, one draw of each setting, and its results at each viewed
ε.

Returning to a setting costs no time and spends no ε.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import dptext_core as dpt
from dptext_core.measure import metrics
from dptext_core.measure.certainty import Asked, FactReader
from dptext_core.measure.ledger import Ledger
from dptext_core.support.private import Private
from dptext_core.support.task import UNWATCHED, Task

from .. import precomputed
from .runs import Run

#: The number of settings, texts with scores, and ε of one setting that are kept; the least recently viewed are
#: discarded first.
SETTINGS, TEXTS, EPSILONS = 12, 12, 24
#: The number of facts, each with the model passes of a setting.
QUESTIONS = 8

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class ViewedRewrite(Private):
    """One setting at one ε. number: its identity in messages from the browser."""

    number: int
    result: dpt.RewriteResult

    _shown: ClassVar[tuple[str, ...]] = ("number", "result")


@dataclass(eq=False)
class Draw(Private):
    """One draw of a setting, with the same noise at every ε."""

    mechanism: dpt.Mechanism
    prepared: dpt.Prepared
    stream: dpt.NoiseStream
    at: dict[float, ViewedRewrite] = field(default_factory=dict)

    _shown: ClassVar[tuple[str, ...]] = ("mechanism", "at")

    def free(self, text: str, ledger: Ledger) -> bool:
        """Return True if this text may be released with its noise, because no other one was."""
        return not ledger.spent(noise_of(self.stream), text)


@dataclass(eq=False)
class RewriteCache(Private):
    """The cache of one session. Jobs use it too, so it does not access Streamlit. seconds: the time that the settings
    of Compare took for the newest text.
    """

    draws: dict[tuple[str, dpt.Setting], Draw] = field(default_factory=dict)
    scores: dict[tuple[str, tuple], dpt.Prepared] = field(default_factory=dict)
    shown: dict[int, dpt.RewriteResult] = field(default_factory=dict)
    likeness: dict[tuple[str, str], float] = field(default_factory=dict)
    questions: dict[Asked, dpt.BeliefQuestion] = field(default_factory=dict)
    number: int = 0
    seconds: float | None = None
    lock: Any = field(default_factory=threading.RLock, repr=False)

    _shown: ClassVar[tuple[str, ...]] = ("draws", "scores", "shown")

    def prepared(
        self,
        text: str,
        mechanism: dpt.Mechanism,
        run: Run | None = None,
        task: Task = UNWATCHED,
    ) -> dpt.Prepared:
        """Return the text with its scores, from this cache, Explore's run, the bundled assets, or a new computation."""
        key = (text, mechanism.key)
        scores = self.scores.get(key)
        if scores is None and run is not None and run.inputs.text == text and run.prepared.key == mechanism.key:
            scores = run.prepared
        if scores is None:
            scores = precomputed.load(text, mechanism.setting)
        if scores is None:
            scores = mechanism.prepare(text, task=task.quiet)
        with self.lock:
            return _store_newest(self.scores, key, scores, TEXTS)

    def draw(
        self,
        text: str,
        setting: dpt.Setting,
        run: Run | None = None,
        task: Task = UNWATCHED,
        *,
        ledger: Ledger,
        edited: str | None = None,
    ) -> Draw:
        """Return the draw of a setting, or make one.

        It reuses Explore's run if that has the same setting. Otherwise it has the noise of this setting on the text
        from which this one was ``edited``, so that each place keeps its noise, unless the ``ledger`` records that as
        released.
        """
        setting = setting.at(None)
        key = (text, setting)
        if (new := self.draws.get(key)) is None or not new.free(text, ledger):
            mechanism = setting.at(1.0).make()
            prepared = self.prepared(text, mechanism, run, task)
            same = run is not None and (run.inputs.text, run.inputs.setting) == key
            streams = [run.stream] if run is not None and same and run.inputs.seed is None else []
            streams += [d.stream for d in [self.draws.get((edited or "", setting))] if d is not None]
            stream = next((s for s in streams if not ledger.spent(noise_of(s), text)), None)
            new = Draw(mechanism, prepared, stream or dpt.NoiseStream())
        with self.lock:
            return _store_newest(self.draws, key, new, SETTINGS)

    def look(self, draw: Draw, epsilon: float, task: Task = UNWATCHED) -> ViewedRewrite:
        """Return a draw at an ε."""
        view = draw.at.get(epsilon)
        if view is None:
            mechanism = draw.mechanism.replace(epsilon=epsilon)
            result = mechanism.rewrite(draw.prepared, stream=draw.stream, task=task.quiet)
            with self.lock:
                self.number += 1
                number = self.number
            view = ViewedRewrite(number, result)
        with self.lock:
            # A copy may be reported after another rewrite is shown.
            _store_newest(self.shown, view.number, view.result, SETTINGS * 4)
            return _store_newest(draw.at, epsilon, view, EPSILONS)

    def like(self, original: str, rewrites: list[str], task: Task = UNWATCHED) -> list[float]:
        """Return the cosine of each text with the original."""
        task.check()
        missing = [r for r in dict.fromkeys(rewrites) if (original, r) not in self.likeness]
        for r, value in zip(missing, metrics.score("cosine", [original] * len(missing), missing), strict=True):
            with self.lock:
                _store_newest(self.likeness, (original, r), value, SETTINGS * EPSILONS)
        return [self.likeness[original, r] for r in rewrites]

    def beliefs(
        self,
        results: list[dpt.RewriteResult],
        mechanisms: list[dpt.Mechanism],
        word: str,
        alternatives: Sequence[str] | None = None,
        task: Task = UNWATCHED,
    ) -> list[dpt.Belief | str]:
        """Return what an optimal reader of each result believes about one fact, or why that is unknown.

        word: the fact; empty for the rarest content word. alternatives: other possible words; None: public ones.
        """
        reader = FactReader(mechanisms, word, self.questions, alternatives=alternatives)
        out: list[dpt.Belief | str] = []
        for i, (result, mechanism) in enumerate(zip(results, mechanisms, strict=True)):
            task.report(i, len(results))
            try:
                out.append(reader.belief(mechanism, result, task))
            except dpt.Cancelled:
                raise
            except dpt.DPTextError as error:
                out.append(str(error))
        for old in list(self.questions)[:-QUESTIONS]:
            del self.questions[old]
        return out

    def forget_draws(self, text: str) -> None:
        """Discard all draws but keep the scores: the next view of a setting has fresh noise."""
        with self.lock:
            for key, old in list(self.draws.items()):
                if key[0] == text:
                    self.draws[key] = Draw(old.mechanism, old.prepared, dpt.NoiseStream())


def noise_of(stream: dpt.NoiseStream) -> str:
    """Return the ledger's identity of the noise of one text with this stream."""
    return stream.at(0).noise_id


def _store_newest(held: dict[K, V], key: K, value: V, most: int) -> V:
    """Store the newest entry and discard the oldest beyond the limit."""
    held.pop(key, None)
    held[key] = value
    for old in list(held)[:-most]:
        del held[old]
    return value
