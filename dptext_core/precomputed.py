"""The scores of the first example, bundled, so that a page shows a rewrite before any model is loaded.

Only for the text, mechanism and options they were computed for, and only as long as the bundled model is the one that
computed them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ._assets import assets_folder
from .document import Document, Token
from .errors import InputError
from .mechanisms.base import Mechanism, Prepared
from .mechanisms.registry import get_mechanism

_FILE = "precomputed.npz"


def _model_file() -> Path:
    return assets_folder() / "models" / "masked_lm" / "masked_lm.safetensors"


@cache
def _model_hash() -> str:
    return hashlib.sha256(_model_file().read_bytes()).hexdigest()


def save(mechanism: Mechanism, prepared: Prepared, folder: Path | None = None) -> Path:
    """Write the scores of a prepared text (float16, the masks of the original text) as an asset."""
    scores = mechanism.scores_of(prepared)
    if scores is None:
        raise InputError(f"{mechanism.title} has no scores that could be kept.")
    path = (folder or assets_folder() / "examples") / _FILE
    tokens = [dataclasses.astuple(t) for t in prepared.document.tokens]
    about = {"mechanism": mechanism.name, "text": prepared.text, "tokens": tokens, "model": _model_hash()}
    np.savez_compressed(path, logits=scores.astype(np.float16), about=np.array(json.dumps(about)))
    return path


@cache
def _read() -> tuple[dict, np.ndarray] | None:
    path = assets_folder() / "examples" / _FILE
    if not path.exists() or not _model_file().exists():
        return None
    with np.load(path, allow_pickle=False) as z:
        return json.loads(str(z["about"])), z["logits"].astype(np.float32)


def load(text: str, mechanism: str, options: Mapping[str, Any]) -> Prepared | None:
    """The bundled text as if it had just been prepared; None for any other text, mechanism or options."""
    if options or (found := _read()) is None:
        return None
    about, logits = found
    if about["mechanism"] != mechanism or about["text"] != text or about["model"] != _model_hash():
        return None
    # The tokens are bundled too, so that nothing of the language is loaded for them.
    document = Document(text, tuple(Token(*t) for t in about["tokens"]))
    return get_mechanism(mechanism).with_scores(document, logits)
