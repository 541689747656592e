"""Stop words and antonyms, from what the user's machine has; nothing is downloaded and no list is shipped.

Which lists are looked for, a language says (see ``languages/``); a file of the user's own takes their place.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..checks import usable_path
from ..errors import InputError, ModelUnavailable
from ..language import Language, straight
from ..languages import ENGLISH

_WORDNET_PARTS = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True)
class Lexicon:
    """A set of words with its source. ``word in lexicon`` ignores case and the kind of apostrophe.

    A contraction belongs to it where its base does (``couldn't`` with ``could``, ``won't`` with ``will``, ``it's`` with
    ``it``), and so does every clitic of the language on its own. ``source`` names the list in words.
    """

    name: str
    source: str
    words: frozenset[str] = field(repr=False)
    language: Language = ENGLISH

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        return self._has(straight(word.lower()))

    def _has(self, word: str) -> bool:
        if word in self.words or word in self.language.clitic_tokens:
            return True
        if bases := self.language.bases(word):
            return not self.words.isdisjoint(bases)
        base, apostrophe, clitic = word.rpartition("'")
        return bool(base) and apostrophe + clitic in self.language.clitic_tokens and self._has(base)


def stop_words(path: str | Path | None = None, language: Language = ENGLISH) -> Lexicon:
    """Stop words: of a file with one word a line, else the list that this machine has for the language.

    For English that is NLTK's where its data is on disk, else gensim's. Raises InputError for a file that cannot be
    read, ModelUnavailable where there is no list at all.
    """
    if path is None:
        return _default_stop_words(language)
    # The file is read each time, so that a change of it counts at once; only its meaning is cached.
    path = usable_path(path)
    return _stop_words_of(path.name, _bytes(path), language)


@lru_cache(maxsize=8)
def _stop_words_of(name: str, data: bytes, language: Language) -> Lexicon:
    words = frozenset(straight(line.strip().lower()) for line in _lines(name, data)) - {""}
    if not words:
        raise InputError(f"{name} holds no word: a list of stop words has one word a line.")
    digest = hashlib.sha256(data).hexdigest()[:12]
    return Lexicon("file", f"the stop words in {name} (SHA-256 {digest})", words, language)


@cache
def _default_stop_words(language: Language) -> Lexicon:
    if language.load_stop_words is None:
        raise ModelUnavailable(f"No list of {language.name} stop words is known. Give a file with one word a line.")
    return dataclasses.replace(language.load_stop_words(), language=language)


def nltk_stop_words(name: str) -> frozenset[str] | None:
    """NLTK's list of this name (that of a language), or None where its data is not on disk."""
    pointer = _nltk_data(f"corpora/stopwords/{name}")
    if pointer is None:
        return None
    with pointer.open() as file:
        lines = file.read().decode("utf-8").split("\n")
    return frozenset(line.strip() for line in lines) - {""}


@dataclass(frozen=True)
class Antonyms:
    """Pairs of opposite words with their source."""

    name: str
    source: str
    pairs: Mapping[str, frozenset[str]] = field(repr=False)

    def of(self, word: str) -> frozenset[str]:
        """The antonyms of a word in lower case, case ignored; empty where none is known."""
        return self.pairs.get(word.lower(), frozenset())


def antonyms(path: str | Path | None = None, language: Language = ENGLISH) -> Antonyms:
    """Antonyms from ``path``, else those that this machine has for the language (for English, WordNet's).

    ``path``: a file with two words a line (plain or .gz), or a folder with WordNet's ``data.*`` files. Both directions
    count. Raises ModelUnavailable where there are none, InputError for a file that cannot be used.
    """
    if path is None:
        return _default_antonyms(language)
    path = usable_path(path)
    if path.is_dir():
        return Antonyms("wordnet", f"WordNet's antonyms in {path.name}", folder_antonyms(path))
    pairs = [words for words in (line.split() for line in _lines(path.name, _bytes(path))) if words]
    if not pairs or any(len(words) != 2 for words in pairs):
        raise InputError(f"{path.name} cannot be used: a list of antonyms has two words a line.")
    return Antonyms("file", f"the antonyms in {path.name}", _collect((a, b) for a, b in pairs))


