"""Metrics: their numbers on texts where those are known, and texts that break metrics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_causal import write_model

from dptext_core import models
from dptext_core.errors import ConfigError, InputError
from dptext_core.measure import metrics
from dptext_core.measure.metrics import METRICS, REGISTRY, measure, score
from dptext_core.measure.metrics.bleu import corpus_bleu
from dptext_core.measure.metrics.registry import KINDS, split_judge
from dptext_core.models import causal
from dptext_core.models.sentence_encoder import embed
from dptext_lab.runner.merging import interval
from dptext_lab.runner.tasks import SCORES

ODD = ["", " \n", "!?", "😀", "a\ud800b", "\0", "'", "word", "Don’t.", "你好。"]


class TinyModel:
    """Five candidates whose scores are known: enough of the engine's interface for pseudo-perplexity."""

    candidates = ("alpha", "beta", "gamma", "delta", "it")
    logits = np.array([0.0, 1.0, 2.0, 3.0, -1.0], dtype=np.float32)

    def __init__(self) -> None:
        self.requests: list = []

    def encode(self, document):
        return [[7, i] for i, _ in enumerate(document.tokens)]

    def score(self, requests):
        self.requests += requests
        return np.tile(self.logits, (len(requests), 1))

    def loss(self, word: str) -> float:
        return float(np.log(np.exp(self.logits).sum()) - self.logits[self.candidates.index(word)])


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    return causal.Judge(write_model(tmp_path_factory.mktemp("judge"), "gpt2"), device="cpu")


@pytest.fixture
def tiny(monkeypatch, judge):
    monkeypatch.setattr(causal, "judge", lambda: judge)
    model = TinyModel()
    monkeypatch.setattr(models, "load_masked_lm", lambda name="bundled", device=None: model)
    monkeypatch.setattr(models, "engine", lambda name="bundled", device=None: model)
    return model


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_takes_every_text(name, tiny):
    """One finite number a text, inside the bounds; nan only where perplexity has no word to score."""
    metric = METRICS[name]
    values = score(name, ODD, ODD[::-1])
    assert len(values) == len(ODD)
    for value in values:
        assert isinstance(value, float)
        assert metric.low <= value <= metric.high or (name in ("perplexity", "lm_perplexity") and math.isnan(value))


@pytest.mark.parametrize("name", ["cosine", "bleu", "bleu_uncased", "chrf", "unchanged"])
def test_a_text_is_most_like_itself(name):
    texts = ["The doctor changed the dose on Monday.", "a b c d e f"]
    other = ["Nobody here sells any green bicycles!", "u v w x y z"]
    same, different = score(name, texts, texts), score(name, texts, other)
    assert same == pytest.approx([METRICS[name].high] * 2, abs=1e-4)
    assert all(a > b + 0.05 for a, b in zip(same, different, strict=True))


@pytest.mark.parametrize("name", METRICS)
def test_no_texts(name):
    assert score(name, [], []) == []


def test_score_checks_its_input():
    with pytest.raises(ConfigError, match=r"Unknown metric 'rouge'\. Use one of cosine, "):
        score("rouge", ["a"], ["a"])
    with pytest.raises(InputError, match="1 original and 2 rewrites"):
        score("bleu", ["a"], ["a", "b"])
    with pytest.raises(InputError, match="list"):
        score("bleu", "text", "text")
    with pytest.raises(InputError, match="str"):
        score("bleu", [None], ["a"])


def test_metrics_describe_themselves():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.title and metric.low < metric.high
    assert metrics.METRICS["perplexity"].greater_is_better is False


def test_one_registry_knows_what_is_measured():
    """Nobody else says what a metric is called, where it ends or which way is better."""
    for name, metric in REGISTRY.items():
        assert (metric.name, measure(name)) == (name, metric) and metric.kind in KINDS
        assert metric.title and metric.about and metric.low < metric.high and metric.better in (-1, 0, 1)
        assert not metric.of or (metric.of in REGISTRY and metric.times != 1)
        f"{0.5:{metric.digits}}"
    assert all(REGISTRY[name] is metric and metric.kind == "similarity" for name, metric in METRICS.items())
    assert {name for name, m in REGISTRY.items() if m.kind == "similarity"} == set(METRICS)
    # Whoever reads such a number reads that this judge is also a word space and a trunk.
    own = [m for m in REGISTRY.values() if "all-MiniLM-L6-v2" in m.judge]
    assert {"cosine", "bertscore", "accuracy", "f1_static", "pp_plus", "perplexity", "attack_mask"} <= {
        m.name for m in own
    }
    assert all("not independent" in m.judge or "trunk" in m.judge for m in own)
    assert set(SCORES) <= {name for name, m in REGISTRY.items() if m.kind == "utility" and m.judge}


def test_a_score_of_a_trained_encoder_and_one_that_nobody_knows():
    tuned = measure("matthews_finetuned")
    assert (tuned.low, tuned.kind, tuned.judge) == (-1, "utility", "the fine-tuned encoder")
    bag, letters = measure("accuracy_bag"), measure("f1_static_bag")
    assert bag.title == "Accuracy, bag of words" and "words" in bag.judge and "letters" in letters.judge
    assert (
        all("MiniLM" not in m.judge for m in (bag, letters)) and "letters" in measure("relative_gain_static_bag").judge
    )
    assert split_judge("f1_static_bag") == ("f1_static", "_bag") and split_judge("cosine") == ("cosine", "")
    unknown = measure("new")
    assert (unknown.title, unknown.kind, unknown.task, unknown.better) == ("new", "other", "utility", 0)
    # A correlation of an encoder that does worse than chance is a correlation still.
    assert interval("matthews_finetuned", [-0.5], [0.1]) == pytest.approx((-0.696, -0.304))


