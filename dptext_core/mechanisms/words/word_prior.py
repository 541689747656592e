"""Word mechanisms that may start from a public proposal: p(y|x) ∝ b(y)·exp(ε·s(x, y)).

If b is the same for both words, it cancels except in the normaliser, which changes by no more than without it. So the
guarantee of the mechanism is unchanged, including a metric one. ``docs/measurements/public-prior.md`` has the proof.
Not in the papers of these mechanisms.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ...models.registry import masked_lm_spec, weights_sha256
from ...models.word_chances import SPREAD, log_frequencies, over_words
from ...privacy.distribution import Channel, ScoreTable
from ...privacy.sampling import NoiseStream
from ...privacy.terms import ComparisonScope
from ...support.task import UNWATCHED, Task
from ..base import Mechanism
from ..capabilities import PublicPrior, WordByWord
from ..config import option
from ..masked.public_prior import SAME_SKELETON, PublicText, entropies, proposed_logits
from ..preparing import Prepared
from .word_level import CHANNELS_KEPT
from .word_space import SpaceMechanism
from .word_trace import WordPrepared

#: The source of proposals over words: the bundled language model, which every installation has.
MODEL = "bundled"

Table = TypeVar("Table", bound=ScoreTable)


def prior_option() -> Any:
    """Return the field ``prior``."""
    return option(
        "none",
        label="Use a public prior",
        changes_distribution=True,
        choices=("none", "frequency", "skeleton"),
        help="“Frequency” favours frequent words, and “skeleton” favours words that the bundled language model expects "
             "beside the kept words. “None” is the paper's mechanism; the guarantee is the same.",
        phrase="public prior: {}",
    )


class PriorMechanism(SpaceMechanism):
    """A mechanism in a word space whose channels are score tables, with a proposal if the option names one."""

    @abstractmethod
    def _from(self, channel: Channel, log_base: np.ndarray) -> Channel:
        """Return the channel with a proposal, given by its logarithm for every word of the vocabulary (W,)."""

    @property
    def by_word(self) -> WordByWord | None:
        """Return the distributions of single words; None if the proposal depends on the place."""
        return None if self.config.prior == "skeleton" else self

    def loads(self) -> Mapping[str, str]:
        prior = {"prior": weights_sha256(masked_lm_spec(MODEL).folder)} if self.config.prior == "skeleton" else {}
        return {**super().loads(), **prior}

    def _draws_as(self, cls: Any) -> bool:
        return self.config.prior == "none" and super()._draws_as(cls)

    @cached_property
    def _frequencies(self) -> np.ndarray:
        return log_frequencies(self.vocabulary.words)

    def _with_frequencies(self, channels: list[Channel]) -> list[Channel]:
        """Return channels that start from word frequencies, if the option says so."""
        return [self._from(c, self._frequencies) for c in channels] if self.config.prior == "frequency" else channels

    def _channel_at(self, prepared: WordPrepared, i: int) -> Channel:
        channel = super()._channel_at(prepared, i)
        if self.config.prior != "skeleton" or prepared.rows[i] < 0:
            return channel
        return self._from(channel, self._proposals(prepared, [i])[0])

    def _proposals(self, prepared: WordPrepared, places: Sequence[int], task: Task = UNWATCHED) -> np.ndarray:
        """Return the logarithm of the proposals from the kept words at places, float64 (n, W)."""
        stored = prepared.proposals
        proposals = {i: stored[i] for i in places if i in stored}
        if missing := [i for i in places if i not in proposals]:
            public = PublicText(prepared.skeleton)
            logits = proposed_logits(MODEL, self.language, [(public, i) for i in missing], task.quiet)
            computed = over_words(logits, MODEL, self.language, self.vocabulary.words)
            proposals |= dict(zip(missing, computed, strict=True))
            stored.update({i: proposals[i] for i in missing[: max(0, CHANNELS_KEPT - len(stored))]})
        return np.stack([proposals[i] for i in places])

    def _draw_texts(self, texts, known, epsilons, streams, draws, task: Task = UNWATCHED) -> list[str]:
        if self.config.prior != "skeleton":
            return super()._draw_texts(texts, known, epsilons, streams, draws, task)
        out: list[str] = []
        for prepared, places, each, stream in zip(texts, known, epsilons, streams, strict=True):
            out += self._draw_in(prepared, places.tolist(), each, stream, task)
            task.report(len(out), len(draws.rows))
        return out

    def _draw_in(
        self, prepared: WordPrepared, places: Sequence[int], epsilons: Sequence[float], stream: NoiseStream, task: Task
    ) -> list[str]:
        out = []
        for start in range(0, len(places), CHANNELS_KEPT):
            block = places[start : start + CHANNELS_KEPT]
            for i, log_base in zip(block, self._proposals(prepared, block, task), strict=True):
                task.check()
                channel = self._from(super()._channel_at(prepared, i), log_base)
                out.append(channel.candidates[channel.draw(epsilons[i], self._stream(prepared, i, stream))])
        return out

    def _views_in_place(self, prepared: WordPrepared, i: int, released: str, epsilon: float) -> tuple:
        from ...explain import ProposalView

        channel = self._channel_at(prepared, i)
        # A word that passes through is not sampled from a table.
        if not isinstance(channel, ScoreTable) or channel.log_base is None:
            return ()
        at = [int(k) for k in channel.source_index[:1]]
        source, added = prepared.document.words[i], epsilon * channel.scores
        return (ProposalView.of(channel.candidates, channel.log_base, added, None, released, source, at),)

    @property
    def public_prior(self) -> PublicPrior[PriorMechanism]:
        return _Start(self)

    # --- the guarantee

    @classmethod
    def _rest(cls, config: Any) -> float:
        """Return how many nats of the sampler's depth the proposal uses."""
        return 0.0 if config.prior == "none" else SPREAD

    def _among(self) -> ComparisonScope:
        """Return what a text must share with the private one for a single draw to be compared."""
        return SAME_SKELETON if self.config.prior == "skeleton" else ComparisonScope()

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        return super().guarantee_fields(epsilon) | {"among": self._among()}

    @staticmethod
    def _based(table: Table, log_base: np.ndarray) -> Table:
        return dataclasses.replace(table, log_base=log_base)


class _Start(PublicPrior[PriorMechanism]):
    """The public prior of the option ``prior``."""

    def from_public(self) -> Mechanism | None:
        one_place = getattr(self.m.config, "strategy", "token") == "token"
        return self.m.replace(prior="skeleton") if self.m.config.prior == "none" and one_place else None

    def without_prior(self) -> Mechanism | None:
        return self.m.replace(prior="none") if self.m.config.prior != "none" else None

    def entropy(self, text: str | Prepared) -> dict[int, float] | None:
        if self.m.config.prior != "skeleton":
            return None
        prepared = self.m._planned(text)
        # Unknown words too: a separate value would reveal which words are unknown.
        holes = [i for i, token in enumerate(prepared.skeleton.kept_tokens) if token is None]
        entropies_at: dict[int, float] = {}
        for start in range(0, len(holes), CHANNELS_KEPT):
            block = holes[start : start + CHANNELS_KEPT]
            entropies_at |= dict(zip(block, entropies(self.m._proposals(prepared, block)).tolist(), strict=True))
        return entropies_at

    def context(self, prepared: Prepared, index: int) -> Hashable:
        return None if self.m.config.prior != "skeleton" else (self.m._planned(prepared).skeleton, index)
