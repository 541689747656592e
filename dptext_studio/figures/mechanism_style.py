"""The colour, dash and symbol of each mechanism, the same in every figure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.registry import mechanism_class, mechanisms

from .theme import DARK, DASHES, LIGHT, SYMBOLS, Style, line_style

#: The step in dashes and symbols between settings, so that none of the first seven mechanisms looks like another's.
_STEPS = (3, 4)
System = TypeVar("System", bound=Hashable)


def mechanism_style(name: str, dark: bool, variant: int = 0) -> Style:
    """Return the style of a mechanism. Built-in mechanisms have different colours; other packages repeat them.

    variant: the number of a setting of the mechanism. Settings share its colour and differ in dash and symbol.
    """
    names = [spec.name for spec in mechanisms()]
    baselines = [n for n in names if not mechanism_class(n).uses_epsilon]
    order = list(dict.fromkeys([*recommended.ORDER, *baselines, *names]))
    place = order.index(name) if name in order else len(order)
    colour, _, _ = line_style(place, dark)
    dash, symbol = place + _STEPS[0] * variant, place + _STEPS[1] * variant
    return colour, DASHES[dash % len(DASHES)], SYMBOLS[symbol % len(SYMBOLS)]


def system_styles(systems: Mapping[System, str], dark: bool) -> dict[System, Style]:
    """Return the style of each system, from its mechanism.

    Several systems of one mechanism share its colour. Unprotected text, without a mechanism, is grey.
    """
    counts: dict[str, int] = {}
    styles = {}
    for system, mechanism in systems.items():
        if not mechanism:
            styles[system] = ((DARK if dark else LIGHT)["soft"], "dot", "circle")
            continue
        styles[system] = mechanism_style(mechanism, dark, counts.get(mechanism, 0))
        counts[mechanism] = counts.get(mechanism, 0) + 1
    return styles
