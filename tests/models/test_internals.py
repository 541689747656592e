"""What is lost where PyTorch or transformers change what they do not promise: speed, and never a score."""

from __future__ import annotations

import functools
import importlib.metadata
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tiny import tiny_masked_lm, tiny_roberta

from dptext_core import cli, models
from dptext_core.errors import ModelUnavailable
from dptext_core.models import MaskRequest, fast_bert, internals, masked_lm_spec
from dptext_core.models.masked_lm import MaskedLM, best_dtype
from dptext_core.research.speed import engine, share
from dptext_core.text.document import Document

ROOT = Path(__file__).resolve().parents[2]
TEXT = "My old friend told the doctor in London that she was sick."


@pytest.fixture(autouse=True)
def fresh():
    """Nothing was announced yet, and the products are tried anew, before and after."""
    saved = set(internals._announced)
    internals._announced.clear()
    internals.products.cache_clear()
    yield
    internals._announced.clear()
    internals._announced.update(saved)
    internals.products.cache_clear()


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


def kind(lm: MaskedLM) -> str:
    return type(lm._logits).__name__


def announced(work):
    """What ``work`` gives, and the announcements it made."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = work()
    return result, [str(w.message) for w in seen if issubclass(w.category, internals.SlowerPath)]


def test_the_fast_path_was_checked_with_these_versions():
    """Where this fails after an update of the pins: run the tests of this file and of test_engine.py, then name the
    new versions in `internals`."""
    pins = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").split())
    assert {name: pins[name] for name in internals.CHECKED_WITH} == {"torch": "2.13.0", "transformers": "5.23.0"}
    assert internals.CHECKED_WITH == {"torch": "2.13.0", "transformers": "5.23.0"}


@pytest.mark.parametrize("folder", ["bert", "roberta"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_installed_versions_have_the_fast_path(request, folder, dtype):
    lm, said = announced(lambda: loaded(request.getfixturevalue(folder), dtype))
    assert kind(lm) == "FastBert" and lm.slower == () and not said
    assert lm.description == f"on the processor in {dtype}"


def lose_parts(monkeypatch):
    """As if transformers had renamed a part of BERT's attention."""
    inner = fast_bert._Layer.__init__

    def renamed(self, layer, *rest):
        at = layer.attention
        hidden = SimpleNamespace(attention=SimpleNamespace(self=SimpleNamespace(key=at.self.key), output=at.output))
        inner(self, hidden, *rest)

    monkeypatch.setattr(fast_bert._Layer, "__init__", renamed)


def change_results(monkeypatch):
    """As if a part had come to mean something else: the rest of each layer is scaled."""
    inner = fast_bert._Norm.__call__
    monkeypatch.setattr(fast_bert._Norm, "__call__", lambda self, x: 1.25 * inner(self, x))


@pytest.mark.parametrize(
    ("folder", "break_it", "why"),
    [
        ("bert", lose_parts, "AttributeError"),
        ("roberta", lose_parts, "AttributeError"),
        ("bert", change_results, "gives other scores than the public path"),
    ],
)
def test_where_the_parts_of_a_model_differ_the_public_path_is_taken_and_announced(
    request, monkeypatch, folder, break_it, why
):
    folder = request.getfixturevalue(folder)
    want = exact(folder)
    break_it(monkeypatch)
    lm, said = announced(lambda: loaded(folder))
    assert kind(lm) == "AnyModel" and lm._logits.cuts
    np.testing.assert_allclose(scores(lm), want, atol=1e-4, rtol=0)
    (reason,) = lm.slower
    (message,) = said
    assert why in reason and reason in message and f"slower than it could be, because {reason}" in lm.description
    for name, version in internals.CHECKED_WITH.items():
        assert f"{name} {version}" in message and importlib.metadata.version(name) in message
    _, again = announced(lambda: loaded(folder))
    assert again == []


def test_where_the_encoders_output_differs_too_the_whole_model_runs(bert, monkeypatch):
    want = exact(bert)
    lose_parts(monkeypatch)
    monkeypatch.setattr(fast_bert.AnyModel, "_cut", lambda self, module, args, output: {"renamed": output[0]})
    lm, said = announced(lambda: loaded(bert))
    assert kind(lm) == "AnyModel" and not lm._logits.cuts
    np.testing.assert_allclose(scores(lm), want, atol=1e-4, rtol=0)
    assert len(lm.slower) == len(said) == 2 and "encoder" in lm.slower[1]


@pytest.mark.slow
def test_the_bundled_model_has_the_fast_path_and_a_public_one(monkeypatch):
    lm, said = announced(lambda: loaded("bundled"))
    assert kind(lm) == "FastBert" and lm.slower == () and not said
    want = scores(lm)
    lose_parts(monkeypatch)
    lm, said = announced(lambda: loaded("bundled"))
    assert kind(lm) == "AnyModel" and len(said) == 1 and "the bundled model" in said[0]
    np.testing.assert_allclose(scores(lm), want, atol=1e-4, rtol=0)


