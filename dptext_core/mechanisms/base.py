"""What every mechanism is: a frozen config, a way to rewrite, and the guarantee that goes with it."""

from __future__ import annotations

import dataclasses
import importlib
import secrets
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from ..errors import ConfigError, DPTextError, NoDistribution
from ..pieces import NOT_IN_VOCABULARY, check_pieces
from ..privacy.distribution import TokenDistribution
from ..privacy.guarantee import Guarantee
from ..privacy.kinds import ConditionKind, NotProtectedKind
from ..privacy.sampling import NoiseStream
from ..privacy.terms import Adjacency, Condition, NotProtected
from ..result import RewriteResult, Sweep, in_batch, mark_seeded
from ..support.checks import check_whole_number, shorten_repr, text_list
from ..support.task import UNWATCHED, Task
from .audit_support import AuditSupport
from .blocklist import Blocklist
from .capabilities import Alignment, InputCoverage, WordByWord, require_alignment
from .config import build, capitals, cased, has_capital
from .likelihood import Likelihood
from .preparing import PreparationBase, Prepared
from .setting import Setting

if TYPE_CHECKING:
    from ..text.lexicon import Lexicon
    from .capabilities import PartwiseRewriting, PublicPrior, StoredScores
    from .clipping import Clipping

#: Texts that are rewritten together where there are many: some mechanisms are faster on several at once.
BATCH = 32
#: Reasons why tokens are kept, in the order in which they are told: what one of these is called, and several.
_KEPT = ("stop word", "punctuation", "symbol", NOT_IN_VOCABULARY)


