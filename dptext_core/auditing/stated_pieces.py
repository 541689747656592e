"""Compare the stated distributions of parts exactly: of the first part, and of every part given those before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.likelihood import Likelihood
from ..privacy.distribution import TokenDistribution
from ..privacy.guarantee import Guarantee
from ..privacy.numbers import bound
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from .exact import TOLERANCE, largest_loss
from .inputs import Meter, Probe
from .output_events import OutputSample
from .release_statistics import noise_of
from .report import AuditReport, Witness
from .rewriting import Rewriter
from .sampled import misfit

#: A stated distribution of parts is refuted if the p-value of its draws is below this.
_LEVEL = 1e-6
#: Number of rewrites of each text whose parts are tested one by one, and of those that are compared with every other
#: text.
_PIECEWISE, _CROSSED = 10, 2


def find_misstatement(texts: Sequence[OutputSample]) -> tuple[Witness, str] | None:
    """Return a witness if first parts do not follow their stated distribution."""
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
                message = f"“{word}” began a rewrite of “{t.prepared.text}”, but is stated to be impossible there."
                reason = "a release is impossible under the stated distribution."
                return Witness(t.prepared.text, t.prepared.text, (word,), 0.0, -math.inf, 0.0, details=message), reason
            counts[at] += times
        p, worst = misfit(counts, log_p)
        if p * compared < _LEVEL:
            share = math.log(counts[worst] / n) if counts[worst] else -math.inf
            name = t.first.candidates[worst]
            witness = Witness(
                t.prepared.text, t.prepared.text, (name,), share, float(log_p[worst]), 0.0, kind="sampler"
            )
            return witness, "the first spans do not follow the distribution that the mechanism states for them."
    return None


def first_pieces(
    report: AuditReport,
    texts: Sequence[OutputSample],
    pairs: Sequence[tuple[int, int]],
    guarantee: Guarantee,
    claim: float | None,
    meter: Meter,
) -> tuple[AuditReport, AuditReport | None]:
    """Return the exact loss of the first parts, over all pairs; a refuting report if it exceeds the limit of one
    draw."""
    stated = [i for i, t in enumerate(texts) if t.first is not None and t.first.draws is None]
    probes = [
        Probe(t.prepared.text, None, t.prepared.text, t.first, t.prepared, 0, True)
        for t in (texts[i] for i in stated)
        if t.first is not None
    ]
    apart = np.array([[1.0 if (a, b) in set(pairs) else np.nan for b in stated] for a in stated])
    if not np.isfinite(apart).any() or guarantee.notion != "pure":
        return report, None
    loss, witness = largest_loss(probes, apart, meter)
    allowed = guarantee.epsilon if claim is None else min(claim, guarantee.epsilon)
    if loss > allowed * (1 + TOLERANCE) + TOLERANCE:
        return report, replace(
            report, verdict="refuted", measured=loss, claimed=allowed, exact=True, witness=witness, of="the first span"
        )
    message = (
        f"The stated distributions of the first span: the loss is at most {bound(loss)}, and {bound(allowed)} is "
        "allowed."
    )
    return replace(report, proven=message), None


def piece_likelihood(m: Mechanism) -> Likelihood[Mechanism] | None:
    """Return the likelihood of a mechanism that states the distribution of every part of a rewrite for another text."""
    return m.likelihood if m.likelihood is not None and m.likelihood.states_pieces else None


@dataclass
class _PieceLosses:
    """The largest loss of the parts of some rewrites, and the quantile of each (``ranks``, uniform in [0, 1)).
    differing: the number of a part with two different stated distributions."""

    loss: float = 0.0
    witness: Witness | None = None
    compared: bool = False
    ranks: list[float] = field(default_factory=list)
    differing: int | None = None

    def add_ranks(self, result: RewriteResult, distributions: Sequence[TokenDistribution], noise: np.ndarray) -> bool:
        """Add the quantile of each part; return False if the sampled candidate is unknown."""
        for i, d in enumerate(distributions):
            known = result.candidate(i)
            if known is None:
                return False
            self.ranks.append(float(d.probs[:known].sum() + noise[i] * d.probs[known]))
        return True

    def compare(
        self,
        distributions: Sequence[TokenDistribution],
        stated: Sequence[Sequence[TokenDistribution]],
        prepared: Sequence[Prepared],
        apart: np.ndarray,
        meter: Meter,
    ) -> None:
        """Compare the stated distributions of one rewrite's parts under each text, its own first."""
        for i, d in enumerate(distributions):
            column = [s[i] for s in stated]
            if not np.allclose(column[0].log_probs, d.log_probs, rtol=1e-9, atol=1e-9):
                self.differing = i
                return
            probes = [Probe(p.text, None, p.text, c, p, i, True) for p, c in zip(prepared, column, strict=True)]
            value, location = largest_loss(probes, apart, meter)
            self.compared |= len(prepared) > 1
            if value > self.loss:
                self.loss, self.witness = value, location


