"""CusText (Chen, Mo, Wang, Chen, Nie, Wang, Cui: 2022; Algorithm 1, Equations 3 to 9).

Each word gets a set of K output words and is released as one of them with probability ∝ exp(ε·u/2), where u is the
similarity normalised to [0, 1] within the set (cosine as it is; Euclidean: 1 − normalised distance). The promise holds
between words that share a set, and only there.

* aggressive: every word its own K nearest: sets differ, so that nearly every word is alone;
* balanced: in order of frequency, a word without a set gets its K nearest, and those of them without a set share it;
* conservative: as balanced, and the K words are taken out: groups of exactly K (the last may be smaller).

Deviations from the released code: numbers get no random integer added (that is not DP): they are unknown words; the
order of frequency is that of a public corpus, not of the private data; where all similarities of a set are equal u = 1.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..distribution import Law, ScoreTable
from ..errors import ConfigError
from ..sampling import Dice
from ..words import WordSpace
from .base import Prepared, Progress, RewriteResult, check_cancel
from .config import epsilon_option, option
from .word_level import SpaceConfig, WordPrepared
from .word_space import SpaceMechanism

MAPPINGS = ("aggressive", "balanced", "conservative")
_BLOCK = 256


@dataclass(frozen=True)
class CusTextConfig(SpaceConfig):
    """Options of CusText."""

    epsilon: float | tuple[float, ...] = epsilon_option(3.0, 0.1, 30.0)
    k: int = option(
        20, label="Output words K", kind="integer", min=1, max=2000, help="How many words a word may become."
    )
    mapping: str = option(
        "balanced",
        label="Mapping",
        kind="choice",
        choices=("balanced", "conservative", "aggressive"),
        help="Who shares a set of output words. Aggressive: nearly nobody, so nearly no one is protected.",
    )
    strategy: str = option(
        "token",
        label="Strategy",
        kind="choice",
        choices=("token", "record", "dataset"),
        help="Token draws every occurrence; record once for each distinct word of a text; dataset once for each "
        "distinct word of all texts. Then repetitions show.",
    )
    metric: str = option(
        "cosine",
        label="Similarity",
        kind="choice",
        choices=("cosine", "euclidean"),
        advanced=True,
        help="How near two words are.",
    )


@dataclass(frozen=True, eq=False)
class Groups:
    """Who shares which output set.

    group: int64 (V,), the set of each word. outputs: the rows of each set, the nearest to its first word first.
    """

    group: np.ndarray
    outputs: tuple[np.ndarray, ...] = field(repr=False)

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many words share each set, int64."""
        return np.bincount(self.group, minlength=len(self.outputs))

    @cached_property
    def alone(self) -> float:
        """The share of words that share their set with no other: no ε protects them."""
        return float((self.sizes[self.group] == 1).mean())

    def members(self, row: int) -> np.ndarray:
        """The words that share the set of a word, itself included."""
        return np.flatnonzero(self.group == self.group[row])


