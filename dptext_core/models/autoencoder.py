"""An LSTM autoencoder over the word pieces of all-MiniLM-L6-v2, which maps a text to one vector and back.

The encoder and the decoder have one layer each. The encoder reads a text's pieces from last to first, so that the first
words are read last, and ends in the context [h; c]. The decoder starts from a linear map of the context, receives it at
every step, and writes the most probable piece each time. Input and output use the trunk's frozen word embeddings,
through one learned matrix each. These embeddings come from the installed package when a checkpoint is loaded: no
checkpoint contains them, nor any list of words. ``pretraining`` trains these weights; here they are only evaluated, in
NumPy, so that torch is not loaded.

The same text gives the same bits. A sum in a matrix product depends on the shape of the product and on the position in
it. So every pass has WIDTH texts, padded with empty ones, each in a column of its own, and every step processes one
piece of each. Processors compute columns side by side in the same way, but the rows at an edge in another order. The
other columns change nothing.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, ModelUnavailable
from ..support.assets import folder_of
from ..support.checks import shorten_repr, usable_path
from ..support.whole_files import write_whole
from ..words.vocabulary import TRUNK_REPOSITORY, TRUNK_SHA256, read_pieces, verified_trunk_folder

WEIGHTS, CONFIG = "model.safetensors", "config.json"
#: The format name in config.json, which distinguishes this model's folders from those of other models.
KIND = "dptext lstm autoencoder"
#: Bundled checkpoints: name → folder below assets/models.
BUNDLED = {"snips": "adept_snips", "atis": "adept_atis"}
#: Number of texts in a pass, always the same: a multiple of what a processor computes side by side.
WIDTH = 16
LIMITS = {"hidden": (1, 1024), "window": (1, 512), "max_tokens": (1, 512)}


@dataclass(frozen=True)
class AutoencoderShape:
    """The configuration of a checkpoint.

    hidden: length of h, and of c. window: number of pieces read of a text; max_tokens: number of pieces it learned to
    write. clip_norm: ℓ1 norm to which contexts were clipped in training; None if they were not.
    """

    hidden: int = 128
    window: int = 64
    max_tokens: int = 20
    clip_norm: float | None = 5.0

    @property
    def scale(self) -> float:
        """Return the factor by which the decoder first multiplies a context.

        A clipped context has 2·hidden numbers that add up to clip_norm, and weights learn fastest from numbers of about
        1.
        """
        return 1.0 if self.clip_norm is None else 2 * self.hidden / self.clip_norm

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Return the names and shapes of the weights."""
        h, e = self.hidden, trunk_width()
        return {
            "read": (e, h),
            "write": (e, h),
            "encoder.input": (4 * h, h),
            "encoder.state": (4 * h, h),
            "encoder.bias": (4 * h,),
            "bridge.weight": (2 * h, 2 * h),
            "bridge.bias": (2 * h,),
            "decoder.input": (4 * h, 3 * h),
            "decoder.state": (4 * h, h),
            "decoder.bias": (4 * h,),
        }


