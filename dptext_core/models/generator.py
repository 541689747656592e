"""A generator in memory: its tokens, its prompts, and its scores of the next token, step by step.

What was computed for the tokens before is kept (keys and values), so that a step costs one token. A state has a shape:
how many prompts were read together, to which length they were filled up, and how often each is drawn. The same tokens
in a state of the same shape give the same bits on one machine, device and number of threads, whatever stands in the
other rows; other shapes agree up to rounding. So scores that are not kept can be computed again, to the last bit.

What is public before a text (worked examples), and a whole prompt without a text, are read once and kept for all texts
and draws: always alone, so that they have the same bits whatever is asked for.
"""

from __future__ import annotations

import copy
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, ModelUnavailable
from ..support import extras
from ..support.device import best_dtype, enough_memory, resolve_device
from ..support.imports import alone
from ..support.quiet import quiet
from ..text.language import Language
from ..text.languages import ENGLISH
from .generators import PROMPTED, WEIGHTS_FILE, GeneratorPass, GeneratorSpec, generator_spec
from .masked_lm import read_whole
from .registry import BUNDLED, json_in
from .tokens import clean, first_line, private_backend

#: What is no text in a vocabulary, besides special tokens.
_UNUSED = re.compile(r"[\[<](unused|extra_id_)_?\d+[\]>]|<\|?(reserved|image|audio|start_of|end_of)[^>]*>", re.I)
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
#: The smallest model that is computed in bfloat16: below it, reading the weights takes no time.
LARGE = 100_000_000
#: Texts that are encoded and decoded together, always so many: rows that are not needed are filled.
ROWS = 8
#: Tokens before a text from which on they are read once for all: below it, there is nothing to gain.
LEAST_PREFIX = 16
#: Public prompts, and public parts of prompts, of which it is kept what was read.
PUBLIC = 4
#: How the end of a text is written where tokens are listed.
END = "(end)"


@dataclass
class State:
    """What was computed for the tokens so far. logits: float32 (rows, n) of the next token, over the candidates."""

    shape: GeneratorPass
    cache: Any
    seen: Any
    there: Any
    lengths: Any
    logits: np.ndarray
    steps: int = 0


