"""The judge: what it adds up against raw logits in float32, texts together and alone, and where no judge is."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tiny_causal import WORDS, write_model, write_tokenizer

from dptext_core.errors import ConfigError, ModelUnavailable
from dptext_core.measure.metrics import score
from dptext_core.models import added, causal, shortcuts
from dptext_lab.commands import bench_run
from dptext_lab.measurements import public_prior

TEXTS = [
    "the doctor changed a dose",
    "it",
    "",
    " \n",
    "so it goes on and on and on here",
    "green!",
    "<s> the </s>",
    "the",
    "nobody here sells any green bicycles on monday and so the doctor changed it",
]


@pytest.fixture(scope="module", params=["gemma3", "gpt2"])
def folder(request, tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("judge") / request.param, request.param)


@pytest.fixture(scope="module")
def gemma(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("judge") / "tiny", "gemma3")


def by_hand(folder: Path, text: str, longest: int = 64) -> float:
    """ln perplexity of a word, one piece after the other, from the whole model's logits in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    pieces = tokenizer.backend_tokenizer
    pieces.encode_special_tokens = True
    ids = [tokenizer.bos_token_id, *pieces.encode(text).ids][:longest]
    words = len(tokenizer.decode(ids[1:]).split())
    total = 0.0
    for k in range(1, len(ids)):
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids[:k]])).logits[0, -1].double().numpy()
        total += float(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[ids[k]])
    return total / words if words else math.nan


# --- the numbers -----------------------------------------------------------------------------------------------------


def test_the_judge_is_an_independent_recomputation(folder):
    judge = causal.Judge(folder, dtype="float32")
    want = [by_hand(folder, text) for text in TEXTS]
    assert judge(TEXTS) == pytest.approx(want, rel=1e-4, nan_ok=True)
    assert [math.isnan(x) for x in want] == [not text.strip() for text in TEXTS]
    readings = judge.read(TEXTS)
    assert [r.words for r in readings] == [len(text.split()) for text in TEXTS]
    assert readings[0].log_perplexity == pytest.approx(readings[0].loss / 5)


def test_together_and_alone_are_the_same(folder, monkeypatch):
    judge = causal.Judge(folder, dtype="float32")
    together = judge(TEXTS)
    alone = [judge([text])[0] for text in TEXTS]
    assert together == pytest.approx(alone, abs=1e-4, nan_ok=True)
    monkeypatch.setattr(causal, "_PASS", 12)  # passes of a few texts
    monkeypatch.setattr(causal, "_LOGITS", 700)  # output layer and sums of a few places at a time
    monkeypatch.setattr(causal, "_SUMMED", 300)
    assert judge(TEXTS) == pytest.approx(alone, abs=1e-4, nan_ok=True)
    assert judge([TEXTS[0]] * 3) == [pytest.approx(alone[0], abs=1e-4)] * 3
    assert judge([]) == []


def test_of_a_long_text_the_beginning_is_read(gemma):
    judge = causal.Judge(gemma, dtype="float32")
    text = " ".join(WORDS * 20)
    (reading,) = judge.read([text])
    assert judge.longest == 64 and reading.pieces == 63
    assert reading.words == 63, "every word is one piece here, and the mark of the beginning is another"
    assert reading.log_perplexity == pytest.approx(by_hand(gemma, text), rel=1e-4)
    assert judge([text + " and more words"]) == judge([text])


def test_texts_share_a_pass_by_length():
    lengths = [5, 1, 2000, 7, 3000, 2, 900, 1000]
    passes = list(causal._batches(lengths))
    assert sorted(i for rows in passes for i in rows) == list(range(len(lengths)))
    for rows in passes:
        assert len(rows) == 1 or len(rows) * max(lengths[i] for i in rows) <= causal._PASS
    assert list(causal._batches([])) == []


def test_bfloat16_is_near_and_the_default_is_what_the_processor_multiplies(gemma):
    from dptext_core.support.device import best_dtype

    exact, rounded = (causal.Judge(gemma, dtype=dtype, device="cpu") for dtype in ("float32", "bfloat16"))
    assert rounded(TEXTS) == pytest.approx(exact(TEXTS), abs=0.1, nan_ok=True)
    assert causal.Judge(gemma, device="cpu").dtype == best_dtype("cpu")


