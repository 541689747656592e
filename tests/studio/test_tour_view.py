"""The tour's numbers against independent computations, and what it says of its note."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.support.assets import examples
from dptext_studio.figures import tour_view
from dptext_studio.lessons import redaction


@pytest.fixture(scope="module")
def note():
    return examples()[0].text


@pytest.mark.model
def test_every_word_of_the_story_stands_in_the_note_and_redaction_leaves_the_fact(note):
    result = dpt.get_mechanism("custext").rewrite(note, seed=1)
    fact = next(k for k, s in enumerate(result.steps) if s.original == "heart")
    story = tour_view.tour_groups(result, fact)
    words = [s.original for s in result.steps]
    found = {title: [words[k] for k in at] for title, at in story["groups"]}
    assert [len(w) for w in found.values()] == [2, 2, 2, 3, 3]
    assert found["Her name and her doctor’s"] == ["Halvorsen", "Okafor"]
    assert found["Where she lives"] == ["Ashgrove", "Lane"]
    assert [(placeholder, [words[k] for k in at]) for placeholder, at in story["crossed"]] == [
        ("[NAME]", ["Halvorsen"]),
        ("[NUMBER]", ["67"]),
        ("[PLACE]", ["Ashgrove", "Lane"]),
        ("[NUMBER]", ["9"]),
        ("[DATE]", ["March"]),
        ("[DATE]", ["August"]),
        ("[DATE]", ["Thursday"]),
        ("[NAME]", ["Okafor"]),
    ]
    crossed = {k for _, at in story["crossed"] for k in at}
    assert fact not in crossed and story["fact"] == fact
    assert not set(story["clues"]) & crossed


def test_the_tour_and_the_lesson_show_what_the_mechanism_releases(note):
    released = dpt.get_mechanism("redact").rewrite(note).text
    assert tour_view.redact(note).text == released
    lesson = "".join(piece for piece, _ in redaction.crossed_out(redaction.EVERYTHING))
    assert lesson == released and "[NAME]" in lesson


def test_after_redaction_a_reader_is_as_sure_as_the_variants_read_differently():
    prior = np.array([0.5, 0.3, 0.2])
    same = ["Mrs Halvorsen is ill.", "Mrs Okafor is ill.", "Mrs Halvorsen is well."]
    assert tour_view.redaction_posterior(same, prior) == pytest.approx([0.625, 0.375, 0.0])
    facts = ["A heart disease.", "A lung disease.", "A liver disease."]
    assert tour_view.redaction_posterior(facts, prior) == pytest.approx([1.0, 0.0, 0.0])


@pytest.mark.model
def test_the_numbers_are_those_of_the_package(note):
    mechanism = dpt.get_mechanism("dp-mlm")
    question = dpt.BeliefQuestion.make(mechanism, note, "heart")
    fact = next(k for k, s in enumerate(mechanism.rewrite(question.prepared[0], seed=1).steps) if s.original == "heart")
    told = tour_view.tour_numbers(question, fact)
    assert told["redacted"]["p"] == [1.0, 0.0, 0.0, 0.0] and told["redacted"]["prior"] == [0.25] * 4
    assert (told["fact"], told["other"], told["eps"]) == ("heart", "lung", 1.0)
    assert told["loss"] == pytest.approx(1.0)
    assert len({d["word"] for d in told["draws"]}) > 1, "fresh noise for each draw"
    at_one = mechanism.replace(epsilon=1.0)
    neighbour = note.replace("heart", "lung")
    for drawn in told["draws"]:
        own, other = (at_one.distribution(at_one.prepare(text), fact).p(drawn["word"]) for text in (note, neighbour))
        assert drawn["p"] == pytest.approx([own, other], rel=1e-4)
        assert abs(math.log(own / other)) <= told["loss"]
        again = dpt.metrics.score("cosine", [note], [note.replace("heart", drawn["word"])])[0]
        assert drawn["meaning"] == pytest.approx(float(again), abs=2e-4)
    redacted = dpt.metrics.score("cosine", [note], [tour_view.redact(note).text])[0]
    assert told["redacted"]["meaning"] == pytest.approx(float(redacted), abs=2e-4)
    assert told["redacted"]["meaning"] < min(d["meaning"] for d in told["draws"])
