"""Classification of texts: the utility that a rewrite preserves, and the attribute that it should hide.

The first classifier of the grids is logistic regression on frozen all-MiniLM-L6-v2 embeddings. ``judges`` has an
independent one, and ``finetune`` trains the whole encoder. For utility, rewritten texts are used to train and to test.
For privacy, an attacker predicts the author of rewritten texts: the static one is trained on original texts, the
adaptive one on rewritten texts. Scores are shares of 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dptext_core.errors import ConfigError, InputError, ModelUnavailable
from dptext_core.measure.judges import C
from dptext_core.support import extras
from dptext_core.support.checks import pluralize
from dptext_core.support.device import resolve_device
from dptext_core.support.imports import transformers_import_guard
from dptext_core.support.quiet import quiet
from dptext_core.support.task import UNWATCHED, Task

from ..results.rows import Gate
from ..results.tasks import BenchTask
from .data_sets import Data

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BOOTSTRAP = 1000
# Fine-tuning: texts per step, and word pieces read from a text.
_BATCH, _PIECES = 32, 256


def features(parts: Sequence[NDArray]) -> NDArray:
    """Return the classifier's input (n, d) from the embeddings (n, 384) of each part of all texts.

    One part: u. Two parts, u and v: [u, v, |u - v|, u * v], (n, 4 · 384).
    """
    if len(parts) == 1:
        return np.asarray(parts[0])
    if len(parts) != 2:
        raise InputError(f"Texts have one part or two: got {len(parts)}.")
    u, v = (np.asarray(part) for part in parts)
    return np.concatenate([u, v, np.abs(u - v), u * v], axis=1)


def classify(train_x: NDArray, train_y: Sequence[str], test_x: NDArray, seed: int = 0) -> list[str]:
    """Return labels of ``test_x`` predicted by logistic regression (softmax, L2 with C = 10, lbfgs), not standardised.

    The result is deterministic, because lbfgs starts at zero and is not random. If all training labels are equal, every
    prediction is that label.
    """
    return trained(train_x, train_y, seed)(test_x)


def trained(train_x: NDArray, train_y: Sequence[str], seed: int = 0) -> Callable[[NDArray], list[str]]:
    """Return the trained classifier of :func:`classify`, for repeated use."""
    extras.require("sklearn")

    from sklearn.linear_model import LogisticRegression

    if len(train_x) != len(train_y) or not len(train_y):
        numbers = f"{pluralize(len(train_x), 'row')} and {pluralize(len(train_y), 'label')}"
        raise InputError(f"Training needs a label for each row: got {numbers}.")
    if len(set(train_y)) == 1:
        return lambda test_x: [train_y[0]] * len(test_x)
    model = LogisticRegression(C=C, solver="lbfgs", max_iter=1000, random_state=seed)
    model.fit(np.asarray(train_x, dtype=np.float64), np.asarray(train_y, dtype=object))

    def guess(test_x: NDArray) -> list[str]:
        return [str(label) for label in model.predict(np.asarray(test_x, dtype=np.float64))] if len(test_x) else []

    return guess


def score(metric: str, truth: Sequence[str], predicted: Sequence[str]) -> float:
    """Return the score of predicted labels: shares of 1 ("matthews": a correlation, -1 to 1).

    "f1" is micro-averaged, so it equals the accuracy with one label per text. "macro_f1" is the mean over labels that
    are true or predicted at least once.
    """
    return float(_scores(metric, _confusion(truth, predicted)[None])[0])


def _confusion(truth: Sequence[str], predicted: Sequence[str]) -> NDArray[np.int64]:
    """Return counts (labels, labels): true labels in rows, predicted labels in columns."""
    if len(truth) != len(predicted) or not len(truth):
        raise InputError(
            f"A score needs a guess for each text: got {len(predicted)} for {pluralize(len(truth), 'text')}."
        )
    column = {label: i for i, label in enumerate(sorted({*truth, *predicted}))}
    counts = np.zeros((len(column), len(column)), dtype=np.int64)
    np.add.at(counts, ([column[x] for x in truth], [column[x] for x in predicted]), 1)
    return counts


def _scores(metric: str, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores (m,) of m tables of counts (m, labels, labels)."""
    if metric not in SCORES:
        raise ConfigError(f"Unknown metric {metric!r}: use one of {', '.join(SCORES)}.")
    n = counts.sum((1, 2)).astype(float)
    right = np.diagonal(counts, axis1=1, axis2=2).astype(float)
    true, guessed = counts.sum(2).astype(float), counts.sum(1).astype(float)
    return SCORES[metric](n, right, true, guessed)


