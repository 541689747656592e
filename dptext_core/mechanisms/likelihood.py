"""How likely what was released would have been, had another text been read: what it takes to ask which text it was.

Two general ways, each by what a mechanism states anyway: piece by piece, where nothing answers to a word
(:meth:`Likelihood.given`), and place by place, where released words stand in the places of those that were read. Both
take in everything that is seen: how many pieces there are, which words stay, the blanks between them, and capital
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
    """What every rewrite of a text shows: which tokens are sampled, and the skeleton around them. The same at every ε.

    steps : the steps of a rewrite that is thrown away, which tell the sampled tokens from the kept ones.
    """

    steps: tuple[Step, ...]
    skeleton: Skeleton

    _shown: ClassVar[tuple[str, ...]] = ("steps",)


def frame(m: Mechanism, prepared: Prepared, task: Task = UNWATCHED) -> Frame:
    """Return the frame of a prepared text, for a mechanism with the capability "alignment"."""
    steps = tuple(m.rewrite(prepared, seed=0, task=task.quiet).steps)
    return Frame(steps, prepared.document.skeleton([s.action != "keep" for s in steps]))


class Likelihood(Facet[M]):
    """What the drawn pieces of a mechanism's results are drawn from, and how likely whole rewrites are under others.

    sweeps: whether the same noise can be looked at at another ε without a new pass.
    """

    __slots__ = ("sweeps",)

    def __init__(self, m: M, sweeps: bool = False):
        super().__init__(m)
        self.sweeps = sweeps

    # --- one draw

    @property
    def in_turn(self) -> bool:
        """Whether what a word is drawn from depends on the words that were released before it."""
        return False

    def before(self, prepared: Prepared, stream: NoiseStream) -> dict[int, tuple[tuple[int, str], ...]]:
        """Of one rewrite under this stream: for each drawn token, the places and words that were released before it,
        where what it is drawn from depends on them; empty where it does not."""
        return {}

    def after(self, prepared: Prepared, index: int, released: Sequence[tuple[int, str]]) -> TokenDistribution:
        """As :meth:`Mechanism.distribution`, where these places and words were released before."""
        return self.m.distribution(prepared, index)

    def at(self, places: Sequence[tuple[Prepared, int]], task: Task = UNWATCHED) -> list[TokenDistribution | None]:
        """As :meth:`Mechanism.distribution` of a token of each text, together where that is less work; None where no
        word is drawn."""
        distributions: list[TokenDistribution | None] = []
        for prepared, index in places:
            task.check()
            try:
                distributions.append(self.m.distribution(prepared, index))
            except NoDistribution:
                distributions.append(None)
        return distributions

    def given(self, prepared: Prepared, result: RewriteResult) -> list[TokenDistribution] | None:
        """Return what each piece of ``result`` would have been drawn from, had ``prepared`` been read, given the pieces
        before it: for mechanisms whose pieces answer to no word. None where that is not known."""
        return None

    @property
    def states_pieces(self) -> bool:
        """Whether :meth:`given` says it."""
        return type(self).given is not Likelihood.given

    # --- whole rewrites

    @property
    def missing(self) -> str:
        """Why :meth:`log` has no answer, in a sentence; empty where it has one."""
        if self.states_pieces:
            return ""
        if "alignment" not in self.m.can:
            return _written_new(self.m)
        return "" if self.m.closed_form else _no_formula(self.m)

    def log(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> np.ndarray:
        """ln of the chance of everything that was drawn for each of these rewrites, had each of these texts been read:
        float64 (texts, results), −∞ where it could not have come out. Raises NoDistribution where there is no formula.
        """
        if reason := self.missing:
            raise NoDistribution(reason)
        check_made(self.m, results)
        return (by_pieces if self.states_pieces else by_places)(self, texts, results, task or UNWATCHED)

    def frames(self, texts: Sequence[Prepared], task: Task = UNWATCHED) -> list[Frame]:
        """Return the frame of each text, for :meth:`relative`; empty where results have no steps."""
        return [] if "alignment" not in self.m.can else [frame(self.m, text, task) for text in texts]

    def relative(
        self,
        texts: Sequence[Prepared],
        results: Sequence[RewriteResult],
        *,
        frames: Sequence[Frame] = (),
        task: Task | None = None,
    ) -> np.ndarray:
        """Return :meth:`log` up to one constant for each result: enough to compare the texts with each other.

        Parameters
        ----------
        texts, results, task
            As in :meth:`log`.
        frames : sequence of Frame, optional
            What :meth:`frames` returned for these texts at any ε; without it, each call works them out again.

        Returns
        -------
        ndarray
            float64 (texts, results); −∞ where the text cannot have produced the result.

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
        """Return, for each number of tokens, the places whose distribution can differ between these texts.

        Where each word is sampled from its own word alone, the other places cancel. None: every place can differ.
        """
        return None if self.m.by_word is None else differing_places(texts)

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        """ln of the chance of released words in the places of this text, float64 (n,). Each has the same places."""
        stated = {i: self.m.distribution(prepared, i) for i in (released[0] if released else ())}
        return of_words(self.m, stated, released, self.find)

    def shared_draws(self, prepared: Prepared, places: Sequence[int]) -> dict[int, int]:
        """Return, for each of these sampled places, the first of them that takes the same draw: itself by default."""
        return {i: i for i in places}

    @property
    def find(self) -> Callable[[TokenDistribution, str], np.ndarray] | None:
        """How the candidates that are a word are found, where the mechanism knows a faster way than reading them."""
        return None


