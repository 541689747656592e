"""Choose the public clipping range of every mechanism by one criterion, on public text that no benchmark uses.

Run:  python tools/choose_clip.py dp-mlm dp-prompt --texts heldout_wikitext2_test.txt --seed 1

The texts are --max-texts evenly spread sentences of 8 to 16 words. Every setting rewrites them with the same noise, at
the ε of the mechanism in the full grid. The criterion of a text is the judge's score of its rewrite, averaged over ln ε
(trapezoids). The judge is the cosine of the bundled word2vec vectors, weighted by inverse document frequency: no
result reports it, and no tuned mechanism contains these vectors. Printed are the mean over texts, its standard error,
the paired difference from the best setting, and Tukey's p-value of that difference among all settings.

A range begins LOW and ends HIGH standard deviations σ above the mean μ of the model's scores. DP-BART has one bound C.
--match compares the chosen range with the present and the paper's one at equal probability of the unchanged word (a
generator's best token). --likeness compares λ of post-processing, and rewrites without it, instead of ranges. --write
puts the chosen range into the model's spec.json or dptext.json.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dptext_core as dpt
from dptext_core.attacks import polish
from dptext_core.mechanisms.registry import fields_of
from dptext_core.models import estimate_clip_range, estimate_generator_clip
from dptext_core.models.registry import masked_lm_spec
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.statistics import half_width
from dptext_core.text.document import Document
from dptext_lab.results.measurement import markdown, plus_minus
from dptext_lab.results.selection import range_tail
from dptext_lab.runner.grid import GRIDS

LOW, HIGH = (0.0, 1.0, 2.0, 3.0, 4.0), (3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
#: Bounds of DP-BART, as multiples of the present one.
BOUNDS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
LIKENESS = (0.0, 4.0, 8.0, 12.0, 16.0, 24.0, 48.0)
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
SIGNIFICANT = 0.05
#: A range beyond all scores.
WIDE = {"clip_min": -100.0, "clip_max": 100.0}


def sentences(path: Path) -> list[str]:
    """Sentences of 8 to 16 words without headings, joined numbers and gaps of unknown words."""
    parts = [s.strip() for s in re.split(r"(?<= [.!?])\s", path.read_text(encoding="utf-8"))]
    return [s for s in parts if 8 <= len(s.split()) <= 16 and not re.search(r"  |[=@\n]|<unk>", s) and s[-1] in ".!?"]


def spread(items: Sequence[str], n: int) -> list[str]:
    """``n`` evenly spread items."""
    return [items[i] for i in np.linspace(0, len(items) - 1, min(n, len(items))).astype(int)]


class Judge:
    """Cosine of two texts by word vectors, weighted by the inverse document frequency in public texts."""

    def __init__(self, texts: Sequence[str]):
        self.space = dpt.word_space("word2vec")
        self.centre = self.space.vectors.mean(axis=0, dtype=np.float64)
        self.texts, self.found = len(texts), Counter(w for t in texts for w in set(words(t)))

    def vector(self, text: str) -> np.ndarray:
        """The weighted sum of the centred unit vectors of the known words."""
        known = [w for w in words(text) if w in self.space]
        vectors = self.space.vectors[self.space.rows(known)] - self.centre
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.array([math.log((self.texts + 1) / (self.found[w] + 1)) for w in known]) @ vectors

    def __call__(self, originals: Sequence[str], rewrites: Sequence[str]) -> np.ndarray:
        """The cosine of each pair, 0 without known words."""
        out = []
        for one, other in zip(originals, rewrites, strict=True):
            a, b = self.vector(one), self.vector(other)
            size = float(np.linalg.norm(a) * np.linalg.norm(b))
            out.append(float(a @ b) / size if size else 0.0)
        return np.array(out)


def words(text: str) -> list[str]:
    return [t.text.lower() for t in Document.parse(text).tokens if t.kind == "word"]


def stated(name: str) -> tuple[float, ...]:
    """The ε of a mechanism on the main data set of the full grid."""
    points = [p for p in GRIDS["full"].points() if p.mechanism == name and p.data == "sst2"]
    return tuple(sorted({p.epsilon for p in points if p.epsilon is not None}))


def objective(epsilons: Sequence[float], values: np.ndarray) -> np.ndarray:
    """The mean over ln ε of the first axis."""
    at = list(zip(epsilons, values, strict=True))
    return sum((b + a) / 2 * math.log(f / e) for (e, a), (f, b) in pairwise(at)) / math.log(epsilons[-1] / epsilons[0])


# --- settings


@dataclass(frozen=True)
class Candidate:
    """One setting. likeness: λ of the post-processing of its rewrites (None: without)."""

    title: str
    options: Mapping[str, float]
    likeness: float | None = None


def writes(m: Any) -> bool:
    """Whether a mechanism writes with a generator."""
    return hasattr(m, "greedy_scores")


def moments(m: Any, texts: Sequence[str]) -> tuple[float, float]:
    """μ and σ of the model's scores: of its known paper's range, which ends at μ + 4σ, or else of the texts."""
    if paper := m.known_ranges(m.config.model).get("paper"):
        return paper.low, (paper.high - paper.low) / 4
    estimate = estimate_generator_clip(texts, m) if writes(m) else estimate_clip_range(texts, m.config.model)
    return estimate.mean, estimate.deviation


def has_range(m: Any) -> bool:
    """Return whether a mechanism or its class has a clipping range, not a bound."""
    return hasattr(m, "known_ranges")


def candidates(m: Any, texts: Sequence[str]) -> list[Candidate]:
    """The settings to compare: ranges, or bounds."""
    if not has_range(m):
        return [Candidate(f"C × {x:g}", {"bound": x * m.config.bound}) for x in BOUNDS]
    mean, deviation = moments(m, texts)
    return [
        Candidate(_title(a, b), {"clip_min": mean + a * deviation, "clip_max": mean + b * deviation})
        for a in LOW
        for b in HIGH
        if b > a
    ]


def _title(a: float, b: float) -> str:
    return f"μ{f' + {a:g}σ' if a else ''} to μ + {b:g}σ"


def tuned_mechanism(name: str, model: str, stopwords: str | None) -> Any:
    """The mechanism, with a range in which nothing ties if none is known for the model."""
    cls: Any = dpt.mechanism_class(name)
    options: dict[str, Any] = {"model": model}
    if stopwords and "stopwords" in fields_of(name):
        options["stopwords"] = stopwords
    if has_range(cls) and not cls.known_ranges(model):
        options |= WIDE
    return cls.create(**options)


def place(options: Mapping[str, float], among: Sequence[Candidate]) -> int:
    """The candidate nearest to these options."""
    away = [max(abs(float(c.options[k]) - v) for k, v in options.items()) for c in among]
    return int(np.argmin(away))


# --- measurement


def rewriter(m: Any, texts: Sequence[str]) -> Callable[[Candidate, float, NoiseStream], list[str]]:
    """A function that rewrites the texts with a setting. What no setting changes is prepared once."""
    prepared = [m.prepare(t) for t in texts] if m.slow_to_prepare else None

    def rewrite(candidate: Candidate, epsilon: float, stream: NoiseStream) -> list[str]:
        at = m.replace(epsilon=epsilon, **candidate.options)
        if prepared is None:
            every = at.rewrite(list(texts), stream=stream)
        else:
            every = [at.rewrite(p, stream=stream.at(k)) for k, p in enumerate(prepared)]
        if candidate.likeness is None:
            return [r.text for r in every]
        usual, polish.LIKENESS = polish.LIKENESS, candidate.likeness
        try:
            return [r.polished(at).text for r in every]
        finally:
            polish.LIKENESS = usual

    return rewrite


@dataclass(frozen=True)
class Compared:
    """A setting among others. number: its row. mean, error: its criterion. behind: paired difference from the best,
    with its error and Tukey's p-value."""

    number: int
    mean: float
    error: float
    behind: float
    behind_error: float
    p: float


