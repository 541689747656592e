"""Load a masked language model, score masks with it, and select the words that it may propose."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...errors import ConfigError
from ...models import word_chances
from ...support.task import UNWATCHED, Task
from ...text.language import Language
from ..blocklist import Blocklist, public_blocklist

#: Seconds a call waits for the engine (plus one per mask) before it raises Busy.
PATIENCE = 60.0


def language_model(model: str, language: Language):
    from ...models import load_masked_lm

    return load_masked_lm(model, language=language)


def score(model: str, language: Language, requests: list, task: Task = UNWATCHED) -> np.ndarray:
    """Return raw logits (n, V) of the requests, or raise Busy instead of waiting endlessly."""
    from ...models import engine

    scored = engine(model, language=language)
    return scored.score(requests, task=task, timeout=PATIENCE + len(requests))


def without_banned(scores: np.ndarray, banned: tuple[int, ...]) -> np.ndarray:
    """Return scores (…, V) without those of banned candidates."""
    return np.delete(scores, banned, axis=-1) if banned else scores


def banned_candidates(model: str, language: Language, never: Blocklist) -> tuple[int, ...]:
    """Return which of a model's candidates are on the blocklist, ascending."""
    public = _public_banned(model, language) if never.public else ()
    if not never.own:
        return public
    return tuple(sorted({*public, *Blocklist(never.own).places(candidates(model, language))}))


@lru_cache(maxsize=8)
def _public_banned(model: str, language: Language) -> tuple[int, ...]:
    """Return which of a model's candidates are on the program's list, cached for all mechanisms."""
    return Blocklist(public_blocklist()).places(candidates(model, language))


@lru_cache(maxsize=8)
def candidates(model: str, language: Language, without: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Return the model's candidates except those at the indices ``without``; the bundled model is not loaded."""
    if without:
        gone, known = set(without), candidates(model, language)
        if len(gone) >= len(known):
            raise ConfigError(
                f"The blocklist leaves no possible output of {model!r}. Shorten the blocklist."
            )
        return tuple(word for i, word in enumerate(known) if i not in gone)
    return word_chances.candidates(model, language)


@lru_cache(maxsize=8)
def lookup(model: str, language: Language, without: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    """Map each lower-case word to its indices among the :func:`candidates`."""
    places: dict[str, list[int]] = {}
    for i, word in enumerate(candidates(model, language, without)):
        places.setdefault(word.casefold(), []).append(i)
    return {w: np.array(at) for w, at in places.items()}
