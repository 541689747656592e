"""Events that any reader of a rewrite could observe, and the loss that they reveal."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..mechanisms.base import Mechanism, Prepared
from ..pieces import check_pieces
from ..privacy.distribution import TokenDistribution
from ..privacy.guarantee import Guarantee
from ..result import RewriteResult
from ..support.statistics import lower_limit, upper_limit
from .checks import Seeds
from .inputs import Meter
from .report import AuditReport, Witness, format_probability
from .rewriting import Rewriter
from .sampled import TESTED, could_show, event

#: Number of rewrites per call, so that the audit can be cancelled in between.
_BLOCK = 100
#: Number of rewrites whose first distributions are compared: hidden noise would make them differ.
_LOOKED = 5
_WORD = re.compile(r"\w+")
EVENTS = {
    "text": "equal the text",
    "first": "begin with",
    "last": "end with",
    "pieces": "have a span count of",
    "word": "contain the word",
    "blanks": "have a trailing-space count of",
    "inner": "have a space count of",
    "length": "have a character count of",
    "capitals": "have a capital-letter count of",
    "marks": "have a mark count of",
}


@dataclass(frozen=True)
class OutputSample:
    """One input: its rewrites as events, one Counter per half; and the stated distribution of the first part."""

    prepared: Prepared
    guarantee: Guarantee
    halves: tuple[dict[str, Counter], dict[str, Counter]]
    first: TokenDistribution | None
    drawn_first: Counter


def words_of(text: str) -> list[str]:
    return list(dict.fromkeys(w.casefold() for w in _WORD.findall(text)))


def sample_outputs(
    m: Mechanism,
    prepared: Prepared,
    half: int,
    words: Iterable[str],
    seeds: Seeds,
    meter: Meter,
    rewriter: Rewriter,
    start: float,
    share: float,
) -> OutputSample:
    """Rewrite a text twice ``half`` times, and count the events and first parts of each half."""
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
                check_totals(m, r, guarantee)
                noises.add(r.noise_id)
                for kind, value in events(r, wanted):
                    counts.setdefault(kind, Counter())[value] += 1
                begins = "distribution" in r.can and bool(r.releases) and r.releases[0].is_sampled
                # A text that ends before its first part does not show its distribution.
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
        raise InputError(f"{m.title} gives rewrites of one text the same noise. Choose another strategy.")
    return OutputSample(prepared, guarantee, halves, first if stated else None, drawn_first)


def check_totals(m: Mechanism, r: RewriteResult, guarantee: Guarantee) -> None:
    """Raise ConfigError if releases do not match the text, InputError if they spend more than guaranteed."""
    check_pieces(r.text, r.releases, m.title)
    spent = math.fsum(p.epsilon for p in r.releases)
    if spent > guarantee.total * (1 + 1e-9):
        raise InputError(
            f"{m.title} spends {spent:g} in a rewrite, but guarantees {guarantee.total:g} for its text. Correct its "
            "guarantee."
        )
    if r.guarantee.total < guarantee.total * (1 - 1e-9):
        raise InputError(
            f"{m.title} guarantees {r.guarantee.total:g} with a rewrite, but {guarantee.total:g} for its text: the "
            "smaller total is not a guarantee. Correct the guarantees."
        )


def events(r: RewriteResult, words: frozenset[str]) -> list[tuple[str, str]]:
    """Return the observable events of one output, as (kind, value)."""
    out = [("text", r.text), ("pieces", str(len(r.releases))), ("length", str(len(r.text)))]
    out.append(("blanks", str(len(r.text) - len(r.text.rstrip()))))
    out.append(("inner", str(sum(c.isspace() for c in r.text))))
    out.append(("capitals", str(sum(c.isupper() for c in r.text))))
    out.append(("marks", str(sum(not c.isalnum() and not c.isspace() for c in r.text))))
    tokens = _WORD.findall(r.text.casefold())
    if tokens:
        out += [("first", tokens[0]), ("last", tokens[-1])]
    return out + [(f"word {w}", "yes") for w in sorted(words.intersection(tokens))]


def _same_distribution(a: TokenDistribution, b: TokenDistribution) -> bool:
    return len(a) == len(b) and bool(np.allclose(a.probs, b.probs, rtol=1e-6, atol=1e-12))


def bounded_loss(
    report: AuditReport,
    texts: Sequence[OutputSample],
    limits: Mapping[tuple[int, int], tuple[float, float]],
    half: int,
    meter: Meter,
    level: float | None = None,
) -> AuditReport:
    """Return a lower bound on the loss of whole outputs: one half of the rewrites chooses, the other tests.

    limits: ε and δ of each pair; the reported pair exceeds its limits most, or is nearest to them. level: the
    probability that each bound is wrong, by default from the report's confidence."""
    if not limits:
        return report
    level = (1 - report.confidence) / (2 * TESTED) if level is None else level
    ranked: list[tuple[float, int, int, str, tuple[str, ...]]] = []
    for k, ((a, b), (allowed, delta)) in enumerate(limits.items()):
        meter.at(0.8 + 0.15 * k / len(limits))
        one, other = texts[a].halves[0], texts[b].halves[0]
        for kind in one:
            # In an order that is the same in each process, unlike that of a set.
            values = [*dict.fromkeys([*one[kind], *other.get(kind, ())])]
            x, y = (np.array([c.get(kind, Counter())[v] for v in values]) for c in (one, other))
            value, chosen = event(x, y, half, level, delta)
            # Without a guarantee, any loss is within the limit, and the largest one is reported.
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
                what += f" or one of {len(found) - 1:,} others" if len(found) > 2 else " or one other"
            log_low, log_high = math.log(low) if low > 0 else -math.inf, math.log(high)
            message = (
                f"Rewrites of “{texts[a].prepared.text}” {what} with probability at least "
                f"{format_probability(log_low)}, and those of “{texts[b].prepared.text}” with at most "
                f"{format_probability(log_high)}."
            )
            witness = Witness(
                texts[a].prepared.text, texts[b].prepared.text, found[:3], log_low, log_high, 1.0, details=message
            )
    limit = could_show(half, level, of_delta)
    tested = (
        f"{2 * half:,} whole rewrites of each of {len(texts)} texts, compared by features that anyone could count."
    )
    return replace(
        report, measured=best, claimed=claimed, delta=of_delta, witness=witness, detectable=limit, tested=tested
    )
