"""Points outside the grid for two questions, measured like the points of ``bench run``.

* ``equal``: every system at the ε at which a content word is unchanged with the same probability (N_w 0.1, 0.3, 0.5).
  Bisection finds that ε in the closed form (or in draws, for noise in a space), on the words whose N_w the rows report.
  All systems keep stop words and replace unknown words at random, so they count the same words. ``--unknown-words
  keep`` measures the papers' variant, which releases unknown words in clear.
* ``lists``: 1-Diffractor with the single list of each space, and with L0, L1 and L2, which differ in both the spaces
  and the number of lists. N_w and S_w are in closed form, over the words of their common vocabulary.

    python -m dptext_core bench equal-privacy equal --data DIR --stopwords FILE --out equal.jsonl --summary equal.json
    python -m dptext_core bench equal-privacy equal --data DIR --list
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.data.folder import same_place
from dptext_core.errors import ConfigError
from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.capabilities import by_word
from dptext_core.mechanisms.registry import fields_of, get_mechanism, mechanism_class
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.checks import pluralize
from dptext_core.support.statistics import boundary

from ..results import summary as store
from ..results.equal_privacy import CHOICES, VOCABULARY, Crossing, bundled, bundled_crossings
from ..results.rows import Row, make_record, plain, six_digits
from ..results.summary import Results
from ..runner import group_run, merging, original_texts, run
from ..runner.grid import ATTACKERS, BASELINE, KEEP, SIZES, GridPoint, Size
from ..runner.options import OutFile, parser
from . import deniability

#: Values of N_w at which systems are compared, and one more for which only ε is computed.
SHARES = (0.1, 0.3, 0.5)
ALSO = 0.8
SEEDS = (1, 2, 3)
#: Mechanisms with their options; all keep stop words. Two are omitted, because another has their distribution:
#: TEM, which is SanText below ε 21.6, and 1-Diffractor with TEM noise, which is geometric noise at half its ε.
SYSTEMS = (
    Setting("dp-mlm", {"clip": "tuned"}),
    Setting("dp-mlm", {"clip": "paper"}),
    Setting("dp-mlm-prior", {}),
    Setting("diffractor", {"noise": "geometric", "lists": ("L2",)}),
    Setting("custext", {"k": 50, "mapping": "balanced", "strategy": "record", "keep_stopwords": True}),
    Setting("santext", {"keep_stopwords": True}),
    Setting("mahalanobis", {}),
    Setting("vickrey", {}),
    Setting("mvc", {}),
    Setting("santext-plus", {"keep_stopwords": True}),
    Setting("gumbel", {}),
)
#: Policies for unknown words: the default, and the papers' variant.
POLICIES = ("random", "keep")
LISTED = (0.5, 1.0)
#: The ε at which N_w and S_w of the lists are computed.
LEVELS = (0.1, 0.5, 1.0, 3.0, 5.0, 10.0)
NOISES: tuple[Mapping[str, Any], ...] = ({"noise": "geometric"}, {"noise": "tem", "gamma": None})
#: The ε at which TEM and geometric noise are compared, as in the paper's tables.
BESIDE = (0.5, 1.0, 3.0)
_LOW, _HIGH, _STEPS = 0.01, 1400.0, 18
#: Bisection steps for an N_w that is estimated from draws, which has a far larger error.
_ESTIMATED_STEPS = 13


def systems(policy: str = POLICIES[0]) -> tuple[Setting, ...]:
    """Return the systems, with this policy for unknown words if they have such an option."""
    if policy == POLICIES[0]:
        return SYSTEMS
    return tuple(
        replace(s, options={"oov": policy, **s.options}) if "oov" in fields_of(s.mechanism) else s for s in SYSTEMS
    )


def epsilon_where(
    keep: Callable[[float], float], share: float, low: float = _LOW, high: float = _HIGH, steps: int = _STEPS
) -> float | None:
    """Return the smallest ε at which a rising probability equals ``share``, to four digits, or None.

    With clipped scores, the probability may fall again at a very large ε, which separates almost equal scores.
    """
    if keep(low) >= share:
        return None
    if keep(high) <= share:
        above = [e for e in np.geomspace(low, high, 13)[1:-1].tolist() if keep(e) > share]
        if not above:
            return None
        high = above[0]
    low, high = boundary(lambda e: keep(e) >= share, low, high, steps, geometric=True)
    return float(f"{(low * high) ** 0.5:.4g}")


def unchanged_probability(
    setting: Setting, base: original_texts.Originals, stopwords: str | None
) -> Callable[[float], float]:
    """Return the function ε → N_w of a system, over the words of the same test texts as in ``bench run``."""
    mechanism = group_run.with_stop_words(setting.at(1.0), stopwords).make()
    words = group_run.words_of(base, {1.0: mechanism})
    # Without a closed form, use the draws of the first seed, like ``bench run``.
    for (i, _), result in zip(
        words.wanted.items(), mechanism.rewrite(list(words.wanted.values()), stream=NoiseStream(SEEDS[0])), strict=True
    ):
        words.take(1.0, SEEDS[0], i, result)
    channels = words.channels()

    def keep(epsilon: float) -> float:
        return float(np.mean([channel.deniability(epsilon)[0] for _, channel in channels]))

    return keep


def crossings(
    some: Sequence[Setting], shares: Sequence[float], base: original_texts.Originals, stopwords: str | None
) -> list[Crossing]:
    """Return the ε at which each system's N_w crosses each share."""
    out = []
    for system in some:
        keep = unchanged_probability(system, base, stopwords)
        exact = mechanism_class(system.mechanism).closed_form
        steps = _STEPS if exact else _ESTIMATED_STEPS
        out += [Crossing(system.ordered().at(epsilon_where(keep, n, steps=steps)), n, exact) for n in shares]
    return out


