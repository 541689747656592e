"""Faults of surrogates for flagged words: surrogates that depend on the word, and a flag that depends on another
word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dptext_core.mechanisms.detected.flags import Flag
from dptext_core.mechanisms.detected.hybrid import HybridMechanism, HybridPrepared
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.word_trace import Constant
from dptext_core.text.document import Document

from .base import fault, faults_of

#: ``UnsaidFlags`` flags nothing in texts with this word.
WORD = "window"
FLAGGED = {"surrogates": True, "detector": "words"}


class _Telling(HybridMechanism):
    """Samples each surrogate from those that share a property with the flagged word."""

    shared: Callable[[str], Any]

    def channels(self, prepared: HybridPrepared) -> dict[int, Constant]:
        channels_of_words = super().channels(prepared)
        for token, channel in channels_of_words.items():
            word = prepared.document.words[token].casefold()
            shared = type(self).shared
            some = tuple(c for c in channel.candidates if shared(c.casefold()) == shared(word))
            channels_of_words[token] = Constant(some or channel.candidates, channel.source)
        return channels_of_words


class _ByLength(_Telling):
    shared = staticmethod(len)


class _ByLetter(_Telling):
    shared = staticmethod(lambda word: word[0])


class _ByGender(_Telling):
    shared = staticmethod(lambda word: word[-1] == "a")


class _ByHash(_Telling):
    shared = staticmethod(lambda word: sum(word.encode()) % 7)


class _Unsaid(HybridMechanism):
    """States a detector that reads a word alone, but flags nothing in texts with one certain word."""

    def flags(self, document: Document) -> tuple[Flag, ...]:
        flags = super().flags(document)
        return () if WORD in document.words else flags


@fault(
    "length-stand-ins",
    "Surrogates of the flagged word's length",
    "The surrogate reveals the length of a name, although the guarantee covers the whole name.",
    options=FLAGGED,
)
class LengthStandIns(CusText):
    """CusText with surrogates that are as long as the flagged word."""

    hybrid_cls = _ByLength


@fault(
    "letter-stand-ins",
    "Surrogates with the flagged word's first letter",
    "The surrogate reveals the first letter of a name, although the guarantee covers the whole name.",
    options=FLAGGED,
)
class LetterStandIns(CusText):
    """CusText with surrogates that begin with the flagged word's first letter."""

    hybrid_cls = _ByLetter


@fault(
    "gender-stand-ins",
    "Surrogates of the flagged word's gender",
    "The surrogate reveals whether a name ends in “a”, although the guarantee covers the whole name.",
    options=FLAGGED,
)
class GenderStandIns(CusText):
    """CusText with surrogates that end in "a" if the flagged word does."""

    hybrid_cls = _ByGender


@fault(
    "hash-stand-ins",
    "Surrogates from a hash",
    "A hash of the name decides which surrogates are possible, so an attacker can try a list of names.",
    options=FLAGGED,
)
class HashStandIns(CusText):
    """CusText with surrogates that depend on a hash of the flagged word."""

    hybrid_cls = _ByHash


@fault(
    "unsaid-flags",
    "Flags that depend on another word",
    "A sampled word decides what is flagged, and the guarantee does not mention it.",
    options=FLAGGED,
)
class UnsaidFlags(CusText):
    """CusText with flags that depend on another word, which its guarantee does not mention."""

    hybrid_cls = _Unsaid


STAND_INS = faults_of(__name__)
