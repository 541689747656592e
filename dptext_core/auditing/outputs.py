"""An audit by whole outputs alone: for mechanisms whose outputs answer to no word, or that state no distribution.

Rewrites of two texts that the promise makes alike are told apart by events that anyone who reads them could look for:
the whole text, its first and last piece, how many pieces there are, whether a word of one of the two texts stands in
it. One half of the rewrites chooses the pair and the event, the other half gives Clopper-Pearson bounds of its two
probabilities, simultaneous over what is tested (Bonferroni). With P_low and Q_up these bounds, (ε, δ)-DP needs
ln((P_low − δ)/Q_up) ≤ ε. Where pieces have distributions, those of the first one are compared exactly too: nothing was
drawn before it, so that each text states one distribution. Where a mechanism also states what a piece would have been
drawn from, had another text been read and the same pieces been released before it, all pieces are compared, and that
is the promise of one draw; that pieces follow what is stated of them is tested by how likely each one was. Where the
text is written from something noisy alone whose chances have a formula (``AuditSupport.latent_loss``), its loss is
compared exactly: the text, being computed from it, loses no more.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.likelihood import Likelihood
from ..pieces import check_pieces
from ..privacy.distribution import TokenDistribution
from ..privacy.guarantee import Guarantee, at_least, bound, scientific
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..support.statistics import lower_limit, upper_limit
from .checks import Seeds
from .exact import TOLERANCE, largest_loss
from .inputs import TEXTS, Meter, Probe
from .release_statistics import LEVEL, noise_of
from .report import NOR, AuditReport, Check, Witness, format_probability, format_share
from .rewriting import Rewriter
from .rules import Breach
from .sampled import TESTED, could_show, event, misfit

#: Rewrites of each text.
DRAWS = 2_000
#: The same where every piece is compared exactly too.
DRAWS_BESIDE = 200
#: Rewrites of one call, so that a wish to stop is seen in between.
_BLOCK = 100
#: Words of each text whose presence in an output is looked at.
_WORDS = 12
#: A stated distribution of first pieces is refuted where its draws have a smaller chance than this.
_LEVEL = 1e-6
#: Rewrites whose first distributions are compared: hidden noise would make them differ.
_LOOKED = 5
#: Rewrites of each text whose pieces are looked at one by one, and of these, how many under every other text.
_PIECEWISE, _CROSSED = 10, 2
_WORD = re.compile(r"\w+")
_UNDERSTATED = "rewrites tell two texts apart better than the noise that is stated behind them lets anything do."
EVENTS = {
    "text": "are the very text",
    "first": "begin with",
    "last": "end with",
    "pieces": "have so many pieces:",
    "word": "hold the word",
    "blanks": "end with so many blanks:",
    "inner": "have so many blanks:",
    "length": "have so many characters:",
    "capitals": "have so many capital letters:",
    "marks": "have so many marks:",
}


@dataclass(frozen=True)
class _Text:
    """One input: its rewrites as events, one Counter for each half; and what it states of the first piece."""

    prepared: Prepared
    promise: Guarantee
    halves: tuple[dict[str, Counter], dict[str, Counter]]
    first: TokenDistribution | None
    drawn_first: Counter


def audit_outputs(
    report: AuditReport,
    m: Mechanism,
    inputs: Sequence[str | Prepared] | None,
    claim: float | None,
    draws: int | None,
    stream: NoiseStream,
    meter: Meter,
    rewriter: Rewriter,
) -> AuditReport:
    """The report filled in. The claim is the total of a text, since its whole output is looked at."""
    given = list(TEXTS[:4]) if inputs is None else list(inputs)
    if len(given) == 1:  # beside itself nothing can be compared
        text = given[0].text if isinstance(given[0], Prepared) else given[0]
        given += [t for t in TEXTS if t != text and m.audit_support.adjacent(given[0], t)][:1]
    prepared = [t if isinstance(t, Prepared) else m.prepare(t, task=meter.task) for t in given]
    every = [(a, b) for a in range(len(prepared)) for b in range(len(prepared)) if a != b]
    # Under a claim of the caller's any two inputs count as neighbours.
    pairs = every if claim is not None else [(a, b) for a, b in every if m.audit_support.adjacent(given[a], given[b])]
    half = max(50, (draws or (DRAWS_BESIDE if _piecewise(m) else DRAWS)) // 2)
    words = sorted({w for p in prepared for w in _words(p.text)[:_WORDS]})
    seeds = Seeds(stream)
    texts: list[_Text] = []
    try:
        for k, p in enumerate(prepared):
            texts.append(_look(m, p, half, words, seeds, meter, rewriter, k / len(prepared), 1 / len(prepared)))
    except Breach as broken_rule:
        return replace(report, verdict="refuted", witness=broken_rule.witness, reason=broken_rule.reason)
    promise = max((t.promise for t in texts), key=lambda g: g.total)
    limits = {pair: _limit([texts[i].promise for i in pair], claim) for pair in pairs}
    every_limit = list(limits.values()) or [_limit([promise], claim)]
    # "Holds" is said of all pairs: the largest ε and the smallest δ are what the draws have to show.
    claimed, delta = max(e for e, _ in every_limit), min((d for _, d in every_limit if d), default=0.0)
    report = replace(
        report,
        notion=promise.notion,
        claimed=claimed,
        delta=delta,
        exact=False,
        inputs=len(texts),
        pairs=len(pairs) // 2,
        draws=2 * half * len(texts),
        of="the whole output",
    )
    if (breach := _find_misstatement(texts)) is not None:
        return replace(report, verdict="refuted", witness=breach[0], sampler_p=0.0, reason=breach[1])
    if claim is None and promise.notion == "metric":
        reason = (
            "the promise counts distances between words, which whole outputs do not have. Give a claim of your own."
        )
        return replace(report, verdict="inconclusive", reason=reason, pairs=0)
    report, broken = _first_pieces(report, texts, pairs, promise, claim, meter)
    if broken is not None:
        return broken
    whole = _every_piece(report, m, texts, pairs, promise, claim, stream, meter, rewriter)
    if whole is not None and whole.verdict == "refuted":
        return whole
    report = _bounded(report, texts, limits, half, meter)
    if report.measured > report.claimed + TOLERANCE * max(1.0, report.claimed):
        return replace(report, verdict="refuted")
    stated = _latent_limits(m, texts, limits)
    against = _bounded(report, texts, stated, half, meter, LEVEL / (2 * TESTED))
    if stated and against.measured > against.claimed * (1 + TOLERANCE) + TOLERANCE:
        return replace(against, verdict="refuted", reason=_UNDERSTATED, of="what its noise is stated to lose")
    report = _latent(report, texts, limits, stated)
    if report.exact and report.measured > report.claimed * (1 + TOLERANCE) + TOLERANCE:
        return replace(report, verdict="refuted")
    if claim is None and promise.notion == "none":
        return replace(report, verdict="inconclusive", reason=f"nothing is promised, because {promise.reason}")
    if not pairs:
        reason = "no two of these texts are alike under the promise, so that there is nothing to compare."
        if len(given) == 1:
            reason = "one text has nothing to be compared with. Give another one that the promise makes alike to it."
        return replace(report, verdict="inconclusive", reason=reason, detectable=0.0)
    seen = float(upper_limit(0, half, (1 - report.confidence) / (2 * TESTED)))
    if 0 < delta < seen and not report.exact:
        reason = (
            f"δ = {scientific(delta)} allows failures that are rarer than {half:,} rewrites of a text can show (those "
            f"that happen in {format_probability(math.log(seen))} of them or more)."
        )
        return replace(report, verdict="inconclusive", reason=reason)
    if whole is not None:
        return replace(whole, verdict="holds", tested=f"{whole.tested} {report.tested}")
    if report.detectable < claimed and not report.exact:
        reason = (
            f"with {2 * half:,} rewrites of each text the largest loss that could have been found is "
            f"{at_least(report.detectable)}, less than the claimed {bound(claimed)}."
        )
        return replace(report, verdict="inconclusive", reason=reason)
    return replace(report, verdict="holds")


def of_outputs(report: AuditReport) -> tuple[Check, ...]:
    """What whole outputs, and their pieces where those have distributions, came to."""
    name, found = f"loss of {report.of}", (report.reason, report.witness)
    if report.verdict == "refuted":
        return (Check(name, "refuted", "", *found, report.detectable, draws=report.draws),)
    out = [Check("stated loss", "proven", report.proven, "", report.witness)] if report.proven else []
    if report.verdict == "inconclusive":
        return (*out, Check(name, "not looked at", "", *found, report.detectable, draws=report.draws))
    rare = min(1.0, 6 / max(1, report.draws // max(1, report.inputs)))
    blind = f"what shows in fewer than {format_share(rare)} of the rewrites of a text"
    if report.detectable < report.claimed < math.inf:
        blind = f"by themselves a loss above {at_least(report.detectable)}{NOR}{blind}"
    tested = Check(
        "whole outputs", "tested", report.tested, "", report.witness, report.detectable, rare, blind, draws=report.draws
    )
    return (*out, tested)


def _limit(promises: Sequence[Guarantee], claim: float | None) -> tuple[float, float]:
    """ε and δ that two texts, or one, may lose as wholes."""
    if claim is not None:
        return claim, 0.0
    totals = [math.inf if g.notion == "none" else g.total for g in promises]
    return max(totals), max(g.total_delta for g in promises)


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(w.casefold() for w in _WORD.findall(text)))


def _look(
    m: Mechanism,
    prepared: Prepared,
    half: int,
    words: Iterable[str],
    seeds: Seeds,
    meter: Meter,
    rewriter: Rewriter,
    start: float,
    share: float,
) -> _Text:
    guarantee = m.guarantee(prepared)
    halves: tuple[dict[str, Counter], dict[str, Counter]] = ({}, {})
    drawn_first: Counter = Counter()
    noises: set[str] = set()
    first, stated, looked, n = None, True, 0, 0
    wanted = frozenset(words)
    for counts in halves:
        done = 0
        while done < half:
            meter.at(0.75 * (start + share * n / (2 * half)))
            size = min(_BLOCK, half - done)
            results = rewriter.fresh(m, prepared, size, seeds(), distributions=False)
            for r in results:
                _check(m, r, guarantee)
                noises.add(r.noise_id)
                for kind, value in events(r, wanted):
                    counts.setdefault(kind, Counter())[value] += 1
                begins = "distribution" in r.can and bool(r.releases) and r.releases[0].drawn
                # A text that ends before its first piece says nothing of what that would have been.
                stated = stated and begins
                if begins:
                    if first is None:
                        first = r.distribution(0)
                    elif looked < _LOOKED:
                        looked += 1
                        stated = stated and _same_distribution(first, r.distribution(0))
                    known = r.candidate(0)
                    drawn_first[r.releases[0].text.casefold() if known is None else known] += 1
            done, n = done + size, n + size
    if len(noises) < n:
        raise InputError(f"{m.title} gives rewrites of one text the same noise, so that they are no fresh draws.")
    return _Text(prepared, guarantee, halves, first if stated else None, drawn_first)


def _check(m: Mechanism, r: RewriteResult, promise: Guarantee) -> None:
    """Raise ConfigError where pieces are not those of the text, InputError where they spend more than is promised."""
    check_pieces(r.text, r.releases, m.title)
    spent = math.fsum(p.epsilon for p in r.releases)
    if spent > promise.total * (1 + 1e-9):
        raise InputError(f"{m.title} spends {spent:g} in a rewrite, and promises {promise.total:g} for its text.")
    if r.guarantee.total < promise.total * (1 - 1e-9):
        raise InputError(
            f"{m.title} promises {r.guarantee.total:g} with a rewrite, and {promise.total:g} for its text: the smaller "
            "one is no promise."
        )


def events(r: RewriteResult, words: frozenset[str]) -> list[tuple[str, str]]:
    """What can be seen of one output, as (kind, value)."""
    out = [("text", r.text), ("pieces", str(len(r.releases))), ("length", str(len(r.text)))]
    out.append(("blanks", str(len(r.text) - len(r.text.rstrip()))))
    out.append(("inner", str(sum(c.isspace() for c in r.text))))
    out.append(("capitals", str(sum(c.isupper() for c in r.text))))
    out.append(("marks", str(sum(not c.isalnum() and not c.isspace() for c in r.text))))
    found = _WORD.findall(r.text.casefold())
    if found:
        out += [("first", found[0]), ("last", found[-1])]
    return out + [(f"word {w}", "yes") for w in sorted(words.intersection(found))]


def _same_distribution(a: TokenDistribution, b: TokenDistribution) -> bool:
    return len(a) == len(b) and bool(np.allclose(a.probs, b.probs, rtol=1e-6, atol=1e-12))


def _find_misstatement(texts: Sequence[_Text]) -> tuple[Witness, str] | None:
    """First pieces that do not follow the distribution stated of them."""
    compared = sum(t.first is not None for t in texts)
    for t in texts:
        if t.first is None or t.first.draws is not None:
            continue
        place: dict[str, int] = {}
        for i, word in enumerate(t.first.candidates):
            place.setdefault(word.strip().casefold(), i)
        log_p = t.first.log_probs
        if not all(isinstance(word, int) for word in t.drawn_first):
            alike = np.array([place[w.strip().casefold()] for w in t.first.candidates])
            log_p = np.full(len(t.first), -np.inf)
            np.logaddexp.at(log_p, alike, t.first.log_probs)
        counts = np.zeros(len(t.first), np.int64)
        n = t.drawn_first.total()
        for word, times in t.drawn_first.items():
            at = word if isinstance(word, int) else place.get(word.strip())
            if at is None or not np.isfinite(log_p[at]):
                message = f"“{word}” began a rewrite of “{t.prepared.text}”, and is stated to be impossible there."
                reason = "what is released is impossible under the distribution that the mechanism states."
                return Witness(t.prepared.text, t.prepared.text, (word,), 0.0, -math.inf, 0.0, told=message), reason
            counts[at] += times
        p, worst = misfit(counts, log_p)
        if p * compared < _LEVEL:
            share = math.log(counts[worst] / n) if counts[worst] else -math.inf
            name = t.first.candidates[worst]
            witness = Witness(
                t.prepared.text, t.prepared.text, (name,), share, float(log_p[worst]), 0.0, kind="sampler"
            )
            return witness, "the first pieces do not follow the distribution that the mechanism states of them."
    return None


def _first_pieces(
    report: AuditReport,
    texts: Sequence[_Text],
    pairs: Sequence[tuple[int, int]],
    promise: Guarantee,
    claim: float | None,
    meter: Meter,
) -> tuple[AuditReport, AuditReport | None]:
    """The exact loss of the first pieces, over all pairs; a refuting report where it exceeds what one draw may lose."""
    stated = [i for i, t in enumerate(texts) if t.first is not None and t.first.draws is None]
    probes = [
        Probe(t.prepared.text, None, t.prepared.text, t.first, t.prepared, 0, True)
        for t in (texts[i] for i in stated)
        if t.first is not None
    ]
    apart = np.array([[1.0 if (a, b) in set(pairs) else np.nan for b in stated] for a in stated])
    if not np.isfinite(apart).any() or promise.notion != "pure":
        return report, None
    loss, witness = largest_loss(probes, apart, meter)
    allowed = promise.epsilon if claim is None else min(claim, promise.epsilon)
    if loss > allowed * (1 + TOLERANCE) + TOLERANCE:
        return report, replace(
            report, verdict="refuted", measured=loss, claimed=allowed, exact=True, witness=witness, of="the first piece"
        )
    message = (
        f"For the first piece, from its stated distributions: it loses {bound(loss)} at most, and may lose "
        f"{bound(allowed)}."
    )
    return replace(report, proven=message), None


def _piecewise(m: Mechanism) -> Likelihood[Mechanism] | None:
    """The chances of a mechanism that states what every piece of a rewrite would have been drawn from under another
    text."""
    return m.likelihood if m.likelihood is not None and m.likelihood.states_pieces else None


def _every_piece(
    report: AuditReport,
    m: Mechanism,
    texts: Sequence[_Text],
    pairs: Sequence[tuple[int, int]],
    promise: Guarantee,
    claim: float | None,
    stream: NoiseStream,
    meter: Meter,
    rewriter: Rewriter,
) -> AuditReport | None:
    """The exact loss of every piece of some rewrites, given the pieces before it; None where it is not stated."""
    chances = _piecewise(m)
    if not pairs or promise.notion != "pure" or chances is None:
        return None
    allowed = promise.epsilon if claim is None else min(claim, promise.epsilon)
    loss, witness, compared, ranks = 0.0, None, False, []
    for a, t in enumerate(texts):
        others = [a, *(b for b in range(len(texts)) if (a, b) in set(pairs))]
        apart = np.array([[1.0 if (x, y) in set(pairs) else np.nan for y in others] for x in others])
        for k in range(_PIECEWISE):
            meter.at(0.75 + 0.05 * (a + k / _PIECEWISE) / len(texts))
            r = rewriter.one(m, t.prepared, noise_of(stream.at("pieces"), a, k))
            own = [d for _, d in r.distributions()] if "distribution" in r.can else []
            if "distribution" in r.can and len(own) < len(r.releases):
                return None
            noise = stream.at("ranks", a, k).uniforms(max(1, len(own)))
            for i, d in enumerate(own):
                known = r.candidate(i)
                if known is None:
                    return None
                ranks.append(float(d.probs[:known].sum() + noise[i] * d.probs[known]))
            if k >= _CROSSED:
                continue
            stated = [chances.given(texts[b].prepared, r) for b in others]
            if any(s is None for s in stated):
                return None
            for i, d in enumerate(own):
                column = [s[i] for s in stated if s is not None]
                if not np.allclose(column[0].log_probs, d.log_probs, rtol=1e-9, atol=1e-9):
                    return replace(
                        report,
                        verdict="refuted",
                        sampler_p=0.0,
                        reason=f"piece {i} of a rewrite is stated to come from two different distributions.",
                    )
                probes = [
                    Probe(texts[b].prepared.text, None, texts[b].prepared.text, c, texts[b].prepared, i, True)
                    for b, c in zip(others, column, strict=True)
                ]
                value, found = largest_loss(probes, apart, meter)
                compared |= len(others) > 1
                if value > loss:
                    loss, witness = value, found
    if not compared:
        return None
    p = _uniform(ranks)
    message = (
        f"From the stated distributions, for every piece of {_CROSSED * len(texts)} rewrites and all their outputs."
    )
    tested = (
        f"{len(ranks):,} pieces of {_PIECEWISE * len(texts)} rewrites follow what is stated of them, by how "
        f"likely each was (p = {p:.2g})."
    )
    report = replace(
        report,
        claimed=allowed,
        measured=loss,
        exact=True,
        witness=witness,
        of="each piece, given those before it",
        proven=message,
        tested=tested,
        sampler_p=p,
    )
    if loss > allowed * (1 + TOLERANCE) + TOLERANCE:
        return replace(report, verdict="refuted")
    if p < _LEVEL:
        reason = "pieces do not follow the distributions that the mechanism states of them."
        return replace(report, verdict="refuted", reason=reason)
    return report


def _uniform(ranks: Sequence[float]) -> float:
    """The chance of numbers that lie so unevenly in (0, 1), were they uniform (Kolmogorov and Smirnov)."""
    from scipy.stats import kstest

    return float(kstest(ranks, "uniform", method="asymp").pvalue)


def _latent_limits(
    m: Mechanism, texts: Sequence[_Text], limits: Mapping[tuple[int, int], tuple[float, float]]
) -> dict[tuple[int, int], tuple[float, float]]:
    """ε and δ that each pair may lose by the noise that the mechanism states; empty where it states none of some."""
    out: dict[tuple[int, int], tuple[float, float]] = {}
    for (a, b), (_, delta) in limits.items():
        loss = m.audit_support.latent_loss(texts[a].prepared, texts[b].prepared)
        # A loss that is stated beside a δ says nothing of a claim without one.
        if loss is None or delta < max(texts[i].promise.total_delta for i in (a, b)):
            return {}
        out[a, b] = loss, delta
    return out


def _latent(
    report: AuditReport,
    texts: Sequence[_Text],
    limits: Mapping[tuple[int, int], tuple[float, float]],
    stated: Mapping[tuple[int, int], tuple[float, float]],
) -> AuditReport:
    """The exact loss of what the texts are computed from, over all pairs, where the mechanism states one."""
    worst: tuple[float, float, int, int] | None = None
    for (a, b), (loss, _) in stated.items():
        allowed = limits[a, b][0]
        excess = loss - (allowed if math.isfinite(allowed) else 0.0)
        if worst is None or excess > worst[0]:
            worst = excess, loss, a, b
    if worst is None:
        return report
    _, loss, a, b = worst
    one, other = (texts[i].prepared.text for i in (a, b))
    message = (
        f"The noisy vector of “{one}” can come out where it is e^{at_least(loss)} times as likely as that of "
        f"“{other}”: in all of its numbers beyond those of both."
    )
    if delta := limits[a, b][1]:
        message = (
            f"The noisy vectors of “{one}” and “{other}” lie so far apart that with δ = {scientific(delta)} no ε below "
            f"{at_least(loss)} holds."
        )
    proven = "From the noise that the mechanism states, for these texts and everything that can come of them."
    return replace(
        report,
        measured=loss,
        claimed=limits[a, b][0],
        exact=True,
        of="the noisy vector that a text is written from",
        witness=Witness(one, other, ("a noisy vector",), 0.0, -loss, 1.0, told=message),
        proven=proven,
    )


def _bounded(
    report: AuditReport,
    texts: Sequence[_Text],
    limits: Mapping[tuple[int, int], tuple[float, float]],
    half: int,
    meter: Meter,
    level: float | None = None,
) -> AuditReport:
    """A lower bound of the loss of whole outputs: one half of the rewrites chooses, the other tests. limits: ε and δ of
    each pair; the pair that exceeds its own most, or is nearest to it, is the one that is reported. level: the chance
    with which each bound may be wrong, else that of the report's confidence."""
    if not limits:
        return report
    level = (1 - report.confidence) / (2 * TESTED) if level is None else level
    ranked: list[tuple[float, int, int, str, tuple[str, ...]]] = []
    for k, ((a, b), (allowed, delta)) in enumerate(limits.items()):
        meter.at(0.8 + 0.15 * k / len(limits))
        one, other = texts[a].halves[0], texts[b].halves[0]
        for kind in one:
            # In an order that is the same in each process, as that of a set is not.
            values = [*dict.fromkeys([*one[kind], *other.get(kind, ())])]
            x, y = (np.array([c.get(kind, Counter())[v] for v in values]) for c in (one, other))
            value, chosen = event(x, y, half, level, delta)
            # Where nothing is promised any loss is within the limit: then the largest is looked for.
            ranked.append(
                (value - (allowed if math.isfinite(allowed) else 0.0), a, b, kind, tuple(values[i] for i in chosen))
            )
    ranked.sort(key=lambda r: -r[0])
    best, witness, most = 0.0, None, -math.inf
    claimed, of_delta = report.claimed, report.delta
    for _, a, b, kind, found in ranked[:TESTED]:
        allowed, delta = limits[a, b]
        hits, others = (sum(t.halves[1].get(kind, Counter())[v] for v in found) for t in (texts[a], texts[b]))
        low, high = float(lower_limit(hits, half, level)), float(upper_limit(others, half, level))
        value = math.log((low - delta) / high) if low > delta else -math.inf
        excess = value - (allowed if math.isfinite(allowed) else 0.0)
        if witness is None or excess > most:
            best, most, claimed, of_delta = max(0.0, value), excess, allowed, delta
            name, _, word = kind.partition(" ")
            what = f"{EVENTS[name]} “{word or found[0]}”"
            if len(found) > 1:
                what += f" or one of {len(found) - 1:,} others"
            log_low, log_high = math.log(low) if low > 0 else -math.inf, math.log(high)
            message = (
                f"Rewrites of “{texts[a].prepared.text}” {what} in {format_probability(log_low)} of the draws at "
                f"least, those of "
                f"“{texts[b].prepared.text}” in {format_probability(log_high)} at most."
            )
            witness = Witness(
                texts[a].prepared.text, texts[b].prepared.text, found[:3], log_low, log_high, 1.0, told=message
            )
    limit = could_show(half, level, of_delta)
    tested = (
        f"{2 * half:,} whole rewrites of each of {len(texts)} texts, by the events that anyone who reads them "
        "could look for."
    )
    return replace(
        report, measured=best, claimed=claimed, delta=of_delta, witness=witness, detectable=limit, tested=tested
    )
