"""Redaction: each flagged span becomes a placeholder with its type, such as [NAME].

For comparison: this is common practice today. Every word that the detector does not flag is released unchanged, so
there is no guarantee.
"""

from __future__ import annotations

from typing import NamedTuple

from ...privacy.kinds import NotProtectedKind
from ...privacy.terms import NotProtected
from ...result import RewriteResult
from ...support.task import Task
from ...text.document import Document
from .flags import flag_spans
from .replacing import ReplacingMechanism, ReplacingPrepared, one_word

#: The placeholder of a span, by its kind.
PLACEHOLDERS = {
    "name": "[NAME]",
    "place": "[PLACE]",
    "date": "[DATE]",
    "number": "[NUMBER]",
    "phone number": "[PHONE]",
    "e-mail address": "[EMAIL]",
    "web address": "[LINK]",
}


class RedactedSpan(NamedTuple):
    """A span of the original that was redacted, the tokens in it, and its placeholder."""

    span: tuple[int, int]
    tokens: tuple[int, ...]
    placeholder: str


def redacted_spans(result: RewriteResult) -> list[RedactedSpan]:
    """Return what a redaction replaced, in order. A placeholder is followed by the other tokens of its span."""
    out: list[RedactedSpan] = []
    for s in result.steps:
        if s.action == "replace":
            out.append(RedactedSpan(s.span, (s.index,), s.replacement))
        elif s.action == "delete":
            last = out.pop()
            out.append(RedactedSpan((last.span[0], s.span[1]), (*last.tokens, s.index), last.placeholder))
    return out


class Redact(ReplacingMechanism):
    """Replaces each flagged span by a placeholder with its type."""

    name = "redact"
    references = ("pilan2022tab",)
    title = "Redaction"
    summary = "Each detected name, place, date, number and address becomes a placeholder. Nothing else is protected."
    steps = (
        "A detector flags names, places, dates, numbers and addresses",
        "Each flagged span becomes a placeholder with its type",
        "Every other word is released unchanged",
    )
    by_rule = True

    def prepare_document(self, document: Document, task: Task) -> ReplacingPrepared:
        spans = flag_spans(document, self.config.detector, self.config.allowlist)
        channels = {s.first: one_word(PLACEHOLDERS[s.kind], document.words[s.first]) for s in spans}
        deleted = frozenset(i for s in spans for i in range(s.first + 1, s.end))
        return ReplacingPrepared(document, self.key, channels, {i: i for i in channels}, deleted)

    def unprotected(self, prepared: ReplacingPrepared) -> tuple[NotProtected, ...]:
        return (NotProtected(NotProtectedKind.FLAGGED_PLACES, count=len(prepared.channels)),)
