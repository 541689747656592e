"""Simulate leaderboards: how often equal settings are called different, and which differences a board detects.

Prints two Markdown tables. The first has, for several setups of equal settings, the share of boards that call any
setting significantly different from the first, with its Clopper-Pearson interval. Every such claim is false. The second
has the smallest difference that is detected with 80% power, which follows from the number of texts before any
measurement, and the power that simulated boards reach at this difference. Both use ``dptext_lab.results.selection``.

A text is right for every setting, wrong for every setting, or uncertain. Settings differ on uncertain texts only: two
equal settings disagree on a share --disagreement of the texts. A seed moves the accuracy of a setting by a normal
number with the standard deviation --seed-deviation.

Run:  python tools/simulate_boards.py --seed 1 [--boards 2000] [--settings 10] [--texts 100 200 500 872 2000]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import dptext_core as dpt
from dptext_core.support.statistics import NORMAL, clopper_pearson
from dptext_lab.results.differences import LEVEL, POWER
from dptext_lab.results.paired_comparison import pack
from dptext_lab.results.rows import Row
from dptext_lab.results.selection import LevelPoint, Versus, at_level, planned_detectable, versus_first

#: Level of privacy of every board, and accuracy of equal settings there.
AT, ACCURACY = 0.5, 0.7
#: Accuracy lost per unit of privacy.
SLOPE = 0.5
#: Standard deviation of a text's privacy.
PRIVACY_DEVIATION = 0.25


@dataclass(frozen=True)
class Setup:
    """A board to simulate.

    seeds: number of seeds of each setting. persistence: share of a text's randomness that is equal at all seeds.
    deviations: smallest and largest standard deviation of a seed, spread evenly over the settings. points: privacy at
    each measured ε, relative to the level. privacy_error: its standard error. privacy_texts: whether every text's
    privacy is known. known_runs: whether the score of each seed is known.
    """

    title: str
    seeds: tuple[int, ...]
    texts: int = 872
    disagreement: float = 0.2
    deviations: tuple[float, float] = (0.01, 0.01)
    persistence: float = 0.5
    points: tuple[float, ...] = (0.0,)
    privacy_error: float = 0.0
    privacy_texts: bool = False
    known_runs: bool = True


def setups(settings: int, texts: int, disagreement: float, deviation: float) -> list[Setup]:
    """Return the setups of the first table."""
    base = Setup("", (5,) * settings, texts, disagreement, (deviation, deviation))
    three = replace(base, seeds=(3,) * settings)
    few = min(2, settings)
    return [
        replace(base, title="5 seeds"),
        replace(three, title="3 seeds"),
        replace(three, title="3 seeds, 4 times the spread", deviations=(4 * deviation, 4 * deviation)),
        replace(three, title="3 seeds, spreads from half to 4 times", deviations=(deviation / 2, 4 * deviation)),
        replace(
            base, title=f"{few} with 5 seeds, {settings - few} with one", seeds=(5,) * few + (1,) * (settings - few)
        ),
        replace(base, title="5 seeds, error of equal privacy", points=(0.01, 0.2), privacy_error=0.015),
        replace(base, title="5 seeds, interpolated", points=(-0.1, 0.1), privacy_error=0.015),
        replace(base, title="5 seeds, interpolated, privacy of each text", points=(-0.1, 0.1), privacy_texts=True),
        replace(base, title="texts only", deviations=(0.0, 0.0), known_runs=False),
        replace(
            base,
            title="texts only, interpolated, privacy of each text",
            deviations=(0.0, 0.0),
            points=(-0.1, 0.1),
            privacy_texts=True,
            known_runs=False,
        ),
        replace(base, title="texts only, 40 texts", texts=40, deviations=(0.0, 0.0), known_runs=False),
        replace(
            base,
            title="texts only, 40 texts, interpolated, privacy of each text",
            texts=40,
            deviations=(0.0, 0.0),
            points=(-0.1, 0.1),
            privacy_texts=True,
            known_runs=False,
        ),
    ]


# --- one board


def outcomes(rng: np.random.Generator, setup: Setup, accuracy: np.ndarray) -> list[np.ndarray]:
    """Draw the outcomes of every setting and point, each bool (points, seeds, texts), for accuracies (settings,
    points)."""
    from scipy.special import ndtri

    uncertain = 2 * setup.disagreement
    kind = rng.random(setup.texts)
    is_uncertain, right = kind < uncertain, kind >= uncertain + (1 - ACCURACY) - uncertain / 2
    made = []
    for of_setting, seeds, deviation in zip(
        accuracy, setup.seeds, np.linspace(*setup.deviations, len(setup.seeds)), strict=True
    ):
        shift = of_setting[:, None] - ACCURACY + rng.normal(0, deviation, (len(of_setting), seeds))
        limit = ndtri(np.clip(0.5 + shift / uncertain, 0, 1))[:, :, None]
        own = math.sqrt(setup.persistence) * rng.standard_normal(int(is_uncertain.sum()))
        fresh = math.sqrt(1 - setup.persistence) * rng.standard_normal((*shift.shape, len(own)))
        x = np.broadcast_to(right, (*shift.shape, setup.texts)).copy()
        x[:, :, is_uncertain] = own + fresh < limit
        made.append(x)
    return made


def score_row(x: np.ndarray, epsilon: float, known_runs: bool) -> Row:
    """Return the row of an accuracy from outcomes (seeds, texts)."""
    seeds, n = x.shape
    of_texts, runs = x.mean(axis=0), x.mean(axis=1)
    spread = float(runs.std(ddof=1)) / math.sqrt(seeds) if seeds > 1 else 0.0
    half = NORMAL * math.hypot(float(of_texts.std(ddof=1)) / math.sqrt(n), spread)
    value = float(of_texts.mean())
    packed = pack(of_texts, steps=seeds, short=True)
    numbers = tuple(runs.tolist()) if seeds > 1 and known_runs else ()
    return Row(dpt.Setting("tem", {}, epsilon), "simulated", "utility", "accuracy", value, value - half, value + half,
               n, seeds, "", numbers, packed)  # fmt: skip


def privacy_row(value: float, error: float, epsilon: float, texts: str, n: int) -> Row:
    """Return the row of a measured privacy."""
    setting, half = dpt.Setting("tem", {}, epsilon), NORMAL * error
    return Row(setting, "simulated", "privacy", "attack_bayes", value, value - half, value + half, n, 1, "", (), texts)


def level_points(rng: np.random.Generator, setup: Setup, ahead: float = 0.0) -> list[LevelPoint]:
    """Simulate one board: every setting at the level, in the order of ``setup.seeds``.

    ahead: how much the true accuracy of the first setting exceeds that of the others.
    """
    k, n = len(setup.seeds), setup.texts
    jitter = 0.01 * (len(setup.points) > 1)
    privacy = AT + np.array(setup.points) + rng.uniform(-jitter, jitter, (k, len(setup.points)))
    accuracy = ACCURACY + SLOPE * (privacy - AT)
    accuracy[0] += ahead
    placed = []
    for true, drawn in zip(privacy, outcomes(rng, setup, accuracy), strict=True):
        pairs = []
        of_text = rng.normal(0, PRIVACY_DEVIATION, n) if setup.privacy_texts else None
        for epsilon, (x, level) in enumerate(zip(drawn, true.tolist(), strict=True), 1):
            value, error, texts = level + setup.privacy_error * rng.standard_normal(), setup.privacy_error, ""
            if of_text is not None:
                values = np.clip(level + 0.7 * (of_text + rng.normal(0, PRIVACY_DEVIATION, n)), 0, 1)
                value, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n)
                texts = pack(values, short=True)
            pairs.append((privacy_row(value, error, epsilon, texts, n), score_row(x, epsilon, setup.known_runs)))
        point = at_level(pairs, AT, 1.0)
        if point is not None:
            placed.append(point)
    return placed


def compare_with_first(points: Sequence[LevelPoint]) -> list[Versus]:
    """Compare every setting with the one that has the highest score, as a leaderboard does."""
    return versus_first(sorted(points, key=lambda p: -p.score.value))


def is_significant(versus: Versus) -> bool:
    """Return whether a board calls a difference significant."""
    return versus.p is not None and versus.p < LEVEL


def count_false_claims(rng: np.random.Generator, setup: Setup, boards: int) -> int:
    """Return the number of boards of equal settings that call any difference significant."""
    return sum(any(map(is_significant, compare_with_first(level_points(rng, setup)))) for _ in range(boards))


# --- power


@dataclass(frozen=True)
class Plan:
    """A planned measurement. disagreement, deviation: of two settings' outcomes of a text; without a disagreement,
    outcomes are normal numbers. seed_deviation: standard deviation of a setting's score over seeds."""

    texts: int
    settings: int
    seeds: int
    seed_deviation: float
    disagreement: float | None
    deviation: float

    def detectable(self) -> float:
        """Return the difference that is detected with 80% power."""
        return planned_detectable(
            self.texts, self.settings, self.deviation, self.seeds, self.seed_deviation, self.disagreement is not None
        )


