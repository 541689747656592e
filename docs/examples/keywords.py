"""A mechanism of one's own that replaces no word: which public keywords a text has, each by randomised response.

For every keyword one draw says whether it is in the text, and tells the truth with probability e^ε / (e^ε + 1). Any two
texts are alike under it, each draw spends ε, and what is released is the keywords that were said to be there.

    python -m dptext_core --plugin docs/examples/keywords.py rewrite --mechanism keywords "My doctor treated my sister."
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dptext_core as dpt
from dptext_core.mechanisms.likelihood import Likelihood
from dptext_core.privacy.sampling import DEPTH

KEYWORDS = ("doctor", "sister", "lawyer", "hospital", "school")
#: What stands in the place of a keyword that is said to be missing.
NOT = "·"


@dataclass(frozen=True)
class KeywordsConfig:
    """ε is all that can be chosen."""

    epsilon: float | tuple[float, ...] = dpt.epsilon_option(2.0, 0.1, 8.0, "per keyword")


class KeywordsTrace(dpt.Trace):
    """What a result can tell when it is asked: here, what each piece was drawn from."""

    can = frozenset({"distribution"})

    def __init__(self, tables: list[dpt.ScoreTable], epsilon: float):
        self.tables, self.epsilon = tables, epsilon

    def distribution(self, i: int, unit: Any) -> dpt.TokenDistribution:
        return self.tables[i].at(self.epsilon)


@dpt.register
class Keywords(dpt.Mechanism):
    """Says what one draw is drawn from, puts the pieces together, and states the guarantee."""

    name = "keywords"
    title = "Keywords"
    family = "keywords"
    notion = "pure"
    summary = "Says of each of five keywords whether it is in the text, and sometimes lies."
    config_cls = KeywordsConfig
    alignment = None  # nothing answers to the words that were read

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood(self)

    @property
    def max_epsilon(self) -> float:
        return DEPTH

    def tables(self, prepared: dpt.Prepared) -> list[dpt.ScoreTable]:
        """Of each keyword the two answers, each with a chance ∝ exp(ε · score)."""
        words = {token.text.lower() for token in prepared.document.tokens}
        return [dpt.ScoreTable((key, NOT), np.array([key in words, key not in words], float)) for key in KEYWORDS]

    def rewrite_prepared(
        self, prepared: dpt.Prepared, stream: dpt.NoiseStream, task: dpt.Task | None
    ) -> dpt.RewriteResult:
        epsilon, text, pieces = self.config.epsilon, "", []
        tables = self.tables(prepared)
        for k, table in enumerate(tables):
            word = table.candidates[table.draw(epsilon, stream.at(k))]
            text += " " * bool(text)
            pieces.append(dpt.Release((len(text), len(text) + len(word)), word, epsilon, "drawn"))
            text += word
        trace = KeywordsTrace(tables, epsilon)
        return dpt.RewriteResult.of(self, prepared, stream, text, trace=trace, pieces=tuple(pieces))

    def guarantee(self, text: str | dpt.Prepared) -> dpt.Guarantee:
        epsilon, n = self.config.epsilon, len(KEYWORDS)
        asked = f"which {n} words are asked for: {', '.join(KEYWORDS)}"
        return dpt.Guarantee("pure", epsilon, "answer", "any two texts", n, n * epsilon, exposed=(asked,))
