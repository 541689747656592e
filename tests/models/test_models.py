from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny import tiny_masked_lm, tiny_roberta, vocabulary

from dptext_core import Task
from dptext_core.errors import ConfigError, InputError, ModelUnavailable
from dptext_core.models import (
    ClipRange,
    MaskRequest,
    estimate_clip_range,
    list_models,
    load_masked_lm,
    masked_lm_spec,
    sentence_encoder,
)
from dptext_core.models.clip import WIDTHS
from dptext_core.models.masked_lm import MaskedLM
from dptext_core.models.tokens import private_backend
from dptext_core.models.windows import ModelInput, Template, bucket, model_input
from dptext_core.text.document import Document

ROOT = Path(__file__).resolve().parents[2]
TEXT = "The doctor told my sister that she can't leave London before Monday."


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_masked_lm(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return tiny_roberta(tmp_path_factory.mktemp("roberta"))


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request):
    return request.getfixturevalue(request.param)


def float_lm(folder):

    return MaskedLM(masked_lm_spec(str(folder)), "cpu", "float32")


@cache
def unchanged(folder):
    from transformers import AutoModelForMaskedLM

    return AutoModelForMaskedLM.from_pretrained(folder).eval()


def full_logits(folder, inputs: ModelInput) -> np.ndarray:
    """Logits at the mask from the unchanged transformers model."""
    import torch

    model = unchanged(folder)
    types = {} if inputs.types is None else {"token_type_ids": torch.tensor([inputs.types])}
    with torch.inference_mode():
        return model(input_ids=torch.tensor([inputs.ids]), **types).logits[0, inputs.position].numpy()


# --- what is known without loading -----------------------------------------------------------------------------------


def test_looking_up_a_model_loads_no_torch(bert):
    code = (
        "import sys; from dptext_core import models; spec = models.masked_lm_spec(sys.argv[1]); models.engine(spec.id);"
        "models.list_models(); print(spec.clip_min, spec.clip_max, spec.max_length);"
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(bert)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-4.0", "8.0", "128"]


def test_a_model_that_is_not_here_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="hf download FacebookAI/roberta-base"):
        masked_lm_spec("roberta-base")
    with pytest.raises(ModelUnavailable, match="hf download some/model"):
        masked_lm_spec("some/model")


@pytest.mark.parametrize("name", ["", "a b", "../no/such/folder", "/no/such/folder", "a/b/c", None, "a--b/..c"])
def test_a_name_that_cannot_be_one_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigError):
        masked_lm_spec(name)


