"""Runs a grid of mechanisms on public data: utility, privacy, similarity, deniability and speed at every ε.

Every point is appended to --out when it is done; points that are there already are not run again. --merge makes one
summary of any number of such files. The grids are in ``evaluation/grid.py``.

    python -m dptext_core bench run --grid full --data FOLDER --stopwords FILE --shard 1/3 --out 1.jsonl
    python -m dptext_core bench run --grid full --merge 1.jsonl 2.jsonl 3.jsonl --summary results.json
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import platform
import queue
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..attacks.base import data_attackers
from ..device import best_device
from ..document import Document
from ..errors import ConfigError, DPTextError, InputError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import get_mechanism, mechanism_class
from ..result import RewriteResult
from ..sampling import NoiseStream
from . import results as store
from . import tasks
from .data import Data, load
from .grid import BASELINE, GRIDS, Grid, Point, Size, cost, groups, named, plain, shard
from .rows import Gate, Line, Provenance

#: Words whose N_w and S_w are averaged: those of some test texts, all of each text.
WORDS = 100
_TEXTS = 60
#: Test texts are split in so many parts to see how far corpus BLEU varies.
_PARTS = 10
_KEPT = 30_000
_RESAMPLED = 500


@dataclass(frozen=True)
class Setup:
    """What a run is given beside its points. extra: more metrics, with the number of test texts of each."""

    folder: str | None = None
    stopwords: str | None = None
    command: str = ""
    extra: tuple[tuple[str, int], ...] = ()
    everywhere: tuple[str, ...] = ()
    finetune: str | None = None
    seed: int = 1


# --- a data set, its originals and what they score ------------------------------------------------------------------


@dataclass(eq=False)
class Originals:
    """A loaded data set with the embeddings of its texts and what each task scores on them.

    flat: all parts of all texts in order. test: of those the ones to test. guessed: task → guesses on the test texts.
    """

    data: Data
    flat: list[str]
    parts: int
    embedded: np.ndarray
    tokens: int
    guessed: dict[tasks.Task, list[str]] = field(default_factory=dict)

    @property
    def test(self) -> list[int]:
        """Places in ``flat`` of the texts to test."""
        return [i * self.parts + j for i in self.data.test for j in range(self.parts)]

    def features(self, embedded: np.ndarray) -> np.ndarray:
        """(texts, d) of the embeddings (parts of all texts, 384)."""
        return tasks.features([embedded[j :: self.parts] for j in range(self.parts)])

    def labels(self, task: tasks.Task) -> tuple[list[str], list[str]]:
        """Of the texts to train and to test."""
        all_of = self.data.targets[task.target]
        return [all_of[i] for i in self.data.train], [all_of[i] for i in self.data.test]


@lru_cache(maxsize=16)
def originals(name: str, size: Size, folder: str | None) -> Originals:
    """The data set with everything that its rewrites are compared with; kept for the process."""
    data = load(name, None if folder is None else Path(folder), size.n_train, size.n_test, size.max_words)
    flat = [part for text in data.texts for part in text]
    tokens = sum(len(Document.parse(text).tokens) for text in flat)
    out = Originals(data, flat, len(data.texts[0]), embed(flat), tokens)
    x = out.features(out.embedded)
    train, test = list(data.train), list(data.test)
    for task in tasks.tasks_of(name):
        out.guessed[task] = tasks.classify(x[train], out.labels(task)[0], x[test])
    return out


_embedded: dict[str, np.ndarray] = {}


def embed(texts: Sequence[str]) -> np.ndarray:
    """Embeddings, float32 (n, 384); each different text once in a while."""
    from ..metrics import cosine

    if len(_embedded) > _KEPT:
        _embedded.clear()
    new = [t for t in dict.fromkeys(texts) if t not in _embedded]
    _embedded.update(zip(new, cosine.embed(new, batch_size=64), strict=True))
    return np.stack([_embedded[t] for t in texts])


# --- scores ---------------------------------------------------------------------------------------------------------


@dataclass
class Scores:
    """Of one point: value, standard error over the test texts (None: not known) and number of texts or words."""

    scores: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float | None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, metric: str, value: float, error: float | None, n: int) -> None:
        if math.isfinite(value):
            self.scores[metric], self.errors[metric], self.counts[metric] = float(value), error, n

    def mean(self, metric: str, values: Sequence[float]) -> None:
        x = np.array([v for v in values if math.isfinite(v)])
        if len(x):
            self.add(metric, x.mean(), float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else None, len(x))


def task_scores(out: Scores, base: Originals, embedded: np.ndarray) -> None:
    """Utility and privacy of the rewrites with these embeddings."""
    x, x0 = base.features(embedded), base.features(base.embedded)
    train, test = list(base.data.train), list(base.data.test)
    right: dict[str, np.ndarray] = {}
    for task in tasks.tasks_of(base.data.name):
        train_y, test_y = base.labels(task)
        learners = {"": x}
        if task.role == "privacy":
            learners = {f"_{a.name}": a.training_texts(x0, x) for a in data_attackers()}
        for suffix, learnt in learners.items():
            guess = tasks.classify(learnt[train], train_y, x[test])
            value = tasks.score(task.metric, test_y, guess)
            error = tasks.standard_error(task.metric, test_y, guess)
            out.add(task.metric + suffix, value, error, len(test_y))
            right[task.role + suffix] = np.array([a == b for a, b in zip(test_y, guess, strict=True)], float)
            if task.role == "utility" and task.metric == "f1":
                floor = tasks.majority(train_y, test_y, task.metric)
                out.add("pp_plus", tasks.pp_plus(value, floor), 10_000 * error, len(test_y))
        right[task.role + " 0"] = np.array([a == b for a, b in zip(test_y, base.guessed[task], strict=True)], float)
    if not {"utility", "privacy_static"} <= set(right):
        return
    n = len(test)
    # Bootstrap over texts: the four scores of one text belong together.
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLED) / n
    for suffix in (f"_{a.name}" for a in data_attackers()):
        four = [right["utility"], right["utility 0"], right["privacy" + suffix], right["privacy 0"]]
        if all(part.any() for part in four[1::2]):
            value = tasks.relative_gain(*(float(part.mean()) for part in four))
            u, u0, p, p0 = (weights @ part for part in four)
            some = (u0 > 0) & (p0 > 0)
            spread = (u[some] / u0[some] - p[some] / p0[some]).std(ddof=1)
            out.add("relative_gain" + suffix, value, float(spread), n)


def similarity_scores(out: Scores, base: Originals, embedded: np.ndarray, rewrites: Sequence[str]) -> None:
    """Similarity of the rewrites of the test texts with their originals."""
    from ..metrics import bleu, unchanged

    test = base.test
    before, after = [base.flat[i] for i in test], [rewrites[i] for i in test]
    out.mean("cosine", np.einsum("nd,nd->n", base.embedded[test], embedded[test]).clip(-1, 1).tolist())
    out.mean("unchanged", unchanged.score(before, after))
    value, error = bleu.corpus_bleu(before, after), None
    if len(test) >= 5 * _PARTS:
        parts = [bleu.corpus_bleu(before[k::_PARTS], after[k::_PARTS]) for k in range(_PARTS)]
        error = float(np.std(parts, ddof=1) / math.sqrt(_PARTS))
    out.add("bleu", value, error, len(test))


def further_scores(out: Scores, base: Originals, rewrites: Sequence[str], metrics: Sequence[tuple[str, int]]) -> None:
    """The metrics that take long, on the first test texts."""
    from ..metrics import METRICS, score

    for metric, n in metrics:
        if metric in METRICS:
            test = base.test[:n]
            out.mean(metric, score(metric, [base.flat[i] for i in test], [rewrites[i] for i in test]))


def finetuned(out: Scores, base: Originals, rewrites: Sequence[str], model: str, seed: int) -> None:
    """Utility with the whole encoder trained on the rewrites."""
    k = base.parts
    texts = [tuple(rewrites[i * k : (i + 1) * k]) for i in range(len(base.data.texts))]
    for task in tasks.tasks_of(base.data.name):
        if task.role == "utility":
            train_y, test_y = base.labels(task)
            train, test = [texts[i] for i in base.data.train], [texts[i] for i in base.data.test]
            guess = tasks.finetune(train, train_y, test, seed=seed, model=model)
            value, error = tasks.score(task.metric, test_y, guess), tasks.standard_error(task.metric, test_y, guess)
            out.add(task.metric + "_finetuned", value, error, len(test_y))


class Deniability:
    """N_w and S_w over the drawn words of some test texts, by their channels; the same words at every ε."""

    def __init__(self, base: Originals):
        order = np.random.default_rng(0).permutation(len(base.test))[:_TEXTS]
        self.wanted = [base.test[i] for i in order]
        self._results: dict[int, RewriteResult] = {}
        self._channels: list[tuple[int, Any]] | None = None

    def take(self, i: int, result: RewriteResult) -> None:
        """A rewrite of text i, at any ε."""
        if i in self.wanted and i not in self._results:
            self._results[i] = result

    def _all(self) -> list[tuple[int, Any]]:
        if self._channels is None:
            self._channels = []
            for i in self.wanted:
                result = self._results.get(i)
                if result is None or "sweep" not in result.can or len(self._channels) >= WORDS:
                    continue
                drawn = [k for k, s in enumerate(result.steps) if s.action == "replace" and not s.reason]
                self._channels += [(i, result.locked(k)[0]) for k in drawn]
            self._results.clear()
        return self._channels

    def add(self, out: Scores, epsilon: float) -> None:
        channels = self._all()
        if not channels:
            return
        both = np.array([channel.deniability(epsilon) for _, channel in channels])
        owners = np.unique([i for i, _ in channels], return_inverse=True)[1]
        for metric, x in zip(("n_w", "s_w"), both.T, strict=True):
            # Words of one text belong together.
            off = np.bincount(owners, x - x.mean())
            error = float(np.sqrt((off**2).sum() * len(off) / max(1, len(off) - 1)) / len(x))
            out.add(metric, x.mean(), error, len(x))


# --- running --------------------------------------------------------------------------------------------------------


def run_group(points: Sequence[Point], setup: Setup) -> Iterator[Line]:
    """The lines of points that share mechanism, options and data, each as soon as it is done.

    Seconds are those of the processor, so that other load on the machine does not count.
    """
    began = time.process_time()
    first = points[0]
    base = originals(first.data, first.size, setup.folder)
    if first.mechanism == BASELINE:
        out = Scores()
        task_scores(out, base, base.embedded)
        more = [(m, n) for m, n in setup.extra if m in ("perplexity", "lm_perplexity")]
        further_scores(out, base, base.flat, more)
        if setup.finetune:
            finetuned(out, base, base.flat, setup.finetune, setup.seed)
        line = _line(first, out, base, setup, time.process_time() - began)
        yield replace(line, dataset=_dataset(base, first.size), gates=_gates(base))
        return
    mechanism = _mechanism(first, setup)
    mechanism.rewrite([base.flat[i] for i in base.test[:2]], seed=0)  # loads what it needs, off the clock
    deniability = Deniability(base)
    known: dict[float, Scores] = {}
    mark = time.process_time()
    loading = (mark - began) / len(points)
    for point, rewrites, taken in _rewrites(mechanism, points, base, deniability):
        assert point.epsilon is not None
        out = Scores()
        embedded = embed(rewrites)
        task_scores(out, base, embedded)
        similarity_scores(out, base, embedded, rewrites)
        further_scores(
            out, base, rewrites, [(m, n) for m, n in setup.extra if m in setup.everywhere or point.seed == setup.seed]
        )
        if setup.finetune:
            finetuned(out, base, rewrites, setup.finetune, point.seed)
        if point.epsilon not in known:
            known[point.epsilon] = Scores()
            deniability.add(known[point.epsilon], point.epsilon)
        for metric, value in known[point.epsilon].scores.items():
            out.add(metric, value, known[point.epsilon].errors[metric], known[point.epsilon].counts[metric])
        out.add("tokens_per_second", base.tokens / taken, None, base.tokens)
        now = time.process_time()
        yield _line(point, out, base, setup, now - mark + loading)
        mark = time.process_time()


def _mechanism(point: Point, setup: Setup) -> Mechanism:
    options = dict(point.options)
    if setup.stopwords is not None and hasattr(mechanism_class(point.mechanism).config_cls, "stopwords"):
        options["stopwords"] = setup.stopwords
    return get_mechanism(point.mechanism, epsilon=point.epsilon, **options)


def _rewrites(
    mechanism: Mechanism, points: Sequence[Point], base: Originals, deniability: Deniability
) -> Iterator[tuple[Point, list[str], float]]:
    """Each point with the rewrites of all parts of all texts, and the seconds that these take by themselves."""
    at = [mechanism.with_(epsilon=p.epsilon) for p in points]
    streams = [NoiseStream(p.seed) for p in points]
    if not mechanism.slow_to_prepare:
        for point, variant, stream in zip(points, at, streams, strict=True):
            began = time.process_time()
            done = variant.rewrite(base.flat, stream=stream)
            taken = time.process_time() - began
            for i in deniability.wanted:
                deniability.take(i, done[i])
            yield point, [r.text for r in done], taken
        return
    # A model reads each text once for all ε and seeds. What it says of all texts together would not fit in memory.
    texts: list[list[str]] = [[] for _ in points]
    seconds = np.zeros(len(points))
    began = time.process_time()
    for i, prepared in enumerate(mechanism.prepare_many(base.flat)):
        seconds += time.process_time() - began
        for j, (variant, stream) in enumerate(zip(at, streams, strict=True)):
            began = time.process_time()
            result = variant.rewrite(prepared, stream=stream.at(i))
            seconds[j] += time.process_time() - began
            texts[j].append(result.text)
            deniability.take(i, result)
        began = time.process_time()
    yield from zip(points, texts, seconds.tolist(), strict=True)


def _line(point: Point, out: Scores, base: Originals, setup: Setup, seconds: float) -> Line:
    made = Provenance(
        __version__, setup.command, base.data.sha256, best_device(), _machine(), _stop_list(setup.stopwords),
        datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )  # fmt: skip
    return Line(
        point.id, **point.setting, scores=out.scores, errors=out.errors, counts=out.counts, seconds=round(seconds, 3),
        tokens=base.tokens, provenance=made,
    )  # fmt: skip


def _dataset(base: Originals, size: Size) -> dict[str, Any]:
    """What a line of unprotected text says of its data set."""
    d = base.data
    note = f"the first {size.max_words} words of each text" if size.max_words else ""
    return {
        "title": d.title, "file": d.file, "sha256": d.sha256, "n_train": len(d.train), "n_test": len(d.test),
        "max_words": size.max_words, "tokens": base.tokens, "note": note,
    }  # fmt: skip


def _gates(base: Originals) -> tuple[Gate, ...]:
    x = base.features(base.embedded)
    return tuple(tasks.gate(base.data, t, x) for t in tasks.tasks_of(base.data.name))


def _stop_list(path: str | None) -> str:
    from ..words.lexicons import stop_words

    return stop_words(path).source


@cache
def _machine() -> str:
    """Processor, cores, Python and torch."""
    import torch

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}"


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _end_with(process: Any) -> None:
    process.join()
    os._exit(1)


def _worker(work: Any, done: Any, setup: Setup) -> None:
    """One process: groups from ``work`` until None, lines to ``done``. It ends with its parent, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _one_thread()
    try:
        for group in iter(work.get, None):
            for line in run_group(group, setup):
                done.put(line)
    except DPTextError as error:
        done.put(error)
    done.put(None)


