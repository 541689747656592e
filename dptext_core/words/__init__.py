"""Words: vocabularies, word spaces, stop words and antonyms. Nothing loads before it is asked for."""

from __future__ import annotations

from .lexicons import Antonyms, Lexicon, antonyms, stop_words
from .space import WordSpace, word_space

__all__ = ["Antonyms", "Lexicon", "WordSpace", "antonyms", "stop_words", "word_space"]
