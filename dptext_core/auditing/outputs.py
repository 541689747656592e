"""Audit whole outputs, for mechanisms without aligned words or without stated distributions.

Events that any reader of two rewrites could observe must not distinguish the texts: the whole text, its first and last
part, the number of parts, and whether it contains a word of one of the texts. One half of the rewrites chooses the pair
and the event. The other half gives Clopper-Pearson bounds of its two probabilities, simultaneous over all tests
(Bonferroni). With these bounds P_low and Q_up, (ε, δ)-DP requires ln((P_low − δ)/Q_up) ≤ ε.

If parts have distributions, those of the first part are also compared exactly: nothing was sampled before it, so each
text states one distribution. A mechanism may also state the distribution of a part for another original text, given the
same earlier parts. Then all parts are compared, which is the guarantee of one draw, and a test shows whether parts
follow their stated distributions. If the text depends only on a noisy value whose loss has a formula
(``AuditSupport.latent_loss``), that loss is compared exactly: the text is computed from it, so it loses no more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..mechanisms.base import Mechanism, Prepared
from ..privacy.guarantee import Guarantee
from ..privacy.numbers import at_least, bound, scientific
from ..support.statistics import upper_limit
from .checks import Seeds, Subject
from .exact import TOLERANCE
from .inputs import TEXTS
from .output_events import OutputSample, bounded_loss, sample_outputs, words_of
from .release_statistics import LEVEL
from .report import NOR, AuditReport, Check, Witness, format_probability, format_share
from .rules import Breach
from .sampled import TESTED
from .stated_pieces import every_piece, find_misstatement, first_pieces, piece_likelihood

#: Number of rewrites of each text.
DRAWS = 2_000
#: The same if every part is also compared exactly.
DRAWS_BESIDE = 200
#: Number of words of each text whose presence in an output is tested.
_WORDS = 12
_UNDERSTATED = "rewrites distinguish two texts better than the stated noise allows."


def audit_outputs(report: AuditReport, subject: Subject) -> AuditReport:
    """Return the completed report. The claim is the total of a text, since its whole output is tested."""
    m, claim, meter = subject.m, subject.claim, subject.meter
    given = list(subject.inputs)
    if len(given) == 1:  # it can only be compared with itself
        text = given[0].text if isinstance(given[0], Prepared) else given[0]
        given += [t for t in TEXTS if t != text and m.audit_support.adjacent(given[0], t)][:1]
    prepared = [t if isinstance(t, Prepared) else m.prepare(t, task=meter.task) for t in given]
    every = [(a, b) for a in range(len(prepared)) for b in range(len(prepared)) if a != b]
    # Under the caller's claim, any two inputs are neighbours.
    pairs = every if claim is not None else [(a, b) for a, b in every if m.audit_support.adjacent(given[a], given[b])]
    half = max(50, (subject.draws or (DRAWS_BESIDE if piece_likelihood(m) else DRAWS)) // 2)
    try:
        texts = _sample_all(subject, prepared, half)
    except Breach as broken_rule:
        return replace(report, verdict="refuted", witness=broken_rule.witness, reason=broken_rule.reason)
    guarantee = max((t.guarantee for t in texts), key=lambda g: g.total)
    limits = {pair: _limit([texts[i].guarantee for i in pair], claim) for pair in pairs}
    every_limit = list(limits.values()) or [_limit([guarantee], claim)]
    # "Holds" applies to all pairs, so the draws must be able to show the largest ε and the smallest δ.
    claimed, delta = max(e for e, _ in every_limit), min((d for _, d in every_limit if d), default=0.0)
    report = replace(
        report,
        notion=guarantee.notion,
        claimed=claimed,
        delta=delta,
        exact=False,
        inputs=len(texts),
        pairs=-(-len(pairs) // 2),
        draws=2 * half * len(texts),
        of="the whole output",
    )
    if (breach := find_misstatement(texts)) is not None:
        return replace(report, verdict="refuted", witness=breach[0], sampler_p=0.0, reason=breach[1])
    if claim is None and guarantee.notion == "metric":
        reason = "the guarantee counts distances between words, which whole outputs do not have. Enter an ε to test."
        return replace(report, verdict="inconclusive", reason=reason, pairs=0)
    losses, pieces = _compare(report, subject, texts, limits, guarantee, half)
    if losses.verdict:
        return losses
    reason = _lacking(losses, subject, guarantee, (claimed, delta), half, pieces is not None)
    if pieces is not None and not reason:
        return replace(pieces, verdict="holds", tested=f"{pieces.tested} {losses.tested}")
    return replace(losses, verdict="inconclusive" if reason else "holds", reason=reason)


def _sample_all(subject: Subject, prepared: Sequence[Prepared], half: int) -> list[OutputSample]:
    """Return the rewrites of all texts as events. Raises Breach."""
    words = sorted({w for p in prepared for w in words_of(p.text)[:_WORDS]})
    seeds, share = Seeds(subject.stream), 1 / len(prepared)
    return [
        sample_outputs(subject.m, p, half, words, seeds, subject.meter, subject.rewriter, k / len(prepared), share)
        for k, p in enumerate(prepared)
    ]


def _compare(
    report: AuditReport,
    subject: Subject,
    texts: Sequence[OutputSample],
    limits: Mapping[tuple[int, int], tuple[float, float]],
    guarantee: Guarantee,
    half: int,
) -> tuple[AuditReport, AuditReport | None]:
    """Return the report with the loss of whole outputs, and that of every part if one is stated. A refuting report has
    its verdict."""
    m, claim, meter, pairs = subject.m, subject.claim, subject.meter, list(limits)
    report, broken = first_pieces(report, texts, pairs, guarantee, claim, meter)
    if broken is not None:
        return broken, None
    pieces = every_piece(report, m, texts, pairs, guarantee, claim, subject.stream, meter, subject.rewriter)
    if pieces is not None and pieces.verdict == "refuted":
        return pieces, None
    report = bounded_loss(report, texts, limits, half, meter)
    if report.measured > report.claimed + TOLERANCE * max(1.0, report.claimed):
        return replace(report, verdict="refuted"), None
    stated = _latent_limits(m, texts, limits)
    against = bounded_loss(report, texts, stated, half, meter, LEVEL / (2 * TESTED))
    if stated and against.measured > against.claimed * (1 + TOLERANCE) + TOLERANCE:
        return replace(against, verdict="refuted", reason=_UNDERSTATED, of="its stated noise"), None
    report = _latent(report, texts, limits, stated)
    if report.exact and report.measured > report.claimed * (1 + TOLERANCE) + TOLERANCE:
        return replace(report, verdict="refuted"), None
    return report, pieces


def _lacking(
    report: AuditReport,
    subject: Subject,
    guarantee: Guarantee,
    limit: tuple[float, float],
    half: int,
    states_pieces: bool,
) -> str:
    """Return why a report that does not refute is inconclusive; "" if it holds. limit: the ε and δ that the draws must
    be able to show, unless losses are exact or every part states its own."""
    claimed, delta = limit
    if subject.claim is None and guarantee.notion == "none":
        return f"there is no guarantee: {guarantee.reason}"
    if not report.pairs:
        if report.inputs == 1:
            return "one text cannot be compared. Add another text that the guarantee covers."
        return "the guarantee covers no two of these texts, so there is nothing to compare."
    unseen = float(upper_limit(0, half, (1 - report.confidence) / (2 * TESTED)))
    if 0 < delta < unseen and not report.exact:
        return (
            f"δ = {scientific(delta)} allows failures too rare to detect: {half:,} rewrites of a text show only "
            f"those with probability {format_probability(math.log(unseen))} or more."
        )
    if report.detectable < claimed and not report.exact and not states_pieces:
        return (
            f"with {2 * half:,} rewrites of each text, the largest detectable loss is "
            f"{at_least(report.detectable)}, less than the claimed {bound(claimed)}."
        )
    return ""


def output_checks(report: AuditReport) -> tuple[Check, ...]:
    """Return the check of whole outputs, and of their parts if those have distributions."""
    name, reasons = f"loss of {report.of}", (report.reason, report.witness)
    if report.verdict == "refuted":
        return (Check(name, "refuted", "", *reasons, report.detectable, draws=report.draws),)
    out = [Check("stated loss", "proven", report.proven, "", report.witness)] if report.proven else []
    if report.verdict == "inconclusive":
        return (*out, Check(name, "not tested", "", *reasons, report.detectable, draws=report.draws))
    rare = min(1.0, 6 / max(1, report.draws // max(1, report.inputs)))
    blind = f"a fault in fewer than {format_share(rare)} of the rewrites of a text"
    if report.detectable < report.claimed < math.inf:
        blind = f"a loss above {at_least(report.detectable)}, from draws alone{NOR}{blind}"
    tested = Check(
        "whole outputs", "tested", report.tested, "", report.witness, report.detectable, rare, blind, draws=report.draws
    )
    return (*out, tested)


def _limit(guarantees: Sequence[Guarantee], claim: float | None) -> tuple[float, float]:
    """Return the ε and δ that two whole texts, or one, may lose."""
    if claim is not None:
        return claim, 0.0
    totals = [math.inf if g.notion == "none" else g.total for g in guarantees]
    return max(totals), max(g.total_delta for g in guarantees)


def _latent_limits(
    m: Mechanism, texts: Sequence[OutputSample], limits: Mapping[tuple[int, int], tuple[float, float]]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the ε and δ of each pair by the stated noise; empty if it is not stated for some pair."""
    out: dict[tuple[int, int], tuple[float, float]] = {}
    for (a, b), (_, delta) in limits.items():
        loss = m.audit_support.latent_loss(texts[a].prepared, texts[b].prepared)
        # A stated loss with a δ implies nothing for a claim without one.
        if loss is None or delta < max(texts[i].guarantee.total_delta for i in (a, b)):
            return {}
        out[a, b] = loss, delta
    return out


def _latent(
    report: AuditReport,
    texts: Sequence[OutputSample],
    limits: Mapping[tuple[int, int], tuple[float, float]],
    stated: Mapping[tuple[int, int], tuple[float, float]],
) -> AuditReport:
    """Return the exact loss of the noisy values behind the texts, over all pairs, if the mechanism states one."""
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
        f"Some noisy vectors are e^{at_least(loss)} times as likely for “{one}” as for “{other}”: those above both "
        "exact vectors in every coordinate."
    )
    if delta := limits[a, b][1]:
        message = (
            f"The vectors of “{one}” and “{other}” are so far apart that no ε below {at_least(loss)} holds with "
            f"δ = {scientific(delta)}."
        )
    proven = "From the stated noise, for these texts and all possible outputs."
    return replace(
        report,
        measured=loss,
        claimed=limits[a, b][0],
        exact=True,
        of="the noisy vector that a text is written from",
        witness=Witness(one, other, ("a noisy vector",), 0.0, -loss, 1.0, details=message),
        proven=proven,
    )
