"""Build assets/words/log_z.npz: ln Σ_y exp(−ε·d(x, y)/2) of every word x of the default word space, for every ε.

Counts the distances of all pairs of words, takes ln Z on a grid of ε, and keeps its mean and its eight main directions,
rounded. Prints the error against ln Z from all distances of 1,000 words at values of ε between those of the grid.

Run:  python tools/build_log_z.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from dptext_core.mechanisms.words import normalisers
from dptext_core.support.assets import assets_folder
from dptext_core.words import word_space
from dptext_core.words.space_loading import words_sha256

DIRECTIONS = 8
STEP = 2e-4
BINS = 2048


def build(path: Path) -> None:
    space = word_space("minilm")
    spread = normalisers.count_distances(space, bins=BINS)
    grid = np.unique(np.concatenate([np.linspace(0, 10, 9), np.linspace(10, 40, 25), np.geomspace(40, 200, 8)]))
    table = np.stack([spread.log_z(e) for e in grid], axis=1)
    mean = table.mean(axis=0)
    directions = np.linalg.svd(table - mean, full_matrices=False)[2][:DIRECTIONS]
    codes = np.rint((table - mean) @ directions.T / STEP).astype(np.int16)
    np.savez_compressed(
        path,
        words_sha256=words_sha256(space.words),
        epsilon=grid,
        mean=mean,
        directions=directions,
        step=STEP,
        codes=np.ascontiguousarray(codes.T),
    )


def check(words: int = 1000) -> float:
    """The largest error of the bundled table over ``words`` words."""
    space = word_space("minilm")
    rows = np.random.default_rng(0).choice(len(space), words, replace=False)
    distances = space.distance_rows(rows).astype(np.float64)
    worst = 0.0
    for e in (0.3, 2.2, 5.1, 8.7, 11.3, 13.9, 16.4, 18.1, 19.7, 22.3, 26.2, 31.0, 37.0, 45.0, 70.0, 150.0, 500.0):
        exact = np.log(np.exp(-e / 2 * distances).sum(axis=1))
        error = float(np.abs(normalisers.bundled_log_z(e, space)[0][rows] - exact).max())
        print(f"ε {e:5g}: ln Z from {exact.min():.4f} to {exact.max():.4f}, largest error {error:.1e}")
        worst = max(worst, error)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=assets_folder() / "words" / "log_z.npz")
    args = parser.parse_args()
    build(args.out)
    print(f"{args.out.name}: {args.out.stat().st_size:,} bytes")
    if args.out.resolve() == (assets_folder() / "words" / "log_z.npz").resolve():
        print(f"largest error over 1,000 words: {check():.1e}")


if __name__ == "__main__":
    main()
