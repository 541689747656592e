"""Build the bundled 1-D word lists ``assets/words/lists.npz``, all of ``dptext_core.words.word_lists()``.

    python tools/build_word_lists.py --seed 1 --out assets/words/lists.npz

Each list starts at a random word of a generator with the recorded seed; the two lists of one space on the common
vocabulary start at different words. Written are, for each list, the places of its words in the order of the space
(the list of the whole space minilm) or of the common vocabulary (all others), the SHA-256 of the words in these two
orders, and the seed. No word is written.

Prints each list's first word, its mean step, the file's bytes and its SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core import Task
from dptext_core.words.lists import FULL, LIST_SPACES, build_list
from dptext_core.words.space_loading import common_vocabulary, word_space, words_sha256


def build(name: str, words: tuple[str, ...], vectors: np.ndarray, start: int) -> np.ndarray:
    """One list as places, uint16 (n,), with its progress printed."""
    if len(words) > 2**16:
        raise SystemExit(f"{len(words)} words do not fit in 16 bits.")
    began = time.perf_counter()

    def show(done: int, of: int) -> None:
        print(f"\r{name}: {done / of:4.0%}", end="", file=sys.stderr, flush=True)

    order = build_list(vectors, start, Task(show))
    print(file=sys.stderr)
    steps = np.linalg.norm(np.diff(vectors[order].astype(np.float64), axis=0), axis=1)
    print(
        f"{name}: {len(order)} words from {words[start]!r}, mean step {steps.mean():.4f}, "
        f"{time.perf_counter() - began:.1f} s"
    )
    return order.astype(np.uint16)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the bundled 1-D word lists.")
    parser.add_argument("--out", type=Path, default=Path("assets/words/lists.npz"))
    parser.add_argument("--seed", type=int, default=1, help="picks the words that the lists start from")
    args = parser.parse_args()

    stream = np.random.default_rng(args.seed)
    full, common = word_space("minilm"), common_vocabulary()
    arrays: dict[str, Any] = {FULL: build(FULL, full.words, full.vectors, int(stream.integers(len(full))))}
    for name in LIST_SPACES:
        space = word_space(name)
        vectors = space.vectors[space.rows(common)]
        for i, start in enumerate(stream.choice(len(common), 2, replace=False), 1):
            arrays[f"{name}-{i}"] = build(f"{name}-{i}", common, vectors, int(start))
    np.savez_compressed(
        args.out,
        full_sha256=np.array(words_sha256(full.words)),
        common_sha256=np.array(words_sha256(common)),
        seed=np.int64(args.seed),
        **arrays,
    )
    data = args.out.read_bytes()
    print(f"{args.out}: {len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
