"""The text of office files as rows: a paragraph of a DOCX file, a page of a PDF file (which needs pypdf).

Both are archives of compressed parts, so that a small file can unfold to a huge one: what is read is bounded.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from .._internal.extras import install
from .._internal.task import UNWATCHED, Task
from ..errors import InputError

INSTALL = install("office")
#: Pages, characters of text, bytes of a part once it is unfolded, and seconds for all pages.
PAGES, CHARACTERS, UNFOLDED, SECONDS = 2000, 20_000_000, 100 << 20, 120
#: Elements within each other, bytes of one tag, and different names in a DOCX file: its reader holds them all.
DEEP, TAG, NAMES = 1000, 1 << 20, 10_000
WORKER = Path(__file__).with_name("pdf_worker.py")
#: Seconds from one look at whether to stop to the next.
LOOK = 0.2
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main "
_TWICE = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"
_TOO_MUCH = "{} has more text than {:,} characters. Divide it, or save its text as a .txt file."

Row = dict[str, Any]


def docx(path: Path, task: Task = UNWATCHED) -> Iterator[Row]:
    """The paragraphs of the main text that are not blank, those of tables too; no notes, headers and comments. Raises
    InputError, Cancelled."""
    broken = f"{path.name} is no whole DOCX file. Open it in a word processor, save it again as .docx, and give that."
    found = _Paragraphs()
    number = size = 0
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_usual(archive.getinfo("word/document.xml"))) as part:
            for data in iter(lambda: part.read(1 << 16), b""):
                task.check()
                size += len(data)
                if size > UNFOLDED:
                    raise InputError(f"{path.name} unfolds to more than {UNFOLDED >> 20} MB. Divide it.")
                found.parser.Parse(data, False)
                # What has begun and not ended is read anew with each part.
                if size - found.parser.CurrentByteIndex > TAG:
                    raise _Refused
                for text in found.take():
                    number += 1
                    yield {"text": text, "paragraph": number}
                if found.characters > CHARACTERS:
                    raise InputError(_TOO_MUCH.format(path.name, CHARACTERS))
            found.parser.Parse(b"", True)
    except InputError:
        raise
    except (
        zipfile.BadZipFile,
        KeyError,
        expat.ExpatError,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        OSError,
        ValueError,
        NotImplementedError,
        _Refused,
    ):
        raise InputError(broken) from None
    except RuntimeError:  # how zipfile says that a password is needed
        raise InputError(f"{path.name} is locked with a password. Save it without one.") from None


class _Refused(Exception):
    """No word processor writes this."""


def _usual(part: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """A part that is packed as the format says. Of any other kind all that some bytes unfold to is held at once."""
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _Refused
    return part


class _Paragraphs:
    """Collects paragraphs while the file is read, so that no tree of it is built."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartDoctypeDeclHandler = self._refuse  # entities that unfold without end are declared there
        self.characters = 0
        self._open: list[list[str]] = []
        self._done: list[str] = []
        self._text = self._skipped = self._deep = 0
        self._names: set[str] = set()

    def take(self) -> list[str]:
        done, self._done = self._done, []
        return done

    def _refuse(self, *_: Any) -> None:
        raise _Refused

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._deep += 1
        self._names.update((name, *attributes))
        if self._deep > DEEP or len(self._names) > NAMES:
            raise _Refused
        name = name.replace(_STRICT, _WORD)
        if name == _TWICE:  # the same once more, for older programs
            self._skipped += 1
        elif name == f"{_WORD}p":
            self._open.append([])
        elif name == f"{_WORD}t":
            self._text += 1
        elif name in (f"{_WORD}tab", f"{_WORD}br") and self._open and not self._skipped:
            self._open[-1].append("\t" if name.endswith("tab") else "\n")

    def _end(self, name: str) -> None:
        self._deep -= 1
        name = name.replace(_STRICT, _WORD)
        if name == _TWICE:
            self._skipped -= 1
        elif name == f"{_WORD}t":
            self._text -= 1
        elif name == f"{_WORD}p" and (text := "".join(self._open.pop()).strip()):
            self._done.append(text)

    def _data(self, text: str) -> None:
        if self._text and self._open and not self._skipped:
            self._open[-1].append(text)
            self.characters += len(text)


def ready() -> bool:
    """Whether PDF files can be read."""
    return importlib.util.find_spec("pypdf") is not None


def pdf(path: Path, task: Task = UNWATCHED) -> Iterator[Row]:
    """The pages with text. Raises InputError, Cancelled."""
    if not ready():
        raise InputError(f"To read {path.name}, pypdf has to be installed: {INSTALL}. Or save its text as a .txt file.")
    # -P: the folder of the worker names modules of ours, which are not for pypdf to find.
    command = [sys.executable, "-P", str(WORKER), str(path)]
    command += [str(PAGES), str(CHARACTERS)]
    deadline = time.monotonic() + SECONDS
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as reader:
        try:
            while True:
                try:
                    left = max(0.0, deadline - time.monotonic())
                    out, _ = reader.communicate(timeout=min(LOOK, left))
                    break
                except subprocess.TimeoutExpired:
                    task.check()
                if time.monotonic() > deadline:
                    raise InputError(f"{path.name} takes too long to read. Divide it, or save its text as a .txt file.")
        finally:
            reader.kill()  # nothing, where it has ended
    reasons = {
        3: f"{path.name} is locked with a password. Save it without one.",
        4: f"{path.name} has more than {PAGES:,} pages. Divide it.",
        5: _TOO_MUCH.format(path.name, CHARACTERS),
    }
    if reader.returncode:
        cut = f"{path.name} cannot be read as a PDF: it is broken, cut off, or not a PDF. Save or download it again."
        raise InputError(reasons.get(reader.returncode, cut))
    pages = [json.loads(line).strip() for line in out.splitlines()]
    if not any(pages):
        raise InputError(
            f"{path.name} has no text: its pages are pictures, as a scanner makes them. Let a program for text "
            "recognition (OCR) read it first."
        )
    for number, text in enumerate(pages, 1):
        if text:
            yield {"text": text, "page": number}
