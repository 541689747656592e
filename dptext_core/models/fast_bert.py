"""Logits at one masked position, and only what they need, for models of BERT's and RoBERTa's build.

Three savings over the plain model, all exact up to rounding: the last layer computes keys and values everywhere but
queries, attention output and feed-forward only at the mask; the vocabulary head runs at the mask only; and its rows
are those of the candidates.

A model that is asked by queries computes a text once, and for every query one position that reads the text and itself.
Queries and short texts go through in tiles of a fixed number of rows, several texts in one, so that each gets the same
bits whatever is asked beside it.

Several batches go through the model together, layer by layer, each in products of its own shape. Only what is computed
at the masks alone is shared, a fixed number of rows at a time: a product with so few rows takes as long as its weights
take to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from .internals import packed_product, packed_weight, products

#: Rows in which a CPU computes what is computed at the masks alone.
TILE = 8
#: Queries and positions of short texts that go through the model together, whosever they are: in bfloat16 reading the
#: weights is what takes long, whatever the rows.
TOGETHER = {torch.bfloat16: 32, torch.float32: 24}


class Batch(NamedTuple):
    """Sequences of one padded length: ids (B, L), types (B, L) or None, lengths (B), positions of the masks (B); and
    how many rows at the front are asked for, the rest being empty.

    asks: the id of a mask where one text, (1, L), is asked at all of ``positions`` (n) by queries; else None.
    """

    ids: torch.Tensor
    types: torch.Tensor | None
    lengths: torch.Tensor
    positions: torch.Tensor
    wanted: int
    asks: int | None = None


def asked_by_queries(ids: torch.Tensor, positions: torch.Tensor, mask_id: int) -> dict[str, torch.Tensor]:
    """What transformers' own BERT takes for a text (1, L) with a query at each of ``positions`` (n): each is a mask of
    the second type at that position, which reads the text and itself, and which nobody reads."""
    n, asked = ids.shape[1], len(positions)
    hides = torch.full((n + asked, n + asked), float("-inf"))
    hides.fill_diagonal_(0.0)
    hides[:, :n] = 0.0
    row = torch.arange(n + asked)
    return {
        "input_ids": torch.cat([ids, torch.full((1, asked), mask_id)], 1),
        "token_type_ids": (row >= n).long()[None],
        "position_ids": torch.cat([row[:n], positions])[None],
        "attention_mask": hides[None, None],
    }


def fits(model: Any) -> bool:
    """Whether `model` is of a build that `FastBert` computes: checked by exact class and by its configuration."""
    c = model.config
    return (
        type(model).__module__.startswith("transformers.")
        and type(model).__name__
        in ("BertForMaskedLM", "CamembertForMaskedLM", "RobertaForMaskedLM", "XLMRobertaForMaskedLM")
        and getattr(c, "position_embedding_type", "absolute") in ("absolute", None)
        and not getattr(c, "is_decoder", False)
        and c.hidden_act == "gelu"
        and c.hidden_size % c.num_attention_heads == 0
    )


class _Affine:
    """One or more linear layers stacked along the output, with GELU after them if asked.

    On a CPU the weights are laid out once for oneDNN, and GELU is part of the product, by the operators that
    torch.compile uses for it (no public name, see `internals`); otherwise every call would lay them out anew.
    Where there are no such products it is computed the plain way, which is slower and needs nothing.
    """

    def __init__(self, *layers: tuple[torch.Tensor, torch.Tensor], device: str, dtype: torch.dtype, gelu: bool = False):
        self.weight = torch.cat([w.detach() for w, _ in layers]).to(device, dtype).contiguous()
        self.bias = torch.cat([b.detach() for _, b in layers]).to(device, dtype).contiguous()
        self.gelu = gelu
        # oneDNN's own GELU takes longer in float32 than PyTorch's after it.
        self.with_gelu = gelu and dtype == torch.bfloat16
        self.packed = device == "cpu" and products(str(dtype).removeprefix("torch."))[0]
        if self.packed:
            self.weight = packed_weight(self.weight)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self.packed:
            x = packed_product(x, self.weight, self.bias, self.with_gelu)
            return F.gelu(x) if self.gelu and not self.with_gelu else x
        x = F.linear(x, self.weight, self.bias)
        return F.gelu(x) if self.gelu else x


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Attention of queries (B, H, M, ·) over keys and values (B, H, N, ·), as (B, M, all heads together).

    `hidden`, what `_hides` gives, is added to the scores. On a CPU it is computed as products in float32, whatever the
    type of the model: for so short sequences that takes half as long as scaled_dot_product_attention.
    """
    b, heads, m, wide = q.shape
    if q.device.type != "cpu":
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=hidden.view(b, -1, 1, k.shape[2]))
        return found.transpose(1, 2).reshape(b, m, heads * wide)
    whole = {"dtype": torch.float32, "memory_format": torch.contiguous_format}
    q3, k3, v3 = (x.to(**whole).contiguous().view(b * heads, -1, wide) for x in (q, k, v))
    scores = torch.baddbmm(hidden.expand(-1, m, -1), q3, k3.transpose(1, 2), alpha=wide**-0.5)
    found = torch.bmm(torch.softmax(scores, -1), v3).view(b, heads, m, wide).transpose(1, 2)
    return found.to(q.dtype, memory_format=torch.contiguous_format).reshape(b, m, heads * wide)


