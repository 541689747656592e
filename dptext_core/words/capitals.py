"""The public form of English words: "March", "Helen", "USA". A function of the word alone, from public text.

``tools/build_capitals.py`` counts forms inside sentences. A release in these forms is post-processing: it spends no ε.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..support.assets import assets_folder
from .vocabulary import read_pieces


def public_form(word: str) -> str:
    """Return a word in lower case in its most frequent form; any other word unchanged."""
    return public_forms().get(word, word)


@cache
def public_forms() -> dict[str, str]:
    """Return the words in lower case whose most frequent form has capitals, each with that form."""
    words = read_pieces()
    with np.load(assets_folder() / "words" / "capitals.npz", allow_pickle=False) as data:
        title, upper = ([words[i] for i in data[name].tolist()] for name in ("title", "upper"))
    return {w: w.capitalize() for w in title} | {w: w.upper() for w in upper}
