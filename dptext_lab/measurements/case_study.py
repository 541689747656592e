"""DP-Rewrite's case study (Section 4, Table 1): what a pre-trained autoencoder memorises.

ADePT, pre-trained on Snips or on ATIS, rewrites the training sentences of either set. A classifier of intents learns
from the rewrites and is tested on original sentences. ε is ∞ (no noise, no guarantee), 1000, 100, 10 or 1. Without
noise or at a large ε, a model repeats its pre-training sentences when it rewrites them, and the classifier does well.
When it rewrites the other set, it answers in the style and words of its own. The output reveals what it learnt, which
the ε of the rewriting does not cover. Whole pre-training sentences rarely recur there (the paper gives no share). At a
small ε, the output follows the noise, and about half of its words are not from the pre-training set.

Deviations from the paper: the classifier reads frozen all-MiniLM-L6-v2 embeddings (the paper fine-tunes BERT), so the
validation sentences are neither used nor rewritten. Each seed has its own noise and omits its own tenth of the training
rows. Seeded noise is for measurement and not private. The scores also include the share of rewrites that repeat a
pre-training sentence word for word. For some rewrites, they include the words in common with the nearest such sentence
and with the original.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dptext_core.data import tables
from dptext_core.data.folder import RunFolder, environment
from dptext_core.data.records import rewrite_records
from dptext_core.errors import InputError
from dptext_core.mechanisms.base import Mechanism
from dptext_core.models import autoencoder
from dptext_core.support import assets
from dptext_core.support.checks import usable_path
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.support.version import __version__

from ..results.case_study import EPSILONS, MEASUREMENT, SETS, epsilon_text
from ..results.downstream import METRICS
from ..runner.data_sets import stratified
from .case_study_demo import LABEL_COLUMN, TEXT_COLUMN, rewriter, words_of_sentence
from .downstream import SEEDS, Embeddings, labelled_texts, scores, summarise_seeds, uninformed_scores

#: Number of rewrites whose nearest sentence is searched.
_LOOKED_AT = 50
_BATCH = 512

Say = Callable[[str], None]


def _weights(checkpoint: str) -> str:
    """Return the SHA-256 of a checkpoint's weights, to detect a run that continues with other weights."""
    path = autoencoder.checkpoint_folder(checkpoint) / autoencoder.WEIGHTS
    return assets.sha256_of(path) if path.is_file() else ""


# --- the run --------------------------------------------------------------------------------------------------------


class _Set:
    """One data set: training and test sentences with intents, and the training sentences to rewrite."""

    def __init__(self, name: str, folder: Path, n: int | None):
        parts = {
            part: tables.source(folder / name / f"{part}.csv", (TEXT_COLUMN, LABEL_COLUMN))
            for part in ("train", "test")
        }
        self.files = {part: source.to_dict() for part, source in parts.items()}
        self.all, labels, _ = labelled_texts(parts["train"], TEXT_COLUMN, LABEL_COLUMN)
        self.test, self.truth, _ = labelled_texts(parts["test"], TEXT_COLUMN, LABEL_COLUMN)
        chosen = stratified(labels, n, 1, "train")
        self.known = {words_of_sentence(s) for s in self.all}
        self.words = [set(s.split()) for s in self.known]
        self.train, self.labels = [self.all[i] for i in chosen], [labels[i] for i in chosen]


def case_study(
    folder: str | Path,
    out: str | Path,
    *,
    checkpoints: Mapping[str, str] | None = None,
    seeds: int = SEEDS,
    n: int | None = None,
    epsilons: Sequence[float | None] = EPSILONS,
    say: Say | None = None,
    task: Task = UNWATCHED,
) -> dict[str, Any]:
    """Run all settings into the folder ``out``, and return the study for ``results.case_study.table``.

    An interrupted run continues, also with more seeds.

    folder: contains snips/train.csv, snips/test.csv and the same for atis, with intent and sentence in each row.
    checkpoints: by pre-training set (None: the bundled ones). n: at most this many training sentences of each set are
    rewritten. Raises InputError, ModelUnavailable, Cancelled.
    """
    folder, tell = usable_path(folder), say or (lambda text: None)
    checkpoints = dict(checkpoints or {name: name for name in SETS})
    for checkpoint in checkpoints.values():
        rewriter(checkpoint, None)  # a missing checkpoint fails before any computation
    sets = {name: _Set(name, folder, n) for name in SETS}
    wanted = [(pre, name, e) for name in SETS for pre in ("", *SETS) for e in (epsilons if pre else (None,))]
    config = {
        "mode": "case-study",
        "data": {name: s.files for name, s in sets.items()},
        "checkpoints": {pre: {"name": Path(c).name, "sha256": _weights(c)} for pre, c in checkpoints.items()},
        "epsilons": list(epsilons),
        "n": n,
        "version": __version__,
    }
    reader = Embeddings(task=task.quiet)
    keep = [t for s in sets.values() for t in (*s.test, *s.train)]
    fixed: dict[tuple[str, str], list[str | None]] = {}  # without noise, all seeds have the same rewrites
    with RunFolder(out, config) as run:
        lines = [x for x in run.lines() if x["seed"] <= seeds]
        done = {(x["pretrained"], x["data"], x["epsilon"], x["seed"]) for x in lines}
        # Seeds vary last, so a run that stops early has every setting.
        points = [(*setting, seed) for seed in range(1, seeds + 1) for setting in wanted]
        run.log(f"{len(lines)} of {len(points)} points are done")
        for k, (pre, name, epsilon, seed) in enumerate(points, 1):
            if (pre, name, epsilon, seed) in done:
                continue
            task.check()
            there = sets[name]
            texts: list[str | None] = list(there.train)
            if pre:
                texts = fixed.get((pre, name), []) if epsilon is None else []
                texts = texts or _rewrite(
                    there, rewriter(checkpoints[pre], epsilon), 1 if epsilon is None else seed, task
                )
                if epsilon is None:
                    fixed[pre, name] = texts
            line = {"pretrained": pre, "data": name, "epsilon": epsilon, "seed": seed}
            line |= _score_rewrites(there, texts, reader, seed)
            if pre:
                line |= _memorisation(texts, there.train, sets[pre])
            run.append([line])
            lines.append(line)
            tell(f"{k}/{len(points)} {_described(line)}")
            reader.forget([*keep, *(t for some in fixed.values() for t in some if t is not None)])
        results = summary(lines, sets, config, seeds)
        run.finish({**results, "mode": "case-study"})
        run.log("done")
    return results


