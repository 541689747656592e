"""Every field of a guarantee, recomputed from the stated distributions or, without these, from rewrites.

``CHECKERS`` has one function for each field of :class:`~dptext_core.privacy.guarantee.Guarantee`. A checker raises
Breach if the field contradicts the mechanism. Otherwise it returns why the field could not be checked, a clause that
ends with a full stop, or "" if it was checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..privacy.guarantee import Guarantee
from ..privacy.numbers import number
from ..support.checks import pluralize
from .checks import Subject
from .exact import TOLERANCE
from .free_draws import check_free_draws
from .guarantee_distances import check_among, check_distance, check_group, check_largest, check_metric, check_near
from .release_statistics import LEVEL, has_alignment, with_small_epsilon
from .report import Check
from .rules import Breach
from .shapes import check_adjacency
from .statement import NAME, Column, Statement, name, statement

Checker = Callable[[Statement], str]
#: Number of repetitions of one word in a text whose guarantee counts it once, and of rewrites of that text.
TIMES, REPEATED = 4, 12
_NEVER = -1e300  # replaces −∞, so that two of them differ by 0


def guarantee_of_outputs(subject: Subject) -> Check | None:
    """Check :func:`stated_guarantee` before whole outputs are tested."""
    return None if has_alignment(subject.m) else every_field(subject)


def stated_guarantee(subject: Subject) -> Check | None:
    """Check each field of the guarantee against the mechanism; None if whole outputs are tested."""
    return every_field(subject) if has_alignment(subject.m) else None


def every_field(subject: Subject) -> Check | None:
    """Check each field of the guarantee; None if the caller's claim replaces it."""
    if subject.claim is not None:
        return None
    guarantee = subject.guarantee
    names = ("reason", "seeded", "never", "loaded") if guarantee.notion == "none" else tuple(CHECKERS)
    st, before = statement(subject), subject.rewriter.n
    unclear: list[str] = []
    for field in names:
        subject.meter.task.check()
        try:
            reason = CHECKERS[field](st)
        except Breach as breach:
            return Check(NAME, "refuted", f"The field {field} of the guarantee.", breach.reason, breach.witness)
        if reason:
            unclear.append(reason)
    draws = subject.rewriter.n - before + len(st.results)
    compared = sum(len(c.probes) for c in st.columns)
    looked = (
        f"{len(names)} fields of the guarantee of {len(st.texts)} texts, recomputed from {compared} stated "
        f"distributions and {draws:,} rewrites: they agree."
    )
    if unclear:
        return Check(NAME, "not tested", "", unclear[0], draws=draws)
    blind = "a field of the guarantee that is wrong for other texts only"
    return Check(NAME, "tested", looked, blind=blind, draws=draws)


def _field_breach(field: str, text: str, details: str, other: str | None = None) -> Breach:
    reason = f"the field {field} of the guarantee does not match the mechanism."
    return Breach(text, details, reason, other=other)


def _exceeds(a: float, b: float) -> bool:
    """Return whether ``a`` is larger than ``b`` beyond rounding."""
    return a > b + TOLERANCE * max(1.0, abs(b))


def _each(g: Guarantee) -> tuple[float, ...]:
    """Return the ε of every draw."""
    return g.spent or (g.epsilon,) * g.draws


# --- losses from stated distributions


