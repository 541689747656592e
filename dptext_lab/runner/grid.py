"""The benchmark's grids as data: mechanisms with options and ε, data sets with sizes, and seeds.

A point is one mechanism with its options at one ε, on one data set, with one seed of the noise and of the training
sample. Points with the same data and preparation form a group, whose texts are prepared once for every ε and seed. A
built-in mechanism needs only an entry in ``_entries`` and a line in ``COST``; `of_settings` makes a grid for any other.
Entries run in order, the most informative first, so an interrupted run has complete entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dptext_core.errors import ConfigError
from dptext_core.measure import trade_off_settings
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import fields_of, mechanism_class
from dptext_core.mechanisms.setting import Setting, SettingFields
from dptext_core.mechanisms.words.diffractor import NOISES
from dptext_core.words.lists import CONFIGURATIONS

from ..results.rows import BASELINE, point_id

SEEDS = (1, 2, 3)
#: Seeds of cheap mechanisms: Student's t makes intervals with five seeds half as wide as with three.
MORE_SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Size:
    """The used part of a data set: texts (None: all) and the first words of each. words: mean words per text."""

    n_train: int | None
    n_test: int | None
    max_words: int | None
    words: float


@dataclass(frozen=True, eq=False)
class GridPoint(SettingFields):
    """One point of a grid. ``epsilon`` is None for unprotected text."""

    setting: Setting
    data: str
    seed: int
    size: Size

    @cached_property
    def named(self) -> dict[str, Any]:
        """Return the identifying columns as JSON values."""
        size = {"n_train": self.size.n_train, "n_test": self.size.n_test, "max_words": self.size.max_words}
        return {**self.setting.to_dict(), "data": self.data, "seed": self.seed, **size}

    @cached_property
    def id(self) -> str:
        """Return 12 hexadecimal digits of the SHA-256 of the identifying columns."""
        return point_id(self.named)


@dataclass(frozen=True)
class GridEntry:
    """One line of a grid: every setting × data × seed, of one mechanism with its options at several ε."""

    settings: tuple[Setting, ...]
    data: tuple[str, ...]
    seeds: tuple[int, ...]


def entry(
    mechanism: str,
    options: Mapping[str, Any],
    epsilons: Iterable[float],
    data: tuple[str, ...],
    seeds: tuple[int, ...] = SEEDS,
) -> GridEntry:
    """Return one line of a grid by its parts."""
    return GridEntry(tuple(map(Setting(mechanism, options).ordered().at, epsilons)), data, seeds)


@dataclass(frozen=True)
class Grid:
    """Entries and sizes. baselines: seeds of unprotected text on each data set. cut: a description of what the grid
    omits. extra: metrics for the first seed, with their numbers of test texts. attackers: metrics of attackers on
    words."""

    name: str
    entries: tuple[GridEntry, ...]
    sizes: Mapping[str, Size]
    baselines: Mapping[str, tuple[int, ...]]
    cut: str
    extra: Mapping[str, int] = field(default_factory=dict)
    attackers: tuple[str, ...] = ()

    def points(self) -> list[GridPoint]:
        """Return all points in the order of the run. Unprotected text of a data set comes before its other points."""
        return list(self.by_id.values())

    @cached_property
    def by_id(self) -> dict[str, GridPoint]:
        """Return all points by id, in their order."""
        all_points: list[GridPoint] = []
        plain_text = {
            name: [GridPoint(Setting(BASELINE), name, seed, self.sizes[name]) for seed in seeds]
            for name, seeds in self.baselines.items()
        }
        for e in self.entries:
            for name in e.data:
                all_points += plain_text.pop(name, [])
                all_points += [
                    GridPoint(setting, name, seed, self.sizes[name]) for setting in e.settings for seed in e.seeds
                ]
        all_points += [p for points in plain_text.values() for p in points]
        return {p.id: p for p in all_points}

    def smaller(self, n: int) -> Grid:
        """Return the grid with at most ``n`` training and ``n`` test texts."""
        if n < 1:
            raise ConfigError(f"--max-texts must be at least 1, not {n}.")

        def least(x: int | None) -> int:
            return n if x is None else min(x, n)

        sizes = {k: replace(s, n_train=least(s.n_train), n_test=least(s.n_test)) for k, s in self.sizes.items()}
        return replace(self, sizes=sizes)


# --- groups and shards ----------------------------------------------------------------------------------------------

#: Seconds on one core: to prepare 1,000 words of a group, and to rewrite 1,000 words at one ε with one seed.
COST: dict[str, tuple[float, float]] = {
    BASELINE: (0.0, 0.0),
    "dp-mlm": (4.5, 0.1),
    "dp-mlm-plus": (4.0, 0.7),
    "dp-mlm-prior": (6.3, 0.2),
    "diffractor": (0.0, 0.03),
    "custext": (0.0, 0.2),
    "mvc": (0.0, 0.14),
    "mahalanobis": (0.0, 0.14),
    "vickrey": (0.0, 0.16),
    "gumbel": (0.0, 0.16),
    "tem": (0.0, 0.14),
    "santext": (0.0, 0.17),
    "santext-plus": (0.0, 0.17),
    "dp-prompt": (0.0, 6.5),
    "dp-paraphrase": (0.0, 5.0),
    "dp-bart": (0.0, 6.5),
    "dp-sentence": (0.7, 2.0),
    "adept": (0.0, 0.4),
    "adept-original": (0.0, 0.4),
    "redact": (0.0, 0.3),
    "surrogates": (0.0, 0.3),
}
#: Seconds to embed 1,000 words and to score 1,000 texts, for any mechanism.
EMBED, SCORE = 0.2, 0.5
#: Seconds to run the attackers on words, once at each ε.
ATTACK = 9.0


def cost(points: Sequence[GridPoint]) -> float:
    """Return estimated seconds of one group on one core."""
    size = points[0].size
    train, test = size.n_train or 1000, size.n_test or 500
    # Prepared once: the test texts, and the training texts of every seed.
    different = (train * len({p.seed for p in points}) + test) * size.words / 1000
    words = (train + test) * size.words / 1000
    once, each = COST.get(points[0].mechanism, (1.0, 1.0))
    levels = len({p.setting for p in points})
    attacked = 0.0 if points[0].mechanism == BASELINE else levels * ATTACK
    return once * different + len(points) * ((each + EMBED) * words + SCORE * (train + test) / 1000) + attacked


def _preparation(p: GridPoint) -> Setting:
    """Return the options that a preparation depends on (all options if it takes no time)."""
    if p.mechanism == BASELINE or not mechanism_class(p.mechanism).slow_to_prepare:
        return p.setting.at(None)
    live = {name for name, field in fields_of(p.mechanism).items() if option_meta(field).live}
    return Setting(p.mechanism, {k: v for k, v in p.options.items() if k not in live})


def groups(points: Iterable[GridPoint]) -> list[list[GridPoint]]:
    """Return points that share mechanism, preparation and data, in the order of the grid."""
    out: dict[Any, list[GridPoint]] = {}
    for p in points:
        key = _preparation(p), p.data, p.size.n_train, p.size.n_test, p.size.max_words
        out.setdefault(key, []).append(p)
    return list(out.values())


def shard(points: Sequence[GridPoint], i: int, n: int) -> list[GridPoint]:
    """Return the points of shard ``i`` of ``n`` (1 to n): whole groups with about the same cost in each shard."""
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
    "sst2": Size(2000, 872, 40, 12.2),
    "snips": Size(1000, 700, 40, 9.1),
    "atis": Size(1000, 893, 40, 10.7),
    "reviews": Size(1000, 501, 40, 40.0),
    "authors": Size(1500, 274, 25, 25.0),
}
#: Data on which the first classifier does not beat guessing. Only unprotected text runs, to record this in the gates.
CLOSED = {
    "cola": Size(2000, 1043, 40, 7.8),
    "mrpc": Size(2000, 408, 40, 44.0),
    "rte": Size(2000, 277, 40, 38.7),
    "wnli": Size(518, 71, 40, 27.1),
}

#: The papers' variant releases unknown words in clear. By default they are replaced at random.
KEEP = {"oov": "keep"}
#: A single list of each word space. These differ from L0 only in the number of lists.
SINGLE = CONFIGURATIONS["L0"]
#: CusText's main setting: K = 50, balanced, one draw for each distinct word of a text, stop words also replaced.
CUSTEXT = {**KEEP, "k": 50, "mapping": "balanced", "strategy": "record", "keep_stopwords": False}
#: 1-Diffractor's main setting.
GEOMETRIC = {**KEEP, "noise": "geometric", "lists": ("L2",)}
SANTEXT = {**KEEP, "keep_stopwords": False}

#: The paper's clipping range, in addition to the tuned default.
PAPER_CLIP = {"clip": "paper"}
DPMLM = (10.0, 25.0, 50.0, 100.0, 250.0)
GENERATED = (25.0, 50.0, 100.0)
DIFFRACTOR = (0.1, 0.5, 1.0, 3.0, 5.0, 10.0)
#: Up to N_w 0.9, which Vickrey and Gumbel do not reach at the largest ε here.
NOISE = (10.0, 50.0, 100.0, 150.0)
EXPONENTIAL = (10.0, 14.0, 17.0, 25.0)

CUT = (
    "Texts: the first 40 words of a text (25 of speeches). Data: everything but ADePT runs on SST-2. Snips, ATIS, "
    "reviews and speeches have 1-Diffractor (geometric, L2) and CusText's main settings; all but ATIS also have "
    "DP-MLM. Snips and ATIS have ADePT. The tuned range, the public prior and rows with unknown words replaced run on "
    "SST-2, Snips and reviews, and generators on SST-2. RTE and WNLI have unprotected text only, because no "
    "classifier beats guessing there. CoLA and MRPC are in the grid “tuned”. Seeds: five, but three on reviews and "
    "for the sentence bank, ADePT, redaction, surrogates, rows with unknown words replaced, CusText with K = 10, 200, "
    "1000 and 2000, and its aggressive and conservative mappings with K = 20 and 100. DP-MLM±, DP-Prompt, "
    "DP-Paraphrase, DP-BART and the grid “tuned” have one seed, so their intervals cover texts but not noise. The "
    "public prior runs in parallel order only; `bench prior` compares the orders. DP-Prompt, DP-Paraphrase and "
    "DP-BART use the bundled models at a few ε. `bench generators` has more ε, and Gemma. For CusText, one factor at "
    "a time varies around K = 50, balanced and record. For 1-Diffractor, lists and noises vary around geometric noise "
    "and one list. MVC and similar mechanisms run at four ε. BERTScore and perplexity cover 50 texts and the first "
    "seed. Pseudo-perplexity is measured on request only."
)


def _entries() -> tuple[GridEntry, ...]:
    return (*_main_entries(), *_ablation_entries(), *_entries_of_other_data())


def _main_entries() -> tuple[GridEntry, ...]:
    """Return the entries of every system on one data set, and of author attacks."""
    sst2 = ("sst2",)
    return (
        # The utility of every system on one data set.
        entry("diffractor", GEOMETRIC, DIFFRACTOR, sst2, MORE_SEEDS),
        entry("custext", CUSTEXT, (1.0, 2.0, 3.0, 5.0, 10.0, 20.0), sst2, MORE_SEEDS),
        entry("dp-mlm", PAPER_CLIP, DPMLM, sst2, MORE_SEEDS),
        entry("dp-mlm", {}, DPMLM, sst2, MORE_SEEDS),
        # Below ε 21.6 it has SanText's distribution.
        entry("tem", KEEP, (25.0,), sst2, MORE_SEEDS),
        entry("santext", SANTEXT, EXPONENTIAL, sst2, MORE_SEEDS),
        entry("mahalanobis", KEEP, NOISE, sst2, MORE_SEEDS),
        entry("santext", {**SANTEXT, "prior": "frequency"}, EXPONENTIAL, sst2, MORE_SEEDS),
        entry("dp-mlm-prior", {}, DPMLM, sst2, MORE_SEEDS),
        entry("diffractor", {**KEEP, **NOISES[1], "lists": ("L2",)}, (0.1, 0.5, 1.0, 3.0, 10.0), sst2, MORE_SEEDS),
        entry("gumbel", KEEP, (10.0, 50.0, 150.0, 600.0), sst2, MORE_SEEDS),
        entry("vickrey", KEEP, (10.0, 50.0, 200.0, 1400.0), sst2, MORE_SEEDS),
        entry("mvc", KEEP, NOISE, sst2, MORE_SEEDS),
        entry("santext-plus", SANTEXT, EXPONENTIAL, sst2, MORE_SEEDS),
        # Both ranges for both sides, because only equal ranges are compared.
        entry("dp-paraphrase", {}, GENERATED, sst2, (1,)),
        entry("dp-prompt", {}, GENERATED, sst2, (1,)),
        entry("dp-paraphrase", PAPER_CLIP, GENERATED, sst2, (1,)),
        entry("dp-prompt", PAPER_CLIP, GENERATED, sst2, (1,)),
        entry("dp-sentence", {}, GENERATED, sst2),
        # Current practice, without any effect of ε.
        entry("redact", {}, (1.0,), (*sst2, "reviews")),
        entry("surrogates", {}, (1.0,), (*sst2, "reviews")),
        # Privacy: the author.
        entry("diffractor", GEOMETRIC, (0.1, 1.0, 3.0), ("authors",), MORE_SEEDS),
        entry("custext", CUSTEXT, (1.0, 5.0, 20.0), ("authors",), MORE_SEEDS),
        entry("dp-mlm", PAPER_CLIP, DPMLM, ("authors",), MORE_SEEDS),
        entry("diffractor", GEOMETRIC, (0.1, 1.0, 3.0), ("reviews",)),
        entry("custext", CUSTEXT, (1.0, 5.0, 20.0), ("reviews",)),
        entry("dp-mlm", PAPER_CLIP, (10.0, 50.0, 100.0), ("reviews",)),
        entry("dp-bart", {}, (1000.0, 10_000.0), sst2, (1,)),
    )


def _ablation_entries() -> tuple[GridEntry, ...]:
    """Return entries that vary one factor at a time around a main setting."""
    sst2 = ("sst2",)
    lists = [{**KEEP, **NOISES[0], "lists": (name,)} for name in ("L0", "L1")]
    single = [{**KEEP, **NOISES[0], "lists": (name,)} for name in SINGLE]
    strategies = [("record", True), *((s, stay) for s in ("token", "dataset") for stay in (False, True))]
    return (
        # Lists and noises of 1-Diffractor.
        *(entry("diffractor", o, (0.1, 1.0, 3.0), sst2, MORE_SEEDS) for o in lists),
        *(entry("diffractor", o, (1.0,), sst2, MORE_SEEDS) for o in single),
        entry("diffractor", {**KEEP, **NOISES[2], "lists": ("L2",)}, (0.5, 1.0, 3.0), sst2, MORE_SEEDS),
        entry("diffractor", {**KEEP, **NOISES[1], "lists": ("L0",)}, (0.1, 1.0), sst2, MORE_SEEDS),
        # CusText: one factor at a time around its main setting.
        *(entry("custext", {**CUSTEXT, "k": k}, (1.0, 10.0), sst2, MORE_SEEDS) for k in (5, 20, 100, 500)),
        *(entry("custext", {**CUSTEXT, "k": k}, (1.0, 10.0), sst2) for k in (10, 200, 1000, 2000)),
        *(
            entry("custext", {**CUSTEXT, "mapping": m, "k": k}, (1.0,), sst2)
            for m in ("aggressive", "conservative")
            for k in (20, 100)
        ),
        *(
            entry("custext", {**CUSTEXT, "mapping": m}, (1.0, 5.0), sst2, MORE_SEEDS)
            for m in ("aggressive", "conservative")
        ),
        *(
            entry("custext", {**CUSTEXT, "strategy": s, "keep_stopwords": stay}, (1.0, 10.0), sst2, MORE_SEEDS)
            for s, stay in strategies
        ),
    )


def _entries_of_other_data() -> tuple[GridEntry, ...]:
    snips = ("snips",)
    return (
        entry("diffractor", GEOMETRIC, (0.1, 1.0, 3.0), ("snips", "atis"), MORE_SEEDS),
        entry("custext", CUSTEXT, (1.0, 5.0, 20.0), ("snips", "atis"), MORE_SEEDS),
        entry("adept", {"checkpoint": "snips"}, (100.0, 1000.0), snips),
        entry("adept", {"checkpoint": "atis"}, (100.0, 1000.0), ("atis",)),
        entry("adept-original", {"checkpoint": "snips"}, (100.0,), snips),
        entry("dp-mlm", PAPER_CLIP, (10.0, 50.0, 100.0), snips, MORE_SEEDS),
        entry("dp-mlm", {}, (10.0, 50.0, 100.0), snips, MORE_SEEDS),
        entry("dp-mlm-prior", {}, (10.0, 50.0, 100.0), snips, MORE_SEEDS),
        entry("dp-mlm", {}, (10.0, 50.0, 100.0), ("reviews",)),
        entry("dp-mlm-prior", {}, (10.0, 50.0, 100.0), ("reviews",)),
        *(
            entry(
                "dp-mlm-plus", {**PAPER_CLIP, "add_prob": a, "del_prob": 0.05}, (25.0, 100.0), ("sst2", "authors"), (1,)
            )
            for a in (0.1, 0.25)
        ),
    )


def _quick(data: str, size: Size) -> Grid:
    at = (data,)
    entries = (
        entry("dp-mlm", PAPER_CLIP, (25.0, 100.0), at, (1,)),
        entry("diffractor", GEOMETRIC, (0.5, 5.0), at, (1,)),
        entry("custext", CUSTEXT, (1.0, 10.0), at, (1,)),
        entry("mahalanobis", KEEP, (50.0, 150.0), at, (1,)),
        entry("tem", KEEP, (14.0, 20.0), at, (1,)),
    )
    return Grid(
        "quick", entries, {data: size}, {data: (1,)}, "A few mechanisms at two ε on few texts, as a quick test."
    )


#: Tasks that a trained encoder can do and the first classifier cannot.
ENCODER = ("reviews", "cola", "mrpc")
#: What rewriting leaves of these tasks, and whether a trained encoder can do another one.
_TUNED = Grid(
    "tuned",
    (
        entry("dp-mlm", PAPER_CLIP, (10.0, 50.0, 100.0), ENCODER, (1,)),
        entry("diffractor", GEOMETRIC, (1.0,), ENCODER, (1,)),
        entry("custext", CUSTEXT, (5.0,), ENCODER, (1,)),
    ),
    SIZES | CLOSED,
    dict.fromkeys(("reviews", "cola", "mrpc", "rte"), (1,)),
    "For --finetune: a few mechanisms on film reviews, CoLA and MRPC, one seed; on RTE, unprotected text only.",
)
#: Attackers on words.
ATTACKERS = ("attack_bayes", "attack_nearest", "attack_mask", "attack_query")
#: Word mechanisms with unknown words replaced at random, as by default; the full grid has the papers' variant.
_UNKNOWN = Grid(
    "unknown-words",
    (
        *(
            entry(mechanism, {k: v for k, v in options.items() if k != "oov"}, epsilons, ("sst2",))
            for mechanism, options, epsilons in (
                ("diffractor", GEOMETRIC, DIFFRACTOR),
                ("custext", CUSTEXT, (1.0, 2.0, 3.0, 5.0, 10.0, 20.0)),
                ("santext", SANTEXT, EXPONENTIAL),
                ("mahalanobis", KEEP, NOISE),
                ("vickrey", KEEP, (10.0, 50.0, 200.0, 1400.0)),
                ("mvc", KEEP, NOISE),
                ("gumbel", KEEP, (10.0, 50.0, 150.0, 600.0)),
                ("tem", KEEP, (25.0,)),
            )
        ),
        *(
            entry(mechanism, {k: v for k, v in options.items() if k != "oov"}, epsilons, (data,))
            for data in ("reviews", "snips")
            for mechanism, options, epsilons in (
                ("diffractor", GEOMETRIC, (0.1, 1.0, 3.0)),
                ("custext", CUSTEXT, (1.0, 5.0, 20.0)),
            )
        ),
    ),
    SIZES,
    dict.fromkeys(("sst2", "reviews", "snips"), SEEDS),
    "",
    {},
    ATTACKERS,
)
_PLAIN = dict.fromkeys(SIZES, MORE_SEEDS) | dict.fromkeys(CLOSED, (1,))

GRIDS: dict[str, Grid] = {
    "quick": _quick("builtin", Size(48, 30, 40, 14.0)),
    "full": Grid("full", _entries(), SIZES | CLOSED, _PLAIN, CUT, {"bertscore": 50}, ATTACKERS),
    "tuned": _TUNED,
    "unknown-words": _UNKNOWN,
}


#: Default number of ε on a setting's own axis.
LEVELS = 5


def of_settings(
    settings: Sequence[Setting],
    data: Sequence[str],
    epsilons: Sequence[Sequence[float]] = (),
    seeds: Sequence[int] = SEEDS,
) -> Grid:
    """Return a grid of your own settings, including plugins. Raises ConfigError.

    Its texts have the sizes of the full grid, so its points are comparable with the bundled ones. epsilons: one list
    for all settings, or one for each; the default is `LEVELS` ε on each setting's own axis."""
    if len(epsilons) > 1 and len(epsilons) != len(settings):
        raise ConfigError(
            f"Give one list of ε for all settings, or one for each: got {len(epsilons)} lists for {len(settings)}."
        )
    sizes = {**GRIDS["full"].sizes, **GRIDS["quick"].sizes}
    for name in data:
        if name not in sizes:
            raise ConfigError(f"There is no data set {name!r}: use one of {', '.join(sizes)}.")
    entries = []
    for number, setting in enumerate(settings):
        given = epsilons[number % len(epsilons)] if epsilons else ()
        levels = given or trade_off_settings.grid(setting.make(), LEVELS)
        points = tuple(setting.ordered().at(e) for e in levels)
        for one in points:
            one.make()  # an invalid ε fails before any measurement
        entries.append(GridEntry(points, tuple(data), tuple(seeds)))
    return Grid(
        "own",
        tuple(entries),
        sizes,
        dict.fromkeys(data, tuple(seeds)),
        "Settings from the command line.",
        {},
        ATTACKERS,
    )


def grid_by_name(name: str, data: bool) -> Grid:
    """Return the grid of this name. Raises ConfigError.

    The quick grid uses SST-2 if there is a folder of data sets. "full+tuned" has the points of both, with the extra
    metrics and the attackers of the first."""
    first, plus, suffix = name.partition("+")
    if first not in GRIDS:
        raise ConfigError(f"Unknown grid {first!r}: use one of {', '.join(GRIDS)}.")
    if plus:
        one, other = grid_by_name(first, data), grid_by_name(suffix, data)
        plain_text = {
            k: tuple(sorted({*one.baselines.get(k, ()), *other.baselines.get(k, ())}))
            for k in {**one.baselines, **other.baselines}
        }
        return replace(
            one,
            name=name,
            entries=one.entries + other.entries,
            sizes={**other.sizes, **one.sizes},
            baselines=plain_text,
        )
    name = first
    return _quick("sst2", Size(48, 30, 40, 14.0)) if name == "quick" and data else GRIDS[name]
