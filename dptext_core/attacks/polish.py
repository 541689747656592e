"""Post-process a release into a more fluent text, which spends no ε.

The sampled words are read together with a language model. If the mechanism has a formula for its probabilities, the
text gets the most likely original words according to ``reader``. Otherwise only the sampled words are known. Each place
then gets the word w of the word space with the largest ln π_i(w) + λ·cos(w, z_i), where π_i is the proposal of a public
masked language model given the current context, and z_i is the sampled word. This is repeated until nothing changes. A
sampled word outside the space is unchanged. Words that the mechanism never releases are not used.

Everything here is computed from the release and public data. So it is post-processing: the guarantee of the release
applies unchanged, and no ε is spent. It may restore what an attacker would have found anyway: ``PolishedResult`` states
how many of the sampled words equal the original before and after. Post-processing that reads the original has no
guarantee: ``dptext_lab.broken_mechanisms`` has an example, which an audit detects.
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
from .base import check_maker
from .prior import Prior, public_prior

#: λ, nats for a cosine of 1 (``tools/choose_clip.py --likeness``).
LIKENESS = 12.0


class _OfLikeness(reader_evidence.Evidence):
    """Evidence if only words are known: λ·cos(w, z_i), and −∞ for words that are never released."""

    exact = False

    def __init__(self, text: reader_evidence.ReleasedText, space: WordSpace, never: Blocklist):
        self._text, self._space, self._banned_rows = text, space, list(never.places(space.words))
        self._row_cache: dict[int, np.ndarray] = {}

    def weights(self, i: int, log_base: np.ndarray, now: Mapping[int, str], task: Task) -> np.ndarray:
        (row,) = self._space.rows([self._text.steps[i].replacement])
        if row not in self._row_cache:
            likeness = LIKENESS * self._space.similarities(self._space.words[row]).astype(np.float64)
            likeness[self._banned_rows] = -np.inf
            self._row_cache[row] = likeness
        return log_base + self._row_cache[row]


def polish(
    result: RewriteResult, mechanism: Mechanism | None = None, *, model: str = "bundled", task: Task | None = None
) -> PolishedResult:
    """Rewrite a release as the more fluent text that an attacker would read.

    Parameters
    ----------
    result
        The release. Its original is used only for ``PolishedResult.unchanged``, the share of restored words.
    mechanism
        The mechanism of the release; by default, the registered one of that name with the options of the result.
    model
        The public masked language model that proposes words.
    task
        Receives the progress, and may cancel the work.

    Returns
    -------
    Polished
        The post-processed text with its parts, and the sampled release.

    Raises
    ------
    InputError
        No mechanism of the result's name is registered or given, or another one is given.
    ModelUnavailable
        Where the model is not there.
    """
    m = mechanism_of(result) if mechanism is None else mechanism
    check_maker(m, result)
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
    places = tuple((s.original if s.depends_on_original else "", s.replacement, best[i]) for i, s in text.steps.items())
    return PolishedResult(result, written, _pieces(result, text, written, spans), readings, places)


def _text_of_words(result: RewriteResult, space: WordSpace) -> reader_evidence.ReleasedText:
    """Return the release with its sampled words in the space as places. Without aligned words, these are all except
    stop words."""
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
    """Return the parts of the post-processed text: those of the release at their new offsets, and the changed words."""
    word_spans = {s.out: spans[i] for i, s in text.steps.items()}
    out = []
    if "alignment" not in result.can:
        return tuple(Release(span, written[slice(*span)], 0.0, "polished") for span in word_spans.values())
    shift = 0
    for piece in sorted(result.releases, key=lambda p: p.span):
        if piece.span in word_spans:
            span = word_spans[piece.span]
            shift = span[1] - piece.span[1]
            out.append(Release(span, written[slice(*span)], 0.0, "polished", piece.source, "", piece.capital))
        else:
            span = piece.span[0] + shift, piece.span[1] + shift
            out.append(Release(span, piece.text, 0.0, piece.origin, piece.source, piece.reason, piece.capital))
    return tuple(out)
