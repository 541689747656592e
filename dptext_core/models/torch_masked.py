"""Masked language models with PyTorch and transformers: on a GPU, and models that users add.

The encoder is that of transformers, and the model's own head runs at the masks only. The lengths of the sequences fix
the shape of a pass, so that a request has the same bits in every call on one machine and device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ..errors import ConfigError, ModelUnavailable
from ..support.imports import transformers_import_guard
from ..support.quiet import quiet
from . import shortcuts
from .eight_bits import in_floats
from .onnx_masked import Passes, unreadable_error
from .registry import WEIGHTS_FILE, MaskedLMSpec
from .tokens import TrunkTokenizer, bundled_tokenizer, first_line
from .windows import ModelInput


class _Batch(NamedTuple):
    """Sequences of one padded length.

    ids (B, L), types (B, L) or None, lengths (B), positions of the masks (B), and how many rows at the front are
    requested.
    """

    ids: torch.Tensor
    types: torch.Tensor | None
    lengths: torch.Tensor
    positions: torch.Tensor
    wanted: int


def query_inputs(ids: torch.Tensor, positions: torch.Tensor, mask_id: int) -> dict[str, torch.Tensor]:
    """Return the inputs of transformers' own BERT for a text (1, L) with a query at each of ``positions`` (n).

    Each query is a mask of the second type at that position. It attends to the text and itself, and nothing attends to
    it.
    """
    n, asked = ids.shape[1], len(positions)
    hides = torch.full((n + asked, n + asked), float("-inf"))
    hides.fill_diagonal_(0.0)
    hides[:, :n] = 0.0
    row = torch.arange(n + asked)
    return {
        "input_ids": torch.cat([ids, torch.full((1, asked), mask_id)], 1),
        "token_type_ids": (row >= n).long()[None],
        "position_ids": torch.cat([row[:n], positions])[None],
        "attention_mask": hides[None, None],
    }


class TorchModel:
    """A callable from passes to float32 logits (n, candidates), with the rows in the order of the inputs.

    A hook reduces the encoder's output to the masked positions, so that the head runs only there. If ``cuts`` is False,
    the head runs everywhere, and nothing is assumed about the model's parts.
    """

    workers = at_once = 1

    def __init__(
        self, model: Any, candidate_ids: np.ndarray, device: str, dtype: str, ids: tuple[int, int], uses_types: bool
    ):
        self.pad_id, self.mask_id = ids
        self.device, self.dtype, self.uses_types = device, dtype, uses_types
        self.model = model.to(device, getattr(torch, dtype)).eval()
        self.candidates = torch.as_tensor(candidate_ids, device=device)
        base = self.model.base_model
        self._positions: torch.Tensor | None = None
        self._hook = base.register_forward_hook(self._cut) if base is not self.model else None

    @property
    def cuts(self) -> bool:
        """Return True if the head runs at the masks only."""
        return self._hook is not None

    def run_whole(self) -> None:
        """Compute the head everywhere from now on."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def check(self, x: ModelInput, public: np.ndarray) -> str:
        """Switch to the whole model if the scores of ``x`` differ from the ``public`` ones; return the reason or ""."""
        passes = [([x], (2, len(x.ids) + 3))]
        what = f"cutting the output of {type(self.model).__name__}'s encoder"
        why = shortcuts.attempt(lambda: shortcuts.agree(self(passes)[0], public, self.dtype), what)
        if why:
            self.run_whole()
        return why

    def _cut(self, module: Any, args: Any, output: Any) -> Any:
        hidden = output[0]
        rows = torch.arange(len(hidden), device=hidden.device)
        masked = hidden[rows[:, None], self._positions]
        if isinstance(output, tuple):
            return (masked, *output[1:])
        output["last_hidden_state"] = masked
        return output

    def __call__(self, passes: Passes) -> np.ndarray:
        with torch.inference_mode():
            return torch.cat([self._scores(inputs, *shape) for inputs, shape in passes]).cpu().numpy()

    def _scores(self, inputs: Sequence[ModelInput], rows: int, length: int) -> torch.Tensor:
        if inputs[0].query:
            return self._by_queries(inputs)
        x = self._batch(inputs, rows, length)
        attend = (torch.arange(x.ids.shape[1], device=x.ids.device) < x.lengths[:, None]).long()
        types = {} if x.types is None else {"token_type_ids": x.types}
        self._positions = x.positions[:, None]
        logits = self.model(input_ids=x.ids, attention_mask=attend, **types).logits
        at = torch.arange(len(x.ids), device=x.ids.device)
        return (logits[:, 0] if self.cuts else logits[at, x.positions])[: x.wanted, self.candidates].float()

    def _by_queries(self, inputs: Sequence[ModelInput]) -> torch.Tensor:
        """Compute a text with queries at all its positions, in a shape that no other query changes."""
        text = torch.tensor([inputs[0].ids])
        n = text.shape[1]
        at = torch.arange(n)
        given = {name: t.to(self.device) for name, t in query_inputs(text, at, self.mask_id).items()}
        given["attention_mask"] = given["attention_mask"].to(self.model.dtype)
        self._positions = (n + at)[None].to(self.device)
        logits = self.model(**given).logits[0]
        wanted = torch.tensor([x.position for x in inputs], device=self.device)
        return (logits if self.cuts else logits[n:])[wanted][:, self.candidates].float()

    def _batch(self, inputs: Sequence[ModelInput], rows: int, length: int) -> _Batch:
        ids = np.full((rows, length), self.pad_id, np.int64)
        types = np.zeros((rows, length), np.int64)
        lengths, positions = np.ones(rows, np.int64), np.zeros(rows, np.int64)
        for r, x in enumerate(inputs):
            ids[r, : len(x.ids)] = x.ids
            if x.types is not None:
                types[r, : len(x.types)] = x.types
            lengths[r], positions[r] = len(x.ids), x.position
        put: Callable[[np.ndarray], torch.Tensor] = lambda array: torch.from_numpy(array).to(self.device)  # noqa: E731
        return _Batch(put(ids), put(types) if self.uses_types else None, put(lengths), put(positions), len(inputs))


