"""How much of what a processor can multiply the language model's engine uses, and where the rest of the time goes.

The ceiling is the rate of one large matrix product on one core, by torch.mm or by oneDNN, whichever is faster, times
the cores; it is timed in turns with the engine, and of each the best time counts. What counts for the engine are the
operations that its requests need: padding, empty rows, softmax, norms and Python count for nothing.
"""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...models.fast_bert import FastBert
    from ...models.masked_lm import MaskedLM
    from ...models.windows import ModelInput

#: Rows and columns of the product that is the ceiling.
LARGE = 2048

PRODUCTS, PADDING = "products of the layers, GELU", "the same for padding, empty rows"
ATTENTION, NORMS, HEAD = "attention with its softmax", "layer norms", "what only masks need, output"
EMBEDDED, TOKENS, REST = "embeddings", "tokens", "sums, windows, Python"
TIMED = (PRODUCTS, ATTENTION, NORMS, HEAD, EMBEDDED)
PARTS = (PRODUCTS, PADDING, ATTENTION, NORMS, HEAD, EMBEDDED, TOKENS, REST)
#: The products of a layer, beside the large ones.
MODEL = "model"


@dataclass(frozen=True)
class Size:
    """What of a model the number of operations depends on."""

    layers: int
    width: int
    inner: int
    candidates: int

    @classmethod
    def of(cls, lm: MaskedLM) -> Size:
        """That of a model on the fast path."""
        fast = lm._logits
        return cls(len(fast.layers) + 1, len(fast.norm.weight), len(fast.last.up.bias), len(fast.decoder.bias))


def needed(size: Size, length: int) -> int:
    """Operations of the products that one mask in a sequence of ``length`` positions needs; a product of (a, b) and
    (b, c) counts 2abc. The last layer computes keys and values everywhere, the rest of it at the mask only."""
    d, ff = size.width, size.inner
    inner = 2 * length * (4 * d * d + 2 * d * ff) + 4 * length * length * d
    last = 2 * length * 2 * d * d + 4 * length * d + 2 * (2 * d * d + 2 * d * ff)
    return (size.layers - 1) * inner + last + 2 * d * d + 2 * d * size.candidates


def needed_by_queries(size: Size, length: int, queries: int) -> int:
    """The same for so many queries of one text of ``length`` positions. The last layer computes keys and values of the
    text, and all of it at the queries; a query reads the text and itself."""
    d, ff = size.width, size.inner
    both = length + queries
    inner = 2 * both * (4 * d * d + 2 * d * ff) + 4 * d * (length * length + queries * (length + 1))
    last = 2 * length * 2 * d * d + queries * (2 * (4 * d * d + 2 * d * ff) + 4 * d * (length + 1))
    return (size.layers - 1) * inner + last + queries * (2 * d * d + 2 * d * size.candidates)


def passes(lm: MaskedLM, inputs: Sequence[ModelInput]) -> list[tuple[list[ModelInput], tuple[int, int]]]:
    """The passes that the engine makes of the requests of one call."""
    groups: dict[tuple[tuple[int, int], int], list[ModelInput]] = defaultdict(list)
    for x in inputs:
        groups[lm.shape_for(len(x.ids), x.query), id(x.ids) if x.query else 0].append(x)
    return [
        (some[at : at + shape[0]], shape) for (shape, _), some in groups.items() for at in range(0, len(some), shape[0])
    ]


def _positions(lm: MaskedLM, todo: Sequence[tuple[list[ModelInput], tuple[int, int]]]) -> tuple[int, int]:
    """How many positions passes that go through the model together are about, and how many are computed."""
    from ...models.fast_bert import pieces

    wanted = computed = rows = 0
    for inputs, (many, length) in todo:
        if inputs[0].query:
            rows += len(inputs[0].ids) + len(inputs)
        else:
            wanted += sum(len(x.ids) for x in inputs)
            computed += many * length
    return wanted + rows, computed + sum(pieces(rows, lm._logits.sizes))


