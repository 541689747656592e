"""Stop words and antonyms, from what the user's machine has; nothing is downloaded and no list is shipped.

Stop words: NLTK's English list where its data is installed, else the list inside gensim (Stone et al. 2011).
Antonyms: WordNet (Miller 1995), as NLTK's data or as Debian's package wordnet-base has it, else a file of word pairs.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import importlib.util
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

CLITICS = frozenset(("'s", "'re", "'ve", "'ll", "'d", "'m", "n't"))
# Irregular forms, and those of verbs that lists of stop words leave out, by a verb that they have.
_IRREGULAR = {"can't": "can", "won't": "will", "shan't": "will", "ain't": "is", "needn't": "must", "oughtn't": "should"}
_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
_DEBIAN_WORDNET = Path("/usr/share/wordnet")
_WORDNET_PARTS = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True)
class Lexicon:
    """A set of words with its source. ``word in lexicon`` ignores case and the kind of apostrophe.

    A contraction belongs to it where its base does (``couldn't`` with ``could``, ``won't`` with ``will``, ``it's`` with
    ``it``), and so does every clitic on its own (``'s 're 've 'll 'd 'm n't``). ``source`` names the list in words.
    """

    name: str
    source: str
    words: frozenset[str] = field(repr=False)

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        return self._has(word.lower().translate(_APOSTROPHES))

    def _has(self, word: str) -> bool:
        if word in self.words or word in CLITICS:
            return True
        if word.endswith("n't"):
            base = _IRREGULAR.get(word, word[:-3])
            return base in self.words or word.replace("'", "") in self.words
        base, apostrophe, clitic = word.rpartition("'")
        return bool(base) and apostrophe + clitic in CLITICS and self._has(base)


def stop_words(path: str | Path | None = None) -> Lexicon:
    """English stop words: of a file with one word a line, else NLTK's list where its data is on disk, else gensim's.

    Raises InputError for a file that cannot be read, ModelUnavailable where there is no list at all.
    """
    if path is None:
        return _default_stop_words()
    # The file is read each time, so that a change of it counts at once; only its meaning is cached.
    path = usable_path(path)
    return _stop_words_of(path.name, _bytes(path))


@lru_cache(maxsize=8)
def _stop_words_of(name: str, data: bytes) -> Lexicon:
    words = frozenset(line.strip().lower().translate(_APOSTROPHES) for line in _lines(name, data)) - {""}
    if not words:
        raise InputError(f"{name} holds no word: a list of stop words has one word a line.")
    digest = hashlib.sha256(data).hexdigest()[:12]
    return Lexicon("file", f"the stop words in {name} (SHA-256 {digest})", words)


@cache
def _default_stop_words() -> Lexicon:
    pointer = _nltk_data("corpora/stopwords/english")
    if pointer is not None:
        with pointer.open() as file:
            lines = file.read().decode("utf-8").split("\n")
        words = frozenset(line.strip() for line in lines) - {""}
        return Lexicon("nltk", "NLTK's English stop words", words)
    return Lexicon("gensim", "gensim's English stop words", _gensim_stop_words())


def _gensim_stop_words() -> frozenset[str]:
    """Read from gensim's source without running it: importing gensim takes most of a second, this some milliseconds."""
    spec = importlib.util.find_spec("gensim")
    for place in (spec.submodule_search_locations or []) if spec else []:
        source = Path(place) / "parsing" / "preprocessing.py"
        if source.is_file():
            for node in ast.parse(source.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                    continue
                if getattr(node.targets[0], "id", "") == "STOPWORDS" and len(node.value.args) == 1:
                    return frozenset(ast.literal_eval(node.value.args[0]))
    try:
        from gensim.parsing.preprocessing import STOPWORDS
    except ImportError as error:
        raise ModelUnavailable(
            "There is no list of stop words: pip install gensim, or give a file with one word a line."
        ) from error
    return frozenset(STOPWORDS)


@dataclass(frozen=True)
class Antonyms:
    """Pairs of opposite words with their source."""

    name: str
    source: str
    pairs: Mapping[str, frozenset[str]] = field(repr=False)

    def of(self, word: str) -> frozenset[str]:
        """The antonyms of a word in lower case, case ignored; empty where none is known."""
        return self.pairs.get(word.lower(), frozenset())


def antonyms(path: str | Path | None = None) -> Antonyms:
    """Antonyms from WordNet on disk (NLTK's data, then Debian's), or from ``path``.

    ``path``: a file with two words a line (plain or .gz), or a folder with WordNet's ``data.*`` files. Both directions
    count. Raises ModelUnavailable where no WordNet is there, InputError for a file that cannot be used.
    """
    if path is None:
        return _default_antonyms()
    path = usable_path(path)
    if path.is_dir():
        return Antonyms("wordnet", f"WordNet's antonyms in {path.name}", _collect(_wordnet_pairs(_folder_reader(path))))
    pairs = [words for words in (line.split() for line in _lines(path.name, _bytes(path))) if words]
    if not pairs or any(len(words) != 2 for words in pairs):
        raise InputError(f"{path.name} cannot be used: a list of antonyms has two words a line.")
    return Antonyms("file", f"the antonyms in {path.name}", _collect((a, b) for a, b in pairs))


@cache
def _default_antonyms() -> Antonyms:
    corpus = _nltk_data("corpora/wordnet/data.adj") and _nltk_data("corpora/wordnet")
    if corpus:

        def read(part: str) -> Iterator[str]:
            with corpus.join(f"data.{part}").open() as file:
                yield from file.read().decode("utf-8").split("\n")

        return Antonyms("wordnet", "WordNet's antonyms (NLTK's data)", _collect(_wordnet_pairs(read)))
    if (_DEBIAN_WORDNET / "data.adj").is_file():
        pairs = _collect(_wordnet_pairs(_folder_reader(_DEBIAN_WORDNET)))
        return Antonyms("wordnet", "WordNet's antonyms (Debian's wordnet-base)", pairs)
    raise ModelUnavailable(
        "There are no antonyms on this machine. Install WordNet (python -m nltk.downloader wordnet, or on Debian and "
        "Ubuntu: apt install wordnet-base), or give a file with two opposite words a line."
    )


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
