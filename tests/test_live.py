"""What the browser gets agrees with what the core draws."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core import live

TEXT = "The doctor told my friend that the pain was bad.\nShe went home 🙂 <b>again</b>!"
LOW, HIGH = 5.0, 500.0


def shown(payload: dict, epsilon: float) -> str:
    """The text that the strip shows at ``epsilon``."""
    parts = []
    for t in payload["tokens"]:
        if t["a"] == "delete":
            continue
        word = t["o"]
        if "c" in t:
            word = t["c"][[i for e, i in t["flips"] if e <= epsilon][-1]]
            word = word[:1].upper() + word[1:] if t["cap"] else word
        parts.append(t["pre"] + word)
    return "".join(parts) + payload["tail"]


def make(tiny_model, name="dp-mlm", **options):
    m = dpt.get_mechanism(name, model=tiny_model, **options)
    dice = dpt.Dice(3)
    p = m.prepare(TEXT)
    r = m.rewrite(p, dice=dice)
    return m, p, dice, r, live.payload(r, run=1, low=LOW, high=HIGH, default=50.0)


@pytest.mark.parametrize("name", ["dp-mlm", "dp-mlm-plus"])
def test_the_strip_shows_what_a_rewrite_at_that_epsilon_gives(tiny_model, name):
    options = {"add_prob": 0.4, "del_prob": 0.3} if name == "dp-mlm-plus" else {}
    m, p, dice, _, payload = make(tiny_model, name, **options)
    assert payload["live"]
    for epsilon in np.geomspace(LOW, HIGH, 13)[1:-1]:
        assert shown(payload, epsilon) == m.with_(epsilon=float(epsilon)).rewrite(p, dice=dice).text


def test_probabilities_on_the_grid_are_exact(tiny_model):
    m, p, _, r, payload = make(tiny_model)
    grid = np.geomspace(LOW, HIGH, payload["n_grid"])
    for k, t in enumerate(payload["tokens"]):
        if t["a"] != "replace":
            continue
        for j in (0, 20, 59):
            d = m.with_(epsilon=float(grid[j])).distribution(p, r.steps[k].index)
            for word, s in list(zip(t["c"], t["s"], strict=True))[:8]:
                assert math.exp(grid[j] * s - t["z"][j]) == pytest.approx(d.p(word), rel=1e-4)


def test_candidates_are_ranked_and_hold_original_and_winners(tiny_model):
    _, _, _, _, payload = make(tiny_model)
    for t in payload["tokens"]:
        if t["a"] != "replace":
            assert set(t) == {"pre", "o", "a", "why"} and t["why"]
            continue
        assert len(t["c"]) == len(t["s"]) == len(t["rank"]) == len(set(t["c"]))
        best = t["s"][: live.N_CANDIDATES]
        assert best == sorted(best, reverse=True) and t["rank"][0] == 1
        if t["src"] >= 0:
            assert t["c"][t["src"]].casefold() == t["o"].casefold()
        assert t["flips"][0][0] == LOW and all(i < len(t["c"]) for _, i in t["flips"])


def test_it_is_plain_json_without_nan(tiny_model):
    for options in ({}, {"order": "sequential"}, {"score": "similarity"}):
        _, _, _, _, payload = make(tiny_model, **options)
        json.dumps(payload, allow_nan=False)


def test_what_needs_a_new_pass_is_not_live_and_right_at_its_own_epsilon(tiny_model):
    _, _, _, r, payload = make(tiny_model, order="sequential", epsilon=30.0)
    assert not payload["live"] and payload["eps"] == 30.0
    assert shown(payload, 30.0) == r.text
    k = next(i for i, t in enumerate(payload["tokens"]) if t["a"] == "replace")
    t, d = payload["tokens"][k], r.distribution(k)
    for word, s in list(zip(t["c"], t["s"], strict=True))[:5]:
        assert math.exp(30.0 * s) == pytest.approx(d.p(word), rel=1e-4)


def test_an_empty_text_gives_an_empty_strip(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model)
    payload = live.payload(m.rewrite("  \n"), run=1, low=LOW, high=HIGH, default=50.0)
    assert payload["tokens"] == [] and payload["tail"] == "  \n"


def test_it_can_be_stopped(tiny_model):
    import threading

    stop = threading.Event()
    stop.set()
    r = dpt.get_mechanism("dp-mlm", model=tiny_model).rewrite(TEXT)
    with pytest.raises(dpt.Cancelled):
        live.payload(r, run=1, low=LOW, high=HIGH, default=50.0, cancel=stop)
