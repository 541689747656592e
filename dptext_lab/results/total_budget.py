"""Rows of `bench budget`: what a total ε of a text buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dptext_core.support.checks import pluralize

from .measurement import Measurement

SETS = ("sst2", "snips", "reviews", "authors")
#: What is measured, as charts and tables call it.
MEASURES = {
    "cosine": "cosine to the original",
    "task": "accuracy of the task",
    "author": "share of texts whose author is told",
    "linked": "share of texts that the best attacker links",
    "named": "share of words that the best attacker names",
    "perplexity": "ln perplexity of a word",
}
#: Systems as charts call them: whole sentences drawn, and words drawn one by one.
WHOLE, WORDS = "Sentence bank", "DP-MLM"
OWN = f"{WHOLE}, bank of the domain"
#: What everyone sees of a text beside what is drawn, as far as it differs between what is compared here.
_KEPT = "stop words, punctuation, and how many words there are"
NOT_PROTECTED = {
    "dp-sentence": "how many sentences there are",
    "dp-mlm": _KEPT,
    "dp-mlm-prior": _KEPT,
    "custext": f"the group of each word, {_KEPT}",
}


@dataclass(frozen=True)
class BudgetRow:
    """One measure of one system at one total.

    Parameters
    ----------
    system
        Its name in charts.
    mechanism
        The mechanism's name.
    data
        The name of the data set.
    total
        ε of every text; 0 for what is released without looking at it.
    measure
        One of ``MEASURES``, or "draws", the number of draws of a text.
    value, half
        Mean over texts, each the mean of its seeds, and half of the 95% interval over the texts, None for one text.
    texts, seeds
        How many.
    """

    system: str
    mechanism: str
    data: str
    total: float
    measure: str
    value: float
    half: float | None
    texts: int
    seeds: int


MEASUREMENT = Measurement("budget", BudgetRow, "budget.json", digits=4)
bundled = MEASUREMENT.bundled


def sentences_by_mechanism(rows: Sequence[BudgetRow], total: float = 50.0) -> dict[str, str]:
    """Return what one draw a sentence keeps of a text at a total, beside words that are drawn one by one: the mechanism
    it is of → a sentence. {} without rows."""
    there = {r.system: r for r in rows if r.data == SETS[0] and r.measure == "cosine" and r.total == total}
    one, each = there.get(WHOLE), there.get(WORDS)
    if one is None or each is None:
        return {}
    message = (
        f"At a total ε of {total:g} for a text, one drawn sentence keeps {one.value:.0%} of the meaning, and words "
        f"drawn one by one keep {each.value:.0%} ({pluralize(one.texts, 'sentence')} of film reviews; Benchmarks has "
        f"more)."
    )
    return {one.mechanism: message}
