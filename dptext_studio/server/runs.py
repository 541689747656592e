"""One rewrite on the page: its inputs, its stream, and its data for the browser."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import dptext_core as dpt
from dptext_core.measure.coverage import coverage_note
from dptext_core.mechanisms.setting import SettingFields
from dptext_core.support.private import Private
from dptext_core.support.task import UNWATCHED, Task

from ..figures.belief_view import exactness
from ..figures.glossary import NO_EPSILON
from ..figures.meaning_curve import MeaningCurve
from ..figures.mechanism_steps import mechanism_steps
from ..figures.odds_view import odds_view
from ..figures.token_payload import Payload
from ..figures.token_view import payload


@dataclass(frozen=True)
class Inputs(SettingFields, Private):
    """The inputs of a rewrite. setting: without ε if one slider sets it. Equal inputs need no new run."""

    text: str
    setting: dpt.Setting
    seed: int | None

    _shown: ClassVar[tuple[str, ...]] = ("mechanism", "options", "seed")


@dataclass(frozen=True)
class Run(Private):
    """A finished rewrite, stored in the session that requested it.

    number: increases with each run. note: what to know about such a text. edited: the previous version of an edited
    text, if there is one. seconds: its duration; None if its scores already existed, or a model was loaded for them.

    plain: the mechanism without its public prior, and the text prepared for it; None without a prior. meaning: the
    meaning preserved, by config. secret: the word that reveals the fact of an example. bundled: whether the scores of
    ``prepared`` came with the program, rounded. beliefs: about a fact, by that fact and the config. rest: the newest
    belief about the displayed release.
    """

    number: int
    inputs: Inputs
    mechanism: dpt.Mechanism
    prepared: dpt.Prepared
    stream: dpt.NoiseStream
    result: dpt.RewriteResult
    payload: Payload
    note: str = ""
    plain: tuple[dpt.Mechanism, dpt.Prepared] | None = None
    edited: str | None = None
    seconds: float | None = None
    _plain_at: dict[float, dpt.RewriteResult] = field(default_factory=dict, repr=False, compare=False)
    _at: dict[float, dpt.RewriteResult] = field(default_factory=dict, repr=False, compare=False)
    meaning: dict[Any, MeaningCurve] = field(default_factory=dict, repr=False, compare=False)
    secret: str = ""
    bundled: bool = False
    beliefs: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    rest: dict[Any, dpt.Belief] = field(default_factory=dict, repr=False, compare=False)

    _shown: ClassVar[tuple[str, ...]] = ("number", "inputs", "result")

    @property
    def spread(self) -> bool:
        """Return True if no slider moves ε: each word has a separate one, or the mechanism uses none."""
        return not self.mechanism.uses_epsilon or isinstance(self.mechanism.config.epsilon, tuple)

    def at(self, epsilon: float) -> dpt.RewriteResult:
        """Return the same stream at another ε."""
        if self.spread or epsilon == self.result.config.epsilon:
            return self.result
        if epsilon not in self._at:
            made = self.mechanism.replace(epsilon=epsilon).rewrite(self.prepared, stream=self.stream)
            self._at.clear()
            self._at[epsilon] = made
        return self._at[epsilon]

    def without_prior(self, epsilon: float) -> dpt.RewriteResult | None:
        """Return a rewrite at this ε without the public prior, with separate noise."""
        if self.plain is None:
            return None
        mechanism, prepared = self.plain
        if epsilon not in self._plain_at:
            at = mechanism if self.spread else mechanism.replace(epsilon=epsilon)
            made = at.rewrite(prepared, stream=self.stream.at("without a prior"))
            self._plain_at.clear()
            self._plain_at[epsilon] = made
        return self._plain_at[epsilon]


def make_run(
    inputs: Inputs,
    number: int,
    epsilon: float,
    axis: tuple[float, float, float],
    *,
    before: Run | None = None,
    given: dpt.Prepared | None = None,
    redraw: bool = True,
    pin: str = "",
    task: Task = UNWATCHED,
) -> Run:
    """Rewrite a text.

    Scores of ``before`` are reused if they still apply. Its stream is reused too if the text is the same or was edited,
    unless ``redraw``. So a place of the text keeps its noise as long as its position from the beginning is the same:
    the part before an edit keeps its draws.

    given: the text with bundled scores, so that no model is loaded. pin: the word to show first.
    """
    mechanism = inputs.setting.at(epsilon if inputs.epsilon is None else inputs.epsilon).make()
    same_text = before is not None and before.inputs.text == inputs.text
    edited = before.inputs.text if before is not None and is_edit(before.inputs.text, inputs.text) else None
    begun, ready, took, bundled = time.monotonic(), mechanism.model_ready, None, False
    if before is not None and same_text and before.prepared.key == mechanism.key:
        prepared, took, bundled = before.prepared, before.seconds, before.bundled
    elif given is not None:
        prepared, bundled = given, True
    else:
        prepared = mechanism.prepare(inputs.text, task=task)
        took = time.monotonic() - begun if ready else None
    goes_on = same_text or edited is not None
    keep_stream = before is not None and not redraw and goes_on and before.inputs.seed == inputs.seed
    stream = before.stream if before is not None and keep_stream else dpt.NoiseStream(inputs.seed)
    result = mechanism.rewrite(prepared, stream=stream, task=task)
    low, high, default = axis
    shown = payload(result, run=number, low=low, high=high, default=default, pin=pin, prepared=prepared, task=task)
    shown["how"], shown["belief"] = mechanism_steps(mechanism, prepared, result), exactness(mechanism)
    if not mechanism.uses_epsilon:
        shown["spread"] = NO_EPSILON
    shown["odds"] = odds_view(mechanism, prepared, result.guarantee, low, high)
    if before is not None and (before.payload["lo"], before.payload["hi"]) != axis[:2]:
        # Another slider: the browser moves to its default instead of clamping the previous value.
        shown["cmd"] = {"n": number, "eps": epsilon}
    note = coverage_note(mechanism, prepared) if given is None else ""
    plain = _plain(mechanism, prepared, task)
    if took is not None and not same_text and before is not None and before.inputs.mechanism == inputs.mechanism:
        # Of another mechanism it may be what is read once that takes long.
        took = time.monotonic() - begun
    made = Run(number, inputs, mechanism, prepared, stream, result, shown, note, plain, edited, took)
    return replace(made, secret=pin, bundled=bundled)


def is_edit(before: str, after: str) -> bool:
    """Return True if a text is an edited version of another.

    One continues the other, or they share at least half of the shorter one's words, counted from the beginning and the
    end.
    """
    if before == after or not (before.strip() and after.strip()):
        return False
    if before.startswith(after) or after.startswith(before):
        return True
    a, b = before.split(), after.split()
    n = min(len(a), len(b))
    head = next((i for i in range(n) if a[i] != b[i]), n)
    tail = next((i for i in range(n - head) if a[-1 - i] != b[-1 - i]), n - head)
    return 2 * (head + tail) >= n


def differs_by_prior(run: Run, inputs: Inputs) -> bool:
    """Return True if the run and the request use one mechanism, once with and once without its public prior, for any
    text.

    A user who types meanwhile keeps ε too.
    """
    if run.inputs.mechanism == inputs.mechanism:
        return False
    if run.plain is not None:
        return run.plain[0].name == inputs.mechanism
    start = inputs.setting.make().public_prior
    plain = None if start is None else start.without_prior()
    return plain is not None and plain.name == run.inputs.mechanism


def _plain(mechanism: dpt.Mechanism, prepared: dpt.Prepared, task: Task) -> tuple[dpt.Mechanism, dpt.Prepared] | None:
    """Return the mechanism without its public prior, and the same text prepared for it, reusing existing scores."""
    start = mechanism.public_prior
    if start is None or (plain := start.without_prior()) is None:
        return None
    support, there = mechanism.kept_scores, plain.kept_scores
    again = None
    if support is not None and there is not None and "sweep" in mechanism.can:
        again = there.put(prepared.document, support.of(prepared))
    return plain, again or plain.prepare(prepared.text, task=task.quiet)
