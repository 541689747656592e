"""Banks of sentences: exact cosines, what rounding moves, and files that are not what they should be."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from small_banks import SENTENCES, meaningless, write

from dptext_core.errors import ConfigError, InputError, ModelUnavailable
from dptext_core.words import bank as banks
from dptext_core.words.bank import BANK_STEPS, DIMENSIONS, SentenceBank, bank_codes, sentence_bank, text_codes


@pytest.fixture
def bank(small_bank) -> SentenceBank:
    return sentence_bank(small_bank)


def test_a_cosine_is_that_of_the_whole_numbers_to_the_last_bit(bank):
    """Sums of products are exact, whatever the order, so that float64 alone rounds: twice, in dividing."""
    codes = text_codes(meaningless(["one text", "and another"]))
    found = bank.cosines(codes)
    for i, text in enumerate(codes.tolist()):
        for j in (0, 7, 29):
            dot = sum(a * b for a, b in zip(text, bank.codes[j].tolist(), strict=True))
            square = sum(a * a for a in text) * sum(int(b) ** 2 for b in bank.codes[j].tolist())
            assert found[i, j] == pytest.approx(float(Fraction(dot)) / square**0.5, rel=1e-15)


def test_a_text_has_the_same_bits_alone_and_among_others(bank, monkeypatch):
    codes = text_codes(meaningless([f"text {i}" for i in range(70)]))
    together = bank.cosines(codes)
    monkeypatch.setattr(banks, "_BLOCK", 7)
    assert all((bank.cosines(codes[i]) == together[i]).all() for i in (0, 33, 69))


def test_what_rounding_moves_is_what_is_stated():
    vectors = meaningless([f"sentence {i}" for i in range(300)]).astype(np.float64)
    others = meaningless([f"other {i}" for i in range(300)]).astype(np.float64)
    for steps in (BANK_STEPS, 64):
        codes, largest, usual = bank_codes(vectors, steps)
        rounded = codes / np.linalg.norm(codes.astype(np.float64), axis=1, keepdims=True)
        moved = others @ (rounded - vectors).T
        assert np.abs(moved).max() <= largest and moved.std() == pytest.approx(usual, rel=0.1)
        # Nothing is moved by more than along the rounding itself.
        worst = rounded - vectors
        worst /= np.linalg.norm(worst, axis=1, keepdims=True)
        assert np.einsum("ij,ij->i", worst, rounded - vectors).max() == pytest.approx(largest)
    moved = others @ (text_codes(vectors) / banks.TEXT_STEPS - vectors).T
    assert np.abs(moved).max() < 6e-4 and moved.std() < 4e-5


def test_what_is_no_number_counts_as_nothing(bank):
    broken = np.full((3, DIMENSIONS), np.nan)
    broken[1], broken[2] = np.inf, -np.inf
    codes = text_codes(broken)
    assert (codes[0] == 0).all() and (codes[1] == banks.TEXT_STEPS).all() and (codes[2] == -banks.TEXT_STEPS).all()
    found = bank.cosines(codes)
    assert (found[0] == 0).all() and (np.abs(found) <= 1).all()


def test_the_words_of_a_bank_lead_to_its_sentences(bank):
    at = bank.words.index("letter")
    assert [bank.sentences[i] for i in bank.holding([at])] == [s for s in SENTENCES if "letter" in s]
    assert len(bank.holding(range(len(bank.words)))) == len(SENTENCES) and not len(bank.holding([]))


def test_vectors_that_products_would_round_are_refused():
    about = banks.BankAbout("", "", "", 2, 500, 0.0, 0.0, {}, "")
    for codes in (np.full((2, DIMENSIONS), 127, np.int8), np.zeros((2, DIMENSIONS), np.int8)):
        with pytest.raises(InputError, match="zero, or too long"):
            SentenceBank("x", about, ("a", "b"), codes)
    with pytest.raises(InputError, match="as many vectors"):
        SentenceBank("x", about, ("a",), np.ones((2, DIMENSIONS), np.int8))


def test_a_bank_is_what_was_written(tmp_path):
    folder = write(tmp_path / "own")
    read = sentence_bank(str(folder))
    assert read.sentences == SENTENCES and read.about.title == "Small" and read.about.sentences == 30
    assert (read.codes == bank_codes(meaningless(SENTENCES))[0]).all() and not read.codes.flags.writeable
    write(folder, SENTENCES[:20])
    assert len(sentence_bank(str(folder))) == 20, "a bank that was built anew is read again"
    assert read.about.sha256 != sentence_bank(str(folder)).about.sha256


def test_the_same_sentences_give_the_same_files(tmp_path):
    assert banks.bank_sha256(write(tmp_path / "a")) == banks.bank_sha256(write(tmp_path / "b"))


def test_a_folder_that_is_no_bank_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match="bank build FILE"):
        sentence_bank(str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match=r"bank\.json is missing"):
        sentence_bank(str(tmp_path))
    folder = write(tmp_path / "bank")
    about = json.loads((folder / banks.ABOUT).read_text())
    for changed, why in (({"format": 99}, "cannot read"), ({"encoder": "0"}, "another encoder"), ({"x": 1}, "cannot")):
        (folder / banks.ABOUT).write_text(json.dumps(about | changed))
        with pytest.raises(ConfigError, match=why):
            sentence_bank(str(folder))
    (folder / banks.ABOUT).write_text("{")
    with pytest.raises(ModelUnavailable, match="Build the bank again"):
        sentence_bank(str(folder))
    (folder / banks.ABOUT).write_text(json.dumps(about))
    (folder / banks.SENTENCES).write_text("Another sentence.\n" * 30)
    with pytest.raises(ModelUnavailable, match="has changed since it was built"):
        sentence_bank(str(folder))
    (folder / banks.VECTORS).unlink()
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        sentence_bank(str(folder))


def test_the_bundled_bank_is_whole():
    bundled = sentence_bank()
    assert len(bundled) == len(set(bundled.sentences)) == bundled.about.sentences > 30_000
    assert all(s == " ".join(s.split()) and s[-1] in ".!?" for s in bundled.sentences)
    folder = banks.bank_folder(banks.DEFAULT_BANK)
    assert sum(f.stat().st_size for f in folder.iterdir()) < 8_000_000
    notice = folder.parent / "licences" / "WordNet-3.0.txt"
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in notice.read_text(encoding="utf-8")
