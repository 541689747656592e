"""The certainty of a reader about an identifying word and another word, for several anonymisers of the same texts.

The anonymisers are redaction, surrogates, mechanisms, and mechanisms that first replace identifying words by
surrogates. Each text has an identifying word (one that the rules flag; in the notes, one that is marked) and another
content word. Each word has 7 public alternatives of its kind, the same for all anonymisers. The certainty is the
expected success of the optimal reader. The meaning preserved is the cosine between the text and its rewrites, over five
seeds.

Lines are appended to a file, one per text, so that a stopped run continues. With ``--attackers``, a second file has the
share of replaced words that attackers on single words recover, in the texts of the first file.

    python -m dptext_core bench anonymisers --data DIR --notes tests/detectors/notes.txt --stopwords FILE \
        --lines anonymisers.jsonl [--attackers attackers.jsonl]
    python -m dptext_core bench anonymisers --lines anonymisers.jsonl --attackers attackers.jsonl \
        --out assets/benchmarks/anonymisers.json
    python -m dptext_core bench anonymisers --boards
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.attacks import best
from dptext_core.attacks.alternatives import suggest_alternatives
from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.attacks.expected_belief import DRAWS, expected_success
from dptext_core.attacks.which_text import content_words
from dptext_core.errors import ConfigError, InputError
from dptext_core.measure.detection import MarkedText, read_marked
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.detected.flags import flag_tokens
from dptext_core.mechanisms.detected.stand_ins import candidates
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.task import UNWATCHED
from dptext_core.text.document import Document

from ..results.anonymisers import (
    ALTERNATIVES,
    FACTS,
    IDENTIFYING,
    MEASUREMENT,
    OTHER,
    AnonymiserRow,
    bundled,
    finding,
)
from ..results.data_titles import title
from ..results.measurement import markdown
from ..results.paired_comparison import pack
from ..results.rows import six_digits
from ..runner import data_sets
from ..runner.grid import SIZES
from ..runner.options import named_options, options_in, parser, which_stop_words
from .belief import judged_cosines
from .blocks import append_blocks, read_lines

SETS = ("sst2", "reviews", "notes")
TEXTS, SEEDS = 100, (1, 2, 3, 4, 5)
#: How many of these rewrites the word attackers read.
ATTACKED = 2
#: The list of alternatives for a marked word that the detector does not flag.
_LISTS = {"name": "first name", "place": "place", "date": "month", "number": "number word"}


@dataclass(frozen=True)
class Anonymiser:
    """A mechanism and its ε. releases: number of samples for an estimated certainty, whose error is below the spread
    over texts."""

    mechanism: str
    epsilons: tuple[float, ...] = ()
    surrogates: bool = False
    releases: int = DRAWS

    @property
    def name(self) -> str:
        """Return the name of its lines."""
        return f"{self.mechanism}+surrogates" if self.surrogates else self.mechanism

    def make(self, options: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism."""
        return get_mechanism(self.mechanism, **options, **({"surrogates": True} if self.surrogates else {}))


_MLM, _CUSTEXT, _DIFFRACTOR = (15.0, 20.0, 30.0, 50.0, 100.0), (1.0, 5.0, 20.0), (0.3, 1.0, 3.0)
ANONYMISERS = {
    a.name: a
    for a in (
        Anonymiser("redact"),
        Anonymiser("surrogates"),
        Anonymiser("dp-mlm", _MLM, releases=16),
        Anonymiser("dp-mlm", _MLM, surrogates=True, releases=2),
        Anonymiser("custext", _CUSTEXT),
        Anonymiser("custext", _CUSTEXT, surrogates=True),
        Anonymiser("diffractor", _DIFFRACTOR),
        Anonymiser("diffractor", _DIFFRACTOR, surrogates=True),
        Anonymiser("santext", (13.0, 15.0, 16.0, 18.0)),
    )
}


# --- texts and questions


@dataclass(frozen=True)
class AskedText:
    """A text and its two questions. number: its index in the order of the data set. asked: for each fact, the word and
    its alternatives."""

    number: int
    text: str
    asked: Mapping[str, tuple[str, tuple[str, ...]]]


