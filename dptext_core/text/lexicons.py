"""Stop words and antonyms from the user's machine; nothing is downloaded.

Only a list of English function words is bundled. The language decides which lists are used (see ``languages/``); a file
of the user replaces them.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import zlib
from functools import cache, lru_cache
from pathlib import Path

from ..errors import InputError, ModelUnavailable
from ..support.checks import usable_path, without_marks
from .language import Language, straighten_apostrophes
from .languages import ENGLISH
from .lexicon import Antonyms, Lexicon, folder_antonyms, pairs_both_ways

#: Maximum bytes of an unpacked list.
LARGEST = 256 << 20


def stop_words(path: str | Path | None = None, language: Language = ENGLISH) -> Lexicon:
    """Return the stop words of a file, or else those of this machine for the language.

    Parameters
    ----------
    path : path, optional
        A file with one word per line. Without it, for English: NLTK's list if its data is on disk, else gensim's if it
        is installed, else the function words of this package.
    language : Language

    Returns
    -------
    Lexicon
        A set of words with its source.

    Raises
    ------
    InputError
        The file cannot be read.
    ModelUnavailable
        There is no list at all.
    """
    if path is None:
        return _default_stop_words(language)
    # The file is read each time, so that a change takes effect at once; only the parsed result is cached.
    path = usable_path(path)
    return _stop_words_of(path.name, _bytes(path), language)


@lru_cache(maxsize=8)
def _stop_words_of(name: str, data: bytes, language: Language) -> Lexicon:
    words = frozenset(straighten_apostrophes(line.strip().lower()) for line in _lines(name, data)) - {""}
    if not words:
        raise InputError(f"{name} contains no word. Write one stop word per line.")
    digest = hashlib.sha256(data).hexdigest()[:12]
    return Lexicon("file", f"the stop words in {name} (SHA-256 {digest})", words, language)


@cache
def _default_stop_words(language: Language) -> Lexicon:
    if language.load_stop_words is None:
        raise ModelUnavailable(f"No list of {language.name} stop words is known. Provide a file with one word per "
                               "line.")
    return dataclasses.replace(language.load_stop_words(), language=language)


def antonyms(path: str | Path | None = None, language: Language = ENGLISH) -> Antonyms:
    """Return the antonyms of a file or a folder, or else those of this machine for the language.

    Parameters
    ----------
    path : path, optional
        A file with two words per line (plain or .gz), or a folder with WordNet's ``data.*`` files. Both directions
        count. Without it, for English: WordNet's.
    language : Language

    Raises
    ------
    ModelUnavailable
        There are none.
    InputError
        The file cannot be used.
    """
    if path is None:
        return _default_antonyms(language)
    path = usable_path(path)
    if path.is_dir():
        return Antonyms("wordnet", f"WordNet's antonyms in {path.name}", folder_antonyms(path))
    pairs = [words for words in (line.split() for line in _lines(path.name, _bytes(path))) if words]
    if not pairs or any(len(words) != 2 for words in pairs):
        raise InputError(f"{path.name} is not a list of pairs of words. Write two opposite words per line.")
    return Antonyms("file", f"the antonyms in {path.name}", pairs_both_ways((a, b) for a, b in pairs))


@cache
def _default_antonyms(language: Language) -> Antonyms:
    if language.load_antonyms is None:
        raise ModelUnavailable(
            f"No list of {language.name} antonyms is known. Provide a file with two opposite words per line."
        )
    return language.load_antonyms()


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a list of words, plain or .gz. Raises InputError for a file that cannot be read."""
    path = usable_path(path)
    return _lines(path.name, _bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError(f"{path.name} cannot be read ({reason}). Choose an existing list of words.") from None


def _lines(name: str, data: bytes) -> list[str]:
    try:
        if name.endswith(".gz"):
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise InputError(f"{name} has more than {LARGEST >> 20} MB of words. Choose a shorter list.")
        return without_marks(data.decode("utf-8")).splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        # The library's message would quote the content.
        raise InputError(f"{name} cannot be read as a list of words. Save it as plain text in UTF-8.") from None