def compare(values: np.ndarray) -> list[Compared]:
    """Compare settings with the best by their criterion of each text, values (settings, texts). Best first."""
    best = values[int(np.argmax(values.mean(axis=1)))]
    out = []
    for number, own in enumerate(values):
        apart = own - best
        error = _error(apart)
        p = range_tail(abs(float(apart.mean())) / error if error else 0.0, len(values))
        out.append(Compared(number, float(own.mean()), _error(own), float(apart.mean()), error, p))
    return sorted(out, key=lambda c: -c.mean)


def show(titles: Sequence[str], values: np.ndarray, present: int) -> int:
    """Print the settings, best first, and return the number of the best."""
    found = compare(values)
    rows = [
        [
            titles[c.number] + (" (present)" if c.number == present else ""),
            f"{c.mean:.3f} ± {c.error:.3f}",
            f"{c.behind:.3f} ± {c.behind_error:.3f}",
            f"{c.p:.3f}",
        ]
        for c in found
    ]
    print(markdown(["setting", "criterion ± SE", "minus the best ± SE", "p"], rows))
    alike = sum(c.p >= SIGNIFICANT for c in found)
    print(f"\nNot significantly worse than the best: {alike} of {len(found)}.", flush=True)
    return found[0].number


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def levels(m: Any, texts: Sequence[str]) -> list[tuple[np.ndarray, str | None]]:
    """The raw scores of every draw with the word that stands there (None: a generator's, along its best tokens)."""
    if writes(m):
        # In a range as wide as this, no tokens tie.
        wide = m.replace(**WIDE)
        return [(row, None) for text in texts for row in wide.greedy_scores(text)]
    out = []
    for p in map(m.prepare, texts):
        rows = p.logits([(i, False) for i in p.targets])
        out += [(row, p.document.tokens[i].text) for i, row in zip(p.targets, rows, strict=True)]
    return out


