"""What the tests of pages share: none waits for what a model works out beside the page, but the tests of that."""

from __future__ import annotations

import pytest
from tiny import bags_of_letters

from dptext_core.attacks import best
from dptext_core.models import sentence_encoder
from dptext_studio.server import model_warmup
from dptext_studio.views.compare import certainty, equal_certainty
from dptext_studio.views.explore import belief, meaning


@pytest.fixture(autouse=True)
def gauge(monkeypatch, request):
    """What a gauge of meaning or a belief needs takes a model: only their own tests wait for it."""
    if "gauge" not in request.node.name:
        monkeypatch.setattr(meaning, "start", lambda *_: None)
    if "belief" not in request.node.name:
        monkeypatch.setattr(belief, "start", lambda *_: None)
        monkeypatch.setattr(certainty, "start", lambda *_: None)
    if "certainty" not in request.node.name:
        monkeypatch.setattr(equal_certainty, "start", lambda *_: None)


@pytest.fixture(autouse=True)
def no_reading_ahead(monkeypatch):
    """Nor are the vocabularies read of mechanisms that may be chosen next."""
    monkeypatch.setattr(model_warmup, "_read_vocabularies", lambda *_: None)


@pytest.fixture(scope="module")
def letters():
    """Bags of letters in place of the sentence encoder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_encoder, "embed", bags_of_letters)
        yield


@pytest.fixture
def plain_attackers(monkeypatch):
    """Two attackers in the place of five, of whom two ask a language model: tests/attacks/test_best.py has them all."""

    def guesses(mechanism, result, only=None, **_):
        drawn = [s for s in result.steps if s.depends_on_original and (only is None or s.span[0] in only)]
        same = [s.replacement.casefold() == s.original.casefold() for s in drawn]
        return {"same-word": same, "reader": [k % 2 == 0 or hit for k, hit in enumerate(same)]}, {}

    monkeypatch.setattr(best, "guesses", guesses)
