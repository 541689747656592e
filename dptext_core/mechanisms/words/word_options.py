"""Options shared by mechanisms that replace word by word."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import (
    allowlist_option,
    detector_option,
    epsilon_option,
    keep_stopwords_option,
    loaded_words_option,
    never_option,
    option,
    recase_option,
    stopwords_option,
    surrogates_option,
)


@dataclass(frozen=True)
class WordConfig:
    """Options of every word-level mechanism."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 0.1, 10.0)
    #: The papers sample every word of the vocabulary. For example, MVC, TEM, Vickrey, Gumbel and Mahalanobis replace
    #: “this”, “is” and “to” in Table 7 of the 1-Diffractor paper.
    keep_stopwords: bool = keep_stopwords_option({"paper": False})
    oov: str = option(
        "random",
        label="Unknown words",
        choices=("random", "keep", "drop", "mask"),
        help="“Random” replaces names, numbers and typing errors with any word of the vocabulary, “drop” deletes them "
             "and “mask” hides them. “Keep” copies them, as in the papers, so everyone can read them.",
        phrase="unknown words: {}",
        shared_with="all",
        keeps_distribution=True,
        presets={"paper": "keep"},
    )
    recase: str = recase_option()
    stopwords: str | None = stopwords_option()
    never: tuple[str, ...] = never_option()
    loaded_words: bool = loaded_words_option()
    surrogates: bool = surrogates_option()
    detector: str = detector_option("Used only with stand-ins.", ("surrogates", True))
    allowlist: tuple[str, ...] = allowlist_option(("surrogates", True))


@dataclass(frozen=True)
class SpaceConfig(WordConfig):
    """Options of mechanisms over a word space."""

    space: str = option(
        "minilm",
        label="Word space",
        word_spaces=True,
        shared_with="all",
        help="The public vocabulary and its vectors: a bundled space, or the path of a file of vectors. “glove-840b” "
        "and folders of gensim-data work too if installed.",
        phrase="{}",
    )
