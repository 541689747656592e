"""One total ε over the words of a text: evenly, by how common a word is in public, by what is public, or by hand.

    plan = distribute(mechanism, text, total=100, by="frequency")
    mechanism.replace(epsilon=plan.epsilons).rewrite(text)

The list of ε is part of what a reader sees or can guess. Where it depends on the words, it tells about them, and the
promise holds only between texts that would have got the same list: ``exposes`` says so in words.
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
#: Weight of a word by its rank in the public vocabulary: up to this rank, this weight. Words that it lacks weigh least.
BANDS = ((1_000, 4.0), (5_000, 3.0), (math.inf, 2.0))
UNKNOWN_WEIGHT = 1.0
#: Of "public": the least that a word gets, as a part of what the most open word gets.
LEAST_OPEN = 0.2


@dataclass(frozen=True)
class Budget:
    """A total over the tokens of a text.

    epsilons: one value a token of the document, kept ones included: what ``epsilon=`` takes. Kept tokens spend nothing,
    whatever stands there. drawn: the tokens that spend, by index. shares: what part of the total each of those spends.
    total: what a rewrite spends in all (worst case). by: the rule. exposes: what the list tells, empty for uniform.
    """

    epsilons: tuple[float, ...]
    drawn: tuple[int, ...]
    shares: tuple[float, ...]
    total: float
    by: str
    exposes: tuple[str, ...] = ()

    @property
    def sum(self) -> float:
        """Return the sum of the shares in ε: the total, up to the last digits."""
        return math.fsum(s * self.total for s in self.shares)

    def sentence(self) -> str:
        """Return the plan in plain words."""
        values = [self.epsilons[i] for i in self.drawn]
        low, high = min(values), max(values)
        each = f"ε = {bound(low)}" if low == high else f"between ε = {bound(low)} and {bound(high)}"
        words = "word" if len(values) == 1 else "words"
        message = f"{len(values)} {words}, {each} a word, together ε = {bound(self.total)}."
        return " ".join([message, *(f"This shows {e}." for e in self.exposes)])


def distribute(
    mechanism: Mechanism,
    text: str | Prepared,
    total: float,
    by: str = "uniform",
    shares: Mapping[int, float] | None = None,
) -> Budget:
    """``total`` over the tokens of ``text`` that the mechanism draws. Loads no model where none is needed to know them.

    by: "uniform"; "frequency" (more for words that are common in public, by rank in the bundled vocabulary, see BANDS:
    nothing but the word itself decides its weight, but the weights of all words decide what one unit of weight is);
    "public" (of a mechanism with a public prior: in proportion to the entropy of the proposal that the kept words make
    at each place, since a word that they predict needs less; the values follow what is public, and the model runs);
    "hand".

    shares, for "hand": token index → part of the total in (0, 1); the others share the rest evenly. A word that is
    drawn once for several places (CusText's record) counts at its first one. Raises InputError for shares that cannot
    be, and for a total that would give a token more than max_epsilon; ConfigError where the mechanism takes no list, or
    proposes nothing from what is public; NoDistribution where it writes a new text.
    """
    if not isinstance(by, str) or by not in RULES:
        raise ConfigError(f"by is one of {', '.join(RULES)}, not {shorten_repr(by)}.")
    if (by == "hand") != (shares is not None):
        raise ConfigError('Give shares together with by="hand", and only then.')
    total = real("The total ε, above 0,", total, InputError)
    if total <= 0:
        raise InputError(f"The total ε is a number above 0, not {total:g}.")
    check_mechanism(mechanism)
    # The plan of one ε for all: how many draws there are, and what they spend in the worst case.
    one = mechanism.replace(epsilon=1.0)
    words = require_alignment(one, "has no words that could share a total. Give one ε")
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
    # What stands at a token that spends nothing must not tell more of it than its neighbours' values tell of them.
    open_ones = [v / every[i] for i, v in zip(drawn, values, strict=True) if i not in (shares or {})]
    unit = open_ones[0] if open_ones else math.fsum(values) / len(values)
    epsilons = [min(limit, unit * w) for w in every]
    for i, value in zip(drawn, values, strict=True):
        epsilons[i] = value
    mechanism.replace(epsilon=tuple(epsilons))  # refuses where the mechanism takes one ε only
    return Budget(tuple(epsilons), drawn, tuple(parts), float(total), by, _exposes(by, one))


def _check_values(values: Sequence[float], limit: float, most: float) -> None:
    """Raise InputError where a word would get more ε than the limit, or none. most: the largest total that fits."""
    if max(values) > limit:
        raise InputError(
            f"One word would get ε = {bound(max(values))}, and {number(math.floor(limit))} is the most. Use a total "
            f"of at most {number(math.floor(most))}, or a more even distribution."
        )
    if min(values) <= 0:
        raise InputError("One word would get no ε at all. Use a larger total or a larger share.")


def _by_openness(mechanism: Mechanism, prepared: Prepared) -> list[float]:
    """Return a weight for each token: its public entropy, the largest being 1, and 1 for kept ones."""
    start = mechanism.public_prior
    found = None if start is None else start.entropy(prepared)
    if found is None:
        raise ConfigError(
            f"{mechanism.title} has no public prior, so it is unknown which words need less ε. Use a public prior "
            "(dp-mlm-prior, or the option prior), or distribute the total evenly."
        )
    largest = max(found.values(), default=0.0) or 1.0
    every = [1.0] * len(prepared.document.tokens)
    for i, entropy in found.items():
        every[i] = max(LEAST_OPEN, entropy / largest)
    return every


def _by_hand(shares: Mapping[int, float], drawn: tuple[int, ...]) -> list[float]:
    if not isinstance(shares, Mapping):
        raise ConfigError(
            f"shares names a part of the total for some tokens, such as {{0: 0.5}}, not {shorten_repr(shares)}."
        )
    shares = {check_whole_number("A token's index", i): real("A share", s, InputError) for i, s in shares.items()}
    wrong = [i for i in shares if i not in drawn]
    if wrong:
        raise InputError(f"Token {wrong[0]} is not sampled, so it has no share. Give shares only to sampled tokens.")
    for i, s in shares.items():
        if not 0 < s <= 1:
            raise InputError(f"The share of token {i} is {s:g}; a share is above 0 and at most 1.")
    given, others = math.fsum(shares.values()), len(drawn) - len(shares)
    if others and given >= 1:
        raise InputError(f"The shares add up to {given:.1%}, so nothing remains for the other words. Reduce some "
                         "shares.")
    if not others and abs(given - 1) > 1e-6:
        raise InputError(f"Every word has a share, and they add up to {given:.1%}. Make it 100%, or leave one open.")
    rest = (1 - given) / others if others else 0.0
    return [shares.get(i, rest) / (1 if others else given) for i in drawn]


def _exposes(by: str, mechanism: Mechanism) -> tuple[str, ...]:
    out = []
    if by == "frequency":
        out.append(
            f"in which of {len(BANDS) + 1} classes of public frequency each drawn word is (for two texts whose words "
            "differ in class there is no promise once the list of ε is known)"
        )
    elif by == "hand":
        out.append(
            "which words you consider private (the guarantee covers texts for which you would choose the same list)"
        )
    return (*out, *require_alignment(mechanism, "has no words").told_by_total(by == "public"))


def frequency_weight(word: str) -> float:
    """Return a word's weight in the budget from its rank in the bundled vocabulary alone; case is ignored."""
    from ..words import word_space

    if not isinstance(word, str):
        raise InputError(f"A word is a str, not {type(word).__name__}.")
    rank = word_space("minilm").index(word)
    return UNKNOWN_WEIGHT if rank is None else next(w for limit, w in BANDS if rank < limit)
