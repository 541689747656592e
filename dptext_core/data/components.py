"""What one brings along: data sets and downstream classifiers, beside the mechanisms of ``mechanisms.registry``.

A loader takes the name of a split ("" where none was named) and gives its rows, mappings of column to value, anew at
each call. A classifier takes training texts, their labels, texts to test and a seed, and gives a label for each of
those. ``plugins`` brings them in from files and from installed packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import ConfigError
from ..support import plugins

Loader = Callable[[str], Iterable[Mapping[str, Any]]]
Classifier = Callable[[Sequence[str], Sequence[str], Sequence[str], int], Sequence[str]]
F = TypeVar("F", bound=Callable[..., Any])

#: The classifiers of ``downstream`` itself.
BUILT_IN = ("embeddings", "finetune")
_data_sets: dict[str, Loader] = {}
_classifiers: dict[str, Classifier] = {}


def register_data_set(name: str) -> Callable[[F], F]:
    """Return a decorator that registers a function as the loader of the data set of this name.

    Parameters
    ----------
    name : str
        What ``--data`` and ``tables.source`` call it.

    Returns
    -------
    callable
        Takes the function, and gives it back.

    Raises
    ------
    ConfigError
        The name is taken.
    """
    return _adder(_data_sets, name, "data set", ())


def register_classifier(name: str) -> Callable[[F], F]:
    """Return a decorator that registers a function as the downstream classifier of this name.

    Parameters
    ----------
    name : str
        What ``--classifier`` calls it.

    Returns
    -------
    callable
        Takes the function, and gives it back.

    Raises
    ------
    ConfigError
        The name is taken.
    """
    return _adder(_classifiers, name, "classifier", BUILT_IN)


def _adder(store: dict[str, Any], name: str, what: str, taken: Sequence[str]) -> Callable[[F], F]:
    def add(made: F) -> F:
        if not callable(made) or isinstance(made, type):
            raise ConfigError(f"A {what} is a function. Register one, and not {type(made).__name__}.")
        if not isinstance(name, str) or not name.strip():
            raise ConfigError(f"The name of a {what} is a text that is not empty.")
        if name in store or name in taken:
            raise ConfigError(f"There is a {what} named {name!r} already. Choose another name.")
        store[name] = made
        return made

    return add


def data_sets() -> dict[str, Loader]:
    """Name → loader, plugins loaded."""
    plugins.load()
    return dict(_data_sets)


def classifiers() -> dict[str, Classifier]:
    """Name → classifier of one's own, plugins loaded."""
    plugins.load()
    return dict(_classifiers)


def _taker(register: Callable[[str], Callable[[F], F]]) -> Callable[[str, Any], bool]:
    def take(name: str, found: Any) -> bool:
        register(name)(found)
        return True

    return take


plugins.enrol("dptext.datasets", _data_sets, _taker(register_data_set))
plugins.enrol("dptext.classifiers", _classifiers, _taker(register_classifier))
