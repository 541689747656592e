"""Suggest alternatives to a fact from public lists alone: words of one kind, else near words of a public space."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

from ..errors import InputError
from ..mechanisms.base import Mechanism
from ..support.checks import check_whole_number
from ..text.language import Language
from ..text.lexicons import stop_words
from ..words import WordSpace, word_space

#: Number of suggested alternatives, without the original.
SUGGESTED = 3
#: Spaces for neighbours: the first one in which the mechanism does not sample is used.
_SPACES = ("cooccurrence", "word2vec", "minilm")
#: Number of neighbours that are searched for each alternative.
_NEIGHBOURS = 60


def suggest_alternatives(
    fact: str, mechanism: Mechanism, n: int = SUGGESTED, *, avoid: Collection[str] = ()
) -> list[str]:
    """Return alternatives of the same kind as a fact, which depend only on the fact and on public lists.

    Parameters
    ----------
    fact : str
        A word.
    mechanism : Mechanism
        Determines the language, and the excluded word space, in which it samples.
    n : int
        How many.
    avoid : collection of str
        Names of other excluded word spaces, as long as one remains.

    Returns
    -------
    list of str
        n words of one list, in its order; else the n nearest words of a public space, without stop words and other
        forms of the fact or of each other. There may be fewer.

    Raises
    ------
    InputError
        Neither a list nor the space contains the fact.
    """
    n, word = check_whole_number("n, the number of alternatives,", n, least=1), fact.casefold()
    for listed in word_lists(mechanism.language):
        if word in listed:
            return [w for w in listed if w != word][:n]
    space = public_space(mechanism, avoid)
    row = space.index(word)
    if row is None:
        raise InputError(f"No public list contains “{fact}”. Enter similar alternatives yourself.")
    return nearest_words(space, [row], n, mechanism.language)[0]


def nearest_words(space: WordSpace, rows: Sequence[int], n: int, language: Language) -> list[list[str]]:
    """Return for each row of a space the n nearest words, without stop words and other forms of it."""
    near, _ = space.nearest(rows, min(_NEIGHBOURS + n, len(space)))
    stop = stop_words(None, language)
    every = []
    for row, others in zip(rows, near.tolist(), strict=True):
        neighbours = [space.words[row]]
        for other in (space.words[i] for i in others):
            if len(neighbours) > n:
                break
            if len(other) > 2 and other not in stop and not any(share_stem(other, o) for o in neighbours):
                neighbours.append(other)
        every.append(neighbours[1:])
    return every


def share_stem(a: str, b: str) -> bool:
    """Return whether two words have the same beginning, like forms of one word."""
    a, b = a.casefold(), b.casefold()
    same = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return (same >= 4 and same >= 0.6 * min(len(a), len(b))) or same == min(len(a), len(b))


def word_lists(language: Language) -> tuple[tuple[str, ...], ...]:
    """Return the public lists of words of one kind, in order of preference."""
    return _lists().get(language.name.casefold(), ())


@cache
def _lists() -> dict[str, tuple[tuple[str, ...], ...]]:
    listed = tomllib.loads(Path(__file__).with_name("alternatives.toml").read_text("utf-8"))
    return {name: tuple(tuple(words.split()) for words in lists.values()) for name, lists in listed.items()}


def public_space(mechanism: Mechanism, avoid: Collection[str] = ()) -> WordSpace:
    """Return the space for neighbours. avoid: names of other excluded spaces, if one remains."""
    sampled_space = None if mechanism.by_word is None else mechanism.by_word.space.name
    others = [name for name in _SPACES if name != sampled_space]
    return word_space(next((name for name in others if name not in avoid), others[0]))
