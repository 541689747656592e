"""The data for checkers of a guarantee: texts with their guarantees and rewrites, and the stated distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import DPTextError
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.capabilities import public_context
from ..privacy.guarantee import Guarantee
from ..result import RewriteResult
from .checks import Subject
from .distance import TOLERANCE as RELATIVE
from .distance import named_distances
from .inputs import TEXTS, Probe, default_words, probes_of
from .rules import OURS, flat

NAME = "stated guarantee"
#: Number of words of the texts whose guarantees are checked, of rewrites of each, and of texts that are rewritten.
LENGTHS, REWRITES, REWRITTEN = (1, 2, 3, 5, 8, 13, 30), 3, 4
#: The same for a mechanism that writes a new text, where a rewrite can take seconds; and the number of compared parts.
WRITES, WRITTEN, PIECES = 2, 2, 3
#: Maximum number of distributions that are compared with each other.
PROBES = 40


@dataclass(frozen=True)
class StatedText:
    """A text with its guarantee. places: tokens whose replacement depends on them; None without aligned words. results:
    some of its rewrites."""

    text: str
    guarantee: Guarantee
    places: tuple[int, ...] | None
    words: tuple[str, ...]
    results: tuple[RewriteResult, ...] = ()

    @property
    def least_draws(self) -> int:
        """Return how many draws its guarantee must count: equal words may share one."""
        return 0 if self.places is None else len({self.words[i].casefold() for i in self.places})


@dataclass(frozen=True)
class Column:
    """Distributions that the guarantee of one draw compares. apart: their distances, NaN if two are not compared."""

    probes: Sequence[Probe]
    apart: np.ndarray

    @cached_property
    def log_p(self) -> np.ndarray:
        """Return log-probabilities over all of their outputs, float64 (n, outputs)."""
        from .exact import aligned_outputs

        return aligned_outputs(self.probes)[0]


@dataclass(frozen=True)
class Statement:
    """The data of one audit. words: single sampled words; unknown without aligned words."""

    subject: Subject
    texts: tuple[StatedText, ...]
    words: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def m(self) -> Mechanism:
        return self.subject.m

    @property
    def guarantee(self) -> Guarantee:
        return self.subject.guarantee

    @property
    def results(self) -> list[tuple[StatedText, RewriteResult]]:
        return [(t, r) for t in self.texts for r in t.results]

    @cached_property
    def apart(self) -> np.ndarray:
        """Return distances of the words as the mechanism states them, float64 (n, n)."""
        return np.array(self.m.audit_support.distances(list(self.words)), np.float64)

    @cached_property
    def every(self) -> list[str]:
        """Return the vocabulary, or the tested words of a mechanism without one."""
        by_word = self.m.by_word
        return list(self.words if by_word is None else by_word.vocabulary.words)

    def spread(self, n: int) -> list[int]:
        """Return the indices of n words that are spread over it."""
        return np.unique(np.linspace(0, max(0, len(self.every) - 1), min(n, len(self.every))).astype(int)).tolist()

    @cached_property
    def wide(self) -> np.ndarray:
        """Return distances of many words that are spread over the vocabulary, float64 (n, n)."""
        return np.array(self.m.audit_support.distances([self.every[i] for i in self.spread(BLOCK)]), np.float64)

    @cached_property
    def nearby(self) -> np.ndarray:
        """Return the distance of some words to the nearest of their neighbours in the word space, float64: an upper
        bound of that to their nearest word. Empty without such a space."""
        m, out = self.m, []
        if m.by_word is None:
            return np.empty(0)
        for word in (self.every[i] for i in self.spread(SCANNED)):
            try:
                others = [w for w, _ in m.by_word.space.neighbours(word, 13) if w.casefold() != word.casefold()]
            except DPTextError:
                continue
            d = np.asarray(m.audit_support.distances([word, *others]), np.float64)[0, 1:]
            out += [float(d[np.isfinite(d)].min())] if np.isfinite(d).any() else []
        return np.array(out)

    @cached_property
    def scan(self) -> np.ndarray:
        """Return distances of some words to the whole vocabulary, float64 (some, V), NaN to the word itself."""
        every, at, parts = self.every, self.spread(SCANNED), []
        some = [every[i] for i in at]
        for start in range(0, len(every), BLOCK):
            self.subject.meter.task.check()
            block = every[start : start + BLOCK]
            parts.append(
                np.asarray(self.m.audit_support.distances([*some, *block]), np.float64)[: len(some), len(some) :]
            )
        out = np.concatenate(parts, axis=1) if parts else np.empty((0, 0))
        out[np.arange(len(at)), at] = np.nan
        return out


#: Number of words whose distances to a whole vocabulary are computed, and of vocabulary words at once.
SCANNED, BLOCK = 30, 400


def statement(subject: Subject) -> Statement:
    """Return the data for the checkers of one audit."""
    m = subject.m
    if "alignment" not in m.can:
        given = [t.text if isinstance(t, Prepared) else t for t in subject.inputs]
        texts = _stated_texts(subject, list(dict.fromkeys([*given[:2], "doctor", TEXTS[0]])))
        return Statement(subject, texts, (), _of_pieces(subject, texts))
    probes = list(subject.probes) or _probes(subject)
    words = tuple(dict.fromkeys(p.word for p in probes if p.word.isalpha()))
    if m.by_word is None:
        chosen = [p.text for p in {id(p.prepared): p.prepared for p in probes}.values()][:2]
        chosen = chosen or [t.text if isinstance(t, Prepared) else t for t in subject.inputs][:2]
    else:
        distinct = list({w.casefold(): w for w in words}.values())
        chosen = [" ".join(distinct[:n]) for n in LENGTHS if n <= len(distinct)]
    return Statement(subject, _stated_texts(subject, chosen), words[:PROBES], _of_words(subject, probes))


def _probes(subject: Subject) -> list[Probe]:
    m = subject.m
    if "distribution" not in m.can:
        return []
    given = default_words(m, PROBES) if m.by_word is not None else subject.inputs
    return probes_of(m, given, subject.meter)[0]


def _stated_texts(subject: Subject, texts: Sequence[str]) -> tuple[StatedText, ...]:
    m, seeds, out = subject.m, subject.seeds(NAME), []
    n, most = (REWRITES, REWRITTEN) if "alignment" in m.can else (WRITES, WRITTEN)
    for k, text in enumerate(texts):
        subject.meter.task.check()
        prepared = m.prepare(text, task=subject.meter.task) if k < most else m.plan(text)
        places: tuple[int, ...] | None = None
        tokens = prepared.document.tokens
        if m.by_word is not None:
            places = tuple(i for i in range(len(tokens)) if m.by_word.token_row(prepared, i) is not None)
        elif m.alignment is not None:
            places = m.alignment.sampled_tokens(prepared)
        results = subject.rewriter.fresh(m, prepared, n, seeds()) if k < most else []
        words = tuple(t.text for t in tokens)
        out.append(StatedText(text, m.guarantee(text), places, words, tuple(results)))
    return tuple(out)


def _of_words(subject: Subject, probes: Sequence[Probe]) -> tuple[Column, ...]:
    """Return the sampled words with a formula; if there are many, a selection spread over them."""
    known = [p for p in probes if p.d.draws is None]
    known = known[:: -(-len(known) // PROBES)] if len(known) > PROBES else known
    if len(known) < 2:
        return ()
    apart = distances_of(subject, known)
    return (Column(known, apart),)


def distances_of(subject: Subject, probes: Sequence[Probe]) -> np.ndarray:
    """Return distances in the unit of the guarantee, float64 (n, n), NaN if two draws are not compared."""
    m, guarantee, n = subject.m, subject.guarantee, len(probes)
    words = [p.word for p in probes]
    if guarantee.notion in ("metric", "group"):
        out = np.array(m.audit_support.distances(words), np.float64)
        named = named_distances(m, guarantee, words) if guarantee.notion == "metric" else None
        if named is not None and not np.allclose(
            np.where(np.isfinite(out), named, 0.0), np.nan_to_num(out), rtol=RELATIVE, atol=RELATIVE
        ):
            out = np.where(np.isfinite(out), named, np.nan)
    else:
        out = np.ones((n, n))
    if guarantee.among:
        contexts = [public_context(m, p.prepared, p.index) for p in probes]
        out[[[a != b for b in contexts] for a in contexts]] = np.nan
    np.fill_diagonal(out, np.nan)
    return out


def _of_pieces(subject: Subject, texts: Sequence[StatedText]) -> tuple[Column, ...]:
    """Return first parts of texts that the guarantee compares; every part if a mechanism states them for other
    texts."""
    m, out = subject.m, []
    texts = [t for t in texts if t.results and "distribution" in t.results[0].can and t.results[0].releases]
    prepared = {t.text: m.prepare(t.text, task=subject.meter.task) for t in texts}

    def column(probes: list[Probe]) -> None:
        probes = [p for p in probes if p.d.draws is None]
        apart = [
            [1.0 if a is not b and m.audit_support.adjacent(a.text, b.text) else np.nan for b in probes] for a in probes
        ]
        if np.isfinite(np.array(apart)).any():
            out.append(Column(probes, np.array(apart)))

    def probe(t: StatedText, d: object, i: int) -> Probe:
        return Probe(t.text, None, t.text, d, prepared[t.text], i, True)  # type: ignore[arg-type]

    first = [(t, t.results[0]) for t in texts if t.results[0].releases[0].is_sampled]
    column([probe(t, r.distribution(0), 0) for t, r in first])
    if m.likelihood is not None and m.likelihood.states_pieces and first:
        result = first[0][1]
        given = [(t, m.likelihood.given(prepared[t.text], result)) for t in texts]
        stated = [(t, d) for t, d in given if d is not None]
        for i in range(min((PIECES, *(len(d) for _, d in stated)))):
            column([probe(t, d[i], i) for t, d in stated])
    return tuple(out)


def are_adjacent(m: Mechanism, a: str, b: str) -> bool | None:
    """Return whether the guarantee compares two texts; None if one of them is refused."""
    try:
        return bool(m.audit_support.adjacent(a, b))
    except OURS:
        raise
    except DPTextError:
        return None


def name(text: str) -> str:
    return f"“{flat(text, 80)}”"
