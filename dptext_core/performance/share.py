"""How much of what a processor can multiply the language model's engine uses, and where the rest of the time goes.

The ceiling is the rate of one large matrix product, by torch.mm or by oneDNN, whichever is faster; it is timed in turns
with the engine, and of each the best time counts. What counts for the engine are the operations that its requests
need: padding, empty rows, softmax, norms and Python count for nothing.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..models.fast_bert import FastBert
    from ..models.masked_lm import MaskedLM
    from ..models.windows import ModelInput

#: Rows and columns of the product that is the ceiling.
LARGE = 2048

PRODUCTS, PADDING = "products of the layers, GELU", "the same for padding, empty rows"
ATTENTION, NORMS, HEAD = "attention with its softmax", "layer norms", "what only masks need, output"
EMBEDDED, TOKENS, REST = "embeddings", "tokens and windows", "sums, Python, waiting"
TIMED = (PRODUCTS, ATTENTION, NORMS, HEAD, EMBEDDED)
PARTS = (PRODUCTS, PADDING, ATTENTION, NORMS, HEAD, EMBEDDED, TOKENS, REST)


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


def passes(lm: MaskedLM, inputs: Sequence[ModelInput]) -> list[tuple[list[ModelInput], tuple[int, int]]]:
    """The passes that the engine makes of the requests of one call."""
    by_shape: dict[tuple[int, int], list[ModelInput]] = defaultdict(list)
    for x in inputs:
        by_shape[lm.shape_for(len(x.ids))].append(x)
    return [
        (some[at : at + shape[0]], shape) for shape, some in by_shape.items() for at in range(0, len(some), shape[0])
    ]


def large_products(dtype: Any) -> dict[str, Callable[[], Any]]:
    """The products that can be the ceiling, by name."""
    import torch

    from ..models import internals
    from ..models.fast_bert import packed_product, packed_weight

    with torch.inference_mode():
        x = torch.sin(torch.arange(float(LARGE * LARGE))).reshape(LARGE, LARGE).to(dtype)
        ways: dict[str, Callable[[], Any]] = {"torch.mm": lambda: torch.mm(x, x)}
        if internals.products(str(dtype).removeprefix("torch."))[0]:
            weight, bias = packed_weight(x), x[0].clone()
            ways["oneDNN"] = lambda: packed_product(x, weight, bias, False)
    return ways


def at_model_shapes(lm: MaskedLM, shape: tuple[int, int]) -> tuple[Callable[[], Any], int]:
    """The products of one layer in a pass of this shape, and how many operations they are."""
    import torch

    size, layer = Size.of(lm), lm._logits.layers[0]
    with torch.inference_mode():
        x = torch.sin(torch.arange(float(shape[0] * shape[1] * size.width)))
        x = x.reshape(*shape, size.width).to(lm._logits.dtype)
        wide = layer.up(x)

    def work() -> None:
        for part, given in ((layer.all_three, x), (layer.out, x), (layer.up, x), (layer.down, wide)):
            part(given)

    return work, 2 * shape[0] * shape[1] * (4 * size.width**2 + 2 * size.width * size.inner)


def at_the_same_time(lm: MaskedLM, work: Callable[[], Any], times: int) -> float:
    """Seconds in which every worker of an engine does ``work`` so many times, all at once."""
    import torch

    begin = threading.Barrier(lm.workers + 1)

    def run() -> None:
        with lm.own_cores(), torch.inference_mode():
            work()
            begin.wait()
            for _ in range(times):
                work()

    threads = [threading.Thread(target=run) for _ in range(lm.workers)]
    for thread in threads:
        thread.start()
    begin.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def profile(lm: MaskedLM, inputs: Sequence[ModelInput], repeats: int) -> dict[str, float]:
    """Seconds of one core that the passes over ``inputs`` take, by part: the least of so many timings of each."""
    todo, runs = passes(lm, inputs), []
    for _ in range(repeats + 1):
        spent = dict.fromkeys(TIMED, 0.0)
        timed = copy.copy(lm)
        timed._logits = _timed(lm._logits, spent)
        with lm.own_cores():
            for at in range(0, len(todo), lm.at_once):
                timed.forward_all(todo[at : at + lm.at_once])
        runs.append(spent)
    return {part: min(run[part] for run in runs[1:]) for part in TIMED}


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
    inner = [(layer, name) for layer in fast.layers for name in ("all_three", "out", "up", "down", "norm_1", "norm_2")]
    inner += [(layer, "attend") for layer in (*fast.layers, fast.last)]
    inner += [(fast.last, "query"), (fast.last, "key_value"), (fast, "head"), (fast, "embedded")]
    lines = {"norm_1": NORMS, "norm_2": NORMS, "attend": ATTENTION, "head": HEAD, "embedded": EMBEDDED}
    for owner, name in inner:
        setattr(owner, name, watch(getattr(owner, name), lines.get(name, PRODUCTS)))
    return fast


def _inputs(lm: MaskedLM, texts: Sequence[str]) -> list[ModelInput]:
    """What the tokens of ``texts`` become, each masked once."""
    from .speed import mask_requests

    return [lm.model_input(r) for r in mask_requests(lm, texts)]


@dataclass(frozen=True)
class Audit:
    """What was measured for one set of texts.

    `seconds`: of the engine; `ceiling`: operations a second of the large product, by all cores; `operations`: those
    that the requests need; `parts`: core seconds by part, which sum to `seconds` times cores.
    """

    seconds: float
    ceiling: float
    operations: int
    parts: dict[str, float]

    def of_time(self, part: str) -> float:
        """The share of the time of all cores that a part took."""
        return self.parts[part] / sum(self.parts.values())

    @property
    def share(self) -> float:
        """The share of the ceiling that was reached."""
        return self.operations / self.seconds / self.ceiling


def audit(engine: Any, lm: MaskedLM, texts: Sequence[str], repeats: int) -> tuple[Audit, dict[str, float]]:
    """The audit of ``texts`` in one call, and the rate of each product that can be the ceiling, in turns with it."""
    import torch

    from .speed import engine_scores, seconds

    inputs, size = _inputs(lm, texts), Size.of(lm)
    ways = large_products(lm._logits.dtype)
    runs: dict[str, list[float]] = defaultdict(list)
    with torch.inference_mode():
        for _ in range(repeats + 1):
            runs[""].append(seconds(lambda: engine_scores(engine, lm, texts)))
            for name, way in ways.items():
                runs[name].append(seconds(way))
    took = {name: min(some[1:]) for name, some in runs.items()}
    rates = {name: 2 * LARGE**3 / took[name] for name in ways}
    parts: dict[str, float] = profile(lm, inputs, repeats)
    operations = sum(needed(size, len(x.ids)) for x in inputs)
    made = sum(shape[0] * shape[1] for _, shape in passes(lm, inputs))
    parts[PADDING] = parts[PRODUCTS] * (1 - sum(len(x.ids) for x in inputs) / made)
    parts[PRODUCTS] -= parts[PADDING]
    parts[TOKENS] = min(seconds(lambda: _inputs(lm, texts)) for _ in range(repeats))
    parts[REST] = took[""] * lm.workers - sum(parts.values())
    return Audit(took[""], max(rates.values()), operations, parts), rates


def report(engine: Any, lm: MaskedLM, texts: Sequence[str], repeats: int) -> list[str]:
    """Lines that say which share of the ceiling one text and all texts reach, and where the time of both goes."""
    one, rates = audit(engine, lm, texts[:1], repeats)
    many, more = audit(engine, lm, texts, -(-repeats // 3))
    length = max(len(x.ids) for x in _inputs(lm, texts[:1]))
    work, operations = at_model_shapes(lm, lm.shape_for(length))
    times = 50
    model_rate = lm.workers * times * operations / min(at_the_same_time(lm, work, times) for _ in range(repeats))
    said = ", ".join(f"{name} {max(rate, more[name]) / 1e9:.0f}" for name, rate in rates.items())
    rows, positions = lm.shape_for(length)
    lines = [
        f"{lm.dtype}, 10⁹ operations a second, cores used: {lm.workers}; {said} at {LARGE} × {LARGE}; "
        f"{model_rate / 1e9:.0f} at the model's shapes ({rows} × {positions} positions)",
        f"  {'one text':>43} {f'{len(texts)} texts':>9}",
        f"  {'operations needed, 10⁹':<34}{one.operations / 1e9:>9.1f} {many.operations / 1e9:>9.1f}",
        f"  {'share of the ceiling':<34}{one.share:>9.0%} {many.share:>9.0%}",
        "  of the time of all cores:",
    ]
    for part in PARTS:
        lines.append(f"    {part:<32}{one.of_time(part):>9.1%} {many.of_time(part):>9.1%}")
    return lines
