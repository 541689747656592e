"""Proposals for a word from public information alone.

The exponential mechanism may start from any public distribution b. It cancels between two texts with the same b, so the
guarantee is the same as without it. So a proposal is computed from a :class:`PublicText` alone. It contains what the
guarantee holds fixed: copied tokens, gaps, and the words released so far. It contains no original word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...privacy.kinds import ConditionKind
from ...privacy.terms import ComparisonScope, Condition
from ...support.private import Private
from ...support.task import UNWATCHED, Task
from ...text.language import Language
from ...text.skeleton import Skeleton
from .model_words import language_model, score

#: What a text must share with the private one for samples from a proposal to be compared.
SAME_SKELETON = ComparisonScope(Condition(ConditionKind.SKELETON))


@dataclass(frozen=True)
class PublicText(Private):
    """The only input of a proposal.

    skeleton: the copied tokens and the gaps. released: (place, word), for the holes of the skeleton that already have a
    released word.
    """

    skeleton: Skeleton
    released: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        places = [i for i, _ in self.released]
        if len(set(places)) < len(places) or any(
            not 0 <= i < len(self.skeleton.kept_tokens) or self.skeleton.kept_tokens[i] is not None for i in places
        ):
            raise InputError("Each hole of the skeleton must contain at most one released word.")

    @property
    def words(self) -> tuple[str | None, ...]:
        """Return the word at each place; None if nothing was released yet."""
        words = dict(self.released)
        return tuple(token if token is not None else words.get(i) for i, token in enumerate(self.skeleton.kept_tokens))


def proposed_logits(
    model: str, language: Language, places: Sequence[tuple[PublicText, int]], task: Task = UNWATCHED
) -> np.ndarray:
    """Return a masked language model's raw scores of its candidates at places of public texts: float32 (n, V).

    The bundled model was also trained on such texts. Every place without a word is one mask, for any number of word
    pieces in the original, and every word is tokenized separately. So the input does not depend on an original word.
    The engine's bits do not depend on its other requests.
    """
    from ...models import MaskRequest

    lm = language_model(model, language)
    pieces: dict[str, list[int]] = {}
    requests = []
    for public, i in places:
        words = public.words
        if words[i] is not None:
            raise InputError(f"Position {i} already has a word, so it needs no proposal. Choose an empty position.")
        masked = [
            [lm.mask_id] if w is None else pieces.get(w) or pieces.setdefault(w, lm.word_pieces(w)) for w in words
        ]
        requests.append(MaskRequest(context=None, masked=masked, target=i, context_target=i))
    return score(model, language, requests, task)


def entropies(log_weights: np.ndarray) -> np.ndarray:
    """Return the Shannon entropy in nats of each row of ln-weights (n, V), float64 (n,)."""
    x = log_weights.astype(np.float64)
    x -= x.max(axis=1, keepdims=True)
    p = np.exp(x)
    z = p.sum(axis=1)
    return np.log(z) - (p * x).sum(axis=1) / z
