"""The location of the bundled files, and reading of those that are JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ConfigError, InputError, ModelUnavailable
from .checks import shorten_repr, usable_path

T = TypeVar("T")
M = TypeVar("M")


def assets_folder() -> Path:
    """Return the folder ``assets``: inside the installed package, or next to it in a checkout.

    Raises ModelUnavailable if neither exists.
    """
    package = _package(__file__)
    for folder in (package / "assets", package.parent / "assets"):
        # Among installed packages, a neighbour named assets may belong to another package.
        if (folder / "MANIFEST.json").is_file():
            return folder
    raise ModelUnavailable(
        "The folder 'assets' with its MANIFEST.json is missing. Install dptext-studio again, or in a checkout restore "
        "the folder from the repository."
    )


@lru_cache(maxsize=4)
def _package(file: str) -> Path:
    return Path(file).resolve().parent.parent


def folder_of(kind: str, given: str, bundled: Mapping[str, str], make: str) -> Path:
    """Return the folder of something of this kind: bundled under a name, or a folder of this machine.

    bundled: maps names to folders in the assets. make: the command that creates one. Raises ConfigError or
    ModelUnavailable.
    """
    if given in bundled:
        folder = assets_folder() / bundled[given]
        if not folder.is_dir():
            raise ModelUnavailable(
                f"assets/{bundled[given]} is missing. Install dptext-studio again, or in a checkout restore this "
                "folder from the repository."
            )
        return folder
    folder = usable_path(given, ConfigError)
    if not folder.is_dir():
        raise ConfigError(
            f"There is no {kind} {shorten_repr(given)}: it is neither {' nor '.join(bundled)}, nor a folder on this "
            f"machine. Create one with: {make}"
        )
    return folder.resolve()


def read_json(path: Path) -> Any:
    """Read a JSON file. Raises InputError that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror or error}. Choose another file.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path.name} is not valid JSON ({error}). Choose another file.") from error


def sha256_of(*files: Path) -> str:
    """Return the SHA-256 of a file; for several, of their names and hashes. Raises InputError."""
    each = []
    for path in sorted(files):
        try:
            with path.open("rb") as file:
                each.append((path.name, hashlib.file_digest(file, "sha256").hexdigest()))
        except OSError as error:
            raise InputError(f"{path.name} cannot be read: {error.strerror or error}. Choose another file.") from error
    if len(each) == 1:
        return each[0][1]
    return hashlib.sha256("".join(f"{digest} {name}\n" for name, digest in each).encode("utf-8", "replace")).hexdigest()


def bundled(name: str, read: Callable[[Path], T], missing: M) -> T | M:
    """Read ``assets/<name>`` with ``read``, cached until the file changes; ``missing`` if there is none.

    read: a module-level function, since results are cached by it. Raises what it raises, and ModelUnavailable if the
    file has unexpected contents.
    """
    path = assets_folder() / name
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return missing
    return _read_cached(path, changed, read)


@lru_cache(maxsize=64)
def _read_cached(path: Path, _changed: int, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelUnavailable(
            f"assets/{path.parent.name}/{path.name} has unexpected contents. Restore it from the repository."
        ) from error


@dataclass(frozen=True, slots=True)
class Example:
    """A text written for this project, for users without one at hand.

    problem: what the text gives away; sensitive: one of its sensitive words.
    """

    title: str
    file: str
    description: str
    problem: str
    sensitive: str
    text: str


def examples() -> tuple[Example, ...]:
    """Return the bundled texts in display order; none if they are missing."""
    return bundled("examples/index.json", _read_examples, ())


def _read_examples(path: Path) -> tuple[Example, ...]:
    return tuple(
        Example(**e, text=(path.parent / e["file"]).read_text(encoding="utf-8").strip()) for e in read_json(path)
    )
