"""Post-processing: fluency, similarity to the original, and recovered words before and after it.

Each text is rewritten once at every ε with a separate seed, and measured before and after post-processing. Fluency
comes from a causal language model (--judge) that post-processing does not use. The attackers need no mechanism
(``scored``), so they can attack every system and both texts. ``bench reader`` has attackers that know the mechanism:
post-processing does not help them.

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

#: The ε of every mechanism. The default is added if it is not among them.
EPSILONS = (5.0, 10.0, 25.0, 50.0)
TEXTS = 20


def epsilons() -> dict[str, tuple[float, ...]]:
    """Return the default ε of each mechanism in this measurement."""
    out = {}
    for spec in mechanisms():
        *_, default = mechanism_class(spec.name).epsilon_range()
        apart = () if EPSILONS[0] <= default <= EPSILONS[-1] else (default,)
        out[spec.name] = tuple(sorted({*EPSILONS, *apart}))
    return out


_Reads = tuple[float | None, float | None, float | None, float | None, float | None]


def measure(data: str, m: Mechanism, texts: Sequence[str], judge: Judge | None = None) -> PolishRow:
    """Return the row of a mechanism: one rewrite of each text, before and after post-processing."""
    every = [m.rewrite(text, seed=k).polished(m) for k, text in enumerate(texts)]
    before, after = [p.sampled_result.text for p in every], [p.text for p in every]
    cosines = [score("cosine", texts, some) for some in (before, after)]
    gain = compare(cosines[1], cosines[0])
    unchanged = [p.unchanged_shares for p in every if p.unchanged_shares is not None]
    was, now = np.mean(unchanged, axis=0).tolist() if unchanged else (None, None)
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
    """Return the geometric means, and their ratio with its interval over texts with both."""
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
    """Return a row as text."""
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
    words.append("words recovered " + ", ".join(f"{name} {a:.3f} to {b:.3f}" for name, (a, b) in row.found.items()))
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
