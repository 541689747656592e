"""Tiny random masked language models for tests: built in well under a second, always the same weights.

The words are ordinary English, so that test texts written for the project tokenise into whole words; letters are
there as pieces, so that any ASCII word tokenises into something.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.support.imports import transformers_import_guard

WORDS = (
    "the a an i of and to in is was were be been are it he she they we you his her their my your our its this that "
    "these those with without for from on at by as or but not no yes if then than so very too more most less all any "
    "some many few one two three first last next new old good bad great small large long short high low young early "
    "late right left same other own own public private man woman child children people person family friend friends "
    "doctor nurse patient hospital clinic disease illness diabetes cancer fever pain heart blood medicine treatment "
    "diagnosed treated told said says asked went came gave took made saw knew thought felt found left moved lived "
    "works worked works wrote read paid bought sold called met married born died year years month months week weeks "
    "day days night morning evening monday friday summer winter time money bank job work school university teacher "
    "student lawyer judge court police city town street house home room office company bus train car road river "
    "mountain paris london berlin england france london dog cat bird fish food bread wine water coffee tea film "
    "movie book story song music game team player actor director plot funny boring dull bright dark red green blue "
    "white black happy sad angry afraid sick healthy strong weak rich poor slow fast quick brown fox jumps over lazy "
    "about after before again never always often here there where when who what how why can could will would may "
    "might must should do did does have has had me him them us up down out off into under"
)
PIECES = "##s ##ed ##ing ##er ##ly ##es ##ion ##al ##est ##ness ##able ##ment"


def vocabulary() -> list[str]:
    """The whole words of the tiny models: distinct, of two letters or more or "a" or "i"."""
    return list(dict.fromkeys(WORDS.split()))


def _write_clip(path: Path) -> None:
    (path / "dptext.json").write_text(
        json.dumps({"clip_min": -4.0, "clip_max": 8.0, "clip_source": "set by hand for tests"}), encoding="utf-8"
    )


def tiny_masked_lm(path: str | Path, *, max_positions: int = 128, seed: int = 11) -> Path:
    """Write a tiny random BERT masked LM with a WordPiece tokenizer (2 layers, width 32) to `path`; return that."""
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    with transformers_import_guard():
        from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    special = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = string.ascii_lowercase + string.digits
    pieces = [*special, *string.punctuation, *letters, *("##" + c for c in letters), *PIECES.split(), *vocabulary()]
    vocab = {piece: n for n, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
        model_max_length=max_positions,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocab),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=max_positions,
        initializer_range=0.3,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        BertForMaskedLM(config).save_pretrained(folder)
    _write_clip(folder)
    return folder


def tiny_roberta(path: str | Path, *, max_positions: int = 128, seed: int = 12) -> Path:
    """Write a tiny random RoBERTa masked LM with a byte-level BPE tokenizer to `path`; return the folder."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    with transformers_import_guard():
        from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    vocab: dict[str, int] = {s: n for n, s in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])}
    for c in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab[c] = len(vocab)
    merges: list[tuple[str, str]] = []
    # Words are merged from the left, one letter at a time, so that every listed word ends as one piece.
    for word in vocabulary():
        for form in ("Ġ" + word, "Ġ" + word.capitalize()):
            for n in range(1, len(form)):
                pair = (form[:n], form[n])
                if form[: n + 1] not in vocab:
                    vocab[form[: n + 1]] = len(vocab)
                    merges.append(pair)
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", vocab["</s>"]), ("<s>", vocab["<s>"]), add_prefix_space=False
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
        model_max_length=max_positions,
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(vocab),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=max_positions + 2,
        type_vocab_size=1,
        initializer_range=0.3,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        RobertaForMaskedLM(config).save_pretrained(folder)
    _write_clip(folder)
    return folder


def tiny_autoencoder(path: str | Path, *, hidden: int = 8, seed: int = 13) -> Path:
    """Write a tiny random LSTM autoencoder over the trunk's word pieces to `path`; return that."""
    import numpy as np

    from dptext_core.models.autoencoder import Autoencoder, AutoencoderShape

    shape, rng = AutoencoderShape(hidden=hidden, window=16, max_tokens=6), np.random.default_rng(seed)
    weights = {name: rng.normal(size=size).astype(np.float32) for name, size in shape.tensors().items()}
    # So that another vector is another text.
    weights["decoder.input"][:, hidden:] *= 3
    weights["decoder.state"] *= 0.3
    Autoencoder(shape, weights).save_pretrained(path)
    return Path(path)


def bags_of_letters(texts: Sequence[str], **_: Any) -> np.ndarray:
    """Of each text how often it has each letter, of length 1, float32 (n, 384): in place of the sentence encoder."""

    def of(text: str) -> np.ndarray:
        counts = np.bincount([ord(c) % 64 for c in text] or [0], minlength=384).astype(np.float32)
        return counts / np.linalg.norm(counts)

    return np.array([of(text) for text in texts])
