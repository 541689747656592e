"""The colour, dash and symbol of each mechanism, the same in every figure that calls them by mechanism."""

from __future__ import annotations

from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.registry import mechanism_class, mechanisms

from .theme import line_style


def mechanism_style(name: str, dark: bool) -> tuple[str, str, str]:
    """Return the style of a mechanism, of which those that figures show most differ in colour."""
    names = [spec.name for spec in mechanisms()]
    baselines = [n for n in names if not mechanism_class(n).uses_epsilon]
    order = list(dict.fromkeys([*recommended.ORDER, *baselines, *names]))
    return line_style(order.index(name) if name in order else len(order), dark)
