"""What a mechanism's vocabulary does not cover of a text: said before anyone wonders why a rewrite makes no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..mechanisms.base import Mechanism, Prepared

#: Of a text without anything to read, by a mechanism that draws all the same.
EMPTY = "This text is empty. It is rewritten like any other, and spends its ε like any other."
#: The same where nothing was asked for yet.
WAITS = "This page waits for a text. Elsewhere an empty one is rewritten like any other, and spends its ε as they do."
#: A text is hardly covered where more than this part of its words is unknown: names and typing errors stay below.
MOST_UNKNOWN = 0.5


def coverage_note(mechanism: Mechanism, text: str | Prepared) -> str:
    """What happens to a text that the mechanism or its vocabulary hardly covers, in plain words; "" for any other.

    Runs no model. The note tells something of the text: it is for its author's eyes.
    """
    plain = getattr(text, "text", text)
    if isinstance(plain, str) and not plain.strip() and mechanism.guarantee(text).draws:
        return EMPTY
    note = mechanism.reading_note(text)
    known, words = mechanism.coverage(text)
    unknown = words - known
    if unknown <= MOST_UNKNOWN * words:
        return note
    counted = f"{unknown} of {words} words of this text are" if words > 1 else "The one word of this text is"
    covered = (
        f"{counted} not in the vocabulary: {mechanism.uncovered()} What is bundled knows English; for a text in "
        "another language, choose a vocabulary or a model of that language."
    )
    return f"{note} {covered}".strip()
