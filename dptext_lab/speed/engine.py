"""The speed of scoring masked tokens, as a ratio to a plain loop in the same run.

The plain loop is a naive implementation: for each token, one forward pass of the unchanged transformers model in
float32 with a batch of one and logits of the whole vocabulary at every position. The engine computes the same scores.
Ratios are comparable between machines, but seconds are not.

A model with queries scores a text in one pass. For comparison, the same engine also runs in pairs, like every other
model: one pass of the text and its masked copy for each word. For a text of 400 tokens, the plain loop reads parts of
40, because twice the text does not fit into the model's window.

The data set has rows of ten tokens, rewritten with the mechanism's own options in batches of 32, as in
``rewrite-data``.

The sweep has one text at five ε and twenty rewrites with fresh noise each. The plain loop runs the model for each
rewrite and each token. Five of its hundred rewrites are timed, and the time is multiplied by twenty.

Run::

    python -m dptext_core bench speed [--model NAME] [--device cpu] [--repeats 5]
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..runner.options import parser

_WHO = ("doctor", "lawyer", "teacher", "nurse", "judge")
SWEEP = (10.0, 25.0, 50.0, 100.0, 250.0)
_WHERE = ("Paris", "London", "Berlin", "Oslo")


def short_texts() -> list[str]:
    """Return twenty texts of twenty tokens each, written for this purpose."""
    return [
        f"Last {day} the old {who} in {where} told my sister that she should move to another city next year."
        for who, day in zip(_WHO, ("week", "month", "winter", "Friday", "night"), strict=True)
        for where in _WHERE
    ]


def short_rows() -> list[str]:
    """Return sixty-four rows of ten tokens each, six of which are sampled."""
    ends = ("yesterday", "today", "twice", "again")
    return [f"The {' '.join(text.split()[3:10])} {end}." for end in ends for text in short_texts()][:64]


def rewrite_rows(engine: Any, lm: Any, mechanism: Any, rows: Sequence[str]) -> list[Any]:
    """Return the rows rewritten with this engine."""
    from dptext_core.data.records import rewrite_records

    before, engine._lm = engine._lm, lm
    try:
        return list(rewrite_records(rows, mechanism))
    finally:
        engine._lm = before


def plain_scores(model: Any, tokenizer: Any, text: str) -> list[Any]:
    """Return the plain loop's scores: for each token of `text`, the logits (vocabulary,) of its mask, given the
    text."""
    import torch

    from dptext_core.text.document import Document

    scores = []
    for token in Document.parse(text).tokens:
        masked = text[: token.start] + tokenizer.mask_token + text[token.end :]
        inputs = tokenizer(text, masked, return_tensors="pt").to(model.device)
        with torch.no_grad():
            logits = model(**inputs).logits[0]
        position = int((inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0])
        scores.append(logits[position])
    return scores


def engine_scores(engine: Any, lm: Any, texts: Sequence[str]) -> Any:
    """Return the plain loop's scores for all tokens of `texts` in one call, as mechanisms do."""
    from dptext_core.models import MaskRequest
    from dptext_core.text.document import Document

    requests = []
    for text in texts:
        pieces = lm.encode(Document.parse(text))
        requests += [MaskRequest(pieces, pieces, i) for i in range(len(pieces))]
    return engine.score(requests)


def sweep(mechanism: Any, text: str, epsilons: Sequence[float], n: int) -> list[Any]:
    """Return ``n`` fresh rewrites of ``text`` at every ε, from one model pass."""
    prepared = mechanism.prepare(text)
    return [mechanism.replace(epsilon=e).rewrites(prepared, n) for e in epsilons]


def plain_rewrites(model: Any, tokenizer: Any, candidates: Any, clip: tuple[float, float], text: str, epsilons) -> list:
    """Return the plain loop's rewrite at every ε: new scores, softmax, one draw per token."""
    import torch

    low, high = clip
    out = []
    for epsilon in epsilons:
        words = []
        for logits in plain_scores(model, tokenizer, text):
            clipped = logits[candidates].double().clamp(low, high)
            probs = torch.softmax(clipped * epsilon / (2 * (high - low)), 0)
            words.append(int(torch.multinomial(probs, 1)))
        out.append(words)
    return out


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Ratio(NamedTuple):
    """Median seconds of a slow and a fast implementation, also in CPU time, which depends less on other load."""

    slow: float
    fast: float
    slow_cpu: float
    fast_cpu: float

    def __str__(self) -> str:
        return f"{self.slow / self.fast:.1f}x; CPU time {self.slow_cpu / self.fast_cpu:.1f}x"


def compare(slow: Callable[[], object], fast: Callable[[], object], repeats: int) -> Ratio:
    """Time both in turns, so other load on the machine affects both equally."""

    def timed(work: Callable[[], object]) -> tuple[float, float]:
        start = time.process_time()
        return seconds(work), time.process_time() - start

    runs = [(*timed(slow), *timed(fast)) for _ in range(repeats)]
    slow_s, slow_cpu, fast_s, fast_cpu = (statistics.median(some) for some in zip(*runs, strict=True))
    return Ratio(slow_s, fast_s, slow_cpu, fast_cpu)


