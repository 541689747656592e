"""What a public prior is worth: texts with and without it at the same promise, and what an attacker gets.

For each system, ε and seed, every text is rewritten once. Per text: cosine to the original (all-MiniLM-L6-v2), BLEU,
perplexity (pseudo-perplexity of the bundled masked model; with --judge also a causal model's, per word), N_w (the mean
chance that a drawn word stays), and how often the mask-filling attacker guesses an original at once. The attacker and
the pseudo-perplexity look at the first seed only, since they take a pass for each word. And the share of stop words
among a rewrite's words: a language model finds a text of them fluent, though it says nothing. Differences to DP-MLM are
paired over texts, at the same ε, against the clipping range that is better there by that measure.

    python -m dptext_core bench prior --data DIR --rows FILE --out assets/benchmarks/public_prior.json

The rows, with the rewritten texts in them, go into FILE, which an interrupted run goes on with; the means go into OUT.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._internal import assets
from .._internal.statistics import half_width
from ..attacks import mask_inference
from ..measure.budget import distribute
from ..measure.metrics import score
from ..mechanisms.base import Mechanism, Prepared, check_mechanism
from ..mechanisms.facets import drawn_tokens
from ..mechanisms.registry import get_mechanism
from ..mechanisms.setting import Setting
from ..models import causal
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from ..text.document import Document
from ..text.lexicon import Lexicon
from ..text.lexicons import stop_words
from . import data_sets
from .measurement import Measurement, markdown, options_in, parser, which_stop_words

#: The bundled model by its folder: it proposes with weights of their own only where it goes by its name.
UNTRAINED = str(assets.assets_folder() / "models" / "masked_lm")
#: Systems: mechanism, and options. The first two are what the others are compared with.
SYSTEMS = {
    "DP-MLM, tuned range": Setting("dp-mlm", {"clip": "tuned"}),
    "DP-MLM, paper's range": Setting("dp-mlm", {"clip": "paper"}),
    "with prior, parallel": Setting("dp-mlm-prior"),
    "with prior, sequential": Setting("dp-mlm-prior", {"order": "sequential"}),
    "with prior, proposals untrained": Setting("dp-mlm-prior", {"model": UNTRAINED}),
    "with prior, budget by what is public": Setting("dp-mlm-prior"),
    "DP-MLM, all words drawn": Setting("dp-mlm", {"keep_stopwords": False}),
    "with prior, all words drawn": Setting("dp-mlm-prior", {"keep_stopwords": False}),
    "SanText": Setting("santext"),
    "SanText with prior": Setting("santext", {"prior": "skeleton"}),
}
#: Whom a system is compared with: the better of these at each ε and measure.
BESIDE: Mapping[str, tuple[str, ...]] = {
    "with prior, parallel": ("DP-MLM, tuned range", "DP-MLM, paper's range"),
    "with prior, sequential": ("DP-MLM, tuned range", "DP-MLM, paper's range"),
    "with prior, proposals untrained": ("with prior, parallel",),
    "with prior, budget by what is public": ("with prior, parallel",),
    "with prior, all words drawn": ("DP-MLM, all words drawn",),
    "SanText with prior": ("SanText",),
}
#: Systems whose words share the total that one ε for each would spend, by what is public of them.
SPREAD = ("with prior, budget by what is public",)
EPSILONS = (5.0, 10.0, 15.0, 25.0, 50.0, 100.0, 250.0)
#: Texts of each data set, cut to so many words.
TEXTS: Mapping[str, int] = {"sst2": 200, "snips": 100}
MOST_WORDS, SEEDS = 40, (1, 2)
#: Means of logarithms, whose exponential is shown.
LOGARITHMS = ("pseudo_perplexity", "judge_perplexity")
#: More is better (1), less is better (−1), or neither.
BETTER = {
    "cosine": 1, "bleu": 1, "pseudo_perplexity": -1, "judge_perplexity": -1, "stop_words": 0, "n_w": 0, "attacker": -1,
}  # fmt: skip


@dataclass(frozen=True)
class Mean:
    """A measure of a system at one ε, over texts and seeds. half: of the 95% interval over texts.

    difference, difference_half: to ``beside`` on the same texts; None where nothing is beside it. Of a perplexity all
    of these are of its logarithm.
    """

    data: str
    system: str
    epsilon: float
    measure: str
    mean: float
    half: float
    texts: int
    seeds: int
    beside: str = ""
    difference: float | None = None
    difference_half: float | None = None


def rewritten(
    mechanism: Mechanism, prepared: Sequence[Prepared], texts: Sequence[str], seed: int, spread: bool = False
) -> list[RewriteResult]:
    """Every text once, with noise of its own. spread: the total goes to the words by what is public of them."""
    stream = NoiseStream(seed)
    if spread:
        each = [_spread(mechanism, p) for p in prepared]
        return [m.rewrite(p, stream=stream.at(k)) for k, (m, p) in enumerate(zip(each, prepared, strict=True))]
    if "sweep" not in mechanism.can:  # words are drawn one after the other
        return mechanism.rewrite(list(texts), stream=stream)
    return [mechanism.rewrite(p, stream=stream.at(k)) for k, p in enumerate(prepared)]


def _spread(mechanism: Mechanism, prepared: Prepared) -> Mechanism:
    if not (drawn := drawn_tokens(mechanism, prepared)):
        return mechanism
    total = mechanism.config.epsilon * len(drawn)
    return mechanism.replace(epsilon=distribute(mechanism, prepared, total, "public").epsilons)


def measured(
    mechanism: Mechanism, originals: Sequence[str], results: Sequence[RewriteResult], everything: bool = True
) -> dict[str, list]:
    """Per text: cosine, BLEU, N_w, and, with ``everything``, what takes a pass of a model for each word: ln
    pseudo-perplexity and the attacker's share. NaN where there is none."""
    texts = [r.text for r in results]
    out: dict[str, list] = {name: [float(x) for x in score(name, originals, texts)] for name in ("cosine", "bleu")}
    out["n_w"] = [_mean([d.p_keep() for _, d in r.distributions()]) for r in results]
    if not everything:
        return out
    out["pseudo_perplexity"] = [math.log(x) for x in score("perplexity", originals, texts)]
    guesses = [mask_inference.attack(mechanism, r) for r in results]
    out["attacker"] = [g.top1 if g.guesses else math.nan for g in guesses]
    return out


