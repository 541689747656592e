"""Names and places from a user's spaCy pipeline, in addition to the rules (Honnibal et al., spaCy 3).

An optional extra. The environment variable DPTEXT_NAMES names an installed pipeline or its folder; without it, only the
rules are used. Nothing is downloaded. A pipeline runs its authors' code: use only one that you trust.
"""

from __future__ import annotations

import importlib
import os
import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..errors import InputError, ModelUnavailable
from ..support.extras import install

VARIABLE = "DPTEXT_NAMES"
INSTALL = install("names")
#: Labels of entities, in the two schemes that pipelines are trained with, and the kinds they map to.
KINDS = {"PERSON": "name", "PER": "name", "ORG": "name", "GPE": "place", "LOC": "place", "FAC": "place"}


class Finder:
    """A finder of names and places, by the spaCy pipeline of this name or folder."""

    def __init__(self, pipeline: str) -> None:
        try:
            spacy: Any = importlib.import_module("spacy")
        except ImportError:
            raise ModelUnavailable(
                f"The pipeline {pipeline} in {VARIABLE} needs spaCy. Install it with: {INSTALL}"
            ) from None
        try:
            self._nlp = spacy.load(pipeline)
        except (OSError, ValueError):
            raise ModelUnavailable(
                f"There is no readable spaCy pipeline {pipeline} on this machine. Install one, for example with "
                "python -m spacy download en_core_web_sm, or give the folder of one. Nothing is downloaded "
                "automatically."
            ) from None
        self._one = threading.Lock()

    @property
    def title(self) -> str:
        """Return the pipeline's own name, which contains no path of this machine."""
        meta = self._nlp.meta
        return f"{meta.get('lang', '')}_{meta.get('name', '')}"

    def __call__(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Return kind, start and end of each name and place, in order. Raises InputError for a long text."""
        if len(text) > self._nlp.max_length:
            raise InputError(f"The spaCy pipeline reads at most {self._nlp.max_length:,} characters. Split the text.")
        # Without a zone, spaCy keeps every word that it has read for the life of the process.
        with self._one, self._nlp.memory_zone():
            entities = [(KINDS[e.label_], e.start_char, e.end_char) for e in self._nlp(text).ents if e.label_ in KINDS]
        small = text == text.lower()
        for kind, start, end in entities:
            # Pipelines include words before a name, and flag spans without any name.
            words = re.finditer(r"\S+", text[start:end])
            begin = start if small else next((start + m.start() for m in words if _has_mark(m[0])), end)
            if begin < end:
                yield kind, begin, end


def _has_mark(word: str) -> bool:
    return any(c.isupper() or c.isdigit() for c in word)


def finder() -> Finder | None:
    """Return the pipeline that the environment names; None if it names none. Raises ModelUnavailable."""
    named = os.environ.get(VARIABLE, "").strip()
    return _load_pipeline(named) if named else None


@lru_cache(maxsize=2)
def _load_pipeline(pipeline: str) -> Finder:
    return Finder(pipeline)
