"""Attacks on a whole corpus: each text was rewritten once, and the attacker has all rewrites.

* :class:`LinkageAttacker` also has a list of all originals (because they were published elsewhere), and links each
  rewrite to its original. Three scores rate every rewrite and original: the cosine of their sentence vectors, their
  common words, and ln P(rewrite | original) if the mechanism has a formula for it. Each rewrite alone is linked to the
  original with the largest score. All of them together are matched one to one with the largest sum (Kuhn 1955, as in
  SciPy), because no two belong to the same text.
* :class:`StrongestTextAttacker`: the strongest attacker on single words over the texts.

Identical texts are indistinguishable: they count once, by their first rewrite. The interval assumes independent links,
which is only approximately true for a matching, and is corrected for the choice among all scores (Bonferroni).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import InputError, NoDistribution
from ..mechanisms.base import Mechanism
from ..mechanisms.likelihood import require_likelihood
from ..privacy.numbers import percent
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support import extras
from ..support.private import Private
from ..support.statistics import clopper_pearson
from ..support.task import UNWATCHED, Task
from . import best
from .base import Attacker, AttackFinding, as_rewrites, register
from .text_classifiers import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The scores with their titles, the simplest first.
LINK_SCORES = {"words": "Words in common", "vectors": "Sentence vectors", "chances": "The mechanism's probabilities"}
#: Maximum number of texts of a corpus; and for likelihoods, which are computed for each rewrite under each text.
MOST, MOST_CHANCES = 2000, 100
#: Smaller differences are a tie.
_TIE = 1e-6


@dataclass(frozen=True)
class LinkageResult(Private):
    """How many rewrites are linked to their originals. texts: number of distinct originals. name: the best score, one
    of ``LINK_SCORES``. is_one_to_one: whether it matches one to one. success: its share. low, high: the corrected 95%
    interval. chance: of one guess. shares, one_to_one_shares: the share for each score, rewrite by rewrite and one to
    one. omissions: why others are missing."""

    texts: int
    name: str
    is_one_to_one: bool
    success: float
    low: float
    high: float
    chance: float
    shares: Mapping[str, float]
    one_to_one_shares: Mapping[str, float]
    omissions: Mapping[str, str]

    _shown: ClassVar[tuple[str, ...]] = ("texts", "name", "is_one_to_one", "success", "low", "high", "chance")

    def rows(self) -> list[tuple[str, str, str]]:
        """Return for each score its title, and the shares linked rewrite by rewrite and one to one."""
        return [
            (
                LINK_SCORES[name],
                f"{percent(share)} rewrite by rewrite",
                f"{percent(self.one_to_one_shares[name])} one to one",
            )
            for name, share in self.shares.items()
        ]

    def sentence(self) -> str:
        """Describe the best linkage, in plain words."""
        how = ", matched one to one" if self.is_one_to_one else ""
        message = (
            f"An attacker who has all {self.texts:,} texts links {percent(self.success)} of their rewrites by "
            f"“{LINK_SCORES[self.name]}”{how} (95% interval, corrected for the choice: {percent(self.low)} to "
            f"{percent(self.high)}). A random guess is right {percent(self.chance)} of the time."
        )
        return " ".join(
            [message, *(f"“{LINK_SCORES[name]}” was not used: {why}" for name, why in self.omissions.items())]
        )


class CorpusAttacker(Attacker):
    """Attacks a rewrite of each of several texts. takes: as for a :class:`TextAttacker`."""

    scope = "corpus"
    takes: ClassVar[tuple[str, ...]] = ()

    def check(self, mechanism: Mechanism) -> None:
        """Accept every mechanism."""

    @abstractmethod
    def attack(
        self, mechanism: Mechanism, results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> AttackFinding:
        """Attack the rewrites. results: one rewrite of each text, by the mechanism."""


def attack(
    mechanism: Mechanism, results: Sequence[RewriteResult], *, seed: int | None = None, task: Task = UNWATCHED
) -> LinkageResult:
    """Link every rewrite to one of the originals.

    Parameters
    ----------
    mechanism
        The mechanism of the rewrites, with its options and its ε.
    results
        A rewrite of each text. Identical texts count once.
    seed
        Makes the tie-breaking of a matching repeatable.
    task
        Receives the progress, and may cancel the work.

    Raises
    ------
    InputError
        There are fewer than two distinct texts, or more than ``MOST``.
    ModelUnavailable
        The sentence encoder is missing.
    """
    results = as_rewrites(results)
    first_results = {r.original: r for r in reversed(results)}
    texts = list(dict.fromkeys(r.original for r in results))
    if len(texts) < 2:
        raise InputError("One text leaves nothing to link. Give at least two different texts, one per line.")
    if len(texts) > MOST:
        raise InputError(f"There are {len(texts):,} texts. Give at most {MOST:,}.")
    likeness, left_out = link_scores(mechanism, [first_results[t] for t in texts], task=task)
    # The order of the texts would reveal the links, which an attacker does not know.
    order = np.argsort(NoiseStream(seed).uniforms(len(texts)))
    alone = {name: linked_share(table) for name, table in likeness.items()}
    matched = {name: linked_one_to_one(table, order) for name, table in likeness.items()}
    n, each = len(texts), 1 - 0.05 / (2 * len(likeness))
    ends = [clopper_pearson(float(x.sum()), n, each) for x in (*alone.values(), *matched.values())]
    shares = {(name, False): float(x.mean()) for name, x in alone.items()}
    shares |= {(name, True): float(x.mean()) for name, x in matched.items()}
    name, together = max(shares, key=shares.__getitem__)
    low, high = np.max(ends, axis=0).tolist()
    return LinkageResult(
        texts=n,
        name=name,
        is_one_to_one=together,
        success=shares[name, together],
        low=low,
        high=high,
        chance=1 / n,
        shares={k: shares[k, False] for k in alone},
        one_to_one_shares={k: shares[k, True] for k in matched},
        omissions=left_out,
    )


def link_scores(
    mechanism: Mechanism, results: Sequence[RewriteResult], *, task: Task = UNWATCHED
) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """Return the table (rewrite, original) of each score, larger for more similar pairs; and why others are missing."""
    texts, released = [r.original for r in results], [r.text for r in results]
    scores = {"words": in_common(released, texts), "vectors": vectors_alike(released, texts)}
    task.check()
    left_out: dict[str, str] = {}
    if len(texts) > MOST_CHANCES:
        left_out["chances"] = f"it supports at most {MOST_CHANCES} texts, and there are {len(texts):,}."
    else:
        try:
            chances = require_likelihood(mechanism)
        except NoDistribution as reason:
            left_out["chances"] = str(reason)
        else:
            prepared = [mechanism.prepare(t, task=task.quiet) for t in texts]
            scores["chances"] = chances.log(prepared, results, task=task).T
    return scores, left_out


def linked_share(likeness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each rewrite whether its own original is the most similar; 1/m in a tie of m. likeness: (n, n)."""
    own_likeness = np.diagonal(likeness)[:, None]
    ahead, tied = (likeness > own_likeness + _TIE).any(axis=1), (np.abs(likeness - own_likeness) <= _TIE).sum(axis=1)
    return np.where(ahead, 0.0, 1 / tied)


