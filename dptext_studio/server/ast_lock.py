"""Let one thread at a time build a syntax tree, where the interpreter cannot keep two apart.

CPython before 3.11.8 and 3.12.2 counts the depth of a tree that it builds in one place for all threads (gh-106905). A
thread that collects garbage meanwhile can let another one build a tree too, and then raises SystemError. NumPy reads
the headers of its files so, traceback its marks, and torch its functions while it is imported: all in threads of ours.
"""

from __future__ import annotations

import ast
import functools
import sys
import threading

AFFECTED = sys.version_info < (3, 11, 8) or (3, 12) <= sys.version_info < (3, 12, 2)
_lock = threading.RLock()


def install() -> None:
    """Guard ``ast.parse``, by which nearly everything builds trees; once, and only where it is needed."""
    if AFFECTED and not hasattr(ast.parse, "__wrapped__"):
        own = ast.parse

        @functools.wraps(own)
        def parse(*args, **kwargs):
            with _lock:
                return own(*args, **kwargs)

        ast.parse = parse
