"""The result of a rewrite: the parts of the released text, their origins, and the guarantee.

:attr:`RewriteResult.releases` are the parts of the released text in order. If every part corresponds to an original
word, :attr:`RewriteResult.steps` lists the same from the side of that word. The origin of a part (its distribution, its
noise, the model's scores) is in one private :class:`Trace`, which answers requests for what it has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .errors import InputError, NoDistribution
from .pieces import Release, Step, Unit, releases_of
from .privacy.distribution import Channel, TokenDistribution
from .privacy.guarantee import Guarantee
from .privacy.kinds import NotProtectedKind
from .privacy.numbers import percent
from .privacy.sampling import NoiseStream
from .privacy.terms import NotProtected
from .support.checks import check_whole_number, public_config
from .support.private import Private
from .text.language import Language
from .text.languages import ENGLISH

T = TypeVar("T")


class Trace(Private):
    """How the sampled units of one result came about, for the owner alone. Units are counted as in ``result.units``. A
    mechanism derives its own from this class and implements what it has; a missing part raises NoDistribution.

    Attributes
    ----------
    can : frozenset of str
        Which of these it has: "distribution" (one per sampled unit), "sweep" (the same noise at another ε without a new
        pass) and "alignment" (units that correspond to original words).
    """

    can: frozenset[str] = frozenset()
    #: Reasons of steps whose word a public rule placed. The trace still states a distribution for these: that one word,
    #: with certainty.
    rules: frozenset[str] = frozenset()

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        """Return the distribution of unit ``i``, given the units before it."""
        raise NoDistribution("This mechanism has no formula for its distributions. Choose another mechanism.")

    def distributions(self, units: Sequence[tuple[int, Unit]]) -> Iterator[TokenDistribution]:
        """Yield :meth:`distribution` of several units; a trace may be faster than one by one."""
        return (self.distribution(i, unit) for i, unit in units)

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        """Return the channel and the noise of unit ``i``, which determine the result at every other ε."""
        raise NoDistribution("This mechanism needs a new pass of the model for another ε. Rewrite again.")

    def candidate(self, i: int, unit: Unit) -> int | None:
        """Return the index of unit ``i`` among its candidates; None: the one with the same spelling."""
        return None

    def logits(self, i: int, unit: Unit) -> np.ndarray | None:
        """Return a model's scores before clipping, float32 (V,)."""
        return None

    def views(self, i: int, unit: Unit) -> tuple:
        """Return how unit ``i`` came about, as data for figures."""
        return ()

    def similarities(self, i: int, unit: Unit) -> Mapping[str, float] | None:
        """Return the cosine of the original word with every word of a space."""
        return None


