"""The mode ``downstream``: train a classifier on original or rewritten texts, and test it on others.

Scores are macro F1 (over all labels that are true or predicted at least once) and accuracy, with mean and standard
deviation over several seeds. The classifier is logistic regression on frozen all-MiniLM-L6-v2 embeddings. It is
deterministic, so each seed omits a different tenth of the training rows. ``finetune`` trains the whole encoder, and its
seed orders the texts. The text-independent baseline comes from :func:`uninformed_scores`.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.data import components
from dptext_core.data.folder import RunFolder
from dptext_core.data.labels import label_of, list_labels
from dptext_core.data.tables import Source
from dptext_core.errors import ConfigError, DPTextError, InputError
from dptext_core.support.checks import check_whole_number, pluralize, shorten_repr
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.support.version import __version__

from ..results.downstream import METRICS
from ..runner import tasks

SEEDS = 5
#: Share of the training rows for each seed, so that seeds differ.
SHARE = 0.9
#: Texts that are embedded between two checks for cancellation.
_BLOCK = 512
#: Number of random guesses of all test labels to average.
_GUESSES = 50


class Embeddings:
    """Logistic regression on frozen sentence embeddings. Each distinct text is embedded once."""

    def __init__(self, task: Task = UNWATCHED):
        self._known: dict[str, np.ndarray] = {}
        self._task = task

    def __call__(self, train: Sequence[str], labels: Sequence[str], test: Sequence[str], seed: int) -> list[str]:
        self.learn([*train, *test])
        rows = rows_of_seed(len(train), seed)
        x, y = np.stack([self._known[train[i]] for i in rows]), [labels[i] for i in rows]
        return tasks.classify(x, y, np.stack([self._known[t] for t in test]), seed)

    def learn(self, texts: Sequence[str]) -> None:
        """Embed the new texts."""
        from dptext_core.models import sentence_encoder

        new = sorted({t for t in texts if t not in self._known}, key=len)
        for at in range(0, len(new), _BLOCK):
            self._task.check()
            block = new[at : at + _BLOCK]
            self._known.update(zip(block, sentence_encoder.embed(block, batch_size=64), strict=True))
            self._task.report(min(at + _BLOCK, len(new)), len(new))

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return embeddings (n, d) of the texts."""
        self.learn(texts)
        return np.stack([self._known[t] for t in texts])

    def forget(self, keep: Sequence[str] = ()) -> None:
        """Forget all embeddings except those of these texts."""
        texts = set(keep)
        self._known = {t: v for t, v in self._known.items() if t in texts}


def rows_of_seed(n: int, seed: int) -> list[int]:
    """Return the training rows (of n) that a seed uses, ascending."""
    order = random.Random(f"rows of seed {seed}").sample(range(n), max(1, round(SHARE * n)))
    return sorted(order)


def classifier(name: str, model: str = "bundled", task: Task = UNWATCHED) -> components.Classifier:
    """Return the classifier of this name. model: the encoder of ``finetune``. Raises ConfigError."""
    if name == "embeddings":
        return Embeddings(task)
    if name == "finetune":

        def trained(train: Sequence[str], labels: Sequence[str], test: Sequence[str], seed: int) -> list[str]:
            texts = ([(t,) for t in some] for some in (train, test))
            first, second = texts
            return tasks.finetune(first, labels, second, seed=seed, model=model, task=task)

        return trained
    registered = components.classifiers()
    if name not in registered:
        known = ", ".join([*components.BUILT_IN, *registered])
        raise ConfigError(f"There is no classifier {shorten_repr(name)}. Use one of {known}.")
    return registered[name]


def scores(truth: Sequence[str], guessed: Sequence[str]) -> dict[str, float]:
    """Return macro F1 and accuracy of predicted labels."""
    return {metric: tasks.score(metric, truth, guessed) for metric in METRICS}


def uninformed_scores(train: Sequence[str], test: Sequence[str]) -> dict[str, float]:
    """Return the text-independent baseline: the best of three ways to guess.

    These are the most frequent training label, uniform labels, and labels by their training frequency. The last two are
    averages over fixed random guesses."""
    labels = sorted(set(train))
    draws = random.Random("guesses")
    blind = [[draws.choices(pool, k=len(test)) for _ in range(_GUESSES)] for pool in (labels, list(train))]
    return {
        metric: max(
            tasks.majority(train, test, metric),
            *(statistics.fmean(tasks.score(metric, test, guessed) for guessed in some) for some in blind),
        )
        for metric in METRICS
    }


def summarise_seeds(values: Sequence[float]) -> dict[str, Any]:
    """Return mean and standard deviation over seeds (None for one seed)."""
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "deviation": deviation, "values": list(values)}