def planned_points(rng: np.random.Generator, plan: Plan, ahead: float) -> list[LevelPoint]:
    """Simulate a board at the level. Only the first setting's expected score is larger, by ``ahead``."""
    k, n = plan.settings, plan.texts
    lead = np.array([ahead, *[0.0] * (k - 1)])[:, None]
    if plan.disagreement is None:
        x = rng.normal(0.5, 0.2, n) + lead + rng.normal(0, plan.deviation / math.sqrt(2), (k, n))
    else:
        is_uncertain = rng.random(n) < 2 * plan.disagreement
        x = (np.where(is_uncertain, 0.5 + lead / (2 * plan.disagreement), 1.0) > rng.random((k, n))).astype(float)
    shift = rng.normal(0, plan.seed_deviation, (k, plan.seeds))
    runs = x.mean(axis=1, keepdims=True) + shift
    privacy = privacy_row(AT, 0.0, 1.0, "", n)
    return [
        LevelPoint(privacy, replace(privacy, metric="accuracy", value=float(own.mean()), seeds=plan.seeds), (), 0.0,
                   of_texts + moved.mean(), tuple(own.tolist()) if plan.seeds > 1 else ())
        for of_texts, own, moved in zip(x, runs, shift, strict=True)
    ]  # fmt: skip


