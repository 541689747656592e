"""The sets of CusText that are bundled are those that it would build."""

from __future__ import annotations

import numpy as np
import pytest

from dptext_core.mechanisms.recommended import recommended
from dptext_core.mechanisms.words import word_groups
from dptext_core.words import word_space

SPACES = {"whole": lambda: word_space("minilm"), "begun with": lambda: recommended("custext").vocabulary}


@pytest.mark.slow
def test_they_are_what_is_built():
    space = word_space("minilm")
    stored, built = word_groups.stored_groups(space, 50), word_groups.build_groups(space, 50, "balanced")
    # Float32 products differ between processors in the last bit, which decides between words that are equally near.
    assert len(stored.outputs) == len(built.outputs) and np.sum(stored.group != built.group) <= 10
    same = [set(a) == set(b) for a, b in zip(stored.outputs, built.outputs, strict=True)]
    assert np.mean(same) > 0.98


@pytest.mark.parametrize("k", word_groups.TRIES)
@pytest.mark.parametrize("which", SPACES)
def test_each_set_is_of_the_nearest_to_its_first_word_and_holds_who_shares_it(which, k):
    """200 sets meet a wrong one with 87% where one in a hundred is wrong."""
    space = SPACES[which]()
    groups = word_groups.stored_groups(space, k)
    outputs = np.stack(groups.outputs)
    assert outputs.shape[1] == k and len(groups.group) == len(space)
    assert (outputs[groups.group] == np.arange(len(space))[:, None]).any(axis=1).all()
    # In order, a word without a set begins one.
    first = outputs[:, 0]
    assert (np.diff(first) > 0).all() and np.array_equal(groups.group[first], np.arange(len(outputs)))
    some = np.random.default_rng(k).choice(len(outputs), 200, replace=False)
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    near = unit[first[some]] @ unit.T
    near[np.arange(200), first[some]] = 2.0
    far = np.partition(near, -k, axis=1)[:, -k]
    assert (np.take_along_axis(near, outputs[some], axis=1).min(axis=1) > far - 1e-6).all()


def test_other_spaces_have_none_and_a_damaged_file_is_built_anew(monkeypatch, tmp_path):
    assert word_groups.stored_groups(word_space("minilm-input"), 20) is None
    monkeypatch.setattr(word_groups, "assets_folder", lambda: tmp_path)
    assert word_groups.stored_groups(word_space("minilm"), 20) is None
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / word_groups.GROUPS).write_bytes(b"PK\3\4 cut off")
    assert word_groups.stored_groups(word_space("minilm"), 20) is None
