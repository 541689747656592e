"""Optional capabilities of mechanisms that sample from a masked language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...privacy.distribution import TokenDistribution
from ...privacy.sampling import NoiseStream
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ..capabilities import Alignment, InputCoverage, StoredScores
from ..likelihood import Likelihood, of_words
from ..preparing import Prepared
from .masked_prepared import Acts, Draw, MaskedPrepared

if TYPE_CHECKING:
    from .masked_words import MaskedWords  # noqa: F401 (named in the bases of classes)


class _Scores(StoredScores["MaskedWords"]):
    """Scores of the masks in the original text.

    They cover all candidates of the model, or those that ``of`` returned for a mechanism that releases the same words.
    """

    def of(self, prepared: Prepared) -> np.ndarray:
        planned = self.m._planned(prepared)
        return planned.logits([(i, False) for i in planned.targets])

    def put(self, document: Document, scores: np.ndarray) -> MaskedPrepared | None:
        planned = self.m.plan(document)
        if len(planned.targets) != len(scores):
            return None
        ours = scores.shape[1:] == (len(self.m.candidates),)
        planned.fill([(i, False) for i in planned.targets], scores if ours else planned.of_allowed(scores))
        return planned


class _InputCoverage(InputCoverage["MaskedWords"]):
    """Coverage by the model's whole words."""

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        from ...models.coverage import known_tokens

        prepared = self.m._planned(text)
        known = known_tokens(self.m.config.model, prepared.document)
        words = [i for i, t in enumerate(prepared.document.tokens) if t.kind == "word"]
        return sum(known[i] or prepared.reasons[i] is not None for i in words), len(words)

    def uncovered(self) -> str:
        return "the model reads them letter by letter or not at all, and replaces them with other words."


class Places(Alignment["MaskedWords"]):
    """The sampled places, from the plan alone."""

    def sampled_tokens(self, text: str | Prepared) -> tuple[int, ...]:
        return self.m._planned(text).targets


class MaskedLikelihood(Likelihood["MaskedWords"]):
    """In sequential order, the distribution of a word depends on earlier words, which differ at another ε."""

    @property
    def in_turn(self) -> bool:
        return self.m.config.order != "parallel"

    def before(self, prepared: Prepared, stream: NoiseStream) -> dict[int, tuple[tuple[int, str], ...]]:
        if not self.in_turn:
            return {}
        (acts,) = self.m._draw_in_step([self.m._planned(prepared)], [stream])
        releases: dict[int, tuple[tuple[int, str], ...]] = {}
        before: list[tuple[int, str]] = []
        for i, (word, _) in acts.items():
            releases[i] = tuple(before)
            before += [] if word is None else [(i, word)]
        return releases

    def at(self, places: Sequence[tuple[Prepared, int]], task: Task = UNWATCHED) -> list[TokenDistribution | None]:
        planned = [(self.m._planned(p), i) for p, i in places]
        wanted = [(p, [(i, False)] if p.reasons[i] is None and not p.has((i, False)) else []) for p, i in planned]
        self.m._fill([p for p, _ in wanted], [keys for _, keys in wanted], task)
        return super().at(planned, task)

    def after(self, prepared: Prepared, index: int, released: Sequence[tuple[int, str]]) -> TokenDistribution:
        planned = self.m._planned(prepared)
        acts: Acts = {i: (word, None) for i, word in released} | {index: (None, None)}
        return self.m.table_given(planned, acts, index, False).at(self.m.epsilons(planned)[index])

    @property
    def find(self) -> Callable[[TokenDistribution, str], np.ndarray]:
        return lambda d, word: self.m._keep(word)

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        """Return the probabilities, in sequential order of each word given those before it."""
        m = self.m
        if not self.in_turn:
            return super().in_places(prepared, released, task)
        planned = m._planned(prepared)
        epsilons, order = m.epsilons(planned), m._order(planned, task)
        known = m.candidates
        out = np.zeros(len(released))
        for k, words in enumerate(released):
            acts: Acts = {}
            draws = []
            for i in order:
                draws.append(Draw(planned, acts | {i: (None, None)}, i, False))
                at = m._keep(words[i])
                if not len(at):
                    break
                acts[i] = (known[at[0]], None)
            if len(acts) < len(order):
                out[k] = -np.inf
                continue
            tables = m.tables_given(draws, task) if draws else ()
            stated = {d.token: t.at(epsilons[d.token]) for d, t in zip(draws, tables, strict=True)}
            out[k] = of_words(m, stated, [words], self.find)[0]
        return out