@pytest.fixture
def cache(tmp_path, monkeypatch, roberta):
    """A hub cache that holds a model called roberta-base."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--roberta-base" / "snapshots" / ("0" * 40)
    shutil.copytree(roberta, snapshot)
    (snapshot / "dptext.json").unlink()
    refs = tmp_path / "models--roberta-base" / "refs"
    refs.mkdir()
    (refs / "main").write_text("0" * 40)
    return snapshot


@pytest.mark.parametrize("name", ["roberta-base", "FacebookAI/roberta-base"])
def test_published_range_and_both_names_of_a_cached_model(cache, name):
    spec = masked_lm_spec(name)
    assert (spec.clip_min, spec.clip_max) == (-3.2093127, 16.304797887802124)
    assert list(spec.clips) == ["paper"]
    assert "DP-MLM" in spec.clip_source
    assert spec.max_length == 128  # of 130 positions RoBERTa uses all but two
    assert len(load_masked_lm(name).candidates) > 100


def test_the_list_shows_what_is_cached(cache):
    found = {m.id: m for m in list_models()}
    assert found["roberta-base"].where == "hub cache"
    assert found["roberta-base"].megabytes > 0


def test_no_cache_at_all_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "none"))
    assert all(m.where == "bundled" for m in list_models())


def test_unknown_range_is_none(bert, tmp_path):
    copy = shutil.copytree(bert, tmp_path / "m")
    (copy / "dptext.json").unlink()
    spec = masked_lm_spec(str(copy))
    assert spec.clip_min is None and spec.clip_max is None


@pytest.mark.parametrize(
    "notes",
    [
        '{"clip_min": 3, "clip_max": 1}',
        '{"clip_min": 3}',
        "[1]",
        "{",
        '{"clip_min": NaN, "clip_max": 1}',
        '{"clip_min": "x", "clip_max": 1}',
        '{"max_length": 3}',
    ],
)
def test_broken_notes_are_refused(bert, tmp_path, notes):
    copy = shutil.copytree(bert, tmp_path / "m")
    (copy / "dptext.json").write_text(notes)
    with pytest.raises(ConfigError):
        masked_lm_spec(str(copy))


def test_pickled_weights_are_not_read(bert, tmp_path):
    copy = shutil.copytree(bert, tmp_path / "m")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match="safetensors"):
        masked_lm_spec(str(copy))


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ConfigError):
        masked_lm_spec(str(tmp_path))


def test_a_model_without_a_trained_head_is_refused(bert, tmp_path):
    from transformers import BertModel

    copy = shutil.copytree(bert, tmp_path / "m")
    BertModel.from_pretrained(bert).save_pretrained(copy)
    with pytest.raises(ConfigError, match="masked"):
        load_masked_lm(str(copy))


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cpu:1"])
def test_unknown_devices_are_refused(bert, device):
    with pytest.raises(ConfigError):
        load_masked_lm(str(bert), device)


def test_loaded_once(bert):
    assert load_masked_lm(str(bert), "cpu") is load_masked_lm(str(bert), "cpu")


# --- candidates ------------------------------------------------------------------------------------------------------


def test_candidates_of_a_word_piece_vocabulary_are_its_whole_words(bert):
    lm = float_lm(bert)
    assert sorted(lm.candidates) == sorted(vocabulary())
    assert np.all(np.diff(lm.candidate_ids) > 0)


def test_candidates_of_a_byte_level_vocabulary_begin_words(roberta):
    lm = float_lm(roberta)
    assert {*vocabulary(), "The", "I"} <= set(lm.candidates)
    assert all(w.isascii() and w.isalpha() and (len(w) > 1 or w in "aiAI") for w in lm.candidates)
    assert len(set(lm.candidates)) == len(lm.candidates)


ODD = ["zèbre", "🙂", ",", "[MASK]", "<mask>", "\u200d", "\x00", "3.5", "can't", "  ", "\ud800", "日本"]


# --- tokens to pieces ------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(st.text(), st.lists(st.sampled_from([*vocabulary(), *ODD])).map(" ".join)))
def test_no_token_and_no_piece_is_lost(folder, text):
    lm = load_masked_lm(str(folder))
    doc = Document.parse(text)
    pieces = lm.encode(doc)
    assert len(pieces) == len(doc.tokens)
    assert all(pieces)
    flat = [i for p in pieces for i in p]
    assert lm.mask_id not in flat
    if doc.tokens:
        whole = lm._tokens.encode(doc.visible.text, add_special_tokens=False).ids
        assert [i for i in flat if i != lm.unk_id] == [i for i in whole if i != lm.unk_id]


def test_pieces_lie_with_their_token(bert):
    lm = load_masked_lm(str(bert))
    doc = Document.parse("The doctor can't move.")
    pieces = dict(zip([t.text for t in doc.tokens], lm.encode(doc), strict=True))
    assert pieces["doctor"] == lm.word_pieces("doctor")
    assert len(pieces["can't"]) == 3


def test_byte_level_pieces_of_a_replacement_carry_the_space(roberta):
    lm = load_masked_lm(str(roberta))
    doc = Document.parse("my doctor left")
    assert lm.encode(doc)[1] == lm.word_pieces("doctor")
    assert len(lm.word_pieces("doctor")) == 1
    assert len(lm.word_pieces("zebra")) > 1


def test_a_long_text_is_not_cut(folder):
    lm = load_masked_lm(str(folder))
    doc = Document.parse("doctor " * 5000)
    pieces = lm.encode(doc)
    assert len(pieces) == 5000
    assert pieces[2500] == lm.word_pieces("doctor")


# --- the model's input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_the_tokenizer_keeps_no_word_that_it_has_seen(kind, monkeypatch):
    """These models keep words for as long as they live, if they are not told how many: none."""
    from tokenizers import Tokenizer, models

    real = Tokenizer(getattr(models, kind)())
    assert callable(getattr(real.model, "_resize_cache", None)), "the name by which they are told"
    told: list[int] = []
    model = SimpleNamespace(_resize_cache=told.append)
    fake = SimpleNamespace(model=model, no_truncation=lambda: None, no_padding=lambda: None)
    monkeypatch.setattr(Tokenizer, "from_str", lambda text: fake)
    assert private_backend(SimpleNamespace(backend_tokenizer=real)) is fake and told == [0]


def test_the_frame_is_the_tokenizers_own(folder):
    from transformers import AutoTokenizer

    lm = load_masked_lm(str(folder))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    doc = Document.parse(TEXT)
    pieces = lm.encode(doc)
    got = lm.model_input(MaskRequest(pieces, pieces, 0))
    assert got.ids[got.position] == lm.mask_id
    restored = got.ids[: got.position] + pieces[0] + got.ids[got.position + 1 :]
    want = tokenizer(TEXT, TEXT)
    assert restored == want["input_ids"]
    if got.types is not None:
        assert len(got.types) == len(got.ids)
        assert got.types[got.position] == 1 and got.types[0] == 0


TEMPLATE = Template(((101,), (102,)), ((101,), (102,), (102,)), (0, 0, 0), (0, 0, 0, 1, 1))
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=80)


@settings(max_examples=60, deadline=None)
@given(lengths=LENGTHS, data=st.data(), paired=st.booleans(), limit=st.integers(24, 128))
def test_the_window_holds_the_mask_and_depends_on_lengths_only(lengths, data, paired, limit):
    target = data.draw(st.integers(0, len(lengths) - 1))
    numbers = iter(range(1000, 10_000))
    one = [[next(numbers) for _ in range(n)] for n in lengths]
    two = [[9_000_000 + i for i in p] for p in one]
    a, b = (model_input(MaskRequest(x if paired else None, x, target), TEMPLATE, 103, limit) for x in (one, two))
    assert len(a.ids) <= limit
    assert a.ids.count(103) == 1 and a.ids[a.position] == 103
    assert a.position == b.position and a.types == b.types
    assert [i + 9_000_000 if i >= 1000 else i for i in a.ids] == b.ids
    room = TEMPLATE.room(limit, paired)
    total = sum(lengths) - lengths[target] + 1
    masked = a.ids[a.ids.index(102) + 1 : -1] if paired else a.ids[1:-1]
    assert len(masked) == min(room, total)  # no room is wasted
    shown = [i for i in masked if i != 103]
    assert shown == sorted(shown)  # in order: a contiguous window
    if paired:
        first = a.ids[1 : a.ids.index(102)]
        assert len(first) == min(room, sum(lengths))
        assert set(first) & set(one[target])


def test_a_window_in_the_middle_is_centred():
    tokens = [[1000 + i] for i in range(500)]
    got = model_input(MaskRequest(tokens, tokens, 250), TEMPLATE, 103, 128)
    first, second = got.ids[1:63], got.ids[64:126]
    assert first[31] == 1250 or first[30] == 1250
    assert second.index(103) in (30, 31)


def test_a_context_may_have_other_tokens_than_the_masked_half():
    context, masked = [[1], [2], [3]], [[4], [5]]
    for at in (None, 0, 2, 3, -1):
        got = model_input(MaskRequest(context, masked, 1, at), TEMPLATE, 103, 24)
        assert got.ids == [101, 1, 2, 3, 102, 4, 103, 102]
    assert model_input(MaskRequest([], masked, 1), TEMPLATE, 103, 24).ids == [101, 102, 4, 103, 102]


def test_a_target_outside_the_text_is_refused():
    with pytest.raises(InputError):
        model_input(MaskRequest(None, [[1]], 1), TEMPLATE, 103, 24)


def test_buckets_hold_their_lengths():
    assert all(n <= bucket(n) < n + 32 for n in range(1, 600))


# --- the logits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paired", [True, False])
def test_logits_are_those_of_the_full_model(folder, paired):
    lm = float_lm(folder)
    pieces = lm.encode(Document.parse(TEXT))
    inputs = [lm.model_input(MaskRequest(pieces if paired else None, pieces, i)) for i in range(len(pieces))]
    for x in inputs:
        got = lm.forward([x], *lm.shape_for(len(x.ids)))[0]
        np.testing.assert_allclose(got, full_logits(folder, x)[lm.candidate_ids], atol=1e-4, rtol=0)


@pytest.mark.parametrize("architecture", ["DistilBert", "Electra", "ModernBert"])
def test_any_other_architecture_gives_its_own_logits(bert, tmp_path, architecture):
    import torch
    import transformers

    copy = shutil.copytree(bert, tmp_path / architecture)
    size = len(json.loads((bert / "tokenizer.json").read_text())["model"]["vocab"])
    common = {"vocab_size": size, "pad_token_id": 0, "initializer_range": 0.3, "max_position_embeddings": 128}
    sizes = {
        "DistilBert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
        "Electra": {
            "embedding_size": 32,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 64,
        },
        "ModernBert": {
            "hidden_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "cls_token_id": 3,
            "sep_token_id": 4,
            "bos_token_id": 3,
            "eos_token_id": 4,
            "attn_implementation": "sdpa",
        },
    }[architecture]
    config = getattr(transformers, f"{architecture}Config")(**common, **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        getattr(transformers, f"{architecture}ForMaskedLM")(config).save_pretrained(copy)
    if architecture != "Electra":
        settings_file = copy / "tokenizer_config.json"
        own = json.loads(settings_file.read_text()) | {"model_input_names": ["input_ids", "attention_mask"]}
        settings_file.write_text(json.dumps(own))
    lm = float_lm(copy)
    assert lm._logits.cuts and lm.slower == ()
    pieces = lm.encode(Document.parse(TEXT))
    inputs = [lm.model_input(MaskRequest(pieces, pieces, i)) for i in (0, 5, len(pieces) - 1)]
    for x in inputs:
        got = lm.forward([x], *lm.shape_for(len(x.ids)))[0]
        np.testing.assert_allclose(got, full_logits(copy, x)[lm.candidate_ids], atol=1e-4, rtol=0)


def test_bfloat16_stays_near(bert):

    exact, near = float_lm(bert), MaskedLM(masked_lm_spec(str(bert)), "cpu", "bfloat16")
    pieces = exact.encode(Document.parse(TEXT))
    x = exact.model_input(MaskRequest(pieces, pieces, 3))
    a, b = (lm.forward([x], *lm.shape_for(len(x.ids)))[0] for lm in (exact, near))
    assert 0 < np.abs(a - b).max() < 0.3
    assert b.dtype == np.float32


def test_a_pass_refuses_what_it_has_no_room_for(bert):
    lm = load_masked_lm(str(bert))
    with pytest.raises(ValueError):
        lm.forward([ModelInput([3, 5, 4], [0, 0, 0], 1)] * 2, 1, 8)
    with pytest.raises(ValueError):
        lm.forward([ModelInput([3, 5, 4] * 4, [0] * 12, 1)], 1, 8)


# --- damaged folders -------------------------------------------------------------------------------------------------


def _poison(folder, value):
    """The same weights with one number replaced."""
    from safetensors.numpy import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    name = next(n for n in sorted(weights) if n.endswith("attention.self.value.weight"))
    weights[name] = weights[name].copy()
    weights[name].flat[0] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


BREAKS = {
    "empty weights": lambda m: (m / "model.safetensors").write_bytes(b""),
    "cut weights": lambda m: (m / "model.safetensors").write_bytes((m / "model.safetensors").read_bytes()[:-1000]),
    "no weights in the file": lambda m: (m / "model.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}"),
    "huge header": lambda m: (m / "model.safetensors").write_bytes(b"\xff" * 64),
    "empty tokenizer": lambda m: (m / "tokenizer.json").write_bytes(b""),
    "cut tokenizer": lambda m: (m / "tokenizer.json").write_bytes((m / "tokenizer.json").read_bytes()[:2000]),
    "a tokenizer of something else": lambda m: (m / "tokenizer.json").write_text('{"version": "1.0"}'),
    "no tokenizer": lambda m: [p.unlink() for p in m.glob("token*")],
    "tokenizer options": lambda m: (m / "tokenizer_config.json").write_text('{"tokenizer_class": 5}'),
    "broken tokenizer options": lambda m: (m / "tokenizer_config.json").write_bytes(b"\xff\xfe{"),
    "empty config": lambda m: (m / "config.json").write_bytes(b""),
    "config of no object": lambda m: (m / "config.json").write_text("[]"),
    "deep config": lambda m: (m / "config.json").write_text("[" * 100_000),
    "config of no model": lambda m: (m / "config.json").write_text('{"model_type": "nothing"}'),
    "config of a folder": lambda m: ((m / "config.json").unlink(), (m / "config.json").mkdir()),
    "other sizes": lambda m: _change(m, hidden_size=48),
    "sizes that cannot be": lambda m: _change(m, hidden_size="wide"),
    "negative sizes": lambda m: _change(m, num_hidden_layers=-1, hidden_size=-5),
    "no heads": lambda m: _change(m, num_attention_heads=0),
    "padding": lambda m: _change(m, model_type="roberta", pad_token_id="x"),
    "clip": lambda m: (m / "dptext.json").write_text('{"clip_min": 0, "clip_max": 1' + "0" * 400 + "}"),
    "NaN weights": lambda m: _poison(m, np.nan),
    "infinite weights": lambda m: _poison(m, np.inf),
}


def _change(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_folder_is_an_error_that_says_what_to_do(bert, tmp_path, how):
    import dptext_core as dpt

    copy = shutil.copytree(bert, tmp_path / "m")
    BREAKS[how](copy)
    with pytest.raises((ModelUnavailable, ConfigError)) as found:
        dpt.get_mechanism("dp-mlm", epsilon=50, model=str(copy), clip_min=-4, clip_max=8).rewrite(TEXT)
    assert str(found.value).endswith(".")


# --- the clipping range ----------------------------------------------------------------------------------------------


def test_clip_range_is_mean_and_four_deviations_above(bert):
    lm = load_masked_lm(str(bert))
    texts = [TEXT, "My friend bought a house in Paris last year and moved there in the summer."]
    told = []
    found = estimate_clip_range(texts, str(bert), every=3, task=Task(lambda *a: told.append(a)))
    low, high = found
    logits = []
    for text in texts:
        doc = Document.parse(text)
        pieces = lm.encode(doc)
        words = [i for i, t in enumerate(doc.tokens) if t.kind == "word"][1::3]
        for i in words:
            x = lm.model_input(MaskRequest(pieces, pieces, i))
            logits.append(lm.forward([x], *lm.shape_for(len(x.ids)))[0])
    every = np.concatenate(logits).astype(float)
    assert low == pytest.approx(every.mean(), abs=1e-9)
    assert high == pytest.approx(every.mean() + 4 * every.std(), abs=1e-9)
    assert told == [(1, 2), (2, 2)]
    assert (found.paper.low, found.paper.high) == (low, high)
    assert found.tuned.low == low and found.tuned.high == pytest.approx(every.mean() + WIDTHS["tuned"] * every.std())
    assert tuple(estimate_clip_range(texts, str(bert), every=3, contextualize=False)) != (low, high)


def test_the_bundled_model_has_both_ranges():
    spec = masked_lm_spec("bundled")
    assert list(spec.clips) == ["tuned", "paper"]
    paper, tuned = spec.clips["paper"], spec.clips["tuned"]
    assert (paper.low, paper.high) == (spec.clip_min, spec.clip_max) and paper.source and tuned.source
    sigma = (paper.high - paper.low) / WIDTHS["paper"]
    assert tuned.low == paper.low and tuned.high == pytest.approx(paper.low + WIDTHS["tuned"] * sigma, abs=1e-3)


def test_a_folder_may_name_a_tuned_range(bert, tmp_path):
    copy = shutil.copytree(bert, tmp_path / "m")
    assert list(masked_lm_spec(str(copy)).clips) == ["paper"]
    (copy / "dptext.json").write_text('{"tuned_min": -1, "tuned_max": 9, "tuned_source": "ours"}')
    assert masked_lm_spec(str(copy)).clips == {"tuned": ClipRange(-1.0, 9.0, "ours")}
    (copy / "dptext.json").write_text('{"tuned_min": 9, "tuned_max": 1}')
    with pytest.raises(ConfigError, match="tuned_min below tuned_max"):
        masked_lm_spec(str(copy))


def test_clip_range_wants_words(bert):
    with pytest.raises(InputError):
        estimate_clip_range(["... 12"], str(bert))
    with pytest.raises(ConfigError):
        estimate_clip_range([TEXT], str(bert), every=0)


def test_the_sentence_encoder_is_loaded_without_a_bar(monkeypatch, capfd):
    monkeypatch.setattr(sentence_encoder, "_ENCODERS", {})
    assert sentence_encoder.embed(["A doctor."], device="cpu").shape == (1, 384)
    assert "%" not in capfd.readouterr().err
