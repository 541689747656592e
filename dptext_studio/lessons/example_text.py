"""The text that lessons use, rewritten by DP-MLM: the first bundled example, or a text of the visitor's own.

The bundled example is fictitious and was written for this project, so the process may store it. A visitor's own text is
stored in its :class:`Example` only, with everything computed from it. The draw has a seed, so that everybody in a class
sees the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, TypeVar

import numpy as np

from dptext_core.errors import InputError, ModelUnavailable
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.recommended import ORDER, recommended, with_recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.result import RewriteResult
from dptext_core.support.assets import examples

from .. import precomputed
from .base import Lesson, Marked

T = TypeVar("T")
MECHANISM = ORDER[0]
SEED = 7
#: The word that lessons examine, if the example contains it.
WORD = "heart"
#: The longest text that a visitor can use, in characters.
LONGEST = 600


def check_length(text: str) -> None:
    """Raise InputError if a visitor's text is too long for a lesson."""
    if len(text) > LONGEST:
        raise InputError(f"The text has {len(text):,} characters. Shorten it to {LONGEST} or fewer.")


class Example:
    """A text and everything that lessons compute from it. Compared by identity, and never printed with its text."""

    title = "From your text"

    def __init__(self, text: str):
        self.text = text
        self._results: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    @classmethod
    def of_visitor(cls, text: str) -> Self:
        """Return a visitor's own text. Raise InputError if it is empty or too long."""
        text = " ".join(text.split())
        if not any(c.isalpha() for c in text):
            raise InputError("The text has no words. Type a sentence or two.")
        check_length(text)
        return cls(text)

    def once(self, key: Hashable, work: Callable[[], T]) -> T:
        """Return the result of ``work``, which runs once for each key, also if a class asks at the same time."""
        with self._lock:
            if key not in self._results:
                self._results[key] = work()
            return self._results[key]

    @property
    def mechanism(self) -> Mechanism:
        return self.once("mechanism", lambda: recommended(MECHANISM))

    @property
    def prepared(self) -> Prepared:
        """The text with its scores. Bundled scores are used if available, so that no model is loaded."""

        def prepare() -> Prepared:
            given = precomputed.load(self.text, with_recommended(Setting(MECHANISM)))
            return self.mechanism.prepare(self.text) if given is None else given

        return self.once("prepared", prepare)

    def rewrite_at(self, epsilon: float) -> RewriteResult:
        """Return the one draw at this ε."""
        at = float(epsilon)
        return self.once(
            ("rewrite", at), lambda: self.mechanism.replace(epsilon=at).rewrite(self.prepared, seed=SEED)
        )

    @property
    def usual(self) -> RewriteResult:
        """The draw at the mechanism's initial ε."""
        return self.rewrite_at(self.mechanism.config.epsilon)

    @property
    def sampled(self) -> list[int]:
        """The steps whose word was sampled depending on the original, the same at every ε. Raise InputError for none.
        """
        steps = [i for i, s in enumerate(self.usual.steps) if s.depends_on_original]
        if not steps:
            raise InputError("No word of this text would be replaced. Type a text with more words.")
        return steps

    @property
    def place(self) -> int:
        """The step of WORD; in a text without it, of the longest sampled word that can be unchanged."""

        def find() -> int:
            there, result = self.sampled, self.usual
            words = [i for i in there if result.steps[i].original.lower() == WORD]
            can_return = [i for i in there if result.distribution(i).p_keep() > 0] or there
            return next(iter(words), max(can_return, key=lambda i: len(result.steps[i].original)))

        return self.once("place", find)

    @property
    def sentence(self) -> str:
        """The sentence of :attr:`place`."""
        a, b = self._sentence_span()
        return self.prepared.document.text[a:b]

    def sentence_with_word(self) -> Marked:
        """Return the word of :attr:`place` with its sentence."""
        (a, b), text = self._sentence_span(), self.prepared.document.text
        start, stop = self._word_span()
        return Marked(self.title, ((text[a:start], ""), (text[start:stop], "same"), (text[stop:b], "")), {})

    def _word_span(self) -> tuple[int, int]:
        span = self.usual.steps[self.place].span
        assert span is not None
        return span

    def _sentence_span(self) -> tuple[int, int]:
        start, stop = self._word_span()
        return next((a, b) for a, b in self.prepared.document.sentences if a <= start and stop <= b)

    def kept_shares(self, epsilons: Sequence[float]) -> np.ndarray:
        """Return the mean probability at each ε that a sampled word is unchanged (N_w), float64."""
        channels = [self.usual.locked(i)[0] for i in self.sampled]
        return np.array([np.mean([c.at(e).p_keep() for c in channels]) for e in epsilons])


class Note(Example):
    """The bundled example."""

    title = "From a doctor's note"


@lru_cache(maxsize=1)
def bundled() -> Note:
    every = examples()
    if not every:
        raise ModelUnavailable("The bundled examples are missing. Restore the folder 'assets' from the repository.")
    return Note(every[0].text)


@dataclass(frozen=True)
class TextLesson(Lesson):
    """A lesson whose question and answers are computed from a text. own: a visitor's own text; None for the example."""

    own: Example | None = None

    @property
    def example(self) -> Example:
        return self.own or bundled()

    def on(self, own: Example | None) -> Self:
        """Return the same lesson with this text."""
        return type(self)(own)
