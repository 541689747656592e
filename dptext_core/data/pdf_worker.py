"""Read the text of a PDF with pypdf in a separate process, because a stranger's file may take any time and memory.

    python -P pdf_worker.py FILE LIMITS

LIMITS is ``documents.Limits`` as JSON. A line of JSON goes to standard output for each page with text, ["row", number,
text], and for what was left out, [kind, count, of]. Exit status: 3 locked, 4 too many pages, 5 too much text, 6 broken,
8 out of memory.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Iterator
from typing import Any

LOCKED, ROWS, TEXT, BROKEN, MEMORY = 3, 4, 5, 6, 8
#: Bits of a field's flags: a push button, and a password, which must not be read.
_PUSH, _PASSWORD = 1 << 16, 1 << 13


def limit(memory: int, seconds: float) -> None:
    """Limit the memory and time of this process."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows; a lower limit may already apply
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))


def main(path: str, limits: dict[str, Any]) -> int:
    """Write the pages, and return the exit status."""
    limit(limits["memory"], limits["seconds"])
    try:
        return read(path, limits)
    except MemoryError:
        return MEMORY
    except Exception as error:  # any error of the reader for a broken file
        # pypdf has its own limits on the unpacked size of a stream.
        return MEMORY if type(error).__name__ == "LimitReachedError" else BROKEN


def read(path: str, limits: dict[str, Any]) -> int:
    """Write the pages of a file, and what was omitted."""
    reader = importlib.import_module("pypdf").PdfReader(path)
    # If only printing or copying is restricted, the password to open the file is empty.
    if reader.is_encrypted and not reader.decrypt(""):
        return LOCKED
    count = len(reader.pages)
    if count > limits["rows"]:
        return ROWS
    characters, blank, fields, comments = limits["characters"], 0, 0, 0
    for number, page in enumerate(reader.pages, 1):
        values, values_typed, omitted = on_page(page)
        fields, comments = fields + len(values), comments + omitted
        text = "\n".join(part for part in (page.extract_text().strip(), *values, *values_typed) if part)
        characters -= len(text)
        if characters < 0:
            return TEXT
        if text:
            write("row", number, text)
        else:
            blank += 1
    for kind, n in (("pages", blank), ("form fields", fields), ("comments", comments)):
        if n:
            write(kind, n, count if kind == "pages" else 0)
    if reader.xfa:
        write("form pages", 1, 0)
    return 0


def write(kind: str, number: int, value: Any) -> None:
    """Write a line for the parent process."""
    print(json.dumps([kind, number, value]))


def on_page(page: Any) -> tuple[list[str], list[str], int]:
    """Return the values of form fields, the texts typed onto the page, and the number of other comments."""
    values: list[str] = []
    typed: list[str] = []
    comments, fields = 0, set()
    for reference in page.get("/Annots") or ():
        annotation = reference.get_object()
        kind = annotation.get("/Subtype") if hasattr(annotation, "get") else None
        if kind == "/Widget":
            field = value_of(annotation)
            if field and field not in fields:
                fields.add(field)
                values.append(field[1])
        elif kind == "/FreeText":
            typed.append(to_text(annotation.get("/Contents")))
        elif kind is not None and kind != "/Popup" and to_text(annotation.get("/Contents")):
            comments += 1
    return values, [text for text in typed if text], comments


def value_of(widget: Any) -> tuple[str, str] | None:
    """Return the name and the value of a form field, as its page shows it; None if it is empty."""
    kind, flags = inherited_value(widget, "/FT"), int(inherited_value(widget, "/Ff") or 0)
    name = ".".join(reversed([to_text(part.get("/T")) for part in chain(widget) if part.get("/T")]))
    value = inherited_value(widget, "/V")
    if kind == "/Btn":
        state = str(widget.get("/AS") or value or "/Off").lstrip("/")
        if flags & _PUSH or state == "Off":
            return None
        label = to_text(inherited_value(widget, "/TU")) or name
        return f"{name}.{state}", f"{label}: {state}" if label else state
    if kind == "/Sig" or (flags & _PASSWORD and kind == "/Tx"):
        return None
    several = value if isinstance(value, list) else [value]
    text = ", ".join(part for part in map(to_text, several) if part)
    return (name, text) if text else None


def chain(field: Any) -> Iterator[Any]:
    """Yield a field and its ancestors."""
    for _ in range(32):
        if field is None or not hasattr(field, "get"):
            return
        yield field
        parent = field.get("/Parent")
        field = parent.get_object() if parent is not None else None


def inherited_value(field: Any, key: str) -> Any:
    """Return the value of a key from a field or its ancestors."""
    for part in chain(field):
        if (value := part.get(key)) is not None:
            return value.get_object()
    return None


def to_text(value: Any) -> str:
    """Return a PDF value as text."""
    if value is None:
        return ""
    value = value.get_object()
    if hasattr(value, "get_data"):
        value = value.get_data()
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
