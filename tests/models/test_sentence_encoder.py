"""The sentence encoder against the library of its authors, and what loads without it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from dptext_core.models import sentence_encoder

TEXTS = ("", "a", "My doctor paid.", "unbelievably 😀 good", "[SEP] said \ud800 he", "word " * 253, "long words " * 400)


@pytest.fixture(scope="module")
def library():
    yield sentence_encoder.library_encoder("cpu")
    sentence_encoder._ENCODERS.pop("cpu")


def test_embeddings_are_those_of_sentence_transformers_whatever_stands_beside_a_text(library):
    given = [sentence_encoder.readable(text) for text in TEXTS]
    expected = library.encode(given, normalize_embeddings=True, show_progress_bar=False)
    for size in (1, 32):
        assert np.abs(sentence_encoder.embed(TEXTS, "cpu", size) - expected).max() < 2e-6
    assert np.abs(np.linalg.norm(expected, axis=1) - 1).max() < 1e-6
    assert sentence_encoder.embed([]).shape == (0, sentence_encoder.DIMENSIONS)
    assert library.max_seq_length == sentence_encoder.parts()[1] == sentence_encoder.PIECES + 2


@pytest.mark.parametrize("layers", [1, 5, None])
def test_hidden_states_are_those_of_the_model_of_transformers(library, layers):
    ids = sentence_encoder.pieces(TEXTS, 512)
    seen = []
    for some, hidden, there in sentence_encoder.hidden_states(ids, "cpu", layers=layers, batch_size=4):
        for i, row, mask in zip(some, hidden, there, strict=True):
            with torch.inference_mode():
                states = library[0].auto_model(torch.tensor([ids[i]]), output_hidden_states=True).hidden_states
            assert int(mask.sum()) == len(ids[i]) <= 512
            assert float((row[mask] - states[-1 if layers is None else layers][0]).abs().max()) < 1e-4
            seen.append(i)
    assert sorted(seen) == [*range(len(TEXTS))]


def test_another_device_is_asked_by_the_library(library, monkeypatch):
    monkeypatch.setattr(sentence_encoder, "resolve_device", lambda device: "meta" if device is None else device)
    monkeypatch.setattr(sentence_encoder, "library_encoder", lambda device: library)
    assert np.abs(sentence_encoder.embed(TEXTS) - sentence_encoder.embed(TEXTS, "cpu")).max() < 2e-6


@pytest.mark.slow
def test_on_a_processor_neither_library_is_imported():
    code = (
        "import sys; from dptext_core.measure.metrics import score; score('cosine', ['a'], ['b']);"
        "score('bertscore', ['a'], ['b']);"
        "print([name for name in ('transformers', 'sentence_transformers', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
