"""Files to share or to keep, in two kinds.

A *release* contains the rewritten text, its settings and its guarantee, and no original word that the rewritten text
does not show. An *inspection* shows the originals. It is for their author and says so at the top, and its name starts
with PRIVATE.
"""

from __future__ import annotations

import json

from dptext_core.result import RewriteResult

from .candidate_table import LIKELIEST, chances_csv, chances_json
from .inspection import PRIVATE, inspection, view_of
from .notebook import as_notebook
from .parts import FILE, as_command, as_python
from .report import report
from .session import SavedSession, read_session

__all__ = [
    "FILE",
    "KINDS",
    "LIKELIEST",
    "PRIVATE",
    "SavedSession",
    "as_command",
    "as_notebook",
    "as_python",
    "chances_csv",
    "chances_json",
    "file_name",
    "inspection",
    "read_session",
    "record",
    "report",
    "view_of",
]

KINDS = ("release", "inspection")


def file_name(kind: str, what: str, suffix: str) -> str:
    """Return the name of a file of this kind; a file with originals is named as private."""
    return f"{'PRIVATE' if kind == 'inspection' else 'release'}-{what}.{suffix}"


def record(result: RewriteResult, kind: str = "release") -> str:
    """Return a rewrite as JSON: its text, setting and guarantee; an inspection also has every step with its original
    word.
    """
    about = {"kind": kind} | ({"private": PRIVATE} if kind == "inspection" else {})
    return json.dumps(about | result.to_dict(trace=kind == "inspection"), ensure_ascii=False, indent=2) + "\n"
