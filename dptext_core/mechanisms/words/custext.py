"""CusText (Chen, Mo, Chen, Cui, Nie: 2022; Algorithm 1, Equations 3 to 9).

Each word gets a set of K output words and is released as one of them with probability ∝ exp(ε·u/2). The utility u is
the similarity normalised to [0, 1] within the set (cosine: unchanged; Euclidean: 1 − normalised distance). The
guarantee holds only between words that share a set.

* aggressive: each word has its own K nearest words. Sets differ, so almost every word is alone.
* balanced: in order of frequency, a word without a set gets its K nearest. Those of them without a set share it.
* conservative: as balanced, but each set's K words are removed from later sets. Groups have exactly K words (the last
  may be smaller).

Deviations from the paper and its released code:

* Algorithm 1 as printed resets its set of words that have an output set (X_tmp) for each word. A later word would then
  overwrite the sets of earlier ones. Here X_tmp is not reset, as the paper's text describes the mappings.
* No random integer is added to numbers (that is not DP): they are unknown words.
* Unknown words become random words unless ``oov`` says otherwise (the released code prints them unchanged).
* The order of frequency comes from a public corpus, not from the private data.
* If all similarities of a set are equal, u = 1.
* ``prior`` starts from a public proposal within the set (``word_prior``), which the paper does not have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import ConfigError
from ...privacy.distribution import Channel
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import ConditionKind, GroupKind, NotProtectedKind, Scope, UnitKind
from ...privacy.sampling import NoiseStream, log_full_range
from ...privacy.terms import Condition, Group, NotProtected, ProtectedUnit
from ...result import RewriteResult
from ...support.checks import without_path
from ...support.task import UNWATCHED, Task
from ..capabilities import PartwiseRewriting
from ..config import epsilon_option, keep_stopwords_option, option
from ..preparing import Prepared
from .rank_table import RankTable, log_tails
from .word_groups import _NUMBERS, TRIES, Groups, _all_tables, _equal_sized, _groups, _inverse, _order_outputs
from .word_level import BLOCK
from .word_options import SpaceConfig
from .word_prior import PriorMechanism, prior_option
from .word_trace import Draws, WordPrepared

MAPPINGS = ("aggressive", "balanced", "conservative")


@dataclass(frozen=True)
class CusTextConfig(SpaceConfig):
    """Options of CusText."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 0.1, 30.0)
    #: The paper's three strategies "replace all tokens" (Section 4.5). Saving stop words is a variant (Table 5, +).
    keep_stopwords: bool = keep_stopwords_option({"paper": False, "benchmark": False})
    k: int = option(
        20,
        label="Output words K",
        min=1,
        max=2000,
        help="The number of possible outputs of each word.",
        phrase="K = {}",
        trade_off_values=TRIES,
        presets={"benchmark": 50},
    )
    mapping: str = option(
        "balanced",
        label="Mapping",
        changes_distribution=True,
        choices=("balanced", "conservative", "aggressive"),
        help="Which words share a set of possible outputs. In the aggressive mapping, almost no words share one, so "
             "almost no word is protected.",
        phrase="{} mapping",
    )
    strategy: str = option(
        "token",
        label="Strategy",
        choices=("token", "record", "dataset"),
        presets={"benchmark": "record"},
        help="“Token” samples every occurrence of a word, “record” each distinct word of a text once, and “dataset” "
             "each distinct word of all texts once. The last two reveal repeated words.",
        phrase={
            "token": "one draw per occurrence",
            "record": "one draw per distinct word",
            "dataset": "one draw per word for all texts",
        },
        row_meanings={
            "token": "Each occurrence is sampled independently, so a row spends ε for every word.",
            "record": "Each distinct word of a row is sampled once: repeated words spend no more ε, but everyone "
                      "can see the repetitions.",
            "dataset": "Each distinct word of all rows is sampled once. The total counts distinct words for any "
                       "number of rows, but everyone can see which rows share a word.",
        },
    )
    metric: str = option(
        "cosine",
        label="Similarity",
        changes_distribution=True,
        choices=("cosine", "euclidean"),
        advanced=True,
        help="The similarity measure of two words.",
    )
    prior: str = prior_option()