def _differences(column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest log-ratio and the width of all log-ratios of each two distributions, per unit of distance.
    float64 (n, n), −1 if two are not compared."""
    x = np.maximum(column.log_p, _NEVER)
    most, width = (np.full(column.apart.shape, -1.0) for _ in range(2))
    with np.errstate(divide="ignore", invalid="ignore"):
        for a in range(len(x)):
            gap = x - x[a]
            high, low = gap.max(axis=1), gap.min(axis=1)
            for out, value in ((most, np.maximum(high, -low)), (width, high - low)):
                value = np.where(value > -_NEVER / 2, np.inf, value)
                per = np.where(value <= TOLERANCE, 0.0, value / column.apart[a])
                out[a] = np.where(np.isfinite(column.apart[a]), per, -1.0)
    return most, width


def check_notion(st: Statement) -> str:
    """Check that a pure or approximate guarantee compares any two words."""
    if st.guarantee.notion in ("pure", "approx") and len(st.words) > 1:
        left_out = np.argwhere(np.isnan(st.apart) & ~np.eye(len(st.words), dtype=bool))
        if len(left_out):
            a, b = (st.words[i] for i in left_out[0])
            message = f"The guarantee claims to cover any two words, but does not cover {name(a)} and {name(b)}."
            raise _field_breach("notion", a, message, b)
    return ""


def check_epsilon(st: Statement) -> str:
    """Check that no stated distribution loses more than ε, and that no part spends more."""
    g = st.guarantee
    for t, r in st.results:
        # A part may take several draws if the guarantee counts more draws than there are parts.
        more = t.guarantee.draws - sum(u.is_sampled for u in r.units) if t.guarantee.expected is None else 0
        most = t.guarantee.epsilon * (1 + max(0, more))
        if (spent := max((u.epsilon for u in r.units), default=0.0)) > most * (1 + TOLERANCE):
            message = f"A span of a rewrite of {name(t.text)} spends {spent:g}, but ε is {t.guarantee.epsilon:g}."
            raise _field_breach("epsilon", t.text, message)
    if g.notion != "approx":
        for column in st.columns:
            loss = _differences(column)[0]
            a, b = divmod(int(np.argmax(loss)), len(loss))
            if _exceeds(float(loss[a, b]), g.epsilon):
                one, other = column.probes[a].text, column.probes[b].text
                message = f"The loss between {name(one)} and {name(other)} is {loss[a, b]:.6g}, but ε is {g.epsilon:g}."
                raise _field_breach("epsilon", one, message, other)
    return ""


def check_delta(st: Statement) -> str:
    """Check that two stated distributions differ by at most δ at ε."""
    g = st.guarantee
    if g.notion == "approx":
        for column in st.columns:
            p = np.exp(column.log_p)
            for a in range(len(p)):
                excess = np.maximum(p[a] - math.exp(min(g.epsilon, 700.0)) * p, 0.0).sum(axis=1)
                excess[~np.isfinite(column.apart[a])] = 0.0
                b = int(np.argmax(excess))
                if _exceeds(float(excess[b]), g.delta):
                    one, other = column.probes[a].text, column.probes[b].text
                    message = f"{name(one)} and {name(other)} differ by δ = {excess[b]:.3g} at ε = {g.epsilon:g}."
                    raise _field_breach("delta", one, message, other)
    return ""


def check_bounded_range(st: Statement) -> str:
    """Check that the log-ratios of two stated distributions lie in an interval of length ε."""
    g = st.guarantee
    if not g.bounded_range:
        return ""
    for column in st.columns:
        width = _differences(column)[1]
        a, b = divmod(int(np.argmax(width)), len(width))
        if _exceeds(float(width[a, b]), g.epsilon):
            one, other = column.probes[a].text, column.probes[b].text
            message = (
                f"Between {name(one)} and {name(other)} the log-ratios span {width[a, b]:.6g}, but a bounded range "
                f"allows {g.epsilon:g}, so the composed total would be too small."
            )
            raise _field_breach("bounded_range", one, message, other)
    if not st.columns:
        return "a bounded range is stated, but without a distribution it cannot be checked."
    return ""


# --- counts and totals


def check_unit(st: Statement) -> str:
    """Check that equal words share one draw if the guarantee counts them once."""
    m = st.m
    if not st.guarantee.unit:
        raise _field_breach("unit", st.texts[0].text, "The guarantee does not say what one draw protects.")
    if m.by_word is None or not st.words:
        return ""
    word, low = st.words[0], with_small_epsilon(m)
    text = " ".join([word] * TIMES)
    prepared = low.prepare(text)
    places = [i for i in range(TIMES) if m.by_word.token_row(prepared, i) is not None]
    if len(prepared.document.tokens) != TIMES or len(places) <= low.guarantee(text).draws:
        return ""
    for r in st.subject.rewriter.fresh(low, prepared, REPEATED, st.subject.seeds("unit")()):
        released = {s.replacement.casefold() for s in r.steps if s.index in places}
        if len(released) > 1:
            message = (
                f"{name(text)} has {len(places)} sampled words and became {name(r.text)}. They are sampled separately, "
                f"but the guarantee counts {low.guarantee(text).draws} draws."
            )
            raise _field_breach("draws", text, message)
    return ""


def check_draws(st: Statement) -> str:
    """Check that every draw that depends on its word, and every part that spends ε, is counted."""
    for t in st.texts:
        pieces = max((sum(u.is_sampled and u.epsilon > 0 for u in r.units) for r in t.results), default=0)
        if (need := max(t.least_draws, pieces)) > t.guarantee.draws:
            message = f"{name(t.text)} takes {pluralize(need, 'draw')}, but the guarantee counts {t.guarantee.draws}."
            raise _field_breach("draws", t.text, message)
    return ""


def check_total(st: Statement) -> str:
    """Check that the total is at least the sum over the draws, as stated and in every rewrite."""
    for t in st.texts:
        g = t.guarantee
        spent = [("its draws", math.fsum(_each(g))), ("draws of the largest ε", g.epsilon * g.draws * (not g.spent))]
        spent += [("the spans of a rewrite", math.fsum(u.epsilon for u in r.units if u.is_sampled)) for r in t.results]
        for what, together in spent:
            if _exceeds(together, g.total):
                message = f"For {name(t.text)}, {what} spend {number(together)}, but the total is {number(g.total)}."
                raise _field_breach("total", t.text, message)
    return ""


def check_expected(st: Statement) -> str:
    """Check that the expected total is between 0 and the worst case, and near the mean of the rewrites."""
    for t in st.texts:
        g = t.guarantee
        if g.expected is None:
            continue
        if not g.expected >= 0 or _exceeds(g.expected, g.total):
            message = f"For {name(t.text)}, the expected total is {g.expected:g}, but the worst case is {g.total:g}."
            raise _field_breach("expected", t.text, message)
        if t.results and st.m.alignment is not None:
            results = st.subject.rewriter.fresh(st.m, t.text, 8 * len(t.results), st.subject.seeds("expected")())
            mean = float(np.mean([math.fsum(u.epsilon for u in r.units if u.is_sampled) for r in results]))
            # Hoeffding's bound for numbers in [0, total].
            off = g.total * math.sqrt(math.log(2 / LEVEL) / (2 * len(results)))
            if abs(mean - g.expected) > off:
                message = f"Rewrites of {name(t.text)} spend {mean:.3g} on average, but {g.expected:.3g} is expected."
                raise _field_breach("expected", t.text, message)
    return ""


def check_spent(st: Statement) -> str:
    """Check that each draw has an ε that is at least its loss, and that a word without ε does not affect its output."""
    for t in st.texts:
        g = t.guarantee
        if not g.spent:
            continue
        if len(g.spent) != g.draws or _exceeds(max(g.spent), g.epsilon) or _exceeds(g.epsilon, max(g.spent)):
            message = (
                f"For {name(t.text)}, the field spent has {pluralize(len(g.spent), 'draw')} of at most "
                f"ε = {max(g.spent):g}, but the guarantee counts {pluralize(g.draws, 'draw')} of ε = {g.epsilon:g}."
            )
            raise _field_breach("spent", t.text, message)
    if st.guarantee.notion != "approx":
        _losses_are_spent(st)
    return check_free_draws(st)


def _losses_are_spent(st: Statement) -> None:
    by_word = st.m.by_word is not None
    loss: dict[object, float] = {}
    for column in st.columns if st.m.alignment is not None else ():
        for p, value in zip(column.probes, _differences(column)[0].max(axis=1).tolist(), strict=True):
            loss[p.word.casefold() if by_word else (p.prepared.text, p.index)] = value
    for t in st.texts:
        keys = {w.casefold() if by_word else (t.text, i): None for i, w in enumerate(t.words) if i in (t.places or ())}
        lost = sorted((loss[k] for k in keys if k in loss), reverse=True)
        for value, spent in zip(lost, sorted(_each(t.guarantee), reverse=True), strict=False):
            if _exceeds(value, spent):
                message = f"For {name(t.text)}, a draw should spend {spent:g}, but its loss is {value:.6g}."
                raise _field_breach("spent", t.text, message)


# --- fields without numbers


def check_exposed(st: Statement) -> str:
    """Check that something is listed as not protected if a rewrite shows more than sampled words."""
    for t, r in st.results:
        shown = st.m.alignment is not None or any(p.origin == "copied" for p in r.releases)
        if shown and r.text.strip() and not t.guarantee.exposed:
            message = (
                f"A rewrite of {name(t.text)} shows how many words it has, but nothing is listed as not "
                "protected."
            )
            raise _field_breach("exposed", t.text, message)
    return ""


def check_reason(st: Statement) -> str:
    """Check that a missing guarantee has a reason."""
    g = st.guarantee
    if (g.notion == "none") != bool(g.reason):
        text = st.texts[0].text if st.texts else ""
        raise _field_breach("reason", text, f"The notion is {g.notion!r}, but the reason is {g.reason!r}.")
    return ""


def check_seeded(st: Statement) -> str:
    """Check that exactly the results with a seed are marked as seeded."""
    for t, r in st.results:
        if t.guarantee.seeded or r.guarantee.seeded != (r.seed is not None):
            seed = "without a seed" if r.seed is None else f"with the seed {r.seed}"
            message = f"A rewrite of {name(t.text)} {seed} has seeded = {r.guarantee.seeded}."
            raise _field_breach("seeded", t.text, message)
    return ""


def _check_count(field: str, st: Statement) -> str:
    wanted = st.m.never.counts()[field]
    for t in st.texts:
        if (stated := getattr(t.guarantee, field)) != wanted:
            message = (
                f"The blocklist has {pluralize(wanted, 'word')}, but the guarantee of {name(t.text)} says {stated:,}."
            )
            raise _field_breach(field, t.text, message)
    return ""


#: One checker per field.
CHECKERS: dict[str, Checker] = {
    "notion": check_notion,
    "epsilon": check_epsilon,
    "delta": check_delta,
    "unit": check_unit,
    "adjacency": check_adjacency,
    "draws": check_draws,
    "total": check_total,
    "expected": check_expected,
    "spent": check_spent,
    "bounded_range": check_bounded_range,
    "exposed": check_exposed,
    "reason": check_reason,
    "seeded": check_seeded,
    "metric": check_metric,
    "distance": check_distance,
    "near": check_near,
    "largest": check_largest,
    "group": check_group,
    "among": check_among,
    "never": lambda st: _check_count("never", st),
    "loaded": lambda st: _check_count("loaded", st),
}
