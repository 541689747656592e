"""What every mechanism is: a frozen config, a way to rewrite, and the guarantee that goes with it."""

from __future__ import annotations

import dataclasses
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast, overload

import numpy as np

from .._internal.checks import listed, shown, whole
from .._internal.private import Private
from .._internal.task import UNWATCHED, Task
from ..errors import ConfigError, DPTextError, InputError, NoDistribution
from ..privacy.distribution import MAX_EPSILON, TokenDistribution
from ..privacy.guarantee import Guarantee
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult, Sweep, check_pieces, in_batch, marked
from ..text.document import Document, too_long
from ..text.language import Language
from ..text.languages import ENGLISH
from . import chances
from .blocklist import NOTHING, Never
from .config import build
from .setting import Setting

if TYPE_CHECKING:
    from ..privacy.distribution import Channel
    from ..words import WordSpace

#: Texts that are rewritten together where there are many: some mechanisms are faster on several at once.
BATCH = 32
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


class WordByWord(Protocol):
    """Words drawn one by one: each row of a public vocabulary has a channel of its own, whatever stands around it."""

    @property
    def vocabulary(self) -> Any:
        """What has ``words``, each once, in a fixed order; ``counts`` and vectors where it is a word space."""

    @property
    def space(self) -> WordSpace:
        """The word space in which its words are near or far."""

    def channel(self, row: int) -> Channel: ...
    def channels(self, rows: np.ndarray) -> list[Channel]: ...

    def token_row(self, prepared: Any, i: int) -> int | None:
        """The row of token i; None where it is no word of the vocabulary, or stays."""

    def likelihood_of(self, released: str, epsilon: float, rows: np.ndarray) -> np.ndarray:
        """ln p(released | word) of the words at ``rows``, float64 (n,), exactly; −inf for 0."""

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        """The same of every word, float64 (V,), and how far it may be off."""

    def likelihood_ready(self, epsilon: float) -> bool:
        """Whether :meth:`log_likelihood` answers within a second."""

    def words_alike(self, words: Sequence[str], n: int) -> list[str] | None:
        """About n of the words, each with others that the promise makes alike to it; None where any are."""


@dataclass(frozen=True)
class ClipCost:
    """A clipping range at one draw. tied: words at its upper end or above; keep: the chance that the word stays, or,
    where there is none that it could stay, of the one that the model finds best."""

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


