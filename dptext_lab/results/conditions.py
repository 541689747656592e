"""What must be equal before two rows are compared: unknown words, stop words, texts, and the program's version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from .differences import full_options
from .rows import Row

#: The policy for unknown words that rows are compared at, where there are such rows: the default of the mechanisms.
POLICY = "random"
#: That of the papers' variants.
PAPER_POLICY = "keep"
#: What becomes of words that a mechanism's vocabulary lacks, in a table.
UNKNOWN_WORDS = {"keep": "released in clear", "random": "replaced at random", "": "none: every word is known"}


@dataclass(frozen=True)
class Conditions:
    """How a row was measured; "" for what is not known.

    unknown_words: the option ``oov``; "" for a mechanism that knows every word. stop_words: which list. training_texts,
    test_texts, words: how many, and of each text. data: the hash of the files. version: of the program.
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
        """Return the conditions of a row of a summary, by its options and what the summary says of itself."""
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
    """Return of each condition the value that most rows have, among those that state it; of equals the first."""
    every = list(conditions)
    found = {}
    for f in fields(Conditions):
        stated = Counter(value for c in every if (value := getattr(c, f.name)))
        found[f.name] = stated.most_common(1)[0][0] if stated else ""
    return Conditions(**found)


def differences(one: Conditions, other: Conditions) -> str:
    """Return in what the first differs from the second, as far as both state it; "" for nothing."""
    said = []
    for f in fields(Conditions):
        mine, theirs = getattr(one, f.name), getattr(other, f.name)
        if mine and theirs and mine != theirs:
            name = f.name.replace("_", " ")
            if f.name == "unknown_words":
                mine, theirs = UNKNOWN_WORDS.get(mine, mine), UNKNOWN_WORDS.get(theirs, theirs)
            said.append(f"{name}: {mine} instead of {theirs}")
    return "; ".join(said)
