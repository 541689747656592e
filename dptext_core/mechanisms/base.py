"""What every mechanism is: a frozen config, a way to rewrite, and the guarantee that goes with it."""

from __future__ import annotations

import dataclasses
import re
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, cast, overload

import numpy as np

from ..checks import listed, shown, whole
from ..distribution import MAX_EPSILON, Law, TokenDistribution
from ..document import Document, Token
from ..errors import Cancelled, ConfigError, InputError, NoDistribution
from ..guarantee import Guarantee
from ..private import Private
from ..sampling import Dice
from ..skeleton import sentence_case
from .config import build

Progress = Callable[[int, int], None]
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class MechanismSpec:
    """A registered mechanism. needs: what must be on this machine ("masked language model", "word space", …)."""

    name: str
    title: str
    family: str
    notion: str
    config_cls: type
    needs: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Step(Private):
    """What happened to one token.

    span: offsets in the original (empty for an insertion). original, replacement: the words. action: "replace",
    "keep", "insert" or "delete". reason: why it was kept, deleted or inserted. epsilon: what it spent. out: offsets
    in the released text (empty for a deletion). index: the token's index in the document. capital: whether the
    released word is capitalised by rule.
    """

    span: tuple[int, int]
    original: str
    replacement: str
    action: str
    reason: str
    epsilon: float
    out: tuple[int, int]
    index: int
    capital: bool = False

    _shown: ClassVar[tuple[str, ...]] = ("action", "reason", "epsilon", "index")

    @property
    def changed(self) -> bool:
        """Whether another word stands there now, ignoring case."""
        return self.original.casefold() != self.replacement.casefold()


@dataclass(frozen=True)
class ClipCost:
    """A clipping range at one draw. tied: words at its upper end or above; keep: the chance that the word stays."""

    name: str
    low: float
    high: float
    used: bool
    tied: int
    keep: float


@dataclass(frozen=True, eq=False)
class Prepared(Private):
    """The ε-independent part of a rewrite, held by the caller. ``key`` names what it was prepared for."""

    document: Document
    key: tuple

    _shown: ClassVar[tuple[str, ...]] = ("document",)

    @property
    def text(self) -> str:
        return self.document.text


@dataclass(frozen=True, eq=False)
class RewriteResult(Private):
    """A rewritten text with its steps and its guarantee.

    family: results of one family share their noise, so at most one of them may be released. batch: results of one call
    on a list share it; empty for a text on its own.
    """

    text: str
    original: str
    steps: Sequence[Step]
    guarantee: Guarantee
    mechanism: str
    config: Any
    seed: int | None
    family: str
    _distribution: Callable[[int], TokenDistribution] = field(repr=False)
    _locked: Callable[[int], tuple[Law, Dice]] | None = field(default=None, repr=False)
    _logits: Callable[[int], np.ndarray] | None = field(default=None, repr=False)
    _views: Callable[[int], tuple] | None = field(default=None, repr=False)
    _similarities: Callable[[int], Mapping[str, float] | None] | None = field(default=None, repr=False)
    batch: str = ""

    def __repr__(self) -> str:
        replaced = sum(s.action == "replace" for s in self.steps)
        steps = f"{len(self.steps):,} steps, {replaced:,} replaced"
        return f"{type(self).__name__}(mechanism={self.mechanism!r}, {steps}, seed={self.seed!r})"

    @property
    def live(self) -> bool:
        """Whether the same dice at another ε need no new pass of the mechanism."""
        return self._locked is not None

    def locked(self, i: int) -> tuple[Law, Dice]:
        """The law and the dice of drawn step ``i``: what it would be at every other ε. For the owner's eyes."""
        if self._locked is None:
            raise NoDistribution("At another ε this mechanism needs a new pass. Rewrite again.")
        return self._locked(i)

    def logits(self, i: int) -> np.ndarray | None:
        """The model's scores at drawn step ``i`` before clipping, float32 (V,); None where the mechanism has none."""
        return None if self._logits is None else self._logits(i)

    def views(self, i: int) -> tuple:
        """Pictures of how drawn step ``i`` came about (see ``dptext_core.views``); () where the mechanism has none."""
        if self._views is None or self.steps[i].action not in ("replace", "insert"):
            return ()
        return self._views(i)

    def similarities(self, i: int) -> Mapping[str, float] | None:
        """Cosine of the original word of step ``i`` with every word of the space; None where there is none."""
        return None if self._similarities is None else self._similarities(i)

    def distribution(self, i: int) -> TokenDistribution:
        """The distribution that step ``i`` was drawn from, given what came before it. NoDistribution for kept ones."""
        if not 0 <= whole("i, the number of a step,", i) < len(self.steps):
            raise InputError(f"There is no step {i}: this rewrite has {len(self.steps)}, counted from 0.")
        step = self.steps[i]
        if step.action in ("keep", "delete"):
            verb = "kept" if step.action == "keep" else "deleted"
            raise NoDistribution(
                f"Step {i} was {verb} ({step.reason}), so no word was drawn for it. Pick another step."
            )
        return self._distribution(i)

    def to_dict(self, trace: bool = False) -> dict:
        """What may leave with the release. The trace tells the original words: for the owner's eyes only."""
        out: dict[str, Any] = {
            "text": self.text,
            "mechanism": self.mechanism,
            "config": dataclasses.asdict(self.config),
            "guarantee": self.guarantee.to_dict(),
            "family": self.family,
        }
        if self.seed is not None:
            out["seed"] = self.seed
            out["note"] = "demonstration, not private: whoever knows the seed can replay the noise"
        if trace:
            out["original"] = self.original
            out["steps"] = [{"changed": s.changed, **dataclasses.asdict(s)} for s in self.steps]
        return out