class Mechanism(ABC):
    """A text rewriting mechanism. Immutable and safe to share between threads; randomness comes with the call."""

    name: ClassVar[str]
    title: ClassVar[str]
    family: ClassVar[str]
    notion: ClassVar[str]
    summary: ClassVar[str] = ""
    config_cls: ClassVar[type]
    needs: ClassVar[tuple[str, ...]] = ()
    #: Keys of the papers that it is from (``dptext_core.show.references``), the first the one to cite.
    references: ClassVar[tuple[str, ...]] = ()
    #: By which texts are cut and words are kept and written; a mechanism for another language is a subclass with it.
    language: ClassVar[Language] = ENGLISH

    def __init__(self, config: Any):
        self._config = config

    @classmethod
    def create(cls, **options: Any) -> Self:
        """The mechanism with checked options. Raises ConfigError before any model is loaded."""
        config = build(cls.config_cls, options)
        if words := getattr(config, "never", ()):
            cls.check_never(Never(frozenset(words)), config)
        if config.epsilon is None:
            config = dataclasses.replace(config, epsilon=cls.epsilon_range(options)[2])
        made = cls(cls.resolve(config))
        if isinstance(config.epsilon, tuple):
            made.check_alignment("takes one ε, not a list of them")
        return made

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

    @property
    def can(self) -> frozenset[str]:
        """What its results have: of "distribution" (one for each drawn piece), "sweep" (the same noise at another ε
        without a new pass) and "alignment" (pieces answer to the words that were read, so that there are steps)."""
        own = type(self).distribution is not Mechanism.distribution
        return frozenset(("distribution", "alignment") if own else ("alignment",))

    #: Whether the words of the option ``never`` are taken out of what it draws from, and never kept.
    takes_never: ClassVar[bool] = False

    @classmethod
    def check_never(cls, never: Never, config: Any) -> None:
        """Raise ConfigError where these words cannot be kept out of what is released."""
        if not cls.takes_never:
            raise ConfigError(
                f"{cls.title} does not take words out of what it can release. Leave the list of words that are never "
                "released empty, or choose another mechanism."
            )
        never.check(cls.language)

    @cached_property
    def never(self) -> Never:
        """The words that are never released."""
        words = frozenset(getattr(self.config, "never", ()))
        return Never(words) if words else NOTHING

    def _never_exposed(self) -> tuple[str, ...]:
        """What the list of these words may show."""
        one = "the list of words that are never released, which tells something if it was chosen by looking at the "
        return (one + "text",) if self.never else ()

    @property
    def together(self) -> bool:
        """Whether texts that are rewritten in one call share draws, so that a data set has to be rewritten in one."""
        return False

    @property
    def by_word(self) -> WordByWord | None:
        """What each word is drawn from by itself; None where what is drawn depends on more than the word."""
        return None

    def with_(self, **options: Any) -> Self:
        """The same mechanism with some options changed."""
        values = {f.name: getattr(self.config, f.name) for f in dataclasses.fields(self.config)}
        return type(self).create(**(values | options))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config!r})"

    @classmethod
    def clips(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The clipping ranges (:class:`~dptext_core.models.ClipRange`) that are known for these options, by name, the
        default first. Raises what :meth:`resolve` would of a model that is not there."""
        return {}

    def loads(self) -> Mapping[str, str]:
        """What it reads from files that may change under the same name: by the option that names them, their SHA-256.
        A run over a data set goes on only with the same ones, wherever they lie."""
        return {}

    @property
    def model_ready(self) -> bool:
        """Whether what it computes with is in memory, so that a rewrite needs not wait for it."""
        return True

    @classmethod
    def epsilon_range(cls, options: Mapping[str, Any] | None = None) -> tuple[float, float, float]:
        """Lower end, upper end and default of an ε axis for these options (those not given at their defaults)."""
        field = next(f for f in dataclasses.fields(cls.config_cls) if f.name == "epsilon")
        low, high, default = field.metadata["low"], field.metadata["high"], cast(Any, field.default)
        return low, high, (low * high) ** 0.5 if default is None else float(default)

    def distributions_given(self, prepared: Prepared, result: RewriteResult) -> list[TokenDistribution] | None:
        """What each piece of ``result`` would have been drawn from, had ``prepared`` been read, given the pieces before
        it: for mechanisms whose pieces answer to no word. None where that is not known."""
        return None

    def spelled(self, drawn: Sequence[int]) -> str | None:
        """The text that is released where these candidates were drawn one after the other (``result.candidate(i)`` of
        each piece): for mechanisms whose pieces answer to no word. None: every piece is its candidate as it is listed,
        with one blank between two pieces at most."""
        return None

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """How far inputs are apart in the unit of the claim, float64 (n, n): ln of the ratio is at most ε times it.

        1 between any two different inputs for a pure promise; a metric's distance for a metric one; NaN between inputs
        that the promise does not make alike.
        """
        n = len(words)
        if type(self).notion == "none":
            return np.full((n, n), np.nan)
        return 1.0 - np.eye(n)

    def released_before(self, prepared: Prepared, stream: NoiseStream) -> dict[int, tuple[tuple[int, str], ...]]:
        """Of one rewrite under this stream: for each drawn token, the places and words that were released before it,
        where what it is drawn from depends on them; empty where it does not."""
        return {}

    def distribution_after(
        self, prepared: Prepared, index: int, released: Sequence[tuple[int, str]]
    ) -> TokenDistribution:
        """As :meth:`distribution`, where these places and words were released before."""
        return self.distribution(prepared, index)

    def latent_loss(self, a: Prepared, b: Prepared) -> float | None:
        """Where the released text is computed from something noisy alone, of which the chances have a formula: the
        largest ln of their ratio between two texts, over everything that it can be. No release tells them apart by
        more. Where the promise has a δ: the smallest ε that holds with it between the two. None where there is no such
        thing."""
        return None

    def latent_advantage(self, a: Prepared, b: Prepared) -> float | None:
        """Of the same noisy thing, in [0, 1]: by how much more often a test can say "a" of a than of b, whatever it
        looks at (the total variation of the two, or a bound of it). None where that is not stated."""
        return None

    @property
    def no_log_chances(self) -> str:
        """Why :meth:`log_chances` has no answer for this mechanism, in a sentence; empty where it has one."""
        return chances.why_none(self)

    @property
    def states_pieces(self) -> bool:
        """Whether it says what each piece of a rewrite would have been drawn from, had another text been read."""
        return type(self).distributions_given is not Mechanism.distributions_given

    @property
    def writes_from_noise(self) -> bool:
        """Whether a rewrite is computed from one noisy thing of the whole text, of which it bounds the loss."""
        return type(self).latent_loss is not Mechanism.latent_loss

    def log_chances(
        self, texts: Sequence[Prepared], results: Sequence[RewriteResult], *, task: Task | None = None
    ) -> np.ndarray:
        """ln of the chance of everything that was drawn for each of these rewrites, had each of these texts been read:
        float64 (texts, results), −∞ where it could not have come out. Raises NoDistribution where there is no formula.
        """
        if reason := self.no_log_chances:
            raise NoDistribution(reason)
        chances.check_made(self, results)
        return (chances.by_pieces if self.states_pieces else chances.by_places)(self, texts, results, task or UNWATCHED)

    def _chances_in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        """ln of the chance of released words in the places of this text, float64 (n,). Each has the same places."""
        stated = {i: self.distribution(prepared, i) for i in (released[0] if released else ())}
        return chances.of_words(self, stated, released)

    def public_entropy(self, text: str | Prepared) -> dict[int, float] | None:
        """How open each place that is not kept is before the private text is looked at: the entropy of its public
        proposal, in nats, given what is kept alone. None where nothing is proposed by place."""
        return None

    def from_public(self) -> Mechanism | None:
        """The same mechanism starting from what is public of a text; None where there is none, or it does already."""
        return None

    def from_nothing(self) -> Mechanism | None:
        """The same mechanism without a public prior; None where it has none."""
        return None

    def public_context(self, prepared: Prepared, index: int) -> Hashable:
        """What two draws must have in common for the promise of one draw to compare them, besides :meth:`distances`.

        The same for all draws where it compares any two; else what is public of the text, and the place in it.
        """
        return None

    def clip_costs(self, logits: np.ndarray, source: str | None, epsilon: float) -> tuple[ClipCost, ...]:
        """What each clipping range costs at one draw with these scores before clipping; () where none are clipped."""
        return ()

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        """How many words of the text the mechanism knows, and how many it has; kept stop words are known.

        Runs no model. All are known where nothing says otherwise.
        """
        document = text.document if isinstance(text, Prepared) else self._document(text)
        words = document.kinds.count("word")
        return words, words

    def reading_note(self, text: str | Prepared) -> str:
        """What its author should know of how this text is read, in a sentence; "" for nothing. Runs no model."""
        return ""

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

    def prepare(self, text: str, *, task: Task | None = None) -> Prepared:
        """The expensive part that no ε changes. Hold it and pass it in the text's place."""
        return self._prepare(self._document(text), task or UNWATCHED)

    # A str is a Sequence[str] too, so that the overloads overlap; the first one decides.
    @overload
    def rewrite(  # type: ignore[overload-overlap]
        self, text: str | Prepared, seed: int | None = None, *, stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> RewriteResult: ...  # fmt: skip

    @overload
    def rewrite(
        self, text: Sequence[str], seed: int | None = None, *, stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> list[RewriteResult]: ...  # fmt: skip

    def rewrite(self, text, seed=None, *, stream=None, task: Task | None = None):
        """Rewrite one text, or a list of texts, each with a noise stream of its own.

        seed makes the run repeatable and its promise void. stream (instead of a seed) locks the noise of a session.
        """
        task = task or UNWATCHED
        stream = _one_stream(seed, stream)
        if isinstance(text, str | Prepared):
            return self._checked(self._rewrite(self._prepared(text, task), stream.at(0), task))
        batch = self._batch()
        results = self._rewrite_list(listed(text), stream, task)
        return [in_batch(self._checked(r), batch) for r in results]

    def rewrite_each(
        self, texts: Sequence[str], *, stream: NoiseStream | None = None, task: Task | None = None
    ) -> Iterator[RewriteResult]:
        """What :meth:`rewrite` gives of a list, one by one: mechanisms that can hold a part of it at a time. An error
        that a text is to blame for is raised before the first result."""
        batch = self._batch()
        for result in self._rewrite_each(listed(texts), _one_stream(None, stream), (task or UNWATCHED).quiet):
            yield in_batch(self._checked(result), batch)

    def _batch(self) -> str:
        """What results of one call share where their texts share draws on purpose."""
        return secrets.token_hex(8) if self.together else ""

    def _rewrite_each(self, texts: list[str], stream: NoiseStream, task: Task) -> Iterator[RewriteResult]:
        return iter(self._rewrite_list(texts, stream, task))

    def shared_draws(self, texts: Sequence[str], task: Task | None = None) -> frozenset[Hashable] | None:
        """Where texts share draws (:attr:`together`), what these texts draw once for all: with it a data set can be
        rewritten in parts, each under the same noise stream (:meth:`NoiseStream.numbered`). None where it cannot.
        Draws nothing, and runs no model."""
        return None

    def guarantee_over(self, guarantee: Guarantee, draws: int) -> Guarantee:
        """The promise of a text of a part, where ``draws`` things are drawn once for all parts together."""
        return guarantee

    def _checked(self, result: RewriteResult) -> RewriteResult:
        """The result, marked where it is seeded. Raises ConfigError where its pieces are not those of its text."""
        if result.pieces is not None:
            check_pieces(result.text, result.pieces, self.title)
        elif not len(result.steps) and result.text.strip() and "alignment" not in result.can:
            raise ConfigError(f"{self.title} gives neither steps nor pieces with its text. Give one of them.")
        return marked(result)

    def _rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        runs = in_runs(texts)
        out: list[RewriteResult] = []
        every = self.prepare_many([text for text, _ in runs], task=task)
        for (_, n), prepared in zip(runs, every, strict=True):
            out += [self._rewrite(prepared, stream.at(i), task.quiet) for i in range(len(out), len(out) + n)]
        return out

    def rewrites(
        self,
        text: str | Prepared,
        n: int,
        seed: int | None = None,
        *,
        stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> list[RewriteResult]:
        """``n`` rewrites of one text with fresh noise each, for figures over many. Each that is released spends."""
        task = task or UNWATCHED
        stream, n = _one_stream(seed, stream), whole("n, the number of rewrites,", n, least=0)
        prepared = self._prepared(text, task)
        return [self._checked(r) for r in self._rewrites(prepared, n, stream, task)]

    def _rewrites(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        out = []
        for k in range(n):
            out.append(self._rewrite(prepared, stream.at("fresh", k), task.quiet))
            task.report(k + 1, n)
        return out

    def scores_of(self, prepared: Prepared) -> np.ndarray | None:
        """The scores that a prepared text holds, one row a draw, to be kept in a file; None where there are none."""
        return None

    def with_scores(self, document: Document, scores: np.ndarray) -> Prepared | None:
        """A prepared text with scores that were kept; None where they are not those of this document."""
        return None

    def prepare_many(self, texts: Sequence[str], *, task: Task | None = None) -> Iterator[Prepared]:
        """Prepared texts, one after the other. Mechanisms that batch over texts do better than this loop."""
        task = task or UNWATCHED
        documents = [self._document(t) for t in listed(texts)]
        for i, document in enumerate(documents):
            yield self._prepare(document, task.quiet)
            task.report(i + 1, len(documents))

    def sweep(
        self,
        text: str | Prepared,
        epsilons: Sequence[float],
        seed: int | None = None,
        *,
        stream: NoiseStream | None = None,
        task: Task | None = None,
    ) -> Sweep:
        """The text at every ε with the same noise, for looking. Releasing two of the results has no finite ε."""
        task = task or UNWATCHED
        if not isinstance(epsilons, Sequence | np.ndarray) or isinstance(epsilons, str | bytes) or not len(epsilons):
            raise ConfigError("epsilons is a list of numbers. Give at least one ε.")
        variants = [self.with_(epsilon=e) for e in epsilons]
        if any(not isinstance(v.config.epsilon, float) for v in variants):
            raise ConfigError("A sweep takes one number for each of its points, not lists of ε.")
        stream = _one_stream(seed, stream)
        prepared = self._prepared(text, task)
        results = tuple(v.rewrite(prepared, stream=stream, task=task.quiet) for v in variants)
        return Sweep(tuple(v.config.epsilon for v in variants), results)

    @abstractmethod
    def guarantee(self, text: str | Prepared) -> Guarantee:
        """What a rewrite of this text promises, and what it exposes. Loads no model."""

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        """The distribution of the ``index``-th token, given the original text.

        Raises NoDistribution for kept tokens, and where nothing is drawn in a token's place.
        """
        self.check_alignment(
            "has no distribution for a word of the original: ask a result for those of its pieces, or take --piece on "
            "the command line"
        )
        raise NoDistribution(f"{self.title} has no formula for the chances of a word.")

    @abstractmethod
    def _prepare(self, document: Document, task: Task) -> Prepared: ...

    @abstractmethod
    def _rewrite(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult: ...

    def plan(self, text: str | Prepared) -> Prepared:
        """The text as :meth:`prepare` gives it, without a pass of a model where one can wait."""
        return self._prepared(text)

    def drawn_tokens(self, text: str | Prepared) -> tuple[int, ...]:
        """Tokens in whose place a word is drawn by looking at them, ascending. Runs no model where none is needed.

        Raises NoDistribution where nothing answers to the words that were read.
        """
        self.check_alignment("draws in no word's place")
        steps = self.rewrite(self.plan(text)).steps
        return tuple(sorted({s.index for s in steps if s.action == "replace" and not s.reason}))

    def spending_tokens(self, text: str | Prepared) -> tuple[int, ...]:
        """Those of the drawn tokens whose draw spends ε of its own: a word that is drawn once may stand in many."""
        return self.drawn_tokens(text)

    def check_alignment(self, consequence: str) -> None:
        """Raise NoDistribution, with what follows, where a new text is written that answers to no word of the old."""
        if "alignment" not in self.can:
            raise NoDistribution(f"{self.title} writes a new text instead of replacing words, so it {consequence}.")

    def adjacent(self, a: str | Prepared, b: str | Prepared) -> bool:
        """Whether the promise makes two texts alike as wholes: here by their tokens' number, kept words and gaps.

        Any two texts, where nothing answers to the words that were read.
        """
        if "alignment" not in self.can:
            return True
        one, other = self.plan(a), self.plan(b)
        drawn = (frozenset(self.drawn_tokens(one)), frozenset(self.drawn_tokens(other)))
        if drawn[0] != drawn[1] or len(one.document.tokens) != len(other.document.tokens):
            return False
        skeletons = [p.document.skeleton([i in d for i in range(len(p.document.tokens))])
                     for p, d in zip((one, other), drawn, strict=True)]  # fmt: skip
        if skeletons[0] == skeletons[1] and getattr(self.config, "recase", "") == "original":
            pairs = [(one.document.tokens[i].text, other.document.tokens[i].text) for i in drawn[0]]
            if any(a[:1].isupper() != b[:1].isupper() for a, b in pairs):
                return False
        if skeletons[0] != skeletons[1] or type(self).notion != "group":
            return skeletons[0] == skeletons[1]
        words = [(one.document.tokens[i].text, other.document.tokens[i].text) for i in sorted(drawn[0])]
        return all(np.isfinite(self.distances(pair)[0, 1]) for pair in words if pair[0].lower() != pair[1].lower())

    @property
    def max_epsilon(self) -> float:
        """The largest ε of one draw at which everything possible comes out: its ln p lies within the sampler's depth.

        By the vocabulary, never by the text, so that a refusal tells nothing of it.
        """
        return MAX_EPSILON

    def _epsilons(self, prepared: Prepared) -> tuple[float, ...]:
        """One ε a token. Raises ConfigError where the list has another length, or a value is above max_epsilon."""
        n, epsilon = len(prepared.document.words), self.config.epsilon
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

    def _capital(self, word: str, begin: bool) -> bool:
        if self.config.recase == "original":
            return word[:1].isupper()
        return begin and self.config.recase == "sentence"

    def _case(self, word: str, capital: bool) -> str:
        return word if self.config.recase == "none" else self.language.case(word, capital)

    def _document(self, text: str) -> Document:
        if not isinstance(text, str):
            raise InputError(f"A text is a str, not {type(text).__name__}. Decode files as UTF-8 first.")
        if why := too_long(text):
            raise InputError(why)
        if not text.isascii() and _SURROGATE.search(text):
            raise InputError("The text holds broken characters (lone surrogates). Decode the file as UTF-8 first.")
        return Document.parse(text, self.language)

    def _prepared(self, text: str | Prepared, task: Task = UNWATCHED) -> Prepared:
        if not isinstance(text, Prepared):
            return self.prepare(text, task=task)
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


def _one_stream(seed: Any, stream: Any) -> NoiseStream:
    if stream is None:
        return NoiseStream(seed)
    if seed is not None:
        raise ConfigError("Give a seed or a noise stream, not both.")
    if not isinstance(stream, NoiseStream):
        raise ConfigError(f"stream is a dptext_core.NoiseStream, not {shown(stream)}.")
    return stream


def in_runs(texts: Sequence[Any]) -> list[tuple[Any, int]]:
    """Each text, and how often it stands there one after the other: equal ones are prepared once."""
    runs = (list(same) for _, same in groupby(texts, lambda t: t if isinstance(t, str) else id(t)))
    return [(same[0], len(same)) for same in runs]


def check_mechanism(mechanism: object) -> None:
    """Raises ConfigError for anything else."""
    if not isinstance(mechanism, Mechanism):
        raise ConfigError(f"Give a mechanism, as dptext_core.get_mechanism makes one, not {shown(mechanism)}.")
