"""Measure the points of one group: those that share a data set and a preparation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dptext_core.measure.metrics.registry import TUNED, split_judge
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import fields_of
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.device import best_device
from dptext_core.support.version import __version__

from ..results.rows import Gate, Provenance, RunLine
from ..results.tasks import BenchTask
from . import original_texts, tasks
from .grid import BASELINE, GridPoint, Size
from .machine import describe_machine
from .original_texts import Originals, load_originals
from .scores import Scores, add_finetuned, add_similarity, add_slow_metrics, add_task_scores
from .word_attacks import TEXTS, Words

#: Number of test texts for a language model's perplexity.
PERPLEXITY_TEXTS = 50


@dataclass(frozen=True)
class RunConfig:
    """The configuration of a run. attackers: metrics of attackers on words. words: run only these attackers.

    extra: additional metrics, with their numbers of test texts, for the first seed, or at every point if in
    ``everywhere``."""

    folder: str | None = None
    stopwords: str | None = None
    command: str = ""
    extra: tuple[tuple[str, int], ...] = ()
    everywhere: tuple[str, ...] = ()
    finetune: str | None = None
    seed: int = 1
    attackers: tuple[str, ...] = ()
    words: bool = False


def run_group(points: Sequence[GridPoint], setup: RunConfig) -> Iterator[RunLine]:
    """Yield the lines of points with the same data and preparation, each as soon as it is finished.

    Each seed has its own training sample, and all share the test texts. Seconds are CPU time, so other load on the
    machine does not count.
    """
    began = time.process_time()
    first = points[0]
    # Unprotected text in older files has seed 0 and the first sample.
    bases = {p.seed: load_originals(p.data, p.size, setup.folder, max(1, p.seed)) for p in points}
    if first.mechanism == BASELINE:
        for point in points:
            yield _unprotected(point, bases[point.seed], setup, began)
            began = time.process_time()
        return
    at = [_make_mechanism(p, setup) for p in points]
    base = bases[first.seed]
    at[0].rewrite([base.flat[i] for i in base.test[:2]], seed=0)  # warm-up before the timing
    words: dict[Setting, Words] = {}
    for point in points:
        same = {
            p.epsilon or 0.0: m
            for p, m in zip(points, at, strict=True)
            if _without_epsilon(p) == _without_epsilon(point)
        }
        words.setdefault(_without_epsilon(point), words_of(base, same, setup.attackers))
    known: dict[Setting, Scores] = {}
    mark = time.process_time()
    loading = (mark - began) / len(points)
    for point, rewrites in _rewrites(at, points, bases, words, setup.words):
        assert point.epsilon is not None
        base, out, of_words = bases[point.seed], Scores(), words[_without_epsilon(point)]
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
    """Add the scores of attackers on whole texts."""
    embedded = original_texts.embed(rewrites)
    add_task_scores(out, base, rewrites, embedded)
    add_similarity(out, base, embedded, rewrites)
    add_slow_metrics(
        out, base, rewrites, [(m, n) for m, n in setup.extra if m in setup.everywhere or point.seed == setup.seed]
    )
    if setup.finetune:
        add_finetuned(
            out, base, rewrites, setup.finetune, point.seed, _guesses_of_finetuned(base, setup.finetune, point.seed)
        )


def words_of(base: Originals, at: Mapping[float, Mechanism], attackers: Sequence[str] = ()) -> Words:
    """Return the attacked words of the data set: those of some test texts, the same for every mechanism."""
    order = np.random.default_rng(0).permutation(len(base.test))[:TEXTS]
    return Words(at, {base.test[i]: base.flat[base.test[i]] for i in order}, attackers)


def _without_epsilon(point: GridPoint) -> Setting:
    """Return a point without its ε, as the key for measures of single words."""
    return point.setting.at(None)


def _unprotected(point: GridPoint, base: Originals, setup: RunConfig, began: float) -> RunLine:
    """Return the line of unprotected text, with its gates."""
    out = Scores()
    add_task_scores(out, base, base.flat, base.embedded)
    gates = _first_gates(base)
    if point.seed == setup.seed:
        add_slow_metrics(out, base, base.flat, [(m, n) for m, n in setup.extra if m in ("perplexity", "lm_perplexity")])
    if setup.finetune:
        tuned = _guesses_of_finetuned(base, setup.finetune, point.seed, out)
        gates += tuple(tasks.gate(base.data, task, guessed, TUNED) for task, guessed in tuned.items())
    line = _line(point, out, base, setup, time.process_time() - began)
    return replace(line, dataset=_dataset(base, point.size), gates=gates)


#: Predictions of encoders trained on unprotected text, cached for the process by originals, model and seed.
_encoder_guesses: dict[tuple[Any, ...], tuple[Originals, Scores, dict[BenchTask, list[str]]]] = {}


def _guesses_of_finetuned(
    base: Originals, model: str, seed: int, out: Scores | None = None
) -> dict[BenchTask, list[str]]:
    """Return the predictions of an encoder trained on unprotected text. out: receives its scores.

    The first call takes minutes."""
    key = (id(base), model, seed)
    if key not in _encoder_guesses:
        scores = Scores()
        _encoder_guesses[key] = (
            base,
            scores,
            add_finetuned(scores, base, base.flat, model, seed, {}),
        )  # keep the id of the point
    if out is not None:
        out.take(_encoder_guesses[key][1])
    return _encoder_guesses[key][2]


def _make_mechanism(point: GridPoint, setup: RunConfig) -> Mechanism:
    return with_stop_words(point.setting, setup.stopwords).make()


def with_stop_words(setting: Setting, file: str | None) -> Setting:
    """Return the setting with this file of stop words, if there is one and the mechanism takes it."""
    named = [name for name, f in fields_of(setting.mechanism).items() if option_meta(f).is_stop_word_file]
    return setting if file is None else replace(setting, options={**setting.options, **dict.fromkeys(named, file)})


def _rewrites(
    at: Sequence[Mechanism],
    points: Sequence[GridPoint],
    bases: Mapping[int, Originals],
    words: Mapping[Setting, Words],
    only_words: bool,
) -> Iterator[tuple[GridPoint, list[str]]]:
    """Yield each point with the rewrites of all parts of all its texts.

    only_words: replaces texts without attacked words by "".
    """
    streams = [NoiseStream(p.seed) for p in points]
    if not at[0].slow_to_prepare:
        for point, variant, stream in zip(points, at, streams, strict=True):
            assert point.epsilon is not None
            flat, taker = bases[point.seed].flat, words[_without_epsilon(point)]
            read = list(taker.wanted) if only_words else range(len(flat))
            results = variant.rewrite([flat[i] for i in read], stream=stream.numbered(read))
            done = dict(zip(read, results, strict=True))
            for i in taker.wanted:
                taker.take(point.epsilon, point.seed, i, done[i])
            yield point, [done[i].text if i in done else "" for i in range(len(flat))]
        return
    # A model reads each text once for all ε and seeds. The scores of all texts together would not fit in memory.
    texts = [[""] * len(bases[p.seed].flat) for p in points]
    places: dict[str, list[tuple[int, int]]] = {}
    for j, point in enumerate(points):
        flat, wanted = bases[point.seed].flat, words[_without_epsilon(point)].wanted
        for i in dict.fromkeys([*wanted, *(() if only_words else range(len(flat)))]):
            places.setdefault(flat[i], []).append((j, i))
    for prepared, where in zip(at[0].prepare_many(list(places)), places.values(), strict=True):
        for j, i in where:
            epsilon = points[j].epsilon
            assert epsilon is not None
            result = at[j].rewrite(prepared, stream=streams[j].at(i))
            texts[j][i] = result.text
            words[_without_epsilon(points[j])].take(epsilon, points[j].seed, i, result)
    yield from zip(points, texts, strict=True)


def _line(point: GridPoint, out: Scores, base: Originals, setup: RunConfig, seconds: float) -> RunLine:
    provenance = Provenance(
        version=__version__,
        command=setup.command,
        data_sha256=base.data.sha256,
        device=best_device(),
        machine=describe_machine(),
        stopwords=stop_list_name(setup.stopwords),
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
        provenance=provenance,
    )


def _dataset(base: Originals, size: Size) -> dict[str, Any]:
    """Return the description of the data set in a line of unprotected text."""
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


def _first_gates(base: Originals) -> tuple[Gate, ...]:
    """Return the gates, beginning with those of the first classifier."""
    gates = [tasks.gate(base.data, task, guessed, judge) for (task, judge), guessed in base.guessed.items()]
    return tuple(sorted(gates, key=lambda gate: split_judge(gate.metric)[1]))


def stop_list_name(path: str | None) -> str:
    from dptext_core.text.lexicons import stop_words

    return stop_words(path).source
