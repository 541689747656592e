"""Optional capabilities of mechanisms that write with a generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...models.generators import BUNDLED, GeneratorPass, generator_spec
from ...privacy.distribution import TokenDistribution
from ...result import RewriteResult
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ..audit_support import AuditSupport
from ..capabilities import InputCoverage
from ..likelihood import Likelihood, check_made
from ..preparing import Prepared
from .generation_trace import TOGETHER, GenerationPrepared, GenerationTrace

if TYPE_CHECKING:
    from .generation import Generation  # noqa: F401 (named in the bases of classes)

#: Words and marks of the longest lines in the bundled models' training data.
LEARNT = 40


class GenerationCoverage(InputCoverage["Generation"]):
    """Coverage by the model's tokens."""

    def known(self, document: Document) -> Sequence[bool]:
        from ...models.coverage import spec_knows

        return spec_knows(generator_spec(self.m.config.model, self.m.bundled), document)

    def uncovered(self) -> str:
        return "the model reads them as single characters, or not at all."

    def note(self, text: str | Prepared) -> str:
        if self.m._is_cut(text):
            return "The model reads only the beginning of this text; the rest exceeds its window."
        document = text.document if isinstance(text, Prepared) else self.m.document(text)
        if self.m.config.model != BUNDLED or len(document.tokens) <= LEARNT:
            return ""
        return (
            "The bundled model was trained on single sentences, so it preserves little of this text. Use one "
            "sentence, or choose a larger model."
        )


class TokenLikelihood(Likelihood["Generation"]):
    """Probabilities of tokens, each given the tokens before it."""

    def given(self, prepared: Prepared, result: RewriteResult) -> list[TokenDistribution]:
        assert isinstance(prepared, GenerationPrepared) and isinstance(result.trace, GenerationTrace)
        g, w = self.m.generator(), result.trace.written
        rows = g.replay(
            prepared.ids, GeneratorPass(1, len(prepared.ids) - prepared.prefix, 1, prepared.prefix), w.tokens
        )
        base: Sequence[np.ndarray | None] = [None] * len(rows)
        if self.m.config.prior != "none":
            ids = self.m.public_ids()
            base = g.replay(ids, GeneratorPass(1, len(ids), 1), w.tokens)
        epsilon = float(self.m.config.epsilon)
        tables = (self.m.table(a, b, None, w.tokens[:k]) for k, (a, b) in enumerate(zip(rows, base, strict=True)))
        return [table.at(epsilon) for table in tables]

    def log(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> np.ndarray:
        """Return the log-probabilities of the sampled tokens, including the end.

        Many rewrites are scored together; a single one has the same bits as its trace.
        """
        task = task or UNWATCHED
        check_made(self.m, results)
        written = [r.trace.written.tokens for r in results if isinstance(r.trace, GenerationTrace)]
        ends = self.m._ends()
        out = np.full((len(texts), len(results)), -np.inf)
        for a, p in enumerate(texts):
            assert isinstance(p, GenerationPrepared)
            limit = self.m.limit(p.document)
            # A text with another limit continues where this one stopped, or stops earlier.
            fits = [b for b, t in enumerate(written) if len(t) <= limit and (t[-1] in ends or len(t) == limit)]
            fits.sort(key=lambda b: len(written[b]))
            for start in range(0, len(fits), TOGETHER):
                block = fits[start : start + TOGETHER]
                out[a, block] = self._of(p, [written[b] for b in block], task)
                task.report(a * len(fits) + start + len(block), len(texts) * len(fits))
        return out

    def _of(self, prepared: GenerationPrepared, written: Sequence[Sequence[int]], task: Task) -> np.ndarray:
        """Return the log-probability of each of these lists of tokens, float64 (n,)."""
        g, epsilon = self.m.generator(), float(self.m.config.epsilon)
        state = self.m._read([prepared], len(written), None)
        public = None if self.m.config.prior == "none" else g.begin([self.m.public_ids()], len(written))
        out = np.zeros(len(written))
        for k in range(max(map(len, written))):
            task.check()
            if k:
                last = [t[k - 1] if k <= len(t) else g.end for t in written]
                g.step(state, last)
                if public is not None:
                    g.step(public, last)
            for r, tokens in enumerate(written):
                if k < len(tokens):
                    b = None if public is None else public.logits[r]
                    table = self.m.table(state.logits[r], b, g.candidates, tokens[:k])
                    out[r] += table.at(epsilon).log_probs[tokens[k]]
        return out


class _AuditSupport(AuditSupport["Generation"]):
    """The guarantee compares texts with the same token limit, if the limit depends on the text."""

    def adjacent(self, a: str | Prepared, b: str | Prepared) -> bool:
        if self.m.config.length == "fixed":
            return True
        one, other = (x.document if isinstance(x, Prepared) else self.m.document(x) for x in (a, b))
        return self.m.limit(one) == self.m.limit(other)

    def spelled(self, drawn: Sequence[int]) -> str:
        return self.m._spelled(drawn)[0]
