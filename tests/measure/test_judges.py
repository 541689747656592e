"""The classifiers that know no language model: what they read, that they learn, and that case tells them nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dptext_core.errors import InputError
from dptext_core.measure import judges
from dptext_lab.runner.data_sets import load
from dptext_lab.runner.tasks import score


def columns(texts) -> np.ndarray:
    return np.array(texts, dtype=object).reshape(len(texts), -1)


def test_what_they_read():
    assert judges.words("The dog's BONE.") == [
        "the",
        "dog",
        "'",
        "s",
        "bone",
        ".",
        "the dog",
        "dog '",
        "' s",
        "s bone",
        "bone .",
    ]
    assert judges.letters("A \n b")[:4] == [" a", "a ", " b", "b "] and max(map(len, judges.letters("abcdefgh"))) == 5


@pytest.mark.parametrize(("role", "target"), [("utility", "label"), ("privacy", "author")])
def test_they_learn_what_the_words_say_whatever_the_case(role, target):
    data = load("builtin", None)
    x, labels = columns(data.texts), data.targets[target]
    train, test = list(data.train), list(data.test)
    y, truth = [labels[i] for i in train], [labels[i] for i in test]
    found = judges.classify(role, x[train], y, x[test])
    assert score("accuracy", truth, found) > 0.9
    loud = columns([tuple(part.upper() for part in text) for text in data.texts])
    assert judges.classify(role, x[train], y, loud[test]) == found
    shuffled = np.random.default_rng(0).permutation(y).tolist()
    assert score("accuracy", truth, judges.classify(role, x[train], shuffled, x[test])) < 0.75


def test_of_two_parts_it_reads_what_they_share():
    rng = np.random.default_rng(1)
    words = np.array(["red", "green", "blue", "grey", "pink", "gold", "cyan", "teal"])
    pairs, y = [], []
    for _ in range(300):
        a, b = rng.choice(words, 2, replace=False)
        same = bool(rng.integers(2))
        pairs.append((f"a {a} hat", f"the {a if same else b} one"))
        y.append(str(same))
    x = columns(pairs)
    assert score("accuracy", y[200:], judges.classify("utility", x[:200], y[:200], x[200:])) > 0.95


def test_at_their_edges():
    x = columns(["one", "two", "three"])
    assert judges.classify("utility", x, ["a", "a", "a"], x) == ["a"] * 3
    assert judges.classify("utility", columns(["", " ", ""]), ["b", "a", "b"], x) == ["b"] * 3
    assert judges.classify("privacy", x, ["a", "b", "b"], x[:0]) == []
    with pytest.raises(InputError, match="3 texts and 2 labels"):
        judges.classify("utility", x, ["a", "b"], x)
