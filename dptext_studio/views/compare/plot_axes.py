"""Axes of the trade-off plot: utility and privacy."""

from __future__ import annotations

KEPT = ("cosine", "bleu", "unchanged", "bertscore")
HIDDEN = {
    "certainty": "Certainty of the optimal reader",
    "best": "Strongest attacker",
    "n_w": "Probability that a word is unchanged (N_w)",
    "bayes": "Bayes-optimal guess",
    "two_texts": "Two texts distinguished",
    "unchanged": "Words unchanged",
    "epsilon": "ε alone",
}
HIDDEN_HELP = (
    "What readers, attackers or classifiers find out on average, or how many words are unchanged. “ε alone” is the "
    "number in the guarantee, which is not comparable between mechanisms."
)
#: The initial value of the limit, in percent.
LIMITS = {"certainty": 50, "best": 40, "n_w": 30, "bayes": 30, "two_texts": 75, "unchanged": 60}
