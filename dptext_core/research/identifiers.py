"""Annotated names of people, places and the like, and which of them a rewrite still shows.

The format is that of the Text Anonymization Benchmark (TAB; Pilán et al. 2022, Computational Linguistics 48:4) as
published: a list of documents, each with ``text`` and ``annotations``, by annotator the ``entity_mentions``, of which
``start_offset``, ``end_offset``, ``entity_id`` and ``identifier_type`` (DIRECT, QUASI or NO_MASK) are read.

As there, an identifier is hidden only where no mention of it survives, and recall is the share of the identifiers that
are hidden, over those of all annotators. A mention survives where its words stand in the rewrite in this order, case
ignored: TAB's own figure asks whether the characters were masked, which a rewrite without alignment cannot answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .._internal.assets import read_json
from .._internal.private import Private
from .._internal.statistics import NORMAL
from ..errors import InputError
from ..text.document import Document

#: What is to be hidden, by TAB's names.
KINDS = {"DIRECT": "direct", "QUASI": "quasi"}


@dataclass(frozen=True)
class Identifier(Private):
    """Something that identifies somebody. kind: "direct" or "quasi". mentions: how it is written, each once. weight:
    one divided by the annotators of its document."""

    kind: str
    mentions: tuple[str, ...]
    weight: float = 1.0

    _shown: ClassVar[tuple[str, ...]] = ("kind", "mentions")


def read_tab(path: str | Path) -> dict[str, tuple[Identifier, ...]]:
    """The identifiers of each document, by its text. Raises InputError for another format."""
    found = read_json(Path(path))
    if not isinstance(found, list) or not found:
        raise InputError("Annotated texts are a JSON list of documents, as TAB publishes them.")
    out: dict[str, tuple[Identifier, ...]] = {}
    for number, document in enumerate(found, 1):
        try:
            text, annotations = document["text"], document["annotations"]
            by_annotator = [given["entity_mentions"] for given in annotations.values()]
            out[text] = tuple(i for mentions in by_annotator for i in _identifiers(text, mentions, len(by_annotator)))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise InputError(
                f"Document {number} is not as TAB publishes them: each has text and annotations, with entity_mentions "
                "that have start_offset, end_offset, entity_id and identifier_type."
            ) from error
    return out


def _identifiers(text: str, mentions: Iterable[Mapping[str, Any]], annotators: int) -> list[Identifier]:
    together: dict[str, tuple[str, list[str]]] = {}
    for mention in mentions:
        if (kind := KINDS.get(mention["identifier_type"])) is None:
            continue
        start, end = mention["start_offset"], mention["end_offset"]
        if not 0 <= start < end <= len(text):
            raise IndexError
        kinds, written = together.setdefault(str(mention["entity_id"]), (kind, []))
        written.append(text[start:end])
        if kind == "direct" and kinds != kind:  # the stronger one holds
            together[str(mention["entity_id"])] = kind, written
    return [Identifier(kind, tuple(dict.fromkeys(m)), 1 / annotators) for kind, m in together.values()]


def _words(text: str) -> str:
    return f" {' '.join(t.text.casefold() for t in Document.parse(text).tokens)} "


def hidden(rewrite: str, identifiers: Sequence[Identifier]) -> list[bool]:
    """Of each identifier, whether no mention of it stands in the rewrite."""
    there = _words(rewrite)
    return [not any(_words(mention) in there for mention in i.mentions) for i in identifiers]


@dataclass(frozen=True)
class Recall:
    """The share of the identifiers of a kind that are hidden, with its 95% interval over documents. n: documents that
    have one; identifiers: how many, those of several annotators as a mean."""

    kind: str
    value: float
    low: float
    high: float
    n: int
    identifiers: float


def recall(rewrites: Sequence[str], identifiers: Sequence[Sequence[Identifier]]) -> list[Recall]:
    """Of each kind that there is."""
    each = [hidden(rewrite, some) for rewrite, some in zip(rewrites, identifiers, strict=True)]
    out = []
    for kind in KINDS.values():
        of, all_ = [], []
        for hits, some in zip(each, identifiers, strict=True):
            weights = [(i.weight, hit) for i, hit in zip(some, hits, strict=True) if i.kind == kind]
            if weights:
                all_.append(sum(w for w, _ in weights))
                of.append(sum(w for w, hit in weights if hit))
        if all_:
            hits_, n = np.array(of), np.array(all_)
            value = float(hits_.sum() / n.sum())
            # A share of sums over documents, by its linear part.
            half = 1.0
            if len(n) > 1:
                spread = float(np.square(hits_ - value * n).sum()) * len(n) / (len(n) - 1)
                half = NORMAL * math.sqrt(spread) / float(n.sum())
            out.append(Recall(kind, value, max(0.0, value - half), min(1.0, value + half), len(n), float(n.sum())))
    return out
