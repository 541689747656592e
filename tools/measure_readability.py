"""Print what the public clean-up changes: readability, meaning, two attackers and a reader's belief, before and after.

Rewrites 50 sentences of SST-2 and the first two sentences of 50 reviews, each once with and once without the clean-up
(``recase="public"`` and ``"sentence"``), with the same noise. Intervals are 95%, over texts.

DPTEXT_DATA=FOLDER python tools/measure_readability.py [--texts 50] [--seed 1]
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import dptext_core as dpt
from dptext_core.attacks.alternatives import suggest_alternatives
from dptext_core.attacks.mask_inference import LanguageModel
from dptext_core.attacks.nearest import NearestWords
from dptext_core.attacks.which_text import content_words
from dptext_core.support.statistics import student
from dptext_core.text.document import Document

ATTACKERS = (LanguageModel(), NearestWords())
#: By attacker, the rank of a guess that is right.
RIGHT = {"language-model": 1, "nearest-words": 0}
OTHERS = 3
COLUMNS = ("ln perplexity", "cosine", *(a.name for a in ATTACKERS), "belief")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=50, help="of each data set")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    texts = read_texts(Path(os.environ["DPTEXT_DATA"]), args.texts)
    print(f"{len(texts)} texts, seed {args.seed}\n")
    print(f"| mechanism | clean-up | {' | '.join(COLUMNS)} |")
    print("|---" * (len(COLUMNS) + 2) + "|", flush=True)
    for surrogates, epsilons in ((False, (25.0, 50.0)), (True, (50.0,))):
        for epsilon, before, after in measure(texts, args.seed, surrogates, epsilons):
            title = f"DP-MLM{' with stand-ins' * surrogates}, ε = {epsilon:g}"
            for name, cells in (("no", before), ("yes", after), ("difference", after - before)):
                print(f"| {title} | {name} | {' | '.join(map(mean_and_interval, cells.T))} |", flush=True)


def read_texts(folder: Path, n: int) -> list[tuple[str, str, list[str]]]:
    """Return the first n texts of each data set that have a fact, with it and its alternatives."""
    return [
        found
        for texts in (sentences(folder), reviews(folder))
        for found, _ in zip(with_facts(texts), range(n), strict=False)
    ]


def sentences(folder: Path) -> Iterator[str]:
    """Yield the test sentences of SST-2."""
    with (folder / "sst2" / "test.tsv").open(encoding="utf-8") as file:
        for line in list(file)[1:]:
            yield line.partition("\t")[0].strip()


def reviews(folder: Path) -> Iterator[str]:
    """Yield the first two sentences of the test reviews."""
    with (folder / "reviews" / "test.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            document = Document.parse(row["text"])
            yield row["text"][: document.sentences[:2][-1][1]]


def with_facts(texts: Iterator[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield texts of 5 to 50 tokens with their rarest content word that has alternatives."""
    planner = dpt.get_mechanism("dp-mlm")
    for text in texts:
        if not 5 <= len(Document.parse(text).words) <= 50:
            continue
        for word in content_words(planner, text):
            try:
                others = suggest_alternatives(word, planner, OTHERS)
            except dpt.InputError:
                continue
            if len(others) == OTHERS:
                yield text, word, list(others)
                break


def measure(
    texts: list[tuple[str, str, list[str]]], seed: int, surrogates: bool, epsilons: tuple[float, ...]
) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Yield for each ε a row for each text without and with the clean-up, float64 (texts, columns).

    A measure that has nothing to look at is nan.
    """
    m = dpt.get_mechanism("dp-mlm", surrogates=surrogates)
    questions = [dpt.BeliefQuestion.make(m, *text) for text in texts]
    for epsilon in epsilons:
        both = [m.replace(epsilon=epsilon, recase=recase) for recase in ("sentence", "public")]
        rows: tuple[list[list[float]], ...] = ([], [])
        for i, question in enumerate(questions):
            same: dict[str, list[float]] = {}
            for made, own in zip(rows, both, strict=True):
                r = own.rewrite(question.prepared[0], stream=dpt.NoiseStream(seed).at(i))
                # The models read no capitals.
                if (key := r.text.casefold()) not in same:
                    same[key] = judge(own, r)
                belief = replace(question, mechanism=own).answer(r).posterior[0]
                made.append([*same[key], float(belief)])
        yield epsilon, np.array(rows[0], np.float64), np.array(rows[1], np.float64)


def judge(m: dpt.Mechanism, r: dpt.RewriteResult) -> list[float]:
    """Return all measures of a rewrite but the belief."""
    perplexity = dpt.metrics.score("perplexity", [r.original], [r.text])[0]
    cosine = dpt.metrics.score("cosine", [r.original], [r.text])[0]
    return [math.log(perplexity), cosine, *(_recovered(a, m, r) for a in ATTACKERS)]


def _recovered(attacker: LanguageModel | NearestWords, m: dpt.Mechanism, r: dpt.RewriteResult) -> float:
    """Return the share of the sampled words that an attacker recovers, without stand-ins; NaN where there are none."""
    ranks = [guess.rank for guess in attacker.attack(m, r).guesses if r.steps[guess.step].depends_on_original]
    return float(np.mean([rank == RIGHT[attacker.name] for rank in ranks])) if ranks else math.nan


def mean_and_interval(values: np.ndarray) -> str:
    """Return a mean with the ends of its 95% interval."""
    known = values[np.isfinite(values)]
    n = len(known)
    half = student(n) * known.std(ddof=1) / math.sqrt(n)
    return f"{known.mean():.3f} ({known.mean() - half:.3f} to {known.mean() + half:.3f})"


if __name__ == "__main__":
    main()
