"""Figures hold what they are given, show it literally, and can be read in the dark."""

from __future__ import annotations

import dataclasses
import html
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from dptext_core import InputError
from dptext_core.explain import CloudView, DiffractionView, GroupView, ListNeighbourhood, ProposalView
from dptext_core.privacy.numbers import percent
from dptext_studio import figures
from dptext_studio.figures import theme


def checked(make):
    """What ``make`` gives, as plotly reads it: it refuses names and values that it does not know."""
    return lambda *args, **options: go.Figure(make(*args, **options))


draw_view, curves, logit_histogram = map(checked, (figures.draw_view, figures.curves, figures.logit_histogram))


@pytest.mark.parametrize("dark", [False, True])
def test_the_histogram_counts_every_candidate_and_marks_the_range(dark):
    logits = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    figure = logit_histogram(logits, -1.0, 2.0, marks={"<b>x</b>": 0.5, "new": 1.0}, dark=dark)
    assert sum(figure.data[0].y) == 5000
    assert {s.x0 for s in figure.layout.shapes} >= {-1.0, 2.0, 0.5, 1.0}
    assert [a.text for a in figure.layout.annotations] == ["&lt;b&gt;x&lt;/b&gt;", "new"]
    colours = figures.DARK if dark else figures.LIGHT
    assert figure.layout.font.color == colours["ink"] and figure.data[0].marker.color == colours["bar"]