def stop_word_shares(texts: Sequence[str], stop: Lexicon) -> list[float]:
    """The share of stop words among the words of each text; NaN where it has none."""
    found = []
    for text in texts:
        words = [t.text for t in Document.parse(text).tokens if t.kind == "word"]
        found.append(_mean([float(w in stop) for w in words]))
    return found


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def run(
    names: Sequence[str], systems: Sequence[str], epsilons: Sequence[float], seeds: Sequence[int], folder: Path | None,
    rows: Path, options: Mapping[str, Any], sizes: Mapping[str, int] = TEXTS,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Measure what the file of rows lacks, point by point, and write each to it."""
    done = {_key(row) for row in read_rows(rows)}
    _drop_cut_line(rows)
    for name in names:
        found = data_sets.load(name, folder, n_test=sizes.get(name), max_words=MOST_WORDS)
        texts = [found.texts[i][0] for i in found.test]
        for system in systems:
            own = SYSTEMS[system]
            base = get_mechanism(own.mechanism, **{**options, **own.options})
            check_mechanism(base)
            prepared: list[Prepared] = []
            for epsilon in epsilons:
                for seed in seeds:
                    if (name, system, float(epsilon), seed) in done:
                        continue
                    prepared = prepared or list(base.prepare_many(texts))
                    m, start = base.replace(epsilon=float(epsilon)), time.perf_counter()
                    results = rewritten(m, prepared, texts, seed, system in SPREAD)
                    row = {
                        "data": name, "system": system, "epsilon": float(epsilon), "seed": seed,
                        "seconds": round(time.perf_counter() - start, 2), "sha256": found.sha256,
                        "texts": [r.text for r in results], "measures": measured(m, texts, results, seed == SEEDS[0]),
                    }  # fmt: skip
                    with rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    yield row


def _key(row: Mapping[str, Any]) -> tuple[str, str, float, int]:
    return row["data"], row["system"], row["epsilon"], row["seed"]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The points of a file; a line that was cut off is left out."""
    if not path.is_file():
        return []
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            continue
    return out


def _drop_cut_line(path: Path) -> None:
    """What stands after the last line end was cut off: the next point must not follow on it."""
    if path.is_file() and (whole := path.read_bytes()) and not whole.endswith(b"\n"):
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])


def judge_rows(
    path: Path, judge: Callable[[Sequence[str]], Sequence[float]], name: str = ""
) -> Iterator[tuple[int, int]]:
    """Add ln perplexity by the judge where a row lacks it, and its name. Yields how many are done, of how many."""
    rows = read_rows(path)
    known: dict[str, float] = {}
    for k, row in enumerate(rows):
        if "judge_perplexity" not in row["measures"]:
            new = [text for text in dict.fromkeys(row["texts"]) if text not in known]
            known.update(zip(new, judge(new), strict=True))
            row["measures"]["judge_perplexity"] = [known[t] for t in row["texts"]]
            row["judge"] = name
            beside = path.with_suffix(".new")
            beside.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
            beside.replace(path)
        yield k + 1, len(rows)


