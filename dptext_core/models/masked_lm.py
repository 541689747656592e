"""A masked language model in memory: its candidates, its tokenizer, and logits at one mask a text.

Same score, same request: floating-point sums depend on the shape of a matrix product, so that a batch of other size
can change the last bits of a row. Here every sequence is padded to a length that its own length fixes (`bucket`), and
every pass has the number of rows that this length fixes (`rows_for`), filled up with empty rows; of queries see
`fast_bert`. A row then goes through the same kernels in the same order whatever stands beside it, and its scores are
the same bits in every call on one machine and device. Another machine, device or version of torch can differ in the
last bits.

On a processor a pass of the fast path is computed by one core, and the engine computes as many at once as there are
cores; so the number of threads changes no bit either. Other models compute one pass at a time with all of them.
"""

from __future__ import annotations

import platform
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._internal.device import enough_memory, give_back_memory, one_thread, resolve_device
from .._internal.imports import alone
from .._internal.quiet import quiet
from ..errors import Busy, ConfigError, DPTextError, ModelUnavailable
from ..text.language import Language
from ..text.languages import ENGLISH
from . import internals
from .registry import UPDATE_FILE, MaskedLMSpec, json_in, masked_lm_spec
from .windows import MaskRequest, ModelInput, Queries, Template, bucket, model_input

if TYPE_CHECKING:
    import torch

    from ..text.document import Document, Token
    from .fast_bert import Batch

M = TypeVar("M")
_SURROGATES = re.compile("[\ud800-\udfff]")
# Python's own part of a pass goes one at a time.
_MOST_WORKERS = 16
#: Queries of one text that a pass answers at most.
_MOST_QUERIES = 256
_MARKERS = ("Ġ", "▁")  # how byte-level BPE and SentencePiece write the space before a word


