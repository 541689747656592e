"""Where the files that come with the program lie."""

from __future__ import annotations

from pathlib import Path

from .errors import ModelUnavailable


def assets_folder() -> Path:
    """The folder ``assets``: inside the package where it was installed, beside it in a checkout.

    Raises ModelUnavailable if neither is there.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "assets", package.parent / "assets"):
        # Among installed packages a neighbour named assets may be somebody else's.
        if (folder / "MANIFEST.json").is_file():
            return folder
    raise ModelUnavailable(
        "The folder 'assets' with its MANIFEST.json is missing. Install dptext-studio again, or in a checkout take the "
        "folder from the repository again."
    )
