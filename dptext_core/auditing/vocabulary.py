"""Test every word of a vocabulary whose words are sampled one by one: its stated distribution and its releases.

Stated distributions: blocks of similar words are compared over all outputs. If the guarantee compares any two words, or
those of a group, every block contains only compared words. The largest and smallest probability of each output over all
blocks are stored too, so that all pairs are compared. If the guarantee counts distances, each word is compared with the
next ones in an order in which similar words follow each other. By the triangle inequality, these pairs bind most.

Releases: each word is rewritten twice with a small ε, in texts of many words and in full lists. The words that were
unchanged, or became the same word twice, must be as many as stated. They are rewritten many more times: a word that
nearly always has the same output leaks.

If each probability needs a row over the whole vocabulary, only a part of the words is tested unless the audit is
thorough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import BATCH, Mechanism, Prepared, WordByWord
from ..mechanisms.capabilities import public_context
from ..privacy.sampling import DEPTH, NoiseStream
from ..result import RewriteResult
from .checks import Subject
from .distance import TOLERANCE as RELATIVE
from .distance import named_distances
from .exact import TOLERANCE, largest_loss
from .inputs import Probe
from .release_statistics import (
    LEVEL,
    ReleaseReader,
    bounds,
    is_unknown,
    least_hits,
    noise_of,
    shuffle,
    strip_word,
    too_many,
    with_small_epsilon,
)
from .report import NOR, Check, Witness, format_share

STATED, RELEASED = "stated distributions of every word", "releases of every word"
#: Maximum number of probabilities unless the audit is thorough: words times outputs.
WORK = 60_000_000
#: Number of words per text, of words compared with each other, and of next words that each is compared with.
_TEXT, _TOGETHER, _AFTER = 400, 200, 2
#: Number of repeated rewrites of words with equal outputs; and the intermediate number after which only words with this
#: many equal outputs continue.
AGAIN, DROPPED = 30, {6: 2, 12: 4}


def stated_words(subject: Subject) -> Check | None:
    """Test the stated distribution of each word of the vocabulary."""
    m, guarantee = subject.m, subject.guarantee
    by_word = m.by_word
    if by_word is None or guarantee.notion not in ("pure", "group", "metric") or subject.claim is not None:
        return None
    words = _in_a_row(by_word, guarantee.notion)
    if len(words) < 2:
        return None
    unstated: dict[str, None] = {}
    first = _probes(m, by_word, words[:200], unstated)
    if not first and unstated:
        return _unstated_check(unstated, "")
    if not first or first[0].d.draws is not None or public_context(m, first[0].prepared, 0) is not None:
        return None
    chosen = words if subject.thorough else _spread_sample(words, max(2 * _TOGETHER, WORK // len(first[0].d)))
    worst, witness, pairs = 0.0, None, 0
    high: tuple[np.ndarray, np.ndarray] | None = None
    names: Sequence[str] = ()
    before: list[Probe] = []
    for start in range(0, len(chosen), _TOGETHER):
        subject.meter.at(0.96)
        probes = [*before, *_probes(m, by_word, chosen[start : start + _TOGETHER], unstated)]
        if len(probes) < 2:
            continue
        apart = _apart(m, guarantee, probes)
        value, location, compared = _compare_pairs(subject, probes, apart)
        pairs += compared
        if value > worst:
            worst, witness = value, location
        after = {"metric": _AFTER, "group": 20}.get(guarantee.notion)
        before = [] if after is None else probes[-after:]
        if guarantee.notion == "pure" and all(p.d.candidates is probes[0].d.candidates for p in probes):
            table = np.stack([p.d.log_probs for p in probes])
            top, low = table.max(axis=0), table.min(axis=0)
            high = (top, low) if high is None else (np.maximum(high[0], top), np.minimum(high[1], low))
            names = probes[0].d.candidates
    if high is not None and (widest := _widest_gap(names, *high))[0] > worst:
        worst, witness = widest
    every = len(chosen) == len(words)
    part = f"all {len(words):,}" if every else f"{len(chosen):,} of the {len(words):,}"
    blind = "" if every else f"a wrong distribution of one of the other {len(words) - len(chosen):,} words"
    looked = (
        f"The stated distributions of {part} words of the vocabulary over all outputs, in {pairs:,} pairs of near words"
    )
    if worst > guarantee.epsilon * (1 + TOLERANCE) + TOLERANCE:
        reason = "the stated distributions of two words differ by more than the guarantee allows."
        return Check(STATED, "refuted", f"{looked}.", reason, witness, blind=blind)
    if unstated:
        return _unstated_check(unstated, f"The stated distributions of {part} words that have one.")
    return Check(STATED, "proven", f"{looked}.", blind=blind)


def _widest_gap(names: Sequence[str], top: np.ndarray, low: np.ndarray) -> tuple[float, Witness]:
    """Return the largest log-ratio of an output over all words, from its largest and smallest ln p."""
    with np.errstate(invalid="ignore"):
        gap = np.where(top > -np.inf, top - low, 0.0)
    y = int(np.argmax(gap))
    message = f"“{names[y]}” is e^{gap[y]:.3g} times as likely under one word of the vocabulary as under another."
    return float(gap[y]), Witness(
        "one word", "another", (names[y],), float(top[y]), float(low[y]), 1.0, details=message
    )


def _unstated_check(words: Mapping[str, None], looked: str) -> Check:
    n, first = len(words), next(iter(words))
    missing = (
        f"“{first}” has no stated probabilities, although it is sampled."
        if n == 1
        else f"{n:,} words, such as “{first}”, have no stated probabilities, although they are sampled."
    )
    return Check(STATED, "not tested", looked, missing)


def _in_a_row(by_word: WordByWord, notion: str) -> list[str]:
    """Return the single-token words of the vocabulary: ordered by group, or for distances so that similar words follow
    each other."""
    words = [w for w in by_word.vocabulary.words if w.isalpha()]
    if notion == "group":
        return list(dict.fromkeys(by_word.words_alike(words, len(words)) or words))
    order = getattr(by_word.vocabulary, "lists", None)
    if notion == "metric" and order:
        known = set(words)
        return [w for w in order[0].words if w in known]
    if notion == "metric":
        vectors = getattr(by_word.vocabulary, "vectors", None)
        if vectors is not None and len(vectors) == len(by_word.vocabulary.words):
            # Along the direction of the largest variance.
            x = np.asarray(vectors, np.float64)
            x = x - x.mean(axis=0)
            along = x @ np.linalg.svd(x[:: max(1, len(x) // 2000)], full_matrices=False)[2][0]
            rank = {by_word.vocabulary.words[i]: k for k, i in enumerate(np.argsort(along).tolist())}
            return sorted(words, key=rank.__getitem__)
    return words


def _spread_sample(words: Sequence[str], n: int) -> list[str]:
    """Return about n of the words in consecutive runs, spread over all of them."""
    if n >= len(words):
        return list(words)
    stretches = max(1, n // 50)
    starts = np.linspace(0, len(words) - 50, stretches).astype(int)
    return list(dict.fromkeys(w for s in starts.tolist() for w in words[s : s + 50]))


def _probes(m: Mechanism, by_word: WordByWord, words: Sequence[str], unstated: dict[str, None]) -> list[Probe]:
    """Return the distributions of words. unstated: receives sampled words without a distribution."""
    text = " ".join(words)
    prepared = m.prepare(text)
    tokens = prepared.document.tokens
    out = []
    for i, token in enumerate(tokens):
        if is_unknown(by_word, prepared, i):
            continue
        try:
            d = m.distribution(prepared, i)
        except NoDistribution:
            unstated[token.text] = None
            continue
        out.append(Probe(token.text, None, token.text, d, prepared, i, True))
    return out


def _apart(m: Mechanism, guarantee, probes: Sequence[Probe]) -> np.ndarray:
    """Return distances in the guarantee's metric, float64 (n, n), NaN if two words are not compared."""
    words = [p.word for p in probes]
    if guarantee.notion == "pure":
        out = 1.0 - np.eye(len(words))
    else:
        out = np.array(m.audit_support.distances(words), np.float64)
        named = named_distances(m, guarantee, words) if guarantee.notion == "metric" else None
        # Equal up to rounding: then use the mechanism's distances, which define its scores.
        if named is not None and not np.allclose(
            np.where(np.isfinite(out), named, 0.0), np.nan_to_num(out), rtol=RELATIVE, atol=RELATIVE
        ):
            out = np.where(np.isfinite(out), named, np.nan)
    np.fill_diagonal(out, np.nan)
    return out


