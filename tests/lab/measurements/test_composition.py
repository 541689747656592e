"""Several releases read together, and longer texts: figures on a few texts against the reader itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.attacks import reader
from dptext_lab.measurements import composition

pytestmark = pytest.mark.usefixtures("stand_in_scores")


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    from tiny_causal import write_model

    from dptext_core.models.causal import Judge

    return Judge(write_model(tmp_path_factory.mktemp("judge"), "gpt2"), dtype="float32", device="cpu")


TEXTS = ["My doctor treated my sister.", "The film was long."]


def test_texts_are_joined_by_label_and_cut_and_none_is_used_twice():
    texts, labels = ["a b", "x", "c d e", "y z", "f g h i"], ["1", "2", "1", "2", "1"]
    assert composition.join_texts(texts, labels, 3, 9) == ["a b c", "x y z", "f g h"]
    assert composition.join_texts(texts, labels, 3, 2) == ["a b c", "x y z"]
    assert composition.join_texts(texts, labels, 99, 9) == []


def test_more_releases_are_those_before_and_others_and_what_is_gained_is_paired():
    m = dpt.get_mechanism("diffractor", epsilon=0.6)
    one, three = composition.measure("given", m, [*TEXTS, "and the"], 20, (1, 3))
    every = [m.rewrites(text, 3, seed=k) for k, text in enumerate(TEXTS)]
    for row, n in ((one, 1), (three, 3)):
        found = [reader.read_releases(m, of[:n]) for of in every]
        assert (row.releases, row.texts, row.drawn) == (n, 2, sum(len(f.words) for f in found))
        assert row.reader == pytest.approx(np.mean([f.success for f in found]))
        assert row.alone == pytest.approx(np.mean([f.context_free_share for f in found]))
    assert (one.more, one.low, one.high) == (0, 0, 0) and one.likely is None
    assert three.more == pytest.approx(three.reader - one.reader) and three.low <= three.more <= three.high


def test_a_language_model_is_asked_about_the_first_release(judge):
    m = dpt.get_mechanism("diffractor", epsilon=0.6)
    (row,) = composition.measure("given", m, TEXTS[:1], 20, (1,), judge)
    assert 0 <= row.likely <= 1


@pytest.mark.slow
def test_the_command_goes_on_with_its_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(composition, "RELEASES", (1, 2))
    out = tmp_path / "composition.json"
    given = ["--set", "builtin", "--words", "20", "--texts", "1", "--mechanism", "diffractor", "--out", str(out)]
    assert composition.main(given) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") == printed.count("(interval unknown)") == len(composition.RELEASES), "of one text"
    assert composition.main([*given, "--add"]) == 0 and capsys.readouterr().out == ""
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [(r["releases"], r["texts"]) for r in rows] == [(k, 1) for k in composition.RELEASES]
