"""A mechanism with its options at an ε, as one value for tables, links, files and commands. It stores any values. The
mechanism and its options are checked when it is made or written as text, because tables also contain others'
measurements. ::

    Setting("custext", {"k": 5}, 3.0).make()
    get_mechanism("custext", epsilon=3.0, k=5).setting
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..support.checks import mask_path, real, shorten_repr
from . import codec
from .option_meta import PRESETS, option_meta
from .registry import fields_of, mechanism_class, title

#: Placeholder for a list of words in a command that others may read.
WORDS = "YOUR_WORDS"

if TYPE_CHECKING:
    from .base import Mechanism


class Options(Mapping[str, Any]):
    """Options by name, in their original order. Immutable: lists become tuples."""

    __slots__ = ("_values",)

    def __init__(self, given: Mapping[str, Any]):
        self._values = {name: _freeze(value) for name, value in given.items()}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)


@dataclass(frozen=True)
class Setting:
    """A mechanism with its options at an ε, as a value: equal and hashed by its contents.

    Attributes
    ----------
    mechanism : str
    options : mapping
        By name; unnamed options have their defaults.
    epsilon : float, tuple of float or None
        One value, one per token, or None for the mechanism's default.
    """

    mechanism: str
    options: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", Options(self.options))
        object.__setattr__(self, "epsilon", _freeze(self.epsilon))

    @classmethod
    def of(cls, mechanism: str, /, *, preset: str | None = None, **given: Any) -> Setting:
        """Build a setting from the arguments of ``get_mechanism``, with ε among the options.

        Parameters
        ----------
        mechanism : str
        preset : {"paper", "benchmark"}, optional
            The options of the mechanism's paper, or those of the bundled benchmarks.
        **given
            ε and options; these override the preset.

        Returns
        -------
        Setting

        Raises
        ------
        ConfigError
            There is no such preset, or no such mechanism.
        """
        if preset is not None:
            if preset not in PRESETS:
                raise ConfigError(f"Unknown preset {preset!r}. Use one of {', '.join(PRESETS)}.")
            presets = {name: option_meta(f).presets for name, f in fields_of(mechanism).items()}
            given = {name: values[preset] for name, values in presets.items() if preset in values} | given
        epsilon = given.pop("epsilon", None)
        return cls(mechanism, given, epsilon)

    def make(self) -> Mechanism:
        """Return the mechanism. Raises ConfigError for unknown or invalid values, before a model is loaded."""
        return mechanism_class(self.mechanism).create(**self.given())

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``get_mechanism`` besides the name: ε if set, and the options."""
        return ({} if self.epsilon is None else {"epsilon": self.epsilon}) | dict(self.options)

    def full(self) -> dict[str, Any]:
        """Return every option except ε, at its default if not named. Raises ConfigError for an unknown mechanism."""
        options = {name: f.default for name, f in fields_of(self.mechanism).items()} | dict(self.options)
        del options["epsilon"]
        return options

    def at(self, epsilon: float | tuple[float, ...] | None) -> Setting:
        """Return the same at another ε."""
        return dataclasses.replace(self, epsilon=epsilon)

    def ordered(self) -> Setting:
        """Return the same with its options sorted by name, as in tables."""
        return dataclasses.replace(self, options=dict(sorted(self.options.items())))

    def label(self) -> str:
        """Return the mechanism's title with its options in words, without ε. Never raises."""
        description = self.described()
        return f"{title(self.mechanism)} ({description})" if description else title(self.mechanism)

    def described(self) -> str:
        """Return its options alone in words, "" for none. Never raises."""
        return codec.describe(self.options, self.mechanism)

    def key(self) -> str:
        """Return a unique text for the mechanism and its options, without ε."""
        return json.dumps([self.mechanism, _plain(self.options)], sort_keys=True)

    # --- links, and files with options as people type them

    def to_query(self) -> dict[str, str]:
        """Return link parameters: ``mechanism``, ``epsilon`` if set, and the options, as ``codec`` writes them.

        Raises ConfigError.
        """
        return {"mechanism": self.mechanism} | {
            name: codec.write(self._field(name), value) for name, value in self.given().items()
        }

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Setting:
        """Read the output of :meth:`to_query`. Raises ConfigError."""
        if not isinstance(query, Mapping) or "mechanism" not in query:
            raise ConfigError("A setting needs a mechanism. Add mechanism=NAME.")
        bare = cls(query["mechanism"])
        given = {
            name: codec.parse_option(bare._field(name), text) for name, text in query.items() if name != "mechanism"
        }
        return cls.of(bare.mechanism, **given)

    # --- a command line, and Python

    @classmethod
    def from_text(cls, text: str) -> Setting:
        """Read a command's setting: ``NAME``, or ``NAME:OPTION=VALUE:OPTION=VALUE``. Raises ConfigError."""
        name, *given = text.split(":")
        names = [option for option in fields_of(name) if option != "epsilon"]
        options = {}
        for part in given:
            key, equals, value = part.partition("=")
            key = key.strip().replace("-", "_")
            if not equals or key not in names:
                raise ConfigError(
                    f"{shorten_repr(part)} is not an option of {name}. Write NAME:OPTION=VALUE, with one of "
                    f"{', '.join(names)}."
                )
            options[key] = value
        return cls.from_query({**options, "mechanism": name})

    def call(self) -> str:
        """Return the Python call that creates it."""
        arguments = [repr(self.mechanism), *(f"{name}={value!r}" for name, value in self.given().items())]
        return f"dpt.get_mechanism({', '.join(arguments)})"

    def flags(self, places: bool = True) -> list[str]:
        """Return command-line arguments without the mechanism.

        places: for the owner alone; else paths are cut and a list of words becomes a placeholder. Raises ConfigError.
        """
        given: dict[str, Any] = self.given()
        out: list[str] = []
        for name in sorted(given, key=list(fields_of(self.mechanism)).index):
            f = self._field(name)
            if option_meta(f).kind == "flag":
                out.append(codec.flag(f) if given[name] else f"--no-{codec.flag(f).removeprefix('--')}")
            else:
                hidden = option_meta(f).kind == "words" and not places
                text = WORDS if hidden else codec.write(f, given[name] if places else mask_path(f, given[name]))
                # A value that begins like a flag must be attached to its own flag.
                out += [f"{codec.flag(f)}={text}"] if text.startswith("-") else [codec.flag(f), text]
        return out

    # --- JSON

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data: ``mechanism``, ``options`` and ``epsilon``, with lists for tuples."""
        return {"mechanism": self.mechanism, "options": _plain(self.options), "epsilon": _plain(self.epsilon)}

    @classmethod
    def from_dict(cls, data: Any) -> Setting:
        """Read the output of :meth:`to_dict`. Raises ConfigError for anything else; :meth:`make` checks the options."""
        if not isinstance(data, Mapping) or not {"mechanism"} <= set(data) <= {"mechanism", "options", "epsilon"}:
            raise ConfigError("A setting is an object with mechanism, options and epsilon. Correct it.")
        options, epsilon = data.get("options", {}), data.get("epsilon")
        if not isinstance(data["mechanism"], str) or not isinstance(options, Mapping):
            raise ConfigError("The mechanism of a setting must be a name, and its options must be an object.")
        for one in epsilon if isinstance(epsilon, list | tuple) else [epsilon] * (epsilon is not None):
            real("epsilon", one)
        return cls(data["mechanism"], options, epsilon)

    def _field(self, name: str) -> dataclasses.Field:
        fields = fields_of(self.mechanism)
        if name not in fields:
            known = ", ".join(fields)
            raise ConfigError(f"{self.mechanism} has no option {shorten_repr(name)}. Choose one of: {known}.")
        return fields[name]


class SettingFields:
    """A base for objects that have a setting, whose parts are available as attributes."""

    __slots__ = ()
    setting: Setting

    @property
    def mechanism(self) -> str:
        return self.setting.mechanism

    @property
    def options(self) -> Mapping[str, Any]:
        return self.setting.options

    @property
    def epsilon(self) -> Any:
        return self.setting.epsilon


def _freeze(value: Any) -> Any:
    """Return an immutable, hashable form."""
    if isinstance(value, Mapping):
        return Options(value)
    return tuple(map(_freeze, value)) if isinstance(value, list | tuple) else value


def _plain(value: Any) -> Any:
    """Return the JSON form."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return list(map(_plain, value)) if isinstance(value, tuple) else value
