"""Where the files that come with the program lie."""

from __future__ import annotations

from pathlib import Path

from .errors import ModelUnavailable


def assets_folder() -> Path:
    """The folder ``assets``: beside the package in a checkout, inside the package where it was installed with it.

    Raises ModelUnavailable if neither is there.
    """
    package = Path(__file__).resolve().parent
    for folder in (package.parent / "assets", package / "assets"):
        if folder.is_dir():
            return folder
    raise ModelUnavailable(
        "The folder 'assets' is missing. It belongs beside the folder dptext_core: take it from the repository again."
    )
