"""Vocabularies, word spaces, one-dimensional word lists, stop words and antonyms, all loaded on first use."""

from __future__ import annotations

from ..text.lexicon import Antonyms, Lexicon
from ..text.lexicons import antonyms, stop_words
from .lists import WordList, word_list, word_lists
from .space import WordSpace
from .space_loading import common_vocabulary, word_space, word_spaces

__all__ = [
    "Antonyms",
    "Lexicon",
    "WordList",
    "WordSpace",
    "antonyms",
    "common_vocabulary",
    "stop_words",
    "word_list",
    "word_lists",
    "word_space",
    "word_spaces",
]
