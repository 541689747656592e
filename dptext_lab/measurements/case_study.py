"""DP-Rewrite's case study (Section 4, Table 1): what a pre-trained autoencoder remembers.

ADePT, pre-trained on Snips or on ATIS, rewrites the training sentences of either; a classifier of intents learns from
the rewrites and is tested on original sentences. ε = ∞ (no noise, no promise), 1000, 100, 10 and 1. Without noise or at
a large ε, a model that rewrites what it was pre-trained on repeats sentences of it, and the classifier does well; one
that rewrites the other set answers in the style and the words of its own. What it learned shows, and no ε of the
rewriting covers that. Whole sentences of its own set hardly come back there (the paper gives no share). At a small
ε what is written follows the noise, and about half of its words are not of that set.

Deviations from the paper: the classifier reads frozen all-MiniLM-L6-v2 embeddings (BERT is fine-tuned there), so
nothing is selected on the validation sentences and they are not rewritten. Each seed draws its own noise and leaves out
its own tenth of the training rows. Noise comes from seeds: a measurement, not private. Beside the scores stand the
share of rewrites that are a sentence of the pre-training set word for word, and for some of them the words in common
with the nearest such sentence and with the original.
"""

from __future__ import annotations

import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dptext_core.data import tables
from dptext_core.data.folder import RunFolder, environment
from dptext_core.data.records import rewrite_records
from dptext_core.errors import InputError
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.models import autoencoder
from dptext_core.privacy.guarantee import number, percent
from dptext_core.result import RewriteResult
from dptext_core.support import assets
from dptext_core.support.checks import usable_path
from dptext_core.support.private import Private
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.support.version import __version__

from ..results.measurement import Measurement
from ..results.papers import paper_rows
from ..runner.data_sets import stratified
from .downstream import METRICS, SEEDS, Embeddings, labelled, nothing, said, scores, summed

MECHANISM = "adept"
SETS: Mapping[str, str] = {"snips": "Snips", "atis": "ATIS"}
#: None: ∞, no noise.
EPSILONS: tuple[float | None, ...] = (None, 1000.0, 100.0, 10.0, 1.0)
MEASUREMENT: Measurement[dict[str, Any]] = Measurement("case-study", dict, "case_study.json")
#: The bundled summary; {} where there is none. Raises InputError.
bundled = MEASUREMENT.whole
#: Names the folder with the data, for the page that shows the sentence that is remembered.
VARIABLE = "DPTEXT_DATA"
#: Rewrites whose nearest sentence is looked for in the table.
_LOOKED_AT = 50
_BATCH = 512
#: Sentences among which the nearest one is looked for on the page.
_CLOSE = 200
_TEXT, _LABEL = "2", "1"

Say = Callable[[str], None]


def rewriter(checkpoint: str, epsilon: float | None) -> Mechanism:
    """The autoencoder of the case study at this ε; None: without noise, and then without a promise."""
    if epsilon is None:
        return get_mechanism(MECHANISM, checkpoint=checkpoint, no_noise=True)
    return get_mechanism(MECHANISM, checkpoint=checkpoint, epsilon=epsilon)


def _weights(checkpoint: str) -> str:
    """SHA-256 of a checkpoint's weights, by which a run knows whether it goes on with the same ones."""
    path = autoencoder.checkpoint_folder(checkpoint) / autoencoder.WEIGHTS
    return assets.sha256_of(path) if path.is_file() else ""


def epsilon_text(epsilon: float | None) -> str:
    return "∞" if epsilon is None else number(epsilon)


def plain(text: str) -> str:
    """The words of a sentence alone, for telling whether two are the same word for word."""
    return " ".join(re.findall(r"\w+", text.casefold()))


# --- the run --------------------------------------------------------------------------------------------------------