class Mechanism(PreparationBase):
    """A text rewriting mechanism. Immutable and safe to share between threads; randomness comes with the call.

    Attributes
    ----------
    config
        Its options, a frozen dataclass; ``setting`` has those that make it again.
    can : frozenset of str
        What its results have: of "distribution", "sweep" and "alignment".
    by_word, alignment, likelihood, audit_support, reading, kept_scores, in_parts, public_prior, clipping
        Facets: what it says of itself beside, each a small object, or None where it has none.
    """

    @classmethod
    def create(cls, **options: Any) -> Self:
        """Return the mechanism with checked options. Raises ConfigError before any model is loaded."""
        config = build(cls.config_cls, options)
        if words := getattr(config, "never", ()):
            cls.check_never(Blocklist(frozenset(words)), config)
        if config.epsilon is None:
            config = dataclasses.replace(config, epsilon=cls.epsilon_range(options)[2])
        made = cls.of_config(cls.resolve(config))
        if isinstance(config.epsilon, tuple):
            require_alignment(made, "takes one ε, not a list of them")
        return made

    @classmethod
    def of_config(cls, config: Any) -> Self:
        """Return the mechanism of a config that is checked and resolved."""
        if getattr(config, "surrogates", False):
            # It derives from this class, so it is imported on first use.
            return importlib.import_module(".detected.hybrid", __package__).with_surrogates(cls, config)
        return cls(config)

    @cached_property
    def setting(self) -> Setting:
        """What makes it again: its ε, and the options that it needs to be given, none that is at its default or follows
        from the others."""
        cls, config = type(self), self.config
        needed = {f.name: v for f in dataclasses.fields(config) if (v := getattr(config, f.name)) != f.default}
        needed["epsilon"] = config.epsilon
        for name in [name for name in needed if name != "epsilon"]:
            rest = {k: v for k, v in needed.items() if k != name}
            try:
                if cls.create(**rest).config == config:
                    needed = rest
            except DPTextError:
                pass
        return Setting.of(self.name, **needed)

    @cached_property
    def can(self) -> frozenset[str]:
        """What its results have: of "distribution" (one for each drawn piece), "sweep" (the same noise at another ε
        without a new pass) and "alignment" (pieces answer to the words that were read, so that there are steps)."""
        chances = self.likelihood
        sweeps = chances is not None and chances.sweeps
        have = {"distribution": chances is not None, "sweep": sweeps, "alignment": self.alignment is not None}
        return frozenset(part for part, there in have.items() if there)

    def replace(self, **options: Any) -> Self:
        """Return the same mechanism with some options changed."""
        values = {f.name: getattr(self.config, f.name) for f in dataclasses.fields(self.config)}
        return type(self).create(**(values | options))

    # A str is a Sequence[str] too, so that the overloads overlap; the first one decides.
    @overload
    def rewrite(  # type: ignore[overload-overlap]
        self,
        text: str | Prepared,
        seed: int | None = None,
        *,
        stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> RewriteResult: ...

    @overload
    def rewrite(
        self,
        text: Sequence[str],
        seed: int | None = None,
        *,
        stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> list[RewriteResult]: ...

    def rewrite(self, text, seed=None, *, stream=None, task: Task | None = None):
        """Rewrite one text, or a list of texts, each with a noise stream of its own.

        Parameters
        ----------
        text : str, Prepared, or list of str
        seed : int, optional
            Makes the run repeatable and its promise void: the noise of a text follows from the seed and its place in
            the list, from 0, and from no other text. So the first text of a list is rewritten as by itself, and one
            that stands twice is drawn twice. Where ``shares_draws``, the noise follows from the seed and the word
            alone, wherever it stands.
        stream : NoiseStream, optional
            Locks the noise of a session, instead of a seed. Without either the operating system's randomness is drawn
            from.
        task : Task, optional
            Receives the progress, and may cancel the work.

        Returns
        -------
        RewriteResult, or a list of them for a list

        Raises
        ------
        InputError
            It is no text, or too long a one.
        ConfigError
            A list of ε has another length than the text has tokens, or the text was prepared with other options.
        ModelUnavailable
            What the mechanism reads with is not on this machine.
        """
        task = task or UNWATCHED
        task.check()
        stream = _one_stream(seed, stream)
        if isinstance(text, str | Prepared):
            return self._checked(self.rewrite_prepared(self.prepared(text, task), stream.at(0), task))
        batch = self._batch()
        results = self.rewrite_list(text_list(text, "texts, or one text"), stream, task)
        return [in_batch(self._checked(r), batch) for r in results]

    def rewrite_each(
        self, texts: Sequence[str], *, stream: NoiseStream | None = None, task: Task | None = None
    ) -> Iterator[RewriteResult]:
        """Yield what :meth:`rewrite` gives of a list, one by one: mechanisms that can hold a part of it at a time. An
        error that a text is to blame for is raised before the first result."""
        batch = self._batch()
        for result in self.rewrite_one_by_one(text_list(texts), _one_stream(None, stream), (task or UNWATCHED).quiet):
            yield in_batch(self._checked(result), batch)

    def _batch(self) -> str:
        """Return what results of one call share where their texts share draws on purpose."""
        return secrets.token_hex(8) if self.shares_draws else ""

    def _checked(self, result: RewriteResult) -> RewriteResult:
        """Return the result, marked where it is seeded. Raises ConfigError where its pieces are not those of its
        text."""
        if result.pieces is not None:
            check_pieces(result.text, result.pieces, self.title)
        elif not len(result.steps) and result.text.strip() and "alignment" not in result.can:
            raise ConfigError(f"{self.title} returns neither steps nor pieces with its text. Return one of them.")
        return mark_seeded(result)

    def rewrites(
        self,
        text: str | Prepared,
        n: int,
        seed: int | None = None,
        *,
        stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> list[RewriteResult]:
        """Rewrites of one text with fresh noise each, for figures over many. Each that is released spends.

        Parameters
        ----------
        text : str or Prepared
        n : int
            How many.
        seed, stream, task
            As in :meth:`rewrite`; the k-th has the noise at ``("fresh", k)``.

        Returns
        -------
        list of RewriteResult, n of them
        """
        task = task or UNWATCHED
        stream, n = _one_stream(seed, stream), check_whole_number("n, the number of rewrites,", n, least=0)
        prepared = self.prepared(text, task)
        return [self._checked(r) for r in self.rewrite_repeatedly(prepared, n, stream, task)]

    def sweep(
        self,
        text: str | Prepared,
        epsilons: Sequence[float],
        seed: int | None = None,
        *,
        stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> Sweep:
        """Return the text at every ε with the same noise, for looking. Releasing two of the results has no finite ε.

        Parameters
        ----------
        text : str or Prepared
        epsilons : sequence of float
            Each is taken for all words.
        seed, stream, task
            As in :meth:`rewrite`.

        Returns
        -------
        Sweep
            ``results[i].text`` is what ``replace(epsilon=epsilons[i]).rewrite(text, seed)`` gives.
        """
        task = task or UNWATCHED
        if not isinstance(epsilons, Sequence | np.ndarray) or isinstance(epsilons, str | bytes) or not len(epsilons):
            raise ConfigError("epsilons must be a list of numbers. Give at least one ε.")
        variants = [self.replace(epsilon=e) for e in epsilons]
        if any(not isinstance(v.config.epsilon, float) for v in variants):
            raise ConfigError("A sweep takes one ε for each point, not a list.")
        stream = _one_stream(seed, stream)
        prepared = self.prepared(text, task)
        results = tuple(v.rewrite(prepared, stream=stream, task=task.quiet) for v in variants)
        return Sweep(tuple(v.config.epsilon for v in variants), results)

    # --- what its author writes: these three, and others where something is known better

    @abstractmethod
    def guarantee(self, text: str | Prepared) -> Guarantee:
        """Return what a rewrite of this text promises, and what it exposes. Loads no model.

        Parameters
        ----------
        text : str or Prepared

        Returns
        -------
        Guarantee
            ε for one draw and in total, its unit, which texts are made alike, what stays exposed.
        """

    @abstractmethod
    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        """One rewrite.

        Parameters
        ----------
        prepared
            What :meth:`prepare_document` gave, or :meth:`plan`.
        stream
            The only source of randomness: give each place a stream of its own by ``stream.at(place)``, so that ε can
            move while the noise stays.
        task
            As in :meth:`prepare_document`.
        """

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        """Return what is drawn in the place of a token, given the original text.

        Parameters
        ----------
        text : str or Prepared
        index : int
            The token's index in the document, insertions not counted.

        Returns
        -------
        TokenDistribution

        Raises
        ------
        NoDistribution
            The token is kept, or nothing is drawn in a token's place.
        """
        require_alignment(
            self,
            "has no distribution for an original word: use the distributions of a result, or --piece on the command "
            "line",
        )
        raise NoDistribution(f"{self.title} has no formula for the probabilities of a word.")

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        """Return a rewrite of each text. Override it where texts are faster together or share draws.

        Parameters
        ----------
        texts : list of str
        stream : NoiseStream
            The noise of text i is below ``stream.at(i)``.
        task : Task
            Receives the progress, and may cancel the work.

        Returns
        -------
        list of RewriteResult
        """
        runs = in_runs(texts)
        out: list[RewriteResult] = []
        every = self.prepare_many([text for text, _ in runs], task=task)
        for (_, n), prepared in zip(runs, every, strict=True):
            out += [self.rewrite_prepared(prepared, stream.at(i), task.quiet) for i in range(len(out), len(out) + n)]
        return out

    def rewrite_repeatedly(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        """Several rewrites of one text. Override it where that is faster than one after the other.

        Parameters
        ----------
        prepared : Prepared
        n : int
            How many.
        stream : NoiseStream
            The noise of rewrite k is below ``stream.at("fresh", k)``.
        task : Task
            Receives the progress, and may cancel the work.

        Returns
        -------
        list of RewriteResult
        """
        out = []
        for k in range(n):
            out.append(self.rewrite_prepared(prepared, stream.at("fresh", k), task.quiet))
            task.report(k + 1, n)
        return out

    def rewrite_one_by_one(self, texts: list[str], stream: NoiseStream, task: Task) -> Iterator[RewriteResult]:
        """As :meth:`rewrite_list`. Override it where a part of the results can be held at a time."""
        return iter(self.rewrite_list(texts, stream, task))

    @property
    def shares_draws(self) -> bool:
        """Whether texts that are rewritten in one call share draws, so that a data set has to be rewritten in one."""
        return False

    # --- what its author may call

    @property
    def adjacency_conditions(self) -> tuple[Condition, ...]:
        """What two texts share that :meth:`adjacency` compares: all that is released besides sampled words."""
        kinds = [ConditionKind.TOKEN_COUNT, ConditionKind.KEPT_TOKENS, ConditionKind.SPACING]
        if capitals(self.config) == "original":
            kinds.append(ConditionKind.CAPITALS)
        return tuple(map(Condition, kinds))

    def adjacency(self, *more: str) -> Adjacency:
        """Return the adjacency: all that the released text is computed from besides released words, and ``more``.

        A change of one word may change which stop words are kept beside it (:mod:`dptext_core.text.names_and_numbers`).
        The two texts then have other kept tokens, and are not compared.

        Parameters
        ----------
        *more : Condition or str
            More conditions; a plain string is a custom one.
        """
        count, kept, *others = self.adjacency_conditions
        return Adjacency(count, kept, *more, *others)

    def _exposed_beside(
        self, reasons: Sequence[str | None], stop: Lexicon | None, *more: str
    ) -> tuple[NotProtected, ...]:
        """Return what everyone sees of a text besides sampled words: the kept tokens, by why they are kept, ``more``,
        and what holds for every text."""
        items: list[NotProtected] = []
        for reason in _KEPT:
            if count := reasons.count(reason):
                source = stop.source if reason == "stop word" and stop is not None else None
                items.append(NotProtected(NotProtectedKind.KEPT_TOKENS, reason=reason, count=count, source=source))
        items += map(NotProtected.of, more)
        if stop is not None:
            items.append(NotProtected(NotProtectedKind.NAMES_AMONG_STOP_WORDS))
        items.append(NotProtected(NotProtectedKind.SPACING))
        if self.config.recase == "original":
            items.append(NotProtected(NotProtectedKind.CAPITALS))
        if isinstance(self.config.epsilon, tuple):
            items.append(NotProtected(NotProtectedKind.EPSILON_LIST))
        return (*items, *self.never.exposed())

    def _capital(self, word: str, begin: bool) -> bool:
        return has_capital(self.config.recase, word, begin)

    def _case(self, word: str, capital: bool) -> str:
        return cased(self.config, self.language, word, capital)

    # --- what it has beside

    #: The public range that scores are clipped to, of the class and of its mechanisms; None where none are clipped.
    clipping: ClassVar[Clipping | None] = None

    @property
    def by_word(self) -> WordByWord | None:
        """What each word is drawn from by itself; None where what is drawn depends on more than the word."""
        return None

    @property
    def alignment(self) -> Alignment[Mechanism] | None:
        """The words in whose places others are drawn; None where nothing answers to the words that were read."""
        return Alignment(self)

    @property
    def likelihood(self) -> Likelihood[Mechanism] | None:
        """What pieces are drawn from, and how likely whole rewrites are; None where no piece has a distribution."""
        return Likelihood(self) if type(self).distribution is not Mechanism.distribution else None

    @property
    def audit_support(self) -> AuditSupport[Mechanism]:
        """What an audit asks: what the promise compares, and what stands between a text and its release."""
        return AuditSupport(self)

    @property
    def reading(self) -> InputCoverage[Mechanism]:
        """How a text is read: what of it is known, and what its author should know of that."""
        return InputCoverage(self)

    @property
    def kept_scores(self) -> StoredScores[Mechanism] | None:
        """Scores that can be kept in a file; None where there are none."""
        return None

    @property
    def in_parts(self) -> PartwiseRewriting[Mechanism] | None:
        """How texts that share draws are rewritten in parts; None where none are shared, or they cannot be."""
        return None

    @property
    def public_prior(self) -> PublicPrior[Mechanism] | None:
        """How it starts from what is public of a text, or could; None where it cannot."""
        return None

    # --- how it is measured


def _one_stream(seed: Any, stream: Any) -> NoiseStream:
    if stream is None:
        return NoiseStream(seed)
    if seed is not None:
        raise ConfigError("Give a seed or a noise stream, not both.")
    if not isinstance(stream, NoiseStream):
        raise ConfigError(f"stream must be a dptext_core.NoiseStream, not {shorten_repr(stream)}.")
    return stream


def in_runs(texts: Sequence[Any]) -> list[tuple[Any, int]]:
    """Each text, and how often it stands there one after the other: equal ones are prepared once."""
    runs = (list(same) for _, same in groupby(texts, lambda t: t if isinstance(t, str) else id(t)))
    return [(same[0], len(same)) for same in runs]


def check_mechanism(mechanism: object) -> None:
    """Raise ConfigError for anything else."""
    if not isinstance(mechanism, Mechanism):
        raise ConfigError(f"Pass a mechanism from dptext_core.get_mechanism, not {shorten_repr(mechanism)}.")
