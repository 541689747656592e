"""Mask inference with a better reader: which of the words that fit makes the released text most likely?

The masked language model of `mask_inference` proposes words for each replaced place. An added causal language model
then reads the released text with each of the first guesses in that place, and chooses the most likely text. A word is
compared as in `mask_inference`; after the first guesses, that model's order is unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import require_alignment
from ..models import causal
from ..result import RewriteResult
from ..support.task import UNWATCHED, Task
from . import mask_inference
from .base import register
from .mask_inference import MaskInference

#: Number of characters that are read before and after a word.
AROUND = 240


def attack(
    mechanism: Mechanism,
    result: RewriteResult,
    *,
    model: str = "bundled",
    judge: causal.Judge | None = None,
    only: Collection[int] | None = None,
    task: Task = UNWATCHED,
) -> MaskInference:
    """Run mask inference by ``model``, with its first guesses ordered by ``judge`` (None: the added model). only: the
    attacked steps, by default all. Raises ModelUnavailable without a judge, and the errors of `mask_inference.attack`.
    """
    require_alignment(mechanism)
    reader = causal.judge() if judge is None else judge

    def rescore(out: tuple[int, int], words: Sequence[str]) -> Sequence[int]:
        losses = [reading.loss for reading in reader.read([place_word(result.text, out, word) for word in words])]
        return np.argsort(losses, kind="stable").tolist()

    return mask_inference.attack(mechanism, result, model=model, rescore=rescore, only=only, task=task)


def place_word(text: str, span: tuple[int, int], word: str) -> str:
    """Return the context of a place with another word in it, capitalised like the current word."""
    start, end = span
    before, behind = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    if start > AROUND:  # not from the middle of a word
        before = before.partition(" ")[2]
    return before + (word[:1].upper() + word[1:] if text[start : start + 1].isupper() else word) + behind


@register
class LikelyText(mask_inference.LanguageModel):
    """The attack on a whole text."""

    name = "likely-text"
    title = "Likely text"
    question = "Which fitting word makes the whole text most likely?"
    needs = ("masked language model", "added language model")
    how = (
        "The bundled language model proposes originals for each replaced word. A larger model, which you added, "
        "chooses those that make the text most likely."
    )

    def attack(
        self, mechanism: Mechanism, result: RewriteResult, unit: int | None = None, *, task: Task | None = None
    ) -> MaskInference:
        self.check(mechanism)
        return attack(mechanism, result, task=task or UNWATCHED)
