"""Public post-processing of a release: articles, capitals of copied words, and blanks next to marks.

Each is a function of the released words and the skeleton alone, so it spends no ε. Sampled words are unchanged, and so
are their distributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .language import Language
from .skeleton import NEWLINE, Skeleton


def readable(
    skeleton: Skeleton, texts: Sequence[str | None], after: Sequence[str | None] = ()
) -> tuple[Skeleton, dict[int, str]]:
    """Return the skeleton in readable form, and the copied tokens whose spelling differs in it.

    Parameters
    ----------
    skeleton : Skeleton
    texts, after : sequence
        As in :meth:`Skeleton.fill`.
    """
    after = after or (None,) * len(texts)
    deleted = {i for i, text in enumerate(texts) if text == ""}
    words = zip(skeleton.kept_tokens, texts, after, strict=True)
    shown = [word if text is None else text or more or "" for word, text, more in words]
    capitals = _capitals(skeleton, skeleton.starts(deleted))
    written = capitals | _articles(skeleton, shown, capitals)
    tight = skeleton.tight
    if not written:
        return tight, written
    tokens = tuple([written.get(i, word) for i, word in enumerate(tight.kept_tokens)])
    return replace(tight, kept_tokens=tokens), written


def is_free_article(skeleton: Skeleton, i: int) -> bool:
    """Return True if a copied token is an article whose form depends on a word after it."""
    articles, word = skeleton.language.articles, skeleton.kept_tokens[i]
    if articles is None or word is None or word.lower() not in articles.forms or not skeleton.gaps[i + 1]:
        return False
    # A capital inside a sentence is that of a letter, as in "vitamin A".
    return word == word.lower() or skeleton.begins[i]


def agreeing_article(language: Language, article: str, word: str) -> str:
    """Return the form of an article before a word, with the article's capital."""
    articles = language.articles
    if articles is None:
        return article
    form = articles.forms[articles.takes_second(word)]
    return form[0].upper() + form[1:] if article[0].isupper() else form


def _articles(skeleton: Skeleton, shown: Sequence[str | None], capitals: Mapping[int, str]) -> dict[int, str]:
    """Return the copied articles that need the other form, where a released word follows that is not the original.

    capitals: the copied words that have a capital in their places.
    """
    out, tokens, n = {}, skeleton.kept_tokens, len(skeleton.kept_tokens)
    for i, word in enumerate(tokens):
        if word is None or not is_free_article(skeleton, i):
            continue
        j = next((j for j in range(i + 1, n) if shown[j]), n)
        if j == n or all(tokens[k] is not None for k in range(i + 1, j + 1)):
            continue
        following = shown[j] or ""
        if following[0].isalnum():
            form = agreeing_article(skeleton.language, capitals.get(i, word), following)
            if form.lower() != word.lower():
                out[i] = form
    return out


def _capitals(skeleton: Skeleton, starts: Sequence[bool]) -> dict[int, str]:
    """Return the capitalised copied words in lower case.

    A word in the middle of a continued line has no capital.
    """
    out = {}
    for i, word in enumerate(skeleton.kept_tokens):
        if word is None or not (word.isalpha() and word.islower()):
            continue
        begins = starts[i] and (i == 0 or not NEWLINE.search(skeleton.gaps[i]))
        if (cased := skeleton.language.case(word, begins)) != word:
            out[i] = cased
    return out
