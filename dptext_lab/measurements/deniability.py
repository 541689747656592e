"""N_w and S_w over ε for a set of words: Figure 4 of the 1-Diffractor paper, on the bundled word spaces.

N_w is the probability that a word is unchanged (Section 5.1 of the paper; its Figure 4 shows 1 − N_w as N_w). S_w is
the expected number of different words in 100 draws. Both come from the closed form if a mechanism has one, else from
draws, with the 95% interval of the mean over the words.

    python -m dptext_core bench deniability --out curves.json
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from dptext_core.mechanisms.base import WordByWord
from dptext_core.mechanisms.capabilities import by_word
from dptext_core.mechanisms.registry import get_mechanism, mechanism_class, mechanisms
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.distribution import CURVE_DRAWS
from dptext_core.support.statistics import boundary, half_width
from dptext_core.support.task import UNWATCHED, Task

from ..results.deniability import MEASUREMENT, DeniabilityCurve, MeasuredCurve
from ..runner.options import parser

WORDS = 100
POINTS = 21
#: Shares of the rise of N_w at the start of an ε axis, at its default, and at its end.
SHARES = (0.02, 0.5, 0.98)


def curve(words: WordByWord, rows: np.ndarray, epsilons: np.ndarray, task: Task = UNWATCHED) -> DeniabilityCurve:
    """Return N_w and S_w at every ε for words, given as rows of a mechanism's vocabulary."""
    channels = words.channels(rows)
    n_w, s_w = np.empty((len(channels), len(epsilons))), np.empty((len(channels), len(epsilons)))
    for i, channel in enumerate(channels):
        task.check()
        for j, epsilon in enumerate(epsilons):
            n_w[i, j], s_w[i, j] = channel.deniability(epsilon)
        task.report(i + 1, len(channels))

    def interval(x: np.ndarray) -> np.ndarray:
        half = np.array([half_width(column) for column in x.T])
        return np.stack([x.mean(axis=0) - half, x.mean(axis=0) + half], axis=1)

    return DeniabilityCurve(
        epsilons=np.asarray(epsilons, float),
        n_w=n_w.mean(axis=0),
        n_w_interval=interval(n_w),
        s_w=s_w.mean(axis=0),
        s_w_interval=interval(s_w),
        words=len(channels),
        draws=None if channels[0].draws is None else CURVE_DRAWS,
    )


def sample_rows(words: WordByWord, n: int, seed: int = 1) -> np.ndarray:
    """Return the rows of n random words of a mechanism's vocabulary, with a fixed seed."""
    return np.random.default_rng(seed).permutation(len(words.vocabulary.words))[:n]


def measured_range(words: WordByWord, rows: np.ndarray) -> tuple[float, float, float] | None:
    """Return the ε at which N_w has risen by 2%, 98% and 50% (low end, high end, default), or None without a rise."""
    channels = words.channels(rows)

    def keep(epsilon: float) -> float:
        return float(np.mean([channel.deniability(epsilon)[0] for channel in channels]))

    floor, top = keep(0.01), keep(1400.0)
    if top - floor < 0.3:
        return None

    def reaches(share: float) -> float:
        target = floor + share * (top - floor)
        return float(f"{boundary(lambda e: keep(e) >= target, 0.01, 1400.0, 14, geometric=True)[1]:.2g}")

    low, default, high = map(reaches, SHARES)
    return low, high, default


def configurations(spaces: Sequence[str]) -> list[Setting]:
    """Return every registered mechanism that declares a vocabulary."""
    return [Setting(s.name, options) for s in mechanisms() for options in mechanism_class(s.name).over_spaces(spaces)]


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench deniability``."""
    from dptext_core.words.space_loading import SPACES

    takes = parser("deniability", __doc__, "out")
    takes.add_argument("--space", action="append", metavar="NAME", help="a word space (default: all bundled ones)")
    takes.add_argument("--mechanism", action="append", metavar="NAME", help="only this mechanism")
    takes.add_argument("--words", type=int, default=WORDS, help=f"number of words (default {WORDS})")
    args = takes.parse_args(argv)

    rows: list[MeasuredCurve] = []
    ranges: dict[str, dict[str, dict[str, float]]] = {}
    for setting in configurations(args.space or list(SPACES)):
        name, options = setting.mechanism, setting.options
        if args.mechanism and name not in args.mechanism:
            continue
        began = time.perf_counter()
        mechanism = get_mechanism(name, epsilon=1.0, keep_stopwords=False, **options)
        words = by_word(mechanism)
        ends = measured_range(words, sample_rows(words, 24, seed=2))
        low, high, default = ends or mechanism.epsilon_range(options)
        if ends:
            ranges.setdefault(name, {}).setdefault(
                words.range_key(options), {"low": low, "default": default, "high": high}
            )
        ranged = time.perf_counter()
        c = curve(words, sample_rows(words, args.words), np.geomspace(low, high, POINTS))
        took = time.perf_counter() - ranged
        label = options.get("space") or f"{words.range_key(options)}, {options['lists'][0]}"
        print(
            f"{name:13s} {label:15s} ε {low:g} to {high:g}, N_w ½ at {default:g}; "
            f"{'closed form' if c.draws is None else 'from draws'}; range {ranged - began:.1f} s, curve {took:.2f} s",
            flush=True,
        )
        rows.append(MeasuredCurve(setting, c))
    about = MEASUREMENT.about(n_w="probability that a word is unchanged", s_w="expected different words in 100 draws")
    MEASUREMENT.write(args.out, rows, about, ranges=ranges)
    return 0
