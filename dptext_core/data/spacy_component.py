"""The component ``dp_rewriter`` for spaCy (the extra ``names``), loaded by the package's entry point.

In a clone that is not installed, import it before ``nlp.add_pipe("dp_rewriter")``.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ModelUnavailable
from ..support.extras import install
from .libraries import DocRewriter

try:
    _language: Any = importlib.import_module("spacy.language")
    _tokens: Any = importlib.import_module("spacy.tokens")
except ImportError:
    raise ModelUnavailable(f"The component dp_rewriter needs spaCy. Install it with: {install('names')}") from None

for _attribute in DocRewriter.ATTRIBUTES:
    _tokens.Doc.set_extension(_attribute, default=None, force=True)


@_language.Language.factory("dp_rewriter", default_config={"mechanism": None, "options": {}})
def dp_rewriter(nlp: Any, name: str, mechanism: str | None, options: dict[str, Any]) -> DocRewriter:
    """Return the component, with the mechanism and its options from the pipeline's config."""
    return DocRewriter(mechanism, options)
