"""The author attack over a user's releases: more texts reveal more, and any classifier may be used."""

from __future__ import annotations

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.attacks import authors

KNOWN = np.array(["ann", "ben", "cat", "dan"])
EVEN = np.log(np.full(4, 0.25))


def weak_evidence(n: int) -> tuple[np.ndarray, list[str]]:
    """ln P of n texts of each of four authors: each text says a little of its author, with noise."""
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(4), n)
    return 0.5 * np.eye(4)[truth] + rng.normal(size=(4 * n, 4)), KNOWN[truth].tolist()


def test_more_texts_of_an_author_reveal_more():
    log_p, truth = weak_evidence(60)
    found = [authors.attack_groups(log_p, KNOWN.tolist(), EVEN, truth, n) for n in (1, 5, 20)]
    assert found[0].success < found[1].success - 0.1 and found[1].success < found[2].success - 0.1
    assert found[0].groups == 240 and found[1].groups == 4 * authors.GROUPS
    for one in found:
        assert one.low <= one.success <= one.high and one.chance == one.majority == 0.25 and one.authors == 4


def test_one_text_is_a_group_of_its_own():
    log_p = np.log([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9]])
    found = authors.attack_groups(log_p, ["a", "b"], EVEN[:2], ["a", "b", "b"])
    assert found.success == pytest.approx(2 / 3) and found.majority == pytest.approx(2 / 3) and found.groups == 3


def test_authors_with_too_few_texts_are_left_out_and_none_is_refused():
    log_p = np.log(np.full((5, 2), 0.5))
    found = authors.attack_groups(log_p, ["a", "b"], EVEN[:2], ["a", "a", "a", "b", "b"], 3)
    assert (found.authors, found.left_out) == (1, 2) and "2 texts" in found.sentence()
    unknown = authors.attack_groups(log_p, ["a", "b"], EVEN[:2], ["a", "a", "b", "b", "c"])
    assert (unknown.authors, unknown.groups, unknown.left_out) == (2, 4, 1)
    with pytest.raises(dpt.InputError, match="No known author has 4 texts"):
        authors.attack_groups(log_p, ["a", "b"], EVEN[:2], ["a", "a", "a", "b", "b"], 4)


def test_equal_shares_of_all_authors_have_the_exact_interval():
    """Without a spread over authors, Student's interval would have no width."""
    log_p = np.log(np.repeat([[0.99, 0.01], [0.01, 0.99]], 4, axis=0))
    found = authors.attack_groups(log_p, ["a", "b"], EVEN[:2], ["a"] * 4 + ["b"] * 4, 2)
    assert found.success == found.high == 1.0 and found.low == pytest.approx(0.025 ** (1 / 2))


class Vowels:
    """A classifier of one's own: how many a text has."""

    classes_ = np.array(["many", "none"])

    def fit(self, texts, labels):
        self.learnt = dict(zip(texts, labels, strict=True))
        return self

    def predict_proba(self, texts):
        return np.array([[0.9, 0.1] if "a" in t else [0.2, 0.8] for t in texts])


def test_a_classifier_without_probabilities_is_refused_before_it_learns():
    class Learner:
        def fit(self, texts, labels):
            raise AssertionError("it learns")

    with pytest.raises(dpt.InputError, match="no predict_proba"):
        dpt.attacks.attack_authors(["a", "x"], ["b", "c"], ["a"], ["b"], classifier=Learner())


def test_a_classifier_of_ones_own_reads_every_release_of_a_text():
    own = Vowels()
    found = dpt.attacks.attack_authors(
        ["a", "x"], ["many", "none"], [["a", "x"], ["x", "x"]], ["many", "none"], classifier=own
    )
    assert own.learnt == {"a": "many", "x": "none"} and found.success == 1.0
    log_p, known, prior = authors.log_probabilities(own, ["many", "none", "none", "none"], [["a", "x"], "x"])
    assert known == ["many", "none"] and prior == pytest.approx(np.log([0.25, 0.75]))
    # The shares of the authors count once: P(many | a, x) ∝ 0.9 · 0.2 / 0.25.
    assert log_p[0] == pytest.approx(np.log([0.9 * 0.2 / 0.25, 0.1 * 0.8 / 0.75]))
    with pytest.raises(dpt.InputError, match="2 texts and 1 author"):
        dpt.attacks.attack_authors(["a", "x"], ["many"], ["a"], ["many"], classifier=own)


