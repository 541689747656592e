"""Logits at one masked position, and only what they need, for models of BERT's and RoBERTa's build.

Three savings over the plain model, all exact up to rounding: the last layer computes keys and values everywhere but
queries, attention output and feed-forward only at the mask; the vocabulary head runs at the mask only; and its rows
are those of the candidates.

A model that is asked by queries computes a text once, and for every query one position that reads the text and itself.
Queries go through in tiles of a fixed number, so that each gets the same bits whatever is asked beside it.

Several batches go through the model together, layer by layer, each in products of its own shape. Only what is computed
at the masks alone is shared, a fixed number of rows at a time: a product with so few rows takes as long as its weights
take to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from .internals import packed_product, packed_weight, products

#: Rows in which a CPU computes what is computed at the masks alone.
TILE = 8
#: Queries that go through the model together: in bfloat16 reading the weights is what takes long, whatever the rows.
QUERIES = {torch.bfloat16: 32, torch.float32: 24}


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
        return F.scaled_dot_product_attention(q, k, v, attn_mask=hidden).transpose(1, 2).reshape(b, m, heads * wide)
    whole = {"dtype": torch.float32, "memory_format": torch.contiguous_format}
    q3, k3, v3 = (x.to(**whole).contiguous().view(b * heads, -1, wide) for x in (q, k, v))
    scores = torch.baddbmm(hidden.expand(-1, m, -1), q3, k3.transpose(1, 2), alpha=wide**-0.5)
    found = torch.bmm(torch.softmax(scores, -1), v3).view(b, heads, m, wide).transpose(1, 2)
    return found.to(q.dtype, memory_format=torch.contiguous_format).reshape(b, m, heads * wide)


def _ask(
    q: torch.Tensor, own: tuple[torch.Tensor, torch.Tensor], k: torch.Tensor, v: torch.Tensor, hidden: torch.Tensor
) -> torch.Tensor:
    """What queries (H, M, w) read of a text's keys and values (H, N, w) and of their ``own`` (H, M, w): (M, H·w). All
    of it in float32."""
    heads, m, wide = q.shape
    scores = torch.baddbmm(hidden.expand(-1, m, -1), q, k.transpose(1, 2), alpha=wide**-0.5)
    itself = (q * own[0]).sum(-1, keepdim=True) * wide**-0.5
    shares = torch.softmax(torch.cat([scores, itself], -1), -1)
    found = torch.bmm(shares[..., :-1], v) + shares[..., -1:] * own[1]
    return found.transpose(0, 1).reshape(m, heads * wide)


def _hides(lengths: torch.Tensor, positions: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """What keeps `_attention` from reading beyond the end of each row."""
    beyond = torch.arange(positions, device=lengths.device) >= lengths[:, None]
    on_cpu = lengths.device.type == "cpu"
    hidden = torch.zeros(beyond.shape, device=lengths.device, dtype=torch.float32 if on_cpu else dtype)
    hidden.masked_fill_(beyond, float("-inf"))
    return hidden.repeat_interleave(heads, 0)[:, None] if on_cpu else hidden[:, None, None]


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

    def parts(self, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values (H, M, d/H) of positions (M, d), in float32."""
        m, d = h.shape
        joined = torch.cat([self.query(h), self.key_value(h)], -1) if self.is_last else self.all_three(h)
        q, k, v = joined.view(m, 3, self.heads, d // self.heads).permute(1, 2, 0, 3).float().contiguous()
        return q, k, v

    def ask(
        self, h: torch.Tensor, tiles: Sequence[torch.Tensor], hidden: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """A text h (L, d) and tiles of queries (M, d) -> the text as the next layer reads it (that of the last layer
        nobody reads: it stays), and what each query reads. hidden (1, 1, L): what is beyond the end of the text."""
        hidden = hidden.expand(self.heads, 1, len(h))
        if self.is_last:
            k, v = self.key_value(h).view(len(h), 2, self.heads, -1).permute(1, 2, 0, 3).float().contiguous()
        else:
            q, k, v = self.parts(h)
        read = []
        for tile in tiles:
            asked, key, value = self.parts(tile)
            read.append(self.ask_of(asked, (key, value), k, v, hidden).to(h.dtype))
        if self.is_last:
            return h, read
        attended = self.attend(q[None], k[None], v[None], hidden)[0]
        return self.finish(h, attended.to(h.dtype)), read

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
            return torch.cat([self([x]) if x.asks is None else self.asked(x) for x in batches])
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

    def asked(self, x: Batch) -> torch.Tensor:
        """Logits (n, candidates) at the queries of one text."""
        h = self.embedded(x)[0]
        beyond = torch.arange(len(h), device=h.device) >= x.lengths
        hidden = torch.zeros(1, 1, len(h), device=h.device).masked_fill_(beyond, float("-inf"))
        together = QUERIES.get(self.dtype, 24)
        at = F.pad(x.positions, (0, -x.wanted % together))
        queries = self.words[x.asks] + self.places[self.first_position + at] + self.types[1]
        tiles = list(self.norm_0(queries).to(self.dtype).split(together))
        for layer in self.layers:
            h, read = layer.ask(h, tiles, hidden)
            tiles = [layer.finish(tile, seen) for tile, seen in zip(tiles, read, strict=True)]
        _, read = self.last.ask(h, tiles, hidden)
        return self.head(torch.cat(tiles), torch.cat(read), together)[: x.wanted]

    def embedded(self, x: Batch) -> torch.Tensor:
        places = self.places[self.first_position : self.first_position + x.ids.shape[1]]
        typed = self.types[0] if x.types is None else self.types[x.types]
        return self.norm_0(F.embedding(x.ids, self.words) + places + typed).to(self.dtype)

    def head(self, own: torch.Tensor, read: torch.Tensor, tile: int = TILE) -> torch.Tensor:
        """The rest of the last layer, and the logits, on a CPU in products of ``tile`` rows."""
        n, logits = len(own), []
        tile = tile if own.device.type == "cpu" else n
        for at in range(0, n, tile):
            rows = [F.pad(x[at : at + tile], (0, 0, 0, max(0, at + tile - n))) for x in (own, read)]
            logits.append(self.decoder(self.norm(self.dense(self.last.finish(*rows)))).float())
        return torch.cat(logits)[:n]


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
