"""Build a bank of public sentences from texts (``words.bank``): split, filter, deduplicate and encode them.

Rules and a word list exclude names, addresses, long numbers and abusive language, but rules miss some. A bank is
public: anyone can read it, and each of its sentences can be released.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dptext_core.detectors.rules import find_pii
from dptext_core.errors import ConfigError, InputError
from dptext_core.support import folder_lock
from dptext_core.support.assets import assets_folder
from dptext_core.support.checks import check_whole_number, each_text, usable_path
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.text.document import Document
from dptext_core.text.lexicons import read_lines
from dptext_core.words.bank import ABOUT, BANK_STEPS, BankAbout, bank_codes, write_bank

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: File below ``assets`` with one abusive word per line.
ABUSIVE = "bank/abusive.txt"
#: Numbers of words of the shortest and longest accepted sentence.
SHORTEST, LONGEST = 4, 40
#: Number of digits that may identify a person.
DIGITS = 5
#: Sentences that are encoded and stored between two checks for cancellation.
PART = 1024
_PARTS = ".parts"
_PERSONAL = frozenset({"name", "phone number", "e-mail address", "web address"})
_LONG_NUMBER = re.compile(rf"\d(?:[ .,/-]?\d){{{DIGITS - 1},}}")
_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Gathered:
    """Sentences for a bank in the order of the texts, and the numbers of excluded ones by reason."""

    sentences: tuple[str, ...]
    omissions: dict[str, int]


def abusive_words() -> frozenset[str]:
    """Return the bundled list. Raises InputError if it cannot be read."""
    return frozenset(read_lines(str(assets_folder() / ABUSIVE)))


def gather(
    texts: Iterable[str],
    avoid: Iterable[str] = (),
    shortest: int = SHORTEST,
    longest: int = LONGEST,
    task: Task = UNWATCHED,
) -> Gathered:
    """Return the sentences of texts that are suitable for a bank.

    Parameters
    ----------
    texts
        Public texts.
    avoid
        Words to avoid in addition to the bundled list of abusive words.
    shortest, longest
        Limits on the number of words in a sentence.
    task
        Stops between texts.

    Returns
    -------
    Gathered
        Each sentence once, ignoring capital letters and punctuation.
    """
    if check_whole_number("shortest", shortest, least=1) > check_whole_number("longest", longest):
        raise ConfigError(
            "The shortest sentence must not have more words than the longest. Change one of the two limits."
        )
    avoided = abusive_words() | {word.casefold() for word in avoid}
    by_key: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    for text in each_text(texts):
        task.check()
        document = Document.parse(text)
        for a, b in document.sentences:
            sentence = " ".join(text[a:b].split())
            key = _LETTERS.sub(" ", sentence.casefold()).strip()
            if why := "twice" if key in by_key else _unfit(sentence, avoided, shortest, longest):
                left_out[why] += 1
            else:
                by_key[key] = sentence
    return Gathered(tuple(by_key.values()), dict(sorted(left_out.items())))


def _unfit(sentence: str, avoided: frozenset[str], shortest: int, longest: int) -> str:
    """Return the reason to exclude a sentence, or ""."""
    words = [word.casefold() for word in Document.parse(sentence).words if any(map(str.isalpha, word))]
    if len(words) < shortest:
        return f"fewer than {shortest} words"
    if len(words) > longest:
        return f"more than {longest} words"
    parts = [part for word in words for part in (word, *_LETTERS.split(word))]
    if not avoided.isdisjoint([*parts, *(part.removesuffix("s") for part in parts)]):
        return "a word on the list"
    if _LONG_NUMBER.search(sentence):
        return "a long number"
    if any(t.kind in _PERSONAL or (t.kind == "place" and any(map(str.isdigit, t.text))) for t in find_pii(sentence)):
        return "a name or an address"
    return ""


def build_bank(
    gathered: Gathered,
    out: str | Path,
    *,
    title: str,
    origin: str,
    licence: str,
    steps: int = BANK_STEPS,
    task: Task = UNWATCHED,
) -> BankAbout:
    """Encode sentences and write them as a bank.

    Parameters
    ----------
    gathered
        The result of :func:`gather`.
    out
        A new or empty folder, or one with an interrupted build of the same sentences, which continues.
    title, origin, licence
        As in :class:`~dptext_core.words.bank.BankAbout`.
    steps
        Steps of a coordinate from 0 to 1.
    task
        Receives the number of encoded sentences; stops between parts.

    Returns
    -------
    BankAbout
        The description of the bank.

    Raises
    ------
    InputError
        There is no sentence, or the folder has other content or cannot be written to.
    """
    sentences = gathered.sentences
    if not sentences:
        raise InputError("No sentence is left for the bank. Give more texts, or exclude fewer sentences.")
    folder = usable_path(out)
    digest = hashlib.sha256(
        "\n".join((str(check_whole_number("steps", steps, least=16)), *sentences)).encode()
    ).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with folder_lock.exclusive(folder):
            parts = _begun(folder, digest)
            vectors = _encoded(sentences, parts, task)
            codes, largest, usual = bank_codes(vectors, steps)
            description: dict[str, Any] = {"title": title, "origin": origin, "licence": licence, "steps": steps}
            description |= {"largest_error": float(f"{largest:.3g}"), "usual_error": float(f"{usual:.3g}")}
            about = write_bank(folder, sentences, codes, description | {"left_out": gathered.omissions})
            shutil.rmtree(folder / _PARTS)
    except OSError as error:
        raise InputError(
            f"The folder {folder.name} cannot be written to: {error.strerror or error}. Name another one."
        ) from error
    return about


def _begun(folder: Path, digest: str) -> Path:
    """Return the folder of the encoded parts of the sentences with this digest."""
    there = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    parts = folder / _PARTS / digest
    if there and _PARTS not in there:
        what = "a bank" if ABOUT in there else "other files"
        raise InputError(f"The folder {folder.name} contains {what}. Name an empty or a new one.")
    parts.mkdir(parents=True, exist_ok=True)
    return parts


def _encoded(sentences: tuple[str, ...], parts: Path, task: Task) -> NDArray[np.float32]:
    """Return the sentences' vectors, float32 (n, 384)."""
    from dptext_core.models.sentence_encoder import embed

    out = []
    for start in range(0, len(sentences), PART):
        task.check("Stopped. Repeat the command to continue.")
        file = parts / f"{start:09d}.npy"
        block = None
        with contextlib.suppress(OSError, ValueError, EOFError):  # missing or incomplete
            block = np.load(file, allow_pickle=False)
        if block is None:
            block = embed(sentences[start : start + PART])
            beside = file.with_suffix(".tmp")
            with beside.open("wb") as opened:
                np.save(opened, block)
            beside.replace(file)
        out.append(block)
        task.report(min(start + PART, len(sentences)), len(sentences))
    return np.concatenate(out)
