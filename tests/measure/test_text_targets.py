"""The ε at which a reader is at most so certain of a fact, and at which a text keeps so much of its meaning."""

from __future__ import annotations

import numpy as np
import pytest
from small_spaces import on, random_space, words

import dptext_core as dpt
from dptext_core import cli
from dptext_core.measure import text_targets
from dptext_core.privacy.sampling import NoiseStream

A, B, C, D = words(12)[:4]
NOTE = "The doctor said the pain in my heart is bad."


@pytest.fixture(scope="module")
def space():
    return random_space(12)


@pytest.mark.parametrize("name", ["santext", "tem", "custext"])
@pytest.mark.parametrize("target", [0.4, 0.7])
def test_an_enumerated_certainty_is_reached_and_not_exceeded(name, target, space):
    m = on(space, name, **({"k": 12} if name == "custext" else {}))
    found = dpt.calibrate(m, {"certainty": target}, text=f"{D} {A}", fact=A, alternatives=[B, C])

    def success(epsilon):
        ps = [m.replace(epsilon=epsilon).distribution(w, 0).probs for w in (A, B, C)]
        candidates = [m.distribution(w, 0).candidates for w in (A, B, C)]
        tables = [dict(zip(c, p, strict=True)) for c, p in zip(candidates, ps, strict=True)]
        return sum(max(t.get(w, 0.0) for t in tables) for w in set().union(*candidates)) / 3

    assert success(found.epsilon) == pytest.approx(found.reached) and found.reached <= target
    assert success(found.epsilon * 1.0001) > target
    assert found.draws is None and found.interval == (found.reached, found.reached)
    assert found.calibrated.config.epsilon == found.epsilon
    again = dpt.calibrate(m, {"certainty": target}, text=m.prepare(f"{D} {A}"), fact=A, alternatives=[B, C])
    assert again.epsilon == found.epsilon


def test_an_estimated_certainty_is_that_of_fresh_releases(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model)
    others = ["blood", "road"]
    found = dpt.calibrate(m, {"certainty": 0.6}, text=NOTE, fact="heart", alternatives=others)
    assert found.reached <= 0.6 and found.interval[0] < found.reached < found.interval[1] and found.draws == 64
    again = dpt.belief(found.calibrated, NOTE, "heart", others, draws=300, seed=4).expected_success
    assert again.value == pytest.approx(0.6, abs=0.08)
    assert "95% interval" in found.sentence()


def test_a_certainty_that_no_epsilon_gives_is_refused(space):
    with pytest.raises(dpt.InputError, match=r"from 33\.4% .* cannot be 30\.0%"):
        dpt.calibrate(on(space, "santext"), {"certainty": 0.3}, text=f"{D} {A}", fact=A, alternatives=[B, C])


def test_meaning_is_reached_from_above(light):
    m, text = dpt.get_mechanism("custext"), "My sister lives in Lisbon and works at a hospital."
    stream = NoiseStream(3)
    _, figure = text_targets.text_target(m, "meaning", text, None, None, dpt.Task(), stream)
    each = [figure(e) for e in (0.5, 8.0, 30.0)]
    assert each[0].value < each[1].value <= each[2].value
    prepared = m.prepare(text)
    rewrites = [r.text for r in m.replace(epsilon=8.0).rewrites(prepared, 8, stream=stream)]
    assert each[1].value == pytest.approx(np.mean(dpt.metrics.score("cosine", [text] * 8, rewrites)))
    target = (each[0].value + each[2].value) / 2
    found = dpt.calibrate(m, {"meaning": target}, text=text)
    assert found.reached >= target and found.interval[0] <= found.reached <= found.interval[1] and found.draws == 8


def test_what_a_target_needs(space):
    m = on(space, "santext")
    for target, given in [
        ({"certainty": 0.5}, {"text": A}),
        ({"certainty": 0.5}, {"words": [A], "fact": A}),
        ({"meaning": 0.5}, {"words": [A]}),
        ({"meaning": 0.5}, {"text": A, "fact": A}),
        ({"n_w": 0.5}, {"text": A, "fact": A}),
        ({"certainty": 1.0}, {"text": A, "fact": A}),
    ]:
        with pytest.raises(dpt.ConfigError):
            dpt.calibrate(m, target, **given)
    with pytest.raises(dpt.NoDistribution):
        dpt.calibrate(dpt.get_mechanism("mvc"), {"certainty": 0.5}, text=NOTE, fact="heart")
    with pytest.raises(dpt.ConfigError):
        dpt.equal_privacy([m], {"certainty": 0.5}, text=A)


def test_the_command_finds_the_same_epsilon(capsys):
    arguments = ["calibrate", "--mechanism", "santext", "--certainty", "0.5", "--quiet"]
    facts = ["--fact", "sister", "--alternatives", "brother,mother"]
    text = "My doctor treated my sister."
    assert cli.main([*arguments, *facts, text]) == 0
    found = dpt.calibrate(
        dpt.get_mechanism("santext"), {"certainty": 0.5}, text=text, fact="sister", alternatives=["brother", "mother"]
    )
    assert capsys.readouterr().out.strip() == found.sentence()
    for wrong in (arguments, ["calibrate", "--n-w", "0.5", *facts], [*arguments, *facts, "--meaning", "0.5"]):
        assert cli.main([*wrong, text]) == 2
