"""What a point of the benchmark measures, and how those of a grid run beside each other.

Every point is appended to a file when it is done; points that are there already are not run again. The grids are in
``runner/grid.py``, the command is :mod:`.bench_run`.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import platform
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.attacks.base import data_attackers
from dptext_core.errors import DPTextError, InputError
from dptext_core.measure import judges
from dptext_core.measure.metrics.registry import BAG, TUNED, judged, measure
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import fields_of
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.device import best_device
from dptext_core.support.statistics import standard_error
from dptext_core.support.version import __version__
from dptext_core.text.document import Document

from ..results import summary as store
from ..results.paired_comparison import pack, unpack
from ..results.rows import Gate, Provenance, RunLine
from ..results.tasks import BenchTask, tasks_of
from . import line_files, tasks
from .data_sets import Data, load
from .grid import BASELINE, GridPoint, Size, cost, groups
from .word_attacks import TEXTS, Words

#: Test texts are split in so many parts to see how far corpus BLEU varies.
_PARTS = 10
_KEPT = 30_000
_RESAMPLED = 500
#: Test texts whose perplexity a language model tells.
JUDGED = 50


@dataclass(frozen=True)
class RunConfig:
    """What a run is given beside its points. extra: more metrics, with the number of test texts of each: at every point
    where ``everywhere`` names them, else at the first seed's. attackers: metrics of attackers on words. words: only
    what is told of words is measured."""

    folder: str | None = None
    stopwords: str | None = None
    command: str = ""
    extra: tuple[tuple[str, int], ...] = ()
    everywhere: tuple[str, ...] = ()
    finetune: str | None = None
    seed: int = 1
    attackers: tuple[str, ...] = ()
    words: bool = False


# --- a data set, its originals and what they score ------------------------------------------------------------------


@dataclass(eq=False)
class Originals:
    """A loaded data set with the embeddings of its texts and what each task scores on them.

    flat: all parts of all texts in order. test: of those the ones to test.
    """

    data: Data
    flat: list[str]
    parts: int
    tokens: int

    @cached_property
    def embedded(self) -> np.ndarray:
        """(parts of all texts, 384)."""
        return embed(self.flat)

    @cached_property
    def guessed(self) -> dict[tuple[BenchTask, str], list[str]]:
        """(task, classifier) → guesses on the test texts."""
        train, test = list(self.data.train), list(self.data.test)
        return {
            (task, judge): guess(judge, task, x[train], self.labels(task)[0], x[test])
            for task in tasks_of(self.data.name)
            for judge, x in self.read(self.flat, self.embedded).items()
        }

    @property
    def test(self) -> list[int]:
        """Places in ``flat`` of the texts to test: the same for every seed."""
        return [i * self.parts + j for i in self.data.test for j in range(self.parts)]

    def features(self, embedded: np.ndarray) -> np.ndarray:
        """(texts, d) of the embeddings (parts of all texts, 384)."""
        return tasks.features([embedded[j :: self.parts] for j in range(self.parts)])

    def read(self, flat: Sequence[str], embedded: np.ndarray) -> dict[str, np.ndarray]:
        """What each classifier reads of all texts, by its name behind a metric's: rows are texts."""
        return {"": self.features(embedded), BAG: np.array(flat, dtype=object).reshape(-1, self.parts)}

    def labels(self, task: BenchTask) -> tuple[list[str], list[str]]:
        """Of the texts to train and to test."""
        all_of = self.data.targets[task.target]
        return [all_of[i] for i in self.data.train], [all_of[i] for i in self.data.test]


def guess(judge: str, task: BenchTask, train: np.ndarray, train_y: Sequence[str], test: np.ndarray) -> list[str]:
    """Guessed labels by the classifier of this name."""
    return judges.classify(task.role, train, train_y, test) if judge else tasks.classify(train, train_y, test)


@lru_cache(maxsize=12)
def originals(name: str, size: Size, folder: str | None, sample: int = 1) -> Originals:
    """The data set with everything that its rewrites are compared with; kept for the process. sample: which texts are
    trained on."""
    place = None if folder is None else Path(folder)
    data = load(name, place, size.n_train, size.n_test, size.max_words, sample)
    flat = [part for text in data.texts for part in text]
    return Originals(data, flat, len(data.texts[0]), sum(len(Document.parse(text).tokens) for text in flat))


