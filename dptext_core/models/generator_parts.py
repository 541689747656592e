"""Read the parts of a generator from files: its network, tokens and special tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, ModelUnavailable
from ..support.imports import transformers_import_guard
from ..text.language import Language
from ..text.languages import ENGLISH
from .generators import WEIGHTS_FILE, GeneratorSpec
from .registry import json_in
from .tokens import first_line

#: Vocabulary items that are not text, besides special tokens.
_UNUSED = re.compile(r"[\[<](unused|extra_id_)_?\d+[\]>]|<\|?(reserved|image|audio|start_of|end_of)[^>]*>", re.I)
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
#: How the end of a text is displayed in a list of tokens.
END = "(end)"


def _takes(model: Any, name: str) -> bool:
    import inspect

    return name in inspect.signature(model.forward).parameters


def _past_key_name(model: Any) -> str:
    """Return the name of the cached states in this version of transformers."""
    return "cache" if _takes(model, "cache") else "past_key_values"


def _writable_ids(tokenizer: Any, model: Any, n: int) -> tuple[np.ndarray, int]:
    """Return the ids that can be written (ascending, including the end token), and the id of the end token."""
    end = model.config.eos_token_id
    if end is None and model.generation_config is not None:
        end = model.generation_config.eos_token_id
    end = end[0] if isinstance(end, list | tuple) else end
    end = tokenizer.eos_token_id if end is None else end
    if end is None:
        raise ConfigError(
            "The model names no token that ends a text (eos_token_id), so it cannot write one. Choose another model."
        )
    special = set(tokenizer.all_special_ids)
    names = tokenizer.convert_ids_to_tokens(list(range(n)))
    ids = [i for i, t in enumerate(names) if i == end or (i not in special and t and not _UNUSED.fullmatch(str(t)))]
    return np.array(ids, np.int64), int(end)


def _start_id(model: Any, tokenizer: Any) -> int:
    for start in (
        model.config.decoder_start_token_id,
        getattr(model.generation_config, "decoder_start_token_id", None),
        tokenizer.bos_token_id,
        tokenizer.cls_token_id,
        tokenizer.pad_token_id,
    ):
        if start is not None:
            return int(start)
    raise ConfigError("The model has no decoder_start_token_id, so it cannot write. Choose another model.")


_CLOSING, _OPENING, _TIGHT = set(".,;:!?)]}%…"), set("([{$#"), set("-–—/@_")
#: The language whose apostrophes are joined to the word before them.
_LANGUAGE: Language = ENGLISH


def _word_pieces(tokens: Sequence[str]) -> list[str]:
    """Join word pieces into a text: a public rule over the output alone. Punctuation follows Latin script."""
    # An apostrophe inside a word has no spaces around it: don ' t, ana ' s.
    after = {*_LANGUAGE.clitics, *(d.partition("'")[2] for d in _LANGUAGE.detached)}
    out: list[str] = []
    glued, quoted = True, False
    for k, token in enumerate(tokens):
        if token == END:
            out.append("")
        elif token.startswith("##"):
            out.append(token[2:])
            glued = False
        elif token == "'":
            inside = k + 1 < len(tokens) and tokens[k + 1] in after
            out.append("'" if inside or glued else " '")
            glued = True
        elif token == '"':
            out.append('"' if quoted or glued else ' "')
            quoted = not quoted
            glued = quoted
        else:
            tight = glued or token in _CLOSING or token in _TIGHT
            out.append(token if tight else f" {token}")
            glued = token in _OPENING or token in _TIGHT
    return out


def _bundled(spec: GeneratorSpec) -> tuple[Any, Any]:
    """Return a bundled model: the trunk's embeddings (and encoder), and the trained weights of the decoder."""
    import torch
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file

    with transformers_import_guard():
        from transformers import (
            AutoTokenizer,
            BertConfig,
            BertLMHeadModel,
            BertModel,
            EncoderDecoderConfig,
            EncoderDecoderModel,
        )

    from ..words.vocabulary import verified_trunk_folder

    trunk = Path(verified_trunk_folder())
    notes = json_in(spec.folder / "spec.json")
    try:
        weights = {k: v.float() for k, v in load_file(spec.folder / WEIGHTS_FILE).items()}
        with safe_open(trunk / "model.safetensors", "pt") as f:
            base = {k.removeprefix("bert."): f.get_tensor(k).float() for k in f.keys()}  # noqa: SIM118 (no mapping)
        base.pop("embeddings.position_ids", None)  # a plain count, which older files contain
        state = _decoder_state(base, weights)
        layers = 1 + max(int(k.split(".")[3]) for k in weights if k.startswith("decoder.encoder.layer."))
        tokenizer = AutoTokenizer.from_pretrained(trunk, local_files_only=True)
        crosses = spec.kind == "encoder-decoder"
        ends = {"eos_token_id": tokenizer.sep_token_id, "pad_token_id": tokenizer.pad_token_id}
        config = BertConfig.from_pretrained(
            trunk, is_decoder=True, add_cross_attention=crosses, num_hidden_layers=layers, **ends
        )
        config._attn_implementation = "eager"
        with torch.device("meta"):  # no random numbers are generated for weights that the files contain
            decoder: Any = BertLMHeadModel(config)
        if not crosses:
            _take(decoder, state)
            return decoder, tokenizer
        short = BertConfig.from_pretrained(trunk, num_hidden_layers=int(notes["encoder_layers"]))
        short._attn_implementation = "eager"
        both = EncoderDecoderConfig.from_encoder_decoder_configs(short, config)
        both.decoder_start_token_id, both.eos_token_id = tokenizer.cls_token_id, tokenizer.sep_token_id
        both.pad_token_id = tokenizer.pad_token_id
        with torch.device("meta"):
            encoder = BertModel(short, add_pooling_layer=False)
            model = EncoderDecoderModel(config=both, encoder=encoder, decoder=decoder)
        _take(decoder, state)
        _take(encoder, {k: v for k, v in base.items() if k in encoder.state_dict()})
        return model, tokenizer
    except (SafetensorError, OSError, KeyError, RuntimeError, IndexError, torch.OutOfMemoryError) as error:
        raise ModelUnavailable(
            f"The weights in {spec.folder} cannot be read ({type(error).__name__}: {first_line(error)}). Download the "
            "folder again."
        ) from error


