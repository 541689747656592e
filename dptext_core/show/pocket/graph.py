"""The masked language model that is asked by queries, as one ONNX file that a browser computes.

A sequence is the word pieces of a text and, behind them, one mask for each word that is asked for: at the position of
that word, with the second token type, reading the text and itself, and read by nobody. The last layer and the head are
computed at these masks alone.

Weights are whole numbers of 8 bits, with one float32 scale for each 32 of an output or a word piece. The runtime turns
them into float32 when it loads the file, and computes in float32; so the rounding of the weights is the whole error.
Biases, norms, positions and types stay float32.

The file is written here by its wire format (protocol buffers, onnx.proto of ONNX 1.16, opset 20), since what is needed
of it is a page, and the package ``onnx`` is a dependency.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

#: The version of the operators (Gelu came with 20), and of the file format that goes with it.
OPSET, IR = 20, 9
_TYPES = {"float32": 1, "int8": 3, "int64": 7}
_FLOAT, _INT, _INTS = 1, 2, 7
#: Weights of one output that share a scale.
BLOCK = 32


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number: int, value: int | float | str | bytes) -> bytes:
    """One field of a message: a whole number, a float32, or bytes with their length."""
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, value: np.ndarray) -> bytes:
    dims = b"".join(_field(1, n) for n in value.shape)
    raw = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()
    return dims + _field(2, _TYPES[value.dtype.name]) + _field(8, name) + _field(9, raw)


def _value(name: str, kind: str, shape: Sequence[str | int]) -> bytes:
    dims = b"".join(_field(1, _field(2, n) if isinstance(n, str) else _field(1, n)) for n in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, _TYPES[kind]) + _field(2, dims)))


class Graph:
    """A graph under construction: every method returns the name of what it adds."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._made = 0

    def constant(self, value: np.ndarray) -> str:
        """A tensor of the file."""
        self._made += 1
        self._tensors.append(_tensor(name := f"w{self._made}", value))
        return name

    def whole(self, *numbers: int) -> str:
        """A list of whole numbers."""
        return self.constant(np.array(numbers, np.int64))

    def node(self, kind: str, *inputs: str, **attributes: float | int | Sequence[int]) -> str:
        """One operator with one output."""
        self._made += 1
        name = f"x{self._made}"
        parts = [_field(1, i) for i in inputs] + [_field(2, name), _field(4, kind)]
        for key, value in attributes.items():
            if isinstance(value, float):
                body = _field(2, value) + _field(20, _FLOAT)
            elif isinstance(value, int):
                body = _field(3, value) + _field(20, _INT)
            else:
                body = b"".join(_field(8, n) for n in value) + _field(20, _INTS)
            parts.append(_field(5, _field(1, key) + body))
        self._nodes.append(b"".join(parts))
        return name

    def file(self, inputs: Sequence[bytes], result: str, shape: Sequence[str | int]) -> bytes:
        """The whole file, whose output ``scores`` is ``result``."""
        self._nodes.append(_field(1, result) + _field(2, "scores") + _field(4, "Identity"))
        graph = b"".join(
            [
                *(_field(1, node) for node in self._nodes),
                _field(2, "masked language model"),
                *(_field(5, tensor) for tensor in self._tensors),
                *(_field(11, given) for given in inputs),
                _field(12, _value("scores", "float32", shape)),
            ]
        )
        return _field(1, IR) + _field(2, "dptext") + _field(7, graph) + _field(8, _field(2, OPSET))


