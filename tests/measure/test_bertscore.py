"""BERTScore against the package of its authors, and the texts on which that package gives up."""

from __future__ import annotations

import pytest

from dptext_core.measure.metrics import score
from dptext_core.words.vocabulary import verified_trunk_folder

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
    return score("bertscore", ORIGINALS, REWRITES)


@pytest.mark.slow
def test_equal_to_the_authors_package(found):
    import bert_score

    folder = str(verified_trunk_folder())
    wanted = bert_score.score(REWRITES, ORIGINALS, model_type=folder, num_layers=5, idf=False, device="cpu")[2]
    assert found == pytest.approx(wanted.tolist(), abs=2e-6)
    assert max(found) == pytest.approx(1.0) and min(found) < 0.3


@pytest.mark.slow
def test_what_the_package_printed(found):
    """bert-score 0.3.13: the numbers must not move with its version or ours."""
    assert found[:7] == pytest.approx([0.74080, 0.70515, 0.23411, 0.54212, 0.45716, 0.51265, 1.0], abs=1e-5)


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
