"""Cosine of the all-MiniLM-L6-v2 sentence embeddings of original and rewrite: -1 to 1, the papers' similarity.

Reimers and Gurevych 2019; the model that DP-MLM and 1-Diffractor use. It reads the first 256 word pieces of a text. An
empty text has an embedding too (of the model's start and end marks), so two empty texts give 1 and nothing fails.
The loaded encoder is kept for the process, by device; texts and embeddings are not.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device import resolve_device
from ..errors import ModelUnavailable
from ..words.vocabulary import verified_trunk_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOCK = threading.Lock()
_ENCODERS: dict[str, Any] = {}


def score(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    """Cosine of each rewrite with its original."""
    distinct = list(dict.fromkeys([*originals, *rewrites]))
    rows = dict(zip(distinct, embed(distinct), strict=True))
    return [
        float(np.clip(np.dot(rows[original], rows[rewrite]), -1.0, 1.0))
        for original, rewrite in zip(originals, rewrites, strict=True)
    ]


def embed(texts: Sequence[str], device: str | None = None, batch_size: int = 32) -> NDArray[np.float32]:
    """Sentence embeddings, float32 (n, 384), rows of length 1. ``device``: "cuda", "mps", "cpu"; None: the best one.

    Raises ModelUnavailable where the model is missing or is not the official one.
    """
    # A tokenizer written in Rust takes no lone surrogates.
    clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    if not clean:
        return np.zeros((0, 384), dtype=np.float32)
    vectors = _encoder(device).encode(
        clean, batch_size=batch_size, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
    )
    return np.asarray(vectors, dtype=np.float32)


def _encoder(device: str | None) -> Any:
    folder = verified_trunk_folder()
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ModelUnavailable(
            "The cosine metric needs sentence-transformers: pip install -r requirements.txt."
        ) from error
    device = resolve_device(device)
    with _LOCK:
        if device not in _ENCODERS:
            _ENCODERS[device] = SentenceTransformer(str(folder), device=device, local_files_only=True)
        return _ENCODERS[device]
