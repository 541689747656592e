"""Rewrites beside each other: what is marked, one word under each, and the figures; and what the pages draw of it."""

from __future__ import annotations

import numpy as np
import pytest
from foreign import Generator, Swap
from marks import slow_but

import dptext_core as dpt
from dptext_core.measure.trade_off import pareto_front, tradeoff
from dptext_core.measure.trade_off_advice import is_unsure
from dptext_studio.figures import to_html, trade_off, word_bars
from dptext_studio.figures.side_by_side import differences, drawn_by_all, figures, first_drawn, one_word, pieces

TEXT = "My doctor sent a <b>letter</b> to my sister.\n\nBye!"

ALL = ["foreign-swap", "foreign-generator", "dp-mlm-plus"]


@pytest.fixture(autouse=True, scope="module")
def registered():
    for cls in (Swap, Generator):
        dpt.register(cls)
    yield
    for cls in (Swap, Generator):
        dpt.unregister(cls.name)


def swapped(epsilon: float = 1.0, seed: int = 4):
    return Swap.create(epsilon=epsilon).rewrite(TEXT, seed=seed)


def plus_minus(tiny_model: str):
    """What leaves words out and adds others."""
    options = {"add_prob": 0.5, "del_prob": 0.5, "clip_min": 0.0, "clip_max": 1.0}
    return dpt.get_mechanism("dp-mlm-plus", model=tiny_model, **options)


@pytest.mark.parametrize("name", slow_but(["foreign-swap", "foreign-generator"], ALL))
def test_the_pieces_are_the_text(name, request):
    m = plus_minus(request.getfixturevalue("tiny_model")) if name == "dp-mlm-plus" else dpt.get_mechanism(name)
    result = m.rewrite(TEXT, seed=3)
    found = pieces(result)
    assert "".join(p.text for p in found) == result.text
    if "alignment" in result.can:
        assert sum(p.is_changed for p in found) == sum(s.is_changed or s.action == "insert" for s in result.steps)
        known = [p for p in found if p.at is not None]
        assert known and all(TEXT[p.at : p.at + len(p.original)] == p.original for p in known)
        assert "doctor" not in repr(found)


def test_where_nothing_is_aligned_words_in_common_are_unmarked():
    found = differences("My doctor sent a letter.", "Then my nurse sent the letter !")
    assert "".join(p.text for p in found) == "Then my nurse sent the letter !"
    assert [p.text for p in found if p.is_changed] == ["Then", "nurse", "the", "!"]
    assert [(p.original, p.at) for p in found if p.at is not None][:2] == [("My", 0), ("sent", 10)]
    assert differences("", "") == [] and differences("a b", "")[:1] == []


def test_figures_are_the_means_over_the_drawn_words():
    result = swapped()
    drawn = [i for i, s in enumerate(result.steps) if s.action == "replace"]
    found = figures(result)
    every = [result.distribution(i) for i in drawn]
    assert found.n_w == pytest.approx(np.mean([d.p_keep() for d in every])) and found.words == len(drawn) == 3
    assert found.s_w == pytest.approx(np.mean([d.expected_distinct(100) for d in every])) and found.draws is None
    assert found.total == result.guarantee.total
    (one,) = [d for i, d in zip(drawn, every, strict=True) if result.steps[i].original == "letter"]
    at = frozenset({TEXT.index("letter")})
    assert figures(result, at).n_w == pytest.approx(one.p_keep()) and figures(result, at).words == 1
    other = dpt.get_mechanism("diffractor").rewrite(TEXT)
    assert drawn_by_all([result, other, Generator.create().rewrite(TEXT)]) == {
        result.steps[i].span[0] for i in drawn
    } & {s.span[0] for s in other.steps if s.action == "replace"}
    assert drawn_by_all([]) == frozenset()
    removed = dpt.get_mechanism("redact").rewrite(f"{TEXT} Omar came.")
    assert drawn_by_all([removed, result]) == drawn_by_all([result]) != frozenset(), "redaction samples no word"
    written = figures(Generator.create().rewrite(TEXT))
    assert written.n_w is None and "new text" in written.reason
    assert "No word" in figures(Swap.create().rewrite("!")).reason