class MaskedLM:
    """One loaded model on one device. Immutable, and safe to use from any thread.

    `candidates`: the public whole words that a mask can become, in order of their ids; `candidate_ids` these ids.
    `device`: "cpu", "cuda" (or "cuda:1") or "mps"; `dtype`: "bfloat16" or "float32", the type the layers compute in.
    `workers`: how many threads can use `forward_all` with gain; `at_once`: how many passes each of them.
    """

    def __init__(self, spec: MaskedLMSpec, device: str, dtype: str | None = None, language: Language = ENGLISH):
        import torch

        from .fast_bert import FastBert

        model, tokenizer = trunk_parts(spec) if spec.on_trunk else plain_model(spec)
        self.spec = spec
        self.device = device
        self.dtype = dtype or best_dtype(device)
        self._tokens = private_backend(tokenizer)
        self.candidate_ids, self.candidates, self._marker = whole_words(tokenizer, language)
        decoder = None if spec.on_trunk else model.get_output_embeddings()
        if decoder is not None and self.candidate_ids[-1] >= decoder.weight.shape[0]:
            raise ConfigError(f"The tokenizer and the model in {spec.folder} do not belong together: sizes differ.")
        self._id_of = dict(zip(self.candidates, self.candidate_ids.tolist(), strict=True))
        self.mask_id: int = _special(tokenizer, "mask_token", spec)
        self.unk_id: int = _special(tokenizer, "unk_token", spec)
        self.pad_id: int = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self.unk_id
        uses_types = "token_type_ids" in tokenizer.model_input_names and getattr(model.config, "type_vocab_size", 0) > 1
        self.template = _probe_template(tokenizer, uses_types, spec)
        if spec.queries and not (uses_types and model.config.model_type == "bert"):
            raise ConfigError(f"{spec.id!r} is not of BERT's build, so it cannot be asked by queries. Mend its card.")
        if self.template.room(spec.max_length, True) < 8:
            raise ConfigError(f"A window of {spec.max_length} positions is too short: it needs at least 24.")
        # Fixed here, so that a later change of torch's setting does not change the shape of a pass.
        self._threads = torch.get_num_threads()
        self._lock = threading.Lock()
        self._by_core = False
        self._logits: Any = None
        #: Why slower public paths are taken where the program knows faster ones: see `internals`. Mostly empty.
        self.slower: tuple[str, ...] = tuple(self._choose_path(model))
        for why in self.slower:
            internals.announce(why)
        # transformers does not promise that two threads can run a model of its own at once.
        self._by_core = device == "cpu" and isinstance(self._logits, FastBert)
        self.workers: int = min(self._threads, _MOST_WORKERS) if self._by_core else 1
        self.at_once: int = (32 if spec.queries else 4) if self._by_core else 1

    def own_cores(self) -> AbstractContextManager[None]:
        """Within it a thread computes its passes of `forward` by one core, where that is how passes are computed."""
        return one_thread() if self._by_core else nullcontext()

    def _choose_path(self, model: Any) -> Iterator[str]:
        """Set what computes the scores: the fastest way that agrees with the public one. Yields why others do not."""
        import torch

        from .fast_bert import AnyModel, FastBert, fits

        dtype, ids = getattr(torch, self.dtype), torch.as_tensor(self.candidate_ids)
        pieces = [[n] for n in self.candidate_ids[[0, len(self.candidate_ids) // 2, -1]].tolist()]
        request = MaskRequest(pieces, pieces, 1)
        probe = self.model_inputs([request])[0]

        def take(kind: Any, public: np.ndarray | None) -> bool:
            with torch.inference_mode():
                self._logits = kind(model, ids, self.device, dtype)
            found = self._together([([probe], (2, len(probe.ids) + 3))])[0]
            return public is None or internals.agree(found, public, self.dtype)

        if self.device == "cpu":
            wanted = ["bfloat16"] * internals.has_bf16() + [self.dtype]
            if why := next(filter(None, (internals.products(d)[1] for d in wanted)), ""):
                yield why
        public = None
        if self.spec.on_trunk:
            # Its weights are read by names of our own, so that only running it can fail; comparing would cost more
            # than all the rest, since it needs transformers.
            if not (why := internals.attempt(lambda: take(FastBert, None), "the fast path of the bundled model")):
                return
            yield why
            model, _ = plain_model(self.spec)
            public = self._public(model, probe)
        else:
            public = self._public(model, probe)
            if fits(model):
                what = f"reading the parts of {type(model).__name__}"
                if not (why := internals.attempt(lambda: take(FastBert, public), what)):
                    return
                yield why
        what = f"cutting the output of {type(model).__name__}'s encoder"
        if why := internals.attempt(lambda: take(AnyModel, public), what):
            yield why
            if isinstance(self._logits, AnyModel):
                self._logits.run_whole()
            with torch.inference_mode():
                self._logits = AnyModel(model, ids, self.device, dtype, cuts=False)

    def _public(self, model: Any, x: ModelInput) -> np.ndarray:
        """Scores of the candidates at the mask, float32 (V,), by a call of the unchanged model."""
        import torch

        from .fast_bert import asked_by_queries

        given = {"input_ids": torch.tensor([x.ids]), "attention_mask": torch.ones(1, len(x.ids), dtype=torch.long)}
        if x.types is not None:
            given["token_type_ids"] = torch.tensor([x.types])
        if x.query:
            given = asked_by_queries(torch.tensor([x.ids]), torch.tensor([x.position]), self.mask_id)
        at = len(x.ids) if x.query else x.position
        with torch.inference_mode():
            return model(**given).logits[0, at].float().numpy()[self.candidate_ids]

    @property
    def description(self) -> str:
        """What it runs on, in a few words: the page, `models` and `bench speed` print it."""
        device = {"cpu": "the processor", "cuda": "the GPU", "mps": "the GPU"}[self.device.split(":")[0]]
        return f"on {device} in {self.dtype}" + "".join(
            f"; slower than it could be, because {why}" for why in self.slower
        )

    def __repr__(self) -> str:
        return f"MaskedLM({self.spec.id!r}, device={self.device!r}, dtype={self.dtype!r})"

    def encode(self, doc: Document) -> list[list[int]]:
        """The word-piece ids of each token of `doc`, from one tokenisation of the whole text, never truncated.

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
        """The word-piece ids of `word` as it stands inside a text (after a space); never empty."""
        known = self._id_of.get(word)
        if known is not None:
            return [known]
        text = clean(word)
        ids = self._tokens.encode(" " + text if self._marker == "Ġ" else text, add_special_tokens=False).ids
        return ids or [self.unk_id]

    def model_input(self, request: MaskRequest) -> ModelInput:
        """The sequence of ids that `request` becomes."""
        return self.model_inputs([request])[0]

    def model_inputs(self, requests: Sequence[MaskRequest]) -> list[ModelInput]:
        """The sequences that `requests` become: queries where the model is asked so and they have a context."""
        queries = Queries(self.template, self.mask_id, self.spec.max_length)
        return [
            queries(r)
            if self.spec.queries and r.context is not None
            else model_input(r, self.template, self.mask_id, self.spec.max_length)
            for r in requests
        ]

    def shape_for(self, length: int, query: bool = False) -> tuple[int, int]:
        """(rows, padded length) of the pass that a sequence of `length` positions goes into; rows are the queries of
        one text where it is asked by them."""
        padded = min(bucket(length), max(length, self.spec.max_length))
        rows = _MOST_QUERIES if query else rows_for(padded, self.device, 1 if self._by_core else self._threads)
        return rows, padded

    def forward(self, inputs: Sequence[ModelInput], rows: int, length: int) -> np.ndarray:
        """Raw logits (len(inputs), |V|) in float32 at the masks, in one pass of fixed shape (rows, length).

        At most `rows` inputs, each at most `length` positions long; see `shape_for`.
        """
        return self.forward_all([(inputs, (rows, length))])

    def forward_all(self, passes: Sequence[tuple[Sequence[ModelInput], tuple[int, int]]]) -> np.ndarray:
        """The rows of `forward` for each of several passes, one after another: the same bits, in less time where they
        are not more than `at_once`."""
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

    def _together(self, passes: Sequence[tuple[Sequence[ModelInput], tuple[int, int]]]) -> np.ndarray:
        import torch

        alone = self.own_cores() if self._by_core else self._lock
        with alone, enough_memory(self.device), torch.inference_mode():
            return self._logits([self._batch(inputs, *shape) for inputs, shape in passes]).cpu().numpy()

    def _batch(self, inputs: Sequence[ModelInput], rows: int, length: int) -> Batch:
        import torch

        from .fast_bert import Batch

        if len(inputs) > rows or any(len(x.ids) > length for x in inputs):
            raise ValueError("more rows or positions than the shape of the pass has")
        if inputs[0].query:
            text = np.full((1, length), self.pad_id, np.int64)
            text[0, : len(inputs[0].ids)] = inputs[0].ids
            there = torch.tensor([len(inputs[0].ids)])
            positions = torch.tensor([x.position for x in inputs], device=self.device)
            return Batch(torch.from_numpy(text).to(self.device), None, there, positions, len(inputs), self.mask_id)
        ids = np.full((rows, length), self.pad_id, np.int64)
        types = np.zeros((rows, length), np.int64)
        lengths, positions = np.ones(rows, np.int64), np.zeros(rows, np.int64)
        for r, x in enumerate(inputs):
            ids[r, : len(x.ids)] = x.ids
            if x.types is not None:
                types[r, : len(x.types)] = x.types
            lengths[r], positions[r] = len(x.ids), x.position

        def put(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array).to(self.device)

        typed = put(types) if self.template.single_types is not None else None
        return Batch(put(ids), typed, put(lengths), put(positions), len(inputs))


def clean(text: str) -> str:
    """The text as a tokenizer takes it."""
    return _SURROGATES.sub("\ufffd", text)


def owners(offsets: Sequence[tuple[int, int]], tokens: Sequence[Token]) -> Iterator[int]:
    """The token (there is at least one) that each piece belongs to: see `MaskedLM.encode`."""
    ends = [t.end for t in tokens]
    at, last = 0, len(tokens) - 1
    for start, end in offsets:
        while at < last and ends[at] <= start:
            at += 1
        yield at - 1 if at and end <= tokens[at].start else at


def rows_for(length: int, device: str, threads: int) -> int:
    """Rows of a pass over sequences padded to `length`: enough for full speed and not more.

    A CPU's core is at full speed from about 80 positions on, so that one short request alone wastes little; a GPU
    wants thousands.
    """
    if device == "cpu":
        return max(1, round(96 * max(1, min(threads, 8)) / length))
    return 1 << max(0, (8192 // length).bit_length() - 1)


def best_dtype(device: str) -> str:
    """The type to compute in: "bfloat16" where the processor multiplies it natively, else "float32"."""
    import torch

    if device.startswith("cuda"):
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if device == "cpu" and platform.machine().lower() in ("x86_64", "amd64"):
        return "bfloat16" if internals.has_bf16() and internals.products()[0] else "float32"
    return "float32"


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
    """What ``make`` reads from a model's folder. Raises ModelUnavailable for any error but ours."""
    try:
        return make()
    except (DPTextError, ImportError):
        raise
    except Exception as error:
        import torch

        # What reads these files raises whatever it comes across in a damaged one.
        if isinstance(error, MemoryError | torch.OutOfMemoryError):
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


def plain_model(spec: MaskedLMSpec) -> tuple[Any, Any]:
    """The model as transformers has it (float32, on the CPU, in evaluation mode), and its fast tokenizer.

    Raises ModelUnavailable or ConfigError.
    """
    with quiet():
        model, tokenizer = _on_trunk(spec) if spec.on_trunk else _from_folder(spec)
    if not tokenizer.is_fast:
        raise ConfigError(f"{spec.id} has no fast tokenizer (tokenizer.json), which is needed to place word pieces.")
    return model.eval().requires_grad_(False), tokenizer


def _trunk_state(spec: MaskedLMSpec) -> tuple[Path, dict[str, Any]]:
    """The trunk's folder, and the state of a BertForMaskedLM: the trunk's embeddings with the update's weights."""
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file

    from ..words.vocabulary import verified_trunk_folder

    trunk = Path(verified_trunk_folder())
    try:
        update = {k: v.float() for k, v in load_file(spec.folder / UPDATE_FILE).items()}
        with safe_open(trunk / "model.safetensors", "pt") as f:
            key = "embeddings.word_embeddings.weight"
            words = f.get_tensor(key if key in f.keys() else f"bert.{key}").float()  # noqa: SIM118 (no mapping)
        state = {k: v for k, v in update.items() if k.startswith("bert.")}
        state["bert.embeddings.word_embeddings.weight"] = words + update["up"] @ update["down"]
        head = "cls.predictions."
        state[head + "bias"] = update["bias"]
        for end in ("weight", "bias"):
            state[f"{head}transform.dense.{end}"] = update[f"dense.{end}"]
            state[f"{head}transform.LayerNorm.{end}"] = update[f"norm.{end}"]
    except (SafetensorError, OSError, KeyError, RuntimeError) as error:
        raise ModelUnavailable(
            f"The weights in {spec.folder} cannot be read ({type(error).__name__}: {error}). Take the folder again."
        ) from error
    return trunk, state


def trunk_parts(spec: MaskedLMSpec) -> tuple[Any, Any]:
    """The weights of a model on the trunk as plain attributes, and its tokenizer, both without transformers.

    Importing transformers takes longer than everything else together, and the first rewrite of a page waits for it.
    """
    trunk, state = _trunk_state(spec)
    root = as_parts(state, SimpleNamespace(**json_in(trunk / "config.json")))
    try:
        head = root.cls.predictions
        head.decoder = SimpleNamespace(weight=root.bert.embeddings.word_embeddings.weight, bias=head.bias)
        list_layers(root.bert.encoder, root.config)
    except AttributeError as error:
        raise ConfigError(
            f"{spec.id!r} has no trained weights for some layers ({error}). Take the folder again."
        ) from None
    return root, _TrunkTokenizer(trunk)


class _Node(SimpleNamespace):
    """A named part of a model's weights."""


def as_parts(state: Mapping[str, Any], config: Any) -> Any:
    """The weights of a BERT, by their names, as plain attributes, and its configuration as one more."""
    root = _Node(config=config)
    for name, tensor in state.items():
        *path, leaf = name.split(".")
        node = root
        for part in path:
            if not hasattr(node, part):
                setattr(node, part, _Node(eps=config.layer_norm_eps) if part == "LayerNorm" else _Node())
            node = getattr(node, part)
        setattr(node, leaf, tensor)
    return root


def list_layers(encoder: Any, config: Any) -> None:
    """Put its layers, which bear numbers as names, into a list. Raises AttributeError where one is missing."""
    encoder.layer = [getattr(encoder.layer, str(i)) for i in range(config.num_hidden_layers)]


class _TrunkTokenizer:
    """The trunk's tokenizer with the few things that are asked of one of transformers."""

    model_input_names = ("input_ids", "token_type_ids", "attention_mask")
    is_fast = True

    def __init__(self, trunk: Path):
        self.backend_tokenizer = read_tokenizer(trunk / "tokenizer.json")
        names = {"mask": "[MASK]", "unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]"}
        ids = {name: self.backend_tokenizer.token_to_id(token) for name, token in names.items()}
        self.mask_token_id, self.unk_token_id, self.pad_token_id = ids["mask"], ids["unk"], ids["pad"]
        self.all_special_ids = list(ids.values())

    def get_vocab(self) -> dict[str, int]:
        return self.backend_tokenizer.get_vocab()

    def __call__(
        self, text: str, pair: str | None = None, add_special_tokens: bool = True, return_token_type_ids: bool = True
    ) -> dict[str, list[int]]:
        encoding = self.backend_tokenizer.encode(text, pair, add_special_tokens=add_special_tokens)
        return {"input_ids": encoding.ids, "token_type_ids": encoding.type_ids}


def _on_trunk(spec: MaskedLMSpec) -> tuple[Any, Any]:
    with alone():
        from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    trunk, state = _trunk_state(spec)
    config = BertConfig.from_pretrained(trunk)
    # The stubs of from_pretrained do not know the pair that output_loading_info returns.
    loaded: Any = BertForMaskedLM.from_pretrained(None, config=config, state_dict=state, output_loading_info=True)
    model, report = loaded
    _complete(report, spec)
    return model, AutoTokenizer.from_pretrained(trunk, local_files_only=True)


def _from_folder(spec: MaskedLMSpec) -> tuple[Any, Any]:
    import torch

    with alone():
        from transformers import AutoModelForMaskedLM, AutoTokenizer

    try:
        model, report = AutoModelForMaskedLM.from_pretrained(
            spec.folder,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except OSError as error:
        raise ModelUnavailable(
            f"The files of {spec.id!r} are incomplete on this machine: get them again ({first_line(error)})."
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{spec.id!r} is not a masked language model that transformers knows: choose another ({first_line(error)})."
        ) from error
    _complete(report, spec)
    try:
        tokenizer = AutoTokenizer.from_pretrained(spec.folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"The tokenizer of {spec.id!r} is damaged or incomplete on this machine: get it again "
            f"({first_line(error)})."
        ) from error
    return model, tokenizer


def first_line(error: Exception) -> str:
    """What a library said, as far as it goes into a message."""
    return str(error).strip().split("\n")[0][:200].rstrip(".") or type(error).__name__


def _complete(report: dict[str, Any], spec: MaskedLMSpec) -> None:
    """Refuse a model whose head, or any other part, would be random because its weights are not in the file."""
    missing = sorted(report.get("missing_keys") or ()) + sorted(map(str, report.get("mismatched_keys") or ()))
    if missing:
        raise ConfigError(
            f"{spec.id!r} has no trained weights for {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}: it is "
            "not a complete masked language model. Choose one that was trained with masked words."
        )


def private_backend(tokenizer: Any) -> Any:
    """A copy of the tokenizer's engine that neither truncates nor pads, reads no special tokens in a user's text, and
    keeps no word of it."""
    from tokenizers import Tokenizer

    backend = _plain(Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()))
    backend.encode_special_tokens = True
    return backend


def _plain(backend: Any) -> Any:
    """A tokenizer's engine that neither truncates nor pads, and keeps no word of a text."""
    backend.no_truncation()
    backend.no_padding()
    # Those of byte-pair and unigram models remember 10,000 words.
    if (resize := getattr(backend.model, "_resize_cache", None)) is not None:
        resize(0)
    return backend


def read_tokenizer(file: Path) -> Any:
    """The engine of a tokenizer.json. Raises ModelUnavailable."""
    from tokenizers import Tokenizer

    try:
        return _plain(Tokenizer.from_file(str(file)))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ModelUnavailable(
            f"The tokenizer {file.name} in {file.parent} cannot be read; it may be damaged or cut off. Get the model "
            "again."
        ) from error


def _special(tokenizer: Any, name: str, spec: MaskedLMSpec) -> int:
    value = getattr(tokenizer, f"{name}_id")
    if value is None:
        raise ConfigError(f"The tokenizer of {spec.id!r} has no {name.replace('_', ' ')}: choose another model.")
    return int(value)


def whole_words(tokenizer: Any, language: Language = ENGLISH) -> tuple[np.ndarray, tuple[str, ...], str]:
    """The fixed public candidates of a tokenizer: ids (ascending), words, and the marker of a word's beginning ("").

    Whole words of the language: no special tokens, no pieces inside words, no placeholders. Depends on the tokenizer
    and the language alone.
    """
    vocab: dict[str, int] = tokenizer.get_vocab()
    special = set(tokenizer.all_special_ids)
    marker = ""
    if type(tokenizer.backend_tokenizer.model).__name__ != "WordPiece":
        counts = {m: sum(p.startswith(m) for p in vocab) for m in _MARKERS}
        marker = max(counts, key=lambda m: counts[m])
        if not counts[marker]:
            raise ConfigError("This tokenizer does not mark where words begin: whole words cannot be told from pieces.")
    found = {}
    for piece, number in vocab.items():
        if piece.startswith(marker) and number not in special and language.is_word(piece[len(marker) :]):
            found[number] = piece[len(marker) :]
    if not found:
        raise ConfigError(f"The vocabulary of this tokenizer has no whole {language.name} words. Choose another model.")
    ids = np.array(sorted(found), np.int64)
    return ids, tuple(found[i] for i in ids.tolist()), marker


def _probe_template(tokenizer: Any, uses_types: bool, spec: MaskedLMSpec) -> Template:
    """How the tokenizer frames one and two texts, read off one probe each."""
    a, b = ([*tokenizer(x, add_special_tokens=False)["input_ids"]] for x in ("a", "b"))

    def split(given: tuple[str, ...], parts: list[list[int]]) -> tuple[Any, tuple[int, ...] | None]:
        probe = tokenizer(*given, return_token_type_ids=uses_types)
        ids, frame, types, start = list(probe["input_ids"]), [], [], 0
        for part in parts:
            at = next((i for i in range(start, len(ids)) if ids[i : i + len(part)] == part), None)
            if at is None or not part:
                raise ConfigError(f"The tokenizer of {spec.id!r} does not join two texts in a way that is understood.")
            frame.append(tuple(ids[start:at]))
            types += [(start, at), (at, at + len(part))]
            start = at + len(part)
        frame.append(tuple(ids[start:]))
        types.append((start, len(ids)))
        kinds = None
        if uses_types:
            row = list(probe["token_type_ids"])
            kinds = tuple(row[i] if i < j else 0 for i, j in types)
        return tuple(frame), kinds

    single, single_types = split(("a",), [a])
    pair, pair_types = split(("a", "b"), [a, b])
    return Template(single, pair, single_types, pair_types)
