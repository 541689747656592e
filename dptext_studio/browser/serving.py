"""A local server for a folder of static files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from dptext_core.errors import InputError

from .site import POLICY

_TYPES = {
    **SimpleHTTPRequestHandler.extensions_map,
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".gz": "application/octet-stream",
    ".webmanifest": "application/manifest+json",
}


class _Handler(SimpleHTTPRequestHandler):
    """Serve files with the policy of the page, and log nothing."""

    extensions_map = _TYPES

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def serve(folder: Path, port: int = 0) -> Iterator[ThreadingHTTPServer]:
    """Return a server on the loopback address, which is in ``server_address``. port: 0 uses any free one.

    The caller starts it. Raises InputError if the port is not available.
    """
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
    except (OSError, OverflowError) as error:
        raise InputError(f"Port {port} is not available ({error}). Choose another one.") from None
    with server:
        yield server