def test_damaged_weights_are_not_taken_for_another_version(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tiny_masked_lm(tmp_path / "damaged")
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][:] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    lm, said = announced(lambda: loaded(str(folder)))
    assert kind(lm) == "FastBert" and not said
    with pytest.raises(ModelUnavailable, match="damaged"):
        scores(lm)


# --- oneDNN's products -----------------------------------------------------------------------------------------------


def stand_in(**changed):
    """torch.ops.mkldnn of another version; on every processor it has the products."""
    import torch.nn.functional as F

    def product(x, weight, bias, after, scalars, how):
        x = F.linear(x, weight, bias)
        return F.gelu(x) if after == "gelu" else x

    parts = {
        "_linear_pointwise": product,
        "_reorder_linear_weight": lambda weight, batch: weight,
        "_is_mkldnn_bf16_supported": lambda: True,
    } | changed
    return SimpleNamespace(**{name: part for name, part in parts.items() if part is not None})


def fails(*args):
    raise TypeError("takes 5 arguments")


LOST = [
    ({"_linear_pointwise": None}, "has no torch.ops.mkldnn._linear_pointwise"),
    ({"_is_mkldnn_bf16_supported": None}, "has no torch.ops.mkldnn._is_mkldnn_bf16_supported"),
    ({"_reorder_linear_weight": fails}, "stopped with TypeError"),
    ({"_reorder_linear_weight": lambda weight, batch: weight * 1.1}, "gives other products"),
]


@pytest.fixture
def mkldnn(monkeypatch):
    import torch

    if not torch.backends.mkldnn.is_available():
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)

    def replace(**changed):
        monkeypatch.setattr(torch.ops, "mkldnn", stand_in(**changed))
        internals.products.cache_clear()

    return replace


def test_the_stand_in_is_taken_for_the_products(bert, mkldnn):
    mkldnn()
    lm, said = announced(lambda: loaded(bert, "bfloat16"))
    assert internals.products() == (True, "") and lm._logits.decoder.packed and not said


@pytest.mark.parametrize(("changed", "why"), LOST)
def test_lost_products_are_announced_and_computed_the_plain_way(bert, mkldnn, monkeypatch, changed, why):
    want = exact(bert)
    mkldnn(**changed)
    monkeypatch.setattr(internals, "has_bf16", lambda: True)
    assert best_dtype("cpu") == "float32"
    lm, said = announced(lambda: MaskedLM(masked_lm_spec(bert), "cpu"))
    assert why in lm.slower[0] and why in said[0] and why in lm.description and len(said) == 1
    np.testing.assert_allclose(scores(lm), want, atol=1e-4, rtol=0)
    plain = loaded(bert, "bfloat16")
    assert kind(plain) == "FastBert" and not plain._logits.decoder.packed
    assert np.abs(scores(plain) - want).max() < 0.3


def test_a_processor_without_the_products_lost_nothing(bert, mkldnn, monkeypatch):
    mkldnn(_is_mkldnn_bf16_supported=lambda: False)
    monkeypatch.setattr(internals, "has_bf16", lambda: False)
    lm, said = announced(lambda: MaskedLM(masked_lm_spec(bert), "cpu"))
    assert lm.dtype == "float32" and lm.slower == () and not said


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_whose_bits_depend_on_how_many_there_are_are_found(dtype):
    """In products of some numbers of rows, and at some places."""
    import torch

    dtype = getattr(torch, dtype)
    weight = torch.cos(torch.arange(96.0 * 32)).reshape(96, 32).to(dtype)
    alike = lambda x: torch.stack([(row.double() @ weight.double()).to(dtype) for row in x])  # noqa: E731

    def by_number(x):
        return alike(x) * (1 + 2**-6 * (len(x) == 8))

    def by_place(x):
        return torch.cat([alike(x[:-1]), alike(x[-1:]) * (1 + 2**-6)])

    assert internals.rows_alike(alike, 96, dtype, (32, 16, 8))
    assert not internals.rows_alike(by_number, 96, dtype, (32, 16, 8))
    assert internals.rows_alike(by_number, 96, dtype, (32, 16))
    assert not internals.rows_alike(by_place, 96, dtype, (32,))


# --- where it is said ------------------------------------------------------------------------------------------------


def test_the_page_the_list_of_models_and_the_speed_report_say_it(bert, monkeypatch, capsys):
    from pages.ui import model as page

    lose_parts(monkeypatch)
    slow, _ = announced(lambda: loaded(bert))
    monkeypatch.setattr(models, "load_masked_lm", lambda *args, **given: slow)
    assert page.where(SimpleNamespace(error=None, ready=True)) == f"ready, {slow.description}"
    assert cli.main(["models"]) == 0
    assert f"The bundled model runs {slow.description}." in capsys.readouterr().err
    monkeypatch.setattr(engine, "short_texts", lambda: [TEXT])
    monkeypatch.setattr(share, "LARGE", 64)
    assert engine.main(["--model", bert, "--device", "cpu", "--repeats", "1"]) == 0
    assert slow.description in capsys.readouterr().out.splitlines()[0]


def test_products_are_tried_in_their_own_type_whatever_type_others_are_computed_in():
    import torch

    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert internals.products("float32") == (True, "")
