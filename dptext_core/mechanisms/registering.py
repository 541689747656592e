"""Registration of new mechanisms: the checks on a class, and the plugins that register some."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..errors import ConfigError
from ..privacy.sentences import NOTIONS
from ..support import plugins
from .base import Mechanism
from .config import check
from .option_meta import is_option, option_meta
from .registry import BUILT_IN, registered

#: Entry points of packages with mechanisms.
GROUP = "dptext.mechanisms"


def register(cls: type[Mechanism]) -> type[Mechanism]:
    """Add a mechanism to this process. Also works as a decorator. ``dptext_core.support.plugins`` describes how to add
    one to every process.

    Parameters
    ----------
    cls : type
        A class that derives from ``Mechanism``.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    ConfigError
        The name is already used, or an attribute is missing or has the wrong type.
    """
    if not (isinstance(cls, type) and issubclass(cls, Mechanism)):
        raise ConfigError("This is not a mechanism class. Register one that derives from dptext_core.Mechanism.")
    missing = [a for a in ("name", "title", "family", "notion", "config_cls") if not hasattr(cls, a)]
    missing += sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise ConfigError(f"{cls.__name__} lacks {', '.join(missing)}. Define what is missing.")
    _check_class(cls)
    if cls.name in BUILT_IN or cls.name in registered:
        raise ConfigError(f"A mechanism named {cls.name!r} already exists. Choose another name.")
    registered[cls.name] = cls
    return cls


def _check_class(cls: type[Mechanism]) -> None:
    """Check a class: one broken class would break every form and list of mechanisms."""
    for attribute in ("name", "title", "family", "summary"):
        if not isinstance(getattr(cls, attribute), str):
            raise ConfigError(f"{cls.__name__}.{attribute} must be a string.")
    if not cls.name.strip():
        raise ConfigError(f"{cls.__name__}.name is empty. Give the mechanism a name.")
    if cls.notion not in NOTIONS:
        raise ConfigError(f"{cls.__name__}.notion must be one of {', '.join(NOTIONS)}, not {cls.notion!r}.")
    if not (isinstance(cls.config_cls, type) and dataclasses.is_dataclass(cls.config_cls)):
        raise ConfigError(f"{cls.__name__}.config_cls must be a class made with @dataclasses.dataclass(frozen=True).")
    fields = {f.name: f for f in dataclasses.fields(cls.config_cls)}
    for name, field in fields.items():
        if not is_option(field):
            raise ConfigError(
                f"The field {name!r} of {cls.config_cls.__name__} has no description. Define it with "
                "dptext_core.option(…), or dptext_core.epsilon_option(…)."
            )
        # The mechanism may interpret None, and empty values are not displayed.
        if field.default not in (None, "", ()):
            try:
                check(field, field.default)
            except ConfigError as error:
                raise ConfigError(f"The default of {cls.config_cls.__name__} is invalid: {error}") from error
    if "epsilon" not in fields or option_meta(fields["epsilon"]).slider is None:
        raise ConfigError(
            f"{cls.config_cls.__name__} has no field 'epsilon'. Add one with dptext_core.epsilon_option(…)."
        )


def unregister(name: str) -> None:
    """Remove a registered mechanism.

    Parameters
    ----------
    name : str
        A name that was not registered has no effect; built-in mechanisms cannot be removed.
    """
    if name not in registered:
        plugins.load()
    if name not in registered:
        raise ConfigError(f"There is no registered mechanism named {name!r}. Check the name.")
    del registered[name]


def _take(_name: str, component: Any) -> bool:
    """Register what an entry point returns: a mechanism, or a function that registers one."""
    if isinstance(component, type) and issubclass(component, Mechanism):
        # Its module, which several entry points may name, may have registered it already.
        if component not in registered.values():
            register(component)
        return True
    if not callable(component) or isinstance(component, type):
        raise ConfigError("The entry point names neither a Mechanism nor a function that registers one. "
                          "Correct it.")
    component()
    return False


plugins.enrol(GROUP, registered, _take)
