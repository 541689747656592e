"""Build the bundled word space ``assets/words/minilm.npz``.

    python tools/build_word_space.py --corpus train.txt.gz --out assets/words/minilm.npz

Every whole word of all-MiniLM-L6-v2's vocabulary is encoded as a sentence in float32. The vectors are rotated to their
principal axes (uncentred, so that every angle and distance stays) and rounded to multiples of one step for all axes:
axes that carry little then take few bits, and no axis is dropped before its values round to zero. The order of the
words is that of their counts in a public corpus (one text a line), ties in the order of the vocabulary. Only that
order, the counts, the rounded vectors, and the smallest and largest distance of two words are written, the last also
for the space minilm-input (the model's input embeddings); no word and no text of the corpus is.

Prints the share of the 50 nearest neighbours that the file shares with full precision, these distances, the file's
bytes and its SHA-256.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.text.document import Document
from dptext_core.words.space import WordSpace
from dptext_core.words.space_loading import input_rows, words_sha256
from dptext_core.words.vocabulary import read_pieces, verified_trunk_folder, whole_words


def encode(words: tuple[str, ...], batch_size: int = 512) -> np.ndarray:
    """Each word as a sentence: mean of the last layer, length 1; float32 (n, 384)."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = verified_trunk_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    rows = []
    with torch.inference_mode():
        for start in range(0, len(words), batch_size):
            batch = tokenizer(list(words[start : start + batch_size]), return_tensors="pt", padding=True)
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None]
            rows.append(torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1).numpy())
    return np.concatenate(rows)


def count_words(words: tuple[str, ...], corpus: Path) -> np.ndarray:
    """How often each of the words occurs in the corpus, case ignored, int64 (n,)."""
    counts: Counter[str] = Counter()
    with gzip.open(corpus, "rt", encoding="utf-8") if corpus.suffix == ".gz" else corpus.open(encoding="utf-8") as file:
        for line in file:
            counts.update(token.text.lower() for token in Document.parse(line).tokens if token.kind == "word")
    return np.array([counts[word] for word in words])


def rotate(vectors: np.ndarray) -> np.ndarray:
    """The vectors in the basis of their principal axes, largest first; float64 (n, d)."""
    full = vectors.astype(np.float64)
    _, axes = np.linalg.eigh(full.T @ full)
    axes = axes[:, ::-1]
    # The sign of an axis is free: fixed here, so that a rebuild gives the same axes.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return full @ axes


def overlap(exact: np.ndarray, other: np.ndarray, k: int = 50, sample: int = 2000) -> float:
    """Mean share of each word's k nearest words (of a fixed sample of words) that both sets of vectors agree on."""
    chosen = np.random.default_rng(0).choice(len(exact), min(sample, len(exact)), replace=False)
    shared = 0.0
    for start in range(0, len(chosen), 500):
        block = chosen[start : start + 500]
        tops = []
        for vectors in (exact, other):
            similar = vectors[block] @ vectors.T
            similar[np.arange(len(block)), block] = -2
            tops.append(np.argpartition(-similar, k, axis=1)[:, :k])
        shared += sum(len(np.intersect1d(a, b)) / k for a, b in zip(*tops, strict=True))
    return shared / len(chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the bundled word space.")
    parser.add_argument("--corpus", type=Path, required=True, help="public texts, one a line (.gz or plain)")
    parser.add_argument("--out", type=Path, default=Path("assets/words/minilm.npz"))
    parser.add_argument("--step", type=float, default=0.008, help="rounding step of the vectors, which have length 1")
    args = parser.parse_args()

    began = time.perf_counter()
    words = whole_words(read_pieces())
    vectors = encode(words)
    print(f"{len(words)} words encoded in {time.perf_counter() - began:.0f} s")
    codes = np.rint(rotate(vectors) / args.step)
    if np.abs(codes).max() > 127:
        raise SystemExit(f"A step of {args.step} needs more than 8 bits: take a larger one.")
    codes = codes.astype(np.int8)
    codes = codes[:, codes.any(axis=0)]
    counts = count_words(words, args.corpus)
    order = np.argsort(-counts, kind="stable")
    rounded = codes.astype(np.float32)
    rounded /= np.linalg.norm(rounded, axis=1, keepdims=True)
    delta = WordSpace("minilm", "", words, rounded).delta
    input_delta = WordSpace("minilm-input", "", words, input_rows()).delta
    args.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        args.out,
        order=order.astype(np.uint16),
        counts=counts[order].astype(np.uint32),
        delta=np.array(delta),
        input_delta=np.array(input_delta),
        codes=np.ascontiguousarray(codes.T),
        step=np.float32(args.step),
        words_sha256=np.array(words_sha256(words)),
    )
    print(f"{codes.shape[1]} axes; overlap of the 50 nearest with full precision: {overlap(vectors, rounded):.4f}")
    for name, (low, high) in (("minilm", delta), ("minilm-input", input_delta)):
        print(f"distances of two words of {name}: {low:.6f} to {high:.6f}")
    data = args.out.read_bytes()
    print(f"{args.out}: {len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
