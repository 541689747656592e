"""DP-BART: clipping, noise, the promise, the length of a text, decoding, and what everyone keeps."""

from __future__ import annotations

import functools
import json
import math
import shutil
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.mechanisms.latent import dp_bart
from dptext_core.mechanisms.latent.dp_bart import GRID, clip, estimate_bound
from dptext_core.models.generator import ROWS, _repeated_tokens
from dptext_core.models.loaded_generators import load_generator
from dptext_core.privacy.gaussian import gaussian_advantage, gaussian_delta, gaussian_sigma

TEXT = "The doctor told my friend that the pain was bad."
OTHER = "A lawyer went home."
LONG = "doctor friend " * 60
KINDS = ("bart", "t5")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {kind: str(tiny_generator(tmp_path_factory.mktemp(kind), kind)) for kind in (*KINDS, "gpt2")}
    for kind, bound in (("bart", 1.2), ("t5", 0.8)):
        notes = tmp_path_factory.getbasetemp() / made[kind] / "dptext.json"
        notes.write_text(json.dumps(json.loads(notes.read_text()) | {"latent_bound": bound}))
    return made


@pytest.fixture(params=KINDS)
def folder(request, folders):
    return folders[request.param]


def make(folder, **options):
    return dpt.get_mechanism("dp-bart", **({"model": folder, "positions": 12, "max_tokens": 8} | options))


# --- what is clipped


