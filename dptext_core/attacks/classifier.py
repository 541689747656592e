"""Attackers that guess the author of a text, by a classifier trained on public texts of the same authors.

The static one trains on original texts, like an attacker who does not know that texts are rewritten. The adaptive one
rewrites its training texts first (DP-MLM, Section 4.2; Mattern et al. 2022). Both are tested on rewritten texts.
"""

from __future__ import annotations

from typing import Any

from .base import DataAttacker, register


@register
class StaticClassifier(DataAttacker):
    """A classifier that is trained on original texts."""

    name = "static"
    title = "Static classifier"
    question = "Can a classifier trained on original texts recognise the author?"

    def training_texts(self, originals: Any, rewrites: Any) -> Any:
        return originals


@register
class AdaptiveClassifier(DataAttacker):
    """A classifier that is trained on rewrites by the same mechanism."""

    name = "adaptive"
    title = "Adaptive classifier"
    question = "Can a classifier trained on rewritten texts recognise the author?"

    def training_texts(self, originals: Any, rewrites: Any) -> Any:
        return rewrites
