"""A causal language model that the user added, as a judge of fluency: its perplexity per word.

The perplexity is exp(-ln P(text) / words). P is the product over the model's own pieces, read from left to right, and
words are separated by blanks. It is per word and not per piece: otherwise a text of rare words, which split into many
pieces, would count as easy. Compare only values of the same model.

If the model has a start token, it precedes the text and the first piece is scored; otherwise the first piece is only
context. Only the first `MAX_PIECES` pieces of a text are read, and only the words among them are counted. A blank text
gives nan. The model computes in bfloat16 if the processor supports it natively, else in float32; sums over a text are
in float64. The process keeps the judge and never a text.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, ModelUnavailable
from ..support import extras
from ..support.device import best_dtype, resolve_device
from ..support.imports import transformers_import_guard
from ..support.quiet import quiet
from . import added, shortcuts
from .tokens import clean, first_line, read_tokenizer

#: Maximum number of pieces read of a text, including the start token.
MAX_PIECES = 512
#: The model that is added as the judge by default.
JUDGE = "gemma-3-270m"
# Pieces in one pass, including padding; logits that the output layer computes at once; and logits that are summed at
# once, which fit into a processor's cache.
_PASS, _LOGITS, _SUMMED = 2048, 1 << 26, 1 << 21

_LOCK = threading.Lock()
_JUDGES: dict[tuple[str, str], Judge] = {}


@dataclass(frozen=True)
class TextLoss:
    """The model's loss on a text: -ln P of the scored pieces, their number, and the number of words read."""

    loss: float
    pieces: int
    words: int

    @property
    def log_perplexity(self) -> float:
        """Return ln perplexity per word; nan if there are no words."""
        return self.loss / self.words if self.words and self.pieces else math.nan


def judge(name: str | Path | None = None, device: str | None = None) -> Judge:
    """Return the judge of this name (an added model, or the folder of any causal language model), loaded once.

    None: `JUDGE`, or the first model that was added. Raises ModelUnavailable if it is not on this machine.
    """
    folder = judge_folder(name)
    key = (str(folder), resolve_device(device))
    with _LOCK:
        if key not in _JUDGES:
            _JUDGES[key] = Judge(folder, device=key[1])
        return _JUDGES[key]


def judge_folder(name: str | Path | None = None) -> Path:
    """Return the folder of the judge of this name without loading it; see `judge`."""
    here = {model.id: model for model in added.added()}
    if name is not None and str(name) not in {**here, **added.SOURCES}:
        if not Path(name).is_dir():
            raise ConfigError(f"{name} cannot be a judge. Give an added model, or the folder of a causal language "
                              "model.")
        return Path(name).resolve()
    if name is None and here:
        return here.get(JUDGE, next(iter(here.values()))).folder
    return added.added_model(str(name or JUDGE)).folder