def rounded(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix (rows, columns) as int8 (rows, blocks, BLOCK), and their float32 scales (rows, blocks, 1)."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scale = (np.maximum(np.abs(blocks).max(axis=2, keepdims=True), 1e-12) / 127.0).astype(np.float32)
    return np.rint(blocks / scale).astype(np.int8), scale


def masked_lm_file(root: Any, candidate_ids: np.ndarray, max_length: int) -> bytes:
    """The ONNX file of a BERT with the attributes of ``models.masked_lm.trunk_parts``.

    Inputs: ``ids``, ``places``, ``types``, int64 (t,): word pieces of the text, then one mask a query; ``hides``,
    float32 (t, t): 0 where a row reads a column, and a large negative number where not; ``asked``, int64 (n,): the rows
    of the queries. Output: ``scores``, float32 (n, candidates), raw logits. max_length: positions of the longest text.
    """
    g = Graph()
    config, base, head = root.config, root.bert, root.cls.predictions
    d, heads, eps = config.hidden_size, config.num_attention_heads, float(config.layer_norm_eps)

    def array(tensor: Any) -> np.ndarray:
        return tensor.detach().float().numpy()

    def floats(codes: str, scale: str, columns: int) -> str:
        blocks = g.node("Mul", g.node("Cast", codes, to=_TYPES["float32"]), scale)
        return g.node("Reshape", blocks, g.whole(-1, columns))

    def affine(x: str, layer: Any) -> str:
        codes, scale = rounded(array(layer.weight))
        weight = floats(g.constant(codes), g.constant(scale), layer.weight.shape[1])
        product = g.node("MatMul", x, g.node("Transpose", weight, perm=(1, 0)))
        return g.node("Add", product, g.constant(array(layer.bias)))

    def norm(x: str, layer: Any) -> str:
        given = (g.constant(array(layer.weight)), g.constant(array(layer.bias)))
        return g.node("LayerNormalization", x, *given, axis=-1, epsilon=eps)

    split, whole = g.whole(0, heads, d // heads), g.whole(0, d)
    factor = g.constant(np.array((d // heads) ** -0.5, np.float32))

    def by_head(x: str, order: Sequence[int]) -> str:
        return g.node("Transpose", g.node("Reshape", x, split), perm=order)

    def attended(x: str, layer: Any, rows: str) -> str:
        """What the rows read of all of x, with what they were, normed."""
        own = layer.attention.self
        q = g.node("Mul", by_head(affine(rows, own.query), (1, 0, 2)), factor)
        k, v = by_head(affine(x, own.key), (1, 2, 0)), by_head(affine(x, own.value), (1, 0, 2))
        hides = "hides" if rows == x else g.node("Gather", "hides", "asked", axis=0)
        shares = g.node("Softmax", g.node("Add", g.node("MatMul", q, k), hides), axis=-1)
        read = g.node("Reshape", g.node("Transpose", g.node("MatMul", shares, v), perm=(1, 0, 2)), whole)
        out = layer.attention.output
        return norm(g.node("Add", rows, affine(read, out.dense)), out.LayerNorm)

    codes, scale = rounded(array(base.embeddings.word_embeddings.weight))
    words, sizes = g.constant(codes), g.constant(scale)
    x = floats(g.node("Gather", words, "ids", axis=0), g.node("Gather", sizes, "ids", axis=0), d)
    for table, which in (("position_embeddings", "places"), ("token_type_embeddings", "types")):
        few = array(getattr(base.embeddings, table).weight)[:max_length]
        x = g.node("Add", x, g.node("Gather", g.constant(few), which, axis=0))
    x = norm(x, base.embeddings.LayerNorm)
    for n, layer in enumerate(base.encoder.layer):
        last = n == len(base.encoder.layer) - 1
        rows = g.node("Gather", x, "asked", axis=0) if last else x
        x = attended(x, layer, rows)
        wide = g.node("Gelu", affine(x, layer.intermediate.dense))
        x = norm(g.node("Add", x, affine(wide, layer.output.dense)), layer.output.LayerNorm)
    x = norm(g.node("Gelu", affine(x, head.transform.dense)), head.transform.LayerNorm)
    ids = g.constant(candidate_ids.astype(np.int64))
    of_words = floats(g.node("Gather", words, ids, axis=0), g.node("Gather", sizes, ids, axis=0), d)
    found = g.node("MatMul", x, g.node("Transpose", of_words, perm=(1, 0)))
    scores = g.node("Add", found, g.constant(array(head.bias)[candidate_ids]))
    given = [_value(name, "int64", ("t",)) for name in ("ids", "places", "types")]
    given += [_value("hides", "float32", ("t", "t")), _value("asked", "int64", ("n",))]
    return g.file(given, scores, ("n", len(candidate_ids)))
