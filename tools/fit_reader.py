"""Measure γ of the reader, the weight of the language, on public sentences that no benchmark measures.

Run:  python tools/fit_reader.py --data DIR

Sentences of SST-2's training part are rewritten by two mechanisms at three ε, from where few words are read to where
most are, and read with every γ: the share of words that is found, and its mean. γ = 0 is the best guess. Where several
γ do alike, one is taken that leaves the frequency of words some weight.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import dptext_core as dpt
from dptext_core.attacks import reader
from dptext_lab.runner import data_sets

GAMMAS = (0.0, 0.5, 0.7, 0.8, 0.9, 1.0)
EPSILONS = {
    "custext": (2.0, 6.0, 10.0),
    "diffractor": (0.4, 0.8, 1.6),
}


def sentences(folder: Path, n: int) -> list[str]:
    """n sentences of eight words or more, evenly spread over the training part."""
    data = data_sets.load("sst2", folder)
    every = [data.texts[i][0] for i in data.train]
    long = [text for text in every if len(text.split()) >= 8]
    return [long[i] for i in np.linspace(0, len(long) - 1, n).astype(int)]


def main(argv: list[str] | None = None) -> int:
    takes = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    takes.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    takes.add_argument("--max-texts", type=int, default=30, help="sentences (default 30)")
    args = takes.parse_args(argv)
    texts = sentences(args.data, args.max_texts)
    print("mechanism    ε      words " + " ".join(f"γ={g:<5g}" for g in GAMMAS), flush=True)
    found = []
    for name, epsilons in EPSILONS.items():
        for epsilon in epsilons:
            m = dpt.get_mechanism(name, epsilon=epsilon)
            results = [m.rewrite(text, seed=k) for k, text in enumerate(texts)]
            hits = [[w.rank == 1 for r in results for w in reader.read_releases(m, r, gamma=g).words] for g in GAMMAS]
            found.append(np.mean(hits, axis=1))
            shares = " ".join(f"{x:.3f}  " for x in found[-1])
            print(f"{name:12s} {epsilon:<6g} {len(hits[0]):5d} {shares}", flush=True)
    mean = np.mean(found, axis=0)
    print(f"{'mean':25s} " + " ".join(f"{x:.3f}  " for x in mean))
    return 0


if __name__ == "__main__":
    sys.exit(main())
