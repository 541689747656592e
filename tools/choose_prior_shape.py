"""Choose the public shape of DP-MLM with a public prior, on public text that no benchmark uses.

Run:  python tools/choose_prior_shape.py --texts heldout_wikitext2_test.txt --stopwords stopwords_english.txt

The shape is the range that the private shift is clipped to and the temperature of the proposal, as functions of ε
(``public_shape``): the range begins at LOW·σ and is (WIDTH + GROWTH·ε)·σ wide, WIDEST·σ at most; the temperature is 1
up to FIRM and falls as (FIRM/ε)^POWER beyond. The range is chosen first, then the temperature for it. Objective: the
largest mean cosine between original and rewrite in parallel order, averaged over ln ε (trapezoids). The texts are
--max-texts evenly spread lines of 8 to 40 words, as those that chose the clipping range; the noise of a text is the
same for every shape. One range for all ε is measured beside them (--fixed). Whether another shape is better than the
bundled one, and not by chance, is a matter of the same texts (--beside, with more of them): their difference has a 95%
interval.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from itertools import pairwise, product
from math import inf, log
from pathlib import Path

import numpy as np
from choose_clip_range import lines

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.measure.metrics import score
from dptext_core.mechanisms.capabilities import drawn_tokens
from dptext_core.mechanisms.masked import dp_mlm_prior
from dptext_core.mechanisms.masked.dp_mlm_prior import DPMLMPrior, PriorShape, score_deviation
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.statistics import half_width

EPSILONS = (5.0, 10.0, 15.0, 25.0, 50.0, 100.0)
LOWS, WIDTHS, GROWTHS = (0.0, 0.8, 1.6), (0.4, 0.8, 1.6), (0.04, 0.08, 0.16)
FIRM = ((25.0, 0.75), (25.0, 0.5), (25.0, 1.0), (inf, 1.0))
FIXED = ((0.0, 6.0), (0.0, 8.0), (2.0, 8.0), (2.0, 10.0), (2.0, 12.0))


@dataclasses.dataclass(frozen=True)
class Law:
    """Constants of ``public_shape``, in σ of the model's scores."""

    low: float
    width: float
    growth: float
    firm: float
    power: float
    widest: float = dp_mlm_prior.WIDEST

    def at(self, epsilon: float, sigma: float) -> PriorShape:
        width = min(self.widest, self.width + self.growth * epsilon)
        return PriorShape(min(1.0, (self.firm / epsilon) ** self.power), self.low * sigma, (self.low + width) * sigma)


def cosines(
    m: DPMLMPrior, prepared: list, shapes: dict[float, PriorShape], known: dict[tuple[float, PriorShape], np.ndarray]
) -> np.ndarray:
    """The cosine of each text at every ε with its shape, (ε, texts). known: those that were measured before, by ε and
    shape."""
    for epsilon, shape in shapes.items():
        if (epsilon, shape) in known:
            continue
        at = m.replace(epsilon=epsilon, tau=shape.tau, shift_min=shape.low, shift_max=shape.high)
        texts = [at.rewrite(p, stream=NoiseStream(1).at(k)).text for k, p in enumerate(prepared)]
        known[epsilon, shape] = np.array(score("cosine", [p.text for p in prepared], texts))
    return np.stack([known[at] for at in shapes.items()])


def objective(values: np.ndarray) -> np.ndarray:
    """The mean over ln ε of the first axis."""
    points = list(zip(EPSILONS, values, strict=True))
    whole = sum((b[1] + a[1]) / 2 * log(b[0] / a[0]) for a, b in pairwise(points))
    return whole / log(EPSILONS[-1] / EPSILONS[0])


def show(name: str, found: np.ndarray) -> None:
    values = found.mean(axis=1)
    print(f"| {name} | {objective(values):.4f} | {', '.join(f'{v:.3f}' for v in values)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--stopwords", help="one word a line; else the default list")
    parser.add_argument("--max-texts", type=int, default=60)
    parser.add_argument("--fixed", action="store_true", help="only the bundled shape, and one range for all ε")
    parser.add_argument(
        "--beside",
        nargs=5,
        type=float,
        metavar=("LOW", "WIDTH", "GROWTH", "FIRM", "POWER"),
        help="only the bundled shape and this one, on the same texts",
    )
    args = parser.parse_args()
    m = DPMLMPrior.create(**({"stopwords": args.stopwords} if args.stopwords else {}))
    prepared = [p for p in (m.prepare(t) for t in lines(args.texts, args.max_texts)) if drawn_tokens(m, p)]
    sigma = score_deviation("bundled")
    print("| shape | objective | cosine at ε " + ", ".join(f"{e:g}" for e in EPSILONS) + " |\n|---|---|---|")
    known: dict[tuple[float, PriorShape], np.ndarray] = {}
    bundled = {e: dp_mlm_prior.public_shape(e, sigma) for e in EPSILONS}
    if args.beside:
        found = [cosines(m, prepared, bundled, known)]
        show("bundled", found[0])
        other = Law(*args.beside)
        found.append(cosines(m, prepared, {e: other.at(e, sigma) for e in EPSILONS}, known))
        show("other", found[1])
        apart = found[1] - found[0]
        show("other less bundled", apart)
        each = objective(apart)
        print(f"\nThe objective differs by {each.mean():+.4f} ± {half_width(each):.4f} over {len(each)} texts.")
        return
    if args.fixed:
        show("bundled", cosines(m, prepared, bundled, known))
        for low, high in FIXED:
            show(
                f"[{low:g}, {high:g}], τ = 1",
                cosines(m, prepared, dict.fromkeys(EPSILONS, PriorShape(1.0, low, high)), known),
            )
        return
    chosen: dict[Law, float] = {}

    def measure(law: Law) -> None:
        values = cosines(m, prepared, {e: law.at(e, sigma) for e in EPSILONS}, known)
        chosen[law] = float(objective(values.mean(axis=1)))
        show(f"{law.low:g}σ, {law.width:g}σ + {law.growth:g}σ·ε, firm from {law.firm:g}, power {law.power:g}", values)

    for low, width, growth in product(LOWS, WIDTHS, GROWTHS):
        measure(Law(low, width, growth, *FIRM[0]))
    best = max(chosen, key=chosen.__getitem__)
    for firm, power in FIRM[1:]:
        measure(dataclasses.replace(best, firm=firm, power=power))
    print(f"\n{max(chosen, key=chosen.__getitem__)}")


if __name__ == "__main__":
    main()
