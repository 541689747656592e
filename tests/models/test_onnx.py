"""The bundled model by ONNX Runtime: its scores are those of transformers' own BERT with the same weights, and a
request has the same bits whatever is asked beside it, by however many threads."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from installed import hiding
from scripts import script

import dptext_core as dpt
from dptext_core import models
from dptext_core.errors import ModelUnavailable
from dptext_core.models import MaskRequest, eight_bits, masked_lm_spec, runtime
from dptext_core.models.masked_lm import MaskedLM
from dptext_core.models.onnx_masked import OnnxModel
from dptext_core.models.registry import GRAPH_FILE, WEIGHTS_FILE
from dptext_core.models.worker import Engine
from dptext_core.text.document import Document
from dptext_core.text.language import Language

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (
    "My doctor in Lisbon treated my sister for a broken leg.",
    "Yes.",
    "",
    "The old teacher told us that she had never been so afraid of anything in all her long and quiet life.",
    "We met at noon.",
    "He came home late, and nobody said a word about it.",
    "Rain " * 70,
)


@pytest.fixture(scope="module")
def lm():
    return models.load_masked_lm("bundled", "cpu")


@functools.cache
def plain():
    from dptext_core.models.torch_masked import plain_model

    return plain_model(masked_lm_spec())[0]


def requests(lm, text, context=True):
    pieces = lm.encode(Document.parse(text))
    return [MaskRequest(pieces if context else None, pieces, i) for i in range(len(pieces))]


def scored(lm, some):
    engine = Engine("bundled", "cpu")
    engine._lm = lm
    try:
        return engine.score(some)
    finally:
        engine.stop()


@pytest.mark.parametrize("form", ["queries", "masks", "pairs"])
def test_scores_are_those_of_the_plain_model(lm, form):
    from dptext_core.models.torch_masked import public_scores

    assert isinstance(lm._logits, OnnxModel)
    if form == "pairs":
        lm = MaskedLM(dataclasses.replace(lm.spec, queries=False), "cpu")
    for text in (TEXTS[0], TEXTS[6]):
        some = requests(lm, text, context=form != "masks")[::7]
        for row, x in zip(scored(lm, some), lm.model_inputs(some), strict=True):
            assert x.query == (form == "queries")
            want = public_scores(plain(), x, lm.mask_id)[lm.candidate_ids]
            np.testing.assert_allclose(row, want, rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def other():
    """What a GPU computes, and what is asked of another language's words: the same weights by PyTorch."""
    return MaskedLM(masked_lm_spec(), "cpu", "float32", Language("Half", "qh", letters="[a-m]"))


@pytest.mark.parametrize("context", [True, False])
def test_the_same_weights_by_torch_give_the_same_scores(lm, other, context):
    assert type(other._logits).__name__ == "TorchModel" and set(other.candidates) < set(lm.candidates)
    some = requests(lm, TEXTS[0], context)
    same = np.isin(lm.candidate_ids, other.candidate_ids)
    np.testing.assert_allclose(scored(lm, some)[:, same], scored(other, some), rtol=0, atol=1e-4)


def computed(lm, n, monkeypatch):
    """The same model by so many threads."""
    monkeypatch.setenv("OMP_NUM_THREADS", str(n))
    found = MaskedLM(lm.spec, "cpu")
    assert runtime.threads() == n == found.workers
    return found


def test_a_request_has_the_bits_that_it_has_alone(lm, monkeypatch):
    """In parts, in other orders, beside other texts, with and without context, by one thread and by three."""
    some = [r for text in TEXTS for c in (True, False) for r in requests(lm, text, c)[::3]]
    want, rng = scored(lm, some), np.random.default_rng(2)
    for one in (lm, computed(lm, 1, monkeypatch), computed(lm, 3, monkeypatch)):
        order = rng.permutation(len(some))
        np.testing.assert_array_equal(scored(one, [some[i] for i in order]), want[order])
        for size in (1, 1, 1, 2, 9):
            few = rng.permutation(len(some))[:size]
            np.testing.assert_array_equal(scored(one, [some[i] for i in few]), want[few])


