"""Banks of public sentences, one of which is released in the place of a private one (``mechanisms.sentence``).

A bank is a folder of three files: ``sentences.txt``, one a line, ``vectors.zlib`` with the vector of each as whole
numbers, and ``bank.json``, which says where the sentences are from, under which licence, by which encoder their vectors
were made, how far the rounding moves a cosine, and the SHA-256 of the other two. The command ``bank build`` makes one.

Cosines are the same to the last bit on every machine and in every batch: both vectors are whole numbers so small that
each sum of their products stays below 2²⁴, where float32 is exact in any order of adding up.
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
#: Banks that come with the program, by name: their folders in ``assets``.
BUNDLED = {"wordnet": "bank"}
DEFAULT_BANK = "wordnet"
#: Steps of a coordinate from 0 to 1: of a text's vector, and of a bank's unless another number is asked for.
TEXT_STEPS, BANK_STEPS = 1 << 14, 500
DIMENSIONS = 384
#: Sentences whose vectors are added up at most before another one: sums of products stay exact.
MOST_ADDED = 4
_FORMAT = 1
_EXACT = 1 << 24
#: Sentences whose vectors are looked at together: 12 MB in float32.
_BLOCK = 8192


@dataclass(frozen=True)
class BankAbout:
    """What a bank says of itself.

    Parameters
    ----------
    title, origin, licence
        What its sentences are, where they are from, and under which terms they may be passed on.
    sentences
        How many there are.
    steps
        Steps of a coordinate from 0 to 1 to which vectors were rounded.
    largest_error, usual_error
        By how much rounding moves a cosine: at most, whatever the other vector, and as a standard deviation where the
        other vector has any direction.
    left_out
        How many sentences were left out, by reason.
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
        What it is asked for by.
    about
        What it says of itself.
    sentences
        Each once, in a fixed order.
    codes
        int8 (n, 384): their vectors, as whole numbers up to a common factor. Read-only.
    """

    name: str
    about: BankAbout
    sentences: tuple[str, ...] = field(repr=False)
    codes: NDArray[np.int8] = field(repr=False)

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.sentences), DIMENSIONS) or self.codes.dtype != np.int8 or not self.sentences:
            raise InputError(
                f"A bank of {len(self.sentences)} sentences needs as many vectors of {DIMENSIONS} numbers of one byte; "
                f"it has {self.codes.shape}. Build it again."
            )
        self.codes.setflags(write=False)
        longest = float(self.lengths.max()) * (TEXT_STEPS + DIMENSIONS**0.5)
        if not self.lengths.min() > 0 or longest >= _EXACT:
            raise InputError("A vector of this bank is zero, or too long for exact products. Build it again.")

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Lengths of the codes, float64 (n,)."""
        out = np.empty(len(self.sentences))
        for start in range(0, len(out), _BLOCK):
            block = self.codes[start : start + _BLOCK].astype(np.float32)
            out[start : start + _BLOCK] = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
        return out

    def cosines(self, codes: ArrayLike, task: Task = UNWATCHED) -> NDArray[np.float64]:
        """Cosine of texts with every sentence.

        Parameters
        ----------
        codes
            The texts' vectors as :func:`text_codes` gives them, int16 (m, 384).
        task
            Stops between blocks of the bank.

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
        """Cosine of a text with the sum of some sentences' vectors and each further one, from its own cosines.

        Parameters
        ----------
        cosines
            The text's row of :meth:`cosines`, float64 (n,).
        drawn
            Places of the sentences, four at most; one may come twice.

        Returns
        -------
        ndarray
            float64 (n,), in [−1, 1]. Sums of vectors are sums of their codes.
        """
        if len(drawn) > MOST_ADDED:
            raise ConfigError(f"At most {MOST_ADDED} sentences are added up.")
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
        """The words and marks of all sentences, each once."""
        return tuple(self._places)

    def holding(self, words: Iterable[int]) -> NDArray[np.int64]:
        """Return the places, ascending, of the sentences that contain any of the words at these places of
        :attr:`words`."""
        return np.array(sorted({i for at in words for i in self._places[self.words[at]]}), np.int64)


def text_codes(vectors: ArrayLike) -> NDArray[np.int16]:
    """Vectors of length 1 as whole steps.

    Parameters
    ----------
    vectors
        float (m, 384). What is not a number counts as 0.

    Returns
    -------
    ndarray
        int16 (m, 384), in steps of 1/2¹⁴: a cosine moves by 0.0006 at most, and by 0.00002 as a rule.
    """
    inside = np.clip(np.nan_to_num(np.asarray(vectors, np.float64)), -1.0, 1.0)
    return np.rint(inside * TEXT_STEPS).astype(np.int16)


def bank_codes(vectors: ArrayLike, steps: int = BANK_STEPS) -> tuple[NDArray[np.int8], float, float]:
    """Vectors of length 1 as whole numbers of one byte, and what that does to a cosine.

    Parameters
    ----------
    vectors
        float (n, 384).
    steps
        Steps of a coordinate from 0 to 1; fewer pack smaller.

    Returns
    -------
    codes
        int8 (n, 384).
    largest, usual
        As ``largest_error`` and ``usual_error`` of :class:`BankAbout`: of the distance between a vector and its rounded
        one, both of length 1, the largest, and the root of the mean square divided by √384.
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
    """Where a bank lies: one of BUNDLED, or a folder. Raises ConfigError or ModelUnavailable."""
    return folder_of("bank", bank, BUNDLED, "python -m dptext_core bank build FILE --out FOLDER")