def _ask(
    q: torch.Tensor, own: tuple[torch.Tensor, torch.Tensor], k: torch.Tensor, v: torch.Tensor, hidden: torch.Tensor
) -> torch.Tensor:
    """What queries (B, H, M, w) read of the keys and values of a text each, (B, H, N, w), and of their ``own``
    (B, H, M, w): (B, M, H·w). hidden (B·H, 1, N). All of it in float32."""
    b, heads, m, wide = q.shape
    q3, k3, v3 = (x.reshape(b * heads, -1, wide) for x in (q, k, v))
    scores = torch.baddbmm(hidden.expand(-1, m, -1), q3, k3.transpose(1, 2), alpha=wide**-0.5)
    itself = (q * own[0]).sum(-1, keepdim=True).view(b * heads, m, 1) * wide**-0.5
    shares = torch.softmax(torch.cat([scores, itself], -1), -1)
    found = torch.bmm(shares[..., :-1], v3).view(b, heads, m, wide)
    found = found + shares[..., -1:].view(b, heads, m, 1) * own[1]
    return found.transpose(1, 2).reshape(b, m, heads * wide)


class _Alike(NamedTuple):
    """Texts of one padded length that are asked together.

    size: that length. texts: which ones, of those that are asked. rows: where their positions stand among the rows that
    go through the model together, or None where each goes by itself. hidden: what is beyond their ends, (B·H, 1, size).
    blocks: their queries, as many to a block as go together: for some of the texts at a time, (from, to), the places
    of the queries (blocks, M) among all of them, and those of a block that are no repetition.
    """

    size: int
    texts: list[int]
    rows: slice | None
    hidden: torch.Tensor
    blocks: list[tuple[slice, torch.Tensor, torch.Tensor]]


def _by_tile(part: Callable[..., torch.Tensor], tile: int, *given: torch.Tensor) -> torch.Tensor:
    """``part`` of rows, in products of ``tile`` rows each on a CPU, so that no row's bits depend on how many there
    are."""
    n = len(given[0])
    if given[0].device.type != "cpu":
        return part(*given)
    whole = [F.pad(x, (0, 0, 0, -n % tile)) if n % tile else x for x in given]
    return torch.cat([part(*rows) for rows in zip(*(x.split(tile) for x in whole), strict=True)])[:n]


