"""Sentence bank: replace each sentence by a sentence of a public bank, sampled by similarity of meaning.

The exponential mechanism (McSherry and Talwar 2007, Section 3) over a bank S of public sentences. With a public encoder
e, a public range [a, b], and u(x, s) = (min(max(cos(e(x), e(s)), a), b) − a)/(b − a) in [0, 1],

    P(s | x) = exp(ε·u(x, s)/2) / Z(x).

For any sentences x, x′ and any s the ratio P(s | x)/P(s | x′) is exp(ε·(u(x, s) − u(x′, s))/2)·Z(x′)/Z(x). Each of the
two factors is at most e^{ε/2}, so the mechanism has pure ε-DP between any two sentences. The release contains only
sentences of the bank: no word, stop word, length or style of the author.

Texts. Public rules split a text into m sentences. Each is sampled separately, which costs m·ε. Everyone can see m, so
the guarantee compares texts with equally many sentences. With ``slots`` = k, the first k sentences are read, and the
others are dropped before sampling. An empty slot is sampled too. The guarantee then compares any two texts, and a text
costs k·ε. With slots, the candidates include the empty sentence. Its cosine counts as 1 with an empty slot and as −1
with any sentence; the cosine of a bank's sentence with an empty slot is −1. A text of blanks alone is read as one empty
sentence. Without slots, every sentence of the bank is then equally likely.

Several outputs. With ``each`` = r, each sentence is released as r sentences of the bank, sampled one after the other.
The first is sampled as above. For a later one, u uses the cosine of e(x) with the sum of e(s) and the vectors of the
sentences already sampled for x. So s is likely if it adds what those lack. Earlier outputs are public, so the same
bound holds given them, and the draws add up to r·ε per sentence. The empty sentence adds nothing to the sum, and its
cosine is unchanged.

Range. By default, a and b are a public function of ε (:func:`sentence_range`). A small ε distinguishes little, and is
best spent on whether a sentence is similar at all. A large ε can also rank the similar sentences. The range moves with
ε while the noise is fixed, so a released sentence may return at another ε.

Related work samples from clusters of public candidates. DP-ST (Meisenbacher, Chevli and Matthes, EMNLP 2025) samples
triples of words within a neighbourhood, and CluSanT (Awon, Lu, Potka and Thomo, NAACL 2025) samples tokens. This
mechanism is our own. It follows neither, and no neighbourhood limits its guarantee.

Numerics. Cosines use vectors rounded as the bank states (:mod:`dptext_core.words.bank`). The rounding is public and
part of u. A sentence's vector is computed alone, so it reveals nothing about other texts.
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
        label="Samples per sentence",
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
    """Options of the sentence bank. ``bank``: "wordnet", or the folder of a bank."""

    epsilon: float | tuple[float, ...] = epsilon_option(
        50.0, 5.0, 200.0, "per sentence", "Every sampled sentence spends it."
    )
    bank: str = option(
        banks.DEFAULT_BANK,
        label="Bank of sentences",
        kind="text",
        changes_distribution=True,
        help="Each output is a sentence of this bank: “wordnet”, or a folder from `bank build`. A bank of texts like "
             "yours preserves the most meaning.",
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
    """The exponential mechanism over a bank of public sentences, with one draw per sentence of a text."""

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
        """Resolve a bank's folder and read its description, so that an unusable bank is reported now."""
        given = config.low, config.high
        if (given[0] is None) != (given[1] is None):
            raise ConfigError("Only one of low and high is set. Set both or neither.")
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
        """Return the bank, including sentences that the blocklist excludes."""
        return banks.sentence_bank(self.config.bank)

    # --- scores to distributions

    @cached_property
    def _open(self) -> np.ndarray | None:
        """Return the indices of the bank's sentences that may be released, ascending; None for all."""
        if not self.never:
            return None
        bank = self.bank
        allowed = np.setdiff1d(np.arange(len(bank)), bank.holding(self.never.places(bank.words)))
        if not len(allowed):
            raise ConfigError(
                "Every sentence of the bank contains a word on the blocklist. Remove common words from the blocklist."
            )
        return allowed

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Return the candidates for a sentence, in the order of the bank; with slots, the last one is empty."""
        sentences = self.bank.sentences
        if self._open is not None:
            sentences = tuple([sentences[i] for i in self._open.tolist()])
        return sentences if self.config.slots is None else (*sentences, _NOTHING)

    def cosines(self, codes: np.ndarray, task: Task = UNWATCHED) -> np.ndarray:
        """Return the cosine of sentences with every candidate.

        Parameters
        ----------
        codes
            Vectors of sentences, int16 (m, 384); 0 for an empty one.
        task
            Stops between blocks of the bank.

        Returns
        -------
        ndarray
            float64 (m, candidates), in [−1, 1]; for empty sentences as described in the module.
        """
        values = self.bank.cosines(codes, task)
        if self._open is not None:
            values = values[:, self._open]
        empty = ~codes.any(axis=1)
        values[empty] = -1.0
        if self.config.slots is not None:
            values = np.concatenate([values, np.where(empty, 1.0, -1.0)[:, None]], axis=1)
        return values

    def tables(
        self, prepared: Prepared, which: Sequence[int] | None = None, task: Task = UNWATCHED
    ) -> list[CosineTable]:
        """Return the tables of the sentences at these places, or of all that are read, for every ε."""
        codes = self._encoded(prepared, task).codes
        return self._tables(codes if which is None else codes[list(which)], task)

    def _tables(self, codes: np.ndarray, task: Task = UNWATCHED) -> list[CosineTable]:
        ends = None if self.config.low is None else (self.config.low, self.config.high)
        return [CosineTable(self.candidates, row, ends) for row in self.cosines(codes, task)]

    def _each_table(self, codes: np.ndarray, task: Task = UNWATCHED) -> Iterator[CosineTable]:
        """Yield the same tables one by one, holding only some at a time."""
        for start in range(0, len(codes), _TOGETHER):
            yield from self._tables(codes[start : start + _TOGETHER], task)

    def after(self, table: CosineTable, drawn: Sequence[int]) -> CosineTable:
        """Return the table of the next output for the same sentence, after these candidates were sampled.

        Parameters
        ----------
        table
            The table of the first output.
        drawn
            The indices of the sampled candidates, in any order.
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
        """Return the sampled candidates for one sentence. sampler: samples the next one, given the earlier ones."""
        drawn: tuple[int, ...] = ()
        for k in range(self.config.each):
            drawn += (sampler(drawn)(stream.at("further", k) if k else stream),)
        return drawn

    def nearest(self, prepared: Prepared) -> float:
        """Return the mean cosine of each read sentence with its nearest candidate. For the owner alone."""
        codes = self._encoded(prepared).codes
        codes = codes[codes.any(axis=1)]
        return float(np.mean([t.cosines.max() for t in self._each_table(codes)])) if len(codes) else 0.0

    # --- the guarantee

    def _read(self, document: Document) -> tuple[str, ...]:
        """Return the sentences that are replaced: those of the text, or one per slot."""
        visible = document.visible
        sentences = [visible.text[a:b] for a, b in visible.sentences]
        slots = self.config.slots or max(1, len(sentences))
        return tuple((sentences + [_NOTHING] * slots)[:slots])

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
        """Return the planned text with its sentences encoded."""
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
        """Rewrite texts, comparing the sentences of many texts with the bank at once; this changes no bit of their
        cosines."""
        every = [p for text, n in in_runs(texts) for p in [self._encoded(self.plan(text), task.quiet)] * n]
        streams = [stream.at(i) for i in range(len(every))]
        of = [text_stream.at(i) for p, text_stream in zip(every, streams, strict=True) for i in range(len(p.codes))]
        codes = np.concatenate([p.codes for p in every]) if every else np.zeros((0, banks.DIMENSIONS), np.int16)
        chosen = iter(self._drawn(codes, of, task))
        each = self.config.each
        return [
            self._result(p, tuple(islice(chosen, each * len(p.codes))), s) for p, s in zip(every, streams, strict=True)
        ]

    def _drawn(self, codes: np.ndarray, streams: Sequence[NoiseStream], task: Task) -> tuple[int, ...]:
        """Return the samples for each of these sentences, each with its stream."""
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

            for one_stream, one in zip(streams, chosen, strict=True):
                task.check()
                one += self._draws(sampler, one_stream.at(i))
            task.report(i + 1, len(encoded.codes))
        return [self._result(encoded, tuple(one), one_stream) for one_stream, one in zip(streams, chosen, strict=True)]

    def _result(self, prepared: SentencePrepared, chosen: tuple[int, ...], stream: NoiseStream) -> RewriteResult:
        text, pieces = self._spelled(chosen)
        return RewriteResult.of(
            self, prepared, stream, text, trace=SentenceTrace(self, prepared, chosen, stream), pieces=pieces
        )

    def _spelled(self, chosen: Sequence[int]) -> tuple[str, tuple[Release, ...]]:
        """Return the text and releases, computed from the sampled candidates alone."""
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
