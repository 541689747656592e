"""Your own data sets and downstream classifiers, in addition to the mechanisms of ``mechanisms.registry``.

A loader takes the name of a split ("" for none) and returns its rows, mappings of column to value, newly at each call.
A classifier takes training texts, their labels, test texts and a seed, and returns a label for each test text.
``plugins`` loads them from files and from installed packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import ConfigError
from ..support import plugins

Loader = Callable[[str], Iterable[Mapping[str, Any]]]
Classifier = Callable[[Sequence[str], Sequence[str], Sequence[str], int], Sequence[str]]
F = TypeVar("F", bound=Callable[..., Any])

#: The built-in classifiers of ``downstream``.
BUILT_IN = ("embeddings", "finetune")
_data_sets: dict[str, Loader] = {}
_classifiers: dict[str, Classifier] = {}


def register_data_set(name: str) -> Callable[[F], F]:
    """Return a decorator that registers a function as the loader of the data set of this name.

    Parameters
    ----------
    name : str
        Its name for ``--data`` and ``tables.source``.

    Returns
    -------
    callable
        Takes the function, and returns it.

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
        Its name for ``--classifier``.

    Returns
    -------
    callable
        Takes the function, and returns it.

    Raises
    ------
    ConfigError
        The name is taken.
    """
    return _adder(_classifiers, name, "classifier", BUILT_IN)


def _adder(store: dict[str, Any], name: str, what: str, taken: Sequence[str]) -> Callable[[F], F]:
    def add(component: F) -> F:
        if not callable(component) or isinstance(component, type):
            raise ConfigError(f"A {what} must be a function, not {type(component).__name__}.")
        if not isinstance(name, str) or not name.strip():
            raise ConfigError(f"The name of a {what} must be a non-empty text.")
        if name in store or name in taken:
            raise ConfigError(f"A {what} named {name!r} already exists. Choose another name.")
        store[name] = component
        return component

    return add


def data_sets() -> dict[str, Loader]:
    """Return name → loader, with plugins loaded."""
    plugins.load()
    return dict(_data_sets)


def classifiers() -> dict[str, Classifier]:
    """Return name → your own classifiers, with plugins loaded."""
    plugins.load()
    return dict(_classifiers)


def _taker(register: Callable[[str], Callable[[F], F]]) -> Callable[[str, Any], bool]:
    def take(name: str, component: Any) -> bool:
        register(name)(component)
        return True

    return take


plugins.enrol("dptext.datasets", _data_sets, _taker(register_data_set))
plugins.enrol("dptext.classifiers", _classifiers, _taker(register_classifier))
