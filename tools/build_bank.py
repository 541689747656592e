"""Build the bundled bank of sentences from the example sentences of WordNet 3.0 (Debian's package ``wordnet-base``).

Run:  python tools/build_bank.py --wordnet /usr/share/wordnet --out assets/bank

It writes the list of abusive words first: words whose senses WordNet mostly calls a slur, an obscenity or a
disparagement, and a few that have other senses too. Then the examples of all glosses, as sentences with a capital and a
full stop, go the way of ``bank build``. A run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.support.task import on_terminal
from dptext_core.words.bank import ABOUT, SENTENCES, VECTORS
from dptext_lab.training.bank_building import Gathered, build_bank, gather

#: Steps of a coordinate, so that the vectors of all sentences take less than 8 MB when they are packed.
STEPS = 64
PARTS = ("noun", "verb", "adj", "adv")
#: Usages of WordNet that make a sense an insult.
USAGES = ("ethnic_slur", "obscenity", "disparagement")
#: What glosses say of such senses.
SAID = re.compile(
    r"\b(?:obscene|vulgar|offensive|disparaging|derogatory|ethnic slur|insulting)\b(?= (?:term|word|slang|name)|\))"
)
#: Insults that have harmless senses too, or stand in examples of other words.
MORE = (
    "ass",
    "asses",
    "arse",
    "arsehole",
    "bastard",
    "bastards",
    "bitch",
    "bitches",
    "bitchy",
    "bugger",
    "crap",
    "cunt",
    "damn",
    "damned",
    "dickhead",
    "fucked",
    "fucker",
    "fucks",
    "goddamn",
    "goddamned",
    "idiot",
    "idiots",
    "moron",
    "morons",
    "nazi",
    "nazis",
    "negro",
    "negroes",
    "pissed",
    "pisses",
    "rape",
    "raped",
    "rapes",
    "rapist",
    "retard",
    "retarded",
    "shitty",
    "slut",
    "sluts",
    "twat",
    "wanker",
    "whore",
    "whores",
    "imbecile",
    "cripple",
    "crippled",
    "savages",
    "suicide",
    "slave",
    "slaves",
    "shit",
    "fucking",
    "prick",
    "piss",
    "queer",
    "faggot",
    "fag",
    "fagot",
    "chink",
    "coon",
    "dyke",
    "tits",
    "whoring",
    "bimbo",
)


def synsets(folder: Path) -> Iterator[tuple[tuple[str, str], list[str], list[tuple[str, int]], str]]:
    """Key, words, usages (key of the usage, 0 or the number of the word that has it) and gloss of every synset."""
    for part in PARTS:
        for line in (folder / f"data.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition("| ")
            cells = data.split()
            n = int(cells[3], 16)
            words = [re.sub(r"\(\w+\)$", "", w) for w in cells[4 : 4 + 2 * n : 2]]
            at = 4 + 2 * n
            pointers = [cells[at + 1 + 4 * k : at + 5 + 4 * k] for k in range(int(cells[at]))]
            usages = [(f"{kind}{offset}", int(which[:2], 16)) for sign, offset, kind, which in pointers if sign == ";u"]
            yield (cells[2].replace("s", "a"), cells[0]), words, usages, gloss.strip()


def abusive(folder: Path) -> list[str]:
    """Words most of whose senses are insults, and MORE."""
    every = list(synsets(folder))
    usages = {f"{key[0]}{key[1]}" for key, words, _, _ in every if words[0] in USAGES}
    senses: Counter[str] = Counter()
    insults: Counter[str] = Counter()
    for _, words, marked, gloss in every:
        whole = bool(SAID.search(gloss))
        for number, word in enumerate(words, 1):
            insult = whole or any(usage in usages and which in (0, number) for usage, which in marked)
            senses[word.casefold()] += 1
            insults[word.casefold()] += insult
    found = {w for w, n in insults.items() if n and 2 * n >= senses[w] and "_" not in w and w.isalpha()}
    return sorted(found | set(MORE))


def examples(folder: Path) -> Iterator[str]:
    """The examples of all glosses, as sentences."""
    for _, _, _, gloss in synsets(folder):
        for quoted in re.findall(r'"([^"]+)"', gloss):
            text = quoted.replace("`", "'").replace(" ' ", " ").strip(" ,;:-'")
            if text:
                yield text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def whole_ones(gathered: Gathered) -> Gathered:
    """Without what begins or ends in the middle of something."""
    kept = tuple(s for s in gathered.sentences if (s[0].isupper() or s[0].isdigit()) and s[-1] in ".!?")
    lost = len(gathered.sentences) - len(kept)
    return Gathered(kept, dict(sorted({**gathered.omissions, "no whole sentence": lost}.items())))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"), metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="assets/bank")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "abusive.txt").write_text("\n".join(abusive(args.wordnet)) + "\n", encoding="utf-8")
    gathered = whole_ones(gather(examples(args.wordnet)))
    for why, n in gathered.omissions.items():
        print(f"left out, {why}: {n:,}")
    made = args.out / "building"
    about = build_bank(
        gathered,
        made,
        title="Example sentences of WordNet 3.0",
        origin="WordNet 3.0, the examples in its glosses",
        licence="WordNet 3.0 licence",
        steps=STEPS,
        task=on_terminal("encoding"),
    )
    for name in (SENTENCES, VECTORS, ABOUT):
        (made / name).replace(args.out / name)
    shutil.rmtree(made)
    size = sum(f.stat().st_size for f in args.out.iterdir())
    print(
        f"{about.sentences:,} sentences, {size:,} bytes, a cosine moves by {about.usual_error:.2g} as a rule and by "
        f"{about.largest_error:.2g} at most"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
