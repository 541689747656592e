"""Parts of looks that a whole audit seldom comes to: rewrites with gaps, late tokens, odd numbers, orders, options."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis
from small_spaces import on, random_space, words

import dptext_core as dpt
from dptext_core.auditing import batches, distance, latent, long_texts, text_integrity
from dptext_core.auditing.inputs import Meter
from dptext_core.auditing.release_statistics import ObservedDraw, ReleaseReader, too_many

SPACE = random_space(12, 3)
D = dpt.TokenDistribution(words(4), np.log(np.array([0.4, 0.3, 0.2, 0.1])), words(4)[0], 1.0)


def seen(place: int, at: int | None, hit: bool = False, chance: float = 0.4) -> ObservedDraw:
    return ObservedDraw(place, hit, chance, D, at, 0.0 if at is None else float(D.probs[at]))


def test_rewrites_that_lack_a_place_are_compared_at_the_others():
    rows = [
        SimpleNamespace(seen=[seen(0, 1), seen(1, 2)], call=0, place=0),
        SimpleNamespace(seen=[seen(0, None), seen(1, 2)], call=0, place=1),
        SimpleNamespace(seen=[seen(1, 2)], call=1, place=0),
    ]
    m = SimpleNamespace(shares_draws=False)
    (same, said), *_ = batches._pairs(rows, m, dpt.NoiseStream(1))
    assert "same candidate" in said
    # Only the second place counts, where all three have the same of four candidates.
    assert same == pytest.approx(dict.fromkeys([(0, 1), (0, 2), (1, 2)], float(too_many(1, np.array([0.2])))))


def test_a_leak_at_one_late_token_is_named_by_its_number():
    m = SimpleNamespace(config=SimpleNamespace(epsilon=1.0))
    text = "word " * 400
    mine = [seen(p, 0, hit=p == 300, chance=0.01) for p in (290, 300, 310) for _ in range(20)]
    check = long_texts._judge(m, text, mine, 20)
    assert check.status == "refuted" and "20 of 20 draws at token 301 were unchanged" in check.witness.details
    block = [seen(p, 0, hit=True, chance=0.02) for p in range(300, 310)]
    told = long_texts._judge(m, text, block * 2, 2).witness.details
    assert "draws at tokens " in told and " to 310 " in told, "no further than the text"


@pytest.mark.parametrize("n", [8, 9, 40, 41])
def test_the_least_share_that_is_refuted_is_that_of_a_plain_loop(n):
    wanted = next((h for h in range(1, n + 1) if latent.lower_bound(h, 0, n, 0.05, 0.0) > 1.0), None)
    assert latent._smallest_share(n, 0.05, 1.0, 0.0, None) == (1.0 if wanted is None else latent.chance_for(wanted, n))
    # At a loss that only all hits show, all are needed.
    last = latent.lower_bound(n, 0, n, 0.05, 0.0)
    before = latent.lower_bound(n - 1, 0, n, 0.05, 0.0)
    assert latent._smallest_share(n, 0.05, (last + before) / 2, 0.0, None) == latent.chance_for(n, n)


def test_the_regularised_mahalanobis_distance_is_that_of_the_formula():
    lam, x = 0.3, SPACE.vectors.astype(np.float64)
    covariance = np.cov(x, rowvar=False)
    covariance *= len(covariance) / np.trace(covariance)
    inverse = np.linalg.inv(lam * covariance + (1 - lam) * np.eye(3))
    found = distance._euclidean(SPACE, SPACE.words, lam)
    assert found == pytest.approx(np.array([[mahalanobis(a, b, inverse) for b in x] for a in x]), abs=1e-6)


def test_an_option_that_cannot_be_had_is_left_out():
    m = on(SPACE, "custext", k=3)
    assert text_integrity._with_option(m, "k", 4).config.k == 4 and text_integrity._with_option(m, "k", 0) is None


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dp-mlm", {"order": "sequential"}),
        ("dp-mlm", {}),
        ("dp-mlm-plus", {"add_prob": 0.3, "del_prob": 0.3}),
        ("dp-mlm-plus", {"add_prob": 0.3, "del_prob": 0.3, "order": "sequential"}),
    ],
)
def test_a_word_is_held_against_what_it_was_drawn_from(name, options, tiny_model):
    m = dpt.get_mechanism(name, model=tiny_model, epsilon=60.0, **options)
    prepared = m.prepare("My doctor changed the medicine, and the red car was sold in Paris.")
    edits = 0
    for seed in range(3):
        result = m.rewrite(prepared, seed=seed)
        own = {
            s.index: d
            for s, d in zip(result.steps, map(dict(result.distributions()).get, range(99)), strict=False)
            if s.action == "replace"
        }
        found = ReleaseReader(m, Meter()).read(prepared, result)
        assert {s.place for s in found} == {i for i, d in own.items() if d is not None}
        for s in found:
            assert np.allclose(s.d.log_probs, own[s.place].log_probs, atol=1e-9), (seed, s.place)
        edits += sum(s.action in ("insert", "delete") for s in result.steps)
    assert bool(edits) == (name == "dp-mlm-plus")