def _compare_pairs(subject: Subject, probes: Sequence[Probe], apart: np.ndarray) -> tuple[float, Witness | None, int]:
    """Return the largest loss per unit, its location, and the number of compared pairs: all pairs of a group or for a
    pure guarantee, near pairs for a metric one."""
    if subject.guarantee.notion != "metric":
        value, witness = largest_loss(probes, apart, subject.meter)
        return value, witness, int(np.isfinite(apart).sum()) // 2
    best: tuple[float, int, int] = (0.0, 0, 0)
    count = 0
    for lag in range(1, _AFTER + 1):
        for a in range(len(probes) - lag):
            b = a + lag
            if not np.isfinite(apart[a, b]):
                continue
            subject.meter.task.check()
            count += 1
            best = max(best, (_loss(probes[a], probes[b], float(apart[a, b])), a, b))
    value, a, b = best
    if not value:
        return 0.0, None, count
    pair = apart[np.ix_((a, b), (a, b))]
    _, witness = largest_loss([probes[a], probes[b]], pair, subject.meter)
    return value, witness, count


def _loss(a: Probe, b: Probe, apart: float) -> float:
    if a.d.candidates is not b.d.candidates and list(a.d.candidates) != list(b.d.candidates):
        return math.inf
    x, y = a.d.log_probs, b.d.log_probs
    with np.errstate(invalid="ignore"):
        gap = np.abs(x - y)
    gap[(x == -np.inf) & (y == -np.inf)] = 0.0
    loss = float(gap.max())
    return 0.0 if loss <= TOLERANCE else loss / apart if apart > 0 else math.inf


