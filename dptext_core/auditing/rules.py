"""Rules for every released text, byte for byte: it follows from its parts and its skeleton alone.

If parts correspond to original words, :class:`~dptext_core.text.skeleton.Skeleton` builds the text from the kept
tokens, the gaps and the released words. Otherwise, :meth:`AuditSupport.spelled` builds it from the sampled candidates.
A mechanism without that method writes each part as its candidate is listed, with at most one blank between two parts
and no other character outside of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import Busy, Cancelled, ModelUnavailable
from ..mechanisms.base import Mechanism
from ..mechanisms.config import finished
from ..privacy.distribution import TokenDistribution
from ..privacy.guarantee import Guarantee
from ..result import Release, RewriteResult, releases_of
from ..support.checks import pluralize
from ..text.document import Document
from ..text.skeleton import Edit
from .report import Witness

#: The reasons if a text contains something that nothing states.
ELSE = "releases something other than its sampled words, kept tokens and gaps."
PIECES = "the release differs from its spans, so a guarantee about the spans does not cover it."


class Breach(Exception):
    """A violation of a rule by a release. reason: a clause that ends with a full stop. told: the details for this
    release."""

    def __init__(self, text: str, details: str, reason: str, at: str | None = None, other: str | None = None):
        super().__init__(reason)
        self.witness = Witness.of_rule(details, text, other, at=at, kind="release")
        self.reason = reason


#: Errors that do not depend on a text, and that end an audit.
OURS = (Cancelled, Busy, ModelUnavailable, MemoryError)


def flat(text: str, most: int = 200) -> str:
    """Return a public text on one line, cut if long."""
    return text[:most].replace("\n", " ") + "…" * (len(text) > most)


def apart_at(a: str, b: str, around: int = 24) -> tuple[str, str]:
    """Return two texts around their first difference."""
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, at - around)
    return tuple("…" * (start > 0) + t[start : at + around] + "…" * (at + around < len(t)) for t in (a, b))  # type: ignore[return-value]


def dependence_breach(what: str, text: str, details: str, other: str) -> Breach:
    """Return the breach of metadata that differs between two texts that the guarantee compares."""
    reason = f"the {what} depends on the private text, although the guarantee covers both texts."
    return Breach(text, details, reason, other=other)


def not_named(text: str, piece: str) -> Breach:
    """Return the breach of a copied part if the guarantee lists nothing as not protected."""
    message = (
        f"“{flat(piece)}” was copied into a rewrite of “{flat(text)}”, but the guarantee lists nothing as not "
        "protected."
    )
    return Breach(text, message, "the guarantee does not list copied words as not protected.")


def same_guarantee(result: RewriteResult, stated: Guarantee) -> None:
    """Raise Breach if the guarantee of a result differs from the one that the mechanism states for its text. It is
    released with the text, so a difference may reveal something. The seed mark may differ."""
    claimed = result.guarantee
    if result.seed is not None:
        claimed = dataclasses.replace(claimed, seeded=stated.seeded, exposed=claimed.exposed[:-1])
    for f in dataclasses.fields(stated):
        a, b = getattr(claimed, f.name), getattr(stated, f.name)
        if a != b and not (a != a and b != b):
            name = f"“{flat(result.original)}”"
            message = (
                f"For a rewrite of {name}, the {f.name} of the guarantee is {a!r}; for the text itself it is {b!r}."
            )
            raise Breach(result.original, message, "the guarantee of a result differs from that of its text.")


def follow_steps(document: Document, way: str, result: RewriteResult) -> None:
    """Raise Breach if a released text does not follow from its steps and the skeleton of its original. way: the entry
    point, for the sentence.
    """
    text, tokens = document.text, document.tokens
    reason = f"a rewrite (entry point: {way}) {ELSE}"
    name = f"“{flat(text)}”"
    steps = {s.index: s for s in result.steps if s.action != "insert"}
    after = {s.index: s for s in result.steps if s.action == "insert"}
    known = result.original == text and len(steps) + len(after) == len(result.steps)
    if not known or sorted(steps) != list(range(len(tokens))) or not after.keys() <= steps.keys():
        message = f"The steps of a rewrite of {name} do not match its {len(tokens)} tokens."
        raise Breach(text, message, reason)
    edits = []
    for i, token in enumerate(tokens):
        step = steps[i]
        same = step.original == token.text and step.span == (token.start, token.end)
        if not same or step.action not in ("keep", "replace", "delete"):
            raise Breach(text, f"Step {i} of a rewrite of {name} does not match its token “{token.text}”.", reason)
        word = None if step.action == "keep" else step.replacement if step.action == "replace" else ""
        edits.append(Edit(word, after[i].replacement if i in after else None))
    texts = [edit.text for edit in edits]
    skeleton = document.skeleton([word is not None for word in texts])
    skeleton, written = finished(result.config, skeleton, texts, [edit.after for edit in edits])
    for i, token in enumerate(tokens):
        if texts[i] is None and steps[i].replacement != written.get(i, token.text):
            message = f"“{token.text}” in {name} should be kept, but “{steps[i].replacement}” was released for it."
            raise Breach(text, message, reason)
    spliced = skeleton.render(edits)
    if result.text != spliced.text:
        released, rule = apart_at(result.text, spliced.text)
        message = f"“{released}” was released for {name}, but its steps give “{rule}”."
        raise Breach(text, message, reason)
    for step in result.steps:
        if step.action != "delete" and result.text[slice(*step.out)] != step.replacement:
            message = f"A step of a rewrite of {name} states “{step.replacement}”, but its span in the text differs."
            raise Breach(text, message, reason)
    if result.pieces is not None:
        stated = releases_of(result.steps, result.trace.rules)
        if [(p.span, p.text, p.origin) for p in result.pieces] != [(p.span, p.text, p.origin) for p in stated]:
            raise Breach(text, f"The spans of a rewrite of {name} do not match its steps.", reason)


@dataclass
class Spelling:
    """The observed spellings of parts, for a mechanism without aligned words. unclear: why they are unknown, a clause
    that ends with a full stop; "" if they are known.
    """

    m: Mechanism
    unclear: str = ""
    _first_seen: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)
    _gaps: dict[tuple[str, str], str] = field(default_factory=dict)
    _rules: dict[tuple[str, int], str] = field(default_factory=dict)
    _documents: dict[str, Document] = field(default_factory=dict)

    def document(self, original: str) -> Document:
        """Return the tokens of a text, computed once."""
        if original not in self._documents:
            self._documents[original] = Document.parse(original, self.m.language)
        return self._documents[original]

    def follow(self, original: str, result: RewriteResult, exposed: Sequence[str], distributions: bool = True) -> None:
        """Raise Breach if a released text does not follow from its parts. exposed: what the guarantee lists as not
        protected. distributions: whether to query them, which can need a model pass.
        """
        name, pieces = f"“{flat(original)}”", result.releases
        if (known := self._spelled(result)) is not None:
            if result.text != known:
                released, rule = apart_at(result.text, known)
                message = f"“{released}” was released for {name}, but its sampled tokens spell “{rule}”."
                raise Breach(original, message, PIECES)
            return
        self._covered(original, result, pieces)
        copied = [p.text for p in pieces if p.origin == "copied"]
        if copied and not exposed:
            raise not_named(original, copied[0])
        drawn = tuple(p.text for p in pieces if p.is_sampled)
        text, whose = self._first_seen.setdefault(drawn, (result.text, original))
        if text != result.text and not copied and whose != original and self.m.audit_support.adjacent(whose, original):
            released, other = apart_at(result.text, text)
            message = (
                f"The same spans were sampled for two texts, but “{released}” and “{other}” were released."
            )
            raise Breach(original, message, "the text around sampled spans depends on the private text.", other=whose)
        others = [p for p in pieces if not p.is_sampled]
        for k, p in enumerate(others):
            if p.origin == "rule" and self._rules.setdefault((p.reason, k - len(others)), p.text) != p.text:
                self._lacks("spans placed by a public rule differ between texts")
        if distributions and "distribution" in result.can:
            for i, d in result.distributions():
                self._listed(original, result, i, pieces[i], d)

    def _lacks(self, what: str) -> None:
        method = "Mechanism.audit_support.spelled"
        self.unclear = f"{what}, and the mechanism does not state how spans are written ({method})."

    def _spelled(self, result: RewriteResult) -> str | None:
        """Return the text that the mechanism states for these candidates; None if it states none."""
        if not self.m.audit_support.spells or not all(p.is_sampled for p in result.releases):
            return None
        drawn = [result.candidate(i) for i in range(len(result.releases))]
        return None if None in drawn else self.m.audit_support.spelled([c for c in drawn if c is not None])

    def _covered(self, original: str, result: RewriteResult, pieces: Sequence[Release]) -> None:
        name = f"“{flat(original)}”"
        ends = [0, *(p.span[1] for p in pieces)]
        starts = [*(p.span[0] for p in pieces), len(result.text)]
        for k, (a, b) in enumerate(zip(ends, starts, strict=True)):
            gap, inside = result.text[a:b], 0 < k < len(pieces)
            if gap and (not inside or gap != " "):
                where = "after the last span" if k == len(pieces) else "between spans" if k else "before all spans"
                what = f"has “{flat(gap)}”" if gap.strip() else f"has {pluralize(len(gap), 'space')}"
                message = f"A release of {name} {what} {where}, outside all of them."
                raise Breach(original, message, PIECES)
            if inside and self._gaps.setdefault((pieces[k - 1].text, pieces[k].text), gap) != gap:
                self._lacks("the same two spans are separated by a space in one text but not in another")

    def _listed(self, original: str, result: RewriteResult, i: int, piece: Release, d: TokenDistribution) -> None:
        known, text = result.candidate(i), piece.text.casefold()
        if known is not None:
            if d.candidates[known].strip().casefold() != text:
                self._lacks("spans are spelled differently from their listed candidates")
            return
        at = [k for k, c in enumerate(d.candidates) if c.strip().casefold() == text]
        if not any(d.log_probs[k] > -float("inf") for k in at) and not (d.draws is not None and at):
            message = (
                f"“{piece.text}” is span {i} of a rewrite of “{flat(original)}”, but not one of the {len(d):,} "
                "candidates that are stated to be possible there."
            )
            raise Breach(original, message, PIECES)
