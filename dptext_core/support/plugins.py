"""Your own parts in every process: from installed packages, from DPTEXT_PLUGINS, and from ``--plugin FILE``.

Parts are mechanisms, and for the commands over data sets also data loaders and downstream classifiers. A plugin is
Python that runs with all permissions of the person who started the program. So only that person can name one: by
installing a package with entry points of a registered group, in the environment variable, or on the command line. No
page, link or upload of the app can.

A registry enrols its group here, and loads plugins on the first request beyond the built-in parts: files once per
process, entry points once their group is enrolled. A plugin that fails changes nothing except for its sentence in
:func:`problems`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DPTextError
from . import hosting
from .checks import usable_path

VARIABLE = "DPTEXT_PLUGINS"


@dataclass(frozen=True)
class PluginKind:
    """A kind of part.

    store: name → part, filled by registration. take: registers what an entry point of this name returns, or calls it to
    do so; returns whether it is certainly registered.
    """

    store: dict[str, Any]
    take: Callable[[str, Any], bool]


#: Each group of entry points, with its kind, in the order of enrolment.
_kinds: dict[str, PluginKind] = {}


def enrol(group: str, store: dict[str, Any], take: Callable[[str, Any], bool]) -> None:
    """Enrol a registry, once per module."""
    _kinds[group] = PluginKind(store, take)


class _State:
    """The plugins that this process has loaded.

    The lock is re-entrant: a plugin may use the registry while it loads.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.begun = False
        self.groups: set[str] = set()
        self.files: set[Path] = set()
        self.problems: list[str] = []


_state = _State()


def load() -> None:
    """Load installed plugins and those in DPTEXT_PLUGINS once per process, but none for strangers (``hosting``).

    Raises nothing: see :func:`problems`.
    """
    if hosting.is_public_host():
        return
    with _state.lock:
        if not _state.begun:
            _state.begun = True
            for name in os.environ.get(VARIABLE, "").split(os.pathsep):
                if name.strip():
                    _record_problem(partial(load_file, name, f"remove it from {VARIABLE}"))
        while new := [group for group in _kinds if group not in _state.groups]:
            _state.groups.add(new[0])
            for point in sorted(importlib.metadata.entry_points(group=new[0]), key=lambda p: p.name):
                _record_problem(partial(_load_point, point))


def problems() -> tuple[str, ...]:
    """Return a sentence for each plugin that failed to load, with what to do. Loads plugins first if needed."""
    load()
    return tuple(_state.problems)


def files() -> tuple[str, ...]:
    """Return the files that this process has loaded, for other processes that need the same mechanisms."""
    return tuple(sorted(map(str, _state.files)))


def load_file(name: str | Path, otherwise: str = "omit it") -> None:
    """Run a file that registers parts, unless it is already loaded.

    otherwise: the alternative after a failure, for the message. Raises ConfigError.
    """
    with _state.lock:
        path = usable_path(name, ConfigError).resolve()
        if path in _state.files:
            return
        if not path.is_file():
            raise ConfigError(f"There is no plugin file {str(name)!r}. Correct its path, or {otherwise}.")
        _attempt(f"The plugin {name}", otherwise, lambda: _run(path), path)
        _state.files.add(path)


def _record_problem(work: Callable[[], None]) -> None:
    try:
        work()
    except ConfigError as error:
        _state.problems.append(str(error))


def _attempt(what: str, otherwise: str, work: Callable[[], bool], file: Path | None = None) -> None:
    """Run ``work``, which registers parts or reports that they are registered: completely, or without any effect.

    Raises ConfigError.
    """
    before = registered_names()
    try:
        done = work()
    except (Exception, SystemExit) as error:  # a plugin may raise anything, and must not end the program
        restore(before)
        raise ConfigError(f"{what} was not loaded: {_reason(error, file)} Correct it, or {otherwise}.") from error
    if not done and registered_names() == before:
        raise ConfigError(
            f"{what} was not loaded: it registers no mechanism, data set or classifier. Put @dptext_core.register "
            f"before its class, or {otherwise}."
        )


def registered_names() -> dict[str, dict[str, Any]]:
    """Return the registered names by group, without loading plugins."""
    return {group: dict(kind.store) for group, kind in _kinds.items() if kind.store}


def restore(before: Mapping[str, Mapping[str, Any]]) -> None:
    """Undo registrations since :func:`registered_names` returned ``before``."""
    for group, kind in _kinds.items():
        for name in set(kind.store) - set(before.get(group, ())):
            del kind.store[name]


def _reason(error: BaseException, file: Path | None) -> str:
    """Explain in a sentence what failed in which line."""
    message = " ".join(str(error).split())[:300].rstrip(".")
    if isinstance(error, DPTextError):
        return f"{message}."
    if isinstance(error, SyntaxError) and file is not None and error.filename == str(file):
        return f"line {error.lineno} is not valid Python ({error.msg})."
    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [f for f in frames if file is not None and f.filename == str(file)] or frames[-1:]
    place = f"line {own_frames[-1].lineno} of {Path(own_frames[-1].filename).name}" if own_frames else "it"
    return f"{place} stopped with {type(error).__name__}{f' ({message})' if message else ''}."


def _run(path: Path) -> bool:
    name = f"dptext_plugin_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with contextlib.ExitStack() as undo:
        sys.modules[name] = module  # dataclasses look their module up
        undo.callback(sys.modules.pop, name, None)
        spec.loader.exec_module(module)
        undo.pop_all()
    return False


def _load_point(point: importlib.metadata.EntryPoint) -> None:
    package = point.dist.name if point.dist is not None else point.module

    def work() -> bool:
        return _kinds[point.group].take(point.name, point.load())

    _attempt(f"The plugin {point.name!r} of the package {package}", "uninstall that package", work)
