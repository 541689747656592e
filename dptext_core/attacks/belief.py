"""What a reader can infer about one fact of a text: the posterior over public alternatives, given a release.

The reader knows the mechanism, its ε and every other word of the text, holds a prior over the alternatives, and sees
the release. The posterior q_j ∝ π_j · P(release | text with alternative j) is exact where the mechanism states that
probability, so no reader with the same knowledge does better. Where the guarantee bounds the log-ratio between the
texts with alternatives i and j by ℓ(i, j), q_j is at most π_j / Σ_i π_i·e^−ℓ(i, j): the ceiling.

The definition and the ceiling are those of a Bayesian reader with full side information, as in the "informed adversary"
of differential privacy. The estimate of the expected success samples alternatives in proportion to the prior and
averages max_j q_j, which varies less than counting hits.

One pass of a model for each alternative serves every ε: :class:`BeliefQuestion` holds them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import ConfigError, InputError
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.configured import require_epsilon
from ..mechanisms.likelihood import Frame, require_likelihood
from ..privacy.numbers import percent
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult, Sweep
from ..support.checks import check_whole_number, real, to_list
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from ..text.document import Document
from .alternatives import suggest_alternatives
from .base import as_rewrites, check_maker
from .expected_belief import ExpectedSuccess, _log_likelihood, _posterior, expected_success
from .which_text import guaranteed_losses

#: Alternatives at most, the original among them: each is read by the mechanism.
MOST = 100


@dataclass(frozen=True, eq=False)
class Belief(Private):
    """What the optimal reader believes about one fact.

    Attributes
    ----------
    alternatives : tuple of str
        What may stand in the place of the fact, the original first; k of them.
    prior : ndarray
        float64 (k,), what the reader believes before reading.
    posterior : ndarray
        float64 (k,) given the release; with a list of ε (m, k), one row each.
    ceiling : ndarray
        float64, the shape of ``posterior``: the largest posterior of each alternative that the guarantee allows.
    is_covered : ndarray
        bool, the shape of ``posterior``: whether the guarantee compares the alternative with the original; False for
        all where there is no guarantee.
    epsilons : tuple of float or None
        The ε of each row.
    releases : tuple
        What the reader saw: for each row a tuple of RewriteResult. With a list of ε they share their noise, so at most
        one row may be released.
    expected_success : Expected, tuple of Expected or None
        The reader's success before the release; one for each row; None where it was not asked for.
    """

    alternatives: tuple[str, ...]
    prior: np.ndarray
    posterior: np.ndarray
    ceiling: np.ndarray
    is_covered: np.ndarray
    epsilons: tuple[float, ...] | None
    releases: tuple[tuple[RewriteResult, ...], ...]
    expected_success: ExpectedSuccess | tuple[ExpectedSuccess, ...] | None = None

    _shown: ClassVar[tuple[str, ...]] = ("alternatives", "epsilons")

    @property
    def certainty(self) -> np.ndarray:
        """The posterior of the reader's guess; one value for each ε, else a single one."""
        return self.posterior.max(axis=-1)

    @property
    def guess(self) -> np.ndarray:
        """The place of the reader's guess among the alternatives; of a tie, the last, so never the original by luck."""
        k = len(self.alternatives)
        return k - 1 - self.posterior[..., ::-1].argmax(axis=-1)

    def sentence(self) -> str:
        """Return the belief in plain words; with a list of ε, one line for each."""
        rows, ceilings, covered = map(np.atleast_2d, (self.posterior, self.ceiling, self.is_covered))
        lines = []
        for i, row in enumerate(rows):
            at = "" if self.epsilons is None else f"ε = {self.epsilons[i]:g}: "
            best = int(np.atleast_1d(self.guess)[i])
            wrong = "" if best == 0 else ", which is wrong"
            message = (
                f"{at}A reader who knows everything else is {percent(float(row[best]))} sure: "
                f"“{self.alternatives[best]}”{wrong} ({percent(float(self.prior[best]))} before)."
            )
            if not covered[i].any():
                lines.append(f"{message} There is no guarantee that limits this.")
                continue
            if covered[i][best]:
                message += f" The guarantee allows at most {percent(float(ceilings[i][best]))}."
            if missing := [a for a, c in zip(self.alternatives, covered[i], strict=True) if not c]:
                quoted = ", ".join(f"“{a}”" for a in missing)
                message += f" The guarantee does not cover {quoted}."
            lines.append(message)
        return "\n".join(lines)

    def rows(self) -> list[tuple[str, ...]]:
        """Return a table for reading: each alternative with its prior, its posterior at every ε, and the ceiling."""
        posterior, ceiling, covered = map(np.atleast_2d, (self.posterior, self.ceiling, self.is_covered))
        limits = np.where(covered, ceiling, math.nan)
        return [
            (
                word,
                percent(float(self.prior[j])),
                *(percent(float(p)) for p in posterior[:, j]),
                *("no guarantee" if math.isnan(c) else percent(float(c)) for c in limits[:, j]),
            )
            for j, word in enumerate(self.alternatives)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON. It states the private fact: for the owner's eyes only."""
        expected = (
            (self.expected_success,) if isinstance(self.expected_success, ExpectedSuccess) else self.expected_success
        )
        return {
            "alternatives": list(self.alternatives),
            "prior": self.prior.tolist(),
            "posterior": self.posterior.tolist(),
            "ceiling": self.ceiling.tolist(),
            "covered": self.is_covered.tolist(),
            "epsilons": None if self.epsilons is None else list(self.epsilons),
            "expected": None if expected is None else [dataclasses.asdict(e) for e in expected],
            "releases": [[r.text for r in row] for row in self.releases],
        }


def belief(
    mechanism: Mechanism,
    text: str | Prepared,
    fact: str | tuple[int, int],
    alternatives: Sequence[str] | None = None,
    result: RewriteResult | Sequence[RewriteResult] | Sweep | None = None,
    epsilons: Sequence[float] | None = None,
    *,
    prior: Sequence[float] | None = None,
    draws: int | None = None,
    seed: int | None = None,
    task: Task | None = None,
) -> Belief:
    """Return what the optimal reader of a release believes about one fact of the text.

    Parameters
    ----------
    mechanism : Mechanism
        Must state how likely whole rewrites are: vector-noise and latent mechanisms do not.
    text : str or Prepared
        The original text.
    fact : str or (int, int)
        A word, or several, wherever they stand in the text; or the span of one place.
    alternatives : sequence of str, optional
        What else the reader considers possible, without the original. Without it,
        :func:`~dptext_core.attacks.alternatives.suggest_alternatives` chooses.
    result : RewriteResult, sequence of RewriteResult or Sweep, optional
        What the reader sees: one release, several of the same text together, or a sweep (one row for each ε). Without
        it, a fresh rewrite; with ``epsilons``, one for each ε with the same noise.
    epsilons : sequence of float, optional
        One row for each. A given release is then weighed as if it had been made at each ε.
    prior : sequence of float, optional
        What the reader believes before reading: k weights, the original's first. Default: uniform.
    draws : int, optional
        Releases that estimate the expected success. Default: enumeration where one sampled place decides, else 64
        releases for a single ε where that takes no pass of a model, and otherwise no estimate. 0: none.
    seed : int, optional
        Repeats the fresh releases and the estimate.
    task : Task, optional
        Receives the progress, and may cancel the work.

    Returns
    -------
    Belief

    Raises
    ------
    InputError
        The fact is not in the text, there is no alternative, or none of them can have produced the release.
    NoDistribution
        The mechanism has no formula for whole rewrites, with the reason.
    ConfigError
        An ε, the prior or the number of draws is out of range, or the mechanism has no ε.
    """
    task = task or UNWATCHED
    require_likelihood(mechanism)
    if epsilons is not None:
        require_epsilon(mechanism)
    epsilons = _own_epsilons(result, epsilons)
    question = BeliefQuestion.make(mechanism, text, fact, alternatives, prior=prior, task=task.child(0, 0.6))
    variants = [mechanism] if epsilons is None else [mechanism.replace(epsilon=e) for e in _listed_epsilons(epsilons)]
    stream = NoiseStream(seed)
    releases = _releases(mechanism, variants, question, result, epsilons is not None, stream)
    found = question.answer(releases[0], task=task) if epsilons is None else question.answer_each(releases, task=task)
    expected = expected_success(variants, question, draws, epsilons is not None, stream, task.child(0.6, 1))
    return dataclasses.replace(
        found, expected_success=expected if expected is None or epsilons is not None else expected[0]
    )


@dataclass(frozen=True, eq=False)
class BeliefQuestion(Private):
    """One fact of a text and its alternatives, prepared once: then no release and no ε needs another model pass.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism that the reader knows, at some ε.
    alternatives : tuple of str
        What may stand in the place of the fact, the original first; k of them.
    prior : ndarray
        float64 (k,), what the reader believes before reading.
    prepared : tuple of Prepared
        The text with each alternative.
    frames : tuple of Frame
        What every rewrite of each text shows, the same at every ε.
    """

    mechanism: Mechanism
    alternatives: tuple[str, ...]
    prior: np.ndarray
    prepared: tuple[Prepared, ...]
    frames: tuple[Frame, ...]

    _shown: ClassVar[tuple[str, ...]] = ("alternatives",)

    @classmethod
    def make(
        cls,
        mechanism: Mechanism,
        text: str | Prepared,
        fact: str | tuple[int, int],
        alternatives: Sequence[str] | None = None,
        *,
        prior: Sequence[float] | None = None,
        task: Task | None = None,
    ) -> BeliefQuestion:
        """Prepare the text with each alternative: one model pass for each. Parameters and errors as in :func:`belief`.

        Raises
        ------
        InputError
            The fact is not in the text, or there is no alternative.
        NoDistribution
            The mechanism has no formula for whole rewrites, with the reason.
        ConfigError
            The prior is out of range.
        """
        task, chances = task or UNWATCHED, require_likelihood(mechanism)
        original = text.text if isinstance(text, Prepared) else text
        document = mechanism.document(original)
        spans = fact_spans(document, fact)
        word = original[slice(*spans[0])]
        labels = (word, *_other_words(word, mechanism, alternatives))
        weights = _prior(prior, len(labels))
        prepared = [mechanism.prepared(text, task.child(0, 1, len(labels)))]
        for i, other in enumerate(labels[1:], 1):
            share = task.child(i, i + 1, len(labels))
            prepared.append(mechanism.prepare(_exchange(document, spans, other), task=share))
        return cls(mechanism, labels, weights, tuple(prepared), tuple(chances.frames(prepared)))

    @classmethod
    def of_texts(cls, mechanism: Mechanism, texts: Sequence[str], *, task: Task | None = None) -> BeliefQuestion:
        """Prepare whole texts, the original first, each as likely before.

        Raises
        ------
        InputError
            There are fewer than two texts, or too many.
        NoDistribution
            The mechanism has no formula for whole rewrites, with the reason.
        """
        task, likelihood = task or UNWATCHED, require_likelihood(mechanism)
        if not 2 <= len(texts) <= MOST:
            raise InputError(f"The number of texts must be 2 to {MOST}, not {len(texts)}. Put the original first.")
        n = len(texts)
        prepared = tuple(mechanism.prepare(text, task=task.child(i, i + 1, n)) for i, text in enumerate(texts))
        return cls(mechanism, tuple(texts), _prior(None, n), prepared, tuple(likelihood.frames(prepared)))

    def answer(self, seen: RewriteResult | Sequence[RewriteResult], *, task: Task | None = None) -> Belief:
        """Return what the reader believes after one release, or several with one ε together."""
        row = tuple(as_rewrites(seen))
        return Belief(self.alternatives, self.prior, *self._row(row, task or UNWATCHED), None, (row,))

    def answer_each(
        self, rows: Sequence[RewriteResult | Sequence[RewriteResult]], *, task: Task | None = None
    ) -> Belief:
        """Return the same for each row, whatever its ε: a :class:`Belief` with one row for each."""
        seen = tuple(tuple(as_rewrites(row)) for row in rows)
        if not seen:
            raise InputError("There is no rewrite. Give at least one.")
        found = [self._row(row, task or UNWATCHED) for row in seen]
        posterior, ceiling, covered = (np.stack([row[i] for row in found]) for i in range(3))
        epsilons = tuple(float(row[0].config.epsilon) for row in seen)
        return Belief(self.alternatives, self.prior, posterior, ceiling, covered, epsilons, seen)

    def _row(self, seen: tuple[RewriteResult, ...], task: Task) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Posterior, ceiling and whether the guarantee covers each alternative, each (k,)."""
        task.check()
        if not seen:
            raise InputError("There is no rewrite. Give at least one.")
        m, config = self.mechanism, seen[0].config
        v = m if config == m.config else m.replace(epsilon=config.epsilon)
        posterior = _posterior(_log_likelihood(v, self, seen, task).sum(axis=1), self.prior)
        promises = [v.guarantee(p) for p in self.prepared]
        losses = guaranteed_losses(v, self.prepared, promises) * len(seen)
        # A δ allows any posterior, with a small probability.
        exact = not any(g.total_delta for g in promises)
        ceiling = np.minimum(_ceiling(losses, self.prior), 1.0) if exact else np.ones(len(self.prior))
        return posterior, ceiling, np.isfinite(losses[0]) & (promises[0].notion != "none")


# --- the texts that it could have been


def _other_words(word: str, mechanism: Mechanism, alternatives: Sequence[str] | None) -> list[str]:
    """Return the alternatives without the original and without repetitions. Raises InputError where there is none."""
    given = suggest_alternatives(word, mechanism) if alternatives is None else to_list(alternatives, "alternatives")
    others = [a.strip() for a in given if isinstance(a, str)]
    if len(others) != len(given) or not all(others):
        raise InputError("Each alternative must be one or more words. Remove all other entries.")
    distinct = {a.casefold(): a for a in reversed(others) if a.casefold() != word.casefold()}
    if not distinct:
        raise InputError(f"There is no alternative to “{word}”. Name at least one, such as a similar word.")
    if len(distinct) >= MOST:
        raise InputError(f"There are {len(distinct):,} alternatives. Give at most {MOST - 1}.")
    return list(reversed(distinct.values()))


def _own_epsilons(result: Any, epsilons: Sequence[float] | None) -> Sequence[float] | None:
    """Return the ε of a sweep, else those given. Raise ConfigError for both."""
    if not isinstance(result, Sweep):
        return epsilons
    if epsilons is not None:
        raise ConfigError("A sweep already has an ε for each result. Omit epsilons.")
    return result.epsilons


def fact_spans(document: Document, fact: str | tuple[int, int]) -> list[tuple[int, int]]:
    """Return where a fact stands in a text: every run of tokens that reads like it, case aside, or the given span.

    Raises InputError where it is not there.
    """
    if not isinstance(fact, str):
        try:
            start, end = (check_whole_number("an offset of the span", at, least=0) for at in fact)
        except (TypeError, ValueError) as error:
            raise InputError("The fact must be a word of the text, or its span as two whole numbers.") from error
        if not start < end <= len(document.text) or not document.text[start:end].strip():
            raise InputError(f"There is no word at {start} to {end} in this text. Give the span of a word.")
        return [(start, end)]
    wanted = [w.casefold() for w in Document.parse(fact.strip(), document.language).words]
    words, n = [w.casefold() for w in document.words], len(wanted)
    spans: list[tuple[int, int]] = []
    for i in range(len(words) - n + 1 if n else 0):
        start, end = document.starts[i], document.ends[i + n - 1]
        if words[i : i + n] == wanted and (not spans or start >= spans[-1][1]):
            spans.append((start, end))
    if not spans:
        raise InputError("The text does not contain this fact as whole words. Copy a word from the text.")
    return spans


def _exchange(document: Document, spans: Sequence[tuple[int, int]], other: str) -> str:
    out, at = [], 0
    for start, end in spans:
        out += [document.text[at:start], document.language.case(other, document.text[start].isupper())]
        at = end
    return "".join([*out, document.text[at:]])


# --- the numbers


def _prior(prior: Sequence[float] | None, k: int) -> np.ndarray:
    if prior is None:
        return np.full(k, 1 / k)
    weights = np.array([real("a weight of the prior", w) for w in to_list(prior, "weights")])
    if len(weights) != k or (weights < 0).any() or not 0 < weights.sum() < math.inf:
        raise ConfigError(f"The prior needs {k} weights of at least 0, not all 0. Put the original's weight first.")
    return weights / weights.sum()


def _ceiling(losses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return π_j / Σ_i π_i·e^−ℓ(i, j), float64 (k,); 0 for an alternative that the prior excludes."""
    return weights / (weights[:, None] * np.exp(-losses)).sum(axis=0)


def _listed_epsilons(epsilons: Sequence[float]) -> list[float]:
    values = to_list(epsilons, "values of ε")
    if not values:
        raise ConfigError("epsilons must be a list of numbers. Give at least one ε.")
    return [real("ε", e) for e in values]


def _releases(
    mechanism: Mechanism,
    variants: Sequence[Mechanism],
    question: BeliefQuestion,
    result: RewriteResult | Sequence[RewriteResult] | Sweep | None,
    many: bool,
    stream: NoiseStream,
) -> list[tuple[RewriteResult, ...]]:
    """Return what the attacker sees at each ε, under the options of that ε."""
    original = question.prepared[0]
    if isinstance(result, Sweep):
        for r in result.results:
            check_maker(mechanism, r, at_any_epsilon=True)
        return [(r,) for r in result.results]
    if result is None:
        return [(v.rewrite(original, stream=stream),) for v in variants]
    seen = as_rewrites(result)
    if not seen:
        raise InputError("There is no rewrite. Give at least one.")
    for r in seen:
        check_maker(mechanism, r, at_any_epsilon=many)
    return [tuple(dataclasses.replace(r, config=v.config) for r in seen) for v in variants]
