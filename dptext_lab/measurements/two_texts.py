"""How well rewrites distinguish the bundled pairs of texts, and the lower bound on ε that this proves.

    python -m dptext_core bench two-texts --out assets/benchmarks/two_texts.json
    python -m dptext_core bench two-texts --broken
    python -m dptext_core bench two-texts --coverage 200

``--broken``: compare the bound with the guarantee for deliberately broken mechanisms and their sound twins, at a small
ε. ``--coverage``: how often the bound is at most the true ε of randomised response on one word, which is known exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dptext_core.attacks import two_texts
from dptext_core.attacks.two_texts import DISTANCES, PAIRS, DistinguishabilityFinding
from dptext_core.errors import DPTextError
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.likelihood import Likelihood
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import get_mechanism, mechanism_class, mechanisms
from dptext_core.privacy.numbers import at_least, bound
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import RewriteResult
from dptext_core.support.task import Task
from dptext_lab.broken_mechanisms import FAULTS, broken, sound
from dptext_lab.broken_mechanisms.text import TinyWriter

from ..results.two_texts import MEASUREMENT, TwoTextsRow
from ..runner.options import parser

#: The guaranteed ε of a broken mechanism between two texts, and the number of rewrites of each text.
LITTLE, BROKEN_DRAWS = 1.5, 200
#: Rewrites of each text in one repetition of the coverage test.
COVERED_DRAWS = 60


def row_of(m: Mechanism, result: DistinguishabilityFinding, seconds: float) -> TwoTextsRow:
    """Return the result as a row."""
    promised = result.allowed_loss if math.isfinite(result.allowed_loss) else None
    return TwoTextsRow(
        m.name,
        m.config.epsilon,
        result.distance,
        result.draws,
        result.advantage,
        *result.interval,
        result.best.title,
        result.epsilon,
        result.largest_bound,
        promised,
        seconds,
    )


def measure(
    m: Mechanism, draws: int | None = None, seed: int | None = None, pairs: Sequence[str] = DISTANCES
) -> Iterator[TwoTextsRow]:
    """Yield a row for each bundled pair of these distances."""
    for k, pair in enumerate(PAIRS):
        if pair.distance not in pairs:
            continue
        began = time.process_time()
        told_apart = two_texts.measure(m, pair, draws, stream=NoiseStream(seed).at(k))
        yield row_of(m, told_apart, time.process_time() - began)


def row_text(row: TwoTextsRow) -> str:
    """Return a row as text."""
    promised = "no guarantee" if row.promised is None else f"guaranteed {bound(row.promised)}"
    return (
        f"{row.distance:12s} advantage {row.advantage:.2f} ({row.low:.2f} to {row.high:.2f}; {row.by}), "
        f"ε at least {at_least(row.epsilon_least)} (these samples prove at most {at_least(row.most)}), {promised}"
    )


# --- broken mechanisms


@dataclass(frozen=True)
class GuaranteeCheck:
    """The bound and the guarantee of a broken or sound mechanism, for the bundled pair that exceeds it most.

    Only pairs with a small guaranteed ε count. found: None without such a pair."""

    name: str
    is_broken: bool
    found: DistinguishabilityFinding | None


def check_guarantee(name: str, is_broken: bool, draws: int = BROKEN_DRAWS, seed: int | None = None) -> GuaranteeCheck:
    """Test the bundled pairs at an ε that guarantees ``LITTLE`` between them, with 95% confidence over all pairs."""
    make = broken if is_broken else sound
    best: DistinguishabilityFinding | None = None
    for k, pair in enumerate(PAIRS):
        m = make(name)
        epsilon = float(m.config.epsilon)
        prepared = [sound(name).prepare(t) for t in (pair.first, pair.second)]
        promised = two_texts.guaranteed_loss(sound(name), prepared)
        if not 0 < promised < math.inf:
            continue
        # In proportion, within the limits of the option.
        field = next(f for f in type(m.config).__dataclass_fields__.values() if f.name == "epsilon")
        low = option_meta(field).min or 0.0
        m = make(name, epsilon=max(low, epsilon * min(1.0, LITTLE / promised)))
        try:
            told_apart = two_texts.measure(
                m,
                pair,
                draws,
                classifiers=("words", "form", "likelihood"),
                confidence=1 - 0.05 / len(PAIRS),
                stream=NoiseStream(seed).at(k),
            )
        except DPTextError:  # the deliberate error
            continue
        if best is None or told_apart.epsilon - told_apart.allowed_loss > best.epsilon - best.allowed_loss:
            best = told_apart
    return GuaranteeCheck(name, is_broken, best)


# --- coverage


class Coin(TinyWriter):
    """Randomised response on one word: it writes "a" or "b", and the text's own word is more likely."""

    name = "coin"
    title = "Randomised response"
    words = ("a", "b")
    length = 1

    @property
    def likelihood(self) -> _CoinLikelihood:
        return _CoinLikelihood(self)

    def true_epsilon(self) -> float:
        """Return the exact ε between the texts "a" and "b": the largest log-ratio of a word's probabilities."""
        one, other = (self.rewrite(t, 0).distribution(0).log_probs for t in self.words)
        return float(np.abs(one - other).max())


