"""The live part of the case study: rewrite a sentence, and find the nearest pre-training sentence."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dptext_core.data import tables
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.result import RewriteResult
from dptext_core.support.checks import usable_path
from dptext_core.support.private import Private
from dptext_core.support.task import UNWATCHED, Task

from ..results.case_study import MECHANISM, SETS
from .downstream import Embeddings, labelled_texts

#: Environment variable with the folder of the data, for the page that shows the nearest training sentence.
DATA_VARIABLE = "DPTEXT_DATA"
#: Number of sentences that the page searches for the nearest one.
_CLOSE = 200


def rewriter(checkpoint: str, epsilon: float | None) -> Mechanism:
    """Return the autoencoder of the case study at this ε (None: without noise, so without a guarantee)."""
    if epsilon is None:
        return get_mechanism(MECHANISM, checkpoint=checkpoint, no_noise=True)
    return get_mechanism(MECHANISM, checkpoint=checkpoint, epsilon=epsilon)


#: A sentence in the style of ATIS, written for this page; it is in neither set.
EXAMPLE = "i would like the cheapest flight from oslo to lisbon on a rainy tuesday evening"
WITHOUT_DATA = (
    "The nearest pre-training sentence cannot be shown: the data sets do not come with the "
    "program, and this server has none."
)
NEAREST = f"The nearest pre-training sentence among the {_CLOSE} that share the most words with the rewrite"


@dataclass(frozen=True)
class Question(Private):
    """A sentence, the model's pre-training set, and ε (None: no noise). draw: numbers repeated draws."""

    text: str
    pretrained: str
    epsilon: float | None
    draw: int = 0

    _shown: ClassVar[tuple[str, ...]] = ("pretrained", "epsilon", "draw")


@dataclass(frozen=True, eq=False)
class Nearest(Private):
    """The nearest pre-training sentence to a rewrite. cosine: by all-MiniLM-L6-v2. same: whether it is identical."""

    text: str
    cosine: float
    same: bool

    _shown: ClassVar[tuple[str, ...]] = ("cosine", "same")


def rewrite_question(asked: Question, task: Task = UNWATCHED) -> RewriteResult:
    """Return the rewrite that the question asks for."""
    return rewriter(asked.pretrained, asked.epsilon).rewrite(asked.text, task=task)


def data_folder() -> Path | None:
    """Return the folder in DPTEXT_DATA if it has the pre-training sentences, else None."""
    if not (given := os.environ.get(DATA_VARIABLE, "")):
        return None
    folder = usable_path(given)
    return folder if all((folder / name / "train.csv").is_file() for name in SETS) else None


def nearest_sentence(text: str, name: str, folder: Path, task: Task = UNWATCHED) -> Nearest:
    """Return the training sentence of this set nearest to ``text``, among the _CLOSE that share the most words with it.

    Rare words count more. Embedding all sentences would take a minute."""
    data = tables.source(folder / name / "train.csv", (TEXT_COLUMN, LABEL_COLUMN))
    sentences = list(dict.fromkeys(labelled_texts(data, TEXT_COLUMN, LABEL_COLUMN)[0]))
    words = [set(words_of_sentence(s).split()) for s in sentences]
    often = Counter(w for some in words for w in some)
    word_set = set(words_of_sentence(text).split())
    shared = [sum(1 / often[w] for w in word_set & some) / (1 + len(word_set | some)) for some in words]
    best = sorted(range(len(sentences)), key=lambda i: -shared[i])[:_CLOSE]
    vectors = Embeddings(task).vectors([text, *(sentences[i] for i in best)])
    near = vectors[1:] @ vectors[0]
    closest = sentences[best[int(near.argmax())]]
    return Nearest(closest, float(near.max()), words_of_sentence(closest) == words_of_sentence(text))


TEXT_COLUMN, LABEL_COLUMN = "2", "1"


def words_of_sentence(text: str) -> str:
    """Return the words of a sentence, to compare sentences word for word."""
    return " ".join(re.findall(r"\w+", text.casefold()))
