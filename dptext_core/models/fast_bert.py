"""Logits at one masked position, and only what they need, for models of BERT's and RoBERTa's build.

Three savings over the plain model, all exact up to rounding: the last layer computes keys and values everywhere but
queries, attention output and feed-forward only at the mask; the vocabulary head runs at the mask only; and its rows
are those of the candidates.

A model that is asked by queries computes a text once, and for every query one position that reads the text and itself.
Positions and queries of several texts are rows of the same products. oneDNN gives a row the same bits in products of
any of SIZES, which is tried when a model is loaded; where it does not, all products have one number of rows. What is
read is computed by text, in shapes that its own length fixes. So each text gets the same bits whatever is asked beside
it. On a GPU, and by a model's own code, nothing is known of rows: there each text is asked at all its positions, alone.

A model that is asked by pairs takes several batches layer by layer, each in products of its own shape. Only what is
computed at the masks alone is shared, a fixed number of rows at a time: a product with so few rows takes as long as its
weights take to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from .internals import packed_product, packed_weight, products, rows_alike

#: Rows in which a CPU computes what is computed at the masks alone.
TILE = 8
#: Rows of positions and queries that go through the model together, whosever they are: in bfloat16 reading the weights
#: is what takes long, whatever the rows.
TOGETHER = {torch.bfloat16: 32, torch.float32: 24}
#: The same where a row has the same bits in products of any of these.
SIZES = (128, 96, 64, 48, 40, 32, 24, 16, 8)
#: Queries of one text that read it together: of a short one, and of one that is longer than 64 positions.
ASKED, ASKED_LONG = 8, 32


class Batch(NamedTuple):
    """Sequences of one padded length: ids (B, L), types (B, L) or None, lengths (B), positions of the masks (B); and
    how many rows at the front are asked for, the rest being empty.

    asks: the id of a mask where one text, (1, L), is asked at all of ``positions`` (n) by queries; else None. Then
    lengths lie on the processor.
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


def _everywhere(x: Batch) -> Batch:
    """The text of a batch, asked at all its positions: in a shape and an order that no other query changes."""
    n = int(x.lengths[0])
    return x._replace(positions=torch.arange(n, device=x.ids.device), wanted=n)


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
        self.gelu, self.inputs = gelu, self.weight.shape[1]
        # oneDNN's own GELU takes longer in float32 than PyTorch's after it.
        self.with_gelu = gelu and dtype == torch.bfloat16
        self.packed = device == "cpu" and products(str(dtype).removeprefix("torch."))[0]
        if self.packed:
            self.weight = packed_weight(self.weight)

    def alike(self, sizes: Sequence[int]) -> bool:
        """Whether a row has the same bits in products of any of ``sizes`` rows."""
        return self.packed and rows_alike(self, self.inputs, self.bias.dtype, tuple(sizes))

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
    """Texts that are read in one shape.

    n, size: how many, and of how many positions the shape is. rows: which rows are their positions, repeated where a
    text has fewer, (n·size); hidden: what is beyond their ends, (n·H, 1, size). queries: which rows are their queries,
    in blocks that read together, repeated where a text has fewer, (B·M); of: the text of each block, (B), or None where
    each text has one.
    """

    n: int
    size: int
    rows: torch.Tensor
    hidden: torch.Tensor
    queries: torch.Tensor
    of: torch.Tensor | None


