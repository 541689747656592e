"""Axes of the trade-off plot: utility and privacy."""

from __future__ import annotations

from ...figures.glossary import definition

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
    "Certainty: how often a reader who knows every other word guesses one fact of your text, on average over rewrites. "
    "Strongest attacker: the share of replaced words that it guesses, out of several attackers on rewrites of the same "
    f"text. N_w: {definition('N_w')} Bayes-optimal guess: how often the optimal attacker guesses a replaced word from "
    "its replacement. Two texts: how often classifiers distinguish a rewrite from one of your text with one other "
    "word; this needs many rewrites for each mark. Words unchanged: counted in the rewrites, kept words included. "
    f"ε alone: the number in the guarantee. {definition('ε')}"
)
#: The initial value of the limit, in percent.
LIMITS = {"certainty": 50, "best": 40, "n_w": 30, "bayes": 30, "two_texts": 75, "unchanged": 60}
