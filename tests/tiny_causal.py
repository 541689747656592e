"""Tiny random causal language models for tests: Gemma 2 and 3 and GPT-2, always with the same weights."""

from __future__ import annotations

import json
from pathlib import Path

from tiny_generators import byte_pairs

from dptext_core.support.imports import transformers_import_guard

SENTENCE = "the doctor changed a dose on monday nobody here sells any green bicycles and so it goes"
WORDS = SENTENCE.split()


def write_tokenizer(folder: Path) -> None:
    """Word pieces of one letter or more, as BPE: every text of ASCII letters has one."""
    byte_pairs(folder, ("<s>", "</s>"), WORDS, True, bos_token="<s>", eos_token="</s>")


def write_model(folder: Path, kind: str, **options) -> Path:
    """A tiny random causal language model of this kind."""
    import torch

    with transformers_import_guard():
        import transformers as hf

    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    size = len(json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"])
    plan = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "sliding_window": 4,
        "max_position_embeddings": 64,
        "vocab_size": size,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 1,
        "initializer_range": 0.4,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        if kind == "gpt2":
            made = {"vocab_size": size, "n_positions": 64, "n_embd": 16, "n_layer": 2, "n_head": 2, "bos_token_id": 0}
            model = hf.GPT2LMHeadModel(hf.GPT2Config(**{**made, "initializer_range": 0.4, **options}))
        elif kind == "gemma2":  # its scores are bent after the output layer
            model = hf.Gemma2ForCausalLM(hf.Gemma2Config(**plan, final_logit_softcapping=2.0, **options))
        else:
            model = hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(**plan, **options))
        model.save_pretrained(folder)
    return folder