def require_likelihood(m: Mechanism) -> Likelihood[Mechanism]:
    """Return the chances of a mechanism that has a formula for whole rewrites. Raises NoDistribution, with the reason,
    of any other."""
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
            "probability has no formula. The distance of the vectors and the noise still limit any guess: see “What "
            "could an attacker guess?” in Explore, or dptext_core.attacks.which_text.limit in Python."
        )
    return _no_formula(m) if "alignment" in m.can else _written_new(m)


def _written_new(m: Mechanism) -> str:
    return (
        f"{m.title} writes a new text without a probability for other originals, so originals cannot be compared."
    )


def _no_formula(m: Mechanism) -> str:
    return (
        f"{m.title} has no formula for the probabilities of a word, so the probability of a rewrite for another "
        "original is unknown."
    )


def check_made(m: Mechanism, results: Sequence[RewriteResult]) -> None:
    """Raise InputError for a rewrite that this mechanism with these options has not made."""
    if any((r.mechanism, r.config) != (m.name, m.config) for r in results):
        raise InputError("This rewrite was made with another mechanism or other options. Use the mechanism that "
                         "made it.")


def by_pieces(
    chances: Likelihood[Mechanism], texts: Sequence[Prepared], results: Sequence[RewriteResult], task: Task
) -> np.ndarray:
    """ln of the chance of each result under each text, float64 (texts, results), from what is stated of its pieces."""
    m, out = chances.m, np.zeros((len(texts), len(results)))
    for b, r in enumerate(results):
        for a, text in enumerate(texts):
            task.check()
            stated = chances.given(text, r)
            if stated is None:
                raise NoDistribution(f"{m.title} has no probability of this rewrite for another text.")
            for i, d in enumerate(stated):
                if r.releases[i].drawn:
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
    """Return the same where released words stand in places: −∞ for a text whose kept words, blanks or capital letters
    would not have given the released text. only: the places that count, by the number of tokens; None: all."""
    m, out = chances.m, np.full((len(texts), len(results)), -np.inf)
    steps = [list(r.steps) for r in results]
    if any(s.action == "insert" for every in steps for s in every):
        raise NoDistribution(f"{m.title} adds words at random, so output words have no known original.")
    for a, text in enumerate(texts):
        task.check()
        n = len(text.document.words)
        alike = [b for b, every in enumerate(steps) if len(every) == n]
        if not alike:
            continue
        own = frames[a] if frames else frame(m, text, task)
        fitting = []
        for b in alike:
            edits = _edits(own.steps, steps[b])
            if edits is not None and _rendered(m, own, edits) == results[b].text:
                fitting.append(b)
        drawn = [i for i, s in enumerate(own.steps) if s.action == "replace" and (only is None or i in only[n])]
        words = [{i: steps[b][i].replacement for i in drawn} for b in fitting]
        if fitting:
            out[a, fitting] = chances.in_places(text, words, task)
        task.report(a + 1, len(texts))
    return out


def differing_places(texts: Sequence[Prepared]) -> dict[int, frozenset[int]]:
    """For each number of tokens, the places where texts of that length differ in a word, and all others that hold one
    of those words: places with one word may share a draw."""
    groups: dict[int, list[list[str]]] = {}
    for text in texts:
        groups.setdefault(len(text.document.words), []).append([w.casefold() for w in text.document.words])
    found: dict[int, frozenset[int]] = {}
    for n, rows in groups.items():
        words = {w for column in zip(*rows, strict=True) if len(set(column)) > 1 for w in column}
        found[n] = frozenset(i for i in range(n) if any(row[i] in words for row in rows))
    return found


def _rendered(m: Mechanism, own: Frame, edits: Sequence[Edit]) -> str:
    return finished(m.config, own.skeleton, [e.text for e in edits])[0].render(edits).text


def _edits(own: Sequence[Step], released: Sequence[Step]) -> list[Edit] | None:
    """Return the released words in the places of another text; None where they cannot stand there."""
    out = []
    for mine, theirs in zip(own, released, strict=True):
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
    """ln of the chance of these words in their places, float64 (n,); stated: the distribution of each place.

    find: returns the indices of the candidates that are a word, case aside; by default each list of candidates is
    looked up once for all places that share it.
    """
    out = np.zeros(len(released))
    places: dict[int, tuple[Sequence[str], dict[str, list[int]]]] = {}
    for i, d in stated.items():
        if d.draws is not None:
            raise NoDistribution(f"{m.title} has no formula for its probabilities: they are estimated from draws.")
        if find is not None:
            known: dict[str, float] = {}
            for j, words in enumerate(released):
                word = words[i]
                if word not in known:
                    known[word] = _ln_sum(d, find(d, word))
                out[j] += known[word]
            continue
        if id(d.candidates) not in places:
            found: dict[str, list[int]] = {}
            for k, word in enumerate(d.candidates):
                found.setdefault(word.casefold(), []).append(k)
            places[id(d.candidates)] = d.candidates, found
        at = places[id(d.candidates)][1]
        for j, words in enumerate(released):
            out[j] += _ln_sum(d, np.array(at.get(words[i].casefold(), ()), np.int64))
    return out


def _ln_sum(d: TokenDistribution, at: np.ndarray) -> float:
    return float(np.logaddexp.reduce(d.log_probs[at])) if len(at) else -np.inf
