"""What the benchmark runs, as data: mechanisms with their options and ε, data sets with their sizes, seeds.

A point is one mechanism with its options at one ε, on one data set, with one seed. Points that share mechanism, options
and data are a group: its texts are prepared once and serve every ε and seed. A mechanism that is registered later needs
an entry in ``_entries`` and a line in ``COST``, nothing else, unless its family is measured ``ELSEWHERE``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..errors import ConfigError
from ..mechanisms.diffractor import NOISES
from .rows import BASELINE, listed, point_id

SEEDS = (1, 2, 3)
#: Where a rewrite costs little: with five, Student's t leaves half the interval of three.
MORE_SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Size:
    """How much of a data set is used: texts (None: all) and the first words of each. words: mean words of a text."""

    n_train: int | None
    n_test: int | None
    max_words: int | None
    words: float


@dataclass(frozen=True, eq=False)
class Point:
    """One thing to run. ``epsilon`` is None for unprotected text."""

    mechanism: str
    options: Mapping[str, Any]
    epsilon: float | None
    data: str
    seed: int
    size: Size

    @cached_property
    def setting(self) -> dict[str, Any]:
        """What names the point, with plain JSON values."""
        return {
            "mechanism": self.mechanism, "options": plain(self.options), "epsilon": self.epsilon, "data": self.data,
            "seed": self.seed, "n_train": self.size.n_train, "n_test": self.size.n_test,
            "max_words": self.size.max_words,
        }  # fmt: skip

    @cached_property
    def id(self) -> str:
        """12 hexadecimal digits of the SHA-256 of the setting."""
        return point_id(self.setting)


@dataclass(frozen=True)
class Entry:
    """One line of a grid: every ε × data × seed of one mechanism with its options."""

    mechanism: str
    options: Mapping[str, Any]
    epsilons: tuple[float, ...]
    data: tuple[str, ...]
    seeds: tuple[int, ...] = SEEDS


@dataclass(frozen=True)
class Grid:
    """Entries and sizes. cut: what the grid leaves out, and why, in words. extra: metrics on the first seed's points,
    with the number of test texts of each."""

    name: str
    entries: tuple[Entry, ...]
    sizes: Mapping[str, Size]
    baselines: tuple[str, ...]
    cut: str
    extra: Mapping[str, int] = field(default_factory=dict)

    def points(self) -> list[Point]:
        """All points, unprotected text first."""
        found = [Point(BASELINE, {}, None, name, 0, self.sizes[name]) for name in self.baselines]
        for e in self.entries:
            found += [
                Point(e.mechanism, e.options, epsilon, name, seed, self.sizes[name])
                for name in e.data
                for epsilon in e.epsilons
                for seed in e.seeds
            ]
        return list({p.id: p for p in found}.values())

    def smaller(self, n: int) -> Grid:
        """The same grid on at most ``n`` texts to train and ``n`` to test."""
        if n < 1:
            raise ConfigError(f"--n must be at least 1, not {n}.")

        def least(x: int | None) -> int:
            return n if x is None else min(x, n)

        sizes = {k: replace(s, n_train=least(s.n_train), n_test=least(s.n_test)) for k, s in self.sizes.items()}
        return replace(self, sizes=sizes)


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON has them: lists for tuples, in the order of their names."""
    return dict(sorted(listed(options).items()))


# --- groups and shards ----------------------------------------------------------------------------------------------

#: Families of mechanisms that are measured elsewhere, and where: a new text is compared with other things.
ELSEWHERE = {"autoencoder": "case-study", "language models": "bench generators"}

#: Seconds on one core: to prepare 1,000 words of a group, and to rewrite 1,000 words at one ε with one seed.
COST: dict[str, tuple[float, float]] = {
    BASELINE: (0.0, 0.0),
    "dp-mlm": (16.0, 0.3),
    "dp-mlm-plus": (22.0, 0.4),
    "dp-mlm-prior": (26.0, 0.6),
    "diffractor": (0.0, 0.05),
    "custext": (0.1, 0.3),
    "mvc": (0.3, 0.35),
    "mahalanobis": (0.3, 0.35),
    "vickrey": (0.3, 0.35),
    "gumbel": (0.1, 0.4),
    "tem": (0.1, 0.5),
    "santext": (0.1, 0.7),
    "santext-plus": (0.1, 0.7),
}
#: To embed 1,000 words (of texts that are not all as they were) and to score a point, whatever the mechanism.
EMBED, SCORE = 0.65, 1.2


