"""Attackers on single words in the benchmark: exact against brute force, and only where a mechanism allows them."""

from __future__ import annotations

import numpy as np
import pytest
from small_spaces import on, random_space, words

import dptext_core as dpt
from dptext_core.attacks import risk
from dptext_core.attacks.prior import Prior, public_prior
from dptext_core.mechanisms.words import gumbel, mvc
from dptext_core.privacy.distribution import ScoreTable, without_each
from dptext_core.privacy.sampling import NoiseStream
from dptext_lab.runner import word_attacks as attacked
from dptext_lab.runner.word_attacks import Words, query_success

SPACE = random_space()
TEXTS = {3: " ".join(words(40)[:6]), 7: " ".join(words(40)[4:9])}


def scored(m, epsilons, attackers) -> dict[float, dict[str, tuple[list, list]]]:
    """Every metric at every ε, with the values and the texts of the words."""
    found = Words(dict.fromkeys(epsilons, m), TEXTS, attackers)
    out: dict[float, dict] = {}
    for epsilon in epsilons:
        for i, text in TEXTS.items():
            found.take(epsilon, 1, i, m.rewrite(text, seed=i))
        out[epsilon] = {}

        def add(name, x, owners, _, e=epsilon):
            out[e][name] = (list(x), list(owners))

        found.score(epsilon, add)
        found.score_released(epsilon, 1, add)
    return out


def test_the_best_guess_is_that_of_brute_force():
    m = on(SPACE, "tem", epsilon=2.0)
    found = scored(m, (2.0, 9.0), ("attack_bayes",))
    prior = public_prior(m).p
    for epsilon in (2.0, 9.0):
        p = np.stack([m.channel(r).at(epsilon).probs for r in range(40)])
        best = (prior[:, None] * p).argmax(axis=0)
        rows = [*range(6), *range(4, 9)]
        values, owners = found[epsilon]["attack_bayes"]
        assert values == pytest.approx([p[r, best == r].sum() for r in rows])
        assert owners == [3] * 6 + [7] * 5
    assert np.mean(found[9.0]["attack_bayes"][0]) > np.mean(found[2.0]["attack_bayes"][0])


def test_over_all_words_it_is_the_expected_success():
    from dptext_core.attacks.bayes import expected_success

    m = on(SPACE, "santext", epsilon=3.0)
    p = np.random.default_rng(1).dirichlet(np.ones(40))
    prior = Prior(tuple(SPACE.words), p)
    each = risk.rows_success(m, np.arange(40), (3.0, 5.0), prior=prior)
    assert each.shape == (2, 40)
    for row, epsilon in zip(each, (3.0, 5.0), strict=True):
        assert p @ row == pytest.approx(expected_success(m, epsilon=epsilon, prior=prior).value)


def test_neighbours_and_answers_on_the_words_that_were_drawn():
    m = on(SPACE, "tem", epsilon=40.0)
    found = scored(m, (0.1, 40.0), attacked_by := ("attack_nearest", "attack_query"))
    for epsilon in (0.1, 40.0):
        assert set(found[epsilon]) == {"n_w", "s_w", *attacked_by}
        assert len(found[epsilon]["n_w"][0]) == 11 and set(found[epsilon]["attack_nearest"][1]) <= set(TEXTS)
    # Nothing is hidden at a large ε, and of 40 words alike the most frequent of 100 answers is seldom the right one.
    assert np.mean(found[40.0]["n_w"][0]) > 0.95 and np.mean(found[40.0]["attack_query"][0]) > 0.99
    assert np.mean(found[0.1]["attack_query"][0]) < 0.5


