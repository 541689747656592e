"""Distribute one total ε over the words of a text: evenly, by public word frequency, by public entropy, or by hand.

    plan = distribute(mechanism, text, total=100, by="frequency")
    mechanism.replace(epsilon=plan.epsilons).rewrite(text)

A reader sees or can guess the list of ε. If it depends on the words, it reveals something about them, and the guarantee
holds only between texts with the same list: ``exposes`` says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import ConfigError, InputError
from ..mechanisms.base import Mechanism, Prepared, check_mechanism
from ..mechanisms.capabilities import require_alignment
from ..privacy.numbers import bound, number
from ..support.checks import check_whole_number, real, shorten_repr

RULES = ("uniform", "frequency", "public", "hand")
#: Weight of a word by its rank in the public vocabulary: up to this rank, this weight. Unknown words weigh least.
BANDS = ((1_000, 4.0), (5_000, 3.0), (math.inf, 2.0))
UNKNOWN_WEIGHT = 1.0
#: For "public": the smallest weight of a word, as a fraction of the largest.
LEAST_OPEN = 0.2
_NO_WORDS = "has no words that could share a total. Give one ε"


@dataclass(frozen=True)
class Budget:
    """A total ε over the tokens of a text.

    epsilons: one value per token of the document, including copied ones, as ``epsilon=`` expects. Copied tokens spend
    nothing, whatever their value. sampled_tokens: indices of the tokens that spend. shares: the share of the total that
    each of those spends. total: the worst-case total of a rewrite. by: the rule. exposes: what the list reveals, empty
    for uniform.
    """

    epsilons: tuple[float, ...]
    sampled_tokens: tuple[int, ...]
    shares: tuple[float, ...]
    total: float
    by: str
    exposes: tuple[str, ...] = ()

    @property
    def sum(self) -> float:
        """Return the sum of the shares in ε: the total, up to rounding."""
        return math.fsum(s * self.total for s in self.shares)

    def sentence(self) -> str:
        """Return the plan in plain words."""
        values = [self.epsilons[i] for i in self.sampled_tokens]
        low, high = min(values), max(values)
        each = f"ε = {bound(low)}" if low == high else f"between ε = {bound(low)} and {bound(high)}"
        words = "word" if len(values) == 1 else "words"
        message = f"{len(values)} {words}, {each} per word, together ε = {bound(self.total)}."
        return " ".join([message, *(f"This reveals {e}." for e in self.exposes)])


def distribute(
    mechanism: Mechanism,
    text: str | Prepared,
    total: float,
    by: str = "uniform",
    shares: Mapping[int, float] | None = None,
) -> Budget:
    """Distribute ``total`` over the tokens of ``text`` that the mechanism samples.

    Loads no model unless it is needed to know them. by: "uniform". "frequency": more for words that are common in
    public, by rank in the bundled vocabulary (see BANDS). A word alone decides its weight, but all words together
    decide the value of one unit of weight. "public" (for a mechanism with a public prior): in proportion to the entropy
    of the proposal at each position, since a word that the copied words predict needs less; the values follow from
    public data, and the model runs. "hand". shares, for "hand": token index → share of the total in (0, 1); the others
    divide the rest evenly. A word that is sampled once for several positions (CusText's record) counts at its first
    one. Raises InputError for impossible shares, and for a total that would give a token more than max_epsilon;
    ConfigError if the mechanism accepts no list or has no public prior; NoDistribution if it writes a new text.
    """
    if not isinstance(by, str) or by not in RULES:
        raise ConfigError(f"by must be one of {', '.join(RULES)}, not {shorten_repr(by)}.")
    if (by == "hand") != (shares is not None):
        raise ConfigError('Use shares only with by="hand", which requires them.')
    total = real("The total ε, above 0,", total, InputError)
    if total <= 0:
        raise InputError(f"The total ε must be a number above 0, not {total:g}.")
    check_mechanism(mechanism)
    # The plan of one ε for all words: the number of draws, and their worst-case total.
    one = mechanism.replace(epsilon=1.0)
    words = require_alignment(one, _NO_WORDS)
    prepared = one.plan(text)
    tokens = prepared.document.tokens
    drawn = words.spending(prepared)
    if not drawn:
        raise InputError("No word of this text is sampled, so there is nothing to distribute. Add more words.")
    draws_each = one.guarantee(prepared).total / len(drawn)
    every = [1.0] * len(tokens)
    if by == "frequency":
        every = [frequency_weight(t.text) for t in tokens]
    elif by == "public":
        every = _by_openness(one, prepared)
    if by == "hand":
        parts = _by_hand({} if shares is None else shares, drawn)
    else:
        parts = [every[i] / math.fsum(every[j] for j in drawn) for i in drawn]
    values = [p * total / draws_each for p in parts]
    limit = mechanism.max_epsilon
    _check_values(values, limit, limit * draws_each / max(parts))
    # The value at a token that spends nothing must reveal no more about it than its neighbours' values.
    open_ones = [v / every[i] for i, v in zip(drawn, values, strict=True) if i not in (shares or {})]
    unit = open_ones[0] if open_ones else math.fsum(values) / len(values)
    epsilons = [min(limit, unit * w) for w in every]
    for i, value in zip(drawn, values, strict=True):
        epsilons[i] = value
    mechanism.replace(epsilon=tuple(epsilons))  # raises if the mechanism accepts only one ε
    return Budget(tuple(epsilons), drawn, tuple(parts), float(total), by, _exposes(by, one))


def _check_values(values: Sequence[float], limit: float, most: float) -> None:
    """Raise InputError if a word would get more ε than the limit, or none.

    most: the largest total that fits.
    """
    if max(values) > limit:
        raise InputError(
            f"One word would get ε = {bound(max(values))}, more than the largest possible ε = "
            f"{number(math.floor(limit))}. Use a total of at most {number(math.floor(most))}, or a more even "
            "distribution."
        )
    if min(values) <= 0:
        raise InputError("One word would get no ε at all. Use a larger total or a larger share.")


def _by_openness(mechanism: Mechanism, prepared: Prepared) -> list[float]:
    """Return a weight for each token: its public entropy relative to the largest, and 1 for copied tokens."""
    start = mechanism.public_prior
    entropies = None if start is None else start.entropy(prepared)
    if entropies is None:
        raise ConfigError(
            f"{mechanism.title} has no public prior, so it is unknown which words need less ε. Use a public prior "
            "(dp-mlm-prior, or the option prior), or distribute the total evenly."
        )
    largest = max(entropies.values(), default=0.0) or 1.0
    every = [1.0] * len(prepared.document.tokens)
    for i, entropy in entropies.items():
        every[i] = max(LEAST_OPEN, entropy / largest)
    return every


def _by_hand(shares: Mapping[int, float], drawn: tuple[int, ...]) -> list[float]:
    if not isinstance(shares, Mapping):
        raise ConfigError(
            f"shares must map tokens to shares of the total, such as {{0: 0.5}}, not {shorten_repr(shares)}."
        )
    shares = {check_whole_number("A token's index", i): real("A share", s, InputError) for i, s in shares.items()}
    wrong = [i for i in shares if i not in drawn]
    if wrong:
        raise InputError(f"Token {wrong[0]} is not sampled, so it has no share. Give shares only to sampled tokens.")
    for i, s in shares.items():
        if not 0 < s <= 1:
            raise InputError(f"The share of token {i} is {s:g}, but a share must be above 0 and at most 1.")
    given, others = math.fsum(shares.values()), len(drawn) - len(shares)
    if others and given >= 1:
        raise InputError(
            f"The shares add up to {given:.1%}, so nothing remains for the other words. Reduce some shares."
        )
    if not others and abs(given - 1) > 1e-6:
        raise InputError(f"Every word has a share, but their sum is {given:.1%}. Make the sum 100%, or omit one share.")
    remaining = (1 - given) / others if others else 0.0
    return [shares.get(i, remaining) / (1 if others else given) for i in drawn]


def _exposes(by: str, mechanism: Mechanism) -> tuple[str, ...]:
    out = []
    if by == "frequency":
        out.append(f"the public frequency class of each sampled word, one of {len(BANDS) + 1}")
    elif by == "hand":
        out.append(
            "which words you consider private (the guarantee covers texts for which you would choose the same list)"
        )
    return (*out, *require_alignment(mechanism, _NO_WORDS).total_leaks(by == "public"))


def frequency_weight(word: str) -> float:
    """Return a word's weight in the budget from its rank in the bundled vocabulary alone, ignoring case."""
    from ..words import word_space

    if not isinstance(word, str):
        raise InputError(f"A word must be a str, not {type(word).__name__}.")
    rank = word_space("minilm").index(word)
    return UNKNOWN_WEIGHT if rank is None else next(w for limit, w in BANDS if rank < limit)