def cost(points: Sequence[Point]) -> float:
    """Estimated seconds of one group on one core."""
    size = points[0].size
    words = ((size.n_train or 1000) + (size.n_test or 500)) * size.words / 1000
    once, each = COST.get(points[0].mechanism, (1.0, 1.0))
    return once * words + len(points) * ((each + EMBED) * words + SCORE)


def groups(points: Iterable[Point]) -> list[list[Point]]:
    """Points that share mechanism, options and data, in the order of the grid."""
    found: dict[str, list[Point]] = {}
    for p in points:
        s = p.setting
        key = [s["mechanism"], s["options"], s["data"], s["n_train"], s["n_test"], s["max_words"]]
        found.setdefault(json.dumps(key, sort_keys=True), []).append(p)
    return list(found.values())


def shard(points: Sequence[Point], i: int, n: int) -> list[Point]:
    """The points of shard ``i`` of ``n`` (1 to n): whole groups, about the same cost in each."""
    if not 1 <= i <= n:
        raise ConfigError(f"A shard is I/N with I from 1 to N, not {i}/{n}.")
    load = [0.0] * n
    mine: set[str] = set()
    for group in sorted(groups(points), key=cost, reverse=True):
        least = load.index(min(load))
        load[least] += cost(group)
        if least == i - 1:
            mine |= {p.id for p in group}
    return [p for p in points if p.id in mine]


# --- the grids ------------------------------------------------------------------------------------------------------

SIZES = {
    "sst2": Size(300, 450, 40, 14.2),
    "snips": Size(300, 300, 40, 9.0),
    "atis": Size(300, 300, 40, 10.7),
    "reviews": Size(300, 250, 60, 60.0),
    "authors": Size(300, 274, 25, 24.5),
}
#: Data on which the classifier does not beat guessing: unprotected text only, so that the gates say so.
CLOSED = {
    "cola": Size(400, 400, 40, 8.0),
    "mrpc": Size(400, 300, 40, 44.0),
    "rte": Size(400, 277, 40, 45.0),
    "wnli": Size(518, 71, 40, 30.0),
}
OTHERS = ("snips", "atis", "reviews", "authors")

#: The papers print words that the vocabulary lacks unchanged.
KEEP = {"oov": "keep"}
LISTS = ("L0", "L1", "L2")
#: CusText's main line: K = 50, balanced, one draw for each distinct word of a text, stop words replaced too.
CUSTEXT = {**KEEP, "k": 50, "mapping": "balanced", "strategy": "record", "keep_stopwords": False}

#: The paper's clipping range, not the tuned one that is the default: the papers' numbers stand beside these.
PAPER_CLIP = {"clip": "paper"}
DPMLM = (10.0, 25.0, 50.0, 100.0, 250.0)
DIFFRACTOR = (0.1, 0.5, 1.0, 3.0, 5.0, 10.0, 25.0, 50.0)
#: On to where nine words in ten stay (N_w 0.9), which Vickrey and Gumbel do not reach at the largest ε here.
NOISE = (1.0, 10.0, 25.0, 50.0, 75.0, 100.0, 150.0)
EXPONENTIAL = (1.0, 10.0, 14.0, 17.0, 20.0, 25.0)
SPACE: dict[str, tuple[float, ...]] = {
    "mvc": NOISE,
    "mahalanobis": NOISE,
    "vickrey": (1.0, 10.0, 50.0, 100.0, 200.0, 1400.0),
    "gumbel": (1.0, 10.0, 50.0, 150.0, 600.0),
    "tem": (*EXPONENTIAL, 50.0),
    "santext": EXPONENTIAL,
    "santext-plus": EXPONENTIAL,
}