def linked_one_to_one(likeness: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the same for a one-to-one matching with the largest total similarity. order: a permutation of the
    originals that breaks ties."""
    from scipy.optimize import linear_sum_assignment

    table = likeness[:, order]
    finite = table[np.isfinite(table)]
    # An excluded pair costs more than all others together can gain.
    never = finite.min() - 1 - len(table) * (finite.max() - finite.min())
    rows, columns = linear_sum_assignment(np.where(np.isfinite(table), table, never), maximize=True)
    return (order[columns] == rows).astype(np.float64)


def in_common(released: Sequence[str], texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the similarity of rewrites and texts, (rewrites, texts): the cosine of TF-IDF of words and word pairs."""
    extras.require("sklearn")

    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(analyzer=lambda text: words(text.lower()), sublinear_tf=True).fit(texts)
    return (vectors.transform(released) @ vectors.transform(texts).T).toarray()


def vectors_alike(released: Sequence[str], texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the cosine of sentence vectors, (rewrites, texts). Raises ModelUnavailable."""
    from ..models.sentence_encoder import embed

    return (embed(released) @ embed(texts).T).astype(np.float64)


@register
class LinkageAttacker(CorpusAttacker):
    """Links rewrites to their originals."""

    name = "linking"
    title = "Linking"
    question = "Can an attacker with a list of all texts link rewrites to them?"
    needs: ClassVar[tuple[str, ...]] = ("sentence encoder",)

    def attack(
        self, mechanism: Mechanism, results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> LinkageResult:
        return attack(mechanism, results, task=task or UNWATCHED)


@register
class StrongestTextAttacker(CorpusAttacker):
    """The strongest attacker on single words, over texts."""

    name = "best-of-texts"
    title = "Strongest attacker over texts"
    question = "Which attacker on single words recovers the most in these texts, and how much?"
    needs: ClassVar[tuple[str, ...]] = ("masked language model",)

    def check(self, mechanism: Mechanism) -> None:
        best.StrongestAttacker().check(mechanism)

    def attack(
        self, mechanism: Mechanism, results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> best.StrongestAttack:
        return best.over_texts(mechanism, results, task=task or UNWATCHED)