@dataclass(frozen=True, eq=False)
class RewriteResult(Private):
    """A rewritten text with its parts and its guarantee.

    Attributes
    ----------
    text, original : str
        The released text, and the private one.
    steps : sequence of Step
        One per token of the original and per insertion, in order; empty without alignment.
    releases : sequence of Release
        The parts of the released text in order; made from the steps, if any.
    guarantee : Guarantee
    mechanism, config
        The mechanism's name, and its options as a frozen dataclass.
    seed : int or None
        If set, the result is a demonstration and not private.
    noise_id : str
        Results with the same value share their noise, so release at most one of them.
    batch : str
        Shared by the results of one call on a list if their draws serve all of them on purpose
        (``Mechanism.shares_draws``); else empty.
    trace : Trace
        How it came about, for the owner alone.
    language : Language
        The mechanism's language.
    """

    text: str
    original: str
    steps: Sequence[Step]
    guarantee: Guarantee
    mechanism: str
    config: Any
    seed: int | None
    noise_id: str
    trace: Trace = dataclasses.field(default_factory=Trace, repr=False)
    pieces: Sequence[Release] | None = dataclasses.field(default=None, repr=False)
    batch: str = ""
    language: Language = ENGLISH

    @classmethod
    def of(
        cls,
        mechanism: Any,
        prepared: Any,
        stream: NoiseStream,
        text: str,
        steps: Sequence[Step] = (),
        guarantee: Guarantee | None = None,
        **more: Any,
    ) -> Self:
        """Build the result of a prepared text under a stream of noise.

        Parameters
        ----------
        text : str
            The released text.
        steps : sequence of Step
            The steps, if words were replaced; else ``pieces`` are the parts of the text.
        guarantee : Guarantee, optional
            By default, the mechanism's guarantee for the prepared text.
        **more
            ``pieces`` and ``trace``.
        """
        return cls(
            text,
            prepared.text,
            steps,
            guarantee or mechanism.guarantee(prepared),
            mechanism.name,
            mechanism.config,
            stream.seed,
            stream.noise_id,
            language=mechanism.language,
            **more,
        )

    def __repr__(self) -> str:
        drawn = sum(u.is_sampled for u in self.units)
        return f"{type(self).__name__}(mechanism={self.mechanism!r}, {drawn:,} sampled spans, seed={self.seed!r})"

    def _repr_html_(self) -> str:
        """Return what a notebook displays and stores: the released text and its guarantee."""
        message = "".join(f"<p>{escape(part)}</p>" for part in (self.text, self.guarantee.sentence()))
        return f"<div style='white-space: pre-wrap; max-width: 80ch'>{message}</div>"

    @cached_property
    def releases(self) -> Sequence[Release]:
        """Return the parts of the released text in order."""
        return releases_of(self.steps, self.trace.rules) if self.pieces is None else self.pieces

    @property
    def units(self) -> Sequence[Unit]:
        """Return the units that ``distribution(i)`` counts: the steps with alignment, else the released parts."""
        return self.steps if "alignment" in self.can else self.releases

    @property
    def can(self) -> frozenset[str]:
        """Return what this result has: "distribution", "sweep" (another ε without a new pass), "alignment"."""
        return self.trace.can | {"alignment"} if len(self.steps) else self.trace.can

    @property
    def no_chances(self) -> str:
        """Return why no unit has a distribution; empty if they have one."""
        if "distribution" in self.can:
            return ""
        if "alignment" in self.can:
            return "This mechanism has no formula for word probabilities. Choose another mechanism."
        return "This mechanism writes whole texts, so words have no distribution. Choose another mechanism."

    def polished(self, mechanism: Any = None, *, model: str = "bundled", task: Any = None) -> PolishedResult:
        """Post-process the release into more fluent text: see :func:`dptext_core.attacks.polish.polish`.

        It spends no ε, because it reads only what was released. The release and the ledger keep the sampled words. The
        first call loads the model.
        """
        from .attacks.polish import polish  # a shortcut to a higher layer, listed in pyproject.toml

        return polish(self, mechanism, model=model, task=task)

    def locked(self, i: int) -> tuple[Channel, NoiseStream]:
        """Return the channel and the noise of unit ``i``, which determine the result at every other ε."""
        return self.trace.locked(i, self._unit(i))

    def logits(self, i: int) -> np.ndarray | None:
        """Return the model's scores at sampled unit ``i`` before clipping, float32 (V,), or None."""
        return self.trace.logits(i, self._unit(i))

    def candidate(self, i: int) -> int | None:
        """Return the index of sampled unit ``i`` among its candidates, which may be spelled differently."""
        return self.trace.candidate(i, self._unit(i))

    def views(self, i: int) -> tuple:
        """Return how sampled unit ``i`` came about, as data (``dptext_core.explain``); () if the mechanism has none."""
        return self.trace.views(i, self.units[i]) if self._unit(i).is_sampled else ()

    def similarities(self, i: int) -> Mapping[str, float] | None:
        """Return the cosine of the original word of unit ``i`` with every word of the space; None if there is none."""
        return self.trace.similarities(i, self._unit(i))

    def distribution(self, i: int) -> TokenDistribution:
        """Return the distribution of a sampled word of the result, given what came before it.

        Parameters
        ----------
        i : int
            The index in ``steps``, or in ``releases`` if there are no steps.

        Returns
        -------
        TokenDistribution

        Raises
        ------
        NoDistribution
            It was not sampled, or the mechanism writes a text as a whole.
        """
        unit = self._unit(i)
        if not unit.is_sampled:
            name = "Step" if "alignment" in self.can else "Token"
            rule = isinstance(unit, Release) and unit.origin == "rule"
            verb = "placed" if rule else "deleted" if unit.action == "delete" else "kept"
            raise NoDistribution(
                f"{name} {i} was {verb} ({unit.reason or 'by rule'}), so it has no distribution. Choose another one."
            )
        if self.no_chances:
            raise NoDistribution(self.no_chances)
        return self.trace.distribution(i, unit)

    def distributions(self) -> Iterator[tuple[int, TokenDistribution]]:
        """Yield the distribution of every sampled word, faster than one by one if a model is needed.

        Yields
        ------
        tuple
            The index as in :meth:`distribution`, and the distribution.

        Raises
        ------
        NoDistribution
            The mechanism writes a text as a whole.
        """
        if self.no_chances:
            raise NoDistribution(self.no_chances)
        drawn = [(i, unit) for i, unit in enumerate(self.units) if unit.is_sampled]
        return zip((i for i, _ in drawn), self.trace.distributions(drawn), strict=True)

    def _unit(self, i: int) -> Unit:
        units = self.units
        name = "step" if "alignment" in self.can else "token"
        if not 0 <= check_whole_number(f"i, the number of a {name},", i) < len(units):
            raise InputError(
                f"There is no {name} {i}: this rewrite has {len(units)}, counted from 0. Choose one of these."
            )
        return units[i]

    def to_dict(self, trace: bool = False) -> dict:
        """Return what may be released. The trace reveals the original words: it is for the owner only."""
        out: dict[str, Any] = {
            "text": self.text,
            "mechanism": self.mechanism,
            "config": public_config(self.config, words=trace),
            "guarantee": self.guarantee.to_dict(),
            "noise_id": self.noise_id,
        }
        if self.seed is not None:
            out["seed"] = self.seed
            out["note"] = "demonstration, not private: anyone who knows the seed can reproduce the noise"
        if trace:
            out["original"] = self.original
            out["steps"] = [{"changed": s.is_changed, **dataclasses.asdict(s)} for s in self.steps]
            out["releases"] = [dataclasses.asdict(r) for r in self.releases]
        return out


