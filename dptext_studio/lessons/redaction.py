"""Crossing out names is not enough: redaction copies everything else."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from dptext_core.attacks.belief import belief
from dptext_core.mechanisms.detected.redact import PLACEHOLDERS, Redact, redacted_spans
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import percent

from . import example_text
from .base import Bars, Control, Lesson, Marked, Part, Question, Reveal, Row, bin_of, epsilon_text

#: What the reader considers possible besides the word of the note.
OTHERS = ("lung", "kidney", "liver")
EPSILONS = (10.0, 20.0, 50.0)
DRAWS = 32
NOTHING, NAMES, EVERYTHING = "nothing", "names and places", "names, places, dates and numbers"
#: The types that the option for names and places replaces.
_NAMES = (PLACEHOLDERS["name"], PLACEHOLDERS["place"])


def crossed_out(what: str) -> tuple[tuple[str, str], ...]:
    """Return the note in parts, with a marked placeholder for each redacted part."""
    text, end = example_text.bundled().text, 0
    out: list[tuple[str, str]] = []
    for (start, stop), _, placeholder in redacted_spans(Redact.create().rewrite(text)) if what != NOTHING else ():
        if what == EVERYTHING or placeholder in _NAMES:
            out += [(text[end:start], ""), (placeholder, "kept")]
            end = stop
    return (*out, (text[end:], ""))


def certainty_after_redaction(what: str) -> float:
    """Return how certain the reader is of the word: redaction either removes it or copies it."""
    there = any(example_text.WORD in piece for piece, mark in crossed_out(what) if not mark)
    return 1.0 if there else 1 / (1 + len(OTHERS))


@lru_cache(maxsize=1)
def success_rates() -> dict[float, float]:
    """Return how often the optimal reader is right after a rewrite at each ε, estimated from DRAWS rewrites."""
    posterior = belief(
        example_text.bundled().mechanism,
        example_text.bundled().text,
        example_text.WORD,
        OTHERS,
        epsilons=EPSILONS,
        seed=example_text.SEED,
        draws=DRAWS,
    )
    assert isinstance(posterior.expected_success, tuple)
    return {epsilon: e.value for epsilon, e in zip(EPSILONS, posterior.expected_success, strict=True)}


class Redaction(Lesson):
    name = "redaction"
    title = "Crossing out names is not enough"
    goal = "See what a reader still knows after every name is gone."
    sentences = (
        "Usually, people protect a text by crossing out names, places, dates and numbers.",
        "Everything else is copied as it was written.",
    )
    task = "Choose what to cross out in a doctor's note. Then read what is left."
    take_home = "Redaction hides only what you think of, and a reader is certain of everything else."
    control = Control("Cross out", (NOTHING, NAMES, EVERYTHING), EVERYTHING)
    door: ClassVar[Setting] = Setting(example_text.MECHANISM, {}, EPSILONS[0])

    def show(self, value: Any) -> tuple[Part, ...]:
        return (Marked(f"The note without {value}" if value != NOTHING else "The note", crossed_out(value), {}),)

    def ask(self, value: Any) -> Question:
        words = (example_text.WORD, *OTHERS)
        return Question(
            f"A reader knows that the brother's illness was one of {len(words)}: {', '.join(words[:-1])} or "
            f"{words[-1]} disease. How sure is the reader after reading this note?",
            (f"{percent(1 / len(words))}: no better than guessing", "About half", "Completely sure"),
        )

    def reveal(self, value: Any) -> Reveal:
        sure = certainty_after_redaction(value)
        rows = [Row("crossed out", sure, percent(sure), "original")]
        rows += [Row(f"words sampled at {epsilon_text(e)}", p, percent(p)) for e, p in success_rates().items()]
        return Reveal(
            bin_of(sure, (0.375, 0.75)),
            (
                f"“{example_text.WORD}” is {'not ' * (sure == 1.0)}crossed out, so the reader is {percent(sure)} sure.",
                f"The other bars are means over {DRAWS} rewrites at each ε, with noise on every content word.",
            ),
            (
                "A list of names cannot know which fact matters. Noise treats all words alike, and its effect on any "
                "fact can be computed. That is the idea of differential privacy.",
                "It has a price: the smaller ε is, the less of the meaning is left.",
            ),
            (Bars("How often the optimal reader is right", tuple(rows), top=1.0),),
            (
                "The illness is not a name: look for it in the note.",
                "The word is either in the note or not: look for it.",
                "",
            ),
        )
