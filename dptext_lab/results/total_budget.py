"""Rows of `bench budget`: what a total ε of a text preserves and reveals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dptext_core.support.checks import pluralize

from . import data_titles
from .measurement import Measurement

SETS = ("sst2", "snips", "reviews", "authors")
#: Measures and their titles in charts and tables.
MEASURES = {
    "cosine": "Meaning preserved (cosine)",
    "task": "Task accuracy",
    "author": "Authors recognised (share of texts)",
    "linked": "Originals identified (share of texts)",
    "named": "Words recovered by the strongest attacker (share)",
    "perplexity": "Perplexity per word (logarithm)",
}
#: Names of systems in charts: sampled sentences, and words sampled one by one.
WHOLE, WORDS, GROUPS = "Sentence bank", "DP-MLM", "CusText"
OWN = f"{WHOLE} from the same domain"
#: Parts of a text that are not protected, if they differ between the systems.
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
        ε of every text (0: what is released without reading it).
    measure
        One of ``MEASURES``, or "draws", the number of draws of a text.
    value, half
        Mean over texts and seeds, and half of the 95% interval over the texts (None for one text).
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
    """Return sentences by mechanism that compare a sampled sentence with words sampled one by one, or {} without
    rows."""
    there = {r.system: r for r in rows if r.data == SETS[0] and r.measure == "cosine" and r.total == total}
    one, each = there.get(WHOLE), there.get(WORDS)
    if one is None or each is None:
        return {}
    message = (
        f"At a total ε of {total:g} for a text, the sentence bank preserves a cosine of {one.value:.2f} and DP-MLM "
        f"{each.value:.2f} ({pluralize(one.texts, 'text')} of {data_titles.in_sentence(one.data)})."
    )
    return {one.mechanism: message}


def label_sentence(rows: Sequence[BudgetRow], total: float = 50.0) -> str:
    """Return sentences on the two systems by the label, and by the cosine at the largest total, or ""."""
    there = {(r.system, r.measure, r.total): r for r in rows if r.data == SETS[0]}
    last = max((r.total for r in rows), default=total)
    keys = [(s, m, t) for m, t in (("task", total), ("cosine", last)) for s in (WHOLE, WORDS)]
    if any(key not in there for key in keys):
        return ""
    label, other, cosine, each = (_interval(there[key]) for key in keys)
    return (
        f"The share of labels recognised is {label} for the sentence bank and {other} for DP-MLM."
        f"{_clear_leads(rows, total)} At a total ε of {last:g}, the cosines on "
        f"{data_titles.in_sentence(SETS[0])} are {cosine} and {each}."
    )


def _interval(row: BudgetRow) -> str:
    return f"{row.value:.2f} ± {row.half or 0.0:.2f}"


def _clear_leads(rows: Sequence[BudgetRow], total: float) -> str:
    """Return on which data sets the 95% interval of the sentence bank's labels is above DP-MLM's, or "" for one set."""
    there = {(r.data, r.system): r for r in rows if r.measure == "task" and r.total == total}
    pairs = [(there[d, WHOLE], there[d, WORDS]) for d in SETS if {(d, WHOLE), (d, WORDS)} <= there.keys()]
    if len(pairs) < 2:
        return ""
    clear = [(a, b) for a, b in pairs if a.value - (a.half or 0.0) > b.value + (b.half or 0.0)]
    names = "; ".join(f"{data_titles.in_sentence(a.data)}: {_interval(a)} against {_interval(b)}" for a, b in clear)
    return (
        f" The sentence bank's interval is above DP-MLM's on {len(clear)} of {len(pairs)} data sets"
        f"{f' ({names})' if names else ''}."
    )


def groups_sentence(rows: Sequence[BudgetRow], total: float = 50.0) -> str:
    """Return a sentence on CusText, whose guarantee is weaker, or ""."""
    for r in rows:
        if (r.system, r.data, r.measure, r.total) == (GROUPS, SETS[0], "cosine", total):
            return f"CusText preserves {r.value:.2f}, with a weaker guarantee."
    return ""