@dataclass(frozen=True, eq=False)
class PolishedResult(Private):
    """A release with its post-processing.

    sampled_result: the sampled release, which the ledger counts. text: the post-processed text. releases: its parts;
    those that were sampled have the origin "polished" and no ε. readings: how often the text was read.
    """

    sampled_result: RewriteResult
    text: str
    releases: tuple[Release, ...]
    readings: int
    _places: tuple[tuple[str, str, str], ...] = dataclasses.field(repr=False)

    _shown = ("releases", "readings")

    @property
    def guarantee(self) -> Guarantee:
        """Return the guarantee of the release, which holds for everything that is computed from it."""
        return self.sampled_result.guarantee

    @property
    def num_changed(self) -> int:
        """Return how many of the sampled words have changed."""
        return sum(before.casefold() != after.casefold() for _, before, after in self._places)

    @cached_property
    def unchanged_shares(self) -> tuple[float, float] | None:
        """Return the share of words sampled from an original that equal it, before and after; for the owner alone.

        None without such words.
        """
        known = [p for p in self._places if p[0]]
        if not known:
            return None
        same = [
            [original.casefold() == word.casefold() for original, *words in known for word in words[k : k + 1]]
            for k in (0, 1)
        ]
        return sum(same[0]) / len(known), sum(same[1]) / len(known)

    def sentence(self) -> str:
        """Describe the post-processing, for the owner alone."""
        n = len(self._places)
        if not n:
            return "No word of this text was sampled, so there is nothing to clean up."
        message = (
            f"The clean-up changed {self.num_changed} of {n} sampled {'word' if n == 1 else 'words'}, and spent no ε."
        )
        if self.unchanged_shares is not None:
            before, after = self.unchanged_shares
            known = sum(bool(original) for original, *_ in self._places)
            them = "them" if known == n else f"the {known} that depend on an original word"
            message += (
                f" Before, {percent(before)} of {them} were the original words; now {percent(after)} are. An "
                "attacker who reads the release could restore the same words."
            )
        return message

    def to_dict(self) -> dict:
        """Return what may be released: the sampled text, and the post-processed text."""
        return {**self.sampled_result.to_dict(), "polished": self.text}


@dataclass(frozen=True, eq=False)
class Sweep(Private):
    """One text at many ε under the same noise: at most one of the results may be released.

    Attributes
    ----------
    epsilons : tuple of float
    results : tuple of RewriteResult
        One per ε, in this order.
    """

    epsilons: tuple[float, ...]
    results: tuple[RewriteResult, ...]

    _shown: ClassVar[tuple[str, ...]] = ("epsilons", "results")

    @property
    def distributions(self) -> list[list[TokenDistribution | None]]:
        """Return, for every ε and every unit, its distribution; None if nothing was sampled."""
        distributions_of = [dict(r.distributions()) if "distribution" in r.can else {} for r in self.results]
        return [[d.get(i) for i in range(len(r.units))] for d, r in zip(distributions_of, self.results, strict=True)]


def _copy_with(thing: T, **values: Any) -> T:
    """Return a copy with changed values; dataclasses.replace takes five times as long."""
    changed = copy(thing)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed


def in_batch(result: RewriteResult, batch: str) -> RewriteResult:
    """Return the result as one of a batch."""
    return _copy_with(result, batch=batch)


def mark_seeded(result: RewriteResult) -> RewriteResult:
    """Mark a seeded result in its guarantee, whatever the mechanism."""
    if result.seed is None:
        return result
    g = result.guarantee
    exposed = (*g.exposed, NotProtected(NotProtectedKind.SEED))
    return _copy_with(result, guarantee=_copy_with(g, seeded=True, exposed=exposed))
