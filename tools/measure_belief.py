"""Check what a reader believes against Bayes' rule and against simulated readers, and time it.

python tools/measure_belief.py

Prints a row for each mechanism that states how likely its rewrites are. Bayes' rule: the largest difference of a
posterior from the product of the stated probabilities of all sampled places, computed here from ``m.distribution``.
Simulated: how often the reader's guess is right when the true text is drawn from the prior, with its 95% interval,
beside the expected success. Times are CPU time: the passes of a question, which serve every ε, and one belief.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import dptext_core as dpt
from dptext_core.attacks.expected_belief import success_by_releases
from dptext_core.support.statistics import clopper_pearson
from dptext_core.support.task import UNWATCHED

TEXT, FACT, OTHERS = "Her brother died of heart disease in March.", "heart", ("lung", "kidney", "liver")
EPSILONS = {"dp-mlm": 20.0, "dp-mlm-prior": 15.0, "custext": 4.0, "santext": 12.0, "santext-plus": 12.0, "tem": 12.0}
EPSILONS |= {"diffractor": 0.3, "dp-sentence": 25.0}
SIMULATED, COMPARED, SEED = 400, 5, 1
#: Mechanisms whose places are sampled independently by a stated distribution.
INDEPENDENT = ("dp-mlm", "custext", "santext", "santext-plus", "tem", "diffractor")


def by_bayes(m: dpt.Mechanism, result: dpt.RewriteResult, texts: list[str]) -> np.ndarray:
    """Return the posterior of equally likely texts, from the stated distribution of every place."""
    log = np.zeros(len(texts))
    for j, text in enumerate(texts):
        for i, step in enumerate(result.steps):
            if step.action == "replace":
                d = m.distribution(text, i)
                at = [k for k, word in enumerate(d.candidates) if word.casefold() == step.replacement.casefold()]
                log[j] += np.log(d.probs[at].sum()) if at and d.probs[at].sum() > 0 else -np.inf
    p = np.exp(log - log.max())
    return p / p.sum()


def simulated(m: dpt.Mechanism, question: dpt.BeliefQuestion, texts: list[str], n: int) -> tuple[int, int]:
    """Return how often the reader's guess is right, and of how many rewrites."""
    right = 0
    for j, text in enumerate(texts):
        for result in m.rewrites(text, n // len(texts), seed=SEED + j):
            right += int(question.answer([result]).posterior.argmax()) == j
    return right, n // len(texts) * len(texts)


def row(name: str) -> tuple[str, ...]:
    """Return the measured row of one mechanism."""
    m = dpt.get_mechanism(name, epsilon=EPSILONS[name])
    texts = [TEXT.replace(FACT, word) for word in (FACT, *OTHERS)]
    m.rewrite(TEXT)  # loads what it needs
    start = time.process_time()
    question = dpt.BeliefQuestion.make(m, TEXT, FACT, OTHERS)
    passes = time.process_time() - start
    results = list(m.rewrites(TEXT, COMPARED, seed=SEED))
    largest = "–"
    if name in INDEPENDENT:
        found = [np.abs(question.answer([r]).posterior - by_bayes(m, r, texts)).max() for r in results]
        largest = f"{max(found):.0e}"
    start = time.process_time()
    question.answer(results[:1])
    once = time.process_time() - start
    (expected,) = success_by_releases(m, question, (1,), SIMULATED, dpt.NoiseStream(SEED), UNWATCHED)
    right, n = simulated(m, question, texts, SIMULATED)
    low, high = clopper_pearson(right, n)
    value = f"{expected.value:.1%}" + ("" if not expected.draws else f" ({expected.draws} releases)")
    return (
        name,
        f"{m.config.epsilon:g}",
        largest,
        value,
        f"{right / n:.1%} ({low:.1%} to {high:.1%}, {n})",
        f"{1000 * passes:.0f} ms",
        f"{1000 * once:.0f} ms",
    )


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    head = ("mechanism", "ε", "Bayes' rule", "expected success", "simulated", "passes", "one belief")
    print(" | ".join(("", *head, "")).strip())
    print("|---" * len(head) + "|")
    for name in EPSILONS:
        print(" | ".join(("", *row(name), "")).strip(), flush=True)


if __name__ == "__main__":
    main()
