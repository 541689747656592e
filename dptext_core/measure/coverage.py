"""Warnings about words of a text that a mechanism's vocabulary does not cover, shown before the rewrite."""

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

#: For a text without words, with a mechanism that samples anyway.
EMPTY = "This text is empty. It is rewritten like any other, and spends its ε like any other."
#: For a text of emoji or signs alone, with a mechanism that replaces words.
COPIED = "Nothing in this text will be replaced, because it has no words. All of it is copied."
#: For an empty text before any request.
WAITS = "Enter a text. In Python and on the command line, an empty text is rewritten like any other, and spends ε."
#: Maximum share of unknown words without a warning: names and typing errors stay below it.
MOST_UNKNOWN = 0.5
#: Minimum number of words for a warning about a foreign language: two names are not enough.
FEWEST = 4
_OTHER_LANGUAGE = "The bundled vocabularies and models are English. For another language, choose"


def coverage_note(mechanism: Mechanism, text: str | Prepared) -> str:
    """Explain how the mechanism treats a text that it barely covers, with invisible characters; "" otherwise.

    Runs no model. The note reveals something about the text: it is for its author alone.
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
    # The guarantee cuts the text into words once more: only if it matters.
    if signs and not (guarantee := mechanism.guarantee(text)).draws and guarantee.notion != Notion.NONE:
        return COPIED
    reading = mechanism.reading
    note, (known, words) = reading.note(text), reading.coverage(text)
    unknown = words - known
    if unknown <= MOST_UNKNOWN * words:
        return f"{note} {_foreign_note(mechanism, document)}".strip()
    covered = (
        f"This text has words outside the vocabulary ({unknown} of {words}): {reading.uncovered()} {_OTHER_LANGUAGE} "
        "a vocabulary or a model of that language."
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
        f"{unknown} of {len(read)} words of this text are not known as {mechanism.language.name} words, so the rewrite "
        f"will make little sense. {_OTHER_LANGUAGE} a model of that language."
    )


@lru_cache(maxsize=2)
def _known_words(language: Language) -> frozenset[str]:
    """Return the words of the bundled masked language model that are words of a language."""
    return frozenset(word.casefold() for word in word_chances.candidates(BUNDLED, language))
