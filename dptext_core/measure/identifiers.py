"""Annotated names of people, places and the like, and which of them a rewrite still shows.

The format is that of the Text Anonymization Benchmark (TAB; Pilán et al. 2022, Computational Linguistics 48:4) as
published. It is a list of documents, each with ``text`` and ``annotations``: per annotator the ``entity_mentions``, of
which ``start_offset``, ``end_offset``, ``entity_id`` and ``identifier_type`` (DIRECT, QUASI or NO_MASK) are read. As in
TAB, an identifier is hidden only if all its mentions are, and a mention only if each of its words is, not counting
marks, titles and words such as "of". Recall is the share of the identifiers that are hidden, those of all annotators
together.

TAB checks whether the characters were masked, which a rewrite does not do. Here a word is not hidden if it is in its
own place, by the longest runs that both texts have in common (difflib). A mention elsewhere in the rewrite, ignoring
case, is not hidden either, so that this recall is at most TAB's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..support.assets import read_json
from ..support.private import Private
from ..support.statistics import NORMAL, clopper_pearson
from ..text.document import Document

#: Kinds of identifiers that must be hidden, by TAB's names.
KINDS = {"DIRECT": "direct", "QUASI": "quasi"}
#: Words of a mention that TAB's evaluation does not count.
_SMALL = (
    "mr mrs ms and or from until to about after as at before between by during for in into of on over since with the a "
    "an no nr 's ’s"
)
_IGNORED = frozenset(_SMALL.split())


@dataclass(frozen=True)
class Identifier(Private):
    """Something that identifies a person.

    kind: "direct" or "quasi". mentions: its different spellings. spans: its offsets in the original, as far as known.
    """

    kind: str
    mentions: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()

    _shown: ClassVar[tuple[str, ...]] = ("kind", "mentions")


def read_tab(path: str | Path) -> dict[str, tuple[Identifier, ...]]:
    """Return the identifiers of each document, by its text. Raises InputError for another format."""
    content = read_json(Path(path))
    if not isinstance(content, list) or not content:
        raise InputError("Annotated texts must be a JSON list of documents in TAB's format.")
    out: dict[str, tuple[Identifier, ...]] = {}
    for number, document in enumerate(content, 1):
        try:
            text, annotations = document["text"], document["annotations"]
            by_annotator = [given["entity_mentions"] for given in annotations.values()]
            out[text] = tuple(i for mentions in by_annotator for i in _identifiers(text, mentions))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise InputError(
                f"Document {number} is not in TAB's format. It needs text and annotations, with entity_mentions that "
                "have start_offset, end_offset, entity_id and identifier_type."
            ) from error
    return out


def _identifiers(text: str, mentions: Iterable[Mapping[str, Any]]) -> list[Identifier]:
    together: dict[str, tuple[str, list[tuple[int, int]]]] = {}
    for mention in mentions:
        if (kind := KINDS.get(mention["identifier_type"])) is None:
            continue
        start, end = mention["start_offset"], mention["end_offset"]
        if not 0 <= start < end <= len(text):
            raise IndexError
        kinds, spans = together.setdefault(str(mention["entity_id"]), (kind, []))
        spans.append((start, end))
        if kind == "direct" and kinds != kind:  # the stronger type wins
            together[str(mention["entity_id"])] = kind, spans
    return [
        Identifier(kind, tuple(dict.fromkeys(text[a:b] for a, b in spans)), tuple(spans))
        for kind, spans in together.values()
    ]


def _counted_words(text: str) -> list[tuple[str, int, int]]:
    """Return the counted words of a text, ignoring case, and their positions."""
    words = [(t.text.casefold(), t.start, t.end) for t in Document.parse(text).tokens]
    return [w for w in words if w[0] not in _IGNORED and any(c.isalnum() for c in w[0])]


def _in_a_row(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "


def are_hidden(original: str, rewrite: str, identifiers: Sequence[Identifier]) -> list[bool]:
    """Return for each identifier whether no word of it is in place and no mention elsewhere in the rewrite."""
    before, after = _counted_words(original), _counted_words(rewrite)
    one, other = [w for w, *_ in before], [w for w, *_ in after]
    there, unmoved = _in_a_row(other), set[int]()
    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        unmoved |= set(range(block.a, block.a + block.size))
    stand = [before[k][1:] for k in sorted(unmoved)]
    out = []
    for i in identifiers:
        in_place = any(a < end and start < b for a, b in i.spans for start, end in stand)
        words = [[w for w, *_ in _counted_words(mention)] for mention in i.mentions]
        out.append(not in_place and not any(w and _in_a_row(w) in there for w in words))
    return out


@dataclass(frozen=True)
class Recall:
    """The share of the identifiers of a kind that are hidden, with its 95% interval over documents.

    n: documents with such an identifier; identifiers: their number, over all annotators.
    """

    kind: str
    value: float
    low: float
    high: float
    n: int
    identifiers: int


def recall(
    originals: Sequence[str], rewrites: Sequence[str], identifiers: Sequence[Sequence[Identifier]]
) -> list[Recall]:
    """Return the recall of each kind in the documents."""
    every = list(zip(originals, rewrites, identifiers, strict=True))
    each = [are_hidden(original, rewrite, some) for original, rewrite, some in every]
    out = []
    for kind in KINDS.values():
        of = [
            [hit for i, hit in zip(some, hits, strict=True) if i.kind == kind]
            for hits, (*_, some) in zip(each, every, strict=True)
        ]
        n = np.array([len(hits) for hits in of if hits], float)
        if len(n):
            hits_ = np.array([sum(hits) for hits in of if hits], float)
            value = float(hits_.sum() / n.sum())
            # A share of sums over documents, by its linear part.
            half = 1.0
            if len(n) > 1:
                spread = float(np.square(hits_ - value * n).sum()) * len(n) / (len(n) - 1)
                half = NORMAL * math.sqrt(spread) / float(n.sum())
            low, high = max(0.0, value - half), min(1.0, value + half)
            if not half:  # identical documents do not show how far others may differ
                low, high = clopper_pearson(value * len(n), len(n))
            out.append(Recall(kind, value, low, high, len(n), int(n.sum())))
    return out
