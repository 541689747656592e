"""Where the files that come with the program lie, and how those of them that are JSON are read."""

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
    """Return the folder ``assets``: inside the package where it was installed, beside it in a checkout.

    Raises ModelUnavailable if neither is there.
    """
    package = _package(__file__)
    for folder in (package / "assets", package.parent / "assets"):
        # Among installed packages a neighbour named assets may be somebody else's.
        if (folder / "MANIFEST.json").is_file():
            return folder
    raise ModelUnavailable(
        "The folder 'assets' with its MANIFEST.json is missing. Install dptext-studio again, or in a checkout take the "
        "folder from the repository again."
    )


@lru_cache(maxsize=4)
def _package(file: str) -> Path:
    return Path(file).resolve().parent.parent


def folder_of(kind: str, given: str, bundled: Mapping[str, str], make: str) -> Path:
    """Where something of this kind lies: what is bundled by its name (name → its place below the assets), else a folder
    of this machine. make: the command that makes one. Raises ConfigError or ModelUnavailable."""
    if given in bundled:
        folder = assets_folder() / bundled[given]
        if not folder.is_dir():
            raise ModelUnavailable(
                f"assets/{bundled[given]} is missing. Install dptext-studio again, or in a checkout take this folder "
                "from the repository again."
            )
        return folder
    folder = usable_path(given, ConfigError)
    if not folder.is_dir():
        raise ConfigError(
            f"There is no {kind} {shorten_repr(given)}: it is neither {' nor '.join(bundled)}, nor a folder on this "
            f"machine. Make one with: {make}"
        )
    return folder.resolve()


def read_json(path: Path) -> Any:
    """Read a JSON file. Raises InputError that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path.name} cannot be read as JSON: {error}.") from error


def sha256_of(*files: Path) -> str:
    """SHA-256 of a file; of several, that of their names and their own ones. Raises InputError."""
    each = []
    for path in sorted(files):
        try:
            with path.open("rb") as file:
                each.append((path.name, hashlib.file_digest(file, "sha256").hexdigest()))
        except OSError as error:
            raise InputError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    if len(each) == 1:
        return each[0][1]
    return hashlib.sha256("".join(f"{digest} {name}\n" for name, digest in each).encode("utf-8", "replace")).hexdigest()


def bundled(name: str, read: Callable[[Path], T], missing: M) -> T | M:
    """Read the file ``assets/<name>`` with ``read`` and keep the result until the file changes; ``missing`` if there is
    no file.

    read: a function of a module, since results are kept by it. Raises what it raises, and ModelUnavailable where the
    file holds something else than it expects.
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
            f"assets/{path.parent.name}/{path.name} holds something else than it should. Take it from the repository "
            "again."
        ) from error


@dataclass(frozen=True, slots=True)
class Example:
    """A text written for this project, for who has none at hand. problem: what it gives away; sensitive: a word of it
    that does."""

    title: str
    file: str
    description: str
    problem: str
    sensitive: str
    text: str


def examples() -> tuple[Example, ...]:
    """Return the bundled texts in the order in which they are offered; none where they are missing."""
    return bundled("examples/index.json", _read_examples, ())


def _read_examples(path: Path) -> tuple[Example, ...]:
    return tuple(
        Example(**e, text=(path.parent / e["file"]).read_text(encoding="utf-8").strip()) for e in read_json(path)
    )
