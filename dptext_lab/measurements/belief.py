"""How certain the optimal reader is of one word, and what the rewrites preserve, at each ε of every mechanism.

The fact of a text is its rarest content word with 7 public alternatives, which are the same for all mechanisms: words
of one public list, else the nearest words of a space that no mechanism uses. The expected success of the optimal reader
is enumerated if a mechanism allows it, else estimated from sampled releases. One pass of a model per alternative serves
every ε. Each text is also rewritten with five seeds, to measure the cosine to the original, and whether a classifier
trained on original texts recognises the label.

Each text adds one line to a file, so a stopped run continues. A file is for one version and one list of stop words.

    python -m dptext_core bench belief --data DIR --stopwords FILE --lines belief.jsonl
    python -m dptext_core bench belief --stopwords FILE --lines belief.jsonl --out assets/benchmarks/belief.json
    python -m dptext_core bench belief --boards
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.attacks.alternatives import suggest_alternatives
from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.attacks.expected_belief import DRAWS, expected_success
from dptext_core.attacks.which_text import content_words
from dptext_core.errors import ConfigError, InputError, NoDistribution
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.likelihood import require_likelihood
from dptext_core.mechanisms.registry import get_mechanism, mechanisms
from dptext_core.models import sentence_encoder
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.task import UNWATCHED

from ..results import data_titles, leaderboard, leaderboard_text
from ..results.belief import LEVEL, MEASUREMENT, METRIC, BeliefRow, as_results, bundled, outside
from ..results.measurement import markdown
from ..results.paired_comparison import pack
from ..results.rows import six_digits
from ..results.tasks import tasks_of
from ..runner import data_sets, tasks
from ..runner.grid import SIZES
from ..runner.options import named_options, options_in, parser, which_stop_words
from .blocks import append_blocks, read_lines

SETS = ("sst2", "snips", "reviews")
#: Alternatives to the fact, 8 with the original.
OTHERS = 7
TEXTS, SEEDS = 200, (1, 2, 3, 4, 5)
#: ε of each mechanism: from near guessing to certainty, with steps around a certainty of 50%.
EPSILONS: dict[str, tuple[float, ...]] = {
    "dp-mlm": (10.0, 15.0, 20.0, 25.0, 30.0, 50.0, 100.0),
    "dp-mlm-prior": (5.0, 10.0, 15.0, 20.0, 30.0, 50.0),
    "santext": (10.0, 13.0, 15.0, 16.0, 18.0, 20.0),
    "santext-plus": (10.0, 13.0, 15.0, 16.0, 18.0, 20.0),
    "custext": (0.01, 1.0, 5.0, 20.0),
    "diffractor": (0.02, 0.3, 1.0, 3.0),
    "dp-sentence": (10.0, 25.0, 50.0, 200.0),
}
#: Sampled releases per text for an estimated certainty. Its error is far smaller than the spread over texts.
RELEASES = {"dp-mlm": 24, "dp-mlm-prior": 24, "dp-sentence": 16}
#: Mechanisms with stated probabilities that are not measured, with the reason.
_SLOW = "{} generates a new text. Computing its certainty takes 40 seconds per text, so it is not measured."
NOT_MEASURED = {
    "tem": "TEM has SanText's distribution below ε 21.6, so its certainty is SanText's.",
    "dp-paraphrase": _SLOW.format("DP-Paraphrase"),
    "dp-prompt": _SLOW.format("DP-Prompt"),
    "redact": "It copies every unflagged word, so a reader is certain of these words at any ε.",
    "surrogates": "It copies every unflagged word, so a reader is certain of these words at any ε.",
}


@dataclass(frozen=True)
class FactText:
    """A text and its fact. number: its position in the data set."""

    number: int
    text: str
    word: str
    alternatives: tuple[str, ...]
    label: str


def fact_texts(data: data_sets.Data, n: int, planner: Mechanism) -> list[FactText]:
    """Return the first n test texts that have a fact, in an order that depends on their numbers alone.

    planner: splits a text into words and has their ranks. Its own word space gives no alternatives.
    """
    order = sorted(data.test, key=lambda i: hashlib.sha256(f"belief {i - data.test[0]}".encode()).digest())
    labels = next((data.targets[t.target] for t in tasks_of(data.name) if t.role == "utility"), None)
    facts: list[FactText] = []
    for i in order:
        text = data.texts[i][0]
        for word in content_words(planner, text):
            try:
                others = suggest_alternatives(word, planner, OTHERS)
            except InputError:
                continue
            if len(others) == OTHERS:
                facts.append(FactText(len(facts), text, word, tuple(others), "" if labels is None else labels[i]))
                break
        if len(facts) == n:
            break
    return facts


def refusals(names: Iterable[str]) -> dict[str, str]:
    """Return the reason for each mechanism that has no certainty."""
    reasons = dict(NOT_MEASURED)
    for name in names:
        try:
            require_likelihood(get_mechanism(name))
        except NoDistribution as error:
            reasons[name] = str(error)
    return reasons


@dataclass(frozen=True)
class Judges:
    """The judges of a data set's rewrites: a classifier trained on original texts, and the encoder."""

    classify: Callable[[np.ndarray], list[str]]

    @classmethod
    def of(cls, data: data_sets.Data) -> Judges:
        """Train on the data set's training texts."""
        task = next(t for t in tasks_of(data.name) if t.role == "utility")
        labels = data.targets[task.target]
        texts = [data.texts[i][0] for i in data.train]
        return cls(tasks.trained(sentence_encoder.embed(texts), [labels[i] for i in data.train]))

    def cosines_and_labels(self, originals: Sequence[str], rewrites: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        """Return each rewrite's cosine to its original and its recognised label."""
        cosines, vectors = judged_cosines(originals, rewrites)
        return cosines, self.classify(vectors)


def judged_cosines(originals: Sequence[str], rewrites: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine of each rewrite to its original, and the vectors of the rewrites."""
    distinct = list(dict.fromkeys([*originals, *rewrites]))
    at = {text: i for i, text in enumerate(distinct)}
    x = sentence_encoder.embed(distinct)
    one, other = (x[[at[t] for t in texts]] for texts in (originals, rewrites))
    return np.clip((one * other).sum(axis=1), -1, 1), other


def measure_block(m: Mechanism, data: str, texts: Sequence[FactText], judges: Judges) -> Iterator[dict[str, Any]]:
    """Yield the line of each text, with its results at every ε."""
    epsilons = EPSILONS[m.name]
    variants = [m.replace(epsilon=e) for e in epsilons]
    certainties, releases, rewrites = [], [], []
    for t in texts:
        question = BeliefQuestion.make(m, t.text, t.word, t.alternatives)
        stream = NoiseStream(0).at(data, t.number)
        draws = RELEASES.get(m.name)
        expected = expected_success(variants, question, draws, False, stream, UNWATCHED)
        if expected is None:
            expected = expected_success(variants, question, DRAWS, False, stream, UNWATCHED)
        assert expected is not None
        certainties.append([e.value for e in expected])
        releases.append(max(e.draws for e in expected))
        for seed in SEEDS:
            sweep = m.sweep(question.prepared[0], epsilons, stream=NoiseStream(seed).at(data, t.number))
            rewrites += [r.text for r in sweep.results]
    shape = len(texts), len(SEEDS), len(epsilons)
    originals = [t.text for t in texts for _ in range(shape[1] * shape[2])]
    cosines, labels = judges.cosines_and_labels(originals, rewrites)
    truths = np.array([t.label for t in texts], object)[:, None, None]
    cosine = cosines.reshape(shape).mean(axis=1)
    right = (np.array(labels, object).reshape(shape) == truths).mean(axis=1)
    for i, t in enumerate(texts):
        yield {
            "mechanism": m.name,
            "options": named_options(m),
            "data": data,
            "text": t.number,
            "releases": releases[i],
            "epsilons": list(epsilons),
            "certainty": [round(x, 5) for x in certainties[i]],
            "cosine": [round(x, 5) for x in cosine[i].tolist()],
            "label": [round(x, 5) for x in right[i].tolist()],
        }


def rows_of(lines: Iterable[Mapping[str, Any]]) -> list[BeliefRow]:
    """Return a row for each mechanism, data set and ε, of the first texts that all mechanisms of the data set have."""
    groups: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["data"], line["mechanism"]), {})[line["text"]] = line
    counts: dict[str, int] = {}
    for (data, _), by_text in groups.items():
        own = next(i for i in range(len(by_text) + 1) if i not in by_text)
        counts[data] = min(own, counts.get(data, own))
    rows = []
    for (data, name), by_text in groups.items():
        n = counts[data]
        some = [by_text[i] for i in range(n)]
        for k, epsilon in enumerate(some[0]["epsilons"] if some else ()):
            x = {what: [line[what][k] for line in some] for what in ("certainty", "cosine", "label")}
            certainty, cosine, label = (six_digits(float(np.mean(values))) for values in x.values())
            row = BeliefRow(
                mechanism=name,
                options=some[0]["options"],
                data=data,
                epsilon=epsilon,
                texts=n,
                releases=max(line["releases"] for line in some),
                seeds=len(SEEDS),
                certainty=certainty,
                cosine=cosine,
                label=label,
                certainties=pack(x["certainty"], short=True),
                cosines=pack(x["cosine"], -1, 1, short=True),
                labels=pack(x["label"], steps=len(SEEDS), short=True),
            )
            rows.append(row)
    return rows


def run(args: argparse.Namespace) -> None:
    """Measure what the file of lines lacks, block by block."""
    texts, judges = dict[str, list[FactText]](), dict[str, Judges]()
    for name in args.sets:
        size = SIZES[name]
        data = data_sets.load(name, args.data, size.n_train, size.n_test, size.max_words)
        planner = get_mechanism("santext", **options_in(args, "santext"))
        texts[name], judges[name] = fact_texts(data, args.texts, planner), Judges.of(data)

    def measure(mechanism: str, data: str, block: Sequence[FactText]) -> Iterator[dict[str, Any]]:
        return measure_block(get_mechanism(mechanism, **options_in(args, mechanism)), data, block, judges[data])

    done = {(x["mechanism"], x["data"], x["text"]) for x in read_lines(args.lines)}
    append_blocks(args.lines, texts, args.mechanism or list(EPSILONS), done.__contains__, measure)


def table(rows: Sequence[BeliefRow]) -> str:
    """Return a Markdown table with a row for each data set, mechanism and ε."""
    cells_by_row: dict[tuple, dict[str, str]] = {}
    for row in as_results(rows).rows:
        half = (row.high or 0.0) - row.value
        digits = ".2f"
        key = row.data, row.mechanism, f"{row.epsilon:g}", str(row.n)
        cells_by_row.setdefault(key, {})[row.metric] = f"{row.value:{digits}} ± {half:{digits}}"
    metrics = ("belief", "cosine", "label_kept")
    lines = [(*key, *(cells.get(m, "") for m in metrics)) for key, cells in cells_by_row.items()]
    return markdown(("data", "mechanism", "ε", "texts", "certainty", "cosine", "label recognised"), lines)


def boards() -> str:
    """Return the boards at a certainty of 50% from the bundled rows, for the documentation."""
    rows, parts = leaderboard.at_equal_belief(), []
    for data in rows.data_sets():
        for judge in sorted(rows.judges(data), reverse=True):
            ranking = leaderboard.board(rows, data, judge, METRIC, LEVEL, None)
            sentences = leaderboard_text.answer(ranking, data_titles.in_sentence(data))
            parts += [" ".join(sentences), leaderboard_text.to_markdown(ranking)]
        parts.append(outside(bundled(), data))
    return "\n\n".join(filter(None, parts))


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench belief``."""
    takes = parser("belief", __doc__, "data", "stopwords", "out")
    takes.add_argument("--lines", type=Path, metavar="FILE", help="file of measurements, one line per text")
    takes.add_argument(
        "--boards", action="store_true", help="print the leaderboards of the bundled results at a certainty of 50%%"
    )
    takes.add_argument(
        "--texts", type=int, default=TEXTS, metavar="N", help=f"number of texts of each data set (default {TEXTS})"
    )
    takes.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, help="data sets (default: all)")
    takes.add_argument("--mechanism", action="append", choices=EPSILONS, metavar="NAME", help="default: all")
    args = takes.parse_args(argv)
    if args.boards:
        print(boards())
        return 0
    if args.lines is None:
        raise ConfigError("No file of measurements was given. Name one with --lines FILE.")
    if args.data is not None:
        run(args)
    rows = rows_of(read_lines(args.lines))
    print(table(rows))
    without = refusals(spec.name for spec in mechanisms() if spec.name not in EPSILONS)
    texts = {d: dict(Counter({r.mechanism: r.texts for r in rows if r.data == d})) for d in SETS}
    about = MEASUREMENT.about(stopwords=which_stop_words(args), alternatives=OTHERS + 1, texts=texts, refused=without)
    MEASUREMENT.write(args.out, rows, about)
    return 0
