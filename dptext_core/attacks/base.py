"""The interface and the registry of attackers.

An attacker of scope "word" guesses one word of a rewrite, one of scope "text" all of them. One of scope "corpus" reads
the rewrites of many texts together, and one of scope "data set" guesses a label (such as the author) from texts that it
was trained on. Each is one class. Register yours like a mechanism, and Explore's tabs and ``python -m dptext_core
attack`` offer it, or the benchmark if its scope is "data set".
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from ..errors import ConfigError, InputError, NoDistribution
from ..mechanisms.base import Mechanism
from ..mechanisms.capabilities import require_alignment
from ..result import RewriteResult, Unit
from ..support.checks import check_whole_number, to_list
from ..support.task import UNWATCHED, Task

SCOPES = ("word", "text", "corpus", "data set")
#: Maximum number of rewrites of one text for the attacker.
ANSWERS = 64


class AttackFinding(Protocol):
    """The result of an attack. If it also has ``rows()``, lists of short texts, the command line prints them."""

    @property
    def success(self) -> float:
        """Return how often the attacker is right, 0 to 1."""

    @property
    def chance(self) -> float:
        """Return how often a guess without the output is right."""

    def sentence(self) -> str:
        """Return the attack in plain words."""


class Attacker(ABC):
    """An attacker who sees the release and knows the mechanism.

    name: as on the command line. title: a few words for a tab. question: the attacker's question, one sentence. scope:
    one of SCOPES. needs: requirements on this machine, as for a mechanism.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    question: ClassVar[str]
    scope: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()

    def check(self, mechanism: Mechanism) -> None:
        """Raise NoDistribution, with the reason, for a mechanism that it cannot attack."""
        if self.scope != "data set":
            require_alignment(mechanism)


class TextAttacker(Attacker):
    """Attacks one rewrite, or one word of it. takes: the extra named arguments of ``attack``, each an option of the
    command ``attack``.
    """

    takes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def attack(
        self, mechanism: Mechanism, result: RewriteResult, unit: int | None = None, *, task: Task | None = None
    ) -> AttackFinding:
        """Attack one rewrite; unit: the number of the attacked step, for scope "word". Raises NoDistribution if nothing
        was sampled."""


class DataAttacker(Attacker):
    """Guesses a label of rewritten texts by a classifier that it trains."""

    scope = "data set"

    @abstractmethod
    def training_texts(self, originals: Any, rewrites: Any) -> Any:
        """Return its training texts, from originals and rewrites of the same texts (or from their features)."""


def check_sampled(unit: Unit) -> None:
    """Raise NoDistribution if a step's word was not sampled from the original."""
    if unit.action == "insert":
        raise NoDistribution(
            f"“{unit.text}” was added at random, so there is no original to guess. Choose a replaced word."
        )
    if unit.action != "replace":
        verb = "is unchanged and visible to everyone" if unit.action == "keep" else "was deleted"
        raise NoDistribution(f"“{unit.original}” {verb} ({unit.reason}). Choose a replaced word.")


def as_rewrites(results: RewriteResult | Sequence[RewriteResult]) -> list[RewriteResult]:
    """Return one rewrite, or several, as a list. Raises InputError for anything else."""
    rewrites = [results] if isinstance(results, RewriteResult) else to_list(results, "rewrites")
    if not all(isinstance(r, RewriteResult) for r in rewrites):
        raise InputError("An attacker needs rewrites. Pass one or more results of mechanism.rewrite.")
    return rewrites


def check_maker(mechanism: Mechanism, result: RewriteResult, *, at_any_epsilon: bool = False) -> None:
    """Raise InputError for a release by another mechanism or with other options. at_any_epsilon: ignore ε, because each
    draw's own ε is used.
    """
    if not isinstance(mechanism, Mechanism):
        raise InputError("The mechanism is missing. Pass the one that made the release, from get_mechanism.")
    if result.mechanism != mechanism.name:
        raise InputError(f"{result.mechanism} made this release, not {mechanism.name}. Pass {result.mechanism}.")
    names = [f.name for f in dataclasses.fields(mechanism.config) if not (at_any_epsilon and f.name == "epsilon")]
    if other := [n for n in names if getattr(result.config, n) != getattr(mechanism.config, n)]:
        raise InputError(f"This release was made with another {', '.join(other)}. Pass the mechanism that made it.")


def collect_rewrites(
    mechanism: Mechanism, result: RewriteResult, n: int, *, task: Task = UNWATCHED
) -> list[RewriteResult]:
    """Return the rewrite and n − 1 fresh ones of the same text. Releasing them spends ε for each."""
    n = check_whole_number("The number of rewrites that the attacker sees", n, least=1)
    if n > ANSWERS:
        raise InputError(f"The attacker accepts at most {ANSWERS} rewrites, not {n:,}. Choose fewer.")
    more = (
        mechanism.rewrites(mechanism.prepare(result.original, task=task.quiet), n - 1, task=task.quiet) if n > 1 else []
    )
    return [result, *more]


_registry: dict[str, Attacker] = {}
A = TypeVar("A", bound=type[Attacker])


def register(cls: A) -> A:
    """Register an attacker under its name; a class decorator. Raises ConfigError if the name is already used."""
    if not (isinstance(cls, type) and issubclass(cls, Attacker)):
        raise ConfigError("An attacker must be a class that derives from dptext_core.attacks.Attacker.")
    if cls.scope not in SCOPES:
        raise ConfigError(f"The scope of an attacker must be one of {', '.join(SCOPES)}.")
    if cls.name in _registry:
        raise ConfigError(f"An attacker named {cls.name!r} already exists. Choose another name.")
    _registry[cls.name] = cls()
    return cls


def unregister(name: str) -> None:
    """Remove a registered attacker."""
    _registry.pop(name, None)


def attackers(scope: str | None = None) -> list[Attacker]:
    """Return all attackers, or those of one scope, in the order of registration.

    Parameters
    ----------
    scope : {"word", "text", "corpus", "data set"}, optional
        What they attack.

    Returns
    -------
    list of Attacker
    """
    return [a for a in _registry.values() if scope is None or a.scope == scope]


def data_attackers() -> list[DataAttacker]:
    """Return the attackers that guess a label of a data set."""
    return [a for a in _registry.values() if isinstance(a, DataAttacker)]


def get_attacker(name: str) -> Attacker:
    """Return the attacker with this name.

    Parameters
    ----------
    name : str
        A name from ``attackers()``.

    Returns
    -------
    Attacker

    Raises
    ------
    InputError
        No attacker has this name.
    """
    if name not in _registry:
        raise InputError(f"There is no attacker {name!r}. Use one of {', '.join(_registry)}.")
    return _registry[name]
