"""Parts of mechanisms that one can work out by hand, each from a few numbers and without what stands around it."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from small_spaces import words

import dptext_core as dpt
from dptext_core.auditing import release_statistics
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.latent import dp_bart
from dptext_core.mechanisms.masked import dp_mlm, dp_mlm_prior, masked_facets, masked_words
from dptext_core.mechanisms.sentence import dp_sentence, sentence_trace
from dptext_core.mechanisms.words import word_prior
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.mechanisms.writing.spelling import Spelling
from dptext_core.models import generator as generators
from dptext_core.models import loaded_generators
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.privacy.gaussian import gaussian_advantage, gaussian_epsilon, laplace_advantage
from dptext_core.privacy.sampling import NoiseStream

UNWATCHED: Any = SimpleNamespace(check=lambda: None, report=lambda *at: None)


# --- a noisy vector


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_a_noisy_vector_loses_follows_from_how_far_the_clipped_ones_are_apart(noise):
    """In the distance that the noise is made for: absolute differences, or the root of their squares."""
    vectors = {"a": np.array([[3, -4], [0, 12]]), "b": np.array([[0, 0], [0, 0]])}
    sizes: list[int] = []
    m = SimpleNamespace(
        config=SimpleNamespace(noise=noise, delta=1e-5),
        clipped=vectors.get,
        _rate=lambda n: sizes.append(n) or 0.25,
        scale=lambda n: sizes.append(n) or 2.0,
    )
    own = dp_bart._AuditSupport(m)  # type: ignore[arg-type]
    loss, advantage = own.latent_loss("a", "b"), own.latent_advantage("a", "b")  # type: ignore[arg-type]
    if noise == "laplace":
        assert loss == 0.25 * 19 and advantage == laplace_advantage(vectors["a"].ravel(), 0.25)
    else:
        assert loss == gaussian_epsilon(1e-5, 13 / 2.0) and advantage == gaussian_advantage(13 / 2.0)
    assert sizes == [4, 4]
    assert own.latent_loss("b", "a") == loss


def test_a_bound_is_a_share_of_the_numbers_of_public_texts(monkeypatch):
    asked: list[list[list[int]]] = []

    def latents(block, positions):
        asked.append(block)
        out = np.zeros((len(block), positions, 2))
        for row, ids in zip(out, block, strict=True):
            row[: len(ids)] = [[i, -10.0 * i] for i in ids]
        return out

    g = SimpleNamespace(
        latents=latents, prompt=lambda before, text, after, n: ([int(w) for w in text.split()][:n], False)
    )
    monkeypatch.setattr(loaded_generators, "load_generator", lambda model, kind: g)
    monkeypatch.setattr(generators, "ROWS", 2)
    texts = ["1 2 3 4", "5", " 6  7", "8", "9 9 9"]
    numbers = [x * k for x in (1, 2, 3, 5, 6, 7, 8) for k in (1.0, 10.0)]
    for share in (0.5, 0.1):
        found = dp_bart.estimate_bound(texts, "m", positions=3, share=share, most=4)
        assert found == pytest.approx(np.quantile(numbers, 1 - share))
    assert asked[:2] == [[[1, 2, 3], [5]], [[6, 7], [8]]] and len(asked) == 4
    assert dp_bart.estimate_bound(texts[:3], "m", positions=3) == pytest.approx(np.quantile(numbers[:12], 0.5))
    with pytest.raises(dpt.InputError, match="Provide some public texts"):
        dp_bart.estimate_bound([], "m")


def test_how_near_candidates_are_is_the_mean_over_sentences_that_were_read():
    codes = np.array([[1, 2], [0, 0], [0, 3]])
    tables = lambda some: [SimpleNamespace(cosines=np.array([0.1 * row.sum(), 0.05])) for row in some]  # noqa: E731
    own = SimpleNamespace(_encoded=lambda p: SimpleNamespace(codes=codes[p]), _each_table=tables)
    nearest = lambda *rows: dp_sentence.DPSentence.nearest(own, list(rows))  # type: ignore[arg-type]  # noqa: E731
    assert nearest(0, 1, 2) == pytest.approx(0.3) and nearest(2, 1) == pytest.approx(0.3) and nearest(1) == 0.0


# --- masked words


def test_scores_of_likeness_and_of_the_model_are_weighed_against_each_other(monkeypatch):
    likeness = np.array([0.5, -0.2, 1.0, 0.0, 1.5])
    monkeypatch.setattr(dp_mlm, "_similarities", lambda model, language, word: likeness)
    monkeypatch.setattr(dp_mlm, "antonyms", lambda language: SimpleNamespace(of=lambda w: ["D"] if w == "x" else []))
    for alpha, low, high in ((0.003, -3.0, 16.0), (0.5, 1.0, 2.0)):
        config = SimpleNamespace(
            clip_min=low, clip_max=high, score="similarity", alpha=alpha, model="m", antonym_filter=True
        )
        own = SimpleNamespace(
            config=config,
            language=None,
            _banned=(),
            candidates=tuple("abcde"),
            _keep=lambda w: np.array([3] if w == "D" else [1]),
        )
        logits = np.array([-9.0, 0.0, 5.0, 1.5, 99.0], np.float32)
        cut = np.clip(logits.astype(float), low, high)
        most = 1 + alpha * (high - low)
        expected = [(min(max(s, 0), 1) + alpha * (c - high)) / (2 * most) for s, c in zip(likeness, cut, strict=True)]
        assert dp_mlm.DPMLM.table(own, logits, "y").scores == pytest.approx(expected)  # type: ignore[arg-type]
        expected[3] = -np.inf
        assert dp_mlm.DPMLM.table(own, logits, "x").scores == pytest.approx(expected)  # type: ignore[arg-type]
        assert max(expected) - min(e for e in expected if e > -9) <= 0.5 + 1e-12
        config.score = "logits"
        plain = dp_mlm.DPMLM.table(own, logits, None).scores  # type: ignore[arg-type]
        assert plain == pytest.approx((cut - high) / (2 * (high - low)))


def test_texts_whose_words_are_drawn_in_step_go_in_blocks_with_noise_of_their_own(monkeypatch):
    monkeypatch.setattr(masked_words, "_IN_STEP", 3)
    seen: list[Any] = []
    own = SimpleNamespace(
        _draw_in_step=lambda block, streams, task: seen.append((block, streams)) or [f"acts of {p}" for p in block],
        _result=lambda p, epsilons, acts, stream: (p, epsilons, acts, stream),
        epsilons=lambda p: f"ε of {p}",
    )
    told: list[Any] = []
    task = SimpleNamespace(quiet=UNWATCHED, report=lambda *at: told.append(at))
    texts, streams = list("abcdefg"), list(range(7))
    found = masked_words.MaskedWords._rewrite_in_step(own, texts, streams, task)  # type: ignore[arg-type]
    assert found == [(p, f"ε of {p}", f"acts of {p}", k) for k, p in enumerate(texts)]
    assert seen == [(list("abc"), [0, 1, 2]), (list("def"), [3, 4, 5]), (["g"], [6])] and told[-1] == (7, 7)


def test_scores_that_are_kept_are_those_of_the_drawn_places():
    keys: list[Any] = []
    planned = SimpleNamespace(targets=(1, 4), logits=lambda k: keys.append(k) or "scores")
    planned.fill = lambda k, scores: keys.append((k, scores))
    planned.of_allowed = lambda scores: "allowed"
    m = SimpleNamespace(_planned=lambda p: planned, plan=lambda d: planned, candidates=("a", "b", "c"))
    own = masked_facets._Scores(m)  # type: ignore[arg-type]
    drawn = [(1, False), (4, False)]
    assert own.of(None) == "scores" and keys == [drawn]  # type: ignore[arg-type]
    every, ours = np.zeros((2, 4)), np.zeros((2, 3))
    assert own.put(None, np.zeros((3, 4))) is None  # type: ignore[arg-type]
    assert own.put(None, every) is own.put(None, ours) is planned  # type: ignore[arg-type, comparison-overlap]
    assert keys[1:] == [(drawn, "allowed"), (drawn, ours)], "what is of the candidates alone is not cut again"


# --- words and pieces


def test_the_likelihood_of_a_release_is_worked_out_for_every_word_of_a_vocabulary():
    blocks: list[np.ndarray] = []

    def of(released, epsilon, rows):
        blocks.append(rows)
        return -epsilon * rows

    own = SimpleNamespace(vocabulary=SimpleNamespace(words=words(600)), likelihood_of=of)
    out, error = WordMechanism.log_likelihood(own, "w", 2.0, UNWATCHED)  # type: ignore[arg-type]
    assert out.tolist() == [-2.0 * k for k in range(600)] and error == 0.0
    assert np.concatenate(blocks).tolist() == list(range(600)) and len(blocks) == 3

    names = (("a", "b", "A"), ("c", "a"))
    tables = [(names[0], [0.2, 0.3, 0.5]), (names[0], [0.6, 0.4, 0.0]), (names[1], [0.25, 0.75]), (("z",), [1.0])]

    def channel(candidates, p):
        with np.errstate(divide="ignore"):
            d = TokenDistribution(candidates, np.log(p), None, 1.0)
        return SimpleNamespace(candidates=candidates, at=lambda e: d)

    own = SimpleNamespace(channels=lambda rows: [channel(*tables[r]) for r in rows])
    found = WordMechanism.likelihood_of(own, "a", 1.0, np.arange(4))  # type: ignore[arg-type]
    assert np.exp(found) == pytest.approx([0.7, 0.6, 0.75, 0.0])


def test_the_word_that_pieces_end_with_is_that_of_their_text():
    pieces = ["a", " ab", "b!", "!", "c-d", "", "7", ".x9", "é"]
    rng = np.random.default_rng(3)
    own = SimpleNamespace(_pieces=pieces)
    for n in (0, 1, 2, 3, 5):
        for _ in range(60):
            written = rng.integers(0, len(pieces), n).tolist()
            text = "".join(pieces[i] for i in written)
            at = len(text)
            while at > 0 and text[at - 1].isalnum():
                at -= 1
            if "" not in [pieces[i] for i in written]:  # which is neither of letters nor of marks
                assert Spelling._word(own, written) == text[at:]  # type: ignore[arg-type]


# --- what is recommended


def test_what_is_recommended_is_left_out_of_a_name_and_put_where_nothing_is_named():
    for name in recommended.ORDER:
        assert recommended.recommended_partners(name) == [n for n in recommended.ORDER if n != name]
    assert len(recommended.recommended_partners("mvc")) == len(recommended.ORDER)
    known = [(spec.name, recommended.recommended_fields(spec.name)) for spec in dpt.mechanisms()]
    assert any(first for _, first in known)
    for name, first in known:
        at = {k: recommended.recommended_value(f) for k, f in first.items()}
        assert all(at[k] != f.default for k, f in first.items())
        bare = dpt.Setting(name)
        assert dict(recommended.with_recommended(bare).options) == at
        assert recommended.without_recommended(dpt.Setting(name, at)) == bare
        assert recommended.label(dpt.Setting(name, at)) == dpt.mechanism_class(name).title
        for k, f in first.items():
            other = dpt.Setting(name, at | {k: f.default})
            assert dict(recommended.without_recommended(other).options) == {k: f.default}
            assert dict(recommended.with_recommended(other).options) == at | {k: f.default}


@pytest.mark.parametrize("most", [1, 4, 99])
def test_prepared_texts_come_in_their_order_each_scored_once(most, monkeypatch):
    """Whatever their number of words, and however many are asked for in one call."""
    monkeypatch.setattr(masked_words, "_ASKED", most)
    scored: list[list[str]] = []
    told: list[Any] = []
    own = SimpleNamespace(
        plan=lambda text: SimpleNamespace(text=text, targets=text.split()),
        _score=lambda texts, task: scored.append([t.text for t in texts]),
    )
    task = SimpleNamespace(quiet=None, report=lambda *at: told.append(at))
    texts = ["a b", "", "c d e", "f", "g", "h i j k l m", "n"]
    found = list(masked_words.MaskedWords.prepare_many(own, texts, task=task))  # type: ignore[arg-type]
    assert [p.text for p in found] == texts == [t for block in scored for t in block] and told[-1] == (7, 7)
    if most == 4:
        assert scored == [["a b", "", "c d e"], ["f", "g", "h i j k l m"], ["n"]]
    else:
        assert len(scored) == (6 if most == 1 else 1)


# --- public proposals, and sentences


def brute_flips(winner, low: float, high: float) -> list[int]:
    """Who wins, in order, over a fine grid of ε."""
    out: list[int] = []
    for e in np.geomspace(low, high, 4000):
        if not out or out[-1] != winner(e):
            out.append(winner(e))
    return out


@pytest.mark.parametrize("seed", range(3))
def test_with_the_noise_locked_sentences_change_where_the_sampler_does(seed):
    cosines = np.random.default_rng(seed).uniform(-0.2, 0.9, 40)
    table = sentence_trace.CosineTable(tuple(map(str, range(40))), cosines, (0.0, 0.8))
    stream = NoiseStream(seed)
    noise = stream.gumbel(40)
    flips = table.epsilon_breakpoints(stream, 0.5, 200.0)
    assert [i for _, i in flips] == brute_flips(lambda e: int(np.argmax(table.log_weights(e) + noise)), 0.5, 200.0)
    assert len(flips) > 1 and flips[0][0] == 0.5
    for (_, before), (at, after) in pairwise(flips):
        assert np.argmax(table.log_weights(at * (1 + 1e-7)) + noise) == after
        assert np.argmax(table.log_weights(at * (1 - 1e-4)) + noise) == before
        assert table.draw(at * (1 + 1e-7), stream) == after


def test_a_shift_whose_range_depends_on_epsilon_has_these_chances():
    rng = np.random.default_rng(4)
    proposal, shift = rng.normal(size=9) * 3, rng.normal(size=9) * 4
    shape = lambda e: dp_mlm_prior.PriorShape(min(1.0, 5 / e), -1.0, 1.0 + e / 10)  # noqa: E731
    channel = dp_mlm_prior.ShiftChannel(tuple("abcdefghi"), proposal, shift, shape, "a", np.array([0]))

    def weights(e):
        s = shape(e)
        return proposal / s.tau + e * (np.clip(shift, s.low, s.high) - s.high) / (2 * (s.high - s.low))

    epsilons = np.array([0.5, 8.0, 40.0])
    log_probs = channel.log_p(epsilons, np.array([2, 7]))
    for k, e in enumerate(epsilons):
        p = np.exp(weights(e)) / np.exp(weights(e)).sum()
        assert np.exp(log_probs[:, k]) == pytest.approx(p[[2, 7]]) and channel.at(e).probs == pytest.approx(p)
    stream = NoiseStream(7)
    noise = stream.gumbel(9)
    flips = channel.epsilon_breakpoints(stream, 0.5, 60.0)
    assert [i for _, i in flips] == brute_flips(lambda e: int(np.argmax(weights(e) + noise)), 0.5, 60.0)


@pytest.mark.parametrize("kept", [1, 2, 99])
def test_how_open_places_are_is_the_entropy_of_what_is_proposed_there(kept, monkeypatch):
    monkeypatch.setattr(word_prior, "CHANNELS_KEPT", kept)
    p = {1: [0.5, 0.5, 0.0], 3: [0.2, 0.3, 0.5], 4: [1.0, 0.0, 0.0]}
    with np.errstate(divide="ignore"):
        log_p = {i: np.maximum(np.log(np.array(x)), -700.0) + i for i, x in p.items()}
    prepared = SimpleNamespace(skeleton=SimpleNamespace(kept_tokens=["the", None, ".", None, None]))
    asked: list[list[int]] = []
    m = SimpleNamespace(
        config=SimpleNamespace(prior="skeleton"),
        _planned=lambda text: prepared,
        _proposals=lambda prepared, block: asked.append(block) or np.stack([log_p[i] for i in block]),
    )
    found = word_prior._Start(m).entropy("text")  # type: ignore[arg-type]
    assert found == pytest.approx({1: math.log(2), 3: -sum(x * math.log(x) for x in p[3]), 4: 0.0})
    assert [i for block in asked for i in block] == [1, 3, 4] and max(map(len, asked)) <= kept
    m.config.prior = "frequency"
    assert word_prior._Start(m).entropy("text") is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("order", "other"), [("parallel", "parallel"), ("sequential", "sequential"), ("certain", "sequential")]
)
def test_a_mechanism_without_its_proposal_has_the_same_options(order, other):
    m = dpt.get_mechanism("dp-mlm-prior", order=order, epsilon=31.0, keep_stopwords=False)
    plain = m.public_prior.without_prior()
    assert plain is not None and plain.name == "dp-mlm" and plain.config.order == other
    for f in dataclasses.fields(plain.config):
        if f.name != "order" and hasattr(m.config, f.name):
            assert getattr(plain.config, f.name) == getattr(m.config, f.name), f.name


def test_bounds_of_an_estimate_are_those_of_its_counts():
    counts = np.array([700, 0, 250, 50])
    with np.errstate(divide="ignore"):
        estimate = TokenDistribution(tuple("abcd"), np.log(counts / 1000), None, 1.0, draws=1000)
    expected = [1.0 if k == 1000 else float(beta.ppf(1 - release_statistics._SURE, k + 1, 1000 - k)) for k in counts]
    assert release_statistics.bounds(estimate) == pytest.approx(expected)
    exact = TokenDistribution(tuple("abcd"), estimate.log_probs, None, 1.0)
    assert release_statistics.bounds(exact) is exact.probs


@pytest.mark.parametrize("rate", [0.0, 0.01, 1.3, 40.0])
def test_pinskers_bound_is_that_of_the_divergence(rate):
    """Summed over whole numbers, for each number that is moved; at most 1, and 0 where the noise has no end."""
    shift = np.array([[0, 3], [-2, 1]])
    k = np.arange(-6000, 6001)
    divergence = 0.0
    if rate:
        p = np.exp(-rate * np.abs(k))
        p /= p.sum()
        divergence = sum(float((p * rate * (np.abs(k - s) - np.abs(k))).sum()) for s in shift.ravel())
    assert laplace_advantage(shift, rate) == pytest.approx(min(1.0, math.sqrt(divergence / 2)), abs=1e-12)


def test_texts_are_kept_prepared_where_a_model_has_scored_each_of_their_words():
    slow = {s.name for s in dpt.mechanisms() if dpt.mechanism_class(s.name).slow_to_prepare}
    assert slow == {"dp-mlm", "dp-mlm-plus", "dp-mlm-prior"}