def test_unchanged_aligns_long_texts_too():
    """From 200 words on, difflib would leave out the words that come often."""
    words = "one two three four five " * 60
    assert score("unchanged", [words, words], [f"{words} six", f"zero {words}"]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("original", "rewrite", "expected"),
    [
        ("The doctor left.", "the nurse left.", 2 / 3),
        ("the dog's bone", "the cat's bone", 2 / 3),
        ("a b c d", "b c d", 3 / 4),
        ("a b c d", "x a b c d y", 1),
        ("a b", "b a", 0),
        ("room 12", "room 13", 1 / 2),
        ("", "new words", 1),
        ("old words", "", 0),
    ],
)
def test_unchanged(original, rewrite, expected):
    assert score("unchanged", [original], [rewrite]) == [pytest.approx(expected)]


def test_bleu_is_sacrebleus():
    import sacrebleu

    original, rewrite = "the doctor changed the dose on monday", "the doctor raised the dose on friday"
    expected = sacrebleu.sentence_bleu(rewrite, [original]).score
    assert score("bleu", [original], [rewrite]) == [pytest.approx(expected)]
    assert score("bleu", ["", "a", ""], ["", "", "a"]) == [100.0, 0.0, 0.0]
    assert corpus_bleu([original], [original]) == pytest.approx(100)
    assert corpus_bleu([], []) == 0.0


def test_capitals_cost_nothing_where_case_does_not_count():
    """A rewriter that only writes capitals keeps every word: the ceiling is 100, which BLEU with case misses."""
    import sacrebleu

    original, capital = "a gorgeous , witty film .", "A gorgeous , Witty film ."
    assert score("bleu_uncased", [original], [capital]) == score("chrf", [original], [capital]) == [100.0]
    assert score("bleu", [original], [capital])[0] < 60
    other = "the doctor raised the dose on friday"
    for text in (original, "The Doctor changed the dose"):
        want = sacrebleu.sentence_chrf(other.lower(), [text.lower()]).score
        assert score("chrf", [text], [other]) == [pytest.approx(want)]
    assert score("chrf", ["", "a", ""], ["", "", "a"]) == [100.0, 0.0, 0.0]


def test_embeddings():
    vectors = embed(["A doctor called.", "A physician phoned.", "Green bicycles"], device="cpu")
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.7 > 0.3 > vectors[0] @ vectors[2]
    assert embed([]).shape == (0, 384)


def test_perplexity_counts_candidates_only(tiny):
    text = "Alpha gamma, zyx 12's IT delta!"
    words = ["alpha", "gamma", "it", "delta"]
    expected = math.exp(sum(map(tiny.loss, words)) / len(words))
    assert score("perplexity", ["unused"], [text]) == [pytest.approx(expected)]
    assert [request.target for request in tiny.requests] == [0, 1, 6, 7]
    assert all(request.context is None and len(request.masked) == 9 for request in tiny.requests)


def test_perplexity_over_more_texts_than_a_call_takes(tiny):
    texts = ["alpha " * 300, "", "delta beta"]
    values = score("perplexity", texts, texts)
    assert values[0] == pytest.approx(math.exp(tiny.loss("alpha")))
    assert math.isnan(values[1])
    assert values[2] == pytest.approx(math.exp((tiny.loss("delta") + tiny.loss("beta")) / 2))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_unchanged_and_bleu_on_any_text(original, rewrite):
    assert 0 <= score("unchanged", [original], [rewrite])[0] <= 1
    assert 0 <= score("bleu", [original], [rewrite])[0] <= 100
    assert score("unchanged", [original], [original]) == [1.0]


def test_bleu_keeps_no_text_and_scores_as_sacrebleu_does():
    """Its tokenizers have caches for the process: none of them sees a text, and the scores stay the same."""
    from sacrebleu.metrics import BLEU
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    rng = np.random.default_rng(7)
    pieces = ["the", "doctor", "3.5", "10,000", "&amp;", "&lt;b&gt;", "<skipped>", "co-\nop", "2-3", "(a)", "it's", "…"]
    pieces += ["你好", "é", "x.y", "\n", "\t", "-", "!", "😀", "U.S.", "'", '"', "a/b", "{}", "~"]
    texts = [" ".join(rng.choice(pieces, rng.integers(0, 30))) for _ in range(600)] + ODD
    others = [" ".join(rng.permutation(t.split(" "))[: rng.integers(1, 40)]) for t in texts]
    before = [t.__call__.cache_info() for t in (Tokenizer13a, TokenizerRegexp)]
    ours, whole = score("bleu", texts, others), corpus_bleu(texts, others)
    assert [t.__call__.cache_info() for t in (Tokenizer13a, TokenizerRegexp)] == before
    metric = BLEU(effective_order=True)
    for text, other, found in zip(texts, others, ours, strict=True):
        if text.strip() or other.strip():
            assert found == min(100.0, metric.sentence_score(other, [text]).score)
    assert whole == BLEU(force=True).corpus_score(others, [texts]).score > 0
    assert [t.__call__.cache_info() for t in (Tokenizer13a, TokenizerRegexp)] != before
