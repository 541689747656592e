"""A package with a mechanism of one's own: it runs, it is tested, and the studio finds it."""

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
        What the mechanism is called: small letters, digits and hyphens, beginning with a letter.
    into : path, optional
        The folder to make, by default one of that name. There must be none of that name yet.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    ConfigError
        The name is none, or is that of a mechanism there is.
    InputError
        The folder is there already, or cannot be written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", str(name)):
        raise ConfigError(
            f"A name is small letters, digits and hyphens, such as my-mechanism; not {shorten_repr(name)}."
        )
    if name in {s.name for s in mechanisms()}:
        raise ConfigError(f"There is a mechanism named {name!r} already. Choose another name.")
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
        raise InputError(f"There is a {folder} already. Name another folder by --out.") from error
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from error
    try:
        for file, template in files.items():
            text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")).substitute(fields)
            (folder / file).write_text(text, encoding="utf-8")
            written.append(folder / file)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)  # half of a package is none
        if not isinstance(error, OSError):
            raise
        raise InputError(f"{file} in {folder} cannot be written: {error.strerror or error}.") from error
    return written
