"""The value of a public prior: texts with and without it under the same guarantee, and the success of attackers.

For each system, ε and seed, every text is rewritten once. Each text has a cosine to the original (all-MiniLM-L6-v2),
BLEU, and N_w (the mean probability that a sampled word is unchanged). It also has the share of stop words, because a
language model rates a text of stop words as fluent. Some texts of the first seed have the perplexity under a causal
language model (--judge), and the share of replaced words that each attacker of ``attacks.best`` recovers. Differences
from DP-MLM are paired over texts at the same ε. They are to the best of its six rows by that measure: three clipping
ranges, with and without post-processing, which spends no ε. Their p-values are corrected over all cells of a measure
(Holm).

    python -m dptext_core bench prior --data DIR --rows FILE --judge NAME --out assets/benchmarks/public_prior.json

FILE stores the rows with the rewritten texts, and an interrupted run continues from it. OUT stores the means.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from dptext_core.attacks import best, polish
from dptext_core.measure.budget import distribute
from dptext_core.measure.metrics import score
from dptext_core.mechanisms.base import Mechanism, Prepared, check_mechanism
from dptext_core.mechanisms.capabilities import sampled_tokens
from dptext_core.mechanisms.masked.dp_mlm import DPMLM
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.mechanisms.setting import Setting
from dptext_core.models import causal
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import RewriteResult
from dptext_core.support.statistics import NORMAL, half_width, holm, two_sided
from dptext_core.text.document import Document
from dptext_core.text.lexicon import Lexicon
from dptext_core.text.lexicons import stop_words

from ..results.measurement import markdown
from ..results.public_prior import LOGARITHMS, MEASUREMENT, STRONGEST, PriorRow
from ..runner import data_sets
from ..runner.options import OutFile, options_in, parser, which_stop_words
from .blocks import drop_cut_line
from .clipping import ends

#: The width of DP-MLM's clipping range that preserves most meaning up to an ε, in standard deviations. It was chosen on
#: 300 training sentences of SST-2 (``bench clipping --train --max-texts 300``), which are not measured here.
WIDTH_BY_EPSILON = ((15.0, 3.0), (math.inf, 6.0))


@dataclass(frozen=True)
class System:
    """A measured system. by_epsilon: whether the clipping range is the best at each ε. spread: whether words share the
    text's total ε by their public context. polished: whether it is post-processed. beside: the systems to compare with;
    the best at each ε and measure counts."""

    setting: Setting
    by_epsilon: bool = False
    spread: bool = False
    polished: bool = False
    beside: tuple[str, ...] = ()

    def at(self, epsilon: float, options: Mapping[str, Any]) -> Mechanism:
        m = get_mechanism(self.setting.mechanism, **{**options, **self.setting.options, "epsilon": epsilon})
        if self.by_epsilon:
            width = next(w for most, w in WIDTH_BY_EPSILON if epsilon <= most)
            low, high = ends(cast(DPMLM, m), [width])[width]
            m = m.replace(clip_min=low, clip_max=high)
        check_mechanism(m)
        return m


_RANGES = {
    "tuned range": System(Setting("dp-mlm", {"clip": "tuned"})),
    "paper's range": System(Setting("dp-mlm", {"clip": "paper"})),
    "range by ε": System(Setting("dp-mlm"), by_epsilon=True),
}
_DPMLM = {f"DP-MLM, {name}": s for name, s in _RANGES.items()}
_DPMLM |= {f"{name}, cleaned up": replace(s, polished=True) for name, s in _DPMLM.items()}
_ALL_WORDS, _PRIOR = "DP-MLM, all words sampled", "with prior, parallel"
SYSTEMS = _DPMLM | {
    _PRIOR: System(Setting("dp-mlm-prior"), beside=tuple(_DPMLM)),
    "with prior, parallel, cleaned up": System(Setting("dp-mlm-prior"), polished=True, beside=tuple(_DPMLM)),
    "with prior, sequential": System(Setting("dp-mlm-prior", {"order": "sequential"}), beside=tuple(_DPMLM)),
    "with prior, uneven budget": System(Setting("dp-mlm-prior"), spread=True, beside=(_PRIOR,)),
    _ALL_WORDS: System(Setting("dp-mlm", {"keep_stopwords": False})),
    "with prior, all words sampled": System(Setting("dp-mlm-prior", {"keep_stopwords": False}), beside=(_ALL_WORDS,)),
    "SanText": System(Setting("santext")),
    "SanText with prior": System(Setting("santext", {"prior": "skeleton"}), beside=("SanText",)),
}
EPSILONS = (5.0, 10.0, 15.0, 25.0, 50.0)
#: Texts of each data set, words of a text, seeds, and numbers of texts of the first seed to judge and to attack.
TEXTS: Mapping[str, int] = {"sst2": 200, "snips": 100}
MOST_WORDS, SEEDS, JUDGED, ATTACKED = 40, (1, 2), 100, 40
#: Measures: more is better (1), less is better (−1), or neither (0).
BETTER = {
    "cosine": 1,
    "bleu": 1,
    "judge_perplexity": -1,
    "stop_words": 0,
    "n_w": 0,
    STRONGEST: -1,
    **dict.fromkeys(best.ASKED, -1),
}


def rewrite_texts(
    mechanism: Mechanism, prepared: Sequence[Prepared], texts: Sequence[str], seed: int, spread: bool = False
) -> list[tuple[Mechanism, RewriteResult]]:
    """Return one rewrite of every text with separate noise, and its mechanism. spread: see :class:`System`."""
    stream = NoiseStream(seed)
    if spread:
        each = [_distribute_budget(mechanism, p) for p in prepared]
        return [(m, m.rewrite(p, stream=stream.at(k))) for k, (m, p) in enumerate(zip(each, prepared, strict=True))]
    if "sweep" not in mechanism.can:  # words are sampled in sequence
        return [(mechanism, r) for r in mechanism.rewrite(list(texts), stream=stream)]
    return [(mechanism, mechanism.rewrite(p, stream=stream.at(k))) for k, p in enumerate(prepared)]


def _distribute_budget(mechanism: Mechanism, prepared: Prepared) -> Mechanism:
    if not (drawn := sampled_tokens(mechanism, prepared)):
        return mechanism
    total = mechanism.config.epsilon * len(drawn)
    return mechanism.replace(epsilon=distribute(mechanism, prepared, total, "public").epsilons)


def measure_texts(
    originals: Sequence[str],
    results: Sequence[tuple[Mechanism, RewriteResult]],
    texts: Sequence[str],
    attacked: int = 0,
) -> dict[str, list]:
    """Return cosine, BLEU and N_w of each text, and for the first ``attacked`` texts the share of words recovered.

    The share is of the replaced words, by attacker. Missing values are NaN. texts: the released texts."""
    out: dict[str, list] = {name: [float(x) for x in score(name, originals, texts)] for name in ("cosine", "bleu")}
    out["n_w"] = [_mean([d.p_keep() for _, d in r.distributions()]) for _, r in results]
    if attacked:
        guesses = [best.guesses(m, r)[0] for m, r in results[:attacked]]
        for name in best.ASKED:
            shares = [_mean([float(hit) for hit in hits.get(name, ())]) for hits in guesses]
            out[name] = [*shares, *[math.nan] * (len(results) - len(guesses))]
    return out


def stop_word_shares(texts: Sequence[str], stop: Lexicon) -> list[float]:
    """Return the share of stop words among the words of each text (NaN without words)."""
    shares = []
    for text in texts:
        words = [t.text for t in Document.parse(text).tokens if t.kind == "word"]
        shares.append(_mean([float(w in stop) for w in words]))
    return shares


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def run(
    names: Sequence[str],
    systems: Sequence[str],
    epsilons: Sequence[float],
    seeds: Sequence[int],
    folder: Path | None,
    rows: Path,
    options: Mapping[str, Any],
    sizes: Mapping[str, int] = TEXTS,
) -> Iterator[dict[str, Any]]:
    """Measure the missing points and append each to the file of rows."""
    done = {_key(row) for row in read_rows(rows)}
    drop_cut_line(rows)
    for name in names:
        data = data_sets.load(name, folder, n_test=sizes.get(name), max_words=MOST_WORDS)
        texts = [data.texts[i][0] for i in data.test]
        for system in systems:
            prepared: list[Prepared] = []
            for epsilon in epsilons:
                m = SYSTEMS[system].at(float(epsilon), options)
                for seed in seeds:
                    if (name, system, float(epsilon), seed) in done:
                        continue
                    prepared = prepared or list(m.prepare_many(texts))
                    start, polished = time.perf_counter(), SYSTEMS[system].polished
                    rewrites = rewrite_texts(m, prepared, texts, seed, SYSTEMS[system].spread)
                    out = [polish.polish(r, m).text if polished else r.text for m, r in rewrites]
                    # Attackers read the release without post-processing.
                    attacked = ATTACKED if seed == SEEDS[0] and not polished else 0
                    measures = measure_texts(texts, rewrites, out, attacked)
                    row = {
                        "data": name,
                        "system": system,
                        "epsilon": float(epsilon),
                        "seed": seed,
                        "seconds": round(time.perf_counter() - start, 2),
                        "sha256": data.sha256,
                        "texts": out,
                        "measures": measures,
                    }
                    with rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    yield row


def _key(row: Mapping[str, Any]) -> tuple[str, str, float, int]:
    return row["data"], row["system"], row["epsilon"], row["seed"]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the points of a file without an incomplete last line."""
    if not path.is_file():
        return []
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            continue
    return out


