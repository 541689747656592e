"""Write assets/words/loaded.txt: the words that the pages' mechanisms leave out by default, one a line.

Run:  npm pack cuss@2.2.0 && tar xzf cuss-2.2.0.tgz
      python tools/build_loaded_words.py package/index.js

The list cuss (Titus Wormer, MIT) rates words by how likely they are meant as profanity: 0 unlikely, 1 maybe, 2 likely.
Words rated 1 and 2 are taken, if they are single words of letters a to z.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "assets" / "words" / "loaded.txt"
_LINE = re.compile(r"^\s*'?([^':\n]+?)'?: ([012]),?$", re.MULTILINE)

if __name__ == "__main__":
    rated = {word: int(rate) for word, rate in _LINE.findall(Path(sys.argv[1]).read_text(encoding="utf-8"))}
    taken = sorted(word for word, rate in rated.items() if rate and re.fullmatch("[a-z]+", word))
    OUT.write_text("\n".join(taken) + "\n", encoding="utf-8")
    print(f"{len(taken):,} of {len(rated):,} words in {OUT}")
