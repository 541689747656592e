"""A masked language model in memory: its candidates, its tokenizer, and logits at masks.

ONNX Runtime computes the bundled model on a processor (`onnx_masked`) and PyTorch on a GPU. PyTorch computes the models
that users add on every device (`torch_masked`). A request has the same scores, bit for bit, in every call on one
machine and device, whatever the other requests are. Another machine, device or version of these libraries can differ in
the last bits.
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
    """One loaded model on one device. Immutable and thread-safe.

    `candidates`: the public whole words that a mask can become, in order of their ids; `candidate_ids` are these ids.
    `device`: "cpu", "cuda" (or "cuda:1") or "mps"; `dtype`: "bfloat16" or "float32", the type that the layers compute
    in. `workers`: how many threads can call `forward_all` usefully; `at_once`: how many passes each of them computes.
    """

    def __init__(self, spec: MaskedLMSpec, device: str, dtype: str | None = None, language: Language = ENGLISH):
        self.spec = spec
        self.device = device
        #: Why a slower public path is used although the program knows a faster one: see `shortcuts`. Usually empty.
        self.slower: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._logits: OnnxModel | TorchModel | None = None
        if spec.on_trunk and device == "cpu":
            self._read(TrunkTokenizer(), language, True)
            # Models of another language have no graph.
            if np.array_equal(self.candidate_ids, stored_candidates(spec)):
                self.dtype = "float32"
                self._logits = OnnxModel(spec, self.mask_id)
        if self._logits is None:
            self._logits = self._by_torch(dtype, language)
        self.workers: int = self._logits.workers
        self.at_once: int = self._logits.at_once

    def _read(self, tokenizer: Any, language: Language, uses_types: bool) -> None:
        """Set the fields that follow from a tokenizer."""
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
            raise ConfigError(f"A window of {spec.max_length} positions is too short: it needs at least 24. "
                              "Choose another model.")

    def _by_torch(self, dtype: str | None, language: Language) -> TorchModel:
        """Return the scorer of a transformers model; it runs the whole model if a part of it cannot be isolated."""
        extras.import_torch()
        from .torch_masked import TorchModel, plain_model, public_scores

        spec = self.spec
        self.dtype = dtype or best_dtype(self.device)
        model, tokenizer = plain_model(spec)
        uses_types = "token_type_ids" in tokenizer.model_input_names and getattr(model.config, "type_vocab_size", 0) > 1
        if spec.queries and not (uses_types and model.config.model_type == "bert"):
            raise ConfigError(f"{spec.id!r} is not a BERT model, so it cannot answer queries. Correct its dptext.json.")
        self._read(tokenizer, language, uses_types)
        decoder = model.get_output_embeddings()
        if decoder is not None and self.candidate_ids[-1] >= decoder.weight.shape[0]:
            raise ConfigError(f"The tokenizer and the model in {spec.folder} do not match: their sizes differ. "
                              "Download the folder again.")
        # Read once, so that a later change of the setting does not change the shape of a pass.
        self._threads = threads()
        pieces = [[n] for n in self.candidate_ids[[0, len(self.candidate_ids) // 2, -1]].tolist()]
        probe = self.model_input(MaskRequest(pieces, pieces, 1))
        public = public_scores(model, probe, self.mask_id)[self.candidate_ids]
        marks = (self.pad_id, self.mask_id)
        scorer = TorchModel(model, self.candidate_ids, self.device, self.dtype, marks, uses_types)
        if why := scorer.check(probe, public):
            self.slower = (why,)
            shortcuts.announce(why)
        return scorer

    @property
    def description(self) -> str:
        """Describe briefly what the model runs on, for the page, `models` and `bench speed`."""
        device = {"cpu": "the processor", "cuda": "the GPU", "mps": "the GPU"}[self.device.split(":")[0]]
        return f"on {device} in {self.dtype}" + "".join(
            f"; slower than possible, because {why}" for why in self.slower
        )

    def __repr__(self) -> str:
        return f"MaskedLM({self.spec.id!r}, device={self.device!r}, dtype={self.dtype!r})"

    def encode(self, doc: Document) -> list[list[int]]:
        """Return the word-piece ids of each token of `doc`, from one tokenisation of the whole text, never truncated.

        A piece belongs to the first token that it overlaps. A piece between tokens belongs to the token before it (or
        to the first token). A token without a piece gets the id of the unknown word, so that no position is lost.
        Special tokens written out in the text are read as plain characters.
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
        """Return the word-piece ids of `word` inside a text (after a space); never empty."""
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
        """Return the sequences for `requests`: queries if the model supports them and the requests have a context.

        Queries of one text share the list of its ids.
        """
        queries = Queries(self.template, self.mask_id, self.spec.max_length, self._signs)
        texts: dict[tuple[int, ...], list[int]] = {}
        inputs = []
        for request in requests:
            if self.spec.queries and request.context is not None:
                inputs.append(queries(request))
            else:
                x = model_input(request, self.template, self.mask_id, self.spec.max_length)
                inputs.append(replace(x, ids=texts.setdefault(tuple(x.ids), x.ids)))
        return inputs

    def shape_for(self, length: int, query: bool = False) -> tuple[int, int]:
        """Return (rows, padded length) of the pass for a sequence of `length` positions.

        In a pass about one text, the rows are positions of that text.
        """
        padded = min(bucket(length), max(length, self.spec.max_length))
        of_one = query or isinstance(self._logits, OnnxModel)
        return MOST_QUERIES if of_one else rows_for(padded, self.device, self._threads), padded

    def text_of(self, x: ModelInput) -> int:
        """Return the text that a pass with this input is about; 0 if it may be about several."""
        return id(x.ids) if x.query or isinstance(self._logits, OnnxModel) else 0

    def forward(self, inputs: Sequence[ModelInput], rows: int, length: int) -> np.ndarray:
        """Return raw logits (len(inputs), |V|) in float32 at the masks, in one pass of fixed shape (rows, length).

        At most `rows` inputs, each at most `length` positions long; see `shape_for`.
        """
        return self.forward_all([(inputs, (rows, length))])

    def forward_all(self, passes: Passes) -> np.ndarray:
        """Return the rows of `forward` for several passes, one after another.

        The bits are the same, and it takes less time for up to `at_once` passes.
        """
        for inputs, (rows, length) in passes:
            if len(inputs) > rows or any(len(x.ids) > length for x in inputs):
                raise ValueError("There are more rows or positions than the shape of the pass allows.")
        try:
            scores = self._together(passes)
        except Busy:
            # Other threads may hold freed memory: retry once in the same shape. A smaller shape would give scores with
            # other last bits.
            give_back_memory(self.device)
            scores = self._together(passes)
        if np.isnan(scores.max(initial=0.0)):  # nan if any score is nan
            raise ModelUnavailable(
                f"The model {self.spec.id!r} gives scores that are not numbers: its weights are damaged. Get it again."
            )
        return scores

    def _together(self, passes: Passes) -> np.ndarray:
        assert self._logits is not None
        # transformers does not guarantee that two threads can run one of its models at the same time.
        alone: AbstractContextManager[Any] = nullcontext() if isinstance(self._logits, OnnxModel) else self._lock
        with alone, enough_memory(self.device):
            return self._logits(passes)


