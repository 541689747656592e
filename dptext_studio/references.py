"""Publications of each mechanism as BibTeX (``references.bib``), and the citation of this program.

A mechanism names its papers by their keys (``Mechanism.references``), starting with its origin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dptext_core.errors import InputError
from dptext_core.support.version import __version__

#: The keys of this program, and of methods that it describes first.
OWN = "dptextstudio"


@dataclass(frozen=True)
class Reference:
    """A BibTeX entry with its key."""

    key: str
    bibtex: str

    def field(self, name: str) -> str:
        """Return a field in plain text, without braces; empty if the entry has no such field."""
        match = re.search(rf"(?ms)^  {re.escape(name)} = \{{(.*?)\}},$", self.bibtex)
        return " ".join(match[1].replace("{", "").replace("}", "").replace("--", "–").split()) if match else ""

    def line(self) -> str:
        """Return the entry as text: authors, year, title and venue."""
        authors = [" ".join(reversed(a.split(", "))) for a in self.field("author").split(" and ")]
        who = ", ".join(authors[:-1]) + " and " * (len(authors) > 1) + authors[-1]
        when = f" ({year})" if (year := self.field("year")) else ""
        where = f" {place}." if (place := self.field("booktitle") or self.field("journal")) else ""
        return f"{who}{when}. {self.field('title')}.{where}"


@cache
def references() -> dict[str, Reference]:
    """Return all entries by key, this program first."""
    text = files(__package__).joinpath("references.bib").read_text(encoding="utf-8")
    entries = re.split(r"\n\n(?=@)", text.replace("VERSION", __version__).strip())
    keys = [entry[entry.index("{") + 1 : entry.index(",")] for entry in entries]
    return {key: Reference(key, entry) for key, entry in zip(keys, entries, strict=True)}


def reference(key: str) -> Reference:
    """Return the entry with this key. Raise InputError if there is none."""
    try:
        return references()[key]
    except KeyError:
        raise InputError(f"There is no reference {key!r}. Choose one of: {', '.join(references())}.") from None


def bibtex(keys: tuple[str, ...]) -> str:
    """Return entries as the text of a .bib file, without repetitions."""
    return "\n\n".join(reference(key).bibtex for key in dict.fromkeys(keys)) + "\n"