def judge_rows(
    path: Path, judge: Callable[[Sequence[str]], Sequence[float]], name: str = ""
) -> Iterator[tuple[int, int]]:
    """Add the missing log perplexities of the first texts to the rows of the first seed, with the judge's name.

    Yields the numbers of finished rows and of all rows."""
    rows = read_rows(path)
    known: dict[str, float] = {}
    for k, row in enumerate(rows):
        if "judge_perplexity" not in row["measures"] and row["seed"] == SEEDS[0]:
            new = [text for text in dict.fromkeys(row["texts"][:JUDGED]) if text not in known]
            known.update(zip(new, judge(new), strict=True))
            row["measures"]["judge_perplexity"] = [known.get(t, math.nan) for t in row["texts"]]
            row["judge"] = name
            beside = path.with_suffix(".new")
            beside.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
            beside.replace(path)
        yield k + 1, len(rows)


def means(rows: Sequence[Mapping[str, Any]]) -> list[PriorRow]:
    """Return each measure of each system at each ε, with its paired difference from the compared system."""
    values: dict[tuple[str, str, float, str], list[np.ndarray]] = {}
    for row in rows:
        for measure, per_text in row["measures"].items():
            key = (row["data"], row["system"], row["epsilon"], measure)
            values.setdefault(key, []).append(np.array(per_text, float))
    per: dict[tuple[str, str, float, str], np.ndarray] = {
        k: _over_seeds(v) for k, v in values.items() if not all(np.isnan(x).all() for x in v)
    }
    for name, system, epsilon in dict.fromkeys(key[:3] for key in per):
        shares = {who: per[name, system, epsilon, who] for who in best.ASKED if (name, system, epsilon, who) in per}
        if shares:
            strongest = best.strongest({who: float(np.nanmean(x)) for who, x in shares.items()})
            per[name, system, epsilon, STRONGEST] = shares[strongest]
            values[name, system, epsilon, STRONGEST] = [shares[strongest]]
    out = []
    for key, mine in per.items():
        name, system, epsilon, measure = key
        others = [o for o in SYSTEMS[system].beside if (name, o, epsilon, measure) in per]
        sign = BETTER[measure] or 1
        top = max(others, key=lambda o: sign * float(np.nanmean(per[name, o, epsilon, measure])), default="")
        apart = mine - per[name, top, epsilon, measure] if top else None
        mean, half, n = _interval(mine)
        both = (None, None) if apart is None else _interval(apart)[:2]
        out.append(PriorRow(name, system, epsilon, measure, mean, half, n, len(values[key]), top, *both))
    return _correct_for_cells(out)


