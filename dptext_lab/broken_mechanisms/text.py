"""Faults of released texts, and of what is said beside them: the draws are those that are stated."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dptext_core.errors import InputError
from dptext_core.mechanisms.audit_support import AuditSupport
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.capabilities import InputCoverage
from dptext_core.mechanisms.config import epsilon_option
from dptext_core.mechanisms.likelihood import Likelihood
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.privacy.distribution import ScoreTable, TokenDistribution
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import Release, RewriteResult, Trace, Unit
from dptext_core.support.task import Task

from .base import fault, faults_of

# --- a mechanism that writes a new text, small enough to be looked through


@dataclass(frozen=True)
class WriterConfig:
    """Options of the small writer."""

    epsilon: float | tuple[float, ...] = epsilon_option(0.5, 0.1, 10.0, "per piece")


class WriterTrace(Trace):
    """The distributions of its pieces."""

    can = frozenset({"distribution"})

    def __init__(self, table: ScoreTable, epsilon: float):
        self.table, self.epsilon = table, epsilon

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.table.at(self.epsilon)


class TinyWriter(Mechanism):
    """A mechanism that writes so small that it can be looked through: six of ten words, and a full stop.

    Each word is likelier the more letters it shares with the private text, by an exponential mechanism with scores of
    a spread of 1/2, so that it is ε-DP between any two texts.
    """

    name = "tiny-writer"
    title = "A small mechanism that writes"
    family = "examples"
    notion = "pure"
    summary = "Writes six words of ten, each likelier where it shares letters with the text."
    config_cls = WriterConfig
    words: ClassVar[tuple[str, ...]] = (
        "sun",
        "rain",
        "walks",
        "sings",
        "slowly",
        "home",
        "again",
        "today",
        "blue",
        "warm",
    )
    length: ClassVar[int] = 6

    @property
    def likelihood(self) -> Likelihood[TinyWriter]:
        return Likelihood(self)

    @property
    def alignment(self) -> None:
        return None

    def guarantee(self, text: str | Prepared) -> Guarantee:
        epsilon, n = float(self.config.epsilon), self.length
        return Guarantee(
            notion="pure",
            epsilon=epsilon,
            unit="released piece",
            adjacency="any two texts",
            draws=n,
            total=epsilon * n,
            exposed=(f"that {n} words are written, whatever the text is",),
            bounded_range=True,
        )

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        letters, epsilon = set(prepared.text.lower()), float(self.config.epsilon)
        share = np.array([len(letters & set(w)) / len(set(w)) for w in self.words])
        table = ScoreTable(self.words, share / 2)
        drawn = table.drawer(epsilon)
        at = [drawn(stream.at(k)) for k in range(self.length)]
        text, pieces = self._composed(prepared.text, [self.words[k] for k in at])
        return RewriteResult.of(
            self, prepared, stream, text, trace=self._trace(table, epsilon, at), pieces=tuple(pieces)
        )

    def _trace(self, table: ScoreTable, epsilon: float, drawn: Sequence[int]) -> WriterTrace:
        return WriterTrace(table, epsilon)

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        """Return the text of drawn words, with its pieces; the original is not looked at."""
        return compose(drawn, float(self.config.epsilon))


def compose(drawn: Sequence[str], epsilon: float, end: str = ".", between: str = " ") -> tuple[str, list[Release]]:
    """Words in a row, and a mark by rule."""
    text, pieces = "", list[Release]()
    for word in drawn:
        text += between * bool(text)
        pieces.append(Release((len(text), len(text) + len(word)), word, epsilon, "drawn"))
        text += word
    pieces.append(Release((len(text), len(text) + len(end)), end, 0.0, "rule", reason="the end"))
    return text + end, pieces


class PolishTrace(WriterTrace):
    """The same, with what was drawn before it was polished."""

    def __init__(self, table: ScoreTable, epsilon: float, drawn: Sequence[int]):
        super().__init__(table, epsilon)
        self.drawn = tuple(drawn)

    def candidate(self, i: int, unit: Unit) -> int | None:
        return self.drawn[i]


class PolishedWriter(TinyWriter):
    """The small writer with a polish: a word that was just written is left out, the last is joined by "and". All of it
    follows from what was drawn."""

    title = "A small mechanism with a polish"

    @property
    def audit_support(self) -> _OfPolish:
        return _OfPolish(self)

    def _trace(self, table: ScoreTable, epsilon: float, drawn: Sequence[int]) -> WriterTrace:
        return PolishTrace(table, epsilon, drawn)

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        return self._polished(drawn)

    def _polished(self, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        text, pieces = "", list[Release]()
        for k, word in enumerate(drawn):
            said = "" if k and word == drawn[k - 1] else word
            if said and k == len(drawn) - 1:
                said = f"and {said}"
            text += " " * bool(text and said)
            pieces.append(Release((len(text), len(text) + len(said)), said, float(self.config.epsilon), "drawn"))
            text += said
        return text, pieces


class _OfPolish(AuditSupport[PolishedWriter]):
    def spelled(self, drawn: Sequence[int]) -> str:
        return self.m._polished([self.m.words[k] for k in drawn])[0]


@fault(
    "looking-polish",
    "A polish that looks at the original",
    "A mechanism that writes a new text and polishes it, and whose polish brings back what is nearest to the "
    "original. One that looks at the drawn words alone would cost nothing.",
)
class LookingWriter(PolishedWriter):
    """The same, whose polish looks at the original too: it ends with the drawn word that is nearest to it."""

    title = "A small mechanism whose polish looks at the original"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        letters = set(original.lower())
        near = max(drawn, key=lambda word: len(letters & set(word)) / len(set(word)))
        return self._polished([*drawn[:-1], near])


@fault(
    "appended-original",
    "The original after the drawn pieces",
    "A mechanism that writes a new text from honest draws, and appends the original, which no piece covers.",
)
class AppendingWriter(TinyWriter):
    """The small writer, with the original after its pieces."""

    title = "A small mechanism that appends the original"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        text, pieces = super()._composed(original, drawn)
        return f"{text} {original}", pieces


@fault(
    "counting-blanks",
    "Blanks that count the words",
    "A mechanism that writes a new text, with as many blanks at its end as the original has words.",
)
class CountingWriter(TinyWriter):
    """The small writer, with as many blanks at the end as the original has words."""

    title = "A small mechanism whose blanks count the words"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        text, pieces = super()._composed(original, drawn)
        return text + " " * len(original.split()), pieces


@fault(
    "other-piece",
    "A piece that is not what was drawn",
    "A mechanism that writes a new text, in which one piece is a word of the original in the place of its draw.",
)
class InsertingWriter(TinyWriter):
    """The small writer, which calls the first word of the original one that it drew."""

    title = "A small mechanism that calls an original word drawn"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        return super()._composed(original, [*drawn[:-1], (original.split() or ["home"])[0]])


@fault(
    "telling-rule",
    "A rule that reads the original",
    "A mechanism that writes a new text, whose mark at the end is said to follow a rule and tells the length.",
)
class MarkingWriter(TinyWriter):
    """The small writer, whose mark at the end says by rule whether the original is long."""

    title = "A small mechanism whose full stop tells the length"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        return compose(drawn, float(self.config.epsilon), "." if len(original) < 70 else "!")


@fault(
    "copied-word",
    "A word that is copied as if by rule",
    "A mechanism that writes a new text, and adds the last word of the original as a piece placed by rule.",
)
class CopyingWriter(TinyWriter):
    """The small writer, which copies the last word of the original and names nothing of it as exposed."""

    title = "A small mechanism that copies a word"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        text, pieces = super()._composed(original, drawn)
        word = (original.split() or ["."])[-1]
        piece = Release((len(text) + 1, len(text) + 1 + len(word)), word, 0.0, "rule", reason="the last word")
        return f"{text} {word}", [*pieces, piece]


# --- word by word


@fault(
    "blanks-at-the-end",
    "Blanks after a text that count its words",
    "SanText, with a blank at the end of the released text for each word of the original.",
)
class BlanksSanText(SanText):
    """SanText, with a blank at the end of a text for each of its words."""

    title = "SanText whose blanks at the end count the words"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        return replace(result, text=result.text + " " * len(result.original.split()))


@fault(
    "one-option",
    "Right but for one option",
    "SanText that returns the text as it is where capital letters are left as listed, an option that is not set.",
)
class OneOptionSanText(SanText):
    """SanText, which returns the text as it is where capital letters are left alone."""

    title = "SanText with a fault under one option"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        return replace(result, text=result.original) if self.config.recase == "none" else result


def _is_odd(text: str | Prepared) -> bool:
    """Return a fact of the last word that the promise hides: whether its checksum is odd."""
    words = (text if isinstance(text, str) else text.text).split()
    return zlib.crc32(words[-1].encode()) % 2 == 1 if words else False


@fault(
    "telling-exposed",
    "A list of what is exposed that tells more",
    "SanText whose list of what is exposed depends on the words that it hides.",
)
class ExposingSanText(SanText):
    """SanText, which names among what is exposed a fact of the last word, which the promise hides."""

    title = "SanText whose list of what is exposed tells of the words"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, exposed=(*g.exposed, "an odd word" if _is_odd(text) else "an even word"))


@fault(
    "telling-total",
    "A total that depends on the words",
    "SanText whose total is a little larger for some words than for others.",
)
class TotalSanText(SanText):
    """SanText, whose total is rounded up for some words: the number tells which they are."""

    title = "SanText whose total tells of the words"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, total=g.total + (1e-3 if _is_odd(text) else 0.0))


@fault(
    "telling-error",
    "An error that depends on the words",
    "SanText that refuses some words of its vocabulary with an error: whoever sees it knows of them.",
)
class RefusingSanText(SanText):
    """SanText, which refuses texts by their last word."""

    title = "SanText that refuses some words"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        if _is_odd(text):
            raise InputError("A word of this text is not rewritten. Leave it out.")
        return super().guarantee(text)


@fault(
    "telling-note",
    "A note that depends on the words",
    "SanText whose note on how a text is read depends on its words, though nothing is read otherwise.",
)
class NotingSanText(SanText):
    """SanText, whose note on a text depends on its words."""

    title = "SanText whose note tells of the words"

    @property
    def reading(self) -> InputCoverage[WordMechanism]:
        return _Odd(self)


class _Odd(InputCoverage[WordMechanism]):
    def note(self, text: str | Prepared) -> str:
        return "There are odd words in this text." if _is_odd(text) else ""


TEXT = faults_of(__name__)
