"""Compare what several systems preserve and reveal for the same total ε of a text.

Every text spends the same total, which its draws share evenly. The first rows of a system have a total near 0: they
show what it releases without reading the text (kept stop words, a public proposal, the bank). The measures of the same
texts:

* cosine: the similarity of a rewrite to its text (all-MiniLM-L6-v2);
* task: how often a classifier recognises the label from the rewrite, if the data set has a useful label. It is trained
  on original texts (``tasks.classify``);
* author: how often a classifier recognises the author from the rewrite, if the data set has authors. It is trained on
  sentence vectors or letter sequences of original texts (``judges.classify``); the more accurate one counts;
* linked: how often an attacker with all test texts identifies the text behind a rewrite, by the nearest sentence vector
  or by common words and pairs of words; the more accurate one counts;
* named: the share of content words that the strongest attacker of ``scored`` recovers (the word itself, its nearest
  word, a masked language model, and that model with similarity);
* perplexity: ln of the perplexity per word under an added causal language model, if there is one.

The last two need a model pass for each word, so they use only the first texts, the first seed and some totals. An
existing file of rows is continued: systems in it are not measured again.

    python -m dptext_core bench budget --data DIR --stopwords FILE --out assets/benchmarks/budget.json
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.attacks import corpus
from dptext_core.errors import ConfigError
from dptext_core.measure import judges, scored
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.config import MIN_EPSILON
from dptext_core.mechanisms.registry import fields_of, get_mechanism
from dptext_core.models import causal, sentence_encoder
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support import assets
from dptext_core.support.checks import pluralize, shorten_repr
from dptext_core.support.statistics import half_width
from dptext_core.support.task import UNWATCHED, Task, on_terminal

from ..results.measurement import markdown, plus_minus
from ..results.tasks import tasks_of
from ..results.total_budget import MEASUREMENT, MEASURES, OWN, SETS, WHOLE, WORDS, BudgetRow
from ..runner import data_sets, tasks
from ..runner.options import options_in, parser, which_stop_words
from ..training.bank_building import build_bank, gather

TOTALS = (10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 150.0, 200.0, 400.0)
NOTHING = 0.0
TEXTS, SEEDS = 100, (1, 2, 3, 4, 5)
#: Number of texts to attack and to judge with a language model, and the totals for this.
FEW, SOME = 12, (NOTHING, 20.0, 50.0, 100.0, 200.0, 400.0)
#: Number of training texts of the classifier.
TRAINED = 2000
#: Number of training texts for the bank of the same domain.
OWN_BANK = 8000
#: The measure for a task of each role.
_TOLD = {"utility": "task", "privacy": "author"}


#: Returns the ln perplexity per word of each text.
Judge = Callable[[Sequence[str]], Sequence[float]]


def systems(bank: str | None, options: Mapping[str, Any]) -> dict[str, Mechanism]:
    """Return the compared systems by name. bank: folder of a bank of the texts' domain. options: for systems that take
    them."""
    wanted: dict[str, tuple[str, dict[str, Any]]] = {
        WHOLE: ("dp-sentence", {}),
        "Sentence bank, 2 outputs per sentence": ("dp-sentence", {"each": 2}),
        "Sentence bank, 3 outputs per sentence": ("dp-sentence", {"each": 3}),
        WORDS: ("dp-mlm", {}),
        "DP-MLM, public prior": ("dp-mlm-prior", {}),
        "CusText": ("custext", {}),
    }
    if bank is not None:
        wanted[OWN] = ("dp-sentence", {"bank": bank})
    return {
        system: get_mechanism(name, **given, **{k: v for k, v in options.items() if k in fields_of(name)})
        for system, (name, given) in wanted.items()
    }


@dataclass(frozen=True)
class Sample:
    """The texts of a data set: test texts to rewrite, and training texts.

    labels: of each test text, by measure ("task", "author"). learnt_labels: of each training text.
    """

    data: str
    texts: Sequence[str]
    labels: Mapping[str, Sequence[str]]
    learnt: Sequence[str]
    learnt_labels: Mapping[str, Sequence[str]]


def rewrites(
    mechanism: Mechanism, texts: Sequence[str], totals: Sequence[float], seeds: Sequence[int], task: Task = UNWATCHED
) -> tuple[list[int], list[int], dict[tuple[float, int], list[str]]]:
    """Return which texts have draws, their numbers of draws, and their rewrites by total and seed."""
    prepared = list(mechanism.prepare_many(texts, task=task))
    draws = [mechanism.guarantee(p).draws for p in prepared]
    with_draws = [i for i, n in enumerate(draws) if n]
    out = {}
    for total in totals:
        for seed in seeds:
            task.check()
            out[total, seed] = [
                mechanism.replace(epsilon=max(MIN_EPSILON, total / draws[i]))
                .rewrite(prepared[i], stream=NoiseStream(seed).at(number))
                .text
                for number, i in enumerate(with_draws)
            ]
    return with_draws, [draws[i] for i in with_draws], out


def measure(
    system: str,
    mechanism: Mechanism,
    test: Sample,
    totals: Sequence[float] = TOTALS,
    seeds: Sequence[int] = SEEDS,
    few: int = FEW,
    judge: Judge | None = None,
    learnt_vectors: np.ndarray | None = None,
    task: Task = UNWATCHED,
) -> list[BudgetRow]:
    """Measure one system at every total, first near 0.

    Parameters
    ----------
    system
        Its name.
    mechanism
        At any ε.
    test
        The texts. Texts without draws are excluded.
    totals
        Values of ε for a whole text.
    seeds
        Each text is rewritten once for each seed.
    few
        Number of texts to attack and to judge (0: none).
    judge
        Judge of fluency, or None.
    learnt_vectors
        Vectors of the training texts, if known.
    task
        Receives the progress.

    Returns
    -------
    list of Bought
        The number of draws, and every measure at each total.
    """
    sampled_texts, draws, releases = rewrites(mechanism, test.texts, (NOTHING, *totals), seeds, task)
    texts = [test.texts[i] for i in sampled_texts]
    distinct = list(dict.fromkeys([*texts, *(t for some in releases.values() for t in some)]))
    vectors = sentence_encoder.embed(distinct)
    embedded = dict(zip(distinct, vectors, strict=True))
    if learnt_vectors is None:
        learnt_vectors = sentence_encoder.embed(test.learnt)
    guesses = {
        way: dict(zip(distinct, labels, strict=True))
        for way, labels in _guesses(test, learnt_vectors, vectors, distinct).items()
    }
    truths = {name: [labels[i] for i in sampled_texts] for name, labels in test.labels.items()}

    def row(total: float, name: str, values: Sequence[float] | np.ndarray, of: int) -> BudgetRow:
        x = np.asarray(values, np.float64)
        half = half_width(x) if len(x) > 1 else None
        return BudgetRow(system, mechanism.name, test.data, float(total), name, float(x.mean()), half, len(x), of)

    rows = [row(NOTHING, "draws", draws, 1)]
    for total in (NOTHING, *totals):
        each: dict[Any, list[np.ndarray]] = {}
        for seed in seeds:
            for name, values in _measures(releases[total, seed], texts, embedded, truths, guesses).items():
                each.setdefault(name, []).append(np.asarray(values, np.float64))
        mean = {name: np.mean(values, axis=0) for name, values in each.items()}
        mean["linked"] = max((mean.pop("vectors"), mean.pop("words")), key=np.mean)
        for told_of in test.labels:
            mean[told_of] = max((mean.pop(by) for by in guesses if by[0] == told_of), key=np.mean)
        rows += [row(total, name, mean[name], len(seeds)) for name in MEASURES if name in mean]
        some = releases[total, seeds[0]][:few] if total in SOME else []
        if some:
            rows.append(row(total, "named", scored.most_named(texts[:few], some, task), 1))
        if some and judge is not None and (read := [x for x in judge(some) if math.isfinite(x)]):
            rows.append(row(total, "perplexity", read, 1))
    return rows


def _measures(
    released: Sequence[str],
    texts: Sequence[str],
    embedded: Mapping[str, np.ndarray],
    truths: Mapping[str, Sequence[str]],
    guesses: Mapping[tuple[str, str], Mapping[str, str]],
) -> dict[Any, np.ndarray]:
    """Return, for each text, its cosine, whether each attacker links it, and whether each classifier is right."""
    one, other = (np.stack([embedded[t] for t in some]) for some in (texts, released))
    per: dict[Any, np.ndarray] = {
        "cosine": np.clip((one * other).sum(axis=1), -1, 1),
        "vectors": corpus.linked_share((other @ one.T).astype(np.float64)),
        "words": corpus.linked_share(corpus.in_common(released, texts)),
    }
    for way, labels in guesses.items():
        guessed = np.array([labels[t] for t in released], object)
        per[way] = guessed == np.array(truths[way[0]], object)
    return per


def _guesses(
    test: Sample, learnt_vectors: np.ndarray, vectors: np.ndarray, distinct: Sequence[str]
) -> dict[tuple[str, str], list[str]]:
    """Return the predicted labels of texts with these vectors, by (measure, input of the classifier)."""
    out = {
        (name, "vectors"): tasks.classify(learnt_vectors, known, vectors) for name, known in test.learnt_labels.items()
    }
    if (known := test.learnt_labels.get("author")) is not None:
        learnt, read = ([(text,) for text in texts] for texts in (test.learnt, distinct))
        out["author", "letters"] = judges.classify("privacy", learnt, known, read)
    return out


def table(rows: Sequence[BudgetRow], name: str) -> str:
    """Return a Markdown table of one measure of one data set: one row per total, one column per system."""
    rows = [r for r in rows if r.measure == name]
    names = list(dict.fromkeys(r.system for r in rows))
    by_place = {(r.system, r.total): r for r in rows}
    lines = []
    for total in sorted({r.total for r in rows}):
        cells = [by_place.get((name, total)) for name in names]
        texts = ["" if r is None else plus_minus(r.value, r.half) for r in cells]
        lines.append([f"{total:g}" if total else "≈ 0", *texts])
    return markdown(["total ε", *names], lines)


def _print_tables(data: str, rows: Sequence[BudgetRow]) -> None:
    for name, title in MEASURES.items():
        if any(r.measure == name for r in rows):
            print(f"\n{data}: {title}\n\n{table(rows, name)}", flush=True)


def _rows_of_file(path: Path | None) -> tuple[list[BudgetRow], dict[str, Any]]:
    """Return the rows of an existing file, and its description of the data sets."""
    if path is None or not path.is_file():
        return [], {}
    content = assets.read_json(path)
    return [BudgetRow(**row) for row in content["rows"]], content["about"]["data"]


def _tests(names: Sequence[str], folder: Path, n: int, own: int) -> Iterator[tuple[data_sets.Data, Sample, list[str]]]:
    """Yield each data set with its sample and the texts for a bank of its domain."""
    for name in names:
        data = data_sets.load(name, folder, n_train=max(own, TRAINED), n_test=n, max_words=40)
        text = [parts[0] for parts in data.texts]
        labels = {_TOLD[t.role]: data.targets[t.target] for t in tasks_of(name)}

        def of(places: Sequence[int], labels: Mapping[str, Sequence[str]] = labels) -> dict[str, list[str]]:
            return {name: [label[i] for i in places] for name, label in labels.items()}

        learnt = data.train[:TRAINED]
        test = Sample(name, [text[i] for i in data.test], of(data.test), [text[i] for i in learnt], of(learnt))
        yield data, test, [text[i] for i in data.train[:own]]


def _parser() -> argparse.ArgumentParser:
    takes = parser("budget", __doc__, "data", "stopwords", "out", required=["data"])
    takes.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME", help=f"{' '.join(SETS)} by default")
    takes.add_argument(
        "--max-texts", type=int, default=TEXTS, help=f"number of test texts of each data set (default {TEXTS})"
    )
    takes.add_argument(
        "--few",
        type=int,
        default=FEW,
        metavar="N",
        help=f"number of texts to attack and to judge (default {FEW}; 0: none)",
    )
    takes.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    takes.add_argument(
        "--own",
        type=int,
        default=OWN_BANK,
        metavar="N",
        help=f"number of training texts for a bank from the same domain (default {OWN_BANK}; 0: none)",
    )
    takes.add_argument("--system", action="append", metavar="NAME", help="only the system with this name in the tables")
    takes.add_argument("--judge", metavar="NAME", help="added causal language model for perplexity")
    return takes


def _domain_bank(data: data_sets.Data, texts: Sequence[str], folder: str) -> tuple[str, int]:
    """Build a bank from texts of a data set, and return its folder and number of sentences."""
    bank = str(Path(folder) / "bank")
    about = build_bank(
        gather(texts),
        bank,
        title=data.title,
        origin=data.file,
        licence="not stated",
        task=on_terminal("bank from the same domain"),
    )
    count = pluralize(about.sentences, "sentence")
    print(f"The bank from the same domain has {count} from training texts of {data.title}.")
    return bank, about.sentences


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench budget``."""
    args = _parser().parse_args(argv)
    judge = causal.judge(args.judge) if args.judge else None
    if wrong := set(args.system or ()) - {*systems(None, options_in(args)), OWN}:
        raise ConfigError(
            f"There is no system {shorten_repr(min(wrong))}. Use one of {', '.join(systems(None, {}))}, {OWN}."
        )
    rows, read = _rows_of_file(args.out)
    for data, test, texts in _tests(args.sets, args.data, args.max_texts, args.own):
        of = {"title": data.title, "sha256": data.sha256, "learnt": len(test.learnt), "seeds": args.seeds}
        read[test.data] = read.get(test.data, {}) | of
        learnt_vectors = sentence_encoder.embed(test.learnt)
        with tempfile.TemporaryDirectory() as folder:
            bank = None
            there = {r.system for r in rows if r.data == test.data}
            if args.own and OWN not in there and (not args.system or OWN in args.system):
                bank, read[test.data]["bank"] = _domain_bank(data, texts, folder)
            for system, mechanism in systems(bank, options_in(args)).items():
                if system in there or (args.system and system not in args.system):
                    continue
                rows += measure(
                    system,
                    mechanism,
                    test,
                    seeds=args.seeds,
                    few=args.few,
                    judge=judge,
                    learnt_vectors=learnt_vectors,
                    task=on_terminal(system),
                )
                MEASUREMENT.write(
                    args.out,
                    rows,
                    MEASUREMENT.about(
                        data=read,
                        seeds=args.seeds,
                        stopwords=which_stop_words(args),
                        model="bundled",
                        judge="" if judge is None else judge.title,
                        total="ε of a whole text, the same for every text",
                    ),
                )
        _print_tables(data.title, [r for r in rows if r.data == test.data])
    return 0
