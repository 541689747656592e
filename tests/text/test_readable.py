"""Articles, capitals and blanks of a release: functions of what is released alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.auditing.rules import Breach, follow_steps
from dptext_core.pieces import AGREEMENT
from dptext_core.text.document import Document
from dptext_core.text.languages import ENGLISH
from dptext_core.text.readable import agreeing_article, readable

AN = "apple hour honest heir 8 80th 11 18-year-old MRI FBI X-ray umbrella unimportant unusual urgent EU eleven Oslo"
A = "user one-way unit European 67-year-old US UN house NASA unique year 1800 110 uniform honeymoon Ukraine"


@pytest.mark.parametrize(("words", "form"), [(AN, "an"), (A, "a")])
def test_an_article_agrees_with_the_sound_of_the_next_word(words, form):
    assert {word: agreeing_article(ENGLISH, "a", word) for word in words.split()} == dict.fromkeys(words.split(), form)
    assert agreeing_article(ENGLISH, "An", "tree") == "A"


def written(text: str, words: dict[int, str]) -> str:
    document = Document.parse(text)
    texts = [words.get(i) for i in range(len(document.words))]
    skeleton, _ = readable(document.skeleton([i in words for i in range(len(texts))]), texts)
    return skeleton.fill(texts).text


def test_a_copied_article_follows_a_released_word_and_no_other():
    assert written("A cat is a pet.", {1: "Owl", 4: "animal"}) == "An Owl is an animal."
    assert written("It is an apple.", {3: "pear"}) == "It is a pear."
    assert written("It is a old an pear.", {}) == "It is a old an pear."
    assert written("Take vitamin A daily, a “pill”.", {3: "often", 7: "egg"}) == "Take vitamin A often, a “egg”."
    assert written("It is a big egg.", {3: ""}) == "It is an egg.", "where a word was left out"


def test_copied_words_get_the_capitals_of_their_places():
    assert written("the cat sat. then i left", {1: "dog"}) == "The dog sat. Then I left"
    assert written("a pear fell. an owl sat.", {1: "apple", 5: "cat"}) == "An apple fell. A cat sat."
    assert written("A line that goes\non and ends.", {1: "word"}) == "A word that goes\non and ends."


def test_marks_have_no_blank_before_them():
    text = "it 's a fine , warm film ( really ) , is n't it ? yes :)"
    assert written(text, {3: "good"}) == "It's a good, warm film (really), isn't it? Yes :)"
    assert written("a film n't", {1: "book"}) == "A book n't", "a drawn word takes no n't"


NOTE = "an old doctor told a friend . it 's a march hare , an apple ."


@pytest.mark.parametrize("name", ["custext", "santext", "surrogates"])
def test_a_release_keeps_its_parts_together(name):
    options = {} if name == "surrogates" else {"surrogates": name == "santext", "epsilon": 3.0}
    m = dpt.get_mechanism(name, recase="public", **options)
    plain = m.replace(recase="none")
    changed = 0
    for seed in range(12):
        r, before = (each.rewrite(NOTE, seed=seed) for each in (m, plain))
        for s in r.steps:
            assert r.text[slice(*s.out)] == s.replacement
        for p, s in zip(r.releases, r.steps, strict=True):
            assert (p.origin == "rule") == (s.reason == AGREEMENT) and r.text[slice(*p.span)] == p.text
            if p.origin == "rule":
                assert s.action == "keep" and {s.original, s.replacement} <= {"a", "an", "A", "An"}
                changed += 1
        # What was drawn is what it was: the rest is computed from it.
        drawn = [s.replacement.casefold() for s in r.steps if s.action == "replace"]
        assert drawn == [s.replacement.casefold() for s in before.steps if s.action == "replace"]
        assert " ." not in r.text and " '" not in r.text and " ," not in r.text
    assert changed or name == "surrogates"


def test_the_belief_is_that_without_the_clean_up():
    public, plain = (dpt.get_mechanism("custext", epsilon=4.0, recase=r) for r in ("public", "none"))
    text = "It was an apple that a doctor ate."
    for seed in range(3):
        found = [
            dpt.belief(m, text, "apple", ["pear", "plum"], result=m.rewrite(text, seed=seed)) for m in (public, plain)
        ]
        assert np.allclose(found[0].posterior, found[1].posterior) and np.isfinite(found[0].posterior).all()


def test_an_audit_finds_an_article_that_does_not_follow_from_the_release():
    m = dpt.get_mechanism("custext", epsilon=2.0, recase="public")
    text = "It was an apple."
    r = next(r for r in m.rewrites(text, 40, seed=1) if r.steps[2].reason == AGREEMENT)
    follow_steps(Document.parse(text), "a text", r)
    telling = dataclasses.replace(
        r,
        text=r.text.replace(" a ", " an "),
        steps=[dataclasses.replace(s, replacement="an") if s.index == 2 else s for s in r.steps],
    )
    with pytest.raises(Breach, match="kept tokens"):
        follow_steps(Document.parse(text), "a text", telling)