def _needed(size: Size, inputs: Sequence[ModelInput]) -> int:
    if inputs[0].query:
        return needed_by_queries(size, len(inputs[0].ids), len(inputs))
    return sum(needed(size, len(x.ids)) for x in inputs)


def large_products(dtype: Any) -> dict[str, tuple[Callable[[], Any], int]]:
    """The products that can be the ceiling, by name, and how many operations each is."""
    import torch

    from ...models.internals import packed_product, packed_weight, products

    with torch.inference_mode():
        x = torch.sin(torch.arange(float(LARGE * LARGE))).reshape(LARGE, LARGE).to(dtype)
        ways: dict[str, tuple[Callable[[], Any], int]] = {"torch.mm": (lambda: torch.mm(x, x), 2 * LARGE**3)}
        if products(str(dtype).removeprefix("torch."))[0]:
            weight, bias = packed_weight(x), x[0].clone()
            ways["oneDNN"] = (lambda: packed_product(x, weight, bias, False), 2 * LARGE**3)
    return ways


def at_model_shapes(lm: MaskedLM, shape: tuple[int, int]) -> tuple[Callable[[], Any], int]:
    """The products of one layer in a pass of this shape, a few times, and how many operations they are."""
    import torch

    size, layer = Size.of(lm), lm._logits.layers[0]
    with torch.inference_mode():
        x = torch.sin(torch.arange(float(shape[0] * shape[1] * size.width)))
        x = x.reshape(*shape, size.width).to(lm._logits.dtype)
        wide = layer.up(x)

    def work() -> None:
        for part, given in ((layer.all_three, x), (layer.out, x), (layer.up, x), (layer.down, wide)) * 10:
            part(given)

    return work, 20 * shape[0] * shape[1] * (4 * size.width**2 + 2 * size.width * size.inner)


def profile(lm: MaskedLM, inputs: Sequence[ModelInput], repeats: int) -> dict[str, float]:
    """Seconds of one core that the passes over ``inputs`` take, by part: the shortest of so many runs."""
    todo, runs = passes(lm, inputs), []
    for _ in range(repeats + 1):
        spent = dict.fromkeys(TIMED, 0.0)
        timed = copy.copy(lm)
        timed._logits = _timed(lm._logits, spent)
        with lm.own_cores():
            start = time.thread_time()
            for at in range(0, len(todo), lm.at_once):
                timed.forward_all(todo[at : at + lm.at_once])
            spent[REST] = time.thread_time() - start - sum(spent.values())
        runs.append(spent)
    return min(runs[1:], key=lambda run: sum(run.values()))


def _timed(fast: FastBert, spent: dict[str, float]) -> FastBert:
    """A copy whose parts add the seconds that they take to ``spent``."""

    def watch(part: Callable[..., Any], name: str) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            start = time.thread_time()
            result = part(*given)
            spent[name] += time.thread_time() - start
            return result

        return run

    fast = copy.copy(fast)
    fast.layers = [copy.copy(layer) for layer in fast.layers]
    fast.last = copy.copy(fast.last)
    inner: list[tuple[Any, str]] = [
        (layer, name) for layer in fast.layers for name in ("all_three", "out", "up", "down", "norm_1", "norm_2")
    ]
    inner += [(layer, name) for layer in (*fast.layers, fast.last) for name in ("attend", "ask_of")]
    inner += [(fast.last, "query"), (fast.last, "key_value"), (fast, "head"), (fast, "embedded")]
    lines = {"norm_1": NORMS, "norm_2": NORMS, "attend": ATTENTION, "ask_of": ATTENTION, "head": HEAD}
    lines["embedded"] = EMBEDDED
    for owner, name in inner:
        setattr(owner, name, watch(getattr(owner, name), lines.get(name, PRODUCTS)))
    return fast


