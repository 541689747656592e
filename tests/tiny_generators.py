"""Tiny random generators for tests: T5, GPT-2, Gemma 3 and BART, built at once, always the same weights."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from tiny import vocabulary

from dptext_core.support.imports import transformers_import_guard

KINDS = ("t5", "gpt2", "gemma3")


def byte_pairs(folder: Path, specials: Sequence[str], words: Iterable[str], prefix: bool, **named: str):
    """Byte-level BPE that knows these words whole. prefix: a space is added before a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    with transformers_import_guard():
        from transformers import PreTrainedTokenizerFast

    vocab: dict[str, int] = {s: n for n, s in enumerate(specials)}
    for c in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab[c] = len(vocab)
    merges: list[tuple[str, str]] = []
    for word in words:
        form = "Ġ" + word
        for n in range(1, len(form)):
            if form[: n + 1] not in vocab:
                vocab[form[: n + 1]] = len(vocab)
                merges.append((form[:n], form[n]))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
    fast.save_pretrained(folder)
    return fast, len(vocab)


def tiny_generator(path: str | Path, kind: str, seed: int = 5) -> Path:
    """Write a tiny random generator of ``kind`` with its tokenizer to ``path``; return the folder."""
    import torch

    with transformers_import_guard():
        import transformers as hf

    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    specials = ["<pad>", "</s>", "<s>", "<unused0>"]
    named = {"pad_token": "<pad>", "eos_token": "</s>", "bos_token": "<s>"}
    _, size = byte_pairs(folder, specials, vocabulary()[:120], False, **named)
    size += 3  # more rows than the tokenizer has tokens, as T5 has
    ends = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "t5":
            config = hf.T5Config(
                vocab_size=size,
                d_model=32,
                d_kv=8,
                d_ff=64,
                num_layers=2,
                num_heads=4,
                decoder_start_token_id=0,
                pad_token_id=0,
                eos_token_id=1,
            )
            model = hf.T5ForConditionalGeneration(config)
        elif kind == "bart":
            # As facebook/bart-base: the decoder starts with the end token, and the beginning is forced after it.
            config = hf.BartConfig(
                vocab_size=size,
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                max_position_embeddings=160,
                decoder_start_token_id=1,
                tie_word_embeddings=False,
                **ends,
            )
            model = hf.BartForConditionalGeneration(config)
            model.generation_config.forced_bos_token_id = 2
        elif kind == "gpt2":
            model = hf.GPT2LMHeadModel(
                hf.GPT2Config(vocab_size=size, n_positions=160, n_embd=32, n_layer=2, n_head=4, **ends)
            )
        else:
            config = hf.Gemma3TextConfig(
                vocab_size=size,
                hidden_size=32,
                intermediate_size=64,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=1,
                head_dim=8,
                max_position_embeddings=160,
                sliding_window=16,
                **ends,
            )
            model = hf.Gemma3ForCausalLM(config)
        for p in model.parameters():  # tiny random models say next to nothing otherwise
            if p.ndim > 1:
                p.data.mul_(6.0 if kind != "t5" else 1.5)
        model.save_pretrained(folder)
    (folder / "dptext.json").write_text(
        json.dumps({"clip_min": -4.0, "clip_max": 8.0, "clip_source": "set by hand for tests", "max_length": 120}),
        encoding="utf-8",
    )
    return folder


@cache
def _plain(auto: type, folder: str):
    return auto.from_pretrained(folder).eval()


def plain_scores(folder: str | Path, prompt, tokens):
    """The scores of every step by the plain model: no cache, no batch, no padding; float32 (steps, candidates)."""
    import numpy as np
    import torch

    with transformers_import_guard():
        import transformers as hf

    from dptext_core.models.loaded_generators import load_generator

    g = load_generator(str(folder))
    auto = hf.AutoModelForSeq2SeqLM if g.spec.kind == "encoder-decoder" else hf.AutoModelForCausalLM
    model = _plain(auto, str(folder))
    out = []
    for k in range(len(tokens)):
        written = g.candidate_ids[list(tokens[:k])].tolist()
        with torch.no_grad():
            if g.spec.kind == "encoder-decoder":
                logits = model(
                    input_ids=torch.tensor([list(prompt)]), decoder_input_ids=torch.tensor([[*g._opening, *written]])
                ).logits
            else:
                logits = model(input_ids=torch.tensor([[*prompt, *written]])).logits
        out.append(logits[0, -1].numpy()[g.candidate_ids])
    return np.array(out)
