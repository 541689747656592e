"""ADePT: clipping and noise against their formulas, the autoencoder's files and bits, and a pre-training that stops."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from guarantee_terms import entries
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import dptext_core as dpt
from dptext_core import NoiseStream, cli
from dptext_core.data import tables
from dptext_core.data.tables import texts_of
from dptext_core.mechanisms.latent.adept import GRID, ADePT, clip_l1, clip_l2
from dptext_core.models import autoencoder as ae
from dptext_core.privacy.gaussian import laplace_advantage
from dptext_core.privacy.sampling import discrete_laplace
from dptext_core.support import plugins
from dptext_lab.training.pretraining import STATE, Settings, Training, _Model, pretrain

TEXT = "My doctor in Lisbon treated my sister for diabetes."
TEXTS = ["show me flights to boston", "play some jazz", "what is the weather in paris", "add this song to my list"]


def made(tiny: str, name: str = "adept", **options):
    return dpt.get_mechanism(name, checkpoint=tiny, **options)


# --- clipping


@pytest.mark.parametrize("norm", [0.01, 1.0, 5.0, 1000.0])
@pytest.mark.parametrize("size", [1e-6, 0.1, 40.0])
def test_the_l1_norm_of_what_is_clipped_is_never_larger(norm, size):
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = (rng.normal(size=256) * size).astype(np.float32)
        steps = clip_l1(x, norm)
        assert steps.dtype == np.int64 and int(np.abs(steps).sum()) <= GRID
        # What it is clipped to, up to two steps in each place: multiplied by min(1, C/norm).
        wanted = x * min(1.0, norm / float(np.abs(x).astype(np.float64).sum()))
        assert np.abs(steps * (norm / GRID) - wanted).max() <= 2 * norm / GRID + 1e-6 * np.abs(wanted).max()


def test_a_vector_within_the_norm_stays_and_the_largest_one_reaches_it():
    x = np.array([1.5, -0.25, 0.0, 3.25])
    assert clip_l1(x, 5.0) * (5.0 / GRID) == pytest.approx(x, abs=5.0 / GRID)
    big = np.array([60.0, 0.0, -60.0, 0.0])
    assert clip_l1(big, 5.0).tolist() == [GRID // 2, 0, -(GRID // 2), 0]


#: Every float: subnormal, beyond what a product holds, infinite, not a number.
ANY_FLOATS = st.lists(
    st.one_of(st.floats(width=32), st.floats(), st.sampled_from([1e308, -1e308, 5e-324, math.inf, math.nan])),
    min_size=1,
    max_size=40,
)


@given(ANY_FLOATS, st.floats(0.01, 1000.0), st.sampled_from([np.float64, np.float32, np.float16]))
@example([math.nan], 5.0, np.float64)
@example([math.inf, -math.inf, 1.0], 5.0, np.float64)
@example([1e308] * 40, 0.01, np.float64)
@example([1e16, -1e16], 0.01, np.float64)
def test_the_norms_hold_for_every_float(values, norm, dtype):
    with np.errstate(over="ignore"):
        x = np.array(values).astype(dtype)
    for clipped in (clip_l1, clip_l2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            steps = clipped(x, norm)
        assert steps.dtype == np.int64
        whole = [int(s) for s in steps]
        reached = sum(map(abs, whole)) if clipped is clip_l1 else math.isqrt(sum(s * s for s in whole))
        assert reached <= GRID
        # What is computed from them later holds it too, but for the rounding of sums.
        assert float(np.abs(steps * (norm / GRID)).max()) <= norm * (1 + 1e-15)
        assert all(s == 0 or np.sign(v) == np.sign(s) for s, v in zip(whole, x, strict=True))
        assert all(s == 0 for s, v in zip(whole, x, strict=True) if np.isnan(v))
    if np.abs(np.nan_to_num(x.astype(np.float64), nan=0.0)).max() > 2 * norm:
        assert sum(abs(int(s)) for s in clip_l1(x, norm)) > GRID - 2 * len(x), "what is beyond the norm reaches it"


@pytest.mark.parametrize("norm", [0.01, 5.0, 1000.0])
def test_the_l2_norm_is_clipped_too_and_leaves_an_l1_norm_of_up_to_the_root_of_the_size(norm):
    rng = np.random.default_rng(1)
    for size in (0.01, 30.0):
        x = (rng.normal(size=256) * size).astype(np.float32)
        steps = clip_l2(x, norm)
        length = float(np.sqrt((steps.astype(np.float64) ** 2).sum())) / GRID
        assert length <= 1 + 1e-9
        assert length == pytest.approx(min(1.0, float(np.linalg.norm(x)) / norm), abs=20 / GRID)
    even = clip_l2(np.full(256, 100.0), norm)
    assert np.abs(even).sum() / GRID == pytest.approx(16.0, rel=1e-3)


# --- noise


def test_the_noise_has_the_stated_chances():
    """At level 1e-4 the chi-square of these 21 cells is refused from 54 on. A rate that is 5% off adds 110 to it, and
    is found with a chance above 0.999."""
    rate, n = Fraction(0.3), 50_000
    found = discrete_laplace(NoiseStream(3), n, rate)
    assert found.dtype == np.int64
    edges = np.arange(-9, 11)
    cells = np.concatenate([[(found < -9).sum()], [(found == k).sum() for k in edges[:-1]], [(found > 9).sum()]])
    r = float(rate)
    inside = np.tanh(r / 2) * np.exp(-r * np.abs(edges[:-1]))
    # Beyond 9 on a side: e^−10r / (1 + e^−r).
    tail = np.exp(-10 * r) / (1 + np.exp(-r))
    chances = np.concatenate([[tail], inside, [tail]])
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    assert stats.chisquare(cells, chances * n).pvalue > 1e-4


@pytest.mark.parametrize(("epsilon", "norm"), [(1.0, 5.0), (1000.0, 0.5)])
def test_the_noise_on_each_number_has_scale_two_c_over_epsilon(tiny_autoencoder, epsilon, norm):
    """6,400 draws of Laplace noise of this scale: the mean of their sizes has a deviation of 1.25% of it, so that a
    scale that is 10% off is found (beyond 5.5%) with a chance above 0.999."""
    m = made(tiny_autoencoder, epsilon=epsilon, clip_norm=norm, rescale=False)
    p = m.prepare(TEXT)
    at = m.clipped(p) * (norm / GRID)
    noise = np.concatenate([m.noisy(p, NoiseStream(9).at(k)) - at for k in range(400)])
    scale = 2 * norm / epsilon
    assert len(noise) == 6_400 and np.abs(noise).mean() == pytest.approx(scale, rel=0.055)
    assert stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > 1e-4


def test_the_original_adds_the_same_noise_to_what_may_lie_farther_apart(tiny_autoencoder):
    own, original = (made(tiny_autoencoder, name, epsilon=10.0, rescale=False) for name in ("adept", "adept-original"))
    a, b = ([m.noisy(p := m.prepare(TEXT), NoiseStream(2)) - m.clipped(p) * (5 / GRID)] for m in (own, original))
    assert a[0] == pytest.approx(b[0], abs=1e-9)


def test_with_locked_noise_it_shrinks_as_epsilon_grows(tiny_autoencoder):
    m = made(tiny_autoencoder, rescale=False)
    p, stream = m.prepare(TEXT), NoiseStream(4)
    sizes = []
    for epsilon in (1.0, 10.0, 100.0):
        at = m.replace(epsilon=epsilon)
        sizes.append(at.noisy(p, stream) - at.clipped(p) * (5 / GRID))
    assert sizes[0] == pytest.approx(10 * sizes[1], abs=1e-4) and sizes[1] == pytest.approx(10 * sizes[2], abs=1e-4)


# --- the promise


def test_the_promise_is_one_for_the_whole_text_whatever_it_is(tiny_autoencoder):
    m = made(tiny_autoencoder, epsilon=3.0)
    for text in (TEXT, "", "word " * 300):
        g = m.guarantee(text)
        assert (g.notion, g.unit, g.adjacency, g.draws, g.total) == ("pure", "released text", "any two texts", 1, 3.0)
        assert entries(g, "word-piece-limits") == [{"read": 16, "written": 20}]
    assert m.audit_support.adjacent(TEXT, "")
    assert m.rewrite("", seed=1).text != "" and m.can == frozenset()


def test_the_original_promises_nothing_and_says_what_its_epsilon_is(tiny_autoencoder):
    m = made(tiny_autoencoder, "adept-original", epsilon=10.0)
    g = m.guarantee(TEXT)
    assert g.notion == m.notion == "none" and g.reason.kind == "mismatched-norms"
    assert "√16 = 4 times" in g.reason and "ε = 10 is really 40" in g.reason


@pytest.mark.usefixtures("few_rewrites")
@pytest.mark.parametrize("name", ["adept", "adept-original"])
def test_without_noise_nothing_is_promised_and_all_draws_are_one(tiny_autoencoder, name):
    m = made(tiny_autoencoder, name, no_noise=True, max_tokens=2)
    assert m.guarantee(TEXT).notion == "none" and m.guarantee(TEXT).reason.kind == "no-noise"
    assert len({r.text for r in m.rewrites(TEXT, 5)}) == 1
    assert [p.epsilon for p in m.rewrite(TEXT).releases] == [0.0], "what nothing hides spends no ε that could be told"
    assert m.audit_support.latent_loss(m.prepare(TEXT), m.prepare("")) is None
    if name == "adept":
        assert dpt.audit(m, [TEXT, "play some jazz"], draws=100).verdict == "inconclusive"


def test_no_vector_loses_more_than_epsilon(tiny_autoencoder):
    m = made(tiny_autoencoder, epsilon=7.0)
    texts = [m.prepare(t) for t in [*TEXTS, TEXT, "", "é " * 50]]
    losses = [m.audit_support.latent_loss(a, b) for a in texts for b in texts]
    assert 0 < max(losses) <= 7.0
    # The bound is reached: two vectors that share no place.
    a, b = np.eye(16)[0] * 9, np.eye(16)[1] * 9
    ends = (type(texts[0])(texts[0].document, m.key, x.astype(np.float32), False) for x in (a, b))
    far = m.audit_support.latent_loss(*ends)
    assert far == pytest.approx(7.0, rel=1e-12) and far <= 7.0


def test_the_stated_loss_is_that_of_the_noise(tiny_autoencoder):
    """The largest ratio of the product of closed forms, over vectors beyond both and random ones."""
    m = made(tiny_autoencoder, epsilon=5.0)
    a, b = m.prepare(TEXTS[0]), m.prepare(TEXTS[1])
    z, w, rate = m.clipped(a), m.clipped(b), float(m.rate)
    assert m.audit_support.latent_advantage(a, b) == laplace_advantage(z - w, rate) > 0
    rng = np.random.default_rng(5)
    beyond = np.where(z > w, np.maximum(z, w), np.minimum(z, w)) + np.sign(z - w) * 3
    tried = [beyond, *(z + rng.integers(-GRID, GRID, size=(200, len(z))))]
    ratios = [rate * float((np.abs(y - w) - np.abs(y - z)).sum()) for y in tried]
    assert max(ratios) == pytest.approx(m.audit_support.latent_loss(a, b), rel=1e-12) and max(ratios[1:]) < ratios[0]


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
def test_the_audit_holds_for_the_corrected_one_and_refutes_the_claim_of_the_original(tiny_autoencoder):
    texts = [TEXTS[0], TEXT]
    m = made(tiny_autoencoder, epsilon=50.0, max_tokens=2)
    report = dpt.audit(m, texts, draws=100, seed=1)
    assert report.holds and report.exact and 0 < report.measured <= 50 and "noisy vector" in report.details()
    assert json.dumps(report.to_dict())
    flawed = made(tiny_autoencoder, "adept-original", epsilon=50.0, max_tokens=2)
    report = dpt.audit(flawed, texts, claim=50.0, draws=100, seed=1)
    assert report.verdict == "refuted" and 50 < report.measured <= 200 and "noisy vector" in report.details()
    report = dpt.audit(flawed, texts, draws=100, seed=1)
    assert report.verdict == "inconclusive" and report.measured > 50 and "no guarantee" in report.details()
    assert "That exceeds the nominal ε = 50 of one draw, which is no guarantee." in report.details()


class Careless(ADePT):
    """Clips nothing, and promises as if it did."""

    name, title = "careless", "Careless"

    def clipped(self, prepared):
        return np.trunc(np.asarray(prepared.latent, np.float64) * (GRID / self.config.clip_norm)).astype(np.int64)


@pytest.mark.usefixtures("few_rewrites")
def test_an_autoencoder_that_does_not_clip_is_refuted_by_its_own_claim(tiny_autoencoder):
    m = Careless.create(checkpoint=tiny_autoencoder, epsilon=5.0, clip_norm=0.5, max_tokens=2)
    assert dpt.audit(m, TEXTS[:2], draws=100).verdict == "refuted"


def test_a_planned_text_is_read_when_it_is_rewritten(tiny_autoencoder):
    m = made(tiny_autoencoder)
    assert m.rewrite(m.plan(TEXT), seed=2).text == m.rewrite(TEXT, seed=2).text


def test_a_text_of_which_nothing_comes_is_shown_and_written_down(tiny_autoencoder, monkeypatch):
    from dptext_core.measure.ledger import Ledger
    from dptext_studio.figures import token_view

    monkeypatch.setattr(ae.Autoencoder, "decode", lambda self, contexts, most=None: [""] * len(contexts))
    r = made(tiny_autoencoder).rewrite(TEXT)
    assert r.text == "" and sum(p.epsilon for p in r.releases) == r.guarantee.total
    shown = token_view.payload(r, run=1, low=1.0, high=1000.0, default=100.0)
    assert json.dumps(shown, allow_nan=False) and json.dumps(r.to_dict())
    ledger = Ledger()
    ledger.record(r, released=True)
    assert ledger.account(TEXT).totals[0].epsilon == 100.0


# --- options


@pytest.mark.parametrize(
    "options",
    [
        {"clip_norm": 0.0},
        {"clip_norm": math.nan},
        {"clip_norm": math.inf},
        {"clip_norm": -5.0},
        {"max_tokens": 0},
        {"max_tokens": 2.5},
        {"max_tokens": 10**9},
        {"no_noise": "yes"},
        {"rescale": 1},
        {"checkpoint": ""},
        {"checkpoint": "no/such/folder"},
        {"checkpoint": 3},
        {"epsilon": (1.0, 2.0)},
    ],
)
def test_absurd_options_are_refused(tiny_autoencoder, options):
    with pytest.raises(dpt.DPTextError, match=next(iter(options)) if "epsilon" not in options else "one ε"):
        dpt.get_mechanism("adept", **({"checkpoint": tiny_autoencoder} | options))


def test_the_length_is_a_public_limit(tiny_autoencoder):
    model = ae.load_autoencoder(tiny_autoencoder)
    contexts = model.encode(TEXTS)
    long = model.decode_ids(contexts, 30)
    assert max(map(len, long)) == 30 and [len(w) for w in model.decode_ids(contexts)] == [min(len(w), 6) for w in long]
    for most in (1, 5):
        assert model.decode_ids(contexts, most) == [w[:most] for w in long]
        assert made(tiny_autoencoder, max_tokens=most).rewrite(TEXTS[0], seed=1).text


def test_what_stands_beyond_the_window_is_not_read(tiny_autoencoder):
    m = made(tiny_autoencoder)
    first, longer = "word " * 16, "word " * 16 + "secret"
    assert np.array_equal(m.prepare(first).latent, m.prepare(longer).latent)
    assert not np.array_equal(m.prepare(first).latent, m.prepare("secret " + first).latent)
    for text in (longer, m.prepare(longer)):
        assert "The first 16 word pieces of this text are read" in m.reading.note(text)
    assert not m.reading.note(first) and not m.reading.note(m.prepare(first))


def test_the_largest_epsilon_is_one_of_the_noise_and_not_of_a_vocabulary(tiny_autoencoder):
    m = made(tiny_autoencoder, epsilon=1e6)
    assert m.max_epsilon == 1e6 and m.rewrite(TEXT).guarantee.total == 1e6
    with pytest.raises(dpt.ConfigError, match=r"at most 1e\+06; it is 2e\+06\.$"):
        made(tiny_autoencoder, epsilon=2e6)


# --- the autoencoder


def test_the_same_text_has_the_same_bits_alone_and_in_every_place_of_a_batch(tiny_autoencoder):
    model = ae.load_autoencoder(tiny_autoencoder)
    alone = model.encode([TEXT])[0]
    others = ["a", "", "word " * 40, *TEXTS]
    for place in (0, 1, ae.WIDTH - 1, ae.WIDTH, ae.WIDTH + 2):
        texts = [*(others * 4)[:place], TEXT, *(others * 4)[: 2 * ae.WIDTH - place]]
        assert np.array_equal(model.encode(texts)[place], alone)
    m = made(tiny_autoencoder)
    several = m.rewrite([*TEXTS, TEXT], seed=3)
    for i, text in enumerate([*TEXTS, TEXT]):
        alone = m.rewrite_prepared(m.prepare(text), NoiseStream(3).at(i), dpt.Task())
        assert alone.text == several[i].text
    contexts = model.encode(TEXTS)
    (own,) = model.scores(contexts[:1], [[2000, 3000]])
    for place in range(ae.WIDTH):
        others = np.repeat(contexts[1:2], ae.WIDTH, axis=0)
        others[place] = contexts[0]
        assert np.array_equal(list(model.scores(others, [[2000, 3000]] * ae.WIDTH))[place], own)


@pytest.mark.slow
def test_it_computes_what_torch_computes(tiny_autoencoder):
    """The weights in torch's own LSTM, from the same files: states and scores."""
    import torch

    model = ae.load_autoencoder(tiny_autoencoder)
    other = _Model(model.shape, "cpu")
    other.set(model.weights)
    ids = [model.pieces(t)[0][:6] for t in TEXTS]
    with torch.inference_mode():
        states, right, scaled = other._states(ids)
        table = other.embeddings[other.outputs] @ other.write
        scores = (states @ table.T).numpy()
    own = model.encode_ids(ids).astype(np.float64)
    clipped = own * (np.minimum(1.0, 5 / np.abs(own).sum(axis=1)))[:, None]
    assert clipped * model.shape.scale == pytest.approx(scaled.numpy(), abs=1e-4)
    found = np.concatenate([s[:6] for s in model.scores(clipped, ids)])
    assert len(found) == len(right) == len(scores)
    assert np.abs(found - scores).max() <= 2e-3