# --- releases


def released_words(subject: Subject) -> Check | None:
    """Test the releases of each word of the vocabulary against its stated distribution."""
    m = with_small_epsilon(subject.m)
    by_word = m.by_word
    if by_word is None:
        return None
    stream = subject.stream.at(RELEASED)
    words = [w for w in by_word.vocabulary.words if w.isalpha()]
    if len(words) < 2:
        return None
    reader = ReleaseReader(m, subject.meter)
    first = next((d for d in _some_distributions(m, by_word, reader, words)), None)
    if first is None:
        return None
    words = shuffle(words, stream.at("order"))
    cheap = first.depth > DEPTH
    chosen = words if subject.thorough or cheap else words[: max(_TEXT, WORK // 2 // len(first))]
    first_round = dict(_released_pairs(m, by_word, chosen, stream, 0, subject))
    second_round = dict(_rewrite_lists(m, by_word, chosen, stream, subject))
    draws = len(first_round) + len(second_round)
    suspects = _suspects(first_round, second_round)
    tests = 1 + len(suspects)
    epsilon = float(m.config.epsilon)
    is_complete = len(chosen) == len(words)
    part = f"all {len(words):,}" if is_complete else f"{len(chosen):,} of the {len(words):,}"
    looked = f"{part[0].upper()}{part[1:]} words of the vocabulary, each rewritten twice at ε = {epsilon:.3g}"
    hits = dict.fromkeys(suspects, 0)
    wanted = dict(suspects)
    names = [*wanted]
    for turn in range(AGAIN):
        names = [w for w in names if hits[w, wanted[w]] >= DROPPED.get(turn, 0)]
        for word, became in _released_pairs(m, by_word, names, stream, 2 + turn, subject):
            draws += 1
            hits[word, wanted[word]] += strip_word(became) == wanted[word]
    if (witness := _least_likely(m, reader, hits, tests)) is not None:
        reason = "the releases of one word of the vocabulary do not follow its stated distribution."
        return Check(RELEASED, "refuted", f"{looked}.", reason, witness, draws=draws)
    blind = "" if is_complete else f"a leak of one of the {len(words) - len(chosen):,} words that were not rewritten"
    usual = float(np.median(bounds(first)))
    leak = _one_word(usual, LEVEL / tests)
    same = f"a word that has the same output in fewer than {format_share(leak)} of its rewrites"
    blind = f"{blind}{NOR}{same}" if blind else same
    looked += (
        ". Unchanged words, and words with the same output twice: "
        f"{_count(len(suspects))}{_repeat_note(len(suspects))}. "
        f"A leak of one rewritten word is detected if it occurs in {format_share(leak)} of its rewrites"
    )
    return Check(RELEASED, "tested", f"{looked}.", leak=leak, blind=blind, draws=draws)


def _suspects(first: dict[str, str], second: dict[str, str]) -> list[tuple[str, str]]:
    """Return words with suspicious outputs in one of two rounds, each with its output."""
    out = []
    for word, became in first.items():
        if strip_word(became) == strip_word(word) or became == second.get(word):
            out.append((word, strip_word(became)))
        elif strip_word(second.get(word, "")) == strip_word(word):
            out.append((word, strip_word(word)))
    return out


def _least_likely(
    m: Mechanism, reader: ReleaseReader, hits: Mapping[tuple[str, str], int], tests: int
) -> Witness | None:
    """Return the word whose equal outputs in AGAIN rewrites refute its stated distribution."""
    tails: list[tuple[float, str, str, int, float]] = []
    for (word, became), n in hits.items():
        if n >= AGAIN // 3:  # fewer refute no distribution
            d = reader.stated(m.prepare(word), 0)
            at = None if d is None else reader.places(d).get(became)
            p = 0.0 if d is None or at is None else float(bounds(d)[at].sum())
            tails.append((too_many(n, np.full(AGAIN, p)), word, became, n, p))
    if not tails or min(tails)[0] * tests >= LEVEL:
        return None
    _, word, became, n, p = min(tails)
    message = (
        f"“{word}” became “{became}” in {n} of {AGAIN} rewrites at ε = {float(m.config.epsilon):.3g}; its stated "
        f"probability is {p:.2g}."
    )
    log_p = math.log(p) if p else -math.inf
    return Witness(word, word, (became,), math.log(n / AGAIN), log_p, 0.0, kind="sampler", details=message)


def _count(n: int) -> str:
    return f"{n:,}" if n else "none"


def _repeat_note(n: int) -> str:
    return f", rewritten {AGAIN} more times" if n else ""


def _one_word(p: float, level: float) -> float:
    """Return the smallest share of unchanged rewrites of one word that is detected with probability 95%: in one of the
    first two rewrites, and then often enough."""
    from scipy.special import bdtrc

    hits = least_hits(AGAIN, p, level)
    if hits is None:
        return 1.0
    shares = np.linspace(0.0, 1.0, 1001)
    often = bdtrc(hits - 1, AGAIN, np.minimum(1.0, p + (1 - p) * shares))
    enough = shares[(1 - (1 - shares) ** 2) * often >= 0.95]
    return float(enough[0]) if len(enough) else 1.0


def _some_distributions(m: Mechanism, by_word: WordByWord, reader: ReleaseReader, words: Sequence[str]) -> Iterator:
    prepared = m.prepare(" ".join(words[:200]))
    for i in range(len(prepared.document.tokens)):
        if not is_unknown(by_word, prepared, i) and (d := reader.stated(prepared, i)) is not None:
            yield d


def _released_pairs(
    m: Mechanism, by_word: WordByWord, words: Sequence[str], stream: NoiseStream, turn: int, subject: Subject
) -> Iterator[tuple[str, str]]:
    """Yield each word and its output, in texts of many words."""
    for start in range(0, len(words), _TEXT):
        subject.meter.at(0.97)
        prepared = m.prepare(" ".join(words[start : start + _TEXT]))
        result = subject.rewriter.one(m, prepared, noise_of(stream, turn, start))
        yield from _word_pairs(by_word, prepared, result)


def _rewrite_lists(
    m: Mechanism, by_word: WordByWord, words: list[str], stream: NoiseStream, subject: Subject
) -> Iterator[tuple[str, str]]:
    """Yield the same in full lists, as for data sets: in BATCH texts of as many words, or in several lists."""
    lists = -(-len(words) // (_TEXT * BATCH))
    each = -(-len(words) // (lists * BATCH))
    texts = [" ".join((words * 2)[k : k + each]) for k in range(0, len(words), each)]
    for k in range(0, len(texts), BATCH):
        subject.meter.at(0.97)
        # The last one is padded from the beginning.
        some = (texts[k:] + texts * BATCH)[:BATCH]
        results = subject.rewriter.listed(m, some, noise_of(stream, 1, k))
        for text, result in zip(texts[k : k + BATCH], results, strict=False):
            yield from _word_pairs(by_word, m.prepare(text), result)


def _word_pairs(by_word: WordByWord, prepared: Prepared, result: RewriteResult) -> Iterator[tuple[str, str]]:
    for step in result.steps:
        if step.action in ("replace", "keep") and not is_unknown(by_word, prepared, step.index):
            yield step.original, step.replacement
