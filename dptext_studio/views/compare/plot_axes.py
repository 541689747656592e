"""Axes of the trade-off plot: what is preserved, and what is hidden."""

from __future__ import annotations

from ...figures.glossary import definition

KEPT = ("cosine", "bleu", "unchanged", "bertscore")
HIDDEN = {
    "best": "Best of all attackers",
    "n_w": "Chance of staying (N_w)",
    "bayes": "Best guess of an attacker",
    "two_texts": "Two texts told apart",
    "unchanged": "Words unchanged",
    "epsilon": "ε alone",
}
HIDDEN_HELP = (
    "Best of all attackers: how often the one that finds most names a drawn word; of same word, nearest word, best "
    f"guess, language model and reader, on rewrites of the same text. N_w: {definition('N_w')} Best guess: how often "
    "the best attacker guesses a drawn word from its replacement. Two texts: how often classifiers tell a rewrite from "
    "one of your text with one other word, for mechanisms that write a new text too; it takes many rewrites a mark. Words "
    f"unchanged: counted in the rewrites, kept words included. ε alone: what is promised. {definition('ε')}"
)
#: Where the limit begins, in percent.
LIMITS = {"best": 40, "n_w": 30, "bayes": 30, "two_texts": 75, "unchanged": 60}
