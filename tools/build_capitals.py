"""Write which words of the vocabulary have a capital in most of their uses inside a sentence.

python tools/build_capitals.py --corpus train.txt.gz --out assets/words/capitals.npz

The file holds places in the list of word pieces, and no word.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.words.vocabulary import read_pieces

#: A word counts from this many uses on, and has a form from this share of them on.
LEAST, SHARE = 5, 0.6
#: A word in lower case and a blank or a comma before a word: no sentence or title begins there.
_INSIDE = re.compile(r"(?:(?<=[a-z] )|(?<=[a-z], ))[^\W\d_]+(?![\w'’-])")


def count(lines: Iterable[str]) -> Counter[str]:
    """Return how often each form of a word is used inside a sentence."""
    return Counter(word for line in lines for word in _INSIDE.findall(line))


def choose(forms: Counter[str], words: Iterable[str]) -> tuple[list[int], list[int]]:
    """Return the places of the words that mostly have a capital first, and of those in capitals throughout."""
    title, upper = [], []
    for place, word in enumerate(words):
        if not (word.isalpha() and len(word) > 1):
            continue
        uses = forms[word], forms[word.capitalize()], forms[word.upper()]
        if sum(uses) < LEAST:
            continue
        if uses[1] >= SHARE * sum(uses):
            title.append(place)
        elif uses[2] >= SHARE * sum(uses):
            upper.append(place)
    return title, upper


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with gzip.open(args.corpus, "rt", encoding="utf-8") as lines:
        title, upper = choose(count(lines), read_pieces())
    np.savez_compressed(args.out, title=np.array(title, np.uint16), upper=np.array(upper, np.uint16))
    print(f"{len(title):,} words with a capital, {len(upper):,} in capitals")


if __name__ == "__main__":
    main()
