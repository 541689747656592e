"""The author attack over a user's releases: a classifier names the author of one release or of many together.

The attacker has texts of known authors and several releases of one author. A classifier gives each release a
probability of each author. These are multiplied as if releases were independent given the author, and the share of each
author among the known texts counts once. Style that a mechanism preserves accumulates over releases, so the attack
measures the privacy of a user, not of a text.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..privacy.numbers import percent
from ..result import RewriteResult
from ..support import extras
from ..support.checks import check_whole_number, one_text, pluralize, to_list
from ..support.statistics import clopper_pearson, standard_error, student

#: Number of groups per author if several texts are read together.
GROUPS = 50
#: Maximum number of letter sequences, the most frequent ones; and the inverse strength of the L2 penalty.
_SEQUENCES, _C = 20_000, 10.0
_LEAST = 1e-12

#: A release, as its text or as the result of a rewrite.
OneRelease = str | RewriteResult


class AuthorClassifier(Protocol):
    """A classifier with the interface of scikit-learn."""

    @property
    def classes_(self) -> Any:
        """Return the authors, in the order of the columns of ``predict_proba``."""

    def fit(self, texts: Sequence[str], authors: Sequence[str]) -> Any:
        """Learn from texts of known authors."""

    def predict_proba(self, texts: Sequence[str]) -> Any:
        """Return the probability of each author of each text, (texts, authors)."""


def letter_classifier() -> AuthorClassifier:
    """Return the default classifier: sequences of 2 to 5 letters and logistic regression."""
    extras.require("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    vectors = TfidfVectorizer(analyzer="char", ngram_range=(2, 5), sublinear_tf=True, max_features=_SEQUENCES)
    return make_pipeline(vectors, LogisticRegression(C=_C, max_iter=1000))


@dataclass(frozen=True)
class AuthorAttack:
    """How often the author is recognised. texts: how many of an author are read together. success, low, high: the share
    of groups whose author is recognised, with its 95% interval: over texts if they are read one by one, else over
    authors. chance: 1 / known authors. majority: the share for always naming one author. groups: how many were read,
    of how many authors. left_out: the number of texts whose author is unknown or has too few texts.
    """

    texts: int
    success: float
    low: float
    high: float
    chance: float
    majority: float
    groups: int
    authors: int
    left_out: int = 0

    def sentence(self) -> str:
        """Return the attack in plain words."""
        read = "one text" if self.texts == 1 else f"{self.texts} texts of an author"
        groups = pluralize(self.groups, "text" if self.texts == 1 else "group")
        left_out = (
            f" Left out, because their author is unknown or has too few texts: {pluralize(self.left_out, 'text')}."
            if self.left_out
            else ""
        )
        return (
            f"From {read}, the attacker recognises the author {percent(self.success)} of the time ({groups} of "
            f"{pluralize(self.authors, 'author')}; 95% CI {percent(self.low)} to {percent(self.high)}). Guessing is "
            f"right {percent(self.chance)} of the time.{left_out}"
        )


def log_probabilities(
    classifier: AuthorClassifier, known_authors: Sequence[str], releases: Sequence[str | Sequence[str]]
) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Return ln P(author | releases of a text), up to a constant, (texts, authors); the authors; and ln of their shares
    among the known texts. releases: one of each text, or several."""
    each = [[r] if isinstance(r, str) else list(r) for r in releases]
    flat = [text for some in each for text in some]
    log_p = np.log(np.maximum(np.asarray(classifier.predict_proba(flat), np.float64), _LEAST))
    authors = [str(a) for a in classifier.classes_]
    if log_p.shape != (len(flat), len(authors)):
        raise InputError(
            f"The classifier's predict_proba returns the shape {log_p.shape}. Return a row for each of "
            f"{pluralize(len(flat), 'text')}, with a probability for each of {pluralize(len(authors), 'author')}."
        )
    known = list(known_authors)
    log_prior = np.log([max(1, known.count(a)) / len(known) for a in authors])
    owners = np.repeat(np.arange(len(each)), [len(some) for some in each])
    log_posterior = np.tile(log_prior, (len(each), 1))
    np.add.at(log_posterior, owners, log_p - log_prior)
    return log_posterior, authors, log_prior


