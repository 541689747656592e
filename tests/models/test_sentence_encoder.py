"""The sentence encoder against the library of its authors; test_engine has that it loads without it."""

from __future__ import annotations

import numpy as np
import pytest

from dptext_core.errors import Busy
from dptext_core.models import sentence_encoder

TEXTS = ("", "a", "My doctor paid.", "unbelievably 😀 good", "[SEP] said \ud800 he", "word " * 253, "long words " * 400)


@pytest.fixture(scope="module")
def library():
    yield sentence_encoder.library_encoder("cpu")
    sentence_encoder._ENCODERS.pop("cpu")


def test_embeddings_are_those_of_sentence_transformers_whatever_stands_beside_a_text(library):
    given = [sentence_encoder.readable(text) for text in TEXTS]
    expected = library.encode(given, normalize_embeddings=True, show_progress_bar=False)
    found = sentence_encoder.embed(TEXTS, "cpu")
    assert np.abs(found - expected).max() < 2e-6
    rng = np.random.default_rng(3)
    for size in (1, 3, 32):
        order = rng.permutation(len(TEXTS))
        again = sentence_encoder.embed([TEXTS[i] for i in order], "cpu", size)
        np.testing.assert_array_equal(again, found[order])
    assert np.abs(np.linalg.norm(expected, axis=1) - 1).max() < 1e-6
    assert sentence_encoder.embed([]).shape == (0, sentence_encoder.DIMENSIONS)
    assert library.max_seq_length == sentence_encoder.PIECES + 2


def test_hidden_states_are_those_of_the_model_of_transformers(library):
    import torch

    ids = sentence_encoder.pieces([*TEXTS[:5], TEXTS[-1]], 512)
    with torch.inference_mode():
        own = [library[0].auto_model(torch.tensor([x]), output_hidden_states=True).hidden_states for x in ids]
    for layers in (1, 5, sentence_encoder.LAYERS):
        seen = []
        for some, hidden, there in sentence_encoder.hidden_states(ids, "cpu", layers=layers, batch_size=4):
            for i, row, mask in zip(some, hidden, there, strict=True):
                assert int(mask.sum()) == len(ids[i]) <= 512
                assert np.abs(row[mask] - own[i][layers][0].numpy()).max() < 1e-4
                seen.append(i)
        assert sorted(seen) == [*range(len(ids))]


def test_another_device_is_asked_by_the_library(library, monkeypatch):
    """The stand-in for a device keeps the library's own."""
    monkeypatch.setattr(sentence_encoder, "resolve_device", lambda device: "meta" if device is None else device)
    monkeypatch.setattr(sentence_encoder, "library_encoder", lambda device: library)
    texts = TEXTS[:5]
    assert np.abs(sentence_encoder.embed(texts) - sentence_encoder.embed(texts, "cpu")).max() < 2e-6


def test_too_little_memory_is_reported_on_every_way(library, monkeypatch):
    import torch

    def fails(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    def runtime_fails(*args, **kwargs):
        raise MemoryError

    ids = sentence_encoder.pieces(["My doctor paid."], 512)
    monkeypatch.setattr(sentence_encoder, "resolve_device", lambda device: device or "meta")
    monkeypatch.setattr(sentence_encoder, "library_encoder", lambda device: library)
    monkeypatch.setattr(library, "encode", fails)
    monkeypatch.setattr(library[0].auto_model, "forward", fails)
    monkeypatch.setattr(sentence_encoder, "_on_processor", lambda: runtime_fails)
    for device, who in ((None, "The device 'meta'"), ("cpu", "This machine")):
        with pytest.raises(Busy, match=f"^{who} does not have enough memory"):
            sentence_encoder.embed(["My doctor paid."], device)
        with pytest.raises(Busy, match=f"^{who} does not have enough memory"):
            list(sentence_encoder.hidden_states(ids, device))
