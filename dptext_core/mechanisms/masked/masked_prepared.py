"""A text prepared for a masked language model, and the trace of a rewrite made from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ...privacy.distribution import Channel, TokenDistribution
from ...privacy.sampling import NoiseStream
from ...result import Trace, Unit
from ...support.cache import OwnLock
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ...text.lexicon import Lexicon
from ...text.skeleton import Skeleton
from ..blocklist import NOTHING, Blocklist
from ..preparing import Prepared
from .model_words import banned_candidates, language_model, score, without_banned

if TYPE_CHECKING:
    from ...models.masked_lm import MaskedLM
    from .masked_words import MaskedWords

#: Maximum rows of scores (one per token, 4 bytes per candidate) in a prepared text; longer texts are scored on demand.
ROWS_KEPT = 800
#: For each replaced token: the released word (None: deleted), and the word added after it (None: no word).
Acts = dict[int, tuple[str | None, str | None]]
T = TypeVar("T")


class Draw(NamedTuple):
    """One draw, of the word of token ``token`` or of an added word after it, and the earlier releases."""

    prepared: MaskedPrepared
    acts: Acts
    token: int
    insert: bool

    @property
    def sees(self) -> tuple:
        """Return which draw of its text it is, and which earlier releases its scores depend on."""
        return self.token, self.insert, *((i, a) for i, a in self.acts.items() if self.insert or i != self.token)


@dataclass(frozen=True, eq=False)
class MaskedPrepared(Prepared):
    """A text cut into word pieces, and the model's scores at its masks (raw logits, before clipping).

    reasons: for each token why it is copied, None if it is replaced. stop: the list of copied stop words, None if there
    are none. never: the words without scores. Scores are computed on first use.
    """

    reasons: tuple[str | None, ...]
    targets: tuple[int, ...]
    model: str
    contextualize: bool
    stop: Lexicon | None = None
    never: Blocklist = NOTHING

    _rows: dict[tuple[int, bool], np.ndarray] = field(default_factory=dict, init=False, repr=False)
    _score_cache: dict[tuple, np.ndarray] = field(default_factory=dict, init=False, repr=False)
    _pieces: list[list[int]] = field(default_factory=list, init=False, repr=False)
    _tables: dict[tuple, Any] = field(default_factory=dict, init=False, repr=False)
    _shared: list[bool] = field(default_factory=list, init=False, repr=False)
    _lock: OwnLock = field(default_factory=OwnLock, init=False, repr=False)

    def holding(self, tokens: Collection[int], reason: str) -> MaskedPrepared:
        """Return the same plan in which these tokens are copied."""
        reasons = tuple(reason if i in tokens else r for i, r in enumerate(self.reasons))
        return replace(self, reasons=reasons, targets=tuple(i for i, r in enumerate(reasons) if r is None))

    def with_document(self, document: Document) -> MaskedPrepared:
        """Return the same plan for a document that differs in copied tokens. Its scores are computed again."""
        return replace(self, document=document)

    @cached_property
    def skeleton(self) -> Skeleton:
        """Return what is released besides sampled words: copied tokens and gaps."""
        return self.document.skeleton([r is None for r in self.reasons])

    @property
    def pieces(self) -> list[list[int]]:
        """Word-piece ids of each token."""
        if not self._pieces:
            self.cut(language_model(self.model, self.document.language))
        return self._pieces

    def cut(self, lm: MaskedLM) -> None:
        """Cut the text into word pieces, unless already done."""
        with self._lock:
            if not self._pieces:
                self._pieces.extend(lm.encode(self.document))

    def fill(self, keys: Sequence[tuple[int, bool]], logits: np.ndarray) -> None:
        """Store computed scores, up to the limit of a prepared text."""
        with self._lock:
            for k, row in zip(keys, logits, strict=True):
                if len(self._rows) < ROWS_KEPT:
                    self._rows[k] = row

    def share(self) -> None:
        self._shared.append(True)

    def table(self, key: tuple, make: Callable[[], T]) -> T:
        """Return the table of one draw's scores; for a shared text, the cached one with the same ``key``, if recent."""
        if not self._shared:
            return make()
        with self._lock:
            channel = self._tables.get(key)
        if channel is None:
            channel = make()
            with self._lock:
                channel = self._tables.setdefault(key, channel)
                if len(self._tables) > 2 * len(self.targets):
                    del self._tables[next(iter(self._tables))]
        return channel

    def given(self, draw: Draw) -> np.ndarray | None:
        """Return the stored scores of a draw that depends on earlier ones."""
        with self._lock:
            return self._score_cache.get(draw.sees)

    def keep(self, draw: Draw, scores: np.ndarray) -> None:
        """Store such scores: the most recent ones, of as many draws as a rewrite has."""
        with self._lock:
            self._score_cache[draw.sees] = scores.copy()
            if len(self._score_cache) > min(ROWS_KEPT, 2 * len(self.targets)):
                del self._score_cache[next(iter(self._score_cache))]

    def has(self, key: tuple[int, bool]) -> bool:
        """Return True if the scores of this draw are stored."""
        with self._lock:
            return key in self._rows

    def of_allowed(self, scores: np.ndarray) -> np.ndarray:
        """Reduce scores (n, V) of all candidates of the model to those that may be released."""
        return without_banned(scores, banned_candidates(self.model, self.document.language, self.never))

    def request(self, index: int, insert: bool = False, given: tuple[list[list[int]], int] | None = None):
        """Return the model's request: the mask on token ``index``, or on a new token after it.

        given: the masked half and the position of its mask if it is no longer the original text.
        """
        from ...models import MaskRequest

        masked, at = given or (self.pieces, index)
        if given is None and insert:
            at = index + 1
            masked = [*masked[:at], [], *masked[at:]]
        context = self.pieces if self.contextualize else None
        return MaskRequest(context=context, masked=masked, target=at, context_target=index)

    def rows(self, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED) -> Iterable[np.ndarray]:
        """Return the rows of :meth:`logits` without a copy of stored ones. Do not change them."""
        with self._lock:
            stored = [self._rows.get(k) for k in keys]
        stored_rows = [row for row in stored if row is not None]
        return stored_rows if len(stored_rows) == len(keys) else self.logits(keys, task)

    def logits(self, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED) -> np.ndarray:
        """Return raw logits float32 (len(keys), V) of (token index, insertion?), original text in the masked half."""
        rows = self._rows
        with self._lock:
            missing = [k for k in keys if k not in rows]
        if missing:
            requests = [self.request(i, insert) for i, insert in missing]
            scores = self.of_allowed(score(self.model, self.document.language, requests, task))
            if len(missing) == len(keys):
                fresh = scores
            else:
                at = {k: j for j, k in enumerate(missing)}
                with self._lock:
                    fresh = np.stack([scores[at[k]] if k in at else rows[k] for k in keys])
            self.fill(missing, scores)
            return fresh
        with self._lock:
            if len(keys) == 1:  # views request single words, so this makes no copy
                one = rows[keys[0]][np.newaxis]
                one.flags.writeable = False
                return one
            return np.stack([rows[k] for k in keys]) if keys else np.empty((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class MaskedTrace(Trace):
    """How each word was sampled.

    acts: the release at each token; keys: the draw of each step as (token, whether it was added), None without a draw.
    fresh: the noise is not that of ``stream``.
    """

    mechanism: MaskedWords
    prepared: MaskedPrepared
    acts: Acts
    keys: tuple[tuple[int, bool] | None, ...]
    stream: NoiseStream
    fresh: bool

    @property
    def can(self) -> frozenset[str]:  # type: ignore[override]
        return self.mechanism.can - {"sweep"} if self.fresh else self.mechanism.can

    def logits(self, i: int, unit: Unit) -> np.ndarray | None:
        key = self.keys[i]
        return None if key is None else self.mechanism.scores_at(self.prepared, self.before(key), *key)

    def table(self, i: int, unit: Unit) -> Channel:
        key = self.keys[i]
        assert key is not None
        if self.mechanism.config.order == "parallel":
            return self.mechanism.tables(self.prepared, [key])[0]
        return self.mechanism.table_given(self.prepared, self.before(key), *key)

    def views(self, i: int, unit: Unit) -> tuple:
        return () if self.keys[i] is None else self.mechanism._views(self.table(i, unit), unit)

    def before(self, key: tuple[int, bool]) -> Acts:
        """Return the earlier releases of this draw, in order."""
        earlier = list(self.acts)[: list(self.acts).index(key[0])]
        return {j: self.acts[j] for j in earlier} | {key[0]: (self.acts[key[0]][0], None)}

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.table(i, unit).at(unit.epsilon)

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        key = self.keys[i]
        if key is None or "sweep" not in self.can:
            return super().locked(i, unit)
        return self.table(i, unit), self.stream.at(*key)
