"""A model that memorised its training sentences."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from dptext_core.errors import InputError
from dptext_core.mechanisms.registry import mechanism_class
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import percent
from dptext_core.result import RewriteResult
from dptext_lab.measurements import case_study_demo
from dptext_lab.results import case_study

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, Row, bin_of


@lru_cache(maxsize=4)
def rewrites(pretrained: str) -> RewriteResult:
    """Return the case study's example rewritten without noise by the model that was pre-trained on this set."""
    return case_study_demo.rewriter(pretrained, None).rewrite(case_study_demo.EXAMPLE)


def shares(epsilon: float | None) -> dict[tuple[str, str], float]:
    """Return the measured shares: (pre-trained on, rewritten) → the share of rewrites that repeat a pre-training
    sentence word for word.
    """
    study = case_study.bundled()
    if not study:
        raise InputError("The measurements of the case study are missing. Restore the folder 'assets' from the "
                         "repository.")
    rows = [r for r in study["rows"] if r["pretrained"] and r["epsilon"] == epsilon]
    return {(r["pretrained"], r["data"]): float(r["verbatim"]) for r in rows}


class Memorisation(Lesson):
    name = "memory"
    title = "A model that memorised"
    goal = "See what the ε of a rewrite never covers."
    sentences = (
        "Some mechanisms write a new text with a neural network, which learned to write from other people's sentences.",
        "Noise protects the text that is rewritten. It does not protect the sentences that the network learned from.",
    )
    task = "A sentence about a flight is rewritten without noise. Choose what the network learned from."
    take_home = "ε protects the text that you rewrite, not the texts that a model was trained on."
    control = Control(
        "The network learned from",
        tuple(case_study.SETS),
        "snips",
        lambda n: {"snips": "Snips: music, books, restaurants, weather", "atis": "ATIS: questions about flights"}.get(
            n, n
        ),
    )
    door: ClassVar[Setting] = Setting(case_study.MECHANISM)

    def setting(self, value: Any) -> Setting:
        default = mechanism_class(case_study.MECHANISM).epsilon_range({"checkpoint": value})[2]
        return Setting(case_study.MECHANISM, {"checkpoint": value}, default)

    def show(self, value: Any) -> tuple[Part, ...]:
        result = rewrites(value)
        return (Facts((), (("original", result.original), ("release", result.text))),)

    def ask(self, value: Any) -> Question:
        name = case_study.SETS[value]
        return Question(
            f"The network that learned from {name} rewrites sentences of {name}, without noise. How many of its "
            "rewrites repeat a training sentence word for word?",
            ("Almost none (below 1%)", "A few (1% to 10%)", "More than 10%"),
        )

    def reveal(self, value: Any) -> Reveal:
        noiseless, noisy = shares(None), shares(1000.0)
        name = case_study.SETS[value]
        share = noiseless[value, value]
        rows = tuple(
            Row(f"{case_study.SETS[pre]} rewrites {case_study.SETS[data]}", p, percent(p), "original" * (pre == data))
            for (pre, data), p in noiseless.items()
        )
        return Reveal(
            bin_of(share, (0.01, 0.1)),
            (
                f"Without noise, {percent(share)} of the rewrites of {name} repeat a training sentence word for word. "
                f"At ε = 1000, {percent(noisy[value, value])} do. These are bundled measurements.",
            ),
            (
                "A network often repeats training sentences for similar inputs, and almost never for others. But it "
                "answers in the words and style of its training set, which a reader can notice.",
                "So ask two questions about such a mechanism. What does it guarantee to the writer? What does it "
                "guarantee to the people whose texts it was trained on?",
            ),
            (Bars("Rewrites that repeat a training sentence, without noise", rows, top=1.0),),
            (
                "A network repeats what it learned, above all for similar inputs.",
                "A network repeats what it learned more often than you may expect: see the bars.",
                "Most rewrites are new sentences here: see the bars.",
            ),
        )
