"""What some mechanisms have beside what every one is, each a small object that a mechanism gives, or None.

A facet speaks for one mechanism, which it holds. A family of mechanisms derives its own facet and overrides what it
knows better.
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
    """A side of one mechanism."""

    __slots__ = ("m",)

    def __init__(self, m: M):
        self.m = m


class Alignment(Facet[M]):
    """The words of a text in whose places others are drawn: pieces of a result answer to the words that were read."""

    def drawn(self, text: str | Prepared) -> tuple[int, ...]:
        """Tokens in whose place a word is drawn by looking at them, ascending. Runs no model where none is needed."""
        steps = self.m.rewrite(self.m.plan(text)).steps
        return tuple(sorted({s.index for s in steps if s.by_looking}))

    def spending(self, text: str | Prepared) -> tuple[int, ...]:
        """Those of them whose draw spends ε of its own: a word that is drawn once may stand in many."""
        return self.drawn(text)

    @property
    def added(self) -> float:
        """The chance that one more word is added after a drawn one."""
        return 0.0

    @property
    def deleted(self) -> float:
        """The chance that a drawn word is left out."""
        return 0.0

    def told_by_total(self, uneven: bool = False) -> tuple[str, ...]:
        """Return what whoever knows a total and its list of ε over the words learns of the text besides. uneven: the
        places have public weights that differ, so that the sum of some tells which they are."""
        return ()


def require_alignment(m: Mechanism, consequence: str) -> Alignment[Mechanism]:
    """Return that capability of a mechanism. Raises NoDistribution, with what follows, where a new text is written that
    answers to no word of the old."""
    if m.alignment is None:
        raise NoDistribution(f"{m.title} writes a new text instead of replacing words, so it {consequence}.")
    return m.alignment


def by_word(m: Mechanism) -> WordByWord:
    """Return that capability of a mechanism, for what is measured of its words. Raises ConfigError of one that has
    none."""
    if m.by_word is None:
        raise ConfigError(f"{m.name!r} has no vocabulary to measure. Choose a word-level mechanism.")
    return m.by_word


def drawn_tokens(m: Mechanism, text: str | Prepared) -> tuple[int, ...]:
    """:meth:`Alignment.drawn` of a mechanism. Raises NoDistribution where it has no such words."""
    return require_alignment(m, "replaces no single words").drawn(text)


class InputCoverage(Facet[M]):
    """How a text is read: what of it is known, and what its author should know of that. Runs no model."""

    __slots__ = ()

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        """How many words of the text the mechanism knows, and how many it has; kept stop words are known.

        All are known where nothing says otherwise.
        """
        document = text.document if hasattr(text, "document") else self.m.document(text)
        words = [known for known, kind in zip(self.known(document), document.kinds, strict=True) if kind == "word"]
        return sum(words), len(words)

    def known(self, document: Document) -> Sequence[bool]:
        """For each token whether it is known."""
        return [True] * len(document.tokens)

    def uncovered(self) -> str:
        """Return a sentence on what happens to the words that it does not know."""
        return "their replacements do not depend on them."

    def note(self, text: str | Prepared) -> str:
        """Return what its author should know of how this text is read, in a sentence; "" for nothing."""
        return ""


class StoredScores(Facet[M]):
    """Scores that can be kept in a file, and put into a text again."""

    __slots__ = ()

    @abstractmethod
    def of(self, prepared: Prepared) -> np.ndarray:
        """Return the scores that a prepared text holds, one row a draw."""

    @abstractmethod
    def put(self, document: Document, scores: np.ndarray) -> Prepared | None:
        """Return a prepared text with scores that were kept; None where they are not those of this document."""


class PartwiseRewriting(Facet[M]):
    """How texts that share draws are rewritten in parts, all under one noise stream (``NoiseStream.numbered``)."""

    __slots__ = ()

    @abstractmethod
    def draws(self, texts: Sequence[str], task: Task | None = None) -> frozenset[Hashable]:
        """Return what these texts draw once for all. Draws nothing, and runs no model."""

    @abstractmethod
    def with_draws(self, guarantee: Guarantee, draws: int) -> Guarantee:
        """Return the guarantee of a text of a part, where so many things are drawn once for all parts together."""


class PublicPrior(Facet[M]):
    """How a mechanism starts from what is public of a text, or could."""

    def from_public(self) -> Mechanism | None:
        """Return the same mechanism starting from what is public of a text; None where there is none, or it does
        already."""
        return None

    def without_prior(self) -> Mechanism | None:
        """Return the same mechanism without its public prior; None where it has none."""
        return None

    def entropy(self, text: str | Prepared) -> dict[int, float] | None:
        """How open each place that is not kept is before the private text is looked at: the entropy of its public
        proposal, in nats, given what is kept alone. None where nothing is proposed by place."""
        return None

    def context(self, prepared: Prepared, index: int) -> Hashable:
        """Return what two draws must have in common for the promise of one draw to compare them, besides their
        distance.

        What is public of the text, and the place in it; None where it compares any two."""
        return None


def public_context(m: Mechanism, prepared: Prepared, index: int) -> Hashable:
    """:meth:`PublicPrior.context` of any mechanism; None where it compares any two draws."""
    return None if m.public_prior is None else m.public_prior.context(prepared, index)


class WordByWord(Protocol):
    """Words drawn one by one: each row of a public vocabulary has a channel of its own, whatever stands around it."""

    @property
    def vocabulary(self) -> Any:
        """What has ``words``, each once, in a fixed order; ``counts`` and vectors where it is a word space."""

    @property
    def space(self) -> WordSpace:
        """The word space in which its words are near or far."""

    def channel(self, row: int) -> Channel: ...
    def channels(self, rows: np.ndarray) -> list[Channel]: ...

    def token_row(self, prepared: Any, i: int) -> int | None:
        """Return the row of token i; None where it is no word of the vocabulary, or stays."""

    def likelihood_of(self, released: str, epsilon: float, rows: np.ndarray) -> np.ndarray:
        """ln p(released | word) of the words at ``rows``, float64 (n,), exactly; −inf for 0."""

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        """Return the same of every word, float64 (V,), and how far it may be off."""

    def likelihood_ready(self, epsilon: float) -> bool:
        """Whether :meth:`log_likelihood` answers within a second."""

    def range_key(self, options: Mapping[str, Any]) -> str:
        """Return what of the options decides where ε bites, as the key of the measured ranges."""

    def words_alike(self, words: Sequence[str], n: int) -> list[str] | None:
        """About n of the words, each with others that the promise makes alike to it; None where any are."""