def test_it_writes_what_it_reads(tiny_autoencoder, tmp_path):
    model = ae.load_autoencoder(tiny_autoencoder)
    model.save_pretrained(tmp_path / "again")
    again = ae.Autoencoder.from_pretrained(tmp_path / "again")
    assert again.shape == model.shape and np.array_equal(again.encode(TEXTS), model.encode(TEXTS))
    assert again.decode(again.encode(TEXTS)) == model.decode(model.encode(TEXTS))
    config = json.loads((tmp_path / "again" / "config.json").read_text())
    assert config["trunk"] and len(config["trunk_sha256"]) == 64
    # fp16 of these weights and nothing else: no embeddings, no list of words.
    size = (tmp_path / "again" / "model.safetensors").stat().st_size
    assert size < 2 * sum(int(np.prod(s)) for s in model.shape.tensors().values()) + 2000


@pytest.mark.parametrize(
    ("file", "change", "error", "says"),
    [
        ("model.safetensors", lambda b: b[: len(b) // 2], dpt.ModelUnavailable, "damaged or truncated"),
        ("model.safetensors", lambda b: b"", dpt.ModelUnavailable, "damaged or truncated"),
        ("model.safetensors", None, dpt.ModelUnavailable, "has no model.safetensors"),
        ("config.json", lambda b: b[:40], dpt.ModelUnavailable, "damaged or truncated"),
        ("config.json", None, dpt.ConfigError, "contains no checkpoint"),
        ("config.json", lambda b: b'{"model_type": "bert"}', dpt.ConfigError, "another kind of model"),
        ("config.json", lambda b: b.replace(b'"hidden": 8', b'"hidden": 9'), dpt.ConfigError, "do not match"),
        ("config.json", lambda b: b.replace(b'"hidden": 8', b'"hidden": "8"'), dpt.ConfigError, "hidden"),
        ("config.json", lambda b: b.replace(b'"trunk_sha256": "5', b'"trunk_sha256": "6'), dpt.ConfigError, "another"),
        ("config.json", lambda b: b.replace(b'"clip_norm": 5.0', b'"clip_norm": NaN'), dpt.ConfigError, "clip_norm"),
    ],
)
def test_a_damaged_or_foreign_checkpoint_says_what_is_wrong(tiny_autoencoder, tmp_path, file, change, error, says):
    for name in ("model.safetensors", "config.json"):
        data = (Path(tiny_autoencoder) / name).read_bytes()
        if name != file:
            (tmp_path / name).write_bytes(data)
        elif change is not None:
            assert change(data) != data
            (tmp_path / name).write_bytes(change(data))
    with pytest.raises(error, match=says):
        made(str(tmp_path)).rewrite(TEXT)


def test_weights_that_are_no_numbers_are_refused(tiny_autoencoder, tmp_path):
    model = ae.load_autoencoder(tiny_autoencoder)
    broken = {k: v.copy() for k, v in model.weights.items()}
    broken["encoder.bias"][3] = np.nan
    ae.save(tmp_path, model.shape, broken)
    with pytest.raises(dpt.ModelUnavailable, match="not numbers"):
        ae.Autoencoder.from_pretrained(tmp_path)


# --- pre-training


SMALL = {"hidden": 4, "window": 12, "max_tokens": 6, "batch": 4, "lr": 0.02, "device": "cpu"}
SENTENCES = [f"{verb} {what}" for verb in ("play", "show", "find") for what in ("jazz", "flights", "songs", "rain")]


def test_it_learns_and_keeps_the_best(tmp_path):
    seen = []
    done = pretrain(SENTENCES, SENTENCES[:4], tmp_path / "run", epochs=6, **SMALL, report=lambda *a: seen.append(a))
    assert done.ended == "all epochs" and [e.epoch for e in done.history] == list(range(1, 7)) and len(seen) == 6
    assert done.history[-1].validation_loss < 0.7 * done.history[0].validation_loss
    assert done.best == 1 + int(np.argmax([e.accuracy for e in done.history]))
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert len(record["history"]) == 6 and record["data"]["texts"] == 12 and not (tmp_path / "run" / STATE).exists()
    assert made(str(tmp_path / "run")).rewrite(TEXT).guarantee.notion == "pure"


def test_a_run_that_is_stopped_leaves_a_checkpoint_and_goes_on_to_the_same_end(tmp_path):
    stop = dpt.Task()

    def at_the_first(epoch, *_):
        if epoch == 1:
            stop.cancel()

    whole = pretrain(SENTENCES, SENTENCES[:4], tmp_path / "whole", epochs=3, **SMALL)
    with pytest.raises(dpt.Cancelled, match="Repeat the command"):
        pretrain(SENTENCES, SENTENCES[:4], tmp_path / "cut", epochs=3, **SMALL, report=at_the_first, task=stop)
    assert made(str(tmp_path / "cut")).rewrite(TEXT).releases
    again = pretrain(SENTENCES, SENTENCES[:4], tmp_path / "cut", epochs=3, **SMALL)
    assert [(e.loss, e.accuracy) for e in again.history] == [(e.loss, e.accuracy) for e in whole.history]
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert one == other
    # What has ended stays as it is.
    assert pretrain(SENTENCES, SENTENCES[:4], tmp_path / "cut", epochs=3, **SMALL).ended == "all epochs"
    assert (tmp_path / "cut" / "model.safetensors").read_bytes() == other


def test_a_run_that_is_stopped_at_once_leaves_a_checkpoint_too(tmp_path):
    stop = dpt.Task()
    stop.cancel()
    with pytest.raises(dpt.Cancelled):
        pretrain(SENTENCES, None, tmp_path / "new", epochs=4, **SMALL, task=stop)
    assert not (tmp_path / "new").exists()


def test_a_run_that_is_killed_in_the_middle_of_writing_leaves_the_last_whole_state(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def dies(self, target, _own=Path.replace, _seen=[]):  # noqa: B006
        if Path(target).name == "model.safetensors":
            _seen.append(1)
            if len(_seen) == 2:
                self.with_name(".left").write_bytes(self.read_bytes()[:100])
                raise Killed
        return _own(self, target)

    monkeypatch.setattr(Path, "replace", dies)
    with pytest.raises(Killed):
        pretrain(SENTENCES, SENTENCES[:4], tmp_path / "run", epochs=3, **SMALL)
    monkeypatch.undo()
    assert made(str(tmp_path / "run")).rewrite(TEXT).releases
    assert pretrain(SENTENCES, SENTENCES[:4], tmp_path / "run", epochs=3, **SMALL).ended


def test_it_ends_early_where_nothing_gets_better(tmp_path):
    # Texts that were never seen and share nothing with those that were: no piece of them is ever right.
    done = pretrain(SENTENCES, ["zebra"], tmp_path / "run", epochs=50, patience=2, **{**SMALL, "lr": 1e-9})
    assert done.ended == "early stopping" and len(done.history) <= 6


def test_another_run_in_the_folder_is_not_gone_on_with(tmp_path):
    pretrain(SENTENCES, SENTENCES[:4], tmp_path / "run", epochs=1, **SMALL)
    with pytest.raises(dpt.ConfigError, match="other settings"):
        pretrain(SENTENCES, SENTENCES[:4], tmp_path / "run", epochs=2, **SMALL)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with pytest.raises(dpt.ConfigError, match="not empty"):
        pretrain(SENTENCES, SENTENCES[:4], tmp_path / "full", epochs=1, **SMALL)


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 0},
        {"lr": math.nan},
        {"lr": 0},
        {"hidden": 0},
        {"hidden": 10**6},
        {"clip_norm": -1.0},
        {"batch": 1.5},
        {"seed": -1},
        {"patience": True},
    ],
)
def test_absurd_settings_are_refused_before_anything_is_written(tmp_path, options):
    with pytest.raises(dpt.ConfigError, match=next(iter(options))):
        pretrain(SENTENCES, None, tmp_path / "run", **{**SMALL, **options})
    assert not (tmp_path / "run").exists()


