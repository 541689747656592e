"""Generators beside DP-MLM at the same ε for each word or token: likeness, fluency, and tokens a second.

Each system rewrites each text once at every ε. Per text: cosine to the original (all-MiniLM-L6-v2), BLEU, with --judge
perplexity of a word by a causal language model, and the number of words that came out. Tokens a second are those that
were drawn, on one call for all texts, after one text was rewritten to load everything; they compare within one run.

    python -m dptext_core bench generators --data DIR --out assets/benchmarks/generators.json
"""

from __future__ import annotations

import argparse
import math
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._internal import assets
from .._internal.statistics import half_width
from .._internal.version import __version__
from ..measure.metrics import score
from ..mechanisms.registry import get_mechanism
from ..models import causal
from ..privacy.sampling import NoiseStream
from . import data_sets
from .files import write_rows

#: Systems: mechanism, and options.
SYSTEMS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "DP-MLM": ("dp-mlm", {}),
    "DP-MLM, all words drawn": ("dp-mlm", {"keep_stopwords": False}),
    "DP-Prompt": ("dp-prompt", {}),
    "DP-Prompt, paper's range": ("dp-prompt", {"clip": "paper"}),
    "DP-Prompt with prior": ("dp-prompt", {"prior": "released"}),
    "DP-Paraphrase": ("dp-paraphrase", {}),
    "DP-Paraphrase, paper's range": ("dp-paraphrase", {"clip": "paper"}),
    "DP-Paraphrase with prior": ("dp-paraphrase", {"prior": "released"}),
}
EPSILONS = (10.0, 25.0, 50.0, 100.0, 250.0)
TEXTS, MOST_WORDS, SEED = 100, 20, 1


@dataclass(frozen=True)
class Line:
    """One system at one ε. Means over texts, and half of their 95% intervals; ``log_perplexity`` is of a word, None
    without a judge. tokens: drawn in all; seconds: what that took."""

    data: str
    system: str
    epsilon: float
    texts: int
    cosine: float
    cosine_half: float
    bleu: float
    words: float
    log_perplexity: float | None
    log_perplexity_half: float | None
    tokens: int
    seconds: float


def run(
    name: str, systems: Sequence[str], epsilons: Sequence[float], folder: Path | None, n: int,
    options: Mapping[str, Any], judge: Any = None, model: str | None = None,
) -> Iterator[Line]:  # fmt: skip
    """Measure, line by line. model: the generators' in the place of the bundled ones."""
    found = data_sets.load(name, folder, n_test=n, max_words=MOST_WORDS)
    texts = [found.texts[i][0] for i in found.test]
    for system in systems:
        kind, own = SYSTEMS[system]
        mine = dict(options) if kind.startswith("dp-mlm") else ({} if model is None else {"model": model})
        base = get_mechanism(kind, **mine, **own)
        base.rewrite(texts[:1])
        for epsilon in epsilons:
            m, start = base.with_(epsilon=float(epsilon)), time.perf_counter()
            results = m.rewrite(texts, stream=NoiseStream(SEED))
            seconds = time.perf_counter() - start
            out = [r.text for r in results]
            cosine, half = _mean(score("cosine", texts, out))
            log_p, log_half = (None, None) if judge is None else _mean(list(judge(out)))
            yield Line(
                name, system, float(epsilon), len(texts), cosine, half, _mean(score("bleu", texts, out))[0],
                float(np.mean([len(t.split()) for t in out])), log_p, log_half,
                sum(u.drawn for r in results for u in r.units), round(seconds, 2),
            )  # fmt: skip


def _mean(values: Sequence[float]) -> tuple[float, float]:
    x = np.array([v for v in values if math.isfinite(v)])
    return (float(x.mean()), half_width(x)) if len(x) > 1 else (math.nan, math.nan)


def bundled() -> tuple[Line, ...]:
    """The bundled measurement; () where it is missing."""
    return assets.bundled("benchmarks/generators.json", _read, ())


def _read(path: Path) -> tuple[Line, ...]:
    return tuple(Line(**row) for row in assets.read_json(path)["rows"])


def table(lines: Sequence[Line]) -> str:
    """A Markdown table, a row for each ε and system; speed as a multiple of DP-MLM's in the same run."""
    out = [
        "| ε | system | cosine | BLEU | perplexity of a word | words | tokens a second, DP-MLM = 1 |",
        "|---" * 7 + "|",
    ]
    speed = {x.epsilon: x.tokens / x.seconds for x in lines if x.system == "DP-MLM"}
    for x in sorted(lines, key=lambda x: (x.epsilon, list(SYSTEMS).index(x.system))):
        perplexity = "" if x.log_perplexity is None else f"{math.exp(x.log_perplexity):,.0f}"
        faster = f"{x.tokens / x.seconds / speed[x.epsilon]:.2f}" if x.epsilon in speed else ""
        out.append(
            f"| {x.epsilon:g} | {x.system} | {x.cosine:.3f} ± {x.cosine_half:.3f} | {x.bleu:.1f} | {perplexity} | "
            f"{x.words:.1f} | {faster} |"
        )
    return "\n".join(out)


def main(argv: Sequence[str] = ()) -> int:
    """The command ``bench generators``."""
    parser = argparse.ArgumentParser(prog="python -m dptext_core bench generators", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the public data sets")
    parser.add_argument("--set", default="sst2", help="data set (default sst2; builtin needs no folder)")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="SYSTEM")
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--n", type=int, default=TEXTS, help=f"texts (default {TEXTS})")
    parser.add_argument("--stopwords", metavar="FILE", help="one word a line; else the default list")
    parser.add_argument("--model", help="the generators' model, in the place of the bundled ones")
    parser.add_argument("--judge", metavar="NAME", help=f"for perplexity: a folder, or {causal.JUDGE}")
    parser.add_argument("--out", type=Path, help="write the lines to this JSON file")
    args = parser.parse_args(argv)
    options = {"stopwords": args.stopwords} if args.stopwords else {}
    judge = causal.judge(args.judge) if args.judge else None
    lines = []
    for line in run(args.set, args.systems, args.epsilons, args.data, args.n, options, judge, args.model):
        lines.append(line)
        print(f"{line.system}, ε {line.epsilon:g}: {line.tokens} tokens in {line.seconds} s", flush=True)
    print(f"\n{table(lines)}")
    if args.out:
        about = {
            "command": "python -m dptext_core bench generators", "version": __version__,
            "model": args.model or "bundled", "judge": judge.title if judge else "", "seed": SEED, "words": MOST_WORDS,
            "stopwords": "given" if args.stopwords else "the default list", "processor": platform.processor() or "",
        }  # fmt: skip
        short = [{k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in asdict(x).items()} for x in lines]
        write_rows(args.out, {"about": about, "rows": short}, "data")
    return 0
