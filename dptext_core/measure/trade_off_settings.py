"""The settings that a trade-off plot compares, and their values of ε."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..mechanisms.base import Mechanism
from ..mechanisms.option_meta import option_meta
from ..mechanisms.registry import get_mechanism, mechanism_class
from ..mechanisms.setting import Setting
from ..support.checks import check_whole_number, real, to_list

#: Default number of points on each mechanism's own ε axis.
POINTS = 7


def second_option(mechanism: str) -> tuple[str, tuple[Any, ...]] | None:
    """Return the option of a mechanism, besides ε, that trades privacy for utility, and values worth trying.

    Such as K, or the clipping range. None if it has none.
    """
    cls = mechanism_class(mechanism)
    for field in dataclasses.fields(cls.config_cls):
        if values := option_meta(field).trade_off_values:
            return field.name, values
    if cls.clipping is None:
        return None
    names = tuple(cls.clipping.ranges({}))
    return (cls.clipping.name, names) if len(names) > 1 else None


def grid(mechanism: Mechanism, points: int = POINTS) -> tuple[float, ...]:
    """Return ``points`` values of ε over a mechanism's own axis, evenly on a logarithmic one, to three digits."""
    points = check_whole_number("points, the number of ε,", points, least=1)
    low, high, default = type(mechanism).epsilon_range(mechanism.setting.options)
    high = min(high, mechanism.max_epsilon)
    epsilons = [default] if points == 1 else np.geomspace(low, high, points).tolist()
    return tuple(dict.fromkeys(float(f"{e:.3g}") for e in epsilons))


def axes(
    settings: Sequence[Mechanism | Setting | str], epsilons: Sequence[float] | None, points: int
) -> list[list[Mechanism]]:
    """Return each setting as a mechanism at each ε, by default at ``points`` values of its own axis.

    Raises ConfigError for anything that is not a setting, and InputError for a value that is not a list.
    """
    mechanisms = [_mechanism(s) for s in to_list(settings, "settings")]
    if not mechanisms:
        raise ConfigError("There are no settings. Give at least one mechanism.")
    return [_axis(m, epsilons, points) for m in mechanisms]


def _mechanism(setting: Any) -> Mechanism:
    if isinstance(setting, str):
        return get_mechanism(setting)
    if isinstance(setting, Setting):
        return setting.make()
    if not isinstance(setting, Mechanism):
        kind = type(setting).__name__
        raise ConfigError(f"A setting must be a Mechanism, a Setting or a mechanism's name, not {kind}.")
    return setting


def _axis(m: Mechanism, epsilons: Sequence[float] | None, points: int) -> list[Mechanism]:
    """Return the mechanism at each ε, by default those of its own axis."""
    chosen = grid(m, points) if epsilons is None else [real("ε", e) for e in to_list(epsilons, "ε")]
    if not chosen:
        raise ConfigError("epsilons must be a list of numbers with at least one ε.")
    return [m.replace(epsilon=e) for e in chosen]