class Judge:
    """A causal language model in a folder on this machine: ln perplexity of texts, per word.

    dtype: "bfloat16" or "float32"; None: what this device supports natively. device: None for the best one. title: its
    name, with the build of its weights. longest: maximum number of pieces of a text that it reads.
    """

    def __init__(self, folder: Path, *, dtype: str | None = None, device: str | None = None):
        torch = extras.import_torch()
        with transformers_import_guard():
            from transformers import AutoModelForCausalLM

        known = added.read_notes(folder)
        self.title = f"{known.title} ({known.build})" if known else folder.name
        self.device = resolve_device(device)
        self.dtype = dtype or best_dtype(self.device)
        self._tokens = read_tokenizer(folder / "tokenizer.json")
        self._tokens.encode_special_tokens = True  # special tokens inside a text are plain characters
        try:
            with quiet():
                model = AutoModelForCausalLM.from_pretrained(
                    folder,
                    local_files_only=True,
                    use_safetensors=True,
                    trust_remote_code=False,
                    dtype=getattr(torch, self.dtype),
                )
        except (OSError, ValueError, KeyError) as error:
            raise ModelUnavailable(
                f"{folder} contains no readable causal language model ({first_line(error)}). Add the model again, or "
                "choose another folder."
            ) from error
        self._model = model.to(self.device).eval().requires_grad_(False)
        start = model.config.bos_token_id
        size = model.get_input_embeddings().weight.shape[0]
        self._start: int | None = start if isinstance(start, int) and 0 <= start < size else None
        longest = getattr(model.config, "max_position_embeddings", None)
        self.longest = min(MAX_PIECES, longest) if isinstance(longest, int) and longest > 1 else MAX_PIECES
        # The output layer of a large vocabulary takes most of the time: it is skipped where nothing is scored.
        self._cut = True
        if why := shortcuts.attempt(self._cut_agrees, f"running {type(model).__name__} without its output layer"):
            shortcuts.announce(why)
            self._cut = False

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """Return ln perplexity per word of each text; nan for a blank one."""
        return [reading.log_perplexity for reading in self.read(texts)]

    def read(self, texts: Sequence[str]) -> list[TextLoss]:
        """Compute the model's result for each text. Reads repeated texts once."""
        distinct = list(dict.fromkeys(texts))
        readings: dict[str, TextLoss] = {}
        encoded = [self._encode(text) for text in distinct]
        for rows in _batches([len(ids) for ids, _ in encoded]):
            losses = self._losses([encoded[i][0] for i in rows])
            for i, loss in zip(rows, losses, strict=True):
                ids, words = encoded[i]
                readings[distinct[i]] = TextLoss(loss, max(0, len(ids) - 1), words)
        if any(math.isnan(reading.loss) for reading in readings.values()):
            raise ModelUnavailable(
                "The judge gives scores that are not numbers: its weights are damaged. Remove the model and add it "
                "again."
            )
        return [readings[text] for text in texts]

    def _encode(self, text: str) -> tuple[list[int], int]:
        """Return the ids of a text that are read, and the number of words among them."""
        text = clean(text)
        encoding = self._tokens.encode(text)
        ids = list(encoding.ids)
        first = int(self._start is not None and ids[:1] != [self._start])
        if first:
            ids.insert(0, self._start)
        if len(ids) > self.longest:
            text = text[: encoding.offsets[self.longest - first - 1][1]]
        return ids[: self.longest], len(text.split())

    def _losses(self, rows: Sequence[Sequence[int]]) -> list[float]:
        """Return -ln P of each row's ids except the first, in one pass."""
        import torch

        lengths = [len(row) for row in rows]
        if max(lengths, default=0) < 2:
            return [0.0] * len(rows)
        ids = torch.zeros((len(rows), max(lengths)), dtype=torch.long, device=self.device)
        for r, row in enumerate(rows):
            ids[r, : len(row)] = torch.tensor(row, device=self.device)
        at = torch.arange(ids.shape[1], device=self.device)
        mask = at < torch.tensor(lengths, device=self.device)[:, None]
        scored = mask[:, 1:]
        targets = ids[:, 1:][scored]
        with torch.inference_mode():
            taken = torch.cat([_surprise(part, of) for part, of in self._logits(ids, mask, scored, targets)])
        owners = torch.nonzero(scored, as_tuple=True)[0]
        return np.bincount(owners.cpu().numpy(), taken.double().cpu().numpy(), len(rows)).tolist()

    def _logits(self, ids: Any, mask: Any, scored: Any, targets: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the logits of the scored positions in batches, with the ids at these positions."""
        given = {"input_ids": ids, "attention_mask": mask.long(), "use_cache": False}
        if not self._cut:
            yield self._model(**given).logits[:, :-1][scored], targets
            return
        head = self._model.get_output_embeddings()
        hidden = self._model.base_model(**given).last_hidden_state[:, :-1][scored]
        step = max(1, _LOGITS // head.weight.shape[0])
        for start in range(0, len(hidden), step):
            yield head(hidden[start : start + step]), targets[start : start + step]

    def _cut_agrees(self) -> bool:
        """Return True if the trunk and the output layer alone give the same result as the whole model."""
        import torch

        size = self._model.get_input_embeddings().weight.shape[0]
        ids = torch.tensor([[size // 7, size // 3, size // 2, size - 1]], device=self.device)
        mask = torch.ones_like(ids).bool()
        with torch.inference_mode():
            ((logits, _),) = self._logits(ids, mask, mask[:, 1:], ids[0, 1:])
            want = self._model(input_ids=ids, use_cache=False).logits[0, :-1]
        return shortcuts.agree(logits.float().cpu().numpy(), want.float().cpu().numpy(), self.dtype)


def _surprise(logits: Any, targets: Any) -> Any:
    """Return -ln of the probability of each target, in float32."""
    import torch

    step = max(1, _SUMMED // logits.shape[1])
    loss = torch.nn.functional.cross_entropy
    parts = zip(logits.split(step), targets.split(step), strict=True)
    return torch.cat([loss(part.float(), of, reduction="none") for part, of in parts])


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Return the indices of texts that share a pass: texts of similar length, which need little padding."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[i] > _PASS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
