"""What the polish makes of a release: how it reads, how near it is to the original, how many words are back.

Each text is rewritten once at every ε, by a seed of its own, and measured before the polish and after it. How it reads
is told by a causal language model (--judge), which the polish does not ask. The attackers are those who need no
mechanism (``scored``), so that they can be asked of every system and of both texts. What one finds who knows the
mechanism is ``bench reader``: whoever has a release needs no polish.

    python -m dptext_core bench polish --data DIR --stopwords FILE --judge NAME --out assets/benchmarks/polish.json
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dptext_core.measure import scored
from dptext_core.measure.metrics import score
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import mechanism_class, mechanisms
from dptext_core.models.causal import Judge

from ..results.paired_comparison import compare
from ..results.polish import MEASUREMENT, PolishRow
from ..runner.epsilon_sweep import command
from ..runner.options import named_options
from .reader import OPTIONS

#: ε at which every mechanism is measured. Its default is added where that is none of their range.
EPSILONS = (5.0, 10.0, 25.0, 50.0)
TEXTS = 20


def epsilons() -> dict[str, tuple[float, ...]]:
    """Return the ε at which each mechanism is measured by default."""
    found = {}
    for spec in mechanisms():
        *_, default = mechanism_class(spec.name).epsilon_range()
        apart = () if EPSILONS[0] <= default <= EPSILONS[-1] else (default,)
        found[spec.name] = tuple(sorted({*EPSILONS, *apart}))
    return found


_Reads = tuple[float | None, float | None, float | None, float | None, float | None]


def measure(data: str, m: Mechanism, texts: Sequence[str], judge: Judge | None = None) -> PolishRow:
    """Return one rewrite of each text, before and after."""
    every = [m.rewrite(text, seed=k).polished(m) for k, text in enumerate(texts)]
    before, after = [p.drawn.text for p in every], [p.text for p in every]
    cosines = [score("cosine", texts, some) for some in (before, after)]
    gain = compare(cosines[1], cosines[0])
    kept = [p.unchanged for p in every if p.unchanged is not None]
    was, now = np.mean(kept, axis=0).tolist() if kept else (None, None)
    named, named_after = (scored.named_words(texts, some) for some in (before, after))
    reads, reads_after, ratio, ratio_low, ratio_high = _reads(before, after, judge)
    return PolishRow(
        data=data,
        mechanism=m.name,
        options=named_options(m),
        epsilon=m.config.epsilon,
        texts=len(texts),
        reads_before=reads,
        reads_after=reads_after,
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        cosine_before=float(np.mean(cosines[0])),
        cosine_after=float(np.mean(cosines[1])),
        gain=gain.difference,
        low=gain.low,
        high=gain.high,
        kept_before=was,
        kept_after=now,
        found={a: (_share(named[a]), _share(named_after[a])) for a in scored.WORDS},
    )


def _share(of_texts: Sequence[float]) -> float:
    return round(float(np.mean(of_texts)), MEASUREMENT.digits)


def _reads(before: Sequence[str], after: Sequence[str], judge: Judge | None) -> _Reads:
    """Return the geometric means, and their ratio with its interval over the texts that have both."""
    if judge is None:
        return (None, None, None, None, None)
    both = [pair for pair in zip(judge(before), judge(after), strict=True) if all(map(math.isfinite, pair))]
    if not both:
        return (None, None, None, None, None)
    one, other = zip(*both, strict=True)
    moved = compare(other, one)
    means = (np.mean(one), np.mean(other), moved.difference, moved.low, moved.high)
    first, then, ratio, low, high = (float(np.exp(x)) for x in means)
    return first, then, ratio, low, high


def row_text(row: PolishRow) -> str:
    """Return a row in words."""
    words = [
        f"cosine {row.cosine_before:.3f} to {row.cosine_after:.3f} ({row.gain:+.3f}, {row.low:+.3f} to {row.high:+.3f})"
    ]
    if row.ratio is not None:
        words.append(
            f"perplexity {row.reads_before:,.0f} to {row.reads_after:,.0f} (× {row.ratio:.2f}, {row.ratio_low:.2f} to "
            f"{row.ratio_high:.2f})"
        )
    if row.kept_before is not None:
        words.append(f"original words {row.kept_before:.3f} to {row.kept_after:.3f}")
    words.append("found " + ", ".join(f"{name} {a:.3f} to {b:.3f}" for name, (a, b) in row.found.items()))
    return ", ".join(words)


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench polish``."""
    return command(
        argv,
        "polish",
        __doc__,
        MEASUREMENT,
        epsilons=epsilons(),
        otherwise=lambda name: (),
        texts=TEXTS,
        options=OPTIONS,
        measure=measure,
        row_text=row_text,
        takes_judge=True,
    )