def asked_texts(texts: Iterable[MarkedText], n: int, planner: Mechanism) -> list[AskedText]:
    """Return the first n texts that have an identifying word and another content word, each with alternatives.

    The marked spans are identifying; in a text whose marks are incomplete, the spans that the rules flag are. planner:
    splits a text into words and has their ranks.
    """
    asked_list: list[AskedText] = []
    for marked in texts:
        document = Document.parse(marked.text, planner.language)
        lists = _identifying(marked, document)
        identifying = next((x for token in sorted(lists) if (x := _listed(document, token, lists[token]))), None)
        hidden = {document.words[token].casefold() for token in lists}
        other = next((x for word in content_words(planner, marked.text) if (x := _near(word, hidden, planner))), None)
        if identifying and other:
            asked_list.append(AskedText(len(asked_list), marked.text, {IDENTIFYING: identifying, OTHER: other}))
        if len(asked_list) == n:
            break
    return asked_list


def _identifying(marked: MarkedText, document: Document) -> dict[int, str]:
    """Return the list of alternatives for each identifying token."""
    flagged = {flag.token: flag.form for flag in flag_tokens(document, "rules")}
    if not marked.complete:
        return flagged
    return {
        i: flagged.get(i, _LISTS.get(kind, ""))
        for kind, start, end in marked.spans
        for i, at in enumerate(document.starts)
        if start <= at < end and any(map(str.isalnum, document.words[i]))
    }


def _listed(document: Document, token: int, form: str) -> tuple[str, tuple[str, ...]] | None:
    """Return an identifying word and its alternatives, in an order from a public hash. None if there are too few, or if
    the word occurs several times."""
    word = document.words[token]
    if not form or [w.casefold() for w in document.words].count(word.casefold()) > 1:
        return None
    words = [w for w in candidates(form, document.language) if w.casefold() != word.casefold()]
    words.sort(key=lambda w: hashlib.sha256(f"anonymisers {w}".encode()).digest())
    if len(words) < ALTERNATIVES - 1:
        return None
    case = str.lower if word.islower() else str.upper if word.isupper() else str
    return word, tuple(map(case, words[: ALTERNATIVES - 1]))


def _near(word: str, hidden: set[str], planner: Mechanism) -> tuple[str, tuple[str, ...]] | None:
    """Return another word and its alternatives; None if it is identifying or there are too few."""
    try:
        others = suggest_alternatives(word, planner, ALTERNATIVES - 1) if word not in hidden else []
    except InputError:
        return None
    return (word, tuple(others)) if len(others) == ALTERNATIVES - 1 else None


def texts_of(name: str, args: argparse.Namespace) -> list[MarkedText]:
    """Return the texts of a data set in an order that depends on their numbers alone; the notes in file order."""
    if name == "notes":
        if args.notes is None:
            raise ConfigError("No file of marked notes was given. Name one with --notes FILE.")
        return read_marked(args.notes.read_text(encoding="utf-8").splitlines())
    size = SIZES[name]
    data = data_sets.load(name, args.data, size.n_train, size.n_test, size.max_words)
    order = sorted(data.test, key=lambda i: hashlib.sha256(f"belief {i - data.test[0]}".encode()).digest())
    return [MarkedText(data.texts[i][0], (), complete=False) for i in order]


# --- measuring


def measure_block(
    anonymiser: Anonymiser, m: Mechanism, data: str, texts: Sequence[AskedText]
) -> Iterator[dict[str, Any]]:
    """Yield the line of each text: both certainties and the cosine at every ε."""
    epsilons = anonymiser.epsilons or (m.config.epsilon,)
    variants = [m.replace(epsilon=e) for e in epsilons]
    lines, rewrites = [], []
    for t in texts:
        line: dict[str, Any] = {"name": anonymiser.name, "mechanism": m.name, "options": named_options(m)}
        line |= {"data": data, "text": t.number, "epsilons": list(anonymiser.epsilons), "releases": 0}
        for fact, (word, others) in t.asked.items():
            question = BeliefQuestion.make(m, t.text, word, others)
            stream = NoiseStream(0).at(data, t.number)
            expected = expected_success(variants, question, None, True, stream, UNWATCHED)
            if expected is None:
                expected = expected_success(variants, question, anonymiser.releases, False, stream, UNWATCHED)
            assert expected is not None
            line[fact] = [round(e.value, 5) for e in expected]
            line["releases"] = max(line["releases"], *(e.draws for e in expected))
        for seed in SEEDS:
            sweep = m.sweep(question.prepared[0], epsilons, stream=NoiseStream(seed).at(data, t.number))
            rewrites += [r.text for r in sweep.results]
        lines.append(line)
    originals = [t.text for t in texts for _ in range(len(SEEDS) * len(epsilons))]
    cosines = judged_cosines(originals, rewrites)[0].reshape(len(texts), len(SEEDS), len(epsilons)).mean(axis=1)
    for line, cosine in zip(lines, cosines, strict=True):
        yield line | {"cosine": [round(x, 5) for x in cosine.tolist()]}