def _rewrite(data: _Set, m: Mechanism, seed: int, task: Task) -> list[str | None]:
    """Return the rewritten training sentences of a set, with None for failures."""
    return [r.text for r in rewrite_records(data.train, m, seed=seed, batch=_BATCH, task=task)]


def _described(line: Mapping[str, Any]) -> str:
    by = f"by {SETS[line['pretrained']]}, ε = {epsilon_text(line['epsilon'])}" if line["pretrained"] else "original"
    return f"{SETS[line['data']]}, {by}, seed {line['seed']}: macro F1 {line['macro_f1']:.3f}"


def _score_rewrites(data: _Set, texts: Sequence[str | None], reader: Embeddings, seed: int) -> dict[str, Any]:
    pairs = [(t, y) for t, y in zip(texts, data.labels, strict=True) if t is not None]
    if not pairs:
        raise InputError("No sentence could be rewritten. Rewrite one of them alone to see the reason.")
    learnt, labels = ([p[i] for p in pairs] for i in (0, 1))
    return {**scores(data.truth, reader(learnt, labels, data.test, seed)), "rows": len(pairs)}


def _memorisation(texts: Sequence[str | None], originals: Sequence[str], pretraining: _Set) -> dict[str, float]:
    """Return how much of the pre-training set the rewrites repeat (see the table's heading)."""
    pairs = [(t, o) for t, o in zip(texts, originals, strict=True) if t is not None]
    some = pairs[:: max(1, len(pairs) // _LOOKED_AT)][:_LOOKED_AT]
    rewrites = [set(words_of_sentence(t).split()) for t, _ in some]
    overlaps = [_overlap(r, set(words_of_sentence(o).split())) for r, (_, o) in zip(rewrites, some, strict=True)]
    return {
        "verbatim": round(statistics.fmean(words_of_sentence(t) in pretraining.known for t, _ in pairs), 4),
        "nearest": round(statistics.fmean(max(_overlap(r, bag) for bag in pretraining.words) for r in rewrites), 4),
        "own": round(statistics.fmean(overlaps), 4),
    }


def _overlap(a: set[str], b: set[str]) -> float:
    """Return words in common, as a share of the words of either (Jaccard)."""
    return len(a & b) / max(1, len(a | b))


def summary(
    lines: Sequence[Mapping[str, Any]], sets: Mapping[str, _Set], config: Mapping[str, Any], seeds: int
) -> dict[str, Any]:
    """Return the scores over seeds and their origin, without any sentence."""
    groups: dict[tuple, list[Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["pretrained"], line["data"], line["epsilon"]), []).append(line)
    rows = []
    for (pre, name, epsilon), some in groups.items():
        row: dict[str, Any] = {"pretrained": pre, "data": name, "epsilon": epsilon, "rows": some[0]["rows"]}
        for metric in METRICS:
            one = summarise_seeds([x[metric] for x in some])
            row[metric] = {k: None if one[k] is None else round(one[k], 4) for k in ("mean", "deviation")}
        row |= {k: round(statistics.fmean(x[k] for x in some), 4) for k in ("verbatim", "nearest", "own") if pre}
        rows.append(row | {"seeds": len(some)})
    about = {
        "command": f"python -m dptext_core case-study --data FOLDER --out FOLDER --seeds {seeds}"
        + (f" --max-texts {config['n']}" if config["n"] else "")
        + f" --summary assets/benchmarks/{MEASUREMENT.file}",
        "classifier": "logistic regression on frozen all-MiniLM-L6-v2 embeddings",
        "n": config["n"],
        "seeds": seeds,
        "data": config["data"],
        "checkpoints": config["checkpoints"],
        "environment": environment(),
    }
    none = {name: {k: round(v, 4) for k, v in uninformed_scores(s.labels, s.truth).items()} for name, s in sets.items()}
    return {"about": about, "no_information": none, "rows": rows}


def write(study: Mapping[str, Any], path: Path) -> None:
    """Write the summary to a file, one line for each setting."""
    MEASUREMENT.write(path, study["rows"], study["about"], no_information=study["no_information"])


# --- comparison with the paper ----------------------------------------------------------------------------------------


# --- what is remembered, live ---------------------------------------------------------------------------------------
