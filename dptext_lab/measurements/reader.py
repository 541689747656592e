"""What attackers recover from one release: the contextual and the Bayes-optimal attacker, and the strongest of all.

Each text is rewritten once at every ε with a separate seed. All attackers read the same rewrite and guess the same
content words, including unknown ones. The options and some ε are those of the points at equal privacy, whose utility is
measured.

    python -m dptext_core bench reader --data DIR --stopwords FILE --out assets/benchmarks/reader.json
    python -m dptext_core bench reader --data DIR --stopwords FILE --set snips --add --out assets/benchmarks/reader.json
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dptext_core.attacks import bayes, best, mask_inference, reader
from dptext_core.attacks.prior import public_prior
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import mechanism_class
from dptext_core.result import RewriteResult

from ..results.equal_privacy import bundled_crossings
from ..results.paired_comparison import compare
from ..results.reader import COLUMNS, MEASUREMENT, ReaderRow
from ..runner.epsilon_sweep import command
from ..runner.options import named_options
from .equal_privacy import SYSTEMS

#: Options of each mechanism.
OPTIONS: Mapping[str, Mapping[str, Any]] = {s.mechanism: s.options for s in reversed(SYSTEMS)}
#: The ε at which the Bayes-optimal guess recovers few to most words. Those of the points at equal privacy are added.
EPSILONS: Mapping[str, tuple[float, ...]] = {
    "custext": (2.0, 6.0, 14.0),
    "diffractor": (0.1, 0.4, 3.0),
    "santext": (10.0, 14.0),
    "santext-plus": (5.0, 10.0),
    # Below an ε of 21.6 it has SanText's distribution.
    "tem": (25.0,),
    "mvc": (40.0, 150.0),
    "mahalanobis": (50.0, 170.0),
    "vickrey": (40.0, 200.0, 1400.0),
    "gumbel": (10.0, 50.0, 150.0, 600.0),
    "dp-mlm": (10.0, 15.0, 25.0, 50.0, 100.0, 250.0),
    "dp-mlm-prior": (5.0, 10.0, 15.0, 25.0, 50.0, 100.0),
}
TEXTS = 48
#: Number of texts for mechanisms whose probabilities are estimated from draws.
FEWER = dict.fromkeys(("mvc", "mahalanobis", "vickrey", "gumbel"), 16)


def epsilons() -> dict[str, tuple[float, ...]]:
    """Return the default ε of each mechanism in this measurement."""
    out = {name: set(some) for name, some in EPSILONS.items()}
    for c in bundled_crossings():
        if c.epsilon is not None and c.options == OPTIONS.get(c.mechanism):
            out[c.mechanism].add(c.epsilon)
    return {name: tuple(sorted(some)) for name, some in out.items()}


def guesses(m: Mechanism, result: RewriteResult) -> dict[str, list[bool]]:
    """Return, by attacker, whether it recovers each content word.

    All attackers recover a word in clear. Of unknown words that are replaced at random, only the language model can
    recover some."""
    all_guesses = best.guesses(m, result)[0]
    unknown = [(k, s) for k, s in enumerate(result.steps) if s.is_content and not s.depends_on_original]
    replaced = [k for k, s in unknown if s.action == "replace"]
    read = {g.step: g.rank == 1 for g in mask_inference.attack(m, result, only=replaced).guesses}
    clear = len(unknown) - len(replaced)
    return {
        name: [*hits, *([True] * clear), *(name == "language-model" and read[k] for k in replaced)]
        for name, hits in all_guesses.items()
    }


def measure(data: str, m: Mechanism, texts: Sequence[str]) -> ReaderRow:
    """Return the row of a mechanism: all attackers on one rewrite of each text."""
    m.rewrite(texts[0], seed=0)  # warm-up before the timing
    began = time.process_time()
    every = [guesses(m, m.rewrite(text, seed=k)) for k, text in enumerate(texts)]
    seconds = (time.process_time() - began) / len(texts)
    hits = {name: [by_name[name] for by_name in every if by_name[name]] for name in COLUMNS}
    top = best.compare_texts(hits)
    shares = {column: top.shares[name] for name, column in COLUMNS.items()}
    ours, other = ([float(np.mean(x)) for x in hits[name]] for name in ("reader", "best-guess"))
    gain = compare(ours, other)
    return ReaderRow(
        data=data,
        mechanism=m.name,
        options=named_options(m),
        epsilon=m.config.epsilon,
        texts=len(hits["reader"]),
        words=top.words,
        **shares,
        chance=public_prior(m).chance,
        gain=gain.difference,
        low=gain.low,
        high=gain.high,
        best=top.name,
        best_low=top.low,
        best_high=top.high,
        exact=bayes.is_available(m),
        seconds=seconds,
    )


def row_text(row: ReaderRow) -> str:
    """Return a row as text."""
    return (
        f"{row.words:5,d} words: contextual {row.reader:.3f}, Bayes-optimal {row.alone:.3f}, same word {row.same:.3f}, "
        f"nearest {row.nearest:.3f}, language model {row.mask:.3f}; gain {row.gain:+.3f} ({row.low:+.3f} to "
        f"{row.high:+.3f}); strongest {row.best} ({row.best_low:.3f} to {row.best_high:.3f}); {row.seconds:.2f} s "
        "per text"
    )


def _axis(name: str) -> tuple[float, ...]:
    low, high, default = mechanism_class(name).epsilon_range()
    return low, default, high


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench reader``."""
    return command(
        argv,
        "reader",
        __doc__,
        MEASUREMENT,
        epsilons=epsilons(),
        otherwise=_axis,
        texts=TEXTS,
        fewer=FEWER,
        options=OPTIONS,
        measure=measure,
        row_text=row_text,
        gamma=reader.GAMMA,
    )