CUT = (
    "Texts: samples, with the first 40 words of a text (60 of film reviews, 25 of speeches), since a model reads every "
    "word of DP-MLM's texts. Data: everything runs on SST-2; Snips, ATIS, reviews and speeches have DP-MLM (not ATIS), "
    "1-Diffractor (geometric, L2) and CusText's main line only. CoLA, MRPC, RTE and WNLI have unprotected text only: "
    "the classifier does not beat guessing there. QNLI, QQP, MNLI, STS-B, Yelp and Trustpilot are not there. "
    "DP-MLM: the paper's clipping range only, not the tuned one; `bench clipping` compares them. With a public prior: "
    "SST-2 and parallel order only; `bench prior` compares the orders. "
    "1-Diffractor at ε 25 and 50: one list only, where every word stays. CusText: one factor at a time around K = 50, "
    "balanced, record; not K = 10 and 1000. MVC and the like: fewer small ε, where every word is replaced; larger ones "
    "up to where nine words in ten stay, which Vickrey and Gumbel do not reach here. Classifier: logistic regression "
    "on frozen embeddings, no fine-tuning. BERTScore: 50 texts, first seed. Pseudo-perplexity on request only."
)


def _entries() -> tuple[Entry, ...]:
    sst2 = ("sst2",)
    lists = [{**KEEP, **noise, "lists": (name,)} for noise in NOISES for name in LISTS]
    # SanText replaces stop words too; the others of a word space keep them, as in 1-Diffractor's comparison.
    space = {name: KEEP | ({"keep_stopwords": False} if name.startswith("santext") else {}) for name in SPACE}
    strategies = [(s, stay) for s in ("record", "token", "dataset") for stay in (False, True)]
    return (
        Entry("dp-mlm", PAPER_CLIP, DPMLM, ("sst2", "snips", "reviews", "authors")),
        Entry("dp-mlm-plus", {**PAPER_CLIP, "add_prob": 0.1, "del_prob": 0.05}, (25.0, 100.0), ("sst2", "authors")),
        Entry("dp-mlm-prior", {}, DPMLM, sst2),
        # At ε 25 and 50 every word stays, whatever the list: one list shows it.
        *(
            Entry("diffractor", o, DIFFRACTOR if o["lists"] == ("L2",) else DIFFRACTOR[:6], sst2, MORE_SEEDS)
            for o in lists
        ),
        Entry("diffractor", {**KEEP, "noise": "geometric", "lists": ("L2",)}, (0.1, 1.0, 3.0, 10.0), OTHERS),
        # CusText: one factor at a time around its main line.
        Entry("custext", CUSTEXT, (1.0, 2.0, 3.0, 5.0, 10.0, 20.0), sst2, MORE_SEEDS),
        *(Entry("custext", {**CUSTEXT, "k": k}, (1.0, 10.0), sst2, MORE_SEEDS) for k in (5, 20, 100, 500, 2000)),
        *(
            Entry("custext", {**CUSTEXT, "mapping": m}, (1.0, 5.0, 10.0), sst2, MORE_SEEDS)
            for m in ("aggressive", "conservative")
        ),
        *(
            Entry("custext", {**CUSTEXT, "strategy": s, "keep_stopwords": stay}, (1.0, 5.0, 10.0), sst2, MORE_SEEDS)
            for s, stay in strategies
        ),
        Entry("custext", CUSTEXT, (1.0, 10.0, 20.0), OTHERS),
        *(Entry(name, space[name], epsilons, sst2, MORE_SEEDS) for name, epsilons in SPACE.items()),
    )


def _quick(data: str, size: Size) -> Grid:
    at = (data,)
    entries = (
        Entry("dp-mlm", PAPER_CLIP, (25.0, 100.0), at, (1,)),
        Entry("diffractor", {**KEEP, "noise": "geometric", "lists": ("L2",)}, (0.5, 5.0), at, (1,)),
        Entry("custext", CUSTEXT, (1.0, 10.0), at, (1,)),
        Entry("mahalanobis", KEEP, (50.0, 150.0), at, (1,)),
        Entry("tem", KEEP, (14.0, 20.0), at, (1,)),
    )
    return Grid("quick", entries, {data: size}, (data,), "A few mechanisms at two ε on few texts: shows that it runs.")


GRIDS: dict[str, Grid] = {
    "quick": _quick("builtin", Size(48, 30, 40, 14.0)),
    "full": Grid("full", _entries(), SIZES | CLOSED, (*SIZES, *CLOSED), CUT, {"bertscore": 50}),
}


def named(name: str, data: bool) -> Grid:
    """The grid of this name; the quick one is on SST-2 where there is a folder of data sets. Raises ConfigError."""
    if name not in GRIDS:
        raise ConfigError(f"Unknown grid {name!r}: use one of {', '.join(GRIDS)}.")
    return _quick("sst2", Size(48, 30, 40, 14.0)) if name == "quick" and data else GRIDS[name]
