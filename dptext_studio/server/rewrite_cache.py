"""What a session keeps of the settings that it looked at: the scores of a text, one draw of each setting, and what that
gives at every ε that was looked at. Going back to a setting costs nothing and draws nothing."""

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

#: Settings, texts with scores, and ε of one setting that are kept; what was not looked at for longest goes first.
SETTINGS, TEXTS, EPSILONS = 12, 12, 24
#: Facts, each with the passes of a setting.
QUESTIONS = 8

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class ViewedRewrite(Private):
    """One setting at one ε. number: names it in messages from the browser."""

    number: int
    result: dpt.RewriteResult

    _shown: ClassVar[tuple[str, ...]] = ("number", "result")


@dataclass(eq=False)
class Draw(Private):
    """One draw of a setting: the same noise at every ε."""

    mechanism: dpt.Mechanism
    prepared: dpt.Prepared
    stream: dpt.NoiseStream
    at: dict[float, ViewedRewrite] = field(default_factory=dict)

    _shown: ClassVar[tuple[str, ...]] = ("mechanism", "at")

    def free(self, text: str, ledger: Ledger) -> bool:
        """Return whether this text may be released with its noise: no other one was."""
        return not ledger.spent(noise_of(self.stream), text)


@dataclass(eq=False)
class RewriteCache(Private):
    """Of one session. Jobs beside the page use it too, so it asks for nothing of Streamlit's. seconds: that the
    settings of Compare took on the newest text."""

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
        """Return the text with its scores: those that are here, those of Explore's run, bundled ones, or new ones."""
        key = (text, mechanism.key)
        found = self.scores.get(key)
        if found is None and run is not None and run.inputs.text == text and run.prepared.key == mechanism.key:
            found = run.prepared
        if found is None:
            found = precomputed.load(text, mechanism.setting)
        if found is None:
            found = mechanism.prepare(text, task=task.quiet)
        with self.lock:
            return _store_newest(self.scores, key, found, TEXTS)

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
        """Return the draw of a setting, made where there is none: that of Explore's run where it is the same one. Else
        it has the noise of this setting on the text that this one was ``edited`` from, so that each place keeps its
        own, unless that was released by the ``ledger``."""
        setting = setting.at(None)
        key = (text, setting)
        if (found := self.draws.get(key)) is None or not found.free(text, ledger):
            mechanism = setting.at(1.0).make()
            prepared = self.prepared(text, mechanism, run, task)
            same = run is not None and (run.inputs.text, run.inputs.setting) == key
            streams = [run.stream] if run is not None and same and run.inputs.seed is None else []
            streams += [d.stream for d in [self.draws.get((edited or "", setting))] if d is not None]
            stream = next((s for s in streams if not ledger.spent(noise_of(s), text)), None)
            found = Draw(mechanism, prepared, stream or dpt.NoiseStream())
        with self.lock:
            return _store_newest(self.draws, key, found, SETTINGS)

    def look(self, draw: Draw, epsilon: float, task: Task = UNWATCHED) -> ViewedRewrite:
        """Return what a draw is at an ε."""
        found = draw.at.get(epsilon)
        if found is None:
            mechanism = draw.mechanism.replace(epsilon=epsilon)
            result = mechanism.rewrite(draw.prepared, stream=draw.stream, task=task.quiet)
            with self.lock:
                self.number += 1
                number = self.number
            found = ViewedRewrite(number, result)
        with self.lock:
            # A copy may be told after something else is shown.
            _store_newest(self.shown, found.number, found.result, SETTINGS * 4)
            return _store_newest(draw.at, epsilon, found, EPSILONS)

    def like(self, original: str, rewrites: list[str], task: Task = UNWATCHED) -> list[float]:
        """Return the cosine of each with the original."""
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
        """Return what an optimal reader of each result believes about one fact, or why that is not known.

        word: the fact; empty for the rarest content word. alternatives: what else may stand there; None: public ones.
        """
        reader = FactReader(mechanisms, word, self.questions, alternatives=alternatives)
        found: list[dpt.Belief | str] = []
        for i, (result, mechanism) in enumerate(zip(results, mechanisms, strict=True)):
            task.report(i, len(results))
            try:
                found.append(reader.belief(mechanism, result, task))
            except dpt.Cancelled:
                raise
            except dpt.DPTextError as error:
                found.append(str(error))
        for old in list(self.questions)[:-QUESTIONS]:
            del self.questions[old]
        return found

    def forget_draws(self, text: str) -> None:
        """Draw again: the next look at a setting of this text has noise of its own. Its scores stay."""
        with self.lock:
            for key, old in list(self.draws.items()):
                if key[0] == text:
                    self.draws[key] = Draw(old.mechanism, old.prepared, dpt.NoiseStream())


def noise_of(stream: dpt.NoiseStream) -> str:
    """Return by what name the ledger knows the noise of one text under this stream."""
    return stream.at(0).noise_id


def _store_newest(held: dict[K, V], key: K, value: V, most: int) -> V:
    """Hold it as what was looked at last, and forget what is too many."""
    held.pop(key, None)
    held[key] = value
    for old in list(held)[:-most]:
        del held[old]
    return value