def read_as(length: int) -> int:
    """Positions of the shape in which a text of ``length`` positions is read: a function of its own length only."""
    step = 8 if length <= 64 else 16 if length <= 128 else 32
    return -(-length // step) * step


def pieces(rows: int, sizes: Sequence[int]) -> Iterator[int]:
    """How many rows the products have in which so many ``rows`` are computed: of ``sizes``, descending, the largest
    that are not left empty, but for the last one."""
    while rows > 0:
        size = next((n for n in sizes if n <= rows + sizes[-1] - 1), sizes[-1])
        yield size
        rows -= size


def _by_rows(
    part: Callable[..., torch.Tensor], sizes: Sequence[int], *given: torch.Tensor, into: torch.Tensor | None = None
) -> torch.Tensor:
    """``part`` of rows, on a CPU in products of some of ``sizes`` rows, so that no row's bits depend on how many there
    are. into: what is written to, of the type that is wanted."""
    n = len(given[0])
    if given[0].device.type != "cpu":
        return part(*given) if into is None else into.copy_(part(*given))
    cut = [*pieces(n, sizes)]
    whole = [F.pad(x, (0, 0, 0, sum(cut) - n)) if n < sum(cut) else x for x in given]
    each = (part(*rows) for rows in zip(*(x.split(cut) for x in whole), strict=True))
    if into is None:
        return torch.cat([*each])[:n] if len(cut) > 1 else next(each)[:n]
    for to, found in zip(into.split([*cut[:-1], n - sum(cut[:-1])]), each, strict=True):
        to.copy_(found[: len(to)])
    return into


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
        self.heads, self.width = heads, layer.output.dense.weight.shape[0]
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

    def _split(self, rows: torch.Tensor, texts: int) -> torch.Tensor:
        """Rows (texts · M, n · d) by what they are and by head: (n, texts, H, M, d/H), in float32."""
        parts = rows.view(texts, len(rows) // texts, -1, self.heads, self.width // self.heads).permute(2, 0, 3, 1, 4)
        return parts.to(torch.float32, memory_format=torch.contiguous_format).contiguous()

    def ask(
        self, x: torch.Tensor, groups: Sequence[_Alike], back: torch.Tensor, first: int, sizes: Sequence[int]
    ) -> torch.Tensor:
        """What the rows x (R, d), positions of texts and from ``first`` on queries, become in this layer. Of the last
        layer: what each query reads, and nothing else. back: where each row is among what the groups read."""
        d = self.width
        if self.is_last:
            kv = _by_rows(self.key_value, sizes, x)
            made = torch.cat([_by_rows(self.query, sizes, x[first:]), kv[first:]], 1)
        else:
            kv = made = _by_rows(self.all_three, sizes, x)
        attended, read = [], []
        for group in groups:
            parts = self._split(kv.index_select(0, group.rows), group.n)
            k, v = parts[-2], parts[-1]
            if not self.is_last:
                attended.append(self.attend(parts[0], k, v, group.hidden))
            asked = made.index_select(0, group.queries - (first if self.is_last else 0))
            own_q, own_k, own_v = self._split(asked, group.n if group.of is None else len(group.of))
            hidden = group.hidden
            if group.of is not None:
                hidden = hidden.view(group.n, self.heads, 1, -1)[group.of].view(-1, 1, group.size)
                k, v = k[group.of], v[group.of]
            read.append(self.ask_of(own_q, (own_k, own_v), k, v, hidden))
        found = torch.cat([part.to(x.dtype).view(-1, d) for part in (*attended, *read)])
        if self.is_last:
            return found.index_select(0, back[first:] - sum(len(g.rows) for g in groups))
        return _by_rows(self.finish, sizes, x, found.index_select(0, back))

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

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many rows the products have in which positions and queries of any texts go through together."""
        layer = (self.layers or [self.last])[0]
        every = [self.dense, self.decoder, *vars(layer).values(), *vars(self.last).values()]
        kinds = {(p.inputs, len(p.bias), p.gelu): p for p in every if isinstance(p, _Affine)}
        return SIZES if all(p.alike(SIZES) for p in kinds.values()) else (TOGETHER.get(self.dtype, 24),)

    def __call__(self, batches: Sequence[Batch]) -> torch.Tensor:
        if any(x.asks is not None for x in batches):
            texts = [x for x in batches if x.asks is not None]
            if self.words.device.type == "cpu":
                answered = iter(self.asked(texts).split([x.wanted for x in texts]))
            else:
                answered = iter([self.asked([_everywhere(x)]).index_select(0, x.positions) for x in texts])
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

        Positions and queries are rows of the same products. What is read is computed by text, so that a text has the
        same bits whatever stands beside it.
        """
        device = batches[0].ids.device
        lengths = [int(x.lengths[0]) for x in batches]
        first = sum(lengths)
        groups, back = self._read(np.array(lengths), np.array([x.wanted for x in batches]), device)
        texts = [x.ids[0, :n] for x, n in zip(batches, lengths, strict=True)]
        ids = torch.cat([*texts, *(torch.full_like(x.positions, x.asks or 0) for x in batches)])
        at = torch.cat([*(torch.arange(n, device=device) for n in lengths), *(x.positions for x in batches)])
        types = (torch.arange(len(ids), device=device) >= first).long()
        x = F.embedding(ids, self.words) + self.places[self.first_position + at] + self.types[types]
        x = self.norm_0(x).to(self.dtype)
        for layer in self.layers:
            x = layer.ask(x, groups, back, first, self.sizes)
        return self.head(x[first:], self.last.ask(x, groups, back, first, self.sizes), self.sizes)

    def _read(self, lengths: np.ndarray, asked: np.ndarray, device: Any) -> tuple[list[_Alike], torch.Tensor]:
        """How texts of so many positions and queries are read: those of one shape together; and where each of their
        rows, all positions and then all queries, is among what is read, first that of positions."""
        shapes = np.array([read_as(int(n)) for n in lengths])
        begins, asks = np.cumsum(lengths) - lengths, lengths.sum() + np.cumsum(asked) - asked
        back = np.empty(lengths.sum() + asked.sum(), np.int64)
        at, after, groups = 0, int(shapes.sum()), []
        for size in np.unique(shapes).tolist():
            some = np.flatnonzero(shapes == size)
            together = ASKED if size <= 64 else ASKED_LONG
            blocks = -(-asked[some] // together)
            of = np.repeat(np.arange(len(some)), blocks)
            ends = np.repeat(np.cumsum(blocks) - blocks, blocks)
            place = ((np.arange(len(of)) - ends) * together)[:, None] + np.arange(together)
            there = np.arange(size) < lengths[some, None]
            rows = begins[some, None] + np.minimum(np.arange(size), lengths[some, None] - 1)
            wanted = place < asked[some[of], None]
            queries = asks[some[of], None] + np.minimum(place, asked[some[of], None] - 1)
            back[rows[there]], back[queries[wanted]] = at + np.flatnonzero(there), after + np.flatnonzero(wanted)
            at, after = at + there.size, after + wanted.size
            put = lambda numbers: torch.from_numpy(numbers.reshape(-1)).to(device)  # noqa: E731
            hidden = _hides(put(lengths[some]), size, self.last.heads, torch.float32)
            one_each = len(of) == len(some) and bool((blocks == 1).all())
            groups.append(_Alike(len(some), size, put(rows), hidden, put(queries), None if one_each else put(of)))
        return groups, torch.from_numpy(back).to(device)

    def embedded(self, x: Batch) -> torch.Tensor:
        places = self.places[self.first_position : self.first_position + x.ids.shape[1]]
        typed = self.types[0] if x.types is None else self.types[x.types]
        return self.norm_0(F.embedding(x.ids, self.words) + places + typed).to(self.dtype)

    def head(self, own: torch.Tensor, read: torch.Tensor, sizes: Sequence[int] = (TILE,)) -> torch.Tensor:
        """The rest of the last layer, and the logits, on a CPU in products of some of ``sizes`` rows."""
        end = lambda *rows: self.decoder(self.norm(self.dense(self.last.finish(*rows))))  # noqa: E731
        return _by_rows(end, sizes, own, read, into=torch.empty(len(own), len(self.decoder.bias), device=own.device))


class Encoder:
    """Callable: ids (B, L) and the lengths (B) of the texts in them -> hidden states (B, L, d), in float32."""

    def __init__(self, base: Any, device: str):
        at, heads = base.embeddings, base.config.num_attention_heads
        self.words, self.places, self.types = (
            part.weight.detach().to(device, torch.float32)
            for part in (at.word_embeddings, at.position_embeddings, at.token_type_embeddings)
        )
        self.norm = _Norm(at.LayerNorm, device, torch.float32)
        self.layers = [_Layer(layer, heads, False, device, torch.float32) for layer in base.encoder.layer]

    def __call__(self, ids: torch.Tensor, lengths: torch.Tensor, layers: int | None = None) -> torch.Tensor:
        """layers: how many of them, from the first; None: all."""
        h = self.norm(F.embedding(ids, self.words) + self.places[: ids.shape[1]] + self.types[0])
        hidden = _hides(lengths, ids.shape[1], self.layers[0].heads, torch.float32)
        for layer in self.layers[:layers]:
            h = layer.everywhere(h, hidden)
        return h


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
            n, at = int(x.lengths[0]), _everywhere(x).positions
            given = asked_by_queries(x.ids[:, :n].cpu(), at.cpu(), x.asks)
            given = {name: tensor.to(x.ids.device) for name, tensor in given.items()}
            given["attention_mask"] = given["attention_mask"].to(self.model.dtype)
            self._positions = (n + at)[None]
            logits = self.model(**given).logits[0]
            return (logits if self.cuts else logits[n:])[x.positions][:, self.candidates].float()
        rows = torch.arange(len(x.ids), device=x.ids.device)
        attend = (torch.arange(x.ids.shape[1], device=x.ids.device) < x.lengths[:, None]).long()
        types = {} if x.types is None else {"token_type_ids": x.types}
        self._positions = x.positions[:, None]
        logits = self.model(input_ids=x.ids, attention_mask=attend, **types).logits
        return (logits[:, 0] if self.cuts else logits[rows, x.positions])[:, self.candidates].float()
