"""Clipping ranges of a bundled generator, from public text that no benchmark uses.

Run:  python tools/choose_generator_clip.py dp-prompt --texts heldout_wikitext2_test.txt --write

The paper's range is μ to μ + 4σ of the scores of the tokens that the model writes (greedily) about the texts. The tuned
one is that of the grid below with the largest objective: the probability of the token that the model would write, mean
over tokens and over ln ε from 25 to 250. --write puts both into the model's spec.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from choose_clip_range import lines

import dptext_core as dpt
from dptext_core.models import estimate_generator_clip

EPSILONS = np.geomspace(25, 250, 5)
LOW, HIGH = (0.0, 1.0, 2.0, 3.0, 4.0), (4.0, 5.0, 6.0, 7.0, 8.0, 10.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("mechanism", choices=("dp-prompt", "dp-paraphrase"))
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--max-texts", type=int, default=60)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--model", default="bundled")
    args = parser.parse_args()
    # Any range will do: what the model writes greedily does not depend on one as wide as this.
    m: Any = dpt.mechanism_class(args.mechanism).create(
        model=args.model, clip_min=-100.0, clip_max=100.0, max_tokens=20
    )
    texts = lines(args.texts, args.max_texts)
    found = estimate_generator_clip(texts, m)
    rows = np.stack([row for text in texts for row in m.greedy_scores(text)]).astype(np.float64)
    best = rows.max(axis=1)
    table = []
    for a in LOW:
        for b in (b for b in HIGH if b > a):
            low, high = found.mean + a * found.deviation, found.mean + b * found.deviation
            clipped = (np.clip(rows, low, high) - high) / (2 * (high - low))
            at = (np.minimum(best, high) - high) / (2 * (high - low))
            p = [np.exp(e * at - np.log(np.exp(e * clipped).sum(axis=1))).mean() for e in EPSILONS]
            table.append((float(np.mean(p)), a, b, low, high))
    for value, a, b, low, high in sorted(table, reverse=True)[:8]:
        print(f"μ + {a:g}σ to μ + {b:g}σ: {value:.4f} ({low:.3f} to {high:.3f})")
    _, a, b, low, high = max(table)
    print(f"paper: {found.paper.low:.4f} to {found.paper.high:.4f}; largest score {rows.max():.2f}")
    if args.write:
        path = m.generator().spec.folder / "spec.json"
        spec = json.loads(path.read_text(encoding="utf-8"))
        spec |= {
            "clip_min": round(found.paper.low, 4),
            "clip_max": round(found.paper.high, 4),
            "clip_source": found.paper.source,
            "tuned_min": round(low, 4),
            "tuned_max": round(high, 4),
            "tuned_source": f"μ + {a:g}σ to μ + {b:g}σ of public texts (tools/choose_generator_clip.py)",
        }
        path.write_text(json.dumps(spec, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