def means(rows: Sequence[Mapping[str, Any]]) -> list[Mean]:
    """Each measure of each system at each ε, and its paired difference to what it is compared with."""
    values: dict[tuple[str, str, float, str], list[np.ndarray]] = {}
    for row in rows:
        for measure, per_text in row["measures"].items():
            key = (row["data"], row["system"], row["epsilon"], measure)
            values.setdefault(key, []).append(np.array(per_text, float))
    per: dict[tuple[str, str, float, str], np.ndarray] = {
        k: np.nanmean(np.stack(v), axis=0) for k, v in values.items() if not all(np.isnan(x).all() for x in v)
    }
    out = []
    for key, mine in per.items():
        name, system, epsilon, measure = key
        others = [o for o in BESIDE.get(system, ()) if (name, o, epsilon, measure) in per]
        sign = BETTER[measure] or 1
        best = max(others, key=lambda o: sign * float(np.nanmean(per[name, o, epsilon, measure])), default="")
        apart = mine - per[name, best, epsilon, measure] if best else None
        mean, half, n = _interval(mine)
        both = (None, None) if apart is None else _interval(apart)[:2]
        out.append(Mean(name, system, epsilon, measure, mean, half, n, len(values[key]), best, *both))
    return out


def _interval(x: np.ndarray) -> tuple[float, float, int]:
    x = x[np.isfinite(x)]
    return float(x.mean()), half_width(x), len(x)


MEASUREMENT = Measurement("prior", Mean, "public_prior.json", digits=5)
bundled = MEASUREMENT.bundled


def table(found: Sequence[Mean], name: str, measures: Sequence[str]) -> str:
    """A Markdown table of one data set: a row for each ε and system."""
    at = {(m.epsilon, m.system, m.measure): m for m in found if m.data == name}
    have = [m for m in measures if any(k[2] == m for k in at)]
    points = sorted({k[:2] for k in at}, key=lambda k: (k[0], list(SYSTEMS).index(k[1])))
    rows = ([f"{e:g}", system, *(_cell(at.get((e, system, measure))) for measure in have)] for e, system in points)
    return markdown(["ε", "system", *(h.replace("_", " ") for h in have)], rows)


def _cell(m: Mean | None) -> str:
    if m is None:
        return ""
    logarithm = m.measure in LOGARITHMS
    shown = f"{math.exp(m.mean):,.0f}" if logarithm else f"{m.mean:.1f}" if m.measure == "bleu" else f"{m.mean:.3f}"
    if m.difference is None or m.difference_half is None:
        return shown
    if logarithm:
        low, high = (math.exp(m.difference + s * m.difference_half) for s in (-1, 1))
        return f"{shown} (× {low:.2f} to {high:.2f})"
    return f"{shown} ({m.difference:+.3f} ± {m.difference_half:.3f})"


def main(argv: Sequence[str] = ()) -> int:
    """The command ``bench prior``."""
    takes = parser("prior", __doc__, "data", "stopwords", "out")
    takes.add_argument("--sets", nargs="+", default=list(TEXTS), help=f"{' and '.join(TEXTS)} by default")
    takes.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="SYSTEM")
    takes.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    takes.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    takes.add_argument("--n", type=int, help="texts of each set; else " + str(dict(TEXTS)))
    takes.add_argument(
        "--rows", type=Path, required=True, help="the file of measured points; an old one is gone on with"
    )
    takes.add_argument(
        "--judge", metavar="NAME", help=f"a causal language model, for perplexity: a folder, or {causal.JUDGE}"
    )
    takes.add_argument("--judge-name", help="what the judge is called; else as it calls itself, or its folder's name")
    args = takes.parse_args(argv)
    sizes = TEXTS if args.n is None else dict.fromkeys(args.sets, args.n)
    args.rows.parent.mkdir(parents=True, exist_ok=True)
    if args.judge:
        causal.judge_folder(args.judge)  # that it is missing is said before the hours of measuring
    for row in run(args.sets, args.systems, args.epsilons, args.seeds, args.data, args.rows, options_in(args), sizes):
        print(
            f"{row['data']}, {row['system']}, ε {row['epsilon']:g}, seed {row['seed']}: {row['seconds']} s", flush=True
        )
    if args.judge:
        judge = causal.judge(args.judge)
        for done, of in judge_rows(args.rows, judge, args.judge_name or judge.title):
            print(f"judged {done} of {of}", flush=True)
    rows = read_rows(args.rows)
    stop = stop_words(args.stopwords)
    for row in rows:
        row["measures"]["stop_words"] = stop_word_shares(row["texts"], stop)
    found = means(rows)
    for name in args.sets:
        print(f"\n{name}\n\n{table(found, name, list(BETTER))}")
    about = MEASUREMENT.about(
        model="bundled",
        seeds=sorted({r["seed"] for r in rows}),
        texts={r["data"]: len(r["texts"]) for r in rows},
        sha256={r["data"]: r["sha256"] for r in rows},
        judge="; ".join(sorted({r["judge"] for r in rows if r.get("judge")})),
        stopwords=which_stop_words(args),
    )
    MEASUREMENT.write(args.out, found, about)
    return 0
