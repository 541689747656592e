"""The reader: the best guess where it does not read, enumeration at one place, and what it says and refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from foreign import Generator
from small_spaces import diffractor, on, shuffled_lists
from tiny import vocabulary

import dptext_core as dpt
from dptext_core import WordSpace, attacks
from dptext_core.attacks import Prior, bayes, reader, reader_evidence
from dptext_core.mechanisms.words.word_space import SpaceMechanism
from dptext_core.models import MaskRequest, engine, load_masked_lm
from dptext_core.models.word_chances import log_frequencies

pytestmark = pytest.mark.usefixtures("stand_in_scores")

WORDS = tuple(w for w in vocabulary() if w not in dpt.stop_words())[:40]
_RNG = np.random.default_rng(7)
SPACE = WordSpace("small", "a small space", WORDS, (_RNG.normal(size=(len(WORDS), 5)) * 0.5).astype(np.float32))
BY_FORMULA = {
    "custext": on(SPACE, "custext", k=6, epsilon=3.0),
    "santext": on(SPACE, "santext", epsilon=4.0),
    "santext-plus": on(SPACE, "santext-plus", epsilon=4.0, sensitive=0.7, p=0.4),
    "tem": on(SPACE, "tem", epsilon=8.0),
}
TEXT = " ".join(WORDS[k] for k in (3, 17, 5, 29, 11))


def any_prior(m) -> Prior:
    p = np.random.default_rng(2).exponential(size=len(m.by_word.vocabulary.words))
    return Prior(tuple(m.by_word.vocabulary.words), p / p.sum())


def proposed(text: str, place: int, model: str) -> np.ndarray:
    """π at a place of a text, by a request and a softmax of its own: a tenth by frequency."""
    lm = load_masked_lm(model)
    pieces = [lm.word_pieces(w) for w in text.split()]
    (row,) = engine(model).score([MaskRequest(None, pieces, place)])
    x = np.array([row[lm.candidates.index(w)] for w in WORDS], np.float64)
    frequency = np.exp(log_frequencies(WORDS))
    p = 0.9 * np.exp(x) / np.exp(x).sum() + 0.1 * frequency
    return np.maximum(p, p.max() * np.exp(-25.0))


def enumerated(m, released: str, pi: np.ndarray, prior: Prior, gamma: float) -> np.ndarray:
    """q of every word at one place, from the channel of each word by itself."""
    likelihood = np.array([m.channel(k).at(m.config.epsilon).p(released) for k in range(len(WORDS))])
    q = likelihood * prior.p ** (1 - gamma) * pi**gamma
    return q / q.sum()


@pytest.mark.parametrize("name", BY_FORMULA)
def test_without_the_language_it_is_the_best_guess(name):
    m = BY_FORMULA[name]
    for seed, prior in itertools.product(range(4), (None, any_prior(m))):
        result = m.rewrite(TEXT, seed=seed)
        reading = reader.read_releases(m, result, gamma=0, prior=prior)
        assert len(reading.words) == 5 and reading.exact and reading.rests
        for w in reading.words:
            alone = bayes.attack(m, result, w.step, prior=prior, top=reader.SHOWN)
            assert w.guesses == tuple((word, p) for word, p, _ in alone.top)
            assert w.context_free_guess == alone.top[0][0] and w.rank == alone.rank
        assert reading.success == reading.context_free_share


@pytest.mark.parametrize("name", BY_FORMULA)
def test_one_place_is_read_as_by_enumeration(name, tiny_model):
    m = BY_FORMULA[name]
    prior = any_prior(m)
    for k, gamma in itertools.product((0, 9, 21), (0.5, 1.0)):
        result = m.rewrite(WORDS[k], seed=k)
        (word,) = reader.read_releases(m, result, gamma=gamma, prior=prior, model=tiny_model).words
        q = enumerated(m, result.text, proposed(result.text, 0, tiny_model), prior, gamma)
        order = np.argsort(-q)[: reader.SHOWN]
        assert [w for w, _ in word.guesses] == [WORDS[i] for i in order if q[i] > 0]
        assert [p for _, p in word.guesses] == pytest.approx([q[i] for i in order if q[i] > 0], rel=1e-3)
        assert word.rank == 1 + int((q > q[k] * (1 + 1e-9)).sum())


def test_at_rest_every_place_fits_what_is_read_at_the_others(tiny_model):
    m = BY_FORMULA["custext"]
    prior, rested = any_prior(m), 0
    for seed in range(6):
        result = m.rewrite(TEXT, seed=seed)
        reading = reader.read_releases(m, result, prior=prior, model=tiny_model)
        if not reading.rests:
            continue
        rested += 1
        now = [w.word if w.guesses[0][1] >= reader.BELIEVED else w.released_word for w in reading.words]
        for i, w in enumerate(reading.words):
            q = enumerated(m, w.released_word, proposed(" ".join(now), i, tiny_model), prior, reader.GAMMA)
            assert dict(w.guesses) == pytest.approx({word: q[WORDS.index(word)] for word, _ in w.guesses}, rel=1e-3)
    assert rested


def test_the_words_around_move_what_is_read(tiny_model):
    m = BY_FORMULA["santext"]
    result = m.rewrite(TEXT, seed=1)
    read, alone = (reader.read_releases(m, result, gamma=g, model=tiny_model) for g in (reader.GAMMA, 0))
    assert [w.guesses for w in read.words] != [w.guesses for w in alone.words]
    assert [w.context_free_guess for w in read.words] == [w.word for w in alone.words]


def test_a_release_is_not_read_by_the_chances_of_other_options(tmp_path):
    spaces = [str(tmp_path / f"{name}.npz") for name in ("one", "other")]
    for path in spaces:
        np.savez(path, words=np.array(WORDS), vectors=SPACE.vectors)
    m = dpt.get_mechanism("custext", epsilon=6.0, k=6, space=spaces[0])
    result = m.rewrite(f"My {WORDS[3]} treated my {WORDS[8]}.", seed=3)
    for other in (m.replace(k=5), m.replace(epsilon=30.0), m.replace(space=spaces[1])):
        with pytest.raises(dpt.InputError, match="made with another"):
            reader.read_releases(other, result)
    with pytest.raises(dpt.InputError, match="another k"):
        bayes.attack(m.replace(k=5), result, 1)
    # Each draw has an ε of its own, of which the best guess takes that of its draw.
    assert bayes.attack(m.replace(epsilon=30.0), result, 1) == bayes.attack(m, result, 1)


def test_several_releases_multiply():
    m = diffractor(shuffled_lists(30, 2), epsilon=0.4)
    text = m.vocabulary.words[4]
    releases = m.rewrites(text, 4, seed=3)
    (word,) = reader.read_releases(m, releases, gamma=0).words
    together = bayes.answers(m, [r.text for r in releases], true=text, top=reader.SHOWN)[-1]
    assert dict(word.guesses) == pytest.approx({w: p for w, p, _ in together.top}, rel=1e-9)
    assert word.rank == together.rank
    with pytest.raises(dpt.InputError, match="different texts"):
        reader.read_releases(m, [releases[0], m.rewrite(m.vocabulary.words[5], seed=1)], gamma=0)


def test_where_chances_depend_on_the_words_around_some_are_weighed_at_the_current_reading(tiny_model, monkeypatch):
    monkeypatch.setattr(reader_evidence._InContext, "most", 1)
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=60.0)
    result = m.rewrite("doctor hospital medicine", seed=4)
    reading = reader.read_releases(m, result, model=tiny_model)
    assert not reading.exact and "better attacker may exist" in reading.sentence()
    prior = attacks.public_prior(m)
    now = {w.step: w.released_word for w in reading.words}
    made = reader.Sweeps(m, reader_evidence.ReleasedText(result), None, prior, reader.GAMMA, tiny_model)  # type: ignore[arg-type]
    weighed = 0
    for i, w in enumerate(reading.words):
        base = dict(zip(prior.words, made._bases(now, [w.step], dpt.Task())[0], strict=True))
        weights = []
        for word, p in w.guesses:
            text = " ".join(word if k == i else other for k, other in enumerate(now.values()))
            weights.append(base[word] + np.log(m.distribution(text, i).p(w.released_word)) - np.log(p))
            weighed += 1
        assert weights == pytest.approx([weights[0]] * len(weights), abs=1e-3)
    assert weighed > 6


def test_where_chances_depend_on_the_words_around_every_release_proposes_words(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=60.0, keep_stopwords=False)
    every = m.rewrites("doctor hospital medicine", 2, seed=4)
    assert len({r.steps[1].replacement for r in every}) > 1
    text = reader_evidence.ReleasedText(every[0])
    now = {i: s.replacement for i, s in text.steps.items()}
    words = attacks.public_prior(m).words
    evidence = reader_evidence.evidence_of(m, text, [{i: r.steps[i] for i in text.steps} for r in every], words)
    (proposed,) = evidence._proposed([1], now, dpt.Task())
    each = [m.distribution(f"{now[0]} {r.steps[1].replacement} {now[2]}", 1) for r in every]
    tables = [dict(zip(d.candidates, d.log_probs, strict=True)) for d in each]
    known = [k for k, word in enumerate(words) if all(t.get(word, -np.inf) > -np.inf for t in tables)]
    expected = [sum(t[words[k]] for t in tables) for k in known]
    assert known and proposed[known] == pytest.approx(expected, abs=1e-3)


def test_where_chances_are_drawn_a_word_that_never_came_is_not_impossible():
    m = on(SPACE, "mvc", epsilon=3.0)
    result = m.rewrite(TEXT, seed=2)
    reading = reader.read_releases(m, result, gamma=0)
    assert not reading.exact and all(p > 0 for w in reading.words for _, p in w.guesses)
    (word, *_) = reading.words
    near = {w: m.channel(WORDS.index(w)).at(3.0).p(word.released_word) * 1000 + 1 / len(WORDS) for w, _ in word.guesses}
    prior = attacks.public_prior(m)
    expected = {w: n * prior.p[WORDS.index(w)] for w, n in near.items()}
    shares = dict(word.guesses)
    first = word.word
    assert {w: p / shares[first] for w, p in shares.items()} == pytest.approx(
        {w: e / expected[first] for w, e in expected.items()}, rel=1e-6
    )


@pytest.mark.slow
def test_words_that_never_came_out_weigh_no_more_than_one_draw_together():
    # A word that nearly always stays is read as itself, whatever the language says of the 21,000 others.
    m = dpt.get_mechanism("mvc", epsilon=150.0)
    result = m.rewrite("A banana sued the violin.", seed=3)
    reading = reader.read_releases(m, result)
    stays = [
        w
        for w in reading.words
        if w.released_word == w.original
        and m.by_word.channel(m.token_row(m.prepare(result.original), w.step)).at(150.0).p(w.original) > 0.9
    ]
    assert len(stays) >= 2 and all(w.rank == 1 for w in stays)


def test_a_word_that_no_word_explains_is_left_to_the_language():
    m = on(SPACE, "custext", k=4, mapping="conservative", epsilon=3.0)
    releases = m.rewrites("Xyzzyville", 12, seed=1)
    reading = reader.read_releases(m, releases, gamma=0)
    # It is read, and not counted: what was drawn without looking at a word tells nothing of it.
    assert reading.text.lower() == attacks.public_prior(m).guess and reading.words == ()


def test_kept_words_are_no_places_and_the_read_text_keeps_their_places(tiny_model):
    m = on(SPACE, "custext", k=6, epsilon=3.0, keep_stopwords=True, recase="sentence")
    text = f"{WORDS[3].capitalize()} and the {WORDS[8]}, with {WORDS[21]}."
    result = m.rewrite(text, seed=5)
    reading = reader.read_releases(m, result, model=tiny_model)
    assert [result.steps[w.step].original.lower() for w in reading.words] == [WORDS[3], WORDS[8], WORDS[21]]
    one, two, three = (w.word for w in reading.words)
    assert reading.text == f"{one.capitalize()} and the {two}, with {three}."
    assert "diabetes" not in repr(reading) and one not in repr(reading)
    assert reading.rows()[0][0] == reading.words[0].released_word


def test_figures_are_shares_of_the_places():
    def word(original, released, guess, alone, rank):
        return reader.WordReading(0, original, released, ((guess, 0.5),), rank, alone)

    words = (
        word("doctor", "doctor", "nurse", "doctor", 2),
        word("nurse", "doctor", "nurse", "doctor", 1),
        word("fever", "pain", "fever", "fever", 1),
        word("pain", "fever", "heart", "fever", None),
    )
    found = reader.ReleaseReading(words, "", 0.01, 0.9, "bundled", 1, 2, True, True)
    assert (found.success, found.context_free_share, found.unchanged_share, found.among) == (0.5, 0.5, 0.25, 0.75)
    assert "recovers 50% of the 4 replaced words" in found.sentence()
    none = reader.ReleaseReading((), "", 0.01, 0.9, "bundled", 1, 1, True, True)
    assert none.success == 0 and "nothing to recover" in none.sentence()


def test_what_cannot_be_read_is_refused():
    class Silent(SpaceMechanism):
        """Draws words, and says nothing of their chances."""

        name, title, notion = "silent", "Silent", "none"
        can = frozenset({"alignment"})

        def channel(self, row):
            raise NotImplementedError

    with pytest.raises(dpt.NoDistribution, match="no formula for the probabilit"):
        reader.check(Silent.create())
    with pytest.raises(dpt.NoDistribution, match="writes a new text"):
        reader.check(Generator.create())
    m = BY_FORMULA["custext"]
    with pytest.raises(dpt.InputError, match="between 0 and 1"):
        reader.read_releases(m, m.rewrite(TEXT), gamma=1.5)
    with pytest.raises(dpt.InputError, match="at least one"):
        reader.read_releases(m, [])
    task = dpt.Task()
    task.cancel()
    with pytest.raises(dpt.Cancelled):
        reader.read_releases(m, m.rewrite(TEXT), gamma=0, task=task)


def test_the_attacker_reads_several_answers():
    m = dpt.get_mechanism("custext", epsilon=12)  # forty fresh releases tell every word here
    result = m.rewrite("My doctor treated my sister.", seed=1)
    attacker = attacks.get_attacker("reader")
    assert isinstance(attacker, attacks.TextAttacker)
    one = attacker.attack(m, result)
    many = attacker.attack(m, result, answers=40)
    assert isinstance(one, reader.ReleaseReading) and isinstance(many, reader.ReleaseReading)
    assert many.answers == 40 and many.success == 1.0 and "in 40 releases" in many.sentence()
    assert one.answers == 1 and 0 < one.chance < 0.05 and 0 <= one.success <= many.success


@pytest.mark.parametrize("gamma", ["a", None, float("nan"), True])
def test_what_is_no_weight_is_refused(gamma):
    m = dpt.get_mechanism("custext", epsilon=5.0)
    with pytest.raises(dpt.InputError, match="gamma must be a"):
        reader.read_releases(m, m.rewrite("My doctor treated my sister.", seed=1), gamma=gamma)


def test_a_release_of_another_mechanism_is_refused():
    result = dpt.get_mechanism("dp-mlm").rewrite("My doctor treated my sister.", seed=1)
    with pytest.raises(dpt.InputError, match="dp-mlm made this release, not custext"):
        reader.read_releases(dpt.get_mechanism("custext"), result)