class Autoencoder:
    """The encoder and the decoder with their weights, float32.

    Immutable and thread-safe; stores no text.
    """

    def __init__(self, shape: AutoencoderShape, weights: dict[str, np.ndarray], name: str = ""):
        self.shape, self.name = shape, name
        self.weights = {k: np.ascontiguousarray(v, np.float32) for k, v in weights.items()}
        for key, size in shape.tensors().items():
            if (tensor := self.weights.get(key)) is None or tensor.shape != size:
                raise ConfigError(
                    f"{name or 'The checkpoint'} has no weights {key!r} of the shape {size}: its files do not match. "
                    "Download the folder again."
                )
            # With finite weights all later numbers are finite: gates are in [0, 1] and states grow by at most 1 per
            # step.
            if not np.isfinite(tensor).all():
                raise ModelUnavailable(
                    f"{name or 'The checkpoint'} has weights that are not numbers ({key}). Download the folder again."
                )
        embeddings, self._ids = trunk_embeddings(), output_ids()
        self._read = embeddings @ self.weights["read"]
        self._write = embeddings[self._ids] @ self.weights["write"]

    def __repr__(self) -> str:
        return f"Autoencoder({self.name!r}, {self.shape!r})"

    @property
    def size(self) -> int:
        """Return the length of a context."""
        return 2 * self.shape.hidden

    # --- from text to numbers

    def pieces(self, text: str) -> tuple[list[int], int]:
        """Return the piece ids that are read of a text, and its total number of pieces."""
        return pieces(text, self.shape.window)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the contexts [h; c] of texts, float32 (n, 2·hidden), before any clipping."""
        return self.encode_ids([self.pieces(t)[0] for t in texts])

    def encode_ids(self, texts: Sequence[Sequence[int]]) -> np.ndarray:
        """Encode texts given as ids, each followed by an end mark, so that an empty text is read too."""
        out = np.empty((len(texts), self.size), np.float32)
        end = tokenizer().end
        for start, block in _blocks(texts):
            rows = [[end, *reversed(ids)] for ids in block]
            h = np.zeros((self.shape.hidden, WIDTH), np.float32)
            c = np.zeros_like(h)
            for t in range(max(map(len, rows))):
                new_h, new_c = self._step("encoder", self._pieces_at(rows, t), h, c)
                on = np.array([t < len(row) for row in rows] + [False] * (WIDTH - len(rows)))
                h, c = np.where(on, new_h, h), np.where(on, new_c, c)
            out[start : start + len(block)] = np.concatenate([h, c]).T[: len(block)]
        return out

    # --- from numbers to text

    def decode(self, contexts: np.ndarray, max_tokens: int | None = None) -> list[str]:
        """Decode contexts (n, 2·hidden) greedily into texts of at most max_tokens pieces each."""
        return [tokenizer().text(ids) for ids in self.decode_ids(contexts, max_tokens)]

    def decode_ids(self, contexts: np.ndarray, max_tokens: int | None = None) -> list[list[int]]:
        """Decode contexts into ids: see :meth:`decode`. The end mark is omitted."""
        most = self.shape.max_tokens if max_tokens is None else max_tokens
        marks, out = tokenizer(), []
        for _, block in _blocks(contexts):
            h, c, context = self._start(block)
            written: list[list[int]] = [[] for _ in block]
            open_, last = np.ones(len(block), bool), np.full(WIDTH, marks.begin)
            for _ in range(most):
                h, c = self._step("decoder", np.concatenate([self._read[last].T, context]), h, c)
                last = self._ids[np.argmax((self._write @ h).T.copy(), axis=1)]
                open_ &= last[: len(block)] != marks.end
                for row in np.flatnonzero(open_):
                    written[row].append(int(last[row]))
                if not open_.any():
                    break
            out += written
        return out

    def scores(self, contexts: np.ndarray, texts: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
        """Return the scores of all pieces at each position of each text and at its end, given the pieces before.

        float32 (len(text) + 1, pieces) per text, columns in the order of :func:`output_ids`.
        """
        begin = tokenizer().begin
        for start, block in _blocks(contexts):
            h, c, context = self._start(block)
            rows = [[begin, *ids] for ids in texts[start : start + len(block)]]
            scores_of: list[list[np.ndarray]] = [[] for _ in rows]
            for t in range(max(map(len, rows))):
                h, c = self._step("decoder", np.concatenate([self._pieces_at(rows, t), context]), h, c)
                scores = (self._write @ h).T
                for k, row in enumerate(rows):
                    if t < len(row):
                        scores_of[k].append(scores[k].copy())
            yield from (np.stack(one) for one in scores_of)

    def _pieces_at(self, rows: Sequence[Sequence[int]], t: int) -> np.ndarray:
        """Return the input of the t-th token of each row, float32 (hidden, WIDTH)."""
        ids = [row[t] if t < len(row) else 0 for row in rows]
        return np.ascontiguousarray(self._read[ids + [0] * (WIDTH - len(ids))].T)

    def _start(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        context = np.zeros((self.size, WIDTH), np.float32)
        context[:, : len(contexts)] = (np.asarray(contexts, np.float64) * self.shape.scale).T
        both = self.weights["bridge.weight"] @ context + self.weights["bridge.bias"][:, None]
        return np.tanh(both[: self.shape.hidden]), both[self.shape.hidden :], context

    def _step(self, half: str, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w = self.weights
        gates = w[f"{half}.input"] @ x + w[f"{half}.state"] @ h + w[f"{half}.bias"][:, None]
        i, f, g, o = np.split(gates, 4)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(c), c

    # --- files

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the weights (fp16) and config.json. A file is never left half-written."""
        save(Path(folder), self.shape, self.weights)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Autoencoder:
        """Read what :meth:`save_pretrained` wrote.

        Raises ConfigError for another kind of folder, ModelUnavailable for files that are missing, damaged or
        truncated.
        """
        place = usable_path(folder, ConfigError)
        shape = read_shape(place)
        return cls(shape, read_weights(place / WEIGHTS), place.name)


