"""Attackers and word statistics where a detector flags words: mechanisms with stand-ins, redaction, surrogates."""

from __future__ import annotations

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.attacks import bayes, best, mask_inference, nearest, polish, prior, reader, reader_evidence, risk
from dptext_core.measure.calibration import measured_together
from dptext_core.mechanisms.detected.hybrid import substitute
from dptext_core.pieces import FLAGGED
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.task import UNWATCHED

pytestmark = pytest.mark.usefixtures("stand_in_scores")

NOTE = "Seen Thursday: Omar Haddad, 67, of 14 Meadow Lane, has lost weight since May. Mrs Brandt and Omar were worried."
WORD_BY_WORD = ("custext", "diffractor", "santext")


def pair(name, **options):
    return dpt.get_mechanism(name, **options), dpt.get_mechanism(name, surrogates=True, **options)


def flagged_steps(result):
    return [i for i, s in enumerate(result.steps) if s.reason == FLAGGED]


@pytest.mark.parametrize("name", WORD_BY_WORD)
def test_an_unflagged_word_has_the_statistics_of_the_inner_mechanism(name):
    plain, m = pair(name)
    prepared = m.planned(m.prepare(NOTE))
    shown = substitute(prepared.document, m.draw(prepared, NoiseStream(1)))
    inner = plain.prepare(shown.text)
    places = m.alignment.sampled_tokens(NOTE)
    assert "weight" in [prepared.document.words[i] for i in places] and not {*places} & {*prepared.by_token}
    for i in places:
        row = m.by_word.token_row(prepared, i)
        assert row == plain.by_word.token_row(inner, i) is not None
        own, other = (x.by_word.channel(row).deniability(x.config.epsilon) for x in (m, plain))
        assert own == pytest.approx(other, abs=1e-12)
        d = m.distribution(prepared, i)
        assert (d.p_keep(), d.expected_distinct(100)) == pytest.approx(own, abs=1e-9)
    assert all(m.by_word.token_row(prepared, i) is None for i in prepared.by_token)
    n_w, inner_n_w = measured_together([m, plain], "n_w", NOTE)
    assert n_w.value == pytest.approx(inner_n_w.value, abs=1e-12) and 0 < n_w.value < 1


@pytest.mark.parametrize("name", WORD_BY_WORD)
def test_attackers_find_as_much_of_the_unflagged_words_as_of_the_inner_mechanism(name):
    plain, m = pair(name)
    prepared = m.planned(m.prepare(NOTE))
    result, stream = m.rewrite(NOTE, seed=2), NoiseStream(2).at(0)
    inner = plain.rewrite_prepared(prepared.with_words(m.draw(prepared, stream)), stream, UNWATCHED)
    own, other = best.attack_words(m, result), best.attack_words(plain, inner)
    assert not own.omissions and set(own.places) == {*other.places, *flagged_steps(result)} and len(other.places) > 4
    at = [own.places.index(i) for i in other.places]
    for attacker in ("same-word", "nearest-words", "best-guess", "language-model"):
        assert [own.words[attacker][k] for k in at] == other.words[attacker], attacker
        assert [own.hits[attacker][k] for k in at] == other.hits[attacker]


def test_the_expected_success_at_an_unflagged_word_is_that_of_the_inner_mechanism():
    plain, m = pair("custext")
    success, expected = (risk.word_success(x, x.prepare(NOTE)).success for x in (m, plain))
    assert success == pytest.approx({i: expected[i] for i in m.alignment.sampled_tokens(NOTE)})


def test_the_optimal_attacker_stays_at_the_prior_where_a_word_is_flagged():
    m = dpt.get_mechanism("custext", surrogates=True)
    public, result = prior.public_prior(m), m.rewrite(NOTE, seed=1)
    for i in flagged_steps(result):
        found = bayes.attack(m, result, i, top=3)
        assert found.success == pytest.approx(public.chance) and found.top[0][0] == public.guess
        assert all(p == pytest.approx(before, abs=1e-15) for _, p, before in found.top)
    sampled = next(i for i, s in enumerate(result.steps) if s.original == "weight")
    assert bayes.attack(m, result, sampled).success > 2 * public.chance
    read = {w.step: w for w in reader.read_releases(m, result, gamma=0.0).words}
    assert {read[i].word for i in flagged_steps(result)} == {public.guess} != {read[sampled].word}


@pytest.mark.parametrize(("name", "words"), [("redact", 7), ("surrogates", 9)])
def test_redaction_and_surrogates_are_attacked_at_the_flagged_words(name, words):
    m = dpt.get_mechanism(name)
    result = m.rewrite(NOTE, seed=1)
    found = best.ask(m, result)
    assert found.words == words and list(found.shares) == list(best.ASKED) and not found.omissions
    read = reader.read_releases(m, result)
    assert read.exact and len(read.words) == words
    assert len(nearest.attack(m, result).guesses) == len(mask_inference.attack(m, result).guesses) == words
    with pytest.raises(dpt.NoDistribution, match="independently of the original"):
        bayes.BestGuess().check(m)


def test_a_word_that_a_surrogate_repeats_by_chance_is_found():
    m = dpt.get_mechanism("surrogates")
    hits = [best.attack_words(m, r, quick=True).hits["same-word"] for r in m.rewrites("Seen Thursday.", 70, seed=1)]
    assert 2 < sum(x for hit in hits for x in hit) < 25  # one of 7 weekdays


@pytest.mark.parametrize("name", ["santext", "mahalanobis"])
def test_the_evidence_of_a_flagged_place_is_none(name):
    m = dpt.get_mechanism(name, surrogates=True)
    result = m.rewrite(NOTE, seed=1)
    text = reader_evidence.ReleasedText(result, flagged=True)
    words = m.by_word.vocabulary.words
    evidence = reader_evidence.evidence_of(m, text, [text.steps], words)
    assert evidence.exact is bayes.is_available(m)
    now = {i: s.replacement for i, s in text.steps.items()}
    base = np.log(prior.public_prior(m).p)
    places = list(text.steps)
    alone = list(evidence.alone(places, base, now, UNWATCHED))
    together = list(evidence.of_places(places, [base] * len(places), now, UNWATCHED))
    for k, i in enumerate(places):
        changed = i not in flagged_steps(result)
        assert all(np.array_equal(x, base) is not changed for x in (alone[k], together[k]))
        assert np.array_equal(evidence.weights(i, base, now, UNWATCHED), base) is not changed


@pytest.mark.parametrize("name", ["custext", "surrogates"])
def test_polishing_leaves_stand_ins_as_they_are(name):
    m = dpt.get_mechanism(name, **({"surrogates": True} if name == "custext" else {}))
    result = m.rewrite(NOTE, seed=1)
    polished = polish.polish(result, m)
    shown = [result.text[slice(*result.steps[i].out)] for i in flagged_steps(result)]
    assert len(shown) == 9 and all(word in polished.text for word in shown)
    assert (polished.text == result.text) is (name == "surrogates")