def test_a_request_has_these_bits_beside_other_callers_too(lm):
    some, out = [requests(lm, text) for text in TEXTS], {}
    engine = Engine("bundled", "cpu")
    engine._lm = lm
    threads = [threading.Thread(target=lambda k=k: out.__setitem__(k, engine.score(some[k]))) for k in range(len(some))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    engine.stop()
    for k, asked in enumerate(some):
        np.testing.assert_array_equal(out[k], scored(lm, asked))


def test_masks_of_one_text_share_a_pass(lm, monkeypatch):
    """They are what the public prior asks."""
    passes, inner = [], lm.forward_all
    monkeypatch.setattr(lm, "forward_all", lambda some: passes.extend(some) or inner(some))
    public = [[lm.mask_id]] * 9
    scored(lm, [MaskRequest(None, public, i) for i in range(9)])
    assert [len(inputs) for inputs, _ in passes] == [9]


@pytest.mark.parametrize(("named", "n"), [("2", 2), ("4,2", 4), ("", None), ("none", None), ("0", None)])
def test_threads_are_those_that_the_environment_names(monkeypatch, named, n):
    monkeypatch.setenv("OMP_NUM_THREADS", named)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert runtime.threads() == (n or 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes(lm, monkeypatch):
    """Whose runtime has none of its threads."""
    two = computed(lm, 2, monkeypatch)
    some = requests(lm, TEXTS[3])
    inputs = lm.model_inputs(some)
    want = two.forward(inputs, *two.shape_for(len(inputs[0].ids)))
    if (child := os.fork()) == 0:
        try:
            found = two.forward(inputs, *two.shape_for(len(inputs[0].ids)))
            os._exit(0 if np.array_equal(found, want) else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_too_little_memory_is_said(lm, monkeypatch):
    class Scarce:
        def run(self, *given):
            raise RuntimeError("Failed to allocate memory for requested buffer of size 9")

    monkeypatch.setattr(lm._logits._session, "_session", Scarce())
    with pytest.raises(dpt.errors.Busy, match="enough memory"):
        scored(lm, requests(lm, TEXTS[1]))


@pytest.mark.parametrize("file", [GRAPH_FILE, WEIGHTS_FILE])
@pytest.mark.parametrize("cut", [0, 100, 5000, -100])
def test_cut_files_say_so(tmp_path, file, cut):
    for name in (GRAPH_FILE, WEIGHTS_FILE, "spec.json"):
        shutil.copy(masked_lm_spec().folder / name, tmp_path / name)
    whole = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(whole[:cut])
    with pytest.raises(ModelUnavailable, match=r"cannot be read.*again\.$"):
        models.load_masked_lm(str(tmp_path), "cpu")


def test_a_folder_of_such_files_is_a_model(tmp_path, lm):
    for name in (GRAPH_FILE, WEIGHTS_FILE):
        shutil.copy(lm.spec.folder / name, tmp_path / name)
    (tmp_path / "spec.json").write_text('{"clip_min": 0, "clip_max": 9.5, "max_length": 128, "queries": true}')
    spec = masked_lm_spec(str(tmp_path))
    assert spec.on_trunk and (spec.clip_max, spec.max_length) == (9.5, 128)
    own = models.load_masked_lm(str(tmp_path), "cpu")
    some = requests(lm, TEXTS[0])
    np.testing.assert_array_equal(scored(own, some), scored(lm, some))


# --- how the files are made ------------------------------------------------------------------------------------------


def test_numbers_of_eight_bits_are_near_and_come_back():
    rng = np.random.default_rng(4)
    weights = {"a.weight": rng.normal(size=(5, 96)).astype(np.float32), "a.bias": np.ones(5, np.float32)}
    weights["x.position_embeddings.weight"] = rng.normal(size=(4, 32)).astype(np.float32)
    stored = eight_bits.in_eight_bits(weights)
    assert stored["a.weight" + eight_bits.CODES].dtype == np.int8 and "x.position_embeddings.weight" in stored
    floats = eight_bits.in_floats(stored)
    assert sorted(floats) == sorted(weights)
    assert 0 < np.abs(floats["a.weight"] - weights["a.weight"]).max() < 4 / 127
    again = eight_bits.in_eight_bits(floats)
    np.testing.assert_array_equal(again["a.weight" + eight_bits.CODES], stored["a.weight" + eight_bits.CODES])
    header, data = eight_bits.laid_out(stored)
    for name, value in stored.items():
        begin, end = header[name]["data_offsets"]
        np.testing.assert_array_equal(np.frombuffer(data[begin:end], value.dtype).reshape(value.shape), value)


def test_the_bundled_graphs_are_those_that_the_tool_writes():
    """Of the weights that lie beside them, and of the sentence encoder's package."""
    from dptext_core.models import sentence_encoder
    from dptext_core.words.vocabulary import verified_trunk_folder

    made, trunk = script("tools/export_models.py"), verified_trunk_folder()
    config = json.loads((trunk / "config.json").read_text(encoding="utf-8"))
    folder = masked_lm_spec().folder
    graphs = {folder / GRAPH_FILE: made.masked_lm(made.header_of(folder / WEIGHTS_FILE), config)}
    own = sentence_encoder.graphs_folder()
    graphs[own / sentence_encoder.GRAPH] = made.encoder(made.header_of(trunk / "model.safetensors"), config)
    header, _ = eight_bits.laid_out(eight_bits.in_eight_bits(sentence_encoder.weights()))
    small = (sentence_encoder.SMALL_WEIGHTS, header, 0)
    graphs[own / sentence_encoder.SMALL_GRAPH] = made.encoder(small, config)
    for file, graph in graphs.items():
        assert graph.SerializeToString(deterministic=True) == file.read_bytes(), file.name


@pytest.mark.slow
def test_a_checkpoint_of_training_becomes_a_model_of_its_scores(tmp_path):
    import torch

    training, made = script("tools/train_masked_lm.py"), script("tools/export_models.py")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        trained = training.MaskedLM(training.trunk_model(training.verified_trunk_folder())).eval()
        with torch.no_grad():
            for p in trained.parameters():
                if p.requires_grad:
                    p.add_(torch.randn_like(p) * 0.02)
                    p.copy_(p.half().float())
    training.save(trained, tmp_path, {})
    made.export_masked_lm(tmp_path / "checkpoint.safetensors", tmp_path)
    lm = MaskedLM(masked_lm_spec(str(tmp_path)), "cpu")
    x = lm.model_input(MaskRequest(None, lm.encode(Document.parse(TEXTS[0])), 3))

    def logits(model):
        words = model.bert.embeddings.word_embeddings.weight + model.up @ model.down
        with torch.inference_mode():
            h = model.hidden(*map(torch.tensor, ([x.ids], [x.types], [0], [x.position])))
            return (h @ words.T + model.bias)[0].numpy()[lm.candidate_ids]

    want, found = logits(trained), lm.forward([x], *lm.shape_for(len(x.ids)))[0]
    assert 0.999 < np.corrcoef(found, want)[0, 1] < 1 - 1e-7, "the rounding, and no more"
    # Training goes on from what was exported: the same layers, and an update of low rank.
    training.continue_from(trained, tmp_path / WEIGHTS_FILE)
    assert np.corrcoef(logits(trained), found)[0, 1] > 0.999


def test_the_bundled_tokenizer_is_that_of_the_sentence_encoders_package():
    from dptext_core.models.tokens import bundled_tokenizer, read_tokenizer
    from dptext_core.words.vocabulary import trunk_folder

    ours, theirs = bundled_tokenizer(), read_tokenizer(trunk_folder() / "tokenizer.json")
    assert json.loads(ours.to_str()) == json.loads(theirs.to_str())


# --- what is imported ------------------------------------------------------------------------------------------------

DEFAULT_PATH = hiding(("torch", "transformers", "sentence_transformers")) + """
import dptext_core as dpt
from dptext_core.attacks import get_attacker
from dptext_core.measure.metrics import score

text = "My doctor in Lisbon treated my sister."
m = dpt.get_mechanism("dp-mlm", epsilon=20)
result = m.rewrite(text, seed=1)
"""
REWRITES = """
for name in ("dp-mlm-prior", "custext", "santext", "diffractor", "dp-sentence"):
    assert dpt.get_mechanism(name).rewrite(text, seed=1).text
for name in ("cosine", "bertscore", "perplexity"):
    assert len(score(name, [text], ["My doctor in Paris treated my brother."])) == 1
"""
ATTACKS = """
from dptext_core.attacks import two_texts
two_texts.DRAWS = two_texts.DRAWS_OF_WRITERS = two_texts.FEWEST
for name in ("reader", "nearest-words", "language-model", "which-text", "two-texts", "best"):
    assert get_attacker(name).attack(m, result)
from dptext_core.auditing import goodness_of_fit as fit, metadata_leakage, verdict
metadata_leakage.LONG, fit.FRESH, fit.LOW, fit.OTHERS, fit.FEW, fit.MORE = 20, 20, 1, 4, 3, 2
check = verdict.check_releases
verdict.check_releases = lambda m, probes, n, *more: check(m, probes, min(n, 20), *more)
verdict.LATER = verdict.LATER[:1]  # the others import nothing else, and rewrite much
assert dpt.audit(m, ["My doctor.", "A nurse."], seed=1, draws=100).verdict
"""


@pytest.mark.parametrize("code", [REWRITES, pytest.param(ATTACKS, marks=pytest.mark.slow)], ids=["rewrites", "attacks"])
def test_the_default_path_imports_neither_torch_nor_transformers(code):
    argv = [sys.executable, "-c", DEFAULT_PATH + code + "print(sorted(HIDDEN & set(sys.modules)))"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


#: The first page with its gauge, and the commands that a script calls; no library is hidden here.
FIRST_PAGE = """
import os, time
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("app.py", default_timeout=120).run()
held = at.session_state["session"].at("meaning")
assert held.job is None or held.job.wait(60)
at.run()
assert not at.exception and at.session_state["session"].run.meaning
os._exit(0)  # a thread may still read ahead
"""
COMMANDS = """
import sys
from dptext_core.cli import main
for mechanism in ("dp-mlm", "dp-mlm-prior", "custext", "diffractor"):
    assert main(["rewrite", "--mechanism", mechanism, "My doctor in Lisbon treated my sister."]) == 0
"""


@pytest.mark.parametrize(
    "code", [pytest.param(FIRST_PAGE, marks=pytest.mark.slow), COMMANDS], ids=["first page", "commands"]
)
def test_the_times_of_import_name_neither_torch_nor_transformers(code):
    argv = [sys.executable, "-X", "importtime", "-c", code]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "onnxruntime" in loaded and not loaded & {"torch", "transformers", "sentence_transformers"}
