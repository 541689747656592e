"""The shared base of mechanisms that replace each word from a public vocabulary.

A known word is sampled by the mechanism; an unknown word follows a policy that the user chooses (``oov``). The papers
print unknown words unchanged, which exposes names, numbers and typing errors. Here the default samples uniformly from
the vocabulary, so that unknown words are indistinguishable. If stop words are copied, all mechanisms here deviate from
their papers in one more point: a stop word that is written as a name or a number is replaced like any other word
(:mod:`dptext_core.text.names_and_numbers`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from ..._internal.lazy import Lazy
from ...errors import ConfigError, InputError, NoDistribution
from ...pieces import NOT_IN_VOCABULARY, copy_step
from ...privacy.distribution import Channel, TokenDistribution
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import ConditionKind, NotProtectedKind, UnitKind
from ...privacy.sampling import NoiseStream
from ...privacy.sentences import NOTIONS
from ...privacy.terms import Adjacency, Condition, NotProtected, ProtectedUnit
from ...result import RewriteResult, Step
from ...support.checks import check_whole_number
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ...text.lexicons import stop_words
from ...text.names_and_numbers import names_and_numbers
from ..audit_support import AuditSupport, notion_distances
from ..base import in_runs
from ..blocklist import Blocklist
from ..capabilities import Alignment, InputCoverage, WordByWord
from ..config import finished
from ..likelihood import Likelihood
from ..preparing import Prepared
from .word_codes import KEPT, MASK, UNKNOWN, _codes
from .word_distributions import WordDistributions
from .word_facets import WordLikelihood, _AuditSupport, _InputCoverage, _Places
from .word_options import SpaceConfig
from .word_trace import Constant, Draws, WordPrepared, WordTrace

#: Number of texts rewritten at once; of distinct words whose channels are computed at once; of channels that a prepared
#: text stores.
BLOCK = 256
PART = 128
CHANNELS_KEPT = 200


class WordMechanism(WordDistributions):
    """Replace every word of the vocabulary by a sample of its own (see :meth:`channel`)."""

    family = "words"
    config_cls: ClassVar[type] = SpaceConfig
    needs = ("word space",)
    takes_never = True

    @classmethod
    def check_never(cls, never: Blocklist, config: Any) -> None:
        super().check_never(never, config)
        if config.oov == "mask" and never.bans(MASK):
            raise ConfigError(
                f"Unknown words are shown as {MASK}, but the blocklist contains that word. Remove it, or choose "
                "another treatment of unknown words."
            )

    # --- what each mechanism states about itself

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        """Return the fields of the guarantee that differ between mechanisms, at the largest ε of a draw.

        A guarantee within a group adds ``group``, the words of a group, and a metric one ``metric``, the distance;
        :meth:`distances` states the same in numbers. Raises ConfigError if that is missing.
        """
        wanted = {"group": "the words of a group", "metric": "a distance"}.get(self.notion)
        if wanted and type(self).guarantee_fields is WordMechanism.guarantee_fields:
            raise ConfigError(
                f"{type(self).__name__} states {NOTIONS[self.notion]} without {wanted}. Add it in "
                f"guarantee_fields, as super().guarantee_fields(epsilon) | {{{self.notion!r}: …}}."
            )
        return {"notion": self.notion}

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """Return distances of words, float64 (n, n), in the unit of the guarantee: see :class:`AuditSupport`."""
        return notion_distances(type(self).notion, len(words))

    def leaks(self) -> tuple[str, ...]:
        """Return what else this mechanism reveals of every text, for ``exposed``: NotProtected, or plain strings."""
        return ()

    def _views(self, released: str, row: int, epsilon: float, stream: NoiseStream) -> tuple:
        """Return figures of how a word was sampled."""
        return ()

    def _views_in_place(self, prepared: WordPrepared, i: int, released: str, epsilon: float) -> tuple:
        """Return figures that depend on the place of a word."""
        return ()

    def _similarities(self, row: int) -> Mapping[str, float] | None:
        """Return the cosine of a word with every word, if they have vectors."""
        return None

    # --- the distributions of single words (capabilities.WordByWord)

    @property
    def likelihood(self) -> Likelihood[WordMechanism]:
        return WordLikelihood(self, sweeps=True)

    @property
    def reading(self) -> InputCoverage[WordMechanism]:
        return _InputCoverage(self)

    @property
    def audit_support(self) -> AuditSupport[WordMechanism]:
        return _AuditSupport(self)

    @property
    def alignment(self) -> Alignment[WordMechanism]:
        return _Places(self)

    @property
    def by_word(self) -> WordByWord | None:
        return self

    def token_row(self, prepared: Prepared, i: int) -> int | None:
        row = int(self._planned(prepared).rows[i])
        return row if row >= 0 else None

    def _draws_as(self, cls: type[WordMechanism]) -> bool:
        """Return True if words are sampled as ``cls`` does, so that its formulas apply: a subclass may differ."""
        return all(getattr(type(self), name) is getattr(cls, name) for name in ("channel", "channels"))

    # --- texts

    @cached_property
    def _draws_listed(self) -> bool:
        """Return True if a subclass's vocabulary still contains words on the blocklist."""
        return bool(self.never.places(self.vocabulary.words))

    def prepare_document(self, document: Document, task: Task) -> WordPrepared:
        task.check()
        stop = stop_words(self.config.stopwords, self.language) if self.config.keep_stopwords else None
        codes, never = _codes(self.vocabulary, stop), self.never
        written = names_and_numbers(document) if stop is not None else {}
        if self._draws_listed:
            raise ConfigError(
                f"{self.title} does not support a blocklist. Remove the blocklist, and allow offensive words."
            )
        unknown_stay = self.config.oov == "keep"
        rows = list(map(codes.get, document.words, repeat(UNKNOWN)))
        reasons: list[str | None] = [None] * len(rows)
        # Most words are in the vocabulary as written; the others are looked up.
        for i, kind in enumerate(document.kinds):
            if kind == "word" and rows[i] >= 0:
                continue
            if kind == "word" and rows[i] == KEPT and not never and i not in written:
                reasons[i] = "stop word"
                continue
            text, reason, code = document.words[i], None, UNKNOWN
            if kind == "word" or kind == "clitic":
                code = rows[i]
                if i in written:
                    code = _codes(self.vocabulary, None).get(text.lower(), UNKNOWN)
                elif code == UNKNOWN:
                    code = codes.get(text.lower(), UNKNOWN)
                    if code == UNKNOWN and stop is not None and (kind == "clitic" or text in stop):
                        code = KEPT
                if code == KEPT:
                    reason = "stop word"
            elif kind != "number":
                code, reason = KEPT, "punctuation" if kind == "punct" else "symbol"
            if code == UNKNOWN and unknown_stay:
                code, reason = KEPT, NOT_IN_VOCABULARY
            if code == KEPT and never and never.bans(text):
                code, reason = UNKNOWN, None
            rows[i], reasons[i] = code, reason
        return WordPrepared(document, self.key, np.array(rows, np.int64), tuple(reasons), stop)

    def plan_document(self, document: Document) -> WordPrepared:
        """Return the plan of a tokenised text."""
        return self.prepare_document(document, UNWATCHED)

    def _planned(self, text: str | Prepared) -> WordPrepared:
        prepared = self.prepared(text)
        assert isinstance(prepared, WordPrepared)
        return prepared

    def _channel_at(self, prepared: WordPrepared, i: int) -> Channel:
        row, source = int(prepared.rows[i]), prepared.document.words[i]
        if row == UNKNOWN:
            return Constant((MASK,) if self.config.oov == "mask" else self.vocabulary.words, source)
        if (known := prepared.channels.get(row)) is not None:
            return known
        others = [
            r for r in dict.fromkeys(prepared.rows.tolist()) if r >= 0 and r != row and r not in prepared.channels
        ]
        rows = [row, *others][: max(1, CHANNELS_KEPT - len(prepared.channels))]
        channels = dict(zip(rows, self.channels(np.array(rows)), strict=True))
        if len(prepared.channels) < CHANNELS_KEPT:
            prepared.channels.update(channels)
        return channels[row]

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        prepared = self._planned(text)
        n = len(prepared.rows)
        if not 0 <= check_whole_number("index, the number of a token,", index) < n:
            raise InputError(f"There is no token {index}: the text has {n}, counted from 0. Choose one of these.")
        row, reason = prepared.rows[index], prepared.reasons[index]
        if row == KEPT:
            raise NoDistribution(f"Token {index} is kept ({reason}), so it has no distribution. Choose another one.")
        if row == UNKNOWN and self.config.oov == "drop":
            raise NoDistribution(
                f"Token {index} is {NOT_IN_VOCABULARY} and deleted, so it has no distribution. Choose another one."
            )
        return self._channel_at(prepared, index).at(self.epsilons(prepared)[index])

    # --- the guarantee

    def guarantee(self, text: str | Prepared) -> Guarantee:
        prepared = self._planned(text)
        every = self.epsilons(prepared)
        spent = self._spent(prepared, [every[i] for i in prepared.known.tolist()])
        epsilon = max(spent, default=0.0 if isinstance(self.config.epsilon, tuple) else self.config.epsilon)
        last = self.__dict__.get("_stated_fields")
        if last is None or last[0] != epsilon:
            within = (Condition(ConditionKind.SAME_GROUP),) if self.notion == "group" else ()
            shared = {"unit": ProtectedUnit(UnitKind.RELEASED_WORD), "adjacency": self._adjacency().where(*within)}
            last = epsilon, shared | self.guarantee_fields(epsilon)
            self.__dict__["_stated_fields"] = last  # most texts have the same guarantee as the one before
        return Guarantee(
            epsilon=epsilon,
            draws=len(spent),
            total=float(sum(spent)),
            spent=tuple(spent),
            exposed=self._exposed(prepared),
            **self.never.counts(),
            **last[1],
        )

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        """Return ε of each draw that depends on a word."""
        return each

    def _adjacency(self) -> Adjacency:
        # If unknown words are copied, they are copied tokens.
        if self.config.oov != "keep":
            return self.adjacency(Condition(ConditionKind.UNKNOWN_WORDS))
        return self.adjacency(*((Condition(ConditionKind.BLOCKLISTED_WORDS),) if self.never else ()))

    def _exposed(self, prepared: WordPrepared) -> tuple[NotProtected, ...]:
        items: list[str] = []
        if n := len(prepared.unknown):
            items.append(
                {
                    "keep": lambda: NotProtected(NotProtectedKind.BLOCKLISTED_REPLACED),
                    "random": lambda: NotProtected(NotProtectedKind.UNKNOWN_REPLACED),
                    "mask": lambda: NotProtected(NotProtectedKind.UNKNOWN_MASKED, count=n, mask=MASK),
                    "drop": lambda: NotProtected(NotProtectedKind.UNKNOWN_DROPPED, count=n),
                }[self.config.oov]()
            )
        items += [*self.leaks(), NotProtected(NotProtectedKind.TOKEN_COUNT)]
        return self._exposed_beside(prepared.reasons, prepared.stop, *items)

    # --- sampling

    def _path(self, prepared: WordPrepared, i: int) -> int | str:
        """Return the path of token i's stream below the stream of its text: tokens with the same path share their
        draw."""
        return i

    def _text_stream(self, stream: NoiseStream, i: int) -> NoiseStream:
        """Return the stream of the i-th text of a list."""
        return stream.at(i)

    def _unknown_stream(self, stream: NoiseStream, i: int) -> NoiseStream:
        """Return, from the stream of the i-th text, the stream of its unknown words."""
        return stream.at("unknown")

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        """Return the released word of each draw, lower case as in the vocabulary."""
        out = [""] * len(draws.rows)
        rows, inverse = np.unique(draws.rows, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(rows) + 1))
        done = 0

        def work(start: int) -> int:
            task.check()
            for u, channel in enumerate(self.channels(rows[start : start + PART]), start):
                at = None
                for j in order[bounds[u] : bounds[u + 1]].tolist():
                    epsilon = float(draws.epsilons[j])
                    if epsilon != at:
                        at, drawn = epsilon, channel.drawer(epsilon)
                    out[j] = channel.candidates[drawn(draws.stream(j))]
            return int(bounds[min(start + PART, len(rows))] - bounds[start])

        starts = range(0, len(rows), PART)
        # NumPy's loops over a whole vocabulary leave the other cores to other words.
        threads = min(4, os.cpu_count() or 1) if len(rows) * len(self.vocabulary.words) > 1 << 19 else 1
        with ThreadPoolExecutor(threads) as pool:
            for n in pool.map(work, starts) if threads > 1 else map(work, starts):
                done += n
                task.report(done, len(out))
        return out

    def _draw_texts(
        self,
        texts: Sequence[WordPrepared],
        known: Sequence[np.ndarray],
        epsilons: Sequence[Sequence[float]],
        streams: Sequence[NoiseStream],
        draws: Draws,
        task: Task = UNWATCHED,
    ) -> list[str]:
        """Return the released words of texts whose sampled tokens are ``known``, by rows if places do not matter."""
        return self._draw(draws, task)

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        assert isinstance(prepared, WordPrepared)
        return next(self._rewrite_all([prepared], [stream], task))

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        return list(self._blocks(texts, stream, task))

    def _blocks(self, texts: list[str], stream: NoiseStream, task: Task) -> Iterator[RewriteResult]:
        for start in range(0, len(texts), BLOCK):
            block = [p for text, n in in_runs(texts[start : start + BLOCK]) for p in [self._planned(text)] * n]
            streams = [self._text_stream(stream, i) for i in range(start, start + len(block))]
            yield from self._rewrite_all(
                block, streams, task.quiet, [stream.number(i) for i in range(start, start + len(block))]
            )
            task.report(start + len(block), len(texts))

    def rewrite_repeatedly(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        assert isinstance(prepared, WordPrepared)
        streams = [stream.at("fresh", k) for k in range(n)]
        out: list[RewriteResult] = []
        for start in range(0, n, BLOCK):
            block = streams[start : start + BLOCK]
            out += self._rewrite_all([prepared] * len(block), block, task.quiet)
            task.report(len(out), n)
        return out

    def _rewrite_all(
        self,
        texts: Sequence[WordPrepared],
        stream: Sequence[NoiseStream],
        task: Task = UNWATCHED,
        numbers: Sequence[int] | None = None,
    ) -> Iterator[RewriteResult]:
        """Rewrite the texts. numbers: their numbers among all that are rewritten; None: 0, 1, …"""
        task.check()
        known = [p.known for p in texts]
        counts = [len(k) for k in known]
        epsilons = [self.epsilons(p) for p in texts]
        if isinstance(self.config.epsilon, tuple):
            each = np.array([e[i] for e, k in zip(epsilons, known, strict=True) for i in k.tolist()], np.float64)
        else:
            each = np.full(sum(counts), self.config.epsilon)
        draws = Draws(
            rows=np.concatenate([p.rows[k] for p, k in zip(texts, known, strict=True)]),
            epsilons=each,
            owners=np.repeat(np.arange(len(texts)), counts),
            paths=[self._path(p, i) for p, k in zip(texts, known, strict=True) for i in k.tolist()],
            texts=[(d, len(p.rows)) for p, d in zip(texts, stream, strict=True)],
        )
        words = self._draw_texts(texts, known, epsilons, stream, draws, task) if len(draws.rows) else []
        at = 0
        guarantees = {id(p): self.guarantee(p) for p in {id(p): p for p in texts}.values()}
        numbers = range(len(texts)) if numbers is None else numbers
        for number, prepared, k, spent, own in zip(numbers, texts, known, epsilons, stream, strict=True):
            drawn = dict(zip(k.tolist(), words[at : at + len(k)], strict=True))
            yield self._result(prepared, spent, drawn, own, self._unknown_stream(own, number), guarantees[id(prepared)])
            at += len(k)

    def _result(
        self,
        prepared: WordPrepared,
        epsilons: Sequence[float],
        drawn: dict[int, str],
        stream: NoiseStream,
        unknown: NoiseStream,
        guarantee: Guarantee,
    ) -> RewriteResult:
        """Return the released text. Its steps are stored as columns, and created on first access."""
        policy, skeleton = self.config.oov, prepared.skeleton
        originals = prepared.document.words
        # By place, unless it is a copied token: the released word, and whether a rule capitalises it.
        shown: list[str | None] = [None] * len(originals)
        capitals: dict[int, bool] = {}
        if prepared.unknown:
            if policy in ("drop", "mask"):
                for i in prepared.unknown:
                    shown[i] = "" if policy == "drop" else MASK
            else:
                words = Constant(self.vocabulary.words, None).each([unknown.at(i) for i in prepared.unknown])
                drawn = drawn | dict(zip(prepared.unknown, words, strict=True))
        begins = skeleton.starts(prepared.unknown if policy == "drop" else ())
        has_capital, case = self._capital, self._case
        for i, word in drawn.items():
            capitals[i] = capital = has_capital(originals[i], begins[i])
            shown[i] = case(word, capital)
        skeleton, written = finished(self.config, skeleton, shown)
        spliced = skeleton.fill(shown)
        return RewriteResult.of(
            self,
            prepared,
            stream,
            spliced.text,
            Lazy(len(shown), self._steps, prepared, epsilons, shown, capitals, spliced.spans, written),
            guarantee=guarantee,
            trace=WordTrace(self, prepared, epsilons, stream, unknown),
        )

    def _steps(
        self,
        prepared: WordPrepared,
        epsilons: Sequence[float],
        shown: Sequence[str | None],
        capitals: Mapping[int, bool],
        spans: Sequence[tuple[int, int]],
        written: Mapping[int, str],
    ) -> list[Step]:
        steps_list = []
        document = prepared.document
        places = zip(document.starts, document.ends, strict=True)
        columns = zip(document.words, places, prepared.rows.tolist(), spans, strict=True)
        for i, (original, span, row, out) in enumerate(columns):
            word = shown[i] or ""
            if row == KEPT:
                steps_list.append(copy_step(document.tokens[i], i, prepared.reasons[i] or "", out, written))
            elif row == UNKNOWN and self.config.oov == "drop":
                steps_list.append(Step(span, original, "", "delete", NOT_IN_VOCABULARY, 0.0, out, i))
            else:
                spent = self._step_epsilon(prepared, i, epsilons) if row >= 0 else 0.0
                reason = "" if row >= 0 else NOT_IN_VOCABULARY
                steps_list.append(Step(span, original, word, "replace", reason, spent, out, i, capitals.get(i, False)))
        return steps_list

    def _stream(self, prepared: WordPrepared, i: int, stream: NoiseStream) -> NoiseStream:
        """Return the stream of token i's draw."""
        return stream.at(self._path(prepared, i))

    def _step_epsilon(self, prepared: WordPrepared, i: int, epsilons: Sequence[float]) -> float:
        """Return the ε of token i's draw."""
        return epsilons[i]

    # --- how it is measured

    slow_to_prepare = False

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        """Return each bundled space for which a formula determines the guarantee."""
        from ...words.space_loading import SPACES

        return cls.over_spaces(list(SPACES)) if cls.notion != "none" and cls.closed_form else ({},)

    @classmethod
    def over_spaces(cls, spaces: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """Return one set per space; for a vocabulary that is not an option, the existing one."""
        fixed = "space" not in {f.name for f in fields(cls.config_cls)}
        return ({},) if fixed else tuple({"space": name} for name in spaces)
