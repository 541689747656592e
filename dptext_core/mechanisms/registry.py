"""Which mechanisms there are: the built-in ones, those registered here, and those of plugins."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..checks import shown
from ..errors import ConfigError
from ..guarantee import NOTIONS
from .base import Mechanism, MechanismSpec
from .config import check

if TYPE_CHECKING:
    from .word_level import WordMechanism

#: Where none is named.
DEFAULT_MECHANISM = "dp-mlm"

# One paper a file; imported on first use.
_BUILT_IN = {
    "dp-mlm": ("dp_mlm", "DPMLM"),
    "dp-mlm-plus": ("dp_mlm", "DPMLMPlus"),
    "dp-mlm-prior": ("dp_mlm_prior", "DPMLMPrior"),
    "diffractor": ("diffractor", "Diffractor"),
    "custext": ("custext", "CusText"),
    "santext": ("santext", "SanText"),
    "santext-plus": ("santext", "SanTextPlus"),
    "tem": ("tem", "TEM"),
    "mvc": ("mvc", "MVC"),
    "mahalanobis": ("mahalanobis", "Mahalanobis"),
    "vickrey": ("vickrey", "Vickrey"),
    "gumbel": ("gumbel", "TruncatedGumbel"),
    "dp-prompt": ("dp_prompt", "DPPrompt"),
    "dp-paraphrase": ("dp_paraphrase", "DPParaphrase"),
    "dp-bart": ("dp_bart", "DPBART"),
    "adept": ("adept", "ADePT"),
    "adept-original": ("adept", "ADePTOriginal"),
}
_registered: dict[str, type[Mechanism]] = {}


def register(cls: type[Mechanism]) -> type[Mechanism]:
    """Add a mechanism of one's own to this process. ``dptext_core.plugins`` says how every process gets it.

    Usable as a decorator. Raises ConfigError when the name is taken, or something is missing or of the wrong kind.
    """
    if not (isinstance(cls, type) and issubclass(cls, Mechanism)):
        raise ConfigError("Register a class that derives from dptext_core.Mechanism.")
    missing = [a for a in ("name", "title", "family", "notion", "config_cls") if not hasattr(cls, a)]
    missing += sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise ConfigError(f"{cls.__name__} lacks {', '.join(missing)}.")
    _check_class(cls)
    if cls.name in _BUILT_IN or cls.name in _registered:
        raise ConfigError(f"There is a mechanism named {cls.name!r} already. Choose another name.")
    _registered[cls.name] = cls
    return cls


def _check_class(cls: type[Mechanism]) -> None:
    """Every form and every list of mechanisms reads these: one broken class would break them for all mechanisms."""
    for attribute in ("name", "title", "family", "summary"):
        if not isinstance(getattr(cls, attribute), str):
            raise ConfigError(f"{cls.__name__}.{attribute} is a text. Write it as one.")
    if not cls.name.strip():
        raise ConfigError(f"{cls.__name__}.name is empty. Give the mechanism a name.")
    if cls.notion not in NOTIONS:
        raise ConfigError(f"{cls.__name__}.notion is one of {', '.join(NOTIONS)}, not {cls.notion!r}.")
    if not (isinstance(cls.config_cls, type) and dataclasses.is_dataclass(cls.config_cls)):
        raise ConfigError(f"{cls.__name__}.config_cls is a class made with @dataclasses.dataclass(frozen=True).")
    fields = {f.name: f for f in dataclasses.fields(cls.config_cls)}
    for name, field in fields.items():
        if not {"label", "help", "kind", "min", "max", "unit", "choices", "advanced", "live"} <= set(field.metadata):
            raise ConfigError(
                f"The field {name!r} of {cls.config_cls.__name__} says nothing of itself. Make it with "
                "dptext_core.option(…), or dptext_core.epsilon_option(…)."
            )
        # None is whatever the mechanism makes of it, and what is empty is said nowhere.
        if field.default not in (None, "", ()):
            try:
                check(field, field.default)
            except ConfigError as error:
                raise ConfigError(f"The default of {cls.config_cls.__name__} is refused by itself: {error}") from error
    if "epsilon" not in fields or "low" not in fields["epsilon"].metadata:
        raise ConfigError(
            f"{cls.config_cls.__name__} has no field 'epsilon'. Add one with dptext_core.epsilon_option(…)."
        )


def registered() -> dict[str, type[Mechanism]]:
    """The mechanisms that are registered now, without loading plugins: name → class."""
    return dict(_registered)


def restore(before: Mapping[str, type[Mechanism]]) -> None:
    """Take back what was registered since :func:`registered` gave ``before``."""
    for name in set(_registered) - set(before):
        del _registered[name]


def _load_plugins() -> None:
    # At call time: plugins import this module.
    from .. import plugins

    plugins.load()


def unregister(name: str) -> None:
    """Remove a registered mechanism; built-in ones stay."""
    if name not in _registered:
        _load_plugins()
    if name not in _registered:
        raise ConfigError(f"No registered mechanism is named {name!r}.")
    del _registered[name]


def mechanism_class(name: str) -> type[Mechanism]:
    """The class of a mechanism by its name. Plugins are loaded where it is neither built in nor registered."""
    if not isinstance(name, str):
        raise ConfigError(f"The name of a mechanism is a str, not {type(name).__name__}.")
    if name not in _registered and name not in _BUILT_IN:
        _load_plugins()
    if name in _registered:
        return _registered[name]
    if name in _BUILT_IN:
        module, cls = _BUILT_IN[name]
        return getattr(importlib.import_module(f".{module}", __package__), cls)
    raise ConfigError(f"Unknown mechanism {shown(name)}. There are: {', '.join([*_BUILT_IN, *_registered])}.")


def mechanisms() -> list[MechanismSpec]:
    """All mechanisms, the built-in ones first, then those registered and those of plugins."""
    _load_plugins()
    return [mechanism_class(name).spec() for name in [*_BUILT_IN, *_registered]]


def get_mechanism(name: str, **options: Any) -> Mechanism:
    """A mechanism with its options. Raises ConfigError on anything unknown or wrong, before a model is loaded."""
    return mechanism_class(name).create(**options)


def word_mechanism(name: str, **options: Any) -> WordMechanism:
    """A mechanism that draws from a vocabulary, for what is measured of its words. Raises ConfigError for another."""
    from .word_level import WordMechanism

    found = get_mechanism(name, **options)
    if not isinstance(found, WordMechanism):
        raise ConfigError(f"{name!r} has no vocabulary whose words could be measured. Choose a word-level mechanism.")
    return found
