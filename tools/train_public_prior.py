"""Train a low-rank update of the bundled masked language model for public proposals.

The model that reads private texts stays as it is, to the last bit: only the scores of skeletons
(``docs/public-prior.md``) are computed with this update added. It is trained on skeletons of public text alone: stop
words and punctuation, one ``[MASK]`` for each other word, whatever its pieces; in most of them some words stand again,
a part of these exchanged, as words that were released before are (:mod:`train_masked_lm`).

Of each matrix of the layers, what is saved is two narrow ones; of the head, the norms and the biases, the new values.

Run:  python tools/train_public_prior.py --corpus train.txt.gz --heldout heldout.txt --out build/public_prior
It continues from ``--out`` where it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from train_masked_lm import Data, MaskedLM, evaluate_skeletons, loss_of

from dptext_core.words.vocabulary import verified_trunk_folder

WEIGHTS = "public_prior.safetensors"
#: Options that are files; the record of the training holds their names alone.
PATHS = ("corpus", "heldout", "init", "out", "stopwords")


class LowRank(nn.Module):
    """A linear layer with a trained update of low rank: ``x (W + (up · down))ᵀ + b``; W stays."""

    def __init__(self, linear: nn.Linear, rank: int):
        super().__init__()
        self.linear = linear
        self.linear.weight.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features))
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + nn.functional.linear(nn.functional.linear(x, self.down), self.up)


def add_low_rank(model: MaskedLM, rank: int) -> None:
    """Give every linear layer of the encoder an update, and let norms, biases and the head be trained."""
    for module in list(model.bert.encoder.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and not isinstance(module, LowRank):
                setattr(module, name, LowRank(child, rank))
    for name, p in model.named_parameters():
        if name in ("up", "down") or "embeddings" in name:
            p.requires_grad_(False)


def trained(model: MaskedLM) -> dict[str, torch.Tensor]:
    return {n.replace(".linear.", "."): p for n, p in model.named_parameters() if p.requires_grad}


def save(path: Path, tensors: dict[str, torch.Tensor], half: bool) -> None:
    part = path.with_suffix(".part")
    save_file({n: (t.half() if half else t).detach().contiguous().cpu() for n, t in tensors.items()}, part)
    part.replace(path)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--corpus", type=Path, required=True)
    ap.add_argument("--heldout", type=Path, required=True)
    ap.add_argument("--init", type=Path, default=Path("assets/models/masked_lm/masked_lm.safetensors"))
    ap.add_argument("--out", type=Path, required=True)
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--batch", type=int, default=80)
    ap.add_argument("--rank", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--stopwords", help="one word a line; the list that this machine has where none is given")
    ap.add_argument("--seed", type=int, default=11)
    ap.add_argument("--eval-every", type=int, default=500)
    a = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(a.seed)
    trunk = verified_trunk_folder()
    data = Data(a.corpus, trunk, a.seed, a.stopwords)
    model = MaskedLM(trunk)
    model.load_state_dict({k: v.float() for k, v in load_file(a.init).items()}, strict=False)
    add_low_rank(model, a.rank)
    model.to(device)
    params = trained(model)
    wide = [p for n, p in params.items() if p.ndim > 1]
    narrow = [p for n, p in params.items() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": wide, "weight_decay": 0.01}, {"params": narrow, "weight_decay": 0.0}], lr=a.lr, betas=(0.9, 0.98)
    )
    a.out.mkdir(parents=True, exist_ok=True)
    checkpoint, step, history, seconds = a.out / "checkpoint.pt", 0, [], 0.0
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        for n, p in params.items():
            p.data.copy_(state["params"][n])
        optimizer.load_state_dict(state["optimizer"])
        step, history, seconds = state["step"], json.loads(state["history"]), state["seconds"]
        data.rng = np.random.default_rng([a.seed, step])
    else:
        history.append({"step": 0, "skeletons": evaluate_skeletons(model, data, a.heldout, device)})
        print(json.dumps(history[0]), flush=True)
    start, losses = time.time() - seconds, []
    while step < a.steps:
        scale = min(1.0, (step + 1) / 100) * max(0.01, 1 - step / a.steps)
        for g in optimizer.param_groups:
            g["lr"] = a.lr * scale
        loss = loss_of(model, data.skeletons(a.batch), device)
        loss.backward()
        nn.utils.clip_grad_norm_(list(params.values()), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        losses.append(loss.item())
        if step % 50 == 0:
            row = {"step": step, "seconds": round(time.time() - start, 1), "loss": round(float(np.mean(losses)), 4)}
            losses.clear()
            if step % a.eval_every == 0 or step == a.steps:
                row["skeletons"] = evaluate_skeletons(model, data, a.heldout, device)
                save(a.out / WEIGHTS, params, half=True)
            history.append(row)
            print(json.dumps(row), flush=True)
            if step % 250 == 0:
                seconds = time.time() - start
                state = {"params": params, "optimizer": optimizer.state_dict(), "step": step}
                state["history"] = json.dumps(history)
                torch.save(state | {"seconds": seconds}, checkpoint.with_suffix(".part"))
                checkpoint.with_suffix(".part").replace(checkpoint)
    args = {k: Path(v).name if k in PATHS and v else v for k, v in vars(a).items()}
    log = {"args": args, "seconds": round(time.time() - start), "rank": a.rank, "history": history}
    (a.out / "training.json").write_text(json.dumps(log, indent=1))


if __name__ == "__main__":
    main()
