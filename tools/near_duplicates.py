"""How many test texts of the benchmarks nearly repeat another one, or one to train on.

A text counts where it shares four fifths of its words with another one of those before it (words of both together,
each once, case ignored). Intervals over texts take texts for independent, which such ones are not: were those that hang
together right or wrong all alike, an interval would be wider by the factor that is printed.

    python tools/near_duplicates.py --data DIR
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dptext_lab.runner import data_sets, grid

#: Of all words of two texts so many are in both.
ALIKE = 0.8
_WORD = re.compile(r"\w+")


def near(text: frozenset[str], others: Iterable[frozenset[str]]) -> bool:
    return any(len(text & other) >= ALIKE * len(text | other) for other in others)


def wider(texts: Sequence[frozenset[str]]) -> float:
    """√(Σ m² / n) over groups of m texts that hang together, of n."""
    group = list(range(len(texts)))
    for k, text in enumerate(texts):
        for j in range(k):
            if group[j] != group[k] and near(text, texts[j : j + 1]):
                group = [group[j] if g == group[k] else g for g in group]
    return math.sqrt(sum(m * m for m in Counter(group).values()) / len(texts))


def words(parts: Sequence[str]) -> frozenset[str]:
    return frozenset(_WORD.findall(" ".join(parts).lower()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the public data sets")
    args = parser.parse_args()
    for name, size in {**grid.SIZES, **grid.CLOSED}.items():
        data_set = data_sets.load(name, args.data, size.n_train, size.n_test, size.max_words)
        test, train = ([words(data_set.texts[i]) for i in part] for part in (data_set.test, data_set.train))
        own = sum(near(text, test[:k]) for k, text in enumerate(test))
        learnt = sum(near(text, train) for text in test)
        print(
            f"{name:8s} {len(test):5,d} test texts, {own} near one before (× {wider(test):.2f}), {learnt} near one to "
            "train on",
            flush=True,
        )


if __name__ == "__main__":
    main()
