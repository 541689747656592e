"""Generators compared with DP-MLM at the same ε for each word or token: similarity, fluency and tokens per second.

Each system rewrites each text once at every ε. The rows have the cosine to the original (all-MiniLM-L6-v2), BLEU, the
number of released words, and with --judge the perplexity per word under a causal language model. Speed is in sampled
tokens per second of one call for all texts, after a warm-up. It is comparable within one run only.

    python -m dptext_core bench generators --data DIR --out assets/benchmarks/generators.json
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.measure.metrics import score
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.mechanisms.setting import Setting
from dptext_core.models import causal
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.statistics import half_width

from ..results.generation import MEASUREMENT, GenerationRow
from ..results.measurement import markdown, plus_minus
from ..runner import data_sets
from ..runner.options import options_in, parser, which_stop_words

#: Systems: mechanism, and options.
SYSTEMS = {
    "DP-MLM": Setting("dp-mlm"),
    "DP-MLM, all words sampled": Setting("dp-mlm", {"keep_stopwords": False}),
    "DP-Prompt": Setting("dp-prompt"),
    "DP-Prompt, paper's range": Setting("dp-prompt", {"clip": "paper"}),
    "DP-Prompt with prior": Setting("dp-prompt", {"prior": "released"}),
    "DP-Paraphrase": Setting("dp-paraphrase"),
    "DP-Paraphrase, paper's range": Setting("dp-paraphrase", {"clip": "paper"}),
    "DP-Paraphrase with prior": Setting("dp-paraphrase", {"prior": "released"}),
}
EPSILONS = (10.0, 25.0, 50.0, 100.0, 250.0)
TEXTS, MOST_WORDS, SEED = 100, 20, 1


def run(
    name: str,
    systems: Sequence[str],
    epsilons: Sequence[float],
    folder: Path | None,
    n: int,
    options: Mapping[str, Any],
    judge: Any = None,
    model: str | None = None,
) -> Iterator[GenerationRow]:
    """Measure the systems and yield their rows. model: of the generators, instead of the bundled ones."""
    data = data_sets.load(name, folder, n_test=n, max_words=MOST_WORDS)
    texts = [data.texts[i][0] for i in data.test]
    for system in systems:
        own = SYSTEMS[system]
        mine = dict(options) if own.mechanism.startswith("dp-mlm") else ({} if model is None else {"model": model})
        base = get_mechanism(own.mechanism, **mine, **own.options)
        base.rewrite(texts[:1])
        for epsilon in epsilons:
            m, start = base.replace(epsilon=float(epsilon)), time.perf_counter()
            results = m.rewrite(texts, stream=NoiseStream(SEED))
            seconds = time.perf_counter() - start
            out = [r.text for r in results]
            cosine, half = _mean(score("cosine", texts, out))
            log_p, log_half = (None, None) if judge is None else _mean(list(judge(out)))
            yield GenerationRow(
                data=name,
                system=system,
                epsilon=float(epsilon),
                texts=len(texts),
                cosine=cosine,
                cosine_half=half,
                bleu=_mean(score("bleu", texts, out))[0],
                words=float(np.mean([len(t.split()) for t in out])),
                log_perplexity=log_p,
                log_perplexity_half=log_half,
                tokens=sum(u.is_sampled for r in results for u in r.units),
                seconds=round(seconds, 2),
            )


def _mean(values: Sequence[float]) -> tuple[float | None, float | None]:
    x = np.array([v for v in values if math.isfinite(v)])
    return float(x.mean()) if len(x) else None, half_width(x) if len(x) > 1 else None


def table(lines: Sequence[GenerationRow]) -> str:
    """Return a Markdown table, one row for each ε and system; speed is relative to DP-MLM in the same run."""
    # A system without measurable time has no speed.
    speed = {x.epsilon: x.tokens / x.seconds for x in lines if x.system == "DP-MLM" and x.tokens and x.seconds}

    def cells(x: GenerationRow) -> list[str]:
        perplexity = "" if x.log_perplexity is None else f"{math.exp(x.log_perplexity):,.0f}"
        faster = f"{x.tokens / x.seconds / speed[x.epsilon]:.2f}" if x.epsilon in speed and x.seconds else ""
        cosine = "" if x.cosine is None else plus_minus(x.cosine, x.cosine_half)
        bleu = "" if x.bleu is None else f"{x.bleu:.1f}"
        return [f"{x.epsilon:g}", x.system, cosine, bleu, perplexity, f"{x.words:.1f}", faster]

    heading = ["ε", "system", "cosine", "BLEU", "perplexity per word", "words", "tokens per second, DP-MLM = 1"]
    return markdown(heading, map(cells, sorted(lines, key=lambda x: (x.epsilon, list(SYSTEMS).index(x.system)))))


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench generators``."""
    takes = parser("generators", __doc__, "data", "set", "stopwords", "out")
    takes.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="SYSTEM")
    takes.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    takes.add_argument("--max-texts", type=int, default=TEXTS, help=f"number of texts (default {TEXTS})")
    takes.add_argument("--model", help="model of the generators, instead of the bundled ones")
    takes.add_argument(
        "--judge", metavar="NAME", help=f"causal language model for perplexity: a folder, or {causal.JUDGE}"
    )
    args = takes.parse_args(argv)
    judge = causal.judge(args.judge) if args.judge else None
    lines = []
    for line in run(
        args.set, args.systems, args.epsilons, args.data, args.max_texts, options_in(args), judge, args.model
    ):
        lines.append(line)
        print(f"{line.system}, ε {line.epsilon:g}: {line.tokens} tokens in {line.seconds} s", flush=True)
    print(f"\n{table(lines)}")
    about = MEASUREMENT.about(
        model=args.model or "bundled",
        judge=judge.title if judge else "",
        seed=SEED,
        words=MOST_WORDS,
        stopwords=which_stop_words(args),
        processor=platform.processor() or "",
    )
    MEASUREMENT.write(args.out, lines, about)
    return 0
