"""Hiding in a group of K."""

from __future__ import annotations

from typing import Any, ClassVar

from dptext_core.explain import GroupView
from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.numbers import percent
from dptext_core.support.checks import pluralize
from dptext_core.words import WordSpace, word_space

from .base import Bars, Control, Facts, Lesson, Part, Question, Reveal, bin_of, epsilon_text, likely

WORD, EPSILON = "doctor", 4.0
#: Words whose groups are compared with that of WORD.
OTHERS = ("sister", "letter", "music", "winter", "money", "river", "garden")


def group(k: int) -> GroupView:
    """Return the group of WORD in the balanced mapping."""
    return _result(k).views(0)[0]


def _result(k: int) -> Any:
    return recommended(Group.door.mechanism, epsilon=EPSILON, k=k).rewrite(WORD, seed=1)


def own_sets(space: WordSpace, word: str, k: int) -> tuple[str, ...]:
    """Return the words with exactly the same set of outputs if every word had its own K nearest ones, including the
    word itself.

    Only words of its own set qualify, because each word is the nearest to itself.
    """
    row = space.index(word)
    assert row is not None
    mine = space.nearest([row], k, "cosine")[0][0]
    others = space.nearest(mine, k, "cosine")[0]
    same = [int(w) for w, theirs in zip(mine, others, strict=True) if set(theirs.tolist()) == set(mine.tolist())]
    return tuple(space.words[w] for w in same)


class Group(Lesson):
    name = "group"
    title = "Hiding in a group of K"
    goal = "See which words protect one another."
    sentences = (
        "CusText gives each word a set of K words, and releases one of them. Closer words are more likely.",
        "A word is hidden among the words that share its set, and among no others.",
    )
    task = f"Change K and see the group of “{WORD}”."
    take_home = "A guarantee has two parts: how much may leak (ε), and between which inputs."
    control = Control("Output words K", (5, 10, 20, 50), 20, "K = {}".format)
    door: ClassVar[Setting] = Setting("custext", {}, EPSILON)

    def setting(self, value: Any) -> Setting:
        return Setting(self.door.mechanism, {"k": int(value)}, EPSILON)

    def show(self, value: Any) -> tuple[Part, ...]:
        result, view = _result(value), group(value)
        names = [w for w in view.crowd if w.lower() != WORD]
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        others = f"{pluralize(len(names), 'word')}: {shown}" if names else "no word"
        return (
            Bars(
                f"What replaces “{WORD}” at {epsilon_text(EPSILON)}", likely(result.distribution(0)), 1.0
            ),
            Facts((), ((f"“{WORD}” shares this set with", others),)),
        )

    def ask(self, value: Any) -> Question:
        return Question(
            f"Suppose that every word had its own {value} nearest words, instead of a shared set. How many other words "
            f"would then have exactly the same set as “{WORD}”?",
            ("None", f"Up to half of the {value}", f"More than half of the {value}"),
        )

    def reveal(self, value: Any) -> Reveal:
        space, view = word_space(), group(value)
        alone = {w: len(own_sets(space, w, value)) - 1 for w in (WORD, *OTHERS)}
        m = recommended(self.door.mechanism, epsilon=EPSILON, k=value)
        shared = {w: len(m.rewrite(w, seed=1).views(0)[0].crowd) - 1 for w in alone}
        lonely = sum(n == 0 for n in alone.values())
        return Reveal(
            bin_of(alone[WORD], (1, value / 2 + 0.5)),
            (
                f"If each word has its own {value} nearest words, “{WORD}” shares its set with "
                f"{pluralize(alone[WORD], 'other word') if alone[WORD] else 'no other word'}. Of the "
                f"{pluralize(len(alone), 'word')} in the table, {lonely} share theirs with none.",
                f"If sets are shared, “{WORD}” shares its set with {pluralize(len(view.crowd) - 1, 'other word')}, "
                f"and {percent(view.alone_share)} of all words have a unique set.",
            ),
            (
                "If a word shares its set with no other, the release can identify it, at any ε. The guarantee compares "
                "words of one group, and a group of one hides nothing.",
                "So a guarantee has two parts: how much may leak (ε), and between which words (the group).",
            ),
            (
                Facts(
                    ("word", "others with its set, if each has its own", "others with its set, if sets are shared"),
                    tuple((w, f"{alone[w]}", f"{shared[w]}") for w in alone),
                ),
            ),
            (
                "Some words do have the same nearest words: see the table.",
                "Nearest neighbours are not symmetric: your neighbour usually has other nearest words.",
                f"Few words agree on all of their {value} nearest words: see the table.",
            ),
        )
