"""BERTScore F1 of a rewrite against its original, on the fifth layer of all-MiniLM-L6-v2: -1 to 1.

Zhang et al. 2020: each word piece is matched with the most similar one of the other text (cosine of contextual
embeddings); precision is the mean over the rewrite's pieces, recall over the original's. No idf weights, no rescaling
with a baseline. As in the authors' package bert-score, [CLS] and [SEP] have no weight but can be matched; the numbers
are those of ``bert_score.score(rewrites, originals, model_type=FOLDER, num_layers=5)``. The fifth of six layers is
what that package takes of other models of six layers. Figures compare only with figures of the same model and layer:
papers use larger models. The first 512 pieces of a text are read. Two blank texts give 1, one blank text gives 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..._internal import extras
from ...models.sentence_encoder import load_encoder
from ...words.vocabulary import verified_trunk_folder

LAYER = 5
MAX_PIECES = 512
# Pairs whose embeddings are held at once, and texts of one model pass.
_PAIRS, _TEXTS = 64, 32


def score(originals: Sequence[str], rewrites: Sequence[str], device: str | None = None) -> list[float]:
    """BERTScore F1 of each rewrite. ``device``: "cuda", "mps", "cpu"; None: the best one."""
    found: list[float] = []
    for start in range(0, len(originals), _PAIRS):
        some = list(zip(originals[start : start + _PAIRS], rewrites[start : start + _PAIRS], strict=True))
        pieces = _embed(list(dict.fromkeys(text for pair in some for text in pair)), device)
        found += [_f1(pieces[original], pieces[rewrite]) for original, rewrite in some]
    return found


def _f1(original: tuple[Any, Any], rewrite: tuple[Any, Any]) -> float:
    (reference, in_reference), (candidate, in_candidate) = original, rewrite
    if not (in_reference.any() and in_candidate.any()):
        return float(in_reference.any() == in_candidate.any())
    similar = candidate @ reference.T
    precision = float(similar.max(dim=1).values[in_candidate].mean())
    recall = float(similar.max(dim=0).values[in_reference].mean())
    if precision <= 0 or recall <= 0:  # the harmonic mean is of positive numbers
        return max(-1.0, min(precision, recall, 0.0))
    return min(1.0, 2 * precision * recall / (precision + recall))


def _embed(texts: list[str], device: str | None) -> dict[str, tuple[Any, Any]]:
    """Of each text: embeddings of its pieces, rows of length 1 (pieces, 384), and which of them have weight."""
    torch = extras.torch()
    encoder = load_encoder(device)
    model, tokenizer = encoder[0].auto_model, _tokenizer()
    marks = torch.tensor([tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")])
    # A tokenizer written in Rust takes no lone surrogates.
    encodings = tokenizer.encode_batch([text.encode("utf-8", "replace").decode("utf-8") for text in texts])
    ids = {text: torch.tensor(encoding.ids) for text, encoding in zip(texts, encodings, strict=True)}
    # Texts of like length share a pass, so little of it is padding.
    order = sorted(texts, key=lambda text: len(ids[text]))
    found = {}
    for start in range(0, len(order), _TEXTS):
        batch = order[start : start + _TEXTS]
        padded = torch.nn.utils.rnn.pad_sequence([ids[text] for text in batch], batch_first=True).to(model.device)
        lengths = torch.tensor([len(ids[text]) for text in batch], device=model.device)
        mask = (torch.arange(padded.shape[1], device=model.device) < lengths[:, None]).long()
        with torch.inference_mode():
            hidden = model(input_ids=padded, attention_mask=mask, output_hidden_states=True).hidden_states[LAYER]
            rows = torch.nn.functional.normalize(hidden.float(), dim=-1).cpu()
        for text, row in zip(batch, rows, strict=True):
            found[text] = (row[: len(ids[text])].clone(), ~torch.isin(ids[text], marks))
    return found


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    # One of its own: the sentence encoder's cuts at 256 pieces, and changing that is not safe between threads.
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(verified_trunk_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_PIECES)
    return tokenizer