def labelled_texts(data: Source, text: str, label: str) -> tuple[list[str], list[str], int]:
    """Return texts and labels of a source, and the number of rows without a text (failed rewrites)."""
    texts, labels, left_out = [], [], 0
    for row in data.rows():
        if row[text] is None:
            left_out += 1
        elif not isinstance(row[text], str):
            raise InputError(
                f"{data.name} has a value in {shorten_repr(text)} that is not text. Name the column of texts."
            )
        elif (name := label_of(row[label])) is None:
            raise InputError(f"{data.name} has a row without a label in {shorten_repr(label)}. Add one to each row.")
        else:
            texts.append(row[text])
            labels.append(name)
    if not texts:
        raise InputError(f"No row of {data.name} has a text. Name another file.")
    return texts, labels, left_out


def unshared_labels(train: Source, labels: Sequence[str], test: Source, truth: Sequence[str]) -> dict[str, set[str]]:
    """Return the labels that only one of the two sources has. Raises InputError if they share none."""
    learnt, true = set(labels), set(truth)
    if not learnt & true:
        raise InputError(
            f"{train.name} and {test.name} have no label in common: the first has {list_labels(learnt)}, the second "
            f"{list_labels(true)}. Use the same labels in both."
        )
    return {"train": learnt - true, "test": true - learnt}


def downstream(
    train: Source,
    test: Source,
    out: str | Path,
    *,
    text: str = "text",
    label: str = "label",
    seeds: int = SEEDS,
    learner: str = "embeddings",
    model: str = "bundled",
    note: Callable[[str], object] = lambda text: None,
    task: Task = UNWATCHED,
) -> dict[str, Any]:
    """Train on one source, test on another, and return the scores in the folder's result.json.

    A stopped run continues after its last seed, also with more seeds. learner: "embeddings", "finetune" (with the
    encoder ``model``), or the name of a registered classifier. note: called with a warning about labels in one source
    only. Raises ConfigError, Cancelled, and InputError, also if the sources have no label in common.
    """
    seeds = check_whole_number("seeds", seeds, least=1)
    learner_function = classifier(learner, model, task)
    config = {
        "mode": "downstream",
        "train": train.to_dict(),
        "test": test.to_dict(),
        "text": text,
        "label": label,
        "classifier": learner,
        **({"model": model} if learner == "finetune" else {}),
        "version": __version__,
    }
    with RunFolder(out, config) as folder:
        done = {line["seed"]: line for line in folder.lines() if "seed" in line}
        learnt, labels, left_out = labelled_texts(train, text, label)
        tested, truth, untested = labelled_texts(test, text, label)
        alone = unshared_labels(train, labels, test, truth)
        for source, some in ((train, alone["train"]), (test, alone["test"])):
            if some:
                note(
                    f"warning: the other file does not have {list_labels(some, source.name)}. Use the same labels in "
                    f"both."
                )
        folder.log(f"{'continues' if done else 'starts'}: {len(learnt)} rows to train, {len(tested)} to test")
        for seed in sorted({*range(1, seeds + 1)} - set(done)):
            task.check()
            try:
                done[seed] = {"seed": seed, **scores(truth, guess(learner_function, learnt, labels, tested, seed))}
            except BaseException as error:
                folder.stopped(f"stopped at seed {seed} with {type(error).__name__}")
                raise
            folder.append([done[seed]])
        result = {
            "mode": "downstream",
            **{metric: summarise_seeds([done[s][metric] for s in range(1, seeds + 1)]) for metric in METRICS},
            "seeds": seeds,
            "no_information": uninformed_scores(labels, truth),
            "train": len(learnt),
            "test": len(tested),
            "left_out": left_out + untested,
            "labels": len(set(labels)),
            "labels_only": {part: len(some) for part, some in alone.items()},
        }
        folder.finish(result)
        folder.log(f"done: {seeds} seeds")
    return result


def guess(
    learner: Callable[[Sequence[str], Sequence[str], Sequence[str], int], Sequence[str]],
    train: Sequence[str],
    labels: Sequence[str],
    test: Sequence[str],
    seed: int,
) -> list[str]:
    """Return the checked labels of a classifier, which may be a user's own."""
    try:
        labels_of_texts = list(learner(train, labels, test, seed))
    except DPTextError:
        raise
    except Exception as error:  # its message may quote a text
        raise ConfigError(
            f"The classifier stopped with {type(error).__name__}. Repair it, or use another classifier."
        ) from error
    if len(labels_of_texts) != len(test):
        raise ConfigError(
            f"The classifier gave {pluralize(len(labels_of_texts), 'label')} for {pluralize(len(test), 'text')}. "
            "Return one for each."
        )
    return [str(label) for label in labels_of_texts]