def test_letters_recognise_authors_by_default():
    known = ["the colour of it", "a colour to see", "the color of it", "a color to see"]
    found = dpt.attacks.attack_authors(known, ["uk", "uk", "us", "us"], ["my colour", "my color"], ["uk", "us"])
    assert found.success == 1.0
    assert found.sentence() == (
        "From one text, the attacker recognises the author 100% of the time (2 texts of 2 authors; 95% CI 16% to "
        "100%). Guessing is right 50% of the time."
    )


COLOURS = ["the colour of it", "a colour to see", "the color of it", "a color to see"]


def test_the_sentence_says_of_what_the_share_is():
    log_p, truth = weak_evidence(60)
    several = authors.attack_groups(log_p, KNOWN.tolist(), EVEN, truth, 5).sentence()
    assert several.startswith("From 5 texts of an author, the attacker recognises the author ")
    assert "of the time (200 groups of 4 authors; 95% CI " in several


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], np.array([0, 0, 1, 1]), ["0", "0", "1", "1"]])
def test_authors_may_be_whole_numbers(labels):
    assert dpt.attacks.attack_authors(COLOURS, labels, ["my colour", "my color"], labels[1:3]).success == 1.0


def test_releases_may_be_results_of_rewrites():
    mechanism = dpt.get_mechanism("custext", epsilon=100.0)
    results = [mechanism.rewrite(t, seed=1) for t in ("a blue colour", "the red color")]
    texts = [r.text for r in results]
    given, expected = (
        dpt.attacks.attack_authors(COLOURS, [0, 0, 1, 1], one, [0, 1]) for one in ([[results[0]], results[1]], texts)
    )
    assert given == expected


@pytest.mark.parametrize(
    ("known_texts", "known", "releases", "truth", "message"),
    [
        (["ab cd"], ["ann"], ["ab"], ["ann"], "need two or more authors, not 1. Add texts of another"),
        ([], [], ["ab"], ["ann"], "need two or more authors, not 0"),
        (COLOURS, ["a", "a", "b", "b"], [], [], "There is no release to attack"),
        (COLOURS, ["a", "a", "b", "b"], [[]], ["a"], "There is no release to attack"),
        (COLOURS, ["a", "a", "b", "b"], ["x"], ["c"], "None of the authors is among the known authors"),
        (COLOURS, ["a", "a", "b", None], ["x"], ["a"], "An author must be a str or a whole number, not NoneType"),
        (COLOURS, ["a", "a", "b", "b"], [7], ["a"], "Give a list of releases, not int"),
        (["", " "], ["a", "b"], ["x"], ["a"], "The known texts are empty"),
        ("a text", ["a"], ["x"], ["a"], "Give a list of texts, not str"),
    ],
)
def test_unusable_lists_are_refused_with_advice(known_texts, known, releases, truth, message):
    with pytest.raises(dpt.InputError, match=message):
        dpt.attacks.attack_authors(known_texts, known, releases, truth)


def test_a_classifier_must_name_the_columns_of_its_probabilities():
    class Nameless:
        def fit(self, texts, labels):
            return self

        def predict_proba(self, texts):
            return np.full((len(texts), 3), 1 / 3)

    with pytest.raises(dpt.InputError, match="has no classes_ after fit"):
        dpt.attacks.attack_authors(COLOURS, [0, 0, 1, 1], ["x"], [0], classifier=Nameless())
    named = Nameless()
    named.classes_ = ["0", "1"]
    with pytest.raises(dpt.InputError, match=r"shape \(1, 3\). Return a row for each of 1 text, .* of 2 authors"):
        dpt.attacks.attack_authors(COLOURS, [0, 0, 1, 1], ["x"], [0], classifier=named)


def test_an_author_of_many_known_texts_is_not_guessed_more_often_from_many_texts():
    """Texts that say nothing leave the shares as they were, however many are read."""
    prior = np.log([0.9, 0.1])
    says_little = prior + np.log([0.4, 0.6])
    log_p = np.tile(says_little, (40, 1))
    found = [authors.attack_groups(log_p, ["a", "b"], prior, ["b"] * 40, n).success for n in (1, 5, 20)]
    assert found == [0.0, 0.0, 1.0], "0.6 / 0.4 outweighs 9 only from 6 texts on"