def test_without_clipping_the_vector_is_as_long_as_it_is(tmp_path):
    pretrain(SENTENCES, SENTENCES[:4], tmp_path / "run", epochs=1, clip=False, **SMALL)
    shape = ae.read_shape(tmp_path / "run")
    assert shape.clip_norm is None and shape.scale == 1.0
    m = made(str(tmp_path / "run"), no_noise=True, clip_norm=1000.0)
    p = m.prepare("play jazz")
    assert m.noisy(p, NoiseStream(1)) == pytest.approx(p.latent.astype(np.float64), abs=1e-3)


def test_settings_are_those_of_the_paper():
    s = Settings()
    assert (s.epochs, s.lr, s.clip_norm, s.max_tokens) == (200, 0.003, 5.0, 20)
    assert Training(s, {}).to_dict()["settings"]["hidden"] == 128


# --- the command


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("a.csv", 'intent,text\nx,play jazz\ny,"show flights, now"\n', "text"),
        ("b.csv", 'x,play jazz\ny,"show flights, now"\n', "2"),
        ("c.tsv", "intent\ttext\nx\tplay jazz\ny\tshow flights, now\n", "text"),
        ("d.jsonl", '{"text": "play jazz"}\n\n{"text": "show flights, now", "intent": 3}\n', "text"),
    ],
)
def test_the_command_reads_tables(tmp_path, capsys, name, content, column):
    (tmp_path / name).write_text(content, encoding="utf-8")
    data = tables.source(tmp_path / name, (column,))
    assert texts_of(data, column) == ["play jazz", "show flights, now"]
    digest = data.sha256
    argv = ["pretrain", "--data", str(tmp_path / name), "--column", column, "--out", str(tmp_path / "run")]
    small = ["--hidden", "2", "--epochs", "1", "--window", "6", "--max-tokens", "4", "--device", "cpu"]
    assert cli.main([*argv, *small]) == 0
    output = capsys.readouterr()
    assert "epoch 1 of 1 (all epochs)" in output.out and "word piece accuracy" in output.err
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert record["data"]["sha256"] == digest and record["data"]["file"] == name


