"""The polish: what it looks at, what it writes, and what it says of it."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from foreign import Generator, Swap
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import polish, reader
from dptext_core.measure.ledger import Ledger
from dptext_core.models import MaskRequest, engine, load_masked_lm
from dptext_core.models.word_chances import over_words
from dptext_core.text.document import Document
from dptext_core.text.lexicons import stop_words
from dptext_core.words import word_space

pytestmark = pytest.mark.usefixtures("stand_in_scores")

TEXT = "My doctor treated my sister, and the medicine was good."


def test_by_a_formula_it_is_the_reading():
    m = dpt.get_mechanism("diffractor", epsilon=1.0)
    result = m.rewrite(TEXT, seed=0)
    found = result.polished(m)
    read = reader.read_releases(m, result)
    assert found.text == read.text and found.text == result.polished().text
    assert found.unchanged_shares == (pytest.approx(read.unchanged_share), pytest.approx(read.success))
    assert found.guarantee is result.guarantee, "the same promise, in the same words"


def test_it_does_not_work_out_the_best_guess_that_nobody_reads(monkeypatch):
    def asked(*_):
        raise AssertionError("the best guess of single words was worked out")

    monkeypatch.setattr(reader.Sweeps, "alone", asked)
    m = dpt.get_mechanism("diffractor", epsilon=1.0)
    result = m.rewrite(TEXT, seed=0)
    assert result.polished(m).text
    with pytest.raises(AssertionError):
        reader.read_releases(m, result)


@pytest.mark.parametrize("name", ["diffractor", "mvc", "dp-mlm"])
def test_its_pieces_make_up_its_text_spend_nothing_and_look_at_nothing_of_the_original(name):
    m = dpt.get_mechanism(name)
    result = m.rewrite(TEXT, seed=3)
    found = result.polished(m)
    other = "Xx xxxxxx xxxxxxx xx xxxxxx, xxx xxx xxxxxxxx xxx xxxx."
    steps = [dataclasses.replace(s, original=other[slice(*s.span)], reason="") for s in result.steps]
    assert dataclasses.replace(result, original=other, steps=steps).polished(m).text == found.text
    assert all(found.text[slice(*p.span)] == p.text and p.epsilon == 0 for p in found.releases)
    kept = [(p.text, p.origin) for p in found.releases if p.origin != "polished"]
    assert kept == [(p.text, p.origin) for p in result.releases if not p.is_sampled]
    assert {p.origin for p in found.releases} == {"polished", "copied"}
    blank = re.compile(r"\s+")
    assert len(blank.findall(found.text)) == len(blank.findall(result.text))


def test_where_only_words_are_known_a_place_takes_what_fits_and_is_like_what_was_drawn(monkeypatch):
    monkeypatch.setattr(polish._OfLikeness, "most", 1)
    m = dpt.get_mechanism("mvc", epsilon=80.0)
    result = m.rewrite("My doctor treated my sister.", seed=2)
    found = result.polished(m)
    space, lm = word_space(), load_masked_lm("bundled")
    places = [k for k, s in enumerate(result.steps) if s.action == "replace"]
    pieces = [lm.word_pieces(s.replacement) for s in result.steps]
    logits = engine("bundled").score([MaskRequest(None, pieces, k) for k in places])
    proposals = over_words(logits, "bundled", dpt.ENGLISH, space.words)
    expected = []
    for k, row in zip(places, proposals, strict=True):
        vectors = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
        likeness = vectors @ vectors[space.rows([result.steps[k].replacement])[0]]
        expected.append(space.words[int(np.argmax(row + polish.LIKENESS * likeness))])
    polished = [p.text for p in found.releases if p.origin == "polished"]
    assert [w.lower() for w in polished] == [w.lower() for w in expected]


def test_a_new_text_is_polished_but_for_its_stop_words():
    result = Generator.create().rewrite(TEXT, seed=1)
    found = polish.polish(result, Generator.create())
    stop = dpt.stop_words()
    assert all(p.origin == "polished" and p.text not in stop for p in found.releases)
    assert found.unchanged_shares is None and found.num_changed >= 0
    message = found.sentence()
    assert "spent no ε" in message and "original words" not in message


def test_a_mechanism_of_another_is_polished_too_and_words_that_nobody_knows_stay():
    m = Swap.create()
    result = m.rewrite(TEXT, seed=1)
    found = result.polished(m)
    assert found.sampled_result is result
    known = word_space().rows([s.replacement for s in result.steps])
    for step, row in zip(result.steps, known, strict=True):
        if step.action == "replace" and row < 0:
            assert step.replacement in found.text


def test_what_leaves_is_the_draw_with_its_polish_and_the_ledger_has_the_draw():
    m = dpt.get_mechanism("diffractor", epsilon=1.0)
    result = m.rewrite(TEXT, seed=None)
    found = result.polished(m)
    told = found.to_dict()
    assert told["polished"] == found.text and told["text"] == result.text
    assert "doctor" not in repr(found) and "original" not in told
    ledger = Ledger()
    ledger.record(found.sampled_result, released=True)
    (entry,) = ledger.entries
    assert entry.released and entry.total == pytest.approx(result.guarantee.total)


def test_a_text_without_a_drawn_word_stays_as_it_is():
    m = dpt.get_mechanism("diffractor", epsilon=1.0)
    found = m.rewrite("and the of").polished(m)
    assert found.text == "and the of" and "nothing to clean up" in found.sentence()


def test_a_name_that_nobody_registered_is_asked_for():
    result = Swap.create().rewrite(TEXT, seed=1)
    with pytest.raises(dpt.DPTextError, match="swap"):
        result.polished()
    assert isinstance(attacks.polish.polish(result, Swap.create()), polish.PolishedResult)


@pytest.mark.slow
# By a formula, by likeness alone, by a language model at each place, and of a new text.
@pytest.mark.parametrize("name", ["diffractor", "mvc", "dp-mlm", "dp-prompt"])
def test_no_word_that_is_never_released_is_written(name, tmp_path):
    """Words that a polish of the same draws writes where they are not listed."""
    tiny = {"model": str(tiny_generator(tmp_path / "t5", "t5")), "max_tokens": 20} if name == "dp-prompt" else {}
    m = dpt.get_mechanism(name, **tiny)
    m = m.replace(epsilon=min(40.0, m.max_epsilon))
    written = Document.parse(m.rewrite(TEXT, seed=0).polished().text)
    stop, words = stop_words(), {t.text.lower() for t in written.tokens if t.kind == "word"}
    listed = sorted(w for w in words if w not in stop)[:6]
    without = m.replace(never=tuple(listed))
    banned = without.never
    found = without.rewrite(TEXT, seed=0).polished()
    words = [p.text for p in found.releases if p.origin == "polished"]
    assert listed and words and not [w for w in words if banned.bans(w)], found.text


def test_a_listed_word_is_not_written_where_only_words_are_known():
    """One that a polish of the same draw writes where it is not listed."""
    listed = [w for w in word_space().words if w.isalpha() and len(w) < 8][::3]
    m, free = dpt.get_mechanism("dp-mlm", epsilon=40.0, never=listed), dpt.get_mechanism("dp-mlm", epsilon=40.0)
    drawn = [m.rewrite("My doctor treated my sister.", seed=s) for s in range(4)]
    freely = [dataclasses.replace(r, config=free.config).polished(free) for r in drawn]

    def written(found):
        return {p.text.lower() for one in found for p in one.releases if p.origin == "polished"}

    assert written(freely) & set(listed) and not written([r.polished() for r in drawn]) & set(listed)


def test_a_polish_by_another_mechanism_is_refused():
    result = dpt.get_mechanism("custext", epsilon=5.0).rewrite(TEXT, seed=0)
    others = [dpt.get_mechanism("custext", **more) for more in ({"epsilon": 6.0}, {"epsilon": 5.0, "k": 5})]
    for other in (dpt.get_mechanism("diffractor"), "custext", *others):
        with pytest.raises(dpt.InputError, match=r"that made|made this|made with another"):
            result.polished(other)
