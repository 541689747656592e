"""Which words of a text a model's tokenizer knows, without loading the model."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .registry import masked_lm_spec
from .tokens import bundled_tokenizer, clean, owners, read_tokenizer

if TYPE_CHECKING:
    from ..text.document import Document
    from .generators import GeneratorSpec
    from .registry import MaskedLMSpec


def known_tokens(model: str, document: Document) -> list[bool]:
    """Apply :func:`known_by` with the tokenizer of a masked language model."""
    return spec_knows(masked_lm_spec(model), document)


def spec_knows(spec: MaskedLMSpec | GeneratorSpec, document: Document) -> list[bool]:
    """Apply :func:`known_by` to a model specification."""
    if spec.on_trunk:
        return _known_by_backend(*_bundled(), document)
    return known_by(spec.folder, document)


def known_by(folder: Path, document: Document) -> list[bool]:
    """Return, for each token of a document, whether this folder's tokenizer knows it beyond single characters.

    A word of one letter is known if it is a letter of the document's language. If the tokenizer has no standalone file
    that can be read, every word counts as known.
    """
    file = folder / "tokenizer.json"
    if not document.tokens or not file.is_file():
        return [True] * len(document.tokens)
    return _known_by_backend(*_tokenizer(file, file.stat().st_mtime_ns), document)


def _known_by_backend(backend: Any, unknown: frozenset[int], document: Document) -> list[bool]:
    document = document.visible
    tokens = document.tokens
    known = [document.language.is_letter(t.text) for t in tokens]
    encoding = backend.encode(clean(document.text), add_special_tokens=False)
    for piece, (start, end), i in zip(encoding.ids, encoding.offsets, owners(encoding.offsets, tokens), strict=True):
        if piece not in unknown and min(end, tokens[i].end) - max(start, tokens[i].start) > 1:
            known[i] = True
    return known


@lru_cache(maxsize=4)
def _tokenizer(file: Path, _changed: int) -> tuple[Any, frozenset[int]]:
    """Return a tokenizer, and the ids of its pieces for unknown words. Both are public."""
    return _with_unknown(read_tokenizer(file))


@lru_cache(maxsize=1)
def _bundled() -> tuple[Any, frozenset[int]]:
    return _with_unknown(bundled_tokenizer())


def _with_unknown(backend: Any) -> tuple[Any, frozenset[int]]:
    ids = (backend.token_to_id(name) for name in ("[UNK]", "<unk>", getattr(backend.model, "unk_token", None)) if name)
    return backend, frozenset(i for i in ids if i is not None)