def rows_for(length: int, device: str, threads: int) -> int:
    """Return the rows of a pass over sequences padded to `length`: enough for full speed and no more.

    A CPU core reaches full speed at about 80 positions, so that one short request alone wastes little; a GPU needs
    thousands.
    """
    if device == "cpu":
        return max(1, round(96 * max(1, min(threads, 8)) / length))
    return 1 << max(0, (8192 // length).bit_length() - 1)


_loaded: dict[tuple[str, str, Language], MaskedLM] = {}
_guard = threading.Lock()
_locks: dict[tuple[str, str, Language], threading.Lock] = {}


def load(name: str, device: str | None = None, language: Language = ENGLISH) -> MaskedLM:
    """Load a masked language model: see `dptext_core.models.load_masked_lm`."""
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
        # Readers of these files raise arbitrary errors for damaged ones.
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise ModelUnavailable(
                f"{name!r} does not fit into the memory of {device}. Choose a smaller model, or free some memory."
            ) from error
        raise ModelUnavailable(
            f"The model {name!r} cannot be loaded from {folder}: its files are damaged or incomplete, or do not match "
            f"({type(error).__name__}). Download it again."
        ) from error


def forget_locks() -> None:
    """Replace the locks after a fork: locks held by another thread would stay locked forever in the child."""
    global _guard
    _guard = threading.Lock()
    _locks.clear()
    for lm in _loaded.values():
        lm._lock = threading.Lock()