def test_clipping_is_exact():
    x = np.array([0.0, 0.1, -0.1, 0.1 + 1e-9, -7.0, np.inf, -np.inf, 0.05, 0.1 / GRID, -0.99 * 0.1 / GRID, 3e38])
    found = clip(x, 0.1)
    assert found.dtype == np.int64
    assert found.tolist() == [0, GRID, -GRID, GRID, -GRID, GRID, -GRID, GRID // 2, 1, 0, GRID]
    rng = np.random.default_rng(1)
    for bound in (1e-4, 0.1, 0.3, 7.7, 1e4):
        x = rng.normal(size=4000) * bound
        steps = clip(x.astype(np.float32), bound)
        assert np.abs(steps).max() <= GRID
        inside = np.abs(x) < bound
        assert np.all(np.abs(steps[inside] * (bound / GRID) - x[inside]) <= bound / GRID * 1.001)


@given(
    st.lists(st.one_of(st.floats(), st.floats(width=16), st.sampled_from([1e308, 5e-324, math.nan])), min_size=1),
    st.floats(1e-4, 1e4),
    st.sampled_from([np.float64, np.float32, np.float16]),
)
@example([math.nan, math.inf, -math.inf], 0.1, np.float64)
@example([1e308, -1e308], 1e-4, np.float64)
def test_the_bound_holds_for_every_float(values, bound, dtype):
    with np.errstate(over="ignore"):
        x = np.array(values).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps = clip(x, bound)
    assert steps.dtype == np.int64 and all(-GRID <= int(s) <= GRID for s in steps)
    later = (steps * (bound / GRID)).astype(np.float32)
    assert np.all(np.abs(later) <= np.nextafter(np.float32(bound), np.float32(math.inf)))
    for v, s in zip(x.astype(np.float64), steps, strict=True):
        assert s == (0 if math.isnan(v) else GRID if v >= bound else -GRID if v <= -bound else s)
        assert s == 0 or math.copysign(1, v) == np.sign(s)


def test_the_encoder_reads_what_it_reads_alone(folder):
    """The numbers are those of the plain model on the text without any filling, and 0 beyond it."""
    import torch

    m = make(folder)
    ids = dp_bart._ids(m.generator(), TEXT, 30)[0]
    with torch.no_grad():
        expected = plain(folder).get_encoder()(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
    found = make(folder, positions=30).prepare(TEXT).latent
    assert found.shape == (30, 32) and len(ids) < 30
    assert np.abs(found[: len(ids)] - expected).max() < 1e-4 and not found[len(ids) :].any()


def test_the_length_does_not_show(folder):
    """Two texts of different length give as many numbers, and every place of both gets noise of the same size."""
    m = make(folder, epsilon=50.0)
    prepared = [m.prepare(t) for t in (OTHER, LONG, "")]
    filled = [int(p.latent.any(axis=1).sum()) for p in prepared]
    assert filled[0] < filled[1] == 12 and filled[2] < filled[0]
    shapes = {m.noisy(p, dpt.NoiseStream(1)).shape for p in prepared}
    assert shapes == {(12, 32)}
    added = [m.noisy(p, dpt.NoiseStream(1)) - m.clipped(p) * (m.config.bound / GRID) for p in prepared]
    assert np.allclose(added[0], added[1], atol=1e-9) and np.allclose(added[0], added[2], atol=1e-9)
    assert np.abs(added[0]).min(axis=1).all() and added[0][filled[0] :].std() > 0
    assert {m.guarantee(t) for t in (OTHER, LONG, "")} == {m.guarantee(TEXT)}


# --- the noise


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_noise_has_its_size(folders, noise):
    """Over 3,840 numbers the deviation is known to 1.2% (Gauss) and 1.9% (Laplace): 6% off would show."""
    for epsilon, delta, bound in ((30.0, 1e-5, 1.2), (3000.0, 1e-9, 0.1)):
        m = make(folders["bart"], noise=noise, epsilon=epsilon, delta=delta, bound=bound)
        p = m.prepare(TEXT)
        added = np.array([m.noisy(p, dpt.NoiseStream(s)) - m.clipped(p) * (bound / GRID) for s in range(10)])
        n = 12 * 32
        if noise == "gaussian":
            expected = gaussian_sigma(epsilon, delta, 2 * bound * math.sqrt(n))
            tail = 0.0455
        else:
            expected = math.sqrt(2) * 2 * bound * n / epsilon
            tail = math.exp(-2 * math.sqrt(2))
        assert added.std() == pytest.approx(expected, rel=0.06) and abs(added.mean()) < 0.08 * expected
        assert np.mean(np.abs(added) > 2 * expected) == pytest.approx(tail, abs=0.017)


def test_locked_noise_is_the_same_noise_of_another_size(folders):
    for noise in ("gaussian", "laplace"):
        m = make(folders["bart"], noise=noise)
        p = m.prepare(TEXT)
        start = m.clipped(p) * (m.config.bound / GRID)
        small, large = (m.replace(epsilon=e).noisy(p, dpt.NoiseStream(4)) - start for e in (20.0, 2.0))
        factor = m.replace(epsilon=2.0).scale(p.latent.size) / m.replace(epsilon=20.0).scale(p.latent.size)
        assert np.allclose(large, small * factor, rtol=1e-3, atol=factor * 2 * m.config.bound / GRID)


# --- the promise


def test_what_is_promised_follows_the_noise(folder):
    m = make(folder, epsilon=250.0, delta=1e-6)
    g = m.guarantee(TEXT)
    assert (g.notion, g.epsilon, g.delta, g.draws, g.total) == ("approx", 250.0, 1e-6, 1, 250.0)
    assert "δ = 1e−6" in g.sentence() and g.adjacency == "any two texts" and g.adjacency.is_any_texts
    assert m.audit_support.adjacent(TEXT, LONG)
    pure = m.replace(noise="laplace")
    assert pure.guarantee(TEXT).notion == "pure" and pure.guarantee(TEXT).total_delta == 0.0
    assert "δ" not in pure.guarantee(TEXT).sentence() and pure.rewrite(TEXT).guarantee == pure.guarantee(TEXT)
    with pytest.raises(dpt.NoDistribution, match="whole texts"):
        m.rewrite(TEXT).distribution(0)


def test_no_two_texts_lose_more_than_is_promised(folders):
    for noise in ("gaussian", "laplace"):
        m = make(folders["bart"], noise=noise, epsilon=8.0, bound=1e-4)
        a, b = m.prepare(LONG), m.prepare(" ".join(reversed(TEXT.split())) * 5)
        assert 0 < m.audit_support.latent_loss(a, b) <= 8.0 and m.audit_support.latent_loss(a, a) == 0.0
        steps = (m.clipped(a) - m.clipped(b)).ravel()
        if noise == "gaussian":
            apart = math.sqrt(int((steps * steps).sum()))
            assert m.audit_support.latent_advantage(a, b) == gaussian_advantage(apart / m.scale(steps.size)) > 0
        # The two that are farthest apart lose all of it.
        one, other = (dp_bart.EncodedText(a.document, a.key, np.full_like(a.latent, s), False) for s in (1.0, -1.0))
        loss = m.audit_support.latent_loss(one, other)
        assert loss == pytest.approx(8.0, rel=1e-6) and loss <= 8.0


def test_the_noise_is_as_large_as_the_promise_needs():
    """δ of the two latents that are farthest apart, from the deviation that is used: the stated one, hardly less."""
    for n in (7680, 20 * 768):
        sigma = gaussian_sigma(500.0, 1e-5, 2 * GRID * math.sqrt(n))
        assert 0.999999e-5 < gaussian_delta(500.0, 2 * GRID * math.sqrt(n) / sigma) <= 1e-5


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
def test_the_audit_compares_what_texts_are_written_from(folders):
    for noise in ("gaussian", "laplace"):
        m = make(folders["bart"], noise=noise, epsilon=3.0, max_tokens=1)
        report = dpt.audit(m, [TEXT, OTHER], draws=100, seed=1)
        assert report.holds and report.exact and "noisy vector" in report.of and 0 < report.measured <= 3.0
        assert (report.delta > 0) == (noise == "gaussian") and json.dumps(report.to_dict())
    claimed = dpt.audit(m, [TEXT, OTHER], report.measured / 2, draws=100, seed=1)
    assert claimed.verdict == "refuted" and "times as likely" in claimed.witness.sentence()


@pytest.mark.usefixtures("few_rewrites")
def test_the_audit_finds_noise_that_is_too_small(folders):
    class Quiet(dp_bart.DPBART):
        """A quarter of the noise that its promise needs."""

        name, title = "quiet", "Quiet"

        def scale(self, n):
            return super().scale(n) / 4

    m = Quiet.create(model=folders["bart"], positions=12, max_tokens=1, epsilon=3.0, bound=1e-4)
    report = dpt.audit(m, [LONG, " ".join(reversed(TEXT.split())) * 5], draws=100, seed=1)
    assert report.verdict == "refuted" and "no ε below" in report.witness.sentence()
    # A claim without a δ is not proven by a loss beside one.
    assert not dpt.audit(m, [TEXT, OTHER], 50.0, draws=100, seed=1).exact


# --- decoding


@functools.cache
def plain(folder):
    import transformers as hf

    return hf.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def plain_greedy(folder, numbers, most):
    """Greedy decoding by the plain model from these numbers alone: no cache, nothing banned but special ids."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    g, model = load_generator(folder), plain(folder)
    ids = [1, 2] if model.config.model_type == "bart" else [0]
    out = []
    for _ in range(most):
        with torch.no_grad():
            scores = model(
                encoder_outputs=BaseModelOutput(torch.tensor(numbers[None])), decoder_input_ids=torch.tensor([ids])
            ).logits[0, -1]
        best = int(scores[g.candidate_ids].argmax())
        if best == g.end:
            break
        out.append(best)
        ids.append(int(g.candidate_ids[best]))
    return out


def test_decoding_is_greedy_from_the_noisy_numbers_alone(folder):
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(3, 12, 32)).astype(np.float32)
    found = load_generator(folder).decode(numbers, 9)
    assert found == [plain_greedy(folder, x, 9) for x in numbers]
    assert any(found) and len({tuple(f) for f in found}) > 1


def test_no_run_of_three_is_written_twice(folder):
    numbers = np.random.default_rng(4).normal(size=(6, 12, 32)).astype(np.float32)
    for row in load_generator(folder).decode(numbers, 30, repeat=3):
        runs = list(zip(row, row[1:], row[2:], strict=False))
        assert len(runs) == len(set(runs))
    assert (
        _repeated_tokens([1, 2, 3, 1, 2], 3) == [3]
        and _repeated_tokens([1, 1], 3) == []
        and _repeated_tokens([5, 5, 5], 3) == [5]
    )
    assert _repeated_tokens([5, 5, 5], 0) == []


def test_a_text_alone_is_the_text_in_a_list(folder):
    """To the last bit: blocks always have the same shape."""
    m = make(folder, epsilon=2000.0)
    texts = [TEXT, OTHER, "", LONG, "day", "a red car", TEXT + OTHER, "music", "home", "pain was bad"]
    together = [p.latent for p in m.prepare_many(texts)]
    assert len(texts) > ROWS
    assert all(np.array_equal(m.prepare(t).latent, x) for t, x in zip(texts, together, strict=True))
    stream = dpt.NoiseStream(9)
    numbers = np.stack([m._read(m.noisy(m.prepare(t), stream.at(i))) for i, t in enumerate(texts)])
    g = m.generator()
    assert g.decode(numbers, 8, 3) == [g.decode(x[None], 8, 3)[0] for x in numbers]
    several = m.rewrite(texts, seed=9)
    assert [r.text for r in several] == [m._text(t) for t in g.decode(numbers, 8, 3)]
    assert len({r.noise_id for r in several}) == len(texts) and [r.original for r in several] == texts


def test_the_estimate_is_the_best_linear_one_for_public_texts(folders):
    """Of public texts' numbers it comes closer than the noisy numbers do, and with hardly any noise it is close."""
    m = make(folders["bart"], epsilon=100.0)
    p = m.prepare(TEXT)
    filled = p.latent.any(axis=1)

    def far(x):
        return float(((x - p.latent)[filled] ** 2).mean())

    noisy = m.noisy(p, dpt.NoiseStream(6))
    assert far(m._read(noisy)) < far(noisy) / 3 and far(m._read(noisy)) < 1.5 * far(0 * noisy)
    clear = m.replace(epsilon=1e6, bound=5.0)
    assert far(clear._read(clear.noisy(p, dpt.NoiseStream(6)))) < 0.05 * far(0 * noisy)
    plain = m.replace(denoise=False)
    assert np.array_equal(plain._read(noisy), noisy.astype(np.float32))


# --- options, and what everyone keeps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": 0.0}, "bound must be at least"),
        ({"delta": 0.0}, "delta must be at least"),
        ({"delta": 0.7}, "delta must be at most"),
        ({"noise": "cauchy"}, "noise must be one of"),
        ({"positions": 3}, "positions must be at least"),
        ({"positions": 200}, "reads 120 tokens at most"),
        ({"max_tokens": 0}, "max_tokens must be at least"),
        ({"epsilon": 2e6}, "epsilon must be at most 1e\\+06; it is 2e\\+06\\.$"),
        ({"epsilon": [1.0, 2.0]}, "takes one ε"),
        ({"model": "/no/such/folder"}, "There is no model"),
        ({"model": "facebook/bart-base"}, "hf download"),
    ],
)
def test_bad_options_are_refused_before_a_model_is_loaded(folders, options, message):
    with pytest.raises(dpt.DPTextError, match=message):
        make(folders["t5"], **options)


