"""Choose the public shape of DP-MLM with a public prior, on public text that no benchmark uses.

Run:  python tools/choose_prior_shape.py --texts heldout_wikitext2_test.txt --stopwords stopwords_english.txt --seed 1

The shape is the range that the private shift is clipped to and the temperature of the proposal, as functions of ε
(``public_shape``): the range begins at LOW·σ and is (WIDTH + GROWTH·ε)·σ wide, WIDEST·σ at most; the temperature is 1
up to FIRM and falls as (FIRM/ε)^POWER beyond. The range is chosen first, then the temperature for it. The criterion,
the judge, the texts and the ε are chosen as for the clipping ranges (``choose_clip.py``), in parallel order. The noise
of a text is the same for every shape. All shapes are compared with the best; --fixed compares the bundled one with
ranges that are the same at every ε.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
from choose_clip import Judge, objective, sentences, show, spread, stated

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.mechanisms.capabilities import sampled_tokens
from dptext_core.mechanisms.masked import dp_mlm_prior
from dptext_core.mechanisms.masked.dp_mlm_prior import DPMLMPrior, PriorShape, score_deviation
from dptext_core.privacy.sampling import NoiseStream

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

    @property
    def title(self) -> str:
        """The constants as a text."""
        return f"{self.low:g}σ, {self.width:g}σ + {self.growth:g}σ·ε, firm from {self.firm:g}, power {self.power:g}"

    def at(self, epsilon: float, sigma: float) -> PriorShape:
        width = min(self.widest, self.width + self.growth * epsilon)
        return PriorShape(min(1.0, (self.firm / epsilon) ** self.power), self.low * sigma, (self.low + width) * sigma)


class Measurement:
    """The criterion of each text with a shape at every ε. What was measured of one shape serves others."""

    def __init__(self, m: DPMLMPrior, texts: list[str], judge: Judge, stream: NoiseStream):
        self.m, self.judge, self.stream = m, judge, stream
        self.prepared = [p for p in map(m.prepare, texts) if sampled_tokens(m, p)]
        self.epsilons, self.known = stated(m.name), dict[tuple[float, PriorShape], np.ndarray]()

    def __call__(self, shape: Callable[[float], PriorShape]) -> np.ndarray:
        """float64 (texts,)."""
        return objective(self.epsilons, np.stack([self._scores(e, shape(e)) for e in self.epsilons]))

    def _scores(self, epsilon: float, shape: PriorShape) -> np.ndarray:
        if (epsilon, shape) not in self.known:
            at = self.m.replace(epsilon=epsilon, tau=shape.tau, shift_min=shape.low, shift_max=shape.high)
            texts = [at.rewrite(p, stream=self.stream.at(k)).text for k, p in enumerate(self.prepared)]
            self.known[epsilon, shape] = self.judge([p.text for p in self.prepared], texts)
        return self.known[epsilon, shape]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--stopwords", help="one word a line; else the default list")
    parser.add_argument("--max-texts", type=int, default=60)
    parser.add_argument("--fixed", action="store_true", help="only the bundled shape, and one range for all ε")
    args = parser.parse_args()
    m = DPMLMPrior.create(**({"stopwords": args.stopwords} if args.stopwords else {}))
    every = sentences(args.texts)
    measure = Measurement(m, spread(every, args.max_texts), Judge(every), NoiseStream(args.seed))
    sigma = score_deviation("bundled")
    print(f"ε {', '.join(f'{e:g}' for e in measure.epsilons)}, {len(measure.prepared)} texts, seed {args.seed}\n")
    if args.fixed:
        found = [measure(lambda e: dp_mlm_prior.public_shape(e, sigma))]
        found += [measure(lambda e, ends=ends: PriorShape(1.0, *ends)) for ends in FIXED]  # type: ignore[misc]
        show(["bundled", *(f"[{low:g}, {high:g}], τ = 1" for low, high in FIXED)], np.stack(found), 0)
        return
    bundled = Law(dp_mlm_prior.LOW, dp_mlm_prior.WIDTH, dp_mlm_prior.GROWTH, dp_mlm_prior.FIRM, dp_mlm_prior.POWER)
    chosen: dict[Law, np.ndarray] = {}

    def add(law: Law) -> None:
        chosen[law] = measure(lambda e: law.at(e, sigma))
        print(f"  {law.title}: {chosen[law].mean():.4f}", file=sys.stderr, flush=True)

    for low, width, growth in product(LOWS, WIDTHS, GROWTHS):
        add(Law(low, width, growth, *FIRM[0]))
    best = max(chosen, key=lambda law: float(chosen[law].mean()))
    for firm, power in FIRM[1:]:
        add(dataclasses.replace(best, firm=firm, power=power))
    add(bundled)
    laws = list(chosen)
    show([law.title for law in laws], np.stack(list(chosen.values())), laws.index(bundled))


if __name__ == "__main__":
    main()
