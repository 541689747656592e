"""Whether a sentence that was drawn from the bank is worth varying: two draws for a sentence in the place of one.

Run:  python tools/try_draw_then_vary.py --data DIR --stopwords FILE

The first draw spends ε₁ as ``dp-sentence`` does. What it released is public, so that a model may vary it at no cost:
DP-MLM rewrites it many times, at several ε of its own, which promise nothing to anybody here. The second draw spends
the rest on which of these variations, or the sentence as it is, is nearest to the text: the exponential mechanism over
their cosines, cut to a range. Printed for each total: the expected cosine of one draw; of two draws, by ε₁, with the
range that is best of RANGES for these very texts, which no public law could know; and of the nearest variation. Texts
are sentences of SST-2's part to train.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dptext_core as dpt
from dptext_core.mechanisms.sentence.dp_sentence import DPSentence
from dptext_core.models.sentence_encoder import embed
from dptext_core.support.statistics import half_width
from dptext_lab.runner import data_sets

TOTALS, FIRST = (75.0, 100.0, 150.0, 200.0, 300.0), (50.0,)
#: ε of DP-MLM, and variations by each.
VARIED = (20.0, 30.0, 50.0)
RANGES = [(a / 10, b / 10) for a in range(2, 7) for b in range(a + 1, 11)]


def expected(cosines: np.ndarray, epsilon: float, low: float, high: float) -> float:
    """The mean cosine of what the exponential mechanism draws."""
    u = (np.clip(cosines, low, high) - low) / (high - low)
    p = np.exp(epsilon * (u - u.max()) / 2)
    return float(p @ cosines / p.sum())


def variations(sentence: str, n: int, stopwords: str | None) -> list[str]:
    """The sentence, and n variations by each ε of VARIED; each once."""
    m = dpt.get_mechanism("dp-mlm", **({"stopwords": stopwords} if stopwords else {}))
    prepared = m.prepare(sentence)
    if not m.guarantee(prepared).draws:
        return [sentence]
    out = [sentence]
    for k, epsilon in enumerate(VARIED):
        stream = dpt.NoiseStream(1).at(k)
        out += [r.text for r in m.replace(epsilon=epsilon).rewrites(prepared, n, stream=stream)]
    return list(dict.fromkeys(out))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stopwords", help="one word a line; else the default list")
    parser.add_argument("--max-texts", type=int, default=40, help="texts")
    parser.add_argument("--variations", type=int, default=150, help=f"by each of {len(VARIED)} ε")
    args = parser.parse_args()
    data_set = data_sets.load("sst2", args.data, n_train=args.max_texts, n_test=1, max_words=40)
    texts = [data_set.texts[i][0] for i in data_set.train]
    m = DPSentence.create()
    texts = [t for t in texts if m.guarantee(t).draws == 1]
    one: dict[float, list[float]] = {t: [] for t in TOTALS}
    prepared = [m.prepare(t) for t in texts]
    for p in prepared:
        table = m.tables(p)[0]
        for total in TOTALS:
            one[total].append(float(table.at(total).probs @ table.cosines))
    vectors = embed(texts)
    after: dict[float, list[np.ndarray]] = {}
    for first in FIRST:
        for k, (p, vector) in enumerate(zip(prepared, vectors, strict=True)):
            drawn = m.replace(epsilon=first).rewrite(p, stream=dpt.NoiseStream(2).at(k)).text
            after.setdefault(first, []).append(embed(variations(drawn, args.variations, args.stopwords)) @ vector)
            print(f"ε₁ = {first:g}: {k + 1} of {len(texts)}", end="\r", file=sys.stderr, flush=True)
    columns = [c for first in FIRST for c in (f"two, ε₁ = {first:g}", "range", "gain")]
    print(f"| total ε | one draw | {' | '.join(columns)} |\n{'|---' * (2 + len(columns))}|")
    for total in TOTALS:
        cells = [f"{np.mean(one[total]):.3f} ± {half_width(one[total]):.3f}"]
        for first in FIRST:
            by = {ends: [expected(c, total - first, *ends) for c in after[first]] for ends in RANGES}
            ends = max(by, key=lambda e: float(np.mean(by[e])))
            gain = np.array(by[ends]) - np.array(one[total])
            cells += [f"{np.mean(by[ends]):.3f} ± {half_width(by[ends]):.3f}", f"{ends[0]:g} to {ends[1]:g}"]
            cells += [f"{gain.mean():+.3f} ± {half_width(gain):.3f}"]
        print(f"| {total:g} | {' | '.join(cells)} |")
    for first in FIRST:
        best, own = [float(c.max()) for c in after[first]], [float(c[0]) for c in after[first]]
        print(
            f"ε₁ = {first:g}: drawn {np.mean(own):.3f}, nearest variation {np.mean(best):.3f} "
            f"of {np.mean([len(c) for c in after[first]]):.0f}"
        )


if __name__ == "__main__":
    main()
