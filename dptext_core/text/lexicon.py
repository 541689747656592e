"""Types for lists of stop words and antonyms, and readers of NLTK's data and WordNet's files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import InputError
from .language import Language, straighten_apostrophes

_WORDNET_PARTS = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True)
class Lexicon:
    """A set of words with its source.

    ``word in lexicon`` ignores case and the kind of apostrophe. It contains a contraction if it contains its base
    (``couldn't`` with ``could``, ``won't`` with ``will``, ``it's`` with ``it``), and every clitic of the language.
    ``source`` describes the list.
    """

    name: str
    source: str
    words: frozenset[str] = field(repr=False)
    language: Language

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        return self._has(straighten_apostrophes(word.lower()))

    def _has(self, word: str) -> bool:
        if word in self.words or word in self.language.clitic_tokens:
            return True
        if bases := self.language.bases(word):
            return not self.words.isdisjoint(bases)
        base, apostrophe, clitic = word.rpartition("'")
        return bool(base) and apostrophe + clitic in self.language.clitic_tokens and self._has(base)


@dataclass(frozen=True)
class Antonyms:
    """Pairs of opposite words with their source."""

    name: str
    source: str
    pairs: Mapping[str, frozenset[str]] = field(repr=False)

    def of(self, word: str) -> frozenset[str]:
        """Return the antonyms of a word in lower case, ignoring case; empty if none is known."""
        return self.pairs.get(word.lower(), frozenset())


def nltk_stop_words(name: str) -> frozenset[str] | None:
    """Return NLTK's list of this name (that of a language), or None if its data is not on disk."""
    pointer = _nltk_data(f"corpora/stopwords/{name}")
    if pointer is None:
        return None
    with pointer.open() as file:
        lines = file.read().decode("utf-8").split("\n")
    return frozenset(line.strip() for line in lines) - {""}


def folder_antonyms(folder: Path) -> Mapping[str, frozenset[str]]:
    """Return the antonyms from the ``data.*`` files of a WordNet folder."""
    return pairs_both_ways(_wordnet_pairs(_folder_reader(folder)))


def nltk_antonyms(name: str) -> Mapping[str, frozenset[str]] | None:
    """Return the antonyms of NLTK's WordNet of this name, or None if its data is not on disk."""
    corpus = _nltk_data(f"corpora/{name}/data.adj") and _nltk_data(f"corpora/{name}")
    if not corpus:
        return None

    def read(part: str) -> Iterator[str]:
        with corpus.join(f"data.{part}").open() as file:
            yield from file.read().decode("utf-8").split("\n")

    return pairs_both_ways(_wordnet_pairs(read))


def _folder_reader(folder: Path) -> Callable[[str], Iterator[str]]:
    def read(part: str) -> Iterator[str]:
        try:
            yield from (folder / f"data.{part}").read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise InputError(f"{folder.name} is not a WordNet folder: data.{part} cannot be read. Choose another "
                             "folder.") from error

    return read


def _wordnet_pairs(read: Callable[[str], Iterable[str]]) -> Iterator[tuple[str, str]]:
    """Return the lexical ``!`` pointers of WordNet's data files (format: wndb(5WN))."""
    letter = dict(zip("nvar", _WORDNET_PARTS, strict=True))
    letter["s"] = "adj"
    synsets: dict[tuple[str, str], list[str]] = {}
    pointers: list[tuple[str, str, str, str]] = []
    for part in _WORDNET_PARTS:
        for line in read(part):
            if not line or line.startswith("  "):
                continue
            fields = line.partition("|")[0].split()
            count = int(fields[3], 16)
            # An adjective may be followed by its position: "dead(p)".
            words = [word.partition("(")[0].replace("_", " ").lower() for word in fields[4 : 4 + 2 * count : 2]]
            synsets[part, fields[0]] = words
            fields_left = fields[5 + 2 * count :]
            for i in range(0, 4 * int(fields[4 + 2 * count]), 4):
                symbol, offset, pos, ends = fields_left[i : i + 4]
                if symbol == "!" and ends != "0000":
                    pointers.append((words[int(ends[:2], 16) - 1], letter[pos], offset, ends[2:]))
    for word, part, offset, end in pointers:
        yield word, synsets[part, offset][int(end, 16) - 1]


def pairs_both_ways(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """Map each word in lower case to its partners, in either order of a pair."""
    partners: dict[str, set[str]] = {}
    for a, b in pairs:
        a, b = a.lower(), b.lower()
        if a != b:
            partners.setdefault(a, set()).add(b)
            partners.setdefault(b, set()).add(a)
    return MappingProxyType({word: frozenset(others) for word, others in partners.items()})


def _nltk_data(name: str) -> Any | None:
    """Return NLTK's pointer to a file of its data, or None if it is not on disk."""
    # Importing NLTK takes over a second: avoid it if the data is missing.
    if "nltk" not in sys.modules and not any(folder.is_dir() for folder in _nltk_folders()):
        return None
    try:
        import nltk.data
    except ImportError:
        return None
    try:
        return nltk.data.find(name)
    except LookupError:
        return None


def _nltk_folders() -> list[Path]:
    """Return the folders where NLTK looks for its data by default (its own list, without importing it)."""
    named = [Path(p) for p in os.environ.get("NLTK_DATA", "").split(os.pathsep) if p]
    here = [Path(sys.prefix) / d for d in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    if sys.platform == "win32":
        shared = [Path(os.environ.get("APPDATA", "C:/")) / "nltk_data", *(Path(f"{d}:/nltk_data") for d in "CDE")]
    else:
        shared = [Path(p) / "nltk_data" for p in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")]
    return [*named, Path.home() / "nltk_data", *here, *shared]
