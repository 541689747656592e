"""Estimate the clipping range of a model's logits from public texts, for masked language models and generators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..errors import ConfigError, InputError
from ..support.checks import text_list
from ..support.task import UNWATCHED, Task
from ..text.language import Language
from ..text.languages import ENGLISH
from .registry import ClipRange

#: Upper ends in standard deviations above the mean, of the paper's range and of the
#: tuned range of the bundled model.
WIDTHS = {"tuned": 6.0, "paper": 4.0}


class Writer(Protocol):
    """A mechanism that writes with a generator."""

    def greedy_scores(self, text: str) -> list[np.ndarray]:
        """Return raw scores float32 (n,) of every token that it writes greedily about a text."""


@dataclass(frozen=True)
class ClipEstimate:
    """Both ranges, from the mean and the standard deviation of a model's logits; unpacks to the paper's range."""

    mean: float
    deviation: float

    def at(self, width: float) -> ClipRange:
        """Return the range from the mean to ``width`` standard deviations above it."""
        return ClipRange(self.mean, self.mean + width * self.deviation, f"μ to μ + {width:g}σ of public texts")

    @property
    def tuned(self) -> ClipRange:
        """Return the range of the width chosen for the bundled model: for another model, only a first guess."""
        return self.at(WIDTHS["tuned"])

    @property
    def paper(self) -> ClipRange:
        """Return μ to μ + 4σ."""
        return self.at(WIDTHS["paper"])

    def __iter__(self) -> Iterator[float]:
        return iter((self.paper.low, self.paper.high))


class _Moments:
    """Mean and deviation of numbers that arrive in blocks, by Chan's update, which subtracts no large sums."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, scores: np.ndarray) -> None:
        scores = scores.astype(float)
        n, block = scores.size, float(scores.mean())
        shift = block - self.mean
        self.squares += float(((scores - block) ** 2).sum()) + shift**2 * self.count * n / (self.count + n)
        self.mean += shift * n / (self.count + n)
        self.count += n

    @property
    def estimate(self) -> ClipEstimate:
        return ClipEstimate(self.mean, math.sqrt(self.squares / self.count))


def estimate_clip_range(
    texts: Iterable[str],
    name: str = "bundled",
    *,
    every: int = 5,
    n_masks: int | None = None,
    contextualize: bool = True,
    device: str | None = None,
    language: Language = ENGLISH,
    task: Task = UNWATCHED,
) -> ClipEstimate:
    """Estimate clipping ranges from the candidates' logits at masks in public `texts`.

    ``paper`` is (μ, μ + 4σ), as in the DP-MLM paper (1,000 texts there); ``tuned`` is wider. ``low, high =
    estimate_clip_range(…)`` takes the paper's. Every `every`-th word of each text is masked, at most `n_masks` words in
    all (None: no limit), without randomness. `contextualize`: whether the text precedes the masked one, as in the
    mechanism that will use the range. The texts must be public: the mechanism uses the range and does not protect the
    texts it was estimated from. `task` counts texts. Raises ConfigError or InputError.
    """
    from ..text.document import Document
    from .engines import shared_engine
    from .masked_lm import load
    from .windows import MaskRequest

    if every < 1 or (n_masks is not None and n_masks < 1):
        raise ConfigError("every and n_masks must be at least 1.")
    texts = [texts] if isinstance(texts, str) else text_list(texts)
    worker, lm = shared_engine(name, device, language), load(name, device, language)
    moments, masks = _Moments(), 0
    for done, text in enumerate(texts, 1):
        doc = Document.parse(text, language)
        words = [i for i, t in enumerate(doc.tokens) if t.kind == "word"][every // 2 :: every]
        if n_masks is not None:
            words = words[: n_masks - masks]
        if words:
            pieces = lm.encode(doc)
            context = pieces if contextualize else None
            masks += len(words)
            for start in range(0, len(words), 64):
                reqs = [MaskRequest(context, pieces, i) for i in words[start : start + 64]]
                moments.add(worker.score(reqs, task=task.quiet))
        task.report(done, len(texts))
        if n_masks is not None and masks >= n_masks:
            break
    if not masks:
        raise InputError("There are no words to mask. Provide some public texts of several words each.")
    return moments.estimate


def estimate_generator_clip(texts: Iterable[str], mechanism: Writer, *, task: Task = UNWATCHED) -> ClipEstimate:
    """Estimate the same for a generator, from its scores of every token that it writes about public ``texts``.

    mechanism: one that uses the generator; its prompt and limit apply. It takes the best token at every step.
    """
    moments = _Moments()
    texts = [texts] if isinstance(texts, str) else text_list(texts)
    for done, text in enumerate(texts, 1):
        task.check()
        for row in mechanism.greedy_scores(text):
            moments.add(row)
        task.report(done, len(texts))
    if not moments.count:
        raise InputError("There is no text to read. Provide some public texts.")
    return moments.estimate
