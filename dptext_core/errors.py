"""Every error that DP-Text Studio raises on purpose. Each message says what to do.

::

    DPTextError
    ├── ConfigError        an option is unknown, missing or out of range (also a ValueError)
    ├── InputError         a text or a file cannot be used (also a ValueError)
    ├── NoDistribution     this step, or this mechanism, has no distribution over words
    ├── ModelUnavailable   a model or a data file is not on this machine
    ├── Busy               the engine has too much to do; try again
    └── Cancelled          the caller asked to stop
"""

from __future__ import annotations


class DPTextError(Exception):
    """Base of all errors of this package."""


class ConfigError(DPTextError, ValueError):
    """An option is unknown, missing or out of range."""


class InputError(DPTextError, ValueError):
    """A text or a file cannot be used."""


class NoDistribution(DPTextError):
    """A step, or a mechanism, has no distribution over words."""


class ModelUnavailable(DPTextError):
    """A model or a data file is not on this machine."""


class Busy(DPTextError):
    """The engine has too much to do; try again."""


class Cancelled(DPTextError):
    """The caller asked to stop."""
