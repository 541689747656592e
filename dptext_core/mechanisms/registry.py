"""Which mechanisms there are."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ConfigError
from .base import Mechanism, MechanismSpec

# One paper a file; imported on first use.
_BUILT_IN = {
    "dp-mlm": ("dp_mlm", "DPMLM"),
    "dp-mlm-plus": ("dp_mlm", "DPMLMPlus"),
    "diffractor": ("diffractor", "Diffractor"),
    "custext": ("custext", "CusText"),
    "santext": ("santext", "SanText"),
    "santext-plus": ("santext", "SanTextPlus"),
    "tem": ("tem", "TEM"),
    "mvc": ("mvc", "MVC"),
    "mahalanobis": ("mahalanobis", "Mahalanobis"),
    "vickrey": ("vickrey", "Vickrey"),
    "gumbel": ("gumbel", "TruncatedGumbel"),
}
_registered: dict[str, type[Mechanism]] = {}


def register(cls: type[Mechanism]) -> type[Mechanism]:
    """Add a mechanism of one's own: it then appears in pages, command line and conformance checks.

    Usable as a decorator. Raises ConfigError when the name is taken or something is missing.
    """
    if not (isinstance(cls, type) and issubclass(cls, Mechanism)):
        raise ConfigError("Register a class that derives from dptext_core.Mechanism.")
    missing = [a for a in ("name", "title", "family", "notion", "config_cls") if not hasattr(cls, a)]
    if missing:
        raise ConfigError(f"{cls.__name__} lacks {', '.join(missing)}.")
    if cls.name in _BUILT_IN or cls.name in _registered:
        raise ConfigError(f"There is a mechanism named {cls.name!r} already. Choose another name.")
    _registered[cls.name] = cls
    return cls


def unregister(name: str) -> None:
    """Remove a registered mechanism; built-in ones stay."""
    if name not in _registered:
        raise ConfigError(f"No registered mechanism is named {name!r}.")
    del _registered[name]


def mechanism_class(name: str) -> type[Mechanism]:
    """The class of a mechanism by its name."""
    if not isinstance(name, str):
        raise ConfigError(f"The name of a mechanism is a str, not {type(name).__name__}.")
    if name in _registered:
        return _registered[name]
    if name in _BUILT_IN:
        module, cls = _BUILT_IN[name]
        return getattr(importlib.import_module(f".{module}", __package__), cls)
    raise ConfigError(f"Unknown mechanism {name!r}. There are: {', '.join([*_BUILT_IN, *_registered])}.")


def mechanisms() -> list[MechanismSpec]:
    """All mechanisms, the built-in ones first."""
    return [mechanism_class(name).spec() for name in [*_BUILT_IN, *_registered]]


def get_mechanism(name: str, **options: Any) -> Mechanism:
    """A mechanism with its options. Raises ConfigError on anything unknown or wrong, before a model is loaded."""
    return mechanism_class(name).create(**options)