def contrast(a: str, b: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    x, y = sorted((light(a), light(b)), reverse=True)
    return (x + 0.05) / (y + 0.05)


@pytest.mark.parametrize(
    ("colours", "lines", "page"),
    [(figures.LIGHT, figures.LINES_LIGHT, "#ffffff"), (figures.DARK, figures.LINES_DARK, "#171614")],
)
def test_words_in_figures_have_contrast(colours, lines, page):
    assert colours["page"] == page
    assert all(contrast(colours[name], page) >= 4.5 for name in ("ink", "soft", "keep", "new"))
    assert all(contrast(line, page) >= 4 for line in lines)


NAMES = [f"list-{i}" for i in range(10)]
AROUND = ("insurance", "surgeon", "physician", "nurse", "doctor", "dentist", "hospital", "medicine", "clinical")


def hood(name: str, candidate: str, offset: int, words=AROUND, epsilon=0.4) -> ListNeighbourhood:
    offsets = np.arange(len(words)) - words.index("doctor")
    return ListNeighbourhood(
        name, words, offsets, np.tanh(epsilon / 2) * np.exp(-epsilon * abs(offsets)), candidate, offset
    )


def diffraction(n: int, chosen: int = 0) -> DiffractionView:
    drawn = [("nurse", -1), ("lawyer", 1204), ("doctor", 0), ("hospital", 2), ("<i>x</i>", -7)]
    lists = tuple(hood(NAMES[j], *drawn[j % len(drawn)]) for j in range(n))
    return DiffractionView("doctor", lists[chosen].candidate, lists, chosen)


def traces(figure, name: str):
    found = [t for t in figure.data if t.name == name]
    assert found, f"no trace {name}"
    return found


def boxes(figure, horizontal: float = 1.0, vertical: float = 1.0):
    """The rectangles of the labels in pixels, by the module's own widths."""
    (labels,) = traces(figure, "labels")
    for x, y, text, size, position in zip(
        labels.x, labels.y, labels.text, labels.textfont.size, labels.textposition, strict=True
    ):
        plain = html.unescape(re.sub("<[^>]*>", "", text))
        wide = theme.width_of(plain, size)
        x0 = x * horizontal - {"left": 1, "right": 0, "center": 0.5}[position.split()[1]] * wide
        yield x0, y * vertical - size * 0.6, x0 + wide, y * vertical + size * 0.6, plain


def overlapping(rectangles):
    rectangles = list(rectangles)
    return [
        (a[4], b[4])
        for i, a in enumerate(rectangles)
        for b in rectangles[:i]
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("n", [1, 5, 10])
def test_every_lane_has_the_chances_of_its_list(n, dark):
    view = diffraction(n)
    figure = draw_view(view, dark=dark)
    for neighbours in view.lists:
        pointer, bars = traces(figure, neighbours.name)
        chances = [p for _, p in bars.customdata]
        words = [w for w, _ in bars.customdata]
        first = AROUND.index(words[0])
        assert 0 < len(words) <= len(AROUND) and AROUND[first : first + len(words)] == tuple(words)
        assert chances == list(neighbours.probs[first : first + len(words)])
        assert np.allclose(np.array(bars.y) / max(bars.y), np.array(chances) / max(chances))
        assert [h[0] for h in pointer.customdata] == words
        said = pointer.customdata[words.index("doctor")]
        assert list(said) == ["doctor", "the original", percent(neighbours.probs[4])]
        assert bars.marker.color[words.index("doctor")] == (figures.DARK if dark else figures.LIGHT)["keep"]
    # One line into each lane, its own line, one out, and the released word's way along its lane.
    assert len(figure.layout.shapes) == 3 * n + 1
    assert [a.text for a in figure.layout.annotations] == ["<b>doctor</b>", "<b>nurse</b>"]


@pytest.mark.parametrize("chosen", [0, 1, 2, 3])
def test_the_released_candidate_stands_out(chosen):
    view = diffraction(5, chosen)
    figure = draw_view(view)
    new = figures.LIGHT["new"]
    (candidates,) = traces(figure, "candidates")
    assert [c == new for c in candidates.marker.line.color] == [j == chosen for j in range(5)]
    assert [c == new for c in candidates.marker.color] == [j == chosen for j in range(5)]
    (labels,) = traces(figure, "labels")
    released = [t for t, c in zip(labels.text, labels.textfont.color, strict=True) if c == new]
    assert len(released) == 1 and released[0].startswith(f"<b>{view.released_word}</b>")
    assert sum(s.line.color == new for s in figure.layout.shapes) == 2


def test_a_candidate_outside_of_the_window_stands_at_the_edge_with_its_distance():
    figure = draw_view(diffraction(5))
    (candidates,) = traces(figure, "candidates")
    assert list(candidates.marker.symbol) == ["circle", "triangle-right", "circle", "circle", "triangle-left"]
    lanes = [t for j in range(5) for t in traces(figure, NAMES[j])]
    assert candidates.x[1] > max(max(t.x) for t in lanes) and candidates.x[4] < min(min(t.x) for t in lanes)
    assert list(candidates.customdata[1]) == ["lawyer", "1,204 places forward", "outside this figure"]
    (labels,) = traces(figure, "labels")
    assert any("lawyer" in t and "+1,204" in t for t in labels.text)
    assert any("&lt;i&gt;x&lt;/i&gt;" in t and "−7" in t for t in labels.text)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 10])
def test_words_on_lanes_do_not_overlap_and_stay_inside(n):
    figure = draw_view(diffraction(n), height=300, width=450)
    assert not overlapping(boxes(figure))
    height = figure.layout.height - 16
    assert figure.layout.height >= 300 and figure.layout.yaxis.range == (0, height)
    for x0, y0, x1, y1, word in boxes(figure):
        assert x0 >= 0 and x1 <= 450 - 16 and y0 >= 0 and y1 <= height, word
    (labels,) = traces(figure, "labels")
    # Where there is one row only, a candidate beside the original takes its place.
    assert sum("doctor" in t for t in labels.text) >= (n if n <= 6 else 0.7 * n)
    assert all(NAMES[j] in labels.text for j in range(n))


def test_ten_lists_take_more_height_than_five():
    tall = [draw_view(diffraction(n), height=300).layout.height for n in (1, 5, 10)]
    assert tall[0] == 300 < tall[1] < tall[2]


