"""The masked language models, and their properties before they are loaded."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ConfigError, ModelUnavailable
from ..support import extras
from ..support.assets import assets_folder, sha256_of
from ..support.checks import shorten_repr, usable_path

T = TypeVar("T")

BUNDLED = "bundled"
_READ = (".json", ".onnx", ".safetensors", ".txt", ".model")
#: Files that describe a folder's model: notes and settings.
_SPEC_FILES = ("", "spec.json", "dptext.json", "config.json", "tokenizer_config.json")
#: The bundled model's format, which tools/export_models.py writes: a graph, and the weights that the graph and PyTorch
#: read.
GRAPH_FILE, WEIGHTS_FILE = "masked_lm.onnx", "masked_lm.safetensors"
LONGEST = 512
"""Positions used at most, whatever a model allows: the cost of attention grows with the square."""

# Clipping ranges from papers or their released code.
PUBLISHED = {
    "FacebookAI/roberta-base": (-3.2093127, 16.304797887802124, "released DP-MLM code"),
}
# The hub's old short ids; a cache contains the one that was requested.
ALIASES = {
    "roberta-base": "FacebookAI/roberta-base",
    "roberta-large": "FacebookAI/roberta-large",
    "xlm-roberta-base": "FacebookAI/xlm-roberta-base",
    "bert-base-uncased": "google-bert/bert-base-uncased",
    "bert-base-cased": "google-bert/bert-base-cased",
    "distilbert-base-uncased": "distilbert/distilbert-base-uncased",
    "distilroberta-base": "distilbert/distilroberta-base",
}
# Models that number positions from pad_token_id + 1 and so have fewer than max_position_embeddings.
_OFFSET_POSITIONS = {
    "camembert",
    "data2vec-text",
    "ibert",
    "longformer",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
}
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?", re.ASCII)


#: The named clipping ranges, the default first.
CLIPS = ("tuned", "paper")


@dataclass(frozen=True)
class ClipRange:
    """A public clipping range of a model's logits, and where it comes from."""

    low: float
    high: float
    source: str = ""


@dataclass(frozen=True)
class MaskedLMSpec:
    """The properties of a masked LM before it is loaded.

    `clip_min`, `clip_max`: the public clipping range of its logits by the paper's rule or as published (None: unknown,
    the caller must give one, for example from `estimate_clip_range`); `clip_source` says where it comes from. `tuned`:
    the wider range that was chosen on public text, if there is one. `max_length`: positions of one input, including
    special tokens. `queries`: whether it was trained to score all words of a text in one pass, with one query mask per
    word. `folder`: the folder of its files.
    """

    id: str
    title: str
    license: str
    clip_min: float | None
    clip_max: float | None
    clip_source: str
    max_length: int
    folder: Path
    tuned: ClipRange | None = None
    queries: bool = False

    @property
    def clips(self) -> dict[str, ClipRange]:
        """Return the known ranges by name ("tuned", "paper"), the default first."""
        ranges = {} if self.tuned is None else {"tuned": self.tuned}
        if self.clip_min is not None and self.clip_max is not None:
            ranges["paper"] = ClipRange(self.clip_min, self.clip_max, self.clip_source)
        return ranges

    @property
    def on_trunk(self) -> bool:
        """Return True if it is a graph over the vocabulary of the MiniLM trunk, like the bundled model."""
        return (self.folder / GRAPH_FILE).is_file()


@dataclass(frozen=True)
class ModelInfo:
    """One line of the list of models: `where` is "bundled" or "hub cache", `megabytes` its size on disk."""

    id: str
    title: str
    license: str
    where: str
    megabytes: float
    clip_min: float | None
    clip_max: float | None
    tuned: ClipRange | None = None


def how_to_get(hub_id: str) -> str:
    """Return the sentence that explains how to download a model of the hub to this machine."""
    return f"Get it once with 'hf download {hub_id}'; it then works offline."


def masked_lm_spec(name: str = BUNDLED) -> MaskedLMSpec:
    """Look up masked LM `name` without loading torch: "bundled", a local folder, or a hub id in the local cache.

    A folder may contain ``dptext.json`` with any of title, license, clip_min, clip_max, clip_source, tuned_min,
    tuned_max, tuned_source, max_length, queries. Raises ConfigError if the name or the folder cannot be used,
    ModelUnavailable if it is not on this machine.
    """
    folder = assets_folder() / "models" / "masked_lm"
    missing = (
        f"The bundled masked language model is not in assets/models/masked_lm ({GRAPH_FILE} is missing). Restore that "
        "folder from the repository, or create it with tools/export_models.py."
    )
    return _describe(*look_up(name, folder / GRAPH_FILE, missing))


