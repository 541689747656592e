"""BERTScore F1 of a rewrite against its original, on the fifth layer of all-MiniLM-L6-v2: -1 to 1.

Zhang et al. 2020: each word piece is matched with the most similar one of the other text (cosine of contextual
embeddings); precision is the mean over the rewrite's pieces, recall over the original's. No idf weights, no rescaling
with a baseline. As in the authors' package bert-score, [CLS] and [SEP] have no weight but can be matched; the numbers
equal those of ``bert_score.score(rewrites, originals, model_type=FOLDER, num_layers=5)``. That package uses the fifth
layer of other models with six layers. Compare only figures of the same model and layer: papers use larger models. Only
the first 512 pieces of a text are read. Two blank texts give 1, one blank text gives 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...models.sentence_encoder import hidden_states, pieces

LAYER = 5
MAX_PIECES = 512
# Number of pairs whose embeddings are in memory at once.
_PAIRS = 64


def score(originals: Sequence[str], rewrites: Sequence[str], device: str | None = None) -> list[float]:
    """Return BERTScore F1 of each rewrite. ``device``: "cuda", "mps", "cpu"; None: the best one."""
    scores: list[float] = []
    for start in range(0, len(originals), _PAIRS):
        some = list(zip(originals[start : start + _PAIRS], rewrites[start : start + _PAIRS], strict=True))
        pieces = _embed(list(dict.fromkeys(text for pair in some for text in pair)), device)
        scores += [_f1(pieces[original], pieces[rewrite]) for original, rewrite in some]
    return scores


def _f1(original: tuple[np.ndarray, np.ndarray], rewrite: tuple[np.ndarray, np.ndarray]) -> float:
    (reference, in_reference), (candidate, in_candidate) = original, rewrite
    if not (in_reference.any() and in_candidate.any()):
        return float(in_reference.any() == in_candidate.any())
    similar = candidate @ reference.T
    precision = float(similar.max(axis=1)[in_candidate].mean())
    recall = float(similar.max(axis=0)[in_reference].mean())
    if precision <= 0 or recall <= 0:  # the harmonic mean requires positive numbers
        return max(-1.0, min(precision, recall, 0.0))
    return min(1.0, 2 * precision * recall / (precision + recall))


def _embed(texts: list[str], device: str | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each text, unit embeddings of its pieces (pieces, 384), and which of them have weight."""
    ids = pieces(texts, MAX_PIECES)
    marks = [ids[0][0], ids[0][-1]]  # [CLS] and [SEP], wherever they are
    embeddings = {}
    for some, hidden, _ in hidden_states(ids, device, layers=LAYER):
        for i, row in zip(some, hidden, strict=True):
            states = row[: len(ids[i])]
            lengths = np.linalg.norm(states, axis=-1, keepdims=True)
            embeddings[texts[i]] = (states / lengths, ~np.isin(ids[i], marks))
    return embeddings
