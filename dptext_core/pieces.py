"""The pieces of a released text, and the steps in which words were replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from .errors import ConfigError
from .support.private import Private
from .text.document import Token

ORIGINS = ("drawn", "copied", "rule", "polished")


@dataclass(frozen=True, slots=True)
class Release(Private):
    """A piece of the released text.

    Attributes
    ----------
    span : (int, int)
        Offsets in the released text.
    text : str
        What stands there.
    epsilon : float
        What it spent.
    origin : str
        "drawn"; "copied" from the original; placed by a public "rule"; or "polished", computed from what was drawn
        (``RewriteResult.polished``).
    source : (int, int) or None
        Offsets in the original of the word that it answers to.
    reason : str
        Why it was not drawn by looking at a word, where it was not.
    capital : bool
        Whether it is capitalised by rule.
    """

    span: tuple[int, int]
    text: str
    epsilon: float
    origin: str
    source: tuple[int, int] | None = None
    reason: str = ""
    capital: bool = False

    _shown: ClassVar[tuple[str, ...]] = ("origin", "span", "epsilon")

    @property
    def drawn(self) -> bool:
        return self.origin == "drawn"

    @property
    def original(self) -> str:
        """The word in whose place it stands: none that is known. Steps have one."""
        return ""

    @property
    def action(self) -> str:
        """As that of a step: what answers to no word is an insertion."""
        return "insert" if self.drawn else "keep"

    @property
    def out(self) -> tuple[int, int]:
        return self.span


@dataclass(frozen=True, slots=True)
class Step(Private):
    """What happened to one token.

    Attributes
    ----------
    span : (int, int)
        Offsets in the original; empty for an insertion.
    original, replacement : str
        The words; of the original what one sees of it (:mod:`dptext_core.text.visible`).
    action : {"replace", "keep", "insert", "delete"}
    reason : str
        Why it was kept, deleted or inserted.
    epsilon : float
        What it spent.
    out : (int, int)
        Offsets in the released text; empty for a deletion.
    index : int
        The token's index in the document.
    capital : bool
        Whether the released word is capitalised by rule.
    """

    span: tuple[int, int]
    original: str
    replacement: str
    action: str
    reason: str
    epsilon: float
    out: tuple[int, int]
    index: int
    capital: bool = False

    _shown: ClassVar[tuple[str, ...]] = ("action", "reason", "epsilon", "index")

    @property
    def changed(self) -> bool:
        """Whether another word stands there now, ignoring case."""
        return self.original.casefold() != self.replacement.casefold()

    @property
    def drawn(self) -> bool:
        """Whether what stands there now was drawn, with or without looking at the word."""
        return self.action in ("replace", "insert")

    @property
    def by_looking(self) -> bool:
        """Whether it was drawn by looking at the word: what else was drawn tells nothing of it."""
        return self.action == "replace" and not self.reason

    @property
    def is_hidden(self) -> bool:
        """Whether attackers guess its original: what stands there was drawn by looking at it, or it was flagged."""
        return self.action == "replace" and self.reason in ("", FLAGGED)

    @property
    def is_content(self) -> bool:
        """Whether the original is a word to hide: drawn by looking at it, or unknown to the vocabulary and not left
        out. Unknown words are replaced at random, or released in clear."""
        return self.by_looking or (self.reason == NOT_IN_VOCABULARY and self.action in ("replace", "keep"))

    @property
    def text(self) -> str:
        """What was released."""
        return self.replacement


#: The reason of a step whose word the mechanism's vocabulary lacks.
NOT_IN_VOCABULARY = "not in the vocabulary"
#: The reason of a step that replaces or leaves out a word that a detector flags. That it is flagged is public.
FLAGGED = "flagged"
#: The reason of a step whose copied word has another form, by what was released behind it.
AGREEMENT = "agrees with the next word"
#: The reason of a step that leaves a word out by chance.
DELETED_BY_CHANCE = "deleted at random"


def deleted_by_chance(step: Step) -> bool:
    """Whether a word that would have been drawn was left out by chance, not by a rule for what it is."""
    return step.action == "delete" and step.reason == DELETED_BY_CHANCE


def kept_step(token: Token, index: int, reason: str, out: tuple[int, int], written: Mapping[int, str]) -> Step:
    """Return the step of a copied token. written: by index, the copied tokens that have another form in the release."""
    shown = written.get(index, token.text)
    if shown.casefold() != token.text.casefold():
        reason = AGREEMENT
    capital = shown != token.text and reason != AGREEMENT
    return Step((token.start, token.end), token.text, shown, "keep", reason, 0.0, out, index, capital)


class Unit(Protocol):
    """What a token view shows and ``distribution(i)`` counts: a step where there is alignment, else a piece."""

    @property
    def text(self) -> str: ...
    @property
    def original(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def out(self) -> tuple[int, int]: ...
    @property
    def capital(self) -> bool: ...
    @property
    def drawn(self) -> bool: ...


def by_rule(step: Step, rules: Collection[str] = ()) -> bool:
    """Return whether a public rule placed the word of a step. rules: reasons of steps where one did."""
    return step.reason == AGREEMENT or step.reason in rules


def releases_of(steps: Sequence[Step], rules: Collection[str] = ()) -> tuple[Release, ...]:
    """Return what was released, from aligned steps. rules: reasons of steps whose word was placed, not drawn."""
    out = []
    for s in steps:
        if s.action == "delete":
            continue
        origin = "rule" if by_rule(s, rules) else "copied" if s.action == "keep" else "drawn"
        source = None if s.action == "insert" else s.span
        out.append(Release(s.out, s.replacement, s.epsilon, origin, source, s.reason, s.capital))
    return tuple(out)


def check_pieces(text: str, pieces: Sequence[Release], title: str) -> None:
    """Raise ConfigError where pieces are not parts of the text in order, or have an origin that there is not."""
    at = 0
    for k, piece in enumerate(pieces):
        start, end = piece.span
        if piece.origin not in ORIGINS:
            raise ConfigError(f"{title} gives piece {k} the origin {piece.origin!r}. Use one of {', '.join(ORIGINS)}.")
        if not at <= start <= end <= len(text) or text[start:end] != piece.text:
            raise ConfigError(f"{title} returned pieces that are not in its released text in this order (piece {k}).")
        at = end