@pytest.mark.filterwarnings("ignore::dptext_core.models.shortcuts.SlowerPath")
def test_a_model_that_bends_its_scores_afterwards_is_run_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(shortcuts, "_announced", set())
    folder = write_model(tmp_path / "bent", "gemma2")
    judge = causal.Judge(folder, dtype="float32")
    assert not judge._cut and shortcuts._announced
    assert judge(TEXTS) == pytest.approx([by_hand(folder, text) for text in TEXTS], rel=1e-4, nan_ok=True)


def test_a_model_without_a_mark_of_the_beginning_scores_from_the_second_piece(tmp_path):
    judge = causal.Judge(write_model(tmp_path / "gpt2", "gpt2", bos_token_id=50_256), dtype="float32")
    one, two = judge.read(["the", "the doctor"])
    assert one.pieces == 0 and math.isnan(one.log_perplexity)
    assert two.pieces == 1 and two.words == 2


def test_weights_that_are_damaged_are_an_error(gemma):
    judge = causal.Judge(gemma, dtype="float32")
    judge._model.get_input_embeddings().weight.data[:] = math.nan
    with pytest.raises(ModelUnavailable, match="add it again"):
        judge(["the doctor"])


# --- which judge -----------------------------------------------------------------------------------------------------


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """No model is added yet, and no judge is loaded."""
    monkeypatch.setenv("DPTEXT_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(causal, "_JUDGES", {})
    return tmp_path / "models"


def install(folder: Path, model: Path) -> None:
    folder.mkdir(parents=True)
    for path in model.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    notes = {"title": "Tiny", "license": "l", "terms": "t", "build": "Q0", "sha256": "s"}
    (folder / "dptext.json").write_text(json.dumps(notes), encoding="utf-8")


def test_the_metric_takes_the_model_that_was_added(empty, gemma):
    install(empty / "own", gemma)
    judge = causal.judge()
    assert judge is causal.judge("own") and judge.title == "Tiny (Q0)"
    values = score("lm_perplexity", ["unused"] * 2, ["the doctor changed it", ""])
    assert values[0] == pytest.approx(math.exp(judge(["the doctor changed it"])[0])) and math.isnan(values[1])
    assert causal.judge_folder() == empty / "own"
    install(empty / causal.JUDGE, gemma)
    assert causal.judge_folder() == empty / causal.JUDGE


def test_a_word_of_hundreds_of_pieces_is_past_all_numbers(monkeypatch):
    monkeypatch.setattr(causal, "judge", lambda: lambda texts: [3.0, 1000.0, math.nan])
    assert score("lm_perplexity", ["a"] * 3, ["a"] * 3) == pytest.approx([math.exp(3), math.inf, math.nan], nan_ok=True)


def test_where_no_judge_is_a_sentence_names_the_command(empty, tmp_path, gemma):
    for name in (None, causal.JUDGE):
        with pytest.raises(ModelUnavailable, match=r"models add gemma-3-270m\. It then works offline"):
            causal.judge_folder(name)
    with pytest.raises(ModelUnavailable, match="models add"):
        score("lm_perplexity", ["a"], ["a"])
    with pytest.raises(ConfigError, match="nowhere cannot be a judge"):
        causal.judge("nowhere")
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json"):
        causal.judge(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelUnavailable, match="no readable causal language model"):
        causal.judge(tmp_path)
    assert causal.judge(gemma).title == "tiny" and added.added() == []


def test_measurements_say_so_before_they_begin(empty, tmp_path):
    rows = tmp_path / "rows.jsonl"
    with pytest.raises(ModelUnavailable, match="models add"):
        public_prior.main(["--sets", "builtin", "--judge", causal.JUDGE, "--rows", str(rows)])
    with pytest.raises(ModelUnavailable, match="models add"):
        bench_run.main(["--lm-perplexity", "--out", str(rows)])
    assert not rows.exists()
