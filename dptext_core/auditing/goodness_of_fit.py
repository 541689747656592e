"""Test whole texts, from every entry point, against the stated distributions.

Texts have several words, repeated words, marks and emoji. They are rewritten by :meth:`rewrite` of a text, of a
prepared text and of a list, and by :meth:`rewrites`. The tests are:

* A word that should be sampled is sampled, and a word that should be kept is unchanged. The guarantee of a result is no
  stronger than that of its text.
* The released text follows from the kept tokens, the gaps and the released words (``skeleton``) alone.
* The words at each place, including inserted ones, have the stated distribution (chi-square and exact binomial tails).
  They are unchanged, deleted or followed by an added word as often as stated.
* Equal words of a text share a draw if the unit of the guarantee says so. Different places, and different calls, have
  independent noise.
* If the guarantee counts words one by one, the stated distribution of a word does not depend on its context.

If the worst fit has a probability below one in a hundred (corrected for the number of comparisons), it is repeated with
six times as many fresh draws. These refute if their probability is below SAMPLER_LEVEL. Leaks are most visible if
almost every word is replaced, so the mechanism is also tested with a small ε.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import public_context, require_alignment
from ..privacy.distribution import TokenDistribution
from ..privacy.guarantee import Guarantee
from ..privacy.numbers import number
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult, Step
from .checks import Seeds
from .fit_statistics import (
    AGAIN,
    Counts,
    Fit,
    StatedText,
    describe_fit,
    fits_of,
    middles_of,
    render_outputs,
    smallest_leak,
)
from .inputs import Meter, Probe
from .release_statistics import with_small_epsilon
from .report import Witness
from .rewriting import FRESH as FRESH_DRAWS
from .rewriting import LIST, PREPARED, TEXT, Rewriter
from .rules import ELSE, Breach, flat

#: Number of rewrites of each text by ``rewrites``, and by each of the slower entry points.
FRESH, OTHERS = 500, 24
#: Maximum number of the caller's texts and words that are rewritten.
MOST_TEXTS, MOST_WORDS = 20, 200
#: Factor for the number of rewrites at a small ε.
LOW = 3
#: The same numbers if each rewrite, or each draw, needs model passes.
FEW = 12
#: Draws refute if their p-value, over all comparisons together, is below this.
SAMPLER_LEVEL = 1e-6
MORE = 6
WORDS = 5
WAYS = (TEXT, PREPARED, LIST, FRESH_DRAWS)


@dataclass
class ReleaseFindings:
    """Results from the releases. p: the smallest corrected p-value. breach: a violated rule. leak, leak_fresh: the
    smallest detectable share of wrongly unchanged words, for each entry point and in fresh draws, at leak_epsilon.
    each: rewrites of every probed input.
    """

    draws: int = 0
    texts: int = 0
    each: int = 0
    p: float | None = None
    breach: Witness | None = None
    reason: str = ""
    leak: float | None = None
    leak_fresh: float | None = None
    leak_epsilon: float | None = None


def check_releases(
    m: Mechanism,
    probes: Sequence[Probe],
    count: int,
    stream: NoiseStream,
    meter: Meter,
    rewriter: Rewriter,
) -> ReleaseFindings:
    """Compare rewrites of texts with the probed words, and of the probed texts, with the stated distributions."""
    out = ReleaseFindings()
    try:
        _check(out, m, probes, count, Seeds(stream), meter, rewriter)
    except Breach as breach:
        out.breach, out.reason = breach.witness, breach.reason
    return out


def _check(
    out: ReleaseFindings,
    m: Mechanism,
    probes: Sequence[Probe],
    count: int,
    seeds: Seeds,
    meter: Meter,
    rewriter: Rewriter,
) -> None:
    estimated = any(p.d.draws is not None for p in probes)
    texts = [t for t in _texts(m, probes, count, seeds, meter, rewriter) if t.stated]
    if not texts:
        return
    forms = texts[0].forms
    for text in texts:
        _check_independence(text, probes, estimated)
    _same_name(texts[0], seeds, rewriter)
    low = m if estimated or texts[0].per_draw else with_small_epsilon(m)
    if low is not m:
        ways = texts[0].ways | {"fresh draws": LOW * count}
        seldom = _prepare(low, texts[0].text, ways, seeds, meter, rewriter)
        texts += [seldom] if seldom.stated else []
    for text in texts:
        text.forms = forms
    fits: list[Fit] = []
    work = [(text, way, n) for text in texts for way, n in text.ways.items()]
    for k, (text, way, n) in enumerate(work):
        meter.at(0.8 + 0.15 * k / len(work))
        fits += _look(text, way, n, seeds, rewriter, out)
    out.texts, out.each = len(texts), min((t.ways["fresh draws"] for t in texts), default=0)
    if not (estimated or texts[0].per_draw):
        leaks = {way: smallest_leak(texts[-1], texts[-1].ways.get(way, 0), len(fits)) for way in WAYS}
        known = [leak for leak in leaks.values() if leak is not None]
        if len(known) == len(WAYS):
            out.leak, out.leak_fresh = max(known), leaks["fresh draws"]
            out.leak_epsilon = float(texts[-1].m.config.epsilon)
    if not fits:
        return
    worst = min(fits, key=lambda f: f.p)
    out.p = min(1.0, worst.p * len(fits))
    if out.p < AGAIN:
        meter.at(0.97)
        again = _look(worst.text, worst.way, MORE * worst.text.ways[worst.way], seeds, rewriter, out)
        out.p = min((f.p for f in again if f.key == worst.key), default=1.0)
        worst = next((f for f in again if f.key == worst.key), worst)
    if out.p < SAMPLER_LEVEL:
        out.breach, out.reason = (
            describe_fit(worst, m),
            ("releases do not follow the stated distribution, so a guarantee computed from it does not hold."),
        )


# --- texts


def _texts(
    m: Mechanism, probes: Sequence[Probe], count: int, seeds: Seeds, meter: Meter, rewriter: Rewriter
) -> list[StatedText]:
    """Return some of the words between marks, quotes, emoji, line ends, unknown and kept words, in each case of
    letters; a few words, repeated; and all of the probed words, or texts."""
    given = list(dict.fromkeys(p.prepared.text for p in probes if p.at is not None))[:MOST_TEXTS]
    words = [p.word for p in probes if p.word.isalpha() and p.at is None] or [
        p.word for p in probes if p.word.isalpha()
    ]
    words = list(dict.fromkeys(words))
    every = {"fresh draws": every_input(count)}
    # A text that a model must read is expensive in all entry points but the last.
    ways = dict.fromkeys(WAYS, FEW if m.by_word is None else OTHERS) | {"fresh draws": count}
    out = []
    if words:
        some = [words[i] for i in np.unique(np.linspace(0, len(words) - 1, WORDS).astype(int))]
        a, b, c, d, e = (some * WORDS)[:WORDS]
        hostile = f'❤️{a} {b.title()}! {c}, "{d}" ({e})\n{a.upper()}… 👩‍👩‍👧{b} — {c}\'s Grzybowski, 1987: the {d}.'
        out.append(_prepare(m, hostile, ways, seeds, meter, rewriter))
        if not given:
            out.append(_prepare(m, f"{a} {a} {b} {a} {b} {c} {d} {e}", ways, seeds, meter, rewriter))
            if len(words) > WORDS:
                out.append(_prepare(m, " ".join(words[:MOST_WORDS]), every, seeds, meter, rewriter))
    out += [
        _prepare(m, text, every if words else ways, seeds, meter, rewriter)
        for text in given or [probes[0].text] * (not words)
    ]
    return out


def every_input(count: int) -> int:
    """Return how often each input is rewritten if some texts are rewritten ``count`` times."""
    return max(50, count // 8)


def _prepare(
    m: Mechanism, text: str, ways: dict[str, int], seeds: Seeds, meter: Meter, rewriter: Rewriter
) -> StatedText:
    prepared = m.prepare(text, task=meter.task)
    stated: dict[int, TokenDistribution] = {}
    for i in range(len(prepared.document.tokens)):
        try:
            stated[i] = m.distribution(prepared, i)
        except NoDistribution:
            continue
    out = StatedText(m, text, prepared, prepared.document, stated, m.guarantee(prepared), ways)
    if stated and _differs_by_draw(out, seeds, rewriter):
        out.per_draw, out.ways = True, dict.fromkeys(ways, FEW)
    return out


def _differs_by_draw(text: StatedText, seeds: Seeds, rewriter: Rewriter) -> bool:
    """Return whether the distribution of a word depends on the words released before it, so that each draw has its
    own."""
    result = rewriter.one(text.m, text.prepared, seeds())
    for k, step in enumerate(result.steps):
        if step.action != "replace" or step.index not in text.stated:
            continue
        d, given = result.distribution(k), text.stated[step.index]
        if d.draws is None and (len(d) != len(given) or not _nearly_equal(d.log_probs, given.log_probs, 1e-6)):
            return True
    return False


def _nearly_equal(a: np.ndarray, b: np.ndarray, error: float) -> bool:
    """Return whether two vectors of log-probabilities are equal up to rounding."""
    finite = np.isfinite(a)
    return np.array_equal(finite, np.isfinite(b)) and bool(np.allclose(a[finite], b[finite], rtol=error, atol=error))


def _same_name(text: StatedText, seeds: Seeds, rewriter: Rewriter) -> None:
    """Check that the name of the noise does not depend on the text: with one seed, it is the same for every text."""
    seed = seeds() or 1
    other = rewriter.one(text.m, "the " + text.text, seed)
    if rewriter.one(text.m, text.text, seed).noise_id != other.noise_id:
        message = "With the same seed, two texts have different noise IDs, so the ID reveals something about the text."
        raise Breach(text.text, message, "the noise ID, which is released, depends on the text.")


# --- rewrites, one entry point after the other


def _independent_rewrites(
    text: StatedText, way: str, n: int, seeds: Seeds, rewriter: Rewriter
) -> Iterator[RewriteResult]:
    """Return rewrites with independent noise: the first of those of one call that share noise."""
    m = text.m
    names: set[str] = set()
    most = 500
    while len(names) < n:
        size = min(most, n - len(names))
        if way == FRESH_DRAWS:
            results = rewriter.fresh(m, text.prepared, size, seeds())
        elif way == LIST:
            results = rewriter.listed(m, [text.text] * size, seeds())
        else:
            results = [rewriter.one(m, text.text if way == TEXT else text.prepared, seeds())]
        fresh = {r.noise_id: r for r in reversed(results) if r.noise_id not in names}
        if not fresh:
            message = f"Two rewrites (entry point: {way}) have the same noise ID, so their noise is not fresh."
            raise Breach(text.text, message, "the noise is the same in every call, so it protects nothing.")
        if len(fresh) < len(results) and most > 2:  # a word is sampled once for a whole list: one rewrite per call
            most, n = 2, min(n, 2 * OTHERS)
        names |= fresh.keys()
        for result in fresh.values():
            rewriter.task.check()
            yield result


def _look(text: StatedText, way: str, n: int, seeds: Seeds, rewriter: Rewriter, out: ReleaseFindings) -> list[Fit]:
    """Return the fits of n rewrites of one text through one entry point. Raises Breach."""
    tokens, first = text.document.tokens, text.first
    counts = Counts()
    inserted: dict[int, TokenDistribution] = {}
    shapes: dict[int, str] = {}
    middles = middles_of(text, n)
    for result in _independent_rewrites(text, way, n, seeds, rewriter):
        steps = {s.index: s for s in result.steps if s.action != "insert"}
        _follows(text, way, result, steps, shapes)
        counts.n += 1
        deleted = frozenset(i for i, s in steps.items() if s.action == "delete")
        place = np.full(len(text.stated), np.nan)
        for k, step in enumerate(result.steps):
            i = step.index
            if step.action == "delete" and i in text.stated:
                counts.deleted[i] = counts.deleted.get(i, 0) + 1
            if step.action not in ("replace", "insert") or i not in text.stated:
                continue
            insert = step.action == "insert"
            if insert:
                counts.added[i] = counts.added.get(i, 0) + 1
            capital = text.capital(i, deleted) if not insert else None if text.capital(i, deleted) is None else False
            if text.per_draw:
                d = result.distribution(k)
            elif insert:
                d = inserted[i] if i in inserted else inserted.setdefault(i, result.distribution(k))
            else:
                d = text.stated[i]
            at = render_outputs(text, d, capital).first.get(step.replacement)
            if at is None:
                raise _impossible(text, way, i, d, step.replacement, capital)
            if text.per_draw:
                counts.unchanged += text.bare_word(step.replacement) == text.bare_word(tokens[i].text)
                counts.expected += text.stays(d, tokens[i].text)
                counts.samples += 1
            else:
                outputs = counts.words.setdefault((i, capital, insert), {})
                outputs[step.replacement] = outputs.get(step.replacement, 0) + 1
                if not insert and i in middles:
                    place[middles[i][0]] = middles[i][1][at]
            out.draws += 1
        if middles:
            counts.places.append(place)
        for i, a in first.items():
            if a == i or not steps[a].action == steps[i].action == "replace":
                continue
            alike = text.bare_word(steps[a].replacement) == text.bare_word(steps[i].replacement)
            counts.both[a, i] = counts.both.get((a, i), 0) + 1
            counts.equal[a, i] = counts.equal.get((a, i), 0) + alike
            if text.once and not alike:
                message = (
                    f"“{tokens[a].text}” occurs twice in “{flat(text.text)}” and became “{steps[a].replacement}” and "
                    f"“{steps[i].replacement}”."
                )
                raise Breach(
                    text.text, message, "equal words are sampled separately, but the guarantee counts them once."
                )
    return fits_of(text, way, counts, inserted, middles)


def _impossible(text: StatedText, way: str, i: int, d: TokenDistribution, word: str, capital: bool | None) -> Breach:
    rule = next((w for w in render_outputs(text, d, capital).first if text.bare_word(w) == text.bare_word(word)), None)
    why = (
        f"the correct spelling is “{rule}”, because capital letters depend only on the place."
        if rule is not None
        else f"it is none of the {len(d):,} words that are stated to be possible there."
    )
    token = text.document.tokens[i].text
    message = f"“{word}” was released for “{token}” in “{flat(text.text)}” (entry point: {way}): {why}"
    return Breach(text.text, message, "a release is impossible under the stated distribution.", token)


def _follows(text: StatedText, way: str, result: RewriteResult, steps: dict[int, Step], shapes: dict[int, str]) -> None:
    """Raise Breach if a release does not follow from its released words, kept tokens and gaps. shapes: the releases of
    the kept tokens, which are the same in every rewrite.
    """
    tokens = text.document.tokens
    reason = f"a rewrite (entry point: {way}) {ELSE}"
    where = f"in “{flat(text.text)}” (entry point: {way})"
    after = {s.index for s in result.steps if s.action == "insert"}
    words = require_alignment(text.m)
    may_add, may_delete = words.insertion_probability > 0, words.deletion_probability > 0
    for i, token in enumerate(tokens):
        if (step := steps.get(i)) is None:
            break  # follow_steps reports this
        name = f"“{token.text}” {where}"
        if i in text.stated:
            if step.action == "keep":
                raise Breach(text.text, f"{name} should be sampled, but was unchanged without a draw.", reason)
            if step.action == "delete" and not may_delete:
                raise Breach(text.text, f"{name} should be sampled, but was deleted.", reason)
        elif step.action == "replace" or step.action != shapes.setdefault(i, step.action):
            raise Breach(
                text.text, f"{name} should be unchanged, but “{step.replacement}” was released for it.", reason
            )
        if i in after and not (may_add and i in text.stated):
            raise Breach(text.text, f"After {name}, a word without a stated distribution was added.", reason)
    told_of = result.guarantee
    spent = sum(s.epsilon for s in result.steps)
    if spent > told_of.total * (1 + 1e-9) or _guarantees_more(told_of, text.guarantee):
        message = (
            f"A rewrite of “{flat(text.text)}” states a total of {number(told_of.total)}, its words spend "
            f"{number(spent)}, and the guarantee of the text says {number(text.guarantee.total)}."
        )
        raise Breach(text.text, message, "the guarantee of a result is stronger than that of its text.")


def _guarantees_more(result: Guarantee, text: Guarantee) -> bool:
    """Return whether a result's guarantee states less ε or another notion, or omits something."""
    less = result.total < text.total * (1 - 1e-9) or result.epsilon < text.epsilon * (1 - 1e-9)
    other = (result.notion, result.unit, result.adjacency, result.metric, result.group) != (
        text.notion,
        text.unit,
        text.adjacency,
        text.metric,
        text.group,
    )
    return less or other or result.delta < text.delta or not set(text.exposed) <= set(result.exposed)


# --- the context of a word


def _check_independence(text: StatedText, probes: Sequence[Probe], estimated: bool) -> None:
    """Raise Breach if the guarantee counts words one by one, but a word's stated distribution depends on other private
    words."""
    if text.guarantee.notion not in ("metric", "group") or estimated:
        return
    known: dict[tuple[str, Hashable], tuple[TokenDistribution, str]] = {}
    for p in probes:
        known.setdefault((p.word.casefold(), public_context(text.m, p.prepared, p.index)), (p.d, p.text))
    for i, d in text.stated.items():
        word = text.document.tokens[i].text
        context = public_context(text.m, text.prepared, i)
        other, where = known.setdefault((word.casefold(), context), (d, text.text))
        if other is d or _same_distribution(other, d):
            continue
        message = f"“{word}” has different distributions in “{where}” and in “{flat(text.text)}”."
        reason = "a replacement depends on the surrounding words, which the guarantee does not state."
        raise Breach(text.text, message, reason, word)


def _same_distribution(a: TokenDistribution, b: TokenDistribution) -> bool:
    if a.candidates is not b.candidates and list(a.candidates) != list(b.candidates):
        return False
    return _nearly_equal(a.log_probs, b.log_probs, 1e-9)
