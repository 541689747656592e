"""Audit: what a mechanism promises against what can be measured of it.

The audit sees what every user sees (``m.guarantee``, ``m.distances``, ``m.distribution``, ``d.log_probs``,
``d.sample_indices``, ``m.rewrites``), so that it finds a mistake inside a mechanism as it finds one in its promise.

* Closed forms: the largest log-ratio over all pairs of inputs that the promise makes alike and over all outputs, from
  float64 log-probabilities; exact for the inputs given. Over contexts of a language model it is a lower bound on the
  worst case, since the promise is for any two contexts. Then draws of the sampler are held against the stated
  distribution.
* Noise without a closed form: independent draws. One half of them chooses the pairs and, for each, the set of outputs
  that tells the two apart best; the other half gives Clopper-Pearson bounds of the two probabilities, simultaneous
  over the pairs by Bonferroni. The result is a lower bound of the loss with the stated confidence.

Per unit of distance where the promise is metric. An output that is possible under one input and impossible under the
other is an infinite loss. Rounding: a loss counts as above the claim from 1e-9 of it on (and 1e-9 absolutely).
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .distribution import TokenDistribution
from .errors import ConfigError, InputError, NoDistribution
from .guarantee import Guarantee, number, odds_text
from .mechanisms.base import Mechanism, Prepared, Progress, check_cancel
from .mechanisms.word_level import UNKNOWN, WordMechanism, WordPrepared
from .sampling import Dice

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Inputs of one audit at most: their log-probabilities are held together, 0.17 MB each over 21,719 words.
MAX_INPUTS = 1000
#: Words looked at by default; of mechanisms without a closed form, whose every draw is made.
WORDS, NOISY_WORDS = 200, 8
#: Draws of the sampler at each input: for comparing it with a closed form, and for estimating a loss.
CHECK_DRAWS, NOISE_DRAWS = 500, 20_000
#: Inputs at which the sampler is compared with the closed form; those where whole rewrites are compared too.
CHECKED, REWRITTEN = 4, 1
#: A sampler is refuted where its draws have a smaller chance than this, over all comparisons together.
SAMPLER_LEVEL = 1e-6
#: Ordered pairs whose loss is estimated on the second half of the draws.
TESTED = 8
TOLERANCE = 1e-9

#: Contexts for language models: written for this program.
TEXTS = (
    "My doctor in Lisbon changed the dose because the old one made me sick.",
    "She sold the blue car and paid her student loan with the money.",
    "The film was boring, but the music and the young actors were wonderful.",
    "Our lawyer told the judge that the company knew about the fire.",
    "He moved to a small village after the divorce and started painting.",
    "Please cancel my order and send the refund to my bank account.",
)

_NEVER = -1e300  # stands for −∞, so that two of them differ by 0


@dataclass(frozen=True)
class Witness:
    """Two inputs and what tells them apart most: it is likelier under the first.

    first, second: the inputs, as words or texts. first_at, second_at: the token in a text of several words, else None.
    outputs: one released word, or the set of them whose chance was estimated. p_first, p_second: its probabilities,
    from log_p_first and log_p_second (−inf: impossible); of an estimate the lower and the upper bound. distance: of
    the two inputs in the unit of the claim. kind: "loss", or "sampler" where ``first`` was drawn from: then p_first is
    the share of the draws and p_second what the distribution states.
    """

    first: str
    second: str
    outputs: tuple[str, ...]
    log_p_first: float
    log_p_second: float
    distance: float
    first_at: str | None = None
    second_at: str | None = None
    kind: str = "loss"

    @property
    def output(self) -> str:
        return self.outputs[0]

    @property
    def p_first(self) -> float:
        return math.exp(self.log_p_first)

    @property
    def p_second(self) -> float:
        return math.exp(self.log_p_second)

    def sentence(self) -> str:
        """The witness in plain words."""
        what = f"“{self.output}”"
        if len(self.outputs) > 1:
            what = f"one of {len(self.outputs):,} words (such as {what})"
        a, b = _named(self.first, self.first_at), _named(self.second, self.second_at)
        if self.kind == "sampler":
            return (
                f"Under {a}, {what} was drawn in {_chance(self.log_p_first)} of the draws; the stated distribution "
                f"gives it {_chance(self.log_p_second)}."
            )
        rare = f"never under {b}" if self.log_p_second == -math.inf else f"{_chance(self.log_p_second)} under {b}"
        line = (
            f"{what[0].upper()}{what[1:]} comes out with probability {_chance(self.log_p_first)} under {a} and {rare}"
        )
        return line if line.endswith((".”", "!”", "?”")) else f"{line}."


@dataclass(frozen=True)
class AuditReport:
    """What was claimed and what was measured.

    claimed: ε of the promise for one draw, per unit of distance where ``unit`` says so; inf where nothing is promised.
    measured: the largest loss found, in the same unit; inf where an output is possible under one input only. exact:
    measured is the exact maximum over the inputs (closed form); else a lower bound with ``confidence``. detectable:
    the largest loss that could have been found: inf for closed forms. verdict: "holds" (on these inputs), "refuted" or
    "inconclusive", with ``reason``. inputs, pairs: how many were compared; skipped: inputs left out, with why. draws:
    of the sampler, altogether. sampler_p: the chance of draws like these from the stated distribution, corrected for
    the number of comparisons; None where there is no closed form to compare with.
    """

    mechanism: str
    epsilon: float
    notion: str
    claimed: float
    measured: float
    exact: bool
    detectable: float
    verdict: str
    reason: str
    witness: Witness | None
    unit: str
    inputs: int
    pairs: int
    skipped: tuple[tuple[str, str], ...]
    draws: int
    sampler_p: float | None
    confidence: float

    @property
    def holds(self) -> bool:
        return self.verdict == "holds"

    def sentence(self) -> str:
        """The verdict in plain words."""
        per = f" per unit of distance ({self.unit})" if self.unit else ""
        # As many digits as tell the two apart.
        loss, limit = number(self.measured), number(self.claimed)
        if loss == limit and self.verdict == "refuted":
            loss, limit = f"{self.measured:.10g}", f"{self.claimed:.10g}"
        found = (
            "a released word is possible under one input and impossible under another (an infinite loss)"
            if self.measured == math.inf
            else f"the largest loss is {loss}{per}"
        )
        if not self.exact and self.measured < math.inf:
            found = f"the loss is at least {loss}{per} (with {self.confidence:.0%} confidence)"
        scope = f"over {self.inputs:,} inputs ({self.pairs:,} pairs)"
        if self.verdict == "inconclusive":
            return f"Inconclusive: {self.reason}" + (f" Measured {scope}: {found}." if self.pairs else "")
        claim = f"the promise allows {limit}"
        if self.claimed < 23 and not self.unit:
            claim += f" (one output at most {odds_text(self.claimed)} as likely)"
        if self.verdict == "refuted":
            tail = f" {self.witness.sentence()}" if self.witness else ""
            return f"Refuted: {self.reason or f'{found}, {scope}, where {claim}.'}{tail}"
        return f"Holds on what was tried: {scope}, {found}, and {claim}. Inputs that were not tried may lose more."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: infinite numbers as "inf"."""
        out: dict[str, Any] = asdict(self)
        if self.witness is not None:
            w = self.witness
            out["witness"] |= {"p_first": w.p_first, "p_second": w.p_second, "sentence": w.sentence()}
        out["holds"], out["sentence"] = self.holds, self.sentence()
        return _plain(out)


