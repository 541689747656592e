"""What a mechanism's vocabulary does not cover of a text: said before anyone wonders why a rewrite makes no sense."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..mechanisms.config import own_model
from ..models import word_chances
from ..models.registry import BUNDLED
from ..privacy.kinds import Notion
from ..text.document import Document
from ..text.language import Language
from ..text.visible import removed_note

if TYPE_CHECKING:
    from ..mechanisms.base import Mechanism, Prepared

#: Of a text without anything to read, by a mechanism that draws all the same.
EMPTY = "This text is empty. It is rewritten like any other, and spends its ε like any other."
#: Of a text of emoji or signs alone, where words are replaced.
COPIED = "Nothing in this text will be replaced, because it has no words. All of it is copied."
#: Of an empty text, where nothing was asked for yet.
WAITS = "This page waits for a text. Elsewhere an empty one is rewritten like any other, and spends its ε as they do."
#: A text is hardly covered where more than this part of its words is unknown: names and typing errors stay below.
MOST_UNKNOWN = 0.5
#: A text of fewer words is not called foreign: two names are no language.
FEWEST = 4
_OTHER_LANGUAGE = "What is bundled knows English; for a text in another language, choose"


def coverage_note(mechanism: Mechanism, text: str | Prepared) -> str:
    """Explain in plain words what happens to a text that the mechanism or its vocabulary barely covers, and how many
    characters are invisible; "" for any other text.

    Runs no model. The note tells something of the text: it is for its author's eyes.
    """
    document = _document(mechanism, text)
    return f"{removed_note(document.removed)} {_describe_coverage(mechanism, text, document)}".strip()


def _document(mechanism: Mechanism, text: str | Prepared) -> Document:
    return text.document if hasattr(text, "document") else mechanism.document(text)


def _describe_coverage(mechanism: Mechanism, text: str | Prepared, document: Document) -> str:
    empty = not document.visible.text.strip()
    if empty and mechanism.guarantee(text).draws:
        return EMPTY
    signs = not empty and not any(c.isalnum() for c in document.visible.text)
    # A guarantee cuts the text into words once more: only where it matters.
    if signs and not (guarantee := mechanism.guarantee(text)).draws and guarantee.notion != Notion.NONE:
        return COPIED
    reading = mechanism.reading
    note, (known, words) = reading.note(text), reading.coverage(text)
    unknown = words - known
    if unknown <= MOST_UNKNOWN * words:
        return f"{note} {_foreign_note(mechanism, document)}".strip()
    counted = f"{unknown} of {words} words of this text are" if words > 1 else "The one word of this text is"
    covered = (
        f"{counted} not in the vocabulary: {reading.uncovered()} {_OTHER_LANGUAGE} a vocabulary or a model of that "
        "language."
    )
    return f"{note} {covered}".strip()


def _foreign_note(mechanism: Mechanism, document: Document) -> str:
    """Explain what to expect of a bundled model that reads any letters, if few of the words are English; ""
    otherwise."""
    if own_model(mechanism.config) or not mechanism.needs:
        return ""
    read = [w.casefold() for w, kind in zip(document.words, document.kinds, strict=True) if kind == "word"]
    unknown = sum(word not in _known_words(mechanism.language) for word in read)
    if len(read) < FEWEST or unknown <= MOST_UNKNOWN * len(read):
        return ""
    return (
        f"{unknown} of {len(read)} words of this text are no {mechanism.language.name} words that are known here, so "
        f"the rewrite will make little sense. {_OTHER_LANGUAGE} a model of that language."
    )


@lru_cache(maxsize=2)
def _known_words(language: Language) -> frozenset[str]:
    """Return the words of the bundled masked language model that are words of a language."""
    return frozenset(word.casefold() for word in word_chances.candidates(BUNDLED, language))
