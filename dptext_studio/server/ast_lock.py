"""A lock that lets only one thread build a syntax tree, for interpreters that confuse concurrent ones.

CPython before 3.11.8 and 3.12.2 counts the depth of a tree in one variable for all threads (gh-106905). Garbage
collection in one thread can let another thread build a tree too, and then raises SystemError. NumPy builds trees when
it reads file headers, traceback for its marks, and torch when it is imported: all in our threads.
"""

from __future__ import annotations

import ast
import functools
import sys
import threading

AFFECTED = sys.version_info < (3, 11, 8) or (3, 12) <= sys.version_info < (3, 12, 2)
_lock = threading.RLock()


def install() -> None:
    """Guard ``ast.parse``, which builds nearly all trees; once, and only if needed."""
    if AFFECTED and not hasattr(ast.parse, "__wrapped__"):
        original = ast.parse

        @functools.wraps(original)
        def parse(*args, **kwargs):
            with _lock:
                return original(*args, **kwargs)

        ast.parse = parse
