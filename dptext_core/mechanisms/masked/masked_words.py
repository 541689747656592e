"""What mechanisms share that draw each word from a masked language model's scores: the plan, the draws, the text.

A mechanism derives from :class:`MaskedWords` and says what the scores of a place become: :meth:`MaskedWords.tables`
where all words are drawn in parallel, each in the original text, and :meth:`MaskedWords.tables_given` where later words
see what was released before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ...errors import ConfigError, InputError, NoDistribution
from ...models import word_chances
from ...models.registry import masked_lm_spec, weights_sha256
from ...privacy.distribution import Channel, TokenDistribution
from ...privacy.guarantee import Guarantee
from ...privacy.sampling import NoiseStream, draw
from ...result import RewriteResult, Step, Trace, Unit
from ...support.cache import OwnLock
from ...support.checks import text_list, whole
from ...support.task import UNWATCHED, Task
from ...text.document import Document, Token
from ...text.language import Language
from ...text.lexicon import Lexicon
from ...text.lexicons import stop_words
from ...text.names_and_numbers import names_and_numbers
from ...text.skeleton import Edit, Skeleton
from ..base import Mechanism, Prepared, in_runs
from ..blocklist import NOTHING, Never, loaded
from ..capabilities import Aligned, KeptScores, Reading
from ..likelihood import Chances, of_words

if TYPE_CHECKING:
    from ...models.masked_lm import MaskedLM

#: Rows of scores (one a token, 4 bytes a candidate) a prepared text keeps; longer texts are scored again on demand.
ROWS_KEPT = 800
_BLOCK = 128
#: Words of several texts that are asked for in one call.
_ASKED = 256
#: Texts whose words are drawn in step.
_IN_STEP = 32
#: Seconds a call waits for the engine (and one more for each mask) before it says "busy".
PATIENCE = 60.0


#: For each replaced token: the released word (None: deleted), and the word added after it (None: none).
Acts = dict[int, tuple[str | None, str | None]]
T = TypeVar("T")


class Draw(NamedTuple):
    """One draw, of the word of token ``token`` or of one more after it, and what was released in the draws before."""

    prepared: MaskedPrepared
    acts: Acts
    token: int
    insert: bool

    @property
    def sees(self) -> tuple:
        """Which draw of its text it is, and all of the others that its scores depend on."""
        return self.token, self.insert, *((i, a) for i, a in self.acts.items() if self.insert or i != self.token)


@dataclass(frozen=True, eq=False)
class MaskedPrepared(Prepared):
    """A text cut into word pieces, and the model's scores at its masks (raw logits, before clipping).

    reasons: for each token why it is kept, None where it is replaced. stop: the list of stop words that were kept, None
    where none are. never: the words that no scores are of. Scores appear when they are first asked for.
    """

    reasons: tuple[str | None, ...]
    targets: tuple[int, ...]
    model: str
    contextualize: bool
    stop: Lexicon | None = None
    never: Never = NOTHING

    _rows: dict[tuple[int, bool], np.ndarray] = field(default_factory=dict, init=False, repr=False)
    _given: dict[tuple, np.ndarray] = field(default_factory=dict, init=False, repr=False)
    _pieces: list[list[int]] = field(default_factory=list, init=False, repr=False)
    _tables: dict[tuple, Any] = field(default_factory=dict, init=False, repr=False)
    _shared: list[bool] = field(default_factory=list, init=False, repr=False)
    _lock: OwnLock = field(default_factory=OwnLock, init=False, repr=False)

    @cached_property
    def skeleton(self) -> Skeleton:
        """What is released besides drawn words: kept tokens and gaps."""
        return self.document.skeleton([r is None for r in self.reasons])

    @property
    def pieces(self) -> list[list[int]]:
        """Word-piece ids of each token."""
        if not self._pieces:
            self.cut(language_model(self.model, self.document.language))
        return self._pieces

    def cut(self, lm: MaskedLM) -> None:
        """Cut the text into word pieces, unless that was done before."""
        with self._lock:
            if not self._pieces:
                self._pieces.extend(lm.encode(self.document))

    def fill(self, keys: Sequence[tuple[int, bool]], logits: np.ndarray) -> None:
        """Keep scores that were computed already, as many as a prepared text holds."""
        with self._lock:
            for k, row in zip(keys, logits, strict=True):
                if len(self._rows) < ROWS_KEPT:
                    self._rows[k] = row

    def share(self) -> None:
        self._shared.append(True)

    def table(self, key: tuple, make: Callable[[], T]) -> T:
        """What is made of the scores of one draw; of a shared text what was made before by the same ``key``, as far as
        it is among those that came last, of two ways to make all of them."""
        if not self._shared:
            return make()
        with self._lock:
            found = self._tables.get(key)
        if found is None:
            found = make()
            with self._lock:
                found = self._tables.setdefault(key, found)
                if len(self._tables) > 2 * len(self.targets):
                    del self._tables[next(iter(self._tables))]
        return found

    def given(self, draw: Draw) -> np.ndarray | None:
        """Scores of a draw that depends on those before it, where they are kept."""
        with self._lock:
            return self._given.get(draw.sees)

    def keep(self, draw: Draw, scores: np.ndarray) -> None:
        """Keep such scores: those that came last, of as many draws as a rewrite has."""
        with self._lock:
            self._given[draw.sees] = scores.copy()
            if len(self._given) > min(ROWS_KEPT, 2 * len(self.targets)):
                del self._given[next(iter(self._given))]

    def has(self, key: tuple[int, bool]) -> bool:
        """Whether the scores of this draw are kept already."""
        with self._lock:
            return key in self._rows

    def of_allowed(self, scores: np.ndarray) -> np.ndarray:
        """Scores (n, V) of all candidates of the model → those of the ones that may be released."""
        return left(scores, banned(self.model, self.document.language, self.never))

    def request(self, index: int, insert: bool = False, given: tuple[list[list[int]], int] | None = None):
        """What the model is asked for: the mask on token ``index``, or on a new token after it.

        given: the masked half and the place of its mask where it is no longer the original text.
        """
        from ...models import MaskRequest

        masked, at = given or (self.pieces, index)
        if given is None and insert:
            at = index + 1
            masked = [*masked[:at], [], *masked[at:]]
        context = self.pieces if self.contextualize else None
        return MaskRequest(context=context, masked=masked, target=at, context_target=index)

    def rows(self, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED) -> Sequence[np.ndarray]:
        """The rows of :meth:`logits`, without a copy of those that are kept. Do not change them."""
        with self._lock:
            kept = [self._rows.get(k) for k in keys]
        found = [row for row in kept if row is not None]
        return found if len(found) == len(keys) else self.logits(keys, task)

    def logits(self, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED) -> np.ndarray:
        """Raw logits float32 (len(keys), V) of (token index, insertion?), original text in the masked half."""
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
            if len(keys) == 1:  # as what is shown of a word asks, for each word: no copy of it
                one = rows[keys[0]][np.newaxis]
                one.flags.writeable = False
                return one
            return np.stack([rows[k] for k in keys]) if keys else np.empty((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class MaskedTrace(Trace):
    """How each word was drawn. acts: what was released at each token; keys: the draw of each step as (token, whether it
    was added), None where there was none. fresh: the noise is not that of ``stream``."""

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
        """What was released before this draw, in the order of the draws."""
        earlier = list(self.acts)[: list(self.acts).index(key[0])]
        return {j: self.acts[j] for j in earlier} | {key[0]: (self.acts[key[0]][0], None)}

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.table(i, unit).at(unit.epsilon)

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        key = self.keys[i]
        if key is None or "sweep" not in self.can:
            return super().locked(i, unit)
        return self.table(i, unit), self.stream.at(*key)


class MaskedWords(Mechanism):
    """Every word is replaced by a draw from a table of scores that a masked language model gives at its place."""

    family = "masked language model"
    notion = "pure"
    needs = ("masked language model",)

    def loads(self) -> Mapping[str, str]:
        return {"model": weights_sha256(masked_lm_spec(self.config.model).folder)}

    @property
    def model_ready(self) -> bool:
        from ...models import engine

        return engine(self.config.model, language=self.language).ready

    prepared_cls: ClassVar[type[MaskedPrepared]] = MaskedPrepared
    takes_never = True

    # --- what can be released

    @cached_property
    def _banned(self) -> tuple[int, ...]:
        return banned(self.config.model, self.language, self.never)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The words that can be released, in the order of scores."""
        return candidates(self.config.model, self.language, self._banned)

    # --- which tokens are replaced

    def _reasons(self, document: Document, stop: Lexicon | None) -> tuple[str | None, ...]:
        written = names_and_numbers(document) if stop is not None else {}
        return tuple(self._reason(t, None if i in written else stop) for i, t in enumerate(document.tokens))

    def _reason(self, token: Token, stop: Lexicon | None) -> str | None:
        if self.never.bans(token.text):
            return None
        if token.kind == "symbol":
            return "symbol"
        if token.kind == "punct":
            return "punctuation" if self.config.keep_punctuation else None
        if stop is not None and (token.kind == "clitic" or token.text in stop):
            return "stop word"
        return None

    def prepare_document(self, document: Document, task: Task) -> MaskedPrepared:
        prepared = self.plan(document)
        self._score([prepared], task)
        return prepared

    def prepare_many(self, texts: Sequence[str], *, task: Task | None = None) -> Iterator[Prepared]:
        """Prepared texts, one after the other. Short ones go through the model together."""
        task, planned = task or UNWATCHED, [self.plan(text) for text in text_list(texts)]
        begin = words = 0
        for k, prepared in enumerate(planned, 1):
            words += len(prepared.targets)
            if words >= _ASKED or k == len(planned):
                self._score(planned[begin:k], task.quiet)
                yield from planned[begin:k]
                task.report(k, len(planned))
                begin, words = k, 0

    def _score(self, texts: Sequence[MaskedPrepared], task: Task) -> None:
        """Compute and keep the scores of texts, of as many words as a prepared text holds, all in one call."""
        if self.config.order != "parallel":
            return
        keys = [[(i, False) for i in p.targets] if len(p.targets) <= ROWS_KEPT else [] for p in texts]
        self._fill(texts, keys, task)

    def _fill(self, texts: Sequence[MaskedPrepared], keys: Sequence[list[tuple[int, bool]]], task: Task) -> None:
        if not any(keys):
            return
        lm = language_model(self.config.model, self.language)
        for p, some in zip(texts, keys, strict=True):
            if some:
                p.cut(lm)
        requests = [p.request(*key) for p, some in zip(texts, keys, strict=True) for key in some]
        scores = left(score(self.config.model, self.language, requests, task), self._banned)
        at = 0
        for p, some in zip(texts, keys, strict=True):
            own = scores[at : at + len(some)]
            # A text that is kept must not hold the scores of all the others.
            p.fill(some, own if len(own) == len(scores) else own.copy())
            at += len(some)

    @property
    def chances(self) -> Chances[MaskedWords]:
        return MaskedChances(self, sweeps=self.config.order == "parallel")

    @property
    def kept_scores(self) -> KeptScores[MaskedWords]:
        return _Scores(self)

    @property
    def reading(self) -> Reading[MaskedWords]:
        return _Reading(self)

    @property
    def aligned(self) -> Aligned[MaskedWords]:
        return Places(self)

    def plan(self, text: str | Prepared | Document) -> MaskedPrepared:
        """The text with what is kept and what is replaced; scores are computed when they are first asked for."""
        if isinstance(text, Prepared):
            return self._planned(text)
        document = text if isinstance(text, Document) else self.document(text)
        stop = stop_words(self.config.stopwords, self.language) if self.config.keep_stopwords else None
        reasons = self._reasons(document, stop)
        targets = tuple(i for i, r in enumerate(reasons) if r is None)
        c = self.config
        return self.prepared_cls(document, self.key, reasons, targets, c.model, c.contextualize, stop, self.never)

    def _planned(self, text: str | Prepared) -> MaskedPrepared:
        prepared = self.prepared(text) if isinstance(text, Prepared) else self.plan(text)
        assert isinstance(prepared, MaskedPrepared)
        return prepared

    # --- scores to distributions

    @abstractmethod
    def tables(
        self, prepared: MaskedPrepared, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED
    ) -> Sequence[Channel]:
        """The channels of (token index, insertion?) where every word is drawn in the original text."""

    @abstractmethod
    def tables_given(self, draws: Sequence[Draw], task: Task = UNWATCHED) -> Sequence[Channel]:
        """The channels of draws, each given what was released in the draws before it; of several texts at once."""

    def table_given(
        self, prepared: MaskedPrepared, acts: Acts, index: int, insert: bool, task: Task = UNWATCHED
    ) -> Channel:
        """As :meth:`tables_given`, of one draw."""
        return self.tables_given([Draw(prepared, acts, index, insert)], task)[0]

    def scores_at(self, prepared: MaskedPrepared, acts: Acts, index: int, insert: bool) -> np.ndarray | None:
        """The model's scores at one draw before they are clipped, float32 (V,); None where none are clipped."""
        if self.config.order == "parallel":
            return prepared.logits([(index, insert)])[0]
        return self._logits_given([Draw(prepared, acts, index, insert)])[0]

    def _keep(self, source: str | None) -> np.ndarray:
        """Where the original word stands among the candidates."""
        if source is None:
            return NOWHERE
        return lookup(self.config.model, self.language, self._banned).get(source.casefold(), NOWHERE)

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        prepared = self._planned(text)
        tokens = prepared.document.tokens
        if not 0 <= whole("index, the number of a token,", index) < len(tokens):
            raise InputError(f"There is no token {index}: the text has {len(tokens)}, counted from 0.")
        reason = prepared.reasons[index]
        if reason is not None:
            raise NoDistribution(f"Token {index} is kept as it is ({reason}), so no word is drawn for it.")
        epsilon = self.epsilons(prepared)[index]
        return self.tables(prepared, [(index, False)])[0].at(epsilon)

    # --- the promise

    def guarantee(self, text: str | Prepared) -> Guarantee:
        prepared = self._planned(text)
        every = self.epsilons(prepared)
        spent = [every[i] for i in prepared.targets]
        per_draw = max(spent, default=0.0 if isinstance(self.config.epsilon, tuple) else self.config.epsilon)
        worst, expected, most = self._composition(spent)
        reason = self._broken()
        return Guarantee(
            notion="none" if reason else "pure",
            epsilon=per_draw,
            unit="released word",
            adjacency=self.adjacency(),
            draws=most,
            total=worst,
            expected=expected,
            exposed=self._exposed_beside(prepared.reasons, prepared.stop, self._length_exposed()),
            reason=reason,
            spent=tuple(spent) * (most // max(1, len(spent))),
            bounded_range=True,
            among=self._among(),
            **self.never.counts(),
        )

    def _among(self) -> str:
        """What a text must share with the private one for a single draw to be compared; empty: any two are."""
        return ""

    def _views(self, channel: Channel, unit: Unit) -> tuple:
        """Pictures of how a word came about."""
        return ()

    def _broken(self) -> str:
        """Why there is no promise with these options; empty where there is one."""
        return ""

    def _composition(self, spent: Sequence[float]) -> tuple[float, float | None, int]:
        """Worst-case total, expected total where it is random, largest number of draws."""
        return float(sum(spent)), None, len(spent)

    def _length_exposed(self) -> str:
        return "the number of words, and which places were kept"

    # --- drawing

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        assert isinstance(prepared, MaskedPrepared)
        epsilons = self.epsilons(prepared)
        if self.config.order != "parallel":
            acts = self._draw_in_step([prepared], [stream], task)[0]
        else:
            acts = self._draw_parallel(prepared, epsilons, stream, task)
        return self._result(prepared, epsilons, acts, stream)

    def rewrite_repeatedly(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        assert isinstance(prepared, MaskedPrepared)
        if self.config.order != "parallel":
            streams = [stream.at("fresh", k) for k in range(n)]
            return self._rewrite_in_step([prepared] * n, streams, task)
        if type(self)._choices is not MaskedWords._choices:
            return super().rewrite_repeatedly(prepared, n, stream, task)
        epsilons = self.epsilons(prepared)
        acts: list[Acts] = [{} for _ in range(n)]
        for start in range(0, len(prepared.targets), _BLOCK):
            block = prepared.targets[start : start + _BLOCK]
            for i, table in zip(block, self.tables(prepared, [(i, False) for i in block], task), strict=True):
                task.check()
                drawn = draw(table.at(epsilons[i]).log_probs, stream.at(i, False), n)
                for act, word in zip(acts, drawn, strict=True):
                    act[i] = (table.candidates[word], None)
            task.report(start + len(block), len(prepared.targets))
        promise = self.guarantee(prepared)
        return [self._result(prepared, epsilons, act, stream.at("fresh", k), promise) for k, act in enumerate(acts)]

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        if self.config.order == "parallel":
            return super().rewrite_list(texts, stream, task)
        streams = [stream.at(i) for i in range(len(texts))]
        planned = [p for text, n in in_runs(texts) for p in [self._planned(text)] * n]
        return self._rewrite_in_step(planned, streams, task)

    def _rewrite_in_step(
        self, texts: Sequence[MaskedPrepared], streams: Sequence[NoiseStream], task: Task
    ) -> list[RewriteResult]:
        """Texts whose words are drawn one after the other, many texts at once: a pass serves a word of each."""
        out: list[RewriteResult] = []
        for start in range(0, len(texts), _IN_STEP):
            block, own = texts[start : start + _IN_STEP], streams[start : start + _IN_STEP]
            acts = self._draw_in_step(block, own, task.quiet)
            out += [self._result(p, self.epsilons(p), a, s) for p, a, s in zip(block, acts, own, strict=True)]
            task.report(len(out), len(texts))
        return out

    def _choices(self, index: int, stream: NoiseStream) -> tuple[bool, bool]:
        """Whether token ``index`` is deleted, and whether a word is added after it."""
        return False, False

    def _draw_parallel(self, prepared, epsilons, stream, task: Task) -> Acts:
        keys: list[tuple[int, bool]] = []
        for i in prepared.targets:
            delete, add = self._choices(i, stream)
            keys += [(i, False)] * (not delete) + [(i, True)] * add
        acts: Acts = dict.fromkeys(prepared.targets, (None, None))
        for start in range(0, len(keys), _BLOCK):
            task.check()
            block = keys[start : start + _BLOCK]
            for (i, insert), table in zip(block, self.tables(prepared, block, task), strict=True):
                word = _draw_word(table, epsilons[i], stream.at(i, insert))
                acts[i] = (acts[i][0], word) if insert else (word, acts[i][1])
            task.report(min(start + _BLOCK, len(keys)), len(keys))
        return acts

    def _order(self, prepared: MaskedPrepared, task: Task = UNWATCHED) -> Sequence[int]:
        """The replaced tokens in the order in which they are drawn, where they are not drawn in parallel."""
        return prepared.targets

    def _draw_in_step(
        self, texts: Sequence[MaskedPrepared], streams: Sequence[NoiseStream], task: Task = UNWATCHED
    ) -> list[Acts]:
        """As :meth:`_draw_parallel`, but later words see what was released before (Algorithms 2 and 3)."""
        orders = [self._order(p, task) for p in texts]
        epsilons = [self.epsilons(p) for p in texts]
        acts: list[Acts] = [{} for _ in texts]
        steps = max(map(len, orders), default=0)
        for step in range(steps):
            task.check()
            at = {t: order[step] for t, order in enumerate(orders) if step < len(order)}
            choices = {t: self._choices(i, streams[t]) for t, i in at.items()}
            for t, i in at.items():
                acts[t][i] = (None, None)
            for insert in (False, True):
                wanted = [t for t, (delete, add) in choices.items() if (add if insert else not delete)]
                draws = [Draw(texts[t], dict(acts[t]), at[t], insert) for t in wanted]
                for t, channel in zip(wanted, self.tables_given(draws, task) if draws else (), strict=True):
                    i = at[t]
                    word = _draw_word(channel, epsilons[t][i], streams[t].at(i, insert))
                    acts[t][i] = (acts[t][i][0], word) if insert else (word, None)
            task.report(step + 1, steps)
        return acts

    def _logits_given(self, draws: Sequence[Draw], task: Task = UNWATCHED) -> np.ndarray:
        """Raw logits (n, V) of draws: the masked half has what was released before, and else the original words."""
        kept = [d.prepared.given(d) for d in draws]
        missing = [d for d, row in zip(draws, kept, strict=True) if row is None]
        if not missing:
            return np.stack([row for row in kept if row is not None])
        requests = [self._request_given(*d) for d in missing]
        scores = left(score(self.config.model, self.language, requests, task.quiet), self._banned)
        for d, row in zip(missing, scores, strict=True):
            d.prepared.keep(d, row)
        fresh = iter(scores)
        return scores if len(missing) == len(draws) else np.stack([next(fresh) if r is None else r for r in kept])

    def _request_given(self, prepared: MaskedPrepared, acts: Acts, index: int, insert: bool):
        lm = language_model(self.config.model, self.language)
        masked: list[list[int]] = []
        at = 0
        for i, pieces in enumerate(prepared.pieces):
            released, added = acts.get(i, ("", None))
            if i == index:
                if not insert:
                    at = len(masked)
                    masked.append(pieces)
                else:
                    if released is not None:
                        masked.append(lm.word_pieces(released))
                    at = len(masked)
                    masked.append([])
                continue
            if released == "":
                masked.append(pieces)
            elif released is not None:
                masked.append(lm.word_pieces(released))
            if added is not None:
                masked.append(lm.word_pieces(added))
        return prepared.request(index, insert, (masked, at))

    def _result(
        self, prepared: MaskedPrepared, epsilons, acts, stream: NoiseStream, promise: Guarantee | None = None
    ) -> RewriteResult:
        """The released text with its steps. promise: given where the noise is fresh and not that of ``stream``."""
        document = prepared.document
        deleted = {i for i, (word, _) in acts.items() if word is None}
        begins = prepared.skeleton.starts(deleted)
        edits: list[Edit] = []
        capitals: list[bool] = []
        for i, token in enumerate(document.tokens):
            capitals.append(i in acts and self._capital(token.text, begins[i]))
            if i in acts:
                word, added = acts[i]
                shown = "" if word is None else self._case(word, capitals[i])
                edits.append(Edit(text=shown, after=None if added is None else self._case(added, False)))
            else:
                edits.append(Edit())
        spliced = prepared.skeleton.render(edits)
        steps: list[Step] = []
        drawn: list[tuple[int, bool] | None] = []
        for i, token in enumerate(document.tokens):
            span, out = (token.start, token.end), spliced.spans[i]
            if i not in acts:
                reason = prepared.reasons[i] or ""
                steps.append(Step(span, token.text, token.text, "keep", reason, 0.0, out, i))
                drawn.append(None)
                continue
            word, added = acts[i]
            if word is None:
                steps.append(Step(span, token.text, "", "delete", "deleted by chance", 0.0, out, i))
                drawn.append(None)
            else:
                steps.append(
                    Step(span, token.text, edits[i].text or "", "replace", "", epsilons[i], out, i, capitals[i])
                )
                drawn.append((i, False))
            if added is not None:
                inserted = spliced.inserted[i]
                assert inserted is not None
                after = (token.end, token.end)
                steps.append(
                    Step(after, "", edits[i].after or "", "insert", "added by chance", epsilons[i], inserted, i)
                )
                drawn.append((i, True))

        return RewriteResult.of(
            self,
            prepared,
            stream,
            spliced.text,
            tuple(steps),
            guarantee=promise,
            trace=MaskedTrace(self, prepared, acts, tuple(drawn), stream, promise is not None),
        )


class _Scores(KeptScores[MaskedWords]):
    """Those of the masks in the original text. What is put there is of all candidates of the model, or what ``of``
    gives of a mechanism that releases the same words."""

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


class _Reading(Reading[MaskedWords]):
    """By the words that the model has whole."""

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        from ...models.coverage import knows

        prepared = self.m._planned(text)
        known = knows(self.m.config.model, prepared.document)
        words = [i for i, t in enumerate(prepared.document.tokens) if t.kind == "word"]
        return sum(known[i] or prepared.reasons[i] is not None for i in words), len(words)

    def uncovered(self) -> str:
        return "the model reads them letter by letter or not at all, and puts other words in their place."


class Places(Aligned[MaskedWords]):
    """By the plan alone."""

    def drawn(self, text: str | Prepared) -> tuple[int, ...]:
        return self.m._planned(text).targets


class MaskedChances(Chances[MaskedWords]):
    """In sequential order what a word is drawn from depends on the words before it, at every ε on others."""

    @property
    def in_turn(self) -> bool:
        return self.m.config.order != "parallel"

    def before(self, prepared: Prepared, stream: NoiseStream) -> dict[int, tuple[tuple[int, str], ...]]:
        if not self.in_turn:
            return {}
        (acts,) = self.m._draw_in_step([self.m._planned(prepared)], [stream])
        found: dict[int, tuple[tuple[int, str], ...]] = {}
        before: list[tuple[int, str]] = []
        for i, (word, _) in acts.items():
            found[i] = tuple(before)
            before += [] if word is None else [(i, word)]
        return found

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
        """In sequential order, each word given those before it."""
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


NOWHERE = np.empty(0, np.int64)


def _draw_word(table: Channel, epsilon: float, stream: NoiseStream) -> str:
    return table.candidates[table.draw(epsilon, stream)]


def language_model(model: str, language: Language):
    from ...models import load_masked_lm

    return load_masked_lm(model, language=language)


def score(model: str, language: Language, requests: list, task: Task = UNWATCHED) -> np.ndarray:
    """Raw logits (n, V) of the requests, or Busy instead of an endless wait."""
    from ...models import engine

    scored = engine(model, language=language)
    return scored.score(requests, task=task, timeout=PATIENCE + len(requests))


def left(scores: np.ndarray, banned: tuple[int, ...]) -> np.ndarray:
    """Scores (…, V) without those of banned candidates."""
    return np.delete(scores, banned, axis=-1) if banned else scores


def banned(model: str, language: Language, never: Never) -> tuple[int, ...]:
    """Which of a model's candidates are never released, ascending."""
    public = _loaded(model, language) if never.public else ()
    if not never.own:
        return public
    return tuple(sorted({*public, *Never(never.own).places(candidates(model, language))}))


@lru_cache(maxsize=8)
def _loaded(model: str, language: Language) -> tuple[int, ...]:
    """Which of a model's candidates are on everybody's list: each mechanism asks for them anew, at each ε."""
    return Never(loaded()).places(candidates(model, language))


@lru_cache(maxsize=8)
def candidates(model: str, language: Language, without: tuple[int, ...] = ()) -> tuple[str, ...]:
    """The model's candidates, but for those at the places ``without``; of the bundled model without loading it."""
    if without:
        gone, known = set(without), candidates(model, language)
        if len(gone) >= len(known):
            raise ConfigError(
                f"The list of words that are never released leaves no word of {model!r}. Take some out of the list."
            )
        return tuple(word for i, word in enumerate(known) if i not in gone)
    return word_chances.candidates(model, language)


@lru_cache(maxsize=8)
def lookup(model: str, language: Language, without: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    """Lower-case word → indices among the :func:`candidates`."""
    places: dict[str, list[int]] = {}
    for i, word in enumerate(candidates(model, language, without)):
        places.setdefault(word.casefold(), []).append(i)
    return {w: np.array(at) for w, at in places.items()}