class Generator:
    """One loaded model on one device. Computing is serialised; the rest is safe to call from any thread.

    candidates: the public, fixed set of tokens that can be written, in order of their ids, the end among them;
    candidate_ids: these ids, int64 (n,). ends: indices of candidates after which nothing is written: the end token,
    and tokens with a line break where ``lines`` are written.
    """

    def __init__(self, spec: GeneratorSpec, device: str, dtype: str | None = None):
        torch = extras.torch()

        with quiet():
            model, tokenizer = _bundled(spec) if spec.on_trunk else _from_folder(spec)
        self.spec = spec
        self.device = device
        size = sum(p.numel() for p in model.parameters())
        self.dtype = dtype or (best_dtype(device) if size >= LARGE else "float32")
        self.parameters = size
        self._model = model.to(device=device, dtype=getattr(torch, self.dtype)).eval().requires_grad_(False)
        self._tokenizer = tokenizer
        self._encode = private_backend(tokenizer)
        self._takes_positions = _takes(model, "position_ids")
        self._window = getattr(model.config, "sliding_window", None)
        self._takes_keep = _takes(model, "logits_to_keep")
        self._past = _past(model)
        rows = model.get_output_embeddings().weight.shape[0]
        ids, end = _written(tokenizer, model, min(len(tokenizer), rows))
        self.candidate_ids = ids
        self.end = int(np.searchsorted(ids, end))
        self._ids = torch.as_tensor(ids, device=device)
        self.pad_id = int(tokenizer.pad_token_id if tokenizer.pad_token_id is not None else end)
        self._start = _start_id(model, tokenizer) if spec.kind == "encoder-decoder" else None
        self._lock = threading.Lock()
        self._public: dict[tuple[int, ...], State] = {}

    def __repr__(self) -> str:
        return f"Generator({self.spec.id!r}, device={self.device!r}, dtype={self.dtype!r})"

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Return the display form of each candidate: ``▁`` for a space before it, ``##`` for none."""
        found = self._tokenizer.convert_ids_to_tokens(self.candidate_ids.tolist())
        out = [str(t).replace("Ġ", "▁").replace("Ċ", "⏎") for t in found]
        out[self.end] = END
        return tuple(out)

    @cached_property
    def surfaces(self) -> tuple[str, ...]:
        """Return the text that each candidate appends, with the blank before it if it begins a word; a partial
        character as U+FFFD."""
        tokens = [str(t) for t in self._tokenizer.convert_ids_to_tokens(self.candidate_ids.tolist())]
        if type(self._encode.decoder).__name__ == "WordPiece":
            out = [t[2:] if t.startswith("##") else f" {t}" for t in tokens]
        elif any(t.startswith("▁") for t in tokens):
            out = ["\n" if t == "<0x0A>" else "\ufffd" if _BYTE.fullmatch(t) else t.replace("▁", " ") for t in tokens]
        else:
            out = self._encode.decode_batch([[i] for i in self.candidate_ids.tolist()], skip_special_tokens=False)
        out[self.end] = ""
        return tuple(out)

    @cached_property
    def breaks(self) -> frozenset[int]:
        """Candidates that hold a line break."""
        pieces = self._tokenizer.convert_ids_to_tokens(self.candidate_ids.tolist())
        return frozenset(i for i, t in enumerate(pieces) if "\n" in str(t) or "Ċ" in str(t) or t == "<0x0A>")

    # --- texts and tokens

    def ids_of(self, text: str, special: bool = False) -> list[int]:
        """Token ids of a text; ``special``: with what the model's tokenizer puts around it."""
        return list(self._encode.encode(clean(text), add_special_tokens=special).ids)

    def prompt(self, before: str, text: str, after: str, room: int) -> tuple[list[int], bool]:
        """Ids of ``before + text + after`` with what the tokenizer puts around, at most ``room`` of them; whether the
        text had to be cut at its end for that.

        Special tokens written out in the text are read as plain characters.
        """
        ids = self.ids_of(before + text + after, special=True)
        if self.spec.kind == "decoder" and ids and ids[-1] in (self.sep_id, self.end_id):
            ids = ids[:-1]  # what closes a text would end it before anything is written
        if len(ids) <= room:
            return ids, False
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if len(self.ids_of(before + text[:middle] + after, special=True)) <= room:
                low = middle
            else:
                high = middle - 1
        if low == 0:
            raise ConfigError(
                "The prompt leaves no room for a text: it is longer than what the model reads. Choose a shorter "
                "prompt, or a smaller max_tokens."
            )
        return self.prompt(before, text[:low].rstrip(), after, room)[0], True

    def prefix(self, before: str, prompt: Sequence[int], ahead: int) -> int:
        """Return how many of a prompt's first tokens match those of ``before``, whatever follows; 0 if they are not
        worth a pass of their own. ahead: how many places may follow the prompt, including those to which it is filled
        up: filling stands behind the prefix, and a window that slides must reach over it."""
        if self.spec.kind != "decoder" or (self._window is not None and len(prompt) + ahead > self._window):
            return 0
        ids = self.ids_of(before, special=True)
        # Its last ones may be written otherwise before a text.
        n = len(ids) - 2
        return n if n >= LEAST_PREFIX and list(prompt[:n]) == ids[:n] and len(prompt) > n else 0

    @property
    def end_id(self) -> int:
        return int(self.candidate_ids[self.end])

    @property
    def sep_id(self) -> int | None:
        return self._tokenizer.sep_token_id

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return the text that each written candidate (index) appends, with spaces before it; the end appends
        nothing."""
        raw = (
            [] if not len(tokens) else self._tokenizer.convert_ids_to_tokens(self.candidate_ids[list(tokens)].tolist())
        )
        if self._encode.decoder is not None and type(self._encode.decoder).__name__ == "WordPiece":
            return _word_pieces([END if i == self.end else str(t) for i, t in zip(tokens, raw, strict=True)])
        out, ids, before = [], [], ""
        for i in tokens:
            if i != self.end:
                ids.append(int(self.candidate_ids[i]))
            text = self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
            # A character of several tokens is written with the last of them.
            if text.endswith("\ufffd") or not text.startswith(before):
                out.append("")
                continue
            out.append(text[len(before) :])
            before = text
        return out

    # --- scores

    def public(self, prompt: Sequence[int], draws: int = 1) -> State:
        """:meth:`begin` of one prompt in which nothing is private: what was read of it is kept."""
        key = tuple(prompt)
        if (state := self._public.get(key)) is None:
            state = self.begin([key])
            for old in list(self._public)[: max(0, len(self._public) - PUBLIC + 1)]:
                self._public.pop(old, None)
            self._public[key] = state
        return self.repeated(state, draws)

    def begin(
        self, prompts: Sequence[Sequence[int]], draws: int = 1, width: int | None = None, prefix: int = 0
    ) -> State:
        """Read prompts (ids), and be ready to write ``draws`` continuations of each: row k·draws + j belongs to
        prompt k. prefix: how many tokens at the beginning are public and the same in all of them. width: the length to
        fill up to behind these, at least that of the longest."""
        import torch

        cache, before = None, prompts[0][:prefix]
        if prefix:
            cache = self.repeated(self.public(before), len(prompts)).cache
            prompts = [p[prefix:] for p in prompts]
        width = max(map(len, prompts)) if width is None else width
        left = self.spec.kind == "decoder"
        ids = np.full((len(prompts), width), self.pad_id, np.int64)
        there = np.zeros((len(prompts), width), np.int64)
        for r, p in enumerate(prompts):
            part = slice(width - len(p), width) if left else slice(0, len(p))
            ids[r, part], there[r, part] = p, 1
        shape = GeneratorPass(len(prompts), width, 1, prefix)
        there = np.pad(there, ((0, 0), (prefix, 0)), constant_values=1)
        ids_t, mask = (torch.as_tensor(a, device=self.device) for a in (ids, there))
        with self._lock, enough_memory(self.device), torch.inference_mode():
            if left:
                at = (mask.cumsum(1) - 1).clamp(min=0)[:, prefix:]
                given = {"position_ids": at} if self._takes_positions else {}
                out, read = self._run(cache, input_ids=ids_t, attention_mask=mask, **given)
                state = State(shape, read, None, mask, mask.sum(1), out.logits)
            else:
                seen = self._model.get_encoder()(input_ids=ids_t, attention_mask=mask)
                first = torch.tensor([self._opening] * len(prompts), device=self.device)
                out, read = self._run(None, encoder_outputs=seen, attention_mask=mask, decoder_input_ids=first)
                state = State(shape, read, seen, mask, None, out.logits)
            state.logits = self._scores(out)
        return state if draws == 1 else self.repeated(state, draws)

    def repeated(self, state: State, draws: int) -> State:
        """The state with every row ``draws`` times; the given one stays as it is."""
        import torch

        if state.shape.draws != 1 or state.steps:
            raise ValueError("Only what was just read can be repeated.")
        with self._lock, enough_memory(self.device), torch.inference_mode():
            cache = copy.deepcopy(state.cache)
            seen = copy.copy(state.seen)
            there, lengths = state.there, state.lengths
            if draws > 1:
                cache.batch_repeat_interleave(draws)
                there = there.repeat_interleave(draws, 0)
                lengths = None if lengths is None else lengths.repeat_interleave(draws, 0)
                if seen is not None:
                    seen = type(seen)(last_hidden_state=seen.last_hidden_state.repeat_interleave(draws, 0))
        shape = replace(state.shape, draws=draws)
        return State(shape, cache, seen, there, lengths, np.repeat(state.logits, draws, axis=0))

    def step(self, state: State, tokens: Sequence[int]) -> None:
        """Write one candidate (index) in every row, and score the next ones."""
        import torch

        ids = torch.as_tensor(self.candidate_ids[list(tokens)][:, None], device=self.device)
        with self._lock, enough_memory(self.device), torch.inference_mode():
            if state.lengths is not None:
                state.there = torch.cat([state.there, torch.ones_like(ids)], 1)
                given = {"position_ids": (state.lengths + state.steps)[:, None]} if self._takes_positions else {}
                out, state.cache = self._run(state.cache, input_ids=ids, attention_mask=state.there, **given)
            else:
                given = {"encoder_outputs": state.seen, "attention_mask": state.there, "decoder_input_ids": ids}
                out, state.cache = self._run(state.cache, **given)
            state.logits = self._scores(out)
        state.steps += 1

    def replay(self, prompt: Sequence[int], shape: GeneratorPass, tokens: Sequence[int]) -> list[np.ndarray]:
        """The scores float32 (n,) of every token in ``tokens``, as they were in this row of such a state."""
        state = self.begin([prompt] * shape.prompts, shape.draws, shape.width, shape.prefix)
        rows = shape.prompts * shape.draws
        out = [state.logits[shape.row].copy()]
        for token in tokens[:-1]:
            self.step(state, [token] * rows)
            out.append(state.logits[shape.row].copy())
        return out

    def _run(self, past: Any, **given: Any) -> tuple[Any, Any]:
        """Run the model after ``past``; return its output and the new cached states."""
        if self._takes_keep:
            given["logits_to_keep"] = 1
        if past is not None:
            given[self._past] = past
        out = self._model(use_cache=True, **given)
        return out, getattr(out, self._past)

    def _scores(self, out: Any) -> np.ndarray:
        scores = out.logits[:, -1].index_select(1, self._ids).float().cpu().numpy()
        if np.isnan(scores).any():
            raise self._damaged()
        return scores

    def _damaged(self) -> ModelUnavailable:
        return ModelUnavailable(
            f"The model {self.spec.id!r} gives scores that are not numbers: its weights are damaged. Get it again."
        )

    # --- a text by way of what the encoder gives of it

    def latents(self, prompts: Sequence[Sequence[int]], positions: int) -> np.ndarray:
        """Encode each text (ids), float32 (n, positions, d): 0 where a text was filled up, to which the encoder does
        not attend. The result has the same bits whatever stands beside a text."""
        import torch

        out = []
        for first in range(0, len(prompts), ROWS):
            block = prompts[first : first + ROWS]
            ids = np.full((ROWS, positions), self.pad_id, np.int64)
            there = np.zeros((ROWS, positions), np.int64)
            there[:, 0] = 1  # a row that attends to nothing gives no numbers
            for r, p in enumerate(block):
                ids[r, : len(p)], there[r, : len(p)] = p, 1
            ids_t, mask = (torch.as_tensor(a, device=self.device) for a in (ids, there))
            with self._lock, enough_memory(self.device), torch.inference_mode():
                seen = self._model.get_encoder()(input_ids=ids_t, attention_mask=mask).last_hidden_state
                out.append((seen.float() * mask[..., None]).cpu().numpy()[: len(block)])
        found = np.concatenate(out)
        if np.isnan(found).any():
            raise self._damaged()
        return found

    def decode(
        self, latents: np.ndarray, most: int, repeat: int = 0, step: Callable[[int], None] | None = None
    ) -> list[list[int]]:
        """Decode numbers (n, positions, d) in place of the encoder's output: the best candidate (index) at every step,
        without the end, ``most`` at most. All positions are attended to. The result has the same bits whatever stands
        beside a row.

        repeat: no run of so many tokens is written a second time; 0: any may be. step: called with the number of tokens
        that were written.
        """
        import torch

        with alone():
            from transformers.modeling_outputs import BaseModelOutput

        out: list[list[int]] = []
        for first in range(0, len(latents), ROWS):
            block = latents[first : first + ROWS]
            filled = np.zeros((ROWS, *block.shape[1:]), np.float32)
            filled[: len(block)] = block
            seen = BaseModelOutput(torch.as_tensor(filled, device=self.device).to(self._model.dtype))
            mask = torch.ones(filled.shape[:2], dtype=torch.int64, device=self.device)
            ids = torch.tensor([self._opening] * ROWS, device=self.device)
            tokens: list[list[int]] = [[] for _ in block]
            done = [False] * len(block)
            past = None
            for k in range(most):
                with self._lock, enough_memory(self.device), torch.inference_mode():
                    made, past = self._run(past, encoder_outputs=seen, attention_mask=mask, decoder_input_ids=ids)
                    scores = self._scores(made)
                last = [self.end] * ROWS
                for r, row in enumerate(tokens):
                    if not done[r]:
                        scores[r, _repeating(row, repeat)] = -np.inf
                        last[r] = int(scores[r].argmax())
                        done[r] = last[r] == self.end
                        row += [] if done[r] else [last[r]]
                if step:
                    step(k + 1)
                if all(done):
                    break
                ids = torch.as_tensor(self.candidate_ids[last][:, None], device=self.device)
            out += tokens
        return out

    @property
    def _opening(self) -> list[int]:
        """The ids that a decoder starts with: BART is made to begin with another one after the first."""
        assert self._start is not None
        found = [getattr(c, "forced_bos_token_id", None) for c in (self._model.generation_config, self._model.config)]
        if self._model.config.model_type == "bart":
            found.append(self._model.config.bos_token_id)
        forced = next((int(i) for i in found if i is not None), None)
        return [self._start] if forced in (None, self._start) else [self._start, forced]


def _repeating(tokens: Sequence[int], n: int) -> list[int]:
    """The tokens that would close a run of ``n`` which was written before."""
    if not n or len(tokens) < n:
        return []
    end = list(tokens[len(tokens) - n + 1 :])
    return [tokens[i + n - 1] for i in range(len(tokens) - n + 1) if list(tokens[i : i + n - 1]) == end]


def _takes(model: Any, name: str) -> bool:
    import inspect

    return name in inspect.signature(model.forward).parameters


def _past(model: Any) -> str:
    """Return the argument name of cached states in the installed version of transformers."""
    return "cache" if _takes(model, "cache") else "past_key_values"


def _written(tokenizer: Any, model: Any, n: int) -> tuple[np.ndarray, int]:
    """Ids that can be written (ascending, the end among them), and the end's."""
    end = model.config.eos_token_id
    if end is None and model.generation_config is not None:
        end = model.generation_config.eos_token_id
    end = end[0] if isinstance(end, list | tuple) else end
    end = tokenizer.eos_token_id if end is None else end
    if end is None:
        raise ConfigError(
            "The model names no token that ends a text (eos_token_id), so it cannot be used to write one."
        )
    special = set(tokenizer.all_special_ids)
    names = tokenizer.convert_ids_to_tokens(list(range(n)))
    kept = [i for i, t in enumerate(names) if i == end or (i not in special and t and not _UNUSED.fullmatch(str(t)))]
    return np.array(kept, np.int64), int(end)


