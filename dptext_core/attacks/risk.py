"""The probability that the Bayes-optimal guess recovers each word of a text, before sampling.

For a word w it is Σ_z p(z|w)·[w is the best guess given z]. The best guess has the largest π(x)·p(z|x) of all words x
(see ``bayes``), and the first of equal ones. Weighted by the prior over all words, it is the success of that attacker.
Every figure is exact. If a word has few outputs, and its probabilities are score tables, the ε at which the best guess
changes are exact too: :class:`Lead` then has the figure at every ε.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import Mechanism, Prepared, WordByWord
from ..mechanisms.capabilities import sampled_tokens
from ..privacy.distribution import Channel, ScoreTable, logsumexp
from ..privacy.numbers import percent
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from .bayes import Guesser, checked_prior, closed_form
from .prior import Prior

#: Maximum number of different outputs of a text's words for which the best guess is computed per output. Above it,
#: every word of the vocabulary is evaluated.
OUTPUTS = 4000
#: Maximum number of scores, of the words that share an output with one word, for which leads along ε are computed.
SCORES = 500_000
#: Number of initial intervals of the ε axis.
PIECES = 64
#: In ln p: smaller differences count as equal. As a share of ε: the precision of a change, and the width below which
#: two changes of a near tie are ignored.
TIE, FINE, CLOSE = 1e-12, 1e-8, 1e-3


@dataclass(frozen=True, eq=False)
class Lead(Private):
    """The outputs for which a word is the best guess, along ε. scores, log_base: float64 (K,), the outputs have
    probabilities ∝ exp(ε·score + base). won: for each output, the ε at which the word becomes the best guess, ceases to
    be, and so on, ascending.
    """

    scores: np.ndarray
    log_base: np.ndarray
    won: tuple[tuple[float, ...], ...]

    _shown: ClassVar[tuple[str, ...]] = ()

    def success(self, epsilon: float) -> float:
        x = epsilon * self.scores + self.log_base
        led = [np.searchsorted(ends, epsilon, side="right") % 2 == 1 for ends in self.won]
        return float(np.exp(x - logsumexp(x))[led].sum())


@dataclass(frozen=True, eq=False)
class WordSuccess(Private):
    """How often the Bayes-optimal guess recovers each word of a text, before sampling. epsilon: the ε of ``success``.
    success: by token. leads: by token along ε, None if unknown. chance, guess: the success of one guess for all words
    without the output, and that guess.
    """

    epsilon: float
    chance: float
    guess: str
    success: dict[int, float] = field(repr=False)
    leads: dict[int, Lead] | None = field(default=None, repr=False)

    _shown: ClassVar[tuple[str, ...]] = ("epsilon", "chance")

    def sentence(self) -> str:
        """Explain the figures."""
        return (
            "The attacker sees one released word and knows the mechanism, ε and public word frequencies. Without the "
            f"output, always guessing “{self.guess}” is right {percent(self.chance)} of the time."
        )


def check(mechanism: Mechanism) -> None:
    """Raise NoDistribution, with the reason, if no exact figure exists."""
    closed_form(mechanism)
    if isinstance(mechanism.config.epsilon, tuple):
        raise NoDistribution(
            "Each word has a separate ε here, but the optimal guesses are computed for one ε. Give one ε."
        )


def is_quick(mechanism: Mechanism, prepared: Prepared) -> bool:
    """Return True if :func:`word_success` needs no pass over all words of the vocabulary."""
    by_word = mechanism.by_word
    if by_word is None or not by_word.likelihood_ready(mechanism.config.epsilon):
        return False
    channels = by_word.channels(_rows(mechanism, prepared)[1])
    return sum(len(c.candidates) for c in {id(c.candidates): c for c in channels}.values()) <= OUTPUTS


def word_success(
    mechanism: Mechanism,
    prepared: Prepared,
    *,
    low: float | None = None,
    high: float | None = None,
    prior: Prior | None = None,
    task: Task = UNWATCHED,
) -> WordSuccess:
    """Compute how often the best guess recovers each sampled word of a text.

    Parameters
    ----------
    mechanism : Mechanism
    prepared : Prepared
        The text, prepared by the mechanism.
    low, high : float, optional
        Ends of an ε axis along which it is also computed, if that is exact.
    prior : Prior, optional
        Public word frequencies; by default, those of the bundled lists.
    task : Task
        Receives the progress, and may cancel the work.

    Returns
    -------
    WordSuccess

    Raises
    ------
    NoDistribution
        The mechanism has no formula.
    """
    check(mechanism)
    by_word = closed_form(mechanism)
    prior, epsilon = checked_prior(mechanism, prior), float(mechanism.config.epsilon)
    tokens, rows = _rows(mechanism, prepared)
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior.p)
    success, leads = None, None
    if is_quick(mechanism, prepared):
        channels = by_word.channels(rows)
        if low is not None and high is not None:
            leads = _word_leads(by_word, rows, channels, log_prior, low, high, task)
        if leads is None:
            success = _of_outputs(by_word, rows, channels, log_prior, epsilon, task)
        else:
            success = [lead.success(epsilon) for lead in leads]
    if success is None:
        success = _of_words(by_word, rows, prior, (epsilon,), task)[0].tolist()
    each = dict(zip(rows.tolist(), success, strict=True))
    along = None if leads is None else dict(zip(rows.tolist(), leads, strict=True))
    return WordSuccess(
        epsilon,
        prior.chance,
        prior.guess,
        {i: each[r] for i, r in tokens.items()},
        None if along is None else {i: along[r] for i, r in tokens.items()},
    )


def token_rows(mechanism: Mechanism, prepared: Prepared) -> dict[int, int]:
    """Return the row of each sampled token in the vocabulary of the mechanism."""
    by_word = closed_form(mechanism)
    rows = {i: by_word.token_row(prepared, i) for i in sampled_tokens(mechanism, prepared)}
    return {i: row for i, row in rows.items() if row is not None}


def _rows(mechanism: Mechanism, prepared: Prepared) -> tuple[dict[int, int], np.ndarray]:
    """Return the row of each sampled token, and the different rows."""
    tokens = token_rows(mechanism, prepared)
    return tokens, np.unique(np.array(list(tokens.values()), np.int64))


def rows_success(
    mechanism: Mechanism,
    rows: np.ndarray,
    epsilons: Sequence[float],
    *,
    prior: Prior | None = None,
    task: Task = UNWATCHED,
) -> np.ndarray:
    """Compute how often the best guess recovers each of some vocabulary words, at each ε: float64 (epsilons, rows).

    One pass over all words serves every ε. Raises NoDistribution for mechanisms without a formula.
    """
    check(mechanism)
    return _of_words(closed_form(mechanism), rows, checked_prior(mechanism, prior), epsilons, task.quiet)


def quick_success(
    mechanism: Mechanism, rows: np.ndarray, *, task: Task = UNWATCHED
) -> Callable[[float], np.ndarray] | None:
    """Compute how often the best guess recovers each of some words, as a function of ε that uses only their outputs:
    float64 (rows,). None if they have too many outputs, or no exact probabilities without a pass over all words.

    Raises NoDistribution for mechanisms without a formula.
    """
    by_word = closed_form(mechanism)
    channels = by_word.channels(rows)
    outputs = sum(len(c.candidates) for c in {id(c.candidates): c for c in channels}.values())
    if outputs > OUTPUTS or not by_word.likelihood_ready(1.0):
        return None
    with np.errstate(divide="ignore"):
        log_prior = np.log(checked_prior(mechanism, None).p)

    def success(epsilon: float) -> np.ndarray:
        by_output = _of_outputs(by_word, rows, channels, log_prior, epsilon, task)
        if by_output is None:
            by_output = _of_words(by_word, rows, checked_prior(mechanism, None), (epsilon,), task.quiet)[0].tolist()
        return np.array(by_output)

    return success


def _of_words(by_word: WordByWord, rows: np.ndarray, prior: Prior, epsilons: Sequence[float], task: Task) -> np.ndarray:
    """Return the success from a pass over all words, which finds the best guess for every output: float64 (epsilons,
    rows)."""
    guessers, every = [Guesser() for _ in epsilons], np.flatnonzero(prior.p > 0)
    for start in range(0, len(every), 128):
        task.check()
        some = every[start : start + 128]
        for row, channel in zip(some.tolist(), by_word.channels(some), strict=True):
            for guesser, epsilon in zip(guessers, epsilons, strict=True):
                guesser.add(row, channel, prior.p[row], epsilon)
        task.report(min(start + 128, len(every)), len(every))
    out = np.empty((len(epsilons), len(rows)))
    for j, (row, channel) in enumerate(zip(rows.tolist(), by_word.channels(rows), strict=True)):
        for i, (guesser, epsilon) in enumerate(zip(guessers, epsilons, strict=True)):
            d = channel.at(epsilon)
            led = guesser.guesses(d.candidates, np.arange(len(d.candidates))) == row
            out[i, j] = d.probs[led].sum()
    return out


def _of_outputs(
    by_word: WordByWord,
    rows: np.ndarray,
    channels: Sequence[Channel],
    log_prior: np.ndarray,
    epsilon: float,
    task: Task,
) -> list[float] | None:
    """Return the success from the best guess for each output of these words; None if it would not be exact."""
    guesses: dict[str, int] = {}
    for word in dict.fromkeys(w for c in channels for w in c.candidates):
        task.check()
        log_p, error = by_word.log_likelihood(word, epsilon, task.quiet)
        if error:
            return None
        weights = log_prior + log_p
        guesses[word] = int(np.argmax(weights >= weights.max() - TIE))
    out = []
    for row, channel in zip(rows.tolist(), channels, strict=True):
        d = channel.at(epsilon)
        out.append(float(sum(p for w, p in zip(d.candidates, d.probs, strict=True) if p > 0 and guesses[w] == row)))
    return out


# --- along ε


def _word_leads(
    by_word: WordByWord,
    rows: np.ndarray,
    channels: Sequence[Channel],
    log_prior: np.ndarray,
    low: float,
    high: float,
    task: Task,
) -> list[Lead] | None:
    """Return the lead of each word; None if that is too expensive, or probabilities are not score tables."""
    tables = [c for c in channels if isinstance(c, ScoreTable)]
    if len(tables) < len(channels) or sum(len(t.scores) for t in tables) > OUTPUTS:
        return None
    sharing: dict[str, np.ndarray] = {}
    for word in dict.fromkeys(w for t in tables for w in t.candidates):
        task.check()
        log_p = by_word.log_likelihood(word, low, task.quiet)[0]
        sharing[word] = np.flatnonzero(np.isfinite(log_p) & np.isfinite(log_prior))
    out: list[Lead] = []
    known: dict[int, ScoreTable] = {}
    for k, (row, table) in enumerate(zip(rows.tolist(), tables, strict=True)):
        rivals = np.unique(np.concatenate([[row], *(sharing[w] for w in table.candidates)])).astype(np.int64)
        new = np.array([r for r in rivals.tolist() if r not in known], np.int64)
        known |= {r: c for r, c in zip(new.tolist(), by_word.channels(new), strict=True) if isinstance(c, ScoreTable)}
        if not all(r in known for r in rivals.tolist()):
            return None
        against = [known[r] for r in rivals.tolist()]
        if sum(len(t.scores) for t in against) > SCORES:
            return None
        out.append(_lead(rivals.tolist().index(row), against, rivals, log_prior[rivals], low, high, task))
        task.report(k + 1, len(tables))
    return out


def _lead(
    row: int, tables: Sequence[ScoreTable], rows: np.ndarray, log_prior: np.ndarray, low: float, high: float, task: Task
) -> Lead:
    """Return the lead of the word ``own`` of several that share outputs; rows: their order, log_prior: ln π of each."""
    table = tables[row]
    base = [np.zeros(len(t.scores)) if t.log_base is None else t.log_base for t in tables]
    if not np.isfinite(log_prior[row]):
        return Lead(table.scores, base[row], ((),) * len(table.scores))
    size = max(len(t.scores) for t in tables)
    # One more, impossible entry for outputs that a table does not have.
    scores, bases = np.full((len(tables), size + 1), -np.inf), np.zeros((len(tables), size + 1))
    for i, t in enumerate(tables):
        scores[i, : len(t.scores)], bases[i, : len(t.scores)] = t.scores, base[i]
    lists = {id(t.candidates): {w: j for j, w in enumerate(t.candidates)} for t in tables}
    at = np.array([[lists[id(t.candidates)].get(w, size) for w in table.candidates] for t in tables])
    # In a tie, the first one is guessed.
    weights = log_prior + TIE * np.sign(rows[row] - rows)
    spreads = np.array([np.ptp(t.scores[np.isfinite(t.scores)]) for t in tables])

    def log_p(points: np.ndarray, who: np.ndarray) -> np.ndarray:
        """Return ln π(x)·p(z|x) at several ε (m,), for some words and each output (m, n, K)."""
        x = points[:, None, None] * scores[who] + bases[who]
        top = x.max(axis=2, keepdims=True)
        log_z = np.log(np.exp(x - top).sum(axis=2, keepdims=True)) + top
        return np.take_along_axis(x, at[None, who], axis=2) - log_z + weights[who][:, None]

    # No curve is steeper than the range of its scores: a word that cannot lead within any of these intervals never
    # does.
    pieces = np.linspace(low, high, PIECES + 1)
    reach = spreads[:, None] * (pieces[1] - pieces[0]) / 2
    comes = np.zeros((len(tables), len(table.scores)), bool)
    for middle in (pieces[:-1] + pieces[1:]) / 2:
        task.check()
        log_ps = log_p(np.array([middle]), np.arange(len(tables)))[0]
        comes |= log_ps + reach >= (log_ps - reach).max(axis=0)
    comes[row] = False
    others = np.flatnonzero(comes.any(axis=1))
    never = np.where(comes[others], 0.0, -np.inf)

    def ahead(points: np.ndarray) -> np.ndarray:
        """Compute the word's lead over the next at several ε (m,), for each output (m, K)."""
        out = []
        for part in np.array_split(points, 1 + len(points) * (1 + len(others)) * size // 2_000_000):
            task.check()
            mine = log_p(part, np.array([row]))[:, 0]
            best_other = (log_p(part, others) + never).max(axis=1, initial=-np.inf)
            with np.errstate(invalid="ignore"):
                out.append(np.where(np.isfinite(mine), mine - best_other, -np.inf))
        return np.concatenate(out)

    slope = spreads[row] + max(spreads[others], default=0.0)
    return Lead(table.scores, base[row], _changes(ahead, len(table.scores), slope, low, high))


def _changes(
    ahead: Callable[[np.ndarray], np.ndarray], n: int, slope: float, low: float, high: float
) -> tuple[tuple[float, ...], ...]:
    """Return the ε at which each of n functions, none steeper than ``slope``, crosses 0. An interval is skipped if the
    function in its middle is too far from 0 to reach it; others are halved.
    """
    edges = np.linspace(low, high, PIECES + 1)
    which = np.repeat(np.arange(n), PIECES)
    a, b = np.tile(edges[:-1], n), np.tile(edges[1:], n)
    changes: list[list[tuple[float, bool]]] = [[] for _ in range(n)]
    while len(a):
        middle = (a + b) / 2
        points, place = np.unique(middle, return_inverse=True)
        value = ahead(points)[place, which]
        settled = (np.abs(value) > slope * (b - a) / 2) | (b - a < FINE * middle)
        if (near := np.flatnonzero(~settled & (b - a < CLOSE * middle))).size:
            points, place = np.unique(np.concatenate([a[near], b[near]]), return_inverse=True)
            sides = ahead(points)[place, np.tile(which[near], 2)].reshape(2, -1)
            settled[near] = ((sides > 0) == (value[near] > 0)).all(axis=0)
        for k, start, above in zip(which[settled], a[settled], value[settled] > 0, strict=True):
            changes[k].append((float(start), bool(above)))
        a, middle, b, which = a[~settled], middle[~settled], b[~settled], which[~settled]
        a, b, which = np.concatenate([a, middle]), np.concatenate([middle, b]), np.tile(which, 2)
    out = []
    for pieces in changes:
        ends: list[float] = []
        for start, above in sorted(pieces):
            if above != bool(len(ends) % 2):
                ends.append(start)
        out.append(tuple(ends))
    return tuple(out)
