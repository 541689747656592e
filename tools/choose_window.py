"""Choose how many positions of a text the bundled model reads at once, on public text that no benchmark uses.

Run:  python tools/choose_window.py --texts heldout_wikitext2_test.txt --stopwords stopwords_english.txt

Longer texts are read in windows that overlap by half. What a window costs is seen in texts that are longer than it:
--runs runs of --words words each, made of following lines. Printed for each window: the cosine between original and
rewrite, N_w, and processor seconds for all texts, with the default clipping range.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.mechanisms.masked.dp_mlm import DPMLM
from dptext_core.models.registry import masked_lm_spec
from dptext_lab.measurements import clipping
from dptext_lab.results.measurement import markdown

EPSILONS = (10.0, 25.0, 35.0, 50.0, 100.0, 250.0)


def runs(path: Path, words: int, n: int) -> list[str]:
    """``n`` evenly spread runs of so many words, without unknown words and headings."""
    lines = [s for s in map(str.strip, path.read_text(encoding="utf-8").split("\n")) if s and not s.startswith("=")]
    every = " ".join(s for s in lines if "<unk>" not in s).split()
    cut = [" ".join(every[i : i + words]) for i in range(0, len(every) - words + 1, words)]
    return cut[:: max(1, len(cut) // n)][:n]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--stopwords", help="one word a line; else the default list")
    parser.add_argument("--windows", type=int, nargs="+", default=[128, 96, 80, 66, 50])
    parser.add_argument("--words", type=int, nargs="+", default=[40, 60, 100, 200])
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    spec = masked_lm_spec("bundled")
    clip = next(iter(spec.clips.values()))
    of = {"stopwords": args.stopwords} if args.stopwords else {}
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for words in args.words:
            texts = runs(args.texts, words, args.runs)
            for window in args.windows:
                at = Path(folder) / str(window)
                if not at.exists():
                    shutil.copytree(spec.folder, at)
                    notes = json.loads((at / "spec.json").read_text(encoding="utf-8"))
                    (at / "spec.json").write_text(json.dumps(notes | {"max_length": window}), encoding="utf-8")
                m = DPMLM.create(model=str(at), **of)
                began = time.process_time()
                prepared = clipping.prepare(m, texts)
                took = time.process_time() - began
                rows = clipping.measure(m, prepared, {0.0: (clip.low, clip.high)}, EPSILONS)
                found = {r.epsilon: f"{r.cosine:.2f} at {r.n_w:.2f}" for r in rows}
                cells.append([f"{words}", f"{window}", *(found[e] for e in EPSILONS), f"{took:.1f}"])
    print(f"{args.runs} texts of each length; cosine at N_w\n")
    print(markdown(["words of a text", "window", *(f"ε {e:g}" for e in EPSILONS), "seconds"], cells))


if __name__ == "__main__":
    main()
