"""Deliberately broken mechanisms, which show what an audit detects. Each is a sound one with one or two functions
replaced.

None of them is registered, so they appear only if you ask for them by name. Each file of this package holds the faults
of one kind.

from dptext_core.auditing import audit
    from dptext_lab.broken_mechanisms import broken

print(audit(broken("halved-sensitivity")).sentence())
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dptext_core.errors import ConfigError
from dptext_core.mechanisms.base import Mechanism

from .base import Fault
from .guarantees import GUARANTEES
from .hidden import HIDDEN
from .noise import NOISE
from .paths import PATHS
from .stand_ins import STAND_INS
from .stated import STATED
from .text import TEXT
from .unknown import UNKNOWN

__all__ = ["FAULTS", "Fault", "broken", "sound"]

FAULTS: Mapping[str, Fault] = {
    f.name: f for f in (*STATED, *TEXT, *HIDDEN, *GUARANTEES, *UNKNOWN, *PATHS, *NOISE, *STAND_INS)
}


def broken(name: str, **options: Any) -> Mechanism:
    """Return the broken mechanism with the fault ``name``. Raises ConfigError for an unknown name."""
    return _make(name, lambda fault: fault.broken, options)


def sound(name: str, **options: Any) -> Mechanism:
    """Return the same mechanism without the fault."""
    return _make(name, lambda fault: fault.sound, options)


def _make(name: str, which: Callable[[Fault], type[Mechanism]], options: Mapping[str, Any]) -> Mechanism:
    if name not in FAULTS:
        raise ConfigError(f"There is no broken mechanism {name!r}. Choose one of: {', '.join(FAULTS)}.")
    fault = FAULTS[name]
    return which(fault).create(**{**fault.options, **options})