class _Set:
    """One of the two: sentences and intents to train and to test, and which of the former are rewritten."""

    def __init__(self, name: str, folder: Path, n: int | None):
        parts = {part: tables.source(folder / name / f"{part}.csv", (_TEXT, _LABEL)) for part in ("train", "test")}
        self.files = {part: found.to_dict() for part, found in parts.items()}
        self.all, labels, _ = labelled(parts["train"], _TEXT, _LABEL)
        self.test, self.truth, _ = labelled(parts["test"], _TEXT, _LABEL)
        chosen = stratified(labels, n, 1, "train")
        self.known = {plain(s) for s in self.all}
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
    """All settings into the folder ``out``; what :func:`table` prints. A run that was interrupted, or is asked for more
    seeds, goes on.

    folder: has snips/train.csv, snips/test.csv and the same of atis, intent and sentence in each row. checkpoints: by
    the set that each was pre-trained on (None: the bundled ones). n: at most so many training sentences of each set are
    rewritten. Raises InputError, ModelUnavailable, Cancelled.
    """
    folder, tell = usable_path(folder), say or (lambda text: None)
    checkpoints = dict(checkpoints or {name: name for name in SETS})
    for checkpoint in checkpoints.values():
        rewriter(checkpoint, None)  # one that is not there is said before anything is computed
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
    fixed: dict[tuple[str, str], list[str | None]] = {}  # without noise every seed has the same rewrites
    with RunFolder(out, config) as run:
        lines = [x for x in run.lines() if x["seed"] <= seeds]
        done = {(x["pretrained"], x["data"], x["epsilon"], x["seed"]) for x in lines}
        # Seeds last, so that what is stopped early has every setting.
        points = [(*setting, seed) for seed in range(1, seeds + 1) for setting in wanted]
        run.log(f"{len(lines)} of {len(points)} points are there")
        for k, (pre, name, epsilon, seed) in enumerate(points, 1):
            if (pre, name, epsilon, seed) in done:
                continue
            task.check()
            there = sets[name]
            texts: list[str | None] = list(there.train)
            if pre:
                texts = fixed.get((pre, name), []) if epsilon is None else []
                if not texts:
                    m = rewriter(checkpoints[pre], epsilon)
                    noise = 1 if epsilon is None else seed
                    records = rewrite_records(there.train, m, seed=noise, batch=_BATCH, task=task)
                    texts = [r.text for r in records]
                if epsilon is None:
                    fixed[pre, name] = texts
            line = {"pretrained": pre, "data": name, "epsilon": epsilon, "seed": seed}
            line |= _scored(there, texts, reader, seed)
            if pre:
                line |= _remembered(texts, there.train, sets[pre])
            run.append([line])
            lines.append(line)
            by = f"by {SETS[pre]}, ε = {epsilon_text(epsilon)}" if pre else "original"
            tell(f"{k}/{len(points)} {SETS[name]}, {by}, seed {seed}: macro F1 {line['macro_f1']:.3f}")
            reader.forget([*keep, *(t for some in fixed.values() for t in some if t is not None)])
        results = summary(lines, sets, config, seeds)
        run.finish({**results, "mode": "case-study"})
        run.log("done")
    return results


def _scored(there: _Set, texts: Sequence[str | None], reader: Embeddings, seed: int) -> dict[str, Any]:
    pairs = [(t, y) for t, y in zip(texts, there.labels, strict=True) if t is not None]
    if not pairs:
        raise InputError("No sentence could be rewritten. See what the mechanism says of one of them.")
    learnt, labels = ([p[i] for p in pairs] for i in (0, 1))
    return {**scores(there.truth, reader(learnt, labels, there.test, seed)), "rows": len(pairs)}


