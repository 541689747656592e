"""Language models: the list of models, loading, and the engine that scores masked positions.

Nothing here imports torch before a model is loaded, nothing is ever downloaded, and weights come from safetensors
files only.

>>> spec = masked_lm_spec("bundled")              # clipping range and window, no torch
>>> lm = load_masked_lm("bundled")                # weights, shared in this process
>>> scores = engine("bundled").score(requests)    # (n, |V|) raw logits at the masks
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text.language import Language
from ..text.languages import ENGLISH
from .generators import GeneratorSpec, generator_spec, list_generators
from .registry import CLIPS, ClipRange, MaskedLMSpec, ModelInfo, list_models, masked_lm_spec
from .windows import MaskRequest

if TYPE_CHECKING:
    from ..mechanisms.option_meta import OptionMeta
    from .clip import ClipEstimate
    from .masked_lm import MaskedLM
    from .worker import Engine

__all__ = [
    "CLIPS",
    "ClipRange",
    "GeneratorSpec",
    "MaskRequest",
    "MaskedLMSpec",
    "ModelInfo",
    "engine",
    "estimate_clip_range",
    "estimate_generator_clip",
    "generator_spec",
    "list_generators",
    "list_models",
    "load_masked_lm",
    "masked_lm_spec",
    "offered_models",
]


def offered_models(option: OptionMeta, default: str) -> list[str] | None:
    """Return the models of this machine for an option, the default first; None if it takes no model."""
    if option.masked_models:
        models = list_models()
    elif option.generators:
        models = list_generators(*option.generators)
    else:
        return None
    return list(dict.fromkeys([default, *(m.id for m in models)]))


def load_masked_lm(name: str = "bundled", device: str | None = None, language: Language = ENGLISH) -> MaskedLM:
    """Return the masked LM `name` ("bundled", a local folder, a hub id in the local cache) on `device`.

    Each model is loaded once per process, which keeps the weights and never a text. `device` is "cpu", "cuda" (or
    "cuda:1"), "mps", or None for a GPU if there is one. `language` decides which vocabulary items are whole words, the
    candidates for a mask. Raises ModelUnavailable (not on this machine) or ConfigError (cannot be used).
    """
    from .masked_lm import load

    return load(name, device, language)


def engine(name: str = "bundled", device: str | None = None, language: Language = ENGLISH) -> Engine:
    """Return the engine that scores masked positions with model `name` on `device`.

    The arguments are those of `load_masked_lm`. All callers in this process share one engine. Returns at once and loads
    nothing; see `Engine.warm` and `Engine.score`.
    """
    from .engines import shared_engine

    return shared_engine(name, device, language)


def estimate_generator_clip(texts, mechanism, **options) -> ClipEstimate:
    """Return the clipping ranges of a generator, with the prompt of a ``mechanism`` that uses it: see ``clip``."""
    from .clip import estimate_generator_clip as estimate

    return estimate(texts, mechanism, **options)


def estimate_clip_range(texts, name: str = "bundled", **options) -> ClipEstimate:
    """Return the paper's clipping range and the tuned one from public `texts`: see `clip.estimate_clip_range`."""
    from .clip import estimate_clip_range as estimate

    return estimate(texts, name, **options)
