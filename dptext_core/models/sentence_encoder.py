"""all-MiniLM-L6-v2 as an encoder of whole texts (Reimers and Gurevych 2019).

It reads the first 254 word pieces of a text, two marks around them. The loaded encoder is kept for the process, by
device; texts and embeddings are not.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.device import resolve_device
from .._internal.extras import install
from .._internal.imports import alone
from .._internal.quiet import quiet
from ..errors import ModelUnavailable
from ..words.vocabulary import verified_trunk_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What it reads of a text, in word pieces.
PIECES = 254
_LOCK = threading.Lock()
_ENCODERS: dict[str, Any] = {}


def embed(texts: Sequence[str], device: str | None = None, batch_size: int = 32) -> NDArray[np.float32]:
    """Sentence embeddings, float32 (n, 384), rows of length 1. ``device``: "cuda", "mps", "cpu"; None: the best one.

    Raises ModelUnavailable where the model is missing or is not the official one.
    """
    # A tokenizer written in Rust takes no lone surrogates.
    clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    if not clean:
        return np.zeros((0, 384), dtype=np.float32)
    vectors = load_encoder(device).encode(
        clean, batch_size=batch_size, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
    )
    return np.asarray(vectors, dtype=np.float32)


def loaded() -> bool:
    """Whether the encoder is in memory, on whatever device."""
    return bool(_ENCODERS)


def parts() -> tuple[Any, int]:
    """The encoder's BERT, a module of ``transformers`` on the processor, and how many word pieces it reads."""
    encoder = load_encoder("cpu")
    return encoder[0].auto_model, int(encoder.max_seq_length)


def load_encoder(device: str | None) -> Any:
    folder = verified_trunk_folder()
    try:
        with alone():
            from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ModelUnavailable(
            f"Sentence vectors need sentence-transformers. Install it with: {install('models')}"
        ) from error
    device = resolve_device(device)
    with _LOCK:
        if device not in _ENCODERS:
            with quiet():
                _ENCODERS[device] = SentenceTransformer(str(folder), device=device, local_files_only=True)
        return _ENCODERS[device]