def public_scores(model: Any, x: ModelInput, mask_id: int) -> np.ndarray:
    """Return the scores of the whole vocabulary at the mask, float32, from the unchanged model."""
    given = {"input_ids": torch.tensor([x.ids]), "attention_mask": torch.ones(1, len(x.ids), dtype=torch.long)}
    if x.types is not None:
        given["token_type_ids"] = torch.tensor([x.types])
    if x.query:
        given = query_inputs(torch.tensor([x.ids]), torch.tensor([x.position]), mask_id)
    at = len(x.ids) if x.query else x.position
    with torch.inference_mode():
        return model(**given).logits[0, at].float().numpy()


def plain_model(spec: MaskedLMSpec) -> tuple[Any, Any]:
    """Return the transformers model (float32, on the CPU, in evaluation mode) and its fast tokenizer.

    Raises ModelUnavailable or ConfigError.
    """
    with quiet():
        model, tokenizer = _export_weights(spec) if spec.on_trunk else _from_folder(spec)
    if not tokenizer.is_fast:
        raise ConfigError(f"{spec.id} has no fast tokenizer (tokenizer.json), which is needed to locate word pieces. "
                          "Choose another model.")
    return model.eval().requires_grad_(False), tokenizer


def _export_weights(spec: MaskedLMSpec) -> tuple[Any, Any]:
    """Return the weights of the ONNX graph from a transformers model."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    with transformers_import_guard():
        from transformers import BertForMaskedLM

    try:
        stored = in_floats(load_file(spec.folder / WEIGHTS_FILE))
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise unreadable_error(spec, error) from error
    state = {name: torch.from_numpy(value) for name, value in stored.items() if name != "candidates"}
    # The stubs of from_pretrained do not know the pair that output_loading_info returns.
    loaded: Any = BertForMaskedLM.from_pretrained(
        None, config=trunk_config(), state_dict=state, output_loading_info=True
    )
    model, report = loaded
    _complete(report, spec)
    return model, trunk_tokenizer()


def trunk_config() -> Any:
    """Return the configuration of all-MiniLM-L6-v2 for transformers: the package with its file may be missing."""
    with transformers_import_guard():
        from transformers import BertConfig

    return BertConfig(
        vocab_size=30_522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )


def trunk_tokenizer() -> Any:
    """Return the tokenizer of all-MiniLM-L6-v2 as a transformers tokenizer, over the bundled vocabulary."""
    with transformers_import_guard():
        from transformers import PreTrainedTokenizerFast

    marks = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "mask", "unk", "pad")}
    return PreTrainedTokenizerFast(
        tokenizer_object=bundled_tokenizer(), model_input_names=list(TrunkTokenizer.model_input_names), **marks
    )


def _from_folder(spec: MaskedLMSpec) -> tuple[Any, Any]:
    with transformers_import_guard():
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
            f"The files of {spec.id!r} are incomplete on this machine. Download them again ({first_line(error)})."
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{spec.id!r} is not a masked language model known to transformers. Choose another model "
            f"({first_line(error)})."
        ) from error
    _complete(report, spec)
    try:
        tokenizer = AutoTokenizer.from_pretrained(spec.folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"The tokenizer of {spec.id!r} is damaged or incomplete on this machine. Download it again "
            f"({first_line(error)})."
        ) from error
    return model, tokenizer


def _complete(report: dict[str, Any], spec: MaskedLMSpec) -> None:
    """Refuse a model whose weights are not all in the file, because the missing ones would be random."""
    missing = sorted(report.get("missing_keys") or ()) + sorted(map(str, report.get("mismatched_keys") or ()))
    if missing:
        raise ConfigError(
            f"{spec.id!r} has no trained weights for {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}: it is "
            "not a complete masked language model. Choose one that was trained with masked words."
        )
