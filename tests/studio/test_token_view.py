"""What the browser gets agrees with what the core draws."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re

import numpy as np
import pytest
from e2e.strip_harness import LIST_HI, LIST_LO, LIST_TEXT, LIST_UNIT, VOCABULARY, ListChannel, channel_of, fake_rewrite
from token_engine import texts

import dptext_core as dpt
from dptext_studio.figures import token_channels, token_view
from dptext_studio.figures.mechanism_steps import mechanism_steps

TEXT = "The doctor told my friend that the pain was bad.\nShe went home 🙂 <b>again</b>!"
LOW, HIGH = 5.0, 500.0


def make(tiny_model, name="dp-mlm", **options):
    m = dpt.get_mechanism(name, model=tiny_model, **options)
    stream = dpt.NoiseStream(3)
    p = m.prepare(TEXT)
    r = m.rewrite(p, stream=stream)
    return m, p, stream, r, token_view.payload(r, run=1, low=LOW, high=HIGH, default=50.0)


def test_probabilities_on_the_grid_are_exact(tiny_model):
    m, p, _, r, payload = make(tiny_model)
    grid = np.geomspace(LOW, HIGH, payload["n_grid"])
    for k, t in enumerate(payload["tokens"]):
        if t["a"] != "replace":
            continue
        for j in (0, 20, payload["n_grid"] - 1):
            d = m.replace(epsilon=float(grid[j])).distribution(p, r.steps[k].index)
            for word, s in list(zip(t["c"], t["s"], strict=True))[:8]:
                assert math.exp(grid[j] * s - t["z"][j]) == pytest.approx(d.p(word), rel=1e-4)


def test_candidates_are_ranked_and_hold_original_and_winners(tiny_model):
    _, _, _, _, payload = make(tiny_model)
    for t in payload["tokens"]:
        if t["a"] != "replace":
            assert set(t) == {"pre", "o", "a", "why"} and t["why"]
            continue
        assert len(t["c"]) == len(t["s"]) == len(t["rank"]) == len(set(t["c"]))
        best = t["s"][: token_channels.N_CANDIDATES]
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
    assert texts(payload, [30.0]) == [r.text]
    k = next(i for i, t in enumerate(payload["tokens"]) if t["a"] == "replace")
    t, d = payload["tokens"][k], r.distribution(k)
    for word, s in list(zip(t["c"], t["s"], strict=True))[:5]:
        assert math.exp(30.0 * s) == pytest.approx(d.p(word), rel=1e-4)


def test_an_empty_text_gives_an_empty_strip(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model)
    payload = token_view.payload(m.rewrite("  \n"), run=1, low=LOW, high=HIGH, default=50.0)
    assert payload["tokens"] == [] and payload["tail"] == ""


def test_it_can_be_stopped(tiny_model):
    stop = dpt.Task()
    stop.cancel()
    r = dpt.get_mechanism("dp-mlm", model=tiny_model).rewrite(TEXT)
    with pytest.raises(dpt.Cancelled):
        token_view.payload(r, run=1, low=LOW, high=HIGH, default=50.0, task=stop)


# ---------------------------------------------------------------- channels that are no score tables


@pytest.fixture(scope="module")
def told() -> list[tuple[int, int]]:
    """How far the making of the payload was, each time that it said so."""
    return []


@pytest.fixture(scope="module")
def listed(told):
    """A rewrite by made-up channels, none asked before, its payload, and how often each channel was asked by then."""
    channel_of.cache_clear()
    r = fake_rewrite(LIST_TEXT)
    task = dpt.Task(lambda *at: told.append(at))
    payload = token_view.payload(r, run=1, low=LIST_LO, high=LIST_HI, default=1.0, task=task)
    return r, payload, {r.locked(k)[0].asked for k, t in drawn(payload) if "lp" in t}


def drawn(payload: dict) -> list[tuple[int, dict]]:
    return [(k, t) for k, t in enumerate(payload["tokens"]) if "c" in t]


def test_a_channel_flips_where_its_draw_does(listed):
    r, payload, _ = listed
    for epsilon in np.geomspace(LIST_LO, LIST_HI, 23)[1:-1]:
        for k, t in drawn(payload):
            channel, stream = r.locked(k)
            winner = t["c"][[i for e, i in t["flips"] if e <= epsilon][-1]]
            assert winner == channel.candidates[channel.draw(float(epsilon), stream)]


def test_a_released_word_is_known_around_where_it_is_released(listed):
    _, payload, _ = listed
    last = payload["lp_grid"] - 1
    short = 0
    for _, t in drawn(payload):
        if "lp" not in t:
            continue
        assert len(t["c"]) == len(set(t["c"])) == len(t["lp"]) == len(t["off"])
        full = [i for i, row in enumerate(t["lp"]) if len(row) == last + 1]
        assert len(full) >= min(token_channels.N_CHANNEL_CANDIDATES, t.get("total", len(VOCABULARY)))
        assert t["src"] in full or t["src"] == -1
        ends = [e for e, _ in t["flips"][1:]] + [LIST_HI]
        for (start, i), end in zip(t["flips"], ends, strict=True):
            a, b = (math.log(e / LIST_LO) / math.log(LIST_HI / LIST_LO) * last for e in (start, end))
            lowest, highest = t["off"][i], t["off"][i] + len(t["lp"][i]) - 1
            # Six points around every place: enough for the interpolation that the strip uses.
            assert lowest <= max(0, min(math.floor(a) - 2, last - 5)) and highest >= min(
                last, max(math.floor(b) + 3, 5)
            )
            short += highest - lowest < last
    assert short > 100, "words that win once are cut short"


def test_equal_words_ask_their_channel_once(listed):
    r, payload, asked = listed
    table = [k for k, s in enumerate(r.steps) if s.original == "table"]
    assert len(table) == 2 and r.locked(table[0])[0] is r.locked(table[1])[0]
    assert payload["tokens"][table[0]]["flips"] != payload["tokens"][table[1]]["flips"], "each place has its own stream"
    assert asked == {1}


def test_words_outside_the_vocabulary_have_chances_that_epsilon_does_not_move(listed):
    _, payload, _ = listed
    by_word = {t["o"]: t for t in payload["tokens"]}
    unknown, masked, gone = by_word["zorblax"], by_word["glimmer"], by_word["stood"]
    assert {t["why"] for t in (unknown, masked, gone)} == {"not in the vocabulary"}
    assert [len(t["flips"]) for t in (unknown, masked)] == [1, 1]
    assert unknown["src"] == -1 and {v for row in unknown["lp"] for v in row} == {-round(math.log(len(VOCABULARY)), 3)}
    assert masked["c"] == ["[MASK]"] and masked["total"] == 1
    assert gone["a"] == "delete" and "c" not in gone
    assert payload["total_candidates"] == len(VOCABULARY) and "total" not in by_word["river"]


def test_estimates_say_how_many_draws_they_are_from(listed):
    _, payload, _ = listed
    k, nurse = next((k, t) for k, t in drawn(payload) if t["o"] == "nurse")
    assert nurse["draws"] == 1000 and nurse["total"] == 25
    assert any(v == token_channels.FLOOR for row in nurse["lp"] for v in row)
    assert all("draws" not in t for _, t in drawn(payload) if t["o"] != "nurse")
    once = token_view.payload(fake_rewrite(LIST_TEXT, live=False), run=1, low=LIST_LO, high=LIST_HI, default=1.0)
    assert not once["live"] and once["tokens"][k]["draws"] == 1000


def test_the_unit_is_that_of_the_option(listed, tiny_model):
    assert listed[1]["unit"] == LIST_UNIT
    assert make(tiny_model)[-1]["unit"] == "per word"


def test_progress_counts_every_token_once(listed, told):
    n = len(listed[0].steps)
    assert told[-1] == (n, n) and {of for _, of in told} == {n}
    assert all(a < b for (a, _), (b, _) in itertools.pairwise(told)) and len(told) > n / 2


@pytest.mark.slow
def test_a_channel_can_be_stopped_between_two_words():
    stop = dpt.Task(lambda done, _: stop.cancel() if done > 20 else None)
    channel_of.cache_clear()
    with pytest.raises(dpt.Cancelled):
        token_view.payload(fake_rewrite(LIST_TEXT), run=1, low=LIST_LO, high=LIST_HI, default=1.0, task=stop)
    channels = [channel_of(word)[1] for word in LIST_TEXT.split() if word in VOCABULARY]
    assert 0 < sum(channel.asked for channel in channels) < len(channels) / 2


@pytest.mark.slow
def test_a_thousand_words_fit_three_megabytes(monkeypatch):
    """Each has its own part of them: a hundred words fit a tenth, where they are as many as make a text a long one."""
    assert token_channels.LONG_TEXT < 450
    monkeypatch.setattr(token_view, "LONG_TEXT", 44)

    @functools.cache
    def channels(word):
        return ("keep", None, "stop word") if word == "the" else ("replace", ListChannel(word), "")

    words = [VOCABULARY[2 * (i % 450)] if i % 20 < 9 else "the" for i in range(100)]
    r = fake_rewrite(" ".join(words), channels=channels)
    payload = token_view.payload(r, run=1, low=LIST_LO, high=LIST_HI, default=1.0)
    assert len(drawn(payload)) == 45
    assert len(json.dumps(payload)) < 3e5
    # The nine words that the inspector has room for, at least.
    assert min(sum(len(row) == token_channels.N_CHANNEL_GRID for row in t["lp"]) for _, t in drawn(payload)) >= 9


@pytest.mark.parametrize("name", [s.name for s in dpt.mechanisms()])
def test_each_mechanism_says_in_steps_how_it_draws_with_numbers_that_the_view_has(name):
    m = dpt.mechanism_class(name)
    assert 2 < len(m.steps) <= 4 and all(len(step) < 70 for step in m.steps)
    known = {"n", "noise"} | ({"low", "high", "tied"} if m.clipping is not None else set())
    places = set(re.findall(r"\{(\w+)\}", " ".join(m.steps)))
    assert ("noise" in places) is m.uses_epsilon and places <= known


def test_the_scores_of_the_steps_are_those_of_the_model(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model)
    r = m.rewrite(TEXT)
    shown = mechanism_steps(m, m.prepare(TEXT), r)
    assert (shown["low"], shown["high"]) == (m.config.clip_min, m.config.clip_max)
    assert shown["unit"] == 2 * (m.config.clip_max - m.config.clip_min)
    for k, unit in enumerate(r.units):
        mine = shown["scored"][k]
        if not unit.is_sampled:
            assert mine is None
            continue
        logits = r.logits(k)
        assert sum(mine["bars"]) == len(logits) and mine["tied"] == int((logits >= m.config.clip_max).sum())
        scores = r.locked(k)[0].scores
        cut = np.clip(logits.astype(float), shown["low"], shown["high"])
        assert shown["high"] + scores * shown["unit"] == pytest.approx(cut, abs=1e-9)
    m = dpt.get_mechanism("santext")
    prepared = m.prepare("a day")
    assert mechanism_steps(m, prepared, m.rewrite(prepared, seed=1)).keys() == {"steps"}


def test_the_noise_of_a_bank_of_sentences_is_shown_within_the_range_of_its_scores():
    m = dpt.get_mechanism("dp-sentence", epsilon=20.0)
    prepared = m.prepare("She has a weak heart.")
    r = m.rewrite(prepared, seed=1)
    low, high = mechanism_steps(m, prepared, r)["range"]
    spread = np.ptp(r.distribution(0).log_probs)
    assert 0.9 * 20 * (high - low) < spread <= 20 * (high - low) + 1e-9, "scores fill their range"
    assert f"from {low:g} to {high:g}" in m.steps[1]


def test_an_article_follows_the_word_behind_it_at_every_epsilon():
    text, stream = "A doctor ate an apple in a house, and vitamin A helps an uncle.", dpt.NoiseStream(3)
    m = dpt.get_mechanism("custext", recase="public", surrogates=True)
    low, high, default = m.epsilon_range()
    result = m.rewrite(text, stream=stream)
    tokens = token_view.payload(result, run=1, low=low, high=high, default=default)["tokens"]
    free = [k for k, t in enumerate(tokens) if "forms" in t]
    assert [tokens[k]["o"] for k in free] == ["A", "an", "a", "an"]
    seen = set()
    for epsilon in np.geomspace(low, high, 12):
        steps = m.replace(epsilon=float(epsilon)).rewrite(text, stream=stream).steps
        for k in free:
            after = tokens[k + 1]
            winner = [j for e, j in after["flips"] if e <= epsilon][-1]
            shown = tokens[k]["forms"][winner in after["second"]]
            assert shown == steps[k].text
            seen.add((k, shown))
    assert len(seen) > len(free), "some article changes along ε"
    assert all(t.get("t", t["o"]) == s.text for t, s in zip(tokens, result.steps, strict=True) if s.action == "keep")


def test_the_steps_of_a_mechanism_with_stand_ins_are_shown(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, surrogates=True)
    text = f"Omar Haddad, 67: {TEXT}"
    r = m.rewrite(text)
    shown = mechanism_steps(m, m.prepare(text), r)
    assert shown["steps"] == list(m.steps) and (shown["low"], shown["high"]) == (m.config.clip_min, m.config.clip_max)
    assert len(shown["scored"]) == len(r.units) and shown["scored"][0] is None
