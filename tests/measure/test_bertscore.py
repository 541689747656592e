"""BERTScore against what the package of its authors printed, and the texts on which that package gives up."""

from __future__ import annotations

import pytest

from dptext_core.measure.metrics import score

ORIGINALS = [
    "The doctor changed the dose on Monday.",
    "it 's a charming and often affecting journey .",
    "a",
    "Don’t go!",
    "word " * 600,
    "unbelievably 😀 good",
    "same text here",
    " You said [SEP] and left ",
]
REWRITES = [
    "A physician raised the amount on Friday.",
    "it is an enchanting but rarely moving trip .",
    "the quick brown fox jumps",
    "Do not leave now, please.",
    "other word " * 40,
    "good",
    "same text here",
    "they said [CLS] nothing",
]


@pytest.fixture(scope="module")
def found() -> list[float]:
    """Each pair by itself: beside the long one all others would be padded to its length."""
    return [score("bertscore", [a], [b])[0] for a, b in zip(ORIGINALS, REWRITES, strict=True)]


def test_equal_to_what_the_authors_package_printed(found):
    """bert-score 0.3.13 with this model, num_layers=5 and idf=False."""
    printed = [0.740798, 0.705148, 0.234108, 0.542119, 0.457162, 0.512653, 1.0, 0.374536]
    assert found == pytest.approx(printed, abs=2e-6)


def test_blank_texts():
    assert score("bertscore", ["", "a", " ", "[SEP]"], ["\n", "", "b", ""]) == [1.0, 0.0, 0.0, 1.0]


def test_a_score_does_not_depend_on_its_neighbours(found):
    """More pairs than are embedded at once, the padding of each pass another."""
    few = [0, 1, 2, 3, 5, 6, 7]
    many = score("bertscore", [ORIGINALS[i] for i in few] * 10, [REWRITES[i] for i in few] * 10)
    assert many == pytest.approx([found[i] for i in few] * 10, abs=1e-5)


def test_corpus_bleu_of_tokenised_text_is_silent(capsys, caplog):
    """sacrebleu warns of text that looks tokenised; SST-2 is, and is meant to be."""
    from dptext_core.measure.metrics.bleu import corpus_bleu

    texts = [f"the film number {i} is good ." for i in range(120)]
    assert corpus_bleu(texts, texts) == pytest.approx(100)
    printed = capsys.readouterr()
    assert not caplog.records and not printed.err and not printed.out
