"""Whether a sentence's total is better spent otherwise than on one draw from the bank: some ways, at equal total.

Run:  python tools/try_more_than_one_draw.py --data DIR

* clauses: the sentence is cut at marks and at "and", "but", "or" and "because", and a sentence of the bank is drawn for
  each clause; how many clauses there are shows.
* two, the second for what is missing: a sentence is drawn as ``dp-sentence`` does; then another one, by the cosine of
  the text with the sum of both vectors. What was drawn first is public, so that the two add up.
* three, five: the same with further ones.
* code: one of CODES centroids of the bank's vectors is drawn by its cosine. It is public then, and a text is written
  for it at no cost: paraphrases by the bundled decoder of the sentences nearest to it, and these sentences, of which
  the one nearest to the code is taken.
* words: each word is drawn by itself, with a public prior; stop words and their places show.
* between: one of SHARES of the total for a sentence and the rest for the words, and both are released.

Every cosine is that of the whole released text with the whole sentence (all-MiniLM-L6-v2). One draw is the exact
expectation. Later draws, codes and shares have what is best of RANGES and SHARES on these very texts, which no public
law could know. Gains are within a text. Sentences are from SST-2's part to train.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dptext_core as dpt
from dptext_core.mechanisms.sentence.sentence_trace import CosineTable
from dptext_core.models.sentence_encoder import embed
from dptext_core.support.statistics import half_width
from dptext_core.words.bank import sentence_bank, text_codes
from dptext_lab.results.measurement import markdown
from dptext_lab.runner import data_sets

TOTALS = (50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 400.0)
MORE = {"two": 2, "three": 3, "five": 5}
RANGES = [(a / 10, b / 10) for a in range(1, 7) for b in range(a + 1, 11)]
SHARES = (0.25, 0.5, 0.75)
CODES, ROUNDS = 2048, 4
#: Sentences near a code that are paraphrased, paraphrases of each, and the decoder's ε, which promises nothing here.
NEAREST, PARAPHRASES, EASE = 2, 4, 400.0
_CLAUSE = re.compile(r"\s*[,;:]\s+|\s+--\s+|\s+(?=(?:and|but|or|because)\s)")


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each row divided by its length."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def clauses(sentence: str) -> list[str]:
    """Parts of a sentence of two words or more; shorter ones stay with what is before them."""
    out: list[str] = []
    for part in _CLAUSE.split(sentence):
        if out and (len(part.split()) < 2 or len(out[-1].split()) < 2):
            out[-1] += f" {part}"
        elif part:
            out.append(part)
    return out


def chances(cosines: np.ndarray, epsilon: float, ends: tuple[float, float] | None) -> np.ndarray:
    """What the exponential mechanism draws by; without ends those of the law."""
    return CosineTable((), cosines, ends).at(epsilon).probs


def best(each: Sequence[np.ndarray], epsilon: float) -> tuple[float, float]:
    """The range under which draws have the highest cosine on average."""
    return max(RANGES, key=lambda ends: float(np.mean([chances(c, epsilon, ends) @ c for c in each])))


def likeness(released: Sequence[Sequence[str]], x: np.ndarray) -> np.ndarray:
    """The mean cosine of each text's rewrites with it."""
    flat = embed([t for own in released for t in own]).reshape(len(x), len(released[0]), -1)
    return np.einsum("tdi,ti->td", flat, x).mean(axis=1)


def codebook(vectors: np.ndarray) -> np.ndarray:
    """Centroids of length 1, by spherical k-means from sentences of the bank."""
    codes = vectors[np.random.default_rng(0).permutation(len(vectors))[:CODES]]
    for _ in range(ROUNDS):
        of = np.concatenate([(part @ codes.T).argmax(axis=1) for part in np.array_split(vectors, 16)])
        sums = np.zeros_like(codes)
        np.add.at(sums, of, vectors)
        codes = unit(np.where(np.bincount(of, minlength=CODES)[:, None] > 0, sums, codes))
    return codes


