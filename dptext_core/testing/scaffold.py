"""A template package for your own mechanism: it runs, it is tested, and the studio lists it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from string import Template

from ..errors import ConfigError, InputError
from ..mechanisms.registry import mechanisms
from ..support.checks import shorten_repr
from ..support.version import __version__

_TEMPLATES = Path(__file__).with_name("template")


def new_mechanism(name: str, into: Path | str | None = None) -> list[Path]:
    """Write a package whose mechanism is randomised response over the most frequent words, as a template.

    Parameters
    ----------
    name : str
        Name of the mechanism: lower-case letters, digits and hyphens, beginning with a letter.
    into : path, optional
        The folder to create, by default one of that name. It must not exist.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    ConfigError
        The name is invalid or belongs to an existing mechanism.
    InputError
        The folder exists already, or cannot be written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", str(name)):
        raise ConfigError(
            "A name must consist of lower-case letters, digits and hyphens, such as my-mechanism, not "
            f"{shorten_repr(name)}."
        )
    if name in {s.name for s in mechanisms()}:
        raise ConfigError(f"A mechanism named {name!r} already exists. Choose another name.")
    parts = name.split("-")
    module, cls = "_".join(["dptext", *parts]), "".join(part.capitalize() for part in parts)
    fields = {"name": name, "module": module, "cls": cls, "title": " ".join(parts).capitalize(), "version": __version__}
    files = {
        "pyproject.toml": "pyproject",
        "README.md": "README",
        f"{module}.py": "module",
        f"test_{module}.py": "test_module",
    }
    folder, written, file = Path(into or name), [], ""
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise InputError(f"{folder} already exists. Choose another folder with --out.") from error
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}. Choose another folder with "
                         "--out.") from error
    try:
        for file, template in files.items():
            text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")).substitute(fields)
            (folder / file).write_text(text, encoding="utf-8")
            written.append(folder / file)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)  # never leave half of a package
        if not isinstance(error, OSError):
            raise
        raise InputError(f"{file} in {folder} cannot be written: {error.strerror or error}. Choose another folder "
                         "with --out.") from error
    return written