@cache
def _default_antonyms(language: Language) -> Antonyms:
    if language.load_antonyms is None:
        raise ModelUnavailable(
            f"No list of {language.name} antonyms is known. Give a file with two opposite words a line."
        )
    return language.load_antonyms()


def folder_antonyms(folder: Path) -> Mapping[str, frozenset[str]]:
    """The antonyms of a folder with a WordNet's ``data.*`` files."""
    return _collect(_wordnet_pairs(_folder_reader(folder)))


def nltk_antonyms(name: str) -> Mapping[str, frozenset[str]] | None:
    """The antonyms of NLTK's WordNet of this name, or None where its data is not on disk."""
    corpus = _nltk_data(f"corpora/{name}/data.adj") and _nltk_data(f"corpora/{name}")
    if not corpus:
        return None

    def read(part: str) -> Iterator[str]:
        with corpus.join(f"data.{part}").open() as file:
            yield from file.read().decode("utf-8").split("\n")

    return _collect(_wordnet_pairs(read))


def _folder_reader(folder: Path) -> Callable[[str], Iterator[str]]:
    def read(part: str) -> Iterator[str]:
        try:
            yield from (folder / f"data.{part}").read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise InputError(f"{folder.name} is no WordNet: data.{part} cannot be read.") from error

    return read


def _wordnet_pairs(read: Callable[[str], Iterable[str]]) -> Iterator[tuple[str, str]]:
    """The lexical ``!`` pointers of WordNet's data files (format: wndb(5WN))."""
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
            # An adjective may carry its position: "dead(p)".
            words = [word.partition("(")[0].replace("_", " ").lower() for word in fields[4 : 4 + 2 * count : 2]]
            synsets[part, fields[0]] = words
            rest = fields[5 + 2 * count :]
            for i in range(0, 4 * int(fields[4 + 2 * count]), 4):
                symbol, offset, pos, ends = rest[i : i + 4]
                if symbol == "!" and ends != "0000":
                    pointers.append((words[int(ends[:2], 16) - 1], letter[pos], offset, ends[2:]))
    for word, part, offset, end in pointers:
        yield word, synsets[part, offset][int(end, 16) - 1]


def _collect(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for a, b in pairs:
        a, b = a.lower(), b.lower()
        if a != b:
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
    return MappingProxyType({word: frozenset(others) for word, others in found.items()})


def _nltk_data(name: str) -> Any | None:
    """NLTK's pointer to a file of its data, or None where it is not on disk."""
    # Importing NLTK takes over a second: not to find that there is none of its data.
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
    """Where NLTK looks for its data before anyone tells it otherwise (its own list, without importing it)."""
    named = [Path(p) for p in os.environ.get("NLTK_DATA", "").split(os.pathsep) if p]
    here = [Path(sys.prefix) / d for d in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    if sys.platform == "win32":
        shared = [Path(os.environ.get("APPDATA", "C:/")) / "nltk_data", *(Path(f"{d}:/nltk_data") for d in "CDE")]
    else:
        shared = [Path(p) / "nltk_data" for p in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")]
    return [*named, Path.home() / "nltk_data", *here, *shared]


def read_lines(path: str | Path) -> list[str]:
    """The lines of a list of words, plain or .gz. Raises InputError for a file that cannot be read."""
    path = usable_path(path)
    return _lines(path.name, _bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError(f"{path.name} cannot be read ({reason}). Name a list of words that is there.") from None


def _lines(name: str, data: bytes) -> list[str]:
    try:
        return (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8-sig").splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        # The library's message would quote the content.
        raise InputError(f"{name} cannot be read as a list of words: save it as plain text in UTF-8.") from None
