"""What the polish makes of a release: how it reads, how near it is to the original, how many words are back.

Each text is rewritten once at every ε, by a seed of its own, and measured before the polish and after it. How it reads
is the pseudo-perplexity of the bundled masked language model, which is also what the polish asks: another judge would
find less of a gain.

    python -m dptext_core bench polish --data DIR --out assets/benchmarks/polish.json
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..measure.metrics import score
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism_class
from .by_epsilon import command
from .measurement import Measurement
from .paired import compare

EPSILONS: Mapping[str, tuple[float, ...]] = {
    "dp-mlm": (10.0, 50.0),
    "custext": (2.0, 8.0),
    "diffractor": (0.5, 1.0),
    "mvc": (100.0,),
}
TEXTS = 20


@dataclass(frozen=True, slots=True)
class Polish:
    """A mechanism at one ε on a data set. texts: measured. reads_before, reads_after: geometric mean of the
    pseudo-perplexity; cosine_before, cosine_after: mean similarity to the original, and what the polish adds to it,
    with its 95% interval (gain, low, high). kept_before, kept_after: the share of the drawn words that are the
    original, as a mean over texts."""

    data: str
    mechanism: str
    epsilon: float
    texts: int
    reads_before: float
    reads_after: float
    cosine_before: float
    cosine_after: float
    gain: float
    low: float
    high: float
    kept_before: float
    kept_after: float


MEASUREMENT = Measurement("polish --data DIR", Polish, "polish.json", digits=4)
bundled = MEASUREMENT.bundled


def measure(data: str, m: Mechanism, texts: Sequence[str]) -> Polish:
    """One rewrite of each text, before and after."""
    every = [m.rewrite(text, seed=k).polished(m) for k, text in enumerate(texts)]
    before, after = [p.drawn.text for p in every], [p.text for p in every]
    cosines = [score("cosine", texts, some) for some in (before, after)]
    gain = compare(cosines[1], cosines[0])
    kept = np.array([p.unchanged for p in every if p.unchanged is not None]).mean(axis=0)
    return Polish(
        data,
        m.name,
        m.config.epsilon,
        len(texts),
        _reads(texts, before),
        _reads(texts, after),
        float(np.mean(cosines[0])),
        float(np.mean(cosines[1])),
        gain.difference,
        gain.low,
        gain.high,
        float(kept[0]),
        float(kept[1]),
    )


def _reads(originals: Sequence[str], rewrites: Sequence[str]) -> float:
    """The geometric mean, over the texts that have one."""
    found = [math.log(x) for x in score("perplexity", originals, rewrites) if math.isfinite(x)]
    return math.exp(sum(found) / len(found)) if found else math.nan


def said(row: Polish) -> str:
    """A row in words."""
    return (
        f"pseudo-perplexity {row.reads_before:,.0f} to {row.reads_after:,.0f}, cosine {row.cosine_before:.3f} to "
        f"{row.cosine_after:.3f} ({row.gain:+.3f}, {row.low:+.3f} to {row.high:+.3f}), original words "
        f"{row.kept_before:.3f} to {row.kept_after:.3f}"
    )


def main(argv: Sequence[str] = ()) -> int:
    """The command ``bench polish``."""
    return command(
        argv,
        "polish",
        __doc__,
        MEASUREMENT,
        epsilons=EPSILONS,
        texts=TEXTS,
        measure=measure,
        said=said,
        otherwise=lambda name: mechanism_class(name).epsilon_range()[2:],
    )
