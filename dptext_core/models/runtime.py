"""ONNX Runtime on the processor: loading a graph, and the number of threads that compute it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..support import extras

#: Sessions of a parent process. Their threads do not exist in this process, so they must not be ended.
_INHERITED: list[Any] = []


def threads() -> int:
    """Return the number of compute threads: OMP_NUM_THREADS if set, else one per core that this process may use."""
    named = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if named.isdecimal() and int(named) > 0:
        return int(named)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Session:
    """A graph with its weights, computed by all threads. Any number of callers can use it at once.

    graph: the ONNX file. folder: where the weights file is that the graph names. Raises what ONNX Runtime raises.
    """

    def __init__(self, graph: Path, folder: Path):
        self._graph, self._folder = graph, folder
        self._loading = threading.Lock()
        self._load()

    def _load(self) -> None:
        onnxruntime = extras.onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads(), 1
        # Both keep memory for every input shape.
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        options.log_severity_level = 4
        for name, value in (
            ("session.model_external_initializers_file_folder_path", str(self._folder)),
            # Weights are converted to float32 once; nothing computes with them in 8 bits.
            ("session.disable_quant_qdq", "1"),
            # A waiting thread sleeps, so that the pages of concurrent sessions get the processor.
            ("session.intra_op.allow_spinning", "0"),
        ):
            options.add_session_config_entry(name, value)
        self._session = onnxruntime.InferenceSession(
            self._graph.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        self._outputs = {out.name: out.shape for out in self._session.get_outputs()}
        self._inputs = tuple(given.name for given in self._session.get_inputs())
        self._only = onnxruntime.RunOptions()
        self._only.only_execute_path_to_fetches = True
        self._pid = os.getpid()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the graph's inputs."""
        return self._inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of the graph's outputs."""
        return tuple(self._outputs)

    def shape(self, output: str) -> Sequence[Any]:
        """Return the shape of an output, with names for dimensions that depend on the input."""
        return self._outputs[output]

    def __call__(self, outputs: Sequence[str], given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the outputs of these names. Raises MemoryError if there is not enough memory."""
        if self._pid != os.getpid():
            with self._loading:
                if self._pid != os.getpid():
                    _INHERITED.append(self._session)
                    self._load()
        is_complete = len(outputs) == len(self._outputs)
        try:
            return self._session.run(list(outputs), dict(given), None if is_complete else self._only)
        except Exception as error:  # ONNX Runtime has no specific error for this
            if "llocat" in str(error) or "bad_alloc" in str(error):
                raise MemoryError from None
            raise