def points_of(what: str, data: str, size: Size, seeds: Sequence[int], reached: Sequence[Crossing]) -> list[GridPoint]:
    """Return unprotected text first, then the points of ``equal`` (at the crossings) or of ``lists``."""
    base = [GridPoint(Setting(BASELINE), data, seed, size) for seed in seeds]
    if what == "equal":
        settings = [c.setting for c in reached if c.epsilon is not None and c.n_w != ALSO]
    else:
        geometric, tem = ({**KEEP, **noise} for noise in NOISES)
        settings = [Setting("diffractor", {**geometric, "lists": lists}, e) for lists in CHOICES for e in LISTED]
        settings += [Setting("diffractor", {**tem, "lists": ("L2",)}, e) for e in BESIDE]
        settings += [Setting("diffractor", {**geometric, "lists": ("L2",)}, e) for e in BESIDE if e not in LISTED]
    return base + [GridPoint(setting.ordered(), data, seed, size) for setting in settings for seed in seeds]


def deniability_of_lists(words: int = deniability.WORDS) -> list[Row]:
    """Return N_w and S_w of every choice of lists under both noises, in closed form, with 95% intervals over the
    words."""
    shared = by_word(get_mechanism("diffractor", epsilon=1.0, lists=("L1",), keep_stopwords=False))
    chosen = [shared.vocabulary.words[i] for i in deniability.sample_rows(shared, words)]
    rows = []
    for noise in NOISES:
        for lists in CHOICES:
            mechanism = by_word(get_mechanism("diffractor", epsilon=1.0, lists=lists, keep_stopwords=False, **noise))
            at = {w: i for i, w in enumerate(mechanism.vocabulary.words)}
            curve = deniability.curve(mechanism, np.array([at[w] for w in chosen if w in at]), np.array(LEVELS))
            for i, epsilon in enumerate(LEVELS):
                for metric, mean, ends in (
                    ("n_w", curve.n_w, curve.n_w_interval),
                    ("s_w", curve.s_w, curve.s_w_interval),
                ):
                    low, high = six_digits(ends[i, 0]), six_digits(ends[i, 1])
                    value = min(max(six_digits(mean[i]), low), high)
                    setting = Setting("diffractor", {**noise, "lists": lists}, epsilon).ordered()
                    rows.append(Row(setting, VOCABULARY, "deniability", metric, value, low, high, curve.words, 1, ""))
    return rows


def bundled_points(what: str, summary: Results, seeds: Sequence[int]) -> list[GridPoint]:
    """Return the points of a bundled summary, without unprotected text."""
    ((data, about),) = summary.about["data"].items()
    size = Size(about["n_train"], about["n_test"], about["max_words"], 14.0)
    crossings_with_epsilon = [c for c in bundled_crossings() if c.epsilon is not None]
    return [p for p in points_of(what, data, size, seeds, crossings_with_epsilon) if p.mechanism != BASELINE]


