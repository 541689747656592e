"""A masked language model in memory: its candidates, its tokenizer, and logits at masks.

The bundled model is computed by ONNX Runtime on a processor (`onnx_masked`) and by PyTorch on a GPU; models that users
add by PyTorch everywhere (`torch_masked`). A request has the same scores, bit for bit, in every call on one machine and
device, whatever is asked beside it. Another machine, device or version of these libraries can differ in the last bits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import Busy, ConfigError, DPTextError, ModelUnavailable
from ..support import extras
from ..support.device import best_dtype, enough_memory, give_back_memory, resolve_device
from ..text.language import Language
from ..text.languages import ENGLISH
from . import shortcuts
from .onnx_masked import MOST_QUERIES, OnnxModel, Passes, stored_candidates
from .registry import MaskedLMSpec, masked_lm_spec
from .runtime import threads
from .tokens import TrunkTokenizer, clean, owners, private_backend, probe_template, special_id, whole_words
from .windows import MaskRequest, ModelInput, Queries, bucket, model_input

if TYPE_CHECKING:
    from ..text.document import Document
    from .torch_masked import TorchModel

M = TypeVar("M")


class MaskedLM:
    """One loaded model on one device. Immutable, and safe to use from any thread.

    `candidates`: the public whole words that a mask can become, in order of their ids; `candidate_ids` these ids.
    `device`: "cpu", "cuda" (or "cuda:1") or "mps"; `dtype`: "bfloat16" or "float32", the type the layers compute in.
    `workers`: how many threads can use `forward_all` with gain; `at_once`: how many passes each of them.
    """

    def __init__(self, spec: MaskedLMSpec, device: str, dtype: str | None = None, language: Language = ENGLISH):
        self.spec = spec
        self.device = device
        #: Why slower public ways are taken where the program knows faster ones: see `shortcuts`. Mostly empty.
        self.slower: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._logits: OnnxModel | TorchModel | None = None
        if spec.on_trunk and device == "cpu":
            self._read(TrunkTokenizer(), language, True)
            # Those of another language have no graph.
            if np.array_equal(self.candidate_ids, stored_candidates(spec)):
                self.dtype = "float32"
                self._logits = OnnxModel(spec, self.mask_id)
        if self._logits is None:
            self._logits = self._by_torch(dtype, language)
        self.workers: int = self._logits.workers
        self.at_once: int = self._logits.at_once

    def _read(self, tokenizer: Any, language: Language, uses_types: bool) -> None:
        """Set what follows from a tokenizer."""
        spec = self.spec
        self._tokens = private_backend(tokenizer)
        self.candidate_ids, self.candidates, self._marker = whole_words(tokenizer, language)
        self._id_of = dict(zip(self.candidates, self.candidate_ids.tolist(), strict=True))
        self.mask_id: int = special_id(tokenizer, "mask_token", spec)
        self.unk_id: int = special_id(tokenizer, "unk_token", spec)
        self.pad_id: int = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self.unk_id
        self._signs = frozenset(n for piece, n in tokenizer.get_vocab().items() if not any(map(str.isalnum, piece)))
        self.template = probe_template(tokenizer, uses_types, spec)
        if self.template.room(spec.max_length, True) < 8:
            raise ConfigError(f"A window of {spec.max_length} positions is too short: it needs at least 24.")

    def _by_torch(self, dtype: str | None, language: Language) -> TorchModel:
        """Return the scorer of a transformers model; the whole model if a part of it cannot be cut."""
        extras.import_torch()
        from .torch_masked import TorchModel, plain_model, public_scores

        spec = self.spec
        self.dtype = dtype or best_dtype(self.device)
        model, tokenizer = plain_model(spec)
        uses_types = "token_type_ids" in tokenizer.model_input_names and getattr(model.config, "type_vocab_size", 0) > 1
        if spec.queries and not (uses_types and model.config.model_type == "bert"):
            raise ConfigError(f"{spec.id!r} is not of BERT's build, so it cannot be asked by queries. Mend its card.")
        self._read(tokenizer, language, uses_types)
        decoder = model.get_output_embeddings()
        if decoder is not None and self.candidate_ids[-1] >= decoder.weight.shape[0]:
            raise ConfigError(f"The tokenizer and the model in {spec.folder} do not belong together: sizes differ.")
        # Fixed here, so that a later change of the setting does not change the shape of a pass.
        self._threads = threads()
        pieces = [[n] for n in self.candidate_ids[[0, len(self.candidate_ids) // 2, -1]].tolist()]
        probe = self.model_input(MaskRequest(pieces, pieces, 1))
        public = public_scores(model, probe, self.mask_id)[self.candidate_ids]
        marks = (self.pad_id, self.mask_id)
        found = TorchModel(model, self.candidate_ids, self.device, self.dtype, marks, uses_types)
        if why := found.check(probe, public):
            self.slower = (why,)
            shortcuts.announce(why)
        return found

    @property
    def description(self) -> str:
        """Describe in a few words what it runs on; the page, `models` and `bench speed` print it."""
        device = {"cpu": "the processor", "cuda": "the GPU", "mps": "the GPU"}[self.device.split(":")[0]]
        return f"on {device} in {self.dtype}" + "".join(
            f"; slower than it could be, because {why}" for why in self.slower
        )

    def __repr__(self) -> str:
        return f"MaskedLM({self.spec.id!r}, device={self.device!r}, dtype={self.dtype!r})"

    def encode(self, doc: Document) -> list[list[int]]:
        """Return the word-piece ids of each token of `doc`, from one tokenisation of the whole text, never truncated.

        A piece belongs to the first token it overlaps; one that lies between tokens to the token before it (before the
        first: to the first). A token without a piece of its own gets the id of the unknown word, so that no position
        is lost. Special tokens written out in the text are read as plain characters.
        """
        doc = doc.visible
        tokens = doc.tokens
        pieces: list[list[int]] = [[] for _ in tokens]
        if not tokens:
            return pieces
        encoding = self._tokens.encode(clean(doc.text), add_special_tokens=False)
        for piece, i in zip(encoding.ids, owners(encoding.offsets, tokens), strict=True):
            pieces[i].append(piece)
        return [p or [self.unk_id] for p in pieces]

    def word_pieces(self, word: str) -> list[int]:
        """Return the word-piece ids of `word` as it stands inside a text (after a space); never empty."""
        known = self._id_of.get(word)
        if known is not None:
            return [known]
        text = clean(word)
        ids = self._tokens.encode(" " + text if self._marker == "Ġ" else text, add_special_tokens=False).ids
        return ids or [self.unk_id]

    def model_input(self, request: MaskRequest) -> ModelInput:
        """Return the sequence of ids that `request` becomes."""
        return self.model_inputs([request])[0]

    def model_inputs(self, requests: Sequence[MaskRequest]) -> list[ModelInput]:
        """Return the sequences that `requests` become: queries where the model is asked so and they have a context.
        Those that read the same text share the list of its ids."""
        queries = Queries(self.template, self.mask_id, self.spec.max_length, self._signs)
        texts: dict[tuple[int, ...], list[int]] = {}
        found = []
        for request in requests:
            if self.spec.queries and request.context is not None:
                found.append(queries(request))
            else:
                x = model_input(request, self.template, self.mask_id, self.spec.max_length)
                found.append(replace(x, ids=texts.setdefault(tuple(x.ids), x.ids)))
        return found

    def shape_for(self, length: int, query: bool = False) -> tuple[int, int]:
        """(rows, padded length) of the pass that a sequence of `length` positions goes into. Rows are positions of one
        text where a pass is about one."""
        padded = min(bucket(length), max(length, self.spec.max_length))
        of_one = query or isinstance(self._logits, OnnxModel)
        return MOST_QUERIES if of_one else rows_for(padded, self.device, self._threads), padded

    def text_of(self, x: ModelInput) -> int:
        """Which text a pass with this input is about; 0 where it may be about several."""
        return id(x.ids) if x.query or isinstance(self._logits, OnnxModel) else 0

    def forward(self, inputs: Sequence[ModelInput], rows: int, length: int) -> np.ndarray:
        """Raw logits (len(inputs), |V|) in float32 at the masks, in one pass of fixed shape (rows, length).

        At most `rows` inputs, each at most `length` positions long; see `shape_for`.
        """
        return self.forward_all([(inputs, (rows, length))])

    def forward_all(self, passes: Passes) -> np.ndarray:
        """Return the rows of `forward` for each of several passes, one after another: the same bits, in less time where
        they are not more than `at_once`."""
        for inputs, (rows, length) in passes:
            if len(inputs) > rows or any(len(x.ids) > length for x in inputs):
                raise ValueError("more rows or positions than the shape of the pass has")
        try:
            scores = self._together(passes)
        except Busy:
            # What others have given back is held for them: once more, in the same shape. A smaller one would give
            # scores with other last bits.
            give_back_memory(self.device)
            scores = self._together(passes)
        if np.isnan(scores.max(initial=0.0)):  # which is not a number where any is none
            raise ModelUnavailable(
                f"The model {self.spec.id!r} gives scores that are not numbers: its weights are damaged. Get it again."
            )
        return scores

    def _together(self, passes: Passes) -> np.ndarray:
        assert self._logits is not None
        # transformers does not promise that two threads can run a model of its own at once.
        alone: AbstractContextManager[Any] = nullcontext() if isinstance(self._logits, OnnxModel) else self._lock
        with alone, enough_memory(self.device):
            return self._logits(passes)


def rows_for(length: int, device: str, threads: int) -> int:
    """Rows of a pass over sequences padded to `length`: enough for full speed and not more.

    A CPU's core is at full speed from about 80 positions on, so that one short request alone wastes little; a GPU
    wants thousands.
    """
    if device == "cpu":
        return max(1, round(96 * max(1, min(threads, 8)) / length))
    return 1 << max(0, (8192 // length).bit_length() - 1)


_loaded: dict[tuple[str, str, Language], MaskedLM] = {}
_guard = threading.Lock()
_locks: dict[tuple[str, str, Language], threading.Lock] = {}


def load(name: str, device: str | None = None, language: Language = ENGLISH) -> MaskedLM:
    """See `dptext_core.models.load_masked_lm`."""
    spec = masked_lm_spec(name)
    key = (str(spec.folder), resolve_device(device), language)
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        if key not in _loaded:
            _loaded[key] = read_whole(lambda: MaskedLM(spec, key[1], None, language), spec.id, spec.folder, key[1])
        return _loaded[key]


def read_whole(make: Callable[[], M], name: str, folder: Path, device: str) -> M:
    """Read a model's folder with ``make``. Raises ModelUnavailable for any error that is not a DPTextError."""
    try:
        return make()
    except (DPTextError, ImportError):
        raise
    except Exception as error:
        # What reads these files raises whatever it comes across in a damaged one.
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise ModelUnavailable(
                f"{name!r} does not fit into the memory of {device}. Choose a smaller model, or free some."
            ) from error
        raise ModelUnavailable(
            f"The model {name!r} cannot be loaded from {folder}: its files are damaged, incomplete, or do not "
            f"belong together ({type(error).__name__}). Get it again."
        ) from error


def forget_locks() -> None:
    """After a fork: locks that another thread held would stay locked for ever in the child."""
    global _guard
    _guard = threading.Lock()
    _locks.clear()
    for lm in _loaded.values():
        lm._lock = threading.Lock()