@dataclass(frozen=True)
class Audit:
    """What was measured for one set of texts.

    `seconds` and `cpu`: of the engine, and of its CPU time; `rates`: operations a second of one core for each product;
    `operations`: those that the requests need; `parts`: CPU seconds by part, which sum to `cpu`.
    """

    seconds: float
    cpu: float
    cores: int
    rates: dict[str, float]
    operations: int
    parts: dict[str, float]

    @property
    def share(self) -> float:
        """The share of the ceiling of all cores that was reached; a core that is idle or taken by others counts."""
        return self.operations / (self.seconds * self.cores * self._ceiling)

    @property
    def share_of_cpu(self) -> float:
        """The share that was reached while a core computed for the engine."""
        return self.operations / (self.cpu * self._ceiling)

    @property
    def _ceiling(self) -> float:
        return max(rate for name, rate in self.rates.items() if name != MODEL)


def mask_requests(lm: Any, texts: Sequence[str]) -> list[Any]:
    """A request for each token of `texts`, masked, with its text as context."""
    from ...models import MaskRequest
    from ...text.document import Document

    requests = []
    for text in texts:
        pieces = lm.encode(Document.parse(text))
        requests += [MaskRequest(pieces, pieces, i) for i in range(len(pieces))]
    return requests


def audit(engine: Any, lm: MaskedLM, texts: Sequence[str], repeats: int) -> Audit:
    """The audit of ``texts`` in one call."""
    import torch

    inputs, size = lm.model_inputs(mask_requests(lm, texts)), Size.of(lm)
    todo = passes(lm, inputs)
    positions = [_positions(lm, todo[at : at + lm.at_once]) for at in range(0, len(todo), lm.at_once)]
    ways = large_products(lm._logits.dtype)
    ways[MODEL] = at_model_shapes(lm, (1, max(made for _, made in positions)))
    runs: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeats + 1):
        cpu, wall = time.process_time(), time.perf_counter()
        requests = mask_requests(lm, texts)
        runs[TOKENS].append(time.process_time() - cpu)
        engine.score(requests)
        runs["wall"].append(time.perf_counter() - wall)
        runs["cpu"].append(time.process_time() - cpu)
        with lm.own_cores(), torch.inference_mode():
            for name, (way, operations) in ways.items():
                cpu = time.thread_time()
                way()
                runs[name].append((time.thread_time() - cpu) / operations)
    best = {name: min(some[1:]) for name, some in runs.items()}
    parts = profile(lm, inputs, repeats)
    # Taken in other runs than the whole was.
    of_whole = (best["cpu"] - best[TOKENS]) / sum(parts.values())
    parts = {part: spent * of_whole for part, spent in parts.items()}
    parts[PADDING] = parts[PRODUCTS] * (1 - sum(n for n, _ in positions) / sum(made for _, made in positions))
    parts[PRODUCTS] -= parts[PADDING]
    parts[TOKENS] = best[TOKENS]
    return Audit(
        seconds=best["wall"],
        cpu=best["cpu"],
        cores=lm.workers,
        rates={name: 1 / best[name] for name in ways},
        operations=sum(_needed(size, some) for some, _ in todo),
        parts=parts,
    )


def report(engine: Any, lm: MaskedLM, texts: Sequence[str], repeats: int) -> list[str]:
    """Lines that say which share of the ceiling one text and all texts reach, and where the time of both goes."""
    both = audit(engine, lm, texts[:1], repeats), audit(engine, lm, texts, -(-repeats // 3))
    rates = {name: max(x.rates[name] for x in both) / 1e9 for name in both[0].rates}
    said = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items() if name != MODEL)

    def row(name: str, values: Iterable[str]) -> str:
        return f"  {name:<36}" + "".join(f"{value:>10}" for value in values)

    return [
        f"{lm.dtype}, 10⁹ operations a second of one core: {said} at {LARGE} × {LARGE}; {rates[MODEL]:.0f} at the "
        f"model's shapes; cores used: {lm.workers}",
        row("", ("one text", f"{len(texts)} texts")),
        row("operations needed, 10⁹", (f"{x.operations / 1e9:.1f}" for x in both)),
        row("share of the ceiling", (f"{x.share:.0%}" for x in both)),
        row("the same while a core computes", (f"{x.share_of_cpu:.0%}" for x in both)),
        "  of the CPU time:",
        *(row("  " + part, (f"{x.parts[part] / x.cpu:.1%}" for x in both)) for part in PARTS),
    ]