def test_a_decoder_alone_is_refused(folders):
    with pytest.raises(dpt.ConfigError, match="has no encoder"):
        make(folders["gpt2"])


def test_the_bound_is_the_models_or_the_papers_or_given(folders, tmp_path):
    assert make(folders["bart"]).config.bound == 1.2 and make(folders["t5"]).config.bound == 0.8
    assert make(folders["bart"]).replace(model=folders["t5"]).config.bound == 0.8
    assert make(folders["bart"], bound=0.5).replace(model=folders["t5"]).config.bound == 0.5
    for kind in KINDS:
        shutil.copytree(folders[kind], tmp_path / kind)
        (tmp_path / kind / "dptext.json").unlink()
    assert make(str(tmp_path / "bart")).config.bound == 0.1
    with pytest.raises(dpt.ConfigError, match="No bound is known"):
        make(str(tmp_path / "t5"))
    (tmp_path / "t5" / "dptext.json").write_text('{"latent_bound": "0.3"}')
    with pytest.raises(dpt.ConfigError, match="latent_bound"):
        make(str(tmp_path / "t5"))


def test_a_bound_is_found_from_public_texts(folders):
    texts = [TEXT, OTHER, LONG] * 4
    bound = estimate_bound(texts, folders["bart"], positions=12)
    x = np.concatenate([p.latent[p.latent.any(axis=1)] for p in make(folders["bart"]).prepare_many(texts)])
    assert np.mean(np.abs(x) > bound) == pytest.approx(0.5, abs=0.01)
    assert estimate_bound(texts, folders["bart"], 12, share=0.1) > bound
    with pytest.raises(dpt.InputError, match="public texts"):
        estimate_bound([], folders["bart"])


