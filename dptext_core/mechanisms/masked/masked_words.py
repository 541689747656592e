"""The shared base of mechanisms that sample words by a masked language model's scores: plan, draws, text.

A mechanism derives from :class:`MaskedWords` and turns the scores of a place into a distribution. It overrides
:meth:`MaskedWords.tables` for parallel sampling, each word in the original text, and :meth:`MaskedWords.tables_given`
for sequential sampling, in which later words see earlier releases.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...errors import InputError, NoDistribution
from ...models.registry import masked_lm_spec, weights_sha256
from ...pieces import DELETED_BY_CHANCE, copy_step
from ...privacy.distribution import Channel, TokenDistribution
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import NotProtectedKind, UnitKind
from ...privacy.sampling import NoiseStream, draw
from ...privacy.terms import ComparisonScope, NotProtected, ProtectedUnit, Reason
from ...result import RewriteResult, Step, Unit
from ...support.checks import check_whole_number, text_list
from ...support.task import UNWATCHED, Task
from ...text.document import Document, Token
from ...text.lexicon import Lexicon
from ...text.lexicons import stop_words
from ...text.names_and_numbers import names_and_numbers
from ...text.skeleton import Edit
from ..base import Mechanism, in_runs
from ..capabilities import Alignment, InputCoverage, StoredScores
from ..config import finished
from ..likelihood import Likelihood
from ..preparing import Prepared
from .masked_facets import MaskedLikelihood, Places, _InputCoverage, _Scores
from .masked_prepared import ROWS_KEPT, Acts, Draw, MaskedPrepared, MaskedTrace
from .model_words import banned_candidates, candidates, language_model, lookup, score, without_banned

_BLOCK = 128
#: Words of several texts per call of the engine.
_ASKED = 256
#: Number of texts that are sampled together, word by word.
_IN_STEP = 32


class MaskedWords(Mechanism):
    """Replace every word by a sample from a masked language model's scores at its place."""

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
        return banned_candidates(self.config.model, self.language, self.never)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Return the words that can be released, in the order of scores."""
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
        """Yield prepared texts in order. Short ones go through the model together."""
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
        """Compute and store the scores of texts, up to the limit of a prepared text, in one call."""
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
        scores = without_banned(score(self.config.model, self.language, requests, task), self._banned)
        at = 0
        for p, some in zip(texts, keys, strict=True):
            part = scores[at : at + len(some)]
            # A stored text must not keep the scores of all the others alive.
            p.fill(some, part if len(part) == len(scores) else part.copy())
            at += len(some)

    @property
    def likelihood(self) -> Likelihood[MaskedWords]:
        return MaskedLikelihood(self, sweeps=self.config.order == "parallel")

    @property
    def kept_scores(self) -> StoredScores[MaskedWords]:
        return _Scores(self)

    @property
    def reading(self) -> InputCoverage[MaskedWords]:
        return _InputCoverage(self)

    @property
    def alignment(self) -> Alignment[MaskedWords]:
        return Places(self)

    def plan(self, text: str | Prepared | Document) -> MaskedPrepared:
        """Return the text with its copied and replaced tokens; scores are computed on first use."""
        if isinstance(text, Prepared):
            return self._planned(text)
        document = text if isinstance(text, Document) else self.document(text)
        stop = stop_words(self.config.stopwords, self.language) if self.config.keep_stopwords else None
        reasons = self._reasons(document, stop)
        targets = tuple(i for i, r in enumerate(reasons) if r is None)
        c = self.config
        return self.prepared_cls(document, self.key, reasons, targets, c.model, c.contextualize, stop, self.never)

    def plan_document(self, document: Document) -> MaskedPrepared:
        """Return the plan of a tokenised text, without a model pass."""
        return self.plan(document)

    def _planned(self, text: str | Prepared) -> MaskedPrepared:
        prepared = self.prepared(text) if isinstance(text, Prepared) else self.plan(text)
        assert isinstance(prepared, MaskedPrepared)
        return prepared

    # --- scores to distributions

    @abstractmethod
    def tables(
        self, prepared: MaskedPrepared, keys: Sequence[tuple[int, bool]], task: Task = UNWATCHED
    ) -> Sequence[Channel]:
        """Return the channels of (token index, insertion?) if every word is sampled in the original text."""

    @abstractmethod
    def tables_given(self, draws: Sequence[Draw], task: Task = UNWATCHED) -> Sequence[Channel]:
        """Return the channels of draws of several texts, each given the releases before it."""

    def table_given(
        self, prepared: MaskedPrepared, acts: Acts, index: int, insert: bool, task: Task = UNWATCHED
    ) -> Channel:
        """Return the channel of one draw: see :meth:`tables_given`."""
        return self.tables_given([Draw(prepared, acts, index, insert)], task)[0]

    def scores_at(self, prepared: MaskedPrepared, acts: Acts, index: int, insert: bool) -> np.ndarray | None:
        """Return the model's scores at one draw before clipping, float32 (V,); None if nothing is clipped."""
        if self.config.order == "parallel":
            return prepared.logits([(index, insert)])[0]
        return self._logits_given([Draw(prepared, acts, index, insert)])[0]

    def _keep(self, source: str | None) -> np.ndarray:
        """Return the index of the original word among the candidates."""
        if source is None:
            return NOWHERE
        return lookup(self.config.model, self.language, self._banned).get(source.casefold(), NOWHERE)

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        prepared = self._planned(text)
        tokens = prepared.document.tokens
        if not 0 <= check_whole_number("index, the number of a token,", index) < len(tokens):
            raise InputError(
                f"There is no token {index}: the text has {len(tokens)}, counted from 0. Choose one of these."
            )
        reason = prepared.reasons[index]
        if reason is not None:
            raise NoDistribution(f"Token {index} is kept ({reason}), so it has no distribution. Choose another one.")
        epsilon = self.epsilons(prepared)[index]
        return self.tables(prepared, [(index, False)])[0].at(epsilon)

    # --- the guarantee

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
            unit=ProtectedUnit(UnitKind.RELEASED_WORD),
            adjacency=self.adjacency(),
            draws=most,
            total=worst,
            expected=expected,
            exposed=self._exposed_beside(prepared.reasons, prepared.stop, self._length_exposed()),
            reason=reason or "",
            spent=tuple(spent) * (most // max(1, len(spent))),
            bounded_range=True,
            among=self._among(),
            **self.never.counts(),
        )

    def _among(self) -> ComparisonScope:
        """Return what a text must share with the private one for a single draw to be compared."""
        return ComparisonScope()

    def _views(self, channel: Channel, unit: Unit) -> tuple:
        """Return figures of how a word was sampled."""
        return ()

    def _broken(self) -> Reason | None:
        """Return why there is no guarantee with these options; None where there is one."""
        return None

    def _composition(self, spent: Sequence[float]) -> tuple[float, float | None, int]:
        """Return the worst-case total, the expected total if it is random, and the largest number of draws."""
        return float(sum(spent)), None, len(spent)

    def _length_exposed(self) -> NotProtected:
        return NotProtected(NotProtectedKind.TOKEN_COUNT)

    # --- sampling

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
        guarantee = self.guarantee(prepared)
        return [self._result(prepared, epsilons, act, stream.at("fresh", k), guarantee) for k, act in enumerate(acts)]

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        if self.config.order == "parallel":
            return super().rewrite_list(texts, stream, task)
        streams = [stream.at(i) for i in range(len(texts))]
        planned = [p for text, n in in_runs(texts) for p in [self._planned(text)] * n]
        return self._rewrite_in_step(planned, streams, task)

    def _rewrite_in_step(
        self, texts: Sequence[MaskedPrepared], streams: Sequence[NoiseStream], task: Task
    ) -> list[RewriteResult]:
        """Rewrite texts whose words are sampled in sequence. Each model pass serves one word of every text."""
        out: list[RewriteResult] = []
        for start in range(0, len(texts), _IN_STEP):
            block, block_streams = texts[start : start + _IN_STEP], streams[start : start + _IN_STEP]
            acts = self._draw_in_step(block, block_streams, task.quiet)
            out += [self._result(p, self.epsilons(p), a, s) for p, a, s in zip(block, acts, block_streams, strict=True)]
            task.report(len(out), len(texts))
        return out

    def _choices(self, index: int, stream: NoiseStream) -> tuple[bool, bool]:
        """Return whether token ``index`` is deleted, and whether a word is added after it."""
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
        """Return the replaced tokens in the order of sampling, if they are not sampled in parallel."""
        return prepared.targets

    def _draw_in_step(
        self, texts: Sequence[MaskedPrepared], streams: Sequence[NoiseStream], task: Task = UNWATCHED
    ) -> list[Acts]:
        """Sample each word given the earlier releases (Algorithms 2 and 3): see :meth:`_draw_parallel`."""
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
        """Return raw logits (n, V) of draws: the masked half has the earlier releases and original words."""
        stored = [d.prepared.given(d) for d in draws]
        missing = [d for d, row in zip(draws, stored, strict=True) if row is None]
        if not missing:
            return np.stack([row for row in stored if row is not None])
        requests = [self._request_given(*d) for d in missing]
        scores = without_banned(score(self.config.model, self.language, requests, task.quiet), self._banned)
        for d, row in zip(missing, scores, strict=True):
            d.prepared.keep(d, row)
        fresh = iter(scores)
        return scores if len(missing) == len(draws) else np.stack([next(fresh) if r is None else r for r in stored])

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
        self, prepared: MaskedPrepared, epsilons, acts, stream: NoiseStream, guarantee: Guarantee | None = None
    ) -> RewriteResult:
        """Return the released text with its steps. guarantee: given if the noise is not that of ``stream``."""
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
        skeleton, written = finished(self.config, prepared.skeleton, [e.text for e in edits], [e.after for e in edits])
        spliced = skeleton.render(edits)
        steps: list[Step] = []
        drawn: list[tuple[int, bool] | None] = []
        for i, token in enumerate(document.tokens):
            span, out = (token.start, token.end), spliced.spans[i]
            if i not in acts:
                steps.append(copy_step(token, i, prepared.reasons[i] or "", out, written))
                drawn.append(None)
                continue
            word, added = acts[i]
            if word is None:
                steps.append(Step(span, token.text, "", "delete", DELETED_BY_CHANCE, 0.0, out, i))
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
                    Step(after, "", edits[i].after or "", "insert", "added at random", epsilons[i], inserted, i)
                )
                drawn.append((i, True))

        return RewriteResult.of(
            self,
            prepared,
            stream,
            spliced.text,
            tuple(steps),
            guarantee=guarantee,
            trace=MaskedTrace(self, prepared, acts, tuple(drawn), stream, guarantee is not None),
        )


NOWHERE = np.empty(0, np.int64)


def _draw_word(table: Channel, epsilon: float, stream: NoiseStream) -> str:
    return table.candidates[table.draw(epsilon, stream)]
