"""The bundled languages, one file each."""

from __future__ import annotations

from .english import ENGLISH

__all__ = ["ENGLISH"]
