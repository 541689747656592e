"""What a rewrite releases, against what the mechanism states: whole texts, in every way in which one can be had.

Formulas say what should come out. Here rewrites are made, of texts with several words, repeated ones, marks and emoji
around them, by :meth:`rewrite` of a text, of a prepared text and of a list, and by :meth:`rewrites`, and are held
against the stated distributions:

* a word that is stated to be drawn is drawn, a word that is stated to be kept stays;
* the released text is what the kept tokens, the gaps and the released words give (``skeleton``), and nothing else;
* the words of each place have the stated distribution (chi-square and exact binomial tails), as often as they stay
  what they were does not differ from the stated chance, and equal words of a text are drawn together or apart as the
  unit of the promise says;
* where the promise counts words one by one, the stated distribution of a word does not depend on what stands around it.

A fit that is worse than one in a hundred (corrected for the number of comparisons) is looked at again with fresh draws,
six times as many; it refutes where those have a chance below SAMPLER_LEVEL. Leaks show best where a word hardly ever
stays: the same mechanism is looked at with a small ε too.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..distribution import TokenDistribution
from ..document import Document
from ..errors import NoDistribution
from ..guarantee import Guarantee
from ..mechanisms.base import Mechanism, Prepared, RewriteResult, Step
from ..mechanisms.config import MIN_EPSILON
from ..sampling import Dice
from ..skeleton import Edit, Skeleton, sentence_case
from .inputs import Meter, Probe
from .report import Witness, chance
from .sampled import misfit, two_samples

#: Rewrites of each text by ``rewrites``, and by each of the other ways, which are slower.
FRESH, OTHERS = 500, 24
#: Rewrites at a small ε are so many times as many as at that of the mechanism.
LOW = 3
#: Rewrites of a mechanism whose every draw needs a pass of a model.
FEW = 12
#: Draws are refuted where they have a smaller chance than this, over all comparisons together; and where they are
#: looked at again.
SAMPLER_LEVEL, AGAIN = 1e-6, 1e-2
MORE = 6
WORDS = 5
WAYS = ("a text", "a prepared text", "a list of texts", "fresh draws")


@dataclass
class Tested:
    """What the releases showed. p: the smallest chance of what was drawn, corrected. breach: a rule that was broken."""

    draws: int = 0
    texts: int = 0
    comparisons: int = 0
    p: float | None = None
    breach: Witness | None = None
    reason: str = ""
    leak: float | None = None
    leak_epsilon: float | None = None


@dataclass
class _Text:
    """A text with what is stated of it. stated: the distribution of each drawn token, None where it differs by draw."""

    m: Mechanism
    text: str
    prepared: Prepared
    document: Document
    stated: dict[int, TokenDistribution]
    per_draw: bool = False
    written: dict[tuple, _Written] = field(default_factory=dict)
    _bare: dict[int, tuple[np.ndarray, dict[str, int]]] = field(default_factory=dict)

    @cached_property
    def skeleton(self) -> Skeleton:
        """What is stated to stay."""
        return self.document.skeleton([i in self.stated for i in range(len(self.document.tokens))])

    def bare(self, candidates: Sequence[str]) -> tuple[np.ndarray, dict[str, int]]:
        """For each output a number, the same for those that differ in case only; and the number of each bare word."""
        if id(candidates) not in self._bare:
            at: dict[str, int] = {}
            self._bare[id(candidates)] = np.array([at.setdefault(_bare(c), len(at)) for c in candidates]), at
        return self._bare[id(candidates)]

    def stays(self, d: TokenDistribution, word: str) -> float:
        """The stated chance of an output that differs from the word in case at most."""
        numbers, at = self.bare(d.candidates)
        return float(d.probs[numbers == at.get(_bare(word), -1)].sum())

    def capital(self, i: int, deleted: frozenset[int]) -> bool | None:
        """Whether a word released at token i has a capital by the public rule; None where words stay as they are."""
        rule = getattr(self.m.config, "recase", "none")
        if rule == "original":
            return self.document.tokens[i].text[:1].isupper()
        return None if rule == "none" else self.skeleton.starts(deleted)[i]


@dataclass
class _Fit:
    """One comparison: its chance, and how to look again with fresh draws."""

    p: float
    text: _Text
    way: str
    place: int
    output: str
    share: float
    log_p: float
    kind: str


def check_releases(
    m: Mechanism, promise: Guarantee, probes: Sequence[Probe], count: int, dice: Dice, meter: Meter
) -> Tested:
    """Rewrites of texts made of the probed words (or of the first probed text), against what is stated of them."""
    out = Tested()
    seeds = _Seeds(dice)
    estimated = any(p.d.draws is not None for p in probes)
    texts = [t for t in _texts(m, probes, seeds, meter) if t.stated]
    for text in texts:
        if (around := _alone(text, promise, probes, estimated)) is not None:
            out.breach, out.reason = around
            return out
    fits: list[_Fit] = []
    for k, text in enumerate(texts):
        for way in WAYS:
            meter.at(0.8 + 0.14 * (k + WAYS.index(way) / len(WAYS)) / len(texts))
            n = (FEW if text.per_draw else count) if way == "fresh draws" else (FEW if text.per_draw else OTHERS)
            found = _look(text, way, n, promise, seeds, meter, out)
            if out.breach is not None:
                return out
            fits += found
    low = _small(m) if texts and not (estimated or texts[0].per_draw) else None
    if low is not None:
        text = _prepare(low, texts[-1].text, seeds, meter)
        if text.stated and not text.per_draw:
            meter.at(0.95)
            fits += _look(text, "fresh draws", LOW * count, promise, seeds, meter, out)
            if out.breach is not None:
                return out
            out.leak, out.leak_epsilon = _leak(text, LOW * count), float(low.config.epsilon)
    if texts and not (estimated or texts[0].per_draw):
        here = _leak(texts[-1], count)
        if out.leak is None or (here is not None and here < out.leak):
            out.leak, out.leak_epsilon = here, float(m.config.epsilon)
    out.texts, out.comparisons = len(texts), len(fits)
    if not fits:
        return out
    worst = min(fits, key=lambda f: f.p)
    out.p = min(1.0, worst.p * len(fits))
    if SAMPLER_LEVEL <= out.p < AGAIN:
        meter.at(0.97)
        n = MORE * (LOW * count if worst.text.m is low else count) if worst.way == "fresh draws" else MORE * OTHERS
        again = _look(worst.text, worst.way, n, promise, seeds, meter, out)
        same = [f for f in again if (f.place, f.kind) == (worst.place, worst.kind)]
        if out.breach is None and same:
            worst, out.p = same[0], same[0].p
    if out.breach is None and out.p < SAMPLER_LEVEL:
        out.breach, out.reason = _told(worst, m), (
            "what is released does not follow the distribution that the mechanism states, so that no promise computed "
            "from that distribution is kept."
        )  # fmt: skip
    return out


# --- texts


def _texts(m: Mechanism, probes: Sequence[Probe], seeds: _Seeds, meter: Meter) -> list[_Text]:
    """A plain text with a repeated word, and one with marks, quotes, emoji and line ends around its words."""
    inside = next((p for p in probes if p.at is not None), None)
    if inside is not None:
        document = inside.prepared.document
        words = list(dict.fromkeys(p.word for p in probes if p.prepared is inside.prepared and p.word.isalpha()))
        plain = document.text
    else:
        words = list(dict.fromkeys(p.word for p in probes if p.word.isalpha()))
        words = [words[i] for i in np.unique(np.linspace(0, len(words) - 1, WORDS).astype(int))] if words else []
        plain = " ".join([*words, *words[:1]]) if words else probes[0].text
    texts = [plain]
    if words:
        a, b, c, d, e = (words * WORDS)[:WORDS]
        texts.append(f'❤️{a} {b}! {c}, "{d}" ({e})\n{a}… 👩‍👩‍👧{b} — {c}\'s {d}.')
    return [_prepare(m, text, seeds, meter) for text in texts]


def _prepare(m: Mechanism, text: str, seeds: _Seeds, meter: Meter) -> _Text:
    prepared = m.prepare(text, cancel=meter.cancel)
    stated: dict[int, TokenDistribution] = {}
    for i in range(len(prepared.document.tokens)):
        try:
            stated[i] = m.distribution(prepared, i)
        except NoDistribution:
            continue
    out = _Text(m, text, prepared, prepared.document, stated)
    if stated:
        out.per_draw = _differs_by_draw(out, seeds, meter)
    return out


def _differs_by_draw(text: _Text, seeds: _Seeds, meter: Meter) -> bool:
    """Whether what a word was drawn from depends on the words released before it: then each draw has its own."""
    result = text.m.rewrite(text.prepared, seeds(), cancel=meter.cancel)
    for k, step in enumerate(result.steps):
        if step.action != "replace" or step.index not in text.stated:
            continue
        own, given = result.distribution(k), text.stated[step.index]
        if own.draws is None and (len(own) != len(given) or not _near(own.log_probs, given.log_probs, 1e-6)):
            return True
    return False


def _near(a: np.ndarray, b: np.ndarray, error: float) -> bool:
    """Whether two vectors of log-probabilities are the same but for rounding."""
    finite = np.isfinite(a)
    return np.array_equal(finite, np.isfinite(b)) and bool(np.allclose(a[finite], b[finite], rtol=error, atol=error))


def _small(m: Mechanism) -> Mechanism | None:
    """The same mechanism with an ε at which hardly a word stays; None where there is no smaller one."""
    epsilon = m.config.epsilon
    options = {f.name: getattr(m.config, f.name) for f in dataclasses.fields(m.config) if f.name != "epsilon"}
    low = max(MIN_EPSILON, min(epsilon, type(m).epsilon_range(options)[0]) / 16)
    if low >= epsilon:
        return None
    # A copy, so that what was put into this one (a vocabulary of one's own) is there too.
    other = copy.copy(m)
    other._config = replace(m.config, epsilon=low)
    return other


class _Seeds:
    """A seed for each call, where the audit has one."""

    def __init__(self, dice: Dice):
        self._next = None if dice.seed is None else dice.seed * 1_000_003

    def __call__(self) -> int | None:
        if self._next is not None:
            self._next += 1
        return self._next


# --- rewrites, one way after the other


def _rewritten(text: _Text, way: str, n: int, seeds: _Seeds, meter: Meter) -> Iterator[RewriteResult]:
    """Rewrites whose noise is independent: of those that share it, the first."""
    m, cancel = text.m, meter.cancel
    seen: set[str] = set()
    if way == "fresh draws":
        for start in range(0, n, 500):
            yield from m.rewrites(text.prepared, min(500, n - start), seeds(), cancel=cancel)
        return
    calls: Callable[[], Sequence[RewriteResult]]
    if way == "a list of texts":
        calls = lambda: m.rewrite([text.text] * min(n, OTHERS), seeds(), cancel=cancel)  # noqa: E731
    elif way == "a text":
        calls = lambda: [m.rewrite(text.text, seeds(), cancel=cancel)]  # noqa: E731
    else:
        calls = lambda: [m.rewrite(text.prepared, seeds(), cancel=cancel)]  # noqa: E731
    for _ in range(n):
        for result in calls():
            if result.family not in seen:
                seen.add(result.family)
                yield result
        if len(seen) >= n:
            return


def _look(text: _Text, way: str, n: int, promise: Guarantee, seeds: _Seeds, meter: Meter, out: Tested) -> list[_Fit]:
    """n rewrites of one text in one way; a breach is written into ``out``."""
    once = "distinct" in promise.unit
    tokens = text.document.tokens
    first = {i: min(j for j in text.stated if tokens[j].text.casefold() == tokens[i].text.casefold())
             for i in text.stated}  # fmt: skip
    counts: dict[tuple[int, bool | None], dict[str, int]] = {}
    twins = [(first[i], i) for i in text.stated if first[i] != i]
    equal = dict.fromkeys(twins, 0)
    both = dict.fromkeys(twins, 0)
    kept, expected, samples = 0, 0.0, 0
    for result in _rewritten(text, way, n, seeds, meter):
        steps = {s.index: s for s in result.steps if s.action != "insert"}
        if (told := _broken(text, result, steps)) is not None:
            out.breach = Witness(text.text, text.text, (), 0.0, 0.0, 0.0, kind="release", told=told)
            out.reason = f"a rewrite of {way} releases something else than its drawn words, kept tokens and gaps."
            return []
        deleted = frozenset(i for i, s in steps.items() if s.action == "delete")
        for i, step in steps.items():
            if i not in text.stated or step.action != "replace":
                continue
            if text.per_draw:
                d = result.distribution(result.steps.index(step))
                shown = _written(text, d, text.capital(i, deleted)).first
                samples += 1
                expected += text.stays(d, step.original)
            else:
                shown = _written(text, text.stated[i], text.capital(i, deleted)).first
            at = shown.get(step.replacement)
            if at is None:
                own = text.stated[i] if not text.per_draw else d
                rule = next((w for w in shown if _bare(w) == _bare(step.replacement)), None)
                why = (
                    f"there it is written “{rule}”, since capital letters follow places and not the original text."
                    if rule is not None
                    else f"it is none of the {len(own):,} words that are stated to be possible there."
                )
                out.breach = Witness(
                    text.text, text.text, (step.replacement,), 0.0, -math.inf, 0.0, tokens[i].text, kind="release",
                    told=f"“{step.replacement}” was released for “{tokens[i].text}” in “{_flat(text.text)}”, rewritten "
                    f"as {way}: {why}",
                )  # fmt: skip
                out.reason = "what is released is impossible under the distribution that the mechanism states."
                return []
            if text.per_draw:
                kept += _bare(step.replacement) == _bare(step.original)
            else:
                seen = counts.setdefault((i, text.capital(i, deleted)), {})
                seen[step.replacement] = seen.get(step.replacement, 0) + 1
            out.draws += 1
        for a, b in twins:
            if steps[a].action == steps[b].action == "replace":
                alike = _bare(steps[a].replacement) == _bare(steps[b].replacement)
                both[a, b] += 1
                equal[a, b] += alike
                if once and not alike:
                    out.breach = Witness(text.text, text.text, (), 0.0, 0.0, 0.0, kind="release", told=(
                        f"“{tokens[a].text}” stands twice in “{text.text}” and became “{steps[a].replacement}” and "
                        f"“{steps[b].replacement}”."))  # fmt: skip
                    out.reason = "equal words are drawn apart, where the promise counts them once."
                    return []
    if text.per_draw:
        return _kept_fit(text, way, kept, expected / samples, samples) if samples else []
    return _fits(text, way, counts, first, equal, both, once)


def _broken(text: _Text, result: RewriteResult, steps: dict[int, Step]) -> str | None:
    """What of a released text does not follow from its released words, kept tokens and gaps; None where all does."""
    tokens = text.document.tokens
    if result.original != text.text or sorted(steps) != list(range(len(tokens))):
        return f"The steps of a rewrite of “{text.text}” are not those of its {len(tokens)} tokens."
    after = {s.index: s.replacement for s in result.steps if s.action == "insert"}
    drawn = [steps[i].action != "keep" for i in range(len(tokens))]
    edits = []
    for i, token in enumerate(tokens):
        step = steps[i]
        if i in text.stated and step.action == "keep":
            return f"“{token.text}” in “{_flat(text.text)}” is stated to be drawn, and stayed without a draw."
        if i not in text.stated and step.action == "replace":
            return f"“{token.text}” in “{_flat(text.text)}” is stated to be kept, and “{step.replacement}” was released for it."
        word = None if step.action == "keep" else step.replacement if step.action == "replace" else ""
        edits.append(Edit(word, after.get(i)))
    skeleton = text.document.skeleton(drawn)
    wanted = skeleton.render(edits).text
    if result.text != wanted:
        own, rule = _apart_at(result.text, wanted)
        return f"“{own}” was released of “{_flat(text.text)}”, where its released words and what is kept give “{rule}”."
    return None


def _apart_at(a: str, b: str, around: int = 24) -> tuple[str, str]:
    """Two texts where they first differ, with what stands around."""
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, at - around)
    return tuple("…" * (start > 0) + t[start : at + around] + "…" * (at + around < len(t)) for t in (a, b))  # type: ignore[return-value]


@dataclass(frozen=True)
class _Written:
    """How the outputs of a distribution are written when they are released. first: each writing → the first output that
    is written so. alike: for each output, that first one."""

    first: dict[str, int]
    alike: np.ndarray


def _bare(word: str) -> str:
    """A word without what the rule of capital letters may have done to it."""
    return sentence_case(word, True).casefold()


def _written(text: _Text, d: TokenDistribution, capital: bool | None) -> _Written:
    key = (id(d.candidates), capital)
    if key not in text.written:
        shown = d.candidates if capital is None else [sentence_case(c, capital) for c in d.candidates]
        first = {w: k for k, w in reversed(list(enumerate(shown)))}
        text.written[key] = _Written(first, np.array([first[w] for w in shown]))
    return text.written[key]


# --- draws against distributions


def _fits(text, way, counts, first, equal, both, once) -> list[_Fit]:
    fits: list[_Fit] = []
    kept, expected, samples = 0, 0.0, 0
    for (i, capital), seen in counts.items():
        if once and first[i] != i:
            continue
        d = text.stated[i]
        written = _written(text, d, capital)
        n = sum(seen.values())
        tally = np.bincount([written.first[w] for w in seen], list(seen.values()), minlength=len(d)).astype(np.int64)
        word = text.document.tokens[i].text
        hits = sum(times for w, times in seen.items() if _bare(w) == _bare(word))
        stays = text.stays(d, word)
        if d.draws is not None:
            p, y = two_samples(tally, np.rint(d.probs * d.draws).astype(np.int64))
            fits.append(_fit(p, text, way, i, d, y, tally, "words"))
            p = _apart(hits, n, round(stays * d.draws), d.draws)
            log_p = math.log(stays) if stays > 0 else -math.inf
            fits.append(_Fit(p, text, way, i, "the word itself", hits / n, log_p, "stays"))
            continue
        merged = np.full(len(d), -np.inf)
        np.logaddexp.at(merged, written.alike, d.log_probs)
        p, y = misfit(tally, merged)
        fits.append(_fit(p, text, way, i, d, y, tally, "words"))
        kept, expected, samples = kept + hits, expected + n * stays, samples + n
    if samples:
        fits += _kept_fit(text, way, kept, expected / samples, samples)
    if not once:
        for (a, b), n in both.items():
            d, other = text.stated[a], text.stated[b]
            if n and d.draws is None and d.candidates is other.candidates:
                bare = text.bare(d.candidates)[0]
                p_equal = float((np.bincount(bare, d.probs) * np.bincount(bare, other.probs)).sum())
                p = _tail(equal[a, b], n, p_equal)
                fits.append(_Fit(p, text, way, b, "the same word twice", equal[a, b] / n, math.log(p_equal), "equal"))
    return fits


def _fit(p: float, text: _Text, way: str, i: int, d: TokenDistribution, y: int, tally: np.ndarray, kind: str) -> _Fit:
    return _Fit(p, text, way, i, d.candidates[y], float(tally[y] / tally.sum()), float(d.log_probs[y]), kind)


def _kept_fit(text: _Text, way: str, kept: int, p_keep: float, n: int) -> list[_Fit]:
    """How often words stayed what they were, over all places: the tail of a binomial with the mean chance bounds that
    of draws with different ones (Hoeffding 1956)."""
    p = _tail(kept, n, p_keep)
    log_p = math.log(p_keep) if p_keep > 0 else -math.inf
    return [_Fit(p, text, way, -1, "the word itself", kept / n, log_p, "stays")]


def _tail(hits: int, n: int, p: float) -> float:
    """Twice the smaller tail of hits among n with chance p."""
    from scipy.special import bdtr, bdtrc

    p = min(max(p, 0.0), 1.0)
    upper = float(bdtrc(hits - 1, n, p)) if hits else 1.0
    return min(1.0, 2 * min(upper, float(bdtr(hits, n, p))))


def _apart(a: int, n: int, b: int, m: int) -> float:
    """Fisher's exact test of a in n against b in m."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[a, n - a], [b, m - b]]).pvalue)