_embedded: dict[str, np.ndarray] = {}


def embed(texts: Sequence[str]) -> np.ndarray:
    """Embeddings, float32 (n, 384); each different text once in a while."""
    from dptext_core.models import sentence_encoder

    if len(_embedded) > _KEPT:
        _embedded.clear()
    new = [t for t in dict.fromkeys(texts) if t not in _embedded]
    _embedded.update(zip(new, sentence_encoder.embed(new), strict=True))
    return np.stack([_embedded[t] for t in texts])


# --- scores ---------------------------------------------------------------------------------------------------------


@dataclass
class Scores:
    """Of one point: value, standard error over the test texts (None: not known) and number of texts or words; of some
    metrics what each test text has."""

    scores: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float | None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)

    def add(self, metric: str, value: float, error: float | None, n: int) -> None:
        if math.isfinite(value):
            self.scores[metric], self.errors[metric], self.counts[metric] = float(value), error, n

    def mean(self, metric: str, values: Sequence[float], keep: bool = False) -> None:
        """keep: what each text has is told too."""
        x = np.array([v for v in values if math.isfinite(v)])
        if len(x):
            self.add(metric, x.mean(), standard_error(x), len(x))
            if keep and len(x) == len(values):
                bounds = measure(metric)
                self.outcomes[metric] = pack(x, bounds.low, bounds.high)

    def geometric(self, metric: str, values: Sequence[float]) -> None:
        """The geometric mean: a few texts that no one would write do not decide it."""
        x = np.log([v for v in values if math.isfinite(v) and v > 0])
        if len(x):
            mean, error = math.exp(x.mean()), standard_error(x)
            self.add(metric, mean, None if error is None else mean * error, len(x))

    def clustered(self, metric: str, values: Sequence[float], owners: Sequence[int], shared: float = 0.0) -> None:
        """The mean over words, where those of one text belong together. shared: a standard error that all have."""
        x, places = np.array(values), np.unique(owners, return_inverse=True)[1]
        off = np.bincount(places, x - x.mean())
        error = float(np.sqrt((off**2).sum() * len(off) / max(1, len(off) - 1)) / len(x))
        self.add(metric, x.mean(), math.hypot(error, shared), len(x))

    def guesses(self, metric: str, plain: str, truth: Sequence[str], guessed: Sequence[str]) -> None:
        """The score ``plain`` of guessed labels, under the name of ``metric``."""
        self.add(metric, tasks.score(plain, truth, guessed), tasks.standard_error(plain, truth, guessed), len(truth))
        self.outcomes[metric] = pack([a == b for a, b in zip(truth, guessed, strict=True)], steps=1)

    def over_guessing(self, metric: str, of: str, floor: float) -> None:
        """PP+ of the score ``of``, whose always guessing has ``floor``."""
        error = self.errors[of]
        value = tasks.pp_plus(self.scores[of], floor)
        self.add(metric, value, None if error is None else 10_000 * error, self.counts[of])

    def take(self, other: Scores) -> None:
        """Everything of another one."""
        for name in ("scores", "errors", "counts", "outcomes"):
            getattr(self, name).update(getattr(other, name))


def task_scores(out: Scores, base: Originals, rewrites: Sequence[str], embedded: np.ndarray) -> None:
    """Utility and privacy of the rewrites, by each classifier."""
    after, before = base.read(rewrites, embedded), base.read(base.flat, base.embedded)
    for judge, x in after.items():
        _task_scores(out, base, judge, x, before[judge])


def _task_scores(out: Scores, base: Originals, judge: str, x: np.ndarray, x0: np.ndarray) -> None:
    train, test = list(base.data.train), list(base.data.test)
    right: dict[str, np.ndarray] = {}
    for task in tasks_of(base.data.name):
        train_y, test_y = base.labels(task)
        learners = {"": x}
        if task.role == "privacy":
            learners = {f"_{a.name}": a.training_texts(x0, x) for a in data_attackers()}
        for suffix, learnt in learners.items():
            guessed = guess(judge, task, learnt[train], train_y, x[test])
            metric = task.metric + suffix + judge
            out.guesses(metric, task.metric, test_y, guessed)
            right[task.role + suffix] = np.array([a == b for a, b in zip(test_y, guessed, strict=True)], float)
            if task.role == "utility" and task.metric == "f1":
                out.over_guessing("pp_plus" + judge, metric, tasks.majority(train_y, test_y, task.metric))
        plain = base.guessed[task, judge]
        right[task.role + " 0"] = np.array([a == b for a, b in zip(test_y, plain, strict=True)], float)
    if not {"utility", "privacy_static"} <= set(right):
        return
    for suffix in (f"_{a.name}" for a in data_attackers()):
        four = [right["utility"], right["utility 0"], right["privacy" + suffix], right["privacy 0"]]
        _gain(out, "relative_gain" + suffix + judge, four)