def lines_of(todo: Sequence[list[Point]], setup: Setup, jobs: int) -> Iterator[Line]:
    """The lines of all groups, in this process or in ``jobs`` others."""
    if jobs == 1:
        _one_thread()
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


def run(points: Sequence[Point], setup: Setup, out: Path, jobs: int = 1, say: Any = None) -> int:
    """Runs what is not in ``out`` yet; the number of points that were run. ``say`` takes lines of progress."""
    before = store.read_lines(out)
    for line in before:
        if line.provenance.stopwords != _stop_list(setup.stopwords):
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
    writer = store.Writer(out)
    try:
        for line in lines_of(todo, setup, jobs):
            writer.write(line)
            count += 1
            estimated += share[group_of[line.id]]
            if say:
                rest = (time.perf_counter() - began) * max(0.0, whole - estimated) / max(estimated, 1e-9)
                options = " ".join(str(v) for v in line.options.values())
                say(
                    f"{count}/{total} {line.mechanism} {options} on {line.data}, ε {line.epsilon}, seed "
                    f"{line.seed}: {line.seconds:.1f} s; {rest / 60:.0f} min left"
                )
    finally:
        writer.close()
    return count


# --- the command ----------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dptext_core bench run", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--grid", choices=sorted(GRIDS), default="quick", help="what is run (default quick)")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the folder with the data sets")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where points go, a JSON line each")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="the I-th of N parts of about the same cost")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes, of one thread each (default 1)")
    parser.add_argument("--stopwords", metavar="FILE", help="a list of stop words, one a line, for all mechanisms")
    parser.add_argument("--only", metavar="TEXT", help="only points whose MECHANISM/DATA has this text in it")
    parser.add_argument("--n", type=int, metavar="N", help="at most N texts to train and N to test")
    parser.add_argument("--point", metavar="ID", help="run one point and show its scores beside the bundled ones")
    parser.add_argument("--bertscore", action="store_true", help="BERTScore at every point, not at the first seed's")
    parser.add_argument("--perplexity", action="store_true", help="pseudo-perplexity of 50 test texts at every point")
    parser.add_argument(
        "--lm-perplexity", action="store_true", help="perplexity of 50 test texts under a language model that was added"
    )
    parser.add_argument("--finetune", nargs="?", const="bundled", metavar="MODEL", help="also train a whole encoder")
    parser.add_argument("--list", action="store_true", help="list the groups of points and their estimated cost")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="make a summary of these files")
    parser.add_argument("--into", type=Path, metavar="FILE", help="with --merge: add to this summary's points")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="where the summary goes")
    return parser


