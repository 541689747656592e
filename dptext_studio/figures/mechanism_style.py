"""The colour, dash and symbol of each mechanism, the same in every figure that calls them by mechanism."""

from __future__ import annotations

from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.registry import mechanisms

from .theme import line_style


def mechanism_style(name: str, dark: bool) -> tuple[str, str, str]:
    """Return the style of a mechanism, of which those that figures show most differ in colour."""
    specs = mechanisms()
    order = [*recommended.ORDER, *(s.name for s in specs if s.notion == "none"), *(s.name for s in specs)]
    order = list(dict.fromkeys(order))
    return line_style(order.index(name) if name in order else len(order), dark)
