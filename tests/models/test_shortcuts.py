"""What is lost where transformers changes what it does not promise: speed, and never a score."""

from __future__ import annotations

import functools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from tiny import tiny_masked_lm, tiny_roberta

from dptext_core import cli, models
from dptext_core.errors import ModelUnavailable
from dptext_core.models import MaskRequest, masked_lm_spec, shortcuts
from dptext_core.models.masked_lm import MaskedLM
from dptext_core.text.document import Document
from dptext_lab.speed import engine

TEXT = "My old friend told the doctor in London that she was sick."


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing was announced yet."""
    monkeypatch.setattr(shortcuts, "_announced", set())


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return str(tiny_masked_lm(tmp_path_factory.mktemp("bert")))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return str(tiny_roberta(tmp_path_factory.mktemp("roberta")))


def loaded(folder: str, dtype: str = "float32") -> MaskedLM:
    return MaskedLM(masked_lm_spec(folder), "cpu", dtype)


def scores(lm: MaskedLM) -> np.ndarray:
    pieces = lm.encode(Document.parse(TEXT))
    inputs = [lm.model_input(MaskRequest(c, pieces, i)) for c in (pieces, None) for i in (0, 4, len(pieces) - 1)]
    return np.concatenate([lm.forward([x], *lm.shape_for(len(x.ids))) for x in inputs])


@functools.cache
def exact(folder: str) -> np.ndarray:
    """The scores of a model, first asked for before anything is broken."""
    return scores(loaded(folder))


def announced(work):
    """What ``work`` gives, and the announcements it made."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = work()
    return result, [str(w.message) for w in seen if issubclass(w.category, shortcuts.SlowerPath)]


@pytest.mark.parametrize("folder", ["bert", "roberta"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_installed_versions_have_the_shortcut(request, folder, dtype):
    lm, said = announced(lambda: loaded(request.getfixturevalue(folder), dtype))
    assert lm._logits.cuts and lm.slower == () and not said
    assert lm.description == f"on the processor in {dtype}"


def lose_output(monkeypatch):
    """As if the encoder's output had other names."""
    from dptext_core.models.torch_masked import TorchModel

    monkeypatch.setattr(TorchModel, "_cut", lambda self, module, args, output: {"renamed": output[0]})


def change_output(monkeypatch):
    """As if the encoder's output had come to mean something else."""
    from dptext_core.models.torch_masked import TorchModel

    inner = TorchModel._cut

    def scaled(self, module, args, output):
        output = inner(self, module, args, output)
        output["last_hidden_state"] = 1.5 * output["last_hidden_state"] + 1
        return output

    monkeypatch.setattr(TorchModel, "_cut", scaled)


@pytest.mark.parametrize(
    ("folder", "break_it", "why"),
    [
        ("bert", lose_output, "does not work with the installed versions"),
        ("roberta", lose_output, "does not work with the installed versions"),
        ("bert", change_output, "gives other scores than the public"),
    ],
)
def test_where_the_encoders_output_differs_the_whole_model_runs(request, monkeypatch, folder, break_it, why):
    folder = request.getfixturevalue(folder)
    want = exact(folder)
    break_it(monkeypatch)
    lm, said = announced(lambda: loaded(folder))
    assert not lm._logits.cuts
    np.testing.assert_allclose(scores(lm), want, atol=1e-4, rtol=0)
    (reason,), (message,) = lm.slower, said
    assert why in reason and reason in message and f"slower than possible, because {reason}" in lm.description
    _, again = announced(lambda: loaded(folder))
    assert again == []


def test_damaged_weights_are_not_taken_for_another_version(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tiny_masked_lm(tmp_path / "damaged")
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][:] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    lm, said = announced(lambda: loaded(str(folder)))
    assert lm._logits.cuts and not said
    with pytest.raises(ModelUnavailable, match="damaged"):
        scores(lm)


def test_the_page_the_list_of_models_and_the_speed_report_say_it(bert, monkeypatch, capsys):
    from dptext_studio.server import model_warmup

    lose_output(monkeypatch)
    slow, _ = announced(lambda: loaded(bert))
    monkeypatch.setattr(models, "load_masked_lm", lambda *args, **given: slow)
    assert model_warmup.where(SimpleNamespace(error=None, ready=True)) == f"ready, {slow.description}"
    assert cli.main(["models"]) == 0
    assert f"The bundled model runs {slow.description}." in capsys.readouterr().err
    monkeypatch.setattr(engine, "short_texts", lambda: [TEXT])
    assert engine.main(["--model", bert, "--device", "cpu", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert slow.description in lines[0]
    assert "one text of 20 tokens" in lines[1] and "1 texts of 20 tokens" in lines[2] and "x; CPU time" in lines[1]