def _share(n: NDArray, right: NDArray, true: NDArray, guessed: NDArray) -> NDArray[np.float64]:
    return right.sum(1) / n


def _macro(n: NDArray, right: NDArray, true: NDArray, guessed: NDArray) -> NDArray[np.float64]:
    occurring = true + guessed
    return (2 * right / np.maximum(occurring, 1)).sum(1) / (occurring > 0).sum(1)


def _matthews(n: NDArray, right: NDArray, true: NDArray, guessed: NDArray) -> NDArray[np.float64]:
    covariance = right.sum(1) * n - (true * guessed).sum(1)
    spread = np.sqrt((n**2 - (true**2).sum(1)) * (n**2 - (guessed**2).sum(1)))
    return np.where(spread > 0, covariance / np.where(spread > 0, spread, 1), 0.0)


#: Scores of predictions from numbers of texts (m,), and of correct, true and predicted labels (m, labels).
SCORES: dict[str, Callable[[NDArray, NDArray, NDArray, NDArray], NDArray[np.float64]]] = {
    "accuracy": _share,
    "macro_f1": _macro,
    "f1": _share,
    "matthews": _matthews,
}


def majority(truth_train: Sequence[str], truth_test: Sequence[str], metric: str) -> float:
    """Return the test score of always predicting the most frequent training label (the first of equally frequent
    ones)."""
    if not len(truth_train):
        raise InputError("There is no training text for the majority class. Pass at least one.")
    counts = Counter(truth_train)
    guess = min(counts, key=lambda label: (-counts[label], label))
    return score(metric, truth_test, [guess] * len(truth_test))


def standard_error(metric: str, truth: Sequence[str], predicted: Sequence[str]) -> float:
    """Return the standard error of a score over the sampling of the test texts: binomial for a share, else from 1,000
    bootstrap samples."""
    counts = _confusion(truth, predicted)
    n = len(truth)
    if SCORES.get(metric) is _share:
        share = float(_scores(metric, counts[None])[0])
        return math.sqrt(share * (1 - share) / n)
    drawn = np.random.default_rng(0).multinomial(n, counts.ravel() / n, size=_BOOTSTRAP)
    return float(_scores(metric, drawn.reshape(_BOOTSTRAP, *counts.shape)).std(ddof=1))


def gate(data: Data, task: BenchTask, predicted: Sequence[str], judge: str = "") -> Gate:
    """Return the gate of a task of ``data`` from predicted labels of its test texts. judge: the classifier's metric
    suffix."""
    labels = data.targets[task.target]
    train, test = [labels[i] for i in data.train], [labels[i] for i in data.test]

    def measured(metric: str) -> tuple[float, float, float]:
        return score(metric, test, predicted), majority(train, test, metric), standard_error(metric, test, predicted)

    value, base, se = measured(task.metric)
    needed = [(value, base, se), *([measured("accuracy")] if task.metric == "macro_f1" else [])]
    enters = all(score_value - guess > 3 * error for score_value, guess, error in needed)
    return Gate(data.name, task.name, task.role, task.metric + judge, value, base, se, len(test), enters)


def pp_plus(f1: float, majority: float) -> float:
    """Return PP+: F1 above the majority class, in hundredths of a percentage point."""
    return (f1 - majority) * 10_000


def relative_gain(u_r: float, u_o: float, p_r: float, p_o: float) -> float:
    """Return γ = U_r / U_o - P_r / P_o (r: rewritten, o: original): preserved utility minus the attacker's success."""
    if not (u_o > 0 and p_o > 0):
        raise InputError(f"The relative gain needs scores above 0 on the original texts: got {u_o} and {p_o}.")
    return u_r / u_o - p_r / p_o


