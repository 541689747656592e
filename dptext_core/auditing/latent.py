"""Test the stated noise of a latent mechanism against its rewrites.

Two public texts, as far apart as the noise distinguishes them, are rewritten many times. A classifier learns from the
words of one half of the rewrites which text is the original, and is applied to the other half. It says "first" for the
first text with probability TPR and for the second with FPR, both bounded by Clopper and Pearson. For any classifier,
(ε, δ)-DP requires TPR ≤ e^ε·FPR + δ and 1 − FPR ≤ e^ε·(1 − TPR) + δ, with the ε of the noise for these two texts
(``latent_loss``). TPR − FPR is at most the total variation of the noise between the two (``latent_advantage``).

The tests use small ε, at which missing or insufficient noise shows: one at which outputs hardly depend on the text,
and, if the total variation is stated, the one at which it is ADVANTAGE.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ..mechanisms.base import Mechanism, Prepared
from ..privacy.numbers import at_least, bound
from ..result import RewriteResult
from ..support.statistics import chance_for, lower_limit, upper_limit
from .checks import Subject
from .inputs import TEXTS
from .release_statistics import LEVEL, noise_of, with_epsilon, with_small_epsilon
from .report import Check, Witness, format_share

NAME = "noise behind a text"
#: Number of rewrites of each text at each ε; and for slow mechanisms.
DRAWS, SLOW_DRAWS = 300, 100
#: The advantage that the stated noise allows at the ε of the test for insufficient noise.
ADVANTAGE = 0.15
_WORD = re.compile(r"\w+")
#: More texts to choose from, besides those of the audit.
_TEXTS = (
    *TEXTS,
    "",
    "play some music by mozart",
    "what flights go from boston to denver",
    "book a table for two",
    "will it rain tomorrow in paris",
)


def behind_a_text(subject: Subject) -> Check | None:
    """Test rewrites of two texts against the noise that is stated between them."""
    m = subject.m
    prepared = [m.prepare(t, task=subject.meter.task) for t in _TEXTS]
    losses = {
        (a, b): m.audit_support.latent_loss(prepared[a], prepared[b]) for a in range(len(_TEXTS)) for b in range(a)
    }
    known = {pair: loss for pair, loss in losses.items() if loss is not None}
    if not known:
        return None
    one, other = (prepared[i] for i in max(known, key=lambda pair: known[pair]))
    n = SLOW_DRAWS if m.slow_to_prepare and not subject.thorough else DRAWS
    stream = subject.stream.at(NAME)
    # Tests at each ε: two sides of the guarantee, and the advantage.
    at = _epsilons(m, one, other)
    level = LEVEL / (3 * len(at))
    looked, least, draws = [], [], 0
    for k, epsilon in enumerate(at):
        subject.meter.at(0.9 + 0.02 * k)
        mine = with_epsilon(m, epsilon)
        rewrites = [subject.rewriter.fresh(mine, p, n, noise_of(stream, k, j)) for j, p in enumerate((one, other))]
        draws += 2 * n
        loss = mine.audit_support.latent_loss(one, other)
        delta = max(mine.guarantee(p).total_delta for p in (one, other))
        advantage = mine.audit_support.latent_advantage(one, other)
        half = n // 2
        tpr, fpr = count_distinguished([r[:half] for r in rewrites], [r[half:] for r in rewrites])
        shown = lower_bound(tpr, fpr, n - half, level, delta)
        gap = float(lower_limit(tpr, n - half, level)) - float(upper_limit(fpr, n - half, level))
        looked.append(f"{n:,} rewrites of each at ε = {epsilon:.3g}")
        least.append(_smallest_share(n - half, level, loss or 0.0, delta, advantage))
        if loss is None:
            continue
        if shown > loss * (1 + 1e-9) + 1e-9:
            message = f"Their loss is at least {at_least(shown)}, but the stated noise allows {bound(loss)}"
        elif advantage is not None and gap > advantage + 1e-9:
            message = (
                f"The shares differ by at least {100 * gap:.0f} percentage points, but the stated noise allows "
                f"{100 * advantage:.0f}"
            )
        else:
            continue
        message = (
            f"A classifier attributed {tpr} of {n - half} rewrites of “{one.text}” and {fpr} of {n - half} of "
            f"“{other.text}” to the first text (ε = {epsilon:.3g}). {message}."
        )
        reason = "rewrites distinguish two texts better than the stated noise allows."
        witness = Witness(
            one.text,
            other.text,
            (),
            math.log(max(tpr, 0.5) / half),
            math.log(max(fpr, 0.5) / half),
            1.0,
            details=message,
        )
        return Check(NAME, "refuted", f"{'; '.join(looked)}.", reason, witness, draws=draws)
    leak = min(least)
    message = (
        f"“{one.text}” and “{other.text}”, the pair that the stated noise protects least: {'; '.join(looked)}. A leak "
        f"is detected if {format_share(leak)} of the rewrites identify the text with certainty"
    )
    blind = (
        f"noise that is smaller than stated, as long as fewer than {format_share(leak)} of the rewrites identify "
        "their text"
    )
    detectable = lower_bound(n - n // 2, 0, n - n // 2, level)
    return Check(NAME, "tested", f"{message}.", detectable=detectable, leak=leak, blind=blind, draws=draws)


def _epsilons(m: Mechanism, a: Prepared, b: Prepared) -> list[float]:
    """Return a very small ε, and the one with the stated advantage ADVANTAGE; at most that of the mechanism."""
    epsilon = float(m.config.epsilon)
    out = [float(with_small_epsilon(m).config.epsilon)]
    if m.audit_support.latent_advantage(a, b) is not None:
        low, high = out[0], epsilon
        for _ in range(40):
            middle = math.sqrt(low * high)
            value = with_epsilon(m, middle).audit_support.latent_advantage(a, b)
            low, high = (middle, high) if value is None or value <= ADVANTAGE else (low, middle)
        out.append(low)
    return list(dict.fromkeys(out))


def count_distinguished(
    first: Sequence[Sequence[RewriteResult]], second: Sequence[Sequence[RewriteResult]]
) -> tuple[int, int]:
    """Learn from the first half of the rewrites of two texts, and count the second halves' rewrites classified as the
    first text."""
    counts = [Counter(f for r in results for f in features(r.text)) for results in first]
    numbers = [len(results) for results in first]

    def score(text: str) -> float:
        return sum(
            math.log((counts[0][f] + 0.5) / (numbers[0] + 1)) - math.log((counts[1][f] + 0.5) / (numbers[1] + 1))
            for f in features(text)
        )

    # The best threshold for the first half, with each score relative to the others.
    scores = sorted([(score(r.text), 1) for r in first[0]] + [(score(r.text), -1) for r in first[1]])
    best, cut, right = 0, 0.0, 0
    for value, side in reversed(scores):
        right += side
        if right > best:
            best, cut = right, value
    return tuple(sum(score(r.text) >= cut for r in results) for results in second)  # type: ignore[return-value]


def features(text: str) -> set[str]:
    """Return the features of a text: the whole text, its words, its word pairs, and their number."""
    words = _WORD.findall(text.casefold())
    pairs = {f"{a} {b}" for a, b in pairwise(words)}
    return {f"= {text}", f"# {len(words)}", *words, *pairs}


def lower_bound(tpr: int, fpr: int, n: int, level: float, delta: float = 0.0) -> float:
    """Return a lower bound on ε between two texts from n rewrites of each; 0 if there is none. Each of the two sides is
    wrong with probability at most 2·level."""
    value = 0.0
    for hits, others in ((tpr, fpr), (n - fpr, n - tpr)):
        low, high = float(lower_limit(hits, n, level)) - delta, float(upper_limit(others, n, level))
        if low > 0:
            value = max(value, math.log(low / high))
    return value


def _smallest_share(n: int, level: float, loss: float, delta: float, advantage: float | None) -> float:
    """Return the smallest share of rewrites with certain identification that is refuted with probability 95%."""

    def refuted(hits: int) -> bool:
        if lower_bound(hits, 0, n, level, delta) > loss:
            return True
        gap = float(lower_limit(hits, n, level)) - float(upper_limit(0, n, level))
        return advantage is not None and gap > advantage

    hits = bisect_left(range(1, n + 1), True, key=refuted) + 1
    return chance_for(hits, n) if hits <= n else 1.0
