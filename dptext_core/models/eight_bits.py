"""The storage format of the bundled weights: 8-bit integers with a float32 scale per 32 numbers of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

#: Numbers of a row that share a scale.
BLOCK = 32
#: Suffixes of a matrix's name for its integers, int8 (rows, columns), and its scales, (rows, blocks).
CODES, SCALES = ".codes", ".scales"
_FLOATS = ("position_embeddings.weight", "token_type_embeddings.weight")


def quantize(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the integers of a matrix and their scales."""
    blocks = matrix.reshape(len(matrix), -1, BLOCK)
    scales = (np.maximum(np.abs(blocks).max(axis=2, keepdims=True), 1e-12) / 127.0).astype(np.float32)
    return np.rint(blocks / scales).astype(np.int8).reshape(matrix.shape), scales[..., 0]


def in_eight_bits(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights of a transformer with its large matrices in 8 bits, and all else in float32."""
    tensors: dict[str, np.ndarray] = {}
    for name, value in weights.items():
        if value.ndim == 2 and not name.endswith(_FLOATS):
            tensors[name + CODES], tensors[name + SCALES] = quantize(value)
        else:
            tensors[name] = np.ascontiguousarray(value, np.float32)
    return tensors


def in_floats(stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights that ``in_eight_bits`` stored, in float32: the same numbers that the runtime computes with."""
    tensors: dict[str, np.ndarray] = {}
    for name, value in stored.items():
        if name.endswith(CODES):
            scales = stored[name.removesuffix(CODES) + SCALES]
            blocks = value.astype(np.float32).reshape(len(value), -1, BLOCK) * scales[..., None]
            tensors[name.removesuffix(CODES)] = blocks.reshape(value.shape)
        elif not name.endswith(SCALES):
            tensors[name] = value
    return tensors


def transformers_state(state: Mapping[str, np.ndarray], words: np.ndarray) -> dict[str, np.ndarray]:
    """Rename the weights trained by ``tools/train_masked_lm.py`` to the names of transformers' BertForMaskedLM.

    words: the word embeddings (V, d) to which the low-rank update is added.
    """
    tensors = {name: value for name, value in state.items() if name.startswith("bert.")}
    tensors["bert.embeddings.word_embeddings.weight"] = words + state["up"] @ state["down"]
    head = "cls.predictions."
    tensors[f"{head}bias"] = state["bias"]
    for end in ("weight", "bias"):
        tensors[f"{head}transform.dense.{end}"] = state[f"dense.{end}"]
        tensors[f"{head}transform.LayerNorm.{end}"] = state[f"norm.{end}"]
    return tensors


_KINDS = {"float32": "F32", "int8": "I8", "int64": "I64"}


def laid_out(stored: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bytes]:
    """Return the concatenated tensors, and the position of each in the form of a safetensors header."""
    header, parts, at = {}, [], 0
    for name in sorted(stored, key=lambda n: (-stored[n].dtype.itemsize, n)):
        data = np.ascontiguousarray(stored[name], stored[name].dtype.newbyteorder("<")).tobytes()
        kind = _KINDS[stored[name].dtype.name]
        header[name] = {"dtype": kind, "shape": [*stored[name].shape], "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    return header, b"".join(parts)