def finetune(
    train_texts: Sequence[tuple[str, ...]],
    train_y: Sequence[str],
    test_texts: Sequence[tuple[str, ...]],
    *,
    seed: int,
    model: str = "bundled",
    epochs: int = 3,
    rate: float | None = None,
    device: str | None = None,
    task: Task = UNWATCHED,
) -> list[str]:
    """Return labels of ``test_texts`` predicted by a fine-tuned encoder, as in papers. This needs a GPU or much time.

    ``model``: "bundled" (all-MiniLM-L6-v2), a folder, or the hub id of a local model. The head is linear on the mean of
    the last layer, starting at zero. Training uses AdamW with weight decay 0.01, warm-up over a tenth of the steps,
    linear decay, batches of 32 and no dropout. ``rate``: learning rate of the encoder (None: 1e-4 for the bundled
    model, else 2e-5); the head's is 1e-3. ``seed`` decides the order of the texts, and nothing else is random. Pairs
    are one input of two segments. ``task`` receives progress by batches. Raises ConfigError, ModelUnavailable for an
    unusable model, and Cancelled.
    """
    _check_training(train_texts, train_y, epochs)
    import torch

    encoder, tokenizer, longest = _encoder(model)
    device = resolve_device(device)
    # eval() disables dropout, which would use the global generator. Gradients are still computed.
    encoder = encoder.to(device).eval()
    labels = sorted(set(train_y))
    head = torch.nn.Linear(encoder.config.hidden_size, len(labels), device=device)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    wanted = torch.tensor([labels.index(y) for y in train_y])

    def logits(texts: Sequence[tuple[str, ...]]) -> torch.Tensor:
        columns = [list(column) for column in zip(*texts, strict=True)]
        batch = tokenizer(*columns, padding=True, truncation=True, max_length=longest, return_tensors="pt").to(device)
        hidden = encoder(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None].to(hidden.dtype)
        return head((hidden * mask).sum(1) / mask.sum(1))

    rate = rate or (1e-4 if model == "bundled" else 2e-5)
    n_test, done = -(-len(test_texts) // _BATCH), 0
    steps = epochs * -(-len(train_texts) // _BATCH)
    optimiser, schedule = _optimiser(encoder, head, rate, steps)
    generator = torch.Generator().manual_seed(seed)

    def tick() -> None:
        nonlocal done
        done += 1
        task.report(done, steps + n_test)

    for _ in range(epochs):
        for rows in torch.randperm(len(train_texts), generator=generator).split(_BATCH):
            task.check()
            loss = torch.nn.functional.cross_entropy(logits([train_texts[i] for i in rows]), wanted[rows].to(device))
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*encoder.parameters(), *head.parameters()], 1.0)
            optimiser.step()
            schedule.step()
            tick()
    predicted: list[str] = []
    with torch.inference_mode():
        for start in range(0, len(test_texts), _BATCH):
            task.check()
            predicted += [labels[i] for i in logits(test_texts[start : start + _BATCH]).argmax(1).tolist()]
            tick()
    return predicted


def _check_training(texts: Sequence[tuple[str, ...]], labels: Sequence[str], epochs: int) -> None:
    if len(texts) != len(labels) or not len(labels):
        raise InputError(f"Training needs a label for each text: got {len(texts)} and {len(labels)}.")
    if epochs < 1:
        raise ConfigError(f"epochs must be at least 1; got {epochs}.")


def _optimiser(encoder: Any, head: Any, rate: float, steps: int) -> tuple[Any, Any]:
    """Return AdamW and its schedule: a tenth of the steps to warm up, then a linear decay."""
    import torch

    groups = [{"params": encoder.parameters(), "lr": rate}, {"params": head.parameters(), "lr": 1e-3}]
    optimiser, warm = torch.optim.AdamW(groups, weight_decay=0.01), max(1, steps // 10)
    return optimiser, torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )


def _encoder(model: str) -> tuple[Any, Any, int]:
    """Return a fresh copy of the encoder, its tokenizer, and how many pieces it is to read."""
    import torch

    with transformers_import_guard():
        from transformers import AutoModel, AutoTokenizer

    from dptext_core.models.registry import masked_lm_spec
    from dptext_core.words.vocabulary import verified_trunk_folder

    if model == "bundled":
        folder, longest = verified_trunk_folder(), _PIECES
    else:
        spec = masked_lm_spec(model)
        folder, longest = spec.folder, min(spec.max_length, _PIECES)
    safe: Any = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet():
            encoder = AutoModel.from_pretrained(folder, use_safetensors=True, dtype=torch.float32, **safe)
        return encoder, AutoTokenizer.from_pretrained(folder, **safe), longest
    except OSError as error:
        raise ModelUnavailable(
            f"The files of {model!r} are incomplete on this machine. Download them again ({error})."
        ) from error
    except ValueError as error:
        raise ConfigError(f"{model!r} is not an encoder that transformers knows. Choose another ({error}).") from error