def _hides(lengths: torch.Tensor, positions: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """What keeps `_attention` and `_ask` from reading beyond the end of each row, (B·H, 1, positions)."""
    beyond = torch.arange(positions, device=lengths.device) >= lengths[:, None]
    on_cpu = lengths.device.type == "cpu"
    hidden = torch.zeros(beyond.shape, device=lengths.device, dtype=torch.float32 if on_cpu else dtype)
    hidden.masked_fill_(beyond, float("-inf"))
    return hidden.repeat_interleave(heads, 0)[:, None]


def _wb(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return layer.weight, layer.bias


class _Norm:
    """A layer norm."""

    def __init__(self, layer: Any, device: str, dtype: torch.dtype):
        self.weight = layer.weight.detach().to(device, dtype)
        self.bias = layer.bias.detach().to(device, dtype)
        self.eps = layer.eps

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class _Layer:
    """One transformer layer after the norm-last (BERT) plan."""

    def __init__(self, layer: Any, heads: int, last: bool, device: str, dtype: torch.dtype):
        at = layer.attention
        q, k, v = _wb(at.self.query), _wb(at.self.key), _wb(at.self.value)
        self.heads = heads
        self.is_last = last
        self.attend, self.ask_of = _attention, _ask
        if last:
            self.query = _Affine(q, device=device, dtype=dtype)
            self.key_value = _Affine(k, v, device=device, dtype=dtype)
        else:
            self.all_three = _Affine(q, k, v, device=device, dtype=dtype)
        self.out = _Affine(_wb(at.output.dense), device=device, dtype=dtype)
        self.norm_1 = _Norm(at.output.LayerNorm, device, dtype)
        self.up = _Affine(_wb(layer.intermediate.dense), device=device, dtype=dtype, gelu=True)
        self.down = _Affine(_wb(layer.output.dense), device=device, dtype=dtype)
        self.norm_2 = _Norm(layer.output.LayerNorm, device, dtype)

    def finish(self, h: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        h = self.norm_1(h + self.out(attended))
        return self.norm_2(h + self.down(self.up(h)))

    def everywhere(self, h: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """h (B, L, d) -> (B, L, d)."""
        b, n, d = h.shape
        q, k, v = self.all_three(h).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return self.finish(h, self.attend(q, k, v, hidden))

    def _heads(self, rows: torch.Tensor, texts: int) -> torch.Tensor:
        """Rows (texts · M, d) by head: (texts, H, M, d/H), in float32."""
        split = rows.view(texts, -1, self.heads, rows.shape[1] // self.heads)
        return split.transpose(1, 2).to(torch.float32, memory_format=torch.contiguous_format)

    def ask(
        self, x: torch.Tensor, alone: dict[int, torch.Tensor], groups: Sequence[_Alike], first: int, tile: int
    ) -> tuple[torch.Tensor, dict[int, torch.Tensor]]:
        """What the rows x (R, d) that go through the model together, short texts' and from ``first`` on the queries',
        become in this layer, and the texts that go ``alone``. Of the last layer: what each query reads, and nothing."""
        d = x.shape[1]
        if self.is_last:
            q, kv = _by_tile(self.query, tile, x[first:]), _by_tile(self.key_value, tile, x)
        else:
            q, kv = _by_tile(self.all_three, tile, x).split((d, 2 * d), 1)
        queries = q[first if not self.is_last else 0 :], *kv[first:].split(d, 1)
        attended, read = [], []
        finished: dict[int, torch.Tensor] = {}
        for group in groups:
            n = len(group.texts)
            if group.rows is not None:
                k, v = (self._heads(part, n) for part in kv[group.rows].split(d, 1))
            else:
                product = self.key_value if self.is_last else self.all_three
                made = torch.cat([product(alone[t]) for t in group.texts])
                k, v = (self._heads(part, n) for part in made[:, -2 * d :].split(d, 1))
            for texts, places, wanted in group.blocks:
                b = len(places)
                asked, own_k, own_v = (self._heads(part[places.view(-1)], b) for part in queries)
                hidden = group.hidden[texts.start * self.heads : texts.stop * self.heads]
                found = self.ask_of(asked, (own_k, own_v), k[texts], v[texts], hidden).to(x.dtype)
                read.append(found.view(-1, d)[wanted])
            if self.is_last:
                continue
            whole = self._heads(q[group.rows] if group.rows is not None else made[:, :d], n)
            seen = self.attend(whole, k, v, group.hidden).to(x.dtype)
            if group.rows is not None:
                attended.append(seen.view(-1, d))
            else:
                finished |= {t: self.finish(alone[t], one) for t, one in zip(group.texts, seen, strict=True)}
        if self.is_last:
            return torch.cat(read), {}
        return _by_tile(self.finish, tile, x, torch.cat([*attended, *read])), finished

    def read_at(self, h: torch.Tensor, hidden: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """h (B, L, d) -> what stands at position at[b] of each row, and what it reads there: (B, d) each."""
        b, n, d = h.shape
        k, v = self.key_value(h).view(b, n, 2, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        own = h[torch.arange(b, device=h.device), at]
        q = self.query(own).view(b, self.heads, 1, d // self.heads)
        return own, self.attend(q, k, v, hidden)[:, 0]


class FastBert:
    """Callable: batches -> float32 logits (n, candidates) at the masks of all rows asked for."""

    def __init__(self, model: Any, candidate_ids: torch.Tensor, device: str, dtype: torch.dtype):
        base = model.bert if hasattr(model, "bert") else model.roberta
        words = base.embeddings.word_embeddings.weight.detach()
        if hasattr(model, "bert"):
            head = model.cls.predictions
            dense, norm, decoder = head.transform.dense, head.transform.LayerNorm, head.decoder
            self.first_position = 0
        else:
            dense, norm, decoder = model.lm_head.dense, model.lm_head.layer_norm, model.lm_head.decoder
            self.first_position = base.embeddings.padding_idx + 1
        heads = model.config.num_attention_heads
        f32 = torch.float32
        self.dtype = dtype
        self.words = words.to(device, f32)
        self.places = base.embeddings.position_embeddings.weight.detach().to(device, f32)
        self.types = base.embeddings.token_type_embeddings.weight.detach().to(device, f32)
        self.norm_0 = _Norm(base.embeddings.LayerNorm, device, f32)
        *body, last = base.encoder.layer
        self.layers = [_Layer(x, heads, False, device, dtype) for x in body]
        self.last = _Layer(last, heads, True, device, dtype)
        self.dense = _Affine(_wb(dense), device=device, dtype=dtype, gelu=True)
        self.norm = _Norm(norm, device, dtype)
        self.decoder = _Affine((decoder.weight[candidate_ids], decoder.bias[candidate_ids]), device=device, dtype=dtype)

    def __call__(self, batches: Sequence[Batch]) -> torch.Tensor:
        if any(x.asks is not None for x in batches):
            texts = [x for x in batches if x.asks is not None]
            answered = iter(self.asked(texts).split([x.wanted for x in texts]))
            return torch.cat([self([x]) if x.asks is None else next(answered) for x in batches])
        hs = [self.embedded(x) for x in batches]
        hidden = [_hides(x.lengths, x.ids.shape[1], self.last.heads, self.dtype) for x in batches]
        for layer in self.layers:
            hs = [layer.everywhere(h, mask) for h, mask in zip(hs, hidden, strict=True)]
        own, read = [], []
        for h, mask, x in zip(hs, hidden, batches, strict=True):
            a, b = self.last.read_at(h, mask, x.positions)
            own.append(a[: x.wanted])
            read.append(b[: x.wanted])
        return self.head(torch.cat(own), torch.cat(read))

    def asked(self, batches: Sequence[Batch]) -> torch.Tensor:
        """Logits (n, candidates) at the queries of texts, those of one after those of the other.

        Positions of short texts and all queries fill products of one number of rows, and a longer text has products of
        its own length; what is read is computed by text. So a text has the same bits whatever stands beside it.
        """
        tile = TOGETHER.get(self.dtype, 24)
        sizes = [x.ids.shape[1] for x in batches]
        order = sorted(range(len(batches)), key=lambda t: (sizes[t] > tile, sizes[t]))
        groups, first, counted = [], 0, 0
        for size, alike in groupby(order, key=sizes.__getitem__):
            texts = list(alike)
            rows = slice(first, first + size * len(texts)) if size <= tile else None
            first += size * len(texts) if rows else 0
            groups.append(self._alike(size, texts, rows, batches, counted, tile))
            counted += sum(batches[t].wanted for t in texts)
        h = {t: self.embedded(batches[t])[0] for t in order}
        alone = {t: h[t] for t in order if sizes[t] > tile}
        at = torch.cat([batches[t].positions for t in order])
        masks = torch.cat([self.words[[batches[t].asks]].expand(batches[t].wanted, -1) for t in order])
        queries = self.norm_0(masks + self.places[self.first_position + at] + self.types[1]).to(self.dtype)
        x = torch.cat([*(h[t] for t in order if sizes[t] <= tile), queries])
        for layer in self.layers:
            x, alone = layer.ask(x, alone, groups, first, tile)
        read, _ = self.last.ask(x, alone, groups, first, tile)
        logits = self.head(x[first:], read, tile).split([batches[t].wanted for t in order])
        return torch.cat([found for _, found in sorted(zip(order, logits, strict=True), key=lambda one: one[0])])

    def _alike(
        self, size: int, texts: list[int], rows: slice | None, batches: Sequence[Batch], counted: int, tile: int
    ) -> _Alike:
        """Texts of one length, ``counted`` queries after the first; see :class:`_Alike`."""
        device = batches[texts[0]].ids.device
        lengths = torch.cat([batches[t].lengths for t in texts])
        hidden = _hides(lengths, size, self.last.heads, torch.float32)
        each = []
        for t in texts:
            places = torch.arange(batches[t].wanted, device=device)
            padded = F.pad(places, (0, -len(places) % tile))
            each.append((counted + padded.view(-1, tile), padded >= 0))
            each[-1][1][len(places) :] = False
            counted += len(places)
        if all(len(places) == 1 for places, _ in each):
            return _Alike(size, texts, rows, hidden, [(slice(0, len(texts)), *map(torch.cat, zip(*each, strict=True)))])
        blocks = [
            (slice(i, i + 1), block[None], wanted)
            for i, (places, there) in enumerate(each)
            for block, wanted in zip(places, there.split(tile), strict=True)
        ]
        return _Alike(size, texts, rows, hidden, blocks)

    def embedded(self, x: Batch) -> torch.Tensor:
        places = self.places[self.first_position : self.first_position + x.ids.shape[1]]
        typed = self.types[0] if x.types is None else self.types[x.types]
        return self.norm_0(F.embedding(x.ids, self.words) + places + typed).to(self.dtype)

    def head(self, own: torch.Tensor, read: torch.Tensor, tile: int = TILE) -> torch.Tensor:
        """The rest of the last layer, and the logits, on a CPU in products of ``tile`` rows."""
        end = lambda *rows: self.decoder(self.norm(self.dense(self.last.finish(*rows)))).float()  # noqa: E731
        return _by_tile(end, tile, own, read)


class AnyModel:
    """The same for every other AutoModelForMaskedLM: the whole encoder, then the model's own head at the mask only.

    The head is run by the model itself: a hook cuts the encoder's output down to the masked positions. With `cuts`
    False the head runs everywhere, and nothing is assumed of the model's parts.
    """

    def __init__(self, model: Any, candidate_ids: torch.Tensor, device: str, dtype: torch.dtype, cuts: bool = True):
        self.model = model.to(device, dtype).eval()
        self.candidates = candidate_ids.to(device)
        base = self.model.base_model
        self._positions: torch.Tensor | None = None
        self._hook = base.register_forward_hook(self._cut) if cuts and base is not self.model else None

    @property
    def cuts(self) -> bool:
        """Whether the head runs at the masks only."""
        return self._hook is not None

    def run_whole(self) -> None:
        """As `cuts` False, from now on: the model is as it was given."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def _cut(self, module: Any, args: Any, output: Any) -> Any:
        hidden = output[0]
        rows = torch.arange(len(hidden), device=hidden.device)
        kept = hidden[rows[:, None], self._positions]
        if isinstance(output, tuple):
            return (kept, *output[1:])
        output["last_hidden_state"] = kept
        return output

    def __call__(self, batches: Sequence[Batch]) -> torch.Tensor:
        return torch.cat([self._logits(x)[: x.wanted] for x in batches])

    def _logits(self, x: Batch) -> torch.Tensor:
        if x.asks is not None:
            n = int(x.lengths[0])
            given = asked_by_queries(x.ids[:, :n].cpu(), x.positions.cpu(), x.asks)
            given = {name: tensor.to(x.ids.device) for name, tensor in given.items()}
            given["attention_mask"] = given["attention_mask"].to(self.model.dtype)
            self._positions = torch.arange(n, n + x.wanted, device=x.ids.device)[None]
            logits = self.model(**given).logits[0]
            return (logits if self.cuts else logits[n:])[:, self.candidates].float()
        rows = torch.arange(len(x.ids), device=x.ids.device)
        attend = (torch.arange(x.ids.shape[1], device=x.ids.device) < x.lengths[:, None]).long()
        types = {} if x.types is None else {"token_type_ids": x.types}
        self._positions = x.positions[:, None]
        logits = self.model(input_ids=x.ids, attention_mask=attend, **types).logits
        return (logits[:, 0] if self.cuts else logits[rows, x.positions])[:, self.candidates].float()