def test_the_command_takes_whatever_else_names_data_and_leaves_out_rows_without_text(tmp_path):
    rows = [{"dp": {}, "text": t} for t in ("play jazz", None, "show flights, now", "  ")]
    (tmp_path / "rewritten").mkdir()
    (tmp_path / "rewritten" / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    before = plugins.registered_names()

    @dpt.register_data_set("own")
    def own(split):
        return [{"text": f"{split} {i}"} for i in range(3)]

    argv = ["--out", str(tmp_path / "run"), "--hidden", "2", "--epochs", "1", "--window", "6", "--device", "cpu"]
    given = ["--data", str(tmp_path / "rewritten"), "--validation", "own", "--validation-split", "test"]
    try:
        assert cli.main(["pretrain", *given, *argv]) == 0
    finally:
        plugins.restore(before)
    data = json.loads((tmp_path / "run" / "training.json").read_text())["data"]
    assert (data["texts"], data["validation"], data["file"]) == (2, 3, "rewritten/rows.jsonl")
    assert data["validation_file"] == "own/test"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "secret words\nmore secret words\n", "no column named 'text'"),
        ("a.csv", "text,b\nsecret\n", "1 cell instead of 2"),
        ("a.csv", "text,text\nsecret,secret\n", "2 columns named 'text'"),
        ("a.csv", "text,b\n,secret\n", "No row of a.csv has a text"),
        ("a.jsonl", '{"text": 5, "other": "secret"}\n', "a value that is not a text"),
        ("a.jsonl", '{"other": "secret"}\n', "no column 'text'"),
        ("a.jsonl", "secret\n", "line 1, is not valid JSON"),
        ("a.csv", b"text\n\xff\xfe\n", "UTF-8"),
        ("a.odt", "text\n", "Save the data as one of .csv"),
        ("a.csv", "", "no rows"),
        (None, "", "There is no file"),
    ],
)
def test_the_command_says_what_is_wrong_with_a_file_and_quotes_nothing(tmp_path, capsys, name, content, says):
    if name is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    file = str(tmp_path / (name or "none.csv"))
    assert cli.main(["pretrain", "--data", file, "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert says in error and "secret" not in error


# --- what is bundled


@pytest.mark.parametrize("name", ae.BUNDLED)
def test_the_bundled_checkpoints_are_small_and_hold_no_words(name):
    folder = ae.checkpoint_folder(name)
    files = {f.name: f.stat().st_size for f in folder.iterdir()}
    assert set(files) == {"README.md", "config.json", "model.safetensors", "training.json"}
    assert sum(files.values()) < 4_000_000
    model = ae.load_autoencoder(name)
    assert set(model.weights) == set(model.shape.tensors()) and model.shape.hidden == 128
    record = json.loads((folder / "training.json").read_text())
    assert set(record["data"]) >= {"sha256", "texts"} and record["best"] > 5


@pytest.mark.parametrize(
    ("name", "text"), [("atis", "show me flights from boston to denver"), ("snips", "play a song")]
)
def test_without_noise_they_write_what_they_read(name, text):
    assert dpt.get_mechanism("adept", checkpoint=name, no_noise=True).rewrite(text).text == text
