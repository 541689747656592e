"""Classifiers that distinguish two groups of rewrites by words, form or meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support import extras

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Return words and marks as written, and pairs of them."""
    one = _WORD.findall(text)
    return [*one, *(f"{a} {b}" for a, b in pairwise(one))]


def form(text: str) -> list[float]:
    """Return counts that ignore which words occur: characters, words, capitals, marks, blanks, lines, and blanks at the
    end."""
    return [
        len(text),
        len(text.split()),
        sum(c.isupper() for c in text),
        sum(not c.isalnum() and not c.isspace() for c in text),
        sum(c.isspace() for c in text),
        text.count("\n"),
        len(text) - len(text.rstrip()),
    ]


def _train_and_score(features: Any, labels: NDArray[np.int64], others: Any) -> NDArray[np.float64]:
    """Return scores of ``others`` by logistic regression, larger for label 1."""
    extras.require("sklearn")
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000)
    return np.asarray(model.fit(features, labels).decision_function(others), np.float64)


def _by_words(train: Sequence[str], labels: NDArray[np.int64], test: Sequence[str]) -> NDArray[np.float64]:
    extras.require("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not any(words(t) for t in train):
        return np.zeros(len(test))
    vectors = TfidfVectorizer(analyzer=words, sublinear_tf=True)
    return _train_and_score(vectors.fit_transform(train), labels, vectors.transform(test))


def _by_form(train: Sequence[str], labels: NDArray[np.int64], test: Sequence[str]) -> NDArray[np.float64]:
    one, other = (np.array([form(t) for t in texts], float) for texts in (train, test))
    mean, spread = one.mean(axis=0), one.std(axis=0)
    spread[spread == 0] = 1.0
    return _train_and_score((one - mean) / spread, labels, (other - mean) / spread)


def _by_meaning(train: Sequence[str], labels: NDArray[np.int64], test: Sequence[str]) -> NDArray[np.float64]:
    return _train_and_score(np.stack(train), labels, np.stack(test))


#: Classifier scores of rewrites, larger for the first text: name → title and function.
CLASSIFIERS: Mapping[str, tuple[str, Callable[..., NDArray[np.float64]] | None]] = {
    "words": ("bag of words", _by_words),
    "form": ("counts of characters", _by_form),
    "meaning": ("sentence vectors", _by_meaning),
    "likelihood": ("the mechanism's probabilities", None),
}
