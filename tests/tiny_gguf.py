"""A tiny random language model as a GGUF file, cut into the parts of installed packages: what `models add` starts from.

Gemma 3's build with a width of 32, weights rounded to 8 bits in blocks of 32 where the real file rounds them, and a
vocabulary of letters and some words.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dptext_core.models import added

NAME = "gemma-3-270m"
WIDTH, LAYERS, HEADS, INNER = 32, 2, 2, 64
SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>")
WORDS = ("th", "the", "▁the", "do", "doc", "▁d", "▁do")
PIECES = (*SPECIAL, "▁", *string.ascii_letters, *string.punctuation, *WORDS)


def weights(seed: int = 5) -> dict[str, np.ndarray]:
    """Tensors by the names of the file, in float32; a norm as the file has it, one larger than the model's."""
    rng = np.random.default_rng(seed)
    size = len(PIECES)

    def block(k: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        for name, shape in (
            ("attn_q", (WIDTH * HEADS, WIDTH)),
            ("attn_k", (WIDTH, WIDTH)),
            ("attn_v", (WIDTH, WIDTH)),
            ("attn_output", (WIDTH, WIDTH * HEADS)),
            ("ffn_gate", (INNER, WIDTH)),
            ("ffn_up", (INNER, WIDTH)),
            ("ffn_down", (WIDTH, INNER)),
            ("attn_norm", (WIDTH,)),
            ("post_attention_norm", (WIDTH,)),
            ("ffn_norm", (WIDTH,)),
            ("post_ffw_norm", (WIDTH,)),
            ("attn_q_norm", (WIDTH,)),
            ("attn_k_norm", (WIDTH,)),
        ):
            yield f"blk.{k}.{name}.weight", shape

    shapes = {"token_embd.weight": (size, WIDTH), "output_norm.weight": (WIDTH,)}
    for k in range(LAYERS):
        shapes |= dict(block(k))
    return {
        name: rng.normal(1.0 if len(shape) == 1 else 0.0, 0.3, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def write(path: Path) -> Path:
    """Write the model to a GGUF file."""
    from gguf import GGMLQuantizationType, GGUFWriter, quants

    pieces = list(PIECES)
    out = GGUFWriter(path, "gemma3")
    out.add_name("Tiny")
    out.add_context_length(64)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(1)
    out.add_key_length(WIDTH)
    out.add_value_length(WIDTH)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(1e6)
    out.add_sliding_window(16)
    out.add_tokenizer_model("llama")
    out.add_token_list(pieces)
    out.add_token_scores([-float(i) for i in range(len(pieces))])
    out.add_token_types([3 if piece in SPECIAL else 1 for piece in pieces])
    for name, piece in (("pad", "<pad>"), ("eos", "<eos>"), ("bos", "<bos>"), ("unk", "<unk>")):
        getattr(out, f"add_{name}_token_id")(pieces.index(piece))
    out.add_add_bos_token(True)
    out.add_add_space_prefix(False)
    for name, tensor in weights().items():
        if tensor.ndim == 1:
            out.add_tensor(name, tensor)
        else:
            kind = GGMLQuantizationType.Q8_0
            out.add_tensor(name, quants.quantize(tensor, kind), raw_dtype=kind)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


def install(file: Path, site: Path) -> added.Source:
    """Lay the file into two packages in ``site``, and say what it is."""
    data = file.read_bytes()
    middle = len(data) // 2
    parts = (("tiny_gguf_part1", "data/x.part00"), ("tiny_gguf_part2", "data/x.part01"))
    for (module, path), piece in zip(parts, (data[:middle], data[middle:]), strict=True):
        target = site / module / path
        target.parent.mkdir(parents=True)
        # None of a package's code is run.
        (site / module / "__init__.py").write_text("raise RuntimeError('this package was run')\n")
        target.write_bytes(piece)
    return replace(added.SOURCES[NAME], sha256=hashlib.sha256(data).hexdigest(), parts=parts)
