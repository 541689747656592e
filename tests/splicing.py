"""Edit a text token by token, as mechanisms do."""

from __future__ import annotations

from collections.abc import Sequence

import dptext_core as dpt
from dptext_core.text.skeleton import Edit, SplicedText


def splice(document: dpt.Document, edits: Sequence[Edit]) -> SplicedText:
    """Return the text with one edit a token: those with a text replace it, the others leave it."""
    return document.skeleton([edit.text is not None for edit in edits]).render(edits)
