"""all-MiniLM-L6-v2 as an encoder of whole texts (Reimers and Gurevych 2019).

It reads the first 254 word pieces of a text, two marks around them; an embedding is the mean over all of these. The
loaded encoder is kept for the process, by device; texts and embeddings are not.

On a processor its layers are computed by :mod:`fast_bert`, elsewhere by sentence-transformers, with the same numbers up
to rounding: importing that library takes longer than all else, and a page's first gauge waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal import extras
from .._internal.device import resolve_device
from .._internal.imports import alone
from .._internal.quiet import quiet
from ..errors import ModelUnavailable
from ..words.vocabulary import verified_trunk_folder
from .masked_lm import as_parts, list_layers, read_tokenizer
from .registry import json_in

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

#: What it reads of a text, in word pieces.
PIECES = 254
DIMENSIONS = 384
_LOCK = threading.Lock()
#: The library's encoder by device, and what computes hidden states on a processor under the name "".
_ENCODERS: dict[str, Any] = {}


def embed(texts: Sequence[str], device: str | None = None, batch_size: int = 32) -> NDArray[np.float32]:
    """Sentence embeddings, float32 (n, 384), rows of length 1. ``device``: "cuda", "mps", "cpu"; None: the best one.

    Raises ModelUnavailable where the model is missing or is not the official one.
    """
    found = np.zeros((len(texts), DIMENSIONS), np.float32)
    if not texts:
        return found
    torch, device = extras.torch(), resolve_device(device)
    if device != "cpu":
        given = [readable(text) for text in texts]
        options: dict[str, Any] = {"normalize_embeddings": True, "show_progress_bar": False}
        found[:] = library_encoder(device).encode(given, batch_size=batch_size, **options)
        return found
    for some, hidden, there in hidden_states(pieces(texts, PIECES + 2), device, batch_size=batch_size):
        means = (hidden * there[..., None]).sum(1) / there.sum(1, keepdim=True)
        found[some] = torch.nn.functional.normalize(means, dim=-1).numpy()
    return found


def readable(text: str) -> str:
    """The text as a tokenizer written in Rust takes it, which is one without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def pieces(texts: Sequence[str], most: int) -> list[list[int]]:
    """The ids of each text's word pieces and of the two marks around them, ``most`` at most."""
    encodings = _tokenizer().encode_batch([readable(text) for text in texts])
    return [e.ids if len(e.ids) <= most else [*e.ids[: most - 1], e.ids[-1]] for e in encodings]


def hidden_states(
    ids: Sequence[Sequence[int]], device: str | None = None, *, layers: int | None = None, batch_size: int = 32
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """What texts, given by the ids of their pieces, become in the first ``layers`` layers (None: in all).

    For each pass: which texts, their states (b, n, 384), float32 on the processor, and where they have pieces, (b, n).
    Texts of like length share a pass, so little of it is padding. Raises ModelUnavailable.
    """
    torch, device = extras.torch(), resolve_device(device)
    encoder = _on_processor() if device == "cpu" else library_encoder(device)[0].auto_model
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for start in range(0, len(order), batch_size):
        some = order[start : start + batch_size]
        lengths = torch.tensor([len(ids[i]) for i in some])
        rows = [torch.tensor(ids[i]) for i in some]
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        there = torch.arange(padded.shape[1]) < lengths[:, None]
        with torch.inference_mode():
            if device == "cpu":
                hidden = encoder(padded, lengths, layers)
            else:
                given = {"input_ids": padded.to(device), "attention_mask": there.long().to(device)}
                states = encoder(**given, output_hidden_states=True).hidden_states
                hidden = states[-1 if layers is None else layers].float().cpu()
        yield some, hidden, there


def loaded() -> bool:
    """Whether the encoder is in memory, on whatever device."""
    return bool(_ENCODERS)


def parts() -> tuple[Any, int]:
    """The encoder's weights as plain attributes, named as a BERT of transformers names them, and how many positions it
    reads. Raises ModelUnavailable."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = verified_trunk_folder()
    try:
        state = load_file(folder / "model.safetensors")
        config = SimpleNamespace(**json_in(folder / "config.json"))
        root = as_parts({name.removeprefix("bert."): weight for name, weight in state.items()}, config)
        list_layers(root.encoder, config)
    except (SafetensorError, OSError, AttributeError, RuntimeError) as error:
        raise ModelUnavailable(
            f"The sentence encoder in {folder} cannot be read ({type(error).__name__}: {error}). Install its package "
            "again."
        ) from error
    return root, PIECES + 2


def library_encoder(device: str) -> Any:
    """The same as sentence-transformers has it. Raises ModelUnavailable."""
    folder = verified_trunk_folder()
    try:
        with alone():
            from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ModelUnavailable(
            f"Sentence vectors need sentence-transformers. Install it with: {extras.install('models')}"
        ) from error
    with _LOCK:
        if device not in _ENCODERS:
            with quiet():
                _ENCODERS[device] = SentenceTransformer(str(folder), device=device, local_files_only=True)
        return _ENCODERS[device]


def _on_processor() -> Any:
    from .fast_bert import Encoder

    with _LOCK:
        if "" not in _ENCODERS:
            _ENCODERS[""] = Encoder(parts()[0], "cpu")
        return _ENCODERS[""]


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    return read_tokenizer(verified_trunk_folder() / "tokenizer.json")
