"""Test the first, second and next rewrite of a new text, through every entry point.

Some instances have rewritten nothing before, others have rewritten other texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..mechanisms.base import Mechanism
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from .batches import texts_of
from .checks import Subject
from .guesses import TEXTS, guess, is_guessable, pick, success_bound
from .release_statistics import (
    LEVEL,
    ReleaseReader,
    drawn_words,
    has_alignment,
    least_hits,
    least_share,
    new_instance,
    noise_of,
    once_in,
    public_words,
    shuffle,
    too_many,
    with_small_epsilon,
)
from .report import Check, Witness, format_share
from .rewriting import FRESH, LIST, PREPARED, TEXT, Rewriter

NAME = "first rewrites"
#: Number of rewrites of each text, of new texts for each entry point, and of words of each; and if draws need a model.
TIMES, EACH, WORDS = 3, 8, 12
MODEL_TIMES, MODEL_EACH, MODEL_WORDS = 2, 5, 4
_NUMBERS = ("first", "second", "third")


def at_first(subject: Subject) -> Check | None:
    """Test the first rewrites of new texts, separately for the first, second and later ones."""
    m = with_small_epsilon(subject.m)
    stream = subject.stream.at(NAME)
    chances = has_alignment(m) or "distribution" in m.can
    cheap = m.by_word is not None
    times, texts, words = (TIMES, EACH, WORDS) if cheap else (MODEL_TIMES, MODEL_EACH, MODEL_WORDS)
    if not chances:
        times, texts, words = MODEL_TIMES, MODEL_EACH, 6
    n = texts * len(WAYS)
    if has_alignment(m):
        given = drawn_words(m, [p.word for p in subject.probes], min(n * words, 240), stream.at("words"), subject.meter)
    else:
        given = public_words(m, max(n, TEXTS) * words, stream.at("words"))
    if not given:
        return None
    # If there are few words, texts differ in their order.
    few = len(given) < n * words
    every = [
        " ".join(shuffle(given, stream.at("text", k))[:words] if few else given[k * words : (k + 1) * words])
        for k in range(n)
    ]
    every = list(dict.fromkeys(every))
    lineups: dict[str, list[str]] = {}
    if not chances:
        if not is_guessable(m, every):
            return None
        # Each text is one of several that could have been rewritten in its place.
        for k in range(n):
            texts_here = texts_of(shuffle(given, stream.at("lineup", k)), words)[:TEXTS]
            lineups[texts_here[pick(1, len(texts_here), stream.at("picked", k))[0]]] = texts_here
        every = [*lineups]
    released: list[tuple[str, int, str, RewriteResult]] = []
    fresh = new_instance(m)
    for k, text in enumerate(every):
        way = [*WAYS][k % len(WAYS)]
        # Half of the texts get a new instance, half one that has rewritten others.
        instance = new_instance(m) if k // len(WAYS) % 2 == 0 else fresh
        seeds = [noise_of(stream, k, j) for j in range(times)]
        subject.meter.at(0.96)
        for number, result in enumerate(WAYS[way](subject.rewriter, instance, text, seeds)):
            released.append((way, number, text, result))
    if chances:
        return _by_chances(subject, m, released, times)
    return _by_guesses(m, lineups, released, stream, times)


def _of_text(rewriter: Rewriter, m: Mechanism, text: str, noise: Sequence[NoiseStream]) -> list[RewriteResult]:
    return [rewriter.one(m, text, one) for one in noise]


def _of_prepared(rewriter: Rewriter, m: Mechanism, text: str, noise: Sequence[NoiseStream]) -> list[RewriteResult]:
    prepared = m.prepare(text)
    return [rewriter.one(m, prepared, one) for one in noise]


def _of_list(rewriter: Rewriter, m: Mechanism, text: str, noise: Sequence[NoiseStream]) -> list[RewriteResult]:
    return [rewriter.listed(m, [text], one)[0] for one in noise]


def _of_fresh(rewriter: Rewriter, m: Mechanism, text: str, noise: Sequence[NoiseStream]) -> list[RewriteResult]:
    prepared = m.prepare(text)
    return [rewriter.fresh(m, prepared, 1, one)[0] for one in noise]


#: The entry points for rewrites.
WAYS: dict[str, Callable[[Rewriter, Mechanism, str, Sequence[NoiseStream]], list[RewriteResult]]] = {
    TEXT: _of_text,
    PREPARED: _of_prepared,
    LIST: _of_list,
    FRESH: _of_fresh,
}


def _by_chances(
    subject: Subject, m: Mechanism, released: Sequence[tuple[str, int, str, RewriteResult]], times: int
) -> Check | None:
    # Read after all rewrites: a query may change the state of a leaky instance.
    stated = new_instance(m)
    reader = ReleaseReader(stated, subject.meter)
    prepared = {text: stated.prepare(text, task=subject.meter.task) for text in {r[2] for r in released}}
    observed = [(way, number, text, reader.read(prepared[text], result)) for way, number, text, result in released]
    draws = sum(len(s) for *_, s in observed)
    if not draws:
        return None
    groups = {f"the {_NUMBERS[j]} rewrites": [s for s in observed if s[1] == j] for j in range(times)}
    groups |= {
        f"the {_NUMBERS[j]} rewrites of {way}": [s for s in observed if s[:2] == (way, j)]
        for way in WAYS
        for j in range(times)
    }
    groups |= {f"the {_NUMBERS[s[1]]} rewrite of “{s[2]}”, by {s[0]}": [s] for s in observed}
    epsilon = float(m.config.epsilon)
    looked = f"The first {times} rewrites of {len(prepared)} new texts, in {len(WAYS)} ways, at ε = {epsilon:.3g}"
    tails: list[tuple[float, str]] = []
    for name, members in groups.items():
        mine = [s for *_, some in members for s in some]
        if any(s.hit for s in mine):
            tails.append((too_many(sum(s.hit for s in mine), np.array([s.chance for s in mine])), name))
    if tails and (best := min(tails))[0] * len(groups) < LEVEL:
        mine = [s for *_, some in groups[best[1]] for s in some]
        message = (
            f"In {best[1]}, {sum(s.hit for s in mine)} of {len(mine)} words were unchanged, but "
            f"{sum(s.chance for s in mine):.2g} were expected (ε = {epsilon:.3g})."
        )
        text = groups[best[1]][0][2]
        witness = Witness.of_rule(message, text)
        reason = "the first rewrites of a text leave words unchanged more often than stated."
        return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=draws)
    mean = float(np.mean([s.chance for *_, some in observed for s in some]))
    of_text = max(1, draws // len(observed))
    enough = least_hits(of_text, mean, LEVEL / len(groups))
    occasions = len(prepared)
    leak = (
        once_in(occasions) if enough is not None else least_share(of_text * occasions, mean, LEVEL / len(groups)) or 1.0
    )
    seen_from = format_share(leak)
    message = f". A leak at the first or second rewrite is detected if it occurs for {seen_from} of the texts"
    blind = f"a leak in the first rewrites of fewer than {format_share(leak)} of the texts"
    return Check(NAME, "tested", f"{looked}{message}.", leak=leak, blind=blind, draws=draws)


def _by_guesses(
    m: Mechanism,
    lineups: Mapping[str, Sequence[str]],
    released: Sequence[tuple[str, int, str, RewriteResult]],
    stream: NoiseStream,
    times: int,
) -> Check:
    """Return the result from guesses of the original text. lineups: the texts from which each one was chosen, which the
    rewrite must not reveal."""
    texts = [*lineups]
    epsilon = float(m.config.epsilon)
    looked = f"The first {times} rewrites of {len(texts)} new texts, in {len(WAYS)} ways, at ε = {epsilon:.3g}"
    p = success_bound(m, lineups[texts[0]])
    tests = times * (1 + len(WAYS))
    least = 1.0
    for j in range(times):
        for way in (None, *WAYS):
            mine = [r for r in released if r[1] == j and way in (None, r[0])]
            hits = 0
            for k, (_, _, text, result) in enumerate(mine):
                hits += lineups[text][guess(lineups[text], result, stream.at("guess", k, j))] == text
            if way is None:
                least = least_share(len(mine), p, LEVEL / tests) or 1.0
            if too_many(hits, np.full(len(mine), p)) * tests < LEVEL:
                message = (
                    f"In the {_NUMBERS[j]} rewrites{f' of {way}' if way else ''}, the words of a rewrite identified "
                    f"the original text in {hits} of {len(mine)} guesses. The guarantee allows {p:.1%} (ε = "
                    f"{epsilon:.3g})."
                )
                witness = Witness.of_rule(message, texts[0], texts[1])
                reason = "the first rewrites of a text are recognised more often than the guarantee allows."
                return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=len(released))
    seen_from = format_share(least)
    message = f". A leak at the first or second rewrite is detected if it occurs for {seen_from} of the texts"
    blind = f"a leak in the first rewrites of fewer than {format_share(least)} of the texts"
    return Check(NAME, "tested", f"{looked}{message}.", leak=least, blind=blind, draws=len(released))
