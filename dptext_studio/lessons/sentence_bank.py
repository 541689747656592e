"""Replacing a whole sentence, compared with sampling its words one by one at the same total ε."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dptext_core.measure.metrics import score
from dptext_core.mechanisms.base import Mechanism, Prepared
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import with_minus

from . import example_text
from .base import Bars, Control, Facts, Part, Question, Reveal, Row, epsilon_text, likely
from .example_text import TextLesson

TOTALS = (10.0, 20.0, 50.0, 100.0, 200.0, 400.0)
#: Rewrites of each kind, and how many of them are shown.
DRAWS, SHOWN = 10, 3
#: Cosines that differ by less count as equal.
SAME = 0.02
REPLIES = (
    "With this much ε for each word, many words come back unchanged.",
    "Shared among all words, this ε is too little for each of them.",
    "The averages differ: see the bars.",
)


class SentenceBank(TextLesson):
    name = "whole-sentence"
    title = "Replacing a whole sentence"
    goal = "Spend ε once for a whole sentence, and see which facts survive."
    sentences = (
        "Sampling word by word spends ε for every word. A sentence can also be replaced as a whole, by one from a "
        "public bank.",
        "Every sentence of the bank can come out, and sentences with a similar meaning are more likely. ε is spent "
        "once, however long the sentence is.",
    )
    task = (
        "Change how much the sentence may spend in total. The sampled sentence is highlighted if it is among the most "
        "likely."
    )
    take_home = "Replacing a whole sentence spends ε once: it keeps the topic and loses the facts."
    control = Control("ε of the whole sentence", TOTALS, 50.0, epsilon_text)
    door: ClassVar[Setting] = Setting("dp-sentence", {}, 50.0)

    def setting(self, value: Any) -> Setting:
        return Setting(self.door.mechanism, {}, value)

    def _mechanism(self) -> Mechanism:
        return recommended(self.door.mechanism)

    def _sentence(self) -> Prepared:
        """Return the example's sentence for the sentence mechanism."""
        return self.example.once("sentence", lambda: self._mechanism().prepare(self.example.sentence))

    def _words(self) -> tuple[Prepared, int]:
        """Return the same sentence for the word mechanism, and the number of sampled words."""
        m = self.example.mechanism
        prepared = self.example.once("sentence by word", lambda: m.prepare(self.example.sentence))
        return prepared, m.guarantee(prepared).draws

    def both(self, total: float) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
        """Return rewrites that spend ``total`` each, as a whole and word by word, and the cosine of each to the
        sentence.
        """
        return self.example.once(("both", total), lambda: self._rewrite_both(total))

    def _rewrite_both(self, total: float) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
        (words, n), sentence, seed = self._words(), self._sentence(), example_text.SEED
        whole = self._mechanism().replace(epsilon=total).rewrites(sentence, DRAWS, seed=seed)
        by_word = self.example.mechanism.replace(epsilon=total / n).rewrites(words, DRAWS, seed=seed)
        texts = [r.text for r in (*whole, *by_word)]
        cosines = np.asarray(score("cosine", [sentence.text] * (2 * DRAWS), texts), np.float64)
        return texts[:DRAWS], texts[DRAWS:], cosines[:DRAWS], cosines[DRAWS:]

    def show(self, value: Any) -> tuple[Part, ...]:
        mechanism, prepared = self._mechanism(), self._sentence()
        result = mechanism.replace(epsilon=value).rewrite(prepared, seed=example_text.SEED)
        title = f"What may replace “{prepared.text}” at {epsilon_text(value)}"
        return (Bars(title, likely(result.distribution(0), released=result.text), top=1.0),)

    def ask(self, value: Any) -> Question:
        return Question(
            f"The other way is to sample its {self._words()[1]} content words one by one. Together they spend the "
            f"same {epsilon_text(value)}. Of {DRAWS} rewrites of each kind, which are closer to the sentence in "
            "meaning?",
            ("Sampled whole.", "Sampled word by word.", "Both are equally close."),
        )

    def reveal(self, value: Any) -> Reveal:
        ours, theirs, whole, words = self.both(value)
        n = self._words()[1]
        apart = float(whole.mean() - words.mean())
        right = 2 if abs(apart) <= SAME else 0 if apart > 0 else 1
        means = (("sampled whole", whole), ("word by word", words))
        rows = tuple(Row(name, max(0.0, float(x.mean())), with_minus(f"{x.mean():.2f}")) for name, x in means)
        return Reveal(
            right,
            (
                f"Both ways spend {epsilon_text(value)} in total. If the sentence is sampled whole, the mean cosine to "
                f"it is {whole.mean():.2f}. If {n} words are sampled with ε = {value / n:.3g} each, it is "
                f"{words.mean():.2f}.",
            ),
            (
                "A sentence sampled whole spends all its ε on its topic. It preserves no facts: names and dates "
                "come from another sentence. It cannot come closer than the nearest sentence of the bank.",
                "Words have to share ε. At small ε, each word is nearly random. At large ε, the sentence is unchanged.",
            ),
            (
                Bars("Mean cosine to the sentence", rows, top=1.0),
                Facts(
                    ("how", "release"),
                    tuple(("sampled whole", text) for text in ours[:SHOWN])
                    + tuple(("word by word", text) for text in theirs[:SHOWN]),
                ),
            ),
            REPLIES,
        )
