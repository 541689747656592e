"""Optional capabilities of a mechanism, each a small object or None.

A facet belongs to one mechanism. A family of mechanisms derives its own facet and overrides what it knows better.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..errors import ConfigError, NoDistribution
from ..support.task import UNWATCHED, Task

if TYPE_CHECKING:
    import numpy as np

    from ..privacy.distribution import Channel
    from ..privacy.guarantee import Guarantee
    from ..text.document import Document
    from ..words import WordSpace
    from .base import Mechanism
    from .preparing import Prepared

M = TypeVar("M", bound="Mechanism", covariant=True)


class Facet(Generic[M]):
    """One capability of one mechanism."""

    __slots__ = ("m",)

    def __init__(self, m: M):
        self.m = m


class Alignment(Facet[M]):
    """The replaced words of a text: released words correspond to original words."""

    def sampled_tokens(self, text: str | Prepared) -> tuple[int, ...]:
        """Return the tokens whose replacement depends on them, ascending. Runs a model only if necessary."""
        steps = self.m.rewrite(self.m.plan(text)).steps
        return tuple(sorted({s.index for s in steps if s.depends_on_original}))

    def spending(self, text: str | Prepared) -> tuple[int, ...]:
        """Return those of them that spend ε: one sample may serve several occurrences of a word."""
        return self.sampled_tokens(text)

    @property
    def insertion_probability(self) -> float:
        """Return the probability that a word is added after a replaced one."""
        return 0.0

    @property
    def deletion_probability(self) -> float:
        """Return the probability that a replaced word is deleted."""
        return 0.0

    def total_leaks(self, uneven: bool = False) -> tuple[str, ...]:
        """Return what the total and its list of ε per word reveal about the text. uneven: the places have different
        public weights, so a partial sum reveals which places it contains."""
        return ()


def require_alignment(
    m: Mechanism, consequence: str = "does not replace single words. Choose a mechanism that does"
) -> Alignment[Mechanism]:
    """Return that capability of a mechanism. Raises NoDistribution, with the consequence, if released words do not
    correspond to original words."""
    if m.alignment is None:
        raise NoDistribution(f"{m.title} writes a new text, so it {consequence}.")
    return m.alignment


def by_word(m: Mechanism) -> WordByWord:
    """Return that capability of a mechanism, for measurements of its words. Raises ConfigError if it has none."""
    if m.by_word is None:
        raise ConfigError(f"{m.name!r} has no vocabulary to measure. Choose a word-level mechanism.")
    return m.by_word


def sampled_tokens(m: Mechanism, text: str | Prepared) -> tuple[int, ...]:
    """Return :meth:`Alignment.drawn` of a mechanism. Raises NoDistribution if it replaces no single words."""
    return require_alignment(m).sampled_tokens(text)


class InputCoverage(Facet[M]):
    """Which parts of a text the mechanism knows, and what the author should know about that. Runs no model."""

    __slots__ = ()

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        """Return how many words of the text the mechanism knows, and how many there are. Kept stop words count as
        known.

        By default, all words are known.
        """
        document = text.document if hasattr(text, "document") else self.m.document(text)
        words = [known for known, kind in zip(self.known(document), document.kinds, strict=True) if kind == "word"]
        return sum(words), len(words)

    def known(self, document: Document) -> Sequence[bool]:
        """Return for each token whether it is known."""
        return [True] * len(document.tokens)

    def uncovered(self) -> str:
        """Return a sentence on what happens to unknown words."""
        return "their replacements do not depend on them."

    def note(self, text: str | Prepared) -> str:
        """Return a sentence on what the author should know about how this text is read; "" for nothing."""
        return ""


class StoredScores(Facet[M]):
    """Scores that can be stored in a file and loaded into a prepared text."""

    __slots__ = ()

    @abstractmethod
    def of(self, prepared: Prepared) -> np.ndarray:
        """Return the scores that a prepared text holds, one row per draw."""

    @abstractmethod
    def put(self, document: Document, scores: np.ndarray) -> Prepared | None:
        """Return a prepared text with stored scores; None if they do not belong to this document."""


class PartwiseRewriting(Facet[M]):
    """Rewriting in parts for texts that share draws, under one noise stream (``NoiseStream.numbered``)."""

    __slots__ = ()

    @abstractmethod
    def draws(self, texts: Sequence[str], task: Task | None = None) -> frozenset[Hashable]:
        """Return the shared draws of these texts. Samples nothing and runs no model."""

    @abstractmethod
    def with_draws(self, guarantee: Guarantee, draws: int) -> Guarantee:
        """Return the guarantee of a text of one part, given the number of shared draws over all parts."""


class PublicPrior(Facet[M]):
    """How a mechanism uses, or could use, a public prior."""

    def from_public(self) -> Mechanism | None:
        """Return the same mechanism with a public prior; None if there is none, or it already has one."""
        return None

    def without_prior(self) -> Mechanism | None:
        """Return the same mechanism without its public prior; None if it has none."""
        return None

    def entropy(self, text: str | Prepared) -> dict[int, float] | None:
        """Return the entropy in nats of the public proposal at each sampled place, given only the kept tokens. None if
        proposals do not depend on the place."""
        return None

    def context(self, prepared: Prepared, index: int) -> Hashable:
        """Return what two draws must share so that the guarantee of one draw compares them: the public text and the
        place. None if it compares any two."""
        return None


def public_context(m: Mechanism, prepared: Prepared, index: int) -> Hashable:
    """Return :meth:`PublicPrior.context` of any mechanism; None if it compares any two draws."""
    return None if m.public_prior is None else m.public_prior.context(prepared, index)


class WordByWord(Protocol):
    """Words sampled one by one: each row of a public vocabulary has its own channel, independent of the context."""

    @property
    def vocabulary(self) -> Any:
        """Return an object with ``words``, each once, in a fixed order; a word space also has ``counts`` and
        vectors."""

    @property
    def space(self) -> WordSpace:
        """Return the word space that defines distances between words."""

    def channel(self, row: int) -> Channel: ...
    def channels(self, rows: np.ndarray) -> list[Channel]: ...

    def token_row(self, prepared: Any, i: int) -> int | None:
        """Return the row of token i; None if it is not in the vocabulary, or is copied."""

    def likelihood_of(self, released: str, epsilon: float, rows: np.ndarray) -> np.ndarray:
        """Return ln p(released | word) of the words at ``rows``, float64 (n,), exactly; −inf for 0."""

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        """Return the same of every word, float64 (V,), and how far it may be off."""

    def likelihood_ready(self, epsilon: float) -> bool:
        """Return whether :meth:`log_likelihood` answers within a second."""

    def range_key(self, options: Mapping[str, Any]) -> str:
        """Return what of the options decides where ε bites, as the key of the measured ranges."""

    def words_alike(self, words: Sequence[str], n: int) -> list[str] | None:
        """Return about n words, each with others that the guarantee compares with it; None if it compares any two."""