def _start_id(model: Any, tokenizer: Any) -> int:
    for found in (
        model.config.decoder_start_token_id,
        getattr(model.generation_config, "decoder_start_token_id", None),
        tokenizer.bos_token_id,
        tokenizer.cls_token_id,
        tokenizer.pad_token_id,
    ):
        if found is not None:
            return int(found)
    raise ConfigError("The model names no token that its decoder starts with (decoder_start_token_id).")


_CLOSING, _OPENING, _TIGHT = set(".,;:!?)]}%…"), set("([{$#"), set("-–—/@_")


def _word_pieces(tokens: Sequence[str], language: Language = ENGLISH) -> list[str]:
    """Word pieces as text: a public rule on what was written alone. Marks stand where they do in Latin script."""
    # An apostrophe inside a word stands tight: don ' t, ana ' s.
    after = {*language.clitics, *(d.partition("'")[2] for d in language.detached)}
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
    """A bundled model: the trunk's embeddings (and encoder), and what was trained of the decoder."""
    import torch
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file

    with alone():
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
        base.pop("embeddings.position_ids", None)  # a plain count, which older files hold
        state = {f"bert.{k}": v for k, v in base.items() if k.startswith("embeddings.")}
        state |= {f"bert.{k.removeprefix('decoder.')}": v for k, v in weights.items() if k.startswith("decoder.")}
        head = "cls.predictions."
        state[head + "bias"] = state[head + "decoder.bias"] = weights["bias"]
        state[head + "decoder.weight"] = base["embeddings.word_embeddings.weight"]
        for end in ("weight", "bias"):
            state[f"{head}transform.dense.{end}"] = weights[f"dense.{end}"]
            state[f"{head}transform.LayerNorm.{end}"] = weights[f"norm.{end}"]
        layers = 1 + max(int(k.split(".")[3]) for k in weights if k.startswith("decoder.encoder.layer."))
        tokenizer = AutoTokenizer.from_pretrained(trunk, local_files_only=True)
        crosses = spec.kind == "encoder-decoder"
        ends = {"eos_token_id": tokenizer.sep_token_id, "pad_token_id": tokenizer.pad_token_id}
        config = BertConfig.from_pretrained(
            trunk, is_decoder=True, add_cross_attention=crosses, num_hidden_layers=layers, **ends
        )
        config._attn_implementation = "eager"
        decoder: Any = BertLMHeadModel(config)
        _take(decoder, state)
        if not crosses:
            return decoder, tokenizer
        short = BertConfig.from_pretrained(trunk, num_hidden_layers=int(notes["encoder_layers"]))
        short._attn_implementation = "eager"
        encoder = BertModel(short, add_pooling_layer=False)
        _take(encoder, {k: v for k, v in base.items() if k in encoder.state_dict()})
        both = EncoderDecoderConfig.from_encoder_decoder_configs(short, config)
        both.decoder_start_token_id, both.eos_token_id = tokenizer.cls_token_id, tokenizer.sep_token_id
        both.pad_token_id = tokenizer.pad_token_id
        return EncoderDecoderModel(config=both, encoder=encoder, decoder=decoder), tokenizer
    except (SafetensorError, OSError, KeyError, RuntimeError, IndexError, torch.OutOfMemoryError) as error:
        raise ModelUnavailable(
            f"The weights in {spec.folder} cannot be read ({type(error).__name__}: {first_line(error)}). Take the "
            "folder again."
        ) from error


