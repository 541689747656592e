"""The optional capabilities of a mechanism with stand-ins: those of the inner mechanism, without flagged words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...pieces import FLAGGED
from ...support.task import UNWATCHED, Task
from ..audit_support import AuditSupport
from ..capabilities import Alignment, InputCoverage, PublicPrior, public_context
from ..likelihood import Likelihood, differing_places, of_words
from ..preparing import Prepared

if TYPE_CHECKING:
    from .hybrid import HybridMechanism


class UnflaggedWords:
    """The words that the inner mechanism samples one by one. Flagged tokens are left out."""

    def __init__(self, m: HybridMechanism):
        self._m, inner = m, m.inner.by_word
        self.vocabulary, self.space = inner.vocabulary, inner.space
        self.channel, self.channels, self.words_alike = inner.channel, inner.channels, inner.words_alike
        self.likelihood_of, self.log_likelihood = inner.likelihood_of, inner.log_likelihood
        self.likelihood_ready, self.range_key = inner.likelihood_ready, inner.range_key

    def token_row(self, prepared: Any, i: int) -> int | None:
        row: int | None = self._m.inner.by_word.token_row(self._m.planned(prepared).plan, i)
        return row


class HybridLikelihood(Likelihood["HybridMechanism"]):
    """Stand-ins are uniform; the inner mechanism samples the other words, given the released stand-ins."""

    @property
    def _alone(self) -> bool:
        """Return True if each unflagged word is sampled from itself alone, without reading the stand-ins."""
        return self.m.inner.by_word is not None

    @property
    def missing(self) -> str:
        return super().missing or self.m.inner.likelihood.missing

    def deciding_places(self, texts: Sequence[Prepared]) -> Mapping[int, frozenset[int]] | None:
        planned, by_length = [self.m.planned(text) for text in texts], {}
        if len({(p.flags, p.plan.document.text) for p in planned}) == 1:
            # They differ only in flagged words, which the plan does not contain.
            return {len(planned[0].document.words): frozenset()}
        if not self._alone:
            return None
        for n, places in differing_places(texts).items():
            flags = [p.flags for p in planned if len(p.document.words) == n]
            tokens = {flag.token for every in flags for flag in every}
            # Texts with the same flags draw the same stand-ins.
            by_length[n] = places - tokens if all(every == flags[0] for every in flags) else places | tokens
        return by_length

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        planned, out = self.m.planned(prepared), np.full(len(released), -np.inf)
        if released and not planned.by_token.keys() & released[0].keys():
            return self.m.inner.likelihood.in_places(planned.plan, released, task)
        alike: dict[tuple[str, ...], list[int]] = {}
        for j, words in enumerate(released):
            if all(words[f.token].casefold() == words[f.same].casefold() for f in planned.flags):
                alike.setdefault(tuple(words[f.token] for f in planned.flags), []).append(j)
        channels = self.m.channels(planned)
        drawn = {f.token: channels[f.token].at(0.0) for f in planned.flags if f.same == f.token}
        parts: list[tuple[Any, list[int]]] = []
        for shown, some in alike.items():
            stand_ins = dict(zip(planned.by_token, shown, strict=True))
            out[some] = of_words(self.m, drawn, [stand_ins])[0]
            parts.append((planned.plan if self._alone else planned.with_words(stand_ins), some))
        if self._alone and parts:
            parts = [(planned.plan, [j for _, some in parts for j in some])]
        for text, some in parts:
            unflagged = [{i: w for i, w in released[j].items() if i not in planned.by_token} for j in some]
            out[some] += self.m.inner.likelihood.in_places(text, unflagged, task)
        return out

    def shared_draws(self, prepared: Prepared, places: Sequence[int]) -> dict[int, int]:
        planned = self.m.planned(prepared)
        other = [i for i in places if i not in planned.by_token]
        same = {i: planned.by_token[i].same for i in places if i in planned.by_token}
        return same | self.m.inner.likelihood.shared_draws(planned.plan, other)


class Places(Alignment["HybridMechanism"]):
    """The places that the inner mechanism samples, which are never flagged."""

    def sampled_tokens(self, text: str | Prepared) -> tuple[int, ...]:
        return self.m.inner.alignment.sampled_tokens(self.m.planned(text).plan)

    def spending(self, text: str | Prepared) -> tuple[int, ...]:
        return self.m.inner.alignment.spending(self.m.planned(text).plan)

    @property
    def insertion_probability(self) -> float:
        return self.m.inner.alignment.insertion_probability

    @property
    def deletion_probability(self) -> float:
        return self.m.inner.alignment.deletion_probability

    def total_leaks(self, uneven: bool = False) -> tuple[str, ...]:
        return self.m.inner.alignment.total_leaks(uneven)


class HybridAuditSupport(AuditSupport["HybridMechanism"]):
    """Two texts are compared if they have the same flags and the inner mechanism compares the rest."""

    def distances(self, words: Sequence[str]) -> np.ndarray:
        return self.m.inner.audit_support.distances(words)

    def adjacent(self, a: str | Prepared, b: str | Prepared) -> bool:
        one, other = self.m.planned(a), self.m.planned(b)
        return one.flags == other.flags and self.m.inner.audit_support.adjacent(one.plan, other.plan)


class Contexts(PublicPrior["HybridMechanism"]):
    """A draw is compared with those whose words have the same flag."""

    def context(self, prepared: Prepared, index: int) -> Hashable:
        planned = self.m.planned(prepared)
        flag = planned.by_token.get(index)
        inner = public_context(self.m.inner, planned.plan, index)
        return inner if flag is None else (FLAGGED, flag.form)


class Coverage(InputCoverage["HybridMechanism"]):
    """Coverage by the inner mechanism, with public words in the flagged places."""

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        return self.m.inner.reading.coverage(self.m.planned(text).plan)

    def uncovered(self) -> str:
        return self.m.inner.reading.uncovered()
