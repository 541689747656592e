"""How certain the optimal reader is about one fact of a text, for several mechanisms and the same alternatives."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ..attacks.alternatives import suggest_alternatives
from ..attacks.belief import Belief, BeliefQuestion, _other_words, fact_spans
from ..attacks.expected_belief import DRAWS, expected_success
from ..attacks.which_text import content_words
from ..errors import InputError
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.likelihood import require_likelihood
from ..mechanisms.setting import Setting
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from .target_figures import TargetFigure

#: Releases for an estimate of the certainty if each of them takes a model pass.
DRAWS_SLOW = 24


@dataclass(frozen=True)
class Fact(Private):
    """A word of a text and its alternatives: public, and the same for all mechanisms."""

    word: str
    alternatives: tuple[str, ...]

    _shown: ClassVar[tuple[str, ...]] = ()

    @property
    def chance(self) -> float:
        """Return the probability that a guess before reading is right."""
        return 1 / (1 + len(self.alternatives))


#: The cache key of a question: text, setting without ε, and fact.
Asked: TypeAlias = tuple[str, Setting, Fact]


def shared_fact(
    text: str, mechanisms: Sequence[Mechanism], word: str = "", alternatives: Sequence[str] | None = None
) -> Fact:
    """Return a fact of a text with alternatives that suit all mechanisms.

    Parameters
    ----------
    text : str
    mechanisms : sequence of Mechanism
        Alternatives come from a public list, else from a word space that none of them samples in, if there is one. The
        first mechanism determines the language.
    word : str
        The fact; without it, the rarest content word that has alternatives.
    alternatives : sequence of str, optional
        The alternatives; by default, public ones.

    Raises
    ------
    InputError
        The text does not contain the word, or no alternatives are known.
    """
    first = mechanisms[0]
    spaces = {m.by_word.space.name for m in mechanisms if m.by_word is not None}
    words = [word] if word else content_words(first, text)
    for candidate in words:
        start, end = fact_spans(first.document(text), candidate)[0]
        if alternatives is not None:
            return Fact(text[start:end], tuple(_other_words(text[start:end], first, alternatives)))
        try:
            others = suggest_alternatives(candidate, first, avoid=spaces)
        except InputError:
            if word:
                raise
            continue
        if others:
            return Fact(text[start:end], tuple(others))
    raise InputError("No public alternatives are known for any word of this text. Name a fact.")


class FactReader:
    """The optimal reader of several settings, with one fact for all of them.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
    word : str
        The fact; without it, the rarest content word.
    held : mutable mapping, optional
        Stores the model passes: one per alternative serves every ε of a setting.
    alternatives : sequence of str, optional
        The alternatives to the fact; by default, public ones.
    """

    def __init__(
        self,
        mechanisms: Sequence[Mechanism],
        word: str = "",
        cache: MutableMapping[Asked, BeliefQuestion] | None = None,
        *,
        alternatives: Sequence[str] | None = None,
    ):
        self.mechanisms = tuple(mechanisms)
        self._word = word
        self._alternatives = alternatives
        self._facts: dict[str, Fact] = {}
        self._cache = {} if cache is None else cache

    def fact(self, text: str) -> Fact:
        """Return the fact. Raise InputError if the text has none."""
        if text not in self._facts:
            self._facts[text] = shared_fact(text, self.mechanisms, self._word, self._alternatives)
        return self._facts[text]

    def question(self, mechanism: Mechanism, text: str, task: Task = UNWATCHED) -> BeliefQuestion:
        """Return the fact and its alternatives, prepared for a setting. Errors as in :meth:`certainty`."""
        require_likelihood(mechanism)
        fact = self.fact(text)
        key = (text, mechanism.setting.at(None), fact)
        if key not in self._cache:
            # The text is prepared like its alternatives: bundled scores are rounded, which would identify it.
            self._cache[key] = BeliefQuestion.make(mechanism, text, fact.word, fact.alternatives, task=task)
        return self._cache[key]

    def belief(self, mechanism: Mechanism, result: RewriteResult, task: Task = UNWATCHED) -> Belief:
        """Return the reader's belief after a release. Errors as in :meth:`certainty`."""
        return self.question(mechanism, result.original, task.quiet).answer(result, task=task.quiet)

    def certainty(
        self, mechanism: Mechanism, prepared: Prepared, stream: NoiseStream, task: Task = UNWATCHED
    ) -> TargetFigure:
        """Return the expected success of the optimal reader: enumerated, or estimated from fresh releases.

        Raises
        ------
        InputError
            The text has no fact.
        NoDistribution
            The mechanism has no formula for whole rewrites, with the reason.
        """
        question, chances = self.question(mechanism, prepared.text, task.quiet), require_likelihood(mechanism)
        success = expected_success([mechanism], question, None, False, stream, task)
        if success is None:
            slow = chances.in_turn or chances.states_pieces
            success = expected_success([mechanism], question, DRAWS_SLOW if slow else DRAWS, False, stream, task)
            assert success is not None
        (expected,) = success
        return TargetFigure(expected.value, expected.interval, expected.draws or None)
