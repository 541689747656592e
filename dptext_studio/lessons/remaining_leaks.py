"""What still leaks from a rewrite."""

from __future__ import annotations

from typing import Any, ClassVar

from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.kinds import NotProtectedKind
from dptext_core.privacy.numbers import percent
from dptext_core.result import RewriteResult

from . import example_text
from .base import Control, Facts, Marked, Part, Question, Reveal, bin_of, epsilon_text
from .example_text import TextLesson

LEGEND = {
    "kept": "never sampled: unchanged",
    "same": "sampled, and the original came back",
    "changed": "sampled, and another word came out",
}


def marks(result: RewriteResult) -> list[tuple[str, str]]:
    """Return the released text in parts, each with a mark: "" between words, otherwise a key of LEGEND."""
    out, end = [], 0
    for step in result.steps:
        if step.action == "delete":
            continue
        start, stop = step.out
        if start > end:
            out.append((result.text[end:start], ""))
        is_kept = step.action == "keep"
        out.append((result.text[start:stop], "changed" if step.is_changed else "kept" if is_kept else "same"))
        end = stop
    return [*out, *([(result.text[end:], "")] if end < len(result.text) else [])]


def words(result: RewriteResult) -> dict[str, int]:
    """Return the number of words (without punctuation) with each mark."""
    counts = dict.fromkeys(LEGEND, 0)
    for text, mark in marks(result):
        if mark and any(c.isalnum() for c in text):
            counts[mark] += 1
    return counts


class RemainingLeaks(TextLesson):
    name = "leaks"
    title = "What still leaks"
    goal = "Read a rewritten text as a stranger would."
    sentences = (
        "A guarantee says what it covers. What it does not cover can be read in the release.",
        "Here is a text as it would be released. At first sight, it looks safe.",
    )
    task = "Choose an ε. As a stranger, what do you learn from the text?"
    take_home = "Kept words, length and punctuation are not protected, at any ε."
    num_beside_figure = 1
    across = True
    control = Control("Privacy budget", (10.0, 50.0, 100.0, 200.0), 50.0, epsilon_text)
    door: ClassVar[Setting] = Setting(example_text.MECHANISM, {}, 50.0)

    def setting(self, value: Any) -> Setting:
        return self.door.at(float(value))

    def show(self, value: Any) -> tuple[Part, ...]:
        return (Marked(f"The text at {epsilon_text(value)}", ((self.example.rewrite_at(value).text, ""),), {}),)

    def ask(self, value: Any) -> Question:
        return Question(
            f"How many of its words are exactly those of the original, at {epsilon_text(value)}?",
            ("Less than a quarter", "Between a quarter and a half", "Between a half and three quarters", "More"),
        )

    def reveal(self, value: Any) -> Reveal:
        result = self.example.rewrite_at(value)
        counts = words(result)
        every = sum(counts.values())
        there = counts["kept"] + counts["same"]
        entries = [entry for entry in result.guarantee.exposed if entry.kind is not NotProtectedKind.SEED]
        exposed = tuple((entry[:1].upper() + entry[1:],) for entry in entries)
        return Reveal(
            bin_of(there / every, (0.25, 0.5, 0.75)),
            (
                f"{there} of {every} words ({percent(there / every)}) are unchanged: {counts['kept']} were never "
                f"sampled, and for {counts['same']} the original came back.",
            ),
            (
                "Kept words such as “she” and “not” reveal more than you may expect, and so does their order. The "
                "number of words, the sentences and the punctuation show how somebody writes.",
                "A sampled original looks like any other word, so the reader cannot be sure of it. That is the "
                "protection of ε. Everyone can be sure of the kept words.",
            ),
            (
                Marked("The same text, marked", tuple(marks(result)), LEGEND),
                Facts(("What the guarantee does not protect",), exposed),
            ),
            (
                "Kept words count too: stop words are never sampled.",
                "Count the kept words and the sampled originals.",
                f"Of {every} words, {counts['kept']} were never sampled, and {counts['same']} came back unchanged.",
                "Many words were replaced: see the marked text.",
            ),
        )