def _gain(out: Scores, metric: str, four: list[np.ndarray]) -> None:
    """γ = U_r/U_o − P_r/P_o of who is right on each text (n,): utility now and before, the attacker now and before."""
    if not all(part.any() for part in four[1::2]):
        return
    n = len(four[0])
    value = tasks.relative_gain(*(float(part.mean()) for part in four))
    # Bootstrap over texts: the four scores of one text belong together.
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLED) / n
    u, u0, p, p0 = (weights @ part for part in four)
    some = (u0 > 0) & (p0 > 0)
    spread = (u[some] / u0[some] - p[some] / p0[some]).std(ddof=1)
    out.add(metric, value, float(spread), n)


def similarity_scores(out: Scores, base: Originals, embedded: np.ndarray, rewrites: Sequence[str]) -> None:
    """Similarity of the rewrites of the test texts with their originals."""
    from dptext_core.measure.metrics import bleu, bleu_uncased, chrf, unchanged

    test = base.test
    before, after = [base.flat[i] for i in test], [rewrites[i] for i in test]
    cosines = np.einsum("nd,nd->n", base.embedded[test], embedded[test]).clip(-1, 1)
    out.mean("cosine", cosines.tolist(), keep=True)
    out.mean("unchanged", unchanged.score(before, after))
    out.mean("bleu_uncased", bleu_uncased.score(before, after))
    out.mean("chrf", chrf.score(before, after))
    value, error = bleu.corpus_bleu(before, after), None
    if len(test) >= 5 * _PARTS:
        parts = [bleu.corpus_bleu(before[k::_PARTS], after[k::_PARTS]) for k in range(_PARTS)]
        error = standard_error(parts)
    out.add("bleu", value, error, len(test))


def further_scores(out: Scores, base: Originals, rewrites: Sequence[str], metrics: Sequence[tuple[str, int]]) -> None:
    """The metrics that take long, on the first test texts."""
    from dptext_core.measure.metrics import METRICS, score

    for metric, n in metrics:
        if metric in METRICS:
            test = base.test[:n]
            scores = score(metric, [base.flat[i] for i in test], [rewrites[i] for i in test])
            if metric == "lm_perplexity":
                out.geometric(metric, scores)
            else:
                out.mean(metric, scores)


def finetuned(
    out: Scores,
    base: Originals,
    rewrites: Sequence[str],
    model: str,
    seed: int,
    plain: dict[BenchTask, list[str]],
) -> dict[BenchTask, list[str]]:
    """Utility with the whole encoder trained on the rewrites; the guesses of each task.

    plain: the guesses of the encoder that was trained on unprotected text. With them there is a relative gain, in which
    the attackers are the first classifier's; of unprotected text itself there is none.
    """
    k = base.parts
    texts = [tuple(rewrites[i * k : (i + 1) * k]) for i in range(len(base.data.texts))]
    found = {}
    for task in tasks_of(base.data.name):
        if task.role == "utility":
            train_y, test_y = base.labels(task)
            train, test = [texts[i] for i in base.data.train], [texts[i] for i in base.data.test]
            found[task] = tasks.finetune(train, train_y, test, seed=seed, model=model)
            metric = task.metric + TUNED
            out.guesses(metric, task.metric, test_y, found[task])
            if task.metric == "f1":
                out.over_guessing("pp_plus" + TUNED, metric, tasks.majority(train_y, test_y, task.metric))
            if task in plain:
                rights = [
                    np.array([a == b for a, b in zip(test_y, g, strict=True)], float)
                    for g in (found[task], plain[task])
                ]
                _tuned_gains(out, base, *rights)
    return found


