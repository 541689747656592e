"""Conditions that two rows must share to be compared: unknown words, stop words, texts and program version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from .differences import full_options
from .rows import Row

#: The default policy for unknown words, at which rows are compared if they exist.
POLICY = "random"
#: The policy of the papers' variants.
PAPER_POLICY = "keep"
#: Descriptions of the policies for unknown words, in tables.
UNKNOWN_WORDS = {"keep": "released in clear", "random": "replaced at random", "": "none: every word is known"}


@dataclass(frozen=True)
class Conditions:
    """The conditions of a row; "" if unknown.

    unknown_words: the option ``oov``, or "" if every word is known. stop_words: name of the list. training_texts,
    test_texts, words: numbers of texts, and of words per text. data: hash of the files. version: of the program.
    """

    unknown_words: str = ""
    stop_words: str = ""
    training_texts: str = ""
    test_texts: str = ""
    words: str = ""
    data: str = ""
    version: str = ""

    @classmethod
    def of(cls, row: Row, about: Mapping[str, Any]) -> Conditions:
        """Return the conditions of a row, from its options and its summary's description."""
        texts = about.get("data") or {}
        of_set = texts.get(row.data) or {} if isinstance(texts, Mapping) else {}
        known = {
            "unknown_words": full_options(row).get("oov"),
            "stop_words": about.get("stopwords"),
            "training_texts": of_set.get("n_train"),
            "test_texts": of_set.get("n_test"),
            "words": of_set.get("max_words"),
            "data": of_set.get("sha256"),
            "version": about.get("version"),
        }
        return cls(**{name: "" if value is None else str(value) for name, value in known.items()})


def usual(conditions: Iterable[Conditions]) -> Conditions:
    """Return the most frequent stated value of each condition (the first of equally frequent ones)."""
    every = list(conditions)
    out = {}
    for f in fields(Conditions):
        stated = Counter(value for c in every if (value := getattr(c, f.name)))
        out[f.name] = stated.most_common(1)[0][0] if stated else ""
    return Conditions(**out)


def differences(one: Conditions, other: Conditions) -> str:
    """Return how the first differs from the second where both are known, or ""."""
    parts = []
    for f in fields(Conditions):
        mine, theirs = getattr(one, f.name), getattr(other, f.name)
        if mine and theirs and mine != theirs:
            name = f.name.replace("_", " ")
            if f.name == "unknown_words":
                mine, theirs = UNKNOWN_WORDS.get(mine, mine), UNKNOWN_WORDS.get(theirs, theirs)
            parts.append(f"{name}: {mine} instead of {theirs}")
    return "; ".join(parts)