def epsilon_at(m: Any, draws: Sequence[tuple[np.ndarray, str | None]], level: float) -> float | None:
    """The ε at which words are unchanged with this mean probability, None if there is none up to 1,000."""

    def kept(epsilon: float) -> float:
        return float(np.mean([m.keep_probability(row, source, epsilon) for row, source in draws]))

    low, high = 1.0, 1000.0
    if kept(high) < level:
        return None
    for _ in range(14):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if kept(middle) >= level else (middle, high)
    return high


# --- the command


def compare_settings(args: argparse.Namespace, name: str, judge: Judge, texts: Sequence[str]) -> None:
    """Measure the settings of one mechanism, and print them."""
    m = tuned_mechanism(name, args.model, args.stopwords)
    epsilons = tuple(args.epsilons or stated(name))
    settings = candidates(m, texts)
    known = not has_range(m) or m.known_ranges(m.config.model)
    now = place({k: getattr(m.config, k) for k in settings[0].options}, settings) if known else -1
    if args.likeness:
        settings, now = [Candidate(f"λ = {x:g}", {}, x) for x in LIKENESS], LIKENESS.index(polish.LIKENESS)
        settings.append(Candidate("without post-processing", {}))
    rewrite, values = rewriter(m, texts), []
    streams = [NoiseStream(args.seed).at("draw", d) for d in range(args.draws)]
    for candidate in settings:
        at = [np.mean([judge(texts, rewrite(candidate, e, s)) for s in streams], axis=0) for e in epsilons]
        values.append(objective(epsilons, np.stack(at)))
        print(f"  {name}, {candidate.title}: {values[-1].mean():.4f}", file=sys.stderr, flush=True)
    measured_at = ", ".join(f"{e:g}" for e in epsilons)
    print(f"\n{m.title}, ε {measured_at}, {len(texts)} texts, {args.draws} draws, seed {args.seed}\n")
    best = settings[show([c.title for c in settings], np.stack(values), now)]
    if args.match and has_range(m):
        others = [c for c in settings if c.title == _title(0, 4) or (known and c is settings[now])]
        compare_at_levels(m, [best, *(c for c in others if c is not best)], rewrite, judge, texts, streams)
    if args.write and has_range(m):
        write(m, best, texts)


