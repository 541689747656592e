"""The audit itself: the checks in order, and the verdict, which is the weaker of its two parts."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import ConfigError, DPTextError, InputError
from ..mechanisms.base import Mechanism, Prepared, check_mechanism
from ..mechanisms.capabilities import public_context
from ..privacy.guarantee import Guarantee
from ..privacy.kinds import NotProtectedKind
from ..privacy.numbers import at_least, bound, number, scientific
from ..privacy.sampling import DEPTH, NoiseStream
from ..support.checks import check_whole_number, pluralize, real, shorten_repr, to_list
from ..support.task import UNWATCHED, Task
from .batches import in_batches
from .checks import Look, Subject, failed, look_at
from .distance import TOLERANCE as RELATIVE
from .distance import named_distances
from .entry_points import through_entry_points
from .exact import TOLERANCE, largest_loss, loss_beyond, too_deep
from .flagged_words import flagged_words
from .goodness_of_fit import FRESH, ReleaseFindings, check_releases, every_input
from .guarantee_fields import guarantee_of_outputs, stated_guarantee
from .inputs import MAX_INPUTS, TEXTS, Meter, Probe, default_inputs, inputs_without_statement, probes_after, probes_of
from .latent import behind_a_text
from .long_texts import in_long_texts
from .metadata_leakage import check_metadata, check_words
from .noise_source import noise_source
from .outputs import audit_outputs, output_checks
from .report import NOR, AuditReport, Check, format_share
from .rewriting import Rewriter
from .rules import OURS, flat
from .sampled import TESTED, could_show, estimate
from .second_process import in_two_processes
from .statefulness import at_first
from .text_integrity import of_all, released_text
from .three_way import three_together
from .vocabulary import released_words, stated_words

#: Number of rewrites for an estimate of the loss.
NOISE_DRAWS = 20_000
#: Checks for every mechanism: those before all others, which need no distributions, and those after. The first one that
#: refutes ends the audit.
FIRST: tuple[Look, ...] = (released_text, check_metadata, check_words, guarantee_of_outputs)
LATER: tuple[Look, ...] = (
    stated_guarantee,
    stated_words,
    released_words,
    in_batches,
    at_first,
    in_long_texts,
    behind_a_text,
    flagged_words,
    three_together,
    through_entry_points,
    noise_source,
    in_two_processes,
)
#: The checks of the loss of one draw, and of sampled words against their stated distributions.
LOSS, DRAWN, CHANCES = "loss", "replaced words", "stated probabilities"
MOST_DRAWS = 10_000_000


def audit(
    m: Mechanism,
    inputs: Sequence[str | Prepared] | None = None,
    claim: float | None = None,
    *,
    draws: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    thorough: bool = False,
    task: Task | None = None,
) -> AuditReport:
    """Compare the guarantee of ``m`` for one draw with measurements.

    Parameters
    ----------
    m : Mechanism
    inputs : sequence of str or Prepared, optional
        Words, or texts, whose sampled words are all compared with each other. Default: words spread over the public
        frequencies with near neighbours, or short texts for language models. Inputs that the guarantee does not compare
        are skipped.
    claim : float, optional
        An ε to test instead of the mechanism's own; then any two inputs count as neighbours (for a metric guarantee,
        per unit of its distance).
    draws : int, optional
        Number of rewrites per rewritten text. Default: 500 for a comparison with closed forms, 20,000 without closed
        forms, 2,000 if only whole outputs can be tested (``outputs``).
    confidence : float
        Confidence of the bounds from draws. A guarantee with δ is tested by the hockey-stick divergence if
        probabilities have a formula; from draws, the loss is ln((P_low − δ)/Q_up).
    seed : int, optional
        Makes the draws repeatable.
    thorough : bool
        Test every word of the vocabulary and more rewrites, even if that takes minutes.
    task : Task, optional
        Receives the progress, and may cancel the work.

    Returns
    -------
    AuditReport
        ``verdict`` is "holds", "refuted" or "inconclusive"; ``sentence()`` describes what was tested, and what was not.

    Raises
    ------
    ConfigError
        The mechanism has a list of ε.
    InputError
        No input has a distribution.
    Cancelled
        The task was stopped.
    """
    check_mechanism(m)
    if isinstance(m.config.epsilon, tuple):
        raise ConfigError("An audit takes one ε, not a list. Audit each value separately.")
    claim, draws = _checked_options(claim, draws, confidence)
    meter = Meter(task or UNWATCHED)
    given = _checked_inputs(m, inputs)
    subject = Subject(
        m,
        _first_guarantee(m, given),
        given,
        NoiseStream(seed),
        meter,
        (),
        claim,
        draws,
        confidence,
        thorough,
        Rewriter(meter.task),
    )
    empty = _empty_report(subject)
    first = look_at(FIRST, subject, failures=True)
    if any(c.status == "refuted" for c in first):
        return with_verdict(replace(empty, checks=first))
    if _has_whole_outputs_only(m):
        return _audit_whole_outputs(subject, replace(empty, checks=first))
    return _audit_words(subject, replace(empty, checks=first))


def _has_whole_outputs_only(m: Mechanism) -> bool:
    return not {"alignment", "distribution"} <= m.can


def _checked_options(claim: float | None, draws: int | None, confidence: float) -> tuple[float | None, int | None]:
    """Return the checked claim and number of draws. Raises ConfigError."""
    if claim is not None and (claim := real("claim", claim)) < 0:
        raise ConfigError(f"claim must be an ε of at least 0, not {claim:g}.")
    if draws is not None:
        draws = check_whole_number("draws", draws, 100)
        if draws > MOST_DRAWS:
            raise ConfigError(f"draws must be at most {MOST_DRAWS:,}. Give a smaller number.")
    if not 0.5 <= real("confidence", confidence) < 1:
        raise ConfigError(f"confidence must be at least 0.5 and below 1, not {shorten_repr(confidence)}.")
    return claim, draws


def _checked_inputs(m: Mechanism, inputs: Sequence[str | Prepared] | None) -> list[str | Prepared]:
    """Return the inputs, each once, or the default ones. Raises InputError."""
    if inputs is None:
        inputs = list(TEXTS[:4]) if _has_whole_outputs_only(m) else default_inputs(m)
    if isinstance(inputs, str):
        raise InputError("inputs must be a list of words or texts. Put the text into a list.")
    inputs = to_list(inputs, "words or texts")
    if not all(isinstance(one, str | Prepared) for one in inputs):
        raise InputError("inputs must be a list of words or texts: each a str or a result of prepare().")
    inputs = list(dict.fromkeys(inputs))
    if len(inputs) > MAX_INPUTS:
        raise InputError(f"An audit takes at most {MAX_INPUTS:,} inputs; there are {len(inputs):,}. Use a sample.")
    if not inputs:
        raise InputError("The list of inputs is empty. Give words that the mechanism replaces.")
    return inputs


def _empty_report(subject: Subject) -> AuditReport:
    """Return the report of an audit before its first check."""
    m, guarantee = subject.m, subject.guarantee
    of_texts = _has_whole_outputs_only(m) and subject.claim is None and guarantee.notion != "none"
    return AuditReport(
        mechanism=m.name,
        epsilon=float(m.config.epsilon),
        notion=guarantee.notion,
        claimed=float(guarantee.total if of_texts else subject.claimed),
        measured=0.0,
        exact=False,
        detectable=0.0,
        verdict="",
        reason="",
        witness=None,
        unit="",
        inputs=0,
        pairs=0,
        skipped=(),
        draws=0,
        sampler_p=None,
        confidence=subject.confidence,
        delta=guarantee.delta if subject.claim is None else 0.0,
    )


def _audit_whole_outputs(subject: Subject, report: AuditReport) -> AuditReport:
    """Complete the report of a mechanism without aligned words or without distributions."""
    first, began = report.checks, time.perf_counter()
    report = audit_outputs(report, subject)
    *stated, last = output_checks(report)
    last = replace(last, seconds=time.perf_counter() - began)
    return with_verdict(replace(report, checks=(*first, *stated, last)), subject)


def _nothing_sampled(subject: Subject, inputs: Sequence[str]) -> str:
    """Return the message for inputs of which no word is replaced."""
    named = f"“{flat(inputs[0])}”" if inputs else "these inputs"
    if others := inputs[1:]:
        named += f" and {pluralize(len(others), 'other input')}"
    if any(e.kind == NotProtectedKind.UNFLAGGED_WORDS for e in subject.guarantee.exposed):
        advice = "Give texts with names, dates or other identifying words."
    elif subject.m.by_word is not None:
        advice = "Give words of its vocabulary that are not stop words."
    else:
        advice = "Give texts with words that are not stop words."
    return f"The mechanism replaces no word of {named}. {advice}"


def _audit_words(subject: Subject, report: AuditReport) -> AuditReport:
    """Complete the report of a mechanism that replaces words and states their distributions."""
    m, stream, meter = subject.m, subject.stream, subject.meter
    probes, skipped = probes_of(m, subject.inputs, meter)
    if untold := inputs_without_statement(skipped):
        word, why = untold[0]
        unstated = Check(CHANCES, "not tested", "", f"for “{word}”: {why}.")
        report = replace(report, checks=(*report.checks, unstated))
        if not probes:
            return with_verdict(replace(report, skipped=tuple(skipped)))
    if not probes:
        raise InputError(_nothing_sampled(subject, [text for text, _ in skipped]))
    if len(probes) > MAX_INPUTS:
        raise InputError(f"These texts have {len(probes):,} replaced words; an audit takes {MAX_INPUTS:,}. Give fewer.")
    later = probes_after(m, probes, stream.at("before"), meter)[: MAX_INPUTS - len(probes)]
    subject = replace(subject, guarantee=m.guarantee(probes[0].prepared), probes=probes)
    first, began = report.checks, time.perf_counter()
    report, loss, count = _loss(m, subject, [*probes, *later], tuple(skipped), report)
    report = replace(report, checks=(*first, replace(loss, seconds=time.perf_counter() - began)))
    if loss.status == "refuted":
        return with_verdict(report)
    began = time.perf_counter()
    try:
        tested = check_releases(m, probes, count, stream, meter, subject.rewriter)
    except OURS:
        raise
    except Exception as error:  # the mechanism's error, which may reveal a text
        return with_verdict(replace(report, checks=(*report.checks, failed(DRAWN, error))))
    report = replace(
        report,
        sampler_p=tested.p,
        leak=tested.leak,
        leak_fresh=tested.leak_fresh,
        leak_epsilon=tested.leak_epsilon,
        tested=_describe_releases(tested, report.epsilon),
    )
    drawn = replace(_releases_check(report, tested), seconds=time.perf_counter() - began)
    return with_verdict(replace(report, checks=(*report.checks, drawn)), subject)


def with_verdict(report: AuditReport, subject: Subject | None = None) -> AuditReport:
    """Return the report with the verdict from its checks, after those of LATER if a subject is given. Refuted if a
    check is; inconclusive if a needed one was not tested; else it holds.
    """
    if subject is not None and not any(c.status == "refuted" for c in report.checks):
        later = look_at(LATER, subject, failures=True)
        # For all rewrites so far; its own were already counted.
        every = of_all(subject)
        checks = [
            replace(c, status=every.status, description=every.description, reason=every.reason, leak=every.leak)
            if c.name == every.name
            else c
            for c in report.checks
        ]
        rewriter = subject.rewriter
        report = replace(report, checks=(*checks, *later), texts=len(rewriter.texts), rewrites=rewriter.n)
    report = replace(report, draws=sum(c.draws for c in report.checks))
    broken = next((c for c in report.checks if c.status == "refuted"), None)
    if broken is not None:
        return replace(report, verdict="refuted", reason=broken.reason, witness=broken.witness or report.witness)
    missed = next((c for c in report.checks if c.status == "not tested" and c.is_required), None)
    if missed is not None:
        return replace(report, verdict="inconclusive", reason=missed.reason)
    return replace(report, verdict="holds", reason="")


def _first_guarantee(m: Mechanism, inputs: Sequence[str | Prepared]) -> Guarantee:
    """Return the guarantee of the first input that has one. Raises the error of the first if none has."""
    failed: DPTextError | None = None
    for one in inputs:
        try:
            return m.guarantee(one)
        except DPTextError as error:
            failed = failed or error
    assert failed is not None
    raise failed


def _loss(
    m: Mechanism, subject: Subject, probes: Sequence[Probe], skipped: tuple[tuple[str, str], ...], empty: AuditReport
) -> tuple[AuditReport, Check, int]:
    """Return the loss of one draw, from closed forms or bounded from draws; and the number of rewrites for each
    text."""
    guarantee, claim, draws, stream = subject.guarantee, subject.claim, subject.draws, subject.stream
    meter = subject.meter
    distances, known, exempt = _distances(m, probes, guarantee, claim)
    estimated = any(p.d.draws is not None for p in probes)
    report = replace(
        empty,
        notion=guarantee.notion,
        claimed=float(subject.claimed),
        exact=not estimated,
        unit=str(guarantee.metric) if guarantee.notion == "metric" else "",
        inputs=len(probes),
        pairs=int(np.isfinite(distances).sum()) // 2,
        skipped=skipped,
        delta=guarantee.delta if claim is None else 0.0,
    )
    if estimated:
        report = estimate(report, m, probes, distances, draws or NOISE_DRAWS, stream, meter, subject.rewriter)
        count = min(FRESH, draws or FRESH)
    else:
        # Draws by one uniform are cheap.
        count = draws or (FRESH if probes[0].d.depth <= DEPTH else 4 * FRESH)
        measured, witness = largest_loss(probes, distances, meter)
        report = replace(
            report,
            measured=measured,
            witness=witness,
            proven=_describe_proof(report, guarantee, known, exempt),
            detectable=_shown_by(every_input(count), distances, subject.confidence),
        )
        if guarantee.notion == "approx" and claim is None:
            measured, witness = loss_beyond(probes, guarantee.delta, meter)
            report = replace(report, measured=measured, witness=witness)
        if (deep := too_deep(probes)) is not None:
            reason = "the sampler cannot reach an output that is stated to be possible, so no finite ε holds."
            return replace(report, measured=math.inf), Check(LOSS, "refuted", report.proven, reason, deep), count
    if report.pairs and _exceeds(report) and not (claim is None and guarantee.notion == "none"):
        return report, Check(LOSS, "refuted", report.proven, "", report.witness, draws=report.draws), count
    return report, _loss_check(report, guarantee, claim), count


def _distances(
    m: Mechanism, probes: Sequence[Probe], guarantee: Guarantee, claim: float | None
) -> tuple[np.ndarray, bool, int]:
    """Return distances in the unit of the claim, float64 (n, n), NaN if two inputs are not compared.

    Also returns whether they are those of the guarantee's metric (true if it names none), and how many pairs have a
    distance in that metric but are excluded by the mechanism."""
    n = len(probes)
    known, exempt = True, 0
    # Pure: any two inputs. The caller's claim, or no claim at all: as if it were pure.
    if guarantee.notion == "metric" or (guarantee.notion == "group" and claim is None):
        words = [p.word for p in probes]
        out = np.array(m.audit_support.distances(words), np.float64)
        if guarantee.notion == "metric":
            named = named_distances(m, guarantee, words)
            known = named is not None
            if named is not None:
                exempt = int(np.triu(np.isfinite(named) & ~np.isfinite(out), 1).sum())
            # Equal up to rounding: then use the mechanism's distances, which define its scores.
            if named is not None and not np.allclose(
                np.where(np.isfinite(out), named, 0.0), np.nan_to_num(out), rtol=RELATIVE, atol=RELATIVE
            ):
                out = np.where(np.isfinite(out), named, np.nan)
    else:
        out = np.ones((n, n))
    if claim is None:
        contexts = [
            None if (public := public_context(m, p.prepared, p.index)) is None else (public, p.after) for p in probes
        ]
        label = {c: k for k, c in enumerate(dict.fromkeys(contexts))}
        place = np.array([label[c] for c in contexts])
        out[place[:, None] != place[None]] = np.nan
    np.fill_diagonal(out, np.nan)
    return out, known, exempt


def _shown_by(count: int, distances: np.ndarray, confidence: float) -> float:
    """Return the largest loss that ``count`` draws at each input could show, at the smallest distance."""
    apart = distances[np.isfinite(distances) & (distances > 0)]
    if not len(apart):
        return 0.0
    alpha = (1 - confidence) / (2 * min(TESTED, len(apart)))
    return could_show(count, alpha) / float(apart.min())


def _describe_proof(report: AuditReport, guarantee: Guarantee, known: bool, exempt: int) -> str:
    if not report.pairs:
        return ""
    left_out = f" {exempt:,} pairs are not compared because the guarantee does not cover them." if exempt else ""
    if report.delta:
        return (
            "From the stated distributions, for all outputs: no two of these inputs differ by more "
            f"than δ = {scientific(report.delta)} at ε = {bound(report.claimed)}."
        )
    where = "" if known else f" (with the mechanism's own distances: the audit does not know “{guarantee.metric}”)"
    return f"From the stated distributions, for these inputs and all outputs{where}.{left_out}"


def _describe_releases(tested: ReleaseFindings, own_epsilon: float) -> str:
    if not tested.draws:
        return ""
    message = (
        f"{tested.draws:,} sampled words of whole rewrites follow their stated distributions ({tested.texts} texts, "
        f"each input at least {tested.each} times)"
    )
    if tested.leak is not None and tested.leak_fresh is not None and tested.leak_epsilon is not None:
        epsilon = number(tested.leak_epsilon)
        fresh, each_way = format_share(tested.leak_fresh), format_share(tested.leak)
        message += f". The audit detects words that are wrongly unchanged in {fresh} of the fresh draws, or in "
        message += f"{each_way} of the draws for one way to rewrite"
        if tested.leak_epsilon < own_epsilon:
            message += f". It uses ε = {epsilon}, where a leak shows best: almost no word is unchanged"
    return message + "."


def _releases_check(report: AuditReport, tested: ReleaseFindings) -> Check:
    """Return the check of sampled words against their stated distributions."""
    if tested.breach is not None:
        return Check(DRAWN, "refuted", report.tested, tested.reason, tested.breach, draws=tested.draws)
    if not tested.draws:
        reason = "no word of the rewritten texts was sampled, so the stated distributions could not be tested."
        return Check(DRAWN, "not tested", "", reason)
    blind = []
    if tested.leak_fresh is not None:
        blind.append(f"a word unchanged too often in fewer than {format_share(tested.leak_fresh)} of the draws")
    if report.exact and report.detectable < report.claimed < math.inf:
        blind.append(f"a loss above {at_least(report.detectable)}, from draws alone")
    detectable = report.detectable if report.exact else None
    return Check(
        DRAWN, "tested", report.tested, "", None, detectable, tested.leak_fresh, NOR.join(blind), draws=tested.draws
    )


def _loss_check(report: AuditReport, guarantee: Guarantee, claim: float | None) -> Check:
    """Return the check of the loss of one draw, which does not exceed the claim."""
    missed = ""
    behind = report.draws
    rarest = 3 / max(1, behind // max(1, 2 * report.inputs))
    if claim is None and guarantee.notion == "none":
        missed = f"there is no guarantee: {guarantee.reason}"
    elif not report.pairs:
        missed = "the guarantee covers no two of these inputs, so there is nothing to compare."
    elif not report.exact and 0 < report.delta < rarest:
        missed = (
            f"δ = {scientific(report.delta)} allows failures that are rarer than these draws can show (about "
            f"{scientific(rarest)})."
        )
    elif not report.exact and report.detectable < report.claimed:
        missed = (
            f"with {behind:,} draws, the largest detectable loss is "
            f"{at_least(report.detectable)}, less than the claimed {bound(report.claimed)}."
        )
    if missed:
        return Check(LOSS, "not tested", "", missed, report.witness, report.detectable, draws=behind)
    if report.exact:
        return Check(LOSS, "proven", report.proven, "", report.witness)
    message = f"In {behind:,} draws, no set of outputs distinguishes two inputs by more than is claimed."
    blind = f"a loss in outputs that are rarer than {format_share(rarest)} of the draws"
    return Check(LOSS, "tested", message, "", report.witness, report.detectable, None, blind, draws=behind)


def _exceeds(report: AuditReport) -> bool:
    return report.measured > report.claimed + TOLERANCE * max(1.0, report.claimed)
