"""Which text was it? The posterior over originals against independent recomputations, its calibration, its bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from foreign import Generator, Latent
from small_spaces import on, random_space, words
from tiny_generators import plain_scores, tiny_generator

import dptext_core as dpt
from dptext_core.attacks import Lineup, get_attacker, which_text
from dptext_core.mechanisms import likelihood

TEXTS = ("The doctor told my friend that the pain was bad.", "A lawyer went home.", "day")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {kind: str(tiny_generator(tmp_path_factory.mktemp(kind), kind)) for kind in ("t5", "gpt2")}


@pytest.fixture(scope="module")
def space():
    return random_space(12)


def make(folder, **options):
    return dpt.get_mechanism("dp-prompt", **({"model": folder, "epsilon": 40.0, "max_tokens": 4} | options))


def lineup(texts=TEXTS, true=0):
    return Lineup(tuple(texts), true)


def normalised(log_p):
    p = np.exp(np.array(log_p) - max(log_p))
    return p / p.sum()


# --- generators


@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_the_posterior_is_that_of_the_plain_model(folders, kind):
    """Scores of the plain model, clipped, at temperature 2(Cmax − Cmin)/ε; chances of rewrites multiply."""
    m = make(folders[kind], stop="end")
    prepared = [m.prepare(t) for t in TEXTS]
    results = m.rewrites(prepared[0], 2, seed=3)
    low, high = m.config.clip_min, m.config.clip_max
    total = np.zeros((len(TEXTS), len(results)))
    for (a, p), (b, r) in itertools.product(enumerate(prepared), enumerate(results)):
        tokens = r.trace.written.tokens
        raw = plain_scores(folders[kind], p.ids, tokens).astype(np.float64)
        x = np.clip(raw, low, high) * 40.0 / (2 * (high - low))
        x -= np.log(np.exp(x).sum(axis=1, keepdims=True))
        total[a, b] = x[np.arange(len(tokens)), list(tokens)].sum()
    found = which_text.attack(m, results, lineup())
    assert found.p == pytest.approx(normalised(total.sum(axis=1)), abs=2e-3) and found.answers == 2
    assert which_text.attack(m, results[:1], lineup()).p == pytest.approx(normalised(total[:, 0]), abs=2e-3)
    assert np.ptp(found.p) > 0.05 and found.chance == pytest.approx(1 / 3)


@pytest.mark.parametrize("prior", ["none", "released"])
def test_many_rewrites_at_once_have_the_chances_that_are_stated_piece_by_piece(folders, prior):
    m = make(folders["gpt2"], prior=prior)
    prepared = [m.prepare(t) for t in TEXTS]
    results = m.rewrites(prepared[1], 3, seed=1)
    found, slowly = (
        m.likelihood.log(prepared, results),
        likelihood.by_pieces(m.likelihood, prepared, results, dpt.Task()),
    )
    assert found == pytest.approx(slowly, abs=1e-3)
    one = m.rewrite(prepared[0], seed=2)
    own = sum(one.distribution(i).log_probs[one.candidate(i)] for i in range(len(one.releases)))
    assert m.likelihood.log(prepared[:1], [one])[0, 0] == pytest.approx(own, rel=1e-12)


def test_a_text_that_goes_on_where_this_one_stopped_cannot_have_been_read(folders):
    m = make(folders["gpt2"], length="input", max_tokens=9, stop="end")
    prepared = [m.prepare(t) for t in ("one two three", "one two four", "one two three four", "one two")]
    ended = next(r for r in m.rewrites(prepared[0], 60, seed=1) if len(r.releases) == 3 and r.text.strip())
    assert ended.trace.written.tokens[-1] not in m._ends()
    found = m.likelihood.log(prepared, [ended])[:, 0]
    assert np.isfinite(found[:2]).all() and np.isinf(found[2:]).all()


def test_a_posterior_says_truly_how_often_its_guess_is_right(folders):
    """Hits less what the posteriors say have mean 0, and at most 1/2 as the deviation of each."""
    m = make(folders["t5"], epsilon=12.0, clip_min=-2.0, clip_max=2.0, max_tokens=3)
    one, two = which_text.measure(m, lineup(), 240, (1, 2), seed=4)
    for found in (one, two):
        assert abs(found.value - found.mean_posterior) < 4 * 0.5 / math.sqrt(found.trials)
        assert found.interval[0] < found.value < found.interval[1] and found.interval[0] > found.chance
    assert (one.trials, two.trials, one.own_text_trials) == (240, 120, 80)
    assert two.mean_posterior > one.mean_posterior + 0.01, "more rewrites tell more"
    assert which_text.limit(m, [m.prepare(t) for t in TEXTS]).value >= one.value


def test_rewrites_of_another_mechanism_are_refused(folders):
    m = make(folders["gpt2"])
    with pytest.raises(dpt.InputError, match="other options"):
        m.likelihood.log([m.prepare("day")], [m.replace(epsilon=10.0).rewrite("day", seed=1)])


# --- mechanisms that replace words


def chance_of(m, text, released):
    """By the stated distribution of every token, one by one."""
    return sum(
        math.log(m.distribution(text, i).p(w)) if m.distribution(text, i).p(w) else -math.inf
        for i, w in enumerate(released.split())
    )


@pytest.mark.parametrize("name", ["custext", "santext", "tem", "santext-plus"])
def test_of_words_it_is_the_product_of_their_chances(name, space):
    m = on(space, name, epsilon=3.0, **({"k": 4} if name == "custext" else {}))
    a, b, c = words(12)[:3]
    texts = (f"{a} {b}", f"{c} {b}", f"{b} {b}", f"{a}", f"{a}\n{b}")
    r = m.rewrite(texts[0], seed=5)
    found = m.likelihood.log([m.prepare(t) for t in texts], [r])[:, 0]
    assert found[:3] == pytest.approx([chance_of(m, t, r.text) for t in texts[:3]], rel=1e-9)
    assert np.isinf(found[3:]).all(), "another number of words, a line end in place of a blank"


def test_measured_success_is_that_of_the_best_guess_by_enumeration(space):
    m = on(space, "santext", epsilon=4.0)
    texts = words(12)[:4]
    p = np.array([m.distribution(t, 0).probs for t in texts])
    exact = p.max(axis=0).sum() / len(texts)
    (found,) = which_text.measure(m, lineup(texts), 2000, seed=2)
    assert abs(found.value - exact) < 4 * 0.5 / math.sqrt(2000)
    assert found.mean_posterior == pytest.approx(exact, abs=0.03)
    assert exact <= which_text.limit(m, [m.prepare(t) for t in texts]).value < 1


def test_what_stays_and_what_is_drawn_once_are_taken_in(space):
    a, b, c = words(12)[:3]
    m = on(space, "custext", epsilon=2.0, k=12, strategy="record")
    r = next(r for r in m.rewrites(f"{a} {b} {a}", 40, seed=1) if len(set(r.text.split())) == 2)
    found = m.likelihood.log([m.prepare(t) for t in (f"{a} {b} {a}", f"{a} {b} {c}", f"{a} {b} {b}")], [r])[:, 0]
    x, y, z = r.text.split()
    assert found[0] == pytest.approx(chance_of(m, f"{a} {b}", f"{x} {y}"))
    assert found[1] == pytest.approx(chance_of(m, f"{a} {b} {c}", f"{x} {y} {z}")) and np.isinf(found[2])
    for oov in ("keep", "drop", "mask", "random"):
        m = on(space, "santext", epsilon=2.0, oov=oov)
        r = m.rewrite(f"{a} Zoë", seed=1)
        found = m.likelihood.log([m.prepare(t) for t in (f"{a} Zoë", f"{b} Zoë", f"{a} Ana", f"{a} {b}")], [r])[:, 0]
        assert np.isfinite(found[:2]).all(), oov
        assert np.isfinite(found[2]) == (oov != "keep") and np.isfinite(found[3]) == (oov == "random"), oov


@pytest.mark.parametrize("order", ["parallel", "sequential"])
def test_a_language_model_reads_each_text(tiny_model, order):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=30.0, order=order)
    texts = ("the doctor told my friend", "the nurse told my friend", "the doctor told her friend")
    prepared = [m.prepare(t) for t in texts]
    r = m.rewrite(prepared[0], seed=1)
    released = [(s.index, s.replacement) for s in r.steps if s.action == "replace"]
    found = m.likelihood.log(prepared, [r])[:, 0]
    for p, x in zip(prepared[:2], found, strict=False):
        own = 0.0
        for k, (i, word) in enumerate(released):
            d = m.distribution(p, i) if order == "parallel" else m.likelihood.after(p, i, released[:k])
            own += math.log(d.p(word))
        assert x == pytest.approx(own, rel=1e-6)
    assert np.isinf(found[2]), "“her” would have stayed"


# --- what is refused, and what holds then


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("adept", "distance between the vectors still limit any guess"),
        ("dp-bart", "which_text.limit"),
        ("mvc", "no formula for the probabilit"),
        ("dp-mlm-plus", "adds and deletes words at random"),
    ],
)
def test_where_there_is_no_formula_it_says_why(name, says):
    with pytest.raises(dpt.NoDistribution, match=says):
        get_attacker("which-text").check(dpt.get_mechanism(name))


def test_without_adding_and_deleting_words_there_is_a_formula():
    get_attacker("which-text").check(dpt.get_mechanism("dp-mlm-plus", add_prob=0.0, del_prob=0.0))


@pytest.mark.parametrize("answers", [1, 3])
def test_the_bound_is_that_of_the_promise(answers):
    """Pure: e^ε/(e^ε + n − 1), a posterior of which the odds moved by e^ε; with δ as the module says."""
    m = Generator.create(epsilon=0.5, length=2)
    texts = [m.prepare(t) for t in ("a", "b", "c", "d")]
    odds = math.exp(answers * 1.0)
    assert which_text.limit(m, texts, answers).value == pytest.approx(odds / (odds + 3))
    m = Latent.create(epsilon=0.5, delta=0.01)
    texts, less, delta = [m.prepare(t) for t in "abcd"], math.exp(-0.5 * answers), 0.01 * answers
    limit = which_text.limit(m, texts, answers)
    assert limit.value == pytest.approx((1 + 3 * delta * less) / (1 + 3 * less)) and "δ" in limit.explanation


def test_the_bound_says_what_it_comes_from(space):
    m = dpt.get_mechanism("adept", epsilon=5.0)
    texts = [m.prepare(t) for t in ("play some jazz", "play some rock")]
    odds = math.exp(m.audit_support.latent_loss(*texts))
    limit = which_text.limit(m, texts)
    assert limit.value == pytest.approx(odds / (odds + 1)) and "noise" in limit.explanation
    assert limit.value < 1 / (1 + math.exp(-5.0)), "these two are nearer than any two may be"
    m = dpt.get_mechanism("adept-original")
    limit = which_text.limit(m, [m.prepare(t) for t in ("play some jazz", "play some rock")])
    assert limit.value == 1 and "there is no guarantee" in limit.explanation
    a, b = words(12)[:2]
    m = on(space, "santext", epsilon=2.0)
    loss = 2.0 * m.audit_support.distances([a, b])[0, 1]
    limit = which_text.limit(m, [m.prepare(t) for t in (f"{a} {b}", f"{b} {b}")])
    assert limit.value == pytest.approx(1 / (1 + math.exp(-loss))), "only the words that differ count"
    limit = which_text.limit(m, [m.prepare(t) for t in (f"{a} {b}", a)])
    assert limit.value == 1 and "does not compare" in limit.explanation


# --- the texts


def test_the_list_exchanges_one_word_for_others_that_are_near():
    m = dpt.get_mechanism("custext")
    text = "Diabetes, my doctor said: diabetes."
    found = which_text.lineup(m, text, "diabetes", 5)
    assert found.texts[0] == text and found.true == 0 and len(set(found.texts)) == len(found) == 5
    for label, other in zip(found.labels[1:], found.texts[1:], strict=True):
        assert other == f"{label.capitalize()}, my doctor said: {label}."
    assert which_text.lineup(m, text).word == which_text.content_words(m, text)[0]
    assert "said" not in found.labels and set(which_text.content_words(m, text)) <= {"diabetes", "doctor", "said"}
    stems = [label[:5] for label in which_text.lineup(m, "My doctor left.", "doctor").labels]
    assert len(set(stems)) == len(stems)
    for given, says in (("The of and.", "no content word"), ("Xyzzyx", "no content word")):
        with pytest.raises(dpt.InputError, match=says):
            which_text.lineup(m, given)
    with pytest.raises(dpt.InputError, match="has no word “nurse”"):
        which_text.lineup(m, text, "nurse")


def test_a_list_of_ones_own_has_the_original_once(space):
    found = which_text.listed_lineup(" a text ", ["b", "a text", "", "b", "c"])
    assert found.texts == (" a text ", "b", "c") and found.true == 0
    with pytest.raises(dpt.InputError, match="at least one other"):
        which_text.listed_lineup("a", ["a", " "])
    with pytest.raises(dpt.InputError, match="at most 100"):
        which_text.listed_lineup("a", [str(i) for i in range(200)])
    with pytest.raises(dpt.InputError, match="Give only one"):
        m = on(space, "santext")
        get_attacker("which-text").attack(m, m.rewrite("a", seed=1), word="a", candidates=["b"])


def test_a_list_without_the_original_says_so(space):
    a, b = words(12)[:2]
    m = on(space, "santext", epsilon=2.0)
    r = m.rewrite(a, seed=1)
    with pytest.raises(dpt.InputError, match="None of these texts"):
        which_text.attack(m, [r], lineup((f"{a} {b}", f"{b} {b}")))


def test_what_is_found_is_said_and_shows_no_text(space):
    a, b, c = words(12)[:3]
    m = on(space, "santext", epsilon=20.0)
    r = m.rewrite(f"{a} {b}", seed=1)
    found = get_attacker("which-text").attack(m, r, candidates=[f"{c} {b}"], answers=2, draws=20)
    message = found.sentence()
    assert "2 rewrites" in message and "Here it is right" in message
    assert "95% interval" in message and "practical limit" in message
    assert a not in repr(found) and a not in repr(found.lineup) and found.rank == 1
    assert found.rows()[0] == (f"{a} {b}", "100%") and found.accuracies[0].answers == 2
    wrong = which_text.WhichText(lineup(("x", "y")), (0.5, 0.5), 1, found.limit)
    assert wrong.rank == 2 and "Your text is guess number 2, with probability 50%." in wrong.sentence()
