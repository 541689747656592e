"""The data of the first screen's tour, as plain JSON, computed for a bundled example.

They contain the example's fact, and use noise that nothing else uses. They are only made for a public text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import numpy as np

from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.measure.metrics import score
from dptext_core.mechanisms.detected.redact import PLACEHOLDERS, Redact, redacted_spans
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import RewriteResult
from dptext_core.support.task import UNWATCHED, Task

#: ε of the draws, and their number.
EPSILON, DRAWS = 1.0, 5
#: What identifies the patient of the first example: kinds of the rules, and words that no rule finds.
GROUPS = {
    "Her name and her doctor’s": ("name",),
    "Where she lives": ("place",),
    "Her age and her weight": ("number",),
    "When things happened": ("date",),
}
FACTS = "Her family and her illness", ("brother", "heart", "daughter")
#: Words from which a reader of the note without names still learns something. Each counts once, at its first
#: occurrence.
CLUES = ("She", "chest", "pain", "same", "heart", "disease")


class Card(TypedDict):
    """A card of the last step. ``press``: the control of the page that it presses. ``on``: whether it is selected."""

    title: str
    does: str
    press: str
    on: NotRequired[bool]


class TourStory(TypedDict):
    """The content of the tour that is known at once.

    ``n``: increases with each request for the tour; 0: none so far. ``cards``, ``doors``: those of the last step.
    Missing for any text other than the tour's: ``groups``: what identifies the person, each with its tokens.
    ``crossed``: what redaction replaces, as a placeholder and its tokens. ``clues``: tokens from which a reader still
    learns something. ``fact``: the token of the fact.
    """

    n: int
    cards: list[Card]
    doors: list[Card]
    groups: NotRequired[list[tuple[str, list[int]]]]
    crossed: NotRequired[list[tuple[str, list[int]]]]
    clues: NotRequired[list[int]]
    fact: NotRequired[int]


class Redacted(TypedDict):
    """The note after redaction.

    ``p``: a reader's belief in each of ``words``, and ``prior`` before reading. ``meaning``: the cosine to the
    original.
    """

    words: list[str]
    prior: list[float]
    p: list[float]
    meaning: float


class DrawnOnce(TypedDict):
    """The note with one sampled word. ``p``: the probability of that word for the note, and for the neighbour's."""

    word: str
    p: list[float]
    meaning: float


class TourNumbers(TypedDict):
    """Numbers that the package computes for the tour.

    ``fact``, ``other``: the word, and that of the neighbour's note. ``eps``, ``loss``: ε of the draws, and the
    log-ratio that the guarantee allows.
    """

    redacted: Redacted
    draws: list[DrawnOnce]
    fact: str
    other: str
    eps: float
    loss: float


def redact(text: str) -> RewriteResult:
    """Return a text as the mechanism ``redact`` releases it, without any draw."""
    return Redact.create().rewrite(text)


def redaction_posterior(variants: Sequence[str], prior: np.ndarray) -> np.ndarray:
    """Return a reader's belief in each variant of a text after the redaction of the first.

    Redaction samples nothing, so a variant is possible if its redacted text is the same.
    """
    release = redact(variants[0]).text
    possible = np.array([redact(text).text == release for text in variants])
    weights = prior * possible
    return weights / weights.sum()


def tour_groups(result: RewriteResult, fact: int) -> TourStory:
    """Return the parts of the tour that depend on the text, for a result whose steps correspond to its words.

    fact: the token of the fact.
    """
    crossed: list[tuple[str, list[int]]] = []
    at: dict[str, list[int]] = {}
    for span, _, placeholder in redacted_spans(redact(result.original)):
        inside = [k for k, s in enumerate(result.steps) if _overlap(s.span, span) and s.original.isalnum()]
        crossed.append((placeholder, inside))
        at.setdefault(placeholder, []).extend(inside)
    groups = [
        (title, sorted(k for kind in kinds for k in at.get(PLACEHOLDERS[kind], ()))) for title, kinds in GROUPS.items()
    ]
    title, words = FACTS
    groups.append((title, [_first(result, word) for word in words]))
    return {  # type: ignore[typeddict-item]
        "groups": [(title, tokens) for title, tokens in groups if tokens],
        "crossed": crossed,
        "clues": [_first(result, word) for word in CLUES],
        "fact": fact,
    }


def tour_numbers(question: BeliefQuestion, fact: int, task: Task = UNWATCHED) -> TourNumbers:
    """Return the tour's numbers. question: the fact with its alternatives. fact: its token."""
    mechanism = question.mechanism.replace(epsilon=EPSILON)
    own, other = question.prepared[:2]
    variants = [p.text for p in question.prepared]
    stream = NoiseStream()
    drawn: list[tuple[str, str, list[float]]] = []
    for k in range(DRAWS):
        task.report(k, DRAWS + 1)
        result = mechanism.rewrite(own, stream=stream.at(f"tour {k}"))
        step = result.steps[fact]
        p = [mechanism.distribution(note, fact).p(step.replacement) for note in (own, other)]
        text = own.text[: step.span[0]] + step.replacement + own.text[step.span[1] :]
        drawn.append((step.replacement, text, p))
    texts = [redact(own.text).text, *(text for _, text, _ in drawn)]
    task.report(DRAWS, DRAWS + 1)
    cosines = [round(float(c), 4) for c in score("cosine", [own.text] * len(texts), texts)]
    return {
        "redacted": {
            "words": list(question.alternatives),
            "prior": question.prior.tolist(),
            "p": redaction_posterior(variants, question.prior).tolist(),
            "meaning": cosines[0],
        },
        "draws": [{"word": w, "p": p, "meaning": c} for (w, _, p), c in zip(drawn, cosines[1:], strict=True)],
        "fact": question.alternatives[0],
        "other": question.alternatives[1],
        "eps": EPSILON,
        "loss": float(mechanism.guarantee(own).epsilon),
    }


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _first(result: RewriteResult, word: str) -> int:
    return next(k for k, s in enumerate(result.steps) if s.original == word)
