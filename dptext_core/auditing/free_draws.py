"""Test words that are replaced or deleted without spending ε: their outputs must not depend on them.

Most of them are unknown to the vocabulary. Their stated distributions are compared exactly. Rewrites are compared with
these by how often an output repeats, by its first and last letter, its length and its index among the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import DPTextError, NoDistribution
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.capabilities import public_context
from ..pieces import FLAGGED
from ..privacy.distribution import TokenDistribution
from .release_statistics import LEVEL, strip_word, too_many
from .rules import OURS, Breach
from .sampled import misfit, two_samples
from .statement import Statement, name
from .text_integrity import other_options

#: Words outside every vocabulary, of several lengths and first letters, and numbers of the same length.
UNKNOWN = (("qzxv", "grzybowskiewicz", "zzyzzx", "wkqtlm", "aqq", "mxyzptlkian"), ("4711", "6208", "1987"))
#: Number of rewrites of each; and with other options.
DRAWS, OTHERS = 80, 24
_PLACES = 8
_REASON = "a draw that should spend no ε depends on the private word."
_FEATURES: dict[str, Callable[[str], str]] = {
    "first letter": lambda word: word[:1],
    "last letter": lambda word: word[-1:],
    "length": lambda word: str(len(word)),
}


@dataclass(frozen=True)
class _Free:
    """A word that spends no ε, and its outputs: one per rewrite, "" if it was deleted."""

    word: str
    d: TokenDistribution | None
    outputs: list[str]


def check_free_draws(st: Statement) -> str:
    """Raise Breach if the output of a word that spends no ε depends on that word."""
    m = st.m
    if m.alignment is None:
        return ""
    ways: list[tuple[Mechanism, int]] = [(m, DRAWS)]
    if m.by_word is not None:
        ways += [(other, OTHERS) for _, other in other_options(m)]
    for way, draws in ways:
        for kind in UNKNOWN:
            for group in _free(st, way, kind, draws):
                _same_stated(group)
                _same_drawn(group)
    return ""


def _free(st: Statement, m: Mechanism, kind: Sequence[str], draws: int) -> list[list[_Free]]:
    """Return words that spend no ε, in one text with a known word. Each list has words whose outputs must have the same
    distribution: flagged ones are compared if their flags are the same."""
    text = " ".join([*st.words[: m is st.m], *kind])
    prepared = m.prepare(text)
    at = {i: t.text for i, t in enumerate(prepared.document.tokens) if t.text in kind}
    rewriter, seeds = st.subject.rewriter, st.subject.seeds(f"free {kind[0]}")
    first = rewriter.one(m, prepared, seeds()).steps
    groups: dict[Hashable, list[int]] = {}
    for s in first:
        if s.action in ("replace", "delete") and not s.epsilon and s.index in at:
            context = public_context(m, prepared, s.index) if s.reason == FLAGGED else None
            groups.setdefault((s.reason == FLAGGED, context), []).append(s.index)
    alike = [some for some in groups.values() if len(some) > 1]
    if not alike:
        return []
    outputs: dict[int, list[str]] = {i: [] for some in alike for i in some}
    for r in rewriter.fresh(m, prepared, draws, seeds()):
        for s in r.steps:
            if s.index in outputs and s.action != "insert":
                outputs[s.index].append("" if s.action == "delete" else strip_word(s.replacement))
    return [[_Free(at[i], _stated_distribution(m, prepared, i), outputs[i]) for i in some] for some in alike]


def _stated_distribution(m: Mechanism, prepared: Prepared, i: int) -> TokenDistribution | None:
    try:
        d = m.distribution(prepared, i)
    except NoDistribution:
        return None
    except OURS:
        raise
    except DPTextError:
        return None
    return d if d.draws is None else None


def _same_stated(words: Sequence[_Free]) -> None:
    one, *others = words
    for other in others:
        if one.d is None or other.d is None:
            if (one.d is None) != (other.d is None):
                _differ(one, other, "only one of them has a stated distribution.")
            continue
        same = one.d.candidates is other.d.candidates or list(one.d.candidates) == list(other.d.candidates)
        if not same or not np.allclose(one.d.log_probs, other.d.log_probs, rtol=1e-9, atol=1e-9):
            _differ(one, other, "are stated to be drawn from different distributions.")


def _differ(one: _Free, other: _Free, how: str) -> None:
    message = f"{name(one.word)} and {name(other.word)} should spend no ε, but {how}"
    raise Breach(one.word, message, _REASON, other=other.word)


def _same_drawn(free: Sequence[_Free]) -> None:
    level = LEVEL / (len(free) * (len(_FEATURES) + 2) * 4)
    index: dict[str, int] = {}
    labels: dict[str, np.ndarray] = {}
    if (d := free[0].d) is not None:  # the same for all
        words = [strip_word(w) for w in d.candidates]
        index = {w: i for i, w in reversed(list(enumerate(words)))}
        labels = {what: np.unique(list(map(f, words)), return_inverse=True)[1] for what, f in _FEATURES.items()}
        labels["place among the candidates"] = np.arange(len(words)) * _PLACES // len(words)
    for k, one in enumerate(free):
        others = [w for j, o in enumerate(free) if j != k for w in o.outputs]
        other = free[k - 1]
        if one.d is None:
            features: dict[str, Callable[[str], str]] = {**_FEATURES, "output": lambda word: word}
            for what, feature in features.items():
                if _two_sample_p([feature(w) for w in one.outputs], [feature(w) for w in others]) < level:
                    _differ(one, other, f"the {what} of their replacements differs.")
            continue
        if (strange := next((w for w in one.outputs if w not in index), None)) is not None:
            _differ(one, other, f"the first became {name(strange)}, which is not a stated candidate.")
        at = [index[w] for w in one.outputs]
        if _repeat_probability(at, one.d.probs) < level:
            _differ(one, other, "the first repeatedly becomes the same few words.")
        for what, label in labels.items():
            if _misfit(label, one.d.probs, at) < level:
                _differ(one, other, f"the first replacement's {what} is not as stated.")


def _repeat_probability(at: Sequence[int], p: np.ndarray) -> float:
    """Return the p-value of this many repeated outputs."""
    outputs: set[int] = set()
    hits, chances = 0, []
    for i in at:
        chances.append(min(1.0, float(p[list(outputs)].sum())) if outputs else 0.0)
        hits += i in outputs
        outputs.add(i)
    return float(too_many(hits, np.array(chances)))


def _misfit(label: np.ndarray, p: np.ndarray, at: Sequence[int]) -> float:
    """Return the p-value of the labels of the draws ``at`` under p."""
    mass = np.bincount(label, p)
    with np.errstate(divide="ignore"):
        return misfit(np.bincount(label[list(at)], minlength=len(mass)), np.log(mass))[0]


def _two_sample_p(one: Sequence[str], others: Sequence[str]) -> float:
    place = {x: i for i, x in enumerate(dict.fromkeys([*one, *others]))}
    a, b = (np.bincount([place[x] for x in some], minlength=len(place)) for some in (one, others))
    return two_samples(a, b)[0]
