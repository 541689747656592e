"""The available mechanisms: built-in, registered in this process, and from plugins.

It lists them and imports none before use: ``registering`` knows the requirements of a mechanism.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..privacy.sentences import NOTIONS
from ..support import plugins
from ..support.checks import shorten_repr
from .configured import require_epsilon
from .option_meta import option_meta

if TYPE_CHECKING:
    from ..result import RewriteResult
    from .base import Mechanism
    from .configured import MechanismSpec

#: The mechanism if none is named.
DEFAULT_MECHANISM = "dp-mlm"

# One paper per file; imported on first use.
BUILT_IN = {
    "dp-mlm": ("masked.dp_mlm", "DPMLM"),
    "dp-mlm-plus": ("masked.dp_mlm", "DPMLMPlus"),
    "dp-mlm-prior": ("masked.dp_mlm_prior", "DPMLMPrior"),
    "diffractor": ("words.diffractor", "Diffractor"),
    "custext": ("words.custext", "CusText"),
    "santext": ("words.santext", "SanText"),
    "santext-plus": ("words.santext", "SanTextPlus"),
    "tem": ("words.tem", "TEM"),
    "mvc": ("words.mvc", "MVC"),
    "mahalanobis": ("words.mahalanobis", "Mahalanobis"),
    "vickrey": ("words.vickrey", "Vickrey"),
    "gumbel": ("words.gumbel", "TruncatedGumbel"),
    "dp-prompt": ("writing.dp_prompt", "DPPrompt"),
    "dp-paraphrase": ("writing.dp_paraphrase", "DPParaphrase"),
    "dp-bart": ("latent.dp_bart", "DPBART"),
    "dp-sentence": ("sentence.dp_sentence", "DPSentence"),
    "adept": ("latent.adept", "ADePT"),
    "adept-original": ("latent.adept", "ADePTOriginal"),
    "redact": ("detected.redact", "Redact"),
    "surrogates": ("detected.surrogates", "Surrogates"),
}
registered: dict[str, type[Mechanism]] = {}


def mechanism_class(name: str) -> type[Mechanism]:
    """Return the class of a mechanism by its name.

    Parameters
    ----------
    name : str
        Plugins are loaded if it is neither built in nor registered.

    Returns
    -------
    type

    Raises
    ------
    ConfigError
        No mechanism has this name.
    """
    if not isinstance(name, str):
        raise ConfigError(f"The name of a mechanism must be a string, not {type(name).__name__}.")
    if name not in registered and name not in BUILT_IN:
        plugins.load()
    if name in registered:
        return registered[name]
    if name in BUILT_IN:
        module, cls = BUILT_IN[name]
        return getattr(importlib.import_module(f".{module}", __package__), cls)
    raise ConfigError(f"Unknown mechanism {shorten_repr(name)}. Use one of {', '.join([*BUILT_IN, *registered])}.")


def mechanisms() -> list[MechanismSpec]:
    """Return all mechanisms: built-in, then registered, then from plugins."""
    plugins.load()
    return [mechanism_class(name).spec() for name in [*BUILT_IN, *registered]]


def get_mechanism(name: str, **options: Any) -> Mechanism:
    """Return a mechanism with its options.

    Parameters
    ----------
    name : str
        One of ``mechanisms()``, a plugin's included.
    **options
        Fields of its ``config_cls``; ε is one number, or one per token of the text. A mechanism whose samples do not
        depend on the original words (``uses_epsilon`` is False) takes no ε.

    Returns
    -------
    Mechanism
        Immutable. No model is loaded yet.

    Raises
    ------
    ConfigError
        A name or an option is unknown, a value is invalid, or ε is given to a mechanism that uses none.
    """
    made = mechanism_class(name).create(**options)
    # A grid over ε sets it through Setting and replace, where a mechanism without ε is one point.
    if not made.uses_epsilon and made.config.epsilon != made.epsilon_range()[2]:
        require_epsilon(made)
    return made


def mechanism_of(result: RewriteResult) -> Mechanism:
    """Return the mechanism of a result, with its options."""
    return mechanism_class(result.mechanism).of_config(result.config)


def fields_of(mechanism: str) -> dict[str, dataclasses.Field]:
    """Return the options of a mechanism by name, in order, including ε. Raises ConfigError for an unknown one."""
    return {f.name: f for f in dataclasses.fields(mechanism_class(mechanism).config_cls)}


def title(mechanism: str) -> str:
    """Return a mechanism's title; for an unregistered one, its name."""
    try:
        return mechanism_class(mechanism).title
    except ConfigError:
        return mechanism


def accounting_unit(mechanism: str) -> str:
    """Return the notion and unit in which a mechanism counts ε; "" for an unregistered one."""
    try:
        cls = mechanism_class(mechanism)
    except ConfigError:
        return ""
    field = next(f for f in dataclasses.fields(cls.config_cls) if f.name == "epsilon")
    return f"{NOTIONS.get(cls.notion, cls.notion)}, {option_meta(field).unit or 'per word'}"
