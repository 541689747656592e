"""Sentence bank: each is released as a sentence of a public bank, drawn whole by its likeness in meaning.

The exponential mechanism (McSherry and Talwar 2007, Section 3) over a bank S of public sentences. With a public encoder
e, a public range [a, b], and u(x, s) = (min(max(cos(e(x), e(s)), a), b) − a)/(b − a) in [0, 1],

    P(s | x) = exp(ε·u(x, s)/2) / Z(x).

For any sentences x, x′ and any s the ratio P(s | x)/P(s | x′) is exp(ε·(u(x, s) − u(x′, s))/2)·Z(x′)/Z(x), and each of
the two factors is at most e^{ε/2}: pure ε-DP between any two sentences. What is released is a sentence of the bank, so
that no word, no stop word, no length and no style of the author's gets through.

Texts. A text is cut into m sentences by public rules. Each is drawn by itself: m·ε, and m shows, so that texts with as
many sentences are alike. With ``slots`` = k the first k sentences are read and the others are left out before anything
is drawn; a slot without a sentence is drawn too. Then any two texts are alike, and the text spends k·ε. For slots the
bank has one more candidate, the empty sentence. Its cosine counts as 1 with an empty slot and as −1 with any other, and
that of a bank's sentence with an empty slot as −1. A text of blanks alone is read as one empty sentence: without slots
every sentence of the bank is as likely for it as any other.

More for one. With ``each`` = r a sentence is released as r sentences of the bank, drawn one after the other. The first
is drawn as above. For a further one u has, in the place of the cosine of e(x) and e(s), that of e(x) and the sum of
e(s) and the vectors of those that were drawn for the same sentence before: s is likely where it says what they lack.
What was drawn before is public, so that given it the bound is the same whatever x and x′ are, and the draws add up:
r·ε a sentence. The empty sentence adds nothing to a sum, and its cosine stays as it is.

The range. Without one given, a and b follow from ε by :func:`sentence_range`, which is public. A small ε tells little
apart, and spends itself best on whether a sentence is alike at all; a large one can rank those that are. Where ε moves,
so does the range, and the noise stays: under a law a released sentence may come back at another ε.

Relatives, both of which draw from clusters of public candidates: DP-ST (Meisenbacher, Chevli and Matthes, EMNLP 2025)
draws triples of words within a neighbourhood, CluSanT (Awon, Lu, Potka and Thomo, NAACL 2025) draws tokens. This
mechanism is of this program: it follows neither, and has no neighbourhood that the promise would be limited to.

Numbers. Cosines are those of the vectors rounded as the bank states (:mod:`dptext_core.words.bank`); the rounding is
public and part of u. A sentence's vector is computed alone, so that no bit of it tells of other texts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ...errors import ConfigError
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import ConditionKind, NotProtectedKind, UnitKind
from ...privacy.sampling import NoiseStream
from ...privacy.terms import Adjacency, ComparisonScope, Condition, NotProtected, ProtectedUnit
from ...result import Release, RewriteResult
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ...words import bank as banks
from ...words.bank import MOST_ADDED
from ..audit_support import AuditSupport
from ..base import Mechanism, in_runs
from ..capabilities import InputCoverage
from ..config import epsilon_option, loaded_words_option, never_option, option
from ..likelihood import Likelihood
from ..preparing import Prepared
from .sentence_facets import _AuditSupport, _InputCoverage, _Likelihood
from .sentence_trace import _TOGETHER, CosineTable, SentencePrepared, SentenceTrace

_NOTHING = ""


def each_option() -> Any:
    """Return the field ``each``."""
    return option(
        1,
        label="Sentences for each",
        kind="integer",
        min=1,
        max=MOST_ADDED + 1,
        help="The number of sentences sampled for each original sentence. Each spends ε and adds content that "
             "earlier ones lack, which helps at large ε.",
        phrase="{} for each sentence",
    )


def end_option(upper: bool) -> Any:
    """Return the fields ``low`` and ``high``."""
    where, less = ("upper", "more") if upper else ("lower", "less")
    return option(
        None,
        label=f"Range of cosines, {where} end",
        min=-1.0,
        max=1.0,
        changes_distribution=True,
        advanced=True,
        live=True,
        help=f"Sentences of the bank that are {less} similar than this are equally likely. Without a value, the "
             "range depends on ε.",
        phrase=f"cosines {'to' if upper else 'from'} {{}}",
    )


@dataclass(frozen=True)
class DPSentenceConfig:
    """Options of one draw a sentence. ``bank``: "wordnet", or the folder of a bank."""

    epsilon: float | tuple[float, ...] = epsilon_option(
        50.0, 5.0, 200.0, "per sentence", "Every sampled sentence spends it."
    )
    bank: str = option(
        banks.DEFAULT_BANK,
        label="Bank of sentences",
        kind="text",
        changes_distribution=True,
        help="“wordnet”, or the folder of a bank from the command bank build. Each output is one of its sentences. "
             "A bank of similar texts preserves most.",
        phrase="bank: {}",
        offered_names=tuple(banks.BUNDLED),
    )
    slots: int | None = option(
        None,
        label="Slots",
        kind="integer",
        min=1,
        max=100,
        help="A fixed number of sampled sentences: longer texts are cut, shorter ones filled with empty sentences. "
             "Without it, everyone can see the number of sentences.",
        phrase="{} slots",
        unset_phrase="one draw for each sentence",
    )
    each: int = each_option()
    low: float | None = end_option(upper=False)
    high: float | None = end_option(upper=True)
    never: tuple[str, ...] = never_option()
    loaded_words: bool = loaded_words_option()


class DPSentence(Mechanism):
    """The exponential mechanism over a bank of public sentences, one draw for each sentence of a text."""

    name = "dp-sentence"
    references = ("mcsherry2007mechanism", "meisenbacher2025dpst", "awon2025clusant")
    title = "Sentence bank"
    family = "sentences"
    notion = "pure"
    summary = (
        "Each sentence is replaced by a sentence of a public bank; sentences with a similar meaning are more "
        "likely."
    )
    steps = (
        "{n} public sentences are compared with yours",
        "Similar ones score higher, from 0 to 0.5",
        "Noise of size 1/ε = {noise} is added to each score",
        "The sentence with the best score is released",
    )
    config_cls = DPSentenceConfig
    needs = ("sentence encoder", "bank of sentences")
    takes_never = True
    slow_to_prepare: ClassVar[bool] = False

    @classmethod
    def resolve(cls, config: Any) -> Any:
        """Return a folder is named in full, and what it says of itself is read, so that what cannot be used is said
        now."""
        given = config.low, config.high
        if (given[0] is None) != (given[1] is None):
            raise ConfigError("Give both low and high, or neither.")
        if given[0] is not None and not given[0] < given[1]:
            raise ConfigError(f"low must be below high; they are {config.low:g} and {config.high:g}.")
        folder = banks.bank_folder(config.bank)
        banks.read_about(folder)
        return config if config.bank in banks.BUNDLED else dataclasses.replace(config, bank=str(folder))

    @property
    def likelihood(self) -> Likelihood[DPSentence]:
        return _Likelihood(self, sweeps=self.config.each == 1)

    @property
    def alignment(self) -> None:
        return None

    @property
    def audit_support(self) -> AuditSupport[DPSentence]:
        return _AuditSupport(self)

    @property
    def reading(self) -> InputCoverage[DPSentence]:
        return _InputCoverage(self)

    def loads(self) -> Mapping[str, str]:
        return {"bank": banks.read_about(banks.bank_folder(self.config.bank)).sha256}

    @property
    def model_ready(self) -> bool:
        from ...models.sentence_encoder import is_loaded

        return is_loaded()

    @property
    def bank(self) -> banks.SentenceBank:
        """The bank that is drawn from, those that are never released among it."""
        return banks.sentence_bank(self.config.bank)

    # --- what is drawn from

    @cached_property
    def _open(self) -> np.ndarray | None:
        """The places of the bank's sentences that may be released, ascending; None for all."""
        if not self.never:
            return None
        bank = self.bank
        left = np.setdiff1d(np.arange(len(bank)), bank.holding(self.never.places(bank.words)))
        if not len(left):
            raise ConfigError(
                "Every sentence of the bank contains a word on the blocklist. Remove common words from it."
            )
        return left

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """What can be released in the place of a sentence, in the order of the bank; with slots the last is empty."""
        sentences = self.bank.sentences
        if self._open is not None:
            sentences = tuple([sentences[i] for i in self._open.tolist()])
        return sentences if self.config.slots is None else (*sentences, _NOTHING)

    def cosines(self, codes: np.ndarray, task: Task = UNWATCHED) -> np.ndarray:
        """Cosine of sentences with every candidate.

        Parameters
        ----------
        codes
            Vectors of sentences, int16 (m, 384); 0 for an empty one.
        task
            Stops between blocks of the bank.

        Returns
        -------
        ndarray
            float64 (m, candidates), in [−1, 1]; of empty sentences as the module says.
        """
        found = self.bank.cosines(codes, task)
        if self._open is not None:
            found = found[:, self._open]
        empty = ~codes.any(axis=1)
        found[empty] = -1.0
        if self.config.slots is not None:
            found = np.concatenate([found, np.where(empty, 1.0, -1.0)[:, None]], axis=1)
        return found

    def tables(
        self, prepared: Prepared, which: Sequence[int] | None = None, task: Task = UNWATCHED
    ) -> list[CosineTable]:
        """Return what the sentences at these places, or all that are read, are drawn from at every ε."""
        codes = self._encoded(prepared, task).codes
        return self._tables(codes if which is None else codes[list(which)], task)

    def _tables(self, codes: np.ndarray, task: Task = UNWATCHED) -> list[CosineTable]:
        ends = None if self.config.low is None else (self.config.low, self.config.high)
        return [CosineTable(self.candidates, row, ends) for row in self.cosines(codes, task)]

    def _each_table(self, codes: np.ndarray, task: Task = UNWATCHED) -> Iterator[CosineTable]:
        """Yield the same of one sentence after the other, of which only some are held at a time."""
        for start in range(0, len(codes), _TOGETHER):
            yield from self._tables(codes[start : start + _TOGETHER], task)

    def after(self, table: CosineTable, drawn: Sequence[int]) -> CosineTable:
        """Return what a further sentence is drawn from for the same one, once these candidates were.

        Parameters
        ----------
        table
            What the first one is drawn from.
        drawn
            Their places among the candidates, in any order.
        """
        if not drawn:
            return table
        n = len(self.candidates) - (self.config.slots is not None)
        places = [i for i in drawn if i < n]
        cosines = table.cosines
        if places and table.cosines[:n].max() > -1.0:  # an empty sentence has no direction
            every = np.zeros(len(self.bank))
            where = slice(None) if self._open is None else self._open
            every[where] = cosines[:n]
            added = self.bank.added(every, np.arange(len(self.bank))[where][places].tolist())[where]
            cosines = np.concatenate([added, cosines[n:]])
        return dataclasses.replace(table, cosines=cosines, before=len(drawn))

    def _draws(
        self, sampler: Callable[[tuple[int, ...]], Callable[[NoiseStream], int]], stream: NoiseStream
    ) -> tuple[int, ...]:
        """Return the candidates that are drawn for one sentence. sampler: of the next one, once those before it are
        drawn."""
        drawn: tuple[int, ...] = ()
        for k in range(self.config.each):
            drawn += (sampler(drawn)(stream.at("further", k) if k else stream),)
        return drawn

    def nearest(self, prepared: Prepared) -> float:
        """Mean cosine of the sentences that are read with the nearest candidate of each. For the owner's eyes."""
        codes = self._encoded(prepared).codes
        codes = codes[codes.any(axis=1)]
        return float(np.mean([t.cosines.max() for t in self._each_table(codes)])) if len(codes) else 0.0

    # --- the promise

    def _read(self, document: Document) -> tuple[str, ...]:
        """Return the sentences that are drawn for: those of the text, or as many as there are slots."""
        seen = document.visible
        found = [seen.text[a:b] for a, b in seen.sentences]
        slots = self.config.slots or max(1, len(found))
        return tuple((found + [_NOTHING] * slots)[:slots])

    def guarantee(self, text: str | Prepared) -> Guarantee:
        n = len(self._read(self._document_of(text))) * self.config.each
        epsilon = float(self.config.epsilon)
        shared: tuple[Condition, ...] = ()
        exposed = [NotProtected(NotProtectedKind.SENTENCE_SLOTS, count=n)]
        if self.config.slots is None:
            shared = (Condition(ConditionKind.SENTENCE_COUNT),)
            exposed = [NotProtected(NotProtectedKind.SENTENCE_COUNT)]
        exposed += self.never.exposed()
        return Guarantee(
            notion="pure",
            epsilon=epsilon,
            unit=ProtectedUnit(UnitKind.RELEASED_SENTENCE),
            adjacency=Adjacency(*shared),
            draws=n,
            total=epsilon * n,
            exposed=tuple(exposed),
            bounded_range=True,
            among=ComparisonScope(*shared),
            **self.never.counts(),
        )

    # --- rewriting

    def _document_of(self, text: str | Prepared) -> Document:
        return text.document if isinstance(text, Prepared) else self.document(text)

    def plan(self, text: str | Prepared) -> Prepared:
        return text if isinstance(text, Prepared) else Prepared(self.document(text), self.key)

    def prepare_document(self, document: Document, task: Task) -> SentencePrepared:
        return self._encoded(Prepared(document, self.key), task)

    def _encoded(self, prepared: Prepared, task: Task = UNWATCHED) -> SentencePrepared:
        """Return what ``plan`` made is read now."""
        if isinstance(prepared, SentencePrepared):
            return prepared
        from ...models.sentence_encoder import embed

        sentences = self._read(prepared.document)
        vectors = np.zeros((len(sentences), banks.DIMENSIONS), np.float32)
        for i, sentence in enumerate(sentences):
            task.check()
            if sentence:
                vectors[i] = embed([sentence])[0]
        return SentencePrepared(prepared.document, self.key, banks.text_codes(vectors))

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        task.check()
        encoded = self._encoded(prepared, task)
        chosen = self._drawn(encoded.codes, [stream.at(i) for i in range(len(encoded.codes))], task)
        return self._result(encoded, chosen, stream)

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        """Sentences of many texts are held against the bank together, which changes no bit of their cosines."""
        every = [p for text, n in in_runs(texts) for p in [self._encoded(self.plan(text), task.quiet)] * n]
        streams = [stream.at(i) for i in range(len(every))]
        of = [own.at(i) for p, own in zip(every, streams, strict=True) for i in range(len(p.codes))]
        codes = np.concatenate([p.codes for p in every]) if every else np.zeros((0, banks.DIMENSIONS), np.int16)
        chosen = iter(self._drawn(codes, of, task))
        each = self.config.each
        return [
            self._result(p, tuple(islice(chosen, each * len(p.codes))), s) for p, s in zip(every, streams, strict=True)
        ]

    def _drawn(self, codes: np.ndarray, streams: Sequence[NoiseStream], task: Task) -> tuple[int, ...]:
        """Return what is drawn for each of these sentences, each with its stream."""
        chosen: list[int] = []
        for k, (table, stream) in enumerate(zip(self._each_table(codes, task), streams, strict=True)):

            def sampler(drawn: tuple[int, ...], table: CosineTable = table) -> Callable[[NoiseStream], int]:
                return partial(self.after(table, drawn).draw, self.config.epsilon)

            chosen += self._draws(sampler, stream)
            task.report(k + 1, len(codes))
        return tuple(chosen)

    def rewrite_repeatedly(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        task.check()
        encoded = self._encoded(prepared, task)
        streams = [stream.at("fresh", k) for k in range(n)]
        chosen: list[list[int]] = [[] for _ in streams]
        for i, table in enumerate(self._each_table(encoded.codes, task)):

            @lru_cache(maxsize=_TOGETHER)
            def sampler(drawn: tuple[int, ...], table: CosineTable = table) -> Callable[[NoiseStream], int]:
                return self.after(table, drawn).drawer(self.config.epsilon)

            for own, one in zip(streams, chosen, strict=True):
                task.check()
                one += self._draws(sampler, own.at(i))
            task.report(i + 1, len(encoded.codes))
        return [self._result(encoded, tuple(one), own) for own, one in zip(streams, chosen, strict=True)]

    def _result(self, prepared: SentencePrepared, chosen: tuple[int, ...], stream: NoiseStream) -> RewriteResult:
        text, pieces = self._spelled(chosen)
        return RewriteResult.of(
            self, prepared, stream, text, trace=SentenceTrace(self, prepared, chosen, stream), pieces=pieces
        )

    def _spelled(self, chosen: Sequence[int]) -> tuple[str, tuple[Release, ...]]:
        """Text and pieces of drawn candidates, and of nothing else."""
        text, pieces, epsilon = "", [], float(self.config.epsilon)
        for i in chosen:
            sentence = self.candidates[i]
            text += " " if text and sentence else ""
            pieces.append(Release((len(text), len(text) + len(sentence)), sentence, epsilon, "drawn"))
            text += sentence
        return text, tuple(pieces)

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return ({}, {"slots": 3}, {"each": 2})
