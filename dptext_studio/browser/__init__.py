"""The browser edition: static files that rewrite texts on the visitor's device."""

from __future__ import annotations

from .serving import serve
from .site import SiteSummary, write_site

__all__ = ["SiteSummary", "serve", "write_site"]
