"""Compute the scores of the examples, which Explore shows before any model is loaded.

Run:  python tools/build_precomputed.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dptext_core as dpt
from dptext_core.support.assets import examples
from dptext_studio import precomputed


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    mechanism = dpt.get_mechanism("dp-mlm")
    path = precomputed.save(mechanism, [mechanism.prepare(e.text) for e in examples()])
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