def test_long_words_are_cut_in_labels_and_whole_in_the_hover():
    long = "antidisestablishmentarianism"
    words = (long, "doctor", "x")
    view = DiffractionView("doctor", long, (hood("l", long, -1, words),), 0)
    figure = draw_view(view)
    assert figure.layout.annotations[1].text == "<b>antidisestab…</b>"
    assert traces(figure, "candidates")[0].customdata[0][0] == long
    assert traces(figure, "l")[1].customdata[0][0] == long


def hostile_views():
    bad = "<b>&</b>"
    words = (bad, "doctor", "<i>")
    lists = (ListNeighbourhood("<u>l</u>", words, [-1, 0, 1], [0.1, 0.5, 0.1], bad, -1),)
    yield DiffractionView("doctor", bad, lists, 0)
    yield GroupView("doctor", bad, words, [0.4, 1, 0.2], [0.2, 0.6, 0.2], ("doctor", "<i>"), 0.1, 9)
    yield ProposalView("doctor", bad, words, [0.4, 0.1, 0.2], [2.0, 1.0, 0.0], [0.6, 0.2, 0.1], 2.5)
    yield CloudView("doctor", bad, ("doctor", bad, "<i>"), [[0, 0], [1, 0], [0, 1]], [[1, 1]], [0.5, 0.5], 5)


@pytest.mark.parametrize("view", list(hostile_views()), ids=lambda v: type(v).__name__)
def test_words_are_shown_literally(view):
    text = draw_view(view).to_json().encode().decode("unicode_escape")
    assert "<b>&</b>" not in text and "<i>" not in text and "<u>" not in text
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in text and "&lt;i&gt;" in text


@pytest.mark.parametrize("dark", [False, True])
def test_a_proposal_has_its_chances_and_its_shifts(dark):
    words = ("nurse", "doctor", "house")
    view = ProposalView("doctor", "Nurse", words, [0.3, 0.001, 0.2], [2.5, 2.0, 0.0], [0.6, 0.2, 0.1], 2.5)
    figure = draw_view(view, dark=dark)
    colours = figures.DARK if dark else figures.LIGHT
    (proposed,), (shift,) = traces(figure, "proposed"), traces(figure, "shift")
    assert np.allclose(proposed.x, view.proposed) and np.allclose(shift.x, view.shift)
    assert list(proposed.text) == ["30%", "0.1%", "20%"] and list(shift.text) == ["× 12.2", "× 7.39", ""]
    assert list(shift.marker.color) == [colours["new"], colours["keep"], colours["bar"]]
    assert "probability 60%" in proposed.customdata[0] and figures.title(view) == "Proposal and shift"
    caption_text = figures.caption(view)
    assert (
        "gives “Nurse” probability 30%" in caption_text
        and "by 12.2," in caption_text
        and "The result is 60%" in caption_text
    )
    free = figures.caption(dataclasses.replace(view, most=None, shift=[0.0, 2.0, 0.0]))
    assert "the limit is" not in free and "did not increase its weight" in free


def group(k: int = 6, crowd=("doctor", "w3"), released_word="w2") -> GroupView:
    words = ("doctor", *(f"w{i}" for i in range(1, k)))
    similarities = np.linspace(1, 0.4, k)
    probs = np.exp(3 * similarities)
    return GroupView("doctor", released_word, words, similarities, probs / probs.sum(), crowd, 0.033, 3608)


@pytest.mark.parametrize("dark", [False, True])
def test_the_output_set_has_its_similarities_and_chances(dark):
    view = group()
    figure = draw_view(view, dark=dark)
    colours = figures.DARK if dark else figures.LIGHT
    (similarity,), (chance,) = traces(figure, "similarity"), traces(figure, "probability")
    assert np.allclose(similarity.x, view.similarities) and np.allclose(chance.x, view.probs)
    assert list(chance.text) == [percent(p) for p in view.probs] and list(chance.customdata) == list(view.words)
    paint = [colours["keep"], colours["bar"], colours["new"], *[colours["bar"]] * 3]
    assert list(similarity.marker.color) == paint == list(chance.marker.color)
    ticks = figure.layout.yaxis.ticktext
    assert f"<span style='color:{colours['keep']}'>doctor</span>" in ticks[0]
    assert [colours["soft"] in t for t in ticks] == [True, False, False, True, False, False]  # the crowd's dots
    assert "the 2 words that share this output set" in figure.layout.annotations[-1].text