def attack_block(
    anonymiser: Anonymiser, m: Mechanism, data: str, texts: Sequence[AskedText]
) -> Iterator[dict[str, Any]]:
    """Yield the line of each text: the number of replaced words at every ε, and how many each attacker recovers."""
    for t in texts:
        words, right = list[int](), dict[str, list[int]]()
        for epsilon in anonymiser.epsilons or (m.config.epsilon,):
            variant = m.replace(epsilon=epsilon)
            prepared, hits = variant.prepare(t.text), dict[str, list[bool]]()
            for seed in SEEDS[:ATTACKED]:
                result = variant.rewrite(prepared, stream=NoiseStream(seed).at(data, t.number))
                for attacker, outcomes in best.guesses(variant, result)[0].items():
                    hits.setdefault(attacker, []).extend(outcomes)
            words.append(max(map(len, hits.values())))
            for attacker, outcomes in hits.items():
                right.setdefault(attacker, []).append(sum(outcomes))
        yield {"name": anonymiser.name, "data": data, "text": t.number, "words": words, "right": right}


def recovered(lines: Sequence[Mapping[str, Any] | None], k: int) -> dict[str, Any]:
    """Return the columns of a row on the strongest attacker, from the lines of its texts and the index of its ε. Empty
    if a text has no line, or no word was replaced.
    """
    some = [line for line in lines if line and line["words"][k]]
    if None in lines or not some:
        return {}
    hits = {
        attacker: [[j < line["right"][attacker][k] for j in range(line["words"][k])] for line in some]
        for attacker in some[0]["right"]
    }
    top = best.compare_texts(hits)
    values = {"recovered": top.success, "recovered_low": top.low, "recovered_high": top.high}
    return {"attacker": top.name} | {column: six_digits(x) for column, x in values.items()}


def rows_of(lines: Iterable[Mapping[str, Any]], attacked: Iterable[Mapping[str, Any]] = ()) -> list[AnonymiserRow]:
    """Return a row for each anonymiser, data set and ε, over the first texts that all anonymisers of the set have.
    attacked: the lines of attackers. A row has their results if each of its texts has such a line.
    """
    attacks = {(line["name"], line["data"], line["text"]): line for line in attacked}
    groups: dict[str, dict[str, dict[int, Mapping[str, Any]]]] = {}
    for line in lines:
        groups.setdefault(line["data"], {}).setdefault(line["name"], {})[line["text"]] = line
    rows = []
    for data, by_name in groups.items():
        n = min(next(i for i in range(len(numbers) + 1) if i not in numbers) for numbers in by_name.values())
        for by_text in by_name.values() if n else ():
            some = [by_text[i] for i in range(n)]
            guessed = [attacks.get((line["name"], data, line["text"])) for line in some]
            for k, epsilon in enumerate(some[0]["epsilons"] or [None]):
                columns = {c: [line[c][k] for line in some] for c in (*FACTS, "cosine")}
                means: dict[str, Any] = {c: six_digits(float(np.mean(values))) for c, values in columns.items()}
                row = AnonymiserRow(
                    mechanism=some[0]["mechanism"],
                    options=some[0]["options"],
                    data=data,
                    epsilon=epsilon,
                    texts=n,
                    releases=max(line["releases"] for line in some),
                    seeds=len(SEEDS),
                    **means,
                    identifyings=pack(columns[IDENTIFYING], short=True),
                    others=pack(columns[OTHER], short=True),
                    cosines=pack(columns["cosine"], -1, 1, short=True),
                    **recovered(guessed, k),
                )
                rows.append(row)
    return rows