class CusText(PriorMechanism):
    """CusText: the exponential mechanism over a customised set of K words."""

    name = "custext"
    references = ("chen2023custext",)
    title = "CusText"
    notion = "group"
    summary = "Each word becomes one of the K words of its group; it is protected only within this group."
    steps = (
        "Your word has {n} candidates, shared by its group",
        "More similar words score higher",
        "Noise of size 1/ε = {noise} is added to each score",
        "The word with the best score is released",
    )
    config_cls = CusTextConfig

    @property
    def groups(self) -> Groups:
        """Return the groups of words that share a set: computed on first use and kept for the process."""
        c = self.config
        return _groups(self.vocabulary, c.k, c.mapping, c.metric)

    def channel(self, row: int) -> RankTable:
        return self._channels(np.array([row]))[0]

    def channels(self, rows: np.ndarray) -> list[Channel]:
        if type(self).channel is not CusText.channel:
            return super().channels(rows)
        return [*self._channels(rows)]

    def _channels(self, rows: np.ndarray) -> list[RankTable]:
        words, groups = self.vocabulary.words, self.groups
        out: dict[int, RankTable] = {}
        for at in _equal_sized(groups, rows, self.vocabulary.width):
            for i, outputs, scores in zip(at.tolist(), *self.tables(rows[at]), strict=True):
                names = tuple([words[y] for y in outputs.tolist()])
                out[i] = RankTable(names, scores, words[rows[i]], np.flatnonzero(outputs == rows[i]))
        in_order = [out[i] for i in range(len(rows))]
        return [self._from(t, self._frequencies) for t in in_order] if self.config.prior == "frequency" else in_order

    def _from(self, channel: Channel, log_base: np.ndarray) -> RankTable:
        assert isinstance(channel, RankTable)
        return self._based(channel, log_base[self.vocabulary.rows(channel.candidates)])

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """Return 1 between different words that share their set, NaN between others."""
        rows = self.vocabulary.rows(words)
        group = np.where(rows >= 0, self.groups.group[rows], -1)
        same = (group[:, None] == group[None]) & (group >= 0)[:, None]
        return np.where(same, (rows[:, None] != rows[None]).astype(np.float64), np.nan)

    # --- one draw for each distinct word

    @classmethod
    def resolve(cls, config: Any) -> Any:
        if config.strategy == "dataset" and isinstance(config.epsilon, tuple):
            raise ConfigError(
                "The strategy “dataset” samples a word once for all texts, so it takes one ε, not a list. Give one ε."
            )
        if config.strategy != "token" and config.prior == "skeleton":
            raise ConfigError(
                f"The strategy “{config.strategy}” samples a word once for many positions, but proposals from the kept "
                "words differ by position. Use the prior “frequency”, or the strategy “token”."
            )
        return super().resolve(config)

    def epsilons(self, prepared: Prepared) -> tuple[float, ...]:
        """Return one ε per token; if a word is sampled once, that of its first place."""
        each = super().epsilons(prepared)
        if self.config.strategy == "token" or not isinstance(self.config.epsilon, tuple):
            return each
        assert isinstance(prepared, WordPrepared)
        first: dict[int, float] = {}
        return tuple(first.setdefault(r, e) if r >= 0 else e for r, e in zip(prepared.rows.tolist(), each, strict=True))

    def _path(self, prepared: WordPrepared, i: int) -> int | str:
        return i if self.config.strategy == "token" else f"word {int(prepared.rows[i])}"

    def _stream(self, prepared: WordPrepared, i: int, stream: NoiseStream) -> NoiseStream:
        if self.config.strategy == "token":
            return stream.at("words").skip(i)
        return super()._stream(prepared, i, stream)

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        if self.config.strategy == "token":
            words, token = draws.words("words", 2)
            log_uniforms = log_full_range(words[:, 0], lambda j: (token(j)[0], 2 * token(j)[1]))
        else:
            log_uniforms = np.array([draws.stream(j).log_uniforms(1)[0] for j in range(len(draws.rows))])
        chosen = np.empty(len(draws.rows), np.int64)
        # One table of tails per word and ε.
        epsilons, level = np.unique(draws.epsilons, return_inverse=True)
        keys, each = np.unique(draws.rows * len(epsilons) + level, return_inverse=True)
        order = np.argsort(each, kind="stable")
        bounds = np.searchsorted(each[order], np.arange(len(keys) + 1))
        rows, levels = np.divmod(keys, len(epsilons))
        done = 0
        for part in _equal_sized(self.groups, rows, self.vocabulary.width):
            task.check()
            outputs, scores = self.tables(rows[part])
            weights = epsilons[levels[part], None] * scores
            if self.config.prior == "frequency":
                weights += self._frequencies[outputs]
            tails = log_tails(weights)
            counts = bounds[part + 1] - bounds[part]
            these = np.concatenate([order[a:b] for a, b in zip(bounds[part], bounds[part + 1], strict=True)])
            owner = np.repeat(np.arange(len(part)), counts)
            ranks = (log_uniforms[these][:, None] <= tails[owner]).sum(axis=1) - 1
            chosen[these] = outputs[owner, ranks]
            done += len(part)
            task.report(done, len(rows))
        vocabulary = self.vocabulary.words
        return [vocabulary[i] for i in chosen.tolist()]

    def tables(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return outputs, best first, and their scores (u − 1)/2, for words with equally large sets: both (m, K)."""
        c = self.config
        size = len(self.groups.outputs[self.groups.group[rows[0]]])
        if len(rows) > 300 and len(self.vocabulary) * size <= _NUMBERS // 2:
            which, outputs, scores = _all_tables(self.vocabulary, c.k, c.mapping, c.metric, size)
            at = np.searchsorted(which, rows)
            return outputs[at], scores[at]
        return _order_outputs(self.vocabulary, self.groups, rows, c.metric)

    @property
    def shares_draws(self) -> bool:
        return self.config.strategy == "dataset"

    def _text_stream(self, stream: NoiseStream, i: int) -> NoiseStream:
        return stream.numbered(None).at(0) if self.shares_draws else stream.at(i)

    def _unknown_stream(self, stream: NoiseStream, i: int) -> NoiseStream:
        return stream.at("unknown", i) if self.config.strategy == "dataset" else super()._unknown_stream(stream, i)

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        if self.config.strategy == "token":
            return each
        return list(dict(zip(prepared.rows[prepared.rows >= 0].tolist(), each, strict=True)).values())

    def _step_epsilon(self, prepared: WordPrepared, i: int, epsilons: Sequence[float]) -> float:
        """Return the ε of a token's draw; a repeated word is sampled once, and only its first place spends."""
        if self.config.strategy == "token" or i == int(np.argmax(prepared.rows == prepared.rows[i])):
            return epsilons[i]
        return 0.0

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        if not self.shares_draws:
            return super().rewrite_list(texts, stream, task)
        return list(self.rewrite_one_by_one(texts, stream, task))

    def rewrite_one_by_one(self, texts: list[str], stream: NoiseStream, task: Task) -> Iterator[RewriteResult]:
        """Rewrite texts that share draws. A first pass counts their words, so that each result states the total over
        all texts."""
        if not self.shares_draws:
            yield from super().rewrite_one_by_one(texts, stream, task)
            return
        distinct = self._distinct(texts, task)
        for result in self._blocks(texts, stream, task):
            yield replace(result, guarantee=self._over(result.guarantee, len(distinct)))

    @property
    def in_parts(self) -> PartwiseRewriting[CusText] | None:
        return _PartwiseRewriting(self) if self.shares_draws else None

    def _distinct(self, texts: Sequence[str], task: Task) -> frozenset[int]:
        distinct: set[int] = set()
        for i, text in enumerate(texts):
            if i % BLOCK == 0:
                task.check()
            rows = self._planned(text).rows
            distinct.update(rows[rows >= 0].tolist())
        return frozenset(distinct)

    def _over(self, guarantee: Guarantee, draws: int) -> Guarantee:
        return replace(guarantee, draws=draws, total=draws * self.config.epsilon)

    # --- the guarantee

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        c = self.config
        space = without_path(self.vocabulary.name)
        shared = [Condition(ConditionKind.SAME_GROUP)]
        if c.strategy != "token":
            shared.append(Condition(ConditionKind.REPETITIONS, where=self._scope))
        return {
            "notion": "group",
            "among": self._among(),
            "group": Group(GroupKind.SHARED_SET, mapping=c.mapping, size=c.k, distance=c.metric, space=space),
            "adjacency": self._adjacency().where(*shared),
            "unit": ProtectedUnit(UnitKind.RELEASED_WORD if c.strategy == "token" else UnitKind.DISTINCT_WORD),
        }

    @property
    def _scope(self) -> Scope:
        """Return the scope in which equal words share one draw, for strategies that share draws."""
        return Scope.TEXT if self.config.strategy == "record" else Scope.ALL_TEXTS

    def leaks(self) -> tuple[str, ...]:
        c = self.config
        leaks = [
            NotProtected(NotProtectedKind.WORD_GROUP, outputs=c.k, overlap=c.mapping != "conservative"),
            NotProtected(NotProtectedKind.ALONE_IN_GROUP, share=self.groups.alone, digits=1),
        ]
        if c.strategy != "token":
            leaks.append(NotProtected(NotProtectedKind.REPETITIONS, where=self._scope))
        return tuple(leaks)

    def _views(self, released: str, row: int, epsilon: float, stream: NoiseStream) -> tuple:
        from ...explain import GroupView

        space, groups = self.vocabulary, self.groups
        table = self.channel(row)
        outputs = space.rows(table.candidates)
        x, y = space.vectors_at(np.array(row)).astype(np.float64), space.vectors_at(outputs).astype(np.float64)
        similarity = y @ x / (np.linalg.norm(y, axis=1) * np.linalg.norm(x))
        return (
            GroupView(
                space.words[row],
                released,
                tuple(table.candidates),
                similarity,
                table.at(epsilon).probs,
                tuple(space.words[i] for i in groups.members(row)),
                groups.alone,
                len(groups.outputs),
            ),
        )

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        """Return log-probabilities; only words of groups whose set contains ``released`` are possible. Computed by
        group."""
        if not self._draws_as(CusText):
            return super().log_likelihood(released, epsilon, task)
        from scipy.spatial.distance import cdist

        space, groups = self.vocabulary, self.groups
        out = np.full(len(space), -np.inf)
        y = space.index(released)
        if y is None:
            return out, 0.0
        owners, starts, members = _inverse(groups)
        for g in owners[y]:
            task.check()
            rows, outputs = members[starts[g] : starts[g + 1]], groups.outputs[g]
            a, b = space.vectors_at(rows).astype(np.float64), space.vectors_at(outputs).astype(np.float64)
            if self.config.metric == "cosine":
                value = a @ b.T / (np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1))
            else:
                value = -cdist(a, b)
            low, high = value.min(axis=1, keepdims=True), value.max(axis=1, keepdims=True)
            spread = np.where(high > low, high - low, 1.0)
            x = epsilon / 2 * np.where(high > low, (value - high) / spread, 0.0)
            out[rows] = x[:, np.flatnonzero(outputs == y)[0]] - np.log(np.exp(x).sum(axis=1))
        return out, 0.0

    def words_alike(self, words: Sequence[str], n: int) -> list[str] | None:
        """Return about n words in whole groups of at least two, spread over all groups."""
        groups = self.groups
        large = np.flatnonzero(groups.sizes >= 2)
        if not len(large):
            return list(words[:n])
        chosen: list[str] = []
        # A fixed order that mixes frequent and rare groups.
        for g in large[np.argsort((np.arange(len(large)) * 0.6180339887) % 1.0, kind="stable")]:
            chosen += [self.vocabulary.words[r] for r in np.flatnonzero(groups.group == g)[:20]]
            if len(chosen) >= n:
                break
        return chosen[: max(n, 2)]

    def likelihood_ready(self, epsilon: float) -> bool:
        return self._draws_as(CusText) or super().likelihood_ready(epsilon)

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        from ...words.space_loading import SPACES

        mapped = [{"mapping": mapping, "space": name} for name in SPACES for mapping in ("balanced", "conservative")]
        single = ({"mapping": "aggressive"}, {"strategy": "record"}, {"strategy": "dataset"})
        return (*mapped, *single, {"prior": "frequency"}, {"prior": "skeleton"}, {"surrogates": True})


class _PartwiseRewriting(PartwiseRewriting[CusText]):
    """Rewriting in parts, by the distinct words of all parts."""

    def draws(self, texts: Sequence[str], task: Task | None = None) -> frozenset[Hashable]:
        return self.m._distinct(texts, task or UNWATCHED)

    def with_draws(self, guarantee: Guarantee, draws: int) -> Guarantee:
        return self.m._over(guarantee, draws)