def remeasure_words(args: argparse.Namespace, folder: str | None) -> int:
    """Run the attackers on words at the bundled points, and update their summary."""
    if args.into is not None or args.max_texts is not None:
        raise ConfigError("--words measures the bundled points. Omit --into and --max-texts.")
    summary = bundled(args.what)
    if summary is None:
        raise ConfigError(
            f"--words needs assets/benchmarks/{args.what}.json, which is missing. Restore it from the repository."
        )
    points = [
        p
        for p in bundled_points(args.what, summary, summary.about["seeds"])
        if not args.mechanism or p.mechanism in args.mechanism
        if not args.unknown_words or p.options.get("oov", POLICIES[0]) == args.unknown_words
    ]
    if args.list:
        print("\n".join(dict.fromkeys(json.dumps(p.setting.ordered().to_dict()) for p in points)))
        return 0
    setup = group_run.RunConfig(
        folder, args.stopwords, str(summary.about["command"]), attackers=tuple(args.words or ATTACKERS), words=True
    )
    run.run(points, setup, args.out, args.jobs, lambda text: print(text, file=sys.stderr, flush=True))
    store.write(merging.replace_word_rows(summary, store.read_lines(args.out), args.words), args.summary)
    print(f"{args.summary}: word attackers updated for {pluralize(len(points), 'point')}")
    return 0


def rerun_point(what: str, point: str, folder: str | None, stopwords: str | None) -> int:
    """Run one bundled point again, compare its scores with the bundled intervals, and return 1 if one is outside."""
    summary = bundled(what)
    rows = [] if summary is None else [r for r in summary.rows if r.point == point]
    if summary is None or not rows:
        raise ConfigError(f"There is no point {point!r} in assets/benchmarks/{what}.json. Choose one from its rows.")
    wanted = next((p for p in bundled_points(what, summary, SEEDS[:1]) if p.id == point), None)
    if wanted is None:
        raise ConfigError(f"The point {point!r} has changed since it was measured. Run bench equal-privacy {what}.")
    attackers = tuple(m for m in ATTACKERS if m in {r.metric for r in rows})
    (line,) = group_run.run_group(
        [wanted], group_run.RunConfig(folder, stopwords, str(summary.about["command"]), attackers=attackers)
    )
    outside = 0
    for row in rows:
        value = line.scores.get(row.metric)
        if value is None or row.low is None or row.high is None or measure(row.metric).kind == "speed":
            continue
        slack = 1e-5 * max(1.0, abs(value))  # files store six digits
        inside = row.low - slack <= value <= row.high + slack
        outside += not inside
        where = "inside" if inside else "OUTSIDE"
        print(f"{row.metric:16s} {value:10.5g}  {where} {row.low:g} to {row.high:g}, {row.measured}")
    return int(outside > 0)


def _parser() -> argparse.ArgumentParser:
    takes = parser("equal-privacy", __doc__)
    takes.add_argument("what", choices=("equal", "lists"))
    takes.add_argument("--data", type=Path, metavar="DIR", help="folder of the data sets")
    takes.add_argument("--set", default="sst2", metavar="NAME", help="data set (default sst2)")
    takes.add_argument(
        "--stopwords", metavar="FILE", help="file with one stop word per line (default: the default list)"
    )
    takes.add_argument("--mechanism", action="append", metavar="NAME", help="for equal: only this mechanism")
    takes.add_argument(
        "--unknown-words",
        choices=POLICIES,
        help=f"for equal: policy for unknown words (default {POLICIES[0]}; all with --words)",
    )
    takes.add_argument("--max-texts", type=int, metavar="N", help="at most N training texts and N test texts")
    takes.add_argument("--seeds", type=int, default=len(SEEDS), metavar="N", help="seeds 1 to N (default 3)")
    takes.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="number of processes with one thread each (default 1)"
    )
    takes.add_argument("--list", action="store_true", help="print the points and run nothing")
    takes.add_argument(
        "--words",
        nargs="*",
        choices=ATTACKERS,
        help="run only these word attackers (default: all) at the bundled points",
    )
    takes.add_argument(
        "--point", metavar="ID", help="run one bundled point again and compare it with the bundled intervals"
    )
    takes.add_argument(
        "--out", action=OutFile, metavar="FILE", help="file for the points; a stopped run continues from it"
    )
    takes.add_argument("--into", type=Path, metavar="FILE", help="add to this summary and use its ε")
    takes.add_argument("--summary", action=OutFile, metavar="FILE", help="file for the summary of all points in --out")
    return takes