def _decoder_state(base: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
    """Return the decoder's weights by their names in transformers: the trunk's embeddings, and the trained weights."""
    state = {f"bert.{k}": v for k, v in base.items() if k.startswith("embeddings.")}
    state |= {f"bert.{k.removeprefix('decoder.')}": v for k, v in weights.items() if k.startswith("decoder.")}
    head = "cls.predictions."
    state[head + "bias"] = state[head + "decoder.bias"] = weights["bias"]
    state[head + "decoder.weight"] = base["embeddings.word_embeddings.weight"]
    for end in ("weight", "bias"):
        state[f"{head}transform.dense.{end}"] = weights[f"dense.{end}"]
        state[f"{head}transform.LayerNorm.{end}"] = weights[f"norm.{end}"]
    return state


def _take(model: Any, state: dict[str, Any]) -> None:
    """Assign weights to a model that was built on the meta device."""
    import torch

    missing, unexpected = model.load_state_dict(state, strict=False, assign=True)
    if missing or unexpected:
        raise KeyError(f"{len(missing)} weights are missing, {len(unexpected)} belong to another model")
    model.tie_weights()
    embeddings = model.base_model.embeddings  # weights that files do not contain
    embeddings.position_ids = torch.arange(embeddings.position_ids.shape[-1])[None]
    embeddings.token_type_ids = torch.zeros(embeddings.token_type_ids.shape, dtype=torch.int64)


def _from_folder(spec: GeneratorSpec) -> tuple[Any, Any]:
    import torch

    with transformers_import_guard():
        from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    auto: Any = AutoModelForSeq2SeqLM if spec.kind == "encoder-decoder" else AutoModelForCausalLM
    try:
        model, report = auto.from_pretrained(
            spec.folder,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            attn_implementation="eager",
            output_loading_info=True,
        )
    except OSError as error:
        raise ModelUnavailable(
            f"The files of {spec.id!r} are incomplete on this machine. Get them again ({first_line(error)})."
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{spec.id!r} is not a generator that transformers knows. Choose another ({first_line(error)})."
        ) from error
    if lost := [k for k in report["missing_keys"] if not k.endswith(("embed_tokens.weight", "lm_head.weight"))]:
        raise ConfigError(f"{spec.id!r} has no trained weights for {', '.join(lost[:3])}. Choose another model.")
    try:
        tokenizer = AutoTokenizer.from_pretrained(spec.folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"{spec.id!r} has no tokenizer that can be read. Get it again ({first_line(error)})."
        ) from error
    if not tokenizer.is_fast:
        raise ConfigError(f"{spec.id} has no fast tokenizer (tokenizer.json). Choose another model.")
    return model, tokenizer