def test_what_is_left_of_the_draws_without_each_part():
    found = without_each(np.array([5, 5, 2, 5, 9, 2]), 5, 3)  # the parts are (5, 5), (5, 9) and (2, 2)
    assert found[:, 0] == pytest.approx([1 / 4, 2 / 4, 3 / 4])
    assert found[:, 1] == pytest.approx([3, 2, 2]), "of fewer than 100 draws all are chosen"
    estimated = on(SPACE, "mvc", epsilon=5.0).channels(np.array([3]))[0]
    parts = estimated.deniability_without(5.0, 10)
    assert parts.shape == (10, 2) and parts[:, 0].mean() == pytest.approx(estimated.deniability(5.0)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mvc", "gumbel", "tem"])
def test_the_error_of_noise_that_all_words_share_is_that_between_noises(name, monkeypatch):
    """Means of N_w over a dozen words of a space, of 40 noises: their spread is within 35% of the jackknife's error
    (that of a spread of 40 is 11%, and of the root of the mean of 40 jackknives less)."""
    m = on(SPACE, name, epsilon=3.0)
    means, errors = [], []
    for i in range(40 if name != "tem" else 1):
        mvc._blocks.clear()
        monkeypatch.setattr(mvc, "NoiseStream", lambda i=i: NoiseStream(i))
        monkeypatch.setattr(gumbel, "_ESTIMATE", NoiseStream(i))
        channels = list(enumerate(m.channels(np.arange(12))))
        means.append(np.mean([c.deniability(3.0)[0] for _, c in channels]))
        errors.append(attacked._shared_error(channels, 3.0)[0])
    mvc._blocks.clear()
    if name == "tem":
        assert errors == [0.0], "a closed form"
    else:
        assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(means, ddof=1), rel=0.35)


def test_answers_are_those_of_plain_draws():
    channel = ScoreTable(("a", "b", "c", "d"), np.array([1.0, 0.6, 0.5, 0.0]), "a")
    epsilon = 0.7
    drawn = np.random.default_rng(2).multinomial(100, channel.at(epsilon).probs, 4000)
    top = drawn.max(axis=1)
    plain = ((drawn[:, 0] == top) / (drawn == top[:, None]).sum(axis=1)).mean()
    assert query_success(channel, epsilon) == pytest.approx(plain, abs=0.1)
    assert query_success(ScoreTable(("a", "b"), np.array([0.0, 1.0]), "z"), 1.0) == 0.0, "it never comes out"


def test_a_mechanism_has_what_it_says_it_has():
    """One that writes a new text has no word to name, one without a formula no best guess: nothing is made up."""
    estimated = on(SPACE, "mvc", epsilon=5.0)
    found = scored(estimated, (5.0,), ("attack_bayes", "attack_nearest"))[5.0]
    assert set(found) == {"n_w", "s_w", "attack_nearest"}

    class Rewriter(dpt.Mechanism):
        name, title, family, notion, config_cls = "x", "X", "f", "none", type(estimated.config)
        can = frozenset()

        def prepare_document(self, document, task): ...
        def rewrite_prepared(self, prepared, stream, task): ...
        def guarantee(self, text): ...

    whole = Words({5.0: Rewriter(estimated.config)}, TEXTS, ("attack_bayes", "attack_nearest", "attack_mask"))
    result = dpt.RewriteResult("new", TEXTS[3], (), estimated.guarantee(TEXTS[3]), "x", estimated.config, 1, "n")
    whole.take(5.0, 1, 3, result)
    told: list = []
    whole.score(5.0, lambda *metric: told.append(metric))
    whole.score_released(5.0, 1, lambda *metric: told.append(metric))
    assert told == []


def test_attackers_look_at_the_first_rewrite_of_a_text_by_each_seed(monkeypatch):
    m = on(SPACE, "tem", epsilon=1.0)
    words_ = Words({1.0: m}, TEXTS, ("attack_nearest",))
    first, other = m.rewrite(TEXTS[3], seed=1), m.rewrite(TEXTS[3], seed=2)
    monkeypatch.setitem(attacked.RELEASED, "attack_nearest", lambda _, result: [float(result is first)] * 6)
    words_.take(1.0, 1, 3, first)
    words_.take(1.0, 1, 3, other)
    words_.take(1.0, 2, 3, other)
    words_.take(1.0, 1, 99, m.rewrite("x", seed=2))
    told: list = []
    for seed in (1, 2, 2):
        words_.score_released(1.0, seed, lambda *metric: told.append(metric))
    assert [(name, hits, owners) for name, hits, owners, _ in told] == [
        ("attack_nearest", [1.0] * 6, [3] * 6),
        ("attack_nearest", [0.0] * 6, [3] * 6),
    ], "what was told is let go"


