"""How likely a release would have been if another text had been the original.

There are two general ways, both based on what a mechanism states anyway. One goes token by token, if no token answers
to an original word (:meth:`Likelihood.given`). The other goes place by place, if released words replace original words.
Both use everything that can be seen: the number of tokens, the kept words, the blanks between them, and capital
letters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import InputError, NoDistribution
from ..privacy.distribution import TokenDistribution
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult, Step
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from ..text.skeleton import Edit, Skeleton
from .capabilities import Facet, M
from .config import finished

if TYPE_CHECKING:
    from .base import Mechanism
    from .preparing import Prepared


@dataclass(frozen=True)
class Frame(Private):
    """The visible frame of every rewrite of a text: the sampled tokens and the skeleton. The same at every ε.

    steps: the steps of a discarded rewrite, which distinguish sampled tokens from kept ones.
    """

    steps: tuple[Step, ...]
    skeleton: Skeleton

    _shown: ClassVar[tuple[str, ...]] = ("steps",)


def frame(m: Mechanism, prepared: Prepared, task: Task = UNWATCHED) -> Frame:
    """Return the frame of a prepared text, for a mechanism with the capability "alignment"."""
    steps = tuple(m.rewrite(prepared, seed=0, task=task.quiet).steps)
    return Frame(steps, prepared.document.skeleton([s.action != "keep" for s in steps]))


class Likelihood(Facet[M]):
    """The distributions of a mechanism's sampled tokens, and the probabilities of whole rewrites for other texts.

    sweeps: whether the same noise can be used at another ε without a new model pass.
    """

    __slots__ = ("sweeps",)

    def __init__(self, m: M, sweeps: bool = False):
        super().__init__(m)
        self.sweeps = sweeps

    # --- one draw

    @property
    def in_turn(self) -> bool:
        """Return whether the distribution of a word depends on the words released before it."""
        return False

    def before(self, prepared: Prepared, stream: NoiseStream) -> dict[int, tuple[tuple[int, str], ...]]:
        """Return the places and words released before each sampled token of the rewrite under this stream. Empty if
        distributions do not depend on them."""
        return {}

    def after(self, prepared: Prepared, index: int, released: Sequence[tuple[int, str]]) -> TokenDistribution:
        """Return :meth:`Mechanism.distribution`, given the places and words released before."""
        return self.m.distribution(prepared, index)

    def at(self, places: Sequence[tuple[Prepared, int]], task: Task = UNWATCHED) -> list[TokenDistribution | None]:
        """Return :meth:`Mechanism.distribution` of a token of each text, jointly if that is faster. None if the token
        is not sampled."""
        distributions: list[TokenDistribution | None] = []
        for prepared, index in places:
            task.check()
            try:
                distributions.append(self.m.distribution(prepared, index))
            except NoDistribution:
                distributions.append(None)
        return distributions

    def given(self, prepared: Prepared, result: RewriteResult) -> list[TokenDistribution] | None:
        """Return the distribution of each token of ``result`` if ``prepared`` were the original, given the tokens
        before it. For mechanisms whose tokens correspond to no original word. None if unknown."""
        return None

    @property
    def states_pieces(self) -> bool:
        """Return whether :meth:`given` has an answer."""
        return type(self).given is not Likelihood.given

    # --- whole rewrites

    @property
    def missing(self) -> str:
        """Return a sentence on why :meth:`log` has no answer; empty if it has one."""
        if self.states_pieces:
            return ""
        if "alignment" not in self.m.can:
            return _written_new(self.m)
        return "" if self.m.closed_form else _no_formula(self.m)

    def log(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> np.ndarray:
        """Return the log-probability of every sample of these rewrites for each of these texts as the original. float64
        (texts, results), −∞ if impossible. Raises NoDistribution if there is no formula.
        """
        if reason := self.missing:
            raise NoDistribution(reason)
        check_made(self.m, results)
        return (by_pieces if self.states_pieces else by_places)(self, texts, results, task or UNWATCHED)

    def frames(self, texts: Sequence[Prepared], task: Task = UNWATCHED) -> list[Frame]:
        """Return the frame of each text, for :meth:`relative`; empty if results have no steps."""
        return [] if "alignment" not in self.m.can else [frame(self.m, text, task) for text in texts]

    def relative(
        self,
        texts: Sequence[Prepared],
        results: Sequence[RewriteResult],
        *,
        frames: Sequence[Frame] = (),
        task: Task | None = None,
    ) -> np.ndarray:
        """Return :meth:`log` up to one constant per result, which suffices to compare the texts.

        Parameters
        ----------
        texts, results, task
            As in :meth:`log`.
        frames : sequence of Frame, optional
            The output of :meth:`frames` for these texts at any ε; without it, each call computes them.

        Returns
        -------
        ndarray
            float64 (texts, results); −∞ if the text cannot have produced the result.

        Raises
        ------
        NoDistribution
            The mechanism has no formula for whole rewrites.
        InputError
            Another mechanism, or one with other options, made a result.
        """
        if self.states_pieces or self.missing or not frames:
            return self.log(texts, results, task=task)
        check_made(self.m, results)
        return by_places(self, texts, results, task or UNWATCHED, frames, self.deciding_places(texts))

    def deciding_places(self, texts: Sequence[Prepared]) -> Mapping[int, frozenset[int]] | None:
        """Return, for each number of tokens, the places whose distribution can differ between these texts. If each word
        is sampled from its own word alone, the other places cancel. None: every place can differ.
        """
        return None if self.m.by_word is None else differing_places(texts)

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        """Return the log-probabilities of released words at the places of this text, float64 (n,). All have the same
        places."""
        stated = {i: self.m.distribution(prepared, i) for i in (released[0] if released else ())}
        return of_words(self.m, stated, released, self.find)

    def shared_draws(self, prepared: Prepared, places: Sequence[int]) -> dict[int, int]:
        """Return, for each of these sampled places, the first one that shares its draw: itself by default."""
        return {i: i for i in places}

    @property
    def find(self) -> Callable[[TokenDistribution, str], np.ndarray] | None:
        """Return a function that finds the candidates equal to a word, if the mechanism has a fast one."""
        return None


def require_likelihood(m: Mechanism) -> Likelihood[Mechanism]:
    """Return the likelihood of a mechanism with a formula for whole rewrites. Raises NoDistribution, with the reason,
    for any other."""
    chances = m.likelihood
    if chances is None:
        raise NoDistribution(_why_none(m))
    if reason := chances.missing:
        raise NoDistribution(reason)
    return chances


def _why_none(m: Mechanism) -> str:
    if m.audit_support.writes_from_noise:
        return (
            f"{m.title} writes its text from a noisy vector, and many vectors give the same text. Their total "
            "probability has no formula. The noise and the distance between the vectors still limit any guess: see "
            "“Attacks” in Explore, or dptext_core.attacks.which_text.limit in Python."
        )
    return _no_formula(m) if "alignment" in m.can else _written_new(m)


def _written_new(m: Mechanism) -> str:
    return f"{m.title} states no probability of its text for other originals. Use the attacker two-texts."


def _no_formula(m: Mechanism) -> str:
    return (
        f"{m.title} has no formula for the probability of a rewrite for another original. Use the attacker "
        "two-texts."
    )


def check_made(m: Mechanism, results: Sequence[RewriteResult]) -> None:
    """Raise InputError for a rewrite by another mechanism or with other options."""
    if any((r.mechanism, r.config) != (m.name, m.config) for r in results):
        raise InputError("This rewrite was made with another mechanism or other options. Use the mechanism that "
                         "made it.")


def by_pieces(
    chances: Likelihood[Mechanism], texts: Sequence[Prepared], results: Sequence[RewriteResult], task: Task
) -> np.ndarray:
    """Return the log-probability of each result under each text from the stated distributions: float64 (texts,
    results)."""
    m, out = chances.m, np.zeros((len(texts), len(results)))
    for b, r in enumerate(results):
        for a, text in enumerate(texts):
            task.check()
            stated = chances.given(text, r)
            if stated is None:
                raise NoDistribution(
                    f"{m.title} states no probability of this rewrite for another text. Use the attacker two-texts."
                )
            for i, d in enumerate(stated):
                if r.releases[i].is_sampled:
                    known = r.candidate(i)
                    at = d.index(r.releases[i].text) if known is None else np.array([known])
                    out[a, b] += _ln_sum(d, at)
            task.report(b * len(texts) + a + 1, out.size)
    return out


def by_places(
    chances: Likelihood[Mechanism],
    texts: Sequence[Prepared],
    results: Sequence[RewriteResult],
    task: Task,
    frames: Sequence[Frame] = (),
    only: Mapping[int, frozenset[int]] | None = None,
) -> np.ndarray:
    """Return the same for words at known places: −∞ if a text's kept words, blanks or capitals contradict the release.
    only: the places that count, by the number of tokens; None: all."""
    m, out = chances.m, np.full((len(texts), len(results)), -np.inf)
    steps = [list(r.steps) for r in results]
    if any(s.action == "insert" for every in steps for s in every):
        raise NoDistribution(
            f"{m.title} adds words at random, so output words have no known original. Use the attacker two-texts."
        )
    for a, text in enumerate(texts):
        task.check()
        n = len(text.document.words)
        alike = [b for b, every in enumerate(steps) if len(every) == n]
        if not alike:
            continue
        own_frame = frames[a] if frames else frame(m, text, task)
        fitting = []
        for b in alike:
            edits = _edits(own_frame.steps, steps[b])
            if edits is not None and _rendered(m, own_frame, edits) == results[b].text:
                fitting.append(b)
        drawn = [i for i, s in enumerate(own_frame.steps) if s.action == "replace" and (only is None or i in only[n])]
        words = [{i: steps[b][i].replacement for i in drawn} for b in fitting]
        if fitting:
            out[a, fitting] = chances.in_places(text, words, task)
        task.report(a + 1, len(texts))
    return out


def differing_places(texts: Sequence[Prepared]) -> dict[int, frozenset[int]]:
    """Return, for each number of tokens, the places where texts of that length differ, and all others with one of these
    words. Places with the same word may share a draw."""
    groups: dict[int, list[list[str]]] = {}
    for text in texts:
        groups.setdefault(len(text.document.words), []).append([w.casefold() for w in text.document.words])
    places: dict[int, frozenset[int]] = {}
    for n, rows in groups.items():
        words = {w for column in zip(*rows, strict=True) if len(set(column)) > 1 for w in column}
        places[n] = frozenset(i for i in range(n) if any(row[i] in words for row in rows))
    return places


def _rendered(m: Mechanism, own_frame: Frame, edits: Sequence[Edit]) -> str:
    return finished(m.config, own_frame.skeleton, [e.text for e in edits])[0].render(edits).text


def _edits(own_steps: Sequence[Step], released: Sequence[Step]) -> list[Edit] | None:
    """Return the released words at the places of another text; None if they cannot occur there."""
    out = []
    for mine, theirs in zip(own_steps, released, strict=True):
        if (mine.action == "delete") != (theirs.action == "delete"):
            return None
        if mine.action == theirs.action == "replace" and mine.capital != theirs.capital:
            return None
        out.append(Edit() if mine.action == "keep" else Edit(theirs.replacement))
    return out


def of_words(
    m: Mechanism,
    stated: Mapping[int, TokenDistribution],
    released: Sequence[Mapping[int, str]],
    find: Callable[[TokenDistribution, str], np.ndarray] | None = None,
) -> np.ndarray:
    """Return the log-probabilities of these words at their places, float64 (n,).

    stated: the distribution of each place. find: returns the indices of the candidates that equal a word, ignoring
    case. By default, each list of candidates is searched once for all places that share it.
    """
    out = np.zeros(len(released))
    places: dict[int, tuple[Sequence[str], dict[str, list[int]]]] = {}
    for i, d in stated.items():
        if d.draws is not None:
            raise NoDistribution(f"{m.title} only estimates its probabilities from draws. Use the attacker two-texts.")
        if find is not None:
            known: dict[str, float] = {}
            for j, words in enumerate(released):
                word = words[i]
                if word not in known:
                    known[word] = _ln_sum(d, find(d, word))
                out[j] += known[word]
            continue
        if id(d.candidates) not in places:
            indices: dict[str, list[int]] = {}
            for k, word in enumerate(d.candidates):
                indices.setdefault(word.casefold(), []).append(k)
            places[id(d.candidates)] = d.candidates, indices
        at = places[id(d.candidates)][1]
        for j, words in enumerate(released):
            out[j] += _ln_sum(d, np.array(at.get(words[i].casefold(), ()), np.int64))
    return out


def _ln_sum(d: TokenDistribution, at: np.ndarray) -> float:
    return float(np.logaddexp.reduce(d.log_probs[at])) if len(at) else -np.inf