def simulate_power(rng: np.random.Generator, plan: Plan, ahead: float, boards: int) -> tuple[float, float]:
    """Return the share of the other settings that boards call worse than the better one, with half of its interval."""
    shares = []
    for _ in range(boards):
        points = planned_points(rng, plan, ahead)
        is_first = points[0].score.value >= max(p.score.value for p in points)
        detected = [is_significant(v) for v in compare_with_first(points)] if is_first else [False]
        shares.append(float(np.mean(detected)))
    return float(np.mean(shares)), NORMAL * float(np.std(shares, ddof=1)) / math.sqrt(boards)


# --- output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--boards", type=int, default=2000, help="of each setup; a quarter as many for each power")
    parser.add_argument("--settings", type=int, default=10)
    parser.add_argument("--board-texts", type=int, default=200, help="of each board of equal settings")
    parser.add_argument("--texts", type=int, nargs="+", default=[100, 200, 500, 872, 2000], help="of the power table")
    parser.add_argument("--seeds", type=int, default=5, help="of each setting in the power table")
    parser.add_argument("--seed-deviation", type=float, default=0.015, help="of a setting's score over seeds")
    parser.add_argument("--disagreement", type=float, default=0.2, help="share of texts with different outcomes")
    parser.add_argument("--deviation", type=float, help="of a text's paired difference, for scores that are not binary")
    args = parser.parse_args()
    print(f"{args.boards} boards of {args.settings} equal settings, {args.board_texts} texts, seed {args.seed}\n")
    print_false_claims(args)
    what = f"a deviation of {args.deviation:g}" if args.deviation else f"a disagreement of {args.disagreement:g}"
    print(f"\nSmallest difference detected with {POWER:.0%} power: {args.settings} settings, {args.seeds} seeds with "
          f"a deviation of {args.seed_deviation:g}, {what}\n")  # fmt: skip
    print_power(args)


def print_false_claims(args: argparse.Namespace) -> None:
    """Print the share of boards with a false claim, for each setup."""
    print("| equal settings | boards with a false claim | 95% CI |\n|---|---:|---|", flush=True)
    for i, setup in enumerate(setups(args.settings, args.board_texts, args.disagreement, args.seed_deviation)):
        false = count_false_claims(np.random.default_rng((args.seed, i)), setup, args.boards)
        low, high = clopper_pearson(false, args.boards)
        print(f"| {setup.title} | {false / args.boards:.1%} | {low:.1%} to {high:.1%} |", flush=True)


def print_power(args: argparse.Namespace) -> None:
    """Print the smallest detectable difference and its simulated power, for each number of texts."""
    print("| texts | smallest difference | power in simulation |\n|---:|---:|---|", flush=True)
    for texts in args.texts:
        binary = args.deviation is None
        deviation = math.sqrt(args.disagreement) if binary else args.deviation
        plan = Plan(texts, args.settings, args.seeds, args.seed_deviation, args.disagreement if binary else None,
                    deviation)  # fmt: skip
        least = plan.detectable()
        power, half = simulate_power(np.random.default_rng((args.seed, texts)), plan, least, max(args.boards // 4, 2))
        shown = f"{100 * least:.1f} points" if binary else f"{least:.4f}"
        print(f"| {texts} | {shown} | {power:.1%} ± {half:.1%} |", flush=True)


if __name__ == "__main__":
    main()
