"""The mask inference attack (SanText, Yue et al. 2021): a language model guesses the original from the context.

Each released word is masked in turn, and a masked language model ranks all words at its place given the rest of the
released text. It does not know the mechanism, and uses only what the other words reveal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import require_alignment
from ..privacy.numbers import percent
from ..result import RewriteResult, Step
from ..support.cache import weak_cache
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from ..text.document import Document
from .base import TextAttacker, register
from .prior import public_prior

if TYPE_CHECKING:
    from ..models import MaskedLM, MaskRequest

#: Number of displayed guesses for each word.
SHOWN = 5
_BLOCK = 128
#: Seconds to wait for the model, and one more for each mask.
PATIENCE = 60.0
#: Number of first guesses that another model may reorder.
RESCORED = 10
#: The span of a released word and the guesses for it → their order, the best first.
Rescore = Callable[[tuple[int, int], Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class MaskGuess(Private):
    """One masked place. step: the index of its step. rank: of the original among all words (1: the model's first
    guess); None if the model does not have that word. guesses: the model's first words."""

    step: int
    original: str
    released_word: str
    rank: int | None
    guesses: tuple[str, ...]


@dataclass(frozen=True)
class MaskInference:
    """How often the model recovers the original. top1, top10: share of the hidden words whose original is the first
    guess, or one of ten. chance, chance10: the success of always guessing the most frequent word, or the ten most
    frequent, by the public prior. sayable: how many of the originals are candidates of the model. draws: None, nothing
    is sampled.
    """

    guesses: tuple[MaskGuess, ...] = field(repr=False)
    chance: float
    chance10: float
    model: str
    draws: int | None = None

    def _share(self, most: int) -> float:
        hits = sum(g.rank is not None and g.rank <= most for g in self.guesses)
        return hits / len(self.guesses) if self.guesses else 0.0

    @property
    def success(self) -> float:
        """Return the success of the first guess."""
        return self.top1

    @property
    def top1(self) -> float:
        return self._share(1)

    @property
    def top10(self) -> float:
        return self._share(10)

    @property
    def sayable(self) -> int:
        return sum(g.rank is not None for g in self.guesses)

    def sentence(self) -> str:
        """Return the attack in plain words."""
        n = len(self.guesses)
        if not n:
            return "No sampling depended on the original words, so there is nothing to guess."
        message = (
            f"From the surrounding words, a language model recovers {percent(self.top1)} of the {n} replaced "
            f"{'word' if n == 1 else 'words'} at the first guess, and {percent(self.top10)} within ten. Always "
            "guessing the "
            f"most frequent word is right {percent(self.chance)} of the time (the ten most frequent: "
            f"{percent(self.chance10)})."
        )
        if self.sayable < n:
            message += f" {n - self.sayable} of the originals are not in the model's vocabulary."
        return message


@weak_cache(1)
def _places(lm: MaskedLM) -> dict[str, list[int]]:
    """Map each word, ignoring case, to its index among the model's candidates."""
    places: dict[str, list[int]] = {}
    for j, word in enumerate(lm.candidates):
        places.setdefault(word.casefold(), []).append(j)
    return places


def attack(
    mechanism: Mechanism,
    result: RewriteResult,
    *,
    model: str = "bundled",
    rescore: Rescore | None = None,
    only: Collection[int] | None = None,
    task: Task = UNWATCHED,
) -> MaskInference:
    """Mask each hidden word of the released text and let ``model`` guess the original. rescore: reorders its first
    guesses; later ones keep their order. only: the attacked steps instead of the hidden ones. Loads the model on the
    first call. Raises ModelUnavailable, Busy or Cancelled.
    """
    from ..models import engine, load_masked_lm

    require_alignment(mechanism)
    released = Document.parse(result.text, mechanism.language)
    steps = [(i, s) for i, s in enumerate(result.steps) if (s.is_hidden if only is None else i in only)]
    guesses: list[MaskGuess] = []
    if steps:
        lm_engine = engine(model, language=mechanism.language)
        lm_engine.warm()
        lm = load_masked_lm(model, language=mechanism.language)
        requests = mask_requests(lm, released, [s for _, s in steps])
        place = _places(lm)
        for begin in range(0, len(steps), _BLOCK):
            block = requests[begin : begin + _BLOCK]
            part = task.child(begin, begin + len(block), len(steps)) if rescore is None else task.quiet
            scores = lm_engine.score(block, task=part, timeout=PATIENCE + len(block))
            for (i, s), row in zip(steps[begin : begin + _BLOCK], scores, strict=True):
                true_row = place.get(s.original.casefold())
                rank = None if true_row is None else 1 + int(np.count_nonzero(row > row[true_row].max()))
                likely = np.argsort(-row, kind="stable")[:RESCORED]
                if rescore is not None:
                    task.check()
                    likely = likely[list(rescore(s.out, [lm.candidates[j] for j in likely]))]
                    if (among := np.flatnonzero(np.isin(likely, true_row or ()))).size:
                        rank = 1 + int(among[0])
                    task.report(len(guesses) + 1, len(steps))
                words = tuple(lm.candidates[j] for j in likely[:SHOWN])
                guesses.append(MaskGuess(i, s.original, s.replacement, rank, words))
    prior = public_prior(mechanism)
    return MaskInference(tuple(guesses), prior.chance, prior.chance_of(10), model)


def mask_requests(lm: MaskedLM, released: Document, steps: Sequence[Step]) -> list[MaskRequest]:
    """Return a request for the original of each step's word, by a mask in the text. With a query over the masked text,
    the bundled model recovers less (``tools/evaluate_masked_lm.py --forms``)."""
    from ..models import MaskRequest

    pieces = lm.encode(released)
    starts = np.array([t.start for t in released.tokens])
    ends = np.array([t.end for t in released.tokens])
    requests = []
    for s in steps:
        # The output of one step may be several tokens: one mask replaces all of them.
        first = int(np.searchsorted(ends, s.out[0], side="right"))
        last = max(first + 1, int(np.searchsorted(starts, s.out[1], side="left")))
        requests.append(MaskRequest(None, [*pieces[:first], [], *pieces[last:]], first))
    return requests


@register
class LanguageModel(TextAttacker):
    """Mask inference on a whole text."""

    name = "language-model"
    title = "Language model"
    question = "What does a language model infer from the context?"
    scope = "text"
    needs: ClassVar[tuple[str, ...]] = ("masked language model",)
    how: ClassVar[str] = (
        "Masks each sampled word of the release and predicts the original with the bundled language model."
    )

    def attack(
        self, mechanism: Mechanism, result: RewriteResult, unit: int | None = None, *, task: Task | None = None
    ) -> MaskInference:
        self.check(mechanism)
        return attack(mechanism, result, task=task or UNWATCHED)