def look_up(name: str, bundled: Path, missing: str) -> tuple[Path, str, str]:
    """Return folder, id and title of a model: "bundled", a folder, or a hub id in the local cache.

    bundled: the file that identifies the bundled model; missing: what to do if it is not there. Raises ConfigError or
    ModelUnavailable.
    """
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"A model name must be 'bundled', a folder or a hub id, not {shorten_repr(name)}.")
    if name == BUNDLED:
        if not bundled.is_file():
            raise ModelUnavailable(missing)
        return bundled.parent, name, name
    local = usable_path(name, ConfigError)
    if local.is_dir():
        return local.resolve(), str(local.resolve()), local.name
    if not _HUB_ID.fullmatch(name):
        raise ConfigError(f"There is no model {name!r}. Give 'bundled', a folder on this machine, or a hub id like "
                          "'org/name'.")
    folder = _hub_folder(name)
    if folder is None:
        raise ModelUnavailable(f"The model {name!r} is not on this machine. {how_to_get(ALIASES.get(name, name))}")
    return folder, name, name


def weights_sha256(folder: Path) -> str:
    """Return the SHA-256 of the files that determine a model: its weights, tokenizer, settings and clipping ranges."""
    return sha256_of(*(p for p in folder.iterdir() if p.is_file() and p.suffix in _READ and p.name[0] != "."))


def _hub_folder(name: str) -> Path | None:
    """Return the snapshot folder of a hub id in the local cache, under the given id or its other form."""
    extras.require("huggingface_hub")

    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    old = {full: short for short, full in ALIASES.items()}
    for repo in (name, ALIASES.get(name), old.get(name)):
        if repo is None:
            continue
        try:
            cached = try_to_load_from_cache(repo, "config.json")
        except HFValidationError as error:
            raise ConfigError(f"There is no model {name!r}. Give a folder on this machine, or a hub id like "
                              "'org/name'.") from error
        if isinstance(cached, str):
            return Path(cached).parent
    return None


def json_in(path: Path) -> Mapping[str, Any]:
    """Read a JSON file of a model's folder once while the file is unchanged; {} if it is missing."""
    if not path.is_file():
        return {}
    state = path.stat()
    return _parse_file(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _parse_file(path: Path, _changed: int, _size: int) -> Mapping[str, Any]:
    """Parse a file last changed at that time; cached, since every mechanism reads its model's file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read: {error.strerror or error}. Download the model "
                               "again.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON. Correct or remove it.") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path} does not contain a JSON object. Download the model again.")
    return content


def while_unchanged(describe: Callable[[Path, str, str], T]) -> Callable[[Path, str, str], T]:
    """Cache a value computed from a model's folder until a file is added, removed or changed.

    Every sampled word looks up its model.
    """
    known = lru_cache(maxsize=64)(lambda folder, name, title, state: describe(folder, name, title))

    @wraps(describe)
    def described(folder: Path, name: str, title: str) -> T:
        return known(folder, name, title, tuple(_state(os.path.join(folder, file)) for file in _SPEC_FILES))

    return described


def _state(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@while_unchanged
def _describe(folder: Path, name: str, title: str) -> MaskedLMSpec:
    on_trunk = (folder / GRAPH_FILE).is_file()
    notes_file = folder / ("spec.json" if on_trunk else "dptext.json")
    notes = json_in(notes_file)
    config = json_in(folder / "config.json")
    if not on_trunk:
        check_weights(folder, config, GRAPH_FILE)
    paper, tuned = range_in(notes, "clip", notes_file), range_in(notes, "tuned", notes_file)
    if paper is None and (known := PUBLISHED.get(ALIASES.get(name, name))):
        paper = ClipRange(*known)
    queries = notes.get("queries", False)
    if not isinstance(queries, bool):
        raise ConfigError(f"queries in {notes_file} must be true or false.")
    return MaskedLMSpec(
        id=name,
        title=str(notes.get("title") or title),
        license=str(notes.get("license") or ("" if on_trunk else "see the model's page")),
        clip_min=None if paper is None else paper.low,
        clip_max=None if paper is None else paper.high,
        clip_source="" if paper is None else paper.source,
        max_length=_max_length(folder, notes_file, notes, config, on_trunk),
        folder=folder,
        tuned=tuned,
        queries=queries,
    )


def check_weights(folder: Path, config: Mapping[str, Any], file: str) -> None:
    """Raise ConfigError or ModelUnavailable if a folder without the program's ``file`` has no readable model."""
    if not config:
        raise ConfigError(f"{folder} contains no model: it has neither config.json nor {file}. Choose "
                          "another folder.")
    if not list(folder.glob("*.safetensors")):
        raise ModelUnavailable(
            f"{folder} has no weights in safetensors format, the only one that is read (other formats can run code). "
            "Convert them with save_pretrained of a current transformers version, or download a revision that has "
            "model.safetensors."
        )


def range_in(notes: Mapping[str, Any], kind: str, notes_file: Path) -> ClipRange | None:
    """Return the range ``{kind}_min``, ``{kind}_max`` in a model's notes; None if they have none."""
    names = f"{kind}_min", f"{kind}_max"
    low: Any = notes.get(names[0])
    high: Any = notes.get(names[1])
    if low is None and high is None:
        return None
    if low is None or high is None:
        raise ConfigError(f"{notes_file} must give both {names[0]} and {names[1]}, or neither.")
    try:
        low, high = float(low), float(high)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"{names[0]} and {names[1]} in {notes_file} must be numbers.") from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(f"{names[0]} and {names[1]} in {notes_file} must be finite, and {names[0]} below {names[1]}.")
    return ClipRange(low, high, str(notes.get(f"{kind}_source", "")))


