"""Guarantees that state ε = 0 for unknown words, although their replacements depend on them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dptext_core.errors import NoDistribution
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.config import epsilon_option
from dptext_core.mechanisms.likelihood import Likelihood
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.mechanisms.words.word_trace import WordPrepared
from dptext_core.privacy.distribution import ScoreTable, TokenDistribution
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.kinds import ConditionKind
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.privacy.terms import Condition
from dptext_core.result import RewriteResult, Step, Trace, Unit
from dptext_core.support.task import Task
from dptext_core.text.skeleton import Edit

from .base import fault, faults_of


@dataclass(frozen=True)
class SwapConfig:
    """Options of the small mechanism that knows eight words."""

    epsilon: float | tuple[float, ...] = epsilon_option(2.0, 0.1, 20.0)


class SwapTrace(Trace):
    """The distribution of each word."""

    can = frozenset({"distribution", "alignment"})

    def __init__(self, tables: Mapping[int, ScoreTable], epsilon: float):
        self.tables, self.epsilon = tables, epsilon

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.tables[i].at(self.epsilon)


class TinySwap(Mechanism):
    """Randomised response over eight words. Any other word becomes one of them at random and spends nothing."""

    name, title, family, notion = "tiny-swap", "A small mechanism that knows eight words", "examples", "pure"
    summary = "Replaces each of eight words; any other word becomes one of them."
    config_cls = SwapConfig
    words: ClassVar[tuple[str, ...]] = ("doctor", "nurse", "sister", "letter", "water", "music", "garden", "window")

    @property
    def likelihood(self) -> Likelihood[TinySwap]:
        return Likelihood(self)

    def _unknown(self, word: str) -> np.ndarray:
        """Return the scores of the eight words for an unknown word."""
        return np.zeros(len(self.words))

    def _tables(self, prepared: Prepared) -> dict[int, ScoreTable]:
        out = {}
        for i, token in enumerate(prepared.document.tokens):
            word = token.text.lower()
            if token.kind in ("word", "number"):
                known = np.where(np.array(self.words) == word, 0.0, -1.0)
                out[i] = ScoreTable(self.words, known if word in self.words else self._unknown(word), token.text)
        return out

    def _known(self, prepared: Prepared, i: int) -> bool:
        return prepared.document.tokens[i].text.lower() in self.words

    def guarantee(self, text: str | Prepared) -> Guarantee:
        prepared, epsilon = self.prepared(text), float(self.config.epsilon)
        n = sum(self._known(prepared, i) for i in self._tables(prepared))
        return Guarantee(
            "pure",
            epsilon,
            "released word",
            self.adjacency(Condition(ConditionKind.UNKNOWN_WORDS)),
            n,
            n * epsilon,
            spent=(epsilon,) * n,
            exposed=("punctuation marks", "the spacing and the line breaks", "that a word was unknown"),
        )

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        tables = self._tables(self.prepared(text))
        if index not in tables:
            raise NoDistribution(f"Token {index} is kept, so it has no distribution. Choose another token.")
        return tables[index].at(float(self.config.epsilon))

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        tables, epsilon = self._tables(prepared), float(self.config.epsilon)
        drawn = {i: self.words[table.draw(epsilon, stream.at(i))] for i, table in tables.items()}
        tokens = prepared.document.tokens
        out = prepared.document.skeleton([i in drawn for i in range(len(tokens))]).render(
            [Edit(drawn.get(i)) for i in range(len(tokens))]
        )
        steps = []
        for i, t in enumerate(tokens):
            span = (t.start, t.end)
            if i not in drawn:
                steps.append(Step(span, t.text, t.text, "keep", "punctuation", 0.0, out.spans[i], i))
                continue
            known = self._known(prepared, i)
            spent, why = (epsilon, "") if known else (0.0, "not in the vocabulary")
            steps.append(Step(span, t.text, drawn[i], "replace", why, spent, out.spans[i], i))
        trace = SwapTrace(tables, epsilon)
        return RewriteResult.of(self, prepared, stream, out.text, tuple(steps), trace=trace)


@fault(
    "unknown-letters",
    "Replacements that share letters with unknown words",
    "A small mechanism that replaces an unknown word by one that shares letters with it, at a stated ε of 0.",
)
class LetterSwap(TinySwap):
    """The small mechanism that replaces an unknown word by one with common letters."""

    title = "A small mechanism that reveals letters of unknown words"

    def _unknown(self, word: str) -> np.ndarray:
        return 0.4 * np.array([len(set(word) & set(w)) / len(set(w)) for w in self.words])


@fault(
    "unknown-fixed",
    "Unknown words with a frequent replacement",
    "A small mechanism with a separate distribution for each unknown word, at a stated ε of 0.",
)
class FixedSwap(TinySwap):
    """The small mechanism in which an unknown word usually becomes the same word."""

    title = "A small mechanism that often gives an unknown word the same replacement"

    def _unknown(self, word: str) -> np.ndarray:
        return 0.5 * (np.arange(len(self.words)) == zlib.crc32(word.encode()) % len(self.words))


class _ByWord(NoiseStream):
    """Noise for unknown words, seeded by the words themselves."""

    def __init__(self, words: Sequence[str]):
        super().__init__(0)
        self._words = words

    def at(self, *path: int | str) -> NoiseStream:
        return NoiseStream(zlib.crc32(self._words[int(path[0])].lower().encode()))


@fault(
    "pseudonyms",
    "Unknown words with pseudonyms",
    "SanText in which an unknown word always becomes the same word, at a stated ε of 0.",
)
class PseudonymSanText(SanText):
    """SanText in which an unknown word always becomes the same word."""

    title = "SanText whose unknown words have pseudonyms"

    def _result(
        self,
        prepared: WordPrepared,
        epsilons: Sequence[float],
        drawn: dict[int, str],
        stream: NoiseStream,
        unknown: NoiseStream,
        guarantee: Guarantee,
    ) -> RewriteResult:
        noise = _ByWord(prepared.document.words)
        return super()._result(prepared, epsilons, drawn, stream, noise, guarantee)


UNKNOWN = faults_of(__name__)
