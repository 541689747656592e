"""Test that a release does not depend on flagged words if the guarantee says so.

Pairs of texts differ only in the length, first letter and gender of flagged words. They must have the same stated
distributions, and releases that cannot be distinguished. If the guarantee does not name words that decide a flag, a
change of one sampled word must not change any flag.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.capabilities import public_context
from ..privacy.distribution import TokenDistribution
from ..privacy.kinds import ConditionKind, Notion, NotProtectedKind
from .checks import Subject
from .release_statistics import LEVEL
from .report import Check
from .rules import Breach, dependence_breach
from .sampled import two_samples

NAME = "flagged words"
#: Texts with places for flagged words, and words for them: two names that most lists have, an age, a month.
TEXTS = (
    "My doctor {0} {1} changed the dose on Monday, and {0} was sick.",
    "She saw {0} in {3} and paid {2} for the old letter.",
    "The nurse told {0} {1}, {2}, that the pain began in {3}.",
)
WORDS = (
    ("Omar", "Thomas", "67", "January"),
    ("Julia", "Ian", "24", "September"),
    ("Ali", "Elizabeth", "99", "June"),
    ("Alexandra", "Anna", "18", "July"),
)
#: Replacements for other words in the texts, which are on no list.
OTHERS = ("window", "garden", "music")
#: Number of rewrites of each text with the same noise, and of each if those differ.
SAME_NOISE, FRESH = 8, 200


def flagged_words(subject: Subject) -> Check | None:
    """Test texts that differ only in flagged words."""
    m, guarantee = subject.m, subject.guarantee
    same = {c.kind for c in guarantee.adjacency.conditions}
    if guarantee.notion is Notion.NONE or ConditionKind.SAME_FLAGS not in same:
        return None
    pairs = rewrites = 0
    try:
        for a, b in _pairs(m):
            pairs += 1
            _compare_stated(m, a, b)
            rewrites += _compare_releases(subject, a, b)
        if not any(entry.kind is NotProtectedKind.FLAGS_IN_CONTEXT for entry in guarantee.exposed):
            _compare_flags(m)
    except Breach as breach:
        return Check(NAME, "refuted", f"{pairs} pairs of texts.", breach.reason, breach.witness, draws=rewrites)
    if not pairs:
        reason = "no two texts that differ only in flagged words have the same flags."
        return Check(NAME, "not tested", "", reason, is_required=False)
    looked = (
        f"{pairs} pairs of texts that differ in flagged words alone: their stated distributions are equal, and "
        f"{rewrites:,} rewrites do not distinguish them."
    )
    return Check(NAME, "tested", looked, draws=rewrites)


def _pairs(m: Mechanism) -> Iterator[tuple[str, str]]:
    for text in TEXTS:
        first, *others = (text.format(*words) for words in WORDS)
        yield from ((first, other) for other in others if m.audit_support.adjacent(first, other))


def _compare_stated(m: Mechanism, a: str, b: str) -> None:
    one, other = m.prepare(a), m.prepare(b)
    for i in range(len(one.document.words)):
        distributions: list[TokenDistribution | None] = []
        for prepared in (one, other):
            try:
                distributions.append(m.distribution(prepared, i))
            except NoDistribution:
                distributions.append(None)
        p, q = distributions
        alike = (p is None) == (q is None)
        if p is not None and q is not None:
            alike = list(p.candidates) == list(q.candidates) and np.allclose(p.log_probs, q.log_probs, atol=1e-9)
        if not alike:
            word = one.document.words[i]
            raise dependence_breach("stated distribution", a, f"It differs at “{word}” between “{a}” and “{b}”.", b)


def _compare_releases(subject: Subject, a: str, b: str) -> int:
    """Return how many rewrites were compared. Raises Breach if they distinguish the texts."""
    m, rewriter = subject.m, subject.rewriter
    noise = [subject.stream.at(NAME, k) for k in range(SAME_NOISE)]
    if all(rewriter.one(m, a, one).text == rewriter.one(m, b, one).text for one in noise):
        return 2 * SAME_NOISE
    some = [rewriter.fresh(m, m.prepare(t), FRESH, subject.stream.at(NAME, "fresh", k)) for k, t in enumerate((a, b))]
    columns = zip(*([[s.replacement for s in r.steps] for r in results] for results in some), strict=True)
    steps = len(some[0][0].steps)
    assert all(len(row) == steps for pair in columns for row in pair)
    for i in range(steps):
        words = [[r.steps[i].replacement for r in results] for results in some]
        known = sorted({w for side in words for w in side})
        p, _ = two_samples(*(np.array([side.count(w) for w in known]) for side in words))
        if p < LEVEL / steps:
            shown = f"“{some[0][0].steps[i].original}” is replaced differently in “{a}” and in “{b}”."
            raise dependence_breach("release", a, shown, b)
    return 2 * (SAME_NOISE + FRESH)


def _compare_flags(m: Mechanism) -> None:
    """Raise Breach if another word of the text changes the flags, or anything else that two texts must share."""
    for text in TEXTS:
        original = text.format(*WORDS[0])
        prepared = m.prepare(original)
        drawn = () if m.alignment is None else m.alignment.sampled_tokens(prepared)
        for i in drawn:
            token = prepared.document.tokens[i]
            for word in OTHERS:
                other = original[: token.start] + m.language.case(word, token.text[0].isupper()) + original[token.end :]
                if token.text[0].islower() and _contexts(m, prepared, i) != _contexts(m, m.prepare(other), i):
                    message = f"The flags differ between “{original}” and “{other}”."
                    reason = (
                        "another word of the text affects the flags, but the guarantee does not list it as not "
                        "protected."
                    )
                    raise Breach(original, message, reason, other=other)


def _contexts(m: Mechanism, prepared: Prepared, but: int) -> list[Hashable]:
    """Return the public context of each other token's draw, which includes the flags."""
    return [public_context(m, prepared, i) for i in range(len(prepared.document.words)) if i != but]
