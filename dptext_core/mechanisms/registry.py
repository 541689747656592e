"""Which mechanisms there are: the built-in ones, those registered here, and those of plugins."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from .._internal import plugins
from .._internal.checks import shown
from ..errors import ConfigError
from ..privacy.guarantee import NOTIONS
from .base import Mechanism, MechanismSpec
from .config import check

#: Entry points of packages that bring mechanisms.
GROUP = "dptext.mechanisms"
#: Where none is named.
DEFAULT_MECHANISM = "dp-mlm"

# One paper a file; imported on first use.
_BUILT_IN = {
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
    "adept": ("latent.adept", "ADePT"),
    "adept-original": ("latent.adept", "ADePTOriginal"),
}
_registered: dict[str, type[Mechanism]] = {}


def register(cls: type[Mechanism]) -> type[Mechanism]:
    """Add a mechanism of one's own to this process. ``dptext_core._internal.plugins`` says how every process gets it.

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


def unregister(name: str) -> None:
    """Remove a registered mechanism; built-in ones stay."""
    if name not in _registered:
        plugins.load()
    if name not in _registered:
        raise ConfigError(f"No registered mechanism is named {name!r}.")
    del _registered[name]


def mechanism_class(name: str) -> type[Mechanism]:
    """The class of a mechanism by its name. Plugins are loaded where it is neither built in nor registered."""
    if not isinstance(name, str):
        raise ConfigError(f"The name of a mechanism is a str, not {type(name).__name__}.")
    if name not in _registered and name not in _BUILT_IN:
        plugins.load()
    if name in _registered:
        return _registered[name]
    if name in _BUILT_IN:
        module, cls = _BUILT_IN[name]
        return getattr(importlib.import_module(f".{module}", __package__), cls)
    raise ConfigError(f"Unknown mechanism {shown(name)}. There are: {', '.join([*_BUILT_IN, *_registered])}.")


def mechanisms() -> list[MechanismSpec]:
    """All mechanisms, the built-in ones first, then those registered and those of plugins."""
    plugins.load()
    return [mechanism_class(name).spec() for name in [*_BUILT_IN, *_registered]]


def get_mechanism(name: str, **options: Any) -> Mechanism:
    """A mechanism with its options. Raises ConfigError on anything unknown or wrong, before a model is loaded."""
    return mechanism_class(name).create(**options)


def counted(mechanism: str) -> str:
    """In which notion and unit a mechanism counts ε; "" for one that is not registered."""
    try:
        cls = mechanism_class(mechanism)
    except ConfigError:
        return ""
    field = next(f for f in dataclasses.fields(cls.config_cls) if f.name == "epsilon")
    return f"{NOTIONS.get(cls.notion, cls.notion)}, {field.metadata['unit'] or 'per word'}"


def _take(name: str, found: Any) -> bool:
    """What an entry point gives: a mechanism, or a function that registers some."""
    if isinstance(found, type) and issubclass(found, Mechanism):
        # Its module, which several entry points may name, can have registered it already.
        if found not in _registered.values():
            register(found)
        return True
    if not callable(found) or isinstance(found, type):
        raise ConfigError("The entry point names neither a Mechanism nor a function that registers some.")
    found()
    return False


plugins.enrol(GROUP, _registered, _take)
