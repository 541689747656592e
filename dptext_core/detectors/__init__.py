"""Detectors of identifying spans: one interface for rules, word lists and models.

A detector returns typed spans (:class:`~.rules.PiiSpan`) in order and without overlaps. Combine a model with the rules
if a missed span costs most, and use one alone if a false flag does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..errors import ConfigError, ModelUnavailable
from ..support.checks import shorten_repr
from ..text import names
from ..text.language import Language
from . import rampart
from .rules import KINDS, Finder, PiiSpan, find_pii, find_words

__all__ = ["DETECTORS", "KINDS", "Detector", "PiiSpan", "detector"]

_Find = Callable[[str, Language], tuple[PiiSpan, ...]]


class Detector(Protocol):
    """Flags identifying spans.

    Attributes
    ----------
    name : str
        Its name in :data:`DETECTORS`.
    title : str
        Its display name.
    reads_context : bool
        Whether words outside a span can decide whether it is flagged.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def reads_context(self) -> bool: ...

    def __call__(self, text: str, language: Language) -> tuple[PiiSpan, ...]:
        """Return the flagged spans of a text. Raises ModelUnavailable where a model is missing."""


@dataclass(frozen=True)
class _Entry:
    name: str
    title: str
    reads_context: bool
    find: _Find

    def __call__(self, text: str, language: Language) -> tuple[PiiSpan, ...]:
        return self.find(text, language)


def _rampart_finder() -> Finder:
    return rampart.finder()


def _spacy_finder() -> Finder:
    found = names.finder()
    if found is None:
        raise ModelUnavailable(
            f"No spaCy pipeline is set. Name one in the environment variable {names.VARIABLE}, or choose another "
            "detector."
        )
    return found


def _with_finder(load: Callable[[], Finder], rules: bool) -> _Find:
    return lambda text, language: find_pii(text, language, load(), rules=rules)


#: All detectors by name, in the order in which they are offered.
DETECTORS: dict[str, Detector] = {
    entry.name: entry
    for entry in (
        _Entry("rules", "Rules", True, find_pii),
        _Entry("words", "Single words", False, find_words),
        _Entry("rampart", "Rampart", True, _with_finder(_rampart_finder, False)),
        _Entry("rules+rampart", "Rules and Rampart", True, _with_finder(_rampart_finder, True)),
        _Entry("spacy", "Your spaCy pipeline", True, _with_finder(_spacy_finder, False)),
        _Entry("rules+spacy", "Rules and your spaCy pipeline", True, _with_finder(_spacy_finder, True)),
    )
}


def detector(name: str) -> Detector:
    """Return a detector by its name. Raises ConfigError for an unknown one."""
    if name not in DETECTORS:
        raise ConfigError(f"There is no detector {shorten_repr(name)}. Choose one of: {', '.join(DETECTORS)}.")
    return DETECTORS[name]