def _piece_losses(
    m: Mechanism,
    likelihood: Likelihood[Mechanism],
    texts: Sequence[OutputSample],
    pairs: Sequence[tuple[int, int]],
    stream: NoiseStream,
    meter: Meter,
    rewriter: Rewriter,
) -> _PieceLosses | None:
    """Rewrite each text several times and compare its parts; None if some distribution is not stated."""
    out, alike = _PieceLosses(), set(pairs)
    for a, t in enumerate(texts):
        others = [a, *(b for b in range(len(texts)) if (a, b) in alike)]
        apart = np.array([[1.0 if (x, y) in alike else np.nan for y in others] for x in others])
        prepared = [texts[b].prepared for b in others]
        for k in range(_PIECEWISE):
            meter.at(0.75 + 0.05 * (a + k / _PIECEWISE) / len(texts))
            r = rewriter.one(m, t.prepared, noise_of(stream.at("pieces"), a, k))
            distributions = [d for _, d in r.distributions()] if "distribution" in r.can else []
            if "distribution" in r.can and len(distributions) < len(r.releases):
                return None
            if not out.add_ranks(r, distributions, stream.at("ranks", a, k).uniforms(max(1, len(distributions)))):
                return None
            if k >= _CROSSED:
                continue
            stated = [likelihood.given(p, r) for p in prepared]
            if any(s is None for s in stated):
                return None
            out.compare(distributions, [s for s in stated if s is not None], prepared, apart, meter)
            if out.differing is not None:
                return out
    return out


def every_piece(
    report: AuditReport,
    m: Mechanism,
    texts: Sequence[OutputSample],
    pairs: Sequence[tuple[int, int]],
    guarantee: Guarantee,
    claim: float | None,
    stream: NoiseStream,
    meter: Meter,
    rewriter: Rewriter,
) -> AuditReport | None:
    """Return the exact loss of every part of some rewrites, given the parts before it; None if it is not stated."""
    likelihood = piece_likelihood(m)
    if not pairs or guarantee.notion != "pure" or likelihood is None:
        return None
    losses = _piece_losses(m, likelihood, texts, pairs, stream, meter, rewriter)
    if losses is not None and losses.differing is not None:
        reason = f"span {losses.differing} of a rewrite is stated to come from two different distributions."
        return replace(report, verdict="refuted", sampler_p=0.0, reason=reason)
    if losses is None or not losses.compared:
        return None
    p = _uniform(losses.ranks)
    allowed = guarantee.epsilon if claim is None else min(claim, guarantee.epsilon)
    message = (
        f"From the stated distributions, for every span of {_CROSSED * len(texts)} rewrites and all their outputs."
    )
    tested = (
        f"{len(losses.ranks):,} spans of {_PIECEWISE * len(texts)} rewrites follow their stated distributions "
        f"(p = {p:.2g})."
    )
    report = replace(
        report,
        claimed=allowed,
        measured=losses.loss,
        exact=True,
        witness=losses.witness,
        of="each span, given those before it",
        proven=message,
        tested=tested,
        sampler_p=p,
    )
    if losses.loss > allowed * (1 + TOLERANCE) + TOLERANCE:
        return replace(report, verdict="refuted")
    if p < _LEVEL:
        reason = "spans do not follow the distributions that the mechanism states for them."
        return replace(report, verdict="refuted", reason=reason)
    return report


def _uniform(ranks: Sequence[float]) -> float:
    """Return the Kolmogorov-Smirnov p-value that these numbers in (0, 1) are uniform."""
    from scipy.stats import kstest

    return float(kstest(ranks, "uniform", method="asymp").pvalue)
