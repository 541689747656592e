"""Faults of stand-ins for flagged words: one that tells of the word, and a flag that another word decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dptext_core.mechanisms.detected.flags import Flag
from dptext_core.mechanisms.detected.hybrid import HybridMechanism, HybridPrepared
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.word_trace import Constant
from dptext_core.text.document import Document

from .base import fault, faults_of

#: The word beside which ``UnsaidFlags`` flags nothing.
WORD = "window"
FLAGGED = {"surrogates": True, "detector": "words"}


class _Telling(HybridMechanism):
    """Draws each stand-in among those that share something with the flagged word."""

    shared: Callable[[str], Any]

    def channels(self, prepared: HybridPrepared) -> dict[int, Constant]:
        found = super().channels(prepared)
        for token, channel in found.items():
            word = prepared.document.words[token].casefold()
            shared = type(self).shared
            some = tuple(c for c in channel.candidates if shared(c.casefold()) == shared(word))
            found[token] = Constant(some or channel.candidates, channel.source)
        return found


class _ByLength(_Telling):
    shared = staticmethod(len)


class _ByLetter(_Telling):
    shared = staticmethod(lambda word: word[0])


class _ByGender(_Telling):
    shared = staticmethod(lambda word: word[-1] == "a")


class _ByHash(_Telling):
    shared = staticmethod(lambda word: sum(word.encode()) % 7)


class _Unsaid(HybridMechanism):
    """States a detector that looks at a word alone, and flags nothing beside one word."""

    def flags(self, document: Document) -> tuple[Flag, ...]:
        found = super().flags(document)
        return () if WORD in document.words else found


@fault(
    "length-stand-ins",
    "Stand-ins as long as the flagged word",
    "The length of a name is released, where the guarantee says that nothing of it is.",
    options=FLAGGED,
)
class LengthStandIns(CusText):
    """CusText with stand-ins that are as long as the flagged word."""

    hybrid_cls = _ByLength


@fault(
    "letter-stand-ins",
    "Stand-ins with the flagged word's first letter",
    "The first letter of a name is released, where the guarantee says that nothing of it is.",
    options=FLAGGED,
)
class LetterStandIns(CusText):
    """CusText with stand-ins that begin as the flagged word does."""

    hybrid_cls = _ByLetter


@fault(
    "gender-stand-ins",
    "Stand-ins of the flagged word's gender",
    "Whether a name ends in “a” is released, where the guarantee says that nothing of it is.",
    options=FLAGGED,
)
class GenderStandIns(CusText):
    """CusText with stand-ins that end in "a" where the flagged word does."""

    hybrid_cls = _ByGender


@fault(
    "hash-stand-ins",
    "Stand-ins that a hash chooses",
    "A hash of the name decides which stand-ins are possible, so that a list of names can be tried.",
    options=FLAGGED,
)
class HashStandIns(CusText):
    """CusText with stand-ins that a hash of the flagged word chooses among."""

    hybrid_cls = _ByHash


@fault(
    "unsaid-flags",
    "Flags that another word decides",
    "A word that is sampled decides what is flagged, and the guarantee does not name it.",
    options=FLAGGED,
)
class UnsaidFlags(CusText):
    """CusText whose flags another word decides, with a guarantee that does not name it."""

    hybrid_cls = _Unsaid


STAND_INS = faults_of(__name__)
