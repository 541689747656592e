"""Faults of released texts and their metadata: the draws follow the stated distributions."""

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

# --- a small mechanism that writes a new text


@dataclass(frozen=True)
class WriterConfig:
    """Options of the small writer."""

    epsilon: float | tuple[float, ...] = epsilon_option(0.5, 0.1, 10.0, "per word")


class WriterTrace(Trace):
    """The distributions of the released words."""

    can = frozenset({"distribution"})

    def __init__(self, table: ScoreTable, epsilon: float):
        self.table, self.epsilon = table, epsilon

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.table.at(self.epsilon)


class TinyWriter(Mechanism):
    """A small mechanism that writes six words from a list of ten, and a full stop.

    An exponential mechanism prefers words that share letters with the private text. Its scores span 1/2, so each word
    is ε-DP between any two texts.
    """

    name = "tiny-writer"
    title = "A small mechanism that writes a new text"
    family = "examples"
    notion = "pure"
    summary = "Writes six words from a list of ten. Words that share letters with the text are more likely."
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
            unit="released word",
            adjacency="any two texts",
            draws=n,
            total=epsilon * n,
            exposed=(f"that every text becomes {n} words",),
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
        """Return the text of the sampled words with its spans, without reading the original."""
        return compose(drawn, float(self.config.epsilon))


def compose(drawn: Sequence[str], epsilon: float, end: str = ".", between: str = " ") -> tuple[str, list[Release]]:
    """Return the words in order, and a punctuation mark by rule."""
    text, pieces = "", list[Release]()
    for word in drawn:
        text += between * bool(text)
        pieces.append(Release((len(text), len(text) + len(word)), word, epsilon, "drawn"))
        text += word
    pieces.append(Release((len(text), len(text) + len(end)), end, 0.0, "rule", reason="the end"))
    return text + end, pieces


class PolishTrace(WriterTrace):
    """The same trace, with the words before the clean-up."""

    def __init__(self, table: ScoreTable, epsilon: float, drawn: Sequence[int]):
        super().__init__(table, epsilon)
        self.drawn = tuple(drawn)

    def candidate(self, i: int, unit: Unit) -> int | None:
        return self.drawn[i]


class PolishedWriter(TinyWriter):
    """The small writer with a clean-up that depends on the sampled words alone.

    It drops a word that repeats the previous one, and joins the last word with "and".
    """

    title = "A small mechanism with a clean-up"

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
    "A clean-up that reads the original",
    "A mechanism whose clean-up ends the text with the sampled word nearest to the original. A clean-up of the "
    "sampled words alone would cost nothing.",
)
class LookingWriter(PolishedWriter):
    """The same mechanism with a clean-up that also reads the original and ends with the sampled word nearest to it."""

    title = "A small mechanism whose clean-up reads the original"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        letters = set(original.lower())
        near = max(drawn, key=lambda word: len(letters & set(word)) / len(set(word)))
        return self._polished([*drawn[:-1], near])


@fault(
    "appended-original",
    "The original after the sampled words",
    "A mechanism that writes a new text from honest draws, and appends the original outside all spans.",
)
class AppendingWriter(TinyWriter):
    """The small writer that appends the original."""

    title = "A small mechanism that appends the original"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        text, pieces = super()._composed(original, drawn)
        return f"{text} {original}", pieces


@fault(
    "counting-blanks",
    "Spaces that count the words",
    "A mechanism that writes a new text, and ends it with as many spaces as the original has words.",
)
class CountingWriter(TinyWriter):
    """The small writer that ends its text with as many spaces as the original has words."""

    title = "A small mechanism whose spaces count the words"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        text, pieces = super()._composed(original, drawn)
        return text + " " * len(original.split()), pieces


@fault(
    "other-piece",
    "A word that was not sampled",
    "A mechanism that writes a new text, and replaces one sampled word by a word of the original.",
)
class InsertingWriter(TinyWriter):
    """The small writer that marks the first word of the original as sampled."""

    title = "A small mechanism that marks an original word as sampled"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        return super()._composed(original, [*drawn[:-1], (original.split() or ["home"])[0]])


