"""Stand-ins that tell of a flagged word, and flags that another word decides: the audit finds each."""

from __future__ import annotations

import pytest

import dptext_core as dpt
from dptext_core.auditing.checks import Subject
from dptext_core.auditing.flagged_words import SAME_NOISE, TEXTS, flagged_words
from dptext_core.auditing.inputs import Meter
from dptext_core.mechanisms.detected import hybrid
from dptext_core.mechanisms.words.word_trace import Constant
from dptext_core.privacy.sampling import NoiseStream
from dptext_lab.broken_mechanisms import broken, sound
from dptext_lab.broken_mechanisms.stand_ins import STAND_INS


def look(m):
    return flagged_words(Subject(m, m.guarantee("doctor"), ["doctor"], NoiseStream(4), Meter()))


@pytest.mark.parametrize("name", [f.name for f in STAND_INS])
def test_each_fault_is_found_and_its_sound_twin_is_not_refuted(name):
    check = look(broken(name))
    assert check.status == "refuted" and check.witness is not None
    reason = "another word" if name == "unsaid-flags" else "stated distribution"
    assert reason in check.reason
    twin = look(sound(name))
    assert twin.status == "tested" and twin.draws >= 2 * SAME_NOISE * len(TEXTS)


def test_a_stand_in_that_is_drawn_otherwise_than_stated_is_found(monkeypatch):
    """What is stated is the same for all words, and only the draw tells of them."""

    def draw(self, prepared, stream):
        words = prepared.document.words
        own = stream.at(hybrid.STREAM)
        out = {}
        for flag in prepared.flags:
            listed = self.stand_ins(flag.form)
            known = [c for c in listed if len(c) == len(words[flag.token])] or listed
            out[flag.token] = known[Constant(known, None).draw(0.0, own.at(flag.same))]
        return out

    monkeypatch.setattr(hybrid.HybridMechanism, "draw", draw)
    check = look(dpt.get_mechanism("custext", surrogates=True))
    assert check.status == "refuted" and "release depends" in check.reason and check.draws == 0


def test_nothing_is_looked_at_without_stand_ins():
    assert look(dpt.get_mechanism("custext")) is None
    assert look(dpt.get_mechanism("surrogates")) is None
