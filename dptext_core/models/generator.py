"""A generator in memory: its tokens, its prompts, and its scores of the next token, step by step.

Keys and values of earlier tokens are cached, so that a step costs one token. A state has a shape: how many prompts were
read together, to which length they were padded, and how often each is sampled. The same tokens in a state of the same
shape give the same bits on one machine, device and number of threads, whatever the other rows contain; other shapes
agree up to rounding. So scores that are not stored can be recomputed exactly.

Public text before a private one (worked examples), and a whole prompt without a text, are read once and cached for all
texts and draws. They are always read alone, so that they have the same bits in every request.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ConfigError, ModelUnavailable
from ..support import extras
from ..support.device import best_dtype, enough_memory
from ..support.imports import transformers_import_guard
from ..support.quiet import quiet
from .generator_parts import (
    _BYTE,
    END,
    _bundled,
    _from_folder,
    _past_key_name,
    _start_id,
    _takes,
    _word_pieces,
    _writable_ids,
)
from .generators import GeneratorPass, GeneratorSpec
from .tokens import clean, private_backend

#: The smallest model that is computed in bfloat16: for smaller ones, reading the weights takes no time.
LARGE = 100_000_000
#: Number of texts that are encoded and decoded together, always the same: unused rows are padding.
ROWS = 8
#: Length in tokens from which a shared prefix is read once for all texts: a shorter one saves nothing.
LEAST_PREFIX = 16
#: Number of public prompts and prefixes whose states are cached.
PUBLIC = 4


@dataclass
class State:
    """The model's state after the tokens so far.

    logits: float32 (rows, n) of the next token, over the candidates.
    """

    shape: GeneratorPass
    cache: Any
    seen: Any
    there: Any
    lengths: Any
    logits: np.ndarray
    steps: int = 0


class Generator:
    """One loaded model on one device. Computing is serialised; the rest is thread-safe.

    candidates: the public, fixed set of tokens that can be written, in order of their ids, including the end token;
    candidate_ids: these ids, int64 (n,). ends: indices of candidates that end the text: the end token, and tokens with
    a line break if ``lines`` are written.
    """

    def __init__(self, spec: GeneratorSpec, device: str, dtype: str | None = None):
        torch = extras.import_torch()

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
        self._past = _past_key_name(model)
        rows = model.get_output_embeddings().weight.shape[0]
        ids, end = _writable_ids(tokenizer, model, min(len(tokenizer), rows))
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
        words = self._tokenizer.convert_ids_to_tokens(self.candidate_ids.tolist())
        out = [str(t).replace("Ġ", "▁").replace("Ċ", "⏎") for t in words]
        out[self.end] = END
        return tuple(out)

    @cached_property
    def surfaces(self) -> tuple[str, ...]:
        """Return the text that each candidate appends.

        It begins with a blank if it begins a word. A partial character is U+FFFD.
        """
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
        """Return the candidates that contain a line break."""
        pieces = self._tokenizer.convert_ids_to_tokens(self.candidate_ids.tolist())
        return frozenset(i for i, t in enumerate(pieces) if "\n" in str(t) or "Ċ" in str(t) or t == "<0x0A>")

    # --- texts and tokens

    def ids_of(self, text: str, special: bool = False) -> list[int]:
        """Return the token ids of a text; ``special``: with the special tokens of the model's tokenizer around it."""
        return list(self._encode.encode(clean(text), add_special_tokens=special).ids)

    def prompt(self, before: str, text: str, after: str, room: int) -> tuple[list[int], bool]:
        """Return at most ``room`` ids of ``before + text + after`` with special tokens, and whether it was cut.

        The text is cut at its end. Special tokens written out in the text are read as plain characters.
        """
        ids = self.ids_of(before + text + after, special=True)
        if self.spec.kind == "decoder" and ids and ids[-1] in (self.sep_id, self.end_id):
            ids = ids[:-1]  # an end token would end the text before anything is written
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
                "The prompt leaves no space for a text: it is longer than the model's input. Choose a shorter prompt "
                "or a smaller max_tokens."
            )
        return self.prompt(before, text[:low].rstrip(), after, room)[0], True

    def prefix(self, before: str, prompt: Sequence[int], ahead: int) -> int:
        """Return how many of a prompt's first tokens match ``before``; 0 if too few for a separate pass.

        ahead: how many positions may follow the prompt, including padding: the padding follows the prefix, and a
        sliding window must reach over it.
        """
        if self.spec.kind != "decoder" or (self._window is not None and len(prompt) + ahead > self._window):
            return 0
        ids = self.ids_of(before, special=True)
        # The last tokens may be split differently before a text.
        n = len(ids) - 2
        return n if n >= LEAST_PREFIX and list(prompt[:n]) == ids[:n] and len(prompt) > n else 0

    @property
    def end_id(self) -> int:
        return int(self.candidate_ids[self.end])

    @property
    def sep_id(self) -> int | None:
        return self._tokenizer.sep_token_id

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return the text that each generated candidate (index) appends, spaces included; the end appends nothing."""
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
            # A character that takes several tokens is written with the last of them.
            if text.endswith("\ufffd") or not text.startswith(before):
                out.append("")
                continue
            out.append(text[len(before) :])
            before = text
        return out

    # --- scores

    def public(self, prompt: Sequence[int], draws: int = 1) -> State:
        """Read one prompt without private text and cache its state: see :meth:`begin`."""
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
        """Read prompts (ids) and prepare ``draws`` continuations of each: row k·draws + j belongs to prompt k.

        prefix: how many tokens at the beginning are public and the same in all prompts. width: the padded length after
        these, at least that of the longest.
        """
        import torch

        cache, before = None, prompts[0][:prefix]
        if prefix:
            cache = self.repeated(self.public(before), len(prompts)).cache
            prompts = [p[prefix:] for p in prompts]
        width = max(map(len, prompts)) if width is None else width
        pads_left = self.spec.kind == "decoder"
        ids = np.full((len(prompts), width), self.pad_id, np.int64)
        there = np.zeros((len(prompts), width), np.int64)
        for r, p in enumerate(prompts):
            part = slice(width - len(p), width) if pads_left else slice(0, len(p))
            ids[r, part], there[r, part] = p, 1
        shape = GeneratorPass(len(prompts), width, 1, prefix)
        there = np.pad(there, ((0, 0), (prefix, 0)), constant_values=1)
        ids_t, mask = (torch.as_tensor(a, device=self.device) for a in (ids, there))
        with self._lock, enough_memory(self.device), torch.inference_mode():
            if pads_left:
                at = (mask.cumsum(1) - 1).clamp(min=0)[:, prefix:]
                given = {"position_ids": at} if self._takes_positions else {}
                out, read = self._run(cache, input_ids=ids_t, attention_mask=mask, **given)
                state = State(shape, read, None, mask, mask.sum(1), out.logits)
            else:
                encoded = self._model.get_encoder()(input_ids=ids_t, attention_mask=mask)
                first = torch.tensor([self._opening] * len(prompts), device=self.device)
                out, read = self._run(None, encoder_outputs=encoded, attention_mask=mask, decoder_input_ids=first)
                state = State(shape, read, encoded, mask, None, out.logits)
            state.logits = self._scores(out)
        return state if draws == 1 else self.repeated(state, draws)

    def repeated(self, state: State, draws: int) -> State:
        """Return the state with every row repeated ``draws`` times; the input state is unchanged."""
        import torch

        if state.shape.draws != 1 or state.steps:
            raise ValueError("Only a state without generated tokens can be repeated.")
        with self._lock, enough_memory(self.device), torch.inference_mode():
            cache = copy.deepcopy(state.cache)
            encoded = copy.copy(state.seen)
            there, lengths = state.there, state.lengths
            if draws > 1:
                cache.batch_repeat_interleave(draws)
                there = there.repeat_interleave(draws, 0)
                lengths = None if lengths is None else lengths.repeat_interleave(draws, 0)
                if encoded is not None:
                    encoded = type(encoded)(last_hidden_state=encoded.last_hidden_state.repeat_interleave(draws, 0))
        shape = replace(state.shape, draws=draws)
        return State(shape, cache, encoded, there, lengths, np.repeat(state.logits, draws, axis=0))

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
        """Return the scores float32 (n,) of every token in ``tokens`` in this row of a state of this shape."""
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

    # --- from the encoder's output to a text

    def latents(self, prompts: Sequence[Sequence[int]], positions: int) -> np.ndarray:
        """Encode each text (ids), float32 (n, positions, d), with 0 at padding.

        The encoder does not attend to padding. The bits of a result do not depend on the other texts.
        """
        import torch

        out = []
        for first in range(0, len(prompts), ROWS):
            block = prompts[first : first + ROWS]
            ids = np.full((ROWS, positions), self.pad_id, np.int64)
            there = np.zeros((ROWS, positions), np.int64)
            there[:, 0] = 1  # a row that attends to nothing gives nan
            for r, p in enumerate(block):
                ids[r, : len(p)], there[r, : len(p)] = p, 1
            ids_t, mask = (torch.as_tensor(a, device=self.device) for a in (ids, there))
            with self._lock, enough_memory(self.device), torch.inference_mode():
                encoded = self._model.get_encoder()(input_ids=ids_t, attention_mask=mask).last_hidden_state
                out.append((encoded.float() * mask[..., None]).cpu().numpy()[: len(block)])
        vectors = np.concatenate(out)
        if np.isnan(vectors).any():
            raise self._damaged()
        return vectors

    def decode(
        self, latents: np.ndarray, most: int, repeat: int = 0, step: Callable[[int], None] | None = None
    ) -> list[list[int]]:
        """Decode numbers (n, positions, d) in place of the encoder's output, greedily.

        Takes the best candidate (index) at every step, without the end token, at most ``most``. It attends to all
        positions. The bits of a result do not depend on the other rows. repeat: no run of this many tokens is written
        twice; 0: no limit. step: called with the number of tokens written.
        """
        import torch

        with transformers_import_guard():
            from transformers.modeling_outputs import BaseModelOutput

        out: list[list[int]] = []
        for first in range(0, len(latents), ROWS):
            block = latents[first : first + ROWS]
            filled = np.zeros((ROWS, *block.shape[1:]), np.float32)
            filled[: len(block)] = block
            encoded = BaseModelOutput(torch.as_tensor(filled, device=self.device).to(self._model.dtype))
            mask = torch.ones(filled.shape[:2], dtype=torch.int64, device=self.device)
            ids = torch.tensor([self._opening] * ROWS, device=self.device)
            tokens: list[list[int]] = [[] for _ in block]
            done = [False] * len(block)
            past = None
            for k in range(most):
                with self._lock, enough_memory(self.device), torch.inference_mode():
                    output, past = self._run(past, encoder_outputs=encoded, attention_mask=mask, decoder_input_ids=ids)
                    scores = self._scores(output)
                last = [self.end] * ROWS
                for r, row in enumerate(tokens):
                    if not done[r]:
                        scores[r, _repeated_tokens(row, repeat)] = -np.inf
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
        """Return the ids that a decoder starts with: for BART, a second id is forced after the first."""
        assert self._start is not None
        found = [getattr(c, "forced_bos_token_id", None) for c in (self._model.generation_config, self._model.config)]
        if self._model.config.model_type == "bart":
            found.append(self._model.config.bos_token_id)
        forced = next((int(i) for i in found if i is not None), None)
        return [self._start] if forced in (None, self._start) else [self._start, forced]


def _repeated_tokens(tokens: Sequence[int], n: int) -> list[int]:
    """Return the tokens that would repeat an earlier run of ``n`` tokens."""
    if not n or len(tokens) < n:
        return []
    end = list(tokens[len(tokens) - n + 1 :])
    return [tokens[i + n - 1] for i in range(len(tokens) - n + 1) if list(tokens[i : i + n - 1]) == end]