def _tuned_gains(out: Scores, base: Originals, now: np.ndarray, before: np.ndarray) -> None:
    """Relative gains of a trained encoder's utility, right or wrong of each text (n,), over the first classifier's
    attackers."""
    privacy = next((t for t in tasks_of(base.data.name) if t.role == "privacy"), None)
    if privacy is None:
        return
    _, test_y = base.labels(privacy)
    right = np.array([a == b for a, b in zip(test_y, base.guessed[privacy, ""], strict=True)], float)
    for attacker in data_attackers():
        packed = out.outcomes.get(f"{privacy.metric}_{attacker.name}")
        if packed is not None:
            _gain(out, f"relative_gain_{attacker.name}{TUNED}", [now, before, unpack(packed), right])


# --- running --------------------------------------------------------------------------------------------------------


def run_group(points: Sequence[GridPoint], setup: RunConfig) -> Iterator[RunLine]:
    """The lines of points that share data and a preparation, each as soon as it is done. Each seed has a sample of its
    own to train on, and the test texts of all others.

    Seconds are those of the processor, so that other load on the machine does not count.
    """
    began = time.process_time()
    first = points[0]
    # Unprotected text of the first edition has seed 0, and the first sample.
    bases = {p.seed: originals(p.data, p.size, setup.folder, max(1, p.seed)) for p in points}
    if first.mechanism == BASELINE:
        for point in points:
            yield _unprotected(point, bases[point.seed], setup, began)
            began = time.process_time()
        return
    at = [_mechanism(p, setup) for p in points]
    base = bases[first.seed]
    at[0].rewrite([base.flat[i] for i in base.test[:2]], seed=0)  # loads what it needs, off the clock
    words: dict[Setting, Words] = {}
    for point in points:
        same = {p.epsilon or 0.0: m for p, m in zip(points, at, strict=True) if _way(p) == _way(point)}
        words.setdefault(_way(point), words_of(base, same, setup.attackers))
    known: dict[Setting, Scores] = {}
    mark = time.process_time()
    loading = (mark - began) / len(points)
    for point, rewrites in _rewrites(at, points, bases, words, setup.words):
        assert point.epsilon is not None
        base, out, of_words = bases[point.seed], Scores(), words[_way(point)]
        if not setup.words:
            _text_scores(out, base, rewrites, point, setup)
        if (key := point.setting) not in known:
            known[key] = Scores()
            of_words.score(point.epsilon, known[key].clustered)
        out.take(known[key])
        of_words.score_released(point.epsilon, point.seed, out.clustered)
        now = time.process_time()
        yield _line(point, out, base, setup, now - mark + loading)
        mark = time.process_time()


def _text_scores(out: Scores, base: Originals, rewrites: Sequence[str], point: GridPoint, setup: RunConfig) -> None:
    """What is told of whole texts."""
    embedded = embed(rewrites)
    task_scores(out, base, rewrites, embedded)
    similarity_scores(out, base, embedded, rewrites)
    further_scores(
        out, base, rewrites, [(m, n) for m, n in setup.extra if m in setup.everywhere or point.seed == setup.seed]
    )
    if setup.finetune:
        finetuned(out, base, rewrites, setup.finetune, point.seed, _plainly_tuned(base, setup.finetune, point.seed))


def words_of(base: Originals, at: Mapping[float, Mechanism], attackers: Sequence[str] = ()) -> Words:
    """The words of the data set that are looked at: those of some test texts, the same for every mechanism."""
    order = np.random.default_rng(0).permutation(len(base.test))[:TEXTS]
    return Words(at, {base.test[i]: base.flat[base.test[i]] for i in order}, attackers)


def _way(point: GridPoint) -> Setting:
    """A point without its ε: what is measured of single words depends on that and on ε."""
    return point.setting.at(None)


def _unprotected(point: GridPoint, base: Originals, setup: RunConfig, began: float) -> RunLine:
    """The line of unprotected text, with its gates."""
    out = Scores()
    task_scores(out, base, base.flat, base.embedded)
    gates = _gates(base)
    if point.seed == setup.seed:
        further_scores(out, base, base.flat, [(m, n) for m, n in setup.extra if m in ("perplexity", "lm_perplexity")])
    if setup.finetune:
        tuned = _plainly_tuned(base, setup.finetune, point.seed, out)
        gates += tuple(tasks.gate(base.data, task, guessed, TUNED) for task, guessed in tuned.items())
    line = _line(point, out, base, setup, time.process_time() - began)
    return replace(line, dataset=_dataset(base, point.size), gates=gates)


