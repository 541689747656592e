"""DOCX and PDF files as rows: paragraphs of the former, pages of the latter.

A small file can unpack to a huge one, so each is read in a separate process (``docx_worker``, ``pdf_worker``) with
limits on memory, time, bytes, text and rows. At most two files are read at a time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from ..errors import InputError
from ..support import extras
from ..support.extras import install
from ..support.task import UNWATCHED, Task
from .reading_notes import NoteKind, ReadingNote

INSTALL = install("office")
#: Seconds between two checks for cancellation.
POLL_SECONDS = 0.2
#: Maximum number of a worker's lines that wait to be read.
_WAITING = 256
_WORKERS = {kind: Path(__file__).with_name(f"{kind[1:]}_worker.py") for kind in (".docx", ".pdf")}
#: Meaning of a worker's exit status, see its docstring.
_LOCKED, _ROWS, _TEXT, _BROKEN, _UNPACKED, _MEMORY = range(3, 9)
#: SIGXCPU, on Linux and macOS.
_TIME_OVER = -24
_at_once = threading.BoundedSemaphore(2)


@dataclass(frozen=True)
class Limits:
    """Limits on reading a document.

    Attributes
    ----------
    rows : int
        Paragraphs or pages, blank ones too.
    characters : int
        Of text.
    unpacked : int
        Bytes of a part of a DOCX file once it is unpacked.
    memory : int
        Bytes of the process that reads.
    seconds : float
        Of the processor, and of the clock.
    """

    rows: int
    characters: int = 20_000_000
    unpacked: int = 100 << 20
    memory: int = 512 << 20
    seconds: float = 60.0


LIMITS = {".docx": Limits(200_000), ".pdf": Limits(2000, memory=768 << 20, seconds=120.0)}


@dataclass(frozen=True)
class Document:
    """The contents of a document.

    texts: (number of the paragraph or page, its text), for those with text; notes: what was left out.
    """

    texts: tuple[tuple[int, str], ...]
    notes: tuple[ReadingNote, ...]


def pdf_ready() -> bool:
    """Return True if PDF files can be read."""
    return importlib.util.find_spec("pypdf") is not None


def read_document(path: Path, most: int | None = None, task: Task = UNWATCHED) -> Document:
    """Read a DOCX or PDF file.

    Parameters
    ----------
    path : Path
    most : int, optional
        Maximum number of rows with text: reading stops at the next one.
    task : Task, optional
        May stop the work.

    Raises
    ------
    InputError
        The file cannot be read, or exceeds the limits.
    Cancelled
        The task was stopped.
    """
    kind = path.suffix.lower()
    if kind == ".pdf" and not pdf_ready():
        raise InputError(f"Reading {path.name} requires pypdf: {INSTALL}. Or save its text as a .txt file.")
    if kind == ".docx":
        extras.require("lxml", InputError)
    while not _at_once.acquire(timeout=POLL_SECONDS):
        task.check()
    texts: list[tuple[int, str]] = []
    notes: list[ReadingNote] = []
    try:
        for what, number, value in _records(path, kind, task):
            if what == "row":
                texts.append((number, value))
                if most is not None and len(texts) > most:
                    raise too_many(path.name, most)
            else:
                notes.append(ReadingNote(NoteKind(what), number, int(value)))
    finally:
        _at_once.release()
    if kind == ".pdf" and not texts:
        raise InputError(
            f"{path.name} has no text: its pages are scanned pictures. Run text recognition (OCR) on it first."
        )
    return Document(tuple(texts), tuple(notes))


def too_many(name: str, most: int) -> InputError:
    """Return the error for more rows than the limit."""
    return InputError(f"{name} has more than {most:,} rows, the limit here. Split it into several files.")


def _records(path: Path, kind: str, task: Task) -> Iterator[tuple[str, int, str]]:
    """Yield what the worker writes while it works. Raises InputError, Cancelled."""
    limits = LIMITS[kind]
    # -P: the worker's folder contains modules of this package, which its libraries must not import.
    command = [sys.executable, "-P", str(_WORKERS[kind]), str(path), json.dumps(asdict(limits))]
    deadline = time.monotonic() + limits.seconds
    lines: queue.Queue[bytes] = queue.Queue(_WAITING)
    ended = threading.Event()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as worker:
        assert worker.stdout is not None
        threading.Thread(target=_pass_on, args=(worker.stdout, lines, ended), daemon=True).start()
        try:
            for number in itertools.count():
                if not number % _WAITING:
                    task.check()
                try:
                    line = lines.get(timeout=POLL_SECONDS)
                except queue.Empty:
                    task.check()
                    line = None
                if time.monotonic() > deadline:
                    raise _refusal(path, kind, None)
                if line is None:
                    continue
                if not line:
                    break
                yield tuple(json.loads(line))
            worker.wait()
        finally:
            ended.set()
            worker.kill()  # nothing, if it has ended
    if worker.returncode:
        raise _refusal(path, kind, worker.returncode)


def _pass_on(out: IO[bytes], lines: queue.Queue[bytes], ended: threading.Event) -> None:
    """Pass a worker's lines to its reader, and finally an empty one."""
    with contextlib.suppress(OSError, ValueError):  # the pipe was closed
        for line in out:
            while not ended.is_set():
                with contextlib.suppress(queue.Full):
                    lines.put(line, timeout=POLL_SECONDS)
                    break
            if ended.is_set():
                return
    while not ended.is_set():
        with contextlib.suppress(queue.Full):
            lines.put(b"", timeout=POLL_SECONDS)
            return


def _refusal(path: Path, kind: str, status: int | None) -> InputError:
    """Return the error for a worker that did not read everything; status: None after a timeout."""
    limits, name = LIMITS[kind], path.name
    what = "paragraphs" if kind == ".docx" else "pages"
    if status == _LOCKED:
        old = ", or is an old .doc file" if kind == ".docx" else ""
        return InputError(f"{name} is protected by a password{old}. Save it as {kind} without a password.")
    if status == _ROWS:
        return InputError(f"{name} has more than {limits.rows:,} {what}. Split it into several files.")
    if status == _TEXT:
        return InputError(
            f"{name} has more than {limits.characters:,} characters. Split it, or save its text as a .txt file."
        )
    if status == _UNPACKED:
        return InputError(
            f"{name} unpacks to more than {limits.unpacked >> 20} MB, or to far more than its size. Split it, or save "
            "its text as a .txt file."
        )
    if status in (_MEMORY, -9):  # the system ends processes that take too much
        return InputError(f"{name} takes too much memory to read. Split it, or save its text as a .txt file.")
    if status in (None, _TIME_OVER):
        return InputError(f"{name} takes too long to read. Split it, or save its text as a .txt file.")
    if kind == ".docx":
        return InputError(
            f"{name} is not a complete DOCX file. Open it in a word processor, and save it again as .docx."
        )
    return InputError(
        f"{name} cannot be read as a PDF: it is damaged, truncated, or not a PDF. Save or download it again."
    )
