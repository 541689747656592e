"""Rewriting on the visitor's own device: a folder of static files that any web server can serve."""

from __future__ import annotations

from .serving import serve
from .site import SiteSummary, write_site

__all__ = ["SiteSummary", "serve", "write_site"]
