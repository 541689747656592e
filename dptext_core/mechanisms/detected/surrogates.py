"""Surrogates ("hiding in plain sight", pseudonymisation): each flagged word becomes a random stand-in of its type.

A stand-in is sampled uniformly from a public list, independently of the word. Equal words of a text get the same one.
Numbers keep their number of digits, two digits become an age from 18 to 99, and dates are valid. Every word that the
detector does not flag is released unchanged, so there is no guarantee for the text.
"""

from __future__ import annotations

from ...privacy.kinds import NotProtectedKind
from ...privacy.terms import NotProtected
from ...support.task import Task
from ...text.document import Document
from ..words.word_trace import Constant
from .flags import flag_tokens
from .replacing import ReplacingMechanism, ReplacingPrepared
from .stand_ins import candidates


class Surrogates(ReplacingMechanism):
    """Replaces each flagged word by a random stand-in of its type."""

    name = "surrogates"
    references = ("carrell2013hiding",)
    title = "Surrogates"
    summary = "Each detected name, place, date, number and address becomes a random one. Nothing else is protected."
    steps = (
        "A detector flags names, places, dates, numbers and addresses",
        "Your flagged word becomes one of {n} random stand-ins of its type",
        "Every other word is released unchanged",
    )

    def prepare_document(self, document: Document, task: Task) -> ReplacingPrepared:
        flags = flag_tokens(document, self.config.detector, self.config.allowlist)
        lists = {form: candidates(form, self.language) for form in {f.form for f in flags}}
        channels = {f.token: Constant(lists[f.form], document.words[f.token]) for f in flags}
        return ReplacingPrepared(document, self.key, channels, {f.token: f.same for f in flags})

    def unprotected(self, prepared: ReplacingPrepared) -> tuple[NotProtected, ...]:
        return (
            NotProtected(NotProtectedKind.FLAGGED_PLACES, count=len(prepared.channels)),
            NotProtected(NotProtectedKind.FLAGGED_SHAPES),
        )