def test_one_word_has_the_same_words_everywhere():
    near, far = swapped(0.2), swapped(6.0)
    at = TEXT.index("doctor")
    found = one_word([near, far, None, Generator.create().rewrite(TEXT)], at, 3)
    assert found.word == "doctor" and found.words[0] == "doctor" and len(set(found.words)) == len(found.words)
    for chances, result in zip(found.each, (near, far), strict=False):
        d = result.distribution(1)
        assert chances.probabilities == pytest.approx([d.p(w) for w in found.words])
        assert sum(chances.probabilities) + chances.rest == pytest.approx(1) and chances.keep == d.p_keep()
        assert chances.released_word == result.steps[1].replacement and chances.released_word.lower() in found.words
    assert "No rewrite" in found.each[2].reason and "new text" in found.each[3].reason
    unlikely = [dpt.get_mechanism("custext", epsilon=0.01).rewrite(TEXT, seed=s) for s in range(4)]
    narrow = one_word(unlikely, at, 3)
    assert all(c.released_word.lower() in narrow.words for c in narrow.each) and len(narrow.words) <= 6
    assert found.each[0].known and all(found.each[0].possible)
    (stranger,) = one_word([dpt.get_mechanism("diffractor").rewrite("Halvorsen called.")], 0).each
    assert not stranger.known and stranger.possible[0] is False and stranger.keep == 0
    kept = one_word([near], TEXT.index("sent"))
    assert "It is unchanged" in kept.each[0].reason and not kept.each[0].probabilities
    assert first_drawn([near, None]) == at and first_drawn([None]) is None


def test_the_bars_share_words_order_and_axis_and_read_no_markup():
    found = one_word([swapped(0.2), swapped(6.0)], TEXT.index("doctor"))
    both = [word_bars(found, k) for k in range(2)]
    assert both[0]["layout"]["yaxis"]["ticktext"] == both[1]["layout"]["yaxis"]["ticktext"]
    assert both[0]["layout"]["xaxis"]["range"] == both[1]["layout"]["xaxis"]["range"]
    for k, figure in enumerate(both):
        (bars,) = figure["data"]
        assert bars["x"] == [*found.each[k].probabilities, found.each[k].rest]
        assert sum("← sampled" in t for t in bars["text"]) == 1 and bars["marker"]["pattern"]["shape"][0] == "/"
    few = [dpt.get_mechanism(name).rewrite("Halvorsen called.", seed=1) for name in ("diffractor", "custext")]
    bars = [word_bars(one_word(few, "Halvorsen called.".index(w)), 1)["data"][0]["text"] for w in ("Halv", "called")]
    assert bars[0][0] == "not in the vocabulary" and "0%" not in bars[0]
    assert "%" in bars[1][0] and "impossible output" in bars[1] and "not in the vocabulary" not in bars[1]
    assert "<b>" not in str(word_bars(one_word([swapped()], TEXT.index("doctor")), 0, dark=True))


@pytest.fixture(scope="module")
def points():
    return list(tradeoff(TEXT, ["foreign-swap", "diffractor"], (0.5, 2.0, 4.0), 3, ("unchanged", "n_w"), 5))


@pytest.mark.parametrize("hidden", ["n_w", "epsilon", "unchanged"])
def test_the_picture_has_every_point_and_marks_the_front(points, hidden):
    found = trade_off(points, hidden, "unchanged", chosen=(0, 2.0), best=(1, 0.5), limit=0.4)
    lines = {t["name"]: t for t in found["data"] if t["mode"] == "lines+markers"}
    assert set(lines) == {"Foreign swap", "1-Diffractor"}
    best = {(points[i].setting, points[i].epsilon) for i in pareto_front(points, hidden, "unchanged")}
    for line in lines.values():
        marker = line["marker"]
        for x, y, symbol, colour, (j, epsilon, said) in zip(
            line["x"], line["y"], marker["symbol"], marker["color"], line["customdata"], strict=True
        ):
            p = next(p for p in points if (p.setting, p.epsilon) == (j, epsilon))
            wanted = epsilon if hidden == "epsilon" else 1 - p.value(hidden).mean
            assert (x, y) == (pytest.approx(wanted), pytest.approx(p.value("unchanged").mean))
            assert symbol.endswith("-open") != ((j, epsilon) in best) and f"ε = {epsilon:g}" in said
            # It cannot be told whether it hides enough.
            assert colour.startswith("rgba") == is_unsure(p, hidden, 0.4)
    texts = [a["text"] for a in found["layout"]["annotations"]]
    assert "<b>Foreign swap</b>" in texts and "<b>start here</b>" in texts
    assert any("private enough" in t for t in texts) == (hidden != "epsilon")
    for p in points:
        drawn = trade_off(points, hidden, "unchanged", best=(p.setting, p.epsilon))["layout"]
        (here,) = (a for a in drawn["annotations"] if "start here" in a["text"])
        across, up = ((here[k] - a) / (b - a) for k in "xy" for a, b in [drawn[f"{k}axis"]["range"]])
        assert (across < 0.8) == (here["ax"] > 0) and (up < 0.8) == (here["ay"] < 0), "away from the edge"
    assert "doctor" not in str(found)


def test_a_picture_of_nothing_is_refused_and_a_file_needs_nothing_from_anywhere(points):
    with pytest.raises(dpt.InputError, match="no point"):
        trade_off([], "epsilon", "cosine")
    page = to_html(trade_off(points, "n_w", "unchanged"), "A & B")
    assert "<title>A &amp; B</title>" in page and "Plotly.newPlot" in page
    assert 'src="http' not in page and "cdn.plot.ly" not in page.split("Plotly.newPlot")[-1] and "doctor" not in page
