"""Measure what attackers recover from several releases of one text, and from longer texts.

The texts are the test texts of a data set, joined within a label up to a number of words. Each is rewritten with
several seeds, and the attackers read the first one, two, five and ten releases. Each release spends its ε again. The
Bayes-optimal guess and the contextual attacker multiply the likelihoods of the releases; other attackers read one
release only and are omitted. With --judge, the attacker ``likely-text`` reads the first release of the shortest texts:
a causal language model scores the text with each likely word.

    python -m dptext_core bench composition --data DIR --stopwords FILE --out assets/benchmarks/composition.json
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dptext_core.attacks import best, likely_text, reader, reader_evidence
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.setting import Setting
from dptext_core.models import causal
from dptext_core.support.statistics import half_width

from ..results.composition import MEASUREMENT, CompositionRow
from ..results.measurement import plus_minus
from ..results.paired_comparison import compare
from ..runner import data_sets
from ..runner.options import named_options, options_in, parser, which_stop_words
from .reader import OPTIONS

#: Number of texts for the causal language model, which reads ten texts for each word.
ASKED = 8
#: Mechanisms at an ε at which the contextual attacker recovers 20% to 40% of the words of one release.
EPSILONS: Mapping[str, float] = {
    "custext": 2.0,
    "diffractor": 0.1,
    "santext": 14.0,
    "dp-mlm": 25.0,
    "dp-mlm-prior": 15.0,
}
#: Numbers of releases of the shortest texts; and words per text, with the number of texts of that length.
RELEASES = (1, 2, 5, 10)
TEXTS: Mapping[int, int] = {20: 24, 100: 12, 400: 6}


def join_texts(texts: Sequence[str], labels: Sequence[str], words: int, n: int) -> list[str]:
    """Return the first n texts of this many words, or fewer.

    Each joins texts of one label in their order and is cut at the limit. No text is used twice."""
    open_: dict[str, list[str]] = {}
    out: list[str] = []
    for text, label in zip(texts, labels, strict=True):
        have = open_.setdefault(label, [])
        have += text.split()
        if len(have) >= words:
            out.append(" ".join(have[:words]))
            have.clear()
        if len(out) == n:
            break
    return out


def measure(
    data: str,
    m: Mechanism,
    texts: Sequence[str],
    words: int,
    releases: Sequence[int] = RELEASES,
    judge: causal.Judge | None = None,
) -> list[CompositionRow]:
    """Return a row for each number of releases, beginning with 1."""
    every = [m.rewrites(text, max(releases), seed=k) for k, text in enumerate(texts)]
    chosen = [best.choose_places(list(reader_evidence.ReleasedText(of[0]).steps)) for of in every]
    read = [(of, only) for of, only in zip(every, chosen, strict=True) if only]
    likely = None if judge is None else float(np.mean([_likely(m, of[0], only, judge) for of, only in read[:ASKED]]))
    out: list[CompositionRow] = []
    first: list[float] = []
    for n in releases:
        began = time.process_time()
        guesses = [reader.read_releases(m, of[:n], only=only) for of, only in read]
        seconds = (time.process_time() - began) / len(read)
        success = [f.success for f in guesses]
        first = first or success
        gain = compare(success, first)
        out.append(
            CompositionRow(
                data=data,
                mechanism=m.name,
                options=named_options(m),
                epsilon=m.config.epsilon,
                words=words,
                releases=n,
                texts=len(read),
                drawn=sum(len(only) for _, only in read),
                reader=float(np.mean(success)),
                half=half_width(success),
                alone=float(np.mean([f.context_free_share for f in guesses])),
                more=gain.difference,
                low=gain.low,
                high=gain.high,
                likely=likely if n == 1 else None,
                seconds=seconds,
            )
        )
    return out


def _likely(m: Mechanism, result: Any, only: Sequence[int], judge: causal.Judge) -> float:
    guesses = likely_text.attack(m, result, judge=judge, only=only).guesses
    return float(np.mean([g.rank == 1 for g in guesses]))


def row_text(row: CompositionRow) -> str:
    """Return a row as text."""
    beyond = f" ({row.more:+.3f}, {row.low:+.3f} to {row.high:+.3f})" if row.releases > 1 else ""
    likely = "" if row.likely is None else f", language model {row.likely:.3f}"
    success = plus_minus(row.reader, row.half if row.texts > 1 else None)
    return (
        f"{row.words} words, {row.releases} releases: contextual {success}{beyond}, Bayes-optimal guess "
        f"{row.alone:.3f}{likely}; {row.drawn} words of {row.texts} texts, {row.seconds:.2f} s per text"
    )


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench composition``."""
    takes = parser("composition", __doc__, "data", "stopwords", "out")
    takes.add_argument("--set", default="authors", metavar="NAME", help="data set (default authors)")
    takes.add_argument(
        "--judge", metavar="NAME", help=f"causal language model as another attacker: a folder, or {causal.JUDGE}"
    )
    takes.add_argument("--mechanism", action="append", choices=EPSILONS, help="default: all of them")
    takes.add_argument("--words", action="append", type=int, metavar="N", help=f"default: {', '.join(map(str, TEXTS))}")
    takes.add_argument(
        "--texts", type=int, metavar="N", help="number of texts of each length (default: fewer for longer ones)"
    )
    takes.add_argument("--add", action="store_true", help="keep the rows of the file, and measure the missing ones")
    args = takes.parse_args(argv)
    judge = causal.judge(args.judge) if args.judge else None
    about = MEASUREMENT.about(stopwords=which_stop_words(args), seeds="the number of the text and of the release")
    if judge is not None:
        about["judge"] = judge.title
    data_set = data_sets.load(args.set, args.data)
    labels = list(data_set.targets.values())[-1]
    old_rows = MEASUREMENT.read(args.out) if args.add and args.out is not None and args.out.exists() else ()
    rows = list(old_rows)
    for words in args.words or TEXTS:
        count = args.texts or TEXTS.get(words, min(TEXTS.values()))
        texts = join_texts(
            [" ".join(data_set.texts[i]) for i in data_set.test], [labels[i] for i in data_set.test], words, count
        )
        for name in args.mechanism or EPSILONS:
            if any((r.data, r.mechanism, r.words) == (args.set, name, words) for r in old_rows):
                continue
            m = Setting(name, {**OPTIONS.get(name, {}), **options_in(args, name)}).at(EPSILONS[name]).make()
            short = words == min(TEXTS)
            for row in measure(args.set, m, texts, words, RELEASES if short else (1,), judge if short else None):
                print(f"{row.mechanism:12s} ε {row.epsilon:<6g} {row_text(row)}", flush=True)
                rows.append(row)
            MEASUREMENT.write(args.out, rows, about)
    return 0