def test_an_output_set_is_ordered_by_similarity():
    words = ("w1", "doctor", "w2")
    figure = draw_view(GroupView("doctor", "w1", words, [0.2, 1, 0.6], [0.1, 0.6, 0.3], ("doctor",), 0, 1))
    assert list(traces(figure, "similarity")[0].customdata) == ["doctor", "w2", "w1"]
    assert np.allclose(traces(figure, "probability")[0].x, [0.6, 0.3, 0.1])


def test_a_large_output_set_keeps_the_two_words_and_sums_the_others():
    view = group(50, released_word="w48")
    figure = draw_view(view)
    (chance,), (others,) = traces(figure, "probability"), traces(figure, "others")
    assert {"doctor", "w48"} <= set(chance.customdata) and len(chance.customdata) == 23
    assert np.isclose(sum(chance.x) + others.x[0], 1) and "27 others" in figure.layout.yaxis.ticktext[-1]
    assert figure.layout.height > 24 * 17


def test_a_crowd_of_one_is_a_warning():
    figure = draw_view(group(crowd=("doctor",)))
    key = figure.layout.annotations[-1]
    assert "unique" in key.text and key.font.color == figures.LIGHT["new"]


def cloud(n: int = 40, released: int = 7, seed: int = 0, spread: float = 0.3) -> CloudView:
    rng = np.random.default_rng(seed)
    xy = np.vstack([[0, 0], rng.normal(size=(n, 2)) * 0.4 + [0.5, 0]])
    words = ("doctor", *(f"neighbour{i}" for i in range(1, n + 1)))
    noise = rng.normal(size=(300, 2)) * spread
    return CloudView("doctor", words[released], words, xy, noise, [0.2, -0.3], 1000, 384, 0.3)


@pytest.mark.parametrize("dark", [False, True])
def test_a_cloud_holds_its_points_and_the_way_to_the_released_word(dark):
    view = cloud()
    figure = draw_view(view, dark=dark)
    colours = figures.DARK if dark else figures.LIGHT
    noise, source = traces(figure, "300 of 1,000 noisy points")[0], traces(figure, "source")[0]
    landed, line = traces(figure, "noisy vector of this draw")[0], traces(figure, "released")[0]
    assert np.array_equal(np.c_[noise.x, noise.y], view.noise)
    words = traces(figure, "words")[0]
    rest = [i for i in range(1, 41) if i != 7]
    assert np.array_equal(np.c_[words.x, words.y], view.xy[rest])
    assert list(words.customdata) == [view.words[i] for i in rest]
    assert (source.x[0], source.y[0], source.marker.color) == (0, 0, colours["keep"])
    assert traces(figure, "released word")[0].marker.color == colours["new"]
    assert landed.marker.symbol == "x-thin" and (landed.x[0], landed.y[0]) == (0.2, -0.3)
    assert np.allclose(np.c_[line.x, line.y], [[0.2, -0.3], view.xy[7]])
    assert figure.layout.yaxis.scaleanchor == "x"
    all_shown = dataclasses.replace(view, draws=300)
    assert traces(draw_view(all_shown), "300 noisy points")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spread", [0.01, 0.3, 8.0])
def test_words_in_a_cloud_do_not_overlap_and_stay_inside(seed, spread):
    figure = draw_view(cloud(seed=seed, spread=spread), height=320, width=450)
    (x0, x1), (y0, y1) = figure.layout.xaxis.range, figure.layout.yaxis.range
    scale = (450 - 16) / (x1 - x0)
    assert np.isclose(scale, (320 - 16 - 24) / (y1 - y0))  # one scale on both axes
    found = list(boxes(figure, scale, scale))
    named = {b[4] for b in found}
    assert {"doctor", "neighbour7"} <= named and (spread > 1 or len(named) > 10)
    assert not [pair for pair in overlapping(found) if set(pair) != {"doctor", "neighbour7"}]
    for a, b, c, d, word in found:
        assert a >= x0 * scale - 1 and c <= x1 * scale + 1 and b >= y0 * scale - 1 and d <= y1 * scale + 1, word


