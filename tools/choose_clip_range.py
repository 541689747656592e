"""Choose the tuned clipping range of the bundled model, on public text that no benchmark uses.

Run:  python tools/choose_clip_range.py --texts heldout_wikitext2_test.txt --stopwords stopwords_english.txt

Objective: the largest mean cosine between original and rewrite, averaged over ln ε from 10 to 250 (trapezoids), among
ranges that begin at the mean μ of the model's scores, as the paper's, and end 3 to 8 standard deviations σ above it.
--from 2 begins at μ + 2σ instead, to compare. The texts are --max-texts evenly spread lines of 8 to 40 words.
models/clip.py (WIDTHS) and assets/models/masked_lm/spec.json carry the result.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from math import log
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.mechanisms.masked.dp_mlm import DPMLM
from dptext_lab.measurements import clipping
from dptext_lab.results import clipping as clipping_rows

WIDTHS = (3.0, 4.0, 5.0, 6.0, 7.0, 8.0)


def lines(path: Path, n: int) -> list[str]:
    """``n`` evenly spread lines of 8 to 40 words without unknown words."""
    found = [s for s in map(str.strip, path.read_text(encoding="utf-8").split("\n")) if 8 <= len(s.split()) <= 40]
    found = [s for s in found if "<unk>" not in s]
    return found[:: max(1, len(found) // n)][:n]


def objective(rows: list[clipping_rows.ClippingRow]) -> float:
    """The mean cosine over ln ε."""
    whole = sum((b.cosine + a.cosine) / 2 * log(b.epsilon / a.epsilon) for a, b in pairwise(rows))
    return whole / log(rows[-1].epsilon / rows[0].epsilon)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--stopwords", help="one word a line; else the default list")
    parser.add_argument("--max-texts", type=int, default=80)
    parser.add_argument("--from", dest="start", type=float, default=0.0, help="σ from μ to the lower end (paper: 0)")
    args = parser.parse_args()
    m = DPMLM.create(**({"stopwords": args.stopwords} if args.stopwords else {}))
    prepared = clipping.prepare(m, lines(args.texts, args.max_texts))
    found = []
    print("| range | objective | cosine at ε " + ", ".join(f"{e:g}" for e in clipping.EPSILONS) + " | N_w |")
    print("|---|---|---|---|")
    lower = clipping.ends(m, [args.start])[args.start][1]
    for width, (_, upper) in clipping.ends(m, [w for w in WIDTHS if w > args.start]).items():
        rows = clipping.measure(m, prepared, {width: (lower, upper)})
        found.append((objective(rows), width, lower, upper))
        cosines, kept = (", ".join(f"{getattr(r, k):.3f}" for r in rows) for k in ("cosine", "n_w"))
        print(f"| μ + {args.start:g}σ to μ + {width:g}σ | {found[-1][0]:.4f} | {cosines} | {kept} |", flush=True)
    _, width, low, high = max(found)
    print(f"\nμ + {args.start:g}σ to μ + {width:g}σ: {low:.4f} to {high:.4f}")


if __name__ == "__main__":
    main()