def main(argv: Sequence[str] = ()) -> int:
    """The command ``bench run``."""
    args = _parser().parse_args(argv)
    grid = named(args.grid, args.data is not None)
    if args.n is not None:
        grid = grid.smaller(args.n)
    points = [p for p in grid.points() if args.only is None or args.only in f"{p.mechanism}/{p.data}"]
    if not points:
        raise ConfigError(f"No point of the grid has {args.only!r} in its MECHANISM/DATA. See --list.")
    if args.merge:
        if args.point or args.list or args.shard != "1/1":
            raise ConfigError("--merge goes with --grid, --n, --only and --summary alone.")
        return _merge(args, grid, points)
    points = shard(points, *_share(args.shard))
    if args.list:
        return _list(points)
    if args.jobs < 1:
        raise ConfigError(f"--jobs must be at least 1, not {args.jobs}.")
    extra = dict(grid.extra)
    if args.bertscore:
        extra.setdefault("bertscore", 100)
    if args.perplexity:
        extra["perplexity"] = 50
    if args.lm_perplexity:
        from ..metrics import lm_perplexity

        lm_perplexity.judge_folder()  # that it is missing is said before anything is measured
        extra["lm_perplexity"] = 50
    everywhere = tuple(m for m in ("bertscore", "perplexity", "lm_perplexity") if getattr(args, m))
    setup = Setup(
        None if args.data is None else str(args.data), args.stopwords, _command(args), tuple(extra.items()), everywhere,
        args.finetune,
    )  # fmt: skip
    if args.point:
        if args.only or args.shard != "1/1" or args.out:
            raise ConfigError("--point runs one point and writes no file: leave out --only, --shard and --out.")
        return _point(args.point, grid, setup)
    if args.out is None:
        raise ConfigError("Name the file that the points go to: --out FILE.jsonl.")
    try:
        run(points, setup, args.out, args.jobs, lambda text: print(text, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        print(f"Stopped. What is done is in {args.out}; the same command goes on from there.", file=sys.stderr)
        raise
    return 0


def _share(text: str) -> tuple[int, int]:
    i, slash, n = text.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal()):
        raise ConfigError(f"A shard is I/N, such as 1/3, not {text!r}.")
    return int(i), int(n)


def _command(args: argparse.Namespace) -> str:
    """The command that made a line, without this machine's paths."""
    words = ["python", "-m", "dptext_core", "bench", "run", "--grid", args.grid]
    words += ["--data", "FOLDER"] * (args.data is not None)
    words += ["--stopwords", Path(args.stopwords).name] if args.stopwords else []
    words += ["--n", str(args.n)] if args.n else []
    for metric in ("bertscore", "perplexity", "lm_perplexity"):
        words += ["--" + metric.replace("_", "-")] * getattr(args, metric)
    words += ["--finetune"] * (args.finetune is not None)
    return shlex.join(words)


def _list(points: Sequence[Point]) -> int:
    for group in groups(points):
        p = group[0]
        options = ", ".join(f"{k} {v}" for k, v in plain(p.options).items())
        levels = ", ".join(f"{e:g}" for e in dict.fromkeys(q.epsilon for q in group) if e is not None)
        print(
            f"{p.mechanism:13s} {p.data:8s} {len(group):3d} points {cost(group) / 60:5.1f} min  ε {levels}  {options}"
        )
    print(f"{len(points)} points, about {sum(map(cost, groups(points))) / 60:.0f} core-minutes")
    return 0


def _merge(args: argparse.Namespace, grid: Grid, points: Sequence[Point]) -> int:
    if args.summary is None:
        raise ConfigError("Name the file that the summary goes to: --summary FILE.")
    lines = []
    for path in args.merge:
        if not path.is_file():
            raise InputError(f"There is no file {path}.")
        lines += store.read_lines(path)
    commands = sorted({line.provenance.command for line in lines})
    found, notes = store.merge(lines, points, "; ".join(commands), grid.cut)
    if args.into is not None:
        found, notes = store.joined(store.read(args.into), found, len(points), grid.cut), []
    store.write(found, args.summary)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    about = found.about
    print(f"{args.summary}: {len(found.rows)} rows of {about['points']} points, {about['core_minutes']} core-minutes")
    return 0


def _point(wanted: str, grid: Grid, setup: Setup) -> int:
    found = [p for p in grid.points() if p.id == wanted]
    if not found:
        raise ConfigError(
            f"The grid {grid.name} has no point {wanted!r}. Name another --grid, or see the bundled rows."
        )
    _one_thread()
    (line,) = run_group(found, setup)
    summary = store.bundled()
    same = ("mechanism", "options", "epsilon", "data")
    rows = {} if summary is None else {
        r.metric: r for r in summary.rows if all(getattr(r, k) == getattr(line, k) for k in same)
    }  # fmt: skip
    print(f"{wanted}: " + ", ".join(f"{k} {v}" for k, v in line.setting.items()))
    for metric, value in line.scores.items():
        row = rows.get(metric)
        beside = "" if row is None else f"   bundled {row.value:g} ({row.low} to {row.high}, {row.seeds} seeds)"
        print(f"{metric:24s} {value:12.6g}{beside}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
