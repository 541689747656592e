"""Test long texts: samples late in a text, and just beyond the windows of models.

A text of several hundred tokens is rewritten a few times with a small ε. The test refutes if words are unchanged more
often than stated at any place: at one token, in a block of tokens, or from some token on. If draws need a model, the
text has kept words with sampled ones between them: early, around the ends of common window sizes, late and last. Other
mechanisms also get shorter texts, and the given texts, to find leaks at particular lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..mechanisms.base import Mechanism, Prepared
from ..privacy.sampling import DEPTH, NoiseStream
from ..result import RewriteResult
from ..support.checks import pluralize
from ..text.lexicons import stop_words
from .checks import Subject
from .exact import TOLERANCE, largest_loss
from .guesses import TEXTS, guess, is_guessable, pick, success_bound
from .inputs import Probe
from .release_statistics import (
    LEVEL,
    ObservedDraw,
    ReleaseReader,
    drawn_words,
    has_alignment,
    least_share,
    new_instance,
    noise_of,
    public_words,
    shuffle,
    too_many,
    with_small_epsilon,
)
from .report import NOR, Check, Witness, format_share
from .rules import flat

NAME = "long texts"
#: Number of tokens of a long text, and of its repeated sampled words if equal words are sampled separately.
LONG, REPEATED = 700, 24
#: Number of rewrites, for mechanisms with cheap draws and for others.
CHEAP, COSTLY = 12, 4
#: Positions of the sampled words of a text for models: around 128, 256 and 512 word pieces, the common window sizes.
PLACES = (0, 1, *range(124, 134), *range(252, 266), 300, 301, 400, 508, 509, 510, 516, 517, 640, 698, 699)
#: Numbers of tokens of shorter texts, their number of rewrites, and the number of tokens of all given texts.
LENGTHS, TIMES, GIVEN = (6, 10, 16, 26, 40, 64, 100, 160, 250, 400), 2, 400
#: Number of long texts in a guess.
GUESSED = 20
#: Number of tokens that are tested together.
_BLOCK = 16


def in_long_texts(subject: Subject) -> Check | None:
    """Test the samples at every place of a text of LONG tokens."""
    m = with_small_epsilon(subject.m)
    stream = subject.stream.at(NAME)
    if has_alignment(m):
        return _by_place(subject, m, stream)
    if "distribution" in m.can:
        return _by_piece(subject, m, stream)
    texts = late_texts(m, stream)
    return _by_guesses(subject, m, texts, stream) if is_guessable(m, texts) else None


def _by_place(subject: Subject, m: Mechanism, stream: NoiseStream) -> Check | None:
    meter, given = subject.meter, [p.word for p in subject.probes]
    stated = new_instance(m)
    reader = ReleaseReader(stated, meter)
    once = m.guarantee(given[0] if given else "doctor").unit.counts_distinct_words
    others: list[str] = []
    if m.by_word is not None:
        words = drawn_words(m, given, LONG if once else REPEATED, stream.at("words"), meter)
        if not words:
            return None
        tokens = (words * LONG)[:LONG]
        first = reader.stated(stated.prepare(words[0]), 0)
        times = CHEAP if first is not None and first.depth > DEPTH else COSTLY
        others = [" ".join(tokens[:n]) for n in LENGTHS]
        others += _given_texts(subject) if first is not None and first.draws is None else []
    else:
        words = drawn_words(m, given, len(PLACES), stream.at("words"), meter)
        if not words:
            return None
        stop = [w for w in sorted(stop_words(None, m.language).words) if w.isalpha()]
        tokens = shuffle(stop * LONG, stream.at("kept"))[:LONG]
        for place, word in zip(PLACES, words * len(PLACES), strict=False):
            tokens[place] = word
        times = COSTLY
    text = " ".join(tokens)
    prepared = m.prepare(text, task=meter.task)
    rewriter = subject.rewriter
    results = [rewriter.one(m, prepared, noise_of(stream, k)) for k in range(times // 2)]
    results += rewriter.fresh(m, prepared, times - times // 2, noise_of(stream, times))
    prepared_text = prepared if m.by_word is None else stated.prepare(text, task=meter.task)
    draws = [s for r in results for s in reader.read(prepared_text, r)]
    return _judge(
        m, text, draws, times, [(t, _observe_text(subject, m, t, reader, stream.at(i))) for i, t in enumerate(others)]
    )


def _given_texts(subject: Subject) -> list[str]:
    """Return the first complete given texts of several words."""
    texts, room = list[str](), GIVEN
    for given in subject.inputs:
        text = given if isinstance(given, str) else given.text
        if (n := len(text.split())) > 1 and n <= room:
            texts.append(text)
            room -= n
    return texts


def _observe_text(
    subject: Subject, m: Mechanism, text: str, reader: ReleaseReader, stream: NoiseStream
) -> list[ObservedDraw]:
    """Return the draws of some rewrites of a text."""
    prepared = m.prepare(text, task=subject.meter.task)
    results = [subject.rewriter.one(m, prepared, noise_of(stream, k)) for k in range(TIMES)]
    return [s for r in results for s in reader.read(prepared, r)]


def _worst_span(places: np.ndarray, hits: np.ndarray, chances: np.ndarray) -> tuple[tuple[float, int, int], int]:
    """Return the span with the most unlikely number of unchanged words and its p-value, and the number of compared
    spans. Spans are single tokens, blocks, and everything from a block on."""
    last = int(places.max())
    spans = {(p, p + 1) for p in places.tolist()}
    spans |= {(p // _BLOCK * _BLOCK, p // _BLOCK * _BLOCK + _BLOCK) for p in places.tolist()}
    spans |= {(p, last + 1) for p in range(0, last + 1, _BLOCK // 2)}
    best: tuple[float, int, int] = (1.0, 0, 0)
    for a, b in sorted(spans):
        inside = (places >= a) & (places < b)
        if hits[inside].any():
            best = min(best, (too_many(int(hits[inside].sum()), chances[inside]), a, b))
    return best, len(spans)


def _judge(
    m: Mechanism,
    text: str,
    draws: Sequence[ObservedDraw],
    times: int,
    others: Sequence[tuple[str, Sequence[ObservedDraw]]] = (),
) -> Check | None:
    """Return the result of the check. others: more texts with their draws, each of which counts as one comparison."""
    if not draws:
        return None
    places = np.array([s.place for s in draws])
    hits, chances = np.array([s.hit for s in draws]), np.array([s.chance for s in draws])
    last = int(places.max())
    best, tests = _worst_span(places, hits, chances)
    level = LEVEL / (tests + len(others))
    epsilon = float(m.config.epsilon)
    drawn = len(set(places.tolist()))
    looked = f"A text of {last + 1} tokens, {drawn} of them sampled, rewritten {times} times at ε = {epsilon:.3g}"
    if best[0] < level:
        _, a, b = best
        inside = (places >= a) & (places < b)
        tokens = f"token {a + 1}" if b == a + 1 else f"tokens {a + 1} to {min(b, last + 1)}"
        message = (
            f"In a text of {last + 1} tokens, {int(hits[inside].sum())} of {int(inside.sum())} draws at {tokens} were "
            f"unchanged, but {chances[inside].sum():.2g} were expected (ε = {epsilon:.3g})."
        )
        witness = Witness.of_rule(message, flat(text))
        reason = "words of long texts are unchanged more often than stated."
        return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=len(draws))
    for other, some in others:
        hit, stated = sum(s.hit for s in some), np.array([s.chance for s in some])
        if hit and too_many(hit, stated) < level:
            message = (
                f"In a text of {len(other.split())} tokens, {hit} of {len(some)} draws were unchanged, but "
                f"{stated.sum():.2g} were expected (ε = {epsilon:.3g})."
            )
            reason = "words of texts of this length are unchanged more often than stated."
            witness = Witness.of_rule(message, flat(other))
            return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=len(draws))
    mean = float(chances.mean())
    single = least_share(times, mean, level)
    late = int((places >= last - _BLOCK).sum())
    block = least_share(late, mean, level)
    looked += (
        f". A leak at one token {_detection_phrase(single)}. A leak in the last {_BLOCK} tokens "
        f"{_detection_phrase(block)}"
    )
    blind = "a leak at a single token of a long text"
    if single is not None:
        blind = f"a leak at one token of a long text in fewer than {format_share(single)} of its draws"
    blind += f"{NOR}anything after token {last + 1} of a longer text"
    if others:
        given = len(others) - len(LENGTHS)
        looked += f". Texts of {', '.join(map(str, LENGTHS[:-1]))} and {LENGTHS[-1]} tokens"
        looked += f", and {pluralize(given, 'given text')}" * bool(given) + f", rewritten {TIMES} times each"
        blind += f"{NOR}a leak only at lengths between these"
    n = len(draws) + sum(len(some) for _, some in others)
    return Check(NAME, "tested", f"{looked}.", leak=single or block or 1.0, blind=blind, draws=n)


def _detection_phrase(x: float | None) -> str:
    """Return the smallest detectable share of leaking draws, as a verb phrase."""
    return "would not be detected" if x is None else f"is detected if {format_share(x)} of the draws there leak"


def _by_piece(subject: Subject, m: Mechanism, stream: NoiseStream) -> Check | None:
    """Test mechanisms that write a new text: whether words of a long text leak, and whether the stated distributions of
    two such texts differ by more than the guarantee allows."""
    texts = late_texts(m, stream, 2)
    prepared = [m.prepare(t, task=subject.meter.task) for t in texts]
    reader = ReleaseReader(m, subject.meter)
    results = [subject.rewriter.one(m, prepared[0], noise_of(stream, k)) for k in range(COSTLY)]
    other = subject.rewriter.one(m, prepared[1], noise_of(stream, COSTLY))
    guarantee = m.guarantee(prepared[0])
    if guarantee.notion == "pure":
        pairs = _stated_probes(m, prepared, results[0], other)
        for i, probes in enumerate(pairs):
            loss, witness = largest_loss(probes, np.array([[np.nan, 1.0], [1.0, np.nan]]), subject.meter)
            if loss > guarantee.epsilon * (1 + TOLERANCE) + TOLERANCE and witness is not None:
                message = (
                    f"Two texts of {LONG} tokens differ in their last 20. Span {i + 1} is “{witness.output}” with a "
                    "stated "
                    f"probability of {witness.p_first:.2g} for one and {witness.p_second:.2g} for the other, at ε = "
                    f"{guarantee.epsilon:.3g}."
                )
                return Check(
                    NAME,
                    "refuted",
                    f"Two texts of {LONG} tokens.",
                    "the stated token distributions of two long texts differ by more than the guarantee allows.",
                    replace(witness, first=texts[0][-120:], second=texts[1][-120:], details=message),
                )
    return _judge(m, texts[0], [s for r in results for s in reader.read(prepared[0], r)], COSTLY)


def _stated_probes(
    m: Mechanism, prepared: Sequence[Prepared], result: RewriteResult, other: RewriteResult
) -> list[list[Probe]]:
    """Return stated token distributions under two texts: for all tokens of one rewrite if they are stated for other
    originals, else for the first tokens."""
    distributions = [d for _, d in result.distributions()]
    given = None if m.likelihood is None else m.likelihood.given(prepared[1], result)
    if given is None:
        first = (
            other.releases[0].is_sampled and result.releases[0].is_sampled
            if other.releases and result.releases
            else False
        )
        given, distributions = ([other.distribution(0)], distributions[:1]) if first else ([], [])
    return [
        [Probe(p.text, None, p.text, d, p, i, True) for p, d in zip(prepared, pair, strict=True)]
        for i, pair in enumerate(zip(distributions, given, strict=False))
    ]


def late_texts(m: Mechanism, stream: NoiseStream, n: int | None = None) -> list[str]:
    """Return long texts of kept words that differ only in their last words."""
    n = TEXTS if n is None else n
    words = public_words(m, 20 * n, stream.at("words"))
    stop = [w for w in sorted(stop_words(None, m.language).words) if w.isalpha()]
    same = " ".join(shuffle(stop * LONG, stream.at("kept"))[: LONG - 20])
    return [f"{same} {' '.join(words[20 * k : 20 * k + 20])}" for k in range(n)]


def _by_guesses(subject: Subject, m: Mechanism, texts: Sequence[str], stream: NoiseStream) -> Check:
    p, n = success_bound(m, texts), GUESSED
    order = pick(n, len(texts), stream.at("order"))
    results = subject.rewriter.listed(m, [texts[k] for k in order], noise_of(stream, 0))
    right_ones = zip(order, results, strict=True)
    hits = sum(guess(texts, r, stream.at("guess", j)) == k for j, (k, r) in enumerate(right_ones))
    epsilon = float(m.config.epsilon)
    looked = f"{n} texts of {LONG} tokens, rewritten at ε = {epsilon:.3g}"
    if too_many(hits, np.full(n, p)) < LEVEL:
        message = (
            f"Texts of {LONG} tokens differed in their last 20. The words of a rewrite identified the right text in "
            f"{hits} of {n} guesses; the guarantee allows {p:.1%} (ε = {epsilon:.3g})."
        )
        witness = Witness.of_rule(message, texts[0][-120:], texts[1][-120:])
        reason = "long texts are recognised more often than the guarantee allows."
        return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=n)
    leak = least_share(n, p, LEVEL) or 1.0
    message = f"{looked}: a leak is detected if {format_share(leak)} of them are recognised."
    return Check(
        NAME,
        "tested",
        message,
        leak=leak,
        blind=f"a leak that identifies fewer than {format_share(leak)} of long texts",
        draws=n,
    )