@dataclass(frozen=True, eq=False)
class _Probe:
    """One distribution that the audit looks at. prepared, index: where it came from; alone: nothing else is drawn."""

    text: str
    at: str | None
    word: str
    d: TokenDistribution
    prepared: Prepared
    index: int
    alone: bool


def audit(
    m: Mechanism,
    inputs: Sequence[str | Prepared] | None = None,
    claim: float | None = None,
    *,
    draws: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> AuditReport:
    """Compare what ``m`` promises for one draw with what can be measured of it.

    inputs: words, or texts, of which every drawn word is compared with every other; None: words spread over the public
    frequencies with near neighbours, or short texts for language models. Inputs that the promise does not make alike
    are not compared. claim: an ε to hold the mechanism against in the place of its own; then any two inputs count as
    neighbours (of a metric promise: per unit of its distance). draws: of the sampler at each input it is drawn from;
    None: 500 to compare it with a closed form, 20,000 where there is none. seed: makes the draws repeatable.

    Raises ConfigError for a list of ε, InputError where no distribution is found for any input, and Cancelled.
    """
    epsilon = m.config.epsilon
    if isinstance(epsilon, tuple):
        raise ConfigError("An audit takes one ε, not a list. Audit each value by itself.")
    if claim is not None and not (isinstance(claim, int | float) and 0 <= claim < math.inf):
        raise ConfigError(f"claim is an ε of 0 or more, not {claim!r}.")
    if draws is not None and (isinstance(draws, bool) or not isinstance(draws, int) or draws < 100):
        raise ConfigError(f"draws is a whole number of 100 or more, not {draws!r}.")
    if not 0.5 <= confidence < 1:
        raise ConfigError(f"confidence is at least 0.5 and below 1, not {confidence!r}.")
    dice = Dice(seed)
    meter = _Meter(progress, cancel)
    if inputs is None:
        inputs = default_inputs(m)
    if isinstance(inputs, str):
        raise InputError("inputs is a list of words or of texts. Put the text into a list.")
    inputs = list(dict.fromkeys(inputs))
    if len(inputs) > MAX_INPUTS:
        raise InputError(f"An audit takes at most {MAX_INPUTS:,} inputs; there are {len(inputs):,}. Take a sample.")
    probes, skipped = _probes(m, inputs, meter)
    if not probes:
        why = f" ({skipped[0][0]}: {skipped[0][1]})" if skipped else ""
        raise InputError(f"Nothing is drawn for these inputs{why}. Give words that the mechanism replaces.")
    if len(probes) > MAX_INPUTS:
        raise InputError(f"These texts have {len(probes):,} drawn words; an audit takes {MAX_INPUTS:,}. Give fewer.")
    promise = m.guarantee(probes[0].prepared)
    distances = _distances(m, probes, promise, claim)
    claimed = claim if claim is not None else math.inf if promise.notion == "none" else promise.epsilon
    estimated = any(p.d.draws is not None for p in probes)
    count = draws or (NOISE_DRAWS if estimated else CHECK_DRAWS)
    blank = AuditReport(
        m.name, float(epsilon), promise.notion, float(claimed), 0.0, not estimated, math.inf, "", "", None,
        promise.metric if promise.notion == "metric" else "", len(probes), int(np.isfinite(distances).sum()) // 2,
        tuple(skipped), 0, None, confidence,
    )  # fmt: skip
    if estimated:
        return _judged(_estimate(blank, probes, distances, count, dice, meter), promise, claim)
    measured, witness = _largest(probes, distances, meter)
    report = replace(blank, measured=measured, witness=witness)
    return _judged(_check_sampler(report, m, probes, count, dice, meter), promise, claim)


def default_inputs(m: Mechanism) -> list[str]:
    """Words spread over the public frequencies, each with a near one; short texts for language models."""
    if not isinstance(m, WordMechanism):
        return list(TEXTS)
    return default_words(m)


def default_words(m: WordMechanism, n: int | None = None) -> list[str]:
    """About n words of the vocabulary, the same ones each time: half spread over the public frequencies (half of them
    by rank, half by its logarithm), and for each the likeliest output that the promise makes alike to it.

    Words that stay as they are and words that the promise does not cover are left out.
    """
    from .mechanisms.custext import CusText

    spread = _by_frequency(m)
    if n is None:
        n = NOISY_WORDS if m.distribution(m.prepare(_first_drawn(m, spread)), 0).draws is not None else WORDS
    if isinstance(m, CusText):
        return _drawn(m, _in_groups(m, spread, n))
    every, known = len(spread), set(m.vocabulary.words)
    half = max(1, n // 4)
    ranks = np.concatenate([np.linspace(0, every - 1, 3 * half), np.geomspace(1, every, 3 * half) - 1])
    names = list(dict.fromkeys(spread[int(r)] for r in ranks))
    covered = np.isfinite(np.diag(m.distances(names)))
    if covered.any():
        names = [w for w, yes in zip(names, covered, strict=True) if yes]
    probes, _ = _probes(m, names, _Meter(None, None))
    step = max(1, len(probes) // max(1, n // 2))
    chosen: dict[str, None] = {}
    for probe in probes[::step][: max(1, n // 2)]:
        chosen[probe.word] = None
        # Of an estimate the likeliest outputs are not the same in every process: the nearest words are.
        likely = probe.d.top(12) if probe.d.draws is None else m.vocabulary.neighbours(probe.word, 12)  # type: ignore[attr-defined]
        near = [w for w, _ in likely if w in known and w.casefold() != probe.word.casefold()]
        apart = m.distances([probe.word, *near])[0, 1:]
        alike = [w for w, d in zip(near, apart, strict=True) if np.isfinite(d)] if np.isfinite(apart).any() else near
        chosen |= dict.fromkeys(alike[:1])
    # Where outputs are no words, or few are alike: more of those that are spread.
    chosen |= dict.fromkeys([p.word for p in probes][: n - len(chosen)])
    return _drawn(m, list(chosen))


def _drawn(m: Mechanism, words: Sequence[str]) -> list[str]:
    """Those of the words that are not kept as they are."""
    return [p.word for p in _probes(m, words, _Meter(None, None))[0]]


def _first_drawn(m: WordMechanism, words: Sequence[str]) -> str:
    for word in words:
        try:
            m.distribution(word, 0)
        except NoDistribution:
            continue
        return word
    raise InputError("This mechanism draws no word of its vocabulary.")


def _by_frequency(m: WordMechanism) -> list[str]:
    """The vocabulary, common words first."""
    from .words import word_space

    words = list(m.vocabulary.words)
    if hasattr(m.vocabulary, "counts"):  # a word space: in that order already
        return words
    known = word_space("minilm")
    rank = [i if (i := known.index(w)) is not None else len(known) for w in words]
    return [words[i] for i in np.argsort(rank, kind="stable")]


def _in_groups(m: Any, words: Sequence[str], n: int) -> list[str]:
    """About n words in whole groups of two and more, spread over the groups."""
    groups = m.groups
    large = np.flatnonzero(groups.sizes >= 2)
    if not len(large):
        return list(words[:n])
    chosen: list[str] = []
    # A fixed order that visits groups early and late alike.
    for g in large[np.argsort((np.arange(len(large)) * 0.6180339887) % 1.0, kind="stable")]:
        chosen += [m.vocabulary.words[r] for r in np.flatnonzero(groups.group == g)[:20]]
        if len(chosen) >= n:
            break
    return chosen[: max(n, 2)]


# --- what is looked at


def _probes(
    m: Mechanism, inputs: Sequence[str | Prepared], meter: _Meter
) -> tuple[list[_Probe], list[tuple[str, str]]]:
    """The distribution of every drawn word of the inputs, and the inputs where nothing is drawn with the reason."""
    probes: list[_Probe] = []
    skipped: list[tuple[str, str]] = []
    given = list(inputs)
    # NumPy's loops over a whole vocabulary leave the other core to another word.
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        while given:
            block = _block(m, given)
            one = block[0]
            text = " ".join(map(str, block)) if len(block) > 1 else one
            prepared = text if isinstance(text, Prepared) else m.prepare(text, cancel=meter.cancel)
            tokens = prepared.document.tokens

            def look(i: int, prepared: Prepared = prepared) -> TokenDistribution | str:
                check_cancel(meter.cancel)
                return _look(m, prepared, i)

            # The first one works out what all of a prepared text share.
            found = [look(i) for i in range(min(1, len(tokens)))]
            found += pool.map(look, range(1, len(tokens)))
            for i, d in enumerate(found):
                if not isinstance(d, str):
                    inside = len(block) == 1 < len(tokens)
                    name = prepared.text if len(block) == 1 else str(block[i])
                    at = tokens[i].text if inside else None
                    probes.append(_Probe(name, at, tokens[i].text, d, prepared, i, len(tokens) == 1))
                elif len(block) > 1:
                    skipped.append((str(block[i]), d))
            if len(block) == 1 and all(isinstance(d, str) for d in found):
                skipped.append((prepared.text, str(found[-1]) if found else "there is no word in it"))
            given = given[len(block) :]
            meter.at(0.4 * (1 - len(given) / len(inputs)))
    return probes, skipped


def _block(m: Mechanism, given: Sequence[str | Prepared]) -> Sequence[str | Prepared]:
    """The next inputs that can be prepared together: single words of a mechanism that looks at words one by one."""
    if not isinstance(m, WordMechanism) or isinstance(given[0], Prepared):
        return given[:1]
    block: list[str] = []
    for one in given[:200]:
        if isinstance(one, Prepared) or not one.isalpha():
            break
        block.append(one)
    if len(block) > 1 and [t.text for t in m.prepare(" ".join(block)).document.tokens] == block:
        return block
    return given[:1]


def _look(m: Mechanism, prepared: Prepared, i: int) -> TokenDistribution | str:
    """The distribution of token i, or why there is none."""
    if isinstance(prepared, WordPrepared) and prepared.rows[i] == UNKNOWN:
        return "not in the vocabulary"
    try:
        return m.distribution(prepared, i)
    except NoDistribution as reason:
        return str(reason)


def _distances(m: Mechanism, probes: Sequence[_Probe], promise: Guarantee, claim: float | None) -> np.ndarray:
    """Distances in the unit of the claim, float64 (n, n), NaN where two inputs are not compared."""
    n = len(probes)
    # Pure: any two inputs. A claim of the caller's, or no claim at all: as if it were pure.
    if promise.notion == "metric" or (promise.notion == "group" and claim is None):
        out = np.array(m.distances([p.word for p in probes]), np.float64)
    else:
        out = np.ones((n, n))
    np.fill_diagonal(out, np.nan)
    return out


# --- closed forms: the exact maximum


def _aligned(probes: Sequence[_Probe]) -> tuple[np.ndarray, Sequence[str]]:
    """Log-probabilities over the union of the candidates, float64 (n, outputs), and the candidates."""
    first = probes[0].d.candidates
    if all(p.d.candidates is first or p.d.candidates == first for p in probes):
        return np.stack([p.d.log_probs for p in probes]), first
    at: dict[str, int] = {}
    for p in probes:
        for word in p.d.candidates:
            at.setdefault(word, len(at))
    out = np.full((len(probes), len(at)), -np.inf)
    for row, p in zip(out, probes, strict=True):
        where = np.fromiter((at[w] for w in p.d.candidates), np.int64, len(p.d.candidates))
        np.logaddexp.at(row, where, p.d.log_probs)
    return out, list(at)


def _largest(probes: Sequence[_Probe], distances: np.ndarray, meter: _Meter) -> tuple[float, Witness | None]:
    """The largest loss per unit over all pairs that are compared, and where it is."""
    groups = _cliques(distances)
    best, witness = -1.0, None
    for k, group in enumerate(groups if groups is not None else [np.flatnonzero(np.isfinite(distances).any(axis=1))]):
        meter.at(0.4 + 0.4 * k / (len(groups) if groups is not None else 1))
        if len(group) < 2:
            continue
        members = [probes[i] for i in group]
        log_p, outputs = _aligned(members)
        if np.isnan(log_p).any():
            raise ConfigError("The mechanism states a probability that is not a number: its distribution is broken.")
        if groups is not None:
            value, a, b, y = _spread(log_p)
        else:
            value, a, b, y = _pairwise(log_p, distances[np.ix_(group, group)], meter)
        if value > best:
            apart = float(distances[group[a], group[b]])
            best = value
            witness = _witness(members[a], members[b], (outputs[y],), log_p[a, y], log_p[b, y], apart)
    meter.at(0.8)
    return max(best, 0.0), witness


def _cliques(distances: np.ndarray) -> list[np.ndarray] | None:
    """The groups of inputs that are all 1 apart, where that is all there is; else None."""
    finite = np.isfinite(distances)
    if (distances[finite] != 1.0).any():
        return None
    joined = finite | np.eye(len(finite), dtype=bool)
    # Alike is transitive where equal rows are the groups.
    _, label = np.unique(np.packbits(joined, axis=1), axis=0, return_inverse=True)
    label = label.ravel()
    if not np.array_equal(joined, label[:, None] == label[None]):
        return None
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _spread(log_p: np.ndarray) -> tuple[float, int, int, int]:
    """Where all rows are alike: the largest difference in any column, with its rows and column."""
    high, low = log_p.max(axis=0), log_p.min(axis=0)
    with np.errstate(invalid="ignore"):
        gap = np.where(high > -np.inf, high - low, 0.0)
    value = float(gap.max())
    y = int(np.argmax(np.where(gap == value, high, -np.inf)))
    return value, int(np.argmax(log_p[:, y])), int(np.argmin(log_p[:, y])), y


def _pairwise(log_p: np.ndarray, distances: np.ndarray, meter: _Meter) -> tuple[float, int, int, int]:
    """The largest |log-ratio| / distance over all pairs with a distance, with its rows and column."""
    from scipy.spatial.distance import squareform

    n = len(log_p)
    clean = np.maximum(log_p, _NEVER, out=log_p)  # a difference to it is _NEVER itself, in float64
    apart = np.array([0.0]) if n < 2 else squareform(np.where(np.eye(n, dtype=bool), 0.0, distances), checks=False)
    loss = _chebyshev(clean, meter)
    loss[loss > -_NEVER / 2] = np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        per = np.where(loss <= TOLERANCE, 0.0, loss / apart)
    per[~np.isfinite(apart)] = -1.0
    rows, columns = np.triu_indices(n, 1)

    def where(k: int) -> tuple[float, int, int, int]:
        """The chance of the likelier output, its row, the other row, its column."""
        a, b = int(rows[k]), int(columns[k])
        gap = np.abs(clean[a] - clean[b])
        # Of outputs that are impossible under one of the two: the likeliest.
        y = int(np.argmax(np.where(gap == gap.max(), np.maximum(clean[a], clean[b]), _NEVER)))
        return (clean[a, y], a, b, y) if clean[a, y] > clean[b, y] else (clean[b, y], b, a, y)

    best = float(per.max())
    _, a, b, y = max(where(int(k)) for k in np.flatnonzero(per == best)[:300])
    return best, a, b, y


def _chebyshev(x: np.ndarray, meter: _Meter, width: int = 256) -> np.ndarray:
    """max_y |x_a(y) − x_b(y)| for all pairs of rows, condensed: in blocks of columns that fit the cache."""
    from scipy.spatial.distance import pdist

    starts = range(0, x.shape[1], width)
    threads = min(2, os.cpu_count() or 1, len(starts))
    out = np.zeros(len(x) * (len(x) - 1) // 2)

    def work(mine: Sequence[int]) -> np.ndarray:
        best = np.zeros_like(out)
        for start in mine:
            check_cancel(meter.cancel)
            block = np.ascontiguousarray(x[:, start : start + width])
            np.maximum(best, pdist(block, "chebyshev"), out=best)
        return best

    with ThreadPoolExecutor(threads) as pool:
        for part in pool.map(work, [starts[t::threads] for t in range(threads)]):
            np.maximum(out, part, out=out)
    return out


# --- closed forms: the sampler


def _check_sampler(
    report: AuditReport, m: Mechanism, probes: Sequence[_Probe], count: int, dice: Dice, meter: _Meter
) -> AuditReport:
    """Draws of the sampler, and whole rewrites of single words, against the stated distribution."""
    picked = [probes[i] for i in np.unique(np.linspace(0, len(probes) - 1, CHECKED).astype(int))]
    found: list[tuple[float, _Probe, str, float, float]] = []
    drawn = 0
    for k, probe in enumerate(picked):
        meter.at(0.8 + 0.15 * k / len(picked))
        index = probe.d.sample_indices(count, dice.at("sampler", k))
        drawn += len(index)
        p, y = _misfit(np.bincount(index, minlength=len(probe.d)), probe.d.log_probs)
        share = float((index == y).mean())
        found.append((p, probe, probe.d.candidates[y], share, float(probe.d.log_probs[y])))
    for k, probe in enumerate(picked[:: max(1, len(picked) // REWRITTEN)][:REWRITTEN]):
        words = _rewritten(m, probe, count // 2, None if dice.seed is None else dice.seed + k, meter)
        if words:
            drawn += len(words)
            found.append(_misfit_of_words(probe, words))
    if not found:
        return report
    p, probe, output, share, log_p = min(found, key=lambda f: f[0])
    p = min(1.0, p * len(found))
    report = replace(report, draws=drawn, sampler_p=p)
    if p < SAMPLER_LEVEL and not _exceeds(report):
        log_share = math.log(share) if share else -math.inf
        witness = _witness(probe, probe, (output,), log_share, log_p, 0.0)
        reason = (
            "what is drawn does not follow the distribution that the mechanism states, so that no promise computed "
            "from that distribution is kept."
        )
        report = replace(report, reason=reason, witness=replace(witness, kind="sampler"))
    return report


def _rewritten(m: Mechanism, probe: _Probe, n: int, seed: int | None, meter: _Meter) -> list[str]:
    """What a rewrite makes of this word in n fresh draws, lower case; [] for a word among others."""
    prepared = probe.prepared
    if not probe.alone:
        if probe.at is not None or not isinstance(prepared, WordPrepared):
            return []
        prepared = m.prepare(probe.word, cancel=meter.cancel)
    results = m.rewrites(prepared, n, seed, cancel=meter.cancel)
    return [s.replacement.casefold() for r in results for s in r.steps if s.action == "replace"]


def _misfit_of_words(probe: _Probe, words: Sequence[str]) -> tuple[float, _Probe, str, float, float]:
    """As :func:`_misfit`, for released words of which the case may have been changed."""
    lowered = [c.casefold() for c in probe.d.candidates]
    at = {w: i for i, w in reversed(list(enumerate(lowered)))}
    log_p = np.full(len(lowered) + 1, -np.inf)
    np.logaddexp.at(log_p, np.array([at[w] for w in lowered]), probe.d.log_probs)
    counts = np.bincount([at.get(w, len(lowered)) for w in words], minlength=len(log_p))
    p, y = _misfit(counts, log_p)
    name = probe.d.candidates[y] if y < len(lowered) else next(w for w in words if w not in at)
    return p, probe, name, float(counts[y] / len(words)), float(log_p[y])


def _misfit(counts: np.ndarray, log_p: np.ndarray) -> tuple[float, int]:
    """p-value of counts (V,) as draws with these log-probabilities, and the output that fits worst.

    The smaller of two, doubled: chi-square, rare outputs merged to an expectation of 50 and more; and the exact
    binomial tail of the output that fits worst, times the number of outputs. 0 where something impossible was drawn.
    """
    from scipy.special import bdtr, bdtrc, chdtrc

    n = int(counts.sum())
    impossible = np.flatnonzero((counts > 0) & ~np.isfinite(log_p))
    if len(impossible):
        return 0.0, int(impossible[0])
    p = np.exp(log_p)
    p /= p.sum()
    # Only what was drawn, or should have been, can fit badly.
    some = np.flatnonzero((counts > 0) | (n * p > 1))
    tail = np.minimum(bdtrc(counts[some] - 1, n, p[some]), bdtr(counts[some], n, p[some]))
    worst = int(some[np.argmin(tail)])
    single = min(1.0, 2 * float(tail.min()) * len(p))
    order = np.argsort(p, kind="stable")
    cell = np.floor(np.cumsum(p[order]) * n / 50 * (1 - 1e-12)).astype(np.int64)
    _, cell = np.unique(cell, return_inverse=True)
    expected, seen = np.bincount(cell, n * p[order]), np.bincount(cell, counts[order])
    while len(expected) > 1 and expected[-1] < 50:
        expected[-2] += expected[-1]
        seen[-2] += seen[-1]
        expected, seen = expected[:-1], seen[:-1]
    if len(expected) < 2:
        return single, worst
    if expected[0] < 50:
        expected[1] += expected[0]
        seen[1] += seen[0]
        expected, seen = expected[1:], seen[1:]
    if len(expected) < 2:
        return single, worst
    chi = float(chdtrc(len(expected) - 1, ((seen - expected) ** 2 / expected).sum()))
    return min(1.0, 2 * min(single, chi)), worst


# --- noise: bounds from draws


def _estimate(
    report: AuditReport, probes: Sequence[_Probe], distances: np.ndarray, count: int, dice: Dice, meter: _Meter
) -> AuditReport:
    """A lower bound of the loss per unit, from ``count`` draws at each input: one half chooses, the other tests."""
    half = count // 2
    halves: tuple[list[dict[str, int]], list[dict[str, int]]] = ([], [])
    for k, probe in enumerate(probes):
        for part in (0, 1):
            drawn: dict[str, int] = {}
            for start in range(0, half, 2000):
                meter.at(0.4 + 0.5 * (k + (part * half + start) / count) / len(probes))
                index = probe.d.sample_indices(min(2000, half - start), dice.at("noise", k, part, start))
                for y, c in zip(*np.unique(index, return_counts=True), strict=True):
                    word = probe.d.candidates[y]
                    drawn[word] = drawn.get(word, 0) + int(c)
            halves[part].append(drawn)
    report = replace(report, draws=2 * half * len(probes))
    outputs = {w: i for i, w in enumerate(dict.fromkeys(w for both in halves for seen in both for w in seen))}
    choose, test = (np.zeros((len(probes), len(outputs)), np.int64) for _ in range(2))
    for table, counts in ((choose, halves[0]), (test, halves[1])):
        for row, seen in zip(table, counts, strict=True):
            row[[outputs[w] for w in seen]] = list(seen.values())
    apart = np.where(distances > 0, distances, np.nan)
    pairs = [(int(a), int(b)) for a, b in zip(*np.nonzero(np.isfinite(apart)), strict=True)]
    if not pairs:
        return replace(report, detectable=0.0)
    alpha = (1 - report.confidence) / (2 * min(TESTED, len(pairs)))
    ranked = []
    for k, (a, b) in enumerate(pairs):
        if k % 200 == 0:
            meter.at(0.9 + 0.1 * k / len(pairs))
        bound, event = _event(choose[a], choose[b], half, alpha)
        ranked.append((bound / apart[a, b], a, b, event))
    ranked.sort(key=lambda r: -r[0])
    names = list(outputs)
    best, witness = 0.0, None
    # Every draw under one input in the event and none under the other, at the smallest distance.
    limit = float(np.log(_lowest(half, half, alpha)) - np.log(_highest(0, half, alpha))) / float(np.nanmin(apart))
    for _, a, b, event in ranked[:TESTED]:
        low = _lowest(test[a, event].sum(), half, alpha)
        high = _highest(test[b, event].sum(), half, alpha)
        value = float((np.log(low) - np.log(high)) / apart[a, b]) if low > 0 else -math.inf
        if witness is None or value > best:
            best = max(best, value)
            likely = event[np.argsort(-test[a, event], kind="stable")]
            witness = _witness(
                probes[a], probes[b], tuple(names[y] for y in likely), float(np.log(low)) if low > 0 else -math.inf,
                float(np.log(high)), float(apart[a, b]),
            )  # fmt: skip
    return replace(report, measured=max(best, 0.0), detectable=limit, witness=witness)


def _event(a: np.ndarray, b: np.ndarray, n: int, alpha: float) -> tuple[float, np.ndarray]:
    """The set of outputs whose bound of ln P_a/P_b is highest on these counts, among sets of highest ratios."""
    seen = np.flatnonzero(a > 0)
    order = seen[np.argsort(-(a[seen] + 0.5) / (b[seen] + 0.5), kind="stable")]
    ends = np.unique(np.geomspace(1, len(order), 24).astype(int)) - 1
    hits, others = np.cumsum(a[order])[ends], np.cumsum(b[order])[ends]
    value = np.log(_lowest(hits, n, alpha)) - np.log(_highest(others, n, alpha))
    k = int(np.argmax(value))
    return float(value[k]), order[: ends[k] + 1]


def _lowest(hits: Any, n: int, alpha: float) -> Any:
    """Lower Clopper-Pearson bound of a probability at one-sided level alpha; 0 for no hit."""
    from scipy.special import betaincinv

    hits = np.asarray(hits)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), n - hits + 1, alpha), 0.0)


def _highest(hits: Any, n: int, alpha: float) -> Any:
    """Upper Clopper-Pearson bound at one-sided level alpha; 1 where all hit."""
    from scipy.special import betaincinv

    hits = np.asarray(hits)
    return np.where(hits < n, betaincinv(hits + 1, np.maximum(n - hits, 1), 1 - alpha), 1.0)


# --- the verdict


def _judged(report: AuditReport, promise: Guarantee, claim: float | None) -> AuditReport:
    if report.witness is not None and report.witness.kind == "sampler":
        return replace(report, verdict="refuted")
    if claim is None and promise.notion == "none":
        return replace(report, verdict="inconclusive", reason=f"nothing is promised, because {promise.reason}")
    if claim is None and promise.notion == "approx":
        reason = "a promise with δ allows rare outputs any ratio, so that the largest ratio cannot refute it."
        return replace(report, verdict="inconclusive", reason=reason)
    if not report.pairs:
        reason = "no two of these inputs are alike under the promise, so that there is nothing to compare."
        return replace(report, verdict="inconclusive", reason=reason, detectable=0.0)
    if _exceeds(report):
        return replace(report, verdict="refuted")
    if report.detectable < report.claimed:
        reason = (
            f"with {report.draws:,} draws the largest loss that could have been found is "
            f"{number(report.detectable)}, less than the claimed {number(report.claimed)}."
        )
        return replace(report, verdict="inconclusive", reason=reason)
    return replace(report, verdict="holds")


def _exceeds(report: AuditReport) -> bool:
    return report.measured > report.claimed + TOLERANCE * max(1.0, report.claimed)


# --- a picture


def figure(report: AuditReport, dark: bool = False, height: int = 170) -> go.Figure:
    """Claimed and measured loss as two bars, and how far the audit could see; an infinite bar runs off the axis."""
    import plotly.graph_objects as go

    from .figures import DARK, LIGHT, _layout

    colours = DARK if dark else LIGHT
    values = [report.measured, report.claimed]
    top = 1.15 * max([v for v in (*values, report.detectable) if math.isfinite(v)], default=1.0) or 1.0
    picture = go.Figure(
        go.Bar(
            x=[min(v, 1.2 * top) for v in values],
            y=["measured" if report.exact else "measured, at least", "claimed"],
            orientation="h",
            marker={"color": [colours["new"] if report.verdict == "refuted" else colours["keep"], colours["bar"]]},
            text=["∞" if math.isinf(v) else number(v) for v in values],
            textposition="inside",
            insidetextanchor="start",
            hoverinfo="skip",
        )
    )
    if math.isfinite(report.detectable) and report.detectable > 0:
        picture.add_vline(
            x=report.detectable, line={"color": colours["soft"], "width": 1.5, "dash": "dot"},
            annotation_text="could have been found", annotation_font_color=colours["soft"],
        )  # fmt: skip
    picture.update_xaxes(range=[0, top], title="ε of one draw" + (", per unit of distance" if report.unit else ""))
    _layout(picture, colours, height)
    return picture.update_layout(bargap=0.35)


# --- small things


class _Meter:
    """Progress in thousandths, and the place where a wish to stop is seen."""

    def __init__(self, progress: Progress | None, cancel: threading.Event | None):
        self._progress, self.cancel = progress, cancel

    def at(self, share: float) -> None:
        check_cancel(self.cancel)
        if self._progress:
            self._progress(int(1000 * share), 1000)


def _witness(a: _Probe, b: _Probe, outputs: tuple[str, ...], log_a: float, log_b: float, apart: float) -> Witness:
    log_a, log_b = (-math.inf if x <= _NEVER / 2 else float(x) for x in (log_a, log_b))
    return Witness(a.text, b.text, outputs, log_a, log_b, apart, a.at, b.at)


def _named(text: str, at: str | None) -> str:
    return f"“{text}”" if at is None else f"“{at}” in “{text}”"


def _chance(log_p: float) -> str:
    """A probability as people read it, also where it is smaller than float64 holds."""
    if log_p == -math.inf:
        return "0"
    if log_p > math.log(1e-4):
        return f"{math.exp(log_p):.2g}"
    power = math.floor(log_p / math.log(10))
    return f"{10 ** (log_p / math.log(10) - power):.1f}e{power}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return ("inf" if value > 0 else "-inf") if isinstance(value, float) and math.isinf(value) else value
