"""What a bundled generator writes about held-out captions without noise: BLEU and cosine to their paraphrases.

Run:  python tools/evaluate_generator.py dp-prompt --pairs captions5.tsv.gz

The captions are those that tools/train_generator.py held out. For each group the first caption is rewritten with the
best token at every step; BLEU is that of the corpus against the other four, cosine (all-MiniLM-L6-v2) the mean over
them. Beside it what a copy of the first caption gets.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dptext_core as dpt
from dptext_core.measure.metrics import cosine


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("mechanism", choices=("dp-prompt", "dp-paraphrase"))
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--max-texts", type=int, default=150, help="groups, of the 500 that were held out")
    args = parser.parse_args()
    import sacrebleu

    with gzip.open(args.pairs, "rt", encoding="utf-8") as file:
        groups = [line.rstrip("\n").split("\t") for line in file]
    held = [groups[i] for i in np.random.default_rng(0).permutation(len(groups))[:500]][: args.max_texts]
    m: Any = dpt.get_mechanism(args.mechanism, max_tokens=30)
    written = [m.greedy(g[0]) for g in held]
    references = [[g[k] for g in held] for k in range(1, 5)]
    for name, texts in (("written", written), ("copied", [g[0] for g in held])):
        bleu = sacrebleu.corpus_bleu(texts, references, lowercase=True).score
        near = np.mean([cosine.score(r, texts) for r in references])
        same = np.mean([a.lower().strip(" .") == g[0].lower().strip(" .") for a, g in zip(texts, held, strict=True)])
        print(f"{name}: BLEU {bleu:.1f}, cosine {near:.3f}, the very caption {same:.0%}")
    for source, text in list(zip([g[0] for g in held], written, strict=True))[:5]:
        print(f"  {source} -> {text}")


if __name__ == "__main__":
    main()