#: What encoders that were trained on unprotected text guess, kept for the process: by the originals, model and seed.
_tuned: dict[tuple[Any, ...], tuple[Originals, Scores, dict[BenchTask, list[str]]]] = {}


def _plainly_tuned(base: Originals, model: str, seed: int, out: Scores | None = None) -> dict[BenchTask, list[str]]:
    """The guesses of the encoder trained on unprotected text, which takes minutes once; out: takes its scores."""
    key = (id(base), model, seed)
    if key not in _tuned:
        scores = Scores()
        _tuned[key] = base, scores, finetuned(scores, base, base.flat, model, seed, {})  # so that the id stays its own
    if out is not None:
        out.take(_tuned[key][1])
    return _tuned[key][2]


def _mechanism(point: GridPoint, setup: RunConfig) -> Mechanism:
    return with_stop_words(point.setting, setup.stopwords).make()


def with_stop_words(setting: Setting, file: str | None) -> Setting:
    """The same with this file of stop words, where the mechanism takes one and a file is named."""
    named = [name for name, f in fields_of(setting.mechanism).items() if f.metadata.get("stop_list")]
    return setting if file is None else replace(setting, options={**setting.options, **dict.fromkeys(named, file)})


def _rewrites(
    at: Sequence[Mechanism],
    points: Sequence[GridPoint],
    bases: Mapping[int, Originals],
    words: Mapping[Setting, Words],
    only_words: bool,
) -> Iterator[tuple[GridPoint, list[str]]]:
    """Each point with the rewrites of all parts of all its texts.

    only_words: "" of those whose words no one looks at.
    """
    streams = [NoiseStream(p.seed) for p in points]
    if not at[0].slow_to_prepare:
        for point, variant, stream in zip(points, at, streams, strict=True):
            assert point.epsilon is not None
            flat, taker = bases[point.seed].flat, words[_way(point)]
            read = list(taker.wanted) if only_words else range(len(flat))
            results = variant.rewrite([flat[i] for i in read], stream=stream.numbered(read))
            done = dict(zip(read, results, strict=True))
            for i in taker.wanted:
                taker.take(point.epsilon, point.seed, i, done[i])
            yield point, [done[i].text if i in done else "" for i in range(len(flat))]
        return
    # A model reads each text once for all ε and seeds. What it says of all texts together would not fit in memory.
    texts = [[""] * len(bases[p.seed].flat) for p in points]
    places: dict[str, list[tuple[int, int]]] = {}
    for j, point in enumerate(points):
        flat, wanted = bases[point.seed].flat, words[_way(point)].wanted
        for i in dict.fromkeys([*wanted, *(() if only_words else range(len(flat)))]):
            places.setdefault(flat[i], []).append((j, i))
    for prepared, where in zip(at[0].prepare_many(list(places)), places.values(), strict=True):
        for j, i in where:
            epsilon = points[j].epsilon
            assert epsilon is not None
            result = at[j].rewrite(prepared, stream=streams[j].at(i))
            texts[j][i] = result.text
            words[_way(points[j])].take(epsilon, points[j].seed, i, result)
    yield from zip(points, texts, strict=True)


def _line(point: GridPoint, out: Scores, base: Originals, setup: RunConfig, seconds: float) -> RunLine:
    made = Provenance(
        version=__version__,
        command=setup.command,
        data_sha256=base.data.sha256,
        device=best_device(),
        machine=machine(),
        stopwords=stop_list(setup.stopwords),
        finished=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return RunLine(
        id=point.id,
        setting=point.setting,
        data=point.data,
        seed=point.seed,
        n_train=point.size.n_train,
        n_test=point.size.n_test,
        max_words=point.size.max_words,
        scores=out.scores,
        errors=out.errors,
        counts=out.counts,
        outcomes=out.outcomes,
        seconds=round(seconds, 3),
        tokens=base.tokens,
        provenance=made,
    )


def _dataset(base: Originals, size: Size) -> dict[str, Any]:
    """What a line of unprotected text says of its data set."""
    d = base.data
    note = f"the first {size.max_words} words of each text" if size.max_words else ""
    return {
        "title": d.title,
        "file": d.file,
        "sha256": d.sha256,
        "n_train": len(d.train),
        "n_test": len(d.test),
        "max_words": size.max_words,
        "tokens": base.tokens,
        "note": note,
    }


def _gates(base: Originals) -> tuple[Gate, ...]:
    """Those of the first classifier stand first."""
    found = [tasks.gate(base.data, task, guessed, judge) for (task, judge), guessed in base.guessed.items()]
    return tuple(sorted(found, key=lambda gate: judged(gate.metric)[1]))


def stop_list(path: str | None) -> str:
    from dptext_core.text.lexicons import stop_words

    return stop_words(path).source


@cache
def machine() -> str:
    """Processor, cores, Python and torch."""
    import torch

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    made = f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}"
    return f"{made}, embeddings in float32"


