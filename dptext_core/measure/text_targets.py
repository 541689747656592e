"""Measure calibration targets of one text as a function of ε: a reader's certainty, and the meaning preserved.

Both targets are one-sided: the certainty is an upper limit, and the meaning preserved a lower limit.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import numpy as np

from ..attacks.belief import BeliefQuestion
from ..attacks.expected_belief import DRAWS, success_by_releases
from ..errors import ConfigError
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.likelihood import require_likelihood
from ..privacy.sampling import NoiseStream
from ..support.statistics import standard_error, student
from ..support.task import Task
from .metrics import score
from .target_figures import TargetFigure, _Inputs

TEXT_TARGETS = {
    "certainty": "certainty of the optimal reader",
    "meaning": "cosine to the original",
}
#: Releases for a certainty, if each of them takes model passes.
_FEW = 8
#: Rewrites for a cosine, at each ε.
_REWRITES = 8


def is_within(kind: str, value: float, target: float) -> bool:
    """Return True if a figure is on the right side of its target."""
    return value <= target if kind == "certainty" else value >= target


def text_target(
    mechanism: Mechanism,
    kind: str,
    text: str | Prepared | None,
    fact: str | tuple[int, int] | None,
    alternatives: Sequence[str] | None,
    task: Task,
    stream: NoiseStream | None = None,
) -> tuple[_Inputs, Callable[[float], TargetFigure]]:
    """Return the text and the figure as a function of ε. Raises ConfigError without a text, or without a fact."""
    if text is None:
        raise ConfigError(f"The target {kind} is measured on a text. Give a text, and no words.")
    prepared = mechanism.prepared(text, task.quiet)
    # Every ε uses the same noise, and nothing of it is released.
    stream = stream or NoiseStream(secrets.randbits(63))
    if kind == "meaning":
        if fact is not None or alternatives is not None:
            raise ConfigError("The target “meaning” is about the whole text. Omit fact and alternatives.")
        return _Inputs(prepared, (), ()), _meaning(mechanism, prepared, stream, task)
    if fact is None:
        raise ConfigError("The target “certainty” is about one fact of the text. Name a fact, such as a word of it.")
    question = BeliefQuestion.make(mechanism, prepared, fact, alternatives, task=task.quiet)
    return _Inputs(prepared, (), ()), _certainty(mechanism, question, stream, task)


def _certainty(
    mechanism: Mechanism, question: BeliefQuestion, stream: NoiseStream, task: Task
) -> Callable[[float], TargetFigure]:
    """Return the expected success of the optimal reader: enumerated if one place decides, else from releases."""
    chances = require_likelihood(mechanism)
    draws = DRAWS if chances.sweeps or mechanism.by_word is not None else _FEW

    def certainty(epsilon: float) -> TargetFigure:
        m = mechanism.replace(epsilon=epsilon)
        (success,) = success_by_releases(m, question, (1,), draws, stream, task.quiet)
        return TargetFigure(success.value, success.interval, success.draws or None)

    return certainty


def _meaning(
    mechanism: Mechanism, prepared: Prepared, stream: NoiseStream, task: Task
) -> Callable[[float], TargetFigure]:
    """Return the mean cosine of a few rewrites to the original."""

    def meaning(epsilon: float) -> TargetFigure:
        results = mechanism.replace(epsilon=epsilon).rewrites(prepared, _REWRITES, stream=stream, task=task.quiet)
        texts = [r.text for r in results]
        distinct = list(dict.fromkeys(texts))
        values = dict(zip(distinct, score("cosine", [prepared.text] * len(distinct), distinct), strict=True))
        cosines = [values[t] for t in texts]
        mean, half = float(np.mean(cosines)), student(len(texts)) * (standard_error(cosines) or 0.0)
        return TargetFigure(mean, (max(-1.0, mean - half), min(1.0, mean + half)), len(texts))

    return meaning
