"""Recommended defaults: an order of mechanisms, and a set of options.

Pages and lessons follow it, and benchmarks list these mechanisms first. Measurements, the package and the command line
use the papers' defaults.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .base import Mechanism
from .option_meta import SAME_AS_DEFAULT, option_meta
from .registry import DEFAULT_MECHANISM, fields_of, mechanism_class
from .setting import Setting

#: The first preserves the most utility at the same measured privacy (``dptext bench leaderboard``). The others
#: alternate between families, fast ones first.
ORDER = (DEFAULT_MECHANISM, "custext", "santext", "diffractor", "mahalanobis", "dp-sentence")


def recommended_partners(mechanism: str) -> list[str]:
    """Return the recommended mechanisms for a comparison, in order."""
    return [name for name in ORDER if name != mechanism]


def recommended_value(field: dataclasses.Field) -> Any:
    """Return the recommended value of an option: its default, unless it states another value."""
    value = option_meta(field).recommended
    return field.default if value is SAME_AS_DEFAULT else value


def recommended_fields(mechanism: str) -> dict[str, dataclasses.Field]:
    """Return the options whose recommended value differs from the default."""
    return {name: f for name, f in fields_of(mechanism).items() if recommended_value(f) != f.default}


def with_recommended(setting: Setting) -> Setting:
    """Return the setting with recommended values for unnamed options."""
    first = {
        name: recommended_value(f)
        for name, f in recommended_fields(setting.mechanism).items()
        if name not in setting.options
    }
    return dataclasses.replace(setting, options=dict(setting.options) | first)


def recommended(mechanism: str = ORDER[0], /, **options: Any) -> Mechanism:
    """Return the mechanism with recommended options, except for the given ones."""
    return with_recommended(Setting.of(mechanism, **options)).make()


def without_recommended(setting: Setting) -> Setting:
    """Return the setting without options at their recommended value."""
    first = recommended_fields(setting.mechanism)
    others = {k: v for k, v in setting.options.items() if k not in first or v != recommended_value(first[k])}
    return dataclasses.replace(setting, options=others)


def spelled_out(setting: Setting) -> Setting:
    """Return the setting with every option named whose default and recommended value differ.

    So a setting copied from a page means the same where defaults apply. ε is omitted if the mechanism does not use it.
    """
    named = {name: f.default for name, f in recommended_fields(setting.mechanism).items()}
    epsilon = setting.epsilon if mechanism_class(setting.mechanism).uses_epsilon else None
    return dataclasses.replace(setting, options=named | dict(setting.options), epsilon=epsilon)


def label(setting: Setting) -> str:
    """Return the mechanism's title with the differences from the recommended options, in words.

    The spelling of released words is mentioned only if a setting names it: measurements use the default.
    """
    other = {
        name: f.default
        for name, f in recommended_fields(setting.mechanism).items()
        if name not in setting.options and not option_meta(f).writes_only
    }
    changed = without_recommended(setting)
    return dataclasses.replace(changed, options=dict(changed.options) | other).label()
