"""The base class of mechanisms: a frozen config, a way to rewrite, and the matching guarantee."""

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

#: Number of texts per batch: some mechanisms are faster on several texts at once.
BATCH = 32
#: Reasons why tokens are kept, in the order of sentences: the singular and the plural of each.
_KEPT = ("stop word", "punctuation", "symbol", NOT_IN_VOCABULARY)


class Mechanism(PreparationBase):
    """A text rewriting mechanism. Immutable and safe to share between threads; randomness comes with the call.

    Attributes
    ----------
    config
        The options, a frozen dataclass; ``setting`` has those that recreate the mechanism.
    can : frozenset of str
        The features of its results, out of "distribution", "sweep" and "alignment".
    by_word, alignment, likelihood, audit_support, reading, kept_scores, in_parts, public_prior, clipping
        Optional capabilities (facets), each a small object, or None.
    """

    @classmethod
    def create(cls, **options: Any) -> Self:
        """Return the mechanism with checked options. Raises ConfigError before any model is loaded."""
        config = build(cls.config_cls, options)
        if words := getattr(config, "never", ()):
            cls.check_never(Blocklist(frozenset(words)), config)
        if config.epsilon is None:
            config = dataclasses.replace(config, epsilon=cls.epsilon_range(options)[2])
        mechanism = cls.of_config(cls.resolve(config))
        if isinstance(config.epsilon, tuple):
            require_alignment(mechanism, "takes one ε, not a list of them. Give one ε")
        return mechanism

    @classmethod
    def of_config(cls, config: Any) -> Self:
        """Return the mechanism for a checked and resolved config."""
        if getattr(config, "surrogates", False):
            # It derives from this class, so it is imported on first use.
            return importlib.import_module(".detected.hybrid", __package__).with_surrogates(cls, config)
        return cls(config)

    @cached_property
    def setting(self) -> Setting:
        """Return the ε and the options that recreate the mechanism, without defaults and options that follow from
        others."""
        cls, config = type(self), self.config
        needed = {f.name: v for f in dataclasses.fields(config) if (v := getattr(config, f.name)) != f.default}
        needed["epsilon"] = config.epsilon
        for name in [name for name in needed if name != "epsilon"]:
            others = {k: v for k, v in needed.items() if k != name}
            try:
                if cls.create(**others).config == config:
                    needed = others
            except DPTextError:
                pass
        return Setting.of(self.name, **needed)

    @cached_property
    def can(self) -> frozenset[str]:
        """Return the features of its results.

        "distribution": each sampled token has one. "sweep": the same noise can be used at another ε without a new model
        pass. "alignment": released words correspond to original words, so there are steps."""
        chances = self.likelihood
        sweeps = chances is not None and chances.sweeps
        have = {"distribution": chances is not None, "sweep": sweeps, "alignment": self.alignment is not None}
        return frozenset(part for part, there in have.items() if there)

    def replace(self, **options: Any) -> Self:
        """Return the same mechanism with some options changed."""
        values = {f.name: getattr(self.config, f.name) for f in dataclasses.fields(self.config)}
        return type(self).create(**(values | options))

    # A str is also a Sequence[str], so the overloads overlap; the first one decides.
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
        """Rewrite one text, or a list of texts, each with a separate noise stream.

        Parameters
        ----------
        text : str, Prepared, or list of str
        seed : int, optional
            Makes the run repeatable and voids its guarantee. The noise of a text depends on the seed and its position
            in the list, from 0, and on no other text. So the first text of a list gets the same rewrite as alone, and a
            repeated text is sampled twice. With ``shares_draws``, the noise depends only on the seed and the word.
        stream : NoiseStream, optional
            Locks the noise of a session, instead of a seed. Without either, randomness comes from the operating system.
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
        """Yield the results of :meth:`rewrite` for a list, one by one, so that some mechanisms hold only a part at a
        time. An error that a text causes is raised before the first result."""
        batch = self._batch()
        for result in self.rewrite_one_by_one(text_list(texts), _one_stream(None, stream), (task or UNWATCHED).quiet):
            yield in_batch(self._checked(result), batch)

    def _batch(self) -> str:
        """Return what the results of one call share if their texts share draws on purpose."""
        return secrets.token_hex(8) if self.shares_draws else ""

    def _checked(self, result: RewriteResult) -> RewriteResult:
        """Return the result, marked if it is seeded. Raises ConfigError if its releases do not match its text."""
        if result.pieces is not None:
            check_pieces(result.text, result.pieces, self.title)
        elif not len(result.steps) and result.text.strip() and "alignment" not in result.can:
            raise ConfigError(f"{self.title} returns neither steps nor releases with its text. Return one of them.")
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
        """Return several rewrites of one text, each with fresh noise, for figures over many. Each released one spends
        ε.

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
        """Return the rewrite at every ε with the same noise, for exploration. Releasing two of the results has no
        finite ε.

        Parameters
        ----------
        text : str or Prepared
        epsilons : sequence of float
            Each applies to all words.
        seed, stream, task
            As in :meth:`rewrite`.

        Returns
        -------
        Sweep
            ``results[i].text`` equals ``replace(epsilon=epsilons[i]).rewrite(text, seed).text``.
        """
        task = task or UNWATCHED
        if not isinstance(epsilons, Sequence | np.ndarray) or isinstance(epsilons, str | bytes) or not len(epsilons):
            raise ConfigError("epsilons must be a list of numbers. Give at least one ε.")
        variants = [self.replace(epsilon=e) for e in epsilons]
        if any(not isinstance(v.config.epsilon, float) for v in variants):
            raise ConfigError("A sweep takes one ε for each point, not a list. Give numbers.")
        stream = _one_stream(seed, stream)
        prepared = self.prepared(text, task)
        results = tuple(v.rewrite(prepared, stream=stream, task=task.quiet) for v in variants)
        return Sweep(tuple(v.config.epsilon for v in variants), results)

    # --- what an author of a mechanism writes: these three, and overrides of others

    @abstractmethod
    def guarantee(self, text: str | Prepared) -> Guarantee:
        """Return the guarantee of a rewrite of this text, and what is not protected. Loads no model.

        Parameters
        ----------
        text : str or Prepared

        Returns
        -------
        Guarantee
            ε per draw and in total, its unit, which texts it compares, and what is not protected.
        """

    @abstractmethod
    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        """Rewrite a prepared text once.

        Parameters
        ----------
        prepared
            The output of :meth:`prepare_document` or :meth:`plan`.
        stream
            The only source of randomness. Give each place a separate stream by ``stream.at(place)``, so that ε can
            change while the noise is fixed.
        task
            As in :meth:`prepare_document`.
        """

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        """Return the distribution of a token's replacement, given the original text.

        Parameters
        ----------
        text : str or Prepared
        index : int
            The token's index in the document, without insertions.

        Returns
        -------
        TokenDistribution

        Raises
        ------
        NoDistribution
            The token is kept, or the mechanism replaces no single tokens.
        """
        require_alignment(
            self,
            "has no distribution for an original word. Use the distributions of a result, or --piece on the command "
            "line",
        )
        raise NoDistribution(f"{self.title} has no formula for word probabilities. Choose another mechanism.")

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        """Return a rewrite of each text. Override it if texts are faster together or share draws.

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
        """Return several rewrites of one text. Override it if that is faster than one after the other.

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
        """Yield the results of :meth:`rewrite_list`. Override it if not all results need to be held at once."""
        return iter(self.rewrite_list(texts, stream, task))

    @property
    def shares_draws(self) -> bool:
        """Return whether the texts of one call share draws, so that a data set must be rewritten in one call."""
        return False

    # --- what an author of a mechanism may call

    @property
    def adjacency_conditions(self) -> tuple[Condition, ...]:
        """Return what two adjacent texts share: everything that is released besides sampled words."""
        kinds = [ConditionKind.TOKEN_COUNT, ConditionKind.KEPT_TOKENS, ConditionKind.SPACING]
        if capitals(self.config) == "original":
            kinds.append(ConditionKind.CAPITALS)
        return tuple(map(Condition, kinds))

    def adjacency(self, *more: str) -> Adjacency:
        """Return the adjacency: everything besides released words that determines the released text, and ``more``.

        A change of one word may change which stop words next to it are kept
        (:mod:`dptext_core.text.names_and_numbers`). The two texts then have different kept tokens, and are not
        compared.

        Parameters
        ----------
        *more : Condition or str
            More conditions; a plain string is a custom one.
        """
        count, kept_tokens, *others = self.adjacency_conditions
        return Adjacency(count, kept_tokens, *more, *others)

    def _exposed_beside(
        self, reasons: Sequence[str | None], stop: Lexicon | None, *more: str
    ) -> tuple[NotProtected, ...]:
        """Return what everyone sees of a text besides sampled words: the kept tokens by reason, ``more``, and general
        items."""
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

    # --- optional capabilities

    #: The public range that scores are clipped to, for the class and its mechanisms; None if nothing is clipped.
    clipping: ClassVar[Clipping | None] = None

    @property
    def by_word(self) -> WordByWord | None:
        """Return the distributions of single words; None if a distribution depends on more than the word."""
        return None

    @property
    def alignment(self) -> Alignment[Mechanism] | None:
        """Return which words are replaced; None if released words do not correspond to original words."""
        return Alignment(self)

    @property
    def likelihood(self) -> Likelihood[Mechanism] | None:
        """Return the distributions of tokens and the probabilities of whole rewrites; None if no token has a
        distribution."""
        return Likelihood(self) if type(self).distribution is not Mechanism.distribution else None

    @property
    def audit_support(self) -> AuditSupport[Mechanism]:
        """Return what an audit needs: which texts the guarantee compares, and the noise before a release."""
        return AuditSupport(self)

    @property
    def reading(self) -> InputCoverage[Mechanism]:
        """Return how a text is read: which parts the mechanism knows, and what the author should know about it."""
        return InputCoverage(self)

    @property
    def kept_scores(self) -> StoredScores[Mechanism] | None:
        """Return scores that can be stored in a file; None if there are none."""
        return None

    @property
    def in_parts(self) -> PartwiseRewriting[Mechanism] | None:
        """Return how texts that share draws are rewritten in parts; None if no draws are shared, or parts are
        impossible."""
        return None

    @property
    def public_prior(self) -> PublicPrior[Mechanism] | None:
        """Return how the mechanism uses, or could use, a public prior; None if it cannot."""
        return None

    # --- how it is measured


def _one_stream(seed: Any, stream: Any) -> NoiseStream:
    if stream is None:
        return NoiseStream(seed)
    if seed is not None:
        raise ConfigError("Both a seed and a noise stream are given. Give only one.")
    if not isinstance(stream, NoiseStream):
        raise ConfigError(f"stream must be a dptext_core.NoiseStream, not {shorten_repr(stream)}.")
    return stream


def in_runs(texts: Sequence[Any]) -> list[tuple[Any, int]]:
    """Yield each text and how often it occurs in a row: equal neighbours are prepared once."""
    runs = (list(same) for _, same in groupby(texts, lambda t: t if isinstance(t, str) else id(t)))
    return [(same[0], len(same)) for same in runs]


def check_mechanism(mechanism: object) -> None:
    """Raise ConfigError if the value is not a mechanism."""
    if not isinstance(mechanism, Mechanism):
        raise ConfigError(f"This is not a mechanism: {shorten_repr(mechanism)}. Pass one from "
                          "dptext_core.get_mechanism.")