def attack_groups(
    log_p: np.ndarray,
    known: Sequence[str],
    log_prior: np.ndarray,
    authors: Sequence[str],
    texts: int = 1,
    seed: int = 0,
) -> AuthorAttack:
    """Attack groups of an author's texts.

    Parameters
    ----------
    log_p : numpy.ndarray
        ln P(author | text), (texts, known authors).
    known : sequence of str
        The authors of its columns.
    log_prior : numpy.ndarray
        ln of their shares among the known texts.
    authors : sequence of str
        The true author of each text.
    texts : int
        How many of an author are read together. With 1, each text is a group; else ``GROUPS`` groups of each author are
        sampled, of different texts.
    seed : int
        For the groups.

    Returns
    -------
    AuthorAttack

    Raises
    ------
    InputError
        No author is known, or none has enough texts.
    """
    texts = check_whole_number("texts, the number of an author's texts that are read together,", texts, least=1)
    truth = np.array(authors, object)
    column = {name: j for j, name in enumerate(known)}
    places = {a: np.flatnonzero(truth == a) for a in sorted(set(authors)) if a in column}
    if not places:
        raise InputError("None of the authors is among the known authors. Use the same names for both.")
    places = {a: at for a, at in places.items() if len(at) >= texts}
    if not places:
        raise InputError(f"No known author has {pluralize(texts, 'text')}. Set texts to a smaller number.")
    rng = np.random.default_rng(seed)
    hits = {}
    for author, at in places.items():
        groups = at[:, None] if texts == 1 else np.array([rng.permutation(at)[:texts] for _ in range(GROUPS)])
        joint = (log_p - log_prior)[groups].sum(axis=1) + log_prior
        hits[author] = joint.argmax(axis=1) == column[author]
    every = np.concatenate(list(hits.values()))
    success, largest = float(every.mean()), max(len(h) for h in hits.values())
    if texts == 1:
        low, high = clopper_pearson(float(every.sum()), len(every))
    else:
        error = standard_error([h.mean() for h in hits.values()]) or 0.0
        half = student(len(hits)) * error if len(hits) > 1 else 1.0
        low, high = max(0.0, success - half), min(1.0, success + half)
        if not error:  # equal shares show no spread
            exact = clopper_pearson(success * len(hits), len(hits))
            low, high = min(low, exact[0]), max(high, exact[1])
    left_out = len(authors) - sum(map(len, places.values()))
    chance, majority = 1 / len(known), largest / len(every)
    return AuthorAttack(texts, success, low, high, chance, majority, len(every), len(hits), left_out)


def attack_authors(
    known_texts: Sequence[OneRelease],
    known_authors: Sequence[str | int],
    releases: Sequence[OneRelease | Sequence[OneRelease]],
    authors: Sequence[str | int],
    *,
    texts: int = 1,
    classifier: AuthorClassifier | None = None,
) -> AuthorAttack:
    """Guess who wrote a user's releases.

    Parameters
    ----------
    known_texts, known_authors : sequence
        The attacker's training data: original texts, or rewrites of them by the same mechanism. An author is a name or
        a whole number; a classifier receives both as str.
    releases : sequence of str or RewriteResult, or of sequences of them
        One release of each text, or several.
    authors : sequence of str or int
        The true author of each text.
    texts : int, default 1
        How many texts of an author the attacker reads together.
    classifier : AuthorClassifier, optional
        Your own, with ``fit``, ``predict_proba`` and ``classes_`` as in scikit-learn; by default, letters and logistic
        regression.

    Returns
    -------
    AuthorAttack

    Raises
    ------
    InputError
        The lists are empty or differ in length, there are fewer than two known authors, no author has enough texts, or
        the classifier has no probabilities.
    """
    training, names = [_text(t) for t in to_list(known_texts)], _names(known_authors)
    released, truth = [_releases(r) for r in to_list(releases, "releases")], _names(authors)
    for n, other in ((len(training), len(names)), (len(released), len(truth))):
        if n != other:
            counts = f"{pluralize(n, 'text')} and {pluralize(other, 'author')}"
            raise InputError(f"Give an author for each text: got {counts}.")
    if not released or not all(released):
        raise InputError("There is no release to attack. Give at least one of each text.")
    if (n := len(set(names))) < 2:
        raise InputError(f"The known texts need two or more authors, not {n}. Add texts of another author.")
    if classifier is None and max(len(t.strip()) for t in training) < 2:
        raise InputError("The known texts are empty. Give texts with words.")
    fitted = _fit(letter_classifier() if classifier is None else classifier, training, names)
    return attack_groups(*log_probabilities(fitted, names, released), truth, texts)


def _fit(classifier: AuthorClassifier, texts: list[str], names: list[str]) -> AuthorClassifier:
    """Return the classifier after training. Raises InputError if it cannot give a probability of each author."""
    if lacking := [name for name in ("fit", "predict_proba") if not hasattr(classifier, name)]:
        raise InputError(f"The classifier has no {' and no '.join(lacking)}. Use one that returns probabilities.")
    classifier.fit(texts, names)
    if not hasattr(classifier, "classes_"):
        raise InputError(
            "The classifier has no classes_ after fit. Set it to the authors, in the order of predict_proba's columns."
        )
    return classifier


def _text(value: Any) -> str:
    return value.text if isinstance(value, RewriteResult) else one_text(value)


def _releases(value: Any) -> list[str]:
    """Return the releases of one text."""
    return [_text(value)] if isinstance(value, str | RewriteResult) else [_text(v) for v in to_list(value, "releases")]


def _names(values: Any) -> list[str]:
    """Return the author of each text as a str. Raises InputError for other values than str and whole numbers."""
    names = to_list(values, "authors")
    for name in names:
        if not isinstance(name, str | numbers.Integral):
            raise InputError(f"An author must be a str or a whole number, not {type(name).__name__}. Use str(…).")
    return [str(name) for name in names]
