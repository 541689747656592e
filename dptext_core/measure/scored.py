"""Measure the rewrites of any system: utility, and the success of attackers that need no mechanism. No ε is stated,
because the system is unknown. An attacker's success here is a lower bound for attackers who know the system.

The words of two texts are aligned position by position if both have the same number of words, else in runs of equal
length between unchanged words (difflib). Only words that are not stop words in the original count. On them:

* same word: the word is unchanged;
* nearest words: the original is the released word's nearest other word in the bundled word space;
* language model: it is the first word that the bundled masked language model proposes there, from the words around;
* reader: it is the w with the largest ln π(w) + λ·cos(w, z), π that model's proposal and z the released word (as in
  ``polish``).

On whole texts: linking, whether the original of a rewrite is the one of all originals given whose sentence vector is
nearest; and, where labels are given, classifiers (bag of words for a useful label, of letters for an author), in five
parts, each guessed by what was learnt from the other four.

    python -m dptext_core score pairs.csv --original text --private rewrite
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher

import numpy as np

from ..attacks import corpus
from ..attacks.best import strongest
from ..attacks.polish import LIKENESS
from ..detectors.rules import find_pii
from ..errors import InputError, ModelUnavailable
from ..models import MaskRequest, engine, load_masked_lm
from ..models.word_chances import log_frequencies, over_words
from ..support.checks import text_list, to_list
from ..support.statistics import clopper_pearson, half_width
from ..support.task import UNWATCHED, Task
from ..text.document import Document
from ..text.language import Language
from ..text.languages import ENGLISH
from ..text.lexicons import stop_words
from ..words import word_space
from . import judges, metrics, pii_survival
from .identifiers import Identifier, recall

#: Metrics of a text, in display order; BLEU, as in papers, is of a whole set.
METRICS = tuple(name for name in metrics.METRICS if name != "bleu")
#: Attackers on single words: see the module's docstring.
WORDS = {
    "same-word": "Same word",
    "nearest-words": "Nearest words",
    "language-model": "Language model",
    "reader": "Contextual Bayes, by similarity",
}
#: Number of folds: each is predicted by a classifier trained on the others.
PARTS = 5
#: The language of the bundled model and the stop words used here.
_LANGUAGE: Language = ENGLISH
_NOTHING = "No ε is stated: these measurements are not a guarantee."


@dataclass(frozen=True, slots=True)
class ScoredFigure:
    """One figure.

    kind: "kept" for utility, "found" for an attacker's success, or "hidden" for privacy. value, with its 95% interval
    over texts (low, high); n: number of texts. chance: the value without the rewrites, if known.
    """

    name: str
    title: str
    kind: str
    value: float
    low: float
    high: float
    n: int
    chance: float | None = None


@dataclass(frozen=True)
class Scores:
    """Measurements of pairs of texts.

    Attributes
    ----------
    rows : tuple of Scored
        One per figure.
    texts, words : int
        Numbers of texts and words measured.
    missing : mapping
        Figures that could not be measured, with the reason.
    """

    rows: tuple[ScoredFigure, ...]
    texts: int
    words: int
    missing: Mapping[str, str]

    def __contains__(self, name: object) -> bool:
        return any(row.name == name for row in self.rows)

    def __iter__(self) -> Iterator[str]:
        return (row.name for row in self.rows)

    def __getitem__(self, name: str) -> ScoredFigure:
        for row in self.rows:
            if row.name == name:
                return row
        raise InputError(f"There is no figure {name!r} here. Choose one of: {', '.join(r.name for r in self.rows)}.")

    @property
    def best(self) -> ScoredFigure | None:
        """Return the strongest attacker on single words; None if no words are aligned."""
        attackers = {r.name: r for r in self.rows if r.name in WORDS}
        return attackers[strongest({name: r.value for name, r in attackers.items()})] if attackers else None

    def sentence(self) -> str:
        """Explain the figures in plain words."""
        texts = "1 text" if self.texts == 1 else f"{self.texts:,} texts"
        words = "1 word aligned" if self.words == 1 else f"{self.words:,} words aligned"
        message = f"{texts}, {words} with the original. "
        if (best := self.best) is not None:
            message += f"Of the attackers on single words, “{best.title}” recovers the most: {best.value:.1%}. "
        return message + _NOTHING

    def to_dict(self) -> dict:
        """Return everything, for a file."""
        return {
            "texts": self.texts,
            "words": self.words,
            "epsilon": None,
            "note": _NOTHING,
            # JSON has no infinity: an unknown end is null.
            "rows": [{k: None if v in (math.inf, -math.inf) else v for k, v in asdict(r).items()} for r in self.rows],
            "missing": dict(self.missing),
        }


def score(
    originals: Sequence[str],
    rewrites: Sequence[str],
    *,
    labels: Sequence[str] | None = None,
    authors: Sequence[str] | None = None,
    identifiers: Sequence[Sequence[Identifier]] | None = None,
    task: Task | None = None,
) -> Scores:
    """Measure the rewrites of any system.

    Parameters
    ----------
    originals, rewrites
        Texts, the i-th rewrite of the i-th original.
    labels, authors
        One per text: the label that rewrites should preserve, and the label they should hide. Classifiers predict both.
    identifiers
        For each original, its identifiers (:func:`~dptext_core.measure.identifiers.read_tab`).
    task
        Receives the progress, and may cancel the work.

    Returns
    -------
    Scores
        Each figure with its 95% interval over texts. No ε.

    Raises
    ------
    InputError
        The lists have different lengths, are empty, or contain values that are not texts.
    """
    task = task or UNWATCHED
    before, after = _check_texts(originals, rewrites, "rewrites")
    labels_hidden = {
        name: _check_texts(originals, given, f"{name}s")[1]
        for name, given in (("label", labels), ("author", authors))
        if given is not None
    }
    every = None if identifiers is None else _identifiers(identifiers, len(before))
    rows: list[ScoredFigure] = []
    missing: dict[str, str] = {}
    for k, name in enumerate(METRICS):
        task.check()
        try:
            values = metrics.score(name, before, after)
        except ModelUnavailable as error:
            missing[name] = str(error)
        else:
            about = metrics.METRICS[name]
            rows += _mean(
                name, about.title, "kept", values, bounds=(about.low, about.high), log=name.endswith("perplexity")
            )
        task.report(k + 1, 2 * len(METRICS))
    shares, words, chance = _recovered_shares(before, after, task.child(1, 2, 2))
    for name, title in WORDS.items():
        rows += _mean(name, title, "found", shares[name], chance=chance)
    rows += _mean(
        "linking",
        "Linking to the original",
        "found",
        corpus.linked_share(corpus.vectors_alike(after, before)).tolist(),
        chance=1 / len(before),
    )
    survival = [_pii_share(a, b) for a, b in zip(before, after, strict=True)]
    rows += _mean("identifiers", "Names, dates and places remaining", "found", [x for x in survival if x is not None])
    if every is not None:
        for r in recall(before, after, every):
            title = f"{r.kind.capitalize()} identifiers hidden"
            rows.append(ScoredFigure(f"recall_{r.kind}", title, "hidden", r.value, r.low, r.high, r.n))
    for name, role, kind in (("label", "utility", "kept"), ("author", "privacy", "found")):
        if name in labels_hidden:
            rows += _classifier_scores(before, after, labels_hidden[name], name, role, kind)
    return Scores(tuple(rows), len(before), words, missing)


def _check_texts(originals: Sequence[str], others: Sequence[str], what: str) -> tuple[list[str], list[str]]:
    one, other = text_list(originals, "originals"), text_list(others, what)
    if len(one) != len(other) or not one:
        raise InputError(
            f"Number of originals: {len(one)}, of {what}: {len(other)}. Give as many {what} as originals, at least one."
        )
    return one, other


def _identifiers(given: Sequence[Sequence[Identifier]], n: int) -> list[list[Identifier]]:
    every = [to_list(some) for some in to_list(given, "identifiers, a list for each original")]
    if len(every) != n or not all(isinstance(i, Identifier) for some in every for i in some):
        raise InputError("Some originals have no list of identifiers. Give one for each original, empty if it has "
                         "none.")
    return every


def _mean(
    name: str,
    title: str,
    kind: str,
    values: Sequence[float],
    chance: float | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    log: bool = False,
) -> list[ScoredFigure]:
    """Return the mean over the texts that have a value, with its interval.

    The interval is exact if each text is right or wrong, and all of ``bounds`` for a single text. Shares of identical
    texts do not show how far others may differ: theirs is that of as many texts, each right or wrong. log: the
    geometric mean. Empty without a value.
    """
    x = np.array([v for v in values if math.isfinite(v)], float)
    if not len(x):
        return []
    x = np.log(x) if log else x
    mean, half = float(x.mean()), half_width(x)
    value, low, high = (math.exp(e) if log else e for e in (mean, mean - half, mean + half))
    if bounds == (0.0, 1.0) and (np.isin(x, (0.0, 1.0)).all() or (len(x) > 1 and not half)):
        low, high = clopper_pearson(float(x.sum()), len(x))
    elif len(x) == 1:
        low, high = bounds
    return [ScoredFigure(name, title, kind, value, max(low, bounds[0]), min(high, bounds[1]), len(x), chance)]


# --- single words


def align_words(original: str, rewrite: str, language: Language = ENGLISH) -> list[tuple[int, str]]:
    """Align the words of a rewrite: return the token number and the original word of each."""
    stop = stop_words(None, language)
    one = [t.text for t in Document.parse(original).tokens if t.kind == "word"]
    other = [(i, t.text) for i, t in enumerate(Document.parse(rewrite).tokens) if t.kind == "word"]
    if len(one) == len(other):
        pairs = list(zip([i for i, _ in other], one, strict=True))
    else:
        match = SequenceMatcher(None, [w.casefold() for w in one], [w.casefold() for _, w in other], autojunk=False)
        pairs = [
            (other[b + k][0], one[a + k])
            for _, a, end, b, to in match.get_opcodes()
            if end - a == to - b
            for k in range(end - a)
        ]
    return [(i, word) for i, word in pairs if word not in stop]


def _recovered_shares(
    originals: Sequence[str], rewrites: Sequence[str], task: Task
) -> tuple[dict[str, list[float]], int, float]:
    """Return each attacker's share of recovered words per text, the number of words, and the baseline.

    The baseline is the share for always guessing the most frequent word.
    """
    space, lm = word_space(), load_masked_lm("bundled")
    shares: dict[str, list[float]] = {name: [] for name in WORDS}
    words, stop = 0, stop_words(None, _LANGUAGE)
    free = np.array([w not in stop for w in space.words])
    for n, (original, rewrite) in enumerate(zip(originals, rewrites, strict=True)):
        task.check()
        places = align_words(original, rewrite)
        if places:
            words += len(places)
            tokens = [t.text for t in Document.parse(rewrite).tokens]
            hits = _hits(places, tokens, space, lm, free, task)
            for name in WORDS:
                shares[name].append(float(np.mean(hits[name])))
        task.report(n + 1, len(originals))
    frequent = np.exp(log_frequencies(tuple(space.words))) * free
    return shares, words, float(frequent.max() / frequent.sum())


def named_words(originals: Sequence[str], rewrites: Sequence[str], task: Task = UNWATCHED) -> dict[str, list[float]]:
    """Return the share of each original's words, without stop words, that each of ``WORDS`` recovers.

    Words without an aligned word in the rewrite are not recovered.
    """
    stop = stop_words()
    words = [sum(t.kind == "word" and t.text not in stop for t in Document.parse(a).tokens) for a in originals]
    answered = [len(align_words(a, b)) for a, b in zip(originals, rewrites, strict=True)]
    by_attacker, _, _ = _recovered_shares(originals, rewrites, task)
    of_each = {}
    for name, shares in by_attacker.items():
        each = iter(shares)
        of_each[name] = [next(each) * n / of if n else 0.0 for n, of in zip(answered, words, strict=True)]
    return of_each


def most_named(originals: Sequence[str], rewrites: Sequence[str], task: Task = UNWATCHED) -> list[float]:
    """Return the shares of the attacker that recovers the most over all texts together."""
    return max(named_words(originals, rewrites, task).values(), key=sum)


def _hits(places, tokens: Sequence[str], space, lm, free: np.ndarray, task: Task) -> dict[str, list[bool]]:
    """Return for each attacker whether it recovers the original at each place of one text."""
    pieces = [lm.word_pieces(t) for t in tokens]
    logits = engine("bundled").score([MaskRequest(None, pieces, i) for i, _ in places], task=task.quiet)
    proposed = np.where(free, over_words(logits, "bundled", _LANGUAGE, tuple(space.words)), -np.inf)
    rows = space.rows([tokens[i] for i, _ in places])
    hits: dict[str, list[bool]] = {name: [] for name in WORDS}
    for (i, word), log_p, row in zip(places, proposed, rows.tolist(), strict=True):
        guesses = {"same-word": tokens[i], "language-model": space.words[int(log_p.argmax())]}
        if row >= 0:
            likeness = space.similarities(space.words[row]).astype(np.float64)
            guesses["reader"] = space.words[int((log_p + LIKENESS * likeness).argmax())]
            guesses["nearest-words"] = space.words[int(space.nearest([row], 2)[0][0, 1])]
        else:
            guesses["reader"] = guesses["nearest-words"] = tokens[i]
        for name, guess in guesses.items():
            hits[name].append(guess.casefold() == word.casefold())
    return hits


# --- whole texts


def _pii_share(original: str, rewrite: str) -> float | None:
    """Return the share of flagged names, dates, places and numbers of the original that remain in the rewrite.

    A name or place remains if one of its words does. None if the original has none.
    """
    pii = {t.text.casefold() for t in find_pii(original)}
    return len({t.text.casefold() for t in pii_survival.find_survivors(original, rewrite)}) / len(pii) if pii else None


def _classifier_scores(
    originals: Sequence[str], rewrites: Sequence[str], labels: Sequence[str], name: str, role: str, kind: str
) -> list[ScoredFigure]:
    """Measure how often held-out rewrites get their label, by a classifier of originals and by one of rewrites."""
    part = np.arange(len(labels)) % PARTS
    most = max(labels.count(x) for x in set(labels)) / len(labels)
    out = []
    for how, title, learnt in (("static", "originals", originals), ("adaptive", "rewrites", rewrites)):
        right = np.zeros(len(labels))
        for k in range(PARTS):
            train, test = np.flatnonzero(part != k).tolist(), np.flatnonzero(part == k).tolist()
            if train and test:
                guessed = judges.classify(
                    role, [(learnt[i],) for i in train], [labels[i] for i in train], [(rewrites[i],) for i in test]
                )
                right[test] = [g == labels[i] for g, i in zip(guessed, test, strict=True)]
        out += _mean(f"{name}_{how}", f"{name.capitalize()} recognised, trained on "
                                      f"{title}", kind, right.tolist(), chance=most)
    return out