def _take(model: Any, state: dict[str, Any]) -> None:
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise KeyError(f"{len(missing)} weights are missing, {len(unexpected)} are of another model")


def _from_folder(spec: GeneratorSpec) -> tuple[Any, Any]:
    import torch

    with alone():
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
            f"The files of {spec.id!r} are incomplete on this machine: get them again ({first_line(error)})."
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{spec.id!r} is not a generator that transformers knows: choose another ({first_line(error)})."
        ) from error
    if lost := [k for k in report["missing_keys"] if not k.endswith(("embed_tokens.weight", "lm_head.weight"))]:
        raise ConfigError(f"{spec.id!r} has no trained weights for {lost[0]} and others. Choose another model.")
    try:
        tokenizer = AutoTokenizer.from_pretrained(spec.folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"{spec.id!r} has no tokenizer that can be read: get it again ({first_line(error)})."
        ) from error
    if not tokenizer.is_fast:
        raise ConfigError(f"{spec.id} has no fast tokenizer (tokenizer.json), which is needed.")
    return model, tokenizer


_loaded: dict[tuple[str, str], Generator] = {}
_guard = threading.Lock()
_locks: dict[tuple[str, str], threading.Lock] = {}


def load_generator(name: str = BUNDLED, bundled: str = PROMPTED, device: str | None = None) -> Generator:
    """The generator ``name`` on ``device`` ("cpu", "cuda", "mps"; None: a GPU where there is one), loaded once.

    The process keeps the weights, never a text. Raises ModelUnavailable or ConfigError.
    """
    spec = generator_spec(name, bundled)
    key = (str(spec.folder), resolve_device(device))
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        if key not in _loaded:
            _loaded[key] = read_whole(lambda: Generator(spec, key[1]), spec.id, spec.folder, key[1])
        return _loaded[key]


def loaded(name: str = BUNDLED, bundled: str = PROMPTED) -> bool:
    """Return True if the generator is already in memory."""
    folder = str(generator_spec(name, bundled).folder)
    return any(key[0] == folder for key in _loaded)


def forget_locks() -> None:
    """After a fork: locks that another thread held would stay locked for ever in the child."""
    global _guard
    _guard = threading.Lock()
    _locks.clear()
    for generator in _loaded.values():
        generator._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_locks)
