"""Check that a guarantee compares no texts that their rewrites distinguish by their shape.

The guarantee (``adjacency``, ``among``) and :meth:`AuditSupport.adjacent` both state which texts are compared. They
must agree: an adjacency without conditions excludes no text. If texts of different lengths, marks and lines are
compared, their rewrites are compared at an ε so small that a visible length is enough to refute.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from .inputs import TEXTS
from .output_events import EVENTS, events
from .release_statistics import LEVEL, with_epsilon
from .rules import Breach
from .statement import Statement, are_adjacent, name

#: Texts of different shapes.
SHAPES = ("Yes.", f"{TEXTS[1]}\n\n{TEXTS[2]} NOT NOW, please: {TEXTS[3]}")
#: Maximum ε for these rewrites, their number, and the maximum number of compared events.
LOW, DRAWS, EVENTS_COMPARED = 1e-5, 24, 1_000
_REASON = "the adjacency of the guarantee is wider than the mechanism supports."


def check_adjacency(st: Statement) -> str:
    """Raise Breach if the guarantee compares texts that rewrites distinguish."""
    left_out = _left_out(st)
    if left_out is not None:
        return _leaves_out(st, *left_out)
    _compare_rewrites(st)
    return ""


def _texts(st: Statement) -> list[str]:
    if st.m.by_word is None or len(st.words) < 2:
        return list(SHAPES)
    a, b = st.words[:2]
    return [f"{a} {b}", a, f"{a} {b} {a}", *SHAPES]


def _left_out(st: Statement) -> tuple[str, str] | None:
    """Return the breach for two texts that the mechanism, but not its guarantee, excludes."""
    texts = _texts(st)
    return next(((a, b) for a, b in combinations(texts, 2) if are_adjacent(st.m, a, b) is False), None)


def _leaves_out(st: Statement, a: str, b: str) -> str:
    """Check whether the wording of the guarantee excludes two texts too."""
    g, m = st.guarantee, st.m
    if g.adjacency.is_any_texts:
        seeds = st.subject.seeds("adjacency")
        one, other = (st.subject.rewriter.one(m, t, seeds()).text for t in (a, b))
        message = (
            f"The guarantee states {name(g.adjacency)}, but {name(a)} became {name(one)} and {name(b)} "
            f"became {name(other)}: the unchanged parts identify the text."
        )
        raise Breach(a, message, _REASON, other=b)
    if m.alignment is None:
        # A plugin's own wording cannot be compared: it must state a condition in both places.
        if g.among and (g.adjacency.custom or set(g.among.conditions) <= set(g.adjacency.conditions)):
            return ""
        return (
            f"{name(a)} and {name(b)} are not compared, but the guarantee states {name(g.adjacency)}. It must "
            "state in “among” what both texts share."
        )
    missing = [part for part in m.adjacency_conditions if part not in g.adjacency.conditions]
    if missing:
        return (
            f"{name(a)} and {name(b)} are not compared, but the guarantee states {name(g.adjacency)} without "
            f"“{missing[0]}”."
        )
    if g.adjacency == m.adjacency() and len(st.words) > 1 and m.by_word is not None:
        known, unknown = f"{st.words[0]} {st.words[1]}", f"{st.words[0]} qzxv"
        steps = st.subject.rewriter.one(m, unknown, st.subject.seeds("unknown")()).steps
        drawn = [s for s in steps if s.original == "qzxv" and s.action in ("replace", "delete") and not s.epsilon]
        if drawn and are_adjacent(m, known, unknown) is False:
            message = (
                f"The guarantee states {name(g.adjacency)}, which compares {name(known)} with {name(unknown)}. But an "
                "unknown word is sampled differently from a known one."
            )
            raise Breach(known, message, _REASON, other=unknown)
    return ""


def _compare_rewrites(st: Statement) -> None:
    """Compare rewrites of texts of different shapes if the guarantee compares them. Raises Breach."""
    m = st.m
    if st.guarantee.notion not in ("pure", "approx"):
        return
    low = with_epsilon(m, min(float(m.config.epsilon), LOW))
    seeds = st.subject.seeds("shapes")
    counts: list[dict[str, Counter]] = []
    guarantees = [low.guarantee(t) for t in SHAPES]
    # Fisher's test assumes equal distributions; the guarantee allows a factor of at most e for all of these rewrites.
    if 2 * DRAWS * max(g.total + g.total_delta for g in guarantees) > 1:
        return
    words = frozenset(w.casefold() for t in SHAPES for w in t.split() if w.isalpha())
    for text in SHAPES:
        tallies: dict[str, Counter] = {}
        for r in st.subject.rewriter.fresh(low, text, DRAWS, seeds(), distributions=False):
            for kind, value in events(r, words):
                tallies.setdefault(kind, Counter())[value] += 1
        counts.append(tallies)
    for a, b in combinations(range(len(SHAPES)), 2):
        for x, y in ((a, b), (b, a)):
            _compare_events(counts[x], counts[y], (SHAPES[x], SHAPES[y]), float(low.config.epsilon))


def _compare_events(one: dict[str, Counter], other: dict[str, Counter], texts: Sequence[str], epsilon: float) -> None:
    """Run Fisher's exact test for each event."""
    for kind, values in one.items():
        for value, times in values.items():
            others = other.get(kind, Counter())[value]
            if times > others and _chance(times, others) * math.e < LEVEL / EVENTS_COMPARED:
                what, _, word = kind.partition(" ")
                message = (
                    f"At ε = {epsilon:g}, {times} of {DRAWS} rewrites of {name(texts[0])} {EVENTS[what]} "
                    f"“{word or value}”, and {others} of {DRAWS} of {name(texts[1])}."
                )
                raise Breach(texts[0], message, _REASON, other=texts[1])


def _chance(times: int, others: int) -> float:
    """Return the p-value of this many or more in the first half, if both halves have one distribution."""
    both = times + others
    ways = sum(math.comb(DRAWS, k) * math.comb(DRAWS, both - k) for k in range(times, min(DRAWS, both) + 1))
    return ways / math.comb(2 * DRAWS, both)