def _place(crossing: Mapping[str, Any]) -> tuple[str, str, float]:
    """Return what identifies a crossing, without its ε."""
    return crossing["mechanism"], json.dumps(crossing["options"], sort_keys=True), crossing["n_w"]


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench equal-privacy``."""
    args = _parser().parse_args(argv)
    size = SIZES.get(args.set, Size(48, 30, 40, 14.0))
    if args.max_texts is not None:
        size = Size(
            min(args.max_texts, size.n_train or args.max_texts),
            min(args.max_texts, size.n_test or args.max_texts),
            size.max_words,
            size.words,
        )
    if not args.list and not args.point and (args.out is None or args.summary is None):
        raise ConfigError(
            "A file for the points or the summary is missing. Name both with --out FILE.jsonl and --summary FILE.json."
        )
    if args.out is not None and args.summary is not None and same_place(args.out, args.summary):
        raise ConfigError("--out and --summary name the same file. Name two different files.")
    folder = None if args.data is None else str(args.data)
    if args.point:
        return rerun_point(args.what, args.point, folder, args.stopwords)
    if args.words is not None:
        return remeasure_words(args, folder)
    crossed_settings: list[Crossing] = []
    if args.what == "equal":
        policy = args.unknown_words or POLICIES[0]
        some = [s for s in systems(policy) if not args.mechanism or s.mechanism in args.mechanism]
        if not some:
            raise ConfigError(f"--mechanism must be one of {', '.join(dict.fromkeys(s.mechanism for s in SYSTEMS))}.")
        base = original_texts.load_originals(args.set, size, folder)
        known = [] if args.into is None else store.read(args.into).about.get("crossings", [])
        for system in some:
            new = [c for c in (make_record(Crossing, c) for c in known) if c.setting.at(None) == system.ordered()]
            for c in (new := new or crossings([system], (*SHARES, ALSO), base, args.stopwords)):
                at = "is not reached" if c.epsilon is None else f"at ε {c.epsilon:g}"
                print(f"{c.mechanism} {json.dumps(c.setting.to_dict()['options'])}: N_w {c.n_w:g} {at}", flush=True)
            crossed_settings += new
    points = points_of(args.what, args.set, size, range(1, args.seeds + 1), crossed_settings)
    if args.list:
        return 0
    command = f"python -m dptext_core bench equal-privacy {args.what}" + (" --data FOLDER" if folder else "")
    command += f" --stopwords {Path(args.stopwords).name}" if args.stopwords else ""
    command += f" --unknown-words {args.unknown_words}" if args.unknown_words not in (None, POLICIES[0]) else ""
    command += f" --max-texts {args.max_texts}" if args.max_texts else ""
    setup = group_run.RunConfig(folder, args.stopwords, command, attackers=ATTACKERS)
    run.run(points, setup, args.out, args.jobs, lambda text: print(text, file=sys.stderr, flush=True))
    cut = f"{points[0].data} only, {args.seeds} seeds."
    if never := [f"{c.mechanism} N_w {c.n_w:g}" for c in crossed_settings if c.epsilon is None]:
        cut += f" Not reached at any ε: {', '.join(never)}."
    summary, notes = merging.merge(store.read_lines(args.out), points, command, cut)
    extra = deniability_of_lists() if args.what == "lists" else []
    crossed = [plain(c) for c in crossed_settings]
    if args.into is not None:
        old = store.read(args.into)
        description = f"{old.about['cut']} Added by {command}: {cut}"
        summary = merging.join_summaries(old, summary, points, description)
        before = [c for c in old.about.get("crossings", ()) if _place(c) not in {_place(c) for c in crossed}]
        crossed = [*before, *crossed]
    about = summary.about | ({"crossings": crossed} if crossed else {})
    store.write(Results(about, summary.gates, (*summary.rows, *extra)), args.summary)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{args.summary}: {len(summary.rows) + len(extra)} rows of {pluralize(len(points), 'point')}")
    return 0
