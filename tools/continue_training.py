"""Continue training the bundled masked language model, and keep the weights only if they are better.

Training starts from the weights in ``assets/models/masked_lm``, in float32 from 8 bits. Every twentieth line of the
text is held out. Weights before and after, both in 8 bits, are compared there: top-1 accuracy of masked word pieces,
and the mean cosine of DP-MLM's rewrites with their originals at equal N_w. New weights are written only if both
improve.

Nothing needs the package of the sentence encoder. Where it is missing, the cosine is that of the mean vectors of the
words that are no stop words, in the word space ``minilm``. ``tools/check_gpu.py --train MINUTES`` runs this too.

Run:  python tools/continue_training.py --text FILE --minutes 5 --out FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluate_masked_lm import evaluate
from train_masked_lm import Data, MaskedLM, Shares, lines_of, next_batch, optimizer_of, take_step, weights_in

import dptext_core as dpt
from dptext_core.errors import InputError, ModelUnavailable
from dptext_core.models import masked_lm_spec, sentence_encoder
from dptext_core.models.eight_bits import in_eight_bits, transformers_state
from dptext_core.models.registry import GRAPH_FILE, WEIGHTS_FILE
from dptext_core.words.vocabulary import read_pieces

SEED = 7
#: N_w at which the cosines are compared, where both models reach it.
LEVELS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
#: Every so many lines one is held out.
HELD_OUT = 20
LEAST_LINES = 40
#: Bytes of a part of the weights: a report's files may have 16 MiB each.
PART = 15 << 20


@dataclass(frozen=True)
class Size:
    """How much is computed: texts of a batch, windows for the accuracy, texts and values of ε for the cosine."""

    batch: int
    windows: int
    texts: int
    epsilons: int


WHOLE, SMALL = Size(160, 2000, 120, 12), Size(4, 8, 4, 4)


def split(file: Path) -> tuple[list[str], list[str]]:
    """Return the lines of a text to train on and those held out. Raises InputError where they are too few."""
    lines = lines_of(file)
    if len(lines) < LEAST_LINES:
        raise InputError(f"{file.name} has {len(lines)} lines. Training needs at least {LEAST_LINES}.")
    return [x for i, x in enumerate(lines) if i % HELD_OUT], lines[::HELD_OUT]


def bundled_model() -> MaskedLM:
    """Return the bundled weights as a model that can be trained."""
    from transformers import BertModel

    from dptext_core.models.torch_masked import trunk_config

    config = trunk_config()
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config._attn_implementation = "eager"
    return with_weights(MaskedLM(BertModel(config, add_pooling_layer=False)), masked_lm_spec().folder / WEIGHTS_FILE)


def with_weights(model: MaskedLM, file: Path) -> MaskedLM:
    """Return the model with all weights of a file. The update of low rank begins at 0 and can be learnt."""
    state = weights_in(file)
    state["down"] = torch.randn(state["down"].shape, generator=torch.Generator().manual_seed(SEED))
    state["down"] /= state["down"].shape[1] ** 0.5
    missing, unknown = model.load_state_dict(state, strict=False)
    assert not unknown and all("position_ids" in name for name in missing), (missing, unknown)
    return model


def neighbours(device: str, k: int = 10, temperature: float = 0.08) -> tuple[Any, Any, Any]:
    """Return what `train_masked_lm.neighbours` returns, by the bundled word space in place of the encoder."""
    space, place = dpt.word_space("minilm"), {piece: i for i, piece in enumerate(read_pieces())}
    vectors = nn.functional.normalize(torch.from_numpy(np.array(space.vectors, np.float32)), dim=1).to(device)
    ids = np.array([place[word] for word in space.words])
    near, weights = [], []
    for i in range(0, len(ids), 1024):
        similarity = vectors[i : i + 1024] @ vectors.T
        rows = torch.arange(len(similarity), device=device)
        similarity[rows, rows + i] = -1
        value, index = similarity.topk(k)
        near.append(ids[index.cpu().numpy()])
        weights.append(torch.softmax(value / temperature, 1).cpu().numpy())
    return ids, np.concatenate(near), np.concatenate(weights)


def train(model: MaskedLM, data: Data, minutes: float, batch: int, device: str, rate: float = 1.5e-4) -> int:
    """Train for so many minutes, at least one step, and return the number of steps."""
    optimizer, begun, step = optimizer_of(model, rate), time.monotonic(), 0
    while (done := (time.monotonic() - begun) / (60 * minutes)) < 1 or not step:
        _, some = next_batch(data, batch, Shares(), done)
        loss = take_step(model, optimizer, some, device, step, min(1.0, done))
        step += 1
        if step % 100 == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    return step


def write_model(model: MaskedLM, folder: Path) -> None:
    """Write a folder that ``get_mechanism("dp-mlm", model=folder)`` reads: the bundled graph over new 8-bit weights."""
    own = masked_lm_spec().folder
    for name in (GRAPH_FILE, "spec.json"):
        shutil.copy(own / name, folder)
    state = {name: value.detach().float().cpu().numpy() for name, value in model.state_dict().items()}
    stored = in_eight_bits(transformers_state(state, state["bert.embeddings.word_embeddings.weight"]))
    # The graph names each weight by its place in the file, so the places stay.
    data = bytearray((own / WEIGHTS_FILE).read_bytes())
    begins = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begins])
    assert set(header) - {"candidates", "__metadata__"} == set(stored)
    for name, value in stored.items():
        begin, end = header[name]["data_offsets"]
        new = np.ascontiguousarray(value).tobytes()
        assert len(new) == end - begin, name
        data[begins + begin : begins + end] = new
    (folder / WEIGHTS_FILE).write_bytes(data)


def can_be_read(line: str) -> bool:
    """Return whether a line can be cut into words here: some take NLTK, which may not be installed."""
    try:
        return 8 <= len(dpt.Document.parse(line).tokens) <= 48
    except ModuleNotFoundError:
        return False


def by_words(texts: Sequence[str]) -> np.ndarray:
    """Return the mean vectors (n, d) of the words of texts that are no stop words, of length 1."""
    space, stop = dpt.word_space("minilm"), dpt.stop_words()
    found = np.zeros((len(texts), space.vectors.shape[1]))
    for row, text in zip(found, texts, strict=True):
        places = [space.index(w) for w in re.findall(r"[^\W\d_]+", text.lower()) if w not in stop]
        if rows := [p for p in places if p is not None]:
            row[:] = np.asarray(space.vectors)[rows].mean(axis=0)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def encoder() -> tuple[str, Callable[[Sequence[str]], np.ndarray]]:
    """Return what measures the likeness of texts here, in words, and what gives their vectors."""
    try:
        sentence_encoder.embed(["A text."])
    except ModelUnavailable:
        return "mean word vectors (word space minilm)", by_words
    return "all-MiniLM-L6-v2", sentence_encoder.embed


def curve(model: str, texts: Sequence[str], epsilons: Sequence[float], embed: Callable) -> list[tuple[float, float]]:
    """Return N_w and the cosine of DP-MLM's rewrites at each ε."""
    m = dpt.get_mechanism("dp-mlm", model=model)
    prepared, originals, stream = [m.prepare(t) for t in texts], embed(texts), dpt.NoiseStream(SEED)
    found = []
    for epsilon in epsilons:
        at = m.replace(epsilon=epsilon)
        results = [at.rewrite(p, stream=stream.at(i)) for i, p in enumerate(prepared)]
        keep = [r.distribution(k).p_keep() for r in results for k, s in enumerate(r.steps) if s.action == "replace"]
        cosine = (embed([r.text for r in results]) * originals).sum(axis=1).mean()
        found.append((float(np.mean(keep)), float(cosine)))
    return found


