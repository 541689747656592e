"""Reads the text of a PDF in a process of its own: a file of somebody else may take any time and memory to read.

    python pdf_worker.py FILE PAGES CHARACTERS

A line of JSON a page goes to standard output. Exit status: 3 locked, 4 too many pages, 5 too much text, 6 broken.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys

#: Bytes of memory and seconds of the processor.
MEMORY, SECONDS = 2 << 30, 100


def main(path: str, pages: int, characters: int) -> int:
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows; a lower limit may hold already
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        reader = importlib.import_module("pypdf").PdfReader(path)
        if reader.is_encrypted:
            return 3
        if len(reader.pages) > pages:
            return 4
        for page in reader.pages:
            text = page.extract_text()
            characters -= len(text)
            if characters < 0:
                return 5
            print(json.dumps(text))
    except Exception:  # whatever a broken file makes of its reader
        return 6
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
