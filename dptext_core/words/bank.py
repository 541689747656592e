"""Banks of public sentences, one of which is released instead of a private one (``mechanisms.sentence``).

A bank is a folder of three files: ``sentences.txt``, one per line, ``vectors.zlib`` with their integer vectors, and
``bank.json``. The last one states the origin and licence of the sentences, the encoder of their vectors, how far the
rounding moves a cosine, and the SHA-256 of the other two files. The command ``bank build`` makes one.

Cosines are the same to the last bit on every machine and in every batch. Both vectors contain integers so small that
each sum of products is below 2²⁴, where float32 sums are exact in any order.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError, InputError, ModelUnavailable
from ..support.assets import folder_of, sha256_of
from ..support.task import UNWATCHED, Task
from ..text.document import Document
from .vocabulary import TRUNK_SHA256

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ABOUT, SENTENCES, VECTORS = "bank.json", "sentences.txt", "vectors.zlib"
#: Bundled banks by name: their folders in ``assets``.
BUNDLED = {"wordnet": "bank"}
DEFAULT_BANK = "wordnet"
#: Steps of a coordinate from 0 to 1: of a text's vector, and the default for a bank's.
TEXT_STEPS, BANK_STEPS = 1 << 14, 500
DIMENSIONS = 384
#: Maximum number of sentences whose vectors are added to another one: sums of products remain exact.
MOST_ADDED = 4
_FORMAT = 1
_EXACT = 1 << 24
#: Sentences per block of vectors: 12 MB in float32.
_BLOCK = 8192


@dataclass(frozen=True)
class BankAbout:
    """The description of a bank.

    Parameters
    ----------
    title, origin, licence
        Its name, the origin of its sentences, and the terms of their redistribution.
    sentences
        Number of sentences.
    steps
        Steps of a coordinate from 0 to 1 to which vectors were rounded.
    largest_error, usual_error
        How far rounding moves a cosine: at most, for any other vector, and as a standard deviation over random
        directions of the other vector.
    left_out
        Number of omitted sentences, by reason.
    sha256
        Of ``sentences.txt`` and ``vectors.zlib`` together.
    encoder
        SHA-256 of the weights of the encoder.
    """

    title: str
    origin: str
    licence: str
    sentences: int
    steps: int
    largest_error: float
    usual_error: float
    left_out: Mapping[str, int]
    sha256: str
    encoder: str = TRUNK_SHA256
    format: int = _FORMAT


@dataclass(frozen=True, eq=False)
class SentenceBank:
    """Public sentences and their vectors.

    Parameters
    ----------
    name
        Its name or folder.
    about
        Its description.
    sentences
        Each once, in a fixed order.
    codes
        int8 (n, 384): their vectors, as integers up to a common factor. Read-only.
    """

    name: str
    about: BankAbout
    sentences: tuple[str, ...] = field(repr=False)
    codes: NDArray[np.int8] = field(repr=False)

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.sentences), DIMENSIONS) or self.codes.dtype != np.int8 or not self.sentences:
            raise InputError(
                f"A bank of {len(self.sentences)} sentences needs as many vectors of {DIMENSIONS} bytes; it has "
                f" {self.codes.shape}. Build it again."
            )
        self.codes.setflags(write=False)
        longest = float(self.lengths.max()) * (TEXT_STEPS + DIMENSIONS**0.5)
        if not self.lengths.min() > 0 or longest >= _EXACT:
            raise InputError("A vector of this bank is zero, or too long for exact products. Build it again.")

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Return the lengths of the codes, float64 (n,)."""
        out = np.empty(len(self.sentences))
        for start in range(0, len(out), _BLOCK):
            block = self.codes[start : start + _BLOCK].astype(np.float32)
            out[start : start + _BLOCK] = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
        return out

    def cosines(self, codes: ArrayLike, task: Task = UNWATCHED) -> NDArray[np.float64]:
        """Return the cosine of each text with every sentence.

        Parameters
        ----------
        codes
            The texts' vectors as :func:`text_codes` gives them, int16 (m, 384).
        task
            May cancel the work between blocks of the bank.

        Returns
        -------
        ndarray
            float64 (m, n); 0 for a text whose vector is 0. A text's row does not depend on the other texts.
        """
        texts = np.asarray(codes, np.int16).reshape(-1, DIMENSIONS).astype(np.float32)
        lengths = np.sqrt(np.square(texts, dtype=np.float64).sum(axis=1))
        out = np.empty((len(texts), len(self)))
        for start in range(0, len(self), _BLOCK):
            task.check()
            block = self.codes[start : start + _BLOCK].astype(np.float32)
            out[:, start : start + _BLOCK] = texts @ block.T
        out /= np.where(lengths > 0, lengths, 1.0)[:, None]
        out /= self.lengths
        return out

    def added(self, cosines: NDArray[np.float64], drawn: Sequence[int]) -> NDArray[np.float64]:
        """Return the cosines of a text with the sum of some sentences' vectors and each single one.

        Parameters
        ----------
        cosines
            The text's row of :meth:`cosines`, float64 (n,).
        drawn
            Indices of the sentences in the sum, at most four; one may occur twice.

        Returns
        -------
        ndarray
            float64 (n,), in [−1, 1]. Sums of vectors are sums of their codes.
        """
        if len(drawn) > MOST_ADDED:
            raise ConfigError(f"At most {MOST_ADDED} sentences can be added. Give fewer.")
        places = list(drawn)
        sum_ = self.codes[places].astype(np.float32).sum(axis=0)
        with_each = np.empty(len(self))
        for start in range(0, len(self), _BLOCK):
            with_each[start : start + _BLOCK] = self.codes[start : start + _BLOCK].astype(np.float32) @ sum_
        squares = np.square(sum_, dtype=np.float64).sum() + 2 * with_each + np.square(self.lengths)
        along = (cosines[places] * self.lengths[places]).sum() + cosines * self.lengths
        return np.clip(along / np.sqrt(np.maximum(squares, 1.0)), -1.0, 1.0)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for i, sentence in enumerate(self.sentences):
            for word in set(Document.parse(sentence).words):
                places.setdefault(word, []).append(i)
        return places

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the words and marks of all sentences, each once."""
        return tuple(self._places)

    def holding(self, words: Iterable[int]) -> NDArray[np.int64]:
        """Return the indices, ascending, of the sentences with any of the words at these indices of :attr:`words`."""
        return np.array(sorted({i for at in words for i in self._places[self.words[at]]}), np.int64)


def text_codes(vectors: ArrayLike) -> NDArray[np.int16]:
    """Round vectors of length 1 to integer steps.

    Parameters
    ----------
    vectors
        float (m, 384). nan counts as 0.

    Returns
    -------
    ndarray
        int16 (m, 384), in steps of 1/2¹⁴: this moves a cosine by at most 0.0006, and typically by 0.00002.
    """
    inside = np.clip(np.nan_to_num(np.asarray(vectors, np.float64)), -1.0, 1.0)
    return np.rint(inside * TEXT_STEPS).astype(np.int16)


def bank_codes(vectors: ArrayLike, steps: int = BANK_STEPS) -> tuple[NDArray[np.int8], float, float]:
    """Round vectors of length 1 to one-byte integers, and return the effect on a cosine.

    Parameters
    ----------
    vectors
        float (n, 384).
    steps
        Steps of a coordinate from 0 to 1; fewer compress better.

    Returns
    -------
    codes
        int8 (n, 384).
    largest, usual
        As ``largest_error`` and ``usual_error`` of :class:`BankAbout`: the largest distance between a vector and its
        rounding, both of length 1, and the root mean square distance divided by √384.
    """
    exact = np.asarray(vectors, np.float64)
    codes = np.clip(np.rint(exact * steps), -127, 127).astype(np.int8)
    rounded = codes.astype(np.float64)
    rounded /= np.maximum(np.linalg.norm(rounded, axis=1, keepdims=True), 1e-12)
    squares = np.square(rounded - exact).sum(axis=1)
    if not len(squares):
        return codes, 0.0, 0.0
    return codes, float(np.sqrt(squares.max())), float(np.sqrt(squares.mean() / DIMENSIONS))


def bank_folder(bank: str) -> Path:
    """Return the folder of a bank: a name in BUNDLED, or a folder. Raises ConfigError or ModelUnavailable."""
    return folder_of("bank", bank, BUNDLED, "python -m dptext_core bank build FILE --out FOLDER")


def read_about(folder: Path) -> BankAbout:
    """Read ``bank.json``. Raises ConfigError for another kind of folder, ModelUnavailable if it is missing."""
    try:
        content = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{folder.name} contains no sentence bank: {ABOUT} is missing. Choose a folder that 'bank build' has "
            "finished."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelUnavailable(f"{folder.name}/{ABOUT} cannot be read: {error}. Build the bank again.") from error
    try:
        about = BankAbout(**content)
    except TypeError:
        about = None
    if about is None or about.format != _FORMAT:
        raise ConfigError(f"{folder.name} contains a bank that this version cannot read. Build it again.")
    if about.encoder != TRUNK_SHA256:
        raise ConfigError(
            f"The vectors of {folder.name} come from another encoder than the one on this machine. Build the bank "
            "again."
        )
    return about


def sentence_bank(name: str = DEFAULT_BANK) -> SentenceBank:
    """Load a bank by its name or folder, check the SHA-256 of its files, and cache at most two per process.

    Raises
    ------
    ConfigError
        There is no such bank.
    ModelUnavailable
        A file of it is missing or has changed.
    """
    folder = bank_folder(name)
    about = read_about(folder)
    try:
        changed = tuple((folder / file).stat().st_mtime_ns for file in (ABOUT, SENTENCES, VECTORS))
    except OSError as error:
        raise ModelUnavailable(
            f"A file of the bank {folder.name} cannot be read: {error.strerror or error}. Build it again, or restore "
            "it from the repository."
        ) from error
    return _read_bank(name, folder, changed, about.sha256)


@lru_cache(maxsize=2)
def _read_bank(name: str, folder: Path, _changed: tuple[int, ...], sha256: str) -> SentenceBank:
    # The times of the files are part of the key: a rebuilt bank is read again.
    damaged = f"The bank {folder.name} has changed since it was built, or is damaged. Build it again."
    try:
        if bank_sha256(folder) != sha256:
            raise ModelUnavailable(damaged)
        lines = (folder / SENTENCES).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        codes = np.frombuffer(zlib.decompress((folder / VECTORS).read_bytes()), np.int8).reshape(-1, DIMENSIONS)
        return SentenceBank(name, read_about(folder), tuple(lines), codes)
    except (OSError, ValueError, zlib.error) as error:
        raise ModelUnavailable(damaged) from error


def bank_sha256(folder: Path) -> str:
    """Return the SHA-256 of the sentences and vectors of a bank. Raises InputError if one cannot be read."""
    return sha256_of(folder / SENTENCES, folder / VECTORS)


def write_bank(
    folder: Path, sentences: tuple[str, ...], codes: NDArray[np.int8], about: Mapping[str, Any]
) -> BankAbout:
    """Write a bank. Its description comes last, so that an incomplete bank is recognised.

    Parameters
    ----------
    folder
        The target folder, created if it is missing.
    sentences
        Each on one line.
    codes
        int8 (n, 384).
    about
        The fields of :class:`BankAbout` except the number of sentences and the SHA-256.

    Returns
    -------
    BankAbout
        The contents of ``bank.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ABOUT).unlink(missing_ok=True)
    (folder / SENTENCES).write_text("\n".join(sentences) + "\n", encoding="utf-8", newline="\n")
    # By the frequency of numbers alone: nothing repeats in them, and searching for repeats compresses worse.
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    with (folder / VECTORS).open("wb") as file:
        for start in range(0, len(codes), _BLOCK):
            file.write(packer.compress(codes[start : start + _BLOCK].tobytes()))
        file.write(packer.flush())
    about_bank = BankAbout(**about, sentences=len(sentences), sha256=bank_sha256(folder))
    (folder / ABOUT).write_text(json.dumps(asdict(about_bank), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return about_bank
