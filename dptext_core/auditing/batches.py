"""Test the texts of one call: each position of the batch, and whether two texts share their noise.

The rest of the program rewrites rows in lists of BATCH texts (``records``). Here such lists are rewritten with a small
ε. At each position of the list, words may be unchanged only as often as stated. The samples for one text must also be
independent of those for another, in this call or in the next. So for each two of these rewrites, words at the same
place may have the same candidate, or similar quantiles, only as often as independent draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..mechanisms.base import BATCH, Mechanism, Prepared
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from .checks import Subject
from .guesses import guess, is_guessable, pick, success_bound
from .release_statistics import (
    LEVEL,
    ObservedDraw,
    ReleaseReader,
    bounds,
    drawn_words,
    has_alignment,
    least_hits,
    least_share,
    new_instance,
    noise_of,
    once_in,
    public_words,
    too_many,
    with_small_epsilon,
)
from .report import NOR, Check, Witness, format_share

NAME = "texts in one call"
#: Number of lists, of words per text, and of different texts per list; fewer words if draws need a model.
CALLS, WORDS, MODEL_WORDS, DIFFERENT = 3, 12, 5, 3
#: Number of lists if only whole texts can be guessed.
GUESSED = 6
#: Two draws are similar if the circular distance of their uniforms is at most this.
NEAR = 0.02


def in_batches(subject: Subject) -> Check | None:
    """Test each position of a list of BATCH texts, and each two of its texts."""
    m = with_small_epsilon(subject.m)
    stream = subject.stream.at(NAME)
    if has_alignment(m) or "distribution" in m.can:
        return _by_chances(subject, m, stream)
    texts = _whole_texts(m, stream)
    return _by_guesses(subject, m, texts, stream) if is_guessable(m, texts) else None


def texts_of(words: Sequence[str], n: int) -> list[str]:
    """Return texts of n words each."""
    return [" ".join(words[k : k + n]) for k in range(0, len(words) - n + 1, n)]


def _whole_texts(m: Mechanism, stream: NoiseStream) -> list[str]:
    return texts_of(public_words(m, 6 * BATCH, stream.at("words")), 6)


def _rewrite_batch(
    subject: Subject, m: Mechanism, texts: Sequence[str], stream: NoiseStream, call: int, other: bool = False
) -> list[RewriteResult]:
    """Return rewrites of a list as in ``rewrite_records``: by ``rewrite_each`` if texts share draws, else by
    ``rewrite``. other: by the other method."""
    noise = noise_of(stream, call).numbered(range(call * len(texts), (call + 1) * len(texts)))
    return (subject.rewriter.each if other != m.shares_draws else subject.rewriter.listed)(m, texts, noise)


def _two_ways(m: Mechanism) -> bool:
    """Return whether the two ways to rewrite a list may differ. If they are one function and a rewrite needs a model
    pass, one test suffices."""
    cls = type(m)
    ways = (cls.rewrite, cls.rewrite_each, cls.rewrite_one_by_one)
    return m.by_word is not None or ways != (Mechanism.rewrite, Mechanism.rewrite_each, Mechanism.rewrite_one_by_one)


def _by_chances(subject: Subject, m: Mechanism, stream: NoiseStream) -> Check | None:
    meter = subject.meter
    each = WORDS if m.by_word is not None else MODEL_WORDS
    given = [p.word for p in subject.probes]
    if has_alignment(m):
        words = drawn_words(m, given, DIFFERENT * each, stream.at("words"), meter)
    else:
        words = public_words(m, DIFFERENT * each, stream.at("words"))
    if len(words) < 2:
        return None
    words = (words * each * DIFFERENT)[: DIFFERENT * each]
    texts = texts_of(words, each)
    stated = new_instance(m)
    reader = ReleaseReader(stated, meter)
    prepared: dict[str, Prepared] = {t: stated.prepare(t, task=meter.task) for t in texts}
    rows: list[_Row] = []
    calls = CALLS + _two_ways(m)
    for call in range(calls):
        shift = call * (BATCH // CALLS) % BATCH
        batch = [texts[((i + shift) % BATCH) * DIFFERENT // BATCH] for i in range(BATCH)]
        results = _rewrite_batch(subject, m, batch, stream, call, other=call == CALLS)
        if not m.shares_draws and len({r.noise_id for r in results}) < BATCH:
            message = f"Some of the {BATCH} texts of one call have the same noise ID."
            return _refuted_check(
                "texts of one call share noise that should be separate.", texts[0], message
            )
        for i, result in enumerate(results):
            rows.append(_Row(call, i, result, reader.read(prepared[result.original], result)))
    draws = sum(len(r.seen) for r in rows)
    if not draws:
        return None
    return _judge(rows, m, stream.at("jitter"), draws, calls)


@dataclass(frozen=True)
class _Row:
    call: int
    place: int
    result: RewriteResult
    seen: list[ObservedDraw]


def _refuted_check(reason: str, text: str, details: str = "") -> Check:
    witness = Witness.of_rule(details or f"Observed for “{text}”.", text, kind="release")
    return Check(NAME, "refuted", f"Lists of {BATCH} texts.", reason, witness)


def _judge(rows: list[_Row], m: Mechanism, stream: NoiseStream, draws: int, calls: int) -> Check:
    epsilon = float(m.config.epsilon)
    # --- each position of the list
    places = [[s for r in rows if r.place == i for s in r.seen] for i in range(BATCH)]
    groups = {_place(i): observed for i, observed in enumerate(places)} | {"all places": [s for p in places for s in p]}
    pairs = _pairs(rows, m, stream)
    tests = len(groups) + sum(len(p) for p, _ in pairs)
    looked = f"{len(rows)} texts in lists of {BATCH}, as for data sets, at ε = {epsilon:.3g}"
    for name, observed in groups.items():
        if not observed:
            continue
        hits, chances = sum(s.hit for s in observed), np.array([s.chance for s in observed])
        if too_many(hits, chances) * tests < LEVEL:
            one = next(r for r in rows if any(s.hit for s in r.seen) and name in ("all places", _place(r.place)))
            message = (
                f"In lists of {BATCH} texts, {hits} of {len(observed)} words at {name} were unchanged, but "
                f"{chances.sum():.2g} were expected (ε = {epsilon:.3g}). “{one.result.original}” became "
                f"“{one.result.text}”."
            )
            witness = Witness.of_rule(message, one.result.original)
            reason = "rewrites in one call leave words unchanged more often than stated."
            return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=draws)
    for p_value, description in pairs:
        worst = min(p_value, key=lambda k: p_value[k], default=None)
        if worst is not None and p_value[worst] * tests < LEVEL:
            a, b = (rows[k] for k in worst)
            where = "one call" if a.call == b.call else "two calls"
            message = (
                f"In {where}, texts {a.place + 1} and {b.place + 1} share noise (p = {p_value[worst]:.1g} for "
                f"independent draws, ε = {epsilon:.3g}). {description}."
            )
            witness = Witness.of_rule(message, a.result.original, b.result.original)
            reason = "two texts share their noise, so one reveals something about the other."
            return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=draws)
    each = max(1, min((len(p) for p in places), default=1))
    mean = float(np.mean([s.chance for p in places for s in p]))
    enough = least_hits(each, mean, LEVEL / tests)
    one_text = enough is not None and enough <= each // calls
    leak = once_in(CALLS) if one_text else least_share(each, mean, LEVEL / tests)
    everywhere = least_share(draws, mean, LEVEL / tests) or 1.0
    looked += (
        f". A leak in one place is detected if it affects {format_share(leak or 1.0)} of its texts. A leak in all "
        f"places is detected if it affects {format_share(everywhere)} of the words. The draws of each pair of texts "
        "at the same place are tested for similar and mirrored quantiles"
    )
    blind = f"a leak in one of the {BATCH} places of a call in fewer than {format_share(leak or 1.0)} of the calls"
    blind += f"{NOR}noise that texts share at different places, or a leak only in longer lists"
    return Check(NAME, "tested", f"{looked}.", leak=leak or 1.0, blind=blind, draws=draws)


def _place(i: int) -> str:
    return f"place {i + 1} of {BATCH}"


def _draw_table(rows: list[_Row], stream: NoiseStream) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the candidate, its quantile and the number of its distribution for each rewrite and place, (n, w) each.

    Also returns the probability that each other rewrite has the same candidate, (n, n, w). None if nothing was sampled.
    """
    known = [{s.place: s for s in r.seen} for r in rows]
    at_all = sorted({p for k in known for p in k})
    n, w = len(rows), len(at_all)
    if not w:
        return None
    drawn = np.full((n, w), -1, np.int64)
    lies = np.full((n, w), np.nan)
    number = np.full((n, w), -1, np.int64)
    chances: dict[int, np.ndarray] = {}
    sums: dict[int, np.ndarray] = {}
    numbers: dict[int, int] = {}
    jitter = stream.uniforms(n * w).reshape(n, w)
    for a, k in enumerate(known):
        for j, p in enumerate(at_all):
            s = k.get(p)
            if s is None or s.at is None:
                continue
            name = numbers.setdefault(id(s.d), len(numbers))
            if name not in chances:
                chances[name] = bounds(s.d)
                sums[name] = np.cumsum(s.d.probs) - s.d.probs
            drawn[a, j], number[a, j] = s.at, name
            if s.d.draws is None:
                lies[a, j] = sums[name][s.at] + jitter[a, j] * s.d.probs[s.at]
    expected = np.zeros((n, n, w))
    for j in range(w):
        for name in np.unique(number[number[:, j] >= 0, j]):
            these = number[:, j] == name
            size = len(chances[name])
            inside = np.where((drawn[:, j] >= 0) & (drawn[:, j] < size), drawn[:, j], 0)
            same = np.where((drawn[:, j] >= 0) & (drawn[:, j] < size), chances[name][inside], 0.0)
            expected[:, these, j] = same[:, None]
    return drawn, lies, number, expected


