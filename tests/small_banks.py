"""Small banks of sentences, and an encoder that knows no meaning, for tests."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dptext_core.words.bank import BANK_STEPS, DIMENSIONS, bank_codes, write_bank

WHO = ("The doctor", "My friend", "A teacher", "Her brother", "The old man")
WHAT = ("went home early.", "wrote a letter.", "found the pain hard.", "bought a garden.", "told us a story.", "slept.")
SENTENCES = tuple(f"{who} {what}" for who in WHO for what in WHAT)


def meaningless(texts: Sequence[str], **_: object) -> np.ndarray:
    """A vector of length 1 for each text, the same for the same text: float32 (n, 384)."""
    found = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIMENSIONS) for text in texts]
    return np.array([x / np.linalg.norm(x) for x in found], np.float32).reshape(-1, DIMENSIONS)


def write(folder: Path, sentences: Sequence[str] = SENTENCES, vectors: np.ndarray | None = None) -> Path:
    """A bank in a folder. vectors: float (n, 384), of length 1."""
    codes, largest, usual = bank_codes(meaningless(sentences) if vectors is None else vectors)
    said = {"title": "Small", "origin": "this test", "licence": "MIT", "steps": BANK_STEPS, "left_out": {}}
    write_bank(folder, tuple(sentences), codes, said | {"largest_error": largest, "usual_error": usual})
    return folder