def run(args: argparse.Namespace) -> None:
    """Measure the missing lines. With a file for attackers, measure its missing texts instead."""
    planner = get_mechanism("santext", **options_in(args, "santext"))
    texts = {name: asked_texts(texts_of(name, args), args.texts, planner) for name in args.sets}
    attacked, lines = args.attackers is not None, _keys(read_lines(args.lines))
    done = _keys(read_lines(args.attackers)) if attacked else lines

    def is_done(key: tuple[str, str, int]) -> bool:
        return key in done or (attacked and key not in lines)

    def measure(name: str, data: str, block: Sequence[AskedText]) -> Iterator[dict[str, Any]]:
        anonymiser = ANONYMISERS[name]
        m = anonymiser.make(options_in(args, anonymiser.mechanism))
        return (attack_block if attacked else measure_block)(anonymiser, m, data, block)

    append_blocks(args.attackers or args.lines, texts, ANONYMISERS, is_done, measure)


def _keys(lines: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, int]]:
    return {(x["name"], x["data"], x["text"]) for x in lines}


def table(rows: Iterable[AnonymiserRow]) -> str:
    """Return a Markdown table of the rows."""
    cells = []
    for row in rows:
        shown = "–" if row.epsilon is None else f"{row.epsilon:g}"
        values = []
        for column in (*FACTS, "cosine"):
            low, high = row.interval(column)
            values.append(f"{row.value(column):.2f} ({low:.2f} to {high:.2f})")
        cells.append((row.data, row.title, shown, str(row.texts), *values, _recovered_cell(row)))
    heading = ("data", "anonymiser", "ε", "texts", "certainty, identifying word", "certainty, other word", "cosine")
    return markdown((*heading, "recovered"), cells)


def _recovered_cell(row: AnonymiserRow) -> str:
    """Return the share of replaced words that the strongest attacker recovers, with its name; "" if unknown."""
    if not row.attacker:
        return ""
    half = (row.recovered_high - row.recovered_low) / 2
    return f"{row.recovered:.2f} ± {half:.2f} ({best.title(row.attacker)})"


def boards() -> str:
    """Return the finding of each data set and one table of the bundled rows, as in the document."""
    rows = bundled()
    sets = list(dict.fromkeys(row.data for row in rows))
    parts = []
    for data in sets:
        own = [row for row in rows if row.data == data]
        parts.append(f"{title(data)} ({own[0].texts} texts): {' '.join(finding(own))}")
    columns = ("identifying", "other", "cosine", *(["recovered"] if any(_recovered_cell(row) for row in rows) else ()))
    cells: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for row in rows:
        shown = "–" if row.epsilon is None else f"{row.epsilon:g}"
        values = tuple(_with_half(row, c) for c in (*FACTS, "cosine"))
        cells.setdefault((row.title, shown), {})[row.data] = (*values, _recovered_cell(row))[: len(columns)]
    heading = ("anonymiser", "ε", *(f"{data}: {what}" for data in sets for what in columns))
    lines = [(*key, *(x for data in sets for x in own.get(data, ("",) * len(columns)))) for key, own in cells.items()]
    return "\n\n".join([*parts, markdown(heading, lines)])


def _with_half(row: AnonymiserRow, column: str) -> str:
    """Return a mean with half of its 95% interval."""
    low, high = row.interval(column)
    return f"{row.value(column):.2f} ± {(high - low) / 2:.2f}"


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench anonymisers``."""
    takes = parser("anonymisers", __doc__, "data", "stopwords", "out")
    takes.add_argument("--lines", type=Path, metavar="FILE", help="file of measurements, one line per text")
    takes.add_argument(
        "--attackers", type=Path, metavar="FILE", help="results of word attackers on --lines, one line per text"
    )
    takes.add_argument("--notes", type=Path, metavar="FILE", help="notes whose identifying spans are marked")
    takes.add_argument(
        "--texts", type=int, default=TEXTS, metavar="N", help=f"number of texts of each data set (default {TEXTS})"
    )
    takes.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, help="data sets (default: all)")
    takes.add_argument("--boards", action="store_true", help="print the bundled results instead")
    args = takes.parse_args(argv)
    if args.boards:
        print(boards())
        return 0
    if args.lines is None:
        raise ConfigError("No file of measurements was given. Name one with --lines FILE.")
    if args.data is not None or args.notes is not None:
        run(args)
    rows = rows_of(read_lines(args.lines), () if args.attackers is None else read_lines(args.attackers))
    print(table(rows))
    MEASUREMENT.write(args.out, rows, MEASUREMENT.about(stopwords=which_stop_words(args), alternatives=ALTERNATIVES))
    return 0
