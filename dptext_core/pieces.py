"""The parts of a released text, and the steps that replaced words."""

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
    """A part of the released text: a word, a token or a sentence.

    Attributes
    ----------
    span : (int, int)
        Offsets in the released text.
    text : str
        The text of this part.
    epsilon : float
        The ε that it spent.
    origin : str
        "drawn"; "copied" from the original; placed by a public "rule"; or "polished", computed from what was drawn
        (``RewriteResult.polished``).
    source : (int, int) or None
        Offsets in the original of the corresponding word.
    reason : str
        Why no word was sampled for it from an original, if so.
    capital : bool
        Whether a rule capitalises it.
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
    def is_sampled(self) -> bool:
        return self.origin == "drawn"

    @property
    def original(self) -> str:
        """Return the original word in its place: unknown here. Steps have one."""
        return ""

    @property
    def action(self) -> str:
        """Return the action, like that of a step: a part without a corresponding word is an insertion."""
        return "insert" if self.is_sampled else "keep"

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
        The words; of the original the visible form (:mod:`dptext_core.text.visible`).
    action : {"replace", "keep", "insert", "delete"}
    reason : str
        Why it was copied, deleted or inserted.
    epsilon : float
        The ε that it spent.
    out : (int, int)
        Offsets in the released text; empty for a deletion.
    index : int
        Index of the token in the document.
    capital : bool
        Whether a rule capitalises the released word.
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
    def is_changed(self) -> bool:
        """Return True if another word is there now, ignoring case."""
        return self.original.casefold() != self.replacement.casefold()

    @property
    def is_sampled(self) -> bool:
        """Return True if the word there now was sampled, from the original word or independently."""
        return self.action in ("replace", "insert")

    @property
    def depends_on_original(self) -> bool:
        """Return True if it was sampled from the original word: other samples reveal nothing about it."""
        return self.action == "replace" and not self.reason

    @property
    def is_hidden(self) -> bool:
        """Return True if attackers guess its original: it was sampled from or flagged."""
        return self.action == "replace" and self.reason in ("", FLAGGED)

    @property
    def is_content(self) -> bool:
        """Return True if the original is a word to hide: sampled from, or unknown to the vocabulary and not omitted.

        Unknown words are replaced at random, or released unchanged.
        """
        return self.depends_on_original or (self.reason == NOT_IN_VOCABULARY and self.action in ("replace", "keep"))

    @property
    def text(self) -> str:
        """Return the released text."""
        return self.replacement


#: The reason of a step whose word is not in the mechanism's vocabulary.
NOT_IN_VOCABULARY = "not in the vocabulary"
#: The reason of a step that replaces or deletes a word that a detector flags. That it is flagged is public.
FLAGGED = "flagged"
#: The reason of a step whose copied word has another form because of the released word after it.
AGREEMENT = "agrees with the next word"
#: The reason of a step that deletes a word at random.
DELETED_BY_CHANCE = "deleted at random"


def deleted_by_chance(step: Step) -> bool:
    """Return True if a word that would have been sampled was deleted at random, not by a rule for its kind."""
    return step.action == "delete" and step.reason == DELETED_BY_CHANCE


def copy_step(token: Token, index: int, reason: str, out: tuple[int, int], written: Mapping[int, str]) -> Step:
    """Return the step of a copied token.

    written: by index, the copied tokens that have another form in the release.
    """
    shown = written.get(index, token.text)
    if shown.casefold() != token.text.casefold():
        reason = AGREEMENT
    capital = shown != token.text and reason != AGREEMENT
    return Step((token.start, token.end), token.text, shown, "keep", reason, 0.0, out, index, capital)


class Unit(Protocol):
    """An element of a token view, counted by ``distribution(i)``: a step with alignment, else a released part."""

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
    def is_sampled(self) -> bool: ...


def by_rule(step: Step, rules: Collection[str] = ()) -> bool:
    """Return True if a public rule placed the word of a step.

    rules: reasons of such steps.
    """
    return step.reason == AGREEMENT or step.reason in rules


def releases_of(steps: Sequence[Step], rules: Collection[str] = ()) -> tuple[Release, ...]:
    """Return the released parts from aligned steps. rules: reasons of steps whose word was placed, not sampled."""
    out = []
    for s in steps:
        if s.action == "delete":
            continue
        origin = "rule" if by_rule(s, rules) else "copied" if s.action == "keep" else "drawn"
        source = None if s.action == "insert" else s.span
        out.append(Release(s.out, s.replacement, s.epsilon, origin, source, s.reason, s.capital))
    return tuple(out)


def check_pieces(text: str, pieces: Sequence[Release], title: str) -> None:
    """Raise ConfigError if the parts are not in the text in order, or have an unknown origin."""
    at = 0
    for k, piece in enumerate(pieces):
        start, end = piece.span
        if piece.origin not in ORIGINS:
            raise ConfigError(f"{title} gives span {k} the origin {piece.origin!r}. Use one of {', '.join(ORIGINS)}.")
        if not at <= start <= end <= len(text) or text[start:end] != piece.text:
            raise ConfigError(
                f"{title} returned spans that are not in its released text in this order (span {k}). Correct the spans."
            )
        at = end
