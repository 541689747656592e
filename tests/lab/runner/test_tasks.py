"""Tasks of the benchmarks: the classifier, the scores against scikit-learn's, the gate, fine-tuning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptext_core import Task
from dptext_core.errors import Cancelled, ConfigError, InputError, ModelUnavailable
from dptext_lab.results.tasks import TASKS, BenchTask, tasks_of
from dptext_lab.runner import tasks
from dptext_lab.runner.data_sets import NAMES, load
from dptext_lab.runner.tasks import (
    classify,
    features,
    finetune,
    gate,
    majority,
    pp_plus,
    relative_gain,
    score,
    standard_error,
)


def clouds(n: int, apart: float) -> tuple[np.ndarray, list[str]]:
    """Points of three labels around three corners, ``apart`` standard deviations from the middle."""
    rng = np.random.default_rng(3)
    labels = [("one", "two", "three")[i % 3] for i in range(n)]
    corners = dict(zip(("one", "two", "three"), np.eye(3, 8), strict=True))
    points = np.stack([apart * corners[label] for label in labels]) + rng.normal(size=(n, 8))
    return points.astype(np.float32), labels


def test_every_data_set_has_a_utility_or_privacy_task():
    assert {task.data for task in TASKS} == set(NAMES)
    assert tasks_of("nothing") == ()
    assert [(t.target, t.role, t.metric) for t in tasks_of("reviews")] == [
        ("rating", "utility", "f1"),
        ("author", "privacy", "f1"),
    ]
    for task in TASKS:
        assert task.role in ("utility", "privacy") and task.metric in tasks.SCORES
    for task in tasks_of("builtin"):
        assert task.target in load("builtin", None).targets


def test_features():
    u, v = np.array([[1.0, -2.0]], dtype=np.float32), np.array([[3.0, 4.0]], dtype=np.float32)
    assert features([u]).tolist() == [[1, -2]]
    assert features([u, v]).tolist() == [[1, -2, 3, 4, 2, 6, 3, -8]]
    assert features([u, v]).dtype == np.float32
    with pytest.raises(InputError, match="3"):
        features([u, u, u])


def test_classify_learns_and_is_deterministic():
    x, y = clouds(300, 6.0)
    guessed = classify(x[:150], y[:150], x[150:])
    assert score("accuracy", y[150:], guessed) > 0.97
    assert guessed == classify(x[:150], y[:150], x[150:], seed=9)
    assert all(type(label) is str for label in guessed)
    # Labels that a rewrite shuffled teach nothing.
    wrong = classify(x[:150], y[1:151], x[150:])
    assert score("accuracy", y[150:], wrong) < 0.1


def test_classify_at_its_edges():
    x, y = clouds(6, 1.0)
    assert classify(x, ["same"] * 6, x) == ["same"] * 6
    assert classify(x, y, x[:0]) == []
    with pytest.raises(InputError, match="6 rows and 5 labels"):
        classify(x, y[:5], x)
    with pytest.raises(InputError):
        classify(x[:0], [], x)


LABELS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=30)


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=15, deadline=None)
@given(LABELS)
def test_scores_are_scikit_learns(pairs):
    from sklearn import metrics

    truth, guessed = [a for a, _ in pairs], [b for _, b in pairs]
    assert score("accuracy", truth, guessed) == pytest.approx(metrics.accuracy_score(truth, guessed))
    assert score("f1", truth, guessed) == pytest.approx(metrics.f1_score(truth, guessed, average="micro"))
    macro = metrics.f1_score(truth, guessed, average="macro", zero_division=0)
    assert score("macro_f1", truth, guessed) == pytest.approx(macro)
    assert score("matthews", truth, guessed) == pytest.approx(metrics.matthews_corrcoef(truth, guessed), abs=1e-12)


def test_score_checks_its_input():
    with pytest.raises(ConfigError, match="accuracy, macro_f1"):
        score("auc", ["a"], ["a"])
    with pytest.raises(InputError, match="got 1 for 2 texts"):
        score("f1", ["a", "b"], ["a"])
    with pytest.raises(InputError):
        score("f1", [], [])


def test_majority():
    assert majority(["a", "a", "b"], ["b", "b", "b", "a"], "accuracy") == 0.25
    assert majority(["b", "a"], ["a", "b", "b"], "f1") == pytest.approx(1 / 3)  # of equals the first by name
    assert majority(["a"], ["a", "b"], "macro_f1") == pytest.approx((2 / 3 + 0) / 2)
    assert majority(["a"], ["a", "b"], "matthews") == 0.0
    with pytest.raises(InputError):
        majority([], ["a"], "f1")


def test_standard_error():
    truth, guessed = ["a"] * 50 + ["b"] * 50, ["a"] * 90 + ["b"] * 10
    assert standard_error("accuracy", truth, guessed) == pytest.approx((0.6 * 0.4 / 100) ** 0.5)
    # Macro-F1 has no such formula: the spread over fresh samples of the same channel must come out.
    rng = np.random.default_rng(5)
    fresh = []
    for _ in range(300):
        rows = rng.integers(0, 100, 100)
        fresh.append(score("macro_f1", [truth[i] for i in rows], [guessed[i] for i in rows]))
    assert standard_error("macro_f1", truth, guessed) == pytest.approx(np.std(fresh), rel=0.2)
    assert standard_error("macro_f1", truth, guessed) == standard_error("macro_f1", truth, guessed)


def test_gate_lets_in_what_can_be_told_and_no_noise():
    data = load("builtin", None)
    truth = [data.targets["author"][i] for i in data.test]
    task = BenchTask("author", "builtin", "author", "privacy", "macro_f1")
    good = gate(data, task, truth)
    assert (good.data, good.task, good.role, good.metric) == ("builtin", "author", "privacy", "macro_f1")
    assert good.score == 1.0 and good.enters and good.n_test == len(data.test)
    assert gate(data, task, truth, "_bag").metric == "macro_f1_bag"
    # Guessing at random has a higher macro-F1 than one label for all: that alone must not open the gate.
    noise = gate(data, task, np.random.default_rng(4).permutation(truth).tolist())
    assert noise.score - noise.majority > 3 * noise.se and not noise.enters
    with pytest.raises(InputError, match="got 5 for 56 texts"):
        gate(data, task, truth[:5])


def test_papers_own_numbers():
    """DP-MLM on Trustpilot, ε = 10, static attacker: 0.12; and F1 97.30 over a majority of 96.68 prints as +62."""
    assert relative_gain(97.30, 99.62, 59.74, 69.60) == pytest.approx(0.12, abs=0.005)
    assert pp_plus(0.9730, 0.9668) == pytest.approx(62)
    with pytest.raises(InputError, match="above 0"):
        relative_gain(0.5, 0.0, 0.5, 0.5)


# --- fine-tuning ----------------------------------------------------------------------------------------------------

GOOD, BAD = ("the happy doctor is great",), ("the angry judge is bad",)


def test_finetune_learns_and_repeats(tiny_model):
    texts, labels = [GOOD, BAD] * 40, ["praise", "complaint"] * 40
    seen: list[tuple[int, int]] = []

    def train(seed: int, **options) -> list[str]:
        return finetune(texts, labels, [GOOD, BAD, BAD], seed=seed, model=tiny_model, device="cpu", **options)

    wanted = ["praise", "complaint", "complaint"]
    assert train(1, epochs=6, rate=1e-3, task=Task(lambda *at: seen.append(at))) == wanted
    assert seen == [(i, 19) for i in range(1, 20)]
    assert finetune(
        [(*GOOD, "yes"), (*GOOD, "no")] * 32,
        ["y", "n"] * 32,
        [(*GOOD, "no"), (*GOOD, "yes")],
        seed=1,
        model=tiny_model,
        device="cpu",
        epochs=10,
        rate=3e-3,
    ) == ["n", "y"]


def test_finetune_draws_nothing_but_the_order(tiny_model):
    """The global generator has no say and is not touched; the seed has one."""
    import torch

    trained = []
    original = tasks._encoder

    def kept(model):
        found = original(model)
        trained.append(found[0])
        return found

    texts = [(f"the {word} is {other}",) for word in ("cat", "dog", "bird", "fish") for other in ("red", "green") * 6]
    labels = [str(i % 2) for i in range(len(texts))]
    with pytest.MonkeyPatch.context() as patch, torch.random.fork_rng(devices=[]):
        patch.setattr(tasks, "_encoder", kept)
        for seed, unrelated in ((1, 7), (1, 8), (2, 7)):
            torch.manual_seed(unrelated)
            finetune(texts, labels, texts[:1], seed=seed, model=tiny_model, device="cpu", epochs=1)
    first, again, other = (model.get_input_embeddings().weight for model in trained)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_finetune_can_be_stopped_and_checks_its_input(tiny_model, tmp_path):
    stop = Task()
    stop.cancel()
    with pytest.raises(Cancelled):
        finetune([GOOD, BAD], ["a", "b"], [GOOD], seed=1, model=tiny_model, task=stop)
    with pytest.raises(InputError, match="2 and 1"):
        finetune([GOOD, BAD], ["a"], [GOOD], seed=1)
    with pytest.raises(ConfigError, match="epochs"):
        finetune([GOOD], ["a"], [GOOD], seed=1, epochs=0)
    with pytest.raises(ModelUnavailable, match="hf download"):
        finetune([GOOD], ["a"], [GOOD], seed=1, model="nobody/no-such-model")
    with pytest.raises(ConfigError, match=r"config\.json"):
        finetune([GOOD], ["a"], [GOOD], seed=1, model=str(tmp_path))


@pytest.mark.slow
def test_finetune_of_the_bundled_encoder():
    data = load("builtin", None, n_train=24, n_test=12, max_words=12)
    labels = data.targets["author"]
    guessed = finetune(
        [data.texts[i] for i in data.train],
        [labels[i] for i in data.train],
        [data.texts[i] for i in data.test],
        seed=1,
        epochs=3,
        device="cpu",
    )
    # Who guesses one of the three at random names nine of twelve in 4 of 1,000 trials.
    assert score("f1", [labels[i] for i in data.test], guessed) >= 0.75