def one_thread() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


def _end_with(process: Any) -> None:
    process.join()
    os._exit(1)


def _worker(work: Any, done: Any, setup: RunConfig) -> None:
    """One process: groups from ``work`` until None, lines to ``done``. It ends with its parent, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    one_thread()
    try:
        for group in iter(work.get, None):
            for line in run_group(group, setup):
                done.put(line)
    except DPTextError as error:
        done.put(error)
    done.put(None)


def lines_of(todo: Sequence[list[GridPoint]], setup: RunConfig, jobs: int) -> Iterator[RunLine]:
    """The lines of all groups, in this process or in ``jobs`` others."""
    if jobs == 1:
        one_thread()
        for group in todo:
            yield from run_group(group, setup)
        return
    context = multiprocessing.get_context("spawn")
    work, done = context.Queue(), context.Queue()
    for group in todo:
        work.put(group)
    for _ in range(jobs):
        work.put(None)
    workers = [context.Process(target=_worker, args=(work, done, setup), daemon=True) for _ in range(jobs)]
    try:
        for w in workers:
            w.start()
        left = jobs
        while left:
            try:
                got = done.get(timeout=5)
            except queue.Empty as error:
                if any(w.exitcode for w in workers):
                    raise DPTextError(
                        "A process of the run ended on its own, perhaps for want of memory. The same command goes on."
                    ) from error
                continue
            if isinstance(got, DPTextError):
                raise got
            if got is None:
                left -= 1
            else:
                yield got
    finally:
        for w in workers:
            w.terminate()


def seconds_left(took: float, done: float, whole: float, jobs: int = 1) -> float:
    """Seconds until the end. took: seconds so far. done, whole: of one core, as estimated. What was estimated counts
    like a tenth of the work: the first points, at which models are loaded, say little of those that follow."""
    trusted = max(0.1 * whole, 1e-9)
    return (took + trusted / jobs) / (done + trusted) * max(0.0, whole - done)


def run(points: Sequence[GridPoint], setup: RunConfig, out: Path, jobs: int = 1, say: Any = None) -> int:
    """Runs what is not in ``out`` yet; the number of points that were run. ``say`` takes lines of progress."""
    before = store.read_lines(out)
    for line in before:
        if line.provenance.stopwords != stop_list(setup.stopwords):
            raise InputError(f"{out} was made with {line.provenance.stopwords}. Use the same list, or another file.")
        if line.provenance.command != setup.command:
            raise InputError(f"{out} was made by: {line.provenance.command}. Use the same options, or another file.")
    have = {line.id for line in before}
    todo = [left for group in groups(points) if (left := [p for p in group if p.id not in have])]
    total = sum(map(len, todo))
    if say:
        say(
            f"{len(points)} points, {len(points) - total} done, {total} to run, "
            f"about {sum(map(cost, todo)) / 60:.0f} core-minutes"
        )
    group_of = {p.id: i for i, group in enumerate(todo) for p in group}
    share = [cost(group) / len(group) for group in todo]
    began, estimated, count = time.perf_counter(), 0.0, 0
    whole = sum(map(cost, todo))
    writer = line_files.LineWriter(out)
    try:
        for line in lines_of(todo, setup, jobs):
            writer.write(line)
            count += 1
            estimated += share[group_of[line.id]]
            if say:
                rest = seconds_left(time.perf_counter() - began, estimated, whole, jobs)
                options = " ".join(str(v) for v in line.options.values())
                say(
                    f"{count}/{total} {line.mechanism} {options} on {line.data}, ε {line.epsilon}, seed "
                    f"{line.seed}: {line.seconds:.1f} s; {rest / 60:.0f} min left"
                )
    finally:
        writer.close()
    return count
