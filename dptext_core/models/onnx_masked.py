"""The bundled masked language model on the processor: texts and their queries as rows of one ONNX Runtime pass.

A query is a separate row: it reads the text and itself, and no other row reads it. A masked position of a text reads
the same, so it is computed as a query that does not read itself. Each text is padded to a length that depends on its
own length only. A matrix product gives a row the same bits whatever the other rows are, if there are at least two. So a
request has the same bits in every call on one machine, alone or with others, and with any number of threads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..errors import ModelUnavailable
from .registry import GRAPH_FILE, WEIGHTS_FILE, MaskedLMSpec
from .runtime import Session, threads
from .windows import ModelInput, bucket

#: Maximum number of queries of one text in a pass.
MOST_QUERIES = 256
#: Number of texts that a thread computes at once: their rows share the products.
_AT_ONCE = 32
# Python's own part of a pass is serialised.
_MOST_WORKERS = 16

Passes = Sequence[tuple[Sequence[ModelInput], tuple[int, int]]]


def stored_candidates(spec: MaskedLMSpec) -> np.ndarray:
    """Return the ids of the words that a model's graph scores. Raises ModelUnavailable."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(spec.folder / WEIGHTS_FILE, "np") as file:
            return file.get_tensor("candidates")
    except (SafetensorError, OSError) as error:
        raise unreadable_error(spec, error) from error


def unreadable_error(spec: MaskedLMSpec, error: Exception) -> ModelUnavailable:
    """Return the error for unreadable weights."""
    return ModelUnavailable(
        f"The weights in {spec.folder} cannot be read ({type(error).__name__}). Download the folder again."
    )


class OnnxModel:
    """Callable: passes → float32 logits (n, candidates), the rows in the order of the inputs."""

    def __init__(self, spec: MaskedLMSpec, mask_id: int):
        try:
            self._session = Session(spec.folder / GRAPH_FILE, spec.folder)
        except ModelUnavailable:
            raise
        except Exception as error:  # ONNX Runtime raises different errors for different damage
            raise unreadable_error(spec, error) from error
        self.mask_id = mask_id
        self.candidates = int(self._session.shape("found")[2])
        self.workers, self.at_once = min(threads(), _MOST_WORKERS), _AT_ONCE

    def __call__(self, passes: Passes) -> np.ndarray:
        texts: list[tuple[int, list[ModelInput]]] = []
        for inputs, (_, length) in passes:
            for x in inputs:
                if texts and texts[-1][0] == length and texts[-1][1][0].ids is x.ids:
                    texts[-1][1].append(x)
                else:
                    texts.append((length, [x]))
        begins = np.cumsum([0, *(len(asked) for _, asked in texts)])
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for t, (length, asked) in enumerate(texts):
            groups[length, bucket(len(asked))].append(t)
        if len(groups) == 1 and len({len(asked) for _, asked in texts}) == 1:
            logits = self._run(texts[0][0], [asked for _, asked in texts])[:, : len(texts[0][1])]
            return logits.reshape(begins[-1], self.candidates)
        out = np.empty((begins[-1], self.candidates), np.float32)
        for (length, _), some in groups.items():
            logits = self._run(length, [texts[t][1] for t in some])
            for t, rows in zip(some, logits, strict=True):
                out[begins[t] : begins[t + 1]] = rows[: len(texts[t][1])]
        return out

    def _run(self, length: int, texts: Sequence[Sequence[ModelInput]]) -> np.ndarray:
        """Return the logits (texts, queries, candidates) of texts that are padded to one length."""
        # A product over a single row has other bits.
        shape = len(texts), max(2, *map(len, texts))
        ids, types = np.zeros((2, len(texts), max(2, length)), np.int64)
        there = np.zeros(ids.shape, np.float32)
        asked, asked_types, places = np.zeros((3, *shape), np.int64)
        itself = np.zeros(shape, np.float32)
        for t, inputs in enumerate(texts):
            n = len(inputs[0].ids)
            ids[t, :n], there[t, :n] = inputs[0].ids, 1
            if inputs[0].types is not None:
                types[t, :n] = inputs[0].types
            for q, x in enumerate(inputs):
                places[t, q], itself[t, q] = x.position, x.query
                asked[t, q] = self.mask_id if x.query else x.ids[x.position]
                asked_types[t, q] = 1 if x.query else types[t, x.position]
        given: dict[str, np.ndarray] = {"ids": ids, "types": types, "there": there, "asked": asked}
        given |= {"asked_types": asked_types, "places": places, "itself": itself}
        return self._session(["found"], given)[0]
