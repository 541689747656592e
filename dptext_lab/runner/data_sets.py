"""Public data sets of the benchmarks: texts, targets and a fixed split.

GLUE's test sets have no labels, so its official validation sets are the test sets here. Other data sets have their own.
Smaller samples are drawn by a hash instead of a random generator, so they are the same on every machine. "builtin" is a
small set of invented sentences and needs no files.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dptext_core.errors import ConfigError, InputError
from dptext_core.support.checks import pluralize

from ..results.data_titles import title


@dataclass(frozen=True)
class Data:
    """Texts (one part each; two for pairs), their targets, and the training and test texts.

    Samples are stratified by the first target. ``sha256`` is the hash of the concatenated files; ``file`` has their
    names, relative to the data folder.
    """

    name: str
    title: str
    texts: tuple[tuple[str, ...], ...]
    targets: Mapping[str, tuple[str, ...]]
    train: tuple[int, ...]
    test: tuple[int, ...]
    sha256: str
    file: str


@dataclass(frozen=True)
class _Source:
    files: tuple[str, str]  # to train, to test
    columns: tuple[str, ...]
    header: bool
    texts: tuple[str, ...]
    targets: Mapping[str, str]  # our name -> column


_PAIR = ("index", "sentence1", "sentence2", "label")
_MRPC = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")
_REVIEWS = ("author", "rating3", "rating", "text")
_TSV, _CSV = ("train.tsv", "dev.tsv"), ("train.csv", "test.csv")
_LABEL, _INTENT = {"label": "label"}, {"label": "intent"}
_SOURCES = {
    "sst2": _Source(("train.tsv", "test.tsv"), ("sentence", "label"), True, ("sentence",), _LABEL),
    "cola": _Source(_TSV, ("source", "label", "mark", "sentence"), False, ("sentence",), _LABEL),
    "mrpc": _Source(_TSV, _MRPC, True, _MRPC[3:], {"label": "Quality"}),
    "rte": _Source(_TSV, _PAIR, True, _PAIR[1:3], _LABEL),
    "wnli": _Source(_TSV, _PAIR, True, _PAIR[1:3], _LABEL),
    "atis": _Source(_CSV, ("intent", "text"), False, ("text",), _INTENT),
    "snips": _Source(_CSV, ("intent", "text"), False, ("text",), _INTENT),
    "reviews": _Source(_CSV, _REVIEWS, True, ("text",), {"rating": "rating3", "author": "author"}),
    "authors": _Source(_CSV, ("label", "text"), True, ("text",), {"author": "label"}),
}
NAMES: tuple[str, ...] = (*_SOURCES, "builtin")


def load(
    name: str,
    folder: Path | None,
    n_train: int | None = None,
    n_test: int | None = None,
    max_words: int | None = None,
    sample: int = 1,
) -> Data:
    """Return the data set ``name`` from ``folder``, with at most ``n_train`` and ``n_test`` texts (None: all).

    Samples preserve the shares of labels. The training sample depends on ``sample`` alone; the test sample is always
    the same. ``max_words`` cuts each part of a text to its first words. Training texts that are also in the test are
    excluded. Raises ConfigError for an unknown name or a number below 1, and InputError for a file that is missing or
    has wrong columns.
    """
    for option, value in (("n_train", n_train), ("n_test", n_test), ("max_words", max_words)):
        if value is not None and value < 1:
            raise ConfigError(f"{option} must be at least 1, or None for all; got {value}.")
    if name == "builtin":
        called, file = title(name), "builtin"
        rows = _invented_rows()
        digest = hashlib.sha256("\n".join("\t".join((*parts, *t.values())) for parts, t in rows).encode()).hexdigest()
        labels = [t["label"] + t["author"] for _, t in rows]
        chosen = set(stratified(labels, len(rows) // 3, 0, "split"))
        train = [row for i, row in enumerate(rows) if i not in chosen]
        test = [row for i, row in enumerate(rows) if i in chosen]
    elif name in _SOURCES:
        if folder is None:
            raise InputError(f"{name} needs files. Name the folder of the data sets with --data FOLDER.")
        source = _SOURCES[name]
        called, file = title(name), " + ".join(f"{name}/{part}" for part in source.files)
        contents = [_bytes(Path(folder) / name / part) for part in source.files]
        digest = hashlib.sha256(b"".join(contents)).hexdigest()
        train, test = (
            _rows(source, content, Path(folder) / name / part)
            for content, part in zip(contents, source.files, strict=True)
        )
    else:
        raise ConfigError(f"Unknown data set {name!r}: use one of {', '.join(NAMES)}.")

    if max_words is not None:
        train, test = ([(_truncate(parts, max_words), t) for parts, t in rows] for rows in (train, test))
    known = {parts for parts, _ in test}
    train = [row for row in train if row[0] not in known]
    first = next(iter(test[0][1]))
    chosen_rows = []
    for part, rows, n in (("train", train, n_train), ("test", test, n_test)):
        seed = sample if part == "train" else 1
        chosen_rows.append([rows[i] for i in stratified([t[first] for _, t in rows], n, seed, part)])
    both = [*chosen_rows[0], *chosen_rows[1]]
    return Data(
        name=name,
        title=called,
        texts=tuple(parts for parts, _ in both),
        targets={target: tuple(t[target] for _, t in both) for target in both[0][1]},
        train=tuple(range(len(chosen_rows[0]))),
        test=tuple(range(len(chosen_rows[0]), len(both))),
        sha256=digest,
        file=file,
    )


_Row = tuple[tuple[str, ...], dict[str, str]]  # parts, targets


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}). Name the folder that contains {path.parent.name}/{path.name}."
        ) from error


def _rows(source: _Source, content: bytes, path: Path) -> list[_Row]:
    wanted = f"{path} must have the columns {', '.join(source.columns)}"
    rows: list[_Row] = []
    try:
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        if path.suffix == ".tsv":
            table = csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            table = csv.reader(text, strict=True)
        for line, cells in enumerate(table, 1):
            if len(cells) != len(source.columns):
                has = f"{wanted}: row {line} has {pluralize(len(cells), 'column')}."
                raise InputError(f"{has} Download the file again.")
            if source.header and line == 1:
                if tuple(cells) != source.columns:
                    raise InputError(f"{wanted}: its first row has {', '.join(cells)}. Download the file again.")
                continue
            row = dict(zip(source.columns, (cell.strip() for cell in cells), strict=True))
            parts = tuple(row[column] for column in source.texts)
            targets = {target: row[column] for target, column in source.targets.items()}
            if not all((*parts, *targets.values())):
                raise InputError(f"{wanted}: row {line} has an empty text or label. Download the file again.")
            rows.append((parts, targets))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a table in UTF-8: {error}. Download the file again.") from error
    if not rows:
        raise InputError(f"{path} contains no text. Download the file again.")
    return rows


def _truncate(parts: Sequence[str], max_words: int) -> tuple[str, ...]:
    out = []
    for part in parts:
        words = part.split()
        out.append(part if len(words) <= max_words else " ".join(words[:max_words]))
    return tuple(out)


def stratified(labels: Sequence[str], n: int | None, sample: int, part: str) -> list[int]:
    """Return rows of a stratified sample, ascending: shares by largest remainder, rows within a label by their
    hashes."""
    if n is None or n >= len(labels):
        return list(range(len(labels)))
    counts = Counter(labels)
    quota = {label: n * count // len(labels) for label, count in counts.items()}
    for label in sorted(counts, key=lambda x: (-(n * counts[x] % len(labels)), x))[: n - sum(quota.values())]:
        quota[label] += 1
    order = sorted(range(len(labels)), key=lambda i: hashlib.sha256(f"{sample} {part} {i}".encode()).digest())
    out = []
    for i in order:
        if quota[labels[i]]:
            quota[labels[i]] -= 1
            out.append(i)
    return sorted(out)


_THINGS = (
    "soup",
    "hotel",
    "film",
    "garden tour",
    "bicycle",
    "concert",
    "train ride",
    "phone",
    "novel",
    "pizza",
    "haircut",
    "museum",
    "jacket",
    "ferry trip",
)
_WORDS = {
    "praise": ("wonderful", "delightful", "excellent", "lovely", "superb"),
    "complaint": ("terrible", "awful", "disappointing", "boring", "dreadful"),
}
_ENDS = {
    "praise": ("we would happily come back", "it made our whole week", "the price was fair"),
    "complaint": ("we want our money back", "it ruined our whole week", "the price was shameful"),
}
# Each invented writer has a style: openings, connectives and punctuation.
_WRITERS = {
    "Ada": (
        "Honestly, the {thing} was really {word}, and {end}!",
        "Wow, such a really {word} {thing}, honestly {end}!",
    ),
    "Bruno": (
        "In my considered opinion, the {thing} proved to be {word}; moreover, {end}.",
        "One must admit that the {thing} was quite {word}; furthermore, {end}.",
    ),
    "Cleo": ("ok so the {thing} today was {word} and yeah {end}", "my friend said the {thing} is {word} so yeah {end}"),
}


def _invented_rows() -> list[_Row]:
    rows: list[_Row] = []
    for i, thing in enumerate(_THINGS):
        for label, words in _WORDS.items():
            for writer, forms in _WRITERS.items():
                for j, form in enumerate(forms):
                    k = i + len(rows)
                    text = form.format(thing=thing, word=words[k % len(words)], end=_ENDS[label][(k + j) % 3])
                    rows.append(((text,), {"label": label, "author": writer}))
    return rows