@pytest.mark.parametrize("hit", [0.0, 1.0])
def test_words_named_all_or_not_at_all_have_an_interval(hit, monkeypatch):
    """That of Clopper and Pearson for none of n: 1 − 0.025^(1/n), the words of a text being one trial."""
    m = on(SPACE, "tem", epsilon=1.0)
    named = [hit] * 6
    monkeypatch.setitem(attacked.RELEASED, "attack_nearest", lambda *_: named)
    words_ = Words({1.0: m}, TEXTS, ("attack_nearest",))
    errors: list = []
    for seed in (1, 2):
        for i, text in TEXTS.items():
            words_.take(1.0, seed, i, m.rewrite(text, seed=i))
        words_.score_released(1.0, seed, lambda *metric: errors.append(metric[3]))
        named = [1.0 - hit, *named[1:]]
    assert 1.96 * errors[0] == pytest.approx(1 - 0.025 ** (1 / 2)) and errors[1] == 0.0


def test_attackers_look_at_no_more_words_than_are_wanted(monkeypatch):
    m = on(SPACE, "tem", epsilon=1.0)
    monkeypatch.setattr(attacked, "WORDS", 6)
    words_ = Words({1.0: m}, TEXTS, ("attack_nearest",))
    for i, text in TEXTS.items():
        words_.take(1.0, 1, i, m.rewrite(text, seed=i))
    told: list = []
    words_.score_released(1.0, 1, lambda *metric: told.append(metric))
    assert told[0][2] == [3] * 6


@pytest.mark.parametrize(("oov", "found"), [("keep", 1.0), ("random", 0.0)])
def test_a_word_in_clear_counts_as_found_and_one_replaced_at_random_as_hidden(oov, found):
    m = on(SPACE, "tem", epsilon=3.0, oov=oov)
    known, text = " ".join(words(40)[:3]), f"{words(40)[0]} zzz {words(40)[1]} {words(40)[2]}, 17."
    attackers = ("attack_bayes", "attack_nearest", "attack_query")
    seen: dict = {}
    for name, some in (("known", known), ("all", text)):
        of = Words({3.0: m}, {1: some}, attackers)
        of.take(3.0, 1, 1, m.rewrite(some, seed=1))
        of.score(3.0, lambda metric, x, owners, _, name=name: seen.__setitem__((name, metric), sorted(x)))
        of.score_released(3.0, 1, lambda metric, x, *_, name=name: seen.__setitem__((name, metric), sorted(x)))
    for metric in ("n_w", "attack_bayes", "attack_query"):
        assert seen["all", metric] == pytest.approx(sorted([*seen["known", metric], found, found]))
    assert len(seen["all", "attack_nearest"]) == 5 and seen["all", "attack_nearest"].count(found) >= 2
    distinct = 1.0 if oov == "keep" else 40 * (1 - (1 - 1 / 40) ** 100)
    assert seen["all", "s_w"] == pytest.approx(sorted([*seen["known", "s_w"], distinct, distinct]))


@pytest.mark.parametrize(("oov", "asked"), [("keep", {0}), ("random", {0, 1})])
def test_the_language_model_may_name_a_word_that_was_replaced_at_random(oov, asked, monkeypatch):
    m = on(SPACE, "tem", epsilon=3.0, oov=oov)

    class Guesses:
        guesses = (attacked.mask_inference.MaskGuess(1, "zzz", "x", 1, ()),)

    def attack(mechanism, result, only):
        assert set(only) == asked
        return Guesses

    monkeypatch.setattr(attacked.mask_inference, "attack", attack)
    result = m.rewrite(f"{words(40)[0]} zzz.", seed=1)
    assert attacked.RELEASED["attack_mask"](m, result) == [0.0, 1.0]