def _blocks(rows: Any) -> Iterator[tuple[int, Any]]:
    for start in range(0, len(rows), WIDTH):
        yield start, rows[start : start + WIDTH]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))


# --- the trunk


class PieceTokenizer:
    """The trunk's tokenizer, from a text to ids and back. Stores no words."""

    def __init__(self) -> None:
        from .tokens import read_tokenizer

        self._backend = read_tokenizer(verified_trunk_folder() / "tokenizer.json")
        self._backend.encode_special_tokens = True
        self.begin, self.end = (int(self._backend.token_to_id(mark)) for mark in ("[CLS]", "[SEP]"))

    def ids(self, text: str) -> list[int]:
        from .tokens import clean

        return self._backend.encode(clean(text), add_special_tokens=False).ids

    def text(self, ids: Sequence[int]) -> str:
        """Join pieces as people write them: whole words, no space before a full stop."""
        return self._backend.decode(list(ids), skip_special_tokens=True).strip()


@lru_cache(maxsize=1)
def tokenizer() -> PieceTokenizer:
    """Return the trunk's tokenizer, read once."""
    return PieceTokenizer()


def pieces(text: str, window: int) -> tuple[list[int], int]:
    """Return the ids of the first ``window`` pieces of a text, and its total number of pieces."""
    ids = tokenizer().ids(text)
    return ids[:window], len(ids)


def trunk_width() -> int:
    """Return the length of one of the trunk's word embeddings."""
    return 384


