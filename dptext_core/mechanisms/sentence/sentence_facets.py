"""Optional capabilities of the sentence-level exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...models import autoencoder
from ...models.coverage import known_by
from ...models.sentence_encoder import PIECES
from ...privacy.distribution import TokenDistribution
from ...result import RewriteResult
from ...support.checks import pluralize
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ...words.vocabulary import trunk_folder
from ..audit_support import AuditSupport
from ..capabilities import InputCoverage
from ..likelihood import Frame, Likelihood, check_made
from ..preparing import Prepared
from .sentence_trace import _TOGETHER, CosineTable, SentencePrepared, SentenceTrace

if TYPE_CHECKING:
    from .dp_sentence import DPSentence  # noqa: F401 (named in the bases of classes)

#: Cosine below which a bank has no similar sentence: a tenth of the sentences of public texts are below it.
FAR = 0.4


class _Likelihood(Likelihood["DPSentence"]):
    """Probabilities of whole sentences: the first output alone, later ones for the same original given those before."""

    def given(self, prepared: Prepared, result: RewriteResult) -> list[TokenDistribution] | None:
        tables, each = self.m.tables(prepared), self.m.config.each
        if not isinstance(result.trace, SentenceTrace) or len(tables) * each != len(result.trace.chosen):
            return None
        chosen = result.trace.chosen
        return [
            self.m.after(tables[i // each], chosen[i - i % each : i]).at(self.m.config.epsilon)
            for i in range(len(chosen))
        ]

    def log(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> np.ndarray:
        """Return log-probabilities of the sampled sentences, or −∞ for another number of sentences."""
        return self._log(texts, results, task or UNWATCHED)

    def relative(
        self,
        texts: Sequence[Prepared],
        results: Sequence[RewriteResult],
        *,
        frames: Sequence[Frame] = (),
        task: Task | None = None,
    ) -> np.ndarray:
        """Return :meth:`log` up to a constant: sentences common to every text cancel, and are not scored."""
        codes = [self.m._encoded(text, task or UNWATCHED).codes for text in texts]
        if len({len(c) for c in codes}) > 1:
            return self._log(texts, results, task or UNWATCHED)
        return self._log(texts, results, task or UNWATCHED, np.flatnonzero(np.ptp(codes, axis=0).any(axis=1)))

    def _log(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], task: Task, only: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the log-probabilities. only: the places of the sentences that count; None: all."""
        check_made(self.m, results)
        chosen = [r.trace.chosen for r in results if isinstance(r.trace, SentenceTrace)]
        out = np.full((len(texts), len(results)), -np.inf)
        for a, text in enumerate(texts):
            codes, each = self.m._encoded(text, task).codes, self.m.config.each
            alike = [b for b, drawn in enumerate(chosen) if len(drawn) == each * len(codes)]
            out[a, alike] = 0.0
            which = np.arange(len(codes)) if only is None else only
            for i, table in zip(which.tolist(), self.m._each_table(codes[which], task) if alike else (), strict=False):

                @lru_cache(maxsize=_TOGETHER)
                def stated(drawn: tuple[int, ...], table: CosineTable = table) -> np.ndarray:
                    return self.m.after(table, drawn).at(self.m.config.epsilon).log_probs

                for b in alike:
                    task.check()
                    drawn = chosen[b][i * each : (i + 1) * each]
                    out[a, b] += sum(stated(drawn[:k])[drawn[k]] for k in range(each))
            task.report(a + 1, len(texts))
        return out


class _AuditSupport(AuditSupport["DPSentence"]):
    """The guarantee compares texts with the same number of sentences read."""

    def adjacent(self, a: str | Prepared, b: str | Prepared) -> bool:
        one, other = (len(self.m._read(self.m._document_of(x))) for x in (a, b))
        return one == other

    def spelled(self, drawn: Sequence[int]) -> str:
        return self.m._spelled(drawn)[0]


def _is_long(sentence: str) -> bool:
    """Return True if the encoder reads only its beginning."""
    return len(sentence) > PIECES and autoencoder.pieces(sentence, PIECES)[1] > PIECES


class _InputCoverage(InputCoverage["DPSentence"]):
    """Coverage by the encoder's word pieces, up to the slots."""

    def known(self, document: Document) -> Sequence[bool]:
        return known_by(trunk_folder(), document)

    def uncovered(self) -> str:
        return "the encoder reads them letter by letter or not at all."

    def note(self, text: str | Prepared) -> str:
        document, slots = self.m._document_of(text), self.m.config.slots
        n, parts = len(document.sentences), []
        if long := sum(map(_is_long, self.m._read(document))):
            which = "A sentence has" if long == 1 else f"{pluralize(long, 'sentence')} each have"
            parts.append(f"{which} more than {PIECES:,} word pieces. The rest is ignored.")
        if slots is not None and n > slots:
            parts.append(f"The mechanism reads only {slots:,} of this text's {n:,} sentences. The rest is ignored.")
        # A text that is not encoded yet would need the encoder.
        if isinstance(text, SentencePrepared) and n and (near := self.m.nearest(text)) < FAR:
            parts.append(
                "The bank has no similar sentence: the nearest has a cosine of "
                f"{near:.2f}{' on average' if n > 1 else ''}. At any ε, little of the meaning is preserved. A bank of "
                "similar texts works better."
            )
        return " ".join(parts)