@fault(
    "telling-rule",
    "A rule that reads the original",
    "A mechanism that writes a new text, and claims that a rule chose its final mark. The mark reveals the original's "
    "length.",
)
class MarkingWriter(TinyWriter):
    """The small writer whose final mark reveals whether the original is long."""

    title = "A small mechanism whose final mark reveals the length"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        return compose(drawn, float(self.config.epsilon), "." if len(original) < 70 else "!")


@fault(
    "copied-word",
    "A copied word that is marked as a rule's",
    "A mechanism that writes a new text, and adds the last word of the original as if a rule placed it.",
)
class CopyingWriter(TinyWriter):
    """The small writer that copies the last word of the original without listing it as exposed."""

    title = "A small mechanism that copies a word"

    def _composed(self, original: str, drawn: Sequence[str]) -> tuple[str, list[Release]]:
        text, pieces = super()._composed(original, drawn)
        word = (original.split() or ["."])[-1]
        piece = Release((len(text) + 1, len(text) + 1 + len(word)), word, 0.0, "rule", reason="the last word")
        return f"{text} {word}", [*pieces, piece]


# --- word by word


@fault(
    "blanks-at-the-end",
    "Spaces at the end that count the words",
    "SanText that adds a space at the end for each word of the original.",
)
class BlanksSanText(SanText):
    """SanText that adds a space at the end for each word of the original."""

    title = "SanText whose final spaces count the words"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        return replace(result, text=result.text + " " * len(result.original.split()))


@fault(
    "one-option",
    "Wrong under one option",
    "SanText that returns the text unchanged if capital letters are not adjusted, which is not the default.",
)
class OneOptionSanText(SanText):
    """SanText that returns the text unchanged if capital letters are not adjusted."""

    title = "SanText with a fault under one option"

    def _result(self, *arguments: Any, **more: Any) -> RewriteResult:
        result = super()._result(*arguments, **more)
        return replace(result, text=result.original) if self.config.recase == "none" else result


def _is_odd(text: str | Prepared) -> bool:
    """Return a protected fact about the last word: whether its checksum is odd."""
    words = (text if isinstance(text, str) else text.text).split()
    return zlib.crc32(words[-1].encode()) % 2 == 1 if words else False


@fault(
    "telling-exposed",
    "A list of unprotected items that reveals more",
    "SanText with a list of unprotected items that depends on the protected words.",
)
class ExposingSanText(SanText):
    """SanText that lists a protected fact about the last word among the items that are not protected."""

    title = "SanText whose list of unprotected items reveals a protected word"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, exposed=(*g.exposed, "an odd word" if _is_odd(text) else "an even word"))


@fault(
    "telling-total",
    "A total that depends on the words",
    "SanText with a total that is slightly larger for some words than for others.",
)
class TotalSanText(SanText):
    """SanText that rounds its total up for some words, so the total reveals them."""

    title = "SanText whose total reveals the words"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        g = super().guarantee(text)
        return replace(g, total=g.total + (1e-3 if _is_odd(text) else 0.0))


@fault(
    "telling-error",
    "An error that depends on the words",
    "SanText that rejects some words of its vocabulary with an error, which reveals them.",
)
class RefusingSanText(SanText):
    """SanText that rejects some texts because of their last word."""

    title = "SanText that rejects some words"

    def guarantee(self, text: str | Prepared) -> Guarantee:
        if _is_odd(text):
            raise InputError("The last word of this text cannot be rewritten. Remove that word.")
        return super().guarantee(text)


@fault(
    "telling-note",
    "A note that depends on the words",
    "SanText whose note on how it reads a text depends on the protected words.",
)
class NotingSanText(SanText):
    """SanText with a note that depends on the protected words."""

    title = "SanText whose note reveals the words"

    @property
    def reading(self) -> InputCoverage[WordMechanism]:
        return _Odd(self)


class _Odd(InputCoverage[WordMechanism]):
    def note(self, text: str | Prepared) -> str:
        return "There are odd words in this text." if _is_odd(text) else ""


TEXT = faults_of(__name__)
