"""Rewriting on the visitor's own device: a folder of static files that any web server can serve."""

from __future__ import annotations

from .serving import serve
from .site import Made, write_site

__all__ = ["Made", "serve", "write_site"]