def read_about(folder: Path) -> BankAbout:
    """Read ``bank.json``. Raises ConfigError for another kind of folder, ModelUnavailable if it is missing."""
    try:
        content = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{folder.name} holds no bank of sentences: {ABOUT} is missing. Name a folder that the command bank build "
            "has finished."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelUnavailable(f"{folder.name}/{ABOUT} cannot be read: {error}. Build the bank again.") from error
    try:
        about = BankAbout(**content)
    except TypeError:
        about = None
    if about is None or about.format != _FORMAT:
        raise ConfigError(f"{folder.name} holds a bank that this version cannot read. Build it again.")
    if about.encoder != TRUNK_SHA256:
        raise ConfigError(
            f"The vectors of {folder.name} were made by another encoder than the one that is here. Build it again."
        )
    return about


def sentence_bank(name: str = DEFAULT_BANK) -> SentenceBank:
    """Load a bank by its name or folder. Keeps two at most for the process; compares its files with their SHA-256.

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
            f"A file of the bank {folder.name} cannot be read: {error.strerror or error}. Build it again, or take it "
            "from the repository again."
        ) from error
    return _read_bank(name, folder, changed, about.sha256)


@lru_cache(maxsize=2)
def _read_bank(name: str, folder: Path, _changed: tuple[int, ...], sha256: str) -> SentenceBank:
    # The times of the files belong to the key: a bank that was built anew is read again.
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
    """SHA-256 of the sentences and vectors of a bank. Raises InputError where one cannot be read."""
    return sha256_of(folder / SENTENCES, folder / VECTORS)


def write_bank(
    folder: Path, sentences: tuple[str, ...], codes: NDArray[np.int8], about: Mapping[str, Any]
) -> BankAbout:
    """Write a bank: the file that makes it one comes last.

    Parameters
    ----------
    folder
        Where it goes; made where it is missing.
    sentences
        Each on one line.
    codes
        int8 (n, 384).
    about
        The fields of :class:`BankAbout` but the number of sentences and the SHA-256.

    Returns
    -------
    BankAbout
        What was written into ``bank.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ABOUT).unlink(missing_ok=True)
    (folder / SENTENCES).write_text("\n".join(sentences) + "\n", encoding="utf-8", newline="\n")
    # By the frequency of numbers alone: nothing comes twice in them, and looking for it packs worse.
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    with (folder / VECTORS).open("wb") as file:
        for start in range(0, len(codes), _BLOCK):
            file.write(packer.compress(codes[start : start + _BLOCK].tobytes()))
        file.write(packer.flush())
    made = BankAbout(**about, sentences=len(sentences), sha256=bank_sha256(folder))
    (folder / ABOUT).write_text(json.dumps(asdict(made), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return made