@lru_cache(maxsize=1)
def trunk_embeddings() -> np.ndarray:
    """Return the trunk's word embeddings, float32 (pieces, 384): centred, each with mean 0 and variance 1."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(verified_trunk_folder() / WEIGHTS, "np") as file:
            key = "embeddings.word_embeddings.weight"
            names = set(file.keys())
            x = file.get_tensor(key if key in names else f"bert.{key}").astype(np.float32)
    except (SafetensorError, OSError, KeyError) as error:
        raise ModelUnavailable(
            f"The word embeddings of all-MiniLM-L6-v2 cannot be read ({error}). Install its package again."
        ) from error
    x -= x.mean(axis=0)
    x -= x.mean(axis=1, keepdims=True)
    x /= x.std(axis=1, keepdims=True) + 1e-6
    return x


@lru_cache(maxsize=1)
def output_ids() -> np.ndarray:
    """Return the ids that can be written: the end mark, and all pieces that are not special tokens.

    They do not depend on any text.
    """
    pieces = read_pieces(verified_trunk_folder())
    marks = re.compile(r"\[.+\]")
    return np.array([i for i, p in enumerate(pieces) if p == "[SEP]" or not marks.fullmatch(p)])


# --- checkpoints


def checkpoint_folder(checkpoint: str) -> Path:
    """Return the folder of a checkpoint: a name in BUNDLED, or a folder. Raises ConfigError or ModelUnavailable."""
    make = "python -m dptext_core pretrain --data FILE --column text --out FOLDER"
    return folder_of("checkpoint", checkpoint, {n: f"models/{at}" for n, at in BUNDLED.items()}, make)


def read_shape(folder: Path) -> AutoencoderShape:
    """Read config.json. Raises ConfigError for another kind of model, ModelUnavailable if it is missing."""
    path = folder / CONFIG
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not folder.is_dir():
            raise ModelUnavailable(f"There is no checkpoint folder {folder.name!r}. Choose another folder.") from None
        raise ConfigError(
            f"{folder.name} contains no checkpoint of this program: {CONFIG} is missing. Choose a folder that the "
            "command pretrain wrote."
        ) from None
    except OSError as error:
        raise ModelUnavailable(f"{folder.name}/{CONFIG} cannot be read: {error.strerror or error}. Choose another "
                               "folder.") from error
    except (ValueError, RecursionError) as error:
        raise ModelUnavailable(
            f"{folder.name}/{CONFIG} is damaged or truncated: it is not JSON. Download the folder again."
        ) from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ConfigError(
            f"{folder.name} contains another kind of model than {KIND!r}. Choose a folder that the command pretrain "
            "wrote."
        )
    if content.get("trunk_sha256") != TRUNK_SHA256:
        raise ConfigError(
            f"{folder.name} was trained on the word embeddings of another model "
            f"({shorten_repr(content.get('trunk'))}), not on those of {TRUNK_REPOSITORY} on this machine. Train it "
            "again with the command pretrain."
        )
    values: dict[str, Any] = {k: content.get(k) for k in ("hidden", "window", "max_tokens", "clip_norm")}
    for name, (low, high) in LIMITS.items():
        value = values[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ConfigError(f"{name} in {folder.name}/{CONFIG} must be a whole number from {low} to {high}. Correct "
                              "it.")
    clip = values["clip_norm"]
    if clip is not None and (isinstance(clip, bool) or not isinstance(clip, int | float) or not 0 < clip < 1e6):
        raise ConfigError(f"clip_norm in {folder.name}/{CONFIG} must be a number above 0, or null. Correct it.")
    return AutoencoderShape(
        values["hidden"], values["window"], values["max_tokens"], None if clip is None else float(clip)
    )


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Return all tensors of a safetensors file. Raises ModelUnavailable."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except FileNotFoundError:
        raise ModelUnavailable(
            f"{path.parent.name} has no {path.name}. Download the folder again, or create it with the command pretrain."
        ) from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(
            f"{path.parent.name}/{path.name} cannot be read: it is damaged or truncated ({type(error).__name__}). "
            "Download the folder again, or continue its training with the command pretrain."
        ) from error


def save(folder: Path, shape: AutoencoderShape, weights: dict[str, np.ndarray]) -> None:
    """Write a checkpoint."""
    from safetensors.numpy import save as as_bytes

    folder.mkdir(parents=True, exist_ok=True)
    half = {k: np.ascontiguousarray(weights[k], np.float16) for k in shape.tensors()}
    write_whole(folder / WEIGHTS, as_bytes(half))
    config = {"kind": KIND, **asdict(shape), "trunk": TRUNK_REPOSITORY, "trunk_sha256": TRUNK_SHA256}
    write_whole(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode())


_guard = threading.Lock()


def load_autoencoder(checkpoint: str) -> Autoencoder:
    """Return the checkpoint (a name in BUNDLED, or a folder), shared in this process until its files change."""
    folder = checkpoint_folder(checkpoint)
    changed = []
    for name in (CONFIG, WEIGHTS):
        try:
            changed.append((folder / name).stat().st_mtime_ns)
        except OSError:
            changed.append(0)
    with _guard:
        return _load_cached(folder, tuple(changed))


@lru_cache(maxsize=4)
def _load_cached(folder: Path, _changed: tuple[int, ...]) -> Autoencoder:
    return Autoencoder.from_pretrained(folder)
