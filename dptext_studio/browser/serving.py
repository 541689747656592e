"""Serves a folder of static files to this machine alone, for a try."""

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
    """Files with the policy of the page; nothing that is asked for is written down."""

    extensions_map = _TYPES

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def serve(folder: Path, port: int = 0) -> Iterator[ThreadingHTTPServer]:
    """Return a server on the loopback address; ``server_address`` says where. port: 0 takes a free one.

    The caller lets it serve. Raises InputError for a port that cannot be had.
    """
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
    except (OSError, OverflowError) as error:
        raise InputError(f"Port {port} is not available ({error}). Choose another one.") from None
    with server:
        yield server
