"""Compare the law by which ``dp-sentence`` cuts cosines with the best fixed range at each ε, on public texts.

Run:  python tools/choose_sentence_range.py --data DIR [--bank FOLDER] [--before N]

Printed is the expected cosine of what is released, worked out from the exact distribution and averaged over sentences
from the texts to train of several data sets: under the law, under the best range of a grid, which is searched on the
same sentences and so looks a little better than it is, and under two ranges that stay the same. With --before the
cosine is that of the text and N sentences together with a further one, once N were drawn at the same ε under the law.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.mechanisms.sentence.sentence_trace import CosineTable, sentence_range
from dptext_core.models.sentence_encoder import embed
from dptext_core.text.document import Document
from dptext_core.words.bank import DEFAULT_BANK, MOST_ADDED, SentenceBank, sentence_bank, text_codes
from dptext_lab.results.measurement import markdown
from dptext_lab.runner import data_sets

SETS = {"sst2": 60, "snips": 40, "atis": 20, "reviews": 20, "authors": 20}
EPSILONS = (5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 75.0, 100.0, 200.0)
LOWS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
#: The same for a further sentence.
LOWS_FURTHER = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55)
WIDTHS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)
FIXED = ((0.2, 0.6), (0.0, 1.0))


def expected(cosines: np.ndarray, epsilon: float, ends: tuple[float, float]) -> float:
    """Mean cosine of what is released, over sentences; cosines: float64 (m, n)."""
    found = []
    for row in cosines:
        found.append(float(CosineTable((), row, ends).at(epsilon).probs @ row))
    return float(np.mean(found))


def further(bank: SentenceBank, cosines: np.ndarray, before: int, epsilon: float) -> np.ndarray:
    """The same cosines together with sentences that were drawn before, one draw of these for each row."""
    rng, out = np.random.default_rng(1), []
    for row in cosines:
        drawn: list[int] = []
        for _ in range(before):
            now = bank.added(row, drawn) if drawn else row
            chances = CosineTable((), now, before=len(drawn)).at(epsilon).probs
            drawn.append(int(rng.choice(len(row), p=chances)))
        out.append(bank.added(row, drawn))
    return np.array(out)


def sentences(folder: Path) -> list[str]:
    """Some sentences of every data set's texts to train: the first of each text."""
    out = []
    for name, n in SETS.items():
        data = data_sets.load(name, folder, n_train=n, n_test=1)
        texts = [Document.parse(data.texts[i][0]) for i in data.train]
        out += [d.text[slice(*d.sentences[0])] for d in texts if d.sentences]
    return out


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--bank", default=DEFAULT_BANK, metavar="FOLDER")
    parser.add_argument("--before", type=int, default=0, metavar="N", help=f"sentences drawn before, to {MOST_ADDED}")
    args = parser.parse_args(argv)
    bank = sentence_bank(args.bank)
    alone = cosines = bank.cosines(text_codes(embed(sentences(args.data))))
    rows = []
    for epsilon in EPSILONS:
        law = sentence_range(epsilon, args.before)
        if args.before:
            cosines = further(bank, alone, args.before, epsilon)
        tried = {
            (low, round(low + width, 2)): 0.0
            for low in (LOWS_FURTHER if args.before else LOWS)
            for width in WIDTHS
            if low + width <= 1
        }
        for ends in tried:
            tried[ends] = expected(cosines, epsilon, ends)
        best = max(tried, key=lambda ends: tried[ends])
        rows.append(
            [
                f"{epsilon:g}",
                f"{law[0]:.2f} to {law[1]:.2f}",
                f"{expected(cosines, epsilon, law):.3f}",
                f"{best[0]:.2f} to {best[1]:.2f}",
                f"{tried[best]:.3f}",
                *(f"{expected(cosines, epsilon, ends):.3f}" for ends in FIXED),
            ]
        )
    fixed = [f"{low:g} to {high:g}" for low, high in FIXED]
    print(markdown(["ε", "law", "cosine", "best range", "cosine", *fixed], rows))
    print(f"{len(cosines)} sentences; the nearest of the bank is at {cosines.max(axis=1).mean():.3f}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