class _CoinLikelihood(Likelihood[Coin]):
    """The probability of its word under either text."""

    missing = ""

    def log(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> np.ndarray:
        at = [self.m.words.index(r.releases[0].text) for r in results]
        return np.stack([self.m.rewrite(t, 0).distribution(0).log_probs[at] for t in texts])


@dataclass(frozen=True)
class Coverage:
    """Repetitions of the bound on a mechanism with a known ε. true: that ε. within: number of bounds up to it. mean: of
    the bounds."""

    true: float
    repetitions: int
    within: int
    mean: float

    def sentence(self) -> str:
        """Return the coverage as a sentence."""
        return (
            f"True ε {self.true:.3f}: {self.within} of {self.repetitions} bounds do not exceed it "
            f"({self.within / self.repetitions:.1%}; the aim is 95% or more). Mean of all: {self.mean:.3f}."
        )


def coverage(
    repetitions: int,
    epsilon: float = 2.0,
    draws: int = COVERED_DRAWS,
    seed: int | None = None,
    classifiers: Sequence[str] = ("words", "form", "likelihood"),
) -> Coverage:
    """Return how often the bound is at most the true ε."""
    coin = Coin.create(epsilon=epsilon)
    true, stream = coin.true_epsilon(), NoiseStream(seed)
    bounds = [
        two_texts.measure(coin, ("a", "b"), draws, classifiers=classifiers, stream=stream.at(k)).epsilon
        for k in range(repetitions)
    ]
    return Coverage(true, repetitions, sum(x <= true for x in bounds), float(np.mean(bounds)))


# --- the command


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench two-texts``."""
    takes = parser("two-texts", __doc__, "out")
    takes.add_argument("--mechanism", action="append", metavar="NAME", help="default: all available mechanisms")
    takes.add_argument(
        "--epsilon", action="append", type=float, metavar="E", help="default: the default of each mechanism"
    )
    takes.add_argument("--pair", action="append", choices=DISTANCES, help="default: all three pairs")
    takes.add_argument("--add", action="store_true", help="keep the rows of the file, and measure the missing ones")
    takes.add_argument(
        "--draws", type=int, metavar="N", help="rewrites of each text (default: 200, or 40 if a language model writes)"
    )
    takes.add_argument("--broken", action="store_true", help="test the broken mechanisms and their sound twins")
    takes.add_argument("--coverage", type=int, metavar="N", help="test bounds on randomised response N times instead")
    args = takes.parse_args(argv)
    if args.coverage:
        for epsilon in (1.0, 2.0, 4.0):
            print(coverage(args.coverage, epsilon).sentence(), flush=True)
        return 0
    if args.broken:
        for name in FAULTS:
            for is_broken in (True, False):
                print(_check_text(check_guarantee(name, is_broken, args.draws or BROKEN_DRAWS)), flush=True)
        return 0
    old_rows = MEASUREMENT.read(args.out) if args.add and args.out is not None and args.out.exists() else ()
    rows = {(row.mechanism, row.epsilon, row.distance): row for row in old_rows}
    for name in args.mechanism or [s.name for s in mechanisms()]:
        for epsilon in args.epsilon or [mechanism_class(name).epsilon_range({})[2]]:
            try:
                for row in measure(get_mechanism(name, epsilon=epsilon), args.draws, pairs=args.pair or DISTANCES):
                    print(f"{name:14s} ε {row.epsilon:<6g} {row_text(row)}", flush=True)
                    rows[name, row.epsilon, row.distance] = replace(row, seconds=round(row.seconds, 1))
            except DPTextError as error:
                print(f"{name:14s} not measured: {error}", flush=True)
            MEASUREMENT.write(args.out, rows.values(), MEASUREMENT.about(seeds="none"))
    return 0


def _check_text(check: GuaranteeCheck) -> str:
    what = f"{check.name:20s} {'broken ' if check.is_broken else 'twin   '}"
    if check.found is None:
        return f"{what} no pair can exceed its guarantee with so few draws"
    finding = check.found
    verdict = "VIOLATED" if finding.exceeds else "not violated"
    return (
        f"{what} {verdict} ε at least {at_least(finding.epsilon)}, guaranteed {bound(finding.allowed_loss)} "
        f"({finding.distance}; {finding.proven_by})"
    )