def build_groups(
    space: WordSpace,
    k: int,
    mapping: str,
    metric: str = "cosine",
    rows: np.ndarray | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> Groups:
    """Algorithm 1 over the words ``rows`` of the space (all without it), in their order, which is that of frequency.

    Result in places of ``rows``. Nearest words are exact; ties go to the more frequent word. No |V|×|V| matrix is held.
    """
    vectors = space.vectors if rows is None else space.vectors[rows]
    n = len(vectors)
    k = min(k, n)
    if metric == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    halves = np.square(vectors, dtype=np.float64).sum(axis=1).astype(np.float32) / 2
    group = np.full(n, -1, np.int64)
    outputs: list[np.ndarray] = []
    left = np.arange(n)  # rows a conservative set may still take, in order
    sets: dict[bytes, int] = {}
    start = 0
    while start < n:
        check_cancel(cancel)
        leaders = start + np.flatnonzero(group[start:] < 0)[:_BLOCK]
        if not len(leaders):
            break
        if mapping == "conservative":
            left = left[group[left] < 0]
        # x·y − ‖y‖²/2 is highest for the nearest y; for vectors of one length, for the most similar.
        lines = vectors[leaders] @ vectors[left].T - halves[left]
        if mapping != "conservative":
            tops = _highest(lines, k)
        for j, leader in enumerate(leaders):
            if mapping == "aggressive":
                same = sets.setdefault(np.sort(tops[j]).tobytes(), len(outputs))
                if same == len(outputs):
                    outputs.append(tops[j])
                group[leader] = same
                continue
            if group[leader] >= 0:
                continue
            if mapping == "balanced":
                chosen = tops[j]
            else:
                line = np.where(group[left] < 0, lines[j], -np.inf)
                free = int(np.count_nonzero(group[left] < 0))
                chosen = left[_highest(line[None], min(k, free))[0]]
            chosen = np.append([leader], chosen[chosen != leader])[: len(chosen)]
            group[chosen[group[chosen] < 0]] = len(outputs)
            outputs.append(chosen)
        start = int(leaders[-1]) + 1
        if progress:
            progress(int((group >= 0).sum()), n)
    return Groups(group, tuple(outputs))


def _highest(lines: np.ndarray, k: int) -> np.ndarray:
    """Columns of the k highest values of each row (m, n), highest first, ties by column: int32 (m, k)."""
    edge = -np.partition(-lines, k - 1, axis=1)[:, k - 1] if k < lines.shape[1] else lines.min(axis=1)
    out = np.empty((len(lines), k), np.int32)
    r, c = np.nonzero(lines >= edge[:, None])
    bounds = np.searchsorted(r, np.arange(len(lines) + 1))
    for i in range(len(lines)):
        near = c[bounds[i] : bounds[i + 1]]
        out[i] = near[np.argsort(-lines[i, near], kind="stable")[:k]]
    return out


@lru_cache(maxsize=6)
def _groups(space: WordSpace, k: int, mapping: str, metric: str) -> Groups:
    return build_groups(space, k, mapping, metric)


class CusText(SpaceMechanism):
    """CusText: the exponential mechanism over a customised set of K words."""

    name = "custext"
    title = "CusText"
    notion = "group"
    summary = "Each word becomes one of K words that it shares with its group: it hides there and nowhere else."
    config_cls = CusTextConfig

    @property
    def groups(self) -> Groups:
        """Who shares which set: worked out on first use, kept for the process."""
        c = self.config
        return _groups(self.vocabulary, c.k, c.mapping, c.metric)

    def law(self, row: int) -> Law:
        space, groups = self.vocabulary, self.groups
        outputs = groups.outputs[groups.group[row]]
        x, y = space.vectors[row].astype(np.float64), space.vectors[outputs].astype(np.float64)
        if self.config.metric == "cosine":
            value = y @ x / (np.linalg.norm(y, axis=1) * np.linalg.norm(x))
        else:
            value = -np.linalg.norm(y - x, axis=1)
        low, high = value.min(), value.max()
        u = (value - low) / (high - low) if high > low else np.ones(len(value))
        words = tuple(space.words[i] for i in outputs)
        return ScoreTable(words, (u - 1.0) / 2.0, space.words[row], np.flatnonzero(outputs == row))

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """1 between different words that share their set, NaN between others."""
        rows = self.vocabulary.rows(words)
        group = np.where(rows >= 0, self.groups.group[rows], -1)
        same = (group[:, None] == group[None]) & (group >= 0)[:, None]
        return np.where(same, (rows[:, None] != rows[None]).astype(np.float64), np.nan)

    # --- one draw for each distinct word

    @classmethod
    def resolve(cls, config: Any) -> Any:
        if config.strategy == "dataset" and isinstance(config.epsilon, tuple):
            raise ConfigError("The strategy dataset draws a word once for all texts, so it takes one ε, not a list.")
        return config

    def _epsilons(self, prepared: Prepared) -> tuple[float, ...]:
        """One ε a token; where a word is drawn once, that of its first place."""
        each = super()._epsilons(prepared)
        if self.config.strategy == "token" or not isinstance(self.config.epsilon, tuple):
            return each
        assert isinstance(prepared, WordPrepared)
        first: dict[int, float] = {}
        return tuple(first.setdefault(r, e) if r >= 0 else e for r, e in zip(prepared.rows.tolist(), each, strict=True))

    def _path(self, prepared: WordPrepared, i: int) -> int | str:
        return i if self.config.strategy == "token" else f"word {int(prepared.rows[i])}"

    def _text_dice(self, dice: Dice, i: int) -> Dice:
        return dice.at(0 if self.config.strategy == "dataset" else i)

    def _spent(self, prepared: WordPrepared, each: list[float]) -> list[float]:
        if self.config.strategy == "token":
            return each
        return list(dict(zip(prepared.rows[prepared.rows >= 0].tolist(), each, strict=True)).values())

    def _step_epsilon(self, prepared: WordPrepared, i: int, epsilons: Sequence[float]) -> float:
        """A repeated word is drawn once: its first place spends."""
        first = int(np.flatnonzero(prepared.rows == prepared.rows[i])[0])
        return epsilons[i] if self.config.strategy == "token" or i == first else 0.0

    def _rewrite_list(self, texts: list[str], dice: Dice, progress, cancel) -> list[RewriteResult]:
        results = super()._rewrite_list(texts, dice, progress, cancel)
        if self.config.strategy != "dataset" or isinstance(self.config.epsilon, tuple):
            return results
        distinct = {s.original.lower() for r in results for s in r.steps if s.action == "replace" and not s.reason}
        total = len(distinct) * self.config.epsilon
        return [replace(r, guarantee=replace(r.guarantee, draws=len(distinct), total=total)) for r in results]

    # --- the promise

    def _promise(self, epsilon: float) -> dict[str, Any]:
        c = self.config
        crowd = {
            "balanced": f"those with the same set of K = {c.k} output words",
            "conservative": f"its group of K = {c.k} words",
            "aggressive": f"those with exactly the same K = {c.k} nearest words, which nearly no word has",
        }[c.mapping]
        return {
            "notion": "group",
            "group": f"the words that share its set ({crowd})",
            "adjacency": "any two texts with the same tokens except that words may be exchanged within their groups",
            "unit": "released word" if c.strategy == "token" else "distinct word",
        }

    def _leaks(self) -> tuple[str, ...]:
        leaks = [f"the group of each word: its {self.config.k} possible outputs"]
        if self.config.mapping != "conservative":
            leaks[0] += ", which overlap with those of other groups"
        leaks.append(f"a word that is alone in its group ({self.groups.alone:.1%} of the vocabulary): no ε protects it")
        if self.config.strategy != "token":
            where = "in the text" if self.config.strategy == "record" else "in all texts that are rewritten together"
            leaks.append(f"which words are repeated {where}")
        return tuple(leaks)

    def _views(self, result: RewriteResult, k: int, row: int, dice: Dice) -> tuple:
        from ..views import GroupView

        space, groups = self.vocabulary, self.groups
        table = self.law(row)
        assert isinstance(table, ScoreTable)
        order = np.argsort(-table.scores, kind="stable")
        outputs = groups.outputs[groups.group[row]]
        x, y = space.vectors[row].astype(np.float64), space.vectors[outputs].astype(np.float64)
        similarity = y @ x / (np.linalg.norm(y, axis=1) * np.linalg.norm(x))
        epsilon = self._epsilons_of(result)[result.steps[k].index]
        return (
            GroupView(
                space.words[row], result.steps[k].replacement, tuple(table.candidates[i] for i in order),
                similarity[order], table.at(epsilon).probs[order],
                tuple(space.words[i] for i in groups.members(row)), groups.alone, len(groups.outputs),
            ),
        )  # fmt: skip

    def _epsilons_of(self, result: RewriteResult) -> tuple[float, ...]:
        epsilon = self.config.epsilon
        return epsilon if isinstance(epsilon, tuple) else (epsilon,) * len(result.steps)