def _remembered(texts: Sequence[str | None], originals: Sequence[str], seen: _Set) -> dict[str, float]:
    """How much of the pre-training set the rewrites repeat: see the heading of the table."""
    pairs = [(t, o) for t, o in zip(texts, originals, strict=True) if t is not None]
    some = pairs[:: max(1, len(pairs) // _LOOKED_AT)][:_LOOKED_AT]
    rewrites = [set(plain(t).split()) for t, _ in some]
    own = [_overlap(r, set(plain(o).split())) for r, (_, o) in zip(rewrites, some, strict=True)]
    return {
        "verbatim": round(statistics.fmean(plain(t) in seen.known for t, _ in pairs), 4),
        "nearest": round(statistics.fmean(max(_overlap(r, bag) for bag in seen.words) for r in rewrites), 4),
        "own": round(statistics.fmean(own), 4),
    }


def _overlap(a: set[str], b: set[str]) -> float:
    """Words in common, as a share of the words of either (Jaccard)."""
    return len(a & b) / max(1, len(a | b))


def summary(
    lines: Sequence[Mapping[str, Any]], sets: Mapping[str, _Set], config: Mapping[str, Any], seeds: int
) -> dict[str, Any]:
    """Scores alone, no sentence: over seeds, with what they were made of."""
    groups: dict[tuple, list[Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["pretrained"], line["data"], line["epsilon"]), []).append(line)
    rows = []
    for (pre, name, epsilon), some in groups.items():
        row: dict[str, Any] = {"pretrained": pre, "data": name, "epsilon": epsilon, "rows": some[0]["rows"]}
        for metric in METRICS:
            one = summed([x[metric] for x in some])
            row[metric] = {k: None if one[k] is None else round(one[k], 4) for k in ("mean", "deviation")}
        row |= {k: round(statistics.fmean(x[k] for x in some), 4) for k in ("verbatim", "nearest", "own") if pre}
        rows.append(row | {"seeds": len(some)})
    about = {
        "command": f"python -m dptext_core case-study --data FOLDER --out FOLDER --seeds {seeds}"
        + (f" --n {config['n']}" if config["n"] else "")
        + f" --summary assets/benchmarks/{MEASUREMENT.file}",
        "classifier": "logistic regression on frozen all-MiniLM-L6-v2 embeddings",
        "n": config["n"],
        "seeds": seeds,
        "data": config["data"],
        "checkpoints": config["checkpoints"],
        "environment": environment(),
    }
    none = {name: {k: round(v, 4) for k, v in nothing(s.labels, s.truth).items()} for name, s in sets.items()}
    return {"about": about, "no_information": none, "rows": rows}


def write(found: Mapping[str, Any], path: Path) -> None:
    """The summary as a file, a line for each setting."""
    MEASUREMENT.write(path, found["rows"], found["about"], no_information=found["no_information"])


# --- beside the paper -----------------------------------------------------------------------------------------------


def printed(pretrained: str, data: str, epsilon: float | None) -> tuple[float, float | None] | None:
    """Macro F1 and its deviation as the paper's Table 1 prints them; of "" the unprotected texts."""
    for row in paper_rows(data=data, mechanism=MECHANISM if pretrained else "baseline", metric="macro_f1"):
        fits = row.options.get("pretrained", "") == pretrained and "guess" not in row.options
        if fits and row.epsilon == epsilon and row.value is not None and row.paper == "DP-Rewrite":
            return row.value, row.spread
    return None


HEADING = (
    "pre-trained on",
    "rewritten",
    "ε",
    "macro F1",
    "accuracy",
    "paper, macro F1",
    "word for word",
    "nearest seen",
    "own original",
)


def table(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Our scores beside the paper's, as texts, the heading first."""
    out: list[tuple[str, ...]] = [HEADING]
    order = {e: i for i, e in enumerate(EPSILONS)}
    names = ["", *SETS]
    rows = sorted(
        found["rows"],
        key=lambda r: (list(SETS).index(r["data"]), names.index(r["pretrained"]), order.get(r["epsilon"], 9)),
    )
    for row in rows:
        pre = row["pretrained"]
        paper = printed(pre, row["data"], row["epsilon"])
        beside = "" if paper is None else f"{paper[0]:.2f}" + ("" if paper[1] is None else f" ({paper[1]:.2f})")
        out.append(
            (
                SETS.get(pre, "original texts"),
                SETS[row["data"]],
                epsilon_text(row["epsilon"]) if pre else "",
                *(said(row[metric]) for metric in METRICS),
                beside,
                *(f"{row[k]:.2f}" if pre else "" for k in ("verbatim", "nearest", "own")),
            )
        )
    return out


def notes(found: Mapping[str, Any]) -> list[str]:
    """What to know of the table, in sentences."""
    none = found["no_information"]
    levels = " and ".join(f"{none[name]['macro_f1']:.2f} on {title}" for name, title in SETS.items())
    n, seeds = found["about"]["n"], found["about"]["seeds"]
    low = [f"{r['macro_f1']['mean']:.2f}" for r in found["rows"] if r["data"] == "atis" and r["epsilon"] in (10.0, 1.0)]
    hundred = [r for r in found["rows"] if (r["pretrained"], r["data"], r["epsilon"]) == ("snips", "snips", 100.0)]
    lost = f" Ours is at {hundred[0]['macro_f1']['mean']:.2f} there." if hundred else ""
    ours = f"; ours are at {' to '.join(dict.fromkeys((min(low), max(low))))}" if low else ""
    whole = {
        same: max(r["verbatim"] for r in found["rows"] if r["pretrained"] and (r["pretrained"] == r["data"]) is same)
        for same in (True, False)
    }
    return [
        f"Guessing without a look at the text reaches a macro F1 of {levels}: no information.",
        "The paper fine-tunes BERT; here a logistic regression reads frozen MiniLM embeddings. The pattern can be "
        "compared, the numbers cannot.",
        "In the paper's Table 1 the two crossed settings stand the other way round than in its Section 4.3. Here its "
        "numbers stand as the section says.",
        "The paper's rows of rewritten ATIS stay at 0.50 at ε = 10 and 1, far above its guess of the most frequent "
        f"intent (0.13){ours}.",
        "At ε = 100 each number of the vector gets noise of 2C/ε = 0.1 on average, and all of its numbers together are "
        f"C = 5 at most. The paper still prints 0.91 for Snips rewritten by what was pre-trained on it.{lost}",
        f"A model that rewrites what it was pre-trained on repeats its sentences word for word: up to "
        f"{percent(whole[True])} of the rewrites. In the crossed settings at most {percent(whole[False])} are such a "
        "sentence; the paper gives no share. What shows there is the style and the words of the pre-training set, "
        "without noise or at a large ε.",
        f"{'All' if n is None else f'At most {n:,}'} training sentences of each set were rewritten, with "
        f"{seeds} seed{'s' * (seeds > 1)}. “Word for word” is the share of rewrites that are a sentence of the "
        "pre-training set; “nearest seen” and “own original” are the words in common, as a share of all words, with "
        "the nearest such sentence and with the sentence that was rewritten.",
    ]


# --- what is remembered, live ---------------------------------------------------------------------------------------

#: A sentence as ATIS has them, written for this page; it is in neither set.
EXAMPLE = "i would like the cheapest flight from oslo to lisbon on a rainy tuesday evening"
WITHOUT_DATA = (
    "The pre-training sentence that is nearest to the rewrite cannot be shown: the data sets do not come with the "
    "program, and this server has none."
)


NEAREST = f"The nearest sentence of the pre-training set, of the {_CLOSE} that share most words with the rewrite"


@dataclass(frozen=True)
class Question(Private):
    """A sentence, what the model that rewrites it was pre-trained on, and ε (None: no noise). draw: tells apart two
    draws for the same."""

    text: str
    pretrained: str
    epsilon: float | None
    draw: int = 0

    _shown: ClassVar[tuple[str, ...]] = ("pretrained", "epsilon", "draw")


@dataclass(frozen=True, eq=False)
class Nearest(Private):
    """The pre-training sentence that is nearest to a rewrite. cosine: by all-MiniLM-L6-v2; same: word for word."""

    text: str
    cosine: float
    same: bool

    _shown: ClassVar[tuple[str, ...]] = ("cosine", "same")


def rewritten(asked: Question, task: Task = UNWATCHED) -> RewriteResult:
    """The sentence, rewritten as it is asked."""
    return rewriter(asked.pretrained, asked.epsilon).rewrite(asked.text, task=task)


def data_folder() -> Path | None:
    """The folder that DPTEXT_DATA names, where it has the pre-training sentences; else None."""
    if not (given := os.environ.get(VARIABLE, "")):
        return None
    folder = usable_path(given)
    return folder if all((folder / name / "train.csv").is_file() for name in SETS) else None


def nearest(text: str, name: str, folder: Path, task: Task = UNWATCHED) -> Nearest:
    """The training sentence of this set that is nearest to ``text``, of the _CLOSE that share most with it: words are
    counted by how rare they are, since embedding all sentences would take a minute."""
    data = tables.source(folder / name / "train.csv", (_TEXT, _LABEL))
    sentences = list(dict.fromkeys(labelled(data, _TEXT, _LABEL)[0]))
    words = [set(plain(s).split()) for s in sentences]
    often = Counter(w for some in words for w in some)
    own = set(plain(text).split())
    shared = [sum(1 / often[w] for w in own & some) / (1 + len(own | some)) for some in words]
    best = sorted(range(len(sentences)), key=lambda i: -shared[i])[:_CLOSE]
    vectors = Embeddings(task).vectors([text, *(sentences[i] for i in best)])
    near = vectors[1:] @ vectors[0]
    found = sentences[best[int(near.argmax())]]
    return Nearest(found, float(near.max()), plain(found) == plain(text))