def _max_length(folder: Path, notes_file: Path, notes: Mapping, config: Mapping, on_trunk: bool) -> int:
    limits = [LONGEST]
    if isinstance(positions := config.get("max_position_embeddings"), int) and positions > 0:
        if config.get("model_type") in _OFFSET_POSITIONS:
            pad = config.get("pad_token_id") or 0
            if not isinstance(pad, int):
                raise ConfigError(f"pad_token_id in {folder / 'config.json'} is not a whole number. Download the model "
                                  "again.")
            positions -= pad + 1
        limits.append(positions)
    length = json_in(folder / "tokenizer_config.json").get("model_max_length")
    if isinstance(length, int) and length > 0:
        limits.append(length)
    if (stated := notes.get("max_length")) is not None:
        if isinstance(stated, bool) or not isinstance(stated, int) or stated < 16:
            raise ConfigError(f"max_length in {notes_file} must be a whole number, at least 16.")
        limits.append(stated)
    elif on_trunk:
        limits.append(128)
    return min(limits)


def list_models() -> list[ModelInfo]:
    """Return the masked LMs on this machine: the bundled one, and hub models in safetensors format.

    Download others with ``hf download ID``, or save a folder with ``save_pretrained``.
    """
    models = []
    try:
        spec = masked_lm_spec(BUNDLED)
    except ModelUnavailable:
        pass
    else:
        models.append(_info(spec, "bundled"))
    for repo in cached_repos():
        try:
            spec = masked_lm_spec(repo)
        except (ConfigError, ModelUnavailable):
            continue
        architectures = json_in(spec.folder / "config.json").get("architectures") or []
        if any(str(a).endswith(("ForMaskedLM", "ForPreTraining")) for a in architectures):
            models.append(_info(spec, "hub cache"))
    return models


def cached_repos() -> list[str]:
    """Return the ids of the models in the local Hugging Face cache."""
    if not extras.is_installed("huggingface_hub"):
        return []

    from huggingface_hub import constants, scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        # Passed explicitly, because the function remembers the folder that was set when it was imported.
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except (CacheNotFound, OSError, ValueError):
        return []
    return sorted(r.repo_id for r in repos if r.repo_type == "model")


def _info(spec: MaskedLMSpec, where: str) -> ModelInfo:
    size = sum(f.stat().st_size for f in spec.folder.glob("*.safetensors")) / 1e6
    return ModelInfo(spec.id, spec.title, spec.license, where, round(size, 1), spec.clip_min, spec.clip_max, spec.tuned)
