"""Build assets/words/groups.npz: who shares which output set of CusText, where building them takes long.

For the default word space, whole and without the words that are not released to begin with, and each number of output
words K that pages offer. Prints how many sets there are, and the file's bytes.

Run:  python tools/build_groups.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.words import custext, word_groups
from dptext_core.support.assets import assets_folder
from dptext_core.words import word_space


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=assets_folder() / "words" / word_groups.GROUPS)
    args = parser.parse_args()
    begun = recommended("custext")
    assert isinstance(begun, custext.CusText)
    arrays: dict[str, Any] = {}
    for space in (word_space("minilm"), begun.vocabulary):
        for k in word_groups.TRIES:
            groups = word_groups.build_groups(space, k, "balanced")
            key = word_groups.groups_key(space, k)
            arrays[f"{key}-group"] = groups.group.astype(np.uint16)
            arrays[f"{key}-outputs"] = np.stack(groups.outputs).astype(np.uint16)
            print(f"{len(space)} words, K = {k}: {len(groups.outputs)} sets")
    np.savez_compressed(args.out, **arrays)
    print(f"{args.out.name}: {args.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
