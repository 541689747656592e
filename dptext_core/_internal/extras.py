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
}
#: What the extra "models" brings, by the names under which it is imported.
MODELS = ("torch", "transformers", "sentence_transformers")


def install(extra: str) -> str:
    """The command, for who installed the package and for who has a clone."""
    return f'pip install "dptext-studio[{extra}]" (in a clone: pip install -r {EXTRAS[extra]})'


def without_models(missing: str) -> str:
    """What is said where a part of the extra "models" is not installed."""
    return f"This needs a language model, and {missing} is not installed. Install it with: {install('models')}"


def torch() -> Any:
    """PyTorch. Raises ModelUnavailable where it, or what is computed with it, is not installed."""
    if "torch" not in sys.modules:
        for name in MODELS:
            if importlib.util.find_spec(name) is None:
                raise ModelUnavailable(without_models(name))
    return importlib.import_module("torch")  # which waits where another thread has begun to load it
