"""How many words have a unique set under CusText's mappings: the share not of type N–M (the paper's Table 4).

Such a word is revealed by its outputs at any ε. The share is over the distinct words of SST-2 in the word space, and
over their occurrences. The words are in the order of their frequency in SST-2. The paper has other vectors, and does
not say whether it counts words or occurrences.

    python -m dptext_core bench mappings --data DIR --out mappings.json
"""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dptext_core.errors import InputError
from dptext_core.mechanisms.words.custext import MAPPINGS
from dptext_core.mechanisms.words.word_groups import build_groups
from dptext_core.words.space_loading import word_space

from ..results.mappings import MEASUREMENT, MappingRow
from ..runner.options import parser

KS = (20, 50, 100)
PARTS = ("train", "dev", "test")


def word_counts(folder: Path) -> tuple[collections.Counter[str], str]:
    """Return the lower-case words of SST-2, split at spaces, with their counts, and the SHA-256 of the files.

    Raises InputError if a file is missing.
    """
    counts: collections.Counter[str] = collections.Counter()
    digest = hashlib.sha256()
    for part in PARTS:
        path = folder / f"{part}.tsv"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"Cannot read {path}: {error.strerror}. Name the folder that contains sst2/.") from error
        digest.update(data)
        for line in data.decode("utf-8").splitlines()[1:]:
            counts.update(line.rsplit("\t", 1)[0].lower().split())
    return counts, digest.hexdigest()


def alone_shares(counts: Mapping[str, int], space: str, k: int, mapping: str) -> tuple[float, float, int]:
    """Return the share of words with a unique set, the share of their occurrences, and the number of words."""
    vectors = word_space(space)
    known = [w for w in sorted(counts, key=lambda w: -counts[w]) if w in vectors]
    often = np.array([counts[w] for w in known])
    groups = build_groups(vectors, k, mapping, "cosine", vectors.rows(known))
    single = groups.sizes[groups.group] == 1
    return float(single.mean()), float(often[single].sum() / often.sum()), len(known)


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench mappings``."""
    args = parser("mappings", __doc__, "data", "space", "out", required=["data"]).parse_args(argv)
    counts, digest = word_counts(args.data / "sst2")
    rows = []
    for k in KS:
        for mapping in MAPPINGS:
            words, occurrences, n = alone_shares(counts, args.space, k, mapping)
            rows.append(MappingRow(k, mapping, round(words, 6), round(occurrences, 6), n))
            print(f"K = {k:3d}, {mapping:12s}: {words:.2%} of {n:,} words, {occurrences:.2%} of their occurrences")
    about = MEASUREMENT.about(space=args.space, data="sst2", sha256=digest, words="share of words not of type N–M")
    MEASUREMENT.write(args.out, rows, about)
    return 0
