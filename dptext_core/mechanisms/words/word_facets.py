"""Optional capabilities of mechanisms that replace word by word."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...pieces import NOT_IN_VOCABULARY
from ...support.task import UNWATCHED, Task
from ..audit_support import AuditSupport
from ..capabilities import Alignment, InputCoverage
from ..likelihood import Likelihood
from ..preparing import Prepared
from .word_codes import MASK, UNKNOWN

if TYPE_CHECKING:
    from .word_level import WordMechanism  # noqa: F401 (named in the bases of classes)


class _InputCoverage(InputCoverage["WordMechanism"]):
    """Coverage by its vocabulary."""

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        prepared = self.m._planned(text)
        rows = zip(prepared.document.kinds, prepared.rows.tolist(), prepared.reasons, strict=True)
        known = [row != UNKNOWN and reason != NOT_IN_VOCABULARY for kind, row, reason in rows if kind == "word"]
        return sum(known), len(known)

    def uncovered(self) -> str:
        return {
            "random": "each becomes a random word of the vocabulary, independently of the original.",
            "keep": "they are unchanged, and everyone can read them.",
            "drop": "they are deleted.",
            "mask": f"they are shown as {MASK}.",
        }[self.m.config.oov]


class _Places(Alignment["WordMechanism"]):
    """The sampled places, from the plan alone."""

    def sampled_tokens(self, text: str | Prepared) -> tuple[int, ...]:
        return tuple(self.m._planned(text).known.tolist())

    def spending(self, text: str | Prepared) -> tuple[int, ...]:
        prepared = self.m._planned(text)
        each = [1.0] * len(prepared.rows)
        return tuple(i for i in self.sampled_tokens(prepared) if self.m._step_epsilon(prepared, i, each) > 0)

    def total_leaks(self, uneven: bool = False) -> tuple[str, ...]:
        message = f"{'which' if uneven else 'how many'} words are unknown, to anyone who knows the total and every ε"
        return (message,) if self.m.config.oov == "random" else ()


class _AuditSupport(AuditSupport["WordMechanism"]):
    """The distances of words, as stated by the mechanism itself."""

    def distances(self, words: Sequence[str]) -> np.ndarray:
        return self.m.distances(words)


class WordLikelihood(Likelihood["WordMechanism"]):
    """Places that share a draw have the same word, and count once."""

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        planned = self.m._planned(prepared)
        same = self.shared_draws(planned, tuple(released[0] if released else ()))
        out = super().in_places(planned, [{i: words[i] for i in set(same.values())} for words in released], task)
        together = [all(words[i].casefold() == words[k].casefold() for i, k in same.items()) for words in released]
        return np.where(together, out, -np.inf)

    def shared_draws(self, prepared: Prepared, places: Sequence[int]) -> dict[int, int]:
        planned = self.m._planned(prepared)
        first: dict[Hashable, int] = {}
        return {
            i: first.setdefault(self.m._path(planned, i) if planned.rows[i] >= 0 else ("unknown", i), i) for i in places
        }
