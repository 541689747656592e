"""Input and output of all commands: standard output, standard error, files and standard input.

Standard output contains what may be released. Information for the author alone (guarantees, notes, errors) goes to
standard error, and never to the output.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..errors import InputError
from ..support.checks import without_marks
from ..support.whole_files import replacement

SEED_WARNING = "warning: demonstration, not private: anyone who knows the seed can reproduce the noise"
OWNER_ONLY = "note: this reveals the original words; do not publish it"
#: Maximum bytes of a text from a file or standard input: a device or a pipe may never end.
MOST = 100_000_000


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, as every other error does."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, unknown = self.parse_known_args(args, namespace)
        if unknown:  # the arguments may contain a text, which no message quotes
            options = [name[0] for word in unknown if (name := re.match(r"--?[a-z][\w-]*(?==|$)", word))]
            self.error(f"unrecognized arguments: {' '.join(options)}" if options else "too many arguments")
        return known

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse itself ignores an output that cannot be written to.
        with contextlib.suppress(OSError) if file in (None, sys.stderr) else contextlib.nullcontext():
            print(message, end="", file=file or sys.stderr, flush=True)


def shorten(text: str) -> str:
    """Return the beginning of a long string, for a message."""
    return text if len(text) <= 200 else text[:200] + "…"


def _decode(data: bytes, where: str) -> str:
    if len(data) > MOST:
        raise InputError(f"{where} has more than {MOST // 10**6} MB. For many texts, use rewrite-data.")
    try:
        return without_marks(data.decode("utf-8"))
    except UnicodeDecodeError:  # the library's error contains the text
        raise InputError(f"{where} is not UTF-8 text. Save it as UTF-8 and try again.") from None


def decode_argument(text: str) -> str:
    """Return an argument as UTF-8, even if the locale decoded its bytes otherwise. Raises InputError."""
    try:
        # Undecodable bytes become lone surrogates. Paths remain so: the system expects them.
        return text if text.isascii() else os.fsencode(text).decode("utf-8")
    except UnicodeError:  # the library's error contains the text
        raise InputError("The text is not UTF-8. Save it as a UTF-8 file and use --file.") from None


def read_file(path: str) -> str:
    """Return the text of a UTF-8 file. Raises InputError."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST + 1)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise InputError(f"Cannot read {shorten(path)}: {error_reason(error)}. Choose another file.") from error
    return _decode(data, shorten(path))


def read_text(args: argparse.Namespace) -> str:
    """Return the text to work on, with its line endings unchanged. Raises InputError."""
    if args.file is not None:
        if args.text is not None:
            raise InputError("Both a text and --file are given. Remove one of them.")
        return read_file(args.file)
    if args.text is not None and args.text != "-":
        with contextlib.suppress(OSError, ValueError):  # a text may be too long for a file name
            if Path(args.text).is_file() and not args.quiet:
                note("note: a file with this name exists, but the name is used as the text; to read the file, use "
                     "--file")
        return decode_argument(args.text)
    if sys.stdin is None:
        raise InputError("There is no standard input. Give a text or --file.")
    if sys.stdin.isatty() and not args.quiet:
        note("reading from the keyboard; end with Ctrl-D (Windows: Ctrl-Z, Enter)")
    buffer = getattr(sys.stdin, "buffer", None)
    try:
        return _decode(buffer.read(MOST + 1), "standard input") if buffer is not None else sys.stdin.read()
    except OSError as error:
        raise InputError(f"Cannot read standard input: {error_reason(error)}. Give a text or --file.") from error


def error_reason(error: Exception) -> str:
    """Return the reason of an error without its file name."""
    return str(getattr(error, "strerror", None) or error)


def note(text: str) -> None:
    """Print a note for the author; ignored if standard error cannot be written, because there is no other place."""
    if sys.stderr is not None:  # print() would use standard output
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def emit(text: str, out: str | None = None) -> None:
    """Write to a file, or to standard output with a final line ending. Raises InputError, or OSError for the latter.

    An existing file is unchanged unless everything was written.
    """
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n", flush=True)
        return
    try:
        # A lone surrogate is part of a path that JSON repeats; JSON can read this form back.
        _replace(Path(out), text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {shorten(out)}: {error_reason(error)}. Choose another file.") from error


def _replace(path: Path, data: bytes) -> None:
    """Write to a temporary file, then move it into place. Writes to a device or a pipe directly."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with replacement(path) as beside:
        beside.write_bytes(data)


def emit_json(data: Any, out: str | None = None) -> None:
    """Write data as JSON: see :func:`emit`."""
    emit(json.dumps(data, ensure_ascii=False, indent=2) + "\n", out)


@contextlib.contextmanager
def explain_resume(out: str) -> Iterator[None]:
    """If Ctrl-C stops the work in this context, explain that the same command resumes it."""
    try:
        yield
    except KeyboardInterrupt:
        note(f"Stopped. Finished rows are in {out}; run the same command to resume.")
        raise


def table(rows: Sequence[Sequence[str]]) -> str:
    """Format columns two spaces apart."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def open_streams() -> None:
    """Open missing standard streams 0 to 2, so that no opened file takes their number.

    Standard output then refuses all writes, and standard error discards them.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def abandon(stream: Any) -> None:
    """Redirect a stream's remaining buffer, because Python flushes it once more at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
