"""Banks from texts: what is left out, what is taken once, resuming, the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from small_banks import meaningless

import dptext_core as dpt
from dptext_core.cli import main
from dptext_core.errors import Cancelled, ConfigError, InputError
from dptext_core.models import sentence_encoder
from dptext_core.words.bank import read_about, sentence_bank
from dptext_lab.training import bank_building
from dptext_lab.training.bank_building import abusive_words, build_bank, gather

SAID = {"title": "T", "origin": "O", "licence": "L"}


@pytest.fixture
def asked(monkeypatch):
    """What the encoder was asked."""
    every: list[str] = []
    monkeypatch.setattr(sentence_encoder, "embed", lambda texts, **_: every.extend(texts) or meaningless(texts))
    return every


def test_texts_are_cut_and_each_sentence_is_taken_once():
    found = gather(["The soup was cold. The bread was\n  very old!", "the soup was COLD", "Nobody came to us today."])
    assert found.sentences == ("The soup was cold.", "Nobody came to us today.")
    assert found.omissions == {"fewer than 4 words": 2, "twice": 1}


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("Please write to ana@mail.org about the soup.", "a name or an address"),
        ("I asked Maria Lopez about the soup.", "a name or an address"),
        ("He lives at 12 Maple Lane with his dog.", "a name or an address"),
        ("Read it at www.soup.org before you eat.", "a name or an address"),
        ("My number at the clinic is 48213377.", "a long number"),
        ("Call me on 555 01 23 after the soup.", "a long number"),
        ("That old bastard ate all of it.", "a word on the list"),
        ("Those old Bastards ate all of it.", "a word on the list"),
        ("The zebra ate all of the soup.", "a word on the list"),
        ("We paid 40 for it in 1998.", ""),
        ("They came to Lisbon in the spring.", ""),
    ],
)
def test_what_is_left_out(sentence, why):
    found = gather([sentence], avoid=["Zebra"])
    assert found.omissions == ({why: 1} if why else {}) and len(found.sentences) == (not why)


def test_lengths_are_limits():
    text = "One two three four five."
    assert gather([text], shortest=6).omissions == {"fewer than 6 words": 1}
    assert gather([text], shortest=1, longest=4).omissions == {"more than 4 words": 1}
    with pytest.raises(ConfigError, match="must not have more words"):
        gather([text], shortest=5, longest=4)


def test_the_list_of_words_is_there_and_holds_no_everyday_word():
    words = abusive_words()
    assert len(words) > 100 and words.isdisjoint({"boy", "tool", "suit", "queen", "doctor", "shaft"})


def test_a_build_that_was_stopped_goes_on(tmp_path, asked, monkeypatch):
    monkeypatch.setattr(bank_building, "PART", 10)
    gathered = gather(f"The {n}th soup was very cold." for n in range(35))
    assert len(gathered.sentences) == 35
    task = dpt.Task(lambda done, of: task.cancel() if done == 20 else None)
    with pytest.raises(Cancelled, match="continue"):
        build_bank(gathered, tmp_path / "bank", task=task, **SAID)
    assert len(asked) == 20
    about = build_bank(gathered, tmp_path / "bank", **SAID)
    assert asked == list(gathered.sentences), "what was encoded is not encoded again"
    bank = sentence_bank(str(tmp_path / "bank"))
    assert bank.sentences == gathered.sentences and about == bank.about and about.sentences == 35
    assert about.left_out == {} and (about.title, about.origin, about.licence) == ("T", "O", "L")
    assert sorted(p.name for p in (tmp_path / "bank").iterdir()) == ["bank.json", "sentences.txt", "vectors.zlib"]


def test_a_part_that_was_cut_off_is_encoded_again(tmp_path, asked, monkeypatch):
    monkeypatch.setattr(bank_building, "PART", 10)
    gathered = gather(f"The {n}th soup was very cold." for n in range(20))
    task = dpt.Task(lambda done, of: task.cancel() if done == 10 else None)
    with pytest.raises(Cancelled):
        build_bank(gathered, tmp_path, task=task, **SAID)
    (part,) = (tmp_path / ".parts").glob("*/*.npy")
    part.write_bytes(part.read_bytes()[:100])
    build_bank(gathered, tmp_path, **SAID)
    exact = meaningless(gathered.sentences)
    codes = sentence_bank(str(tmp_path)).codes.astype(np.float64)
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    assert np.abs(codes - exact).max() < 0.002


def test_other_sentences_begin_anew_and_a_full_folder_is_refused(tmp_path, asked):
    one, other = gather(["The soup was very cold."]), gather(["The bread was very old."])
    build_bank(one, tmp_path / "bank", **SAID)
    with pytest.raises(InputError, match="contains a bank"):
        build_bank(other, tmp_path / "bank", **SAID)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="contains other files"):
        build_bank(one, tmp_path / "mine", **SAID)
    with pytest.raises(InputError, match="No sentence is left"):
        build_bank(gather(["Soup."]), tmp_path / "none", **SAID)


def test_the_command_builds_and_covers(tmp_path, asked, capsys):
    texts = tmp_path / "texts.csv"
    texts.write_text("text\n" + "\n".join(f'"The {n}th soup was very cold. Yes."' for n in range(6)) + "\n")
    assert main(["bank", "build", str(texts), "--out", str(tmp_path / "bank"), "--licence", "CC0"]) == 0
    printed = capsys.readouterr()
    assert "excluded, fewer than 4 words: 6" in printed.err and "6 sentences." in printed.err
    assert "read sentences.txt" in printed.err and "--mechanism dp-sentence --bank" in printed.out
    about = read_about(tmp_path / "bank")
    assert (about.title, about.licence, about.left_out) == ("texts.csv", "CC0", {"fewer than 4 words": 6})
    assert main(["bank", "cover", str(texts), "--bank", str(tmp_path / "bank"), "--max-texts", "2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split()[:2] == [str(texts), "4"], "two texts of two sentences"
    assert json.loads((tmp_path / "bank" / "bank.json").read_text())["steps"] == 500


def test_coverage_is_the_nearest_cosine(tmp_path, asked):
    from dptext_lab.training.bank_coverage import coverage, nearest

    build_bank(gather(["The soup was very cold.", "The bread was very old."]), tmp_path, **SAID)
    bank = sentence_bank(str(tmp_path))
    found = nearest(bank, ["The soup was very cold.", "Something else."])
    assert found[0] == pytest.approx(1.0, abs=1e-4)
    exact = meaningless(["Something else."])[0] @ meaningless(bank.sentences).T
    assert found[1] == pytest.approx(exact.max(), abs=0.001)
    c = coverage(bank, ["The soup was very cold. Something else.", "  "])
    assert c.sentences == 2 and c.mean == pytest.approx(found.mean()) and c.near == 0.5
    with pytest.raises(InputError, match="no sentence"):
        coverage(bank, [""])