def at_equal(before: Sequence[tuple[float, float]], after: Sequence[tuple[float, float]]) -> list[dict[str, float]]:
    """Return the cosines of two curves at each of ``LEVELS`` that both reach."""
    low = max(min(n for n, _ in c) for c in (before, after))
    high = min(max(n for n, _ in c) for c in (before, after))
    levels = [n for n in LEVELS if low <= n <= high]
    cosines = []
    for found in (before, after):
        n_w, cosine = np.array(sorted(found)).T
        cosines.append(np.interp(levels, n_w, cosine))
    return [{"n_w": n, "before": float(a), "after": float(b)} for n, a, b in zip(levels, *cosines, strict=True)]


def is_better(found: dict[str, Any]) -> bool:
    """Return whether both top-1 and the mean cosine at equal N_w improved."""
    levels = found["at_equal_n_w"]
    gain = sum(x["after"] - x["before"] for x in levels)
    return found["after"]["top1"] > found["before"]["top1"] and bool(levels) and gain > 0


def run(text: Path, minutes: float, device: str, small: bool, out: Path) -> dict[str, Any]:
    """Train, compare, write ``weights/`` into ``out`` where both improved, and return the figures."""
    size = SMALL if small else WHOLE
    torch.manual_seed(SEED)
    lines, heldout = split(text)
    from dptext_core.models.torch_masked import trunk_tokenizer

    data = Data(lines, trunk_tokenizer(), neighbours(device), SEED)
    model = bundled_model().to(device)
    found: dict[str, Any] = {"text": text.name, "lines": len(lines), "held_out": len(heldout), "minutes": minutes}
    accuracy = lambda: evaluate(model.eval(), data.tok, heldout, device, size.windows, SEED)  # noqa: E731
    found["before"] = accuracy()
    found["steps"] = train(model.train(), data, minutes, size.batch, device)
    made = out / "weights"
    made.mkdir()
    write_model(model, made)
    with_weights(model, made / WEIGHTS_FILE)  # rounded to 8 bits, as the bundled ones are
    found["after"] = accuracy()
    found["vectors"], embed = encoder()
    texts = [line for line in heldout if can_be_read(line)][: size.texts]
    epsilons = np.geomspace(10.0, 250.0, size.epsilons).tolist()
    curves = {side: curve(name, texts, epsilons, embed) for side, name in (("before", "bundled"), ("after", str(made)))}
    found |= {"texts": len(texts), "epsilons": epsilons, "curves": curves}
    found["at_equal_n_w"] = at_equal(curves["before"], curves["after"])
    found["better"] = is_better(found)
    if not found["better"]:
        shutil.rmtree(made)
    return found | {"size": asdict(size)}


def write_parts(weights: Path, out: Path) -> dict[str, Any]:
    """Write a file of weights in parts and return their names, the command that joins them, and the whole's SHA-256."""
    data = weights.read_bytes()
    names = []
    for i in range(0, len(data), PART):
        names.append(f"{weights.name}.part{i // PART + 1}")
        (out / names[-1]).write_bytes(data[i : i + PART])
    join = f"cat {' '.join(names)} > {weights.name}"
    return {"parts": names, "join": join, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def main(argv: Sequence[str] | None = None) -> int:
    takes = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    takes.add_argument("--text", type=Path, required=True, help="one passage a line, plain or .gz")
    takes.add_argument("--minutes", type=float, required=True)
    takes.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    takes.add_argument("--small", action="store_true", help="a rehearsal: small batches, few texts")
    takes.add_argument("--out", type=Path, required=True, help="where figures, and weights/ if they are better, go")
    args = takes.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    found = run(args.text, args.minutes, args.device, args.small, args.out)
    (args.out / "training.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(json.dumps({name: found[name] for name in ("before", "after", "at_equal_n_w", "better")}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
