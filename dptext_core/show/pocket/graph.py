"""The masked language model that is asked by queries, and the sentence encoder, each as one ONNX file for a browser.

A sequence of the first is the word pieces of a text and, behind them, one mask for each word that is asked for: at the
position of that word, with the second token type, reading the text and itself, and read by nobody. The last layer and
the head are computed at these masks alone. A sequence of the second is one sentence, whose vector is the mean over it.

Weights are whole numbers of 8 bits, with one float32 scale for each 32 of an output or a word piece. The runtime turns
them into float32 when it loads the file, and computes in float32; so the rounding of the weights is the whole error.
Biases, norms, positions and types stay float32.

The file is written here by its wire format (protocol buffers, onnx.proto of ONNX 1.16, opset 20), since what is needed
of it is a page, and the package ``onnx`` is a dependency.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
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
        """The whole file, whose output ``found`` is ``result``."""
        self._nodes.append(_field(1, result) + _field(2, "found") + _field(4, "Identity"))
        graph = b"".join(
            [
                *(_field(1, node) for node in self._nodes),
                _field(2, "transformer"),
                *(_field(5, tensor) for tensor in self._tensors),
                *(_field(11, given) for given in inputs),
                _field(12, _value("found", "float32", shape)),
            ]
        )
        return _field(1, IR) + _field(2, "dptext") + _field(7, graph) + _field(8, _field(2, OPSET))


def rounded(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix (rows, columns) as int8 (rows, blocks, BLOCK), and their float32 scales (rows, blocks, 1)."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scale = (np.maximum(np.abs(blocks).max(axis=2, keepdims=True), 1e-12) / 127.0).astype(np.float32)
    return np.rint(blocks / scale).astype(np.int8), scale


def _array(tensor: Any) -> np.ndarray:
    return tensor.detach().float().numpy()


class _Bert(Graph):
    """The parts of a BERT. config: of ``transformers``; its weights are rounded as the module says."""

    def __init__(self, config: Any):
        super().__init__()
        self._config = config
        d, heads = config.hidden_size, config.num_attention_heads
        self._split, self._whole = self.whole(0, heads, d // heads), self.whole(0, d)
        self._factor = self.constant(np.array((d // heads) ** -0.5, np.float32))

    def floats(self, codes: str, scale: str, columns: int) -> str:
        blocks = self.node("Mul", self.node("Cast", codes, to=_TYPES["float32"]), scale)
        return self.node("Reshape", blocks, self.whole(-1, columns))

    def affine(self, x: str, layer: Any) -> str:
        codes, scale = rounded(_array(layer.weight))
        weight = self.floats(self.constant(codes), self.constant(scale), layer.weight.shape[1])
        product = self.node("MatMul", x, self.node("Transpose", weight, perm=(1, 0)))
        return self.node("Add", product, self.constant(_array(layer.bias)))

    def norm(self, x: str, layer: Any) -> str:
        given = (self.constant(_array(layer.weight)), self.constant(_array(layer.bias)))
        return self.node("LayerNormalization", x, *given, axis=-1, epsilon=float(self._config.layer_norm_eps))

    def by_head(self, x: str, order: Sequence[int]) -> str:
        return self.node("Transpose", self.node("Reshape", x, self._split), perm=order)

    def layer(self, x: str, layer: Any, rows: str = "", hides: str = "") -> str:
        """One layer. rows: what is computed, where it is not all of x. hides: what is added to what a row makes of a
        column."""
        rows, own, out = rows or x, layer.attention.self, layer.attention.output
        q = self.node("Mul", self.by_head(self.affine(rows, own.query), (1, 0, 2)), self._factor)
        k, v = self.by_head(self.affine(x, own.key), (1, 2, 0)), self.by_head(self.affine(x, own.value), (1, 0, 2))
        products = self.node("MatMul", q, k)
        shares = self.node("Softmax", self.node("Add", products, hides) if hides else products, axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", shares, v), perm=(1, 0, 2))
        read = self.node("Reshape", mixed, self._whole)
        x = self.norm(self.node("Add", rows, self.affine(read, out.dense)), out.LayerNorm)
        wide = self.node("Gelu", self.affine(x, layer.intermediate.dense))
        return self.norm(self.node("Add", x, self.affine(wide, layer.output.dense)), layer.output.LayerNorm)

    def words(self, base: Any) -> Callable[[str], str]:
        """The word embeddings: what gives those of a tensor of ids."""
        words, sizes = map(self.constant, rounded(_array(base.embeddings.word_embeddings.weight)))

        def of(ids: str) -> str:
            found, scale = self.node("Gather", words, ids, axis=0), self.node("Gather", sizes, ids, axis=0)
            return self.floats(found, scale, self._config.hidden_size)

        return of

    def embedded(self, base: Any, words: str, max_length: int) -> str:
        """What the first layer reads, from the inputs ``places`` and ``types``."""
        x = words
        for table, which in (("position_embeddings", "places"), ("token_type_embeddings", "types")):
            few = _array(getattr(base.embeddings, table).weight)[:max_length]
            x = self.node("Add", x, self.node("Gather", self.constant(few), which, axis=0))
        return self.norm(x, base.embeddings.LayerNorm)


_SEQUENCE = [_value(name, "int64", ("t",)) for name in ("ids", "places", "types")]


def masked_lm_file(root: Any, candidate_ids: np.ndarray, max_length: int) -> bytes:
    """The ONNX file of a BERT with the attributes of ``models.masked_lm.trunk_parts``.

    Inputs: ``ids``, ``places``, ``types``, int64 (t,): word pieces of the text, then one mask a query; ``hides``,
    float32 (t, t): 0 where a row reads a column, and a large negative number where not; ``asked``, int64 (n,): the rows
    of the queries. Output: ``found``, float32 (n, candidates), raw logits. max_length: positions of the longest text.
    """
    g, base, head = _Bert(root.config), root.bert, root.cls.predictions
    words = g.words(base)
    x = g.embedded(base, words("ids"), max_length)
    *before, last = base.encoder.layer
    for layer in before:
        x = g.layer(x, layer, hides="hides")
    x = g.layer(x, last, g.node("Gather", x, "asked", axis=0), g.node("Gather", "hides", "asked", axis=0))
    x = g.norm(g.node("Gelu", g.affine(x, head.transform.dense)), head.transform.LayerNorm)
    of_words = words(g.constant(candidate_ids.astype(np.int64)))
    found = g.node("MatMul", x, g.node("Transpose", of_words, perm=(1, 0)))
    scores = g.node("Add", found, g.constant(_array(head.bias)[candidate_ids]))
    given = [*_SEQUENCE, _value("hides", "float32", ("t", "t")), _value("asked", "int64", ("n",))]
    return g.file(given, scores, ("n", len(candidate_ids)))


def encoder_file(base: Any, max_length: int) -> bytes:
    """The ONNX file of a BERT (its parts as attributes) as an encoder of one sentence.

    Inputs: ``ids``, ``places``, ``types``, int64 (t,). Output: ``found``, float32 (width,), the mean over all
    positions. max_length: positions of the longest sentence.
    """
    g = _Bert(base.config)
    x = g.embedded(base, g.words(base)("ids"), max_length)
    for layer in base.encoder.layer:
        x = g.layer(x, layer)
    mean = g.node("ReduceMean", x, g.whole(0), keepdims=0)
    return g.file(_SEQUENCE, mean, (base.config.hidden_size,))