def compare_at_levels(
    m: Any,
    ranges: Sequence[Candidate],
    rewrite: Callable[[Candidate, float, NoiseStream], list[str]],
    judge: Judge,
    texts: Sequence[str],
    streams: Sequence[NoiseStream],
) -> None:
    """Print the judge's scores of the ranges at equal probability of the same word, and differences from the first."""
    draws, rows = levels(m, texts), []
    for level in LEVELS:
        first = None
        for candidate in ranges:
            epsilon = epsilon_at(m.replace(**candidate.options), draws, level)
            if epsilon is None:
                continue
            scores = np.mean([judge(texts, rewrite(candidate, epsilon, s)) for s in streams], axis=0)
            first = scores if candidate is ranges[0] else first
            apart = None if first is None or first is scores else scores - first
            rows.append(
                [
                    f"{level:g}",
                    candidate.title,
                    f"{epsilon:.1f}",
                    plus_minus(float(scores.mean()), half_width(scores)),
                    "" if apart is None else plus_minus(float(apart.mean()), half_width(apart)),
                ]
            )
    print("\n" + markdown(["probability", "range", "ε", "score ± 95% CI", "minus the first ± 95% CI"], rows))


def folder_of(m: Any) -> Path:
    """The folder of a mechanism's model."""
    return m.generator().spec.folder if writes(m) else masked_lm_spec(m.config.model).folder


def write(m: Any, best: Candidate, texts: Sequence[str]) -> None:
    """Put the chosen range into the model's file, and the paper's if it has none."""
    folder = folder_of(m)
    path = next(folder / name for name in ("spec.json", "dptext.json") if (folder / name).is_file())
    spec = json.loads(path.read_text(encoding="utf-8"))
    if "clip_min" not in spec:
        mean, deviation = moments(m, texts)
        spec |= {"clip_min": round(mean, 4), "clip_max": round(mean + 4 * deviation, 4)}
        spec["clip_source"] = "μ to μ + 4σ of public texts"
    spec |= {"tuned_min": round(best.options["clip_min"], 4), "tuned_max": round(best.options["clip_max"], 4)}
    spec["tuned_source"] = f"{best.title} of public texts (tools/choose_clip.py)"
    path.write_text(json.dumps(spec, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("mechanisms", nargs="+")
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--stopwords", help="one word a line; else the default list")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--max-texts", type=int, default=60)
    parser.add_argument("--draws", type=int, default=1, help="rewrites of each text at each setting")
    parser.add_argument("--epsilons", type=float, nargs="+", metavar="E", help="instead of those of the grid")
    parser.add_argument("--likeness", action="store_true", help="compare λ of post-processing instead")
    parser.add_argument("--match", action="store_true", help="also compare at equal probability of the same word")
    parser.add_argument("--write", action="store_true", help="put the chosen range into the model's file")
    args = parser.parse_args()
    every = sentences(args.texts)
    judge, texts = Judge(every), spread(every, args.max_texts)
    every_word = [w for t in texts for w in words(t)]
    unknown = sum(w not in judge.space for w in every_word) / len(every_word)
    print(
        f"Score of another sentence: {judge(texts, texts[1:] + texts[:1]).mean():.3f}; words unknown to the judge: "
        f"{unknown:.1%}"
    )
    for name in args.mechanisms:
        compare_settings(args, name, judge, texts)


if __name__ == "__main__":
    main()
