"""Classifiers without a language model: bags of words for a text's label, bags of letters for its author.

all-MiniLM-L6-v2 is at once the features of the first classifier, a word space and the trunk of the bundled model, so it
judges its own family. These classifiers share nothing with it: TF-IDF of words and word pairs for utility, of sequences
of 2 to 5 letters for the author, and logistic regression. They ignore case, which the rewriter sets by rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import InputError
from ..support import extras
from ..support.checks import pluralize

#: Inverse strength of the L2 penalty, the same for all tasks: rows have length 1, so less penalty than sklearn's
#: default.
C = 10.0
#: Texts of one or two parts each, as (n, parts) of str.
Texts = Any
_WORD = re.compile(r"\w+|[^\w\s]")
#: Maximum number of letter sequences, the most frequent ones.
_SEQUENCES = 20_000


def words(text: str) -> list[str]:
    """Return words and marks, and the pairs of them."""
    one = _WORD.findall(text.lower())
    return [*one, *map(" ".join, pairwise(one))]


def letters(text: str) -> list[str]:
    """Return sequences of 2 to 5 characters; several blanks count as one."""
    plain = f" {' '.join(text.lower().split())} "
    return [plain[i : i + n] for n in range(2, 6) for i in range(len(plain) - n + 1)]


def classify(role: str, train: Texts, train_y: Sequence[str], test: Texts) -> list[str]:
    """Predict the labels of ``test`` for a task of this role: by words for "utility", by letters for "privacy".

    For two parts u and v the features are those of ``tasks.features``. The same input gives the same labels.
    """
    extras.require("sklearn")

    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    if len(train) != len(train_y) or not len(train_y):
        numbers = f"{pluralize(len(train), 'text')} and {pluralize(len(train_y), 'label')}"
        raise InputError(f"Training needs a label for each text: got {numbers}.")
    if len(set(train_y)) == 1 or not any(words(part) for text in train for part in text):
        return [max(sorted(set(train_y)), key=list(train_y).count)] * len(test)
    if not len(test):
        return []
    read: Callable[[str], list[str]] = words if role == "utility" else letters
    most = None if role == "utility" else _SEQUENCES
    vectors = TfidfVectorizer(analyzer=read, sublinear_tf=True, max_features=most)
    vectors.fit(part for text in train for part in text)

    def features(texts: Texts) -> Any:
        parts = [vectors.transform(column) for column in zip(*texts, strict=True)]
        if len(parts) == 1:
            return parts[0]
        u, v = parts
        return sparse.hstack([u, v, abs(u - v), u.multiply(v)], format="csr")

    model = LogisticRegression(C=C, solver="lbfgs", max_iter=1000)
    model.fit(features(train), np.asarray(train_y, dtype=object))
    return [str(label) for label in model.predict(features(test))]