def test_noise_that_no_whole_number_holds_is_refused(folders):
    with pytest.raises(dpt.ConfigError, match="too large"):
        make(folders["bart"], epsilon=1e-9, delta=1e-12).rewrite(TEXT)


def test_cancel_and_progress_go_by_token_and_in_lists_by_text(folder):
    m, seen = make(folder, epsilon=500.0), []

    def listen(done, of):
        seen.append((done, of))
        if done == 2:
            task.cancel()

    task = dpt.Task(listen)
    with pytest.raises(dpt.Cancelled):
        m.rewrite(TEXT, seed=3, task=task)
    assert seen == [(1, 8), (2, 8)]
    seen.clear()
    m.rewrite([OTHER] * 10, seed=1, task=dpt.Task(lambda a, b: seen.append((a, b))))
    assert seen == [(8, 10), (10, 10)]


def test_damaged_numbers_are_not_clipped_in_silence(folders, monkeypatch):
    m = make(folders["t5"])
    g = m.generator()
    monkeypatch.setattr(np, "concatenate", lambda parts: np.stack(parts).reshape(-1, 12, 32) * np.nan)
    with pytest.raises(dpt.ModelUnavailable, match="not numbers"):
        g.latents([[1]], 12)


def test_capitals_stand_where_a_sentence_begins(folders, monkeypatch):
    m = make(folders["bart"])
    monkeypatch.setattr(
        type(m.generator()), "pieces", lambda self, t: [" he", " said.", " (so i", " did", " it) .", " no"]
    )
    assert m._text([1]) == "He said. (So I did it) . No"
    assert m.replace(recase="none")._text([1]) == "he said. (so i did it) . no"


def test_a_text_that_is_cut_is_said(folders):
    m, long = make(folders["bart"], positions=8), "doctor " * 30
    for text in (long, m.prepare(long)):
        assert "first 8 tokens of this text are read" in m.reading.note(text)
    assert not m.reading.note("a day") and not m.reading.note(m.prepare("a day"))


def test_it_says_of_itself_what_it_is_without_a_model_loaded(folders):
    spec = next(s for s in dpt.mechanisms() if s.name == "dp-bart")
    assert spec.notion == "approx" and spec.needs == ("language model",)
    m = make(folders["bart"])
    assert m.can == frozenset() and m.epsilon_range() == (10.0, 100_000.0, 1000.0) and m.max_epsilon == 1e6
    assert [make(folders["bart"], **v).guarantee(TEXT).notion for v in m.variants()] == ["approx", "pure"]
    plan = m.plan(TEXT)
    assert not isinstance(plan, dp_bart.EncodedText) and m.rewrite(plan, seed=1).text == m.rewrite(TEXT, seed=1).text