def _leak(text: _Text, n: int) -> float | None:
    """The smallest share of draws that stay although they should not, and that n rewrites show with a chance of 95%."""
    from scipy.special import bdtrc

    closed = [(i, d) for i, d in text.stated.items() if d.draws is None]
    if not closed:
        return None
    samples = n * len(closed)
    p = float(np.mean([text.stays(d, text.document.tokens[i].text) for i, d in closed]))
    level = AGAIN / 2 / 100  # over some hundred comparisons, two-sided
    at = np.arange(int(samples * p), int(samples * p + 40 + 12 * math.sqrt(samples * p)) + 1)
    at = at[at < samples]
    seen = at[bdtrc(at, samples, p) <= level]
    if not len(seen):
        return None
    shares = np.geomspace(1e-7, 1.0, 4000)
    power = bdtrc(int(seen[0]), samples, np.minimum(1.0, p + (1 - p) * shares))
    enough = shares[power >= 0.95]
    return float(enough[0]) if len(enough) else None


def _flat(text: str) -> str:
    """A text of our own on one line."""
    return text.replace("\n", " ")


def _percent(log_p: float) -> str:
    return chance(log_p) if log_p < math.log(1e-4) else f"{math.exp(log_p):.1%}"


def _told(fit: _Fit, m: Mechanism) -> Witness:
    token = fit.text.document.tokens[fit.place].text if fit.place >= 0 else None
    log_share = math.log(fit.share) if fit.share else -math.inf
    small = fit.text.m is not m
    where = f" at ε = {fit.text.m.config.epsilon:.3g}" if small else ""
    what = "the words" if token is None else f"“{token}”"
    told = (
        f"Of {what} in “{_flat(fit.text.text)}”, rewritten as {fit.way}{where}, {fit.output} came out in "
        f"{_percent(log_share)} of the draws; the stated distribution gives it {_percent(fit.log_p)}."
    )
    return Witness(
        fit.text.text, fit.text.text, (fit.output,), log_share, fit.log_p, 0.0, token, token, "sampler", told
    )  # fmt: skip


# --- what stands around a word


def _alone(text: _Text, promise: Guarantee, probes: Sequence[Probe], estimated: bool) -> tuple[Witness, str] | None:
    """Where the promise counts words one by one: a word whose stated distribution depends on what stands around it."""
    if promise.notion not in ("metric", "group") or estimated:
        return None
    known: dict[str, tuple[TokenDistribution, str]] = {}
    for p in probes:
        known.setdefault(p.word.casefold(), (p.d, p.text))
    for i, d in text.stated.items():
        word = text.document.tokens[i].text
        other, where = known.setdefault(word.casefold(), (d, text.text))
        if other is d or _same(other, d):
            continue
        told = f"“{word}” is drawn from one distribution in “{where}” and from another in “{text.text}”."
        witness = Witness(where, text.text, (), 0.0, 0.0, 0.0, None, word, "release", told)
        return witness, "what a word becomes depends on the words around it, of which the promise says nothing."
    return None


def _same(a: TokenDistribution, b: TokenDistribution) -> bool:
    if a.candidates is not b.candidates and list(a.candidates) != list(b.candidates):
        return False
    return _near(a.log_probs, b.log_probs, 1e-9)