def _pairs(rows: list[_Row], m: Mechanism, stream: NoiseStream) -> list[tuple[dict[tuple[int, int], float], str]]:
    """Return p-values for equal candidates and similar quantiles at the same place of each two rewrites. Also over all
    rewrites at the same distance, named by the last two."""
    table = _draw_table(rows, stream)
    if table is None:
        return []
    drawn, lies, number, expected = table
    n = len(rows)
    valid = (drawn[:, None] >= 0) & (drawn[None] >= 0)
    if m.shares_draws:  # a word is sampled once for all texts of a call: other words are compared
        calls = np.array([r.call for r in rows])
        same_word = number[:, None] == number[None]
        valid &= ~(same_word & (calls[:, None] == calls[None])[:, :, None])
    expected[~valid] = 0.0
    hits = (drawn[:, None] == drawn[None]) & valid
    apart = np.abs(lies[:, None] - lies[None])
    exact = valid & np.isfinite(apart)
    near = (np.minimum(apart, 1 - apart) <= NEAR) & exact
    alike = np.where(exact, 2 * NEAR, 0.0)
    total = np.abs(lies[:, None] + lies[None] - 1) % 1
    mirrored = (np.minimum(total, 1 - total) <= NEAR) & exact
    out = []
    for p_value, chance, description in (
        (hits, expected, "Words at the same place are the same candidate too often"),
        (near, alike, "Draws at the same place have similar quantiles too often"),
        (mirrored, alike, "Draws at the same place have mirrored quantiles too often"),
    ):
        upper = np.triu_indices(n, 1)
        p = too_many(p_value.sum(axis=2)[upper], chance[upper])
        tests = {(int(a), int(b)): float(v) for a, b, v in zip(*upper, p, strict=True)}
        out.append((tests, description))
        lags = {}
        # Texts that share draws on purpose repeat one coincidence many times.
        for lag in range(1, n) if not m.shares_draws else ():
            at = np.arange(n - lag)
            value = too_many(int(p_value[at, at + lag].sum()), chance[at, at + lag].ravel())
            lags[n - lag - 1, n - 1] = float(value)
        out.append((lags, f"{description}, over all pairs of texts at this distance"))
    return out