@dataclass(frozen=True, eq=False)
class Sweep(Private):
    """One text at many ε under the same dice: one family, of which at most one member may be released."""

    epsilons: tuple[float, ...]
    results: tuple[RewriteResult, ...]

    _shown: ClassVar[tuple[str, ...]] = ("epsilons", "results")

    @property
    def distributions(self) -> list[list[TokenDistribution | None]]:
        """For every ε, for every step, what it was drawn from; None where nothing was drawn."""
        return [
            [None if s.action in ("keep", "delete") else r.distribution(i) for i, s in enumerate(r.steps)]
            for r in self.results
        ]


class Mechanism(ABC):
    """A text rewriting mechanism. Immutable and safe to share between threads; randomness comes with the call."""

    name: ClassVar[str]
    title: ClassVar[str]
    family: ClassVar[str]
    notion: ClassVar[str]
    summary: ClassVar[str] = ""
    config_cls: ClassVar[type]
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: Any):
        self._config = config

    @classmethod
    def create(cls, **options: Any) -> Self:
        """The mechanism with checked options. Raises ConfigError before any model is loaded."""
        config = build(cls.config_cls, options)
        if config.epsilon is None:
            config = dataclasses.replace(config, epsilon=cls.epsilon_range(options)[2])
        return cls(cls.resolve(config))

    @classmethod
    def resolve(cls, config: Any) -> Any:
        """The config with what depends on other options filled in. Raises ConfigError where they contradict."""
        return config

    @classmethod
    def spec(cls) -> MechanismSpec:
        return MechanismSpec(cls.name, cls.title, cls.family, cls.notion, cls.config_cls, cls.needs, cls.summary)

    @property
    def config(self) -> Any:
        return self._config

    def with_(self, **options: Any) -> Self:
        """The same mechanism with some options changed."""
        values = {f.name: getattr(self.config, f.name) for f in dataclasses.fields(self.config)}
        return type(self).create(**(values | options))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config!r})"

    @classmethod
    def epsilon_range(cls, options: Mapping[str, Any] | None = None) -> tuple[float, float, float]:
        """Lower end, upper end and default of an ε axis for these options (those not given at their defaults)."""
        field = next(f for f in dataclasses.fields(cls.config_cls) if f.name == "epsilon")
        low, high, default = field.metadata["low"], field.metadata["high"], cast(Any, field.default)
        return low, high, (low * high) ** 0.5 if default is None else float(default)

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """How far inputs are apart in the unit of the claim, float64 (n, n): ln of the ratio is at most ε times it.

        1 between any two different inputs for a pure promise; a metric's distance for a metric one; NaN between inputs
        that the promise does not make alike.
        """
        n = len(words)
        if type(self).notion == "none":
            return np.full((n, n), np.nan)
        return 1.0 - np.eye(n)

    def clip_costs(self, logits: np.ndarray, source: str | None, epsilon: float) -> tuple[ClipCost, ...]:
        """What each clipping range costs at one draw with these scores before clipping; () where none are clipped."""
        return ()

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        """How many words of the text the mechanism knows, and how many it has; kept stop words are known.

        Runs no model. All are known where nothing says otherwise.
        """
        document = text.document if isinstance(text, Prepared) else self._document(text)
        words = sum(t.kind == "word" for t in document.tokens)
        return words, words

    def uncovered(self) -> str:
        """A sentence on what happens to the words that it does not know."""
        return "what becomes of them does not depend on what they are."

    @cached_property
    def key(self) -> tuple:
        """What a prepared text depends on: every option that is not marked live."""
        return (
            self.name,
            *(
                (f.name, getattr(self.config, f.name))
                for f in dataclasses.fields(self.config)
                if not f.metadata["live"]
            ),
        )

    def prepare(
        self, text: str, *, progress: Progress | None = None, cancel: threading.Event | None = None
    ) -> Prepared:
        """The expensive part that no ε changes. Hold it and pass it in the text's place."""
        return self._prepare(self._document(text), progress, cancel)

    # A str is a Sequence[str] too, so that the overloads overlap; the first one decides.
    @overload
    def rewrite(  # type: ignore[overload-overlap]
        self, text: str | Prepared, seed: int | None = None, *, dice: Dice | None = None,
        progress: Progress | None = None, cancel: threading.Event | None = None,
    ) -> RewriteResult: ...  # fmt: skip

    @overload
    def rewrite(
        self, text: Sequence[str], seed: int | None = None, *, dice: Dice | None = None,
        progress: Progress | None = None, cancel: threading.Event | None = None,
    ) -> list[RewriteResult]: ...  # fmt: skip

    def rewrite(self, text, seed=None, *, dice=None, progress=None, cancel=None):
        """Rewrite one text, or a list of texts, each with dice of its own.

        seed makes the run repeatable and its promise void. dice (instead of a seed) locks the noise of a session.
        """
        dice = _one_dice(seed, dice)
        if isinstance(text, str | Prepared):
            return _marked(self._rewrite(self._prepared(text, progress, cancel), dice.at(0), progress, cancel))
        batch = secrets.token_hex(8)
        results = self._rewrite_list(listed(text), dice, progress, cancel)
        return [dataclasses.replace(_marked(r), batch=batch) for r in results]

    def _rewrite_list(self, texts: list[str], dice: Dice, progress, cancel) -> list[RewriteResult]:
        return [
            self._rewrite(p, dice.at(i), None, cancel)
            for i, p in enumerate(self.prepare_many(texts, progress=progress, cancel=cancel))
        ]

    def rewrites(
        self,
        text: str | Prepared,
        n: int,
        seed: int | None = None,
        *,
        progress: Progress | None = None,
        cancel: threading.Event | None = None,
    ) -> list[RewriteResult]:
        """``n`` rewrites of one text with fresh noise each, for figures over many. Each that is released spends."""
        dice, n = Dice(seed), whole("n, the number of rewrites,", n, least=0)
        prepared = self._prepared(text, progress, cancel)
        return [_marked(r) for r in self._rewrites(prepared, n, dice, progress, cancel)]

    def _rewrites(self, prepared: Prepared, n: int, dice: Dice, progress, cancel) -> list[RewriteResult]:
        out = []
        for k in range(n):
            out.append(self._rewrite(prepared, dice.at("fresh", k), None, cancel))
            if progress:
                progress(k + 1, n)
        return out

    def prepare_many(
        self, texts: Sequence[str], *, progress: Progress | None = None, cancel: threading.Event | None = None
    ) -> Iterator[Prepared]:
        """Prepared texts, one after the other. Mechanisms that batch over texts do better than this loop."""
        documents = [self._document(t) for t in listed(texts)]
        for i, document in enumerate(documents):
            yield self._prepare(document, None, cancel)
            if progress:
                progress(i + 1, len(documents))

    def sweep(
        self,
        text: str | Prepared,
        epsilons: Sequence[float],
        seed: int | None = None,
        *,
        dice: Dice | None = None,
        progress: Progress | None = None,
        cancel: threading.Event | None = None,
    ) -> Sweep:
        """The text at every ε with the same dice, for looking. Releasing two of the results has no finite ε."""
        if not isinstance(epsilons, Sequence | np.ndarray) or isinstance(epsilons, str | bytes) or not len(epsilons):
            raise ConfigError("epsilons is a list of numbers. Give at least one ε.")
        variants = [self.with_(epsilon=e) for e in epsilons]
        if any(not isinstance(v.config.epsilon, float) for v in variants):
            raise ConfigError("A sweep takes one number for each of its points, not lists of ε.")
        dice = _one_dice(seed, dice)
        prepared = self._prepared(text, progress, cancel)
        results = tuple(v.rewrite(prepared, dice=dice, cancel=cancel) for v in variants)
        return Sweep(tuple(v.config.epsilon for v in variants), results)

    @abstractmethod
    def guarantee(self, text: str | Prepared) -> Guarantee:
        """What a rewrite of this text promises, and what it exposes. Loads no model."""

    @abstractmethod
    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        """The distribution of the ``index``-th token, given the original text. NoDistribution for kept tokens."""

    @abstractmethod
    def _prepare(self, document: Document, progress: Progress | None, cancel: threading.Event | None) -> Prepared: ...

    @abstractmethod
    def _rewrite(
        self, prepared: Prepared, dice: Dice, progress: Progress | None, cancel: threading.Event | None
    ) -> RewriteResult: ...

    @property
    def max_epsilon(self) -> float:
        """The largest ε of one draw at which everything possible comes out: its ln p lies within the sampler's depth.

        By the vocabulary, never by the text, so that a refusal tells nothing of it.
        """
        return MAX_EPSILON

    def _epsilons(self, prepared: Prepared) -> tuple[float, ...]:
        """One ε a token. Raises ConfigError where the list has another length, or a value is above max_epsilon."""
        n, epsilon = len(prepared.document.tokens), self.config.epsilon
        check_depth(epsilon, self.max_epsilon)
        if not isinstance(epsilon, tuple):
            return (epsilon,) * n
        if len(epsilon) != n:
            raise ConfigError(
                f"epsilon has {len(epsilon)} values, the text {n} tokens (punctuation and kept words counted). "
                "Give one value a token, or one for all."
            )
        return epsilon

    def _same(self, *more: str) -> str:
        """The adjacency: all that the released text is computed from besides released words, and ``more``."""
        fixed = ["the same number of tokens", "the same kept tokens in the same places", *more]
        fixed.append("the same spaces and line ends between the tokens")
        if self.config.recase == "original":
            fixed.append("capital letters at the beginning of the same words")
        return f"any two texts with {', '.join(fixed[:-1])} and {fixed[-1]}"

    def _capital(self, token: Token, begin: bool) -> bool:
        if self.config.recase == "original":
            return token.text[:1].isupper()
        return begin and self.config.recase == "sentence"

    def _case(self, word: str, capital: bool) -> str:
        return word if self.config.recase == "none" else sentence_case(word, capital)

    def _document(self, text: str) -> Document:
        if not isinstance(text, str):
            raise InputError(f"A text is a str, not {type(text).__name__}. Decode files as UTF-8 first.")
        if not text.isascii() and _SURROGATE.search(text):
            raise InputError("The text holds broken characters (lone surrogates). Decode the file as UTF-8 first.")
        return Document.parse(text)

    def _prepared(self, text: str | Prepared, progress=None, cancel=None) -> Prepared:
        if not isinstance(text, Prepared):
            return self.prepare(text, progress=progress, cancel=cancel)
        if text.key != self.key:
            raise ConfigError("This text was prepared with other options. Prepare it again with this mechanism.")
        return text

    # --- how it is measured

    #: Whether a distribution comes from a formula; else it is estimated from draws, which all words share.
    closed_form: ClassVar[bool] = True
    #: Whether preparing a text takes long, so that one preparation has to serve every ε and seed.
    slow_to_prepare: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        """Options without ε, one set for each that is another mechanism in effect: the audit looks at every one."""
        return ({},)

    @classmethod
    def over_spaces(cls, spaces: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """Options for which N_w and S_w over ε are measured on these word spaces; () where no vocabulary is drawn."""
        return ()


def check_depth(epsilon: float | tuple[float, ...], most: float) -> None:
    """Raise ConfigError for an ε above ``most``."""
    largest = max(epsilon) if isinstance(epsilon, tuple) else epsilon
    if largest > most:
        raise ConfigError(
            f"epsilon must be at most {most:.6g} with these options; it is {largest:.6g}. Beyond it, some words would "
            "be so improbable that no draw reaches them, while it can draw them for other texts, and then no finite ε "
            "holds. Choose a smaller ε."
        )


def _one_dice(seed: Any, dice: Any) -> Dice:
    if dice is None:
        return Dice(seed)
    if seed is not None:
        raise ConfigError("Give a seed or dice, not both.")
    if not isinstance(dice, Dice):
        raise ConfigError(f"dice is a dptext_core.Dice, not {shown(dice)}.")
    return dice


def check_cancel(cancel: threading.Event | None) -> None:
    """Raise Cancelled when the caller has asked to stop."""
    if cancel is not None and cancel.is_set():
        raise Cancelled("Stopped, as you asked.")


def _marked(result: RewriteResult) -> RewriteResult:
    """A seeded result says so in its guarantee, whatever the mechanism."""
    if result.seed is None:
        return result
    g = result.guarantee
    exposed = (*g.exposed, "everything, to whoever knows the seed")
    return dataclasses.replace(result, guarantee=dataclasses.replace(g, seeded=True, exposed=exposed))