def _over_seeds(per_seed: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of each text over its seeds (NaN without any)."""
    x = np.stack(per_seed)
    count = np.isfinite(x).sum(0)
    return np.where(count, np.nansum(x, axis=0) / np.maximum(count, 1), math.nan)


def _correct_for_cells(rows: Sequence[PriorRow]) -> list[PriorRow]:
    """Return the rows with p-values that are corrected over all cells of a system and measure."""
    cells: dict[tuple[str, str], list[int]] = {}
    for k, m in enumerate(rows):
        if m.difference is not None:
            cells.setdefault((m.system, m.measure), []).append(k)
    out = list(rows)
    for places in cells.values():
        for k, p in zip(places, holm([_p(rows[k]) for k in places]), strict=True):
            out[k] = replace(rows[k], p=p)
    return out


def _p(m: PriorRow) -> float:
    """Return the two-sided p-value of a difference from its 95% interval."""
    assert m.difference is not None and m.difference_half is not None
    if not m.difference_half:
        return 1.0 if m.difference == 0 else 0.0
    return two_sided(m.difference / m.difference_half * NORMAL)


def _interval(x: np.ndarray) -> tuple[float, float, int]:
    x = x[np.isfinite(x)]
    return float(x.mean()), half_width(x), len(x)


def table(cells: Sequence[PriorRow], name: str, measures: Sequence[str]) -> str:
    """Return a Markdown table of one data set, one row for each ε and system."""
    at = {(m.epsilon, m.system, m.measure): m for m in cells if m.data == name}
    have = [m for m in measures if any(k[2] == m for k in at)]
    points = sorted({k[:2] for k in at}, key=lambda k: (k[0], list(SYSTEMS).index(k[1])))
    rows = ([f"{e:g}", system, *(_cell(at.get((e, system, measure))) for measure in have)] for e, system in points)
    return markdown(["ε", "system", *(h.replace("_", " ") for h in have)], rows)


def _cell(m: PriorRow | None) -> str:
    if m is None:
        return ""
    logarithm = m.measure in LOGARITHMS
    shown = f"{math.exp(m.mean):,.0f}" if logarithm else f"{m.mean:.1f}" if m.measure == "bleu" else f"{m.mean:.3f}"
    if m.difference is None or m.difference_half is None:
        return shown
    star = "*" if m.significance else ""
    if logarithm:
        low, high = (math.exp(m.difference + s * m.difference_half) for s in (-1, 1))
        return f"{shown} (× {low:.2f} to {high:.2f}{star})"
    return f"{shown} ({m.difference:+.3f} ± {m.difference_half:.3f}{star})"


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench prior``."""
    takes = parser("prior", __doc__, "data", "stopwords", "out")
    takes.add_argument("--sets", nargs="+", default=list(TEXTS), help=f"{' and '.join(TEXTS)} by default")
    takes.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="SYSTEM")
    takes.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    takes.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    takes.add_argument("--max-texts", type=int, help=f"number of texts of each set (default: {dict(TEXTS)})")
    takes.add_argument(
        "--rows", action=OutFile, required=True, help="file of measured points; a stopped run continues from it"
    )
    takes.add_argument(
        "--judge", metavar="NAME", help=f"causal language model for perplexity: a folder, or {causal.JUDGE}"
    )
    takes.add_argument("--judge-name", help="name of the judge (default: its own name, or its folder's)")
    args = takes.parse_args(argv)
    sizes = TEXTS if args.max_texts is None else dict.fromkeys(args.sets, args.max_texts)
    if args.judge:
        causal.judge_folder(args.judge)  # a missing judge fails before hours of measurement
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
    cells = means(rows)
    for name in args.sets:
        print(f"\n{name}\n\n{table(cells, name, list(BETTER))}")
    about = MEASUREMENT.about(
        model="bundled",
        seeds=sorted({r["seed"] for r in rows}),
        texts={r["data"]: len(r["texts"]) for r in rows},
        sha256={r["data"]: r["sha256"] for r in rows},
        judge="; ".join(sorted({r["judge"] for r in rows if r.get("judge")})),
        stopwords=which_stop_words(args),
    )
    MEASUREMENT.write(args.out, cells, about)
    return 0
