"""Bundled scores of the examples, so that a page shows a rewrite before any model is loaded.

They apply only to the texts, mechanism and options for which they were computed, and only while the bundled model is
the one that computed them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.errors import InputError
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import fields_of
from dptext_core.mechanisms.setting import Setting
from dptext_core.models.registry import weights_sha256
from dptext_core.support.assets import assets_folder
from dptext_core.text.document import Document, Token

_FILE = "precomputed.npz"
#: The rounding of stored scores: coarse below the clipping ranges, which map them to one value, and fine for likely
#: candidates.
_LEVELS = np.concatenate([np.arange(-40, -2, 0.5), np.arange(-2, 3, 1 / 16), np.arange(3, 40, 1 / 64)])
_BETWEEN = (_LEVELS[1:] + _LEVELS[:-1]) / 2


def _model_folder() -> Path:
    return assets_folder() / "models" / "masked_lm"


@cache
def _model_hash() -> str:
    """Return the hash of the model's weights and of its card, which states the length of its input."""
    return weights_sha256(_model_folder())


def save(mechanism: Mechanism, prepared: Sequence[Prepared], folder: Path | None = None) -> Path:
    """Write the rounded scores of prepared texts, with the masks of the original texts, as an asset."""
    path = (folder or assets_folder() / "examples") / _FILE
    if (scores := mechanism.kept_scores) is None:
        raise InputError(f"{mechanism.title} has no scores to store. Choose another mechanism.")
    arrays: dict[str, np.ndarray] = {}
    texts = []
    for k, one in enumerate(prepared):
        codes = np.searchsorted(_BETWEEN, scores.of(one)).astype(np.uint16)
        # Nearly all high bytes are equal, so they compress well if separated from the low ones.
        arrays[f"low {k}"], arrays[f"high {k}"] = (codes & 255).astype(np.uint8), (codes >> 8).astype(np.uint8)
        texts.append({"text": one.text, "tokens": [dataclasses.astuple(t) for t in one.document.tokens]})
    about = {"mechanism": mechanism.name, "texts": texts, "model": _model_hash()}
    np.savez_compressed(path, allow_pickle=False, about=np.array(json.dumps(about)), **arrays)
    return path


@cache
def _description() -> dict[str, Any] | None:
    path = assets_folder() / "examples" / _FILE
    if not path.exists() or not _model_folder().is_dir():
        return None
    with np.load(path, allow_pickle=False) as z:
        return json.loads(str(z["about"]))


@cache
def _scores(k: int) -> np.ndarray:
    with np.load(assets_folder() / "examples" / _FILE, allow_pickle=False) as z:
        return _LEVELS.astype(np.float32)[z[f"low {k}"] | z[f"high {k}"].astype(np.uint16) << 8]


def load(text: str, setting: Setting) -> Prepared | None:
    """Return a bundled text in prepared form; None for any other text, mechanism or options."""
    if (about := _description()) is None or about["mechanism"] != setting.mechanism:
        return None
    fields = fields_of(setting.mechanism)
    # The written form of words does not affect scores.
    options = {name: value for name, value in setting.options.items() if not option_meta(fields[name]).writes_only}
    if not all(option_meta(fields[name]).is_public_filter for name in options):
        return None
    k = next((k for k, one in enumerate(about["texts"]) if one["text"] == text), None)
    if k is None or about["model"] != _model_hash():
        return None
    return _prepared(k, Setting(setting.mechanism, options))


@lru_cache(maxsize=4)
def _prepared(k: int, setting: Setting) -> Prepared | None:
    """Return a bundled text prepared for a mechanism. All visitors share it, because the text is public."""
    text = (_description() or {})["texts"][k]
    # The tokens are bundled too, so that no language resource is loaded for them.
    document = Document(text["text"], tuple(Token(*t) for t in text["tokens"]))
    support = setting.make().kept_scores
    prepared = None if support is None else support.put(document, _scores(k))
    if prepared is not None:
        prepared.share()
    return prepared
