"""Values for what a reader omitted from a file or changed in it, shown by the page and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from ..support.checks import pluralize


class NoteKind(StrEnum):
    """The subject of a reading note. The values name the kinds in JSON and between processes."""

    PAGES = "pages"
    HEADERS = "headers"
    FOOTNOTES = "footnotes"
    COMMENTS = "comments"
    DELETIONS = "deletions"
    PICTURES = "pictures"
    OBJECTS = "objects"
    SYMBOLS = "symbols"
    FORM_FIELDS = "form fields"
    FORM_PAGES = "form pages"
    SEPARATOR = "separator"
    QUOTES = "quotes"
    BYTES = "bytes"


@dataclass(frozen=True)
class ReadingNote:
    """One remark about how a file was read.

    Attributes
    ----------
    kind : NoteKind
    count : int
        How many of them.
    of : int
        How many there are in all, if known.
    detail : str
        The separator, or the name of the column.
    """

    kind: NoteKind
    count: int = 1
    of: int = 0
    detail: str = ""

    def to_dict(self) -> dict[str, str | int]:
        """Return the note as JSON data."""
        return {"kind": self.kind.value, "count": self.count, "of": self.of, "detail": self.detail}

    def sentence(self) -> str:
        """Describe what was omitted or changed, and what to do about it."""
        n, is_are = self.count, "is" if self.count == 1 else "are"
        match self.kind:
            case NoteKind.PAGES:
                return (
                    f"{n:,} of {pluralize(self.of, 'page')} {'has' if n == 1 else 'have'} no text. Scanned pages are "
                    "pictures: run text recognition (OCR) on the file first."
                )
            case NoteKind.HEADERS:
                return f"{_count_phrase(n, 'header or footer', 'headers and footers')} {is_are} left out."
            case NoteKind.FOOTNOTES:
                return f"{_count_phrase(n, 'footnote or endnote', 'footnotes and endnotes')} {is_are} left out."
            case NoteKind.COMMENTS:
                return f"{pluralize(n, 'comment')} {is_are} left out."
            case NoteKind.DELETIONS:
                return f"{pluralize(n, 'tracked deletion')} {is_are} left out."
            case NoteKind.PICTURES:
                return f"{pluralize(n, 'picture')} {is_are} left out, with any text in {'it' if n == 1 else 'them'}."
            case NoteKind.OBJECTS:
                objects = _count_phrase(n, "chart, diagram or embedded file", "charts, diagrams or embedded files")
                return f"{objects} {is_are} left out."
            case NoteKind.SYMBOLS:
                return (
                    f"{pluralize(n, 'symbol')} of a special font became □. Type {'it' if n == 1 else 'them'} as text."
                )
            case NoteKind.FORM_FIELDS:
                return f"The values of {pluralize(n, 'form field')} are added below the text of their pages."
            case NoteKind.FORM_PAGES:
                return "A dynamic form (XFA) is left out. Print the form to a new PDF, and use that."
            case NoteKind.SEPARATOR:
                mark = "tabs" if self.detail == "\t" else self.detail
                return f"Cells are separated by {mark}."
            case NoteKind.QUOTES:
                return "Quotation marks around cells are read as in a spreadsheet, and are not part of the text."
            case NoteKind.BYTES:
                return f"The column {self.detail} contains bytes that are not text, and is left out."


def _count_phrase(n: int, one: str, more: str) -> str:
    return f"{n:,} {one if n == 1 else more}"


def merge_notes(notes: Iterable[ReadingNote]) -> tuple[ReadingNote, ...]:
    """Add up the notes of several files: one note for each kind and detail."""
    found: dict[tuple[NoteKind, str], ReadingNote] = {}
    for note in notes:
        key = (note.kind, note.detail)
        before = found.get(key)
        found[key] = note if before is None else replace(note, count=before.count + note.count, of=before.of + note.of)
    return tuple(found.values())
