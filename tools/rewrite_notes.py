"""Print ten notes beside each other as redaction, stand-ins, the hybrid and DP-MLM release them, with a fixed seed.

python tools/rewrite_notes.py tests/detectors/notes.txt [--count 10] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dptext_core as dpt
from dptext_core.measure.detection import read_marked

COLUMNS = {
    "redacted": ("redact", {}),
    "stand-ins": ("surrogates", {}),
    "stand-ins, then DP-MLM, ε = 25": ("dp-mlm", {"epsilon": 25.0, "surrogates": True}),
    "stand-ins, then DP-MLM, ε = 50": ("dp-mlm", {"epsilon": 50.0, "surrogates": True}),
    "DP-MLM alone, ε = 50": ("dp-mlm", {"epsilon": 50.0}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notes", type=Path, help="texts in which spans are marked, one a line")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    texts = [t.text for t in read_marked(args.notes.read_text(encoding="utf-8").splitlines())][: args.count]
    made = {"original": texts}
    for title, (name, options) in COLUMNS.items():
        made[title] = [r.text for r in dpt.get_mechanism(name, recase="public", **options).rewrite(texts, args.seed)]
    for i in range(len(texts)):
        print("\n".join(f"- {title}: {released[i]}" for title, released in made.items()), end="\n\n")


if __name__ == "__main__":
    main()
