"""The trade-off curve of two given texts, against enumeration and simulation."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from small_spaces import diffractor, on, random_space, shuffled_lists, words
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core import cli
from dptext_core.attacks import trade_off_curve as module
from dptext_core.attacks import two_texts
from dptext_core.attacks.trade_off_curve import trade_off_curve
from dptext_core.mechanisms.likelihood import require_likelihood

A, B, C, D = words(12)[:4]
RATES = (0.0, 0.01, 0.05, 0.3, 0.5, 1.0)


@pytest.fixture(scope="module")
def space():
    return random_space(12)


def best_detection(p: np.ndarray, q: np.ndarray, rate: float) -> float:
    """Return the detections of the best randomised rule: min over u of Σ max(0, p − u·q) + u·rate."""
    ratios = np.concatenate([[0.0], p[q > 0] / q[q > 0]])
    return min(1.0, min(float(np.maximum(0, p - u * q).sum() + u * rate) for u in ratios))


def joint(m, texts, vocabulary):
    """Return the probability of every release of both texts, from how likely whole rewrites are."""
    prepared = [m.prepare(t) for t in texts]
    places = range(len(prepared[0].document.words))
    releases = [dict(zip(places, r, strict=True)) for r in itertools.product(vocabulary, repeat=len(places))]
    return [np.exp(require_likelihood(m).in_places(p, releases)) for p in prepared]


@pytest.mark.parametrize("name", ["custext", "santext", "tem", "santext-plus"])
@pytest.mark.parametrize("texts", [(A, B), (f"{A} {B}", f"{C} {D}"), (f"{A} {B} {A}", f"{A} {D} {B}")])
def test_few_outcomes_are_exact_against_every_release(name, texts, space):
    m = on(space, name, epsilon=3.0, **({"k": 12} if name == "custext" else {}))
    p, q = joint(m, texts, words(12))
    assert p.sum() == pytest.approx(1) and q.sum() == pytest.approx(1)
    found = trade_off_curve(m, *texts, false_alarms=RATES)
    assert found.is_exact and found.places == sum(a != b for a, b in zip(*map(str.split, texts), strict=True))
    assert found.upper == pytest.approx([best_detection(p, q, rate) for rate in RATES], abs=1e-9)
    assert found.advantage == pytest.approx([np.abs(p - q).sum() / 2] * 2, abs=1e-9)


def test_lists_with_noise_have_a_curve(space):
    m = diffractor(shuffled_lists(2, 12), epsilon=0.5)
    first, second = f"{A} {B}", f"{B} {A}"
    p, q = joint(m, (first, second), words(12))
    found = trade_off_curve(m, first, second, false_alarms=RATES)
    assert found.upper == pytest.approx([best_detection(p, q, rate) for rate in RATES], abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 12.0])
def test_the_grid_brackets_the_exact_curve(epsilon, space, monkeypatch):
    m = on(space, "santext", epsilon=epsilon)
    texts = f"{A} {B} {C} {D}", f"{B} {C} {D} {A}"
    exact = trade_off_curve(m, *texts, false_alarms=RATES)
    monkeypatch.setattr(module, "_ENUMERATED", 1)
    found = trade_off_curve(m, *texts, false_alarms=RATES)
    assert exact.is_exact and not found.is_exact
    assert (found.lower <= exact.upper + 1e-9).all() and (exact.upper <= found.upper + 1e-9).all()
    assert (found.upper - found.lower).max() < 2e-3
    assert found.advantage[0] <= exact.advantage[0] + 1e-9 and exact.advantage[0] <= found.advantage[1] + 1e-9


def test_a_coarse_grid_and_clipped_losses_still_bracket(space, monkeypatch):
    m = on(space, "santext", epsilon=6.0)
    texts = f"{A} {B} {C}", f"{B} {C} {D}"
    exact = trade_off_curve(m, *texts, false_alarms=RATES)
    for name, value in (("_ENUMERATED", 1), ("_STEPS", 40), ("_CLIP", 1.5)):
        monkeypatch.setattr(module, name, value)
    found = trade_off_curve(m, *texts, false_alarms=RATES)
    assert (found.lower <= exact.upper + 1e-9).all() and (exact.upper <= found.upper + 1e-9).all()
    assert (found.upper - found.lower).max() > 0.01


def test_many_places_agree_with_a_simulation(space):
    m = on(space, "santext", epsilon=2.0)
    rng = np.random.default_rng(4)
    names = np.array(words(12))
    texts = [" ".join(names[rng.integers(0, 12, 30)]) for _ in range(2)]
    found = trade_off_curve(m, *texts, false_alarms=(0.05, 0.2))
    assert not found.is_exact and (found.upper - found.lower).max() < 5e-3
    prepared, n = [m.prepare(t) for t in texts], 1200
    scores = []
    for p, seed in zip(prepared, (1, 2), strict=True):
        log_p = require_likelihood(m).log(prepared, m.rewrites(p, n, seed))
        scores.append(log_p[0] - log_p[1])
    for k, rate in enumerate((0.05, 0.2)):
        detected = float((scores[0] > np.quantile(scores[1], 1 - rate)).mean())
        assert found.lower[k] - 0.06 < detected < found.upper[k] + 0.06


def test_each_epsilon_has_its_row_and_no_curve_exceeds_the_guarantee(space):
    m, epsilons = on(space, "tem", epsilon=3.0), [0.2, 3.0, 30.0]
    texts = f"{A} {B}", f"{C} {B}"
    found = trade_off_curve(m, *texts, epsilons, false_alarms=RATES)
    assert found.epsilons == tuple(epsilons) and found.upper.shape == found.ceiling.shape == (3, 6)
    for i, e in enumerate(epsilons):
        one = trade_off_curve(m.replace(epsilon=e), *texts, false_alarms=RATES)
        assert found.upper[i] == pytest.approx(one.upper) and found.ceiling[i] == pytest.approx(one.ceiling)
    assert (found.upper <= found.ceiling + 1e-12).all() and (np.diff(found.upper[:, 1:5], axis=0) > 0).all()
    assert (found.upper >= np.array(RATES) - 1e-12).all()
    data = json.loads(json.dumps(found.to_dict()))
    assert data["exact"] and data["upper"] == found.upper.tolist() and A not in json.dumps(data)
    assert len(found.rows()) == len(RATES) and found.sentence().count("ε = ") == 3


def test_success_is_that_of_the_likelier_text_and_its_ceiling_follows_from_the_loss(space):
    m, texts = on(space, "custext", epsilon=2.0, k=12), (f"{A} {B}", f"{C} {D}")
    p, q = joint(m, texts, words(12))
    found = trade_off_curve(m, *texts)
    assert found.success == pytest.approx([np.maximum(p, q).sum() / 2] * 2, abs=1e-9)
    assert found.loss == pytest.approx(4.0) and found.delta == 0
    assert found.success_ceiling == pytest.approx(math.exp(4) / (math.exp(4) + 1))
    each = trade_off_curve(m, *texts, [1.0, 2.0])
    assert each.loss == pytest.approx([2.0, 4.0]) and each.success_ceiling[1] == pytest.approx(found.success_ceiling)
    apart = trade_off_curve(on(space, "custext", epsilon=1.0, k=2), A, D)
    assert apart.success_ceiling == 1 and apart.to_dict()["loss"] is None


def test_a_success_ceiling_with_a_delta_is_what_the_worst_mechanism_reaches():
    epsilon, delta = 1.2, 0.1
    rest = (1 - delta) / (1 + math.exp(epsilon))
    likelier = rest * math.exp(epsilon)
    p, q = np.array([delta, likelier, rest, 0.0]), np.array([0.0, rest, likelier, delta])
    none = np.zeros(1)
    found = module.TradeOffCurve(none, none, none, none, none, None, 1, np.array(epsilon), np.array(delta))
    assert found.success_ceiling == pytest.approx(np.maximum(p, q).sum() / 2)


def test_csv_has_a_line_for_each_epsilon_and_rate(space):
    m, texts = on(space, "tem", epsilon=3.0), (f"{A} {B}", f"{C} {B}")
    header, *lines = trade_off_curve(m, *texts, false_alarms=(0.0, 0.5)).to_csv().splitlines()
    assert header == "false_alarms,detections_lower,detections_upper,guarantee_allows" and len(lines) == 2
    found = trade_off_curve(m, *texts, [1.0, 3.0], false_alarms=(0.0, 0.5))
    table = np.genfromtxt(found.to_csv().splitlines(), delimiter=",", names=True)
    assert table["epsilon"].tolist() == [1, 1, 3, 3] and table["false_alarms"].tolist() == [0, 0.5] * 2
    assert table["detections_upper"].tolist() == found.upper.ravel().tolist()
    assert table["guarantee_allows"].tolist() == found.ceiling.ravel().tolist()


def test_the_ceiling_is_that_of_randomised_response():
    keep, rates = 1 / (1 + math.exp(-1.5)), np.array([0.0, 0.1, 1 - 1 / (1 + math.exp(-1.5)), 0.6, 1.0])
    response = module._Curve.of(np.array([1.5, -1.5]), np.array([keep, 1 - keep]), np.array([1 - keep, keep]), 0.0)
    assert module._ceiling(rates, 1.5, 0.0) == pytest.approx(response.at(rates))
    assert module._ceiling(rates, 1.5, 0.01) == pytest.approx(np.minimum(response.at(rates) + 0.01, 1.0), abs=0.01)
    assert module._ceiling(rates, math.inf, 0.0).tolist() == [1.0] * 5


def test_texts_that_every_release_tells_apart_are_always_detected(space):
    m = on(space, "santext", epsilon=1.0)
    found = trade_off_curve(m, f"{A} {B}", f"{A} {B} {C}", false_alarms=(0.0, 0.05))
    assert found.lower.tolist() == found.upper.tolist() == [1.0, 1.0] and found.ceiling.tolist() == [1.0, 1.0]


def test_words_outside_each_others_sets_are_detected_without_false_alarms(space):
    m = on(space, "custext", epsilon=1.0, k=2)
    p, q = joint(m, (A, D), words(12))
    found = trade_off_curve(m, A, D, false_alarms=RATES)
    assert found.upper == pytest.approx([best_detection(p, q, rate) for rate in RATES], abs=1e-9)
    assert found.upper[0] == pytest.approx(p[q == 0].sum()) and found.upper[0] > 0


def test_a_repeated_word_that_is_sampled_once_counts_once(space):
    m = on(space, "custext", epsilon=2.0, k=12, strategy="record")
    twice = trade_off_curve(m, f"{A} {A}", f"{B} {B}", false_alarms=RATES)
    assert twice.upper == pytest.approx(trade_off_curve(m, A, B, false_alarms=RATES).upper) and twice.places == 1
    with pytest.raises(dpt.NoDistribution, match="repeat"):
        trade_off_curve(m, f"{A} {A}", f"{A} {B}")


def test_a_language_model_is_compared_at_every_place(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=10.0)
    texts = "The doctor paid my friend money.", "The lawyer paid my friend money."
    found = trade_off_curve(m, *texts, [5.0, 20.0], false_alarms=(0.05, 0.2))
    assert found.places > 1 and (found.lower <= found.upper).all() and (found.upper <= found.ceiling).all()
    for i, e in enumerate((5.0, 20.0)):
        own, n, scores = m.replace(epsilon=e), 1500, []
        prepared = [own.prepare(t) for t in texts]
        for p, seed in zip(prepared, (1, 2), strict=True):
            log_p = require_likelihood(own).log(prepared, own.rewrites(p, n, seed))
            scores.append(log_p[0] - log_p[1])
        for k, rate in enumerate((0.05, 0.2)):
            detected = float((scores[0] > np.quantile(scores[1], 1 - rate)).mean())
            assert found.lower[i, k] - 0.07 < detected < found.upper[i, k] + 0.07


@pytest.mark.parametrize(
    ("name", "options"), [("dp-mlm", {"order": "sequential"}), ("dp-mlm-plus", {}), ("mvc", {}), ("adept", {})]
)
def test_mechanisms_without_independent_places_refuse(name, options, tiny_model):
    if name.startswith("dp-mlm"):
        options = options | {"model": tiny_model}
    m = dpt.get_mechanism(name, **options)
    with pytest.raises(dpt.NoDistribution):
        trade_off_curve(m, "The doctor paid.", "The lawyer paid.")


def test_what_cannot_be_asked_is_refused(space):
    m = on(space, "santext", epsilon=1.0)
    with pytest.raises(dpt.InputError, match="same"):
        trade_off_curve(m, A, A)
    for given in ({"false_alarms": (1.5,)}, {"false_alarms": ()}, {"epsilons": []}):
        with pytest.raises(dpt.ConfigError):
            trade_off_curve(m, A, B, **given)
    with pytest.raises(dpt.NoDistribution, match="keeps a word"):
        trade_off_curve(on(space, "santext", epsilon=1.0, oov="keep"), f"{A} unlisted", f"{A} {B}")


def test_without_a_guarantee_no_limit_is_stated():
    m = dpt.get_mechanism("surrogates")
    found = trade_off_curve(m, "Call Mrs Hall now.", "Call Mrs Hill now, please.")
    assert found.loss == np.inf and "allows" not in found.sentence() and "no guarantee" in found.sentence()
    with pytest.raises(dpt.ConfigError):
        trade_off_curve(m, "Call Mrs Hall.", "Call me.", epsilons=[1.0])


def test_the_attacker_and_the_command_give_it(capsys):
    m, text = dpt.get_mechanism("custext", epsilon=8), "My doctor treated my sister."
    found = dpt.attacks.get_attacker("two-texts").attack(m, m.rewrite(text, seed=1), word="doctor", draws=20)
    exact = dpt.trade_off_curve(m, *found.texts)
    assert found.curve is not None and found.curve.to_dict() == exact.to_dict() and exact.places == 1
    assert found.sentence().endswith(exact.sentence())
    given = ["attack", "--mechanism", "custext", "--epsilon", "8", "--attacker", "two-texts", "--word", "doctor"]
    assert cli.main([*given, "--draws", "20", "--json", "--quiet", text]) == 0
    assert json.loads(capsys.readouterr().out)["curve"] == exact.to_dict()
    assert cli.main([*given[:-4], "--attacker", "which-text", "--json", text]) == 2


def test_a_writer_has_no_exact_curve(tmp_path):
    m = dpt.get_mechanism("dp-prompt", model=str(tiny_generator(tmp_path, "gpt2")), epsilon=40.0, max_tokens=2)
    pair = ("The doctor told my friend.", "The lawyer told my friend.")
    finding = two_texts.measure(m, pair, 20, classifiers=("words",))
    assert two_texts.with_curve(finding, m).curve is None and "curve" not in finding.to_dict()
