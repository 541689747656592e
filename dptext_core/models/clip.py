"""The clipping range of a model's logits, from public texts."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..errors import ConfigError, InputError
from ..language import Language
from ..languages import ENGLISH
from .registry import ClipRange

#: Standard deviations above the mean at which a range ends: the paper's, and the one that tools/choose_clip_range.py
#: chose for the bundled model.
WIDTHS = {"tuned": 6.0, "paper": 4.0}


@dataclass(frozen=True)
class ClipEstimate:
    """Both ranges from the mean and the standard deviation of a model's logits; as a pair of numbers the paper's."""

    mean: float
    deviation: float

    def at(self, width: float) -> ClipRange:
        """From the mean to ``width`` standard deviations above it."""
        return ClipRange(self.mean, self.mean + width * self.deviation, f"μ to μ + {width:g}σ of public texts")

    @property
    def tuned(self) -> ClipRange:
        """The width that was chosen for the bundled model: for another model a first guess, not a choice."""
        return self.at(WIDTHS["tuned"])

    @property
    def paper(self) -> ClipRange:
        """μ to μ + 4σ."""
        return self.at(WIDTHS["paper"])

    def __iter__(self) -> Iterator[float]:
        return iter((self.paper.low, self.paper.high))


def estimate_clip_range(
    texts: Iterable[str],
    name: str = "bundled",
    *,
    every: int = 5,
    n_masks: int | None = None,
    contextualize: bool = True,
    device: str | None = None,
    language: Language = ENGLISH,
    cancel: threading.Event | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ClipEstimate:
    """Clipping ranges from the candidates' logits at masks in public `texts`.

    ``paper`` is (μ, μ + 4σ), as in the DP-MLM paper (1,000 texts there); ``tuned`` is wider. ``low, high =
    estimate_clip_range(…)`` takes the paper's.

    Every `every`-th word of each text is masked, at most `n_masks` words in all (None: no limit): no chance is
    involved. `contextualize`: whether the text stands before the masked one, as in the mechanism that will use the
    range. The texts must be public: the range is part of the mechanism and protects nothing it was made from.
    `progress(done, total)` counts texts. Raises ConfigError or InputError.
    """
    from ..document import Document
    from . import engine, load_masked_lm
    from .windows import MaskRequest

    if every < 1 or (n_masks is not None and n_masks < 1):
        raise ConfigError("every and n_masks must be at least 1.")
    texts = [texts] if isinstance(texts, str) else list(texts)
    worker, lm = engine(name, device, language), load_masked_lm(name, device, language)
    count, mean, squares, masks = 0, 0.0, 0.0, 0
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
                scores = worker.score(reqs, cancel=cancel).astype(float)
                # Chan's update of mean and sum of squares: no difference of large sums.
                n, block = scores.size, float(scores.mean())
                shift = block - mean
                squares += float(((scores - block) ** 2).sum()) + shift**2 * count * n / (count + n)
                mean += shift * n / (count + n)
                count += n
        if progress is not None:
            progress(done, len(texts))
        if n_masks is not None and masks >= n_masks:
            break
    if not masks:
        raise InputError("No words to mask were found: give some public texts of several words each.")
    return ClipEstimate(mean, math.sqrt(squares / count))