def added(x: np.ndarray, drawn: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Cosine of x with the sum of what was drawn and each further vector."""
    lengths = np.sqrt(np.maximum(drawn @ drawn + 1 + 2 * (vectors @ drawn), 1e-9))
    return np.clip((x @ drawn + vectors @ x) / lengths, -1, 1)


def words_of(prepared: Sequence[Any], total: float, draws: int) -> list[list[str]]:
    """Rewrites of each text word by word."""
    m = dpt.get_mechanism("dp-mlm-prior")
    out = []
    for k, p in enumerate(prepared):
        at = m.replace(epsilon=total / max(1, m.guarantee(p).draws))
        out.append([r.text for r in at.rewrites(p, draws, stream=dpt.NoiseStream(4).at(k))])
    return out


class Writer:
    """A text for each code, made once."""

    def __init__(self, codes: np.ndarray, vectors: np.ndarray, sentences: Sequence[str]):
        self.codes, self.vectors, self.sentences = codes, vectors, sentences
        self.decoder = dpt.get_mechanism("dp-paraphrase", epsilon=EASE)
        self.known: dict[int, str] = {}

    def __call__(self, code: int) -> str:
        if code not in self.known:
            near = [self.sentences[i] for i in np.argsort(-(self.vectors @ self.codes[code]))[:NEAREST]]
            tried = list(near)
            for k, sentence in enumerate(near):
                stream = dpt.NoiseStream(3).at(code).at(k)
                tried += [r.text for r in self.decoder.rewrites(sentence, PARAPHRASES, stream=stream)]
            tried = [t for t in dict.fromkeys(tried) if t.strip()]
            self.known[code] = tried[int(np.argmax(embed(tried) @ self.codes[code]))]
        return self.known[code]


def together(
    way: str,
    total: float,
    draws: int,
    x: np.ndarray,
    cosines: np.ndarray,
    vectors: np.ndarray,
    rng: np.random.Generator,
) -> list[list[int]]:
    """Return the sentences that are drawn for each text so often, each after the first to add what is missing."""
    n = MORE[way]
    epsilon = total / n
    chosen = [[int(rng.choice(len(c), p=chances(c, epsilon, None)))] for c in cosines for _ in range(draws)]
    for _ in range(n - 1):
        now = [added(x[k // draws], vectors[c].sum(axis=0), vectors) for k, c in enumerate(chosen)]
        ends = best(now[::draws], epsilon)
        print(f"total {total:g}, {way}: range {ends[0]:g} to {ends[1]:g}", file=sys.stderr, flush=True)
        for c, row in zip(chosen, now, strict=True):
            c.append(int(rng.choice(len(row), p=chances(row, epsilon, ends))))
    return chosen


def cells_of(total: float, base: np.ndarray, likenesses: Sequence[np.ndarray]) -> list[str]:
    """Return a row of the table: the mean of one draw, and of each other way its mean and its gain."""
    cells = [f"{total:g}", f"{base.mean():.3f} ± {half_width(base.tolist()):.3f}"]
    for values in likenesses:
        gain = values - base
        cells += [f"{values.mean():.3f}", f"{gain.mean():+.3f} ± {half_width(gain.tolist()):.3f}"]
    return cells


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--max-texts", type=int, default=40, help="texts")
    parser.add_argument("--draws", type=int, default=3, help="of each text at each total (of codes: one)")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    data_set = data_sets.load("sst2", args.data, n_train=3 * args.max_texts, n_test=1, max_words=40)
    one = dpt.get_mechanism("dp-sentence")
    texts = [t for i in data_set.train if len((t := data_set.texts[i][0]).split()) > 5 and one.guarantee(t).draws == 1]
    texts = texts[: args.max_texts]
    bank = sentence_bank()
    vectors, x = unit(bank.codes.astype(np.float32)), embed(texts)
    cosines = bank.cosines(text_codes(x))
    parts = [clauses(t) for t in texts]
    of_parts = [bank.cosines(text_codes(embed(p))) for p in parts]
    codes = codebook(vectors)
    to_codes = (x @ codes.T).astype(np.float64)
    writer = Writer(codes, vectors, bank.sentences)
    rng = np.random.default_rng(1)
    prepared = list(dpt.get_mechanism("dp-mlm-prior").prepare_many(texts))
    ways = ("clauses", *MORE, "code", "words", "between")
    rows, ceilings = [], []
    for total in TOTALS:
        released: dict[str, list[list[str]]] = {way: [] for way in ways}
        pairs = {way: together(way, total, args.draws, x, cosines, vectors, rng) for way in MORE}
        ends = best(to_codes, total)
        drawn_codes = []
        for k in range(len(texts)):
            epsilon = total / len(parts[k])
            released["clauses"].append(
                [
                    " ".join(bank.sentences[rng.choice(len(c), p=chances(c, epsilon, None))] for c in of_parts[k])
                    for _ in range(args.draws)
                ]
            )
            for way, chosen in pairs.items():
                mine = chosen[k * args.draws : (k + 1) * args.draws]
                released[way].append([" ".join(bank.sentences[i] for i in c) for c in mine])
            code = int(rng.choice(CODES, p=chances(to_codes[k], total, ends)))
            drawn_codes.append(float(to_codes[k][code]))
            released["code"].append([writer(code)])
        released["words"] = words_of(prepared, total, args.draws)
        between = {
            share: [
                [f"{bank.sentences[rng.choice(len(c), p=chances(c, total * share, None))]} {text}" for text in own]
                for c, own in zip(cosines, words_of(prepared, total * (1 - share), args.draws), strict=True)
            ]
            for share in SHARES
        }
        share = max(SHARES, key=lambda s: float(likeness(between[s], x).mean()))
        print(f"total {total:g}, between: {share:g} for the sentence", file=sys.stderr, flush=True)
        released["between"] = between[share]
        base = np.array([float(chances(c, total, None) @ c) for c in cosines])
        rows.append(cells := cells_of(total, base, [likeness(released[way], x) for way in ways]))
        ceilings.append(f"{total:g}: {np.mean(drawn_codes):.3f}")
        print(" | ".join(cells), file=sys.stderr, flush=True)
    print(markdown(["total ε", "one draw", *(cell for way in ways for cell in (way, "gain"))], rows))
    print(
        f"{len(texts)} texts, {args.draws} draws of each; {np.mean([len(p) for p in parts]):.2f} clauses a text; "
        f"nearest sentence {cosines.max(axis=1).mean():.3f}, nearest code {to_codes.max(axis=1).mean():.3f}; the "
        f"drawn code itself at {'; '.join(ceilings)}"
    )


if __name__ == "__main__":
    main()