def test_a_word_that_stays_and_a_cloud_without_noise():
    view = CloudView("doctor", "doctor", ("doctor",), [[0, 0]], [], [0.5, 0.5], 0)
    figure = draw_view(view)
    assert not any("noisy points" in t.name for t in figure.data)
    assert not any(t.name == "released word" for t in figure.data)
    assert traces(figure, "source")[0].marker.line.color == figures.LIGHT["new"]
    assert np.all(np.isfinite(figure.layout.xaxis.range + figure.layout.yaxis.range))


def test_there_is_no_figure_of_something_else():
    for ask in (figures.draw_view, figures.caption, figures.title):
        with pytest.raises(InputError, match="dict"):
            ask({})


@pytest.mark.parametrize("dark", [False, True])
def test_curves_hold_their_values_and_intervals(dark):
    x = np.geomspace(0.5, 50, 8)
    y = np.linspace(0.1, 0.9, 8)
    figure = curves({"<b>MVC</b>": (x, y, y - 0.05, y + 0.05), "TEM": (x, y**2, None, None)}, dark=dark)
    band, first, second = figure.data
    assert np.allclose(first.x, x) and np.allclose(first.y, y) and np.allclose(second.y, y**2)
    assert np.allclose(band.y, np.concatenate([y + 0.05, (y - 0.05)[::-1]]))
    assert first.name == "&lt;b&gt;MVC&lt;/b&gt;" and "<b>MVC" not in first.hovertemplate
    assert first.customdata[0] == "0.1 (0.05 to 0.15)" and second.customdata[0] == "0.01"
    assert (first.line.dash, first.marker.symbol) != (second.line.dash, second.marker.symbol)
    assert figure.layout.xaxis.type == "log" and figure.layout.yaxis.range == (-0.02, 1.04)
    assert figure.layout.yaxis.title.text == "N_w: probability that a word is unchanged"
    assert figure.layout.font.color == (figures.DARK if dark else figures.LIGHT)["ink"]


def test_no_two_of_ten_curves_look_alike_without_colour():
    x = [1.0, 10.0]
    figure = curves({f"m{i}": (x, [i, 1], None, None) for i in range(10)}, figures.S_W)
    assert len({(t.line.dash, t.marker.symbol) for t in figure.data}) == 10
    assert figure.layout.yaxis.range[1] >= 9 and figure.layout.yaxis.title.text.startswith("S_w:")
    few = curves({"m": (x, [0, 1], None, None)}, figures.S_W)
    assert figure.layout.height > few.layout.height  # the legend has its own room


def test_the_ticks_of_epsilon_are_round_and_inside():
    figure = curves({"m": ([0.5, 200.0], [0, 1], None, None)})
    assert list(figure.layout.xaxis.tickvals) == [0.5, 1, 2, 5, 10, 20, 50, 100, 200]
    wide = curves({"m": ([0.01, 1000.0], [0, 1], None, None)})
    assert np.allclose(wide.layout.xaxis.tickvals, [0.01, 0.1, 1, 10, 100, 1000])
    one = curves({"m": ([3.0], [0.5], None, None)})
    assert list(one.layout.xaxis.tickvals) == [3] and np.diff(one.layout.xaxis.range)[0] > 0


@pytest.mark.parametrize(
    "line",
    [
        ([1.0], [0.1, 0.2], None, None),
        ([], [], None, None),
        ([0.0], [0.1], None, None),
        ([1.0], [np.nan], None, None),
        ([1.0], [0.1], [0.0], None),
        ([1.0], [0.1], [0.0, 0.1], [0.2, 0.3]),
    ],
)
def test_curves_refuse_what_does_not_fit(line):
    with pytest.raises(InputError):
        curves({"m": line})
    with pytest.raises(InputError):
        curves({})