def _by_guesses(subject: Subject, m: Mechanism, texts: Sequence[str], stream: NoiseStream) -> Check:
    p, n = success_bound(m, texts), GUESSED
    hits = np.zeros((n, BATCH), bool)
    for call in range(n):
        order = pick(BATCH, len(texts), stream.at("order", call))
        results = _rewrite_batch(subject, m, [texts[k] for k in order], stream, call)
        subject.meter.at(0.95)
        for i, (k, result) in enumerate(zip(order, results, strict=True)):
            hits[call, i] = guess(texts, result, stream.at("guess", call, i)) == k
    epsilon = float(m.config.epsilon)
    looked = f"{n * BATCH} texts in lists of {BATCH}, as for data sets, at ε = {epsilon:.3g}"
    tests = BATCH + 1
    for i in range(-1, BATCH):
        mine = hits if i < 0 else hits[:, i]
        if too_many(int(mine.sum()), np.full(mine.size, p)) * tests < LEVEL:
            where = "all places" if i < 0 else f"place {i + 1}"
            message = (
                f"In lists of {BATCH} texts, the words of a rewrite at {where} identified the original text in "
                f"{int(mine.sum())} of {mine.size} guesses. The guarantee allows {p:.1%} (ε = {epsilon:.3g})."
            )
            witness = Witness.of_rule(message, texts[0], texts[1])
            reason = "texts rewritten in one call are recognised more often than the guarantee allows."
            return Check(NAME, "refuted", f"{looked}.", reason, witness, draws=hits.size)
    leak = least_share(n, p, LEVEL / tests) or 1.0
    everywhere = least_share(hits.size, p, LEVEL / tests) or 1.0
    looked += (
        f". A leak in one place is detected if {format_share(leak)} of its texts are recognised. A leak in all places "
        f"is detected if {format_share(everywhere)} of all texts are recognised"
    )
    blind = f"a leak in one of the {BATCH} places of a call in fewer than {format_share(leak)} of the calls"
    return Check(NAME, "tested", f"{looked}.", leak=leak, blind=blind, draws=hits.size)
