"""Write assets/words/loaded.txt: the words that the pages' mechanisms leave out by default, one a line.

Run:  npm pack cuss@2.2.0 && tar xzf cuss-2.2.0.tgz
      python tools/build_loaded_words.py package/index.js

The list cuss (Titus Wormer, MIT) rates words by how likely they are profanity: 0 unlikely, 1 maybe, 2 likely.
Words rated 1 and 2 are taken, if they are single words of letters a to z, but for ORDINARY: to leave those out would
say of names, faiths, peoples or illnesses what they are not.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "assets" / "words" / "loaded.txt"
#: Names and words of every day, faiths and peoples, medicine.
ORDINARY = """
alla babe balls banging bong booby cocky crack cummings damn dammit dong drunk drunken dumb gable gables gora gross
guinea guineas hapa ike ky loser mick paddy peck pee pixie pollock radical radicals randy ribbed screw smack snatch
spade spit stroking stupid suck sucker swallow tang trap turnon vomit welfare willie willy yank yankee yankees
demon devil god haji hamas jesus jihad nigerian protestant satan homosexual
abortion abuse addict addicts cocaine condom dope drug enema genital heroin hiv intercourse liquor marijuana
narcotic oral penetration sperm suicide uterus vagina vaginal vulva
"""
_LINE = re.compile(r"^\s*'?([^':\n]+?)'?: ([012]),?$", re.MULTILINE)

if __name__ == "__main__":
    takes = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    takes.add_argument("file", type=Path, help="index.js of the package cuss")
    text = takes.parse_args().file.read_text(encoding="utf-8")
    rated = {word: int(rate) for word, rate in _LINE.findall(text)}
    taken = sorted(
        word for word, rate in rated.items() if rate and re.fullmatch("[a-z]+", word) and word not in ORDINARY.split()
    )
    OUT.write_text("\n".join(taken) + "\n", encoding="utf-8")
    print(f"{len(taken):,} of {len(rated):,} words in {OUT}")
