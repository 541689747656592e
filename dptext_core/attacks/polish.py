"""The polish: a release written out as somebody would read it, for better text at no ε.

What was drawn is read again with the language. Where the mechanism has a formula for its chances, the reading of
``reader`` is written out: the likeliest original words. Elsewhere only the drawn words are known, and each place takes
the word w of the word space with the largest

    ln π_i(w) + λ·cos(w, z_i),

π_i what a public masked language model proposes there, given the words around as they are by then, and z_i the drawn
word; again until nothing changes. A drawn word that the space does not have stays. Words that the mechanism never
releases are not written either.

Everything here is computed from what was released and from what is public, so that it is post-processing: the promise
of the release holds for it, in the same words, and no ε is spent. It may bring back what an attacker would have found
anyway: ``PolishedResult`` says how many of the drawn words are the original before and after. A polish that looks at
the original is none: ``dptext_lab.broken_mechanisms`` has one, which an audit finds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..mechanisms.base import Mechanism
from ..mechanisms.blocklist import Blocklist
from ..mechanisms.registry import mechanism_of
from ..result import PolishedResult, Release, RewriteResult, Step
from ..support.task import UNWATCHED, Task
from ..text.document import Document
from ..text.lexicons import stop_words
from ..words import WordSpace, word_space
from . import bayes, reader, reader_evidence
from .base import made_by
from .prior import Prior, public_prior

#: λ, nats for a cosine of 1 (``tools/choose_clip.py --likeness``).
LIKENESS = 12.0


class _OfLikeness(reader_evidence.Evidence):
    """Where only words are known: λ·cos(w, z_i), and −∞ for what is never released."""

    exact = False

    def __init__(self, text: reader_evidence.ReleasedText, space: WordSpace, never: Blocklist):
        self._text, self._space, self._banned = text, space, list(never.places(space.words))
        self._held: dict[int, np.ndarray] = {}

    def weights(self, i: int, log_base: np.ndarray, now: Mapping[int, str], task: Task) -> np.ndarray:
        (row,) = self._space.rows([self._text.steps[i].replacement])
        if row not in self._held:
            likeness = LIKENESS * self._space.similarities(self._space.words[row]).astype(np.float64)
            likeness[self._banned] = -np.inf
            self._held[row] = likeness
        return log_base + self._held[row]


def polish(
    result: RewriteResult, mechanism: Mechanism | None = None, *, model: str = "bundled", task: Task | None = None
) -> PolishedResult:
    """Write a release out as it is read.

    Parameters
    ----------
    result
        The release. Nothing of its original is looked at, but to say in ``PolishedResult.unchanged`` how many words are
        back.
    mechanism
        The one that made it; without it the registered one of that name with the options of the result.
    model
        The public masked language model that proposes words.
    task
        Told of the places that are done; may stop the work.

    Returns
    -------
    Polished
        The polished text with its pieces, beside what was drawn.

    Raises
    ------
    InputError
        Where no mechanism of the result's name is registered, and none is given; where another one is given.
    ModelUnavailable
        Where the model is not there.
    """
    m = mechanism_of(result) if mechanism is None else mechanism
    made_by(m, result)
    if "alignment" in result.can and m.by_word is not None and bayes.is_available(m):
        text = reader_evidence.ReleasedText(result)
        evidence = reader_evidence.evidence_of(m, text, [text.steps], m.by_word.vocabulary.words)
        prior, gamma = public_prior(m), reader.GAMMA
    else:
        space = word_space(language=m.language)
        text = _text_of_words(result, space)
        evidence = _OfLikeness(text, space, m.never)
        prior, gamma = Prior(tuple(space.words), np.full(len(space), 1 / len(space))), 1.0
    words, readings, _ = reader.Sweeps(m, text, evidence, prior, gamma, model).read(task or UNWATCHED)
    best = {w.step: w.word for w in words}
    written, spans = text.written(best)
    places = tuple((s.original if s.by_looking else "", s.replacement, best[i]) for i, s in text.steps.items())
    return PolishedResult(result, written, _pieces(result, text, written, spans), readings, places)


def _text_of_words(result: RewriteResult, space: WordSpace) -> reader_evidence.ReleasedText:
    """Return the release with its drawn words as places, as far as the space has them. Where nothing answers to a word
    that was read, these are all but stop words."""
    text = reader_evidence.ReleasedText(result, inserted=True)
    if "alignment" not in result.can:
        stop = stop_words(None, result.language)
        tokens = Document.parse(result.text, result.language).tokens
        text.read_as(
            {
                k: Step((0, 0), "", t.text, "insert", "", 0.0, (t.start, t.end), k, t.text[:1].isupper())
                for k, t in enumerate(tokens)
                if t.kind == "word" and t.text not in stop
            },
            [t.text for t in tokens],
        )
    known = space.rows([s.replacement for s in text.steps.values()])
    text.steps = {i: s for (i, s), row in zip(text.steps.items(), known.tolist(), strict=True) if row >= 0}
    return text


def _pieces(
    result: RewriteResult, text: reader_evidence.ReleasedText, written: str, spans: Mapping[int, tuple[int, int]]
) -> tuple[Release, ...]:
    """Return the pieces of the polished text: those of the release at their new places, and the polished words."""
    made = {s.out: spans[i] for i, s in text.steps.items()}
    out = []
    if "alignment" not in result.can:
        return tuple(Release(span, written[slice(*span)], 0.0, "polished") for span in made.values())
    shift = 0
    for piece in sorted(result.releases, key=lambda p: p.span):
        if piece.span in made:
            span = made[piece.span]
            shift = span[1] - piece.span[1]
            out.append(Release(span, written[slice(*span)], 0.0, "polished", piece.source, "", piece.capital))
        else:
            span = piece.span[0] + shift, piece.span[1] + shift
            out.append(Release(span, piece.text, 0.0, piece.origin, piece.source, piece.reason, piece.capital))
    return tuple(out)
