"""Measure how well detectors flag the identifying spans of annotated texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ..detectors import KINDS, PiiSpan
from ..errors import InputError
from ..support.private import Private
from ..text.document import Document
from ..text.language import Language
from ..text.languages import ENGLISH
from ..text.names_and_numbers import plain_form

_MARKED = re.compile(r"\{([a-z -]+)\|([^{}|]+)\}")
#: Words on no list, of different parts of speech.
_EXCHANGED = ("garden", "slowly", "green")
#: Facts of a biography, each as group 1 of every match.
_BIOGRAPHY = {
    "name": re.compile(r"\A(\w+(?:[ -]\w+)?+)"),
    "number": re.compile(r"\b(\d+)[- \u2011]year[- \u2011]old"),
    "place": re.compile(r"\b(?:in|from) ([A-Z]\w+(?: [A-Z]\w+)*)(?=, [A-Z])"),
}


@dataclass(frozen=True)
class MarkedText(Private):
    """A text and its identifying spans: kind, start and end of each. complete: whether these are all."""

    text: str
    spans: tuple[tuple[str, int, int], ...]
    complete: bool = True

    _shown: ClassVar[tuple[str, ...]] = ("complete",)


@dataclass
class DetectionCounts:
    """Counts of a detector's flags, by kind.

    Attributes
    ----------
    units, whole : Counter
        Number of annotated spans, and of those in which every word is flagged, with any kind.
    false_flags : Counter
        Number of words flagged outside the annotated spans, by the kind of the flag; complete texts only.
    words : int
        Number of words outside the annotated spans of complete texts.
    """

    units: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    false_flags: Counter[str] = field(default_factory=Counter)
    words: int = 0

    @property
    def recall(self) -> float:
        """Return the share of the annotated spans that are flagged completely."""
        return self.whole.total() / max(1, self.units.total())

    @property
    def false_share(self) -> float:
        """Return the share of the other words that are flagged."""
        return self.false_flags.total() / max(1, self.words)


def read_marked(lines: Iterable[str]) -> list[MarkedText]:
    """Return texts whose spans are annotated as ``{kind|span}``, one per line.

    Lines that begin with # are ignored. Raises InputError for an unknown kind.
    """
    return [_read_line(line) for line in map(str.strip, lines) if line and not line.startswith("#")]


def count_flag_changes(
    find: Callable[[str, Language], Sequence[PiiSpan]], texts: Iterable[MarkedText], language: Language = ENGLISH
) -> tuple[int, int]:
    """Return how many changes of one unflagged word change the flag of another word, and the number of changes.

    Each unflagged word in lower case is replaced by each of three public words.
    """
    changed = tried = 0
    for marked in texts:
        document = Document.parse(marked.text, language)
        flagged = _flagged_tokens(document, find(marked.text, language))
        for i, token in enumerate(document.tokens):
            if token.kind != "word" or not token.text.islower() or i in flagged:
                continue
            for other in _EXCHANGED:
                text = marked.text[: token.start] + other + marked.text[token.end :]
                after = _flagged_tokens(Document.parse(text, language), find(text, language))
                tried += 1
                changed += {k: v for k, v in after.items() if k != i} != flagged
    return changed, tried


def _flagged_tokens(document: Document, spans: Sequence[PiiSpan]) -> dict[int, str]:
    at = {start: i for i, start in enumerate(document.starts)}
    return {at[start]: span.kind for span in spans for start, _ in span.words}


def _read_line(line: str) -> MarkedText:
    text, spans, at = "", [], 0
    for match in _MARKED.finditer(line):
        kind, inside = match.groups()
        if kind not in KINDS:
            raise InputError(f"There is no span kind {kind!r}. Use one of {', '.join(KINDS)}.")
        text += line[at : match.start()]
        spans.append((kind, len(text), len(text) + len(inside)))
        text += inside
        at = match.end()
    return MarkedText(text + line[at:], tuple(spans))


def mark_biography(text: str) -> MarkedText:
    """Return a biography with three annotated facts: the person's name, age, and home."""
    spans = [(kind, *m.span(1)) for kind, pattern in _BIOGRAPHY.items() for m in pattern.finditer(text)]
    return MarkedText(text, tuple(spans), complete=False)


def count_detections(
    find: Callable[[str, Language], Sequence[PiiSpan]], texts: Iterable[MarkedText], language: Language = ENGLISH
) -> DetectionCounts:
    """Return counts of a detector's flags in annotated texts."""
    counts, clues = DetectionCounts(), language.clues
    passed_over = clues.particles | clues.joining | clues.place_ends
    for marked in texts:
        flags = [(a, b, span.kind) for span in find(marked.text, language) for a, b in [span.span]]
        tokens = [t for t in Document.parse(marked.text, language).tokens if t.kind in ("word", "number")]
        for kind, start, end in marked.spans:
            inside = [t for t in tokens if t.start < end and start < t.end]
            telling = [t for t in inside if plain_form(t.text) not in passed_over] or inside
            counts.units[kind] += 1
            counts.whole[kind] += all(any(a <= t.start and t.end <= b for a, b, _ in flags) for t in telling)
        if marked.complete:
            for t in tokens:
                if not any(t.start < end and start < t.end for _, start, end in marked.spans):
                    counts.words += 1
                    counts.false_flags.update({k for a, b, k in flags if a <= t.start and t.end <= b})
    return counts
