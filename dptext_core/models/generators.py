"""The generators, models that write a text token by token, and their properties before they are loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigError, ModelUnavailable
from ..support.assets import assets_folder
from .added import SOURCES, added, how_to_add
from .registry import (
    BUNDLED,
    LONGEST,
    ClipRange,
    ModelInfo,
    cached_repos,
    check_weights,
    json_in,
    look_up,
    range_in,
    while_unchanged,
)

#: Weights that stand on the MiniLM trunk: the format of the bundled generators (tools/train_generator.py).
WEIGHTS_FILE = "generator.safetensors"
#: Folders of the bundled models in ``assets/models``.
PROMPTED, PARAPHRASER = "prompted", "paraphraser"
KINDS = ("encoder-decoder", "decoder")

# Clipping ranges from papers or their released code.
PUBLISHED = {
    "google/flan-t5-base": (-19.22705113016047, 7.48324937989716, "released DP-MLM code, DP-Prompt"),
    "openai-community/gpt2": (
        -96.85249956065758,
        -8.747697966442914,
        "released DP-MLM code, DP-Paraphrase after fine-tuning on SNLI",
    ),
}
# Ranges for models that can be added, chosen on 8 lines of WikiText-2 (test).
ESTIMATED = {
    "gemma-3-270m": {
        "paper": ClipRange(-1.0641, 14.1893, "μ to μ + 4σ of public texts"),
        "tuned": ClipRange(10.376, 21.816, "μ + 3σ to μ + 6σ of public texts"),
    },
}
ALIASES = {"gpt2": "openai-community/gpt2", "flan-t5-base": "google/flan-t5-base"}


@dataclass(frozen=True)
class GeneratorPass:
    """The shape of a generator's pass: scores in the same shape have the same bits.

    prompts: how many were read together; width: their padded length, without the prefix; draws: rows per prompt;
    prefix: how many of their first tokens were read once for all of them. row: the text's index among the prompts ×
    draws rows, since threads that share a product round its rows differently.
    """

    prompts: int
    width: int
    draws: int
    prefix: int = 0
    row: int = 0


@dataclass(frozen=True)
class GeneratorSpec:
    """The properties of a generator before it is loaded.

    kind: "encoder-decoder" (reads with an encoder) or "decoder" (continues the text before). clips: the known public
    clipping ranges of its logits by name ("tuned", "paper"), the default first; empty if none is known. max_length:
    maximum number of tokens of one input and its output. folder: the folder of its files.
    """

    id: str
    title: str
    license: str
    kind: str
    clips: dict[str, ClipRange]
    max_length: int
    folder: Path

    @property
    def on_trunk(self) -> bool:
        """Return True if the weights extend the MiniLM trunk, as the bundled ones do."""
        return (self.folder / WEIGHTS_FILE).is_file()


def generator_spec(name: str = BUNDLED, bundled: str = PROMPTED) -> GeneratorSpec:
    """Look up a generator by name without loading torch.

    The name is "bundled" (the one in ``assets/models/{bundled}``), an added model, a folder, or a hub id in the local
    cache. A folder may contain ``dptext.json`` with any of title, license, clip_min, clip_max, clip_source, tuned_min,
    tuned_max, tuned_source, max_length. Raises ConfigError or ModelUnavailable.
    """
    for model in added() if name != BUNDLED else ():
        if model.id == name:
            return _describe(model.folder, name, model.title)
    if isinstance(name, str) and name in SOURCES:
        raise ModelUnavailable(f"The model {name!r} is not on this machine. {how_to_add(name)}")
    missing = (
        f"The bundled generator is not in assets/models/{bundled} ({WEIGHTS_FILE} is missing). Restore that folder "
        "from the repository, or create it with tools/train_generator.py."
    )
    return _describe(*look_up(name, assets_folder() / "models" / bundled / WEIGHTS_FILE, missing))


@while_unchanged
def _describe(folder: Path, name: str, title: str) -> GeneratorSpec:
    on_trunk = (folder / WEIGHTS_FILE).is_file()
    notes_file = folder / ("spec.json" if on_trunk else "dptext.json")
    notes, config = json_in(notes_file), json_in(folder / "config.json")
    if on_trunk:
        kind = str(notes.get("kind"))
        if kind not in KINDS:
            raise ConfigError(f"{notes_file} must name a kind: {' or '.join(KINDS)}.")
    else:
        check_weights(folder, config, WEIGHTS_FILE)
        kind = "encoder-decoder" if config.get("is_encoder_decoder") else "decoder"
    clips, known_ranges = {}, ESTIMATED.get(name, {})
    if (tuned := range_in(notes, "tuned", notes_file) or known_ranges.get("tuned")) is not None:
        clips["tuned"] = tuned
    paper = range_in(notes, "clip", notes_file) or known_ranges.get("paper")
    if paper is None and (known := PUBLISHED.get(ALIASES.get(name, name))):
        paper = ClipRange(*known)
    if paper is not None:
        clips["paper"] = paper
    return GeneratorSpec(
        id=name,
        title=str(notes.get("title") or title),
        license=str(notes.get("license") or ("" if on_trunk else "see the model's page")),
        kind=kind,
        clips=clips,
        max_length=_max_length(notes_file, notes, config),
        folder=folder,
    )


def _max_length(notes_file: Path, notes: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    limits = [LONGEST]
    for key in ("max_position_embeddings", "n_positions", "n_ctx"):
        if isinstance(positions := config.get(key), int) and positions > 0:
            limits.append(positions)
    if (stated := notes.get("max_length")) is not None:
        if isinstance(stated, bool) or not isinstance(stated, int) or stated < 16:
            raise ConfigError(f"max_length in {notes_file} must be a whole number, at least 16.")
        limits.append(stated)
    return min(limits)


def list_generators(kind: str | None = None, bundled: str = PROMPTED) -> list[ModelInfo]:
    """Return the generators on this machine: the bundled one, the added ones, and those of the local hub cache.

    kind: only "encoder-decoder" or only "decoder"; None: all.
    """
    generators = []
    places = [(BUNDLED, "bundled"), *((m.id, "added") for m in added()), *((r, "hub cache") for r in cached_repos())]
    for name, where in places:
        try:
            spec = generator_spec(name, bundled)
        except (ConfigError, ModelUnavailable):
            continue
        if where == "hub cache":
            architectures = json_in(spec.folder / "config.json").get("architectures") or []
            if not any(
                str(a).endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")) for a in architectures
            ):
                continue
        if kind in (None, spec.kind):
            size = sum(f.stat().st_size for f in spec.folder.glob("*.safetensors")) / 1e6
            paper = spec.clips.get("paper")
            low, high = (None, None) if paper is None else (paper.low, paper.high)
            tuned = spec.clips.get("tuned")
            generators.append(ModelInfo(name, spec.title, spec.license, where, round(size, 1), low, high, tuned))
    return generators
