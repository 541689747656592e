"""The effect of DP-MLM's clipping range on N_w and cosine over ε, on public text.

A range begins at the mean μ of the model's scores and ends some standard deviations σ above it (4σ in the paper). With
a narrow range, many words are tied at the upper end at any ε. With a wide range, a small ε distinguishes fewer words.
The guarantee is the same for every public range. Each text is read once, because scores before clipping serve all
ranges and ε. All settings share the noise of a text, so it causes no differences.

    python -m dptext_core bench clipping --data DIR --out assets/benchmarks/clipping.json
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from dptext_core.measure.metrics import score
from dptext_core.mechanisms.masked.dp_mlm import DPMLM
from dptext_core.mechanisms.masked.masked_prepared import MaskedPrepared
from dptext_core.models.clip import WIDTHS as PRESETS
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.statistics import half_width

from ..results.clipping import MEASUREMENT, ClippingRow
from ..results.measurement import markdown, plus_minus
from ..runner import data_sets
from ..runner.options import options_in, parser, which_stop_words

WIDTHS = (3.0, 4.0, 5.0, 6.0, 8.0)
EPSILONS = (10.0, 25.0, 50.0, 100.0, 250.0)
DATA, TEXTS = "sst2", 60
SEED = 1


def prepare(mechanism: DPMLM, texts: Sequence[str]) -> list[MaskedPrepared]:
    """Return the texts with words to sample, with their scores before clipping."""
    prepared = [cast(MaskedPrepared, mechanism.prepare(t)) for t in texts]
    return [p for p in prepared if p.targets]


def measure(
    mechanism: DPMLM,
    prepared: Sequence[MaskedPrepared],
    ranges: Mapping[float, tuple[float, float]],
    epsilons: Sequence[float] = EPSILONS,
) -> list[ClippingRow]:
    """Return N_w and cosine of the texts at every range (width → ends) and ε."""
    originals = [p.text for p in prepared]
    out = []
    for width, (low, high) in ranges.items():
        for epsilon in epsilons:
            m = mechanism.replace(clip_min=low, clip_max=high, epsilon=float(epsilon))
            probabilities, tied, rewrites = [], [], []
            for number, p in enumerate(prepared):
                keys = [(i, False) for i in p.targets]
                probabilities += [t.at(epsilon).p_keep() for t in m.tables(p, keys)]
                tied += [int(n) for n in (p.logits(keys) >= high).sum(axis=1)]
                rewrites.append(m.rewrite(p, stream=NoiseStream(SEED).at(number)).text)
            cosines = _each(originals, rewrites)
            out.append(
                ClippingRow(
                    width=width,
                    clip_min=low,
                    clip_max=high,
                    epsilon=float(epsilon),
                    n_w=float(np.mean(probabilities)),
                    n_w_half=half_width(probabilities),
                    cosine=float(np.mean(cosines)),
                    cosine_half=half_width(cosines),
                    tied=float(np.mean(tied)),
                    words=len(probabilities),
                    texts=len(prepared),
                )
            )
    return out


def _each(originals: Sequence[str], rewrites: Sequence[str]) -> list[float]:
    return [float(x) for x in score("cosine", originals, rewrites)]


def ends(mechanism: DPMLM, widths: Sequence[float] = WIDTHS) -> dict[float, tuple[float, float]]:
    """Return the ranges from μ to several σ above it, for a model with a known paper range."""
    paper = mechanism.replace(clip="paper").config
    sigma = (paper.clip_max - paper.clip_min) / PRESETS["paper"]
    return {float(w): (paper.clip_min, paper.clip_min + w * sigma) for w in widths}


def table(rows: Sequence[ClippingRow]) -> str:
    """Return a Markdown table."""

    def cells(r: ClippingRow) -> list[str]:
        n_w = plus_minus(r.n_w, r.n_w_half if r.words > 1 else None)
        cosine = plus_minus(r.cosine, r.cosine_half if r.texts > 1 else None)
        return [f"{r.width:g}σ", f"{r.epsilon:g}", n_w, cosine, f"{r.tied:.1f}"]

    return markdown(["width", "ε", "N_w", "cosine", "words at the upper end"], map(cells, rows))


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench clipping``."""
    takes = parser("clipping", __doc__, "data", "stopwords", "out", required=["data"])
    takes.add_argument("--max-texts", type=int, default=TEXTS, help=f"number of SST-2's test texts (default {TEXTS})")
    takes.add_argument("--train", action="store_true", help="use SST-2's training texts instead")
    takes.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS), metavar="E")
    args = takes.parse_args(argv)
    part = {"n_train": args.max_texts} if args.train else {"n_test": args.max_texts}
    data = data_sets.load(DATA, args.data, max_words=40, **part)
    texts = [data.texts[i][0] for i in (data.train if args.train else data.test)]
    mechanism = DPMLM.create(**options_in(args))
    rows = measure(mechanism, prepare(mechanism, texts), ends(mechanism), args.epsilons)
    print(table(rows))
    about = MEASUREMENT.about(
        data=data.title,
        sha256=data.sha256,
        seed=SEED,
        stopwords=which_stop_words(args),
        model="bundled",
        width="standard deviations from the mean of the scores to the upper end",
    )
    MEASUREMENT.write(args.out, rows, about)
    return 0
