"""Batches that the masked language model is trained on: windows, queries and skeletons of a packed corpus."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.text.lexicons import stop_words

WINDOW = 64


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
    """The corpus as word pieces, in the two shapes that training wants."""

    def __init__(self, corpus: Path, trunk: Path, seed: int, stopwords: str | None = None):
        from transformers import AutoTokenizer

        self.tok = AutoTokenizer.from_pretrained(trunk)
        self.rng = np.random.default_rng(seed)
        with gzip.open(corpus, "rt", encoding="utf-8") as f:
            lines = [line.strip() for line in f if line.strip()]
        lists: list[list[int]] = []
        for i in range(0, len(lines), 20_000):
            lists += self.tok(lines[i : i + 20_000], add_special_tokens=False)["input_ids"]
        flat = np.concatenate([np.array(x, np.int32) for x in lists])
        ends = np.cumsum([len(x) for x in lists])
        starts = np.concatenate([[0], ends[:-1]])
        self.flat, self.starts, self.ends = flat, starts, ends
        self.cls, self.sep, self.mask = self.tok.cls_token_id, self.tok.sep_token_id, self.tok.mask_token_id
        self.word_ids, self.near, self.near_p = neighbours(trunk)
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