def _parts(texts: Sequence[str]) -> list[str]:
    """Return pairs of texts joined into one."""
    return [" ".join(texts[i : i + 2]) for i in range(0, len(texts), 2)]


def _by_pairs(lm: Any) -> Any:
    """Return an engine with the same weights that runs in pairs."""
    from dptext_core.models.masked_lm import MaskedLM
    from dptext_core.models.worker import Engine

    engine = Engine(lm.spec.id, lm.device)
    engine._lm = MaskedLM(dataclasses.replace(lm.spec, queries=False), lm.device, lm.dtype)
    return engine


def _compare_rows(args: argparse.Namespace, engine: Any, by_pairs: Any, lm: Any) -> None:
    """Time the rows of a data set, against this engine in pairs."""
    from dptext_core import get_mechanism

    mechanism, rows = get_mechanism("dp-mlm", model=args.model), short_rows()
    each = [partial(rewrite_rows, engine, one, mechanism, rows) for one in (by_pairs._lm, lm)]
    comparison = compare(each[0], each[1], -(-args.repeats // 3))
    rates = ", ".join(
        f"{len(rows) / cpu:.0f} {how}"
        for cpu, how in ((comparison.slow_cpu, "by pairs"), (comparison.fast_cpu, "ours"))
    )
    print(f"data set of {len(rows)} rows of 10 tokens: {comparison}  (rows per CPU second: {rates})")


def _compare_sweep(args: argparse.Namespace, lm: Any, plain: Any, tokenizer: Any, text: str) -> None:
    """Time a sweep over ε with fresh noise, against the plain loop."""
    import torch

    from dptext_core import get_mechanism

    mechanism = get_mechanism("dp-mlm", model=args.model, clip="paper", keep_stopwords=False, keep_punctuation=False)
    clip, ids = (lm.spec.clip_min, lm.spec.clip_max), torch.as_tensor(lm.candidate_ids)
    comparison = compare(
        partial(plain_rewrites, plain, tokenizer, ids, clip, text, SWEEP),
        partial(sweep, mechanism, text, SWEEP, 20),
        -(-args.repeats // 3),
    )
    times = f"(plain 20 × {comparison.slow:.3f} s, ours {comparison.fast:.3f} s)"
    print(f"sweep, 5 ε × 20 fresh draws: {20 * comparison.slow / comparison.fast:.0f}x  {times}")


def main(argv: Sequence[str] | None = None) -> int:
    """Time both and print the ratios."""
    takes = parser("speed", __doc__)
    takes.add_argument("--model", default="bundled", help="bundled, a folder, or a hub id in the local cache")
    takes.add_argument("--device", help="cpu, cuda or mps (default: a GPU if there is one)")
    takes.add_argument(
        "--repeats", type=int, default=5, help="number of timings for one text; a third as many for longer inputs"
    )
    args = takes.parse_args(argv)
    if args.repeats < 1:
        takes.error("--repeats must be at least 1")

    from dptext_core import models
    from dptext_core.models.runtime import threads
    from dptext_core.models.torch_masked import plain_model

    lm = models.load_masked_lm(args.model, args.device)
    engine = models.engine(args.model, args.device)
    plain, tokenizer = plain_model(lm.spec)
    plain.to(lm.device)
    texts = short_texts()
    n = threads()
    message = f"{lm.spec.id}, {n} thread{'' if n == 1 else 's'}, {lm.description}"
    print(f"{message}; plain loop: float32, one token per pass")
    plain_scores(plain, tokenizer, texts[0])
    engine_scores(engine, lm, texts[:1])
    by_pairs = _by_pairs(lm) if lm.spec.queries else None
    for name, parts, count, repeats in (
        ("one text of 20 tokens", texts[:1], texts[:1], args.repeats),
        (f"{len(texts)} texts of 20 tokens", texts, texts, -(-args.repeats // 3)),
        ("one text of 400 tokens", _parts(texts), [" ".join(texts)], -(-args.repeats // 3)),
    ):
        loop = partial(lambda some: [plain_scores(plain, tokenizer, t) for t in some], parts)
        ours = partial(engine_scores, engine, lm, count)
        comparison = compare(loop, ours, repeats)
        print(f"{name}: {comparison}  (plain {comparison.slow:.3f} s, engine {comparison.fast:.3f} s)")
        if by_pairs is not None:
            comparison = compare(partial(engine_scores, by_pairs, by_pairs._lm, count), ours, repeats)
            print(f"  compared with this engine in pairs: {comparison}  (in pairs {comparison.slow:.3f} s)")
    if by_pairs is not None:
        _compare_rows(args, engine, by_pairs, lm)
        by_pairs.stop()
    if lm.spec.clip_min is not None and lm.spec.clip_max is not None:
        _compare_sweep(args, lm, plain, tokenizer, texts[0])
    return 0
