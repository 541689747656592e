"""Titles of metrics for axes: utility, and what an attacker recovers."""

from __future__ import annotations

from dptext_core.measure.metrics.registry import measure

#: Titles in standard terms, with the metric in brackets.
TITLES = {
    "cosine": "Meaning preserved (cosine)",
    "bertscore": "Meaning preserved (BERTScore)",
    "bleu": "Word sequences preserved (BLEU)",
    "bleu_uncased": "Word sequences preserved (BLEU without case)",
    "chrf": "Letters preserved (chrF without case)",
    "unchanged": "Words unchanged",
    "accuracy": "Task accuracy",
    "label_kept": "Label recognised",
    "n_w": "Words unchanged (N_w)",
    "s_w": "Different words in 100 draws (S_w)",
    "belief": "Certainty of the optimal reader",
    "attack_best": "Words recovered by the strongest attacker",
    "attack_best_few": "Words recovered by the strongest of three attackers",
    "attack_two_texts": "Rewrites distinguished from those of another text",
    "attack_reader": "Words recovered by the contextual Bayes attacker",
    "attack_bayes": "Words recovered by the Bayes-optimal guess",
    "attack_nearest": "Originals among the ten nearest words",
    "attack_mask": "Words recovered by a language model",
    "attack_query": "Words recovered from 100 answers",
    "f1_static": "Authors recognised (F1, static attacker)",
    "f1_adaptive": "Authors recognised (F1, adaptive attacker)",
}


def metric_title(name: str, otherwise: str = "") -> str:
    """Return the title of a metric for an axis or a control; ``otherwise`` or the metric's own title if there is none
    here.
    """
    return TITLES.get(name) or otherwise or measure(name).title
