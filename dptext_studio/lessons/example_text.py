"""The example that lessons use: the first bundled text, rewritten by DP-MLM.

It is fictitious and was written for this project, so the process may store it and one draw of it. The draw has a seed,
so that everybody in a class sees the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dptext_core.errors import ModelUnavailable
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.recommended import ORDER, recommended, with_recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.result import RewriteResult
from dptext_core.support.assets import examples

from .. import precomputed
from .base import Marked

MECHANISM = ORDER[0]
SEED = 7
#: The word that lessons examine, if the example contains it.
WORD = "heart"


@lru_cache(maxsize=1)
def _read() -> tuple[Mechanism, Prepared]:
    every = examples()
    if not every:
        raise ModelUnavailable("The bundled examples are missing. Restore the folder 'assets' from the repository.")
    mechanism = recommended(MECHANISM)
    given = precomputed.load(every[0].text, with_recommended(Setting(MECHANISM)))
    return mechanism, mechanism.prepare(every[0].text) if given is None else given


def mechanism() -> Mechanism:
    return _read()[0]


def prepared() -> Prepared:
    """Return the example with its scores. Bundled scores are used if available, so that no model is loaded."""
    return _read()[1]


@lru_cache(maxsize=16)
def rewrite_at(epsilon: float) -> RewriteResult:
    """Return the one draw at this ε."""
    return mechanism().replace(epsilon=float(epsilon)).rewrite(prepared(), seed=SEED)


def drawn_words(result: RewriteResult) -> list[int]:
    """Return the steps whose word was sampled depending on the original."""
    return [i for i, s in enumerate(result.steps) if s.depends_on_original]


def place(result: RewriteResult) -> int:
    """Return the step of WORD, or the first sampled step."""
    there = drawn_words(result)
    return next((i for i in there if result.steps[i].original.lower() == WORD), there[0])


def sentence_with_word() -> Marked:
    """Return the word of :func:`place` with its sentence in the note."""
    document, result = prepared().document, rewrite_at(float(mechanism().config.epsilon))
    word, text = result.steps[place(result)].original, document.text
    a, b = next((a, b) for a, b in document.sentences if word in text[a:b])
    at = text.index(word, a)
    pieces = ((text[a:at], ""), (word, "same"), (text[at + len(word) : b], ""))
    return Marked("From a doctor's note", pieces, {})


def kept_shares(epsilons: Sequence[float]) -> np.ndarray:
    """Return the mean probability at each ε that a sampled word is unchanged (N_w), float64."""
    result = rewrite_at(float(mechanism().config.epsilon))
    channels = [result.locked(i)[0] for i in drawn_words(result)]
    return np.array([np.mean([c.at(e).p_keep() for c in channels]) for e in epsilons])
